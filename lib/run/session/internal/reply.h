/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - what a call came to in the process that made it, read by the one that asked for it
 *
 * A reply holds the seconds of each timed call, outputs that are not shared, the last returned value,
 * what observers saw; or an error. Called code may have written all of that: reading trusts nothing.
 */
#ifndef MPK_SESSION_INTERNAL_REPLY_H
#define MPK_SESSION_INTERNAL_REPLY_H

#include "session/call.h"
#include "session/internal/wire.h"

/* mpk_reply_shares - whether the parent sees what a call writes to an argument */
bool mpk_reply_shares(const struct mpk_value *arg);

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
 * For when all that could write to fd have ended.
 * Returns  MPK_OK; MPK_E_RAISED: they are not there, or nobody wrote them; MPK_E_NOMEM */
enum mpk_code mpk_wire_map_fd(int fd, uint64_t bytes, struct mpk_wire_map **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_wire_copy_fd - the same as a copy, which nobody can change any more
 * Returns  as mpk_wire_map_fd; MPK_E_IO */
enum mpk_code mpk_wire_copy_fd(int fd, uint64_t bytes, struct mpk_wire_map **out,
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
