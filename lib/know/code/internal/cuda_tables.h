/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_tables.h - devices and drivers; private to this room */
#ifndef MPK_CODE_INTERNAL_CUDA_TABLES_H
#define MPK_CODE_INTERNAL_CUDA_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "code/cuda.h"

struct mpk_cuda_device {
	unsigned sm;
	bool tegra;                    /* Jetson, DRIVE */
	struct mpk_cuda_version since; /* the first CUDA release that knows it */
};

struct mpk_cuda_driver {
	struct mpk_cuda_version cuda, ptx; /* the newest PTX ISA that it takes */
	unsigned branch;                   /* of the Linux driver; 0: not known */
};

extern const struct mpk_cuda_device mpk_cuda_devices[]; /* ascending; ended by sm 0 */
extern const struct mpk_cuda_driver mpk_cuda_drivers[]; /* ascending; ended by 0.0 */

/* mpk_cuda_compare - as memcmp */
int mpk_cuda_compare(struct mpk_cuda_version a, struct mpk_cuda_version b);

#endif
