/* SPDX-License-Identifier: Apache-2.0 */
/* references.c - what points to the containers of a library
 *
 * A library does not know the address at which it will be loaded. So each word of data that holds
 * an address has a relocation, with which the dynamic linker adds the load address. All relocations
 * are read here, and all symbols that other libraries may bind to. Instructions need no relocation,
 * because they give an address by its distance from their own. So executable sections are searched
 * for instructions that would refer to the beginning of a container. A container stays in its place
 * if such an instruction seems to refer to it, or if nothing is seen to refer to it: there may be
 * references that cannot be seen. A container that stays only costs bytes; moving it away from a
 * pointer would break the library. */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/image.h"
#include "elf/instructions.h"
#include "thin/internal/thin.h"

enum {
	WORD_BYTES = 8,
	RELA_ADDEND_AT = 16,
	SYM_VALUE_AT = 8,
	SYM_SIZE_AT = 16,
	SYM_BYTES = 24,
};

struct search {
	const struct mpk_elf *elf;
	struct mpk_thin_container *c;
	size_t count;
	struct mpk_symtab symbols;
	struct mpk_thin_references *out;
	enum mpk_code code;
	struct mpk_error *err;
};

enum mpk_code mpk_thin_patch_add(struct mpk_thin_patches *p, uint64_t off, uint64_t value,
				 unsigned len, struct mpk_error *err)
{
	struct mpk_thin_patch patch = { .off = off, .len = (uint8_t)len };

	MPK_TRY_ALLOC(MPK_VEC_ROOM(p->items, p->count, p->cap), err);
	for (unsigned i = 0; i < len; i++)
		patch.bytes[i] = (uint8_t)(value >> 8 * i);
	p->items[p->count++] = patch;
	return MPK_OK;
}

/* --- containers by address -------------------------------------------------------------------- */

/* Returns the last container that begins at or before the address; count: none. */
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

/* Whether the symbol is an address: thread-local and absolute symbols are not. */
static bool is_address(const struct mpk_symbol *symbol)
{
	return symbol->defined && symbol->section && symbol->type != STT_TLS;
}

enum mpk_code mpk_thin_target(const struct mpk_elf *elf, const struct mpk_symtab *symbols,
			      const struct mpk_relocation *r, uint64_t *out, bool *is_target,
			      struct mpk_error *err)
{
	struct mpk_symbol symbol;
	uint64_t off;

	*is_target = false;
	*out = (uint64_t)r->addend;
	if (!r->has_addend && !mpk_thin_read_word(elf, r->address, out, &off))
		return MPK_OK;
	*is_target = r->is_relative;
	if (r->is_relative || !r->symbol || r->symbol >= symbols->count)
		return MPK_OK;
	MPK_TRY(mpk_symtab_get(symbols, (size_t)r->symbol, &symbol, err));
	*is_target = is_address(&symbol);
	if (*is_target)
		*out += symbol.value;
	return MPK_OK;
}

static bool is_device(const struct search *s, uint64_t address)
{
	size_t i = container_at(s->c, s->count, address);

	return i < s->count && !s->c[i].is_host;
}

static enum mpk_code add_reference(struct search *s, const struct mpk_thin_reference *r)
{
	struct mpk_thin_references *out = s->out;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(out->items, out->count, out->cap), s->err);
	out->items[out->count++] = *r;
	return MPK_OK;
}

static void take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct search *s = arg;
	uint64_t target;
	bool is_target;

	if (s->code != MPK_OK)
		return;
	if (is_device(s, r->address) || is_device(s, r->address + WORD_BYTES - 1)) {
		s->code = mpk_fail_offset(s->err, MPK_E_UNSUPPORTED, "file", r->off,
					  "a relocation is for a word in device code");
		return;
	}
	s->code = mpk_thin_target(s->elf, &s->symbols, r, &target, &is_target, s->err);
	if (s->code != MPK_OK || !is_target)
		return;
	/* The target may also be the end of the last container. */
	if (!s->count || target < s->c[0].address ||
	    target > s->c[s->count - 1].address + s->c[s->count - 1].bytes.len)
		return;
	s->code = add_reference(s, &(struct mpk_thin_reference){
					   .address = r->address,
					   .target = target,
					   .addend_at = r->has_addend ? r->off + RELA_ADDEND_AT : 0,
					   .is_symbolic = !r->is_relative && r->type });
}

MPK_ORDER_BY(by_address, struct mpk_thin_reference, address)

/* OpenMP's runtime gets pairs of words: the beginning and the end of an image. The end of one image
 * may be the beginning of the next. */
