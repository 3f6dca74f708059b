/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - mpk.Tensor: a result, exported through DLPack, the buffer protocol and NumPy's array
 * interface
 *
 * The memory of a result has its own reference count: a consumer that got it through DLPack may
 * free it from any thread, with or without the GIL. */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct memory {
	atomic_uint refs;
	struct mpkr_result *result;
};

struct tensor {
	PyObject ob_base;
	struct memory *memory;
	PyObject *shape, *dtype;                                   /* NULL until first requested */
	Py_ssize_t extents[MPKR_RANK_MAX], strides[MPKR_RANK_MAX]; /* for buffers; strides are in
								    * bytes */
};

static void memory_drop(struct memory *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
		return;
	mpkr_free(m->result);
	free(m);
}

static struct memory *memory_hold(struct memory *m)
{
	(void)atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

static const struct mpkr_tensor *tensor_of(PyObject *self)
{
	return &((struct tensor *)(void *)self)->memory->result->tensor;
}

static bool is_on_host(const struct mpkr_tensor *t)
{
	return t->device.device_type == MPKR_DEVICE_CPU ||
	       t->device.device_type == MPKR_DEVICE_CUDA_HOST;
}

PyObject *mpk_py_tensor(struct mpkr_result *result)
{
	struct memory *m = malloc(sizeof *m);
	struct tensor *made = NULL;

	if (m) {
		*m = (struct memory){ .refs = 1, .result = result };
		made = PyObject_New(struct tensor, mpk_py.tensor);
	} else {
		PyErr_NoMemory();
	}
	if (!made) {
		mpkr_free(result);
		free(m);
		return NULL;
	}
	made->memory = m;
	made->shape = made->dtype = NULL;
	return (PyObject *)made;
}

static void tensor_dealloc(PyObject *self)
{
	struct tensor *t = (void *)self;
	PyTypeObject *type = Py_TYPE(self);

	memory_drop(t->memory);
	Py_XDECREF(t->shape);
	Py_XDECREF(t->dtype);
	PyObject_Free(self);
	Py_DECREF(type);
}

/* --- what it is ---------------------------------------------------------------------------------- */

static PyObject *shape_tuple(const struct mpkr_tensor *t)
{
	PyObject *shape = PyTuple_New(t->ndim);

	for (int32_t i = 0; shape && i < t->ndim; i++) {
		PyObject *extent = PyLong_FromLongLong(t->shape[i]);

		if (!extent || PyTuple_SetItem(shape, i, extent) < 0) {
			Py_DECREF(shape);
			return NULL;
		}
	}
	return shape;
}

static PyObject *get_shape(PyObject *self, void *unused)
{
	struct tensor *t = (void *)self;

	(void)unused;
	if (!t->shape)
		t->shape = shape_tuple(tensor_of(self));
	Py_XINCREF(t->shape);
	return t->shape;
}

static PyObject *get_dtype(PyObject *self, void *unused)
{
	struct tensor *t = (void *)self;

	(void)unused;
	if (!t->dtype)
		t->dtype = mpk_py_dtype_name(tensor_of(self)->dtype);
	Py_XINCREF(t->dtype);
	return t->dtype;
}

static const char *device_name(int32_t type)
{
	switch (type) {
	case MPKR_DEVICE_CPU:
		return "cpu";
	case MPKR_DEVICE_CUDA:
	case MPKR_DEVICE_CUDA_HOST:
		return "cuda";
	case MPKR_DEVICE_OPENCL:
		return "opencl";
	case MPKR_DEVICE_ROCM:
		return "rocm";
	default:
		return "device";
	}
}

static PyObject *get_device(PyObject *self, void *unused)
{
	const struct mpkr_tensor *t = tensor_of(self);

	(void)unused;
	return Py_BuildValue("(si)", device_name(t->device.device_type), (int)t->device.device_id);
}

static PyObject *tensor_repr(PyObject *self)
{
	PyObject *shape = get_shape(self, NULL), *dtype = get_dtype(self, NULL), *list = NULL,
		 *text = NULL;

	if (shape && dtype)
		list = PySequence_List(shape);
	if (list)
		text = PyUnicode_FromFormat("<mpk.Tensor %U%R on %s>", dtype, list,
					    device_name(tensor_of(self)->device.device_type));
	Py_XDECREF(list);
	Py_XDECREF(dtype);
	Py_XDECREF(shape);
	return text;
}

/* --- NumPy ----------------------------------------------------------------------------------------- */

static PyObject *get_array_interface(PyObject *self, void *unused)
{
	const struct mpkr_tensor *t = tensor_of(self);
	const char letter = mpk_py_dtype_letter(t->dtype);
	PyObject *shape;

	(void)unused;
	if (!is_on_host(t) || !letter) {
		PyObject *name = get_dtype(self, NULL);

		if (name)
			PyErr_Format(PyExc_AttributeError, "NumPy has no array of %U on %s", name,
				     device_name(t->device.device_type));
		Py_XDECREF(name);
		return NULL;
	}
	shape = get_shape(self, NULL);
	if (!shape)
		return NULL;
	PyObject *typestr = PyUnicode_FromFormat("%c%c%d",
						 t->dtype.bits == 8 ? '|'
						 : PY_LITTLE_ENDIAN ? '<'
								    : '>',
						 letter, t->dtype.bits / 8);
	PyObject *data = PyLong_FromVoidPtr(t->data);

	if (!typestr || !data) {
		Py_XDECREF(typestr);
		Py_XDECREF(data);
		Py_DECREF(shape);
		return NULL;
	}
	return Py_BuildValue("{s:i,s:N,s:N,s:(NO),s:O}", "version", 3, "shape", shape, "typestr",
			     typestr, "data", data, Py_False, "strides", Py_None);
}

/* Letter of the struct module for a type; NULL if there is none. */
static const char *format_of(struct mpkr_dtype d)
{
	static const char *const formats[7][9] = {
		[MPKR_DTYPE_INT] = { [1] = "b", [2] = "h", [4] = "i", [8] = "q" },
		[MPKR_DTYPE_UINT] = { [1] = "B", [2] = "H", [4] = "I", [8] = "Q" },
		[MPKR_DTYPE_FLOAT] = { [2] = "e", [4] = "f", [8] = "d" },
		[5] = { [8] = "Zf" },
		[MPKR_DTYPE_BOOL] = { [1] = "?" },
	};

	if (d.lanes != 1 || d.bits % 8 || d.bits > 64 || d.code > MPKR_DTYPE_BOOL)
		return d.code == 5 && d.bits == 128 && d.lanes == 1 ? "Zd" : NULL;
	return formats[d.code][d.bits / 8];
}

/* A consumer that requests no format gets bytes. */
static int tensor_getbuffer(PyObject *self, struct mpk_py_buffer *view, int flags)
{
	struct tensor *object = (void *)self;
	const struct mpkr_tensor *t = tensor_of(self);
	const Py_ssize_t itemsize = (t->dtype.bits * t->dtype.lanes + 7) / 8;
	const char *format = format_of(t->dtype);
	Py_ssize_t step = itemsize;

	view->obj = NULL;
	if (!is_on_host(t) || (flags & MPK_PY_BUFFER_FORMAT && !format) ||
	    t->dtype.bits * t->dtype.lanes % 8) {
		PyErr_SetString(PyExc_BufferError, "no buffer can describe this tensor");
		return -1;
	}
	for (int32_t i = t->ndim - 1; i >= 0; i--) {
		object->extents[i] = (Py_ssize_t)t->shape[i];
		object->strides[i] = step;
		step *= object->extents[i];
	}
	*view = (struct mpk_py_buffer){
		.buf = t->data, .len = step, .itemsize = format ? itemsize : 1, .ndim = t->ndim
	};
	if (flags & MPK_PY_BUFFER_FORMAT)
		view->format = (char *)(uintptr_t)format;
	if (flags & MPK_PY_BUFFER_SHAPE)
		view->shape = object->extents;
	if ((flags & MPK_PY_BUFFER_STRIDES) == MPK_PY_BUFFER_STRIDES)
		view->strides = object->strides;
	Py_INCREF(self);
	view->obj = self;
	return 0;
}

PyObject *mpk_py_tensor_numpy(PyObject *tensor)
{
	const struct mpkr_tensor *t = tensor_of(tensor);
	PyObject *array = mpk_py_numpy("ndarray"), *dtype, *shape, *made = NULL;

	if (!array || !is_on_host(t) || !(dtype = mpk_py_numpy_dtype(t->dtype)))
		return tensor;
	shape = get_shape(tensor, NULL);
	if (shape)
		made = PyObject_CallFunctionObjArgs(array, shape, dtype, tensor, NULL);
	Py_XDECREF(shape);
	Py_DECREF(tensor);
	return made;
}

static PyObject *tensor_array(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "dtype", "copy", NULL };
	PyObject *dtype = Py_None, *copy = Py_None, *array, *given;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &dtype, &copy))
		return NULL;
	PyObject *numpy = PyImport_ImportModule("numpy");

	if (!numpy)
		return NULL;
	Py_DECREF(numpy);
	Py_INCREF(self);
	array = mpk_py_tensor_numpy(self);
	if (array == self) {
		Py_DECREF(array);
		return PyErr_Format(PyExc_TypeError, "NumPy has no array of %R", self);
	}
	if (!array || (dtype == Py_None && copy != Py_True))
		return array;
	if (dtype == Py_None)
		given = PyObject_CallMethod(array, "copy", NULL);
	else
		given = PyObject_CallMethod(array, "astype", "O", dtype);
	Py_DECREF(array);
	return given;
}

