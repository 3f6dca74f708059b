/* SPDX-License-Identifier: Apache-2.0 */
/* The order on the link line matters: the blob's object is the last one, so that its section ends
 * with the stub (elf/extend.h), and the user's flags come behind all objects, where libraries
 * must stand. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "emit/confirm.h"
#include "emit/internal/build.h"

/* --- build id -------------------------------------------------------------------- */

static enum mpk_code hash_objects(const struct mpk_build *b, struct mpk_digest *d,
				  struct mpk_error *err)
{
	for (size_t i = 0; i < b->e->source_count; i++) {
		struct mpk_mapping map = { 0 };

		MPK_TRY(mpk_mapping_open(b->objects[i], &map, err));
		enum mpk_code code = mpk_digest_update(d, map.bytes, err);
		mpk_mapping_close(&map);
		MPK_TRY(code);
	}
	for (size_t i = 0; i < b->e->ldflags.count; i++)
		MPK_TRY(mpk_digest_update(d, mpk_span_str(b->e->ldflags.items[i]), err));
	return mpk_digest_update(d, mpk_span_str(b->symbol), err);
}

/* The linker would hash what it sees, which may be a stub: two libraries with different
 * weights would share an id. Ours is half the digest of the blob and half of one of
 * everything else. The blob of a linked stub is hashed while it is copied, so its half
 * comes later (emit/packed.h). */
static enum mpk_code build_id(struct mpk_build *b, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { .state = NULL };
	uint8_t digest[MPK_DIGEST_BYTES];

	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(mpk_digest_init(&d, MPK_DIGEST_XXH128, err));
	MPK_TRY(hash_objects(b, &d, err));
	MPK_TRY(mpk_digest_final(&d, digest, err));
	memcpy(b->id, b->digest, MPK_NOTE_ID_HALF);
	memcpy(b->id + MPK_NOTE_ID_HALF, digest, MPK_NOTE_ID_HALF);
	return MPK_OK;
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
		/* not -Wl: commas of a path would be seams */
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, "-force_load");
		mpk_argv_add(v, "-Xlinker");
		mpk_argv_add(v, object);
	} else {
		mpk_argv_add(v, "-Wl,--whole-archive");
		mpk_argv_add(v, object);
		mpk_argv_add(v, "-Wl,--no-whole-archive");
	}
}

static bool has_cxx(const struct mpk_emit *e)
{
	for (size_t i = 0; i < e->source_count; i++)
		if (e->sources[i].kind == MPK_SOURCE_CXX)
			return true;
	return false;
}

static enum mpk_code run_link(struct mpk_build *b, const char *out, const char *blob_object,
			      struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	struct mpk_argv v = { .arena = b->arena };
	char digits[MPK_DIGEST_TEXT];

	/* the driver of C++ knows the libraries that its code needs */
	mpk_argv_add_all(&v, has_cxx(e) ? &e->cxx : &e->cc);
	mpk_argv_add(&v, "-shared");
	if (e->target.format == MPK_OBJECT_ELF) {
		mpk_argv_add(&v, "-fPIC");
		mpk_argv_printf(&v, "-Wl,--build-id=0x%s",
				mpk_digest_print(b->id, sizeof b->id, digits));
		/* Host code calls into libraries that only its loader knows. */
		if (e->source_count == 0 && !e->system_lib)
			mpk_argv_add(&v, "-Wl,--no-undefined");
	}
	mpk_argv_add(&v, "-o");
	mpk_argv_add(&v, out);
	for (size_t i = 0; i < e->source_count; i++)
		add_source(&v, e, &e->sources[i], b->objects[i]);
	/* Behind all others: the stub must end its section (elf/extend.h). */
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
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_target_check(&b->e->target, map.bytes, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", b->e->cc.items[0]);
	return code;
}

/* --- from the linker's file to the output ---------------------------------------- */

static enum mpk_code confirm(const struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	if (b->e->target.format != MPK_OBJECT_ELF)
		return MPK_OK;
	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_confirm_file(&map, b->e->blob, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", b->e->cc.items[0]);
	return code == MPK_OK ? mpk_build_accept(b, map.bytes, err) : code;
}

/* A file of our scratch folder still. */
static enum mpk_code seal(const struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	int fd = b->e->seal ? open(linked, O_RDWR | O_CLOEXEC) : -1;

	if (!b->e->seal)
		return MPK_OK;
	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot open what was linked");
	enum mpk_code code = mpk_seal_file(fd, b->e->seal, err);
	(void)close(fd);
	return code;
}

static enum mpk_code take(struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(confirm(b, linked, err));
	MPK_TRY(seal(b, linked, err));
	MPK_TRY(mpk_output_open(b->e->out, 0777, &o, err));
	return mpk_output_finish(o, mpk_output_take(o, linked, err), err);
}

/* The way round when the linker's layout cannot be extended, and for machines without
 * .lrodata: extend the object and let the linker copy it. */
static enum mpk_code link_extended_object(struct mpk_build *b, const char *linked,
					  struct mpk_error *err)
{
	const char *full = mpk_scratch_file(&b->scratch, b->arena, "full.o");
	struct mpk_build_file f = { 0 };
	enum mpk_code code = full ? MPK_OK : mpk_fail_nomem(err);

	if (code == MPK_OK && !b->e->dry_run) {
		code = mpk_build_file_extend(b, b->blob_object, &f, err);
		if (code == MPK_OK)
			code = mpk_build_write_packed(b, full, 0666, &f.packed, err);
		mpk_build_file_close(&f);
	}
	return code == MPK_OK ? run_link(b, linked, full, err) : code;
}

static enum mpk_code extend_linked(struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	const struct mpk_emit_hooks *hooks = b->e->hooks;
	MPK_CLEANUP(mpk_build_file_close) struct mpk_build_file f = { 0 };
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_build_file_extend(b, linked, &f, &why);

	if (code == MPK_OK) {
		hooks->step(hooks->data, "extending the linked stub to the blob");
		mpk_build_settled(b);
		return mpk_build_write_packed(b, b->e->out, 0777, &f.packed, err);
	}
	if (code != MPK_E_UNSUPPORTED) {
		if (err)
			*err = why;
		return code;
	}
	mpk_build_file_close(&f); /* the linker is about to write that file anew */
	mpk_error_prefix(&why,
			 "the linked file cannot be extended, so the linker copies the blob: ");
	hooks->note(hooks->data, why.text);
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, b->e->blob, NULL, b->digest, err));
	memcpy(b->id, b->digest, MPK_NOTE_ID_HALF);
	MPK_TRY(link_extended_object(b, linked, err));
	mpk_build_settled(b);
	return take(b, linked, err);
}

enum mpk_code mpk_build_library(struct mpk_build *b, struct mpk_error *err)
{
	const char *linked = mpk_scratch_file(&b->scratch, b->arena, "linked.so");
	bool as_object = b->strategy == MPK_STRATEGY_EXTEND_OBJECT;

	MPK_TRY_ALLOC(linked, err);
	MPK_TRY(build_id(b, err));
	if (as_object)
		MPK_TRY(link_extended_object(b, linked, err));
	else
		MPK_TRY(run_link(b, linked, b->blob_object, err));
	if (b->e->dry_run)
		return MPK_OK;
	/* where the linker's layout decides whether it has to run once more, what it made is read first */
	if (b->strategy != MPK_STRATEGY_EXTEND_LIBRARY)
		mpk_build_settled(b);
	MPK_TRY(check_machine(b, linked, err));
	return b->strategy == MPK_STRATEGY_EXTEND_LIBRARY ? extend_linked(b, linked, err)
							  : take(b, linked, err);
}
