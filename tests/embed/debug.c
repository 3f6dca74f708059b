/* SPDX-License-Identifier: Apache-2.0 */
/* debug.c - what tools see of a model in this process: debug MODEL, which is registered.so of the tests
 *
 * A function of the application unwinds through the library and the model to main, and names of code in memory are where perf
 * looks for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <mpk/run.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct mpkr_error err;

/* Whether a place is in memory without a file, whose names perf looks up in the map. */
static int is_anonymous(unsigned long place)
{
	unsigned long from, to, inode;
	char line[512];
	int found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) == 3 &&
		    place >= from && place < to)
			found = inode == 0;
	if (maps)
		fclose(maps);
	return found;
}

/* A value: the second argument. */
static int add(void *context, const struct mpkr_invocation *call, mpkr_value **result,
	       struct mpkr_error *e)
{
	int count, ours = 0;
	void *frames[64];
	Dl_info info;

	count = backtrace(frames, 64);
	for (int i = 0; i < count; i++) {
		if (!dladdr(frames[i], &info))
			continue;
		ours += strstr(info.dli_fname, "libmpk-run") != NULL;
		if (info.dli_sname && strcmp(info.dli_sname, "main") == 0)
			*(int *)context = ours;
	}
	return mpkr_value_hold(call->args[1], result, e);
}

static size_t lines_with(const char *text)
{
	char path[64], line[512];
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
	file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		unsigned long start, bytes;
		char name[400];
		Dl_info info;

		/* an address and a size that are those of code of a model */
		if (sscanf(line, "%lx %lx %399s", &start, &bytes, name) == 3 && bytes &&
		    is_anonymous(start) && dladdr((void *)start, &info) &&
		    strstr(info.dli_fname, "/proc/self/fd/"))
			count += strstr(name, text) != NULL;
	}
	if (file)
		fclose(file);
	unlink(path);
	return count;
}

int main(int argc, char **argv)
{
	struct mpkr_options options = { .size = sizeof options, .flags = MPKR_PERF_MAP };
	static float x[4];
	const int64_t shape[] = { 4 };
	struct mpkr_tensor t = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 1, shape);
	const struct mpkr_tensor *in[] = { &t, &t };
	struct mpkr_result *result;
	mpkr_model *model;
	mpkr_function *f;
	int frames = 0;
	size_t count;

	if (argc != 2 || mpkr_open(argv[1], &options, &model, &err) ||
	    mpkr_register(model, "test.vm.add", add, &frames, &err) ||
	    mpkr_find(model, "add", &f, &err) || mpkr_call(f, in, 2, &result, 1, &count, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	printf("%s\n", frames > 2 ? "unwound to main" : "not unwound");
	printf("%s\n", lines_with("negative") ? "kernels are named" : "no kernel is named");
	mpkr_free(result);
	mpkr_drop(f);
	mpkr_close(model);
	return 0;
}
