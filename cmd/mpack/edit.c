/* SPDX-License-Identifier: Apache-2.0 */
/* mpack edit writes a copy of a file with other bytes for the named payloads. This is only correct
 * if writing the unchanged tree reproduces the bytes that were read, which is checked first. Images
 * outside the blob, which tvm-ffi's tools embed, are overwritten in place, because host code points
 * to them; containers of code for several GPUs are rewritten. */
#include <string.h>

#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "elf/edit.h"
#include "elf/foreign.h"
#include "elf/image.h"
#include "emit/emit.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/reader.h"
#include "mpack/mpack.h"
#include "package/images.h"
#include "package/package.h"
#include "standalone/standalone.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"
#include "trust/seal.h"
#include "verify/verify.h"

static const char *output, *sign_path;
static struct mpk_secret_key *sign_key;
static bool durable, force;
static struct mpk_option_list replacements;

static const struct mpk_option options[] = {
	{ 'o', "output", MPK_OPT_TEXT, "FILE", "write FILE; it may be the input", .target = &output,
	  .path = MPK_WRITES_EDITED },
	{ 0, "replace", MPK_OPT_LIST, "PATH=FILE",
	  "other bytes for a module, PATH#KERNEL, cubin:NAME, or CONTAINER#ARCH",
	  .target = &replacements, .path = MPK_READS_PAIR, .values = "replace" },
	{ 0, "sign", MPK_OPT_TEXT, "KEY", "sign what is written with a private Ed25519 key",
	  .target = &sign_path },
	{ 0, "force", MPK_OPT_FLAG, NULL, "overwrite what mpack did not write", .target = &force,
	  .path = MPK_WRITES_FORCE },
	{ 0, "fsync", MPK_OPT_FLAG, NULL, "return when the output is on the disk",
	  .target = &durable },
	{ 0 },
};

static const struct mpk_command command = {
	.name = "edit",
	.usage = "mpack edit FILE -o OUT --replace PATH=PAYLOAD...",
	.summary = "Swap payloads in a library or blob, or code for one GPU in a container of it;\n"
		   "everything else stays.",
	.examples = "  mpack edit deploy.so -o deploy.so --replace /0=vadd.cubin\n"
		    "  mpack edit model.blob -o new.blob --replace /0/1=weights.bin\n"
		    "  mpack edit k.fatbin -o k.fatbin --replace file:0#sm_90=new.cubin\n"
		    "  minspect deploy.so\n",
	.options = options,
};

struct edit {
	const char *name; /* name of the file */
	struct mpk_arena arena;
	struct mpk_mapping file;
	struct mpk_image image;
	struct mpk_tree tree;
	struct mpk_swap swap;
	struct mpk_mapping *payloads; /* one for each replacement */
	bool modules;                 /* a module is replaced, not only images outside the blob */
	size_t images;                /* number of images to replace in containers of GPU code */
	bool had_origin;              /* the old file had a signature or provenance */
};

/* --- reading --------------------------------------------------------------------- */

static bool is_code(const char *word)
{
	return strncmp(word, MPK_SWAP_CODE, strlen(MPK_SWAP_CODE)) == 0;
}

/* Whether a word has the form ".hip_fatbin:0#gfx90a=new.hsaco". */
static bool is_image(const char *word)
{
	const char *hash = strchr(word, '#');

	return word[0] != '/' && !is_code(word) && hash && hash < strchrnul(word, '=');
}

