/* SPDX-License-Identifier: Apache-2.0 */
/* The file that an executor would be in lib/run/executor, a worked example of CONTRIBUTING.md: a function, `count`,
 * which says how many bytes its module's payload has. */
#ifndef EXECUTOR_COUNTER_H
#define EXECUTOR_COUNTER_H

#include <stdlib.h>
#include <string.h>

#include "runtime/library.h"

struct counter {
	struct mpk_function base;
	int64_t bytes;
};

static enum mpk_code call_count(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	if (args->count)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: count takes no arguments");
	*result = mpk_value_of_int(((struct counter *)self)->bytes);
	return MPK_OK;
}

static void destroy_count(struct mpk_function *self)
{
	free(self);
}

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "example.Counter");
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	if (node->node->payload.len % 2)
		return mpk_fail(err, MPK_E_CORRUPT, "a payload of an odd number of bytes");
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct counter *c;

	*out = NULL;
	if (strcmp(name, "count") != 0)
		return MPK_OK;
	c = calloc(1, sizeof *c);
	if (!c)
		return mpk_fail_nomem(err);
	c->base = (struct mpk_function){
		.refs = 1, .name = "count", .call = call_count, .destroy = destroy_count
	};
	c->bytes = (int64_t)node->node->payload.len;
	*out = &c->base;
	return MPK_OK;
}

static const struct mpk_loader mpk_counter_executor = { .accepts = accepts,
							.open = open_node,
							.find = find };

#endif
