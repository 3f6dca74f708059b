/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - one walk through the blocks that describe a module; references are resolved at the end,
 * because names may come last */
#include "bitcode/bitcode.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "bitcode/internal/stream.h"

#define WRAPPER "\xde\xc0\x17\x0b"
#define MAGIC "BC\xc0\xde"

enum block {
	MODULE = 8,
	PARAMATTR = 9,
	PARAMATTR_GROUP = 10,
	FUNCTION_BODY = 12,
	IDENTIFICATION = 13,
	SYMBOLS = 14,
	METADATA = 15,
	STRINGS = 23,
};

enum module_record {
	VERSION = 1,
	TRIPLE = 2,
	LAYOUT = 3,
	VARIABLE = 7,
	FUNCTION = 8,
	ALIAS_OLD = 9,
	ALIAS = 14,
	IFUNC = 15,
	SOURCE = 16,
};

#define WHOLE_FUNCTION UINT64_C(0xffffffff)

/* A function that is being read. */
struct entry {
	uint64_t value; /* its number among the values of the module */
	uint64_t name_off, name_len;
	uint64_t attributes; /* its list of attributes, from 1; 0: none */
	bool has_name;       /* its name is in the string table, at name_off */
	struct mpk_span name, cpu;
	bool is_kernel, is_declared, is_local;
};

/* A group of attributes with a processor. */
struct group {
	uint64_t id;
	struct mpk_span cpu;
};

/* A metadata node: a value, or a list of nodes. */
struct meta_value {
	uint64_t id, value;
};

struct meta_node {
	uint64_t id;
	size_t first, count; /* its part of links */
};

struct strings {
	uint64_t first, count; /* ids */
	struct mpk_span blob;
	uint64_t chars_off;
};

struct reader {
	struct mpk_span bytes; /* the bitcode without a wrapper */
	struct mpk_arena *arena;
	struct mpk_bitstream_visitor visitor;
	bool head_only, bodies;
	struct mpk_bitcode out;
	uint64_t version;   /* version of the current module */
	uint64_t values;    /* number of its values so far */
	size_t first_entry; /* index of its first entry */
	/* malloc'ed */
	struct entry *entries;
	size_t entry_count, entry_cap;
	struct group *groups;
	size_t group_count, group_cap;
	struct mpk_span *lists; /* for each list of attributes its processor; empty: none */
	size_t list_count, list_cap;
	struct meta_value *meta_values;
	size_t meta_value_count, meta_value_cap;
	struct meta_node *nodes;
	size_t node_count, node_cap;
	uint64_t *links;
	size_t link_count, link_cap;
	struct strings *strings;
	size_t string_count, string_cap;
	uint64_t meta_count; /* number of metadata ids so far */
	uint64_t kernel_key; /* id of the string "kernel", plus 1; 0: none */
	char name[32];       /* name of the node that the next record defines */
	uint64_t *kernels;   /* ids of the nodes in !nvvm.annotations */
	size_t kernel_count, kernel_cap;
	uint64_t ident;     /* id of the first node in !llvm.ident, plus 1 */
	size_t named_count; /* number of entries with a name from a string table */
};

static void reader_fini(struct reader *r)
{
	free(r->entries);
	free(r->groups);
	free(r->lists);
	free(r->meta_values);
	free(r->nodes);
	free(r->links);
	free(r->strings);
	free(r->kernels);
}

/* --- records ----------------------------------------------------------------------------- */

/* Returns the operands of a record as characters. */
static enum mpk_code text_of(struct reader *r, const struct mpk_bitstream_record *record,
			     size_t from, struct mpk_span *out, struct mpk_error *err)
{
	size_t len = record->count > from ? record->count - from : 0;
	uint8_t *text = mpk_arena_alloc(r->arena, len + 1);

	MPK_TRY_ALLOC(text, err);
	for (size_t i = 0; i < len; i++)
		text[i] = (uint8_t)record->ops[from + i];
	*out = mpk_span_of(text, len);
	return MPK_OK;
}

static bool is_kernel_convention(uint64_t convention)
{
	enum { PTX_KERNEL = 71, SPIR_KERNEL = 76, AMDGPU_KERNEL = 91 };

	return convention == PTX_KERNEL || convention == SPIR_KERNEL || convention == AMDGPU_KERNEL;
}

