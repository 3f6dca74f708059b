/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.c - digests of the kernels of a cubin, and of the rest of it (FORMAT.md 3)
 *
 * A kernel or function has a code section, and sections whose names end with its name: together
 * they are one node. A variable is a node if relocations apply to it. Everything else that is
 * loaded is node 0, which every function reaches: constant banks are read at fixed offsets, so it
 * is not known which function reads which part. */
#include "canon/internal/images.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "cubin/elf.h"

enum {
	DIGEST = MPK_DIGEST_BYTES,
	OSABI_V2 = 0x41, /* CUDA 13 */
	SHT_CUDA_INFO = 0x70000000,
	STT_OBJECT = 1,
	STT_SECTION = 3,
	SHN_LORESERVE = 0xff00,
	STT_CUDA_OBJECT = 13,
	HASH_FACTOR =
		8, /* bytes that may be read for each byte of the file: parts of a hostile file
		    * overlap */
};

struct canon {
	struct mpk_canon_sections f;  /* section i is node i */
	uint8_t (*variables)[DIGEST]; /* digest of each symbol that is referred to */
	bool *has_variable;
	struct mpk_canon_parts parts, references;
	struct mpk_canon_edges edges;
	uint8_t (*own)[DIGEST];   /* digest of each node's sections, */
	uint8_t (*local)[DIGEST]; /* with its relocations, */
	uint8_t (*whole)[DIGEST]; /* and with all nodes that it reaches */
	struct mpk_error *err;
};

static void canon_cubin_canon_fini(struct canon *c)
{
	free(c->f.items);
	mpk_strmap_fini(&c->f.code);
	free(c->variables);
	free(c->has_variable);
	free(c->parts.items);
	free(c->references.items);
	free(c->edges.items);
	free(c->own);
	free(c->local);
	free(c->whole);
}

/* Whether a section has a size and no bytes. In relocatable files the sections of uninitialised
 * variables, shared and local memory have types of their own. */
static bool is_empty(const struct mpk_cubin_section *s)
{
	enum {
		GLOBAL = 0x70000007,
		LOCAL = 0x70000009,
		SHARED = 0x7000000a,
		RESERVED = 0x70000015
	};

	return s->type == MPK_CUBIN_SHT_NOBITS || s->type == GLOBAL || s->type == LOCAL ||
	       s->type == SHARED || s->type == RESERVED;
}

static enum mpk_code canon_cubin_add_part(struct canon *c, size_t node, struct mpk_canon_hash *h)
{
	uint8_t digest[DIGEST];

	MPK_TRY(mpk_canon_end(h, digest, c->err));
	MPK_TRY_ALLOC(mpk_canon_part(&c->parts, node, digest), c->err);
	return MPK_OK;
}

/* --- symbols ------------------------------------------------------------------------------------ */

/* Finds a symbol and its section; section NULL: none. The symbol of a section has the section's
 * name
 * Returns  MPK_OK; MPK_E_CORRUPT: no symbol has this number */
static enum mpk_code symbol_at(struct mpk_canon_sections *f, uint32_t i,
			       struct mpk_cubin_symbol *out, const struct mpk_canon_section **in,
			       struct mpk_error *err)
{
	*in = NULL;
	if (i >= f->symbol_count)
		return mpk_fail(err, MPK_E_CORRUPT, "cubin: no symbol has the number %u", i);
	MPK_TRY(mpk_cubin_elf_symbol(&f->elf, f->symbols, f->strings, i, out, err));
	MPK_TRY(mpk_canon_spend(&f->left, "cubin", out->name.len, err));
	if (out->section && out->section < SHN_LORESERVE && out->section < f->elf.section_count)
		*in = &f->items[out->section];
	if (out->type == STT_SECTION && *in)
		out->name = (*in)->head.name;
	return MPK_OK;
}

static enum mpk_code put_symbol(struct canon *c, struct mpk_canon_hash *h, uint32_t i)
{
	struct mpk_cubin_symbol s;
	const struct mpk_canon_section *in;

