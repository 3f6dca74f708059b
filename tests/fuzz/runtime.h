/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - the runtime of targets that run byte code */
#ifndef MPK_TESTS_FUZZ_RUNTIME_H
#define MPK_TESTS_FUZZ_RUNTIME_H

#include "executor/executor.h"
#include "fuzz.h"
#include "runtime/runtime.h"

/* fuzz_runtime - one for all programs: it holds nothing of them
 * @kernels  makes what stands for device code; borrowed */
static inline struct mpk_runtime *fuzz_runtime(const struct mpk_loader *kernels)
{
	static struct mpk_runtime *runtime;

	if (runtime)
		return runtime;
	FUZZ_REQUIRE(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, NULL) ==
		     MPK_OK);
	FUZZ_REQUIRE(mpk_executors_add(runtime, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_runtime_add_loader(runtime, kernels, NULL) == MPK_OK);
	return runtime;
}

#endif
