/* What is inside a module, as lines */
#include "view/inside.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/table.h"

enum { NAMES_SHOWN = 8 };

static void put_count(uint64_t n, const char *what, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

static void put_name(struct mpk_span name, size_t i, struct mpk_strbuf *out)
{
	if (i < NAMES_SHOWN) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, name);
	}
}

static void put_rest(size_t count, struct mpk_strbuf *out)
{
	if (count > NAMES_SHOWN)
		mpk_strbuf_printf(out, " and %zu more", count - NAMES_SHOWN);
}

/* ", block 32x2x1"; nothing for zeros */
static void put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out)
{
	if (n[0])
		mpk_strbuf_printf(out, ", %s %" PRIu32 "x%" PRIu32 "x%" PRIu32, what, n[0], n[1],
				  n[2]);
}

/* --- code --------------------------------------------------------------------------- */

static void ptx_text(const struct mpk_inside_code *c, struct mpk_strbuf *out)
{
	const struct mpk_ptx *p = &c->u.ptx;
	const struct mpk_inside_shared *shared = &c->shared[p->kernel_count];

	mpk_strbuf_printf(out, "PTX %u.%u for sm_%u", p->major, p->minor, p->sm);
	if (p->suffix)
		mpk_strbuf_putc(out, p->suffix);
	mpk_strbuf_printf(out, ", %u-bit, ", p->address_bits);
	put_count(p->kernel_count, "kernel", out);
	if (shared->bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B shared by its kernels", shared->bytes);
	mpk_strbuf_puts(out, shared->dynamic ? ", shared memory of a size given at launch" : "");
	mpk_strbuf_puts(out, p->debug ? ", with debug information" : "");
}

static void cubin_text(const struct mpk_cubin *c, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "cubin for sm_%u%s, ", c->sm, c->arch_specific ? "a" : "");
	put_count(c->kernel_count, "kernel", out);
	if (c->constant_bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B constant", c->constant_bytes);
	if (c->global_bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B global", c->global_bytes);
	mpk_strbuf_puts(out, c->relocatable ? ", relocatable: cannot be loaded before a link" : "");
	if (c->tool.len) {
		mpk_strbuf_puts(out, ", by ");
		mpk_escape(out, c->tool);
	}
}

/* "sm_90a cubin", "compute_90 PTX 9.0" */
static void entry_text(const struct mpk_fatbin_entry *e, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s_%u%s %s",
			  e->kind == MPK_FATBIN_PTX   ? "compute"
			  : e->kind == MPK_FATBIN_LTO ? "lto"
						      : "sm",
			  e->sm,
			  e->arch_specific     ? "a"
			  : e->family_specific ? "f"
					       : "",
			  mpk_fatbin_kind_name(e->kind));
}

static void fatbin_text(const struct mpk_fatbin *f, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "fatbin: ");
	for (size_t i = 0; i < f->entry_count && i < NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		entry_text(&f->entries[i], out);
	}
	put_rest(f->entry_count, out);
	mpk_strbuf_puts(out, f->entry_count ? "" : "no images");
}

static void spirv_text(const struct mpk_spirv *s, struct mpk_strbuf *out)
{
	const char *addressing = mpk_spirv_addressing_name(s->addressing);
	const char *memory = mpk_spirv_memory_name(s->memory);

	mpk_strbuf_printf(out, "SPIR-V %u.%u, %s %s%s, capabilities ", s->major, s->minor,
			  addressing ? addressing : "unknown addressing",
			  memory ? memory : "unknown memory model",
			  s->big_endian ? ", big-endian" : "");
	for (size_t i = 0; i < s->capability_count && i < NAMES_SHOWN; i++) {
		const char *name = mpk_spirv_capability_name(s->capabilities[i]);

		mpk_strbuf_puts(out, i ? " " : "");
		if (name)
			mpk_strbuf_puts(out, name);
		else
			mpk_strbuf_printf(out, "%" PRIu32, s->capabilities[i]);
	}
	put_rest(s->capability_count, out);
	mpk_strbuf_puts(out, s->capability_count ? "" : "none");
}

