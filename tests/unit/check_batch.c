/* SPDX-License-Identifier: Apache-2.0 */
/* calls in child processes: what one call does to its process ends with that call */
#include "clock_made.h"
#include "module_made.h"
#include "session/call.h"

enum { CALLS_MAX = 8 };

/* Calls of functions with one integer each. */
struct calls {
	struct module_file file;
	struct mpk_value arg;
	bool is_out;
	struct mpk_call calls[CALLS_MAX];
	struct mpk_batch_item items[CALLS_MAX];
	size_t count;
};

static void calls_open(struct calls *c, const char *module)
{
	memset(c, 0, sizeof *c);
	module_file_open(&c->file, module);
	c->arg = mpk_value_of_int(7);
}

static void add(struct calls *c, const char *function, size_t args, double timeout)
{
	struct mpk_call *call = &c->calls[c->count];

	*call = (struct mpk_call){ .function = function,
				   .args = &c->arg,
				   .is_out = &c->is_out,
				   .arg_count = args,
				   .repeat = 1 };
	c->items[c->count++] = (struct mpk_batch_item){ .call = call, .timeout = timeout };
}

static void run(struct calls *c)
{
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_batch_run(&c->file.options, c->items, c->count, &err), err);
}

static void calls_close(struct calls *c)
{
	for (size_t i = 0; i < c->count; i++)
		mpk_call_result_fini(&c->items[i].result);
	module_file_close(&c->file);
}

static void assert_echo(const struct mpk_batch_item *item)
{
	ck_assert_ok(item->error.code, item->error);
	ck_assert_uint_eq(item->result.count, 1);
	ck_assert_int_eq(item->result.values[0].integer, 7);
	ck_assert_uint_eq(item->result.seconds_count, 1);
}

static const char *const conventions[] = { "ffi", "ffi021", "legacy" };

START_TEST(a_crash_is_a_result)
{
	struct calls c;

	calls_open(&c, conventions[_i]);
	add(&c, "echo", 1, 0);
	add(&c, "crash", 0, 0);
	add(&c, "echo", 1, 0);
	run(&c);
	assert_echo(&c.items[0]);
	ck_assert_int_eq(c.items[1].error.code, MPK_E_RAISED);
	ck_assert(c.items[1].crashed);
	ck_assert_text(c.items[1].error, "SIGSEGV");
	assert_echo(&c.items[2]);
	calls_close(&c);
}
END_TEST

START_TEST(an_error_is_only_an_error)
{
	struct calls c;

	calls_open(&c, "ffi");
	add(&c, "raise_value_error", 0, 0);
	add(&c, "no_such_function", 0, 0);
	add(&c, "echo", 1, 0);
	run(&c);
	ck_assert_int_eq(c.items[0].error.code, MPK_E_RAISED);
	ck_assert(!c.items[0].crashed);
	ck_assert_text(c.items[0].error, "ValueError");
	ck_assert_int_eq(c.items[1].error.code, MPK_E_NOTFOUND);
	assert_echo(&c.items[2]);
	calls_close(&c);
}
END_TEST

static void move_while_it_hangs(void)
{
	struct stat st;

	if (stat("pid", &st) == 0 && st.st_size > 0)
		clock_move(0.1);
}

/* The time belongs to the call, not to the child. It passes while the call hangs. */
START_TEST(a_hanging_call_ends_at_its_time)
{
	char folder[] = "/tmp/mpk-test-XXXXXX";
	struct calls c;

	/* "hang" leaves a file */
	ck_assert(mkdtemp(folder) && chdir(folder) == 0);
	clock_stop();
	made_clock.asked = move_while_it_hangs;
	calls_open(&c, "ffi");
	add(&c, "echo", 1, 0.1);
	add(&c, "hang", 0, 0.2);
	add(&c, "echo", 1, 0);
	run(&c);
	assert_echo(&c.items[0]);
	ck_assert_int_eq(c.items[1].error.code, MPK_E_TIMEOUT);
	ck_assert_double_ge(c.items[1].seconds, 0.2 - 1e-9);
	ck_assert_double_lt(c.items[1].seconds, 20);
	assert_echo(&c.items[2]);
	calls_close(&c);
	ck_assert(unlink("pid") == 0 && rmdir(folder) == 0);
	clock_restore();
}
END_TEST

