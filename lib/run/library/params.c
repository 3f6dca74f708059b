/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - binds parameters of models from files
 *
 * Parameters are constants that a library leaves to a file, and inputs of its functions. They are
 * matched by name if there are names. Inputs without a match are passed by calls, with an exception
 * for weights without names: a tuple with as many elements as a file has tensors, or, if tensors
 * are only numbered, the last inputs, as weights usually come last.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "executor/executor.h"
#include "library/internal/library.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "zip/zip.h"

/* --- constants that are bound late ------------------------------------------------------------ */

struct late {
	const struct mpk_run_params *params;
	bool is_on_host; /* the model is on the host */
};

static enum mpk_code find_late(void *user, struct mpk_span name, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	const struct late *late = user;
	size_t index;

	for (const struct mpk_run_params *p = late->params; p; p = p->next)
		if (mpk_param_file_find(p->file, name, &index))
			return mpk_param_file_tensor(p->file, index, late->is_on_host, out, err);
	return MPK_OK;
}

enum mpk_code mpk_run_bind_late(struct mpkr_model *model, const struct mpk_run_params *params,
				struct mpk_error *err)
{
	struct late late = { params, mpk_dldevice_is_host(model->where) };

	return params ? mpk_relay_bind_library(model->library, find_late, &late, err) : MPK_OK;
}

/* --- names in a file -------------------------------------------------------------------------- */

/* Makes "fc1_weight" of "fc1.weight": characters other than ASCII letters and digits become
 * underscores. */
static struct mpk_span identifier_of(struct mpk_span name, struct mpk_arena *arena)
{
	char *text = mpk_arena_text(arena, name);

	for (size_t i = 0; text && i < name.len; i++)
		if (!isalnum((unsigned char)text[i]))
			text[i] = '_';
	return mpk_span_of(text, text ? name.len : 0);
}

/* If two tensors have the same identifier, neither can be found by it: the choice would be
 * arbitrary. */
static void fill_exported(struct mpk_run_finder *f)
{
	size_t count = mpk_param_file_count(f->file), first;

	f->is_ambiguous = mpk_arena_array(f->arena, count + 1, sizeof *f->is_ambiguous);
	f->failed |= !f->is_ambiguous;
	for (size_t i = 0; f->is_ambiguous && i < count; i++) {
		struct mpk_span id = identifier_of(mpk_param_file_entry(f->file, i).name, f->arena);
		int put = id.data ? mpk_strmap_put(&f->exported, id, i, &first) : -1;

		f->failed |= put < 0;
		if (put == 0)
			f->is_ambiguous[first] = true;
	}
}

/* torch.export names a parameter "p_" plus its identifier, a buffer "b_", a constant "c_". */
static bool find_exported(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	bool has_prefix = name.len > 2 && name.data[1] == '_' && memchr("pbc", name.data[0], 3);

	if (!f->is_ambiguous)
		fill_exported(f);
	return f->is_ambiguous &&
	       (mpk_strmap_find(&f->exported, name, index) ||
		(has_prefix && mpk_strmap_find(&f->exported, mpk_span_from(name, 2), index))) &&
	       !f->is_ambiguous[*index];
}

