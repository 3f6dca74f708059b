/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what the dynamic linker reads of a library: its segments, the dynamic section and the tables that it
 * points at, the symbols and the hash table by which they are found. It compares none of this with the segments that
 * it maps: what points elsewhere ends the program that loads the library, before anybody can say why.
 *
 * Only the first of each kind of mistake is told, as one that is wrong makes the rest unlikely to be right.
 */
#include "verify/verify.h"

#include <inttypes.h>
#include <string.h>

#include "elf/dynamic.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "elf/versions.h"
#include "text/escape.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

#define FAULT(v, e, off, ...)                                                                      \
	mpk_verify_say_at(                                                                         \
		(v), MPK_ERROR,                                                                    \
		(struct mpk_verify_position){ .space = "file", .offset = (e)->base + (off) },      \
		__VA_ARGS__)

/* --- segments ------------------------------------------------------------------------------ */

/* Loaders reserve as much as a segment is aligned to; no page is larger than 1 GiB. */
static void segment_alignment(struct mpk_verify *v)
{
	const uint64_t limit = UINT64_C(1) << 30;
	GElf_Phdr p;

	for (size_t i = 0; v->view->image->type != ET_REL && mpk_elf_segment(v->elf, i, &p); i++) {
		if (p.p_type != PT_LOAD || p.p_align <= 1)
			continue;
		if ((p.p_align & (p.p_align - 1)) || p.p_align > limit)
			mpk_verify_say(v, MPK_ERROR,
				       "segment %zu cannot be mapped: it is aligned to %" PRIu64
				       " bytes",
				       i, p.p_align);
		else if ((p.p_vaddr - p.p_offset) % p.p_align != 0)
			mpk_verify_say(
				v, MPK_ERROR,
				"segment %zu cannot be mapped: offset and address differ modulo its alignment",
				i);
	}
}

/* --- the dynamic section ------------------------------------------------------------------- */

/* What an entry points at, and the entry that tells how long it is. */
static const struct table {
	int64_t at, size; /* size 0: what is pointed at tells */
	const char *at_name, *size_name;
	uint32_t flags; /* what its memory must allow */
} tables[] = {
	{ DT_STRTAB, DT_STRSZ, "DT_STRTAB", "DT_STRSZ", PF_R },
	{ DT_SYMTAB, 0, "DT_SYMTAB", NULL, PF_R },
	{ DT_HASH, 0, "DT_HASH", NULL, PF_R },
	{ DT_GNU_HASH, 0, "DT_GNU_HASH", NULL, PF_R },
	{ DT_VERSYM, 0, "DT_VERSYM", NULL, PF_R },
	{ DT_RELA, DT_RELASZ, "DT_RELA", "DT_RELASZ", PF_R },
	{ DT_REL, DT_RELSZ, "DT_REL", "DT_RELSZ", PF_R },
	{ MPK_DT_RELR, MPK_DT_RELRSZ, "DT_RELR", "DT_RELRSZ", PF_R },
	{ DT_JMPREL, DT_PLTRELSZ, "DT_JMPREL", "DT_PLTRELSZ", PF_R },
	{ DT_INIT_ARRAY, DT_INIT_ARRAYSZ, "DT_INIT_ARRAY", "DT_INIT_ARRAYSZ", PF_R },
	{ DT_FINI_ARRAY, DT_FINI_ARRAYSZ, "DT_FINI_ARRAY", "DT_FINI_ARRAYSZ", PF_R },
	{ DT_INIT, 0, "DT_INIT", NULL, PF_X },
	{ DT_FINI, 0, "DT_FINI", NULL, PF_X },
};

/* Entries without which the dynamic linker does not read those that they belong to. */
static const struct {
	int64_t tag, needs;
	const char *name, *needs_name;
} pairs[] = {
	{ DT_RELA, DT_RELAENT, "DT_RELA", "DT_RELAENT" },
	{ DT_REL, DT_RELENT, "DT_REL", "DT_RELENT" },
	{ DT_JMPREL, DT_PLTREL, "DT_JMPREL", "DT_PLTREL" },
	{ DT_JMPREL, DT_PLTGOT, "DT_JMPREL", "DT_PLTGOT" },
	{ DT_VERNEED, DT_VERSYM, "DT_VERNEED", "DT_VERSYM" },
	{ DT_VERNEED, DT_VERNEEDNUM, "DT_VERNEED", "DT_VERNEEDNUM" },
	{ DT_VERNEEDNUM, DT_VERNEED, "DT_VERNEEDNUM", "DT_VERNEED" },
	{ DT_VERDEF, DT_VERDEFNUM, "DT_VERDEF", "DT_VERDEFNUM" },
};

