/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c - the parent's side of a batch: which call runs, since when and until when, and its outcome
 *
 * A function of ours makes the calls in a process of its own, so that a crash, a hang or an exit is a result like any
 * other, with one sentence that names the function and what it was at.
 *
 * What the child can write is its reply, outputs, and reports of the one call that it was given. All
 * of that is read once, when the call is over, and judged as the child's word on that call alone. A
 * report that cannot be about the call that was ordered ends the child.
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

/* What the child is to do; named in the message when it does not come back. */
struct task {
	const char *what;    /* the function's name */
	double timeout;      /* seconds that it was given; 0: as many as it likes */
	double seconds_left; /* of them */
	enum mpk_child_phase phase;
};

struct batch {
	struct mpk_session_work work;
	struct mpk_batch_item *items;
	size_t count;
	bool *is_known;  /* of count: the item has its outcome */
	double *started; /* of count: when it was ordered first; 0: not yet */

	/* the child that runs */
	struct task task;
	struct mpk_order order; /* what it is at; item NO_ITEM: nothing, and nothing follows */
	bool is_loaded;         /* the library */
	size_t first;           /* the item that the child was started for */
	/* of its last call, whose results are read when it has ended */
	size_t last; /* count: there was none */
	struct mpk_report_message last_report;
};

/* Does not wait: a child that takes no orders would hold up its parent. */
static bool send_order(const struct mpk_channel *c, const struct mpk_order *order)
{
	ssize_t n;

	do
		n = send(c->parent, order, sizeof *order, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *order;
}

/* An item without a call counts as known. */
static size_t next_waiting(const struct batch *b, size_t from)
{
	while (from < b->count && b->is_known[from])
		from++;
	return from;
}

/* Gives the child its next call. What an item took in a child before is taken off its time. */
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
	/* isolated code has its process to itself: it can neither spoil nor pass for another call */
	b->order.is_last = b->work.library.sandbox || next_waiting(b, i + 1) == b->count;
	if (!send_order(&b->work.channel, &b->order))
		b->order.item = NO_ITEM;
}

/* What is said of a call when it is over.
 * @copies  the child goes on, and could change what it left
 * Returns  false: its reply is broken */
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
	/* isolated code has no device that could be missing: a failure, nothing to pass over */
	if (item->error.code == MPK_E_DEVICE && b->work.library.sandbox)
		item->error.code = MPK_E_RAISED;
	return is_read;
}

/* A broken reply is the doing of whoever called before, a thread that was left running, say, as soon as there was
 * somebody. The call is made again in a new child then, unless it wrote to memory that it shares with us.
 * Returns  false: its reply is broken */
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

/* The next call is ordered only when the reply of this one has been read, as the file in memory
 * is used again. */
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

/* The next report, if there is one; does not wait. One that cannot be of the call that was ordered is forged. */
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

/* The process ended during this item, or after it. */
static void record_crash(struct batch *b, size_t i, const struct mpk_error *why)
{
	struct mpk_batch_item *item = &b->items[i];

	mpk_call_result_fini(&item->result);
	item->error = *why;
	item->crashed = true;
	item->seconds = mpk_clock_seconds() - b->started[i];
	b->is_known[i] = true;
}

/* @why     how the child ended */
static void end_child(struct batch *b, struct mpk_error *why)
{
	size_t i = b->order.item;

	if (b->last < b->count) {
		(void)batch_settle(b, b->last, &b->last_report, false);
		/* it ended badly after its last call, so that call did it */
		if (why->code != MPK_OK)
			record_crash(b, b->last, why);
	}
	if (i == NO_ITEM)
		return;
	/* whatever its process says of itself: the call has not come back */
	if (why->code == MPK_OK)
		(void)mpk_fail(why, MPK_E_RAISED, "'%s' ended the process",
			       MPK_QUOTE(mpk_span_str(b->task.what)));
	record_crash(b, i, why);
	/* the next child would end at the same place */
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

/* New for each child: what an earlier one forked may still hold the old ends. A socket of packets: a message that is
 * cut or late is no part of another one. */
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

/* Enough for a trace of a model, and for no disk. */
static const uint64_t ISOLATED_OUTPUT_MAX = UINT64_C(16) << 20;

/* What all threads of a child can use up before its calls are late, and some more; 0: no limit */
static double cpu_seconds(const struct batch *b, size_t first)
{
	double sum = 10; /* to start, and to come from one call to the next */

	for (size_t i = first; i < b->count; i = next_waiting(b, i + 1)) {
		if (!(b->items[i].timeout > 0))
			return 0;
		sum += b->items[i].timeout;
		if (b->work.library.sandbox)
			break;
	}
	return sum * (double)sysconf(_SC_NPROCESSORS_CONF);
}

/* Every tenth of a second, in the parent. */
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

/* Ordered before the child exists, so that it finds its first order when it looks. It is contained, has no standard
 * input, and its standard output goes to standard error, as does its standard error, through a pipe. */
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

/* Isolated code has the outputs of its own call and no other's. */
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

/* A child takes as many calls as it survives. */
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

/* Whether a standalone library's call failed in its own loader, which raises RuntimeError
 * and nothing else does: mistakes in arguments are of other kinds. */
static bool may_lack_driver(const struct mpk_batch_item *item)
{
	return item->call && !item->crashed && item->error.code == MPK_E_RAISED &&
	       mpk_span_starts(mpk_span_str(item->error.text), "RuntimeError: ");
}

/* A standalone library that finds no driver raises an error like any other; for the caller
 * it is the lack of a device. */
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
