/* SPDX-License-Identifier: Apache-2.0 */
/* What watches models: the order of observers, profiles, traces, dumps and comparisons, on operators that
 * no model made. How executors tell of them: check_observe_relax.c, check_observe_relay.c and
 * tests/cli/minspect/run-dump, run-trace */
#include <fcntl.h>
#include <math.h>

#include "assert_error.h"
#include "clock_made.h"
#include "harness.h"
#include "io/mapping.h"
#include "observe/observe.h"
#include "results/results.h"
#include "value/parse.h"
#include "workdir.h"

static const struct mpk_value none;
static struct mpk_error err;
static struct mpk_devices *devices;

static void setup(void)
{
	workdir_enter();
	ck_assert_ok(mpk_devices_create(NULL, &devices, &err), err);
}

static void teardown(void)
{
	clock_restore();
	mpk_devices_destroy(devices);
	workdir_leave();
}

/* An operator whose operands are values as a user types them; those behind the first reads are results. */
struct made_operator {
	struct mpk_operator op;
	struct mpk_value values[4];
};

static void operator_init(struct made_operator *m, const char *name, size_t reads,
			  const char *const *values, size_t count)
{
	*m = (struct made_operator){ .op = { .kind = MPK_OPERATOR_KERNEL,
					     .name = mpk_span_str(name),
					     .function = mpk_span_str("f"),
					     .index = 7,
					     .to = { MPK_PLACE_REGISTER, 9 } } };
	ck_assert_ok(mpk_operator_init(&m->op, count, &err), err);
	for (size_t i = 0; i < count; i++) {
		ck_assert_ok(mpk_value_parse(values[i], &m->values[i], &err), err);
		m->op.operands[i] = (struct mpk_operand){ .place = { MPK_PLACE_REGISTER, (int)i },
							  .value = m->values[i],
							  .is_result = i >= reads };
	}
}

static void operator_fini(struct made_operator *m)
{
	for (size_t i = 0; i < m->op.count; i++)
		mpk_value_drop(&m->values[i]);
	mpk_operator_fini(&m->op);
}

static enum mpk_code run_operator(struct mpk_observer *o, const char *name, size_t reads,
				  const char *const *values, size_t count)
{
	struct made_operator m;
	enum mpk_code code;

	operator_init(&m, name, reads, values, count);
	code = mpk_operator_begin(o, &m.op, &err);
	if (code == MPK_OK)
		code = mpk_operator_end(o, &m.op, &none, &err);
	operator_fini(&m);
	return code;
}

