/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - finds what can be called: the name, the signature, and the command line that calls it
 *
 * A hostile file of some megabytes has a hundred thousand modules or functions. Searching all of
 * them for each name would take minutes, so all names are put into tables once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "code/info.h"
#include "kernels/kernels.h"
#include "model/node_info.h"
#include "model/view.h"
#include "program/device_kind.h"
#include "program/model.h"
#include "signature/signature.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "value/tensor.h"

struct model_name {
	struct mpk_span name;
	const struct mpk_signature *signature;
};

struct mpk_view_names {
	const struct mpk_span *shared; /* keys of kernels that several modules have; sorted */
	size_t shared_count;
	const struct model_name *models; /* functions of executors; sorted, each name once */
	size_t model_count;
	/* for each of image->functions: the function that an alias leads to, else itself; SIZE_MAX
	 * if it leads to none. NULL if there are no aliases */
	const size_t *targets;
	struct mpk_dldevice device; /* default device of --run for tensors; type 0 if none */
};

static int by_text(const void *a, const void *b)
{
	return mpk_span_compare(*(const struct mpk_span *)a, *(const struct mpk_span *)b);
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* A kernel key and the module that has it. */
struct owned {
	struct mpk_span key;
	size_t module;
};

static int by_key(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	int order = mpk_span_compare(x->key, y->key);

	return order ? order : (x->module > y->module) - (x->module < y->module);
}

/* Sorts the names that several modules have. Only such a name needs a path in a command line; with
 * one module there is none. */
static enum mpk_code find_shared(const struct mpk_view *view, struct mpk_view_names *names,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_kernels *k;
	size_t modules = 0, count = 0, n = 0;
	struct mpk_span *shared;
	struct owned *list;

	for (size_t i = 0; i < view->count; i++) {
		k = mpk_view_kernels(&view->nodes[i]);
		modules += k != NULL;
		count += k ? k->function_count : 0;
	}
	if (modules < 2)
		return MPK_OK;
	list = mpk_arena_array(&scratch, count, sizeof *list);
	shared = mpk_arena_array(&scratch, count, sizeof *shared);
	MPK_TRY_ALLOC(list && shared, err);
	for (size_t i = 0, at = 0; i < view->count; i++) {
		k = mpk_view_kernels(&view->nodes[i]);
		for (size_t f = 0; k && f < k->function_count; f++)
			list[at++] = (struct owned){ k->functions[f].key, i };
	}
	if (count)
		qsort(list, count, sizeof *list, by_key);
	for (size_t i = 1; i < count; i++)
		if (mpk_span_equal(list[i].key, list[i - 1].key) &&
		    list[i].module != list[i - 1].module &&
		    (!n || !mpk_span_equal(shared[n - 1], list[i].key)))
			shared[n++] = list[i].key;
	names->shared = mpk_arena_keep(view->arena, shared, n, sizeof *shared);
	MPK_TRY_ALLOC(names->shared, err);
	names->shared_count = n;
	return MPK_OK;
}

static bool is_shared(const struct mpk_view *view, struct mpk_span key)
{
	const struct mpk_view_names *n = view->names;

	return n->shared_count &&
	       bsearch(&key, n->shared, n->shared_count, sizeof key, by_text) != NULL;
}

/* --- functions of executors ------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct model_name *x = a, *y = b;

	return mpk_span_compare(x->name, y->name);
}

/* If several functions share a name, keeps the first in the tree, which --run calls. */
static enum mpk_code find_models(const struct mpk_view *view, struct mpk_view_names *names,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct model_name *models;
	size_t most = 0, n = 0;

	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].models.count && mpk_model_is_kind(view->nodes[i].node->kind))
			most += view->nodes[i].models.count;
	MPK_TRY_ARRAY(models, view->arena, most, err);
	for (size_t i = 0; most && i < view->count; i++) {
		const struct mpk_models *m = &view->nodes[i].models;

		for (size_t k = 0; k < m->count && mpk_model_is_kind(view->nodes[i].node->kind);
		     k++) {
			int added = mpk_strmap_put(&known, m->items[k].name, 0, NULL);

			MPK_TRY_ALLOC(added >= 0, err);
			if (added)
				models[n++] = (struct model_name){ m->items[k].name, &m->items[k] };
		}
	}
	if (n)
		qsort(models, n, sizeof *models, by_name);
	names->models = models;
	names->model_count = n;
	return MPK_OK;
}

