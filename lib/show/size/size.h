/* SPDX-License-Identifier: Apache-2.0 */
/* size.h - minspect --size: where a file's bytes are, and which of them are duplicates */
#ifndef MPK_SIZE_SIZE_H
#define MPK_SIZE_SIZE_H

#include "model/view.h"

/* A thing that takes bytes: a section, a file of a payload, a kernel's machine code. */
struct mpk_size_item {
	const char *path;                 /* path of its module, "cubin:NAME"; NULL for sections */
	const struct mpk_view_node *node; /* its module; NULL if none */
	struct mpk_span name;             /* not escaped */
	struct mpk_span data;             /* empty if the item shares its bytes with others */
	uint64_t bytes;
	/* the tensor whose elements are in data; NULL if none */
	const struct mpk_tensor_record *tensor;
	struct mpk_span title; /* parts only: the name in the payload; may be empty */
};

/* Kernels with equal code, name and device in several images. */
struct mpk_size_kernel {
	struct mpk_size_item item; /* path is "DEVICE in CONTAINER" for the first of them */
	const char *target;        /* "sm_90" */
	size_t count;              /* number of equal kernels */
};

/* A section that takes bytes of the file. */
struct mpk_size_section {
	const char *name; /* not escaped; "" if it has no name */
	uint64_t off;     /* offset in the image's bytes */
	uint64_t bytes;
	size_t index; /* section number in the file */
	bool is_code;
};

/* A function of host code. There may be millions. */
struct mpk_size_function {
	const char *symbol; /* not escaped */
	uint64_t bytes;
	uint32_t section; /* number of its section */
};

struct mpk_size_list {
	struct mpk_size_item *items;
	size_t count;
};

/* Items of equal content: items[first .. first + count) of the files sorted by content. */
struct mpk_size_copies {
	size_t first, count;
};

struct mpk_size {
	const struct mpk_view *view;   /* borrowed */
	struct mpk_size_list gpu;      /* GPU code of any library by device: "sm_90 cubin" */
	struct mpk_size_list sections; /* largest first; empty for a bare blob */
	const struct mpk_size_section *every_section; /* all sections in file order, not filtered */
	size_t every_section_count;
	uint64_t other; /* headers, padding and, in archives, other members */
	/* functions of host code with a symbol, each address once; largest first */
	const struct mpk_size_function *functions;
	size_t function_count;
	struct mpk_size_list modules; /* payloads of modules, by kind */
	/* files that --extract would write and that are stored unchanged; largest first */
	struct mpk_size_list files;
	struct mpk_size_list byte_code; /* functions of executables; largest first */
	struct mpk_size_list
		kernels; /* machine code by kernel, if the format tells it; largest first */
	struct mpk_size_list
		sorted; /* all files by length and content, longest first; copies refers to it */
	const struct mpk_size_copies *copies; /* runs of equal files in sorted; longest first */
	size_t copy_count;
	const struct mpk_size_kernel *same_kernels; /* largest saving first */
	size_t same_kernel_count;
	uint64_t wasted; /* bytes of all copies except the first of each run */
};

/* mpk_size_read - measure a file
 * @arena   receives everything
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_size_read(const struct mpk_view *view, struct mpk_arena *arena,
			    struct mpk_size *out, struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_size: text has the first sixteen rows of each table, JSON and CSV have
 * all; Markdown folds them. CSV has a row for the file, its blob, and each section, module, part,
 * tensor and kernel; its columns are stable (minspect(1)). */
extern const struct mpk_answer mpk_answer_size;

/* The size of one file of a set, and the bytes that it contains more than once. */
struct mpk_size_row {
	const char *name; /* borrowed; not escaped */
	uint64_t bytes, gpu, host, wasted;
};

struct mpk_size_rows {
	const struct mpk_size_row *items;
	size_t count;
	/* archive or folder that contains all files, not escaped; NULL if there is none */
	const char *set;
	size_t prefix; /* bytes of that prefix in the files' names */
};

/* mpk_size_row - make the row of one file */
struct mpk_size_row mpk_size_row(const struct mpk_size *size, const char *name);

/* Printers of struct mpk_size_rows: a table of the largest files; .line has the totals */
extern const struct mpk_answer mpk_answer_size_rows;

#endif
