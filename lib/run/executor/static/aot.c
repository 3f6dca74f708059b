/* SPDX-License-Identifier: Apache-2.0 */
/* aot.c - models compiled ahead of time: one call of their entry function as a program
 *
 * TVM's AotExecutorFactory (0.9 to 0.19) has no graph. The library's function get_c_metadata
 * returns structures that describe the entry's operands: inputs, outputs, then pools of workspace
 * memory. So the program has a single step, the call of the entry function. */
#include "executor/executor.h"

#include <inttypes.h>
#include <link.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "executor/static/internal/static.h"
#include "tensor/tensor.h"
#include "text/escape.h"
#include "value/tensor.h"

/* get_c_metadata returns a pointer to structures in the library's own data, laid out by the
 * compiler (include/tvm/runtime/metadata_types.h of apache/tvm). The library may be damaged. So a
 * pointer is followed only if all the data it points to lies within the library's segments, and the
 * data is copied before use, because it may not be aligned. */

enum { VERSION = 1 };

/* --- as the compiler lays them out: nothing here may change --------------------------------- */

struct c_tensor {
	const char *name;
	const void *shape; /* points to int64_t */
	int64_t ndim;
	struct mpk_dtype dtype;
};

struct c_constant {
	const char *name;
	int64_t offset;
	int64_t bytes;
	const void *data; /* points to a tensor record */
};

struct c_list {
	const void *items;
	int64_t count;
};

struct c_metadata {
	int64_t version;
	struct c_list inputs, outputs, workspaces; /* lists of struct c_tensor */
	struct c_list constants;                   /* list of struct c_constant */
	const char *mod_name;
};

/* --- pointers ------------------------------------------------------------------------------- */

struct reader {
	const void *code;
	struct mpk_arena *arena;
	struct mpk_error *err;
};

/* One message for all errors; the name of the pointer tells enough. */
static enum mpk_code wrong(const struct reader *r, const char *what)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "metadata: %s leads out of the library's own data",
			what);
}

/* Copies count objects, whose alignment may be wrong. */
static enum mpk_code read_objects(const struct reader *r, const void *from, int64_t count,
				  size_t size, const char *what, void **out)
{
	/* the product must not overflow before it is compared with the room */
	if (count < 0 || (uint64_t)count > SIZE_MAX / size ||
	    (count && mpk_static_room(r->code, from) < (uint64_t)count * size))
		return wrong(r, what);
	*out = mpk_arena_array(r->arena, (size_t)count + 1, size);
	if (!*out)
		return mpk_fail_nomem(r->err);
	if (count)
		memcpy(*out, from, (size_t)count * size);
	return MPK_OK;
}

/* Reads a string with its NUL. */
static enum mpk_code metadata_read_text(const struct reader *r, const char *from, const char *what,
					struct mpk_span *out)
{
	size_t room = mpk_static_room(r->code, from);
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

/* A constant is stored like a saved tensor of TVM, with its header (formats/tensor). */
static enum mpk_code read_constant(const struct reader *r, const struct c_constant *raw,
				   struct mpk_aot_constant *out)
{
	struct mpk_tensor_record record;
	struct mpk_cursor cursor;

	if (raw->bytes < 0 || raw->offset < 0 ||
	    mpk_static_room(r->code, raw->data) < (uint64_t)raw->bytes)
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

struct loader {
	struct mpk_node_module *node;
	const struct mpk_factory *factory;
	struct mpk_static_program *p;
	struct mpk_aot_metadata metadata;
	uint32_t *operands; /* operands of the entry, in the order of addition */
	size_t operand_count;
	struct mpk_error *err;
};

/* Adds content that a storage has before the first run. The content must end within the tensors
 * that were added to the storage. */
static enum mpk_code static_add_fill(struct mpk_static_program *p, uint32_t storage,
				     uint64_t offset, struct mpk_span content,
				     struct mpk_error *err)
{
	if (!MPK_VEC_ROOM(p->fills, p->fill_count, p->fill_cap))
		return mpk_fail_nomem(err);
	p->fills[p->fill_count++] = (struct mpk_static_fill){ storage, offset, content };
	return MPK_OK;
}

/* --- operands of the entry ------------------------------------------------------------------ */

/* Adds a tensor with its own storage as the entry's next operand. */
static enum mpk_code add_operand(struct loader *l, struct mpk_dtype dtype, const int64_t *shape,
				 size_t ndim, uint32_t *out)
{
	uint32_t storage;

	MPK_TRY(mpk_static_add_storage(l->p, MPK_DL_CPU, &storage, l->err));
	MPK_TRY(mpk_static_add_tensor(l->p, dtype, shape, ndim, storage, out, l->err));
	l->operands[l->operand_count++] = *out;
	return MPK_OK;
}

static enum mpk_code add_tensor(struct loader *l, const struct mpk_aot_tensor *t, uint32_t *out)
{
	enum mpk_code code = add_operand(l, t->dtype, t->shape, t->ndim, out);

