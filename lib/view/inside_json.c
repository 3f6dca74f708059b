/* What is inside a module, as JSON (minspect.schema.json, minspect-functions.schema.json) */
#include "view/inside.h"

#include <inttypes.h>
#include <stdio.h>

/* Stable words; the names of mpk_probe_name are for people. */
static const char *format_word(enum mpk_probe probe)
{
	static const char *const words[MPK_PROBE_COUNT] = {
		[MPK_PROBE_PTX] = "ptx",         [MPK_PROBE_CUBIN] = "cubin",
		[MPK_PROBE_FATBIN] = "fatbin",   [MPK_PROBE_SPIRV] = "spirv",
		[MPK_PROBE_OPENCL] = "opencl",   [MPK_PROBE_METAL] = "metal",
		[MPK_PROBE_WGSL] = "wgsl",       [MPK_PROBE_CUDA] = "cuda",
		[MPK_PROBE_AR] = "archive",      [MPK_PROBE_HSACO] = "hsaco",
		[MPK_PROBE_HEXAGON] = "hexagon", [MPK_PROBE_METALLIB] = "metallib",
		[MPK_PROBE_XCLBIN] = "xclbin",   [MPK_PROBE_ELF] = "elf",
	};

	return words[probe] ? words[probe] : "other";
}

static void put_printed(struct mpk_json *j, struct json_t *at, const char *key, const char *form,
			unsigned a, const char *b)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%s%u%s", form, a, b);
	mpk_json_text(j, at, key, text);
}

static void put_version(struct mpk_json *j, struct json_t *at, const char *key, unsigned major,
			unsigned minor)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%u.%u", major, minor);
	mpk_json_text(j, at, key, text);
}

/* Three numbers, or null when they are not given. */
static void put_shape(struct mpk_json *j, struct json_t *at, const char *key, const uint32_t n[3])
{
	struct json_t *list;

	if (!n[0]) {
		mpk_json_null(j, at, key);
		return;
	}
	list = mpk_json_array(j, at, key);
	for (size_t i = 0; i < 3; i++)
		mpk_json_u64(j, list, NULL, n[i]);
}

static void put_spans(struct mpk_json *j, struct json_t *at, const char *key,
		      const struct mpk_span *names, size_t count)
{
	struct json_t *list = mpk_json_array(j, at, key);

	for (size_t i = 0; i < count; i++)
		mpk_json_span(j, list, NULL, names[i]);
}

/* --- code --------------------------------------------------------------------------- */

static void put_ptx_target(const struct mpk_ptx *p, struct mpk_json *j, struct json_t *o)
{
	put_printed(j, o, "target", "sm_", p->sm, (const char[]){ p->suffix, '\0' });
}

static void put_ptx(const struct mpk_inside_code *c, struct mpk_json *j, struct json_t *o)
{
	const struct mpk_ptx *p = &c->u.ptx;
	const struct mpk_inside_shared *shared = &c->shared[p->kernel_count];

	put_version(j, o, "version", p->major, p->minor);
	put_ptx_target(p, j, o);
	mpk_json_u64(j, o, "address_bits", p->address_bits);
	mpk_json_bool(j, o, "debug", p->debug);
	mpk_json_u64(j, o, "shared_bytes", shared->bytes);
	mpk_json_bool(j, o, "dynamic_shared", shared->dynamic);
	put_spans(j, o, "functions", p->functions, p->function_count);
}

static void put_cubin(const struct mpk_cubin *c, struct mpk_json *j, struct json_t *o)
{
	put_printed(j, o, "target", "sm_", c->sm, c->arch_specific ? "a" : "");
	mpk_json_bool(j, o, "relocatable", c->relocatable);
	mpk_json_u64(j, o, "constant_bytes", c->constant_bytes);
	mpk_json_u64(j, o, "global_bytes", c->global_bytes);
	mpk_json_span(j, o, "tool", c->tool);
	mpk_json_span(j, o, "options", c->options);
}

static void put_spirv(const struct mpk_spirv *s, struct mpk_json *j, struct json_t *o)
{
	struct json_t *list;

	put_version(j, o, "version", s->major, s->minor);
	mpk_json_text(j, o, "byte_order", s->big_endian ? "big" : "little");
	mpk_json_text(j, o, "addressing", mpk_spirv_addressing_name(s->addressing));
	mpk_json_text(j, o, "memory", mpk_spirv_memory_name(s->memory));
	list = mpk_json_array(j, o, "capabilities");
	for (size_t i = 0; i < s->capability_count; i++) {
		const char *name = mpk_spirv_capability_name(s->capabilities[i]);

		if (name)
			mpk_json_text(j, list, NULL, name);
		else
			put_printed(j, list, NULL, "", s->capabilities[i], "");
	}
}

