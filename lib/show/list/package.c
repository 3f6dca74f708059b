/* SPDX-License-Identifier: Apache-2.0 */
/* package.c - what a package of PyTorch holds beside libraries and code for GPUs: weights and constants by name and size,
 * models, and the rest of its members */
#include "list/list.h"
#include "pt2/pt2.h"
#include "text/escape.h"
#include "text/table.h"

static void package_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_pt2 *p = what;
	struct mpk_table table = { .right = 1 };

	(void)style;
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_pt2_part *part = &p->parts[i];

		if (part->role == MPK_PT2_ARTIFACT || part->role == MPK_PT2_OTHER)
			continue;
		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", MPK_SIZE(part->bytes));
		mpk_table_cell(&table, "%s", mpk_pt2_role_word(part->role));
		mpk_table_cell(&table, "%s", MPK_QUOTE(part->name.len ? part->name : part->member));
	}
	mpk_table_print(&table, "  ", out);
	mpk_table_fini(&table);
}

/* All members, so that nothing of a package has to be looked for elsewhere. */
static void package_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_pt2 *p = what;
	struct mpk_json_at *list, *o;

	at = mpk_json_object(j, at, "package");
	mpk_json_text(j, at, "format", "pt2");
	if (p->version.len)
		mpk_json_span(j, at, "version", p->version);
	else
		mpk_json_null(j, at, "version");
	list = mpk_json_array(j, at, "parts");
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_pt2_part *part = &p->parts[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "role", mpk_pt2_role_word(part->role));
		mpk_json_span(j, o, "member", part->member);
		if (part->name.len)
			mpk_json_span(j, o, "name", part->name);
		else
			mpk_json_null(j, o, "name");
		mpk_json_u64(j, o, "bytes", part->bytes);
	}
}

const struct mpk_answer mpk_answer_package = { .text = package_text, .json = package_json };
