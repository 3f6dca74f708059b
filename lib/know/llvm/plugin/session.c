/* SPDX-License-Identifier: Apache-2.0 */
/* LLVM's own handler of diagnostics ends the process, and some of its calls report success after
 * an error: hence ours, and the question `failed` after every step. */
#include "llvm/plugin/session.h"

#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"

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

static void init_all(void)
{
	LLVMInitializeAllTargetInfos();
	LLVMInitializeAllTargets();
	LLVMInitializeAllTargetMCs();
	LLVMInitializeAllAsmPrinters();
	LLVMInitializeAllAsmParsers();
	LLVMInitializeAllDisassemblers();
}

void mpk_session_init(const char *triple)
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
	init_all();
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
	struct mpk_session *s = data;

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

const char *mpk_session_version(void)
{
	static char version[24];
	unsigned major, minor, patch;

	if (!version[0]) {
		LLVMGetVersion(&major, &minor, &patch);
		(void)snprintf(version, sizeof version, "%u.%u.%u", major, minor, patch);
	}
	return version;
}

static enum mpk_code open_machine(struct mpk_session *s, LLVMCodeGenOptLevel level,
				  struct mpk_error *err)
{
	LLVMTargetRef target;
	char *message = NULL;

	mpk_session_init(s->triple);
	if (LLVMGetTargetFromTriple(s->triple, &target, &message)) {
		LLVMDisposeMessage(message);
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s knows no target '%s'",
				mpk_session_version(), MPK_QUOTE(mpk_span_str(s->triple)));
	}
	s->machine = LLVMCreateTargetMachine(target, s->triple, "", features_for(s->triple), level,
					     LLVMRelocPIC, LLVMCodeModelDefault);
	if (!s->machine || !LLVMTargetHasAsmBackend(target))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "LLVM %s cannot make object files for '%s'",
				mpk_session_version(), MPK_QUOTE(mpk_span_str(s->triple)));
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

enum mpk_code mpk_session_suit(struct mpk_session *s, struct mpk_error *err)
{
	if (!wants_no_optimisation(s->module))
		return MPK_OK;
	LLVMDisposeTargetMachine(s->machine);
	s->machine = NULL;
	return open_machine(s, LLVMCodeGenLevelNone, err);
}

enum mpk_code mpk_session_open(struct mpk_session *s, const char *triple, struct mpk_error *err)
{
	s->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(s->context, on_diagnostic, s);
	s->triple = LLVMNormalizeTargetTriple(triple);
	return open_machine(s, LLVMCodeGenLevelDefault, err);
}

enum mpk_code mpk_session_emit(struct mpk_session *s, struct mpk_arena *arena, struct mpk_span *out,
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

void mpk_session_close(struct mpk_session *s)
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
