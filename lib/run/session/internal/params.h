/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - inputs of a call that a file of parameters gives, by name */
#ifndef MPK_SESSION_INTERNAL_PARAMS_H
#define MPK_SESSION_INTERNAL_PARAMS_H

#include "session/call.h"
#include "signature/signature.h"
#include "value/module.h"

/* A tensor of the file for an input of the function. */
struct mpk_param_choice {
	struct mpk_span name; /* of the input; borrowed from its signature */
	size_t index;         /* in the file */
};

/* mpk_params_choose - which tensors of call->params the call needs: those of inputs, and of
 * parameters that the library has, to which the call itself gives nothing by name
 * What else the file has is for other functions. Values without a name are for the inputs that are
 * left.
 * @m       of the function; NULL: it is no model
 * @out     receives *count choices; to be freed
 * Returns  MPK_OK; MPK_E_USAGE: no model, inputs that neither the file nor the call gives (all are
 *          named), or values that are left over; MPK_E_NOMEM */
enum mpk_code mpk_params_choose(const struct mpk_call *call, const struct mpk_signature *m,
				struct mpk_param_choice **out, size_t *count,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_params_bind_late - give constants that executables among the modules name and do not have
 * their values; before functions are looked up
 * @modules count, some NULL
 * Returns  MPK_OK; MPK_E_CONFLICT: functions were looked up before; as mpk_param_file_tensor and
 *          mpk_relay_bind */
enum mpk_code mpk_params_bind_late(struct mpk_param_file *file, struct mpk_module *const *modules,
				   size_t count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