	MPK_TRY(symbol_at(&c->f, i, &s, &in, c->err));
	mpk_canon_symbol(h, s.name);
	return MPK_OK;
}

/* Finds the initial bytes of a variable; for the symbol of a section, those of the section. */
static enum mpk_code read_variable(struct canon *c, uint32_t i, const struct mpk_cubin_symbol *s,
				   const struct mpk_canon_section *in)
{
	uint64_t size = s->type == STT_SECTION ? in->head.size : s->size;
	struct mpk_canon_hash h;
	struct mpk_span data = { 0 };

	if (c->has_variable[i])
		return MPK_OK;
	if (!is_empty(&in->head)) {
		MPK_TRY(mpk_cubin_elf_data(&c->f.elf, &in->head, &data, c->err));
		if (!mpk_span_sub(data, s->type == STT_SECTION ? 0 : s->value, size, &data))
			return mpk_fail(c->err, MPK_E_CORRUPT,
					"cubin: a variable lies beyond the end of its section");
		MPK_TRY(mpk_canon_spend(&c->f.left, "cubin", data.len, c->err));
	}
	mpk_canon_begin(&h, "variable");
	mpk_canon_symbol(&h, in->base);
	mpk_canon_u64(&h, size);
	mpk_canon_bytes(&h, data);
	MPK_TRY(mpk_canon_end(&h, c->variables[i], c->err));
	c->has_variable[i] = true;
	return MPK_OK;
}

/* --- contents of sections ----------------------------------------------------------------- */

/* Whether the value of an attribute begins with a symbol (FORMAT.md 3.2). */
static bool begins_with_symbol(uint8_t id)
{
	enum {
		IMAGE_SLOT = 2,
		IMAGE_OFFSET = 6,
		IMAGE_SIZE,
		TEXTURE,
		SAMPLER = 0x13,
		MAX_STACK = 0x23
	};

	return id == MPK_CUBIN_PARAM_BANK || id == MPK_CUBIN_FRAME_BYTES ||
	       id == MPK_CUBIN_STACK_BYTES || id == MAX_STACK || id == MPK_CUBIN_REGISTERS ||
	       id == IMAGE_SLOT || id == IMAGE_OFFSET || id == IMAGE_SIZE || id == TEXTURE ||
	       id == SAMPLER;
}

static enum mpk_code put_attribute(struct canon *c, const struct mpk_cubin_attribute *a,
				   struct mpk_canon_hash *h)
{
	enum { EXTERNS = 0x0f };
	struct mpk_span data = a->data;

	mpk_canon_u64(h, a->id);
	mpk_canon_u64(h, a->value);
	if (a->id == EXTERNS) {
		for (; data.len >= 4; data = mpk_span_from(data, 4))
			MPK_TRY(put_symbol(c, h, mpk_load_u32(data.data)));
	} else if (begins_with_symbol(a->id) && data.len >= 4) {
		MPK_TRY(put_symbol(c, h, mpk_load_u32(data.data)));
		data = mpk_span_from(data, 4);
	}
	mpk_canon_bytes(h, data);
	return MPK_OK;
}

/* .nv.info: each attribute belongs to the function that its symbol names. */
static enum mpk_code share_attributes(struct canon *c, struct mpk_span data)
{
	struct mpk_cursor at = mpk_cursor_of(data, 0, "payload");
	struct mpk_cubin_attribute a;
	struct mpk_cubin_symbol s;
	const struct mpk_canon_section *in;

