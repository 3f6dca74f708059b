/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - compares two pieces of code in the terms of their format
 *
 * Compilers seldom write the same bytes twice, so for cubins, fatbins and SPIR-V the result says
 * whether the code itself differs. Byte code is compared as a listing with names instead of
 * indexes, so that one more instruction changes one line and not every index below it. */
#include "diff/internal/compare.h"

#include <string.h>

#include "base/cursor.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "text/phrase.h"
#include "text/table.h"

/* --- texts, cubins, SPIR-V ------------------------------------------------------------- */

/* Returns NULL for bytes that were not read as code, and for code of unknown format: neither is
 * compared by format. */
static const struct mpk_code_format *diff_code_format_of(struct mpk_diff_code_side s)
{
	return s.code && s.code->format ? s.code->format : NULL;
}

/* Whether both sides are valid code of format f. Code with a problem is compared as bytes, since a
 * reader that stopped halfway would call the rest equal. */
static bool both_are(struct mpk_diff_code_side a, struct mpk_diff_code_side b,
		     const struct mpk_code_format *f)
{
	return diff_code_format_of(a) == f && diff_code_format_of(b) == f && !a.code->problem &&
	       !b.code->problem;
}

/* Whether a section is a table of names. Such tables change with every other change, so they are
 * listed only if nothing else differs. */
static bool is_table(struct mpk_span name)
{
	return mpk_span_is(name, ".shstrtab") || mpk_span_is(name, ".strtab") ||
	       mpk_span_is(name, ".symtab");
}

/* Lists the differing sections by name, either of code or of data. Tables of names are listed only
 * if nothing else differs. */
static void put_sections(const struct mpk_cubin_difference *list, size_t count, bool code,
			 struct mpk_differ *d, struct mpk_strbuf *out)
{
	struct mpk_span *names = mpk_arena_array(d->arena, count, sizeof *names);
	size_t n = 0;

	d->diff->failed |= !names;
	for (size_t i = 0; names && i < count; i++)
		if (list[i].is_code == code && !is_table(list[i].name))
			names[n++] = list[i].name;
	/* if only tables of names differ, list those */
	for (size_t i = 0, others = n; names && !others && i < count; i++)
		names[n++] = list[i].name;
	if (names)
		mpk_put_names(out, names, n);
}

/* Returns false if one of them cannot be read. */
static bool compare_cubins(struct mpk_differ *d, const char *what, struct mpk_span name,
			   struct mpk_span a, struct mpk_span b)
{
	const struct mpk_cubin_difference *list;
	struct mpk_strbuf text = { 0 };
	struct mpk_difference *item;
	size_t count, code = 0;

	if (mpk_cubin_compare(a, b, d->arena, &list, &count, NULL) != MPK_OK)
		return false;
	for (size_t i = 0; i < count; i++)
		code += list[i].is_code;
	if (a.len != b.len)
		mpk_strbuf_printf(&text, "%s -> %s, ", MPK_SIZE(a.len), MPK_SIZE(b.len));
	mpk_strbuf_puts(&text, code ? "code differs" : "bytes differ, code equal");
	if (count)
		mpk_strbuf_puts(&text, ": ");
	put_sections(list, count, code > 0, d, &text);
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, what, name, mpk_differ_take(d, &text));
	if (item)
		item->same_code = !code;
	return true;
}

/* --- SPIR-V -------------------------------------------------------------------------------
 *
 * Debug instructions are skipped; all others must be equal word by word. If a compiler numbers its
 * results in another order, the code counts as different. */

enum {
	HEADER_WORDS = 5, /* magic, version, generator, bound, schema */
	HEADER_BYTES = 4 * HEADER_WORDS,
	GENERATOR = 2,
	/* OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine */
	FIRST_DEBUG = 2,
	LAST_DEBUG = 8,
	NO_LINE = 317,
	MODULE_PROCESSED = 330,
};

static const uint32_t MAGIC = 0x07230203;

static bool is_debug(uint32_t op)
{
	return (op >= FIRST_DEBUG && op <= LAST_DEBUG) || op == NO_LINE || op == MODULE_PROCESSED;
}

/* Finds the next instruction that is not debug information. Returns false if there is none, or if
 * it is malformed (then *at stays before it). */
