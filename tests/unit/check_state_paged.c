/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of pages with arguments that no compiler makes: the kernels that a cache calls never see a page or a place
 * beyond its memory. */
#include "state_call.h"

enum { PAGE = 4, LAYERS = 2, HEADS = 2, DIM = 2, CAPACITY = 40, SEQUENCES = 3, CHUNK = 16 };

/* --- kernels ----------------------------------------------------------------------------------- */

static size_t appended;
static struct mpk_value busy; /* a cache that a kernel tries to change */

/* Every number of a table is below a bound, and none below -1. */
static void check_table(const struct mpk_value *v, int32_t bound)
{
	const int32_t *p = mpk_dltensor_data(&v->tensor->dl);

	ck_assert(mpk_dtype_equal(v->tensor->dl.dtype, i32));
	for (uint64_t i = 0; i < v->tensor->bytes / sizeof *p; i++)
		ck_assert_msg(p[i] >= -1 && p[i] < bound, "%d of %d", p[i], bound);
}

static int32_t page_count(const struct mpk_value *pages)
{
	return (int32_t)pages->tensor->dl.shape[0];
}

/* (pages, keys, values, places): as many places as tokens, all in pages. */
static enum mpk_code append(struct mpk_function *self, const struct mpk_args *args,
			    struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)out;
	(void)why;
	kernel_calls++;
	appended += (size_t)args->values[3].tensor->dl.shape[0];
	ck_assert_int_eq(args->values[1].tensor->dl.shape[0], args->values[3].tensor->dl.shape[0]);
	check_table(&args->values[3], page_count(&args->values[0]) * PAGE);
	return MPK_OK;
}

/* (q, ends, pages, page ends, pages, ...) */
static enum mpk_code prefill(struct mpk_function *self, const struct mpk_args *args,
			     struct mpk_value *out, struct mpk_error *why)
{
	const struct mpk_value *v = args->values;
	const int32_t *ends = mpk_dltensor_data(&v[3].tensor->dl);

	(void)self;
	(void)out;
	(void)why;
	kernel_calls++;
	ck_assert_uint_eq(args->count, 15);
	check_table(&v[4], page_count(&v[2]));
	ck_assert_int_eq(ends[v[3].tensor->dl.shape[0] - 1], v[4].tensor->dl.shape[0]);
	return MPK_OK;
}

/* (q, pages, page ends, pages, ...) */
static enum mpk_code decode(struct mpk_function *self, const struct mpk_args *args,
			    struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)out;
	(void)why;
	kernel_calls++;
	ck_assert_uint_eq(args->count, 13);
	check_table(&args->values[3], page_count(&args->values[1]));
	return MPK_OK;
}

/* (pages, from, to, tokens) */
static enum mpk_code copy_page(struct mpk_function *self, const struct mpk_args *args,
			       struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)out;
	(void)why;
	kernel_calls++;
	for (size_t i = 1; i < 3; i++)
		ck_assert(args->values[i].integer >= 0 &&
			  args->values[i].integer < page_count(&args->values[0]));
	ck_assert(args->values[3].integer > 0 && args->values[3].integer < PAGE);
	return MPK_OK;
}

/* (pages, places, ...) and (pages, ends, moves, sequences) */
static enum mpk_code read_places(struct mpk_function *self, const struct mpk_args *args,
				 struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)out;
	(void)why;
	kernel_calls++;
	check_table(&args->values[args->count == 5 ? 1 : 2], page_count(&args->values[0]) * PAGE);
	return MPK_OK;
}

static enum mpk_code change_cache(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)args;
	return mpk_relax_builtin_find(mpk_span_str("vm.builtin.kv_state_clear"))
		->call(&busy, 1, out, why);
}

static struct mpk_value by_model(kernel_fn *call)
{
	return TUPLE(text("tirx"), kernel(call));
}

/* --- caches ------------------------------------------------------------------------------------ */

