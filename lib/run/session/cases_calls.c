/* SPDX-License-Identifier: Apache-2.0 */
/* What of a case file the process must know that makes its calls. Keys are named here one by one: what is
 * not named does not get there. */
#include <string.h>

#include "session/cases.h"
#include "session/internal/case_file.h"
#include "text/escape.h"

static void put_text(struct mpk_strbuf *out, const char *key, struct mpk_toml_str s)
{
	if (!s.text)
		return;
	mpk_strbuf_printf(out, "%s = ", key);
	mpk_escape_json(out, mpk_toml_str_span(s), "?");
	mpk_strbuf_putc(out, '\n');
}

static void put_number(struct mpk_strbuf *out, const char *key, struct mpk_toml_number n)
{
	if (n.pos.line)
		mpk_strbuf_printf(out, "%s = %.17g\n", key, n.value);
}

static void put_list(struct mpk_strbuf *out, const char *key, const struct mpk_toml_list *list)
{
	if (!list->present)
		return;
	mpk_strbuf_printf(out, "%s = [", key);
	for (size_t i = 0; i < list->count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape_json(out, mpk_toml_str_span(list->items[i]), "?");
	}
	mpk_strbuf_puts(out, "]\n");
}

static void put_place(struct mpk_strbuf *out, const struct mpk_case_place *place)
{
	put_text(out, "device", place->device);
	put_text(out, "params", place->params);
	put_number(out, "timeout", place->timeout);
}

static void put_args(struct mpk_strbuf *out, const struct mpk_case_table *t)
{
	mpk_strbuf_puts(out, "args = [");
	for (size_t i = 0; i < t->arg_count; i++) {
		const struct mpk_case_arg *arg = &t->args[i];

		mpk_strbuf_puts(out, arg->out.text ? "{ out = " : "{ input = ");
		mpk_escape_json(out, mpk_toml_str_span(arg->out.text ? arg->out : arg->input), "?");
		mpk_strbuf_puts(out, " }, ");
	}
	mpk_strbuf_puts(out, "]\n");
}

static void put_case(struct mpk_strbuf *out, const struct mpk_case_table *t)
{
	mpk_strbuf_puts(out, "[[case]]\n");
	put_text(out, "run", t->run);
	if (t->skip.text)
		mpk_strbuf_puts(out, "skip = \"yes\"\n");
	put_args(out, t);
	put_place(out, &t->place);
	put_list(out, "grid", &t->grid);
	put_list(out, "block", &t->block);
	put_number(out, "shared", t->shared);
	put_number(out, "repeat", t->repeat);
	put_number(out, "warmup", t->warmup);
}

enum mpk_code mpk_cases_calls(const struct mpk_cases *cases, struct mpk_strbuf *out,
			      struct mpk_error *err)
{
	mpk_strbuf_puts(out, "[defaults]\n");
	put_place(out, cases->said);
	for (size_t i = 0; i < cases->count; i++)
		put_case(out, cases->items[i].said);
	return mpk_strbuf_status(out, err);
}
