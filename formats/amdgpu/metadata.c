/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - the metadata of kernels, which a driver reads: a map of maps in MessagePack, in a
 * note. Unknown keys are skipped, whatever their value. */
#include "amdgpu/amdgpu.h"

#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "cubin/elf.h"
#include "msgpack/msgpack.h"

enum { NT_METADATA = 32, NOTE_BYTES = 12, STT_FUNC = 2 };

/* State of a read. */
struct reader {
	struct mpk_cubin_elf elf;
	struct mpk_arena *arena;
	struct mpk_amdgpu_kernel *kernels;
	size_t count;
	struct mpk_span formats; /* format strings of printf */
	uint64_t left; /* bytes of sections that may still be read, since sections may overlap */
};

/* --- fields of a map ------------------------------------------------------------------- */

/* Where the value of a key is stored: exactly one of these pointers is set. */
struct field {
	const char *key;
	struct mpk_span *text;
	uint32_t *u32;
	uint64_t *u64;
	bool *flag;
	enum mpk_code (*read)(struct reader *r, struct mpk_cursor *c, void *into,
			      struct mpk_error *err);
	void *into;
};

static enum mpk_code amdgpu_bad(const struct mpk_cursor *c, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", mpk_cursor_offset(c),
			       "code object: metadata: %s", what);
}

static enum mpk_code amdgpu_take(struct reader *r, const struct field *f, struct mpk_cursor *c,
				 struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	struct mpk_msgpack m;
	bool fits;

	if (f->read)
		return f->read(r, c, f->into, err);
	MPK_TRY(mpk_msgpack_next(&at, &m, err));
	if (f->text)
		fits = m.type == MPK_MSGPACK_STR;
	else if (f->flag)
		fits = m.type == MPK_MSGPACK_BOOL;
	else
		fits = m.type == MPK_MSGPACK_UINT && (f->u64 || m.number <= UINT32_MAX);
	if (!fits)
		return amdgpu_bad(c, f->key, err);
	if (f->text)
		*f->text = m.bytes;
	else if (f->flag)
		*f->flag = m.number != 0;
	else if (f->u64)
		*f->u64 = m.number;
	else
		*f->u32 = (uint32_t)m.number;
	*c = at;
	return MPK_OK;
}

static const struct field *amdgpu_find(const struct field *fields, size_t count,
				       struct mpk_span key)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_span_is(key, fields[i].key))
			return &fields[i];
	return NULL;
}

static enum mpk_code read_map(struct reader *r, struct mpk_cursor *c, const struct field *fields,
			      size_t count, struct mpk_error *err)
{
	struct mpk_msgpack map, key;
	const struct field *f;

	MPK_TRY(mpk_msgpack_next(c, &map, err));
	if (map.type != MPK_MSGPACK_MAP)
		return amdgpu_bad(c, "no map where one is needed", err);
	for (uint32_t i = 0; i < map.count; i++) {
		MPK_TRY(mpk_msgpack_next(c, &key, err));
		if (key.type != MPK_MSGPACK_STR)
			return amdgpu_bad(c, "a key is no string", err);
		f = amdgpu_find(fields, count, key.bytes);
		MPK_TRY(f ? amdgpu_take(r, f, c, err) : mpk_msgpack_skip(c, err));
	}
	return MPK_OK;
}

/* Reads the head of an array and allocates its elements: each takes at least a byte of the file,
 * and a map with one field more than ten. */
static enum mpk_code begin_list(struct reader *r, struct mpk_cursor *c, size_t size, void *out,
				size_t *count, struct mpk_error *err)
{
	struct mpk_msgpack m;
	void *list;

	MPK_TRY(mpk_msgpack_next(c, &m, err));
	if (m.type != MPK_MSGPACK_ARRAY)
		return amdgpu_bad(c, "no list where one is needed", err);
	if (m.count > mpk_cursor_left(c) / 8)
		return amdgpu_bad(c, "a list is longer than what is left", err);
	list = mpk_arena_array(r->arena, m.count, size);
	MPK_TRY_ALLOC(list, err);
	memcpy(out, &list, sizeof list);
	*count = m.count;
	return MPK_OK;
}

/* --- kernels: FORMAT.md 3 -------------------------------------------------------------- */

