/* SPDX-License-Identifier: Apache-2.0 */
/* consts.c - the constants of host code: named tensors, and nothing else */
#include "payload/payload_view.h"

/* Their names are parts for --filter, and what --diff knows a module by that has moved. */
static bool constant_at(const struct mpk_payload *p, size_t index, struct mpk_span *name)
{
	const struct mpk_strs *names = &p->u.consts.consts.names;

	if (index >= names->count)
		return false;
	*name = names->items[index];
	return true;
}

static void consts_put_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_params *consts = &p->u.consts.consts;
	uint64_t bytes = 0;

	for (size_t i = 0; i < consts->names.count; i++)
		bytes += consts->tensors[i].data.len; /* parts of one file: the sum cannot wrap */
	mpk_put_tensor_counts(consts->names.count, bytes, "constant", out);
}

static void put_constant(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_params *consts = &p->u.consts.consts;

	mpk_tensor_text(consts->names.items[index], &consts->tensors[index], out);
}

const struct mpk_payload_view mpk_payload_view_consts = {
	.part = constant_at,
	.defines = constant_at,
	.counts = consts_put_counts,
	.part_text = put_constant,
};
