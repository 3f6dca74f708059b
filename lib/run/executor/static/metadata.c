/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - what a library that was compiled ahead of time says about itself, read from its memory
 *
 * get_c_metadata returns a pointer to structures in the library's own data, laid out by the compiler
 * (include/tvm/runtime/metadata_types.h of apache/tvm). The library may be damaged, so each pointer is
 * followed only where all that it leads to is within the library's segments, and what it leads to is
 * copied before it is looked at: nothing says that it is aligned.
 */
#include "executor/static/internal/static.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/segments.h"
#include "tensor/tensor.h"

enum { VERSION = 1 };

/* --- as the compiler lays them out: nothing here may change --------------------------------- */

struct c_tensor {
	const char *name;
	const void *shape; /* int64_t */
	int64_t ndim;
	struct mpk_dtype dtype;
};

struct c_constant {
	const char *name;
	int64_t offset;
	int64_t bytes;
	const void *data; /* a tensor record */
};

struct c_list {
	const void *items;
	int64_t count;
};

struct c_metadata {
	int64_t version;
	struct c_list inputs, outputs, workspaces; /* of struct c_tensor */
	struct c_list constants;                   /* of struct c_constant */
	const char *mod_name;
};

/* --- pointers ------------------------------------------------------------------------------- */

struct reader {
	const void *code;
	struct mpk_arena *arena;
	struct mpk_error *err;
};

/* One sentence for all: which pointer it is says enough. */
static enum mpk_code wrong(const struct reader *r, const char *what)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "metadata: %s leads out of the library's own data",
			what);
}

/* A copy of count objects: where they lie may be of any alignment. */
static enum mpk_code read_objects(const struct reader *r, const void *from, int64_t count,
				  size_t size, const char *what, void **out)
{
	/* the product must not wrap before it is compared with the room */
	if (count < 0 || (uint64_t)count > SIZE_MAX / size ||
	    (count && mpk_segments_room(r->code, from) < (uint64_t)count * size))
		return wrong(r, what);
	*out = mpk_arena_array(r->arena, (size_t)count + 1, size);
	if (!*out)
		return mpk_fail_nomem(r->err);
	if (count)
		memcpy(*out, from, (size_t)count * size);
	return MPK_OK;
}

/* A string with its NUL. */
static enum mpk_code metadata_read_text(const struct reader *r, const char *from, const char *what,
					struct mpk_span *out)
{
	size_t room = mpk_segments_room(r->code, from);
	const char *end = room ? memchr(from, '\0', room) : NULL;

	if (!end)
		return wrong(r, what);
	*out = mpk_span_of(from, (size_t)(end - from));
	return MPK_OK;
}

/* --- lists ---------------------------------------------------------------------------------- */

static enum mpk_code read_tensors(const struct reader *r, struct c_list list, const char *what,
				  struct mpk_aot_tensors *out)
{
	struct mpk_aot_tensor *tensors;
	const struct c_tensor *raw;
	void *copy;

	MPK_TRY(read_objects(r, list.items, list.count, sizeof *raw, what, &copy));
	raw = copy;
	tensors = mpk_arena_array(r->arena, (size_t)list.count + 1, sizeof *tensors);
	if (!tensors)
		return mpk_fail_nomem(r->err);
	for (int64_t i = 0; i < list.count; i++) {
		struct mpk_aot_tensor *t = &tensors[i];

		MPK_TRY(metadata_read_text(r, raw[i].name, "the name of a tensor", &t->name));
		MPK_TRY(read_objects(r, raw[i].shape, raw[i].ndim, sizeof(int64_t),
				     "the shape of a tensor", &copy));
		t->shape = copy;
		t->ndim = (size_t)raw[i].ndim;
		t->dtype = raw[i].dtype;
	}
	*out = (struct mpk_aot_tensors){ tensors, (size_t)list.count };
	return MPK_OK;
}

/* A constant is a tensor as TVM saves it, with its own header (formats/tensor). */
static enum mpk_code read_constant(const struct reader *r, const struct c_constant *raw,
				   struct mpk_aot_constant *out)
{
	struct mpk_tensor_record record;
	struct mpk_cursor cursor;

	if (raw->bytes < 0 || raw->offset < 0 ||
	    mpk_segments_room(r->code, raw->data) < (uint64_t)raw->bytes)
		return wrong(r, "a constant");
	cursor = mpk_cursor_of(mpk_span_of(raw->data, (size_t)raw->bytes), 0, "constant");
	MPK_TRY(mpk_tensor_read(&cursor, r->arena, &record, r->err));
	*out = (struct mpk_aot_constant){ (uint64_t)raw->offset, record.data };
	return MPK_OK;
}

static enum mpk_code read_constants(const struct reader *r, struct c_list list,
				    struct mpk_aot_metadata *out)
{
	struct mpk_aot_constant *constants;
	const struct c_constant *raw;
	void *copy;

	MPK_TRY(read_objects(r, list.items, list.count, sizeof *raw, "the constants", &copy));
	raw = copy;
	constants = mpk_arena_array(r->arena, (size_t)list.count + 1, sizeof *constants);
	if (!constants)
		return mpk_fail_nomem(r->err);
	for (int64_t i = 0; i < list.count; i++)
		MPK_TRY(read_constant(r, &raw[i], &constants[i]));
	out->constants = constants;
	out->constant_count = (size_t)list.count;
	return MPK_OK;
}

enum mpk_code mpk_aot_metadata_read(const void *code, const void *data, struct mpk_arena *arena,
				    struct mpk_aot_metadata *out, struct mpk_error *err)
{
	const struct reader r = { code, arena, err };
	struct mpk_aot_metadata m = { 0 };
	const struct c_metadata *raw;
	struct mpk_span mod_name;
	void *copy;

	MPK_TRY(read_objects(&r, data, 1, sizeof *raw, "what get_c_metadata returned", &copy));
	raw = copy;
	/* a later version may have another layout after its first word */
	if (raw->version != VERSION)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"metadata of version %" PRId64 "; this program knows version %d",
				raw->version, VERSION);
	MPK_TRY(read_tensors(&r, raw->inputs, "the list of inputs", &m.inputs));
	MPK_TRY(read_tensors(&r, raw->outputs, "the list of outputs", &m.outputs));
	MPK_TRY(read_tensors(&r, raw->workspaces, "the list of workspaces", &m.workspaces));
	MPK_TRY(read_constants(&r, raw->constants, &m));
	MPK_TRY(metadata_read_text(&r, raw->mod_name, "the name of the module", &mod_name));
	m.mod_name = (const char *)mod_name.data;
	*out = m;
	return MPK_OK;
}
