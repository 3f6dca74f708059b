/* SPDX-License-Identifier: Apache-2.0 */
/* dso.c - a shared library as a loader sees it: names, symbols, versions, and the loaders of
 * modules that it registers
 *
 * A runtime registers its loaders by name when it is loaded, but --check must not load it. The
 * names are string constants, so the loaded segments are searched for them: one of two prefixes,
 * letters, then a NUL, with nothing readable before it. A library that only mentions such names in
 * its messages registers none. */
#include "compat/dso.h"

#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/vec.h"
#include "elf/symbols.h"

/* --- loaders of modules --------------------------------------------------------------------- */

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

/* Reads a name: letters after the prefix, then a NUL. In a longer text, such as a message that
 * quotes the name, something readable comes before it. "runtime." is part of the older names. */
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

/* Compilers merge equal strings, but a library made of several objects may have one twice. There
 * are few kinds, so the list is searched. */
static enum mpk_code add_kind(struct kinds *kinds, struct mpk_span kind, struct mpk_error *err)
{
	for (size_t i = 0; i < kinds->count; i++)
		if (mpk_span_equal(kinds->items[i], kind))
			return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(kinds->items, kinds->count, kinds->cap), err);
	kinds->items[kinds->count++] = kind;
	return MPK_OK;
}

/* Uses memmem from match to match, so the time is linear in the bytes. */
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

/* Constants are in loaded segments that are not executable; older linkers put them into the segment
 * with the code. Sections that are not loaded, such as debug information, are skipped. */
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

/* Called on demand only, because it reads all loaded bytes, which are tens of megabytes for a
 * runtime. */
enum mpk_code mpk_dso_read_loaders(struct mpk_dso *dso, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	struct kinds kinds = { 0 };
	enum mpk_code code = scan(&dso->elf, &kinds, err);

	if (code == MPK_OK) {
		dso->loaders = mpk_arena_keep(arena, kinds.items, kinds.count, sizeof *kinds.items);
		dso->loader_count = kinds.count;
		code = dso->loaders ? MPK_OK : mpk_fail_nomem(err);
	}
	free(kinds.items);
	return code;
}

/* --- definitions --------------------------------------------------------------------------- */

/* Whether the dynamic linker binds a reference to a symbol of this type and binding. A symbol
 * of value 0 in a section is not a definition. */
static bool is_definition(const struct mpk_symbol *s)
{
	bool has_type = s->type == STT_NOTYPE || s->type == STT_OBJECT || s->type == STT_FUNC ||
			s->type == STT_COMMON || s->type == STT_TLS || s->type == STT_GNU_IFUNC;

	return s->defined && has_type &&
	       (s->bind == STB_GLOBAL || s->bind == STB_WEAK || s->bind == STB_GNU_UNIQUE) &&
	       s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL && s->name[0] &&
	       /* an absolute symbol of value 0 is a definition */
	       (s->value || s->type == STT_TLS || !s->section);
}

/* A library without dynamic symbols defines nothing. */
static enum mpk_code dso_read_symbols(struct mpk_dso *d, struct mpk_arena *arena,
				      struct mpk_error *err)
{
	struct mpk_error ignored = { 0 };
	struct mpk_linking l;
	enum mpk_code code;

	MPK_TRY(mpk_symtab_loaded(&d->elf, &d->table, err));
	MPK_TRY(mpk_versions_read(&d->elf, arena, &d->versions, err));
	code = mpk_linking_open(&d->elf, &l, &ignored);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code == MPK_OK) {
		d->hash = mpk_arena_alloc(arena, sizeof *d->hash);
		MPK_TRY_ALLOC(d->hash, err);
		mpk_hash_open(&l, &d->table, d->hash);
		if (d->hash->exists)
			return MPK_OK;
		d->hash = NULL;
	}

	/* Without a hash table: a map from each name to a symbol, and from each symbol to the next of its
	 * name. */
	struct mpk_symbol s;
	size_t last;

	MPK_TRY_ARRAY(d->next_of_name, arena, d->table.count + 1, err);
	memset(d->next_of_name, 0, (d->table.count + 1) * sizeof *d->next_of_name);
	for (size_t i = d->table.count; i-- > 1;) {
		int added;

		MPK_TRY(mpk_symtab_get(&d->table, i, &s, err));
		if (!is_definition(&s) || i > UINT32_MAX)
			continue;
		added = mpk_strmap_put(&d->names, mpk_span_str(s.name), i, &last);
		MPK_TRY_ALLOC(added >= 0, err);
		/* the map has the last symbol of a name; the others follow through next_of_name */
		if (!added) {
			d->next_of_name[i] = d->next_of_name[last];
			d->next_of_name[last] = (uint32_t)i;
		}
	}
	return MPK_OK;
}

static size_t next_symbol(const struct mpk_dso *d, const char *name, size_t after)
{
	size_t first;

	if (d->hash)
		return mpk_hash_next(d->hash, name, after);
	if (after)
		return d->next_of_name[after];
	return mpk_strmap_find(&d->names, mpk_span_str(name), &first) ? first : 0;
}

/* Indices 1 and 2 are symbols from before the first version. A reference without a version finds a
 * symbol with a later index only if the symbol is not hidden. */
enum { FIRST_LATER_VERSION = 3 };

