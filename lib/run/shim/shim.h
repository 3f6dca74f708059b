/* shim.h - what every shim has: exported names and its table */
#ifndef MPK_RUN_SHIM_SHIM_H
#define MPK_RUN_SHIM_SHIM_H

#include "run/shim.h"

#define SHIM __attribute__((visibility("default")))

#define SHIM_TABLE                                                                       \
	static const struct mpk_shim_table *table;                                       \
	SHIM mpk_shim_bind_fn mpk_shim_bind;                                             \
	void mpk_shim_bind(const struct mpk_shim_table *bound)                           \
	{                                                                                \
		table = bound;                                                           \
	}                                                                                \
	struct mpk_shim_table

#endif
