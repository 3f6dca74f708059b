/* SPDX-License-Identifier: Apache-2.0 */
/* references.c - what points to the containers of a library, and where they are moved to
 *
 * A container that nothing hinders moves to the end of the one before it, so that all that is free in a section is in
 * one hole at its end; one that must stay has the hole before it, as zeros.
 *
 * A library does not know where it will be loaded. So a word of data that holds an address has a relocation, by which
 * the dynamic linker adds the place; all of these are read here, with the symbols that others may bind to. Only
 * instructions do without: they name an address by its distance from their own. Executable sections are searched for
 * instructions that would name the beginning of a container, and what such an instruction seems to name stays where it
 * is, as does what nothing is seen to point to: in both cases there may be more than can be seen. A container that
 * stays costs bytes, no more; one that moved away from a pointer would cost the library.
 */
#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/instructions.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "thin/internal/thin.h"

enum {
	WORD_BYTES = 8,
	RELA_ADDEND_AT = 16,
	SYM_VALUE_AT = 8,
	SYM_SIZE_AT = 16,
	SYM_BYTES = 24,
	ALIGN_MAX = 4096,
};

/* A word of the library that is relocated, and points to a container. */
struct reference {
	uint64_t address;   /* of the word */
	uint64_t target;    /* what it holds */
	uint64_t addend_at; /* file offset of the addend; 0: the word itself holds it */
	size_t container;
	bool is_symbolic; /* a symbol gives the address */
};

struct references {
	struct reference *items; /* malloc'ed */
	size_t count, cap;
};

struct search {
	const struct mpk_elf *elf;
	struct mpk_thin_container *c;
	size_t count;
	struct mpk_symtab symbols;
	struct references *out;
	enum mpk_code code;
	struct mpk_error *err;
};

enum mpk_code mpk_thin_patch_add(struct mpk_thin_patches *p, uint64_t off, uint64_t value,
				 unsigned len, struct mpk_error *err)
{
	struct mpk_thin_patch patch = { .off = off, .len = (uint8_t)len };

	MPK_TRY_ALLOC(mpk_vec_reserve(&p->items, &p->cap, p->count + 1, sizeof *p->items), err);
	for (unsigned i = 0; i < len; i++)
		patch.bytes[i] = (uint8_t)(value >> 8 * i);
	p->items[p->count++] = patch;
	return MPK_OK;
}

/* --- containers by address -------------------------------------------------------------------- */

/* The last that begins at the address or before; count: none. */
static size_t container_before(const struct mpk_thin_container *c, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : count;
}

static size_t container_at(const struct mpk_thin_container *c, size_t count, uint64_t address)
{
	size_t i = container_before(c, count, address);

	return i < count && address - c[i].address < c[i].bytes.len ? i : count;
}

/* --- relocations -------------------------------------------------------------------------------- */

static bool word_at(const struct mpk_elf *elf, uint64_t address, uint64_t *word, uint64_t *off)
{
	struct mpk_span bytes;

	if (!mpk_elf_at_address(elf, address, &bytes, off) || bytes.len < WORD_BYTES)
		return false;
	*word = mpk_load_u64(bytes.data);
	return true;
}

/* Values of thread-local symbols, and absolute ones, are no addresses in the library. */
static bool is_address(const struct mpk_symbol *symbol)
{
	return symbol->defined && symbol->section && symbol->type != STT_TLS;
}

/* What the dynamic linker will store, counted from where the library is loaded; false: no address of it. */
static bool target_of(struct search *s, const struct mpk_relocation *r, uint64_t *out)
{
	struct mpk_symbol symbol;
	uint64_t off;

	*out = (uint64_t)r->addend;
	if (!r->has_addend && !word_at(s->elf, r->address, out, &off))
		return false;
	if (r->is_relative)
		return true;
	if (!r->symbol || r->symbol >= s->symbols.count)
		return false;
	s->code = mpk_symtab_get(&s->symbols, (size_t)r->symbol, &symbol, s->err);
	if (s->code != MPK_OK || !is_address(&symbol))
		return false;
	*out += symbol.value;
	return true;
}

static bool is_device(const struct search *s, uint64_t address)
{
	size_t i = container_at(s->c, s->count, address);

	return i < s->count && !s->c[i].is_host;
}