static void put_archive(const struct mpk_ar *ar, struct mpk_json *j, struct json_t *o)
{
	struct json_t *list = mpk_json_array(j, o, "members"), *m;

	for (size_t i = 0; i < ar->member_count; i++) {
		m = mpk_json_object(j, list, NULL);
		mpk_json_span(j, m, "name", ar->members[i].name);
		mpk_json_u64(j, m, "bytes", ar->members[i].data.len);
	}
	mpk_json_u64(j, o, "symbols", ar->symbol_count);
}

/* The names of its kernels, in file order. */
static void put_entries(const struct mpk_inside_code *c, struct mpk_json *j, struct json_t *o)
{
	struct json_t *list = mpk_json_array(j, o, "entries");

	for (size_t i = 0; i < c->names.count; i++) {
		if (c->probe == MPK_PROBE_PTX)
			mpk_json_span(j, list, NULL, c->u.ptx.kernels[i].name);
		else if (c->probe == MPK_PROBE_CUBIN)
			mpk_json_span(j, list, NULL, c->u.cubin.kernels[i].name);
		else if (c->probe == MPK_PROBE_SPIRV)
			mpk_json_text(j, list, NULL, c->u.spirv.entries[i].name);
		else
			mpk_json_span(j, list, NULL, c->u.source.kernels[i].name);
	}
}

/* What every run of code says, a fatbin's images left out. */
static void put_code(const struct mpk_inside_code *c, struct mpk_json *j, struct json_t *o)
{
	mpk_json_text(j, o, "format", format_word(c->probe));
	mpk_json_u64(j, o, "offset", c->off);
	mpk_json_u64(j, o, "bytes", c->bytes.len);
	if (c->problem) {
		mpk_json_error(j, o, "problem", c->problem);
		return;
	}
	put_entries(c, j, o);
	if (c->probe == MPK_PROBE_PTX)
		put_ptx(c, j, o);
	else if (c->probe == MPK_PROBE_CUBIN)
		put_cubin(&c->u.cubin, j, o);
	else if (c->probe == MPK_PROBE_SPIRV)
		put_spirv(&c->u.spirv, j, o);
	else if (c->probe == MPK_PROBE_AR)
		put_archive(&c->u.ar, j, o);
}

static void put_images(const struct mpk_inside_code *c, struct mpk_json *j, struct json_t *at)
{
	static const char *const kinds[] = {
		[MPK_FATBIN_PTX] = "ptx",
		[MPK_FATBIN_ELF] = "cubin",
		[MPK_FATBIN_LTO] = "lto",
		[MPK_FATBIN_OTHER] = "other",
	};
	static const char *const packings[] = {
		[MPK_FATBIN_STORED] = "stored",
		[MPK_FATBIN_LZ4] = "lz4",
		[MPK_FATBIN_ZSTD] = "zstd",
	};
	struct json_t *list = mpk_json_array(j, at, "images"), *o;

	for (size_t i = 0; i < c->u.fatbin.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &c->u.fatbin.entries[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "kind", kinds[e->kind]);
		put_printed(j, o, "target", e->kind == MPK_FATBIN_PTX ? "compute_" : "sm_", e->sm,
			    e->arch_specific     ? "a"
			    : e->family_specific ? "f"
						 : "");
		mpk_json_text(j, o, "packing", packings[e->packing]);
		mpk_json_u64(j, o, "bytes", e->data.len);
		mpk_json_u64(j, o, "plain_bytes",
			     e->packing == MPK_FATBIN_STORED ? e->data.len : e->plain_bytes);
		mpk_json_bool(j, o, "debug", e->debug);
		mpk_json_span(j, o, "name", e->name);
		if (c->images[i].probe != MPK_PROBE_UNKNOWN)
			put_code(&c->images[i], j, mpk_json_object(j, o, "code"));
	}
}

static void put_pieces(const struct mpk_inside *inside, struct mpk_json *j, struct json_t *at)
{
	struct json_t *list = mpk_json_array(j, at, "code"), *o;

	for (size_t i = 0; i < inside->piece_count; i++) {
		const struct mpk_inside_piece *p = &inside->pieces[i];

		o = mpk_json_object(j, list, NULL);
		if (p->key)
			mpk_json_span(j, o, "kernel", *p->key);
		else
			mpk_json_null(j, o, "kernel");
		put_code(&p->code, j, o);
		if (p->code.images)
			put_images(&p->code, j, o);
	}
}

/* --- kernels ------------------------------------------------------------------------ */

