/* SPDX-License-Identifier: Apache-2.0 */
/* module_api.c - the functions that module code expects of its loader
 *
 * What is asked of a module comes with the context that the module was given; everything else
 * is answered for the library whose code this thread runs (struct mpk_context). Errors go the way of the
 * C API: a status of -1, and the words in the thread's last error (abi/ffi_object.h).
 */
#include "runtime/internal/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "runtime/library.h"
#include "runtime/runtime.h"

static int fail_call(const struct mpk_error *error)
{
	mpk_raised_set_error(error);
	return -1;
}

static int fail_text(enum mpk_code code, const char *text)
{
	struct mpk_error error;

	(void)mpk_fail(&error, code, "%s", text);
	return fail_call(&error);
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

/* Functions that the real registry has and this program has not, such as those of Python packages. The handle is never
 * given back. */
static bool real_global(const char *name, void **out)
{
	const struct mpk_ffi_real *real = mpk_conv_real();
	struct mpk_ffi_bytes key = { name, strlen(name) };

	*out = NULL;
	return real && real->get_global(&key, out) == 0 && *out;
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
	if (real_global(name, out))
		return 0;
	return fail_call(&error);
}

/* --- what constructors register ----------------------------------------------------------------- */

/* Names are the module's own constants, so the pointers stay good as long as it is open. */
bool mpk_host_register(struct mpk_host *host, const char *name, void *address)
{
	if (!MPK_VEC_ROOM(host->registered, host->registered_count, host->registered_cap))
		return false;
	host->registered[host->registered_count++] = (struct mpk_registered){ name, address };
	return true;
}

static int register_symbol(const char *name, void *address)
{
	struct mpk_host *host = mpk_context_get().loading;

	/* outside of a constructor nobody looks at what is registered */
	return !host || mpk_host_register(host, name, address) ? 0 : -1;
}

/* --- errors as objects -------------------------------------------------------------------------- */

static void keep_backtrace(void *self, const struct mpk_ffi_bytes *text, int32_t mode)
{
	/* C code has no frames worth showing; whoever appends some loses nothing else */
	(void)self;
	(void)text;
	(void)mode;
}

/* Kind, message and an empty backtrace in one block after the cell. */
static void *make_error_object(enum mpk_convention conv, struct mpk_span kind,
			       struct mpk_span message)
{
	struct mpk_ffi_error_cell *cell;
	void *object = mpk_ffi_make(conv, MPK_FFI_ERROR, sizeof *cell + kind.len + message.len + 2);
	char *text;

	if (!object)
		return NULL;
	cell = mpk_ffi_cell(conv, object);
	text = (char *)(cell + 1);
	if (kind.len)
		memcpy(text, kind.data, kind.len);
	if (message.len)
		memcpy(text + kind.len + 1, message.data, message.len);
	cell->kind = (struct mpk_ffi_bytes){ text, kind.len };
	cell->message = (struct mpk_ffi_bytes){ text + kind.len + 1, message.len };
	cell->backtrace = (struct mpk_ffi_bytes){ text + kind.len, 0 };
	cell->update_backtrace = keep_backtrace;
	return object;
}

/* --- tvm-ffi ------------------------------------------------------------------------ */

static enum mpk_convention ffi_convention(void)
{
	return mpk_context_convention();
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

	*out = r->is_set ? make_error_object(ffi_convention(), mpk_span_str(r->kind),
					     mpk_span_str(r->message))
			 : NULL;
	r->is_set = false;
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
	struct mpk_function *f = NULL;
	struct mpk_error error;
	int rc = 0;

	*out = NULL;
	mpk_strbuf_put(&text, name->data, name->size);
	if (runtime &&
	    mpk_runtime_find_global(runtime, mpk_strbuf_text(&text), &f, &error) != MPK_OK)
		rc = fail_call(&error);
	mpk_strbuf_fini(&text);
	if (f)
		rc = give_handle(ffi_convention(), f, out);
	if (*out)
		mpk_ffi_hold(ffi_convention(), *out);
	return rc;
}

static int ffi_make_text(enum mpk_value_kind kind, const struct mpk_ffi_bytes *text,
			 struct mpk_ffi_any *out)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	struct mpk_error error;
	enum mpk_code rc = mpk_value_of_text(kind, mpk_span_of(text->data, text->size), &v, &error);

	if (rc == MPK_OK)
		rc = mpk_ffi_encode(ffi_convention(), &v, out, &error);
	return rc == MPK_OK ? 0 : fail_call(&error);
}

static int ffi_make_string(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out)
{
	return ffi_make_text(MPK_VALUE_STR, text, out);
}

static int ffi_make_bytes(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out)
{
	return ffi_make_text(MPK_VALUE_BYTES, text, out);
}

