/* SPDX-License-Identifier: Apache-2.0 */
/* llvm.h - what mpack asks of LLVM, as a table of functions
 *
 * Nothing outside know/llvm/plugin includes LLVM's headers. It is built as a shared object
 * of its own (libexec/mpack/llvm.so) and opened on first use, because libLLVM costs 12 ms
 * and 50 MB at start: `mpack check`, `--help`, .blob and .c output never pay for it, and
 * a machine without LLVM can still do those. The functions are called in a forked child
 * (process/process.h), because LLVM ends the process on some inputs.
 */
#ifndef MPK_LLVM_LLVM_H
#define MPK_LLVM_LLVM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "elf/target.h"

/* An ELF note: sizes and type as the target's 32-bit words, both texts with their NUL,
 * padded to four bytes. Other object formats have none. */
struct mpk_llvm_note {
	const char *section;
	const char *owner; /* three characters */
	uint32_t type;
	const char *text; /* NULL: no note */
};

/* A read-only symbol as an object file. */
struct mpk_llvm_blob {
	const char *triple;            /* "x86_64-linux-gnu", "arm64-apple-macos" */
	enum mpk_object_format format; /* of its objects */
	const char *symbol;
	struct mpk_span bytes;
	unsigned align;          /* bytes, a power of two */
	bool large;              /* x86-64 ELF: in .lrodata, not .rodata */
	const char *register_fn; /* a constructor calls register_fn(symbol, &symbol); NULL: none */
	const char *prefix;      /* of the constructor's name; "" */
	struct mpk_llvm_note note;
};

/* LLVM IR (.ll) or bitcode (.bc); which one is seen from the bytes. */
struct mpk_llvm_source {
	const char *triple; /* of the object; must agree with the module's own */
	const char *name;   /* base name: the object's file symbol, when the IR has none */
	struct mpk_span bytes;
};

/* Machine code of one function. */
struct mpk_llvm_code {
	const char *triple, *cpu, *features; /* cpu and features may be "" */
	uint64_t address;                    /* of the first byte */
	struct mpk_span bytes;
	unsigned step; /* bytes passed over where no instruction is */
};

struct mpk_llvm_instruction {
	uint64_t address;
	size_t bytes;
	const char *text; /* "movl\t$1, %eax", addresses that are branched to as 0x1f; NULL: no
			   * instruction of this machine */
	bool has_target;
	uint64_t target; /* what is branched to, or read relative to the program counter */
};

struct mpk_llvm {
	const char *version; /* of the library that is really loaded, "19.1.7" */

	/* emit_blob - an object with the symbol: external, constant, default visibility
	 * (COFF: exported)
	 * @out     the object's bytes, in arena
	 * Returns  MPK_OK; MPK_E_UNSUPPORTED (a triple LLVM cannot make objects for);
	 *          MPK_E_NOMEM; MPK_E_TOOL (LLVM's message) */
	enum mpk_code (*emit_blob)(const struct mpk_llvm_blob *blob, struct mpk_arena *arena,
				   struct mpk_span *out, struct mpk_error *err);

	/* compile - an object from IR; code generation at -O2, or at -O0 where all functions are optnone;
	 * position independent
	 * Opaque pointers; bitcode with typed ones is upgraded by LLVM.
	 * Returns  MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_CORRUPT (bitcode, a
	 *          module that does not verify); MPK_E_CONFLICT (made for another target);
	 *          MPK_E_UNSUPPORTED; MPK_E_NOMEM; MPK_E_TOOL (inline assembly, back end) */
	enum mpk_code (*compile)(const struct mpk_llvm_source *source, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err);

	/* disassemble - tell each instruction of a function, in order
	 * @each    what it gets lives until it returns
	 * Returns  MPK_OK; MPK_E_UNSUPPORTED: this LLVM cannot disassemble for the triple */
	enum mpk_code (*disassemble)(const struct mpk_llvm_code *code,
				     void (*each)(const struct mpk_llvm_instruction *i, void *arg),
				     void *arg, struct mpk_error *err);
};

/* mpk_llvm_table - the one symbol that libexec/mpack/llvm.so exports */
const struct mpk_llvm *mpk_llvm_table(void);

/* --- opening the plug-in when it is needed ------------------------------------------------- */

/* mpk_llvm_open - the functions of the plug-in at path; it stays open
 * Returns  MPK_OK; MPK_E_LOAD with the loader's reason and what to do */
enum mpk_code mpk_llvm_open(const char *path, const struct mpk_llvm **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
