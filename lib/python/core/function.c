/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - mpk.Function: converts arguments and results of calls
 *
 * The GIL is released while the library works: during calls, and during functions that may wait for
 * a call. */
#include "core.h"

#include <structmember.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct function {
	PyObject ob_base;
	PyObject *
		attributes; /* __dict__: attributes that help() reads, and attributes set by users */
	mpkr_function *handle;
	struct mpk_py_open *open;
	PyObject *name, *signature, *session;
	bool is_known;      /* the fields below are set */
	bool gives_tensors; /* the file's signature has only tensors as results */
	bool may_write;     /* it belongs to no model, so it may write to its arguments */
	uint8_t *kinds;     /* enum mpkr_kind of each input */
	size_t kind_count, output_count;
};

static struct function *function_of(PyObject *self)
{
	return (void *)self;
}

mpkr_function *mpk_py_function_handle(PyObject *object)
{
	return Py_TYPE(object) == mpk_py.function ? function_of(object)->handle : NULL;
}

PyObject *mpk_py_function(mpkr_function *handle, PyObject *name, PyObject *signature,
			  PyObject *session, struct mpk_py_open *open)
{
	struct function *made = PyObject_GC_New(struct function, mpk_py.function);

	if (!made) {
		mpkr_drop(handle);
		return NULL;
	}
	memset((char *)made + sizeof made->ob_base, 0, sizeof *made - sizeof made->ob_base);
	made->handle = handle;
	made->open = open;
	open->refs++;
	Py_INCREF(name);
	Py_INCREF(signature);
	made->name = name;
	made->signature = signature;
	Py_INCREF(session);
	made->session = session;
	made->attributes = PyDict_New();
	PyObject_GC_Track((PyObject *)made);
	if (!made->attributes ||
	    PyDict_SetItem(made->attributes, mpk_py.doc, made->signature) < 0 ||
	    PyDict_SetItemString(made->attributes, "__name__", made->name) < 0)
		Py_CLEAR(made);
	return (PyObject *)made;
}

static int function_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(function_of(self)->attributes);
	Py_VISIT(function_of(self)->session);
#if PY_VERSION_HEX >= 0x03090000
	Py_VISIT(Py_TYPE(self));
#endif
	return 0;
}

static int function_clear(PyObject *self)
{
	Py_CLEAR(function_of(self)->attributes);
	Py_CLEAR(function_of(self)->session);
	return 0;
}

