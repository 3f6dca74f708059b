/* SPDX-License-Identifier: Apache-2.0 */
/* core.h - declarations shared by the files of the extension module mpk._core
 *
 * The module uses only CPython's stable ABI of 3.9 and libmpk-run. It is not compiled against
 * NumPy, ml_dtypes or PyTorch: it imports their names at run time, when an argument is an object of
 * theirs.
 *
 * Every function here is called with the GIL held, unless it says otherwise. Functions that return
 * an object or int return NULL or -1 with an exception set. */
#ifndef MPK_PYTHON_CORE_H
#define MPK_PYTHON_CORE_H

/* The Makefile sets Py_LIMITED_API. */
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpk/run.h"

/* The buffer protocol is part of the stable ABI only from 3.11 on. It has not changed since 3.3, so
 * the module uses it with all versions: it looks up the functions by name and declares the struct
 * here. */
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
	MPK_PY_SLOT_GETBUFFER = 1 /* Py_bf_getbuffer of the stable ABI */
};

/* --- the module and its types ------------------------------------------------------------------ */

/* Objects that the module has created or looked up; one for the process. */
struct mpk_py_state {
	PyObject *stop;       /* mpk.Stop */
	PyObject *budget;     /* mpk.BudgetError */
	PyObject *registered; /* dict of Python functions that are registered for all models, by
			       * name */
	PyObject *error;      /* mpk.Error */
	PyTypeObject *tensor, *value, *shape, *type, *event, *function,
		*model;                                           /* types of the module:
								     * mpk.Tensor, ... */
	PyObject *max_version;                                    /* {"max_version": (1, 1)} */
	PyObject *dlpack, *dlpack_device, *array_interface, *doc; /* interned names of attributes */
	int (*get_buffer)(PyObject *, struct mpk_py_buffer *, int); /* NULL if this version of
								     * Python does not have it */
	void (*release_buffer)(struct mpk_py_buffer *);
};
extern struct mpk_py_state mpk_py;

/* mpk_py_add_tensor, _value, _function, _model - create a type and add it to the module. Return 0
 * or -1 */
int mpk_py_add_tensor(PyObject *module);
int mpk_py_add_value(PyObject *module);
int mpk_py_add_function(PyObject *module);
int mpk_py_add_model(PyObject *module);

/* mpk_py_add_type - create a type from a specification and add it to the module. Returns the type,
 * borrowed from the module, or NULL */
PyTypeObject *mpk_py_add_type(PyObject *module, PyType_Spec *spec, PyObject *base);

/* mpk_py_refuse_new - tp_new of types that users cannot instantiate */
PyObject *mpk_py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* mpk_py_utf8 - the UTF-8 bytes of a string, with a NUL at their end
 * @out     valid as long as the returned object, which the caller owns */
PyObject *mpk_py_utf8(PyObject *text, const char **out, size_t *length);

/* --- errors ------------------------------------------------------------------------------------ */

/* mpk_py_raise - raise the exception for an error of the library; for an error that a model raised,
 * the exception that its text names
 * Returns NULL */
PyObject *mpk_py_raise(const struct mpkr_error *err);

/* mpk_py_raise_call - as mpk_py_raise, but a wrong number or kind of arguments becomes TypeError */
PyObject *mpk_py_raise_call(const struct mpkr_error *err);

/* --- element types ----------------------------------------------------------------------------- */

/* mpk_py_dtype_name - name of an element type: "float32", "bfloat16", "float8_e4m3fn", "bool",
 * "float32x4" */
PyObject *mpk_py_dtype_name(struct mpkr_dtype dtype);

/* mpk_py_dtype_of_format - the element type for a buffer's format and item size
 * Returns  whether the type is supported and has the machine's byte order */
bool mpk_py_dtype_of_format(const char *format, Py_ssize_t itemsize, struct mpkr_dtype *out);

/* mpk_py_dtype_of_typestr - the element type for a typestr of the array interface, such as "<f4".
 * Returns whether it is known */
