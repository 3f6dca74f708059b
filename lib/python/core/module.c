/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - the extension module mpk._core: its types, and the conversion of errors to exceptions */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

struct mpk_py_state mpk_py;

/* --- errors ------------------------------------------------------------------------------------------------ */

static PyObject *exception_of(int code)
{
	switch (code) {
	case MPKR_E_USAGE:
		return PyExc_ValueError;
	case MPKR_E_IO:
		return PyExc_OSError;
	case MPKR_E_NOT_FOUND:
		return PyExc_KeyError;
	case MPKR_E_NO_MEMORY:
		return PyExc_MemoryError;
	case MPKR_E_BUDGET:
		return mpk_py.budget;
	case MPKR_E_STOPPED:
		return mpk_py.stop;
	default:
		return mpk_py.error;
	}
}

static void set_text(PyObject *exception, const char *text)
{
	PyObject *decoded = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

	if (decoded)
		PyErr_SetObject(exception, decoded);
	Py_XDECREF(decoded);
}

/* Raises the exception that a text such as "ValueError: ..." from a model's code names. Returns
 * whether it did. */
static bool raise_by_name(const char *text)
{
	const char *colon = strstr(text, ": ");
	PyObject *builtins, *name, *kind = NULL;
	bool is_exception;

	if (!colon || colon == text)
		return false;
	builtins = PyImport_ImportModule("builtins");
	name = PyUnicode_FromStringAndSize(text, colon - text);
	if (builtins && name)
		kind = PyObject_GetAttr(builtins, name);
	PyErr_Clear();
	is_exception = kind && PyExceptionClass_Check(kind) &&
		       PyObject_IsSubclass(kind, PyExc_Exception) == 1 &&
		       PyObject_IsSubclass(kind, PyExc_UnicodeError) == 0; /* the constructors of
								     * UnicodeError take other
								     * arguments */
	if (is_exception)
		set_text(kind, colon + 2);
	Py_XDECREF(kind);
	Py_XDECREF(name);
	Py_XDECREF(builtins);
	return is_exception;
}

PyObject *mpk_py_raise(const struct mpkr_error *err)
{
	if ((err->code == MPKR_E_RAISED || err->code == MPKR_E_STOPPED) &&
	    mpk_py_raise_again(err->text))
		return NULL;
	if (err->code != MPKR_E_RAISED || !raise_by_name(err->text))
		set_text(exception_of(err->code), err->text);
	return NULL;
}

static const char *skip_digits(const char *s)
{
	return s + strspn(s, "0123456789");
}

/* Whether a usage error is a TypeError in Python. The library has one code for all usage errors, so
 * this looks at the text: "2 inputs for 1", "kernel takes 4 inputs, not 1", "input 'x' takes
 * float32[4], not none". */
static bool is_about_types(const char *text)
{
	const char *s = skip_digits(text), *last;

	if (s != text && strncmp(s, " input", 6) == 0) {
		s += s[6] == 's' ? 7 : 6;
		if (strncmp(s, " for ", 5) == 0 && s[5] >= '0' && s[5] <= '9')
			return true;
	}
	for (s = strstr(text, "takes "); s; s = strstr(s + 1, "takes ")) {
		const char *after = skip_digits(s + 6);

		if (after != s + 6 && strncmp(after, " inputs, not ", 13) == 0)
			return true;
	}
	if (strncmp(text, "input ", 6) != 0 || !strstr(text, " takes "))
		return false;
	last = strrchr(text, ',');
	return last && strncmp(last, ", not ", 6) == 0 && last[6] &&
	       last[6 + strspn(last + 6, "abcdefghijklmnopqrstuvwxyz")] == 0;
}

PyObject *mpk_py_raise_call(const struct mpkr_error *err)
{
	if (err->code != MPKR_E_USAGE || !is_about_types(err->text))
		return mpk_py_raise(err);
	set_text(PyExc_TypeError, err->text);
	return NULL;
}

/* --- types ------------------------------------------------------------------------------------------------- */

PyObject *mpk_py_refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)type;
	(void)args;
	(void)keywords;
	PyErr_SetString(PyExc_TypeError, "such objects come from calls of models");
	return NULL;
}

PyTypeObject *mpk_py_add_type(PyObject *module, PyType_Spec *spec, PyObject *base)
{
	PyObject *bases = base ? PyTuple_Pack(1, base) : NULL, *type;

	if (base && !bases)
		return NULL;
	type = PyType_FromSpecWithBases(spec, bases);
	Py_XDECREF(bases);
	if (!type)
		return NULL;
	Py_INCREF(type); /* one reference for the module, one for mpk_py */
	if (PyModule_AddObject(module, strrchr(spec->name, '.') + 1, type) < 0) {
		Py_DECREF(type);
		Py_DECREF(type);
		return NULL;
	}
	return (PyTypeObject *)type;
}