static void take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct search *s = arg;
	struct references *out = s->out;
	uint64_t target;

	if (s->code != MPK_OK)
		return;
	if (is_device(s, r->address) || is_device(s, r->address + WORD_BYTES - 1)) {
		s->code = mpk_fail_offset(s->err, MPK_E_UNSUPPORTED, "file", r->off,
					  "a relocation is for a word in device code");
		return;
	}
	if (!target_of(s, r, &target) || s->code != MPK_OK)
		return;
	/* An end may be where the last container ends. */
	if (!s->count || target < s->c[0].address ||
	    target > s->c[s->count - 1].address + s->c[s->count - 1].bytes.len)
		return;
	if (!mpk_vec_reserve(&out->items, &out->cap, out->count + 1, sizeof *out->items)) {
		s->code = mpk_fail_nomem(s->err);
		return;
	}
	out->items[out->count++] = (struct reference){
		.address = r->address,
		.target = target,
		.addend_at = r->has_addend ? r->off + RELA_ADDEND_AT : 0,
		.is_symbolic = !r->is_relative && r->type,
	};
}

static int by_address(const void *a, const void *b)
{
	const struct reference *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* OpenMP's runtime gets pairs of words: where an image begins and where it ends. The end of one may be the beginning of
 * the next. */
static bool is_end(const struct reference *before, const struct reference *r,
		   const struct mpk_thin_container *c, size_t count)
{
	const struct mpk_thin_container *first;

	if (before->container >= count || before->address + WORD_BYTES != r->address)
		return false;
	first = &c[before->container];
	return first->is_binary && r->target > before->target &&
	       r->target <= first->address + first->bytes.len;
}

static enum mpk_code check_middle(const struct mpk_thin_container *c, uint64_t target,
				  struct mpk_error *err)
{
	if (target == c->address || !c->changed || c->is_gone)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "file", c->off + (target - c->address),
			       "something points into the middle of device code that would change");
}

static enum mpk_code judge_relocations(struct search *s)
{
	struct references *out = s->out;
	size_t kept = 0;

	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_address);
	for (size_t i = 0; i < out->count; i++) {
		struct reference r = out->items[i];

		r.container = container_at(s->c, s->count, r.target);
		if (kept && is_end(&out->items[kept - 1], &r, s->c, s->count))
			r.container = out->items[kept - 1].container;
		if (r.container == s->count)
			continue;
		MPK_TRY(check_middle(&s->c[r.container], r.target, s->err));
		s->c[r.container].referenced = true;
		out->items[kept++] = r;
	}
	out->count = kept;
	return MPK_OK;
}

/* --- symbols that other libraries may bind to ------------------------------------------------------ */

static enum mpk_code judge_symbols(struct search *s)
{
	for (size_t i = 1; i < s->symbols.count; i++) {
		struct mpk_symbol symbol;
		size_t k;

		MPK_TRY(mpk_symtab_get(&s->symbols, i, &symbol, s->err));
		k = is_address(&symbol) ? container_at(s->c, s->count, symbol.value) : s->count;
		if (k == s->count)
			continue;
		MPK_TRY(check_middle(&s->c[k], symbol.value, s->err));
		s->c[k].referenced = true;
	}
	return MPK_OK;
}

/* --- instructions ---------------------------------------------------------------------------------- */

static void pin_if_begins(struct search *s, uint64_t address)
{
	size_t i = container_before(s->c, s->count, address);

	if (i < s->count && s->c[i].address == address)
		s->c[i].pinned = true;
}

/* x86-64: code takes an address by lea with a REX prefix of 64 bits, and a distance of 32 bits from the end of the
 * instruction. Other instructions would read the first bytes of a container, which nothing does but a runtime library
 * that was given its address; and among 100 MB of code every distance occurs by chance. */
static void search_x86(struct search *s, struct mpk_span code, uint64_t address)
{
	enum {
		REX_W = 0x48,
		REX_W_MASK = 0xf8,
		LEA = 0x8d,
		RIP = 0x05,
		RIP_MASK = 0xc7,
		BYTES = 7
	};

	for (size_t i = 0; i + BYTES <= code.len; i++)
		if (code.data[i + 1] == LEA && (code.data[i] & REX_W_MASK) == REX_W &&
		    (code.data[i + 2] & RIP_MASK) == RIP)
			pin_if_begins(s, address + i + BYTES +
						 (uint64_t)(int64_t)(int32_t)mpk_load_u32(
							 code.data + i + 3));
}