static enum mpk_code edit_load(struct edit *e, const char *path, struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_open(path, &e->file, err));
	MPK_TRY(mpk_image_open(e->file.bytes, NULL, &e->arena, &e->image, err));
	for (size_t i = 0; i < replacements.count; i++) {
		const char *word = replacements.items[i].value;

		/* Embedded images are named "cubin:NAME"; all other words except images in
		 * containers are tree paths. */
		e->modules |= !is_code(word) && !is_image(word);
		e->images += is_image(word);
	}
	if (e->images) {
		if (e->images < replacements.count)
			return mpk_fail(
				err, MPK_E_USAGE,
				"images in containers of GPU code are replaced by themselves: edit "
				"the file twice");
		if (e->image.is_packed || (e->image.container != MPK_CONTAINER_ELF_SO &&
					   e->image.container != MPK_CONTAINER_ELF_OBJ &&
					   e->image.container != MPK_CONTAINER_DEVICE))
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"images are replaced in fatbins, bundles, ELF libraries and objects only");
		return MPK_OK;
	}
	if (e->modules) {
		if (!e->image.has_blob)
			return mpk_foreign_fail(e->image.bytes,
						"there is no module blob in this file", err);
		if (e->image.container != MPK_CONTAINER_ELF_SO &&
		    e->image.container != MPK_CONTAINER_BLOB)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"only ELF libraries and bare blobs are edited; unpack this file, edit its .blob and build it anew");
		/* Its code contains the offset of each kernel in the blob, which other sizes would
		 * invalidate. */
		if (e->image.standalone)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"this library loads its kernels itself, from positions in its blob that its code knows: build it anew from its manifest");
		MPK_TRY(mpk_blob_read(e->image.blob, e->image.gen, &e->arena, &e->tree, err));
		e->swap = (struct mpk_swap){ .tree = &e->tree, .arena = &e->arena };

		/* Whether writing the tree reproduces the bytes that were read. Otherwise, as for a
		 * blob that TVM's serializer did not write, unrelated bytes would change. */
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		struct mpk_rope rope = mpk_rope_of(&scratch);
		struct mpk_span old;
		bool same = !e->tree.truncated && !e->tree.implied_lib &&
			    mpk_span_sub(e->image.blob, 0, e->tree.nbytes + 8, &old);

		if (same)
			MPK_TRY(mpk_blob_write(&e->tree, &rope, err));
		if (same && mpk_rope_equals(&rope, old))
			return MPK_OK;
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this blob is not laid out as TVM writes it, so it cannot be edited; build it anew");
	}
	if (e->image.container == MPK_CONTAINER_ELF_SO ||
	    e->image.container == MPK_CONTAINER_ELF_OBJ)
		return MPK_OK;
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"code beside a blob is replaced in ELF libraries and objects only");
}

/* --- replacing ------------------------------------------------------------------- */

static enum mpk_code replace(struct edit *e, const char *word, struct mpk_mapping *map,
			     struct mpk_error *err)
{
	const char *equals = strchr(word, '=');

	if (!equals || equals == word || !equals[1])
		return mpk_fail(err, MPK_E_USAGE, "--replace takes PATH=FILE, not '%s'",
				MPK_QUOTE(mpk_span_str(word)));
	const char *path = mpk_arena_copy(&e->arena, word, (size_t)(equals - word));
	MPK_TRY_ALLOC(path, err);
	MPK_TRY(mpk_mapping_open(equals + 1, map, err));
	return is_code(path) || is_image(word)
		       ? MPK_OK
		       : mpk_swap_payload(&e->swap, path, map, equals + 1, err);
}

static enum mpk_code swap_codes(struct edit *e, const struct mpk_private *file,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	enum mpk_code code = MPK_OK;

	for (size_t i = 0; i < replacements.count && code == MPK_OK; i++) {
		const char *word = replacements.items[i].value, *equals = strchr(word, '=');
		const char *path = mpk_arena_copy(&e->arena, word, (size_t)(equals - word));

		MPK_TRY_ALLOC(path, err);
		/* The second replacement would silently win. mpk_swap_payload checks modules. */
		for (size_t k = 0; k < i && is_code(path); k++)
			if (strncmp(replacements.items[k].value, word,
				    (size_t)(equals - word + 1)) == 0)
				return mpk_fail(err, MPK_E_USAGE, "'%s' is replaced twice",
						MPK_QUOTE(mpk_span_str(path)));
		if (is_code(path))
			code = mpk_swap_code(&e->image, file, path, e->payloads[i].bytes,
					     equals + 1, &e->arena, &report, err);
	}
	for (size_t i = 0; i < report.count; i++)
		mpk_error_at_file(&report.findings[i].error, e->name);
	mpk_diag_report(&report);
	return code;
}

/* --- writing --------------------------------------------------------------------- */

/* @blob    the blob that the output must contain when it is read again; NULL: it only has to
 * open */
static enum mpk_code write_out(struct mpk_mapping *file, const struct mpk_packed *s,
			       const struct mpk_rope *blob, unsigned mode, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	/* -o may name the input: the output is written to a temporary file and renamed over it. */
	mpk_mapping_may_be_replaced(file);
	MPK_TRY(mpk_output_open(output, mode, &o, err));
	mpk_progress_begin("writing", s->rope->len);
	enum mpk_code code = mpk_packed_write(s, o, err);
	mpk_progress_end();
	if (code == MPK_OK)
		code = mpk_confirm_output(o, blob, err);
	if (code == MPK_OK && sign_path)
		/* A pipe passes on bytes before the signature over all of them is known. */
		code = mpk_output_is_through(o)
			       ? mpk_fail(
					 err, MPK_E_UNSUPPORTED,
					 "what goes into a pipe or a device cannot be signed on its way")
			       : mpk_seal_file(mpk_output_fd(o),
					       &(struct mpk_seal_job){ .key = sign_key }, err);
	return mpk_output_finish(o, code, err);
}