static void function_dealloc(PyObject *self)
{
	struct function *f = function_of(self);
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	mpkr_drop(f->handle);
	mpk_py_open_drop(f->open);
	free(f->kinds);
	Py_XDECREF(f->attributes);
	Py_XDECREF(f->name);
	Py_XDECREF(f->signature);
	Py_XDECREF(f->session);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

/* --- what it takes and gives --------------------------------------------------------------------------- */

typedef int ask_type(const mpkr_function *function, size_t i, struct mpkr_type *out);

static int learn(struct function *f)
{
	struct mpkr_type t;
	size_t inputs = 0, outputs = 0;
	bool gives_tensors = true;
	uint8_t *kinds;

	if (f->is_known)
		return 0;
	while (mpkr_input(f->handle, inputs, &t) == MPKR_OK)
		inputs++;
	kinds = malloc(inputs + 1);
	if (!kinds) {
		PyErr_NoMemory();
		return -1;
	}
	for (size_t i = 0; i < inputs && mpkr_input(f->handle, i, &t) == MPKR_OK; i++)
		/* a tensor of one element may also be passed as a number */
		kinds[i] = (uint8_t)(t.kind == MPKR_KIND_TENSOR && t.ndim <= 0 ? MPKR_KIND_ANY
									       : t.kind);
	while (mpkr_output(f->handle, outputs, &t) == MPKR_OK) {
		gives_tensors &= t.kind == MPKR_KIND_TENSOR;
		outputs++;
	}
	f->kinds = kinds;
	f->kind_count = inputs;
	f->output_count = outputs;
	f->gives_tensors = outputs && gives_tensors;
	f->may_write = !outputs;
	f->is_known = true;
	return 0;
}

static PyObject *type_tuple(const int64_t *extents, int32_t count)
{
	PyObject *shape = PyTuple_New(count);

	for (int32_t i = 0; shape && i < count; i++)
		if (PyTuple_SetItem(shape, i, PyLong_FromLongLong(extents[i])) < 0)
			Py_CLEAR(shape);
	return shape;
}

/* Makes the mpk.Type of one input or output. */
static PyObject *make_type(const struct mpkr_type *t)
{
	static const char *const kinds[] = { "any", "tensor", "number", "shape", "text", "other" };
	PyObject *made = PyStructSequence_New(mpk_py.type), *dtype, *shape;

	if (!made)
		return NULL;
	Py_INCREF(Py_None);
	Py_INCREF(Py_None);
	dtype = t->dtype.bits ? mpk_py_dtype_name(t->dtype) : Py_None;
	shape = t->ndim >= 0 && t->ndim <= MPKR_RANK_MAX ? type_tuple(t->shape, t->ndim) : Py_None;
	PyStructSequence_SetItem(
		made, 0,
		PyUnicode_FromString(t->kind <= MPKR_KIND_OTHER ? kinds[t->kind] : "other"));
	PyStructSequence_SetItem(made, 1, PyUnicode_FromString(t->name ? t->name : ""));
	PyStructSequence_SetItem(made, 2, dtype);
	PyStructSequence_SetItem(made, 3, shape);
	if (dtype != Py_None)
		Py_DECREF(Py_None);
	if (shape != Py_None)
		Py_DECREF(Py_None);
	if (PyErr_Occurred())
		Py_CLEAR(made);
	return made;
}

static PyObject *list_types(struct function *f, ask_type *ask)
{
	PyObject *list = PyList_New(0);
	struct mpkr_type t;

	for (size_t i = 0; list && ask(f->handle, i, &t) == MPKR_OK; i++) {
		PyObject *type = make_type(&t);

		if (!type || PyList_Append(list, type) < 0)
			Py_CLEAR(list);
		Py_XDECREF(type);
	}
	return list;
}

static PyObject *get_inputs(PyObject *self, void *unused)
{
	(void)unused;
	return list_types(function_of(self), mpkr_input);
}

static PyObject *get_outputs(PyObject *self, void *unused)
{
	(void)unused;
	return list_types(function_of(self), mpkr_output);
}

static PyObject *get_name(PyObject *self, void *unused)
{
	(void)unused;
	Py_INCREF(function_of(self)->name);
	return function_of(self)->name;
}

static PyObject *get_signature(PyObject *self, void *unused)
{
	(void)unused;
	Py_INCREF(function_of(self)->signature);
	return function_of(self)->signature;
}

/* Value of __signature__, for inspect.signature and help(). mpk._run builds it from the inputs. */
static PyObject *get_inspected(PyObject *self, void *unused)
{
	PyObject *module = PyImport_ImportModule("mpk._run"), *made = NULL;

	(void)unused;
	if (module)
		made = PyObject_CallMethod(module, "_inspected", "O", self);
	Py_XDECREF(module);
	return made;
}

static PyObject *function_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<mpk.Function %U>", function_of(self)->signature);
}

/* --- results -------------------------------------------------------------------------------------------- */

/* The type of results follows the first array among the arguments. */
enum like { LIKE_TENSOR, LIKE_NUMPY, LIKE_TORCH };

/* flag: keep the structure of results, with tuples in tuples and numbers as numbers */
enum { LIKE_WHOLE = 8 };

static enum like find_like(const struct mpk_py_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++) {
		PyObject *object = leaves->items[i].object, *type;

		if (leaves->items[i].form != MPK_PY_ARRAY)
			continue;
		type = mpk_py_numpy("ndarray");
		if (type && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)type))
			return LIKE_NUMPY;
		type = mpk_py_torch("Tensor");
		if (type && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)type))
			return LIKE_TORCH;
		if (leaves->items[i].capsule)
			break;
	}
	return LIKE_TENSOR;
}

