/* SPDX-License-Identifier: Apache-2.0 */
/* offloading.c - checks the descriptors by which a library passes its images to the runtimes of
 * OpenMP and SYCL
 *
 * A constructor passes a descriptor to __tgt_register_lib or __sycl_register_lib: the number of
 * images, and the address of an array of structs. Each struct has the addresses of the beginning
 * and end of an image. The structs are those of LLVM (offload/include/Shared/APITypes.h,
 * "__tgt_bin_desc", "__tgt_device_image"; clang/tools/clang-linker-wrapper) and of Intel's
 * compilers (sycl/source/detail/compiler.hpp; versions 1 and 2 have two words more than 3).
 *
 * In a stripped library no symbol leads to the descriptor, so the search goes backwards: from each
 * image to a pair of relocated words with its beginning and end, and from these to a descriptor
 * whose array contains them. The runtime does not see an image for which this search fails.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "object/exports.h"
#include "offload/offload.h"
#include "text/escape.h"
#include "verify/verify.h"

enum {
	WORD_BYTES = 8,
	HEAD_BYTES = 8, /* bytes of a descriptor before the address of its array */
	TGT_IMAGE_BYTES = 32,
	SYCL_IMAGE_BYTES = 80,
	SYCL_BEGIN_AT = 32,
	SYCL_MORE_BYTES = 16, /* bytes before the beginning, up to version 2 */
	SYCL_VERSIONS = 3,
	KIND_INTEL = 4,
	KIND_CLANG = 8,
	STEPS_MAX =
		4
		<< 20, /* limit on words examined for all images; images beyond it count as found */
};

/* The value that the dynamic linker stores in a word. */
struct word {
	uint64_t address, target;
};

struct runtime {
	const char *name, *function, *kind;
	bool is_sycl;
};

static const struct runtime runtimes[] = {
	{ "OpenMP", "__tgt_register_lib", "openmp", false },
	{ "SYCL", "__sycl_register_lib", "sycl", true },
};

enum { RUNTIMES = MPK_ARRAY_COUNT(runtimes) };

struct offloading {
	struct mpk_verify *v;
	const struct mpk_elf *elf;
	struct mpk_symtab symbols;
	bool calls[RUNTIMES];
	struct word *words;   /* sorted by target; malloc'ed */
	struct word *written; /* the same sorted by address; malloc'ed */
	size_t count, cap;
	uint64_t steps; /* number of words examined */
	bool failed;    /* memory is out */
};

static void offloading_fini(struct offloading *o)
{
	free(o->words);
	free(o->written);
}

/* --- words ------------------------------------------------------------------------------------ */

static void take_word(void *arg, const struct mpk_relocation *x)
{
	struct offloading *o = arg;
	struct word w = { x->address, (uint64_t)x->addend };
	struct mpk_symbol symbol;
	struct mpk_span bytes;
	uint64_t off;

	if ((!x->type && !x->is_relative) || o->count > o->elf->bytes.len / WORD_BYTES)
		return;
	if (!x->has_addend) {
		if (!mpk_elf_at_address(o->elf, x->address, &bytes, &off) || bytes.len < WORD_BYTES)
			return;
		w.target = mpk_load_u64(bytes.data);
	}
	if (!x->is_relative) {
		if (!x->symbol || x->symbol >= o->symbols.count ||
		    mpk_symtab_get(&o->symbols, (size_t)x->symbol, &symbol, NULL) != MPK_OK ||
		    !symbol.defined)
			return;
		w.target += symbol.value;
	}
	if (!MPK_VEC_ROOM(o->words, o->count, o->cap))
		o->failed = true;
	else
		o->words[o->count++] = w;
}

MPK_ORDER_BY2(by_target, struct word, target, address)

MPK_ORDER_BY2(offloading_by_address, struct word, address, target)

static bool read_words(struct offloading *o)
{
	struct mpk_linking linking;

	if (mpk_symtab_loaded(o->elf, &o->symbols, NULL) != MPK_OK ||
	    mpk_linking_open(o->elf, &linking, NULL) != MPK_OK ||
	    mpk_linking_relocations(&linking, take_word, o, NULL) != MPK_OK || o->failed)
		return false;
	o->written = calloc(o->count ? o->count : 1, sizeof *o->written);
	if (!o->written) {
		o->failed = true;
		return false;
	}
	if (o->count) {
		memcpy(o->written, o->words, o->count * sizeof *o->words);
		qsort(o->words, o->count, sizeof *o->words, by_target);
		qsort(o->written, o->count, sizeof *o->written, offloading_by_address);
	}
	return true;
}

