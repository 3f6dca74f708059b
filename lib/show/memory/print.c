/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - prints the memory of models as sentences, tables and JSON */
#include <inttypes.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"

enum { STORAGES_SHOWN = 12, STEPS_SHOWN = 8, NAME_WIDTH = 44, BAR_WIDTH = 24 };

static const char *const kind_words[] = {
	[MPK_MEMORY_SCRATCH] = "scratch",
	[MPK_MEMORY_RESULT] = "result",
	[MPK_MEMORY_CACHE] = "cache",
};

const char *mpk_memory_kind_word(enum mpk_memory_kind kind)
{
	return kind_words[kind];
}

void mpk_memory_put_extents(const struct mpk_function_memory *f, size_t from,
			    struct mpk_strbuf *out)
{
	for (size_t i = from; i < f->extent_count; i++) {
		mpk_strbuf_puts(out, i > from ? ", " : "");
		mpk_escape(out, f->extents[i].name);
		mpk_strbuf_printf(out, " = %" PRId64, f->extents[i].value);
	}
}

/* Writes a name, cut so that the rest of the line has room. */
static void put_step_name(struct mpk_span name, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf safe = { 0 };

	mpk_escape(&safe, name);
	if (safe.len > NAME_WIDTH)
		mpk_strbuf_printf(out, "%.*s...", NAME_WIDTH - 3, mpk_strbuf_text(&safe));
	else
		mpk_strbuf_puts(out, mpk_strbuf_text(&safe));
	out->failed |= safe.failed;
}

static bool is_alive(const struct mpk_memory_storage *s, size_t step)
{
	return s->first <= step && step < s->end;
}

/* --- the answer ---------------------------------------------------------------------------- */

/* Appends ": needs 512 MiB: weights 300 MiB, inputs 8.0 KiB, 204 MiB of storages at its peak". */
static void put_need(const struct mpk_memory_model *m, struct mpk_strbuf *out)
{
	const struct mpk_model_memory *x = &m->memory;
	const struct mpk_function_memory *f = &x->functions[x->most];

	mpk_strbuf_printf(out, "%s%s: weights %s", x->unknown ? "at least " : "",
			  MPK_SIZE(x->need_bytes), MPK_SIZE(x->weight_bytes));
	if (x->is_static) {
		mpk_strbuf_printf(out, " among %s of storages, which are there from the loading on",
				  MPK_SIZE(f->peak_bytes));
		return;
	}
	if (x->cache_bytes)
		mpk_strbuf_printf(out, ", caches %s", MPK_SIZE(x->cache_bytes));
	mpk_strbuf_printf(out, ", and in a call of ");
	mpk_escape(out, f->signature->name);
	mpk_strbuf_printf(out, " inputs %s, at its peak %s of storages", MPK_SIZE(f->input_bytes),
			  MPK_SIZE(f->peak_bytes - f->peak_of[MPK_MEMORY_CACHE]));
}

/* "for n = 1, --shape n=N for another" */
static void put_assumed(const struct mpk_model_memory *x, struct mpk_strbuf *out)
{
	const struct mpk_function_memory *f = &x->functions[x->most];
	bool is_assumed = false;

	if (f->extent_count) {
		mpk_strbuf_puts(out, "  for ");
		mpk_memory_put_extents(f, 0, out);
		if (f->given_count < f->extent_count) {
			mpk_strbuf_puts(out, "; --shape ");
			mpk_escape(out, f->extents[f->given_count].name);
			mpk_strbuf_puts(out, "=N for another");
			is_assumed = true;
		}
		mpk_strbuf_putc(out, '\n');
	}
	for (size_t i = 0; i < x->function_count && !is_assumed; i++)
		if (x->functions[i].given_count < x->functions[i].extent_count) {
			mpk_strbuf_puts(out, "  ");
			mpk_escape(out, x->functions[i].signature->name);
			mpk_strbuf_puts(out, " is computed for ");
			mpk_memory_put_extents(&x->functions[i], x->functions[i].given_count, out);
			mpk_strbuf_puts(out, ", as --shape does not say them\n");
			is_assumed = true;
		}
	if (x->untold)
		mpk_strbuf_printf(out, "  left out: %s\n", x->untold);
	for (size_t i = 0; i < x->function_count; i++)
		if (x->functions[i].why) {
			mpk_strbuf_puts(out, "  not known, and not counted: ");
			mpk_strbuf_puts(out, x->functions[i].why);
			mpk_strbuf_puts(out, ", in ");
			mpk_escape(out, x->functions[i].signature->name);
			mpk_strbuf_putc(out, '\n');
			break;
		}
}

