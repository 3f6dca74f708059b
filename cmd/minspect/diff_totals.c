/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of --diff over two releases: devices that gained or lost code, kernels that changed, and
 * the kernels whose resources grew most. */
#include "minspect/diff_totals.h"

#include <string.h>

#include "answer/answer.h"
#include "code/show.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/phrase.h"

/* Returns the device of "cubin sm_90". */
static struct mpk_span device_of(struct mpk_span image)
{
	const uint8_t *blank = image.len ? memrchr(image.data, ' ', image.len) : NULL;

	return blank ? mpk_span_of(blank + 1, image.len - (size_t)(blank + 1 - image.data)) : image;
}

static enum mpk_code add_device(struct minspect_diff_totals *t, const struct mpk_difference *item,
				struct mpk_error *err)
{
	struct mpk_span name = device_of(item->name);
	size_t i = 0;

	while (i < t->device_count && !mpk_span_is(name, t->devices[i].name))
		i++;
	if (i == MINSPECT_TOTAL_DEVICES || !name.len)
		return MPK_OK;
	if (i == t->device_count) {
		t->devices[i] =
			(struct minspect_total_device){ .name = mpk_arena_text(t->arena, name) };
		MPK_TRY_ALLOC(t->devices[i].name, err);
		t->device_count++;
	}
	t->devices[i].added += item->sign == MPK_DIFF_ADDED;
	t->devices[i].removed += item->sign == MPK_DIFF_REMOVED;
	return MPK_OK;
}

/* Returns how bad a change is: 0 if the figure did not get worse, else its relative change in
 * thousandths. Local memory and spilled registers weigh most. */
static uint64_t weight_of(const struct mpk_figure_change *c)
{
	bool is_gain = mpk_figure_row(c->figure)->is_gain;
	uint64_t before = is_gain ? c->after.number : c->before.number;
	uint64_t after = is_gain ? c->before.number : c->after.number, times;

	if (c->before.state != MPK_FIGURE_KNOWN || c->after.state != MPK_FIGURE_KNOWN ||
	    after <= before || c->figure == MPK_FIGURE_CODE || c->figure == MPK_FIGURE_CONSTANT)
		return 0;
	times = (after - before) / (before ? before / 1000 + 1 : 1) + 1;
	if (times > UINT32_MAX)
		times = UINT32_MAX;
	return c->figure == MPK_FIGURE_STACK || c->figure == MPK_FIGURE_SPILLED_REGISTERS
		       ? times << 20
		       : times;
}

static enum mpk_code add_worse(struct minspect_diff_totals *t, const struct mpk_difference *item,
			       const struct mpk_figure_change *c, uint64_t weight,
			       struct mpk_error *err)
{
	enum { WIDTH = 60 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	size_t at = MINSPECT_WORST;

	while (at && t->worst[at - 1].weight < weight)
		at--;
	if (at == MINSPECT_WORST)
		return MPK_OK;
	mpk_strbuf_printf(&text, "%s of ", mpk_figure_row(c->figure)->label);
	if (!mpk_symbol_name(item->name, false, WIDTH, &text))
		mpk_escape(&text, item->name);
	mpk_strbuf_puts(&text, " ");
	mpk_figure_put_change(c->figure, c->before, c->after, &text);
	if (item->target && item->target[0]) {
		mpk_strbuf_puts(&text, " (");
		mpk_escape(&text, mpk_span_str(item->target));
		mpk_strbuf_puts(&text, ")");
	}
	MPK_TRY(mpk_strbuf_status(&text, err));
	/* releases of one library have the same kernels */
	for (size_t i = 0; i < MINSPECT_WORST && t->worst[i].weight; i++)
		if (strcmp(t->worst[i].text, mpk_strbuf_text(&text)) == 0)
			return MPK_OK;
	for (size_t i = MINSPECT_WORST - 1; i > at; i--)
		t->worst[i] = t->worst[i - 1];
	t->worst[at] = (struct minspect_worse){
		weight, mpk_arena_text(t->arena, mpk_span_str(mpk_strbuf_text(&text)))
	};
	MPK_TRY_ALLOC(t->worst[at].text, err);
	return MPK_OK;
}

static uint64_t order_of(struct mpk_figure_value v)
{
	return v.state == MPK_FIGURE_KNOWN ? v.number : UINT64_MAX;
}

static enum mpk_code add_kernel(struct minspect_diff_totals *t, const struct mpk_difference *item,
				struct mpk_error *err)
{
	const struct mpk_figure_change *worst = NULL;
	bool more = false, less = false;
	uint64_t most = 0;

