/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu_object.c - the functions and variables of an AMD code object with their bytes, and what a loader fills in
 *
 * Of an object that was stripped those that a loader sees are known, kernels among them. */
#include "canon/internal/images.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

enum {
	STT_OBJECT = 1,
	STT_FUNC = 2,
	RELA_BYTES = 24,
};

/* --- sections, symbols, what a loader fills in ------------------------------------------------- */

static enum mpk_code read_tables(struct mpk_canon_object *o, struct mpk_error *err)
{
	o->sections = calloc(o->elf.section_count, sizeof *o->sections);
	MPK_TRY_ALLOC(o->sections, err);
	for (size_t i = 0; i < o->elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&o->elf, i, &o->sections[i], err));
		MPK_TRY(mpk_canon_spend(&o->left, "code object", o->sections[i].name.len, err));
	}
	for (size_t i = 0; i < o->elf.section_count; i++) {
		const struct mpk_cubin_section *s = &o->sections[i];
		bool better = s->type == MPK_CUBIN_SHT_SYMTAB ||
			      (s->type == MPK_CUBIN_SHT_DYNSYM && !o->symbols.len);

		if (!better || s->link >= o->elf.section_count)
			continue;
		MPK_TRY(mpk_cubin_elf_data(&o->elf, s, &o->symbols, err));
		MPK_TRY(mpk_cubin_elf_data(&o->elf, &o->sections[s->link], &o->strings, err));
	}
	return MPK_OK;
}

static struct mpk_span descriptor_name(const struct mpk_amdgpu_kernel *k)
{
	return k->symbol.len ? k->symbol : k->name;
}

/* "add" of "add.kd" */
static struct mpk_span function_name(const struct mpk_amdgpu_kernel *k)
{
	struct mpk_span s = descriptor_name(k);

	if (s.len > 3 && memcmp(s.data + s.len - 3, ".kd", 3) == 0)
		s.len -= 3;
	return s;
}

/* Two kernels of a name are no code object that a compiler makes. */
static enum mpk_code name_kernels(struct mpk_canon_object *o, struct mpk_error *err)
{
	for (size_t i = 0; i < o->object->kernel_count; i++) {
		const struct mpk_amdgpu_kernel *k = &o->object->kernels[i];
		int rc = mpk_strmap_put(&o->kernels, descriptor_name(k), i + 1, NULL);

		if (rc > 0 && !mpk_span_equal(descriptor_name(k), function_name(k)))
			rc = mpk_strmap_put(&o->kernels, function_name(k), i + 1, NULL);
		MPK_TRY_ALLOC(rc >= 0, err);
		if (!rc)
			return mpk_fail(err, MPK_E_CORRUPT,
					"code object: two kernels have one name");
	}
	return MPK_OK;
}

/* false: it is neither function nor variable of the file. */
static bool place_of(const struct mpk_canon_object *o, const struct mpk_cubin_symbol *s,
		     struct mpk_canon_place *out)
{
	const struct mpk_cubin_section *in;

	if (!s->section || s->section >= o->elf.section_count ||
	    (s->type != STT_FUNC && s->type != STT_OBJECT))
		return false;
	in = &o->sections[s->section];
	*out = (struct mpk_canon_place){ .address = s->value,
					 .size = s->size,
					 .name = s->name,
					 .is_function = s->type == STT_FUNC };
	if (s->value < in->address || s->value - in->address > in->size ||
	    s->size > in->size - (s->value - in->address))
		return false;
	return in->type == MPK_CUBIN_SHT_NOBITS ||
	       mpk_span_sub(o->elf.bytes, in->off + (s->value - in->address), s->size, &out->bytes);
}

static int amd_by_address(const void *a, const void *b)
{
	const struct mpk_canon_place *x = a, *y = b;

	return x->address != y->address ? (x->address > y->address ? 1 : -1)
					: mpk_span_compare(x->name, y->name);
}

static enum mpk_code amd_read_symbols(struct mpk_canon_object *o, struct mpk_error *err)
{
	size_t count = o->symbols.len / MPK_CUBIN_SYMBOL_BYTES;

	o->places = calloc(count + 1, sizeof *o->places);
	MPK_TRY_ALLOC(o->places, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_canon_place *p = &o->places[o->place_count];
		struct mpk_cubin_symbol s;

		MPK_TRY(mpk_cubin_elf_symbol(&o->elf, o->symbols, o->strings, i, &s, err));
		MPK_TRY(mpk_canon_spend(&o->left, "code object", s.name.len, err));
		if (!place_of(o, &s, p))
			continue;
		(void)mpk_strmap_find(&o->kernels, s.name, &p->kernel);
		o->place_count++;
	}
	qsort(o->places, o->place_count, sizeof *o->places, amd_by_address);
	return MPK_OK;
}

static int amd_by_slot(const void *a, const void *b)
{
	const struct mpk_canon_slot *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* The symbols are those that a loader sees. */
static enum mpk_code amd_read_relocations(struct mpk_canon_object *o,
					  const struct mpk_cubin_section *s, struct mpk_error *err)
{
	struct mpk_span data, symbols = { 0 }, strings = { 0 };

	if (s->link && s->link < o->elf.section_count &&
	    o->sections[s->link].link < o->elf.section_count) {
		const struct mpk_cubin_section *table = &o->sections[s->link];

		MPK_TRY(mpk_cubin_elf_data(&o->elf, table, &symbols, err));
		MPK_TRY(mpk_cubin_elf_data(&o->elf, &o->sections[table->link], &strings, err));
	}
	MPK_TRY(mpk_cubin_elf_data(&o->elf, s, &data, err));
	MPK_TRY(mpk_canon_spend(&o->left, "code object", data.len, err));
	for (size_t at = 0; at + RELA_BYTES <= data.len; at += RELA_BYTES) {
		const uint8_t *p = data.data + at;
		uint64_t info = mpk_load_u64(p + 8);
		struct mpk_canon_slot slot = { .address = mpk_load_u64(p),
					       .type = info & UINT32_MAX,
					       .target = mpk_load_u64(p + 16) };
		struct mpk_cubin_symbol symbol;

		if (info >> 32 && info >> 32 < symbols.len / MPK_CUBIN_SYMBOL_BYTES) {
			MPK_TRY(mpk_cubin_elf_symbol(&o->elf, symbols, strings, info >> 32, &symbol,
						     err));
			MPK_TRY(mpk_canon_spend(&o->left, "code object", symbol.name.len, err));
			slot.name = symbol.name;
		}
		MPK_TRY_ALLOC(mpk_vec_reserve(&o->slots, &o->slot_cap, o->slot_count + 1,
					      sizeof *o->slots),
			      err);
		o->slots[o->slot_count++] = slot;
	}
	return MPK_OK;
}

static enum mpk_code amd_read_slots(struct mpk_canon_object *o, struct mpk_error *err)
{
	for (size_t i = 0; i < o->elf.section_count; i++)
		if (o->sections[i].type == MPK_CUBIN_SHT_RELA &&
		    (o->sections[i].flags & MPK_CANON_SHF_ALLOC))
			MPK_TRY(amd_read_relocations(o, &o->sections[i], err));
	if (o->slot_count)
		qsort(o->slots, o->slot_count, sizeof *o->slots, amd_by_slot);
	return MPK_OK;
}

enum mpk_code mpk_canon_object_read(struct mpk_canon_object *o, struct mpk_error *err)
{
	MPK_TRY(read_tables(o, err));
	MPK_TRY(name_kernels(o, err));
	MPK_TRY(amd_read_symbols(o, err));
	return amd_read_slots(o, err);
}
