/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a build: for --provenance the tools, options and files, without time, place or
 * user; for --depfile the files, in the syntax of make and ninja. */
#include "mpack/build.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "io/digest.h"
#include "io/output.h"
#include "io/path.h"
#include "process/process.h"
#include "text/escape.h"
#include "trust/origin.h"

enum { TOOLS_MAX = 5, SAID_MAX = 4096 };

struct describing {
	const struct mpk_build_options *o;
	struct mpk_input *in;
	const struct mpk_emit *e;
	struct mpk_arena *arena;
	struct mpk_provenance_tool tools[TOOLS_MAX];
	size_t tool_count;
	struct mpk_argv options;
};

/* --- tools ----------------------------------------------------------------------- */

/* Gets the first SAID_MAX bytes that a program prints; nothing if it cannot be run: the build will
 * report that. */
static enum mpk_code ask_program(const char *const *argv, char *said, size_t *len,
				 struct mpk_error *err)
{
	static const char *const env[] = { "LC_ALL=C", NULL };
	struct mpk_process_end end;
	int fd = memfd_create("mpack-version", MFD_CLOEXEC);
	/* includes standard error, where a linker's driver prints the commands it runs */
	struct mpk_process program = {
		.argv = argv, .env = env, .output = MPK_OUTPUT_LOG, .fd = fd, .timeout = 20
	};

	*len = 0;
	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a file in memory");
	enum mpk_code code = mpk_process_run(&program, 1, 1, &end, err);
	if (code == MPK_OK && mpk_process_succeeded(&end)) {
		ssize_t n = pread(fd, said, SAID_MAX, 0);

		*len = n > 0 ? (size_t)n : 0;
	}
	(void)close(fd);
	return code;
}

/* Returns the linker's text, after the lines in which the compiler driver prints its commands:
 * those begin with a path or with "collect2". */
static struct mpk_span linker_line(struct mpk_span said)
{
	while (said.len && (said.data[0] == '/' || mpk_span_starts(said, "collect2"))) {
		const uint8_t *end = memchr(said.data, '\n', said.len);
		size_t len = end ? (size_t)(end - said.data) + 1 : said.len;

		said = mpk_span_from(said, len);
	}
	return said;
}

static void add_tool(struct describing *d, const char *name, const char *version)
{
	d->tools[d->tool_count++] = (struct mpk_provenance_tool){ name, version };
}

static enum mpk_code add_program(struct describing *d, const char *name,
				 const struct mpk_words *driver, bool is_linker,
				 struct mpk_error *err)
{
	struct mpk_argv v = { .arena = d->arena };
	char said[SAID_MAX];
	const char *version;
	size_t len;

	mpk_argv_add_all(&v, driver);
	for (size_t i = 0; is_linker && i < d->e->tools.ldflags.count; i++)
		/* The version must be that of the linker used. */
		if (strncmp(d->e->tools.ldflags.items[i], "-fuse-ld", 8) == 0)
			mpk_argv_add(&v, d->e->tools.ldflags.items[i]);
	mpk_argv_add(&v, is_linker ? "-Wl,--version" : "--version");
	MPK_TRY_ALLOC(!v.failed, err);
	MPK_TRY(ask_program(v.items, said, &len, err));
	struct mpk_span text = mpk_span_of(said, len);
	version = mpk_provenance_version(is_linker ? linker_line(text) : text, d->arena);
	MPK_TRY_ALLOC(version, err);
	add_tool(d, name, version);
	return MPK_OK;
}

static bool has_source(const struct mpk_emit *e, enum mpk_source_kind kind)
{
	for (size_t i = 0; i < e->source_count && e->kind == MPK_EMIT_SO; i++)
		if (e->sources[i].kind == kind)
			return true;
	return false;
}

/* Adds the tools that took part in the build. */
static enum mpk_code add_tools(struct describing *d, struct mpk_error *err)
{
	const struct mpk_emit *e = d->e;
	bool is_linked = e->kind == MPK_EMIT_SO && !e->base;
	bool makes_blob = (e->blob && !e->base) || e->kind == MPK_EMIT_OBJ;