static int ffi_make_error(const struct mpk_ffi_bytes *kind, const struct mpk_ffi_bytes *message,
			  const struct mpk_ffi_bytes *backtrace, void **out)
{
	(void)backtrace;
	*out = make_error_object(ffi_convention(), mpk_span_of(kind->data, kind->size),
				 mpk_span_of(message->data, message->size));
	return *out ? 0 : fail_text(MPK_E_NOMEM, "out of memory");
}

/* Text that is borrowed by pointer becomes an object; objects get one more reference. */
static int ffi_own(const struct mpk_ffi_any *view, struct mpk_ffi_any *out)
{
	struct mpk_ffi_bytes text;

	if (view->type_index == MPK_FFI_RAW_STR) {
		text = (struct mpk_ffi_bytes){ view->v_c_str, strlen(view->v_c_str) };
		return ffi_make_string(&text, out);
	}
	if (view->type_index == MPK_FFI_BYTE_ARRAY)
		return ffi_make_bytes(view->v_ptr, out);
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
	struct mpk_runtime *runtime = mpk_context_get().runtime;

	struct mpk_function *f = NULL;
	struct mpk_error error;

	if (runtime && mpk_runtime_find_global(runtime, name, &f, &error) != MPK_OK)
		return fail_call(&error);
	*out = f;
	return 0;
}

/* --- their names ----------------------------------------------------------------------------- */

/* Streams belong to devices; host code asks on the CPU only, where there is none. */
static void *get_stream(int32_t device_type, int32_t device_id)
{
	(void)device_type;
	(void)device_id;
	return NULL;
}

/* Those of a part; what module code may have linked in, first. X(name, function) */
#define BACKEND_API(X) X(TVMBackendGetFuncFromEnv, get_func_from_env)

#define FFI_API(X)                                                                                 \
	X(TVMFFIErrorSetRaisedFromCStr, ffi_raise)                                                 \
	X(TVMFFIErrorSetRaisedFromCStrParts, ffi_raise_parts)                                      \
	X(TVMFFIErrorSetRaised, ffi_raise_object)                                                  \
	X(TVMFFIErrorMoveFromRaised, ffi_move_raised)                                              \
	X(TVMFFIErrorCreate, ffi_make_error)                                                       \
	X(TVMFFIEnvModLookupFromImports, get_func_from_env)                                        \
	X(TVMFFIObjectIncRef, ffi_hold)                                                            \
	X(TVMFFIObjectDecRef, ffi_drop)                                                            \
	X(TVMFFIObjectFree, ffi_drop) /* 0.21's name for it */                                     \
	X(TVMFFIFunctionGetGlobal, ffi_get_global)                                                 \
	X(TVMFFIStringFromByteArray, ffi_make_string)                                              \
	X(TVMFFIBytesFromByteArray, ffi_make_bytes)                                                \
	X(TVMFFIAnyViewToOwnedAny, ffi_own)                                                        \
	X(TVMFFIEnvGetStream, get_stream)
#define BACKEND_ROW(name, function) MPK_API_ROW(BACKEND, #name, function)
#define FFI_ROW(name, function) MPK_API_ROW(FFI, #name, function)

/* clang-format off */
static const struct mpk_module_symbol symbols[] = {
	BACKEND_API(BACKEND_ROW)
	MPK_API_ROW(BACKEND, "TVMBackendRegisterSystemLibSymbol", register_symbol)

	FFI_API(FFI_ROW)
	MPK_API_ROW(FFI, "TVMFFIEnvModRegisterSystemLibSymbol", register_symbol)

	MPK_API_ROW(LEGACY, "TVMFuncCall", mpk_legacy_enter)
	MPK_API_ROW(LEGACY, "TVMAPISetLastError", tvm_set_last_error)
	MPK_API_ROW(LEGACY, "TVMGetLastError", tvm_get_last_error)
	MPK_API_ROW(LEGACY, "TVMFuncGetGlobal", tvm_get_global)
};

BACKEND_API(MPK_API_LINKED)
FFI_API(MPK_API_LINKED)
/* clang-format on */

static const struct mpk_module_symbols module_api = { symbols, MPK_ARRAY_COUNT(symbols) };

const struct mpk_module_symbols *const mpk_module_api[MPK_MODULE_APIS] = {
	&module_api, &mpk_parallel_api, &mpk_workspace_api, &mpk_vm_api
};

mpk_module_code *mpk_module_api_find(const char *name, unsigned parts)
{
	if (strncmp(name, "TVM", 3) != 0)
		return NULL;
	for (size_t i = 0; i < MPK_MODULE_APIS; i++)
		for (size_t k = 0; k < mpk_module_api[i]->count; k++) {
			const struct mpk_module_symbol *symbol = &mpk_module_api[i]->rows[k];

			if ((symbol->part & parts) && strcmp(symbol->name, name) == 0)
				return symbol->code;
		}
	return NULL;
}
