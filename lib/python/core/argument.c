/* SPDX-License-Identifier: Apache-2.0 */
/* argument.c - converts Python objects to tensors and values of the library
 *
 * Arrays are read through the buffer protocol, else through NumPy's array interface, else through
 * DLPack. The buffer protocol is the fastest. The array interface is needed for the types of
 * ml_dtypes, which it gives by name. DLPack is needed for PyTorch and for device memory. Whatever
 * another module says about its memory is checked before use. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Raises TypeError with the name of an object's type before the text. */
static int refuse_type(PyObject *object, const char *format, Py_ssize_t i)
{
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");

	if (name && i < 0)
		PyErr_Format(PyExc_TypeError, format, name);
	else if (name)
		PyErr_Format(PyExc_TypeError, format, i, name);
	Py_XDECREF(name);
	return -1;
}

PyObject *mpk_py_utf8(PyObject *text, const char **out, size_t *length)
{
	PyObject *bytes = PyUnicode_AsUTF8String(text);

	if (!bytes)
		return NULL;
	*out = PyBytes_AsString(bytes);
	*length = (size_t)PyBytes_Size(bytes);
	return bytes;
}

int mpk_py_extent(PyObject *object, int64_t *out)
{
	PyObject *integer = PyNumber_Index(object);
	int is_beyond;

	if (!integer)
		return -1;
	*out = PyLong_AsLongLongAndOverflow(integer, &is_beyond);
	if (is_beyond)
		PyErr_Format(PyExc_OverflowError, "%R is no integer of 64 bits", integer);
	Py_DECREF(integer);
	return is_beyond || PyErr_Occurred() ? -1 : 0;
}

static void describe(struct mpk_py_leaf *leaf, void *data, struct mpkr_dtype dtype, int32_t ndim)
{
	leaf->tensor = (struct mpkr_tensor){ .data = data,
					     .device = { MPKR_DEVICE_CPU, 0 },
					     .ndim = ndim,
					     .dtype = dtype,
					     .shape = leaf->extents };
}

/* --- numbers, shapes, texts ------------------------------------------------------------------------ */

static int take_integer(struct mpk_py_leaf *leaf, PyObject *object)
{
	leaf->form = MPK_PY_NUMBER;
	describe(leaf, &leaf->scalar, (struct mpkr_dtype){ MPKR_DTYPE_INT, 64, 1 }, 0);
	return mpk_py_extent(object, &leaf->scalar.integer);
}

static int take_real(struct mpk_py_leaf *leaf, PyObject *object)
{
	leaf->form = MPK_PY_NUMBER;
	describe(leaf, &leaf->scalar, (struct mpkr_dtype){ MPKR_DTYPE_FLOAT, 64, 1 }, 0);
	leaf->scalar.real = PyFloat_AsDouble(object);
	return leaf->scalar.real == -1.0 && PyErr_Occurred() ? -1 : 0;
}

static int take_bool(struct mpk_py_leaf *leaf, bool value)
{
	leaf->form = MPK_PY_NUMBER;
	describe(leaf, &leaf->scalar, (struct mpkr_dtype){ MPKR_DTYPE_BOOL, 8, 1 }, 0);
	leaf->scalar.boolean = value;
	return 0;
}

/* Describes the elements of a shape or text as a tensor. */
static void describe_list(struct mpk_py_leaf *leaf, enum mpk_py_form form, void *data, uint8_t code,
			  uint8_t bits, Py_ssize_t length)
{
	leaf->form = form;
	describe(leaf, data, (struct mpkr_dtype){ code, bits, 1 }, 1);
	leaf->scalar.length = length;
	leaf->tensor.shape = &leaf->scalar.length;
}

static int take_text(struct mpk_py_leaf *leaf, PyObject *object)
{
	const char *text;
	size_t length;

	leaf->capsule = mpk_py_utf8(object, &text, &length);
	if (!leaf->capsule)
		return -1;
	if (memchr(text, 0, length)) {
		PyErr_SetString(PyExc_ValueError, "a text for a model has no NUL in it");
		return -1;
	}
	describe_list(leaf, MPK_PY_TEXT, (void *)(uintptr_t)text, MPKR_DTYPE_UINT, 8,
		      (Py_ssize_t)length);
	return 0;
}

