/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - what the checks of --check share; private to this room */
#ifndef MPK_CHECK_INTERNAL_RUN_H
#define MPK_CHECK_INTERNAL_RUN_H

#include "check/check.h"
#include "compat/dso.h"
#include "elf/wants.h"

/* One check at work. */
struct mpk_check_state {
	const struct mpk_view *view;
	const struct mpk_mapping *map; /* of the file */
	const struct mpk_there *there;
	const struct mpk_elf *elf; /* NULL for a bare blob */
	GElf_Ehdr like;            /* of a library for that machine */
	struct mpk_scope scope;    /* the libraries of a process there */
	struct mpk_dso
		file; /* as the dynamic linker sees it; empty: it is no library for that machine */
	const struct mpk_unbound
		*unbound; /* what nothing there defines, those of the runtime left out */
	size_t unbound_count;
	bool is_module;         /* TVM's runtime opens it, which binds lazily */
	bool is_extension;      /* Python imports it */
	struct mpk_wants wants; /* of its code, once somebody asked */
	bool wants_read;
	struct mpk_strmap lost; /* functions of it that no loader finds */
	struct mpk_check_code *code;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_check_result *result; /* report is its */
	const char *name;                /* of the check that runs */
	bool other_format; /* it is none that is read there: the rest of it does not matter */
};

enum { MPK_CHECK_NAMED = 8 };

/* A container or a module: what a driver takes or refuses as a whole. */
struct mpk_check_unit {
	const char *path;                 /* ".nv_fatbin:3", "/0", "cubin:NAME"; escaped */
	const struct mpk_view_node *node; /* the module; NULL: code beside the tree */
	struct mpk_span bytes;            /* of code beside the tree */
	const struct mpk_code_target *images;
	size_t image_count;
	bool is_cuda;  /* of NVIDIA; else of AMD */
	bool is_input; /* of a linker of device code: no driver takes it */
	bool is_bare; /* one image among other data: the program loads it by itself, where it wants it */
	bool is_choice; /* an image of a library for OpenMP or SYCL, whose runtime takes one of those that have a kernel */
	bool is_source; /* a module that is compiled for the device that is there */

	size_t kernels;     /* 0: nobody lists them */
	bool is_listed;     /* somebody does: without any there is nothing that could fail */
	const char *kernel; /* the first, as it stands there; NULL */
	bool is_named;      /* each of them has an architecture in its name, which are */
	unsigned named_sm[MPK_CHECK_NAMED];
	const char *named_gfx[MPK_CHECK_NAMED];
	size_t named_count;
};

/* mpk_check_is_cuda - NVIDIA's modules are all of one kind; every other kind with targets is for GPUs of AMD
 * mpk_check_is_spirv - whether an image is SPIR-V, which drivers compile: that of HIP for any GPU of AMD's
 * mpk_check_code_read - fill s->code from headers, once
 * mpk_check_code_count - with the kernels of each unit, once
 * Returns  MPK_OK, also for code that does not read; MPK_E_NOMEM
 * mpk_check_has_code - whether a unit is for GPUs of that maker, and for a driver or for a linker, once s->code is read
 * mpk_check_each_kernel - hand on the names of a unit's kernels, which end with the call
 * @is_known  receives whether they are all
 * Returns  MPK_OK; MPK_E_NOMEM; what each returns */
