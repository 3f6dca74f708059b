/* SPDX-License-Identifier: Apache-2.0 */
/* size.h - minspect --size: where a file's bytes are, and which stand in it twice */
#ifndef MPK_SIZE_SIZE_H
#define MPK_SIZE_SIZE_H

#include "model/view.h"

/* Something that takes bytes: a section, a file of a payload, a kernel's machine code. */
struct mpk_size_item {
	const char *path;                 /* of its module, "cubin:NAME"; NULL for sections */
	const struct mpk_view_node *node; /* its module; NULL: it is of none */
	struct mpk_span name;             /* not escaped */
	struct mpk_span data;             /* empty when the bytes are not the item's alone */
	uint64_t bytes;
	const struct mpk_tensor_record *tensor; /* what data is the elements of, or NULL */
	struct mpk_span title; /* parts: the name as the payload spells it; may be empty */
};

/* Kernels whose code is the same: of one name, for one device, in several images. */
struct mpk_size_kernel {
	struct mpk_size_item item; /* path: "DEVICE in CONTAINER" of the first */
	const char *target;        /* "sm_90" */
	size_t count;              /* of them */
};

/* A section that takes bytes of the file. */
struct mpk_size_section {
	const char *name; /* not escaped; "" of one without */
	uint64_t off;     /* in the image's bytes */
	uint64_t bytes;
	size_t index; /* among those of the file */
	bool is_code;
};

/* A function of host code. They may be millions. */
struct mpk_size_function {
	const char *symbol; /* not escaped */
	uint64_t bytes;
	uint32_t section; /* the number of the one that it is in */
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
	const struct mpk_size_section
		*every_section; /* in the order of the file, whatever is shown */
	size_t every_section_count;
	uint64_t other; /* headers, padding and, in archives, other members */
	const struct mpk_size_function
		*functions; /* of host code that symbols name, each place once; largest first */
	size_t function_count;
	struct mpk_size_list modules; /* their payloads, by kind */
	struct mpk_size_list
		files; /* that --extract would write, as far as they stand there; largest first */
	struct mpk_size_list byte_code; /* functions of executables; largest first */
	struct mpk_size_list
		kernels; /* machine code by kernel, where the format tells; largest first */
	struct mpk_size_list
		sorted; /* files whose copies are named, by length and content, longest first */
	const struct mpk_size_copies *copies; /* runs of sorted; longest first */
	size_t copy_count;
	const struct mpk_size_kernel *same_kernels; /* most bytes to save first */
	size_t same_kernel_count;
	uint64_t wasted; /* bytes of all copies but the first of each run */
};

/* mpk_size_read - measure
 * @arena   receives everything
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_size_read(const struct mpk_view *view, struct mpk_arena *arena,
			    struct mpk_size *out, struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_size: text has the first sixteen rows of each table, JSON and CSV all; Markdown folds them.
 * CSV has a row for the file, its blob, and each section, module, part, tensor and kernel; its columns are
 * stable (minspect(1)). */
extern const struct mpk_answer mpk_answer_size;

/* What a file of a set comes to, and what of it stands there more than once. */
struct mpk_size_row {
	const char *name; /* borrowed; not escaped */
	uint64_t bytes, gpu, host, wasted;
};

struct mpk_size_rows {
	const struct mpk_size_row *items;
	size_t count;
	const char *set; /* an archive or folder that all are in, not escaped; NULL: none */
	size_t prefix;   /* bytes of their names that say so */
};

/* mpk_size_row - that of one file */
struct mpk_size_row mpk_size_row(const struct mpk_size *size, const char *name);

/* of struct mpk_size_rows: a table of the largest files; .line is what all of them come to */
extern const struct mpk_answer mpk_answer_size_rows;

#endif
