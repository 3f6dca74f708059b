/* SPDX-License-Identifier: Apache-2.0 */
/* The blob's object is made through LLVM's C API and not as text, so that nothing of the blob has
 * to be escaped and parsed. */
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#include "llvm/plugin/session.h"

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

enum mpk_code mpk_llvm_emit_blob(const struct mpk_llvm_blob *blob, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_session s = { 0 };
	enum mpk_code code = emit(&s, blob, arena, out, err);

	mpk_session_close(&s);
	return code;
}
