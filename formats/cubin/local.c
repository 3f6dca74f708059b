/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - the number of instructions that access local memory, separately for spills and arrays
 * (FORMAT.md 8) */
#include "cubin/cubin.h"

enum {
	INSTRUCTION = 16, /* bytes, from sm_70 on */
	STACK_POINTER = 1,
	STL = 0x387,
	LDL = 0x983,
};

bool mpk_cubin_local_accesses(unsigned sm, struct mpk_span code, struct mpk_cubin_local *out)
{
	struct mpk_cubin_local found = { 0 };

	if (sm < 70 || code.len % INSTRUCTION)
		return false;
	for (size_t at = 0; at < code.len; at += INSTRUCTION) {
		unsigned opcode = code.data[at] | (code.data[at + 1] & 0xfu) << 8;
		bool is_fixed = code.data[at + 3] == STACK_POINTER;

		if (opcode == STL) {
			found.stores += is_fixed;
			found.computed += !is_fixed;
		} else if (opcode == LDL) {
			found.loads += is_fixed;
			found.computed += !is_fixed;
		}
	}
	*out = found;
	return true;
}
