/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - declarations shared by the checks of --check; private to lib/show/check */
#ifndef MPK_CHECK_INTERNAL_RUN_H
#define MPK_CHECK_INTERNAL_RUN_H

#include "check/check.h"
#include "compat/dso.h"
#include "elf/wants.h"

/* The state of one run of the checks. */
struct mpk_check_state {
	const struct mpk_view *view;
	const struct mpk_mapping *map; /* the checked file */
	const struct mpk_there *there;
	const struct mpk_elf *elf; /* NULL if the file is a bare blob */
	GElf_Ehdr like;            /* header of a library for the target machine */
	struct mpk_scope scope;    /* symbol scope of a process at the target */
	/* the file as the dynamic linker sees it; empty if it is not a library for the target
	 * machine */
	struct mpk_dso file;
	/* symbols that nothing at the target defines, without those of the runtime */
	const struct mpk_unbound *unbound;
	size_t unbound_count;
	bool is_module;    /* TVM's runtime opens the file and binds its symbols lazily */
	bool is_extension; /* Python imports the file */
	bool is_pythons;   /* Python imports the file, or a library that it needs */
	/* calls of its code to missing functions; filled by mpk_check_read_wants */
	struct mpk_wants wants;
	bool wants_read;
	struct mpk_strmap lost; /* functions of the file that no loader finds */
	struct mpk_check_code *code;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_check_result *result; /* its report receives the findings */
	const char *name;                /* name of the check that runs */
	/* the target does not read the file's format, so later checks are meaningless */
	bool other_format;
};

enum { MPK_CHECK_NAMED = 8 };

/* A container or a module: the driver accepts or refuses it as a whole. */
struct mpk_check_unit {
	const char *path; /* ".nv_fatbin:3", "/0", "cubin:NAME"; escaped */
	/* the module; NULL if the code is outside the module tree */
	const struct mpk_view_node *node;
	struct mpk_span bytes; /* code outside the module tree */
	const struct mpk_code_target *images;
	size_t image_count;
	bool is_cuda;  /* NVIDIA code; else AMD code */
	bool is_input; /* input of a device linker, which no driver accepts */
	/* one image among other data, which the program itself loads if it needs it */
	bool is_bare;
	/* an image in a library for OpenMP or SYCL: the runtime chooses among the images with a
	 * kernel */
	bool is_choice;
	bool is_source; /* a module that is compiled at run time for the present device */

	size_t kernels;     /* number of kernels; 0 if they cannot be listed */
	bool is_listed;     /* the kernels can be listed, so a unit with 0 kernels cannot fail */
	const char *kernel; /* name of the first kernel, not demangled; NULL if none */
	bool is_named;      /* every kernel name contains an architecture; these are listed below */
	unsigned named_sm[MPK_CHECK_NAMED];
	const char *named_gfx[MPK_CHECK_NAMED];
	size_t named_count;
};

/* mpk_check_is_cuda - whether a module is for NVIDIA GPUs; all other kinds with targets are for AMD
 * GPUs
 * mpk_check_is_spirv - whether an image is SPIR-V, which drivers compile; HIP's SPIR-V runs on any
 * AMD GPU
 * mpk_check_code_read - fill s->code from headers; later calls do nothing
 * mpk_check_code_count - add the kernels of each unit; later calls do nothing
 * Returns  MPK_OK, also for unreadable code; MPK_E_NOMEM
 * mpk_check_has_code - whether a unit is for GPUs of that maker, and for a driver or a linker;
 * needs mpk_check_code_read
 * mpk_check_each_kernel - pass the name of each kernel of a unit to a function; a name is valid
 * only during the call
 * @is_known  receives whether these are all kernels
 * Returns  MPK_OK; MPK_E_NOMEM; what the function returns */