bool mpk_run_find_param(struct mpk_run_finder *f, struct mpk_span name, size_t *index)
{
	return name.len &&
	       (mpk_param_file_find(f->file, name, index) || find_exported(f, name, index));
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Copies tensors one by one, so that parameters of many GiB are not in memory twice. */
enum mpk_code mpk_run_send_param(const struct mpkr_function *f, const struct mpk_type *type,
				 struct mpk_param_file *file, size_t index, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_dldevice where = f->where;
	struct mpk_tensor *host;
	enum mpk_code code;

	if (type->kind == MPK_TYPE_TENSOR && type->device && type->device != where.type)
		where = (struct mpk_dldevice){ .type = type->device };
	MPK_TRY(mpk_param_file_tensor(file, index, mpk_dldevice_is_host(where), &host, err));
	code = mpk_devices_send(mpk_runtime_devices(f->model->runtime), host, where, &out->tensor,
				err);
	mpk_tensor_drop(host);
	MPK_TRY(code);
	mpk_runtime_loaded(f->model->runtime, out->tensor->bytes);
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

/* The library does not link zlib, so members must be stored. */
static enum mpk_code read_member(struct mpk_span zip, const struct mpk_zip_member *m,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "npz",
							.advice = "save it with numpy.savez" };

	return mpk_zip_unpack(zip, m, &options, arena, out, err);
}

/* --- what files have for a function ------------------------------------------------------------ */

/* The files of a model, each with an index of its names. */
struct files {
	struct mpk_run_finder *items;
	size_t count;
	struct mpk_arena *arena;
};

static void files_fini(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		mpk_strmap_fini(&f->items[i].exported);
}

static enum mpk_code files_init(struct files *f, const struct mpk_run_params *params,
				struct mpk_arena *arena, struct mpk_error *err)
{
	size_t count = 0;

	for (const struct mpk_run_params *p = params; p; p = p->next)
		count++;
	f->arena = arena;
	f->items = mpk_arena_array(arena, count + 1, sizeof *f->items);
	MPK_TRY_ALLOC(f->items, err);
	for (const struct mpk_run_params *p = params; p; p = p->next)
		f->items[f->count++] = (struct mpk_run_finder){ .file = p->file, .arena = arena };
	return MPK_OK;
}

/* If several files have a name, the one bound last counts. */
static bool find_named(struct files *f, struct mpk_span name, struct mpk_run_stored *out)
{
	for (size_t i = 0; i < f->count; i++)
		if (mpk_run_find_param(&f->items[i], name, &out->index)) {
			out->file = f->items[i].file;
			return true;
		}
	return false;
}

static bool find_numbered(const struct files *f, size_t number, struct mpk_run_stored *out)
{
	char name[32];

	(void)snprintf(name, sizeof name, "param_%zu", number);
	for (size_t i = 0; i < f->count; i++)
		if (mpk_param_file_find(f->items[i].file, mpk_span_str(name), &out->index)) {
			out->file = f->items[i].file;
			return true;
		}
	return false;
}

bool mpk_run_fits_type(const struct mpk_type *t, const struct mpk_param_entry *p)
{
	if (t->kind != MPK_TYPE_TENSOR || !p->is_known)
		return true;
	if (t->dtype.bits && !mpk_dtype_equal(t->dtype, p->dtype) &&
	    !(mpk_dtype_is_bool(t->dtype) && mpk_dtype_is_bool(p->dtype)))
		return false;
	if (!t->ranked)
		return true;
	for (size_t i = 0; t->ndim == p->ndim && i < p->ndim; i++)
		if (!mpk_type_symbol(t, i).len && t->shape[i] != p->shape[i])
			return false;
	return t->ndim == p->ndim;
}

static bool stored_fits(const struct mpk_type *t, const struct mpk_run_stored *s)
{
	const struct mpk_param_entry p = mpk_param_file_entry(s->file, s->index);

	return mpk_run_fits_type(t, &p);
}

/* A match in progress: for inputs, by index, and for parameters that the model's file has. */
struct matching {
	struct files *files;
	const struct mpk_signature *s;
	struct mpk_run_match *out; /* has room for all matches */
	size_t count;
	bool *is_matched; /* one flag for each input */
	bool failed;      /* memory is out */
};

static struct mpk_run_stored *add_match(struct matching *m, const struct mpk_param *input,
					size_t place, size_t count)
{
	struct mpk_run_stored *at = mpk_arena_array(m->files->arena, count + 1, sizeof *at);

	m->failed |= !at;
	if (!at)
		return NULL;
	m->out[m->count++] = (struct mpk_run_match){ input, place, at, count };
	if (place < m->s->input_count)
		m->is_matched[place] = true;
	return at;
}

/* A tuple matches by name only if all of its fields do. */
static void match_named(struct matching *m, const struct mpk_param *input, size_t place)
{
	const struct mpk_type *t = &input->type;
	struct mpk_run_stored found, *at;
	size_t i = 0;

	if (t->kind != MPK_TYPE_TUPLE) {
		if (find_named(m->files, input->name, &found) &&
		    (at = add_match(m, input, place, 1)) != NULL)
			*at = found;
		return;
	}
	while (i < t->field_count && find_named(m->files, t->fields[i].name, &found))
		i++;
	if (!i || i < t->field_count || !(at = add_match(m, input, place, i)))
		return;
	for (i = 0; i < t->field_count; i++)
		(void)find_named(m->files, t->fields[i].name, &at[i]);
}

/* Finds field i of a tuple whose fields are all numbered, or are one file in order. */
static bool find_place(const struct files *f, const struct mpk_run_finder *in_order, size_t i,
		       struct mpk_run_stored *out)
{
	if (!in_order)
		return find_numbered(f, i, out);
	*out = (struct mpk_run_stored){ in_order->file, i };
	return true;
}

static bool match_tuple(struct matching *m, size_t place, const struct mpk_run_finder *in_order)
{
	const struct mpk_param *input = &m->s->inputs[place];
	const struct mpk_type *t = &input->type;
	struct mpk_run_stored found, *at;

	if (in_order && mpk_param_file_count(in_order->file) != t->field_count)
		return false;
	for (size_t i = 0; i < t->field_count; i++)
		if (!find_place(m->files, in_order, i, &found) ||
		    !stored_fits(&t->fields[i].type, &found))
			return false;
	at = add_match(m, input, place, t->field_count);
	for (size_t i = 0; at && i < t->field_count; i++)
		(void)find_place(m->files, in_order, i, &at[i]);
	return true;
}

/* Matches the last tuple that was not matched by name. */
static bool match_last_tuple(struct matching *m)
{
	for (size_t i = m->s->input_count; i-- > 0;) {
		const struct mpk_param *input = &m->s->inputs[i];

		if (m->is_matched[i] || input->type.kind != MPK_TYPE_TUPLE ||
		    !input->type.field_count)
			continue;
		if (match_tuple(m, i, NULL))
			return true;
		for (size_t k = 0; k < m->files->count; k++)
			if (match_tuple(m, i, &m->files->items[k]))
				return true;
		return false;
	}
	return false;
}

/* Matches the numbered tensors to the last inputs, if each one fits. */
static void match_numbered(struct matching *m)
{
	struct mpk_run_stored found, *at;
	size_t numbered = 0, left = 0, first;

	while (find_numbered(m->files, numbered, &found))
		numbered++;
	for (size_t i = 0; i < m->s->input_count; i++)
		left += !m->is_matched[i];
	if (!numbered || numbered > left)
		return;
	first = m->s->input_count;
	for (size_t n = numbered; n > 0;) {
		const struct mpk_param *input = &m->s->inputs[--first];

		if (m->is_matched[first])
			continue;
		/* byte code checks the types of most inputs, but not of all */
		if ((input->type.kind != MPK_TYPE_TENSOR && input->type.kind != MPK_TYPE_ANY) ||
		    !find_numbered(m->files, --n, &found) || !stored_fits(&input->type, &found))
			return;
	}
	for (size_t i = first, n = 0; i < m->s->input_count; i++)
		if (!m->is_matched[i] && (at = add_match(m, &m->s->inputs[i], i, 1)) != NULL)
			(void)find_numbered(m->files, n++, at);
}

static enum mpk_code match_all(struct files *files, const struct mpk_signature *s,
			       struct mpk_run_match **out, size_t *count, struct mpk_error *err)
{
	struct matching m = { .files = files, .s = s };

	m.out = mpk_arena_array(files->arena, s->input_count + s->param_count + 1, sizeof *m.out);
	m.is_matched = mpk_arena_array(files->arena, s->input_count + 1, sizeof *m.is_matched);
	MPK_TRY_ALLOC(m.out && m.is_matched, err);
	for (size_t i = 0; i < s->input_count; i++)
		match_named(&m, &s->inputs[i], i);
	for (size_t i = 0; i < s->param_count; i++)
		match_named(&m, &s->params[i], SIZE_MAX);
	if (!match_last_tuple(&m))
		match_numbered(&m);
	for (size_t i = 0; i < files->count; i++)
		m.failed |= files->items[i].failed;
	MPK_TRY_ALLOC(!m.failed, err);
	*out = m.out;
	*count = m.count;
	return MPK_OK;
}

enum mpk_code mpk_run_match_params(const struct mpk_run_params *params,
				   const struct mpk_signature *s, struct mpk_arena *arena,
				   struct mpk_run_match **out, size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(files_fini) struct files files = { 0 };

	MPK_TRY(files_init(&files, params, arena, err));
	return match_all(&files, s, out, count, err);
}

static enum mpk_code bind_match(struct mpkr_function *f, const struct mpk_run_match *m,
				struct mpk_error *err)
{
	struct mpk_run_bound *b = &f->bound[f->bound_count];
	const struct mpk_type *type = &m->input->type;

	if (type->kind == MPK_TYPE_TUPLE)
		MPK_TRY(mpk_value_of_array(m->count, &b->value, err));
	b->name = m->input->name;
	f->bound_count++; /* from here on it is freed with the others */
	if (type->kind != MPK_TYPE_TUPLE)
		return mpk_run_send_param(f, type, m->at->file, m->at->index, &b->value, err);
	for (size_t i = 0; i < m->count; i++)
		MPK_TRY(mpk_run_send_param(f, &type->fields[i].type, m->at[i].file, m->at[i].index,
					   &b->value.array->items[i], err));
	return MPK_OK;
}

/* Fills f->bound from mpkr_bind_weights
 * @is_bound  one flag for each input, all false: receives which are bound */
static enum mpk_code run_bind_model(struct mpkr_function *f, bool *is_bound, struct mpk_error *err)
{
	struct mpk_run_match *matches;
	size_t count;

	MPK_TRY(mpk_run_match_params(f->model->params, f->function->signature, &f->arena, &matches,
				     &count, err));
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(bind_match(f, &matches[i], err));
		if (matches[i].place != SIZE_MAX)
			is_bound[matches[i].place] = true;
	}
	return MPK_OK;
}

