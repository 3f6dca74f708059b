/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/diag.h"
#include "io/mapping.h"
#include "mpack/build.h"
#include "process/argv.h"
#include "process/process.h"
#include "toolchain/scratch.h"

/* A path that still leads there from another directory; it must exist. NULL: no memory. */
static const char *absolute(struct mpk_arena *arena, const char *path)
{
	char *full = realpath(path, NULL);
	const char *copy = mpk_arena_text(arena, mpk_span_str(full ? full : path));

	free(full);
	return copy;
}

static void put(struct mpk_argv *v, const char *option, const char *value)
{
	if (!value)
		return;
	mpk_argv_add(v, option);
	mpk_argv_add(v, value);
}

static void put_list(struct mpk_argv *v, const char *option, const struct mpk_option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		put(v, option, list->items[i].value);
}

static const char *emit_word(const struct mpk_build_options *o)
{
	const char *dot = strrchr(o->output, '.');

	if (o->emit)
		return o->emit;
	return strcmp(dot, ".o") == 0 ? "obj" : dot + 1;
}

/* The same options, but for what must not matter. */
static void put_command(struct mpk_argv *v, const struct mpk_build_options *o, const char *input,
			const char *out)
{
	const char *cc = o->cc ? o->cc : getenv("CC");
	bool is_path = cc && strchr(cc, '/') && !strchr(cc, ' ');

	mpk_argv_add(v, "/proc/self/exe");
	put(v, "build", absolute(v->arena, input));
	mpk_argv_add(v, "--quiet"); /* what it warns of was said by the first */
	put(v, "--output", out);
	put(v, "--emit", emit_word(o));
	put(v, "--jobs", o->jobs && strcmp(o->jobs, "1") == 0 ? "3" : "1");
	put(v, "--via", o->via);
	put(v, "--abi", o->abi);
	put(v, "--target", o->target);
	put(v, "--prefix", o->prefix);
	put(v, "--cc", is_path ? absolute(v->arena, cc) : o->cc);
	put(v, "--cxx", o->cxx);
	put(v, "--sign", o->sign ? absolute(v->arena, o->sign) : NULL);
	if (o->provenance)
		mpk_argv_add(v, "--provenance");
	if (o->system_lib)
		mpk_argv_add(v, "--system-lib");
	if (o->allow_empty)
		mpk_argv_add(v, "--allow-empty");
	put_list(v, "--cflag", &o->cflags);
	put_list(v, "--ldflag", &o->ldflags);
}

/* In a world that differs in all that must not matter, also in the second. */
static enum mpk_code run_again(const char *const *argv, const char *dir, int *status,
			       struct mpk_error *err)
{
	static const char *const env[] = { "TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", NULL };
	struct mpk_process again = { .argv = argv, .env = env, .dir = dir };
	struct mpk_process_end end;
	time_t started = time(NULL);

	while (time(NULL) == started)
		(void)usleep(10000);
	MPK_TRY(mpk_process_run(&again, 1, 1, &end, err));
	*status = end.how == MPK_PROCESS_EXITED ? end.status : MPK_EXIT_INTERNAL;
	return MPK_OK;
}

static enum mpk_code compare(const char *first, const char *second, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping a = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping b = { 0 };
	size_t at = 0;

	MPK_TRY(mpk_mapping_open(first, &a, err));
	MPK_TRY(mpk_mapping_open(second, &b, err));
	if (mpk_span_equal(a.bytes, b.bytes))
		return MPK_OK;
	while (at < a.bytes.len && at < b.bytes.len && a.bytes.data[at] == b.bytes.data[at])
		at++;
	(void)mpk_fail_offset(
		err, MPK_E_DIFFERENT, "file", at,
		"a second build gave another file (%zu and %zu bytes); look for __DATE__, __TIME__ or absolute paths in the sources and flags",
		a.bytes.len, b.bytes.len);
	mpk_error_at_file(err, first);
	return MPK_E_DIFFERENT;
}

static enum mpk_code check(const struct mpk_build_options *o, const char *input,
			   const struct mpk_scratch *scratch, int *status, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const char *out = mpk_scratch_file(scratch, &arena, "again");
	struct mpk_argv v = { .arena = &arena };

	put_command(&v, o, input, out);
	if (v.failed || !out)
		return mpk_fail_nomem(err);
	MPK_TRY(run_again(v.items, scratch->path, status, err));
	return *status == MPK_EXIT_OK ? compare(o->output, out, err) : MPK_OK;
}

int mpk_repro_check(const struct mpk_build_options *o, const char *input)
{
	MPK_CLEANUP(mpk_scratch_close) struct mpk_scratch scratch = { 0 };
	const char *tmp = getenv("TMPDIR");
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	enum mpk_code code = mpk_scratch_open(tmp && *tmp ? tmp : "/tmp", NULL, &scratch, &err);
	if (code == MPK_OK)
		code = check(o, input, &scratch, &status, &err);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	if (status == MPK_EXIT_OK)
		mpk_diag_note("two builds gave the same file");
	return status;
}
