/* SPDX-License-Identifier: Apache-2.0 */
/* The table of code formats, and nothing else: a test links another one in its place. */
#include "code/format.h"

const struct mpk_code_format *const mpk_code_formats[] = {
#define MPK_CODE_FORMAT(name) &mpk_format_##name,
#include "code/formats.def"
#undef MPK_CODE_FORMAT
	NULL,
};
