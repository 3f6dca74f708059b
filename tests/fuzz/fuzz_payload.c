/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_payload - any bytes as a payload: the first byte chooses the kind, the second the generation
 *
 * What decodes must encode to the same bytes, list its parts and print its listing. */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpk_arena arena MPK_CLEANUP(mpk_arena_fini) = { 0 };
	const struct mpk_kind *kind;
	struct mpk_params params;
	size_t kinds = 0;

	if (size < 2)
		return 0;
	while (mpk_kind_at(kinds))
		kinds++;

	struct mpk_source source = { mpk_span_of(data + 2, size - 2), 0 };

	if (data[0] % (kinds + 1) == kinds) {
		(void)!mpk_params_read(source.span, &arena, &params, NULL);
		return 0;
	}
	kind = mpk_kind_at(data[0] % (kinds + 1));
	fuzz_payload(kind, (enum mpk_generation)(data[1] % MPK_GENERATION_COUNT), source, &arena);
	return 0;
}
