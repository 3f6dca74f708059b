/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - a call by its plan, or by its byte code with somebody taking notes */
#include <stdlib.h>

#include "executor/plan/plan.h"

/* Inputs get storages of their own, so that the recorder tells them apart. */
static enum mpk_code call_recorded(struct mpk_plans *plans,
				   const struct mpk_plan_interpreter *interpreter, size_t function,
				   const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_recorder **recorder = interpreter->recorder;
	struct mpk_value *own = calloc(count + 1, sizeof *own);
	enum mpk_code code;

	MPK_TRY_ALLOC(own, err);
	for (size_t i = 0; i < count; i++)
		own[i] = mpk_value_hold(args[i]);
	*recorder = mpk_recorder_begin(plans, function, own, count);
	code = interpreter->interpret(interpreter->machine, function, own, count, result, err);
	if (*recorder)
		mpk_recorder_end(*recorder, code == MPK_OK ? result : NULL);
	*recorder = NULL;
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&own[i]);
	free(own);
	return code;
}

enum mpk_code mpk_plan_call(struct mpk_plans *plans, const struct mpk_plan_interpreter *interpreter,
			    size_t function, const struct mpk_value *args, size_t count,
			    struct mpk_value *result, struct mpk_error *err)
{
	bool record = false;
	struct mpk_plan *plan = mpk_plan_find(plans, function, args, count, &record);

	if (plan)
		return mpk_plan_run(plans, plan, args, count, result, err);
	if (record)
		return call_recorded(plans, interpreter, function, args, count, result, err);
	return interpreter->interpret(interpreter->machine, function, args, count, result, err);
}
