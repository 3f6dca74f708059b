/* Checks of every module's payload, to its last byte */
#include "view/verify.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/strmap.h"
#include "probe.h"
#include "text/escape.h"

static void payload(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (n->problem.code != MPK_OK)
			mpk_verify_say(v, MPK_ERROR, n->problem.at.space, n->problem.at.offset,
				       n->path, "%s", n->problem.text);
	}
}

static void payload_tail(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (n->decoded && n->payload.surplus)
			mpk_verify_say(v, MPK_WARNING, "blob",
				       n->node->payload_off + n->node->payload.len -
					       n->payload.surplus,
				       n->path, "%" PRIu64 " bytes follow what TVM reads",
				       n->payload.surplus);
	}
}

static void known_kind(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (!n->kind)
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->kind_off, n->path,
				       "kind '%s' is unknown: its payload cannot be checked, and "
				       "loading needs a runtime that registers it",
				       MPK_QUOTE(n->node->kind));
	}
}

/* The first release of the generation, and of the one after it. */
static const unsigned first_release[MPK_GENERATION_COUNT + 1] = {
	[MPK_GEN_LEGACY] = 0,
	[MPK_GEN_HYBRID] = 21,
	[MPK_GEN_CURRENT] = 22,
	[MPK_GENERATION_COUNT] = MPK_RELEASE_NOW,
};

static void kind_release(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];
		enum mpk_generation gen = v->view->tree->gen;

		if (n->kind && (n->kind->last < first_release[gen] ||
				n->kind->first >= first_release[gen + 1]))
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->kind_off, n->path,
				       "modules of kind '%s' were written by TVM 0.%u - 0.%u, "
				       "this blob is of %s",
				       n->kind->name, n->kind->first, n->kind->last,
				       mpk_generation_get(gen)->releases);
	}
}

/* --- kernels ---------------------------------------------------------------------- */

/* Calls fn for every device module. */
static void each_kernels(struct mpk_verify *v,
			 void (*fn)(struct mpk_verify *v, const struct mpk_view_node *n,
				    const struct mpk_kernels *k))
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_kernels *k = mpk_view_kernels(&v->view->nodes[i]);

		if (k)
			fn(v, &v->view->nodes[i], k);
	}
}

static void names_in(struct mpk_verify *v, const struct mpk_view_node *n,
		     const struct mpk_kernels *k)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	for (size_t i = 0; i < k->function_count; i++) {
		int put = mpk_strmap_put(&names, k->functions[i].key, i, &found);

		if (put < 0)
			v->report->failed = true;
		if (k->functions[i].key.len == 0)
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "kernel %zu has no name", i);
		else if (put == 0)
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "kernel '%s' stands in the table twice",
				       MPK_QUOTE(k->functions[i].key));
	}
}

static void kernel_name(struct mpk_verify *v)
{
	each_kernels(v, names_in);
}

static void check_tags(struct mpk_verify *v, const struct mpk_view_node *n,
		       const struct mpk_function_info *f)
{
	unsigned seen = 0;

	for (size_t i = 0; i < f->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->launch_tags[i]);
		bool last = i + 1 == f->launch_tag_count;

		if (tag == MPK_TAG_UNKNOWN)
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->payload_off, n->path,
				       "kernel '%s' has the unknown launch tag '%s'",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
		else if (seen >> tag & 1)
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "kernel '%s' has the launch tag '%s' twice",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
		else if (tag == MPK_TAG_DYN_SHARED && !last)
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "kernel '%s': '%s' must be the last launch tag",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
		seen |= 1U << tag;
	}
}

static void tags_in(struct mpk_verify *v, const struct mpk_view_node *n,
		    const struct mpk_kernels *k)
{
	for (size_t i = 0; i < k->function_count; i++)
		check_tags(v, n, &k->functions[i]);
}

static void launch_tags(struct mpk_verify *v)
{
	each_kernels(v, tags_in);
}

static void arguments_in(struct mpk_verify *v, const struct mpk_view_node *n,
			 const struct mpk_kernels *k)
{
	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_function_info *f = &k->functions[i];

		for (size_t a = 0; a < f->arg_count; a++) {
			struct mpk_dtype t = f->arg_types[a];
			char text[MPK_DTYPE_TEXT];

			if (t.lanes == 1 && t.bits)
				continue;
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->payload_off, n->path,
				       "argument %zu of kernel '%s' is %s, which no runtime can "
				       "pass", a, MPK_QUOTE(f->key), mpk_dtype_print(t, text));
		}
		if (f->extra_tag_count > f->arg_count)
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->payload_off, n->path,
				       "kernel '%s' has more argument tags than arguments",
				       MPK_QUOTE(f->key));
	}
}

static void kernel_arguments(struct mpk_verify *v)
{
	each_kernels(v, arguments_in);
}

/* --- code ------------------------------------------------------------------------- */

