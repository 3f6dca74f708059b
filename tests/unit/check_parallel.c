/* SPDX-License-Identifier: Apache-2.0 */
/* parallel loops: their tasks, threads and errors, loops in loops and side by side, in processes that
 * fork; how often the system is asked for its cores */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "abi/ffi_object.h"
#include "base/clock.h"
#include "io/mapping.h"
#include "process_seen.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"
#include "runtime/runtime.h"
#include "workspace.h"

/* --- what asks (the Makefile has the linker wrap it) ------------------------------------------ */

static atomic_int asked;
static size_t cores_seen;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)atomic_fetch_add(&asked, 1);
	if (!cores_seen)
		return __real_sched_getaffinity(pid, size, set);
	CPU_ZERO(set);
	for (size_t i = 0; i < cores_seen; i++)
		CPU_SET(i, set);
	return 0;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	(void)atomic_fetch_add(&asked, name == _SC_NPROCESSORS_ONLN);
	return __real_sysconf(name);
}

static const struct mpk_runtime_options options;

/* NULL: there is no memory. */
static struct mpk_runtime *make_runtime(void)
{
	struct mpk_runtime *runtime = NULL;
	struct mpk_error err = { 0 };

	return mpk_runtime_create(&options, &runtime, &err) == MPK_OK ? runtime : NULL;
}

static int do_nothing(int task, struct mpk_parallel_env *env, void *data)
{
	(void)task, (void)env, (void)data;
	return 0;
}

static void *ask_in_thread(void *argument)
{
	for (int i = 0; i < 10; i++)
		if (mpk_parallel_cores() != 3)
			*(bool *)argument = true;
	return NULL;
}

START_TEST(cores_are_asked_for_once)
{
	struct mpk_runtime *runtime;
	pthread_t thread;
	bool differ = false;

	cores_seen = 3;
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(mpk_parallel_cores(), 3);
		ck_assert_int_eq(mpk_parallel_launch(do_nothing, NULL, 3), 0);
	}
	ck_assert_int_eq(asked, 1);
	/* another thread may have other cores */
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_thread, &differ), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(!differ);
	ck_assert_int_eq(asked, 2);
	cores_seen = 5;
	ck_assert_int_eq(mpk_parallel_cores(), 3);
	runtime = make_runtime();
	ck_assert_ptr_nonnull(runtime);
	ck_assert_int_eq(mpk_parallel_cores(), 5);
	ck_assert_int_eq(mpk_parallel_cores(), 5);
	ck_assert_int_eq(asked, 3);
	cores_seen = 7;
	pid_t pid = fork_with_limit();
	if (pid == 0)
		_exit(mpk_parallel_cores() != 7 || mpk_parallel_cores() != 7 || asked != 4 ? 1 : 0);
	ck_assert_int_eq(child_end(pid), 0);
	ck_assert_int_eq(mpk_parallel_cores(), 5);
	mpk_runtime_destroy(runtime);
}
END_TEST

/* --- tasks ----------------------------------------------------------------------------------- */

enum { MANY = 8 };

struct seen {
	atomic_int runs[MANY], phase[MANY];
	pthread_t threads[MANY];
	bool in_step;
};

/* No task is a phase ahead of another behind a barrier. */
static int run_in_step(int task, struct mpk_parallel_env *env, void *data)
{
	struct seen *seen = data;

	seen->threads[task] = pthread_self();
	(void)atomic_fetch_add(&seen->runs[task], 1);
	for (int phase = 1; phase <= 5; phase++) {
		atomic_store(&seen->phase[task], phase);
		if (mpk_parallel_barrier(env) != 0)
			return -1;
		for (int i = 0; i < env->num_task; i++)
			if (atomic_load(&seen->phase[i]) < phase)
				seen->in_step = false;
		if (mpk_parallel_barrier(env) != 0)
			return -1;
	}
	return 0;
}

START_TEST(tasks_have_threads_of_their_own)
{
	for (int count = 1; count <= MANY; count++) {
		struct seen seen = { .in_step = true };

		ck_assert_int_eq(mpk_parallel_launch(run_in_step, &seen, count), 0);
		ck_assert(seen.in_step);
		ck_assert(pthread_equal(seen.threads[0], pthread_self()));
		for (int i = 0; i < MANY; i++) {
			ck_assert_int_eq(seen.runs[i], i < count);
			for (int j = 0; j < i && i < count; j++)
				ck_assert(!pthread_equal(seen.threads[i], seen.threads[j]));
		}
	}
	ck_assert_int_eq(threads_now(), MANY);
}
END_TEST

