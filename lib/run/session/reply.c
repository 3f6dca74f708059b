/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - the process that makes calls, and what a call left in the file that it wrote
 *
 * Whatever the called code damaged, it may have damaged this file too. So a reply is read like any
 * untrusted file: every length is checked, outputs must have the type and shape that the call gave
 * them, and the calls cannot have taken longer than the parent waited.
 */
#include "session/internal/reply.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/vec.h"
#include "observe/observe.h"
#include "text/escape.h"

/* --- the file that the child wrote ----------------------------------------------------------- */

/* The writing end leaves no holes: a size without memory for it is made up, and reading it would
 * take as long and as much as somebody likes. */
static enum mpk_code check_size(int fd, uint64_t bytes, struct mpk_error *err)
{
	enum { BLOCK_BYTES = 512 };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot look at the result");
	if (bytes > (uint64_t)st.st_size ||
	    (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES > (uint64_t)st.st_blocks)
		return mpk_wire_damaged(err);
	return MPK_OK;
}

static enum mpk_code map_file(struct mpk_wire_map *m, int fd, uint64_t bytes, struct mpk_error *err)
{
	/* private: results may be worked on without touching the file */
	void *data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (data == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "cannot map the result");
	m->bytes = mpk_span_of(data, (size_t)bytes);
	m->is_mapped = true;
	return MPK_OK;
}

static enum mpk_code copy_file(struct mpk_wire_map *m, int fd, uint64_t bytes,
			       struct mpk_error *err)
{
	uint64_t room;
	/* tensors in it are as aligned as in a mapping */
	uint8_t *data = mpk_align_up(bytes ? bytes : 1, MPK_STORAGE_ALIGN, &room)
				? aligned_alloc(MPK_STORAGE_ALIGN, (size_t)room)
				: NULL;

	MPK_TRY_ALLOC(data, err);
	m->bytes = mpk_span_of(data, (size_t)bytes);
	for (uint64_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, data + done, (size_t)(bytes - done), (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read the result");
		if (n == 0)
			return mpk_wire_damaged(err); /* it became shorter */
		done += (uint64_t)n;
	}
	return MPK_OK;
}

/* The size is checked before it is mapped: reading beyond the end of a file is SIGBUS. */
enum mpk_code mpk_wire_map_fd(int fd, uint64_t bytes, bool copies, struct mpk_wire_map **out,
			      struct mpk_error *err)
{
	struct mpk_wire_map *m;
	enum mpk_code code = MPK_OK;

	MPK_TRY(check_size(fd, bytes, err));
	m = calloc(1, sizeof *m);
	MPK_TRY_ALLOC(m, err);
	atomic_init(&m->refs, 1);
	if (copies || bytes)
		code = (copies ? copy_file : map_file)(m, fd, bytes, err);
	if (code != MPK_OK) {
		mpk_wire_map_drop(m);
		return mpk_failed(code);
	}
	*out = m;
	return MPK_OK;
}

/* --- what is in it --------------------------------------------------------------------------- */

/* Appends v, or the items of an array one by one; takes v over. */
static enum mpk_code flatten(struct mpk_call_result *r, size_t *cap, struct mpk_value v,
			     struct mpk_error *err)
{
	enum mpk_code rc = MPK_OK;

