/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the input of a build: a manifest with its files, or a finished blob. Both go through the
 * checks of minspect --verify, and all findings are printed at once, each with its place in the
 * manifest. Nothing is compiled here; mpk_input_load (reader.c) calls this in a confined
 * process. */
#include "mpack/build.h"

#include <string.h>

#include "base/vec.h"
#include "code/format.h"
#include "common/diag.h"
#include "cubin/cubin.h"
#include "elf/foreign.h"
#include "io/path.h"
#include "kinds.h"
#include "package/package.h"
#include "program/model.h"
#include "standalone/standalone.h"
#include "text/escape.h"
#include "verify/verify.h"

static bool has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && strcmp(text + n - m, suffix) == 0;
}

static int set_files(struct mpk_input *in, const char *path)
{
	size_t count = in->package.input_count + 1;
	const char **files = mpk_arena_array(&in->arena, count, sizeof *files);

	if (!files)
		return mpk_diag_error(
			&(struct mpk_error){ .code = MPK_E_NOMEM, .text = "out of memory" });
	files[0] = path;
	for (size_t i = 1; i < count; i++)
		files[i] = in->package.inputs[i - 1];
	in->parts.files = (struct mpk_words){ files, count };
	return MPK_EXIT_OK;
}

static int report_status(struct mpk_input *in, enum mpk_code code, const struct mpk_error *err)
{
	/* Earlier findings may be wrong, so they are not printed. */
	if (code == MPK_E_NOMEM || code == MPK_E_INTERNAL)
		return mpk_diag_error(err);
	mpk_diag_report(&in->report);
	if (code != MPK_OK && !in->report.errors)
		return mpk_diag_error(err);
	return code == MPK_OK ? MPK_EXIT_OK : mpk_exit_status(code);
}

/* --- a bare blob ----------------------------------------------------------------- */

/* Returns the first error of a report as an error. */
static enum mpk_code first_error(const struct mpk_report *report, struct mpk_error *err)
{
	for (size_t i = 0; i < report->count; i++) {
		if (report->findings[i].severity != MPK_ERROR)
			continue;
		*err = report->findings[i].error;
		return mpk_failed(err->code);
	}
	return MPK_OK;
}

/* Reports the errors that --verify finds. A finished blob is packed unchanged, so warnings about it
 * would not help. */
static enum mpk_code verify_blob(struct mpk_input *in, const struct mpk_tree *tree,
				 struct mpk_error *err)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .bytes = in->text.bytes,
				   .has_blob = true,
				   .blob = in->text.bytes,
				   .gen = in->parts.gen };
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, in->path, in->text.bytes.len, &image, tree, &in->arena, err));
	MPK_TRY(mpk_verify_payloads(&view, &in->arena, &report, err));
	for (size_t i = 0; i < report.count; i++)
		if (report.findings[i].severity == MPK_ERROR)
			mpk_report_add(&in->report, MPK_ERROR, report.findings[i].check,
				       &report.findings[i].error);
	return first_error(&in->report, err);
}

static enum mpk_code check_blob(struct mpk_input *in, const char *abi, struct mpk_error *err)
{
	struct mpk_request *parts = &in->parts;
	enum mpk_generation seen = parts->gen;
	struct mpk_span bytes = in->text.bytes;
	struct mpk_tree tree;

