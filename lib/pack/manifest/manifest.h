/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - mpack.toml as a checked structure with positions
 *
 * man/mpack.toml.5 has the keys and rules. Each problem is a finding with line and column; one run
 * reports all of them. */
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
	struct mpk_toml_str data; /* file with only this kernel; absent: the module's data contains
				   * the kernel */
	bool uniform_buffer;      /* vulkan: scalars are passed in a uniform buffer */
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
	struct mpk_toml_str std;                             /* host: language standard, such as
							      * "c17", "c++20" */
	struct mpk_toml_list
		nvrtc_options; /* CUDA source: options for its compilation at run time */
	const struct mpk_manifest_function *functions;
	size_t function_count;
	struct mpk_toml_str key; /* name of the kind in the blob; empty for host code */
	bool is_host;
	const size_t *import_index; /* module index of each import; resolved and checked */
	struct mpk_manifest_extra
		*extras; /* keys that only this kind has: graph, params, name, ... */
	size_t extra_count;
	bool valid; /* this table alone has no errors */
	struct mpk_pos pos;
};

struct mpk_manifest_step { /* one kernel launch of a launch function, or a call of a C function */
	struct mpk_toml_str kernel;             /* "module.kernel" */
	struct mpk_toml_str calls;              /* declaration of a C function to call instead of a
						 * kernel: "int f(const float *x, int n)" */
	struct mpk_toml_str returns;            /* calls: use of its result; absent: by the
						 * declaration */
	struct mpk_toml_list args, grid, block; /* TOML integers are stored as decimal text */
	struct mpk_toml_list cluster;           /* CUDA: number of blocks in a cluster */
	struct mpk_toml_str shared; /* expression for the bytes of dynamic shared memory */
	bool cooperative;           /* CUDA: all blocks start together, for grid-wide
						 * barriers */
	bool pdl;                   /* CUDA: programmatic dependent launch */
	struct mpk_pos pos;
};

/* A [[function]]: a launch function. launch/launch.h checks its expressions. The keys kernel, args,
 * grid, block, shared, or calls, in the table itself make one step. `steps`, an array of tables
 * with these keys, makes several steps; then the table itself must not have these keys. */
struct mpk_manifest_launch {
	struct mpk_toml_str name;
	struct mpk_toml_list params; /* "A: float32[n]" */
	struct mpk_toml_list temps;  /* device temporaries: "part: float32[(n + 255) / 256]" */
	const struct mpk_manifest_step *steps; /* at least one */
	size_t step_count;
	struct mpk_pos pos;
	bool valid; /* this table alone has no errors */
};

struct mpk_manifest {
	const char *path; /* the path as the user wrote it */
	const char *dir;  /* folder that paths are relative to; "" for the current one */
	struct mpk_toml_str name, abi, root, target, base;
	struct mpk_toml_str entry;    /* function that loaders also find as the entry */
	struct mpk_toml_str compress; /* "zstd"; if text is NULL, weights are not compressed */
	bool standalone, dedup;
	bool keep_order; /* modules get their indexes in the order of the manifest */
	enum mpk_generation gen;
	size_t root_index;
	const struct mpk_manifest_module *modules;
	size_t module_count;
	const struct mpk_manifest_launch *launches;
	size_t launch_count;
	const struct mpk_words *granted; /* flags that are allowed in addition to those of every
					  * manifest; may be NULL */
	bool valid; /* the whole manifest has no errors; otherwise only valid modules may be used,
		     * to find further mistakes */
};

/* mpk_manifest_module_extra - the value of a key that only the module's kind has; text is NULL if
 * absent */
struct mpk_toml_str mpk_manifest_module_extra(const struct mpk_manifest_module *module,
					      const char *key);

/* mpk_manifest_is_name - whether a package may have this name: it is a valid file name in the
 * current folder, and does not look like an option; false also if there is no memory */
bool mpk_manifest_is_name(const char *text);

/* mpk_manifest_name - the text, or "package" if no package may have this name; NULL stays NULL */
static inline const char *mpk_manifest_name(const char *text)
{
	return !text || mpk_manifest_is_name(text) ? text : "package";
}

