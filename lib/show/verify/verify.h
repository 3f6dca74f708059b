/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - minspect --verify: a table of named checks over one opened file
 *
 * A check uses what was already decoded and reports errors with the tree path and the offset. Its
 * name is stable: scripts and CI rely on it. Files that cannot be read at all never get here.
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

/* The origin of a view's bytes. */
struct mpk_verify_file {
	/* large data is read through windows of this file, since reading the mapping itself would
	 * count as memory */
	const struct mpk_mapping *map;
	/* receives the bytes of the blob as they are read; NULL if not needed */
	const struct mpk_tap *tap;
	bool skips_digest; /* skip the only check that reads the whole blob */
	/* one of these must have signed the file; NULL if no signature is required */
	const struct mpk_public_keys *keys;
};

/* The place of a finding; any field may be unset. */
struct mpk_verify_position {
	const char *space; /* what offset refers to: "blob", "file" */
	uint64_t offset;   /* bytes */
	const char *path;  /* tree path or symbol */
};

struct mpk_verify {
	const struct mpk_view *view;
	const struct mpk_elf *elf;          /* NULL for a bare blob */
	const struct mpk_verify_file *file; /* NULL if bytes are in memory */
	struct mpk_arena *arena;            /* scratch memory */
	struct mpk_report *report;
	/* skip the hash table: the caller looks symbols up itself (elf/linking.h) */
	bool skips_hash;
	const char *check;                   /* name of the running check */
	struct mpk_verify_position position; /* position of the object it checks */
	struct mpk_span kernel; /* the kernel it checks; empty means the whole module */
};

struct mpk_code_piece; /* node_info.h */

/* A check is called once, for each module, for each device module that was decoded, or for each
 * piece of their code; exactly one of the functions is set. The position is that of the blob in its
 * file, the module's header, its payload, or the code. Checks of payloads and code must use only
 * the modules: they also run on modules about to be packed. */
struct mpk_check {
	const char *name; /* "blob-size" */
	const char *
		about; /* what holds if it finds nothing; check-messages copies it to minspect(1) */
	void (*whole)(struct mpk_verify *v);
	void (*node)(struct mpk_verify *v, const struct mpk_view_node *n);
	void (*kernels)(struct mpk_verify *v, const struct mpk_view_node *n);
	void (*code)(struct mpk_verify *v, const struct mpk_view_node *n,
		     const struct mpk_code_piece *piece);
	bool of_kernels; /* each of its findings is about one kernel */
};

/* The checks in the order they run; each array ends with a row whose name is NULL. */
extern const struct mpk_check mpk_checks_elf[], mpk_checks_dynamic[], mpk_checks_registration[];
extern const struct mpk_check mpk_checks_contents[], mpk_checks_payload[], mpk_checks_code[];

/* mpk_verify_offloading - part of the registration check: whether descriptors of the library v->elf
 * lead the runtimes of OpenMP and SYCL to its images */
void mpk_verify_offloading(struct mpk_verify *v);

/* mpk_verify_run - run every check
 * Reads the code unless a view did so before; it stays with the nodes.
 * @file    NULL if the view's bytes are in memory
 * @arena   scratch memory that lives as long as the report
 * Returns  MPK_OK, whatever was found; MPK_E_CORRUPT if the ELF file no longer opens;
 *          MPK_E_NOMEM */
enum mpk_code mpk_verify_run(const struct mpk_view *view, const struct mpk_verify_file *file,
			     struct mpk_arena *arena, struct mpk_report *report,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_kernels - run only the checks about kernels, and store their findings in the nodes:
 * the summary and --functions then show them
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_kernels(const struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_linking - run only the checks whether the dynamic linker can load a library; missing
 * symbols are not part of them
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_linking(const struct mpk_view *view, const struct mpk_elf *elf,
				 struct mpk_arena *arena, struct mpk_report *report,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_registered - run only the check whether runtimes get the code that a library, an
 * object or an archive registers
 * @elf     NULL if it is not an ELF file
 * Returns  MPK_OK, whatever was found; MPK_E_NOMEM */
enum mpk_code mpk_verify_registered(const struct mpk_view *view, const struct mpk_elf *elf,
				    struct mpk_arena *arena, struct mpk_report *report,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_payloads - run only the checks of payloads and code, which need no file */
enum mpk_code mpk_verify_payloads(const struct mpk_view *view, struct mpk_arena *arena,
				  struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_verify_contents - run the checks of payloads and code on modules before they are written
 * @tree    a constructed tree; nodes without content are skipped
 * @name    names the file in findings; offsets count from the beginning of the payload
 * @standalone  the library contains its own loader, which passes more types of arguments
 * @place   called for each finding with the index of its node, to set the place that the user
 *          knows; NULL: places as in --verify
 * Returns  MPK_OK, whatever was found; MPK_E_IO: a content cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_verify_contents(const struct mpk_tree *tree, const char *name, bool standalone,
				  struct mpk_report *report,
				  void (*place)(void *data, size_t node, struct mpk_error *error),
				  void *data, struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_finding: one line with place, severity, text and check name */
extern const struct mpk_answer mpk_answer_finding;

/* The result of --verify for one file. */
struct mpk_verified {
	const char *file;          /* name of the file, not escaped */
	struct mpk_report *report; /* sorted when it is printed */
	bool in_set;               /* one of several files: it has no line if there is no finding */
};

/* Printers of struct mpk_verified: one finding per line, then the verdict, "a.so: no errors" or
 * "a.so: 2 errors, 1 warning". Notes are only in verbose text, except that of a signature, which
 * follows the verdict. */
extern const struct mpk_answer mpk_answer_verify;

/* A finding of several files, or of one file in several places. */
struct mpk_verified_cause {
	enum mpk_severity severity;
	const char *check, *text;
	const char *first, *place; /* the first file with the finding, and the place in it or "" */
	const char *last;          /* file */
	size_t count, files;
};

/* Findings over several files. Zero-initialise, add files, free with mpk_verified_set_fini. */
struct mpk_verified_set {
	struct mpk_arena arena;
	struct mpk_strmap by_text;
	struct mpk_verified_cause
		*causes; /* malloc'ed, in the order of first occurrence; without notes */
	size_t cause_count, cause_cap;
	/* print the causes after the verdict, since there are too many findings to list */
	bool has_causes;
	size_t files;   /* number of files checked, including unreadable ones */
	uint64_t bytes; /* their total size */
	size_t errors, warnings;
	size_t bad_files, warned_files; /* numbers of files with an error, and with a warning */
	size_t unreadable;              /* number of files that could not be read */
};

/* mpk_verified_add - count the findings of one more file; the report is copied as far as needed.
 * The caller counts files and bytes
 * @file    not escaped
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_verified_add(struct mpk_verified_set *set, const char *file,
			       const struct mpk_report *report,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_verified_set_fini(struct mpk_verified_set *set);

/* Printers of struct mpk_verified_set: "5,000 files, 61.0 MiB: no errors", and with has_causes a
 * line for each cause; "verdict" in JSON is the same sentence */
extern const struct mpk_answer mpk_answer_verified;

/* mpk_verify_say - report a finding of the running check at its current position
 * mpk_verify_say_at - the same at another position */
void mpk_verify_say(struct mpk_verify *v, enum mpk_severity severity, const char *fmt, ...)
	MPK_PRINTF(3, 4);
void mpk_verify_say_at(struct mpk_verify *v, enum mpk_severity severity,
		       struct mpk_verify_position at, const char *fmt, ...) MPK_PRINTF(4, 5);

#endif
