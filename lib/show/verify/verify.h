/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - minspect --verify: a table of named checks over one opened file
 *
 * A check sees what was decoded already and reports what is wrong, with the tree path
 * and the offset. Its name is stable: scripts and CI rely on it. What could not be read
 * at all never comes here.
 */
#ifndef MPK_VERIFY_VERIFY_H
#define MPK_VERIFY_VERIFY_H

#include "base/report.h"
#include "base/strmap.h"
#include "elf/reader.h"
#include "io/copy.h"
#include "io/mapping.h"
#include "model/view.h"
#include "trust/key.h"

/* Where the bytes of a view come from. */
struct mpk_verify_file {
	const struct mpk_mapping *map; /* what is large is read through windows of its file, as
					* the mapping itself would count as memory */
	const struct mpk_tap *tap;     /* sees what has been read of the blob; NULL: nobody does */
	bool skips_digest;             /* the one check that reads all of the blob is left out */
	/* one of them must have signed the file; NULL: nobody asks */
	const struct mpk_public_keys *keys;
};

/* Where a finding is; all may be missing. */
struct mpk_verify_position {
	const char *space; /* what offset counts in: "blob", "file" */
	uint64_t offset;   /* bytes */
	const char *path;  /* tree path or symbol */
};

struct mpk_verify {
	const struct mpk_view *view;
	const struct mpk_elf *elf;          /* NULL for a bare blob */
	const struct mpk_verify_file *file; /* or NULL */
	struct mpk_arena *arena;            /* scratch */
	struct mpk_report *report;
	bool skips_hash;   /* whoever asks looks for symbols itself (elf/linking.h) */
	const char *check; /* the one that runs */
	struct mpk_verify_position position; /* what it looks at */
	struct mpk_span kernel;              /* the one that it looks at; empty: the whole module */
};

struct mpk_code_piece; /* node_info.h */

/* A check is called once, for each module, for each device module that decoded, or for
 * each run of their code; one of these is set. The position is that of the blob in its file,
 * the module's header, its payload, the code. Those of payloads and code see the modules alone:
 * what is about to be packed goes through them, too. */
struct mpk_check {
	const char *name; /* "blob-size" */
	const char *
		about; /* what is so where it finds nothing; check-messages copies it to minspect(1) */
	void (*whole)(struct mpk_verify *v);
	void (*node)(struct mpk_verify *v, const struct mpk_view_node *n);
	void (*kernels)(struct mpk_verify *v, const struct mpk_view_node *n);
	void (*code)(struct mpk_verify *v, const struct mpk_view_node *n,
		     const struct mpk_code_piece *piece);
	bool of_kernels; /* its findings are about kernels, one each */
};

/* The checks in the order they run; each array ends with a row whose name is NULL. */
extern const struct mpk_check mpk_checks_elf[], mpk_checks_dynamic[], mpk_checks_registration[];
extern const struct mpk_check mpk_checks_contents[], mpk_checks_payload[], mpk_checks_code[];

/* mpk_verify_offloading - a part of that of registration: descriptors of a library, v->elf, lead the runtimes of OpenMP and
 * SYCL to its images */
void mpk_verify_offloading(struct mpk_verify *v);

/* mpk_verify_run - run every check
 * What the code says is read unless a view asked before, and stays with the nodes.
 * @file    NULL: the view's bytes are in memory
 * @arena   scratch memory that lives as long as the report
 * Returns  MPK_OK, whatever was found; MPK_E_CORRUPT when the ELF file no longer opens;
 *          MPK_E_NOMEM */
enum mpk_code mpk_verify_run(const struct mpk_view *view, const struct mpk_verify_file *file,
			     struct mpk_arena *arena, struct mpk_report *report,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_kernels - run those alone whose findings are about kernels, and let the nodes have what
 * they find: the summary and --functions show it from then on
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_kernels(const struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_linking - run those alone that say whether the dynamic linker can load a library; symbols that it
 * does not find in it are no matter of loading
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_linking(const struct mpk_view *view, const struct mpk_elf *elf,
				 struct mpk_arena *arena, struct mpk_report *report,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_registered - run that alone which says whether runtimes get the code that a library, an
 * object or an archive registers with them
 * @elf     NULL: it is none
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_registered(const struct mpk_view *view, const struct mpk_elf *elf,
				    struct mpk_arena *arena, struct mpk_report *report,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_payloads - run those of payloads and code alone, which need no file */
enum mpk_code mpk_verify_payloads(const struct mpk_view *view, struct mpk_arena *arena,
				  struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_contents - run the checks of payloads and code on modules that are to be written
 * @tree    not read but made: of nodes with a content that is looked at, all others are passed by
 * @name    names the file in findings; their offsets count from the beginning of the payload
 * @standalone  the library brings its own loader, which passes more types of arguments
 * @place   called for each finding with the index of its node, to say where the user finds it;
 *          NULL: as --verify does
 * Returns  MPK_OK, whatever was found; MPK_E_IO: a content cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_verify_contents(const struct mpk_tree *tree, const char *name, bool standalone,
				  struct mpk_report *report,
				  void (*place)(void *data, size_t node, struct mpk_error *error),
				  void *data, struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_finding: a line, where, how bad, what, which check */
extern const struct mpk_answer mpk_answer_finding;

/* What --verify says of a file. */
struct mpk_verified {
	const char *file;          /* its name, not escaped */
	struct mpk_report *report; /* is sorted when it is printed */
	bool in_set;               /* one of several: without a finding it has no line */
};

/* of struct mpk_verified: the findings, one a line, then the verdict, "a.so: no errors" or "a.so: 2 errors,
 * 1 warning". Notes are in verbose text alone, but for that of a signature, which follows the verdict. */
extern const struct mpk_answer mpk_answer_verify;

/* A finding of several files, or of one in several places. */
struct mpk_verified_cause {
	enum mpk_severity severity;
	const char *check, *text;
	const char *first, *place; /* the first file that has it, and where in that; "" */
	const char *last;          /* file */
	size_t count, files;
};

/* What was found in several files. Zero-initialise, add them, mpk_verified_set_fini. */
struct mpk_verified_set {
	struct mpk_arena arena;
	struct mpk_strmap by_text;
	struct mpk_verified_cause
		*causes; /* malloc'ed, in the order in which they came; notes are none */
	size_t cause_count, cause_cap;
	bool has_causes; /* they are put after the verdict: the findings are too many to be listed */
	size_t files;    /* that were looked at, unreadable ones included */
	uint64_t bytes;  /* of them */
	size_t errors, warnings;
	size_t bad_files, warned_files; /* that have an error, that have a warning */
	size_t unreadable;              /* could not be looked at */
};

/* mpk_verified_add - count what was found in one more file, which is kept as far as the set needs it; files and bytes the
 * caller counts
 * @file    not escaped
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_verified_add(struct mpk_verified_set *set, const char *file,
			       const struct mpk_report *report,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_verified_set_fini(struct mpk_verified_set *set);

/* of struct mpk_verified_set: "5,000 files, 61.0 MiB: no errors", and with has_causes a line for each cause; "verdict" in
 * JSON is the same sentence */
extern const struct mpk_answer mpk_answer_verified;

/* mpk_verify_say - report a finding of the check that runs, where it looks
 * mpk_verify_say_at - the same elsewhere */
void mpk_verify_say(struct mpk_verify *v, enum mpk_severity severity, const char *fmt, ...)
	MPK_PRINTF(3, 4);
void mpk_verify_say_at(struct mpk_verify *v, enum mpk_severity severity,
		       struct mpk_verify_position at, const char *fmt, ...) MPK_PRINTF(4, 5);

#endif
