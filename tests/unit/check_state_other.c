/* SPDX-License-Identifier: Apache-2.0 */
/* The older cache, samplers and pools of weights with arguments that no compiler makes */
#include "state_call.h"
#include "value/module.h"

START_TEST(the_older_cache_stays_in_its_memory)
{
	struct mpk_value c;

	RAISES("a cache of", "attention_kv_cache_create", TENSOR(f32, 1, 2), shape(0, NULL),
	       integer(0));
	RAISES("another type", "attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(4),
	       integer(0));
	RAISES("cannot be doubled", "attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(0, 2),
	       integer(0));
	RAISES("are filled", "attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(2, 2),
	       integer(3));
	GOOD("attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(2, 2), integer(-1));
	c = same(result);
	RAISES("another type", "attention_kv_cache_append", same(c), TENSOR(i32, 1, 2));
	RAISES("another type", "attention_kv_cache_append", same(c), TENSOR(f32, 2));
	RAISES("is 3, not 2", "attention_kv_cache_append", same(c), TENSOR(f32, 1, 3));
	for (int i = 0; i < 20; i++) {
		GOOD("attention_kv_cache_append", same(c), TENSOR(f32, 3, 2));
		GOOD("attention_kv_cache_view", same(c));
		ck_assert_int_eq(result.tensor->dl.shape[0], 1 + 3 * (i + 1));
	}
	RAISES("for a window of", "attention_kv_cache_window_override_with_sinks", same(c),
	       TENSOR(f32, 3, 2), integer(4), integer(2));
	RAISES("for a window of", "attention_kv_cache_window_override_with_sinks", same(c),
	       TENSOR(f32, 3, 2), integer(INT64_MIN), integer(INT64_MIN));
	RAISES("is another", "attention_kv_cache_view", same(c), SHAPE(60, 2));
	RAISES("cannot be taken back", "attention_kv_cache_array_popn", TUPLE(same(c)),
	       integer(62));
	GOOD("attention_kv_cache_array_clear", TUPLE(same(c)));
	for (int i = 0; i < 9; i++) {
		GOOD("attention_kv_cache_window_override_with_sinks", same(c), TENSOR(f32, 3, 2),
		     integer(7), integer(2));
		GOOD("attention_kv_cache_view", same(c));
	}
	mpk_value_drop(&c);
}
END_TEST

/* Entries that go round go on as they would have; what is damaged is refused, and changes nothing. */
START_TEST(the_older_cache_is_saved)
{
	struct mpk_value c, other, bytes, none = { 0 };
	uint8_t copy[512];
	size_t len;

	GOOD("attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(2, 2), integer(0));
	c = same(result);
	GOOD("attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(1, 2), integer(0));
	other = same(result);
	for (int i = 0; i < 4; i++)
		GOOD("attention_kv_cache_window_override_with_sinks", same(c), TENSOR(f32, 3, 2),
		     integer(7), integer(2));
	RAISES("another type", "attention_kv_cache_append", same(c), TENSOR(i32, 1, 2));
	RAISES("not relax.vm.AttentionKVCacheLegacy", "kv_state_clear", same(c));
	RAISES("is relax.vm.AttentionKVCacheLegacy", "attention_kv_cache_empty", same(c));
	ck_assert_int_eq(save(c, SHAPE(1), &bytes), MPK_E_RAISED);
	ck_assert_ok(save(c, none, &bytes), err);
	len = bytes.tensor->bytes;
	ck_assert_uint_lt(len, sizeof copy);
	memcpy(copy, bytes.tensor->dl.data, len);
	for (size_t i = 0; i < len; i++)
		ck_assert_int_ne(load(other, copy, i, 5), MPK_OK);
	ck_assert_int_ne(load(other, copy, len, 6), MPK_OK);
	GOOD("attention_kv_cache_view", same(other));
	ck_assert_int_eq(result.tensor->dl.shape[0], 0);
	for (size_t i = 0; i < len; i++) {
		uint8_t before = copy[i];

		copy[i] ^= 0x81;
		(void)load(other, copy, len, 5);
		copy[i] = before;
	}
	ck_assert_ok(load(other, copy, len, 5), err);
	mpk_value_drop(&bytes);
	for (int i = 0; i < 5; i++) {
		struct mpk_value view;

		for (int k = 0; k < 2; k++)
			GOOD("attention_kv_cache_window_override_with_sinks", same(k ? other : c),
			     TENSOR(f32, 3, 2), integer(7), integer(2));
		GOOD("attention_kv_cache_view", same(c));
		view = same(result);
		GOOD("attention_kv_cache_view", same(other));
		ck_assert_uint_eq(result.tensor->bytes, view.tensor->bytes);
		ck_assert_mem_eq(result.tensor->dl.data, view.tensor->dl.data, view.tensor->bytes);
		mpk_value_drop(&view);
	}
	mpk_value_drop(&c);
	mpk_value_drop(&other);
}
END_TEST

START_TEST(penalties_stay_in_the_logits)
{
	struct mpk_value ids = TENSOR(i32, 2);
	int32_t *id = ids.tensor->dl.data;

	id[0] = 4;
	RAISES("there is no token 4", "apply_repetition_penalty", TENSOR(f32, 4), same(ids),
	       integer(1));
	id[0] = -1;
	RAISES("there is no token -1", "apply_presence_and_frequency_penalty", TENSOR(f32, 4),
	       same(ids), TENSOR(i32, 2), integer(1), integer(1));
	id[0] = 0;
	RAISES("fewer counts", "apply_presence_and_frequency_penalty", TENSOR(f32, 4), same(ids),
	       TENSOR(i32, 1), integer(1), integer(1));
	GOOD("apply_repetition_penalty", TENSOR(f32, 4), same(ids), integer(2));
	RAISES("as many random numbers", "multinomial_from_uniform", TENSOR(f32, 3, 4),
	       TENSOR(f32, 2));
	RAISES("no tokens", "sample_top_p_from_prob", TENSOR(f32, 1, 0), integer(1), integer(0));
	RAISES("several rows", "sample_top_p_from_logits", TENSOR(f32, 2, 2), integer(1),
	       integer(1), integer(0));
	GOOD("apply_softmax_with_temperature", TENSOR(f32, 0), integer(1));
	mpk_value_drop(&ids);
}
END_TEST

START_TEST(weights_are_of_one_runtime)
{
	GOOD("tensor_cache.update", text("w_0"), TENSOR(f32, 3));
	RAISES("has 'w_0' already", "tensor_cache.update", text("w_0"), TENSOR(f32, 3));
	GOOD("tensor_cache.update", text("w_0"), TENSOR(f32, 4), integer(1));
	GOOD("param_array_from_cache", text("w"), integer(-1));
	ck_assert_uint_eq(result.array->count, 1);
	ck_assert_int_eq(result.array->items[0].kind, MPK_VALUE_TENSOR);
	ck_assert_int_eq(result.array->items[0].tensor->dl.shape[0], 4);
	RAISES("has no 'w_1'", "param_array_from_cache", text("w"), integer(2));
	RAISES("weights of one name", "param_array_from_cache", text("w"), integer(-2));
	RAISES("must be a string", "param_array_from_cache_by_name", TUPLE(integer(1)));
	GOOD("param_module_from_cache", text("w"), integer(1));
	struct mpk_function *get = NULL;

	ck_assert_ok(result.module->find(result.module, "get_params", &get, &err), err);
	mpk_value_drop(&result);
	ck_assert_ok(mpk_function_call(get, &(struct mpk_args){ 0 }, &result, &err), err);
	ck_assert_int_eq(result.array->items[0].tensor->dl.shape[0], 4);
	mpk_function_drop(get);
	GOOD("tensor_cache.remove", text("w_0"));
	GOOD("tensor_cache.get", text("w_0"));
	ck_assert_int_eq(result.kind, MPK_VALUE_NONE);
	GOOD("tensor_cache.load", text("tests/data/weights/cache"), integer(1), integer(0));
	GOOD("tensor_cache.get", text("b"));
	ck_assert_int_eq(((const int64_t *)mpk_dltensor_data(&result.tensor->dl))[1], -8);
	RAISES("cannot open", "tensor_cache.load", text("."), integer(1), integer(0));
	RAISES("cannot open", "ndarray_cache.load", text("tests/data/weights/cache"), integer(1),
	       integer(0));
	RAISES("no device has type 0", "tensor_cache.load", text("."), integer(0), integer(0));
	ck_assert_int_eq(CALL("kv_cache_disagg_mark_send", integer(1)), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "NVSHMEM");
}
END_TEST

int main(void)
{
	const struct state_test tests[] = {
		{ the_older_cache_stays_in_its_memory, 1 },
		{ the_older_cache_is_saved, 1 },
		{ penalties_stay_in_the_logits, 1 },
		{ weights_are_of_one_runtime, 1 },
	};

	return state_main("state_other", tests, MPK_ARRAY_COUNT(tests));
}
