/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - the child's side of a batch: it takes orders, calls, and replies
 *
 * Called code runs in this process and may do to it what it likes. So nothing here decides what a
 * call came to: the parent (batch.c) orders one call at a time and judges what comes back. An error
 * of a call is its result and not a failure of the session, which goes on with the next order unless
 * the call was on a device whose driver may not recover.
 *
 * Byte code names its callees, so that a model which lacks some is refused with all their names. Compiled code
 * looks each up when it is reached. When the first is missing, the code is searched for the others: who
 * provides one is likely to provide them all.
 */
#include "session/internal/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "elf/wants.h"
#include "session/call.h"
#include "session/internal/reply.h"
#include "text/escape.h"

/* --- orders and reports ---------------------------------------------------------------------- */

/* With the parent's end open here, a parent that dies would go unnoticed. */
static void keep_child_end(struct mpk_channel *c)
{
	(void)close(c->parent);
	c->parent = -1;
}

static bool take_order(const struct mpk_channel *c, struct mpk_order *out)
{
	ssize_t n;

	/* read and write: called code may have no other calls left, see sandbox/seccomp.c */
	do
		n = read(c->child, out, sizeof *out);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *out;
}

static enum mpk_code send_report(const struct mpk_channel *c, const struct mpk_report_message *m,
				 struct mpk_error *err)
{
	ssize_t n;

	do
		n = write(c->child, m, sizeof *m);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *m ? MPK_OK : mpk_wire_fail(err);
}

/* --- observers ------------------------------------------------------------------------------- */

/* In the child, from before the first call until after the last; NULL where nobody asked. */
struct watchers {
	const struct mpk_call *call;
	struct mpk_observer *items[MPK_WATCHER_COUNT];
};

static enum mpk_code watchers_init(struct watchers *w, const struct mpk_call *call,
				   struct mpk_devices *devices, struct mpk_error *err)
{
	w->call = call;
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++) {
		if (!mpk_watchers[i]->is_asked(&call->watch))
			continue;
		w->items[i] = calloc(1, mpk_watchers[i]->bytes);
		MPK_TRY_ALLOC(w->items[i], err);
		MPK_TRY(mpk_watchers[i]->init(w->items[i], &call->watch, devices, err));
	}
	return MPK_OK;
}

static void watchers_fini(struct watchers *w)
{
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++) {
		if (w->items[i] && w->items[i]->fini)
			w->items[i]->fini(w->items[i]);
		free(w->items[i]);
	}
}

static bool watches_call(enum mpk_watched_calls calls, const struct mpk_call *call, unsigned i)
{
	return calls == MPK_WATCHED_ALL || i == call->warmup ||
	       (calls == MPK_WATCHED_TIMED && i > call->warmup);
}

/* Each in front of those that are there: it begins before them, and ends after them. */
static struct mpk_observer *watchers_of(struct watchers *w, unsigned call)
{
	struct mpk_observer *first = NULL;

	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (w->items[i] && watches_call(mpk_watchers[i]->calls, w->call, call)) {
			w->items[i]->next = first;
			first = w->items[i];
		}
	return first;
}

static void watchers_timed(struct watchers *w, double seconds)
{
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (w->items[i] && mpk_watchers[i]->timed)
			mpk_watchers[i]->timed(w->items[i], seconds);
}

/* --- the session ----------------------------------------------------------------------------- */

/* What was kept before the model that it came from. */
static void session_fini(struct mpk_session *s)
{
	mpk_kept_fini(&s->kept);
	mpkr_close(s->model);
	mpk_arena_fini(&s->arena);
}

/* Code that forks may come back twice. The other process would report what it has as this call's result,
 * into the same reply, and take the orders that follow. */
static void leave_if_copy(const struct mpk_session *s)
{
	if (getpid() != s->process)
		_exit(0);
}

/* --- calling ------------------------------------------------------------------------ */

static enum mpk_code call_once(struct mpk_session *s, struct mpk_observer *first,
			       const struct mpk_value **returned, struct mpk_error *err)
{
	enum mpk_code rc = mpk_run_once(s->running, first, returned, err);

	if (rc == MPK_OK)
		return MPK_OK;
	mpk_error_at_path(err, s->call->function);
	mpk_session_hint_add(s, err);
	return rc;
}