	if (v.kind == MPK_VALUE_ARRAY) {
		for (size_t i = 0; i < v.array->count && rc == MPK_OK; i++)
			rc = flatten(r, cap, mpk_value_hold(v.array->items[i]), err);
		mpk_value_drop(&v);
		return rc;
	}
	if (!mpk_vec_reserve(&r->values, cap, r->count + 1, sizeof *r->values)) {
		mpk_value_drop(&v);
		return mpk_fail_nomem(err);
	}
	r->values[r->count++] = v;
	return MPK_OK;
}

/* A copy of an output that the child shares. */
static enum mpk_code copy_shared(const struct mpk_tensor *t, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_tensor *copy;

	MPK_TRY(mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
				  &copy, err));
	memcpy(copy->dl.data, t->dl.data, (size_t)t->bytes);
	*out = mpk_value_of_tensor(copy);
	return MPK_OK;
}

/* An output is of the type and the shape that the call gave it. */
static enum mpk_code get_output(struct mpk_wire_map *reply, const struct mpk_tensor *asked,
				struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_dltensor *want = &asked->dl, *got;

	MPK_TRY(mpk_wire_get_value(reply, out, err));
	got = out->kind == MPK_VALUE_TENSOR ? &out->tensor->dl : NULL;
	if (got && got->ndim == want->ndim &&
	    memcmp(&got->dtype, &want->dtype, sizeof got->dtype) == 0 &&
	    memcmp(got->shape, want->shape, (size_t)got->ndim * sizeof got->shape[0]) == 0)
		return MPK_OK;
	mpk_value_drop(out);
	return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: another output");
}

/* @copies  the child goes on, and could change what it shares */
static enum mpk_code read_outputs(const struct mpk_call *call, struct mpk_wire_map *reply,
				  bool copies, struct mpk_call_result *r, size_t *cap,
				  struct mpk_error *err)
{
	for (size_t i = 0; i < call->arg_count; i++) {
		const struct mpk_value *arg = &call->args[i];
		struct mpk_value v = { 0 };

		if (!call->is_out[i])
			continue;
		if (!mpk_reply_shares(arg))
			MPK_TRY(get_output(reply, arg->tensor, &v, err));
		else if (copies)
			MPK_TRY(copy_shared(arg->tensor, &v, err));
		else
			v = mpk_value_hold(*arg);
		MPK_TRY(flatten(r, cap, v, err));
	}
	return MPK_OK;
}

/* Seconds of calls, which cannot have taken longer than the parent waited for them. */
static enum mpk_code check_durations(const double *seconds, size_t count, double most,
				     struct mpk_error *err)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(seconds[i] >= 0))
			return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: a call of %g s",
					seconds[i]);
		sum += seconds[i];
	}
	if (sum <= most + 1e-3)
		return MPK_OK;
	return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: calls of %g s in %g s", sum,
			most);
}

static enum mpk_code get_sized(struct mpk_wire_map *reply, struct mpk_span *out,
			       struct mpk_error *err)
{
	struct mpk_span raw;
	uint64_t len;

	MPK_TRY(mpk_wire_get(reply, sizeof len, &raw, err));
	memcpy(&len, raw.data, sizeof len);
	return mpk_wire_get(reply, len, out, err);
}

/* What observers saw, as the child wrote it down. */
static enum mpk_code read_watch(const struct mpk_watch *watch, struct mpk_wire_map *reply,
				struct mpk_call_result *r, struct mpk_error *err)
{
	struct mpk_span bytes;

	if (watch->profiles) {
		MPK_TRY(get_sized(reply, &bytes, err));
		r->profile = calloc(1, sizeof *r->profile);
		MPK_TRY_ALLOC(r->profile, err);
		MPK_TRY(mpk_profile_decode(bytes, r->profile, err));
	}
	if (watch->dump) {
		MPK_TRY(get_sized(reply, &bytes, err));
		if (bytes.len != sizeof r->dump_left_out)
			return mpk_fail(err, MPK_E_RAISED, "the reply is damaged: its dump");
		memcpy(&r->dump_left_out, bytes.data, sizeof r->dump_left_out);
	}
	if (!watch->compare)
		return MPK_OK;
	MPK_TRY(get_sized(reply, &bytes, err));
	r->comparisons = calloc(1, sizeof *r->comparisons);
	MPK_TRY_ALLOC(r->comparisons, err);
	return mpk_comparisons_decode(bytes, r->comparisons, err);
}

