/* SPDX-License-Identifier: Apache-2.0 */
/* fake_hip.c - what HIP's runtime has otherwise than CUDA's driver: numbers, properties, code objects */
#include "fake_cuda_state.h"

#ifdef FAKE_HIP
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

/* hipDeviceAttribute_t of hip/hip_runtime_api.h */
unsigned fake_hip_attribute(unsigned attribute)
{
	static const unsigned char rows[][2] = {
		{ 56, MPK_CU_MAX_THREADS_PER_BLOCK },
		{ 26, MPK_CU_MAX_BLOCK_X },
		{ 27, MPK_CU_MAX_BLOCK_X + 1 },
		{ 28, MPK_CU_MAX_BLOCK_X + 2 },
		{ 29, MPK_CU_MAX_GRID_X },
		{ 30, MPK_CU_MAX_GRID_X + 1 },
		{ 31, MPK_CU_MAX_GRID_X + 2 },
		{ 74, MPK_CU_MAX_SHARED_PER_BLOCK },
		{ 63, MPK_CU_MULTIPROCESSORS },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i][0] == attribute)
			return rows[i][1];
	return 0;
}

const char *hipGetErrorName(unsigned status)
{
	static const struct {
		unsigned status;
		const char *name;
	} names[] = {
		{ 1, "hipErrorInvalidValue" },        { 2, "hipErrorOutOfMemory" },
		{ 35, "hipErrorInsufficientDriver" }, { 100, "hipErrorNoDevice" },
		{ 200, "hipErrorInvalidImage" },      { 209, "hipErrorNoBinaryForGpu" },
		{ 400, "hipErrorInvalidHandle" },     { 500, "hipErrorNotFound" },
		{ 700, "hipErrorIllegalAddress" },    { 719, "hipErrorLaunchFailure" },
		{ 801, "hipErrorNotSupported" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].status == status)
			return names[i].name;
	return "hipErrorUnknown";
}

/* The struct of HIP 6, of which gcnArchName alone is filled; the rest is no zeros. */
static unsigned properties(void *out, size_t bytes, size_t off)
{
	memset(out, 0x5a, bytes);
	memset((char *)out + off, 0, 256);
	(void)snprintf((char *)out + off, 256, "%s", fake.arch);
	return 0;
}

/* sizeof(hipDeviceProp_t) of HIP 5 and of HIP 6 */
unsigned hipGetDeviceProperties(void *out, int device)
{
	ENTER("hipGetDeviceProperties", false, "device=%d", device);
	return properties(out, 792, 396);
}

#ifndef FAKE_CUDA_OLD_DRIVER
unsigned hipGetDevicePropertiesR0600(void *out, int device)
{
	ENTER("hipGetDevicePropertiesR0600", false, "device=%d", device);
	return properties(out, 1472, 1160);
}
#endif

static uint64_t number(const char *p, size_t bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | (uint8_t)p[bytes];
	return value;
}

/* Two bits of e_flags: 0 the processor has no such feature, 1 any, 2 off, 3 on. */
static bool feature_fits(unsigned bits, const char *on, const char *off)
{
	if (bits == 2)
		return strstr(fake.arch, off) != NULL;
	return bits != 3 || strstr(fake.arch, on) != NULL;
}

/* EF_AMDGPU_MACH of llvm/BinaryFormat/ELF.h */
static bool runs_here(const char *image)
{
	static const struct {
		unsigned mach;
		const char *name;
	} processors[] = { { 0x2f, "gfx906" }, { 0x3f, "gfx90a" }, { 0x41, "gfx1100" } };
	unsigned flags = (unsigned)number(image + 48, 4);
	size_t len = strcspn(fake.arch, ":");

	for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
		if (processors[i].mach == (flags & 0xff) && strlen(processors[i].name) == len &&
		    memcmp(processors[i].name, fake.arch, len) == 0)
			return feature_fits(flags >> 8 & 3, ":xnack+", ":xnack-") &&
			       feature_fits(flags >> 10 & 3, ":sramecc+", ":sramecc-");
	return false;
}

/* A compressed bundle is unpacked by HIP 6; what is in it the fake does not see. */
unsigned fake_hip_check(struct mpk_cu_module *module, const char *image)
{
	if (memcmp(image, "CCOB", 4) == 0) {
		module->is_packed = true;
		module->bytes = (size_t)number(image + 8, 4);
		return fake.driver >= 60000000 ? 0 : 801;
	}
	if (memcmp(image, "\177ELF", 4) != 0)
		return 200;
	module->bytes =
		(size_t)(number(image + 40, 8) + number(image + 60, 2) * number(image + 58, 2));
	return number(image + 18, 2) != 224 ? 200 : runs_here(image) ? 0 : 209;
}
#endif
