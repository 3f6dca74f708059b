/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_loop THREADS RUNS MILLISECONDS LIBTVM_FFI LIBTVM_RUNTIME MICROSECONDS... - parallel loops here and in TVM
 *
 * For loops that take one thread so many MICROSECONDS: a line with nanoseconds a loop, by one thread without any
 * launch, by ours and by TVM's, each as the median and the worst of RUNS runs. A run is a process of its own, whose
 * threads begin there, and lasts MILLISECONDS; those of one thread, ours and TVM's take turns. "-" in place
 * of the libraries: without TVM.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/parallel.h"

enum { ITEMS = 64, GAP = 2, SIDES = 3, RUNS_MAX = 1000 };

typedef int launch_fn(mpk_parallel_fn *fn, void *data, int count);

static launch_fn *tvm_launch;
static unsigned threads;
static double turns_a_us;

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t work(uint64_t turns)
{
	uint64_t x = turns;

	for (uint64_t i = 0; i < turns; i++) {
		x = x * 3 + i;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

struct loop {
	uint64_t turns; /* of an item */
	uint64_t done[ITEMS];
};

/* As compilers divide a loop. */
static int run_items(int task, struct mpk_parallel_env *env, void *data)
{
	struct loop *l = data;
	int each = (ITEMS + env->num_task - 1) / env->num_task;

	for (int i = task * each; i < (task + 1) * each && i < ITEMS; i++)
		l->done[i] += work(l->turns) | 1;
	return 0;
}

static int run_loop(int side, struct loop *l)
{
	struct mpk_parallel_env one = { .num_task = 1 };

	if (side == 0)
		return run_items(0, &one, l);
	return side == 1 ? mpk_parallel_loop(run_items, l, threads) : tvm_launch(run_items, l, 0);
}

static double time_loops(int side, double us, double ms)
{
	struct loop l = { .turns = (uint64_t)(us * turns_a_us / ITEMS) };
	double start = now(), end = start + ms * 1e6;
	long count = 0;

	do {
		if (run_loop(side, &l) != 0)
			exit(1);
		(void)work((uint64_t)(GAP * turns_a_us));
		count++;
	} while (now() < end);
	return (now() - start) / (double)count - GAP * 1e3;
}

/* In a child, which has no threads from the run before. */
static double run(int side, double us, double ms)
{
	static double *told;
	int status;

	if (!told)
		told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	pid_t pid = fork();

	if (pid == 0) {
		*told = time_loops(side, us, ms);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		(void)fprintf(stderr, "parallel_loop: a run failed\n");
		exit(1);
	}
	return *told;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(double us, int runs, double ms)
{
	static double times[SIDES][RUNS_MAX];
	int sides = tvm_launch ? SIDES : SIDES - 1;

	for (int i = 0; i < runs; i++)
		for (int side = 0; side < sides; side++)
			times[side][i] = run(side, us, ms);
	printf("%g", us);
	for (int side = 0; side < sides; side++) {
		qsort(times[side], (size_t)runs, sizeof(double), compare);
		printf(" %.0f %.0f", times[side][runs / 2], times[side][runs - 1]);
	}
	printf("\n");
	(void)fflush(stdout);
}

/* The fastest of many tries, as others may have the core. */
static void calibrate(void)
{
	enum { TURNS = 100000 };
	double best = 1e18;

	for (int i = 0; i < 200; i++) {
		double start = now(), taken;

		(void)work(TURNS);
		taken = now() - start;
		best = taken < best ? taken : best;
	}
	turns_a_us = TURNS / (best / 1e3);
}

int main(int argc, char **argv)
{
	if (argc < 7)
		return 2;
	threads = (unsigned)atoi(argv[1]);
	int runs = atoi(argv[2]) < RUNS_MAX ? atoi(argv[2]) : RUNS_MAX;

	if (strcmp(argv[4], "-") != 0) {
		(void)setenv("TVM_NUM_THREADS", argv[1], 1);
		void *tvm = dlopen(argv[4], RTLD_NOW | RTLD_GLOBAL);

		if (tvm)
			tvm = dlopen(argv[5], RTLD_NOW | RTLD_GLOBAL);
		if (tvm)
			tvm_launch = (launch_fn *)(uintptr_t)dlsym(tvm, "TVMBackendParallelLaunch");
		if (!tvm_launch) {
			(void)fprintf(stderr, "parallel_loop: no TVM: %s\n", dlerror());
			return 1;
		}
	}
	calibrate();
	for (int i = 6; i < argc; i++)
		measure(atof(argv[i]), runs, atof(argv[3]));
	return 0;
}
