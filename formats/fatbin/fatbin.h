/* SPDX-License-Identifier: Apache-2.0 */
/* fatbin.h - several CUDA images for several architectures in one piece (FORMAT.md) */
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
	MPK_FATBIN_LTO,  /* NVVM IR for link-time optimisation: nothing a driver runs */
	MPK_FATBIN_TILE, /* Tile IR: a driver compiles it */
	MPK_FATBIN_OTHER,
};

enum mpk_fatbin_packing {
	MPK_FATBIN_STORED,
	MPK_FATBIN_LZ4,
	MPK_FATBIN_ZSTD,
};

struct mpk_fatbin_entry {
	enum mpk_fatbin_kind kind;
	uint16_t kind_code;   /* as stored */
	unsigned sm;          /* 90 for sm_90 and compute_90 */
	bool arch_specific;   /* sm_90a */
	bool family_specific; /* sm_100f */
	bool debug;
	unsigned ir_major, ir_minor; /* PTX: its .version; Tile IR: its version; else 0 */
	unsigned abi;                /* a cubin: its ELF ABI version, as the header says it */
	enum mpk_fatbin_packing packing;
	struct mpk_span data;  /* the image, or its packed bytes; may end with padding */
	uint64_t data_off;     /* of data in the payload */
	uint64_t plain_bytes;  /* of the image when unpacked */
	struct mpk_span name;  /* the source's name in debug builds; else empty */
	struct mpk_span whole; /* header, image and padding, as they are in the container */
	size_t head_bytes;     /* of the header in it */

	/* Images that were packed together (FORMAT.md 4): data is the packed bytes of all of them, whole the header of
	 * this one alone. */
	struct mpk_span
		piece; /* the entry that holds them, with its header and padding; else empty */
	uint64_t piece_bytes; /* that data unpacks to; 0: data is this image alone */
	uint64_t piece_off;   /* of this image in that */
};

struct mpk_fatbin {
	const struct mpk_fatbin_entry *entries;
	size_t entry_count;
	uint64_t used; /* bytes of the container; what follows is not read */
};

/* mpk_fatbin_is - whether the bytes begin as a fatbin container or its wrapper does */
bool mpk_fatbin_is(struct mpk_span bytes);

/* mpk_fatbin_read - list the images of a fatbin, also those that were packed together
 * @bytes   the container, possibly with more after it; borrowed
 * @arena   receives the list; data and names are views of bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "payload" (no fatbin, parts beyond
 *          the end); MPK_E_UNSUPPORTED (the wrapper of an executable, which holds only
 *          an address; a container of another version); MPK_E_NOMEM.
 * Format   FORMAT.md 1 - 3 */
enum mpk_code mpk_fatbin_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_fatbin *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_head - walk the headers of the entries, for those who only ask what there is: an entry
 * costs the 64 bytes in front of its image
 * @each    called for each entry; a failure of it ends the walk
 * Returns  as mpk_fatbin_read, and what each returns */
