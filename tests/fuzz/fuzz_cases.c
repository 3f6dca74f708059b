/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cases - a file of calls and what they are to give */
#include <string.h>

#include "fuzz.h"
#include "session/cases.h"

enum { DIGITS = 5 };

/* Neither files of this machine nor tensors of gigabytes. */
static bool is_modest(struct mpk_span text)
{
	size_t digits = 0;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c == '@' || c == '\\' || c == '/')
			return false;
		/* of a shape: digits with 'x' between them */
		digits = c >= '0' && c <= '9' ? digits + 1 : c == 'x' ? digits : 0;
		if (digits > DIGITS)
			return false;
	}
	return !text.len || !memmem(text.data, text.len, "params", 6);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const char *const words[] = { "*a*", "b" };
	static const struct mpk_name_filter filter = { words, 2 };
	const struct mpk_cases_source source = { .path = "cases.toml",
						 .text = bytes,
						 .parser = mpk_toml_parse_bytes,
						 .filter = fuzz_choice(bytes, 4) ? NULL : &filter };
	struct mpk_report report = { 0 };
	struct mpk_cases cases = { 0 };

	(void)arena;
	if (!is_modest(bytes))
		return;
	if (mpk_cases_read(&source, &cases, &report, NULL) == MPK_OK && !report.errors)
		for (size_t i = 0; i < cases.count; i++)
			fuzz_touch(mpk_span_str(cases.items[i].name));
	mpk_cases_fini(&cases);
	mpk_report_fini(&report);
}
