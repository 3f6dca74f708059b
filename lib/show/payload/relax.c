/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - printers for executables of the Relax VM: byte code, constants, called functions */
#include "payload/payload_view.h"

#include <inttypes.h>
#include <stdio.h>

#include "payload/internal/relax.h"
#include "text/escape.h"
#include "text/phrase.h"

static const struct mpk_relax *executable_of(const struct mpk_payload *p)
{
	return &p->u.relax;
}

/* --- text and JSON ------------------------------------------------------------------------ */

/* Only the bytes of tensors are summed; other constants are small. */
static void relax_put_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_relax *x = &p->u.relax;
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			bytes += x->consts[i].u.tensor.data.len;
	mpk_put_also(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_tensor_counts(x->const_count, bytes, "constant", out);
}

/* Functions called by name are only counted, since their code is elsewhere. */
static void relax_put_lines(const struct mpk_payload_content *c, const char *indent,
			    struct mpk_strbuf *out)
{
	const struct mpk_relax *x = &c->payload->u.relax;
	size_t of_kind[3] = { 0 };

	for (size_t i = 0; i < x->func_count; i++)
		of_kind[x->funcs[i].kind]++; /* the reader refuses other kinds */
	mpk_strbuf_printf(out, "%sbytecode ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, of_kind[MPK_RELAX_VM], "function");
	mpk_strbuf_printf(out, ", %zu compiled, %zu called by name, ", of_kind[MPK_RELAX_TIR],
			  of_kind[MPK_RELAX_PACKED]);
	mpk_put_count(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_also(out, x->const_count, "constant");
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];

		if (f->kind == MPK_RELAX_PACKED)
			continue;
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->name);
		mpk_strbuf_puts(out, ": ");
		mpk_put_count(out, f->params.count, "parameter");
		if (f->kind == MPK_RELAX_VM && f->end > f->start && f->start >= 0)
			mpk_strbuf_printf(out, ", instructions %" PRId64 " to %" PRId64, f->start,
					  f->end - 1);
		mpk_strbuf_printf(out, ", %" PRId64 " registers%s\n", f->register_file_size,
				  f->kind == MPK_RELAX_TIR ? ", compiled" : "");
	}
}

static void relax_put_json(const struct mpk_payload_content *c, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	static const char *const kinds[] = {
		[MPK_RELAX_PACKED] = "packed",
		[MPK_RELAX_VM] = "bytecode",
		[MPK_RELAX_TIR] = "compiled",
	};
	const struct mpk_relax *x = &c->payload->u.relax;
	struct mpk_json_at *o = mpk_json_object(j, at, "executor"), *list, *f;

	mpk_json_span(j, o, "version", x->version);
	mpk_json_u64(j, o, "instructions", mpk_relax_instr_count(x));
	mpk_json_u64(j, o, "constants", x->const_count);
	list = mpk_json_array(j, o, "functions");
	for (size_t i = 0; i < x->func_count; i++) {
		f = mpk_json_object(j, list, NULL);
		mpk_json_span(j, f, "name", x->funcs[i].name);
		mpk_json_text(j, f, "kind", kinds[x->funcs[i].kind]);
		mpk_json_spans(j, f, "parameters", x->funcs[i].params.items,
			       x->funcs[i].params.count);
		if (x->funcs[i].kind == MPK_RELAX_PACKED)
			continue;
		mpk_json_i64(j, f, "registers", x->funcs[i].register_file_size);
		mpk_json_i64(j, f, "start", x->funcs[i].start);
		mpk_json_i64(j, f, "end", x->funcs[i].end);
	}
}

/* --- functions ---------------------------------------------------------------------------- */

