/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - the state of a recurrent model (rnn.c) */
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

/* mpk_rnn_storages - how many storages a state has */
static inline size_t mpk_rnn_storages(const struct mpk_rnn *r)
{
	return (size_t)(r->layer_count * r->state_count);
}

#endif
