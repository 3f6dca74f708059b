/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_weights - a file of weights of any format; tensors that it says lie in it do, and their elements can be read */
#include "fuzz.h"
#include "value/param_file.h"
#include "weightfile/weightfile.h"
#include "weights/weights.h"

enum { ELEMENTS_MAX = 1 << 16 }; /* of a tensor: others may be in the same bytes */

static void read_elements(const struct mpk_weight_set *set, const struct mpk_weight *w)
{
	struct mpk_weight_values values;
	struct mpk_weight_groups groups;
	double run[MPK_WEIGHT_RUN];

	if (mpk_weight_values_open(set, w, &values))
		for (uint64_t i = 0; i < values.count && i < ELEMENTS_MAX; i += MPK_WEIGHT_RUN)
			FUZZ_REQUIRE(mpk_weight_values_read(&values, i, run) > 0);
	if (mpk_weight_groups_of(set, w, &groups))
		for (uint64_t i = 0; i < groups.words.len / 4 && i < ELEMENTS_MAX; i++)
			mpk_weight_groups_read(&groups, i, 1, run);
}

static void read_set(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_weight_set set = { 0 };

	/* there are no shards in that folder */
	if (mpk_weight_set_open(bytes, "/dev/null/weights", arena, &set, NULL) == MPK_OK)
		for (size_t i = 0; i < set.weights.count && i < 64; i++)
			read_elements(&set, &set.weights.items[i]);
	mpk_weight_set_close(&set);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_report report = { 0 };
	struct mpk_weights w;
	uint64_t *lengths;

	if (mpk_weights_read(bytes, arena, &w, NULL) != MPK_OK)
		return;
	lengths = mpk_arena_array(arena, w.shard_count + 1, sizeof *lengths);
	FUZZ_REQUIRE(lengths);
	for (size_t i = 0; i < w.shard_count; i++)
		lengths[i] = w.shards[i].name.len ? UINT64_MAX : bytes.len;
	FUZZ_REQUIRE(mpk_weights_lay_out(&w, lengths, &report, NULL) == MPK_OK);
	for (size_t i = 0; i < w.count; i++) {
		const struct mpk_weight *t = &w.items[i];
		struct mpk_span data;

		FUZZ_REQUIRE(t->shard < w.shard_count);
		if (w.shards[t->shard].name.len || t->coding == MPK_WEIGHT_ELSEWHERE)
			continue;
		FUZZ_REQUIRE(mpk_span_sub(bytes, t->off, t->len, &data));
		fuzz_touch(data);
	}
	mpk_report_fini(&report);
	read_set(bytes, arena);
}
