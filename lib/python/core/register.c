/* SPDX-License-Identifier: Apache-2.0 */
/* register.c - Python functions that models call by name
 *
 * Arguments are valid only during the call, but Python may keep them. So tensors are copied, and
 * after the call the copies that changed are written back to the model's memory. All other values
 * are held by a reference. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Python exceptions whose errors are passing through the library, found by the error's text. */
static struct {
	PyObject *type, *value, *trace;
	char text[sizeof((struct mpkr_error *)NULL)->text];
} passing;

static void forget_passing(void)
{
	Py_CLEAR(passing.type);
	Py_CLEAR(passing.value);
	Py_CLEAR(passing.trace);
}

void mpk_py_keep_watched(const char *name)
{
	struct mpkr_error err = { 0 };

	(void)mpk_py_keep_exception(&err);
	(void)snprintf(passing.text, sizeof passing.text, "the watcher ended the call at '%s'",
		       name);
}

bool mpk_py_raise_again(const char *text)
{
	if (!passing.type || strcmp(passing.text, text) != 0) {
		forget_passing();
		return false;
	}
	PyErr_Restore(passing.type, passing.value, passing.trace);
	passing.type = passing.value = passing.trace = NULL;
	return true;
}

/* Turns a text into one line, as the library does with error texts. */
static void clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			*c = ' ';
}

int mpk_py_keep_exception(struct mpkr_error *err)
{
	const int code = PyErr_ExceptionMatches(mpk_py.stop) ? MPKR_E_STOPPED : MPKR_E_RAISED;
	PyObject *name = NULL, *message = NULL, *said = NULL, *bytes = NULL;

	forget_passing();
	PyErr_Fetch(&passing.type, &passing.value, &passing.trace);
	PyErr_NormalizeException(&passing.type, &passing.value, &passing.trace);
	if (passing.type)
		name = PyObject_GetAttrString(passing.type, "__name__");
	if (passing.value)
		message = PyObject_Str(passing.value);
	if (name && message)
		said = PyUnicode_FromFormat("%U: %U", name, message);
	if (said)
		bytes = PyUnicode_AsEncodedString(said, "utf-8", "replace");
	PyErr_Clear();
	(void)snprintf(err->text, sizeof err->text, "%.900s",
		       bytes ? PyBytes_AsString(bytes)
			     : "RuntimeError: a function of Python failed");
	clean(err->text);
	memcpy(passing.text, err->text, sizeof passing.text);
	Py_XDECREF(bytes);
	Py_XDECREF(said);
	Py_XDECREF(message);
	Py_XDECREF(name);
	return code;
}

/* --- arguments ----------------------------------------------------------------------------------- */

/* A tensor argument: the copy that Python got, and the model's own memory. */
struct lent {
	struct mpkr_result *there;
	const void *here;
	struct lent *next;
};

static size_t bytes_of(const struct mpkr_tensor *t)
{
	size_t bytes = ((size_t)t->dtype.bits * t->dtype.lanes + 7) / 8;

	for (int32_t i = 0; i < t->ndim; i++)
		bytes *= (size_t)t->shape[i];
	return bytes;
}

/* Writes a changed copy back. An unchanged copy is not written: the argument may be a read-only
 * input. */
static void give_back(struct lent *lent, bool is_written)
{
	while (lent) {
		struct lent *next = lent->next;
		const size_t bytes = bytes_of(&lent->there->tensor);

		if (is_written && bytes && memcmp(lent->there->tensor.data, lent->here, bytes) != 0)
			memcpy(lent->there->tensor.data, lent->here, bytes);
		mpkr_free(lent->there);
		free(lent);
		lent = next;
	}
}

/* Makes a copy that is never written back. */
static PyObject *kept_tensor(const mpkr_value *value)
{
	struct mpkr_result *result;
	struct mpkr_error err;
	mpkr_value *held;
	int code = mpkr_value_hold(value, &held, &err);

	if (code)
		return mpk_py_raise(&err);
	code = mpkr_value_tensor(held, MPKR_DEVICE_CPU, &result, &err);
	mpkr_value_drop(held);
	if (code)
		return mpk_py_raise(&err);
	PyObject *tensor = mpk_py_tensor(result);

	return tensor ? mpk_py_tensor_numpy(tensor) : NULL;
}

