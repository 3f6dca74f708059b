/* SPDX-License-Identifier: Apache-2.0 */
/* --check-repro: packs a second time and compares. The second build differs in all that must not
 * matter: directory, second, time zone, locale, number of jobs, output name. It is a new process
 * of this program, because only that gets another environment from its start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/diag.h"
#include "io/mapping.h"
#include "mpack/build.h"
#include "process/process.h"
#include "toolchain/toolchain.h"

/* A path that still leads there from another directory; it must exist. NULL: no memory. */
static const char *absolute(struct mpk_arena *arena, const char *path)
{
	char *full = realpath(path, NULL);
	const char *copy = mpk_arena_text(arena, mpk_span_str(full ? full : path));

	free(full);
	return copy;
}

static void repro_put(struct mpk_argv *v, const char *option, const char *value)
{
	if (!value)
		return;
	mpk_argv_add(v, option);
	mpk_argv_add(v, value);
}

/* The options that decide the bytes, as they were given. */
static void put_rows(struct mpk_argv *v, const struct mpk_option *options)
{
	for (const struct mpk_option *row = options; row->name; row++) {
		for (size_t i = 0; row->decides_bytes && i < mpk_option_count(row); i++) {
			mpk_argv_printf(v, "--%s", row->name);
			if (row->path == MPK_READS_FILE)
				mpk_argv_add(v, absolute(v->arena, mpk_option_value(row, i)));
			else if (row->argument)
				mpk_argv_add(v, mpk_option_value(row, i));
		}
	}
}

static const char *emit_word(const struct mpk_build_options *o)
{
	const char *dot = strrchr(o->output, '.');

	if (o->emit)
		return o->emit;
	return strcmp(dot, ".o") == 0 ? "obj" : dot + 1;
}

/* The same command, but for what must not matter: another output, other paths, another number of
 * jobs. */
static void put_command(struct mpk_argv *v, const struct mpk_build_options *o,
			const struct mpk_option *options, const char *input, const char *out)
{
	const char *cc = o->cc ? o->cc : getenv("CC");
	bool is_path = cc && strchr(cc, '/') && !strchr(cc, ' ');

	mpk_argv_add(v, "/proc/self/exe");
	repro_put(v, "build", absolute(v->arena, input));
	mpk_argv_add(v, "--quiet"); /* what it warns of was said by the first */
	repro_put(v, "--output", out);
	repro_put(v, "--emit", emit_word(o));
	/* Another number than the first build had: with one job nothing is reordered, with
	 * several it may be. */
	repro_put(v, "--jobs", o->jobs && strcmp(o->jobs, "1") == 0 ? "3" : "1");
	repro_put(v, "--cc", is_path ? absolute(v->arena, cc) : o->cc);
	repro_put(v, "--sign", o->sign ? absolute(v->arena, o->sign) : NULL);
	put_rows(v, options);
}

/* In a world that differs in all that must not matter, also in the second. */
static enum mpk_code run_again(const char *const *argv, const char *dir, int *status,
			       struct mpk_error *err)
{
	/* Fourteen hours ahead of UTC, and a locale in which the lower case of "I" is no "i". */
	static const char *const env[] = { "TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", NULL };
	struct mpk_process again = { .argv = argv, .env = env, .dir = dir };
	struct mpk_process_end end;
	time_t started = time(NULL);

	/* __TIME__ has a resolution of a second, so the second build begins in another one. */
	while (time(NULL) == started)
		(void)usleep(10000);
	MPK_TRY(mpk_process_run(&again, 1, 1, &end, err));
	*status = end.how == MPK_PROCESS_EXITED ? end.status : MPK_EXIT_INTERNAL;
	return MPK_OK;
}

static enum mpk_code repro_compare(const char *first, const char *second, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping a = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping b = { 0 };
	size_t at = 0;

	/* Mapped, not read: outputs may be larger than memory. */
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

static enum mpk_code repro_check(const struct mpk_build_options *o,
				 const struct mpk_option *options, const char *input,
				 const struct mpk_scratch *scratch, int *status,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const char *out = mpk_scratch_file(scratch, &arena, "again");
	struct mpk_argv v = { .arena = &arena };

	put_command(&v, o, options, input, out);
	if (v.failed || !out)
		return mpk_fail_nomem(err);
	MPK_TRY(run_again(v.items, scratch->path, status, err));
	return *status == MPK_EXIT_OK ? repro_compare(o->output, out, err) : MPK_OK;
}

int mpk_repro_check(const struct mpk_build_options *o, const struct mpk_option *options,
		    const char *input)
{
	MPK_CLEANUP(mpk_scratch_close) struct mpk_scratch scratch = { 0 };
	const char *tmp = getenv("TMPDIR");
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	enum mpk_code code = mpk_scratch_open(tmp && *tmp ? tmp : "/tmp", NULL, &scratch, &err);
	if (code == MPK_OK)
		code = repro_check(o, options, input, &scratch, &status, &err);
	if (code != MPK_OK)
		return mpk_diag_error(&err);
	if (status == MPK_EXIT_OK)
		mpk_diag_note("two builds gave the same file");
	return status;
}
