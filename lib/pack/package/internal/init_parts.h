/* SPDX-License-Identifier: Apache-2.0 */
/* init_parts.h - what the parts of init.h share (internal) */
#ifndef MPK_PACKAGE_INTERNAL_INIT_PARTS_H
#define MPK_PACKAGE_INTERNAL_INIT_PARTS_H

#include "base/strmap.h"
#include "code/info.h"
#include "code/param.h"
#include "package/init.h"
#include "sourcecode/sourcecode.h"

/* A kernel of a module. */
struct mpk_init_kernel {
	struct mpk_span symbol;     /* what a driver looks for */
	struct mpk_span short_name; /* as its source has it */
	struct mpk_span text;       /* a source: its parameters */
	const struct mpk_code_param *params;
	size_t param_count;
	uint32_t block[3];  /* the only block it runs in; zeros: any */
	uint32_t threads;   /* the most of a block; 0: no bound */
	unsigned dims;      /* of grid and block; 0: the code does not tell */
	bool hides_block;   /* it demands one, which is no number in the text */
	bool hides_threads; /* the same of a bound of the threads */
	bool shared;        /* it has dynamic shared memory */
	bool hides_shared;  /* the code does not tell that */
	const struct mpk_source_code_reach *reach; /* of a source; else NULL */
	bool bounded;         /* an integer keeps threads from running past the end */
	bool hides_params;    /* the code does not tell them */
	const char *refusal;  /* why nobody can launch it; NULL: it gets a row */
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
	size_t twin_count; /* kernels whose names those of files above have */
	/* Dynamic shared memory, found when it is first asked for: there may be as many arrays as kernels. */
	bool has_shared;
	struct mpk_strmap shared; /* arrays outside of kernels */
	const bool *owns_shared;  /* PTX: for each kernel, whether it has one of its own */
};

struct mpk_init {
	struct mpk_arena *arena;
	struct mpk_strbuf *out;
	struct mpk_error *err;
	const struct mpk_init_file *files;
	size_t count;
	const struct mpk_init_file **hosts; /* host code, in the order of the files */
	size_t host_count;
	const struct mpk_init_file *base;
	struct mpk_init_module *modules;
	size_t module_count;
	struct mpk_strmap symbols;    /* of kernels */
	struct mpk_strmap names;      /* of functions */
	const char *abi;              /* of the objects; NULL: none says */
	struct mpk_strbuf host_lines; /* comments: what the host code offers */
};

/* mpk_init_read_kernels - fill the kernels of a module whose code is set
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: it has none; MPK_E_NOMEM */
enum mpk_code mpk_init_read_kernels(struct mpk_init *in, struct mpk_init_module *m) MPK_MUST_CHECK;

/* mpk_init_read_launch - fill what the code of kernel i says of its launch
 * Returns  MPK_OK; MPK_E_NOMEM; what the reader of PTX finds */
enum mpk_code mpk_init_read_launch(struct mpk_init *in, struct mpk_init_module *m, size_t i,
				   struct mpk_init_kernel *k) MPK_MUST_CHECK;

/* mpk_init_put_rows, mpk_init_put_functions - append the kernel table; the launch functions */
void mpk_init_put_rows(struct mpk_init *in, const struct mpk_init_module *m);
void mpk_init_put_functions(struct mpk_init *in, const struct mpk_init_module *m);

/* mpk_init_put_text - append a string of TOML, with its quotes
 * mpk_init_take_name - a name that no function has yet: the wish, or the wish and a number
 * Returns  NULL: memory is out */
void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text);

/* mpk_init_has_suffix - ".cl" of "a/b.cl"; NULL ends the list */
bool mpk_init_has_suffix(const char *path, const char *const *suffixes);

#endif