struct failing {
	int task;
	bool others_wait;
};

static int fail_one(int task, struct mpk_parallel_env *env, void *data)
{
	const struct failing *f = data;

	if (task == f->task) {
		mpk_raised_set(MPK_E_RAISED, mpk_span_str("ValueError"), mpk_span_str("no"));
		return 7;
	}
	return f->others_wait ? mpk_parallel_barrier(env) : 0;
}

/* Those who wait at a barrier for a task that failed are let go. */
START_TEST(a_failure_is_the_loops)
{
	for (int i = 0; i < 2 * MANY; i++) {
		struct failing f = { i % MANY, i >= MANY };

		mpk_raised_get()->is_set = false;
		ck_assert_int_eq(mpk_parallel_launch(fail_one, &f, MANY), 7);
		ck_assert(mpk_raised_get()->is_set);
		ck_assert_str_eq(mpk_raised_get()->kind, "ValueError");
	}
	ck_assert_int_eq(mpk_parallel_launch(do_nothing, NULL, 0), -1);
	ck_assert_int_eq(mpk_parallel_launch(do_nothing, NULL, MPK_PARALLEL_TASKS_MAX + 1), -1);
}
END_TEST

static int add_task(int task, struct mpk_parallel_env *env, void *data)
{
	(void)env;
	(void)atomic_fetch_add((atomic_int *)data, task + 1);
	workspace_use(1000);
	return 0;
}

static int launch_in_task(int task, struct mpk_parallel_env *env, void *data)
{
	atomic_int sum = 0;
	int rc = mpk_parallel_launch(add_task, &sum, 3);

	if (rc || atomic_load(&sum) != 6)
		return -1;
	(void)atomic_fetch_add((atomic_int *)data, task + 1);
	return mpk_parallel_barrier(env);
}

static void *launch_often(void *argument)
{
	struct mpk_runtime *runtime = make_runtime();

	for (int i = 0; i < 300; i++) {
		atomic_int sum = 0;

		if (!runtime || mpk_parallel_launch(launch_in_task, &sum, 3) != 0 ||
		    atomic_load(&sum) != 6)
			*(atomic_bool *)argument = true;
		if (i % 50 == 49) {
			mpk_runtime_destroy(runtime);
			runtime = make_runtime();
		}
	}
	mpk_runtime_destroy(runtime);
	return NULL;
}

/* Loops in tasks of loops, of several threads, while runtimes come and go. */
START_TEST(loops_side_by_side)
{
	enum { THREADS = 3 };
	atomic_bool failed = false;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, launch_often, &failed), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert(!failed);
	ck_assert_int_eq(threads_after_moments(1), 1);
}
END_TEST

/* --- loops that are divided by the number of their tasks ------------------------------------------ */

enum { ITEMS = 1000 };

struct items {
	atomic_int runs[ITEMS];
	atomic_int tasks;
	unsigned barriers, microseconds;
	int fails; /* item; -1: none */
};

static void be_busy(unsigned microseconds)
{
	int64_t end = mpk_clock() + (int64_t)microseconds * 1000;

	while (mpk_clock() < end)
		;
}

static int run_part(int task, struct mpk_parallel_env *env, void *data)
{
	struct items *s = data;
	int each = (ITEMS + env->num_task - 1) / env->num_task;

	(void)atomic_fetch_add(&s->tasks, 1);
	for (unsigned i = 0; i < s->barriers; i++)
		if (mpk_parallel_barrier(env) != 0)
			return -1;
	be_busy(s->microseconds / (unsigned)env->num_task);
	for (int i = task * each; i < (task + 1) * each && i < ITEMS; i++) {
		if (i == s->fails) {
			mpk_raised_set(MPK_E_RAISED, mpk_span_str("ValueError"),
				       mpk_span_str("no"));
			return 7;
		}
		(void)atomic_fetch_add(&s->runs[i], 1);
	}
	return 0;
}

