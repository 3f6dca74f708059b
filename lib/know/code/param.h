/* SPDX-License-Identifier: Apache-2.0 */
/* param.h - what a kernel takes, as far as its code tells: names, types, what is a buffer
 *
 * Sources tell all of it, PTX sizes and types of registers, machine code sizes alone; symbols of C++
 * carry the types that PTX and machine code lack.
 */
#ifndef MPK_CODE_PARAM_H
#define MPK_CODE_PARAM_H

#include "base/report.h"
#include "code/info.h"
#include "kernels/kernels.h"

enum mpk_code_param_kind {
	MPK_CODE_PARAM_UNKNOWN, /* bytes alone are known, if they are: an address or a number */
	MPK_CODE_PARAM_BUFFER,
	MPK_CODE_PARAM_IMAGE,
	MPK_CODE_PARAM_NUMBER,
	MPK_CODE_PARAM_LOCAL, /* memory of a work-group, which no runtime passes */
	MPK_CODE_PARAM_VALUE, /* a struct or a vector by value: the same */
};

struct mpk_code_param {
	enum mpk_code_param_kind kind;
	struct mpk_span name;   /* empty: it has none that a person gave */
	struct mpk_dtype dtype; /* the number's, or a buffer's elements'; 0 bits: not known; of
				 * UNKNOWN what it is most often */
	bool read_only;         /* a buffer or image that the kernel does not write */
	uint64_t bytes;         /* as a launch passes it; 0: not known */
	uint64_t least_bytes;   /* a value: it has no fewer; 0: not known */
	bool holds_address;   /* a value: it may be nothing but an address, which a launch passes */
	struct mpk_span text; /* its declaration; empty: the code has none */
	const char *refused;  /* what of its type OpenCL C refuses, and with it the whole text;
				 * or NULL */
};

/* mpk_code_info_params - the parameters of a kernel, kernels[kernel].param_count of them
 * @info    that lists the kernel (mpk_code_info_lister)
 * @arena   receives the list; names are views of the code
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_info_params(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_arena *arena, const struct mpk_code_param **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_info_argument - the type under which a table lists a parameter: "handle", a number's
 * Returns  false when no table can: it is none that a runtime passes, or nothing is known */
bool mpk_code_info_argument(const struct mpk_code_param *p, struct mpk_dtype *out);

#endif