/* Reads a tuple or a list. Another thread may change a list at the same time. */
static int take_shape(struct mpk_py_leaf *leaf, PyObject *object)
{
	const Py_ssize_t count = PySequence_Size(object);
	int64_t *extents = leaf->extents;

	if (count < 0)
		return -1;
	if (count > 2 * MPKR_RANK_MAX) {
		leaf->copy = extents = malloc((size_t)count * sizeof *extents);
		if (!extents) {
			PyErr_NoMemory();
			return -1;
		}
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(object, i);
		const int failed = item ? mpk_py_extent(item, &extents[i]) : -1;

		Py_XDECREF(item);
		if (failed)
			return -1;
	}
	describe_list(leaf, MPK_PY_SHAPE, extents, MPKR_DTYPE_INT, 64, count);
	return 0;
}

static size_t element_bytes(struct mpkr_dtype d)
{
	return ((size_t)d.bits * d.lanes + 7) / 8;
}

/* Size of all elements in bytes; SIZE_MAX if it overflows. */
static size_t all_bytes(const struct mpkr_tensor *t)
{
	size_t bytes = element_bytes(t->dtype);

	for (int32_t i = 0; i < t->ndim; i++)
		if (t->shape[i] < 0 || __builtin_mul_overflow(bytes, (size_t)t->shape[i], &bytes))
			return SIZE_MAX;
	return bytes;
}

/* --- arrays ------------------------------------------------------------------------------------------ */

static bool is_generic(PyObject *object)
{
	PyObject *generic = mpk_py_numpy("generic");

	return generic && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)generic);
}

/* Whether all elements lie inside the address space. */
static bool has_addresses(const struct mpk_py_leaf *leaf, const int64_t *strides,
			  Py_ssize_t itemsize)
{
	int64_t first = (int64_t)(intptr_t)leaf->tensor.data, last = first, span;

	for (int32_t i = 0; i < leaf->tensor.ndim; i++) {
		int64_t *end = strides[i] < 0 ? &first : &last;

		if (__builtin_mul_overflow(leaf->extents[i] - 1, strides[i], &span) ||
		    __builtin_add_overflow(*end, span, end))
			return false;
	}
	return first >= 0 && !__builtin_add_overflow(last, itemsize, &last);
}

/* Converts strides from bytes to elements. */
static int set_strides(struct mpk_py_leaf *leaf, Py_ssize_t itemsize)
{
	int64_t *strides = leaf->extents + MPKR_RANK_MAX;
	int64_t compact = itemsize;
	bool is_compact = true, is_empty = false;

	for (int32_t i = 0; i < leaf->tensor.ndim; i++)
		is_empty |= leaf->extents[i] == 0;
	for (int32_t i = leaf->tensor.ndim - 1; i >= 0 && !is_empty; i--) {
		is_compact &= strides[i] == compact || leaf->extents[i] == 1;
		if (__builtin_mul_overflow(compact, leaf->extents[i], &compact)) {
			PyErr_SetString(PyExc_ValueError,
					"an array of more bytes than there can be");
			return -1;
		}
	}
	if (!is_empty && !has_addresses(leaf, strides, itemsize)) {
		PyErr_SetString(PyExc_ValueError, "an array of more bytes than there can be");
		return -1;
	}
	if (is_compact)
		return 0;
	for (int32_t i = 0; i < leaf->tensor.ndim; i++) {
		if (strides[i] % itemsize && leaf->extents[i] > 1) {
			PyErr_SetString(PyExc_ValueError,
					"an array whose elements lie between those of others");
			return -1;
		}
		strides[i] /= itemsize;
	}
	leaf->tensor.strides = strides;
	return 0;
}

