/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c - the objects of a package as a static archive with an index, or as a .tar
 *
 * Members are named by their number in the build, not by their files. So their names cannot clash,
 * and reveal nothing about the build machine. */
#include <stdlib.h>

#include "ar/ar.h"
#include "base/vec.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "tar/tar.h"

/* Members in the order of the link line, and the open files that they are views of. */
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

/* Lists the symbols that an object exports, in the order of its symbol table. Objects other than
 * ELF are not indexed. */
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

/* The index needs an object's bytes in memory, and the archive needs its content as a rope. For a
 * large blob's object the first is the stub, and the second the extended object. */
static enum mpk_code archive_add(struct bundle *u, const char *name, const struct mpk_rope *content,
				 struct mpk_span symbols_from, struct mpk_error *err)
{
	struct mpk_ar_entry entry = { .content = content };

	if (!name || !content || !MPK_VEC_ROOM(u->entries, u->count, u->cap))
		return mpk_fail_nomem(err);
	MPK_TRY(list_symbols(u, symbols_from, &entry, err));
	entry.name = mpk_span_str(name);
	u->entries[u->count++] = entry;
	return MPK_OK;
}

/* Adds an object whose bytes are both the content and the source of its symbols. */
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

/* Adds the members of an archive that is one of the sources. Their own names may clash, so they get
 * new ones. */
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

/* Adds the blob's object. The stub has the same symbols as the extended object. */
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
	MPK_TRY_ARRAY(u->maps, b->c.arena, b->e->source_count, err);
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
