/* SPDX-License-Identifier: Apache-2.0 */
/* model_name.c - whether a model has a function of a name, which needs nothing but the names in its payload
 *
 * Apart from model.c, so that an executor that is asked for a name links no reader of signatures.
 */
#include "base/compiler.h"
#include "program/model.h"

static bool relax_has(const struct mpk_payload *p, struct mpk_span name)
{
	const struct mpk_relax *x = &p->u.relax;

	for (size_t i = 0; i < x->func_count; i++)
		if (x->funcs[i].kind != MPK_RELAX_PACKED && mpk_span_equal(x->funcs[i].name, name))
			return true;
	return false;
}

static bool relay_has(const struct mpk_payload *p, struct mpk_span name)
{
	const struct mpk_relay *x = &p->u.relay;

	for (size_t i = 0; i < x->func_count && i < x->globals.count; i++)
		if (mpk_span_equal(x->globals.items[i], name))
			return true;
	return false;
}

static bool factory_has(const struct mpk_payload *p, struct mpk_span name)
{
	return mpk_span_equal(p->u.factory.module_name, name);
}

bool mpk_model_has(const struct mpk_payload *p, struct mpk_span name)
{
	static bool (*const rows[])(const struct mpk_payload *, struct mpk_span) = {
		[MPK_PAYLOAD_RELAX] = relax_has,
		[MPK_PAYLOAD_RELAY] = relay_has,
		[MPK_PAYLOAD_FACTORY] = factory_has,
	};

	return (size_t)p->tag < MPK_ARRAY_COUNT(rows) && rows[p->tag] && rows[p->tag](p, name);
}
