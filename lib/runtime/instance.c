#include "runtime/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/loaded.h"
#include "text/escape.h"

/* What a walk over the tree met. */
struct search {
	const char *name;
	struct mpk_function *found;
	struct mpk_error failure;              /* of the first that did not open */
	const struct mpk_instance *unloadable; /* the first node without a loader */
};

static enum mpk_code open_node(struct mpk_instance *inst, struct mpk_error *err)
{
	if (inst->opened)
		return MPK_OK;
	if (inst->failure.code == MPK_OK &&
	    inst->loader->open(inst, inst->loader->user, &inst->failure) == MPK_OK) {
		inst->opened = true;
		return MPK_OK;
	}
	*err = inst->failure;
	return err->code;
}

/* Asks one node. Failures are remembered: another node may have the function. */
static void ask(struct mpk_instance *inst, struct search *s)
{
	struct mpk_error error = { 0 };
	enum mpk_code rc;

	if (mpk_instance_is_host(inst)) {
		rc = mpk_library_find_host(inst->library, s->name, &s->found, &error);
	} else if (inst->loader) {
		rc = open_node(inst, &error);
		if (rc == MPK_OK)
			rc = inst->loader->find(inst, s->name, &s->found, &error);
	} else {
		if (!s->unloadable)
			s->unloadable = inst;
		return;
	}
	if (rc != MPK_OK && s->failure.code == MPK_OK)
		s->failure = error;
}

struct walk {
	size_t *stack;
	size_t depth;
	bool *seen;
};

static void walk_fini(struct walk *w)
{
	free(w->stack);
	free(w->seen);
}

/* In reverse, so that the first child is taken first. */
static void push_children(struct walk *w, const struct mpk_instance *inst)
{
	if (!inst->node)
		return;
	for (size_t i = inst->node->child_count; i-- > 0;)
		w->stack[w->depth++] = inst->node->children[i];
}

static enum mpk_code walk(struct mpk_instance *from, bool ask_itself, struct search *s,
			  struct mpk_error *err)
{
	MPK_CLEANUP(walk_fini) struct walk w = { 0 };
	struct mpk_library *lib = from->library;

	w.stack = calloc(lib->edges + 1, sizeof *w.stack);
	w.seen = calloc(lib->count, sizeof *w.seen);
	if (!w.stack || !w.seen)
		return mpk_fail_nomem(err);
	w.seen[from->index] = true;
	if (ask_itself)
		ask(from, s);
	push_children(&w, from);
	while (w.depth && !s->found) {
		struct mpk_instance *inst = &lib->instances[w.stack[--w.depth]];

		if (w.seen[inst->index])
			continue;
		w.seen[inst->index] = true;
		ask(inst, s);
		push_children(&w, inst);
	}
	return MPK_OK;
}

enum mpk_code mpk_instance_find(struct mpk_instance *inst, const char *name,
				struct mpk_function **out, struct mpk_error *err)
{
	struct search s = { .name = name };

	(void)pthread_mutex_lock(&inst->library->lock);
	enum mpk_code rc = walk(inst, true, &s, err);
	(void)pthread_mutex_unlock(&inst->library->lock);
	MPK_TRY(rc);
	if (!s.found && s.failure.code != MPK_OK) {
		if (err)
			*err = s.failure;
		return s.failure.code;
	}
	*out = s.found;
	return MPK_OK;
}

/* --- imports ------------------------------------------------------------------------ */

static enum mpk_code not_found(const struct mpk_instance *inst, const struct search *s,
			       struct mpk_error *err)
{
	const struct mpk_library_options *o = &inst->library->options;
	struct mpk_span name = mpk_span_str(s->name);
	char path[64];

	if (s->failure.code != MPK_OK) {
		if (err)
			*err = s->failure;
		mpk_error_prefix(err, "'%s': ", MPK_QUOTE(name));
		return s->failure.code;
	}
	if (s->unloadable)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the code calls '%s', which the module of kind '%s' at %s may hold; there is no loader for that kind",
			MPK_QUOTE(name), MPK_QUOTE(s->unloadable->node->kind),
			mpk_tree_path(o->tree, s->unloadable->index, path, sizeof path));
	return mpk_fail(
		err, MPK_E_LOAD,
		"the code calls '%s', which is neither in its imports nor a global function of this loader; it needs the TVM runtime that provides it",
		MPK_QUOTE(name));
}

static struct mpk_function *known_import(const struct mpk_instance *inst, const char *name)
{
	const struct mpk_library *lib = inst->library;

	for (size_t i = 0; i < lib->import_count; i++)
		if (lib->imports[i].where == inst && strcmp(lib->imports[i].name, name) == 0)
			return lib->imports[i].function;
	return NULL;
}

/* Takes the reference to f over. */
static enum mpk_code bind(struct mpk_binding **list, size_t *count, size_t *cap,
			  struct mpk_binding b, struct mpk_error *err)
{
	b.name = strdup(b.name);
	if (!b.name || !mpk_vec_reserve(list, cap, *count + 1, sizeof **list)) {
		free(b.name);
		mpk_function_drop(b.function);
		return mpk_fail_nomem(err);
	}
	(*list)[(*count)++] = b;
	return MPK_OK;
}

static enum mpk_code find_import(struct mpk_instance *inst, const char *name,
				 struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_library *lib = inst->library;
	struct search s = { .name = name };

	*out = known_import(inst, name);
	if (*out)
		return MPK_OK;
	MPK_TRY(walk(inst, false, &s, err));
	if (!s.found)
		s.found = mpk_function_hold(mpk_library_find_global(lib, name));
	if (!s.found)
		return not_found(inst, &s, err);
	*out = s.found;
	return bind(&lib->imports, &lib->import_count, &lib->import_cap,
		    (struct mpk_binding){ inst, (char *)(uintptr_t)name, s.found }, err);
}

enum mpk_code mpk_instance_import(struct mpk_instance *inst, const char *name,
				  struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_function *found = NULL;

	(void)pthread_mutex_lock(&inst->library->lock);
	enum mpk_code rc = find_import(inst, name, &found, err);
	(void)pthread_mutex_unlock(&inst->library->lock);
	if (rc == MPK_OK)
		*out = found;
	return rc;
}

enum mpk_code mpk_library_add_global(struct mpk_library *lib, const char *name,
				     struct mpk_function *f, struct mpk_error *err)
{
	return bind(&lib->globals, &lib->global_count, &lib->global_cap,
		    (struct mpk_binding){ NULL, (char *)(uintptr_t)name, f }, err);
}

struct mpk_function *mpk_library_find_global(struct mpk_library *lib, const char *name)
{
	for (size_t i = lib->global_count; i-- > 0;)
		if (strcmp(lib->globals[i].name, name) == 0)
			return lib->globals[i].function;
	return NULL;
}
