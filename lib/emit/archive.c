#include <string.h>

#include "ar/ar.h"
#include "base/vec.h"
#include "emit/build.h"
#include "emit/symbols.h"
#include "io/mapping.h"
#include "tar/tar.h"

#include <stdlib.h>

/* Members in the order of the link line, and the files they are views of. */
struct bundle {
	struct mpk_arena *arena;
	struct mpk_ar_entry *entries;
	size_t count, cap;
	struct mpk_mapping *maps;
	size_t map_count;
};

static enum mpk_code add(struct bundle *u, const char *name, const struct mpk_rope *content,
			 struct mpk_span symbols_from, struct mpk_error *err)
{
	struct mpk_ar_entry entry = { .content = content };

	if (!name || !content ||
	    !mpk_vec_reserve(&u->entries, &u->cap, u->count + 1, sizeof *u->entries))
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_object_symbols(symbols_from, u->arena, &entry.symbols, &entry.symbol_count,
				   err));
	entry.name = mpk_span_str(name);
	u->entries[u->count++] = entry;
	return MPK_OK;
}

static enum mpk_code add_bytes(struct bundle *u, const char *name, struct mpk_span bytes,
			       struct mpk_error *err)
{
	struct mpk_rope *content = mpk_arena_alloc(u->arena, sizeof *content);

	if (!content)
		return mpk_fail_nomem(err);
	*content = mpk_rope_of(u->arena);
	mpk_rope_put_view(content, bytes);
	return add(u, name, content, bytes, err);
}

/* An archive among the sources gives its members; their names may clash, ours do not. */
static enum mpk_code add_source(struct bundle *u, const char *path, size_t index,
				struct mpk_error *err)
{
	struct mpk_mapping *map = &u->maps[u->map_count];
	struct mpk_ar ar;

	MPK_TRY(mpk_mapping_open(path, map, err));
	u->map_count++;
	if (!mpk_ar_is(map->bytes))
		return add_bytes(u, mpk_arena_printf(u->arena, "lib%zu.o", index), map->bytes, err);
	enum mpk_code code = mpk_ar_read(map->bytes, u->arena, &ar, err);
	for (size_t i = 0; code == MPK_OK && i < ar.member_count; i++)
		code = add_bytes(u, mpk_arena_printf(u->arena, "lib%zu_%zu.o", index, i),
				 ar.members[i].data, err);
	if (code != MPK_OK)
		mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code collect(struct mpk_build *b, struct bundle *u, struct mpk_grown *g,
			     struct mpk_error *err)
{
	u->maps = mpk_arena_array(b->arena, b->e->source_count + 1, sizeof *u->maps);
	if (!u->maps)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < b->e->source_count; i++)
		MPK_TRY(add_source(u, b->objects[i], i, err));
	if (!b->blob_object)
		return MPK_OK;

	/* The stub object has the same symbols as the grown one. */
	struct mpk_mapping stub = { 0 };
	MPK_TRY(mpk_mapping_open(b->blob_object, &stub, err));
	u->maps[u->map_count++] = stub;
	MPK_TRY(mpk_build_grow(b, b->blob_object, b->placement == MPK_PLACE_GROW_OBJECT, g, err));
	return add(u, mpk_arena_printf(u->arena, "%sdevc.o", b->e->prefix), &g->rope, stub.bytes,
		   err);
}

static enum mpk_code write_tar(const struct bundle *u, struct mpk_rope *rope, struct mpk_error *err)
{
	struct mpk_tar_entry *list = mpk_arena_array(u->arena, u->count, sizeof *list);

	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < u->count; i++)
		list[i] = (struct mpk_tar_entry){ u->entries[i].name, u->entries[i].content };
	return mpk_tar_write(list, u->count, 0, rope, err);
}

enum mpk_code mpk_build_archive(struct mpk_build *b, struct mpk_error *err)
{
	struct bundle u = { .arena = b->arena };
	struct mpk_grown g = { 0 };
	struct mpk_rope rope = mpk_rope_of(b->arena);

	if (b->e->dry_run)
		return MPK_OK;
	enum mpk_code code = collect(b, &u, &g, err);
	if (code == MPK_OK)
		code = b->e->kind == MPK_EMIT_TAR ? write_tar(&u, &rope, err)
						  : mpk_ar_write(u.entries, u.count, &rope, err);
	if (code == MPK_OK)
		code = mpk_build_write(b, &rope, 0666, err);
	mpk_build_unmap(&g);
	for (size_t i = 0; i < u.map_count; i++)
		mpk_mapping_close(&u.maps[i]);
	free(u.entries);
	return code;
}