/* Converts a result, which it takes over. */
static PyObject *give(struct mpkr_result *result, int like)
{
	PyObject *tensor = mpk_py_tensor(result), *from, *made;

	if (!tensor || like == LIKE_TENSOR)
		return tensor;
	if (like == LIKE_NUMPY)
		return mpk_py_tensor_numpy(tensor);
	from = mpk_py_torch("from_dlpack");
	if (!from)
		return tensor;
	made = PyObject_CallFunctionObjArgs(from, tensor, NULL);
	Py_DECREF(tensor);
	return made;
}

/* Returns None for no result, the result itself for one, a tuple for several. Takes over the list,
 * which may be NULL. */
static PyObject *unpack(PyObject *list)
{
	const Py_ssize_t count = list ? PyList_Size(list) : 0;
	PyObject *made;

	if (!list)
		return NULL;
	if (count > 1) {
		made = PyList_AsTuple(list);
	} else {
		made = count ? PyList_GetItem(list, 0) : Py_None;
		Py_INCREF(made);
	}
	Py_DECREF(list);
	return made;
}

static int append(PyObject *list, PyObject *item)
{
	const int failed = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	return failed;
}

/* --- what failed --------------------------------------------------------------------------------------------- */

/* Adds a note such as "in 'my.op', instruction 3 of 'main', after 'fused_add'" to the exception.
 * Python has notes from 3.11 on. */
static void note_place(const struct function *f)
{
	struct mpkr_failure at = { .size = sizeof at };
	PyObject *type, *value, *trace, *text, *given = NULL;
	char where[64] = "";

	if (mpkr_failed_at(f->handle, &at) != MPKR_OK)
		return;
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (at.instruction >= 0)
		(void)snprintf(where, sizeof where, ", instruction %lld of",
			       (long long)at.instruction);
	text = PyUnicode_FromFormat(
		"in '%s'%s%s%s%s%s%s%s", at.name, at.function[0] && !where[0] ? " of" : where,
		at.function[0] ? " '" : "", at.function, at.function[0] ? "'" : "",
		at.before[0] ? ", after '" : "", at.before, at.before[0] ? "'" : "");
	if (text && value && PyObject_HasAttrString(value, "add_note"))
		given = PyObject_CallMethod(value, "add_note", "O", text);
	if (!given)
		PyErr_Clear();
	Py_XDECREF(given);
	Py_XDECREF(text);
	PyErr_Restore(type, value, trace);
}

/* --- calls of tensors ------------------------------------------------------------------------------------- */

enum { FEW = 8 };

static PyObject *call_tensors(struct function *f, const struct mpk_py_leaves *leaves)
{
	const struct mpkr_tensor *few_in[FEW], **in = few_in;
	struct mpkr_result *few_results[FEW], **results = few_results;
	struct mpkr_error err;
	PyObject *list = NULL;
	size_t count = 0;
	int code;

	if (leaves->count > FEW)
		in = malloc(leaves->count * sizeof *in);
	if (f->output_count > FEW)
		results = malloc(f->output_count * sizeof *results);
	if (!in || !results) {
		PyErr_NoMemory();
		goto out;
	}
	for (size_t i = 0; i < leaves->count; i++)
		in[i] = leaves->items[i].form == MPK_PY_NONE ? NULL : &leaves->items[i].tensor;
	Py_BEGIN_ALLOW_THREADS code =
		mpkr_call(f->handle, in, leaves->count, results, f->output_count, &count, &err);
	Py_END_ALLOW_THREADS if (code)
	{
		mpk_py_raise_call(&err);
		note_place(f);
		goto out;
	}
	const int like = (int)find_like(leaves);

	if (count == 1) {
		list = give(results[0], like);
		goto out;
	}
	list = PyList_New(0);
	for (size_t i = 0; i < count; i++)
		if (!list)
			mpkr_free(results[i]);
		else if (append(list, give(results[i], like)) < 0)
			Py_CLEAR(list);
	list = unpack(list);
out:
	if (in != few_in)
		free(in);
	if (results != few_results)
		free(results);
	return list;
}

/* --- calls of values --------------------------------------------------------------------------------------- */

static int add_result(PyObject *list, mpkr_value *value, int like, int32_t device_type);

