/* SPDX-License-Identifier: Apache-2.0 */
/* keep.c - copies of objects for the link of a library that contains its executor
 *
 * That library gives the functions of its models the names by which tvm-ffi finds functions,
 * "__tvm_ffi_main". Compiled code names its entry and each kernel so, too. So the copies get
 * another prefix of the same length, written over the old one in their string tables. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/compiler.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "io/mapping.h"
#include "io/output.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "toolchain/toolchain.h"

enum { PREFIX_BYTES = sizeof MPK_FUNCTION_PREFIX - 1 };
_Static_assert(sizeof MPK_FUNCTION_PREFIX_KEPT == sizeof MPK_FUNCTION_PREFIX, "in place");

struct keeping {
	const struct mpk_compilation *c;
	const char *folder;
	struct mpk_arena *arena;
	struct mpk_mapping *maps;
	struct mpk_private *copies;
	bool *is_left_out; /* number of objects that only hold the blob */
	bool is_usable;    /* all others */
};

/* --- names ------------------------------------------------------------------------------------ */

static bool is_renamed(const char *name)
{
	return strncmp(name, MPK_FUNCTION_PREFIX, PREFIX_BYTES) == 0;
}

/* Number of bytes before each byte of the strings that are overwritten. */
static enum mpk_code count_written(const struct mpk_symtab *table, uint32_t *before, bool *any,
				   struct mpk_error *err)
{
	size_t len = table->strings.len;
	struct mpk_symbol s;

	for (size_t i = 1; i < table->count; i++) {
		MPK_TRY(mpk_symtab_get(table, i, &s, err));
		if (!is_renamed(s.name))
			continue;
		*any = true;
		for (size_t k = 0; k < PREFIX_BYTES; k++)
			before[(size_t)(s.name - (const char *)table->strings.data) + k + 1] = 1;
	}
	for (size_t i = 1; i <= len; i++)
		before[i] += before[i - 1];
	return MPK_OK;
}

