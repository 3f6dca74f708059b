#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "device/backend.h"
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

	if (near < MPK_ARRAY_COUNT(names))
		return mpk_fail(err, MPK_E_USAGE, "unknown device '%s'; did you mean '%s'?",
				MPK_QUOTE(word), back_ends[near]->name);
	return mpk_fail(err, MPK_E_USAGE, "unknown device '%s' (cpu, opencl[:N] or cuda[:N])",
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

enum mpk_code mpk_device_list_add(struct mpk_device_list *list, enum mpk_device_kind kind,
				  struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(kind);

	if (!ops)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	return ops->list(list, err);
}

enum mpk_code mpk_device_list_push(struct mpk_device_list *list, const struct mpk_device_info *info,
				   struct mpk_error *err)
{
	if (!mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *list->items))
		return mpk_fail_nomem(err);
	list->items[list->count++] = *info;
	return MPK_OK;
}

void mpk_device_list_fini(struct mpk_device_list *list)
{
	free(list->items);
	*list = (struct mpk_device_list){ 0 };
}

enum mpk_code mpk_device_no_such(struct mpk_error *err, const char *kind, unsigned ordinal,
				 size_t count)
{
	if (count == 1)
		return mpk_fail(err, MPK_E_DEVICE, "no device %s:%u: %s:0 is the only one", kind,
				ordinal, kind);
	return mpk_fail(err, MPK_E_DEVICE, "no device %s:%u: there are %s:0 to %s:%zu", kind,
			ordinal, kind, kind, count - 1);
}

enum mpk_code mpk_device_fail_log(struct mpk_error *err, enum mpk_code code, const char *what,
				  const char *log)
{
	char shown[700];
	size_t used = 0;

	shown[0] = '\0';
	while (*log) {
		size_t len = strcspn(log, "\n");
		char line[400];

		if (len) {
			mpk_escape_to(mpk_span_of(log, len), line, sizeof line);
			if (used + strlen(line) + 4 > sizeof shown)
				break;
			used += (size_t)snprintf(shown + used, sizeof shown - used, "\n  %s", line);
		}
		log += len + (log[len] == '\n');
	}
	return mpk_fail(err, code, "%s%s%s", what, used ? ":" : "", shown);
}

enum mpk_code mpk_device_open(enum mpk_device_kind kind, unsigned ordinal, struct mpk_device **out,
			      struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(kind);

	if (!ops)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	return ops->open(ordinal, out, err);
}

void mpk_device_close(struct mpk_device *device)
{
	if (!device)
		return;
	while (device->modules)
		mpk_device_unload(device->modules);
	device->ops->close(device);
}

const struct mpk_device_info *mpk_device_get_info(const struct mpk_device *device)
{
	return &device->info;
}

enum mpk_code mpk_device_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err)
{
	return device->ops->alloc(device, bytes, out, err);
}

enum mpk_code mpk_device_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err)
{
	if (!device->ops->alloc_texture)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s devices have no textures here",
				device->ops->name);
	return device->ops->alloc_texture(device, texture, out, err);
}

void mpk_device_free(struct mpk_device *device, void *data)
{
	if (data)
		device->ops->free(device, data);
}

enum mpk_code mpk_device_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err)
{
	return from.len ? device->ops->write(device, to, to_off, from, err) : MPK_OK;
}

enum mpk_code mpk_device_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err)
{
	return n ? device->ops->read(device, from, from_off, to, n, err) : MPK_OK;
}

enum mpk_code mpk_device_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err)
{
	return copy->bytes ? device->ops->copy(device, copy, err) : MPK_OK;
}

enum mpk_code mpk_device_sync(struct mpk_device *device, struct mpk_error *err)
{
	return device->ops->sync(device, err);
}

enum mpk_code mpk_device_set_stream(struct mpk_device *device, void *stream, struct mpk_error *err)
{
	if (stream && !device->ops->takes_streams)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s devices have one queue, no streams",
				device->ops->name);
	device->stream = stream;
	return MPK_OK;
}

enum mpk_code mpk_device_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err)
{
	const struct mpk_device_ops *ops = find_ops(info->kind);

	if (!ops)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "no back end runs this kind of device");
	return ops->check(info, kernels, err);
}