bool mpk_check_is_cuda(const struct mpk_view_node *n);
bool mpk_check_is_spirv(const struct mpk_code_target *t);
enum mpk_code mpk_check_code_read(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_check_code_count(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;
bool mpk_check_has_code(const struct mpk_check_state *s, bool cuda, bool is_input);
enum mpk_code mpk_check_each_kernel(const struct mpk_check_unit *u, bool *is_known,
				    enum mpk_code (*each)(void *arg, struct mpk_span name,
							  struct mpk_error *err),
				    void *arg, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_arch_length - how long "sm90" or "sm_100a" is, which begins at a place of a text as a word of its own; 0: none does */
size_t mpk_check_arch_length(const char *text, const char *p);

/* mpk_check_unit_word - "container", "module" or, where there are both, "piece" */
const char *mpk_check_unit_word(const struct mpk_check_gpu_counts *n);

/* mpk_check_put_device - append "sm_90 with a driver of CUDA 12.4": what the GPU code is for there; either may be left
 * open */
void mpk_check_put_device(const struct mpk_there *there, struct mpk_strbuf *out);

/* A check reports what it finds.
 * @skipped  receives why there was nothing to look at, in static or arena memory; MPK_CHECK_UNSAID
 *           when the place does not say what it is compared with
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
struct mpk_check_row {
	const char *name;
	const char *option; /* that says it */
	enum mpk_code (*run)(struct mpk_check_state *s, const char **skipped,
			     struct mpk_error *err);
};

#define MPK_CHECK_UNSAID mpk_check_unsaid
extern const char mpk_check_unsaid[]; /* "not said" */

/* Ended by a row without a name; run in this order. */
extern const struct mpk_check_row mpk_check_machine[];      /* machine */
extern const struct mpk_check_row mpk_check_runtime[];      /* format, loader, payload */
extern const struct mpk_check_row mpk_check_linking[];      /* linking */
extern const struct mpk_check_row mpk_check_host[];         /* glibc, library, symbol */
extern const struct mpk_check_row mpk_check_function[];     /* function */
extern const struct mpk_check_row mpk_check_registration[]; /* registration */
extern const struct mpk_check_row mpk_check_device[];       /* device, driver */
extern const struct mpk_check_row mpk_check_abis[];         /* abi */
extern const struct mpk_check_row mpk_check_memory[];       /* memory */

/* mpk_check_say - report a finding about the file, or about what is at a tree path
 * @path    NULL: the file
 * mpk_check_say_text - the same of a text that is put together */
void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...) MPK_PRINTF(4, 5);
void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text);

enum { MPK_CHECK_TEXT = 1024 }; /* bytes of a finding */

/* mpk_check_not_linked - NULL for a library for that machine; else why there is nothing to look at, a *skipped */
const char *mpk_check_not_linked(const struct mpk_check_state *s);

/* mpk_check_leave - the check that runs did not look at all: what of it is left, in the arena
 * mpk_check_wanted - whether a check is made */
void mpk_check_leave(struct mpk_check_state *s, const char *part, const char *option);
bool mpk_check_wanted(const struct mpk_there *there, const char *name);

/* mpk_check_say_call - report something that shows when some function is called, nobody can tell which
 * @fmt     a sentence
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_check_say_call(struct mpk_check_state *s, enum mpk_severity severity,
				 struct mpk_error *err, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;

/* mpk_check_say_want - report as an error that something is not there that code wants: its functions that come to
 * it fail when they are called, and when an initializer does, the library does not load. What no function of a module
 * comes to is a warning
 * @kind, @name  what is wanted, as in mpk_wants
 * @fmt     what is not there: the end of a sentence
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_check_say_want(struct mpk_check_state *s, enum mpk_want_kind kind,
				 const char *name, struct mpk_error *err, const char *fmt, ...)
	MPK_PRINTF(5, 6) MPK_MUST_CHECK;

/* mpk_check_read_wants - fill s->wants, once
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_check_read_wants(struct mpk_check_state *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_is_runtime - whether a library, by its name, is one of TVM's, which whoever loads modules has
 * loaded
 * mpk_check_is_tvms - whether a symbol is TVM's or tvm-ffi's */
bool mpk_check_is_runtime(const char *library);
bool mpk_check_is_tvms(const char *symbol);
/* After the number of symbols of a library that is missing; set.c adds up those of several files. */
#define MPK_CHECK_NOWHERE_ELSE " found nowhere else"

/* mpk_check_is_extension - whether Python imports a library: it has an initializer of a module */
bool mpk_check_is_extension(const struct mpk_dso *d);

/* mpk_check_provided - whether a process there has the symbol from elsewhere: the runtime, the interpreter, a host */
bool mpk_check_provided(const struct mpk_check_state *s, const struct mpk_unbound *u);

/* mpk_check_where - "TVM 0.27", "the named libraries": whose loaders count; NULL: nobody's */
const char *mpk_check_where(const struct mpk_there *there);

/* mpk_check_place - "on this machine": where libraries are looked for */
const char *mpk_check_place(const struct mpk_there *there);

/* mpk_check_needs_ffi - whether a library links libtvm_ffi.so: then it finds the functions that it registers when it
 * is loaded, and is of tvm-ffi's generation */
bool mpk_check_needs_ffi(const struct mpk_dso *d);

#endif
