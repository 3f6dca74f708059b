/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one LLVM context, its target and what it complained about */
#ifndef MPK_LLVM_PLUGIN_SESSION_H
#define MPK_LLVM_PLUGIN_SESSION_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "llvm/llvm.h"

/* Zero-initialise; mpk_session_open; mpk_session_close. */
struct mpk_session {
	LLVMContextRef context;
	LLVMTargetMachineRef machine;
	LLVMModuleRef module; /* owned once set */
	char *triple;         /* LLVM's normal form */
	bool failed;          /* an error was reported; text holds the first */
	char text[512];
};

/* mpk_session_init - make LLVM know the back end of a triple, or all when it is none of those that stand
 * here; part of mpk_session_open */
void mpk_session_init(const char *triple);

/* mpk_session_open - a context with a diagnostic handler and the machine for triple
 * LLVM's own handler would end the process; with ours a call may return success and a
 * broken object, so `failed` must be looked at after every step that can complain.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (unknown triple) */
enum mpk_code mpk_session_open(struct mpk_session *s, const char *triple,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_session_suit - no optimisation of machine code where no function of the module wants any (optnone)
 * Returns  as mpk_session_open */
enum mpk_code mpk_session_suit(struct mpk_session *s, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_session_emit - the module as an object file, in arena
 * Returns  MPK_OK; MPK_E_TOOL with LLVM's message; MPK_E_NOMEM */
enum mpk_code mpk_session_emit(struct mpk_session *s, struct mpk_arena *arena, struct mpk_span *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

void mpk_session_close(struct mpk_session *s);

/* mpk_session_version - of the library that is really loaded, "19.1.7"; static storage */
const char *mpk_session_version(void);

#endif
