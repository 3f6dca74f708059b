/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - errors in the library's convention, and drivers opened at first use */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

#include "launch/standalone/loader.h"

/* The loader of the library fills the context pointer. A program that links the library defines the
 * function itself. If neither is the case, errors cannot be reported. */
#ifdef MPK_SA_LEGACY
__attribute__((weak, visibility("default"))) void (*__TVMAPISetLastError)(const char *);
extern __attribute__((weak)) void TVMAPISetLastError(const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	char whole[1200];

	(void)snprintf(whole, sizeof whole, "%s: %s", kind, text);
	if (__TVMAPISetLastError)
		__TVMAPISetLastError(whole);
	else if (TVMAPISetLastError)
		TVMAPISetLastError(whole);
}
#else
__attribute__((weak, visibility("default"))) void (*__TVMFFIErrorSetRaisedFromCStr)(const char *,
										    const char *);
extern __attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);

void mpk_sa_raise(const char *kind, const char *text)
{
	if (__TVMFFIErrorSetRaisedFromCStr)
		__TVMFFIErrorSetRaisedFromCStr(kind, text);
	else if (TVMFFIErrorSetRaisedFromCStr)
		TVMFFIErrorSetRaisedFromCStr(kind, text);
}
#endif

int mpk_sa_fail(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_sa_raise("RuntimeError", text);
	return -1;
}

int mpk_sa_refuse(const char *kind, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_sa_raise(kind, text);
	return -1;
}

int mpk_sa_load(const char *const *names, const struct mpk_sa_symbol *symbols, const char *install)
{
	void *so = NULL;

	for (unsigned i = 0; names[i] && !so; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return mpk_sa_fail("cannot open %s: %s%s", names[0], dlerror(), install);
	for (unsigned i = 0; symbols[i].name; i++) {
		*symbols[i].slot = dlsym(so, symbols[i].name);
		if (!*symbols[i].slot && !symbols[i].optional)
			return mpk_sa_fail("%s has no %s: the driver is too old", names[0],
					   symbols[i].name);
	}
	return 0;
}