/* What the 28 arguments of a cache are in most tests. */
struct made {
	struct mpk_value args[28];
};

static struct made arguments(bool slides, kernel_fn *split)
{
	return (struct made){ {
		SHAPE(SEQUENCES, CAPACITY, CHUNK, PAGE, slides),
		SHAPE(0, LAYERS),
		integer(HEADS),
		integer(HEADS),
		integer(DIM),
		integer(DIM),
		SHAPE(0, 0),
		integer(0),
		integer(0),
		integer(1),
		integer(10000),
		integer(0),
		TENSOR(f32, 1),
		kernel(append),
		kernel(nothing),
		by_model(nothing),
		by_model(prefill),
		by_model(decode),
		by_model(prefill),
		by_model(decode),
		by_model(nothing),
		by_model(nothing),
		tuple(0, NULL),
		TUPLE(kernel(nothing)),
		kernel(split),
		kernel(copy_page),
		kernel(read_places),
		kernel(read_places),
	} };
}

static struct mpk_value cache(bool slides)
{
	struct made m = arguments(slides, nothing);
	struct mpk_value v;

	ck_assert_ok(call_all("paged_attention_kv_cache_create", m.args, 28), err);
	ck_assert_int_eq(result.kind, MPK_VALUE_OBJECT);
	v = result;
	result = (struct mpk_value){ 0 };
	return v;
}

static int64_t number(const char *name, struct mpk_value c)
{
	GOOD(name, same(c));
	ck_assert_int_eq(result.kind, MPK_VALUE_INT);
	return result.integer;
}

static enum mpk_code attend(struct mpk_value c, int64_t layer, int64_t rows)
{
	return CALL("attention_kv_cache_attention_with_fused_qkv", same(c), integer(layer),
		    mpk_value_of_float(1), TENSOR(f32, rows, 3 * HEADS, DIM),
		    TENSOR(f32, rows, HEADS, DIM));
}

START_TEST(sizes_are_checked_when_a_cache_is_made)
{
	const struct {
		size_t at;
		struct mpk_value value;
	} wrong[] = {
		{ 0, SHAPE(1, 1, 1, 0, 0) },
		{ 0, SHAPE(1, 1, 1, -4, 0) },
		{ 0, SHAPE(1, 1, 1) },
		{ 0, SHAPE(1, INT64_MAX, 1, 1, 0) },
		{ 0, SHAPE(INT64_MAX, 1, 1, 1, 1) },
		{ 0, SHAPE(1, INT32_MAX - 1, 1, 1024, 0) },
		{ 0, SHAPE(1, 1, INT64_MIN, 4, 0) },
		{ 0, SHAPE(1, 1, 1, (1 << 24) + 1, 0) },
		{ 0, SHAPE(1, 1, 1, 4, 0, 0) },
		{ 1, SHAPE(0, 3) },
		{ 1, SHAPE(-1, 1) },
		{ 1, SHAPE(2, 1) },
		{ 1, SHAPE(0, INT64_MAX) },
		{ 1, SHAPE(0, 1, 2) },
		{ 2, integer(0) },
		{ 3, integer(-1) },
		{ 4, integer(INT64_MAX) },
		{ 6, SHAPE(0, 9) },
		{ 6, SHAPE(-1, 0) },
		{ 7, integer(1) },
		{ 8, integer(3) },
		{ 12, integer(0) },
		{ 15, integer(0) },
		{ 15, TUPLE(text("tirx")) },
		{ 15, TUPLE(integer(1), integer(2)) },
		{ 15, TUPLE(text("tirx"), integer(2)) },
		{ 15, TUPLE(text("other"), kernel(nothing)) },
		{ 23, tuple(0, NULL) },
		{ 23, TUPLE(integer(1)) },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(wrong); i++) {
		struct made m = arguments(false, nothing);

		mpk_value_drop(&m.args[wrong[i].at]);
		m.args[wrong[i].at] = wrong[i].value;
		ck_assert_msg(call_all("paged_attention_kv_cache_create", m.args, 28) ==
				      MPK_E_RAISED,
			      "%zu: %s", i, err.text);
	}
	struct made m = arguments(false, nothing);

	mpk_value_drop(&m.args[16]);
	m.args[16] = TUPLE(text("flashinfer"), kernel(nothing), kernel(nothing));
	ck_assert_int_eq(call_all("paged_attention_kv_cache_create", m.args, 28),
			 MPK_E_UNSUPPORTED);
	RAISES("got 1 arguments", "paged_attention_kv_cache_create", integer(1));
}
END_TEST