/* Returns 1 if the object has no buffer with a type. */
static int take_buffer(struct mpk_py_leaf *leaf, PyObject *object)
{
	struct mpk_py_buffer *view = &leaf->view;
	struct mpkr_dtype dtype;

	if (!mpk_py.get_buffer)
		return 1;
	if (mpk_py.get_buffer(object, view, MPK_PY_BUFFER_FORMAT | MPK_PY_BUFFER_STRIDES) < 0) {
		PyErr_Clear();
		return 1;
	}
	leaf->has_view = true;
	if (!mpk_py_dtype_of_format(view->format, view->itemsize, &dtype) || view->suboffsets) {
		PyErr_Format(PyExc_TypeError, "an array of '%s' is nothing that a model takes",
			     view->format ? view->format : "B");
		return -1;
	}
	if (view->ndim > MPKR_RANK_MAX) {
		PyErr_Format(PyExc_ValueError, "%d dimensions: at most %d are passed", view->ndim,
			     MPKR_RANK_MAX);
		return -1;
	}
	leaf->form = MPK_PY_ARRAY;
	leaf->is_read_only = view->readonly;
	describe(leaf, view->buf, dtype, view->ndim);
	for (int i = 0; i < view->ndim; i++) {
		leaf->extents[i] = view->shape[i];
		leaf->extents[MPKR_RANK_MAX + i] = view->strides ? view->strides[i] : 0;
	}
	return view->strides ? set_strides(leaf, view->itemsize) : 0;
}

static int refuse_interface(const char *what)
{
	PyErr_Format(PyExc_ValueError, "__array_interface__: %s", what);
	return -1;
}

/* Reads a tuple of integers that are all at least `least`. Returns their number, or -1. */
static int take_extents(PyObject *tuple, int64_t *out, int64_t least, const char *what)
{
	const Py_ssize_t count =
		PyTuple_Check(tuple) || PyList_Check(tuple) ? PySequence_Size(tuple) : -1;

	if (count < 0 || count > MPKR_RANK_MAX)
		return refuse_interface(what);
	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(tuple, i);
		const int failed = item ? mpk_py_extent(item, &out[i]) : -1;

		Py_XDECREF(item);
		if (failed)
			return -1;
		if (out[i] < least)
			return refuse_interface(what);
	}
	return (int)count;
}

/* The array interface describes types of ml_dtypes as plain bytes; the array's dtype has the name. */
static bool dtype_by_name(PyObject *object, const char *typestr, struct mpkr_dtype *out)
{
	PyObject *dtype, *name = NULL, *bytes = NULL;
	const char *text;
	bool is_known = false;
	size_t length;

	if (typestr[0] == 0 || typestr[1] != 'V')
		return false;
	dtype = PyObject_GetAttrString(object, "dtype");
	if (dtype)
		name = PyObject_GetAttrString(dtype, "name");
	if (name && PyUnicode_Check(name))
		bytes = mpk_py_utf8(name, &text, &length);
	if (bytes)
		is_known = mpk_py_dtype_of_name(text, out) &&
			   strtol(typestr + 2, NULL, 10) == out->bits / 8;
	PyErr_Clear();
	Py_XDECREF(bytes);
	Py_XDECREF(name);
	Py_XDECREF(dtype);
	return is_known;
}

/* Reads the element type from an array interface. */
static int read_dtype(PyObject *object, PyObject *typestr, struct mpkr_dtype *out)
{
	const char *text;
	size_t length;
	PyObject *bytes =
		typestr && PyUnicode_Check(typestr) ? mpk_py_utf8(typestr, &text, &length) : NULL;
	bool is_known;

	if (!bytes) {
		PyErr_Clear();
		PyErr_SetString(PyExc_TypeError, "__array_interface__: no typestr that is a text");
		return -1;
	}
	is_known = strlen(text) == length &&
		   (mpk_py_dtype_of_typestr(text, out) || dtype_by_name(object, text, out));
	if (!is_known)
		PyErr_Format(PyExc_TypeError, "an array of %.40R is nothing that a model takes",
			     typestr);
	Py_DECREF(bytes);
	return is_known ? 0 : -1;
}