static PyObject *tensor_numpy(PyObject *self, PyObject *unused)
{
	PyObject *none = PyTuple_New(0), *array = none ? tensor_array(self, none, NULL) : NULL;

	(void)unused;
	Py_XDECREF(none);
	return array;
}

static PyObject *tensor_item(PyObject *self, PyObject *unused)
{
	const struct mpkr_tensor *t = tensor_of(self);
	int64_t count = 1;

	(void)unused;
	for (int32_t i = 0; i < t->ndim; i++)
		count *= t->shape[i];
	if (count != 1)
		return PyErr_Format(PyExc_ValueError, "%lld elements are no single number",
				    (long long)count);
	if (is_on_host(t) && format_of(t->dtype)) {
		PyObject *view = PyMemoryView_FromObject(self), *bytes, *list = NULL, *item = NULL;

		bytes = view ? PyObject_CallMethod(view, "tobytes", NULL) : NULL;
		PyObject *module = bytes ? PyImport_ImportModule("struct") : NULL;

		if (module && t->dtype.code != 5)
			list = PyObject_CallMethod(module, "unpack", "sO", format_of(t->dtype),
						   bytes);
		if (list)
			item = PySequence_GetItem(list, 0);
		Py_XDECREF(list);
		Py_XDECREF(module);
		Py_XDECREF(bytes);
		Py_XDECREF(view);
		if (item || PyErr_Occurred())
			return item;
	}
	PyObject *array = tensor_numpy(self, NULL), *item = NULL;

	if (array)
		item = PyObject_CallMethod(array, "item", NULL);
	Py_XDECREF(array);
	return item;
}

