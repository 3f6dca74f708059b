/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - mpack.toml as a checked structure with positions
 *
 * Keys and rules: man/mpack.toml.5. Every problem is a
 * finding with line and column; all of them are reported in one run.
 */
#ifndef MPK_MANIFEST_MANIFEST_H
#define MPK_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/rope.h"
#include "base/span.h"
#include "blob/blob.h"
#include "dtype/dtype.h"
#include "process/process.h"
#include "toml/toml.h"

struct mpk_manifest_function { /* [[module.function]]: one row of a kernel table */
	struct mpk_toml_str name;
	const struct mpk_dtype *args;
	size_t arg_count;
	struct mpk_toml_list arg_names; /* the dtype texts with their positions */
	struct mpk_toml_list launch;
	struct mpk_toml_str data; /* file with only this kernel; absent: the kernel is in the
				   * module's data */
	bool uniform_buffer;      /* vulkan: scalars are in a uniform buffer */
	struct mpk_pos pos;
};

struct mpk_manifest_extra {
	struct mpk_toml_str key, value;
};

struct mpk_manifest_module { /* [[module]] */
	struct mpk_toml_str id, kind, format, data, payload;
	struct mpk_toml_list sources, imports;
	struct mpk_toml_list cflags, include, defines, libs; /* host: flags for its compiler and
							      * linker */
	struct mpk_toml_str std;                             /* host: "c17", "c++20" */
	struct mpk_toml_list
		nvrtc_options; /* CUDA source: options of its compilation at run time */
	const struct mpk_manifest_function *functions;
	size_t function_count;
	struct mpk_toml_str key; /* the kind as the blob spells it; host: empty */
	bool is_host;
	const size_t *import_index; /* module index of each import, resolved and checked */
	struct mpk_manifest_extra
		*extras; /* keys that only this kind has: graph, params, name, ... */
	size_t extra_count;
	bool valid; /* this table alone is valid */
	struct mpk_pos pos;
};

struct mpk_manifest_step { /* one kernel launch of a launch function, or a call of a C function */
	struct mpk_toml_str kernel;             /* "module.kernel" */
	struct mpk_toml_str calls;              /* a declaration instead of a kernel: "int f(const
						 * float *x, int n)" */
	struct mpk_toml_str returns;            /* calls: the type of its result; absent: by the
						 * declaration */
	struct mpk_toml_list args, grid, block; /* TOML integers are kept as decimal text */
	struct mpk_toml_list cluster;           /* CUDA: blocks of a cluster */
	struct mpk_toml_str shared;             /* bytes of dynamic shared memory, an expression */
	bool cooperative;                       /* CUDA: all blocks start together, for grid-wide
						 * barriers */
	bool pdl;                               /* CUDA: programmatic dependent launch */
	struct mpk_pos pos;
};

/* [[function]]: a launch function. Its language is checked by launch/launch.h. The keys
 * kernel, args, grid, block, shared, or calls, of the table itself make one step; `steps`, an
 * array of tables with those keys, makes several and excludes them. */
struct mpk_manifest_launch {
	struct mpk_toml_str name;
	struct mpk_toml_list params; /* "A: float32[n]" */
	struct mpk_toml_list temps;  /* device temporaries: "part: float32[(n + 255) / 256]" */
	const struct mpk_manifest_step *steps; /* at least one */
	size_t step_count;
	struct mpk_pos pos;
	bool valid; /* this table alone is valid */
};

struct mpk_manifest {
	const char *path; /* the path as the user wrote it */
	const char *dir;  /* folder of relative paths; "" for the current one */
	struct mpk_toml_str name, abi, root, target, base;
	struct mpk_toml_str entry;    /* the function that loaders also find as the entry */
	struct mpk_toml_str compress; /* "zstd"; text NULL: weights are not compressed */
	bool standalone, dedup;
	bool keep_order; /* modules get their indices as they stand in the manifest */
	enum mpk_generation gen;
	size_t root_index;
	const struct mpk_manifest_module *modules;
	size_t module_count;
	const struct mpk_manifest_launch *launches;
	size_t launch_count;
	const struct mpk_words *granted; /* flags that are allowed beyond those of every manifest;
					  * may be NULL */
	bool valid; /* the whole manifest is valid; if not, only valid modules may be read, and
		     * only to find more mistakes */
};

/* mpk_manifest_module_extra - the value of a key that belongs to the kind; text NULL when absent */
struct mpk_toml_str mpk_manifest_module_extra(const struct mpk_manifest_module *module,
					      const char *key);

/* mpk_manifest_is_name - whether a package may be called so: a file in the current folder may be, and no option is taken for
 * it; false also when memory is out */
bool mpk_manifest_is_name(const char *text);

/* mpk_manifest_name - the same text, or "package" for one that no package may have; NULL stays */
static inline const char *mpk_manifest_name(const char *text)
{
	return !text || mpk_manifest_is_name(text) ? text : "package";
}

/* mpk_manifest_allows - whether a manifest may have a compiler given this word: it decides how code is compiled, not
 * which programs run nor which files they read or write (cflags.def), or it is a folder with headers; or a linker:
 * "-lNAME", or a path that is no option
 * @granted flags that the user allows besides; may be NULL */
