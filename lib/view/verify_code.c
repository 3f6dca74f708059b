/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of device code against its format and against the table of kernels. What only one format
 * knows is checked by its row. */
#include <inttypes.h>

#include "code/verify.h"
#include "text/escape.h"
#include "view/node_info.h"
#include "view/verify.h"

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

/* --- kernels ------------------------------------------------------------------------ */

/* A source text may make kernels by macros: what is missing there is a warning. */
static void check_defined(struct mpk_verify *v, const struct mpk_code_info *code,
			  struct mpk_span key)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);
	enum mpk_code_defines found = mpk_code_info_defines(code, key);

	if (found == MPK_CODE_FUNCTION)
		mpk_verify_say(v, MPK_WARNING,
			       "kernel '%s' is a .func, not an .entry: no driver can launch it",
			       MPK_QUOTE(key));
	else if (found == MPK_CODE_MISSING)
		mpk_verify_say(v, lister && lister->complete ? MPK_ERROR : MPK_WARNING,
			       "the code does not define kernel '%s'", MPK_QUOTE(key));
}

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

/* Layouts with one piece of code a kernel: table and pieces must be the same names. */
static void kernel_code(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	if (k->layout == MPK_KERNELS_PLAIN)
		return;
	for (size_t i = 0; i < k->function_count; i++)
		if (!mpk_names_find(&n->info->piece_names, k->functions[i].key, NULL))
			mpk_verify_say(v, MPK_ERROR, "there is no code for kernel '%s'",
				       MPK_QUOTE(k->functions[i].key));
	for (size_t i = 0; i < k->source_count; i++)
		if (!mpk_names_find(&n->info->table, k->sources[i].key, NULL))
			mpk_verify_say(v, MPK_WARNING,
				       "there is code for '%s', which the table does not list",
				       MPK_QUOTE(k->sources[i].key));
}

/* --- parameters --------------------------------------------------------------------- */

/* One kernel under the check of parameters. */
struct parameters {
	struct mpk_verify *v;
	const struct mpk_function_info *f;
};

/* The bytes of argument i as a launch passes it; 0: not known for certain. */
static uint64_t argument_bytes(const struct mpk_function_info *f, size_t i, uint64_t pointer)
{
	enum { TENSOR_MAP = 1, TENSOR_MAP_BYTES = 128 };
	struct mpk_dtype t = f->arg_types[i];

	if (t.lanes != 1)
		return 0;
	if (t.code == MPK_DTYPE_HANDLE)
		return i < f->extra_tag_count && f->extra_tags[i] == TENSOR_MAP ? TENSOR_MAP_BYTES
										: pointer;
	return t.bits == 32 || t.bits == 64 ? t.bits / 8U : 0;
}

static void compare_bytes(const struct mpk_code_info *code, size_t kernel,
			  const struct parameters *p)
{
	for (size_t i = 0; i < p->f->arg_count; i++) {
		uint64_t table = argument_bytes(p->f, i, code->pointer_bytes);
		uint64_t bytes = code->format->param_bytes(code, kernel, i);
		char type[MPK_DTYPE_TEXT];

		if (table && table != bytes)
			mpk_verify_say(p->v, MPK_ERROR,
				       "argument %zu of kernel '%s' has %" PRIu64
				       " bytes in the code, %" PRIu64 " in the table (%s)",
				       i, MPK_QUOTE(p->f->key), bytes, table,
				       mpk_dtype_print(p->f->arg_types[i], type));
	}
}

/* Where macros may make parameters, their number is no more than a hint. */
static void compare(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct parameters *p = arg;
	bool exact = code->format->param_bytes != NULL;
	size_t count = code->kernels[kernel].param_count;

	p->v->position.offset = code->off;
	if (!exact && !code->format->counts_params)
		return;
	if (count != p->f->arg_count)
		mpk_verify_say(p->v, exact ? MPK_ERROR : MPK_WARNING,
			       "kernel '%s' has %zu parameters in the code, %zu in the table",
			       MPK_QUOTE(p->f->key), count, p->f->arg_count);
	else if (exact)
		compare_bytes(code, kernel, p);
}

static void kernel_parameters(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++) {
		struct parameters p = { v, &k->functions[i] };

		mpk_node_info_each(n->info, k, i, compare, &p);
	}
}

const struct mpk_check mpk_checks_code[] = {
	{ "code-format", "code is what it claims to be", .code = code_format },
	{ "kernel-defined", "the code defines every kernel of the table", .code = kernel_defined },
	{ "kernel-parameters", "kernels take what the table says", .kernels = kernel_parameters },
	{ "kernel-code", "each kernel has code of its own", .kernels = kernel_code },
	{ 0 },
};
