/* SPDX-License-Identifier: Apache-2.0 */
/* extract.h - minspect --extract: the files into which a module tree is split */
#ifndef MPK_EXTRACT_EXTRACT_H
#define MPK_EXTRACT_EXTRACT_H

#include "base/rope.h"
#include "io/digest.h"
#include "model/view.h"

struct mpk_extract_file;

/* Makes the content of a file when it is written: the unpacked contents of all files would not fit
 * in memory.
 * @arena   receives the content, and is freed when the file is written */
typedef enum mpk_code (*mpk_extract_make)(const struct mpk_view *view,
					  struct mpk_extract_file *file, struct mpk_arena *arena,
					  struct mpk_error *err);

struct mpk_extract_file {
	/* "1-cuda/kernels.ptx": a safe path, unique in the list except for files with `same` */
	const char *name;
	/* the listed file of another module that is identical to this one and is written once; NULL
	 * if there is none */
	const struct mpk_extract_file *same;
	const char *path;        /* path of its module, "cubin:NAME" or ".nv_fatbin:3" */
	struct mpk_span kind;    /* kind of its module */
	struct mpk_span title;   /* the name in the payload; may be empty */
	struct mpk_rope content; /* views of the blob and of generated data */
	bool stored;             /* the content is a piece of the file; else it was generated */
	/* if stored: offset and length in the blob; for code outside modules, in the file */
	uint64_t off, bytes;
	const struct mpk_tensor_record *tensor; /* the tensor in an .npy file; else NULL */
	mpk_extract_make make;                  /* NULL if content is already set */
	bool is_device;                         /* GPU code of the library outside modules */
	size_t container, image; /* GPU code only: indexes of its container and image */
	/* digest of content as text, set by the writer of the file; NULL if none */
	const char *digest;
};

struct mpk_extract {
	const struct mpk_view *view; /* the inspected file */
	struct mpk_extract_file **files;
	size_t count;
	enum mpk_digest_kind digest; /* kind of digest in files; set by the writer */
};

/* mpk_extract_plan - plan one directory for each module, "<index>-<kind>", with its files in stored
 * order
 * Tensors become .npy files if NumPy has the type, else .bin. A payload that cannot be decoded,
 * or of unknown kind, becomes "payload.bin". All modules of host code share one
 * "functions.json", which describes the library. Code outside the module tree becomes
 * "embedded/<index>-<name>.cubin", .fatbin or .ptx. Images of a library's GPU code become
 * "gpu/<container>-<image>-<device>.cubin", .ptx, .hsaco, unpacked.
 * @path    of one module or image outside the tree: "/0/1", "cubin:NAME", ".nv_fatbin:3"; empty:
 *          all
 * @arena   receives the list and generated contents
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_extract_plan(const struct mpk_view *view, struct mpk_span path,
			       struct mpk_arena *arena, struct mpk_extract *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

typedef enum mpk_code mpk_extract_fn(struct mpk_extract_file *file, void *arg,
				     struct mpk_error *err);

/* mpk_extract_each - call fn for each file of mpk_extract_plan, in order, without keeping a list of
 * all
 * @fn      may use the file only during the call
 * Returns  what fn returns; MPK_E_NOMEM */
enum mpk_code mpk_extract_each(const struct mpk_view *view, mpk_extract_fn *fn, void *arg,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_extract: the index, one entry for each file, with a member for each kind
 * of digest; null if the file does not have that digest */
extern const struct mpk_answer mpk_answer_extract;

#endif
