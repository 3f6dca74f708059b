/* SPDX-License-Identifier: Apache-2.0 */
/* device_kind.c - the kinds of devices as devices.def lists them, and the one that a library's functions expect their
 * tensors on, which its kernels tell */
#include "program/device_kind.h"

#include <string.h>

#include "base/compiler.h"
#include "kinds.h"
#include "text/escape.h"

static const struct kind_row {
	enum mpk_device_kind kind;
	const char *name, *module_kinds;
} kind_rows[] = {
#define MPK_DEVICE(name, dlpack, module_kinds) { MPK_DEVICE_##dlpack, #name, module_kinds },
#include "program/devices.def"
#undef MPK_DEVICE
};

#define MPK_DEVICE(name, dlpack, module_kinds) ", " #name
static const char kind_names[] =
#include "program/devices.def"
	;
#undef MPK_DEVICE

const char *mpk_device_kind_names(void)
{
	return kind_names + strlen(", ");
}

const enum mpk_device_kind mpk_device_kinds[] = {
#define MPK_DEVICE(name, dlpack, module_kinds) MPK_DEVICE_##dlpack,
#include "program/devices.def"
#undef MPK_DEVICE
};

const char *mpk_device_kind_name(enum mpk_device_kind kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kind_rows); i++)
		if (kind_rows[i].kind == kind)
			return kind_rows[i].name;
	return "none";
}

/* Words with blanks between them. */
static bool lists(const char *words, struct mpk_span word)
{
	for (; *words; words += strspn(words, " ")) {
		size_t len = strcspn(words, " ");

		if (mpk_span_equal(mpk_span_of(words, len), word))
			return true;
		words += len;
	}
	return false;
}

enum mpk_device_kind mpk_device_kind_of(struct mpk_span module_kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kind_rows); i++)
		if (lists(kind_rows[i].module_kinds, module_kind))
			return kind_rows[i].kind;
	return MPK_DEVICE_NONE;
}

enum mpk_device_kind mpk_device_kind_from(int64_t dlpack_type)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kind_rows); i++)
		if ((int64_t)kind_rows[i].kind == dlpack_type)
			return kind_rows[i].kind;
	return MPK_DEVICE_NONE;
}

/* A kind of module with device code that no back end here runs. */
static bool is_foreign(struct mpk_span kind)
{
	const struct mpk_kind *row = mpk_kind_find(kind);

	return row && row->role == MPK_ROLE_DEVICE && mpk_device_kind_of(kind) == MPK_DEVICE_NONE;
}

struct mpk_dldevice mpk_devices_of(const struct mpk_tree *tree)
{
	struct mpk_dldevice found = { MPK_DL_CPU, 0 };

	for (size_t i = 0; tree && i < tree->count; i++) {
		int32_t kind = (int32_t)mpk_device_kind_of(tree->nodes[i].kind);

		if (kind <= MPK_DL_CPU || kind == found.type)
			continue;
		if (found.type != MPK_DL_CPU)
			return (struct mpk_dldevice){ MPK_DL_CPU, 0 };
		found.type = kind;
	}
	return found;
}

enum mpk_code mpk_devices_default(const struct mpk_tree *tree, struct mpk_dldevice *out,
				  struct mpk_error *err)
{
	const struct mpk_node *foreign = NULL;
	bool runs = false;

	for (size_t i = 0; tree && i < tree->count; i++) {
		runs |= mpk_device_kind_of(tree->nodes[i].kind) > MPK_DEVICE_CPU;
		if (is_foreign(tree->nodes[i].kind))
			foreign = &tree->nodes[i];
	}
	if (foreign && !runs)
		return mpk_fail(
			err, MPK_E_DEVICE,
			"the device code is of kind '%s', which none of the devices here runs (%s)",
			MPK_QUOTE(foreign->kind), mpk_device_kind_names());
	*out = mpk_devices_of(tree);
	return MPK_OK;
}
