/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - converts element types between DLPack's numbers and the names of Python and NumPy */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* Types that NumPy lacks, by their names in ml_dtypes. DLPack packs elements of less than a byte;
 * ml_dtypes does not. */
static const struct narrow {
	uint8_t code, bits;
	const char *name;
} narrow[] = {
	{ MPKR_DTYPE_BFLOAT, 16, "bfloat16" },
	{ 7, 8, "float8_e3m4" },
	{ 8, 8, "float8_e4m3" },
	{ 9, 8, "float8_e4m3b11fnuz" },
	{ 10, 8, "float8_e4m3fn" },
	{ 11, 8, "float8_e4m3fnuz" },
	{ 12, 8, "float8_e5m2" },
	{ 13, 8, "float8_e5m2fnuz" },
	{ 14, 8, "float8_e8m0fnu" },
	{ 15, 6, "float6_e2m3fn" },
	{ 16, 6, "float6_e3m2fn" },
	{ 17, 4, "float4_e2m1fn" },
};
enum { NARROW = sizeof narrow / sizeof *narrow };

static const struct narrow *find_narrow(struct mpkr_dtype d)
{
	for (size_t i = 0; i < NARROW; i++)
		if (narrow[i].code == d.code && narrow[i].bits == d.bits)
			return &narrow[i];
	return NULL;
}

PyObject *mpk_py_dtype_name(struct mpkr_dtype d)
{
	static const char *const plain[] = { "int", "uint", "float", NULL, "bfloat", "complex" };
	const struct narrow *found = find_narrow(d);
	char name[48];

	if (found)
		(void)snprintf(name, sizeof name, "%s", found->name);
	else if (d.code == MPKR_DTYPE_BOOL)
		(void)snprintf(name, sizeof name, "bool");
	else if (d.code < sizeof plain / sizeof *plain && plain[d.code])
		(void)snprintf(name, sizeof name, "%s%d", plain[d.code], d.bits);
	else
		(void)snprintf(name, sizeof name, "code%d_%d", d.code, d.bits);
	if (d.lanes == 1)
		return PyUnicode_FromString(name);
	return PyUnicode_FromFormat("%sx%d", name, d.lanes);
}

char mpk_py_dtype_letter(struct mpkr_dtype d)
{
	if (d.lanes != 1 || d.bits % 8)
		return 0;
	switch (d.code) {
	case MPKR_DTYPE_INT:
		return 'i';
	case MPKR_DTYPE_UINT:
		return 'u';
	case MPKR_DTYPE_FLOAT:
		return 'f';
	case 5:
		return 'c';
	case MPKR_DTYPE_BOOL:
		return 'b';
	default:
		return 0;
	}
}

static bool set(struct mpkr_dtype *out, uint8_t code, Py_ssize_t itemsize)
{
	if (itemsize < 1 || itemsize > 31)
		return false;
	*out = (struct mpkr_dtype){ code, (uint8_t)(itemsize * 8), 1 };
	return true;
}

/* 'g' is long double: 128 bits, of which the machine uses 80. No model has such a type. */
bool mpk_py_dtype_of_format(const char *format, Py_ssize_t itemsize, struct mpkr_dtype *out)
{
	const char *f = format ? format : "B";
	const uint16_t one = 1;
	const bool is_little = *(const uint8_t *)&one == 1;

	if (*f == '@' || *f == '=' || *f == '|' || *f == (is_little ? '<' : '>'))
		f++;
	if (*f == 'Z' && (f[1] == 'f' || f[1] == 'd') && !f[2])
		return set(out, 5, itemsize);
	if (!*f || f[1])
		return false;
	if (*f == '?')
		return set(out, MPKR_DTYPE_BOOL, itemsize);
	if (strchr("bhilqn", *f))
		return set(out, MPKR_DTYPE_INT, itemsize);
	if (strchr("BHILQN", *f))
		return set(out, MPKR_DTYPE_UINT, itemsize);
	if (strchr("efd", *f))
		return set(out, MPKR_DTYPE_FLOAT, itemsize);
	return false;
}

