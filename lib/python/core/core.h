/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - what the files of the extension module mpk._core share
 *
 * The module is CPython's stable ABI of 3.9 and libmpk-run. Nothing of NumPy, ml_dtypes or PyTorch is compiled in: they
 * are looked up when an argument is one of theirs.
 *
 * Every function here is called with the interpreter's lock held, unless it says otherwise; functions that return an
 * object or int return NULL or -1 with an exception set.
 */
#ifndef MPK_PYTHON_CORE_H
#define MPK_PYTHON_CORE_H

/* The Makefile sets Py_LIMITED_API. */
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpk/run.h"

/* The buffer protocol, which the stable ABI has from 3.11 on. What it is had not changed since 3.3, so that it is used
 * in all: its functions are looked up by name, and its struct is this one. */
struct mpk_py_buffer {
	void *buf;
	PyObject *obj;
	Py_ssize_t len, itemsize;
	int readonly, ndim;
	char *format;
	Py_ssize_t *shape, *strides, *suboffsets;
	void *internal;
};
enum {
	MPK_PY_BUFFER_WRITABLE = 0x0001,
	MPK_PY_BUFFER_FORMAT = 0x0004,
	MPK_PY_BUFFER_SHAPE = 0x0008,
	MPK_PY_BUFFER_STRIDES = 0x0010 | MPK_PY_BUFFER_SHAPE,
	MPK_PY_SLOT_GETBUFFER = 1 /* Py_bf_getbuffer */
};

/* --- the module and its types ------------------------------------------------------------------ */

/* What the module has made and looked up; it is there once in a process. */
struct mpk_py_state {
	PyObject *stop;       /* mpk.Stop */
	PyObject *budget;     /* mpk.BudgetError */
	PyObject *registered; /* functions of Python that all models have, by name */
	PyObject *error;      /* mpk.Error */
	PyTypeObject *tensor, *value, *shape, *type, *event, *function,
		*model;                                             /* mpk.Tensor, ... */
	PyObject *max_version;                                      /* {"max_version": (1, 1)} */
	PyObject *dlpack, *dlpack_device, *array_interface, *doc;   /* names of attributes */
	int (*get_buffer)(PyObject *, struct mpk_py_buffer *, int); /* NULL: this Python has none */
	void (*release_buffer)(struct mpk_py_buffer *);
};
extern struct mpk_py_state mpk_py;

/* mpk_py_add_tensor, _value, _function, _model - make a type of the module and add it to it. Returns 0 or -1 */
int mpk_py_add_tensor(PyObject *module);
int mpk_py_add_value(PyObject *module);
int mpk_py_add_function(PyObject *module);
int mpk_py_add_model(PyObject *module);

/* mpk_py_add_type - what they have in common. Returns the type, borrowed from the module, or NULL */
PyTypeObject *mpk_py_add_type(PyObject *module, PyType_Spec *spec, PyObject *base);

/* mpk_py_refuse_new - tp_new of types whose objects come from calls alone */
PyObject *mpk_py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* mpk_py_utf8 - the bytes of a text, ended by a NUL
 * @out     holds as long as the object that is returned, which is the caller's */
PyObject *mpk_py_utf8(PyObject *text, const char **out, size_t *length);

/* --- errors ------------------------------------------------------------------------------------ */

/* mpk_py_raise - set the exception that an error of the library is; what a model raised is what it is called
 * Returns NULL */
PyObject *mpk_py_raise(const struct mpkr_error *err);

/* mpk_py_raise_call - the same for an error of a call, of which a wrong number or kind of arguments is TypeError */
PyObject *mpk_py_raise_call(const struct mpkr_error *err);

/* --- element types ----------------------------------------------------------------------------- */

/* mpk_py_dtype_name - "float32", "bfloat16", "float8_e4m3fn", "bool", "float32x4" */
PyObject *mpk_py_dtype_name(struct mpkr_dtype dtype);

