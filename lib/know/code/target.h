/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - which devices a run of code is for, read from its headers alone
 *
 * A listing shows it for every module, and payloads may be large: nothing but headers and the
 * first lines of a text is read here, and nothing is unpacked. info.h reads the rest.
 */
#ifndef MPK_CODE_TARGET_H
#define MPK_CODE_TARGET_H

#include "code/format.h"

enum mpk_code_target_kind {
	MPK_TARGET_BINARY, /* machine code */
	MPK_TARGET_PTX,    /* which a CUDA driver compiles */
	MPK_TARGET_LTO,    /* NVVM IR for link-time optimisation: no driver runs it */
	MPK_TARGET_OTHER,  /* an image of a kind that is not known here, such as Tile IR */
};

/* One image. */
struct mpk_code_target {
	enum mpk_code_target_kind kind;
	char name[40]; /* "sm_90a", "compute_80" of PTX, "lto_90", "gfx90a:xnack+" */
	unsigned sm;   /* CUDA: 90 for sm_90; 0: no CUDA code */
	char suffix;   /* CUDA: 'a' or 'f', or NUL */
	unsigned ptx_major, ptx_minor; /* PTX: its .version */
	unsigned kind_code;            /* of a fatbin's entry, as stored */
	unsigned abi;     /* ELF ABI version of a cubin that is alone; 0: not looked at */
	bool relocatable; /* a cubin that must be linked first */
	const char
		*what; /* "cubin", "PTX", "code object", "LLVM bitcode"; NULL: "PTX" or "cubin" */
	const char *packing;         /* "stored", "LZ4", "zstd", "zlib"; NULL: stored */
	uint64_t bytes, plain_bytes; /* of the image as it is there, and unpacked; 0: not known.
				      * Of images that were packed together, its share. */
	bool zstd;                   /* packed so that drivers before CUDA 12.4 cannot open it */
};

/* mpk_code_targets - the images of a run of code
 * @out     in file order; in arena
 * @count   0 for formats that are for no particular device, such as source texts
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM */
enum mpk_code mpk_code_targets(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_target_of_entry - what a container of Clang's, or the name of a section, says of one image
 * @out     zeroed; name, kind, what and sm are set */
struct mpk_offload_entry;
void mpk_code_target_of_entry(const struct mpk_offload_entry *e, struct mpk_code_target *out);

/* mpk_code_kind_has_targets - whether code of modules of this kind may be for particular devices */
bool mpk_code_kind_has_targets(struct mpk_span kind);

/* mpk_code_targets_put - append them in short: "sm_80 sm_90 + PTX 8.0", "gfx90a"; PTX alone as
 * "8.0 sm_90". Nothing for none. */
void mpk_code_targets_put(const struct mpk_code_target *targets, size_t count,
			  struct mpk_strbuf *out);

#endif
