/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - checks device code against its format and against the kernel table. Checks specific to a
 * format are in its own file. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "code/info.h"
#include "model/node_info.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "verify/verify.h"

/* Two checks: whether the code has the format that the module's kind says, and whether the code is
 * valid in its own format. The second runs even if the first fails. */
static void code_format(struct mpk_verify *v, const struct mpk_view_node *n,
			const struct mpk_code_piece *piece)
{
	const struct mpk_code_info *code = &piece->code;
	const struct mpk_code_format *f = code->format;
	struct mpk_code_verify to = { .report = v->report,
				      .file = v->view->name,
				      .path = n->path,
				      .kind = n->node->kind,
				      .check = v->check };
	struct mpk_error err = { 0 };
	bool known;

	if (mpk_code_format_claim(to.kind, mpk_view_format(n), f, &known, &err) != MPK_OK) {
		v->report->failed |= err.code == MPK_E_NOMEM;
		mpk_verify_say(v, MPK_ERROR, "%s", err.text);
	} else if (known && code->problem && !code->presumed && !f->verifies_broken) {
		mpk_code_say_problem(&to, code, "");
	}
	to.check = f->check ? f->check : to.check;
	if (f->verify && (!code->problem || f->verifies_broken))
		f->verify(code, &to);
}

/* --- kernels in code ------------------------------------------------------------------------ */

/* A text without a kind has an unknown language. */
static void check_defined(struct mpk_verify *v, const struct mpk_code_info *code,
			  struct mpk_span key)
{
	enum mpk_code_defines found = mpk_code_info_defines(code, key);

	v->kernel = key;
	if (found == MPK_CODE_FUNCTION)
		mpk_verify_say(v, MPK_WARNING,
			       "kernel '%s' is a .func, not an .entry: no driver can launch it",
			       MPK_QUOTE(key));
	else if (found == MPK_CODE_MISSING)
		mpk_verify_say(v, code->format == &mpk_format_text ? MPK_WARNING : MPK_ERROR,
			       "the code does not define kernel '%s'", MPK_QUOTE(key));
}

/* A piece with a key is the code of that kernel only; a piece without one has the code of all
 * kernels of the table. */
static void kernel_defined(struct mpk_verify *v, const struct mpk_view_node *n,
			   const struct mpk_code_piece *piece)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	if (!mpk_code_format_fits(n->node->kind, k->fmt, piece->code.format))
		return; /* code-format reports this */
	if (piece->key)
		check_defined(v, &piece->code, *piece->key);
	for (size_t i = 0; !piece->key && i < k->function_count; i++)
		check_defined(v, &piece->code, k->functions[i].key);
}

/* Only OpenCL C is compiled per kernel by TVM's runtime (OpenCLModuleNode::InstallKernel); binaries
 * and other kinds have no such lines. */
static bool is_opencl_source(const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	return k->layout == MPK_KERNELS_PLAIN && mpk_span_is(n->node->kind, "opencl") &&
	       mpk_span_is(k->fmt, "cl");
}

enum piece_state {
	PIECE_UNREAD,
	/* it has its kernel, or may have it; also if code-format has a finding about it */
	PIECE_HOLDS,
	PIECE_LACKS,
};

/* Whether a program defines its kernel. A text that cannot be parsed, or in which a macro could
 * make the name, is assumed to define it: a false alarm would be worse. */
static enum piece_state read_piece(struct mpk_verify *v, const struct mpk_source_code_piece *piece)
{
	struct mpk_source_code_index index = { .arena = v->arena };
	struct mpk_source_code s;
	size_t k = 0;

	if (mpk_source_code_read(piece->text, MPK_SOURCE_CODE_OPENCL, v->arena, &s, NULL) != MPK_OK)
		return PIECE_HOLDS;
	index.bytes = s.plain;
	while (k < s.kernel_count && !mpk_span_equal(s.kernels[k].name, piece->name))
		k++;
	return k == s.kernel_count && !mpk_source_code_may_define(&index, piece->name)
		       ? PIECE_LACKS
		       : PIECE_HOLDS;
}

/* The programs of a text. */
struct pieces {
	const struct mpk_source_code_piece *items;
	size_t count;
	struct mpk_names names;
	enum piece_state *states; /* state of each program; a table may name a kernel many times */
};

