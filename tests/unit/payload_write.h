/* SPDX-License-Identifier: Apache-2.0 */
/* payload_write.h - the bytes of a decoded payload, as TVM writes them
 *
 * mpack packs payloads that TVM wrote, and writes only those of kernels and factories itself. The tests
 * write every other layout here, from the specification in each FORMAT.md, and compare the bytes with the
 * ones that the readers of formats/ were given. */
#ifndef MPK_TESTS_UNIT_PAYLOAD_WRITE_H
#define MPK_TESTS_UNIT_PAYLOAD_WRITE_H

#include <string.h>

#include "dtype/type_index.h"
#include "payload.h"
#include "wire.h"

#define PAYLOAD_FN static inline __attribute__((unused))

/* The fields of the record's schema, in order. */
PAYLOAD_FN void record_write(struct mpk_rope *r, const struct mpk_record *record)
{
	for (size_t i = 0; i < record->schema->count; i++) {
		const struct mpk_record_value *v = &record->values[i];

		switch (record->schema->fields[i].type) {
		case MPK_FIELD_STR:
			mpk_rope_put_blob(r, v->str);
			break;
		case MPK_FIELD_STRS:
			mpk_rope_put_strs(r, v->strs);
			break;
		case MPK_FIELD_I32:
			mpk_rope_put_u32(r, (uint32_t)v->number);
			break;
		}
	}
}

PAYLOAD_FN void consts_write(struct mpk_rope *r, const struct mpk_const_loader *l)
{
	mpk_rope_put_strs(r, l->consts.names);
	mpk_rope_put_u64(r, l->consts.names.count);
	mpk_tensors_write(r, &l->consts);
	mpk_rope_put_strs(r, l->symbols);
	mpk_rope_put_u64(r, l->symbols.count);
	for (size_t i = 0; i < l->symbols.count; i++)
		mpk_rope_put_strs(r, l->needs[i]);
}

PAYLOAD_FN void ethosn_write(struct mpk_rope *r, const struct mpk_ethosn *e)
{
	mpk_rope_put_u64(r, e->count);
	for (size_t i = 0; i < e->count; i++) {
		const struct mpk_ethosn_network *n = &e->networks[i];

		mpk_rope_put_str(r, n->name);
		mpk_rope_put_blob(r, n->compiled);
		mpk_rope_put_words(r, n->input_order, 4);
		mpk_rope_put_view(r, n->input_sizes);
		mpk_rope_put_words(r, n->output_order, 4);
		mpk_rope_put_view(r, n->output_sizes);
	}
}

/* --- Relax VM: formats/relaxvm/FORMAT.md ---------------------------------------------------------- */

/* A constant: the tag of its kind in the generation, then its value. */
PAYLOAD_FN void relax_write_const(struct mpk_rope *r, enum mpk_generation gen,
				  const struct mpk_relax_const *k)
{
	static const int32_t tags[MPK_GENERATION_COUNT][MPK_RELAX_CONST_KINDS] = {
		[MPK_GEN_LEGACY] = { [MPK_RELAX_TENSOR] = 0,
				     [MPK_RELAX_DTYPE] = 1,
				     [MPK_RELAX_SHAPE] = 2,
				     [MPK_RELAX_STRING] = 3,
				     [MPK_RELAX_INT] = 4,
				     [MPK_RELAX_FLOAT] = 5 },
		[MPK_GEN_HYBRID] = { [MPK_RELAX_TENSOR] = MPK_FFI021_TENSOR,
				     [MPK_RELAX_DTYPE] = MPK_FFI_DTYPE,
				     [MPK_RELAX_SHAPE] = MPK_FFI021_SHAPE,
				     [MPK_RELAX_STRING] = MPK_FFI_STR,
				     [MPK_RELAX_INT] = MPK_FFI_INT,
				     [MPK_RELAX_FLOAT] = MPK_FFI_FLOAT },
		[MPK_GEN_CURRENT] = { [MPK_RELAX_TENSOR] = MPK_FFI_TENSOR,
				      [MPK_RELAX_DTYPE] = MPK_FFI_DTYPE,
				      [MPK_RELAX_SHAPE] = MPK_FFI_SHAPE,
				      [MPK_RELAX_STRING] = MPK_FFI_STR,
				      [MPK_RELAX_INT] = MPK_FFI_INT,
				      [MPK_RELAX_FLOAT] = MPK_FFI_FLOAT },
	};
	uint64_t bits;

	mpk_rope_put_u32(r, (uint32_t)tags[gen][k->kind]);
	switch (k->kind) {
	case MPK_RELAX_TENSOR:
		mpk_tensor_write(r, &k->u.tensor);
		return;
	case MPK_RELAX_DTYPE:
		mpk_dtype_write(r, k->u.dtype);
		return;
	case MPK_RELAX_SHAPE:
		mpk_rope_put_words(r, k->u.shape, 8);
		return;
	case MPK_RELAX_STRING:
		mpk_rope_put_str(r, k->u.string);
		return;
	case MPK_RELAX_INT:
		mpk_rope_put_u64(r, (uint64_t)k->u.i);
		return;
	case MPK_RELAX_FLOAT:
		memcpy(&bits, &k->u.f, sizeof bits);
		mpk_rope_put_u64(r, bits);
		return;
	case MPK_RELAX_CONST_KINDS:
		return;
	}
}

