/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - values from the child back to its parent, through a file in memory
 *
 * Tensor content lies at multiples of 64 bytes, so that the parent's tensors are views
 * of the mapped file. The child may have been damaged by the module: reading trusts
 * nothing.
 */
#ifndef MPK_SESSION_INTERNAL_WIRE_H
#define MPK_SESSION_INTERNAL_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "value/value.h"

/* Arrays within arrays: a list of Relay is as deep as it is long. */
enum { MPK_WIRE_NEST_MAX = 1024 };

/* The writing end. Small pieces are gathered. */
struct mpk_wire {
	int fd;
	uint64_t off; /* bytes put so far, from the begin of fd on */
	size_t held;  /* of them not written yet */
	uint8_t buffer[1024];
};

/* mpk_wire_fail - what the child writes does not get through, for the reason in errno
 * Returns  MPK_E_RAISED: called code closed the descriptor; MPK_E_IO */
enum mpk_code mpk_wire_fail(struct mpk_error *err);

/* mpk_wire_put - append bytes
 * Returns  MPK_OK; MPK_E_RAISED: called code closed fd; MPK_E_IO */
enum mpk_code mpk_wire_put(struct mpk_wire *w, struct mpk_span bytes,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_end - write what is not written yet
 * Returns  as mpk_wire_put */
enum mpk_code mpk_wire_end(struct mpk_wire *w, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_put_value - append a value; what has no content (functions, objects, pointers)
 * arrives as an opaque value of the same kind
 * @v       tensors in it are compact
 * Returns  MPK_OK; MPK_E_IO; MPK_E_UNSUPPORTED: a tensor on a device, or arrays nested deeper than
 *          MPK_WIRE_NEST_MAX */
enum mpk_code mpk_wire_put_value(struct mpk_wire *w, const struct mpk_value *v,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* The reading end: a mapping that tensors made of it keep alive. */
struct mpk_wire_map {
	atomic_uint refs;
	struct mpk_span bytes;
	bool is_mapped; /* else they are of the heap */
	uint64_t pos;
};

/* mpk_wire_map_drop - a reference less; NULL is fine */
void mpk_wire_map_drop(struct mpk_wire_map *m);

/* mpk_wire_damaged - MPK_E_RAISED: what came back is not what the child's own code writes */
enum mpk_code mpk_wire_damaged(struct mpk_error *err);

/* mpk_wire_get - the next bytes as a view
 * Returns  MPK_OK; MPK_E_RAISED when the reply ends early */
enum mpk_code mpk_wire_get(struct mpk_wire_map *m, uint64_t len, struct mpk_span *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_get_value - the next value, one reference in *out
 * Returns  MPK_OK; MPK_E_RAISED when the reply is damaged; MPK_E_NOMEM */
enum mpk_code mpk_wire_get_value(struct mpk_wire_map *m, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
