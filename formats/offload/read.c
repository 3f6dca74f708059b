/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - Clang's offload bundles and offload binaries
 *
 * Bundles are those of clang-offload-bundler (Clang documentation, "Clang Offload Bundler"),
 * binaries those of clang-offload-packager (llvm/Object/OffloadBinary.h). Compressed bundles are
 * decompressed first (packed.c). Offsets and sizes come from the file, so each image is checked to
 * lie within it. */
#include "offload/offload.h"

#include "base/cursor.h"
#include "base/num.h"

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"
#define BINARY_MAGIC UINT32_C(0xad10ff10)

enum {
	BUNDLE_ENTRY_BYTES = 24, /* without its identifier */
	BUNDLE_ENTRIES_MAX = 65536,
	BINARY_BYTES = 32,
	BINARY_ENTRY_BYTES = 40,
	BINARY_STRING_BYTES = 16,
	BINARY_VERSION = 1,
	TEXT_MAX = 4096, /* longest key or value, so that overlapping strings cost little */
};

/* Every problem of a container means that it is damaged. */
static enum mpk_code offload_fail_at(struct mpk_error *err, uint64_t off, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off, "offload container: %s", what);
}

/* The magic number has four bytes, little-endian on every machine. */
static bool is_binary(struct mpk_span bytes)
{
	return bytes.len >= 4 && mpk_load_u32(bytes.data) == BINARY_MAGIC;
}

/* Compressed bundles have another magic number (packed.c). */
bool mpk_offload_is(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, BUNDLE) || is_binary(bytes);
}

bool mpk_offload_is_packed(struct mpk_span bytes)
{
	return bytes.len >= 8 && mpk_span_starts(bytes, "CCOB");
}

/* --- bundles: FORMAT.md 1 -------------------------------------------------------------- */

/* Returns the offset of the target in the text after the kind; its length: none. */
static size_t find_target(struct mpk_span s)
{
	static const char *const signs[] = { "-gfx", "-sm_" };

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		const uint8_t *at = s.len ? memmem(s.data, s.len, signs[i], 4) : NULL;

		if (at)
			return (size_t)(at - s.data);
	}
	return s.len;
}

/* "hip-amdgcn-amd-amdhsa--gfx90a": kind, triple, target; missing parts stay empty. */
void mpk_offload_split_id(struct mpk_span id, struct mpk_offload_entry *e)
{
	const uint8_t *dash = id.len ? memchr(id.data, '-', id.len) : NULL;
	size_t kind = dash ? (size_t)(dash - id.data) : id.len, rest = dash ? kind + 1 : kind;
	struct mpk_span s = mpk_span_from(id, rest);
	size_t target = find_target(s);

	e->kind = mpk_span_of(id.data, kind);
	if (target < s.len)
		e->arch = mpk_span_of(s.data + target + 1, s.len - target - 1);
	while (target && s.data[target - 1] == '-')
		target--;
	e->triple = mpk_span_of(s.data, target);
	e->is_host = mpk_span_is(e->kind, "host");
}

struct listing {
	struct mpk_offload_entry *entries;
	uint64_t *sizes;
	size_t count;
	uint64_t head_bytes;
};

/* The number of entries is limited by the bytes of the file, and by a number that no compiler
 * reaches. */
static enum mpk_code read_heads(struct mpk_span bytes, struct mpk_arena *arena, struct listing *out,
				struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");
	struct mpk_span magic, id;

	MPK_TRY(mpk_read_bytes(&c, "bundle: magic", strlen(BUNDLE), &magic, err));
	if (!mpk_span_is(magic, BUNDLE))
		return offload_fail_at(err, 0, "no offload bundle");
	MPK_TRY(mpk_read_count(&c, "bundle: entries", BUNDLE_ENTRY_BYTES, &out->count, err));
	if (out->count > BUNDLE_ENTRIES_MAX)
		return offload_fail_at(err, 24, "a bundle of more than 65536 images");
	out->entries = mpk_arena_array(arena, out->count, sizeof *out->entries);
	out->sizes = mpk_arena_array(arena, out->count, sizeof *out->sizes);
	MPK_TRY_ALLOC(out->entries && out->sizes, err);
	for (size_t i = 0; i < out->count; i++) {
		MPK_TRY(mpk_read_u64(&c, "bundle: offset", &out->entries[i].data_off, err));
		MPK_TRY(mpk_read_u64(&c, "bundle: size", &out->sizes[i], err));
		MPK_TRY(mpk_read_str(&c, "bundle: identifier", &id, err));
		mpk_offload_split_id(id, &out->entries[i]);
		out->entries[i].id = id;
	}
	out->head_bytes = mpk_cursor_offset(&c);
	return MPK_OK;
}

/* Entries must be in order and must not overlap: overlapping images would be decompressed and shown
 * many times. */
