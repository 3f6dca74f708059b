/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - Relax VM executables: functions, memory scopes, constants and instruction words
 *
 * Reading checks sizes and tags only. Operands and jumps are checked by mpk_relax_check, which an
 * interpreter needs and a listing does not: a damaged function can still be shown. */
#include "relaxvm/relaxvm.h"

#include <inttypes.h>

#include "dtype/type_index.h"
#include "payload.h"

#define MPK_RELAX_MAGIC UINT64_C(0xD225DE2F4214151D)
#define MPK_RELAX_MAGIC_SCOPES UINT64_C(0xD225DE2F4214151E)

/* kind, name, four numbers, parameter names; constant: tag and a dtype; scope: index, name */
enum { FUNC_MIN = 4 + 8 + 4 * 8 + 8, CONST_MIN = 4 + 4, SCOPE_MIN = 8 + 8 };

/* The tag in front of a constant of each kind (FORMAT.md 3). Generations use the same numbers for different kinds. */
static const int32_t relax_tags[MPK_GENERATION_COUNT][MPK_RELAX_CONST_KINDS] = {
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

/* Numbers are not checked here: mpk_relax_check checks whether start and end exist. */
static enum mpk_code relaxvm_read_func(struct mpk_cursor *c, struct mpk_arena *arena,
				       struct mpk_relax_func *f, struct mpk_error *err)
{
	uint64_t start = mpk_cursor_offset(c);

	MPK_TRY(mpk_read_i32(c, "function kind", &f->kind, err));
	if (f->kind < MPK_RELAX_PACKED || f->kind > MPK_RELAX_TIR)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "function kind %" PRId32 " is not known", f->kind);
	MPK_TRY(mpk_read_str(c, "function name", &f->name, err));
	MPK_TRY(mpk_read_i64(c, "start_instr", &f->start, err));
	MPK_TRY(mpk_read_i64(c, "end_instr", &f->end, err));
	MPK_TRY(mpk_read_i64(c, "num_args", &f->num_args, err));
	MPK_TRY(mpk_read_i64(c, "register_file_size", &f->register_file_size, err));
	return mpk_read_strs(c, "parameter names", arena, &f->params, err);
}

/* Reads for each scope the index of a constant and the name of its memory. Only the later magic
 * number has scopes. */
static enum mpk_code read_scopes(struct mpk_cursor *c, struct mpk_arena *arena, struct mpk_relax *x,
				 struct mpk_error *err)
{
	struct mpk_relax_scope *scopes;

	if (!x->has_scopes)
		return MPK_OK;
	MPK_TRY(mpk_read_count(c, "memory scopes", SCOPE_MIN, &x->scope_count, err));
	MPK_TRY_ARRAY(scopes, arena, x->scope_count, err);
	for (size_t i = 0; i < x->scope_count; i++) {
		MPK_TRY(mpk_read_i64(c, "memory scope index", &scopes[i].constant, err));
		MPK_TRY(mpk_read_str(c, "memory scope", &scopes[i].scope, err));
	}
	x->scopes = scopes;
	return MPK_OK;
}

/* Generations number the kinds differently (FORMAT.md 3), so a tag is looked up in the row of its
 * generation. */
static enum mpk_code read_const(struct mpk_cursor *c, struct mpk_arena *arena,
				enum mpk_generation gen, struct mpk_relax_const *k,
				struct mpk_error *err)
{
	uint64_t start = mpk_cursor_offset(c);
	unsigned kind = 0;
	int32_t tag;

	MPK_TRY(mpk_read_i32(c, "constant tag", &tag, err));
	while (kind < MPK_RELAX_CONST_KINDS && relax_tags[gen][kind] != tag)
		kind++;
	if (kind == MPK_RELAX_CONST_KINDS)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "constant tag %" PRId32 " is not known in %s", tag,
				       mpk_generation_get(gen)->releases);
	k->kind = (enum mpk_relax_const_kind)kind;

	/* Other tags have been refused above. */
	uint64_t bits;

	switch (k->kind) {
	case MPK_RELAX_TENSOR:
		return mpk_tensor_read(c, arena, &k->u.tensor, err);
	case MPK_RELAX_DTYPE:
		return mpk_dtype_read(c, "constant", &k->u.dtype, err);
	case MPK_RELAX_SHAPE:
		return mpk_read_words(c, "constant", 8, &k->u.shape, err);
	case MPK_RELAX_STRING:
		return mpk_read_str(c, "constant", &k->u.string, err);
	case MPK_RELAX_INT:
		return mpk_read_i64(c, "constant", &k->u.i, err);
	case MPK_RELAX_FLOAT:
	case MPK_RELAX_CONST_KINDS:
		break;
	}
	MPK_TRY(mpk_read_u64(c, "constant", &bits, err));
	memcpy(&k->u.f, &bits, sizeof bits);
	return MPK_OK;
}

