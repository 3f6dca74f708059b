/* SPDX-License-Identifier: Apache-2.0 */
/* package_row.c - the rules of [package] */
#include <string.h>

#include "manifest/internal/schema.h"
#include "text/escape.h"

#define QUOTE(mstr) MPK_QUOTE(mpk_toml_str_span(mstr))

static void check_abi(struct mpk_toml_reader *r, struct mpk_manifest *m)
{
	struct mpk_span names[MPK_GENERATION_COUNT];
	char near[MPK_TOML_SUGGEST_BYTES];

	m->gen = MPK_GEN_CURRENT;
	if (!m->abi.text)
		return;
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		names[g] = mpk_span_str(mpk_generation_get((enum mpk_generation)g)->abi);
		if (mpk_span_equal(mpk_toml_str_span(m->abi), names[g])) {
			m->gen = (enum mpk_generation)g;
			return;
		}
	}
	mpk_toml_read_error(
		r, m->abi.pos, "abi", "'abi' is ffi, ffi-0.21 or legacy, not '%s'%s", QUOTE(m->abi),
		mpk_toml_suggest(mpk_toml_str_span(m->abi), names, MPK_GENERATION_COUNT, near));
}

/* It becomes part of a symbol in generated code. */
static void check_entry(struct mpk_toml_reader *r, const struct mpk_manifest *m)
{
	const char *text = m->entry.text;

	if (!text)
		return;
	if (m->base.text)
		mpk_toml_read_error(r, m->entry.pos, "base",
				    "'base' gives finished host code, whose entry is its own");
	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") !=
		    m->entry.len ||
	    (text[0] >= '0' && text[0] <= '9'))
		mpk_toml_read_error(r, m->entry.pos, "entry",
				    "'entry' is a function's name as callers say it, not '%s'",
				    QUOTE(m->entry));
}

void mpk_manifest_package_check(struct mpk_toml_reader *r, void *package)
{
	struct mpk_manifest *m = package;

	check_abi(r, m);
	check_entry(r, m);
	if (m->name.text && strchr(m->name.text, '/'))
		mpk_toml_read_error(r, m->name.pos, "name", "'name' is a name, not a path: '%s'",
				    QUOTE(m->name));
}
