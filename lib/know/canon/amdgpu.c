/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.c - digests of the kernels of an AMD code object, and of the rest of it (FORMAT.md 5)
 *
 * A code object is linked: code finds functions and variables by their distance. Even debug
 * information changes distances, because its symbols move everything after them. So each function
 * is a node, and a distance in its code is digested as the name of the target. Node 0 is everything
 * else that is loaded, with the functions to which no reference was found. */
#include "canon/internal/images.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"

enum {
	DIGEST = MPK_DIGEST_BYTES,
	SHT_PROGBITS = 1,
	DESCRIPTOR_BYTES = 64,
	/* offset in a descriptor of the 8 bytes that give the distance to the code */
	ENTRY_OFFSET = 16,
	SECTIONS_MOST = 64, /* sections that are searched for an address; linkers make 30 */
	HASH_FACTOR =
		8, /* bytes that may be read for each byte of the file: parts of a hostile file
		    * overlap */
};

/* State of one code object. Place i is node i + 1. */
struct canon {
	struct mpk_canon_object o;
	struct mpk_canon_parts parts;
	struct mpk_canon_edges edges;
	uint8_t (*own)[DIGEST]; /* digest of each node without its references */
	uint8_t (*local)[DIGEST];
	uint8_t (*whole)[DIGEST];
	struct mpk_error *err;
};

static void amd_canon_fini(struct canon *c)
{
	free(c->o.sections);
	free(c->o.places);
	free(c->o.slots);
	mpk_strmap_fini(&c->o.kernels);
	free(c->parts.items);
	free(c->edges.items);
	free(c->own);
	free(c->local);
	free(c->whole);
}

/* --- references in code ------------------------------------------------------------------------ */

/* Returns the index of the first place at or above an address. */
static size_t first_place(const struct mpk_canon_object *o, uint64_t address)
{
	return mpk_first_from(o->places, o->place_count, sizeof *o->places,
			      offsetof(struct mpk_canon_place, address), address);
}

/* Returns the function or variable that contains an address; NULL: none. If several begin at one
 * address, the last. */
static struct mpk_canon_place *place_at(const struct mpk_canon_object *o, uint64_t address)
{
	size_t end = address == UINT64_MAX ? o->place_count : first_place(o, address + 1);
	struct mpk_canon_place *p = end ? &o->places[end - 1] : NULL;

	return p && (address - p->address < p->size || address == p->address) ? p : NULL;
}

/* Returns the section that is loaded at an address; NULL: none. */
static const struct mpk_cubin_section *loaded_section(const struct mpk_canon_object *o,
						      uint64_t address)
{
	for (size_t i = 0; i < o->elf.section_count && i < SECTIONS_MOST; i++) {
		const struct mpk_cubin_section *s = &o->sections[i];

		if ((s->flags & MPK_CANON_SHF_ALLOC) && address >= s->address &&
		    address - s->address < s->size)
			return s;
	}
	return NULL;
}

/* Returns the word that a loader fills in at an address; NULL: none. */
static const struct mpk_canon_slot *filled_slot(const struct mpk_canon_object *o, uint64_t address)
{
	size_t low = mpk_first_from(o->slots, o->slot_count, sizeof *o->slots,
				    offsetof(struct mpk_canon_slot, address), address);

	return low < o->slot_count && o->slots[low].address == address ? &o->slots[low] : NULL;
}

/* Adds an address as a name and a distance from that name. A variable without a symbol, such as a
 * table for a switch, is named by its section and its offset there.
 * @from    the node that refers to the address
 * Returns  false if nothing is at the address; *failed: memory is out */
static bool put_address(struct canon *c, struct mpk_canon_hash *h, size_t from, uint64_t address,
			bool deep, bool *failed)
{
	struct mpk_canon_place *p = place_at(&c->o, address);
	const struct mpk_cubin_section *s = p ? NULL : loaded_section(&c->o, address);

	if (!p && !s)
		return false;
	mpk_canon_bytes(h, mpk_span_str("reference"));
	mpk_canon_symbol(h, p ? p->name : s->name);
	mpk_canon_u64(h, address - (p ? p->address : s->address));
	if (!p || !deep)
		return true;
	mpk_canon_raw(h, mpk_span_of(c->own[p - c->o.places + 1], DIGEST));
	if (!p->is_function)
		return true;
	*failed |= !mpk_canon_edge(&c->edges, from, (size_t)(p - c->o.places) + 1);
	p->is_referred_to |= (size_t)(p - c->o.places) + 1 != from;
	return true;
}

/* Adds a word that holds the address of a symbol. If the file defines a symbol of that name, its
 * definition is used. */