static enum mpk_code read_args(struct reader *r, struct mpk_cursor *c, void *into,
			       struct mpk_error *err)
{
	struct mpk_amdgpu_kernel *k = into;
	struct mpk_amdgpu_arg *args;
	size_t count;

	if (k->args) /* each further list would use memory */
		return amdgpu_bad(c, "a kernel has .args twice", err);
	MPK_TRY(begin_list(r, c, sizeof *args, &args, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_amdgpu_arg *a = &args[i];
		struct mpk_span access = { 0 };
		bool is_const = false;
		const struct field fields[] = {
			{ .key = ".name", .text = &a->name },
			{ .key = ".type_name", .text = &a->type_name },
			{ .key = ".value_kind", .text = &a->value_kind },
			{ .key = ".address_space", .text = &a->address_space },
			{ .key = ".offset", .u64 = &a->offset },
			{ .key = ".size", .u64 = &a->bytes },
			{ .key = ".actual_access", .text = &access },
			{ .key = ".is_const", .flag = &is_const },
		};

		MPK_TRY(read_map(r, c, fields, MPK_ARRAY_COUNT(fields), err));
		a->read_only = is_const || mpk_span_is(access, "read_only") ||
			       mpk_span_is(a->address_space, "constant");
	}

	/* The arguments that a launch passes come first, in whatever order the compiler stored them. */
	struct mpk_amdgpu_arg *sorted = mpk_arena_array(r->arena, count, sizeof *sorted);
	size_t visible = 0, hidden = 0;

	MPK_TRY_ALLOC(sorted, err);
	for (size_t i = 0; i < count; i++)
		visible += !mpk_span_starts(args[i].value_kind, "hidden_");
	k->visible_args = visible;
	for (size_t i = 0, shown = 0; i < count; i++) {
		bool is_hidden = mpk_span_starts(args[i].value_kind, "hidden_");

		sorted[is_hidden ? visible + hidden++ : shown++] = args[i];
	}
	k->args = sorted;
	k->arg_count = count;
	return MPK_OK;
}

static enum mpk_code read_block(struct reader *r, struct mpk_cursor *c, void *into,
				struct mpk_error *err)
{
	struct mpk_amdgpu_kernel *k = into;
	struct mpk_msgpack m;

	(void)r;
	MPK_TRY(mpk_msgpack_next(c, &m, err));
	if (m.type != MPK_MSGPACK_ARRAY || m.count != 3)
		return amdgpu_bad(c, ".reqd_workgroup_size is no list of three", err);
	for (size_t i = 0; i < 3; i++) {
		MPK_TRY(mpk_msgpack_next(c, &m, err));
		if (m.type != MPK_MSGPACK_UINT || m.number > UINT32_MAX)
			return amdgpu_bad(c, ".reqd_workgroup_size is no list of numbers", err);
		k->block[i] = (uint32_t)m.number;
	}
	return MPK_OK;
}

/* The documentation calls it a boolean; LLVM writes a boolean, or in some releases a number. */
static enum mpk_code read_wgp_mode(struct reader *r, struct mpk_cursor *c, void *into,
				   struct mpk_error *err)
{
	struct mpk_amdgpu_kernel *k = into;
	struct mpk_msgpack m;

	(void)r;
	MPK_TRY(mpk_msgpack_next(c, &m, err));
	if (m.type != MPK_MSGPACK_BOOL && m.type != MPK_MSGPACK_UINT)
		return amdgpu_bad(c, ".workgroup_processor_mode is no boolean", err);
	k->wgp_mode = m.number != 0;
	return MPK_OK;
}

static enum mpk_code amdgpu_read_kernel(struct reader *r, struct mpk_cursor *c,
					struct mpk_amdgpu_kernel *k, struct mpk_error *err)
{
	const struct field fields[] = {
		{ .key = ".name", .text = &k->name },
		{ .key = ".symbol", .text = &k->symbol },
		{ .key = ".sgpr_count", .u32 = &k->sgprs },
		{ .key = ".vgpr_count", .u32 = &k->vgprs },
		{ .key = ".agpr_count", .u32 = &k->agprs },
		{ .key = ".sgpr_spill_count", .u32 = &k->sgpr_spills },
		{ .key = ".vgpr_spill_count", .u32 = &k->vgpr_spills },
		{ .key = ".group_segment_fixed_size", .u64 = &k->lds_bytes },
		{ .key = ".private_segment_fixed_size", .u64 = &k->scratch_bytes },
		{ .key = ".uses_dynamic_stack", .flag = &k->dynamic_stack },
		{ .key = ".kernarg_segment_size", .u64 = &k->kernarg_bytes },
		{ .key = ".max_flat_workgroup_size", .u32 = &k->max_threads },
		{ .key = ".reqd_workgroup_size", .read = read_block, .into = k },
		{ .key = ".wavefront_size", .u32 = &k->wavefront },
		{ .key = ".workgroup_processor_mode", .read = read_wgp_mode, .into = k },
		{ .key = ".args", .read = read_args, .into = k },
	};

