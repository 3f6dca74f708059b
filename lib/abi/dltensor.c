/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/dltensor.h"

enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, enum mpk_lifetime lifetime,
				  struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_tensor *t, *copy;

	if (dl->ndim > 0 && !dl->shape)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %d dimensions has no shape",
				dl->ndim);
	MPK_TRY(mpk_tensor_wrap(dl, NULL, &t, err));
	if (lifetime == MPK_LIFETIME_OWNED && mpk_dldevice_is_host(dl->device)) {
		enum mpk_code code = mpk_tensor_compact(t, &copy, err);

		mpk_tensor_drop(t);
		MPK_TRY(code);
		t = copy;
	}
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}