static enum mpk_code add_function(struct reader *r, const struct mpk_bitstream_record *record,
				  struct mpk_error *err)
{
	enum {
		TYPE,
		CONVENTION,
		IS_DECLARED,
		LINKAGE,
		ATTRIBUTES,
		LEAST,
		INTERNAL = 3,
		PRIVATE = 9
	};
	size_t at = r->version >= 2 ? 2 : 0;
	const uint64_t *ops = record->ops + at;
	struct entry e = { .value = r->values };

	if (record->count < at + LEAST)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 0,
				       "the record of function %zu has no attributes",
				       r->entry_count);
	e.has_name = at != 0;
	e.name_off = at ? record->ops[0] : 0;
	e.name_len = at ? record->ops[1] : 0;
	e.is_kernel = is_kernel_convention(ops[CONVENTION]);
	e.is_declared = ops[IS_DECLARED] != 0;
	e.is_local = ops[LINKAGE] == INTERNAL || ops[LINKAGE] == PRIVATE;
	e.attributes = ops[ATTRIBUTES];
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->entries, r->entry_count, r->entry_cap), err);
	r->entries[r->entry_count++] = e;
	return MPK_OK;
}

static enum mpk_code see_module(struct reader *r, const struct mpk_bitstream_record *record,
				struct mpk_error *err)
{
	switch (record->code) {
	case VERSION:
		r->version = record->count ? record->ops[0] : 0;
		return MPK_OK;
	case TRIPLE:
		return text_of(r, record, 0, &r->out.triple, err);
	case LAYOUT:
		return text_of(r, record, 0, &r->out.layout, err);
	case SOURCE:
		return text_of(r, record, 0, &r->out.source, err);
	case FUNCTION:
		r->visitor.done = r->head_only;
		if (!r->head_only)
			MPK_TRY(add_function(r, record, err));
		r->values++;
		return MPK_OK;
	case VARIABLE:
		r->out.global_count++;
		r->values++;
		return MPK_OK;
	case ALIAS_OLD:
	case ALIAS:
	case IFUNC:
		r->values++;
		return MPK_OK;
	default:
		return MPK_OK;
	}
}

/* --- attributes --------------------------------------------------------------------------- */

/* Compares a text in the operands that ends with a zero, and moves *at past it. */
static bool is_text_at(const struct mpk_bitstream_record *record, size_t *at, const char *text)
{
	size_t i = *at, len = strlen(text);
	bool is = true;

	for (; i < record->count && record->ops[i]; i++)
		is = is && i - *at < len && record->ops[i] == (uint8_t)text[i - *at];
	is = is && i - *at == len;
	*at = i + 1;
	return is;
}

static enum mpk_code add_group(struct reader *r, const struct mpk_bitstream_record *record,
			       struct mpk_error *err)
{
	enum { ENUM, INTEGER, KEY = 3, KEY_VALUE, TYPE, TYPE_VALUE, RANGE, RANGES };

	if (record->count < 2 || record->ops[1] != WHOLE_FUNCTION)
		return MPK_OK;
	for (size_t i = 2; i < record->count;) {
		uint64_t kind = record->ops[i++];
		struct group g = { .id = record->ops[0] };
		bool is_cpu;
		size_t from;

		if (kind == ENUM || kind == TYPE) {
			i++;
		} else if (kind == INTEGER || kind == TYPE_VALUE) {
			i += 2;
		} else if (kind == KEY || kind == KEY_VALUE) {
			is_cpu = is_text_at(record, &i, "target-cpu") && kind == KEY_VALUE;
			from = i;
			if (kind == KEY_VALUE)
				(void)is_text_at(record, &i, "");
			if (!is_cpu || i > record->count || i - 1 == from)
				continue;
			MPK_TRY(text_of(r, record, from, &g.cpu, err));
			g.cpu.len = i - 1 - from;
			MPK_TRY_ALLOC(MPK_VEC_ROOM(r->groups, r->group_count, r->group_cap), err);
			r->groups[r->group_count++] = g;
			return MPK_OK;
		} else {
			return MPK_OK; /* a range, or an attribute of a later release */
		}
	}
	return MPK_OK;
}