/* One piece of code and where it stands in the blob. */
struct code {
	const struct mpk_view_node *node;
	const struct mpk_kernels *kernels;
	struct mpk_span data;
	uint64_t off;
};

static void say_broken(struct mpk_verify *v, const struct code *c, const struct mpk_error *e)
{
	char line[32] = "";

	if (e->code == MPK_E_NOMEM)
		v->report->failed = true;
	if (e->at.line)
		(void)snprintf(line, sizeof line, "line %u: ", (unsigned)e->at.line);
	mpk_verify_say(v, MPK_ERROR, "blob", c->off + (e->at.has_offset ? e->at.offset : 0),
		       c->node->path, "%s%s", line, e->text);
}

/* A source text may make kernels by macros: what is missing there is a warning. */
static void check_defined(struct mpk_verify *v, const struct code *c,
			  const struct mpk_probe_names *names, struct mpk_span key)
{
	enum mpk_probe_kernel found = key.len ? mpk_probe_find(names, key) : MPK_PROBE_POSSIBLE;

	if (found == MPK_PROBE_FUNCTION)
		mpk_verify_say(v, MPK_WARNING, "blob", c->off, c->node->path,
			       "kernel '%s' is a .func, not an .entry: no driver can launch it",
			       MPK_QUOTE(key));
	else if (found == MPK_PROBE_MISSING)
		mpk_verify_say(v, names->complete ? MPK_ERROR : MPK_WARNING, "blob", c->off,
			       c->node->path, "the code does not define kernel '%s'",
			       MPK_QUOTE(key));
}

/* @only  the one kernel that the code is for; NULL: all of the table */
static void check_code(struct mpk_verify *v, const struct code *c, const struct mpk_span *only)
{
	const struct mpk_kernels *k = c->kernels;
	struct mpk_probe_names names = { 0 };
	struct mpk_error err = { 0 };

	if (mpk_probe_check(c->data, c->node->node->kind, k->fmt, &err) != MPK_OK) {
		say_broken(v, c, &err);
		return;
	}
	if (mpk_probe_kernels(c->data, v->arena, &names, NULL) != MPK_OK)
		return; /* no list: of a format that only its driver reads */
	if (only)
		check_defined(v, c, &names, *only);
	for (size_t i = 0; !only && i < k->function_count; i++)
		check_defined(v, c, &names, k->functions[i].key);
}

static void format_in(struct mpk_verify *v, const struct mpk_view_node *n,
		      const struct mpk_kernels *k)
{
	for (size_t i = 0; i < k->source_count; i++) {
		/* pieces are views of the payload */
		size_t at = (size_t)(k->sources[i].data.data - n->node->payload.data);
		struct code piece = { n, k, k->sources[i].data,
				      n->node->payload_off + (k->sources[i].data.len ? at : 0) };

		check_code(v, &piece, &k->sources[i].key);
	}
	if (k->layout == MPK_KERNELS_PLAIN) {
		struct code whole = { n, k, k->data, n->node->payload_off + k->data_off };

		check_code(v, &whole, NULL);
	}
}

static void code_format(struct mpk_verify *v)
{
	each_kernels(v, format_in);
}

/* Layouts with one piece of code a kernel: table and pieces must be the same names. */
static void sources_in(struct mpk_verify *v, const struct mpk_view_node *n,
		       const struct mpk_kernels *k)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	if (k->layout == MPK_KERNELS_PLAIN)
		return;
	for (size_t i = 0; i < k->source_count; i++)
		if (mpk_strmap_put(&names, k->sources[i].key, i, &found) < 0)
			v->report->failed = true;
	for (size_t i = 0; i < k->function_count; i++)
		if (!mpk_strmap_find(&names, k->functions[i].key, &found))
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "there is no code for kernel '%s'",
				       MPK_QUOTE(k->functions[i].key));
	for (size_t i = 0; i < k->source_count; i++)
		if (!mpk_kernels_find(k, k->sources[i].key))
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->payload_off, n->path,
				       "there is code for '%s', which the table does not list",
				       MPK_QUOTE(k->sources[i].key));
}

static void kernel_code(struct mpk_verify *v)
{
	each_kernels(v, sources_in);
}

const struct mpk_check mpk_checks_payload[] = {
	{ "payload", "every payload reads as its kind says", payload },
	{ "payload-tail", "nothing follows what TVM reads", payload_tail },
	{ "kind", "every kind is known", known_kind },
	{ "kind-release", "kinds are of the generation", kind_release },
	{ "kernel-name", "kernels have names, each once", kernel_name },
	{ "launch-tag", "launch tags are known, and in a legal order", launch_tags },
	{ "kernel-argument", "runtimes can pass every argument", kernel_arguments },
	{ "code-format", "code is what it claims to be and defines its kernels", code_format },
	{ "kernel-code", "each kernel has code of its own", kernel_code },
	{ NULL, NULL, NULL },
};
