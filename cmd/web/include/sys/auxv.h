/* SPDX-License-Identifier: Apache-2.0 */
/* auxv.h - the 16 random bytes that a kernel passes to a process */
#ifndef MPK_WEB_AUXV_H
#define MPK_WEB_AUXV_H

#include <unistd.h>

enum { AT_RANDOM = 25 };

static inline unsigned long getauxval(unsigned long kind)
{
	static unsigned char bytes[16];

	return kind == AT_RANDOM && getentropy(bytes, sizeof bytes) == 0 ? (unsigned long)bytes : 0;
}

#endif
