/* SPDX-License-Identifier: Apache-2.0 */
/* stub.h - what the runtime stubs in lib/run/runtime stub forward to
 *
 * Module code imports functions of its loader by name. They are exported by small
 * shared objects, opened with RTLD_GLOBAL only in the process that runs the module, and
 * forward to this table. One runtime stub an API, not one a generation: a library that brings the
 * real libtvm_ffi.so still needs the backend functions, and those are the same in all
 * generations. Plain types only: runtime stubs include nothing else of this project.
 */
#ifndef MPK_RUNTIME_STUB_H
#define MPK_RUNTIME_STUB_H

#include <stddef.h>
#include <stdint.h>

/* TVMParallelGroupEnv */
struct mpk_parallel_env {
	void *sync_handle;
	int32_t num_task;
};

typedef int mpk_parallel_fn(int task, struct mpk_parallel_env *env, void *data);

struct mpk_ffi_any;   /* abi.h: TVMFFIAny */
struct mpk_ffi_bytes; /* abi.h: TVMFFIByteArray */
union mpk_tvm_value;  /* abi.h: TVMValue */

struct mpk_stub_table {
	/* backend: all generations */
	int (*get_func_from_env)(void *ctx, const char *name, void **out);
	void *(*alloc_workspace)(int device_type, int device_id, uint64_t bytes, int code,
				 int bits);
	int (*free_workspace)(int device_type, int device_id, void *data);
	int (*parallel_launch)(mpk_parallel_fn *fn, void *data, int num_task);
	int (*parallel_barrier)(int task, struct mpk_parallel_env *env);
	int (*run_once)(void **slot, int (*fn)(void *), void *data, int bytes);
	int (*register_symbol)(const char *name, void *address);

	/* tvm-ffi: 0.21 and current */
	int (*ffi_call)(void *function, const struct mpk_ffi_any *args, int32_t count,
			struct mpk_ffi_any *result);
	void (*ffi_raise)(const char *kind, const char *message);
	void (*ffi_raise_parts)(const char *kind, const char **parts, int32_t count);
	void (*ffi_raise_object)(void *error);
	void (*ffi_move_raised)(void **out);
	int (*ffi_init_once)(void **slot, int (*init)(void **result));
	int (*ffi_deinit_once)(void **slot, int (*deinit)(void *handle));
	int (*ffi_hold)(void *object);
	int (*ffi_drop)(void *object);
	int (*ffi_get_global)(const struct mpk_ffi_bytes *name, void **out);
	int (*ffi_make_text)(const struct mpk_ffi_bytes *text, struct mpk_ffi_any *out,
			     int is_bytes);
	int (*ffi_make_error)(const struct mpk_ffi_bytes *kind, const struct mpk_ffi_bytes *message,
			      void **out);
	int (*ffi_own)(const struct mpk_ffi_any *view, struct mpk_ffi_any *out);

	/* Relax VM functions in compiled form */
	int (*ffi_list_set_arg)(void *list, int index, struct mpk_ffi_any *args, int at);
	int (*ffi_list_move)(void *list, int index, struct mpk_ffi_any *args, int at);
	int (*ffi_list_reset)(void *list, int index);
	int (*tvm_list_set_arg)(void *list, int index, union mpk_tvm_value *args, int *codes,
				int at);
	int (*tvm_list_move)(void *list, int index, union mpk_tvm_value *args, int *codes, int at);
	int (*tvm_list_reset)(void *list, int index);

	/* legacy */
	int (*tvm_call)(void *function, union mpk_tvm_value *args, int *codes, int count,
			union mpk_tvm_value *result, int *result_code);
	void (*tvm_set_last_error)(const char *message);
	const char *(*tvm_get_last_error)(void);
	int (*tvm_get_global)(const char *name, void **out);
};

/* The one function of a runtime stub that is ours; the table outlives all calls. */
#define MPK_STUB_BIND "mpk_stub_bind"
typedef void mpk_stub_bind_fn(const struct mpk_stub_table *table);

#endif
