/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - mpk.Model: an open library; its functions are attributes and items */
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct model {
	PyObject ob_base;
	struct mpk_py_open *open; /* NULL after close */
	PyObject *path;
	PyObject *functions;  /* dict of the functions found so far, by name */
	PyObject *attributes; /* dict of those found as attributes */
};

static struct model *model_of(PyObject *self)
{
	return (void *)self;
}

void mpk_py_open_drop(struct mpk_py_open *open)
{
	if (!open || --open->refs)
		return;
	mpkr_close(open->handle);
	Py_XDECREF(open->registered);
	Py_XDECREF(open->session);
	Py_XDECREF(open->watcher);
	Py_XDECREF(open->log);
	Py_XDECREF(open->loaded);
	free(open);
}

/* Returns the model, which the caller must drop; NULL with an exception if it is closed. */
static struct mpk_py_open *hold(PyObject *self)
{
	struct mpk_py_open *open = model_of(self)->open;

	if (open)
		open->refs++;
	else
		PyErr_SetString(PyExc_ValueError, "the model is closed");
	return open;
}

/* --- opened and closed ----------------------------------------------------------------------------------- */

/* Calls a listener from a thread that calls the model and does not hold the GIL.
 * @argument  taken over; NULL means that an exception is set */
static void tell(PyObject *listener, PyObject *argument)
{
	PyObject *given = NULL;

	Py_INCREF(listener);
	if (argument)
		given = PyObject_CallFunctionObjArgs(listener, argument, NULL);
	if (!given)
		PyErr_WriteUnraisable(listener);
	Py_XDECREF(given);
	Py_XDECREF(argument);
	Py_DECREF(listener);
}

static void logged(void *context, const char *text)
{
	const struct mpk_py_open *open = context;
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	tell(open->log, PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
	PyGILState_Release(state);
}

static void loaded(void *context, uint64_t bytes)
{
	const struct mpk_py_open *open = context;
	PyGILState_STATE state;

	if (!Py_IsInitialized())
		return;
	state = PyGILState_Ensure();
	tell(open->loaded, PyLong_FromUnsignedLongLong(bytes));
	PyGILState_Release(state);
}

/* Accepts None or a callable; *out receives one reference. Returns 0 or -1. */
static int take_listener(PyObject *given, PyObject **out)
{
	if (given == Py_None)
		return 0;
	if (!PyCallable_Check(given)) {
		PyErr_Format(PyExc_TypeError, "%R cannot be called", given);
		return -1;
	}
	Py_INCREF(given);
	*out = given;
	return 0;
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "path",   "device", "threads", "stream", "log",
				 "loaded", "budget", "flags",   NULL };
	PyObject *path, *bytes = NULL, *stream = Py_None, *log = Py_None, *hears = Py_None;
	int device_type = 0, device_id = 0, code;
	Py_ssize_t threads = 0;
	struct mpkr_options options = { .size = sizeof options };
	struct mpkr_memory memory = { .size = sizeof memory };
	struct mpkr_error err;
	struct mpk_py_open *open;
	struct model *made;
	int64_t budget = 0;
	unsigned flags = 0;
	PyObject *most = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|(ii)nOOOOI:Model", names, &path,
					 &device_type, &device_id, &threads, &stream, &log, &hears,
					 &most, &flags))
		return NULL;
	if (most && most != Py_None && mpk_py_extent(most, &budget) < 0)
		return NULL;
	if (most && most != Py_None && budget < 1) {
		PyErr_SetString(PyExc_ValueError, "a budget is a number of bytes, at least 1");
		return NULL;
	}
	memory.budget = (uint64_t)budget;
	options.host_memory = options.device_memory = &memory;
	if (threads < 0 || threads > 1 << 20) {
		PyErr_SetString(PyExc_ValueError, "threads is a number of at least 0");
		return NULL;
	}
	options.device.device_type = device_type;
	options.device.device_id = device_id;
	options.threads = (unsigned)threads;
	options.flags = flags;
	if (stream != Py_None) {
		options.stream = PyLong_AsVoidPtr(stream);
		if (!options.stream && PyErr_Occurred())
			return NULL;
	}
	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	open = calloc(1, sizeof *open);
	made = open ? PyObject_New(struct model, type) : NULL;
	if (!made) {
		if (!open)
			PyErr_NoMemory();
		free(open);
		Py_DECREF(bytes);
		return NULL;
	}
	memset((char *)made + sizeof made->ob_base, 0, sizeof *made - sizeof made->ob_base);
	open->refs = 1;
	made->open = open;
	if (take_listener(log, &open->log) < 0 || take_listener(hears, &open->loaded) < 0) {
		Py_DECREF(bytes);
		Py_DECREF(made);
		return NULL;
	}
	options.log = open->log ? logged : NULL;
	options.loaded = open->loaded ? loaded : NULL;
	options.log_context = options.loaded_context = open;
	const char *name = PyBytes_AsString(bytes);

	Py_BEGIN_ALLOW_THREADS code = mpkr_open(name, &options, &open->handle, &err);
	Py_END_ALLOW_THREADS Py_DECREF(bytes);
	if (code) {
		open->handle = NULL;
		Py_DECREF(made);
		return mpk_py_raise(&err);
	}
	open->stream = options.stream;
	open->session = PyDict_New();
	made->path = PyOS_FSPath(path);
	made->functions = PyDict_New();
	made->attributes = PyDict_New();
	if (!open->session || !made->path || !made->functions || !made->attributes)
		Py_CLEAR(made);
	return (PyObject *)made;
}

