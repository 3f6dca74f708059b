/* SPDX-License-Identifier: Apache-2.0 */
/* default_device.c - the device that a library's functions expect their tensors on, which its kernels tell
 *
 * Apart from device_kind.c, as the table of all kinds of modules is asked here.
 */
#include "kinds.h"
#include "program/device_kind.h"
#include "text/escape.h"

/* A kind of module with device code that no back end here runs. */
static bool is_foreign(struct mpk_span kind)
{
	const struct mpk_kind *row = mpk_kind_find(kind);

	return row && row->role == MPK_ROLE_DEVICE && mpk_device_kind_of(kind) == MPK_DEVICE_NONE;
}

/* With kernels for two kinds of devices nobody can say which is meant: then the host, where a
 * wrong guess is reported and does not crash. */
enum mpk_code mpk_devices_default(const struct mpk_tree *tree, struct mpk_dldevice *out,
				  struct mpk_error *err)
{
	struct mpk_dldevice found = { MPK_DL_CPU, 0 };
	const struct mpk_node *foreign = NULL;
	bool several = false;

	for (size_t i = 0; tree && i < tree->count; i++) {
		int32_t kind = (int32_t)mpk_device_kind_of(tree->nodes[i].kind);

		if (is_foreign(tree->nodes[i].kind))
			foreign = &tree->nodes[i];
		if (kind <= MPK_DL_CPU || kind == found.type)
			continue;
		several = found.type != MPK_DL_CPU;
		found.type = kind;
	}
	if (foreign && found.type == MPK_DL_CPU)
		return mpk_fail(
			err, MPK_E_DEVICE,
			"the device code is of kind '%s', which none of the devices here runs (%s)",
			MPK_QUOTE(foreign->kind), mpk_device_kind_names());
	if (several)
		found.type = MPK_DL_CPU;
	*out = found;
	return MPK_OK;
}
