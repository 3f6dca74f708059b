/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the monotonic clock, which cannot be set back during a measurement */
#ifndef MPK_BASE_CLOCK_H
#define MPK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define MPK_NANOSECONDS INT64_C(1000000000) /* nanoseconds in a second */

/* mpk_clock - nanoseconds since some moment before the program began */
static inline int64_t mpk_clock(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * MPK_NANOSECONDS + t.tv_nsec;
}

/* mpk_clock_seconds - the same in seconds */
static inline double mpk_clock_seconds(void)
{
	return (double)mpk_clock() / (double)MPK_NANOSECONDS;
}

#endif
