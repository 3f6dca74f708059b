/* SPDX-License-Identifier: Apache-2.0 */
/* name.c - names of symbols without what a compiler put into them to make them unique
 *
 * nvcc derives it from the path, the name and the content of a source; clang from its path. Such an identifier is
 * a part of a longer name, and tells its own length: in front of it as the Itanium C++ ABI has it, or within. */
#include "canon/canon.h"

#include "base/compiler.h"

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static struct mpk_span rest(struct mpk_span s, size_t at)
{
	return mpk_span_of(s.data + at, s.len - at);
}

/* The number that digits [from, to) make, if it is one of a length. */
static size_t length_of(struct mpk_span s, size_t from, size_t to)
{
	size_t n = 0;

	if (from == to || s.data[from] == '0')
		return 0;
	for (; from < to; from++) {
		n = n * 10 + (size_t)(s.data[from] - '0');
		if (n > s.len)
			return 0;
	}
	return n;
}

/* "31_INTERNAL_5d0836e2_4_a_cu_table": at is that of the underscore. Digits in front may be the end of another
 * identifier: the longest number that leaves its identifier within the name counts.
 * Returns  where it ends, and in *digits how many digits are its length's; 0: there is none */
static size_t unique_end(struct mpk_span s, size_t at, size_t prefix, size_t *digits)
{
	size_t first = at;

	while (first && at - first < 5 && is_digit(s.data[first - 1]))
		first--;
	for (; first < at; first++) {
		size_t n = length_of(s, first, at);

		if (n > prefix && n <= s.len - at) {
			*digits = at - first;
			return at + n;
		}
	}
	return 0;
}

/* "__nv_static_22__5d0836e2_4_a_cu_table_": 22 is the length of what follows "22_".
 * Returns  bytes of it; 0: it is none */
static size_t static_length(struct mpk_span s)
{
	static const char prefix[] = "__nv_static_";
	size_t at = sizeof prefix - 1, first = at, n;

	if (!mpk_span_starts(s, prefix))
		return 0;
	while (at < s.len && at - first < 5 && is_digit(s.data[at]))
		at++;
	n = length_of(s, first, at);
	if (!n || at >= s.len || s.data[at] != '_' || n + 1 >= s.len - at ||
	    s.data[at + 1 + n] != '_')
		return 0;
	return at + n + 2;
}

/* Of clang: "__static__0123456789abcdef", ".intern.0123456789abcdef"
 * Returns  bytes of it; 0: it is none */
static size_t cuid_length(struct mpk_span s)
{
	static const char *const before[] = { "__static__", "__intern__", ".static.", ".intern.",
					      "__hip_cuid_" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(before); i++) {
		size_t at = strlen(before[i]), first = at;

		if (!mpk_span_starts(s, before[i]))
			continue;
		while (at < s.len && is_hex(s.data[at]))
			at++;
		if (at - first >= 8)
			return at;
	}
	return 0;
}

/* "$___ZZ2k0E4tile__39" of nvcc, memory of a function: the number at its end is that of a symbol.
 * Returns  the name without it */
static struct mpk_span without_number(struct mpk_span s)
{
	size_t end = s.len;

	if (!mpk_span_starts(s, "$__"))
		return s;
	while (end && is_digit(s.data[end - 1]))
		end--;
	if (end == s.len || end < 6 || memcmp(s.data + end - 2, "__", 2) != 0)
		return s;
	return mpk_span_of(s.data, end - 2);
}

void mpk_canon_name(struct mpk_span name, struct mpk_strbuf *out)
{
	static const char *const unique[] = { "_INTERNAL_", "_GLOBAL__N_" };
	size_t kept = 0, i = 0; /* what is before kept was appended */

	name = without_number(name);
	while (i < name.len) {
		struct mpk_span s = rest(name, i);
		size_t n, digits = 0, end = 0, prefix = 0;

		if (s.data[0] != '_' && s.data[0] != '.') {
			i++;
			continue;
		}
		for (size_t k = 0; !end && k < MPK_ARRAY_COUNT(unique); k++) {
			prefix = strlen(unique[k]);
			if (mpk_span_starts(s, unique[k]))
				end = unique_end(name, i, prefix, &digits);
		}
		if (end) {
			/* digits that were appended already belong to what stands before */
			size_t from = i - digits > kept ? i - digits : kept;

			mpk_strbuf_put_span(out, mpk_span_of(name.data + kept, from - kept));
			mpk_strbuf_printf(out, "%zu", prefix);
			mpk_strbuf_put_span(out, mpk_span_of(s.data, prefix));
		} else if ((n = static_length(s)) || (n = cuid_length(s))) {
			mpk_strbuf_put_span(out, mpk_span_of(name.data + kept, i - kept));
			mpk_strbuf_puts(out, s.data[0] == '.' ? ".unique" : "__unique");
			end = i + n;
		}
		if (end)
			i = kept = end;
		else
			i++;
	}
	mpk_strbuf_put_span(out, rest(name, kept));
}
