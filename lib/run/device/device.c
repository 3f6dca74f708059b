/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - kinds of devices, lists of devices, and memory of an open device
 *
 * Callers name a device by kind and number; a table has the operations of each kind. This file
 * checks what is common to all back ends, so that they need not: empty ranges, NULL, overlapping
 * ranges, streams. The first part has functions for back ends: lists, and errors that quote a
 * driver.
 *
 * Drivers are opened at run time, not linked, so that the programs start on machines without them.
 * The first failure of opening a driver is stored: later calls return the same error without
 * searching again. */
#include "device/device.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/span.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "device/internal/backend.h"
#include "device/internal/driver.h"
#include "device/profile.h"
#include "text/escape.h"

/* --- for back ends --------------------------------------------------------------------------- */

/* The list is a plain vector: there are few devices, and callers refer to them by index. */
enum mpk_code mpk_device_list_push(struct mpk_device_list *list, const struct mpk_device_info *info,
				   struct mpk_error *err)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(list->items, list->count, list->cap), err);
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

/* Quotes whole lines from the start of the log, because the first error causes the others, as many
 * as fit into an error. Lines are escaped, because a log quotes source text. */
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

struct mpk_device_status mpk_device_status_find(const struct mpk_device_status *rows, size_t count,
						long long number)
{
	struct mpk_device_status found = { .number = number };

	for (size_t i = 0; i < count; i++)
		if (rows[i].number == number)
			found = rows[i];
	if (found.code == MPK_OK)
		found.code = MPK_E_RAISED;
	return found;
}

/* The caller's sentence, which says what was done, comes first. The driver's name of the status
 * follows, because users search for it. */
enum mpk_code mpk_device_fail_status(struct mpk_error *err, const struct mpk_device_status *status,
				     const char *fmt, va_list ap)
{
	char what[512];

	(void)vsnprintf(what, sizeof what, fmt, ap);
	return mpk_fail(err, status->code, "%s: %s (%lld)%s%s", what,
			MPK_QUOTE(mpk_span_str(status->name)), status->number,
			status->cause ? ": " : "", status->cause ? status->cause : "");
}

/* --- the kinds of devices -------------------------------------------------------------------- */

#define BACK_END_ROW(name, dlpack) { MPK_DEVICE_##dlpack, #name, &mpk_##name##_ops },

static const struct back_end {
	enum mpk_device_kind kind;
	const char *name;
	const struct mpk_device_ops *ops;
} back_ends[] = { MPK_PROFILE_BACK_ENDS(BACK_END_ROW) };

static const struct back_end *back_end_of(enum mpk_device_kind kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		if (back_ends[i].kind == kind)
			return &back_ends[i];
	return NULL;
}

/* The number is bounded because it becomes an int of the driver; no machine has a thousand
 * devices. */
enum mpk_code mpk_device_parse(struct mpk_span text, enum mpk_device_kind *kind, unsigned *ordinal,
			       struct mpk_error *err)
{
	const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
	size_t len = colon ? (size_t)(colon - text.data) : text.len;
	struct mpk_span word = mpk_span_of(text.data, len);
	enum mpk_device_kind found = MPK_DEVICE_NONE;
	uint64_t number = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
		if (mpk_span_is(word, back_ends[i].name))
			found = back_ends[i].kind;
	if (found == MPK_DEVICE_NONE) {
		struct mpk_span names[MPK_ARRAY_COUNT(back_ends)];

		for (size_t i = 0; i < MPK_ARRAY_COUNT(back_ends); i++)
			names[i] = mpk_span_str(back_ends[i].name);
		size_t near = mpk_closest(word, names, MPK_ARRAY_COUNT(names));

		/* "gpu" is one letter away from "cpu" and the very opposite of it */
		if (near < MPK_ARRAY_COUNT(names) && back_ends[near].kind != MPK_DEVICE_CPU)
			return mpk_fail(err, MPK_E_USAGE, "unknown device '%s'; did you mean '%s'?",
					MPK_QUOTE(word), back_ends[near].name);
		return mpk_fail(
			err, MPK_E_USAGE,
			"unknown device '%s'; there are %s, and opencl:N for others than the first",
			MPK_QUOTE(word), mpk_device_kind_names());
	}
	if (colon &&
	    (!mpk_parse_u64(mpk_span_of(colon + 1, text.len - len - 1), &number) || number > 1024))
		return mpk_fail(err, MPK_E_USAGE, "'%s': the device number must be 0 to 1024",
				MPK_QUOTE(text));
	*kind = found;
	*ordinal = (unsigned)number;
	return MPK_OK;
}

/* Whatever the reason, a device that cannot be opened is reported as missing. */
static enum mpk_code as_missing(enum mpk_code code, struct mpk_error *err)
{
	if (code == MPK_OK || code == MPK_E_NOMEM)
		return code;
	if (err)
		err->code = MPK_E_DEVICE;
	return MPK_E_DEVICE;
}

/* A driver may have no hardware or fail to start. For a caller both mean that there is no such
 * device; the text gives the reason. */
enum mpk_code mpk_device_list_add(struct mpk_device_list *list, enum mpk_device_kind kind,
				  struct mpk_error *err)
{
	const struct back_end *b = back_end_of(kind);

