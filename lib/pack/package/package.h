/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - loads a manifest with everything it names: from files to the module tree and its blob */
#ifndef MPK_PACKAGE_PACKAGE_H
#define MPK_PACKAGE_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "io/mapping.h"
#include "kernels/kernels.h"
#include "launch/launch.h"
#include "manifest/manifest.h"
#include "process/process.h"

/* Host code to compile or link. */
struct mpk_host_source {
	const char *path; /* path from here: the manifest's folder and the path written there */
	struct mpk_words flags; /* flags for its compiler, which mpk_manifest_allows */
	size_t module;          /* index of its module in the manifest */
	struct mpk_pos pos;     /* its position in the manifest */
};

/* An input file, open until the package is closed. */
struct mpk_file {
	struct mpk_mapping map;
	const char *path;
	const struct mpk_code_info *code; /* contents as its reader found them; NULL: not read */
	struct mpk_file *next;
};

/* A loaded package. Zero-initialise; fill with mpk_package_load; free with mpk_package_close.
 * Everything except the open files is in the arena that was passed to load. */
struct mpk_package {
	struct mpk_manifest manifest;
	struct mpk_tree tree;
	const size_t
		*node_module; /* for each node its index in the manifest; SIZE_MAX for host code */
	bool needs_blob; /* false: the package is only host code, for which TVM writes no blob */
	struct mpk_rope
		blob; /* bytes of the blob with its header; large payloads are file ranges */
	const struct mpk_host_source
		*sources; /* sources of the modules that root reaches, in order */
	size_t source_count;
	struct mpk_words libraries;        /* words for the linker, which mpk_manifest_allows */
	const struct mpk_launch *launches; /* launch functions, for which host code is generated */
	size_t launch_count;
	const struct mpk_called
		*called; /* C functions that they call, in the order of the manifest */
	size_t called_count;
	const char *base;          /* the finished library that provides the code; NULL */
	const char *const *inputs; /* every file that was read or named, in order, for --depfile */
	size_t input_count;
	struct mpk_file *files; /* the files that contain pieces of the blob */
};

/* A file in memory that replaces a file on disk. */
struct mpk_memory_file {
	const char *name;      /* its name in the manifest */
	struct mpk_span bytes; /* valid as long as the package */
};

struct mpk_package_input {
	struct mpk_span text; /* the manifest, TOML */
	const char *path; /* name for findings; paths in the manifest are relative to its folder */
	const enum mpk_generation *gen; /* generation that replaces the manifest's; NULL: the
					  * manifest's */
	const struct mpk_words
		*granted; /* additional flags, as for mpk_manifest_allows; NULL: none */
	const struct mpk_memory_file
		*memory_files; /* searched before files of the same name; may be NULL */
	size_t memory_file_count;
};

/* mpk_package_load - read a manifest and every payload, build the tree and the blob
 * Findings with line and column of the manifest are: its own errors, files that cannot be read,
 * payloads that are not in their stated format, and kernels that are not in their payload. All are
 * reported in one run. Host sources and base must exist but are not read, because the compiler does
 * that. Payloads are mapped.
 * @arena   receives tree, small payloads and lists; must live as long as the package
 * @report  receives the findings
 * Returns  MPK_OK if report gained no errors; else the code of the first error, which err has too:
 *          MPK_E_IO if unreadable files are the only errors, else MPK_E_SYNTAX, MPK_E_CORRUPT or
 *          MPK_E_CONFLICT; MPK_E_NOMEM. Close *out in every case. */
