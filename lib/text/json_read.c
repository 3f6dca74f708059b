/* SPDX-License-Identifier: Apache-2.0 */
/* Jansson has one pair of functions for memory in a process. Ours is malloc, but for a thread that reads: there
 * it does not come back without memory. */
#include "text/json_read.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

static _Thread_local jmp_buf *way_out;

static void *allocate(size_t size)
{
	void *p = malloc(size);

	if (!p) {
		mpk_memory_failed();
		if (way_out)
			longjmp(*way_out, 1);
	}
	return p;
}

static void tell_no_memory(json_error_t *why)
{
	*why = (json_error_t){ .line = -1, .column = -1 };
	(void)snprintf(why->text, sizeof why->text, "out of memory");
	/* where json_error_code looks for it */
	why->text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_out_of_memory;
}

json_t *mpk_json_read(struct mpk_span text, size_t flags, json_error_t *why)
{
	json_error_t ignored = { .line = -1 };
	json_error_t *volatile told = why ? why : &ignored;
	json_t *root;
	jmp_buf here;

	json_set_alloc_funcs(allocate, free);
	if (setjmp(here) != 0) {
		way_out = NULL;
		tell_no_memory(told);
		return NULL;
	}
	way_out = &here;
	root = json_loadb((const char *)text.data, text.len, flags, told);
	way_out = NULL;
	return root;
}
