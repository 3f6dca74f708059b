/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - the parts of cubins and AMD code objects that digests are made of */
#include "canon/internal/images.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

/* --- sections of a cubin (FORMAT.md 3.1), by their names: NVIDIA documents no contents ---- */

enum {
	OWNER_DOTS = 6, /* most dots before the function's name in the name of a section */
};

/* Whether a section is left out: the driver does not use it, it follows from the code, or it
 * belongs to the second form of the code in cubins for sm_100 and later. The instructions of the
 * second form count. */
static bool is_noise(struct mpk_span name)
{
	static const char *const beginnings[] = { ".debug",        ".nv_debug",   ".note",
						  ".comment",      ".nv.merc.",   ".nv.callgraph",
						  ".nv.prototype", ".nv.rel.",    ".symtab",
						  ".strtab",       ".shstrtab",   ".rel.debug",
						  ".rela.debug",   ".rel.nv_deb", ".rela.nv_deb",
						  ".nv.reservedSm" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(beginnings); i++)
		if (mpk_span_starts(name, beginnings[i]))
			return true;
	return !name.len;
}

static bool is_variables(struct mpk_span name)
{
	return mpk_span_is(name, ".nv.global") || mpk_span_is(name, ".nv.global.init");
}

/* Finds the function at the end of a section's name: ".nv.info.add" and ".nv.capmerc.text.add"
 * belong to add. */
static bool find_owner(const struct mpk_canon_sections *f, struct mpk_canon_section *s,
		       size_t *node)
{
	struct mpk_span name = s->head.name;

	for (size_t at = 1, dots = 1; at < name.len && dots < OWNER_DOTS; at++) {
		if (name.data[at] != '.')
			continue;
		dots++;
		if (!mpk_strmap_find(&f->code, mpk_span_from(name, at + 1), node))
			continue;
		s->base = mpk_span_of(name.data, at + 1);
		return true;
	}
	return false;
}

/* Section 0 does not exist, so node 0 can be the rest of the image. */
static void give_roles(struct mpk_canon_sections *f)
{
	for (size_t i = 1; i < f->elf.section_count; i++) {
		struct mpk_canon_section *s = &f->items[i];
		bool moves =
			s->head.type == MPK_CUBIN_SHT_REL || s->head.type == MPK_CUBIN_SHT_RELA;
		size_t node = 0;

		if (s->role == MPK_CANON_TEXT || is_noise(s->head.name))
			continue;
		s->role = moves ? MPK_CANON_RELOCATIONS : MPK_CANON_COMMON;
		if (!moves && find_owner(f, s, &node))
			s->role = MPK_CANON_OF_TEXT;
		else if (!moves && is_variables(s->head.name))
			s->role = MPK_CANON_DATA;
		else if (mpk_span_is(s->head.name, ".nv.info"))
			s->role = MPK_CANON_INFO;
		s->node = (uint32_t)(s->role == MPK_CANON_DATA ? i : node);
	}
}

enum mpk_code mpk_canon_sections_read(struct mpk_canon_sections *f, struct mpk_error *err)
{
	static const char text[] = ".text.";

	f->items = calloc(f->elf.section_count, sizeof *f->items);
	MPK_TRY_ALLOC(f->items, err);
	for (size_t i = 0; i < f->elf.section_count; i++) {
		struct mpk_canon_section *s = &f->items[i];

		MPK_TRY(mpk_cubin_elf_section(&f->elf, i, &s->head, err));
		MPK_TRY(mpk_canon_spend(&f->left, "cubin", s->head.name.len, err));
		s->base = s->head.name;
		if (!mpk_span_starts(s->head.name, text))
			continue;
		s->role = MPK_CANON_TEXT;
		s->node = (uint32_t)i;
		s->base = mpk_span_str(text);
		MPK_TRY_ALLOC(mpk_strmap_put(&f->code, mpk_span_from(s->head.name, sizeof text - 1),
					     i, NULL) >= 0,
			      err);
	}

	for (size_t i = 0; i < f->elf.section_count; i++) {
		const struct mpk_cubin_section *s = &f->items[i].head;

		if (s->type != MPK_CUBIN_SHT_SYMTAB || s->link >= f->elf.section_count)
			continue;
		MPK_TRY(mpk_cubin_elf_data(&f->elf, s, &f->symbols, err));
		MPK_TRY(mpk_cubin_elf_data(&f->elf, &f->items[s->link].head, &f->strings, err));
		f->symbol_count = f->symbols.len / MPK_CUBIN_SYMBOL_BYTES;
		break;
	}
	give_roles(f);
	return MPK_OK;
}

/* --- AMD code objects: functions and variables with their bytes, and the words that a loader fills
 * in. In a stripped object only the symbols that a loader sees are known, which include kernels
 * ----------------- */

enum {
	STT_OBJECT = 1,
	STT_FUNC = 2,
	RELA_BYTES = 24,
};

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

/* Returns false if the symbol is not a function or variable of the file. */
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

MPK_ORDER_BY(amd_by_slot, struct mpk_canon_slot, address)

/* Relocations refer to the symbols that a loader sees. */
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
		MPK_TRY_ALLOC(MPK_VEC_ROOM(o->slots, o->slot_count, o->slot_cap), err);
		o->slots[o->slot_count++] = slot;
	}
	return MPK_OK;
}

enum mpk_code mpk_canon_object_read(struct mpk_canon_object *o, struct mpk_error *err)
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

	/* No compiler makes a code object with two kernels of one name. */
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

	MPK_TRY(amd_read_symbols(o, err));

	for (size_t i = 0; i < o->elf.section_count; i++)
		if (o->sections[i].type == MPK_CUBIN_SHT_RELA &&
		    (o->sections[i].flags & MPK_CANON_SHF_ALLOC))
			MPK_TRY(amd_read_relocations(o, &o->sections[i], err));
	if (o->slot_count)
		qsort(o->slots, o->slot_count, sizeof *o->slots, amd_by_slot);
	return MPK_OK;
}