static void put_functions(const struct mpk_model_memory *x, struct mpk_strbuf *out)
{
	static const char *const heads[] = { "function", "inputs", "peak",  "scratch",
					     "results",  "caches", "steps", "peak at" };
	MPK_CLEANUP(mpk_table_fini)
	struct mpk_table t = { .right = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 };

	mpk_table_row(&t);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(heads); i++)
		mpk_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < x->function_count; i++) {
		const struct mpk_function_memory *f = &x->functions[i];
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, at = { 0 };

		put_step_name(f->signature->name, &name);
		if (f->peak_step < f->step_count)
			put_step_name(f->steps[f->peak_step].name, &at);
		mpk_table_row(&t);
		mpk_table_cell(&t, "%s", mpk_strbuf_text(&name));
		mpk_table_cell(&t, "%s", MPK_SIZE(f->input_bytes));
		mpk_table_cell(&t, "%s%s", f->unknown ? ">= " : "", MPK_SIZE(f->peak_bytes));
		mpk_table_cell(&t, "%s", MPK_SIZE(f->peak_of[MPK_MEMORY_SCRATCH]));
		mpk_table_cell(&t, "%s", MPK_SIZE(f->result_bytes));
		mpk_table_cell(&t, "%s", MPK_SIZE(f->cache_bytes));
		mpk_table_cell(&t, "%zu", f->step_count);
		mpk_table_cell(&t, "%s", mpk_strbuf_text(&at));
		t.failed |= name.failed || at.failed;
	}
	mpk_table_print(&t, "  ", out);
}

/* --- one function ----------------------------------------------------------------------------- */

static int larger_first(const void *a, const void *b)
{
	const struct mpk_memory_storage *const *x = a, *const *y = b;

	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void put_storages(const struct mpk_function_memory *f, bool all, struct mpk_strbuf *out)
{
	static const char *const heads[] = { "bytes", "kind", "first tensor", "tensors", "steps" };
	const struct mpk_memory_storage **list = calloc(f->storage_count + 1, sizeof *list);
	MPK_CLEANUP(mpk_table_fini) struct mpk_table t = { .right = 1 << 0 | 1 << 3 | 1 << 4 };
	size_t count = 0, shown;

	if (!list) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < f->storage_count; i++)
		if (all || is_alive(&f->storages[i], f->peak_step))
			list[count++] = &f->storages[i];
	if (!all)
		qsort(list, count, sizeof *list, larger_first);
	shown = all || count <= STORAGES_SHOWN + 1 ? count : STORAGES_SHOWN;
	mpk_table_row(&t);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(heads); i++)
		mpk_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct mpk_memory_storage *s = list[i];
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf type = { 0 };

		if (s->type.kind != MPK_TYPE_ANY)
			mpk_type_text(&s->type, &type);
		mpk_table_row(&t);
		mpk_table_cell(&t, "%s%s", s->at_least ? ">= " : "", MPK_SIZE(s->bytes));
		mpk_table_cell(&t, "%s", kind_words[s->kind]);
		mpk_table_cell(&t, "%s", mpk_strbuf_text(&type));
		mpk_table_cell(&t, "%zu", s->tensor_count);
		if (s->first < s->end)
			mpk_table_cell(&t, "%zu-%zu", s->first, s->end - 1);
		else
			mpk_table_cell(&t, "%s", "-");
		t.failed |= type.failed;
	}
	mpk_table_print(&t, "  ", out);
	if (shown < count)
		mpk_strbuf_printf(out, "  and %zu more: --all\n", count - shown);
	free(list);
}

