/* SPDX-License-Identifier: Apache-2.0 */
/* run_step - what libmpk-run takes for a small model: to open, to find, for the first call, for a call
 *
 *     run_step MODEL FUNCTION    the one input that the function names, zeros; prints seconds, of calls the least
 *                                mean of 50 batches of 400, and bytes: resident after the first call
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <mpk/run.h>

static struct mpkr_error err;

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code)
{
	if (!code)
		return;
	fprintf(stderr, "%s\n", err.text);
	exit(1);
}

static void call(mpkr_function *f, const struct mpkr_tensor *x)
{
	struct mpkr_result *r;
	size_t count;

	check(mpkr_call(f, &x, 1, &r, 1, &count, &err));
	mpkr_free(r);
}

static long resident(void)
{
	long all, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
		pages = 0;
	if (f)
		(void)fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
	double at[5], best = 1e9;
	struct mpkr_type type;
	struct mpkr_tensor x;
	mpkr_model *model;
	mpkr_function *f;
	int64_t count = 1;
	long before;
	void *data;

	if (argc != 3)
		return 2;
	before = resident();
	at[0] = now();
	check(mpkr_open(argv[1], NULL, &model, &err));
	at[1] = now();
	check(mpkr_find(model, argv[2], &f, &err));
	at[2] = now();
	check(mpkr_input(f, 0, &type));
	for (int32_t d = 0; d < type.ndim; d++)
		count *= type.shape[d] = type.shape[d] < 0 ? 4 : type.shape[d];
	if (posix_memalign(&data, 64, (size_t)count * 8 + 64))
		return 1;
	for (int64_t i = 0; i < count; i++)
		((float *)data)[i] = 0;
	x = mpkr_tensor_on_host(data, type.dtype.code, type.dtype.bits, type.ndim, type.shape);
	at[3] = now();
	call(f, &x);
	at[4] = now();
	before = resident() - before;
	for (int batch = 0; batch < 50; batch++) {
		double start = now(), took;

		for (int i = 0; i < 400; i++)
			call(f, &x);
		took = (now() - start) / 400;
		best = took < best ? took : best;
	}
	printf("%g %g %g %g %ld\n", at[1] - at[0], at[2] - at[1], at[4] - at[3], best, before);
	mpkr_drop(f);
	mpkr_close(model);
	free(data);
	return 0;
}
