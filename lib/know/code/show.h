/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - a run of code as text and as JSON, whatever its format, and what rows need for it */
#ifndef MPK_CODE_SHOW_H
#define MPK_CODE_SHOW_H

#include "code/info.h"

/* mpk_code_info_text - append one line without its end: "PTX 8.0 for sm_90, 64-bit, 2 kernels", or
 * why it cannot be read */
void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out);

/* mpk_code_info_json - put "format", "offset", "bytes", then "problem" or "entries" and what only
 * its format has */
void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at);

/* mpk_code_put_shape - append ", block 32x2x1"; nothing for zeros
 * mpk_code_json_shape - put three numbers as an array; null for zeros */
void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out);
void mpk_code_json_shape(struct mpk_json *j, struct mpk_json_at *at, const char *key,
			 const uint32_t n[3]);

#endif
