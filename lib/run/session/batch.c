/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - the parent's side of a batch: which call runs, its start and deadline, and its outcome
 *
 * The calls are made in a child process, so that a crash, a hang or an exit is a result like any
 * other, with a sentence that names the function and what it was doing.
 *
 * The child can write only its reply, outputs, and reports about the one call that it was given.
 * All of that is read once, after the call, and counts only as the child's claim about that call. A
 * report that cannot be about the current call ends the child.
 */
#include "session/call.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/device.h"
#include "process/process.h"
#include "session/internal/reply.h"
#include "session/internal/session.h"
#include "text/escape.h"

/* --- one child ---------------------------------------------------------------------- */

static const uint32_t NO_ITEM = UINT32_MAX;

/* The child's current task, which the message names if the child does not return. */
struct task {
	const char *what;    /* the function's name */
	double timeout;      /* time limit in seconds; 0 means none */
	double seconds_left; /* remaining seconds of it */
	enum mpk_child_phase phase;
};

struct batch {
	struct mpk_session_work work;
	struct mpk_batch_item *items;
	size_t count;
	bool *is_known;  /* count flags: the item has its outcome */
	double *started; /* count times: when it was first ordered; 0 if not yet */

	/* state of the running child: */
	struct task task;
	/* current order; item is NO_ITEM if there is none and none follows */
	struct mpk_order order;
	bool is_loaded; /* the library is loaded */
	size_t first;   /* the item for which the child was started */
	/* index of its last call, whose results are read after it has ended; count if there was
	 * none */
	size_t last; /* count: there was none */
	struct mpk_report_message last_report;
};