/* --- DLPack ------------------------------------------------------------------------------------------ */

/* DLPack's DLManagedTensor, from before 1.0. */
struct legacy {
	struct mpkr_tensor tensor;
	void *manager_ctx;
	void (*deleter)(struct legacy *self);
};

static void drop_versioned(struct mpkr_result *self)
{
	memory_drop(self->manager_ctx);
	free(self);
}

static void drop_legacy(struct legacy *self)
{
	memory_drop(self->manager_ctx);
	free(self);
}

/* Frees the tensor unless a consumer took it: consumers rename the capsule. */
static void drop_unused_versioned(PyObject *capsule)
{
	struct mpkr_result *held;

	if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
		return;
	held = PyCapsule_GetPointer(capsule, "dltensor_versioned");
	if (held && held->deleter)
		held->deleter(held);
}

static void drop_unused_legacy(PyObject *capsule)
{
	struct legacy *held;

	if (!PyCapsule_IsValid(capsule, "dltensor"))
		return;
	held = PyCapsule_GetPointer(capsule, "dltensor");
	if (held && held->deleter)
		held->deleter(held);
}

static PyObject *capsule_of(struct memory *m, bool is_versioned)
{
	PyObject *capsule;

	if (is_versioned) {
		struct mpkr_result *held = calloc(1, sizeof *held);

		if (!held)
			return PyErr_NoMemory();
		held->version.major = 1;
		held->manager_ctx = memory_hold(m);
		held->deleter = drop_versioned;
		held->tensor = m->result->tensor;
		capsule = PyCapsule_New(held, "dltensor_versioned", drop_unused_versioned);
		if (!capsule)
			drop_versioned(held);
		return capsule;
	}
	struct legacy *held = calloc(1, sizeof *held);

	if (!held)
		return PyErr_NoMemory();
	held->manager_ctx = memory_hold(m);
	held->deleter = drop_legacy;
	held->tensor = m->result->tensor;
	capsule = PyCapsule_New(held, "dltensor", drop_unused_legacy);
	if (!capsule)
		drop_legacy(held);
	return capsule;
}