static void model_dealloc(PyObject *self)
{
	struct model *m = model_of(self);
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(m->functions);
	Py_XDECREF(m->attributes);
	Py_XDECREF(m->path);
	mpk_py_open_drop(m->open);
	release(self);
	Py_DECREF(type);
}

static PyObject *model_close(PyObject *self, PyObject *unused)
{
	struct mpk_py_open *open = model_of(self)->open;

	(void)unused;
	model_of(self)->open = NULL;
	PyDict_Clear(model_of(self)->functions);
	PyDict_Clear(model_of(self)->attributes);
	mpk_py_open_drop(open);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *model_enter(PyObject *self, PyObject *unused)
{
	(void)unused;
	Py_INCREF(self);
	return self;
}

static PyObject *model_exit(PyObject *self, PyObject *args)
{
	(void)args;
	return model_close(self, NULL);
}

static PyObject *model_repr(PyObject *self)
{
	return PyUnicode_FromFormat("<mpk.Model %S>", model_of(self)->path);
}

static PyObject *get_path(PyObject *self, void *unused)
{
	(void)unused;
	Py_INCREF(model_of(self)->path);
	return model_of(self)->path;
}

/* --- functions --------------------------------------------------------------------------------------------- */

static PyObject *list_functions(struct mpk_py_open *open)
{
	PyObject *list = PyList_New(0);
	size_t count;

	Py_BEGIN_ALLOW_THREADS count = mpkr_function_count(open->handle);
	Py_END_ALLOW_THREADS for (size_t i = 0; list && i < count; i++)
	{
		const char *text = mpkr_function_name(open->handle, i);
		PyObject *name = PyUnicode_DecodeUTF8(
			text ? text : "", (Py_ssize_t)strlen(text ? text : ""), "replace");

		if (!name || PyList_Append(list, name) < 0)
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	return list;
}

static PyObject *get_functions(PyObject *self, void *unused)
{
	struct mpk_py_open *open = hold(self);
	PyObject *list = open ? list_functions(open) : NULL;

	(void)unused;
	mpk_py_open_drop(open);
	return list;
}

/* The library's signature text; valid as long as the model. */
static const char *signature_of(mpkr_model *model, const char *name)
{
	const size_t count = mpkr_function_count(model);

	for (size_t i = 0; i < count; i++) {
		const char *known = mpkr_function_name(model, i);

		if (known && strcmp(known, name) == 0)
			return mpkr_function_signature(model, i);
	}
	return NULL;
}

/* @key     name of the function; @signature  NULL if unknown */
static PyObject *make_function(mpkr_function *found, PyObject *key, const char *signature,
			       struct mpk_py_open *open)
{
	PyObject *text = signature ? PyUnicode_DecodeUTF8(signature, (Py_ssize_t)strlen(signature),
							  "replace")
				   : PyUnicode_FromFormat("%U(...)", key),
		 *made = NULL;

	if (text)
		made = mpk_py_function(found, key, text, open->session, open);
	else
		mpkr_drop(found);
	Py_XDECREF(text);
	return made;
}

/* The key of an item as a C string, valid as long as the returned object. NULL with KeyError if the
 * key contains a NUL, which no function's name does. */
static PyObject *name_of(PyObject *key, const char **out)
{
	PyObject *bytes;
	size_t length;

	if (!PyUnicode_Check(key)) {
		PyErr_SetString(PyExc_TypeError, "a function is asked for by its name, a text");
		return NULL;
	}
	bytes = mpk_py_utf8(key, out, &length);
	if (bytes && strlen(*out) != length) {
		PyErr_Format(PyExc_KeyError, "no function %R", key);
		Py_CLEAR(bytes);
	}
	return bytes;
}

static PyObject *find(PyObject *self, PyObject *key)
{
	struct mpk_py_open *open;
	const char *name, *signature = NULL;
	PyObject *made, *known, *bytes = name_of(key, &name);
	mpkr_function *found;
	struct mpkr_error err;
	int code;

	open = bytes ? hold(self) : NULL;
	if (!open) {
		Py_XDECREF(bytes);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS code = mpkr_find(open->handle, name, &found, &err);
	if (!code)
		signature = signature_of(open->handle, name);
	Py_END_ALLOW_THREADS made =
		code ? mpk_py_raise(&err) : make_function(found, key, signature, open);
	mpk_py_open_drop(open);
	Py_DECREF(bytes);
	if (!made)
		return NULL;
	/* another thread may have found the function meanwhile: return the same object to both */
	known = PyDict_GetItemWithError(model_of(self)->functions, key);
	if (known) {
		Py_DECREF(made);
		Py_INCREF(known);
		return known;
	}
	if (PyErr_Occurred() ||
	    (model_of(self)->open && PyDict_SetItem(model_of(self)->functions, key, made) < 0))
		Py_CLEAR(made);
	return made;
}

static PyObject *model_item(PyObject *self, PyObject *key)
{
	PyObject *known;

	if (!model_of(self)->open) {
		PyErr_SetString(PyExc_ValueError, "the model is closed");
		return NULL;
	}
	known = PyDict_GetItemWithError(model_of(self)->functions, key);
	if (known || PyErr_Occurred()) {
		Py_XINCREF(known);
		return known;
	}
	return find(self, key);
}

/* Replaces KeyError by AttributeError with the same text. */
static void turn_into_attribute_error(void)
{
	PyObject *type, *value, *trace, *args;

	if (!PyErr_ExceptionMatches(PyExc_KeyError))
		return;
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	args = value ? PyObject_GetAttrString(value, "args") : NULL;
	PyErr_SetObject(PyExc_AttributeError, args ? args : Py_None);
	Py_XDECREF(args);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
}

static PyObject *model_attribute(PyObject *self, PyObject *name)
{
	PyObject *found = PyDict_GetItemWithError(model_of(self)->attributes, name);
	bool is_private;

	if (found) {
		Py_INCREF(found);
		return found;
	}
	if (PyErr_Occurred())
		return NULL;
	found = PyObject_GenericGetAttr(self, name);
	if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return found;
	is_private = PyUnicode_GetLength(name) == 0 || PyUnicode_ReadChar(name, 0) == '_';
	if (is_private)
		return NULL;
	PyErr_Clear();
	found = model_item(self, name);
	if (!found)
		turn_into_attribute_error();
	else if (PyDict_SetItem(model_of(self)->attributes, name, found) < 0)
		Py_CLEAR(found);
	return found;
}

static PyObject *model_dir(PyObject *self, PyObject *unused)
{
	PyObject *names = PyObject_CallMethod((PyObject *)&PyBaseObject_Type, "__dir__", "O", self);
	PyObject *more = names && model_of(self)->open ? get_functions(self, NULL) : NULL,
		 *all = NULL;

	(void)unused;
	if (more)
		all = PySequence_Concat(names, more);
	else if (names && !PyErr_Occurred()) {
		all = names;
		names = NULL;
	}
	Py_XDECREF(more);
	Py_XDECREF(names);
	return all;
}

/* --- kernels, parameters, tuples ----------------------------------------------------------------------------- */

static int take_extents(PyObject *object, uint64_t out[3])
{
	PyObject *tuple;
	int64_t extent;
	bool is_good;

	if (PyIndex_Check(object))
		tuple = PyTuple_Pack(1, object);
	else
		tuple = PySequence_Tuple(object);
	if (!tuple)
		return -1;
	is_good = PyTuple_Size(tuple) >= 1 && PyTuple_Size(tuple) <= 3;
	for (Py_ssize_t i = 0; is_good && i < PyTuple_Size(tuple); i++) {
		if (mpk_py_extent(PyTuple_GetItem(tuple, i), &extent) < 0) {
			Py_DECREF(tuple);
			return -1;
		}
		is_good = extent >= 1;
		out[i] = (uint64_t)extent;
	}
	Py_DECREF(tuple);
	if (!is_good)
		PyErr_SetString(PyExc_ValueError,
				"a launch has one to three extents of at least 1");
	return is_good ? 0 : -1;
}

static PyObject *model_kernel(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "name", "grid", "block", "shared", NULL };
	PyObject *key, *grid = NULL, *block = NULL, *shared = NULL, *made, *bytes;
	struct mpkr_launch launch = { .size = sizeof launch, .grid = { 1 }, .block = { 1 } };
	struct mpkr_error err;
	struct mpk_py_open *open;
	mpkr_function *found;
	const char *name;
	int64_t room = 0;
	int code;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOO:kernel", names, &key, &grid,
					 &block, &shared))
		return NULL;
	if ((grid && take_extents(grid, launch.grid) < 0) ||
	    (block && take_extents(block, launch.block) < 0) ||
	    (shared && mpk_py_extent(shared, &room) < 0))
		return NULL;
	if (room < 0) {
		PyErr_SetString(PyExc_ValueError, "shared is a number of bytes");
		return NULL;
	}
	launch.shared_bytes = (uint64_t)room;
	bytes = name_of(key, &name);
	open = bytes ? hold(self) : NULL;
	if (!open) {
		Py_XDECREF(bytes);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS code = mpkr_find_kernel(open->handle, name, &launch, &found, &err);
	Py_END_ALLOW_THREADS made =
		code ? mpk_py_raise(&err) : make_function(found, key, NULL, open);
	mpk_py_open_drop(open);
	Py_DECREF(bytes);
	return made;
}

static PyObject *model_bind_params(PyObject *self, PyObject *path)
{
	struct mpk_py_open *open;
	struct mpkr_error err;
	PyObject *bytes;
	const char *name;
	size_t count = 0;
	int code;

	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	open = hold(self);
	if (!open) {
		Py_DECREF(bytes);
		return NULL;
	}
	name = PyBytes_AsString(bytes);
	Py_BEGIN_ALLOW_THREADS code = mpkr_bind_weights(open->handle, name, &count, &err);
	Py_END_ALLOW_THREADS Py_DECREF(bytes);
	mpk_py_open_drop(open);
	if (code)
		return mpk_py_raise(&err);
	return PyLong_FromSize_t(count);
}

static PyObject *model_tuple(PyObject *self, PyObject *items)
{
	struct mpk_py_leaves leaves;
	PyObject *list = PySequence_Tuple(items), *made = NULL;
	struct mpk_py_open *open = list ? hold(self) : NULL;
	struct mpkr_arg *args = NULL;
	struct mpkr_error err;
	mpkr_value *value;
	int failed = open ? 0 : -1, code;

	memset(&leaves, 0, offsetof(struct mpk_py_leaves, few));
	for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(list); i++)
		failed = mpk_py_leaves_add(&leaves, PyTuple_GetItem(list, i));
	if (!failed && !(args = malloc((leaves.count + 1) * sizeof *args))) {
		PyErr_NoMemory();
		failed = -1;
	}
	if (!failed && mpk_py_leaves_make(&leaves, open->handle, args) == 0) {
		Py_BEGIN_ALLOW_THREADS code =
			mpkr_value_tuple(open->handle, args, leaves.count, &value, &err);
		Py_END_ALLOW_THREADS made = code ? mpk_py_raise(&err) : mpk_py_value(value);
	}
	free(args);
	mpk_py_leaves_fini(&leaves);
	mpk_py_open_drop(open);
	Py_XDECREF(list);
	return made;
}

