/* SPDX-License-Identifier: Apache-2.0 */
/* Saved caches and recurrent states that are loaded, and what a model does with them afterwards: kernels see no page and no
 * place beyond the memory of the cache. Bytes are a state as they are, or changes of one that was saved here. */
#include <string.h>

#include "executor/relax/builtin.h"
#include "executor/relax/state_globals.h"
#include "runtime.h"
#include "value/value.h"

enum { PAGE = 4, LAYERS = 2, HEADS = 2, DIM = 2, CAPACITY = 40, SEQUENCES = 3, CHUNK = 16 };
enum { KINDS = 3, BYTES_MAX = 1 << 16 };

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, u8 = { MPK_DTYPE_UINT, 8, 1 };

/* --- values -------------------------------------------------------------------------------------- */

static struct mpk_value shape(size_t ndim, const int64_t *extents)
{
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(mpk_value_of_shape(extents, ndim, &v, NULL) == MPK_OK);
	return v;
}

#define SHAPE(...)                                                                                 \
	shape(sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })

static struct mpk_value tensor(struct mpk_dtype type, size_t ndim, const int64_t *extents)
{
	struct mpk_tensor *t;

	FUZZ_REQUIRE(mpk_tensor_create(type, extents, ndim, MPK_STORAGE_PRIVATE, &t, NULL) ==
		     MPK_OK);
	return mpk_value_of_tensor(t);
}

#define TENSOR(...)                                                                                \
	tensor(f32, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8, (const int64_t[]){ __VA_ARGS__ })

static struct mpk_value tuple(size_t count, const struct mpk_value *items)
{
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(mpk_value_of_array(count, &v, NULL) == MPK_OK);
	for (size_t i = 0; i < count; i++)
		v.array->items[i] = items[i];
	return v;
}

/* --- kernels ------------------------------------------------------------------------------------- */

/* Tables of numbers that a kernel gets are of pages, or of places in them. */
static enum mpk_code look(struct mpk_function *self, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	int32_t pages = CAPACITY / PAGE + SEQUENCES + 2;

	(void)self;
	(void)result;
	(void)err;
	for (size_t i = 0; i < args->count; i++) {
		const struct mpk_tensor *t = args->values[i].tensor;
		const int32_t *numbers;

		if (args->values[i].kind != MPK_VALUE_TENSOR || t->dl.dtype.code != MPK_DTYPE_INT)
			continue;
		numbers = mpk_dltensor_data(&t->dl);
		for (uint64_t k = 0; k < t->bytes / sizeof *numbers; k++)
			FUZZ_REQUIRE(numbers[k] >= -1 && numbers[k] <= pages * PAGE * SEQUENCES);
	}
	return MPK_OK;
}

static void destroy(struct mpk_function *self)
{
	free(self);
}

static struct mpk_value kernel(void)
{
	struct mpk_function *f = calloc(1, sizeof *f);

	FUZZ_REQUIRE(f);
	*f = (struct mpk_function){ .refs = 1, .name = "kernel", .call = look, .destroy = destroy };
	return mpk_value_of_function(f);
}

static struct mpk_value by_model(void)
{
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str("tirx"), &v, NULL) == MPK_OK);
	return tuple(2, (const struct mpk_value[]){ v, kernel() });
}

/* --- calls ---------------------------------------------------------------------------------------- */

/* Drops the arguments. @result  may be NULL */
static enum mpk_code call(const char *name, struct mpk_value *args, size_t count,
			  struct mpk_value *result)
{
	const struct mpk_relax_builtin *b = mpk_relax_builtin_find(mpk_span_str(name));
	struct mpk_value out = { 0 };
	struct mpk_error err;
	enum mpk_code code;

	FUZZ_REQUIRE(b);
	code = b->call(args, count, &out, &err);
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&args[i]);
	if (result)
		*result = out;
	else
		mpk_value_drop(&out);
	return code;
}

#define CALL(name, ...)                                                                            \
	call("vm.builtin." name, (struct mpk_value[]){ __VA_ARGS__ },                              \
	     sizeof((struct mpk_value[]){ __VA_ARGS__ }) / sizeof(struct mpk_value), NULL)

static struct mpk_value make_cache(bool slides)
{
	struct mpk_value args[] = {
		SHAPE(SEQUENCES, CAPACITY, CHUNK, PAGE, slides),
		SHAPE(0, LAYERS),
		mpk_value_of_int(HEADS),
		mpk_value_of_int(HEADS),
		mpk_value_of_int(DIM),
		mpk_value_of_int(DIM),
		SHAPE(0, 0),
		mpk_value_of_int(0),
		mpk_value_of_int(0),
		mpk_value_of_int(1),
		mpk_value_of_int(10000),
		mpk_value_of_int(0),
		TENSOR(1),
		kernel(),
		kernel(),
		by_model(),
		by_model(),
		by_model(),
		by_model(),
		by_model(),
		by_model(),
		by_model(),
		tuple(0, NULL),
		tuple(1, (const struct mpk_value[]){ kernel() }),
		kernel(),
		kernel(),
		kernel(),
		kernel(),
	};
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(call("vm.builtin.paged_attention_kv_cache_create", args, MPK_ARRAY_COUNT(args),
			  &v) == MPK_OK);
	return v;
}

static struct mpk_value make_recurrent(void)
{
	struct mpk_value args[] = {
		mpk_value_of_int(LAYERS),
		mpk_value_of_int(SEQUENCES),
		mpk_value_of_int(4),
		tuple(1, (const struct mpk_value[]){ kernel() }),
		tuple(1, (const struct mpk_value[]){ kernel() }),
		tuple(1, (const struct mpk_value[]){ TENSOR(3) }),
	};
	struct mpk_value v = { 0 };

