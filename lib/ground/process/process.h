/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - child processes: programs, and functions that may crash without ending this process
 *
 * mpk_process_run starts children, waits for them and tells how each one ended. The members of
 * struct mpk_process select what each caller needs:
 *
 *     a compiler              argv
 *     what a compiler can do  argv, output discarded
 *     LLVM on a user's IR     run
 *     a module's function     run, contained, with a timeout
 *
 * For a process that outlives its caller see struct mpk_cleanup. */
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

/* State of the child that it shares with its parent. */
struct mpk_process_self;

/* Runs in the child, a fork of this process: changes to memory are lost, writes to files and
 * shared memory stay. */
typedef enum mpk_code mpk_process_fn(struct mpk_process_self *self, void *data,
				     struct mpk_error *err);

/* How the parent reacts to a message of its child. */
enum mpk_process_heard {
	MPK_HEARD_NOTHING, /* no message; hear is called again when there is one */
	MPK_HEARD_ONE,     /* one message was read; there may be more */
	/* a message was read; the child has *seconds from now on; 0: no limit */
	MPK_HEARD_NEW_TIME,
	MPK_HEARD_ENOUGH, /* hear is not called again; the child continues */
	MPK_HEARD_KILL,   /* kill the child: MPK_PROCESS_STOPPED */
};

/* Where a child's standard output and standard error go. Its standard input is empty, except for a
 * child in the foreground. */
enum mpk_process_output {
	MPK_OUTPUT_MESSAGES, /* both to our standard error, for the user to read */
	MPK_OUTPUT_DISCARD,  /* nowhere */
	MPK_OUTPUT_FILE,     /* standard output to a descriptor, standard error to ours */
	MPK_OUTPUT_LOG,      /* both to a descriptor */
	/* both through a pipe and this process; the child has no descriptor of the target */
	MPK_OUTPUT_COPIED,
};

/* Describes a child to start. Either argv or run is set; zero is a valid default for all other
 * members. Borrowed. */
struct mpk_process {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH; no shell */
	/* argv: "NAME=value" entries added to our environment; NULL-terminated */
	const char *const *env;
	const char *dir; /* argv: its working directory; NULL: ours */

	mpk_process_fn *run;
	void *data; /* argument of run, tick and hear */
	/* called in this process every tenth of a second while the child runs; NULL: never */
	void (*tick)(void *data);

	/* Called in this process when channel, a non-blocking descriptor, may be readable; NULL:
	 * never. Reads one message. The child may write anything; only the result of hear moves
	 * its deadline.
	 * @has_ended the child has ended, and these are its last messages */
	enum mpk_process_heard (*hear)(void *data, bool has_ended, double *seconds);
	int channel;

	enum mpk_process_output output;
	int fd; /* MPK_OUTPUT_FILE, _LOG, _COPIED; appended to from its current position */
	uint64_t output_max; /* MPK_OUTPUT_COPIED: bytes to copy, with control characters made
			     * visible. Output beyond them is dropped, and the copy says so; 0: no
			     * limit, and copied unchanged */
	double timeout;      /* seconds; 0: none */
	/* Processor seconds after which the kernel kills the child, and each process that it
	 * starts. This holds even if the process that enforces timeout has ended or sleeps. 0: no
	 * limit */
	double cpu_seconds;

	/* Its code is untrusted. It gets a supervisor (internal/process.h) and cannot affect us.
	 * When it ends or we end, it and everything it started is killed, even processes that left
	 * its group. Other children get SIGTERM instead, so that they can remove unfinished files;
	 * their own children get it from mpk_process_signal_all. */
	bool contained;

	/* contained: run calls mpk_sandbox_enter; the child keeps its rights until then */
	bool enters_sandbox;

	/* It reads our standard input and stays in our process group, so that the terminal and its
	 * signals reach it. */
	bool in_foreground;
	bool disposable; /* killed by SIGKILL when we end, because it has no files to remove */
};