/* Uses the first group of a list that has a processor: a function has one such attribute. */
static enum mpk_code add_list(struct reader *r, const struct mpk_bitstream_record *record,
			      struct mpk_error *err)
{
	struct mpk_span cpu = { 0 };

	for (size_t i = 0; i < record->count && !cpu.len; i++) {
		size_t at = mpk_first_from(r->groups, r->group_count, sizeof *r->groups,
					   offsetof(struct group, id), record->ops[i]);

		if (at < r->group_count && r->groups[at].id == record->ops[i])
			cpu = r->groups[at].cpu;
	}
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->lists, r->list_count, r->list_cap), err);
	r->lists[r->list_count++] = cpu;
	return MPK_OK;
}

/* --- symbols ------------------------------------------------------------------------------ */

static enum mpk_code see_symbol(struct reader *r, const struct mpk_bitstream_record *record,
				struct mpk_error *err)
{
	enum { ENTRY = 1, FUNCTION_ENTRY = 3 };
	size_t from = record->code == FUNCTION_ENTRY ? 2 : 1, at;

	if ((record->code != ENTRY && record->code != FUNCTION_ENTRY) || record->count <= from ||
	    r->entry_count == r->first_entry)
		return MPK_OK;
	at = r->first_entry + mpk_first_from(r->entries + r->first_entry,
					     r->entry_count - r->first_entry, sizeof *r->entries,
					     offsetof(struct entry, value), record->ops[0]);
	if (at == r->entry_count || r->entries[at].value != record->ops[0])
		return MPK_OK;
	return text_of(r, record, from, &r->entries[at].name, err);
}

/* --- metadata ------------------------------------------------------------------------------ */

enum metadata_record {
	META_STRING = 1,
	META_VALUE = 2,
	META_NODE = 3,
	META_NAME = 4,
	META_KIND = 6,
	META_NAMED_NODE = 10,
	META_ATTACHMENT = 11,
	META_STRINGS = 35,
	META_GLOBAL = 36,
	META_INDEX_OFFSET = 38,
	META_INDEX = 39,
};

/* The lengths are stored before the characters, in pieces of 6 bits. */
static bool next_string(const struct strings *s, uint64_t *bit, uint64_t *at, struct mpk_span *out)
{
	enum { WIDTH = 6 };
	bool failed = false;
	uint64_t len = mpk_bitstream_vbr(s->blob, bit, WIDTH, &failed);

	if (failed || !mpk_span_sub(s->blob, *at, len, out))
		return false;
	*at += len;
	return true;
}

static enum mpk_code add_strings(struct reader *r, const struct mpk_bitstream_record *record,
				 struct mpk_error *err)
{
	struct strings s = { .first = r->meta_count, .blob = record->blob };
	uint64_t bit = 0, at;
	struct mpk_span text;

	if (record->count < 2 || record->ops[1] > s.blob.len || record->ops[0] > s.blob.len * 8)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload",
				       (uint64_t)(s.blob.data ? s.blob.data - r->bytes.data : 0),
				       "the strings of metadata reach beyond their table");
	s.count = record->ops[0];
	at = s.chars_off = record->ops[1];
	for (uint64_t i = 0; i < s.count; i++) {
		if (!next_string(&s, &bit, &at, &text))
			return mpk_fail_offset(err, MPK_E_CORRUPT, "payload",
					       (uint64_t)(s.blob.data - r->bytes.data),
					       "the strings of metadata reach beyond their table");
		if (!r->kernel_key && mpk_span_is(text, "kernel"))
			r->kernel_key = s.first + i + 1;
	}
	r->meta_count += s.count;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->strings, r->string_count, r->string_cap), err);
	r->strings[r->string_count++] = s;
	return MPK_OK;
}

/* Before LLVM 4 each string has a record. */
static enum mpk_code add_string(struct reader *r, const struct mpk_bitstream_record *record,
				struct mpk_error *err)
{
	struct strings s = { .first = r->meta_count++, .count = 1 };
	struct mpk_span text;

