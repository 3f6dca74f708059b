/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - processes beside this one: one answers questions, one cleans up at the end
 *
 * The first is started before this process enters its sandbox: for work that a sandboxed process cannot do: load a library that is needed only now and then, start a
 * program. The helper costs a fork until it is asked. It keeps none of this process's files, ends with it,
 * and may crash: then the question fails. What it answers is not to be believed: it has looked at the same
 * bytes.
 */
#ifndef MPK_PROCESS_HELPER_H
#define MPK_PROCESS_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* Zero-initialise; mpk_helper_start; mpk_helper_stop. */
struct mpk_helper {
	int fd; /* 0: not started */
	pid_t pid;
};

/* Answers one question, in the helper, whose memory lasts from one to the next. */
typedef enum mpk_code mpk_helper_fn(void *data, struct mpk_span question, struct mpk_strbuf *answer,
				    struct mpk_error *err);

/* What one question and one answer may have at most, bytes. */
#define MPK_HELPER_MAX (UINT64_C(256) << 20)

/* mpk_helper_start - fork a process that calls answer for each question, one after the other
 * @data    as it is now
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_helper_start(mpk_helper_fn *answer, void *data, struct mpk_helper *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_helper_ask - put a question and wait for the answer
 * Needs no system call but read and write.
 * @parts   of the question, one after the other
 * @answer  emptied, then filled
 * Returns  MPK_OK; what answer returned, its text made safe to print; MPK_E_TOOL: the helper has ended;
 *          MPK_E_NOMEM; MPK_E_RANGE: a question of more than MPK_HELPER_MAX */
enum mpk_code mpk_helper_ask(struct mpk_helper *h, const struct mpk_span *parts, size_t count,
			     struct mpk_strbuf *answer, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_helper_stop - let it end; safe on one that was not started */
void mpk_helper_stop(struct mpk_helper *h);

/* --- a process that waits for our end, whatever it is, and then cleans up ---
 *
 * For what must not stay behind after SIGKILL: a directory of intermediate files. The process is nobody's child, is in
 * a session of its own and has no descriptor of ours, so that neither a terminal's signals nor who reads our output has
 * anything to do with it.
 */

/* Zero-initialise; mpk_cleanup_start; mpk_cleanup_stop. */
struct mpk_cleanup {
	bool is_on;
	int fd; /* its closing tells the process of our end */
};

/* mpk_cleanup_start - from now on, let run(data) happen in another process when this one ends
 * @data    as it is now; later changes are not seen
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cleanup_stop - end the process; safe on a stopped one
 * @needed  it does its work first, which nobody waits for */
void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed);

#endif
