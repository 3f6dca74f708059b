/* SPDX-License-Identifier: Apache-2.0 */
/* guest.h - what guest.so exports */
#ifndef MPK_TESTS_GUEST_GUEST_H
#define MPK_TESTS_GUEST_GUEST_H

#include <stdint.h>

struct guest {
	void *(*open_runtime)(void); /* NULL: there is no memory */
	void (*close_runtime)(void *runtime);
	/* a parallel loop with a barrier, 1 + ... + count; -1: it failed */
	int (*sum_tasks)(int count);
	/* takes and gives scratch memory, which this thread then keeps */
	void (*scratch)(uint64_t bytes);
};

extern const struct guest guest;

#endif
