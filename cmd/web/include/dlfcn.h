/* SPDX-License-Identifier: Apache-2.0 */
/* dlfcn.h - no library can be opened except the substitute for libcrypto. Callers work without a
 * library or report an error. */
#ifndef MPK_WEB_DLFCN_H
#define MPK_WEB_DLFCN_H

enum { RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_LOCAL = 0, RTLD_GLOBAL = 0x100, RTLD_NOLOAD = 4 };
#define RTLD_DEFAULT ((void *)0)

typedef struct {
	const char *dli_fname;
} Dl_info;

/* implemented by cmd/web/digest.c: libcrypto has two digests; no other library exists */
void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);

static inline int dlclose(void *library)
{
	(void)library;
	return 0;
}

static inline int dladdr(const void *address, Dl_info *info)
{
	(void)address, (void)info;
	return 0;
}

static inline char *dlerror(void)
{
	return (char *)"libraries cannot be opened in a browser";
}

#endif
