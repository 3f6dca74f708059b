/* SPDX-License-Identifier: Apache-2.0 */
/* plt.c - finds the function that a PLT entry calls, and the functions that a short piece of code
 * calls
 *
 * A library calls functions of other libraries through entries of a few instructions that jump to
 * an address in a slot. The entries have no names: the instructions are recognised, the address of
 * the slot is computed from them, and the relocation that fills the slot names the function. The
 * forms are those that linkers write for x86-64, AArch64 and RISC-V; other forms give no name.
 *
 * Code is searched for calls without being decoded: a match may be the middle of another
 * instruction. So callers compare the results with functions that exist. */

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/instructions.h"
#include "elf/symbols.h"

/* Recognises jmp *slot(%rip), after the endbr64 that CET requires. */
static bool x86_64_slot(struct mpk_span code, uint64_t address, uint64_t *slot)
{
	size_t at = code.len >= 4 && mpk_load_u32(code.data) == 0xfa1e0ff3 ? 4 : 0;

	if (code.len < at + 7)
		return false;
	at += code.data[at] == 0xf2; /* bnd */
	if (code.len < at + 6 || code.data[at] != 0xff || code.data[at + 1] != 0x25)
		return false;
	*slot = address + at + 6 + (uint64_t)(int64_t)(int32_t)mpk_load_u32(code.data + at + 2);
	return true;
}

/* adrp x16, page; ldr x17, [x16, #low], after a bti */
static bool aarch64_slot(struct mpk_span code, uint64_t address, uint64_t *slot)
{
	size_t at = code.len >= 4 && mpk_load_u32(code.data) == 0xd503245f ? 4 : 0;
	uint32_t adrp, ldr;
	uint64_t page, low;

	if (code.len < at + 8)
		return false;
	adrp = mpk_load_u32(code.data + at);
	ldr = mpk_load_u32(code.data + at + 4);
	if (!mpk_aarch64_adrp(adrp, address + at, &page) || mpk_aarch64_rd(adrp) != 16 ||
	    (ldr & 0xffc003ff) != 0xf9400211 || !mpk_aarch64_access(ldr, &low))
		return false;
	*slot = page + low;
	return true;
}

/* auipc t3, high; ld t3, low(t3) */
static bool riscv64_slot(struct mpk_span code, uint64_t address, uint64_t *slot)
{
	uint32_t high, low;

	if (code.len < 8)
		return false;
	high = mpk_load_u32(code.data);
	low = mpk_load_u32(code.data + 4);
	if ((high & 0xfff) != 0xe17 || (low & 0xfffff) != 0xe3e03)
		return false;
	*slot = address + (uint64_t)(int64_t)(int32_t)(high & 0xfffff000) +
		(uint64_t)(int64_t)((int32_t)low >> 20);
	return true;
}

/* Code of other machines is not recognised: its calls have no names. */
bool mpk_plt_slot(const struct mpk_elf *e, uint64_t address, uint64_t *slot)
{
	struct mpk_span code;
	uint64_t off;

	if (!mpk_elf_at_address(e, address, &code, &off))
		return false;
	switch (e->header.e_machine) {
	case EM_X86_64:
		return x86_64_slot(code, address, slot);
	case EM_AARCH64:
		return aarch64_slot(code, address, slot);
	case EM_RISCV:
		return e->header.e_ident[EI_CLASS] == ELFCLASS64 &&
		       riscv64_slot(code, address, slot);
	default:
		return false;
	}
}

/* The relocations that fill the slots. */
struct slots {
	Elf_Data *relocations;
	size_t count;
	struct mpk_symtab symbols;
};

/* Finds the relocations that the dynamic section names by these two tags. A library that calls no
 * other has none.
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code read_slots(const struct mpk_elf *e, int64_t where, int64_t size,
				struct slots *out, struct mpk_error *err)
{
	struct mpk_elf_table table = { .type = ELF_T_RELA, .what = "relocations" };
	Elf_Data *dynamic = NULL;
	struct mpk_span ignored;
	uint64_t address;
	size_t entries;

	*out = (struct slots){ 0 };
	MPK_TRY(mpk_dynamic_open(e, &dynamic, &entries, err));
	if (!entries || !mpk_dynamic_find(dynamic, entries, where, &address) ||
	    !mpk_dynamic_find(dynamic, entries, size, &table.size) ||
	    !mpk_elf_at_address(e, address, &ignored, &table.off))
		return MPK_OK;
	MPK_TRY(mpk_symtab_dynamic(e, &out->symbols, err));
	return mpk_elf_chunk(e, &table, &out->relocations, &out->count, err);
}

/* Returns the symbol of one relocation, and the address of its slot; NULL: it has no symbol, like
 * IRELATIVE. */
