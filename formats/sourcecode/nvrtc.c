/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - options of the run-time compiler, which a kernel module has no other place for */
#include <string.h>

#include "sourcecode/sourcecode.h"

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool mpk_source_code_nvrtc(struct mpk_span bytes, struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX],
			   size_t *count)
{
	const uint8_t *end;
	size_t at = strlen(MPK_SOURCE_CODE_NVRTC), len;

	*count = 0;
	if (!mpk_span_starts(bytes, MPK_SOURCE_CODE_NVRTC))
		return true;
	end = memchr(bytes.data, '\n', bytes.len);
	len = end ? (size_t)(end - bytes.data) : bytes.len;
	for (;;) {
		while (at < len && is_blank(bytes.data[at]))
			at++;
		if (at == len)
			return true;

		size_t start = at;
		while (at < len && !is_blank(bytes.data[at]))
			at++;
		if (bytes.data[start] != '-' || *count == MPK_SOURCE_CODE_NVRTC_MAX)
			return false;
		words[(*count)++] = mpk_span_of(bytes.data + start, at - start);
	}
}
