/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the memory of commands that read untrusted files, by the same kernel limit as in minspect
 * (cmd/minspect/memory.c). The limit is larger, because the input is written again: compressed
 * parts are in memory twice, and compressors need windows. */
#include <sys/resource.h>

#include "base/account.h"
#include "base/compiler.h"
#include "common/diag.h"
#include "mpack/mpack.h"

static const uint64_t BASE_BYTES = UINT64_C(280) << 20;

/* Bytes of memory for each byte of input and for each unpacked byte, and the maximum of unpacked
 * bytes for each byte of input. */
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

	/* each file restarts the account, while memory for the previous one may still be in use */
	unpacked += taken > before ? taken - before : 0;
	before = taken;
	bytes = times(unpacked, OF_UNPACKED);
	if (bytes > times(inputs, UNPACKED_MOST))
		bytes = times(inputs, UNPACKED_MOST);
	bytes += BASE_BYTES + times(inputs, OF_INPUT);
	if (bytes <= most || getrlimit(RLIMIT_DATA, &limit) != 0)
		return;
	most = bytes;
	/* the caller's own limit remains if it is lower */
	limit.rlim_cur = bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit) == 0)
		mpk_common.memory_hint = say_limit;
}

void mpack_memory_begin(void)
{
	/* the shadow memory of a sanitizer is far above any limit */
	mpk_account_begin(MPK_IS_SANITIZED ? NULL : memory_changed);
}