enum mpk_code mpk_fatbin_head(struct mpk_span bytes,
			      enum mpk_code (*each)(const struct mpk_fatbin_entry *e, void *arg,
						    struct mpk_error *err),
			      void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_entry_bytes - what an image takes in the file; of images that were packed together the share */
uint64_t mpk_fatbin_entry_bytes(const struct mpk_fatbin_entry *e);

/* What an image may become, bytes; and what those of one fatbin may together. */
#define MPK_FATBIN_PLAIN_MAX (UINT64_C(256) << 20)
#define MPK_FATBIN_TOTAL_MAX (UINT64_C(1) << 30)

/* mpk_fatbin_unpack - the image of an entry
 * @left    bytes that may still be made, at first MPK_FATBIN_TOTAL_MAX; grows less
 * @last    NULL, or what the last entry unpacked to, at first empty: images that were packed together are unpacked once
 * @out     the stored bytes, or a copy in arena of what they unpack to
 * Returns  MPK_OK; MPK_E_CORRUPT: they do not unpack to plain_bytes; MPK_E_UNSUPPORTED: to more
 *          than the bounds; MPK_E_NOMEM
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
 * @entry_bytes  of all entries that follow it; 0: a container without images, which drivers take for one
 *          that has no code for their device */
void mpk_fatbin_put_header(struct mpk_rope *out, uint64_t entry_bytes);

/* mpk_fatbin_put_image - append an entry with another image
 * What the header says of the architecture, the name and the options stays; the lengths, the packing and the flag
 * of debug information are written anew. The image is padded to MPK_FATBIN_ALIGN.
 * @e       what the entry was
 * @image   its new bytes, packed as packing says; borrowed by out
 * @plain_bytes  of the image when unpacked
 * @debug   whether it has debug information
 * Returns  MPK_OK; MPK_E_RANGE: an image of 4 GiB and more cannot be packed; MPK_E_NOMEM */
enum mpk_code mpk_fatbin_put_image(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				   const struct mpk_rope *image, enum mpk_fatbin_packing packing,
				   uint64_t plain_bytes, bool debug,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_put_together - append images that were packed together, in one entry again; a single one in its own
 * @e       some of the images of one entry, in their order
 * @images  the plain bytes of each; borrowed until the call returns
 * @debug   of each, whether it has debug information
 * Returns  as mpk_fatbin_put_image */
enum mpk_code mpk_fatbin_put_together(struct mpk_rope *out, const struct mpk_fatbin_entry *const *e,
				      const struct mpk_span *images, const bool *debug,
				      size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_put_new - append an entry for an image that comes from no fatbin, stored, as fatbinary writes it
 * @e       kind: PTX or cubin; sm, whether for it alone, and of PTX the version are read
 * @image   borrowed by out
 * @abi     of a cubin: its ELF ABI version
 * Returns  as mpk_fatbin_put_image */
enum mpk_code mpk_fatbin_put_new(struct mpk_rope *out, const struct mpk_fatbin_entry *e,
				 const struct mpk_rope *image, unsigned abi,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_fatbin_pack - compress an image as the toolkit does
 * @packing LZ4 or zstd
 * @smallest at the last level: seconds for megabytes
 * @out     in arena
 * Returns  MPK_OK; MPK_E_RANGE: too large for LZ4; MPK_E_NOMEM */
enum mpk_code mpk_fatbin_pack(struct mpk_span plain, enum mpk_fatbin_packing packing, bool smallest,
			      struct mpk_arena *arena, struct mpk_span *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* --- where fatbin headers probably are, in content that passes by once ---------------------
 *
 * For those who keep only a part of a file in memory, and can get the rest again at a cost. Nothing is checked:
 * bytes that look like a container are followed as one. */

enum { MPK_FATBIN_SCAN_BYTES = 16 };

/* Zero-initialise. */
struct mpk_fatbin_scan {
	uint64_t next;  /* where the next header is, or the search for a container goes on */
	uint64_t end;   /* of the container; no more than next: outside of one */
	uint64_t known; /* bytes of the header at next that have passed */
	uint8_t head[MPK_FATBIN_SCAN_BYTES];
};

/* mpk_fatbin_scan - look at a piece of content
 * @off     where in the content it is: where the last one ended
 * @found   is called with the place of each header of a container or an image */
void mpk_fatbin_scan(struct mpk_fatbin_scan *s, uint64_t off, struct mpk_span piece,
		     void (*found)(void *arg, uint64_t off, size_t len), void *arg);

/* mpk_fatbin_kind_name - "PTX", "cubin", "LTO IR", "Tile IR", "other"
 * mpk_fatbin_packing_name - "stored", "LZ4", "zstd"
 * mpk_fatbin_suffix - "a": this architecture alone; "f": its family (PTX ISA, "Target-specific features");
 *          "": neither */
const char *mpk_fatbin_kind_name(enum mpk_fatbin_kind kind);
const char *mpk_fatbin_packing_name(enum mpk_fatbin_packing packing);
const char *mpk_fatbin_suffix(const struct mpk_fatbin_entry *e);

#endif
