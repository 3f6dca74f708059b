/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - the child's side of a batch: opens the library, takes orders, and reports each
 * outcome
 *
 * Called code runs in this process and may do anything to it. So this file does not decide the
 * outcome of a call: the parent (batch.c) orders one call at a time and judges the reply. An error
 * of a call is its result, not a failure of the session, which continues with the next order unless
 * the call was on a device whose driver may not recover.
 *
 * Byte code names the functions that it calls, so a model that lacks some is refused with all their
 * names. Compiled code looks each up when it is needed. When the first is missing, the code is
 * searched for the others, so that the user can provide them all at once.
 */
#include "session/internal/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "device/device.h"
#include "elf/wants.h"
#include "hostcode/host.h"
#include "session/call.h"
#include "session/internal/reply.h"
#include "text/escape.h"

/* --- orders and reports ---------------------------------------------------------------------- */

static bool take_order(const struct mpk_channel *c, struct mpk_order *out)
{
	ssize_t n;

	/* read and write: the sandbox may forbid all other calls, see sandbox/seccomp.c */
	do
		n = read(c->child, out, sizeof *out);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof *out;
}

/* --- the session ----------------------------------------------------------------------------- */

/* --- where functions want their tensors --------------------------------------------------- */

/* The devices of kernels; read on first use, since not every call needs them. In the arena. */
struct places {
	const struct mpk_image *image;
	struct mpk_arena *arena;
	struct place {
		const char *name;
		int32_t device;
	} *items; /* sorted by name; NULL until read */
	size_t count;
};

