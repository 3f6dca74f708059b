#include "device/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "text/escape.h"

static enum mpk_code fill(void *handle, const char *library,
			  const struct mpk_driver_symbol *symbols, void *table,
			  struct mpk_error *err)
{
	for (const struct mpk_driver_symbol *s = symbols; s->name; s++) {
		void *address = dlsym(handle, s->name);

		if (!address && s->required)
			return mpk_fail(err, MPK_E_DEVICE, "%s has no '%s': the driver is too old",
					library, s->name);
		memcpy((char *)table + s->offset, &address, sizeof address);
	}
	return MPK_OK;
}

enum mpk_code mpk_driver_open(const char *const *names, const struct mpk_driver_symbol *symbols,
			      void *table, struct mpk_error *err)
{
	const char *const *name = names;
	bool explained = false;
	char reason[512]; /* the linker's text for the first name: the best known one */

	(void)snprintf(reason, sizeof reason, "%s", names[0]);
	do {
		void *handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);

		if (handle)
			return fill(handle, *name, symbols, table, err);
		const char *said = dlerror();

		if (!explained && said)
			(void)snprintf(reason, sizeof reason, "%s", said);
		explained = explained || said;
	} while (*++name);
	return mpk_fail(err, MPK_E_DEVICE, "cannot open %s", MPK_QUOTE(mpk_span_str(reason)));
}
