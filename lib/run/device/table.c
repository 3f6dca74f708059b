/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - the table of back ends: what must know which kinds of device there are
 *
 * A new back end is a file of its own and a row here. Back ends do not know this file.
 */
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "device/internal/backend.h"
#include "text/escape.h"

static const struct mpk_device_ops *const back_ends[] = { &mpk_cpu_ops, &mpk_cuda_ops,
							  &mpk_opencl_ops };

static const struct mpk_device_ops *find_ops(enum mpk_device_kind kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		if (back_ends[i]->kind == kind)
			return back_ends[i];
	return NULL;
}

const char *mpk_device_kind_name(enum mpk_device_kind kind)
{
	const struct mpk_device_ops *ops = find_ops(kind);

	return ops ? ops->name : "none";
}

enum mpk_device_kind mpk_device_kind_of(struct mpk_span module_kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		if (mpk_span_is(module_kind, back_ends[i]->name))
			return back_ends[i]->kind;
	return MPK_DEVICE_NONE;
}

enum mpk_device_kind mpk_device_kind_from(int64_t dlpack_type)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		if ((int64_t)back_ends[i]->kind == dlpack_type)
			return back_ends[i]->kind;
	return MPK_DEVICE_NONE;
}

static enum mpk_code fail_kind(struct mpk_span word, struct mpk_error *err)
{
	struct mpk_span names[MPK_ARRAY_COUNT(back_ends)];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		names[i] = mpk_span_str(back_ends[i]->name);
	size_t near = mpk_closest(word, names, MPK_ARRAY_COUNT(names));

	/* "gpu" is one letter away from "cpu" and the very opposite of it */
	if (near < MPK_ARRAY_COUNT(names) && back_ends[near]->kind != MPK_DEVICE_CPU)
		return mpk_fail(err, MPK_E_USAGE, "unknown device '%s'; did you mean '%s'?",
				MPK_QUOTE(word), back_ends[near]->name);
	return mpk_fail(err, MPK_E_USAGE,
			"unknown device '%s'; there are cpu, opencl[:N] and cuda[:N]",
			MPK_QUOTE(word));
}

enum mpk_code mpk_device_parse(struct mpk_span text, enum mpk_device_kind *kind, unsigned *ordinal,
			       struct mpk_error *err)
{
	const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
	size_t len = colon ? (size_t)(colon - text.data) : text.len;
	struct mpk_span word = mpk_span_of(text.data, len);
	enum mpk_device_kind found = mpk_device_kind_of(word);
	uint64_t number = 0;

	if (found == MPK_DEVICE_NONE)
		return fail_kind(word, err);
	if (colon &&
	    (!mpk_parse_u64(mpk_span_of(colon + 1, text.len - len - 1), &number) || number > 1024))
		return mpk_fail(err, MPK_E_USAGE, "'%s': the device number must be 0 to 1024",
				MPK_QUOTE(text));
	*kind = found;
	*ordinal = (unsigned)number;
	return MPK_OK;
}

/* Whatever the reason: a device that does not open is not there. */
static enum mpk_code as_missing(enum mpk_code code, struct mpk_error *err)
{
	if (code == MPK_OK || code == MPK_E_NOMEM)
		return code;
	if (err)
		err->code = MPK_E_DEVICE;
	return MPK_E_DEVICE;
}

enum mpk_code mpk_device_list_add(struct mpk_device_list *list, enum mpk_device_kind kind,
				  struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(kind);

	if (!ops)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	return as_missing(ops->list(list, err), err);
}

enum mpk_code mpk_device_open(enum mpk_device_kind kind, unsigned ordinal, struct mpk_device **out,
			      struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(kind);

	if (!ops)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	return as_missing(ops->open(ordinal, out, err), err);
}

enum mpk_code mpk_device_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(info->kind);

	if (!ops)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "no back end runs this kind of device");
	return ops->check(info, kernels, err);
}
