/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - the reply of a call, written by the process that made the call and read by its parent
 *
 * A reply holds the seconds of each timed call, outputs that are not shared, the last returned
 * value, and the data of observers; or an error. Called code may have written all of it, so the
 * reader trusts nothing.
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

/* Tensor content is aligned to 64 bytes, so that the parent's tensors can be views of the mapped
 * file. The module may have damaged the child, so the reader trusts nothing. */

/* Maximum nesting of arrays: a list of Relay is as deep as it is long. */
enum { MPK_WIRE_NEST_MAX = 1024 };

/* The header of each value. Both ends are the same program, so the compiler's layout can be
 * used. */
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

/* The writing end, with a buffer for small pieces. */
struct mpk_wire {
	int fd;
	uint64_t off; /* bytes written so far, from the beginning of fd */
	size_t held;  /* bytes in the buffer */
	uint8_t buffer[1024];
};

/* mpk_wire_put - append bytes
 * Returns  MPK_OK; MPK_E_RAISED: called code closed fd; MPK_E_IO */
enum mpk_code mpk_wire_put(struct mpk_wire *w, struct mpk_span bytes,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_end - write the buffer
 * Returns  as mpk_wire_put */
enum mpk_code mpk_wire_end(struct mpk_wire *w, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_put_value - append a value; values without content (functions, objects, pointers) arrive
 * as opaque values of the same kind
 * @v       its tensors are compact
 * Returns  MPK_OK; MPK_E_IO; MPK_E_UNSUPPORTED: a tensor on a device, or arrays nested deeper than
 *          MPK_WIRE_NEST_MAX */
enum mpk_code mpk_wire_put_value(struct mpk_wire *w, const struct mpk_value *v,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* The reading end: a mapping that tensors in it keep alive. */
struct mpk_wire_map {
	atomic_uint refs;
	struct mpk_span bytes;
	bool is_mapped; /* the bytes are mapped; else they are malloc'ed */
	uint64_t pos;
};

/* mpk_wire_map_drop - drop a reference; NULL does nothing */
void mpk_wire_map_drop(struct mpk_wire_map *m);

/* mpk_wire_get - get the next bytes as a view
 * Returns  MPK_OK; MPK_E_RAISED if the reply ends early */
enum mpk_code mpk_wire_get(struct mpk_wire_map *m, uint64_t len, struct mpk_span *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_get_value - get the next value, one reference in *out
 * Returns  MPK_OK; MPK_E_RAISED if the reply is damaged; MPK_E_NOMEM */
enum mpk_code mpk_wire_get_value(struct mpk_wire_map *m, struct mpk_value *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_shares - whether an argument's memory is shared, so that the parent sees what a call
 * writes to it */
bool mpk_reply_shares(const struct mpk_value *arg);

/* The outcome of a call, in the child. */
struct mpk_reply_content {
	/* NULL if it returned, and then the other fields are set */
	const struct mpk_error *failure;
	const struct mpk_call *call;
	struct mpk_span seconds; /* of each timed call, as doubles */
	const struct mpk_value *returned;
	/* MPK_WATCHER_COUNT elements; NULL if not requested */
	struct mpk_observer *const *observers;
};

/* mpk_reply_write - write a reply into a file, from its beginning
 * @bytes   receives its length
 * Returns  as mpk_wire_put and mpk_wire_put_value; errors of an observer's encode */
enum mpk_code mpk_reply_write(int fd, const struct mpk_reply_content *c, uint64_t *bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* A reply that a child wrote. */
struct mpk_reply {
	int fd; /* the file that holds it */
	uint64_t bytes;
	bool is_error; /* the child says that the call failed */
	bool copies; /* the child continues, so its data must be copied: it could still change it */
	double seconds; /* since the call was ordered: an upper limit for its timed calls */
};

/* mpk_reply_take - read the outcome of a call
 * @out     zeroed; set if the call returned, empty otherwise; free with mpk_call_result_fini
 * @err     the error of a failed call, or why the reply cannot be read
 * Returns  false: the reply cannot be read */
bool mpk_reply_take(const struct mpk_call *call, const struct mpk_reply *reply,
		    struct mpk_call_result *out, struct mpk_error *err);

/* --- its steps ------------------------------------------------------------------------------- */

/* mpk_wire_map_fd - map the first bytes of fd; one reference in *out
 * @copies  copy them, because a continuing child could change them during reading; else all
 *          processes that could write to fd must have ended
 * Returns  MPK_OK; MPK_E_RAISED: fd is shorter, or was not written; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_wire_map_fd(int fd, uint64_t bytes, bool copies, struct mpk_wire_map **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_read - read the result of a call that returned, from the position of reply on
 * @seconds since the call was ordered: an upper limit for its timed calls
 * @copies  copy shared outputs, because a continuing child could change them
 * @out     zeroed; free with mpk_call_result_fini. Empty on failure.
 * Returns  MPK_OK; MPK_E_RAISED: the reply is damaged; MPK_E_CORRUPT: the data of observers is;
 *          MPK_E_NOMEM */
enum mpk_code mpk_reply_read(const struct mpk_call *call, struct mpk_wire_map *reply,
			     double seconds, bool copies, struct mpk_call_result *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_reply_read_error - read the error of a failed call, escaped; its code is never MPK_OK
 * Returns  false: the reply is damaged, as *err says */
bool mpk_reply_read_error(struct mpk_wire_map *reply, struct mpk_error *err);

#endif