static void put_ptx_figures(const struct mpk_inside_kernel *k, struct mpk_json *j, struct json_t *o)
{
	const struct mpk_ptx *ptx = &k->code->u.ptx;
	const struct mpk_ptx_kernel *e = k->ptx;
	const struct mpk_inside_shared *shared = &k->code->shared[e - ptx->kernels];
	struct json_t *list, *p;

	put_ptx_target(ptx, j, o);
	list = mpk_json_array(j, o, "parameters");
	for (size_t i = 0; i < e->param_count; i++) {
		p = mpk_json_object(j, list, NULL);
		mpk_json_span(j, p, "type", e->params[i].type);
		mpk_json_u64(j, p, "bytes", e->params[i].bytes);
	}
	mpk_json_u64(j, o, "shared_bytes", shared->bytes);
	mpk_json_bool(j, o, "dynamic_shared", shared->dynamic);
	put_shape(j, o, "max_threads", e->max_threads);
	put_shape(j, o, "block", e->block);
	put_shape(j, o, "cluster", e->cluster);
	mpk_json_u64(j, o, "min_blocks", e->min_blocks);
	mpk_json_u64(j, o, "max_registers", e->max_registers);
}

static void put_cubin_figures(const struct mpk_inside_kernel *k, struct mpk_json *j,
			      struct json_t *o)
{
	const struct mpk_cubin *cubin = &k->code->u.cubin;
	const struct mpk_cubin_kernel *c = k->cubin;
	struct json_t *list, *p;

	put_printed(j, o, "target", "sm_", cubin->sm, cubin->arch_specific ? "a" : "");
	list = mpk_json_array(j, o, "parameters");
	for (size_t i = 0; i < c->param_count; i++) {
		p = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, p, "offset", c->params[i].offset);
		mpk_json_u64(j, p, "bytes", c->params[i].bytes);
	}
	mpk_json_u64(j, o, "parameter_bytes", c->param_bytes);
	mpk_json_u64(j, o, "registers", c->registers);
	mpk_json_u64(j, o, "shared_bytes", c->shared_bytes);
	mpk_json_u64(j, o, "stack_bytes", c->stack_bytes);
	mpk_json_u64(j, o, "bank0_bytes", c->bank0_bytes);
	mpk_json_u64(j, o, "barriers", c->barriers);
	mpk_json_u64(j, o, "code_bytes", c->code_bytes);
	put_shape(j, o, "max_threads", c->max_threads);
	put_shape(j, o, "block", c->block);
	put_shape(j, o, "cluster", c->cluster);
}

struct figures {
	struct mpk_json *j;
	struct json_t *list;
};

static void put_figures(const struct mpk_inside_kernel *k, void *arg)
{
	const struct figures *f = arg;
	struct json_t *o = mpk_json_object(f->j, f->list, NULL);

	mpk_json_text(f->j, o, "format", format_word(k->code->probe));
	if (k->ptx) {
		put_ptx_figures(k, f->j, o);
	} else if (k->cubin) {
		put_cubin_figures(k, f->j, o);
	} else if (k->spirv) {
		mpk_json_text(f->j, o, "model", mpk_spirv_model_name(k->spirv->model));
		put_shape(f->j, o, "workgroup", k->spirv->local_size);
		put_shape(f->j, o, "workgroup_hint", k->spirv->size_hint);
	} else {
		mpk_json_u64(f->j, o, "line", k->source->line);
		mpk_json_u64(f->j, o, "parameter_count", k->source->param_count);
		put_shape(f->j, o, "workgroup", k->source->group);
	}
}