/* Checks what the loader compiles for one kernel: the first piece with its name. */
static void check_piece(struct mpk_verify *v, const struct pieces *p, struct mpk_span kernel)
{
	size_t i = 0;

	v->kernel = kernel;
	if (!mpk_names_find(&p->names, kernel, &i)) {
		mpk_verify_say(v, MPK_ERROR,
			       "no line '" MPK_SOURCE_CODE_DELIMITER
			       "%s' begins a program for this kernel",
			       MPK_QUOTE(kernel));
		return;
	}
	if (p->states[i] == PIECE_UNREAD)
		p->states[i] = read_piece(v, &p->items[i]);
	if (p->states[i] == PIECE_LACKS)
		mpk_verify_say(v, MPK_ERROR, "the program of kernel '%s' does not define it",
			       MPK_QUOTE(kernel));
}

/* The state of each program is kept, so that a program is parsed once however many kernels of a
 * hostile table have its name. */
static bool split_pieces(struct mpk_verify *v, struct mpk_span text, struct pieces *out)
{
	_Static_assert(offsetof(struct mpk_source_code_piece, name) == 0,
		       "names stand first in rows");
	if (mpk_source_code_split(text, v->arena, &out->items, &out->count, NULL) != MPK_OK ||
	    mpk_names_of(out->items, sizeof *out->items, out->count, v->arena, &out->names, NULL) !=
		    MPK_OK)
		return false;
	out->states = mpk_arena_array(v->arena, out->count, sizeof *out->states);
	return out->states != NULL;
}

/* TVM 0.8 and later compiles a program for each kernel; up to 0.7 the text is one program, without
 * such lines. */
static void opencl_pieces(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	struct pieces pieces;

	if (!is_opencl_source(n))
		return;
	if (!split_pieces(v, k->data, &pieces)) {
		v->report->failed = true;
		return;
	}
	v->position.offset = n->node->payload_off + k->data_off;
	if (!pieces.count) {
		mpk_verify_say(v, k->gen == MPK_GEN_LEGACY ? MPK_WARNING : MPK_ERROR,
			       "the source has no '" MPK_SOURCE_CODE_DELIMITER
			       "' lines: TVM 0.8 and later do not load it");
		return;
	}
	for (size_t i = 0; i < k->function_count; i++)
		if (mpk_node_info_defines(n->info, k, i) != MPK_CODE_MISSING)
			check_piece(v, &pieces, k->functions[i].key);
	v->kernel = (struct mpk_span){ 0 };
	if (pieces.count != k->function_count)
		mpk_verify_say(v, MPK_ERROR,
			       "%zu '" MPK_SOURCE_CODE_DELIMITER
			       "' lines for %zu kernels; loaders need one for each",
			       pieces.count, k->function_count);
}

/* For layouts with one piece of code for each kernel: table and pieces must have the same names. */
static void kernel_code(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	if (k->layout == MPK_KERNELS_PLAIN)
		return;
	for (size_t i = 0; i < k->function_count; i++) {
		v->kernel = k->functions[i].key;
		if (!mpk_names_find(&n->info->piece_names, k->functions[i].key, NULL))
			mpk_verify_say(v, MPK_ERROR, "there is no code for kernel '%s'",
				       MPK_QUOTE(k->functions[i].key));
	}
	v->kernel = (struct mpk_span){ 0 };
	for (size_t i = 0; i < k->source_count; i++)
		if (!mpk_names_find(&n->info->table, k->sources[i].key, NULL))
			mpk_verify_say(v, MPK_WARNING,
				       "there is code for '%s', which the table does not list",
				       MPK_QUOTE(k->sources[i].key));
}

/* --- compares a kernel's table row with its code: number, sizes and kinds of the parameters, and
 * arguments that no runtime can pass. If macros or conditions leave something open, the finding is
 * a warning. -------- */

/* The kernel being checked. */
struct check {
	const struct mpk_code_info *code;
	const struct mpk_code_kernel *kernel;
	const struct mpk_function_info *row;
	struct mpk_verify *v;
};

static void row_say(const struct check *c, enum mpk_severity severity, const char *fmt, ...)
	MPK_PRINTF(3, 4);

/* The compiler may see another kernel than the text that was read, because of macros. */
static void row_say(const struct check *c, enum mpk_severity severity, const char *fmt, ...)
{
	char text[sizeof((struct mpk_error *)0)->text];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_verify_say(c->v, c->kernel->condition.len ? MPK_WARNING : severity, "%s", text);
}

