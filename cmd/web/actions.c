/* SPDX-License-Identifier: Apache-2.0 */
/* actions.c - replaces functions of minspect that cannot work in a browser: running code, and
 * searching installed libraries
 *
 * The functions stand in for cmd/minspect/run.c, cases.c, device.c and runtime.c, and for the
 * session that they use. */
#include "common/diag.h"
#include "minspect/run.h"
#include "session/call.h"
#include "toolchain/toolchain.h"

static enum mpk_code fail_run(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"a browser runs no code of a library; use minspect on the command line");
}

static int refuse(void)
{
	struct mpk_error err = { 0 };

	(void)fail_run(&err);
	return mpk_diag_error(&err);
}

int minspect_run(const struct minspect_options *o)
{
	(void)o;
	return refuse();
}

int minspect_cases(const struct minspect_options *o)
{
	(void)o;
	return refuse();
}

int minspect_devices(const struct minspect_options *o)
{
	(void)o;
	return refuse();
}

enum mpk_code run_request_parse(const struct minspect_options *o, struct run_request *out,
				struct mpk_error *err)
{
	(void)o, (void)out;
	return fail_run(err);
}

void run_request_fini(struct run_request *r)
{
	(void)r;
}

enum mpk_code run_check_file(struct minspect_file *file, struct mpk_error *err)
{
	(void)file;
	return fail_run(err);
}

enum mpk_code run_library_fill(const struct minspect_options *o, struct minspect_file *file,
			       bool code, struct mpk_library_options *out, struct mpk_error *err)
{
	(void)o, (void)file, (void)code, (void)out;
	return fail_run(err);
}

enum mpk_code isolate_fill(struct mpk_library_options *library, struct mpk_arena *arena,
			   struct mpk_error *err)
{
	(void)library, (void)arena;
	return fail_run(err);
}

enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err)
{
	(void)library, (void)items, (void)count;
	return fail_run(err);
}

void mpk_call_result_fini(struct mpk_call_result *r)
{
	(void)r;
}

void mpk_loadable_close(struct mpk_loadable *l)
{
	(void)l;
}

/* No libraries are installed in a browser. */
enum mpk_code minspect_tvm_ffi_paths(struct mpk_arena *arena, struct mpk_tvm_ffi_search *out,
				     struct mpk_error *err)
{
	(void)arena, (void)out, (void)err;
	return MPK_OK;
}
