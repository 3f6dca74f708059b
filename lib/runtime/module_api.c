/* The functions that module code expects of its loader. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "abi/raised.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "runtime/loaded.h"
#include "runtime/parallel.h"
#include "runtime/tvm_ffi.h"
#include "runtime/workspace.h"
#include "text/escape.h"

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

/* The context is whatever we stored in the library's context symbol: an instance. */
static struct mpk_instance *instance_of(const struct mpk_library *lib, void *ctx)
{
	for (size_t i = 0; i < lib->count; i++)
		if (&lib->instances[i] == ctx)
			return ctx;
	return NULL;
}

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
	struct mpk_library *lib = mpk_library_active();
	struct mpk_instance *inst = lib ? instance_of(lib, ctx) : NULL;
	struct mpk_function *f;
	struct mpk_error error;

	if (!inst)
		return fail_text(MPK_E_RAISED, "a function was looked up in no module");
	if (mpk_instance_import(inst, name, &f, &error) == MPK_OK)
		return give_handle(lib->convention, f, out);
	if (mpk_tvm_ffi_global(name, out))
		return 0;
	return fail(&error);
}

/* --- memory and threads ------------------------------------------------------------- */

static void *alloc_workspace(int type, int id, uint64_t bytes, int code, int bits)
{
	const struct mpk_library_options *o = mpk_library_options(mpk_library_active());
	void *data = NULL;

	(void)code;
	(void)bits;
	if (type == MPK_DL_CPU)
		data = mpk_workspace_alloc(bytes);
	else if (o->device_alloc)
		data = o->device_alloc((struct mpk_dldevice){ type, id }, bytes, o->user);
	if (!data)
		(void)fail_text(MPK_E_RAISED, "no memory for the workspace of a function");
	return data;
}

static int free_workspace(int type, int id, void *data)
{
	const struct mpk_library_options *o = mpk_library_options(mpk_library_active());

	if (type != MPK_DL_CPU && o->device_free)
		return o->device_free((struct mpk_dldevice){ type, id }, data, o->user);
	mpk_workspace_free(data);
	return 0;
}

static int parallel_launch(mpk_parallel_fn *fn, void *data, int num_task)
{
	unsigned threads = mpk_library_options(mpk_library_active())->threads;

	if (num_task == 0)
		num_task = (int)(threads ? threads : mpk_parallel_cores());
	return mpk_parallel_launch(fn, data, num_task);
}

static int parallel_barrier(int task, struct mpk_parallel_env *env)
{
	(void)task;
	return mpk_parallel_barrier(env);
}

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;

static int run_once(void **slot, int (*fn)(void *), void *data, int bytes)
{
	int rc = 0;

	(void)bytes;
	(void)pthread_mutex_lock(&once_lock);
	if (!*slot) {
		*slot = (void *)slot; /* any pointer that is not NULL */
		rc = fn(data);
	}
	(void)pthread_mutex_unlock(&once_lock);
	return rc;
}

static int register_symbol(const char *name, void *address)
{
	struct mpk_library *lib = mpk_library_active();

	if (!lib || !mpk_vec_reserve(&lib->registered, &lib->registered_cap,
				     lib->registered_count + 1, sizeof *lib->registered))
		return -1;
	lib->registered[lib->registered_count++] = (struct mpk_registered){ name, address };
	return 0;
}

/* --- tvm-ffi ------------------------------------------------------------------------ */

static enum mpk_convention ffi_convention(void)
{
	const struct mpk_library *lib = mpk_library_active();

	return lib ? lib->convention : MPK_CONV_FFI;
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
	void *result = NULL;
	int rc = 0;

	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE))
		return 0;
	(void)pthread_mutex_lock(&once_lock);
	if (!__atomic_load_n(slot, __ATOMIC_ACQUIRE)) {
		rc = init(&result);
		if (rc == 0 && !result)
			rc = fail_text(MPK_E_RAISED, "an initialiser gave no handle");
		if (rc == 0)
			__atomic_store_n(slot, result, __ATOMIC_RELEASE);
	}
	(void)pthread_mutex_unlock(&once_lock);
	return rc;
}

static int ffi_deinit_once(void **slot, int (*deinit)(void *handle))
{
	void *handle;

	(void)pthread_mutex_lock(&once_lock);
	handle = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
	(void)pthread_mutex_unlock(&once_lock);
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
	struct mpk_library *lib = mpk_library_active();
	struct mpk_strbuf text = { 0 };
	struct mpk_function *f;
	int rc = 0;

	*out = NULL;
	mpk_strbuf_put(&text, name->data, name->size);
	f = lib ? mpk_library_find_global(lib, mpk_strbuf_text(&text)) : NULL;
	mpk_strbuf_fini(&text);
	if (f)
		rc = give_handle(lib->convention, f, out);
	if (*out)
		mpk_ffi_hold(lib->convention, *out);
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
	struct mpk_library *lib = mpk_library_active();

	*out = lib ? mpk_library_find_global(lib, name) : NULL;
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
	.tvm_call = mpk_legacy_enter,
	.tvm_set_last_error = tvm_set_last_error,
	.tvm_get_last_error = tvm_get_last_error,
	.tvm_get_global = tvm_get_global,
};

const struct mpk_stub_table *mpk_stub_functions(void)
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

static void set_context(const struct mpk_library *lib)
{
	const struct mpk_image *image = lib->options.image;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbol = { 0 };
	void *ctx = &lib->instances[0];
	void **slot;

	/* the host node; of several the last, as TVM's own loader leaves it */
	for (size_t i = 0; i < lib->count; i++)
		if (mpk_instance_is_host(&lib->instances[i]))
			ctx = &lib->instances[i];
	mpk_strbuf_printf(&symbol, "%s%s", image->prefix ? image->prefix : "",
			  mpk_generation_get(image->gen)->ctx_symbol);
	slot = dlsym(lib->handle, mpk_strbuf_text(&symbol));
	if (slot)
		*slot = ctx;
}

void mpk_library_fill_context(struct mpk_library *lib)
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
		set_pointer(lib->handle, pointers[i].symbol, pointers[i].code);
	set_context(lib);
}

/* --- global functions every loader has ---------------------------------------------- */

static enum mpk_code call_set_device(struct mpk_function *self, const struct mpk_value *args,
				     size_t count, struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_library_options *o = mpk_library_options(mpk_library_active());
	struct mpk_dldevice device = { 0 };

	(void)self;
	(void)result;
	if (count != 2 || args[0].kind != MPK_VALUE_INT || args[1].kind != MPK_VALUE_INT)
		return mpk_fail(err, MPK_E_RAISED, "__tvm_set_device takes two integers");
	device.type = (int32_t)args[0].integer;
	device.id = (int32_t)args[1].integer;
	if (o->set_device)
		return o->set_device(device, o->user, err);
	if (device.type == MPK_DL_CPU)
		return MPK_OK;
	return mpk_fail(err, MPK_E_DEVICE, "no driver for devices of type %d", device.type);
}

enum mpk_code mpk_library_add_builtins(struct mpk_library *lib, struct mpk_error *err)
{
	static struct mpk_function set_device = { .name = "__tvm_set_device",
						  .call = call_set_device };

	/* static: the count never reaches zero again */
	atomic_store(&set_device.refs, 1);
	return mpk_library_add_global(lib, set_device.name, mpk_function_hold(&set_device), err);
}