/* In the order in which the child writes. */
static enum mpk_code read_result(const struct mpk_call *call, struct mpk_wire_map *reply,
				 double seconds, bool copies, struct mpk_call_result *r,
				 struct mpk_error *err)
{
	struct mpk_value returned = { 0 };
	struct mpk_span raw;
	size_t cap = 0;

	MPK_TRY(mpk_wire_get(reply, call->repeat * sizeof *r->seconds, &raw, err));
	r->seconds = malloc(raw.len ? raw.len : 1);
	MPK_TRY_ALLOC(r->seconds, err);
	memcpy(r->seconds, raw.data, raw.len);
	r->seconds_count = raw.len / sizeof *r->seconds;
	MPK_TRY(check_durations(r->seconds, r->seconds_count, seconds, err));
	MPK_TRY(read_outputs(call, reply, copies, r, &cap, err));
	MPK_TRY(mpk_wire_get_value(reply, &returned, err));
	if (returned.kind != MPK_VALUE_NONE || !r->count)
		MPK_TRY(flatten(r, &cap, returned, err));
	return read_watch(&call->watch, reply, r, err);
}

/* Nothing of a damaged reply is kept: what was read before the damage is no better than it. */
enum mpk_code mpk_reply_read(const struct mpk_call *call, struct mpk_wire_map *reply,
			     double seconds, bool copies, struct mpk_call_result *out,
			     struct mpk_error *err)
{
	enum mpk_code rc = read_result(call, reply, seconds, copies, out, err);

	if (rc != MPK_OK)
		mpk_call_result_fini(out);
	return rc;
}

bool mpk_reply_read_error(struct mpk_wire_map *reply, struct mpk_error *err)
{
	struct mpk_error said;
	struct mpk_span raw;

	if (mpk_wire_get(reply, sizeof said, &raw, err) != MPK_OK)
		return false;
	memcpy(&said, raw.data, sizeof said);
	mpk_escape_error(&said, MPK_E_RAISED, err);
	/* what failed does not pass */
	if (err->code == MPK_OK)
		err->code = MPK_E_RAISED;
	return true;
}

/* Small outputs are in the child's private memory and come back in the reply. */
bool mpk_reply_shares(const struct mpk_value *arg)
{
	return arg->kind == MPK_VALUE_TENSOR && arg->tensor->storage &&
	       arg->tensor->storage->is_shared;
}

/* --- the process: what it is at, for the message when it does not come back, and how far it is with loading --- */

/* Seen by both processes, and shown; nothing else depends on it. */
struct mpk_child_progress {
	volatile uint64_t loaded, to_load;
};

struct job {
	mpk_child_fn *fn;
	void *user;
	struct mpk_child_progress *progress;
	const struct mpk_child_options *options;
};

/* Written to memory that both processes map; the parent only shows it. */
void mpk_child_count(struct mpk_child_side *side, uint64_t to_load, uint64_t loaded)
{
	side->progress->to_load += to_load;
	side->progress->loaded += loaded;
}

/* Every tenth of a second, in the parent. */
static void tick(void *data)
{
	const struct job *job = data;
	const struct mpk_child_state state = { job->options->task->phase, job->progress->loaded,
					       job->progress->to_load };

	job->options->watch(job->options->watch_user, &state);
}

static enum mpk_process_heard child_hear(void *data, bool has_ended, double *seconds)
{
	const struct job *job = data;

	return job->options->hear(job->options->hear_user, has_ended, seconds);
}

static enum mpk_code work(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	const struct job *job = data;
	struct mpk_child_side side = { job->progress };

	(void)self;
	return job->fn(&side, job->user, err);
}

/* Where the child was when it ended, for the message. */
static const char *phase_text(enum mpk_child_phase phase)
{
	switch (phase) {
	case MPK_CHILD_LOADING:
		return " while the library was loaded";
	case MPK_CHILD_CALLING:
		return "";
	case MPK_CHILD_ENDING:
		break;
	}
	return " after the call";
}

