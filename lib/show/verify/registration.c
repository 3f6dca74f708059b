/* SPDX-License-Identifier: Apache-2.0 */
/* registration.c - checks the wrappers that host code passes to the runtime of CUDA or HIP, and
 * their pointers
 *
 * nvcc and Clang write a struct for each container into a section of its own: a magic number, a
 * version, the address of the container. A constructor passes the struct to __cudaRegisterFatBinary
 * or __hipRegisterFatBinary when the library is loaded. If the pointer is wrong, the runtime finds
 * no kernels, which shows at the first launch, or reads invalid memory. Tools that move sections
 * may forget to update the address. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"
#include "verify/verify.h"

enum { WRAPPER_BYTES = 24, POINTER_AT = 8, WORD_BYTES = 8, SECTIONS_MAX = 16 };

/* The section of such structs for one maker. */
struct maker {
	const char *section, *runtime, *what;
	uint32_t magic, versions; /* versions: bits of the allowed versions: 1, or 1 and 2 */
	bool (*is_container)(struct mpk_span bytes);
};

static bool is_fatbin(struct mpk_span bytes)
{
	return bytes.len >= 4 && mpk_load_u32(bytes.data) == UINT32_C(0xba55ed50);
}

static bool is_bundle(struct mpk_span bytes)
{
	return mpk_offload_is(bytes) || mpk_offload_is_packed(bytes);
}

static const struct maker makers[] = {
	{ ".nvFatBinSegment", "CUDA", "fatbin", UINT32_C(0x466243b1), 2, is_fatbin },
	{ ".hipFatBinSegment", "HIP", "offload bundle", UINT32_C(0x48495046), 1, is_bundle },
};

/* One struct, and the value stored in its pointer. */
struct wrapper {
	uint64_t off;     /* offset in the ELF file */
	uint64_t address; /* address of the pointer; in an object its offset in the section */
	uint64_t target;
	struct mpk_span bytes; /* bytes at the pointer's target; empty if there are none */
	bool is_set;           /* a value is stored in the pointer */
	bool is_elsewhere;     /* another file defines the target */
};

struct section {
	const struct maker *maker;
	size_t index;
	GElf_Shdr header;
	struct wrapper *wrappers;
	size_t count;
};

struct registration {
	struct mpk_verify *v;
	const struct mpk_elf *elf;
	const char *member; /* name of the archive's member; NULL if there is no archive */
	struct mpk_symtab symbols;
	struct section sections[SECTIONS_MAX];
	size_t section_count;
};

/* --- structs --------------------------------------------------------------------------------------- */

static const struct maker *maker_of(const char *name)
{
	for (size_t i = 0; name && i < MPK_ARRAY_COUNT(makers); i++)
		if (strcmp(name, makers[i].section) == 0)
			return &makers[i];
	return NULL;
}

/* Linkers put zeros between the structs of two objects whose alignment is more than eight bytes. */
static bool is_padding(struct mpk_span bytes, size_t at, const struct maker *m)
{
	for (size_t i = at; i < at + WORD_BYTES; i++)
		if (bytes.data[i])
			return false;
	return at + WORD_BYTES + 4 <= bytes.len &&
	       mpk_load_u32(bytes.data + at + WORD_BYTES) == m->magic;
}

static bool take_section(struct registration *r, struct section *s)
{
	struct mpk_span bytes;
	size_t at = 0;

	if (!mpk_span_sub(r->elf->bytes, s->header.sh_offset, s->header.sh_size, &bytes))
		return true;
	s->wrappers =
		mpk_arena_array(r->v->arena, bytes.len / WRAPPER_BYTES + 1, sizeof *s->wrappers);
	if (!s->wrappers)
		return false;
	while (at + WRAPPER_BYTES <= bytes.len) {
		if (is_padding(bytes, at, s->maker)) {
			at += WORD_BYTES;
			continue;
		}
		s->wrappers[s->count++] =
			(struct wrapper){ .off = s->header.sh_offset + at,
					  .address = s->header.sh_addr + at + POINTER_AT,
					  .target = mpk_load_u64(bytes.data + at + POINTER_AT) };
		at += WRAPPER_BYTES;
	}
	return true;
}

/* Returns the struct whose pointer is at an address. */
static struct wrapper *wrapper_at(struct section *s, uint64_t address)
{
	size_t low;

	MPK_FIND_FIRST(low, s->count, i, s->wrappers[i].address < address);
	return low < s->count && s->wrappers[low].address == address ? &s->wrappers[low] : NULL;
}

/* --- pointers of a library --------------------------------------------------------------------------- */

