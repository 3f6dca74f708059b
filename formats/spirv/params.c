/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - the parameters of SPIR-V entry points, and the specification's names of numbers
 *
 * Walks the stream again, after read.c has checked it: types and variables go to a table by id,
 * then the variables of one entry point are selected. */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "spirv/spirv.h"

enum { HEADER_WORDS = 5, IDS_MAX = 1 << 16, MEMBERS_MAX = 256, ENTRIES_MAX = 64 };

/* The numbers of the specification, FORMAT.md 5. */
enum {
	OP_TYPE_BOOL = 20,
	OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22,
	OP_TYPE_VECTOR = 23,
	OP_TYPE_ARRAY = 28,
	OP_TYPE_RUNTIME_ARRAY = 29,
	OP_TYPE_STRUCT = 30,
	OP_TYPE_POINTER = 32,
	OP_VARIABLE = 59,
	OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72,
	CLASS_UNIFORM = 2,
	CLASS_PUSH_CONSTANT = 9,
	CLASS_STORAGE_BUFFER = 12,
	DECORATION_BUFFER_BLOCK = 3,
	DECORATION_NON_WRITABLE = 24,
	DECORATION_BINDING = 33,
};

/* What an id means: the operands after the id, and its decorations. */
struct id {
	uint16_t op;
	uint16_t count; /* number of operands */
	size_t at;      /* word index of the first operand */
	uint32_t binding;
	bool buffer_block, non_writable;
};

struct module {
	struct mpk_span bytes;
	bool swapped;
	struct id *ids;
	uint32_t bound;
};

static void module_fini(struct module *m)
{
	free(m->ids);
}

/* Uses the byte order of the magic number, which read.c has found. */
static uint32_t word(const struct module *m, size_t i)
{
	uint32_t v = mpk_load_u32(m->bytes.data + 4 * i);

	return m->swapped ? __builtin_bswap32(v) : v;
}

/* Returns a zeroed entry for an id that is not defined. */
static const struct id *spirv_get(const struct module *m, uint32_t id)
{
	static const struct id none = { 0 };

	return id < m->bound ? &m->ids[id] : &none;
}

/* Returns 0 for a missing operand, since no type has id 0. */
static uint32_t operand(const struct module *m, const struct id *d, size_t i)
{
	return i < d->count ? word(m, d->at + i) : 0;
}

/* --- the table ------------------------------------------------------------------------- */

/* Decorations may come before the definition of the id, so they are stored in its entry. */
static void decorate(struct id *d, uint32_t decoration, uint32_t value)
{
	d->buffer_block |= decoration == DECORATION_BUFFER_BLOCK;
	d->non_writable |= decoration == DECORATION_NON_WRITABLE;
	if (decoration == DECORATION_BINDING)
		d->binding = value;
}

/* An id that is not below the bound would be outside of the table. */
static void define(struct module *m, uint32_t id, uint16_t op, size_t at, size_t count)
{
	if (id >= m->bound)
		return;
	m->ids[id].op = op;
	m->ids[id].at = at;
	m->ids[id].count = (uint16_t)count;
}

/* The stream was checked before; nevertheless this ends on any bytes. */
static void spirv_walk(struct module *m)
{
	size_t count = m->bytes.len / 4;

	for (size_t at = HEADER_WORDS; at < count;) {
		uint32_t head = word(m, at);
		size_t words = head >> 16;

		if (!words || words > count - at)
			return;

		/* Only instructions that types of parameters need. The storage class of a variable is moved to the
		 * first operand. */
		uint16_t op = (uint16_t)head;
		uint32_t first = words > 1 ? word(m, at + 1) : 0;

		switch (op) {
		case OP_TYPE_BOOL:
		case OP_TYPE_INT:
		case OP_TYPE_FLOAT:
		case OP_TYPE_VECTOR:
		case OP_TYPE_ARRAY:
		case OP_TYPE_RUNTIME_ARRAY:
		case OP_TYPE_STRUCT:
		case OP_TYPE_POINTER:
			if (words > 1)
				define(m, first, op, at + 2, words - 2);
			break;
		case OP_VARIABLE: /* type, id, storage class: kept as storage class, type */
			if (words > 3)
				define(m, word(m, at + 2), op, at + 1, 3);
			break;
		case OP_DECORATE:
			if (words > 2 && first < m->bound)
				decorate(&m->ids[first], word(m, at + 2),
					 words > 3 ? word(m, at + 3) : 0);
			break;
		case OP_MEMBER_DECORATE: /* the member is the only array of a buffer, so the
					  * decoration is the buffer's */
			if (words > 3 && first < m->bound &&
			    word(m, at + 3) == DECORATION_NON_WRITABLE)
				m->ids[first].non_writable = true;
			break;
		default:
			break;
		}

		at += words;
	}
}

/* --- types ----------------------------------------------------------------------------- */

/* Returns the type of a number or a vector; 0 bits: another type, or one with an unusual width. */
static struct mpk_dtype spirv_number(const struct module *m, uint32_t type)
{
	const struct id *d = spirv_get(m, type);
	uint32_t lanes = 1;
	struct mpk_dtype t = { 0 };