/* --- what becomes of a file ------------------------------------------------------------------- */

/* Tensors of a file being bound that some function of the model uses. */
struct use {
	struct files *files;
	const struct mpk_param_file *file;
	bool *is_used;           /* one flag for each tensor */
	struct mpk_span *wanted; /* names of inputs without a tensor in any file */
	size_t wanted_count, wanted_cap;
	bool failed;
};

static void want(struct use *u, struct mpk_span name)
{
	if (!name.len)
		return;
	for (size_t i = 0; i < u->wanted_count; i++)
		if (mpk_span_equal(u->wanted[i], name))
			return;
	if (mpk_vec_reserve(&u->wanted, &u->wanted_cap, u->wanted_count + 1, sizeof *u->wanted))
		u->wanted[u->wanted_count++] = name;
	else
		u->failed = true;
}

static enum mpk_code use_signature(struct use *u, const struct mpk_signature *s,
				   struct mpk_error *err)
{
	struct mpk_run_match *matches;
	size_t count;

	MPK_TRY(match_all(u->files, s, &matches, &count, err));
	for (size_t i = 0; i < s->input_count; i++)
		want(u, s->inputs[i].name);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < matches[i].count; k++)
			if (matches[i].at[k].file == u->file)
				u->is_used[matches[i].at[k].index] = true;
	return MPK_OK;
}

