/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - what the files of this folder share, and nobody else includes */
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
	struct mpk_span symbol;     /* the name that a driver looks for */
	struct mpk_span short_name; /* the name in the source */
	struct mpk_span text;       /* a source: its parameters */
	const struct mpk_code_param *params;
	size_t param_count;
	uint32_t block[3];  /* the only block size that it runs with; zeros: any */
	uint32_t threads;   /* most threads of a block; 0: no bound */
	unsigned dims;      /* dimensions of grid and block; 0: the code does not tell */
	bool hides_block;   /* it requires a block size that the text does not give as a number */
	bool hides_threads; /* the same for a bound of the threads */
	bool shared;        /* it has dynamic shared memory */
	bool hides_shared;  /* the code does not tell whether it has any */
	const struct mpk_source_code_reach *reach; /* the source it is from; else NULL */
	bool bounded;         /* an integer keeps threads from running past the end */
	bool hides_params;    /* the code does not tell the parameters */
	const char *refusal;  /* why no runtime can launch it; NULL: it gets a row */
	const char *open;     /* why it gets no launch function; NULL: it gets one */
	const char *function; /* its launch function's name */
};

/* A file of device code. */
struct mpk_init_module {
	const struct mpk_init_file *file;
	const char *id, *kind, *format;
	const struct mpk_code_info *code; /* that lists the kernels */
	struct mpk_init_kernel *kernels;
	size_t kernel_count, row_count, function_count;
	size_t twin_count; /* kernels that files above have already */
	/* Dynamic shared memory, found when it is first asked for: there may be as many arrays
	 * as kernels. */
	bool has_shared;
	struct mpk_strmap shared; /* arrays outside of kernels */
	const bool *owns_shared;  /* PTX: for each kernel, whether it has dynamic shared memory of
				   * its own */
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
	const char *name;                   /* of the package */
	const struct mpk_init_file **hosts; /* host code, in the order of the files */
	size_t host_count;
	const struct mpk_init_file *base;
	struct mpk_init_module *modules;
	size_t module_count;
	struct mpk_strmap symbols;          /* of kernels */
	struct mpk_strmap names;            /* of functions */
	const char *abi;                    /* the machine of the objects; NULL: unknown */
	const struct mpk_init_file *header; /* the first object; NULL: there is none */
	struct mpk_init_call *calls;        /* malloc'ed; in the order of the files */
	size_t call_count, call_cap;
	struct mpk_strmap call_names; /* to indices */
	struct mpk_strmap defined;    /* symbols that objects and archives define */
	bool hides_symbols;           /* some host code's symbols cannot be read here */
	struct mpk_strbuf host_lines; /* comments that list what the host code offers */
};

/* mpk_init_put_functions - append the launch functions of a module's kernels */
void mpk_init_put_functions(struct mpk_init *in, const struct mpk_init_module *m);

/* mpk_init_read_files - modules, host code and what it offers, all that is read of the files
 * Returns  as mpk_init_manifest */
enum mpk_code mpk_init_read_files(struct mpk_init *in) MPK_MUST_CHECK;

/* mpk_init_put_call - append a function that calls a C function */
void mpk_init_put_call(struct mpk_init *in, const struct mpk_cfunction *f);

/* mpk_init_put_text - append a string of TOML, with its quotes
 * mpk_init_take_name - a name that no function has yet: the wish, or the wish and a number
 * mpk_init_free_name - a name that expressions may use and that none of the names of other parameters is, made the same way
 * Returns  NULL: memory is out */
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
	struct mpk_strmap opened; /* path -> address of its file */
	const struct mpk_memory_file *memory_files;
	struct mpk_strmap memory_names;       /* name -> index in memory_files */
	const struct mpk_code_kernel ***code; /* for each kernel of each module's table, what its
					       * code says; NULL where it does not */
	const struct mpk_loader_step
		*steps; /* modules by id, or else in the order of the manifest; table.c */
	size_t step_count;
	const struct mpk_rope *contents; /* steps of the modules, in the order of the manifest */
	const char **inputs;             /* malloc'ed */
	size_t input_count, input_cap;
	uint64_t letters_left; /* names that may still be compared to find the one that was meant */
	bool failed;           /* out of memory */
};