/* Whether DLPack 1.0 or later was requested; -1 if the argument is invalid. */
static int is_versioned(PyObject *version)
{
	PyObject *first;
	long major;

	if (version == Py_None)
		return 0;
	first = PySequence_GetItem(version, 0);
	if (!first)
		return -1;
	major = PyLong_AsLong(first);
	Py_DECREF(first);
	return major == -1 && PyErr_Occurred() ? -1 : major >= 1;
}

static PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
	PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
	const struct mpkr_tensor *t = tensor_of(self);
	int versioned, is_there = 1;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO", names, &stream, &version,
					 &device, &copy))
		return NULL;
	if (device != Py_None) {
		PyObject *own =
			Py_BuildValue("(ii)", (int)t->device.device_type, (int)t->device.device_id);

		is_there = own ? PyObject_RichCompareBool(own, device, Py_EQ) : -1;
		Py_XDECREF(own);
	}
	versioned = is_versioned(version);
	if (is_there < 0 || versioned < 0)
		return NULL;
	if (!is_there || copy == Py_True) {
		PyErr_SetString(PyExc_BufferError,
				"the memory of a result is handed over as it is");
		return NULL;
	}
	return capsule_of(((struct tensor *)(void *)self)->memory, versioned);
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *unused)
{
	const struct mpkr_tensor *t = tensor_of(self);

	(void)unused;
	return Py_BuildValue("(ii)", (int)t->device.device_type, (int)t->device.device_id);
}

int mpk_py_add_tensor(PyObject *module)
{
	static PyMethodDef methods[] = {
		{ "__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack,
		  METH_VARARGS | METH_KEYWORDS, "A capsule of the memory, without a copy." },
		{ "__dlpack_device__", tensor_dlpack_device, METH_NOARGS,
		  "DLPack's numbers of the device." },
		{ "__array__", (PyCFunction)(void (*)(void))tensor_array,
		  METH_VARARGS | METH_KEYWORDS,
		  "An array of NumPy, also of a type that only ml_dtypes has." },
		{ "numpy", tensor_numpy, METH_NOARGS, "numpy() -> numpy.ndarray, without a copy" },
		{ "item", tensor_item, METH_NOARGS, "item() -> the number that the tensor is" },
		{ NULL, NULL, 0, NULL }
	};
	static PyGetSetDef attributes[] = {
		{ "shape", get_shape, NULL, "the extents, as a tuple", NULL },
		{ "dtype", get_dtype, NULL, "the element type: \"float32\", \"bfloat16\"", NULL },
		{ "device", get_device, NULL, "where it lies: (\"cpu\", 0)", NULL },
		{ "__array_interface__", get_array_interface, NULL, "for NumPy", NULL },
		{ NULL, NULL, NULL, NULL, NULL }
	};
	static PyType_Slot slots[] = {
		{ Py_tp_doc,
		  "A result: memory of the library's own, by DLPack, by buffers and by NumPy's array interface, without a copy.\n\n"
		  "``shape`` and ``dtype`` (\"float32\") tell what it is, ``device`` where (\"cpu\", 0). NumPy, PyTorch and others\n"
		  "take it by ``from_dlpack``; ``numpy.asarray`` takes it as well. The memory lives as long as anything that was\n"
		  "made of it." },
		{ Py_tp_new, mpk_py_refuse_new },
		{ Py_tp_dealloc, tensor_dealloc },
		{ Py_tp_repr, tensor_repr },
		{ Py_tp_methods, methods },
		{ Py_tp_getset, attributes },
		{ MPK_PY_SLOT_GETBUFFER, tensor_getbuffer },
		{ 0, NULL }
	};
	static PyType_Spec spec = { "mpk.Tensor", sizeof(struct tensor), 0, Py_TPFLAGS_DEFAULT,
				    slots };

	mpk_py.tensor = mpk_py_add_type(module, &spec, NULL);
	return mpk_py.tensor ? 0 : -1;
}
