/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - what a language model's library says of itself to an engine */
#include "model/metadata.h"

#include <inttypes.h>

#include "dtype/dtype.h"
#include "text/escape.h"
#include "text/json_read.h"
#include "text/phrase.h"
#include "text/table.h"

/* --- where the text is ---------------------------------------------------------------------------- */

/* The one text among the operands of a function that only returns it; empty: there is none, or two. */
static struct mpk_span text_in_byte_code(const struct mpk_relax *x, const struct mpk_relax_func *f)
{
	enum { INSTRUCTIONS_MAX = 16 };
	struct mpk_span found = { 0 };
	struct mpk_relax_instr instr;

	if (f->start < 0 || f->end - f->start > INSTRUCTIONS_MAX)
		return found;
	for (int64_t i = f->start; i < f->end; i++) {
		if (mpk_relax_instr(x, (size_t)i, &instr, NULL) != MPK_OK)
			return (struct mpk_span){ 0 };
		for (size_t k = 0; k < instr.arg_count; k++) {
			struct mpk_relax_arg arg = mpk_relax_arg(&instr, k);

			if (arg.kind != MPK_RELAX_ARG_CONST || arg.value < 0 ||
			    (uint64_t)arg.value >= x->const_count ||
			    x->consts[arg.value].kind != MPK_RELAX_STRING)
				continue;
			if (found.len)
				return (struct mpk_span){ 0 };
			found = x->consts[arg.value].u.string;
		}
	}
	return found;
}

/* Of a compiled function nobody can tell which constants it has; this text has keys of its own. */
static struct mpk_span text_of_compiled(const struct mpk_relax *x)
{
	struct mpk_span found = { 0 };
	struct mpk_json_value v;

	for (size_t i = 0; i < x->const_count; i++) {
		struct mpk_span text = x->consts[i].u.string;

		if (x->consts[i].kind != MPK_RELAX_STRING || !text.len || text.data[0] != '{' ||
		    mpk_json_read(text, &v, NULL) != MPK_OK ||
		    !mpk_json_value_get(v, "quantization").text.len)
			continue;
		if (found.len)
			return (struct mpk_span){ 0 };
		found = text;
	}
	return found;
}

/* The text of an executable; empty: it has none. */
static struct mpk_span find_text(const struct mpk_view_node *n)
{
	const struct mpk_relax *x = mpk_view_relax(n);
	size_t i = 0;

	if (!x)
		return (struct mpk_span){ 0 };
	while (i < x->func_count && (!mpk_span_is(x->funcs[i].name, "_metadata") ||
				     x->funcs[i].kind == MPK_RELAX_PACKED))
		i++;
	if (i == x->func_count)
		return (struct mpk_span){ 0 };
	return x->funcs[i].kind == MPK_RELAX_VM ? text_in_byte_code(x, &x->funcs[i])
						: text_of_compiled(x);
}

/* --- what it says ---------------------------------------------------------------------------------- */

static int64_t metadata_number(struct mpk_json_value v)
{
	int64_t n;

	return mpk_json_value_i64(v, &n) ? n : INT64_MIN;
}

/* Extents may be names. */
static uint64_t bytes_of_param(struct mpk_json_value param, struct mpk_arena *arena)
{
	struct mpk_json_items shape = mpk_json_items(mpk_json_value_get(param, "shape"));
	struct mpk_json_value extent;
	struct mpk_dtype dtype;
	const char *text = NULL;
	uint64_t count = 1;
	int64_t n;

	if (mpk_json_value_text(mpk_json_value_get(param, "dtype"), arena, &text, NULL) != MPK_OK ||
	    !text || !mpk_dtype_parse(mpk_span_str(text), &dtype))
		return 0;
	while (mpk_json_next(&shape, &extent))
		if (!mpk_json_value_i64(extent, &n) || n < 0 ||
		    __builtin_mul_overflow(count, (uint64_t)n, &count))
			return 0;
	return count > UINT64_MAX / 64 / 8
		       ? 0
		       : (count * dtype.bits * (dtype.lanes ? dtype.lanes : 1) + 7) / 8;
}