static int add_items(PyObject *list, mpkr_value *tuple, int like, int32_t device_type)
{
	const size_t count = mpkr_value_count(tuple);
	struct mpkr_error err;
	int failed = 0;

	if (Py_EnterRecursiveCall(" in tuples of results"))
		return -1;
	for (size_t i = 0; !failed && i < count; i++) {
		mpkr_value *item;

		if (mpkr_value_item(tuple, i, &item, &err)) {
			mpk_py_raise(&err);
			failed = -1;
		} else {
			failed = add_result(list, item, like, device_type);
		}
	}
	Py_LeaveRecursiveCall();
	return failed;
}

/* Adds a nested tuple to the list. */
static int add_tuple(PyObject *list, mpkr_value *tuple, int like, int32_t device_type)
{
	PyObject *items = PyList_New(0);
	int failed = items ? add_items(items, tuple, like, device_type) : -1;

	if (!failed)
		failed = append(list, PyList_AsTuple(items));
	Py_XDECREF(items);
	return failed;
}

/* Takes over the value. */
static int add_result(PyObject *list, mpkr_value *value, int like, int32_t device_type)
{
	const enum mpkr_kind kind = mpkr_value_kind(value);
	const bool is_whole = like & LIKE_WHOLE;
	struct mpkr_result *result = NULL;
	struct mpkr_error err;
	int failed = 0;

	if (kind == MPKR_KIND_OBJECT)
		return append(list, mpk_py_value(value));
	if (kind == MPKR_KIND_TUPLE) {
		failed = (is_whole ? add_tuple : add_items)(list, value, like, device_type);
	} else if (is_whole && kind == MPKR_KIND_NONE) {
		failed = PyList_Append(list, Py_None);
	} else if ((is_whole && kind != MPKR_KIND_TENSOR) || kind == MPKR_KIND_TEXT) {
		failed = append(list, mpk_py_plain(value, kind));
	} else if (kind != MPKR_KIND_NONE) {
		if (mpkr_value_tensor(value, device_type, &result, &err)) {
			mpk_py_raise(&err);
			failed = -1;
		} else if (result) {
			failed = append(list, give(result, like & ~LIKE_WHOLE));
		}
	}
	mpkr_value_drop(value);
	return failed;
}

/* Device for results: that of the first array among the arguments. */
static int32_t home_of(const struct mpk_py_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++)
		if (leaves->items[i].form == MPK_PY_ARRAY) {
			const int32_t type = leaves->items[i].tensor.device.device_type;

			return type == MPKR_DEVICE_CUDA || type == MPKR_DEVICE_ROCM
				       ? 0
				       : MPKR_DEVICE_CPU;
		}
	return MPKR_DEVICE_CPU;
}

/* @is_whole  keep the structure of the result, with tensors as mpk.Tensor */
static PyObject *call_values(struct function *f, struct mpk_py_leaves *leaves, bool is_whole)
{
	struct mpkr_arg few[FEW], *args = few;
	struct mpkr_error err;
	PyObject *list = NULL;
	mpkr_value *out;
	int code;

	if (leaves->count > FEW && !(args = malloc(leaves->count * sizeof *args)))
		return PyErr_NoMemory();
	if (mpk_py_leaves_make(leaves, f->open->handle, args) < 0)
		goto out;
	Py_BEGIN_ALLOW_THREADS code = mpkr_call_value(f->handle, args, leaves->count, &out, &err);
	Py_END_ALLOW_THREADS if (code)
	{
		mpk_py_raise_call(&err);
		note_place(f);
		goto out;
	}
	if (mpkr_value_kind(out) == MPKR_KIND_NONE) {
		mpkr_value_drop(out);
		Py_INCREF(Py_None);
		list = Py_None;
		goto out;
	}
	list = PyList_New(0);
	if (!list)
		mpkr_value_drop(out);
	else if (add_result(list, out, is_whole ? LIKE_WHOLE : (int)find_like(leaves),
			    home_of(leaves)) < 0)
		Py_CLEAR(list);
	list = unpack(list);
out:
	if (args != few)
		free(args);
	return list;
}

