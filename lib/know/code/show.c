/* SPDX-License-Identifier: Apache-2.0 */
#include "code/show.h"

#include <inttypes.h>

void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_code_format *f = info->format;

	if (info->problem) {
		mpk_strbuf_printf(out, "%s that cannot be read: ", f->name);
		if (info->problem->at.line)
			mpk_strbuf_printf(out, "line %" PRIu32 ": ", info->problem->at.line);
		mpk_strbuf_puts(out, info->problem->text);
	} else if (f->text) {
		f->text(info, out);
	} else {
		mpk_strbuf_puts(out, f->name);
	}
}

void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at)
{
	struct mpk_json_at *list;

	mpk_json_text(j, at, "format", info->format->word ? info->format->word : "other");
	mpk_json_u64(j, at, "offset", info->off);
	mpk_json_u64(j, at, "bytes", info->bytes.len);
	if (info->problem) {
		mpk_json_error(j, at, "problem", info->problem);
		return;
	}
	list = mpk_json_array(j, at, "entries");
	for (size_t i = 0; i < info->kernel_count; i++)
		mpk_json_span(j, list, NULL, info->kernels[i].name);
	if (info->format->json)
		info->format->json(info, j, at);
}

void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out)
{
	if (n[0])
		mpk_strbuf_printf(out, ", %s %" PRIu32 "x%" PRIu32 "x%" PRIu32, what, n[0], n[1],
				  n[2]);
}

void mpk_code_json_shape(struct mpk_json *j, struct mpk_json_at *at, const char *key,
			 const uint32_t n[3])
{
	struct mpk_json_at *list;

	if (!n[0]) {
		mpk_json_null(j, at, key);
		return;
	}
	list = mpk_json_array(j, at, key);
	for (size_t i = 0; i < 3; i++)
		mpk_json_u64(j, list, NULL, n[i]);
}