	while (mpk_cursor_left(&at)) {
		struct mpk_canon_hash h;
		enum mpk_code code;
		size_t node = 0;

		MPK_TRY(mpk_cubin_attribute_next(&at, &a, c->err));
		if (begins_with_symbol(a.id) && a.data.len >= 4) {
			MPK_TRY(symbol_at(&c->f, mpk_load_u32(a.data.data), &s, &in, c->err));
			node = in && in->role == MPK_CANON_TEXT ? in->node : 0;
		}
		mpk_canon_begin(&h, "attribute");
		code = put_attribute(c, &a, &h);
		if (code != MPK_OK) {
			mpk_canon_hash_fini(&h);
			return code;
		}
		MPK_TRY(canon_cubin_add_part(c, node, &h));
	}
	return MPK_OK;
}

/* The second form of the code begins with the number of its symbol, which is left out. */
static enum mpk_code put_content(struct canon *c, const struct mpk_canon_section *s,
				 struct mpk_span data, struct mpk_canon_hash *h)
{
	enum { SYMBOL_BYTES = 4 };

	if (s->head.type == SHT_CUDA_INFO) {
		struct mpk_cursor at = mpk_cursor_of(data, 0, "payload");
		struct mpk_cubin_attribute a;

		while (mpk_cursor_left(&at)) {
			MPK_TRY(mpk_cubin_attribute_next(&at, &a, c->err));
			MPK_TRY(put_attribute(c, &a, h));
		}
		return MPK_OK;
	}
	if (mpk_span_starts(s->base, ".nv.capmerc.") && data.len >= SYMBOL_BYTES)
		data = mpk_span_from(data, SYMBOL_BYTES);
	mpk_canon_bytes(h, data);
	return MPK_OK;
}

static enum mpk_code canon_cubin_read_section(struct canon *c, const struct mpk_canon_section *s)
{
	struct mpk_span data = { 0 };
	struct mpk_canon_hash h;
	enum mpk_code code;

	if (!is_empty(&s->head)) {
		MPK_TRY(mpk_cubin_elf_data(&c->f.elf, &s->head, &data, c->err));
		MPK_TRY(mpk_canon_spend(&c->f.left, "cubin", data.len, c->err));
	}
	if (s->role == MPK_CANON_INFO)
		return share_attributes(c, data);
	mpk_canon_begin(&h, "section");
	mpk_canon_symbol(&h, s->base);
	mpk_canon_u64(&h, s->head.type);
	mpk_canon_u64(&h, s->head.flags);
	mpk_canon_u64(&h, s->head.align);
	/* in a code section: assemblers up to CUDA 11 stored the number of registers here */
	mpk_canon_u64(&h, s->role == MPK_CANON_TEXT ? s->head.info >> 24 : 0);
	mpk_canon_u64(&h, is_empty(&s->head) ? s->head.size : 0);
	code = put_content(c, s, data, &h);
	if (code != MPK_OK) {
		mpk_canon_hash_fini(&h);
		return code;
	}
	return canon_cubin_add_part(c, s->node, &h);
}

/* --- relocations ------------------------------------------------------------------------------------ */

struct relocation {
	uint64_t off, info, addend;
};

static enum mpk_code add_relocation(struct canon *c, const struct mpk_canon_section *in,
				    const struct relocation *r)
{
	uint32_t number = (uint32_t)(r->info >> 32);
	struct mpk_cubin_symbol s;
	const struct mpk_canon_section *to;
	struct mpk_canon_hash h;
	uint8_t digest[DIGEST];

	MPK_TRY(symbol_at(&c->f, number, &s, &to, c->err));
	if (to && (to->role == MPK_CANON_DATA || to->role == MPK_CANON_COMMON))
		MPK_TRY(read_variable(c, number, &s, to));
	mpk_canon_begin(&h, "relocation");
	mpk_canon_symbol(&h, in->base);
	mpk_canon_u64(&h, r->off);
	mpk_canon_u64(&h, r->info & UINT32_MAX);
	mpk_canon_symbol(&h, s.name);
	mpk_canon_u64(&h, r->addend);
	/* a relocation inside the section of a function always has the same target */
	if (to && (to->role == MPK_CANON_TEXT || to->role == MPK_CANON_OF_TEXT))
		mpk_canon_u64(&h, s.value);
	if (to && to->role == MPK_CANON_TEXT)
		mpk_canon_raw(&h, mpk_span_of(c->own[to->node], DIGEST));
	else if (c->has_variable[number])
		mpk_canon_raw(&h, mpk_span_of(c->variables[number], DIGEST));
	MPK_TRY(mpk_canon_end(&h, digest, c->err));
	MPK_TRY_ALLOC(mpk_canon_part(&c->references, in->node, digest), c->err);
	if (to && (to->role == MPK_CANON_TEXT || to->role == MPK_CANON_DATA))
		MPK_TRY_ALLOC(mpk_canon_edge(&c->edges, in->node, to->node), c->err);
	return MPK_OK;
}

