/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c - the objects of a package: symbols that two of them define, before a linker finds them; and all of them as a
 * static archive with its index, or as a .tar
 *
 * A linker names temporary files where a person looks for sources. Objects come from compilers that this process started,
 * or from elsewhere: for conflicts they are read in a process that can do nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/compiler.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "io/path.h"
#include "sandbox/sandbox.h"
#include "tar/tar.h"

/* === conflicts ================================================================= */

/* Who defines a symbol. */
struct definition {
	size_t source;          /* in the order of the sources */
	struct mpk_span member; /* of an archive; empty: it is none */
};

struct scan {
	const struct mpk_build *b;
	struct mpk_arena *arena;
	struct mpk_mapping *maps;
	struct mpk_strmap names; /* to indices of definitions */
	struct definition *definitions;
	size_t count, cap;
	size_t conflicts;
	struct mpk_span first; /* name of the first conflict */
	struct definition one, other;
};

/* --- symbols ----------------------------------------------------------------------------------- */

/* Sections of which a linker keeps one of several. */
static enum mpk_code list_groups(const struct mpk_elf *elf, struct mpk_arena *arena, bool **out,
				 struct mpk_error *err)
{
	bool *grouped = mpk_arena_array(arena, elf->section_count + 1, sizeof *grouped);
	GElf_Shdr section;
	uint32_t index;

	MPK_TRY_ALLOC(grouped, err);
	for (size_t i = 1; i < elf->section_count; i++) {
		MPK_TRY(mpk_elf_section(elf, i, &section, err));
		if (section.sh_type != SHT_GROUP || !mpk_elf_u32(elf, section.sh_offset, &index) ||
		    !(index & GRP_COMDAT))
			continue;
		for (uint64_t at = 4; at + 4 <= section.sh_size; at += 4)
			if (mpk_elf_u32(elf, section.sh_offset + at, &index) &&
			    index < elf->section_count)
				grouped[index] = true;
	}
	*out = grouped;
	return MPK_OK;
}

static enum mpk_code add_definition(struct scan *s, const char *name, struct definition d,
				    struct mpk_error *err)
{
	size_t at = s->count;
	struct mpk_span text = mpk_span_str(name);
	int put = mpk_strmap_put(&s->names, text, s->count, &at);

	MPK_TRY_ALLOC(put >= 0, err);
	if (!put) {
		if (!s->conflicts++) {
			s->first = text;
			s->one = s->definitions[at];
			s->other = d;
		}
		return MPK_OK;
	}
	MPK_TRY_ALLOC(mpk_vec_reserve(&s->definitions, &s->cap, s->count + 1, sizeof d), err);
	s->definitions[s->count++] = d;
	return MPK_OK;
}

