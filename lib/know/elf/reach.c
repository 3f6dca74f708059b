/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c - the pieces of a library's code, and the addresses that each refers to
 *
 * Pieces begin at symbols, of which a stripped library has only the exported ones, and at the
 * entries of the sorted table in .eh_frame_hdr, which lists every function that exceptions may
 * pass. Pieces never overlap, so searching all of them takes time linear in the code. */
#include "elf/wants.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/instructions.h"
#include "elf/linking.h"
#include "elf/symbols.h"

/* Whether code of the machine can be searched. */
static bool reach_knows(const struct mpk_elf *e)
{
	return e->header.e_type != ET_REL && e->header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       (e->header.e_machine == EM_X86_64 || e->header.e_machine == EM_AARCH64);
}

/* --- pieces ------------------------------------------------------------------------------ */

struct starts {
	uint64_t *items;
	size_t count, cap;
};

static enum mpk_code add_start(const struct mpk_elf *e, uint64_t address, struct starts *s,
			       struct mpk_error *err)
{
	uint32_t flags = 0;

	if (!mpk_elf_is_loaded(e, address, 1, &flags) || !(flags & PF_X))
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(s->items, s->count, s->cap), err);
	s->items[s->count++] = address;
	return MPK_OK;
}

static enum mpk_code add_symbols(const struct mpk_symtab *t, struct starts *s,
				 struct mpk_error *err)
{
	struct mpk_symbol symbol;

	for (size_t i = 1; i < t->count; i++) {
		MPK_TRY(mpk_symtab_get(t, i, &symbol, err));
		if (symbol.defined && (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC))
			MPK_TRY(add_start(t->elf, symbol.value, s, err));
	}
	return MPK_OK;
}

/* Reads the one form of the table that linkers write: version 1, a count of 32 bits, entries of two
 * 32-bit distances from the table (LSB 5.0, 10.6.2). */
static enum mpk_code add_unwind(const struct mpk_elf *e, struct starts *s, struct mpk_error *err)
{
	static const uint8_t head[] = {
		1, 0x03, 0x3b
	}; /* version, count and table; the encoding of .eh_frame's
						 * address may be any */
	struct mpk_span bytes;
	GElf_Phdr p;

	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++) {
		if (p.p_type != PT_GNU_EH_FRAME ||
		    !mpk_span_sub(e->bytes, p.p_offset, p.p_filesz, &bytes) || bytes.len < 12 ||
		    bytes.data[0] != head[0] || bytes.data[2] != head[1] ||
		    bytes.data[3] != head[2])
			continue;
		size_t n = mpk_load_u32(bytes.data + 8), room = (bytes.len - 12) / 8;

		for (size_t k = 0; k < n && k < room; k++) {
			int32_t at = (int32_t)mpk_load_u32(bytes.data + 12 + 8 * k);

			MPK_TRY(add_start(e, p.p_vaddr + (uint64_t)(int64_t)at, s, err));
		}
	}
	return MPK_OK;
}

static int reach_by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static enum mpk_code find_starts(const struct mpk_elf *e, struct starts *s, struct mpk_error *err)
{
	struct mpk_symtab table;
	size_t n = 0;

	MPK_TRY(mpk_symtab_dynamic(e, &table, err));
	MPK_TRY(add_symbols(&table, s, err));
	MPK_TRY(mpk_symtab_static(e, &table, err));
	MPK_TRY(add_symbols(&table, s, err));
	MPK_TRY(add_unwind(e, s, err));
	if (s->count)
		qsort(s->items, s->count, sizeof *s->items, reach_by_address);
	for (size_t i = 0; i < s->count; i++)
		if (!n || s->items[n - 1] != s->items[i])
			s->items[n++] = s->items[i];
	s->count = n;
	return MPK_OK;
}

/* Returns the first piece that begins at or after an address. */
static size_t piece_from(const struct mpk_reach *r, uint64_t address)
{
	return mpk_first_from(r->starts, r->count, sizeof *r->starts, 0, address);
}

struct mpk_span mpk_reach_code(const struct mpk_reach *r, size_t piece)
{
	uint64_t from = r->starts[piece], off;
	struct mpk_span code = { 0 };

	if (mpk_elf_at_address(r->elf, from, &code, &off) && piece + 1 < r->count &&
	    r->starts[piece + 1] - from < code.len)
		code.len = (size_t)(r->starts[piece + 1] - from);
	return code;
}

/* Segments may map the same bytes at many addresses: whether more is searched than the file has. */
static bool is_too_much(const struct mpk_reach *r)
{
	uint64_t most = 2 * (uint64_t)r->elf->bytes.len, bytes = 0;

	for (size_t i = 0; i < r->count && bytes <= most; i++)
		bytes += mpk_reach_code(r, i).len;
	return bytes > most;
}

