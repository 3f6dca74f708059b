/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda_state.h - what the files of the fake share */
#ifndef TESTS_FAKES_FAKE_CUDA_STATE_H
#define TESTS_FAKES_FAKE_CUDA_STATE_H

#include <stdbool.h>
#include <stdio.h>

#include "device/internal/hip_abi.h"
#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

/* Every function gets the type of the table and the symbol that the driver exports. With FAKE_HIP the same functions
 * are libamdhip64, under the names that HIP has for them. */
#ifdef FAKE_HIP
#define DECLARE(name, symbol)                                                                      \
	EXPORT __typeof__(*((struct mpk_cuda_api *)0)->name) name __asm__(#symbol);
MPK_HIP_SHARED_SYMBOLS(DECLARE)
#undef DECLARE
#define DECLARE(name, need, type, params) EXPORT type name params;
MPK_HIP_OWN_SYMBOLS(DECLARE)
#else
#define DECLARE(name, symbol, need, params, driver) EXPORT unsigned name params __asm__(symbol);
MPK_CUDA_SYMBOLS(DECLARE)
#endif
#undef DECLARE

enum {
	DEVICE_MAX = 8,
	LIVE_MAX = 512,
	MODULE_MAX = 4096,
	FAIL_MAX = 8,
	SYMBOL_MAX = 64,
	LEAK_STATUS = 86,
#ifdef FAKE_HIP
	SHARED_DEFAULT = 64 * 1024,
	SHARED_OPTIN = 64 * 1024,
#else
	SHARED_DEFAULT = 48 * 1024,
	SHARED_OPTIN = 227 * 1024,
#endif
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	INVALID_DEVICE = 101,
	NOT_INITIALIZED = 3,
};

/* Device addresses are not host addresses: who dereferences one faults at once. */
#define DEVICE_BIT 0x1000000000000000ull

struct mpk_cu_context {
	unsigned retained;
};

struct mpk_cu_function {
	char name[256];
	struct mpk_cu_module *module;
	unsigned dynamic_shared;
	bool big_cluster;
};

struct mpk_cu_module {
	bool live;
	char *image;
	const char *given; /* where the caller has it */
	struct mpk_cu_context *context;
	size_t bytes;
	bool is_ptx, is_packed;
	struct mpk_cu_function functions[32];
	unsigned function_count;
};

struct region {
	unsigned char *host;
	size_t bytes;
};

struct fake_state {
	bool started;
	int devices, sm, driver;
	char arch[64]; /* of HIP: "gfx90a:sramecc+:xnack-" */
	FILE *log;
	struct mpk_cu_context contexts[DEVICE_MAX];
	struct region regions[LIVE_MAX];
	struct mpk_cu_module *modules[MODULE_MAX];
	size_t module_count;
	struct {
		char symbol[64];
		unsigned left, status;
	} fails[FAIL_MAX];
	struct {
		char symbol[64];
		unsigned calls;
	} counts[SYMBOL_MAX];
	unsigned misuses;
	char first_misuse[256];
	unsigned sticky; /* a kernel faulted: every later call gives this */
	/* streams need not wait for each other: which one has work that nobody waited for */
	bool queued_any;
	struct mpk_cu_stream *queued, *last_stream;
	struct fake_launch last;
	char last_kernel[256];
};

extern struct fake_state fake;

/* fake_enter - what every call begins with: counts, logs, injected failures, order
 * Returns  0, or the status that the call gives */
unsigned fake_enter(const char *symbol, bool needs_context, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define ENTER(symbol, needs_context, ...)                                                          \
	do {                                                                                       \
		unsigned status_ = fake_enter(symbol, needs_context, __VA_ARGS__);                 \
		if (status_)                                                                       \
			return status_;                                                            \
	} while (0)

/* fake_current - the context that this thread entered last */
struct mpk_cu_context *fake_current(void);

/* fake_hip_check - whether a code object runs on the device, as HIP decides it
 * @bytes   receives the size of the image
 * Returns  0, or the status */
unsigned fake_hip_check(struct mpk_cu_module *module, const char *image);

/* fake_queue - what is put on a stream; a misuse when another one has work nobody waited for */
void fake_queue(struct mpk_cu_stream *stream, const char *what);

/* fake_misuse - count and print what no correct program does; returns status */
unsigned fake_misuse(unsigned status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