static const struct word *word_at(const struct offloading *o, uint64_t address)
{
	size_t i = mpk_first_from(o->written, o->count, sizeof *o->written,
				  offsetof(struct word, address), address);

	return i < o->count && o->written[i].address == address ? &o->written[i] : NULL;
}

static size_t first_to(const struct offloading *o, uint64_t target)
{
	return mpk_first_from(o->words, o->count, sizeof *o->words, offsetof(struct word, target),
			      target);
}

static bool bytes_at(const struct offloading *o, uint64_t address, uint64_t count,
		     struct mpk_span *out)
{
	uint64_t off;

	return mpk_elf_at_address(o->elf, address, out, &off) && out->len >= count;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* u16 version, u8 kind of runtime, u8 format, four bytes of padding. */
static unsigned sycl_version(struct mpk_span head)
{
	unsigned version = mpk_load_u16(head.data);
	uint8_t kind = head.data[2];

	return version && version <= SYCL_VERSIONS && !mpk_load_u32(head.data + 4) &&
			       (kind == KIND_INTEL ||
				(kind == KIND_CLANG && version == SYCL_VERSIONS))
		       ? version
		       : 0;
}

/* Returns the size of the struct whose word holds an image's beginning; 0 if the word is in
 * none. */
static uint64_t struct_of(const struct offloading *o, bool is_sycl, uint64_t begin, uint64_t *out)
{
	struct mpk_span head;

	*out = begin;
	if (!is_sycl) /* followed by the host's entries */
		return word_at(o, begin + 2 * WORD_BYTES) && word_at(o, begin + 3 * WORD_BYTES)
			       ? TGT_IMAGE_BYTES
			       : 0;
	for (unsigned more = 0; more <= SYCL_MORE_BYTES; more += SYCL_MORE_BYTES) {
		if (begin < SYCL_BEGIN_AT + more)
			continue;
		*out = begin - SYCL_BEGIN_AT - more;
		if (bytes_at(o, *out, HEAD_BYTES, &head) && sycl_version(head) &&
		    (sycl_version(head) < SYCL_VERSIONS) == (more > 0))
			return SYCL_IMAGE_BYTES + more;
	}
	return 0;
}

/* Returns the number of images of a descriptor if its array has room for them; 0 if the word is not
 * a descriptor's pointer. */
static uint64_t images_of(const struct offloading *o, bool is_sycl, uint64_t each,
			  const struct word *w)
{
	struct mpk_span head, array;
	uint64_t count;

	if (w->address < HEAD_BYTES || !bytes_at(o, w->address - HEAD_BYTES, HEAD_BYTES, &head) ||
	    word_at(o, w->address - HEAD_BYTES) || mpk_load_u32(head.data + 4))
		return 0;
	count = is_sycl ? mpk_load_u16(head.data + 2) : mpk_load_u32(head.data);
	if (is_sycl && mpk_load_u16(head.data) != 1)
		return 0;
	return bytes_at(o, w->target, count * each, &array) ? count : 0;
}

/* Whether a struct is in a descriptor's array: searches words that point to it or before it. */
static bool is_described(struct offloading *o, bool is_sycl, uint64_t at, uint64_t each)
{
	for (size_t i = first_to(o, at + 1); i-- > 0;) {
		const struct word *w = &o->words[i];
		uint64_t count = images_of(o, is_sycl, each, w);

		if (o->steps++ >= STEPS_MAX)
			return true;
		if (count && (at - w->target) % each == 0 && (at - w->target) / each < count)
			return true;
		/* no array is as long as this */
		if (at - w->target > UINT16_MAX * each)
			return false;
	}
	return false;
}

/* --- images ----------------------------------------------------------------------------------- */

enum way { NO_TABLE, NO_END, NO_DESCRIPTOR, WHOLE };

/* @bytes   length of the image; 0 if only the image itself tells it */
static enum way way_to(struct offloading *o, bool is_sycl, uint64_t address, uint64_t bytes)
{
	enum way best = NO_TABLE;