static void check_loop(unsigned threads, unsigned microseconds, unsigned barriers)
{
	static struct items s;

	s = (struct items){ .barriers = barriers, .microseconds = microseconds, .fails = -1 };
	ck_assert_int_eq(mpk_parallel_loop(run_part, &s, threads), 0);
	for (int i = 0; i < ITEMS; i++)
		ck_assert_int_eq(s.runs[i], 1);
	ck_assert_int_ge(s.tasks, 1);
}

/* Also those that are too short for other threads, and those that nobody knows. */
START_TEST(each_item_of_a_loop_is_run_once)
{
	cores_seen = 4;
	for (unsigned threads = 1; threads < 9; threads++)
		for (int i = 0; i < 200; i++)
			check_loop(threads, i % 50 == 0 ? 3000 : i % 10 == 0 ? 100 : 0, 0);
	ck_assert_int_le(threads_now(), 4);
}
END_TEST

/* More tasks than threads, until they come to a barrier. */
START_TEST(barriers_in_loops)
{
	cores_seen = 3;
	for (int i = 0; i < 30; i++)
		check_loop(3, 20000, 3);
	for (int i = 0; i < 300; i++)
		check_loop(3, (unsigned)i % 7 * 10, 2);
}
END_TEST

START_TEST(a_failure_in_a_loop_is_the_loops)
{
	static struct items s;

	cores_seen = 3;
	for (int i = 0; i < 300; i++) {
		s = (struct items){ .fails = i * 3, .microseconds = i % 3 ? 0 : 200 };
		ck_assert_int_eq(mpk_parallel_loop(run_part, &s, 3), 7);
		ck_assert_str_eq(mpk_raised_get()->kind, "ValueError");
	}
}
END_TEST

static int loop_in_part(int task, struct mpk_parallel_env *env, void *data)
{
	struct items inner = { .fails = -1 };
	int rc = mpk_parallel_loop(run_part, &inner, 4);

	(void)task, (void)env;
	if (atomic_load(&inner.tasks) != 1)
		atomic_store((atomic_bool *)data, true);
	be_busy(50);
	return rc;
}

/* All cores are busy already. */
START_TEST(a_loop_in_a_task_has_one_task)
{
	atomic_bool more = false;

	cores_seen = 4;
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(mpk_parallel_launch(loop_in_part, &more, 3), 0);
		ck_assert_int_eq(mpk_parallel_loop(loop_in_part, &more, 3), 0);
	}
	ck_assert(!more);
	ck_assert_int_le(threads_now(), 4);
}
END_TEST

static void *loop_often(void *argument)
{
	for (int i = 0; i < 300; i++) {
		struct items *s = calloc(1, sizeof *s);

		if (!s)
			break;
		s->fails = -1;
		s->microseconds = (unsigned)i % 5 * 20;
		s->barriers = i % 11 == 0;
		if (mpk_parallel_loop(run_part, s, 3) != 0)
			*(atomic_bool *)argument = true;
		for (int j = 0; j < ITEMS; j++)
			if (s->runs[j] != 1)
				*(atomic_bool *)argument = true;
		free(s);
	}
	return NULL;
}

START_TEST(loops_of_several_threads)
{
	enum { THREADS = 3 };
	atomic_bool failed = false;
	pthread_t threads[THREADS];

	cores_seen = 4;
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, loop_often, &failed), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert(!failed);
}
END_TEST

/* --- threads --------------------------------------------------------------------------------- */

static int hold_in_launch(int task, struct mpk_parallel_env *env, void *data)
{
	if (task == 1)
		be_busy(3000);
	((int *)data)[task] = mpk_core_here();
	return mpk_parallel_barrier(env);
}

