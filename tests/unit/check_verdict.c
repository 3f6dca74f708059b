/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/check/answer.c: the one verdict of a file, and that text, document and exit status say the same */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "check/check.h"
#include "check/internal/run.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* What was found, and what it comes to. */
static const struct found {
	size_t errors, calls, devices, registrations, policies, warnings;
	size_t units, run; /* containers */
	const char *lacks, *system;
	bool only; /* not all checks were asked for */
	char items; /* 'a': all looked at; 's': skipped; 'l': no loader was named; 'p': one in part; 0: none */
	enum mpk_check_outcome outcome;
	const char *sentence;
} cases[] = {
	{ .outcome = MPK_CHECK_LOADS, .sentence = "loads on x86-64" },
	{ .items = 'a', .outcome = MPK_CHECK_LOADS, .sentence = "loads on x86-64" },
	{ .items = 'a',
	  .warnings = 1,
	  .outcome = MPK_CHECK_LOADS,
	  .sentence = "loads on x86-64: 1 warning" },
	{ .items = 'a',
	  .warnings = 2,
	  .outcome = MPK_CHECK_LOADS,
	  .sentence = "loads on x86-64: 2 warnings" },
	/* an error of no other sort keeps it from loading, whatever else there is */
	{ .items = 'a',
	  .errors = 1,
	  .outcome = MPK_CHECK_REFUSED,
	  .sentence = "does not load on x86-64: 1 error" },
	{ .items = 'a',
	  .errors = 1,
	  .warnings = 3,
	  .outcome = MPK_CHECK_REFUSED,
	  .sentence = "does not load on x86-64: 1 error" },
	{ .items = 'a',
	  .errors = 5,
	  .calls = 1,
	  .devices = 1,
	  .registrations = 1,
	  .policies = 1,
	  .outcome = MPK_CHECK_REFUSED,
	  .sentence = "does not load on x86-64: 5 errors" },
	/* sorts of errors, each alone and before those that come after it */
	{ .items = 'a',
	  .errors = 1,
	  .devices = 1,
	  .units = 2,
	  .outcome = MPK_CHECK_RUNS_NOT,
	  .sentence = "does not run on sm_90: 1 error; runs there: 0 of 2 containers" },
	{ .items = 'a',
	  .errors = 1,
	  .devices = 1,
	  .units = 2,
	  .run = 1,
	  .outcome = MPK_CHECK_RUNS_PARTLY,
	  .sentence = "runs in part on sm_90: 1 error; runs there: 1 of 2 containers" },
	{ .items = 'a',
	  .errors = 4,
	  .devices = 1,
	  .registrations = 1,
	  .policies = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_RUNS_NOT,
	  .sentence = "does not run on sm_90: 4 errors" },
	{ .items = 'a',
	  .errors = 3,
	  .registrations = 1,
	  .policies = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_UNREGISTERED,
	  .sentence =
		  "loads on x86-64, but the runtime that its GPU code is registered with does not get all of it: 3 errors" },
	{ .items = 'a',
	  .errors = 2,
	  .policies = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_POLICY,
	  .sentence = "breaks the policy on x86-64: 2 errors" },
	{ .items = 'a',
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64, but f fails when called: 1 error" },
	/* nothing of what was asked for, but for an error that was found all the same */
	{ .items = 's',
	  .lacks = "there is no code for GPUs",
	  .outcome = MPK_CHECK_NOTHING,
	  .sentence = "nothing checked for sm_90: there is no code for GPUs" },
	{ .items = 's',
	  .lacks = mpk_check_unsaid,
	  .outcome = MPK_CHECK_NOTHING,
	  .sentence = "nothing checked for sm_90: nothing to compare with was given (--driver)" },
	{ .items = 'a',
	  .lacks = "there is no code for GPUs",
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64 with sm_90, but f fails when called: 1 error" },
	/* some checks alone cannot say that it loads */
	{ .items = 'a',
	  .only = true,
	  .outcome = MPK_CHECK_OPEN,
	  .sentence = "nothing found against it on x86-64" },
	{ .items = 'a',
	  .only = true,
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64, but f fails when called: 1 error" },
	{ .items = 's',
	  .outcome = MPK_CHECK_OPEN,
	  .sentence = "nothing found against it on x86-64" },
	{ .items = 'l',
	  .outcome = MPK_CHECK_OPEN,
	  .sentence = "nothing found against it on x86-64" },
	{ .items = 'p',
	  .outcome = MPK_CHECK_OPEN,
	  .sentence = "nothing found against it on x86-64" },
	{ .items = 'l',
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64, but f fails when called: 1 error" },
	{ .items = 'p',
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64, but f fails when called: 1 error" },
	/* what is linked into a program */
	{ .items = 'l',
	  .system = "p_",
	  .outcome = MPK_CHECK_SYSTEM,
	  .sentence =
		  "is to be linked into a program: load_module gives no executable of it, system_lib('p_') does there; on x86-64" },
	{ .items = 'a',
	  .system = "p_",
	  .errors = 1,
	  .calls = 1,
	  .outcome = MPK_CHECK_CALLS,
	  .sentence = "loads on x86-64, but f fails when called: 1 error" },
};

/* Words and gates are part of the interface. */
static const struct {
	enum mpk_check_outcome outcome;
	const char *word;
	bool is_error;
} outcomes[] = {
	{ MPK_CHECK_LOADS, "loads", false },
	{ MPK_CHECK_REFUSED, "does-not-load", true },
	{ MPK_CHECK_RUNS_NOT, "does-not-run", true },
	{ MPK_CHECK_RUNS_PARTLY, "runs-in-part", true },
	{ MPK_CHECK_UNREGISTERED, "not-registered", true },
	{ MPK_CHECK_CALLS, "fails-when-called", true },
	{ MPK_CHECK_POLICY, "breaks-policy", true },
	{ MPK_CHECK_NOTHING, "nothing-checked", false },
	{ MPK_CHECK_OPEN, "open", false },
	{ MPK_CHECK_SYSTEM, "to-be-linked", false },
};

static struct mpk_there there;

/* @device  whether one is there */
static struct mpk_check_result result_of(const struct found *f, bool device)
{
	static const char *const failing[] = { "f" };
	static const char *const only[] = { "glibc" };
	struct mpk_check_result r = {
		.file = "lib.so",
		.there = &there,
		.report = { .errors = f->errors, .warnings = f->warnings },
		.call_errors = f->calls,
		.device_errors = f->devices,
		.registration_errors = f->registrations,
		.policy_errors = f->policies,
		.failing = failing,
		.failing_count = f->calls ? 1 : 0,
		.gpu_counts = { .units = f->units, .units_run = f->run },
		.lacks = f->lacks,
		.lacks_option = "--driver",
		.system_prefix = f->system,
	};

	there = (struct mpk_there){ .machine_name = "x86-64", .cuda = { .sm = device ? 90 : 0 } };
	there.device = f->lacks ? "sm_90" : NULL;
	if (f->only)
		there.only = only;
	if (!f->items)
		return r;
	r.item_count = 2;
	r.items[0] = (struct mpk_check_item){ .name = "loader" };
	r.items[1] = (struct mpk_check_item){ .name = "glibc" };
	if (f->items == 's')
		r.items[0].skipped = r.items[1].skipped = "nothing to look at";
	if (f->items == 'l') {
		r.items[0].skipped = mpk_check_unsaid;
		r.items[0].option = "--tvm";
	}
	if (f->items == 'p') {
		r.items[1].part = "41 symbols";
		r.items[1].option = "--libs";
	}
	return r;
}

static const char *taken(struct mpk_strbuf *out)
{
	const char *text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(out));

	ck_assert(!out->failed);
	mpk_strbuf_fini(out);
	return text;
}

static const char *document(const struct mpk_check_result *r)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	mpk_answer_check.json(r, &j, j.root);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	mpk_json_fini(&j);
	return taken(&out);
}

START_TEST(verdict)
{
	const struct found *f = &cases[_i];
	struct mpk_check_result r = result_of(f, true);
	struct mpk_strbuf out = { 0 };
	const char *text, *json = document(&r), *loads = NULL;

	ck_assert_int_eq(mpk_check_outcome(&r), f->outcome);
	mpk_check_put_verdict(&r, &out);
	ck_assert_str_eq(taken(&out), f->sentence);
	/* the text begins with it, the document has it, and whether it loads where that is known */
	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	text = taken(&out);
	ck_assert_ptr_eq(strstr(text, f->sentence), text + strlen("lib.so: "));
	ck_assert_ptr_nonnull(strstr(json, mpk_arena_printf(&arena, "\"verdict\": \"%s\"",
							    mpk_check_outcome_word(f->outcome))));
	switch (f->outcome) {
	case MPK_CHECK_LOADS:
	case MPK_CHECK_UNREGISTERED:
	case MPK_CHECK_CALLS:
		loads = "\"loads\": true";
		break;
	case MPK_CHECK_REFUSED:
		loads = "\"loads\": false";
		break;
	case MPK_CHECK_RUNS_NOT:
	case MPK_CHECK_RUNS_PARTLY:
	case MPK_CHECK_POLICY:
	case MPK_CHECK_NOTHING:
	case MPK_CHECK_OPEN:
	case MPK_CHECK_SYSTEM:
		loads = "\"loads\": null";
		break;
	}
	ck_assert_ptr_nonnull(strstr(json, loads));
}
END_TEST

START_TEST(words_and_gates)
{
	ck_assert_str_eq(mpk_check_outcome_word(outcomes[_i].outcome), outcomes[_i].word);
	ck_assert_int_eq(mpk_check_outcome_is_error(outcomes[_i].outcome), outcomes[_i].is_error);
}
END_TEST

/* What was looked at, what was not and the option that would have it looked at; what concerns no option is no news. */
START_TEST(what_it_rests_on)
{
	struct found f = { .items = 'l' };
	struct mpk_check_result r = result_of(&f, false);
	struct mpk_strbuf out = { 0 };

	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(
		taken(&out),
		"lib.so: nothing found against it on x86-64; checked: glibc; not checked: loader (--tvm)\n");
	ck_assert_ptr_nonnull(strstr(document(&r), "\"option\": \"--tvm\""));
	f.items = 's';
	r = result_of(&f, false);
	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(taken(&out),
			 "lib.so: nothing found against it on x86-64; checked: nothing\n");
	f.items = 'p';
	r = result_of(&f, false);
	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(
		taken(&out),
		"lib.so: nothing found against it on x86-64; checked: loader, glibc; not checked: 41 symbols (--libs)\n");
	r.items[0].part = "half";
	r.items[0].option = "--x";
	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_ptr_nonnull(
		strstr(taken(&out), "; not checked: half (--x), 41 symbols (--libs)\n"));
}
END_TEST

/* Three names at most, unless the fourth is the last. */
static const struct {
	size_t count;
	const char *text;
} failings[] = {
	{ 0, "loads on x86-64, but some of its functions fail when called" },
	{ 1, "loads on x86-64, but a fails when called" },
	{ 2, "loads on x86-64, but a and b fail when called" },
	{ 3, "loads on x86-64, but a, b and c fail when called" },
	{ 4, "loads on x86-64, but a, b, c and d fail when called" },
	{ 5, "loads on x86-64, but a, b, c and 2 more fail when called" },
	{ 6, "loads on x86-64, but a, b, c and 3 more fail when called" },
};

START_TEST(who_fails)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	const struct found f = { .items = 'a', .errors = 1, .calls = 1 };
	struct mpk_check_result r = result_of(&f, false);
	struct mpk_strbuf out = { 0 };

	r.failing = names;
	r.failing_count = failings[_i].count;
	mpk_check_put_verdict(&r, &out);
	ck_assert_str_eq(taken(&out), mpk_arena_printf(&arena, "%s: 1 error", failings[_i].text));
}
END_TEST

/* The place, and the numbers of what runs there. */
START_TEST(where_and_how_many)
{
	static const struct {
		struct mpk_check_gpu_counts counts;
		const char *text;
	} rows[] = {
		{ { .units = 1, .units_run = 1 }, "1 of 1 container" },
		{ { .units = 3, .units_run = 2, .kernels = 1, .kernels_run = 1 },
		  "2 of 3 containers, 1 of 1 kernel" },
		{ { .units = 2, .units_run = 2, .modules = 2, .kernels = 4000, .kernels_run = 4 },
		  "2 of 2 modules, 4 of 4,000 kernels" },
		{ { .units = 2, .units_run = 2, .modules = 1 }, "2 of 2 pieces" },
	};
	const struct found f = { .items = 'a' };
	struct mpk_check_result r = result_of(&f, false);
	struct mpk_dso runtime = { .path = "libtvm.so" };
	struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		r.gpu_counts = rows[i].counts;
		mpk_check_put_verdict(&r, &out);
		ck_assert_str_eq(
			taken(&out),
			mpk_arena_printf(&arena, "loads on x86-64; runs there: %s", rows[i].text));
	}
	r.gpu_counts = (struct mpk_check_gpu_counts){ 0 };
	there.device = "sm_90";
	there.runtimes = &runtime;
	mpk_check_put_verdict(&r, &out);
	ck_assert_str_eq(taken(&out), "loads with the named libraries on x86-64 with sm_90");
	there.installed = true;
	mpk_check_put_verdict(&r, &out);
	ck_assert_str_eq(taken(&out),
			 "loads with the TVM of this environment on x86-64 with sm_90");
	there.has_release = true;
	there.release.name = "TVM 0.27";
	mpk_check_put_verdict(&r, &out);
	ck_assert_str_eq(taken(&out), "loads in TVM 0.27 on x86-64 with sm_90");
	ck_assert_ptr_nonnull(strstr(document(&r), "\"release\": \"TVM 0.27\""));
	there.cuda.driver = (struct mpk_cuda_version){ 12, 4 };
	there.glibc_major = 2;
	there.glibc_minor = 28;
	ck_assert_ptr_nonnull(strstr(document(&r), "\"driver\": \"12.4\""));
	ck_assert_ptr_nonnull(strstr(document(&r), "\"glibc\": \"2.28\""));
}
END_TEST

/* Errors that show when functions are called are told from others, each with its functions. */
START_TEST(findings_and_states)
{
	static const char *const names[] = { "f", "g", "h" };
	struct mpk_error at_load = { .text = "no loader" },
			 at_call = { .text = "no symbol", .at.path = "/0" };
	struct mpk_check_call call = { .finding = 1, .functions = names, .count = 2 };
	const struct found f = { .items = 'a', .errors = 2, .calls = 1 };
	struct mpk_check_result r = result_of(&f, false);
	struct mpk_strbuf out = { 0 };
	const char *json, *first, *second, *text;

	r.report = (struct mpk_report){ 0 };
	mpk_report_add(&r.report, MPK_ERROR, "loader", &at_load);
	mpk_report_add(&r.report, MPK_ERROR, "symbol", &at_call);
	r.calls = r.last_call = &call;
	r.held[0] = (struct mpk_check_held){ "KV cache", { names, 1 }, { names + 1, 2 } };
	r.held[1] = (struct mpk_check_held){ "RNN state", { NULL, 0 }, { names, 1 } };
	r.held_count = 2;
	json = document(&r);
	first = strstr(json, "\"no loader\"");
	second = strstr(json, "\"no symbol\"");
	ck_assert(first && second && first < second);
	ck_assert_ptr_eq(strstr(first, "\"when\": \"load\""), strstr(first, "\"when\""));
	ck_assert_ptr_eq(strstr(second, "\"when\": \"call\""), strstr(second, "\"when\""));
	ck_assert_ptr_nonnull(strstr(json, "\"path\": null"));
	ck_assert_ptr_nonnull(strstr(json, "\"path\": \"/0\""));
	ck_assert_ptr_nonnull(strstr(json, "\"errors\": 2"));
	mpk_answer_check.text(&r, (struct mpk_style){ 0 }, &out);
	text = taken(&out);
	ck_assert_ptr_nonnull(strstr(text, "no loader"));
	ck_assert_ptr_nonnull(strstr(text, "lib.so: KV cache: made by f, taken by g and h\n"));
	ck_assert_ptr_nonnull(strstr(text, "lib.so: RNN state: taken by f\n"));
	mpk_report_fini(&r.report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *tcase = tcase_create("verdict");

	tcase_add_checked_fixture(tcase, NULL, clear);
	tcase_add_loop_test(tcase, verdict, 0, (int)MPK_ARRAY_COUNT(cases));
	tcase_add_loop_test(tcase, words_and_gates, 0, (int)MPK_ARRAY_COUNT(outcomes));
	tcase_add_test(tcase, what_it_rests_on);
	tcase_add_loop_test(tcase, who_fails, 0, (int)MPK_ARRAY_COUNT(failings));
	tcase_add_test(tcase, where_and_how_many);
	tcase_add_test(tcase, findings_and_states);
	suite_add_tcase(suite, tcase);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
