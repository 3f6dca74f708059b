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

/* Properties of an action; .action of its row in options.c. */
struct mpk_action {
	int (*act)(const struct minspect_options *o);
	bool inspects; /* no code of FILE is executed, so the sandbox can be entered */
	bool alone;    /* it takes no FILE */
};

/* All settings of a command line of minspect, filled through the table in options.c. Texts are
 * unparsed, NULL if the option was not given; the action that
 * uses a text parses it. */
struct minspect_options {
	/* actions, of which main.c allows at most one; each has a row with .action */
	bool functions, verify, size, check, svg, code_digest, occupancy, stats, model_memory;
	const char *extract, *diff, *header, *run, *cases, *show, *disasm, *explain;
	const char *html, *dot;
	struct mpk_option_list sources; /* --html */
	const char *times;              /* --html */

	/* "": one document; "lines": one document for each file, each on one line */
	const char *json_form;
	bool json, json_lines; /* parsed from json_form */
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
	/* --input and --out, in their common order; items[i].option->name tells them apart */
	struct mpk_option_list arguments;
	struct mpk_option_list expects; /* --expect */
	/* -o, --output; empty if it gave the output of an action, "html FILE -o OUT" */
	struct mpk_option_list outputs;
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
	/* for each file, the length of the folder's part in its name if the file was found in a
	 * folder; 0 if the user named it. NULL if there are no folders */
	const size_t *folder_lens;
};

extern const struct mpk_command minspect_command;

/* The command line of this process; the option table points into it. */
extern struct minspect_options minspect_options;

/* An opened input file: its bytes, its format, and its module tree. */
struct minspect_file {
	const char *name; /* the name that the user gave */
	struct mpk_mapping map;
	struct mpk_span bytes; /* the inspected bytes: those of map, or a member of a zip archive */
	bool in_zip;           /* the user named a member: "app.whl!/lib.so" */
	bool borrows_map;      /* map belongs to the archive from which the file was opened */
	/* set if bytes belong to a member that is unpacked in parts; else NULL */
	struct mpk_demand *demand;
	uint64_t member_bytes; /* bytes of an unpacked member that minspect_memory_grow counted */
	/* for a zip archive named without a member: its libraries, recognised by name, and GPU
	 * code, recognised by content */
	const struct mpk_zip_member *libraries;
	size_t library_count, device_count; /* number of both, and of GPU code only */
	struct mpk_arena arena;
	struct mpk_image image;
	struct mpk_tree tree; /* set if image.has_blob */
	bool member_alone;    /* the user named a member: "lib.a(devc.o)" */
	bool is_weights;      /* a file of weights, which formats/weights reads */
	/* set for objects that were linked in order to call them; all other fields then describe
	 * the linked library */
	struct mpk_loadable loadable;
};

/* minspect_file_open - open FILE, which may be "lib.a(devc.o)", "app.whl!/pkg/lib.so" or "-"
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a file of weights, with is_weights and bytes set;
 *          MPK_E_NO_BLOB if it has neither a blob nor a function, with everything else set;
 *          MPK_E_NO_BLOB also for a zip archive named without a member, if libraries is set; else
 *          as mpk_mapping_open, mpk_image_open and mpk_blob_read. Errors have the file's name.
 *          Call minspect_file_close in every case. */