/* Does not block: a child that takes no orders must not stop its parent. */
static bool send_order(const struct mpk_channel *c, const struct mpk_order *order)
{
	ssize_t n;

	do
		n = send(c->parent, order, sizeof *order, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *order;
}

/* Returns the next item without an outcome. Items without a call have one. */
static size_t next_waiting(const struct batch *b, size_t from)
{
	while (from < b->count && b->is_known[from])
		from++;
	return from;
}

/* Gives the child its next call. Time that the item used in an earlier child is subtracted from its
 * limit. */
static void order(struct batch *b, size_t i)
{
	const struct mpk_batch_item *item = &b->items[i];
	bool loads = !b->is_loaded && !item->call->kernel;
	double left = item->timeout;

	if (!(b->started[i] > 0))
		b->started[i] = mpk_clock_seconds();
	else if (left > 0)
		left = fmax(left - (mpk_clock_seconds() - b->started[i]), 0.001);
	b->task = (struct task){
		.what = item->call->function,
		.timeout = item->timeout,
		.seconds_left = left,
		.phase = loads ? MPK_CHILD_LOADING : MPK_CHILD_CALLING,
	};
	b->order = (struct mpk_order){ .item = (uint32_t)i };
	/* isolated code gets a process for each call, so that it cannot affect or imitate another
	 * call */
	b->order.is_last = b->work.library.sandbox || next_waiting(b, i + 1) == b->count;
	if (!send_order(&b->work.channel, &b->order))
		b->order.item = NO_ITEM;
}

/* Reads the outcome of a finished call.
 * @copies  the child continues, so what it wrote must be copied: it could still change it
 * Returns  false: its reply is damaged */
static bool batch_take(struct batch *b, size_t i, const struct mpk_report_message *m, bool copies)
{
	struct mpk_batch_item *item = &b->items[i];
	const struct mpk_reply reply = { .fd = b->work.reply,
					 .bytes = m->reply_bytes,
					 .is_error = m->kind == MPK_REPORT_FAILED,
					 .copies = copies,
					 .seconds = item->seconds };
	bool is_read = mpk_reply_take(item->call, &reply, &item->result, &item->error);

	b->is_known[i] = true;
	/* isolated code has no device, so a missing device is a failure and not a reason to skip */
	if (item->error.code == MPK_E_DEVICE && b->work.library.sandbox)
		item->error.code = MPK_E_RAISED;
	return is_read;
}

/* Settles a call. If its reply is damaged and the child made earlier calls, one of these may have
 * done it, by a thread left running, for example. The call is then repeated in a new child, unless
 * it wrote to memory shared with the parent.
 * Returns  false: its reply is damaged */
static bool batch_settle(struct batch *b, size_t i, const struct mpk_report_message *m, bool copies)
{
	struct mpk_batch_item *item = &b->items[i];
	bool shares = false;

	if (batch_take(b, i, m, copies))
		return true;
	for (size_t k = 0; k < item->call->arg_count; k++)
		shares |= item->call->is_out[k] && mpk_reply_shares(&item->call->args[k]);
	if (i != b->first && !shares) {
		mpk_call_result_fini(&item->result);
		item->error = (struct mpk_error){ 0 };
		b->is_known[i] = false;
	}
	return false;
}

/* The next call is ordered only after the reply of this one has been read, since the memory file is
 * reused. */
static enum mpk_process_heard hear_end(struct batch *b, const struct mpk_report_message *m,
				       bool has_ended, double *seconds)
{
	size_t i = b->order.item;

	b->items[i].seconds = mpk_clock_seconds() - b->started[i];
	if (b->order.is_last || m->ends || has_ended) {
		b->task.phase = MPK_CHILD_ENDING;
		b->order.item = NO_ITEM;
		b->last = i;
		b->last_report = *m;
		return MPK_HEARD_ENOUGH;
	}
	b->order.item = NO_ITEM;
	if (!batch_settle(b, i, m, true))
		return MPK_HEARD_KILL;
	order(b, next_waiting(b, i + 1));
	*seconds = b->task.seconds_left;
	return MPK_HEARD_NEW_TIME;
}

/* Reads the next report if there is one; does not wait. A report that cannot be about the current
 * call is forged. */
static enum mpk_process_heard batch_hear(void *user, bool has_ended, double *seconds)
{
	struct batch *b = user;
	struct mpk_report_message m;
	ssize_t n;

	if (b->order.item == NO_ITEM)
		return MPK_HEARD_ENOUGH;
	/* MSG_TRUNC gives the length of a longer packet; recv, unlike recvmsg, takes no descriptors */
	n = recv(b->work.channel.parent, &m, sizeof m, MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return MPK_HEARD_NOTHING;
	if (n != (ssize_t)sizeof m || m.item != b->order.item)
		return MPK_HEARD_KILL;
	switch (m.kind) {
	case MPK_REPORT_LOADED:
		if (b->task.phase != MPK_CHILD_LOADING)
			return MPK_HEARD_KILL;
		b->task.phase = MPK_CHILD_CALLING;
		b->is_loaded = true;
		return MPK_HEARD_ONE;
	case MPK_REPORT_RETURNED:
		if (b->task.phase != MPK_CHILD_CALLING)
			return MPK_HEARD_KILL;
		return hear_end(b, &m, has_ended, seconds);
	case MPK_REPORT_FAILED:
		return hear_end(b, &m, has_ended, seconds);
	default:
		return MPK_HEARD_KILL;
	}
}

/* --- how it ended ------------------------------------------------------------------- */

/* Returns what the child was doing when it ended, for the message. */
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

/* Returns "SEGV". Only glibc 2.32 and later has a function for it; otherwise the signals of crashes
 * have names here, and the description tells the rest. */
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

/* Always English: strsignal would translate. */
static const char *signal_meaning(int number)
{
#ifdef __GLIBC__
	const char *meaning = sigdescr_np(number);
#else
	const char *meaning =
		strsignal(number); /* musl's strsignal has no translations by default */
#endif

	return meaning ? meaning : "unknown signal";
}

/* One sentence for each way to end. It names the function, since a batch has many. */
static void child_describe(const struct task *task, const struct mpk_process_end *end,
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

/* The process ended during this item or after it. */
static void record_crash(struct batch *b, size_t i, const struct mpk_error *why)
{
	struct mpk_batch_item *item = &b->items[i];

	mpk_call_result_fini(&item->result);
	item->error = *why;
	item->crashed = true;
	item->seconds = mpk_clock_seconds() - b->started[i];
	b->is_known[i] = true;
}

/* @why     receives how the child ended */
static void end_child(struct batch *b, struct mpk_error *why)
{
	size_t i = b->order.item;

	if (b->last < b->count) {
		(void)batch_settle(b, b->last, &b->last_report, false);
		/* it failed after its last call, so that call is the cause */
		if (why->code != MPK_OK)
			record_crash(b, b->last, why);
	}
	if (i == NO_ITEM)
		return;
	/* whatever exit status the process chose, the call did not return */
	if (why->code == MPK_OK)
		(void)mpk_fail(why, MPK_E_RAISED, "'%s' ended the process",
			       MPK_QUOTE(mpk_span_str(b->task.what)));
	record_crash(b, i, why);
	/* the next child would fail in the same way */
	if (b->task.phase == MPK_CHILD_LOADING)
		(void)mpk_fail(&b->work.unloadable, why->code, "not called: %s", why->text);
}

static void close_connection(struct batch *b)
{
	const int fds[] = { b->work.channel.parent, b->work.channel.child, b->work.reply };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (b->work.progress != MAP_FAILED)
		(void)munmap(b->work.progress, sizeof *b->work.progress);
	b->work.channel = (struct mpk_channel){ -1, -1 };
	b->work.reply = -1;
	b->work.progress = MAP_FAILED;
}

/* A new channel for each child, since processes that an earlier one forked may hold the old ends. A
 * packet socket, so that a truncated or late message is not taken for part of another. */
static enum mpk_code open_connection(struct batch *b, struct mpk_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	b->work.channel = (struct mpk_channel){ ends[0], ends[1] };
	b->work.spare = -1;
	b->work.reply = memfd_create("minspect-reply", MFD_CLOEXEC);
	if (b->work.reply < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a file in memory");
	b->work.progress = mmap(NULL, sizeof *b->work.progress, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MPK_TRY_ALLOC(b->work.progress != MAP_FAILED, err);
	return MPK_OK;
}

/* Enough for a trace of a model, but too little to fill a disk. */
static const uint64_t ISOLATED_OUTPUT_MAX = UINT64_C(16) << 20;

/* Returns a limit on the CPU time of all threads of a child: the time limits of its calls and a
 * margin; 0 means none */
static double cpu_seconds(const struct batch *b, size_t first)
{
	double sum = 10; /* margin for the start and for the time between calls */

	for (size_t i = first; i < b->count; i = next_waiting(b, i + 1)) {
		if (!(b->items[i].timeout > 0))
			return 0;
		sum += b->items[i].timeout;
		if (b->work.library.sandbox)
			break;
	}
	return sum * (double)sysconf(_SC_NPROCESSORS_CONF);
}

/* Runs every tenth of a second, in the parent. */
static void tick(void *user)
{
	const struct batch *b = user;
	const struct mpk_child_state state = { b->task.phase, b->work.progress->loaded,
					       b->work.progress->to_load };

	b->work.library.watch(b->work.library.watch_user, &state);
}

static enum mpk_code work(struct mpk_process_self *self, void *user, struct mpk_error *err)
{
	(void)self;
	return mpk_session_work_in_child(&((struct batch *)user)->work, err);
}

/* The first order is sent before the child exists, so that the child finds it at once. The child is
 * sandboxed and has no standard input; its standard output and standard error go through a pipe to
 * standard error. */
static enum mpk_code run_child(struct batch *b, size_t first, struct mpk_error *err)
{
	bool isolated = b->work.library.sandbox != NULL;
	struct mpk_process child = { .run = work,
				     .data = b,
				     .tick = b->work.library.watch ? tick : NULL,
				     .hear = batch_hear,
				     .channel = b->work.channel.parent,
				     .cpu_seconds = cpu_seconds(b, first),
				     .output = MPK_OUTPUT_COPIED,
				     .fd = STDERR_FILENO,
				     .output_max = isolated ? ISOLATED_OUTPUT_MAX : 0,
				     .enters_sandbox = isolated,
				     .contained = true };
	struct mpk_error why = { 0 };
	struct mpk_process_end end;

	b->is_loaded = false;
	b->first = first;
	b->last = b->count;
	order(b, first);
	if (b->order.item == NO_ITEM)
		return mpk_fail(err, MPK_E_IO, "cannot send to a child process");
	child.timeout = b->task.seconds_left;
	MPK_TRY(mpk_process_run(&child, 1, 1, &end, err));
	child_describe(&b->task, &end, &why);
	end_child(b, &why);
	return MPK_OK;
}

/* --- all of them -------------------------------------------------------------------- */

/* Isolated code shares only the outputs of its own call. */
static enum mpk_code share_outputs(const struct mpk_batch_item *item, bool shares,
				   struct mpk_error *err)
{
	for (size_t i = 0; item->call && i < item->call->arg_count; i++) {
		const struct mpk_value *arg = &item->call->args[i];

		if (item->call->is_out[i] && mpk_reply_shares(arg) &&
		    madvise(arg->tensor->storage->data, (size_t)arg->tensor->storage->bytes,
			    shares ? MADV_DOFORK : MADV_DONTFORK) != 0)
			return mpk_fail_errno(err, MPK_E_NOMEM, errno, "cannot hide an output");
	}
	return MPK_OK;
}

static enum mpk_code run_isolated(struct batch *b, size_t i, struct mpk_error *err)
{
	MPK_TRY(share_outputs(&b->items[i], true, err));
	MPK_TRY(run_child(b, i, err));
	return share_outputs(&b->items[i], false, err);
}

/* A child makes as many calls as it survives. */
static enum mpk_code run_all(struct batch *b, struct mpk_error *err)
{
	bool isolated = b->work.library.sandbox != NULL;
	enum mpk_code rc = MPK_OK;

	for (size_t i = 0; i < b->count; i++)
		b->is_known[i] = !b->items[i].call;
	for (size_t i = 0; isolated && i < b->count; i++)
		MPK_TRY(share_outputs(&b->items[i], false, err));
	for (size_t i = next_waiting(b, 0); i < b->count && rc == MPK_OK; i = next_waiting(b, i)) {
		rc = open_connection(b, err);
		if (rc == MPK_OK)
			rc = isolated ? run_isolated(b, i, err) : run_child(b, i, err);
		close_connection(b);
	}
	return rc;
}

/* Whether a call of a standalone library failed in its own loader, the only code that raises
 * RuntimeError: errors in arguments have other kinds. */
static bool may_lack_driver(const struct mpk_batch_item *item)
{
	return item->call && !item->crashed && item->error.code == MPK_E_RAISED &&
	       mpk_span_starts(mpk_span_str(item->error.text), "RuntimeError: ");
}

/* A standalone library without a driver raises an ordinary error; the caller needs to know that a
 * device is missing. */
static void explain_standalone(const struct mpk_library_options *library,
			       struct mpk_batch_item *items, size_t count)
{
	struct mpk_device_list list = { 0 };
	struct mpk_dldevice device = { 0 };
	struct mpk_error why = { 0 };
	size_t i = 0;

	while (i < count && !may_lack_driver(&items[i]))
		i++;
	if (i == count || !library->image->standalone)
		return;
	if (mpk_devices_default(library->tree, &device, NULL) == MPK_OK &&
	    mpk_device_list_add(&list, mpk_device_kind_from(device.type), &why) == MPK_E_DEVICE)
		for (; i < count; i++)
			if (may_lack_driver(&items[i]))
				items[i].error = why;
	mpk_device_list_fini(&list);
}

enum mpk_code mpk_batch_run(const struct mpk_library_options *library, struct mpk_batch_item *items,
			    size_t count, struct mpk_error *err)
{
	struct batch b = {
		.work = { .library = *library,
			  .items = items,
			  .channel = { -1, -1 },
			  .reply = -1,
			  .progress = MAP_FAILED },
		.items = items,
		.count = count,
		.is_known = calloc(count + 1, sizeof *b.is_known),
		.started = calloc(count + 1, sizeof *b.started),
	};
	enum mpk_code rc = MPK_OK;

	if (count >= NO_ITEM)
		rc = mpk_fail(err, MPK_E_RANGE, "%zu calls are too many", count);
	else if (!b.is_known || !b.started)
		rc = mpk_fail_nomem(err);
	if (rc == MPK_OK)
		rc = run_all(&b, err);
	if (rc == MPK_OK)
		explain_standalone(library, items, count);
	free(b.is_known);
	free(b.started);
	return rc;
}