void mpk_inside_function_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			      struct json_t *at)
{
	static const char *const states[] = {
		[MPK_PROBE_DEFINED] = "yes",
		[MPK_PROBE_FUNCTION] = "not-launchable",
		[MPK_PROBE_POSSIBLE] = "unknown",
		[MPK_PROBE_MISSING] = "no",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	struct figures f = { .j = j };

	if (!node->inside || !table)
		return;
	mpk_json_text(j, at, "in_code", states[mpk_inside_state(node->inside, table, index)]);
	f.list = mpk_json_array(j, at, "figures");
	mpk_inside_each(node->inside, table, index, put_figures, &f);
}

/* --- executors and tensors ---------------------------------------------------------- */

static void put_relax(const struct mpk_relax *x, struct mpk_json *j, struct json_t *at)
{
	static const char *const kinds[] = {
		[MPK_RELAX_PACKED] = "packed",
		[MPK_RELAX_VM] = "bytecode",
		[MPK_RELAX_TIR] = "compiled",
	};
	struct json_t *o = mpk_json_object(j, at, "executor"), *list, *f;

	mpk_json_span(j, o, "version", x->version);
	mpk_json_u64(j, o, "instructions", mpk_relax_instr_count(x));
	mpk_json_u64(j, o, "constants", x->const_count);
	list = mpk_json_array(j, o, "functions");
	for (size_t i = 0; i < x->func_count; i++) {
		f = mpk_json_object(j, list, NULL);
		mpk_json_span(j, f, "name", x->funcs[i].name);
		mpk_json_text(j, f, "kind", kinds[x->funcs[i].kind]);
		put_spans(j, f, "parameters", x->funcs[i].params.items, x->funcs[i].params.count);
		if (x->funcs[i].kind == MPK_RELAX_PACKED)
			continue;
		mpk_json_i64(j, f, "registers", x->funcs[i].register_file_size);
		mpk_json_i64(j, f, "start", x->funcs[i].start);
		mpk_json_i64(j, f, "end", x->funcs[i].end);
	}
}

static void put_relay(const struct mpk_relay *x, struct mpk_json *j, struct json_t *at)
{
	struct json_t *o = mpk_json_object(j, at, "executor"), *list, *f;
	uint64_t instructions = 0;

	for (size_t i = 0; i < x->func_count; i++)
		instructions += x->funcs[i].instr_count; /* each has bytes: cannot wrap */
	mpk_json_span(j, o, "version", x->version);
	mpk_json_u64(j, o, "instructions", instructions);
	mpk_json_u64(j, o, "constants", x->const_count);
	mpk_json_u64(j, o, "devices", x->device_count);
	put_spans(j, o, "primitives", x->primitives.items, x->primitives.count);
	list = mpk_json_array(j, o, "functions");
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *r = &x->funcs[i];

		f = mpk_json_object(j, list, NULL);
		mpk_json_span(j, f, "name",
			      r->info.count ? r->info.items[0] : (struct mpk_span){ 0 });
		mpk_json_text(j, f, "kind", "bytecode");
		put_spans(j, f, "parameters", r->params.items, r->params.count);
		mpk_json_u64(j, f, "registers", r->register_file_size);
		mpk_json_u64(j, f, "instructions", r->instr_count);
	}
}

static void put_graph(const struct mpk_inside *inside, struct mpk_json *j, struct json_t *at)
{
	struct json_t *o = mpk_json_object(j, at, "executor");

	mpk_json_u64(j, o, "nodes", inside->graph->node_count);
	mpk_json_u64(j, o, "inputs", inside->graph->arg_count);
	mpk_json_u64(j, o, "outputs", inside->graph->head_count);
	mpk_json_u64(j, o, "storage_bytes", inside->storage_bytes);
	mpk_json_u64(j, o, "storage_pieces", inside->storage_count);
}

/* null when there is no number to give */
static void put_range(const struct mpk_stats *s, struct mpk_json *j, struct json_t *o)
{
	if (s->kind == MPK_STATS_NONE || s->count == s->nans + s->infs) {
		mpk_json_null(j, o, "min");
		mpk_json_null(j, o, "max");
		mpk_json_null(j, o, "mean");
		return;
	}
	if (s->kind == MPK_STATS_FLOAT) {
		mpk_json_f64(j, o, "min", s->range.f.min);
		mpk_json_f64(j, o, "max", s->range.f.max);
	} else if (s->kind == MPK_STATS_SIGNED) {
		mpk_json_i64(j, o, "min", s->range.i.min);
		mpk_json_i64(j, o, "max", s->range.i.max);
	} else {
		mpk_json_u64(j, o, "min", s->range.u.min);
		mpk_json_u64(j, o, "max", s->range.u.max);
	}
	mpk_json_f64(j, o, "mean", s->mean);
}

static void put_tensors(const struct mpk_inside *inside, struct mpk_json *j, struct json_t *at)
{
	struct json_t *list = mpk_json_array(j, at, "tensors"), *o, *shape;
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; i < inside->tensor_count; i++) {
		const struct mpk_inside_tensor *t = &inside->tensors[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", mpk_span_str(t->name));
		mpk_json_text(j, o, "dtype", mpk_dtype_print(t->record->dtype, type));
		shape = mpk_json_array(j, o, "shape");
		for (size_t d = 0; d < t->record->ndim; d++)
			mpk_json_i64(j, shape, NULL, t->record->shape[d]);
		mpk_json_u64(j, o, "bytes", t->record->data.len);
		put_range(&t->stats, j, o);
		mpk_json_u64(j, o, "nans", t->stats.nans);
		mpk_json_u64(j, o, "infinities", t->stats.infs);
	}
}

void mpk_inside_json(const struct mpk_view_node *node, struct mpk_json *j, struct json_t *at)
{
	const struct mpk_inside *inside = node->inside;

	if (!inside)
		return;
	if (inside->piece_count)
		put_pieces(inside, j, at);
	if (inside->graph)
		put_graph(inside, j, at);
	if (node->decoded && node->payload.tag == MPK_PAYLOAD_RELAX)
		put_relax(&node->payload.u.relax, j, at);
	if (node->decoded && node->payload.tag == MPK_PAYLOAD_RELAY)
		put_relay(&node->payload.u.relay, j, at);
	if (inside->tensor_count)
		put_tensors(inside, j, at);
}