START_TEST(a_cache_is_no_other_object)
{
	struct mpk_value c = cache(false);

	RAISES("must be a cache of one tensor", "attention_kv_cache_view", same(c));
	RAISES("argument 0 is relax.vm.Paged", "rnn_state_get", same(c), integer(0), integer(0),
	       integer(0));
	RAISES("must be a state of sequences", "kv_state_clear", integer(1));
	RAISES("must be a state of sequences", "kv_state_clear", TENSOR(f32, 1));
	GOOD("attention_kv_cache_create", TENSOR(f32, 1, 2), SHAPE(1, 2), integer(-1));
	RAISES("must be a state of sequences", "kv_state_clear", same(result));
	mpk_value_drop(&c);
}
END_TEST

/* What was merged, in the order in which it came. */
START_TEST(two_attentions_are_merged_in_place)
{
	struct mpk_value c, a = TENSOR(f32, 2, 3), b = TENSOR(f32, 2);
	struct made m = arguments(false, nothing);
	size_t calls = kernel_calls;

	mpk_value_drop(&m.args[23]);
	m.args[23] = TUPLE(kernel(nothing), kernel(nothing));
	ck_assert_ok(call_all("paged_attention_kv_cache_create", m.args, 28), err);
	c = same(result);

	RAISES("argument 4", "attention_kv_cache_merge_attn_output_inplace", same(c), same(a),
	       same(b), TENSOR(f32, 2, 3), integer(1));
	GOOD("attention_kv_cache_merge_attn_output_inplace", same(c), same(a), same(b),
	     TENSOR(f32, 2, 3), TENSOR(f32, 2));
	ck_assert_uint_eq(kernel_calls, calls + 1);
	ck_assert_uint_eq(result.array->count, 2);
	ck_assert_ptr_eq(result.array->items[0].tensor, a.tensor);
	ck_assert_ptr_eq(result.array->items[1].tensor, b.tensor);
	mpk_value_drop(&a);
	mpk_value_drop(&b);
	mpk_value_drop(&c);
}
END_TEST