static bool put_slot(struct canon *c, struct mpk_canon_hash *h, uint64_t address)
{
	const struct mpk_canon_slot *slot = filled_slot(&c->o, address);

	if (!slot || !slot->name.len)
		return false;
	mpk_canon_bytes(h, mpk_span_str("slot"));
	mpk_canon_symbol(h, slot->name);
	mpk_canon_u64(h, slot->target);
	return true;
}

/* --- code -------------------------------------------------------------------------------------------- */

/* Words of s_getpc_b64, s_add_u32 and s_addc_u32 with literals, which compute an address from its
 * distance to the second instruction (AMDGPUUsage, R_AMDGPU_REL32_LO; the ISA's manuals, SOP1,
 * SOP2). In gfx6 to gfx11 only the third byte of the first word is different. */
enum { DISTANCE_WORDS = 5 };

static bool is_distance(const uint8_t *p, uint64_t address, uint64_t *target)
{
	uint32_t getpc = mpk_load_u32(p), add = mpk_load_u32(p + 4), addc = mpk_load_u32(p + 12);
	uint32_t op = getpc >> 8 & 0xff;

	if ((getpc & 0xff800000) != 0xbe800000 || (op != 0x1c && op != 0x1f && op != 0x47) ||
	    (add & 0xff800000) != 0x80000000 || (addc & 0xff800000) != 0x82000000)
		return false;
	if (((add & 0xff) != 0xff && (add >> 8 & 0xff) != 0xff) ||
	    ((addc & 0xff) != 0xff && (addc >> 8 & 0xff) != 0xff))
		return false;
	*target = address + 4 + mpk_load_u32(p + 8) + ((uint64_t)mpk_load_u32(p + 16) << 32);
	return true;
}

/* @deep    also add the targets of references, and edges to them */
static enum mpk_code put_code(struct canon *c, struct mpk_canon_hash *h, size_t node, bool deep)
{
	const struct mpk_canon_place *p = &c->o.places[node - 1];
	const uint8_t *code = p->bytes.data;
	bool failed = false;
	size_t kept = 0, at = 0;

	for (; at + sizeof(uint32_t) * DISTANCE_WORDS <= p->bytes.len; at += 4) {
		uint64_t target;

		if (!is_distance(code + at, p->address + at, &target) ||
		    !(put_slot(c, h, target) || put_address(c, h, node, target, deep, &failed)))
			continue;
		mpk_canon_u64(h, at);
		mpk_canon_bytes(h, mpk_span_of(code + kept, at + 8 - kept));
		mpk_canon_bytes(h, mpk_span_of(code + at + 12, 4));
		at += 4 * (DISTANCE_WORDS - 1);
		kept = at + 4;
	}
	mpk_canon_bytes(h, mpk_span_of(code + kept, p->bytes.len - kept));
	MPK_TRY_ALLOC(!failed, c->err);
	return mpk_canon_spend(&c->o.left, "code object", p->bytes.len, c->err);
}

/* Digests each function and variable alone, then functions with their references. */
static enum mpk_code read_places(struct canon *c, bool deep)
{
	for (size_t node = 1; node <= c->o.place_count; node++) {
		const struct mpk_canon_place *p = &c->o.places[node - 1];
		struct mpk_canon_hash h;
		enum mpk_code code = MPK_OK;

		mpk_canon_begin(&h, p->is_function ? "function" : "variable");
		if (p->is_function) {
			code = put_code(c, &h, node, deep);
		} else {
			mpk_canon_u64(&h, p->size);
			mpk_canon_bytes(&h,
					mpk_span_of(p->bytes.data, p->kernel ? 0 : p->bytes.len));
			code = mpk_canon_spend(&c->o.left, "code object", p->bytes.len, c->err);
		}
		if (code != MPK_OK) {
			mpk_canon_hash_fini(&h);
			return code;
		}
		MPK_TRY(mpk_canon_end(&h, deep ? c->local[node] : c->own[node], c->err));
	}
	return MPK_OK;
}

/* --- everything else that is loaded ------------------------------------------------------- */

static enum mpk_code amd_add_part(struct canon *c, struct mpk_canon_hash *h)
{
	uint8_t digest[DIGEST];

	MPK_TRY(mpk_canon_end(h, digest, c->err));
	MPK_TRY_ALLOC(mpk_canon_part(&c->parts, 0, digest), c->err);
	return MPK_OK;
}

/* Adds the bytes of a section without the descriptors in it. */
static enum mpk_code amd_put_data(struct canon *c, const struct mpk_cubin_section *s,
				  struct mpk_canon_hash *h)
{
	struct mpk_span data;
	uint64_t at = 0;

