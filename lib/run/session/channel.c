/* SPDX-License-Identifier: Apache-2.0 */
/* A socket of packets: a message that is cut or late is no part of another one. */
#include "session/internal/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/internal/wire.h"

enum mpk_code mpk_channel_open(struct mpk_channel *c, struct mpk_error *err)
{
	int ends[2];

	*c = (struct mpk_channel){ -1, -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	*c = (struct mpk_channel){ ends[0], ends[1] };
	return MPK_OK;
}

void mpk_channel_close(struct mpk_channel *c)
{
	if (c->parent >= 0)
		(void)close(c->parent);
	if (c->child >= 0)
		(void)close(c->child);
	*c = (struct mpk_channel){ -1, -1 };
}

void mpk_channel_keep_child(struct mpk_channel *c)
{
	(void)close(c->parent);
	c->parent = -1;
}

bool mpk_channel_order(const struct mpk_channel *c, const struct mpk_order *order)
{
	ssize_t n;

	do
		n = send(c->parent, order, sizeof *order, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *order;
}

enum mpk_heard_report mpk_channel_hear(const struct mpk_channel *c, struct mpk_report_message *out)
{
	/* a longer packet is told by its length; without recvmsg no descriptor is taken */
	ssize_t n = recv(c->parent, out, sizeof *out, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return MPK_HEARD_NO_REPORT;
	return n == (ssize_t)sizeof *out ? MPK_HEARD_REPORT : MPK_HEARD_NONSENSE;
}

bool mpk_channel_take(const struct mpk_channel *c, struct mpk_order *out)
{
	ssize_t n;

	/* read and write: called code may have no other calls left, see sandbox/seccomp.c */
	do
		n = read(c->child, out, sizeof *out);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *out;
}

enum mpk_code mpk_channel_report(const struct mpk_channel *c, const struct mpk_report_message *m,
				 struct mpk_error *err)
{
	ssize_t n;

	do
		n = write(c->child, m, sizeof *m);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *m ? MPK_OK : mpk_wire_fail(err);
}
