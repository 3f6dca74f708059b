/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - where fatbin headers probably are, in content that passes by once
 *
 * For those who keep only a part of a file in memory, and can get the rest again at a cost. Nothing is checked:
 * bytes that look like a container are followed as one.
 */
#ifndef MPK_FORMATS_FATBIN_SCAN_H
#define MPK_FORMATS_FATBIN_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

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

#endif
