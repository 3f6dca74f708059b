/* SPDX-License-Identifier: Apache-2.0 */
/* differ.h - differences between two files: what one is, and their list while it grows
 *
 * Kernels, functions, parts of payloads: whatever compares two things adds to one list, in the words
 * that --diff prints. */
#ifndef MPK_COMPARE_DIFFER_H
#define MPK_COMPARE_DIFFER_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "code/show.h"
#include "code/work.h"
#include "tensor/tensor.h"

enum mpk_diff_sign { MPK_DIFF_REMOVED, MPK_DIFF_ADDED, MPK_DIFF_CHANGED };

/* One figure of a kernel in both files. */
struct mpk_figure_change {
	enum mpk_figure figure;
	struct mpk_figure_value before, after;
};

/* What the instructions of a kernel do in both files, as a whole or on a source line; only the sides that have it are
 * filled. */
struct mpk_work_change {
	const char *
		file; /* the last part of its path, as releases are built in folders of their own */
	uint32_t line;    /* 0: the kernel as a whole */
	bool is_there[2]; /* in the older file, in the newer one */
	struct mpk_work work[2];
};

struct mpk_tensor_diff; /* compare.h */

struct mpk_difference {
	enum mpk_diff_sign sign;
	const char *path; /* tree path in the file that has it, the older one of both; "" for the
			       * library itself */
	const char *
		new_path; /* changed things of a module that moved: its path in the newer file; else "" */
	const char *what;     /* "function", "module", "kernel", "part", ...; static storage */
	struct mpk_span name; /* of the thing; may be empty */
	const char *text;     /* how it changed: "4 B -> 8 B"; "" for removed and added */
	const char *lines;  /* hunks of the unified format; "" where nothing is told line by line */
	const char *target; /* of kernels: "sm_90"; "" where the code names none */
	const struct mpk_figure_change *figures; /* of kernels: those that changed */
	size_t figure_count;
	/* of kernels whose instructions are counted on both sides and differ: as a whole; then by source line, those
	 * that changed most first */
	const struct mpk_work_change *work; /* NULL: none */
	size_t work_count;
	const struct mpk_tensor_diff
		*elements; /* of tensors whose elements were compared; else NULL */
	bool same_code;    /* the bytes differ, the code in them does not */
	bool other_code; /* instructions may tell how (disasm/changes.h): of a kernel, an image, a host function, or the code below */
	const struct mpk_code_info *older_code,
		*newer_code; /* of parts without kernels; else NULL */
	size_t copy;         /* of kernels: as in struct mpk_listed_kernel */
	bool has_bytes;      /* how large it is in both files is known; 0 where it is not there */
	uint64_t older_bytes, newer_bytes;
};

/* One of the two files, as a summary names it. */
struct mpk_diff_side {
	const char *name;
	uint64_t bytes, blob_bytes; /* blob_bytes 0: it has none */
	const uint8_t *code_digest; /* of its code, when code alone was compared (digest/digest.h);
				     * else NULL */
};

struct mpk_diff {
	struct mpk_diff_side older, newer;
	struct mpk_difference *items;
	size_t count, cap;
	bool of_weights;             /* two files of weights: */
	size_t equal_tensors;        /* of those that both have */
	const char *no_instructions; /* why some kernels have no hunks of instructions, or NULL */
	bool failed;
};

/* All hunks of a comparison together, in bytes; what would be more is said as numbers of lines. */
#define MPK_DIFF_LINES_MAX ((size_t)4 << 20)

struct mpk_differ {
	struct mpk_diff *diff;
	struct mpk_arena *arena;
	const char *path;     /* of the module that is compared; "" for the library */
	const char *new_path; /* the same in the newer file, where it moved; else "" */
	size_t lines_left;    /* bytes that hunks may still take */
	uint64_t
		code_left; /* bytes of machine code that will still be compared: kernels of a hostile
			     * file may share theirs */
};