/* Weak and common symbols, and those of groups, may be there twice. */
static enum mpk_code scan_object(struct scan *s, struct mpk_span bytes, struct definition d,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol symbol;
	bool *grouped;

	if (!mpk_span_starts(bytes, ELFMAG)) /* code of a link-time optimizer */
		return MPK_OK;
	MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
	MPK_TRY(list_groups(&elf, s->arena, &grouped, err));
	MPK_TRY(mpk_symtab_static(&elf, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		if (symbol.defined && !symbol.common && symbol.bind == STB_GLOBAL &&
		    symbol.name[0] &&
		    !(symbol.section < elf.section_count && grouped[symbol.section]))
			MPK_TRY(add_definition(
				s, mpk_arena_text(s->arena, mpk_span_str(symbol.name)), d, err));
	}
	return MPK_OK;
}

static enum mpk_code scan_source(struct scan *s, size_t i, struct mpk_error *err)
{
	struct mpk_span bytes = s->maps[i].bytes;
	struct mpk_ar ar;

	if (!mpk_ar_is(bytes))
		return scan_object(s, bytes, (struct definition){ i, { 0 } }, err);
	MPK_TRY(mpk_ar_read(bytes, s->arena, &ar, err));
	for (size_t k = 0; k < ar.member_count; k++)
		MPK_TRY(scan_object(s, ar.members[k].data,
				    (struct definition){ i, ar.members[k].name }, err));
	return MPK_OK;
}

/* --- what is wrong ------------------------------------------------------------------------------- */

/* "'a.c'", "'libx.a(b.o)'", "the function that mpack generates (launch.ll)" */
static const char *definition_text(struct scan *s, struct definition d)
{
	const struct mpk_compile_source *source = &s->b->c.sources[d.source];

	if (source->text.data)
		return mpk_arena_printf(s->arena, "the code that mpack generates (%s)",
					source->path);
	return d.member.len ? mpk_arena_printf(s->arena, "'%s(%.*s)'", source->path,
					       MPK_SPAN_ARG(d.member))
			    : mpk_arena_printf(s->arena, "'%s'", source->path);
}

static enum mpk_code fail_conflict(struct scan *s, struct mpk_error *err)
{
	static const char *const objects[] = { ".o", NULL };
	const char *a = definition_text(s, s->one), *b = definition_text(s, s->other), *more = "";
	const char *path = s->b->c.sources[s->other.source].path, *how = "";

	if (s->conflicts > 1)
		more = mpk_arena_printf(s->arena, " (and %zu other symbols are defined twice)",
					s->conflicts - 1);
	if (mpk_path_has_suffix(path, objects))
		how = mpk_arena_printf(s->arena, ": objcopy --localize-symbol=%.*s %s",
				       MPK_SPAN_ARG(s->first), path);
	MPK_TRY_ALLOC(a && b && more && how, err);
	return mpk_fail(
		err, MPK_E_CONFLICT,
		"%s and %s both define '%.*s'%s: leave one of them out, rename one, or make one static%s",
		a, b, MPK_SPAN_ARG(s->first), more, how);
}

static enum mpk_code scan_all(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	struct scan *s = data;
	static const int none;
	const struct mpk_sandbox sandbox = { .kept = &none, .kept_count = 0 };

	(void)self;
	s->maps = mpk_arena_array(s->arena, s->b->c.source_count + 1, sizeof *s->maps);
	MPK_TRY_ALLOC(s->maps, err);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(mpk_mapping_open(s->b->c.objects[i], &s->maps[i], err));
	/* a sanitizer's runtime starts a process to look for leaks */
	if (!s->b->e->tools.no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&sandbox);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(scan_source(s, i, err));
	return s->conflicts ? fail_conflict(s, err) : MPK_OK;
}

enum mpk_code mpk_build_check_symbols(const struct mpk_build *b, struct mpk_error *err)
{
	struct scan s = { .b = b, .arena = b->c.arena };
	struct mpk_process reader = { .run = scan_all, .data = &s };

	if (b->e->tools.target.format != MPK_OBJECT_ELF ||
	    (b->c.source_count < 2 && b->c.sources[0].kind != MPK_SOURCE_ARCHIVE))
		return MPK_OK;
	return mpk_process_call(&reader, "reads the objects", err);
}

/* --- archives ------------------------------------------------------------------ */

/* Members are named by their number in the build and not by their files, so that names neither
 * clash nor tell of the machine that made them. */

/* Members in the order of the link line, and the files they are views of. */
struct bundle {
	struct mpk_arena *arena;
	struct mpk_ar_entry *entries;
	size_t count, cap;
	struct mpk_mapping *maps;
	size_t map_count;
};

/* --- the archive's index ---------------------------------------------------------- */

static bool is_indexed(const struct mpk_symbol *s)
{
	return (s->defined || s->common) && s->name[0] &&
	       (s->bind == STB_GLOBAL || s->bind == STB_WEAK || s->bind == STB_GNU_UNIQUE);
}

/* What an object defines for others, in the order of its symbol table; objects that are not
 * ELF have no index. */
static enum mpk_code list_symbols(struct bundle *u, struct mpk_span object,
				  struct mpk_ar_entry *entry, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol s;

	if (!mpk_span_starts(object, ELFMAG))
		return MPK_OK;
	MPK_TRY(mpk_elf_open(object, 0, &elf, err));
	MPK_TRY(mpk_symtab_static(&elf, &table, err));
	struct mpk_span *list = mpk_arena_array(u->arena, table.count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (is_indexed(&s))
			list[entry->symbol_count++] = mpk_span_str(s.name);
	}
	entry->symbols = list;
	return MPK_OK;
}

/* --- members ---------------------------------------------------------------------- */

/* The index needs an object's bytes in memory, the archive its content as a rope: of a
 * large blob's object these are the stub and the whole. */
static enum mpk_code archive_add(struct bundle *u, const char *name, const struct mpk_rope *content,
				 struct mpk_span symbols_from, struct mpk_error *err)
{
	struct mpk_ar_entry entry = { .content = content };

	if (!name || !content ||
	    !mpk_vec_reserve(&u->entries, &u->cap, u->count + 1, sizeof *u->entries))
		return mpk_fail_nomem(err);
	MPK_TRY(list_symbols(u, symbols_from, &entry, err));
	entry.name = mpk_span_str(name);
	u->entries[u->count++] = entry;
	return MPK_OK;
}

/* An object as it is: its own bytes are its content and what its symbols are read from. */
static enum mpk_code add_bytes(struct bundle *u, const char *name, struct mpk_span bytes,
			       struct mpk_error *err)
{
	struct mpk_rope *content = mpk_arena_alloc(u->arena, sizeof *content);

	MPK_TRY_ALLOC(content, err);
	*content = mpk_rope_of(u->arena);
	mpk_rope_put_view(content, bytes);
	return archive_add(u, name, content, bytes, err);
}

static enum mpk_code add_ar(struct bundle *u, struct mpk_span bytes, size_t index,
			    struct mpk_error *err)
{
	struct mpk_ar ar;

	MPK_TRY(mpk_ar_read(bytes, u->arena, &ar, err));
	for (size_t i = 0; i < ar.member_count; i++)
		MPK_TRY(add_bytes(u, mpk_arena_printf(u->arena, "lib%zu_%zu.o", index, i),
				  ar.members[i].data, err));
	return MPK_OK;
}

/* An archive among the sources gives its members; their names may clash, ours do not. */
static enum mpk_code add_source(struct bundle *u, const char *path, size_t index,
				struct mpk_error *err)
{
	struct mpk_mapping *map = &u->maps[u->map_count];

	MPK_TRY(mpk_mapping_open(path, map, err));
	u->map_count++;
	enum mpk_code code = mpk_ar_is(map->bytes)
				     ? add_ar(u, map->bytes, index, err)
				     : add_bytes(u, mpk_arena_printf(u->arena, "lib%zu.o", index),
						 map->bytes, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

/* The blob's object; the stub object has the same symbols as the extended one. */
static enum mpk_code add_blob(struct mpk_build *b, struct bundle *u, struct mpk_build_file *f,
			      struct mpk_error *err)
{
	if (b->strategy == MPK_STRATEGY_EXTEND_OBJECT)
		MPK_TRY(mpk_build_file_extend(b, b->blob_object, f, err));
	else
		MPK_TRY(mpk_build_file_open(b, b->blob_object, f, err));
	return archive_add(u, mpk_arena_printf(u->arena, "%sdevc.o", b->e->prefix), &f->rope,
			   f->map.bytes, err);
}

static enum mpk_code archive_collect(struct mpk_build *b, struct bundle *u,
				     struct mpk_build_file *f, struct mpk_error *err)
{
	u->maps = mpk_arena_array(b->c.arena, b->e->source_count, sizeof *u->maps);
	MPK_TRY_ALLOC(u->maps, err);
	for (size_t i = 0; i < b->e->source_count; i++)
		MPK_TRY(add_source(u, b->c.objects[i], i, err));
	return b->blob_object ? add_blob(b, u, f, err) : MPK_OK;
}

/* A .tar has no index; TVM's loader links its members. */
static enum mpk_code write_tar(const struct bundle *u, struct mpk_rope *rope, struct mpk_error *err)
{
	struct mpk_tar_entry *list = mpk_arena_array(u->arena, u->count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < u->count; i++)
		list[i] = (struct mpk_tar_entry){ u->entries[i].name, u->entries[i].content };
	return mpk_tar_write(list, u->count, 0, rope, err);
}

/* The mappings stay open until the rope is written, because it has views of them. */
static enum mpk_code build_bundle(struct mpk_build *b, struct mpk_error *err)
{
	struct bundle u = { .arena = b->c.arena };
	struct mpk_build_file f = { 0 };
	struct mpk_rope rope = mpk_rope_of(b->c.arena);

	if (b->e->tools.dry_run)
		return MPK_OK;
	mpk_build_settled(b);
	enum mpk_code code = archive_collect(b, &u, &f, err);
	if (code == MPK_OK)
		code = b->e->kind == MPK_EMIT_TAR ? write_tar(&u, &rope, err)
						  : mpk_ar_write(u.entries, u.count, &rope, err);
	if (code == MPK_OK)
		code = mpk_build_write(b, b->e->out, 0666, &(struct mpk_packed){ .rope = &rope },
				       err);
	mpk_build_file_close(&f);
	for (size_t i = 0; i < u.map_count; i++)
		mpk_mapping_close(&u.maps[i]);
	free(u.entries);
	return code;
}

const struct mpk_emitter mpk_emitter_a = { { "a", ".a" },
					   .is_linked = true,
					   .write = build_bundle };
const struct mpk_emitter mpk_emitter_tar = { { "tar", ".tar" },
					     .is_linked = true,
					     .write = build_bundle };
