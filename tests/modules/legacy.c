/* SPDX-License-Identifier: Apache-2.0 */
/* A module of the calling convention of TVM 0.20 and older; see README.md. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	uint8_t code, bits;
	uint16_t lanes;
} DLDataType;
typedef struct {
	int32_t device_type, device_id;
} DLDevice;
typedef struct {
	void *data;
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape, *strides;
	uint64_t byte_offset;
} DLTensor;
typedef union {
	int64_t i;
	double f;
	void *p;
	const char *s;
	DLDataType dtype;
	DLDevice device;
} Value;
typedef struct {
	const char *data;
	size_t size;
} ByteArray;
typedef struct {
	void *sync;
	int32_t num_task;
} Env;

void *__tvm_module_ctx;
/* the entry: the name of a function */
__attribute__((weak)) char __tvm_main__[] = "add_one";
int (*__TVMFuncCall)(void *, Value *, int *, int, Value *, int *);
void (*__TVMAPISetLastError)(const char *);
int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);
void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
int (*__TVMBackendFreeWorkspace)(int, int, void *);
int (*__TVMBackendParallelLaunch)(int (*)(int, Env *, void *), void *, int);
int (*__TVMBackendParallelBarrier)(int, Env *);

#define FN(name) int name(Value *args, int *codes, int n, Value *out, int *out_code, void *res)
#define NEED(count)                                                                                \
	(void)args;                                                                                \
	(void)codes;                                                                               \
	(void)out;                                                                                 \
	if (n != (count) || res || *out_code != 4)                                                 \
	return fail(#count " arguments wanted")

static int fail(const char *text)
{
	__TVMAPISetLastError(text);
	return -1;
}

FN(add_one)
{
	NEED(2);
	DLTensor *a = args[0].p, *b = args[1].p;
	int64_t count = 1;

	if (codes[0] != 7 || codes[1] != 7 || a->dtype.code != 2 || a->dtype.bits != 32)
		return fail("Assert fail: A.dtype is expected to be float32");
	if (a->strides || (uintptr_t)a->data % 64)
		return fail("Assert fail: A is expected to be compact and aligned");
	for (int i = 0; i < a->ndim; i++)
		count *= a->shape[i];
	for (int64_t i = 0; i < count; i++)
		((float *)b->data)[i] = ((float *)a->data)[i] + 1;
	return 0;
}

/* the argument and its code come back; what is behind a pointer need not live on */
FN(echo)
{
	NEED(1);
	*out = args[0];
	*out_code = codes[0];
	return 0;
}

FN(type_of)
{
	NEED(1);
	out->i = codes[0];
	*out_code = 0;
	return 0;
}

FN(nothing)
{
	NEED(0);
	return 0;
}

FN(make_bool)
{
	NEED(0);
	out->i = 1;
	*out_code = 15;
	return 0;
}

FN(make_object)
{
	NEED(0);
	out->p = out;
	*out_code = 8;
	return 0;
}

FN(raise_plain)
{
	NEED(0);
	return fail("Assert fail: something, as compiled code says it");
}

FN(raise_kind)
{
	NEED(0);
	return fail("ValueError: something, as runtimes say it");
}

FN(crash)
{
	NEED(0);
	*(volatile int *)(uintptr_t)(n + 8) = 1;
	return 0;
}

static int32_t slots[64];

static int task(int id, Env *env, void *data)
{
	slots[id] = id + 1;
	if (__TVMBackendParallelBarrier(id, env))
		return -1;
	((int32_t *)data)[id] = slots[(id + 1) % env->num_task];
	return 0;
}

FN(parallel)
{
	NEED(2);
	return __TVMBackendParallelLaunch(task, ((DLTensor *)args[1].p)->data, (int)args[0].i);
}

FN(workspace)
{
	NEED(0);
	char *a = __TVMBackendAllocWorkspace(1, 0, 3000, 2, 32);

	if (!a || (uintptr_t)a % 128)
		return fail("no aligned workspace");
	memset(a, 1, 3000);
	return __TVMBackendFreeWorkspace(1, 0, a);
}

FN(set_device)
{
	NEED(1);
	Value device[2] = { args[0], { .i = 0 } };
	int device_codes[2] = { 0, 0 };
	void *f;

	if (__TVMBackendGetFuncFromEnv(__tvm_module_ctx, "__tvm_set_device", &f))
		return -1;
	return __TVMFuncCall(f, device, device_codes, 2, out, out_code);
}

FN(find_nobody)
{
	NEED(0);
	void *f;

	return __TVMBackendGetFuncFromEnv(__tvm_module_ctx, "nobody_has_this", &f);
}
