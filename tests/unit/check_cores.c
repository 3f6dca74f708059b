/* SPDX-License-Identifier: Apache-2.0 */
/* free cores: what the system tells of threads that want to run, and a new thread's first loop, which is shared at once where
 * they leave it cores */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "process_seen.h"
#include "runtime/internal/parallel.h"
#include "runtime/parallel.h"

/* --- what tells (the Makefile has the linker wrap it) ------------------------------------------ */

static const char *told;      /* instead of /proc/loadavg; NULL: it cannot be read */
static const char *told_next; /* what it is from the second reading on; NULL: the same */
static int times_told;

ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
	(void)fd;
	times_told++;
	if (!told)
		return -1;
	ck_assert_uint_lt(strlen(told), size);
	size = strlen(told);
	memcpy(to, told, size);
	if (told_next)
		told = told_next;
	return (ssize_t)size;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid, (void)size;
	CPU_ZERO(set);
	for (size_t i = 0; i < 4; i++)
		CPU_SET(i, set);
	return 0;
}

/* Whoever asks for the time takes a microsecond, so that nobody waits for long, and no thread lost its core to another
 * process, however busy the machine is. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
static atomic_long now; /* nanoseconds */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	*t = (struct timespec){ .tv_sec = 1, .tv_nsec = atomic_fetch_add(&now, 1000) };
	return 0;
}

int __wrap_getrusage(int who, struct rusage *used);
int __wrap_getrusage(int who, struct rusage *used)
{
	(void)who;
	*used = (struct rusage){ 0 };
	return 0;
}

/* --- cases ------------------------------------------------------------------------------------- */