START_TEST(a_pass_begins_before_attention)
{
	struct mpk_value c = cache(false);

	ck_assert_int_eq(attend(c, 0, 1), MPK_E_RAISED);
	RAISES("no forward pass", "attention_kv_cache_get_query_positions", same(c));
	GOOD("kv_state_end_forward", same(c));
	RAISES("of no sequences", "kv_state_begin_forward", same(c), shape(0, NULL),
	       shape(0, NULL));
	RAISES("not in the cache", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(1));
	GOOD("kv_state_add_sequence", same(c), integer(1));
	RAISES("cannot grow by 0", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(0));
	RAISES("cannot grow by -3", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(-3));
	RAISES("cache is full", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(INT64_MAX));
	RAISES("cache is full", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(45));
	ck_assert_int_eq(number("attention_kv_cache_get_total_sequence_length", c), 0);
	GOOD("kv_state_begin_forward", same(c), SHAPE(1), SHAPE(17));
	ck_assert_int_eq(attend(c, 0, 17), MPK_E_RAISED);
	ck_assert_text(err, "made for 16");
	GOOD("kv_state_clear", same(c));
	ck_assert_int_eq(attend(c, 0, 17), MPK_E_RAISED);
	GOOD("kv_state_add_sequence", same(c), integer(1));
	GOOD("kv_state_begin_forward", same(c), SHAPE(1), SHAPE(6));
	ck_assert_int_eq(attend(c, 2, 6), MPK_E_RAISED);
	ck_assert_int_eq(attend(c, -1, 6), MPK_E_RAISED);
	ck_assert_int_eq(attend(c, 0, 5), MPK_E_RAISED);
	appended = 0;
	ck_assert_ok(attend(c, 1, 6), err);
	ck_assert_ok(attend(c, 1, 9), err); /* rows that a model padded */
	ck_assert_uint_eq(appended, 12);
	/* one that is refused ends the one before: the model would go on with the wrong rows */
	RAISES("not in the cache", "kv_state_begin_forward", same(c), SHAPE(1, 9), SHAPE(3, 3));
	ck_assert_int_eq(attend(c, 1, 6), MPK_E_RAISED);
	ck_assert_text(err, "no forward pass of the cache began");
	ck_assert_uint_eq(appended, 12);
	GOOD("kv_state_begin_forward", same(c), SHAPE(1), SHAPE(2));
	ck_assert_ok(attend(c, 1, 2), err);
	mpk_value_drop(&c);
}
END_TEST

START_TEST(numbers_of_windows_do_not_overflow)
{
	struct made m = arguments(true, nothing);
	struct mpk_value c;

	mpk_value_drop(&m.args[0]);
	m.args[0] = SHAPE(SEQUENCES, CAPACITY, INT64_MAX, PAGE, 1);
	ck_assert_ok(call_all("paged_attention_kv_cache_create", m.args, 28), err);
	c = result;
	result = (struct mpk_value){ 0 };
	GOOD("kv_state_add_sequence", same(c), integer(1));
	RAISES("a window of", "attention_kv_cache_enable_sliding_window_for_seq", same(c),
	       integer(1), integer(INT32_MAX), integer(0));
	GOOD("attention_kv_cache_enable_sliding_window_for_seq", same(c), integer(1),
	     integer(1 << 30), integer((1 << 30) - 1));
	RAISES("cache is full", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(INT64_MAX));
	RAISES("cache is full", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE((1 << 24) + 1));
	RAISES("cache is full", "kv_state_begin_forward", same(c), SHAPE(1), SHAPE(1000));
	mpk_value_drop(&c);
}
END_TEST

START_TEST(a_kernel_cannot_change_its_cache)
{
	struct made m = arguments(false, change_cache);

	ck_assert_ok(call_all("paged_attention_kv_cache_create", m.args, 28), err);
	busy = result;
	result = (struct mpk_value){ 0 };
	GOOD("kv_state_add_sequence", same(busy), integer(1));
	GOOD("kv_state_begin_forward", same(busy), SHAPE(1), SHAPE(2));
	ck_assert_int_eq(attend(busy, 0, 2), MPK_E_RAISED);
	ck_assert_text(err, "the state is in use");
	GOOD("kv_state_clear", same(busy));
	mpk_value_drop(&busy);
}
END_TEST

/* --- any order of operations --------------------------------------------------------------------- */

static void commit(struct mpk_value c)
{
	int64_t ids[3], leaves[3];
	size_t count = (size_t)below(3) + 1;

	for (size_t i = 0; i < count; i++) {
		ids[i] = below(7);
		leaves[i] = below(8) - 1;
	}
	(void)CALL("attention_kv_cache_commit_accepted_token_tree_nodes", same(c),
		   shape(count, ids), shape(count, leaves));
}

