/* SPDX-License-Identifier: Apache-2.0 */
/* codegen.c - the plug-in's table: IR to objects, machine code to text
 *
 * This file and its neighbours are the only ones that see LLVM; they run in a child process, as
 * LLVM ends the process on some inputs. IR is verified before code is generated, because back ends
 * crash on what the verifier refuses.
 */
#include "text/escape.h"

#include <inttypes.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llvm/plugin/session.h"

/* IR is checked before code is generated: back ends crash on what the verifier refuses. */

static bool is_bitcode(struct mpk_span bytes)
{
	static const uint8_t raw[] = { 'B', 'C', 0xc0, 0xde },
			     wrapped[] = { 0xde, 0xc0, 0x17, 0x0b };

	return bytes.len >= 4 &&
	       (memcmp(bytes.data, raw, 4) == 0 || memcmp(bytes.data, wrapped, 4) == 0);
}

/* LLVM says "NAME:LINE:COLUMN: error: TEXT\n<the line>\n   ^\n"; LINE and COLUMN are kept,
 * TEXT becomes the sentence. */
static enum mpk_code fail_parse(const char *name, const char *message, struct mpk_error *err)
{
	size_t skip = strlen(name);
	const char *text = message;
	unsigned long line = 0, column = 0;

	if (strncmp(message, name, skip) == 0 && message[skip] == ':') {
		char *end;

		line = strtoul(message + skip + 1, &end, 10);
		if (*end == ':')
			column = strtoul(end + 1, &end, 10);
		text = strncmp(end, ": error: ", 9) == 0 ? end + 9 : end;
	}
	struct mpk_span sentence = mpk_span_of(text, strcspn(text, "\n"));
	return mpk_fail_line(err, MPK_E_SYNTAX, (uint32_t)line, (uint32_t)column, "LLVM %s: %s",
			     mpk_session_version(), MPK_QUOTE(sentence));
}

static enum mpk_code parse(struct mpk_session *s, const struct mpk_llvm_source *source,
			   struct mpk_error *err)
{
	/* The text parser needs a NUL after the bytes, which only the copy has. The parser
	 * takes the buffer over. */
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
		(const char *)source->bytes.data, source->bytes.len, source->name);
	char *message = NULL;

	if (!LLVMParseIRInContext(s->context, buffer, &s->module, &message) && !s->failed)
		return MPK_OK;

	enum mpk_code code;
	if (!is_bitcode(source->bytes))
		code = fail_parse(source->name, message ? message : s->text, err);
	else
		code = mpk_fail(err, MPK_E_CORRUPT, "bitcode that LLVM %s cannot read: %s",
				mpk_session_version(),
				MPK_QUOTE(mpk_span_str(s->failed ? s->text : message)));
	if (message)
		LLVMDisposeMessage(message);
	return code;
}

static enum mpk_code verify(struct mpk_session *s, struct mpk_error *err)
{
	char *message = NULL;
	enum mpk_code code = MPK_OK;

	if (LLVMVerifyModule(s->module, LLVMReturnStatusAction, &message))
		code = mpk_fail(err, MPK_E_CORRUPT, "the module is not valid IR: %s",
				MPK_QUOTE(mpk_span_of(message, strcspn(message, "\n"))));
	LLVMDisposeMessage(message);
	return code;
}

static size_t arch_length(const char *triple)
{
	return strcspn(triple, "-");
}

/* An IR module without a triple is for any machine of its data layout. */
static enum mpk_code codegen_set_target(struct mpk_session *s, struct mpk_error *err)
{
	const char *own = LLVMGetTarget(s->module);
	char *normal = LLVMNormalizeTargetTriple(own);
	bool same = !*own || (arch_length(normal) == arch_length(s->triple) &&
			      strncmp(normal, s->triple, arch_length(normal)) == 0);

	LLVMDisposeMessage(normal);
	if (!same)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"this IR is for '%s', the package for '%s'; compile the IR for that target or set [package] target",
			MPK_QUOTE(mpk_span_str(own)), MPK_QUOTE(mpk_span_str(s->triple)));
	LLVMSetTarget(s->module, s->triple);
	if (!*LLVMGetDataLayoutStr(s->module)) {
		LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);

		LLVMSetModuleDataLayout(s->module, layout);
		LLVMDisposeTargetData(layout);
	}
	return MPK_OK;
}

static enum mpk_code compile(struct mpk_session *s, const struct mpk_llvm_source *source,
			     struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(mpk_session_open(s, source->triple, err));
	MPK_TRY(parse(s, source, err));
	MPK_TRY(verify(s, err));
	MPK_TRY(codegen_set_target(s, err));
	MPK_TRY(mpk_session_suit(s, err));
	return mpk_session_emit(s, arena, out, err);
}

static enum mpk_code llvm_compile(const struct mpk_llvm_source *source, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_session s = { 0 };
	enum mpk_code code = compile(&s, source, arena, out, err);

	mpk_session_close(&s);
	return code;
}

/* LLVM prints a branch relative to its instruction unless it is given a name for where that leads: the
 * name that it gets is the address, and who knows the file's symbols puts theirs after it. */

/* A context keeps each name that it was given: a new one after so many instructions. */
enum { CONTEXT_INSTRUCTIONS = 1 << 16, TEXT_BYTES = 256 };

/* What LLVM asked about the instruction it is at. */
struct lookup {
	bool has_target, is_page;
	uint64_t target;
	char name[24];
	/* AArch64: an address is a page and, in the next instruction, what lies in it */
	uint64_t page, page_pc;
	unsigned page_register;
};

