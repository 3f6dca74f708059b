/* SPDX-License-Identifier: Apache-2.0 */
/* weight_set.c - opens what an index or a cache of weights names, and puts together what they say
 *
 * An index has a name for each tensor and the shard that it lies in; type, shape and place are in the shard. A problem
 * of a shard is kept with it: who wants the tensors fails with it, who lists or verifies shows it beside the others. */
#include "value/param_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "text/escape.h"

/* --- shards ----------------------------------------------------------------------------------- */

/* Its descriptor is given back: a process has not so many. */
static enum mpk_code map_shard(const char *folder, int len, struct mpk_span name,
			       struct mpk_arena *arena, struct mpk_weight_place *place,
			       struct mpk_error *err)
{
	const char *path = mpk_arena_printf(arena, "%.*s%.*s", len, folder, (int)name.len,
					    (const char *)name.data);

	MPK_TRY_ALLOC(path, err);
	MPK_TRY(mpk_mapping_open(path, &place->map, err));
	mpk_mapping_close_file(&place->map);
	place->bytes = place->map.bytes;
	return MPK_OK;
}

static enum mpk_code weight_set_keep_problem(struct mpk_weight_place *place,
					     struct mpk_arena *arena,
					     const struct mpk_error *problem, struct mpk_error *err)
{
	place->problem = mpk_arena_keep(arena, problem, 1, sizeof *problem);
	place->bytes = (struct mpk_span){ 0 };
	MPK_TRY_ALLOC(place->problem, err);
	return MPK_OK;
}

/* --- an index --------------------------------------------------------------------------------- */

/* What a shard says of the tensors that the index has in it. */
static enum mpk_code take_from_shard(struct mpk_weight *items, size_t count, size_t shard,
				     const struct mpk_weights *said, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	for (size_t i = 0; i < said->count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&names, said->items[i].name, i, &found) >= 0, err);
	for (size_t i = 0; i < count; i++) {
		if (items[i].shard != shard)
			continue;
		if (!mpk_strmap_find(&names, items[i].name, &found) ||
		    said->items[found].coding == MPK_WEIGHT_ELSEWHERE)
			return mpk_fail(
				err, MPK_E_CORRUPT,
				"tensor '%s' is not in the file that the index names for it",
				MPK_QUOTE(items[i].name));
		items[i] = said->items[found];
		items[i].shard = shard;
	}
	return MPK_OK;
}

static enum mpk_code read_shard(const struct mpk_weight_set *set, struct mpk_weight_shard *shards,
				struct mpk_weight *items, size_t shard, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_weights said;

	MPK_TRY(mpk_weights_read(set->places[shard].bytes, arena, &said, err));
	shards[shard].data_off = said.shards[0].data_off;
	return take_from_shard(items, set->weights.count, shard, &said, err);
}

static enum mpk_code read_shards(struct mpk_weight_set *set, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct mpk_weights *w = &set->weights;
	struct mpk_weight *items = mpk_arena_keep(arena, w->items, w->count, sizeof *items);

	struct mpk_weight_shard *shards =
		mpk_arena_keep(arena, w->shards, w->shard_count, sizeof *shards);

	MPK_TRY_ALLOC((items || !w->count) && (shards || !w->shard_count), err);
	for (size_t i = 0; i < w->shard_count; i++) {
		struct mpk_error problem;

		if (set->places[i].problem)
			continue;
		enum mpk_code code = read_shard(set, shards, items, i, arena, &problem);
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		if (code != MPK_OK)
			MPK_TRY(weight_set_keep_problem(&set->places[i], arena, &problem, err));
	}
	w->items = items;
	w->shards = shards;
	return MPK_OK;
}

/* --- the set ---------------------------------------------------------------------------------- */

enum mpk_code mpk_weight_set_open(struct mpk_span file, const char *path, struct mpk_arena *arena,
				  struct mpk_weight_set *out, struct mpk_error *err)
{
	*out = (struct mpk_weight_set){ 0 };
	MPK_TRY(mpk_weights_read(file, arena, &out->weights, err));

	const struct mpk_weights *w = &out->weights;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	MPK_TRY_ARRAY(out->places, arena, w->shard_count + 1, err);
	for (size_t i = 0; i < w->shard_count; i++) {
		struct mpk_weight_place *place = &out->places[i];
		struct mpk_error problem;

		if (!w->shards[i].name.len) {
			place->bytes = file;
			continue;
		}
		enum mpk_code code =
			map_shard(path, folder, w->shards[i].name, arena, place, &problem);
		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		if (code != MPK_OK)
			MPK_TRY(weight_set_keep_problem(place, arena, &problem, err));
	}

	return out->weights.format == &mpk_weights_safetensors_index ? read_shards(out, arena, err)
								     : MPK_OK;
}

void mpk_weight_set_close(struct mpk_weight_set *set)
{
	for (size_t i = 0; set->places && i < set->weights.shard_count; i++)
		mpk_mapping_close(&set->places[i].map);
	set->places = NULL;
}

bool mpk_weight_set_bytes(const struct mpk_weight_set *set, const struct mpk_weight *w,
			  struct mpk_span *out)
{
	return w->coding != MPK_WEIGHT_ELSEWHERE && !set->places[w->shard].problem &&
	       mpk_span_sub(set->places[w->shard].bytes, w->off, w->len, out);
}

enum mpk_code mpk_weight_set_check(const struct mpk_weight_set *set, struct mpk_error *err)
{
	const struct mpk_weights *w = &set->weights;
	struct mpk_span bytes;

	for (size_t i = 0; i < w->shard_count; i++) {
		if (!set->places[i].problem)
			continue;
		if (err) {
			*err = *set->places[i].problem;
			mpk_error_prefix(err, "%s: ", MPK_QUOTE(w->shards[i].name));
			err->at.file[0] = '\0';
		}
		return mpk_failed(set->places[i].problem->code);
	}
	for (size_t i = 0; i < w->count; i++)
		if (!mpk_weight_set_bytes(set, &w->items[i], &bytes))
			return mpk_fail(err, MPK_E_CORRUPT,
					"tensor '%s' ends at %" PRIu64 ", and its file at %zu",
					MPK_QUOTE(w->items[i].name),
					w->items[i].off + w->items[i].len,
					set->places[w->items[i].shard].bytes.len);
	return MPK_OK;
}