bool mpk_py_dtype_of_typestr(const char *s, struct mpkr_dtype *out)
{
	static const struct {
		char letter;
		uint8_t code;
		uint8_t sizes[4];
	} kinds[] = { { 'i', MPKR_DTYPE_INT, { 1, 2, 4, 8 } },
		      { 'u', MPKR_DTYPE_UINT, { 1, 2, 4, 8 } },
		      { 'f', MPKR_DTYPE_FLOAT, { 2, 4, 8 } },
		      { 'b', MPKR_DTYPE_BOOL, { 1 } },
		      { 'c', 5, { 8, 16 } } };
	const uint16_t one = 1;
	const bool is_little = *(const uint8_t *)&one == 1;
	char *end;
	unsigned long size;

	if (!strchr("<>|=", s[0]) || !s[0] || !s[1] || s[2] < '1' || s[2] > '9')
		return false;
	size = strtoul(s + 2, &end, 10);
	if (*end || (size > 1 && s[0] == (is_little ? '>' : '<')))
		return false;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; kinds[k].letter == s[1] && i < sizeof kinds[k].sizes; i++)
			if (kinds[k].sizes[i] && kinds[k].sizes[i] == size)
				return set(out, kinds[k].code, (Py_ssize_t)size);
	return false;
}

bool mpk_py_dtype_of_name(const char *name, struct mpkr_dtype *out)
{
	for (size_t i = 0; i < NARROW; i++)
		if (narrow[i].bits % 8 == 0 && strcmp(narrow[i].name, name) == 0)
			return set(out, narrow[i].code, narrow[i].bits / 8);
	return false;
}

/* --- modules of others ---------------------------------------------------------------------------- */

/* Attributes that were found and their modules are kept forever, because arrays of these types may
 * exist anywhere. */
static PyObject *attribute_of(const char *module, const char *name)
{
	PyObject *text = PyUnicode_FromString(module), *found = NULL, *attribute = NULL;

	if (text)
		found = PyImport_GetModule(text);
	if (found)
		attribute = PyObject_GetAttrString(found, name);
	Py_XDECREF(found);
	Py_XDECREF(text);
	if (!attribute)
		PyErr_Clear();
	return attribute;
}

/* Names are literals, so the cache compares addresses. A name at a different address is merely
 * looked up again. */
static PyObject *remembered(const char *module, const char *name)
{
	static struct {
		const char *module, *name;
		PyObject *object;
	} known[16];
	size_t i = 0;

	for (; i < 16 && known[i].name; i++)
		if (strcmp(known[i].name, name) == 0 && strcmp(known[i].module, module) == 0)
			return known[i].object;
	PyObject *object = attribute_of(module, name);

	if (object && i < 16) {
		known[i].object = object;
		known[i].module = module;
		known[i].name = name;
	}
	return object;
}

PyObject *mpk_py_numpy(const char *name)
{
	return remembered("numpy", name);
}

PyObject *mpk_py_torch(const char *name)
{
	return remembered("torch", name);
}

static PyObject *make_dtype(struct mpkr_dtype d)
{
	const struct narrow *found = find_narrow(d);
	PyObject *dtype = mpk_py_numpy("dtype"), *from = NULL, *made = NULL;

	if (!dtype)
		return NULL;
	if (found) {
		PyObject *module = PyImport_ImportModule("ml_dtypes");

		if (module)
			from = PyObject_GetAttrString(module, found->name);
		Py_XDECREF(module);
	} else if (mpk_py_dtype_letter(d)) {
		from = mpk_py_dtype_name(d);
	}
	if (from)
		made = PyObject_CallFunctionObjArgs(dtype, from, NULL);
	Py_XDECREF(from);
	return made;
}

PyObject *mpk_py_numpy_dtype(struct mpkr_dtype d)
{
	static PyObject *known[18][17]; /* indexed by type code and size in bytes */
	PyObject **slot;

	if (d.lanes != 1 || d.bits % 8 || !d.bits || d.code >= 18 || d.bits / 8 >= 17)
		return NULL;
	slot = &known[d.code][d.bits / 8];
	if (!*slot) {
		*slot = make_dtype(d);
		PyErr_Clear();
	}
	return *slot;
}
