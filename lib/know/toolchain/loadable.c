/* SPDX-License-Identifier: Apache-2.0 */
/* Links objects to a library, as mpack build does for a package of host code without a blob; if
 * there is a blob, it is in one of the objects. An archive's members are linked as separate
 * files where the linker cannot take the archive itself: a .tar, an archive inside another file,
 * a single member. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/mapping.h"
#include "io/output.h"
#include "io/path.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

struct job {
	const struct mpk_loadable_options *options;
	const struct mpk_loadable *out;
	struct mpk_arena *arena;
	struct mpk_target target;
	struct mpk_compile_source *sources;
	size_t count;
};

/* --- what is linked -------------------------------------------------------------- */

/* The kind of a member: an ELF file by its bytes, anything else by its name. */
static bool loadable_classify(const char *name, struct mpk_span bytes, enum mpk_source_kind *out)
{
	if (mpk_span_starts(bytes, ELFMAG)) {
		*out = MPK_SOURCE_OBJECT;
		return true;
	}
	return mpk_source_classify(name, out, NULL) == MPK_OK && *out != MPK_SOURCE_OBJECT;
}

static enum mpk_code loadable_add_file(struct job *j, const char *path, enum mpk_source_kind kind,
				       struct mpk_error *err)
{
	/* Makes a word of a command line that no tool takes for an option or a file of options. */
	struct mpk_arena *arena = j->arena;

	path = path[0] == '/' ? path : mpk_arena_printf(arena, "./%s", path);
	MPK_TRY_ALLOC(path, err);
	j->sources[j->count++] = (struct mpk_compile_source){ .path = path, .kind = kind };
	return MPK_OK;
}

/* Checked here and not with other sources, because here a member has its name. */
static enum mpk_code check_member(const struct job *j, const char *name, struct mpk_span bytes,
				  struct mpk_error *err)
{
	enum mpk_code code = mpk_target_check(&j->target, bytes, err);

	if (code == MPK_OK)
		return MPK_OK;
	mpk_error_prefix(err, "%smember '%s': ",
			 code == MPK_E_CONFLICT ? "it cannot be linked for this machine: " : "",
			 MPK_QUOTE(mpk_span_str(name)));
	if (code == MPK_E_CONFLICT && err)
		err->code = MPK_E_LOAD;
	return mpk_failed(err ? err->code : code);
}

/* Binary members become files, whose names are ours: a member may be called anything. Texts are
 * handed on as they are, by names that differ. */
static enum mpk_code add_member(struct job *j, const char *name, struct mpk_span bytes,
				struct mpk_error *err)
{
	enum mpk_source_kind kind;

	if (!loadable_classify(name, bytes, &kind))
		return MPK_OK;

	bool is_text = kind != MPK_SOURCE_OBJECT && kind != MPK_SOURCE_ARCHIVE;
	const char *own =
		is_text ? mpk_arena_printf(j->arena, "%zu-%s", j->count, mpk_path_name(name))
			: mpk_arena_printf(j->arena, "member%zu.%s", j->count,
					   kind == MPK_SOURCE_OBJECT ? "o" : "a");
	MPK_TRY_ALLOC(own, err);
	if (is_text) {
		j->sources[j->count++] =
			(struct mpk_compile_source){ .path = own, .kind = kind, .text = bytes };
		return MPK_OK;
	}

	const char *path = mpk_scratch_file(&j->out->scratch, j->arena, own);
	MPK_TRY_ALLOC(path, err);
	MPK_TRY(check_member(j, name, bytes, err));
	MPK_TRY(mpk_output_store(path, bytes, err));
	return loadable_add_file(j, path, kind, err);
}

static enum mpk_code loadable_add_all(struct job *j, struct mpk_error *err)
{
	const struct mpk_image *image = j->options->image;
	/* The member with the blob can be recognised among the others. */
	bool in_place = !image->is_packed && !j->options->member_alone &&
			(!j->options->objects || image->container == MPK_CONTAINER_ELF_OBJ);