bool mpk_py_dtype_of_typestr(const char *typestr, struct mpkr_dtype *out);

/* mpk_py_dtype_of_name - the element type for a name of ml_dtypes, for types that NumPy's
 * interfaces cannot express. Returns whether it is known */
bool mpk_py_dtype_of_name(const char *name, struct mpkr_dtype *out);

/* mpk_py_dtype_letter - NumPy's letter for the kind of a type, such as "f" for float32; 0 if plain
 * NumPy does not have the type */
char mpk_py_dtype_letter(struct mpkr_dtype dtype);

/* mpk_py_numpy_dtype - the numpy.dtype for an element type; types that NumPy lacks come from
 * ml_dtypes
 * Returns  borrowed; NULL without an exception: no such dtype, or a module is missing */
PyObject *mpk_py_numpy_dtype(struct mpkr_dtype dtype);

/* mpk_py_numpy - an attribute of NumPy, if NumPy was imported
 * Returns  borrowed, valid forever; NULL without an exception: NumPy was not imported */
PyObject *mpk_py_numpy(const char *name);

/* mpk_py_torch - an attribute of PyTorch, as mpk_py_numpy */
PyObject *mpk_py_torch(const char *name);

/* --- tensors and values ------------------------------------------------------------------------ */

/* mpk_py_tensor - make an mpk.Tensor from a result
 * @result  taken over, also on failure */
PyObject *mpk_py_tensor(struct mpkr_result *result);

/* mpk_py_tensor_numpy - view an mpk.Tensor as a NumPy array, without a copy; returns the tensor
 * itself if NumPy cannot represent it
 * @tensor  one reference is taken over */
PyObject *mpk_py_tensor_numpy(PyObject *tensor);

/* mpk_py_value - make an mpk.Value from a value
 * @handle  taken over, also on failure */
PyObject *mpk_py_value(mpkr_value *handle);

/* mpk_py_value_handle - the handle in an mpk.Value; NULL if the object is not one */
mpkr_value *mpk_py_value_handle(PyObject *object);

/* mpk_py_value_is_tuple - whether an mpk.Value is a tuple */
bool mpk_py_value_is_tuple(PyObject *object);

/* --- arguments --------------------------------------------------------------------------------- */

enum mpk_py_form {
	MPK_PY_NONE,
	MPK_PY_ARRAY,
	MPK_PY_NUMBER,
	MPK_PY_SHAPE,
	MPK_PY_TEXT,
	MPK_PY_VALUE,
	MPK_PY_CALLABLE /* a Python callable */
};

/* One argument of a call, after tuples and lists were flattened. */
struct mpk_py_leaf {
	enum mpk_py_form form;
	bool is_read_only, has_view, has_stream;
	PyObject *object;  /* owned reference that keeps the memory alive */
	PyObject *capsule; /* owned reference to a DLPack capsule or to the bytes of a text; NULL */
	struct mpk_py_buffer view;
	struct mpkr_tensor tensor; /* set for all forms except NONE and VALUE */
	mpkr_value *value; /* form VALUE: borrowed unless is_value_own; else the value made from the
			    * argument */
	bool is_value_own;
	void *copy;           /* owned memory for a copy of the elements; NULL */
	const void *original; /* elements of the read-only array that was copied to copy; NULL */
	int64_t *original_strides;
	union {
		int64_t integer;
		double real;
		uint8_t boolean;
		int64_t length;
	} scalar;
	int64_t extents[2 * MPKR_RANK_MAX]; /* memory for the shape, followed by the strides */
};

/* The arguments of a call. Zero-initialise; free with mpk_py_leaves_fini. */
struct mpk_py_leaves {
	struct mpk_py_leaf *items;
	size_t count, cap;
	const uint8_t *kinds; /* enum mpkr_kind of each input, as far as known */
	size_t kind_count;
	bool copies_read_only; /* the function may write to its arguments, so read-only arrays are
			        * copied */
	void *stream;          /* stream on which device memory is used; NULL: the default stream */
	struct mpk_py_leaf few[6];
};