static void table_is_loaded(struct mpk_verify *v, const struct mpk_linking *l,
			    const struct table *t)
{
	uint64_t address, size = 1;
	uint32_t flags = t->flags;
	bool has_size = t->size && mpk_dynamic_find(l->dynamic, l->count, t->size, &size);

	if (!mpk_dynamic_find(l->dynamic, l->count, t->at, &address)) {
		if (has_size && size)
			FAULT(v, l->elf, l->off, "the dynamic section has %s and no %s",
			      t->size_name, t->at_name);
		return;
	}
	if (t->size && !has_size) {
		FAULT(v, l->elf, l->off, "the dynamic section has %s and no %s", t->at_name,
		      t->size_name);
		return;
	}
	/* functions of these machines are called through descriptors, which are data */
	if (mpk_linking_has_descriptors(l->elf))
		flags &= ~(uint32_t)PF_X;
	uint32_t has = 0;
	if (size && (!mpk_elf_is_loaded(l->elf, address, size, &has) || (has & flags) != flags))
		FAULT(v, l->elf, l->off, "%s points at 0x%" PRIx64 ", where %s", t->at_name,
		      address,
		      t->flags & PF_X ? "no code is loaded" : "nothing of that size is loaded");
}

static void entries(struct mpk_verify *v, const struct mpk_linking *l)
{
	const struct {
		int64_t tag;
		size_t bytes;
		const char *name;
	} sizes[] = {
		{ DT_SYMENT, gelf_fsize(l->elf->elf, ELF_T_SYM, 1, EV_CURRENT), "DT_SYMENT" },
		{ DT_RELAENT, gelf_fsize(l->elf->elf, ELF_T_RELA, 1, EV_CURRENT), "DT_RELAENT" },
		{ DT_RELENT, gelf_fsize(l->elf->elf, ELF_T_REL, 1, EV_CURRENT), "DT_RELENT" },
	};
	uint64_t value;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(sizes); i++)
		if (mpk_dynamic_find(l->dynamic, l->count, sizes[i].tag, &value) &&
		    value != sizes[i].bytes)
			FAULT(v, l->elf, l->off, "%s is %" PRIu64 ", not %zu", sizes[i].name, value,
			      sizes[i].bytes);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(pairs); i++)
		if (mpk_dynamic_find(l->dynamic, l->count, pairs[i].tag, &value) &&
		    !mpk_dynamic_find(l->dynamic, l->count, pairs[i].needs, &value))
			FAULT(v, l->elf, l->off, "the dynamic section has %s and no %s",
			      pairs[i].name, pairs[i].needs_name);
	if (mpk_dynamic_find(l->dynamic, l->count, DT_PLTREL, &value) && value != DT_RELA &&
	    value != DT_REL)
		FAULT(v, l->elf, l->off, "DT_PLTREL is %" PRIu64 ", neither DT_RELA nor DT_REL",
		      value);
}

static void names(struct mpk_verify *v, const struct mpk_linking *l)
{
	GElf_Dyn d;

	for (size_t i = 0; i < l->count && gelf_getdyn(l->dynamic, (int)i, &d); i++) {
		if (d.d_tag == DT_NULL)
			return;
		if ((d.d_tag == DT_NEEDED || d.d_tag == DT_SONAME || d.d_tag == DT_RPATH ||
		     d.d_tag == DT_RUNPATH) &&
		    !mpk_elf_string(l->strings, d.d_un.d_val)) {
			FAULT(v, l->elf,
			      l->off + i * gelf_fsize(l->elf->elf, ELF_T_DYN, 1, EV_CURRENT),
			      "an entry of the dynamic section names a string outside of its string table");
			return;
		}
	}
}

/* What follows the pages that are made read-only is written later: by loaders, by the code. */
static void sealed_pages(struct mpk_verify *v, const struct mpk_linking *l)
{
	const uint64_t page = 65536; /* the largest to which linkers round up */
	uint32_t flags;
	GElf_Phdr p;

	for (size_t i = 0; mpk_elf_segment(l->elf, i, &p); i++) {
		uint64_t bytes = p.p_memsz > page ? p.p_memsz - page : 0;

		if (p.p_type == PT_GNU_RELRO &&
		    !mpk_elf_is_loaded(l->elf, p.p_vaddr, bytes, &flags))
			FAULT(v, l->elf, l->elf->header.e_phoff + i * l->elf->header.e_phentsize,
			      "what is made read-only (PT_GNU_RELRO) at 0x%" PRIx64
			      " reaches beyond its segment",
			      p.p_vaddr);
	}
}

static void versions(struct mpk_verify *v, const struct mpk_linking *l)
{
	const struct mpk_version_need *needed;
	const char *const *defined;
	struct mpk_error err = { 0 };
	size_t count;
	enum mpk_code code = mpk_versions_needed(l->elf, v->arena, &needed, &count, &err);

	if (code == MPK_OK)
		code = mpk_versions_defined(l->elf, v->arena, &defined, &count, &err);
	if (code != MPK_OK)
		mpk_verify_say_error(v, &err);
}

