/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - "A: in float32[n, 4]": one parameter, with the column of what is wrong in it */
#include "launch/launch.h"

#include <string.h>

#include "text/escape.h"

/* The text stands behind an opening quote. */
static struct mpk_scan scan_of(const struct mpk_toml_str *m)
{
	return (struct mpk_scan){ .text = mpk_span_of(m->text, m->len),
				  .line = m->pos.line,
				  .column = m->pos.column + 1 };
}

static bool qualifier(struct mpk_launch_param *p, struct mpk_span word)
{
	if (mpk_span_is(word, "in"))
		p->direction = MPK_LAUNCH_IN;
	else if (mpk_span_is(word, "out"))
		p->direction = MPK_LAUNCH_OUT;
	else if (mpk_span_is(word, "inout"))
		p->direction = MPK_LAUNCH_INOUT;
	else if (mpk_span_is(word, "optional"))
		p->optional = true;
	else
		return false;
	return true;
}

/* What a buffer can hold and a caller can pass: whole bytes, or bool. */
static bool is_element(struct mpk_dtype t)
{
	bool whole = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;

	return t.code != MPK_DTYPE_HANDLE && (whole || mpk_dtype_is_bool(t));
}

static enum mpk_code wrong_element(const struct mpk_scan *s, size_t at, struct mpk_span word,
				   struct mpk_error *err)
{
	const char *meant = mpk_dtype_suggest(word);
	struct mpk_dtype type;

	/* a handle is what kernels take; a parameter of a function is a tensor or a scalar */
	if (!meant || !mpk_dtype_parse(mpk_span_str(meant), &type) || !is_element(type))
		return mpk_scan_fail(s, at, err, "'%s' is no element type", MPK_QUOTE(word));
	return mpk_scan_fail(s, at, err, "'%s' is no element type; did you mean '%s'?",
			     MPK_QUOTE(word), meant);
}

static enum mpk_code scan_dtype(struct mpk_scan *s, struct mpk_launch_param *p,
				struct mpk_error *err)
{
	struct mpk_span word;
	size_t at;

	do {
		(void)mpk_scan_space(s);
		at = s->at;
		word = mpk_scan_name(s);
	} while (word.len && qualifier(p, word));
	if (!word.len)
		return mpk_scan_fail(s, at, err, "expected a type such as float32");
	if (mpk_dtype_parse(word, &p->dtype) && is_element(p->dtype))
		return MPK_OK;
	return wrong_element(s, at, word, err);
}

static enum mpk_code scan_dims(struct mpk_scan *s, struct mpk_arena *arena,
			       struct mpk_launch_param *p, struct mpk_error *err)
{
	const struct mpk_expr **dims = mpk_arena_array(arena, MPK_LAUNCH_RANK_MAX, sizeof *dims);
	struct mpk_span *texts = mpk_arena_array(arena, MPK_LAUNCH_RANK_MAX, sizeof *texts);

	MPK_TRY_ALLOC(dims && texts, err);
	p->dims = dims;
	p->dim_texts = texts;
	p->is_tensor = true;
	if (mpk_scan_char(s, ']'))
		return MPK_OK;
	do {
		if (p->rank == MPK_LAUNCH_RANK_MAX)
			return mpk_scan_fail(s, s->at, err, "more than %d dimensions",
					     MPK_LAUNCH_RANK_MAX);
		(void)mpk_scan_space(s);
		size_t from = s->at;
		MPK_TRY(mpk_expr_scan(s, arena, &dims[p->rank], err));
		texts[p->rank++] = mpk_span_of(s->text.data + from, s->at - from);
	} while (mpk_scan_char(s, ','));
	if (!mpk_scan_char(s, ']'))
		return mpk_scan_fail(s, s->at, err, "expected ',' or ']'");
	return MPK_OK;
}

/* The rest of a parameter whose type is none: its shape gives names that others need. */
static void scan_untyped(struct mpk_scan *s, struct mpk_arena *arena, struct mpk_launch_param *p,
			 struct mpk_launch_param *out)
{
	p->dtype = (struct mpk_dtype){ 0 };
	if (mpk_scan_char(s, '[') && scan_dims(s, arena, p, NULL) == MPK_OK && !mpk_scan_space(s))
		*out = *p;
}

enum mpk_code mpk_launch_param_parse(const struct mpk_toml_str *text, struct mpk_arena *arena,
				     struct mpk_launch_param *out, struct mpk_error *err)
{
	struct mpk_scan s = scan_of(text);
	struct mpk_launch_param p = { .pos = text->pos };
	enum mpk_code code;

	p.name = mpk_scan_name(&s);
	if (!p.name.len)
		return mpk_scan_fail(&s, s.at, err,
				     "expected \"NAME: TYPE\" or \"NAME: TYPE[SHAPE]\"");
	if (!mpk_scan_char(&s, ':'))
		return mpk_scan_fail(&s, s.at, err, "expected ':' after '%s'", MPK_QUOTE(p.name));
	code = scan_dtype(&s, &p, err);
	if (code != MPK_OK) {
		scan_untyped(&s, arena, &p, out);
		return code;
	}
	if (mpk_scan_char(&s, '['))
		MPK_TRY(scan_dims(&s, arena, &p, err));
	if (mpk_scan_space(&s))
		return mpk_scan_fail(&s, s.at, err, "unexpected '%c'", mpk_scan_space(&s));
	if (p.dtype.lanes != 1)
		return mpk_scan_fail(&s, 0, err, "vector element types cannot be passed");
	if (!p.is_tensor && (p.optional || p.direction != MPK_LAUNCH_INOUT))
		return mpk_scan_fail(&s, 0, err,
				     "'%s' is a scalar: in, out and optional are for tensors",
				     MPK_QUOTE(p.name));
	*out = p;
	return MPK_OK;
}
