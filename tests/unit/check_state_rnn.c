/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent states with arguments that no compiler makes */
#include "state_call.h"

static struct mpk_value rnn(int64_t layers, int64_t slots, int64_t history)
{
	if (CALL("rnn_state_create", integer(layers), integer(slots), integer(history),
		 TUPLE(kernel(nothing)), TUPLE(kernel(nothing)), TUPLE(TENSOR(f32, 3))) != MPK_OK)
		return (struct mpk_value){ 0 };
	return same(result);
}

/* Another state of the same numbers takes it, and none that is cut or changed but as a whole. */
static void check_as_bytes(struct mpk_value s)
{
	struct mpk_value t = rnn(2, 3, 4), other = rnn(2, 3, 5), bytes, again;
	const uint8_t *data;
	size_t len;

	ck_assert_ok(save(s, (struct mpk_value){ 0 }, &bytes), err);
	data = bytes.tensor->dl.data;
	len = (size_t)bytes.tensor->bytes;
	ck_assert_int_eq(load(other, data, len, 5), MPK_E_RAISED);
	ck_assert_text(err, "4 as history, this one 5");
	for (size_t n = 0; n < len; n++)
		ck_assert_int_ne(load(t, data, n, 5), MPK_OK);
	ck_assert_ok(load(t, data, len, 5), err);
	ck_assert_ok(save(t, (struct mpk_value){ 0 }, &again), err);
	ck_assert_uint_eq(again.tensor->bytes, len);
	ck_assert_int_eq(memcmp(again.tensor->dl.data, data, len), 0);
	mpk_value_drop(&again);
	mpk_value_drop(&bytes);
	mpk_value_drop(&other);
	mpk_value_drop(&t);
}

START_TEST(recurrent_states_in_any_order)
{
	struct mpk_value s = rnn(2, 3, 4);

	srand((unsigned)_i);
	ck_assert_int_eq(s.kind, MPK_VALUE_OBJECT);
	ck_assert_int_eq(rnn(0, 1, 1).kind, MPK_VALUE_NONE);
	ck_assert_int_eq(rnn(1, -1, 1).kind, MPK_VALUE_NONE);
	ck_assert_int_eq(rnn(INT64_MAX, 1, 1).kind, MPK_VALUE_NONE);
	ck_assert_int_eq(rnn(1, 1, 0).kind, MPK_VALUE_NONE);
	ck_assert_int_eq(rnn(1, INT32_MAX - 1, INT32_MAX - 1).kind, MPK_VALUE_NONE);
	RAISES("no forward pass", "rnn_state_get", same(s), integer(0), integer(0), TENSOR(f32, 3));
	for (int i = 0; i < 1000; i++) {
		switch (below(7)) {
		case 0:
			(void)CALL("kv_state_add_sequence", same(s), some_id());
			break;
		case 1:
			(void)CALL("kv_state_remove_sequence", same(s), some_id());
			break;
		case 2:
			(void)CALL("kv_state_fork_sequence", same(s), some_id(), some_id(),
				   integer(-1));
			break;
		case 3:
			(void)CALL("kv_state_popn", same(s), some_id(), integer(below(5)));
			break;
		case 4:
			begin(s, true);
			break;
		case 5:
			(void)CALL("kv_state_end_forward", same(s));
			break;
		default:
			(void)CALL("rnn_state_set", same(s), integer(below(4) - 1),
				   integer(below(3) - 1), TENSOR(f32, 3));
			(void)CALL("rnn_state_debug_get", same(s), integer(below(4) - 1),
				   integer(below(3) - 1), some_id());
			break;
		}
	}
	check_as_bytes(s);
	mpk_value_drop(&s);
}
END_TEST

int main(void)
{
	const struct state_test tests[] = {
		{ recurrent_states_in_any_order, 3 },
	};

	return state_main("state_rnn", tests, MPK_ARRAY_COUNT(tests));
}
