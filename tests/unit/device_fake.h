/* SPDX-License-Identifier: Apache-2.0 */
/* device_fake.h - the back ends for GPUs on the driver libraries of the tests */
#ifndef MPK_TESTS_UNIT_DEVICE_FAKE_H
#define MPK_TESTS_UNIT_DEVICE_FAKE_H

#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "device/internal/gpu.h"
#include "device_kernels.h"
#include "fake_cuda.h"
#include "robust.h"

#define PTX(target, entries) "//\n.version 7.0\n.target sm_" target "\n.address_size 64\n" entries

#define ENTRY(name) ".visible .entry " name "()\n{\nret;\n}\n"

static const char ptx[] __attribute__((unused)) =
	PTX("50", ENTRY("vadd_kernel") ENTRY("saxpy_kernel") ENTRY("rev_kernel")
			  ENTRY("spin_kernel") ".visible .func helper()\n{\nret;\n}\n");

static char fakes[4000];
static const struct fake_cuda_probe *fake;
static struct mpk_device *device;
static struct mpk_arena arena;

/* The first library of that soname stands for all: the back end's dlopen finds this one. */
static inline const struct fake_cuda_probe *open_fake(const char *name)
{
	char path[4100];
	struct fake_cuda_probe *probe;

	(void)snprintf(path, sizeof path, "%s/%s", fakes, name);
	void *handle = dlopen(path, RTLD_NOW);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	probe = dlsym(handle, "fake_cuda_probe");
	ck_assert_ptr_nonnull(probe);
	return probe;
}

static inline void open_device_of(enum mpk_device_kind kind)
{
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_open(kind, 0, NULL, &device, &err), err);
}

static inline void open_device(void)
{
	open_device_of(MPK_DEVICE_CUDA);
}

static inline void setup(void)
{
	fake = open_fake("libcuda.so.1");
}

/* After every test: nothing was misused and nothing is left. */
static inline void teardown(void)
{
	const char *first;

	mpk_device_close(device);
	ck_assert_msg(fake->misuses(&first) == 0, "%s", first);
	ck_assert_uint_eq(fake->live(), 0);
	mpk_arena_fini(&arena);
}

static inline struct table *table_of(const char *fmt, struct mpk_span data)
{
	static struct table pool[4];
	static size_t used;

	ck_assert_uint_lt(used, MPK_ARRAY_COUNT(pool)); /* each test runs in its own process */
	struct table *t = &pool[used++];

	t->kernels.fmt = mpk_span_str(fmt);
	t->kernels.data = data;
	return t;
}

/* A text without its NUL: whoever hands it to the driver must add one. */
static inline struct mpk_span exact_copy(const char *text)
{
	static char exact[4][4096];
	static size_t used;
	char *copy = exact[used++];

	memset(copy, 'X', sizeof exact[0]);
	memcpy(copy, text, strlen(text));
	return mpk_span_of(copy, strlen(text));
}

static inline struct table *ptx_table(const char *text)
{
	return table_of("ptx", exact_copy(text));
}

static inline struct mpk_span code_of(const char *name)
{
	char path[200];

	(void)snprintf(path, sizeof path, "tests/data/launch/%s", name);
	return robust_load(&arena, path);
}

static inline struct table *code_table(const char *name)
{
	return table_of(strstr(name, ".ptx") ? "ptx" : "hsaco", code_of(name));
}

static inline struct mpk_device_module *load(struct table *t)
{
	return load_on(device, t);
}

/* <dir>/tests/unit/check_device_cuda -> <dir>/tests/fakes */
static inline bool find_fakes(void)
{
	char self[3900];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	if (len <= 0)
		return false;
	self[len] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(self, '/');

		if (slash)
			*slash = '\0';
	}
	(void)snprintf(fakes, sizeof fakes, "%s/fakes", self);
	return true;
}

#endif
