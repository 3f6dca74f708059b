/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - what the readers of weights share; private to formats/weights */
#ifndef MPK_FORMATS_WEIGHTS_INTERNAL_READ_H
#define MPK_FORMATS_WEIGHTS_INTERNAL_READ_H

#include "text/json_read.h"
#include "weights/weights.h"

enum { MPK_WEIGHT_NDIM_MAX = 32 };

/* mpk_weight_take_shape - an array of extents, outermost first, in arena
 * mpk_weight_take_text - a string, which is not empty
 * mpk_weight_take_shard - the name of a shard: relative, and within the folder
 * @what    names the value in errors: "tensor 'a': shape"
 * Return   MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_weight_take_shape(struct mpk_json_value v, const char *what,
				    struct mpk_arena *arena, struct mpk_weight *w,
				    struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_weight_take_text(struct mpk_json_value v, const char *what,
				   struct mpk_arena *arena, struct mpk_span *out,
				   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_weight_take_shard(struct mpk_json_value v, const char *what,
				    struct mpk_arena *arena, struct mpk_span *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_weight_take_notes - the members of an object as notes; none of what is no object */
enum mpk_code mpk_weight_take_notes(struct mpk_json_value v, struct mpk_arena *arena,
				    struct mpk_weights *w, struct mpk_error *err) MPK_MUST_CHECK;

#endif