	k->sgprs = k->vgprs = k->sgpr_spills = k->vgpr_spills = MPK_AMDGPU_UNTOLD;
	k->lds_bytes = k->scratch_bytes = k->kernarg_bytes = MPK_AMDGPU_UNTOLD_BYTES;
	MPK_TRY(read_map(r, c, fields, MPK_ARRAY_COUNT(fields), err));
	return k->name.len ? MPK_OK : amdgpu_bad(c, "a kernel has no .name", err);
}

static enum mpk_code amdgpu_read_kernels(struct reader *r, struct mpk_cursor *c, void *into,
					 struct mpk_error *err)
{
	(void)into;
	if (r->kernels)
		return amdgpu_bad(c, "amdhsa.kernels stand there twice", err);
	MPK_TRY(begin_list(r, c, sizeof *r->kernels, &r->kernels, &r->count, err));
	for (size_t i = 0; i < r->count; i++)
		MPK_TRY(amdgpu_read_kernel(r, c, &r->kernels[i], err));
	return MPK_OK;
}

/* The format strings of OpenCL's printf are nowhere else in the file. */
static enum mpk_code amdgpu_read_formats(struct reader *r, struct mpk_cursor *c, void *into,
					 struct mpk_error *err)
{
	struct mpk_cursor from = *c;
	uint64_t begin = mpk_cursor_offset(c);

	(void)into;
	MPK_TRY(mpk_msgpack_skip(c, err));
	return mpk_read_bytes(&from, "code object: formats", mpk_cursor_offset(c) - begin,
			      &r->formats, err);
}

/* --- notes: FORMAT.md 2 ---------------------------------------------------------------- */

static uint64_t round4(uint64_t n)
{
	return (n + 3) & ~UINT64_C(3);
}

/* Finds the metadata among the notes of a section. Returns false if they are not there. */
static enum mpk_code find_note(struct mpk_span notes, uint64_t off, struct mpk_cursor *out,
			       bool *found, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(notes, off, "payload");
	struct mpk_span head, name, body, padding;

	while (mpk_cursor_left(&c) >= NOTE_BYTES) {
		MPK_TRY(mpk_read_bytes(&c, "code object: note", NOTE_BYTES, &head, err));
		uint64_t name_bytes = mpk_load_u32(head.data), bytes = mpk_load_u32(head.data + 4);
		uint32_t type = mpk_load_u32(head.data + 8);

		MPK_TRY(mpk_read_bytes(&c, "code object: name of a note", round4(name_bytes), &name,
				       err));
		uint64_t at = mpk_cursor_offset(&c);
		MPK_TRY(mpk_read_bytes(&c, "code object: note", bytes, &body, err));
		uint64_t pad = round4(bytes) - bytes;
		if (pad <= mpk_cursor_left(&c))
			MPK_TRY(mpk_read_bytes(&c, "code object: note", pad, &padding, err));
		if (type != NT_METADATA || name_bytes != 7 || !mpk_span_starts(name, "AMDGPU"))
			continue;
		*out = mpk_cursor_of(body, at, "payload");
		*found = true;
		return MPK_OK;
	}
	return MPK_OK;
}

/* Each byte is paid for once, because many sections may have the same bytes. */
static enum mpk_code read_section(struct reader *r, const struct mpk_cubin_section *s,
				  struct mpk_span *out, struct mpk_error *err)
{
	MPK_TRY(mpk_cubin_elf_data(&r->elf, s, out, err));
	if (out->len > r->left)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", s->off,
				       "code object: sections of notes and symbols overlap");
	r->left -= out->len;
	return MPK_OK;
}

