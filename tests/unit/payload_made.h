/* SPDX-License-Identifier: Apache-2.0 */
/* payload_made.h - random values of every layout of payloads but those of kernels, and their bytes */
#ifndef MPK_TESTS_UNIT_PAYLOAD_MADE_H
#define MPK_TESTS_UNIT_PAYLOAD_MADE_H

#include "base/native.h"
#include "harness.h"
#include "payload.h"
#include "payload_write.h"

struct gen {
	uint64_t seed;
	struct mpk_arena arena;
};

HARNESS_FN uint64_t below(struct gen *g, uint64_t bound)
{
	return random_below(&g->seed, bound);
}

HARNESS_FN void *make(struct gen *g, size_t count, size_t size)
{
	void *p = mpk_arena_array(&g->arena, count, size);

	ck_assert_ptr_nonnull(p);
	return p;
}

/* Any bytes, also none. */
HARNESS_FN struct mpk_span bytes(struct gen *g, size_t most)
{
	size_t len = below(g, most);
	uint8_t *p = make(g, len + 1, 1);

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)random_next(&g->seed);
	return mpk_span_of(p, len);
}

HARNESS_FN struct mpk_span words(struct gen *g, size_t most, size_t each)
{
	struct mpk_span s = bytes(g, most * each);

	s.len -= s.len % each;
	return s;
}

