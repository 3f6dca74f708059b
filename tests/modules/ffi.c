/* SPDX-License-Identifier: Apache-2.0 */
/* A module of the tvm-ffi calling convention; see README.md. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

typedef struct {
	int32_t type_index;
	uint32_t small_len;
	union {
		int64_t i;
		double f;
		void *p;
		const char *s;
		char bytes[8];
		DLDataType dtype;
		DLDevice device;
	} v;
} Any;

#ifdef V021
typedef struct {
	int32_t type_index, refs;
	void (*deleter)(void *self);
} Object;
enum { TENSOR = 72, SHAPE = 71 };
#define EXPORT(name) name
#define CTX __tvm_ffi_library_ctx
#else
typedef struct {
	uint64_t refs;
	int32_t type_index;
	uint32_t pad;
	void (*deleter)(void *self, int flags);
} Object;
enum { TENSOR = 70, SHAPE = 69 };
#define EXPORT(name) __tvm_ffi_##name
#define CTX __tvm_ffi__library_ctx
#endif
enum { STR = 65, BYTES = 66, FUNCTION = 68 };

typedef struct {
	Object head;
	const char *data;
	size_t size;
	char text[64];
} Text;
typedef struct {
	Object head;
	DLTensor dl;
	int64_t shape[2];
	float content[4];
} Tensor;
typedef struct {
	Object head;
	int (*call)(void *, const Any *, int32_t, Any *);
} Function;
typedef struct {
	void *sync;
	int32_t num_task;
} Env;

void *CTX;
int (*__TVMFFIFunctionCall)(void *, const Any *, int32_t, Any *);
void (*__TVMFFIErrorSetRaisedFromCStr)(const char *, const char *);
int (*__TVMFFIEnvModLookupFromImports)(void *, const char *, void **);
int (*__TVMBackendGetFuncFromEnv)(void *, const char *, void **);
int (*__TVMFFIHandleInitOnce)(void **, int (*)(void **));
void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
int (*__TVMBackendFreeWorkspace)(int, int, void *);
int (*__TVMBackendParallelLaunch)(int (*)(int, Env *, void *), void *, int);
int (*__TVMBackendParallelBarrier)(int, Env *);
void TVMFFIErrorSetRaisedFromCStrParts(const char *, const char **, int32_t);
int TVMBackendRunOnce(void **, int (*)(void *), void *, int);

#define FN(name) int EXPORT(name)(void *self, const Any *args, int32_t n, Any *out)
#define NEED(count)                                                                                \
	(void)self;                                                                                \
	(void)args;                                                                                \
	(void)out;                                                                                 \
	if (n != (count))                                                                          \
	return fail("TypeError", #count " arguments wanted")

static int fail(const char *kind, const char *text)
{
	__TVMFFIErrorSetRaisedFromCStr(kind, text);
	return -1;
}

/* an object, or a bare pointer, which compiled code takes, too */
static DLTensor *tensor_of(const Any *a)
{
	if (a->type_index == 7)
		return a->v.p;
	return a->type_index == TENSOR ? (DLTensor *)((Object *)a->v.p + 1) : NULL;
}

static void hold(Object *o)
{
	o->refs++;
}

/* B = A + 1 over any number of elements */
FN(add_one)
{
	NEED(2);
	DLTensor *a = tensor_of(&args[0]), *b = tensor_of(&args[1]);
	int64_t count = 1;
	bool is_object = args[0].type_index == TENSOR;

	if (!a || !b || a->dtype.code != 2 || a->dtype.bits != 32 || a->ndim != b->ndim)
		return fail("TypeError", "two float32 tensors wanted");
	if ((uintptr_t)a->data % 64 || (uintptr_t)b->data % 64 || a->byte_offset)
		return fail("ValueError", "data is not aligned");
	for (int i = a->ndim - 1; i >= 0; i--) {
		if (a->strides ? a->strides[i] != count : is_object)
			return fail("ValueError", "strides are wrong");
		if (b->shape[i] != a->shape[i])
			return fail("ValueError", "shapes differ");
		count *= a->shape[i];
	}
	for (int64_t i = 0; i < count; i++)
		((float *)b->data)[i] = ((float *)a->data)[i] + 1;
	return 0;
}

FN(echo)
{
	NEED(1);
	*out = args[0];
	if (out->type_index >= 64)
		hold(out->v.p);
	return 0;
}

FN(type_of)
{
	NEED(1);
	*out = (Any){ .type_index = 1, .v.i = args[0].type_index };
	return 0;
}