/* adrp xN, page; LLVM hands the instruction itself. */
static void note_page(struct lookup *l, uint32_t code, uint64_t pc)
{
	uint64_t pages = (uint64_t)(code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	if (pages & 1u << 20)
		pages |= ~(uint64_t)0 << 21;
	l->page = (pc & ~(uint64_t)0xfff) + (pages << 12);
	l->page_pc = pc;
	l->page_register = code & 31;
	l->target = l->page;
	l->has_target = l->is_page = true;
}

/* add xN, xM, #low, or ldr xN, [xM, #low], right after adrp xM */
static void note_in_page(struct lookup *l, uint32_t code, uint64_t pc, unsigned scale)
{
	if (l->page_pc + 4 != pc || (code >> 5 & 31) != l->page_register)
		return;
	l->target = l->page + (uint64_t)(code >> 10 & 0xfff) * scale;
	l->has_target = true;
}

static const char *codegen_look_up(void *data, uint64_t value, uint64_t *type, uint64_t pc,
				   const char **reference)
{
	struct lookup *l = data;
	bool branch = *type == LLVMDisassembler_ReferenceType_In_Branch;

	if (*type == LLVMDisassembler_ReferenceType_In_ARM64_ADRP)
		note_page(l, (uint32_t)value, pc);
	else if (*type == LLVMDisassembler_ReferenceType_In_ARM64_ADDXri)
		note_in_page(l, (uint32_t)value, pc, 1);
	else if (*type == LLVMDisassembler_ReferenceType_In_ARM64_LDRXui)
		note_in_page(l, (uint32_t)value, pc, 8);
	if (branch || *type == LLVMDisassembler_ReferenceType_In_PCrel_Load) {
		l->has_target = true;
		l->target = value;
	}
	*type = LLVMDisassembler_ReferenceType_InOut_None;
	*reference = NULL;
	if (!branch)
		return NULL;
	(void)snprintf(l->name, sizeof l->name, "0x%" PRIx64, value);
	return l->name;
}

static enum mpk_code open_context(const struct mpk_llvm_code *code, struct lookup *l,
				  LLVMDisasmContextRef *out, struct mpk_error *err)
{
	*out = LLVMCreateDisasmCPUFeatures(code->triple, code->cpu, code->features, l, 0, NULL,
					   codegen_look_up);
	if (!*out)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s cannot disassemble code for '%s'",
				mpk_session_version(), MPK_QUOTE(mpk_span_str(code->triple)));
	(void)LLVMSetDisasmOptions(*out, LLVMDisassembler_Option_PrintImmHex);
	return MPK_OK;
}

/* "adrp\tx0, 32": the operand counts pages from here; what is meant is the address. */
static void say_page(char text[TEXT_BYTES], uint64_t page)
{
	char *comma = strchr(text, ',');
	size_t left = comma ? (size_t)(text + TEXT_BYTES - comma) : 0;

	if (comma)
		(void)snprintf(comma, left, ", 0x%" PRIx64, page);
}

static size_t one(LLVMDisasmContextRef context, const struct mpk_llvm_code *code, size_t at,
		  struct lookup *l, struct mpk_llvm_instruction *out, char text[TEXT_BYTES])
{
	size_t left = code->bytes.len - at, bytes;

	l->has_target = l->is_page = false;
	/* the prototype lacks a const */
	bytes = LLVMDisasmInstruction(context, (uint8_t *)(uintptr_t)code->bytes.data + at, left,
				      code->address + at, text, TEXT_BYTES);
	if (bytes && l->is_page)
		say_page(text, l->page);
	*out = (struct mpk_llvm_instruction){
		.address = code->address + at,
		.bytes = bytes               ? bytes
			 : code->step < left ? code->step
					     : left,
		.text = bytes ? text + strspn(text, " \t") : NULL,
		.has_target = bytes && l->has_target,
		.target = l->target,
	};
	return out->bytes;
}

static enum mpk_code some(const struct mpk_llvm_code *code, size_t *at,
			  void (*each)(const struct mpk_llvm_instruction *i, void *arg), void *arg,
			  struct mpk_error *err)
{
	struct mpk_llvm_instruction instruction;
	struct lookup l = { 0 };
	LLVMDisasmContextRef context;
	char text[TEXT_BYTES];

	MPK_TRY(open_context(code, &l, &context, err));
	for (size_t n = 0; n < CONTEXT_INSTRUCTIONS && *at < code->bytes.len; n++) {
		*at += one(context, code, *at, &l, &instruction, text);
		each(&instruction, arg);
	}
	LLVMDisasmDispose(context);
	return MPK_OK;
}

static enum mpk_code llvm_disassemble(const struct mpk_llvm_code *code,
				      void (*each)(const struct mpk_llvm_instruction *i, void *arg),
				      void *arg, struct mpk_error *err)
{
	size_t at = 0;

	mpk_session_init(code->triple);
	while (at < code->bytes.len)
		MPK_TRY(some(code, &at, each, arg, err));
	return MPK_OK;
}

MPK_EXPORT const struct mpk_llvm *mpk_llvm_table(void)
{
	static struct mpk_llvm table = {
		.emit_blob = mpk_llvm_emit_blob,
		.compile = llvm_compile,
		.disassemble = llvm_disassemble,
	};

	table.version = mpk_session_version();
	return &table;
}