static const struct mpk_signature *model_of(const struct mpk_view *view, struct mpk_span name)
{
	/* the prefix of the compiled body of a Relax function, which TVM's CodeGenVMTIR adds */
	static const char compiled[] = "__vmtir__";
	size_t prefix = mpk_span_starts(name, compiled) ? strlen(compiled) : 0;
	const struct model_name key = { .name = mpk_span_from(name, prefix) };
	const struct mpk_view_names *n = view->names;
	const struct model_name *found =
		n->model_count ? bsearch(&key, n->models, n->model_count, sizeof key, by_name)
			       : NULL;

	return found ? found->signature : NULL;
}

/* --- host functions --------------------------------------------------------------------------- */

const char *mpk_view_called(const struct mpk_view *view, size_t index)
{
	const struct mpk_image_function *f = &view->image->functions[index];

	return f->alias_of ? f->alias_of : f->name;
}

const struct mpk_signature *mpk_view_called_instead(const struct mpk_view *view, size_t index)
{
	return model_of(view, mpk_span_str(mpk_view_called(view, index)));
}

/* Follows aliases, which may lead to other aliases, and in a hostile file to a circle. */
static size_t target_of(const struct mpk_image *image, const struct mpk_strmap *by_name_of,
			size_t index)
{
	for (size_t steps = 0; steps <= image->function_count; steps++) {
		const char *other = image->functions[index].alias_of;

		if (!other)
			return index;
		if (!mpk_strmap_find(by_name_of, mpk_span_str(other), &index))
			break;
	}
	return SIZE_MAX;
}

/* Finds for each function the index of the function that it leads to.
 * A file without aliases needs no table. */
static enum mpk_code find_targets(const struct mpk_view *view, struct mpk_view_names *names,
				  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap map = { 0 };
	const struct mpk_image *image = view->image;
	size_t *targets, aliases = 0;

	for (size_t i = 0; i < image->function_count; i++)
		aliases += image->functions[i].alias_of != NULL;
	if (!aliases)
		return MPK_OK;
	MPK_TRY_ARRAY(targets, view->arena, image->function_count, err);
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		/* an alias of its own name is skipped: the name means
		 * the function that it leads to */
		if (!f->alias_of || strcmp(f->alias_of, f->name) != 0)
			MPK_TRY_ALLOC(mpk_strmap_put(&map, mpk_span_str(f->name), i, NULL) >= 0,
				      err);
	}
	for (size_t i = 0; i < image->function_count; i++)
		targets[i] = target_of(image, &map, i);
	names->targets = targets;
	return MPK_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

enum mpk_code mpk_view_read_names(struct mpk_view *view, struct mpk_error *err)
{
	struct mpk_view_names *names = mpk_arena_alloc(view->arena, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	*names = (struct mpk_view_names){ .device = { .type = MPK_DL_CPU } };
	MPK_TRY(find_shared(view, names, err));
	MPK_TRY(find_models(view, names, err));
	MPK_TRY(find_targets(view, names, err));
	if (!view->image->standalone &&
	    mpk_devices_default(view->tree, &names->device, NULL) != MPK_OK)
		/* DLPack has no device type 0, so a command line always
		 * names the device of its function */
		names->device.type = 0;
	view->names = names;
	return MPK_OK;
}

/* --- signatures ----------------------------------------------------------------------------- */

const struct mpk_signature *mpk_view_host(const struct mpk_view *view, size_t index)
{
	if (view->names->targets)
		index = view->names->targets[index];
	return index == SIZE_MAX ? NULL : view->host[index];
}

void mpk_view_host_text(const struct mpk_view *view, size_t index, const char *names,
			struct mpk_strbuf *out)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *signature = mpk_view_host(view, index);

	if (f->alias_of) {
		mpk_escape(out, mpk_span_str(f->name));
		mpk_strbuf_puts(out, names);
	}
	if (signature)
		mpk_signature_text(signature, out);
	else
		mpk_escape(out, mpk_span_str(f->alias_of ? f->alias_of : f->name));
}

/* --- a call to paste ---------------------------------------------------------------- */

/* Writes a name with the path of its module if several modules have it. */
static void put_kernel_name(const struct mpk_view *view, const struct mpk_view_node *node,
			    struct mpk_span key, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	if (is_shared(view, key))
		mpk_strbuf_printf(&name, "%s#", node->path);
	mpk_strbuf_put_span(&name, key);
	if (mpk_strbuf_status(&name, NULL) == MPK_OK)
		mpk_put_word(out, mpk_span_of(name.data, name.len));
	else
		out->failed = true;
}

/* Writes the device option, unless the function wants its tensors on the default device. */
static void put_device(const struct mpk_view *view, const struct mpk_signature *s,
		       struct mpk_strbuf *out)
{
	if (mpk_device_kind_from(s->device) == MPK_DEVICE_NONE)
		return;
	if (view->names->device.type != s->device)
		mpk_strbuf_printf(out, " --device %s", mpk_dl_device_name(s->device));
}