#define RUN(o, name, reads, ...)                                                                   \
	run_operator(o, name, reads, (const char *const[]){ __VA_ARGS__ },                         \
		     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* --- observers ------------------------------------------------------------------------------ */

struct teller {
	struct mpk_observer base;
	char sign;
	bool fails;
};

static char told[16];

static enum mpk_code tell(struct mpk_observer *self, char what)
{
	struct teller *t = (struct teller *)self;

	(void)snprintf(told + strlen(told), sizeof told - strlen(told), "%c%c", what, t->sign);
	return t->fails ? mpk_fail(&err, MPK_E_RANGE, "enough") : MPK_OK;
}

static enum mpk_code tell_begin(struct mpk_observer *o, const struct mpk_operator *op,
				struct mpk_error *e)
{
	(void)op, (void)e;
	return tell(o, '<');
}

static enum mpk_code tell_end(struct mpk_observer *o, const struct mpk_operator *op,
			      const struct mpk_value *result, struct mpk_error *e)
{
	(void)op, (void)e, (void)result;
	return tell(o, '>');
}

START_TEST(observers_lie_within_each_other)
{
	struct teller b = { { .begin = tell_begin, .end = tell_end, .control = tell_begin },
			    'b',
			    false };
	struct mpk_observer silent = { .next = &b.base };
	struct teller a = { { .next = &silent, .begin = tell_begin, .end = tell_end }, 'a', false };
	struct mpk_operator op = { 0 };

	ck_assert_ok(mpk_operator_begin(&a.base, &op, &err), err);
	ck_assert_ok(mpk_operator_end(&a.base, &op, &none, &err), err);
	ck_assert_str_eq(told, "<a<b>b>a");
	told[0] = '\0';
	ck_assert_ok(mpk_operator_control(&a.base, &op, &err), err);
	ck_assert_str_eq(told, "<b");
	ck_assert_ok(mpk_operator_begin(NULL, &op, &err), err);
	ck_assert_ok(mpk_operator_end(NULL, &op, &none, &err), err);
	/* a failure is the run's */
	a.fails = true;
	told[0] = '\0';
	ck_assert_int_eq(mpk_operator_begin(&a.base, &op, &err), MPK_E_RANGE);
	ck_assert_str_eq(told, "<a");
}
END_TEST

/* --- profiles ------------------------------------------------------------------------------- */

/* outer { inner; inner }, each inner of 3 ms, a millisecond after what was before: the time of the inner ones is
 * theirs alone. */
static void measure(struct mpk_profiler *p)
{
	struct mpk_operator outer = { .kind = MPK_OPERATOR_BUILTIN, .name = mpk_span_str("outer") };
	struct mpk_operator inner = { .name = mpk_span_str("inner") };

	const struct mpk_watch watch = { .profiles = true, .keeps_events = true };

	clock_stop();
	ck_assert_ok(mpk_watcher_profile.init(&p->base, &watch, devices, &err), err);
	ck_assert_ok(mpk_operator_begin(&p->base, &outer, &err), err);
	for (int i = 0; i < 2; i++) {
		clock_move(0.001);
		ck_assert_ok(mpk_operator_begin(&p->base, &inner, &err), err);
		clock_move(0.003);
		ck_assert_ok(mpk_operator_end(&p->base, &inner, &none, &err), err);
	}
	ck_assert_ok(mpk_operator_end(&p->base, &outer, &none, &err), err);
	p->profile.calls = 1;
	p->profile.seconds = 0.1;
}

START_TEST(time_within_is_counted_once)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 }, text = { 0 };
	struct mpk_seen seen = { 0 };
	struct mpk_profile *back;
	struct mpk_profiler p;

	measure(&p);
	ck_assert_ok(p.base.encode(&p.base, &bytes, &err), err);
	ck_assert_ok(mpk_watcher_profile.decode(mpk_span_of(bytes.data, bytes.len), &seen, &err),
		     err);
	back = seen.profile;
	ck_assert_uint_eq(back->row_count, 2);
	ck_assert(mpk_span_is(back->rows[0].name, "inner"));
	ck_assert_int_eq(back->rows[0].kind, MPK_OPERATOR_KERNEL);
	ck_assert_uint_eq(back->rows[0].calls, 2);
	ck_assert_double_eq_tol(back->rows[0].min, 0.003, 1e-9);
	ck_assert_double_eq_tol(back->rows[0].total, 0.006, 1e-9);
	ck_assert_double_eq_tol(back->rows[1].total, 0.002, 1e-9);
	/* events have what is within, in the order of their ends, and their rows are the sorted ones */
	ck_assert_uint_eq(back->event_count, 3);
	ck_assert_uint_eq(back->events[0].row, 0);
	ck_assert_uint_eq(back->events[2].row, 1);
	ck_assert_double_eq(back->events[2].start, 0);
	ck_assert_double_eq_tol(back->events[2].seconds, 0.008, 1e-9);
	ck_assert_double_eq_tol(back->events[1].start, 0.005, 1e-9);
	mpk_answer_profile.text(back, (struct mpk_style){ 0 }, &text);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&text), "of 100 ms in 1 call"));
	mpk_watcher_profile.fini(&seen);
	p.base.fini(&p.base);
}
END_TEST

/* A module may have damaged the process that the bytes come from. */
START_TEST(damaged_profiles_are_refused)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 };
	struct mpk_seen seen = { 0 };
	struct mpk_profiler p;
	struct guarded g;

	measure(&p);
	ck_assert_ok(p.base.encode(&p.base, &bytes, &err), err);
	g = guarded_create(bytes.len);
	for (size_t len = 0; len < bytes.len; len++) {
		struct mpk_span cut = guarded_put(&g, mpk_span_of(bytes.data, len));

		ck_assert_int_eq(mpk_watcher_profile.decode(cut, &seen, &err), MPK_E_CORRUPT);
		mpk_watcher_profile.fini(&seen);
	}
	for (size_t at = 0; at < bytes.len; at++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

		bytes.data[at] = (char)(bytes.data[at] ^ 0x81);
		if (mpk_watcher_profile.decode(guarded_put(&g, mpk_span_of(bytes.data, bytes.len)),
					       &seen, &err) == MPK_OK) {
			mpk_answer_profile.text(seen.profile, (struct mpk_style){ 0 }, &text);
			mpk_profile_events(seen.profile, "x", &text);
		}
		mpk_watcher_profile.fini(&seen);
		bytes.data[at] = (char)(bytes.data[at] ^ 0x81);
	}
	guarded_free(&g);
	p.base.fini(&p.base);
}
END_TEST