static int step_larger_first(const void *a, const void *b)
{
	const struct mpk_memory_step *const *x = a, *const *y = b;

	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static int step_earlier_first(const void *a, const void *b)
{
	const struct mpk_memory_step *const *x = a, *const *y = b;

	return (*x > *y) - (*x < *y);
}

/* Writes a line for each step, with a bar for the memory in use. If there are many, only the
 * largest are shown, in order. */
static void put_steps(const struct mpk_function_memory *f, bool all, struct mpk_strbuf *out)
{
	const struct mpk_memory_step **list = calloc(f->step_count + 1, sizeof *list);
	MPK_CLEANUP(mpk_table_fini) struct mpk_table t = { .right = 1 << 0 | 1 << 1 };
	size_t shown = all || f->step_count <= STEPS_SHOWN + 1 ? f->step_count : STEPS_SHOWN;

	if (!list) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < f->step_count; i++)
		list[i] = &f->steps[i];
	if (shown < f->step_count) {
		qsort(list, f->step_count, sizeof *list, step_larger_first);
		qsort(list, shown, sizeof *list, step_earlier_first);
	}
	mpk_table_row(&t);
	mpk_table_cell(&t, "step");
	mpk_table_cell(&t, "memory");
	mpk_table_cell(&t, "%s", "");
	mpk_table_cell(&t, "operator");
	for (size_t i = 0; i < shown; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		double part = f->peak_bytes ? (double)list[i]->bytes / (double)f->peak_bytes : 0;

		put_step_name(list[i]->name, &name);
		mpk_table_row(&t);
		mpk_table_cell(&t, "%zu", (size_t)(list[i] - f->steps));
		mpk_table_cell(&t, "%s", MPK_SIZE(list[i]->bytes));
		mpk_table_cell(&t, "%.*s", (int)(part * (double)BAR_WIDTH + 0.5),
			       "########################");
		mpk_table_cell(&t, "%s", mpk_strbuf_text(&name));
		t.failed |= name.failed;
	}
	mpk_table_print(&t, "  ", out);
	if (shown < f->step_count)
		mpk_strbuf_printf(out, "  and %zu steps with less: --all\n", f->step_count - shown);
	free(list);
}

static void put_function(const struct mpk_model_memory *x, const struct mpk_function_memory *f,
			 bool all, struct mpk_strbuf *out)
{
	if (!f->step_count && !f->storage_count)
		return;
	mpk_strbuf_puts(out, "\n  ");
	mpk_escape(out, f->signature->name);
	if (x->is_static)
		mpk_strbuf_puts(out, ": its storages\n");
	else if (f->peak_step < f->step_count) {
		mpk_strbuf_printf(out, ": at the peak, step %zu of %zu, runs ", f->peak_step,
				  f->step_count);
		mpk_escape(out, f->steps[f->peak_step].name);
		mpk_strbuf_puts(out, "; then there are\n");
	} else {
		mpk_strbuf_puts(out, ": at the peak there are\n");
	}
	put_storages(f, all, out);
	if (!x->is_static && f->step_count > 1) {
		mpk_strbuf_puts(out, "  over time\n");
		put_steps(f, all, out);
	}
	if (f->paths > 1)
		mpk_strbuf_printf(out,
				  "  of %zu ways that data can choose, the one that takes most\n",
				  f->paths);
}

static void memory_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_memory_list *l = what;

	(void)style;
	if (!l->count) {
		mpk_escape(out, mpk_span_str(l->name));
		mpk_strbuf_puts(out, ": no model whose memory could be told\n");
	}
	for (size_t i = 0; i < l->count; i++) {
		const struct mpk_memory_model *m = &l->items[i];

		mpk_escape(out, mpk_span_str(l->name));
		if (l->count > 1) {
			mpk_strbuf_puts(out, " ");
			mpk_escape(out, mpk_span_str(m->path));
		}
		if (!m->memory.function_count) {
			mpk_strbuf_printf(
				out, ": weights %s; what a call takes is not known: it has %s\n",
				MPK_SIZE(m->memory.weight_bytes),
				m->memory.untold ? m->memory.untold : "no functions");
			continue;
		}
		mpk_strbuf_puts(out, ": needs ");
		put_need(m, out);
		mpk_strbuf_putc(out, '\n');
		put_assumed(&m->memory, out);
		if (m->memory.function_count > 1)
			put_functions(&m->memory, out);
		for (size_t k = 0; k < m->memory.function_count; k++)
			if (l->all || k == m->memory.most)
				put_function(&m->memory, &m->memory.functions[k], l->all, out);
	}
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const struct mpk_fact function_facts[] = {
	{ MPK_FACT(COUNT, "input_bytes", struct mpk_function_memory, input_bytes, "the caller's") },
	{ MPK_FACT(COUNT, "peak_bytes", struct mpk_function_memory, peak_bytes,
		   "of storages, at the worst moment") },
	{ MPK_FACT(COUNT, "peak_step", struct mpk_function_memory, peak_step,
		   "then, an index of steps; their number: none runs") },
	{ MPK_FACT(COUNT, "peak_scratch_bytes", struct mpk_function_memory,
		   peak_of[MPK_MEMORY_SCRATCH],
		   "of peak_bytes, what is gone when the call returns") },
	{ MPK_FACT(COUNT, "result_bytes", struct mpk_function_memory, result_bytes) },
	{ MPK_FACT(COUNT, "cache_bytes", struct mpk_function_memory, cache_bytes,
		   "caches and states that it makes") },
	{ MPK_FACT(COUNT, "total_bytes", struct mpk_function_memory, total_bytes,
		   "of all its storages, were none used again") },
	{ MPK_FACT(
		COUNT, "unknown", struct mpk_function_memory, unknown,
		"extents and memory that are not in the code: then peak_bytes is at least that") },
	{ MPK_FACT(TEXT_OR_NULL, "why", struct mpk_function_memory, why, "one of them in words") },
	{ MPK_FACT(COUNT, "paths", struct mpk_function_memory, paths,
		   "that data could choose between; this is the one that takes most") },
};