static void take_relocation(void *arg, const struct mpk_relocation *x)
{
	struct registration *r = arg;
	struct mpk_symbol symbol;

	if (!x->type && !x->is_relative)
		return; /* no type: nothing is stored */
	for (size_t i = 0; i < r->section_count; i++) {
		struct wrapper *w = wrapper_at(&r->sections[i], x->address);

		if (!w)
			continue;
		w->is_set = true;
		w->target = x->has_addend ? (uint64_t)x->addend : w->target;
		if (x->is_relative)
			return;
		w->is_elsewhere =
			!x->symbol || x->symbol >= r->symbols.count ||
			mpk_symtab_get(&r->symbols, (size_t)x->symbol, &symbol, NULL) != MPK_OK ||
			!symbol.defined;
		w->target += w->is_elsewhere ? 0 : symbol.value;
		return;
	}
}

static enum mpk_code read_library(struct registration *r, struct mpk_error *err)
{
	struct mpk_linking linking;
	uint64_t off;
	bool is_fixed = r->elf->header.e_type == ET_EXEC;

	if (!is_fixed) {
		MPK_TRY(mpk_symtab_loaded(r->elf, &r->symbols, err));
		MPK_TRY(mpk_linking_open(r->elf, &linking, err));
		MPK_TRY(mpk_linking_relocations(&linking, take_relocation, r, err));
	}
	for (size_t i = 0; i < r->section_count; i++)
		for (size_t k = 0; k < r->sections[i].count; k++) {
			struct wrapper *w = &r->sections[i].wrappers[k];

			w->is_set |= is_fixed && w->target;
			if (w->is_set && !w->is_elsewhere)
				(void)mpk_elf_at_address(r->elf, w->target, &w->bytes, &off);
		}
	return MPK_OK;
}

/* --- pointers of an object ----------------------------------------------------------------------------- */

static enum mpk_code object_pointer(struct registration *r, const struct mpk_symtab *symbols,
				    const GElf_Rela *x, struct wrapper *w, struct mpk_error *err)
{
	struct mpk_symbol symbol;
	struct mpk_span all;
	GElf_Shdr h;

	/* no type: nothing is stored */
	if (!GELF_R_TYPE(x->r_info) || GELF_R_SYM(x->r_info) >= symbols->count)
		return MPK_OK;
	MPK_TRY(mpk_symtab_get(symbols, GELF_R_SYM(x->r_info), &symbol, err));
	w->is_set = true;
	w->is_elsewhere = !symbol.defined || !symbol.section;
	w->target = symbol.value + (uint64_t)x->r_addend;
	if (w->is_elsewhere || mpk_elf_section(r->elf, symbol.section, &h, NULL) != MPK_OK ||
	    h.sh_type == SHT_NOBITS || !mpk_span_sub(r->elf->bytes, h.sh_offset, h.sh_size, &all) ||
	    w->target > all.len)
		return MPK_OK;
	w->bytes = mpk_span_of(all.data + w->target, all.len - (size_t)w->target);
	return MPK_OK;
}

static enum mpk_code read_object(struct registration *r, struct mpk_error *err)
{
	for (size_t i = 1; i < r->elf->section_count; i++) {
		struct mpk_symtab symbols;
		struct section *s = NULL;
		GElf_Shdr h;

		if (mpk_elf_section(r->elf, i, &h, NULL) != MPK_OK || h.sh_type != SHT_RELA)
			continue;
		for (size_t k = 0; k < r->section_count; k++)
			if (r->sections[k].index == h.sh_info)
				s = &r->sections[k];
		if (!s)
			continue;
		MPK_TRY(mpk_symtab_open(r->elf, h.sh_link, &symbols, err));
		for (size_t k = 0; k < mpk_elf_relocations(r->elf, &h); k++) {
			struct wrapper *w;
			GElf_Rela x;

			if (!mpk_elf_relocation(r->elf, &h, k, &x))
				break;
			w = wrapper_at(s, x.r_offset);
			if (w)
				MPK_TRY(object_pointer(r, &symbols, &x, w, err));
		}
	}
	return MPK_OK;
}

/* --- the check ------------------------------------------------------------------------------------------ */