static PyObject *none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

/* --- what it says ---------------------------------------------------------------------------------------- */

static PyObject *model_metadata(PyObject *self, PyObject *unused)
{
	struct mpk_py_open *open = hold(self);
	PyObject *made;
	struct mpkr_error err;
	const char *text;
	int code;

	(void)unused;
	if (!open)
		return NULL;
	Py_BEGIN_ALLOW_THREADS code = mpkr_metadata(open->handle, &text, &err);
	Py_END_ALLOW_THREADS if (code == MPKR_E_NOT_FOUND) made = none();
	else made = code ? mpk_py_raise(&err)
			 : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
	mpk_py_open_drop(open);
	return made;
}

static PyObject *model_requirements(PyObject *self, PyObject *unused)
{
	static const char *const kinds[] = { "device", "function", "state" };
	struct mpkr_requirement r = { .size = sizeof r };
	struct mpk_py_open *open = hold(self);
	PyObject *list = open ? PyList_New(0) : NULL, *row;
	struct mpkr_error err;
	int code = 0;

	(void)unused;
	for (size_t i = 0; list && !(code = mpkr_requirement_at(open->handle, i, &r, &err)); i++) {
		row = Py_BuildValue("{s:s,s:s,s:O}", "kind",
				    (unsigned)r.kind < 3 ? kinds[r.kind] : "other", "name", r.name,
				    "is_met", r.is_met ? Py_True : Py_False);
		if (!row || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	if (list && code != MPKR_E_NOT_FOUND) {
		Py_CLEAR(list);
		(void)mpk_py_raise(&err);
	}
	mpk_py_open_drop(open);
	return list;
}

/* --- profile ------------------------------------------------------------------------------ */

static PyObject *model_profile_start(PyObject *self, PyObject *unused)
{
	struct mpk_py_open *open = hold(self);

	(void)unused;
	if (!open)
		return NULL;
	mpkr_profile(open->handle, 1);
	mpk_py_open_drop(open);
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *make_row(const struct mpkr_profile_row *r)
{
	return Py_BuildValue("{s:s,s:s,s:(ii),s:K,s:d,s:d,s:d,s:d}", "name", r->name, "kind",
			     r->kind == MPKR_OPERATOR_KERNEL ? "kernel"
			     : r->kind == MPKR_OPERATOR_COPY ? "copy"
							     : "builtin",
			     "device", (int)r->device.device_type, (int)r->device.device_id,
			     "calls", r->calls, "seconds", (double)r->total_nanoseconds / 1e9,
			     "min_seconds", (double)r->min_nanoseconds / 1e9, "max_seconds",
			     (double)r->max_nanoseconds / 1e9, "share", r->share);
}

static PyObject *model_profile_stop(PyObject *self, PyObject *unused)
{
	struct mpkr_profile_row r = { .size = sizeof r };
	struct mpk_py_open *open = hold(self);
	PyObject *list = open ? PyList_New(0) : NULL, *row;
	struct mpkr_error err;

	(void)unused;
	if (open)
		mpkr_profile(open->handle, 0);
	for (size_t i = 0; list && mpkr_profile_at(open->handle, i, &r, &err) == MPKR_OK; i++) {
		row = make_row(&r);
		if (!row || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	mpk_py_open_drop(open);
	return list;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static PyObject *model_memory_now(PyObject *self, PyObject *args)
{
	struct mpk_py_open *open;
	struct mpkr_usage u = { .size = sizeof u };
	const char *device = "cpu";
	struct mpkr_error err;
	int code;

	if (!PyArg_ParseTuple(args, "|s:memory_now", &device))
		return NULL;
	open = hold(self);
	if (!open)
		return NULL;
	code = mpkr_memory_now(open->handle,
			       strcmp(device, "cpu") == 0 ? MPKR_DEVICE_CPU : MPKR_DEVICE_CUDA, &u,
			       &err);
	mpk_py_open_drop(open);
	if (code)
		return mpk_py_raise(&err);
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K}", "weight_bytes", u.weight_bytes,
			     "cache_bytes", u.cache_bytes, "scratch_bytes", u.scratch_bytes,
			     "kept_bytes", u.kept_bytes, "used_bytes", u.used_bytes, "most_bytes",
			     u.most_bytes);
}

static PyObject *model_memory_trim(PyObject *self, PyObject *unused)
{
	struct mpk_py_open *open = hold(self);

	(void)unused;
	if (!open)
		return NULL;
	Py_BEGIN_ALLOW_THREADS mpkr_memory_trim(open->handle);
	Py_END_ALLOW_THREADS mpk_py_open_drop(open);
	Py_INCREF(Py_None);
	return Py_None;
}

/* Reads names and extents from keyword arguments. @held receives an object that owns the names.
 * Returns their number, or -1. */
static Py_ssize_t take_named_extents(PyObject *keywords, struct mpkr_extent *out, PyObject **held)
{
	PyObject *key, *value;
	Py_ssize_t at = 0, count = 0;
	size_t length;

	while (keywords && PyDict_Next(keywords, &at, &key, &value)) {
		if (mpk_py_extent(value, &out[count].extent) < 0)
			return -1;
		held[count] = mpk_py_utf8(key, &out[count].name, &length);
		if (!held[count])
			return -1;
		count++;
	}
	return count;
}

static PyObject *model_memory_need(PyObject *self, PyObject *args, PyObject *keywords)
{
	struct mpk_py_open *open;
	struct mpkr_need need = { .size = sizeof need };
	Py_ssize_t room = keywords ? PyDict_Size(keywords) : 0, count;
	struct mpkr_extent *extents;
	PyObject **held, *made = NULL;
	const char *name = NULL;
	struct mpkr_error err;
	int code;

	if (!PyArg_ParseTuple(args, "|z:memory_need", &name))
		return NULL;
	open = hold(self);
	if (!open)
		return NULL;
	extents = calloc((size_t)room + 1, sizeof *extents);
	held = calloc((size_t)room + 1, sizeof *held);
	count = extents && held ? take_named_extents(keywords, extents, held) : -1;
	if (!extents || !held)
		PyErr_NoMemory();
	if (count >= 0) {
		Py_BEGIN_ALLOW_THREADS code =
			mpkr_memory_need(open->handle, name, extents, (size_t)count, &need, &err);
		Py_END_ALLOW_THREADS made =
			code ? mpk_py_raise(&err)
			     : Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:O}", "weight_bytes",
					     need.weight_bytes, "cache_bytes", need.cache_bytes,
					     "input_bytes", need.input_bytes, "scratch_bytes",
					     need.scratch_bytes, "result_bytes", need.result_bytes,
					     "need_bytes", need.need_bytes, "is_least",
					     need.is_least ? Py_True : Py_False);
	}
	for (Py_ssize_t i = 0; held && i < room; i++)
		Py_XDECREF(held[i]);
	free(held);
	free(extents);
	mpk_py_open_drop(open);
	return made;
}

/* --- watched ------------------------------------------------------------------------------------------------ */

static PyObject *make_event(const struct mpk_py_open *open, const struct mpkr_event *e)
{
	static const char *const kinds[] = { "kernel", "copy", "builtin" };
	PyObject *made = PyStructSequence_New(mpk_py.event);
	PyObject *items[] = {
		PyUnicode_FromString((unsigned)e->kind < 3 ? kinds[e->kind] : "other"),
		PyUnicode_DecodeUTF8(e->name, (Py_ssize_t)strlen(e->name), "replace"),
		PyUnicode_DecodeUTF8(e->function, (Py_ssize_t)strlen(e->function), "replace"),
		PyLong_FromSize_t(e->index),
		Py_BuildValue("(ii)", (int)e->device.device_type, (int)e->device.device_id),
		PyBool_FromLong(e->is_end),
		PyLong_FromLongLong(e->nanoseconds),
		open->watches_values ? mpk_py_kept_all(e->args, e->count) : none(),
		open->watches_values && e->result ? mpk_py_kept(e->result) : none(),
	};
	bool failed = !made;

	for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
		failed |= !items[i];
		if (made && items[i])
			PyStructSequence_SetItem(made, (Py_ssize_t)i, items[i]);
		else
			Py_XDECREF(items[i]);
	}
	if (failed)
		Py_CLEAR(made);
	return made;
}

/* Called from a thread that calls the model and does not hold the GIL. */
static int watched(void *context, const struct mpkr_event *e)
{
	struct mpk_py_open *open = context;
	PyObject *watcher, *event, *given = NULL;
	PyGILState_STATE state;
	int answer = MPKR_WATCH_GO_ON;

	if (!Py_IsInitialized())
		return 0;
	state = PyGILState_Ensure();
	watcher = open->watcher;
	Py_XINCREF(watcher);
	event = watcher ? make_event(open, e) : NULL;
	if (event)
		given = PyObject_CallFunctionObjArgs(watcher, event, NULL);
	if (watcher && !given) {
		mpk_py_keep_watched(e->name);
		answer = MPKR_WATCH_STOP;
	} else if (given && PyLong_Check(given)) {
		answer = PyLong_AsLong(given) == MPKR_WATCH_SKIP ? MPKR_WATCH_SKIP
								 : MPKR_WATCH_GO_ON;
		PyErr_Clear(); /* the number does not fit a long */
	}
	Py_XDECREF(given);
	Py_XDECREF(event);
	Py_XDECREF(watcher);
	PyGILState_Release(state);
	return answer;
}

static PyObject *model_watch(PyObject *self, PyObject *args, PyObject *keywords)
{
	static char *names[] = { "", "values", NULL };
	struct mpk_py_open *open;
	PyObject *watcher, *before;
	int values = 0;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$p:watch", names, &watcher, &values))
		return NULL;
	if (watcher != Py_None && !PyCallable_Check(watcher)) {
		PyErr_Format(PyExc_TypeError, "%R cannot be called", watcher);
		return NULL;
	}
	open = hold(self);
	if (!open)
		return NULL;
	before = open->watcher;
	open->watcher = watcher == Py_None ? NULL : watcher;
	Py_XINCREF(open->watcher);
	open->watches_values = values;
	mpkr_watch(open->handle, open->watcher ? watched : NULL, open);
	Py_XDECREF(before);
	mpk_py_open_drop(open);
	Py_INCREF(watcher);
	return watcher;
}

static int add_event_type(PyObject *module)
{
	static PyStructSequence_Field fields[] = {
		{ "kind", "\"kernel\", \"copy\" or \"builtin\"" },
		{ "name", "\"fused_matmul_add\"" },
		{ "function", "that it is in; \"\" of a graph" },
		{ "instruction", "its number there" },
		{ "device", "that it works on: DLPack's type and the number" },
		{ "is_end", "False: it begins. One that fails has no end" },
		{ "nanoseconds", "of a clock that nobody sets" },
		{ "args", "what it is called with, copies; None unless values=True" },
		{ "result", "at the end: what it returned" },
		{ NULL, NULL }
	};
	static PyStructSequence_Desc desc = {
		"mpk.Event", "An operator of a model that begins or ends: Model.watch.", fields, 9
	};

	mpk_py.event = PyStructSequence_NewType(&desc);
	if (!mpk_py.event)
		return -1;
	Py_INCREF(mpk_py.event);
	if (PyModule_AddObject(module, "Event", (PyObject *)mpk_py.event) == 0)
		return 0;
	Py_DECREF(mpk_py.event);
	return -1;
}

static PyObject *model_register(PyObject *self, PyObject *args)
{
	struct mpk_py_open *open;
	PyObject *name, *function;
	int failed = -1;

	if (!PyArg_ParseTuple(args, "OO:register", &name, &function))
		return NULL;
	open = hold(self);
	if (!open)
		return NULL;
	if (!open->registered)
		open->registered = PyDict_New();
	if (open->registered)
		failed = mpk_py_register(open->handle, open->registered, name, function);
	mpk_py_open_drop(open);
	if (failed)
		return NULL;
	Py_INCREF(function);
	return function;
}

int mpk_py_add_model(PyObject *module)
{
	static PyMethodDef methods[] = {
		{ "close", model_close, METH_NOARGS,
		  "close()\n\nGive the model back. Functions and results that are left stay good." },
		{ "bind_params", model_bind_params, METH_O,
		  "bind_params(path) -> int\n\nGive the model weights that its file has not: a .params file or tensor cache of TVM,\n"
		  "safetensors, GGUF without quantized tensors, or an .npz file of numpy.savez; by name, or param_0, param_1, ... in\n"
		  "their order. Before the first look-up. Returns how many weights functions of the model take; ValueError: none." },
		{ "tuple", model_tuple, METH_O,
		  "tuple(items) -> Value\n\nArrays, numbers, texts, shapes and values as one argument; arrays are copied once. It\n"
		  "is what a function takes that has all weights in one tuple: decode(hidden, cache, model.tuple(weights))." },
		{ "kernel", (PyCFunction)(void (*)(void))model_kernel, METH_VARARGS | METH_KEYWORDS,
		  "kernel(name, *, grid=1, block=1, shared=0) -> Function\n\n"
		  "Device code of the file by itself, without the host code that launches it. It is called with what its own\n"
		  "parameters take, and writes into the arrays that it is given. Nobody knows how much of them it touches: a\n"
		  "launch that reaches beyond damages memory of the device.\n\n"
		  ":param name: of the kernel, or \"/0#name\" for that of the module at a path of the file's tree\n"
		  ":param grid: blocks along x, or x, y, z; :param block: threads of a block; :param shared: bytes of dynamic\n"
		  "    shared memory" },
		{ "register", model_register, METH_VARARGS,
		  "register(name, function)\n\nLet this model call a function of Python by name, before those of mpk.register; None\n"
		  "takes it away." },
		{ "watch", (PyCFunction)(void (*)(void))model_watch, METH_VARARGS | METH_KEYWORDS,
		  "watch(function, *, values=False)\n\nLet a function see each operator of this model's calls as it begins and ends, an Event; None:\n"
		  "nobody does. While no call is under way. What it raises ends the call and is raised there: mpk.Stop, to stop it.\n"
		  "If it returns 2 where a kernel of byte code begins, that is not called. values: an Event has copies of what the\n"
		  "operator is called with. Of compiled functions of the Relax VM each is one operator." },
		{ "metadata", model_metadata, METH_NOARGS,
		  "metadata() -> str | None\n\nWhat the model says of itself: the JSON that MLC-LLM puts into each." },
		{ "requirements", model_requirements, METH_NOARGS,
		  "requirements() -> list of dict\n\nWhat the model needs: kind (device, function, state), name, is_met: there is a back end, or\n"
		  "a function that TVM's runtime has, or one that was registered. Nothing runs for it." },
		{ "profile_start", model_profile_start, METH_NOARGS,
		  "profile_start()\n\nMeasure operators of this model's calls from now on. While no call is under way." },
		{ "profile_stop", model_profile_stop, METH_NOARGS,
		  "profile_stop() -> list of dict\n\nWhat was measured, the operator that took most first: name, kind, device, calls, seconds,\n"
		  "min_seconds, max_seconds, and its share of all." },
		{ "memory_now", model_memory_now, METH_VARARGS,
		  "memory_now(device=\"cpu\") -> dict\n\nBytes that the model's tensors take in host memory, or on its device: copied weights,\n"
		  "caches, what calls and results have, what is kept for the next, all of it now (used_bytes) and at most so far." },
		{ "memory_need", (PyCFunction)(void (*)(void))model_memory_need,
		  METH_VARARGS | METH_KEYWORDS,
		  "memory_need(function=None, **extents) -> dict\n\nBytes that a call will take, as the code says, without making it: memory_need(\"prefill\",\n"
		  "n=2048). None: the function that takes most. Extents that are not named are 1. is_least: the code does not tell all." },
		{ "memory_trim", model_memory_trim, METH_NOARGS,
		  "memory_trim()\n\nGive back what is kept for later calls." },
		{ "__enter__", model_enter, METH_NOARGS, NULL },
		{ "__exit__", model_exit, METH_VARARGS, NULL },
		{ "__dir__", model_dir, METH_NOARGS, NULL },
		{ NULL, NULL, 0, NULL }
	};
	static PyGetSetDef attributes[] = {
		{ "path", get_path, NULL, "as it was opened", NULL },
		{ "functions", get_functions, NULL,
		  "the names of what can be called: functions of models first, then host functions",
		  NULL },
		{ NULL, NULL, NULL, NULL, NULL }
	};
	static PyType_Slot slots[] = {
		{ Py_tp_doc,
		  "A library that is open. Its functions are attributes and items: model.forward(x), model[\"forward\"]." },
		{ Py_tp_new, model_new },
		{ Py_tp_dealloc, model_dealloc },
		{ Py_tp_repr, model_repr },
		{ Py_tp_getattro, model_attribute },
		{ Py_mp_subscript, model_item },
		{ Py_tp_methods, methods },
		{ Py_tp_getset, attributes },
		{ 0, NULL }
	};
	static PyType_Spec spec = { "mpk.Model", sizeof(struct model), 0, Py_TPFLAGS_DEFAULT,
				    slots };

	mpk_py.model = mpk_py_add_type(module, &spec, NULL);
	return mpk_py.model ? add_event_type(module) : -1;
}