	MPK_TRY_ARRAY(j->sources, j->arena, image->member_count + 1, err);
	if (in_place && image->container == MPK_CONTAINER_ELF_OBJ)
		return loadable_add_file(j, j->options->path, MPK_SOURCE_OBJECT, err);
	if (in_place && image->container == MPK_CONTAINER_ARCHIVE)
		return loadable_add_file(j, j->options->path, MPK_SOURCE_ARCHIVE, err);
	if (image->container == MPK_CONTAINER_ELF_OBJ)
		return add_member(j, "packed.o", image->bytes, err);
	for (size_t i = 0; i < image->member_count; i++)
		if (!j->options->member_alone || strcmp(image->members[i], image->member) == 0)
			MPK_TRY(add_member(j, image->members[i], image->member_bytes[i], err));
	return MPK_OK;
}

bool mpk_loadable_is_needed(const struct mpk_image *image)
{
	enum mpk_source_kind kind;

	if (image->container == MPK_CONTAINER_ELF_OBJ || image->carrier.len)
		return true;
	if (image->container != MPK_CONTAINER_ARCHIVE && image->container != MPK_CONTAINER_TAR)
		return false;
	for (size_t i = 0; i < image->member_count; i++)
		if (loadable_classify(image->members[i], image->member_bytes[i], &kind))
			return true;
	return false;
}

/* --- which driver ---------------------------------------------------------------- */

/* Objects of C++ need the libraries that its driver knows. */
static bool needs_cxx(const struct mpk_image *image)
{
	for (size_t i = 0; i < image->undefined_count; i++)
		if (strncmp(image->undefined[i], "_Z", 2) == 0 ||
		    strncmp(image->undefined[i], "__cxa_", 6) == 0 ||
		    strncmp(image->undefined[i], "__gxx_personality", 17) == 0)
			return true;
	return false;
}

/* --- what went wrong ------------------------------------------------------------- */

enum { SAID_MAX = 400 };

static struct mpk_span cut_line(struct mpk_span *text)
{
	const uint8_t *end = text->len ? memchr(text->data, '\n', text->len) : NULL;
	size_t len = end ? (size_t)(end - text->data) : text->len;
	struct mpk_span line = mpk_span_of(text->data, len);

	len += end != NULL;
	*text = mpk_span_from(*text, len);
	return line;
}

static const uint8_t *loadable_find(struct mpk_span line, const char *word)
{
	return memmem(line.data, line.len, word, strlen(word));
}

/* Returns the line that says why, among lines that only say where. */
static struct mpk_span telling_line(struct mpk_span log)
{
	static const char *const signs[] = { "error:",       "relocation",  "multiple definition",
					     "cannot find ", "undefined ",  "not recognized",
					     "incompatible", "No such file" };
	struct mpk_span first = { 0 };

	while (log.len) {
		struct mpk_span line = cut_line(&log);

		for (size_t i = 0; i < MPK_ARRAY_COUNT(signs); i++)
			if (loadable_find(line, signs[i]))
				return line;
		if (!first.len)
			first = line;
	}
	return first;
}

static struct mpk_span behind(struct mpk_span line, const char *word)
{
	const uint8_t *at = loadable_find(line, word);
	size_t skip = at ? (size_t)(at - line.data) + strlen(word) : 0;

	return mpk_span_from(line, skip);
}

static const char *advice(struct mpk_span line)
{
	bool is_header = loadable_find(line, "tvm/") || loadable_find(line, "dlpack/");

	if (is_header && loadable_find(line, "No such file"))
		return "; name the folders of TVM's headers in CPATH, or a Python environment with TVM in VIRTUAL_ENV";
	if (loadable_find(line, "recompile with -fPIC"))
		return "";
	return loadable_find(line, "relocation") ? "; compile it with -fPIC" : "";
}