static void read_back(struct mpk_value c)
{
	int64_t from = below(8), to = from + below(20);

	(void)CALL("attention_kv_cache_debug_get_kv", same(c), some_id(), integer(256),
		   integer(INT64_MIN), TENSOR(f32, LAYERS, 1, HEADS, DIM),
		   TENSOR(f32, LAYERS, 1, HEADS, DIM));
	(void)CALL("attention_kv_cache_debug_get_kv", same(c), some_id(), integer(from),
		   integer(to), TENSOR(f32, LAYERS, to - from, HEADS, DIM),
		   TENSOR(f32, LAYERS, to - from, HEADS, DIM));
}

static void any_operation(struct mpk_value c)
{
	switch (below(12)) {
	case 0:
		(void)CALL("kv_state_add_sequence", same(c), some_id());
		break;
	case 1:
		(void)CALL("kv_state_remove_sequence", same(c), some_id());
		break;
	case 2:
	case 3:
		(void)CALL("kv_state_fork_sequence", same(c), some_id(), some_id(),
			   integer(below(30) - 2));
		break;
	case 4:
		(void)CALL("kv_state_popn", same(c), some_id(), integer(below(20) - 1));
		break;
	case 5:
		(void)CALL("attention_kv_cache_enable_sliding_window_for_seq", same(c), some_id(),
			   integer(below(20)), integer(below(9) - 1));
		break;
	case 6:
		commit(c);
		break;
	case 7:
		read_back(c);
		break;
	case 8:
		begin(c, true);
		break;
	case 9:
		begin(c, false);
		break;
	default:
		(void)attend(c, below(LAYERS), 16);
		break;
	}
}

/* Whatever happened, all pages are free when all sequences are gone. */
START_TEST(operations_in_any_order)
{
	struct mpk_value c = cache(_i % 2);
	int64_t pages = number("attention_kv_cache_get_num_available_pages", c);

	srand((unsigned)_i);
	for (int i = 0; i < 3000; i++) {
		any_operation(c);
		ck_assert(number("attention_kv_cache_get_num_available_pages", c) >= 0);
	}
	for (int64_t id = -10; id < 10; id++)
		(void)CALL("kv_state_remove_sequence", same(c), integer(id));
	ck_assert_int_eq(number("attention_kv_cache_get_total_sequence_length", c), 0);
	GOOD("kv_state_clear", same(c));
	ck_assert_int_eq(number("attention_kv_cache_get_num_available_pages", c), pages);
	GOOD("attention_kv_cache_empty", same(c));
	ck_assert(result.boolean);
	mpk_value_drop(&c);
	ck_assert_uint_gt(kernel_calls, 0);
}
END_TEST

START_TEST(pages_come_back_without_windows)
{
	struct mpk_value c = cache(false);
	int64_t pages = number("attention_kv_cache_get_num_available_pages", c);

	srand(77 + (unsigned)_i);
	for (int i = 0; i < 1500; i++)
		any_operation(c);
	for (int64_t id = -10; id < 10; id++)
		(void)CALL("kv_state_remove_sequence", same(c), integer(id));
	ck_assert_int_eq(number("attention_kv_cache_get_num_available_pages", c), pages);
	GOOD("attention_kv_cache_empty", same(c));
	ck_assert(result.boolean);
	mpk_value_drop(&c);
}
END_TEST

/* --- as bytes ---------------------------------------------------------------------------------- */

static bool is_empty(struct mpk_value c)
{
	GOOD("attention_kv_cache_empty", same(c));
	return result.boolean;
}

/* A cache in which much has happened, and what it is as bytes. */
static struct mpk_value used_cache(bool slides, struct mpk_value *bytes)
{
	struct mpk_value c = cache(slides);
	int tries = 0;

	srand(5 + (unsigned)slides);
	do {
		for (int i = 0; i < 40; i++)
			any_operation(c);
	} while ((save(c, (struct mpk_value){ 0 }, bytes) != MPK_OK || is_empty(c)) &&
		 (mpk_value_drop(bytes), ++tries < 400));
	ck_assert_int_lt(tries, 400);
	ck_assert_int_eq(bytes->kind, MPK_VALUE_TENSOR);
	return c;
}

