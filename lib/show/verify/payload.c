/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - checks of every module's payload, to its last byte, and of device code against its format and against
 * the table of kernels
 *
 * They see the modules alone: what is about to be packed goes through them, too. What only one code format knows is
 * checked by its row. */
#include <inttypes.h>
#include <stddef.h>

#include "base/strmap.h"
#include "code/info.h"
#include "code/param.h"
#include "model/node_info.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "verify/verify.h"

/* --- payloads ----------------------------------------------------------------------------- */

/* The reader of the kind found the problem while the file was opened; here it becomes a finding
 * with the module's path. */
static void payload(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_error *e = n->problem;

	if (e)
		mpk_verify_say_at(
			v, MPK_ERROR,
			(struct mpk_verify_position){ e->at.space, e->at.offset, n->path }, "%s",
			e->text);
}

/* TVM's readers stop where they have what they need and ignore the rest, so that such a module
 * loads. */
static void payload_tail(struct mpk_verify *v, const struct mpk_view_node *n)
{
	uint64_t end = n->node->payload_off + n->node->payload.len;

	if (n->decoded && n->payload->trailing)
		mpk_verify_say_at(
			v, MPK_WARNING,
			(struct mpk_verify_position){ "blob", end - n->payload->trailing, n->path },
			"%" PRIu64 " bytes follow what TVM reads", n->payload->trailing);
}

/* What loaders and interpreters rely on without looking again. */
static void byte_code(struct mpk_verify *v, const struct mpk_view_node *n)
{
	struct mpk_error err = { 0 };
	const struct mpk_payload_view *row = mpk_view_row(n);

	if (!row->verify || row->verify(n->payload, &err) == MPK_OK)
		return;
	v->position.offset = n->node->payload_off;
	mpk_verify_say(v, MPK_ERROR, "%s", err.text);
}

/* --- the table of kernels ------------------------------------------------------------------ */

/* TVM reads the table into a map: of two rows with one name one is lost, and nobody says so. */
static void kernel_name(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	for (size_t i = 0; i < k->function_count; i++) {
		v->kernel = k->functions[i].key;
		int put = mpk_strmap_put(&names, k->functions[i].key, i, &found);

		if (put < 0)
			v->report->failed = true;
		if (k->functions[i].key.len == 0)
			mpk_verify_say(v, MPK_ERROR, "kernel %zu has no name", i);
		else if (put == 0)
			mpk_verify_say(v, MPK_ERROR, "kernel '%s' stands in the table twice",
				       MPK_QUOTE(k->functions[i].key));
	}
}

/* An axis may stand several times: schedules that load shared memory in stages make such kernels. */
static void check_tags(struct mpk_verify *v, const struct mpk_function_info *f)
{
	v->kernel = f->key;
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->launch_tags[i]);
		bool last = i + 1 == f->launch_tag_count;

		if (tag == MPK_TAG_UNKNOWN)
			mpk_verify_say(v, MPK_WARNING,
				       "kernel '%s' has the unknown launch tag '%s'",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
		else if (tag == MPK_TAG_DYN_SHARED && !last)
			mpk_verify_say(v, MPK_ERROR,
				       "kernel '%s': '%s' must be the last launch tag",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
	}
}

static void launch_tags(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++)
		check_tags(v, &k->functions[i]);
}

/* What TVM's runtimes convert on the way from a packed call to a driver's launch. */
static bool tvm_passes(struct mpk_dtype t)
{
	if (t.lanes != 1)
		return false;
	switch (t.code) {
	case MPK_DTYPE_HANDLE:
		return true;
	case MPK_DTYPE_INT:
	case MPK_DTYPE_FLOAT:
		return t.bits == 32 || t.bits == 64;
	case MPK_DTYPE_UINT:
		return t.bits == 32;
	default:
		return false;
	}
}

/* A standalone library launches its kernels itself, and narrows integers and halves, too. */
static bool can_pass(const struct mpk_verify *v, struct mpk_dtype t)
{
	return v->view->image->standalone ? t.lanes == 1 && t.bits : tvm_passes(t);
}

