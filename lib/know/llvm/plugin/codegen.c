/* SPDX-License-Identifier: Apache-2.0 */
/* codegen.c - the plug-in's table: IR and blobs to objects, machine code to text
 *
 * This file and its neighbours are the only ones that see LLVM; they run in a child process, as
 * LLVM ends the process on some inputs. IR is verified before code is generated, because back ends
 * crash on what the verifier refuses. The blob's object is made through LLVM's C API and not as text, so that nothing
 * of the blob has to be escaped and parsed.
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

/* --- the blob --- */

static LLVMValueRef add_symbol(struct mpk_session *s, const struct mpk_llvm_blob *blob)
{
	LLVMValueRef bytes = LLVMConstStringInContext2(s->context, (const char *)blob->bytes.data,
						       blob->bytes.len, 1);
	LLVMValueRef symbol = LLVMAddGlobal(s->module, LLVMTypeOf(bytes), blob->symbol);

	LLVMSetInitializer(symbol, bytes);
	LLVMSetGlobalConstant(symbol, 1);
	LLVMSetLinkage(symbol, LLVMExternalLinkage);
	LLVMSetAlignment(symbol, blob->align);
	if (blob->format == MPK_OBJECT_COFF)
		LLVMSetDLLStorageClass(symbol, LLVMDLLExportStorageClass);
	if (blob->large)
		LLVMSetSection(symbol, ".lrodata");
	return symbol;
}

static void append_list(struct mpk_session *s, const char *name, const char *section,
			LLVMValueRef row)
{
	LLVMValueRef rows = LLVMConstArray2(LLVMTypeOf(row), &row, 1);
	LLVMValueRef list = LLVMAddGlobal(s->module, LLVMTypeOf(rows), name);

	LLVMSetInitializer(list, rows);
	LLVMSetLinkage(list, LLVMAppendingLinkage);
	if (section)
		LLVMSetSection(list, section);
}

/* An ELF note (elf/note.h), as a structure, so that LLVM takes care of the byte order. */
static void add_note(struct mpk_session *s, const struct mpk_llvm_note *note)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context),
		    i8 = LLVMInt8TypeInContext(s->context);
	size_t owner = strlen(note->owner) + 1, text = strlen(note->text) + 1;
	LLVMValueRef fields[] = {
		LLVMConstInt(i32, owner, 0),
		LLVMConstInt(i32, text, 0),
		LLVMConstInt(i32, note->type, 0),
		LLVMConstStringInContext2(s->context, note->owner, owner, 1),
		LLVMConstStringInContext2(s->context, note->text, text, 1),
		LLVMConstNull(LLVMArrayType2(i8, (4 - text % 4) % 4)),
	};
	LLVMValueRef value =
		LLVMConstStructInContext(s->context, fields, sizeof fields / sizeof *fields, 0);
	LLVMValueRef global = LLVMAddGlobal(s->module, LLVMTypeOf(value), "mpk_note");

	LLVMSetInitializer(global, value);
	LLVMSetGlobalConstant(global, 1);
	LLVMSetLinkage(global, LLVMPrivateLinkage);
	LLVMSetAlignment(global, 4);
	LLVMSetSection(global, note->section);
	append_list(s, "llvm.compiler.used", "llvm.metadata", global);
}

/* static void _GLOBAL__sub_I_<prefix>devc(void) { register_fn("symbol", &symbol); } */
static LLVMValueRef add_constructor(struct mpk_session *s, const struct mpk_llvm_blob *blob,
				    LLVMValueRef symbol)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context);
	LLVMTypeRef ptr = LLVMPointerTypeInContext(s->context, 0);
	LLVMTypeRef ctor_type = LLVMFunctionType(LLVMVoidTypeInContext(s->context), NULL, 0, 0);
	LLVMTypeRef fn_type = LLVMFunctionType(i32, (LLVMTypeRef[]){ ptr, ptr }, 2, 0);
	LLVMValueRef fn = LLVMAddFunction(s->module, blob->register_fn, fn_type);
	char name[300];

	(void)snprintf(name, sizeof name, "_GLOBAL__sub_I_%.200sdevc", blob->prefix);
	LLVMValueRef ctor = LLVMAddFunction(s->module, name, ctor_type);
	LLVMSetLinkage(ctor, LLVMInternalLinkage);
	if (blob->format == MPK_OBJECT_ELF)
		LLVMSetSection(ctor, ".text.startup");

	LLVMBuilderRef b = LLVMCreateBuilderInContext(s->context);
	LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(s->context, ctor, ""));
	LLVMValueRef text = LLVMBuildGlobalStringPtr(b, blob->symbol, "");
	(void)LLVMBuildCall2(b, fn_type, fn, (LLVMValueRef[]){ text, symbol }, 2, "");
	(void)LLVMBuildRetVoid(b);
	LLVMDisposeBuilder(b);
	return ctor;
}

/* Through the C API, LLVM puts llvm.global_ctors of ELF objects into .ctors, which only
 * some linkers still run; a pointer in .init_array is run by all. */
static void list_constructor(struct mpk_session *s, enum mpk_object_format format,
			     LLVMValueRef ctor)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context);
	LLVMTypeRef ptr = LLVMPointerTypeInContext(s->context, 0);
	LLVMValueRef row[] = { LLVMConstInt(i32, 65535, 0), ctor, LLVMConstNull(ptr) };

	if (format != MPK_OBJECT_ELF) {
		append_list(s, "llvm.global_ctors", NULL,
			    LLVMConstStructInContext(s->context, row, 3, 0));
		return;
	}
	LLVMValueRef entry = LLVMAddGlobal(s->module, ptr, "__mpk_register");
	LLVMSetInitializer(entry, ctor);
	LLVMSetLinkage(entry, LLVMInternalLinkage);
	LLVMSetSection(entry, ".init_array");
	append_list(s, "llvm.used", "llvm.metadata", entry);
}

static enum mpk_code emit(struct mpk_session *s, const struct mpk_llvm_blob *blob,
			  struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	char name[256];

	MPK_TRY(mpk_session_open(s, blob->triple, err));
	(void)snprintf(name, sizeof name, "%.200sdevc", blob->prefix);
	s->module = LLVMModuleCreateWithNameInContext(name, s->context);
	LLVMSetTarget(s->module, s->triple);

	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);
	LLVMSetModuleDataLayout(s->module, layout);
	LLVMDisposeTargetData(layout);

	LLVMValueRef symbol = add_symbol(s, blob);
	if (blob->note.text && blob->format == MPK_OBJECT_ELF)
		add_note(s, &blob->note);
	if (blob->register_fn)
		list_constructor(s, blob->format, add_constructor(s, blob, symbol));
	return mpk_session_emit(s, arena, out, err);
}

/* The entries of the table; llvm.h says what they do and how they fail. */
static enum mpk_code llvm_emit_blob(const struct mpk_llvm_blob *blob, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_session s = { 0 };
	enum mpk_code code = emit(&s, blob, arena, out, err);

	mpk_session_close(&s);
	return code;
}

/* --- IR --- */

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
		.emit_blob = llvm_emit_blob,
		.compile = llvm_compile,
		.disassemble = llvm_disassemble,
	};

	table.version = mpk_session_version();
	return &table;
}
