/* build.h - one run of mpk_emit, shared by the files of this room */
#ifndef MPK_EMIT_BUILD_H
#define MPK_EMIT_BUILD_H

#include "emit/emit.h"
#include "emit/job.h"
#include "emit/scratch.h"
#include "emit/stamped.h"
#include "io/output.h"

/* How the blob gets into its object. */
enum mpk_placement {
	MPK_PLACE_NONE,        /* there is no blob */
	MPK_PLACE_FULL,        /* as it is */
	MPK_PLACE_GROW_OBJECT, /* a stub; the object is grown */
	MPK_PLACE_GROW_LINKED, /* a stub in .lrodata; the linked library is grown */
};

struct mpk_build {
	const struct mpk_emit *e;
	struct mpk_arena *arena;
	struct mpk_scratch scratch;
	enum mpk_placement placement;
	bool lrodata;            /* the blob symbol's section */
	const char *symbol;      /* of the blob, prefix included */
	const char *register_fn; /* or NULL */
	const char *stamp;       /* text of the note in the blob's object; NULL without blob */
	uint8_t digest[MPK_DIGEST_BYTES];  /* XXH128 of the blob; zeros as long as unknown */
	uint8_t id[2 * MPK_STAMP_ID_HALF]; /* the build id that the linker is given */
	const char *blob_object;           /* path; NULL without blob */
	const char **objects;              /* per source: its object, or the archive */
};

/* What follows fails with MPK_E_TOOL (a compiler or linker did), MPK_E_IO, MPK_E_NOMEM, or
 * as mpk_emit says. */

/* emit.c: the stamp of the blob's object, for the placement. An object or library that is
 * grown last is given its digest while it is written, any other has it from the start. */
enum mpk_code mpk_build_stamp(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* objects.c: compile the sources and the blob, in parallel; check objects' machines */
enum mpk_code mpk_build_objects(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* objects.c: the finished blob object; a view of the file at blob_object, or grown from it.
 * The mapping behind it lives until mpk_build_unmap. */
struct mpk_grown {
	uint8_t *file;
	size_t len;
	struct mpk_rope rope;
	struct mpk_stamped stamped; /* the same, with the blob; the stamp only if grown */
};
enum mpk_code mpk_build_grow(struct mpk_build *b, const char *path, bool grow,
			     struct mpk_grown *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_build_unmap(struct mpk_grown *g);

/* link.c: the library at e->out */
enum mpk_code mpk_build_library(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* base.c: the library at e->out, a copy of e->base with another blob */
enum mpk_code mpk_build_base(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* archive.c: the archive at e->out, .a or .tar */
enum mpk_code mpk_build_archive(struct mpk_build *b, struct mpk_error *err) MPK_MUST_CHECK;

/* Announce and run one tool; nothing is run in a dry run. */
enum mpk_code mpk_build_tool(struct mpk_build *b, const char *const *argv, const char *what,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* Write a rope to e->out, or a file with its stamp renewed to path; whole or not at all. */
enum mpk_code mpk_build_write(struct mpk_build *b, const struct mpk_rope *rope, unsigned mode,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_build_write_stamped(struct mpk_build *b, const char *path, unsigned mode,
				      const struct mpk_stamped *s,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* The last part of a path. */
const char *mpk_path_name(const char *path);

/* An argument vector in the build's arena. */
struct mpk_argv {
	struct mpk_arena *arena;
	const char **items; /* NULL-terminated */
	size_t count, cap;
	bool failed;
};

/* mpk_argv_add, _add_all, _printf - append; a failed allocation sets `failed` */
void mpk_argv_add(struct mpk_argv *v, const char *arg);
void mpk_argv_add_all(struct mpk_argv *v, const struct mpk_args *args);
void mpk_argv_printf(struct mpk_argv *v, const char *fmt, ...) MPK_PRINTF(2, 3);

#endif
