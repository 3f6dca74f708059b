/* SPDX-License-Identifier: Apache-2.0 */
/* helper.h - a process that answers questions, started before this one enters its sandbox
 *
 * For work that a sandboxed process cannot do: load a library that is needed only now and then, start a
 * program. The helper costs a fork until it is asked. It keeps none of this process's files, ends with it,
 * and may crash: then the question fails. What it answers is not to be believed: it has looked at the same
 * bytes.
 */
#ifndef MPK_PROCESS_HELPER_H
#define MPK_PROCESS_HELPER_H

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

#endif
