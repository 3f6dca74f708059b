/* SPDX-License-Identifier: Apache-2.0 */
/* dso.c - a shared library as a loader sees it: names, symbols, versions, and the loaders it
 * registers
 *
 * A runtime registers its loaders by name when it is loaded, and loading it is what --check must
 * not do. The names are string constants, so they are searched for in what is mapped: a text of one
 * of the two forms, ended by a NUL and not preceded by anything readable. A library that only
 * mentions such names in its messages has none.
 */
#include "compat/dso.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/symbols.h"

/* --- loaders ---------------------------------------------------------------------------- */

static const char *const prefixes[] = { "ffi.Module.load_from_bytes.", "module.loadbinary_" };

enum { KIND_MAX = 128 };

struct kinds {
	struct mpk_span *items;
	size_t count, cap;
};

static bool dso_is_text(uint8_t c)
{
	return c > ' ' && c < 0x7f;
}

/* The end of a name that is alone: letters, then a NUL. What is in a longer text (a message
 * that quotes such a name) has something readable in front; "runtime." is part of the older names. */
static bool take_kind(struct mpk_span bytes, size_t at, size_t prefix, struct mpk_span *kind)
{
	static const char runtime[] = "runtime.";
	size_t head = at, end = at + prefix, begin = sizeof runtime - 1;

	if (head >= begin && memcmp(bytes.data + head - begin, runtime, begin) == 0)
		head -= begin;
	if (head && (dso_is_text(bytes.data[head - 1]) || bytes.data[head - 1] == ' '))
		return false;
	while (end < bytes.len && end - at - prefix < KIND_MAX && dso_is_text(bytes.data[end]))
		end++;
	if (end == at + prefix || end == bytes.len || bytes.data[end])
		return false;
	*kind = mpk_span_of(bytes.data + at + prefix, end - at - prefix);
	return true;
}

/* Compilers merge equal strings, but a library made of several objects may have one twice. Few
 * kinds: a list is searched. */
static enum mpk_code add_kind(struct kinds *kinds, struct mpk_span kind, struct mpk_error *err)
{
	for (size_t i = 0; i < kinds->count; i++)
		if (mpk_span_equal(kinds->items[i], kind))
			return MPK_OK;
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&kinds->items, &kinds->cap, kinds->count + 1, sizeof *kinds->items),
		err);
	kinds->items[kinds->count++] = kind;
	return MPK_OK;
}

/* memmem from match to match: linear in the bytes. */
static enum mpk_code find_kinds(struct mpk_span bytes, struct kinds *kinds, struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		const uint8_t *at = bytes.data, *end = bytes.data + bytes.len;

		while (at && (at = memmem(at, (size_t)(end - at), prefixes[i], len))) {
			struct mpk_span kind;

			if (take_kind(bytes, (size_t)(at - bytes.data), len, &kind))
				MPK_TRY(add_kind(kinds, kind, err));
			at += len;
		}
	}
	return MPK_OK;
}

/* Constants stand in segments that are loaded and cannot be executed; older linkers put them into
 * the segment with the code. Debug information and the like is passed by. */
static enum mpk_code scan(const struct mpk_elf *e, struct kinds *kinds, struct mpk_error *err)
{
	struct mpk_span bytes;
	GElf_Phdr p;

	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_LOAD && mpk_span_sub(e->bytes, p.p_offset, p.p_filesz, &bytes) &&
		    bytes.len)
			MPK_TRY(find_kinds(bytes, kinds, err));
	return MPK_OK;
}

/* Read on demand and not with the rest: it goes through all bytes that are mapped, tens of
 * megabytes for a runtime. */
enum mpk_code mpk_dso_read_loaders(struct mpk_dso *dso, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct kinds kinds = { 0 };
	enum mpk_code code = mpk_elf_open(dso->map.bytes, 0, &elf, err);

	if (code == MPK_OK)
		code = scan(&elf, &kinds, err);
	if (code == MPK_OK) {
		dso->loaders = mpk_arena_keep(arena, kinds.items, kinds.count, sizeof *kinds.items);
		dso->loader_count = kinds.count;
		code = dso->loaders ? MPK_OK : mpk_fail_nomem(err);
	}
	free(kinds.items);
	return code;
}

/* --- the rest --------------------------------------------------------------------------- */

/* What others may bind to: not local, hidden or internal, and not what the library itself needs. */
static enum mpk_code dso_read_symbols(const struct mpk_elf *e, struct mpk_dso *out,
				      struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol s;
	size_t found;

	MPK_TRY(mpk_symtab_dynamic(e, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (!s.defined || s.bind == STB_LOCAL || s.visibility == STV_HIDDEN ||
		    s.visibility == STV_INTERNAL || !s.name[0])
			continue;
		if (mpk_strmap_put(&out->symbols, mpk_span_str(s.name), 0, &found) < 0)
			return mpk_fail_nomem(err);
	}
	return MPK_OK;
}

/* A library without a soname is known by its file name. */
static enum mpk_code read_soname(const struct mpk_elf *e, struct mpk_dso *out,
				 struct mpk_error *err)
{
	struct mpk_span strings;
	Elf_Data *dynamic = NULL;
	uint64_t at;
	size_t count;

	MPK_TRY(mpk_dynamic_open(e, &dynamic, &count, err));
	if (!count || !mpk_dynamic_find(dynamic, count, DT_SONAME, &at))
		return MPK_OK;
	MPK_TRY(mpk_dynamic_strings(e, dynamic, count, &strings, err));
	out->soname = mpk_elf_string(strings, at);
	return MPK_OK;
}

static enum mpk_code dso_read_all(struct mpk_arena *arena, struct mpk_dso *out,
				  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	if (!mpk_span_starts(out->map.bytes, ELFMAG))
		return mpk_fail(err, MPK_E_CORRUPT, "this is no ELF file");
	MPK_TRY(mpk_elf_open(out->map.bytes, 0, &elf, err));
	/* Position-independent programs are of this type, too. */
	if (elf.header.e_type != ET_DYN)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "this ELF file is no shared library");
	out->machine = elf.header.e_machine;
	out->elf_class = elf.header.e_ident[EI_CLASS];
	out->elf_data = elf.header.e_ident[EI_DATA];
	MPK_TRY(dso_read_symbols(&elf, out, err));
	MPK_TRY(read_soname(&elf, out, err));
	MPK_TRY(mpk_elf_needed(&elf, arena, &out->needed, &out->needed_count, err));
	return mpk_versions_defined(&elf, arena, &out->versions, &out->version_count, err);
}

/* Out stays untouched on failure; the error names the file, as the user has named another one. */
enum mpk_code mpk_dso_read(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
			   struct mpk_error *err)
{
	struct mpk_dso dso = { .path = path, .map.fd = -1 };
	enum mpk_code code;

	MPK_TRY(mpk_mapping_open(path, &dso.map, err));
	code = dso_read_all(arena, &dso, err);
	if (code != MPK_OK) {
		mpk_dso_close(&dso);
		mpk_error_at_file(err, path);
		return code;
	}
	*out = dso;
	return MPK_OK;
}

void mpk_dso_close(struct mpk_dso *dso)
{
	mpk_strmap_fini(&dso->symbols);
	mpk_strmap_fini(&dso->globals);
	mpk_mapping_close(&dso->map);
}

bool mpk_dso_defines(const struct mpk_dso *dso, const char *symbol)
{
	size_t value;

	return mpk_strmap_find(&dso->symbols, mpk_span_str(symbol), &value);
}
