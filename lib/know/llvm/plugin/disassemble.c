/* SPDX-License-Identifier: Apache-2.0 */
/* disassemble.c - machine code as text, an instruction at a time, with what each refers to
 *
 * LLVM prints a branch relative to its instruction unless it is given a name for where that leads: the
 * name that it gets is the address, and who knows the file's symbols puts theirs after it. */
#include "llvm/plugin/disassemble.h"

#include <inttypes.h>
#include <llvm-c/Disassembler.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"

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

	if (*type == LLVMDisassembler_ReferenceType_In_ARM64_ADRP) {
		/* adrp xN, page; LLVM hands the instruction itself. */
		uint32_t code = (uint32_t)value;
		uint64_t pages = (uint64_t)(code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

		if (pages & 1u << 20)
			pages |= ~(uint64_t)0 << 21;
		l->page = (pc & ~(uint64_t)0xfff) + (pages << 12);
		l->page_pc = pc;
		l->page_register = code & 31;
		l->target = l->page;
		l->has_target = l->is_page = true;
	} else if (*type == LLVMDisassembler_ReferenceType_In_ARM64_ADDXri)
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

static enum mpk_code some(const char *version, const struct mpk_llvm_code *code, size_t *at,
			  void (*each)(const struct mpk_llvm_instruction *i, void *arg), void *arg,
			  struct mpk_error *err)
{
	struct mpk_llvm_instruction instruction;
	struct lookup l = { 0 };
	LLVMDisasmContextRef context;
	char text[TEXT_BYTES];

	context = LLVMCreateDisasmCPUFeatures(code->triple, code->cpu, code->features, &l, 0, NULL,
					      codegen_look_up);
	if (!context)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s cannot disassemble code for '%s'",
				version, MPK_QUOTE(mpk_span_str(code->triple)));
	(void)LLVMSetDisasmOptions(context, LLVMDisassembler_Option_PrintImmHex);
	for (size_t n = 0; n < CONTEXT_INSTRUCTIONS && *at < code->bytes.len; n++) {
		*at += one(context, code, *at, &l, &instruction, text);
		each(&instruction, arg);
	}
	LLVMDisasmDispose(context);
	return MPK_OK;
}

enum mpk_code mpk_llvm_plugin_disassemble(const char *version, const struct mpk_llvm_code *code,
					  void (*each)(const struct mpk_llvm_instruction *i,
						       void *arg),
					  void *arg, struct mpk_error *err)
{
	size_t at = 0;

	while (at < code->bytes.len)
		MPK_TRY(some(version, code, &at, each, arg, err));
	return MPK_OK;
}
