/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.c - an ELF file as an image: of a library the dynamic symbols, of an object all symbols */
#include "base/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/vec.h"
#include "elf/image.h"
#include "elf/internal/elf.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"
#include "standalone/standalone.h"

/* Device code that a library holds outside of its blob
 *
 * tvm-ffi embeds cubins, fatbins and PTX of C++ extensions between the symbols
 * __tvm_ffi__cubin_NAME and __tvm_ffi__cubin_NAME_end. They are local symbols: after strip nothing
 * says where the code is. */

/* A file may have a hundred thousand symbols, and hardly ever one of these. So the string table is
 * searched for the names before the symbols are read. */

#define PREFIX "__tvm_ffi__cubin_"
#define END "_end"

struct list {
	struct mpk_symbol *items;
	size_t count, cap;
};

static void elf_image_list_fini(struct list *l)
{
	free(l->items);
}

static int by_name_and_place(const void *a, const void *b)
{
	const struct mpk_symbol *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Returns the first end symbol after a begin symbol; NULL: there is none, so this is not code. */
static const struct mpk_symbol *end_of(const struct list *l, const struct mpk_symbol *begin,
				       struct mpk_arena *scratch)
{
	struct mpk_symbol want = { .section = begin->section, .value = begin->value };
	size_t low;

	want.name = mpk_arena_printf(scratch, "%s" END, begin->name);
	if (!want.name)
		return NULL;
	low = mpk_lower_bound(l->items, l->count, sizeof want, &want, by_name_and_place);
	if (low == l->count || strcmp(l->items[low].name, want.name) != 0 ||
	    l->items[low].section != begin->section)
		return NULL;
	return &l->items[low];
}

/* Returns the code at the beginning of the room between two symbols. Zeros after it are left from longer code
 * that it replaced, unless the code's own headers include them. */
static struct mpk_span used(struct mpk_span room)
{
	size_t len = room.len;
	uint64_t own = 0;

	while (len && room.data[len - 1] == 0)
		len--;
	if (len == room.len)
		return room;
	if (mpk_span_starts(room, ELFMAG)) {
		own = mpk_offload_image_bytes(room);
		own = own ? own : room.len; /* headers that do not read: nothing is cut off */
	} else if (mpk_fatbin_is(room) && room.len >= 16) {
		own = mpk_load_u16(room.data + 6) + mpk_load_u64(room.data + 8);
	} else {
		own = len + 1; /* a text ends with a NUL */
	}
	if (own > len)
		len = own < room.len ? (size_t)own : room.len;
	return mpk_span_of(room.data, len);
}

/* --- the list ------------------------------------------------------------------------------ */

MPK_ORDER_BY(elf_image_by_place, struct mpk_image_code, off)

static enum mpk_code elf_image_place(const struct mpk_elf *elf, const struct mpk_symbol *begin,
				     const struct mpk_symbol *end, struct mpk_image_code *code,
				     struct mpk_error *err)
{
	struct mpk_symbol s = *begin;
	struct mpk_span room;
	uint64_t off;

	s.bytes = end->value - begin->value;
	MPK_TRY(mpk_symbol_bytes(elf, &s, &room, &off, err));
	code->bytes = room;
	code->room_bytes = room.len;
	code->off = elf->base + off;
	code->symbol = begin->name;
	return MPK_OK;
}

/* Removes code that overlaps other code: no linker makes it, and it would be read more than once. */
static size_t elf_image_settle(struct mpk_image_code *codes, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct mpk_image_code *last = kept ? &codes[kept - 1] : NULL;

		if (last && codes[i].off - last->off < last->room_bytes)
			continue;
		codes[kept] = codes[i];
		codes[kept].bytes = used(codes[i].bytes);
		kept++;
	}
	return kept;
}

static enum mpk_code elf_image_find(const struct mpk_elf *elf, struct mpk_arena *arena,
				    const struct mpk_image_code **out, size_t *count,
				    struct mpk_error *err)
{
	MPK_CLEANUP(elf_image_list_fini) struct list list = { 0 };
	struct mpk_symtab table;