/* Before TVM 0.22 the executable is a string within the payload. */
PAYLOAD_FN void relax_write(struct mpk_rope *out, const struct mpk_relax *x)
{
	struct mpk_rope content = mpk_rope_of(out->arena), *r = &content;

	mpk_rope_put_u64(r, UINT64_C(0xD225DE2F4214151D) + x->has_scopes);
	mpk_rope_put_str(r, x->version);
	mpk_rope_put_u64(r, x->func_count);
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];

		mpk_rope_put_u32(r, (uint32_t)f->kind);
		mpk_rope_put_str(r, f->name);
		mpk_rope_put_u64(r, (uint64_t)f->start);
		mpk_rope_put_u64(r, (uint64_t)f->end);
		mpk_rope_put_u64(r, (uint64_t)f->num_args);
		mpk_rope_put_u64(r, (uint64_t)f->register_file_size);
		mpk_rope_put_strs(r, f->params);
	}
	if (x->has_scopes)
		mpk_rope_put_u64(r, x->scope_count);
	for (size_t i = 0; i < x->scope_count; i++) {
		mpk_rope_put_u64(r, (uint64_t)x->scopes[i].constant);
		mpk_rope_put_str(r, x->scopes[i].scope);
	}
	mpk_rope_put_u64(r, x->const_count);
	for (size_t i = 0; i < x->const_count; i++)
		relax_write_const(r, x->gen, &x->consts[i]);
	mpk_rope_put_words(r, x->instr_offset, 8);
	mpk_rope_put_words(r, x->instr_data, 8);
	if (x->gen != MPK_GEN_CURRENT)
		mpk_rope_put_u64(out, content.len);
	mpk_rope_put_rope(out, &content);
}

/* --- Relay VM: formats/relayvm/FORMAT.md ---------------------------------------------------------- */

/* Devices came with 0.9, their memory scopes with 0.14. */
PAYLOAD_FN void relay_write_devices(struct mpk_rope *r, const struct mpk_relay *x)
{
	mpk_rope_put_u64(r, x->device_count);
	for (size_t i = 0; i < x->device_count; i++) {
		mpk_rope_put_u32(r, (uint32_t)x->devices[i].type);
		mpk_rope_put_u32(r, (uint32_t)x->devices[i].id);
		if (x->layout == MPK_RELAY_14)
			mpk_rope_put_str(r, x->devices[i].scope);
	}
	mpk_rope_put_u32(r, (uint32_t)x->host_device);
}

PAYLOAD_FN void relay_write_func(struct mpk_rope *r, const struct mpk_relay_func *f)
{
	mpk_rope_put_strs(r, f->info);
	mpk_rope_put_strs(r, f->params);
	mpk_rope_put_words(r, f->param_devices, 8);
	for (size_t i = 0; i < f->instr_count; i++) {
		const struct mpk_relay_instr *instr = &f->instrs[i];
		uint64_t hash = (uint64_t)mpk_relay_word(instr, 0);

		for (size_t j = 1; j < instr->count; j++)
			hash ^= (uint64_t)mpk_relay_word(instr, j) + 0x9e3779b9 + (hash << 6) +
				(hash >> 2);
		mpk_rope_put_u64(r, instr->count + 1);
		mpk_rope_put_u64(r, hash);
		mpk_rope_put_bytes(r, mpk_span_of(instr->words, instr->count * 8));
	}
}

PAYLOAD_FN void relay_write(struct mpk_rope *out, const struct mpk_relay *x)
{
	struct mpk_rope content = mpk_rope_of(out->arena), *r = &content;

	mpk_rope_put_u64(r, UINT64_C(0xD225DE2F4214151D));
	mpk_rope_put_str(r, x->version);
	if (x->layout != MPK_RELAY_08)
		relay_write_devices(r, x);
	mpk_rope_put_strs(r, x->globals);
	mpk_rope_put_u64(r, x->const_count);
	for (size_t i = 0; i < x->const_count; i++) {
		const struct mpk_relay_const *k = &x->consts[i];

		if (x->layout != MPK_RELAY_08)
			mpk_rope_put_u32(r, k->late_bound);
		if (k->late_bound)
			mpk_rope_put_str(r, k->name);
		else
			mpk_tensor_write(r, &k->tensor);
	}
	mpk_rope_put_words(r, x->const_devices, 8);
	mpk_rope_put_strs(r, x->primitives);
	mpk_rope_put_u64(r, x->attr_count);
	for (size_t i = 0; i < x->attr_count; i++) {
		mpk_rope_put_u64(r, x->attrs[i].packed_index);
		mpk_rope_put_u64(r, x->attrs[i].count);
		for (size_t j = 0; j < x->attrs[i].count * 2; j++)
			mpk_rope_put_str(r, x->attrs[i].pairs[j]);
	}
	mpk_rope_put_u64(r, x->func_count);
	for (size_t i = 0; i < x->func_count; i++)
		relay_write_func(r, &x->funcs[i]);
	mpk_rope_put_u64(out, content.len);
	mpk_rope_put_rope(out, &content);
}

/* --- any payload --------------------------------------------------------------------------------- */

/* Appends the bytes that the payload was decoded from, less p->trailing; the rope remembers a failure. */
PAYLOAD_FN void payload_write(struct mpk_rope *r, const struct mpk_payload *p)
{
	switch (p->tag) {
	case MPK_PAYLOAD_EMPTY:
		return;
	case MPK_PAYLOAD_KERNELS:
		mpk_kernels_write(&p->u.kernels, r);
		return;
	case MPK_PAYLOAD_RECORD:
		record_write(r, &p->u.record);
		return;
	case MPK_PAYLOAD_FACTORY:
		mpk_factory_write(r, &p->u.factory);
		return;
	case MPK_PAYLOAD_CONSTS:
		consts_write(r, &p->u.consts);
		return;
	case MPK_PAYLOAD_ETHOSN:
		ethosn_write(r, &p->u.ethosn);
		return;
	case MPK_PAYLOAD_RELAX:
		relax_write(r, &p->u.relax);
		return;
	case MPK_PAYLOAD_RELAY:
		relay_write(r, &p->u.relay);
		return;
	}
}

#endif