/* An error names the constant, because there may be hundreds. */
static enum mpk_code read_consts(struct mpk_cursor *c, struct mpk_arena *arena, struct mpk_relax *x,
				 struct mpk_error *err)
{
	struct mpk_relax_const *consts;

	MPK_TRY(mpk_read_count(c, "constants", CONST_MIN, &x->const_count, err));
	MPK_TRY_ARRAY(consts, arena, x->const_count, err);
	for (size_t i = 0; i < x->const_count; i++) {
		enum mpk_code code = read_const(c, arena, x->gen, &consts[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "constant %zu: ", i);
			return code;
		}
	}
	x->consts = consts;
	return MPK_OK;
}

static enum mpk_code relaxvm_read_content(struct mpk_cursor *c, struct mpk_arena *arena,
					  struct mpk_relax *x, struct mpk_error *err)
{
	uint64_t at;

	/* The magic number shows whether memory scopes are stored. */
	uint64_t start = mpk_cursor_offset(c), magic;

	MPK_TRY(mpk_read_u64(c, "Relax executable", &magic, err));
	if (magic != MPK_RELAX_MAGIC && magic != MPK_RELAX_MAGIC_SCOPES)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, start,
				       "no Relax executable: magic number %#" PRIx64, magic);
	x->has_scopes = magic == MPK_RELAX_MAGIC_SCOPES;
	MPK_TRY(mpk_read_str(c, "bytecode version", &x->version, err));

	/* The count is compared with the smallest record, so that it cannot ask for more memory than the
	 * file has bytes for. */
	struct mpk_relax_func *funcs;

	MPK_TRY(mpk_read_count(c, "function table", FUNC_MIN, &x->func_count, err));
	MPK_TRY_ARRAY(funcs, arena, x->func_count, err);
	for (size_t i = 0; i < x->func_count; i++)
		MPK_TRY(relaxvm_read_func(c, arena, &funcs[i], err));
	x->funcs = funcs;

	MPK_TRY(read_scopes(c, arena, x, err));
	MPK_TRY(read_consts(c, arena, x, err));
	at = mpk_cursor_offset(c);

	MPK_TRY(mpk_read_words(c, "instruction offsets", 8, &x->instr_offset, err));
	MPK_TRY(mpk_read_words(c, "instruction words", 8, &x->instr_data, err));

	/* Compilers give each function its own instructions, and each instruction its own words. If many
	 * overlapped, a listing would be far longer than the file. */
	const char *space = c->space;

	enum { TIMES = 4 };
	uint64_t instrs = TIMES * (uint64_t)mpk_relax_instr_count(x);
	uint64_t words = TIMES * (uint64_t)(x->instr_data.len / 8);
	struct mpk_relax_instr instr;

	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];
		uint64_t length = f->end > f->start && f->start >= 0
					  ? (uint64_t)f->end - (uint64_t)f->start
					  : 0;

		if (length > mpk_relax_instr_count(x)) /* mpk_relax_check reports it */
			continue;
		if (length > instrs)
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, space, at,
				"the functions overlap: together they are more than %d times the instructions",
				TIMES);
		instrs -= length;
	}
	for (size_t i = 0; i < mpk_relax_instr_count(x); i++) {
		if (mpk_relax_instr(x, i, &instr, NULL) != MPK_OK)
			continue;
		if (instr.arg_count > words)
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, space, at,
				"the instructions overlap: together they are more than %d times the words",
				TIMES);
		words -= instr.arg_count;
	}
	return MPK_OK;
}

/* Before 0.22 the executable is a string within the payload; bytes after it in the string are
 * counted, not read. */
enum mpk_code mpk_relax_read(struct mpk_cursor *c, enum mpk_generation gen, struct mpk_arena *arena,
			     struct mpk_relax *out, struct mpk_error *err)
{
	struct mpk_relax x = { .gen = gen };
	struct mpk_cursor at = *c, inner;
	struct mpk_span content;

	if (gen == MPK_GEN_CURRENT) {
		MPK_TRY(relaxvm_read_content(&at, arena, &x, err));
	} else {
		MPK_TRY(mpk_read_str(&at, "Relax executable", &content, err));
		inner = mpk_cursor_of(content, mpk_cursor_offset(&at) - content.len, c->space);
		MPK_TRY(relaxvm_read_content(&inner, arena, &x, err));
		x.trailing = mpk_cursor_left(&inner);
	}
	*out = x;
	*c = at;
	return MPK_OK;
}

static enum mpk_code relaxvm_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					  struct mpk_payload *out, struct mpk_error *err)
{
	MPK_TRY(mpk_relax_read(c, out->gen, arena, &out->u.relax, err));
	out->trailing = out->u.relax.trailing;
	return MPK_OK;
}

const struct mpk_payload_reader mpk_reader_relax = { MPK_PAYLOAD_RELAX, relaxvm_read_payload };

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

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

const struct mpk_codec mpk_codec_relax = { &mpk_reader_relax, relaxvm_list_files };