	/* Only strings that are looked up later are kept. */
	if (record->count > 256)
		return MPK_OK;
	MPK_TRY(text_of(r, record, 0, &text, err));
	if (!r->kernel_key && mpk_span_is(text, "kernel"))
		r->kernel_key = s.first + 1;
	s.blob = text;
	s.chars_off = UINT64_MAX; /* the whole record is the string */
	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->strings, r->string_count, r->string_cap), err);
	r->strings[r->string_count++] = s;
	return MPK_OK;
}

static enum mpk_code add_node(struct reader *r, const struct mpk_bitstream_record *record,
			      struct mpk_error *err)
{
	struct meta_node n = { r->meta_count++, r->link_count, record->count };

	MPK_TRY_ALLOC(MPK_VEC_ROOM(r->nodes, r->node_count, r->node_cap) &&
			      mpk_vec_reserve(&r->links, &r->link_cap,
					      r->link_count + record->count, sizeof *r->links),
		      err);
	if (record->count)
		memcpy(r->links + r->link_count, record->ops, record->count * sizeof *r->links);
	r->link_count += record->count;
	r->nodes[r->node_count++] = n;
	return MPK_OK;
}

static enum mpk_code see_named_node(struct reader *r, const struct mpk_bitstream_record *record,
				    struct mpk_error *err)
{
	if (strcmp(r->name, "llvm.ident") == 0 && record->count && !r->ident)
		r->ident = record->ops[0] + 1;
	if (strcmp(r->name, "nvvm.annotations") != 0)
		return MPK_OK;
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->kernels, &r->kernel_cap, r->kernel_count + record->count,
				      sizeof *r->kernels),
		      err);
	for (size_t i = 0; i < record->count; i++)
		r->kernels[r->kernel_count++] = record->ops[i];
	return MPK_OK;
}

static enum mpk_code see_metadata(struct reader *r, const struct mpk_bitstream_record *record,
				  struct mpk_error *err)
{
	struct meta_value v = { .id = r->meta_count };
	size_t len = record->count < sizeof r->name - 1 ? record->count : sizeof r->name - 1;

	switch (record->code) {
	case META_STRING:
		return add_string(r, record, err);
	case META_STRINGS:
		return add_strings(r, record, err);
	case META_VALUE:
		r->meta_count++;
		if (record->count < 2)
			return MPK_OK;
		v.value = record->ops[1];
		MPK_TRY_ALLOC(MPK_VEC_ROOM(r->meta_values, r->meta_value_count, r->meta_value_cap),
			      err);
		r->meta_values[r->meta_value_count++] = v;
		return MPK_OK;
	case META_NODE:
		return add_node(r, record, err);
	case META_NAME:
		for (size_t i = 0; i < len; i++)
			r->name[i] = (char)record->ops[i];
		r->name[len] = '\0';
		return MPK_OK;
	case META_NAMED_NODE:
		return see_named_node(r, record, err);
	case META_KIND:
	case META_ATTACHMENT:
	case META_GLOBAL:
	case META_INDEX_OFFSET:
	case META_INDEX:
		return MPK_OK;
	default:
		r->meta_count++;
		return MPK_OK;
	}
}

static struct meta_node *node_of(const struct reader *r, uint64_t id)
{
	size_t at = mpk_first_from(r->nodes, r->node_count, sizeof *r->nodes,
				   offsetof(struct meta_node, id), id);

	return at < r->node_count && r->nodes[at].id == id ? &r->nodes[at] : NULL;
}

/* Reads a node of !nvvm.annotations: a function, then keys and values. */
static void mark_kernel(struct reader *r, uint64_t id)
{
	struct meta_node *n = node_of(r, id);
	const uint64_t *links = n ? r->links + n->first : NULL;
	size_t at, count = n ? n->count : 0;

	if (count < 3 || !links[0])
		return;
	n->count = 0; /* a node is read once, however often it is named */
	at = mpk_first_from(r->meta_values, r->meta_value_count, sizeof *r->meta_values,
			    offsetof(struct meta_value, id), links[0] - 1);
	if (at == r->meta_value_count || r->meta_values[at].id != links[0] - 1)
		return;
	for (size_t i = 1; i < count; i += 2) {
		uint64_t value = r->meta_values[at].value;
		size_t k;

		if (links[i] != r->kernel_key)
			continue;
		k = r->first_entry +
		    mpk_first_from(r->entries + r->first_entry, r->entry_count - r->first_entry,
				   sizeof *r->entries, offsetof(struct entry, value), value);
		if (k < r->entry_count && r->entries[k].value == value)
			r->entries[k].is_kernel = true;
	}
}

