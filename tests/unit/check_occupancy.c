/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy (code/occupancy.h): against the arithmetic that CUDA's toolkit publishes, where it is installed, and against
 * results of that arithmetic that stand here; AMD against the documented formula, worked by hand. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<cuda_occupancy.h>)
#define HAVE_TOOLKIT 1
#include <cuda_occupancy.h>
#endif

#include "code/occupancy.h"
#include "harness.h"
#include "skip.h"

static struct mpk_occupancy compute(const char *target, struct mpk_occupancy_need need)
{
	struct mpk_occupancy o;

	ck_assert_msg(mpk_occupancy_compute(target, &need, &o), "%s", target);
	return o;
}

/* From cuda_occupancy.h of CUDA 13.0, and, of 256 threads, 32 registers, no shared memory, from the guide's table. */
static const struct known {
	const char *target;
	struct mpk_occupancy_need need;
	uint32_t blocks, warps;
	enum mpk_occupancy_limit limit;
} known[] = {
	{ "sm_80", { .threads = 256, .registers = 32 }, 8, 64, MPK_OCCUPANCY_NONE },
	{ "sm_86", { .threads = 256, .registers = 32 }, 6, 48, MPK_OCCUPANCY_NONE },
	{ "sm_75", { .threads = 256, .registers = 32 }, 4, 32, MPK_OCCUPANCY_NONE },
	{ "sm_90a", { .threads = 256, .registers = 64 }, 4, 32, MPK_OCCUPANCY_REGISTERS },
	{ "sm_90", { .threads = 32, .registers = 32 }, 32, 32, MPK_OCCUPANCY_BLOCKS },
	{ "sm_80",
	  { .threads = 128, .registers = 32, .shared_bytes = 49152 },
	  3,
	  12,
	  MPK_OCCUPANCY_SHARED },
	{ "sm_80", { .threads = 1024, .registers = 80 }, 0, 0, MPK_OCCUPANCY_REGISTERS },
	{ "sm_90",
	  { .threads = 64, .registers = 16, .barriers = 16 },
	  4,
	  8,
	  MPK_OCCUPANCY_BARRIERS },
	{ "sm_80",
	  { .threads = 64, .registers = 16, .shared_bytes = 200000 },
	  0,
	  0,
	  MPK_OCCUPANCY_SHARED },
	{ "sm_120", { .threads = 1025, .registers = 16 }, 0, 0, MPK_OCCUPANCY_WARPS },
	{ "sm_120f", { .threads = 1000, .registers = 16 }, 1, 32, MPK_OCCUPANCY_WARPS },
	/* 512 / round_up(100, 8) = 4 waves on each of 4 units; a block has 4 waves */
	{ "gfx90a:xnack+", { .threads = 256, .registers = 100 }, 4, 16, MPK_OCCUPANCY_REGISTERS },
	{ "gfx906", { .threads = 256, .registers = 24 }, 8, 32, MPK_OCCUPANCY_NONE },
	/* 800 / round_up(102, 16) = 7 waves on each of 4 units */
	{ "gfx906",
	  { .threads = 64, .registers = 24, .sgprs = 102 },
	  28,
	  28,
	  MPK_OCCUPANCY_REGISTERS },
	{ "gfx1030", { .threads = 256, .registers = 65 }, 3, 24, MPK_OCCUPANCY_REGISTERS },
	/* 64 lanes: half as many registers in units of half the size, 512 / 72 = 7 waves on each of 2 units */
	{ "gfx1030",
	  { .threads = 256, .registers = 65, .wavefront = 64 },
	  3,
	  12,
	  MPK_OCCUPANCY_REGISTERS },
	{ "gfx1100", { .threads = 256, .registers = 96 }, 4, 32, MPK_OCCUPANCY_NONE },
	{ "gfx1100",
	  { .threads = 256, .registers = 96, .whole_work_groups = true },
	  8,
	  64,
	  MPK_OCCUPANCY_NONE },
	{ "gfx942",
	  { .threads = 256, .registers = 32, .shared_bytes = 20000 },
	  3,
	  12,
	  MPK_OCCUPANCY_SHARED },
	{ "gfx950",
	  { .threads = 256, .registers = 32, .shared_bytes = 81920 },
	  2,
	  8,
	  MPK_OCCUPANCY_SHARED },
};

