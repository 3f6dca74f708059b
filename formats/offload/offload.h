/* SPDX-License-Identifier: Apache-2.0 */
/* offload.h - Clang's containers for the code of several devices (FORMAT.md)
 *
 * There are three: an offload bundle (HIP, OpenMP, SYCL), a compressed bundle ("CCOB"), and LLVM's
 * offload binary, which has one image. A section of a library has any number of them, one after the
 * other; SYCL's sections have images without a container, each possibly a zstd frame. The first
 * bytes of an image show its format. */
#ifndef MPK_FORMATS_OFFLOAD_OFFLOAD_H
#define MPK_FORMATS_OFFLOAD_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* One image. Texts are views of the container. */
struct mpk_offload_entry {
	struct mpk_span kind;   /* "hipv4", "hip", "openmp", "sycl", "host" */
	struct mpk_span triple; /* "amdgcn-amd-amdhsa" */
	struct mpk_span arch;   /* "gfx90a:xnack+", "sm_80"; empty: the triple is enough */
	struct mpk_span data;   /* may be empty: the image of the host is elsewhere */
	uint64_t data_off;      /* offset of data in the container */
	bool is_host;
	struct mpk_span id; /* in a bundle: the identifier as it is stored; else empty */
};

struct mpk_offload {
	const struct mpk_offload_entry *entries; /* in file order */
	size_t entry_count;
	uint64_t used; /* bytes of the container; further bytes are not read */
};

/* mpk_offload_is - whether the bytes begin with a bundle or an offload binary
 * mpk_offload_is_packed - whether the bytes begin with a compressed bundle */
bool mpk_offload_is(struct mpk_span bytes);
bool mpk_offload_is_packed(struct mpk_span bytes);

/* mpk_offload_split_id - split an identifier, "sycl-spir64", of a bundle or the name of a section
 * into kind, triple and target, which are views of id; data is not changed */
void mpk_offload_split_id(struct mpk_span id, struct mpk_offload_entry *out);

/* mpk_offload_read - list the images of a bundle or an offload binary
 * @bytes   the container; more bytes may follow; borrowed
 * @arena   receives the list
 * Returns  MPK_OK, also without images; MPK_E_CORRUPT with the offset in "payload" (not a
 *          container, parts beyond the end, images out of order or overlapping); MPK_E_UNSUPPORTED
 *          (another version of the offload binary); MPK_E_NOMEM
 * Format   FORMAT.md 1, 3 */
enum mpk_code mpk_offload_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_offload *out, struct mpk_error *err) MPK_MUST_CHECK;

enum mpk_offload_method { MPK_OFFLOAD_ZLIB, MPK_OFFLOAD_ZSTD };

struct mpk_offload_packed {
	unsigned version; /* 1 - 3; 0: only a zstd frame */
	enum mpk_offload_method method;
	struct mpk_span data; /* compressed bytes; in version 1 more bytes may follow */
	uint64_t data_off;
	uint64_t plain_bytes; /* bytes of the decompressed bundle, according to the header */
	uint64_t used;        /* bytes of the container */
};

/* mpk_offload_read_packed - read the header of a compressed bundle, or that of a zstd frame
 * @bytes   the container; for version 1, which has no length field, up to the next container
 * Returns  MPK_OK; MPK_E_CORRUPT (cut off, or a broken frame); MPK_E_UNSUPPORTED (another version
 *          or method); MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_offload_read_packed(struct mpk_span bytes, struct mpk_offload_packed *out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_is_frame - whether the bytes begin with a zstd frame, to which Clang compresses
 * single images */
bool mpk_offload_is_frame(struct mpk_span bytes);

/* mpk_offload_begins_image - whether the bytes begin with an image without a container: a zstd
 * frame, SPIR-V, an ELF file, LLVM bitcode, an archive
 * mpk_offload_image_bytes - its length, according to its headers
 * Returns  0: not known, or beyond the end
 * Format   FORMAT.md 4 */
bool mpk_offload_begins_image(struct mpk_span bytes);
uint64_t mpk_offload_image_bytes(struct mpk_span bytes);

/* Most bytes of a decompressed bundle. */
#define MPK_OFFLOAD_PLAIN_MAX (UINT64_C(1) << 30)

/* mpk_offload_packed_bytes - the length of a compressed bundle of version 1, which has no field for
 * it
 * @p       its data extends to the next container
 * Returns  0: the compressed data does not show it, or is compressed too well to be decompressed
 *          for this */
uint64_t mpk_offload_packed_bytes(const struct mpk_offload_packed *p);

/* mpk_offload_unpack - decompress a bundle
 * @most    SIZE_MAX, or only the first `most` bytes, for a list of its entries
 * @out     in arena
 * Returns  MPK_OK; MPK_E_CORRUPT: it does not decompress, or not to plain_bytes; MPK_E_UNSUPPORTED:
 *          to more than MPK_OFFLOAD_PLAIN_MAX; MPK_E_NOMEM, for the first bytes also if the
 *          compressor's window exceeds the memory limit */
enum mpk_code mpk_offload_unpack(const struct mpk_offload_packed *p, size_t most,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_list_head - list the entries of a bundle from its first bytes: data is empty,
 * data_off and sizes are those in the header
 * @sizes   receives the bytes of each image, in arena */
enum mpk_code mpk_offload_list_head(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_offload *out, const uint64_t **sizes,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* --- writing ---------------------------------------------------------------------------------- */

/* mpk_offload_put_bundle - append a bundle with some of the images of another one
 * Each image keeps its alignment, up to 4096 bytes, which loaders rely on.
 * @entries of the old bundle; images are borrowed by out
 * @keep    for each, whether the new bundle has it
 * Returns  MPK_OK; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_offload_put_bundle(struct mpk_rope *out, const struct mpk_offload_entry *entries,
				     const bool *keep, size_t count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_pack - compress a bundle
 * @as      gives version and method
 * @bundle  its content
 * @level   of the compressor, in its library's numbers: zlib 1 - 9, zstd 1 - 19
 * @out     in arena
 * Returns  MPK_OK; MPK_E_RANGE: too large for the version; MPK_E_NOMEM */
enum mpk_code mpk_offload_pack(const struct mpk_offload_packed *as, struct mpk_span bundle,
			       int level, struct mpk_arena *arena, struct mpk_span *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
