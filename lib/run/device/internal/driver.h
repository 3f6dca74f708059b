/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - opens a driver library at first use and fills a table of its functions; private to
 * lib/run/device
 *
 * A back end lists the functions that it calls in a macro, with a row for each symbol:
 *
 *   #define ACME_SYMBOLS(X)  \
 *       X(alloc, "acmeAlloc_v2", MPK_DRIVER_NEEDS, (void **data, size_t bytes))  \
 *       X(free, "acmeFree", MPK_DRIVER_NEEDS, (void *data))
 *
 * A row has the member that stores the function, the exported name, whether the symbol may be
 * absent, and what the back end needs to declare the member. The macro gives both the struct of
 * function pointers (with an X that declares a member) and the rows that fill it (with
 * MPK_DRIVER_SYMBOL as X). A struct mpk_driver then has the library's file names, the rows and the
 * struct. CUDA, HIP, NVRTC and OpenCL each have such a list; another driver needs no change here. */
#ifndef MPK_DEVICE_INTERNAL_DRIVER_H
#define MPK_DEVICE_INTERNAL_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether a library may lack a symbol. */
enum mpk_driver_need {
	MPK_DRIVER_NEEDS,    /* a library without it is too old: mpk_driver_get fails and names the
			      * symbol */
	MPK_DRIVER_MAY_LACK, /* the pointer is then NULL, and callers test for that */
};

struct mpk_driver_symbol {
	const char *name; /* exported name, with its version: "cuMemAlloc_v2" */
	enum mpk_driver_need need;
	unsigned offset; /* offset of the pointer in the struct of function pointers */
};

/* A row for a member of the struct of function pointers. */
#define MPK_DRIVER_SYMBOL(table, member, name, need) { name, need, offsetof(table, member) },

/* The result of opening a library, which mpk_driver_get keeps for later calls. It is separate from
 * struct mpk_driver, which has initialisers, so that these zeros take no space in the file. */
struct mpk_driver_result {
	pthread_mutex_t lock; /* init with PTHREAD_MUTEX_INITIALIZER */
	bool tried;
	enum mpk_code code;
	struct mpk_error error;
};

/* One driver library; in static storage. */
struct mpk_driver {
	/* file names or paths, of which the first that exists is opened; the list ends with NULL */
	const char *const *names;
	const struct mpk_driver_symbol *symbols; /* the last row has name NULL */
	void *table; /* the struct of function pointers; absent optional functions are NULL */
	enum mpk_code (*start)(struct mpk_error *err); /* called when the table is filled; may be
						        * NULL */
	const char *without;                           /* beginning of messages: "no CUDA here: " */
	const char
		*install; /* end of the message if the library is missing: "; install ..."; may be
			  * NULL */
	struct mpk_driver_result *result; /* static storage, one for each */
};

/* mpk_driver_get - open the library, fill its table and call start, once; later calls return the
 * same result. Thread-safe.
 * Returns  MPK_OK; MPK_E_DEVICE with the library's name and the dynamic linker's reason or the
 *          missing symbol; errors of start. An open library is never closed, because drivers have
 *          threads. */
enum mpk_code mpk_driver_get(const struct mpk_driver *driver, struct mpk_error *err) MPK_MUST_CHECK;

#endif