bool mpk_check_is_cuda(const struct mpk_view_node *n);
bool mpk_check_is_spirv(const struct mpk_code_target *t);
enum mpk_code mpk_check_code_read(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_check_code_count(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;
bool mpk_check_has_code(const struct mpk_check_state *s, bool cuda, bool is_input);
enum mpk_code mpk_check_each_kernel(const struct mpk_check_unit *u, bool *is_known,
				    enum mpk_code (*each)(void *arg, struct mpk_span name,
							  struct mpk_error *err),
				    void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_arch_length - the length of an architecture such as "sm90" or "sm_100a" that begins at
 * p as a word of its own; 0 if none does */
size_t mpk_check_arch_length(const char *text, const char *p);

/* mpk_check_unit_word - "container", "module" or, where there are both, "piece" */
const char *mpk_check_unit_word(const struct mpk_check_gpu_counts *n);

/* mpk_check_put_device - append the device and driver of the target, "sm_90 with a driver of CUDA
 * 12.4"; either may be unknown */
void mpk_check_put_device(const struct mpk_there *there, struct mpk_strbuf *out);

/* One check: its name, its option, and the function that reports its findings.
 * @skipped  receives why there was nothing to check, in static or arena memory; MPK_CHECK_UNSAID if
 *           the target does not describe what the check needs
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
struct mpk_check_row {
	const char *name;
	const char *option; /* option that describes this part of the target */
	enum mpk_code (*run)(struct mpk_check_state *s, const char **skipped,
			     struct mpk_error *err);
};

#define MPK_CHECK_UNSAID mpk_check_unsaid
extern const char mpk_check_unsaid[]; /* "not said" */

/* Tables of checks, run in this order; a row without a name ends each. */
extern const struct mpk_check_row mpk_check_machine[];      /* machine */
extern const struct mpk_check_row mpk_check_runtime[];      /* format, loader, payload */
extern const struct mpk_check_row mpk_check_linking[];      /* linking */
extern const struct mpk_check_row mpk_check_host[];         /* glibc, library, symbol */
extern const struct mpk_check_row mpk_check_function[];     /* function */
extern const struct mpk_check_row mpk_check_registration[]; /* registration */
extern const struct mpk_check_row mpk_check_device[];       /* device, driver */
extern const struct mpk_check_row mpk_check_abis[];         /* abi */
extern const struct mpk_check_row mpk_check_memory[];       /* memory */

/* mpk_check_say - report a finding about the file, or about a node of the module tree
 * @path    tree path; NULL means the file
 * mpk_check_say_text - the same with a text that is already formatted */
void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...) MPK_PRINTF(4, 5);
void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text);

enum { MPK_CHECK_TEXT = 1024 }; /* bytes of a finding's text */

/* mpk_check_not_linked - NULL if the file is a library for the target machine; else the reason to
 * store in *skipped */
const char *mpk_check_not_linked(const struct mpk_check_state *s);

/* mpk_check_leave - note that the running check skipped a part of its work; the texts are copied to
 * the arena
 * mpk_check_wanted - whether a check is to run */
void mpk_check_leave(struct mpk_check_state *s, const char *part, const char *option);
bool mpk_check_wanted(const struct mpk_there *there, const char *name);

/* mpk_check_say_call - report a problem that occurs when some unknown function is called */
enum mpk_code mpk_check_say_call(struct mpk_check_state *s, enum mpk_severity severity,
				 struct mpk_error *err, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;

/* mpk_check_say_want - report as an error that a function or symbol is missing that code calls. The
 * functions that reach the call fail when called; if an initializer reaches it, the library does
 * not load. A call that no function of a module reaches is a warning
 * @kind, @name  the missing thing, as in mpk_wants
 * @fmt     the end of a sentence that says what is missing
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_check_say_want(struct mpk_check_state *s, enum mpk_want_kind kind,
				 const char *name, struct mpk_error *err, const char *fmt, ...)
	MPK_PRINTF(5, 6) MPK_MUST_CHECK;

/* mpk_check_read_wants - fill s->wants; later calls do nothing
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_check_read_wants(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_is_runtime - whether a library name is that of a TVM library, which every process that
 * loads modules has loaded
 * mpk_check_is_tvms - whether a symbol belongs to TVM or tvm-ffi */
bool mpk_check_is_runtime(const char *library);
bool mpk_check_is_tvms(const char *symbol);
/* Follows the number of symbols that only a missing library has; set.c adds up these numbers over
 * files. */
#define MPK_CHECK_NOWHERE_ELSE " found nowhere else"

/* mpk_check_is_extension - whether a library is a Python extension: it exports a module
 * initializer */
bool mpk_check_is_extension(const struct mpk_dso *d);

/* mpk_check_provided - whether the process has the symbol from the runtime, the interpreter or a
 * host program */
bool mpk_check_provided(const struct mpk_check_state *s, const struct mpk_unbound *u);

/* mpk_check_where - the owner of the loaders, for messages: "TVM 0.27", "the named libraries"; NULL
 * if no runtime was named */
const char *mpk_check_where(const struct mpk_there *there);

/* mpk_check_place - where libraries are searched, for messages: "on this machine" */
const char *mpk_check_place(const struct mpk_there *there);

/* mpk_check_needs_ffi - whether a library links libtvm_ffi.so: then functions are registered when
 * it is loaded, and it belongs to the tvm-ffi generation */
bool mpk_check_needs_ffi(const struct mpk_dso *d);

#endif
