#include "executor/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "executor/model_text.h"
#include "text/escape.h"

/* --- what is said --------------------------------------------------------------------------- */

static void put_value(const struct mpk_value *v, struct mpk_strbuf *out)
{
	struct mpk_model_tensor t = { .typed = true };

	if (v->kind != MPK_VALUE_TENSOR) {
		mpk_strbuf_puts(out, mpk_value_kind_name(v->kind));
		return;
	}
	t.dtype = v->tensor->dl.dtype;
	t.shape = v->tensor->dl.shape;
	t.ndim = (size_t)v->tensor->dl.ndim;
	mpk_model_type_text(&t, out);
}

/* Ends the sentence that was begun in *said with a call that is right. */
static enum mpk_code refuse(const struct mpk_model *m, struct mpk_strbuf *said,
			    struct mpk_error *err)
{
	enum mpk_code code;

	mpk_strbuf_puts(said, m->input_count ? "; call it with" : "; it takes no inputs");
	if (m->input_count)
		mpk_model_options(m, said);
	code = mpk_strbuf_status(said, err);
	if (code == MPK_OK)
		code = mpk_fail(err, MPK_E_USAGE, "%s", mpk_strbuf_text(said));
	mpk_strbuf_fini(said);
	return mpk_failed(code);
}

/* --- by name -------------------------------------------------------------------------------- */

static const struct mpk_model_tensor *place(const struct mpk_model *m, size_t i)
{
	return i < m->input_count ? &m->inputs[i] : &m->params[i - m->input_count];
}

static size_t place_count(const struct mpk_model *m)
{
	return m->input_count + m->param_count;
}

static enum mpk_code unknown_name(const struct mpk_model *m, struct mpk_span name,
				  struct mpk_error *err)
{
	size_t count = place_count(m), near = count;
	struct mpk_span *names = calloc(count + 1, sizeof *names);
	struct mpk_strbuf said = { 0 };

	for (size_t i = 0; names && i < count; i++)
		names[i] = place(m, i)->name;
	if (names)
		near = mpk_closest(name, names, count);
	free(names);
	mpk_strbuf_puts(&said, "no input '");
	mpk_escape(&said, name);
	mpk_strbuf_putc(&said, '\'');
	if (near < count) {
		mpk_strbuf_puts(&said, " (did you mean '");
		mpk_escape(&said, place(m, near)->name);
		mpk_strbuf_puts(&said, "'?)");
	}
	return refuse(m, &said, err);
}

static enum mpk_code bind_named(const struct mpk_model *m, const struct mpk_args *args,
				const struct mpk_value **bound, struct mpk_error *err)
{
	for (size_t i = 0; args->names && i < args->count; i++) {
		struct mpk_span name = args->names[i];
		size_t at = 0;

		if (!name.len)
			continue;
		while (at < place_count(m) && !mpk_span_equal(place(m, at)->name, name))
			at++;
		if (at == place_count(m))
			return unknown_name(m, name, err);
		if (bound[at])
			return mpk_fail(err, MPK_E_USAGE, "input '%s' is given twice",
					MPK_QUOTE(name));
		bound[at] = &args->values[i];
	}
	return MPK_OK;
}

/* --- by position ---------------------------------------------------------------------------- */

static enum mpk_code wrong_count(const struct mpk_model *m, size_t came, struct mpk_error *err)
{
	struct mpk_strbuf said = { 0 };

	mpk_strbuf_printf(&said, "%zu value%s for %zu input%s", came, came == 1 ? "" : "s",
			  m->input_count, m->input_count == 1 ? "" : "s");
	return refuse(m, &said, err);
}

static enum mpk_code missing(const struct mpk_model *m, size_t at, struct mpk_error *err)
{
	struct mpk_strbuf said = { 0 };

	mpk_strbuf_puts(&said, "input '");
	mpk_escape(&said, m->inputs[at].name);
	mpk_strbuf_puts(&said, "' is missing: ");
	mpk_model_type_text(&m->inputs[at], &said);
	return refuse(m, &said, err);
}

