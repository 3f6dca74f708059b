/* SPDX-License-Identifier: Apache-2.0 */
/* The library of a model compiled ahead of time, for fuzz_aot_executor: its data is what is fuzzed.
 *
 * It is a library of its own, and not instrumented, because a reader of metadata may read all of the
 * segment that a pointer leads to: in the fuzzer's own data that would be red zones. */
#include <stdint.h>

enum { HANDLE = 3 }; /* of TVM's type codes */

extern uint8_t region[8192];
__attribute__((aligned(4096))) uint8_t region[8192] = { 1 };

int get_c_metadata(void *args, int *codes, int count, void **result, int *result_code,
		   void *resource);

int get_c_metadata(void *args, int *codes, int count, void **result, int *result_code,
		   void *resource)
{
	(void)args, (void)codes, (void)count, (void)resource;
	*result = region;
	*result_code = HANDLE;
	return 0;
}
