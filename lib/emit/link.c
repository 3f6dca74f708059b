#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "emit/build.h"
#include "io/mapping.h"
#include "io/reader.h"

/* --- build id -------------------------------------------------------------------- */

static enum mpk_code hash_rope(const struct mpk_rope *rope, uint64_t *out,
			       struct mpk_error *err)
{
	struct mpk_reader *r = malloc(sizeof *r);
	struct mpk_hash h;
	struct mpk_span some = { 0 };
	enum mpk_code code = r ? MPK_OK : mpk_fail_nomem(err);

	mpk_hash_init(&h, 0);
	if (r)
		mpk_reader_init(r, rope);
	while (code == MPK_OK) {
		code = mpk_reader_next(r, &some, err);
		if (code != MPK_OK || !some.len)
			break;
		mpk_hash_add(&h, some);
	}
	if (r)
		mpk_reader_fini(r);
	free(r);
	*out = mpk_hash_get(&h);
	return code;
}

static enum mpk_code hash_code(const struct mpk_build *b, uint64_t *out,
			       struct mpk_error *err)
{
	struct mpk_hash h;

	mpk_hash_init(&h, 1);
	for (size_t i = 0; i < b->e->source_count; i++) {
		struct mpk_mapping map = { 0 };

		MPK_TRY(mpk_mapping_open(b->objects[i], &map, err));
		mpk_hash_add(&h, map.bytes);
		mpk_mapping_close(&map);
	}
	for (size_t i = 0; i < b->e->ldflags.count; i++)
		mpk_hash_add(&h, mpk_span_str(b->e->ldflags.items[i]));
	mpk_hash_add(&h, mpk_span_str(b->symbol));
	*out = mpk_hash_get(&h);
	return MPK_OK;
}

/* The linker would hash what it sees, which may be a stub: two libraries with different
 * weights would share an id. Ours is a hash of the blob and one of everything else. The
 * blob of a linked stub is hashed while it is copied, so its half comes later. */
static enum mpk_code build_id(const struct mpk_build *b, uint64_t id[2],
			      struct mpk_error *err)
{
	id[0] = id[1] = 0;
	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(hash_code(b, &id[1], err));
	if (b->placement == MPK_PLACE_GROW_LINKED) {
		id[0] = ~id[1];
		return MPK_OK;
	}
	return b->e->blob ? hash_rope(b->e->blob, &id[0], err) : MPK_OK;
}

/* --- the link line --------------------------------------------------------------- */

/* All members of an archive: nothing refers to the functions that a caller looks up by
 * name, so the linker would leave them out. As .a and .tar output hold them, too. */
static void add_source(struct mpk_argv *v, const struct mpk_emit *e,
		       const struct mpk_emit_source *source, const char *object)
{
	if (source->kind != MPK_SOURCE_ARCHIVE) {
		mpk_argv_add(v, object);
	} else if (e->target.format == MPK_OBJECT_MACHO) {
		mpk_argv_printf(v, "-Wl,-force_load,%s", object);
	} else {
		mpk_argv_add(v, "-Wl,--whole-archive");
		mpk_argv_add(v, object);
		mpk_argv_add(v, "-Wl,--no-whole-archive");
	}
}

static enum mpk_code run_link(struct mpk_build *b, const char *out, const char *blob_object,
			      const uint64_t id[2], struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	struct mpk_argv v = { .arena = b->arena };

	mpk_argv_add_all(&v, &e->cc);
	mpk_argv_add(&v, "-shared");
	if (e->target.format == MPK_OBJECT_ELF) {
		mpk_argv_add(&v, "-fPIC");
		mpk_argv_printf(&v, "-Wl,--build-id=0x%016" PRIx64 "%016" PRIx64, id[0], id[1]);
		/* Host code calls into libraries that only its loader knows. */
		if (e->source_count == 0 && !e->system_lib)
			mpk_argv_add(&v, "-Wl,--no-undefined");
	}
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, out);
	for (size_t i = 0; i < e->source_count; i++)
		add_source(&v, e, &e->sources[i], b->objects[i]);
	/* Behind all others: the stub must end its section (elf/grow.h). */
	if (blob_object)
		mpk_argv_add(&v, blob_object);
	mpk_argv_add_all(&v, &e->ldflags);
	if (v.failed)
		return mpk_fail_nomem(err);
	return mpk_build_tool(b, v.items, "linking", err);
}

static enum mpk_code check_machine(const struct mpk_build *b, const char *linked,
				   struct mpk_error *err)
{
	struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_target_check(&b->e->target, map.bytes, err);
	mpk_mapping_close(&map);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", b->e->cc.items[0]);
	return code;
}

/* --- from the linker's file to the output ---------------------------------------- */

static enum mpk_code take(struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_output_open(b->e->out, 0777, &o, err));
	enum mpk_code code = mpk_output_take(o, linked, err);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

/* The way round when the linker's layout cannot be grown, and for machines without
 * .lrodata: grow the object and let the linker copy it. */
static enum mpk_code link_grown_object(struct mpk_build *b, const char *linked,
				       const uint64_t id[2], struct mpk_error *err)
{
	const char *full = mpk_scratch_file(&b->scratch, b->arena, "full.o");
	struct mpk_grown g = { 0 };
	struct mpk_output *o = NULL;
	enum mpk_code code = full ? MPK_OK : mpk_fail_nomem(err);

	if (code == MPK_OK && !b->e->dry_run) {
		code = mpk_build_grow(b, b->blob_object, true, &g, err);
		if (code == MPK_OK)
			code = mpk_output_open(full, 0666, &o, err);
		if (code == MPK_OK)
			code = mpk_output_write_rope(o, &g.rope, err);
		if (code == MPK_OK)
			code = mpk_output_commit(MPK_STEAL(&o), err);
		mpk_output_abandon(o);
		mpk_build_unmap(&g);
	}
	return code == MPK_OK ? run_link(b, linked, full, id, err) : code;
}