static void find_compiler(struct reader *r)
{
	const struct meta_node *n = r->ident ? node_of(r, r->ident - 1) : NULL;
	uint64_t id, bit = 0, at;

	if (!n || !n->count || !r->links[n->first] || r->out.compiler.len)
		return;
	id = r->links[n->first] - 1;
	for (size_t i = 0; i < r->string_count; i++) {
		const struct strings *s = &r->strings[i];

		if (id < s->first || id - s->first >= s->count)
			continue;
		if (s->chars_off == UINT64_MAX) {
			r->out.compiler = s->blob;
			return;
		}
		at = s->chars_off;
		for (uint64_t k = s->first; k <= id; k++)
			if (!next_string(s, &bit, &at, &r->out.compiler))
				return;
	}
}

/* --- the walk ------------------------------------------------------------------------------- */

/* Reads a string table, which has the names of all modules before it. */
static enum mpk_code name_functions(struct reader *r, struct mpk_span names, struct mpk_error *err)
{
	for (; r->named_count < r->entry_count; r->named_count++) {
		struct entry *e = &r->entries[r->named_count];

		if (e->has_name && !mpk_span_sub(names, e->name_off, e->name_len, &e->name))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "payload",
				(uint64_t)(names.data - r->bytes.data),
				"the name of function %zu is beyond the table of names",
				r->named_count);
	}
	return MPK_OK;
}

static bool enter(void *arg, unsigned block, unsigned depth)
{
	struct reader *r = arg;

	switch (block) {
	case MODULE:
		if (depth == 1) {
			r->out.module_count++;
			r->first_entry = r->entry_count;
			r->values = r->version = 0;
		}
		return true;
	case PARAMATTR:
	case PARAMATTR_GROUP:
	case IDENTIFICATION:
		return true;
	case SYMBOLS:
	case METADATA:
	case STRINGS:
		return !r->head_only;
	default:
		return r->bodies;
	}
}

static enum mpk_code leave(void *arg, unsigned block, unsigned depth, struct mpk_error *err)
{
	struct reader *r = arg;

	(void)err;
	if (block == MODULE && depth == 1 && !r->head_only) {
		/* Metadata and attributes are numbered anew in each module. */
		for (size_t i = 0; r->kernel_key && i < r->kernel_count; i++)
			mark_kernel(r, r->kernels[i]);
		find_compiler(r);
		for (size_t i = r->first_entry; i < r->entry_count; i++)
			if (r->entries[i].attributes && r->entries[i].attributes <= r->list_count)
				r->entries[i].cpu = r->lists[r->entries[i].attributes - 1];
		r->meta_value_count = r->node_count = r->link_count = r->string_count = 0;
		r->group_count = r->list_count = r->kernel_count = 0;
		r->meta_count = r->kernel_key = r->ident = 0;
	}
	return MPK_OK;
}

/* Metadata blocks inside bodies of functions, which are nested deeper, are ignored. */
static enum mpk_code see(void *arg, const struct mpk_bitstream_record *record,
			 struct mpk_error *err)
{
	enum { GROUP = 3, LIST = 2, PRODUCER = 1, NAMES = 1 };
	struct reader *r = arg;

	if (record->depth == 1)
		switch (record->block) {
		case IDENTIFICATION:
			return record->code == PRODUCER
				       ? text_of(r, record, 0, &r->out.producer, err)
				       : MPK_OK;
		case MODULE:
			return see_module(r, record, err);
		case STRINGS:
			return record->code == NAMES ? name_functions(r, record->blob, err)
						     : MPK_OK;
		default:
			return MPK_OK;
		}
	if (record->depth != 2)
		return MPK_OK;
	switch (record->block) {
	case PARAMATTR_GROUP:
		return record->code == GROUP ? add_group(r, record, err) : MPK_OK;
	case PARAMATTR:
		return record->code == LIST ? add_list(r, record, err) : MPK_OK;
	case SYMBOLS:
		return see_symbol(r, record, err);
	case METADATA:
		return see_metadata(r, record, err);
	default:
		return MPK_OK;
	}
}

