/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - --run: the parsed options of a call, and the report of its results */
#ifndef MPK_CMD_MINSPECT_RUN_H
#define MPK_CMD_MINSPECT_RUN_H

#include "minspect/minspect.h"
#include "sandbox/sandbox.h"
#include "session/call.h"

/* --device, --grid, --block, --shared: the device of a call, and its launch extents. */
struct run_device {
	struct mpk_dldevice device; /* type 0 if not given */
	bool is_kernel;             /* an extent was given, so FN is a kernel */
	struct mpk_kernel_extents extents;
};

/* A parsed request for a call. Zero-initialise; free with run_request_fini. */
struct run_request {
	struct mpk_value *args;
	struct mpk_span *names; /* one for each argument; they refer to the command line */
	bool *is_out;
	struct mpk_dldevice *places; /* one for each argument; type 0 if not given */
	size_t arg_count;
	struct mpk_param_file *params; /* --params; NULL if not given */
	struct mpk_expect *expects;
	size_t expect_count;
	struct run_save {
		size_t result;    /* index of the result to save */
		bool is_numbered; /* N=FILE was given; else a .npz file gets all results */
		const char *path;
	} *saves;
	size_t save_count;
	struct run_device device;
	struct mpk_tolerance tolerance;
	unsigned warmup, repeat;
	double timeout; /* seconds; 0 means no limit */
	bool is_timed;  /* --repeat or --warmup was given */
};

/* run_parse_extents - parse "X", "X,Y" or "X,Y,Z", each from 1 to 2147483647
 * @option  its name, for the error
 * @text    NULL leaves out unchanged
 * @out     missing values become 1
 * Returns  MPK_OK; MPK_E_USAGE, prefixed with the option's name */
enum mpk_code run_parse_extents(const char *option, const char *text, uint64_t out[3],
				struct mpk_error *err) MPK_MUST_CHECK;

/* run_request_parse_expects - parse the values of --expect; part of run_request_parse unless the
 * call is isolated, and then called after the call
 * Returns  MPK_OK; as mpk_expect_parse, prefixed with the option's name */
enum mpk_code run_request_parse_expects(const struct minspect_options *o, struct run_request *r,
					struct mpk_error *err) MPK_MUST_CHECK;

/* run_request_parse - parse all options about the call
 * Returns  MPK_OK; MPK_E_USAGE, prefixed with the option's name; errors of reading a file */
enum mpk_code run_request_parse(const struct minspect_options *o, struct run_request *out,
				struct mpk_error *err) MPK_MUST_CHECK;
void run_request_fini(struct run_request *r);

/* run_runtime_fill - set the possible paths of libtvm_ffi.so
 * @arena   receives the paths */
enum mpk_code run_runtime_fill(const struct minspect_options *o, struct mpk_arena *arena,
			       struct mpk_runtime_options *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* run_file_open - open FILE of --run and --cases
 * Returns  as minspect_file_open, but MPK_OK for an archive of sources, which may hold functions;
 *          MPK_E_USAGE for standard input */
enum mpk_code run_file_open(const char *action, const char *name, struct minspect_file *file,
			    struct mpk_error *err) MPK_MUST_CHECK;

/* run_file_path - the path of the file in a name with a member or model; NULL if memory is out */
const char *run_file_path(struct minspect_file *file);

/* run_file_link - link objects to a library that can be loaded, and replace file by it; other files
 * are unchanged
 * Returns  MPK_OK; as mpk_loadable_link; as minspect_file_open */
enum mpk_code run_file_link(struct minspect_file *file, struct mpk_error *err) MPK_MUST_CHECK;

/* run_check_file - refuse to run a file in which --verify finds errors; not called with --force
 * Returns  MPK_OK; the first error, with their number; MPK_E_NOMEM */
enum mpk_code run_check_file(struct minspect_file *file, struct mpk_error *err) MPK_MUST_CHECK;

/* run_library_fill - set how the library of an open file is loaded, with a progress line
 * (mpk_progress_end erases it); borrows from file
 * @code    the caller needs its functions, not only its kernels: objects are linked. If that fails,
 *          the error is in out->unloadable, since kernels do not need linking. */
enum mpk_code run_library_fill(const struct minspect_options *o, struct minspect_file *file,
			       bool code, struct mpk_library_options *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* run_report - print, save and compare the results
 * Returns  an exit status: MPK_EXIT_DIFFERENT if a result is not the expected one */
int run_report(const struct minspect_options *o, const struct run_request *request,
	       struct mpk_call_result *result);

/* run_report_error - print an error, with --json also on standard output */
int run_report_error(const struct minspect_options *o, const struct mpk_error *err);

/* minspect_tvm_ffi_paths - list the possible paths of libtvm_ffi.so: the value of MPK_TVM_FFI, or
 * the paths in Python environments; they may not exist
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_tvm_ffi_paths(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* isolate_hide - hide the texts of --expect from child processes: from their memory and from the
 * arguments of the command line
 * Call it before anything is parsed; the texts are parsed after the call.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_hide(struct mpk_option_list *expects, struct mpk_error *err) MPK_MUST_CHECK;

/* isolate_fill - allow the library's code to read only what CPU code needs: the library itself,
 * shared libraries, the description of the processors
 * @arena   receives the sandbox
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_fill(struct mpk_library_options *library, struct mpk_arena *arena,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif
