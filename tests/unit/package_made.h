/* SPDX-License-Identifier: Apache-2.0 */
/* package_made.h - a folder of files made by a test, and the package loaded from it */
#ifndef MPK_TESTS_UNIT_PACKAGE_MADE_H
#define MPK_TESTS_UNIT_PACKAGE_MADE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "harness.h"
#include "io/mapping.h"
#include "kernels/kernels.h"
#include "package/package.h"

static char folder[64];

static inline const char *in_folder(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static inline void make_folder(void)
{
	(void)snprintf(folder, sizeof folder, "/tmp/check_package.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline void remove_folder(void)
{
	folder_remove(folder);
}

static inline void write_file(const char *name, struct mpk_span bytes)
{
	FILE *f = fopen(in_folder(name), "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes.data ? (const void *)bytes.data : "", 1, bytes.len, f),
			  bytes.len);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void write_text(const char *name, const char *text)
{
	write_file(name, mpk_span_str(text));
}

/* --- a package, its report and its memory ------------------------------------------------ */

struct loaded {
	struct mpk_arena arena;
	struct mpk_report report;
	struct mpk_package package;
	struct mpk_error err;
	enum mpk_code code;
};

static inline void load(struct loaded *l, const char *manifest)
{
	struct mpk_package_input input = { .text = mpk_span_str(manifest),
					   .path = in_folder("mpack.toml") };

	memset(l, 0, sizeof *l);
	l->code = mpk_package_load(&input, &l->arena, &l->report, &l->package, &l->err);
}

static inline void unload(struct loaded *l)
{
	mpk_package_close(&l->package);
	mpk_report_fini(&l->report);
	mpk_arena_fini(&l->arena);
}

static inline struct mpk_span flat(struct loaded *l)
{
	struct mpk_span bytes = { 0 };

	ck_assert_msg(l->code == MPK_OK, "%u:%u: %s", l->err.at.line, l->err.at.column,
		      l->err.text);
	ck_assert_int_eq(mpk_rope_flat(&l->package.blob, &bytes, NULL), MPK_OK);
	return bytes;
}

#endif
