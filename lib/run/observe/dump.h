/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what each operator of a run computes, as .npy files */
#ifndef MPK_OBSERVE_DUMP_H
#define MPK_OBSERVE_DUMP_H

#include "io/directory.h"
#include "observe/internal/result.h"

struct mpk_dumper {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	const struct mpk_directory *to;
	size_t count;      /* operators so far */
	uint64_t left_out; /* tensors that cannot be read: images */
};

/* mpk_dumper_init - an observer that writes into a directory
 * @devices, @to  borrowed as long as it observes. Its functions fail as mpk_result_fetch and
 *          mpk_directory_write do; but what cannot be read is left out, and counted */
void mpk_dumper_init(struct mpk_dumper *d, struct mpk_devices *devices,
		     const struct mpk_directory *to);

#endif