static void judge(struct registration *r, const struct section *s, const struct wrapper *w)
{
	const struct maker *m = s->maker;
	const uint8_t *p = r->elf->bytes.data + w->off;
	struct mpk_verify_position at = { .space = "file",
					  .offset = r->elf->base + w->off,
					  .path = r->member ? r->member : m->section };
	uint32_t version = mpk_load_u32(p + 4);

	if (mpk_load_u32(p) != m->magic) {
		mpk_verify_say_at(r->v, MPK_ERROR, at,
				  "the wrapper in %s begins with 0x%08" PRIx32
				  " and not with 0x%08" PRIx32
				  ": %s's runtime gets no code from it",
				  m->section, mpk_load_u32(p), m->magic, m->runtime);
		return;
	}
	if (!version || version > m->versions)
		mpk_verify_say_at(r->v, MPK_ERROR, at,
				  "the wrapper in %s is of version %" PRIu32
				  ", which %s's runtime does not know",
				  m->section, version, m->runtime);
	if (w->is_elsewhere)
		return;
	if (!w->is_set)
		mpk_verify_say_at(
			r->v, MPK_ERROR, at,
			w->target
				? "the wrapper in %s holds the address of its %s without a relocation: the load address is not added"
				: "the wrapper in %s has no address of its %s",
			m->section, m->what);
	else if (!m->is_container(w->bytes))
		mpk_verify_say_at(r->v, MPK_ERROR, at,
				  "the wrapper in %s leads to 0x%" PRIx64
				  ", where no %s begins: %s's runtime gets no code from it",
				  m->section, w->target, m->what, m->runtime);
}

/* Each object with code for a device link needs a function that only the device link defines. */
static void judge_link(struct registration *r)
{
	static const char prefix[] = "__cudaRegisterLinkedBinary_";
	struct mpk_span names = r->symbols.strings;
	struct mpk_symbol symbol;
	size_t count = 0;

	if (!names.len || !memmem(names.data, names.len, prefix, sizeof prefix - 1))
		return;
	for (size_t i = 1; i < r->symbols.count; i++)
		count += mpk_symtab_get(&r->symbols, i, &symbol, NULL) == MPK_OK &&
			 !symbol.defined && strncmp(symbol.name, prefix, sizeof prefix - 1) == 0;
	if (count)
		mpk_verify_say_at(
			r->v, MPK_ERROR, (struct mpk_verify_position){ .path = "__nv_relfatbin" },
			"GPU code of %zu object%s was compiled to be linked for devices (-rdc=true), and was not: link with nvcc, or make one more object of all by 'nvcc -dlink'",
			count, count == 1 ? "" : "s");
}

static enum mpk_code read_elf(struct registration *r, struct mpk_error *err)
{
	const GElf_Ehdr *h = &r->elf->header;

	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64))
		return MPK_OK;
	for (size_t i = 1; i < r->elf->section_count && r->section_count < SECTIONS_MAX; i++) {
		struct section s = { .maker = maker_of(mpk_elf_section_name(r->elf, i)),
				     .index = i };

		if (!s.maker || mpk_elf_section(r->elf, i, &s.header, NULL) != MPK_OK ||
		    s.header.sh_type == SHT_NOBITS)
			continue;
		MPK_TRY_ALLOC(take_section(r, &s), err);
		r->sections[r->section_count++] = s;
	}
	if (!r->section_count)
		return MPK_OK;
	MPK_TRY((h->e_type == ET_REL ? read_object : read_library)(r, err));
	judge_link(r);
	for (size_t i = 0; i < r->section_count; i++)
		for (size_t k = 0; k < r->sections[i].count; k++)
			judge(r, &r->sections[i], &r->sections[i].wrappers[k]);
	return MPK_OK;
}

/* Other checks report unreadable data. */
static void check_elf(struct mpk_verify *v, const struct mpk_elf *elf, const char *member)
{
	struct registration r = { .v = v, .elf = elf, .member = member };

	if (read_elf(&r, NULL) == MPK_E_NOMEM)
		v->report->failed = true;
}

static void check_registration(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;

	if (!image->member_count) {
		if (v->elf)
			check_elf(v, v->elf, NULL);
		if (v->elf)
			mpk_verify_offloading(v);
		return;
	}
	for (size_t i = 0; i < image->member_count; i++) {
		MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
		struct mpk_span bytes = image->member_bytes[i];
		enum mpk_code code;

		if (!mpk_span_starts(bytes, ELFMAG))
			continue;
		code = mpk_elf_open(bytes, 0, &elf, NULL);
		if (code == MPK_OK)
			check_elf(v, &elf, image->members[i]);
		v->report->failed |= code == MPK_E_NOMEM;
	}
}

const struct mpk_check mpk_checks_registration[] = {
	{ "registration",
	  "wrappers and descriptors of GPU code lead the runtimes of CUDA, HIP, OpenMP and SYCL to it",
	  .whole = check_registration },
	{ 0 },
};