/* Of four. */
START_TEST(free_cores)
{
	static const struct {
		const char *told;
		unsigned most; /* threads that have cores */
	} cases[] = {
		{ "0.44 1.38 2.33 1/345 1234\n", 4 },
		{ "0.44 1.38 2.33 2/345 1234\n", 3 },
		{ "99.44 91.38 92.33 4/345 1234\n", 1 },
		{ "0.00 0.00 0.00 5/345 1234\n", 0 },
		{ "0.00 0.00 0.00 12/345 1234\n", 0 },
		{ "0.00 0.00 0.00 4294967297/345 1234\n", 0 },
		{ "0.00 0.00 0.00 18446744073709551615/345 1234\n", 0 },
		/* nothing is known */
		{ "0.00 0.00 0.00 0/0 0\n", 0 },
		{ "0.44 1.38 2.33\n", 0 },
		{ "/", 0 },
		{ "", 0 },
		{ NULL, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		told = cases[i].told;
		for (unsigned threads = 1; threads < 9; threads++) {
			ck_assert_int_eq(mpk_cores_are_free(threads, false),
					 threads <= cases[i].most);
			ck_assert_int_eq(mpk_cores_are_free(threads, true),
					 threads <= cases[i].most);
		}
	}
}
END_TEST

/* Two of four threads have cores where three want to run, and not where four do, unless one of those sleeps a moment later
 * and this one begins. More than one too many are not waited for. */
START_TEST(who_begins_looks_twice)
{
	static const struct {
		const char *told, *next;
		bool begins, is_free;
	} cases[] = {
		{ "0.00 0.00 0.00 4/100 1\n", "0.00 0.00 0.00 3/100 1\n", true, true },
		{ "0.00 0.00 0.00 4/100 1\n", "0.00 0.00 0.00 3/100 1\n", false, false },
		{ "0.00 0.00 0.00 4/100 1\n", "0.00 0.00 0.00 4/100 1\n", true, false },
		{ "0.00 0.00 0.00 5/100 1\n", "0.00 0.00 0.00 3/100 1\n", true, false },
		{ "0.00 0.00 0.00 3/100 1\n", "0.00 0.00 0.00 4/100 1\n", true, true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		told = cases[i].told;
		told_next = cases[i].next;
		ck_assert_int_eq(mpk_cores_are_free(2, cases[i].begins), cases[i].is_free);
	}
}
END_TEST

static int have_no_work(int task, struct mpk_parallel_env *env, void *data)
{
	(void)task, (void)env, (void)data;
	return 0;
}

static void *first_loop(void *threads)
{
	if (mpk_parallel_loop(have_no_work, NULL, 3) == 0)
		*(int *)threads = threads_now();
	return NULL;
}

static int threads_after_first_loop(const char *loadavg)
{
	pthread_t thread;
	int threads = 0;

	/* those of the call before have ended */
	ck_assert_int_eq(threads_after_moments(1), 1);
	told = loadavg;
	ck_assert_int_eq(pthread_create(&thread, NULL, first_loop, &threads), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return threads;
}

/* This one, the launcher, and its workers. */
START_TEST(a_first_loop_is_shared_where_cores_are_free)
{
	ck_assert_int_eq(threads_after_first_loop("0.00 0.00 0.00 3/100 1\n"), 2);
	ck_assert_int_eq(threads_after_first_loop(NULL), 2);
	ck_assert_int_eq(threads_after_first_loop("0.00 0.00 0.00 2/100 1\n"), 4);
	ck_assert_int_eq(times_told, 4); /* one thread too many: twice */
}
END_TEST

START_TEST(it_is_asked_for_once)
{
	told = "0.00 0.00 0.00 1/100 1\n";
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(mpk_parallel_loop(have_no_work, NULL, 3), 0);
	ck_assert_int_le(times_told, 1);
}
END_TEST

/* One loop, so many nanoseconds after the one before. */
static void loop_after(long gap)
{
	struct mpk_pace p = { 0 };

	(void)atomic_fetch_add(&now, gap - 1000); /* the time was asked for once since */
	ck_assert_uint_eq(mpk_pace_take(&p, have_no_work, 4).count, 0);
	mpk_pace_end(&p, 0, 0);
}

/* A thread waits busily for twice the mean gap, which goes an eighth of the way to each new one: 20 microseconds where gaps
 * are short, 5 where they are longer than anybody waits for. */
START_TEST(patience_follows_the_gaps)
{
	ck_assert_int_eq(mpk_pace_patience(), 20000);
	loop_after(1000000); /* nothing was before it */
	ck_assert_int_eq(mpk_pace_patience(), 20000);
	loop_after(72000);
	ck_assert_int_eq(mpk_pace_patience(), 20000); /* 9 */
	loop_after(89000);
	ck_assert_int_eq(mpk_pace_patience(), 38000); /* 19 */
	loop_after(99000);
	ck_assert_int_eq(mpk_pace_patience(), 58000); /* 29 */
	loop_after(5000);
	ck_assert_int_eq(mpk_pace_patience(), 52000); /* 26 */
	loop_after(50000000);
	ck_assert_int_eq(mpk_pace_patience(), 245500); /* 122.75: a gap counts as 800 at most */
	loop_after(741750);
	ck_assert_int_eq(mpk_pace_patience(), 5000); /* 200.125 */
}
END_TEST

/* What a loop is expected to take is what it took, and then goes a fourth of the way to what it takes. Very short ones are
 * measured one time in sixteen. */
START_TEST(loops_are_expected_to_take_what_they_took)
{
	static const struct {
		long took, expected;
	} loops[] = { { 8000, 0 },      { 8000, 8000 },  { 16000, 8000 },
		      { 10000, 10000 }, { 2000, 10000 }, { 8000, 8000 } };
	int measured = 0;

	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
		struct mpk_pace p = { 0 };

		(void)mpk_pace_take(&p, have_no_work, 4);
		ck_assert_int_eq(p.expected, loops[i].expected);
		ck_assert_int_gt(p.begin, 0);
		(void)atomic_fetch_add(&now, loops[i].took - 1000);
		mpk_pace_end(&p, 1, 0);
	}
	for (int i = 0; i < 100; i++) {
		struct mpk_pace p = { 0 };

		(void)mpk_pace_take(&p, have_no_work, 4);
		measured += p.begin != 0;
		if (p.begin)
			(void)atomic_fetch_add(&now, -500);
		mpk_pace_end(&p, 1, 0);
	}
	ck_assert_int_gt(measured, 5);
	ck_assert_int_lt(measured, 30);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cores");
	TCase *tc = tcase_create("cores");
	SRunner *r = srunner_create(s);

	tcase_add_checked_fixture(tc, hide_threads, NULL);
	tcase_add_test(tc, free_cores);
	tcase_add_test(tc, who_begins_looks_twice);
	tcase_add_test(tc, a_first_loop_is_shared_where_cores_are_free);
	tcase_add_test(tc, it_is_asked_for_once);
	tcase_add_test(tc, patience_follows_the_gaps);
	tcase_add_test(tc, loops_are_expected_to_take_what_they_took);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