/* --- code: the function of a kernel's descriptor, NAME.kd ------------------------------ */

static struct mpk_span function_of(const struct mpk_amdgpu_kernel *k)
{
	struct mpk_span s = k->symbol.len ? k->symbol : k->name;

	if (s.len > 3 && memcmp(s.data + s.len - 3, ".kd", 3) == 0)
		s.len -= 3;
	return s;
}

static void set_code(struct reader *r, const struct mpk_cubin_symbol *s,
		     struct mpk_amdgpu_kernel *k)
{
	struct mpk_cubin_section in;

	if (s->section == 0 || s->section >= r->elf.section_count ||
	    mpk_cubin_elf_section(&r->elf, s->section, &in, NULL) != MPK_OK ||
	    s->value < in.address || s->value - in.address > in.size ||
	    s->size > in.size - (s->value - in.address))
		return;
	(void)mpk_span_sub(r->elf.bytes, in.off + (s->value - in.address), s->size, &k->code);
}

static enum mpk_code amdgpu_read_symbols(struct reader *r, const struct mpk_cubin_section *table,
					 const struct mpk_strmap *names, struct mpk_error *err)
{
	struct mpk_span symbols, strings;
	struct mpk_cubin_section s;
	struct mpk_cubin_symbol symbol;
	size_t k;

	if (table->link >= r->elf.section_count)
		return MPK_OK;
	MPK_TRY(read_section(r, table, &symbols, err));
	MPK_TRY(mpk_cubin_elf_section(&r->elf, table->link, &s, err));
	MPK_TRY(mpk_cubin_elf_data(&r->elf, &s, &strings, err));
	for (size_t i = 0; i < symbols.len / MPK_CUBIN_SYMBOL_BYTES; i++) {
		MPK_TRY(mpk_cubin_elf_symbol(&r->elf, symbols, strings, i, &symbol, err));
		if (symbol.type == STT_FUNC && mpk_strmap_find(names, symbol.name, &k))
			set_code(r, &symbol, &r->kernels[k]);
	}
	return MPK_OK;
}

static enum mpk_code amdgpu_read_code(struct reader *r, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	struct mpk_cubin_section s;
	size_t found;

	for (size_t i = 0; i < r->count; i++)
		if (mpk_strmap_put(&names, function_of(&r->kernels[i]), i, &found) < 0)
			return mpk_fail_nomem(err);
	for (size_t i = 0; r->count && i < r->elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&r->elf, i, &s, err));
		if (s.type == MPK_CUBIN_SHT_DYNSYM || s.type == MPK_CUBIN_SHT_SYMTAB)
			MPK_TRY(amdgpu_read_symbols(r, &s, &names, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_amdgpu_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_amdgpu *out, struct mpk_error *err)
{
	struct reader r = { .arena = arena, .left = bytes.len };
	struct mpk_amdgpu object;

	MPK_TRY(mpk_amdgpu_read_head(bytes, &object, err));
	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_AMDGPU_EM, "code object", &r.elf, err));

	bool *found = &object.has_metadata;
	const struct field fields[] = {
		{ .key = "amdhsa.kernels", .read = amdgpu_read_kernels },
		{ .key = "amdhsa.printf", .read = amdgpu_read_formats },
	};
	struct mpk_cubin_section s;
	struct mpk_cursor c;
	struct mpk_span notes;

	for (size_t i = 0; i < r.elf.section_count && !*found; i++) {
		MPK_TRY(mpk_cubin_elf_section(&r.elf, i, &s, err));
		if (s.type != MPK_CUBIN_SHT_NOTE)
			continue;
		MPK_TRY(read_section(&r, &s, &notes, err));
		MPK_TRY(find_note(notes, s.off, &c, found, err));
		if (*found)
			MPK_TRY(read_map(&r, &c, fields, MPK_ARRAY_COUNT(fields), err));
	}

	uint64_t code_bytes = 0;

	MPK_TRY(amdgpu_read_code(&r, err));
	for (size_t i = 0; i < r.count; i++)
		code_bytes += r.kernels[i].code.len;
	object.shares_code = code_bytes > bytes.len;
	object.kernels = r.kernels;
	object.kernel_count = r.count;
	object.printf_formats = r.formats;
	*out = object;
	return MPK_OK;
}
