/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL's libcrypto, opened when it is first needed: loading it takes
 * time and memory, which programs that hash nothing need not spend. All symbols are looked up before any is
 * used, so that a library without one of them is refused as a whole. */
#include "io/libcrypto.h"

#include <dlfcn.h>
#include <string.h>

enum mpk_code mpk_libcrypto_load(const char *what, const char *const *names, size_t count,
				 void *table, struct mpk_error *err)
{
	/* the name that OpenSSL gives the library for the ABI of its version 3 */
	void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return mpk_fail(
			err, MPK_E_LOAD,
			"%s needs OpenSSL's libcrypto.so.3, which cannot be loaded; install OpenSSL 3 (Debian: apt install libssl3)",
			what);
	for (size_t i = 0; i < count; i++) {
		if (dlsym(lib, names[i]))
			continue;
		dlclose(lib);
		return mpk_fail(err, MPK_E_LOAD, "libcrypto.so.3 has no %s", names[i]);
	}
	for (size_t i = 0; i < count; i++) {
		/* copied as bytes, since ISO C has no conversion between object and
		 * function pointers */
		void *symbol = dlsym(lib, names[i]);

		memcpy((char *)table + i * sizeof symbol, &symbol, sizeof symbol);
	}
	return MPK_OK;
}
