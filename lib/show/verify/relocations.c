/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the relocations, and of the functions that they make the dynamic linker call before a loader has the
 * library: initializers, and those that choose among implementations (IRELATIVE). */
#include <inttypes.h>

#include "elf/dynamic.h"
#include "elf/linking.h"
#include "verify/verify.h"

/* DT_INIT_ARRAY or DT_FINI_ARRAY */
struct functions {
	const char *name;
	uint64_t address, count;
	bool *is_relocated; /* one a function; in the arena */
};

struct relocations {
	struct mpk_verify *v;
	struct mpk_linking linking;
	struct functions arrays[2];
	uint64_t word;       /* bytes of an address */
	size_t symbol_count; /* 0: not known */
	bool writes_to_text; /* DT_TEXTREL: read-only segments are writable meanwhile */
	bool has_fault;      /* one is told */
};

/* Says the first fault: one wrong relocation makes it unlikely that the rest is right. */
#define tell(r, off_, ...)                                                                         \
	do {                                                                                       \
		if (!(r)->has_fault)                                                               \
			mpk_verify_say_at((r)->v, MPK_ERROR,                                       \
					  (struct mpk_verify_position){                            \
						  .space = "file",                                 \
						  .offset = (r)->linking.elf->base + (off_) },     \
					  __VA_ARGS__);                                            \
		(r)->has_fault = true;                                                             \
	} while (0)

static bool is_code(const struct relocations *r, uint64_t address)
{
	uint32_t flags;

	return mpk_linking_has_descriptors(r->linking.elf) ||
	       (mpk_elf_is_loaded(r->linking.elf, address, 1, &flags) && flags & PF_X);
}

static uint64_t word_at(const struct relocations *r, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off, word;

	return mpk_elf_at_address(r->linking.elf, address, &bytes, &off) &&
			       mpk_elf_word(r->linking.elf, off, &word)
		       ? word
		       : 0;
}

/* A function of an array is called as it is relocated. */
static void relocate_function(struct relocations *r, const struct mpk_relocation *x,
			      uint64_t target)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(r->arrays); i++) {
		struct functions *a = &r->arrays[i];
		uint64_t index = (x->address - a->address) / r->word;

		if (x->address < a->address || index >= a->count)
			continue;
		if (x->is_relative && !is_code(r, target))
			tell(r, x->off,
			     "an initializer is at 0x%" PRIx64 ", where no code is loaded", target);
		a->is_relocated[index] = true;
	}
}

static void look_at(void *arg, const struct mpk_relocation *x)
{
	struct relocations *r = arg;
	const struct mpk_elf *e = r->linking.elf;
	uint64_t target;
	uint32_t flags;

	if (r->has_fault || (!x->type && !x->is_relative))
		return;
	if (!x->is_relative && !mpk_linking_knows_type(e, x->type)) {
		tell(r, x->off,
		     "a relocation is of the type %" PRIu32 ", which is none of its machine",
		     x->type);
		return;
	}
	if (!mpk_elf_is_loaded(e, x->address, 1, &flags)) {
		tell(r, x->off,
		     "a relocation writes to 0x%" PRIx64 ", where nothing of the library is loaded",
		     x->address);
		return;
	}
	if (!(flags & PF_W) && !r->writes_to_text) {
		tell(r, x->off, "a relocation writes to 0x%" PRIx64 ", where memory is read-only",
		     x->address);
		return;
	}
	if (r->symbol_count && x->symbol >= r->symbol_count) {
		tell(r, x->off, "a relocation is of symbol %" PRIu64 ", and the library has less",
		     x->symbol);
		return;
	}
	target = x->has_addend ? (uint64_t)x->addend : word_at(r, x->address);
	if (x->is_call && !is_code(r, target)) {
		tell(r, x->off, "a relocation calls 0x%" PRIx64 ", where no code is loaded",
		     target);
		return;
	}
	relocate_function(r, x, target);
}

static bool open_array(struct relocations *r, struct functions *a, int64_t at, int64_t size)
{
	const struct mpk_linking *l = &r->linking;
	uint64_t bytes = 0;
	uint32_t flags;

	if (!mpk_dynamic_find(l->dynamic, l->count, at, &a->address) ||
	    !mpk_dynamic_find(l->dynamic, l->count, size, &bytes) ||
	    !mpk_elf_is_loaded(l->elf, a->address, bytes, &flags) || bytes > l->elf->bytes.len)
		return true; /* another check tells */
	a->count = bytes / r->word;
	a->is_relocated = mpk_arena_alloc(r->v->arena, a->count + 1);
	return a->is_relocated;
}

/* It would be called as it stands in the file. */
static void unrelocated_functions(struct relocations *r)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(r->arrays); i++)
		for (uint64_t k = 0; k < r->arrays[i].count; k++) {
			uint64_t address = r->arrays[i].address + k * r->word, off = 0;
			struct mpk_span ignored;

			if (r->arrays[i].is_relocated[k])
				continue;
			(void)mpk_elf_at_address(r->linking.elf, address, &ignored, &off);
			tell(r, off,
			     "the initializer at 0x%" PRIx64
			     " is called as it stands in the file: no relocation says where it is loaded",
			     address);
		}
}

void mpk_verify_relocations(struct mpk_verify *v)
{
	struct relocations r = { .v = v };
	struct mpk_error err = { 0 };
	struct mpk_symtab symbols;
	uint64_t flags = 0;
	enum mpk_code code;

	/* those of MIPS have a form of their own */
	if (v->view->image->type != ET_DYN || v->elf->header.e_machine == EM_MIPS ||
	    mpk_linking_open(v->elf, &r.linking, &err) != MPK_OK)
		return;
	r.word = mpk_elf_word_bytes(v->elf);
	if (mpk_symtab_loaded(v->elf, &symbols, &err) == MPK_OK)
		r.symbol_count = symbols.count;
	(void)mpk_dynamic_find(r.linking.dynamic, r.linking.count, DT_FLAGS, &flags);
	r.writes_to_text = flags & DF_TEXTREL ||
			   mpk_dynamic_find(r.linking.dynamic, r.linking.count, DT_TEXTREL, &flags);
	if (!open_array(&r, &r.arrays[0], DT_INIT_ARRAY, DT_INIT_ARRAYSZ) ||
	    !open_array(&r, &r.arrays[1], DT_FINI_ARRAY, DT_FINI_ARRAYSZ)) {
		v->report->failed = true;
		return;
	}
	code = mpk_linking_relocations(&r.linking, look_at, &r, &err);
	if (code != MPK_OK)
		mpk_verify_say_error(v, &err);
	else
		unrelocated_functions(&r);
}
