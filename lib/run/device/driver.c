/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - driver libraries: looked for once, kept open, never required to build or to start
 *
 * Nothing links a driver, so that the programs start and list files on machines without one. The
 * first failure is kept and repeated: whoever asks for the same library again gets the same
 * sentence, and no search.
 */
#include "device/internal/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "text/escape.h"

static enum mpk_code fill_table(const struct mpk_driver *driver, void *handle, const char *library,
				struct mpk_error *err)
{
	for (const struct mpk_driver_symbol *s = driver->symbols; s->name; s++) {
		void *address = dlsym(handle, s->name);

		if (!address && s->need == MPK_DRIVER_NEEDS)
			return mpk_fail(err, MPK_E_DEVICE, "%s has no '%s': the driver is too old",
					library, s->name);
		/* a function pointer: C has no cast from void * to one */
		memcpy((char *)driver->table + s->offset, &address, sizeof address);
	}
	return MPK_OK;
}

/* RTLD_LOCAL: symbols of a driver must not be found by code that looks for its own. */
static enum mpk_code open_driver(const struct mpk_driver *driver, struct mpk_error *err)
{
	const char *const *name = driver->names;
	bool explained = false;
	char reason[512]; /* the linker's text for the first name: the best known one */

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
	if (strncmp(reason, driver->names[0], strlen(driver->names[0])) == 0)
		return mpk_fail(err, MPK_E_DEVICE, "cannot open %s",
				MPK_QUOTE(mpk_span_str(reason)));
	return mpk_fail(err, MPK_E_DEVICE, "cannot open %s: %s", driver->names[0],
			MPK_QUOTE(mpk_span_str(reason)));
}

static enum mpk_code open_and_start(const struct mpk_driver *driver, struct mpk_error *err)
{
	MPK_TRY(open_driver(driver, err));
	return driver->start ? driver->start(err) : MPK_OK;
}

/* After the first call only the lock is taken: the outcome does not change while the process
 * runs. */
enum mpk_code mpk_driver_get(struct mpk_driver *driver, struct mpk_error *err)
{
	(void)pthread_mutex_lock(&driver->lock);
	if (!driver->tried) {
		driver->tried = true;
		driver->code = open_and_start(driver, &driver->error);
		if (driver->code != MPK_OK)
			mpk_error_prefix(&driver->error, "%s", driver->without);
	}
	(void)pthread_mutex_unlock(&driver->lock);
	if (driver->code == MPK_OK)
		return MPK_OK;
	if (err)
		*err = driver->error;
	return mpk_failed(driver->code);
}