	for (size_t i = first_to(o, address); i < o->count && o->words[i].target == address; i++) {
		if (o->steps++ >= STEPS_MAX)
			return WHOLE;
		const struct word *end = word_at(o, o->words[i].address + WORD_BYTES);
		uint64_t at, each = struct_of(o, is_sycl, o->words[i].address, &at);

		if (!each)
			continue;
		if (!end || end->target < address || (bytes && end->target - address != bytes)) {
			best = best > NO_END ? best : NO_END;
			continue;
		}
		if (is_described(o, is_sycl, at, each))
			return WHOLE;
		best = NO_DESCRIPTOR;
	}
	return best;
}

static void judge_image(struct offloading *o, const struct runtime *r,
			const struct mpk_image_device *d, const char *target, enum way way)
{
	static const char *const what[] = {
		[NO_TABLE] = "no table of images that the library registers has the address of",
		[NO_END] = "the table of images that the library registers has no right end of",
		[NO_DESCRIPTOR] =
			"no descriptor that the library registers leads to the table which has",
	};
	struct mpk_verify_position at = { .space = "file", .offset = d->off, .path = d->section };

	if (way != WHOLE)
		mpk_verify_say_at(o->v, MPK_ERROR, at,
				  "%s the image%s%s: %s's runtime gets no code from it", what[way],
				  *target ? " for " : "", target, r->name);
}

static void check_image(struct offloading *o, const struct mpk_image_device *d, uint64_t address)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_offload list = { 0 };
	bool is_binary = mpk_offload_is(d->bytes);

	if (!is_binary) {
		/* SYCL's sections contain images without a container */
		if (o->calls[1] && mpk_name_starts(d->section, "__CLANG_OFFLOAD_BUNDLE__sycl-"))
			judge_image(o, &runtimes[1], d, "", way_to(o, true, address, 0));
		return;
	}
	if (mpk_offload_read(d->bytes, &scratch, &list, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < list.entry_count; i++) {
		const struct mpk_offload_entry *e = &list.entries[i];
		const char *target = mpk_arena_text(&scratch, e->arch);

		o->failed |= !target;
		for (size_t k = 0; target && k < RUNTIMES; k++)
			if (o->calls[k] && mpk_span_is(e->kind, runtimes[k].kind))
				judge_image(o, &runtimes[k], d, MPK_QUOTE(mpk_span_str(target)),
					    way_to(o, runtimes[k].is_sycl, address + e->data_off,
						   e->data.len));
	}
}

/* Finds the memory address of an offset in the ELF file; false if it is not loaded. */
static bool address_of(const struct mpk_elf *elf, uint64_t off, uint64_t *out)
{
	GElf_Phdr p;

	for (size_t i = 0; mpk_elf_segment(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && off >= p.p_offset && off - p.p_offset < p.p_filesz) {
			*out = p.p_vaddr + (off - p.p_offset);
			return true;
		}
	return false;
}

static bool registers_any(struct offloading *o)
{
	struct mpk_symtab table;
	struct mpk_symbol symbol;
	bool any = false;

	if (mpk_symtab_dynamic(o->elf, &table, NULL) != MPK_OK || !table.strings.len ||
	    !memmem(table.strings.data, table.strings.len, "_register_lib", 13))
		return false;
	for (size_t i = 1; i < table.count; i++) {
		if (mpk_symtab_get(&table, i, &symbol, NULL) != MPK_OK || symbol.defined)
			continue;
		for (size_t k = 0; k < RUNTIMES; k++)
			if (strcmp(symbol.name, runtimes[k].function) == 0)
				o->calls[k] = any = true;
	}
	return any;
}

void mpk_verify_offloading(struct mpk_verify *v)
{
	MPK_CLEANUP(offloading_fini) struct offloading o = { .v = v, .elf = v->elf };
	const struct mpk_image *image = v->view->image;
	const GElf_Ehdr *h = &v->elf->header;
	uint64_t address;

	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_type != ET_DYN || !registers_any(&o) || !read_words(&o)) {
		v->report->failed |= o.failed;
		return;
	}
	for (size_t i = 0; i < image->device_count; i++) {
		const struct mpk_image_device *d = &image->devices[i];

		if (d->is_loaded && address_of(v->elf, d->off - image->bytes_off, &address))
			check_image(&o, d, address);
	}
	v->report->failed |= o.failed;
}
