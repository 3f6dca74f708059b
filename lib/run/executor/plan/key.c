/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/plan/internal/key.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static bool put(struct mpk_plan_key *key, int64_t word)
{
	if (key->count == key->cap &&
	    !mpk_vec_reserve(&key->words, &key->cap, key->count + 1, sizeof key->words[0]))
		return false;
	key->words[key->count++] = word;
	return true;
}

static bool put_extents(struct mpk_plan_key *key, const int64_t *extents, size_t ndim)
{
	for (size_t i = 0; i < ndim; i++)
		if (!put(key, extents[i]))
			return false;
	return true;
}

static int64_t word_of(struct mpk_dtype type)
{
	int64_t word = 0;

	memcpy(&word, &type, sizeof type);
	return word;
}

/* Whether a tensor has the strides that ours have. One of one row is compact with any, and a kernel may
 * refuse some. */
static bool has_own_strides(const struct mpk_dltensor *dl)
{
	int64_t stride = 1;

	for (int32_t i = dl->ndim; i-- > 0;) {
		if (dl->strides[i] != stride)
			return false;
		if (__builtin_mul_overflow(stride, dl->shape[i], &stride))
			return false;
	}
	return true;
}

static bool put_tensor(struct mpk_plan_key *key, const struct mpk_dltensor *dl)
{
	return dl->strides && has_own_strides(dl) && put(key, word_of(dl->dtype) << 8 | dl->ndim) &&
	       put(key, (int64_t)dl->device.type << 32 | dl->device.id) &&
	       put_extents(key, dl->shape, (size_t)dl->ndim);
}

static bool put_value(struct mpk_plan_key *key, const struct mpk_value *v, unsigned depth)
{
	if (depth == MPK_PLAN_NEST_MAX || !put(key, v->kind))
		return false;
	switch (v->kind) {
	case MPK_VALUE_NONE:
		return true;
	case MPK_VALUE_BOOL:
		return put(key, v->boolean);
	case MPK_VALUE_INT:
		return put(key, word_of(v->type)) && put(key, v->integer);
	case MPK_VALUE_SHAPE:
		return put(key, (int64_t)v->shape->ndim) &&
		       put_extents(key, v->shape->extents, v->shape->ndim);
	case MPK_VALUE_TENSOR:
		return put_tensor(key, &v->tensor->dl);
	case MPK_VALUE_ARRAY:
		if (!put(key, v->array->tag) || !put(key, (int64_t)v->array->count))
			return false;
		for (size_t i = 0; i < v->array->count; i++)
			if (!put_value(key, &v->array->items[i], depth + 1))
				return false;
		return true;
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_STR:
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
	return false;
}

bool mpk_plan_key_make(struct mpk_plan_key *key, size_t function, const struct mpk_value *args,
		       size_t count)
{
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);

	key->count = 0;
	if (!put(key, (int64_t)function))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!put_value(key, &args[i], 0))
			return false;
	for (size_t i = 0; i < key->count; i++) {
		hash = (hash ^ (uint64_t)key->words[i]) * UINT64_C(0xbf58476d1ce4e5b9);
		hash ^= hash >> 29;
	}
	key->hash = hash;
	return true;
}

bool mpk_plan_key_copy(struct mpk_plan_key *to, const struct mpk_plan_key *from)
{
	*to = (struct mpk_plan_key){ .hash = from->hash };
	if (!mpk_vec_reserve(&to->words, &to->cap, from->count, sizeof to->words[0]))
		return false;
	memcpy(to->words, from->words, from->count * sizeof to->words[0]);
	to->count = from->count;
	return true;
}

bool mpk_plan_key_equal(const struct mpk_plan_key *a, const struct mpk_plan_key *b)
{
	return a->hash == b->hash && a->count == b->count &&
	       memcmp(a->words, b->words, a->count * sizeof a->words[0]) == 0;
}

void mpk_plan_key_fini(struct mpk_plan_key *key)
{
	free(key->words);
}