/* --- traces --------------------------------------------------------------------------------- */

START_TEST(a_line_an_operator)
{
	struct mpk_mapping map = { .fd = -1 };
	struct made_operator m;
	struct mpk_tracer t;
	int fd = open("trace", O_WRONLY | O_CREAT, 0600);

	ck_assert_ok(mpk_watcher_trace.init(&t.base, &(struct mpk_watch){ .trace_fd = fd }, devices,
					    &err),
		     err);
	ck_assert_ok(RUN(&t.base, "add\n", 2, "2x3xf32", "shape=4,5", "2x3xf16"), err);
	operator_init(&m, "jump", 3,
		      (const char *const[]){ "(4xf32; (i64=3; none))", "5", "str=a\nb" }, 3);
	m.op.operands[1].place = (struct mpk_place){ 0 };
	m.op.operands[2].place = (struct mpk_place){ MPK_PLACE_CONSTANT, 1 };
	m.op.label = mpk_span_str("node");
	m.op.function.len = 0;
	ck_assert_ok(mpk_operator_control(&t.base, &m.op, &err), err);
	ck_assert_ok(mpk_operator_end(&t.base, &m.op, &m.values[0], &err), err);
	operator_fini(&m);
	t.base.fini(&t.base);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_ok(mpk_mapping_open("trace", &map, &err), err);
	ck_assert_msg(mpk_span_is(map.bytes,
				  "f 7: add\\n(%0: 2x3xf32, %1: shape=4,5) -> %2: 2x3xf16\n"
				  "7: node = jump(%0: (4xf32, (3, none)), 5, c1: str=a\\nb)\n"
				  "7: %9 = (4xf32, (3, none))\n"),
		      MPK_SPAN_FMT, MPK_SPAN_ARG(map.bytes));
	mpk_mapping_close(&map);
}
END_TEST

/* --- dumps ---------------------------------------------------------------------------------- */

/* two(a) -> b, c; nothing(a); one -> bool; odd -> a type that NumPy has not */
static void dump_four(struct mpk_observer *o)
{
	ck_assert_ok(RUN(o, "two/x", 1, "2xf32=1,2", "2xf32=3,4", "(3xi64=5,6,7; i64=1)"), err);
	ck_assert_ok(RUN(o, "nothing", 1, "2xf32=1,2"), err);
	ck_assert_ok(RUN(o, "tvmgen_default_one", 0, "2xbool=1,0"), err);
	ck_assert_ok(RUN(o, "odd", 0, "2xfloat8_e4m3fn"), err);
}

static void assert_file(const char *path, const char *want)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf spec = { 0 }, text = { 0 };
	struct mpk_value v;

	mpk_strbuf_printf(&spec, "@%s", path);
	ck_assert_ok(mpk_value_parse(mpk_strbuf_text(&spec), &v, &err), err);
	mpk_value_print(&text, &v, 0);
	ck_assert_str_eq(mpk_strbuf_text(&text), want);
	mpk_value_drop(&v);
}

static void dumper_open(struct mpk_dumper *dumper, const struct mpk_directory *to)
{
	const struct mpk_watch watch = { .dump = to };

	ck_assert_ok(mpk_watcher_dump.init(&dumper->base, &watch, devices, &err), err);
}

static void make_dump(const char *name)
{
	struct mpk_directory d = { 0 };
	struct mpk_dumper dumper;

	ck_assert_ok(mpk_directory_open(name, &d, &err), err);
	dumper_open(&dumper, &d);
	dump_four(&dumper.base);
	ck_assert_ok(mpk_directory_commit(&d, &err), err);
}

START_TEST(results_become_arrays)
{
	make_dump("d");
	assert_file("d/0000-two_x.0.npy", "2xf32=3 4");
	assert_file("d/0000-two_x.1.npy", "3xi64=5 6 7");
	assert_file("d/0001-tvmgen_default_one.npy", "2xbool=true false");
	assert_file("d/0002-odd.npy", "2x1xu8=[[0][0]]");
	run("test $(ls d | wc -l) = 4");
}
END_TEST

