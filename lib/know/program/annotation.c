/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.c - a small reader of the types that TVMScript prints: R.Tensor, R.Tuple, R.Shape, R.Prim
 *
 * The texts are the only place where symbolic extents have names, so they are worth a reader. They may
 * be of any release or damaged: what is not understood becomes a type of which nothing is known, and
 * nothing here fails.
 */
#include "program/internal/program.h"

#include <string.h>

#include "base/num.h"

enum { NEST_MAX = 16, DIMENSIONS_MAX = 32, FIELDS_MAX = 4096 };

struct reader {
	struct mpk_span rest;
	struct mpk_arena *arena;
};

/* Whether the rest begins with a word, which is then read. */
static bool annotation_take(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (r->rest.len < len || memcmp(r->rest.data, word, len) != 0)
		return false;
	r->rest = mpk_span_of(r->rest.data + len, r->rest.len - len);
	return true;
}

static void annotation_skip_blanks(struct reader *r)
{
	while (annotation_take(r, " "))
		;
}

/* What comes before the first of the stops that is not within brackets. */
static struct mpk_span take_item(struct reader *r, const char *stops)
{
	const uint8_t *start = r->rest.data;
	unsigned depth = 0;
	size_t i = 0;

	for (; i < r->rest.len; i++) {
		char c = (char)start[i];

		if (depth == 0 && c && strchr(stops, c))
			break;
		/* an extent may itself be a call: "T.max(n, 4)" is one item */
		depth += c == '(' || c == '[';
		depth -= depth && (c == ')' || c == ']');
	}
	r->rest = mpk_span_of(start + i, r->rest.len - i);
	return mpk_span_of(start, i);
}

static struct mpk_span trim(struct mpk_span s)
{
	while (s.len && s.data[0] == ' ')
		s = mpk_span_of(s.data + 1, s.len - 1);
	while (s.len && s.data[s.len - 1] == ' ')
		s.len--;
	return s;
}

/* --- extents ------------------------------------------------------------------------------- */

/* "b * T.int64(2)" is "b * 2". */
static struct mpk_span without_wrappers(struct mpk_span text, struct mpk_arena *arena)
{
	static const char *const wrappers[] = { "T.int64(", "T.int32(" };
	struct reader r = { text, arena };
	char *out = mpk_arena_alloc(arena, text.len + 1);
	size_t len = 0;

	while (out && r.rest.len) {
		if (annotation_take(&r, wrappers[0]) || annotation_take(&r, wrappers[1])) {
			struct mpk_span inner = take_item(&r, ")");

			memcpy(out + len, inner.data, inner.len);
			len += inner.len;
			(void)annotation_take(&r, ")");
			continue;
		}
		out[len++] = (char)r.rest.data[0];
		r.rest = mpk_span_of(r.rest.data + 1, r.rest.len - 1);
	}
	return out ? mpk_span_of(out, len) : text;
}

/* "n, 4)": the extents up to the closing bracket. */
static bool read_extents(struct reader *r, const char *close, struct mpk_type *t)
{
	int64_t shape[DIMENSIONS_MAX] = { 0 };
	struct mpk_span symbols[DIMENSIONS_MAX] = { 0 };
	const char stops[] = { ',', close[0], '\0' };

	for (annotation_skip_blanks(r); !annotation_take(r, close); annotation_skip_blanks(r)) {
		struct mpk_span item = without_wrappers(trim(take_item(r, stops)), r->arena);

		if (t->ndim == DIMENSIONS_MAX || !item.len)
			return false;
		if (!mpk_parse_i64(item, &shape[t->ndim]))
			symbols[t->ndim] = item;
		t->ndim++;
		(void)annotation_take(r, ",");
	}
	t->ranked = true;
	t->shape = mpk_arena_keep(r->arena, shape, t->ndim, sizeof shape[0]);
	t->symbols = mpk_arena_keep(r->arena, symbols, t->ndim, sizeof symbols[0]);
	return t->shape && t->symbols;
}

/* --- types --------------------------------------------------------------------------------- */

static bool annotation_read_type(struct reader *r, unsigned depth, struct mpk_type *out);

/* "opencl:0:global", "llvm:-1:global": the kind of a target, a number, a memory. */
static int32_t read_vdevice(struct reader *r)
{
	static const struct {
		const char *target;
		int32_t device;
	} others[] = { { "llvm", MPK_DL_CPU }, { "c", MPK_DL_CPU }, { "nvptx", MPK_DL_CUDA } };
	struct mpk_span target = take_item(r, ":\"");
	int32_t device = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(others); i++)
		if (mpk_span_is(target, others[i].target))
			return others[i].device;
	(void)mpk_dl_device_find(target, &device);
	return device;
}

/* Whether it says a rank. */
static bool read_keyword(struct mpk_span item, struct mpk_type *t)
{
	struct reader r = { item, NULL };
	int64_t ndim;

	/* the place that a tensor is to be at */
	if (annotation_take(&r, "vdevice=\""))
		t->device = read_vdevice(&r);
	else if (annotation_take(&r, "dtype=\"") && r.rest.len &&
		 r.rest.data[r.rest.len - 1] == '"')
		(void)mpk_dtype_parse(mpk_span_of(r.rest.data, r.rest.len - 1), &t->dtype);
	else if (annotation_take(&r, "ndim=") && mpk_parse_i64(r.rest, &ndim) && ndim >= 0 &&
		 ndim <= DIMENSIONS_MAX && !t->ranked) {
		t->ndim = (size_t)ndim;
		return true;
	}
	return false;
}

