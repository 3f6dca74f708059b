/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handling of the programs. SIGBUS is raised if a mapped file becomes shorter. Its handler
 * may call few functions and knows only an address, so it reads from /proc/self/maps which file is
 * mapped there; this saves a list of mappings. SIGINT, SIGTERM and SIGHUP stop copying and end
 * child processes, so that unfinished outputs are removed before the program ends by the signal. */
#include "common/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "common/diag.h"
#include "io/copy.h"
#include "io/output.h"
#include "process/process.h"

/* --- files that became shorter ----------------------------------------------------------- */

/* A line of /proc/self/maps: 73 characters of figures, then a path. Longer lines are cut. */
struct line {
	char text[4096 + 80];
	size_t len;
};

/* Whether the range in a line "7f00-7f80 r--p ..." contains the address. */
static bool covers(const char *text, uintptr_t address)
{
	uintptr_t bounds[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		for (; *text && *text != '-' && *text != ' '; text++) {
			uintptr_t digit =
				(uintptr_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);

			bounds[i] = bounds[i] << 4 | digit;
		}
		text += *text == '-';
	}
	return address >= bounds[0] && address < bounds[1];
}

/* Returns the path of the mapping that contains the address, in line->text; NULL if no file is
 * mapped there. */
static char *find_path(int fd, uintptr_t address, struct line *line)
{
	char chunk[1024];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof chunk)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (chunk[i] != '\n') {
				if (line->len < sizeof line->text - 1)
					line->text[line->len++] = chunk[i];
				continue;
			}
			line->text[line->len] = '\0';
			line->len = 0;
			if (covers(line->text, address))
				return strchr(line->text, '/');
		}
	}
	return NULL;
}

static void signals_say(const char *text)
{
	/* A signal handler must not call stdio. */
	(void)!write(STDERR_FILENO, text, strlen(text));
}

/* Opened at the start, since a sandbox would refuse it. */
static int maps = -1;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	static struct line line;
	int fd = maps >= 0 ? maps : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char *path = fd >= 0 ? find_path(fd, (uintptr_t)info->si_addr, &line) : NULL;

	(void)context;
	mpk_output_abandon_all();
	/* The fault was not in a mapped file, so it is a bug of the program: it ends as it would
	 * without a handler. */
	if (!path) {
		(void)signal(sig, SIG_DFL);
		(void)raise(sig);
		return;
	}
	for (char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
			*c = '?'; /* replaces control characters in the name */
	signals_say(mpk_common.program);
	signals_say(": ");
	signals_say(path);
	signals_say(": the file became shorter while it was read\n");
	_exit(MPK_EXIT_FILE);
}

/* A child inherits the open maps of its parent, and the code that it calls must not have them. The
 * child opens its own when needed. */
void mpk_signals_fork(void)
{
	if (maps >= 0)
		(void)close(maps);
	maps = -1;
}

void mpk_signals_init(void)
{
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	struct sigaction bus = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	(void)sigaction(SIGBUS, &bus, NULL);
	/* write() then fails with EFBIG, which is reported like a full disk. */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* If the caller ignores SIGCHLD, that is inherited, and waitpid() would find no
	 * children. */
	(void)signal(SIGCHLD, SIG_DFL);
}

/* --- interruption ------------------------------------------------------------------------ */

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
	mpk_copy_stop();
	mpk_process_stop();
}

void mpk_interrupt_catch(void (*handler)(int sig))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signals); i++) {
		struct sigaction old, mine = { .sa_handler = handler ? handler : on_signal,
					       .sa_flags = SA_RESTART };

		/* nohup and shells without job control ignore these signals; they stay
		 * ignored. */
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &mine, NULL);
	}
}

void mpk_interrupt_raise(void)
{
	if (!caught)
		return;
	/* The process must really end by the signal, so that a shell sees it. */
	(void)signal(caught, SIG_DFL);
	(void)raise(caught);
}
