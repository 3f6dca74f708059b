/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the input of a build in a separate process. Payloads are parsed in a child process that
 * gave up its rights; this process keeps its rights, because it starts compilers later. The result
 * comes back in a memory file, in the format of emit/emit.h; this process parses no byte of a
 * payload. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/num.h"
#include "common/diag.h"
#include "common/files.h"
#include "mpack/build.h"
#include "mpack/mpack.h"
#include "process/process.h"
#include "text/escape.h"

/* The limit on descriptors may be a billion; nobody passes on higher numbers than these. */
enum { DESCRIPTORS_MAX = 65536 };

struct reading {
	const struct mpk_input_options *o;
	struct mpk_input *in;
	int fd; /* receives the request */
};

/* --- in the reader ---------------------------------------------------------------------- */

/* Passes on the request and the open files that may hold pieces of the blob: the input and all
 * payloads. */
static enum mpk_code hand_over(const struct reading *r, struct mpk_error *err)
{
	struct mpk_input *in = r->in;
	size_t most = 1, count = 0;

	for (const struct mpk_file *f = in->package.files; f; f = f->next)
		most++;
	struct mpk_request_file *files = mpk_arena_array(&in->arena, most, sizeof *files);

	MPK_TRY_ALLOC(files, err);
	files[count++] = (struct mpk_request_file){ in->path, &in->text };
	for (const struct mpk_file *f = in->package.files; f; f = f->next)
		files[count++] = (struct mpk_request_file){ f->path, &f->map };
	return mpk_request_write(&in->parts, files, count, r->fd, err);
}

/* Closes inherited logs, locks and pipes. Files open for reading stay, since a manifest may name
 * them as /dev/fd/7. */
static void close_if_writable(int fd, int but)
{
	int flags = fd <= STDERR_FILENO || fd == but ? -1 : fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		(void)close(fd);
}

/* The system lists the open descriptors. If it cannot, all possible numbers are tried, which are
 * 20,000 on many systems. */
static void close_writable(int but)
{
	DIR *open_ones = opendir("/proc/self/fd");
	long most = sysconf(_SC_OPEN_MAX);

	errno = 0;
	for (struct dirent *e; open_ones && (e = readdir(open_ones)); errno = 0) {
		uint64_t fd;

		if (mpk_parse_u64(mpk_span_str(e->d_name), &fd) && fd < INT_MAX)
			close_if_writable((int)fd, but);
	}
	bool is_whole = open_ones && errno == 0;

	if (open_ones)
		(void)closedir(open_ones);
	if (is_whole)
		return;
	for (int fd = 0; fd < (most < DESCRIPTORS_MAX ? most : DESCRIPTORS_MAX); fd++)
		close_if_writable(fd, but);
}

/* The child prints its own findings; its exit status tells the rest. */
static enum mpk_code read_confined(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct reading *r = data;

	(void)self;
	close_writable(r->fd);
	mpack_memory_begin();
	mpk_confine_to("/", NULL); /* a manifest may name any file */

	int status = mpk_input_read(r->o, r->in);

	if (status == MPK_EXIT_OK)
		return hand_over(r, err);
	(void)fflush(NULL);
	_exit(status);
}

/* --- in the builder --------------------------------------------------------------------- */

/* Whether a signal is raised by a bug of the program; others come from outside, such as SIGKILL
 * when memory is out. */
static bool is_crash(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGABRT || sig == SIGILL ||
	       sig == SIGFPE || sig == SIGSYS || sig == SIGTRAP;
}

/* Returns the child's exit status, or reports how it ended. */
static int judge_reader(const struct mpk_process_end *end, const char *path)
{
	struct mpk_error err = { 0 };

	switch (end->how) {
	case MPK_PROCESS_RETURNED:
		if (end->error.code == MPK_OK)
			return MPK_EXIT_OK;
		err = end->error;
		break;
	case MPK_PROCESS_QUIT:
		if ((end->status > MPK_EXIT_OK && end->status <= MPK_EXIT_TIMEOUT) ||
		    end->status == MPK_EXIT_INTERNAL)
			return end->status;
		(void)mpk_fail(&err, MPK_E_INTERNAL,
			       "the process that reads it ended with status %d", end->status);
		break;
	case MPK_PROCESS_KILLED:
		(void)mpk_fail(&err, is_crash(end->status) ? MPK_E_INTERNAL : MPK_E_TOOL,
			       "the process that reads it was ended by signal %d (%s)", end->status,
			       strsignal(end->status));
		break;
	case MPK_PROCESS_LEFT_OUT: /* none of these can end a process without a deadline */
	case MPK_PROCESS_NOT_EXECUTED:
	case MPK_PROCESS_EXITED:
	case MPK_PROCESS_LATE:
	case MPK_PROCESS_STOPPED:
		(void)mpk_fail(&err, MPK_E_INTERNAL, "the process that reads it was stopped");
		break;
	}
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}