/* mpk_manifest_allows - whether a manifest may pass this word to a compiler or a linker
 * For a compiler: an option that only affects how code is compiled, not which programs run or which
 * files they access (cflags.def), or a folder with headers. For a linker: "-lNAME", or a path that
 * does not look like an option.
 * @granted flags that the user allows in addition; may be NULL */
enum mpk_manifest_word { MPK_WORD_ANY, MPK_WORD_CFLAG, MPK_WORD_LIBRARY };
bool mpk_manifest_allows(enum mpk_manifest_word kind, const char *word,
			 const struct mpk_words *granted);

/* mpk_manifest_parse - parse TOML text into a manifest, and check every rule that needs no other
 * file
 * @text    the whole file, UTF-8; @path is its name in findings
 * @granted as for mpk_manifest_allows; borrowed by out
 * @report  receives all problems
 * @out     also set after MPK_E_SYNTAX, with valid false; without modules if the text is not TOML
 * Returns  MPK_OK if report gained no errors; MPK_E_SYNTAX otherwise (report has all errors, err
 *          the first); MPK_E_NOMEM */
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
	const char *name; /* value of the key `kind` */
	const char *key;  /* name of the kind in the blob */
	bool device;      /* device code: it has the keys data and format and the tables
			   * [[module.function]] */
	const char *formats[MPK_MANIFEST_KIND_FORMATS]; /* device code: values of the key `format`;
							 * the last is NULL */
	struct mpk_manifest_kind_key
		keys[MPK_MANIFEST_KIND_KEYS]; /* other kinds: their own keys; the last is NULL */
};

/* mpk_manifest_kind_find - the row of a kind, or NULL */
const struct mpk_manifest_kind *mpk_manifest_kind_find(struct mpk_span name);

/* All kinds; the last row has no name. */
extern const struct mpk_manifest_kind mpk_manifest_kinds[];

/* --- from modules that import one another to the tree that TVM's serializer writes --------
 *
 * Index order, merging of host modules into one _lib and child order are TVM's
 * (FORMAT.md of the blob, "order of modules"). */

struct mpk_module {
	struct mpk_span name;           /* for messages: the id in the manifest */
	struct mpk_span kind;           /* kind in the blob; ignored for host modules */
	bool is_host;                   /* the module is merged into the _lib node */
	const struct mpk_rope *content; /* payload; NULL for host modules */
	const size_t *imports;          /* indexes of modules, in import order */
	size_t import_count;
};

/* The contents of a package; borrowed. */
struct mpk_graph {
	const struct mpk_module *modules;
	size_t count;
	size_t root; /* index of the root module */
	bool listed; /* the tree keeps the order of the modules */
};

/* A cycle of imports: each module imports the next one, the last imports the first. */
struct mpk_cycle {
	const size_t *modules; /* indexes of the modules; NULL and count 0: there is no cycle */
	size_t count;
	bool merged; /* first and last are host modules: the cycle exists only because all host
		      * modules become one library */
};

/* mpk_graph_find_cycle - find a cycle among all modules, reachable or not, or one that arises when
 * the host modules that root reaches are merged
 * @arena   receives the list
 * Returns  MPK_OK, with out->count 0 if there is none; MPK_E_RANGE: root or an import is not the
 *          index of a module; MPK_E_NOMEM. Linear in modules and imports; no recursion */
enum mpk_code mpk_graph_find_cycle(const struct mpk_graph *graph, struct mpk_arena *arena,
				   struct mpk_cycle *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cycle_fail - report MPK_E_CONFLICT with the names of the modules in a cycle */
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

/* mpk_graph_needs_blob - false if there is only host code whose root imports nothing: then TVM
 * writes no blob. With imports TVM writes a blob, which lists the one library that contains all the
 * code
 * @tree    made from graph by mpk_graph_order */
bool mpk_graph_needs_blob(const struct mpk_graph *graph, const struct mpk_tree *tree);

#endif
