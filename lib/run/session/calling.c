/* SPDX-License-Identifier: Apache-2.0 */
/* calling.c - one call of the session: its function, its arguments, the timed calls, its reply
 *
 * The library is loaded for the first call that needs it, and only once, even if that fails: later
 * calls get the same error. The library (library/inspect.h) knows the parameters of a function,
 * their devices, and which inputs a file of parameters gives. Results that a call keeps by name are
 * arguments of later calls.
 */
#include "session/internal/session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "hostcode/host.h"
#include "session/call.h"
#include "session/internal/reply.h"
#include "text/escape.h"
#include "value/parse.h"

/* --- kept results ----------------------------------------------------------------------------- */

static struct mpk_kept_item *find_kept(const struct mpk_kept *kept, struct mpk_span name)
{
	for (size_t i = 0; i < kept->count; i++)
		if (mpk_span_is(name, kept->items[i].name))
			return &kept->items[i];
	return NULL;
}

/* Copies tuples; all other values get a reference. */
static enum mpk_code copy_tuples(const struct mpk_value *v, unsigned depth, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_value made = { 0 };
	enum mpk_code rc = MPK_OK;

	if (v->kind != MPK_VALUE_ARRAY || depth > MPK_WIRE_NEST_MAX) {
		*out = mpk_value_hold(*v);
		return MPK_OK;
	}
	MPK_TRY(mpk_value_of_array(v->array->count, &made, err));
	made.array->tag = v->array->tag;
	for (size_t i = 0; i < v->array->count && rc == MPK_OK; i++)
		rc = copy_tuples(&v->array->items[i], depth + 1, &made.array->items[i], err);
	if (rc != MPK_OK) {
		mpk_value_drop(&made);
		return rc;
	}
	*out = made;
	return MPK_OK;
}

static enum mpk_code kept_set(struct mpk_kept *kept, const char *name, const struct mpk_value *v,
			      struct mpk_error *err)
{
	struct mpk_kept_item *item = find_kept(kept, mpk_span_str(name));
	struct mpk_value copy = { 0 };

	MPK_TRY(copy_tuples(v, 0, &copy, err));
	if (!item) {
		if (!MPK_VEC_ROOM(kept->items, kept->count, kept->cap)) {
			mpk_value_drop(&copy);
			return mpk_fail_nomem(err);
		}
		item = &kept->items[kept->count++];
		*item = (struct mpk_kept_item){ .name = name };
	}
	mpk_value_drop(&item->value);
	item->value = copy;
	return MPK_OK;
}

/* Finds a kept value by name: "cache", or "cache[1]", an element of a tuple. */
static enum mpk_code kept_get(const struct mpk_kept *kept, struct mpk_span text,
			      struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_kept_item *item;
	struct mpk_span name;
	size_t index;

	if (!mpk_value_split_kept(text, &name, &index))
		return mpk_fail(err, MPK_E_USAGE, "'$%s' names no kept value", MPK_QUOTE(text));
	item = find_kept(kept, name);
	if (!item)
		return mpk_fail(
			err, MPK_E_USAGE,
			"there is no '$%s': the call that keeps it was not made in this process, or failed",
			MPK_QUOTE(name));
	if (index == SIZE_MAX) {
		*out = mpk_value_hold(item->value);
		return MPK_OK;
	}
	if (item->value.kind != MPK_VALUE_ARRAY || index >= item->value.array->count)
		return mpk_fail(err, MPK_E_USAGE, "'$%s' has no item %zu: it is %s",
				MPK_QUOTE(name), index, mpk_value_kind_name(item->value.kind));
	*out = mpk_value_hold(item->value.array->items[index]);
	return MPK_OK;
}

/* --- the function and its arguments ---------------------------------------------------------- */

