/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - what the two files of recurrent states share */
#ifndef MPK_EXECUTOR_STATE_INTERNAL_RNN_H
#define MPK_EXECUTOR_STATE_INTERNAL_RNN_H

#include "executor/state/internal/state.h"

struct mpk_rnn_sequence {
	int64_t id;
	int64_t past;     /* steps that can be taken back */
	int32_t slot, at; /* in storages; in the ring */
};

struct mpk_rnn {
	struct mpk_kv_state base; /* first */
	int64_t layer_count, state_count, slot_count, history;
	struct mpk_dldevice where;
	struct mpk_function **gets, **sets; /* state_count */
	struct mpk_tensor **inits;          /* state_count */
	struct mpk_tensor **storages;       /* of layer 0 all states, of layer 1, ... */
	struct mpk_ints free_slots;         /* that were used before */
	int32_t fresh;                      /* slots from this one on were never used */
	struct mpk_rnn_sequence *sequences;
	size_t count, cap;
	/* the pass that began last */
	int64_t *ids, *lengths;
	size_t batch;
	bool is_stale; /* slots changed since its tables were made */
	struct mpk_tensor *slots, *rings;
};

/* mpk_rnn_ops - states of this kind (rnn.c) */
extern const struct mpk_kv_ops mpk_rnn_ops;

/* mpk_rnn_get - a sequence by its id; valid until sequences come or go
 * Returns  MPK_OK; MPK_E_RAISED: there is none */
enum mpk_code mpk_rnn_get(const struct mpk_rnn *r, int64_t id, struct mpk_rnn_sequence **out,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_rnn_slot - the bytes of a slot in a storage: its ring, or one value in it
 * @at      of the ring; -1: all of it */
struct mpk_state_bytes mpk_rnn_slot(const struct mpk_rnn *r, size_t storage, int64_t slot,
				    int64_t at);

/* mpk_rnn_storages - how many storages a state has */
static inline size_t mpk_rnn_storages(const struct mpk_rnn *r)
{
	return (size_t)(r->layer_count * r->state_count);
}

#endif
