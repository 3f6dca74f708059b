/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - minspect --check: will a file load there?
 *
 * "There" is a description: a TVM release, libraries that register loaders, a machine, its glibc, its
 * libraries, a GPU, its driver. What it leaves open is not checked, and the verdict says so. Nothing
 * of the file runs, and nothing of the libraries.
 */
#ifndef MPK_CHECK_CHECK_H
#define MPK_CHECK_CHECK_H

#include "base/report.h"
#include "code/cuda.h"
#include "compat/dso.h"
#include "compat/release.h"
#include "elf/target.h"
#include "model/view.h"
#include "program/memory.h"

/* What a library is held to, whatever is there: nothing of it is looked for. */
struct mpk_check_abi {
	const struct mpk_policy *policy; /* whose versions of symbols it may want; NULL: any */
	bool is_abi3;                    /* of Python it may want the stable ABI alone, */
	unsigned python_minor;           /* as it was in 3.N; 0: as it ever was */
	bool cxx11;                      /* strings and lists are those of C++11 */
	bool tvm_ffi;      /* it wants nothing of Python or torch: tvm-ffi is how it is called */
	bool torch_stable; /* nothing of torch but what it keeps: its functions in C */
};

struct mpk_there {
	bool has_release;
	struct mpk_release release;
	struct mpk_dso *runtimes; /* linked by next; with their loaders */
	bool installed;           /* they were not named but found on this machine */
	struct mpk_dso *
		hosts; /* programs and libraries that define symbols for what they load; linked by next */
	const char *const *provided; /* names of symbols that are there, patterns with * */
	size_t provided_count;

	struct mpk_target machine;
	const char *machine_name; /* as people say it */

	unsigned glibc_major, glibc_minor; /* 0.0: not known */
	const char *libs;                  /* the directory that was named, or NULL */
	struct mpk_search search;
	bool searchable; /* its libraries can be looked at */

	const struct mpk_check_abi *abi; /* NULL: nobody asks */
	const char *const *only;         /* names of checks, no others are made; NULL: all */
	size_t only_count;
	bool strict;            /* extras for other GPUs are errors */
	bool allow_part;        /* holes are warnings */
	bool is_one_of_several; /* libraries of a package, of which each may be for another maker's GPUs */

	const struct mpk_memory_ask *
		memory; /* extents of the calls whose memory is held to memory_bytes; NULL: nobody asks */
	uint64_t memory_bytes;

	const char *device; /* as it was named, or NULL */
	const char *amd;    /* that device as an AMD target, or NULL */
	struct mpk_cuda_place cuda;
};

/* What was looked at. */
struct mpk_check_item {
	const char *name;    /* "glibc" */
	const char *skipped; /* why it was not looked at; NULL: it was */
	const char *option;  /* what would have it looked at, "--glibc"; NULL: nothing would */
	const char *
		part; /* what of it was not looked at, "41 C++ symbols of libtvm_ffi.so"; NULL: all was */
};

enum { MPK_CHECK_ITEMS = 14 };

/* Whether its GPU code runs on the device there. */
enum mpk_check_gpu {
	MPK_CHECK_GPU_UNASKED, /* no device was named, or the check was not made */
	MPK_CHECK_GPU_NONE,    /* there is no code for GPUs */
	MPK_CHECK_GPU_PORTABLE, /* there is none for GPUs of that maker, but OpenCL, SPIR-V or the like for any */
	MPK_CHECK_GPU_OTHER, /* there is, for those of other makers alone */
	MPK_CHECK_GPU_RUNS, /* all that it needs there does: extras for other GPUs count for nothing */
	MPK_CHECK_GPU_PARTLY, /* some container or module is for older GPUs alone, and its kernels fail */
	MPK_CHECK_GPU_LACKS, /* no container and no module has anything for it */
};

/* The containers and modules with code for GPUs of that maker, and their kernels: how many there are and how many
 * run. Of kernels that nobody lists there are none. */
struct mpk_check_gpu_counts {
	size_t units, units_run, extras, holes;
	size_t modules; /* among the units; the others are containers */
	size_t kernels, kernels_run;
};

/* What all that was found comes to. */
enum mpk_check_outcome {
	MPK_CHECK_LOADS,
	MPK_CHECK_REFUSED,  /* it does not load, or its virtual machine does not start */
	MPK_CHECK_RUNS_NOT, /* nothing of its GPU code runs there */
	MPK_CHECK_RUNS_PARTLY,
	MPK_CHECK_UNREGISTERED, /* it loads, and a runtime of CUDA or HIP gets no code from it */
	MPK_CHECK_CALLS,        /* it loads, and some of its functions fail when they are called */
	MPK_CHECK_POLICY, /* nothing is known against its loading, but it breaks what it is held to */
	MPK_CHECK_NOTHING, /* it has nothing of what was asked for by name */
	MPK_CHECK_OPEN, /* nothing speaks against it, but no runtime was named, or not all checks were made */
	MPK_CHECK_SYSTEM, /* it is to be linked into a program, and nothing is known against that */
};