/* Opens the libraries whose functions the model may call; they stay open as long as the model. */
static enum mpk_code open_providers(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_library_options *library = &s->work->library;
	struct mpk_run_source source = { .is_alone = true, .runtime = library->runtime };

	s->providers =
		mpk_arena_array(&s->arena, library->provider_count + 1, sizeof(mpkr_model *));
	MPK_TRY_ALLOC(s->providers, err);
	source.runtime.spare_file = NULL;
	for (size_t i = 0; i < library->provider_count; i++) {
		enum mpk_code code;

		source.path = library->providers[i];
		MPK_TRY(mpk_run_create(&source, &s->providers[i], err));
		code = mpk_run_load(s->providers[i], err);
		if (code == MPK_OK)
			code = mpk_run_provide(s->model, s->providers[i], err);
		if (code != MPK_OK) {
			mpk_error_at_file(err, library->providers[i]);
			return mpk_failed(code);
		}
	}
	return MPK_OK;
}

/* Loads the library unless it is loaded; tries only once. */
static enum mpk_code need_library(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_error *failure = &s->work->unloadable;

	if (failure->code == MPK_OK && !s->is_loaded)
		s->is_loaded = mpk_library_check(&s->work->library, failure) == MPK_OK &&
			       open_providers(s, failure) == MPK_OK &&
			       mpk_run_load(s->model, failure) == MPK_OK;
	if (failure->code == MPK_OK)
		return MPK_OK;
	*err = *failure;
	return mpk_failed(err->code);
}

static void hear_load(void *progress, uint64_t bytes)
{
	((struct mpk_child_progress *)progress)->to_load += bytes;
}

/* A model gets its device before the look-up, since loading uses it. A kernel determines its kind
 * of device itself; the user may choose the number. */
static enum mpk_code find_function(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	struct mpk_run_given given = {
		.params = call->params,
		.is_for_models = call->params_for_models,
		.names = call->names,
		.count = call->arg_count,
		.to_load = hear_load,
		.user = s->work->progress,
		.where = call->device,
		.is_guess = call->device_is_guess || !call->device.type,
	};

	if (!given.where.type)
		given.where.type = MPK_DL_CPU;
	if (!call->kernel)
		MPK_TRY(need_library(s, err));
	MPK_TRY(mpk_run_find(s->model, call->function, call->kernel, &given, &s->function, err));
	s->where = mpk_run_facts(s->function).where;
	return MPK_OK;
}

static bool watch_is_asked(const struct mpk_watch *watch)
{
	for (size_t i = 0; i < MPK_WATCHER_COUNT; i++)
		if (mpk_watchers[i]->is_asked(watch))
			return true;
	return false;
}

static enum mpk_code check_watch(const struct mpk_session *s, struct mpk_error *err)
{
	if (mpk_run_facts(s->function).function->signature || !watch_is_asked(&s->call->watch))
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' is no model: there are no operators in it that could be seen",
			MPK_QUOTE(mpk_span_str(s->call->function)));
}

/* Kept values stay on the device where they were made. */
static enum mpk_code take_kept(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;

	s->args = calloc(call->arg_count + 1, sizeof *s->args);
	s->is_placed = calloc(call->arg_count + 1, sizeof *s->is_placed);
	MPK_TRY_ALLOC(s->args && s->is_placed, err);
	for (size_t i = 0; i < call->arg_count; i++) {
		s->is_placed[i] = call->kept[i].len != 0;
		if (s->is_placed[i])
			MPK_TRY(kept_get(&s->kept, call->kept[i], &s->args[i], err));
		else
			s->args[i] = mpk_value_hold(call->args[i]);
	}
	return MPK_OK;
}

static enum mpk_code begin_call(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	const struct mpk_watch *watch = &call->watch;

	MPK_TRY(find_function(s, err));
	MPK_TRY(check_watch(s, err));
	if (call->kept)
		MPK_TRY(take_kept(s, err));
	const struct mpk_run_values in = {
		.values = s->args ? s->args : call->args,
		.names = call->names,
		.places = call->places,
		.is_placed = s->is_placed,
		.count = call->arg_count,
	};

	return mpk_run_begin(s->function, &in, watch->dump || watch->compare, &s->running, err);
}

/* --- observers ------------------------------------------------------------------------------- */

/* The observers, from before the first call until after the last; NULL if not requested. */
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

/* Each observer is put in front of the others: it begins before them and ends after them. */
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

/* Called code may fork and return twice. The second process would report its results as this
 * call's, into the same reply, and take the following orders. */
static void leave_if_copy(const struct mpk_session *s)
{
	if (getpid() != s->process)
		_exit(0);
}

