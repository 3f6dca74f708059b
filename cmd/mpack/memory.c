/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the memory of what reads files of others: the same limit of the kernel that minspect has (cmd/minspect/memory.c),
 * with more room, because what is read is written again: packed parts are there twice, and compressors take windows. */
#include <sys/resource.h>

#include "base/account.h"
#include "base/compiler.h"
#include "common/diag.h"
#include "mpack/mpack.h"

static const uint64_t BASE_BYTES = UINT64_C(280) << 20;

/* Bytes of memory for each of an input, and for each that is unpacked, up to so many for each of an input. */
enum { OF_INPUT = 4, OF_UNPACKED = 2, UNPACKED_MOST = 24 };

static uint64_t times(uint64_t bytes, uint64_t factor)
{
	uint64_t product;

	return __builtin_mul_overflow(bytes, factor, &product) ? UINT64_MAX / 4 : product;
}

static void say_limit(void)
{
	mpk_diag_warn(
		"mpack may take 280 MiB, four times its inputs and some of what these unpack to");
}

static void memory_changed(uint64_t inputs, uint64_t taken)
{
	static uint64_t most, before, unpacked;
	uint64_t bytes;
	struct rlimit limit;

	/* the account is filled anew by each file, and what was taken for the one before may still be held */
	unpacked += taken > before ? taken - before : 0;
	before = taken;
	bytes = times(unpacked, OF_UNPACKED);
	if (bytes > times(inputs, UNPACKED_MOST))
		bytes = times(inputs, UNPACKED_MOST);
	bytes += BASE_BYTES + times(inputs, OF_INPUT);
	if (bytes <= most || getrlimit(RLIMIT_DATA, &limit) != 0)
		return;
	most = bytes;
	/* the caller's own limit stays, whichever is lower */
	limit.rlim_cur = bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit) == 0)
		mpk_common.memory_hint = say_limit;
}

void mpack_memory_begin(void)
{
	/* the shadow memory of a sanitizer is far above any limit */
	mpk_account_begin(MPK_IS_SANITIZED ? NULL : memory_changed);
}
