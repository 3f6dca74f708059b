/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - what a call came to in the process that made it, read by the one that asked for it
 *
 * A reply holds the seconds of each timed call, outputs that are not shared, the last returned value,
 * what observers saw; or an error. Called code may have written all of that: reading trusts nothing.
 */
#ifndef MPK_SESSION_INTERNAL_REPLY_H
#define MPK_SESSION_INTERNAL_REPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "session/call.h"
#include "value/value.h"

/* --- values through a file in memory ----------------------------------------------------------- */

/* Tensor content lies at multiples of 64 bytes, so that the parent's tensors are views
 * of the mapped file. The child may have been damaged by the module: reading trusts
 * nothing. */

/* Arrays within arrays: a list of Relay is as deep as it is long. */
enum { MPK_WIRE_NEST_MAX = 1024 };

/* What comes before each value. Both ends are this very program, so the layout is free to be the
 * compiler's. */
struct mpk_wire_head {
	uint32_t kind;
	struct mpk_dtype type;
	uint64_t count; /* text: bytes; shape, tensor: dimensions; array: items */
	union {
		int64_t integer;
		double real;
		struct mpk_dtype dtype;
		struct mpk_dldevice device;
	};
};

/* The writing end. Small pieces are gathered. */
struct mpk_wire {
	int fd;
	uint64_t off; /* bytes put so far, from the begin of fd on */
	size_t held;  /* of them not written yet */
	uint8_t buffer[1024];
};

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

/* mpk_wire_get - the next bytes as a view
 * Returns  MPK_OK; MPK_E_RAISED when the reply ends early */
enum mpk_code mpk_wire_get(struct mpk_wire_map *m, uint64_t len, struct mpk_span *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_get_value - the next value, one reference in *out
 * Returns  MPK_OK; MPK_E_RAISED when the reply is damaged; MPK_E_NOMEM */
enum mpk_code mpk_wire_get_value(struct mpk_wire_map *m, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_shares - whether the parent sees what a call writes to an argument */
bool mpk_reply_shares(const struct mpk_value *arg);

/* What a call came to, in the child. */
struct mpk_reply_content {
	const struct mpk_error *failure; /* NULL: it returned, and what follows is there */
	const struct mpk_call *call;
	struct mpk_span seconds; /* of each timed call, as doubles */
	const struct mpk_value *returned;
	struct mpk_observer *const *observers; /* MPK_WATCHER_COUNT; NULL where nobody asked */
};

/* mpk_reply_write - into a file, from its begin on
 * @bytes   receives how many
 * Returns  as mpk_wire_put and mpk_wire_put_value; what an observer's encode fails with */
enum mpk_code mpk_reply_write(int fd, const struct mpk_reply_content *c, uint64_t *bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* What the child left. */
struct mpk_reply {
	int fd; /* of the file that it wrote */
	uint64_t bytes;
	bool is_error;  /* as it says: the call failed */
	bool copies;    /* the child goes on, and could change what it left */
	double seconds; /* since the call was ordered: no call in it took longer */
};

/* mpk_reply_take - the outcome of a call
 * @out     zeroed; of a call that returned. mpk_call_result_fini; empty on failure
 * @err     of a call that failed; or why the reply cannot be read
 * Returns  false: it cannot be read */
bool mpk_reply_take(const struct mpk_call *call, const struct mpk_reply *reply,
		    struct mpk_call_result *out, struct mpk_error *err);

/* --- its steps ------------------------------------------------------------------------------- */

/* mpk_wire_map_fd - map the first bytes bytes of fd; one reference in *out
 * @copies  as a copy, for a child that goes on and could change them while they are read; else all that could
 *          write to fd must have ended
 * Returns  MPK_OK; MPK_E_RAISED: they are not there, or nobody wrote them; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_wire_map_fd(int fd, uint64_t bytes, bool copies, struct mpk_wire_map **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_read - the result of a call that returned, from the position of reply on
 * @seconds since the call was ordered: no call in it took longer
 * @copies  the child goes on, and could change what it shares
 * @out     zeroed; mpk_call_result_fini. Empty on failure.
 * Returns  MPK_OK; MPK_E_RAISED: the reply is damaged; MPK_E_CORRUPT: what observers saw is; MPK_E_NOMEM */
enum mpk_code mpk_reply_read(const struct mpk_call *call, struct mpk_wire_map *reply,
			     double seconds, bool copies, struct mpk_call_result *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_read_error - the error of a call that failed, escaped; its code is never MPK_OK
 * Returns  false: the reply is damaged, which *err says */
bool mpk_reply_read_error(struct mpk_wire_map *reply, struct mpk_error *err);

#endif
