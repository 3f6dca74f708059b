/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - the table of code formats, in a file of its own because a test links another table */
#include "code/format.h"

const struct mpk_code_format *const mpk_code_formats[] = {
#define MPK_CODE_FORMAT(name) &mpk_format_##name,
#include "code/formats.def"
#undef MPK_CODE_FORMAT
	NULL,
};