enum mpk_manifest_word { MPK_WORD_ANY, MPK_WORD_CFLAG, MPK_WORD_LIBRARY };
bool mpk_manifest_allows(enum mpk_manifest_word kind, const char *word,
			 const struct mpk_words *granted);

/* mpk_manifest_parse - TOML text to manifest, every rule that needs no other file checked
 * @text    whole file, UTF-8; @path names it in findings
 * @granted as of mpk_manifest_allows; borrowed by out
 * @report  receives all problems
 * @out     set also after MPK_E_SYNTAX, with valid false; without modules when the text is
 *          no TOML
 * Returns  MPK_OK when report gained no errors; MPK_E_SYNTAX otherwise (details are in
 *          the report, err carries the first); MPK_E_NOMEM */
enum mpk_code mpk_manifest_parse(struct mpk_span text, const char *path,
				 const struct mpk_words *granted, struct mpk_arena *arena,
				 struct mpk_report *report, struct mpk_manifest *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* --- What a manifest may say about a module of each kind that is packed from parts. Kinds without a row are packed
 * from bytes: `payload`. --- */

#define MPK_KIND_HOST "host"

enum { MPK_MANIFEST_KIND_FORMATS = 5, MPK_MANIFEST_KIND_KEYS = 4 };

struct mpk_manifest_kind_key {
	const char *name;
	bool required;
};

struct mpk_manifest_kind {
	const char *name; /* what `kind` says */
	const char *key;  /* what the blob says */
	bool device;      /* takes data, format and [[module.function]] */
	const char *formats[MPK_MANIFEST_KIND_FORMATS]; /* device: the words that `format` takes,
						      * ended by NULL */
	struct mpk_manifest_kind_key
		keys[MPK_MANIFEST_KIND_KEYS]; /* others: their own keys, ended by NULL */
};

/* mpk_manifest_kind_find - the row for a kind, or NULL */
const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name);

/* All kinds; a row without a name ends them. */
extern const struct mpk_manifest_kind mpk_manifest_kinds[];

/* --- from modules that import one another to the tree that TVM's serializer writes --------
 *
 * Index order, merging of host modules into one _lib and child order are TVM's
 * (FORMAT.md of the blob, "order of modules"). */

struct mpk_module {
	struct mpk_span name;           /* for messages: the id in the manifest */
	struct mpk_span kind;           /* ignored for host modules */
	bool is_host;                   /* joins the _lib node */
	const struct mpk_rope *content; /* payload; NULL for host modules */
	const size_t *imports;          /* module indices, in import order */
	size_t import_count;
};

/* The contents of a package; borrowed. */
struct mpk_graph {
	const struct mpk_module *modules;
	size_t count;
	size_t root; /* a module index */
	bool listed; /* the tree keeps the order of the modules */
};

/* Modules that import one another in a ring: each imports the next, the last the first. */
struct mpk_cycle {
	const size_t *modules; /* indices; NULL and count 0: there is no cycle */
	size_t count;
	bool merged; /* first and last are host modules: the ring closes only because all
		      * host modules become one library */
};

/* mpk_graph_find_cycle - a ring among all modules, reachable or not, or one that merging
 * the host modules makes of those that root reaches
 * @arena   receives the list
 * Returns  MPK_OK, with out->count 0 when there is none; MPK_E_RANGE when root or an
 *          import is no module index; MPK_E_NOMEM. Linear in modules and imports; no recursion. */
enum mpk_code mpk_graph_find_cycle(const struct mpk_graph *graph, struct mpk_arena *arena,
				   struct mpk_cycle *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cycle_fail - MPK_E_CONFLICT with the sentence that names the modules of a cycle */
enum mpk_code mpk_cycle_fail(const struct mpk_cycle *cycle, const struct mpk_module *modules,
			     struct mpk_error *err);

/* mpk_graph_order - the tree of everything reachable from root
 * TVM refuses to export some graphs without a cycle, because its walk meets an import
 * before one of its importers (a imports b and c, b imports c). Those get the nearest
 * order in which every module is before what it imports; every loader reads it.
 * A listed graph keeps its order instead; the library has the place of its first module.
 * @out     nodes in index order; kind, content and children set, gen as given
 * @unreached  may be NULL; receives for each module whether root does not reach it
 *          (graph->count elements, the caller's)
 * Returns  MPK_OK; MPK_E_CONFLICT for a cycle, also one that only merging host modules
 *          makes; the message names the modules on it ("a -> b -> a"); MPK_E_CONFLICT when
 *          a listed module comes after one that it imports; MPK_E_RANGE when
 *          root or an import is no module index; MPK_E_NOMEM.
 *          Linear in modules and imports; no recursion. */
enum mpk_code mpk_graph_order(const struct mpk_graph *graph, enum mpk_generation gen,
			      struct mpk_arena *arena, struct mpk_tree *out, bool *unreached,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_graph_needs_blob - false for host code alone whose root imports nothing: TVM writes no blob
 * then; with imports it writes one, that lists the one library all of it became
 * @tree    that mpk_graph_order made of graph */
bool mpk_graph_needs_blob(const struct mpk_graph *graph, const struct mpk_tree *tree);

#endif