	MPK_TRY(mpk_blob_guess(bytes, &seen, err));
	if (!abi)
		parts->gen = seen;
	/* A finished blob is packed unchanged, so --abi cannot move it into or out of the current
	 * generation; between the two older ones it only chooses the names of symbols. */
	else if ((parts->gen == MPK_GEN_CURRENT) != (seen == MPK_GEN_CURRENT))
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"the blob is of abi \"%s\"; a finished blob is packed as it is and cannot become \"%s\"",
			mpk_generation_get(seen)->abi, abi);
	MPK_TRY(mpk_blob_read(bytes, parts->gen, &in->arena, &tree, err));
	/* The header counts the bytes after its own eight. */
	if (tree.nbytes + 8 != bytes.len)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", 0,
				       "the header says %llu bytes, the file has %zu",
				       (unsigned long long)tree.nbytes + 8, bytes.len);
	MPK_TRY(verify_blob(in, &tree, err));
	parts->blob = mpk_rope_of(&in->arena);
	/* With a file, the blob is copied from file to file and never held in memory. */
	if (in->text.fd >= 0)
		mpk_rope_put_file(&parts->blob, in->text.fd, 0, bytes.len);
	else
		mpk_rope_put_view(&parts->blob, bytes);
	parts->has_blob = true;
	parts->module_count = tree.count;
	return mpk_rope_status(&parts->blob, err);
}