static bool has_values(const struct mpk_py_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++)
		if (leaves->items[i].form == MPK_PY_VALUE ||
		    leaves->items[i].form == MPK_PY_SHAPE ||
		    leaves->items[i].form == MPK_PY_CALLABLE)
			return true;
	return false;
}

static PyObject *call(PyObject *self, PyObject *args, bool is_whole)
{
	struct function *f = function_of(self);
	struct mpk_py_leaves leaves;
	PyObject *given = NULL;
	int failed = 0;

	if (learn(f) < 0)
		return NULL;
	memset(&leaves, 0, offsetof(struct mpk_py_leaves, few));
	leaves.kinds = f->kinds;
	leaves.kind_count = f->kind_count;
	leaves.copies_read_only = f->may_write;
	leaves.stream = f->open->stream;
	const Py_ssize_t count = PyTuple_Size(args);

	for (Py_ssize_t i = 0; !failed && i < count; i++)
		failed = mpk_py_leaves_add(&leaves, PyTuple_GetItem(args, i));
	if (!failed) {
		if (f->gives_tensors && !is_whole && !has_values(&leaves))
			given = call_tensors(f, &leaves);
		else
			given = call_values(f, &leaves, is_whole);
	}
	if (given && f->may_write && mpk_py_leaves_check(&leaves) < 0)
		Py_CLEAR(given);
	mpk_py_leaves_fini(&leaves);
	return given;
}

static PyObject *function_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	if (keywords && PyDict_Size(keywords)) {
		PyErr_Format(PyExc_TypeError, "%U takes no keyword arguments",
			     function_of(self)->name);
		return NULL;
	}
	return call(self, args, false);
}

static PyObject *function_call_whole(PyObject *self, PyObject *args)
{
	return call(self, args, true);
}

static PyObject *function_session(PyObject *self, PyObject *unused)
{
	struct function *f = function_of(self);
	mpkr_function *made;
	struct mpkr_error err;
	int code;

	(void)unused;
	Py_BEGIN_ALLOW_THREADS code = mpkr_session(f->handle, &made, &err);
	Py_END_ALLOW_THREADS if (code) return mpk_py_raise(&err);
	PyObject *own = PyDict_New(), *session = NULL;

	if (own)
		session = mpk_py_function(made, f->name, f->signature, own, f->open);
	else
		mpkr_drop(made);
	Py_XDECREF(own);
	return session;
}

