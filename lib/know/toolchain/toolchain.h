/* SPDX-License-Identifier: Apache-2.0 */
/* toolchain.h - driving a C compiler, a linker and LLVM
 *
 * A compilation turns host sources into objects and links them. mpack adds the blob's object to
 * that; minspect needs no blob when it links objects to call them: an object, an archive and a .tar that TVM exported hold the
 * code of a library that nobody has linked yet. They are linked as TVM's own exporter would do it, into a file of ours
 * that is gone when the caller is, whatever ends it. The library that a standalone one carries is written there as it is. That is why this
 * room is below both.
 */
#ifndef MPK_TOOLCHAIN_TOOLCHAIN_H
#define MPK_TOOLCHAIN_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "elf/image.h"
#include "elf/target.h"
#include "io/mapping.h"
#include "io/output.h"
#include "process/process.h"

/* --- sources --------------------------------------------------------------------- */

enum mpk_source_kind {
	MPK_SOURCE_IR,      /* .ll, .bc: through LLVM */
	MPK_SOURCE_C,       /* .c: through cc */
	MPK_SOURCE_CXX,     /* .cc, .cpp, .cxx: through cxx, which then links, too */
	MPK_SOURCE_OBJECT,  /* .o */
	MPK_SOURCE_ARCHIVE, /* .a */
};

struct mpk_compile_source {
	const char *path; /* path for opening it; for a text, its name */
	enum mpk_source_kind kind;
	struct mpk_span text; /* IR, C or an object that is in no file; data NULL: read the file */
	struct mpk_words flags; /* flags for C and C++, before those of all sources */
};

/* mpk_source_classify - what a host source is, by its suffix
 * Returns  MPK_OK; MPK_E_UNSUPPORTED with the reason (a shared library, CUDA, unknown) */