static void loadable_explain(const struct job *j, const char *log_path, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (err->code == MPK_E_CONFLICT)
		mpk_error_prefix(err, "it cannot be linked for this machine: ");
	else if (strstr(err->text, "cannot start"))
		/* The advice of that message is an option of mpack. */
		(void)mpk_fail(
			err, MPK_E_LOAD,
			"it has to be linked before it can be called, and there is no compiler '%s'; install it, or name another in CC",
			MPK_QUOTE(mpk_span_str(j->options->cc.items[0])));
	else if (mpk_mapping_open(log_path, &map, NULL) == MPK_OK && map.bytes.len) {
		/* Without the linker's path and without our folder, which is gone when the user
		 * reads this. */
		struct mpk_span log = map.bytes;
		struct mpk_span line = telling_line(log);
		char said[SAID_MAX];

		line = behind(line, "ld: ");
		if (loadable_find(line, j->out->scratch.path))
			line = behind(behind(line, j->out->scratch.path), "/");
		(void)mpk_escape_to(line, said, sizeof said);
		(void)mpk_fail(err, MPK_E_LOAD, "it cannot be linked into a library: %s%s", said,
			       advice(line));
	} else
		mpk_error_prefix(err, "it cannot be linked into a library: ");
	err->code = MPK_E_LOAD;
	err->at.file[0] = '\0'; /* a file of ours */
}

/* --- the link -------------------------------------------------------------------- */

static void ignore_command(void *data, const char *const *argv)
{
	(void)data;
	(void)argv;
}

static void ignore_text(void *data, const char *text)
{
	(void)data;
	(void)text;
}

static enum mpk_code compile_and_link(struct job *j, int log, struct mpk_error *err)
{
	static const struct mpk_tool_hooks hooks = { .command = ignore_command,
						     .step = ignore_text,
						     .note = ignore_text };
	const struct mpk_loadable_options *o = j->options;
	const struct mpk_toolchain tools = {
		.target = j->target,
		.cc = needs_cxx(o->image) ? o->cxx : o->cc,
		.cxx = o->cxx,
		.headers = o->headers,
		.llvm = o->llvm,
		.log = log,
		.hooks = &hooks,
	};
	struct mpk_compilation c = { .tools = &tools,
				     .arena = j->arena,
				     .scratch = j->out->scratch,
				     .sources = j->sources,
				     .source_count = j->count };
	struct mpk_link link = { .out = j->out->path };

	MPK_TRY(mpk_compile_sources(&c, NULL, err));
	if (o->objects)
		MPK_TRY(mpk_objects_keep(&c, o->objects, err));
	/* the build id of a library without a blob (emit/library.c): its other half is zeros */
	uint8_t digest[MPK_BUILD_ID_BYTES];
	MPK_TRY(mpk_link_hash(&c, mpk_generation_get(o->image->gen)->blob_symbol, digest, err));
	memcpy(link.id + MPK_NOTE_ID_HALF, digest, MPK_NOTE_ID_HALF);
	MPK_TRY(mpk_link_run(&c, &link, err));
	MPK_TRY(mpk_link_check(&c, link.out, err));

	/* The output of a broken linker would fail later, with a worse message. */
	const char *path = link.out;
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	MPK_TRY(mpk_mapping_open(path, &map, err));
	enum mpk_code code = mpk_confirm_file(&map, NULL, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", c.tools->cc.items[0]);
	return code;
}

enum mpk_code mpk_loadable_link(const struct mpk_loadable_options *options,
				struct mpk_loadable *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct job j = {
		.options = options, .out = out, .arena = &arena, .target = mpk_target_parse(NULL)
	};

	*out = (struct mpk_loadable){ 0 };
	MPK_TRY(mpk_scratch_open(options->tmpdir, NULL, &out->scratch, err));
	if (asprintf(&out->path, "%s/library.so", out->scratch.path) < 0) {
		out->path = NULL;
		return mpk_fail_nomem(err);
	}
	if (options->image->carrier.len) /* linked long ago */
		return mpk_output_store(out->path, options->image->bytes, err);
	MPK_TRY(loadable_add_all(&j, err));

	const char *path = mpk_scratch_file(&j.out->scratch, j.arena, "log");

	MPK_TRY_ALLOC(path, err);
	int log = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make '%s'", path);

	struct mpk_error why = { 0 };
	enum mpk_code code = compile_and_link(&j, log, &why);
	(void)close(log);
	if (code == MPK_OK)
		return MPK_OK;
	if (code == MPK_E_CONFLICT || code == MPK_E_TOOL)
		loadable_explain(&j, path, &why);
	if (err)
		*err = why;
	return mpk_failed(why.code);
}

void mpk_loadable_close(struct mpk_loadable *l)
{
	mpk_scratch_close(&l->scratch);
	free(l->path);
	l->path = NULL;
}
