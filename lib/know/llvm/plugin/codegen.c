/* SPDX-License-Identifier: Apache-2.0 */
/* codegen.c - the plug-in's table: IR and blobs to objects, machine code to text
 *
 * This file and its neighbour are the only ones that see LLVM; they run in a child process, as LLVM ends the process on
 * some inputs. IR is verified before code is generated, because back ends crash on what the verifier refuses. The blob's
 * object is made through LLVM's C API and not as text, so that nothing of the blob has to be escaped and parsed. */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "llvm/plugin/disassemble.h"

/* --- sessions --- */

/* One LLVM context, its target and what it complained about. LLVM's own handler of diagnostics would end the process; with
 * ours a call may report success and make a broken object, so `failed` must be looked at after every step that can
 * complain. Zero-initialise; session_open; session_close. */
struct session {
	LLVMContextRef context;
	LLVMTargetMachineRef machine;
	LLVMModuleRef module; /* owned once set */
	char *triple;         /* LLVM's normal form */
	bool failed;          /* an error was reported; text holds the first */
	char text[512];
};

/* Only the wanted back end is initialised: each one costs page faults in libLLVM. */
#define BACK_END(name)                                                                             \
	static void init_##name(void)                                                              \
	{                                                                                          \
		LLVMInitialize##name##TargetInfo();                                                \
		LLVMInitialize##name##Target();                                                    \
		LLVMInitialize##name##TargetMC();                                                  \
		LLVMInitialize##name##AsmPrinter();                                                \
		LLVMInitialize##name##AsmParser();                                                 \
		LLVMInitialize##name##Disassembler();                                              \
	}

BACK_END(X86)
BACK_END(AArch64)
BACK_END(ARM)
BACK_END(RISCV)
BACK_END(SystemZ)
BACK_END(PowerPC)
BACK_END(LoongArch)
BACK_END(Mips)
BACK_END(WebAssembly)
BACK_END(AMDGPU)

/* All back ends when it is none of those that stand here. */
static void init_back_end(const char *triple)
{
	static const struct {
		const char *prefix;
		void (*init)(void);
	} rows[] = {
		{ "x86_64", init_X86 },    { "i386", init_X86 },
		{ "i686", init_X86 },      { "aarch64", init_AArch64 },
		{ "arm64", init_AArch64 }, { "arm", init_ARM },
		{ "thumb", init_ARM },     { "riscv", init_RISCV },
		{ "s390x", init_SystemZ }, { "powerpc", init_PowerPC },
		{ "ppc", init_PowerPC },   { "loongarch", init_LoongArch },
		{ "mips", init_Mips },     { "wasm", init_WebAssembly },
		{ "amdgcn", init_AMDGPU },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (strncmp(triple, rows[i].prefix, strlen(rows[i].prefix)) == 0) {
			rows[i].init();
			return;
		}
	}

	LLVMInitializeAllTargetInfos();
	LLVMInitializeAllTargets();
	LLVMInitializeAllTargetMCs();
	LLVMInitializeAllAsmPrinters();
	LLVMInitializeAllAsmParsers();
	LLVMInitializeAllDisassemblers();
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
	struct session *s = data;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	if (!s->failed) {
		char *text = LLVMGetDiagInfoDescription(info);

		mpk_escape_to(mpk_span_str(text), s->text, sizeof s->text);
		LLVMDisposeMessage(text);
	}
	s->failed = true;
}

/* A bare triple means the base instruction set; Linux on RISC-V and LoongArch means the set and the
 * ABI of its distributions, and their linkers refuse objects of another. */
static const char *features_for(const char *triple)
{
	static const struct {
		const char *machine, *features;
	} rows[] = {
		{ "riscv64", "+m,+a,+f,+d,+c" },
		{ "loongarch64", "+64bit,+f,+d,+ual" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows) && strstr(triple, "linux"); i++)
		if (strncmp(triple, rows[i].machine, strlen(rows[i].machine)) == 0)
			return rows[i].features;
	return "";
}

/* Of the library that is really loaded, "19.1.7". */
static const char *session_version(void)
{
	static char version[24];
	unsigned major, minor, patch;

	if (!version[0]) {
		LLVMGetVersion(&major, &minor, &patch);
		(void)snprintf(version, sizeof version, "%u.%u.%u", major, minor, patch);
	}
	return version;
}

static enum mpk_code open_machine(struct session *s, LLVMCodeGenOptLevel level,
				  struct mpk_error *err)
{
	LLVMTargetRef target;
	char *message = NULL;

