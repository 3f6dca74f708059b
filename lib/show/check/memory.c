/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the memory that calls of a model take against a budget. A model whose code does not tell
 * does not pass: it could take any amount. */
#include "check/internal/run.h"
#include "text/escape.h"
#include "text/table.h"

static void judge_model(struct mpk_check_state *s, const char *path,
			const struct mpk_model_memory *m)
{
	uint64_t budget = s->there->memory_bytes;
	const struct mpk_function_memory *f =
		m->most < m->function_count ? &m->functions[m->most] : NULL;

	if (m->need_bytes > budget && f) {
		mpk_check_say(s, MPK_ERROR, path,
			      "needs %s%s, %s over the budget of %s: weights %s, caches %s, and in "
			      "a call of %s inputs %s, at its peak %s of storages",
			      m->unknown ? "at least " : "", MPK_SIZE(m->need_bytes),
			      MPK_SIZE(m->need_bytes - budget), MPK_SIZE(budget),
			      MPK_SIZE(m->weight_bytes), MPK_SIZE(m->cache_bytes),
			      MPK_QUOTE(f->signature->name), MPK_SIZE(f->input_bytes),
			      MPK_SIZE(f->peak_bytes - f->peak_of[MPK_MEMORY_CACHE]));
		return;
	}
	if (m->need_bytes > budget) {
		mpk_check_say(s, MPK_ERROR, path, "weights of %s are %s over the budget of %s",
			      MPK_SIZE(m->weight_bytes), MPK_SIZE(m->need_bytes - budget),
			      MPK_SIZE(budget));
		return;
	}
	/* a finding for each function: the first unknown one may be the largest */
	for (size_t i = 0; i < m->function_count; i++) {
		const struct mpk_function_memory *k = &m->functions[i];

		if (k->given_count < k->extent_count)
			mpk_check_say(s, MPK_ERROR, path,
				      "the memory of %s depends on %s: give it by --shape %s=N",
				      MPK_QUOTE(k->signature->name),
				      MPK_QUOTE(k->extents[k->given_count].name),
				      MPK_QUOTE(k->extents[k->given_count].name));
		else if (k->unknown)
			mpk_check_say(s, MPK_ERROR, path,
				      "the memory of %s is not in the code: %s; it is at least %s",
				      MPK_QUOTE(k->signature->name), k->why,
				      MPK_SIZE(k->peak_bytes));
	}
	if (m->untold)
		mpk_check_say(s, MPK_ERROR, path,
			      "what a call takes is not known, as it has %s; weights are %s",
			      m->untold, MPK_SIZE(m->weight_bytes));
}

static enum mpk_code check_memory(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	size_t before = s->report->errors, models = 0;

	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		struct mpk_error problem = { 0 };
		struct mpk_model_memory m;
		enum mpk_code code;

		if (!n->decoded || !mpk_model_is_kind(n->node->kind))
			continue;
		models++;
		code = mpk_memory_of(n->payload, s->there->memory, s->arena, &m, &problem);
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		if (code != MPK_OK)
			mpk_check_say_text(s, MPK_ERROR, n->path, problem.text);
		else
			judge_model(s, n->path, &m);
	}
	if (!models)
		*skipped = "there is no model";
	s->result->policy_errors += s->report->errors - before;
	return MPK_OK;
}

const struct mpk_check_row mpk_check_memory[] = {
	{ "memory", "--memory", check_memory },
	{ 0 },
};