/* Embeds the library again, with another blob. The library must stay at the same place in the file,
 * which the executor's code contains.
 * @out     receives the library */
static enum mpk_code carry_again(struct edit *e, const struct mpk_rope *blob, struct mpk_rope *out,
				 struct mpk_error *err)
{
	struct mpk_span old = e->image.bytes;
	struct mpk_standalone_input input = { .executor = e->image.executor,
					      .is_linked = e->image.is_linked,
					      .compress = e->image.unpacked_bytes > 0 };
	struct mpk_standalone_plan plan;
	struct mpk_rope rope = mpk_rope_of(&e->arena);
	struct mpk_private file = { .data = (uint8_t *)mpk_arena_copy(&e->arena, old.data, old.len),
				    .len = old.len };

	MPK_TRY_ALLOC(file.data, err);
	MPK_TRY(mpk_elf_replace(&file, e->image.blob_symbol, blob, &e->arena, &rope, err));
	MPK_TRY(mpk_rope_load(&rope, &e->arena, &input.library, err));
	MPK_TRY(mpk_standalone_plan(&input, &e->arena, &plan, err));
	*out = plan.model;
	if (out->len <= e->image.carrier.len)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"the model would be larger than its room in this standalone library, by %llu bytes: unpack it and build it anew",
		(unsigned long long)(out->len - e->image.carrier.len));
}

static enum mpk_code write_library(struct edit *e, const struct mpk_rope *blob,
				   struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(&e->arena), old = mpk_rope_of(&e->arena);
	struct mpk_rope model = mpk_rope_of(&e->arena);
	const bool carries = e->image.carrier.len > 0;
	const char *symbol = carries ? MPK_STANDALONE_SYMBOL : e->image.blob_symbol;
	struct mpk_private file;

	if (carries)
		MPK_TRY(carry_again(e, blob, &model, err));
	blob = carries ? &model : blob;
	mpk_rope_put_view(&old, mpk_image_noted(&e->image));
	mpk_mapping_use_file(&e->file, &old);
	MPK_TRY(mpk_rope_status(&old, err));
	MPK_TRY(mpk_private_open(&e->file, carries ? e->image.carrier : e->image.blob, &file, err));
	enum mpk_code code = mpk_origin_void(&file, &e->had_origin, err);
	if (code == MPK_OK)
		code = swap_codes(e, &file, err);
	if (code == MPK_OK)
		code = mpk_elf_replace(&file, symbol, blob, &e->arena, &rope, err);
	struct mpk_packed packed = {
		.file = &file, .note = e->image.note, .rope = &rope, .blob = blob, .old = &old
	};
	if (code == MPK_OK)
		code = write_out(&e->file, &packed, blob, 0777, err);
	/* These errors are about the edited file, and do not contain its name yet. */
	if (code == MPK_E_CORRUPT || code == MPK_E_RANGE)
		mpk_error_at_file(err, e->name);
	mpk_private_close(&e->file, &file);
	return code;
}

/* Handles "CONTAINER#ARCH=FILE", as recognised by is_image. */
static enum mpk_code swap_images(struct edit *e, const struct mpk_private *file,
				 struct mpk_rope *out, struct mpk_error *err)
{
	struct mpk_image_file *files =
		mpk_arena_array(&e->arena, replacements.count, sizeof *files);

	MPK_TRY_ALLOC(files, err);
	for (size_t i = 0; i < replacements.count; i++) {
		const char *word = replacements.items[i].value;
		const char *hash = strchr(word, '#'), *equals = strchr(word, '=');

		files[i] = (struct mpk_image_file){
			.name = equals + 1,
			.bytes = e->payloads[i].bytes,
			.container = mpk_arena_copy(&e->arena, word, (size_t)(hash - word)),
			.target = mpk_arena_copy(&e->arena, hash + 1, (size_t)(equals - hash - 1)),
		};
		MPK_TRY_ALLOC(files[i].container && files[i].target, err);
	}
	return mpk_images_replace(&e->image, file, files, replacements.count, out, err);
}

/* If no module is replaced, only the images change, and the blob stays. */
static enum mpk_code write_codes(struct edit *e, struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(&e->arena);
	struct mpk_private file;
	unsigned mode = e->image.container == MPK_CONTAINER_ELF_SO ? 0777 : 0666;

	MPK_TRY(mpk_private_open(&e->file, e->image.blob, &file, err));
	enum mpk_code code = mpk_origin_void(&file, &e->had_origin, err);
	if (code == MPK_OK)
		code = e->images ? swap_images(e, &file, &rope, err) : swap_codes(e, &file, err);
	if (!rope.len)
		mpk_rope_put_view(&rope, mpk_span_of(file.data, file.len));
	if (code == MPK_OK)
		code = mpk_rope_status(&rope, err);
	if (code == MPK_OK)
		code = write_out(&e->file, &(struct mpk_packed){ .rope = &rope }, NULL, mode, err);
	mpk_private_close(&e->file, &file);
	return code;
}