	add_tool(d, "mpack", mpk_version_program());
	if (has_source(e, MPK_SOURCE_IR) || (makes_blob && !e->via_c))
		add_tool(d, "llvm", mpk_version_llvm());
	if (is_linked || (makes_blob && e->via_c))
		MPK_TRY(add_program(d, "cc", &e->tools.cc, false, err));
	if (has_source(e, MPK_SOURCE_CXX))
		MPK_TRY(add_program(d, "cxx", &e->tools.cxx, false, err));
	return is_linked ? add_program(d, "ld", &e->tools.cc, true, err) : MPK_OK;
}

/* --- options --------------------------------------------------------------------- */

static void add_option(struct describing *d, const char *name, const char *value)
{
	const char *clean = value ? mpk_provenance_option(value, d->arena) : NULL;

	if (value && clean)
		mpk_argv_printf(&d->options, "--%s=%s", name, clean);
	d->options.failed |= value && !clean;
}

/* Whether a flag takes a path as its next argument: "-I" "/home/x". */
static bool takes_path(const char *flag)
{
	static const char *const names[] = { "-I",        "-L",      "-B",       "-T",
					     "-isystem",  "-iquote", "-include", "-idirafter",
					     "-isysroot", "-imacros" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (strcmp(flag, names[i]) == 0)
			return true;
	return false;
}

static void add_flags(struct describing *d, const char *name, const struct mpk_words *flags)
{
	bool is_path = false;

	for (size_t i = 0; i < flags->count; i++) {
		add_option(d, name, is_path ? "<path>" : flags->items[i]);
		is_path = takes_path(flags->items[i]);
	}
}

/* Writes default values explicitly, since readers may not know them. */
static enum mpk_code add_options(struct describing *d, struct mpk_error *err)
{
	const struct mpk_emit *e = d->e;

	add_option(d, "emit", mpk_emit_name(e->kind)->name);
	add_option(d, "abi", mpk_generation_get(e->gen)->abi);
	add_option(d, "target", e->tools.target.triple);
	if (!e->base)
		add_option(d, "via", e->via_c ? "c" : "llvm");
	if (e->system_lib)
		mpk_argv_add(&d->options, "--system-lib");
	add_option(d, "prefix", *e->prefix ? e->prefix : NULL);

	/* Inputs of a cubin's manifest other than files. */
	const struct mpk_cubins_options *o = &d->o->cubins;

	add_option(d, "signature", o->how.signature);
	add_option(d, "grid", o->how.grid);
	add_option(d, "block", o->how.block);
	add_option(d, "cluster", o->how.cluster);
	add_option(d, "shared", o->how.shared);
	if (o->how.cooperative)
		mpk_argv_add(&d->options, "--cooperative");
	if (o->how.programmatic)
		mpk_argv_add(&d->options, "--pdl");

	for (size_t i = 0; i < e->source_count; i++)
		add_flags(d, "cflag", &e->sources[i].flags);
	add_flags(d, "cflag", &e->tools.cflags);
	add_flags(d, "ldflag", &e->tools.libraries);
	add_flags(d, "ldflag", &e->tools.ldflags);
	return d->options.failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- inputs ---------------------------------------------------------------------- */

static enum mpk_code origin_hash(struct mpk_span bytes, struct mpk_provenance_input *out,
				 struct mpk_error *err)
{
	out->bytes = bytes.len;
	return mpk_digest_span(MPK_DIGEST_SHA256, bytes, out->sha256, err);
}

/* The file stays open: an output is refused if an input has changed by then. */
static enum mpk_code add_input(struct describing *d, const char *path,
			       struct mpk_provenance_input *out, struct mpk_error *err)
{
	struct mpk_mapping *map = &d->in->watched[d->in->watched_count];
	const char *name = mpk_path_name(path);

	/* Standard input has no path and cannot be read twice, but its bytes are still in
	 * memory. */
	if (strcmp(path, "-") == 0) {
		out->name = "(standard input)";
		return origin_hash(d->in->text.bytes, out, err);
	}
	out->name = mpk_arena_text(d->arena, mpk_span_str(MPK_QUOTE(mpk_span_str(name))));
	MPK_TRY_ALLOC(out->name, err);
	MPK_TRY(mpk_mapping_open(path, map, err));
	d->in->watched_count++;
	/* Closes the descriptor, since descriptors are limited; the mapping keeps the bytes and the
	 * identity of the file. */
	mpk_mapping_close_file(map);
	return origin_hash(map->bytes, out, err);
}

enum mpk_code mpk_origin_describe(const struct mpk_build_options *o, struct mpk_input *in,
				  const struct mpk_emit *e, const char **out, struct mpk_error *err)
{
	struct describing d = {
		.o = o, .in = in, .e = e, .arena = &in->arena, .options = { .arena = &in->arena }
	};
	struct mpk_provenance_input *inputs = NULL;

	MPK_TRY(add_tools(&d, err));
	MPK_TRY(add_options(&d, err));

	struct mpk_provenance_input *list =
		mpk_arena_array(d.arena, d.in->parts.files.count, sizeof *list);

	d.in->watched = mpk_arena_array(d.arena, d.in->parts.files.count, sizeof *d.in->watched);
	MPK_TRY_ALLOC(list && d.in->watched, err);
	for (size_t i = 0; i < d.in->parts.files.count; i++)
		MPK_TRY(add_input(&d, d.in->parts.files.items[i], &list[i], err));
	inputs = list;

	const struct mpk_provenance p = {
		.tools = d.tools,
		.tool_count = d.tool_count,
		.options = d.options.items,
		.option_count = d.options.count,
		.inputs = inputs,
		.input_count = in->parts.files.count,
	};
	return mpk_provenance_write(&p, &in->arena, out, err);
}

/* --- --depfile --------------------------------------------------------------------------- */

/* Writes a name; blanks, '#' and '$' are escaped in a way that all readers share. */
static void origin_put_name(struct mpk_strbuf *text, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '\t' || *name == '#')
			mpk_strbuf_putc(text, '\\');
		/* make expands "$", so it is written as "$$". */
		if (*name == '$')
			mpk_strbuf_putc(text, '$');
		mpk_strbuf_putc(text, *name);
	}
}