static enum mpk_code canon_cubin_read_relocations(struct canon *c,
						  const struct mpk_canon_section *s)
{
	bool has_addend = s->head.type == MPK_CUBIN_SHT_RELA;
	size_t each = has_addend ? 24 : 16;
	const struct mpk_canon_section *in;
	struct mpk_span data;

	if (s->head.info >= c->f.elf.section_count)
		return mpk_fail(c->err, MPK_E_CORRUPT, "cubin: relocations of no section");
	in = &c->f.items[s->head.info];
	if (in->role == MPK_CANON_NOISE || in->role == MPK_CANON_INFO ||
	    in->role == MPK_CANON_RELOCATIONS)
		return MPK_OK;
	MPK_TRY(mpk_cubin_elf_data(&c->f.elf, &s->head, &data, c->err));
	MPK_TRY(mpk_canon_spend(&c->f.left, "cubin", data.len, c->err));
	for (size_t at = 0; at + each <= data.len; at += each) {
		const uint8_t *p = data.data + at;
		struct relocation r = { mpk_load_u64(p), mpk_load_u64(p + 8),
					has_addend ? mpk_load_u64(p + 16) : 0 };

		MPK_TRY(add_relocation(c, in, &r));
	}
	return MPK_OK;
}

/* --- rows ----------------------------------------------------------------------------------------------- */

/* Variables without references count, too: a host program may read and write them by name. */
static enum mpk_code put_variables(struct canon *c)
{
	for (size_t i = 1; i < c->f.symbol_count; i++) {
		struct mpk_cubin_symbol s;
		const struct mpk_canon_section *in;
		struct mpk_canon_hash h;

		MPK_TRY(symbol_at(&c->f, (uint32_t)i, &s, &in, c->err));
		if (!in || in->role != MPK_CANON_DATA ||
		    (s.type != STT_OBJECT && s.type != STT_CUDA_OBJECT))
			continue;
		MPK_TRY(read_variable(c, (uint32_t)i, &s, in));
		mpk_canon_begin(&h, "variable");
		mpk_canon_symbol(&h, s.name);
		mpk_canon_raw(&h, mpk_span_of(c->variables[i], DIGEST));
		MPK_TRY(canon_cubin_add_part(c, 0, &h));
	}
	return MPK_OK;
}

static enum mpk_code canon_cubin_put_rows(struct canon *c, const struct mpk_code_info *info,
					  bool *is_kernel, struct mpk_canon_row *rows)
{
	for (size_t i = 0; i < info->kernel_count; i++) {
		size_t node;

		if (!mpk_strmap_find(&c->f.code, info->kernels[i].name, &node))
			return mpk_fail(c->err, MPK_E_CORRUPT, "cubin: a kernel without code");
		is_kernel[node] = true;
		MPK_TRY(mpk_canon_kernel(info->kernels[i].name, c->whole[node], &rows[i], c->err));
	}

	/* Everything but kernels: node 0, variables, and functions that other images may call. */
	struct mpk_canon_row *row = &rows[info->kernel_count];
	struct mpk_canon_hash h;

	c->parts.count = 0;
	MPK_TRY(put_variables(c));
	for (size_t i = 0; i < c->f.elf.section_count; i++) {
		const struct mpk_canon_section *s = &c->f.items[i];

		if (i && s->role != MPK_CANON_DATA && (s->role != MPK_CANON_TEXT || is_kernel[i]))
			continue;
		mpk_canon_begin(&h, "function");
		if (s->role == MPK_CANON_TEXT)
			mpk_canon_symbol(&h, s->head.name);
		mpk_canon_raw(&h, mpk_span_of(c->whole[i], DIGEST));
		MPK_TRY(canon_cubin_add_part(c, 0, &h));
	}
	return mpk_canon_sum(&c->parts, 1, NULL, &row->digest, c->err);
}