/* One run of code on one line. */
static void code_text(const struct mpk_inside_code *c, struct mpk_strbuf *out)
{
	if (c->problem) {
		mpk_strbuf_printf(out, "%s that cannot be read: ", mpk_probe_name(c->probe));
		if (c->problem->at.line)
			mpk_strbuf_printf(out, "line %" PRIu32 ": ", c->problem->at.line);
		mpk_strbuf_puts(out, c->problem->text);
	} else if (c->probe == MPK_PROBE_PTX) {
		ptx_text(c, out);
	} else if (c->probe == MPK_PROBE_CUBIN) {
		cubin_text(&c->u.cubin, out);
	} else if (c->probe == MPK_PROBE_FATBIN) {
		fatbin_text(&c->u.fatbin, out);
	} else if (c->probe == MPK_PROBE_SPIRV) {
		spirv_text(&c->u.spirv, out);
	} else if (c->probe == MPK_PROBE_AR) {
		mpk_strbuf_puts(out, "archive, ");
		put_count(c->u.ar.member_count, "member", out);
		mpk_strbuf_puts(out, ", ");
		put_count(c->u.ar.symbol_count, "symbol", out);
	} else if (c->probe != MPK_PROBE_TEXT && mpk_probe_is_source(c->probe)) {
		mpk_strbuf_printf(out, "%s, ",
				  mpk_clsource_language_name(mpk_inside_language(c->probe)));
		put_count(c->u.source.kernel_count, "kernel", out);
	} else {
		mpk_strbuf_puts(out, mpk_probe_name(c->probe));
	}
}

static void image_lines(const struct mpk_inside_code *c, const char *indent, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < c->u.fatbin.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &c->u.fatbin.entries[i];

		mpk_strbuf_printf(out, "%s  %zu: ", indent, i);
		entry_text(e, out);
		if (e->kind == MPK_FATBIN_PTX)
			mpk_strbuf_printf(out, " %u.%u", e->ptx_major, e->ptx_minor);
		mpk_strbuf_printf(out, ", %s, %zu B", mpk_fatbin_packing_name(e->packing),
				  e->data.len);
		if (e->packing != MPK_FATBIN_STORED)
			mpk_strbuf_printf(out, " of %" PRIu64 " B", e->plain_bytes);
		mpk_strbuf_puts(out, e->debug ? ", with debug information" : "");
		if (e->name.len) {
			mpk_strbuf_puts(out, ", from ");
			mpk_escape(out, e->name);
		}
		if (c->images[i].problem)
			mpk_strbuf_printf(out, ", broken: %s", c->images[i].problem->text);
		mpk_strbuf_putc(out, '\n');
	}
}

static void member_lines(const struct mpk_ar *ar, const char *indent, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < ar->member_count; i++) {
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, ar->members[i].name);
		mpk_strbuf_printf(out, ", %zu B\n", ar->members[i].data.len);
	}
}

/* --- kernels ------------------------------------------------------------------------ */

static void ptx_figures(const struct mpk_inside_kernel *k, struct mpk_strbuf *out)
{
	const struct mpk_ptx *ptx = &k->code->u.ptx;
	const struct mpk_inside_shared *shared = &k->code->shared[k->ptx - ptx->kernels];

	mpk_strbuf_printf(out, "PTX sm_%u%.*s: ", ptx->sm, ptx->suffix ? 1 : 0, &ptx->suffix);
	put_count(k->ptx->param_count, "parameter", out);
	for (size_t i = 0; i < k->ptx->param_count; i++) {
		const struct mpk_ptx_param *p = &k->ptx->params[i];

		mpk_strbuf_puts(out, i ? " " : " (");
		mpk_escape(out, p->type);
		if (mpk_span_is(p->type, "b8"))
			mpk_strbuf_printf(out, "[%" PRIu64 "]", p->bytes);
	}
	mpk_strbuf_puts(out, k->ptx->param_count ? ")" : "");
	mpk_strbuf_printf(out, ", %" PRIu64 " B shared%s", shared->bytes,
			  shared->dynamic ? " and more" : "");
	put_shape("at most", k->ptx->max_threads, out);
	put_shape("block", k->ptx->block, out);
	put_shape("cluster", k->ptx->cluster, out);
	if (k->ptx->min_blocks)
		mpk_strbuf_printf(out, ", %" PRIu32 " blocks a processor", k->ptx->min_blocks);
	if (k->ptx->max_registers)
		mpk_strbuf_printf(out, ", at most %" PRIu32 " registers", k->ptx->max_registers);
	mpk_strbuf_puts(out, k->ptx->has_body ? "" : ", declared only");
}

