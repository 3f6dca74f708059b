#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/diag.h"
#include "emit/scratch.h"
#include "io/mapping.h"
#include "mpack/build.h"
#include "mpack/mpack.h"

#define opt mpk_build_options

/* A path that still leads there from another directory; it must exist. */
static char *absolute(const char *path)
{
	char *full = realpath(path, NULL);

	return full ? full : strdup(path);
}

struct line {
	const char *argv[24];
	size_t count;
};

static void put(struct line *l, const char *option, const char *value)
{
	if (value) {
		l->argv[l->count++] = option;
		l->argv[l->count++] = value;
	}
}

static const char *emit_word(void)
{
	const char *dot = strrchr(opt.output, '.');

	if (opt.emit)
		return opt.emit;
	return strcmp(dot, ".o") == 0 ? "obj" : dot + 1;
}

/* The child: the same options, in a world that differs in all that must not matter. */
static MPK_NORETURN void exec_again(const char *input, const char *out, const char *dir)
{
	const char *cc = opt.cc ? opt.cc : getenv("CC");
	struct line l = { .count = 0 };
	size_t most = 2 * (opt.cflags.count + opt.ldflags.count) + MPK_ARRAY_COUNT(l.argv);
	const char **argv = calloc(most, sizeof *argv);
	size_t n = 0;

	put(&l, "mpack", "build");
	put(&l, input, "--output");
	l.argv[l.count++] = out;
	put(&l, "--emit", emit_word());
	put(&l, "--jobs", opt.jobs && strcmp(opt.jobs, "1") == 0 ? "3" : "1");
	put(&l, "--via", opt.via);
	put(&l, "--abi", opt.abi);
	put(&l, "--target", opt.target);
	put(&l, "--prefix", opt.prefix);
	put(&l, "--cc", cc && strchr(cc, '/') && !strchr(cc, ' ') ? absolute(cc) : opt.cc);
	if (opt.system_lib)
		l.argv[l.count++] = "--system-lib";
	if (!argv)
		_exit(MPK_EXIT_INTERNAL);
	for (; n < l.count; n++)
		argv[n] = l.argv[n];
	for (size_t i = 0; i < opt.cflags.count; i++) {
		argv[n++] = "--cflag";
		argv[n++] = opt.cflags.items[i].value;
	}
	for (size_t i = 0; i < opt.ldflags.count; i++) {
		argv[n++] = "--ldflag";
		argv[n++] = opt.ldflags.items[i].value;
	}
	(void)setenv("TZ", "Pacific/Kiritimati", 1);
	(void)setenv("LC_ALL", "tr_TR.UTF-8", 1);
	if (chdir(dir) == 0)
		(void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	_exit(MPK_EXIT_INTERNAL);
}

static int run_again(const char *input, const char *out, const char *dir)
{
	time_t started = time(NULL);
	int status = 0;

	while (time(NULL) == started)
		(void)usleep(10000);
	pid_t pid = fork();
	if (pid == 0)
		exec_again(input, out, dir);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : MPK_EXIT_INTERNAL;
}

static int compare(const char *first, const char *second)
{
	struct mpk_mapping a = { 0 }, b = { 0 };
	struct mpk_error err = { 0 };
	size_t at = 0;

	if (mpk_mapping_open(first, &a, &err) != MPK_OK ||
	    mpk_mapping_open(second, &b, &err) != MPK_OK) {
		mpk_mapping_close(&a);
		return mpk_diag_error(&err);
	}
	bool same = mpk_span_equal(a.bytes, b.bytes);
	while (!same && at < a.bytes.len && at < b.bytes.len &&
	       a.bytes.data[at] == b.bytes.data[at])
		at++;
	size_t sizes[2] = { a.bytes.len, b.bytes.len };
	mpk_mapping_close(&a);
	mpk_mapping_close(&b);
	if (same)
		return MPK_EXIT_OK;
	(void)mpk_fail_offset(
		&err, MPK_E_DIFFERENT, "file", at,
		"a second build gave another file (%zu and %zu bytes); look for __DATE__, __TIME__ or absolute paths in the sources and flags",
		sizes[0], sizes[1]);
	mpk_error_at_file(&err, first);
	return mpk_diag_error(&err);
}

int mpk_repro_check(int argc, char **argv, int first)
{
	const char *tmp = getenv("TMPDIR");
	char *input = absolute(first < argc ? argv[first] : MPACK_MANIFEST);
	struct mpk_scratch scratch = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_INTERNAL;

	if (mpk_scratch_open(tmp && *tmp ? tmp : "/tmp", NULL, &scratch, &err) != MPK_OK) {
		free(input);
		return mpk_diag_error(&err);
	}
	const char *out = mpk_scratch_file(&scratch, &arena, "again");
	if (input && out)
		status = run_again(input, out, scratch.path);
	if (status == MPK_EXIT_OK)
		status = compare(opt.output, out);
	if (status == MPK_EXIT_OK)
		mpk_diag_note("two builds gave the same file");
	mpk_scratch_close(&scratch);
	mpk_arena_fini(&arena);
	free(input);
	return status;
}