/* "SEGV". Only glibc has the function, since 2.32; elsewhere those that a crash raises have a name
 * here, and the description says the rest. */
static const char *signal_name(int number)
{
#ifdef __GLIBC__
	const char *name = sigabbrev_np(number);

	return name ? name : "?";
#else
	static const struct {
		int number;
		const char *name;
	} names[] = { { SIGSEGV, "SEGV" }, { SIGBUS, "BUS" },   { SIGILL, "ILL" },
		      { SIGFPE, "FPE" },   { SIGABRT, "ABRT" }, { SIGTRAP, "TRAP" },
		      { SIGSYS, "SYS" },   { SIGKILL, "KILL" }, { SIGTERM, "TERM" },
		      { SIGXCPU, "XCPU" }, { SIGINT, "INT" },   { SIGPIPE, "PIPE" } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return "?";
#endif
}

/* In English whatever the locale: strsignal would translate. */
static const char *signal_meaning(int number)
{
#ifdef __GLIBC__
	const char *meaning = sigdescr_np(number);
#else
	const char *meaning =
		strsignal(number); /* musl's has one language unless one is installed */
#endif

	return meaning ? meaning : "unknown signal";
}

/* One sentence for each way to end; the function is named, as a batch has many. */
static void child_describe(const struct mpk_child_task *task, const struct mpk_process_end *end,
			   struct mpk_error *out)
{
	const char *what = MPK_QUOTE(mpk_span_str(task->what));
	const char *phase = phase_text(task->phase);

	switch (end->how) {
	case MPK_PROCESS_KILLED:
		(void)mpk_fail(out, MPK_E_RAISED, "'%s' crashed%s: SIG%s (%s)", what, phase,
			       signal_name(end->status), signal_meaning(end->status));
		return;
	case MPK_PROCESS_LATE:
		(void)mpk_fail(out, MPK_E_TIMEOUT, "'%s' did not return within %g s%s", what,
			       task->timeout, phase);
		return;
	case MPK_PROCESS_STOPPED:
		(void)mpk_fail(out, MPK_E_RAISED,
			       "'%s' damaged its process%s: a report came back that is broken",
			       what, phase);
		return;
	case MPK_PROCESS_RETURNED:
		*out = end->error;
		return;
	case MPK_PROCESS_QUIT:
	case MPK_PROCESS_EXITED:
	case MPK_PROCESS_NOT_EXECUTED:
	case MPK_PROCESS_LEFT_OUT:
		(void)mpk_fail(out, MPK_E_RAISED, "'%s' ended the process%s with status %d", what,
			       phase, end->status);
	}
}

static void unmap_progress(struct mpk_child_progress **p)
{
	if (*p != MAP_FAILED)
		(void)munmap(*p, sizeof **p);
}

enum mpk_code mpk_child_run(mpk_child_fn *fn, void *user, const struct mpk_child_options *options,
			    struct mpk_error *end, struct mpk_error *err)
{
	MPK_CLEANUP(unmap_progress)
	struct mpk_child_progress *progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE,
						   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct job job = { .fn = fn, .user = user, .options = options, .progress = progress };
	struct mpk_process child = { .run = work,
				     .data = &job,
				     .tick = options->watch ? tick : NULL,
				     .hear = options->hear ? child_hear : NULL,
				     .channel = options->channel,
				     .timeout = options->task->seconds_left,
				     .cpu_seconds = options->cpu_seconds,
				     .output = MPK_OUTPUT_COPIED,
				     .fd = STDERR_FILENO,
				     .output_max = options->output_max,
				     .enters_sandbox = options->enters_sandbox,
				     .contained = true };
	struct mpk_process_end how;

	if (progress == MAP_FAILED)
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_process_run(&child, 1, 1, &how, err));
	*end = (struct mpk_error){ 0 };
	child_describe(options->task, &how, end);
	return MPK_OK;
}
