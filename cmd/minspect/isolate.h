/* SPDX-License-Identifier: Apache-2.0 */
/* isolate.h - --isolate: called code that may be hostile, and what it must not see */
#ifndef MPK_CMD_MINSPECT_ISOLATE_H
#define MPK_CMD_MINSPECT_ISOLATE_H

#include "minspect/minspect.h"
#include "sandbox/sandbox.h"
#include "session/library.h"

/* isolate_hide - move the texts of --expect where a child of this process does not see them: neither in
 * its memory nor among the arguments of the command line
 * Before anything is parsed; what is expected is parsed after the call.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_hide(struct mpk_option_list *expects, struct mpk_error *err) MPK_MUST_CHECK;

/* isolate_fill - let library's code keep what code on the CPU needs: itself, shared libraries, the
 * description of the processors
 * @arena   receives the sandbox
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code isolate_fill(struct mpk_library_options *library, struct mpk_arena *arena,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif
