/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the application that models call, and calls that it stops */
#include <pthread.h>
#include <stdatomic.h>

#include "run_models.h"

/* registered.so calls test.vm.identity(x, out) and negates what is in out, and test.vm.add(x, y), which gives a tensor;
 * registered_compiled.so is the same with exec_mode="compiled". */
static const char *const files[] = { "relax/registered.so", "relax/registered_compiled.so" };

static const float numbers[4] = { 1, -2, 3.5F, 0 };
static const int64_t extents[2] = { 1, 4 };

static atomic_uint calls;

static mpkr_model *open_model(const char *path)
{
	mpkr_model *model;

	ck_ok(mpkr_open(data_path(path), NULL, &model, &err));
	return model;
}

/* --- the functions ---------------------------------------------------------------------------- */

static int identity(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		    struct mpkr_error *why)
{
	struct mpkr_result *from, *to;

	(void)result;
	atomic_fetch_add(&calls, 1);
	ck_assert_uint_eq(call->size, sizeof *call);
	ck_assert_str_eq(call->name, "test.vm.identity");
	ck_assert_uint_eq(call->count, 2);
	if (mpkr_value_tensor(call->args[0], 0, &from, why))
		return why->code;
	if (mpkr_value_tensor(call->args[1], 0, &to, why)) {
		mpkr_free(from);
		return why->code;
	}
	for (int i = 0; i < 4; i++)
		((float *)to->tensor.data)[i] =
			((float *)from->tensor.data)[i] * (context ? *(float *)context : 1);
	mpkr_free(from);
	mpkr_free(to);
	return 0;
}

static int add(void *context, const struct mpkr_invocation *call, mpkr_value **result,
	       struct mpkr_error *why)
{
	struct mpkr_result *a, *b;
	float sums[4];
	int64_t four = 4;
	struct mpkr_tensor t = mpkr_tensor_on_host(sums, MPKR_DTYPE_FLOAT, 32, 1, &four);
	int code;

	(void)context;
	ck_assert_uint_eq(call->count, 2);
	if (mpkr_value_tensor(call->args[0], 0, &a, why))
		return why->code;
	if (mpkr_value_tensor(call->args[1], 0, &b, why)) {
		mpkr_free(a);
		return why->code;
	}
	for (int i = 0; i < 4; i++)
		sums[i] = ((float *)a->tensor.data)[i] + ((float *)b->tensor.data)[i];
	mpkr_free(a);
	mpkr_free(b);
	code = mpkr_value_make(call->model, MPKR_KIND_TENSOR, &t, result, why);
	return code;
}

static int raise_error(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		       struct mpkr_error *why)
{
	(void)call;
	(void)result;
	if (context)
		(void)snprintf(why->text, sizeof why->text, "%s", (const char *)context);
	return context ? MPKR_E_USAGE : MPKR_E_NO_MEMORY;
}

/* Hands its first argument back. */
static int hand_back(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		     struct mpkr_error *why)
{
	(void)context;
	return mpkr_value_hold(call->args[0], result, why);
}

/* --- calls ------------------------------------------------------------------------------------- */

static int call_identity(mpkr_function *f, float *out)
{
	struct mpkr_tensor in = mpkr_tensor_on_host(numbers, MPKR_DTYPE_FLOAT, 32, 2, extents);
	const struct mpkr_tensor *inputs[1] = { &in };
	struct mpkr_result *r;
	size_t count;
	int code = mpkr_call(f, inputs, 1, &r, 1, &count, &err);

	if (code == MPKR_OK) {
		memcpy(out, r->tensor.data, sizeof numbers);
		mpkr_free(r);
	}
	return code;
}

static void check_identity(mpkr_function *f, float factor)
{
	float out[4];

	ck_ok(call_identity(f, out));
	for (int i = 0; i < 4; i++)
		ck_assert_float_eq(out[i], -factor * numbers[i]);
}

static int call_add(mpkr_function *f, float *out)
{
	struct mpkr_tensor in = mpkr_tensor_on_host(numbers, MPKR_DTYPE_FLOAT, 32, 1, &extents[1]);
	const struct mpkr_tensor *inputs[2] = { &in, &in };
	struct mpkr_result *r;
	size_t count;
	int code = mpkr_call(f, inputs, 2, &r, 1, &count, &err);

	if (code == MPKR_OK) {
		memcpy(out, r->tensor.data, sizeof numbers);
		mpkr_free(r);
	}
	return code;
}

