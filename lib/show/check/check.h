/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - minspect --check: will a file load at a described target?
 *
 * The target is a description: a TVM release, libraries that register loaders, a machine, its
 * glibc, its libraries, a GPU, its driver. Parts that the description omits are not checked, and
 * the verdict says so. No code of the file or of the libraries runs.
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

/* Requirements on the library itself, independent of the target. */
struct mpk_check_abi {
	/* the policy that limits its symbol versions; NULL if any version is allowed */
	const struct mpk_policy *policy;
	bool is_abi3; /* of Python it may need only the stable ABI */
	/* N: it may need only the stable ABI of Python 3.N; 0 means the stable ABI of any
	 * version */
	unsigned python_minor;
	bool cxx11; /* its std::string and std::list have the C++11 layout */
	/* it must not need symbols of Python or torch: callers use it through tvm-ffi */
	bool tvm_ffi;
	bool torch_stable; /* of torch it may need only the stable functions in C */
};

struct mpk_there {
	bool has_release;
	struct mpk_release release;
	/* linked by next, each with the loaders it registers; owned by the caller */
	struct mpk_dso *runtimes;
	bool installed; /* runtimes were found on this machine, not named by the user */
	/* programs and libraries that define symbols for the files they load; linked by next */
	struct mpk_dso *hosts;
	/* names of symbols that the target has; may contain the wildcard * */
	const char *const *provided;
	size_t provided_count;

	struct mpk_target machine;
	const char *machine_name; /* the machine's common name, for messages */

	unsigned glibc_major, glibc_minor; /* 0.0 if not known */
	const char *libs; /* the library directory that the user named; NULL if none */
	struct mpk_search search;
	bool searchable; /* the target's libraries can be searched */

	const struct mpk_check_abi *abi; /* NULL if no policy was asked for */
	const char *const *only;         /* names of the only checks to run; NULL means all */
	size_t only_count;
	bool strict;     /* extras, which are for other GPUs, are errors */
	bool allow_part; /* holes, which lack code for this GPU, are warnings */
	/* libraries of one package, each of which may be for GPUs of another maker */
	bool is_one_of_several;

	/* extents of the calls whose memory must stay within memory_bytes; NULL if not asked for */
	const struct mpk_memory_ask *memory;
	uint64_t memory_bytes;

	const char *device; /* the name that the user gave; NULL if none */
	const char *amd;    /* the same device as an AMD target; NULL if it is not from AMD */
	struct mpk_cuda_place cuda;
};

/* One check and whether it was made. */
struct mpk_check_item {
	const char *name;    /* name of the check, "glibc" */
	const char *skipped; /* reason why the check was skipped; NULL if it ran */
	const char *option;  /* option that would make it run, "--glibc"; NULL if none would */
	/* the part that was not checked, "41 C++ symbols of libtvm_ffi.so"; NULL if all was */
	const char *part;
};

enum { MPK_CHECK_ITEMS = 14 };

/* Whether the file's GPU code runs on the target's device. */
enum mpk_check_gpu {
	MPK_CHECK_GPU_UNASKED, /* no device was named, or the check did not run */
	MPK_CHECK_GPU_NONE,    /* the file has no GPU code */
	/* no code for GPUs of that maker, but portable code such as OpenCL or SPIR-V */
	MPK_CHECK_GPU_PORTABLE,
	MPK_CHECK_GPU_OTHER, /* only code for GPUs of other makers */
	MPK_CHECK_GPU_RUNS,  /* all needed code runs there; extras for other GPUs do not count */
	/* some container or module is only for older GPUs, so its kernels fail */
	MPK_CHECK_GPU_PARTLY,
	MPK_CHECK_GPU_LACKS, /* no container or module has code for the device */
};

/* Containers and modules with code for GPUs of one maker, and their kernels: how many exist and how
 * many run. Kernels of code whose kernels cannot be listed count as 0. */
struct mpk_check_gpu_counts {
	size_t units, units_run, extras, holes;
	size_t modules; /* units that are modules; the others are containers */
	size_t kernels, kernels_run;
};

/* The verdict over all findings. */
enum mpk_check_outcome {
	MPK_CHECK_LOADS,
	MPK_CHECK_REFUSED,  /* the file does not load, or its virtual machine does not start */
	MPK_CHECK_RUNS_NOT, /* none of its GPU code runs on the device */
	MPK_CHECK_RUNS_PARTLY,
	/* the file loads, but the CUDA or HIP runtime gets no code from it */
	MPK_CHECK_UNREGISTERED,
	MPK_CHECK_CALLS,   /* the file loads, but some of its functions fail when called */
	MPK_CHECK_POLICY,  /* no known reason keeps it from loading, but it violates a policy */
	MPK_CHECK_NOTHING, /* the file has nothing that the checks named by the user look at */
	/* no finding speaks against it, but no runtime was named or some checks were skipped */
	MPK_CHECK_OPEN,
	MPK_CHECK_SYSTEM, /* a library to link into a program, with no finding against that */
};

