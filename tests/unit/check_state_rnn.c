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
