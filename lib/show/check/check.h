/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - minspect --check: will a file load there?
 *
 * "There" is a description: a TVM release, libraries that register loaders, a machine, its glibc, its
 * libraries, a GPU, its driver. What it leaves open is not checked, and the verdict says so. Nothing
 * of the file runs, and nothing of the libraries.
 */
#ifndef MPK_CHECK_CHECK_H
#define MPK_CHECK_CHECK_H

#include "base/report.h"
#include "code/cuda.h"
#include "compat/dso.h"
#include "compat/release.h"
#include "compat/scope.h"
#include "elf/target.h"
#include "model/view.h"

struct mpk_there {
	bool has_release;
	struct mpk_release release;
	struct mpk_dso *runtimes; /* linked by next; with their loaders */
	bool installed;           /* they were not named but found on this machine */

	struct mpk_target machine;
	const char *machine_name; /* as people say it */

	unsigned glibc_major, glibc_minor; /* 0.0: not known */
	const char *libs;                  /* the directory that was named, or NULL */
	struct mpk_search search;
	bool searchable; /* its libraries can be looked at */

	const char *device; /* as it was named, or NULL */
	const char *amd;    /* that device as an AMD target, or NULL */
	struct mpk_cuda_place cuda;
};

/* What was looked at. */
struct mpk_check_item {
	const char *name;    /* "glibc" */
	const char *skipped; /* why it was not looked at; NULL: it was */
	const char *option;  /* what would have it looked at, "--glibc"; NULL: nothing would */
};

enum { MPK_CHECK_ITEMS = 11 };

/* An error that shows when functions are called. */
struct mpk_check_call {
	size_t finding;               /* its index in the report */
	const char *const *functions; /* as callers say them, sorted */
	size_t count;                 /* 0: nobody can tell which */
	struct mpk_check_call *next;
};

struct mpk_check_result {
	const char *file;              /* its name, not escaped; borrowed, as is */
	const struct mpk_there *there; /* what it was compared with */
	struct mpk_report
		report; /* errors: it does not load, or fails when called; warnings: it may */
	struct mpk_check_call *calls, *last_call; /* in the order of the report */
	size_t call_errors;         /* how many of the errors are such, left out or not */
	const char *const *failing; /* the functions of calls, sorted, each once */
	size_t failing_count;
	struct mpk_check_item items[MPK_CHECK_ITEMS];
	size_t item_count;
};

/* mpk_check_run - compare a file with a place
 * @map     the file, whose blob is read past its mapping
 * @result  zeroed; mpk_report_fini its report
 * @arena   receives what is read; texts of result live as long as it
 * Returns  MPK_OK, whatever was found; MPK_E_CORRUPT: the ELF file does not read; MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_result *result, struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_check_result: the findings, one a line, then the verdict and what it rests on; in JSON as
 * minspect-check.schema.json says */
extern const struct mpk_answer mpk_answer_check;

#endif