	FUZZ_REQUIRE(call("vm.builtin.rnn_state_create", args, MPK_ARRAY_COUNT(args), &v) ==
		     MPK_OK);
	return v;
}

static struct mpk_value make_state(unsigned kind)
{
	return kind == 2 ? make_recurrent() : make_cache(kind == 1);
}

/* A pass of so many tokens for two sequences. */
static void pass(const struct mpk_value *state, unsigned kind, int64_t first, int64_t tokens)
{
	if (CALL("kv_state_begin_forward", mpk_value_hold(*state), SHAPE(first, first + 1),
		 SHAPE(tokens, 1)) != MPK_OK)
		return;
	for (int64_t layer = 0; kind != 2 && layer < LAYERS; layer++)
		(void)CALL("attention_kv_cache_attention_with_fused_qkv", mpk_value_hold(*state),
			   mpk_value_of_int(layer), mpk_value_of_float(1),
			   TENSOR(tokens + 1, 3 * HEADS, DIM), TENSOR(tokens + 1, HEADS, DIM));
	(void)CALL("kv_state_end_forward", mpk_value_hold(*state));
}

static void fill(const struct mpk_value *state, unsigned kind)
{
	(void)CALL("kv_state_add_sequence", mpk_value_hold(*state), mpk_value_of_int(0));
	(void)CALL("kv_state_add_sequence", mpk_value_hold(*state), mpk_value_of_int(1));
	pass(state, kind, 0, 6);
	if (kind == 1)
		(void)CALL("attention_kv_cache_enable_sliding_window_for_seq",
			   mpk_value_hold(*state), mpk_value_of_int(1), mpk_value_of_int(5),
			   mpk_value_of_int(1));
	(void)CALL("kv_state_fork_sequence", mpk_value_hold(*state), mpk_value_of_int(0),
		   mpk_value_of_int(2), mpk_value_of_int(kind == 2 ? -1 : 5));
	pass(state, kind, 0, 2);
}

static struct mpk_value save(const struct mpk_value *state)
{
	struct mpk_value args[] = { *state, { 0 }, SHAPE(4, 5) }, saved = { 0 };

	FUZZ_REQUIRE(mpk_state_globals[0].call(mpk_context_get().runtime,
					       &(struct mpk_args){ args, NULL, 3 }, &saved,
					       NULL) == MPK_OK);
	mpk_value_drop(&args[2]);
	return saved;
}

static enum mpk_code load(const struct mpk_value *state, struct mpk_span bytes)
{
	int64_t extent = (int64_t)bytes.len;
	struct mpk_value args[] = { *state, tensor(u8, 1, &extent), SHAPE(4, 5) }, none = { 0 };
	struct mpk_error err;
	enum mpk_code code;

	if (bytes.len)
		memcpy(mpk_dltensor_data(&args[1].tensor->dl), bytes.data, bytes.len);
	code = mpk_state_globals[1].call(mpk_context_get().runtime,
					 &(struct mpk_args){ args, NULL, 3 }, &none, &err);
	mpk_value_drop(&args[1]);
	mpk_value_drop(&args[2]);
	return code;
}

/* --- one input ------------------------------------------------------------------------------------ */

/* Changes: two bytes of a place, one of what is there then; an odd length cuts the state at the last place. */
static struct mpk_span changed(struct mpk_span saved, struct mpk_span changes, uint8_t *to)
{
	size_t len = saved.len < BYTES_MAX ? saved.len : BYTES_MAX, at = 0;

	memcpy(to, saved.data, len);
	for (; changes.len - at >= 3; at += 3)
		to[(changes.data[at] | (size_t)changes.data[at + 1] << 8) % len] =
			changes.data[at + 2];
	if (changes.len - at == 2)
		len = (changes.data[at] | (size_t)changes.data[at + 1] << 8) % (len + 1);
	return mpk_span_of(to, len);
}

static void use(const struct mpk_value *state, unsigned kind)
{
	struct mpk_value again = make_state(kind), saved = save(state);

	/* what was loaded can be saved, and loaded again */
	FUZZ_REQUIRE(load(&again, mpk_tensor_span(saved.tensor)) == MPK_OK);
	mpk_value_drop(&saved);
	mpk_value_drop(&again);
	for (int64_t id = 0; id < 3; id++) {
		pass(state, kind, id, 3);
		(void)CALL("kv_state_popn", mpk_value_hold(*state), mpk_value_of_int(id),
			   mpk_value_of_int(2));
	}
	(void)CALL("kv_state_fork_sequence", mpk_value_hold(*state), mpk_value_of_int(1),
		   mpk_value_of_int(9), mpk_value_of_int(-1));
	for (int64_t id = 0; id < 4; id++)
		(void)CALL("kv_state_remove_sequence", mpk_value_hold(*state),
			   mpk_value_of_int(id));
	saved = save(state);
	mpk_value_drop(&saved);
	(void)CALL("kv_state_clear", mpk_value_hold(*state));
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_loader none;
	static uint8_t room[BYTES_MAX];
	unsigned choice = fuzz_choice(bytes, 2 * KINDS), kind = choice / 2;
	struct mpk_value state, from, saved;
	struct mpk_span rest = fuzz_rest(bytes);

	(void)arena;
	(void)mpk_context_swap((struct mpk_context){ .runtime = fuzz_runtime(&none) });
	state = make_state(kind);
	if (choice % 2) {
		from = make_state(kind);
		fill(&from, kind);
		saved = save(&from);
		rest = changed(mpk_tensor_span(saved.tensor), rest, room);
		mpk_value_drop(&saved);
		mpk_value_drop(&from);
	}
	if (load(&state, rest) == MPK_OK)
		use(&state, kind);
	mpk_value_drop(&state);
}