	if (d->op == OP_TYPE_VECTOR) {
		lanes = operand(m, d, 1);
		d = spirv_get(m, operand(m, d, 0));
	}
	if (d->op == OP_TYPE_INT)
		t.code = operand(m, d, 1) ? MPK_DTYPE_INT : MPK_DTYPE_UINT;
	else if (d->op == OP_TYPE_FLOAT)
		t.code = MPK_DTYPE_FLOAT;
	else
		return (struct mpk_dtype){ 0 };
	if (operand(m, d, 0) > 64 || !lanes || lanes > 16)
		return (struct mpk_dtype){ 0 };
	t.bits = (uint8_t)operand(m, d, 0);
	t.lanes = (uint16_t)lanes;
	return t;
}

/* Returns a zeroed entry if the variable is not a pointer. */
static const struct id *struct_of(const struct module *m, const struct id *variable)
{
	const struct id *pointer = spirv_get(m, operand(m, variable, 0));

	return pointer->op == OP_TYPE_POINTER ? spirv_get(m, operand(m, pointer, 1))
					      : spirv_get(m, m->bound);
}

/* A storage buffer is a struct whose last member is an array. */
static struct mpk_dtype elements(const struct module *m, const struct id *block)
{
	const struct id *array =
		spirv_get(m, block->count ? operand(m, block, block->count - 1U) : m->bound);

	if (array->op != OP_TYPE_ARRAY && array->op != OP_TYPE_RUNTIME_ARRAY)
		return (struct mpk_dtype){ 0 };
	return spirv_number(m, operand(m, array, 0));
}

/* --- parameters ------------------------------------------------------------------------ */

/* Before SPIR-V 1.4 an entry point lists only inputs and outputs, so every variable counts as used. */
static bool is_used(const struct mpk_spirv *s, size_t entry, uint32_t id)
{
	const struct mpk_spirv_entry *e = &s->entries[entry];

	if (s->major == 1 && s->minor < 4)
		return true;
	for (size_t i = 0; i < e->interface_count; i++)
		if (e->interface[i] == id)
			return true;
	return false;
}

/* Before SPIR-V 1.3 a storage buffer has class Uniform and the decoration BufferBlock. */
static bool is_buffer(const struct module *m, const struct id *v)
{
	uint32_t class = operand(m, v, 2);

	return class == CLASS_STORAGE_BUFFER ||
	       (class == CLASS_UNIFORM && struct_of(m, v)->buffer_block);
}

/* TVM passes scalars in push constants, or in a uniform block if there are too many. */
static bool holds_scalars(const struct module *m, const struct id *v)
{
	uint32_t class = operand(m, v, 2);

	return class == CLASS_PUSH_CONSTANT ||
	       (class == CLASS_UNIFORM && !struct_of(m, v)->buffer_block);
}

/* Inserts after equal bindings, so that these keep the order of their ids; qsort does not keep it. */
static void insert(struct mpk_spirv_param *list, size_t count, struct mpk_spirv_param param)
{
	for (; count && list[count - 1].binding > param.binding; count--)
		list[count] = list[count - 1];
	list[count] = param;
}

static size_t add_buffers(const struct module *m, const struct mpk_spirv *s, size_t entry,
			  struct mpk_spirv_param *list)
{
	size_t n = 0;

	for (uint32_t id = 0; id < m->bound && n < MEMBERS_MAX; id++) {
		const struct id *v = &m->ids[id], *block = struct_of(m, v);

		if (v->op != OP_VARIABLE || !is_buffer(m, v) || !is_used(s, entry, id))
			continue;
		insert(list, n++,
		       (struct mpk_spirv_param){
			       .is_buffer = true,
			       .read_only = v->non_writable || block->non_writable,
			       .binding = v->binding,
			       .dtype = elements(m, block),
		       });
	}
	return n;
}

/* In the order of the block's members, which is that of the kernel's parameters. */
static size_t add_scalars(const struct module *m, const struct mpk_spirv *s, size_t entry,
			  struct mpk_spirv_param *list)
{
	size_t n = 0;

	for (uint32_t id = 0; id < m->bound; id++) {
		const struct id *v = &m->ids[id], *block = struct_of(m, v);

		if (v->op != OP_VARIABLE || !holds_scalars(m, v) || !is_used(s, entry, id))
			continue;
		for (size_t i = 0; i < block->count && n < MEMBERS_MAX; i++)
			list[n++] = (struct mpk_spirv_param){ .dtype = spirv_number(
								      m, operand(m, block, i)) };
	}
	return n;
}