	init_back_end(s->triple);
	if (LLVMGetTargetFromTriple(s->triple, &target, &message)) {
		LLVMDisposeMessage(message);
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s knows no target '%s'",
				session_version(), MPK_QUOTE(mpk_span_str(s->triple)));
	}
	s->machine = LLVMCreateTargetMachine(target, s->triple, "", features_for(s->triple), level,
					     LLVMRelocPIC, LLVMCodeModelDefault);
	if (!s->machine || !LLVMTargetHasAsmBackend(target))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s cannot make object files for '%s'",
				session_version(), MPK_QUOTE(mpk_span_str(s->triple)));
	return MPK_OK;
}

/* Passes are set up for each function, also where all of them ask for none of it. */
static bool wants_no_optimisation(LLVMModuleRef module)
{
	unsigned optnone = LLVMGetEnumAttributeKindForName("optnone", 7);
	bool has_code = false;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f))
			continue;
		has_code = true;
		if (!LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
						 optnone))
			return false;
	}
	return has_code;
}

/* No optimisation of machine code where no function of the module wants any (optnone). */
static enum mpk_code session_suit(struct session *s, struct mpk_error *err)
{
	if (!wants_no_optimisation(s->module))
		return MPK_OK;
	LLVMDisposeTargetMachine(s->machine);
	s->machine = NULL;
	return open_machine(s, LLVMCodeGenLevelNone, err);
}

static enum mpk_code session_open(struct session *s, const char *triple, struct mpk_error *err)
{
	s->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(s->context, on_diagnostic, s);
	s->triple = LLVMNormalizeTargetTriple(triple);
	return open_machine(s, LLVMCodeGenLevelDefault, err);
}

static enum mpk_code session_emit(struct session *s, struct mpk_arena *arena, struct mpk_span *out,
				  struct mpk_error *err)
{
	LLVMMemoryBufferRef buffer = NULL;
	char *message = NULL;

	if (LLVMTargetMachineEmitToMemoryBuffer(s->machine, s->module, LLVMObjectFile, &message,
						&buffer)) {
		enum mpk_code code =
			mpk_fail(err, MPK_E_TOOL, "LLVM: %s", MPK_QUOTE(mpk_span_str(message)));
		LLVMDisposeMessage(message);
		return code;
	}
	size_t len = LLVMGetBufferSize(buffer);
	char *copy = s->failed ? NULL : mpk_arena_copy(arena, LLVMGetBufferStart(buffer), len);
	LLVMDisposeMemoryBuffer(buffer);
	if (s->failed)
		return mpk_fail(err, MPK_E_TOOL, "LLVM: %s", s->text);
	MPK_TRY_ALLOC(copy, err);
	*out = mpk_span_of(copy, len);
	return MPK_OK;
}

static void session_close(struct session *s)
{
	if (s->module)
		LLVMDisposeModule(s->module);
	if (s->machine)
		LLVMDisposeTargetMachine(s->machine);
	if (s->triple)
		LLVMDisposeMessage(s->triple);
	if (s->context)
		LLVMContextDispose(s->context);
	memset(s, 0, sizeof *s);
}

/* --- the blob --- */

static LLVMValueRef add_symbol(struct session *s, const struct mpk_llvm_blob *blob)
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

static void append_list(struct session *s, const char *name, const char *section, LLVMValueRef row)
{
	LLVMValueRef rows = LLVMConstArray2(LLVMTypeOf(row), &row, 1);
	LLVMValueRef list = LLVMAddGlobal(s->module, LLVMTypeOf(rows), name);

	LLVMSetInitializer(list, rows);
	LLVMSetLinkage(list, LLVMAppendingLinkage);
	if (section)
		LLVMSetSection(list, section);
}