START_TEST(results_that_are_known)
{
	const struct known *k = &known[_i];
	struct mpk_occupancy o = compute(k->target, k->need);

	ck_assert_msg(o.blocks == k->blocks && o.warps == k->warps && o.limit == k->limit,
		      "%s, %u threads: %u blocks, %u warps, limit %d", k->target, k->need.threads,
		      o.blocks, o.warps, (int)o.limit);
}
END_TEST

START_TEST(what_is_not_known_has_no_answer)
{
	struct mpk_occupancy o;
	struct mpk_occupancy_need need = { .threads = 32, .registers = 8 };

	ck_assert(!mpk_occupancy_compute("sm_999", &need, &o));
	ck_assert(!mpk_occupancy_compute("sm_80x", &need, &o));
	ck_assert(!mpk_occupancy_compute("compute_80", &need, &o));
	ck_assert(!mpk_occupancy_compute("gfx600", &need, &o));
	ck_assert(!mpk_occupancy_compute("", &need, &o));
	need.registers = 0;
	ck_assert(!mpk_occupancy_compute("sm_80", &need, &o));
	ck_assert_uint_eq(mpk_occupancy_best_block("sm_80", &need, 0, &o), 0);
	ck_assert_uint_eq(mpk_occupancy_max_threads("sm_999"), 0);
}
END_TEST

