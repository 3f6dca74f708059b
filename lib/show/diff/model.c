/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - what differs in byte code and in tensors
 *
 * Byte code is compared as its listing, which names what it refers to: one instruction more then changes one
 * line, and not every index below it. */
#include "diff/internal/compare.h"

#include <inttypes.h>
#include <string.h>

#include "compare/tensor.h"
#include "text/escape.h"

/* --- byte code ------------------------------------------------------------------------ */

/* A function of a listing: a line that begins with '@', and those below it. */
struct listed_function {
	struct mpk_span name, text;
};

/* "  12: " in front of an instruction of the Relay machine: one more instruction changes all below. */
static size_t number_length(struct mpk_span line)
{
	size_t i = 0, digits;

	while (i < line.len && line.data[i] == ' ')
		i++;
	digits = i;
	while (i < line.len && line.data[i] >= '0' && line.data[i] <= '9')
		i++;
	if (digits == 0 || i == digits || i + 1 >= line.len || line.data[i] != ':')
		return 0;
	return i + 2;
}

/* The line with its '\n', if it has one: a listing split this way is put together again without
 * loss. */
static struct mpk_span next_line(struct mpk_span text, size_t *at)
{
	const uint8_t *p = text.data + *at, *end = memchr(p, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - p) + 1 : text.len - *at;

	*at += len;
	return mpk_span_of(p, len);
}

/* A listing without the numbers and the empty lines between functions. */
static struct mpk_span strip_numbers(struct mpk_differ *d, struct mpk_span listing)
{
	struct mpk_strbuf out = { 0 };
	size_t len;

	for (size_t at = 0; at < listing.len;) {
		struct mpk_span line = next_line(listing, &at);
		size_t skip = number_length(line);

		if (line.len == 1)
			continue;
		if (skip)
			mpk_strbuf_puts(&out, "  ");
		mpk_strbuf_put_span(&out, mpk_span_of(line.data + skip, line.len - skip));
	}
	len = out.len;
	const char *text = mpk_differ_take(d, &out);

	return mpk_span_of(text, text ? len : 0);
}

/* The name ends before "(", ":" or a blank. One that holds such a byte is cut, in both listings alike. */
static struct mpk_span diff_model_function_name(struct mpk_span line)
{
	size_t n = 1;

	while (n < line.len && !memchr("(: \n", line.data[n], 4))
		n++;
	return mpk_span_of(line.data + 1, n - 1);
}

/* Counts first, then fills: functions borrow their text from the listing, so that an array of the
 * right size is all that is allocated. */
static struct listed_function *split_listing(struct mpk_differ *d, struct mpk_span listing,
					     size_t *count)
{
	struct listed_function *list;
	size_t n = 0;

	for (size_t at = 0; at < listing.len;)
		n += next_line(listing, &at).data[0] == '@';
	list = mpk_arena_array(d->arena, n, sizeof *list);
	d->diff->failed |= !list;
	*count = 0;
	for (size_t at = 0; list && at < listing.len;) {
		struct mpk_span line = next_line(listing, &at);

		if (line.data[0] == '@')
			list[(*count)++] = (struct listed_function){ diff_model_function_name(line),
								     { line.data, 0 } };
		if (*count)
			list[*count - 1].text.len += line.len;
	}
	return list;
}

static struct mpk_span listed_name(const void *item)
{
	const struct listed_function *f = item;

	return f->name;
}

/* "Instruction" is the unit in the text, since a line of a listing is one. */
static void compare_listed(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct listed_function *x = a, *y = b;

	mpk_differ_lines(d, "byte code", name, "instruction", x->text, y->text);
}

/* Functions are matched by name, so that one that moved in the table is not reported as removed
 * and added. */
void mpk_diff_listings(struct mpk_differ *d, struct mpk_span a, struct mpk_span b)
{
	static const struct mpk_diff_thing function = { .what = "byte code",
							.bytes = sizeof(struct listed_function),
							.name = listed_name,
							.compare = compare_listed };
	size_t a_count, b_count;
	const struct listed_function *x = split_listing(d, strip_numbers(d, a), &a_count);
	const struct listed_function *y = split_listing(d, strip_numbers(d, b), &b_count);

	if (x && y)
		mpk_differ_match(d, &function, x, a_count, y, b_count);
}

/* --- tensors ------------------------------------------------------------------------------ */

void mpk_diff_tensors(struct mpk_differ *d, struct mpk_span name, const struct mpk_tensor_record *a,
		      const struct mpk_tensor_record *b)
{
	struct mpk_tensor_diff found = mpk_tensor_compare(a, b);
	struct mpk_strbuf text = { 0 };

	if (found.is_comparable && !found.differing && !found.bits_only)
		return;
	mpk_tensor_diff_text(&found, a, b, &text);
	(void)mpk_differ_add(d, MPK_DIFF_CHANGED, "tensor", name, mpk_differ_take(d, &text));
}
