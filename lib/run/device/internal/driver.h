/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - a driver library opened at first use, its symbols into a table; private to lib/run/device */
#ifndef MPK_DEVICE_INTERNAL_DRIVER_H
#define MPK_DEVICE_INTERNAL_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* One symbol: where in the table of function pointers it goes. */
struct mpk_driver_symbol {
	const char *name;
	size_t offset; /* of the pointer within the table struct */
	bool required;
};

/* One library; static storage, one for each. */
struct mpk_driver {
	const char *const *names; /* ended by NULL; sonames or paths, the first that exists */
	const struct mpk_driver_symbol *symbols; /* ended by a row with name NULL */
	void *table; /* the struct of function pointers; optional ones that are absent are NULL */
	enum mpk_code (*start)(struct mpk_error *err); /* run when it is filled; may be NULL */
	const char *without;                           /* begins messages: "no CUDA here: " */
	/* of mpk_driver_get; init lock with PTHREAD_MUTEX_INITIALIZER */
	pthread_mutex_t lock;
	bool tried;
	enum mpk_code code;
	struct mpk_error error;
};

/* mpk_driver_get - open the library, fill the table and start it, once; later calls say again
 * how that went. Safe from several threads.
 * Returns  MPK_OK; MPK_E_DEVICE naming the library, the dynamic linker's reason or the missing
 *          symbol; what start returns. An opened library is never closed: drivers keep threads. */
enum mpk_code mpk_driver_get(struct mpk_driver *driver, struct mpk_error *err) MPK_MUST_CHECK;

#endif
