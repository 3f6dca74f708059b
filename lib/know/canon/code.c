/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - the digests of code in any format and of the images in it; of SPIR-V, the simplest
 * format; and the canonical names of symbols */
#include "canon/internal/canon.h"

#include <string.h>

#include "base/cursor.h"

/* --- names of symbols without the parts that only make them unique ------------------------------- */

/* A unique part is made by nvcc from the path, the name and the content of a source, by clang from
 * its path. It is part of a longer name. Its length is written before it, as in the Itanium C++
 * ABI, or inside it. */
static bool is_hex(uint8_t c)
{
	return mpk_is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Returns the number in the digits [from, to), if it can be a length. */
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

/* Finds the end of "31_INTERNAL_5d0836e2_4_a_cu_table"; at is the offset of the underscore. The
 * digits before it may be the end of another identifier: the longest number that keeps the
 * identifier inside the name is its length.
 * Returns  the end; *digits receives how many digits the length has; 0: there is no such part */
static size_t unique_end(struct mpk_span s, size_t at, size_t prefix, size_t *digits)
{
	size_t first = at;

	while (first && at - first < 5 && mpk_is_digit(s.data[first - 1]))
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

/* In "__nv_static_22__5d0836e2_4_a_cu_table_", 22 is the length of the text after "22_".
 * Returns  bytes of the part; 0: the text is not one */
static size_t static_length(struct mpk_span s)
{
	static const char prefix[] = "__nv_static_";
	size_t at = sizeof prefix - 1, first = at, n;

	if (!mpk_span_starts(s, prefix))
		return 0;
	while (at < s.len && at - first < 5 && mpk_is_digit(s.data[at]))
		at++;
	n = length_of(s, first, at);
	if (!n || at >= s.len || s.data[at] != '_' || n + 1 >= s.len - at ||
	    s.data[at + 1 + n] != '_')
		return 0;
	return at + n + 2;
}

/* The part that clang adds: "__static__0123456789abcdef", ".intern.0123456789abcdef"
 * Returns  bytes of the part; 0: the text is not one */
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

/* nvcc names the memory of a function "$___ZZ2k0E4tile__39"; 39 is the number of a symbol.
 * Returns  the name without this number */
static struct mpk_span without_number(struct mpk_span s)
{
	size_t end = s.len;

	if (!mpk_span_starts(s, "$__"))
		return s;
	while (end && mpk_is_digit(s.data[end - 1]))
		end--;
	if (end == s.len || end < 6 || memcmp(s.data + end - 2, "__", 2) != 0)
		return s;
	return mpk_span_of(s.data, end - 2);
}

void mpk_canon_name(struct mpk_span name, struct mpk_strbuf *out)
{
	static const char *const unique[] = { "_INTERNAL_", "_GLOBAL__N_" };
	size_t kept = 0, i = 0; /* everything before kept has been appended */

	name = without_number(name);
	while (i < name.len) {
		struct mpk_span s = mpk_span_from(name, i);
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
			/* Digits that were appended belong to the text before them. */
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
	mpk_strbuf_put_span(out, mpk_span_from(name, kept));
}

void mpk_canon_symbol(struct mpk_canon_hash *h, struct mpk_span name)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_canon_name(name, &text);
	if (text.failed && h->code == MPK_OK)
		h->code = MPK_E_NOMEM;
	mpk_canon_bytes(h, mpk_span_of(text.data, text.len));
}

enum mpk_code mpk_canon_kernel(struct mpk_span name, const uint8_t code[MPK_DIGEST_BYTES],
			       struct mpk_canon_row *row, struct mpk_error *err)
{
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "kernel");
	mpk_canon_symbol(&h, name);
	mpk_canon_raw(&h, mpk_span_of(code, MPK_DIGEST_BYTES));
	return mpk_canon_end(&h, row->digest, err);
}

/* --- SPIR-V: instructions without the ones that only describe (FORMAT.md 6) ---------------------- */

/* An entry point is the whole module and its name: the functions that it calls are not followed.
 * Result ids stay as they are, because only the grammar of each instruction says which of its words
 * are ids. */
enum {
	HEADER_WORDS = 5, /* magic, version, generator, bound, schema */
	VERSION = 1,
	SCHEMA = 4,
	/* OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine */
	FIRST_DEBUG = 2,
	LAST_DEBUG = 8,
	NO_LINE = 317,
	MODULE_PROCESSED = 330,
};

static bool is_noise(uint32_t op)
{
	return (op >= FIRST_DEBUG && op <= LAST_DEBUG) || op == NO_LINE || op == MODULE_PROCESSED;
}

static enum mpk_code hash_module(struct mpk_span s, struct mpk_canon_hash *h, struct mpk_error *err)
{
	struct mpk_span op;

	if (s.len < 4 * HEADER_WORDS || s.len % 4)
		return mpk_fail(err, MPK_E_CORRUPT, "SPIR-V: cut off");
	mpk_canon_raw(h, mpk_span_of(s.data + (size_t)4 * VERSION, 4));
	mpk_canon_raw(h, mpk_span_of(s.data + (size_t)4 * SCHEMA, 4));
	for (size_t at = 4 * HEADER_WORDS; at < s.len; at += op.len) {
		uint32_t word = mpk_load_u32(s.data + at);

		if (!(word >> 16) || !mpk_span_sub(s, at, (uint64_t)(word >> 16) * 4, &op))
			return mpk_fail(err, MPK_E_CORRUPT, "SPIR-V: an instruction is cut off");
		if (!is_noise(word & 0xffff))
			mpk_canon_raw(h, op);
	}
	return MPK_OK;
}

/* A module in the other byte order reads like one that is cut off, so it is digested by its bytes. */
static enum mpk_code canon_spirv(const struct mpk_code_info *info, struct mpk_arena *arena,
				 struct mpk_canon_row *rows, struct mpk_error *err)
{
	struct mpk_canon_row *image = &rows[info->kernel_count];
	struct mpk_canon_hash h;
	enum mpk_code code;

	(void)arena;
	mpk_canon_begin(&h, "SPIR-V");
	code = hash_module(info->bytes, &h, err);
	if (code != MPK_OK) {
		mpk_canon_hash_fini(&h);
		return code;
	}
	MPK_TRY(mpk_canon_end(&h, image->digest, err));
	for (size_t i = 0; i < info->kernel_count; i++)
		MPK_TRY(mpk_canon_kernel(info->kernels[i].name, image->digest, &rows[i], err));
	return MPK_OK;
}

static const struct mpk_canon_reader spirv = { &mpk_format_spirv, canon_spirv };
static const struct mpk_canon_reader *const readers[] = { &mpk_canon_cubin, &mpk_canon_ptx,
							  &mpk_canon_amdgpu, &spirv };

struct rows {
	struct mpk_canon_row *items; /* in the arena */
	size_t count;
	struct mpk_arena *arena;
	struct mpk_error *err;
};

/* At most one row for each kernel and one for each image. */
static size_t most_rows(const struct mpk_code_info *info)
{
	size_t n = info->kernel_count + 1;

	for (size_t i = 0; i < info->image_count; i++)
		n += most_rows(&info->images[i]);
	return n;
}

/* Digests code by its bytes: the text of a source, LLVM bitcode. A kernel in a source is digested
 * as the text and the kernel's name. */
static enum mpk_code canon_code_read_bytes(struct rows *r, const struct mpk_code_info *info,
					   struct mpk_canon_row *rows, size_t kernels)
{
	struct mpk_canon_row *all = &rows[kernels];
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "code");
	mpk_canon_raw(&h, info->bytes);
	MPK_TRY(mpk_canon_end(&h, all->digest, r->err));
	all->what = MPK_CANON_CODE;
	for (size_t i = 0; i < kernels; i++)
		MPK_TRY(mpk_canon_kernel(info->kernels[i].name, all->digest, &rows[i], r->err));
	return MPK_OK;
}

