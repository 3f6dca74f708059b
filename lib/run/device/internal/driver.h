/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - a driver library opened at first use, its functions in a table; private to lib/run/device
 *
 * A back end lists what it calls of its library once, in a macro with a row a symbol:
 *
 *   #define ACME_SYMBOLS(X)  \
 *       X(alloc, "acmeAlloc_v2", MPK_DRIVER_NEEDS, (void **data, size_t bytes))  \
 *       X(free, "acmeFree", MPK_DRIVER_NEEDS, (void *data))
 *
 * that is where the function is stored, the name that the library exports, whether that may be
 * absent, and what the back end needs to declare the member. From it follow the struct of function
 * pointers (an X that declares a member) and the rows that fill it (an X that is MPK_DRIVER_SYMBOL). A
 * struct mpk_driver then names the library's files, the rows and the struct. CUDA, HIP, NVRTC and
 * OpenCL each have such a list; one more needs nothing here.
 */
#ifndef MPK_DEVICE_INTERNAL_DRIVER_H
#define MPK_DEVICE_INTERNAL_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Whether a library without a symbol can be used. */
enum mpk_driver_need {
	MPK_DRIVER_NEEDS,    /* it is too old: mpk_driver_get fails and names the symbol */
	MPK_DRIVER_MAY_LACK, /* the pointer is NULL, and callers ask for that */
};

struct mpk_driver_symbol {
	const char *name; /* as exported, with a version: "cuMemAlloc_v2" */
	enum mpk_driver_need need;
	unsigned offset; /* of the pointer within the struct of function pointers */
};

/* A row for a member of the struct of function pointers. */
#define MPK_DRIVER_SYMBOL(table, member, name, need) { name, need, offsetof(table, member) },

/* How opening a library went: what mpk_driver_get keeps for later calls. It lies apart from the rows of
 * struct mpk_driver, since zeros of static storage take no room in the file. */
struct mpk_driver_result {
	pthread_mutex_t lock; /* init with PTHREAD_MUTEX_INITIALIZER */
	bool tried;
	enum mpk_code code;
	struct mpk_error error;
};

/* One library; static storage, one for each. */
struct mpk_driver {
	const char *const *names; /* ended by NULL; sonames or paths, the first that exists */
	const struct mpk_driver_symbol *symbols; /* ended by a row with name NULL */
	void *table; /* the struct of function pointers; optional ones that are absent are NULL */
	enum mpk_code (*start)(struct mpk_error *err); /* run when it is filled; may be NULL */
	const char *without;                           /* begins messages: "no CUDA here: " */
	const char *
		install; /* ends the message where the library is not there: "; install ..."; may be NULL */
	struct mpk_driver_result *result; /* static storage, one for each */
};

/* mpk_driver_get - open the library, fill the table and start it, once; later calls say again
 * how that went. Safe from several threads.
 * Returns  MPK_OK; MPK_E_DEVICE naming the library, the dynamic linker's reason or the missing
 *          symbol; what start returns. An opened library is never closed: drivers keep threads. */
enum mpk_code mpk_driver_get(const struct mpk_driver *driver, struct mpk_error *err) MPK_MUST_CHECK;

#endif