/* --- processors of the functions -------------------------------------------------------------- */

static void add_cpu(struct mpk_bitcode *out, struct mpk_span cpu)
{
	if (!cpu.len || out->has_cpus)
		return;
	if (out->cpu.len && !mpk_span_equal(out->cpu, cpu)) {
		out->cpu = (struct mpk_span){ 0 };
		out->has_cpus = true;
		return;
	}
	out->cpu = cpu;
}

static enum mpk_code keep_functions(struct reader *r, struct mpk_error *err)
{
	struct mpk_bitcode_function *list = mpk_arena_array(r->arena, r->entry_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < r->entry_count; i++) {
		const struct entry *e = &r->entries[i];

		list[i] = (struct mpk_bitcode_function){
			.name = e->name,
			.is_kernel = e->is_kernel && !e->is_declared,
			.is_declared = e->is_declared,
			.is_local = e->is_local,
			.cpu = e->cpu,
		};
		r->out.defined_count += !e->is_declared;
		r->out.kernel_count += list[i].is_kernel;
		if (!e->is_declared)
			add_cpu(&r->out, e->cpu);
	}
	r->out.functions = list;
	r->out.function_count = r->entry_count;
	return MPK_OK;
}

bool mpk_bitcode_is(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, MAGIC) || mpk_span_starts(bytes, WRAPPER);
}

/* Returns the content of the wrapper; without a wrapper all bytes. */
static enum mpk_code unwrap(struct mpk_span bytes, struct mpk_span *out, struct mpk_error *err)
{
	enum { OFFSET_AT = 8, BYTES_AT = 12, WRAPPER_BYTES = 20 };

	*out = bytes;
	if (mpk_span_starts(bytes, WRAPPER) &&
	    (bytes.len < WRAPPER_BYTES || !mpk_span_sub(bytes, mpk_load_u32(bytes.data + OFFSET_AT),
							mpk_load_u32(bytes.data + BYTES_AT), out)))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 0,
				       "the wrapper of the bitcode reaches beyond the end");
	if (!mpk_span_starts(*out, MAGIC))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload",
				       (uint64_t)(out->data - bytes.data),
				       "no LLVM bitcode begins here");
	return MPK_OK;
}

static enum mpk_code read_all(struct mpk_span bytes, bool head_only, bool bodies,
			      struct mpk_arena *arena, struct mpk_bitcode *out,
			      struct mpk_error *err)
{
	MPK_CLEANUP(reader_fini)
	struct reader r = { .arena = arena, .head_only = head_only, .bodies = bodies };
	enum mpk_code code;
	uint64_t used, before;

	MPK_TRY(unwrap(bytes, &r.bytes, err));
	before = (uint64_t)(r.bytes.data - bytes.data);
	r.visitor = (struct mpk_bitstream_visitor){ &r, enter, leave, see, false };
	code = mpk_bitstream_walk(r.bytes, &r.visitor, &used, err);
	if (code == MPK_E_CORRUPT && err && err->at.has_offset)
		err->at.offset += before;
	MPK_TRY(code);
	if (!r.out.module_count)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", before,
				       "the bitcode has no module");
	r.out.is_wrapped = before != 0;
	if (head_only) {
		for (size_t i = 0; i < r.group_count; i++)
			add_cpu(&r.out, r.groups[i].cpu);
	} else {
		MPK_TRY(keep_functions(&r, err));
		r.out.used = before ? before + r.bytes.len : used;
	}
	*out = r.out;
	return MPK_OK;
}

enum mpk_code mpk_bitcode_head(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err)
{
	return read_all(bytes, true, false, arena, out, err);
}

enum mpk_code mpk_bitcode_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_bitcode *out, struct mpk_error *err)
{
	return read_all(bytes, false, false, arena, out, err);
}

enum mpk_code mpk_bitcode_verify(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_bitcode *out, struct mpk_error *err)
{
	return read_all(bytes, false, true, arena, out, err);
}