enum mpk_code mpk_package_load(const struct mpk_package_input *input, struct mpk_arena *arena,
			       struct mpk_report *report, struct mpk_package *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_package_close - close the payload files; blob and tree become invalid. A zeroed or closed
 * package is allowed. */
void mpk_package_close(struct mpk_package *package);

/* --- Generated host code of a package: launch functions and the entry, as source text --- */

enum { MPK_GENERATED_MAX = 7 };

/* A generated source or object, which is in no file. */
struct mpk_generated {
	const char *name; /* such as "launch.ll": the suffix tells the kind; static storage */
	struct mpk_span text;
};

/* The names of all texts that mpk_generate makes; the last is NULL. */
extern const char *const mpk_generated_names[];

struct mpk_generate_options {
	bool via_c;      /* generate launch functions as C instead of LLVM IR */
	bool has_loader; /* add the loader of a standalone package as objects for this machine
			  * instead of C */
	bool system_lib;
	bool only_check;    /* check everything that a build would refuse, but generate no launch
			  * functions: their code is a hundred times as long as their part of the
			  * manifest */
	const char *prefix; /* prefix for the symbols of a system library; "" */
};

/* mpk_generate - generate the sources of a package's launch functions and entry
 * @out     receives up to MPK_GENERATED_MAX sources; text is in arena, objects are in static
 *          storage
 * @count   0 if the package has neither
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, MPK_E_CONFLICT (kernels that a standalone package cannot
 *          contain, a standalone system library, an entry in a system library); MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_generated out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- A library that contains its executor --- */

struct mpk_standalone_input {
	struct mpk_span
		library; /* a finished shared library with a blob of any generation; borrowed as
			  * long as the plan */
	const char *executor; /* version of the run library */
	struct mpk_span
		archive; /* symbols of the run library, if the input's objects can be linked with
			  * it; else empty */
	bool is_linked;  /* the objects are already linked; plan only the other content */
	bool compress;   /* compress pieces of the model that zstd makes at least a tenth smaller */
};

struct mpk_standalone_plan {
	struct mpk_rope
		model; /* the content of MPK_STANDALONE_SYMBOL (standalone/standalone.h); in the arena */
	struct mpk_span source; /* C source of the functions, and of a table with the host code's
				 * symbols */
	const char *unlinked;   /* sentence that tells why the objects are not linked; NULL: they
				 * are, or there are none */
	bool needs_cxx;         /* the objects need the C++ libraries */
	bool has_state;      /* its models call builtins of caches and other states; it also exports
			 * these builtins */
	bool is_cpu;         /* it has only Relax VM models, and no code for a device */
	bool is_packed;      /* the source calls zstd */
	const char *packing; /* with compress: sentence that tells why compression does not pay;
			      * NULL */
};

/* mpk_standalone_plan - plan the content of a standalone library, besides the archive of the run
 * library
 * The library exports a function for each function of its models, in the current tvm-ffi
 * convention, with metadata and documentation. Without models it exports one for each host
 * function. For models with state it also exports the builtins that callers need between calls.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: an archive, a library that is already standalone, a function
 *          whose name cannot be a symbol; MPK_E_NO_BLOB; MPK_E_NOTFOUND: no function;
 *          MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_standalone_plan(const struct mpk_standalone_input *input, struct mpk_arena *arena,
				  struct mpk_standalone_plan *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* --- Unpacking: from a module tree to a manifest with payload files --- */

/* File name of the manifest, and of the copy of the library that provides the host code. */
#define MPK_UNPACK_MANIFEST "mpack.toml"
#define MPK_UNPACK_BASE "base.so"

struct mpk_unpack_input {
	const struct mpk_tree *tree; /* the tree that was read from blob */
	struct mpk_span blob;        /* with its header; bytes after nbytes are ignored */
	const char *name;            /* name of the package; invalid characters are replaced */
	struct mpk_span library;     /* the finished library with the host code; empty: the code is
				      * unavailable, and host modules get no sources */
	const struct mpk_memory_file *objects; /* instead of a library: objects and C sources with
					        * the host code */
	size_t object_count;
	const char *target;   /* target triple of objects for another machine; or NULL */
	bool has_tvm_headers; /* a source includes headers of TVM, which the compiler must find */
	bool standalone;      /* the library contains its own loader */
	bool compress;        /* the library also contains a compressed model */
	bool host_only; /* there is no blob: the tree is one _lib, and all code is in objects */
};

struct mpk_unpack {
	const struct mpk_memory_file *files; /* the last one is the manifest */
	size_t count;
	const char *const *notes; /* sentences that tell why a module was kept as a payload */
	size_t note_count;
};

/* mpk_unpack_plan - plan files that mpk_package_load turns into the same blob, byte for byte
 * Each module gets a folder "<index>-<kind>", as in minspect --extract. Device modules are split
 * into format, code and kernel table, graph and AOT executors into graph and parameters, provided
 * that these give the same payload again. Every other module is kept as its payload. Before it
 * returns, the function rebuilds the package in memory and compares.
 * @arena   receives the list, names and generated content; other content points into the input
 * Returns  MPK_OK; MPK_E_UNSUPPORTED with the reason, for a blob that no manifest can describe:
 *          unreadable modules, modules that nothing imports, no import tree (TVM 0.7 and older), a
 *          kind that a manifest cannot name; MPK_E_NOMEM */
enum mpk_code mpk_unpack_plan(const struct mpk_unpack_input *input, struct mpk_arena *arena,
			      struct mpk_unpack *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- Making a manifest from files: `mpack init` --- */

/* An input file. Modules, kernel tables and launch functions are derived from the files. Facts that
 * only the user knows, such as sizes, are guessed so that the manifest builds, and marked "decide".
 * Kernels that no runtime can call are omitted; a comment gives the reason. */

struct mpk_init_file {
	const char *path; /* path to write into the manifest */
	struct mpk_span bytes;
};

/* mpk_init_manifest - append a manifest that packs the files
 * @files   kernels (OpenCL C, CUDA C++, PTX, cubins, fatbins, SPIR-V and other device code), host
 *          code (.c .cc .cpp .cxx .ll .bc .o .a) and at most one finished library with a blob
 * @arena   scratch memory
 * Returns  MPK_OK: the manifest builds, as far as the files themselves are correct. With the file's
 *          name in err: MPK_E_UNSUPPORTED (code of a kind that manifests do not have, a library
 *          without a blob, a library without other files, two libraries, no kernel that a runtime
 *          can launch), MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_CONFLICT (invalid code); MPK_E_NOMEM */
enum mpk_code mpk_init_manifest(const struct mpk_init_file *files, size_t count,
				struct mpk_arena *arena, struct mpk_strbuf *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* --- For `mpack edit`: replacing payloads in a tree, and device code that a library has outside
 * its blob --- */

/* Set tree and arena, and the rest to zero; all memory is in the arena. */
struct mpk_swap {
	struct mpk_tree *tree; /* the tree; replaced content is stored in its nodes (blob/blob.h) */
	struct mpk_arena *arena;
	struct mpk_kernels **kernels; /* for nodes whose kernels are replaced one by one */
};

/* mpk_swap_payload - replace the payload of a module, or of one kernel in it, by a file
 * For device code only the code is replaced and the kernel table is kept. For other kinds the file
 * is the whole payload. The bytes are checked: code against the stored format, payloads of known
 * kinds against their layout.
 * @what    "/0/1", as mpk_tree_path prints it; "/0/1#NAME" for one kernel in kinds that store each
 *          kernel separately (metal, vulkan, webgpu)
 * @file    borrowed until the tree is written; name is for messages
 * Returns  MPK_OK; MPK_E_USAGE: no such module or kernel, host code, replaced twice; MPK_E_CORRUPT
 *          and errors of readers, with the file's name; MPK_E_UNSUPPORTED: one file for a module of
 *          several, or the reverse; MPK_E_NOMEM */
enum mpk_code mpk_swap_payload(struct mpk_swap *s, const char *what, const struct mpk_mapping *file,
			       const char *name, struct mpk_error *err) MPK_MUST_CHECK;

/* Prefix of names for such code on a command line: "cubin:my_kernels". */
#define MPK_SWAP_CODE "cubin:"

/* mpk_swap_code - replace device code in a library
 * Host code has the address of the old code, so the new code must fit there. The remaining bytes
 * are zeroed; the rest of the file does not change. The new code must be readable and loadable by
 * CUDA's driver. A warning is given for each kernel that only the old code has, because host code
 * may look it up by name.
 * @image   the code's place in the library or object
 * @file    bytes of the file, which are changed; not on failure
 * @what    "cubin:NAME"
 * @bytes   the new code; name is for messages
 * @report  receives the warnings
 * Returns  MPK_OK; MPK_E_USAGE: there is no such code; MPK_E_RANGE: it does not fit; MPK_E_CORRUPT
 *          and errors of readers, with the name; MPK_E_NOMEM */
enum mpk_code mpk_swap_code(const struct mpk_image *image, const struct mpk_private *file,
			    const char *what, struct mpk_span bytes, const char *name,
			    struct mpk_arena *arena, struct mpk_report *report,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