static bool spirv_next(struct mpk_span s, size_t *at, struct mpk_span *out)
{
	while (s.len - *at >= 4) {
		uint32_t word = mpk_load_u32(s.data + *at);

		if (!(word >> 16) || !mpk_span_sub(s, *at, (uint64_t)(word >> 16) * 4, out))
			return false;
		*at += out->len;
		if (!is_debug(word & 0xffff))
			return true;
	}
	return false;
}

/* The generator word names the compiler and its version (SPIR-V specification, 2.3), which is not
 * code. The bound is compared: other result numbers count as other code. */
static bool same_header(struct mpk_span a, struct mpk_span b)
{
	if (a.len < HEADER_BYTES || b.len < HEADER_BYTES || mpk_load_u32(a.data) != MAGIC)
		return false;
	for (size_t i = 0; i < HEADER_WORDS; i++)
		if (i != GENERATOR && memcmp(a.data + 4 * i, b.data + 4 * i, 4) != 0)
			return false;
	return true;
}

bool mpk_spirv_same_code(struct mpk_span a, struct mpk_span b)
{
	size_t x = HEADER_BYTES, y = x;
	struct mpk_span p, q;

	if (!same_header(a, b))
		return false;
	for (;;) {
		bool more = spirv_next(a, &x, &p);

		if (more != spirv_next(b, &y, &q))
			return false;
		if (!more)
			return x == a.len && y == b.len;
		if (!mpk_span_equal(p, q))
			return false;
	}
}

/* SPIR-V keeps names, source and line numbers in the same stream as the code. A build with other
 * debug information changes bytes but no executed instruction. */
static void compare_spirv(struct mpk_differ *d, const char *what, struct mpk_span name,
			  struct mpk_diff_code_side a, struct mpk_diff_code_side b)
{
	bool same = mpk_spirv_same_code(a.bytes, b.bytes);
	struct mpk_difference *item =
		same ? mpk_differ_change(d, what, name,
					 "bytes differ, code equal: names, source or lines")
		     : mpk_differ_bytes(d, what, name, a.bytes, b.bytes);

	if (!item)
		return;
	item->same_code = same;
	item->other_code = !same;
	item->older_code = a.code;
	item->newer_code = b.code;
}

/* --- fatbins ------------------------------------------------------------------------------ */

/* An image and its number among the images of its kind. */
struct image {
	struct mpk_span name; /* "cubin sm_90" */
	const struct mpk_fatbin_entry *entry;
	const struct mpk_code_info *code;
};

/* Names the images of a fatbin so that names agree in both files. The suffix "a" or "f" is part of
 * the name, because sm_90a code does not run on all devices that run sm_90 code. */
static const struct image *diff_code_images_of(struct mpk_differ *d,
					       const struct mpk_code_info *code)
{
	static const char *const kinds[] = { [MPK_FATBIN_PTX] = "PTX compute",
					     [MPK_FATBIN_ELF] = "cubin sm",
					     [MPK_FATBIN_LTO] = "LTO IR lto",
					     [MPK_FATBIN_TILE] = "Tile IR tile",
					     [MPK_FATBIN_OTHER] = "other sm" };
	const struct mpk_fatbin *f = code->content;
	struct image *list = mpk_arena_array(d->arena, f->entry_count, sizeof *list);

	d->diff->failed |= !list;
	for (size_t i = 0; list && i < f->entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f->entries[i];
		const char *name = mpk_arena_printf(d->arena, "%s_%u%s%s", kinds[e->kind], e->sm,
						    e->arch_specific     ? "a"
						    : e->family_specific ? "f"
									 : "",
						    e->debug ? ", debug" : "");

		d->diff->failed |= !name;
		list[i] = (struct image){ mpk_span_str(name ? name : ""), e, &code->images[i] };
	}
	return list;
}

/* Compares the unpacked images: one cubin may be compressed to different bytes. If the packed bytes
 * are equal, nothing is unpacked. */
static void compare_images(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	struct mpk_difference *item;

	if (mpk_span_equal(x->entry->data, y->entry->data) &&
	    x->entry->piece_off == y->entry->piece_off)
		return;
	if (!mpk_span_equal(x->code->bytes, y->code->bytes)) {
		mpk_diff_code(d, "image", name,
			      (struct mpk_diff_code_side){ x->code->bytes, x->code, false },
			      (struct mpk_diff_code_side){ y->code->bytes, y->code, false });
		return;
	}
	item = mpk_differ_change(d, "image", name, "%s -> %s, packed in another way, code equal",
				 MPK_SIZE(mpk_fatbin_entry_bytes(x->entry)),
				 MPK_SIZE(mpk_fatbin_entry_bytes(y->entry)));
	if (item)
		item->same_code = true;
}

