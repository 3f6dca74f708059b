/* SPDX-License-Identifier: Apache-2.0 */
/* relax_made.h - executables of the Relax VM, written by hand, with kernels in C
 *
 * A program is put together as the compiler would (functions, constants, instructions), encoded and
 * loaded like the payload of a file. Its kernels are functions of the test.
 */
#ifndef MPK_TESTS_UNIT_RELAX_MADE_H
#define MPK_TESTS_UNIT_RELAX_MADE_H

#include <endian.h>

#include "base/native.h"
#include "model_made.h"
#include "payload_write.h"
#include "relaxvm/relaxvm.h"

enum { MADE_MAX = 64, MADE_INSTRS = 256, MADE_WORDS = 4096 };

#define VOID MPK_RELAX_REG_VOID
#define VM MPK_RELAX_REG_VM
#define REG(r) (r)
#define INT(i) ((INT64_C(1) << 56) | ((i) & 0x00ffffffffffffff))
#define CONST(i) ((INT64_C(2) << 56) | (i))
#define FUNC(i) ((INT64_C(3) << 56) | (i))

/* A program while it is written. Zero-initialise. */
struct made {
	struct mpk_relax_func funcs[MADE_MAX];
	struct mpk_relax_const consts[MADE_MAX];
	uint8_t extents[MADE_MAX][64];
	int64_t offsets[MADE_INSTRS], words[MADE_WORDS]; /* words as in a file: little-endian */
	size_t func_count, const_count, instr_count, word_count;
};

HARNESS_FN int64_t made_packed(struct made *m, const char *name)
{
	m->funcs[m->func_count] = (struct mpk_relax_func){ .kind = MPK_RELAX_PACKED,
							   .name = mpk_span_str(name),
							   .num_args = -2 };
	return (int64_t)m->func_count++;
}

/* Instructions put from now on belong to it. */
HARNESS_FN int64_t made_function(struct made *m, const char *name, int64_t args, int64_t registers)
{
	m->funcs[m->func_count] = (struct mpk_relax_func){
		.kind = MPK_RELAX_VM,
		.name = mpk_span_str(name),
		.start = (int64_t)m->instr_count,
		.end = (int64_t)m->instr_count,
		.num_args = args,
		.register_file_size = registers,
	};
	return (int64_t)m->func_count++;
}

/* Extents of a shape are numbers of the test, and turned around for the file. */
HARNESS_FN int64_t made_const(struct made *m, struct mpk_relax_const c)
{
	if (c.kind == MPK_RELAX_SHAPE) {
		uint8_t *extents = m->extents[m->const_count];

		ck_assert_uint_le(c.u.shape.len, sizeof m->extents[0]);
		memcpy(extents, c.u.shape.data, c.u.shape.len);
		mpk_native_from_little(extents, c.u.shape.len, 8);
		c.u.shape.data = extents;
	}
	m->consts[m->const_count] = c;
	return (int64_t)m->const_count++;
}

HARNESS_FN void made_words(struct made *m, const int64_t *words, size_t count)
{
	struct mpk_relax_func *f = &m->funcs[m->func_count - 1];

	if (m->instr_count == MADE_INSTRS || m->word_count + count > MADE_WORDS)
		ck_abort_msg("a longer program than there is room for");
	m->offsets[m->instr_count++] = (int64_t)htole64(m->word_count);
	for (size_t i = 0; i < count; i++)
		m->words[m->word_count + i] = (int64_t)htole64((uint64_t)words[i]);
	m->word_count += count;
	if (f->kind == MPK_RELAX_VM)
		f->end = (int64_t)m->instr_count;
}

HARNESS_FN void made_call(struct made *m, int64_t dst, int64_t func, const int64_t *args,
			  size_t count)
{
	int64_t words[40] = { MPK_RELAX_CALL, dst, func, (int64_t)count };

	memcpy(words + 4, args, count * sizeof *args);
	made_words(m, words, 4 + count);
}

#define CALL(m, dst, func, ...)                                                                    \
	made_call(m, dst, func, (const int64_t[]){ __VA_ARGS__ },                                  \
		  sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)
#define CALL0(m, dst, func) made_call(m, dst, func, (const int64_t[]){ 0 }, 0)
#define RET(m, reg) made_words(m, (const int64_t[]){ MPK_RELAX_RET, reg }, 2)
#define GOTO(m, offset) made_words(m, (const int64_t[]){ MPK_RELAX_GOTO, offset }, 2)
#define IF(m, reg, offset) made_words(m, (const int64_t[]){ MPK_RELAX_IF, reg, offset }, 3)

/* --- loading ------------------------------------------------------------------------------- */

HARNESS_FN struct mpk_span made_encode(const struct made *m, uint8_t **out)
{
	struct mpk_relax x = {
		.gen = MPK_GEN_CURRENT,
		.has_scopes = true,
		.version = mpk_span_str("0.14"),
		.funcs = m->funcs,
		.func_count = m->func_count,
		.consts = m->consts,
		.const_count = m->const_count,
		.instr_offset = mpk_span_of(m->offsets, m->instr_count * 8),
		.instr_data = mpk_span_of(m->words, m->word_count * 8),
	};
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span flat;

	relax_write(&rope, &x);
	ck_assert_ok(mpk_rope_flat(&rope, &flat, &err), err);
	*out = malloc(flat.len);
	ck_assert_ptr_nonnull(*out);
	memcpy(*out, flat.data, flat.len);
	mpk_arena_fini(&arena);
	return mpk_span_of(*out, flat.len);
}

HARNESS_FN void model_open(struct model *m, const struct made *program,
			   const struct made_kernel *kernels)
{
	struct mpk_span payload = made_encode(program, &m->payload);

	model_open_payload(m, "relax.VMExecutable", MPK_GEN_CURRENT, payload, kernels);
}

#endif
