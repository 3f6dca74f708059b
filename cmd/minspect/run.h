/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - --run: what the command line asks for, and what is said of the result */
#ifndef MPK_CMD_MINSPECT_RUN_H
#define MPK_CMD_MINSPECT_RUN_H

#include "minspect/minspect.h"
#include "sandbox/sandbox.h"
#include "session/call.h"

/* --device, --grid, --block, --shared: where a call runs, and how wide. */
struct run_device {
	struct mpk_dldevice device; /* type 0: not said */
	bool is_kernel;             /* an extent was given: FN is a kernel */
	struct mpk_kernel_extents extents;
};

/* What a command line asks for, parsed. Zero-initialise; run_request_fini. */
struct run_request {
	struct mpk_value *args;
	struct mpk_span *names; /* of each argument; views of the command line */
	bool *is_out;
	struct mpk_dldevice *places; /* of each argument; type 0: nobody said */
	size_t arg_count;
	struct mpk_param_file *params; /* --params; NULL: not given */
	struct mpk_expect *expects;
	size_t expect_count;
	struct run_save {
		size_t result;    /* which one */
		bool is_numbered; /* N=FILE; else a .npz file has all results */
		const char *path;
	} *saves;
	size_t save_count;
	struct run_device device;
	struct mpk_tolerance tolerance;
	unsigned warmup, repeat;
	double timeout; /* seconds; 0: none */
	bool is_timed;  /* --repeat or --warmup was given */
};

/* run_parse_extents - "X", "X,Y" or "X,Y,Z", each from 1 to 2147483647
 * @option  its name, for the error
 * @text    NULL: out stays as it is
 * @out     what is not said becomes 1
 * Returns  MPK_OK; MPK_E_USAGE with the option's name in front */
enum mpk_code run_parse_extents(const char *option, const char *text, uint64_t out[3],
				struct mpk_error *err) MPK_MUST_CHECK;

/* run_request_parse_expects - the values of --expect; part of run_request_parse unless the call is
 * isolated, and then after it
 * Returns  MPK_OK; as mpk_expect_parse, with the option's name in front */
enum mpk_code run_request_parse_expects(const struct minspect_options *o, struct run_request *r,
					struct mpk_error *err) MPK_MUST_CHECK;

/* run_request_parse - everything that the options say about the call
 * Returns  MPK_OK; MPK_E_USAGE with the option's name in front; what reading a file
 *          said */
enum mpk_code run_request_parse(const struct minspect_options *o, struct run_request *out,
				struct mpk_error *err) MPK_MUST_CHECK;
void run_request_fini(struct run_request *r);

/* run_runtime_fill - where libtvm_ffi.so may be
 * @arena   receives the paths */
enum mpk_code run_runtime_fill(const struct minspect_options *o, struct mpk_arena *arena,
			       struct mpk_runtime_options *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* run_file_open - FILE of --run and --cases
 * Returns  as minspect_file_open, but for an archive of sources, which may hold functions;
 *          MPK_E_USAGE for standard input */
enum mpk_code run_file_open(const char *action, const char *name, struct minspect_file *file,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* run_file_path - the path of a file that a member or model was named of; NULL: memory is out */
const char *run_file_path(struct minspect_file *file);

/* run_file_link - of objects, make a library that can be loaded, which file then is; any other file
 * is left alone
 * Returns  MPK_OK; as mpk_loadable_link; as minspect_file_open */
enum mpk_code run_file_link(struct minspect_file *file, struct mpk_error *err) MPK_MUST_CHECK;

/* run_check_file - refuse to run a file that --verify finds errors in; for who did not say --force
 * Returns  MPK_OK; the first error, with how many there are; MPK_E_NOMEM */
enum mpk_code run_check_file(struct minspect_file *file, struct mpk_error *err) MPK_MUST_CHECK;

/* run_library_fill - how the library of an open file is loaded, with a line that shows how far that
 * is (mpk_progress_end wipes it); borrows from file
 * @code    its functions are called, not its kernels alone: objects are linked. Why they cannot be
 *          is in out->unloadable, for kernels do not need it. */
enum mpk_code run_library_fill(const struct minspect_options *o, struct minspect_file *file,
			       bool code, struct mpk_library_options *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* run_report - print, save and compare the results
 * Returns  an exit status: MPK_EXIT_DIFFERENT when one is not what was expected */
int run_report(const struct minspect_options *o, const struct run_request *request,
	       struct mpk_call_result *result);

/* run_report_error - say what failed, with --json also on standard output */
int run_report_error(const struct minspect_options *o, const struct mpk_error *err);

/* minspect_tvm_ffi_paths - where libtvm_ffi.so may be: what MPK_TVM_FFI names, or where Python
 * environments have it; a path need not exist
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_tvm_ffi_paths(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* isolate_hide - move the texts of --expect where a child of this process does not see them: neither in
 * its memory nor among the arguments of the command line
 * Before anything is parsed; what is expected is parsed after the call.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_hide(struct mpk_option_list *expects, struct mpk_error *err) MPK_MUST_CHECK;

/* isolate_fill - let library's code keep what code on the CPU needs: itself, shared libraries, the
 * description of the processors
 * @arena   receives the sandbox
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_fill(struct mpk_library_options *library, struct mpk_arena *arena,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif
