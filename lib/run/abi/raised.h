/* SPDX-License-Identifier: Apache-2.0 */
/* raised.h - the error that module code or one of our functions raised in this thread
 *
 * C code raises by leaving kind and message here and returning non-zero. When our own
 * function fails within a call (no device, say) its code is kept, so that the outermost
 * caller still sees what went wrong and not just that something did.
 */
#ifndef MPK_ABI_RAISED_H
#define MPK_ABI_RAISED_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

enum { MPK_RAISED_KIND_MAX = 64 };

struct mpk_raised {
	bool is_set;
	enum mpk_code code;             /* MPK_E_RAISED, or what our function failed with */
	char kind[MPK_RAISED_KIND_MAX]; /* "ValueError" */
	char message[sizeof((struct mpk_error *)0)->text];
};

/* mpk_raised_get - this thread's; never NULL */
struct mpk_raised *mpk_raised_get(void);

/* mpk_raised_set - raise; over-long texts are cut */
void mpk_raised_set(enum mpk_code code, struct mpk_span kind, struct mpk_span message);

/* mpk_raised_set_error - raise what one of our functions failed with */
void mpk_raised_set_error(const struct mpk_error *error);

/* mpk_raised_take - turn what is raised into *err, "Kind: message", and clear it
 * Returns  its code; MPK_E_RAISED with a sentence saying so when nothing was left */
enum mpk_code mpk_raised_take(int status, struct mpk_error *err);

/* mpk_raised_forward - have every raise also done through fn, kind and message as C
 * strings (a real libtvm_ffi.so keeps an error of its own); NULL: no longer */
void mpk_raised_forward(void (*fn)(const char *kind, const char *message));

#endif
