/* SPDX-License-Identifier: Apache-2.0 */
/* offload.h - how Clang keeps the code of several devices in one piece (FORMAT.md)
 *
 * Three containers: an offload bundle (HIP, OpenMP, SYCL), the same compressed ("CCOB"), and LLVM's
 * offload binary, which holds one image. A section of a library has any number of them, one after
 * the other; SYCL's sections have images without a container, each possibly a zstd frame. What an
 * image is, its own first bytes tell.
 */
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
	struct mpk_span arch;   /* "gfx90a:xnack+", "sm_80"; empty: the triple says it all */
	struct mpk_span data;   /* may be empty: that of the host is elsewhere */
	uint64_t data_off;      /* of data in the container */
	bool is_host;
	struct mpk_span id; /* of a bundle: the identifier as it is stored; else empty */
};

struct mpk_offload {
	const struct mpk_offload_entry *entries; /* in file order */
	size_t entry_count;
	uint64_t used; /* bytes of the container; what follows is not read */
};

/* mpk_offload_is - whether the bytes begin as one that is not compressed
 * mpk_offload_is_packed - ... as a compressed bundle */
bool mpk_offload_is(struct mpk_span bytes);
bool mpk_offload_is_packed(struct mpk_span bytes);

/* mpk_offload_split_id - kind, triple and target of an identifier, "sycl-spir64", as bundles and names of
 * sections have it; views of id, data is left alone */
void mpk_offload_split_id(struct mpk_span id, struct mpk_offload_entry *out);

/* mpk_offload_read - list the images of a container that is not compressed
 * @bytes   the container, possibly with more after it; borrowed
 * @arena   receives the list
 * Returns  MPK_OK, also for one without any; MPK_E_CORRUPT with the offset in "payload" (no
 *          container, parts beyond the end, images out of order or one over the other);
 *          MPK_E_UNSUPPORTED (another version of the offload binary); MPK_E_NOMEM
 * Format   FORMAT.md 1, 3 */
enum mpk_code mpk_offload_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_offload *out, struct mpk_error *err) MPK_MUST_CHECK;

enum mpk_offload_method { MPK_OFFLOAD_ZLIB, MPK_OFFLOAD_ZSTD };

struct mpk_offload_packed {
	unsigned version; /* 1 - 3; 0: a zstd frame and no more */
	enum mpk_offload_method method;
	struct mpk_span data; /* compressed; of version 1 possibly with more after it */
	uint64_t data_off;
	uint64_t plain_bytes; /* of the bundle in it, as the header says */
	uint64_t used;        /* bytes of the container */
};

/* mpk_offload_read_packed - the header of a compressed bundle, or what is to be unpacked of a zstd frame
 * @bytes   the container; of version 1, which does not say how long it is, up to what follows it
 * Returns  MPK_OK; MPK_E_CORRUPT (cut off, of a frame also broken); MPK_E_UNSUPPORTED (another version or
 *          method); MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_offload_read_packed(struct mpk_span bytes, struct mpk_offload_packed *out,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_is_frame - whether the bytes begin as a zstd frame does, which Clang packs single images into */
bool mpk_offload_is_frame(struct mpk_span bytes);

/* mpk_offload_begins_image - whether an image without a container could begin here: a zstd frame, SPIR-V, an
 * ELF file, LLVM bitcode, an archive
 * mpk_offload_image_bytes - how long it is, as its own headers say
 * Returns  0: it does not tell, or reaches beyond the end
 * Format   FORMAT.md 4 */
bool mpk_offload_begins_image(struct mpk_span bytes);
uint64_t mpk_offload_image_bytes(struct mpk_span bytes);

/* What a bundle may become, bytes. */
#define MPK_OFFLOAD_PLAIN_MAX (UINT64_C(1) << 30)

/* mpk_offload_packed_bytes - how long a compressed bundle is that does not say so, one of version 1
 * @p       of all that is there
 * Returns  0: what is packed does not tell, or its packing is too good to be looked through */
uint64_t mpk_offload_packed_bytes(const struct mpk_offload_packed *p);

/* mpk_offload_unpack - the bundle in a compressed one
 * @most    SIZE_MAX; or of its beginning so many bytes, for those who only ask what is in it
 * @out     in arena
 * Returns  MPK_OK; MPK_E_CORRUPT: it does not unpack, or all of it not to plain_bytes; MPK_E_UNSUPPORTED: to
 *          more than MPK_OFFLOAD_PLAIN_MAX; MPK_E_NOMEM, of a beginning also where the compressor's window is
 *          larger than what may be taken */
enum mpk_code mpk_offload_unpack(const struct mpk_offload_packed *p, size_t most,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_list_head - the entries of a bundle of which only the beginning is there: their data are
 * empty, data_off and sizes as the header says
 * @sizes   receives the bytes of each, in arena */
enum mpk_code mpk_offload_list_head(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_offload *out, const uint64_t **sizes,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* --- writing ---------------------------------------------------------------------------------- */

/* mpk_offload_put_bundle - append a bundle of some of the images of another one
 * Each image is as aligned in the bundle as it was, up to 4096 bytes, which loaders count on.
 * @entries of the old bundle; images are borrowed by out
 * @keep    of each whether it is in the new one
 * Returns  MPK_OK; MPK_E_RANGE; MPK_E_NOMEM */
enum mpk_code mpk_offload_put_bundle(struct mpk_rope *out, const struct mpk_offload_entry *entries,
				     const bool *keep, size_t count,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_offload_pack - a compressed bundle
 * @as      gives version and method
 * @bundle  what is in it
 * @level   of the compressor, as its library counts them: zlib 1 - 9, zstd 1 - 19
 * @out     in arena
 * Returns  MPK_OK; MPK_E_RANGE: too large for the version; MPK_E_NOMEM */
enum mpk_code mpk_offload_pack(const struct mpk_offload_packed *as, struct mpk_span bundle,
			       int level, struct mpk_arena *arena, struct mpk_span *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