enum mpk_code mpk_reach_open(const struct mpk_elf *e, struct mpk_reach *out, struct mpk_error *err)
{
	struct starts s = { 0 };
	enum mpk_code code;

	*out = (struct mpk_reach){ .elf = e };
	if (!reach_knows(e))
		return MPK_OK;
	code = find_starts(e, &s, err);
	out->starts = s.items;
	out->count = s.count;
	if (code == MPK_OK)
		code = mpk_plt_names_read(e, &out->plt, err);
	if (code == MPK_OK && is_too_much(out))
		out->count = 0;
	if (code != MPK_OK)
		mpk_reach_close(out);
	return code;
}

void mpk_reach_close(struct mpk_reach *r)
{
	mpk_plt_names_fini(&r->plt);
	free(r->starts);
	*r = (struct mpk_reach){ 0 };
}

size_t mpk_reach_piece(const struct mpk_reach *r, uint64_t address)
{
	size_t at = piece_from(r, address);

	return at < r->count && r->starts[at] == address ? at : r->count;
}

static size_t reach_piece_around(const struct mpk_reach *r, uint64_t address)
{
	size_t at = piece_from(r, address);

	if (at < r->count && r->starts[at] == address)
		return at;
	return at && address - r->starts[at - 1] < mpk_reach_code(r, at - 1).len ? at - 1
										 : r->count;
}

/* --- references -------------------------------------------------------------------------- */

static const unsigned no_register = ~0u;

struct sweep {
	const struct mpk_reach *reach;
	void (*take)(void *arg, const struct mpk_reach_ref *ref);
	void *arg;
};

/* Reports a branch to a piece or through a PLT entry. Any other branch stays inside its piece, or
 * is not a branch. */
static void tell_branch(const struct sweep *s, uint64_t from, uint64_t to)
{
	struct mpk_reach_ref ref = { .from = from, .to = to, .reg = no_register };
	uint64_t slot;

	ref.piece = mpk_reach_piece(s->reach, to);
	if (ref.piece == s->reach->count) {
		if (!mpk_plt_slot(s->reach->elf, to, &slot))
			return;
		ref.symbol = mpk_plt_names_find(&s->reach->plt, slot);
		if (!ref.symbol)
			return;
		ref.kind = MPK_REACH_SYMBOL;
	}
	s->take(s->arg, &ref);
}

static void tell_operand(const struct sweep *s, uint64_t from, uint64_t to, bool loads,
			 unsigned reg)
{
	struct mpk_reach_ref ref = { .from = from, .to = to, .reg = reg };

	ref.piece = mpk_reach_piece(s->reach, to);
	ref.symbol = mpk_plt_names_find(&s->reach->plt, to);
	ref.kind = loads && ref.symbol           ? MPK_REACH_SYMBOL
		   : loads                       ? MPK_REACH_LOAD
		   : ref.piece < s->reach->count ? MPK_REACH_CODE
						 : MPK_REACH_DATA;
	s->take(s->arg, &ref);
}

static uint64_t displaced(const uint8_t *field, uint64_t end)
{
	return end + (uint64_t)(int64_t)(int32_t)mpk_load_u32(field);
}

/* Loads of SSE: movups, movlps, movhps, movaps, movd, movdqa, movq. */
static bool is_vector_load(uint8_t opcode)
{
	return memchr("\x10\x12\x16\x28\x6e\x6f\x7e", opcode, 7) != NULL;
}

/* Reports the addresses that adds and loads soon after the adrp at `from` make from its page. */
static void tell_page(const struct sweep *s, struct mpk_span code, size_t from, uint64_t address,
		      uint64_t page)
{
	enum { NEAR = 32 }; /* in instructions */
	unsigned page_in = mpk_aarch64_rd(mpk_load_u32(code.data + from));
	uint64_t low;

	for (size_t i = from + 4; i + 4 <= code.len && i <= from + (size_t)4 * NEAR; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);
		bool adds = mpk_aarch64_add(word, &low);

		if (mpk_aarch64_rn(word) == page_in && (adds || mpk_aarch64_access(word, &low)))
			tell_operand(s, address + i, page + low, !adds, mpk_aarch64_rd(word));
		if (mpk_aarch64_written(word) == page_in)
			return;
	}
}