static void cubin_figures(const struct mpk_inside_kernel *k, struct mpk_strbuf *out)
{
	const struct mpk_cubin *cubin = &k->code->u.cubin;
	const struct mpk_cubin_kernel *c = k->cubin;

	mpk_strbuf_printf(out, "cubin sm_%u%s: ", cubin->sm, cubin->arch_specific ? "a" : "");
	put_count(c->registers, "register", out);
	mpk_strbuf_printf(
		out, ", %" PRIu64 " B shared, %" PRIu32 " B stack, %" PRIu64 " B constant bank 0, ",
		c->shared_bytes, c->stack_bytes, c->bank0_bytes);
	put_count(c->barriers, "barrier", out);
	mpk_strbuf_puts(out, ", ");
	put_count(c->param_count, "parameter", out);
	mpk_strbuf_printf(out, " (%" PRIu32 " B), %" PRIu64 " B code", c->param_bytes,
			  c->code_bytes);
	put_shape("at most", c->max_threads, out);
	put_shape("block", c->block, out);
	put_shape("cluster", c->cluster, out);
}

static void spirv_figures(const struct mpk_inside_kernel *k, struct mpk_strbuf *out)
{
	const char *model = mpk_spirv_model_name(k->spirv->model);

	spirv_text(&k->code->u.spirv, out);
	mpk_strbuf_printf(out, ": %s", model ? model : "unknown execution model");
	put_shape("workgroup", k->spirv->local_size, out);
	put_shape("workgroup hint", k->spirv->size_hint, out);
	if (k->code->u.spirv.entry_count > 1)
		mpk_strbuf_printf(out, ", one of %zu entry points", k->code->u.spirv.entry_count);
}

static void source_figures(const struct mpk_inside_kernel *k, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s: line %" PRIu32 ", ",
			  mpk_clsource_language_name(mpk_inside_language(k->code->probe)),
			  k->source->line);
	put_count(k->source->param_count, "parameter", out);
	put_shape("work-group", k->source->group, out);
}

struct lines {
	const char *indent;
	struct mpk_strbuf *out;
};

static void figures_line(const struct mpk_inside_kernel *k, void *arg)
{
	const struct lines *l = arg;

	mpk_strbuf_puts(l->out, l->indent);
	if (k->ptx)
		ptx_figures(k, l->out);
	else if (k->cubin)
		cubin_figures(k, l->out);
	else if (k->spirv)
		spirv_figures(k, l->out);
	else
		source_figures(k, l->out);
	mpk_strbuf_putc(l->out, '\n');
}

void mpk_inside_function_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			       struct mpk_strbuf *out)
{
	static const char *const marks[] = {
		[MPK_PROBE_DEFINED] = NULL,
		[MPK_PROBE_FUNCTION] = "a .func in the code: no driver can launch it",
		[MPK_PROBE_POSSIBLE] = NULL,
		[MPK_PROBE_MISSING] = "not in the code",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	struct lines lines = { indent, out };

	if (!node->inside || !table)
		return;

	const char *mark = marks[mpk_inside_state(node->inside, table, index)];

	mpk_inside_each(node->inside, table, index, figures_line, &lines);
	if (mark)
		mpk_strbuf_printf(out, "%s%s\n", indent, mark);
}

/* --- executors ---------------------------------------------------------------------- */

static void relax_lines(const struct mpk_relax *x, const char *indent, struct mpk_strbuf *out)
{
	size_t of_kind[3] = { 0 };

	for (size_t i = 0; i < x->func_count; i++)
		of_kind[x->funcs[i].kind]++; /* the reader refuses other kinds */
	mpk_strbuf_printf(out, "%sbytecode ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	put_count(of_kind[MPK_RELAX_VM], "function", out);
	mpk_strbuf_printf(out, ", %zu compiled, %zu called by name, ", of_kind[MPK_RELAX_TIR],
			  of_kind[MPK_RELAX_PACKED]);
	put_count(mpk_relax_instr_count(x), "instruction", out);
	mpk_strbuf_puts(out, ", ");
	put_count(x->const_count, "constant", out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];

		if (f->kind == MPK_RELAX_PACKED)
			continue;
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->name);
		mpk_strbuf_puts(out, ": ");
		put_count(f->params.count, "parameter", out);
		if (f->kind == MPK_RELAX_VM && f->end > f->start && f->start >= 0)
			mpk_strbuf_printf(out, ", instructions %" PRId64 " to %" PRId64, f->start,
					  f->end - 1);
		mpk_strbuf_printf(out, ", %" PRId64 " registers%s\n", f->register_file_size,
				  f->kind == MPK_RELAX_TIR ? ", compiled" : "");
	}
}

