/* SPDX-License-Identifier: Apache-2.0 */
/* fatbin.h - a container of CUDA images for several architectures (FORMAT.md) */
#ifndef MPK_FORMATS_FATBIN_FATBIN_H
#define MPK_FORMATS_FATBIN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

enum mpk_fatbin_kind {
	MPK_FATBIN_PTX,
	MPK_FATBIN_ELF,  /* a cubin */
	MPK_FATBIN_LTO,  /* NVVM IR for link-time optimisation, which drivers do not run */
	MPK_FATBIN_TILE, /* Tile IR, which drivers compile */
	MPK_FATBIN_OTHER,
};

enum mpk_fatbin_packing {
	MPK_FATBIN_STORED,
	MPK_FATBIN_LZ4,
	MPK_FATBIN_ZSTD,
};

struct mpk_fatbin_entry {
	enum mpk_fatbin_kind kind;
	uint16_t kind_code;   /* number of the kind, as stored */
	unsigned sm;          /* 90 for sm_90 and compute_90 */
	bool arch_specific;   /* sm_90a */
	bool family_specific; /* sm_100f */
	bool debug;
	unsigned ir_major, ir_minor; /* PTX: its .version; Tile IR: its version; else 0 */
	unsigned abi;                /* a cubin: its ELF ABI version, as in the header */
	enum mpk_fatbin_packing packing;
	struct mpk_span data;  /* the image, or its compressed bytes; padding may follow */
	uint64_t data_off;     /* offset of data in the payload */
	uint64_t plain_bytes;  /* bytes of the decompressed image */
	struct mpk_span name;  /* name of the source in debug builds; else empty */
	struct mpk_span whole; /* header, image and padding, as in the container */
	size_t head_bytes;     /* bytes of the header in whole */

	/* For images that were compressed together (FORMAT.md 4): data is the compressed bytes of all of
	 * them, whole only the header of this one. */
	struct mpk_span
		piece; /* the entry that contains them, with header and padding; else empty */
	uint64_t piece_bytes; /* bytes of decompressed data; 0: data is this image only */
	uint64_t piece_off;   /* offset of this image in them */
};

struct mpk_fatbin {
	const struct mpk_fatbin_entry *entries;
	size_t entry_count;
	uint64_t used; /* bytes of the container; further bytes are not read */
};

/* mpk_fatbin_is - whether the bytes begin with the magic number of a fatbin container or its
 * wrapper */
bool mpk_fatbin_is(struct mpk_span bytes);

/* mpk_fatbin_read - list the images of a fatbin, also those that were compressed together
 * @bytes   the container; more bytes may follow; borrowed
 * @arena   receives the list; data and names are views of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload" (not a fatbin, parts beyond the end);
 *          MPK_E_UNSUPPORTED (the wrapper of an executable, which contains only an address; a
 *          container of another version); MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_fatbin_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_fatbin *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_head - walk the headers of the entries only: each entry costs 64 bytes, without its
 * image
 * @each    called for each entry; its failure ends the walk
 * Returns  as mpk_fatbin_read; the failure of each */
