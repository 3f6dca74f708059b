/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of calls over time: programs written by hand, whose storages are added up here, and hostile ones. */
#include "assert_error.h"
#include "harness.h"
#include "program/memory.h"
#include "relax_made.h"
#include "robust.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static const struct mpk_dtype u8 = { MPK_DTYPE_UINT, 8, 1 };

struct words {
	struct made m;
	int64_t info, match, heap, shape, storage, tensor, null, tuple, getitem, closure, invoke,
		cached;
	int64_t cond, kernel, other, shape_func, device;
	int64_t f32, u8, no_text, global;
};

static int64_t text(struct words *w, const char *s)
{
	return made_const(&w->m, (struct mpk_relax_const){ .kind = MPK_RELAX_STRING,
							   .u.string = mpk_span_str(s) });
}

static int64_t extents(struct words *w, const int64_t *list, size_t count)
{
	return made_const(&w->m,
			  (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
						    .u.shape = mpk_span_of(list, 8 * count) });
}
#define EXTENTS(w, ...)                                                                            \
	extents(w, (const int64_t[]){ __VA_ARGS__ }, sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)

static void begin(struct words *w)
{
	*w = (struct words){ 0 };
	w->info = made_packed(&w->m, "vm.builtin.check_tensor_info");
	w->match = made_packed(&w->m, "vm.builtin.match_shape");
	w->heap = made_packed(&w->m, "vm.builtin.alloc_shape_heap");
	w->shape = made_packed(&w->m, "vm.builtin.make_shape");
	w->storage = made_packed(&w->m, "vm.builtin.alloc_storage");
	w->tensor = made_packed(&w->m, "vm.builtin.alloc_tensor");
	w->null = made_packed(&w->m, "vm.builtin.null_value");
	w->tuple = made_packed(&w->m, "vm.builtin.make_tuple");
	w->getitem = made_packed(&w->m, "vm.builtin.tuple_getitem");
	w->closure = made_packed(&w->m, "vm.builtin.make_closure");
	w->invoke = made_packed(&w->m, "vm.builtin.invoke_closure");
	w->cached = made_packed(&w->m, "vm.builtin.cuda_graph.get_cached_alloc");
	w->cond = made_packed(&w->m, "vm.builtin.read_if_cond");
	w->device = made_packed(&w->m, "vm.builtin.to_device");
	w->kernel = made_packed(&w->m, "kernel");
	w->other = made_packed(&w->m, "other");
	w->shape_func = made_packed(&w->m, "shape_func");
	w->f32 = made_const(&w->m,
			    (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = f32 });
	w->u8 = made_const(&w->m,
			   (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = u8 });
	w->no_text = text(w, "");
	w->global = text(w, "global");
}

/* A storage of so many bytes in a register. */
static void storage(struct words *w, int64_t reg, int64_t bytes)
{
	CALL(&w->m, REG(reg), w->storage, VM, CONST(EXTENTS(w, bytes)), INT(0), CONST(w->u8),
	     CONST(w->global));
}

static void tensor(struct words *w, int64_t reg, int64_t storage, int64_t extent)
{
	CALL(&w->m, REG(reg), w->tensor, REG(storage), INT(0), CONST(EXTENTS(w, extent)),
	     CONST(w->f32));
}

static void kill(struct words *w, int64_t reg)
{
	CALL0(&w->m, REG(reg), w->null);
}

/* What is computed, in an arena that the test frees. */
struct told {
	struct mpk_arena arena;
	uint8_t *payload;
	struct mpk_model_memory m;
};

static void told_fini(struct told *t)
{
	mpk_arena_fini(&t->arena);
	free(t->payload);
}

static enum mpk_code tell(struct mpk_span bytes, const struct mpk_memory_ask *ask,
			  struct mpk_arena *arena, struct mpk_model_memory *out,
			  struct mpk_error *err)
{
	static const struct mpk_memory_ask nothing = { 0 };
	struct mpk_payload p = { .tag = MPK_PAYLOAD_RELAX };
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");

	MPK_TRY(mpk_relax_read(&c, MPK_GEN_CURRENT, arena, &p.u.relax, err));
	return mpk_memory_of(&p, ask ? ask : &nothing, arena, out, err);
}

static struct told told_of(const struct made *m, const struct mpk_memory_ask *ask)
{
	struct told t = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_span bytes = made_encode(m, &t.payload);

	ck_assert_ok(tell(bytes, ask, &t.arena, &t.m, &err), err);
	return t;
}

static const struct mpk_function_memory *function(const struct told *t, const char *name)
{
	for (size_t i = 0; i < t->m.function_count; i++)
		if (mpk_span_is(t->m.functions[i].signature->name, name))
			return &t->m.functions[i];
	ck_abort_msg("no function %s", name);
	return NULL;
}

