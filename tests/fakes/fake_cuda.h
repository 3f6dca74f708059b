/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cuda.h - what a test asks of the driver library that it put in place of libcuda.so.1
 *
 * The fake checks every call as the driver would, and more: contexts must be current,
 * memory must be live and large enough, modules loaded, what was taken given back; a stream that
 * is used while another has work that nobody waited for is one. What it finds it counts as misuse and reports when the process ends, with exit status 86.
 *
 * The environment, read at cuInit, for programs that cannot call it:
 *   FAKE_CUDA_DEVICES  how many devices (1)      FAKE_CUDA_SM      their capability (90)
 *   FAKE_CUDA_DRIVER   driver version (12040)    FAKE_CUDA_LOG     file that gets every call
 *   FAKE_CUDA_FAIL     symbol:nth:status, the nth call of the symbol (from 1) fails
 *
 * Compiled with FAKE_HIP it is libamdhip64 instead: its variables begin with FAKE_HIP_, and in place of SM there is
 *   FAKE_HIP_ARCH      the target of the devices (gfx90a:sramecc+:xnack+)
 */
#ifndef TESTS_FAKES_FAKE_CUDA_H
#define TESTS_FAKES_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* Looked up by dlsym in the fake. */
struct fake_cuda_probe {
	/* calls of a symbol so far */
	unsigned (*calls)(const char *symbol);
	/* let the nth next call of symbol (1: the next one) give status */
	void (*inject)(const char *symbol, unsigned nth, unsigned status);
	/* misuses found so far, and the text of the first */
	unsigned (*misuses)(const char **first);
	/* live allocations, modules and retained contexts */
	size_t (*live)(void);
	/* another kind of machine, for devices opened from now on */
	void (*set_machine)(int devices, int sm, int driver);
	/* the last launch: 6 dims, shared bytes, stream, then attributes as id, x, y, z */
	const struct fake_launch *(*last_launch)(void);
	/* the stream that the last launch or copy used */
	void *(*last_stream)(void);
	/* of HIP: what devices are, "gfx90a:sramecc+:xnack-" */
	void (*set_arch)(const char *arch);
};

struct fake_attribute {
	unsigned id, x, y, z;
};

struct fake_launch {
	const char *kernel;
	unsigned grid[3], block[3], shared_bytes;
	void *stream;
	struct fake_attribute attributes[8];
	unsigned attribute_count;
	void **params;
};

extern const struct fake_cuda_probe fake_cuda_probe;

/* --- between the files of the fake --- */

/* fake_hip_attribute - CUDA's number of an attribute of devices that HIP numbers otherwise; 0: none of those */
unsigned fake_hip_attribute(unsigned attribute);

/* fake_host - the host address of bytes of live device memory, NULL when they are not that */
void *fake_host(unsigned long long address, size_t bytes);

enum { FAKE_PARAMS = 16 };

/* A kernel the fake can run: its parameters' widths, and what it does on the host. */
struct fake_kernel {
	const char *name;
	size_t param_bytes[FAKE_PARAMS]; /* ended by 0 */
	/* Returns  0, or the status that a fault gives */
	unsigned (*run)(const struct fake_launch *launch);
};

/* fake_kernel_find - NULL for kernels that it only records */
const struct fake_kernel *fake_kernel_find(const char *name);

#endif