/* If an executable cannot be loaded, finding its functions reports why. */
static enum mpk_code use_module(struct mpk_module *module, void *arg, struct mpk_error *err)
{
	struct mpk_node_module *node = (struct mpk_node_module *)module;
	struct use *u = arg;
	struct mpk_function *none = NULL;
	const struct mpk_signature *s;
	struct mpk_error why = { 0 };

	if (!node->loader || !node->loader->signature_at)
		return MPK_OK;
	if (!node->is_open && node->base.find(&node->base, "", &none, &why) == MPK_OK)
		mpk_function_drop(none);
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	for (size_t i = 0; node->is_open; i++) {
		enum mpk_code code = node->loader->signature_at(node, i, &s, &why);

		if (code == MPK_E_NOMEM)
			return mpk_fail_nomem(err);
		if (code != MPK_OK || !s)
			return MPK_OK;
		MPK_TRY(use_signature(u, s, err));
	}
	return MPK_OK;
}

/* Receives the name of a late-bound constant; binds nothing. */
static enum mpk_code use_late(void *user, struct mpk_span name, struct mpk_tensor **out,
			      struct mpk_error *err)
{
	struct use *u = user;
	size_t index;

	(void)out;
	(void)err;
	want(u, name);
	if (mpk_param_file_find(u->file, name, &index))
		u->is_used[index] = true;
	return MPK_OK;
}

