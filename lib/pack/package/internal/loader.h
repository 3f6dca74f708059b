/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - what the parts of mpk_package_load share (internal) */
#ifndef MPK_PACKAGE_INTERNAL_LOADER_H
#define MPK_PACKAGE_INTERNAL_LOADER_H

#include "base/strmap.h"
#include "code/info.h"
#include "io/mapping.h"
#include "launch/launch.h"
#include "manifest/graph.h"
#include "package/package.h"

/* A step of a launch function, whose kernel is "ID.KERNEL". */
struct mpk_loader_step {
	struct mpk_span id, kernel;
	const struct mpk_manifest_launch *launch;
	const struct mpk_manifest_step *step;
};

struct mpk_loader {
	const struct mpk_manifest *manifest;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_file *files;
	struct mpk_strmap opened; /* path -> address of its file */
	const struct mpk_memory_file *memory_files;
	struct mpk_strmap memory_names;       /* name -> index in memory_files */
	const struct mpk_code_kernel ***code; /* of each module, of each kernel of its table: what
					       * its code says; NULL where it does not */
	const struct mpk_loader_step *steps;  /* by id, else as they stand in the manifest */
	size_t step_count;
	const struct mpk_rope *contents; /* of the modules, in the order of the manifest */
	const char **inputs;             /* malloc'ed */
	size_t input_count, input_cap;
	uint64_t letters_left; /* that may still be compared to find what a name was meant to be */
	bool failed;           /* out of memory */
};

enum { MPK_LOADER_LETTERS = 64 * 1024 * 1024 }; /* a third of a second */

/* mpk_loader_open - the file a key names, mapped; NULL when it cannot be read: a finding
 * at the key's value then. One for all keys that name it, so that all find the same bytes. */
struct mpk_file *mpk_loader_open(struct mpk_loader *l, struct mpk_toml_str name);

/* mpk_loader_code - a file as its reader finds it, read once; NULL: out of memory */
const struct mpk_code_info *mpk_loader_code(struct mpk_loader *l, struct mpk_file *f);

/* mpk_loader_put - append a range of a file to a rope: large ones as a range of the file,
 * small ones as a view of the mapping */
void mpk_loader_put(const struct mpk_file *f, uint64_t off, uint64_t len, struct mpk_rope *rope);

/* mpk_loader_error - a finding at a position of the manifest */
void mpk_loader_error(struct mpk_loader *l, struct mpk_pos pos, enum mpk_code code,
		      const char *check, const char *fmt, ...) MPK_PRINTF(5, 6);

/* mpk_loader_put_device - the payload of a device module from its code files and kernel table
 * mpk_loader_put_executor - the payload of a GraphExecutorFactory or AotExecutorFactory
 * Append to rope; problems become findings. A device module's table gets the rows that launch
 * functions tell. */
void mpk_loader_put_device(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_rope *rope);
void mpk_loader_put_executor(struct mpk_loader *l, const struct mpk_manifest_module *m,
			     struct mpk_rope *rope);

/* mpk_loader_list_steps - set l->steps to those of all launch functions that name a module
 * Returns  false: out of memory */
bool mpk_loader_list_steps(struct mpk_loader *l) MPK_MUST_CHECK;

/* mpk_loader_complete_table - add a row for each kernel of the module that a launch function names
 * and the table does not, when the code has it and says which parameters it takes
 * @data    the module's code */
void mpk_loader_complete_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			       struct mpk_file *data);

/* mpk_loader_missing_table - report a table without rows, with rows to fill in
 * @data    the module's code, or NULL */
void mpk_loader_missing_table(struct mpk_loader *l, const struct mpk_manifest_module *m,
			      struct mpk_file *data);

/* mpk_loader_dedup - let the importers of modules with equal kind, bytes and imports import
 * the first of them, so that the others are left out
 * @root    becomes the first of its equals, too; modules with empty bytes count, host modules do not */
void mpk_loader_dedup(struct mpk_loader *l, struct mpk_module *modules, size_t count, size_t *root);

/* mpk_loader_launches - check the launch functions and put their code into the tree
 * @modules  room for one more than *count; a host module may be added
 * @root    set to that host module unless the manifest names a root
 * Returns  manifest->launch_count functions, or NULL when there are none or they do not
 *          hold (findings) */
const struct mpk_launch *mpk_loader_launches(struct mpk_loader *l, struct mpk_module *modules,
					     size_t *count, size_t *root);

#endif
