/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - from the bytes of a library to what its loader has to know
 *
 * The symbols that the dynamic linker will see tell where the blob is, in which generation, and what can be
 * called (object/exports.h). Lists, names and the tree live in one arena, views lead into the bytes, so a
 * file is one thing to give back.
 */
#include "runtime/file.h"

#include <stdlib.h>

#include "base/arena.h"
#include "elfdyn/elfdyn.h"
#include "io/mapping.h"

struct mpk_library_file {
	struct mpk_arena arena;
	struct mpk_mapping mapping; /* closed for bytes of a caller */
	struct mpk_elfdyn object;
	struct mpk_tree tree;
	struct mpk_host_code code;
	char *path;
};

static void file_release(void *owner)
{
	mpk_library_file_close(owner);
}

void mpk_library_file_close(struct mpk_library_file *file)
{
	if (!file)
		return;
	mpk_mapping_close(&file->mapping);
	mpk_arena_fini(&file->arena);
	free(file);
}

static enum mpk_code file_functions(struct mpk_library_file *file, const struct mpk_exports *e,
				    struct mpk_error *err)
{
	struct mpk_host_function *functions =
		mpk_arena_array(&file->arena, e->function_count + 1, sizeof *functions);

	MPK_TRY_ALLOC(functions, err);
	for (size_t i = 0; i < e->function_count; i++) {
		const struct mpk_image_function *f = &e->functions[i];

		functions[i] =
			(struct mpk_host_function){ f->name, f->symbol, f->is_entry, f->alias_of };
	}
	file->code.functions = functions;
	file->code.function_count = e->function_count;
	return MPK_OK;
}

static enum mpk_code file_read(struct mpk_library_file *file, struct mpk_span bytes,
			       struct mpk_error *err)
{
	struct mpk_survey found = { 0 };
	struct mpk_exports e;

	MPK_TRY(mpk_elfdyn_read(bytes, &file->arena, &file->object, err));
	const struct mpk_symbol_source source = mpk_elfdyn_source(&file->object);

	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	MPK_TRY(mpk_exports_read(&source, &found, NULL, &file->arena, &e, err));
	if (!e.has_blob && !e.function_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"neither a module blob nor a callable function is in it");
	/* a standalone library loads its kernels itself */
	if (e.has_blob && !e.standalone) {
		MPK_TRY(mpk_blob_read(e.blob, e.gen, &file->arena, &file->tree, err));
		file->code.tree = &file->tree;
	}
	file->code.path = file->path;
	file->code.object = &file->object;
	file->code.wants_copy = true;
	file->code.gen = e.gen;
	file->code.convention = e.convention;
	file->code.prefix = e.prefix;
	file->code.owner = file;
	file->code.release = file_release;
	return file_functions(file, &e, err);
}

static enum mpk_code file_make(const char *path, struct mpk_span bytes,
			       struct mpk_library_file **out, struct mpk_error *err)
{
	struct mpk_library_file *file = calloc(1, sizeof *file);
	enum mpk_code rc = MPK_OK;

	MPK_TRY_ALLOC(file, err);
	file->mapping.fd = -1;
	if (path) {
		rc = mpk_mapping_open(path, &file->mapping, err);
		bytes = file->mapping.bytes;
		file->path = mpk_arena_text(&file->arena, mpk_span_str(path));
	}
	if (rc == MPK_OK && path && !file->path)
		rc = mpk_fail_nomem(err);
	if (rc == MPK_OK)
		rc = file_read(file, bytes, err);
	if (rc != MPK_OK) {
		mpk_library_file_close(file);
		return mpk_failed(rc);
	}
	*out = file;
	return MPK_OK;
}

enum mpk_code mpk_library_file_open(const char *path, struct mpk_library_file **out,
				    struct mpk_error *err)
{
	return file_make(path, (struct mpk_span){ 0 }, out, err);
}

enum mpk_code mpk_library_file_of_memory(struct mpk_span bytes, const struct mpk_moved *moved,
					 void *(*symbol)(const char *name),
					 struct mpk_library_file **out, struct mpk_error *err)
{
	MPK_TRY(file_make(NULL, bytes, out, err));
	(*out)->code.symbol = symbol;
	if (moved)
		(*out)->code.moved = *moved;
	return MPK_OK;
}

const struct mpk_host_code *mpk_library_file_code(const struct mpk_library_file *file)
{
	return &file->code;
}
