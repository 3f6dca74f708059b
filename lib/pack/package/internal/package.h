/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - declarations shared by the files of this folder */
#ifndef MPK_PACKAGE_INTERNAL_PACKAGE_H
#define MPK_PACKAGE_INTERNAL_PACKAGE_H

#include <stddef.h>

#include "base/rope.h"
#include "base/span.h"
#include "base/strmap.h"
#include "code/info.h"
#include "io/mapping.h"
#include "launch/launch.h"
#include "manifest/manifest.h"
#include "package/package.h"
#include "sourcecode/cfunction.h"
#include "sourcecode/sourcecode.h"

/* --- What the parts of mpk_init_manifest share --- */

/* A kernel of a module. */
struct mpk_init_kernel {
	struct mpk_span symbol;     /* name by which a driver finds the kernel */
	struct mpk_span short_name; /* name in the source */
	struct mpk_span text;       /* for a source: its parameters as text */
	const struct mpk_code_param *params;
	size_t param_count;
	uint32_t block[3]; /* the only block size that it accepts; zeros: any */
	uint32_t threads;  /* most threads in a block; 0: no limit */
	unsigned dims;     /* number of dimensions of grid and block; 0: the code does not tell */
	bool hides_block; /* it requires a block size, but the source does not give it as a number */
	bool hides_threads; /* it limits the threads, but the source does not give the limit as a
			     * number */
	bool shared;        /* it uses dynamic shared memory */
	bool hides_shared;  /* the code does not tell whether it uses dynamic shared memory */
	const struct mpk_source_code_reach *reach; /* analysis of its source; NULL if it is not from
						    * a source */
	bool bounded;         /* an integer parameter keeps threads from running past the end */
	bool hides_params;    /* the code does not tell the parameters */
	const char *refusal;  /* reason why no runtime can launch it; NULL: it gets a row in the
			       * table */
	const char *open;     /* reason why it gets no launch function; NULL: it gets one */
	const char *function; /* name of its launch function */
};

/* A file of device code. */
struct mpk_init_module {
	const struct mpk_init_file *file;
	const char *id, *kind, *format;
	const struct mpk_code_info *code; /* its kernels, among other contents */
	struct mpk_init_kernel *kernels;
	size_t kernel_count, row_count, function_count;
	size_t twin_count; /* number of kernels that earlier files contain too */
	/* Dynamic shared memory, which is searched only when it is first needed: there may be as many
	 * arrays as kernels. */
	bool has_shared;
	struct mpk_strmap shared; /* arrays declared outside of kernels */
	const bool *owns_shared;  /* for PTX: whether each kernel has dynamic shared memory of its
				   * own */
};

/* A C function, in a source or a header. */
struct mpk_init_call {
	const struct mpk_cfunction *f;
	const struct mpk_init_file *file;
	bool is_header; /* a header declares it */
};

struct mpk_init {
	struct mpk_arena *arena;
	struct mpk_strbuf *out;
	struct mpk_error *err;
	const struct mpk_init_file *files;
	size_t count;
	const char *name;                   /* name of the package */
	const struct mpk_init_file **hosts; /* files of host code, in the order of the files */
	size_t host_count;
	const struct mpk_init_file *base;
	struct mpk_init_module *modules;
	size_t module_count;
	struct mpk_strmap symbols;          /* symbols of kernels */
	struct mpk_strmap names;            /* names of functions */
	const char *abi;                    /* machine of the objects; NULL: unknown */
	const struct mpk_init_file *header; /* the first object; NULL: there is none */
	struct mpk_init_call *calls;        /* malloc'ed; in the order of the files */
	size_t call_count, call_cap;
	struct mpk_strmap call_names; /* names of calls, to indexes */
	struct mpk_strmap defined;    /* symbols that objects and archives define */
	bool hides_symbols;           /* symbols of some host code cannot be read */
	struct mpk_strbuf host_lines; /* comments that list the functions of host code */
};

/* mpk_init_put_functions - append the launch functions of a module's kernels */
void mpk_init_put_functions(struct mpk_init *in, const struct mpk_init_module *m);

/* mpk_init_read_files - read all files: modules, host code and its functions
 * Returns  as mpk_init_manifest */
enum mpk_code mpk_init_read_files(struct mpk_init *in) MPK_MUST_CHECK;

/* mpk_init_put_call - append a function that calls a C function */
void mpk_init_put_call(struct mpk_init *in, const struct mpk_cfunction *f);

/* mpk_init_put_text - append a TOML string, with its quotes
 * mpk_init_take_name - reserve a name that no function has yet: the wish, or the wish with a number
 * mpk_init_free_name - choose a name that expressions may use and that no other parameter has, in
 * the same way
 * Returns  NULL: there is no memory */