static int read_interface(struct mpk_py_leaf *leaf, PyObject *object, PyObject *interface)
{
	PyObject *typestr, *shape, *strides, *data, *address, *flag;
	struct mpkr_dtype dtype;
	void *memory;
	int ndim, steps;

	if (!PyDict_Check(interface))
		return refuse_interface("it is no dict");
	typestr = PyDict_GetItemString(interface, "typestr");
	shape = PyDict_GetItemString(interface, "shape");
	strides = PyDict_GetItemString(interface, "strides");
	data = PyDict_GetItemString(interface, "data");
	if (read_dtype(object, typestr, &dtype) < 0)
		return -1;
	if (!shape)
		return refuse_interface("no shape");
	if (!data || !PyTuple_Check(data) || PyTuple_Size(data) != 2)
		return refuse_interface(
			"data is no tuple of an address and whether it is read-only");
	address = PyTuple_GetItem(data, 0);
	flag = PyTuple_GetItem(data, 1);
	if (!PyLong_Check(address))
		return refuse_interface("the address is no integer");
	memory = PyLong_AsVoidPtr(address);
	if (!memory && PyErr_Occurred())
		return -1;
	leaf->is_read_only = PyObject_IsTrue(flag) != 0;
	if (PyErr_Occurred())
		return -1;
	ndim = take_extents(shape, leaf->extents, 0, "a shape is at most 32 extents of at least 0");
	if (ndim < 0)
		return -1;
	leaf->form = MPK_PY_ARRAY;
	describe(leaf, memory, dtype, ndim);
	for (int i = 0; i < ndim && !memory; i++)
		if (leaf->extents[i] == 0)
			memory = leaf;
	if (!memory)
		return refuse_interface("the address is 0");
	if (all_bytes(&leaf->tensor) > INTPTR_MAX)
		return refuse_interface("an array of more bytes than there can be");
	if (!strides || strides == Py_None)
		return 0;
	steps = take_extents(strides, leaf->extents + MPKR_RANK_MAX, INT64_MIN,
			     "strides are no tuple of integers");
	if (steps < 0)
		return -1;
	if (steps != ndim)
		return refuse_interface("strides are not as many as extents");
	return set_strides(leaf, dtype.bits / 8);
}

/* Returns 1 if the object has no array interface. */
static int take_interface(struct mpk_py_leaf *leaf, PyObject *object)
{
	PyObject *interface = PyObject_GetAttr(object, mpk_py.array_interface);
	int failed;

	if (!interface) {
		if (!PyErr_ExceptionMatches(PyExc_AttributeError))
			return -1;
		PyErr_Clear();
		return 1;
	}
	failed = read_interface(leaf, object, interface);
	Py_DECREF(interface);
	return failed;
}

static PyObject *ask_dlpack(PyObject *object, PyObject *method, void *stream, bool has_stream)
{
	PyObject *keywords = PyDict_Copy(mpk_py.max_version), *none = PyTuple_New(0),
		 *capsule = NULL;
	PyObject *number = has_stream ? PyLong_FromVoidPtr(stream) : NULL;

	(void)object;
	if (keywords && none &&
	    (!has_stream || (number && PyDict_SetItemString(keywords, "stream", number) == 0)))
		capsule = PyObject_Call(method, none, keywords);
	if (!capsule && keywords && none && PyErr_ExceptionMatches(PyExc_TypeError)) {
		/* the object's __dlpack__ does not know the argument max_version */
		PyErr_Clear();
		if (PyDict_DelItemString(keywords, "max_version") == 0)
			capsule = PyObject_Call(method, none, keywords);
	}
	Py_XDECREF(number);
	Py_XDECREF(keywords);
	Py_XDECREF(none);
	return capsule;
}

/* Returns the tensor in a capsule; NULL with an exception. */
static const struct mpkr_tensor *look_into(PyObject *capsule, bool *is_read_only)
{
	struct mpkr_result *held;

	if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
		held = PyCapsule_GetPointer(capsule, "dltensor_versioned");
		if (held->version.major != 1) {
			PyErr_Format(PyExc_BufferError, "DLPack %u.%u: 1.x is taken",
				     held->version.major, held->version.minor);
			return NULL;
		}
		*is_read_only = held->flags & 1;
		return &held->tensor;
	}
	if (PyCapsule_IsValid(capsule, "dltensor")) {
		*is_read_only = false;
		return PyCapsule_GetPointer(capsule, "dltensor");
	}
	PyErr_SetString(PyExc_TypeError, "__dlpack__ gave no capsule of DLPack that is unused");
	return NULL;
}

static int read_capsule(struct mpk_py_leaf *leaf)
{
	const struct mpkr_tensor *t = look_into(leaf->capsule, &leaf->is_read_only);

	if (!t)
		return -1;
	if (t->ndim < 0 || t->ndim > MPKR_RANK_MAX || (t->ndim && !t->shape)) {
		PyErr_Format(PyExc_ValueError, "a tensor of %d dimensions: 0 to %d are passed",
			     (int)t->ndim, MPKR_RANK_MAX);
		return -1;
	}
	leaf->form = MPK_PY_ARRAY;
	leaf->tensor = *t;
	return 0;
}

