/* SPDX-License-Identifier: Apache-2.0 */
/* package.h - a manifest with everything it names: from files to the tree and its blob */
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
	size_t module;          /* index in the manifest */
	struct mpk_pos pos;     /* its position in the manifest */
};

/* An input file, open until the package is closed. */
struct mpk_file {
	struct mpk_mapping map;
	const char *path;
	const struct mpk_code_info *code; /* as its reader found it; NULL: not read */
	struct mpk_file *next;
};

/* Zero-initialise; fill with mpk_package_load; mpk_package_close. Everything but the
 * open files is in the arena of load. */
struct mpk_package {
	struct mpk_manifest manifest;
	struct mpk_tree tree;
	const size_t
		*node_module; /* for each node its index in the manifest; SIZE_MAX: host code */
	bool needs_blob;      /* false: host code alone, for which TVM writes no blob */
	struct mpk_rope blob; /* its bytes, header included; large payloads are file ranges */
	const struct mpk_host_source *sources; /* sources of the modules that root reaches, in
					        * order */
	size_t source_count;
	struct mpk_words libraries;        /* words for the linker, which mpk_manifest_allows */
	const struct mpk_launch *launches; /* launch functions, whose host code is generated */
	size_t launch_count;
	const struct mpk_called
		*called; /* the C functions that these call, in the order of the manifest */
	size_t called_count;
	const char *base;          /* the finished library that provides the code, or NULL */
	const char *const *inputs; /* every file read or named, in order, for --depfile */
	size_t input_count;
	struct mpk_file *files; /* the files that pieces of the blob are in */
};

/* A file in memory, in place of a file on disk. */
struct mpk_memory_file {
	const char *name;      /* as the manifest names it */
	struct mpk_span bytes; /* valid as long as the package */
};

struct mpk_package_input {
	struct mpk_span text; /* the manifest, TOML */
	const char *path;     /* the name for findings; paths in the manifest are relative to its
			       * folder */
	const enum mpk_generation *gen;  /* instead of the manifest's; NULL: the manifest's */
	const struct mpk_words *granted; /* more flags, as mpk_manifest_allows takes them; NULL:
					  * none */
	const struct mpk_memory_file
		*memory_files; /* searched before files of the same name; may be NULL */
	size_t memory_file_count;
};

/* mpk_package_load - read a manifest and every payload, build the tree and the blob
 * A file that cannot be read, a payload that is not what its format says and a kernel
 * that is not in it are findings with line and column of the manifest, like its own errors;
 * all of them are reported. Host sources and base are only looked for: what is in them is for the
 * compiler. Payloads are mapped, not read.
 * @arena   receives tree, small payloads and lists; must live as long as the package
 * @report  receives the findings
 * Returns  MPK_OK when report gained no errors; else the code of the first error, which err
 *          carries too: MPK_E_IO when files that cannot be read are all that is wrong, else
 *          MPK_E_SYNTAX, MPK_E_CORRUPT or MPK_E_CONFLICT; MPK_E_NOMEM. *out is to be
 *          closed in every case. */