static const struct mpk_fact storage_facts[] = {
	{ MPK_FACT(COUNT, "bytes", struct mpk_memory_storage, bytes) },
	{ MPK_FACT_WORDS("kind", struct mpk_memory_storage, kind, kind_words,
			 "scratch is gone when the call returns") },
	{ MPK_FACT(BOOL, "at_least", struct mpk_memory_storage, at_least,
		   "an extent of something in it is not known") },
	{ MPK_FACT(I64, "device", struct mpk_memory_storage, device,
		   "which of the model's devices; of a graph the device type, 0: not said") },
	{ MPK_FACT(COUNT, "first", struct mpk_memory_storage, first,
		   "the first step during which it is there") },
	{ MPK_FACT(COUNT, "end", struct mpk_memory_storage, end, "the step before which it goes") },
	{ MPK_FACT(COUNT, "tensors", struct mpk_memory_storage, tensor_count, "that lie in it") },
};

static const struct mpk_fact step_facts[] = {
	{ MPK_FACT(SPAN, "name", struct mpk_memory_step, name) },
	{ MPK_FACT(I64, "instruction", struct mpk_memory_step, instruction,
		   "-1: a node of a graph") },
	{ MPK_FACT(COUNT, "bytes", struct mpk_memory_step, bytes,
		   "of the storages that are there while it runs") },
};

void mpk_memory_about_json(const struct mpk_function_memory *f, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	struct mpk_json_at *extents;

	mpk_json_span(j, at, "name", f->signature->name);
	extents = mpk_json_array(j, at, "extents");
	for (size_t i = 0; i < f->extent_count; i++) {
		struct mpk_json_at *e = mpk_json_object(j, extents, NULL);

		mpk_json_span(j, e, "name", f->extents[i].name);
		mpk_json_i64(j, e, "value", f->extents[i].value);
		mpk_json_bool(j, e, "given", i < f->given_count);
	}
	mpk_facts_json(MPK_FACTS(function_facts), f, j, at);
}

static void function_json(const struct mpk_function_memory *f, struct mpk_json *j,
			  struct mpk_json_at *list)
{
	struct mpk_json_at *at = mpk_json_object(j, list, NULL), *storages;

	mpk_memory_about_json(f, j, at);
	storages = mpk_json_array(j, at, "storages");
	for (size_t i = 0; i < f->storage_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf type = { 0 };
		struct mpk_json_at *s = mpk_json_object(j, storages, NULL);

		mpk_facts_json(MPK_FACTS(storage_facts), &f->storages[i], j, s);
		if (f->storages[i].type.kind != MPK_TYPE_ANY)
			mpk_type_text(&f->storages[i].type, &type);
		mpk_json_text(j, s, "type", mpk_strbuf_text(&type));
		j->failed |= type.failed;
	}
	mpk_facts_json_list(MPK_FACTS(step_facts), "steps", f->steps, f->step_count,
			    sizeof *f->steps, j, at);
}

void mpk_memory_model_json(const struct mpk_model_memory *m, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	mpk_json_u64(j, at, "need_bytes", m->need_bytes);
	mpk_json_u64(j, at, "weight_bytes", m->weight_bytes);
	mpk_json_u64(j, at, "weights", m->weight_count);
	mpk_json_u64(j, at, "cache_bytes", m->cache_bytes);
	mpk_json_bool(j, at, "static", m->is_static);
	mpk_json_u64(j, at, "unknown", m->unknown);
}

static void memory_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_memory_list *l = what;
	struct mpk_json_at *models;

	mpk_json_text(j, at, "file", l->name);
	models = mpk_json_array(j, at, "models");
	for (size_t i = 0; i < l->count; i++) {
		const struct mpk_model_memory *m = &l->items[i].memory;
		struct mpk_json_at *o = mpk_json_object(j, models, NULL);

		mpk_json_text(j, o, "path", l->items[i].path);
		mpk_memory_model_json(m, j, o);
		struct mpk_json_at *functions = mpk_json_array(j, o, "functions");

		for (size_t k = 0; k < m->function_count; k++)
			function_json(&m->functions[k], j, functions);
	}
}

const struct mpk_answer mpk_answer_memory = { .text = memory_text, .json = memory_json };
