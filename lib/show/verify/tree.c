/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - checks of the container, what the reader accepts but a writer would not write, and kinds that no loader
 * knows; and of every module's payload, to its last byte */
#include "verify/verify.h"

#include <inttypes.h>

#include "base/strmap.h"
#include "text/escape.h"

/* The reader goes on after a fault where it can and keeps one warning; a tree that was cut
 * short is an error, since modules are missing. */
static void container(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && tree->warning.code != MPK_OK)
		mpk_verify_say_at(v, tree->truncated ? MPK_ERROR : MPK_WARNING,
				  (struct mpk_verify_position){ tree->warning.at.space,
								tree->warning.at.offset, NULL },
				  "%s", tree->warning.text);
}

/* A finding about the container has an offset and no module. */
static struct mpk_verify_position in_blob(uint64_t offset)
{
	return (struct mpk_verify_position){ "blob", offset, NULL };
}

static void blob_tail(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && !tree->truncated && tree->used < tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->used),
				  "%" PRIu64 " bytes follow the last module",
				  tree->nbytes + 8 - tree->used);
	/* in a library that is the symbol's size, which blob-size looks at */
	const struct mpk_image *image = v->view->image;
	if (tree && image->container == MPK_CONTAINER_BLOB && image->blob.len > tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->nbytes + 8),
				  "the file goes on behind the blob: %" PRIu64 " bytes more",
				  image->blob.len - (tree->nbytes + 8));
}

/* The second one is reported, and not each further one: a hostile tree has thousands. */
static void several_libs(struct mpk_verify *v)
{
	size_t libs = 0;

	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (n->node->is_lib && libs++ == 1)
			mpk_verify_say_at(
				v, MPK_WARNING,
				(struct mpk_verify_position){ "blob", n->node->kind_off, n->path },
				"a second _lib: only TVM 0.7 writes several, and TVM 0.8 - 0.20 refuse them");
	}
}

/* Nodes that nothing imports, other than the root: TVM loads them for nothing. */
static void unreached(struct mpk_verify *v)
{
	const struct mpk_view *view = v->view;
	bool *seen = mpk_arena_array(v->arena, view->count + 1, sizeof *seen);

	if (!seen || !view->tree || view->tree->truncated) {
		v->report->failed |= !seen;
		return;
	}
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t k = 0; k < n->child_count; k++)
			seen[n->children[k]] = true;
		if (i && !seen[i])
			mpk_verify_say_at(v, MPK_WARNING,
					  (struct mpk_verify_position){ "blob", n->kind_off,
									view->nodes[i].path },
					  "nothing imports this module");
	}
}

/* A note: TVM since 0.8 writes the imports of a module sorted. Another order comes from an
 * older TVM or from another writer, and loads all the same. */
static void child_order(struct mpk_verify *v, const struct mpk_view_node *n)
{
	for (size_t k = 1; k < n->node->child_count; k++)
		if (n->node->children[k - 1] >= n->node->children[k]) {
			mpk_verify_say(
				v, MPK_NOTE,
				"imports are not ascending and unique, as TVM since 0.8 writes them");
			return;
		}
}

/* No error: a program may register a loader of its own, and then the kind is known where it
 * matters. */
static void known_kind(struct mpk_verify *v, const struct mpk_view_node *n)
{
	if (!n->kind)
		mpk_verify_say(
			v, MPK_WARNING,
			"kind '%s' is unknown: its payload cannot be checked, and loading needs a runtime that registers it",
			MPK_QUOTE(n->node->kind));
}

/* The first release of the generation, and of the one after it. */
static const unsigned first_release[MPK_GENERATION_COUNT + 1] = {
	[MPK_GEN_LEGACY] = 0,
	[MPK_GEN_HYBRID] = 21,
	[MPK_GEN_CURRENT] = 22,
	[MPK_GENERATION_COUNT] = MPK_RELEASE_NOW,
};

/* A blob of a generation with a kind that its releases never wrote was edited, or the kind's name
 * is used for something else. */
static void kind_release(struct mpk_verify *v, const struct mpk_view_node *n)
{
	enum mpk_generation gen = v->view->tree->gen;

	if (n->kind &&
	    (n->kind->last < first_release[gen] || n->kind->first >= first_release[gen + 1]))
		mpk_verify_say(
			v, MPK_WARNING,
			"modules of kind '%s' were written by TVM 0.%u - 0.%u, this blob is of %s",
			n->kind->name, n->kind->first, n->kind->last,
			mpk_generation_get(gen)->releases);
}

const struct mpk_check mpk_checks_tree[] = {
	{ "container", "every module could be told from the next", .whole = container },
	{ "blob-tail", "nothing follows the last module", .whole = blob_tail },
	{ "several-libs", "there is one _lib", .whole = several_libs },
	{ "unreached", "the root reaches every module", .whole = unreached },
	{ "child-order", "imports are in the order TVM writes", .node = child_order },
	{ "kind", "every kind is known", .node = known_kind },
	{ "kind-release", "kinds are of the generation", .node = kind_release },
	{ 0 },
};

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

/* --- kernels ---------------------------------------------------------------------- */

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
	{ 0 },
};