/* Lists the flags of --allow-cflag, for the child and for this process. */
static enum mpk_code list_granted(const struct mpk_input_options *o, struct mpk_input *in,
				  struct mpk_error *err)
{
	struct mpk_argv v = { .arena = &in->arena };

	for (size_t i = 0; o->granted && i < o->granted->count; i++)
		mpk_argv_add(&v, o->granted->items[i].value);
	in->granted = (struct mpk_words){ v.items, v.count };
	return v.failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code take_over(struct mpk_input *in, int fd, struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_of_fd(fd, in->path, &in->handed, err));
	MPK_TRY(mpk_request_read(in->handed.bytes, &in->text, &in->granted, &in->arena, &in->parts,
				 &in->maps, err));
	/* Pieces of the blob inside the request are copied from that file, like payloads from their
	 * files. */
	mpk_mapping_use_file(&in->handed, &in->parts.blob);
	return MPK_OK;
}

static int run_reader(struct reading *r)
{
	/* a manifest may name /dev/stdin */
	struct mpk_process reader = {
		.run = read_confined, .data = r, .in_foreground = true, .disposable = true
	};
	struct mpk_process_end end;
	struct mpk_error err = { 0 };

	if (mpk_process_run(&reader, 1, 1, &end, &err) != MPK_OK)
		return mpk_diag_error(&err);

	int status = judge_reader(&end, r->in->path);

	/* The child already printed its messages, so only the status is passed on. */
	if (status != MPK_EXIT_OK || take_over(r->in, r->fd, &err) == MPK_OK)
		return status;
	if (err.code == MPK_E_CORRUPT) { /* a correct child never writes an invalid request */
		err.code = MPK_E_INTERNAL;
		mpk_error_prefix(&err, "the process that reads '%s' handed over ",
				 MPK_QUOTE(mpk_span_str(r->in->path)));
	}
	return mpk_diag_error(&err);
}

static int load_confined(const struct mpk_input_options *o, struct mpk_input *in)
{
	struct reading r = { .o = o, .in = in };
	struct mpk_error err = { 0 };
	int status;

	/* A memory file: a pipe would fill up while this process waits for the child to end. */
	r.fd = memfd_create("mpack-request", MFD_CLOEXEC);
	if (r.fd < 0) {
		(void)mpk_fail_errno(&err, MPK_E_IO, errno, "cannot make a file in memory");
		return mpk_diag_error(&err);
	}
	status = run_reader(&r);
	(void)close(r.fd);
	return status;
}

/* --- the whole -------------------------------------------------------------------------- */

/* Parses the generation of --abi; returns false after an error. */
static bool parse_abi(const char *abi, enum mpk_generation *out)
{
	struct mpk_span names[MPK_GENERATION_COUNT];

	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		names[g] = mpk_span_str(mpk_generation_get((enum mpk_generation)g)->abi);
		if (mpk_span_is(names[g], abi)) {
			*out = (enum mpk_generation)g;
			return true;
		}
	}
	(void)mpk_diag_usage("--abi takes ffi, ffi-0.21 or legacy, not '%s'", abi);
	return false;
}

static int open_input(const char *path, const struct mpk_input_options *o, struct mpk_input *in)
{
	struct mpk_error err = { 0 };

	in->path = path;
	if (o->abi && !parse_abi(o->abi, &in->parts.gen))
		return MPK_EXIT_USAGE;
	in->text.fd = -1;
	if (o->cubins || mpk_mapping_open(path, &in->text, &err) == MPK_OK)
		return MPK_EXIT_OK;
	/* a common first command without a manifest */
	if (strcmp(path, MPACK_MANIFEST) == 0 && access(path, F_OK) != 0) {
		(void)mpk_fail(
			&err, err.code,
			"no such manifest; 'mpack init FILE...' writes one for kernels and code");
		mpk_error_at_file(&err, path);
	}
	return mpk_diag_error(&err);
}

int mpk_input_load(const char *path, const struct mpk_input_options *o, struct mpk_input *in)
{
	struct mpk_error err = { 0 };
	int status = open_input(path, o, in);

	if (status != MPK_EXIT_OK)
		return status;
	if (list_granted(o, in, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return o->only_check ? mpk_input_read(o, in) : load_confined(o, in);
}
