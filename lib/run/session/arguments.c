/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c - the library that is called, and in the child its function, with arguments where it wants them
 *
 * The library is loaded for the first call that needs it, and only once, also when that fails: each
 * later call gets the same sentence. What a function takes, where it wants it, and which inputs a file of
 * parameters gives is the library's business (library/inspect.h). Results that a call keeps by name are arguments of
 * later calls.
 */
#include "session/internal/session.h"

#include <ctype.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "device/device.h"
#include "hostcode/host.h"
#include "session/call.h"
#include "session/internal/reply.h"
#include "text/escape.h"

/* --- kept results ----------------------------------------------------------------------------- */

static struct mpk_kept_item *find_kept(const struct mpk_kept *kept, struct mpk_span name)
{
	for (size_t i = 0; i < kept->count; i++)
		if (mpk_span_is(name, kept->items[i].name))
			return &kept->items[i];
	return NULL;
}

/* Tuples anew, all else by reference. */
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

enum mpk_code mpk_kept_set(struct mpk_kept *kept, const char *name, const struct mpk_value *v,
			   struct mpk_error *err)
{
	struct mpk_kept_item *item = find_kept(kept, mpk_span_str(name));
	struct mpk_value copy = { 0 };

	MPK_TRY(copy_tuples(v, 0, &copy, err));
	if (!item) {
		if (!mpk_vec_reserve(&kept->items, &kept->cap, kept->count + 1,
				     sizeof *kept->items)) {
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

bool mpk_kept_split(struct mpk_span text, struct mpk_span *name, size_t *item)
{
	uint64_t number;
	size_t len = 0;

	while (len < text.len && (isalnum(text.data[len]) || strchr("_-.", text.data[len])))
		len++;
	*name = mpk_span_of(text.data, len);
	*item = SIZE_MAX;
	if (len == text.len)
		return len > 0;
	if (!len || text.data[len] != '[' || text.data[text.len - 1] != ']' ||
	    !mpk_parse_u64(mpk_span_of(text.data + len + 1, text.len - len - 2), &number) ||
	    number >= UINT32_MAX)
		return false;
	*item = (size_t)number;
	return true;
}

/* What a name means: "cache", or "cache[1]", an item of a tuple. */
static enum mpk_code kept_get(const struct mpk_kept *kept, struct mpk_span text,
			      struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_kept_item *item;
	struct mpk_span name;
	size_t index;

	if (!mpk_kept_split(text, &name, &index))
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

void mpk_kept_fini(struct mpk_kept *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		mpk_value_drop(&kept->items[i].value);
	free(kept->items);
	*kept = (struct mpk_kept){ 0 };
}

/* --- where functions want their tensors --------------------------------------------------- */

/* Read when the first is asked for: not every call needs it. In the arena. */
struct places {
	const struct mpk_image *image;
	struct mpk_arena *arena;
	struct place {
		const char *name;
		int32_t device;
	} *items; /* by name; NULL: not read so far */
	size_t count;
};

static int library_by_name(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

/* Without memory nothing is known. */
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

/* Code of one device alone is on the one that all is on. */
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

/* Getters of metadata are no functions of the file, and called like some. */
static enum mpk_code call_getters(struct mpk_session *s, struct mpk_run_source *source,
				  struct mpk_error *err)
{
	const struct mpk_image *image = s->work->library.image;
	struct mpk_host_function *functions;

	if (image->functions != image->getters)
		return MPK_OK;
	functions = mpk_arena_array(&s->arena, image->function_count + 1, sizeof *functions);
	MPK_TRY_ALLOC(functions, err);
	for (size_t i = 0; i < image->function_count; i++)
		functions[i] = (struct mpk_host_function){ .name = image->functions[i].name,
							   .symbol = image->functions[i].symbol };
	source->functions = functions;
	source->function_count = image->function_count;
	return MPK_OK;
}

enum mpk_code mpk_session_open(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_library_options *library = &s->work->library;
	struct mpk_run_source source = {
		.path = library->path,
		.tree = library->tree,
		.is_alone = true,
		.runtime = library->runtime,
	};

	MPK_TRY(library_places(library, &s->arena, &source, err));
	MPK_TRY(call_getters(s, &source, err));
	return mpk_run_create(&source, &s->model, err);
}

void mpk_session_end_call(struct mpk_session *s)
{
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
}

/* Loads the library unless it is loaded; tries that only once. */
static enum mpk_code need_library(struct mpk_session *s, struct mpk_error *err)
{
	struct mpk_error *failure = &s->work->unloadable;

	if (failure->code == MPK_OK && !s->is_loaded)
		s->is_loaded = mpk_library_check(&s->work->library, failure) == MPK_OK &&
			       mpk_run_load(s->model, failure) == MPK_OK;
	if (failure->code == MPK_OK)
		return MPK_OK;
	*err = *failure;
	return mpk_failed(err->code);
}

static void hear_load(void *side, uint64_t bytes)
{
	mpk_child_count(side, bytes, 0);
}

/* Models get the device before the look-up, as they are loaded by it. A kernel says itself for which kind of device it
 * is; the user may choose the number. */
static enum mpk_code find_function(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_call *call = s->call;
	const struct mpk_run_given given = {
		.params = call->params,
		.is_for_models = call->params_for_models,
		.names = call->names,
		.count = call->arg_count,
		.to_load = hear_load,
		.user = s->side,
	};
	struct mpk_dldevice where = call->device;
	bool is_guess = call->device_is_guess || !where.type;

	if (!where.type)
		where.type = MPK_DL_CPU;
	if (!call->kernel)
		MPK_TRY(need_library(s, err));
	MPK_TRY(mpk_run_set_device(s->model, where, is_guess, err));
	return mpk_run_find(s->model, call->function, call->kernel, &given, &s->function, &s->where,
			    err);
}

static enum mpk_code check_watch(const struct mpk_session *s, struct mpk_error *err)
{
	if (mpk_run_function(s->function)->signature || !mpk_watch_is_asked(&s->call->watch))
		return MPK_OK;
	return mpk_fail(err, MPK_E_USAGE,
			"'%s' is no model: there are no operators in it that could be seen",
			MPK_QUOTE(mpk_span_str(s->call->function)));
}

/* What earlier calls kept is where it was made. */
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

enum mpk_code mpk_session_begin_call(struct mpk_session *s, struct mpk_error *err)
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

/* --- the file: what the dynamic linker would refuse, in the words of a user who has the wrong one ------ */

#if defined(__x86_64__)
#define HERE EM_X86_64, "x86-64"
#elif defined(__aarch64__)
#define HERE EM_AARCH64, "AArch64"
#elif defined(__riscv)
#define HERE EM_RISCV, "RISC-V"
#elif defined(__powerpc64__)
#define HERE EM_PPC64, "PowerPC64"
#elif defined(__s390x__)
#define HERE EM_S390, "S390"
#else
#error "name this machine here"
#endif

static const struct {
	uint16_t machine;
	const char *name;
} here = { HERE };

static bool is_little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

static enum mpk_code check_machine(const struct mpk_image *image, struct mpk_error *err)
{
	unsigned class = sizeof(void *) * 8;

	if (image->machine == here.machine && image->elf_class == class &&
	    image->big_endian == !is_little_endian())
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the library is for %s (%u-bit, %s-endian); this machine is %s (%u-bit, %s-endian)",
		image->machine_name, image->elf_class, image->big_endian ? "big" : "little",
		here.name, class, is_little_endian() ? "little" : "big");
}

enum mpk_code mpk_library_check(const struct mpk_library_options *options, struct mpk_error *err)
{
	const struct mpk_image *image = options->image;

	if (options->unloadable.code != MPK_OK) {
		if (err)
			*err = options->unloadable;
		return mpk_failed(options->unloadable.code);
	}
	switch (image->container) {
	case MPK_CONTAINER_ELF_SO:
		break;
	case MPK_CONTAINER_BLOB:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a bare blob has no code to call; build a library of it with 'mpack build'");
	case MPK_CONTAINER_DEVICE:
		return mpk_fail(
			err, MPK_E_LOAD,
			"GPU code by itself has no host code to call; 'mpack init' writes a manifest of it, and 'mpack build' a library");
	case MPK_CONTAINER_MACHO_SO:
	case MPK_CONTAINER_PE_SO:
		return mpk_fail(err, MPK_E_LOAD,
				"the library is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_PE ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_MACHO_OBJ:
	case MPK_CONTAINER_COFF_OBJ:
		return mpk_fail(err, MPK_E_LOAD,
				"the object is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_COFF ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_C:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a source cannot be loaded before it is compiled: cc -shared -fPIC -o LIBRARY.so SOURCES");
	case MPK_CONTAINER_ELF_OBJ:
	case MPK_CONTAINER_ARCHIVE:
	case MPK_CONTAINER_TAR:
		return mpk_fail(
			err, MPK_E_LOAD,
			"objects cannot be loaded before they are linked: cc -shared -o LIBRARY.so OBJECTS");
	}
	if (image->type != ET_DYN)
		return mpk_fail(err, MPK_E_LOAD, "not a shared library");
	MPK_TRY(check_machine(image, err));
	if (!image->has_blob && !image->function_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"neither a module blob nor a callable function is in it");
	return MPK_OK;
}
