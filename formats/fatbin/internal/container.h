/* SPDX-License-Identifier: Apache-2.0 */
/* container.h - the numbers of a fatbin that its reader and its writer share (FORMAT.md 2 and 3), for this folder alone */
#ifndef MPK_FATBIN_INTERNAL_CONTAINER_H
#define MPK_FATBIN_INTERNAL_CONTAINER_H

#include <stdint.h>

#define MPK_FATBIN_MAGIC UINT32_C(0xba55ed50)

enum {
	FATBIN_VERSION = 1,
	/* of an entry */
	FLAG_64_BIT = 0x1,
	FLAG_DEBUG = 0x2,
	FLAG_LINUX = 0x10,
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
	FLAG_ARCH = 0x100000,
	FLAG_FAMILY = 0x200000,
};

#endif
