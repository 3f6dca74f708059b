/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h - bytes as text of RFC 4648's standard alphabet, in which keys and signatures travel */
#ifndef MPK_TEXT_BASE64_H
#define MPK_TEXT_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"

/* mpk_base64_put - append bytes in base64, padded, on one line */
void mpk_base64_put(struct mpk_strbuf *out, struct mpk_span bytes);

/* mpk_base64_read - the bytes of a text; white space between its characters is passed over
 * @out     room bytes; what it holds after a failure is undefined
 * @len     receives how many there are
 * Returns  false: a character of another alphabet, bits after the last byte that are not zero,
 *          missing padding, text after it, or more than room bytes */
bool mpk_base64_read(struct mpk_span text, uint8_t *out, size_t room, size_t *len);

#endif
