/* SPDX-License-Identifier: Apache-2.0 */
/* Builtins of states with arguments that no compiler makes: each is refused or works, and the kernels that a cache
 * calls never see a page or a place beyond its memory. What TVM's own caches compute is compared in
 * tests/interop/test_state.py. */
#include <stdlib.h>

#include "assert_error.h"
#include "executor/relax/builtin.h"
#include "harness.h"
#include "runtime/context.h"
#include "runtime/runtime.h"
#include "value/module.h"

enum { PAGE = 4, LAYERS = 2, HEADS = 2, DIM = 2, CAPACITY = 40, SEQUENCES = 3, CHUNK = 16 };

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, i32 = { MPK_DTYPE_INT, 32, 1 };

static struct mpk_runtime *runtime;
static struct mpk_error err;
static struct mpk_value result;

/* --- values ------------------------------------------------------------------------------------ */

static struct mpk_value integer(int64_t i)
{
	return mpk_value_of_int(i);
}

static struct mpk_value text(const char *s)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str(s), &v, &err), err);
	return v;
}

static struct mpk_value shape(size_t ndim, const int64_t *extents)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_shape(extents, ndim, &v, &err), err);
	return v;
}

static struct mpk_value tensor(struct mpk_dtype t, size_t ndim, const int64_t *extents)
{
	struct mpk_tensor *made = NULL;

	ck_assert_ok(mpk_tensor_create(t, extents, ndim, MPK_STORAGE_PRIVATE, &made, &err), err);
	return mpk_value_of_tensor(made);
}

#define SHAPE(...)                                                                                 \
	shape(sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })
#define TENSOR(t, ...)                                                                             \
	tensor(t, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })

static struct mpk_value tuple(size_t count, const struct mpk_value *items)
{
	struct mpk_value v = { 0 };

	ck_assert_ok(mpk_value_of_array(count, &v, &err), err);
	for (size_t i = 0; i < count; i++)
		v.array->items[i] = items[i];
	return v;
}

#define TUPLE(...)                                                                                 \
	tuple(sizeof((const struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value),        \
	      (const struct mpk_value[]){ __VA_ARGS__ })

/* Calls and drops the arguments; the result is dropped by the next call. */
static enum mpk_code call_all(const char *name, struct mpk_value *args, size_t count)
{
	char full[128];

	(void)snprintf(full, sizeof full, "vm.builtin.%s", name);
	const struct mpk_relax_builtin *b = mpk_relax_builtin_find(mpk_span_str(full));

	ck_assert_msg(b != NULL, "%s", full);
	mpk_value_drop(&result);
	err = (struct mpk_error){ 0 };
	enum mpk_code code = b->call(args, count, &result, &err);

	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
	return code;
}

#define CALL(name, ...)                                                                            \
	call_all(name, (struct mpk_value[]){ __VA_ARGS__ },                                        \
		 sizeof((struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value))
#define GOOD(...) ck_assert_ok(CALL(__VA_ARGS__), err)
#define RAISES(part, ...)                                                                          \
	do {                                                                                       \
		ck_assert_int_eq(CALL(__VA_ARGS__), MPK_E_RAISED);                                 \
		ck_assert_text(err, part);                                                         \
	} while (0)

static struct mpk_value same(struct mpk_value v)
{
	return mpk_value_hold(v);
}

/* --- kernels ----------------------------------------------------------------------------------- */

static size_t kernel_calls, appended;
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

static enum mpk_code nothing(struct mpk_function *self, const struct mpk_args *args,
			     struct mpk_value *out, struct mpk_error *why)
{
	(void)self;
	(void)args;
	(void)out;
	(void)why;
	kernel_calls++;
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

typedef enum mpk_code kernel_fn(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *out, struct mpk_error *why);

static void destroy(struct mpk_function *self)
{
	free(self);
}

static struct mpk_value kernel(kernel_fn *call)
{
	struct mpk_function *f = calloc(1, sizeof *f);

	ck_assert_ptr_nonnull(f);
	*f = (struct mpk_function){ .refs = 1, .name = "kernel", .call = call, .destroy = destroy };
	return mpk_value_of_function(f);
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

static void setup(void)
{
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	(void)mpk_context_swap((struct mpk_context){ .runtime = runtime });
}

static void teardown(void)
{
	mpk_value_drop(&result);
	(void)mpk_context_swap((struct mpk_context){ 0 });
	mpk_runtime_destroy(runtime);
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
	ck_assert_text(err, "a kernel of the state uses the state");
	GOOD("kv_state_clear", same(busy));
	mpk_value_drop(&busy);
}
END_TEST

/* --- any order of operations --------------------------------------------------------------------- */

static int64_t below(int64_t n)
{
	return rand() % n;
}

/* Ids of sequences that are there, and of some that are not. */
static struct mpk_value some_id(void)
{
	return integer(below(8) - 1);
}

static void begin(struct mpk_value c, bool grows)
{
	int64_t ids[4], lengths[4], parents[64];
	size_t count = (size_t)below(4), total = 0;

	for (size_t i = 0; i < count; i++) {
		ids[i] = below(7);
		lengths[i] = grows ? below(9) : 1;
		for (int64_t k = 0; k < lengths[i]; k++)
			parents[total++] = below(6) ? k - 1 : below(k + 2) - 2;
	}
	if (below(4) == 0)
		(void)CALL("kv_state_begin_forward", same(c), shape(count, ids),
			   shape(count, lengths), shape(total, parents));
	else
		(void)CALL("kv_state_begin_forward", same(c), shape(count, ids),
			   shape(count, lengths));
}

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

/* --- other states -------------------------------------------------------------------------------- */

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

START_TEST(weights_are_of_one_runtime)
{
	GOOD("tensor_cache.update", text("w_0"), TENSOR(f32, 3));
	RAISES("has 'w_0' already", "tensor_cache.update", text("w_0"), TENSOR(f32, 3));
	GOOD("tensor_cache.update", text("w_0"), TENSOR(f32, 4), integer(1));
	GOOD("param_array_from_cache", text("w"), integer(-1));
	ck_assert_uint_eq(result.array->count, 1);
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
	ck_assert_int_eq(CALL("tensor_cache.load", text("."), integer(1), integer(0)),
			 MPK_E_UNSUPPORTED);
	ck_assert_int_eq(CALL("kv_cache_disagg_mark_send", integer(1)), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "NVSHMEM");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("state");
	TCase *tc = tcase_create("state");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, sizes_are_checked_when_a_cache_is_made);
	tcase_add_test(tc, a_cache_is_no_other_object);
	tcase_add_test(tc, a_pass_begins_before_attention);
	tcase_add_test(tc, numbers_of_windows_do_not_overflow);
	tcase_add_test(tc, a_kernel_cannot_change_its_cache);
	tcase_add_loop_test(tc, operations_in_any_order, 0, 6);
	tcase_add_loop_test(tc, pages_come_back_without_windows, 0, 4);
	tcase_add_test(tc, the_older_cache_stays_in_its_memory);
	tcase_add_test(tc, penalties_stay_in_the_logits);
	tcase_add_loop_test(tc, recurrent_states_in_any_order, 0, 3);
	tcase_add_test(tc, weights_are_of_one_runtime);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