static PyObject *function_stop(PyObject *self, PyObject *unused)
{
	(void)unused;
	mpkr_stop(function_of(self)->handle);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *function_stop_after(PyObject *self, PyObject *seconds)
{
	const double value = PyFloat_AsDouble(seconds);

	if (value == -1.0 && PyErr_Occurred())
		return NULL;
	if (!(value >= 0)) {
		PyErr_SetString(PyExc_ValueError, "seconds are a number of at least 0");
		return NULL;
	}
	mpkr_stop_after(function_of(self)->handle,
			value < 9e9 ? (int64_t)(value * 1e9) : INT64_MAX);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *function_resume(PyObject *self, PyObject *unused)
{
	(void)unused;
	mpkr_resume(function_of(self)->handle);
	Py_INCREF(Py_None);
	return Py_None;
}

/* Returns a coroutine that mpk._run makes. */
static PyObject *function_call_async(PyObject *self, PyObject *args)
{
	PyObject *module = PyImport_ImportModule("mpk._run"), *made = NULL;

	if (module)
		made = PyObject_CallMethod(module, "_call_async", "OO", self, args);
	Py_XDECREF(module);
	return made;
}

static PyObject *get_session(PyObject *self, void *unused)
{
	(void)unused;
	Py_XINCREF(function_of(self)->session);
	return function_of(self)->session;
}

static int add_struct_type(PyObject *module)
{
	static PyStructSequence_Field fields[] = {
		{ "kind", "\"tensor\", \"number\", \"shape\", \"text\", \"any\" or \"other\"" },
		{ "name", "\"\" for none" },
		{ "dtype", "\"float32\"; None: any" },
		{ "shape",
		  "a tuple of extents, -1 where one is not known before the call; None: any" },
		{ NULL, NULL }
	};
	static PyStructSequence_Desc desc = { "mpk.Type", "What an input or output is.", fields,
					      4 };

	mpk_py.type = PyStructSequence_NewType(&desc);
	if (!mpk_py.type)
		return -1;
	Py_INCREF(mpk_py.type);
	if (PyModule_AddObject(module, "Type", (PyObject *)mpk_py.type) == 0)
		return 0;
	Py_DECREF(mpk_py.type);
	return -1;
}

int mpk_py_add_function(PyObject *module)
{
	static PyMethodDef methods[] = {
		{ "session", function_session, METH_NOARGS,
		  "session() -> Function\n\nThe same function in a session of its own: code and weights are shared, calls run\n"
		  "side by side." },
		{ "call_whole", function_call_whole, METH_VARARGS,
		  "call_whole(*args)\n\nThe same as a call, with the result as it is: tuples in tuples, numbers, texts and shapes as\n"
		  "those of Python, tensors as mpk.Tensor." },
		{ "stop", function_stop, METH_NOARGS,
		  "stop()\n\nEnd calls of the function's session with mpk.Stop: the one under way, and all that begin, until\n"
		  "resume(). From any thread. The model is good for the next call; caches have what it had written so far." },
		{ "stop_after", function_stop_after, METH_O,
		  "stop_after(seconds)\n\nThe same from a moment on. A later call replaces the moment." },
		{ "resume", function_resume, METH_NOARGS,
		  "resume()\n\nLet calls run again, without end." },
		{ "call_async", function_call_async, METH_VARARGS,
		  "call_async(*args)\n\nThe same as a call, to be awaited: it runs in a thread of the event loop's executor. If it is\n"
		  "cancelled, the call is stopped. One of a session is under way at a time, the others wait." },
		{ NULL, NULL, 0, NULL }
	};
	static PyGetSetDef attributes[] = {
		{ "_session", get_session, NULL, NULL, NULL },
		{ "name", get_name, NULL, "by which it was found", NULL },
		{ "signature", get_signature, NULL, "\"forward(x: f32[4, 24]) -> (f32[4, 24])\"",
		  NULL },
		{ "inputs", get_inputs, NULL,
		  "what the function takes, a list of Type; tuples count as what is in them. Empty where the file does not say",
		  NULL },
		{ "outputs", get_outputs, NULL, "what it gives, as far as the file says", NULL },
		{ "__signature__", get_inspected, NULL, "for inspect.signature", NULL },
		{ NULL, NULL, NULL, NULL, NULL }
	};
	static PyMemberDef members[] = { { "__dictoffset__", T_PYSSIZET,
					   offsetof(struct function, attributes), READONLY, NULL },
					 { NULL, 0, 0, 0, NULL } };
	static PyType_Slot slots[] = {
		{ Py_tp_doc,
		  "A function of a model; call it with arrays, numbers, texts, shapes, values, and tuples of these.\n\n"
		  "Results are NumPy arrays or PyTorch tensors where the first array among the arguments is one, else\n"
		  "mpk.Tensor; a cache, a state and other objects are an mpk.Value; several come as a tuple. Raises TypeError for\n"
		  "a wrong number or kind of arguments, ValueError for a shape or element type that the function does not take,\n"
		  "OverflowError for an integer outside 64 bits, what the model raises, and mpk.Error. Calls of functions of one\n"
		  "model wait for each other: see session()." },
		{ Py_tp_new, mpk_py_refuse_new },
		{ Py_tp_dealloc, function_dealloc },
		{ Py_tp_traverse, function_traverse },
		{ Py_tp_clear, function_clear },
		{ Py_tp_call, function_call },
		{ Py_tp_repr, function_repr },
		{ Py_tp_methods, methods },
		{ Py_tp_getset, attributes },
		{ Py_tp_members, members },
		{ 0, NULL }
	};
	static PyType_Spec spec = { "mpk.Function", sizeof(struct function), 0,
				    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots };

	mpk_py.function = mpk_py_add_type(module, &spec, NULL);
	return mpk_py.function ? add_struct_type(module) : -1;
}