/* mpk_py_dtype_of_format - the type that a buffer's format and item size say
 * Returns  whether it is one of the types here, in the order of bytes of this machine */
bool mpk_py_dtype_of_format(const char *format, Py_ssize_t itemsize, struct mpkr_dtype *out);

/* mpk_py_dtype_of_typestr - the type that the array interface says: "<f4". Returns whether it is known */
bool mpk_py_dtype_of_typestr(const char *typestr, struct mpkr_dtype *out);

/* mpk_py_dtype_of_name - the type that ml_dtypes calls so, which NumPy's interfaces cannot name. Returns whether it is one */
bool mpk_py_dtype_of_name(const char *name, struct mpkr_dtype *out);

/* mpk_py_dtype_letter - NumPy's letter for its kind, "f" of float32; 0: NumPy alone has none */
char mpk_py_dtype_letter(struct mpkr_dtype dtype);

/* mpk_py_numpy_dtype - numpy.dtype of it; ml_dtypes has those that NumPy has not
 * Returns  borrowed; NULL without an exception: nobody has it, or a module is missing */
PyObject *mpk_py_numpy_dtype(struct mpkr_dtype dtype);

/* mpk_py_numpy - a name of NumPy, if it was imported
 * Returns  borrowed for ever; NULL without an exception: it was not */
PyObject *mpk_py_numpy(const char *name);

/* mpk_py_torch - the same of PyTorch */
PyObject *mpk_py_torch(const char *name);

/* --- tensors and values ------------------------------------------------------------------------ */

/* mpk_py_tensor - a result as mpk.Tensor
 * @result  taken over, also on failure */
PyObject *mpk_py_tensor(struct mpkr_result *result);

/* mpk_py_tensor_numpy - it as an array without a copy; the tensor itself where NumPy has no such array
 * @tensor  one reference is taken over */
PyObject *mpk_py_tensor_numpy(PyObject *tensor);

/* mpk_py_value - a value as mpk.Value
 * @handle  taken over, also on failure */
PyObject *mpk_py_value(mpkr_value *handle);

/* mpk_py_value_handle - what is in an mpk.Value; NULL: it is something else */
mpkr_value *mpk_py_value_handle(PyObject *object);

/* mpk_py_value_is_tuple - of an mpk.Value */
bool mpk_py_value_is_tuple(PyObject *object);

/* --- arguments --------------------------------------------------------------------------------- */

enum mpk_py_form {
	MPK_PY_NONE,
	MPK_PY_ARRAY,
	MPK_PY_NUMBER,
	MPK_PY_SHAPE,
	MPK_PY_TEXT,
	MPK_PY_VALUE,
	MPK_PY_CALLABLE /* of Python */
};

/* An argument, tuples and lists taken apart. */
struct mpk_py_leaf {
	enum mpk_py_form form;
	bool is_read_only, has_view, has_stream;
	PyObject *object;  /* a reference: keeps its memory */
	PyObject *capsule; /* of DLPack, or the bytes of a text, a reference; NULL */
	struct mpk_py_buffer view;
	struct mpkr_tensor tensor; /* of all forms but NONE and VALUE */
	mpkr_value *value; /* of VALUE, borrowed unless is_value_own; else what was made of it */
	bool is_value_own;
	void *copy;           /* memory of elements; NULL */
	const void *original; /* what copy is of, where the array is read-only; NULL */
	int64_t *original_strides;
	union {
		int64_t integer;
		double real;
		uint8_t boolean;
		int64_t length;
	} scalar;
	int64_t extents[2 * MPKR_RANK_MAX]; /* shape, then strides */
};

/* The arguments of a call. Zero-initialise; mpk_py_leaves_fini. */
struct mpk_py_leaves {
	struct mpk_py_leaf *items;
	size_t count, cap;
	const uint8_t *kinds; /* enum mpkr_kind, of inputs as far as they are known */
	size_t kind_count;
	bool copies_read_only; /* the function may write to what it is given */
	void *stream;          /* on which device memory is used; NULL: the default stream */
	struct mpk_py_leaf few[6];
};

