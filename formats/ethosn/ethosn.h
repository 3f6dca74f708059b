/* SPDX-License-Identifier: Apache-2.0 */
/* ethosn.h - compiled networks for Arm Ethos-N (FORMAT.md) */
#ifndef MPK_FORMATS_ETHOSN_ETHOSN_H
#define MPK_FORMATS_ETHOSN_ETHOSN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"

/* Lists are elements of 4 bytes (u32), as stored; sizes are empty without has_sizes. */
struct mpk_ethosn_network {
	struct mpk_span name;
	struct mpk_span compiled;
	struct mpk_span input_order, input_sizes;
	struct mpk_span output_order, output_sizes;
};

struct mpk_ethosn {
	const struct mpk_ethosn_network *networks;
	size_t count;
	bool has_sizes; /* from TVM 0.10 on */
};

#endif