	MPK_TRY(mpk_cubin_elf_data(&c->o.elf, s, &data, c->err));
	MPK_TRY(mpk_canon_spend(&c->o.left, "code object", data.len, c->err));
	for (size_t i = first_place(&c->o, s->address);
	     i < c->o.place_count && c->o.places[i].address - s->address < s->size; i++) {
		const struct mpk_canon_place *p = &c->o.places[i];
		uint64_t begin = p->address - s->address;

		/* many symbols may be in many sections */
		MPK_TRY(mpk_canon_spend(&c->o.left, "code object", 1, c->err));
		if (!p->kernel || p->size != DESCRIPTOR_BYTES || begin < at ||
		    begin + p->size > data.len)
			continue;
		mpk_canon_bytes(h, mpk_span_of(data.data + at, begin - at));
		at = begin + p->size;
	}
	mpk_canon_bytes(h, mpk_span_from(data, at));
	return MPK_OK;
}

/* Whether a section is data: not code, which is digested by function, not a table of the loader,
 * and not space that the linker reserved. */
static bool is_data(const struct mpk_cubin_section *s)
{
	return (s->flags & MPK_CANON_SHF_ALLOC) && !mpk_span_is(s->name, ".text") &&
	       !mpk_span_is(s->name, ".relro_padding") &&
	       (s->type == SHT_PROGBITS || s->type == MPK_CUBIN_SHT_NOBITS);
}

static enum mpk_code amd_read_section(struct canon *c, const struct mpk_cubin_section *s)
{
	struct mpk_canon_hash h;
	enum mpk_code code = MPK_OK;

	mpk_canon_begin(&h, "section");
	mpk_canon_bytes(&h, s->name);
	if (s->type == MPK_CUBIN_SHT_NOBITS)
		mpk_canon_u64(&h, s->size);
	else
		code = amd_put_data(c, s, &h);
	if (code != MPK_OK) {
		mpk_canon_hash_fini(&h);
		return code;
	}
	return amd_add_part(c, &h);
}

static enum mpk_code read_slot(struct canon *c, const struct mpk_canon_slot *slot)
{
	const struct mpk_cubin_section *in = loaded_section(&c->o, slot->address);
	struct mpk_canon_hash h;
	bool failed = false;

	mpk_canon_begin(&h, "relocation");
	mpk_canon_bytes(&h, in ? in->name : (struct mpk_span){ 0 });
	mpk_canon_u64(&h, slot->address - (in ? in->address : 0));
	mpk_canon_u64(&h, slot->type);
	mpk_canon_symbol(&h, slot->name);
	if (slot->name.len || !put_address(c, &h, 0, slot->target, true, &failed))
		mpk_canon_u64(&h, slot->target);
	MPK_TRY(amd_add_part(c, &h));
	MPK_TRY_ALLOC(!failed, c->err);
	return MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static void put_metadata(struct mpk_canon_hash *h, const struct mpk_amdgpu_kernel *k)
{
	const uint64_t numbers[] = {
		k->sgprs,     k->vgprs,         k->agprs,         k->sgpr_spills,   k->vgpr_spills,
		k->lds_bytes, k->scratch_bytes, k->dynamic_stack, k->kernarg_bytes, k->max_threads,
		k->block[0],  k->block[1],      k->block[2],      k->wavefront,     k->arg_count,
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbers); i++)
		mpk_canon_u64(h, numbers[i]);
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct mpk_amdgpu_arg *a = &k->args[i];

		mpk_canon_bytes(h, a->name);
		mpk_canon_bytes(h, a->type_name);
		mpk_canon_bytes(h, a->value_kind);
		mpk_canon_bytes(h, a->address_space);
		mpk_canon_u64(h, a->offset);
		mpk_canon_u64(h, a->bytes);
		mpk_canon_u64(h, a->read_only);
	}
}

/* Adds a kernel's function and its descriptor, without the distance between them. */
static enum mpk_code begin_kernel(struct canon *c, size_t i, struct mpk_canon_row *row)
{
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "kernel");
	mpk_canon_symbol(&h, c->o.object->kernels[i].name);
	put_metadata(&h, &c->o.object->kernels[i]);
	mpk_canon_raw(&h, mpk_span_of(c->whole[0], DIGEST));
	return mpk_canon_end(&h, row->digest, c->err);
}

