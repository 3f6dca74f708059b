/* SPDX-License-Identifier: Apache-2.0 */
/* versions.c - the tables of required and defined symbol versions
 *
 * Both tables are lists of records. A record gives the distance to the next one, and has a list of
 * its own. A record takes at least 16 bytes, so a table with more records than fit in the file is
 * circular; the same is true of all lists together. */

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/symbols.h"

/* Field offsets of Elfxx_Verneed, Vernaux, Verdef and Verdaux, which are equal in both classes. */
enum {
	NEED_COUNT = 2,
	NEED_FILE = 4,
	NEED_AUX = 8,
	NEED_NEXT = 12,
	AUX_FLAGS = 4,
	AUX_OTHER = 6,
	AUX_NAME = 8,
	AUX_NEXT = 12,
	DEF_FLAGS = 2,
	DEF_INDEX = 4,
	DEF_AUX = 12,
	DEF_NEXT = 16,
	DEFAUX_NAME = 0,
	LEAST_BYTES = 16,
};

struct table {
	const struct mpk_elf *elf;
	struct mpk_span strings;
	uint64_t off;  /* offset of the next record in the file */
	uint64_t left; /* number of records left */
};

static enum mpk_code versions_fail(const struct table *t, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", t->elf->base + t->off,
			       "a table of symbol versions does not read");
}

static bool u16(const struct table *t, uint64_t off, uint16_t *out)
{
	struct mpk_span s;

	if (!mpk_span_sub(t->elf->bytes, off, 2, &s))
		return false;
	*out = mpk_load_u16(s.data);
	if (t->elf->header.e_ident[EI_DATA] == ELFDATA2MSB)
		*out = (uint16_t)(s.data[0] << 8 | s.data[1]);
	return true;
}

/* out->left is 0 if there is no such table, or if it has no count (count_tag 0). */
static enum mpk_code open_table(const struct mpk_elf *e, int64_t tag, int64_t count_tag,
				struct table *out, struct mpk_error *err)
{
	Elf_Data *dynamic = NULL;
	struct mpk_span rest;
	uint64_t address;
	size_t entries;

	*out = (struct table){ .elf = e };
	MPK_TRY(mpk_dynamic_open(e, &dynamic, &entries, err));
	if (!entries || !mpk_dynamic_find(dynamic, entries, tag, &address) ||
	    (count_tag && !mpk_dynamic_find(dynamic, entries, count_tag, &out->left)))
		return MPK_OK;
	MPK_TRY(mpk_dynamic_strings(e, dynamic, entries, &out->strings, err));
	if (!mpk_elf_at_address(e, address, &rest, &out->off) ||
	    out->left > e->bytes.len / LEAST_BYTES)
		return versions_fail(out, err);
	return MPK_OK;
}

static enum mpk_code versions_name_at(const struct table *t, uint64_t off, const char **out,
				      struct mpk_error *err)
{
	uint32_t name;

	*out = mpk_elf_u32(t->elf, off, &name) ? mpk_elf_string(t->strings, name) : NULL;
	return *out ? MPK_OK : versions_fail(t, err);
}

/* A version of a library that the file requires. */
struct requirement {
	const char *file, *version;
	uint16_t index; /* with VERSYM_HIDDEN */
	bool is_weak;
};

/* Calls take for each required version, in file order. */
static enum mpk_code each_needed(struct table *t,
				 enum mpk_code (*take)(void *arg, const struct requirement *r,
						       struct mpk_error *err),
				 void *arg, struct mpk_error *err)
{
	size_t most = t->elf->bytes.len / LEAST_BYTES, names = 0;
	uint64_t name_bytes = 0;
	uint32_t next, step, aux;

	for (; t->left; t->left--, t->off += next) {
		struct requirement r;
		uint64_t at = t->off;
		uint16_t count, flags;

		if (!u16(t, at + NEED_COUNT, &count) || !mpk_elf_u32(t->elf, at + NEED_AUX, &aux) ||
		    !mpk_elf_u32(t->elf, at + NEED_NEXT, &next) || most < count)
			return versions_fail(t, err);
		most -= count;
		MPK_TRY(versions_name_at(t, at + NEED_FILE, &r.file, err));
		name_bytes += strlen(r.file);
		names++;
		for (at += aux; count; count--, at += step) {
			if (!u16(t, at + AUX_OTHER, &r.index) || !u16(t, at + AUX_FLAGS, &flags) ||
			    !mpk_elf_u32(t->elf, at + AUX_NEXT, &step))
				return versions_fail(t, err);
			MPK_TRY(versions_name_at(t, at + AUX_NAME, &r.version, err));
			name_bytes += strlen(r.version);
			MPK_TRY(mpk_elf_check_names("symbol versions", t->elf->base,
						    t->elf->bytes.len, ++names, name_bytes, err));
			r.is_weak = flags & VER_FLG_WEAK;
			MPK_TRY(take(arg, &r, err));
		}
	}
	return MPK_OK;
}