static enum mpk_code read_bundle(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_offload *out, struct mpk_error *err)
{
	struct listing l = { 0 };
	uint64_t end;

	MPK_TRY(read_heads(bytes, arena, &l, err));
	end = l.head_bytes;
	for (size_t i = 0; i < l.count; i++) {
		struct mpk_offload_entry *e = &l.entries[i];

		if (!mpk_span_sub(bytes, e->data_off, l.sizes[i], &e->data))
			return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", e->data_off,
					       "bundle: entry %zu lies beyond the end", i);
		if (!e->data.len)
			continue;
		if (e->data_off < end)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", e->data_off,
					       "bundle: entry %zu begins in front of what the one "
					       "before it ends with",
					       i);
		end = e->data_off + e->data.len;
	}
	*out = (struct mpk_offload){ l.entries, l.count, end };
	return MPK_OK;
}

/* Only the head of the bundle has been decompressed, so offsets cannot be checked. */
enum mpk_code mpk_offload_list_head(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_offload *out, const uint64_t **sizes,
				    struct mpk_error *err)
{
	struct listing l = { 0 };

	MPK_TRY(read_heads(bytes, arena, &l, err));
	*out = (struct mpk_offload){ l.entries, l.count, 0 };
	*sizes = l.sizes;
	return MPK_OK;
}

/* --- offload binaries: FORMAT.md 3 ------------------------------------------------------ */

/* OffloadKind of OffloadBinary.h: a number in older releases of LLVM, flags in newer ones, so HIP
 * has two numbers. */
static const char *kind_name(uint16_t kind)
{
	switch (kind) {
	case 1:
		return "openmp";
	case 2:
		return "cuda";
	case 3:
	case 4:
		return "hip";
	case 8:
		return "sycl";
	default:
		return "other";
	}
}

/* Keys other than "triple" and "arch" are for the linker. */
static enum mpk_code read_strings(struct mpk_span all, const uint8_t *entry,
				  struct mpk_offload_entry *out, struct mpk_error *err)
{
	uint64_t off = mpk_load_u64(entry + 8), count = mpk_load_u64(entry + 16);
	struct mpk_span table, key, value;

	if (count > TEXT_MAX || !mpk_span_sub(all, off, count * BINARY_STRING_BYTES, &table))
		return offload_fail_at(err, off, "the strings lie beyond the end");
	for (size_t i = 0; i < count; i++) {
		const uint8_t *p = table.data + i * BINARY_STRING_BYTES;

		if (!mpk_span_text(all, mpk_load_u64(p), TEXT_MAX, &key) ||
		    !mpk_span_text(all, mpk_load_u64(p + 8), TEXT_MAX, &value))
			return offload_fail_at(
				err, off + i * BINARY_STRING_BYTES,
				"a string has no end, or lies beyond that of the file");
		if (mpk_span_is(key, "triple"))
			out->triple = value;
		else if (mpk_span_is(key, "arch"))
			out->arch = value;
	}
	return MPK_OK;
}

/* A binary has one image; further images are further binaries. */
static enum mpk_code read_binary(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_offload *out, struct mpk_error *err)
{
	struct mpk_offload_entry *e = mpk_arena_alloc(arena, sizeof *e);
	struct mpk_span all, entry;

	MPK_TRY_ALLOC(e, err);
	if (bytes.len < BINARY_BYTES)
		return offload_fail_at(err, bytes.len, "cut off inside its header");
	if (mpk_load_u32(bytes.data + 4) != BINARY_VERSION)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "payload", 4,
				       "offload container: version %u is not known",
				       mpk_load_u32(bytes.data + 4));
	if (mpk_load_u64(bytes.data + 8) < BINARY_BYTES ||
	    !mpk_span_sub(bytes, 0, mpk_load_u64(bytes.data + 8), &all))
		return offload_fail_at(err, 8, "it reaches beyond the end; it was cut off");
	if (mpk_load_u64(bytes.data + 24) < BINARY_ENTRY_BYTES ||
	    !mpk_span_sub(all, mpk_load_u64(bytes.data + 16), BINARY_ENTRY_BYTES, &entry))
		return offload_fail_at(err, 16, "its entry lies beyond the end");
	e->kind = mpk_span_str(kind_name(mpk_load_u16(entry.data + 2)));
	e->data_off = mpk_load_u64(entry.data + 24);
	if (!mpk_span_sub(all, e->data_off, mpk_load_u64(entry.data + 32), &e->data))
		return offload_fail_at(err, e->data_off, "its image lies beyond the end");
	MPK_TRY(read_strings(all, entry.data, e, err));
	*out = (struct mpk_offload){ e, 1, all.len };
	return MPK_OK;
}

/* Bundles and binaries give the same kind of list. */
enum mpk_code mpk_offload_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_offload *out, struct mpk_error *err)
{
	return (is_binary(bytes) ? read_binary : read_bundle)(bytes, arena, out, err);
}
