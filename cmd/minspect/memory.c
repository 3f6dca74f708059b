/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the memory of an inspection to 64 MiB plus four times the file, whatever the file claims.
 * The kernel enforces the limit (RLIMIT_DATA), so readers need not count; a reader that reaches it
 * fails as if memory were out. RLIMIT_DATA does not count the mapped file, which is one of the
 * four, nor 4 of the 64 MiB for the program and its
 * libraries, so it is set to 60 MiB plus three times the file. The declared unpacked size of
 * compressed parts is added, up to DECLARED_BYTES plus once the file: GPU code compresses well, and
 * small libraries have much of it. */
#include <string.h>
#include <sys/resource.h>

#include "base/account.h"
#include "base/compiler.h"
#include "base/num.h"
#include "common/diag.h"
#include "minspect/minspect.h"
#include "text/escape.h"
#include "text/table.h"

static const uint64_t BASE_BYTES = UINT64_C(60) << 20;
static const uint64_t DECLARED_BYTES = UINT64_C(240) << 20;

static bool is_on;
static uint64_t declared;     /* bytes that compressed parts declared */
static uint64_t fixed, files; /* bytes: of --max-memory, 0 if not given; of all files so far */

static uint64_t allowed(void)
{
	uint64_t most;

	if (fixed)
		return fixed;
	/* If the limit overflows, there is none; such a file could not be mapped. */
	return __builtin_mul_overflow(files, 3, &most) ||
			       __builtin_add_overflow(most, BASE_BYTES, &most) ||
			       __builtin_add_overflow(most,
						      declared < DECLARED_BYTES + 4 * files
							      ? declared
							      : DECLARED_BYTES + 4 * files,
						      &most)
		       ? UINT64_MAX
		       : most;
}

static void say_limit(void)
{
	if (fixed)
		mpk_diag_warn("this inspection may take %s of memory, as --max-memory says",
			      MPK_SIZE(fixed));
	else
		mpk_diag_warn(
			"an inspection may take 64 MiB, four times its file and some of what it unpacks to; --max-memory=SIZE allows more");
}

int minspect_memory_parse(const char *max_memory)
{
	if (strcmp(max_memory, "none") == 0)
		return MPK_EXIT_OK;
	if (!mpk_size_parse(mpk_span_str(max_memory), &fixed) || fixed == 0)
		return mpk_diag_usage(
			"--max-memory takes a size such as 2GiB or 500MB, or none, not '%s'",
			MPK_QUOTE(mpk_span_str(max_memory)));
	return MPK_EXIT_OK;
}

uint64_t minspect_memory_given(void)
{
	return fixed;
}

static void set_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) != 0)
		return;
	/* the caller's own limit remains if it is lower */
	limit.rlim_cur = bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit) == 0)
		mpk_common.memory_hint = say_limit;
}

/* Opening the next file restarts the account, while memory for the previous one may still be in
 * use. */
static void count_declared(uint64_t inputs, uint64_t taken)
{
	static uint64_t before;

	(void)inputs;
	if (taken > before && declared <= DECLARED_BYTES + 4 * files) {
		declared += taken - before;
		if (files)
			set_limit(allowed());
	}
	before = taken;
}

int minspect_memory_init(const char *max_memory)
{
	int status = max_memory ? minspect_memory_parse(max_memory) : MPK_EXIT_OK;

	/* The shadow memory of a sanitizer is far above any limit. */
	is_on = !MPK_IS_SANITIZED && (fixed || !max_memory);
	if (!max_memory)
		mpk_account_begin(is_on ? count_declared : NULL);
	return status;
}

void minspect_memory_grow(uint64_t file_bytes)
{
	if (!is_on)
		return;
	/* File sizes add up: two files that are compared are open at the same time. */
	if (__builtin_add_overflow(files, file_bytes, &files))
		files = UINT64_MAX;
	set_limit(allowed());
}

void minspect_memory_shrink(uint64_t file_bytes)
{
	if (is_on)
		files = files > file_bytes ? files - file_bytes : 0;
}

void minspect_memory_release(void)
{
	if (is_on)
		set_limit(fixed ? fixed : UINT64_MAX);
}
