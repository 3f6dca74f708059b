/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - each instruction as a line of text, written before it runs
 *
 *   main 12: fused_matmul_add(%0: 2x20xf32, c1: 20x16xf32) -> %4: 2x16xf32
 *   main 5: vm.builtin.alloc_tensor(%1: storage of 128 bytes, 0, c2: shape=2,16, c3: dtype=f32)
 *   main 5: %2 = 2x16xf32
 *
 * When a kernel crashes, its line is the last. Names are escaped.
 */
#ifndef MPK_OBSERVE_TRACE_H
#define MPK_OBSERVE_TRACE_H

#include "base/strbuf.h"
#include "runtime/observer.h"

struct mpk_tracer {
	struct mpk_observer base; /* first */
	int fd;
	struct mpk_strbuf line;
};

/* mpk_tracer_init - an observer that writes to a descriptor; a line that cannot be written is lost
 * Its functions fail with MPK_E_NOMEM alone. */
void mpk_tracer_init(struct mpk_tracer *t, int fd);

#endif