enum mpk_code mpk_package_load(const struct mpk_package_input *input, struct mpk_arena *arena,
			       struct mpk_report *report, struct mpk_package *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_package_close - close the payload files; ends the life of blob and tree. Safe on a
 * zeroed or closed package. */
void mpk_package_close(struct mpk_package *package);

/* --- the host code that a package gets besides its own: launch functions and the entry, as source texts --- */

enum { MPK_GENERATED_MAX = 7 };

/* A source or object that is in no file. */
struct mpk_generated {
	const char *name; /* "launch.ll": the suffix tells the kind; static storage */
	struct mpk_span text;
};

/* The names of all texts that mpk_generate makes; ended by NULL. */
extern const char *const mpk_generated_names[];

struct mpk_generate_options {
	bool via_c;      /* launch functions as C, else as LLVM IR */
	bool has_loader; /* a standalone package gets its loader as objects for this machine, else
			  * as C */
	bool system_lib;
	bool only_check; /* refuse what a build would refuse, without the code of launch functions:
			     * it is a hundred times as long as their rows of the manifest */
	const char *prefix; /* prefix for the symbols of a system library; "" */
};

/* mpk_generate - the sources of a package's launch functions, and of its entry
 * @out     receives up to MPK_GENERATED_MAX sources, their text in arena, objects in static storage
 * @count   0 for a package without either
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, MPK_E_CONFLICT (kernels a standalone package
 *          cannot hold, a standalone system library, an entry of a system library); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_generated out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- a library that carries its executor --- */

struct mpk_standalone_input {
	struct mpk_span
		library; /* a finished shared library with a blob, of any generation; borrowed as
			  * long as the plan */
	const char *executor; /* version of the run library */
	struct mpk_span
		archive; /* symbols of the run library, where the library's objects can be linked
			  * beside it; empty otherwise */
	bool is_linked;  /* the objects are linked, and only other content is planned */
	bool compress;   /* compress pieces of the model that zstd makes smaller by a tenth */
};

struct mpk_standalone_plan {
	struct mpk_rope
		model; /* the content of MPK_STANDALONE_SYMBOL (standalone/standalone.h); in the arena */
	struct mpk_span source; /* C source of the functions, and of a table of the host code's
				 * symbols */
	const char *unlinked;   /* a sentence: why the objects are not linked in; NULL: they are, or
			   * there are none */
	bool needs_cxx;         /* the objects need the C++ libraries */
	bool has_state; /* its models call builtins of caches and other states, which it exports, too */
	bool is_cpu;    /* its models are of the Relax VM, and none of its code is for a device */
	bool is_packed; /* the source calls zstd */
	const char *packing; /* with compress: a sentence, why it does not pay; NULL */
};

/* mpk_standalone_plan - what a standalone library is linked of, besides the archive of the run library
 * It exports a function for each function of the library's models, in the convention of the current tvm-ffi, with
 * metadata and documentation; where there is no model, one for each host function. For models with state also the
 * builtins that whoever calls them needs between their calls.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: an archive, a library that is standalone already, a function whose
 *          name is no symbol; MPK_E_NO_BLOB; MPK_E_NOTFOUND: no function; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_standalone_plan(const struct mpk_standalone_input *input, struct mpk_arena *arena,
				  struct mpk_standalone_plan *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* --- the way back: from a module tree to a manifest with its payload files --- */

/* The name of the manifest, and the copy of the library that provides the host code. */
#define MPK_UNPACK_MANIFEST "mpack.toml"
#define MPK_UNPACK_BASE "base.so"

struct mpk_unpack_input {
	const struct mpk_tree *tree; /* the tree that was read from blob */
	struct mpk_span blob;        /* header included; what follows nbytes is ignored */
	const char *name;            /* name of the package; characters that names do not allow are
				      * replaced */
	struct mpk_span library;     /* the finished library with the host code; empty: the code is
				      * not available, and host modules get no sources */
	const struct mpk_memory_file *objects; /* instead of a library: objects and C sources with
					        * the code, and their names */
	size_t object_count;
	const char *target; /* triple of the objects, when they are for another machine; or NULL */
	bool has_tvm_headers; /* a source includes headers of TVM, which a compiler must be able to find */
	bool standalone; /* the library contains its own loader */
	bool compress;   /* the library also contains a compressed model */
	bool host_only;  /* there is no blob: tree is one _lib, and objects are all there is */
};

struct mpk_unpack {
	const struct mpk_memory_file *files; /* the manifest is the last of them */
	size_t count;
	const char *const *notes; /* sentences: why a module stayed a payload */
	size_t note_count;
};

/* mpk_unpack_plan - files that mpk_package_load turns back into the same blob, byte for byte
 * One folder a module, "<index>-<kind>", as minspect --extract names them. Device modules
 * become format, code and kernel table, graph and AOT executors their graph and
 * parameters, wherever that gives the same payload again; every other module is its
 * payload as it is. The package is rebuilt in memory and compared before this returns.
 * @arena   receives the list, names and what was made; other contents are views of the input
 * Returns  MPK_OK; MPK_E_UNSUPPORTED, with the reason, for a blob that no manifest gives:
 *          modules that could not be read or that nothing imports, no import tree (TVM 0.7
 *          and older), a kind that cannot be said; MPK_E_NOMEM */
enum mpk_code mpk_unpack_plan(const struct mpk_unpack_input *input, struct mpk_arena *arena,
			      struct mpk_unpack *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- a manifest from files: `mpack init` --- */

/* What files tell is filled in: modules, kernel tables, launch functions. What only a person knows, sizes
 * above all, is assumed so that the manifest builds, and marked "decide". What no runtime could call is
 * left out, in a comment that says why. */

struct mpk_init_file {
	const char *path; /* path for the manifest */
	struct mpk_span bytes;
};

/* mpk_init_manifest - append a manifest that packs the files
 * @files   kernels (OpenCL C, CUDA C++, PTX, cubins, fatbins, SPIR-V and other code of devices), host
 *          code (.c .cc .cpp .cxx .ll .bc .o .a) and at most one finished library with a blob
 * @arena   scratch
 * Returns  MPK_OK: what was appended builds, as far as the files themselves do; with the file in err:
 *          MPK_E_UNSUPPORTED (no code of a kind that manifests take, a library without a blob, a
 *          library alone, two of them, no kernel that a runtime can launch), MPK_E_CORRUPT,
 *          MPK_E_SYNTAX, MPK_E_CONFLICT (code that does not read); MPK_E_NOMEM */
enum mpk_code mpk_init_manifest(const struct mpk_init_file *files, size_t count,
				struct mpk_arena *arena, struct mpk_strbuf *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* --- for `mpack edit`: other payloads in a tree that was read, and other device code in the place of
 * code that a library has beside its blob --- */

/* Set tree and arena, the rest zero; everything lives in the arena. */
struct mpk_swap {
	struct mpk_tree *tree; /* the tree, whose nodes get contents (blob/blob.h) */
	struct mpk_arena *arena;
	struct mpk_kernels **kernels; /* for nodes whose kernels are swapped one by one */
};

/* mpk_swap_payload - give one module, or one kernel of it, the bytes of a file
 * Of device code the code is swapped and its kernel table kept; of any other kind the
 * file is the whole payload. The bytes are checked: code against the stored format,
 * payloads of known kinds against their layout.
 * @what    "/0/1", as mpk_tree_path prints it; "/0/1#NAME" for one kernel of those kinds
 *          that keep each by itself (metal, vulkan, webgpu)
 * @file    borrowed until the tree is written; name is what messages call it
 * Returns  MPK_OK; MPK_E_USAGE: no such module or kernel, host code, swapped twice;
 *          MPK_E_CORRUPT and what readers find, with the file's name; MPK_E_UNSUPPORTED for
 *          one file where there are several, or the other way round; MPK_E_NOMEM */
enum mpk_code mpk_swap_payload(struct mpk_swap *s, const char *what, const struct mpk_mapping *file,
			       const char *name, struct mpk_error *err) MPK_MUST_CHECK;

/* The prefix that names such code on a command line: "cubin:my_kernels". */
#define MPK_SWAP_CODE "cubin:"

/* mpk_swap_code - put code into a library
 * Host code points at the place of the old code, so that the new one must fit there; what is left
 * of the room is zeroed, and nothing else of the file changes. It must be what CUDA's driver loads, and
 * read as such. A kernel that only the old code has is a warning: host code may ask for it by name.
 * @image   of the library or object
 * @file    its bytes, which are changed; nothing of them on failure
 * @what    "cubin:NAME"
 * @bytes   the new code; name is what messages call it
 * @report  receives the warnings
 * Returns  MPK_OK; MPK_E_USAGE: there is no such code; MPK_E_RANGE: it does not fit; MPK_E_CORRUPT and
 *          what readers find, with the name; MPK_E_NOMEM */
enum mpk_code mpk_swap_code(const struct mpk_image *image, const struct mpk_private *file,
			    const char *what, struct mpk_span bytes, const char *name,
			    struct mpk_arena *arena, struct mpk_report *report,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