static void relay_lines(const struct mpk_relay *x, const char *indent, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%sbytecode of TVM ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	put_count(x->func_count, "function", out);
	mpk_strbuf_puts(out, ", ");
	put_count(x->primitives.count, "primitive", out);
	mpk_strbuf_puts(out, ", ");
	put_count(x->const_count, "constant", out);
	mpk_strbuf_puts(out, ", ");
	put_count(x->device_count, "device", out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *f = &x->funcs[i];

		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->info.count ? f->info.items[0] : (struct mpk_span){ 0 });
		mpk_strbuf_puts(out, ": ");
		put_count(f->params.count, "parameter", out);
		mpk_strbuf_puts(out, ", ");
		put_count(f->instr_count, "instruction", out);
		mpk_strbuf_puts(out, ", ");
		put_count(f->register_file_size, "register", out);
		mpk_strbuf_putc(out, '\n');
	}
}

static void graph_lines(const struct mpk_inside *inside, const char *indent, struct mpk_strbuf *out)
{
	const struct mpk_graph_json *g = inside->graph;

	mpk_strbuf_printf(out, "%sgraph: ", indent);
	put_count(g->node_count, "node", out);
	mpk_strbuf_puts(out, ", ");
	put_count(g->arg_count, "input", out);
	mpk_strbuf_puts(out, " (parameters included), ");
	put_count(g->head_count, "output", out);
	mpk_strbuf_printf(out, ", %" PRIu64 " B storage in ", inside->storage_bytes);
	put_count(inside->storage_count, "piece", out);
	mpk_strbuf_putc(out, '\n');
}

/* --- modules ------------------------------------------------------------------------ */

/* Names that a reader of the code finds and the table does not tell of. */
static void unlisted_lines(const struct mpk_view_node *node, const struct mpk_probe_names *names,
			   const char *indent, struct mpk_strbuf *out)
{
	size_t extra = 0;

	for (size_t i = 0; i < names->count && extra <= NAMES_SHOWN; i++) {
		if (mpk_inside_has(&node->inside->table, names->names[i]))
			continue;
		if (!extra)
			mpk_strbuf_printf(out, "%sin the code, not in the table: ", indent);
		put_name(names->names[i], extra++, out);
	}
	if (extra)
		mpk_strbuf_puts(out, extra > NAMES_SHOWN ? " and more\n" : "\n");
	if (!names->function_count)
		return;
	mpk_strbuf_printf(out, "%s.func, which no driver can launch: ", indent);
	for (size_t i = 0; i < names->function_count && i < NAMES_SHOWN; i++)
		put_name(names->functions[i], i, out);
	put_rest(names->function_count, out);
	mpk_strbuf_putc(out, '\n');
}

/* A piece for one kernel is told of in that kernel's lines, unless it cannot be read. */
static void piece_lines(const struct mpk_view_node *node, const struct mpk_inside_piece *p,
			const char *indent, struct mpk_strbuf *out)
{
	if (p->key && !p->code.problem)
		return;
	mpk_strbuf_puts(out, indent);
	if (p->key) {
		mpk_escape(out, *p->key);
		mpk_strbuf_puts(out, ": ");
	}
	code_text(&p->code, out);
	mpk_strbuf_putc(out, '\n');
	if (p->code.images)
		image_lines(&p->code, indent, out);
	if (p->code.probe == MPK_PROBE_AR && !p->code.problem)
		member_lines(&p->code.u.ar, indent, out);
	if (!p->key)
		unlisted_lines(node, &p->defined, indent, out);
}

void mpk_inside_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out)
{
	if (!node->inside)
		return;
	for (size_t i = 0; i < node->inside->piece_count; i++)
		piece_lines(node, &node->inside->pieces[i], indent, out);
	if (node->inside->graph)
		graph_lines(node->inside, indent, out);
	if (node->decoded && node->payload.tag == MPK_PAYLOAD_RELAX)
		relax_lines(&node->payload.u.relax, indent, out);
	if (node->decoded && node->payload.tag == MPK_PAYLOAD_RELAY)
		relay_lines(&node->payload.u.relay, indent, out);
}

void mpk_inside_tensor_lines(const struct mpk_inside *inside, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < inside->tensor_count; i++) {
		const struct mpk_inside_tensor *t = &inside->tensors[i];
		char type[MPK_DTYPE_TEXT];

		mpk_escape(out, mpk_span_str(t->name));
		mpk_strbuf_printf(out, ": %s[", mpk_dtype_print(t->record->dtype, type));
		for (size_t d = 0; d < t->record->ndim; d++)
			mpk_strbuf_printf(out, "%s%" PRId64, d ? ", " : "", t->record->shape[d]);
		mpk_strbuf_printf(out, "] (%s)", MPK_SIZE(t->record->data.len));
		if (t->stats.count)
			mpk_strbuf_puts(out, "  ");
		mpk_stats_text(&t->stats, out);
		mpk_strbuf_putc(out, '\n');
	}
}