/* the strong references the caller's argument has */
FN(references)
{
	NEED(1);
	*out = (Any){ .type_index = 1,
		      .v.i = (int64_t)(((Object *)args[0].v.p)->refs & 0xffffffff) };
	return 0;
}

FN(nothing)
{
	NEED(0);
	return 0;
}

#ifdef V021
static void delete_object(void *self)
{
	fprintf(stderr, "object %d freed\n", ((Object *)self)->type_index);
	free(self);
}
#define OBJECT(index) { (index), 1, delete_object }
#else
static void delete_object(void *self, int flags)
{
	fprintf(stderr, "object %d freed, flags %d\n", ((Object *)self)->type_index, flags);
	free(self);
}
#define OBJECT(index) { 1 | UINT64_C(1) << 32, (index), 0, delete_object }
#endif

FN(make_str)
{
	NEED(0);
	Text *t = malloc(sizeof *t);

	*t = (Text){ .head = OBJECT(STR), .size = 26, .text = "a text made by the module\n" };
	t->data = t->text;
	*out = (Any){ .type_index = STR, .v.p = t };
	return 0;
}

/* rows are two elements apart from each other: not compact */
FN(make_tensor)
{
	NEED(0);
	static int64_t strides[2] = { 1, 2 };
	Tensor *t = malloc(sizeof *t);

	*t = (Tensor){ .head = OBJECT(TENSOR), .shape = { 2, 2 }, .content = { 1, 2, 3, 4 } };
	t->dl = (DLTensor){ t->content, { 1, 0 }, 2, { 2, 32, 1 }, t->shape, strides, 0 };
	*out = (Any){ .type_index = TENSOR, .v.p = t };
	return 0;
}

static int answer(void *self, const Any *args, int32_t n, Any *out)
{
	(void)self, (void)args, (void)n;
	*out = (Any){ .type_index = 1, .v.i = 42 };
	return 0;
}

FN(make_function)
{
	NEED(0);
	struct {
		Function f;
		void *cpp;
	} *f = calloc(1, sizeof *f);

	f->f = (Function){ OBJECT(FUNCTION), answer };
	*out = (Any){ .type_index = FUNCTION, .v.p = f };
	return 0;
}

FN(raise_value_error)
{
	NEED(0);
	return fail("ValueError", "this\n    is \033[31mwrong");
}

FN(raise_parts)
{
	NEED(0);
	const char *parts[] = { "one, ", NULL, "two" };

	TVMFFIErrorSetRaisedFromCStrParts("IndexError", parts, 3);
	return -1;
}

FN(raise_nothing)
{
	NEED(0);
	return -1;
}

FN(crash)
{
	NEED(0);
	*(volatile int *)(uintptr_t)(n + 8) = 1;
	return 0;
}

FN(abort_it)
{
	NEED(0);
	abort();
}

FN(leave)
{
	NEED(0);
	exit(3);
}

/* with a child that must not live on either; its number goes to the file pid */
FN(hang)
{
	NEED(0);
	pid_t child = fork();

	if (child > 0) {
		FILE *f = fopen("pid", "w");

		fprintf(f, "%d\n", (int)child);
		fclose(f);
	}
	for (;;)
		pause();
}

/* the same, but the child leaves its process group, session and parent */
FN(hang_away)
{
	NEED(0);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			FILE *f = fopen("pid", "w");

			fprintf(f, "%d\n", (int)getpid());
			fclose(f);
		} else {
			_exit(0);
		}
	}
	for (;;)
		pause();
}

FN(close_all)
{
	NEED(0);
	for (int fd = 0; fd < 64; fd++)
		close(fd);
	return 0;
}

FN(chatter)
{
	NEED(0);
	printf("printed by the module, %d characters read\n", getchar() == EOF ? 0 : 1);
	return 0;
}

static int32_t slots[64];

static int task(int id, Env *env, void *data)
{
	slots[id] = id + 1;
	if (__TVMBackendParallelBarrier(id, env))
		return -1;
	/* everybody's slot is set now: each task writes its neighbour's into the result */
	((int32_t *)data)[id] = slots[(id + 1) % env->num_task];
	return __TVMBackendParallelBarrier(id, env);
}

FN(parallel)
{
	NEED(2);
	DLTensor *t = tensor_of(&args[1]);

	if (__TVMBackendParallelLaunch(task, t->data, (int)args[0].v.i))
		return -1;
	return 0;
}

static int count_task(int id, Env *env, void *data)
{
	(void)id;
	__atomic_store_n((int64_t *)data, env->num_task, __ATOMIC_RELAXED);
	return 0;
}

FN(task_count)
{
	NEED(0);
	*out = (Any){ .type_index = 1 };
	return __TVMBackendParallelLaunch(count_task, &out->v.i, 0);
}

