/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - Relax VM executables: what writes them, and the files that one consists of */
#include "relaxvm/relaxvm.h"

#include "payload.h"
#include "relaxvm/internal/layout.h"

static void put_func(struct mpk_rope *r, const struct mpk_relax_func *f)
{
	mpk_rope_put_u32(r, (uint32_t)f->kind);
	mpk_rope_put_str(r, f->name);
	mpk_rope_put_u64(r, (uint64_t)f->start);
	mpk_rope_put_u64(r, (uint64_t)f->end);
	mpk_rope_put_u64(r, (uint64_t)f->num_args);
	mpk_rope_put_u64(r, (uint64_t)f->register_file_size);
	mpk_rope_put_strs(r, f->params);
}

/* The inverse of read_const: tag of the generation, then the value. */
static void put_const(struct mpk_rope *r, enum mpk_generation gen, const struct mpk_relax_const *k)
{
	uint64_t bits;

	mpk_rope_put_u32(r, (uint32_t)mpk_relax_tags[gen][k->kind]);
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

/* The inverse of read_content, in the same order. */
static void put_content(struct mpk_rope *r, const struct mpk_relax *x)
{
	mpk_rope_put_u64(r, x->has_scopes ? MPK_RELAX_MAGIC_SCOPES : MPK_RELAX_MAGIC);
	mpk_rope_put_str(r, x->version);
	mpk_rope_put_u64(r, x->func_count);
	for (size_t i = 0; i < x->func_count; i++)
		put_func(r, &x->funcs[i]);
	if (x->has_scopes)
		mpk_rope_put_u64(r, x->scope_count);
	for (size_t i = 0; i < x->scope_count; i++) {
		mpk_rope_put_u64(r, (uint64_t)x->scopes[i].constant);
		mpk_rope_put_str(r, x->scopes[i].scope);
	}
	mpk_rope_put_u64(r, x->const_count);
	for (size_t i = 0; i < x->const_count; i++)
		put_const(r, x->gen, &x->consts[i]);
	mpk_rope_put_words(r, x->instr_offset, 8);
	mpk_rope_put_words(r, x->instr_data, 8);
}

void mpk_relax_write(struct mpk_rope *r, const struct mpk_relax *x)
{
	struct mpk_rope inner = mpk_rope_of(r->arena);

	if (x->gen == MPK_GEN_CURRENT) {
		put_content(r, x);
		return;
	}
	put_content(&inner, x);
	mpk_rope_put_u64(r, inner.len);
	mpk_rope_put_rope(r, &inner);
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static void relaxvm_write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_relax_write(rope, &p->u.relax);
}

static enum mpk_code relaxvm_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_relax *x = &p->u.relax;
	struct mpk_strbuf listing = { 0 };

	for (size_t i = 0; i < x->const_count; i++) {
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			MPK_TRY(mpk_files_add_tensor(
				files, mpk_arena_printf(files->arena, "constants/%zu", i),
				(struct mpk_span){ 0 }, &x->consts[i].u.tensor));
	}
	mpk_relax_dump(x, MPK_RELAX_ALL, &listing);
	return mpk_files_add_text(files, "bytecode.txt", &listing);
}

const struct mpk_codec mpk_codec_relax = { &mpk_reader_relax, relaxvm_write_payload,
					   relaxvm_list_files };
