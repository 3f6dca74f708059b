/* SPDX-License-Identifier: Apache-2.0 */
/* set.h - what --check found of several files together: a wheel, a folder, a list */
#ifndef MPK_CHECK_SET_H
#define MPK_CHECK_SET_H

#include "base/strmap.h"
#include "check/check.h"

/* What a library has for the device of a place. */
enum mpk_check_fit {
	MPK_CHECK_FIT_UNASKED,
	MPK_CHECK_FIT_NONE,  /* no code for GPUs */
	MPK_CHECK_FIT_ANY,   /* code for no particular GPU, which its driver compiles */
	MPK_CHECK_FIT_OTHER, /* for those of other makers alone */
	MPK_CHECK_FIT_YES,
	MPK_CHECK_FIT_PART, /* and that is an error */
	MPK_CHECK_FIT_NO,
	MPK_CHECK_FIT_SPARED, /* nothing, and other libraries of the set do in its place */
};

/* One file in one place. */
struct mpk_check_set_item {
	const char *file;
	size_t place;
	enum mpk_check_outcome outcome;
	const char *sentence; /* of that verdict */
	enum mpk_check_fit fit;
	struct mpk_check_gpu_counts counts;
	bool by_ptx;
	const char *path, *kernel, *targets; /* of the first that lacks code; NULL */
	uint64_t exports;
	bool is_extra; /* what it has is for newer or special GPUs alone, and nothing else speaks against it */
	size_t others; /* releases of the library that it stands for */
	size_t instead; /* the item of another release of the library, which is better; itself: there is none */
};

/* A finding of several files. */
struct mpk_check_set_cause {
	enum mpk_severity severity;
	const char *check, *text, *first,
		*last; /* text: without what its files have each for itself; files */
	size_t files;
	const char *path; /* where it is in each of them, a symbol or a place; "": in several */
	uint64_t symbols; /* of a library that is missing: of all files, found nowhere else */
};

/* What comes of all files on one device, which alternatives count for one of. */
struct mpk_check_set_device {
	const char *name; /* as it was named; NULL: none was */
	size_t yes, part, no, spared, any, other, by_ptx;
	const struct mpk_check_set_item *first_spared; /* NULL */
	const struct mpk_check_set_item *first;        /* that lacks code, NULL */
};

/* Zero-initialise; name, places, devices and arena are the caller's. */
struct mpk_check_set {
	const char *name;               /* of all, not escaped */
	const struct mpk_there *places; /* every release with every device, which vary first */
	size_t device_count;
	bool all;      /* every library and reason is shown */
	bool is_short; /* the answers of all files follow: no library and no reason is shown */
	struct mpk_arena *arena; /* receives the texts */

	struct mpk_check_set_item *items; /* malloc'ed */
	size_t count, cap, files;
	struct mpk_check_set_cause *causes; /* malloc'ed, in the order in which they came */
	size_t cause_count, cause_cap;
	struct mpk_strmap by_text;
	struct mpk_check_set_device *devices; /* in arena, once mpk_check_set_sum has run */
};

/* mpk_check_set_add - keep what is needed of a result
 * @place   index of the place it is for
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_check_set_add(struct mpk_check_set *set, const struct mpk_check_result *result,
				size_t place, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_set_sum - find the alternatives among the libraries, and count, once all are there
 * Libraries of one folder whose names differ in their last number alone, and which export the same functions, are
 * releases of one, of which a program loads one: the best of them decides for all. So do those whose paths differ in the
 * architecture that these name ("sm90/ops.so", "sm100/ops.so"). A library that is for newer or special GPUs alone, or
 * is named by another architecture, is spared where another library of the set runs.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_check_set_sum(struct mpk_check_set *set, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_set_outcome - the one verdict of all files
 * mpk_check_set_put_verdict - append its sentence, "does not run on sm_120: 2 of 14 libraries have no code for it" */
enum mpk_check_outcome mpk_check_set_outcome(const struct mpk_check_set *set);
void mpk_check_set_put_verdict(const struct mpk_check_set *set, struct mpk_strbuf *out);

void mpk_check_set_fini(struct mpk_check_set *set);

/* of struct mpk_check_set: the verdict, a line for each of several devices, the libraries that are not served, reasons
 * with their number of files; in JSON "devices" of the document */
extern const struct mpk_answer mpk_answer_check_set;

#endif
