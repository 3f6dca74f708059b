/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - what reader and writer of tar archives share (FORMAT.md 1) */
#ifndef MPK_TAR_INTERNAL_LAYOUT_H
#define MPK_TAR_INTERNAL_LAYOUT_H

#include <stddef.h>

enum { MPK_TAR_BLOCK = 512 };

/* A header block. Numbers are octal text; GNU writes large ones as base 256. */
struct mpk_tar_header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[8]; /* "ustar\0" "00"; GNU: "ustar  \0"; v7: zero */
	char uname[32];
	char gname[32];
	char dev_major[8];
	char dev_minor[8];
	char prefix[155]; /* ustar only */
	char pad[12];
};

_Static_assert(sizeof(struct mpk_tar_header) == MPK_TAR_BLOCK, "a tar header is one block");

/* The sum of the header's bytes, the checksum field counted as spaces. */
static inline unsigned mpk_tar_sum(const struct mpk_tar_header *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof *h; i++) {
		size_t at = i - offsetof(struct mpk_tar_header, checksum);

		sum += at < sizeof h->checksum ? ' ' : p[i];
	}
	return sum;
}

#endif
