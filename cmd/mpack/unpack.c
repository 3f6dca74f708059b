/* SPDX-License-Identifier: Apache-2.0 */
/* mpack unpack splits a file into its parts. lib/pack/package plans the output files, and ensures
 * that building them gives the same blob again. This file finds the parts of the input and writes
 * the planned files, in a directory that appears complete or not at all. */
#include <stdio.h>
#include <string.h>

#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "common/signals.h"
#include "elf/foreign.h"
#include "elf/image.h"
#include "elf/target.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "mpack/mpack.h"
#include "package/package.h"

static const char *output;
static bool durable;

static const struct mpk_option options[] = {
	{ 'o', "output", MPK_OPT_TEXT, "DIR", "write DIR, which must be empty or not there yet",
	  .target = &output, .path = MPK_WRITES_FOLDER },
	{ 0, "fsync", MPK_OPT_FLAG, NULL, "return when everything is on the disk",
	  .target = &durable },
	{ 0 },
};

static const struct mpk_command command = {
	.name = "unpack",
	.usage = "mpack unpack FILE -o DIR",
	.summary = "Take a library or blob apart: a manifest and payload files that\n"
		   "'mpack build DIR/" MPACK_MANIFEST "' turns back into the same blob.",
	.examples = "  mpack unpack deploy.so -o deploy\n"
		    "  mpack build deploy/" MPACK_MANIFEST " -o again.so\n"
		    "  mpack unpack model.blob -o model\n",
	.options = options,
};

struct unpack {
	struct mpk_arena arena;
	struct mpk_mapping file;
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_node lone; /* tree of a file without a blob */
	struct mpk_unpack plan;
};

/* Returns the package's name for a library without the package note: "deploy" for
 * "dir/deploy.so". */
static const char *unpacked_name(struct mpk_arena *arena, const char *path)
{
	const char *base = mpk_path_name(path);
	size_t len = strcspn(base, ".");

	return mpk_arena_copy(arena, base, strcmp(path, "-") == 0 ? 0 : len);
}

/* Objects without a blob are a package of host code only. */
static bool is_host_only(const struct mpk_image *image)
{
	return !image->has_blob && image->member_count && image->function_count;
}

static enum mpk_code read_file(struct unpack *u, const char *path, struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_open(path, &u->file, err));
	MPK_TRY(mpk_image_open(u->file.bytes, NULL, &u->arena, &u->image, err));
	if (is_host_only(&u->image)) {
		u->lone = (struct mpk_node){ .kind = mpk_span_str("_lib"), .is_lib = true };
		u->tree = (struct mpk_tree){ .gen = u->image.gen,
					     .nodes = &u->lone,
					     .count = 1,
					     .has_tree = true,
					     .used = 8 };
		return MPK_OK;
	}
	if (!u->image.has_blob)
		return mpk_foreign_fail(
			u->image.bytes,
			"there is no module blob in this file, only host code or nothing of TVM's: there is nothing to unpack",
			err);
	MPK_TRY(mpk_blob_read(u->image.blob, u->image.gen, &u->arena, &u->tree, err));
	/* a build from the pieces of a damaged blob would look valid */
	return mpk_image_check_digest(&u->image, &u->file, &u->arena, err);
}

/* Returns the triple of the machine that the objects are for; NULL for this machine or an
 * unknown one. These are the usual triples: code does not tell exactly what it must be
 * linked with. */
static const char *foreign_triple(const struct mpk_image *image)
{
	static const struct {
		enum mpk_object_format format;
		uint16_t machine;
		uint8_t class; /* ELF class, 32 or 64 bits; 0 if not ELF */
		bool big_endian;
		const char *triple;
	} rows[] = {
		{ MPK_OBJECT_ELF, EM_X86_64, 64, false, "x86_64-linux-gnu" },
		{ MPK_OBJECT_ELF, EM_AARCH64, 64, false, "aarch64-linux-gnu" },
		{ MPK_OBJECT_ELF, EM_386, 32, false, "i686-linux-gnu" },
		{ MPK_OBJECT_ELF, EM_ARM, 32, false, "arm-linux-gnueabihf" },
		{ MPK_OBJECT_ELF, EM_RISCV, 64, false, "riscv64-linux-gnu" },
		{ MPK_OBJECT_ELF, EM_S390, 64, true, "s390x-linux-gnu" },
		{ MPK_OBJECT_ELF, EM_PPC64, 64, false, "powerpc64le-linux-gnu" },
		{ MPK_OBJECT_MACHO, EM_X86_64, 0, false, "x86_64-apple-macos" },
		{ MPK_OBJECT_MACHO, EM_AARCH64, 0, false, "arm64-apple-macos" },
		{ MPK_OBJECT_COFF, EM_X86_64, 0, false, "x86_64-pc-windows-msvc" },
		{ MPK_OBJECT_COFF, EM_AARCH64, 0, false, "aarch64-pc-windows-msvc" },
		{ MPK_OBJECT_COFF, EM_386, 0, false, "i686-pc-windows-msvc" },
	};

	enum mpk_object_format format = image->format == MPK_FILE_MACHO  ? MPK_OBJECT_MACHO
					: image->format == MPK_FILE_COFF ? MPK_OBJECT_COFF
									 : MPK_OBJECT_ELF;

	for (size_t i = 0; image->machine && i < MPK_ARRAY_COUNT(rows); i++)
		if (rows[i].format == format && rows[i].machine == image->machine &&
		    rows[i].class == image->elf_class && rows[i].big_endian == image->big_endian)
			return strcmp(rows[i].triple, mpk_target_parse(NULL).triple) == 0
				       ? NULL
				       : rows[i].triple;
	return NULL;
}

