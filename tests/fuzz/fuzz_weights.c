/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_weights - a file of weights of any format; tensors that it says lie in it do */
#include "fuzz.h"
#include "weights/weights.h"

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
}
