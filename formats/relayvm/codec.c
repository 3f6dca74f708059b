/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - Relay VM executables: what writes them, and the files that one consists of */
#include "relayvm/relayvm.h"

#include "payload.h"
#include "relayvm/internal/ops.h"

/* As read_devices, by layout. */
static void put_devices(struct mpk_rope *r, const struct mpk_relay *x)
{
	if (x->layout == MPK_RELAY_08)
		return;
	mpk_rope_put_u64(r, x->device_count);
	for (size_t i = 0; i < x->device_count; i++) {
		mpk_rope_put_u32(r, (uint32_t)x->devices[i].type);
		mpk_rope_put_u32(r, (uint32_t)x->devices[i].id);
		if (x->layout == MPK_RELAY_14)
			mpk_rope_put_str(r, x->devices[i].scope);
	}
	mpk_rope_put_u32(r, (uint32_t)x->host_device);
}

static void put_consts(struct mpk_rope *r, const struct mpk_relay *x)
{
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
}

static void put_attrs(struct mpk_rope *r, const struct mpk_relay *x)
{
	mpk_rope_put_u64(r, x->attr_count);
	for (size_t i = 0; i < x->attr_count; i++) {
		mpk_rope_put_u64(r, x->attrs[i].packed_index);
		mpk_rope_put_u64(r, x->attrs[i].count);
		for (size_t j = 0; j < x->attrs[i].count * 2; j++)
			mpk_rope_put_str(r, x->attrs[i].pairs[j]);
	}
}

/* The hash is computed again: it follows from the fields. */
static void put_func(struct mpk_rope *r, const struct mpk_relay_func *f)
{
	mpk_rope_put_strs(r, f->info);
	mpk_rope_put_strs(r, f->params);
	mpk_rope_put_words(r, f->param_devices, 8);
	for (size_t i = 0; i < f->instr_count; i++) {
		const struct mpk_relay_instr *instr = &f->instrs[i];

		mpk_rope_put_u64(r, instr->count + 1);
		mpk_rope_put_u64(r, mpk_relay_hash(instr));
		mpk_rope_put_bytes(r, mpk_span_of(instr->words, instr->count * 8));
	}
}

void mpk_relay_write(struct mpk_rope *r, const struct mpk_relay *x)
{
	struct mpk_rope inner = mpk_rope_of(r->arena);

	mpk_rope_put_u64(&inner, MPK_RELAY_MAGIC);
	mpk_rope_put_str(&inner, x->version);
	put_devices(&inner, x);
	mpk_rope_put_strs(&inner, x->globals);
	put_consts(&inner, x);
	mpk_rope_put_strs(&inner, x->primitives);
	put_attrs(&inner, x);
	mpk_rope_put_u64(&inner, x->func_count);
	for (size_t i = 0; i < x->func_count; i++)
		put_func(&inner, &x->funcs[i]);
	mpk_rope_put_u64(r, inner.len);
	mpk_rope_put_rope(r, &inner);
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static void relayvm_write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_relay_write(rope, &p->u.relay);
}

static enum mpk_code relayvm_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_relay *x = &p->u.relay;
	struct mpk_strbuf listing = { 0 };

	for (size_t i = 0; i < x->const_count; i++) {
		if (!x->consts[i].late_bound)
			MPK_TRY(mpk_files_add_tensor(
				files, mpk_arena_printf(files->arena, "constants/%zu", i),
				(struct mpk_span){ 0 }, &x->consts[i].tensor));
	}
	mpk_relay_dump(x, &listing);
	return mpk_files_add_text(files, "bytecode.txt", &listing);
}

const struct mpk_codec mpk_codec_relay = { &mpk_reader_relay, relayvm_write_payload,
					   relayvm_list_files };
