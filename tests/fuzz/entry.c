/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c - where libFuzzer and AFL++ enter a target */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* More than a machine has is no find. Freed memory is kept from use for a while, but not so much of it
 * that each allocation misses the caches; of a stack of calls a few are kept. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=512:quarantine_size_mb=8:"
	       "malloc_context_size=8";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpk_arena arena = { 0 };

	fuzz_one(mpk_span_of(data, size), &arena);
	mpk_arena_fini(&arena);
	return 0;
}