/* A storage lives as long as a register has it or a tensor in it: 1000 and 400 are there together, then 400 and 3000;
 * 3000 is freed when the tensor is killed, not when the storage's own register is. */
START_TEST(lives_as_long_as_references)
{
	static struct words w;

	begin(&w);
	made_function(&w.m, "main", 0, 8);
	storage(&w, 0, 1000);
	tensor(&w, 1, 0, 250);
	kill(&w, 0);
	CALL(&w.m, VOID, w.kernel, REG(1));
	storage(&w, 2, 400);
	tensor(&w, 3, 2, 100);
	CALL(&w.m, VOID, w.other, REG(1), REG(3));
	kill(&w, 1);
	storage(&w, 4, 3000);
	tensor(&w, 5, 4, 750);
	kill(&w, 4);
	CALL(&w.m, VOID, w.kernel, REG(3), REG(5));
	kill(&w, 5);
	CALL(&w.m, VOID, w.other, REG(3));
	RET(&w.m, REG(3));
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);
	const struct mpk_function_memory *f = function(&t, "main");
	static const uint64_t steps[] = { 1000, 1400, 3400, 400 };

	ck_assert_uint_eq(f->step_count, MPK_ARRAY_COUNT(steps));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(steps); i++)
		ck_assert_uint_eq(f->steps[i].bytes, steps[i]);
	ck_assert_uint_eq(f->peak_bytes, 3400);
	ck_assert_uint_eq(f->peak_step, 2);
	ck_assert_uint_eq(f->peak_of[MPK_MEMORY_SCRATCH], 3000);
	ck_assert_uint_eq(f->result_bytes, 400);
	ck_assert_uint_eq(f->total_bytes, 4400);
	ck_assert_uint_eq(f->unknown, 0);
	ck_assert_uint_eq(f->storages[0].first, 0);
	ck_assert_uint_eq(f->storages[0].end, 2);
	ck_assert_uint_eq(f->storages[2].first, 2);
	ck_assert_uint_eq(f->storages[2].end, 3);
	ck_assert_int_eq(f->storages[1].kind, MPK_MEMORY_RESULT);
	ck_assert_uint_eq(t.m.need_bytes, 3400);
}
END_TEST

/* A tuple holds what is in it, and a value that is taken out again holds that too. */
START_TEST(tuples_hold)
{
	static struct words w;

	begin(&w);
	made_function(&w.m, "main", 0, 8);
	storage(&w, 0, 64);
	tensor(&w, 1, 0, 16);
	kill(&w, 0);
	CALL(&w.m, REG(2), w.tuple, REG(1), REG(1));
	CALL(&w.m, REG(2), w.tuple, REG(2));
	kill(&w, 1);
	CALL(&w.m, VOID, w.kernel, CONST(w.f32));
	CALL(&w.m, REG(3), w.getitem, REG(2), INT(0));
	kill(&w, 2);
	CALL(&w.m, VOID, w.kernel, CONST(w.f32));
	kill(&w, 3);
	CALL(&w.m, VOID, w.kernel, CONST(w.f32));
	RET(&w.m, VOID);
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);
	const struct mpk_function_memory *f = function(&t, "main");

	ck_assert_uint_eq(f->steps[0].bytes, 64);
	ck_assert_uint_eq(f->steps[1].bytes, 64);
	ck_assert_uint_eq(f->steps[2].bytes, 0);
}
END_TEST

/* main(x[n, 8]): a storage of n * 32 bytes, whose size is in a slot that compiled code computes, and one of n * 2 rows. */
static void begin_dynamic(struct words *w, const char *result)
{
	int64_t param, returned;

	begin(w);
	param = text(w, "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 8), "
			"dtype=\"float32\")) ");
	returned = text(w, result);
	made_function(&w->m, "main", 1, 8);
	CALL(&w->m, REG(1), w->heap, VM, INT(3));
	CALL(&w->m, VOID, w->info, REG(0), INT(2), CONST(w->f32), CONST(param));
	CALL(&w->m, VOID, w->match, REG(0), REG(1), INT(2), INT(1), INT(0), INT(0), INT(8),
	     CONST(param));
	CALL(&w->m, VOID, w->shape_func, REG(1));
	CALL(&w->m, REG(2), w->shape, REG(1), INT(1), INT(1), INT(1));
	CALL(&w->m, REG(3), w->storage, VM, REG(2), INT(0), CONST(w->u8), CONST(w->global));
	CALL(&w->m, REG(2), w->shape, REG(1), INT(2), INT(1), INT(0), INT(0), INT(8));
	CALL(&w->m, REG(4), w->tensor, REG(3), INT(0), REG(2), CONST(w->f32));
	CALL(&w->m, VOID, w->kernel, REG(0), REG(4));
	CALL(&w->m, REG(2), w->shape, REG(1), INT(1), INT(1), INT(2));
	CALL(&w->m, REG(5), w->storage, VM, REG(2), INT(0), CONST(w->u8), CONST(w->global));
	CALL(&w->m, REG(2), w->shape, REG(1), INT(2), INT(1), INT(2), INT(0), INT(8));
	CALL(&w->m, REG(6), w->tensor, REG(5), INT(0), REG(2), CONST(w->f32));
	CALL(&w->m, VOID, w->other, REG(4), REG(6));
	CALL(&w->m, VOID, w->match, REG(6), REG(1), INT(2), INT(3), INT(2), INT(0), INT(8),
	     CONST(returned));
	RET(&w->m, REG(6));
}