static PyObject *tensor_argument(mpkr_model *model, const mpkr_value *value, struct lent **lent)
{
	struct mpkr_result *here, *there;
	struct mpkr_error err;
	mpkr_value *copied;
	struct lent *copy;
	int code;

	if (mpkr_value_tensor(value, 0, &there, &err))
		return mpk_py_raise(&err);
	if (there->tensor.device.device_type != MPKR_DEVICE_CPU) {
		PyErr_SetString(PyExc_NotImplementedError,
				"a function of Python takes tensors in host memory");
		mpkr_free(there);
		return NULL;
	}
	code = mpkr_value_make(model, MPKR_KIND_TENSOR, &there->tensor, &copied, &err);
	if (!code) {
		code = mpkr_value_tensor(copied, MPKR_DEVICE_CPU, &here, &err);
		mpkr_value_drop(copied);
	}
	copy = code ? NULL : malloc(sizeof *copy);
	if (!copy) {
		if (code)
			mpk_py_raise(&err);
		else
			mpkr_free(here);
		mpkr_free(there);
		return code ? NULL : PyErr_NoMemory();
	}
	*copy = (struct lent){ there, here->tensor.data, *lent };
	*lent = copy;
	PyObject *tensor = mpk_py_tensor(here);

	return tensor ? mpk_py_tensor_numpy(tensor) : NULL;
}

/* The library views the value as a tensor. */
PyObject *mpk_py_plain(const mpkr_value *value, enum mpkr_kind kind)
{
	struct mpkr_result *result;
	struct mpkr_error err;
	PyObject *tuple, *made = NULL;

	if (mpkr_value_tensor(value, MPKR_DEVICE_CPU, &result, &err))
		return mpk_py_raise(&err);
	const struct mpkr_tensor *t = &result->tensor;
	const int64_t count = t->ndim ? t->shape[0] : 1;

	if (kind == MPKR_KIND_TEXT) {
		made = PyUnicode_DecodeUTF8(t->data, (Py_ssize_t)count, "replace");
	} else if (kind == MPKR_KIND_SHAPE) {
		tuple = PyTuple_New((Py_ssize_t)count);
		for (int64_t i = 0; tuple && i < count; i++)
			if (PyTuple_SetItem(tuple, (Py_ssize_t)i,
					    PyLong_FromLongLong(((const int64_t *)t->data)[i])) < 0)
				Py_CLEAR(tuple);
		if (tuple)
			made = PyObject_CallFunctionObjArgs((PyObject *)mpk_py.shape, tuple, NULL);
		Py_XDECREF(tuple);
	} else if (t->dtype.code == MPKR_DTYPE_FLOAT && t->dtype.bits == 64) {
		made = PyFloat_FromDouble(*(const double *)t->data);
	} else if (t->dtype.code == MPKR_DTYPE_INT && t->dtype.bits == 64) {
		made = PyLong_FromLongLong(*(const int64_t *)t->data);
	} else if (t->dtype.code == MPKR_DTYPE_BOOL) {
		made = PyBool_FromLong(*(const uint8_t *)t->data);
	} else {
		PyErr_SetString(PyExc_TypeError, "a number of a type that Python has not");
	}
	mpkr_free(result);
	return made;
}

/* @lent    NULL: changes are not written back */
static PyObject *argument(mpkr_model *model, const mpkr_value *value, struct lent **lent);