/* Returns "model" for "out/model.blob", as the name of the package. */
static const char *input_name_of(struct mpk_arena *arena, const char *path)
{
	const char *base = mpk_path_name(path);
	const char *dot = strrchr(base, '.');

	return mpk_arena_copy(arena, base,
			      dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

/* Finishes an input that is a single file: the package gets its name. */
static int load_alone(struct mpk_input *in, enum mpk_code code, struct mpk_error *err)
{
	int status;

	in->parts.is_blob = true;
	in->parts.name = mpk_manifest_name(input_name_of(&in->arena, in->path));
	in->parts.dir_named = "";
	if (code == MPK_OK && !in->parts.name)
		code = mpk_fail_nomem(err);
	mpk_error_at_file(err, in->path);
	status = report_status(in, code, err);
	return status == MPK_EXIT_OK ? set_files(in, in->path) : status;
}

/* --- a finished library --------------------------------------------------------------- */

static enum mpk_code carry_library(struct mpk_input *in, const struct mpk_input_options *o,
				   struct mpk_error *err)
{
	struct mpk_request *parts = &in->parts;
	struct mpk_compile_source *source = mpk_arena_array(&in->arena, 1, sizeof *source);
	const struct mpk_target target = mpk_target_parse(o->target);
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping archive = { .fd = -1 };
	struct mpk_standalone_input carried = { .library = in->text.bytes,
						.executor = o->executor,
						.compress = o->compress };
	struct mpk_standalone_plan plan;

	MPK_TRY_ALLOC(source, err);
	MPK_TRY(mpk_source_check(in->path, &target, err));
	*source = (struct mpk_compile_source){ .path = "standalone.c", .kind = MPK_SOURCE_C };
	/* A missing archive is reported when it is linked. */
	if (o->archive && mpk_mapping_open(o->archive, &archive, NULL) == MPK_OK)
		carried.archive = archive.bytes;
	MPK_TRY(mpk_standalone_plan(&carried, &in->arena, &plan, err));
	source->text = plan.source;
	parts->blob = plan.model;
	parts->needs_cxx = plan.needs_cxx;
	parts->has_state = plan.has_state;
	parts->is_cpu = plan.is_cpu;
	parts->unlinked = plan.unlinked;
	parts->is_packed = plan.is_packed;
	parts->packing = plan.packing;
	parts->gen = MPK_GEN_CURRENT;
	parts->symbol = MPK_STANDALONE_SYMBOL;
	parts->sources = source;
	parts->source_count = 1;
	parts->has_blob = parts->has_host = parts->has_sources = parts->has_callable = true;
	parts->module_count = 1;
	return MPK_OK;
}

/* --- a manifest ------------------------------------------------------------------ */

/* Host sources are classified here, not by the package, which does not compile. */
static void add_sources(struct mpk_input *in, const char *triple)
{
	const struct mpk_package *p = &in->package;
	struct mpk_target target = mpk_target_parse(triple ? triple : p->manifest.target.text);

	for (size_t i = 0; i < p->source_count; i++) {
		struct mpk_error err = { 0 };
		struct mpk_compile_source *s = &in->sources[in->parts.source_count];

		s->path = p->sources[i].path;
		s->flags = p->sources[i].flags;
		enum mpk_code code = mpk_source_classify(s->path, &s->kind, &err);
		bool compiled = s->kind == MPK_SOURCE_OBJECT || s->kind == MPK_SOURCE_ARCHIVE;

		if (code == MPK_OK && compiled &&
		    (code = mpk_source_check(s->path, &target, &err)) != MPK_OK)
			mpk_error_prefix(&err, "'%s': ", MPK_QUOTE(mpk_span_str(s->path)));
		if (code == MPK_OK) {
			in->parts.source_count++;
			continue;
		}
		/* The place inside the source file is replaced by the place in the manifest, which
		 * the user can edit. */
		err.at = (struct mpk_where){ 0 };
		err.at.line = p->sources[i].pos.line;
		err.at.column = p->sources[i].pos.column;
		mpk_error_at_file(&err, in->package.manifest.path);
		mpk_report_add(&in->report, MPK_ERROR, "host-source", &err);
	}
}

/* Adds the host code that mpack generates after the user's. */
static enum mpk_code add_generated(struct mpk_input *in, const struct mpk_input_options *o,
				   struct mpk_error *err)
{
	const char *triple = o->target ? o->target : in->package.manifest.target.text;
	bool as_here = !o->has_flags && mpk_target_parse(triple).is_native;
	struct mpk_generate_options how = { o->via_c, as_here && !o->via_c, o->system_lib,
					    o->only_check, o->prefix };
	struct mpk_generated texts[MPK_GENERATED_MAX];
	size_t count = 0;

	MPK_TRY(mpk_generate(&in->package, &how, &in->arena, texts, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_compile_source *s = &in->sources[in->parts.source_count++];

		*s = (struct mpk_compile_source){ .path = texts[i].name, .text = texts[i].text };
		MPK_TRY(mpk_source_classify(s->path, &s->kind, err));
	}
	if (in->package.manifest.standalone)
		in->parts.symbol = mpk_generation_get(in->parts.gen)->standalone_symbol;
	return MPK_OK;
}

/* Returns the place in the manifest that names a module's payload. */
static struct mpk_pos payload_pos(const struct mpk_manifest_module *m)
{
	if (m->payload.text)
		return m->payload.pos;
	if (m->data.text)
		return m->data.pos;
	if (m->function_count && m->functions[0].data.text)
		return m->functions[0].data.pos;
	/* Models have their payload under the key graph. */
	struct mpk_toml_str graph = mpk_manifest_module_extra(m, "graph");
	return graph.text ? graph.pos : m->pos;
}

static void place_finding(void *data, size_t node, struct mpk_error *e)
{
	const struct mpk_package *p = data;
	struct mpk_pos pos = payload_pos(&p->manifest.modules[p->node_module[node]]);

	e->at = (struct mpk_where){ .line = pos.line, .column = pos.column };
	mpk_error_at_file(e, p->manifest.path);
}

/* Runs the payload checks of --verify, and reports findings at their places in the manifest. */
static enum mpk_code verify_package(struct mpk_input *in, struct mpk_error *err)
{
	struct mpk_package *p = &in->package;

	MPK_TRY(mpk_verify_contents(&p->tree, p->manifest.path, p->manifest.standalone, &in->report,
				    place_finding, p, err));
	return first_error(&in->report, err);
}

/* Whether the package contains anything callable. Kernels, models and host code are, and so may be
 * modules of unknown kinds; data is not. */
static bool has_callable_module(const struct mpk_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_kind *kind = mpk_kind_find(tree->nodes[i].kind);

		if (!kind || kind->role != MPK_ROLE_DATA)
			return true;
	}
	return false;
}

/* A standalone package with models is built with their executor. */
static bool has_models(const struct mpk_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (mpk_model_is_kind(tree->nodes[i].kind))
			return true;
	return false;
}

/* Whether all functions of a standalone package would be those of kernels with a loader. */
static bool could_load(const struct mpk_package *p)
{
	int32_t device = p->launch_count > 0 ? p->launches[0].device_type : 0;

	return !p->manifest.standalone && !has_models(&p->tree) &&
	       (device == MPK_DL_CUDA || device == MPK_DL_OPENCL);
}

static enum mpk_code load_package(struct mpk_input *in, const struct mpk_input_options *o,
				  struct mpk_span text, struct mpk_error *err)
{
	struct mpk_package_input input = { .text = text,
					   .path = in->path,
					   .granted = &in->granted,
					   .gen = o->abi ? &in->parts.gen : NULL };

	MPK_TRY(mpk_package_load(&input, &in->arena, &in->report, &in->package, err));
	in->parts.gen = in->package.manifest.gen;
	in->parts.is_embedded = in->package.manifest.standalone && has_models(&in->package.tree);
	in->parts.could_load = could_load(&in->package);
	in->parts.is_packed = in->package.manifest.compress.text != NULL;
	if (in->parts.is_packed && !in->parts.is_embedded)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"'compress' is for packages with models: launch functions load their kernels as they are");
	if (in->parts.is_embedded) /* an embedded library is handled like any other */
		in->package.manifest.standalone = false;
	MPK_TRY_ARRAY(in->sources, &in->arena, in->package.source_count + MPK_GENERATED_MAX, err);
	add_sources(in, o->target);
	if (in->report.errors)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "host sources cannot be used");
	MPK_TRY(verify_package(in, err));
	MPK_TRY(add_generated(in, o, err));

	const struct mpk_manifest *manifest = &in->package.manifest;
	struct mpk_request *parts = &in->parts;

	parts->blob = in->package.blob;
	parts->has_blob = in->package.needs_blob;
	parts->name = manifest->name.text;
	parts->entry = manifest->entry.text;
	parts->dir_named = manifest->dir;
	parts->target = manifest->target.text;
	parts->base = in->package.base;
	parts->sources = in->sources;
	parts->libraries = in->package.libraries;
	parts->called = in->package.called;
	parts->called_count = in->package.called_count;
	parts->has_sources = in->package.source_count > 0;
	parts->has_callable = has_callable_module(&in->package.tree);
	parts->module_count = manifest->module_count;
	for (size_t i = 0; i < manifest->module_count; i++)
		parts->has_host |= manifest->modules[i].is_host;

	return MPK_OK;
}

