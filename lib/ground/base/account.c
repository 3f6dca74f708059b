/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - counts all bytes that this process unpacks. Threads of an application may read at
 * the same time, so the counters are atomic. */
#include "base/account.h"

#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool is_open;
static _Atomic(uint64_t) inputs, taken;
static atomic_bool is_used; /* whether an input was opened since counting began */
static mpk_account_fn *told;

static _Atomic(uint64_t) output_most = MPK_OUTPUT_ANY; /* bytes; 0: computed from the inputs */
static _Atomic(uint64_t) inputs_seen, written;

void mpk_account_begin(mpk_account_fn *changed)
{
	told = changed;
	atomic_store(&is_open, true);
}

/* Returns  base + ratio * inputs, or the largest number if that overflows. */
static uint64_t saturated(uint64_t base, uint64_t ratio, uint64_t input_bytes)
{
	uint64_t bytes;

	return __builtin_mul_overflow(input_bytes, ratio, &bytes) ||
			       __builtin_add_overflow(bytes, base, &bytes)
		       ? UINT64_MAX
		       : bytes;
}

static void tell(void)
{
	if (told)
		told(atomic_load(&inputs), atomic_load(&taken));
}

void mpk_account_open(uint64_t bytes)
{
	if (!atomic_load(&is_open))
		return;
	/* Several inputs may be open at once (a library and libc). Only the first one resets the
	 * count, so that nothing is charged twice. */
	if (atomic_fetch_add(&inputs, bytes) == 0)
		atomic_store(&taken, 0);
	atomic_store(&is_used, true);
	tell();
}

void mpk_account_close(uint64_t bytes)
{
	if (!atomic_load(&is_open))
		return;
	atomic_fetch_sub(&inputs, bytes);
}

enum mpk_code mpk_account_has(uint64_t bytes, struct mpk_error *err)
{
	uint64_t before = atomic_load(&taken);
	uint64_t limit = saturated(MPK_ACCOUNT_BASE, MPK_ACCOUNT_RATIO, atomic_load(&inputs));

	/* Before an input is opened, or without counting, everything is allowed. */
	if (!atomic_load(&is_open) || !atomic_load(&is_used) ||
	    (before <= limit && bytes <= limit - before))
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"all that is packed in it unpacks to more than 256 MiB and 64 times its size: it is not looked into");
}

enum mpk_code mpk_account_take(uint64_t bytes, struct mpk_error *err)
{
	MPK_TRY(mpk_account_has(bytes, err));
	if (!atomic_load(&is_open))
		return MPK_OK;
	atomic_fetch_add(&taken, bytes);
	tell();
	return MPK_OK;
}

void mpk_account_limit_output(uint64_t most)
{
	atomic_store(&output_most, most);
}

void mpk_account_input(uint64_t bytes)
{
	atomic_fetch_add(&inputs_seen, bytes);
}

enum mpk_code mpk_account_may_write(uint64_t bytes, struct mpk_error *err)
{
	uint64_t fixed = atomic_load(&output_most), before = atomic_load(&written);
	uint64_t limit =
		fixed ? fixed
		      : saturated(MPK_OUTPUT_BASE, MPK_OUTPUT_RATIO, atomic_load(&inputs_seen));

	if (fixed != MPK_OUTPUT_ANY && (before > limit || bytes > limit - before))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			fixed ? "all that is written would be more than --max-output allows"
			      : "all that is written would be more than 64 MiB and 64 times what is read: "
				"--max-output=SIZE allows more");
	return MPK_OK;
}

enum mpk_code mpk_account_write(uint64_t bytes, struct mpk_error *err)
{
	MPK_TRY(mpk_account_may_write(bytes, err));
	atomic_fetch_add(&written, bytes);
	return MPK_OK;
}