/* A kind of thing that has a name: two lists of them are matched by name, then compared. */
struct mpk_diff_thing {
	const char *what;
	size_t bytes;                              /* of an item of the lists */
	struct mpk_span (*name)(const void *item); /* NULL: a struct mpk_span in the item */
	size_t name_at;                            /* where in the item that is */
	/* Adds what changed between two of one name; NULL: nothing can. */
	void (*compare)(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b);
	uint64_t (*bytes_of)(const void *item); /* how large it is; NULL: nobody knows */
	bool is_place;                          /* its name is the path of what is in it */
	bool only_matched;                      /* what one list alone has is reported elsewhere */
};

/* mpk_differ_match - removed and added items, and what compare says of the others; of several with one
 * name the first */
void mpk_differ_match(struct mpk_differ *d, const struct mpk_diff_thing *t, const void *a,
		      size_t a_count, const void *b, size_t b_count);

/* mpk_differ_add - one difference at the differ's path
 * @text    in the arena, or static; NULL: memory is out, which the list remembers
 * Returns  it, to be filled further until the next one is added; NULL: memory is out */
struct mpk_difference *mpk_differ_add(struct mpk_differ *d, enum mpk_diff_sign sign,
				      const char *what, struct mpk_span name, const char *text);

/* mpk_differ_note_bytes - note how large a thing is in both files
 * @d       may be NULL, as when memory is out */
static inline void mpk_differ_note_bytes(struct mpk_difference *d, uint64_t older, uint64_t newer)
{
	if (!d)
		return;
	d->has_bytes = true;
	d->older_bytes = older;
	d->newer_bytes = newer;
}

/* mpk_differ_change - a changed thing with a formatted text
 * Returns  as mpk_differ_add */
struct mpk_difference *mpk_differ_change(struct mpk_differ *d, const char *what,
					 struct mpk_span name, const char *fmt, ...)
	MPK_PRINTF(4, 5);

/* mpk_differ_take - the text of buf in the arena; empties buf
 * Returns  NULL when memory is out */
const char *mpk_differ_take(struct mpk_differ *d, struct mpk_strbuf *buf);

/* mpk_differ_words - a change where two words differ, "ffi -> legacy" */
void mpk_differ_words(struct mpk_differ *d, const char *what, const char *a, const char *b);

/* mpk_differ_texts - a change where two printed forms differ; takes both over
 * Returns  whether they do */
bool mpk_differ_texts(struct mpk_differ *d, const char *what, struct mpk_span name,
		      struct mpk_strbuf *a, struct mpk_strbuf *b);

/* mpk_differ_lines - a change of two texts, with hunks
 * @unit    what a line is called: "line", "instruction" */
void mpk_differ_lines(struct mpk_differ *d, const char *what, struct mpk_span name,
		      const char *unit, struct mpk_span a, struct mpk_span b);

/* mpk_differ_tensors - a change of two tensors of one name, if their values differ */
void mpk_differ_tensors(struct mpk_differ *d, struct mpk_span name,
			const struct mpk_tensor_record *a, const struct mpk_tensor_record *b);

/* mpk_differ_add_tensor - a change that was found already, with how far it goes; takes text over */
void mpk_differ_add_tensor(struct mpk_differ *d, struct mpk_span name,
			   const struct mpk_tensor_diff *found, struct mpk_strbuf *text);

/* mpk_differ_put_type - append "f32[2, 3]", and a scalar as "f32[]", as values are typed for --run */
void mpk_differ_put_type(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			 struct mpk_strbuf *out);

/* mpk_differ_content - a change of two runs of bytes, if they differ: with hunks where both are texts, else as
 * mpk_differ_bytes */
void mpk_differ_content(struct mpk_differ *d, const char *what, struct mpk_span name,
			struct mpk_span a, struct mpk_span b);

/* mpk_differ_bytes - a change of what nothing here reads: lengths, or how many bytes differ */
struct mpk_difference *mpk_differ_bytes(struct mpk_differ *d, const char *what,
					struct mpk_span name, struct mpk_span a, struct mpk_span b);

#endif
