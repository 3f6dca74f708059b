/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - mpk.Value: a cache, state or tuple that stays on its device; and mpk.Shape */
#include "core.h"

#include <stdlib.h>

struct value {
	PyObject ob_base;
	mpkr_value *handle;
	bool is_tuple;
};

PyObject *mpk_py_value(mpkr_value *handle)
{
	struct value *made = PyObject_New(struct value, mpk_py.value);

	if (!made) {
		mpkr_value_drop(handle);
		return NULL;
	}
	made->handle = handle;
	made->is_tuple = mpkr_value_kind(handle) == MPKR_KIND_TUPLE;
	return (PyObject *)made;
}

mpkr_value *mpk_py_value_handle(PyObject *object)
{
	return Py_TYPE(object) == mpk_py.value ? ((struct value *)(void *)object)->handle : NULL;
}

bool mpk_py_value_is_tuple(PyObject *object)
{
	return ((struct value *)(void *)object)->is_tuple;
}

static void value_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	mpkr_value_drop(((struct value *)(void *)self)->handle);
	PyObject_Free(self);
	Py_DECREF(type);
}

static const char *type_of(PyObject *self)
{
	const char *type = mpkr_value_type(((struct value *)(void *)self)->handle);

	return type ? type : "";
}

/* --- states -------------------------------------------------------------------------------------------- */

static PyObject *value_save(PyObject *self, PyObject *args)
{
	const Py_ssize_t count = PyTuple_Size(args);
	int64_t *ids = malloc((size_t)(count + 1) * sizeof *ids);
	struct mpkr_result *saved;
	struct mpkr_error err;
	int code;

	if (!ids)
		return PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++)
		if (mpk_py_extent(PyTuple_GetItem(args, i), &ids[i]) < 0) {
			free(ids);
			return NULL;
		}
	mpkr_value *handle = ((struct value *)(void *)self)->handle;

	Py_BEGIN_ALLOW_THREADS code =
		mpkr_state_save(handle, count ? ids : NULL, (size_t)count, &saved, &err);
	Py_END_ALLOW_THREADS free(ids);
	return code ? mpk_py_raise_call(&err) : mpk_py_tensor(saved);
}

static PyObject *value_load(PyObject *self, PyObject *saved)
{
	mpkr_value *handle = ((struct value *)(void *)self)->handle;
	struct mpk_py_buffer view;
	struct mpkr_error err;
	int code;

	if (!mpk_py.get_buffer) {
		PyErr_SetString(PyExc_TypeError, "this Python has no buffers");
		return NULL;
	}
	if (mpk_py.get_buffer(saved, &view, 0) < 0)
		return NULL;
	Py_BEGIN_ALLOW_THREADS code = mpkr_state_load(handle, view.buf, (size_t)view.len, &err);
	Py_END_ALLOW_THREADS mpk_py.release_buffer(&view);
	if (code)
		return mpk_py_raise_call(&err);
	Py_INCREF(Py_None);
	return Py_None;
}

/* --- the type -------------------------------------------------------------------------------------------- */

static PyObject *get_type(PyObject *self, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(type_of(self));
}

static PyObject *value_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<mpk.Value %s>", type_of(self));
}

int mpk_py_add_value(PyObject *module)
{
	static PyGetSetDef attributes[] = {
		{ "type", get_type, NULL, "its name: \"relax.vm.PagedAttentionKVCache\"", NULL },
		{ NULL, NULL, NULL, NULL, NULL }
	};
	static PyMethodDef methods[] = {
		{ "save", value_save, METH_VARARGS,
		  "save(*ids) -> Tensor\n\nSequences of a cache or a recurrent state, all where no id is given, as bytes: what\n"
		  "load() takes in a state of the same model, in another session or process, or later. The tensor has the\n"
		  "interface of bytes: file.write(cache.save()), bytes(cache.save(0)). What sequences share is saved once." },
		{ "load", value_load, METH_O,
		  "load(saved)\n\nAdd saved sequences to this state, made with the same numbers by the same model. Bytes may be\n"
		  "anything; where they do not fit, mpk.Error or RuntimeError is raised, and the state is as it was." },
		{ NULL, NULL, 0, NULL }
	};
	static PyType_Slot slots[] = {
		{ Py_tp_doc,
		  "What has no form of its own in Python: a cache, a state, a tuple that stays where it is.\n\n"
		  "``type`` names it (\"relax.vm.PagedAttentionKVCache\"). It is passed to functions of the model that gave it,\n"
		  "which may change it, and is given back with its last name." },
		{ Py_tp_new, mpk_py_refuse_new },
		{ Py_tp_dealloc, value_dealloc },
		{ Py_tp_repr, value_repr },
		{ Py_tp_getset, attributes },
		{ Py_tp_methods, methods },
		{ 0, NULL }
	};
	static PyType_Spec spec = { "mpk.Value", sizeof(struct value), 0, Py_TPFLAGS_DEFAULT,
				    slots };
	static PyType_Slot shape_slots[] = {
		{ Py_tp_doc,
		  "Extents, where a function takes a shape and its file does not say so, as builtins of TVM's machine do. Where\n"
		  "the file says so, a tuple of integers will do." },
		{ 0, NULL }
	};
	static PyType_Spec shape_spec = { "mpk.Shape", 0, 0,
					  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, shape_slots };

	mpk_py.value = mpk_py_add_type(module, &spec, NULL);
	mpk_py.shape = mpk_py_add_type(module, &shape_spec, (PyObject *)&PyTuple_Type);
	return mpk_py.value && mpk_py.shape ? 0 : -1;
}