/* Time is taken around the call and its waiting for devices, without the observers' setting up. */
static enum mpk_code call_all(struct mpk_session *s, struct watchers *watchers, double *seconds,
			      const struct mpk_value **returned, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;

	for (unsigned i = 0; i < call->warmup + call->repeat; i++) {
		struct mpk_observer *first = watchers_of(watchers, i);
		double start = mpk_clock_seconds();
		enum mpk_code rc = call_once(s, first, returned, err);
		double took = mpk_clock_seconds() - start;

		leave_if_copy(s);
		MPK_TRY(rc);
		if (i < call->warmup)
			continue;
		seconds[i - call->warmup] = took;
		watchers_timed(watchers, took);
	}
	return MPK_OK;
}

/* --- results ------------------------------------------------------------------------ */

/* @seconds  of each call, as doubles */
static enum mpk_code reply(struct mpk_session *s, struct watchers *watchers,
			   struct mpk_span seconds, uint64_t *bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value result = { 0 };
	const struct mpk_reply_content content = { .call = s->call,
						   .seconds = seconds,
						   .returned = &result,
						   .observers = watchers->items };

	MPK_TRY(mpk_run_fetch(s->running, s->call->args, s->call->is_out, &result, err));
	return mpk_reply_write(s->work->reply, &content, bytes, err);
}

static enum mpk_code call_and_reply(struct mpk_session *s, uint64_t *bytes, struct mpk_error *err)
{
	MPK_CLEANUP(watchers_fini) struct watchers watchers = { 0 };
	size_t size = s->call->repeat * sizeof(double);
	double *seconds = calloc(s->call->repeat, sizeof *seconds);
	const struct mpk_value *returned = NULL;
	enum mpk_code rc;

	MPK_TRY_ALLOC(seconds, err);
	rc = watchers_init(&watchers, s->call, mpk_run_devices(s->model), err);
	if (rc == MPK_OK)
		rc = call_all(s, &watchers, seconds, &returned, err);
	if (rc == MPK_OK && s->call->keep)
		rc = mpk_kept_set(&s->kept, s->call->keep, returned, err);
	if (rc == MPK_OK)
		rc = reply(s, &watchers, mpk_span_of(seconds, size), bytes, err);
	free(seconds);
	return rc;
}

/* --- functions that nobody has ---------------------------------------------------------------- */

static bool is_missing(struct mpk_session *s, const char *name)
{
	mpkr_function *f;
	int code = mpkr_find(s->model, name, &f, NULL);

	if (code == MPKR_OK)
		mpkr_drop(f);
	return code == MPKR_E_NOT_FOUND;
}

/* The names in the order of the code; false: fewer than two. */
static bool list_missing(struct mpk_session *s, const struct mpk_wants *w, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap seen = { 0 };
	enum { MOST = 64 }; /* more are no news */
	size_t count = 0, ignored;

	for (size_t i = 0; i < w->count && count < MOST; i++) {
		struct mpk_span name = mpk_span_str(w->items[i].name);

		if (w->items[i].kind == MPK_WANT_NAME &&
		    mpk_strmap_put(&seen, name, 0, &ignored) == 1 &&
		    is_missing(s, w->items[i].name))
			mpk_strbuf_printf(out, "%s%s", count++ ? ", " : "", MPK_QUOTE(name));
	}
	return count > 1 && !out->failed;
}

/* To the error of compiled code that looked up what nobody has: all that is missing
 * */
static void session_name_missing(struct mpk_session *s, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	const struct mpk_image *image = s->work->library.image;
	struct mpk_error ignored;
	struct mpk_wants wants = { 0 };
	struct mpk_elf elf = { 0 };
	size_t used = strlen(err->text);

	if (!s->is_loaded || !image || !strstr(err->text, ", which is neither in its imports"))
		return;
	if (mpk_elf_open(image->bytes, image->bytes_off, &elf, &ignored) == MPK_OK &&
	    mpk_wants_read(&elf, &wants, &ignored) == MPK_OK && list_missing(s, &wants, &names))
		(void)snprintf(err->text + used, sizeof err->text - used,
			       "; all that the library looks up and nobody has: %s",
			       mpk_strbuf_text(&names));
	mpk_wants_fini(&wants);
	mpk_elf_close(&elf);
}

/* --- one after the other ------------------------------------------------------------ */

static enum mpk_code report_item(struct mpk_session *s, struct mpk_report_message m,
				 struct mpk_error *err)
{
	m.item = s->order.item;
	return send_report(&s->work->channel, &m, err);
}

