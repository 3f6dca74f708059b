/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - what reader and writer of ar archives share (FORMAT.md 1, 2) */
#ifndef MPK_FORMATS_AR_LAYOUT_H
#define MPK_FORMATS_AR_LAYOUT_H

#define MPK_AR_MAGIC "!<arch>\n"
#define MPK_AR_THIN_MAGIC "!<thin>\n"

enum {
	MPK_AR_MAGIC_BYTES = 8,
	MPK_AR_HEADER_BYTES = 60,
	MPK_AR_NAME_BYTES = 16, /* at offset 0, then date 12, uid 6, gid 6, mode 8 */
	MPK_AR_SIZE_OFF = 48,   /* 10 decimal digits */
	MPK_AR_SIZE_BYTES = 10,
	MPK_AR_END_OFF = 58, /* "`\n" */
};

#endif