/* The GPU code of a file, read when a device is first asked for; the same for all devices. Zero-initialise. */
struct mpk_check_unit;
struct mpk_check_code {
	struct mpk_check_unit *units;
	size_t count;
	bool is_read, is_counted; /* from headers alone; with kernels */
	bool is_portable; /* there is code for no particular GPU: drivers compile it for the one that is there */
};

/* An error that shows when functions are called. */
struct mpk_check_call {
	size_t finding;               /* its index in the report */
	const char *const *functions; /* as callers say them, sorted */
	size_t count;                 /* 0: nobody can tell which */
	struct mpk_check_call *next;
};

struct mpk_check_functions {
	const char *const *items;
	size_t count;
};

/* What functions of models keep from one call to the next, or take beside their arguments. */
struct mpk_check_held {
	const char *title; /* "KV cache" */
	struct mpk_check_functions makers, takers;
};

enum { MPK_CHECK_HELD = 8 };

struct mpk_check_result {
	const char *file;              /* its name, not escaped; borrowed, as is */
	const struct mpk_there *there; /* what it was compared with */
	struct mpk_report
		report; /* errors: it does not load, or fails when called; warnings: it may */
	struct mpk_check_call *calls, *last_call; /* in the order of the report */
	size_t call_errors;         /* how many of the errors are such, left out or not */
	size_t device_errors;       /* how many are of devices and drivers that are no policy */
	size_t registration_errors; /* how many are of wrappers that a runtime gets no code from */
	size_t policy_errors; /* how many are of what it is held to (mpk_check_abi, cuda.wants, memory) */
	const char *const *failing; /* the functions of calls, sorted, each once */
	size_t failing_count;
	struct mpk_check_held held[MPK_CHECK_HELD];
	size_t held_count;
	const char *
		system_prefix; /* of a system library: no loader finds its module, a program that it is linked into
				    * has it; NULL: it is none */
	enum mpk_check_gpu gpu;
	struct mpk_check_gpu_counts gpu_counts;
	const char *
		lacks; /* why nothing was checked of what was asked for by name; NULL: something was */
	const char *lacks_option; /* that would have it checked; NULL: none would */
	bool gpu_by_ptx;          /* some module or container has PTX alone for the device */
	const char
		*gpu_targets; /* what the first is for that lacks code, "sm_80 + PTX 8.0"; NULL */
	uint64_t
		exports; /* a digest of the names of its functions in C, of a library among several; 0: none */
	const char *gpu_place; /* the first module or container that lacks code; NULL */
	const char
		*gpu_kernel; /* the first kernel of it, as it stands there; NULL: it names none */
	struct mpk_check_item items[MPK_CHECK_ITEMS];
	size_t item_count;
};

/* mpk_check_run - compare a file with a place
 * @map     the file, whose blob is read past its mapping
 * @result  zeroed; mpk_report_fini its report
 * @arena   receives what is read; texts of result live as long as it
 * @code    of this file, borrowed; filled at the first place that has a device, in arena
 * Returns  MPK_OK, whatever was found; MPK_E_CORRUPT: the ELF file does not read; MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_code *code, struct mpk_check_result *result,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_gpu_alone - what the GPU code of a file comes to on the device there, and nothing else: gpu, gpu_counts and
 * gpu_by_ptx of a result as mpk_check_run has them, without a look at its symbols
 * Parameters and errors are those of mpk_check_run. */
enum mpk_code mpk_check_gpu_alone(const struct mpk_view *view, const struct mpk_there *there,
				  struct mpk_arena *arena, struct mpk_check_code *code,
				  struct mpk_check_result *result,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_outcome - the one verdict of a file, from which text, document and exit status are made
 * mpk_check_outcome_word - "loads", "does-not-run": as documents have it
 * mpk_check_outcome_is_error - whether it is one for which a gate closes; MPK_CHECK_NOTHING is neither that nor a pass
 * mpk_check_put_verdict - append the sentence, "does not run on sm_90: 0 of 3 containers do", without the file's name */
enum mpk_check_outcome mpk_check_outcome(const struct mpk_check_result *result);
const char *mpk_check_outcome_word(enum mpk_check_outcome outcome);
bool mpk_check_outcome_is_error(enum mpk_check_outcome outcome);
void mpk_check_put_verdict(const struct mpk_check_result *result, struct mpk_strbuf *out);

/* of struct mpk_check_result: the verdict and what it rests on, then the findings, one a line; in JSON as
 * minspect-check.schema.json says */
extern const struct mpk_answer mpk_answer_check;

#endif