/* Reads the record at t->off: a version that the file defines, and its first name. */
static enum mpk_code read_definition(const struct table *t, const char **name, uint16_t *index,
				     uint16_t *flags, uint32_t *next, struct mpk_error *err)
{
	uint32_t aux;

	if (!u16(t, t->off + DEF_INDEX, index) || !u16(t, t->off + DEF_FLAGS, flags) ||
	    !mpk_elf_u32(t->elf, t->off + DEF_AUX, &aux) ||
	    !mpk_elf_u32(t->elf, t->off + DEF_NEXT, next))
		return versions_fail(t, err);
	return versions_name_at(t, t->off + aux + DEFAUX_NAME, name, err);
}

struct needs {
	struct mpk_version_need *items;
	size_t count, cap;
};

static enum mpk_code list_need(void *arg, const struct requirement *r, struct mpk_error *err)
{
	struct needs *n = arg;

	MPK_TRY_ALLOC(MPK_VEC_ROOM(n->items, n->count, n->cap), err);
	n->items[n->count++] = (struct mpk_version_need){ r->file, r->version, r->is_weak };
	return MPK_OK;
}

enum mpk_code mpk_versions_needed(const struct mpk_elf *e, struct mpk_arena *arena,
				  const struct mpk_version_need **out, size_t *count,
				  struct mpk_error *err)
{
	struct needs needs = { 0 };
	struct table t;
	enum mpk_code code = open_table(e, DT_VERNEED, DT_VERNEEDNUM, &t, err);

	if (code == MPK_OK)
		code = each_needed(&t, list_need, &needs, err);
	if (code == MPK_OK) {
		*out = mpk_arena_keep(arena, needs.items, needs.count, sizeof *needs.items);
		*count = needs.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(needs.items);
	return code;
}

enum mpk_code mpk_versions_defined(const struct mpk_elf *e, struct mpk_arena *arena,
				   const char *const **out, size_t *count, struct mpk_error *err)
{
	const char **names;
	uint16_t index, flags;
	struct table t;
	uint32_t next;
	size_t n = 0;

	MPK_TRY(open_table(e, DT_VERDEF, DT_VERDEFNUM, &t, err));
	MPK_TRY_ARRAY(names, arena, (size_t)t.left, err);
	for (; t.left; t.left--, t.off += next)
		MPK_TRY(read_definition(&t, &names[n++], &index, &flags, &next, err));
	*out = names;
	*count = n;
	return MPK_OK;
}

/* --- symbols ---------------------------------------------------------------------------- */

/* Values of DT_VERSYM: 0 and 1 are no version; bit 15 hides the symbol from references without a
 * version. */
enum { VERSYM_NONE = 1, VERSYM_MASK = 0x7fff };

static bool is_undefined(const struct mpk_symbol *s)
{
	return !s->defined && !s->common && s->bind == STB_GLOBAL && s->name[0];
}

enum mpk_code mpk_versions_undefined(const struct mpk_elf *e, struct mpk_arena *arena,
				     const struct mpk_undefined **out, size_t *count,
				     struct mpk_error *err)
{
	struct table needs, versions;
	struct mpk_undefined *list;
	struct mpk_symtab symbols;
	struct mpk_symbol s;
	uint16_t version;
	size_t n = 0;