static int library_by_name(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

/* If memory is out, nothing is known. */
static void read_places(struct places *p)
{
	const struct mpk_signature *const *signatures;
	size_t n = p->image->function_count;

	p->items = mpk_arena_array(p->arena, n + 1, sizeof *p->items);
	if (!p->items || mpk_host_signatures(p->image, p->arena, &signatures, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < n; i++)
		if (signatures[i] && signatures[i]->device)
			p->items[p->count++] = (struct place){ p->image->functions[i].name,
							       signatures[i]->device };
	if (p->count)
		qsort(p->items, p->count, sizeof *p->items, library_by_name);
}

static int32_t device_of(void *user, const char *name)
{
	struct places *p = user;
	const struct place key = { .name = name }, *found;

	if (!p->items)
		read_places(p);
	found = p->count ? bsearch(&key, p->items, p->count, sizeof key, library_by_name) : NULL;
	return found ? found->device : 0;
}

/* If the library has code for one device only, all functions are on it. */
static enum mpk_code library_places(const struct mpk_library_options *options,
				    struct mpk_arena *arena, struct mpk_run_source *out,
				    struct mpk_error *err)
{
	const struct mpk_tree *tree = options->tree;
	struct places *p;
	bool on_device = false;

	for (size_t i = 0; tree && i < tree->count; i++)
		on_device |= mpk_device_kind_of(tree->nodes[i].kind) > MPK_DEVICE_CPU;
	if (!on_device)
		return MPK_OK;
	p = mpk_arena_alloc(arena, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	*p = (struct places){ .image = options->image, .arena = arena };
	out->device_of = device_of;
	out->device_user = p;
	return MPK_OK;
}

/* Metadata getters are not functions of the file, but are called like functions. */
static enum mpk_code call_getters(struct mpk_session *s, struct mpk_run_source *source,
				  struct mpk_error *err)
{
	const struct mpk_image *image = s->work->library.image;
	struct mpk_host_function *functions;

	if (image->functions != image->getters)
		return MPK_OK;
	MPK_TRY_ARRAY(functions, &s->arena, image->function_count + 1, err);
	for (size_t i = 0; i < image->function_count; i++)
		functions[i] = (struct mpk_host_function){ .name = image->functions[i].name,
							   .symbol = image->functions[i].symbol };
	source->functions = functions;
	source->function_count = image->function_count;
	return MPK_OK;
}

static enum mpk_code create_model(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_library_options *library = &s->work->library;
	struct mpk_run_source source = {
		.path = library->path,
		.prefix =
			library->image && library->image->by_prefix ? library->image->prefix : NULL,
		.tree = library->tree,
		.is_alone = true,
		.runtime = library->runtime,
	};

	MPK_TRY(library_places(library, &s->arena, &source, err));
	MPK_TRY(call_getters(s, &source, err));
	return mpk_run_create(&source, &s->model, err);
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

/* Lists the missing names in the order of the code; false if there are fewer than two. */
static bool list_missing(struct mpk_session *s, const struct mpk_wants *w, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap seen = { 0 };
	enum { MOST = 64 }; /* a longer list would not help */
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

/* Adds all missing names to the error of compiled code that looked up a missing function */
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

/* Whether the device cannot be used any more: a driver does not always recover from a kernel's
 * fault. A call refused before the launch leaves the process and its kept values intact. */
static bool is_unusable(const struct mpk_session *s, enum mpk_code rc)
{
	return rc == MPK_E_RAISED && s->where.type > MPK_DL_CPU && s->model &&
	       !mpk_run_works(s->model);
}

static void count_loaded(void *progress, uint64_t bytes)
{
	((struct mpk_child_progress *)progress)->loaded += bytes;
}

/* Returns 7 for "/dev/fd/7" and "/proc/self/fd/7", -1 for any other path. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; path && i < MPK_ARRAY_COUNT(folders); i++) {
		size_t len = strlen(folders[i]);

		if (strncmp(path, folders[i], len) == 0 && mpk_is_digit(path[len]))
			return (int)strtol(path + len, NULL, 10);
	}
	return -1;
}

static int compare_descriptors(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes files that this program or its caller had open: called code gets only what it needs. If
 * the library is named by a descriptor, that one stays open. */
static enum mpk_code close_others(const struct mpk_session_work *work, struct mpk_error *err)
{
	int kept[] = { work->channel.child, work->reply, descriptor_of(work->library.path) };

	qsort(kept, MPK_ARRAY_COUNT(kept), sizeof kept[0], compare_descriptors);
	if (mpk_close_others(STDERR_FILENO + 1, kept, MPK_ARRAY_COUNT(kept)))
		return MPK_OK;
	return mpk_fail(err, MPK_E_LOAD,
			"descriptors of the caller cannot be kept from the called code");
}

/* A sandbox that was requested but cannot be entered is an error. */
static enum mpk_code enter_sandbox(struct mpk_session_work *work, struct mpk_error *err)
{
	struct mpk_sandbox_state state = { .files = true, .calls = true };
	int kept[] = { work->channel.child, work->reply, -1 };
	size_t count = MPK_ARRAY_COUNT(kept);

	if (work->library.sandbox) {
		struct mpk_sandbox s = *work->library.sandbox;

		/* more memory files would be memory without a limit, so it gets only one */
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

/* The sandbox comes first, since the library's constructors run in it. */
static enum mpk_code open_session(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_library_options *library = &s->work->library;

	MPK_TRY(close_others(s->work, err));
	MPK_TRY(enter_sandbox(s->work, err));
	library->runtime.loaded = count_loaded;
	library->runtime.loaded_user = s->work->progress;
	MPK_TRY(create_model(s, err));
	/* most of a model's blob are constants */
	s->work->progress->to_load += library->image ? library->image->blob.len : 0;
	return MPK_OK;
}

/* Makes the ordered call. An error of the call is reported, and is not a failure of the session.
 * @opened  result of opening the session */
static enum mpk_code do_item(struct mpk_session *s, const struct mpk_error *opened, bool *ends,
			     struct mpk_error *err)
{
	struct mpk_report_message m = { .kind = MPK_REPORT_RETURNED };
	struct mpk_error failure = *opened;
	enum mpk_code rc = failure.code;

	s->call = s->work->items[s->order.item].call;
	s->where = (struct mpk_dldevice){ 0 };
	if (rc == MPK_OK)
		rc = mpk_session_call(s, &m.reply_bytes, &failure);
	if (rc != MPK_OK) {
		m.kind = MPK_REPORT_FAILED;
		session_name_missing(s, &failure);
		mpk_hint_add(&failure);
		MPK_TRY(mpk_reply_write(s->work->reply,
					&(struct mpk_reply_content){ .failure = &failure },
					&m.reply_bytes, err));
	}
	m.ends = *ends = s->order.is_last || is_unusable(s, rc);
	return mpk_report_send(s, m, err);
}

enum mpk_code mpk_session_work_in_child(struct mpk_session_work *work, struct mpk_error *err)
{
	struct mpk_session s = { .work = work, .process = getpid() };
	struct mpk_error opened = { 0 };
	enum mpk_code rc = MPK_OK;
	bool ends = false;

	if (s.work->library.enter_child)
		s.work->library.enter_child();

	/* If this process kept the parent's end open, it would not notice the parent's death. */
	(void)close(s.work->channel.parent);
	s.work->channel.parent = -1;
	(void)open_session(&s, &opened);
	while (rc == MPK_OK && !ends && take_order(&s.work->channel, &s.order))
		rc = do_item(&s, &opened, &ends, err);

	/* Kept values are freed before the model that made them. */
	for (size_t i = 0; i < s.kept.count; i++)
		mpk_value_drop(&s.kept.items[i].value);
	free(s.kept.items);
	mpkr_close(s.model);
	for (size_t i = 0; s.providers && i < work->library.provider_count; i++)
		mpkr_close(s.providers[i]);
	mpk_arena_fini(&s.arena);

	return rc;
}
