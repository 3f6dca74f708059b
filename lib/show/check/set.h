/* SPDX-License-Identifier: Apache-2.0 */
/* set.h - results of --check for several files together: a wheel, a folder, a list */
#ifndef MPK_CHECK_SET_H
#define MPK_CHECK_SET_H

#include "base/strmap.h"
#include "check/check.h"

/* What code a library has for the target's device. */
enum mpk_check_fit {
	MPK_CHECK_FIT_UNASKED,
	MPK_CHECK_FIT_NONE,  /* no code for GPUs */
	MPK_CHECK_FIT_ANY,   /* code for no particular GPU, which its driver compiles */
	MPK_CHECK_FIT_OTHER, /* only code for GPUs of other makers */
	MPK_CHECK_FIT_YES,
	MPK_CHECK_FIT_PART, /* code for the device, but with a hole, which is an error */
	MPK_CHECK_FIT_NO,
	MPK_CHECK_FIT_SPARED, /* no code, but other libraries of the set serve the device */
};

/* The result for one file at one target. */
struct mpk_check_set_item {
	const char *file;
	size_t place;
	enum mpk_check_outcome outcome;
	const char *sentence; /* sentence of the verdict */
	enum mpk_check_fit fit;
	struct mpk_check_gpu_counts counts;
	bool by_ptx;
	/* of the first unit that lacks code; NULL if none does */
	const char *path, *kernel, *targets;
	uint64_t exports;
	bool is_extra; /* all its code is for newer or special GPUs, and there is no other error */
	size_t others; /* number of other releases that this file replaces */
	/* index of the better release of the same library; its own index if there is none */
	size_t instead;
};

/* A finding that several files have in common. */
struct mpk_check_set_cause {
	enum mpk_severity severity;
	const char *check, *text, *first,
		/* text: without the parts that differ from file to file; first, last: files */
		*last;
	size_t files; /* without the releases that a better one replaces */
	/* place of the finding, a symbol or a tree path, if it is the same in each file; else "" */
	const char *path;
	/* for a missing library: number of symbols found nowhere else, over all files */
	uint64_t symbols;
};

/* One finding of one file, which mpk_check_set_sum counts. */
struct mpk_check_set_finding {
	size_t cause, item; /* indices in causes and items */
	uint64_t symbols;
};

/* The result of all files on one device. Alternatives count as one file. */
struct mpk_check_set_device {
	const char *name; /* the name that the user gave; NULL if none */
	size_t yes, part, no, spared, any, other, by_ptx;
	const struct mpk_check_set_item *first_spared; /* NULL if none was spared */
	const struct mpk_check_set_item *first; /* first file that lacks code; NULL if none does */
};

/* Zero-initialise; the caller sets and owns name, places, devices and arena. */
struct mpk_check_set {
	const char *name; /* name of the set, not escaped */
	/* all combinations of releases and devices; the device varies fastest */
	const struct mpk_there *places;
	size_t device_count;
	bool all;      /* print every library and every reason */
	bool is_short; /* the results of all files follow, so print no library and no reason */
	struct mpk_arena *arena; /* receives the texts */

	struct mpk_check_set_item *items; /* malloc'ed */
	size_t count, cap, files;
	struct mpk_check_set_cause *causes; /* malloc'ed, in the order in which they were found */
	size_t cause_count, cause_cap;
	struct mpk_check_set_finding *findings; /* malloc'ed, in the order of items */
	size_t finding_count, finding_cap;
	struct mpk_strmap by_text;
	struct mpk_check_set_device *devices; /* in arena; filled by mpk_check_set_sum */
};

/* mpk_check_set_add - keep the needed parts of one result
 * @place   index of its target in places
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_check_set_add(struct mpk_check_set *set, const struct mpk_check_result *result,
				size_t place, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_set_sum - find alternatives among the libraries and count; call it after the last
 * mpk_check_set_add
 * Libraries of one folder are releases of one library if their names differ only in the last
 * number and they export the same functions. A program loads one of them, so the best one
 * decides for all. The same holds for paths that differ in an architecture only ("sm90/ops.so",
 * "sm100/ops.so"). A library only for newer or special GPUs, or named by another architecture,
 * is spared if another library of the set runs.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_check_set_sum(struct mpk_check_set *set, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_set_outcome - the verdict over all files
 * mpk_check_set_put_verdict - append its sentence, "does not run on sm_120: 2 of 14 libraries have
 * no code for it" */
enum mpk_check_outcome mpk_check_set_outcome(const struct mpk_check_set *set);
void mpk_check_set_put_verdict(const struct mpk_check_set *set, struct mpk_strbuf *out);

void mpk_check_set_fini(struct mpk_check_set *set);

/* Printers of struct mpk_check_set: the verdict, a line for each of several devices, the libraries
 * without code, the reasons with their number of files; in JSON the member "devices" of the
 * document */
extern const struct mpk_answer mpk_answer_check_set;

#endif
