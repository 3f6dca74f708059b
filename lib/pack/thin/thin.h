/* SPDX-License-Identifier: Apache-2.0 */
/* thin.h - a linked library, or a wheel of such, with the GPU code of chosen architectures only
 *
 * Of each container of device code (fatbins of nvcc, offload bundles of HIP, offload binaries of Clang, images of
 * SYCL, fatbins in a TVM module) the images of other architectures are taken out, and their bytes leave the file.
 *
 * What is promised: at every address that the library is loaded to, memory has the same bytes as before, but for the
 * containers and for the words that point to them. Addresses of sections do not change, nor does any byte of an image
 * that is kept as it is. How that is done is told in layout.c.
 */
#ifndef MPK_THIN_THIN_H
#define MPK_THIN_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "io/mapping.h"

/* The request. Zero-initialise; borrowed while it is used. */
struct mpk_thin_options {
	const struct mpk_span
		*keep;     /* "sm_90", "compute_80", "gfx90a", as mpk_thin_check_word takes them */
	size_t keep_count; /* 0: all architectures */
	size_t device_count;   /* the first words of keep are devices: each container keeps what a
			      * driver takes there */
	bool drop_debug;       /* debug sections of cubins */
	bool drop_relocatable; /* drop device code for a linker: __nv_relfatbin */
	bool compress;         /* compress images of fatbins that are stored */
	bool allow_missing;    /* a kernel without code for a kept architecture is no error */
};

/* Most words of keep that are looked for. */
enum { MPK_THIN_USED_WORDS = 64 };

/* The result. Counters grow over several libraries. */
struct mpk_thin_report {
	uint64_t keep_used;        /* a bit for each of the first words of keep that some image
				    * matched */
	size_t containers, images; /* that were there */
	size_t dropped;            /* images taken out */
	uint64_t dropped_bytes;    /* bytes of these, as they were stored */
	uint64_t debug_bytes;      /* of debug sections, unpacked */
	size_t pinned;             /* containers that must keep their address */
	uint64_t zeroed_bytes;     /* freed bytes before those, which stay in the file as zeros */
	size_t left;  /* sections of images, or parts of them, that no table names: not selected,
		      * but they must stay */
	size_t found; /* containers inside other data with code for other devices: nothing tells
		       * what host code knows of them, so they stay */
	bool had_record_signature; /* of a wheel; dropped */
	bool is_input;             /* input of a linker: an object, or an archive of objects */
	bool had_origin;           /* a signature or provenance described the old file; emptied */
	struct mpk_strbuf
		present; /* names of the architectures found, " sm_80 sm_90"; to be freed */
};

/* mpk_thin_check_word - whether a word names an architecture as --keep and --device-arch take it
 * @option  either, for the message
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_thin_check_word(const char *option, struct mpk_span word,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_library - the library, object or static archive with less in it
 * ELF, 64 bits, little-endian; what is linked, for x86-64 or AArch64; the machine of this program does not matter.
 * @file    the whole library; borrowed by out
 * @arena   receives what is new
 * @out     the new library, which may equal the old one
 * @report  is added to
 * Returns  MPK_OK, also where there is nothing to take out; MPK_E_UNSUPPORTED: the file is no such library, or
 *          laid out in a way that cannot be followed, with the reason; MPK_E_CONFLICT: kernels would lose the code
 *          for a kept architecture (allow_missing); MPK_E_CORRUPT; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_thin_library(struct mpk_span file, const struct mpk_thin_options *options,
			       struct mpk_arena *arena, struct mpk_rope *out,
			       struct mpk_thin_report *report,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* Two open files that may be written and grow: for unpacked libraries and for packed ones. */
struct mpk_thin_scratch {
	int plain, packed;
};

/* mpk_thin_wheel - a zip archive with thinned libraries, and RECORD of a wheel with their digests
 * Members that do not change are copied as they are; of those that do, names, times and rights stay. Libraries are
 * members with .so in their names; those that mpk_thin_library does not take stay.
 * @out     borrows the bytes of file, and ranges of scratch->packed
 * Returns  MPK_OK, also where there is nothing to take out; as mpk_thin_library, with the member's name;
 *          MPK_E_CORRUPT also for a RECORD with a quote that is not closed; MPK_E_IO; MPK_E_LOAD: no libcrypto for
 *          SHA-256 */
enum mpk_code mpk_thin_wheel(const struct mpk_mapping *file, const struct mpk_thin_scratch *scratch,
			     const struct mpk_thin_options *options, struct mpk_arena *arena,
			     struct mpk_rope *out, struct mpk_thin_report *report,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_confirm - that a library that was written has nothing left that the same options take out
 * Returns  MPK_OK; MPK_E_INTERNAL: it has, or it does not read; MPK_E_NOMEM */
enum mpk_code mpk_thin_confirm(struct mpk_span made, const struct mpk_thin_options *options,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_confirm_wheel - the same for an archive of mpk_thin_wheel
 * It has the members that it had; mpk_thin_confirm holds for those that changed; rows of RECORD for these have their
 * digests and sizes, and all others are what they were.
 * @file    the archive before
 * @made    the one that was written
 * @scratch plain is written to
 * Returns  MPK_OK; MPK_E_INTERNAL, MPK_E_CORRUPT: it does not; MPK_E_IO; MPK_E_LOAD; MPK_E_NOMEM */
enum mpk_code mpk_thin_confirm_wheel(const struct mpk_mapping *file, const struct mpk_mapping *made,
				     const struct mpk_thin_scratch *scratch,
				     const struct mpk_thin_options *options,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