/* New payloads go through the checks of --verify; the others are unchanged. */
static enum mpk_code edit_verify(struct edit *e, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };

	MPK_TRY(mpk_verify_contents(&e->tree, e->name, false, &report, NULL, NULL, err));
	if (!report.errors) {
		mpk_diag_report(&report);
		return MPK_OK;
	}
	for (size_t i = 0; i < report.count; i++)
		if (report.findings[i].severity == MPK_ERROR) {
			*err = report.findings[i].error;
			break;
		}
	return mpk_failed(err->code);
}

/* Errors of the command line do not get the name of the file. */
static enum mpk_code place_error(const char *path, enum mpk_code code, struct mpk_error *err)
{
	if (code != MPK_OK && code != MPK_E_USAGE)
		mpk_error_at_file(err, path);
	return code;
}

static enum mpk_code edit_run(struct edit *e, const char *path, struct mpk_error *err)
{
	struct mpk_rope blob = mpk_rope_of(&e->arena);
	enum mpk_code code = edit_load(e, path, err);

	e->payloads = mpk_arena_array(&e->arena, replacements.count, sizeof *e->payloads);
	for (size_t i = 0; code == MPK_OK && i < replacements.count; i++)
		code = e->payloads ? replace(e, replacements.items[i].value, &e->payloads[i], err)
				   : mpk_fail_nomem(err);
	if (code == MPK_OK && !e->modules)
		return place_error(path, write_codes(e, err), err);
	if (code == MPK_OK)
		code = edit_verify(e, err);
	if (code == MPK_OK)
		code = mpk_blob_write(&e->tree, &blob, err);
	if (code == MPK_OK)
		code = mpk_rope_status(&blob, err);
	if (code != MPK_OK)
		return place_error(path, code, err);
	mpk_mapping_use_file(&e->file, &blob);
	if (e->image.container != MPK_CONTAINER_BLOB)
		return write_library(e, &blob, err);
	return write_out(&e->file, &(struct mpk_packed){ .rope = &blob }, &blob, 0666, err);
}

static int edit(const char *path)
{
	struct edit e = { .name = path };
	struct mpk_error err = { 0 };
	enum mpk_code code;

	mpk_progress_all_begin("editing", 0, 0);
	code = edit_run(&e, path, &err);
	mpk_progress_all_end();
	int status = code == MPK_OK ? MPK_EXIT_OK : mpk_diag_error(&err);

	if (status == MPK_EXIT_OK && e.had_origin)
		mpk_diag_warn(
			"%s: its signature and provenance told of the file before the edit, and were taken out%s",
			MPK_QUOTE(mpk_span_str(path)),
			sign_path ? "" : "; --sign KEY signs it anew");
	if (status == MPK_EXIT_OK)
		mpk_closing_line(output, e.file.bytes.len, "; %zu part%s replaced",
				 replacements.count, replacements.count == 1 ? "" : "s");
	for (size_t i = 0; e.payloads && i < replacements.count; i++)
		mpk_mapping_close(&e.payloads[i]);
	mpk_mapping_close(&e.file);
	mpk_arena_fini(&e.arena);
	return status;
}

/* Before the sandbox, in which neither the key nor libcrypto could be opened. */
static int prepare_sign(void)
{
	struct mpk_error err = { 0 };

	if (!sign_path || mpk_key_open(sign_path, output, &sign_key, &err) == MPK_OK)
		return MPK_EXIT_OK;
	return mpk_diag_error(&err);
}

int mpack_edit(int argc, char **argv)
{
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (argc - first != 1)
		status = mpk_diag_usage("edit takes one file, not %d", argc - first);
	else if (!output)
		status = mpk_diag_usage("no output given: name it with -o");
	else if (!replacements.count)
		status = mpk_diag_usage("nothing to replace: name it with --replace PATH=FILE");
	else
		status = prepare_sign();
	if (status == MPK_EXIT_OK) {
		if (durable)
			mpk_output_make_durable();
		mpack_memory_begin();
		mpk_confine_to(argv[first], options);
		status = edit(argv[first]);
	}
	mpk_key_close(&sign_key);
	mpk_options_fini(&command);
	return status;
}