/* Texts name the extent of the result by an expression; slot 2 is counted twice here, as size and as rows. */
START_TEST(extents_by_texts)
{
	const struct mpk_extent_value n = { mpk_span_str("n"), 100 };
	const struct mpk_memory_ask ask = { .extents = &n, .extent_count = 1 };
	static struct words w;

	begin_dynamic(&w, "ErrorContext(fn=main, loc=return, annotation=R.Tensor((n * 2, 8), "
			  "dtype=\"float32\")) ");
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, &ask);
	const struct mpk_function_memory *f = function(&t, "main");

	ck_assert_uint_eq(f->input_bytes, 3200);
	ck_assert_uint_eq(f->given_count, 1);
	ck_assert_uint_eq(f->steps[0].bytes, 3200);
	/* slot 2 says 200, which is what its storage has: a compiler has a slot for each */
	ck_assert_uint_eq(f->peak_bytes, 3200 + 200);
	ck_assert_uint_eq(f->unknown, 0);
}
END_TEST

/* Without a text the rows of the result are not known, and who asks is told so. */
START_TEST(unknown_extents)
{
	static struct words w;

	begin_dynamic(&w, "");
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);
	const struct mpk_function_memory *f = function(&t, "main");

	ck_assert_uint_eq(f->extent_count, 1);
	ck_assert_uint_eq(f->given_count, 0);
	ck_assert(mpk_span_is(f->extents[0].name, "n"));
	ck_assert_int_eq(f->extents[0].value, 1);
	ck_assert_uint_eq(f->peak_bytes, 32);
	ck_assert_uint_eq(f->unknown, 1);
	ck_assert_ptr_nonnull(f->why);
	ck_assert(f->storages[1].at_least);
}
END_TEST

static bool doubles(void *arg, struct mpk_span name, int64_t *slots, size_t count)
{
	size_t *calls = arg;

	++*calls;
	ck_assert(mpk_span_is(name, "shape_func"));
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(slots[0], 7);
	slots[1] = slots[0] * 32;
	slots[2] = slots[0] * 2 * 32;
	return true;
}

START_TEST(extents_by_who_computes_them)
{
	size_t calls = 0;
	const struct mpk_extent_value n = { mpk_span_str("n"), 7 };
	const struct mpk_memory_ask ask = {
		.extents = &n, .extent_count = 1, .compute = doubles, .arg = &calls
	};
	static struct words w;

	begin_dynamic(&w, "");
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, &ask);
	const struct mpk_function_memory *f = function(&t, "main");

	ck_assert_uint_eq(calls, 1);
	ck_assert_uint_eq(f->peak_bytes, 7 * 32 + 7 * 64);
	ck_assert_uint_eq(f->unknown, 0);
}
END_TEST

/* The side that takes more is told, whichever it is; a loop ends. */
START_TEST(both_sides_of_a_condition)
{
	static struct words w;

	for (int which = 0; which < 2; which++) {
		begin(&w);
		made_function(&w.m, "main", 1, 4);
		CALL(&w.m, REG(1), w.cond, REG(0));
		IF(&w.m, REG(1), 4);
		storage(&w, 2, which ? 100 : 900);
		CALL(&w.m, VOID, w.kernel, CONST(w.f32));
		GOTO(&w.m, 3);
		storage(&w, 3, which ? 900 : 100);
		CALL(&w.m, VOID, w.other, CONST(w.f32));
		RET(&w.m, VOID);
		MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);
		const struct mpk_function_memory *f = function(&t, "main");

		ck_assert_uint_eq(f->paths, 2);
		ck_assert_uint_eq(f->peak_bytes, 900);
	}
	begin(&w);
	int64_t loop = made_function(&w.m, "loop", 1, 4);

	CALL(&w.m, REG(1), w.cond, REG(0));
	IF(&w.m, REG(1), 3);
	storage(&w, 2, 64);
	CALL(&w.m, REG(3), loop, REG(0));
	RET(&w.m, VOID);
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);

	ck_assert_uint_gt(function(&t, "loop")->paths, 1);
	ck_assert_uint_ge(function(&t, "loop")->peak_bytes, 64);
}
END_TEST