/* A runtime fails such a call only when it is made; the table shows it before. */
static void kernel_arguments(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_function_info *f = &k->functions[i];

		v->kernel = f->key;
		for (size_t a = 0; a < f->arg_count; a++) {
			struct mpk_dtype t = f->arg_types[a];
			char text[MPK_DTYPE_TEXT];

			if (can_pass(v, t))
				continue;
			mpk_verify_say(
				v, MPK_ERROR,
				"argument %zu of kernel '%s' is %s, which no runtime can pass: handle, int32, int64, uint32, float32 and float64 can be",
				a, MPK_QUOTE(f->key), mpk_dtype_print(t, text));
		}
		if (f->extra_tag_count > f->arg_count)
			mpk_verify_say(v, MPK_WARNING,
				       "kernel '%s' has more argument tags than arguments",
				       MPK_QUOTE(f->key));
	}
}

/* --- code ----------------------------------------------------------------------------------- */

/* Two questions: does the module's kind claim another format than its code has, and is the code
 * sound in its own format. The second runs even where the first fails. */
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

/* What language a text is in that no kind claims, nobody knows. */
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

/* A piece with a key is the code of that kernel alone; one without is the code of the whole
 * table. */
static void kernel_defined(struct mpk_verify *v, const struct mpk_view_node *n,
			   const struct mpk_code_piece *piece)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	if (!mpk_code_format_fits(n->node->kind, k->fmt, piece->code.format))
		return; /* code-format says so */
	if (piece->key)
		check_defined(v, &piece->code, *piece->key);
	for (size_t i = 0; !piece->key && i < k->function_count; i++)
		check_defined(v, &piece->code, k->functions[i].key);
}

/* Only OpenCL C is compiled per kernel by TVM's runtime (OpenCLModuleNode::InstallKernel);
 * binaries and other kinds have no such lines. */
static bool is_opencl_source(const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	return k->layout == MPK_KERNELS_PLAIN && mpk_span_is(n->node->kind, "opencl") &&
	       mpk_span_is(k->fmt, "cl");
}

enum piece_state {
	PIECE_UNREAD,
	PIECE_HOLDS, /* its kernel, or may; also what code-format has a finding of */
	PIECE_LACKS,
};

/* Whether a program defines its kernel. A text that does not parse, or in which a macro could
 * make the name, gets the benefit of the doubt: a false alarm would be worse here. */
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
	enum piece_state *states; /* a table may have a name many times */
};

/* What the loader compiles for one kernel: the first piece of its name. */
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

/* TVM from 0.8 on compiles a program for each kernel; up to 0.7 one text, without such lines. */
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
			       "' lines for %zu kernels; loaders want one for each",
			       pieces.count, k->function_count);
}

/* Layouts with one piece of code a kernel: table and pieces must be the same names. */
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

const struct mpk_check mpk_checks_payload[] = {
	{ "payload", "every payload reads as its kind says", .node = payload },
	{ "payload-tail", "nothing follows what TVM reads", .node = payload_tail },
	{ "byte-code", "byte code is sound: registers, indices, jumps", .node = byte_code },
	{ "kernel-name", "kernels have names, each once", .kernels = kernel_name,
	  .of_kernels = true },
	{ "launch-tag", "launch tags are known, and in a legal order", .kernels = launch_tags,
	  .of_kernels = true },
	{ "kernel-argument", "runtimes can pass every argument", .kernels = kernel_arguments,
	  .of_kernels = true },
	{ "code-format", "code is what it claims to be", .code = code_format },
	{ "kernel-defined", "the code defines every kernel of the table", .code = kernel_defined,
	  .of_kernels = true },
	{ "kernel-parameters", "kernels take what the table says", .kernels = mpk_verify_parameters,
	  .of_kernels = true },
	{ "opencl-pieces", "OpenCL source has a program for each kernel", .kernels = opencl_pieces,
	  .of_kernels = true },
	{ "kernel-code", "each kernel has code of its own", .kernels = kernel_code,
	  .of_kernels = true },
	{ 0 },
};