static enum mpk_code add_to_kernel(struct canon *c, size_t node, struct mpk_canon_row *row)
{
	const struct mpk_canon_place *p = &c->o.places[node - 1];
	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "kernel");
	mpk_canon_raw(&h, mpk_span_of(row->digest, DIGEST));
	if (p->is_function) {
		mpk_canon_raw(&h, mpk_span_of(c->whole[node], DIGEST));
	} else if (p->bytes.len == DESCRIPTOR_BYTES) {
		mpk_canon_raw(&h, mpk_span_of(p->bytes.data, ENTRY_OFFSET));
		mpk_canon_raw(&h, mpk_span_of(p->bytes.data + ENTRY_OFFSET + 8,
					      DESCRIPTOR_BYTES - ENTRY_OFFSET - 8));
	}
	return mpk_canon_end(&h, row->digest, c->err);
}

/* Adds the function first, wherever it is in the file. */
static enum mpk_code amd_put_kernels(struct canon *c, struct mpk_canon_row *rows)
{
	for (size_t i = 0; i < c->o.object->kernel_count; i++)
		MPK_TRY(begin_kernel(c, i, &rows[i]));
	for (size_t turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < c->o.place_count; i++)
			if (c->o.places[i].kernel && c->o.places[i].is_function == (turn == 0))
				MPK_TRY(add_to_kernel(c, i + 1, &rows[c->o.places[i].kernel - 1]));
	return MPK_OK;
}

static enum mpk_code put_image(struct canon *c, struct mpk_canon_row *row)
{
	c->parts.count = 0;
	for (size_t node = 0; node <= c->o.place_count; node++)
		if (!node || (c->o.places[node - 1].is_function && !c->o.places[node - 1].kernel))
			MPK_TRY_ALLOC(mpk_canon_part(&c->parts, 0, c->whole[node]), c->err);
	return mpk_canon_sum(&c->parts, 1, NULL, &row->digest, c->err);
}

static enum mpk_code read_graph(struct canon *c)
{
	c->own = calloc(c->o.place_count + 1, sizeof *c->own);
	c->local = calloc(c->o.place_count + 1, sizeof *c->local);
	c->whole = calloc(c->o.place_count + 1, sizeof *c->whole);
	MPK_TRY_ALLOC(c->own && c->local && c->whole, c->err);
	MPK_TRY(read_places(c, false));
	MPK_TRY(read_places(c, true));

	struct mpk_canon_hash h;

	mpk_canon_begin(&h, "header");
	mpk_canon_u64(&h, c->o.elf.abi);
	mpk_canon_u64(&h, c->o.elf.type);
	mpk_canon_u64(&h, c->o.elf.flags);
	mpk_canon_bytes(&h, c->o.object->printf_formats);
	MPK_TRY(amd_add_part(c, &h));
	for (size_t i = 0; i < c->o.elf.section_count; i++)
		if (is_data(&c->o.sections[i]))
			MPK_TRY(amd_read_section(c, &c->o.sections[i]));
	for (size_t i = 0; i < c->o.slot_count; i++)
		MPK_TRY(read_slot(c, &c->o.slots[i]));
	MPK_TRY(mpk_canon_sum(&c->parts, 1, NULL, c->local, c->err));

	for (size_t node = 1; node <= c->o.place_count; node++) {
		const struct mpk_canon_place *p = &c->o.places[node - 1];

		if (!p->is_function)
			continue;
		MPK_TRY_ALLOC(mpk_canon_edge(&c->edges, node, 0), c->err);
		if (!p->kernel && !p->is_referred_to)
			MPK_TRY_ALLOC(mpk_canon_edge(&c->edges, 0, node), c->err);
	}
	return mpk_canon_reach(&c->edges, c->o.place_count + 1, (const uint8_t(*)[DIGEST])c->local,
			       c->whole, c->err);
}

static enum mpk_code canon_amdgpu(const struct mpk_code_info *info, struct mpk_arena *arena,
				  struct mpk_canon_row *rows, struct mpk_error *err)
{
	MPK_CLEANUP(amd_canon_fini)
	struct canon c = { .o = { .object = info->content,
				  .left = HASH_FACTOR * (uint64_t)info->bytes.len },
			   .err = err };

	(void)arena;
	MPK_TRY(mpk_cubin_elf_open(info->bytes, MPK_AMDGPU_EM, "code object", &c.o.elf, err));
	if (c.o.elf.type == MPK_CUBIN_ET_REL)
		return mpk_fail(err, MPK_E_CORRUPT, "code object: not linked");
	MPK_TRY(mpk_canon_object_read(&c.o, err));
	MPK_TRY(read_graph(&c));
	MPK_TRY(amd_put_kernels(&c, rows));
	return put_image(&c, &rows[info->kernel_count]);
}

const struct mpk_canon_reader mpk_canon_amdgpu = { &mpk_format_hsaco, canon_amdgpu };