/* A tensor on a device is requested a second time, with the stream on which it will be used. For
 * host memory no stream is passed. */
static int take_dlpack(struct mpk_py_leaf *leaf, PyObject *object, PyObject *method, void *stream)
{
	leaf->capsule = ask_dlpack(object, method, NULL, false);
	if (!leaf->capsule || read_capsule(leaf) < 0)
		return -1;
	if (leaf->tensor.device.device_type != MPKR_DEVICE_CUDA &&
	    leaf->tensor.device.device_type != MPKR_DEVICE_ROCM)
		return 0;
	Py_CLEAR(leaf->capsule);
	/* DLPack has a special number for CUDA's default stream, and another one for ROCm's */
	const bool is_cuda = leaf->tensor.device.device_type == MPKR_DEVICE_CUDA;

	leaf->capsule =
		ask_dlpack(object, method, stream ? stream : (void *)(uintptr_t)is_cuda, true);
	return leaf->capsule ? read_capsule(leaf) : -1;
}

static int take_scalar_of_numpy(struct mpk_py_leaf *leaf, PyObject *object)
{
	PyObject *boolean = mpk_py_numpy("bool_");

	if (boolean && Py_TYPE(object) == (PyTypeObject *)boolean)
		return take_bool(leaf, PyObject_IsTrue(object) == 1);
	if (PyIndex_Check(object))
		return take_integer(leaf, object);
	return take_real(leaf, object);
}

static int take_array(struct mpk_py_leaf *leaf, PyObject *object, enum mpkr_kind kind, void *stream)
{
	PyObject *method;
	int failed;

	if (kind != MPKR_KIND_TENSOR && is_generic(object))
		return take_scalar_of_numpy(leaf, object);
	failed = take_buffer(leaf, object);
	if (failed == 1)
		failed = take_interface(leaf, object);
	if (failed != 1)
		return failed;
	method = PyObject_GetAttr(object, mpk_py.dlpack);
	if (method) {
		failed = take_dlpack(leaf, object, method, stream);
		Py_DECREF(method);
		return failed;
	}
	if (!PyErr_ExceptionMatches(PyExc_AttributeError))
		return -1;
	PyErr_Clear();
	if (PyCallable_Check(object) && kind != MPKR_KIND_TENSOR) {
		leaf->form = MPK_PY_CALLABLE;
		return 0;
	}
	return refuse_type(
		object, "%U is nothing that a model takes: pass an array, a number or a text", -1);
}

/* --- read-only memory ---------------------------------------------------------------------------------- */

static void copy_elements(char *to, const char *from, const struct mpkr_tensor *t,
			  const int64_t *strides, size_t size, int32_t axis, char **end)
{
	if (axis == t->ndim) {
		memcpy(to, from, size);
		*end = to + size;
		return;
	}
	for (int64_t i = 0; i < t->shape[axis]; i++) {
		copy_elements(to, from + i * strides[axis] * (int64_t)size, t, strides, size,
			      axis + 1, end);
		to = *end;
	}
}

/* Copies the elements to compact memory that is aligned to 64 bytes. */
static void *compact_copy(const struct mpkr_tensor *t)
{
	const size_t bytes = all_bytes(t);
	const char *from = (const char *)t->data + t->byte_offset;
	char *memory, *end;

	if (bytes > SIZE_MAX - 64 || !(memory = aligned_alloc(64, (bytes + 64) & ~(size_t)63)))
		return PyErr_NoMemory();
	if (bytes && !t->strides)
		memcpy(memory, from, bytes);
	else if (bytes)
		copy_elements(memory, from, t, t->strides, element_bytes(t->dtype), 0, &end);
	return memory;
}

static int copy_read_only(struct mpk_py_leaf *leaf)
{
	leaf->copy = compact_copy(&leaf->tensor);
	if (!leaf->copy)
		return -1;
	leaf->original = (const char *)leaf->tensor.data + leaf->tensor.byte_offset;
	leaf->original_strides = leaf->tensor.strides;
	leaf->tensor.data = leaf->copy;
	leaf->tensor.strides = NULL;
	leaf->tensor.byte_offset = 0;
	return 0;
}