/* Hashes the blob while the file around it is written. */
struct blob_hash {
	struct mpk_hash hash;
	uint64_t skip, left;   /* bytes before the rest of the blob, and of it */
};

static void see(void *data, struct mpk_span bytes)
{
	struct blob_hash *h = data;
	size_t skip = h->skip < bytes.len ? (size_t)h->skip : bytes.len;
	size_t n = bytes.len - skip;

	n = h->left < n ? (size_t)h->left : n;
	mpk_hash_add(&h->hash, mpk_span_of(bytes.data + skip, n));
	h->skip -= skip;
	h->left -= n;
}

/* Where the blob begins in the grown file. */
static uint64_t find_blob(const struct mpk_rope *file, const struct mpk_rope *blob)
{
	uint64_t at = 0;

	for (size_t i = 0; i < file->count; i++) {
		const struct mpk_piece *p = &file->pieces[i], *first = &blob->pieces[0];

		if (p->data == first->data && p->fd == first->fd && p->off == first->off)
			break;
		at += p->len;
	}
	return at;
}

static void put_big(uint8_t *out, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		out[i] = (uint8_t)(v >> (56 - 8 * i));
}

/* The id's first half in the linked file; NULL when the user's flags gave another id. */
static uint8_t *find_id(const struct mpk_grown *g, const uint64_t id[2])
{
	uint8_t note[20] = { 'G', 'N', 'U', 0 };

	put_big(note + 4, id[0]);
	put_big(note + 12, id[1]);
	uint8_t *at = memmem(g->file, g->len, note, sizeof note);
	return at ? at + 4 : NULL;
}

static enum mpk_code write_and_hash(struct mpk_build *b, struct mpk_grown *g,
				    struct mpk_output *o, const uint64_t id[2],
				    struct mpk_error *err)
{
	struct blob_hash h = { .skip = find_blob(&g->rope, b->e->blob), .left = b->e->blob->len };
	struct mpk_tap tap = { see, &h };
	uint8_t *at = find_id(g, id), bytes[8];
	uint64_t hash;

	if (!at)
		return mpk_output_write_rope(o, &g->rope, err);
	/* What is written through cannot be patched behind. */
	if (lseek(mpk_output_fd(o), 0, SEEK_CUR) != 0) {
		MPK_TRY(hash_rope(b->e->blob, &hash, err));
		put_big(at, hash);
		return mpk_output_write_rope(o, &g->rope, err);
	}
	mpk_hash_init(&h.hash, 0);
	mpk_output_tap(o, &tap);
	enum mpk_code code = mpk_output_write_rope(o, &g->rope, err);
	mpk_output_tap(o, NULL);
	put_big(bytes, mpk_hash_get(&h.hash));
	if (code == MPK_OK && pwrite(mpk_output_fd(o), bytes, sizeof bytes, at - g->file) !=
				      (ssize_t)sizeof bytes)
		code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	return code;
}

static enum mpk_code write_grown(struct mpk_build *b, struct mpk_grown *g,
				 const uint64_t id[2], struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_output_open(b->e->out, 0777, &o, err));
	enum mpk_code code = write_and_hash(b, g, o, id, err);
	if (code == MPK_OK)
		return mpk_output_commit(o, err);
	mpk_output_abandon(o);
	return code;
}

static enum mpk_code grow_linked(struct mpk_build *b, const char *linked, uint64_t id[2],
				 struct mpk_error *err)
{
	const struct mpk_emit_hooks *hooks = b->e->hooks;
	struct mpk_grown g = { 0 };
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_build_grow(b, linked, true, &g, &why);

	if (code == MPK_OK) {
		hooks->step(hooks->data, "growing the linked stub to the blob");
		code = write_grown(b, &g, id, err);
		mpk_build_unmap(&g);
		return code;
	}
	mpk_build_unmap(&g);
	if (code != MPK_E_UNSUPPORTED) {
		if (err)
			*err = why;
		return code;
	}
	mpk_error_prefix(&why, "the linked file cannot be grown, so the linker copies the blob: ");
	hooks->note(hooks->data, why.text);
	MPK_TRY(hash_rope(b->e->blob, &id[0], err));
	MPK_TRY(link_grown_object(b, linked, id, err));
	return take(b, linked, err);
}

enum mpk_code mpk_build_library(struct mpk_build *b, struct mpk_error *err)
{
	const char *linked = mpk_scratch_file(&b->scratch, b->arena, "linked.so");
	bool as_object = b->placement == MPK_PLACE_GROW_OBJECT;
	uint64_t id[2];

	if (!linked)
		return mpk_fail_nomem(err);
	MPK_TRY(build_id(b, id, err));
	if (as_object)
		MPK_TRY(link_grown_object(b, linked, id, err));
	else
		MPK_TRY(run_link(b, linked, b->blob_object, id, err));
	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(check_machine(b, linked, err));
	return b->placement == MPK_PLACE_GROW_LINKED ? grow_linked(b, linked, id, err)
						     : take(b, linked, err);
}