static enum mpk_code read_memory(struct mpk_json_value memory, struct mpk_arena *arena,
				 struct mpk_metadata *out, struct mpk_error *err)
{
	struct mpk_json_items items = mpk_json_items(memory);
	struct mpk_metadata_memory *list;
	struct mpk_json_value v;
	int64_t bytes;

	if (mpk_json_value_type(memory) != MPK_JSON_OBJECT)
		return MPK_OK;
	list = mpk_arena_array(arena, mpk_json_value_count(memory) + 1, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	out->memory = list;
	while (mpk_json_next(&items, &v)) {
		struct mpk_metadata_memory *m = &list[out->memory_count];

		if (!mpk_json_value_i64(v, &bytes) || bytes < 0)
			continue;
		MPK_TRY(mpk_json_value_text(items.key, arena, &m->function, err));
		m->bytes = (uint64_t)bytes;
		out->memory_count++;
	}
	return MPK_OK;
}

static enum mpk_code read_text(struct mpk_json_value v, struct mpk_arena *arena,
			       struct mpk_metadata *out, struct mpk_error *err)
{
	struct mpk_json_items params = mpk_json_items(mpk_json_value_get(v, "params"));
	struct mpk_json_value param;
	const struct {
		const char *key, **text;
	} texts[] = { { "model_type", &out->model_type },
		      { "quantization", &out->quantization },
		      { "kv_state_kind", &out->kv_state_kind } };
	const struct {
		const char *key;
		int64_t *number;
	} numbers[] = { { "context_window_size", &out->context_window_size },
			{ "sliding_window_size", &out->sliding_window_size },
			{ "attention_sink_size", &out->attention_sink_size },
			{ "prefill_chunk_size", &out->prefill_chunk_size },
			{ "max_batch_size", &out->max_batch_size },
			{ "tensor_parallel_shards", &out->tensor_parallel_shards },
			{ "pipeline_parallel_stages", &out->pipeline_parallel_stages } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(texts); i++)
		MPK_TRY(mpk_json_value_text(mpk_json_value_get(v, texts[i].key), arena,
					    texts[i].text, err));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbers); i++)
		*numbers[i].number = metadata_number(mpk_json_value_get(v, numbers[i].key));
	out->disaggregation = mpk_span_is(mpk_json_value_get(v, "disaggregation").text, "true");
	while (mpk_json_next(&params, &param)) {
		out->param_count++;
		if (__builtin_add_overflow(out->param_bytes, bytes_of_param(param, arena),
					   &out->param_bytes))
			out->param_bytes = 0;
	}
	return read_memory(mpk_json_value_get(v, "memory_usage"), arena, out, err);
}

enum mpk_code mpk_view_metadata(const struct mpk_view *view, const struct mpk_metadata **out,
				struct mpk_error *err)
{
	struct mpk_metadata *made;
	struct mpk_json_value v;
	struct mpk_span text;

	*out = NULL;
	for (size_t i = 0; i < view->count; i++) {
		text = find_text(&view->nodes[i]);
		if (!text.len || mpk_json_read(text, &v, NULL) != MPK_OK ||
		    mpk_json_value_type(v) != MPK_JSON_OBJECT)
			continue;
		made = mpk_arena_alloc(view->arena, sizeof *made);
		MPK_TRY_ALLOC(made, err);
		*made = (struct mpk_metadata){ .path = view->nodes[i].path };
		MPK_TRY(read_text(v, view->arena, made, err));
		*out = made;
		return MPK_OK;
	}
	return MPK_OK;
}

/* --- shown ----------------------------------------------------------------------------------------- */

/* ", context of 512 tokens", where it is said. */
static void put_number(int64_t n, const char *before, const char *after, bool *any,
		       struct mpk_strbuf *out)
{
	if (n <= 0)
		return;
	mpk_strbuf_printf(out, "%s%s%" PRId64 "%s", *any ? ", " : "", before, n, after);
	*any = true;
}