int mpk_py_leaves_check(const struct mpk_py_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++) {
		const struct mpk_py_leaf *leaf = &leaves->items[i];
		struct mpkr_tensor before = leaf->tensor;
		void *compact;
		int is_changed;

		if (!leaf->original)
			continue;
		before.data = (void *)(uintptr_t)leaf->original;
		before.strides = leaf->original_strides;
		compact = compact_copy(&before);
		if (!compact)
			return -1;
		is_changed = memcmp(compact, leaf->copy, all_bytes(&before)) != 0;
		free(compact);
		if (is_changed) {
			PyErr_Format(
				PyExc_ValueError,
				"input %zd is a read-only array, and the function writes to it: it was left as it was",
				(Py_ssize_t)i);
			return -1;
		}
	}
	return 0;
}

/* --- all of a call --------------------------------------------------------------------------------------- */

static enum mpkr_kind kind_at(const struct mpk_py_leaves *leaves, size_t i)
{
	return i < leaves->kind_count ? (enum mpkr_kind)leaves->kinds[i] : MPKR_KIND_ANY;
}

/* Moves the leaves, and adjusts the pointers that point into leaves themselves. */
static int grow(struct mpk_py_leaves *leaves)
{
	const size_t few = sizeof leaves->few / sizeof *leaves->few,
		     cap = leaves->cap ? leaves->cap * 2 : few;
	struct mpk_py_leaf *items;

	if (!leaves->cap) {
		leaves->items = leaves->few;
		leaves->cap = few;
		return 0;
	}
	if (cap > SIZE_MAX / sizeof *items || !(items = malloc(cap * sizeof *items))) {
		PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < leaves->count; i++) {
		const struct mpk_py_leaf *from = &leaves->items[i];
		struct mpk_py_leaf *to = &items[i];
		const char *start = (const char *)from, *end = (const char *)(from + 1);

		memcpy(to, from, sizeof *to);
#define MOVE(pointer)                                                                              \
	if ((const char *)from->pointer >= start && (const char *)from->pointer < end)             \
	to->pointer = (void *)((char *)to + ((const char *)from->pointer - start))
		MOVE(tensor.data);
		MOVE(tensor.shape);
		MOVE(tensor.strides);
		MOVE(original_strides);
#undef MOVE
	}
	if (leaves->items != leaves->few)
		free(leaves->items);
	leaves->items = items;
	leaves->cap = cap;
	return 0;
}

static int fill(struct mpk_py_leaves *leaves, struct mpk_py_leaf *leaf, PyObject *object,
		enum mpkr_kind kind)
{
	mpkr_value *value;
	int failed;

	if (object == Py_None) {
		leaf->form = MPK_PY_NONE;
		return 0;
	}
	value = mpk_py_value_handle(object);
	if (value) {
		leaf->form = MPK_PY_VALUE;
		leaf->value = value;
		if (mpk_py_value_is_tuple(
			    object)) /* a tuple may become several inputs, so the kinds of all later
				      * inputs are unknown */
			leaves->kind_count = 0;
		return 0;
	}
	if (mpk_py_function_handle(object)) {
		struct mpkr_error err;

		leaf->form = MPK_PY_VALUE;
		if (mpkr_value_function(mpk_py_function_handle(object), &leaf->value, &err))
			return mpk_py_raise(&err), -1;
		leaf->is_value_own = true;
		return 0;
	}
	if (PyBool_Check(object))
		return take_bool(leaf, object == Py_True);
	if (PyLong_Check(object))
		return take_integer(leaf, object);
	if (PyFloat_Check(object) && !is_generic(object))
		return take_real(leaf, object);
	if (PyUnicode_Check(object))
		return take_text(leaf, object);
	if (PyTuple_Check(object) || PyList_Check(object))
		return take_shape(leaf, object);
	failed = take_array(leaf, object, kind, leaves->stream);
	if (!failed && leaf->form == MPK_PY_ARRAY && leaf->is_read_only &&
	    leaves->copies_read_only &&
	    (leaf->tensor.device.device_type == MPKR_DEVICE_CPU ||
	     leaf->tensor.device.device_type == MPKR_DEVICE_CUDA_HOST))
		failed = copy_read_only(leaf);
	return failed;
}