/* The size that is asked for outranks the one that the kernel requires, that one its launch bound. */
START_TEST(who_chooses_the_block)
{
	static const struct {
		const char *target;
		uint32_t asked;
		struct {
			uint32_t block[3], max_threads[3];
		} launch;
		uint32_t threads;
		enum mpk_block_from from;
		uint32_t percent;
	} cases[] = {
		/* 80 registers are 10 units a warp: 25 warps fit on sm_90, of 64 */
		{ "sm_90", 96, { { 64, 2, 1 }, { 256, 1, 1 } }, 96, MPK_BLOCK_GIVEN, 38 },
		{ "sm_90", 0, { { 64, 2, 1 }, { 256, 1, 1 } }, 128, MPK_BLOCK_REQUIRED, 38 },
		{ "sm_90", 0, { { 0 }, { 256, 1, 1 } }, 256, MPK_BLOCK_BOUND, 38 },
		{ "sm_90", 0, { { 0 }, { 640, 1, 1 } }, 640, MPK_BLOCK_BOUND, 31 },
		{ "sm_90", 0, { { 0 }, { 0 } }, 32, MPK_BLOCK_BEST, 38 },
		/* a bound of all that the device allows is none */
		{ "sm_90", 0, { { 0 }, { 1024, 1, 1 } }, 32, MPK_BLOCK_BEST, 38 },
		{ "sm_90", 0, { { 0 }, { 65536, 65536, 2 } }, 32, MPK_BLOCK_BEST, 38 },
		{ "gfx90a", 0, { { 0 }, { 1024, 1, 1 } }, 64, MPK_BLOCK_BEST, 75 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		struct mpk_occupancy_need need = { .threads = cases[i].asked, .registers = 80 };
		struct mpk_occupancy_kernel k = { 0 };

		ck_assert(mpk_occupancy_of_kernel(cases[i].target, &need, cases[i].launch.block,
						  cases[i].launch.max_threads, &k));
		ck_assert_msg(k.threads == cases[i].threads && k.block_from == cases[i].from &&
				      k.percent == cases[i].percent,
			      "case %zu: %u threads from %d, %u %%", i, k.threads,
			      (int)k.block_from, k.percent);
		ck_assert_uint_eq(need.threads, k.threads);
	}
}
END_TEST

/* More shared memory than any block can have: no launch, and the least size tells why. */
START_TEST(a_kernel_that_cannot_be_launched_has_no_warps)
{
	static const uint32_t open[3] = { 0 };
	struct mpk_occupancy_need need = { .shared_bytes = 1 << 20 };
	struct mpk_occupancy_kernel k = { 0 };

	ck_assert(mpk_occupancy_of_kernel("sm_80", &need, open, open, &k));
	ck_assert_uint_eq(k.percent, 0);
	ck_assert_uint_eq(k.threads, 32);
	ck_assert_int_eq(k.now.limit, MPK_OCCUPANCY_SHARED);
	ck_assert(!mpk_occupancy_of_kernel("sm_999", &need, open, open, &k));
}
END_TEST

static uint32_t next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* The step is the least one: what it says holds, and one less does not. */
START_TEST(the_next_step_is_the_least)
{
	static const char *const targets[] = { "sm_75",  "sm_80",  "sm_89",  "sm_90",
					       "sm_120", "gfx90a", "gfx1100" };
	uint32_t seed = 7;
	unsigned steps[6] = { 0 };

	for (unsigned i = 0; i < 20000; i++) {
		const char *target = targets[i % MPK_ARRAY_COUNT(targets)];
		struct mpk_occupancy_need need = {
			.threads = 1 + next(&seed, 1024),
			.registers = 1 + next(&seed, 255),
			.shared_bytes = i % 3 ? next(&seed, 60000) : 0,
		};
		struct mpk_occupancy now = compute(target, need), then;
		struct mpk_occupancy_step step;

		mpk_occupancy_next(target, &need, i % 2, 0, &step);
		steps[step.what]++;
		if (now.limit == MPK_OCCUPANCY_NONE)
			ck_assert_uint_eq(step.what, MPK_OCCUPANCY_NONE);
		if (step.what == MPK_OCCUPANCY_REGISTERS) {
			need.registers -= (uint32_t)step.less;
			then = compute(target, need);
			ck_assert_uint_eq(then.warps, step.then.warps);
			ck_assert_uint_gt(then.warps, now.warps);
			need.registers++;
			ck_assert_uint_le(compute(target, need).warps, now.warps);
		} else if (step.what == MPK_OCCUPANCY_SHARED) {
			need.shared_bytes -= step.less;
			then = compute(target, need);
			ck_assert_uint_eq(then.warps, step.then.warps);
			ck_assert_uint_gt(then.warps, now.warps);
			need.shared_bytes++;
			ck_assert_uint_le(compute(target, need).warps, now.warps);
		} else if (step.what == MPK_OCCUPANCY_WARPS) {
			ck_assert(!(i % 2));
			need.threads = step.threads;
			ck_assert_uint_gt(compute(target, need).warps, now.warps);
		}
	}
	ck_assert_uint_gt(steps[MPK_OCCUPANCY_REGISTERS], 1000);
	ck_assert_uint_gt(steps[MPK_OCCUPANCY_SHARED], 1000);
	ck_assert_uint_gt(steps[MPK_OCCUPANCY_WARPS], 100);
}
END_TEST

/* A damaged cubin may claim any number of them. */
START_TEST(billions_of_registers_take_no_time)
{
	struct mpk_occupancy_need need = { .threads = 128, .registers = UINT32_MAX };
	struct mpk_occupancy_step step;

	for (unsigned i = 0; i < 1000; i++) {
		mpk_occupancy_next(i % 2 ? "sm_90" : "gfx90a", &need, true, 0, &step);
		ck_assert_int_eq(step.what, MPK_OCCUPANCY_REGISTERS);
		ck_assert_uint_gt(step.less, UINT32_MAX - 1024);
	}
}
END_TEST

START_TEST(the_best_block_is_the_smallest_of_the_best)
{
	struct mpk_occupancy_need need = { .registers = 40 };
	struct mpk_occupancy o;

	ck_assert_uint_eq(mpk_occupancy_best_block("sm_80", &need, 0, &o), 64);
	ck_assert_uint_eq(o.warps, 48);
	need.registers = 32;
	ck_assert_uint_eq(mpk_occupancy_best_block("sm_90", &need, 0, &o), 64);
	ck_assert_uint_eq(mpk_occupancy_best_block("sm_90", &need, 32, &o), 32);
	ck_assert_uint_eq(o.warps, 32);
}
END_TEST

#ifdef HAVE_TOOLKIT
/* The guide's table again, as the header's properties: were it read from ours, a wrong row would agree with itself. */
static const struct {
	int major, minor, threads, registers_kib, block_registers_kib, shared_kib, optin_kib;
} devices[] = {
	{ 3, 5, 2048, 64, 64, 48, 48 },    { 3, 7, 2048, 128, 64, 112, 48 },
	{ 5, 0, 2048, 64, 64, 64, 48 },    { 5, 2, 2048, 64, 64, 96, 48 },
	{ 5, 3, 2048, 64, 32, 64, 48 },    { 6, 0, 2048, 64, 64, 64, 48 },
	{ 6, 1, 2048, 64, 64, 96, 48 },    { 6, 2, 2048, 64, 32, 64, 48 },
	{ 7, 0, 2048, 64, 64, 96, 96 },    { 7, 2, 2048, 64, 64, 96, 96 },
	{ 7, 5, 1024, 64, 64, 64, 64 },    { 8, 0, 2048, 64, 64, 164, 163 },
	{ 8, 6, 1536, 64, 64, 100, 99 },   { 8, 7, 1536, 64, 64, 164, 163 },
	{ 8, 8, 1536, 64, 64, 100, 99 },   { 8, 9, 1536, 64, 64, 100, 99 },
	{ 9, 0, 2048, 64, 64, 228, 227 },  { 10, 0, 2048, 64, 64, 228, 227 },
	{ 10, 1, 1536, 64, 64, 228, 227 }, { 10, 3, 2048, 64, 64, 228, 227 },
	{ 11, 0, 1536, 64, 64, 228, 227 }, { 12, 0, 1536, 64, 64, 100, 99 },
	{ 12, 1, 1536, 64, 64, 100, 99 },
};
#endif

START_TEST(random_kernels_are_as_the_toolkit_says)
{
#ifdef HAVE_TOOLKIT
	enum { KERNELS = 10000 };
	char target[16];
	uint32_t seed = 1 + (uint32_t)_i;
	cudaOccDeviceProp p = {
		.computeMajor = devices[_i].major,
		.computeMinor = devices[_i].minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = devices[_i].threads,
		.regsPerBlock = devices[_i].block_registers_kib * 1024,
		.regsPerMultiprocessor = devices[_i].registers_kib * 1024,
		.warpSize = 32,
		.sharedMemPerBlock = 48 * 1024,
		.sharedMemPerMultiprocessor = (size_t)devices[_i].shared_kib * 1024,
		.numSms = 1,
		.sharedMemPerBlockOptin = (size_t)devices[_i].optin_kib * 1024,
		.reservedSharedMemPerBlock = devices[_i].major >= 8 ? 1024 : 0,
	};
	const cudaOccDeviceState state = { CACHE_PREFER_NONE, SHAREDMEM_CARVEOUT_DEFAULT };

	(void)snprintf(target, sizeof target, "sm_%d%d", p.computeMajor, p.computeMinor);
	for (unsigned k = 0; k < KERNELS; k++) {
		/* static shared memory ends at 48 KiB: ptxas refuses more */
		uint32_t fixed = next(&seed, 3) ? next(&seed, 49153) : 0;
		uint32_t dynamic = next(&seed, 3) ? 0 : next(&seed, 240000);
		struct mpk_occupancy_need need = {
			.threads = 1 + next(&seed, 1040),
			.registers = 1 + next(&seed, k % 10 ? 128 : 260),
			.shared_bytes = (uint64_t)fixed + dynamic,
			.barriers = next(&seed, 17),
		};
		cudaOccFuncAttributes a = {
			.maxThreadsPerBlock = 1024,
			.numRegs = (int)need.registers,
			.sharedSizeBytes = fixed,
			.partitionedGCConfig = PARTITIONED_GC_OFF,
			.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
			.maxDynamicSharedSizeBytes = dynamic,
			.numBlockBarriers = (int)need.barriers,
		};
		cudaOccResult want;
		struct mpk_occupancy got;

		ck_assert_int_eq(cudaOccMaxActiveBlocksPerMultiprocessor(
					 &want, &p, &a, &state, (int)need.threads, dynamic),
				 CUDA_OCC_SUCCESS);
		got = compute(target, need);
		ck_assert_msg(
			(int)got.blocks == want.activeBlocksPerMultiprocessor,
			"%s: %u threads, %u registers, %u + %u B, %u barriers: %u blocks for %d",
			target, need.threads, need.registers, fixed, dynamic, need.barriers,
			got.blocks, want.activeBlocksPerMultiprocessor);
	}
#else
	SKIP_TEST("cuda_occupancy.h is not installed");
#endif
}
END_TEST

int main(void)
{
	Suite *s = suite_create("occupancy");
	TCase *tc = tcase_create("kernels");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, results_that_are_known, 0, MPK_ARRAY_COUNT(known));
	tcase_add_test(tc, what_is_not_known_has_no_answer);
	tcase_add_test(tc, who_chooses_the_block);
	tcase_add_test(tc, a_kernel_that_cannot_be_launched_has_no_warps);
	tcase_add_test(tc, the_next_step_is_the_least);
	tcase_add_test(tc, billions_of_registers_take_no_time);
	tcase_add_test(tc, the_best_block_is_the_smallest_of_the_best);
#ifdef HAVE_TOOLKIT
	tcase_add_loop_test(tc, random_kernels_are_as_the_toolkit_says, 0,
			    MPK_ARRAY_COUNT(devices));
#else
	tcase_add_test(tc, random_kernels_are_as_the_toolkit_says);
#endif
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