enum mpk_code mpk_source_classify(const char *path, enum mpk_source_kind *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_source_check - whether an object or archive that somebody else compiled is for a machine
 * Returns  MPK_OK; MPK_E_CONFLICT naming both machines; MPK_E_CORRUPT; MPK_E_IO; MPK_E_NOMEM; with
 *          the file's name */
enum mpk_code mpk_source_check(const char *path, const struct mpk_target *target,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- tools ----------------------------------------------------------------------- */

/* Notices for the caller while tools work; none may be NULL. */
struct mpk_tool_hooks {
	void (*command)(void *data, const char *const *argv); /* before a tool is run */
	void (*step)(void *data, const char *text);           /* work done without a tool */
	void (*note)(void *data, const char *text);           /* a choice that was made */
	void *data;
};

/* The tools and their arguments. Borrowed. */
struct mpk_toolchain {
	struct mpk_target target;
	struct mpk_words cc;  /* the compiler driver, at least one word */
	struct mpk_words cxx; /* the driver for C++, at least one word where a source is C++ */
	struct mpk_words cflags, ldflags;
	struct mpk_words libraries; /* words such as "-lm", or paths of files; before ldflags */
	struct mpk_words headers;   /* include folders of the compiler */
	const char *dir;            /* folder of the manifest: absolute, or NULL */
	const char *dir_named; /* the same as prefix of the sources' paths: "sub/"; or "" or NULL */
	const char *cwd;       /* absolute, or NULL; none of these three gets into objects */
	unsigned jobs;         /* parallel child processes; 0 is 1 */
	const char *llvm;      /* path of libexec/mpack/llvm.so */
	int log;               /* descriptor for what tools print; 0: our standard error */
	bool lists_headers;    /* compilers write what they read, for mpk_headers_read */
	bool dry_run;          /* call the hooks, run and write nothing */
	bool links_cxx;        /* an object is of C++, whose driver links then */
	bool no_sandbox;       /* LLVM may do everything that this process may */
	bool sources_checked;  /* mpk_source_check was called for all sources, by a process with
			        * fewer rights */
	const struct mpk_tool_hooks *hooks;
};

/* A command, or a function of ours that uses LLVM, in a child process. */
struct mpk_job {
	struct mpk_process process; /* argv, or run: LLVM */
	const char *what;           /* for messages: "compiling glue.c" */
};

/* mpk_jobs_run - run all jobs, at most parallel at a time, started in order
 * After a failure no further job is started and those that run are waited for.
 * Returns  MPK_OK; the failure of the first (by order) job that failed: what run
 *          returned; MPK_E_TOOL for a tool that cannot be started, exits with another
 *          status than 0 or is killed, and for a run that crashes; MPK_E_IO, MPK_E_NOMEM:
 *          a process could not be made */
enum mpk_code mpk_jobs_run(const struct mpk_job *jobs, size_t count, unsigned parallel,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* --- a compilation --------------------------------------------------------------- */

/* A compilation of sources. The functions below fail with MPK_E_TOOL (a compiler or linker did),
 * MPK_E_IO, MPK_E_NOMEM, and as they say. */
struct mpk_compilation {
	const struct mpk_toolchain *tools;
	struct mpk_arena *arena;
	struct mpk_scratch scratch; /* scratch folder, which the caller opens and closes */
	const struct mpk_compile_source *sources;
	size_t source_count;
	const char *const *objects; /* for each source, the path of its object, or of the archive
				     * itself */
};

/* mpk_compile_c - the job that compiles a file of C or C++
 * @flags   of this file; NULL: none */
enum mpk_code mpk_compile_c(struct mpk_compilation *c, const char *source, const char *object,
			    const struct mpk_words *flags, struct mpk_job *job,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_llvm_job - a job that lets LLVM write an object, announced now
 * @name    of what is compiled, for messages; @from  the same where the step is announced */
enum mpk_code mpk_llvm_job(struct mpk_compilation *c, const char *name, const char *from,
			   const char *object, mpk_process_fn *run, void *data, struct mpk_job *job,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_llvm_confine - in a child that has loaded LLVM and opened what it reads: from now on it
 * writes to the scratch folder, and does nothing else */
void mpk_llvm_confine(const struct mpk_compilation *c);

/* mpk_compile_sources - compile all sources in parallel; fills c->objects
 * Checks the machines of objects that are there already, unless that was done.
 * @first   a job that is started before all others; NULL: none
 * Returns  MPK_E_CONFLICT, MPK_E_CORRUPT (as mpk_source_check), MPK_E_SYNTAX (IR), MPK_E_LOAD (no
 *          LLVM), too */
enum mpk_code mpk_compile_sources(struct mpk_compilation *c, const struct mpk_job *first,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_headers_read - the files that compilers read, sources and headers, each once; nothing of IR and objects
 * To be called when no process is started any more, since it reads what compilers wrote of files of the user's.
 * @scratch the folder of a compilation with lists_headers, not closed yet
 * @arena   receives the list
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_headers_read(const char *scratch, size_t source_count, struct mpk_arena *arena,
			       struct mpk_words *out, struct mpk_error *err) MPK_MUST_CHECK;

/* The prefix of functions that tvm-ffi finds, and the one in copied objects. */
#define MPK_FUNCTION_PREFIX "__tvm_ffi_"
#define MPK_FUNCTION_PREFIX_KEPT "__tvm_mpk_"

/* mpk_objects_keep - copies of the objects of a compilation for the link of another library, which has functions of its
 * own with the names that theirs have: N.o or, of an archive, N.a, from 0
 * Functions and variables that tvm-ffi looks up get another prefix, of the same length. An object of the blob alone is
 * left out. The objects are read in a process without rights.
 * @folder  empty. It stays so where objects cannot be used like that: no ELF, code of a link-time optimizer, a blob beside
 *          code or in an archive, names that share their bytes with others
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_IO; MPK_E_NOMEM; MPK_E_INTERNAL: that process crashed */
enum mpk_code mpk_objects_keep(const struct mpk_compilation *c, const char *folder,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* --- a link ---------------------------------------------------------------------- */

enum { MPK_BUILD_ID_BYTES = 16 };

/* A shared library of the objects of a compilation. */
struct mpk_link {
	const char *out;
	const char *last; /* an object after all others; NULL: none */
	uint8_t id[MPK_BUILD_ID_BYTES];
	bool no_undefined; /* refuse undefined symbols */
};

/* mpk_link_hash - a digest of what is linked: objects, the linker's flags and a symbol
 * @out     receives MPK_BUILD_ID_BYTES bytes */
enum mpk_code mpk_link_hash(const struct mpk_compilation *c, const char *symbol, uint8_t *out,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_link_run - run the linker, through the driver of C++ where a source is C++
 * mpk_link_check - whether what it made is for the target, as a user's compiler need not be
 * Returns  MPK_E_CONFLICT, MPK_E_CORRUPT, too */
enum mpk_code mpk_link_run(struct mpk_compilation *c, const struct mpk_link *l,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_link_check(const struct mpk_compilation *c, const char *linked,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- a finished file is read again before it takes its name ---------------------- */

/* mpk_confirm_file - that a loader will find the blob in a library, an object, or an archive of such
 * The file must open as minspect opens it and hold a blob that is as long as the one packed and begins
 * as that does. The rest is not read again: it was hashed while it was written.
 * @blob    what was packed; NULL: host code alone, which only has to open
 * Returns  MPK_OK; MPK_E_TOOL: it is something else, what a broken linker leaves; MPK_E_NOMEM */
enum mpk_code mpk_confirm_file(const struct mpk_mapping *file, const struct mpk_rope *blob,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_confirm_output - the same for what was written so far; nothing to say of a pipe
 * Returns  as mpk_confirm_file; MPK_E_IO */
enum mpk_code mpk_confirm_output(const struct mpk_output *o, const struct mpk_rope *blob,
				 struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_loadable_options {
	const char *path;              /* the file */
	const struct mpk_image *image; /* of it; borrowed */
	bool member_alone;             /* of an archive, link only image->member */
	struct mpk_words cc, cxx;      /* the compiler drivers, at least one word each */
	struct mpk_words headers;      /* for sources in a .tar: as in struct mpk_toolchain */
	const char *tmpdir;            /* folder for the library */
	const char *llvm;              /* path of libexec/mpack/llvm.so, for IR in a .tar */
	const char *objects;           /* as of mpk_objects_keep; NULL */
};

/* Zero-initialise; mpk_loadable_link; mpk_loadable_close. */
struct mpk_loadable {
	struct mpk_scratch scratch;
	char *path; /* of the library; absolute */
};

/* mpk_loadable_is_needed - whether the file has to be linked before it can be loaded: an object,
 * or an archive that holds objects or sources; or written out: what a standalone library carries */
bool mpk_loadable_is_needed(const struct mpk_image *image);

/* mpk_loadable_link - compile the sources of a .tar, link all of it
 * Symbols that nobody defines are left to whoever loads the library. What compiler and linker
 * print is not shown; its first line that says why is in the error.
 * @out     to be closed in every case
 * Returns  MPK_OK; MPK_E_LOAD: an object for another machine, what cannot be compiled or linked,
 *          no compiler; MPK_E_CORRUPT (a broken object); MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_loadable_link(const struct mpk_loadable_options *options,
				struct mpk_loadable *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_loadable_close - remove the library; safe on a zeroed or closed one */
void mpk_loadable_close(struct mpk_loadable *l);

#endif