enum mpk_process_how {
	MPK_PROCESS_LEFT_OUT,     /* not started, because another child failed before */
	MPK_PROCESS_NOT_EXECUTED, /* argv: no such program or directory; status is errno */
	MPK_PROCESS_RETURNED,     /* run returned; error.code is its result */
	MPK_PROCESS_QUIT,    /* run called exit and did not return; status is the exit status */
	MPK_PROCESS_EXITED,  /* argv: status is the program's exit status */
	MPK_PROCESS_KILLED,  /* status is the signal */
	MPK_PROCESS_LATE,    /* killed at its deadline */
	MPK_PROCESS_STOPPED, /* killed because hear asked for it */
};

struct mpk_process_end {
	enum mpk_process_how how;
	int status;
	struct mpk_error error; /* MPK_PROCESS_RETURNED: the error of run */
};

/* mpk_process_call - run one function in a process of its own
 * @what    what the process does, for the message: "reads the objects"
 * Returns  the function's result; MPK_E_INTERNAL: the process ended before it returned;
 *          MPK_E_IO: no process could be made; MPK_E_NOMEM */
enum mpk_code mpk_process_call(const struct mpk_process *function, const char *what,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_process_run - run children and wait for them
 * They are started in order, at most parallel at a time (0 means 1). After a failure no further
 * one is started, and the running ones are waited for. Signal handlers of this program do not run
 * in a child; signals that are ignored here stay ignored, except SIGCHLD. Other children of the
 * caller are left alone. Only one thread at a time may call it, because it changes the action on
 * SIGCHLD until it returns.
 * @ends    receives count elements
 * Returns  MPK_OK whatever the children did; MPK_E_IO: a process could not be made;
 *          MPK_E_NOMEM */
enum mpk_code mpk_process_run(const struct mpk_process *list, size_t count, unsigned parallel,
			      struct mpk_process_end *ends, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_process_stop - kill all running children, and those started later; they count as late
 * For signal handlers that end this program: async-signal-safe. */
void mpk_process_stop(void);

/* mpk_process_signal_all - send a signal to all running children and to their children. Each child
 * leads its own process group, so a terminal's signals do not reach it. For signal handlers. */
void mpk_process_signal_all(int sig);

/* mpk_process_succeeded - whether the child exited with 0 or returned MPK_OK */
bool mpk_process_succeeded(const struct mpk_process_end *end);

/* --- command lines, collected in an arena --- */

/* Borrowed arguments. */
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

/* Answers one request, in the helper. The helper's memory persists between requests. */
typedef enum mpk_code mpk_helper_fn(void *data, struct mpk_span question, struct mpk_strbuf *answer,
				    struct mpk_error *err);

/* The most bytes of a request or a reply. */
#define MPK_HELPER_MAX (UINT64_C(256) << 20)

/* mpk_helper_start - fork a process that calls answer for each request, one after the other
 * @data    in its state at the fork
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_helper_start(mpk_helper_fn *answer, void *data, struct mpk_helper *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_helper_ask - send a request and wait for the reply
 * Uses no system calls but read and write.
 * @parts   of the request, concatenated
 * @answer  emptied, then filled with the reply
 * Returns  MPK_OK; the error that the helper's function returned, its text made safe to
 *          print; MPK_E_TOOL: the helper has ended; MPK_E_NOMEM; MPK_E_RANGE: a request
 *          of more than MPK_HELPER_MAX */
enum mpk_code mpk_helper_ask(struct mpk_helper *h, const struct mpk_span *parts, size_t count,
			     struct mpk_strbuf *answer, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_helper_stop - end the helper; safe on one that was not started */
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
	int fd; /* the cleanup process sees our end by its closing */
};

/* mpk_cleanup_start - fork a process that calls run(data) when this process ends
 * @data    in its state at the fork; later changes are not seen
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cleanup_stop - end the cleanup process without waiting for it; safe on a stopped one
 * @needed  it calls run(data) first */
void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed);

/* --- a private directory for intermediate files that never outlives us --- */

/* Zero-initialise; mpk_scratch_open; mpk_scratch_close. */
struct mpk_scratch {
	char *path; /* no trailing slash */
	bool keep;  /* a directory of the user, which is not removed */
	/* "TMPDIR=..." for tools, then NULL: their leftovers are removed with the folder. Not set
	 * for a user's directory. */
	char *env[2];
	struct mpk_cleanup cleanup; /* removes the directory after we have ended */
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