/* A library, a kernel or a model given instead of a manifest gets a better message than the TOML
 * parser's. Text formats are recognised by words, which the comment of a manifest may contain too,
 * so for text the file's name must match as well.
 * Returns  MPK_EXIT_OK if it may be a manifest; else the exit status */
static int refuse_bytes(const char *path, struct mpk_span bytes)
{
	struct mpk_error err = { 0 };
	struct mpk_foreign f;

	if (mpk_code_is_text(bytes) && has_suffix(path, ".toml"))
		return MPK_EXIT_OK;
	if (has_suffix(path, ".py") || has_suffix(path, ".sh") || mpk_span_starts(bytes, "#!"))
		(void)mpk_fail(&err, MPK_E_SYNTAX,
			       "this is a script, not a manifest; run it to get kernels or a "
			       "library, and 'mpack init FILE... >mpack.toml' writes a manifest");
	else if (mpk_cubin_is(bytes))
		(void)mpk_fail(
			&err, MPK_E_SYNTAX,
			"this is a cubin, not a manifest; mpack build --meta names what its compiler noted beside it, and 'mpack init' writes a manifest to fill in");
	else if (mpk_foreign_find(bytes, &f) && strcmp(f.what, MPK_FOREIGN_MANIFEST) != 0)
		(void)mpk_fail(&err, MPK_E_SYNTAX, "this is %s, not a manifest; %s", f.what, f.how);
	else if (mpk_span_starts(bytes, "\177ELF") || mpk_span_starts(bytes, "!<arch>\n"))
		(void)mpk_fail(
			&err, MPK_E_SYNTAX,
			"this is a library or an archive, not a manifest; 'mpack unpack' makes one of it");
	else
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, path);
	return mpk_diag_error(&err);
}