	if (code != MPK_OK)
		mpk_error_prefix(l->err, "metadata: '%s': ", MPK_QUOTE(t->name));
	return code;
}

/* Adds a pool of that many bytes. */
static enum mpk_code add_bytes(struct loader *l, uint64_t bytes, uint32_t *out)
{
	static const struct mpk_dtype byte = { MPK_DTYPE_UINT, 8, 1 };
	int64_t *extent = mpk_arena_array(&l->p->base.arena, 1, sizeof *extent);

	if (!extent)
		return mpk_fail_nomem(l->err);
	*extent = (int64_t)bytes;
	return add_operand(l, byte, extent, 1, out);
}

/* Whether the compiler keeps a character in the names it generates; it replaces others by '_'. */
static bool aot_is_plain(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether a parameter's name in the model matches a name in the metadata, which is that of the C
 * variable generated from it. */
static bool is_name_of(struct mpk_span name, struct mpk_span compiled)
{
	if (name.len != compiled.len)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if ((aot_is_plain(name.data[i]) ? name.data[i] : '_') != compiled.data[i])
			return false;
	return true;
}

static const struct mpk_tensor_record *param_for(const struct loader *l, struct mpk_span input)
{
	const struct mpk_params *params = &l->factory->params;

	for (size_t i = 0; i < params->names.count; i++)
		if (is_name_of(params->names.items[i], input))
			return &params->tensors[i];
	return NULL;
}

static enum mpk_code add_outputs(struct loader *l)
{
	uint32_t tensor;

	for (size_t i = 0; i < l->metadata.outputs.count; i++) {
		MPK_TRY(add_tensor(l, &l->metadata.outputs.items[i], &tensor));
		MPK_TRY(mpk_static_add_result(l->p, tensor, l->err));
	}
	return MPK_OK;
}

/* All constants lie in one block of memory, each at the offset that the metadata gives. */
static enum mpk_code add_constants(struct loader *l)
{
	uint64_t bytes = 0, end;
	uint32_t tensor;

	for (size_t i = 0; i < l->metadata.constant_count; i++) {
		const struct mpk_aot_constant *c = &l->metadata.constants[i];

		/* the end of the last constant is the size of the block */
		if (!mpk_add_u64(c->offset, c->content.len, &end) || end > INT64_MAX)
			return mpk_fail(l->err, MPK_E_CORRUPT,
					"metadata: a constant that ends behind 2^63 bytes");
		bytes = end > bytes ? end : bytes;
	}
	MPK_TRY(add_bytes(l, bytes, &tensor));
	for (size_t i = 0; i < l->metadata.constant_count; i++)
		MPK_TRY(static_add_fill(l->p, l->p->tensors[tensor].storage,
					l->metadata.constants[i].offset,
					l->metadata.constants[i].content, l->err));
	return MPK_OK;
}

/* A pool has a type and a shape, but the entry function uses it as bytes. */
static enum mpk_code add_workspaces(struct loader *l)
{
	uint64_t bytes = 0;
	uint32_t tensor;

	for (size_t i = 0; i < l->metadata.workspaces.count; i++) {
		const struct mpk_aot_tensor *t = &l->metadata.workspaces.items[i];

		if (mpk_tensor_bytes_of(t->dtype, t->shape, t->ndim, &bytes, l->err) != MPK_OK)
			return mpk_fail(l->err, MPK_E_CORRUPT,
					"metadata: workspace '%s' has no size", MPK_QUOTE(t->name));
		MPK_TRY(add_bytes(l, bytes, &tensor));
	}
	return MPK_OK;
}

static enum mpk_code load_all(struct loader *l)
{
	const struct mpk_aot_metadata *m = &l->metadata;

	/* The function is called once, when the program is built. It returns pointers into the library's
	 * data. */
	struct mpk_value data = { 0 };
	struct mpk_function *f;

	MPK_TRY(mpk_node_import(l->node, "get_c_metadata", &f, l->err));
	MPK_TRY(mpk_function_call(f, &(struct mpk_args){ 0 }, &data, l->err));
	if (data.kind != MPK_VALUE_OPAQUE || !f->address) {
		enum mpk_value_kind kind = data.kind;

		mpk_value_drop(&data);
		return mpk_fail(l->err, MPK_E_CORRUPT,
				"get_c_metadata returned %s where a pointer should be",
				mpk_value_kind_name(kind));
	}
	MPK_TRY(mpk_aot_metadata_read(f->address, data.opaque, &l->p->base.arena, &l->metadata,
				      l->err));

	l->operands = mpk_arena_array(&l->p->base.arena,
				      m->inputs.count + m->outputs.count + m->workspaces.count + 1,
				      sizeof *l->operands);
	if (!l->operands)
		return mpk_fail_nomem(l->err);

	/* Operands are in the metadata's order; the program's inputs come before its parameters. */
	const struct mpk_aot_tensors *inputs = &l->metadata.inputs;
	uint32_t tensor;

	for (size_t i = 0; i < inputs->count; i++) {
		MPK_TRY(add_tensor(l, &inputs->items[i], &tensor));
		if (!param_for(l, inputs->items[i].name))
			MPK_TRY(mpk_static_add_input(l->p, inputs->items[i].name, tensor, l->err));
	}
	for (size_t i = 0; i < inputs->count; i++) {
		const struct mpk_tensor_record *param = param_for(l, inputs->items[i].name);

		if (param)
			MPK_TRY(mpk_static_add_param(l->p, inputs->items[i].name, l->operands[i],
						     param->data, false, l->err));
	}

	MPK_TRY(add_outputs(l));
	/* without workspaces the entry takes no constants either, because its code contains them */
	if (m->workspaces.count) {
		MPK_TRY(add_constants(l));
		MPK_TRY(add_workspaces(l));
	}

	/* --- the whole -------------------------------------------------------------------- */
	const char *name =
		mpk_arena_printf(&l->p->base.arena, "%s___tvm_main__", l->metadata.mod_name);
	struct mpk_function *entry;

	if (!name)
		return mpk_fail_nomem(l->err);
	MPK_TRY(mpk_node_import(l->node, name, &entry, l->err));
	MPK_TRY(mpk_static_add_step(l->p,
				    &(struct mpk_static_step){
					    .function = entry,
					    .operands = l->operands,
					    .count = l->operand_count,
					    .read_count = l->metadata.inputs.count,
					    .result_count = l->metadata.outputs.count,
				    },
				    l->err));

	return mpk_static_program_finish(l->p, l->factory->module_name, l->err);
}

static enum mpk_code load_entry(struct mpk_static_program *p, struct mpk_node_module *node,
				const struct mpk_factory *factory, struct mpk_error *err)
{
	struct loader l = { .node = node, .factory = factory, .p = p, .err = err };

	return load_all(&l);
}

/* --- as a loader ---------------------------------------------------------------------------- */

static bool accepts_aot(struct mpk_span kind)
{
	return mpk_span_is(kind, "AotExecutorFactory");
}

static enum mpk_code open_aot(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_static_open(node, load_entry, err);
}

const struct mpk_loader mpk_aot_executor = {
	.accepts = accepts_aot,
	.payload = &mpk_reader_aot,
	.has = mpk_node_model_has,
	.open = open_aot,
	.find = mpk_static_find,
	.name_at = mpk_static_name_at,
	.signature_at = mpk_static_signature_at,
	.close = mpk_static_close,
};