HARNESS_FN struct mpk_strs strs(struct gen *g, size_t most)
{
	size_t count = below(g, most);
	struct mpk_span *items = make(g, count, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = bytes(g, 20);
	return (struct mpk_strs){ items, count };
}

HARNESS_FN struct mpk_tensor_record tensor(struct gen *g)
{
	static const struct mpk_dtype types[] = { { 2, 32, 1 }, { 0, 8, 1 },  { 1, 1, 1 },
						  { 6, 8, 1 },  { 2, 64, 1 }, { 0, 4, 1 },
						  { 4, 16, 1 } };
	struct mpk_tensor_record t = { .dtype = types[below(g, 7)], .ndim = below(g, 4) };
	int64_t *shape = make(g, t.ndim, sizeof *shape);
	size_t size = (t.dtype.bits + 7u) / 8; /* of an element, as TVM 0.7 on counts */

	for (size_t i = 0; i < t.ndim; i++) {
		shape[i] = (int64_t)below(g, 4);
		size *= (size_t)shape[i];
	}
	t.shape = shape;
	t.data = mpk_span_of(make(g, size + 1, 1), size);
	return t;
}

HARNESS_FN struct mpk_params params(struct gen *g)
{
	struct mpk_params p = { .names = strs(g, 4) };
	struct mpk_tensor_record *tensors = make(g, p.names.count, sizeof *tensors);

	for (size_t i = 0; i < p.names.count; i++)
		tensors[i] = tensor(g);
	p.tensors = tensors;
	return p;
}

/* --- one function for each codec: fills the union ------------------------------------------ */

HARNESS_FN void fill_record(struct gen *g, struct mpk_payload *p)
{
	struct mpk_record *r = &p->u.record;

	r->schema = p->kind->schema;
	for (size_t i = 0; i < r->schema->count; i++) {
		r->values[i].str = bytes(g, 60);
		r->values[i].strs = strs(g, 5);
		r->values[i].number = (int32_t)random_next(&g->seed);
	}
}

HARNESS_FN void fill_factory(struct gen *g, struct mpk_payload *p)
{
	p->u.factory = (struct mpk_factory){
		.has_graph = p->kind->name[0] == 'G',
		.graph_json = bytes(g, 100),
		.params = params(g),
		.module_name = bytes(g, 10),
	};
}

HARNESS_FN void fill_consts(struct gen *g, struct mpk_payload *p)
{
	struct mpk_const_loader *l = &p->u.consts;
	struct mpk_strs *needs;

	*l = (struct mpk_const_loader){ .consts = params(g), .symbols = strs(g, 4) };
	needs = make(g, l->symbols.count, sizeof *needs);
	for (size_t i = 0; i < l->symbols.count; i++)
		needs[i] = strs(g, 3);
	l->needs = needs;
}

HARNESS_FN void fill_ethosn(struct gen *g, struct mpk_payload *p)
{
	size_t count = below(g, 3);
	struct mpk_ethosn_network *n = make(g, count, sizeof *n);
	bool sizes = below(g, 2);

	for (size_t i = 0; i < count; i++) {
		n[i] = (struct mpk_ethosn_network){
			.name = mpk_span_str("network"),
			.compiled = bytes(g, 100),
			.input_order = words(g, 4, 4),
			.output_order = words(g, 4, 4),
		};
		n[i].input_sizes = mpk_span_of(make(g, 16, 1), sizes ? n[i].input_order.len : 0);
		n[i].output_sizes = mpk_span_of(make(g, 16, 1), sizes ? n[i].output_order.len : 0);
	}
	p->u.ethosn = (struct mpk_ethosn){ n, count, sizes };
}

HARNESS_FN struct mpk_relax_const relax_const(struct gen *g)
{
	struct mpk_relax_const k = { .kind = (enum mpk_relax_const_kind)below(g, 6) };

	if (k.kind == MPK_RELAX_TENSOR)
		k.u.tensor = tensor(g);
	else if (k.kind == MPK_RELAX_DTYPE)
		k.u.dtype = (struct mpk_dtype){ 2, 16, 4 };
	else if (k.kind == MPK_RELAX_SHAPE)
		k.u.shape = words(g, 5, 8);
	else if (k.kind == MPK_RELAX_STRING)
		k.u.string = bytes(g, 20);
	else
		k.u.i = (int64_t)random_next(&g->seed);
	return k;
}

HARNESS_FN void fill_relax(struct gen *g, struct mpk_payload *p)
{
	size_t nfuncs = below(g, 4), nconsts = below(g, 8), nscopes = below(g, 3);
	struct mpk_relax_func *funcs = make(g, nfuncs, sizeof *funcs);
	struct mpk_relax_const *consts = make(g, nconsts, sizeof *consts);
	struct mpk_relax_scope *scopes = make(g, nscopes, sizeof *scopes);
	bool has_scopes = below(g, 2);

	for (size_t i = 0; i < nfuncs; i++)
		funcs[i] = (struct mpk_relax_func){ .kind = (int32_t)below(g, 3),
						    .name = bytes(g, 20),
						    .start = 0,
						    .end = (int64_t)below(g, 9),
						    .num_args = -2,
						    .register_file_size = (int64_t)below(g, 9),
						    .params = strs(g, 3) };
	for (size_t i = 0; i < nconsts; i++)
		consts[i] = relax_const(g);
	for (size_t i = 0; i < nscopes; i++)
		scopes[i] = (struct mpk_relax_scope){ (int64_t)i, bytes(g, 9) };
	p->u.relax = (struct mpk_relax){ .gen = p->gen,
					 .has_scopes = has_scopes,
					 .version = mpk_span_str("0.14"),
					 .funcs = funcs,
					 .func_count = nfuncs,
					 .consts = consts,
					 .const_count = nconsts,
					 .scopes = scopes,
					 .scope_count = has_scopes ? nscopes : 0,
					 .instr_offset = words(g, 9, 8),
					 .instr_data = words(g, 30, 8) };
}

/* The number of fields of each opcode without what follows, and which field counts that (0:
 * none), for the layouts before and from 0.14. */
static const struct {
	uint8_t fields[2], counter[2];
} relay_ops[MPK_RELAY_OPS] = {
	{ { 2, 2 }, { 0 } },    { { 1, 1 }, { 0 } },    { { 3, 3 }, { 2, 2 } },
	{ { 3, 3 }, { 2, 2 } }, { { 3, 3 }, { 2, 2 } }, { { 7, 7 }, { 6, 6 } },
	{ { 7, 7 }, { 0 } },    { { 3, 3 }, { 2, 2 } }, { { 3, 3 }, { 2, 2 } },
	{ { 3, 3 }, { 0 } },    { { 4, 4 }, { 0 } },    { { 2, 3 }, { 0 } },
	{ { 1, 1 }, { 0 } },    { { 2, 2 }, { 0 } },    { { 2, 2 }, { 0 } },
	{ { 0, 0 }, { 0 } },    { { 7, 8 }, { 0, 7 } }, { { 2, 2 }, { 0 } },
	{ { 3, 3 }, { 0 } },    { { 4, 4 }, { 0 } },    { { 1, 1 }, { 0 } },
};

HARNESS_FN struct mpk_relay_instr relay_instr(struct gen *g, enum mpk_relay_layout layout)
{
	size_t op = below(g, MPK_RELAY_OPS), late = layout == MPK_RELAY_14;
	size_t counter = relay_ops[op].counter[late], rest = counter ? below(g, 5) : 0;
	size_t count = 1 + relay_ops[op].fields[late] + rest;
	uint64_t *w = make(g, count, sizeof *w);

	for (size_t i = 1; i < count; i++)
		w[i] = random_next(&g->seed);
	w[0] = op;
	if (counter)
		w[counter] = rest;
	mpk_native_from_little((uint8_t *)w, count * sizeof *w, sizeof *w);
	return (struct mpk_relay_instr){ (const uint8_t *)w, count };
}

HARNESS_FN struct mpk_relay_func relay_func(struct gen *g, enum mpk_relay_layout layout)
{
	struct mpk_relay_func f = { .instr_count = below(g, 20),
				    .params = strs(g, 3),
				    .param_devices = words(g, 3, 8) };
	struct mpk_relay_instr *instrs = make(g, f.instr_count, sizeof *instrs);
	struct mpk_span *info = make(g, 3, sizeof *info);

	for (size_t i = 0; i < f.instr_count; i++)
		instrs[i] = relay_instr(g, layout);
	info[0] = bytes(g, 10);
	info[1] = mpk_span_str("17");
	info[2] = mpk_span_str(mpk_arena_printf(&g->arena, "%zu", f.instr_count));
	f.info = (struct mpk_strs){ info, 3 };
	f.instrs = instrs;
	return f;
}

HARNESS_FN void fill_relay(struct gen *g, struct mpk_payload *p)
{
	static const char *const versions[] = { "0.8.0", "0.9.0", "0.13.0", "0.14.0", "0.19.0" };
	static const enum mpk_relay_layout layouts[] = { MPK_RELAY_08, MPK_RELAY_09, MPK_RELAY_09,
							 MPK_RELAY_14, MPK_RELAY_14 };
	size_t which = below(g, 5), nconsts = below(g, 4), nfuncs = 1 + below(g, 3),
	       pairs = below(g, 3);
	struct mpk_relay_device *devices = make(g, 2, sizeof *devices);
	struct mpk_relay_const *consts = make(g, nconsts, sizeof *consts);
	struct mpk_relay_func *funcs = make(g, nfuncs, sizeof *funcs);
	struct mpk_relay_attrs *attrs = make(g, 1, sizeof *attrs);
	struct mpk_span *texts = make(g, 2 * pairs, sizeof *texts);
	struct mpk_relay *x = &p->u.relay;

	*x = (struct mpk_relay){ .layout = layouts[which],
				 .version = mpk_span_str(versions[which]),
				 .devices = devices,
				 .device_count = layouts[which] ? 2 : 0,
				 .globals = strs(g, 4),
				 .consts = consts,
				 .const_count = nconsts,
				 .const_devices = words(g, 4, 8),
				 .primitives = strs(g, 4),
				 .attrs = attrs,
				 .attr_count = 1,
				 .funcs = funcs,
				 .func_count = nfuncs };
	devices[1] = (struct mpk_relay_device){ 2, 1, { 0 } };
	if (x->layout == MPK_RELAY_14)
		devices[1].scope = bytes(g, 9);
	for (size_t i = 0; i < nconsts; i++) {
		consts[i].late_bound = x->layout != MPK_RELAY_08 && below(g, 2);
		consts[i].name = bytes(g, 9);
		consts[i].tensor = tensor(g);
	}
	for (size_t i = 0; i < 2 * pairs; i++)
		texts[i] = bytes(g, 9);
	*attrs = (struct mpk_relay_attrs){ 3, texts, pairs };
	for (size_t i = 0; i < nfuncs; i++)
		funcs[i] = relay_func(g, x->layout);
}

HARNESS_FN void fill(struct gen *g, struct mpk_payload *p)
{
	switch (p->tag) {
	case MPK_PAYLOAD_EMPTY:
	case MPK_PAYLOAD_KERNELS: /* check_kernels */
		return;
	case MPK_PAYLOAD_RECORD:
		fill_record(g, p);
		return;
	case MPK_PAYLOAD_FACTORY:
		fill_factory(g, p);
		return;
	case MPK_PAYLOAD_CONSTS:
		fill_consts(g, p);
		return;
	case MPK_PAYLOAD_ETHOSN:
		fill_ethosn(g, p);
		return;
	case MPK_PAYLOAD_RELAX:
		fill_relax(g, p);
		return;
	case MPK_PAYLOAD_RELAY:
		fill_relay(g, p);
		return;
	}
}

HARNESS_FN struct mpk_span encoded(const struct mpk_payload *p, struct gen *g)
{
	struct mpk_rope rope = mpk_rope_of(&g->arena);
	struct mpk_span flat;

	payload_write(&rope, p);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	return flat;
}

#endif
