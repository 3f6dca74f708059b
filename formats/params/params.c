/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - parameter files, and the lists of tensors that executors' payloads hold as well
 *
 * Names come first and tensors after them, so the names' count bounds the tensors' before memory is
 * asked for. Written content may be a rope of spans: it is then copied from where it lies. */
#include "params/params.h"

#include <inttypes.h>

#include "text/escape.h"

/* --- Parameter files; the tensor lists in them stand in executors' payloads as well --- */

enum mpk_code mpk_tensors_read(struct mpk_cursor *c, struct mpk_strs names, uint64_t count,
			       struct mpk_arena *arena, const struct mpk_tensor_record **out,
			       struct mpk_error *err)
{
	struct mpk_tensor_record *tensors;

	if (count != names.count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%" PRIu64 " tensors for %zu names", count, names.count);
	if (count > mpk_cursor_left(c) / MPK_TENSOR_MIN)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
				       "%" PRIu64 " tensors do not fit in the %zu bytes left",
				       count, mpk_cursor_left(c));
	tensors = mpk_arena_array(arena, names.count, sizeof *tensors);
	MPK_TRY_ALLOC(tensors, err);
	for (size_t i = 0; i < names.count; i++) {
		enum mpk_code code = mpk_tensor_read(c, arena, &tensors[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "parameter \"%s\": ", MPK_QUOTE(names.items[i]));
			return code;
		}
	}
	*out = tensors;
	return MPK_OK;
}

enum mpk_code mpk_params_read(struct mpk_span file, struct mpk_arena *arena, struct mpk_params *out,
			      struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(file, 0, "file");
	struct mpk_params p = { 0 };
	uint64_t magic, count;

	MPK_TRY(mpk_read_u64(&c, "parameter file", &magic, err));
	if (magic != MPK_PARAMS_MAGIC)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c.space, 0,
				       "not a parameter file: magic number %#" PRIx64, magic);
	MPK_TRY(mpk_read_u64(&c, "parameter file", &p.reserved, err));
	MPK_TRY(mpk_read_strs(&c, "parameter names", arena, &p.names, err));
	MPK_TRY(mpk_read_u64(&c, "tensor count", &count, err));
	p.tensors_off = mpk_cursor_offset(&c);
	MPK_TRY(mpk_tensors_read(&c, p.names, count, arena, &p.tensors, err));
	if (mpk_cursor_left(&c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, c.space, mpk_cursor_offset(&c),
				       "%zu bytes behind the last tensor", mpk_cursor_left(&c));
	*out = p;
	return MPK_OK;
}

size_t mpk_params_find(const struct mpk_params *p, struct mpk_span name)
{
	size_t i = 0;

	while (i < p->names.count && !mpk_span_equal(p->names.items[i], name))
		i++;
	return i;
}

void mpk_tensors_write(struct mpk_rope *r, const struct mpk_params *p)
{
	if (p->content) {
		mpk_rope_put_rope(r, p->content);
		return;
	}
	for (size_t i = 0; i < p->names.count; i++)
		mpk_tensor_write(r, &p->tensors[i]);
}

void mpk_params_write(struct mpk_rope *r, const struct mpk_params *p)
{
	mpk_rope_put_u64(r, MPK_PARAMS_MAGIC);
	mpk_rope_put_u64(r, p->reserved);
	mpk_rope_put_strs(r, p->names);
	mpk_rope_put_u64(r, p->names.count);
	mpk_tensors_write(r, p);
}
