/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - functions of the application: who has which, and who is in one
 *
 * A name that was registered once stays, without code when it was taken away: a process has few of them, and who calls
 * one holds nothing but its name.
 */
#include "runtime/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "runtime/internal/runtime.h"

struct mpk_registry_entry {
	struct mpk_registry_entry *next;
	const void *owner;
	mpk_registered_code *code;
	void *context;
	unsigned running; /* calls, of all threads */
	char name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over what follows */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;  /* a call */
static struct mpk_registry_entry *entries;

static _Thread_local struct mpk_registry_use *innermost;

static struct mpk_registry_entry *find(const void *owner, const char *name)
{
	struct mpk_registry_entry *e = entries;

	while (e && (e->owner != owner || strcmp(e->name, name) != 0))
		e = e->next;
	return e;
}

static struct mpk_registry_entry *find_with_code(const void *owner, const char *name)
{
	struct mpk_registry_entry *e = find(owner, name);

	if (owner && (!e || !e->code))
		e = find(NULL, name);
	return e && e->code ? e : NULL;
}

/* Calls of this thread, which would wait for itself. */
static unsigned count_own(const struct mpk_registry_entry *e)
{
	unsigned count = 0;

	for (const struct mpk_registry_use *use = innermost; use; use = use->outer)
		count += use->entry == e;
	return count;
}

static struct mpk_registry_entry *add(const void *owner, const char *name)
{
	size_t len = strlen(name);
	struct mpk_registry_entry *e = calloc(1, sizeof *e + len + 1);

	if (!e)
		return NULL;
	memcpy(e->name, name, len);
	e->owner = owner;
	e->next = entries;
	entries = e;
	return e;
}

/* With the lock, which is free while it waits. */
static enum mpk_code put(const void *owner, const char *name, mpk_registered_code *code,
			 void *context, struct mpk_error *err)
{
	struct mpk_registry_entry *e = find(owner, name);

	if (!code && (!e || !e->code))
		return mpk_fail(err, MPK_E_NOTFOUND, "no function '%s' is registered", name);
	if (!e)
		e = add(owner, name);
	MPK_TRY_ALLOC(e, err);
	e->code = code;
	e->context = context;
	/* also where another one came in its place: the old one may be unloaded, too */
	while (e->running > count_own(e))
		(void)pthread_cond_wait(&ended, &lock);
	return MPK_OK;
}

enum mpk_code mpk_registry_put(const void *owner, const char *name, mpk_registered_code *code,
			       void *context, struct mpk_error *err)
{
	enum mpk_code rc;

	mpk_process_watch_forks();
	(void)pthread_mutex_lock(&lock);
	rc = put(owner, name, code, context, err);
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

void mpk_registry_forget(const void *owner)
{
	(void)pthread_mutex_lock(&lock);

	/* With the lock. */
	for (struct mpk_registry_entry **at = &entries, *e; (e = *at) != NULL;)
		if (e->owner == owner) {
			*at = e->next;
			free(e);
		} else {
			at = &e->next;
		}

	(void)pthread_mutex_unlock(&lock);
}

bool mpk_registry_has(const void *owner, const char *name)
{
	bool has;

	(void)pthread_mutex_lock(&lock);
	has = find_with_code(owner, name) != NULL;
	(void)pthread_mutex_unlock(&lock);
	return has;
}

bool mpk_registry_begin(const void *owner, const char *name, struct mpk_registry_use *use)
{
	struct mpk_registry_entry *e;

	(void)pthread_mutex_lock(&lock);
	e = find_with_code(owner, name);
	if (e) {
		e->running++;
		*use = (struct mpk_registry_use){ e, e->code, e->context, innermost };
		innermost = use;
	}
	(void)pthread_mutex_unlock(&lock);
	return e != NULL;
}

void mpk_registry_end(struct mpk_registry_use *use)
{
	innermost = use->outer;
	(void)pthread_mutex_lock(&lock);
	use->entry->running--;
	(void)pthread_cond_broadcast(&ended);
	(void)pthread_mutex_unlock(&lock);
}

/* --- the process ---------------------------------------------------------------------------------- */

/* Calls of other threads are none of the child's. */
static void at_fork(enum mpk_fork_moment moment)
{
	mpk_lock_at_fork(&lock, moment);
	if (moment != MPK_FORK_CHILD)
		return;
	(void)pthread_cond_init(&ended, NULL);
	for (struct mpk_registry_entry *e = entries; e; e = e->next)
		e->running = count_own(e);
}

/* Of a process that ends, threads may still call. */
static void end(bool is_unused, bool code_goes)
{
	if (is_unused && code_goes)
		mpk_registry_forget(NULL);
}

const struct mpk_process_part mpk_registry_part = { .at_fork = at_fork, .end = end };
