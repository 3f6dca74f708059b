/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - what parent and child say to each other about calls: orders and reports
 *
 * The parent orders one call at a time, and the next when it has what came of the last. So it alone knows
 * which call runs and since when: a child that lies can lie about that call and no other. Messages have one
 * size and arrive whole or not at all.
 */
#ifndef MPK_SESSION_INTERNAL_CHANNEL_H
#define MPK_SESSION_INTERNAL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* From the parent. */
struct mpk_order {
	uint32_t item;
	uint32_t is_last; /* the child ends after it */
};

enum mpk_report_kind {
	MPK_REPORT_LOADED,   /* the library is: now the function is called */
	MPK_REPORT_RETURNED, /* the reply is the result */
	MPK_REPORT_FAILED,   /* the reply is a struct mpk_error */
	MPK_REPORT_AGAIN,    /* as mpk_library_open says; the child ends */
};

/* From the child. */
struct mpk_report_message {
	uint32_t kind; /* enum mpk_report_kind */
	uint32_t item; /* that was ordered */
	uint32_t ends; /* the child takes no further order */
	uint32_t pad;
	uint64_t reply_bytes;
};

/* Both ends; each process has a copy of both. */
struct mpk_channel {
	int parent, child;
};

/* mpk_channel_open - mpk_channel_close in every case
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_channel_open(struct mpk_channel *c, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_channel_close(struct mpk_channel *c);

/* mpk_channel_keep_child - in the child: close the parent's end */
void mpk_channel_keep_child(struct mpk_channel *c);

/* mpk_channel_order - in the parent; does not wait
 * Returns  false: it cannot be sent */
bool mpk_channel_order(const struct mpk_channel *c, const struct mpk_order *order);

enum mpk_heard_report {
	MPK_HEARD_NO_REPORT, /* none yet */
	MPK_HEARD_REPORT,    /* one of the right size; what it says is the child's word */
	MPK_HEARD_NONSENSE,  /* something else */
};

/* mpk_channel_hear - in the parent: the next report, if there is one */
enum mpk_heard_report mpk_channel_hear(const struct mpk_channel *c, struct mpk_report_message *out);

/* mpk_channel_take - in the child: wait for the next order
 * Returns  false: there is none, as the parent is gone */
bool mpk_channel_take(const struct mpk_channel *c, struct mpk_order *out);

/* mpk_channel_report - in the child
 * Returns  MPK_OK; MPK_E_RAISED: called code closed the channel; MPK_E_IO */
enum mpk_code mpk_channel_report(const struct mpk_channel *c, const struct mpk_report_message *m,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
