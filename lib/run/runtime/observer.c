/* SPDX-License-Identifier: Apache-2.0 */
/* How executors report their steps: the description of an operator, which goes to each observer in
 * turn. Executors ask once a call whether there are any, so that a run without them comes nowhere
 * near this file. */
#include "runtime/observer.h"

#include <stdlib.h>

enum mpk_code mpk_operator_init(struct mpk_operator *op, size_t count, struct mpk_error *err)
{
	op->operands = calloc(count + 1, sizeof *op->operands);
	MPK_TRY_ALLOC(op->operands, err);
	op->count = count;
	return MPK_OK;
}

void mpk_operator_fini(struct mpk_operator *op)
{
	free(op->operands);
	op->operands = NULL;
	op->count = 0;
}

enum mpk_code mpk_operator_begin(struct mpk_observer *first, const struct mpk_operator *op,
				 struct mpk_error *err)
{
	for (struct mpk_observer *o = first; o; o = o->next)
		if (o->begin)
			MPK_TRY(o->begin(o, op, err));
	return MPK_OK;
}

/* Innermost first, the reverse of begin: by recursion, as the list is short and linked one way. */
enum mpk_code mpk_operator_end(struct mpk_observer *first, const struct mpk_operator *op,
			       const struct mpk_value *result, struct mpk_error *err)
{
	if (!first)
		return MPK_OK;
	MPK_TRY(mpk_operator_end(first->next, op, result, err));
	return first->end ? first->end(first, op, result, err) : MPK_OK;
}

enum mpk_code mpk_operator_control(struct mpk_observer *first, const struct mpk_operator *op,
				   struct mpk_error *err)
{
	for (struct mpk_observer *o = first; o; o = o->next)
		if (o->control)
			MPK_TRY(o->control(o, op, err));
	return MPK_OK;
}

/* Tuples are looked into, not those within them: kernels have none. */
static bool on_device(const struct mpk_value *v, struct mpk_dldevice *out)
{
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		if (v->array->items[i].kind == MPK_VALUE_TENSOR &&
		    on_device(&v->array->items[i], out))
			return true;
	if (v->kind != MPK_VALUE_TENSOR || mpk_dldevice_is_host(v->tensor->dl.device))
		return false;
	*out = v->tensor->dl.device;
	return true;
}

struct mpk_dldevice mpk_operator_device(const struct mpk_operator *op,
					const struct mpk_value *result)
{
	struct mpk_dldevice device = { MPK_DL_CPU, 0 };

	if (op->kind == MPK_OPERATOR_BUILTIN)
		return device;
	for (size_t i = 0; i < op->count; i++)
		if (on_device(&op->operands[i].value, &device))
			return device;
	if (result)
		(void)on_device(result, &device);
	return device;
}