/* AArch64: adr, or adrp and an add to the same register later. */
static void search_aarch64(struct search *s, struct mpk_span code, uint64_t address)
{
	uint64_t pages[32] = { 0 };

	for (size_t i = 0; i + 4 <= code.len; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);
		uint64_t value;

		if (mpk_aarch64_adr(word, address + i, &value))
			pin_if_begins(s, value);
		if (mpk_aarch64_adrp(word, address + i, &value))
			pages[mpk_aarch64_rd(word)] = value;
		if (mpk_aarch64_add(word, &value) && pages[mpk_aarch64_rn(word)])
			pin_if_begins(s, pages[mpk_aarch64_rn(word)] + value);
	}
}

static enum mpk_code search_code(struct search *s)
{
	const struct mpk_elf *elf = s->elf;
	uint64_t left = elf->bytes.len;

	for (size_t i = 1; s->count && i < elf->section_count; i++) {
		struct mpk_span code;
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, s->err));
		if (!(h.sh_flags & SHF_EXECINSTR) || h.sh_type == SHT_NOBITS || h.sh_size > left ||
		    !mpk_span_sub(elf->bytes, h.sh_offset, h.sh_size, &code))
			continue;
		left -= h.sh_size; /* sections that overlap would be read again and again */
		if (elf->header.e_machine == EM_X86_64)
			search_x86(s, code, h.sh_addr);
		else
			search_aarch64(s, code, h.sh_addr);
	}
	return MPK_OK;
}

/* --- the whole --------------------------------------------------------------------------------------- */

/* A program that is linked to one address may have none of these tables. */
static enum mpk_code find_relocations(struct search *s)
{
	struct mpk_linking linking;

	for (size_t i = 0; i < s->elf->segment_count; i++) {
		GElf_Phdr p;

		if (!mpk_elf_segment(s->elf, i, &p) || p.p_type != PT_DYNAMIC)
			continue;
		MPK_TRY(mpk_symtab_loaded(s->elf, &s->symbols, s->err));
		MPK_TRY(mpk_linking_open(s->elf, &linking, s->err));
		MPK_TRY(mpk_linking_relocations(&linking, take_relocation, s, s->err));
		MPK_TRY(s->code);
		MPK_TRY(judge_relocations(s));
		return judge_symbols(s);
	}
	return MPK_OK;
}

static enum mpk_code take_absolute_word(void *data, uint64_t address, uint64_t target,
					struct mpk_error *err)
{
	struct references *out = data;

	MPK_TRY_ALLOC(mpk_vec_reserve(&out->items, &out->cap, out->count + 1, sizeof *out->items),
		      err);
	out->items[out->count++] = (struct reference){ .address = address, .target = target };
	return MPK_OK;
}
static enum mpk_code find_absolute_words(struct search *s)
{
	struct mpk_thin_absolute a = { s->c, s->count, take_absolute_word, s->out };

	MPK_TRY(mpk_thin_search_absolute(s->elf, &a, s->err));
	return judge_relocations(s);
}

/* All words that point into containers, and which containers have to stay. */
static enum mpk_code find_references(const struct mpk_elf *elf, struct mpk_thin_container *c,
				     size_t count, struct references *out, struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	struct search s = {
		.elf = elf, .c = c, .count = count, .out = out, .err = err ? err : &ignored
	};

	MPK_TRY(find_relocations(&s));
	if (elf->header.e_type == ET_EXEC)
		MPK_TRY(find_absolute_words(&s));
	MPK_TRY(search_code(&s));
	for (size_t i = 0; i < count; i++)
		c[i].pinned |= !c[i].referenced;
	return MPK_OK;
}

/* --- places ------------------------------------------------------------------------------------------ */

/* A container is aligned as it happened to be, up to what its section asks for. */
static uint64_t align_of(const struct mpk_thin_section *s, const struct mpk_thin_container *c)
{
	uint64_t own = c->address ? c->address & -c->address : ALIGN_MAX;
	uint64_t asked = s->header.sh_addralign;

	asked = asked > WORD_BYTES ? asked : WORD_BYTES;
	asked = asked < ALIGN_MAX && (asked & (asked - 1)) == 0 ? asked : ALIGN_MAX;
	return own < asked ? own : asked;
}

