/* driver.h - a driver library opened at first use, its symbols into a table */
#ifndef MPK_DEVICE_DRIVER_H
#define MPK_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* One symbol: where in the table of function pointers it goes. */
struct mpk_driver_symbol {
	const char *name;
	size_t offset; /* of the pointer within the table struct */
	bool required;
};

/* mpk_driver_open - dlopen the first of names that exists and fill the table
 * @names   ended by NULL; sonames or paths
 * @symbols ended by a row with name NULL; pointers of optional symbols that are absent
 *          become NULL
 * @table   the struct of function pointers
 * Returns  MPK_OK; MPK_E_DEVICE naming the library, the dynamic linker's reason or the
 *          missing symbol. An opened library is never closed: drivers keep threads. */
enum mpk_code mpk_driver_open(const char *const *names, const struct mpk_driver_symbol *symbols,
			      void *table, struct mpk_error *err) MPK_MUST_CHECK;

#endif