/* --- functions ----------------------------------------------------------------------------------------------- */

static PyObject *shape(PyObject *module, PyObject *extents)
{
	(void)module;
	return PyObject_CallFunctionObjArgs((PyObject *)mpk_py.shape, extents, NULL);
}

static PyObject *library_version(PyObject *module, PyObject *unused)
{
	const unsigned v = mpkr_version();

	(void)module;
	(void)unused;
	return PyUnicode_FromFormat("%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
}

static PyObject *register_function(PyObject *module, PyObject *args)
{
	PyObject *name, *function;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO:register", &name, &function) ||
	    mpk_py_register(NULL, mpk_py.registered, name, function) < 0)
		return NULL;
	Py_INCREF(function);
	return function;
}

/* Looks up the functions of the buffer protocol, which 3.9 and 3.10 do not have in their stable
 * ABI. */
static void find_buffers(void)
{
	void *get = dlsym(RTLD_DEFAULT, "PyObject_GetBuffer"),
	     *release = dlsym(RTLD_DEFAULT, "PyBuffer_Release");

	if (!get || !release)
		return;
	memcpy(&mpk_py.get_buffer, &get, sizeof get);
	memcpy(&mpk_py.release_buffer, &release, sizeof release);
}

static int fill(PyObject *module)
{
	mpk_py.error = PyErr_NewExceptionWithDoc(
		"mpk.Error",
		"What no exception of Python's own says: a file that is damaged, a device that is missing, a model that failed.",
		PyExc_RuntimeError, NULL);
	if (mpk_py.error)
		mpk_py.stop = PyErr_NewExceptionWithDoc(
			"mpk.Stop",
			"A call was stopped: by Function.stop, or at the moment of stop_after.",
			mpk_py.error, NULL);
	mpk_py.registered = PyDict_New();
	mpk_py.max_version = Py_BuildValue("{s:(ii)}", "max_version", 1, 1);
	mpk_py.dlpack = PyUnicode_InternFromString("__dlpack__");
	mpk_py.array_interface = PyUnicode_InternFromString("__array_interface__");
	mpk_py.doc = PyUnicode_InternFromString("__doc__");
	mpk_py.budget = PyErr_NewExceptionWithDoc(
		"mpk.BudgetError", "A model takes more memory than the budget of mpk.open allows.",
		PyExc_MemoryError, NULL);
	if (!mpk_py.budget || !mpk_py.stop || !mpk_py.registered || !mpk_py.max_version ||
	    !mpk_py.dlpack || !mpk_py.array_interface || !mpk_py.doc)
		return -1;
	Py_INCREF(mpk_py.error);
	if (PyModule_AddObject(module, "Error", mpk_py.error) < 0) {
		Py_DECREF(mpk_py.error);
		return -1;
	}
	Py_INCREF(mpk_py.budget);
	if (PyModule_AddObject(module, "BudgetError", mpk_py.budget) < 0) {
		Py_DECREF(mpk_py.budget);
		return -1;
	}
	Py_INCREF(mpk_py.stop);
	if (PyModule_AddObject(module, "Stop", mpk_py.stop) < 0) {
		Py_DECREF(mpk_py.stop);
		return -1;
	}
	find_buffers();
	return mpk_py_add_tensor(module) || mpk_py_add_value(module) ||
			       mpk_py_add_function(module) || mpk_py_add_model(module)
		       ? -1
		       : 0;
}

/* The only symbol that the extension exports. */
PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
	static PyMethodDef methods[] = {
		{ "shape", shape, METH_VARARGS,
		  "shape(*extents) -> Shape\n\nA shape as an argument: model[\"vm.builtin.kv_state_begin_forward\"](cache, mpk.shape(0),\n"
		  "mpk.shape(64))." },
		{ "register", register_function, METH_VARARGS, "register(name, function)" },
		{ "library_version", library_version, METH_NOARGS,
		  "library_version() -> str\n\nThe version of libmpk-run: \"0.1.0\"." },
		{ NULL, NULL, 0, NULL }
	};
	static PyModuleDef definition = { PyModuleDef_HEAD_INIT,
					  "mpk._core",
					  "libmpk-run (mpk/run.h) for Python.",
					  -1,
					  methods,
					  NULL,
					  NULL,
					  NULL,
					  NULL };
	PyObject *module = PyModule_Create(&definition);

	if (module && fill(module) < 0)
		Py_CLEAR(module);
	return module;
}