START_TEST(a_cache_is_saved_and_loaded)
{
	struct mpk_value bytes, again, c = used_cache(_i % 2, &bytes), d = cache(_i % 2);
	const uint8_t *data = bytes.tensor->dl.data;
	size_t len = (size_t)bytes.tensor->bytes;

	ck_assert_ok(load(d, data, len, 5), err);
	ck_assert_ok(save(d, (struct mpk_value){ 0 }, &again), err);
	ck_assert_uint_eq(again.tensor->bytes, len);
	ck_assert_int_eq(memcmp(again.tensor->dl.data, data, len), 0);
	ck_assert_int_eq(number("attention_kv_cache_get_num_available_pages", d),
			 number("attention_kv_cache_get_num_available_pages", c));
	ck_assert_int_eq(number("attention_kv_cache_get_total_sequence_length", d),
			 number("attention_kv_cache_get_total_sequence_length", c));
	mpk_value_drop(&again);
	/* they are there already; another model's; another number */
	ck_assert_int_eq(load(d, data, len, 5), MPK_E_RAISED);
	ck_assert_text(err, "already in the cache");
	for (int i = 0; i < 300; i++)
		any_operation(d);
	GOOD("kv_state_clear", same(d));
	ck_assert_int_eq(load(d, data, len, 6), MPK_E_RAISED);
	ck_assert_text(err, "saved by another model");
	ck_assert_int_eq(save(d, SHAPE(77), &again), MPK_E_RAISED);
	ck_assert_text(err, "not in the cache");
	ck_assert(is_empty(d));
	mpk_value_drop(&bytes);
	mpk_value_drop(&c);
	mpk_value_drop(&d);
}
END_TEST

/* Whatever is read, the cache is whole, and empty where it was refused. */
START_TEST(damaged_bytes_of_a_cache)
{
	struct mpk_value bytes, c = used_cache(_i % 2, &bytes), d = cache(_i % 2);
	const uint8_t *data = bytes.tensor->dl.data;
	size_t len = (size_t)bytes.tensor->bytes;
	uint8_t *copy = malloc(len);
	int64_t pages = number("attention_kv_cache_get_num_available_pages", d);

	ck_assert_ptr_nonnull(copy);
	for (size_t n = 0; n < len; n += n < 600 ? 1 : len / 50 + 1) {
		ck_assert_int_ne(load(d, data, n, 5), MPK_OK);
		ck_assert(is_empty(d));
	}
	for (size_t at = 0; at < len && at < 700; at++)
		for (int bit = 0; bit < 8; bit += 1 + (at > 300)) {
			memcpy(copy, data, len);
			copy[at] ^= (uint8_t)(1 << bit);
			if (load(d, copy, len, 5) == MPK_OK)
				GOOD("kv_state_clear", same(d));
			ck_assert(is_empty(d));
			ck_assert_int_eq(number("attention_kv_cache_get_num_available_pages", d),
					 pages);
		}
	free(copy);
	mpk_value_drop(&bytes);
	mpk_value_drop(&c);
	mpk_value_drop(&d);
}
END_TEST

int main(void)
{
	const struct state_test tests[] = {
		{ sizes_are_checked_when_a_cache_is_made, 1 },
		{ a_cache_is_no_other_object, 1 },
		{ two_attentions_are_merged_in_place, 1 },
		{ a_pass_begins_before_attention, 1 },
		{ numbers_of_windows_do_not_overflow, 1 },
		{ a_kernel_cannot_change_its_cache, 1 },
		{ operations_in_any_order, 6 },
		{ pages_come_back_without_windows, 4 },
		{ a_cache_is_saved_and_loaded, 2 },
		{ damaged_bytes_of_a_cache, 2 },
	};

	return state_main("state_paged", tests, MPK_ARRAY_COUNT(tests));
}