	MPK_TRY(mpk_symtab_static(elf, &table, err));
	if (!table.strings.len ||
	    !memmem(table.strings.data, table.strings.len, PREFIX, strlen(PREFIX)))
		return MPK_OK;

	struct mpk_symbol s;

	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (!s.defined || !s.section || strncmp(s.name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(list.items, list.count, list.cap), err);
		list.items[list.count++] = s;
	}
	if (list.count)
		qsort(list.items, list.count, sizeof *list.items, by_name_and_place);

	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_image_code *codes = mpk_arena_array(arena, list.count, sizeof *codes);
	size_t n = 0;

	MPK_TRY_ALLOC(codes, err);
	for (size_t i = 0; i < list.count; i++) {
		const struct mpk_symbol *end = end_of(&list, &list.items[i], &scratch);

		if (end && end->value > list.items[i].value)
			codes[n++].off = i; /* holds the offset of its symbol until the end */
	}

	/* Several objects of a library may each have a local symbol of the same name. */
	size_t same = 1;

	for (size_t i = 0; i < n; i++) {
		const char *name = list.items[codes[i].off].name + strlen(PREFIX);

		same = i && strcmp(list.items[codes[i - 1].off].name + strlen(PREFIX), name) == 0
			       ? same + 1
			       : 1;
		codes[i].name = same == 1 ? name : mpk_arena_printf(arena, "%s.%zu", name, same);
		MPK_TRY_ALLOC(codes[i].name, err);
	}

	for (size_t i = 0; i < n; i++) {
		const struct mpk_symbol *begin = &list.items[codes[i].off];

		MPK_TRY(elf_image_place(elf, begin, end_of(&list, begin, &scratch), &codes[i],
					err));
	}
	if (n)
		qsort(codes, n, sizeof *codes, elf_image_by_place);
	*out = codes;
	*count = elf_image_settle(codes, n);
	return MPK_OK;
}

/* Lists the code embedded in one ELF file, in file order
 * @out     in the arena; the second of one name is called "NAME.2"
 * Returns  MPK_OK, also with none, and for a file whose static symbols do not read, since nothing
 *          else needs them; MPK_E_NOMEM */
static enum mpk_code elf_embedded(const struct mpk_elf *elf, struct mpk_arena *arena,
				  const struct mpk_image_code **out, size_t *count,
				  struct mpk_error *err)
{
	enum mpk_code code;

	*out = NULL;
	*count = 0;
	code = elf_image_find(elf, arena, out, count, NULL);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* Skips the null symbol at the beginning of every table. */
static enum mpk_code elf_image_get(const void *self, size_t index, struct mpk_symbol *out,
				   struct mpk_error *err)
{
	return mpk_symtab_get(self, index + 1, out, err);
}

static enum mpk_code bytes(const void *self, const struct mpk_symbol *s, struct mpk_span *out,
			   uint64_t *off, struct mpk_error *err)
{
	const struct mpk_symtab *t = self;

	return mpk_symbol_bytes(t->elf, s, out, off, err);
}

static const char *elf_image_section(const void *self, const struct mpk_symbol *s)
{
	const struct mpk_symtab *t = self;

	return mpk_elf_section_name(t->elf, s->section);
}

static struct mpk_symbol_source source_of(const struct mpk_symtab *t)
{
	return (struct mpk_symbol_source){ t,
					   t->count ? t->count - 1 : 0,
					   t->elf->base,
					   t->elf->bytes.len,
					   elf_image_get,
					   bytes,
					   elf_image_section };
}

struct mpk_span mpk_image_blob(const struct mpk_image *image)
{
	struct mpk_span blob = image->blob;

