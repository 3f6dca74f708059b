/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - results that later calls of the same process take as arguments, by name */
#include "session/internal/kept.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "session/internal/reply.h"
#include "text/escape.h"

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

enum mpk_code mpk_kept_get(const struct mpk_kept *kept, struct mpk_span text, struct mpk_value *out,
			   struct mpk_error *err)
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