static enum mpk_code name_rows(struct rows *r, const struct mpk_code_info *info,
			       struct mpk_canon_row *rows, size_t kernels)
{
	const char *target = mpk_arena_printf(r->arena, "%s",
					      info->problem || !info->format ? "" : info->target);

	MPK_TRY_ALLOC(target, r->err);
	for (size_t i = 0; i < kernels; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		const char *copy;

		mpk_canon_name(info->kernels[i].name, &name);
		copy = name.failed ? NULL : mpk_arena_copy(r->arena, name.data, name.len);
		MPK_TRY_ALLOC(copy, r->err);
		rows[i].name = mpk_span_of(copy, name.len);
	}
	for (size_t i = 0; i <= kernels; i++)
		rows[i].target = target;
	return MPK_OK;
}

static enum mpk_code add_image(struct rows *r, const struct mpk_code_info *info)
{
	struct mpk_canon_row *rows = &r->items[r->count];
	size_t kernels = info->problem ? 0 : info->kernel_count;
	enum mpk_code code = MPK_E_CORRUPT;

	for (size_t i = 0; !info->problem && i < MPK_ARRAY_COUNT(readers); i++)
		if (info->format == readers[i]->format)
			code = readers[i]->read(info, r->arena, rows, r->err);
	rows[kernels].what = MPK_CANON_IMAGE;
	if (code == MPK_E_CORRUPT || code == MPK_E_SYNTAX || code == MPK_E_UNSUPPORTED)
		code = canon_code_read_bytes(r, info, rows, kernels);
	MPK_TRY(code);
	MPK_TRY(name_rows(r, info, rows, kernels));
	r->count += kernels + 1;
	return MPK_OK;
}

static enum mpk_code canon_code_add_code(struct rows *r, const struct mpk_code_info *info)
{
	if (!info->image_count)
		return info->bytes.len ? add_image(r, info) : MPK_OK;
	for (size_t i = 0; i < info->image_count; i++)
		MPK_TRY(canon_code_add_code(r, &info->images[i]));
	return MPK_OK;
}

enum mpk_code mpk_canon_code(const struct mpk_code_info *info, struct mpk_arena *arena,
			     struct mpk_canon_rows *out, struct mpk_error *err)
{
	struct rows r = { .arena = arena, .err = err };

	MPK_TRY_ARRAY(r.items, arena, most_rows(info), err);
	MPK_TRY(canon_code_add_code(&r, info));
	*out = (struct mpk_canon_rows){ r.items, r.count };
	return MPK_OK;
}
