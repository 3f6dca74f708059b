/* SPDX-License-Identifier: Apache-2.0 */
/* object_image.c - files other than ELF as images: Mach-O, COFF, PE and C sources
 *
 * Their readers (formats/) give one struct mpk_object. Here its symbols are presented in ELF's
 * terms, so that the search for blob and functions (functions.c) is the same for every format.
 */
#include "elf/object_image.h"

#include "code/format.h"
#include "elf/internal/elf.h"
#include "elf/reader.h"
#include "object/object.h"

/* --- formats --------------------------------------------------------------------------------- */

static const struct mpk_object_reader *const readers[] = {
	[MPK_FILE_MACHO] = &mpk_macho_reader,
	[MPK_FILE_PE] = &mpk_pe_reader,
	[MPK_FILE_COFF] = &mpk_coff_reader,
	[MPK_FILE_C] = &mpk_csource_reader,
};

/* COFF objects are last: their magic is a machine number of two bytes, which other files may
 * begin with by chance. */
enum mpk_file_format mpk_file_format_of(struct mpk_span bytes)
{
	static const enum mpk_file_format order[] = { MPK_FILE_MACHO, MPK_FILE_PE, MPK_FILE_COFF };

	if (mpk_span_starts(bytes, ELFMAG))
		return MPK_FILE_ELF;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(order); i++)
		if (readers[order[i]]->is(bytes))
			return order[i];
	return MPK_FILE_BLOB;
}

enum mpk_code mpk_file_read_object(enum mpk_file_format format, struct mpk_span bytes,
				   struct mpk_arena *arena, struct mpk_object *out,
				   struct mpk_error *err)
{
	if ((size_t)format >= MPK_ARRAY_COUNT(readers) || !readers[format])
		return mpk_fail(err, MPK_E_INTERNAL, "a file of this format has no other reader");
	return readers[format]->read(bytes, arena, out, err);
}

static enum mpk_container container_of(enum mpk_file_format format, enum mpk_object_kind kind)
{
	if (format == MPK_FILE_MACHO)
		return kind == MPK_OBJECT_RELOCATABLE ? MPK_CONTAINER_MACHO_OBJ
						      : MPK_CONTAINER_MACHO_SO;
	return format == MPK_FILE_PE     ? MPK_CONTAINER_PE_SO
	       : format == MPK_FILE_COFF ? MPK_CONTAINER_COFF_OBJ
					 : MPK_CONTAINER_C;
}

/* --- symbols, in ELF's terms ------------------------------------------------------------------ */

struct source {
	const struct mpk_object *object;
	const struct mpk_object_reader *reader;
	struct mpk_arena *arena; /* receives what C initializers stand for */
};

/* mpk_symbol.section is the index of the symbol, so that what is asked of it later is found. */
static enum mpk_code object_image_get(const void *self, size_t index, struct mpk_symbol *out,
				      struct mpk_error *err)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[index];
	bool has_bytes = s->content.len != 0;

	(void)err; /* everything was checked when the file was read */
	*out = (struct mpk_symbol){
		.name = s->name,
		.value = s->address,
		/* The size of an array in C source is known only when its initializer is read,
		 * which is for the blob alone. */
		.bytes = source->object->kind == MPK_OBJECT_SOURCE ? 0 : s->bytes,
		.section = index,
		.type = s->is_function             ? STT_FUNC
			: s->defined && !has_bytes ? STT_COMMON
						   : STT_OBJECT,
		.bind = s->weak     ? STB_WEAK
			: s->global ? STB_GLOBAL
				    : STB_LOCAL,
		.visibility = STV_DEFAULT,
		.defined = s->defined,
	};
	return MPK_OK;
}

static enum mpk_code bytes(const void *self, const struct mpk_symbol *symbol, struct mpk_span *out,
			   uint64_t *off, struct mpk_error *err)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[symbol->section];

	*off = s->content_off;
	if (source->reader->bytes)
		return source->reader->bytes(s, source->arena, out, err);
	*out = s->content;
	return MPK_OK;
}

static const char *object_image_section(const void *self, const struct mpk_symbol *symbol)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[symbol->section];

	return s->section ? source->object->sections[s->section - 1].name : NULL;
}

/* --- the image -------------------------------------------------------------------------------- */

/* A machine that has no number in ELF is named by the number it has in its own format. */
static enum mpk_code name_machine(const struct mpk_object *object, struct mpk_arena *arena,
				  struct mpk_image *image, struct mpk_error *err)
{
	image->machine = object->machine;
	if (object->machine)
		image->machine_name = mpk_elf_machine(object->machine);
	else if (object->kind != MPK_OBJECT_SOURCE)
		image->machine_name =
			mpk_arena_printf(arena, "machine 0x%x", object->machine_number);
	if (object->kind != MPK_OBJECT_SOURCE && !image->machine_name)
		return mpk_fail_nomem(err);
	return MPK_OK;
}

static enum mpk_code object_image_read(enum mpk_file_format format, struct mpk_span file,
				       uint64_t off, const enum mpk_generation *gen,
				       struct mpk_arena *arena, struct mpk_image *image,
				       struct mpk_error *err)
{
	struct mpk_object object = { 0 };
	struct source self = { &object, readers[format], arena };
	struct mpk_survey found = { 0 };

	MPK_TRY(mpk_file_read_object(format, file, arena, &object, err));
	image->container = container_of(format, object.kind);
	image->format = format;
	image->bytes = file;
	image->bytes_off = off;
	image->is_program = object.kind == MPK_OBJECT_PROGRAM;
	image->needed = object.needed;
	image->needed_count = object.needed_count;
	MPK_TRY(name_machine(&object, arena, image, err));

	struct mpk_symbol_source source = {
		&self, object.symbol_count, off, file.len, object_image_get,
		bytes, object_image_section
	};
	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	MPK_TRY(mpk_image_read_symbols(&source, &found, gen, arena, image, err));
	/* symbols have no sizes here: the blob says its own */
	if (image->has_blob)
		image->blob = mpk_image_blob(image);
	return MPK_OK;
}

const struct mpk_image_reader mpk_object_images = { object_image_read };

/* --- constants -------------------------------------------------------------------------------- */
