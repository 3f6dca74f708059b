/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - R.print and R.assert_op: how a model prints its values
 *
 * The text goes to the application's log function, if there is one. Values are printed as Python
 * would print them; a tensor is printed like a NumPy array, without aligned columns or line breaks. */
#include <inttypes.h>

#include "base/strbuf.h"
#include "executor/relax/builtin.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/element.h"
#include "value/function.h"

enum { ELEMENTS_MAX = 1000 }; /* elements printed of a tensor; NumPy's threshold */

/* --- one value ----------------------------------------------------------------------------------- */

/* Prints "2." and "True" as NumPy does. */
static void render_scalar(struct mpk_strbuf *out, const struct mpk_scalars *s,
			  struct mpk_dtype dtype, uint64_t i)
{
	uint8_t room[MPK_SCALAR_MAX];
	const uint8_t *raw = mpk_scalar_at(s, i, room);
	size_t begin = out->len;

	dtype.lanes = 1;
	if (mpk_element_class(dtype) == MPK_ELEMENT_BOOL) {
		mpk_strbuf_puts(out, raw[0] ? "True" : "False");
		return;
	}
	mpk_element_print(out, dtype, raw);
	if (mpk_element_class(dtype) != MPK_ELEMENT_FLOAT || !s->ndim)
		return;
	for (size_t k = begin; k < out->len; k++)
		if (!(out->data[k] == '-' || (out->data[k] >= '0' && out->data[k] <= '9')))
			return;
	mpk_strbuf_putc(out, '.');
}

static void render_tensor(struct mpk_strbuf *out, const struct mpk_tensor *t)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);
	uint64_t shown = s.count < ELEMENTS_MAX ? s.count : ELEMENTS_MAX;

	if (!s.count)
		mpk_strbuf_puts(out, "[]");
	for (uint64_t i = 0; i < shown; i++) {
		size_t edges = mpk_scalars_edges(&s, i);

		if (i) {
			mpk_strbuf_fill(out, ']', edges);
			mpk_strbuf_putc(out, ' ');
		}
		mpk_strbuf_fill(out, '[', edges);
		render_scalar(out, &s, t->dl.dtype, i);
	}
	if (shown < s.count)
		mpk_strbuf_puts(out, " ...");
	mpk_strbuf_fill(out, ']', s.count ? (size_t)s.ndim : 0);
}