/* Loading is reported, as the parent says in which phase a child ended and gives each its time. */
static enum mpk_code call_ordered(struct mpk_session *s, uint64_t *bytes, struct mpk_error *err)
{
	bool loads = !s->is_loaded;
	enum mpk_code rc = mpk_session_begin_call(s, err);

	leave_if_copy(s);
	if (loads && s->is_loaded && s->work->spare >= 0) {
		(void)close(s->work->spare); /* the library was opened without it */
		s->work->spare = -1;
	}
	if (loads && s->is_loaded)
		MPK_TRY(report_item(s, (struct mpk_report_message){ .kind = MPK_REPORT_LOADED },
				    err));
	return rc == MPK_OK ? call_and_reply(s, bytes, err) : rc;
}

/* A driver does not always recover from what a kernel did, and says so from then on; what was refused before a launch
 * leaves the process, and what calls keep in it, as it was. */
static bool is_unusable(const struct mpk_session *s, enum mpk_code rc)
{
	return rc == MPK_E_RAISED && s->where.type > MPK_DL_CPU && s->model &&
	       !mpk_run_works(s->model);
}

static void count_loaded(void *side, uint64_t bytes)
{
	mpk_child_count(side, 0, bytes);
}

static int compare_descriptors(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* What was asked for and does not hold is no sandbox. */
static enum mpk_code enter_sandbox(struct mpk_session_work *work, struct mpk_error *err)
{
	struct mpk_sandbox_state state = { .files = true, .calls = true };
	int kept[] = { work->channel.child, work->reply, -1 };
	size_t count = MPK_ARRAY_COUNT(kept);

	if (work->library.sandbox) {
		struct mpk_sandbox s = *work->library.sandbox;

		/* as many as it likes would be memory that nobody counts: it gets one */
		work->spare = kept[2] = memfd_create("minspect-library", MFD_CLOEXEC);
		work->library.runtime.spare_file = &work->spare;
		qsort(kept, count, sizeof kept[0], compare_descriptors);
		s.kept = work->spare < 0 ? kept + 1 : kept;
		s.kept_count = work->spare < 0 ? count - 1 : count;
		state = mpk_sandbox_enter(&s);
	}
	if (state.files && state.calls)
		return MPK_OK;
	return mpk_fail(err, MPK_E_LOAD,
			"the called code cannot be isolated: this system has no %s",
			state.files ? "seccomp" : "Landlock");
}

/* The sandbox comes first: the library's constructors run in it. */
static enum mpk_code open_session(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_library_options *library = &s->work->library;

	MPK_TRY(enter_sandbox(s->work, err));
	library->runtime.loaded = count_loaded;
	library->runtime.loaded_user = s->side;
	MPK_TRY(mpk_session_open(s, err));
	/* most of a model's blob are constants */
	mpk_child_count(s->side, library->image ? library->image->blob.len : 0, 0);
	return MPK_OK;
}

/* An error inside the call is the caller's news, not a failure of the session.
 * @opened  what opening the session failed with; MPK_OK */
static enum mpk_code do_item(struct mpk_session *s, const struct mpk_error *opened, bool *ends,
			     struct mpk_error *err)
{
	struct mpk_report_message m = { .kind = MPK_REPORT_RETURNED };
	struct mpk_error failure = *opened;
	enum mpk_code rc = failure.code;

	s->call = s->work->items[s->order.item].call;
	s->where = (struct mpk_dldevice){ 0 };
	if (rc == MPK_OK) {
		rc = call_ordered(s, &m.reply_bytes, &failure);
		mpk_session_end_call(s);
	}
	if (rc != MPK_OK) {
		m.kind = MPK_REPORT_FAILED;
		session_name_missing(s, &failure);
		mpk_hint_add(&failure);
		MPK_TRY(mpk_reply_write(s->work->reply,
					&(struct mpk_reply_content){ .failure = &failure },
					&m.reply_bytes, err));
	}
	m.ends = *ends = s->order.is_last || is_unusable(s, rc);
	return report_item(s, m, err);
}

enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *user,
					struct mpk_error *err)
{
	struct mpk_session s = { .work = user, .side = side, .process = getpid() };
	struct mpk_error opened = { 0 };
	enum mpk_code rc = MPK_OK;
	bool ends = false;

	if (s.work->library.enter_child)
		s.work->library.enter_child();
	keep_child_end(&s.work->channel);
	(void)open_session(&s, &opened);
	while (rc == MPK_OK && !ends && take_order(&s.work->channel, &s.order))
		rc = do_item(&s, &opened, &ends, err);
	session_fini(&s);
	return rc;
}