	if (blob.len >= 8 && mpk_load_u64(blob.data) <= blob.len - 8)
		blob.len = (size_t)mpk_load_u64(blob.data) + 8;
	return blob;
}

enum mpk_code mpk_image_read_symbols(const struct mpk_symbol_source *source,
				     const struct mpk_survey *found, const enum mpk_generation *gen,
				     struct mpk_arena *arena, struct mpk_image *image,
				     struct mpk_error *err)
{
	struct mpk_exports e;

	MPK_TRY(mpk_exports_read(source, found, gen, arena, &e, err));
	image->has_blob = e.has_blob;
	image->gen = e.gen;
	image->gen_known = e.gen_known;
	image->standalone = e.standalone;
	image->blob = e.blob;
	image->blob_off = e.blob_off;
	image->blob_address = e.blob_address;
	image->blob_symbol_bytes = e.blob_symbol_bytes;
	image->blob_symbol = e.blob_symbol;
	image->blob_section = e.blob_section;
	image->prefix = e.prefix;
	image->prefixes = e.prefixes;
	image->prefix_count = e.prefix_count;
	image->convention = e.convention;
	image->functions = e.functions;
	image->function_count = e.function_count;
	image->getters = e.getters;
	image->getter_count = e.getter_count;
	image->context_symbols = e.context_symbols;
	image->context_symbol_count = e.context_symbol_count;
	image->has_ctx = e.has_ctx;
	image->undefined = e.undefined;
	image->undefined_count = e.undefined_count;
	return MPK_OK;
}

/* Reads the note of the blob. It names the symbol even after a tool has dropped or renamed it. */
static enum mpk_code read_note(const struct mpk_elf *elf, struct mpk_arena *arena,
			       struct mpk_image *image, struct mpk_error *err)
{
	struct mpk_note note;

	if (image->has_blob)
		return mpk_note_find(elf, image->blob_symbol, arena, &image->note, err);
	MPK_TRY(mpk_note_find(elf, NULL, arena, &note, err));
	image->lost_blob = note.name ? note.symbol : NULL;
	return MPK_OK;
}

static enum mpk_code fill_image(const struct mpk_elf *elf, const enum mpk_generation *gen,
				struct mpk_arena *arena, struct mpk_image *image,
				struct mpk_error *err)
{
	const GElf_Ehdr *h = &elf->header;

	image->bytes = elf->bytes;
	image->bytes_off = elf->base;
	image->container = h->e_type == ET_REL ? MPK_CONTAINER_ELF_OBJ : MPK_CONTAINER_ELF_SO;
	image->format = MPK_FILE_ELF;
	image->machine = h->e_machine;
	image->elf_class = h->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	image->big_endian = h->e_ident[EI_DATA] == ELFDATA2MSB;
	image->type = h->e_type;
	image->machine_name = mpk_elf_machine(h->e_machine);
	if (!image->machine_name)
		image->machine_name = mpk_arena_printf(arena, "machine 0x%x", h->e_machine);
	MPK_TRY_ALLOC(image->machine_name, err);

	/* A linker reads the static symbols of an object, which has no dynamic ones. */
	/* On entry image->prefix is the wanted prefix; the prefix of the chosen blob replaces it. */
	struct mpk_survey found = { .wanted = image->prefix }, hidden = found;
	struct mpk_symbol_source source, other;
	struct mpk_symtab table, all;

	MPK_TRY(mpk_symtab_dynamic(elf, &table, err));
	if (elf->header.e_type == ET_REL)
		MPK_TRY(mpk_symtab_static(elf, &table, err));
	source = source_of(&table);
	image->registers = elf->header.e_type == ET_DYN && mpk_symtab_registers(&table);
	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	/* a program with a system-lib linked in exports nothing: its symbols are in .symtab only */
	if (!found.rank && elf->header.e_type != ET_REL && !found.marks.tvm &&
	    !found.marks.current) {
		MPK_TRY(mpk_symtab_static(elf, &all, err));
		other = source_of(&all);
		MPK_TRY(mpk_symbols_survey(&other, &hidden, err));
		if (hidden.rank) {
			hidden.marks = found.marks;
			found = hidden;
			source = other;
		} else {
			found.has_ctx |= hidden.has_ctx;
		}
	}
	MPK_TRY(mpk_image_read_symbols(&source, &found, gen, arena, image, err));

