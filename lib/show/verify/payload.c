/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - checks of every module's payload, to its last byte, and of its table of kernels */
#include <inttypes.h>

#include "base/strmap.h"
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
static void payload_content(struct mpk_verify *v, const struct mpk_view_node *n)
{
	struct mpk_error err = { 0 };
	const struct mpk_payload_view *row = mpk_view_row(n);

	if (!row->verify || row->verify(n->payload, &err) == MPK_OK)
		return;
	if (row->check)
		v->check = row->check;
	v->position.offset = n->node->payload_off;
	mpk_verify_say(v, MPK_ERROR, "%s", err.text);
}

/* --- the table of kernels ------------------------------------------------------------------ */

/* TVM reads the table into a map: of two rows with one name one is lost, and nobody says so. */
static void kernel_name(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };

	for (size_t i = 0; i < k->function_count; i++) {
		v->kernel = k->functions[i].key;
		int put = mpk_strmap_put(&names, k->functions[i].key, i, NULL);

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
	{ "byte-code", "byte code is sound: registers, indices, jumps", .node = payload_content },
	{ "kernel-name", "kernels have names, each once", .kernels = kernel_name,
	  .of_kernels = true },
	{ "launch-tag", "launch tags are known, and in a legal order", .kernels = launch_tags,
	  .of_kernels = true },
	{ "kernel-argument", "runtimes can pass every argument", .kernels = kernel_arguments,
	  .of_kernels = true },
	{ 0 },
};
