/* SPDX-License-Identifier: Apache-2.0 */
/* launch_runtime.h - what generated host code finds at run time, and a call of it
 *
 * The runtime writes down every call that the code makes of it and fails when told to; the call
 * is one of `saxpy` with valid arguments, which a test then spoils.
 */
#ifndef MPK_TESTS_UNIT_LAUNCH_RUNTIME_H
#define MPK_TESTS_UNIT_LAUNCH_RUNTIME_H

#include <check.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "dtype/dtype.h"

/* --- a runtime that records ---------------------------------------------------------------- */

struct any {
	int32_t type;
	uint32_t pad;
	union {
		int64_t i;
		double f;
		void *p;
	} v;
};

struct dl_tensor {
	void *data;
	int32_t device_type, device_id, ndim;
	struct mpk_dtype dtype;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};

static struct {
	char log[2048], error[1024];
	int lookups, allocated;
	bool lookup_fails, call_fails, no_memory;
} rt;

static void note(const char *fmt, ...) MPK_PRINTF(1, 2);

static void note(const char *fmt, ...)
{
	size_t n = strlen(rt.log);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(rt.log + n, sizeof rt.log - n, fmt, ap);
	va_end(ap);
}

static int rt_lookup(void *ctx, const char *name, void **out)
{
	ck_assert_str_eq((const char *)ctx, "CTX");
	rt.lookups++;
	if (rt.lookup_fails)
		return -1;
	*out = (void *)(uintptr_t)name; /* the generated code's constant: as good a handle as any */
	return 0;
}

static void note_cell(int type, const void *v)
{
	double f;
	int64_t i;

	memcpy(&f, v, 8);
	memcpy(&i, v, 8);
	if (type == 'f')
		note(" %g", f);
	else if (type == 'p')
		note(" %s", (const char *)(uintptr_t)i);
	else if (type == 'n')
		note(" null");
	else
		note(" %" PRId64, i);
}

static int rt_call(void *f, const struct any *args, int32_t n, struct any *ret)
{
	note("%s(", (const char *)f);
	for (int i = 0; i < n; i++) {
		ck_assert_uint_eq(args[i].pad, 0);
		note_cell(args[i].type == 3   ? 'f'
			  : args[i].type == 4 ? 'p'
			  : args[i].type == 0 ? 'n'
					      : 'i',
			  &args[i].v);
	}
	note(" ) ");
	ret->type = 0;
	return rt.call_fails && strcmp(f, "__tvm_set_device") != 0 ? -1 : 0;
}

static int rt_call_legacy(void *f, const int64_t *args, const int *codes, int n, void *ret,
			  int *code)
{
	(void)ret;
	note("%s(", (const char *)f);
	for (int i = 0; i < n; i++)
		note_cell(codes[i] == 2   ? 'f'
			  : codes[i] == 3 ? 'p'
			  : codes[i] == 4 ? 'n'
					  : 'i',
			  &args[i]);
	note(" ) ");
	*code = 4;
	return rt.call_fails && strcmp(f, "__tvm_set_device") != 0 ? -1 : 0;
}

static void rt_raise(const char *kind, const char *text)
{
	(void)snprintf(rt.error, sizeof rt.error, "%s: %s", kind, text);
}

static void rt_raise_legacy(const char *text)
{
	(void)snprintf(rt.error, sizeof rt.error, "%s", text);
}

static void *rt_alloc(int type, int id, uint64_t bytes, int code, int bits)
{
	note("alloc(%d %d %" PRIu64 " %d %d) ", type, id, bytes, code, bits);
	if (rt.no_memory)
		return NULL;
	rt.allocated++;
	return strdup("TEMP");
}

static int rt_free(int type, int id, void *p)
{
	note("free(%d %d) ", type, id);
	rt.allocated--;
	free(p);
	return 0;
}

static void set(void *so, const char *name, const void *value)
{
	const void **slot = dlsym(so, name);

	if (slot)
		*slot = value;
}

static void connect(void *so, bool legacy)
{
	set(so, "__tvm_ffi__library_ctx", "CTX");
	set(so, "__tvm_ffi_library_ctx", "CTX");
	set(so, "__tvm_module_ctx", "CTX");
	set(so, "__TVMFFIEnvModLookupFromImports", (void *)(uintptr_t)rt_lookup);
	set(so, "__TVMFFIFunctionCall", (void *)(uintptr_t)rt_call);
	set(so, "__TVMFuncCall", (void *)(uintptr_t)rt_call_legacy);
	if (legacy)
		set(so, "__TVMBackendGetFuncFromEnv", (void *)(uintptr_t)rt_lookup);
	set(so, "__TVMFFIErrorSetRaisedFromCStr", (void *)(uintptr_t)rt_raise);
	set(so, "__TVMAPISetLastError", (void *)(uintptr_t)rt_raise_legacy);
	set(so, "__TVMBackendAllocWorkspace", (void *)(uintptr_t)rt_alloc);
	set(so, "__TVMBackendFreeWorkspace", (void *)(uintptr_t)rt_free);
}

/* --- the calls ------------------------------------------------------------------------------- */

enum { N = 5, ALPHA = 0, X, Y, Z, K };

struct call {
	struct any a[N + 1];
	int count;
	struct dl_tensor t[3]; /* X, Y, Z */
	int64_t shape[3][2], strides[3][2];
	char data[3][8];
};

static void set_up(struct call *c)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < 3; i++) {
		c->data[i][0] = "XYZ"[i];
		c->shape[i][0] = i == 2 ? 301 : 300;
		c->shape[i][1] = 4;
		c->t[i] = (struct dl_tensor){ .data = c->data[i],
					      .device_type = 2,
					      .device_id = 1,
					      .ndim = i == 2 ? 1 : 2,
					      .dtype = { 2, 32, 1 },
					      .shape = c->shape[i] };
		c->a[X + i] = (struct any){ .type = 7, .v = { .p = &c->t[i] } };
	}
	c->a[ALPHA] = (struct any){ .type = 3, .v = { .f = 1.5 } };
	c->a[K] = (struct any){ .type = 1, .v = { .i = 200 } };
	c->count = N;
}

static int run(void *so, bool legacy, const struct call *c)
{
	int64_t values[N + 1] = { 0 }, ret;
	int codes[N + 1] = { 0 }, ret_code = 4;
	static const int legacy_code[] = {
		[0] = 4, [1] = 0, [2] = 15, [3] = 2, [4] = 3, [7] = 7, [8] = 11
	};
	struct any result = { 0 };
	void *f = dlsym(so, "__tvm_ffi_saxpy");

	if (!f) /* up to TVM 0.21 functions go by their plain name */
		f = dlsym(so, "saxpy");

	memset(&rt.log, 0, sizeof rt.log);
	memset(&rt.error, 0, sizeof rt.error);
	ck_assert_ptr_nonnull(f);
	if (!legacy)
		return ((int (*)(void *, const struct any *, int32_t, struct any *))(uintptr_t)f)(
			NULL, c->a, c->count, &result);
	for (int i = 0; i <= N; i++) {
		memcpy(&values[i], &c->a[i].v, 8);
		codes[i] = legacy_code[c->a[i].type];
	}
	return ((int (*)(int64_t *, int *, int, int64_t *, int *, void *))(uintptr_t)f)(
		values, codes, c->count, &ret, &ret_code, NULL);
}

#endif
