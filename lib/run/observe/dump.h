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

/* mpk_results_each - the tensors that an operator computed: those that it filled, in the order of its
 * operands, then those that it returned; tuples flattened
 * @count   of the operators so far; one more afterwards, unless this one computes nothing
 * Returns  MPK_OK; what fn failed with */
enum mpk_code mpk_results_each(const struct mpk_operator *op, const struct mpk_value *returned,
			       size_t *count, mpk_result_fn *fn, void *user,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_result_fetch - a compact copy in host memory, or the tensor itself; of a type that NumPy has: bool
 * in a byte, elements that it has not as bytes, of which a last dimension counts those of one
 * Returns  MPK_OK, one reference in *out; MPK_E_UNSUPPORTED: a tensor on a device with gaps, or an image,
 *          which nothing here can read;
 *          MPK_E_RAISED: a kernel faulted; MPK_E_DEVICE; MPK_E_NOMEM */
enum mpk_code mpk_result_fetch(struct mpk_devices *devices, const struct mpk_tensor *t,
			       struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_result_file - append the name of its file: "0003-fused_add.npy", of several "0003-split.1.npy" */
void mpk_result_file(const struct mpk_result *r, struct mpk_strbuf *out);

struct mpk_dumper {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	const struct mpk_directory *to;
	size_t count;      /* operators so far */
	uint64_t left_out; /* tensors that cannot be read: images */
};

/* mpk_dumper_init - an observer that writes into a directory
 * @devices, @to  borrowed as long as it observes. Its functions fail as mpk_result_fetch and
 *          mpk_directory_write do; but what cannot be read is left out, and counted: left_out is what it
 *          encodes */
void mpk_dumper_init(struct mpk_dumper *d, struct mpk_devices *devices,
		     const struct mpk_directory *to);

#endif
