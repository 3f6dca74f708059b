/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - disassembles machine code: asks LLVM's helper by function and by object
 *
 * LLVM runs in a helper process (helpers.c), so that code which crashes it costs only one
 * listing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "disasm/internal/job.h"
#include "text/escape.h"
#include "llvm/llvm.h"

/* A file does not say which extensions its functions use, so all extensions are enabled that LLVM
 * does not enable by itself. step is the minimum length of an instruction in bytes. */
static const struct row {
	uint16_t machine;
	unsigned bits; /* 0: any */
	bool big_endian, thumb;
	const char *triple, *cpu, *features;
	unsigned step;
} rows[] = {
	{ EM_X86_64, 0, false, false, "x86_64-linux-gnu", "", "", 1 },
	{ EM_386, 0, false, false, "i386-linux-gnu", "", "", 1 },
	{ EM_AARCH64, 0, false, false, "aarch64-linux-gnu", "", "+all", 4 },
	{ EM_AARCH64, 0, true, false, "aarch64_be-linux-gnu", "", "+all", 4 },
	{ EM_ARM, 0, false, false, "armv7-linux-gnueabihf", "", "+neon,+vfp4,+hwdiv-arm", 4 },
	{ EM_ARM, 0, false, true, "thumbv7-linux-gnueabihf", "", "+neon,+vfp4,+hwdiv", 2 },
	{ EM_RISCV, 64, false, false, "riscv64-linux-gnu", "",
	  "+m,+a,+f,+d,+c,+v,+zba,+zbb,+zbs,+zfh,+zicsr,+zifencei,+zicond", 2 },
	{ EM_RISCV, 32, false, false, "riscv32-linux-gnu", "",
	  "+m,+a,+f,+d,+c,+zba,+zbb,+zbs,+zicsr,+zifencei", 2 },
	{ EM_PPC64, 0, false, false, "powerpc64le-linux-gnu", "pwr10", "", 4 },
	{ EM_PPC64, 0, true, false, "powerpc64-linux-gnu", "pwr10", "", 4 },
	{ EM_PPC, 0, true, false, "powerpc-linux-gnu", "", "", 4 },
	{ EM_S390, 0, true, false, "s390x-linux-gnu", "z16", "", 2 },
	{ EM_LOONGARCH, 64, false, false, "loongarch64-linux-gnu", "", "+f,+d,+lsx,+lasx", 4 },
	{ EM_MIPS, 64, false, false, "mips64el-linux-gnu", "", "", 4 },
	{ EM_MIPS, 64, true, false, "mips64-linux-gnu", "", "", 4 },
	{ EM_MIPS, 32, false, false, "mipsel-linux-gnu", "", "", 4 },
	{ EM_MIPS, 32, true, false, "mips-linux-gnu", "", "", 4 },
	{ EM_SPARCV9, 0, true, false, "sparcv9-linux-gnu", "", "", 4 },
	{ EM_BPF, 0, false, false, "bpfel", "", "", 8 },
	{ EM_QDSP6, 0, false, false, "hexagon-unknown-elf", "", "", 4 },
};

/* Finds LLVM's name for the machine of a file, and the step to skip when it does not know an
 * instruction
 * @out     triple, cpu, features and step are set, the rest is unchanged
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: the machine is not in the table */
static enum mpk_code disasm_code_target_of(const struct mpk_code_file *f, bool thumb,
					   struct mpk_llvm_code *out, struct mpk_error *err)
{
	if (f->machine == EM_AMDGPU) {
		out->triple = "amdgcn-amd-amdhsa";
		out->cpu = mpk_arena_printf(f->arena, "%.*s", (int)strcspn(f->amd_target, ":"),
					    f->amd_target);
		out->features = "";
		out->step = 4;
		MPK_TRY_ALLOC(out->cpu, err);
		return MPK_OK;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct row *r = &rows[i];

		if (r->machine != f->machine || (r->bits && r->bits != f->bits) ||
		    r->big_endian != f->big_endian || r->thumb != thumb)
			continue;
		out->triple = r->triple;
		out->cpu = r->cpu;
		out->features = r->features;
		out->step = r->step;
		return MPK_OK;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"minspect cannot disassemble code for machine %u of ELF, %s-endian",
			f->machine, f->big_endian ? "big" : "little");
}

/* --- who asks ------------------------------------------------------------------------------------ */

struct reader {
	struct mpk_span code;
	uint64_t address; /* address of the first byte */
	struct mpk_arena *arena;
	struct mpk_llvm_instruction *list; /* malloc'ed while it grows */
	size_t count, cap;
};

static void disasm_code_reader_fini(struct reader *r)
{
	free(r->list);
}

/* Copies a text, since it is not NUL-terminated: the next row follows it. */
static const char *safe_text(struct mpk_arena *arena, struct mpk_span text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_escape_lines(&out, text);
	return out.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&out), out.len);
}

/* Formats undecoded bytes as the assembler directive that produces them. */
static const char *byte_text(struct mpk_arena *arena, struct mpk_span bytes)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < bytes.len; i++)
		mpk_strbuf_printf(&out, "%s0x%02x", i ? ", " : ".byte\t", bytes.data[i]);
	return out.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&out), out.len);
}

/* Hostile code may have taken over the helper. So a row must lie within the code that was sent, and
 * its text is made safe to print. */
static enum mpk_code read_row(struct reader *r, struct mpk_cursor *c, struct mpk_error *err)
{
	struct mpk_llvm_instruction *i;
	struct mpk_span head, text, bytes;
	struct mpk_disasm_row row;

