/* SPDX-License-Identifier: Apache-2.0 */
/* constloader.h - constants for external modules: const_loader and metadata (FORMAT.md) */
#ifndef MPK_FORMATS_CONSTLOADER_CONSTLOADER_H
#define MPK_FORMATS_CONSTLOADER_CONSTLOADER_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "tensor/tensor.h"
#include "wire.h"

struct mpk_const_loader {
	struct mpk_params consts;
	struct mpk_strs symbols;      /* functions of other modules */
	const struct mpk_strs *needs; /* for each symbol: names of constants, in the order in which
				       * __init_<symbol> takes them */
};

#endif