/* static void _GLOBAL__sub_I_<prefix>devc(void) { register_fn("symbol", &symbol); } */
static LLVMValueRef add_constructor(struct session *s, const struct mpk_llvm_blob *blob,
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

/* Through the C API, LLVM puts llvm.global_ctors of ELF objects into .ctors, which only some linkers still run; a
 * pointer in .init_array is run by all. */
static void list_constructor(struct session *s, enum mpk_object_format format, LLVMValueRef ctor)
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

static enum mpk_code emit(struct session *s, const struct mpk_llvm_blob *blob,
			  struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	char name[256];

	MPK_TRY(session_open(s, blob->triple, err));
	(void)snprintf(name, sizeof name, "%.200sdevc", blob->prefix);
	s->module = LLVMModuleCreateWithNameInContext(name, s->context);
	LLVMSetTarget(s->module, s->triple);

	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);
	LLVMSetModuleDataLayout(s->module, layout);
	LLVMDisposeTargetData(layout);

	LLVMValueRef symbol = add_symbol(s, blob);
	if (blob->note.text && blob->format == MPK_OBJECT_ELF) {
		/* An ELF note (elf/note.h), as a structure, so that LLVM takes care of the byte
		 * order. */
		LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context),
			    i8 = LLVMInt8TypeInContext(s->context);
		size_t owner = strlen(blob->note.owner) + 1, text = strlen(blob->note.text) + 1;
		LLVMValueRef fields[] = {
			LLVMConstInt(i32, owner, 0),
			LLVMConstInt(i32, text, 0),
			LLVMConstInt(i32, blob->note.type, 0),
			LLVMConstStringInContext2(s->context, blob->note.owner, owner, 1),
			LLVMConstStringInContext2(s->context, blob->note.text, text, 1),
			LLVMConstNull(LLVMArrayType2(i8, (4 - text % 4) % 4)),
		};
		LLVMValueRef value = LLVMConstStructInContext(s->context, fields,
							      sizeof fields / sizeof *fields, 0);
		LLVMValueRef global = LLVMAddGlobal(s->module, LLVMTypeOf(value), "mpk_note");

		LLVMSetInitializer(global, value);
		LLVMSetGlobalConstant(global, 1);
		LLVMSetLinkage(global, LLVMPrivateLinkage);
		LLVMSetAlignment(global, 4);
		LLVMSetSection(global, blob->note.section);
		append_list(s, "llvm.compiler.used", "llvm.metadata", global);
	}
	if (blob->register_fn)
		list_constructor(s, blob->format, add_constructor(s, blob, symbol));
	return session_emit(s, arena, out, err);
}

/* The entries of the table; llvm.h says what they do and how they fail. */
static enum mpk_code llvm_emit_blob(const struct mpk_llvm_blob *blob, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err)
{
	struct session s = { 0 };
	enum mpk_code code = emit(&s, blob, arena, out, err);

	session_close(&s);
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

/* LLVM says "NAME:LINE:COLUMN: error: TEXT\n<the line>\n   ^\n": TEXT becomes the sentence. */
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
			     session_version(), MPK_QUOTE(sentence));
}

static enum mpk_code parse(struct session *s, const struct mpk_llvm_source *source,
			   struct mpk_error *err)
{
	/* The text parser needs a NUL after the bytes, which only the copy has; it takes the buffer over. */
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
				session_version(),
				MPK_QUOTE(mpk_span_str(s->failed ? s->text : message)));
	if (message)
		LLVMDisposeMessage(message);
	return code;
}

static size_t arch_length(const char *triple)
{
	return strcspn(triple, "-");
}

static enum mpk_code compile(struct session *s, const struct mpk_llvm_source *source,
			     struct mpk_arena *arena, struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(session_open(s, source->triple, err));
	MPK_TRY(parse(s, source, err));

	char *message = NULL;
	enum mpk_code code = MPK_OK;

	if (LLVMVerifyModule(s->module, LLVMReturnStatusAction, &message))
		code = mpk_fail(err, MPK_E_CORRUPT, "the module is not valid IR: %s",
				MPK_QUOTE(mpk_span_of(message, strcspn(message, "\n"))));
	LLVMDisposeMessage(message);
	MPK_TRY(code);

	/* An IR module without a triple is for any machine of its data layout. */
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

	MPK_TRY(session_suit(s, err));
	return session_emit(s, arena, out, err);
}

static enum mpk_code llvm_compile(const struct mpk_llvm_source *source, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err)
{
	struct session s = { 0 };
	enum mpk_code code = compile(&s, source, arena, out, err);

	session_close(&s);
	return code;
}

/* --- the table --- */

static enum mpk_code llvm_disassemble(const struct mpk_llvm_code *code,
				      void (*each)(const struct mpk_llvm_instruction *i, void *arg),
				      void *arg, struct mpk_error *err)
{
	init_back_end(code->triple);
	return mpk_llvm_plugin_disassemble(session_version(), code, each, arg, err);
}

MPK_EXPORT const struct mpk_llvm *mpk_llvm_table(void)
{
	static struct mpk_llvm table = {
		.emit_blob = llvm_emit_blob,
		.compile = llvm_compile,
		.disassemble = llvm_disassemble,
	};

	table.version = session_version();
	return &table;
}