START_TEST(only_kernels_compute)
{
	struct mpk_directory d = { 0 };
	struct mpk_dumper dumper;
	struct made_operator m;

	ck_assert_ok(mpk_directory_open("d", &d, &err), err);
	dumper_open(&dumper, &d);
	operator_init(&m, "copy", 0, (const char *const[]){ "2xf32" }, 1);
	for (m.op.kind = MPK_OPERATOR_COPY; m.op.kind <= MPK_OPERATOR_BUILTIN; m.op.kind++)
		ck_assert_ok(mpk_operator_end(&dumper.base, &m.op, &m.values[0], &err), err);
	ck_assert_uint_eq(dumper.count, 0);
	/* what a kernel returns is a result, too */
	m.op.kind = MPK_OPERATOR_KERNEL;
	ck_assert_ok(mpk_operator_end(&dumper.base, &m.op, &m.values[0], &err), err);
	ck_assert_uint_eq(dumper.count, 1);
	operator_fini(&m);
	ck_assert_ok(mpk_directory_commit(&d, &err), err);
	run("ls d >list; printf '0000-copy.0.npy\\n0000-copy.1.npy\\n' | cmp - list");
}
END_TEST

/* The tolerance is that of the type. */
static enum mpk_code comparer_try(struct mpk_comparer *c, const char *dump)
{
	const struct mpk_watch watch = { .compare = dump, .tolerance = { -1, -1 } };

	return mpk_watcher_compare.init(&c->base, &watch, devices, &err);
}

/* A tensor on a device whose rows have gaps, as an image, cannot be read; the address is not looked at. */
START_TEST(what_cannot_be_read_is_left_out)
{
	int64_t extents[] = { 4 }, strides[] = { 2 };
	const struct mpk_dltensor dl = { .data = &strides,
					 .device = { MPK_DL_OPENCL, 0 },
					 .ndim = 1,
					 .dtype = { MPK_DTYPE_FLOAT, 32, 1 },
					 .shape = extents,
					 .strides = strides };
	struct mpk_operator op = { .name = mpk_span_str("one") };
	struct mpk_directory d = { 0 };
	struct mpk_dumper dumper;
	struct mpk_comparer c;
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };

	make_dump("d");
	ck_assert_ok(mpk_tensor_wrap(&dl, NULL, &v.tensor, &err), err);
	ck_assert_ok(mpk_directory_open("e", &d, &err), err);
	dumper_open(&dumper, &d);
	ck_assert_ok(mpk_operator_end(&dumper.base, &op, &v, &err), err);
	ck_assert_uint_eq(dumper.left_out, 1);
	mpk_directory_abandon(&d);
	ck_assert_ok(comparer_try(&c, "d"), err);
	ck_assert_ok(mpk_operator_end(&c.base, &op, &v, &err), err);
	ck_assert_uint_eq(c.done.missing, 1);
	c.base.fini(&c.base);
	mpk_value_drop(&v);
}
END_TEST

/* --- comparisons ---------------------------------------------------------------------------- */

static void comparer_open(struct mpk_comparer *c, const char *dump)
{
	ck_assert_ok(comparer_try(c, dump), err);
}

START_TEST(the_same_is_equal)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 }, text = { 0 };
	struct mpk_comparer c;

	make_dump("d");
	comparer_open(&c, "d");
	dump_four(&c.base);
	ck_assert_ok(c.base.encode(&c.base, &bytes, &err), err);
	ck_assert_uint_eq(c.done.count, 4);
	ck_assert_uint_eq(c.done.differing, 0);
	ck_assert_uint_eq(c.done.missing + c.done.unused, 0);
	mpk_answer_comparisons.text(&c.done, (struct mpk_style){ 0 }, &text);
	mpk_answer_comparisons.line(&c.done, (struct mpk_style){ 0 }, &text);
	ck_assert_uint_eq(text.len, 0);
	c.base.fini(&c.base);
}
END_TEST

