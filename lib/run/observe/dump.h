/* SPDX-License-Identifier: Apache-2.0 */
/* dump.h - what operators compute, tensor by tensor, and the files that dumps have them in
 *
 * Only kernels compute: what copies, reshapes or allocates gives nothing new. The kernels of a run are
 * numbered in the order in which they end, so that the same model with other kernels, for another
 * device, gives the same files.
 */
#ifndef MPK_OBSERVE_DUMP_H
#define MPK_OBSERVE_DUMP_H

#include "base/strbuf.h"
#include "io/directory.h"
#include "runtime/devices.h"
#include "runtime/observer.h"

/* A tensor that an operator computed. */
struct mpk_result {
	const struct mpk_operator *op;
	size_t number; /* of the operator in the run, from 0 */
	size_t index;  /* of the tensor among the operator's results */
	bool is_only;  /* there is no other */
	struct mpk_tensor *tensor;
};

typedef enum mpk_code mpk_result_fn(void *user, const struct mpk_result *result,
				    struct mpk_error *err);

struct mpk_dumper {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	const struct mpk_directory *to;
	size_t count;      /* operators so far */
	uint64_t left_out; /* tensors that cannot be read: images */
};

/* mpk_dumper_init - an observer that writes into a directory
 * @devices, @to  borrowed as long as it observes. Its functions fail as mpk_devices_fetch and
 *          mpk_directory_write do; but what cannot be read is left out, and counted: left_out is what it
 *          encodes */
void mpk_dumper_init(struct mpk_dumper *d, struct mpk_devices *devices,
		     const struct mpk_directory *to);

#endif