enum mpk_code minspect_file_open(const char *name, struct minspect_file *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
void minspect_file_close(struct minspect_file *file);

/* minspect_file_open_library - open a library of an open archive, without reading the archive
 * again; the archive must stay open longer
 * @name    its name from minspect_zip_member
 * @in_parts  unpack a large library only where it is read; bytes are then those of
 *            mpk_demand_start, and must not be passed to system calls
 */
enum mpk_code minspect_file_open_library(const struct minspect_file *archive, size_t library,
					 const char *name, bool in_parts, struct minspect_file *out,
					 struct mpk_error *err) MPK_MUST_CHECK;

/* Helpers of minspect_file_open for zip archives.
 * minspect_zip_split - split a name: *path: the archive or file; *inner: the member, NULL if none
 * minspect_zip_enter - replace f->bytes, an archive, by the bytes of a member
 * @object  receives "devc.o" of "lib.a(devc.o)", else unchanged
 * Returns  MPK_OK; as mpk_zip_list, mpk_zip_find and mpk_zip_read; MPK_E_UNSUPPORTED: not an
 *          archive
 * minspect_is_zip - whether a file is a zip archive, by its first bytes
 * minspect_zip_read - replace f->bytes, an archive, by the bytes of the given member
 * minspect_zip_open - the same, but in parts if the member is large (minspect_file_open_library)
 * minspect_zip_list - fill f->libraries
 * minspect_zip_member - the name of a member on a command line, in arena; NULL if memory is out */
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
 * @action  name for a message: "extract"; @single   the action takes a single library
 * @one     returns an exit status, or -1 for a library without content of interest
 * Returns  the first exit status that is not 0; MPK_EXIT_NO_BLOB after a message if no library has
 *          content of interest */
int minspect_zip_each(const struct minspect_file *archive, const char *action, bool single,
		      int (*one)(const struct minspect_file *archive, size_t library,
				 const char *name, void *arg),
		      void *arg);

/* Bytes at the beginning of a file by which its format is recognised. */
enum { MINSPECT_HEAD_BYTES = 4096 };

/* Files found in folders. Zero-initialise; free with minspect_found_fini. */
struct minspect_found {
	char **items;        /* malloc'ed */
	size_t *folder_lens; /* as in struct minspect_options */
	size_t count, cap, len_cap;
};

/* minspect_folder_walk - add the files below a folder that have a known format, in the order of
 * their paths
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code minspect_folder_walk(const char *path, struct minspect_found *found,
				   struct mpk_error *err) MPK_MUST_CHECK;
void minspect_found_fini(struct minspect_found *found);

/* minspect_folders_expand - replace each folder of the command line by the files below it
 * Returns  an exit status, after a message if it is not MPK_EXIT_OK */
int minspect_folders_expand(struct minspect_options *o);

/* minspect_memory_parse - parse --max-memory; sets no limit yet
 * Returns  an exit status, after a message if it is not MPK_EXIT_OK
 * minspect_memory_given - its value in bytes; 0 if not given, or "none" */
int minspect_memory_parse(const char *max_memory);
uint64_t minspect_memory_given(void);

/* minspect_memory_init - before an inspection: parse --max-memory and enable the limit
 * Returns  an exit status, after a message if it is not MPK_EXIT_OK */
int minspect_memory_init(const char *max_memory);

/* minspect_memory_grow - raise the limit for so many further input
 * bytes. Does nothing before minspect_memory_init: --run has no limit. */
void minspect_memory_grow(uint64_t file_bytes);

/* minspect_memory_shrink - lower the limit, since so many bytes are no longer inspected */
void minspect_memory_shrink(uint64_t file_bytes);

/* minspect_memory_release - remove the limit until the next minspect_memory_grow: the size of piped
 * input is unknown */
void minspect_memory_release(void);

/* The actions: they take the parsed command line and return an exit status. */
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

/* minspect_code_digest_prepare - before the sandbox: load the library for SHA-256, for
 * --code-digest and --diff --ignore=noise */
void minspect_code_digest_prepare(const struct minspect_options *o);

/* minspect_disasm_take_name - in "--disasm vadd deploy.so", take the first operand as the name,
 * unless it is a file */
void minspect_disasm_take_name(struct minspect_options *o);

/* minspect_disasm_prepare - before the sandbox: start the helpers for --disasm and --html
 * minspect_disasm_take - get those helpers, for --html
 * Returns  MPK_OK, or why they could not be started
 * minspect_disasm_end - end them */
struct mpk_disasm;
void minspect_disasm_prepare(const struct minspect_options *o);
enum mpk_code minspect_disasm_take(struct mpk_disasm **out, struct mpk_error *err) MPK_MUST_CHECK;
void minspect_disasm_end(void);

/* minspect_extract_prepare - before the sandbox: load the library for the digest that --extract
 * computes */
void minspect_extract_prepare(const struct minspect_options *o);

/* minspect_verify_prepare - before the sandbox: read the keys of --pubkey, load the libraries for
 * signatures and checksums
 * Returns  an exit status, after a message if it is not MPK_EXIT_OK */
int minspect_verify_prepare(const struct minspect_options *o);
int minspect_verify(const struct minspect_options *o);

/* minspect_bom_prepare - before the sandbox: load the library for the digests of --sbom */
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