/* Returns the signature of a function; an alias has that of its target. */
static const struct mpk_signature *
find_host_signature(const struct mpk_image *image, const struct mpk_signature *const *signatures,
		    const char *name)
{
	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		if (f->alias_of && strcmp(f->name, name) == 0 && strcmp(f->alias_of, name) != 0)
			return find_host_signature(image, signatures, f->alias_of);
		if (!f->alias_of && strcmp(f->name, name) == 0)
			return signatures[i];
	}
	return NULL;
}

/* --- errors of a call that does not fit: a call that works -------------------------------------- */

/* Returns the signature of the called host function if its arguments do not fit; else NULL.
 * "none" and named arguments are not checked: the text does not say which arguments are
 * optional. */
static const struct mpk_signature *broken_signature(struct mpk_session *s)
{
	const struct mpk_image *image = s->work->library.image;
	const struct mpk_signature *const *all, *signature;
	const struct mpk_call *call = s->call;

	for (size_t i = 0; i < call->arg_count; i++)
		if (call->args[i].kind == MPK_VALUE_NONE || (call->names && call->names[i].len))
			return NULL;
	if (call->kernel || call->params ||
	    mpk_host_signatures(image, &s->arena, &all, NULL) != MPK_OK)
		return NULL;
	signature = find_host_signature(image, all, call->function);
	return signature && !mpk_run_fits(s->running, signature) ? signature : NULL;
}

/* --- calling ------------------------------------------------------------------------ */

static enum mpk_code call_once(struct mpk_session *s, struct mpk_observer *first,
			       const struct mpk_value **returned, struct mpk_error *err)
{
	enum mpk_code rc = mpk_run_once(s->running, first, returned, err);

	if (rc == MPK_OK)
		return MPK_OK;
	mpk_error_at_path(err, s->call->function);

	/* A model's error is about the arguments if binding them again fails; other nonsensical
	 * values give the same code. */
	const struct mpk_function *f = mpk_run_facts(s->function).function;
	const struct mpk_signature *signature = NULL;

	if (f->address && s->work->library.explains_calls && err->code == MPK_E_RAISED)
		signature = broken_signature(s);
	else if (!f->address && f->signature && err->code == MPK_E_USAGE &&
		 !mpk_run_fits(s->running, f->signature))
		signature = f->signature;
	if (signature)
		mpk_hint_add_call(signature, err);

	return rc;
}

/* Measures the call and its waiting for devices, without the setup of the observers. */
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
	rc = watchers_init(&watchers, s->call, mpk_run_facts(s->function).devices, err);
	if (rc == MPK_OK)
		rc = call_all(s, &watchers, seconds, &returned, err);
	if (rc == MPK_OK && s->call->keep)
		rc = kept_set(&s->kept, s->call->keep, returned, err);
	if (rc == MPK_OK)
		rc = reply(s, &watchers, mpk_span_of(seconds, size), bytes, err);
	free(seconds);
	return rc;
}

/* The end of loading is reported, since the parent names the phase in which a child ended, and
 * limits each phase. */
static enum mpk_code call_ordered(struct mpk_session *s, uint64_t *bytes, struct mpk_error *err)
{
	bool loads = !s->is_loaded;
	enum mpk_code rc = begin_call(s, err);

	leave_if_copy(s);
	if (loads && s->is_loaded && s->work->spare >= 0) {
		(void)close(s->work->spare); /* the library was opened without it */
		s->work->spare = -1;
	}
	if (loads && s->is_loaded)
		MPK_TRY(mpk_report_send(s, (struct mpk_report_message){ .kind = MPK_REPORT_LOADED },
					err));
	return rc == MPK_OK ? call_and_reply(s, bytes, err) : rc;
}

enum mpk_code mpk_session_call(struct mpk_session *s, uint64_t *bytes, struct mpk_error *err)
{
	enum mpk_code rc = call_ordered(s, bytes, err);

	mpk_run_end(s->running);
	mpkr_drop(s->function);
	for (size_t i = 0; s->args && i < s->call->arg_count; i++)
		mpk_value_drop(&s->args[i]);
	free(s->args);
	free(s->is_placed);
	s->running = NULL;
	s->function = NULL;
	s->args = NULL;
	s->is_placed = NULL;

	return rc;
}
