/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_code.h - what a CUDA payload holds, judged without a driver */
#ifndef MPK_DEVICE_INTERNAL_CUDA_CODE_H
#define MPK_DEVICE_INTERNAL_CUDA_CODE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "device/device.h"

enum { MPK_CUDA_CODE_TEXT = 200 };

/* mpk_cuda_code_describe - "sm_90 (cubin)", "sm_80 (cubin), sm_90 (PTX 9.0)", or "" when the
 * bytes are none of these
 * @out     MPK_CUDA_CODE_TEXT bytes
 * Returns  out */
const char *mpk_cuda_code_describe(struct mpk_span code, char out[MPK_CUDA_CODE_TEXT]);

/* mpk_cuda_code_check - whether some image in the payload is for the device's architecture
 * Returns  MPK_OK, also when the bytes are not understood: the driver decides;
 *          MPK_E_LOAD naming both architectures; MPK_E_NOMEM */
enum mpk_code mpk_cuda_code_check(struct mpk_span code, const struct mpk_device_info *info,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cuda_code_is_func - whether PTX defines that name as .func, which no driver launches */
bool mpk_cuda_code_is_func(struct mpk_span code, struct mpk_span name);

#endif