/* @data    of the file that the table was read from */
static enum mpk_code write_names(const struct mpk_symtab *table, struct mpk_span file,
				 uint8_t *data, struct mpk_error *err)
{
	struct mpk_symbol s;

	for (size_t i = 1; i < table->count; i++) {
		MPK_TRY(mpk_symtab_get(table, i, &s, err));
		if (is_renamed(s.name))
			memcpy(data + ((const uint8_t *)s.name - file.data),
			       MPK_FUNCTION_PREFIX_KEPT, PREFIX_BYTES);
	}
	return MPK_OK;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* A link-time optimizer stores the names again, in its own code. */
static bool has_other_code(const struct mpk_elf *elf)
{
	for (size_t i = 1; i < elf->section_count; i++) {
		const char *name = mpk_elf_section_name(elf, i);

		if (name &&
		    (strncmp(name, ".gnu.lto_", 9) == 0 || strncmp(name, ".llvm.lto", 9) == 0))
			return true;
	}
	return false;
}

/* @file    one object; data has the same bytes, to be changed */
static enum mpk_code rename_object(struct keeping *k, struct mpk_span file, uint8_t *data,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	bool any = false, apart;
	uint32_t *before;

	if (!mpk_span_starts(file, ELFMAG)) {
		k->is_usable = false;
		return MPK_OK;
	}
	MPK_TRY(mpk_elf_open(file, 0, &elf, err));
	MPK_TRY(mpk_symtab_static(&elf, &table, err));
	MPK_TRY_ARRAY(before, k->arena, table.strings.len + 2, err);
	MPK_TRY(count_written(&table, before, &any, err));

	/* Names with equal ends may share their bytes: a name that would change with another must stay. */
	struct mpk_symbol s;

	apart = true;
	for (size_t i = 1; i < table.count && apart; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		size_t from = (size_t)(s.name - (const char *)table.strings.data);
		size_t to = from + strlen(s.name);

		if (!s.name[0])
			continue;
		apart = before[to] - before[from] == (is_renamed(s.name) ? PREFIX_BYTES : 0);
	}
	k->is_usable = k->is_usable && apart && !has_other_code(&elf);
	return any && k->is_usable ? write_names(&table, file, data, err) : MPK_OK;
}

/* The index of an archive has the names of its members' symbols, too, with the same bytes. */
static enum mpk_code rename_archive(struct keeping *k, struct mpk_span file, uint8_t *data,
				    struct mpk_error *err)
{
	struct mpk_ar ar;

	MPK_TRY(mpk_ar_read(file, k->arena, &ar, err));
	for (size_t i = 0; i < ar.member_count; i++)
		MPK_TRY(rename_object(k, ar.members[i].data, data + ar.members[i].data_off, err));
	for (size_t i = 0; i < ar.symbol_count && k->is_usable; i++)
		if (mpk_span_starts(ar.symbols[i].name, MPK_FUNCTION_PREFIX))
			memcpy(data + (ar.symbols[i].name.data - file.data),
			       MPK_FUNCTION_PREFIX_KEPT, PREFIX_BYTES);
	return MPK_OK;
}

static enum mpk_code keep_look_at(struct keeping *k, size_t i, struct mpk_error *err)
{
	struct mpk_span file = k->maps[i].bytes;
	bool is_archive = mpk_ar_is(file), has_code;
	struct mpk_image image;

	MPK_TRY(mpk_image_open(file, NULL, k->arena, &image, err));
	has_code = image.function_count || image.context_symbol_count || image.has_ctx;
	k->is_left_out[i] = image.has_blob && !has_code && !is_archive;
	if (image.has_blob && !k->is_left_out[i])
		k->is_usable = false;
	if (k->is_left_out[i] || !k->is_usable)
		return MPK_OK;
	return is_archive ? rename_archive(k, file, k->copies[i].data, err)
			  : rename_object(k, file, k->copies[i].data, err);
}

/* What it opens ends with the process. */
static enum mpk_code keep_all(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	struct keeping *k = data;
	size_t count = k->c->source_count;

	(void)self;
	k->maps = mpk_arena_array(k->arena, count + 1, sizeof *k->maps);
	k->copies = mpk_arena_array(k->arena, count + 1, sizeof *k->copies);
	k->is_left_out = mpk_arena_array(k->arena, count + 1, sizeof *k->is_left_out);
	MPK_TRY_ALLOC(k->maps && k->copies && k->is_left_out, err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(mpk_mapping_open(k->c->objects[i], &k->maps[i], err));
		MPK_TRY(mpk_private_open(&k->maps[i], mpk_span_of(NULL, 0), &k->copies[i], err));
	}

	const char *writable[] = { k->folder };
	static const int none;
	const struct mpk_sandbox s = {
		.writable = writable, .writable_count = 1, .kept = &none, .kept_count = 0
	};

	/* a sanitizer's runtime starts a process to look for leaks */
	if (!k->c->tools->no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&s);

	for (size_t i = 0; i < count && k->is_usable; i++)
		MPK_TRY(keep_look_at(k, i, err));

	/* --- all of them, in a child ------------------------------------------------------ */
	size_t written = 0;

	for (size_t i = 0; i < k->c->source_count && k->is_usable; i++) {
		const char *path;

		if (k->is_left_out[i])
			continue;
		path = mpk_arena_printf(k->arena, "%s/%zu.%c", k->folder, written++,
					mpk_ar_is(k->maps[i].bytes) ? 'a' : 'o');
		MPK_TRY_ALLOC(path, err);
		MPK_TRY(mpk_output_store(path, mpk_span_of(k->copies[i].data, k->copies[i].len),
					 err));
	}
	return MPK_OK;
}

enum mpk_code mpk_objects_keep(const struct mpk_compilation *c, const char *folder,
			       struct mpk_error *err)
{
	struct keeping k = { .c = c, .folder = folder, .arena = c->arena, .is_usable = true };
	struct mpk_process reader = { .run = keep_all, .data = &k };

	return mpk_process_call(&reader, "reads the objects", err);
}