/* Found by name, whatever TVM puts in front and whatever else there is. */
START_TEST(the_first_that_differs_is_told)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 }, text = { 0 };
	struct mpk_seen seen = { 0 };
	struct mpk_comparisons *back;
	struct mpk_comparer c;

	make_dump("d");
	comparer_open(&c, "d");
	ck_assert_ok(RUN(&c.base, "new", 0, "2xf32=3,4"), err);
	ck_assert_ok(RUN(&c.base, "vm_mod_one", 0, "2xbool=1,1"), err);
	ck_assert_ok(RUN(&c.base, "two/x", 0, "2xf32=3,5", "3xi64=5,6,7"), err);
	/* each result of the dump is compared once */
	ck_assert_ok(RUN(&c.base, "two/x", 0, "2xf32=3,5", "3xi64=5,6,7"), err);
	ck_assert_ok(c.base.encode(&c.base, &bytes, &err), err);
	c.base.fini(&c.base);
	ck_assert_ok(mpk_watcher_compare.decode(mpk_span_of(bytes.data, bytes.len), &seen, &err),
		     err);
	back = seen.comparisons;
	ck_assert_uint_eq(back->count, 3);
	ck_assert_uint_eq(back->differing, 2);
	ck_assert_uint_eq(back->missing, 3);
	ck_assert_uint_eq(back->unused, 1);
	ck_assert_uint_eq(mpk_comparisons_first(back)->number, 1);
	ck_assert_uint_eq(back->items[1].comparison.first, 1);
	ck_assert_double_eq(back->items[1].comparison.max_abs, 1);
	mpk_answer_comparisons.text(back, (struct mpk_style){ 0 }, &text);
	ck_assert_str_eq(
		mpk_strbuf_text(&text),
		"operator 1, 'vm_mod_one' (0001-tvmgen_default_one.npy): element [1] is true, "
		"expected false; 1 of 2 elements differ, largest error 1 absolute, inf "
		"relative; the first of 2 that differ, of 3");
	mpk_watcher_compare.fini(&seen);
	for (size_t len = 0; len < bytes.len; len++) {
		(void)!mpk_watcher_compare.decode(mpk_span_of(bytes.data, len), &seen, &err);
		mpk_watcher_compare.fini(&seen);
	}
}
END_TEST

START_TEST(other_dumps_are_refused)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf bytes = { 0 };
	struct mpk_comparer c;

	make_dump("d");
	comparer_open(&c, "d");
	ck_assert_int_eq(RUN(&c.base, "one", 0, "3xbool"), MPK_E_CONFLICT);
	ck_assert_text(err, "operator 0, 'one', computes 3xbool here and 2xbool there");
	ck_assert_str_eq(err.at.file, "d");
	c.base.fini(&c.base);
	comparer_open(&c, "d");
	ck_assert_ok(RUN(&c.base, "another", 0, "2xf32"), err);
	ck_assert_int_eq(c.base.encode(&c.base, &bytes, &err), MPK_E_CONFLICT);
	ck_assert_text(err, "a dump of another model: none of its 4 results");
	c.base.fini(&c.base);
	ck_assert_int_eq(comparer_try(&c, "no"), MPK_E_IO);
	c.base.fini(&c.base);
	run("mkdir empty; touch empty/a.npy empty/0-b.npy empty/0000-c.txt");
	ck_assert_int_eq(comparer_try(&c, "empty"), MPK_E_CORRUPT);
	c.base.fini(&c.base);
	run("rm d/0001*; echo damaged >d/0001-one.npy");
	comparer_open(&c, "d");
	ck_assert_int_eq(RUN(&c.base, "one", 0, "2xbool"), MPK_E_CORRUPT);
	c.base.fini(&c.base);
}
END_TEST

START_TEST(files_are_taken_in_their_order)
{
	struct mpk_dump_index x = { 0 };
	static const char *const want[] = { "0002-a.npy", "9999-a.npy", "10000-a.npy" };

	run("mkdir d; touch d/10000-a.npy d/9999-a.npy d/0002-a.npy d/0001-b.0.npy d/0001-b.1.npy");
	ck_assert_ok(mpk_dump_index_read(&x, "d", &err), err);
	ck_assert_uint_eq(x.count, 5);
	for (size_t i = 0; i < 3; i++)
		ck_assert_str_eq(mpk_dump_index_take(&x, mpk_span_str("a.npy")), want[i]);
	ck_assert_ptr_null(mpk_dump_index_take(&x, mpk_span_str("a.npy")));
	ck_assert_str_eq(mpk_dump_index_take(&x, mpk_span_str("b.1.npy")), "0001-b.1.npy");
	ck_assert_ptr_null(mpk_dump_index_take(&x, mpk_span_str("c.npy")));
	mpk_dump_index_fini(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("observe");
	TCase *tc = tcase_create("observers");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, observers_lie_within_each_other);
	tcase_add_test(tc, time_within_is_counted_once);
	tcase_add_test(tc, damaged_profiles_are_refused);
	tcase_add_test(tc, a_line_an_operator);
	tcase_add_test(tc, results_become_arrays);
	tcase_add_test(tc, only_kernels_compute);
	tcase_add_test(tc, what_cannot_be_read_is_left_out);
	tcase_add_test(tc, the_same_is_equal);
	tcase_add_test(tc, the_first_that_differs_is_told);
	tcase_add_test(tc, other_dumps_are_refused);
	tcase_add_test(tc, files_are_taken_in_their_order);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