	if (!b)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	return as_missing(b->ops->list(list, err), err);
}

bool mpk_device_runs(enum mpk_device_kind kind)
{
	return back_end_of(kind) != NULL;
}

enum mpk_code mpk_device_open(enum mpk_device_kind kind, unsigned ordinal, const char *cuda_home,
			      struct mpk_device **out, struct mpk_error *err)
{
	const struct back_end *b = back_end_of(kind);

	if (!b)
		return mpk_fail(err, MPK_E_DEVICE, "no back end runs this kind of device");
	MPK_TRY(as_missing(b->ops->open(ordinal, out, err), err));
	(*out)->cuda_home = cuda_home;
	return MPK_OK;
}

enum mpk_code mpk_device_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err)
{
	const struct back_end *b = back_end_of(info->kind);

	if (!b || !b->ops->code)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "device kernels do not run on the %s",
				b ? b->name : "none");
	return b->ops->code->check(info, kernels, err);
}

/* --- an open device -------------------------------------------------------------------------- */

/* Modules go first: unloading one needs the device's context. */
void mpk_device_close(struct mpk_device *device)
{
	if (!device)
		return;
	while (device->modules)
		mpk_device_unload(device->modules);
	device->ops->close(device);
}

enum mpk_code mpk_device_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err)
{
	return device->ops->alloc(device, bytes, out, err);
}

/* A back end without images leaves this operation NULL. */
enum mpk_code mpk_device_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err)
{
	if (!device->ops->alloc_texture)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s devices have no textures here",
				mpk_device_kind_name(device->info.kind));
	return device->ops->alloc_texture(device, texture, out, err);
}

void mpk_device_free(struct mpk_device *device, void *data)
{
	if (data)
		device->ops->free(device, data);
}

/* With 0 bytes no driver call is made, because clEnqueueWriteBuffer fails on a size of 0. */
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
	uint64_t gap = copy->to_off > copy->from_off ? copy->to_off - copy->from_off
						     : copy->from_off - copy->to_off;

	/* drivers treat overlapping copies differently */
	if (copy->to == copy->from && gap < copy->bytes)
		return mpk_fail(err, MPK_E_RANGE,
				"copy of %" PRIu64 " bytes at %" PRIu64 " to %" PRIu64
				" of the same memory: the ranges overlap",
				copy->bytes, copy->from_off, copy->to_off);
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
				mpk_device_kind_name(device->info.kind));
	if (stream != device->stream) /* work on the new stream does not wait for work on the old
				       * stream */
		MPK_TRY(mpk_device_sync(device, err));
	device->stream = stream;
	return MPK_OK;
}

/* --- shared objects of drivers ---------------------------------------------------------------- */

static enum mpk_code fill_table(const struct mpk_driver *driver, void *handle, const char *library,
				struct mpk_error *err)
{
	for (const struct mpk_driver_symbol *s = driver->symbols; s->name; s++) {
		void *address = dlsym(handle, s->name);

		if (!address && s->need == MPK_DRIVER_NEEDS)
			return mpk_fail(err, MPK_E_DEVICE, "%s has no '%s': the driver is too old",
					library, s->name);
		/* ISO C has no cast from void * to a function pointer */
		memcpy((char *)driver->table + s->offset, &address, sizeof address);
	}
	return MPK_OK;
}

/* RTLD_LOCAL: other code must not bind to the driver's symbols by accident. */
static enum mpk_code open_driver(const struct mpk_driver *driver, struct mpk_error *err)
{
	const char *const *name = driver->names;
	bool explained = false, named;
	char reason[512]; /* dlopen's error for the first name, which is the best known one */

	(void)snprintf(reason, sizeof reason, "%s", *name);
	do {
		void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);

		if (handle)
			return fill_table(driver, handle, *name, err);
		const char *said = dlerror();

		if (!explained && said)
			(void)snprintf(reason, sizeof reason, "%s", said);
		explained = explained || said;
	} while (*++name);
	/* glibc's text begins with the name, musl's does not */
	named = strncmp(reason, driver->names[0], strlen(driver->names[0])) == 0;
	return mpk_fail(err, MPK_E_DEVICE, "cannot open %s%s%s%s", named ? "" : driver->names[0],
			named ? "" : ": ", MPK_QUOTE(mpk_span_str(reason)),
			driver->install ? driver->install : "");
}

static enum mpk_code open_and_start(const struct mpk_driver *driver, struct mpk_error *err)
{
	MPK_TRY(open_driver(driver, err));
	return driver->start ? driver->start(err) : MPK_OK;
}

/* After the first call only the lock is taken: the result does not change while the process runs. */
enum mpk_code mpk_driver_get(const struct mpk_driver *driver, struct mpk_error *err)
{
	struct mpk_driver_result *r = driver->result;

	(void)pthread_mutex_lock(&r->lock);
	if (!r->tried) {
		r->tried = true;
		r->code = open_and_start(driver, &r->error);
		if (r->code != MPK_OK)
			mpk_error_prefix(&r->error, "%s", driver->without);
	}
	(void)pthread_mutex_unlock(&r->lock);
	if (r->code == MPK_OK)
		return MPK_OK;
	if (err)
		*err = r->error;
	return mpk_failed(r->code);
}
