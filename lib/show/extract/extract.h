/* SPDX-License-Identifier: Apache-2.0 */
/* extract.h - minspect --extract: the files that a module tree consists of */
#ifndef MPK_EXTRACT_EXTRACT_H
#define MPK_EXTRACT_EXTRACT_H

#include "base/rope.h"
#include "io/digest.h"
#include "model/view.h"

struct mpk_extract_file;

/* Makes the content of a file when it is written: what is packed would not fit in memory otherwise.
 * @arena   receives it, and is freed when the file is written */
typedef enum mpk_code (*mpk_extract_make)(const struct mpk_view *view,
					  struct mpk_extract_file *file, struct mpk_arena *arena,
					  struct mpk_error *err);

struct mpk_extract_file {
	const char *name; /* "1-cuda/kernels.ptx": safe, and unique in the list, but for same */
	const struct mpk_extract_file
		*same;           /* the file in the list that this is, of another module:
					      * to be written once; or NULL */
	const char *path;        /* of its module, "cubin:NAME", ".nv_fatbin:3" */
	struct mpk_span kind;    /* of its module */
	struct mpk_span title;   /* the name in the payload; may be empty */
	struct mpk_rope content; /* views of the blob and what was made for it */
	bool stored;             /* data is stored in the blob as it is; else it was made */
	uint64_t off, bytes;     /* stored: where in the blob, and how long; of embedded code in the
				  * file */
	const struct mpk_tensor_record *tensor; /* what an .npy file holds, or NULL */
	mpk_extract_make make;                  /* NULL: content is there */
	bool is_device;                         /* GPU code of the library */
	size_t container, image;                /* of GPU code: what it is made of */
	const char *digest; /* of content, as text; set by who writes it, or NULL */
};

struct mpk_extract {
	const struct mpk_view *view; /* what the files are of */
	struct mpk_extract_file **files;
	size_t count;
	enum mpk_digest_kind digest; /* which one the files have; set by who writes them */
};

/* mpk_extract_plan - one directory a module, "<index>-<kind>", and its files in stored order
 * Tensors become .npy files where NumPy has the type, else .bin; a payload that does not
 * decode, or of unknown kind, is "payload.bin"; host code "functions.json", one for all modules that
 * are host code, as it tells what the library has. Code beside the tree
 * is "embedded/<index>-<name>.cubin", .fatbin or .ptx; images of a library's GPU code are
 * "gpu/<container>-<image>-<device>.cubin", .ptx, .hsaco, unpacked.
 * @path    of one module, or one run of code beside the tree: "/0/1", "cubin:NAME", ".nv_fatbin:3";
 *          empty: all
 * @arena   receives the list and what was made
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_extract_plan(const struct mpk_view *view, struct mpk_span path,
			       struct mpk_arena *arena, struct mpk_extract *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

typedef enum mpk_code mpk_extract_fn(struct mpk_extract_file *file, void *arg,
				     struct mpk_error *err);

/* mpk_extract_each - call fn for each file of mpk_extract_plan, in its order, without a list of all
 * @fn      the file is its own for the call
 * Returns  what fn says; MPK_E_NOMEM */
enum mpk_code mpk_extract_each(const struct mpk_view *view, mpk_extract_fn *fn, void *arg,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_extract: the index, one entry a file, with a member for each kind of digest; null is one that it
 * has not */
extern const struct mpk_answer mpk_answer_extract;

#endif
