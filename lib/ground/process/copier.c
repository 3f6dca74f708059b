/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what a child prints from a pipe to a descriptor of ours, so that called code never holds the
 * caller's own standard streams. Nothing here waits while the child runs: a reader who stops reading
 * must not stop the loop that also watches for the child's end and for the time limit. */
#include "process/internal/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/compiler.h"
#include "text/escape.h"

/* A pipe that is ready for anything takes as much without waiting. */
enum { PIECE = 4096 };

enum mpk_code mpk_copier_open(int out, uint64_t bytes_max, struct mpk_copier *c,
			      struct mpk_error *err)
{
	int ends[2];

	*c = (struct mpk_copier){ .out = out, .bytes_max = bytes_max };
	if (pipe2(ends, O_CLOEXEC) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a pipe");
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	c->in = ends[0];
	c->child = ends[1];
	c->is_open = true;
	return MPK_OK;
}

void mpk_copier_started(struct mpk_copier *c)
{
	if (c->is_open && c->child >= 0)
		(void)close(c->child);
	c->child = -1;
}

void mpk_copier_close(struct mpk_copier *c)
{
	if (!c->is_open)
		return;
	mpk_copier_started(c);
	if (c->in >= 0)
		(void)close(c->in);
	mpk_strbuf_fini(&c->held);
	*c = (struct mpk_copier){ 0 };
}

static bool copier_holds(const struct mpk_copier *c)
{
	return c->at < c->held.len;
}

struct pollfd mpk_copier_wait_for(const struct mpk_copier *c)
{
	if (!c->is_open || (c->in < 0 && !copier_holds(c)))
		return (struct pollfd){ .fd = -1 };
	if (copier_holds(c))
		return (struct pollfd){ .fd = c->out, .events = POLLOUT };
	return (struct pollfd){ .fd = c->in, .events = POLLIN };
}

/* Text that nobody vouches for, with a limit; any other as it is. */
static void hold(struct mpk_copier *c, struct mpk_span piece)
{
	uint64_t before = c->bytes;

	c->bytes += piece.len;
	if (!c->bytes_max) {
		mpk_strbuf_put(&c->held, (const char *)piece.data, piece.len);
		return;
	}
	if (before > c->bytes_max)
		return;
	if (c->bytes > c->bytes_max)
		piece.len = (size_t)(c->bytes_max - before);
	mpk_escape_lines(&c->held, piece);
	if (c->bytes > c->bytes_max)
		mpk_strbuf_printf(&c->held, "\n[what it printed beyond %llu bytes is left out]\n",
				  (unsigned long long)c->bytes_max);
}

/* Returns  false: there is nothing to read */
static bool copier_take(struct mpk_copier *c)
{
	uint8_t piece[PIECE];
	ssize_t n;

	c->held.len = c->at = 0;
	do
		n = read(c->in, piece, sizeof piece);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		hold(c, mpk_span_of(piece, (size_t)n));
	return n > 0;
}

/* A reader that is gone must not end us: the child goes on, and so does its time. */
static void give(struct mpk_copier *c)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	size_t left = c->held.len - c->at;
	ssize_t n = -1;

	if (!c->is_broken) {
		(void)sigaction(SIGPIPE, &ignore, &before);
		n = write(c->out, c->held.data + c->at, left < PIECE ? left : PIECE);
		(void)sigaction(SIGPIPE, &before, NULL);
	}
	if (n >= 0)
		c->at += (size_t)n;
	else if (c->is_broken || (errno != EINTR && errno != EAGAIN))
		c->is_broken = true, c->at = c->held.len;
}

static bool is_ready(struct pollfd p, int wait)
{
	return p.fd >= 0 && poll(&p, 1, wait) > 0;
}

void mpk_copier_step(struct mpk_copier *c)
{
	enum { STEPS = 64 }; /* others wait for their time */

	for (int i = 0; i < STEPS && is_ready(mpk_copier_wait_for(c), 0); i++) {
		if (copier_holds(c)) {
			give(c);
		} else if (!copier_take(c)) {
			(void)close(c->in); /* nobody has the other end */
			c->in = -1;
		}
	}
}

/* No more than what is there now: what the child started may still print. */
void mpk_copier_drain(struct mpk_copier *c)
{
	int there = 0;

	if (!c->is_open)
		return;
	mpk_copier_started(c);
	if (c->in >= 0)
		(void)ioctl(c->in, FIONREAD, &there);
	for (uint64_t end = c->bytes + (uint64_t)there;;) {
		while (copier_holds(c))
			if (is_ready(mpk_copier_wait_for(c), -1))
				give(c);
		if (c->bytes >= end || !copier_take(c))
			return;
	}
}