static enum mpk_code bind_positional(const struct mpk_model *m, const struct mpk_args *args,
				     const struct mpk_value **bound, struct mpk_error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < args->count; i++) {
		if (args->names && args->names[i].len)
			continue;
		while (at < m->input_count && bound[at])
			at++;
		if (at == m->input_count)
			return wrong_count(m, args->count, err);
		bound[at] = &args->values[i];
	}
	for (at = 0; at < m->input_count; at++)
		if (!bound[at])
			return missing(m, at, err);
	return MPK_OK;
}

/* --- types and shapes ----------------------------------------------------------------------- */

static bool is_dtype(const struct mpk_model_tensor *want, const struct mpk_dltensor *came)
{
	return mpk_dtype_equal(want->dtype, came->dtype) ||
	       (mpk_dtype_is_bool(want->dtype) && mpk_dtype_is_bool(came->dtype));
}

/* What a symbolic extent is in this call: its size where the name comes first, in the inputs before
 * this one, which fit, or in this one itself. */
static int64_t size_of_symbol(const struct mpk_model *m, const struct mpk_value *const *bound,
			      size_t at, size_t dimension)
{
	struct mpk_span symbol = place(m, at)->symbols[dimension];

	for (size_t i = 0; i <= at; i++) {
		const struct mpk_model_tensor *t = place(m, i);

		for (size_t d = 0; bound[i] && t->typed && t->symbols && d < t->ndim; d++)
			if (mpk_span_equal(t->symbols[d], symbol))
				return bound[i]->tensor->dl.shape[d];
	}
	return -1;
}

static bool fits(const struct mpk_model *m, const struct mpk_value *const *bound, size_t at)
{
	const struct mpk_model_tensor *want = place(m, at);
	const struct mpk_dltensor *came;

	if (!want->typed)
		return true;
	if (bound[at]->kind != MPK_VALUE_TENSOR)
		return false;
	came = &bound[at]->tensor->dl;
	if (!is_dtype(want, came) || came->ndim != (int32_t)want->ndim)
		return false;
	for (size_t d = 0; d < want->ndim; d++) {
		int64_t size = want->symbols && want->symbols[d].len
				       ? size_of_symbol(m, bound, at, d)
				       : want->shape[d];

		if (came->shape[d] != size)
			return false;
	}
	return true;
}

/* ", n being 5": the symbols of an input whose size an earlier one has settled. */
static void put_symbols(const struct mpk_model *m, const struct mpk_value *const *bound, size_t at,
			struct mpk_strbuf *said)
{
	const struct mpk_model_tensor *want = place(m, at);
	const struct mpk_dltensor *came;

	if (!want->symbols || bound[at]->kind != MPK_VALUE_TENSOR)
		return;
	came = &bound[at]->tensor->dl;
	if (came->ndim != (int32_t)want->ndim)
		return;
	for (size_t d = 0; d < want->ndim; d++) {
		int64_t size =
			want->symbols[d].len ? size_of_symbol(m, bound, at, d) : came->shape[d];

		if (size == came->shape[d])
			continue;
		mpk_strbuf_puts(said, ", ");
		mpk_escape(said, want->symbols[d]);
		mpk_strbuf_printf(said, " being %" PRId64, size);
	}
}

static enum mpk_code misfit(const struct mpk_model *m, const struct mpk_value *const *bound,
			    size_t at, struct mpk_error *err)
{
	struct mpk_strbuf said = { 0 };

	mpk_strbuf_puts(&said, at < m->input_count ? "input '" : "parameter '");
	mpk_escape(&said, place(m, at)->name);
	mpk_strbuf_puts(&said, "' takes ");
	mpk_model_type_text(place(m, at), &said);
	put_symbols(m, bound, at, &said);
	mpk_strbuf_puts(&said, ", not ");
	put_value(bound[at], &said);
	return refuse(m, &said, err);
}

enum mpk_code mpk_model_bind(const struct mpk_model *m, const struct mpk_args *args,
			     const struct mpk_value **bound, struct mpk_error *err)
{
	size_t count = place_count(m);

	if (count)
		memset(bound, 0, count * sizeof bound[0]);
	MPK_TRY(bind_named(m, args, bound, err));
	MPK_TRY(bind_positional(m, args, bound, err));
	for (size_t i = 0; i < count; i++)
		if (bound[i] && !fits(m, bound, i))
			return misfit(m, bound, i, err);
	return MPK_OK;
}