/* Where there are two cores, launcher and worker are on one for no longer than it takes to see that. */
START_TEST(a_worker_leaves_its_launchers_core)
{
	cpu_set_t set;
	int apart = 0, cores[2];

	if (pthread_getaffinity_np(pthread_self(), sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(mpk_parallel_launch(hold_in_launch, cores, 2), 0);
		apart += cores[0] != cores[1] || cores[0] < 0;
	}
	ck_assert_int_ge(apart, 25);
	/* the launcher's own thread may go where it could before */
	cpu_set_t after;

	ck_assert_int_eq(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
	ck_assert(CPU_EQUAL(&set, &after));
}
END_TEST

/* A worker is there for the next loop before the one it worked for is over. */
START_TEST(nothing_grows)
{
	enum { LOOPS = 200000, SLACK = 2 << 20 };
	atomic_int sum = 0;
	long before;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(mpk_parallel_launch(add_task, &sum, 2), 0);
	before = resident_bytes();
	for (int i = 0; i < LOOPS; i++)
		if (mpk_parallel_launch(add_task, &sum, 2) != 0)
			ck_abort_msg("loop %d failed", i);
	ck_assert_int_eq(threads_now(), 2);
	/* a sanitizer keeps what was freed */
	if (!MPK_IS_SANITIZED)
		ck_assert_int_le(resident_bytes() - before, SLACK);
	ck_assert_int_eq(sum, 3 * (LOOPS + 100));
}
END_TEST

START_TEST(the_last_runtime_takes_the_threads)
{
	struct mpk_runtime *a = make_runtime(), *b = make_runtime();

	ck_assert(a && b);
	ck_assert_int_eq(mpk_parallel_launch(do_nothing, NULL, MANY), 0);
	mpk_runtime_destroy(a);
	ck_assert_int_eq(threads_now(), MANY);
	mpk_runtime_destroy(b);
	ck_assert_int_eq(threads_after_moments(1), 1);
	a = make_runtime();
	ck_assert_int_eq(mpk_parallel_launch(do_nothing, NULL, 3), 0);
	ck_assert_int_eq(threads_now(), 3);
	mpk_runtime_destroy(a);
	ck_assert_int_eq(threads_after_moments(1), 1);
}
END_TEST

static int read_mask(int task, struct mpk_parallel_env *env, void *data)
{
	if (pthread_sigmask(SIG_SETMASK, NULL, &((sigset_t *)data)[task]) != 0)
		return -1;
	return mpk_parallel_barrier(env);
}

/* Signals for the process find a thread of the program. */
START_TEST(signals_are_the_programs)
{
	sigset_t masks[2];

	ck_assert_int_eq(mpk_parallel_launch(read_mask, masks, 2), 0);
	ck_assert(sigismember(&masks[1], SIGTERM) && sigismember(&masks[1], SIGCHLD));
	ck_assert(!sigismember(&masks[1], SIGSEGV) && !sigismember(&masks[1], SIGPROF));
	ck_assert(!sigismember(&masks[0], SIGTERM));
}
END_TEST

static sem_t is_held, may_leave;

static void hold_thread(int number)
{
	(void)number;
	(void)sem_post(&is_held);
	while (sem_wait(&may_leave) != 0)
		;
}

static int tell_thread(int task, struct mpk_parallel_env *env, void *data)
{
	(void)env;
	((pthread_t *)data)[task] = pthread_self();
	return 0;
}

static int tell_thread_at_barrier(int task, struct mpk_parallel_env *env, void *data)
{
	return tell_thread(task, env, data) == 0 ? mpk_parallel_barrier(env) : -1;
}

/* A worker that does not get to its task: the loop ends without it, and the next one has it again. */
START_TEST(a_late_worker_costs_nothing)
{
	struct sigaction hold = { .sa_handler = hold_thread }, before;
	pthread_t threads[3], workers[3];

	ck_assert_int_eq(sem_init(&is_held, 0, 0), 0);
	ck_assert_int_eq(sem_init(&may_leave, 0, 0), 0);
	ck_assert_int_eq(sigaction(SIGPROF, &hold, &before), 0);
	ck_assert_int_eq(mpk_parallel_launch(tell_thread_at_barrier, workers, 3), 0);
	for (int i = 1; i < 3; i++)
		ck_assert_int_eq(pthread_kill(workers[i], SIGPROF), 0);
	for (int i = 1; i < 3; i++)
		while (sem_wait(&is_held) != 0)
			;
	for (int round = 0; round < 100; round++) {
		memset(threads, 0, sizeof threads);
		ck_assert_int_eq(mpk_parallel_launch(tell_thread, threads, 3), 0);
		for (int i = 0; i < 3; i++)
			ck_assert(pthread_equal(threads[i], pthread_self()));
	}
	for (int i = 1; i < 3; i++)
		ck_assert_int_eq(sem_post(&may_leave), 0);
	ck_assert_int_eq(mpk_parallel_launch(tell_thread_at_barrier, threads, 3), 0);
	ck_assert(!pthread_equal(threads[1], threads[0]));
	ck_assert(!pthread_equal(threads[2], threads[0]));
	ck_assert_int_eq(threads_now(), 3);
	ck_assert_int_eq(sigaction(SIGPROF, &before, NULL), 0);
	(void)sem_destroy(&is_held);
	(void)sem_destroy(&may_leave);
}
END_TEST

/* --- forks ----------------------------------------------------------------------------------- */

static atomic_bool enough;

static bool use_all(void)
{
	struct mpk_runtime *runtime = make_runtime();
	struct mpk_mapping m;
	struct mpk_error err = { 0 };
	atomic_int sum = 0;
	bool used = runtime && mpk_parallel_launch(launch_in_task, &sum, 2) == 0 &&
		    atomic_load(&sum) == 3 &&
		    mpk_mapping_open("/proc/self/exe", &m, &err) == MPK_OK;

	if (used)
		mpk_mapping_close(&m);
	mpk_runtime_destroy(runtime);
	return used;
}

static void *use_until_enough(void *argument)
{
	while (!atomic_load(&enough))
		if (!use_all())
			*(atomic_bool *)argument = true;
	return NULL;
}

/* Whatever lock a thread of the parent has at that moment. */
START_TEST(forks_while_all_is_used)
{
	enum { THREADS = 2, FORKS = 50 };
	pthread_t threads[THREADS];
	atomic_bool failed = false;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use_until_enough, &failed), 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork_with_limit();

		/* sanitizers have allocators that a fork may leave locked for ever */
		if (pid == 0 && MPK_IS_SANITIZED)
			_exit(0);
		if (pid == 0) {
			int used = use_all() && use_all();

			/* runtimes of the parent stay: their threads are not here to destroy them */
			mpk_workers_part.end(false, true);
			_exit(used && threads_after_moments(1) == 1 ? 0 : 1);
		}
		ck_assert_int_eq(child_end(pid), 0);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert(!failed);
}
END_TEST

static atomic_int running, may_go_on;

static int wait_in_once(void *data)
{
	(void)data;
	atomic_store(&running, 1);
	while (!may_go_on)
		(void)usleep(100);
	return 0;
}

static int count_runs(void *data)
{
	(void)atomic_fetch_add((atomic_int *)data, 1);
	return 0;
}

static void *run_slot(void *slot)
{
	(void)mpk_once_run(slot, wait_in_once, NULL);
	return NULL;
}

/* What a thread of the parent was running once has not run in the child. */
START_TEST(fork_while_something_runs_once)
{
	struct mpk_runtime *runtime = make_runtime();
	void *slot = NULL;
	pthread_t thread;
	atomic_int runs = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, run_slot, &slot), 0);
	while (!running)
		(void)usleep(100);
	pid_t pid = fork_with_limit();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			if (mpk_once_run(&slot, count_runs, &runs) != 0)
				_exit(2);
		_exit(runs != 1 ? 1 : 0);
	}
	ck_assert_int_eq(child_end(pid), 0);
	atomic_store(&may_go_on, 1);
	ck_assert_int_eq(mpk_once_run(&slot, count_runs, &runs), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(runs, 0);
	mpk_runtime_destroy(runtime);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parallel");
	TCase *tc = tcase_create("parallel");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, hide_threads, NULL);
	tcase_add_test(tc, cores_are_asked_for_once);
	tcase_add_test(tc, tasks_have_threads_of_their_own);
	tcase_add_test(tc, a_failure_is_the_loops);
	tcase_add_test(tc, loops_side_by_side);
	tcase_add_test(tc, each_item_of_a_loop_is_run_once);
	tcase_add_test(tc, barriers_in_loops);
	tcase_add_test(tc, a_failure_in_a_loop_is_the_loops);
	tcase_add_test(tc, a_loop_in_a_task_has_one_task);
	tcase_add_test(tc, loops_of_several_threads);
	tcase_add_test(tc, a_worker_leaves_its_launchers_core);
	tcase_add_test(tc, nothing_grows);
	tcase_add_test(tc, the_last_runtime_takes_the_threads);
	tcase_add_test(tc, signals_are_the_programs);
	tcase_add_test(tc, a_late_worker_costs_nothing);
	tcase_add_test(tc, forks_while_all_is_used);
	tcase_add_test(tc, fork_while_something_runs_once);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