static int add_one(struct mpk_py_leaves *leaves, PyObject *object)
{
	const enum mpkr_kind kind = kind_at(leaves, leaves->count);
	struct mpk_py_leaf *leaf;

	if (kind == MPKR_KIND_TENSOR && (PyUnicode_Check(object) || PyLong_Check(object) ||
					 (PyFloat_Check(object) && !is_generic(object))))
		return refuse_type(object, "input %zd is a tensor: pass an array, not %U",
				   (Py_ssize_t)leaves->count);
	if (leaves->count == leaves->cap && grow(leaves) < 0)
		return -1;
	leaf = &leaves->items[leaves->count];
	memset(leaf, 0, offsetof(struct mpk_py_leaf, extents));
	leaves->count++;
	Py_INCREF(object);
	leaf->object = object;
	return fill(leaves, leaf, object, kind);
}

/* Whether a sequence is a list of extents, in a place where the function takes a shape. */
static bool is_shape(PyObject *sequence)
{
	const Py_ssize_t count = PySequence_Size(sequence);

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *item = PySequence_GetItem(sequence, i);
		const bool is_integer = item && PyIndex_Check(item);

		Py_XDECREF(item);
		if (!is_integer)
			return PyErr_Clear(), false;
	}
	return count > 0;
}

int mpk_py_leaves_add(struct mpk_py_leaves *leaves, PyObject *object)
{
	int failed = 0;

	if ((!PyTuple_Check(object) && !PyList_Check(object)) || Py_TYPE(object) == mpk_py.shape ||
	    (kind_at(leaves, leaves->count) == MPKR_KIND_SHAPE && is_shape(object)))
		return add_one(leaves, object);
	if (Py_EnterRecursiveCall(" in tuples of arguments"))
		return -1;
	for (Py_ssize_t i = 0; !failed && i < PySequence_Size(object); i++) {
		PyObject *item = PySequence_GetItem(object, i);

		failed = item ? mpk_py_leaves_add(leaves, item) : -1;
		Py_XDECREF(item);
	}
	Py_LeaveRecursiveCall();
	return failed;
}

void mpk_py_leaves_fini(struct mpk_py_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++) {
		struct mpk_py_leaf *leaf = &leaves->items[i];

		if (leaf->has_view)
			mpk_py.release_buffer(&leaf->view);
		if (leaf->is_value_own)
			mpkr_value_drop(leaf->value);
		free(leaf->copy);
		Py_XDECREF(leaf->capsule);
		Py_XDECREF(leaf->object);
	}
	if (leaves->items != leaves->few)
		free(leaves->items);
}

int mpk_py_leaves_make(struct mpk_py_leaves *leaves, mpkr_model *model, struct mpkr_arg *out)
{
	static const enum mpkr_kind kinds[] = { [MPK_PY_NUMBER] = MPKR_KIND_NUMBER,
						[MPK_PY_SHAPE] = MPKR_KIND_SHAPE,
						[MPK_PY_TEXT] = MPKR_KIND_TEXT };
	struct mpkr_error err;

	for (size_t i = 0; i < leaves->count; i++) {
		struct mpk_py_leaf *leaf = &leaves->items[i];

		out[i] = (struct mpkr_arg){ NULL, NULL };
		if (leaf->form == MPK_PY_ARRAY)
			out[i].tensor = &leaf->tensor;
		if (leaf->form == MPK_PY_NUMBER || leaf->form == MPK_PY_SHAPE ||
		    leaf->form == MPK_PY_TEXT) {
			if (mpkr_value_make(model, kinds[leaf->form], &leaf->tensor, &leaf->value,
					    &err))
				return mpk_py_raise(&err), -1;
			leaf->is_value_own = true;
		} else if (leaf->form == MPK_PY_CALLABLE) {
			if (mpk_py_callable(model, leaf->object, &leaf->value) < 0)
				return -1;
			leaf->is_value_own = true;
		}
		if (leaf->form != MPK_PY_NONE && leaf->form != MPK_PY_ARRAY)
			out[i].value = leaf->value;
	}
	return 0;
}