static void sweep_aarch64(const struct sweep *s, struct mpk_span code, uint64_t address)
{
	for (size_t i = 0; i + 4 <= code.len; i += 4) {
		uint32_t word = mpk_load_u32(code.data + i);
		uint64_t to;

		if (mpk_aarch64_branch(word, address + i, &to))
			tell_branch(s, address + i, to);
		else if (mpk_aarch64_adr(word, address + i, &to))
			tell_operand(s, address + i, to, false, mpk_aarch64_rd(word));
		else if (mpk_aarch64_adrp(word, address + i, &to))
			tell_page(s, code, i, address, to);
	}
}

void mpk_reach_each(const struct mpk_reach *r, size_t piece,
		    void (*take)(void *arg, const struct mpk_reach_ref *ref), void *arg)
{
	const struct sweep s = { r, take, arg };
	struct mpk_span code = mpk_reach_code(r, piece);

	if (r->elf->header.e_machine == EM_X86_64) {
		/* call, jmp, jcc rel32; jmp rel8; lea, mov and loads of SSE, disp32(%rip); call
		 * and jmp *disp32(%rip) */
		uint64_t address = r->starts[piece];
		for (size_t i = 0; i + 2 <= code.len; i++) {
			const uint8_t *at = code.data + i;
			size_t left = code.len - i;
			uint64_t from = address + i;

			if (left >= 5 && (at[0] == 0xe8 || at[0] == 0xe9))
				tell_branch(&s, from, displaced(at + 1, from + 5));
			else if (at[0] == 0xeb)
				tell_branch(&s, from, from + 2 + (uint64_t)(int64_t)(int8_t)at[1]);
			else if (left >= 6 && at[0] == 0x0f && (at[1] & 0xf0) == 0x80)
				tell_branch(&s, from, displaced(at + 2, from + 6));
			else if (left >= 6 && at[0] == 0xff && (at[1] == 0x15 || at[1] == 0x25))
				tell_operand(&s, from, displaced(at + 2, from + 6), true,
					     no_register);
			else if (left >= 7 && at[0] == 0x0f && is_vector_load(at[1]) &&
				 (at[2] & 0xc7) == 0x05)
				tell_operand(&s, from, displaced(at + 3, from + 7), true,
					     no_register);
			else if (left >= 7 && (at[0] & 0xfb) == 0x48 &&
				 (at[1] == 0x8d || at[1] == 0x8b) && (at[2] & 0xc7) == 0x05)
				tell_operand(&s, from, displaced(at + 3, from + 7), at[1] == 0x8b,
					     (at[2] >> 3 & 7u) | (at[0] & 4u) << 1);
		}
	} else
		sweep_aarch64(&s, code, r->starts[piece]);
}

/* --- initializers ------------------------------------------------------------------------ */

struct initializers {
	const struct mpk_reach *reach;
	uint64_t from, bytes; /* address and size of DT_INIT_ARRAY */
	void (*take)(void *arg, size_t piece);
	void *arg;
};

static void take_initializer(const struct initializers *in, uint64_t address)
{
	size_t piece = reach_piece_around(in->reach, address);

	if (piece < in->reach->count)
		in->take(in->arg, piece);
}

static void reach_take_relocation(void *arg, const struct mpk_relocation *r)
{
	const struct initializers *in = arg;

	if (r->is_relative && r->has_addend && r->address - in->from < in->bytes)
		take_initializer(in, (uint64_t)r->addend);
}

/* Reports the words of the array that a relocation fills with an address in the library. */
static void take_words(const struct initializers *in)
{
	struct mpk_span bytes;
	uint64_t off, word;

	if (!mpk_elf_at_address(in->reach->elf, in->from, &bytes, &off))
		return;
	for (uint64_t i = 0; i + 8 <= in->bytes && i + 8 <= bytes.len; i += 8)
		if (mpk_elf_word(in->reach->elf, off + i, &word) && word && word != UINT64_MAX)
			take_initializer(in, word);
}

enum mpk_code mpk_reach_initializers(const struct mpk_reach *r,
				     void (*take)(void *arg, size_t piece), void *arg,
				     struct mpk_error *err)
{
	struct initializers in = { .reach = r, .take = take, .arg = arg };
	struct mpk_linking l;
	uint64_t init;

	if (!r->count)
		return MPK_OK;
	MPK_TRY(mpk_linking_open(r->elf, &l, err));
	if (mpk_dynamic_find(l.dynamic, l.count, DT_INIT, &init))
		take_initializer(&in, init);
	if (!mpk_dynamic_find(l.dynamic, l.count, DT_INIT_ARRAY, &in.from) ||
	    !mpk_dynamic_find(l.dynamic, l.count, DT_INIT_ARRAYSZ, &in.bytes))
		return MPK_OK;
	take_words(&in);
	return mpk_linking_relocations(&l, reach_take_relocation, &in, err);
}
