/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic.c - checks data that the dynamic linker uses: tables, names, versions, relocations
 *
 * A library with an error there does not load, or crashes while it is loaded, before any of its
 * code runs. */
#include <inttypes.h>
#include <string.h>

#include "elf/linking.h"
#include "elf/symbols.h"
#include "text/escape.h"
#include "verify/verify.h"

/* Reports that a check cannot continue: memory is out, or data cannot be read. */
static void say_error(struct mpk_verify *v, const struct mpk_error *err)
{
	struct mpk_verify_position at = { .offset = err->at.offset };

	if (err->code == MPK_E_NOMEM)
		v->report->failed = true;
	at.space = err->at.has_offset ? err->at.space : NULL;
	mpk_verify_say_at(v, MPK_ERROR, at, "%s", err->text);
}

/* DT_INIT_ARRAY or DT_FINI_ARRAY */
struct functions {
	const char *name;
	uint64_t address, count;
	bool *is_relocated; /* one flag for each function; in the arena */
};

struct relocations {
	struct mpk_verify *v;
	struct mpk_linking linking;
	struct functions arrays[2];
	uint64_t word;       /* bytes of an address */
	size_t symbol_count; /* 0 if not known */
	bool writes_to_text; /* DT_TEXTREL: read-only segments are writable during relocation */
	bool has_fault;      /* a fault was reported */
};

/* Reports only the first fault: after one wrong relocation, the others are probably wrong too. */
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

/* On machines with function descriptors (PowerPC ELFv1, for example) the address of a function is
 * an address of data, so nothing is checked. */
static bool is_code(const struct relocations *r, uint64_t address)
{
	uint32_t flags;

	return r->linking.has_descriptors ||
	       (mpk_elf_is_loaded(r->linking.elf, address, 1, &flags) && flags & PF_X);
}

/* A relocation without an addend (DT_REL) uses the word that it overwrites (ELF gABI,
 * Relocation). */
static uint64_t dynamic_word_at(const struct relocations *r, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off, word;

	return mpk_elf_at_address(r->linking.elf, address, &bytes, &off) &&
			       mpk_elf_word(r->linking.elf, off, &word)
		       ? word
		       : 0;
}

/* The relocation of an array element sets the function that is called. */
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

/* The tests are in order: each may rely on those before it. Type 0 is R_*_NONE, which does
 * nothing. */
static void look_at(void *arg, const struct mpk_relocation *x)
{
	struct relocations *r = arg;
	const struct mpk_elf *e = r->linking.elf;
	uint64_t target;
	uint32_t flags;

	if (r->has_fault || (!x->type && !x->is_relative))
		return;
	if (!x->is_relative && x->is_foreign) {
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
		tell(r, x->off, "a relocation is of symbol %" PRIu64 ", and the library has fewer",
		     x->symbol);
		return;
	}
	target = x->has_addend ? (uint64_t)x->addend : dynamic_word_at(r, x->address);
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
		return true; /* another check reports this */
	a->count = bytes / r->word;
	a->is_relocated = mpk_arena_alloc(r->v->arena, a->count + 1);
	return a->is_relocated;
}

/* Without a relocation, the function is called at its address in the file. */
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
			     " is called at the address that the file has: no relocation says where it is loaded",
			     address);
		}
}

/* A check of mpk_checks_dynamic */
static void check_relocations(struct mpk_verify *v)
{
	struct relocations r = { .v = v };
	struct mpk_error err = { 0 };
	struct mpk_symtab symbols;
	uint64_t flags = 0;
	enum mpk_code code;

	/* MIPS relocations have a different form */
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
		say_error(v, &err);
	else
		unrelocated_functions(&r);
}

/* --- the dynamic section ---------------------------------------------------------------- */

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

#define FAULT(v, e, off, ...)                                                                      \
	mpk_verify_say_at(                                                                         \
		(v), MPK_ERROR,                                                                    \
		(struct mpk_verify_position){ .space = "file", .offset = (e)->base + (off) },      \
		__VA_ARGS__)

/* --- segments ------------------------------------------------------------------------------ */

/* Loaders reserve as much memory as a segment's alignment; no page is larger than 1 GiB. */
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

/* A dynamic entry with an address, and the entry with the size of its table. */
static const struct table {
	int64_t at, size; /* size 0: the table itself tells its size */
	const char *at_name, *size_name;
	uint32_t flags; /* required permissions of its memory */
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

/* Dynamic entries that are ignored unless another one is present. */
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
	/* these machines call functions through descriptors, which are data */
	if (l->has_descriptors)
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

/* Data after the pages that become read-only is written later: by loaders and by the code. */
static void sealed_pages(struct mpk_verify *v, const struct mpk_linking *l)
{
	const uint64_t page = 65536; /* the largest page size to which linkers round up */
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

/* Calling the readers checks the chains of Verneed and Verdef; their results are not needed. */
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
		say_error(v, &err);
}

static void dynamic_section(struct mpk_verify *v)
{
	struct mpk_linking l;
	struct mpk_error err = { 0 };
	uint64_t ignored;

	if (v->view->image->type != ET_DYN)
		return;
	if (mpk_linking_open(v->elf, &l, &err) != MPK_OK) {
		say_error(v, &err);
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

/* Whether loaders store functions or the module here, right after the library was loaded. */
static bool is_filled(const struct mpk_image *image, const char *name)
{
	return strncmp(name, "__TVM", 5) == 0 ||
	       strcmp(name, mpk_generation_get(image->gen)->ctx_symbol) == 0;
}

/* Whether the dynamic linker makes an address read-only after relocation. Its pages are at least
 * 4096 bytes. */
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

/* Returns  the fault of a symbol; NULL if there is none */
static const char *symbol_fault(const struct mpk_verify *v, const struct mpk_linking *l,
				const struct mpk_symbol *s)
{
	bool is_code = s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
	uint32_t flags;

	if (!s->section || s->type == STT_TLS)
		return NULL;
	if (!mpk_elf_is_loaded(l->elf, s->value, 0, &flags))
		return "nothing of the library is loaded";
	if (is_code && !(flags & PF_X) && !l->has_descriptors)
		return "no code is loaded";
	if (!is_code && is_filled(v->view->image, s->name) &&
	    (!(flags & PF_W) || is_sealed(l->elf, s->value)))
		return "memory is read-only, and loaders store a pointer";
	return NULL;
}

/* Stops at the first fault: a shifted table makes every symbol wrong, and one finding is enough. */
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
	    v->elf->header.e_machine != EM_MIPS /* MIPS has a table of its own */) {
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
		say_error(v, &err);
}

const struct mpk_check mpk_checks_dynamic[] = {
	{ "segment-alignment", "the segments can be mapped", .whole = segment_alignment },
	{ "dynamic-section", "the dynamic linker finds what the dynamic section points at",
	  .whole = dynamic_section },
	{ "dynamic-symbols", "symbols are found, and their addresses are loaded",
	  .whole = dynamic_symbols },
	{ "relocation", "the dynamic linker can relocate the library and call its initializers",
	  .whole = check_relocations },
	{ 0 },
};
