/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - documents that others wrote, read by Jansson */
#ifndef MPK_TEXT_JSON_READ_H
#define MPK_TEXT_JSON_READ_H

#include <jansson.h>

#include "base/span.h"

/* mpk_json_read - json_loadb, where memory may be out
 * Jansson does not look whether its buffer for a string could grow, and goes on behind its end. Here the first
 * allocation that fails ends the reading; what was read by then is not given back.
 * @flags   of json_loadb
 * @why     may be NULL
 * Returns  the document, the caller's reference; NULL: *why tells, json_error_out_of_memory among it */
json_t *mpk_json_read(struct mpk_span text, size_t flags, json_error_t *why);

#endif