/* A function of the model before and after the functions that it calls are registered. */
START_TEST(models_call_the_application)
{
	float three = 3, out[4];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	/* for all models of the process, before this one is open */
	ck_ok(mpkr_register(NULL, "test.vm.add", add, NULL, &err));
	model = open_model(files[_i]);
	ck_ok(mpkr_find(model, "add", &f, &err));
	ck_ok(call_add(f, out));
	for (int i = 0; i < 4; i++)
		ck_assert_float_eq(out[i], 2 * numbers[i]);
	mpkr_drop(f);
	/* for this one alone, after it was read */
	if (_i == 0)
		ck_fails(mpkr_find(model, "identity", &f, &err), MPKR_E_LOAD, "test.vm.identity");
	ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	atomic_store(&calls, 0);
	for (int i = 0; i < 3; i++)
		check_identity(f, 1);
	ck_assert_uint_eq(atomic_load(&calls), 3);
	/* another one in its place, and its context */
	ck_ok(mpkr_register(model, "test.vm.identity", identity, &three, &err));
	check_identity(f, 3);
	/* the model's own goes before that of the process, which is there when it has gone */
	ck_ok(mpkr_register(NULL, "test.vm.identity", identity, NULL, &err));
	check_identity(f, 3);
	ck_ok(mpkr_register(model, "test.vm.identity", NULL, NULL, &err));
	check_identity(f, 1);
	ck_ok(mpkr_register(NULL, "test.vm.identity", NULL, NULL, &err));
	ck_fails(call_identity(f, out), MPKR_E_LOAD, "has taken 'test.vm.identity' away");
	ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
	check_identity(f, 1);
	mpkr_drop(f);
	mpkr_close(model);
	ck_ok(mpkr_register(NULL, "test.vm.add", NULL, NULL, &err));
}
END_TEST

START_TEST(what_the_application_raises)
{
	struct mpkr_failure at = { .size = sizeof at };
	float out[4];
	char raised[] = "ValueError: no more rows";
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.identity", raise_error, raised, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_E_NOT_FOUND);
	/* before a plan was made, and when it is replayed */
	for (int i = 0; i < 4; i++) {
		ck_ok(mpkr_register(model, "test.vm.identity", raise_error, raised, &err));
		ck_fails(call_identity(f, out), MPKR_E_RAISED, "ValueError: no more rows");
		ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_OK);
		ck_assert_str_eq(at.name, "test.vm.identity");
		ck_assert_str_eq(at.function, "identity");
		ck_assert_msg(i || _i || at.instruction >= 0, "%lld", (long long)at.instruction);
		ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
		check_identity(f, 1);
		ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_E_NOT_FOUND);
	}
	ck_ok(mpkr_register(model, "test.vm.identity", raise_error, NULL, &err));
	ck_fails(call_identity(f, out), MPKR_E_NO_MEMORY, "test.vm.identity");
	ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
	check_identity(f, 1);
	at.size = 0;
	ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_E_USAGE);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* What a call is given may become what it gives, and outlives the call. */
