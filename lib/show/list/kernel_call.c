/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as a command line. The table of its module tells what is passed, in which order; its code, where
 * it agrees in number, tells what the buffers hold and which block it demands. Sizes stand nowhere. */
#include <inttypes.h>

#include "code/param.h"
#include "model/node_info.h"
#include "text/phrase.h"

/* The first code that has the kernel, as for loaders. */
struct found {
	const struct mpk_code_info *code;
	size_t kernel;
};

static void take_first(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	struct found *found = arg;

	if (!found->code)
		*found = (struct found){ code, kernel };
}

/* NULL: nothing is known, or another number of parameters. */
static const struct mpk_code_param *params_of(const struct mpk_view *view,
					      const struct found *found, size_t count,
					      struct mpk_strbuf *out)
{
	const struct mpk_code_param *params = NULL;

	if (!found->code || found->code->kernels[found->kernel].param_count != count)
		return NULL;
	out->failed |= mpk_code_info_params(found->code, found->kernel, view->arena, &params,
					    NULL) != MPK_OK;
	return params;
}

/* The table's type decides: a handle is a pointer, and what it points to only the code knows. */
static void put_argument(struct mpk_dtype table, const struct mpk_code_param *p,
			 struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t = p ? p->dtype : (struct mpk_dtype){ 0 };

	if (table.code != MPK_DTYPE_HANDLE) {
		mpk_strbuf_printf(out, " --input %s=VALUE", mpk_dtype_print(table, type));
		return;
	}
	if (p && p->kind == MPK_CODE_PARAM_IMAGE) {
		mpk_strbuf_puts(out, " --input 'SHAPExTYPE{texture}=VALUES'");
		return;
	}
	t.lanes = 1; /* of vectors, too: it is the elements that are given */
	mpk_strbuf_printf(out, " --input SHAPEx%s=VALUES",
			  t.bits ? mpk_dtype_print(t, type) : "TYPE");
}

/* How many extents the launch takes along each: as many as it has tags, one at least. */
static unsigned count_extents(const struct mpk_function_info *f, enum mpk_launch_tag x)
{
	unsigned most = 1;

	for (size_t i = 0; i < f->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->launch_tags[i]);

		if (tag >= x && tag <= x + 2 && (unsigned)(tag - x) + 1 > most)
			most = (unsigned)(tag - x) + 1;
	}
	return most;
}

/* "--block 128,1,1" where the code runs in no other (.reqntid of PTX), else letters to replace. */
static void kernel_call_put_extents(const char *option, unsigned count, const uint32_t fixed[3],
				    struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, " --%s ", option);
	for (unsigned i = 0; i < count; i++) {
		mpk_strbuf_puts(out, i ? "," : "");
		if (fixed && fixed[0])
			mpk_strbuf_printf(out, "%" PRIu32, fixed[i]);
		else
			mpk_strbuf_putc(out, "XYZ"[i]);
	}
}

/* Whether a launch takes the bytes of dynamic shared memory, which only the caller knows. */
static bool has_shared(const struct mpk_function_info *f)
{
	for (size_t i = 0; i < f->launch_tag_count; i++)
		if (mpk_launch_tag_parse(f->launch_tags[i]) == MPK_TAG_DYN_SHARED)
			return true;
	return false;
}

void mpk_view_kernel_call(const struct mpk_view *view, const struct mpk_view_node *node,
			  size_t index, struct mpk_strbuf *out)
{
	const struct mpk_kernels *table = mpk_view_kernels(node);
	const struct mpk_function_info *f = &table->functions[index];
	const struct mpk_code_param *params;
	struct found found = { 0 };

	if (node->show_info)
		mpk_node_info_each(node->info, table, index, take_first, &found);
	params = params_of(view, &found, f->arg_count, out);
	mpk_view_call_begin(view, f->key, node, out);
	for (size_t i = 0; i < f->arg_count; i++)
		put_argument(f->arg_types[i], params ? &params[i] : NULL, out);
	kernel_call_put_extents("grid", count_extents(f, MPK_TAG_GRID_X), NULL, out);
	kernel_call_put_extents("block", count_extents(f, MPK_TAG_BLOCK_X),
				found.code ? found.code->kernels[found.kernel].block : NULL, out);
	if (has_shared(f))
		mpk_strbuf_puts(out, " --shared BYTES");
}