	t->added += item->sign == MPK_DIFF_ADDED;
	t->removed += item->sign == MPK_DIFF_REMOVED;
	t->changed += item->sign == MPK_DIFF_CHANGED && !item->same_code;
	for (size_t i = 0; i < item->figure_count; i++) {
		const struct mpk_figure_change *c = &item->figures[i];
		uint64_t weight = weight_of(c);

		/* an unknown figure counts as more than any number */
		if (c->figure == MPK_FIGURE_STACK || c->figure == MPK_FIGURE_SPILLED_REGISTERS) {
			more |= order_of(c->after) > order_of(c->before);
			less |= order_of(c->after) < order_of(c->before);
		}
		if (c->figure == MPK_FIGURE_OCCUPANCY) {
			t->occupancy_more += c->after.number > c->before.number;
			t->occupancy_less += c->after.number < c->before.number;
		}
		if (weight > most) {
			most = weight;
			worst = &item->figures[i];
		}
	}
	t->spills_more += more;
	t->spills_less += less && !more;
	t->worse_count += worst != NULL;
	return worst ? add_worse(t, item, worst, most, err) : MPK_OK;
}

enum mpk_code minspect_totals_add(struct minspect_diff_totals *t, const struct mpk_diff *diff,
				  struct mpk_error *err)
{
	for (size_t i = 0; i < diff->count; i++) {
		const struct mpk_difference *item = &diff->items[i];

		if (strcmp(item->what, "image") == 0 && item->sign != MPK_DIFF_CHANGED)
			MPK_TRY(add_device(t, item, err));
		else if (strcmp(item->what, "kernel") == 0)
			MPK_TRY(add_kernel(t, item, err));
	}
	return MPK_OK;
}

static void put_devices(const struct minspect_diff_totals *t, bool added, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < t->device_count; i++) {
		size_t n = added ? t->devices[i].added : t->devices[i].removed;

		if (!n)
			continue;
		mpk_strbuf_puts(out, out->len ? ", " : "");
		mpk_strbuf_puts(out, added ? "+ " : "- ");
		mpk_escape(out, mpk_span_str(t->devices[i].name));
		mpk_strbuf_printf(out, " (%zu)", n);
	}
}

/* Writes "occupancy of 2 kernels less, of 1 more". */
static void put_moves(const char *what, size_t worse, const char *worse_word, size_t better,
		      const char *better_word, struct mpk_strbuf *out)
{
	if (!worse && !better)
		return;
	mpk_strbuf_printf(out, "%s%s of ", out->len ? "; " : "", what);
	if (worse) {
		mpk_put_count(out, worse, "kernel");
		mpk_strbuf_printf(out, " %s", worse_word);
	}
	if (better) {
		mpk_strbuf_puts(out, worse ? ", of " : "");
		mpk_put_count(out, better, "kernel");
		mpk_strbuf_printf(out, " %s", better_word);
	}
}

/* Writes and empties the line; nothing if it is empty. */
static void put_line(const char *title, bool is_markdown, struct mpk_strbuf *line,
		     struct mpk_strbuf *out)
{
	if (line->len && is_markdown) {
		mpk_strbuf_printf(out, "- %s: ", title);
		mpk_markdown_said(out, mpk_strbuf_text(line));
		mpk_strbuf_putc(out, '\n');
	} else if (line->len)
		mpk_strbuf_printf(out, "  %-7s  %s\n", title, mpk_strbuf_text(line));
	out->failed |= line->failed;
	line->len = 0;
}

void minspect_totals_put(const struct minspect_diff_totals *t, bool is_markdown,
			 struct mpk_strbuf *out)
{
	enum { WORST_SHOWN = 3 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };
	size_t shown = 0;

	put_devices(t, true, &line);
	put_devices(t, false, &line);
	put_line("devices", is_markdown, &line, out);
	if (t->added || t->removed || t->changed) {
		mpk_strbuf_puts(&line, "+ ");
		mpk_put_number(&line, t->added);
		mpk_strbuf_puts(&line, ", - ");
		mpk_put_number(&line, t->removed);
		mpk_strbuf_puts(&line, ", ");
		mpk_put_number(&line, t->changed);
		mpk_strbuf_puts(&line, " changed, each on each device");
	}
	put_line("kernels", is_markdown, &line, out);
	put_moves("stack or spills", t->spills_more, "more", t->spills_less, "less", &line);
	put_moves("occupancy", t->occupancy_less, "less", t->occupancy_more, "more", &line);
	put_line("figures", is_markdown, &line, out);
	for (; shown < WORST_SHOWN && t->worst[shown].weight; shown++)
		mpk_strbuf_printf(&line, "%s%s", shown ? "; " : "", t->worst[shown].text);
	if (t->worse_count > shown)
		mpk_strbuf_printf(&line, " and %zu more", t->worse_count - shown);
	put_line("worse", is_markdown, &line, out);
}

static void put_pair(const char *name, const char *first, size_t a, const char *second, size_t b,
		     struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, name);

	mpk_json_u64(j, o, first, a);
	mpk_json_u64(j, o, second, b);
}

void minspect_totals_json(const struct minspect_diff_totals *t, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "devices"), *o;

	for (size_t i = 0; i < t->device_count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "name", t->devices[i].name);
		mpk_json_u64(j, o, "added", t->devices[i].added);
		mpk_json_u64(j, o, "removed", t->devices[i].removed);
	}
	o = mpk_json_object(j, at, "kernels");
	mpk_json_u64(j, o, "added", t->added);
	mpk_json_u64(j, o, "removed", t->removed);
	mpk_json_u64(j, o, "changed", t->changed);
	put_pair("spills", "more", t->spills_more, "less", t->spills_less, j, at);
	put_pair("occupancy", "less", t->occupancy_less, "more", t->occupancy_more, j, at);
	list = mpk_json_array(j, at, "worse");
	for (size_t i = 0; i < MINSPECT_WORST && t->worst[i].weight; i++)
		mpk_json_text(j, list, NULL, t->worst[i].text);
	mpk_json_u64(j, at, "worse_count", t->worse_count);
}
