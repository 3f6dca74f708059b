/* SPDX-License-Identifier: Apache-2.0 */
/* weight_set.h - a file of weights with the files beside it that it names
 *
 * The tensors of a model may lie in hundreds of shards. All are mapped when the set is opened, so that one that is
 * missing is found before anything is used; none is read.
 */
#ifndef MPK_VALUE_WEIGHT_SET_H
#define MPK_VALUE_WEIGHT_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "io/mapping.h"
#include "weights/weights.h"

/* A file in which tensors lie. */
struct mpk_weight_place {
	struct mpk_mapping map; /* closed: it is the file that was named, or there is a problem */
	struct mpk_span bytes;  /* all of it; empty where there is a problem */
	bool is_writable;       /* its pages */
	const struct mpk_error *problem; /* why it cannot be used; NULL: it can */
};

struct mpk_weight_set {
	struct mpk_weights weights; /* its items have what the shards of an index say of them */
	struct mpk_weight_place *places; /* one for each shard */
};

/* mpk_weight_set_open - what a file of weights says, and the files that it names
 * @file    all of it, borrowed
 * @path    of it: shards lie in its folder
 * @arena   receives what is read
 * Returns  MPK_OK, also when shards have problems; as mpk_weights_read. mpk_weight_set_close in every case. */
enum mpk_code mpk_weight_set_open(struct mpk_span file, const char *path, struct mpk_arena *arena,
				  struct mpk_weight_set *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_weight_set_close(struct mpk_weight_set *set);

/* mpk_weight_set_check - the first problem of a shard, or of a tensor that does not lie in its shard
 * Returns  MPK_OK; the problem's code: MPK_E_IO, MPK_E_CORRUPT, or as mpk_weights_read */
enum mpk_code mpk_weight_set_check(const struct mpk_weight_set *set,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weight_set_bytes - the stored bytes of a tensor
 * Returns  false: its shard has a problem, or ends before it */
bool mpk_weight_set_bytes(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_span *out);

#endif