/* Refuses names that make would read as a recipe, a variable, a pattern or another rule. */
static enum mpk_code origin_check_name(const char *name, struct mpk_error *err)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || strchr(":;=%|", *at))
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"make cannot read the name '%s', for its '%s'",
					MPK_QUOTE(mpk_span_str(name)),
					MPK_QUOTE(mpk_span_of(at, 1)));
	return MPK_OK;
}

/* Lists the files of the manifest, then the files that compilers read. */
static enum mpk_code list_all(struct mpk_arena *arena, const char *const *files, size_t *count,
			      const struct mpk_words *headers, const char ***out,
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	size_t more = headers ? headers->count : 0, n = 0;

	MPK_TRY_ARRAY(*out, arena, *count + more, err);
	for (; n < *count; n++) {
		(*out)[n] = files[n];
		MPK_TRY_ALLOC(mpk_strmap_put(&known, mpk_span_str(files[n]), n, NULL) >= 0, err);
	}
	for (size_t i = 0; i < more; i++)
		if (!mpk_strmap_find(&known, mpk_span_str(headers->items[i]), NULL))
			(*out)[n++] = headers->items[i];
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_depfile_write(const char *path, const char *out, const struct mpk_words *files,
				const struct mpk_words *headers, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	size_t count = files->count;
	const char **all;

	MPK_TRY(list_all(&arena, files->items, &count, headers, &all, err));
	MPK_TRY(origin_check_name(out, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(origin_check_name(all[i], err));

	origin_put_name(&text, out);
	mpk_strbuf_putc(&text, ':');
	for (size_t i = 0; i < count; i++) {
		/* One name on each line, so that a diff of two such files shows names. */
		mpk_strbuf_puts(&text, i ? " \\\n  " : " ");
		origin_put_name(&text, all[i]);
	}
	mpk_strbuf_putc(&text, '\n');
	/* An empty rule for each file: a file that was removed then causes a rebuild instead of an
	 * error. */
	for (size_t i = 1; i < count; i++) {
		origin_put_name(&text, all[i]);
		mpk_strbuf_puts(&text, ":\n");
	}

	MPK_TRY(mpk_strbuf_status(&text, err));
	return mpk_output_store(path, mpk_span_of(text.data, text.len), err);
}
