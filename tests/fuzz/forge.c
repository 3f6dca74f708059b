/* SPDX-License-Identifier: Apache-2.0 */
/* forge.c - a library whose function attacks the process that called it, and what that tells its parent
 *
 * forge(SEED) draws some deeds from the seed: replies of random values, errors without an end, reports of any
 * kind, packets of any size, descriptors that are closed or replaced, bytes in what is shared, late words of
 * a process left behind, signals, exits. With FORGE_AT_LOAD=SEED in the environment the constructor does so.
 * honest(X) returns X + 1. Values are those of the reply (lib/run/session/wire.c). For forge.py. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct any {
	int type, pad;
	int64_t value;
};

struct head {
	uint32_t kind;
	uint8_t code, bits;
	uint16_t lanes;
	uint64_t count;
	int64_t integer;
};

struct report {
	uint32_t kind, item, ends, pad;
	uint64_t bytes;
};

enum { INTEGER = 1, KINDS = 20, NEST = 40 };

static const uint64_t edges[] = { 0,          1,          2,          7,          8,
				  33,         63,         64,         65,         4096,
				  1ull << 31, 1ull << 32, 1ull << 44, 1ull << 61, 1ull << 62,
				  1ull << 63, ~0ull,      ~0ull - 7,  ~0ull - 63 };

static uint64_t state;

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static uint64_t number(void)
{
	return below(3) ? below(6) : edges[below(sizeof edges / sizeof *edges)];
}

/* --- what the process shares with its parent ------------------------------------------------ */

static int find(int type, const char *name)
{
	for (int fd = 3; fd < 64; fd++) {
		char link[64], target[256] = "";
		int is = 0;
		socklen_t len = sizeof is;

		if (type && getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &len) == 0 && is == type)
			return fd;
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		if (name && readlink(link, target, sizeof target - 1) > 0 && strstr(target, name))
			return fd;
	}
	return -1;
}

static int channel(void)
{
	return find(SOCK_SEQPACKET, NULL);
}

/* In a sandbox there is no /proc: any descriptor that can be written at an offset. */
static int reply(void)
{
	int fd = find(0, "minspect-reply");

	for (int other = 3; fd < 0 && other < 64; other++)
		if (lseek(other, 0, SEEK_END) >= 0)
			fd = other;
	return fd;
}

/* --- deeds ------------------------------------------------------------------------------------ */

static void put_noise(int fd, size_t most)
{
	char noise[4096];
	size_t len = below((unsigned)most);

	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (char)below(256);
	(void)!write(fd, noise, len < sizeof noise ? len : sizeof noise);
}

static void put_value(int fd, unsigned depth)
{
	static const uint8_t widths[] = { 1, 2, 4, 6, 8, 16, 32, 64 };
	struct head h = {
		.kind = below(50) ? below(KINDS) : (uint32_t)number(),
		.code = (uint8_t)below(below(3) ? KINDS : 256),
		.bits = below(3) ? widths[below(8)] : (uint8_t)below(256),
		.lanes = (uint16_t)(below(3) ? 1 : below(65536)),
		.count = number(),
		.integer = (int64_t)number(),
	};

	(void)!write(fd, &h, sizeof h);
	if (depth < NEST && below(2))
		for (uint64_t i = 0; i < h.count && i < 4; i++)
			put_value(fd, depth + 1);
	for (uint64_t i = 0; i < h.count && i < 4; i++) {
		uint64_t extent = number();

		(void)!write(fd, &extent, sizeof extent);
	}
	put_noise(fd, 600);
}

static void forge_reply(void)
{
	double seconds = (double)below(1000) * 1e-4;
	int fd = reply();

	(void)lseek(fd, (off_t)(below(4) ? 0 : number()), SEEK_SET);
	(void)!write(fd, &seconds, sizeof seconds);
	put_value(fd, 0);
	if (!below(3))
		(void)!ftruncate(fd, (off_t)number());
}

/* A struct mpk_error is of 2 KiB: text and names without an end. */
static void forge_error(void)
{
	int fd = reply();
	uint32_t code = (uint32_t)number();
	char text[4096];

	memset(text, below(2) ? 'A' : (int)below(256), sizeof text);
	memcpy(text, &code, sizeof code);
	(void)lseek(fd, 0, SEEK_SET);
	(void)!write(fd, text, below(sizeof text));
}

static void report(void)
{
	struct report r = { .kind = below(6),
			    .item = (uint32_t)(below(2) ? below(3) : number()),
			    .ends = below(2),
			    .bytes = number() };
	size_t len = below(5) ? sizeof r : below(2 * sizeof r);
	char packet[2 * sizeof r] = { 0 };

	if (r.kind == 5)
		r.kind = (uint32_t)number();
	memcpy(packet, &r, sizeof r);
	(void)!send(channel(), packet, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void scribble(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], perms[8];
	unsigned long from, to;

	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 && perms[1] == 'w' &&
		    perms[3] == 's')
			for (unsigned i = 0; i < 64; i++)
				((volatile char *)from)[below((unsigned)(to - from))] =
					(char)below(256);
	if (maps)
		fclose(maps);
}

static void break_descriptor(void)
{
	int fd = below(2) ? channel() : reply();

	if (below(2))
		(void)close(fd);
	else
		(void)dup2(3 + (int)below(8), fd); /* what it prints itself is judged by nobody */
}

static void flood(void)
{
	static char bytes[1 << 14];

	for (unsigned i = 0; i < 200; i++)
		(void)!send(channel(), bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *speak_late(void *unused)
{
	(void)unused;
	usleep(below(20000));
	forge_reply();
	report();
	return NULL;
}

/* A word of somebody else, when the call is over. */
static void leave_behind(void)
{
	pthread_t thread;

	if (below(2)) {
		(void)pthread_create(&thread, NULL, speak_late, NULL);
	} else if (fork() == 0) {
		(void)speak_late(NULL);
		_exit(0);
	}
}

static void end(void)
{
	static const int signals[] = { SIGSEGV, SIGKILL, SIGSTOP, SIGTERM, SIGABRT, SIGPIPE };

	switch (below(8)) {
	case 0:
		_exit((int)below(256));
	case 1:
		exit((int)below(256));
	case 2:
		(void)raise(signals[below(6)]);
		break;
	case 3:
		for (;;)
			pause();
	default:
		break; /* returns as if nothing had been */
	}
}

static void do_some(uint64_t seed)
{
	static void (*const deeds[])(void) = { forge_reply, forge_reply, forge_error,
					       report,      report,      break_descriptor,
					       scribble,    flood,       leave_behind };

	state = seed * 2654435761u + 12345;
	for (unsigned i = 1 + below(5); i; i--)
		deeds[below(sizeof deeds / sizeof *deeds)]();
	end();
}

__attribute__((constructor)) static void at_load(void)
{
	const char *seed = getenv("FORGE_AT_LOAD");

	if (seed)
		do_some(strtoull(seed, NULL, 10));
}

/* --- functions of tvm-ffi ------------------------------------------------------------------- */

int __tvm_ffi_honest(void *self, const struct any *args, int count, struct any *result)
{
	(void)self, (void)count;
	*result = (struct any){ .type = INTEGER, .value = args[0].value + 1 };
	return 0;
}

int __tvm_ffi_forge(void *self, const struct any *args, int count, struct any *result)
{
	(void)self, (void)count;
	do_some((uint64_t)args[0].value);
	*result = (struct any){ .type = INTEGER, .value = 1 };
	return below(4) ? 0 : -1;
}