/* one task raises, the others wait at a barrier for it */
static int failing_task(int id, Env *env, void *data)
{
	(void)data;
	if (id == 1)
		return fail("RuntimeError", "task 1 gave up");
	return __TVMBackendParallelBarrier(id, env);
}

FN(parallel_failure)
{
	NEED(0);
	return __TVMBackendParallelLaunch(failing_task, NULL, 4);
}

/* a thread has as much stack as the code of a model may take of its caller's */
static int deep_task(int id, Env *env, void *data)
{
	volatile char room[4 << 20];

	(void)env;
	for (size_t i = 0; i < sizeof room; i += 4096)
		room[i] = (char)(id + 1);
	__atomic_fetch_add((int64_t *)data, room[sizeof room - 4096], __ATOMIC_RELAXED);
	return 0;
}

FN(parallel_deep)
{
	NEED(0);
	*out = (Any){ .type_index = 1 };
	return __TVMBackendParallelLaunch(deep_task, &out->v.i, 4);
}

FN(workspace)
{
	NEED(0);
	void *a = __TVMBackendAllocWorkspace(1, 0, 1000, 2, 32);
	void *b = __TVMBackendAllocWorkspace(1, 0, 1 << 20, 2, 32);

	if (!a || !b || (uintptr_t)a % 64 || (uintptr_t)b % 64)
		return fail("MemoryError", "no aligned workspace");
	memset(a, 1, 1000);
	memset(b, 2, 1 << 20);
	__TVMBackendFreeWorkspace(1, 0, b);
	__TVMBackendFreeWorkspace(1, 0, a);
	/* what was freed is what the next one gets */
	void *again = __TVMBackendAllocWorkspace(1, 0, 1000, 2, 32);
	*out = (Any){ .type_index = 2, .v.i = again == a };
	__TVMBackendFreeWorkspace(1, 0, again);
	return 0;
}

FN(device_workspace)
{
	NEED(0);
	return __TVMBackendAllocWorkspace(2, 0, 16, 2, 32) ? 0 : -1;
}

static int lookup(const char *name, void **f)
{
#ifdef V021
	return __TVMBackendGetFuncFromEnv(CTX, name, f);
#else
	return __TVMFFIEnvModLookupFromImports(CTX, name, f);
#endif
}

/* what generated code does before it launches a kernel */
FN(set_device)
{
	NEED(1);
	Any device[2] = { args[0], { .type_index = 1 } };
	void *f;

	return lookup("__tvm_set_device", &f) || __TVMFFIFunctionCall(f, device, 2, out) ? -1 : 0;
}

FN(find_nobody)
{
	NEED(0);
	void *f;

	return lookup("nobody_has_this", &f);
}

static int init(void **result)
{
	static int times;

	times++;
	*result = &times;
	return 0;
}

FN(init_once)
{
	NEED(0);
	static void *slot;

	for (int i = 0; i < 3; i++)
		if (__TVMFFIHandleInitOnce(&slot, init))
			return -1;
	*out = (Any){ .type_index = 1, .v.i = *(int *)slot };
	return 0;
}

static int bump(void *data)
{
	++*(int *)data;
	return 0;
}

FN(run_once)
{
	NEED(0);
	static void *slot;
	static int times;

	for (int i = 0; i < 3; i++)
		TVMBackendRunOnce(&slot, bump, &times, 0);
	*out = (Any){ .type_index = 1, .v.i = times };
	return 0;
}

/* What runs once launches tasks that run things once: one of their own each, and the same again. */
struct nest {
	void *outer, *inner[4];
	int times;
};

static int nested_task(int task, Env *env, void *data)
{
	struct nest *nest = data;

	(void)env;
	if (TVMBackendRunOnce(&nest->inner[task % 4], bump, &(int){ 0 }, 0))
		return -1;
	return TVMBackendRunOnce(&nest->outer, bump, &nest->times, 0);
}

static int nested(void *data)
{
	struct nest *nest = data;

	nest->times++;
	return __TVMBackendParallelLaunch(nested_task, nest, 4);
}

FN(run_once_nested)
{
	NEED(0);
	static struct nest nest;

	for (int i = 0; i < 3; i++)
		if (TVMBackendRunOnce(&nest.outer, nested, &nest, 0))
			return -1;
	*out = (Any){ .type_index = 1, .v.i = nest.times };
	return 0;
}

#ifndef V021
int EXPORT(main)(void *self, const Any *args, int32_t n, Any *out)
{
	return EXPORT(add_one)(self, args, n, out);
}
#endif
