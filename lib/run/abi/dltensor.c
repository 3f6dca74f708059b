/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/internal/dltensor.h"

#include <inttypes.h>

enum mpk_code mpk_dltensor_wrap(const struct mpk_dltensor *dl, struct mpk_storage *storage,
				struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *t;

	if (!dl)
		return mpk_fail(err, MPK_E_RAISED, "a tensor at address 0");
	if (dl->ndim > 0 && !dl->shape)
		return mpk_fail(err, MPK_E_RAISED, "a tensor of %d dimensions has no shape",
				dl->ndim);
	MPK_TRY(mpk_tensor_wrap(dl, storage, &t, err));
	if (t->bytes && !dl->data && mpk_dldevice_is_host(dl->device)) {
		uint64_t bytes = t->bytes;

		mpk_tensor_drop(t);
		return mpk_fail(err, MPK_E_RAISED, "a tensor of %" PRIu64 " bytes has no data",
				bytes);
	}
	*out = t;
	return MPK_OK;
}

enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, enum mpk_lifetime lifetime,
				  struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_tensor *t, *copy;

	MPK_TRY(mpk_dltensor_wrap(dl, NULL, &t, err));
	if (lifetime == MPK_LIFETIME_OWNED && mpk_dldevice_is_host(dl->device)) {
		enum mpk_code code = mpk_tensor_compact(t, &copy, err);

		mpk_tensor_drop(t);
		MPK_TRY(code);
		t = copy;
	}
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}
