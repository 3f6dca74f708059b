/* SPDX-License-Identifier: Apache-2.0 */
/* minspect.h - the options of minspect and its actions */
#ifndef MPK_CMD_MINSPECT_MINSPECT_H
#define MPK_CMD_MINSPECT_MINSPECT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "blob/blob.h"
#include "common/options.h"
#include "elf/image.h"
#include "io/mapping.h"
#include "toolchain/toolchain.h"

struct minspect_options;

/* What an action does: .action of its row in options.c. */
struct mpk_action {
	int (*act)(const struct minspect_options *o);
	bool inspects; /* nothing of FILE is executed, so the sandbox can be entered */
	bool alone;    /* it takes no FILE */
};

/* Everything a command line of minspect can say; filled from the table in options.c.
 * Texts are as the user typed them, NULL when the option was not given: the action that
 * uses one parses it. */
struct minspect_options {
	/* actions; main.c sees that there is at most one. Each is a row with .action. */
	bool functions, verify, size, check, svg, code_digest, occupancy, stats, model_memory;
	const char *extract, *diff, *header, *run, *cases, *show, *disasm, *explain;
	const char *html, *dot;
	struct mpk_option_list sources; /* --html */
	const char *times;              /* --html */

	const char *json_form; /* "": one document; "lines": one document for each file, in one
			        * line */
	bool json, json_lines; /* what that says */
	bool call_metadata;    /* --functions */
	const char *max_memory;
	const char *budget;                   /* --size */
	const char *memory_budget;            /* --check --memory */
	struct mpk_option_list shapes;        /* --shape */
	const char *ignore;                   /* --diff */
	bool csv;                             /* --size */
	bool markdown;                        /* --size, --diff */
	const char *baseline, *tolerance;     /* --baseline */
	bool update_baseline;                 /* --baseline */
	const char *machine, *glibc, *driver; /* --check */
	const char *only, *abi;               /* --check */
	bool own_code, strict, allow_part;    /* --check --device-arch */
	struct mpk_option_list releases, devices_there, libs, runtimes,
		provides;   /* --tvm, --device-arch, ... */
	const char *digest; /* --extract */
	bool raw;           /* --show */
	const char *pubkey; /* --verify */
	const char *sbom, *attestation, *builder;

	/* --run and --cases */
	struct mpk_option_list arguments; /* --input and --out, in their common order;
					   * items[i].option->name says which */
	struct mpk_option_list expects;   /* --expect */
	struct mpk_option_list outputs;   /* -o, --output; empty where it named the value of an
					   * action, "html FILE -o OUT" */
	const char *device, *atol, *rtol, *repeat, *warmup, *timeout;
	const char *params;
	const char *profile, *dump, *compare;
	bool trace, force, isolate;
	const char *grid, *block, *shared, *tvm_ffi, *junit;
	struct mpk_option_list provide; /* --provide */
	struct mpk_option_list filters; /* --filter */
	bool full;                      /* --run */
	bool all, spills;               /* --functions */
	const char *sort, *top;
	bool tap, no_skip, devices;

	/* operands */
	char **files;
	size_t file_count;
	const size_t
		*folder_lens; /* for each file, the bytes of its name that are the folder in which
			      * it was found; 0: it was named itself. NULL: no folders */
};

extern const struct mpk_command minspect_command;

/* The one command line of this process; what the table's rows point into. */
extern struct minspect_options minspect_options;

/* One input file, opened: its bytes, what it is, and its module tree. */
struct minspect_file {
	const char *name; /* as the user typed it */
	struct mpk_mapping map;
	struct mpk_span bytes; /* the inspected bytes: those of map, or a member of a zip archive */
	bool in_zip;           /* a member was named: "app.whl!/lib.so" */
	bool borrows_map;      /* map belongs to the archive that it was opened from */
	struct mpk_demand *demand; /* NULL, or bytes belong to a member that is unpacked in parts */
	uint64_t member_bytes; /* bytes that an unpacked member counts for minspect_memory_grow */
	/* of a zip archive named without a member: libraries, recognised by name, and GPU code,
	 * by its bytes */
	const struct mpk_zip_member *libraries;
	size_t library_count, device_count; /* number of both, and of GPU code */
	struct mpk_arena arena;
	struct mpk_image image;
	struct mpk_tree tree; /* when image.has_blob */
	bool member_alone;    /* a member was named: "lib.a(devc.o)" */
	bool is_weights;      /* a file of weights: what bytes hold is read by formats/weights */
	/* for objects that were linked to be called: everything else belongs to the linked
	 * library */
	struct mpk_loadable loadable;
};