/* Returns the bytes of a function's instructions and of their offsets; 0 if it cannot be read. */
static uint64_t relax_function_bytes(const struct mpk_relax *x, const struct mpk_relax_func *f)
{
	uint64_t count = mpk_relax_instr_count(x), words = x->instr_data.len / 8, begin, end;

	if (f->kind != MPK_RELAX_VM || f->start < 0 || f->end <= f->start ||
	    (uint64_t)f->end > count)
		return 0;
	begin = mpk_load_u64(x->instr_offset.data + 8 * f->start);
	end = (uint64_t)f->end < count ? mpk_load_u64(x->instr_offset.data + 8 * f->end) : words;
	return begin <= end && end <= words
		       ? 8 * (end - begin + (uint64_t)f->end - (uint64_t)f->start)
		       : 0;
}

static bool function_at(const struct mpk_payload *p, size_t index, struct mpk_payload_function *out)
{
	static const enum mpk_payload_function_kind kinds[] = {
		[MPK_RELAX_PACKED] = MPK_FUNCTION_IMPORTED,
		[MPK_RELAX_VM] = MPK_FUNCTION_BYTE_CODE,
		[MPK_RELAX_TIR] = MPK_FUNCTION_COMPILED,
	}; /* the reader refuses other kinds */
	const struct mpk_relax *x = &p->u.relax;

	if (index >= x->func_count)
		return false;
	*out = (struct mpk_payload_function){ x->funcs[index].name, kinds[x->funcs[index].kind],
					      relax_function_bytes(x, &x->funcs[index]) };
	return true;
}

static void put_listing(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	mpk_relax_dump(&p->u.relax, index == MPK_ALL_FUNCTIONS ? MPK_RELAX_ALL : index, out);
}

/* The byte code may be unchecked: an index out of range is not a call. */
static enum mpk_code relax_add_call(const struct mpk_relax *x,
				    const struct mpk_payload_calls *calls, size_t from, int64_t to,
				    struct mpk_error *err)
{
	if (to < 0 || (uint64_t)to >= x->func_count)
		return MPK_OK;
	return calls->add(calls->arg, from, (size_t)to, err);
}

/* A function passed as an argument counts as called, since the receiver may call it. */
static enum mpk_code add_calls(const struct mpk_relax *x, size_t func, size_t *left,
			       const struct mpk_payload_calls *calls, struct mpk_error *err)
{
	const struct mpk_relax_func *f = &x->funcs[func];
	struct mpk_relax_instr instr;

	for (int64_t i = f->start; i < f->end && *left; i++, --*left) {
		if (mpk_relax_instr(x, (size_t)i, &instr, NULL) != MPK_OK)
			return MPK_OK;
		if (instr.op != MPK_RELAX_CALL)
			continue;
		MPK_TRY(relax_add_call(x, calls, func, instr.func, err));
		for (size_t k = 0; k < instr.arg_count; k++) {
			struct mpk_relax_arg arg = mpk_relax_arg(&instr, k);

			if (arg.kind == MPK_RELAX_ARG_FUNC)
				MPK_TRY(relax_add_call(x, calls, func, arg.value, err));
		}
	}
	return MPK_OK;
}

static enum mpk_code find_calls(const struct mpk_payload *p, const struct mpk_payload_calls *calls,
				struct mpk_error *err)
{
	const struct mpk_relax *x = &p->u.relax;
	/* functions of a hostile file may share instructions */
	size_t left = mpk_relax_instr_count(x);

	for (size_t i = 0; i < x->func_count; i++)
		if (x->funcs[i].kind == MPK_RELAX_VM && x->funcs[i].start >= 0)
			MPK_TRY(add_calls(x, i, &left, calls, err));
	return MPK_OK;
}

/* Drawing relies on the checks of --verify: byte code that fails them has no graph. */
static size_t relax_count_graphs(const struct mpk_payload_content *c)
{
	return mpk_relax_check(&c->payload->u.relax, NULL) == MPK_OK
		       ? c->payload->u.relax.func_count
		       : 0;
}

/* --- verdicts ----------------------------------------------------------------------------- */

static enum mpk_code relax_verify(const struct mpk_payload *p, struct mpk_error *err)
{
	return mpk_relax_check(&p->u.relax, err);
}

#define RELAX_VERSION "0.14" /* the only version so far */

