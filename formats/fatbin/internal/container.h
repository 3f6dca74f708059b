/* SPDX-License-Identifier: Apache-2.0 */
/* container.h - numbers of a fatbin that the files of this room share (FORMAT.md 2 and 3) */
#ifndef MPK_FATBIN_INTERNAL_CONTAINER_H
#define MPK_FATBIN_INTERNAL_CONTAINER_H

#include <stdint.h>

#define MPK_FATBIN_MAGIC UINT32_C(0xba55ed50)

enum {
	FATBIN_VERSION = 1,
	/* kinds of entries */
	KIND_PTX = 1,
	KIND_ELF = 2,
	KIND_LTO = 8,
	KIND_TILE = 128,
	KIND_TOGETHER = 256, /* images that were compressed together */
	ENTRY_VERSION = 0x101,
	ENTRY_BYTES = 64,   /* bytes of a header without texts */
	TOGETHER_BYTES = 8, /* bytes before the headers of such images */
	/* flags of an entry */
	FLAG_64_BIT = 0x1,
	FLAG_DEBUG = 0x2,
	FLAG_LINUX = 0x10,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
	FLAG_ARCH = 0x100000,
	FLAG_FAMILY = 0x200000,
};

#endif
