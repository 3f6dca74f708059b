/* SPDX-License-Identifier: Apache-2.0 */
/* host_target.h - what addresses in the host code of two files mean */
#ifndef MPK_COMPARE_INTERNAL_HOST_TARGET_H
#define MPK_COMPARE_INTERNAL_HOST_TARGET_H

#include "compare/host.h"

/* mpk_host_same_target - whether x in one file and y in the other is the same thing: a symbol, a slot that the
 * loader fills with it, an entry of the PLT that leads to it, read-only data of the same content; in doubt not
 * @again   a slot may hold the address of such a thing itself */
bool mpk_host_same_target(struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			  uint64_t y, bool again);

/* mpk_host_other_import - whether both are entries of PLTs, which lead to symbols of different names */
bool mpk_host_other_import(const struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			   uint64_t y);

#endif
