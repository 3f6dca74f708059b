/* SPDX-License-Identifier: Apache-2.0 */
/* convention.h - values across the C boundary, in TVM's calling conventions
 *
 * convention.c (value array and type codes) and ffi.c (16-byte tagged cells) are the only
 * places that know how arguments look to module code. Every kind of value crosses both ways:
 * what a convention has no layout for (storages; in the legacy one shapes and arrays, too)
 * crosses as an object that only this program looks into.
 */
#ifndef MPK_ABI_CONVENTION_H
#define MPK_ABI_CONVENTION_H

#include <stddef.h>
#include <stdint.h>

#include "abi/internal/layout.h"
#include "base/error.h"
#include "blob/blob.h"
#include "value/function.h"
#include "value/module.h"
#include "value/value.h"

/* How long what an argument or result points to is there. */
enum mpk_lifetime {
	MPK_LIFETIME_CALL,  /* arguments: until the call returns; tensors are not copied */
	MPK_LIFETIME_OWNED, /* results: what nobody keeps is copied while it is there */
};

enum { MPK_ARGS_MAX = 1024 };

typedef void mpk_ffi_move_raised_fn(void **out);
typedef void mpk_ffi_raise_fn(const char *kind, const char *message);
typedef int mpk_ffi_get_global_fn(const struct mpk_ffi_bytes *name, void **out);

/* What a real libtvm_ffi.so does for us when the library brings it; see runtime/link.c. */
struct mpk_ffi_real {
	mpk_ffi_move_raised_fn *move_raised;
	mpk_ffi_raise_fn *raise;
	mpk_ffi_get_global_fn *get_global;
};

/* mpk_conv_use_real - the real API, or NULL for none; for all ffi calls of this process, in
 * which two implementations of that API cannot be. It gets every raise, too, as it keeps an error of its own
 * mpk_conv_real - the one that is used, or NULL */
void mpk_conv_use_real(const struct mpk_ffi_real *real);
const struct mpk_ffi_real *mpk_conv_real(void);

/* mpk_conv_call - call host code at an address
 * @result  none on entry; owned afterwards
 * Returns  MPK_OK; MPK_E_RAISED "Kind: message", or the code of our own function that
 *          failed further in; MPK_E_UNSUPPORTED: a value this convention cannot pass;
 *          MPK_E_RANGE: more than MPK_ARGS_MAX arguments; MPK_E_NOMEM */