	MPK_TRY(mpk_read_bytes(c, "row", sizeof row, &head, err));
	memcpy(&row, head.data, sizeof row);
	MPK_TRY(mpk_read_bytes(c, "text", row.text_bytes, &text, err));
	if (row.address < r->address || !row.bytes ||
	    !mpk_span_sub(r->code, row.address - r->address, row.bytes, &bytes))
		return mpk_fail(err, MPK_E_TOOL, "LLVM's answer makes no sense");
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->list, &r->cap, r->count + 1, sizeof *r->list), err);
	i = &r->list[r->count++];
	*i = (struct mpk_llvm_instruction){
		.address = row.address,
		.bytes = row.bytes,
		.text = row.has_text ? safe_text(r->arena, text) : byte_text(r->arena, bytes),
		.has_target = row.has_target == 1,
		.target = row.target,
	};
	MPK_TRY_ALLOC(i->text, err);
	return MPK_OK;
}

/* Disassembles a run of code into arena. The texts live until the next request, are safe to print,
 * and say ".byte 0x0f, 0x0b" for bytes that are not an instruction.
 * Returns  MPK_OK; MPK_E_LOAD: LLVM is not installed; MPK_E_UNSUPPORTED: LLVM does not know the
 *          machine; MPK_E_TOOL: it crashed or timed out; MPK_E_NOMEM */
static enum mpk_code ask_llvm(struct mpk_disasm *d, const struct mpk_llvm_code *code,
			      struct mpk_arena *arena, struct mpk_llvm_instruction **out,
			      size_t *count, struct mpk_error *err)
{
	struct mpk_disasm_question q = { .address = code->address, .step = code->step };
	MPK_CLEANUP(disasm_code_reader_fini)
	struct reader r = { code->bytes, code->address, arena, NULL, 0, 0 };
	struct mpk_llvm_instruction *list;
	struct mpk_span parts[2] = { { 0 }, code->bytes };
	struct mpk_cursor c;

	(void)snprintf(q.triple, sizeof q.triple, "%s", code->triple);
	(void)snprintf(q.cpu, sizeof q.cpu, "%s", code->cpu);
	(void)snprintf(q.features, sizeof q.features, "%s", code->features);
	parts[0] = mpk_span_of(&q, sizeof q);
	MPK_TRY(mpk_helper_ask(&d->llvm, parts, 2, &d->answer, err));
	c = mpk_cursor_of(mpk_span_of(d->answer.data, d->answer.len), 0, "answer");
	while (mpk_cursor_left(&c))
		MPK_TRY(read_row(&r, &c, err));
	list = mpk_arena_keep(arena, r.list, r.count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	*out = list;
	*count = r.count;
	return MPK_OK;
}

/* --- functions ---------------------------------------------------------------------------------- */

enum mpk_code mpk_disasm_put(struct mpk_disasm_job *j, const struct mpk_listing *l)
{
	j->found++;
	return j->sink->put(l, j->sink->arg, j->err);
}

/* Notes a failure, which ends only its own listing, since other images may be readable. Only the
 * first failure is kept. */
enum mpk_code mpk_disasm_note(struct mpk_disasm_job *j, enum mpk_code code,
			      const struct mpk_error *err)
{
	if (code == MPK_OK)
		return MPK_OK;
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(j->err);
	j->found++;
	/* What something helps against is said before what nothing does. */
	if (j->failure != MPK_OK && (j->failure != MPK_E_UNSUPPORTED || code == MPK_E_UNSUPPORTED))
		return MPK_OK;
	j->failure = code;
	j->error = *err;
	return MPK_OK;
}

/* A large function is processed in pieces, so that its text takes no more memory than that of one
 * piece. An instruction may reach beyond the end of a piece; the next piece begins after it. */
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
	status = ask_llvm(j->d, &code, &arena, &list, &count, &err);
	if (status != MPK_OK) {
		*at = all.len;
		return mpk_disasm_note(j, status, &err);
	}
	l->instructions = list;
	l->address = code.address;
	l->bytes = 0;
	for (l->count = 0; l->count < count; l->count++) {
		/* the last instructions may be cut: the next piece begins with them */
		if (l->bytes >= PIECE_BYTES && left > code.bytes.len)
			break;
		l->bytes += list[l->count].bytes;
	}
	/* ensures progress, so that the loop ends */
	*at = l->bytes ? *at + l->bytes : all.len;
	return mpk_disasm_put(j, l);
}

enum mpk_code mpk_disasm_function(struct mpk_disasm_job *j, const char *path, struct mpk_span name,
				  const char *format, struct mpk_code_file *file,
				  const struct mpk_code_function *function,
				  const struct mpk_code_info *of)
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
	enum mpk_code status = disasm_code_target_of(file, function->thumb, &code, &err);
	uint64_t at = 0;

	/* symbols may all span the same code, which would be disassembled for each of them */
	if (status == MPK_OK && function->bytes.len > file->code_left)
		status = mpk_fail(&err, MPK_E_CORRUPT,
				  "functions overlap: '%s' and those before it have more than "
				  "twice the bytes of the file",
				  MPK_QUOTE(name));
	if (status != MPK_OK)
		return mpk_disasm_note(j, status, &err);
	file->code_left -= function->bytes.len;
	if (of && of->format->count_work) {
		MPK_TRY(mpk_disasm_rows(j, of));
		l.code = of;
		l.rows = &j->rows;
	}
	/* source lines are read once for all pieces */
	MPK_TRY(mpk_code_file_lines(file, function, &arena, &l.lines, &l.line_count, j->err));
	while (at < function->bytes.len) {
		MPK_TRY(put_piece(j, &l, code, &at));
		l.continues = true;
	}
	return MPK_OK;
}
