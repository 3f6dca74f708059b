/* SPDX-License-Identifier: Apache-2.0 */
/* hint.h - what a user of minspect can do about an error
 *
 * An error of what runs models ends at the fact, since an application that links it has no options. Here the
 * option is added that helps.
 */
#ifndef MPK_SESSION_HINT_H
#define MPK_SESSION_HINT_H

#include "base/error.h"
#include "signature/signature.h"

/* mpk_hint_add - to an error whose fact is known here what helps; others, and those that have it, stay as they are
 * NULL is fine. A text that would not fit is cut at its end. */
void mpk_hint_add(struct mpk_error *err);

/* mpk_hint_add_call - to an error of a call that does not fit the signature: a call that does. Nothing for a
 * function without inputs */
void mpk_hint_add_call(const struct mpk_signature *signature, struct mpk_error *err);

#endif
