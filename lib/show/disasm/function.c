/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "disasm/listing.h"
#include "text/escape.h"

enum mpk_code mpk_disasm_put(struct mpk_disasm_job *j, const struct mpk_listing *l)
{
	j->found++;
	return j->sink->put(l, j->sink->arg, j->err);
}

enum mpk_code mpk_disasm_note(struct mpk_disasm_job *j, enum mpk_code code,
			      const struct mpk_error *err)
{
	if (code == MPK_OK)
		return MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(j->err);
	j->found++;
	if (j->failure != MPK_OK)
		return MPK_OK;
	j->failure = code;
	j->error = *err;
	return MPK_OK;
}

/* A large function goes piece by piece, so that its text takes no more memory than that of a piece. An
 * instruction may reach beyond one; what begins behind its end is left to the next. */
enum { PIECE_BYTES = 1 << 17, INSTRUCTION_MOST = 16 };

static enum mpk_code put_piece(struct mpk_disasm_job *j, struct mpk_listing *l,
			       struct mpk_llvm_code code, uint64_t *at)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_span all = l->function->bytes;
	struct mpk_llvm_instruction *list;
	struct mpk_error err = { 0 };
	enum mpk_code status;
	size_t left = all.len - (size_t)*at, count;

	code.address = l->function->address + *at;
	code.bytes = mpk_span_of(all.data + *at, left < PIECE_BYTES + INSTRUCTION_MOST
							 ? left
							 : PIECE_BYTES + INSTRUCTION_MOST);
	status = mpk_disasm_code(j->d, &code, &arena, &list, &count, &err);
	if (status != MPK_OK) {
		*at = all.len;
		return mpk_disasm_note(j, status, &err);
	}
	l->instructions = list;
	l->address = code.address;
	l->bytes = 0;
	for (l->count = 0; l->count < count; l->count++) {
		if (l->bytes >= PIECE_BYTES && left > code.bytes.len)
			break;
		l->bytes += list[l->count].bytes;
	}
	*at = l->bytes ? *at + l->bytes : all.len;
	return mpk_disasm_put(j, l);
}

enum mpk_code mpk_disasm_function(struct mpk_disasm_job *j, const char *path, struct mpk_span name,
				  const char *format, struct mpk_code_file *file,
				  const struct mpk_code_function *function)
{
	struct mpk_listing l = {
		.path = path,
		.name = name,
		.format = format,
		.target = file->amd_target,
		.symbol = function->symbol,
		.function = function,
		.file = file,
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_llvm_code code = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code status = mpk_disasm_target(file, function->thumb, &code, &err);
	uint64_t at = 0;

	if (status == MPK_OK && function->bytes.len > file->code_left)
		status = mpk_fail(&err, MPK_E_CORRUPT,
				  "functions overlap: '%s' and those before it have more than "
				  "twice the bytes of the file",
				  MPK_QUOTE(name));
	if (status != MPK_OK)
		return mpk_disasm_note(j, status, &err);
	file->code_left -= function->bytes.len;
	MPK_TRY(mpk_code_file_lines(file, function, &arena, &l.lines, &l.line_count, j->err));
	while (at < function->bytes.len) {
		MPK_TRY(put_piece(j, &l, code, &at));
		l.continues = true;
	}
	return MPK_OK;
}
