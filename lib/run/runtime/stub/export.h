/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - what every runtime stub has: exported names and its table */
#ifndef MPK_RUNTIME_STUB_EXPORT_H
#define MPK_RUNTIME_STUB_EXPORT_H

#include "runtime/stub.h"

#define STUB __attribute__((visibility("default")))

/* Each library that is opened binds the stubs again, to the same table, maybe while the code of another
 * calls through it: so the pointer is atomic. */
#define STUB_TABLE                                                                                 \
	static const struct mpk_stub_table *_Atomic table;                                         \
	STUB mpk_stub_bind_fn mpk_stub_bind;                                                       \
	void mpk_stub_bind(const struct mpk_stub_table *bound)                                     \
	{                                                                                          \
		table = bound;                                                                     \
	}                                                                                          \
	struct mpk_stub_table

#endif