/* minspect_file_open - open FILE, also "lib.a(devc.o)", "app.whl!/pkg/lib.so" and "-"
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a file of weights, with is_weights and bytes filled; MPK_E_NO_BLOB when there is neither a blob nor a function in it, with
 *          everything else filled, and for a zip archive without a name in it when libraries is
 *          filled; else as mpk_mapping_open, mpk_image_open and
 *          mpk_blob_read say, the error carrying the file's name.
 *          minspect_file_close in every case. */
enum mpk_code minspect_file_open(const char *name, struct minspect_file *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
void minspect_file_close(struct minspect_file *file);

/* minspect_file_open_library - the same for a library of an archive that is open, which stays open longer: the
 * archive is not read again for each
 * @name    minspect_zip_member of it
 * @in_parts  a large library is unpacked only where it is read; bytes are then what mpk_demand_start returns, and not
 *          to be handed to system calls
 */
enum mpk_code minspect_file_open_library(const struct minspect_file *archive, size_t library,
					 const char *name, bool in_parts, struct minspect_file *out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* Of zip archives; minspect_file_open uses them.
 * minspect_zip_split - *path: of the archive or file; *inner: what is named in it, NULL: nothing
 * minspect_zip_enter - make f->bytes those of what is named in the archive that they are
 * @object  receives "devc.o" of "lib.a(devc.o)", else untouched
 * Returns  MPK_OK; as mpk_zip_list, mpk_zip_find and mpk_zip_read; MPK_E_UNSUPPORTED: it is no archive
 * minspect_is_zip - whether a path is that of a zip archive, by its first bytes
 * minspect_zip_read - make f->bytes those of a member of the archive that they are
 * minspect_zip_open - the same; in parts if it is large (minspect_file_open_library)
 * minspect_zip_list - fill f->libraries
 * minspect_zip_member - the name of one on a command line, in arena; NULL: memory is out */
enum mpk_code minspect_zip_split(struct minspect_file *f, const char **path, const char **inner,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code minspect_zip_enter(struct minspect_file *f, const char *inner, const char **object,
				 struct mpk_error *err) MPK_MUST_CHECK;
bool minspect_is_zip(const char *path);
enum mpk_code minspect_zip_read(struct minspect_file *f, const struct mpk_zip_member *m,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code minspect_zip_open(struct minspect_file *f, const struct mpk_zip_member *m,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code minspect_zip_list(struct minspect_file *f, struct mpk_error *err) MPK_MUST_CHECK;
char *minspect_zip_member(const struct minspect_file *f, size_t i, struct mpk_arena *arena);

/* minspect_zip_each - call one with the name of each library, "app.whl!/pkg/lib.so"
 * @action  for a message: "extract"; @single   it takes one library alone
 * @one     returns an exit status, or -1 for a library that holds nothing
 * Returns  the first exit status that is not 0; MPK_EXIT_NO_BLOB after a message when none holds anything */
int minspect_zip_each(const struct minspect_file *archive, const char *action, bool single,
		      int (*one)(const struct minspect_file *archive, size_t library,
				 const char *name, void *arg),
		      void *arg);

/* As much of a file as is looked at to see whether it is one to look into. */
enum { MINSPECT_HEAD_BYTES = 4096 };

/* Files that are found in folders. Zero-initialise; minspect_found_fini. */
struct minspect_found {
	char **items;        /* malloc'ed */
	size_t *folder_lens; /* as those of the options */
	size_t count, cap, len_cap;
};

/* minspect_folder_walk - add the files below a folder that are to be looked at, in the order of their paths
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code minspect_folder_walk(const char *path, struct minspect_found *found,
				   struct mpk_error *err) MPK_MUST_CHECK;
void minspect_found_fini(struct minspect_found *found);

/* minspect_folders_expand - put the files below folders that are named in the place of these
 * Returns  an exit status, after a message when it is not MPK_EXIT_OK */
int minspect_folders_expand(struct minspect_options *o);

/* minspect_memory_parse - understand --max-memory, and limit nothing yet
 * Returns  an exit status, after a message when it is not MPK_EXIT_OK
 * minspect_memory_given - what it said, bytes; 0: nothing, or "none" */
int minspect_memory_parse(const char *max_memory);
uint64_t minspect_memory_given(void);

/* minspect_memory_init - before an action that inspects: understand --max-memory
 * Returns  an exit status, after a message when it is not MPK_EXIT_OK */
int minspect_memory_init(const char *max_memory);

/* minspect_memory_grow - so many bytes more are going to be inspected: the limit rises by what they
 * may take. Nothing before minspect_memory_init: --run has no limit. */
void minspect_memory_grow(uint64_t file_bytes);

/* minspect_memory_shrink - so many bytes are no longer inspected */
void minspect_memory_shrink(uint64_t file_bytes);

/* minspect_memory_release - no limit until the next minspect_memory_grow: how much will come out of a
 * pipe, nobody knows before */
void minspect_memory_release(void);

/* Actions: they get the parsed command line and return an exit status. */
int minspect_show(const struct minspect_options *o);
int minspect_part(const struct minspect_options *o);
int minspect_disasm(const struct minspect_options *o);
int minspect_functions(const struct minspect_options *o);
int minspect_size(const struct minspect_options *o);
int minspect_diff(const struct minspect_options *o);
int minspect_code_digest(const struct minspect_options *o);
int minspect_occupancy(const struct minspect_options *o);
int minspect_model_memory(const struct minspect_options *o);
int minspect_baseline(const struct minspect_options *o);
int minspect_extract(const struct minspect_options *o);

/* minspect_code_digest_prepare - before the sandbox: load what computes SHA-256, for --code-digest and
 * --diff --ignore=noise */
void minspect_code_digest_prepare(const struct minspect_options *o);

/* minspect_disasm_take_name - "--disasm vadd deploy.so": the first operand is the name, unless there is such
 * a file */
void minspect_disasm_take_name(struct minspect_options *o);

/* minspect_disasm_prepare - before the sandbox: start what --disasm and --html may need
 * minspect_disasm_take - those helpers, for --html
 * Returns  MPK_OK; why they could not be started
 * minspect_disasm_end - end them */
struct mpk_disasm;
void minspect_disasm_prepare(const struct minspect_options *o);
enum mpk_code minspect_disasm_take(struct mpk_disasm **out, struct mpk_error *err) MPK_MUST_CHECK;
void minspect_disasm_end(void);

/* minspect_extract_prepare - before the sandbox: load what computes the digest that --extract wants */
void minspect_extract_prepare(const struct minspect_options *o);

/* minspect_verify_prepare - before the sandbox: read the keys of --pubkey, load what checks signatures and checksums
 * Returns  an exit status, after a message when it is not MPK_EXIT_OK */
int minspect_verify_prepare(const struct minspect_options *o);
int minspect_verify(const struct minspect_options *o);

/* minspect_bom_prepare - before the sandbox: load what computes the digests of --sbom */
void minspect_bom_prepare(const struct minspect_options *o);
int minspect_sbom(const struct minspect_options *o);
int minspect_attestation(const struct minspect_options *o);
int minspect_check(const struct minspect_options *o);
int minspect_header(const struct minspect_options *o);
int minspect_html(const struct minspect_options *o);
int minspect_svg(const struct minspect_options *o);
int minspect_dot(const struct minspect_options *o);
int minspect_run(const struct minspect_options *o);
int minspect_cases(const struct minspect_options *o);
int minspect_devices(const struct minspect_options *o);

#endif