/* What another function allocates counts where it is called; what a machine keeps for a graph stays. */
START_TEST(calls_and_closures)
{
	static struct words w;
	int64_t callee, alloc;

	begin(&w);
	callee = made_function(&w.m, "callee", 1, 4);
	storage(&w, 1, 500);
	tensor(&w, 2, 1, 125);
	CALL(&w.m, VOID, w.kernel, REG(0), REG(2));
	RET(&w.m, REG(2));
	alloc = made_function(&w.m, "alloc", 0, 2);
	storage(&w, 0, 70);
	CALL(&w.m, REG(1), w.tuple, REG(0));
	RET(&w.m, REG(1));
	made_function(&w.m, "main", 1, 6);
	CALL(&w.m, REG(1), callee, REG(0));
	CALL(&w.m, REG(2), w.closure, FUNC(callee), REG(0));
	CALL(&w.m, REG(3), w.invoke, VM, REG(2));
	kill(&w, 1);
	CALL(&w.m, REG(4), w.cached, VM, FUNC(alloc), INT(0));
	kill(&w, 4);
	CALL(&w.m, VOID, w.other, REG(3));
	RET(&w.m, REG(3));
	MPK_CLEANUP(told_fini) struct told t = told_of(&w.m, NULL);
	const struct mpk_function_memory *f = function(&t, "main");

	ck_assert_uint_eq(f->peak_bytes, 1000);
	ck_assert_uint_eq(f->steps[f->step_count - 1].bytes, 570);
	ck_assert_uint_eq(f->result_bytes, 500);
}
END_TEST

/* Numbers that do not fit are refused, and no function makes another one's memory too much to follow. */
START_TEST(refuses)
{
	static struct words w;
	struct mpk_arena arena = { 0 };
	struct mpk_model_memory m;
	struct mpk_error err = { 0 };
	uint8_t *payload;
	struct mpk_span bytes;

	begin(&w);
	made_function(&w.m, "main", 0, 4);
	storage(&w, 0, INT64_MAX);
	storage(&w, 1, INT64_MAX);
	storage(&w, 2, INT64_MAX);
	RET(&w.m, VOID);
	bytes = made_encode(&w.m, &payload);
	ck_assert_int_eq(tell(bytes, NULL, &arena, &m, &err), MPK_E_RANGE);
	free(payload);
	begin(&w);
	made_function(&w.m, "main", 0, 4);
	CALL(&w.m, VOID, w.kernel, CONST(w.f32));
	GOTO(&w.m, -1);
	bytes = made_encode(&w.m, &payload);
	ck_assert_int_eq(tell(bytes, NULL, &arena, &m, &err), MPK_E_RANGE);
	free(payload);
	mpk_arena_fini(&arena);
}
END_TEST

static enum mpk_code read_any(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena arena = { 0 };
	struct mpk_model_memory m;
	enum mpk_code code = tell(bytes, NULL, &arena, &m, err);

	mpk_arena_fini(&arena);
	return code;
}

/* Every prefix and every changed byte of a program with all of the above in it. */
START_TEST(hostile_programs)
{
	static struct words w;
	uint8_t *payload;
	struct mpk_span bytes;

	begin_dynamic(&w, "ErrorContext(fn=main, loc=return, annotation=R.Tensor((n * 2, 8), "
			  "dtype=\"float32\")) ");
	made_function(&w.m, "more", 1, 4);
	CALL(&w.m, REG(1), w.cond, REG(0));
	IF(&w.m, REG(1), 2);
	storage(&w, 2, 64);
	CALL(&w.m, REG(3), w.tuple, REG(2), REG(0));
	CALL(&w.m, REG(3), w.getitem, REG(3), INT(0));
	CALL(&w.m, REG(1), w.device, REG(0), INT(1), INT(0));
	RET(&w.m, REG(3));
	bytes = made_encode(&w.m, &payload);
	robust_damage(read_any, bytes, bytes.len, 1, bytes.len);
	free(payload);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("model_memory");
	TCase *tc = tcase_create("model_memory");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, lives_as_long_as_references);
	tcase_add_test(tc, tuples_hold);
	tcase_add_test(tc, extents_by_texts);
	tcase_add_test(tc, unknown_extents);
	tcase_add_test(tc, extents_by_who_computes_them);
	tcase_add_test(tc, both_sides_of_a_condition);
	tcase_add_test(tc, calls_and_closures);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, hostile_programs);
	suite_add_tcase(s, tc);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
