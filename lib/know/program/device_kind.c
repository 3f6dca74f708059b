/* SPDX-License-Identifier: Apache-2.0 */
/* device_kind.c - the kinds of devices as devices.def lists them */
#include "program/device_kind.h"

#include <string.h>

#include "base/compiler.h"

static const struct kind_row {
	enum mpk_device_kind kind;
	const char *name, *module_kind;
} kind_rows[] = {
#define MPK_DEVICE(name, dlpack, module_kind) { MPK_DEVICE_##dlpack, #name, module_kind },
#include "program/devices.def"
#undef MPK_DEVICE
};

#define MPK_DEVICE(name, dlpack, module_kind) ", " #name
static const char kind_names[] =
#include "program/devices.def"
	;
#undef MPK_DEVICE

const char *mpk_device_kind_names(void)
{
	return kind_names + strlen(", ");
}

const enum mpk_device_kind mpk_device_kinds[] = {
#define MPK_DEVICE(name, dlpack, module_kind) MPK_DEVICE_##dlpack,
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

enum mpk_device_kind mpk_device_kind_of(struct mpk_span module_kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kind_rows); i++)
		if (kind_rows[i].module_kind && mpk_span_is(module_kind, kind_rows[i].module_kind))
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
