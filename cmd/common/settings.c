/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of all commands, which both what prints and what says errors look at. */
#include "common/diag.h"

struct mpk_common mpk_common = { .program = "mpk" };