/* Returns the suffix for a member when it is packed again: ".o", ".c", ".cc"; NULL if it is not
 * host code. */
static const char *suffix_of(const char *member)
{
	static const char *const suffixes[][2] = { { ".o", ".o" },     { ".obj", ".o" },
						   { ".c", ".c" },     { ".cc", ".cc" },
						   { ".cpp", ".cpp" }, { ".cxx", ".cxx" } };
	const char *dot = strrchr(member, '.');

	for (size_t i = 0; dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i][0]) == 0)
			return suffixes[i][1];
	return NULL;
}

static bool includes_tvm(struct mpk_span text)
{
	static const char word[] = "#include \"tvm/";

	return text.len && memmem(text.data, text.len, word, sizeof word - 1);
}

/* Takes the objects and sources of an archive, except the object that holds the blob. If an object
 * holds both the blob and code, nothing is taken: that object would bring the old blob with it. */
static enum mpk_code take_objects(struct unpack *u, struct mpk_unpack_input *input,
				  struct mpk_error *err)
{
	const struct mpk_image *image = &u->image;
	struct mpk_memory_file *objects =
		mpk_arena_array(&u->arena, image->member_count, sizeof *objects);

	MPK_TRY_ALLOC(objects, err);
	/* A function without a member is in the object that has the blob. */
	for (size_t i = 0; image->has_blob && i < image->function_count; i++)
		if (!image->functions[i].member)
			return MPK_OK;
	input->objects = objects;
	for (size_t i = 0; i < image->member_count; i++) {
		const char *suffix = suffix_of(image->members[i]);
		struct mpk_memory_file *object = &objects[input->object_count];

		if (!suffix ||
		    (image->has_blob && image->member_bytes[i].data == image->bytes.data))
			continue;
		object->name =
			mpk_arena_printf(&u->arena, "host/%zu%s", input->object_count++, suffix);
		object->bytes = image->member_bytes[i];
		MPK_TRY_ALLOC(object->name, err);
		input->has_tvm_headers |= strcmp(suffix, ".o") != 0 && includes_tvm(object->bytes);
	}
	if (input->object_count)
		input->target = foreign_triple(image);
	return MPK_OK;
}

static bool has_host(const struct mpk_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].is_lib)
			return true;
	return false;
}

static enum mpk_code make_plan(struct unpack *u, const char *path, struct mpk_error *err)
{
	struct mpk_unpack_input input = { .tree = &u->tree,
					  .blob = u->image.blob,
					  .name = u->image.note.name,
					  .standalone = u->image.standalone || u->image.executor,
					  .compress = u->image.unpacked_bytes > 0,
					  .host_only = is_host_only(&u->image) };

	if (!input.name || !mpk_manifest_is_name(input.name))
		input.name = mpk_manifest_name(unpacked_name(&u->arena, path));
	MPK_TRY_ALLOC(input.name, err);
	if (u->image.container == MPK_CONTAINER_ELF_SO)
		/* The code of a linked library cannot be split into objects, so the manifest names
		 * the library as its base. */
		input.library = u->image.bytes;
	else if (u->image.member_count && has_host(&u->tree))
		MPK_TRY(take_objects(u, &input, err));
	return mpk_unpack_plan(&input, &u->arena, &u->plan, err);
}

static enum mpk_code write_unpacked(struct unpack *u, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_directory_abandon) struct mpk_directory d = { 0 };

	if (durable)
		mpk_output_make_durable();
	/* Ctrl-C stops the copying, and the directory is removed before the program ends. */
	mpk_interrupt_catch(NULL);
	MPK_TRY(mpk_directory_open(output, &d, err));
	for (size_t i = 0; i < u->plan.count; i++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		const struct mpk_memory_file *f = &u->plan.files[i];
		struct mpk_rope rope = mpk_rope_of(&scratch);

		mpk_rope_put_view(&rope, f->bytes);
		mpk_mapping_use_file(&u->file, &rope);
		MPK_TRY(mpk_rope_status(&rope, err));
		MPK_TRY(mpk_directory_write(&d, f->name, &rope, err));
		mpk_diag_note("%s", f->name);
	}
	for (size_t i = 0; i < u->plan.note_count; i++)
		mpk_diag_note("%s", u->plan.notes[i]);
	return mpk_directory_commit(&d, err);
}

int mpack_unpack(int argc, char **argv)
{
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (argc - first != 1)
		return mpk_diag_usage("unpack takes one file, not %d", argc - first);
	if (!output)
		return mpk_diag_usage("no directory given: name it with -o");
	mpack_memory_begin();
	mpk_confine_to(argv[first], options);

	const char *path = argv[first];
	struct unpack u = { .file.fd = -1 };
	struct mpk_error err = { 0 };
	enum mpk_code code;

	mpk_progress_all_begin("unpacking", 0, 0);
	code = read_file(&u, path, &err);
	if (code == MPK_OK)
		code = make_plan(&u, path, &err);
	if (code != MPK_OK)
		mpk_error_at_file(&err, path);
	else
		code = write_unpacked(&u, &err);
	mpk_progress_all_end();
	mpk_interrupt_raise();
	if (code == MPK_OK)
		mpk_closing_line(output, 0, "; %zu file%s", u.plan.count,
				 u.plan.count == 1 ? "" : "s");
	mpk_mapping_close(&u.file);
	mpk_arena_fini(&u.arena);
	return code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);
}
