/* SPDX-License-Identifier: Apache-2.0 */
/* clock_made.h - a clock that a test moves, so that a busy machine changes nothing
 *
 * The Makefile has the linker wrap clock_gettime in the programs that include this (CLOCK_USERS). Children have a copy
 * of their own, as it was when they were forked.
 */
#ifndef MPK_TESTS_UNIT_CLOCK_MADE_H
#define MPK_TESTS_UNIT_CLOCK_MADE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "harness.h"

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

static struct {
	int64_t ahead; /* nanoseconds of the system's clock; or what it says, when it was stopped */
	bool is_stopped;
	void (*asked)(void); /* called before each reading; NULL: nothing is */
} made_clock;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t now;

	if (made_clock.asked)
		made_clock.asked();
	now = made_clock.ahead;
	if (!made_clock.is_stopped) {
		if (__real_clock_gettime(clock, t) != 0)
			return -1;
		now += t->tv_sec * MPK_NANOSECONDS + t->tv_nsec;
	}
	*t = (struct timespec){ .tv_sec = (time_t)(now / MPK_NANOSECONDS),
				.tv_nsec = (long)(now % MPK_NANOSECONDS) };
	return 0;
}

/* From here on only clock_move moves it. */
HARNESS_FN void clock_stop(void)
{
	made_clock.ahead = mpk_clock();
	made_clock.is_stopped = true;
}

/* Check reads it, too, where its library is linked into the program: less than 2,000 seconds in a test. */
HARNESS_FN void clock_move(double seconds)
{
	made_clock.ahead += (int64_t)(seconds * (double)MPK_NANOSECONDS);
}

/* The system's again: under CK_FORK=no the next test has the same process. */
HARNESS_FN void clock_restore(void)
{
	memset(&made_clock, 0, sizeof made_clock);
}

#endif