static enum mpk_code canon_cubin(const struct mpk_code_info *info, struct mpk_arena *arena,
				 struct mpk_canon_row *rows, struct mpk_error *err)
{
	MPK_CLEANUP(canon_cubin_canon_fini)
	struct canon c = { .f = { .left = HASH_FACTOR * (uint64_t)info->bytes.len }, .err = err };
	size_t count;
	bool *is_kernel;

	MPK_TRY(mpk_cubin_elf_open(info->bytes, MPK_CUBIN_EM_CUDA, "cubin", &c.f.elf, err));
	MPK_TRY(mpk_canon_sections_read(&c.f, err));
	count = c.f.elf.section_count;
	c.variables = calloc(c.f.symbol_count + 1, sizeof *c.variables);
	c.has_variable = calloc(c.f.symbol_count + 1, sizeof *c.has_variable);
	c.own = calloc(count, sizeof *c.own);
	c.local = calloc(count, sizeof *c.local);
	c.whole = calloc(count, sizeof *c.whole);
	is_kernel = mpk_arena_array(arena, count, sizeof *is_kernel);
	MPK_TRY_ALLOC(c.variables && c.has_variable && c.own && c.local && c.whole && is_kernel,
		      err);

	/* From CUDA 13 on, bits 24-31 are the number of a section of notes. */
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "header");
	mpk_canon_u64(&h, c.f.elf.osabi);
	mpk_canon_u64(&h, c.f.elf.abi);
	mpk_canon_u64(&h, c.f.elf.type);
	mpk_canon_u64(&h, c.f.elf.osabi == OSABI_V2 ? c.f.elf.flags & 0xffffff : c.f.elf.flags);
	MPK_TRY(canon_cubin_add_part(&c, 0, &h));

	for (size_t i = 1; i < c.f.elf.section_count; i++) {
		const struct mpk_canon_section *s = &c.f.items[i];

		/* a variable is digested by its symbol, not by its place among the others */
		if (s->role != MPK_CANON_NOISE && s->role != MPK_CANON_DATA &&
		    s->role != MPK_CANON_RELOCATIONS)
			MPK_TRY(canon_cubin_read_section(&c, s));
	}
	MPK_TRY(mpk_canon_sum(&c.parts, c.f.elf.section_count, NULL, c.own, c.err));

	for (size_t i = 1; i < c.f.elf.section_count; i++) {
		const struct mpk_canon_section *s = &c.f.items[i];

		if (s->role == MPK_CANON_RELOCATIONS)
			MPK_TRY(canon_cubin_read_relocations(&c, s));
		else if (s->role == MPK_CANON_TEXT)
			MPK_TRY_ALLOC(mpk_canon_edge(&c.edges, i, 0), c.err);
	}
	MPK_TRY(mpk_canon_sum(&c.references, c.f.elf.section_count, (const uint8_t(*)[DIGEST])c.own,
			      c.local, c.err));
	MPK_TRY(mpk_canon_reach(&c.edges, c.f.elf.section_count, (const uint8_t(*)[DIGEST])c.local,
				c.whole, c.err));
	return canon_cubin_put_rows(&c, info, is_kernel, rows);
}

const struct mpk_canon_reader mpk_canon_cubin = { &mpk_format_cubin, canon_cubin };
