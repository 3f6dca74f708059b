/* SPDX-License-Identifier: Apache-2.0 */
/* sycl_names.c - the kernels of SYCL's images, and what else these define, as tables of the library's host code name
 * them: no image is opened for that */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "thin/internal/sycl.h"

#define EXPORTED "SYCL/exported symbols"

enum {
	WORD_BYTES = 8,
	ENTRY_BYTES = 32, /* address, name, size, flags */
	ENTRY_NAME_AT = 8,
	NEW_ENTRY_BYTES =
		56, /* zeros, u16 version, u16 kind, u32 flags, address, name, size, data, address */
	NEW_ENTRY_NAME_AT = 24,
	NEW_ENTRY_HEAD = 1 | 8 << 16,
	SET_BYTES = 24,      /* name, beginning and end of an array of properties */
	PROPERTY_BYTES = 32, /* name, address, type, size */
};

struct naming {
	const struct mpk_elf *elf;
	const struct mpk_thin_sycl *s;
	struct mpk_thin_sycl_names *out;
	struct mpk_strmap by_name;
	uint64_t left; /* bytes of tables and names that are still read */
	struct mpk_error *err;
};

static void naming_fini(struct naming *a)
{
	mpk_strmap_fini(&a->by_name);
}

void mpk_thin_sycl_names_fini(struct mpk_thin_sycl_names *n)
{
	free(n->symbols);
	free(n->uses);
}

static enum mpk_code broken(struct naming *a, uint64_t address)
{
	return mpk_fail(a->err, MPK_E_CORRUPT,
			"SYCL's table of what an image has does not read at address 0x%llx",
			(unsigned long long)address);
}

/* Each byte is read once for each image that has it, and there are limits to that. */
static enum mpk_code spend(struct naming *a, uint64_t bytes)
{
	if (bytes > a->left)
		return mpk_fail(a->err, MPK_E_CORRUPT,
				"SYCL's tables have more kernels than the file has bytes");
	a->left -= bytes;
	return MPK_OK;
}

static enum mpk_code name_at(struct naming *a, uint64_t address, struct mpk_span *out)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(a->s, address);
	struct mpk_span bytes;
	const uint8_t *nul;
	uint64_t off;

	if (!w || !mpk_elf_at_address(a->elf, w->target, &bytes, &off) || !bytes.len)
		return broken(a, address);
	if (bytes.len > a->left)
		bytes.len = (size_t)a->left;
	nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
	if (!nul)
		return broken(a, address);
	*out = mpk_span_of(bytes.data, (size_t)(nul - bytes.data));
	return spend(a, out->len + 1);
}

static enum mpk_code note_symbol(struct naming *a, struct mpk_span name, size_t image)
{
	struct mpk_thin_sycl_names *out = a->out;
	size_t at = out->count;
	int rc = mpk_strmap_put(&a->by_name, name, at, &at);

	MPK_TRY_ALLOC(rc >= 0, a->err);
	if (rc) {
		MPK_TRY_ALLOC(mpk_vec_reserve(&out->symbols, &out->cap, out->count + 1,
					      sizeof *out->symbols),
			      a->err);
		out->symbols[out->count++] = (struct mpk_thin_sycl_symbol){ .name = name };
	}
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&out->uses, &out->use_cap, out->use_count + 1, sizeof *out->uses),
		a->err);
	out->uses[out->use_count++] = (struct mpk_thin_sycl_use){ at, image };
	return MPK_OK;
}

/* Of a kernel the name alone counts; where it is depends on the compiler's age. */
static enum mpk_code note_entries(struct naming *a, size_t index)
{
	const struct mpk_thin_sycl_image *image = &a->s->images[index];
	uint64_t at = image->entries, step;

	for (; at < image->entries_end; at += step) {
		struct mpk_span bytes, name;
		uint64_t off;
		bool is_new;

		if (!mpk_elf_at_address(a->elf, at, &bytes, &off) || bytes.len < ENTRY_BYTES)
			return broken(a, at);
		is_new = !mpk_thin_sycl_word(a->s, at + WORD_BYTES) && !mpk_load_u64(bytes.data) &&
			 mpk_load_u64(bytes.data + WORD_BYTES) == NEW_ENTRY_HEAD;
		step = is_new ? NEW_ENTRY_BYTES : ENTRY_BYTES;
		MPK_TRY(spend(a, step));
		MPK_TRY(name_at(a, at + (is_new ? NEW_ENTRY_NAME_AT : ENTRY_NAME_AT), &name));
		MPK_TRY(note_symbol(a, name, index));
	}
	return MPK_OK;
}

/* Other images may be linked with these at run time. */
static enum mpk_code note_exports(struct naming *a, size_t index)
{
	const struct mpk_thin_sycl_image *image = &a->s->images[index];
	for (uint64_t set = image->properties; set < image->properties_end; set += SET_BYTES) {
		const struct mpk_thin_word *begin = mpk_thin_sycl_word(a->s, set + WORD_BYTES);
		const struct mpk_thin_word *end = mpk_thin_sycl_word(a->s, set + 2 * WORD_BYTES);
		struct mpk_span name;

		MPK_TRY(spend(a, SET_BYTES));
		MPK_TRY(name_at(a, set, &name));
		if (!mpk_span_is(name, EXPORTED) || !begin || !end)
			continue;
		for (uint64_t at = begin->target; at < end->target; at += PROPERTY_BYTES) {
			MPK_TRY(spend(a, PROPERTY_BYTES));
			MPK_TRY(name_at(a, at, &name));
			MPK_TRY(note_symbol(a, name, index));
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_thin_sycl_read_names(const struct mpk_elf *elf, const struct mpk_thin_sycl *s,
				       struct mpk_thin_sycl_names *out, struct mpk_error *err)
{
	MPK_CLEANUP(naming_fini)
	struct naming a = {
		.elf = elf, .s = s, .out = out, .left = 4 * (uint64_t)elf->bytes.len, .err = err
	};

	for (size_t i = 0; i < s->image_count; i++) {
		MPK_TRY(note_entries(&a, i));
		MPK_TRY(note_exports(&a, i));
	}
	return MPK_OK;
}