static struct mpk_child_state last_state;
static int states;

static void watch(void *user, const struct mpk_child_state *state)
{
	ck_assert_ptr_eq(user, &states);
	last_state = *state;
	states++;
}

START_TEST(a_load_can_be_watched)
{
	char folder[] = "/tmp/mpk-test-XXXXXX";
	struct calls c;

	ck_assert(mkdtemp(folder) && chdir(folder) == 0);
	calls_open(&c, "ffi");
	c.file.options.watch = watch;
	c.file.options.watch_user = &states;
	add(&c, "hang", 0, 0.5);
	run(&c);
	ck_assert_int_ge(states, 2);
	ck_assert_int_eq(last_state.phase, MPK_CHILD_CALLING);
	ck_assert_uint_eq(last_state.to_load, c.file.options.image->blob.len);
	ck_assert_uint_eq(last_state.loaded, 0);
	calls_close(&c);
	ck_assert(unlink("pid") == 0 && rmdir(folder) == 0);
}
END_TEST

START_TEST(a_module_that_leaves_has_not_returned)
{
	struct calls c;

	calls_open(&c, "ffi");
	add(&c, "leave", 0, 0);
	add(&c, "echo", 1, 0);
	run(&c);
	ck_assert_int_eq(c.items[0].error.code, MPK_E_RAISED);
	ck_assert_text(c.items[0].error, "ended the process");
	assert_echo(&c.items[1]);
	calls_close(&c);
}
END_TEST

START_TEST(left_out_items_stay_untouched)
{
	struct calls c;

	calls_open(&c, "ffi");
	add(&c, "echo", 1, 0);
	add(&c, "echo", 1, 0);
	c.items[0].call = NULL;
	run(&c);
	ck_assert_int_eq(c.items[0].error.code, MPK_OK);
	ck_assert_uint_eq(c.items[0].result.count, 0);
	assert_echo(&c.items[1]);
	calls_close(&c);
}
END_TEST

/* A library that cannot be loaded fails every call, and one attempt is enough. */
START_TEST(what_cannot_be_loaded_is_not_called)
{
	struct calls c;

	calls_open(&c, "ffi");
	c.file.options.path = "/nonexistent/ffi.so";
	add(&c, "echo", 1, 0);
	add(&c, "crash", 0, 0);
	run(&c);
	for (size_t i = 0; i < c.count; i++)
		ck_assert_int_eq(c.items[i].error.code, MPK_E_IO);
	calls_close(&c);
}
END_TEST

START_TEST(names_are_refused_where_nobody_takes_them)
{
	struct mpk_span name = mpk_span_str("data");
	struct calls c;

	calls_open(&c, "ffi");
	add(&c, "echo", 1, 0);
	c.calls[0].names = &name;
	run(&c);
	ck_assert_int_eq(c.items[0].error.code, MPK_E_USAGE);
	ck_assert_text(c.items[0].error, "'data'");
	calls_close(&c);
}
END_TEST

START_TEST(figures_are_right)
{
	double seconds[100];

	for (int i = 0; i < 100; i++)
		seconds[i] = 100 - i;
	struct mpk_timing t = mpk_timing_of(seconds, 100);

	ck_assert(t.min == 1 && t.median == 50.5 && t.p95 == 95);
	ck_assert(t.mean > 50.49 && t.mean < 50.51);
	seconds[0] = 3;
	t = mpk_timing_of(seconds, 1);
	ck_assert(t.min == 3 && t.median == 3 && t.p95 == 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("batch");
	TCase *tc = tcase_create("batch");
	SRunner *r = srunner_create(s);

	if (!find_modules())
		return 1;
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_crash_is_a_result, 0, 3);
	tcase_add_test(tc, an_error_is_only_an_error);
	tcase_add_test(tc, a_hanging_call_ends_at_its_time);
	tcase_add_test(tc, a_load_can_be_watched);
	tcase_add_test(tc, a_module_that_leaves_has_not_returned);
	tcase_add_test(tc, left_out_items_stay_untouched);
	tcase_add_test(tc, what_cannot_be_loaded_is_not_called);
	tcase_add_test(tc, names_are_refused_where_nobody_takes_them);
	tcase_add_test(tc, figures_are_right);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