static bool is_tensor_map(const struct mpk_function_info *row, size_t i)
{
	enum { TENSOR_MAP = 1 };

	return i < row->extra_tag_count && row->extra_tags[i] == TENSOR_MAP &&
	       row->arg_types[i].code == MPK_DTYPE_HANDLE;
}

/* Returns the bytes of argument i as a launch passes it; 0 if not known for certain. */
static uint64_t argument_bytes(const struct mpk_function_info *row, size_t i, uint64_t pointer)
{
	enum { TENSOR_MAP_BYTES = 128 };
	struct mpk_dtype t = row->arg_types[i];

	if (t.lanes != 1)
		return 0;
	if (t.code == MPK_DTYPE_HANDLE)
		return is_tensor_map(row, i) ? TENSOR_MAP_BYTES : pointer;
	return t.bits == 32 || t.bits == 64 ? t.bits / 8U : 0;
}

/* --- kinds -------------------------------------------------------------------------------- */

static bool row_is_integer(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_INT || t.code == MPK_DTYPE_UINT || t.code == MPK_DTYPE_BOOL;
}

/* Whether a table's type can be passed for a number in a source: the sign of an integer does not
 * change its bytes. CUDA copies as many bytes as the kernel takes, from the lowest on, and accepts
 * an address for a number. */
static bool passes_number(const struct check *c, struct mpk_dtype table, struct mpk_dtype code)
{
	bool cuda = c->code->format == &mpk_format_cuda;

	if (table.code == MPK_DTYPE_HANDLE)
		return cuda && row_is_integer(code) && code.bits == 64;
	if (table.lanes != 1)
		return true;
	if (mpk_dtype_is_real(table) != mpk_dtype_is_real(code))
		return false;
	return table.bits == code.bits ||
	       (cuda && row_is_integer(table) && row_is_integer(code) && table.bits > code.bits);
}

static bool passes_address(const struct check *c, struct mpk_dtype table)
{
	return table.code == MPK_DTYPE_HANDLE ||
	       (c->code->format == &mpk_format_cuda && row_is_integer(table) && table.bits == 64);
}

/* --- arguments ------------------------------------------------------------------------------ */

static void say_kind(const struct check *c, size_t i, const struct mpk_code_param *p,
		     const char *why)
{
	char type[MPK_DTYPE_TEXT];

	if (p->text.len)
		row_say(c, MPK_ERROR,
			"argument %zu of kernel '%s' is '%s' in the code, %s in the table%s", i,
			MPK_QUOTE(c->row->key), MPK_QUOTE(p->text),
			mpk_dtype_print(c->row->arg_types[i], type), why);
	else
		row_say(c, MPK_ERROR,
			"argument %zu of kernel '%s' is a vector or struct in the code, %s in the table%s",
			i, MPK_QUOTE(c->row->key), mpk_dtype_print(c->row->arg_types[i], type),
			why);
}

/* A parameter passed by value needs an argument of the same size; for an address, only as far as it
 * is one. */
static void check_value(const struct check *c, size_t i, const struct mpk_code_param *p)
{
	uint64_t bytes = argument_bytes(c->row, i, c->code->pointer_bytes);
	bool handle = c->row->arg_types[i].code == MPK_DTYPE_HANDLE && !is_tensor_map(c->row, i);

	if ((bytes && p->least_bytes > bytes) || (handle && !p->holds_address))
		say_kind(c, i, p, ": no runtime passes structs, vectors or samplers by value");
	else if (handle && !p->least_bytes)
		row_say(c, MPK_WARNING,
			"argument %zu of kernel '%s' is '%s', whose contents are unknown: handle in the table passes an address",
			i, MPK_QUOTE(c->row->key), MPK_QUOTE(p->text));
}

static void check_argument(const struct check *c, size_t i, const struct mpk_code_param *p)
{
	struct mpk_dtype table = c->row->arg_types[i];

	switch (p->kind) {
	case MPK_CODE_PARAM_LOCAL:
		row_say(c, MPK_ERROR,
			"argument %zu of kernel '%s' is '%s': no runtime passes local memory", i,
			MPK_QUOTE(c->row->key), MPK_QUOTE(p->text));
		break;
	case MPK_CODE_PARAM_VALUE:
		check_value(c, i, p);
		break;
	case MPK_CODE_PARAM_NUMBER: /* for binary code only the sizes tell */
		if (p->text.len && !passes_number(c, table, p->dtype))
			say_kind(c, i, p, "");
		break;
	case MPK_CODE_PARAM_BUFFER:
	case MPK_CODE_PARAM_IMAGE:
		if (p->text.len && !passes_address(c, table))
			say_kind(c, i, p, "");
		break;
	case MPK_CODE_PARAM_UNKNOWN:
		if (p->text.len && table.code == MPK_DTYPE_HANDLE)
			row_say(c, MPK_WARNING,
				"argument %zu of kernel '%s' is '%s', whose type the text does not show: handle in the table passes an address",
				i, MPK_QUOTE(c->row->key), MPK_QUOTE(p->text));
		break;
	}
}