/* Images are matched by kind and device, not by position: their order in the container has no
 * effect. */
static void compare_fatbins(struct mpk_differ *d, const struct mpk_code_info *a,
			    const struct mpk_code_info *b)
{
	static const struct mpk_diff_thing image = { .what = "image",
						     .bytes = sizeof(struct image),
						     .name_at = offsetof(struct image, name),
						     .compare = compare_images };
	const struct image *x = diff_code_images_of(d, a), *y = diff_code_images_of(d, b);

	if (x && y)
		mpk_differ_match(d, &image, x, a->image_count, y, b->image_count);
}

/* --- byte code ------------------------------------------------------------------------ */

/* A function in a listing: a line that begins with '@', and the lines below it. */
struct listed_function {
	struct mpk_span name, text;
};

/* Length of "  12: " in front of an instruction of the Relay machine. One more instruction changes
 * all numbers below it. */
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

/* Returns the next line including its '\n', so that concatenating the lines restores the
 * listing. */
static struct mpk_span next_line(struct mpk_span text, size_t *at)
{
	const uint8_t *p = text.data + *at, *end = memchr(p, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - p) + 1 : text.len - *at;

	*at += len;
	return mpk_span_of(p, len);
}

/* Returns a listing without the numbers and without the empty lines between functions. */
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
		mpk_strbuf_put_span(&out, mpk_span_from(line, skip));
	}
	len = out.len;
	const char *text = mpk_differ_take(d, &out);

	return mpk_span_of(text, text ? len : 0);
}

/* The name ends before "(", ":" or a blank. A name that contains such a byte is cut, in both
 * listings alike. */
static struct mpk_span listed_function_name(struct mpk_span line)
{
	size_t n = 1;

	while (n < line.len && !memchr("(: \n", line.data[n], 4))
		n++;
	return mpk_span_of(line.data + 1, n - 1);
}

/* Counts the functions before it fills the array. Their texts are borrowed from the listing. */
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
			list[(*count)++] = (struct listed_function){ listed_function_name(line),
								     { line.data, 0 } };
		if (*count)
			list[*count - 1].text.len += line.len;
	}
	return list;
}

/* The message says "instruction", since a line of a listing is one. */
static void compare_listed(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct listed_function *x = a, *y = b;

	mpk_differ_lines(d, "byte code", name, "instruction", x->text, y->text);
}

/* Functions are matched by name, so that a function that moved in the table is not reported as
 * removed and added. */
static void compare_listings(struct mpk_differ *d, struct mpk_span a, struct mpk_span b)
{
	static const struct mpk_diff_thing function = { .what = "byte code",
							.bytes = sizeof(struct listed_function),
							.name_at = offsetof(struct listed_function,
									    name),
							.compare = compare_listed };
	size_t a_count, b_count;
	const struct listed_function *x = split_listing(d, strip_numbers(d, a), &a_count);
	const struct listed_function *y = split_listing(d, strip_numbers(d, b), &b_count);

	if (x && y)
		mpk_differ_match(d, &function, x, a_count, y, b_count);
}

/* --- all of them --------------------------------------------------------------------------- */

void mpk_diff_code(struct mpk_differ *d, const char *what, struct mpk_span name,
		   struct mpk_diff_code_side a, struct mpk_diff_code_side b)
{
	if (mpk_span_equal(a.bytes, b.bytes))
		return;
	if (a.is_listing && b.is_listing) {
		compare_listings(d, a.bytes, b.bytes);
		return;
	}
	if (both_are(a, b, &mpk_format_cubin) && compare_cubins(d, what, name, a.bytes, b.bytes))
		return;
	if (both_are(a, b, &mpk_format_fatbin))
		compare_fatbins(d, a.code, b.code);
	else if (both_are(a, b, &mpk_format_spirv))
		compare_spirv(d, what, name, a, b);
	else
		mpk_differ_content(d, what, name, a.bytes, b.bytes);
}