START_TEST(arguments_are_handed_back)
{
	float out[4];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.add", hand_back, NULL, &err));
	ck_ok(mpkr_find(model, "add", &f, &err));
	ck_ok(call_add(f, out));
	ck_assert_int_eq(memcmp(out, numbers, sizeof out), 0);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(names_are_checked)
{
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_model(files[0]);
	ck_fails(mpkr_register(model, "", identity, NULL, &err), MPKR_E_USAGE, "without a name");
	ck_fails(mpkr_register(model, NULL, identity, NULL, &err), MPKR_E_USAGE, "without a name");
	ck_fails(mpkr_register(model, "vm.builtin.reshape", identity, NULL, &err), MPKR_E_USAGE,
		 "'vm.builtin.reshape' is a function of the library itself");
	ck_fails(mpkr_register(model, "my.own", NULL, NULL, &err), MPKR_E_NOT_FOUND, "my.own");
	/* the application finds its own functions by name, too */
	ck_ok(mpkr_register(model, "test.vm.add", add, NULL, &err));
	ck_ok(mpkr_find(model, "test.vm.add", &f, &err));
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- calls from within ------------------------------------------------------------------------ */

struct within {
	mpkr_function *outer, *inner;
	int refused, made, called;
	float out[4];
};

/* The session that is calling is taken; one of its own is not. */
static int call_again(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		      struct mpkr_error *why)
{
	struct within *w = context;
	float out[4];

	(void)call;
	(void)result;
	(void)why;
	w->refused = call_add(w->outer, out);
	w->made = mpkr_session(w->outer, &w->inner, &err);
	if (!w->made)
		w->called = call_add(w->inner, w->out);
	return 0;
}

START_TEST(the_application_calls_models)
{
	mpkr_model *model;
	mpkr_function *f;
	struct within w = { 0 };
	float out[4];

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.identity", call_again, &w, &err));
	ck_ok(mpkr_register(model, "test.vm.add", add, NULL, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	ck_ok(mpkr_find(model, "add", &w.outer, &err));
	ck_ok(call_identity(f, out));
	ck_assert_int_eq(w.refused, MPKR_E_USAGE);
	ck_assert_int_eq(w.made, MPKR_OK);
	ck_assert_int_eq(w.called, MPKR_OK);
	ck_assert_float_eq(w.out[1], 2 * numbers[1]);
	mpkr_drop(w.inner);
	mpkr_drop(w.outer);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- a plug-in that goes -------------------------------------------------------------------------- */

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_inside, may_leave, has_left;
};

static int wait_inside(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		       struct mpkr_error *why)
{
	struct gate *g = context;
	int code;

	(void)pthread_mutex_lock(&g->lock);
	g->is_inside = true;
	(void)pthread_cond_broadcast(&g->changed);
	while (!g->may_leave)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	(void)pthread_mutex_unlock(&g->lock);
	code = identity(NULL, call, result, why);
	(void)pthread_mutex_lock(&g->lock);
	g->has_left = true;
	(void)pthread_mutex_unlock(&g->lock);
	return code;
}

static void *call_in_thread(void *data)
{
	float out[4];

	return (void *)(intptr_t)call_identity(data, out);
}

static void *open_gate(void *data)
{
	struct gate *g = data;
	const struct timespec moment = { .tv_nsec = 20000000 };

	(void)nanosleep(&moment, NULL);
	(void)pthread_mutex_lock(&g->lock);
	g->may_leave = true;
	(void)pthread_cond_broadcast(&g->changed);
	(void)pthread_mutex_unlock(&g->lock);
	return NULL;
}

static void wait_until_inside(struct gate *g)
{
	(void)pthread_mutex_lock(&g->lock);
	while (!g->is_inside)
		(void)pthread_cond_wait(&g->changed, &g->lock);
	(void)pthread_mutex_unlock(&g->lock);
}

START_TEST(nobody_is_in_a_function_that_was_taken_away)
{
	struct gate g = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	mpkr_model *model;
	mpkr_function *f;
	pthread_t caller, opener;
	void *code;

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.identity", wait_inside, &g, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	ck_assert_int_eq(pthread_create(&caller, NULL, call_in_thread, f), 0);
	wait_until_inside(&g);
	ck_assert_int_eq(pthread_create(&opener, NULL, open_gate, &g), 0);
	ck_ok(mpkr_register(model, "test.vm.identity", NULL, NULL, &err));
	(void)pthread_mutex_lock(&g.lock);
	ck_assert(g.has_left);
	(void)pthread_mutex_unlock(&g.lock);
	ck_assert_int_eq(pthread_join(caller, &code), 0);
	ck_assert_int_eq(pthread_join(opener, NULL), 0);
	ck_assert_int_eq((int)(intptr_t)code, MPKR_OK);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- stopped ---------------------------------------------------------------------------------------- */

/* Stops the call that it is called from, as another thread would. */
static int stop_caller(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		       struct mpkr_error *why)
{
	mpkr_stop(*(mpkr_function **)context);
	return identity(NULL, call, result, why);
}

START_TEST(calls_are_stopped)
{
	mpkr_model *model;
	mpkr_function *f, *own;
	float out[4];

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	ck_ok(mpkr_session(f, &own, &err));
	/* before it begins, and as long as nothing else is said */
	mpkr_stop(f);
	for (int i = 0; i < 2; i++)
		ck_fails(call_identity(f, out), MPKR_E_STOPPED, "the call was stopped");
	/* another session is none of it */
	check_identity(own, 1);
	mpkr_resume(f);
	for (int i = 0; i < 3; i++) {
		check_identity(f, 1);
		/* between the instruction that calls the function and the next, also in a call that repeats another */
		ck_ok(mpkr_register(model, "test.vm.identity", stop_caller, &f, &err));
		ck_fails(call_identity(f, out), MPKR_E_STOPPED, "the call was stopped");
		ck_ok(mpkr_register(model, "test.vm.identity", identity, NULL, &err));
		mpkr_resume(f);
	}
	check_identity(f, 1);
	mpkr_stop_after(f, 0);
	ck_fails(call_identity(f, out), MPKR_E_STOPPED, "at its deadline");
	mpkr_stop_after(f, INT64_MAX);
	check_identity(f, 1);
	mpkr_stop_after(f, -5);
	ck_fails(call_identity(f, out), MPKR_E_STOPPED, "at its deadline");
	mpkr_resume(f);
	check_identity(f, 1);
	mpkr_stop(NULL);
	mpkr_stop_after(NULL, 1);
	mpkr_resume(NULL);
	mpkr_drop(own);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* Every kind of executor looks. */
START_TEST(every_executor_is_stopped)
{
	const struct model *m = &models[_i];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_model(m->path);
	f = find_or_skip(m, model);
	if (f) {
		struct mpkr_result *results[3];
		struct array arrays[3];
		const struct mpkr_tensor *in[3];
		size_t n = count_names(m->in), count;

		for (size_t i = 0; i < n; i++) {
			array_load(&arrays[i], m->in[i], true);
			in[i] = &arrays[i].tensor;
		}
		for (int i = 0; i < 2; i++) {
			call_model(m, f, true);
			mpkr_stop(f);
			ck_fails(mpkr_call(f, in, n, results, 3, &count, &err), MPKR_E_STOPPED,
				 "stopped");
			mpkr_resume(f);
		}
		call_model(m, f, true);
		for (size_t i = 0; i < n; i++)
			array_free(&arrays[i]);
	}
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- watched ---------------------------------------------------------------------------------------- */

struct seen {
	unsigned begun, ended, kernels;
	int64_t last;
	unsigned until; /* begins; 0: all */
	bool has_gelu;
	uint64_t loaded;
};

static int watch(void *context, const struct mpkr_event *event)
{
	struct seen *s = context;

	ck_assert_uint_eq(event->size, sizeof *event);
	ck_assert_int_eq(event->device.device_type, MPKR_DEVICE_CPU);
	ck_assert_int_ge(event->nanoseconds, s->last);
	ck_assert_str_eq(event->function, "forward");
	s->last = event->nanoseconds;
	if (event->is_end) {
		s->ended++;
		return 0;
	}
	s->begun++;
	s->kernels += event->kind == MPKR_OPERATOR_KERNEL;
	s->has_gelu |= strstr(event->name, "gelu") != NULL;
	return s->until && s->begun == s->until;
}

static void hear(void *context, uint64_t bytes)
{
	((struct seen *)context)->loaded += bytes;
}

START_TEST(operators_are_watched)
{
	const struct model *m = &models[0];
	struct seen s = { 0 };
	struct mpkr_options options = { .size = sizeof options,
					.loaded = hear,
					.loaded_context = &s };
	struct mpkr_result *r;
	struct array x;
	const struct mpkr_tensor *in[1] = { &x.tensor };
	mpkr_model *model;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	call_model(m, f, true);
	mpkr_watch(model, watch, &s);
	call_model(m, f, true);
	ck_assert_uint_ge(s.kernels, 3);
	ck_assert_uint_eq(s.begun, s.ended);
	ck_assert(s.has_gelu);
	ck_assert_uint_gt(s.loaded, 0);
	/* the watcher ends a call, and the next one is whole */
	s.until = s.begun + 4;
	array_load(&x, m->in[0], true);
	ck_fails(mpkr_call(f, in, 1, &r, 1, &count, &err), MPKR_E_STOPPED, "the watcher ended");
	array_free(&x);
	s.until = 0;
	call_model(m, f, true);
	mpkr_watch(model, NULL, NULL);
	s.begun = 0;
	call_model(m, f, true);
	ck_assert_uint_eq(s.begun, 0);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

static int count_operators(void *context, const struct mpkr_event *event)
{
	struct seen *s = context;

	if (event->is_end)
		s->ended++;
	else
		s->begun++;
	return MPKR_WATCH_GO_ON;
}

/* In models of each executor: every operator with its calls, the longest first. */
START_TEST(operators_are_measured)
{
	const struct model *m = &models[_i];
	struct mpkr_profile_row row = { .size = sizeof row };
	struct seen s = { 0 };
	int64_t before = INT64_MAX;
	double share = 0;
	uint64_t measured = 0;
	mpkr_model *model;
	mpkr_function *f;
	size_t rows = 0;

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("the device is another test's");
	ck_ok(mpkr_open(data_path(m->path), NULL, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	ck_fails(mpkr_profile_at(model, 0, &row, &err), MPKR_E_NOT_FOUND, "no row 0");
	mpkr_watch(model, count_operators, &s);
	mpkr_profile(model, 1);
	for (int i = 0; i < 5; i++)
		call_model(m, f, true);
	mpkr_profile(model, 0);
	ck_assert_uint_eq(s.begun, s.ended);
	mpkr_watch(model, NULL, NULL);
	call_model(m, f, true);
	for (; mpkr_profile_at(model, rows, &row, &err) == MPKR_OK; rows++) {
		ck_assert_int_le(row.total_nanoseconds, before);
		ck_assert_int_le(row.min_nanoseconds, row.max_nanoseconds);
		ck_assert_int_le(row.max_nanoseconds, row.total_nanoseconds);
		ck_assert_uint_eq(row.calls % 5, 0);
		ck_assert_int_eq(row.device.device_type, MPKR_DEVICE_CPU);
		ck_assert_uint_gt(strlen(row.name), 0);
		before = row.total_nanoseconds;
		share += row.share;
		measured += row.calls;
	}
	ck_assert_uint_gt(rows, 0);
	ck_assert_uint_eq(measured, s.begun);
	ck_assert_double_eq_tol(share, 1, 1e-9);
	mpkr_profile(model, 1);
	ck_fails(mpkr_profile_at(model, 0, &row, &err), MPKR_E_NOT_FOUND, "no row 0");
	row.size = 0;
	ck_fails(mpkr_profile_at(model, 0, &row, &err), MPKR_E_USAGE, "size");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

static mpkr_value *kept_argument;

static int keep_argument(void *context, const struct mpkr_invocation *call, mpkr_value **result,
			 struct mpkr_error *why)
{
	(void)context;
	(void)result;
	return mpkr_value_hold(call->args[0], &kept_argument, why);
}

/* What is held of an argument stays as it is when the caller's memory, which the call was given, changes. */
START_TEST(held_arguments_are_copies)
{
	_Alignas(64) float given[4];
	struct mpkr_tensor in = mpkr_tensor_on_host(given, MPKR_DTYPE_FLOAT, 32, 2, extents);
	const struct mpkr_tensor *inputs[1] = { &in };
	struct mpkr_result *r, *kept;
	mpkr_model *model;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	model = open_model(files[_i]);
	ck_ok(mpkr_register(model, "test.vm.identity", keep_argument, NULL, &err));
	ck_ok(mpkr_find(model, "identity", &f, &err));
	for (int k = 0; k < 3; k++) {
		memcpy(given, numbers, sizeof given);
		ck_ok(mpkr_call(f, inputs, 1, &r, 1, &count, &err));
		mpkr_free(r);
		memset(given, 0, sizeof given);
		ck_ok(mpkr_value_tensor(kept_argument, 0, &kept, &err));
		ck_assert_mem_eq(kept->tensor.data, numbers, sizeof given);
		mpkr_free(kept);
		mpkr_value_drop(kept_argument);
	}
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* Leaves kernels out, and keeps what the first of them was called with. */
struct skipped {
	unsigned begun, ended;
	mpkr_value *kept;
};

static int skip(void *context, const struct mpkr_event *event)
{
	struct skipped *s = context;

	if (event->kind != MPKR_OPERATOR_KERNEL)
		return MPKR_WATCH_GO_ON;
	s->begun += !event->is_end;
	s->ended += event->is_end != 0;
	ck_assert_uint_ge(event->count, 2);
	if (!s->kept)
		ck_ok(mpkr_value_hold(event->args[0], &s->kept, &err));
	return MPKR_WATCH_SKIP;
}

START_TEST(kernels_are_left_out)
{
	const struct model *m = &models[0];
	struct skipped s = { 0 };
	struct mpkr_result *r, *kept;
	struct array x;
	const struct mpkr_tensor *in[1] = { &x.tensor };
	mpkr_model *model;
	mpkr_function *f;
	size_t count;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path(m->path), NULL, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	mpkr_watch(model, skip, &s);
	array_load(&x, m->in[0], true);
	ck_ok(mpkr_call(f, in, 1, &r, 1, &count, &err));
	ck_assert_uint_ge(s.begun, 3);
	ck_assert_uint_eq(s.ended, 0);
	mpkr_free(r);
	mpkr_watch(model, NULL, NULL);
	call_model(m, f, true);
	/* it is a copy, and stays what it was */
	ck_ok(mpkr_value_tensor(s.kept, MPKR_DEVICE_CPU, &kept, &err));
	ck_assert_ptr_ne(kept->tensor.data, x.tensor.data);
	ck_assert_mem_eq(kept->tensor.data, x.tensor.data, 16);
	mpkr_free(kept);
	mpkr_value_drop(s.kept);
	array_free(&x);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* --- functions as values, and what models print ------------------------------------------------------ */

static unsigned released;

static void release(void *context)
{
	(void)context;
	released++;
}

/* Counts its arguments, and keeps the first one of the last call. */
static mpkr_value *lent;

static int count_arguments(void *context, const struct mpkr_invocation *call, mpkr_value **result,
			   struct mpkr_error *why)
{
	int64_t n = (int64_t)call->count + *(int *)context;
	struct mpkr_tensor t = mpkr_tensor_on_host(&n, MPKR_DTYPE_INT, 64, 0, NULL);

	ck_assert_str_eq(call->name, "count");
	mpkr_value_drop(lent);
	lent = NULL;
	if (call->count && mpkr_value_hold(call->args[0], &lent, why))
		return why->code;
	return mpkr_value_make(call->model, MPKR_KIND_NUMBER, &t, result, why);
}

static int64_t number_of(const mpkr_value *v)
{
	struct mpkr_result *r;
	int64_t n;

	ck_assert_int_eq(mpkr_value_kind(v), MPKR_KIND_NUMBER);
	ck_ok(mpkr_value_tensor(v, MPKR_DEVICE_CPU, &r, &err));
	n = *(int64_t *)r->tensor.data;
	mpkr_free(r);
	return n;
}

START_TEST(functions_are_values)
{
	float data[4] = { 1, 2, 3, 4 };
	int64_t four = 4;
	struct mpkr_tensor t = mpkr_tensor_on_host(data, MPKR_DTYPE_FLOAT, 32, 1, &four);
	struct mpkr_arg args[3] = { { 0 } };
	mpkr_value *function, *tuple, *out, *item;
	mpkr_function *invoke, *forward;
	struct mpkr_result *r;
	mpkr_model *model;
	int ten = 10;

	NEED_FIXTURES;
	model = open_model("relax/gelu.so");
	released = 0;
	ck_ok(mpkr_find(model, "vm.builtin.invoke_closure", &invoke, &err));
	ck_ok(mpkr_value_callback(model, "count", count_arguments, &ten, release, &function, &err));
	ck_assert_int_eq(mpkr_value_kind(function), MPKR_KIND_OBJECT);
	args[0].value = function;
	ck_ok(mpkr_call_value(invoke, args, 1, &out, &err));
	ck_assert_int_eq(number_of(out), 10);
	mpkr_value_drop(out);
	/* what is lent in a tuple is copied, too */
	args[1].tensor = &t;
	ck_ok(mpkr_value_tuple(model, &args[1], 1, &tuple, &err));
	args[1] = (struct mpkr_arg){ .value = tuple };
	ck_ok(mpkr_call_value(invoke, args, 3, &out, &err));
	ck_assert_int_eq(number_of(out), 12);
	mpkr_value_drop(out);
	ck_ok(mpkr_value_item(tuple, 0, &item, &err));
	ck_ok(mpkr_value_tensor(item, MPKR_DEVICE_CPU, &r, &err));
	((float *)r->tensor.data)[0] = 7;
	mpkr_free(r);
	mpkr_value_drop(item);
	ck_ok(mpkr_value_item(lent, 0, &item, &err));
	ck_ok(mpkr_value_tensor(item, MPKR_DEVICE_CPU, &r, &err));
	ck_assert_mem_eq(r->tensor.data, data, sizeof data);
	mpkr_free(r);
	mpkr_value_drop(item);
	mpkr_value_drop(lent);
	lent = NULL;
	mpkr_value_drop(tuple);
	ck_assert_uint_eq(released, 0);
	mpkr_value_drop(function);
	ck_assert_uint_eq(released, 1);
	/* one of the model */
	ck_ok(mpkr_find(model, "forward", &forward, &err));
	ck_ok(mpkr_value_function(forward, &function, &err));
	mpkr_drop(forward);
	args[0].value = function;
	ck_fails(mpkr_call_value(invoke, args, 1, &out, &err), MPKR_E_USAGE, "is missing");
	mpkr_value_drop(function);
	ck_fails(mpkr_value_callback(model, "x", NULL, NULL, release, &out, &err), MPKR_E_USAGE,
		 "NULL");
	ck_fails(mpkr_value_function(NULL, &out, &err), MPKR_E_USAGE, "NULL");
	ck_assert_uint_eq(released, 1);
	mpkr_drop(invoke);
	mpkr_close(model);
}
END_TEST

static void note(void *context, const char *text)
{
	(void)snprintf(context, 200, "%s", text);
}

/* @format  and two values: a tensor of 2 by 2, a tuple of a number and a text */
static int print(mpkr_model *model, const char *format, size_t count)
{
	float data[4] = { 1, 2.5F, -3, 0 };
	int64_t two[2] = { 2, 2 }, seven = 7, length = (int64_t)strlen(format), three = 3;
	struct mpkr_tensor t = mpkr_tensor_on_host(data, MPKR_DTYPE_FLOAT, 32, 2, two);
	struct mpkr_tensor n = mpkr_tensor_on_host(&seven, MPKR_DTYPE_INT, 64, 0, NULL);
	struct mpkr_tensor f = mpkr_tensor_on_host(format, MPKR_DTYPE_UINT, 8, 1, &length);
	struct mpkr_tensor a = mpkr_tensor_on_host("abc", MPKR_DTYPE_UINT, 8, 1, &three);
	struct mpkr_arg args[3] = { { 0 } }, items[2] = { { 0 } };
	mpkr_value *out;
	mpkr_function *function;
	int code;

	ck_ok(mpkr_value_make(model, MPKR_KIND_TEXT, &f, &args[0].value, &err));
	args[1].tensor = &t;
	ck_ok(mpkr_value_make(model, MPKR_KIND_NUMBER, &n, &items[0].value, &err));
	ck_ok(mpkr_value_make(model, MPKR_KIND_TEXT, &a, &items[1].value, &err));
	ck_ok(mpkr_value_tuple(model, items, 2, &args[2].value, &err));
	ck_ok(mpkr_find(model, "relax.run.print", &function, &err));
	code = mpkr_call_value(function, args, count, &out, &err);
	if (code == MPKR_OK)
		mpkr_value_drop(out);
	mpkr_drop(function);
	for (int i = 0; i < 2; i++)
		mpkr_value_drop(items[i].value);
	mpkr_value_drop(args[0].value);
	mpkr_value_drop(args[2].value);
	return code;
}

START_TEST(what_is_printed_is_heard)
{
	static const struct {
		const char *format, *text;
	} said[] = {
		{ "", "[[1. 2.5] [-3. 0.]] (7, abc)" },
		{ "{} then {}", "[[1. 2.5] [-3. 0.]] then (7, abc)" },
		{ "{1}, {{{0}}}", "(7, abc), {[[1. 2.5] [-3. 0.]]}" },
		{ "no value", "no value" },
		{ "{1:>8}", "(7, abc)" },
	};
	char text[200] = "";
	struct mpkr_options options = { .size = sizeof options, .log = note, .log_context = text };
	mpkr_model *model;

	NEED_FIXTURES;
	ck_ok(mpkr_open(data_path("relax/gelu.so"), &options, &model, &err));
	for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
		ck_ok(print(model, said[i].format, 3));
		ck_assert_str_eq(text, said[i].text);
	}
	ck_fails(print(model, "{2}", 3), MPKR_E_RAISED, "IndexError");
	ck_fails(print(model, "{", 3), MPKR_E_RAISED, "single brace");
	ck_fails(print(model, "a } b", 3), MPKR_E_RAISED, "single brace");
	ck_fails(print(model, "{} {}", 2), MPKR_E_RAISED, "IndexError");
	ck_assert_str_eq(text, said[4].text);
	mpkr_close(model);
	/* nobody asks for it */
	model = open_model("relax/gelu.so");
	ck_ok(print(model, "{2}", 3));
	mpkr_close(model);
}
END_TEST

START_TEST(what_functions_are)
{
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	model = open_model("relax/gelu_dyn.so");
	ck_assert_str_eq(mpkr_function_name(model, 0), "forward");
	ck_assert_int_eq(mpkr_function_is_model(model, 0), 1);
	ck_assert_uint_gt(mpkr_function_count(model), 1);
	ck_assert_int_eq(mpkr_function_is_model(model, 1), 0);
	ck_assert_int_eq(mpkr_function_is_model(model, 1000), 0);
	ck_ok(mpkr_find(model, "forward", &f, &err));
	ck_assert_str_eq(mpkr_extent_name(f, 0, 0, 0), mpkr_extent_name(f, 1, 0, 0));
	ck_assert_ptr_null(mpkr_extent_name(f, 0, 0, 1));
	ck_assert_ptr_null(mpkr_extent_name(f, 0, 0, 2));
	ck_assert_ptr_null(mpkr_extent_name(f, 0, 1, 0));
	ck_assert_int_eq(mpkr_place(f, 0).device_type, MPKR_DEVICE_CPU);
	mpkr_drop(f);
	mpkr_close(model);
	/* extents of one name that are two have two names */
	model = open_model("relax/same_extents.so");
	ck_ok(mpkr_find(model, "main", &f, &err));
	ck_assert_str_eq(mpkr_extent_name(f, 0, 0, 0), "n");
	ck_assert_str_eq(mpkr_extent_name(f, 0, 1, 0), "n_1");
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

/* Ends the call at the second kernel. */
struct ended {
	int kernels;
	char before[256], name[256];
};

static int end_at_second(void *context, const struct mpkr_event *e)
{
	struct ended *s = context;

	if (e->is_end || e->kind != MPKR_OPERATOR_KERNEL)
		return MPKR_WATCH_GO_ON;
	(void)snprintf(s->kernels ? s->name : s->before, sizeof s->name, "%s", e->name);
	return ++s->kernels == 2 ? MPKR_WATCH_STOP : MPKR_WATCH_GO_ON;
}

/* Each executor says in which operator a call failed, and which one came before. */
START_TEST(every_executor_says_where_it_failed)
{
	const struct model *m = &models[_i];
	struct mpkr_failure at = { .size = sizeof at };
	const struct mpkr_tensor *in[3];
	struct mpkr_result *results[3];
	struct ended s = { 0 };
	struct array arrays[3];
	mpkr_model *model;
	mpkr_function *f;
	size_t n = count_names(m->in), count;

	NEED_FIXTURES;
	if (m->on_device)
		SKIP_TEST("the device is another test's");
	ck_ok(mpkr_open(data_path(m->path), NULL, &model, &err));
	ck_ok(mpkr_find(model, m->function, &f, &err));
	for (size_t i = 0; i < n; i++) {
		array_load(&arrays[i], m->in[i], true);
		in[i] = &arrays[i].tensor;
	}
	mpkr_watch(model, end_at_second, &s);
	err.code = mpkr_call(f, in, n, results, 3, &count, &err);
	for (size_t i = 0; !err.code && i < count; i++)
		mpkr_free(results[i]);
	/* of code that was compiled ahead of time all is one kernel */
	ck_assert_int_eq(err.code, strstr(m->path, "_aot") ? MPKR_OK : MPKR_E_STOPPED);
	if (err.code) {
		ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_OK);
		ck_assert_str_eq(at.name, s.name);
		ck_assert_str_eq(at.before, s.before);
		ck_assert_int_ge(at.instruction, 1);
	}
	mpkr_watch(model, NULL, NULL);
	call_model(m, f, true);
	ck_assert_int_eq(mpkr_failed_at(f, &at), MPKR_E_NOT_FOUND);
	for (size_t i = 0; i < n; i++)
		array_free(&arrays[i]);
	mpkr_drop(f);
	mpkr_close(model);
}
END_TEST

START_TEST(options_that_no_driver_mends)
{
	struct mpkr_options options = { .size = sizeof options, .device = { MPKR_DEVICE_CPU, 3 } };
	const struct model *m = &models[0];
	mpkr_model *model;
	mpkr_function *f;

	NEED_FIXTURES;
	ck_fails(mpkr_open(data_path(m->path), &options, &model, &err), MPKR_E_DEVICE,
		 "there is one CPU, 0, and no CPU 3");
	options.device = (struct mpkr_device){ 0 };
	options.flags = 4;
	ck_fails(mpkr_open(data_path(m->path), &options, &model, &err), MPKR_E_USAGE, "0x4");
	/* opened by its path, and once more while that is open */
	options.flags = MPKR_BY_PATH;
	for (int i = 0; i < 2; i++) {
		mpkr_model *again = NULL;

		ck_ok(mpkr_open(data_path(m->path), &options, &model, &err));
		ck_ok(mpkr_find(model, m->function, &f, &err));
		if (i)
			ck_ok(mpkr_open(data_path(m->path), &options, &again, &err));
		call_model(m, f, true);
		mpkr_drop(f);
		mpkr_close(again);
		mpkr_close(model);
	}
}
END_TEST

int main(void)
{
	const int both = (int)MPK_ARRAY_COUNT(files);
	Suite *s = suite_create("functions of the application");
	TCase *tc = tcase_create("application");

	tcase_add_loop_test(tc, models_call_the_application, 0, both);
	tcase_add_loop_test(tc, what_the_application_raises, 0, both);
	tcase_add_loop_test(tc, arguments_are_handed_back, 0, both);
	tcase_add_test(tc, names_are_checked);
	tcase_add_loop_test(tc, the_application_calls_models, 0, both);
	tcase_add_loop_test(tc, nobody_is_in_a_function_that_was_taken_away, 0, both);
	tcase_add_loop_test(tc, calls_are_stopped, 0, both);
	tcase_add_loop_test(tc, operators_are_measured, 0, (int)MPK_ARRAY_COUNT(models));
	tcase_add_loop_test(tc, held_arguments_are_copies, 0, 2);
	tcase_add_test(tc, operators_are_watched);
	tcase_add_test(tc, kernels_are_left_out);
	tcase_add_test(tc, functions_are_values);
	tcase_add_test(tc, what_is_printed_is_heard);
	tcase_add_test(tc, what_functions_are);
	tcase_add_loop_test(tc, every_executor_says_where_it_failed, 0,
			    (int)MPK_ARRAY_COUNT(models));
	tcase_add_test(tc, options_that_no_driver_mends);
	tcase_add_loop_test(tc, every_executor_is_stopped, 0, (int)MPK_ARRAY_COUNT(models));
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
