/* SPDX-License-Identifier: Apache-2.0 */
/* module_api.c - the functions that module code expects of its loader
 *
 * What is asked of a module comes with the context that the module was given; everything else
 * is answered for the library whose code this thread runs (context.h).
 */
#include "runtime/internal/module_api.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/any_list.h"
#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"
#include "base/strbuf.h"
#include "runtime/context.h"
#include "runtime/devices.h"
#include "runtime/internal/once.h"
#include "runtime/internal/tvm_ffi.h"
#include "runtime/internal/workspace.h"
#include "runtime/node.h"
#include "runtime/parallel.h"

static int fail(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

static int fail_text(enum mpk_code code, const char *text)
{
	struct mpk_error error;

	(void)mpk_fail(&error, code, "%s", text);
	return fail(&error);
}

/* --- look-up ------------------------------------------------------------------------ */

static int give_handle(enum mpk_convention conv, struct mpk_function *f, void **out)
{
	void *handle = mpk_conv_handle(conv, f);

	if (!handle)
		return fail_text(MPK_E_NOMEM, "out of memory");
	*out = handle;
	return 0;
}

static int get_func_from_env(void *ctx, const char *name, void **out)
{
	struct mpk_node_module *node = mpk_node_of_context(ctx);
	struct mpk_function *f;
	struct mpk_error error;

	if (!node)
		return fail_text(MPK_E_RAISED, "a function was looked up in no module");
	if (mpk_node_import(node, name, &f, &error) == MPK_OK)
		return give_handle(node->host->code.convention, f, out);
	if (mpk_tvm_ffi_global(name, out))
		return 0;
	return fail(&error);
}

/* --- memory and threads ------------------------------------------------------------- */

static void *alloc_workspace(int type, int id, uint64_t bytes, int code, int bits)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	void *data = NULL;

	(void)code;
	(void)bits;
	if (type == MPK_DL_CPU)
		data = mpk_workspace_alloc(bytes);
	else if (runtime)
		data = mpk_devices_alloc(mpk_runtime_devices(runtime),
					 (struct mpk_dldevice){ type, id }, bytes);
	if (!data)
		(void)fail_text(MPK_E_RAISED, "no memory for the workspace of a function");
	return data;
}

static int free_workspace(int type, int id, void *data)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;

	if (type == MPK_DL_CPU)
		mpk_workspace_free(data);
	else if (runtime)
		mpk_devices_free(mpk_runtime_devices(runtime), (struct mpk_dldevice){ type, id },
				 data);
	return 0;
}

static int parallel_launch(mpk_parallel_fn *fn, void *data, int num_task)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	unsigned threads = runtime ? mpk_runtime_options(runtime)->threads : 0;

	if (num_task == 0)
		num_task = (int)(threads ? threads : mpk_parallel_cores());
	return mpk_parallel_launch(fn, data, num_task);
}

static int parallel_barrier(int task, struct mpk_parallel_env *env)
{
	(void)task;
	return mpk_parallel_barrier(env);
}

static int run_once(void **slot, int (*fn)(void *), void *data, int bytes)
{
	(void)bytes;
	return mpk_once_run(slot, fn, data);
}

static int register_symbol(const char *name, void *address)
{
	struct mpk_host *host = mpk_context_get().loading;

	/* outside of a constructor nobody looks at what is registered */
	return !host || mpk_host_register(host, name, address) ? 0 : -1;
}

/* --- tvm-ffi ------------------------------------------------------------------------ */

static enum mpk_convention ffi_convention(void)
{
	return mpk_context_get().convention;
}

static int ffi_call(void *function, const struct mpk_ffi_any *args, int32_t count,
		    struct mpk_ffi_any *result)
{
	struct mpk_ffi_function_cell *cell = mpk_ffi_cell(ffi_convention(), function);

	return cell->safe_call(function, args, count, result);
}

static void ffi_raise(const char *kind, const char *message)
{
	mpk_raised_set(MPK_E_RAISED, mpk_span_str(kind ? kind : "RuntimeError"),
		       mpk_span_str(message ? message : ""));
}

static void ffi_raise_parts(const char *kind, const char **parts, int32_t count)
{
	struct mpk_strbuf message = { 0 };

	for (int32_t i = 0; i < count; i++)
		if (parts[i])
			mpk_strbuf_puts(&message, parts[i]);
	ffi_raise(kind, mpk_strbuf_text(&message));
	mpk_strbuf_fini(&message);
}

