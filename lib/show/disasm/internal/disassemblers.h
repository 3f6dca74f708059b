/* SPDX-License-Identifier: Apache-2.0 */
/* disassemblers.h - instructions of machine code as text, from LLVM and from the tools of GPU vendors
 *
 * What is disassembled comes from strangers, and what does it is large. So it happens in two helper
 * processes (process/helper.h): one opens LLVM at its first question and then gives up all files and nearly
 * all system calls, the other starts programs, which may read the system's libraries and write nothing. Both
 * have bounds of time and memory. Neither does anything until it is asked.
 */
#ifndef MPK_DISASM_INTERNAL_DISASSEMBLERS_H
#define MPK_DISASM_INTERNAL_DISASSEMBLERS_H

#include "base/arena.h"
#include "base/error.h"
#include "elf/code.h"
#include "process/helper.h"
#include "llvm/llvm.h"

enum mpk_disasm_tool {
	MPK_DISASM_NVDISASM,  /* NVIDIA's, for cubins */
	MPK_DISASM_SPIRV_DIS, /* of SPIRV-Tools */
	MPK_DISASM_TOOLS
};

/* What the helpers may use; lives as long as they do. */
struct mpk_disasm_setup {
	const char *llvm; /* path of libexec/mpack/llvm.so */
	/* paths at which a program may be, ended by NULL; the first that is there is taken */
	const char *const *tools[MPK_DISASM_TOOLS];
	bool no_sandbox;
};

/* Zero-initialise; mpk_disasm_start; mpk_disasm_stop. */
struct mpk_disasm {
	struct mpk_helper llvm, tools;
	struct mpk_strbuf answer; /* of the last question */
};

/* mpk_disasm_start - before this process enters its sandbox
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_disasm_start(const struct mpk_disasm_setup *setup, struct mpk_disasm *out,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_disasm_stop(struct mpk_disasm *d);

/* mpk_disasm_run - what a tool prints of a whole file
 * @out     not made safe to print; lives until the next question
 * Returns  MPK_OK; MPK_E_LOAD: it is not installed, with where it was looked for; MPK_E_TOOL: what it
 *          complained about, or that it crashed or took too long; MPK_E_NOMEM */
enum mpk_code mpk_disasm_run(struct mpk_disasm *d, enum mpk_disasm_tool tool, struct mpk_span file,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* The answer of the helper that asks LLVM (process/helper.h); data is the setup. */
mpk_helper_fn mpk_disasm_answer_code;

/* mpk_disasm_limit - no more memory and time than a disassembler needs, for this process */
void mpk_disasm_limit(void);

#endif
