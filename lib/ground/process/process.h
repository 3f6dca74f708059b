/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - child processes: programs, and functions that must not take this process along
 *
 * mpk_process_run starts children, waits for them and tells how each one ended. The members of
 * struct mpk_process say what each caller needs:
 *
 *     a compiler              argv
 *     what a compiler can do  argv, output discarded
 *     LLVM on a user's IR     run
 *     a module's function     run, contained, with a timeout
 *
 * A process that outlives its caller is another matter: struct mpk_cleanup.
 */
#ifndef MPK_PROCESS_PROCESS_H
#define MPK_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

/* The child's own view of itself. */
struct mpk_process_self;

/* Runs in the child, which is a fork of this process: what it allocates and changes is lost,
 * what it writes to files and shared memory stays. */
typedef enum mpk_code mpk_process_fn(struct mpk_process_self *self, void *data,
				     struct mpk_error *err);

/* What a process does about a message of its child. */
enum mpk_process_heard {
	MPK_HEARD_NOTHING,  /* there was none: hear is called again when there is one */
	MPK_HEARD_ONE,      /* there may be more */
	MPK_HEARD_NEW_TIME, /* a message was read, and the child has *seconds from now on; 0: no
			     * limit */
	MPK_HEARD_ENOUGH,   /* hear is not called again; the child goes on */
	MPK_HEARD_KILL,     /* the child is killed: MPK_PROCESS_STOPPED */
};

/* Where a child's standard output and standard error go. Its standard input is empty, but for a child in the
 * foreground. */
enum mpk_process_output {
	MPK_OUTPUT_MESSAGES, /* both to our standard error, for the user to read */
	MPK_OUTPUT_DISCARD,  /* nowhere */
	MPK_OUTPUT_FILE,     /* standard output to a descriptor, standard error to ours */
	MPK_OUTPUT_LOG,      /* both to a descriptor */
	MPK_OUTPUT_COPIED,   /* both through a pipe and this process: the child has no descriptor of
			    * the target */
};

/* A child to be. Either argv or run is set; zero serves for all other members. Borrowed. */
struct mpk_process {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; no shell */
	const char *const *env;  /* argv: "NAME=value", added to our environment; NULL-terminated */
	const char *dir;         /* argv: the directory that it begins in; NULL: ours */

	mpk_process_fn *run;
	void *data; /* for run, tick and hear */
	/* called in this process every tenth of a second while the child runs; NULL: never */
	void (*tick)(void *data);

	/* Called in this process when there may be something to read from channel, a descriptor that does
	 * not wait; NULL: never. It reads one message. The child may write what it likes: only what hear
	 * returns moves its deadline.
	 * @has_ended  the child has, and what is read now is what it left */
	enum mpk_process_heard (*hear)(void *data, bool has_ended, double *seconds);
	int channel;

	enum mpk_process_output output;
	int fd; /* MPK_OUTPUT_FILE, _LOG, _COPIED; appended to from its current position */
	uint64_t output_max; /* MPK_OUTPUT_COPIED: bytes to copy, with control characters made
			     * visible. Output beyond them is dropped, and the copy says so; 0: no
			     * limit, and copied unchanged */
	double timeout;      /* seconds; 0: none */
	double cpu_seconds;  /* Processor seconds after which the kernel kills it, and each process
			     * that it starts, in case the holder of the timeout is gone or asleep;
			     * 0: no limit */

	/* What it may do is unknown: it has a supervisor (internal/process.h) and can do nothing to us; when it ends, and
	 * when we end, it and all that it started is killed, even what left its process group. Other children get SIGTERM then, to remove
	 * the files that they have begun; what they started gets it from mpk_process_signal_all. */
	bool contained;

	bool enters_sandbox; /* contained: run calls mpk_sandbox_enter, and keeps its rights until
			      * then */

	/* It reads our standard input, and stays in our process group, so that a terminal lets it, and its
	 * signals reach it. */
	bool in_foreground;
	bool disposable; /* killed by SIGKILL when we end, as it has no files to remove */
};

enum mpk_process_how {
	MPK_PROCESS_LEFT_OUT,     /* not started, because another child had failed */
	MPK_PROCESS_NOT_EXECUTED, /* argv: no such program or directory; status is the errno */
	MPK_PROCESS_RETURNED,     /* run came back; error.code is what it returned */
	MPK_PROCESS_QUIT,    /* run ended the process and did not return; status is that of exit */
	MPK_PROCESS_EXITED,  /* argv: status is its exit status */
	MPK_PROCESS_KILLED,  /* status is the signal */
	MPK_PROCESS_LATE,    /* killed at its deadline */
	MPK_PROCESS_STOPPED, /* killed because hear asked for it */
};

struct mpk_process_end {
	enum mpk_process_how how;
	int status;
	struct mpk_error error; /* MPK_PROCESS_RETURNED: of run */
};

