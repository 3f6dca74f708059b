/* SPDX-License-Identifier: Apache-2.0 */
/* Any builtin with any arguments, in any order: each call works or raises, whatever was called before. Objects that
 * calls gave are arguments of later ones. */
#include "state_call.h"

enum { CALLS = 20000, KEPT = 6, ARGS = 6 };

/* Objects and others that came back. */
static struct mpk_value kept[KEPT];

static int64_t some_number(void)
{
	static const int64_t numbers[] = { -2, -1, 0,    1,         2,         3,        4,
					   7,  64, 1000, INT32_MAX, INT64_MIN, INT64_MAX };

	return numbers[below((int64_t)MPK_ARRAY_COUNT(numbers))];
}

static struct mpk_value some_shape(void)
{
	static const int64_t extents[] = { -1, 0, 1, 2, 3, 4, 16, 100 };
	int64_t made[5];
	size_t count = (size_t)below(6);

	for (size_t i = 0; i < count; i++)
		made[i] = extents[below((int64_t)MPK_ARRAY_COUNT(extents))];
	return shape(count, made);
}

static struct mpk_value some_tensor(void)
{
	int64_t extents[3];
	size_t count = (size_t)below(4);
	struct mpk_value v;

	for (size_t i = 0; i < count; i++)
		extents[i] = below(5);
	v = tensor(below(2) ? f32 : i32, count, extents);
	if (v.tensor->bytes && mpk_dtype_equal(v.tensor->dl.dtype, i32))
		*(int32_t *)mpk_dltensor_data(&v.tensor->dl) = (int32_t)below(9) - 2;
	return v;
}

static struct mpk_value some_value(unsigned depth);

static struct mpk_value some_tuple(unsigned depth)
{
	struct mpk_value items[3];
	size_t count = (size_t)below(4);

	for (size_t i = 0; i < count; i++)
		items[i] = some_value(depth + 1);
	return tuple(count, items);
}

/* None is a pointer: byte code has them from the machine alone. */
static struct mpk_value some_value(unsigned depth)
{
	switch (below(depth < 2 ? 10 : 9)) {
	case 0:
		return (struct mpk_value){ 0 };
	case 1:
		return integer(some_number());
	case 2:
		return mpk_value_of_float((double)below(5) / 2 - 1);
	case 3:
		return text(below(2) ? "w_0" : "tirx");
	case 4:
		return some_shape();
	case 5:
		return some_tensor();
	case 6:
		return kernel(nothing);
	case 7:
	case 8:
		return same(kept[below(KEPT)]);
	default:
		return some_tuple(depth);
	}
}

static const struct mpk_relax_builtin *some_builtin(void)
{
	static size_t count;

	while (mpk_relax_builtin_at(count))
		count++;
	return mpk_relax_builtin_at((size_t)below((int64_t)count));
}

/* What a state is begins with arguments that make one. */
static void make_states(void)
{
	GOOD("rnn_state_create", integer(1), integer(2), integer(2), TUPLE(kernel(nothing)),
	     TUPLE(kernel(nothing)), TUPLE(TENSOR(f32, 3)));
	kept[0] = same(result);
	GOOD("attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(4, 2), integer(1));
	kept[1] = same(result);
	GOOD("tensor_cache.update", text("w_0"), TENSOR(f32, 3));
	kept[2] = TENSOR(f32, 2, 4);
}

START_TEST(any_builtin_with_any_arguments)
{
	struct mpk_value args[ARGS];
	size_t good = 0;

	srand((unsigned)_i);
	make_states();
	for (int i = 0; i < CALLS; i++) {
		const struct mpk_relax_builtin *b = some_builtin();
		size_t count = (size_t)below(ARGS + 1);
		enum mpk_code code;

		for (size_t k = 0; k < count; k++)
			args[k] = some_value(0);
		mpk_value_drop(&result);
		err = (struct mpk_error){ 0 };
		code = b->call(args, count, &result, &err);
		ck_assert_msg(code != MPK_E_INTERNAL && (code == MPK_OK || err.text[0]),
			      "%s: %d: %s", b->name, (int)code, err.text);
		for (size_t k = 0; k < count; k++)
			mpk_value_drop(&args[k]);
		good += code == MPK_OK;
		if (code == MPK_OK && result.kind == MPK_VALUE_OBJECT) {
			size_t at = (size_t)below(KEPT);

			mpk_value_drop(&kept[at]);
			kept[at] = same(result);
		}
	}
	ck_assert_uint_gt(good, CALLS / 200); /* arguments are not only nonsense */
	for (size_t i = 0; i < KEPT; i++)
		mpk_value_drop(&kept[i]);
}
END_TEST

int main(void)
{
	const struct state_test tests[] = { { any_builtin_with_any_arguments, 4 } };

	return state_main("state_any", tests, MPK_ARRAY_COUNT(tests));
}