/* mpk_py_leaves_add - add what an object is; a tuple or list is what is in it, and a shape where one is taken
 * Returns  0; -1 */
int mpk_py_leaves_add(struct mpk_py_leaves *leaves, PyObject *object);
void mpk_py_leaves_fini(struct mpk_py_leaves *leaves);

/* mpk_py_leaves_make - make values of what is no array, as mpkr_call_value takes them
 * @out     leaves->count of them
 * Returns  0; -1 */
int mpk_py_leaves_make(struct mpk_py_leaves *leaves, mpkr_model *model, struct mpkr_arg *out);

/* mpk_py_leaves_check - raise ValueError when a function wrote to what stood for a read-only array
 * Returns  0; -1 */
int mpk_py_leaves_check(const struct mpk_py_leaves *leaves);

/* mpk_py_extent - an integer of 64 bits; OverflowError for others. Returns 0 or -1 */
int mpk_py_extent(PyObject *object, int64_t *out);

/* --- functions of Python ------------------------------------------------------------------- */

/* mpk_py_register - let models call a function, or, if it is None, take it away
 * @model   NULL: all models of the process
 * @registered  a dict, which keeps the function as long as models may call it
 * Returns  0; -1 */
int mpk_py_register(mpkr_model *model, PyObject *registered, PyObject *name, PyObject *function);

/* mpk_py_callable - a function of Python as a value that models may call; it keeps it
 * Returns  0; -1 */
int mpk_py_callable(mpkr_model *model, PyObject *function, mpkr_value **out);

/* mpk_py_plain - a number, shape or text as Python has it
 * @kind    of the value */
PyObject *mpk_py_plain(const mpkr_value *value, enum mpkr_kind kind);

/* mpk_py_kept - what a model lends as Python keeps it: arrays are copies
 * mpk_py_kept_all - several, a tuple */
PyObject *mpk_py_kept(const mpkr_value *value);
PyObject *mpk_py_kept_all(mpkr_value *const *values, size_t count);

/* mpk_py_keep_exception - take the exception that is set along, through the library, to mpk_py_raise_again
 * @err     its text receives what it says, as the library has it
 * Returns  the code that a callback gives */
int mpk_py_keep_exception(struct mpkr_error *err);

/* mpk_py_keep_watched - the same of a watcher, which has no text of its own
 * @name    of the operator */
void mpk_py_keep_watched(const char *name);

/* mpk_py_raise_again - raise what a function of Python raised while a model called it, where an error of the library has
 * its text; and forget it
 * Returns  whether it was that */
bool mpk_py_raise_again(const char *text);

/* --- models and functions ---------------------------------------------------------------------- */

/* A model that is open, until the last of its handle and its functions goes. */
struct mpk_py_open {
	Py_ssize_t refs;
	mpkr_model *handle;
	void *stream;
	PyObject *registered;   /* functions of Python that it has, by name; NULL: none so far */
	PyObject *session;      /* a dict: what calls of its functions have in common */
	PyObject *watcher;      /* a function of Python that sees its operators; NULL: none */
	bool watches_values;    /* with what they are called with */
	PyObject *log, *loaded; /* hear what it prints, and of weights; NULL: nobody */
};

void mpk_py_open_drop(struct mpk_py_open *open);

/* mpk_py_function_handle - what is in an mpk.Function; NULL: it is something else */
mpkr_function *mpk_py_function_handle(PyObject *object);

/* mpk_py_function - a function as mpk.Function
 * @handle  taken over, also on failure
 * @session a dict that is the same for functions of which one runs at a time */
PyObject *mpk_py_function(mpkr_function *handle, PyObject *name, PyObject *signature,
			  PyObject *session, struct mpk_py_open *open);

#endif
