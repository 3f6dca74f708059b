/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of every module's payload, to its last byte */
#include "view/verify.h"

#include <inttypes.h>

#include "base/strmap.h"
#include "text/escape.h"

static void payload(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_where *at = &n->problem.at;

	if (n->problem.code != MPK_OK)
		mpk_verify_say_at(v, MPK_ERROR,
				  (struct mpk_verify_position){ at->space, at->offset, n->path },
				  "%s", n->problem.text);
}

static void payload_tail(struct mpk_verify *v, const struct mpk_view_node *n)
{
	uint64_t end = n->node->payload_off + n->node->payload.len;

	if (n->decoded && n->payload.trailing)
		mpk_verify_say_at(
			v, MPK_WARNING,
			(struct mpk_verify_position){ "blob", end - n->payload.trailing, n->path },
			"%" PRIu64 " bytes follow what TVM reads", n->payload.trailing);
}

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

/* --- kernels ---------------------------------------------------------------------- */

static void kernel_name(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	for (size_t i = 0; i < k->function_count; i++) {
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

static void kernel_arguments(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_function_info *f = &k->functions[i];

		for (size_t a = 0; a < f->arg_count; a++) {
			struct mpk_dtype t = f->arg_types[a];
			char text[MPK_DTYPE_TEXT];

			if (t.lanes == 1 && t.bits)
				continue;
			mpk_verify_say(
				v, MPK_WARNING,
				"argument %zu of kernel '%s' is %s, which no runtime can pass", a,
				MPK_QUOTE(f->key), mpk_dtype_print(t, text));
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
	{ "kind", "every kind is known", .node = known_kind },
	{ "kind-release", "kinds are of the generation", .node = kind_release },
	{ "kernel-name", "kernels have names, each once", .kernels = kernel_name },
	{ "launch-tag", "launch tags are known, and in a legal order", .kernels = launch_tags },
	{ "kernel-argument", "runtimes can pass every argument", .kernels = kernel_arguments },
	{ 0 },
};