static PyObject *tuple_argument(mpkr_model *model, const mpkr_value *value, struct lent **lent)
{
	const size_t count = mpkr_value_count(value);
	PyObject *tuple = PyTuple_New((Py_ssize_t)count);
	struct mpkr_error err;
	mpkr_value *item;

	for (size_t i = 0; tuple && i < count; i++) {
		if (mpkr_value_item(value, i, &item, &err)) {
			Py_DECREF(tuple);
			return mpk_py_raise(&err);
		}
		PyObject *made = argument(model, item, lent);

		mpkr_value_drop(item);
		if (!made || PyTuple_SetItem(tuple, (Py_ssize_t)i, made) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *argument(mpkr_model *model, const mpkr_value *value, struct lent **lent)
{
	const enum mpkr_kind kind = mpkr_value_kind(value);
	struct mpkr_error err;
	mpkr_value *held;

	switch (kind) {
	case MPKR_KIND_NONE:
		Py_INCREF(Py_None);
		return Py_None;
	case MPKR_KIND_TENSOR:
		return lent ? tensor_argument(model, value, lent) : kept_tensor(value);
	case MPKR_KIND_NUMBER:
	case MPKR_KIND_SHAPE:
	case MPKR_KIND_TEXT:
		return mpk_py_plain(value, kind);
	case MPKR_KIND_TUPLE:
		return tuple_argument(model, value, lent);
	case MPKR_KIND_ANY:
	case MPKR_KIND_OTHER:
	case MPKR_KIND_OBJECT:
		break;
	}
	if (mpkr_value_hold(value, &held, &err))
		return mpk_py_raise(&err);
	return mpk_py_value(held);
}

PyObject *mpk_py_kept(const mpkr_value *value)
{
	return argument(NULL, value, NULL);
}

PyObject *mpk_py_kept_all(mpkr_value *const *values, size_t count)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; tuple && i < count; i++) {
		PyObject *made = mpk_py_kept(values[i]);

		if (!made || PyTuple_SetItem(tuple, (Py_ssize_t)i, made) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

/* --- the call --------------------------------------------------------------------------------------- */

static int take_result(PyObject *given, mpkr_model *model, mpkr_value **out)
{
	const bool is_tuple =
		(PyTuple_Check(given) || PyList_Check(given)) && Py_TYPE(given) != mpk_py.shape;
	struct mpk_py_leaves leaves;
	struct mpkr_arg *args = NULL;
	struct mpkr_error err;
	int failed, code = 0;

	if (given == Py_None)
		return 0;
	memset(&leaves, 0, offsetof(struct mpk_py_leaves, few));
	failed = mpk_py_leaves_add(&leaves, given);
	if (!failed && !(args = malloc((leaves.count + 1) * sizeof *args))) {
		PyErr_NoMemory();
		failed = -1;
	}
	if (!failed)
		failed = mpk_py_leaves_make(&leaves, model, args);
	if (!failed) {
		if (is_tuple)
			code = mpkr_value_tuple(model, args, leaves.count, out, &err);
		else if (leaves.items[0].form == MPK_PY_ARRAY)
			code = mpkr_value_make(model, MPKR_KIND_TENSOR, args[0].tensor, out, &err);
		else
			code = mpkr_value_hold(args[0].value, out, &err);
		if (code)
			mpk_py_raise(&err);
		failed = code ? -1 : 0;
	}
	free(args);
	mpk_py_leaves_fini(&leaves);
	return failed;
}

static int call_python(PyObject *function, const struct mpkr_invocation *call, mpkr_value **result)
{
	PyObject *args = PyTuple_New((Py_ssize_t)call->count), *given = NULL;
	struct lent *lent = NULL;
	int failed = args ? 0 : -1;

	for (size_t i = 0; !failed && i < call->count; i++) {
		PyObject *made = argument(call->model, call->args[i], &lent);

		failed = made ? PyTuple_SetItem(args, (Py_ssize_t)i, made) : -1;
	}
	if (!failed)
		given = PyObject_Call(function, args, NULL);
	if (given)
		failed = take_result(given, call->model, result);
	give_back(lent, given != NULL);
	Py_XDECREF(given);
	Py_XDECREF(args);
	return given && !failed ? 0 : -1;
}

static int called(void *context, const struct mpkr_invocation *call, mpkr_value **result,
		  struct mpkr_error *err)
{
	PyGILState_STATE state;
	int code = MPKR_OK;

	if (!Py_IsInitialized()) {
		(void)snprintf(err->text, sizeof err->text, "RuntimeError: Python has ended");
		return MPKR_E_RAISED;
	}
	state = PyGILState_Ensure();
	Py_INCREF((PyObject *)context); /* the function may unregister itself while it runs */
	if (call_python(context, call, result) < 0)
		code = mpk_py_keep_exception(err);
	Py_DECREF((PyObject *)context);
	PyGILState_Release(state);
	return code;
}

/* --- as values ---------------------------------------------------------------------------------------- */

/* While the interpreter is shutting down, nothing is released. */
static void release(void *context)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	Py_DECREF((PyObject *)context);
	PyGILState_Release(state);
}

int mpk_py_callable(mpkr_model *model, PyObject *function, mpkr_value **out)
{
	struct mpkr_error err;

	Py_INCREF(function);
	if (!mpkr_value_callback(model, NULL, called, function, release, out, &err))
		return 0;
	Py_DECREF(function);
	mpk_py_raise(&err);
	return -1;
}

/* --- registered --------------------------------------------------------------------------------------- */

int mpk_py_register(mpkr_model *model, PyObject *registered, PyObject *name, PyObject *function)
{
	struct mpkr_error err;
	const char *text;
	size_t length;
	PyObject *bytes, *old;
	int code, failed = 0;

	if (!PyUnicode_Check(name)) {
		PyErr_SetString(PyExc_TypeError, "the name of a function is a text");
		return -1;
	}
	if (function != Py_None && !PyCallable_Check(function)) {
		PyErr_Format(PyExc_TypeError, "%R cannot be called", function);
		return -1;
	}
	bytes = mpk_py_utf8(name, &text, &length);
	if (!bytes)
		return -1;
	if (strlen(text) != length) {
		PyErr_Format(PyExc_ValueError, "%R: a name has no NUL in it", name);
		Py_DECREF(bytes);
		return -1;
	}
	old = PyDict_GetItemWithError(registered, name);
	Py_XINCREF(old);
	Py_INCREF(function);
	/* mpkr_register waits for running calls of the old function, and these calls need the GIL */
	Py_BEGIN_ALLOW_THREADS code =
		mpkr_register(model, text, function == Py_None ? NULL : called, function, &err);
	Py_END_ALLOW_THREADS if (code)
	{
		mpk_py_raise(&err);
		failed = -1;
	}
	else if (function == Py_None)
	{
		failed = old ? PyDict_DelItem(registered, name) : 0;
	}
	else
	{
		failed = PyDict_SetItem(registered, name, function);
	}
	Py_DECREF(function);
	Py_XDECREF(old);
	Py_DECREF(bytes);
	return failed;
}