enum { MPK_LOADER_LETTERS = 64 * 1024 * 1024 }; /* a third of a second */

/* mpk_loader_open - the file a key names, mapped; NULL when it cannot be read: a finding
 * at the key's value then. One for all keys that name it, so that all find the same bytes. */
struct mpk_file *mpk_loader_open(struct mpk_loader *l, struct mpk_toml_str name);

/* mpk_loader_code - a file as its reader finds it, read once; NULL: out of memory */
const struct mpk_code_info *mpk_loader_code(struct mpk_loader *l, struct mpk_file *f);

/* mpk_loader_error - a finding at a position of the manifest */
void mpk_loader_error(struct mpk_loader *l, struct mpk_pos pos, enum mpk_code code,
		      const char *check, const char *fmt, ...) MPK_PRINTF(5, 6);

/* mpk_loader_put_payload - the payload of a module, from its file or its parts; it has no errors. A kind without a row has
 * only payloads, which the manifest's checks hold it to. */
void mpk_loader_put_payload(struct mpk_loader *l, struct mpk_manifest_module *m,
			    struct mpk_rope *rope);

/* A device module in progress. Set l, m and kind, and valid to true. */
struct mpk_device_code {
	struct mpk_loader *l;
	struct mpk_manifest_module *m;
	const struct mpk_manifest_kind *kind;
	struct mpk_file *shared; /* the module's data; NULL: it has none that is valid */
	const char *format;      /* NULL: unknown so far, or none fits */
	struct mpk_file *
		*files; /* for each kernel its file; all the same when the module has one */
	const struct mpk_code_kernel **code; /* for each kernel what its file says */
	enum mpk_kernels_layout layout;
	struct mpk_span *names; /* kernel names of a file, for hints; NULL: not listed yet */
	bool own_files;         /* kernels have files of their own */
	bool valid;             /* no finding so far */
};

/* Returns the file of kernel i: its own, else the module's. */
static inline struct mpk_toml_str mpk_device_code_file(const struct mpk_device_code *d, size_t i)
{
	const struct mpk_manifest_function *f = &d->m->functions[i];

	return f->data.text ? f->data : d->m->data;
}

/* For warnings, which mpk_loader_error cannot give. */
static inline struct mpk_toml_reader mpk_device_code_findings(const struct mpk_device_code *d)
{
	return (struct mpk_toml_reader){ .report = d->l->report, .path = d->l->manifest->path };
}

/* mpk_loader_fill_table - add a row for each kernel of the module that a launch function names and the table does not,
 * when the code has it and says which parameters it takes; report a table without rows, with rows to fill in
 * @data    the module's code, or NULL
 * @valid   what there is of code files could be read */
void mpk_loader_fill_table(struct mpk_loader *l, struct mpk_manifest_module *m,
			   struct mpk_file *data, bool valid);

/* mpk_loader_finish - check the launch functions and put their code into the tree; and, when the manifest wants it
 * and nothing is wrong, let the importers of modules with equal kind, bytes and imports import the first of them, so
 * that the others are left out: modules with empty bytes count, host modules do not
 * @modules  room for one more than *count; a host module may be added
 * @root    set to that host module unless the manifest names a root; becomes the first of its equals, too
 * @out     receives the functions, none where they do not hold (findings), and what they call */
void mpk_loader_finish(struct mpk_loader *l, struct mpk_module *modules, size_t *count,
		       size_t *root, struct mpk_package *out);

/* OpenCL source as TVM's loader expects it: one program for each kernel, after a line that names
 * the kernel (internal) */

/* mpk_pieces_put - append one kernel's line and its program
 * @source  borrowed until the rope is written; NULs at its end are left out */
void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source);

#endif