/* mpk_py_leaves_add - add an argument; the items of a tuple or list are added one by one, unless
 * the function takes a shape there
 * Returns  0; -1 */
int mpk_py_leaves_add(struct mpk_py_leaves *leaves, PyObject *object);
void mpk_py_leaves_fini(struct mpk_py_leaves *leaves);

/* mpk_py_leaves_make - build the inputs for mpkr_call_value; arguments that are not arrays become
 * values
 * @out     leaves->count elements
 * Returns  0; -1 */
int mpk_py_leaves_make(struct mpk_py_leaves *leaves, mpkr_model *model, struct mpkr_arg *out);

/* mpk_py_leaves_check - raise ValueError if a function wrote to the copy of a read-only array
 * Returns  0; -1 */
int mpk_py_leaves_check(const struct mpk_py_leaves *leaves);

/* mpk_py_extent - convert an object to a 64-bit integer; OverflowError if it does not fit. Returns
 * 0 or -1 */
int mpk_py_extent(PyObject *object, int64_t *out);

/* --- functions of Python ------------------------------------------------------------------- */

/* mpk_py_register - let models call a Python function by name; None removes it
 * @model   NULL: all models of the process
 * @registered  a dict that keeps the function alive as long as models may call it
 * Returns  0; -1 */
int mpk_py_register(mpkr_model *model, PyObject *registered, PyObject *name, PyObject *function);

/* mpk_py_callable - make a value from a Python function, which the value keeps alive
 * Returns  0; -1 */
int mpk_py_callable(mpkr_model *model, PyObject *function, mpkr_value **out);

/* mpk_py_plain - convert a number, shape or text to a Python object
 * @kind    kind of the value */
PyObject *mpk_py_plain(const mpkr_value *value, enum mpkr_kind kind);

/* mpk_py_kept - convert an argument that is valid only during a call to an object that Python may
 * keep; tensors are copied
 * mpk_py_kept_all - convert several arguments to a tuple */
PyObject *mpk_py_kept(const mpkr_value *value);
PyObject *mpk_py_kept_all(mpkr_value *const *values, size_t count);

/* mpk_py_keep_exception - store the current exception while its error passes through the library,
 * for mpk_py_raise_again
 * @err     receives the text of the exception, in the library's form
 * Returns  the code that a callback must return */
int mpk_py_keep_exception(struct mpkr_error *err);

/* mpk_py_keep_watched - store the exception of a watcher, which cannot pass a text to the library
 * @name    name of the operator */
void mpk_py_keep_watched(const char *name);

/* mpk_py_raise_again - if an error of the library has the text of a stored exception, raise that
 * exception and forget it
 * Returns  whether it did */
bool mpk_py_raise_again(const char *text);

/* --- models and functions ---------------------------------------------------------------------- */

/* An open model; freed when its handle and all its functions are gone. */
struct mpk_py_open {
	Py_ssize_t refs;
	mpkr_model *handle;
	void *stream;
	PyObject *registered;   /* dict of Python functions registered for this model, by name;
				 * NULL: none yet */
	PyObject *session;      /* dict that is shared by all functions of the model's session */
	PyObject *watcher;      /* Python function that is called for each operator; NULL: none */
	bool watches_values;    /* the watcher also gets the operators' arguments and results */
	PyObject *log, *loaded; /* Python functions that get the model's printed texts, and sizes of
				 * loaded weights; NULL: none */
};

void mpk_py_open_drop(struct mpk_py_open *open);

/* mpk_py_function_handle - the handle in an mpk.Function; NULL if the object is not one */
mpkr_function *mpk_py_function_handle(PyObject *object);

/* mpk_py_function - make an mpk.Function from a function
 * @handle  taken over, also on failure
 * @session a dict, shared by functions of which only one runs at a time */
PyObject *mpk_py_function(mpkr_function *handle, PyObject *name, PyObject *signature,
			  PyObject *session, struct mpk_py_open *open);

#endif