static void metadata_put_word(const char *text, const char *before, bool *any,
			      struct mpk_strbuf *out)
{
	if (!text)
		return;
	mpk_strbuf_printf(out, "%s%s", *any ? ", " : "", before);
	mpk_escape(out, mpk_span_str(text));
	*any = true;
}

static void metadata_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_metadata *m;
	bool any = false;

	(void)style;
	if (mpk_view_metadata(what, &m, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	if (!m)
		return;
	mpk_strbuf_puts(out, "  model      ");
	metadata_put_word(m->model_type, "", &any, out);
	metadata_put_word(m->quantization, "quantization ", &any, out);
	put_number(m->context_window_size, "a context of ", " tokens", &any, out);
	put_number(m->sliding_window_size, "a window of ", " tokens", &any, out);
	put_number(m->attention_sink_size, "", " of them sinks", &any, out);
	put_number(m->prefill_chunk_size, "", " tokens in a pass", &any, out);
	put_number(m->max_batch_size, "batches of ", "", &any, out);
	if (m->tensor_parallel_shards > 1)
		put_number(m->tensor_parallel_shards, "", " shards", &any, out);
	if (m->pipeline_parallel_stages > 1)
		put_number(m->pipeline_parallel_stages, "", " stages", &any, out);
	if (m->param_count) {
		mpk_strbuf_puts(out, any ? "; " : "");
		mpk_put_count(out, m->param_count, "weight");
		mpk_strbuf_printf(out, " of %s", MPK_SIZE(m->param_bytes));
		any = true;
	}
	for (size_t i = 0; i < m->memory_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : any ? "; memory: " : "memory: ");
		mpk_escape(out, mpk_span_str(m->memory[i].function));
		mpk_strbuf_printf(out, " %s", MPK_SIZE(m->memory[i].bytes));
		any = true;
	}
	mpk_put_more(out, m->memory_count);
	mpk_strbuf_puts(out, any ? "\n" : "says nothing of itself\n");
}

static void put_json_number(struct mpk_json *j, struct mpk_json_at *at, const char *key, int64_t n)
{
	if (n != INT64_MIN)
		mpk_json_i64(j, at, key, n);
}

static void metadata_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	const struct mpk_metadata *m;
	struct mpk_json_at *o, *list, *item;

	if (mpk_view_metadata(view, &m, NULL) != MPK_OK || !m)
		return;
	o = mpk_json_object(j, at, "metadata");
	mpk_json_text(j, o, "path", m->path);
	mpk_json_text(j, o, "model_type", m->model_type);
	mpk_json_text(j, o, "quantization", m->quantization);
	mpk_json_text(j, o, "kv_state_kind", m->kv_state_kind);
	put_json_number(j, o, "context_window_size", m->context_window_size);
	put_json_number(j, o, "sliding_window_size", m->sliding_window_size);
	put_json_number(j, o, "attention_sink_size", m->attention_sink_size);
	put_json_number(j, o, "prefill_chunk_size", m->prefill_chunk_size);
	put_json_number(j, o, "max_batch_size", m->max_batch_size);
	put_json_number(j, o, "tensor_parallel_shards", m->tensor_parallel_shards);
	put_json_number(j, o, "pipeline_parallel_stages", m->pipeline_parallel_stages);
	mpk_json_bool(j, o, "disaggregation", m->disaggregation);
	mpk_json_u64(j, o, "params", m->param_count);
	mpk_json_u64(j, o, "param_bytes", m->param_bytes);
	list = mpk_json_array(j, o, "memory");
	for (size_t i = 0; i < m->memory_count; i++) {
		item = mpk_json_object(j, list, NULL);
		mpk_json_text(j, item, "function", m->memory[i].function);
		mpk_json_u64(j, item, "bytes", m->memory[i].bytes);
	}
}

const struct mpk_answer mpk_answer_metadata = { .line = metadata_line, .json = metadata_json };