/* mpk_process_call - run one function in a process of its own
 * @what    that the process does, for the error: "reads the objects"
 * Returns  what the function returned; MPK_E_INTERNAL: the process was ended before; MPK_E_IO: it could not be made;
 *          MPK_E_NOMEM */
enum mpk_code mpk_process_call(const struct mpk_process *function, const char *what,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_process_run - run children and wait for them
 * They are started in order, at most parallel at a time (0 is 1). Once one has failed no
 * further one is started, and those that run are waited for. Handlers of this program do
 * not run in a child; signals that are ignored here stay ignored, but for SIGCHLD. Children
 * that the caller has otherwise are left alone. For one thread at a time: what this process
 * does on SIGCHLD is changed until the function returns.
 * @ends    receives count elements
 * Returns  MPK_OK whatever the children did; MPK_E_IO: a process could not be made;
 *          MPK_E_NOMEM */
enum mpk_code mpk_process_run(const struct mpk_process *list, size_t count, unsigned parallel,
			      struct mpk_process_end *ends, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_process_stop - kill the children that run, and those started later: they count as late
 * For handlers of signals that end this program: async-signal-safe. */
void mpk_process_stop(void);

/* mpk_process_signal_all - send a signal to all children that run now, and to what they started: each
 * leads a process group of its own, out of reach of a terminal's signals. For signal handlers. */
void mpk_process_signal_all(int sig);

/* mpk_process_succeeded - whether it exited with 0 or returned MPK_OK */
bool mpk_process_succeeded(const struct mpk_process_end *end);

/* --- command lines, collected in an arena --- */

/* Arguments that somebody else owns. */
struct mpk_words {
	const char *const *items;
	size_t count;
};

struct mpk_argv {
	struct mpk_arena *arena;
	const char **items; /* NULL-terminated */
	size_t count, cap;
	bool failed;
};

/* mpk_argv_add, _add_all, _printf - append; a failed allocation sets `failed` */
void mpk_argv_add(struct mpk_argv *v, const char *arg);
void mpk_argv_add_all(struct mpk_argv *v, const struct mpk_words *args);
void mpk_argv_printf(struct mpk_argv *v, const char *fmt, ...) MPK_PRINTF(2, 3);

/* --- processes beside this one: one answers questions (helper.c), one cleans up at the end (scratch.c) ---
 *
 * The first is started before this process enters its sandbox: for work that a sandboxed process cannot do: load a
 * library that is needed only now and then, start a program. The helper costs a fork until it is asked. It keeps none
 * of this process's files, ends with it, and may crash: then the question fails. What it answers is not to be
 * believed: it has looked at the same bytes.
 */

/* Zero-initialise; mpk_helper_start; mpk_helper_stop. */
struct mpk_helper {
	int fd; /* 0: not started */
	pid_t pid;
};

/* Answers one question, in the helper, whose memory lasts between questions. */
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

/* --- a process that waits until this one ends, however it ends, and then cleans up ---
 *
 * It removes what must not survive SIGKILL, such as a directory of intermediate files. The process is nobody's child, is in
 * a session of its own and has no descriptor of ours, so that neither a terminal's signals nor who reads our output has
 * anything to do with it.
 */

/* Zero-initialise; mpk_cleanup_start; mpk_cleanup_stop. */
struct mpk_cleanup {
	bool is_on;
	int fd; /* closing it tells the process that we have ended */
};

/* mpk_cleanup_start - from now on, let run(data) happen in another process when this one ends
 * @data    as it is now; later changes are not seen
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cleanup_stop - end the process; safe on a stopped one
 * @needed  it does its work first, which nobody waits for */
void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed);

/* --- a private directory for intermediate files that never outlives us --- */

/* Zero-initialise; mpk_scratch_open; mpk_scratch_close. */
struct mpk_scratch {
	char *path;                 /* no trailing slash */
	bool keep;                  /* a directory of the user's, which stays */
	char *env[2];               /* "TMPDIR=..." for tools, and NULL: what a killed one leaves is
				     * removed with the rest. A user's directory is not for that. */
	struct mpk_cleanup cleanup; /* removes the directory after we have died */
};

/* mpk_scratch_open - make PARENT/mpack-XXXXXX, readable by its owner only
 * A process of its own waits for our end, whatever it is, and removes the directory with all
 * that is in it when mpk_scratch_close did not.
 * @keep    a directory to use instead, made when it is not there and left as it is
 *          afterwards; NULL: none
 * Returns  MPK_OK; MPK_E_IO, also when keep has files that no build has put there; MPK_E_NOMEM */
enum mpk_code mpk_scratch_open(const char *parent, const char *keep, struct mpk_scratch *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scratch_file - the path of a file in it, in arena; NULL when memory is out */
const char *mpk_scratch_file(const struct mpk_scratch *s, struct mpk_arena *arena,
			     const char *name);

/* mpk_scratch_close - remove the directory; safe on a zeroed or closed one */
void mpk_scratch_close(struct mpk_scratch *s);

#endif
