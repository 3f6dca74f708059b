/* SPDX-License-Identifier: Apache-2.0 */
/* helper.c - requests and replies over a socket: a header with a number and a length, then the
 * bytes. The number of a reply is its code; on failure the bytes are its message. */
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/copy.h"
#include "process/internal/process.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"

/* The header of every request and reply. Both processes run on one machine, so numbers have its
 * byte order. */
struct head {
	uint64_t number, bytes;
};

/* --- both sides -------------------------------------------------------------------------- */

static bool helper_get(int fd, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* --- the helper ------------------------------------------------------------------------------- */

static bool send_answer(int fd, enum mpk_code code, struct mpk_span bytes)
{
	struct head head = { code, bytes.len };

	return mpk_write_all(fd, mpk_span_of(&head, sizeof head), NULL) &&
	       mpk_write_all(fd, bytes, NULL);
}

/* A truncated or overlong request ends the helper, because the caller cannot read a reply to it. */
static bool answer_one(int fd, mpk_helper_fn *answer, void *data)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct head head;
	uint8_t *question;
	enum mpk_code code;
	bool sent;

	if (!helper_get(fd, &head, sizeof head) || head.bytes > MPK_HELPER_MAX)
		return false;
	question = malloc(head.bytes ? head.bytes : 1);
	if (!question || !helper_get(fd, question, head.bytes)) {
		free(question);
		return false;
	}
	code = answer(data, mpk_span_of(question, head.bytes), &text, &err);
	free(question);
	if (code == MPK_OK)
		code = mpk_strbuf_status(&text, &err);
	if (code == MPK_OK && text.len > MPK_HELPER_MAX)
		code = mpk_fail(&err, MPK_E_RANGE, "an answer of more than 256 MiB");
	sent = code == MPK_OK ? send_answer(fd, code, mpk_span_of(text.data, text.len))
			      : send_answer(fd, code, mpk_span_str(err.text));
	return sent;
}

/* A helper outlives the call that started it. It must not keep pipes open whose end somebody waits
 * for. */
static void helper_close_others(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int stream = 0; null >= 0 && stream <= STDERR_FILENO; stream++)
		(void)dup2(null, stream);
	(void)mpk_close_others(STDERR_FILENO + 1, &fd, 1);
}

/* The child requests the death signal; comparing getppid tells whether the parent died before
 * that. */
MPK_NORETURN static void serve(int fd, mpk_helper_fn *answer, void *data, pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	helper_close_others(fd);
	while (answer_one(fd, answer, data))
		;
	_exit(0);
}

enum mpk_code mpk_helper_start(mpk_helper_fn *answer, void *data, struct mpk_helper *out,
			       struct mpk_error *err)
{
	pid_t parent = getpid(), pid;
	sigset_t none;
	int ends[2];

	(void)sigemptyset(&none);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	pid = mpk_fork(&none);
	if (pid == 0) {
		(void)close(ends[0]);
		serve(ends[1], answer, data, parent);
	}
	int saved = errno;

	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot start a process");
	}
	*out = (struct mpk_helper){ ends[0], pid };
	return MPK_OK;
}

/* --- who asks ----------------------------------------------------------------------------------- */

/* Writing to a helper that has ended must not raise SIGPIPE. */
static bool put_question(int fd, const struct mpk_span *parts, size_t count, uint64_t bytes)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct head head = { 0, bytes };
	bool ok;

	(void)sigaction(SIGPIPE, &ignore, &before);
	ok = mpk_write_all(fd, mpk_span_of(&head, sizeof head), NULL);
	for (size_t i = 0; i < count && ok; i++)
		ok = mpk_write_all(fd, parts[i], NULL);
	(void)sigaction(SIGPIPE, &before, NULL);
	return ok;
}

/* Crashes and exceeded limits look alike here. The connection is closed, because the rest of a
 * message must not be taken for the next one. */
static enum mpk_code ended(struct mpk_helper *h, struct mpk_error *err)
{
	mpk_helper_stop(h);
	return mpk_fail(err, MPK_E_TOOL,
			"the helper process ended without an answer: it crashed, or met its limits "
			"of time and memory");
}

static enum mpk_code fail_as_answered(uint64_t number, const struct mpk_strbuf *text,
				      struct mpk_error *err)
{
	struct mpk_error heard = { .code = MPK_E_TOOL }, safe;

	if (number < MPK_CODE_COUNT)
		heard.code = (enum mpk_code)number;
	(void)snprintf(heard.text, sizeof heard.text, "%s", mpk_strbuf_text(text));
	mpk_escape_error(&heard, MPK_E_TOOL, &safe);
	if (err)
		*err = safe;
	return mpk_failed(safe.code);
}

/* The reply is read in pieces of 4 KiB, so that a forged length reserves no memory. */
enum mpk_code mpk_helper_ask(struct mpk_helper *h, const struct mpk_span *parts, size_t count,
			     struct mpk_strbuf *answer, struct mpk_error *err)
{
	struct head head;
	uint64_t bytes = 0;
	char piece[4096];

	answer->len = 0;
	for (size_t i = 0; i < count; i++)
		bytes += parts[i].len;
	if (bytes > MPK_HELPER_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%llu bytes in one piece are too many",
				(unsigned long long)bytes);
	if (!h->fd || !put_question(h->fd, parts, count, bytes) ||
	    !helper_get(h->fd, &head, sizeof head) || head.bytes > MPK_HELPER_MAX)
		return ended(h, err);
	for (uint64_t left = head.bytes; left;) {
		size_t n = left < sizeof piece ? (size_t)left : sizeof piece;

		if (!helper_get(h->fd, piece, n))
			return ended(h, err);
		mpk_strbuf_put(answer, piece, n);
		left -= n;
	}
	MPK_TRY(mpk_strbuf_status(answer, err));
	return head.number == MPK_OK ? MPK_OK : fail_as_answered(head.number, answer, err);
}

void mpk_helper_stop(struct mpk_helper *h)
{
	if (h->fd)
		/* The helper reads the end of the socket and exits; init reaps it. */
		(void)close(h->fd);
	*h = (struct mpk_helper){ 0 };
}