/* A bare blob has its host code elsewhere, and files of other systems cannot be loaded. */
static bool can_run(const struct mpk_image *image, bool kernel)
{
	if (image->format != MPK_FILE_ELF && image->format != MPK_FILE_C &&
	    image->format != MPK_FILE_BLOB)
		return false;
	return kernel || image->container != MPK_CONTAINER_BLOB;
}

static void call_begin(const struct mpk_view *view, struct mpk_span function,
		       const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "minspect run ");
	if (node)
		put_kernel_name(view, node, function, out);
	else
		mpk_put_word(out, function);
	mpk_strbuf_putc(out, ' ');
	/* a placeholder if --run cannot take this file */
	if (!view->in_archive && can_run(view->image, node != NULL))
		mpk_put_word(out, mpk_span_str(view->name));
	else
		mpk_strbuf_puts(out, "LIBRARY.so");
}

void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_signature *signature, struct mpk_strbuf *out)
{
	call_begin(view, function, NULL, out);
	if (signature) {
		mpk_signature_options(signature, out);
		put_device(view, signature, out);
	} else {
		/* unknown arguments: a template with capitals for the user to replace */
		mpk_strbuf_puts(out, " --input SHAPExTYPE=VALUES --out SHAPExTYPE");
	}
}

/* --- a kernel's command line --------------------------------------------------------------------
 *
 * The kernel table gives the parameters and their order. The code, if it has the same number, gives
 * the element types of the buffers and the required block. The file does not contain sizes. */

/* The first code that has the kernel, which loaders use too. */
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

/* Returns NULL if the parameters are unknown or their number differs from the table's. */
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

/* The type in the table decides. For a handle, which is a pointer, only the code knows the element
 * type. */
static void put_argument(struct mpk_dtype table, const struct mpk_code_param *p,
			 struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t = p ? p->dtype : (struct mpk_dtype){ 0 };

	if (table.code != MPK_DTYPE_HANDLE) {
		mpk_strbuf_printf(out, " --input %s=VALUE", mpk_dtype_print_short(table, type));
		return;
	}
	if (p && p->kind == MPK_CODE_PARAM_IMAGE) {
		mpk_strbuf_puts(out, " --input 'SHAPExTYPE{texture}=VALUES'");
		return;
	}
	t.lanes = 1; /* vectors are given as elements too */
	mpk_strbuf_printf(out, " --input SHAPEx%s=VALUES",
			  t.bits ? mpk_dtype_print_short(t, type) : "TYPE");
}

/* Returns the number of extents for grid or block: one for each tag, at least one. */
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

/* Writes "--block 128,1,1" if the code requires that block (.reqntid of PTX), else letters to
 * replace. */
static void put_extents(const char *option, unsigned count, const uint32_t fixed[3],
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

/* Whether a launch takes a size of dynamic shared memory, which only the caller knows. */
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
	call_begin(view, f->key, node, out);
	for (size_t i = 0; i < f->arg_count; i++)
		put_argument(f->arg_types[i], params ? &params[i] : NULL, out);
	put_extents("grid", count_extents(f, MPK_TAG_GRID_X), NULL, out);
	put_extents("block", count_extents(f, MPK_TAG_BLOCK_X),
		    found.code ? found.code->kernels[found.kernel].block : NULL, out);
	if (has_shared(f))
		mpk_strbuf_puts(out, " --shared BYTES");
}

/* --- what getters say ------------------------------------------------------------------- */

static enum mpk_code take_texts(struct mpk_view *view, const struct mpk_host_texts *texts,
				struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	/* the list of a view is constant, so the new signatures go into a copy */
	const struct mpk_signature **list =
		mpk_arena_keep(view->arena, view->host, image->function_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->function_count; i++)
		if (!list[i])
			MPK_TRY(mpk_host_texts_signature(image, texts, i, view->arena, &list[i],
							 err));
	view->host = list;
	view->texts = texts;
	return MPK_OK;
}

enum mpk_code mpk_view_read_texts(struct mpk_view *view, const struct mpk_host_texts *given,
				  struct mpk_error *err)
{
	struct mpk_host_texts *texts;

	if (given)
		return take_texts(view, given, err);
	if (view->texts || !view->image->getter_count)
		return MPK_OK;
	texts = mpk_arena_alloc(view->arena, sizeof *texts);
	MPK_TRY_ALLOC(texts, err);
	MPK_TRY(mpk_host_texts_read(view->image, view->arena, texts, err));
	view->texts = texts;
	return MPK_OK;
}

struct mpk_span mpk_view_doc(const struct mpk_view *view, size_t index)
{
	return view->texts ? view->texts->docs[index] : (struct mpk_span){ 0 };
}
