/* SPDX-License-Identifier: Apache-2.0 */
/* thin.h - removes GPU code for other architectures from a linked library, or from the libraries of
 * a wheel
 *
 * In each container of device code (fatbins of nvcc, offload bundles of HIP, offload binaries of
 * Clang, images of SYCL, fatbins in a TVM module) the images for other architectures are removed,
 * and the file gets shorter.
 *
 * Promise: when the library is loaded, memory has the same bytes as before at every address, except
 * in containers and in words that point to containers. Addresses of sections do not change, nor do
 * the bytes of images that are kept. layout.c explains how. */
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

/* Options of a run. Zero-initialise; borrowed during the call. */
struct mpk_thin_options {
	const struct mpk_span *keep; /* such as "sm_90", "compute_80", "gfx90a", as checked by
			    * mpk_thin_check_word */
	size_t keep_count;           /* 0: keep all architectures */
	size_t device_count;   /* the first device_count words of keep are devices: each container
			        * keeps the images that a driver takes there */
	bool drop_debug;       /* remove debug sections of cubins */
	bool drop_relocatable; /* remove device code for linkers: __nv_relfatbin */
	bool compress;         /* compress images of fatbins that are stored uncompressed */
	bool allow_missing;    /* accept kernels that have no code for a kept architecture */
};

/* Number of words of keep whose use is reported. */
enum { MPK_THIN_USED_WORDS = 64 };

/* Result of a run. Counters add up over several libraries. */
struct mpk_thin_report {
	uint64_t keep_used;        /* a bit for each of the first words of keep that matched some
				    * image */
	size_t containers, images; /* numbers before thinning */
	size_t dropped;            /* images removed */
	uint64_t dropped_bytes;    /* bytes of these images, as they were stored */
	uint64_t debug_bytes;      /* bytes of removed debug sections, uncompressed */
	size_t pinned;             /* containers that must keep their address */
	uint64_t zeroed_bytes;     /* freed bytes before pinned containers, which stay in the file
				    * as zeros */
	size_t left;  /* sections of images, or parts of them, that no table lists: they are not
		       * wanted but must stay */
	size_t found; /* containers in other data with code for other devices: host code may depend
		       * on them, so they stay */
	bool had_record_signature; /* for a wheel: it had a signature of RECORD, which was removed */
	bool is_input;   /* the file is an object or an archive of objects, for a linker */
	bool had_origin; /* the file had a signature or provenance, which was emptied
				    * because it described the old file */
	struct mpk_strbuf
		present; /* names of the architectures found, " sm_80 sm_90"; the caller frees it */
};

/* mpk_thin_check_word - check that a word is an architecture that --keep and --device-arch accept
 * @option  name of the option, for the message
 * Returns  MPK_OK; MPK_E_USAGE */
enum mpk_code mpk_thin_check_word(const char *option, struct mpk_span word,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_library - thin a library, object or static archive
 * Files must be 64-bit little-endian ELF; linked ones must be for x86-64 or AArch64. The machine of
 * this program does not matter.
 * @file    the whole file; borrowed by out
 * @arena   receives new bytes
 * @out     the new file, which may equal the old one
 * @report  counters are increased
 * Returns  MPK_OK, also if there is nothing to remove; MPK_E_UNSUPPORTED with the reason: the file
 *          is not such a library, or has a layout that is not supported; MPK_E_CONFLICT: kernels
 *          would lose their code for a kept architecture (see allow_missing); MPK_E_CORRUPT;
 *          MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_thin_library(struct mpk_span file, const struct mpk_thin_options *options,
			       struct mpk_arena *arena, struct mpk_rope *out,
			       struct mpk_thin_report *report,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* Two open temporary files, for unpacked and for packed libraries. */
struct mpk_thin_scratch {
	int plain, packed;
};

/* mpk_thin_wheel - thin the libraries in a zip archive, and renew their digests in a wheel's RECORD
 * Unchanged members are copied as they are; changed members keep names, times and permissions.
 * Libraries are members with .so in their names; those that mpk_thin_library does not support stay
 * unchanged.
 * @out     borrows the bytes of file, and ranges of scratch->packed
 * Returns  MPK_OK, also if there is nothing to remove; as mpk_thin_library, with the member's name;
 *          MPK_E_CORRUPT also for a RECORD with an unclosed quote; MPK_E_IO; MPK_E_LOAD: no
 *          libcrypto for SHA-256 */
enum mpk_code mpk_thin_wheel(const struct mpk_mapping *file, const struct mpk_thin_scratch *scratch,
			     const struct mpk_thin_options *options, struct mpk_arena *arena,
			     struct mpk_rope *out, struct mpk_thin_report *report,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_confirm - check a written library: the same options must find nothing more to remove
 * Returns  MPK_OK; MPK_E_INTERNAL: they do, or the library cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_thin_confirm(struct mpk_span made, const struct mpk_thin_options *options,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_thin_confirm_wheel - check an archive written by mpk_thin_wheel
 * It must have the same members. Changed members must pass mpk_thin_confirm and have their digests
 * and sizes in RECORD; all other members must be unchanged.
 * @file    the archive before
 * @made    the written archive
 * @scratch scratch->plain is overwritten
 * Returns  MPK_OK; MPK_E_INTERNAL, MPK_E_CORRUPT: a check failed; MPK_E_IO; MPK_E_LOAD; MPK_E_NOMEM */
enum mpk_code mpk_thin_confirm_wheel(const struct mpk_mapping *file, const struct mpk_mapping *made,
				     const struct mpk_thin_scratch *scratch,
				     const struct mpk_thin_options *options,
				     struct mpk_error *err) MPK_MUST_CHECK;

#endif