/* Extents of which the number alone is known. */
static bool set_unknown_extents(struct mpk_arena *arena, struct mpk_type *t)
{
	struct mpk_span *symbols = mpk_arena_array(arena, t->ndim + 1, sizeof *symbols);
	int64_t *shape = mpk_arena_array(arena, t->ndim + 1, sizeof *shape);

	if (!symbols || !shape)
		return false;
	for (size_t i = 0; i < t->ndim; i++)
		symbols[i] = mpk_span_str("?");
	t->ranked = true;
	t->shape = shape;
	t->symbols = symbols;
	return true;
}

/* "(n, 4), dtype=\"float32\")", or what R.Shape takes */
static bool read_shaped(struct reader *r, const char *open, const char *close, struct mpk_type *t)
{
	bool has_rank = false;

	for (annotation_skip_blanks(r); !annotation_take(r, ")"); annotation_skip_blanks(r)) {
		if (annotation_take(r, open)) {
			if (!read_extents(r, close, t))
				return false;
		} else {
			has_rank |= read_keyword(trim(take_item(r, ",)")), t);
		}
		if (!annotation_take(r, ",") && !r->rest.len)
			return false;
	}
	return !has_rank || t->ranked || set_unknown_extents(r->arena, t);
}

static bool read_fields(struct reader *r, unsigned depth, struct mpk_type *t)
{
	struct mpk_param *fields = NULL;
	size_t cap = 0;

	for (annotation_skip_blanks(r); !annotation_take(r, ")"); annotation_skip_blanks(r)) {
		if (t->field_count == cap) {
			struct mpk_param *more =
				mpk_arena_array(r->arena, 2 * cap + 8, sizeof *more);

			/* the list grows by doubling, and arenas do not free: at most twice what
			 * is needed */
			if (!more || cap > FIELDS_MAX)
				return false;
			if (cap)
				memcpy(more, fields, cap * sizeof *more);
			fields = more;
			cap = 2 * cap + 8;
		}
		if (!annotation_read_type(r, depth + 1, &fields[t->field_count].type))
			return false;
		t->field_count++;
		if (!annotation_take(r, ",") && !r->rest.len)
			return false;
	}
	t->fields = fields;
	return true;
}

static void read_scalar(struct mpk_span inner, struct mpk_type *t)
{
	struct reader r = { trim(inner), NULL };

	if (annotation_take(&r, "\"") && r.rest.len)
		(void)mpk_dtype_parse(mpk_span_of(r.rest.data, r.rest.len - 1), &t->dtype);
	else if (annotation_take(&r, "value="))
		t->dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
}

static bool starts_with(struct mpk_span s, const char *word)
{
	return s.len >= strlen(word) && memcmp(s.data, word, strlen(word)) == 0;
}

static bool annotation_read_type(struct reader *r, unsigned depth, struct mpk_type *out)
{
	struct mpk_span item;

	*out = (struct mpk_type){ 0 };
	/* a text from strangers must not recurse without end */
	if (depth == NEST_MAX)
		return false;
	if (annotation_take(r, "R.Tensor")) {
		out->kind = MPK_TYPE_TENSOR;
		return !annotation_take(r, "(") || read_shaped(r, "(", ")", out);
	}
	if (annotation_take(r, "R.Shape")) {
		out->kind = MPK_TYPE_SHAPE;
		return !annotation_take(r, "(") || read_shaped(r, "[", "]", out);
	}
	if (annotation_take(r, "R.Tuple(") || annotation_take(r, "T.Tuple(")) {
		out->kind = MPK_TYPE_TUPLE;
		return read_fields(r, depth, out);
	}
	if (annotation_take(r, "R.Prim(")) {
		out->kind = MPK_TYPE_SCALAR;
		read_scalar(take_item(r, ")"), out);
		return annotation_take(r, ")");
	}
	item = take_item(r, ",)");
	if (starts_with(item, "R.Callable"))
		out->kind = MPK_TYPE_FUNCTION;
	else if (starts_with(item, "T.") &&
		 mpk_dtype_parse(mpk_span_of(item.data + 2, item.len - 2), &out->dtype))
		out->kind = MPK_TYPE_SCALAR; /* TVM 0.26: T.int64 */
	return true;                         /* R.Object, R.Any, and what may come */
}

/* --- the text ------------------------------------------------------------------------------ */

bool mpk_relax_annotation_read(struct mpk_span text, struct mpk_arena *arena,
			       struct mpk_relax_annotation *out)
{
	struct reader r = { text, arena };
	int64_t param = 0;

	*out = (struct mpk_relax_annotation){ 0 };
	if (!annotation_take(&r, "ErrorContext(fn="))
		return false;
	out->function = take_item(&r, ",");
	if (!annotation_take(&r, ", loc="))
		return false;
	out->is_return = annotation_take(&r, "return");
	if (!out->is_return) {
		if (!annotation_take(&r, "param[") || !mpk_parse_i64(take_item(&r, "]"), &param) ||
		    param < 0 || !annotation_take(&r, "], param="))
			return false;
		(void)take_item(&r, ",");
	}
	out->param = (size_t)param;
	if (!annotation_take(&r, ", annotation="))
		return false;
	if (!annotation_read_type(&r, 0, &out->type))
		out->type = (struct mpk_type){ 0 };
	return true;
}