/* Lists the files that were read, for --depfile and --provenance. */
static int list_cubins(struct mpk_input *in, const struct mpk_cubins *cubins)
{
	struct mpk_error err = { 0 };
	const char **files =
		mpk_arena_array(&in->arena, cubins->count * MPK_CUBINS_PARTS, sizeof *files);
	size_t used = 0;

	for (size_t i = 0; files && i < cubins->count; i++) {
		const char *const parts[MPK_CUBINS_PARTS] = { cubins->files[i].path,
							      cubins->files[i].meta,
							      cubins->files[i].ir,
							      cubins->files[i].library };

		for (size_t k = 0; k < MPK_CUBINS_PARTS; k++) {
			if (!parts[k])
				continue;
			files[used] = mpk_arena_text(&in->arena, mpk_span_str(parts[k]));
			if (!files[used++])
				return mpk_diag_error((mpk_fail_nomem(&err), &err));
		}
	}
	if (!files)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	in->parts.files = (struct mpk_words){ files, used };
	return MPK_EXIT_OK;
}

/* The manifest that `mpack init` prints is in no file; its findings use another name. */
static int load_cubins(struct mpk_input *in, const struct mpk_input_options *o)
{
	MPK_CLEANUP(mpk_cubins_close) struct mpk_cubins cubins = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const char *path = in->path, *copy;
	struct mpk_error err = { 0 };
	int status = mpk_cubins_find(o->cubins, &path, 1, &cubins);

	if (status != MPK_EXIT_OK)
		return status;
	if (mpk_cubins_manifest(o->cubins, &cubins, path, &in->arena, &text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	copy = mpk_arena_copy(&in->arena, mpk_strbuf_text(&text), text.len);
	if (!copy)
		return mpk_diag_error((mpk_fail_nomem(&err), &err));
	in->path = "(manifest)";
	enum mpk_code code = load_package(in, o, mpk_span_of(copy, text.len), &err);

	in->path = path;
	status = report_status(in, code, &err);
	return status == MPK_EXIT_OK ? list_cubins(in, &cubins) : status;
}

static int load_manifest(struct mpk_input *in, const struct mpk_input_options *o)
{
	struct mpk_error err = { 0 };
	int status = refuse_bytes(in->path, in->text.bytes);

	if (status != MPK_EXIT_OK)
		return status;
	enum mpk_code code = load_package(in, o, in->text.bytes, &err);

	status = report_status(in, code, &err);
	return status == MPK_EXIT_OK ? set_files(in, in->path) : status;
}

/* Standard input may be either; only a blob has NUL bytes, in the sizes at its beginning. */
static bool is_blob(const char *path, struct mpk_span bytes)
{
	if (strcmp(path, "-") != 0)
		return has_suffix(path, ".blob");
	return bytes.len >= 8 && memchr(bytes.data, 0, 8);
}

int mpk_input_read(const struct mpk_input_options *o, struct mpk_input *in)
{
	struct mpk_error err = { 0 }, memory = { 0 };
	int status;

	if (o->cubins)
		status = load_cubins(in, o);
	else if (o->executor)
		status = load_alone(in, carry_library(in, o, &err), &err);
	else if (is_blob(in->path, in->text.bytes))
		status = load_alone(in, check_blob(in, o->abi, &err), &err);
	else
		status = load_manifest(in, o);
	return status == MPK_EXIT_OK && mpk_memory_check(&memory) != MPK_OK
		       ? mpk_diag_error(&memory)
		       : status;
}

void mpk_input_close(struct mpk_input *in)
{
	for (size_t i = 0; i < in->watched_count; i++)
		mpk_mapping_close(&in->watched[i]);
	mpk_request_close(&in->maps);
	mpk_mapping_close(&in->handed);
	mpk_package_close(&in->package);
	mpk_mapping_close(&in->text);
	mpk_report_fini(&in->report);
	mpk_arena_fini(&in->arena);
}
