/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - what inputs and outputs are to a caller, and what he says of them himself */
#include "library/internal/library.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"

static enum mpkr_kind public_kind(const struct mpk_type *type)
{
	switch (type->kind) {
	case MPK_TYPE_ANY:
	case MPK_TYPE_NAMED:
		break;
	case MPK_TYPE_TENSOR:
		return MPKR_KIND_TENSOR;
	case MPK_TYPE_SHAPE:
		return MPKR_KIND_SHAPE;
	case MPK_TYPE_SCALAR:
		return MPKR_KIND_NUMBER;
	case MPK_TYPE_STRING:
		return MPKR_KIND_TEXT;
	case MPK_TYPE_TUPLE:
	case MPK_TYPE_FUNCTION:
		return MPKR_KIND_OTHER;
	}
	return MPKR_KIND_ANY;
}

enum mpkr_kind mpk_run_kind(const struct mpkr_function *f, size_t i)
{
	enum mpkr_kind kind = i < f->input_count ? public_kind(f->inputs[i].type) : MPKR_KIND_ANY;

	if (kind == MPKR_KIND_ANY && i < f->expected_count)
		return (enum mpkr_kind)f->expected[i];
	return kind;
}

static void put_extents(const struct mpk_type *type, struct mpkr_type *out)
{
	if (!type->ranked || type->ndim > MPKR_RANK_MAX)
		return;
	out->ndim = (int32_t)type->ndim;
	for (size_t i = 0; i < type->ndim; i++)
		out->shape[i] = mpk_type_symbol(type, i).len ? -1 : type->shape[i];
}

static int describe(const struct mpk_run_leaf *leaf, enum mpkr_kind kind, struct mpkr_type *out)
{
	*out = (struct mpkr_type){
		.kind = kind,
		.name = leaf->name,
		.dtype = mpk_run_public_type(leaf->type->dtype),
		.ndim = -1,
	};
	put_extents(leaf->type, out);
	return MPKR_OK;
}

int mpkr_input(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->input_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->inputs[i], mpk_run_kind(f, i), out);
}

int mpkr_output(const mpkr_function *f, size_t i, struct mpkr_type *out)
{
	if (!f || !out || i >= f->output_count)
		return MPKR_E_NOT_FOUND;
	return describe(&f->outputs[i], public_kind(f->outputs[i].type), out);
}

static enum mpk_code expect_kind(struct mpkr_function *f, size_t i, enum mpkr_kind kind,
				 struct mpk_error *err)
{
	uint8_t *grown;

	if ((unsigned)kind > MPKR_KIND_TEXT)
		return mpk_fail(err, MPK_E_USAGE, "a kind that no input can have: %d", (int)kind);
	if (i >= MPK_ARGS_MAX)
		return mpk_fail(err, MPK_E_USAGE, "input %zu: at most %d are passed", i,
				MPK_ARGS_MAX);
	if (i < f->input_count && public_kind(f->inputs[i].type) != MPKR_KIND_ANY) {
		if (kind == public_kind(f->inputs[i].type))
			return MPK_OK;
		return mpk_fail(err, MPK_E_USAGE, "the file says what input %zu is", i);
	}
	if (i >= f->expected_count) {
		grown = realloc(f->expected, i + 1);
		MPK_TRY_ALLOC(grown, err);
		memset(grown + f->expected_count, MPKR_KIND_ANY, i + 1 - f->expected_count);
		f->expected = grown;
		f->expected_count = i + 1;
	}
	f->expected[i] = (uint8_t)kind;
	return MPK_OK;
}

int mpkr_expect(mpkr_function *f, size_t i, enum mpkr_kind kind, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (!f)
		(void)mpk_fail(&failure, MPK_E_USAGE, "a pointer that is needed is NULL");
	else if (expect_kind(f, i, kind, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}