void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text);
const char *mpk_init_take_name(struct mpk_init *in, struct mpk_span wish);
const char *mpk_init_free_name(struct mpk_init *in, const char *const *names, size_t count,
			       const char *wish);

/* --- What the parts of mpk_package_load share --- */

/* A step of a launch function; its kernel is "ID.KERNEL". */
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
	struct mpk_strmap opened; /* maps a path to its open file */
	const struct mpk_memory_file *memory_files;
	struct mpk_strmap memory_names;       /* maps a name to an index in memory_files */
	const struct mpk_code_kernel ***code; /* for each kernel in each module's table: the kernel
					       * in the code; NULL if the code does not tell */
	const struct mpk_loader_step
		*steps; /* modules sorted by id, or in the order of the manifest; table.c */
	size_t step_count;
	const struct mpk_rope *contents; /* payloads of the modules, in the order of the manifest */
	const char **inputs;             /* malloc'ed */
	size_t input_count, input_cap;
	uint64_t letters_left; /* limits the comparisons for suggestions: letters of names that may
			        * still be compared */
	bool failed;           /* there is no memory */
};

enum { MPK_LOADER_LETTERS = 64 * 1024 * 1024 }; /* takes a third of a second */

/* mpk_loader_open - map the file that a key names. If it cannot be read, returns NULL after
 * reporting a finding at the key's value. Keys that name the same file share one mapping, so that
 * all see the same bytes. */
struct mpk_file *mpk_loader_open(struct mpk_loader *l, struct mpk_toml_str name);

/* mpk_loader_code - parse a file once; NULL: there is no memory */
const struct mpk_code_info *mpk_loader_code(struct mpk_loader *l, struct mpk_file *f);

/* mpk_loader_error - report a finding at a position in the manifest */
void mpk_loader_error(struct mpk_loader *l, struct mpk_pos pos, enum mpk_code code,
		      const char *check, const char *fmt, ...) MPK_PRINTF(5, 6);

/* mpk_loader_put_payload - make the payload of a module without errors, from its file or its parts.
 * A kind that is not in the table has only payloads, which the manifest's checks ensure. */
void mpk_loader_put_payload(struct mpk_loader *l, struct mpk_manifest_module *m,
			    struct mpk_rope *rope);

/* State of loading a device module. Set l, m and kind, and set valid to true. */
struct mpk_device_code {
	struct mpk_loader *l;
	struct mpk_manifest_module *m;
	const struct mpk_manifest_kind *kind;
	struct mpk_file *shared; /* the module's data file; NULL: there is no valid one */
	const char *format;      /* NULL: not known yet, or no format fits */
	struct mpk_file **files; /* file of each kernel; all the same if the module has one file */
	const struct mpk_code_kernel **code; /* for each kernel its description in the code */
	enum mpk_kernels_layout layout;
	struct mpk_span
		*names; /* names of a file's kernels, for suggestions; NULL: not listed yet */
	bool own_files; /* each kernel has its own file */
	bool valid;     /* no finding so far */
};

/* Returns the file of kernel i: its own, else the module's. */
static inline struct mpk_toml_str mpk_device_code_file(const struct mpk_device_code *d, size_t i)
{
	const struct mpk_manifest_function *f = &d->m->functions[i];

	return f->data.text ? f->data : d->m->data;
}

/* Used for warnings; mpk_loader_error reports only errors. */
static inline struct mpk_toml_reader mpk_device_code_findings(const struct mpk_device_code *d)
{
	return (struct mpk_toml_reader){ .report = d->l->report, .path = d->l->manifest->path };
}

/* mpk_loader_fill_table - add a row for each kernel that launch functions use and the module's
 * table lacks, if the code contains it and tells its parameters; if the table has no rows, report
 * that with rows to fill in
 * @data    the module's code, or NULL
 * @valid   all existing code files could be read */
void mpk_loader_fill_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_file *data, bool valid);

/* mpk_loader_finish - check the launch functions and add their code to the tree
 * If the manifest asks for it and there are no errors, modules with equal kind, bytes and imports
 * are merged: their importers import the first of them, and the others are left out. This includes
 * modules with empty bytes, but not host modules.
 * @modules  has room for one more than *count, because a host module may be added
 * @root    set to that host module unless the manifest names a root; if the root is merged, set to
 *          the first of its equals
 * @out     receives the functions and the C functions they call; none if there are findings */
void mpk_loader_finish(struct mpk_loader *l, struct mpk_module *modules, size_t *count,
		       size_t *root, struct mpk_package *out);

/* OpenCL source as TVM's loader expects it: one program for each kernel, after a line that names
 * the kernel (internal) */

/* mpk_pieces_put - append a kernel's line and its program
 * @source  borrowed until the rope is written; NULs at its end are dropped */
void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source);

#endif