static enum mpk_code use_file(struct mpkr_model *model, struct use *u, struct mpk_error *err)
{
	MPK_TRY(mpk_relay_bind_library(model->library, use_late, u, err));
	MPK_TRY(mpk_library_each_module(model->library, use_module, u, err));
	return u->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* Names both sides: often one is the other plus a prefix. */
static enum mpk_code fail_no_use(const struct use *u, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf has = { 0 }, wants = { 0 };
	size_t count = mpk_param_file_count(u->file);
	struct mpk_span *names = mpk_arena_array(arena, count + 1, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < count; i++)
		names[i] = mpk_param_file_entry(u->file, i).name;
	mpk_put_names(&has, names, count);
	mpk_put_names(&wants, u->wanted, u->wanted_count);
	MPK_TRY_ALLOC(!has.failed && !wants.failed, err);
	if (!u->wanted_count)
		return mpk_fail(err, MPK_E_USAGE,
				"no function of the model has inputs with names; the file has %s",
				count ? mpk_strbuf_text(&has) : "nothing");
	return mpk_fail(err, MPK_E_USAGE,
			"no tensor of the file is an input of the model: it has %s; inputs are %s",
			count ? mpk_strbuf_text(&has) : "nothing", mpk_strbuf_text(&wants));
}

/* @p       first file of the model */
static enum mpk_code check_use(struct mpkr_model *model, const struct mpk_run_params *p,
			       size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(files_fini) struct files files = { 0 };
	struct use u = { .files = &files, .file = p->file };
	size_t used = 0, all = mpk_param_file_count(p->file);
	enum mpk_code code;

	MPK_TRY(files_init(&files, p, &arena, err));
	u.is_used = mpk_arena_array(&arena, all + 1, sizeof *u.is_used);
	MPK_TRY_ALLOC(u.is_used, err);
	code = use_file(model, &u, err);
	for (size_t i = 0; i < all; i++)
		used += u.is_used[i];
	if (code == MPK_OK && !used)
		code = fail_no_use(&u, &arena, err);
	free(u.wanted);
	MPK_TRY(code);
	*count = used;
	return MPK_OK;
}

/* If it fails, the file is not bound. */
static enum mpk_code bind_file(struct mpkr_model *model, const char *path, size_t *count,
			       struct mpk_error *err)
{
	struct mpk_run_params *p;
	enum mpk_code code;

	if (model->is_found)
		return mpk_fail(err, MPK_E_USAGE,
				"parameters are bound before a function is found");
	p = calloc(1, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	code = mpk_param_file_open(path, read_member, &p->file, err);
	if (code == MPK_OK) {
		p->next = model->params;
		p->bind_late = mpk_run_bind_late;
		p->bind = run_bind_model;
		code = check_use(model, p, count, err);
		if (code == MPK_E_USAGE)
			mpk_error_at_file(err, path);
	}
	if (code != MPK_OK) {
		mpk_param_file_drop(p->file);
		free(p);
		return mpk_failed(code);
	}
	model->params = p;
	return MPK_OK;
}

int mpkr_bind_weights(mpkr_model *model, const char *path, size_t *count, struct mpkr_error *err)
{
	struct mpk_memory *before;
	struct mpk_error failure;
	enum mpk_code code;
	size_t bound = 0;

	if (!model || !path)
		return mpk_run_misuse("a pointer that is needed is NULL", err);
	before = mpk_run_lock(model);
	code = bind_file(model, path, &bound, &failure);
	mpk_run_unlock(model, before);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	if (count)
		*count = bound;
	return MPKR_OK;
}

int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err)
{
	return mpkr_bind_weights(model, path, NULL, err);
}