enum mpk_code mpk_conv_call(enum mpk_convention conv, void *address, const struct mpk_args *args,
			    struct mpk_value *result, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_conv_handle - what module code is given for a function: stays valid as long as f
 * Returns  NULL when memory is out */
void *mpk_conv_handle(enum mpk_convention conv, struct mpk_function *f);

/* A function of tvm-ffi's conventions. */
struct mpk_ffi_code {
	enum mpk_convention conv;
	mpk_ffi_safe_call *call;
	void *self; /* its object; NULL: the code of a library */
};

/* The conventions themselves. The legacy handle is the function; that of tvm-ffi is an
 * object whose code is mpk_ffi_enter, or that of 0.21. Calls fail as
 * mpk_conv_call does; enter returns what host code wants: 0, or -1 with the error kept
 * (ffi_object.h). */
int mpk_legacy_enter(void *handle, union mpk_tvm_value *args, int *codes, int count,
		     union mpk_tvm_value *result, int *result_code);
/* mpk_legacy_forget_result - drop what enter returned last in this thread, when no code that got it is running */
void mpk_legacy_forget_result(void);
enum mpk_code mpk_ffi_call(const struct mpk_ffi_code *code, const struct mpk_args *args,
			   struct mpk_value *result, struct mpk_error *err);
enum mpk_code mpk_ffi_call_cells(const struct mpk_ffi_code *code, const struct mpk_ffi_any *cells,
				 size_t count, struct mpk_value *result, struct mpk_error *err);
int mpk_ffi_enter(void *handle, const struct mpk_ffi_any *args, int32_t count,
		  struct mpk_ffi_any *result);

/* A value that the legacy convention has no code of its own for. The only objects that module code
 * can have are those it was given, so a handle with the object code is one of these. */
struct mpk_legacy_box {
	uint64_t magic;
	struct mpk_value value; /* borrowed from what was passed */
};

/* What an argument or result of the legacy convention points to while it is one. */
struct mpk_legacy_slot {
	struct mpk_dltensor dl;
	struct mpk_tvm_bytes bytes;
	struct mpk_legacy_box box;
};

/* An item of the lists that compiled functions of the Relax VM work on: the value, and what it looks like as an argument. */
struct mpk_legacy_item {
	struct mpk_value value;
	struct mpk_legacy_slot slot;
};

/* mpk_legacy_encode - a value as an argument, borrowed; slot and value must stay as long as it is
 * mpk_legacy_decode - an argument or result as a value, *out owned
 * Return  MPK_OK; MPK_E_UNSUPPORTED: a value that the convention cannot hold, an object of TVM's own
 *         runtime; MPK_E_RANGE: a tensor of too many dimensions; MPK_E_NOMEM */
enum mpk_code mpk_legacy_encode(const struct mpk_value *v, struct mpk_legacy_slot *slot,
				union mpk_tvm_value *out, int *code,
				struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_legacy_decode(union mpk_tvm_value v, int code, enum mpk_lifetime lifetime,
				struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ffi_encode - a value as an owned cell
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a value that cells cannot hold; MPK_E_NOMEM */
enum mpk_code mpk_ffi_encode(enum mpk_convention conv, const struct mpk_value *v,
			     struct mpk_ffi_any *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_ffi_decode - a cell as a value; the cell stays as it is (borrowed)
 * Returns  MPK_OK, *out owned; MPK_E_UNSUPPORTED: an object of unknown type; MPK_E_RANGE: a
 *          tensor of too many dimensions; MPK_E_NOMEM */
enum mpk_code mpk_ffi_decode(enum mpk_convention conv, const struct mpk_ffi_any *any,
			     enum mpk_lifetime lifetime, struct mpk_value *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- arguments in a convention's own layout, made once and passed as often as wanted ---------- */

/* A kernel of a model is called thousands of times with tensors that stay where they are: its
 * arguments are laid out beforehand and the call is the call alone. Tensors are passed as
 * DLTensor pointers, which compiled code of every release takes; nothing is counted or
 * allocated. Whatever an argument points to must stay until the last call. */

struct mpk_packed {
	enum mpk_convention conv;
	size_t count;
	struct mpk_ffi_any *cells;   /* tvm-ffi; else NULL */
	union mpk_tvm_value *values; /* legacy; else NULL */
	int *codes;                  /* of values */
};

/* mpk_packed_bytes - the memory that count arguments take, a multiple of 16 */
size_t mpk_packed_bytes(enum mpk_convention conv, size_t count);

/* mpk_packed_at - arguments, all null, in memory of mpk_packed_bytes bytes, aligned to 16 */
struct mpk_packed mpk_packed_at(enum mpk_convention conv, void *memory, size_t count);

/* mpk_packed_set_... - argument i, below count; pointers are borrowed */
void mpk_packed_set_tensor(const struct mpk_packed *p, size_t i, struct mpk_dltensor *t);
void mpk_packed_set_pointer(const struct mpk_packed *p, size_t i, void *pointer);

/* mpk_packed_set - a value of any kind that needs no object
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for shapes, arrays, functions, modules, storages, objects:
 *          those are passed by mpk_conv_call */
enum mpk_code mpk_packed_set(const struct mpk_packed *p, size_t i, const struct mpk_value *v,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_packed_call - call host code at an address with these arguments
 * @result  what it returned, owned; NULL: nothing is expected, a returned object is released
 * Returns  as mpk_conv_call */
enum mpk_code mpk_packed_call(const struct mpk_packed *p, void *address, struct mpk_value *result,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