static bool same_bytes(const struct check *c, size_t i, const struct mpk_code_param *p)
{
	uint64_t table = argument_bytes(c->row, i, c->code->pointer_bytes);
	char type[MPK_DTYPE_TEXT];

	if (!c->code->format->param_bytes || !table || table == p->bytes)
		return true;
	row_say(c, MPK_ERROR,
		"argument %zu of kernel '%s' has %" PRIu64 " bytes in the code, %" PRIu64
		" in the table (%s)",
		i, MPK_QUOTE(c->row->key), p->bytes, table,
		mpk_dtype_print(c->row->arg_types[i], type));
	return false;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Whether the code gives the exact number of parameters; for a source, all of them must be
 * known. */
static bool counts(const struct check *c, const struct mpk_code_param *params)
{
	for (size_t i = 0; i < c->kernel->param_count; i++)
		if (params[i].text.len && params[i].kind == MPK_CODE_PARAM_UNKNOWN)
			return false;
	return true;
}

/* If macros may add parameters, their number is only a hint. */
static void check_params(const struct check *c, const struct mpk_code_param *params)
{
	size_t count = c->kernel->param_count;

	if (count != c->row->arg_count) {
		row_say(c, counts(c, params) ? MPK_ERROR : MPK_WARNING,
			"kernel '%s' has %zu parameters in the code, %zu in the table",
			MPK_QUOTE(c->row->key), count, c->row->arg_count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (same_bytes(c, i, &params[i]))
			check_argument(c, i, &params[i]);
}

static void check_unpassable(const struct check *c, size_t kernel)
{
	for (size_t i = 0; i < c->kernel->param_count; i++) {
		struct mpk_span text = c->code->format->unpassable(c->code, kernel, i);

		if (text.len)
			row_say(c, MPK_ERROR,
				"parameter %zu of kernel '%s' is '%s', which no runtime passes", i,
				MPK_QUOTE(c->row->key), MPK_QUOTE(text));
	}
}

/* One row of a table, and the check that runs on it. */
struct parameters {
	struct mpk_verify *v;
	const struct mpk_function_info *f;
};

/* A kernel can be in several images, and each is compared with the table: the images of a fatbin
 * may come from different sources. */
static void check_row(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct parameters *p = arg;
	const struct mpk_code_format *f = code->format;
	struct check c = { code, &code->kernels[kernel], p->f, p->v };
	const struct mpk_code_param *params;

	p->v->kernel = p->f->key;
	p->v->position.offset = code->off;
	if (c.kernel->condition.len && !c.kernel->has_variants)
		row_say(&c, MPK_WARNING,
			"kernel '%s' stands behind '%s': whether it exists depends on how the text is compiled",
			MPK_QUOTE(p->f->key), MPK_QUOTE(c.kernel->condition));
	if (f->unpassable)
		check_unpassable(&c, kernel);
	else if (!f->param_bytes && !f->counts_params)
		return;
	else if (mpk_code_info_params(code, kernel, &scratch, &params, NULL) == MPK_OK)
		check_params(&c, params);
	else
		p->v->report->failed = true;
}

static void kernel_parameters(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++) {
		struct parameters p = { v, &k->functions[i] };

		mpk_node_info_each(n->info, k, i, check_row, &p);
	}
}

const struct mpk_check mpk_checks_code[] = {
	{ "code-format", "code is what it claims to be", .code = code_format },
	{ "kernel-defined", "the code defines every kernel of the table", .code = kernel_defined,
	  .of_kernels = true },
	{ "kernel-parameters", "kernels take what the table says", .kernels = kernel_parameters,
	  .of_kernels = true },
	{ "opencl-pieces", "OpenCL source has a program for each kernel, after its line",
	  .kernels = opencl_pieces, .of_kernels = true },
	{ "kernel-code", "each kernel has code of its own", .kernels = kernel_code,
	  .of_kernels = true },
	{ 0 },
};