static void dynamic_section(struct mpk_verify *v)
{
	struct mpk_linking l;
	struct mpk_error err = { 0 };
	uint64_t ignored;

	if (v->view->image->type != ET_DYN)
		return;
	if (mpk_linking_open(v->elf, &l, &err) != MPK_OK) {
		mpk_verify_say_error(v, &err);
		return;
	}
	if (!mpk_dynamic_find(l.dynamic, l.count, DT_STRTAB, &ignored) ||
	    !mpk_dynamic_find(l.dynamic, l.count, DT_SYMTAB, &ignored)) {
		FAULT(v, l.elf, l.off, "the dynamic section names no symbols: it has no %s",
		      mpk_dynamic_find(l.dynamic, l.count, DT_STRTAB, &ignored) ? "DT_SYMTAB"
										: "DT_STRTAB");
		return;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tables); i++)
		table_is_loaded(v, &l, &tables[i]);
	entries(v, &l);
	names(v, &l);
	sealed_pages(v, &l);
	versions(v, &l);
}

/* --- symbols ------------------------------------------------------------------------------- */

/* Loaders store functions and the module here, right after the library was loaded. */
static bool is_filled(const struct mpk_image *image, const char *name)
{
	return strncmp(name, "__TVM", 5) == 0 ||
	       strcmp(name, mpk_generation_get(image->gen)->ctx_symbol) == 0;
}

/* What the dynamic linker makes read-only once it has relocated it. Its pages are at least 4096 bytes. */
static bool is_sealed(const struct mpk_elf *e, uint64_t address)
{
	const uint64_t page = 4096;
	GElf_Phdr p;

	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_GNU_RELRO && address >= p.p_vaddr / page * page &&
		    address < (p.p_vaddr + p.p_memsz) / page * page)
			return true;
	return false;
}

/* Returns  what is wrong with it; NULL: nothing */
static const char *symbol_fault(const struct mpk_verify *v, const struct mpk_linking *l,
				const struct mpk_symbol *s)
{
	bool is_code = s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
	uint32_t flags;

	if (!s->section || s->type == STT_TLS)
		return NULL;
	if (!mpk_elf_is_loaded(l->elf, s->value, 0, &flags))
		return "nothing of the library is loaded";
	if (is_code && !(flags & PF_X) && !mpk_linking_has_descriptors(l->elf))
		return "no code is loaded";
	if (!is_code && is_filled(v->view->image, s->name) &&
	    (!(flags & PF_W) || is_sealed(l->elf, s->value)))
		return "memory is read-only, and loaders store a pointer";
	return NULL;
}

static void dynamic_symbols(struct mpk_verify *v)
{
	struct mpk_error err = { 0 };
	struct mpk_symtab symbols;
	struct mpk_linking l;
	enum mpk_code code;
	uint64_t ignored;

	if (v->view->image->type != ET_DYN || mpk_linking_open(v->elf, &l, &err) != MPK_OK)
		return;
	if (!mpk_dynamic_find(l.dynamic, l.count, DT_GNU_HASH, &ignored) &&
	    !mpk_dynamic_find(l.dynamic, l.count, DT_HASH, &ignored) &&
	    v->elf->header.e_machine != EM_MIPS /* which has one of its own */) {
		FAULT(v, l.elf, l.off,
		      "no symbol is found in it: the dynamic section names no hash table");
		return;
	}
	code = mpk_symtab_loaded(v->elf, &symbols, &err);
	if (code == MPK_OK && !v->skips_hash)
		code = mpk_linking_check_hash(&l, &symbols, &err);
	for (size_t i = 1; code == MPK_OK && i < symbols.count; i++) {
		struct mpk_symbol s;
		const char *fault;

		code = mpk_symtab_get(&symbols, i, &s, &err);
		fault = code == MPK_OK ? symbol_fault(v, &l, &s) : NULL;
		if (!fault)
			continue;
		FAULT(v, l.elf, symbols.off + i * gelf_fsize(l.elf->elf, ELF_T_SYM, 1, EV_CURRENT),
		      "the symbol '%s' is at 0x%" PRIx64 ", where %s", QUOTED(s.name), s.value,
		      fault);
		return;
	}
	if (code != MPK_OK)
		mpk_verify_say_error(v, &err);
}

const struct mpk_check mpk_checks_dynamic[] = {
	{ "segment-alignment", "the segments can be mapped", .whole = segment_alignment },
	{ "dynamic-section", "the dynamic linker finds what the dynamic section points at",
	  .whole = dynamic_section },
	{ "dynamic-symbols", "symbols are found, and stand for what is loaded",
	  .whole = dynamic_symbols },
	{ "relocation", "the dynamic linker can relocate the library and call its initializers",
	  .whole = mpk_verify_relocations },
	{ 0 },
};