static void ffi_raise_object(void *error)
{
	const struct mpk_ffi_error_cell *cell = mpk_ffi_cell(ffi_convention(), error);

	mpk_raised_set(MPK_E_RAISED, mpk_span_of(cell->kind.data, cell->kind.size),
		       mpk_span_of(cell->message.data, cell->message.size));
}

static void ffi_move_raised(void **out)
{
	struct mpk_raised *r = mpk_raised_get();

	*out = r->is_set ? mpk_ffi_make_error(ffi_convention(), mpk_span_str(r->kind),
					      mpk_span_str(r->message))
			 : NULL;
	r->is_set = false;
}

static int ffi_init_once(void **slot, int (*init)(void **result))
{
	int bad_handle, rc = mpk_once_init(slot, init, &bad_handle);

	return bad_handle ? fail_text(MPK_E_RAISED, "an initialiser gave no handle") : rc;
}

static int ffi_deinit_once(void **slot, int (*deinit)(void *handle))
{
	void *handle = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);

	return handle ? deinit(handle) : 0;
}

static int ffi_hold(void *object)
{
	mpk_ffi_hold(ffi_convention(), object);
	return 0;
}

static int ffi_drop(void *object)
{
	mpk_ffi_drop(ffi_convention(), object);
	return 0;
}

/* A name nobody registered is no error: *out becomes NULL. The caller owns a
 * reference. */
static int ffi_get_global(const struct mpk_ffi_bytes *name, void **out)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_strbuf text = { 0 };
	struct mpk_function *f;
	int rc = 0;

	*out = NULL;
	mpk_strbuf_put(&text, name->data, name->size);
	f = runtime ? mpk_runtime_find_global(runtime, mpk_strbuf_text(&text)) : NULL;
	mpk_strbuf_fini(&text);
	if (f)
		rc = give_handle(ffi_convention(), f, out);
	if (*out)
		mpk_ffi_hold(ffi_convention(), *out);
	return rc;
}

static int ffi_make_text(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out, int is_bytes)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	struct mpk_error error;
	enum mpk_code rc = mpk_value_of_text(is_bytes ? MPK_VALUE_BYTES : MPK_VALUE_STR,
					     mpk_span_of(text->data, text->size), &v, &error);

	if (rc == MPK_OK)
		rc = mpk_ffi_encode(ffi_convention(), &v, out, &error);
	return rc == MPK_OK ? 0 : fail(&error);
}

static int ffi_make_error(const struct mpk_ffi_bytes *kind, const struct mpk_ffi_bytes *message,
			  void **out)
{
	*out = mpk_ffi_make_error(ffi_convention(), mpk_span_of(kind->data, kind->size),
				  mpk_span_of(message->data, message->size));
	return *out ? 0 : fail_text(MPK_E_NOMEM, "out of memory");
}

/* Text that is borrowed by pointer becomes an object; objects get one more reference. */
static int ffi_own(const struct mpk_ffi_any *view, struct mpk_ffi_any *out)
{
	struct mpk_ffi_bytes text;

	if (view->type_index == MPK_FFI_RAW_STR) {
		text = (struct mpk_ffi_bytes){ view->v_c_str, strlen(view->v_c_str) };
		return ffi_make_text(&text, out, 0);
	}
	if (view->type_index == MPK_FFI_BYTE_ARRAY)
		return ffi_make_text(view->v_ptr, out, 1);
	*out = *view;
	if (view->type_index >= MPK_FFI_OBJECT)
		mpk_ffi_hold(ffi_convention(), view->v_ptr);
	return 0;
}

static int ffi_list_move(void *list, int index, struct mpk_ffi_any *args, int at)
{
	return mpk_any_list_ffi_move(list, index, args, at, ffi_convention());
}

static int ffi_list_reset(void *list, int index)
{
	return mpk_any_list_ffi_reset(list, index, ffi_convention());
}

/* --- legacy ------------------------------------------------------------------------- */

