/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - mpk.Value: a cache, a state, a tuple that stays where it is; and mpk.Shape */
#include "core.h"

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
	static PyType_Slot slots[] = {
		{ Py_tp_doc,
		  "What has no form of its own in Python: a cache, a state, a tuple that stays where it is.\n\n"
		  "``type`` names it (\"relax.vm.PagedAttentionKVCache\"). It is passed to functions of the model that gave it,\n"
		  "which may change it, and is given back with its last name." },
		{ Py_tp_new, mpk_py_refuse_new },
		{ Py_tp_dealloc, value_dealloc },
		{ Py_tp_repr, value_repr },
		{ Py_tp_getset, attributes },
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