enum mpk_code mpk_fatbin_head(struct mpk_span bytes,
			      enum mpk_code (*each)(const struct mpk_fatbin_entry *e, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_entry_bytes - the bytes of an image in the file; for images compressed together, its
 * share */
uint64_t mpk_fatbin_entry_bytes(const struct mpk_fatbin_entry *e);

/* Most bytes of a decompressed image, and of all decompressed images of a fatbin. */
#define MPK_FATBIN_PLAIN_MAX (UINT64_C(256) << 20)
#define MPK_FATBIN_TOTAL_MAX (UINT64_C(1) << 30)

/* mpk_fatbin_unpack - decompress the image of an entry
 * @left    bytes that may still be decompressed, at first MPK_FATBIN_TOTAL_MAX; decreases
 * @last    NULL, or the result for the last entry, at first empty: images compressed together are
 *          decompressed once
 * @out     the stored bytes, or a decompressed copy in arena
 * Returns  MPK_OK; MPK_E_CORRUPT: they do not decompress to plain_bytes; MPK_E_UNSUPPORTED: to more
 *          than the limits; MPK_E_NOMEM
 * Format   FORMAT.md 4 */
struct mpk_fatbin_unpacked {
	struct mpk_span from, to;
};
enum mpk_code mpk_fatbin_unpack(const struct mpk_fatbin_entry *e, uint64_t *left,
				struct mpk_fatbin_unpacked *last, struct mpk_arena *arena,
				struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- writing -------------------------------------------------------------------------------- */

enum { MPK_FATBIN_HEADER_BYTES = 16, MPK_FATBIN_ALIGN = 8 };

/* mpk_fatbin_put_header - append the header of a container
 * @entry_bytes  total bytes of the entries that follow; 0: a container without images, which
 *          drivers treat as one without code for their device */
void mpk_fatbin_put_header(struct mpk_rope *out, uint64_t entry_bytes);

/* mpk_fatbin_put_image - append an entry with another image
 * The architecture, name and options of the old header are kept; the lengths, the compression and
 * the flag for debug information are set. The image is padded to MPK_FATBIN_ALIGN.
 * @e       the old entry
 * @image   the new bytes, compressed as `packing` says; borrowed by out
 * @plain_bytes  bytes of the decompressed image
 * @debug   whether it has debug information
 * Returns  MPK_OK; MPK_E_RANGE: a compressed image of 4 GiB or more; MPK_E_NOMEM */
enum mpk_code mpk_fatbin_put_image(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				   const struct mpk_rope *image, enum mpk_fatbin_packing packing,
				   uint64_t plain_bytes, bool debug,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_put_together - append images that were compressed together, in one entry; a single one
 * gets its own entry
 * @e       some of the images of one entry, in their order
 * @images  the decompressed bytes of each; borrowed until the call returns
 * @debug   for each, whether it has debug information
 * Returns  as mpk_fatbin_put_image */
enum mpk_code mpk_fatbin_put_together(struct mpk_rope *out, const struct mpk_fatbin_entry *const *e,
				      const struct mpk_span *images, const bool *debug,
				      size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_put_new - append an entry for an image that comes from no fatbin, not compressed, as
 * fatbinary writes it
 * @e       kind (PTX or cubin), sm, arch_specific, and for PTX the version are used
 * @image   borrowed by out
 * @abi     ELF ABI version of a cubin
 * Returns  as mpk_fatbin_put_image */
enum mpk_code mpk_fatbin_put_new(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				 const struct mpk_rope *image, unsigned abi,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_pack - compress an image as the toolkit does
 * @packing LZ4 or zstd
 * @smallest compress at the highest level, which takes seconds for megabytes
 * @out     in arena
 * Returns  MPK_OK; MPK_E_RANGE: too large for LZ4; MPK_E_NOMEM */
enum mpk_code mpk_fatbin_pack(struct mpk_span plain, enum mpk_fatbin_packing packing, bool smallest,
			      struct mpk_arena *arena, struct mpk_span *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* --- probable fatbin headers in content that is read once, piece by piece ---------------------
 *
 * For callers that keep only a part of a file in memory. Nothing is checked: bytes that look like a
 * container are followed as one. */

enum { MPK_FATBIN_SCAN_BYTES = 16 };

/* Zero-initialise. */
struct mpk_fatbin_scan {
	uint64_t next;  /* offset of the next header, or from which the search for a container
			 * continues */
	uint64_t end;   /* end of the container; not above next: outside of a container */
	uint64_t known; /* bytes read of the header at next */
	uint8_t head[MPK_FATBIN_SCAN_BYTES];
};

/* mpk_fatbin_scan - scan the next piece of content
 * @off     offset of the piece in the content: the end of the previous piece
 * @found   called with the offset of each header of a container or an image */
void mpk_fatbin_scan(struct mpk_fatbin_scan *s, uint64_t off, struct mpk_span piece,
		     void (*found)(void *arg, uint64_t off, size_t len), void *arg);

/* mpk_fatbin_kind_name - "PTX", "cubin", "LTO IR", "Tile IR", "other"
 * mpk_fatbin_packing_name - "stored", "LZ4", "zstd"
 * mpk_fatbin_suffix - "a": only this architecture; "f": its family (PTX ISA, "Target-specific
 * features"); "": neither */
const char *mpk_fatbin_kind_name(enum mpk_fatbin_kind kind);
const char *mpk_fatbin_packing_name(enum mpk_fatbin_packing packing);
const char *mpk_fatbin_suffix(const struct mpk_fatbin_entry *e);

#endif
