/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - builds a model whose tensors and memory are laid out
 *
 * Graph and AOT executors add storages, tensors, steps and inputs (graph.c, aot.c). At the end this
 * file derives from all steps which inputs may be used without a copy, and which results need
 * memory of their own. */
#include "executor/static/internal/static.h"

#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/escape.h"
#include "value/tensor.h"

/* --- storages and tensors ------------------------------------------------------------------- */

enum mpk_code mpk_static_add_storage(struct mpk_static_program *p, int32_t device_type,
				     uint32_t *out, struct mpk_error *err)
{
	if (!MPK_VEC_ROOM(p->storages, p->storage_count, p->storage_cap))
		return mpk_fail_nomem(err);
	p->storages[p->storage_count] = (struct mpk_static_storage){ .device_type = device_type };
	*out = (uint32_t)p->storage_count++;
	return MPK_OK;
}

enum mpk_code mpk_static_add_tensor(struct mpk_static_program *p, struct mpk_dtype dtype,
				    const int64_t *shape, size_t ndim, uint32_t storage,
				    uint32_t *out, struct mpk_error *err)
{
	static const struct mpk_dtype boolean = { MPK_DTYPE_BOOL, 8, 1 };
	struct mpk_static_storage *s = &p->storages[storage];
	uint64_t bytes = 0;

	/* the shape comes from the file, so an invalid one means a corrupt file */
	if (mpk_tensor_bytes_of(dtype, shape, ndim, &bytes, err) != MPK_OK) {
		if (err)
			err->code = MPK_E_CORRUPT;
		return MPK_E_CORRUPT;
	}
	if (!MPK_VEC_ROOM(p->tensors, p->tensor_count, p->tensor_cap))
		return mpk_fail_nomem(err);
	p->tensors[p->tensor_count] = (struct mpk_static_tensor){
		.dtype = mpk_dtype_is_bool(dtype) ? boolean : dtype,
		.shape = shape,
		.ndim = ndim,
		.bytes = bytes,
		.storage = storage,
	};
	if (bytes > s->bytes)
		s->bytes = bytes;
	*out = (uint32_t)p->tensor_count++;
	return MPK_OK;
}

/* --- steps ---------------------------------------------------------------------------------- */

static struct mpk_static_storage *storage_of(const struct mpk_static_program *p, uint32_t tensor)
{
	return &p->storages[p->tensors[tensor].storage];
}

enum mpk_code mpk_static_add_step(struct mpk_static_program *p, const struct mpk_static_step *step,
				  struct mpk_error *err)
{
	size_t count = step->count;
	uint32_t *copy = mpk_arena_array(&p->base.arena, count + 1, sizeof *copy);
	struct mpk_static_step *added;

	if (!copy || !MPK_VEC_ROOM(p->steps, p->step_count, p->step_cap))
		return mpk_fail_nomem(err);
	if (count)
		memcpy(copy, step->operands, count * sizeof *copy);
	if (!step->function && p->tensors[copy[0]].bytes != p->tensors[copy[1]].bytes)
		return mpk_fail(err, MPK_E_CORRUPT,
				"a copy of %" PRIu64 " bytes into a tensor of %" PRIu64,
				p->tensors[copy[0]].bytes, p->tensors[copy[1]].bytes);
	/* workspace counts as written */
	for (size_t i = step->read_count; i < count; i++)
		storage_of(p, copy[i])->is_written = true;
	added = &p->steps[p->step_count++];
	*added = *step;
	added->function = mpk_function_hold(step->function);
	added->operands = copy;
	return MPK_OK;
}

/* --- inputs and results --------------------------------------------------------------------- */

static enum mpk_code add_input(struct mpk_static_program *p, const struct mpk_static_input *input,
			       struct mpk_error *err)
{
	if (!MPK_VEC_ROOM(p->inputs, p->input_count, p->input_cap))
		return mpk_fail_nomem(err);
	p->inputs[p->input_count++] = *input;
	storage_of(p, input->tensor)->is_input = true;
	return MPK_OK;
}

enum mpk_code mpk_static_add_input(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_error *err)
{
	return add_input(p, &(struct mpk_static_input){ .name = name, .tensor = tensor }, err);
}

enum mpk_code mpk_static_add_param(struct mpk_static_program *p, struct mpk_span name,
				   uint32_t tensor, struct mpk_span content, bool is_native,
				   struct mpk_error *err)
{
	uint64_t bytes = p->tensors[tensor].bytes;