/* No container gets behind where it was: each is at most as long as before, and aligned as it was. */
static void place_containers(struct mpk_thin_section *s, struct mpk_thin_report *report)
{
	uint64_t at = s->header.sh_addr;

	for (size_t i = 0; i < s->container_count; i++) {
		struct mpk_thin_container *c = &s->containers[i];
		uint64_t align = align_of(s, c);

		c->moved = (at + align - 1) & ~(align - 1);
		if (c->pinned && c->moved != c->address) {
			report->pinned++;
			report->zeroed_bytes += c->address - c->moved;
			c->moved = c->address;
		}
		at = c->moved + c->content.len;
	}
	s->size = at - s->header.sh_addr;
}

/* --- new values ---------------------------------------------------------------------------------------- */

static uint64_t new_target(const struct mpk_thin_container *c, uint64_t target)
{
	return c->moved + (c->is_gone ? 0 : target - c->address);
}

static enum mpk_code patch_reference(const struct mpk_elf *elf, const struct reference *r,
				     const struct mpk_thin_container *c,
				     struct mpk_thin_patches *out, struct mpk_error *err)
{
	uint64_t to = new_target(c, r->target), word, off;

	if (to == r->target)
		return MPK_OK;
	if (r->is_symbolic && c->is_gone)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"an image that is taken out is named by a symbol");
	if (r->is_symbolic)
		return MPK_OK; /* the symbol moves, by as much */
	if (r->addend_at)
		MPK_TRY(mpk_thin_patch_add(out, r->addend_at, to, WORD_BYTES, err));
	/* Some linkers store the value in the word, too. */
	if (word_at(elf, r->address, &word, &off) && word == r->target)
		MPK_TRY(mpk_thin_patch_add(out, off, to, WORD_BYTES, err));
	return MPK_OK;
}

static enum mpk_code patch_symbol(const struct mpk_symbol *symbol, uint64_t at,
				  const struct mpk_thin_container *c, struct mpk_thin_patches *out,
				  struct mpk_error *err)
{
	uint64_t delta = symbol->value - c->address, len = c->content.len, size = symbol->bytes;

	if (c->changed) {
		delta = delta < len ? delta : len;
		size = size < len - delta ? size : len - delta;
	}
	if (c->moved + delta != symbol->value)
		MPK_TRY(mpk_thin_patch_add(out, at + SYM_VALUE_AT, c->moved + delta, WORD_BYTES,
					   err));
	if (size != symbol->bytes)
		MPK_TRY(mpk_thin_patch_add(out, at + SYM_SIZE_AT, size, WORD_BYTES, err));
	return MPK_OK;
}

static enum mpk_code patch_table(const struct mpk_elf *elf, size_t section,
				 const struct mpk_thin_container *c, size_t count,
				 struct mpk_thin_patches *out, struct mpk_error *err)
{
	struct mpk_symbol symbol;
	struct mpk_symtab table;

	MPK_TRY(mpk_symtab_open(elf, section, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		size_t k;

		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		k = is_address(&symbol) ? container_at(c, count, symbol.value) : count;
		if (k < count)
			MPK_TRY(patch_symbol(&symbol, table.off + i * SYM_BYTES, &c[k], out, err));
	}
	return MPK_OK;
}

/* What they and symbols are to be when containers are where moved says. */
static enum mpk_code patch_references(const struct mpk_elf *elf, const struct references *r,
				      const struct mpk_thin_container *c, size_t count,
				      struct mpk_thin_patches *out, struct mpk_error *err)
{
	for (size_t i = 0; i < r->count; i++)
		MPK_TRY(patch_reference(elf, &r->items[i], &c[r->items[i].container], out, err));
	for (size_t i = 1; i < elf->section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, err));
		if (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM)
			MPK_TRY(patch_table(elf, i, c, count, out, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_thin_move(const struct mpk_elf *elf, struct mpk_thin_section *sections,
			    size_t section_count, struct mpk_thin_container *c, size_t count,
			    struct mpk_thin_report *report, struct mpk_thin_patches *patches,
			    struct mpk_error *err)
{
	struct references found = { 0 };
	enum mpk_code code = find_references(elf, c, count, &found, err);

	if (code == MPK_OK) {
		for (size_t i = 0; i < section_count; i++)
			place_containers(&sections[i], report);
		code = patch_references(elf, &found, c, count, patches, err);
	}
	free(found.items);
	return code;
}