/* The GPU code of one file. It is read when a device is first checked, and serves all devices.
 * Zero-initialise. */
struct mpk_check_unit;
struct mpk_check_code {
	struct mpk_check_unit *units;
	size_t count;
	/* is_read: units are filled from headers; is_counted: their kernels are counted too */
	bool is_read, is_counted;
	/* the file has code for no particular GPU, which drivers compile for the present one */
	bool is_portable;
};

/* A finding that takes effect only when functions are called. */
struct mpk_check_call {
	size_t finding;               /* index of the finding in the report */
	const char *const *functions; /* names that callers use, sorted */
	size_t count;                 /* number of functions; 0 if it is unknown which */
	struct mpk_check_call *next;
};

struct mpk_check_functions {
	const char *const *items;
	size_t count;
};

/* State that model functions keep between calls, or take in addition to their arguments. */
struct mpk_check_held {
	const char *title; /* "KV cache" */
	struct mpk_check_functions makers, takers;
};

enum { MPK_CHECK_HELD = 8 };

struct mpk_check_result {
	const char *file;              /* name of the file, not escaped; borrowed */
	const struct mpk_there *there; /* the target of the comparison; borrowed */
	/* an error means that the file does not load or fails when called; a warning means that it
	 * may */
	struct mpk_report report;
	struct mpk_check_call *calls, *last_call; /* in the order of the report */
	/* errors that take effect in calls, including those left out of the report */
	size_t call_errors;
	size_t device_errors; /* errors about devices and drivers that violate no policy */
	/* errors about registration, where a runtime gets no code from a wrapper */
	size_t registration_errors;
	/* the driver does not know the device, or the CUDA runtime that the file needs refuses it */
	bool driver_refuses;
	/* errors that violate a requirement (mpk_check_abi, cuda.wants, memory) */
	size_t policy_errors;
	const char *const *failing; /* functions of all calls, sorted, each once */
	size_t failing_count;
	struct mpk_check_held held[MPK_CHECK_HELD];
	size_t held_count;
	/* prefix of a system library, whose module no loader finds and a program links in; NULL if
	 * the file is not one */
	const char *system_prefix;
	enum mpk_check_gpu gpu;
	struct mpk_check_gpu_counts gpu_counts;
	/* reason why none of the checks named by the user could run; NULL if one did */
	const char *lacks;
	const char *lacks_option; /* option that would make one run; NULL if none would */
	bool gpu_by_ptx;          /* some module or container has only PTX for the device */
	/* targets of the first unit that lacks code, "sm_80 + PTX 8.0"; NULL if none lacks code */
	const char *gpu_targets;
	/* digest of the exported C function names, to compare the libraries of a set; 0 if there
	 * are none */
	uint64_t exports;
	const char *gpu_place;  /* first module or container that lacks code; NULL if none does */
	const char *gpu_kernel; /* its first kernel, not demangled; NULL if it lists none */
	struct mpk_check_item items[MPK_CHECK_ITEMS];
	size_t item_count;
};

/* mpk_check_run - check a file against a target
 * @map     the file; its blob is read through the file, not the mapping
 * @result  zeroed by the caller, who frees its report with mpk_report_fini
 * @arena   holds what is read; the texts of result live as long as it
 * @code    the GPU code of this file, borrowed; filled in arena at the first target that has a
 *          device
 * Returns  MPK_OK, whatever was found; MPK_E_CORRUPT: the ELF file cannot be read; MPK_E_IO;
 *          MPK_E_NOMEM */
enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_code *code, struct mpk_check_result *result,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_gpu_alone - check only whether the file's GPU code runs on the target's device: sets
 * gpu, gpu_counts and gpu_by_ptx of a result as mpk_check_run does, without reading its symbols
 * Parameters and errors are those of mpk_check_run. */
enum mpk_code mpk_check_gpu_alone(const struct mpk_view *view, const struct mpk_there *there,
				  struct mpk_arena *arena, struct mpk_check_code *code,
				  struct mpk_check_result *result,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_check_outcome - the verdict of a file, from which text, document and exit status are made
 * mpk_check_outcome_word - the verdict as JSON documents write it: "loads", "does-not-run"
 * mpk_check_outcome_is_error - whether the verdict fails a gate; MPK_CHECK_NOTHING is neither an
 * error nor a pass
 * mpk_check_put_verdict - append the sentence, "does not run on sm_90: 0 of 3 containers do",
 * without the file's name */
enum mpk_check_outcome mpk_check_outcome(const struct mpk_check_result *result);
const char *mpk_check_outcome_word(enum mpk_check_outcome outcome);
bool mpk_check_outcome_is_error(enum mpk_check_outcome outcome);
void mpk_check_put_verdict(const struct mpk_check_result *result, struct mpk_strbuf *out);

/* Printers of struct mpk_check_result: the verdict and its basis, then one finding per line; JSON
 * follows minspect-check.schema.json */
extern const struct mpk_answer mpk_answer_check;

#endif