	/* DT_VERSYM has no count: it has one entry for each symbol */
	MPK_TRY(open_table(e, DT_VERNEED, DT_VERNEEDNUM, &needs, err));
	MPK_TRY(open_table(e, DT_VERSYM, 0, &versions, err));
	MPK_TRY(mpk_symtab_dynamic(e, &symbols, err));
	MPK_TRY_ARRAY(list, arena, symbols.count, err);
	for (size_t i = 1; i < symbols.count; i++) {
		MPK_TRY(mpk_symtab_get(&symbols, i, &s, err));
		if (!is_undefined(&s))
			continue;
		list[n].name = s.name;
		list[n].index = i;
		list[n].any_version = needs.left > 0;
		list[n++].has_version = versions.off &&
					u16(&versions, versions.off + 2 * i, &version) &&
					(version & VERSYM_MASK) > VERSYM_NONE;
	}
	*out = list;
	*count = n;
	return MPK_OK;
}

/* --- the version of each symbol --------------------------------------------------------------- */

enum { VERSYM_HIDDEN = 0x8000, INDICES = VERSYM_MASK + 1 };

/* Returns the entry of an index; the tables may use indices in any order. */
static struct mpk_version *version_at(struct mpk_versions *v, uint16_t index)
{
	index &= VERSYM_MASK;
	if (index >= v->count)
		v->count = (size_t)index + 1;
	return &v->items[index];
}

static enum mpk_code take_needed(void *arg, const struct requirement *r, struct mpk_error *err)
{
	(void)err; /* items has space for every index */
	*version_at(arg, r->index) = (struct mpk_version){ .name = r->version,
							   .file = r->file,
							   .is_hidden = r->index & VERSYM_HIDDEN };
	return MPK_OK;
}

/* The first entry (VER_FLG_BASE) names the file and is not a version. */
static enum mpk_code take_defined(struct table *t, struct mpk_versions *v, struct mpk_error *err)
{
	uint32_t next;

	for (; t->left; t->left--, t->off += next) {
		struct mpk_version version = { 0 };
		uint16_t index, flags;

		MPK_TRY(read_definition(t, &version.name, &index, &flags, &next, err));
		v->defines = true;
		if (!(flags & VER_FLG_BASE))
			*version_at(v, index) = version;
	}
	return MPK_OK;
}

enum mpk_code mpk_versions_read(const struct mpk_elf *e, struct mpk_arena *arena,
				struct mpk_versions *out, struct mpk_error *err)
{
	struct mpk_versions v = { .elf = e };
	struct table needed, defined, symbols;

	MPK_TRY(open_table(e, DT_VERNEED, DT_VERNEEDNUM, &needed, err));
	MPK_TRY(open_table(e, DT_VERDEF, DT_VERDEFNUM, &defined, err));
	MPK_TRY(open_table(e, DT_VERSYM, 0, &symbols, err));
	*out = v;
	if (!symbols.off)
		return MPK_OK;
	v.symbols_off = symbols.off;
	v.items = calloc(INDICES, sizeof *v.items);
	MPK_TRY_ALLOC(v.items, err);

	struct mpk_version *all = v.items;
	enum mpk_code code = each_needed(&needed, take_needed, &v, err);

	if (code == MPK_OK)
		code = take_defined(&defined, &v, err);
	v.items = code == MPK_OK ? mpk_arena_keep(arena, all, v.count, sizeof *all) : NULL;
	if (code == MPK_OK && !v.items)
		code = mpk_fail_nomem(err);
	free(all);
	if (code == MPK_OK)
		*out = v;
	return code;
}

const struct mpk_version *mpk_versions_of(const struct mpk_versions *v, size_t symbol,
					  unsigned *index, bool *is_hidden)
{
	struct table t = { .elf = v->elf };
	uint16_t value = 0;

	if (v->symbols_off && !u16(&t, v->symbols_off + 2 * (uint64_t)symbol, &value))
		value = 0;
	*index = value & VERSYM_MASK;
	*is_hidden = value & VERSYM_HIDDEN;
	return *index < v->count && v->items[*index].name ? &v->items[*index] : NULL;
}
