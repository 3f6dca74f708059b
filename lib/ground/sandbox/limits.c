/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/internal/limits.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/num.h"

/* Enough for a team of threads on each of many processors, and for no flood of them. */
enum { THREADS_MAX = 4096 };

/* How the C library declares a number of a limit. */
#ifdef __GLIBC__
typedef __rlimit_resource_t resource_number;
#else
typedef int resource_number;
#endif

/* To what it is already, if that is less. */
static void set(resource_number resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) != 0)
		return;
	if (limit.rlim_max != RLIM_INFINITY && (uint64_t)limit.rlim_max < most)
		most = (uint64_t)limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = (rlim_t)most;
	(void)setrlimit(resource, &limit);
}

/* What is mapped already: the program, the library that it inspected, inputs. */
static uint64_t address_space_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		(void)fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void mpk_limits_set(uint64_t memory_bytes)
{
	uint64_t most;

	set(RLIMIT_CORE, 0);
	/* the shadow of a sanitizer takes terabytes */
	if (!memory_bytes || MPK_IS_SANITIZED)
		return;
	if (!__builtin_add_overflow(address_space_bytes(), memory_bytes, &most))
		set(RLIMIT_AS, most);
	set(RLIMIT_FSIZE, memory_bytes);
}

void mpk_limits_set_threads(void)
{
	set(RLIMIT_NPROC, THREADS_MAX);
}