	MPK_TRY(read_note(elf, arena, image, err));
	MPK_TRY(elf_embedded(elf, arena, &image->embedded, &image->embedded_count, err));
	MPK_TRY(mpk_elf_device_code(elf, image, arena, &image->devices, &image->device_count, err));
	return mpk_elf_needed(elf, arena, &image->needed, &image->needed_count, err);
}

/* Searches the string table before the symbols: a library may have a hundred thousand of them. */
static enum mpk_code find_carrier(const struct mpk_elf *elf, struct mpk_span *out,
				  struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol s;
	uint64_t off;

	*out = (struct mpk_span){ 0 };
	MPK_TRY(mpk_symtab_dynamic(elf, &table, err));
	if (!table.strings.len || !memmem(table.strings.data, table.strings.len,
					  MPK_STANDALONE_SYMBOL, strlen(MPK_STANDALONE_SYMBOL)))
		return MPK_OK;
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (s.defined && strcmp(s.name, MPK_STANDALONE_SYMBOL) == 0)
			return mpk_symbol_bytes(elf, &s, out, &off, err);
	}
	return MPK_OK;
}

enum mpk_code mpk_image_carrier(struct mpk_span file, struct mpk_span *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	*out = (struct mpk_span){ 0 };
	if (!mpk_span_starts(file, ELFMAG))
		return MPK_OK;
	MPK_TRY(mpk_elf_open(file, 0, &elf, err));
	return find_carrier(&elf, out, err);
}

/* Replaces the image of a standalone library by that of the library that it contains. It is
 * recognised by its symbol, which strip keeps; the digest in its note covers everything that it
 * contains.
 * Returns  MPK_OK, also for any other library; the errors of reading both */
static enum mpk_code read_carried(const struct mpk_elf *elf, struct mpk_arena *arena,
				  struct mpk_image *image, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf inner = { 0 };
	struct mpk_standalone model;
	struct mpk_span bytes, library;
	struct mpk_note note;

	MPK_TRY(find_carrier(elf, &bytes, err));
	if (!bytes.len)
		return MPK_OK;
	MPK_TRY(mpk_standalone_read(bytes, arena, &model, err));
	MPK_TRY(mpk_standalone_library(&model, ZSTD_decompress, arena, &library, err));
	MPK_TRY(mpk_note_find(elf, MPK_STANDALONE_SYMBOL, arena, &note, err));
	MPK_TRY(mpk_elf_open(library, 0, &inner, err));
	*image = (struct mpk_image){ .prefix = "" };
	MPK_TRY(fill_image(&inner, NULL, arena, image, err));
	image->is_packed = true;
	image->carrier = mpk_span_of(bytes.data, (size_t)model.bytes);
	image->executor = model.executor;
	image->is_linked = model.is_linked;
	image->packed_bytes = model.packed_bytes;
	image->unpacked_bytes = model.plain_bytes;
	image->note = note;
	return MPK_OK;
}

static enum mpk_code elf_image_read(enum mpk_file_format format, struct mpk_span bytes,
				    uint64_t off, const enum mpk_generation *gen,
				    struct mpk_arena *arena, struct mpk_image *image,
				    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_error cut = { 0 };

	(void)format;
	MPK_TRY(mpk_elf_open_mapped(bytes, off, &elf, &cut, err));
	MPK_TRY(fill_image(&elf, gen, arena, image, err));
	if (!image->has_blob)
		MPK_TRY(read_carried(&elf, arena, image, err));
	if (elf.is_cut) {
		image->cut = mpk_arena_keep(arena, &cut, 1, sizeof cut);
		MPK_TRY_ALLOC(image->cut, err);
	}
	return MPK_OK;
}

const struct mpk_image_reader mpk_elf_images = { elf_image_read };
