/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: "CUDA GPU Compute Capability" and, for the older ones, "Legacy CUDA GPU Compute
 * Capability" (developer.nvidia.com/cuda-gpus, cuda-legacy-gpus), whose Jetson column is tegra here;
 * since: the "Release History" of the PTX ISA, column of supported targets; for sm_100 and sm_101 the first
 * release that was published.
 * Drivers: the same history, column PTX ISA version, and the toolkit's release notes, "CUDA Toolkit
 * and Corresponding Driver Versions". */
#include "code/internal/cuda_tables.h"

/* sm_101 was renamed sm_110 by CUDA 13.0; their cubins differ in the number that drivers compare.
 * sm_88 is a target of ptxas 13.0 and in no list of devices: taken as an embedded one, which claims
 * the least. */
const struct mpk_cuda_device mpk_cuda_devices[] = {
	{ 20, false, { 3, 0 } },   { 21, false, { 3, 2 } },
	{ 30, false, { 4, 1 } },   { 32, true, { 6, 0 } },
	{ 35, false, { 5, 0 } },   { 37, false, { 6, 5 } },
	{ 50, false, { 6, 0 } },   { 52, false, { 6, 5 } },
	{ 53, true, { 7, 0 } },    { 60, false, { 8, 0 } },
	{ 61, false, { 8, 0 } },   { 62, true, { 8, 0 } },
	{ 70, false, { 9, 0 } },   { 72, true, { 9, 1 } },
	{ 75, false, { 10, 0 } },  { 80, false, { 11, 0 } },
	{ 86, false, { 11, 1 } },  { 87, true, { 11, 4 } },
	{ 88, true, { 13, 0 } },   { 89, false, { 11, 8 } },
	{ 90, false, { 11, 8 } },  { 100, false, { 12, 8 } },
	{ 101, true, { 12, 8 } },  { 103, false, { 12, 9 } },
	{ 110, true, { 13, 0 } },  { 120, false, { 12, 8 } },
	{ 121, false, { 12, 9 } }, { 0 },
};

const struct mpk_cuda_driver mpk_cuda_drivers[] = {
	{ { 5, 0 }, { 3, 1 }, 304 },  { { 5, 5 }, { 3, 2 }, 319 },  { { 6, 0 }, { 4, 0 }, 331 },
	{ { 6, 5 }, { 4, 1 }, 340 },  { { 7, 0 }, { 4, 2 }, 346 },  { { 7, 5 }, { 4, 3 }, 352 },
	{ { 8, 0 }, { 5, 0 }, 375 },  { { 9, 0 }, { 6, 0 }, 384 },  { { 9, 1 }, { 6, 1 }, 390 },
	{ { 9, 2 }, { 6, 2 }, 396 },  { { 10, 0 }, { 6, 3 }, 410 }, { { 10, 1 }, { 6, 4 }, 418 },
	{ { 10, 2 }, { 6, 5 }, 440 }, { { 11, 0 }, { 7, 0 }, 450 }, { { 11, 1 }, { 7, 1 }, 455 },
	{ { 11, 2 }, { 7, 2 }, 460 }, { { 11, 3 }, { 7, 3 }, 465 }, { { 11, 4 }, { 7, 4 }, 470 },
	{ { 11, 5 }, { 7, 5 }, 495 }, { { 11, 6 }, { 7, 6 }, 510 }, { { 11, 7 }, { 7, 7 }, 515 },
	{ { 11, 8 }, { 7, 8 }, 520 }, { { 12, 0 }, { 8, 0 }, 525 }, { { 12, 1 }, { 8, 1 }, 530 },
	{ { 12, 2 }, { 8, 2 }, 535 }, { { 12, 3 }, { 8, 3 }, 545 }, { { 12, 4 }, { 8, 4 }, 550 },
	{ { 12, 5 }, { 8, 5 }, 555 }, { { 12, 6 }, { 8, 5 }, 560 }, { { 12, 7 }, { 8, 6 }, 565 },
	{ { 12, 8 }, { 8, 7 }, 570 }, { { 12, 9 }, { 8, 8 }, 575 }, { { 13, 0 }, { 9, 0 }, 580 },
	{ { 13, 1 }, { 9, 1 }, 590 }, { { 13, 2 }, { 9, 2 }, 0 },   { { 13, 3 }, { 9, 3 }, 0 },
	{ { 13, 4 }, { 9, 4 }, 0 },   { { 0, 0 }, { 0, 0 }, 0 },
};

int mpk_cuda_compare(struct mpk_cuda_version a, struct mpk_cuda_version b)
{
	if (a.major != b.major)
		return a.major < b.major ? -1 : 1;
	return a.minor < b.minor ? -1 : a.minor > b.minor;
}