static enum mpk_code render(struct mpk_strbuf *out, struct mpk_runtime *runtime,
			    const struct mpk_value *v, unsigned depth, struct mpk_error *err)
{
	struct mpk_tensor *host;

	switch (v->kind) {
	case MPK_VALUE_NONE:
		mpk_strbuf_puts(out, "None");
		return MPK_OK;
	case MPK_VALUE_TENSOR:
		if (mpk_dldevice_is_host(v->tensor->dl.device)) {
			MPK_TRY(mpk_tensor_compact(v->tensor, &host, err));
		} else {
			MPK_TRY(mpk_devices_copy_to_host(mpk_runtime_devices(runtime),
							 &v->tensor->dl, &host, err));
		}
		render_tensor(out, host);
		mpk_tensor_drop(host);
		return MPK_OK;
	case MPK_VALUE_ARRAY:
		mpk_strbuf_putc(out, '(');
		for (size_t i = 0; i < v->array->count && depth < 64; i++) {
			mpk_strbuf_puts(out, i ? ", " : "");
			MPK_TRY(render(out, runtime, &v->array->items[i], depth + 1, err));
		}
		mpk_strbuf_putc(out, ')');
		return MPK_OK;
	case MPK_VALUE_SHAPE:
		mpk_strbuf_putc(out, '(');
		for (size_t i = 0; i < v->shape->ndim; i++)
			mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", v->shape->extents[i]);
		mpk_strbuf_puts(out, v->shape->ndim == 1 ? ",)" : ")");
		return MPK_OK;
	case MPK_VALUE_INT:
		mpk_strbuf_printf(out, "%" PRId64, v->integer);
		return MPK_OK;
	case MPK_VALUE_BOOL:
		mpk_strbuf_puts(out, v->boolean ? "True" : "False");
		return MPK_OK;
	case MPK_VALUE_FLOAT:
		mpk_element_print(out, (struct mpk_dtype){ MPK_DTYPE_FLOAT, 64, 1 }, &v->real);
		return MPK_OK;
	case MPK_VALUE_STR:
		mpk_strbuf_put(out, v->text->data, mpk_value_text_span(v).len);
		return MPK_OK;
	case MPK_VALUE_BYTES:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	mpk_strbuf_puts(out, mpk_value_kind_name(v->kind));
	return MPK_OK;
}

/* --- the sentence -------------------------------------------------------------------------------- */

/* "{}" and "{1}" stand for values, "{{" for a brace. A format after ':' or '!' is ignored. */
static enum mpk_code put_format(struct mpk_strbuf *out, struct mpk_runtime *runtime,
				struct mpk_span format, const struct mpk_value *args, size_t count,
				struct mpk_error *err)
{
	size_t next = 0;

	for (size_t i = 0; i < format.len; i++) {
		const uint8_t c = format.data[i];
		const uint8_t after = i + 1 < format.len ? format.data[i + 1] : 0;
		size_t at = 0;
		bool is_numbered;

		if ((c != '{' && c != '}') || c == after) {
			mpk_strbuf_putc(out, (char)c);
			i += (c == '{' || c == '}') && c == after;
			continue;
		}
		is_numbered = c == '{' && after >= '0' && after <= '9';
		for (i++; i < format.len && format.data[i] >= '0' && format.data[i] <= '9'; i++)
			at = at < count ? at * 10 + (size_t)(format.data[i] - '0') : at;
		while (i < format.len && format.data[i] != '}')
			i++;
		if (!is_numbered)
			at = next++;
		if (c == '}' || i == format.len)
			return mpk_relax_raise(err, "ValueError",
					       "relax.run.print: a single brace in the format");
		if (at >= count)
			return mpk_relax_raise(err, "IndexError",
					       "relax.run.print: the format has value %zu, of %zu",
					       at, count);
		MPK_TRY(render(out, runtime, &args[at], 0, err));
	}
	return MPK_OK;
}

/* Prints a format with its values, or only the values if the format is empty. */
static enum mpk_code put_values(struct mpk_strbuf *out, const struct mpk_value *args, size_t count,
				const char *between, struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;

	if (mpk_value_text_span(&args[0]).len)
		MPK_TRY(put_format(out, runtime, mpk_value_text_span(&args[0]), args + 1, count - 1,
				   err));
	for (size_t i = 1; i < count && !mpk_value_text_span(&args[0]).len; i++) {
		mpk_strbuf_puts(out, i > 1 ? between : "");
		MPK_TRY(render(out, runtime, &args[i], 0, err));
	}
	return MPK_OK;
}

/* --- builtins ------------------------------------------------------------------------------------- */

/* Returns the options with the log function; NULL if there is none. */
static const struct mpk_runtime_options *listener(struct mpk_runtime *runtime)
{
	const struct mpk_runtime_options *options = runtime ? mpk_runtime_options(runtime) : NULL;

	return options && options->log ? options : NULL;
}

/* Arguments: (place in the source, tensor) */
static enum mpk_code debug_print(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.debug_print";
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	const struct mpk_runtime_options *options = listener(runtime);
	char dtype[MPK_DTYPE_TEXT];
	struct mpk_tensor *t;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(mpk_relax_tensor(name, args, 1, &t, err));
	if (!options)
		return MPK_OK;
	MPK_TRY(render(&text, runtime, &args[0], 0, err));
	mpk_strbuf_puts(&text, ": shape = (");
	for (int32_t i = 0; i < t->dl.ndim; i++)
		mpk_strbuf_printf(&text, "%s%" PRId64, i ? ", " : "", t->dl.shape[i]);
	mpk_strbuf_printf(&text, "%s, dtype = %s, data =\n", t->dl.ndim == 1 ? ",)" : ")",
			  mpk_dtype_print(t->dl.dtype, dtype));
	MPK_TRY(render(&text, runtime, &args[1], 0, err));
	MPK_TRY_ALLOC(!text.failed, err);
	options->log(options->log_user, mpk_strbuf_text(&text));
	return MPK_OK;
}

/* Arguments: (format, values...) */
static enum mpk_code print_values(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "relax.run.print";
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_runtime_options *options = listener(mpk_context_get().runtime);

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 1, SIZE_MAX, err));
	if (args[0].kind != MPK_VALUE_STR)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 is %s, not a format", name,
				       mpk_value_kind_name(args[0].kind));
	if (!options)
		return MPK_OK;
	MPK_TRY(put_values(&text, args, count, " ", err));
	MPK_TRY_ALLOC(!text.failed, err);
	options->log(options->log_user, mpk_strbuf_text(&text));
	return MPK_OK;
}

/* Arguments: (condition, format, values...) */
static enum mpk_code assert_op(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "relax.run.assert_op";
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_value condition = { 0 };

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, SIZE_MAX, err));
	/* reads a condition as a branch does: a tensor or a number */
	MPK_TRY(mpk_relax_builtin_find(mpk_span_str("vm.builtin.read_if_cond"))
			->call(args, 1, &condition, err));
	if (condition.boolean)
		return MPK_OK;
	if (args[1].kind == MPK_VALUE_STR)
		MPK_TRY(put_values(&text, args + 1, count - 1, ", ", err));
	MPK_TRY_ALLOC(!text.failed, err);
	return mpk_relax_raise(err, "AssertionError", "%s",
			       text.len ? mpk_strbuf_text(&text) : "Assertion Failed");
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_print(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_print_builtins = { rows, MPK_ARRAY_COUNT(rows) };
