/* SPDX-License-Identifier: Apache-2.0 */
/* cubins.h - cubins and the notes that compilers wrote next to them, as input of `mpack init` and
 * `mpack build` */
#ifndef MPK_CMD_MPACK_CUBINS_H
#define MPK_CMD_MPACK_CUBINS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "common/files.h"
#include "common/options.h"
#include "io/mapping.h"
#include "package/wrap.h"

struct mpk_cubins_options {
	struct mpk_option_list metas;
	struct mpk_wrap_options how; /* its name field is unused */
};

/* Option rows of both commands; o is a struct mpk_cubins_options. */
#define MPK_CUBINS_ROW(type, name, value, help, what)                                              \
	{ 0, name, MPK_OPT_##type, value, help, .target = &(what), .decides_bytes = true }
#define MPK_CUBINS_OPTIONS(o)                                                                      \
	{ 0,                                                                                       \
	  "meta",                                                                                  \
	  MPK_OPT_LIST,                                                                            \
	  "FILE",                                                                                  \
	  "what a compiler noted of a cubin: kernel.json",                                         \
	  .target = &(o).metas,                                                                    \
	  .path = MPK_READS_FILE,                                                                  \
	  .decides_bytes = true },                                                                 \
		MPK_CUBINS_ROW(TEXT, "signature", "TYPES",                                         \
			       "what its kernel takes: \"*fp32, i32\"", (o).how.signature),        \
		MPK_CUBINS_ROW(TEXT, "grid", "EXPRS",                                              \
			       "blocks: \"ceildiv(n, 128)\"; else arguments", (o).how.grid),       \
		MPK_CUBINS_ROW(TEXT, "block", "EXPRS", "threads of a block", (o).how.block),       \
		MPK_CUBINS_ROW(TEXT, "cluster", "EXPRS", "blocks of a cluster", (o).how.cluster),  \
		MPK_CUBINS_ROW(TEXT, "shared", "BYTES", "dynamic shared memory", (o).how.shared),  \
		MPK_CUBINS_ROW(FLAG, "cooperative", NULL, "launch all blocks at once",             \
			       (o).how.cooperative),                                               \
		MPK_CUBINS_ROW(FLAG, "pdl", NULL, "programmatic dependent launch",                 \
			       (o).how.programmatic)

/* A cubin, and the names of its related files; NULL if missing. */
struct mpk_cubins_file {
	const char *path, *meta, *ir;
	const char *library; /* library that shows that meta belongs to this cubin */
};

/* A CUDA C++ source in a folder of TileLang's cache, and the library next to it that contains the
 * cubin made from the source. */
struct mpk_cubins_source {
	const char *path, *library; /* NULL if there is none */
	bool taken;
};

struct mpk_cubins {
	struct mpk_cubins_file *files; /* malloc'ed, like the names in it */
	size_t count, cap;
	struct mpk_cubins_source *sources; /* malloc'ed, like the names in it; found in folders */
	size_t source_count, source_cap;
	struct mpk_mapping *maps; /* MPK_CUBINS_PARTS for each element of files */
};

/* number of files of one cubin, in the order of struct mpk_cubins_file */
enum { MPK_CUBINS_PARTS = 4 };

/* mpk_cubins_are_meant - whether operands are such cubins: true for a folder, and for any operands
 * if an option about kernels was given */
bool mpk_cubins_are_meant(const struct mpk_cubins_options *o, const char *const *paths,
			  size_t count);

/* mpk_cubins_find - list cubins and their notes; opens no file
 * Named files get the notes of --meta, in the order of both. For a folder, every cubin in it is
 * listed with the notes next to it, in the order of paths, and sources are listed too.
 * @out     zeroed by the caller; call mpk_cubins_close in every case
 * Returns  the exit status; errors were printed */
int mpk_cubins_find(const struct mpk_cubins_options *o, const char *const *paths, size_t count,
		    struct mpk_cubins *out);

/* mpk_cubins_manifest - open them and append the manifest
 * @name    a path from which the package's name is taken
 * Returns  as mpk_wrap_manifest; MPK_E_IO */
enum mpk_code mpk_cubins_manifest(const struct mpk_cubins_options *o, struct mpk_cubins *kernels,
				  const char *name, struct mpk_arena *arena, struct mpk_strbuf *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

void mpk_cubins_close(struct mpk_cubins *kernels);

#endif