	if (content.len != bytes)
		return mpk_fail(err, MPK_E_CORRUPT,
				"parameter '%s' has %zu bytes, its tensor %" PRIu64,
				MPK_QUOTE(name), content.len, bytes);
	return add_input(p,
			 &(struct mpk_static_input){ .name = name,
						     .tensor = tensor,
						     .has_content = true,
						     .is_native = is_native,
						     .content = content },
			 err);
}

enum mpk_code mpk_static_add_result(struct mpk_static_program *p, uint32_t tensor,
				    struct mpk_error *err)
{
	if (!MPK_VEC_ROOM(p->results, p->result_count, p->result_cap))
		return mpk_fail_nomem(err);
	p->results[p->result_count++] = tensor;
	return MPK_OK;
}

/* --- the rest ------------------------------------------------------------------------------- */

/* A result in the storage of an input would share the caller's memory, or the file's: a final step
 * copies it to new memory. */
static enum mpk_code separate_result(struct mpk_static_program *p, uint32_t *result,
				     struct mpk_error *err)
{
	const struct mpk_static_tensor t = p->tensors[*result];
	uint32_t storage, tensor;

	if (!p->storages[t.storage].is_input)
		return MPK_OK;
	MPK_TRY(mpk_static_add_storage(p, p->storages[t.storage].device_type, &storage, err));
	MPK_TRY(mpk_static_add_tensor(p, t.dtype, t.shape, t.ndim, storage, &tensor, err));
	MPK_TRY(mpk_static_add_step(p,
				    &(struct mpk_static_step){
					    .operands = (const uint32_t[]){ *result, tensor },
					    .count = 2,
					    .read_count = 1,
					    .result_count = 1,
				    },
				    err));
	*result = tensor;
	return MPK_OK;
}

static struct mpk_param typed(const struct mpk_static_program *p, uint32_t tensor,
			      struct mpk_span name)
{
	const struct mpk_static_tensor *t = &p->tensors[tensor];

	return (struct mpk_param){ name, mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL) };
}

enum mpk_code mpk_static_program_finish(struct mpk_static_program *p, struct mpk_span name,
					struct mpk_error *err)
{
	/* first, because this adds steps and storages */
	for (size_t i = 0; i < p->result_count; i++)
		MPK_TRY(separate_result(p, &p->results[i], err));
	for (size_t i = 0; i < p->result_count; i++)
		storage_of(p, p->results[i])->is_result = true;

	/* Groups the tensors by storage. */
	uint32_t *views = mpk_arena_array(&p->base.arena, p->tensor_count + 1, sizeof *views);
	uint32_t next = 0;

	if (!views)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->tensor_count; i++)
		p->storages[p->tensors[i].storage].view_count++;
	/* count, allocate one list, then fill it */
	for (size_t i = 0; i < p->storage_count; i++) {
		p->storages[i].first_view = next;
		next += p->storages[i].view_count;
		p->storages[i].view_count = 0;
	}
	for (size_t i = 0; i < p->tensor_count; i++) {
		struct mpk_static_storage *s = &p->storages[p->tensors[i].storage];

		views[s->first_view + s->view_count++] = (uint32_t)i;
	}
	p->views = views;

	/* A view that is larger than the input would reach past the caller's memory. */
	uint32_t *inputs = mpk_arena_array(&p->base.arena, p->storage_count + 1, sizeof *inputs);

	if (!inputs)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->input_count; i++)
		inputs[p->tensors[p->inputs[i].tensor].storage]++;
	for (size_t i = 0; i < p->input_count; i++) {
		const struct mpk_static_tensor *t = &p->tensors[p->inputs[i].tensor];
		struct mpk_static_storage *s = &p->storages[t->storage];

		s->is_zero_copy = inputs[t->storage] == 1 && !s->is_written && t->bytes == s->bytes;
	}

	size_t count = p->input_count + p->result_count;
	struct mpk_param *list = mpk_arena_array(&p->base.arena, count + 1, sizeof *list);
	struct mpk_signature *m = &p->model;

	if (!list)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->input_count; i++) {
		list[i] = typed(p, p->inputs[i].tensor, p->inputs[i].name);
		m->input_count += !p->inputs[i].has_content;
	}
	for (size_t i = 0; i < p->result_count; i++)
		list[p->input_count + i] = typed(p, p->results[i], (struct mpk_span){ 0 });
	m->name = name;
	m->named_inputs = true;
	m->outputs_known = true;
	m->inputs = list;
	m->params = list + m->input_count;
	m->param_count = p->input_count - m->input_count;
	m->outputs = list + p->input_count;
	m->output_count = p->result_count;
	return MPK_OK;
}