/* TVM 0.23 introduced a table of memory scopes, under another magic number. */
enum { RELAX_SCOPES_SINCE = 23 };

static void relax_find_needs(const struct mpk_payload *p, const struct mpk_release *release,
			     const struct mpk_payload_findings *findings)
{
	const struct mpk_relax *x = &p->u.relax;
	char text[1024];

	if (!mpk_span_is(x->version, RELAX_VERSION)) {
		(void)snprintf(text, sizeof text,
			       "byte code of version '%s'; TVM reads " RELAX_VERSION
			       " alone: compile it again",
			       MPK_QUOTE(x->version));
		findings->say(findings->arg, MPK_ERROR, text);
	}
	if (release && release->minor && release->minor < RELAX_SCOPES_SINCE && x->has_scopes) {
		(void)snprintf(text, sizeof text,
			       "byte code as TVM 0.23 and later writes it, with memory scopes; %s "
			       "does not read it",
			       release->name);
		findings->say(findings->arg, MPK_ERROR, text);
	}
}

/* --- difference --------------------------------------------------------------------------- */

/* One line for each constant, so that constant pools are compared as texts. */
void mpk_relax_put_constant(const struct mpk_relax_const *c, struct mpk_strbuf *out)
{
	const struct mpk_tensor_record *t = &c->u.tensor;
	char type[MPK_DTYPE_TEXT];

	switch (c->kind) {
	case MPK_RELAX_TENSOR:
		mpk_strbuf_puts(out, "tensor ");
		mpk_differ_put_type(t->dtype, t->shape, t->ndim, out);
		break;
	case MPK_RELAX_DTYPE:
		mpk_strbuf_printf(out, "type %s", mpk_dtype_print_short(c->u.dtype, type));
		break;
	case MPK_RELAX_SHAPE:
		mpk_strbuf_puts(out, "shape");
		/* extents are 64-bit words, as TVM's serializer writes them */
		for (size_t i = 0; i + 8 <= c->u.shape.len; i += 8)
			mpk_strbuf_printf(out, " %" PRId64,
					  (int64_t)mpk_load_u64(c->u.shape.data + i));
		break;
	case MPK_RELAX_STRING:
		mpk_strbuf_puts(out, "text ");
		mpk_escape(out, c->u.string);
		break;
	case MPK_RELAX_INT:
		mpk_strbuf_printf(out, "int %" PRId64, c->u.i);
		break;
	case MPK_RELAX_FLOAT:
		/* 17 digits distinguish any two doubles */
		mpk_strbuf_printf(out, "float %.17g", c->u.f);
		break;
	case MPK_RELAX_CONST_KINDS:
		break;
	}
}

static struct mpk_strbuf list_constants(const struct mpk_relax *x)
{
	struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < x->const_count && !out.failed; i++) {
		mpk_relax_put_constant(&x->consts[i], &out);
		mpk_strbuf_putc(&out, '\n');
	}
	return out;
}

/* Compares the constant pools as lists of lines: shapes, types, texts, numbers, and the types of
 * tensors. The elements of tensors are compared elsewhere. */
static void relax_diff(struct mpk_differ *d, const struct mpk_payload_content *a,
		       const struct mpk_payload_content *b)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf x = list_constants(&a->payload->u.relax);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf y = list_constants(&b->payload->u.relax);

	d->diff->failed |= x.failed || y.failed;
	mpk_differ_lines(d, "constants", (struct mpk_span){ 0 }, "constant",
			 mpk_span_of(x.data, x.len), mpk_span_of(y.data, y.len));
}

const struct mpk_payload_view mpk_payload_view_relax = {
	.relax = executable_of,
	.counts = relax_put_counts,
	.text = relax_put_lines,
	.json = relax_put_json,
	.function = function_at,
	.disasm = put_listing,
	.calls = find_calls,
	.graph_count = relax_count_graphs,
	.graph = mpk_relax_read_graph,
	.diff = relax_diff,
	.check = "byte-code",
	.verify = relax_verify,
	.needs = relax_find_needs,
};