static const char *slot_name(const struct slots *s, size_t index, uint64_t *slot)
{
	struct mpk_symbol symbol;
	GElf_Rela r;

	if (!gelf_getrela(s->relocations, (int)index, &r) || !GELF_R_SYM(r.r_info) ||
	    GELF_R_SYM(r.r_info) >= s->symbols.count ||
	    mpk_symtab_get(&s->symbols, GELF_R_SYM(r.r_info), &symbol, NULL) != MPK_OK)
		return NULL;
	*slot = r.r_offset;
	return symbol.name;
}

/* --- all of them ---------------------------------------------------------------------- */

MPK_ORDER_BY2(by_slot, struct mpk_plt_name, slot, order)

/* Reads both tables: with full RELRO some linkers put slots into DT_RELA. */
enum mpk_code mpk_plt_names_read(const struct mpk_elf *e, struct mpk_plt_names *out,
				 struct mpk_error *err)
{
	struct slots tables[2];
	struct mpk_plt_names names = { 0 };

	*out = names;
	MPK_TRY(read_slots(e, DT_JMPREL, DT_PLTRELSZ, &tables[0], err));
	MPK_TRY(read_slots(e, DT_RELA, DT_RELASZ, &tables[1], err));
	names.items = calloc(tables[0].count + tables[1].count + 1, sizeof *names.items);
	MPK_TRY_ALLOC(names.items, err);
	for (size_t t = 0; t < MPK_ARRAY_COUNT(tables); t++)
		for (size_t i = 0; i < tables[t].count; i++) {
			struct mpk_plt_name *n = &names.items[names.count];

			n->name = slot_name(&tables[t], i, &n->slot);
			if (n->name)
				n->order = names.count++;
		}
	qsort(names.items, names.count, sizeof *names.items, by_slot);
	*out = names;
	return MPK_OK;
}

const char *mpk_plt_names_find(const struct mpk_plt_names *names, uint64_t slot)
{
	const struct mpk_plt_name key = { .slot = slot };
	size_t at = mpk_lower_bound(names->items, names->count, sizeof key, &key, by_slot);

	return at < names->count && names->items[at].slot == slot ? names->items[at].name : NULL;
}

void mpk_plt_names_fini(struct mpk_plt_names *names)
{
	free(names->items);
	*names = (struct mpk_plt_names){ 0 };
}

/* --- calls ---------------------------------------------------------------------------- */

/* e8: call rel32; e9: jmp rel32, a tail call. */
static bool x86_64_target(struct mpk_span code, size_t at, uint64_t address, uint64_t *out)
{
	if (at + 5 > code.len || (code.data[at] != 0xe8 && code.data[at] != 0xe9))
		return false;
	*out = address + at + 5 + (uint64_t)(int64_t)(int32_t)mpk_load_u32(code.data + at + 1);
	return true;
}

static bool aarch64_target(struct mpk_span code, size_t at, uint64_t address, uint64_t *out)
{
	return at % 4 == 0 && at + 4 <= code.len &&
	       mpk_aarch64_branch(mpk_load_u32(code.data + at), address + at, out);
}

/* Longer functions are not searched: the question is only whether a function does nothing but call
 * another one. */
size_t mpk_elf_callees(const struct mpk_elf *e, const struct mpk_plt_names *plt, uint64_t address,
		       uint64_t bytes, struct mpk_callee *out, size_t most)
{
	uint16_t machine = e->header.e_machine;
	struct mpk_span code;
	uint64_t off, slot;
	size_t count = 0;

	if ((machine != EM_X86_64 && machine != EM_AARCH64) || e->header.e_type == ET_REL ||
	    bytes > MPK_CALLER_BYTES || !mpk_elf_at_address(e, address, &code, &off) ||
	    !mpk_span_sub(code, 0, bytes, &code))
		return 0;
	for (size_t at = 0; at < code.len && count < most; at++) {
		struct mpk_callee c = { 0 };

		if (!(machine == EM_X86_64 ? x86_64_target : aarch64_target)(code, at, address,
									     &c.address))
			continue;
		if (mpk_plt_slot(e, c.address, &slot))
			c.symbol = mpk_plt_names_find(plt, slot);
		out[count++] = c;
	}
	return count;
}
