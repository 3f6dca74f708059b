/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - what is looked up by name for each function and kernel that is shown, found once for all of them */
#ifndef MPK_MODEL_INTERNAL_NAMES_H
#define MPK_MODEL_INTERNAL_NAMES_H

#include "model/view.h"
#include "value/dltensor.h"

struct mpk_view_model_name {
	struct mpk_span name;
	const struct mpk_signature *signature;
};

struct mpk_view_names {
	const struct mpk_span *shared; /* keys of kernels that several modules have; sorted */
	size_t shared_count;
	const struct mpk_view_model_name *models; /* what executors have; sorted, each name once */
	size_t model_count;
	const size_t *targets; /* of image->functions: which one an alias stands for, else itself;
				* SIZE_MAX: the file has none of that name. NULL: there are no aliases */
	struct mpk_dldevice device; /* where --run puts tensors when nobody says; type 0: nowhere */
};

/* mpk_view_read_names - fill view->names, once payloads are decoded; in time that is linear but for sorting
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_read_names(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_kernel_is_shared - whether kernels of several modules have this key */
bool mpk_view_kernel_is_shared(const struct mpk_view *view, struct mpk_span key);

#endif