enum mpk_code mpk_spirv_params(struct mpk_span bytes, const struct mpk_spirv *s, size_t entry,
			       struct mpk_arena *arena, const struct mpk_spirv_param **out,
			       size_t *count, bool *known, struct mpk_error *err)
{
	MPK_CLEANUP(module_fini)
	struct module m = { .bytes = bytes, .swapped = s->big_endian, .bound = s->bound };
	struct mpk_spirv_param list[2 * MEMBERS_MAX], *kept;

	*out = NULL;
	*count = 0;
	/* Limits of time and memory. Before SPIR-V 1.4 the variables of several entry points cannot be
	 * separated. */
	*known = s->bound <= IDS_MAX && s->entry_count <= ENTRIES_MAX &&
		 (s->major > 1 || s->minor >= 4 || s->entry_count == 1);
	if (!*known)
		return MPK_OK;
	m.ids = calloc(m.bound ? m.bound : 1, sizeof *m.ids);
	MPK_TRY_ALLOC(m.ids, err);
	spirv_walk(&m);
	*count = add_buffers(&m, s, entry, list);
	*count += add_scalars(&m, s, entry, list + *count);
	kept = mpk_arena_keep(arena, list, *count, sizeof *list);
	MPK_TRY_ALLOC(kept, err);
	*out = kept;
	return MPK_OK;
}

/* --- names: the specification's section 3, "Binary Form". An unknown number is not an error,
 * because new ones are added and vendors have ranges of their own
 * -------------------------------------- */

struct spirv_name {
	uint32_t number;
	const char *text; /* NULL at the end of a table */
};

static const struct spirv_name model_names[] = {
	{ 0, "Vertex" },
	{ 1, "TessellationControl" },
	{ 2, "TessellationEvaluation" },
	{ 3, "Geometry" },
	{ 4, "Fragment" },
	{ 5, "GLCompute" },
	{ 6, "Kernel" },
	{ 0, NULL },
};

static const struct spirv_name addressing_names[] = {
	{ 0, "Logical" },    { 1, "Physical32" },
	{ 2, "Physical64" }, { 5348, "PhysicalStorageBuffer64" },
	{ 0, NULL },
};

static const struct spirv_name memory_names[] = {
	{ 0, "Simple" }, { 1, "GLSL450" }, { 2, "OpenCL" }, { 3, "Vulkan" }, { 0, NULL },
};

/* Capabilities of compute kernels; rendering has many more. */
static const struct spirv_name capability_names[] = {
	{ 0, "Matrix" },
	{ 1, "Shader" },
	{ 4, "Addresses" },
	{ 5, "Linkage" },
	{ 6, "Kernel" },
	{ 7, "Vector16" },
	{ 8, "Float16Buffer" },
	{ 9, "Float16" },
	{ 10, "Float64" },
	{ 11, "Int64" },
	{ 12, "Int64Atomics" },
	{ 13, "ImageBasic" },
	{ 14, "ImageReadWrite" },
	{ 15, "ImageMipmap" },
	{ 17, "Pipes" },
	{ 18, "Groups" },
	{ 19, "DeviceEnqueue" },
	{ 20, "LiteralSampler" },
	{ 21, "AtomicStorage" },
	{ 22, "Int16" },
	{ 38, "GenericPointer" },
	{ 39, "Int8" },
	{ 58, "SubgroupDispatch" },
	{ 59, "NamedBarrier" },
	{ 60, "PipeStorage" },
	{ 61, "GroupNonUniform" },
	{ 62, "GroupNonUniformVote" },
	{ 63, "GroupNonUniformArithmetic" },
	{ 64, "GroupNonUniformBallot" },
	{ 65, "GroupNonUniformShuffle" },
	{ 66, "GroupNonUniformShuffleRelative" },
	{ 67, "GroupNonUniformClustered" },
	{ 68, "GroupNonUniformQuad" },
	{ 4433, "StorageBuffer16BitAccess" },
	{ 4434, "UniformAndStorageBuffer16BitAccess" },
	{ 4435, "StoragePushConstant16" },
	{ 4436, "StorageInputOutput16" },
	{ 4441, "VariablePointersStorageBuffer" },
	{ 4442, "VariablePointers" },
	{ 4448, "StorageBuffer8BitAccess" },
	{ 4449, "UniformAndStorageBuffer8BitAccess" },
	{ 4450, "StoragePushConstant8" },
	{ 5345, "VulkanMemoryModel" },
	{ 5346, "VulkanMemoryModelDeviceScope" },
	{ 5347, "PhysicalStorageBufferAddresses" },
	{ 5357, "CooperativeMatrixNV" },
	{ 6016, "DotProductInputAll" },
	{ 6017, "DotProductInput4x8Bit" },
	{ 6018, "DotProductInput4x8BitPacked" },
	{ 6019, "DotProduct" },
	{ 0, NULL },
};

const char *mpk_spirv_name(enum mpk_spirv_table table, uint32_t number)
{
	static const struct spirv_name *const tables[] = {
		[MPK_SPIRV_MODEL] = model_names,
		[MPK_SPIRV_CAPABILITY] = capability_names,
		[MPK_SPIRV_ADDRESSING] = addressing_names,
		[MPK_SPIRV_MEMORY] = memory_names,
	};

	for (const struct spirv_name *n = tables[table]; n->text; n++)
		if (n->number == number)
			return n->text;
	return NULL;
}