/* --- the node ------------------------------------------------------------------------------- */

/* A factory whose program is built when the model is first looked up, because listing a library
 * must not fail if kernels are missing. */
struct static_model {
	struct mpk_node_model base; /* must be the first member */
	struct mpk_arena arena;
	struct mpk_factory factory;
	mpk_static_load_fn *load;
};

static enum mpk_code load_program(struct mpk_program *p, struct mpk_node_module *node,
				  struct mpk_error *err)
{
	const struct static_model *m = node->state;

	return m->load((struct mpk_static_program *)p, node, &m->factory, err);
}

static void unload_program(struct mpk_program *base)
{
	struct mpk_static_program *p = (struct mpk_static_program *)base;

	for (size_t i = 0; i < p->step_count; i++)
		mpk_function_drop(p->steps[i].function);
	free(p->storages);
	free(p->tensors);
	free(p->steps);
	free(p->inputs);
	free(p->fills);
	free(p->results);
}

static const struct mpk_model_kind static_kind = {
	.program_bytes = sizeof(struct mpk_static_program),
	.machine = &mpk_static_machine,
	.load = load_program,
	.unload = unload_program,
};

enum mpk_code mpk_static_open(struct mpk_node_module *node, mpk_static_load_fn *load,
			      struct mpk_error *err)
{
	struct static_model *m = calloc(1, sizeof *m);
	struct mpk_payload payload;
	enum mpk_code code;

	MPK_TRY_ALLOC(m, err);
	m->base.kind = &static_kind;
	m->load = load;
	node->state = m;
	code = mpk_node_payload(node, &m->arena, &payload, err);
	if (code == MPK_OK) {
		m->factory = payload.u.factory;
	} else {
		mpk_static_close(node);
		node->state = NULL;
	}
	return code;
}

/* The program is freed first, because it borrows names from the factory. */
void mpk_static_close(struct mpk_node_module *node)
{
	struct mpk_arena arena = ((struct static_model *)node->state)->arena;

	mpk_node_model_close(node);
	mpk_arena_fini(&arena);
}

bool mpk_static_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	*out = ((struct static_model *)node->state)->factory.module_name;
	return i == 0;
}

enum mpk_code mpk_static_signature_at(struct mpk_node_module *node, size_t i,
				      const struct mpk_signature **out, struct mpk_error *err)
{
	struct static_model *m = node->state;

	*out = NULL;
	if (i)
		return MPK_OK;
	MPK_TRY(mpk_node_model_program(node, err));
	*out = &((const struct mpk_static_program *)m->base.program)->model;
	return MPK_OK;
}

enum mpk_code mpk_static_find(struct mpk_node_module *node, const char *name,
			      struct mpk_function **out, struct mpk_error *err)
{
	struct static_model *m = node->state;
	const struct mpk_static_program *p;
	struct mpk_machine *machine;

	*out = NULL;
	if (!mpk_span_is(m->factory.module_name, name))
		return MPK_OK;
	MPK_TRY(mpk_node_model_machine(node, &machine, err));
	p = (const struct mpk_static_program *)m->base.program;
	return mpk_machine_bind(machine, 0, m->factory.module_name, &p->model, out, err);
}

/* --- memory of a shared object --------------------------------------------------------------- */

struct segment_search {
	uintptr_t code, data;
	size_t room;
};

/* Returns how many bytes of a segment follow an address; 0 if the address is not in the segment. */
static size_t room_in(const struct dl_phdr_info *object, size_t segment, uintptr_t address)
{
	const ElfW(Phdr) *s = &object->dlpi_phdr[segment];
	uintptr_t start = object->dlpi_addr + s->p_vaddr;

	if (s->p_type != PT_LOAD || !(s->p_flags & PF_R) || address < start ||
	    address - start >= s->p_memsz)
		return 0;
	return s->p_memsz - (address - start);
}

/* Stops at the object that contains the code; other objects do not count. */
static int segments_look_into(struct dl_phdr_info *object, size_t size, void *user)
{
	struct segment_search *s = user;
	bool has_code = false;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		has_code |= room_in(object, i, s->code) > 0;
	for (size_t i = 0; has_code && i < object->dlpi_phnum && !s->room; i++)
		s->room = room_in(object, i, s->data);
	return has_code;
}

/* Uses the dynamic linker's list of segments, because reading an invalid pointer would crash. */
size_t mpk_static_room(const void *code, const void *data)
{
	struct segment_search s = { (uintptr_t)code, (uintptr_t)data, 0 };

	(void)dl_iterate_phdr(segments_look_into, &s);
	return s.room;
}
