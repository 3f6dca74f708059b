/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - every byte and name that a symbol of an object file is said to have is there */
#ifndef MPK_TESTS_FUZZ_OBJECT_H
#define MPK_TESTS_FUZZ_OBJECT_H

#include <string.h>

#include "fuzz.h"
#include "object/object.h"

static inline void fuzz_object(const struct mpk_object *o)
{
	for (size_t i = 0; i < o->symbol_count; i++) {
		fuzz_touch(mpk_span_str(o->symbols[i].name));
		fuzz_touch(o->symbols[i].content);
	}
	for (size_t i = 0; i < o->needed_count; i++)
		fuzz_touch(mpk_span_str(o->needed[i]));
}

#endif