static bool is_end(const struct mpk_thin_reference *before, const struct mpk_thin_reference *r,
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
	struct mpk_thin_references *out = s->out;
	size_t kept = 0;

	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_address);
	for (size_t i = 0; i < out->count; i++) {
		struct mpk_thin_reference r = out->items[i];

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

/* Returns the container that begins at an address; count: none. */
static size_t container_of(const struct search *s, uint64_t address)
{
	size_t i = container_before(s->c, s->count, address);

	return i < s->count && s->c[i].address == address ? i : s->count;
}

static void pin_if_begins(struct search *s, uint64_t address)
{
	size_t i = container_of(s, address);

	if (i < s->count)
		s->c[i].pinned = true;
}

/* x86-64: code gets an address by lea with a 64-bit REX prefix and a 32-bit distance from the end
 * of the instruction. Other instructions are not searched: they would access the first bytes of a
 * container, which only a runtime library does, after it was given the address. And in 100 MB of
 * code every distance occurs by chance. */
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

/* AArch64: code gets an address by adr, or by adrp and a later add to the same register. */
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
		left -= h.sh_size; /* limits the work if sections overlap */
		if (elf->header.e_machine == EM_X86_64)
			search_x86(s, code, h.sh_addr);
		else
			search_aarch64(s, code, h.sh_addr);
	}
	return MPK_OK;
}

/* --- programs that are linked to one address
 * --------------------------------------------------------
 *
 * The linker of such a program has resolved every address, and no relocations are left that tell
 * which words are addresses. One reference to each container that a compiler registered is known:
 * the wrapper that host code passes to the runtime, in a section of its own, begins with a magic
 * number that nothing else in the section has. If any other four bytes in the file equal the
 * address of a container, they may be that address or an ordinary number, so the container stays
 * where it is. So does a container without a wrapper. All these addresses are below 4 GiB, so both
 * instructions and words of data contain them as four bytes. */

enum { WRAPPER_BYTES = 24, ADDRESS_AT = 8 };

static const struct {
	const char *section;
	uint32_t magic;
} wrappers[] = {
	{ ".nvFatBinSegment", 0x466243b1 },
	{ ".hipFatBinSegment", 0x48495046 },
};

static uint32_t wrapper_magic(const char *section)
{
	for (size_t i = 0; section && i < MPK_ARRAY_COUNT(wrappers); i++)
		if (strcmp(section, wrappers[i].section) == 0)
			return wrappers[i].magic;
	return 0;
}

/* Whether the word at this offset is the address in a wrapper. */
static bool is_wrapped(struct mpk_span bytes, size_t at, uint32_t magic)
{
	return magic && at % WRAPPER_BYTES == ADDRESS_AT && bytes.len - at >= WORD_BYTES &&
	       mpk_load_u32(bytes.data + at - ADDRESS_AT) == magic;
}

static enum mpk_code search_section(struct search *s, struct mpk_span bytes, uint64_t address,
				    uint32_t magic)
{
	uint64_t first = s->c[0].address, last = s->c[s->count - 1].address;

	for (size_t at = 0; bytes.len - at >= sizeof(uint32_t); at++) {
		uint32_t value = mpk_load_u32(bytes.data + at);
		size_t i;

		if (value < first || value > last)
			continue;
		i = container_of(s, value);
		if (i == s->count)
			continue;
		if (is_wrapped(bytes, at, magic) && mpk_load_u64(bytes.data + at) == value)
			MPK_TRY(add_reference(s,
					      &(struct mpk_thin_reference){ .address = address + at,
									    .target = value }));
		else
			s->c[i].pinned = true;
	}
	return MPK_OK;
}

/* Records the words of wrappers, and pins containers that other words seem to refer to. */
static enum mpk_code find_absolute_words(struct search *s)
{
	const struct mpk_elf *elf = s->elf;
	uint64_t left = elf->bytes.len;

	if (!s->count)
		return MPK_OK;
	/* An image without a wrapper is also referred to by its end, which is easily confused with
	 * an ordinary number. */
	for (size_t i = 0; i < s->count; i++)
		if (s->c[i].is_binary && s->c[i].changed)
			return mpk_fail(
				s->err, MPK_E_UNSUPPORTED,
				"a program that is linked to one address does not tell where its host code has the end of an image; link it as PIE");
	if (s->c[s->count - 1].address > UINT32_MAX)
		return mpk_fail(
			s->err, MPK_E_UNSUPPORTED,
			"a program that is linked to an address above 4 GiB; link it as PIE");
	for (size_t i = 1; i < elf->section_count; i++) {
		struct mpk_span bytes;
		const char *name = mpk_elf_section_name(elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, s->err));
		if (!name || mpk_elf_is_device_section(name) || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_type == SHT_NOBITS || !h.sh_size || h.sh_size > left ||
		    !mpk_span_sub(elf->bytes, h.sh_offset, h.sh_size, &bytes))
			continue;
		left -= h.sh_size; /* limits the work if sections overlap */
		MPK_TRY(search_section(s, bytes, h.sh_addr, wrapper_magic(name)));
	}
	return judge_relocations(s);
}

/* --- finding all references ------------------------------------------------------------------- */

/* A program that is linked to one address may lack these tables. */
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

enum mpk_code mpk_thin_references(const struct mpk_elf *elf, struct mpk_thin_container *c,
				  size_t count, struct mpk_thin_references *out,
				  struct mpk_error *err)
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

/* --- updating symbols after containers have moved --------------------------------------------- */

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

enum mpk_code mpk_thin_move_symbols(const struct mpk_elf *elf, const struct mpk_thin_container *c,
				    size_t count, struct mpk_thin_patches *out,
				    struct mpk_error *err)
{
	for (size_t i = 1; i < elf->section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, err));
		if (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM)
			MPK_TRY(patch_table(elf, i, c, count, out, err));
	}
	return MPK_OK;
}
