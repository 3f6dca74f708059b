/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c - libmpk-run as a plug-in that comes and goes: dlclose while worker threads live, fork after a parallel
 * loop, in loops
 *
 *     guest LIBRARY MODULE ROUNDS    MODULE has "parallel", a loop on several threads
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpk/run.h>

/* A name of the library, as the header declares it. */
#define USE(name) __typeof__(&name) name##_of = (__typeof__(&name))dlsym(lib, #name)

static void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* Each of four tasks writes the number of its neighbour. */
static void parallel(void *lib, mpkr_function *f)
{
	static const int64_t tasks = 4, shape[1] = { 4 };
	int32_t seen[4] = { 0 };
	struct mpkr_tensor n = mpkr_tensor_on_host(&tasks, MPKR_DTYPE_INT, 64, 0, NULL);
	struct mpkr_tensor t = mpkr_tensor_on_host(seen, MPKR_DTYPE_INT, 32, 1, shape);
	const struct mpkr_tensor *in[1] = { &n }, *out[1] = { &t };
	struct mpkr_error err;

	USE(mpkr_call_into);
	USE(mpkr_expect);
	if (mpkr_expect_of(f, 0, MPKR_KIND_NUMBER, &err) ||
	    mpkr_call_into_of(f, in, 1, out, 1, &err))
		die("parallel", err.text);
	for (int i = 0; i < 4; i++)
		if (seen[i] != (i + 1) % 4 + 1)
			die("parallel", "a wrong result");
}

/* The child has no threads but its own; its loop must end all the same. */
static void parallel_in_child(void *lib, mpkr_function *f)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		alarm(20);
		parallel(lib, f);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		die("fork", "the child did not end well");
}

static void round_trip(const char *library, const char *module)
{
	struct mpkr_options options = { .size = sizeof options, .threads = 4 };
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	mpkr_model *model;
	mpkr_function *f;
	struct mpkr_error err;

	if (!lib)
		die("dlopen", dlerror());
	USE(mpkr_open);
	USE(mpkr_close);
	USE(mpkr_find);
	USE(mpkr_drop);
	if (mpkr_open_of(module, &options, &model, &err) ||
	    mpkr_find_of(model, "parallel", &f, &err))
		die(module, err.text);
	parallel(lib, f);
	parallel_in_child(lib, f);
	parallel(lib, f);
	mpkr_drop_of(f);
	mpkr_close_of(model);
	if (dlclose(lib))
		die("dlclose", dlerror());
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	for (int i = atoi(argv[3]); i > 0; i--)
		round_trip(argv[1], argv[2]);
	printf("came and went\n");
	return 0;
}