static void tvm_set_last_error(const char *message)
{
	/* "ValueError: text", or text alone as compiled code leaves it */
	size_t len = strcspn(message, ": \n");
	bool has_kind = len > 5 && strncmp(message + len, ": ", 2) == 0 &&
			strncmp(message + len - 5, "Error", 5) == 0;

	mpk_raised_set(MPK_E_RAISED,
		       has_kind ? mpk_span_of(message, len) : mpk_span_str("TVMError"),
		       mpk_span_str(has_kind ? message + len + 2 : message));
}

static const char *tvm_get_last_error(void)
{
	return mpk_raised_get()->message;
}

static int tvm_get_global(const char *name, void **out)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;

	*out = runtime ? mpk_runtime_find_global(runtime, name) : NULL;
	return 0;
}

static const struct mpk_stub_table functions = {
	.get_func_from_env = get_func_from_env,
	.alloc_workspace = alloc_workspace,
	.free_workspace = free_workspace,
	.parallel_launch = parallel_launch,
	.parallel_barrier = parallel_barrier,
	.run_once = run_once,
	.register_symbol = register_symbol,
	.ffi_call = ffi_call,
	.ffi_raise = ffi_raise,
	.ffi_raise_parts = ffi_raise_parts,
	.ffi_raise_object = ffi_raise_object,
	.ffi_move_raised = ffi_move_raised,
	.ffi_init_once = ffi_init_once,
	.ffi_deinit_once = ffi_deinit_once,
	.ffi_hold = ffi_hold,
	.ffi_drop = ffi_drop,
	.ffi_get_global = ffi_get_global,
	.ffi_make_text = ffi_make_text,
	.ffi_make_error = ffi_make_error,
	.ffi_own = ffi_own,
	.ffi_list_set_arg = mpk_any_list_ffi_set_arg,
	.ffi_list_move = ffi_list_move,
	.ffi_list_reset = ffi_list_reset,
	.tvm_list_set_arg = mpk_any_list_legacy_set_arg,
	.tvm_list_move = mpk_any_list_legacy_move,
	.tvm_list_reset = mpk_any_list_legacy_reset,
	.tvm_call = mpk_legacy_enter,
	.tvm_set_last_error = tvm_set_last_error,
	.tvm_get_last_error = tvm_get_last_error,
	.tvm_get_global = tvm_get_global,
};

const struct mpk_stub_table *mpk_module_api(void)
{
	return &functions;
}

/* --- the library's pointers --------------------------------------------------------- */

typedef void any_code(void);

static void set_pointer(void *handle, const char *symbol, any_code *code)
{
	any_code **slot = dlsym(handle, symbol);

	if (slot)
		*slot = code;
}

static void set_context(struct mpk_host *host, struct mpk_module *context)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbol = { 0 };

	mpk_strbuf_printf(&symbol, "%s%s", host->code.prefix ? host->code.prefix : "",
			  mpk_generation_get(host->code.gen)->ctx_symbol);
	host->ctx_slot = dlsym(host->handle, mpk_strbuf_text(&symbol));
	if (host->ctx_slot)
		*host->ctx_slot = context;
}

void mpk_module_api_fill(struct mpk_host *host, struct mpk_module *context)
{
	const struct {
		const char *symbol;
		any_code *code;
	} pointers[] = {
		{ "__TVMFuncCall", (any_code *)functions.tvm_call },
		{ "__TVMAPISetLastError", (any_code *)functions.tvm_set_last_error },
		{ "__TVMBackendGetFuncFromEnv", (any_code *)functions.get_func_from_env },
		{ "__TVMBackendAllocWorkspace", (any_code *)functions.alloc_workspace },
		{ "__TVMBackendFreeWorkspace", (any_code *)functions.free_workspace },
		{ "__TVMBackendParallelLaunch", (any_code *)functions.parallel_launch },
		{ "__TVMBackendParallelBarrier", (any_code *)functions.parallel_barrier },
		{ "__TVMFFIFunctionCall", (any_code *)functions.ffi_call },
		{ "__TVMFFIErrorSetRaisedFromCStr", (any_code *)functions.ffi_raise },
		{ "__TVMFFIEnvModLookupFromImports", (any_code *)functions.get_func_from_env },
		{ "__TVMFFIHandleInitOnce", (any_code *)functions.ffi_init_once },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(pointers); i++)
		set_pointer(host->handle, pointers[i].symbol, pointers[i].code);
	set_context(host, context);
}