bool mpk_dso_binds(const struct mpk_dso *dso, const char *symbol, const struct mpk_version *version)
{
	size_t later = 0;
	struct mpk_symbol s;

	for (size_t i = next_symbol(dso, symbol, 0); i; i = next_symbol(dso, symbol, i)) {
		const struct mpk_version *own;
		unsigned index;
		bool is_hidden;

		if (mpk_symtab_get(&dso->table, i, &s, NULL) != MPK_OK || !is_definition(&s))
			continue;
		own = mpk_versions_of(&dso->versions, i, &index, &is_hidden);
		if (!dso->versions.symbols_off)
			return true;
		if (!version && index < FIRST_LATER_VERSION)
			return true;
		if (!version)
			later += !is_hidden;
		else if (own ? strcmp(own->name, version->name) == 0
			     : !version->is_hidden && !is_hidden)
			return true;
	}
	return later == 1;
}

bool mpk_dso_defines(const struct mpk_dso *dso, const char *symbol)
{
	struct mpk_symbol s;

	for (size_t i = next_symbol(dso, symbol, 0); i; i = next_symbol(dso, symbol, i))
		if (mpk_symtab_get(&dso->table, i, &s, NULL) == MPK_OK && is_definition(&s))
			return true;
	return false;
}

/* --- other entries of the dynamic section --------------------------------------------------- */

/* A library without a soname is known by its file name. DT_RPATH counts only if there is no
 * DT_RUNPATH. */
static enum mpk_code read_texts(struct mpk_dso *out, struct mpk_error *err)
{
	const uint64_t df_1_nodeflib = 0x800;
	struct mpk_span strings;
	Elf_Data *dynamic = NULL;
	uint64_t at;
	size_t count;

	MPK_TRY(mpk_dynamic_open(&out->elf, &dynamic, &count, err));
	if (!count)
		return MPK_OK;
	MPK_TRY(mpk_dynamic_strings(&out->elf, dynamic, count, &strings, err));
	if (mpk_dynamic_find(dynamic, count, DT_SONAME, &at))
		out->soname = mpk_elf_string(strings, at);
	if (mpk_dynamic_find(dynamic, count, DT_RUNPATH, &at))
		out->runpath = mpk_elf_string(strings, at);
	else if (mpk_dynamic_find(dynamic, count, DT_RPATH, &at))
		out->rpath = mpk_elf_string(strings, at);
	out->no_system = mpk_dynamic_find(dynamic, count, DT_FLAGS_1, &at) && at & df_1_nodeflib;
	return MPK_OK;
}

static enum mpk_code dso_read_all(uint64_t base, bool is_host, struct mpk_arena *arena,
				  struct mpk_dso *out, struct mpk_error *err)
{
	if (!mpk_span_starts(out->bytes, ELFMAG))
		return mpk_fail(err, MPK_E_CORRUPT, "this is no ELF file");
	MPK_TRY(mpk_elf_open_mapped(out->bytes, base, &out->elf, NULL, err));
	/* Position-independent programs are ET_DYN, too. */
	if (out->elf.header.e_type != ET_DYN && !(is_host && out->elf.header.e_type == ET_EXEC))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "this ELF file is no shared library");
	out->machine = out->elf.header.e_machine;
	out->elf_class = out->elf.header.e_ident[EI_CLASS];
	out->elf_data = out->elf.header.e_ident[EI_DATA];
	MPK_TRY(dso_read_symbols(out, arena, err));
	MPK_TRY(read_texts(out, err));
	return mpk_elf_needed(&out->elf, arena, &out->needed, &out->needed_count, err);
}

/* The error gets the path, because it is not the file that the user named. */
static enum mpk_code read_path(const char *path, bool is_host, struct mpk_arena *arena,
			       struct mpk_dso *out, struct mpk_error *err)
{
	enum mpk_code code;

	*out = (struct mpk_dso){ .path = path, .map.fd = -1 };
	MPK_TRY(mpk_mapping_open(path, &out->map, err));
	/* this file does not count as input: an input that names large libraries must not be allowed to
	 * unpack more */
	mpk_account_close(out->map.input_bytes);
	out->map.input_bytes = 0;
	out->bytes = out->map.bytes;
	code = dso_read_all(0, is_host, arena, out, err);
	if (code != MPK_OK) {
		mpk_dso_close(out);
		mpk_error_at_file(err, path);
	}
	return code;
}

enum mpk_code mpk_dso_read(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
			   struct mpk_error *err)
{
	return read_path(path, false, arena, out, err);
}

enum mpk_code mpk_dso_read_host(const char *path, struct mpk_arena *arena, struct mpk_dso *out,
				struct mpk_error *err)
{
	return read_path(path, true, arena, out, err);
}

enum mpk_code mpk_dso_of(struct mpk_span bytes, uint64_t base, const char *path,
			 struct mpk_arena *arena, struct mpk_dso *out, struct mpk_error *err)
{
	enum mpk_code code;

	*out = (struct mpk_dso){ .path = path, .map.fd = -1, .bytes = bytes };
	code = dso_read_all(base, true, arena, out, err);
	if (code != MPK_OK)
		mpk_dso_close(out);
	return code;
}

void mpk_dso_close(struct mpk_dso *dso)
{
	mpk_strmap_fini(&dso->names);
	mpk_strmap_fini(&dso->globals);
	mpk_elf_close(&dso->elf);
	mpk_mapping_close(&dso->map);
}
