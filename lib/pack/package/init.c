/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - the manifest that mpack init prints: the package, its modules and their kernel tables */
#include "package/package.h"

#include <stdlib.h>
#include <string.h>

#include "package/internal/package.h"
#include "text/escape.h"

/* --- text ------------------------------------------------------------------------------- */

/* TOML strings are written like JSON strings. Bytes that are not UTF-8 become '?', because a
 * manifest must be UTF-8. */
void mpk_init_put_text(struct mpk_strbuf *out, struct mpk_span text)
{
	mpk_escape_toml(out, text, "?");
}

/* Returns a name that no function has yet: the wish, or the wish with a number. NULL if memory is
 *         out. */
const char *mpk_init_take_name(struct mpk_init *in, struct mpk_span wish)
{
	const char *name = mpk_arena_text(in->arena, wish);
	size_t found;

	for (unsigned i = 2; name; i++) {
		int put = mpk_strmap_put(&in->names, mpk_span_str(name), 0, &found);

		if (put)
			return put > 0 ? name : NULL;
		name = mpk_arena_printf(in->arena, MPK_SPAN_FMT "_%u", MPK_SPAN_ARG(wish), i);
	}
	return NULL;
}

const char *mpk_init_free_name(struct mpk_init *in, const char *const *names, size_t count,
			       const char *wish)
{
	static const char *const words[] = { "none", "min", "max", "ceildiv" };
	const char *name = wish;

	for (unsigned n = 2; name; n++) {
		bool taken = false;

		for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
			taken |= strcmp(name, words[i]) == 0;
		for (size_t i = 0; i < count; i++)
			taken |= strcmp(name, names[i]) == 0;
		if (!taken)
			break;
		name = mpk_arena_printf(in->arena, "%s_%u", wish, n);
	}
	return name;
}

/* Prints a comment on one line, even if a name contains line ends. */
static void put_comment(struct mpk_init *in, const char *indent, struct mpk_span text)
{
	mpk_strbuf_printf(in->out, "%s# ", indent);
	for (size_t i = 0; i < text.len; i++) {
		bool blank = text.data[i] <= ' ' || text.data[i] == 0x7f;

		if (!blank)
			mpk_strbuf_putc(in->out, (char)text.data[i]);
		else if (i && text.data[i - 1] > ' ')
			mpk_strbuf_putc(in->out, ' ');
	}
	mpk_strbuf_putc(in->out, '\n');
}

/* --- the manifest -------------------------------------------------------------------- */

/* text is NULL if it could not be made because memory was out. */
static void init_put_string(struct mpk_init *in, const char *key, const char *text)
{
	if (!text) {
		in->out->failed = true;
		return;
	}
	mpk_strbuf_printf(in->out, "%-7s = ", key);
	mpk_init_put_text(in->out, mpk_span_str(text));
	mpk_strbuf_putc(in->out, '\n');
}

/* Lists the device modules that the host code must import explicitly, because no launch function
 * uses them. */
static bool needs_import(const struct mpk_init *in, const struct mpk_init_module *m)
{
	return m->row_count && (in->base || in->host_count || !m->function_count);
}

static void put_imports(struct mpk_init *in, const struct mpk_init_module *but)
{
	const char *between = "imports = [";

	for (size_t i = 0; i < in->module_count; i++) {
		if (&in->modules[i] == but || !needs_import(in, &in->modules[i]))
			continue;
		mpk_strbuf_puts(in->out, between);
		mpk_init_put_text(in->out, mpk_span_str(in->modules[i].id));
		between = ", ";
	}
	mpk_strbuf_puts(in->out, *between == ',' ? "]\n" : "");
}

/* Without host code, the first device module is the root and imports the others. */
static bool has_host(const struct mpk_init *in)
{
	bool generated = false, left = false;

	for (size_t i = 0; i < in->module_count; i++) {
		generated |= in->modules[i].function_count > 0;
		left |= needs_import(in, &in->modules[i]);
	}
	return in->base || in->host_count || (generated && left);
}

static bool is_root(const struct mpk_init *in, const struct mpk_init_module *m)
{
	for (const struct mpk_init_module *o = in->modules; o < in->modules + in->module_count;
	     o++) {
		if (o->function_count)
			return false;
		if (o->row_count)
			return o == m && !has_host(in);
	}
	return false;
}

/* A runtime compiler has no access to the folder of the source, so local headers cannot be
 * included. */
static void init_put_header(struct mpk_init *in, const struct mpk_init_module *m)
{
	struct mpk_span header = m->code->format == &mpk_format_opencl
					 ? mpk_source_code_includes(m->code->source->index.bytes)
					 : (struct mpk_span){ 0 };

	if (!header.len)
		return;
	mpk_strbuf_puts(in->out, "# decide: it includes ");
	mpk_init_put_text(in->out, header);
	mpk_strbuf_puts(in->out,
			", which a runtime does not find: put the file's text in its place\n");
}

/* Prints the kernel's declaration as a comment above its row, for a reader who must decide
 * something about the kernel. */
static void put_declaration(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };

	if (!k->text.len && mpk_span_equal(k->symbol, k->short_name))
		return;
	mpk_strbuf_put_span(&line, k->short_name);
	mpk_strbuf_putc(&line, '(');
	mpk_strbuf_put_span(&line, k->text);
	mpk_strbuf_putc(&line, ')');
	in->out->failed |= line.failed;
	if (!line.failed)
		put_comment(in, "  ", mpk_span_of(line.data, line.len));
}

/* Marks each fact that the code does not tell with "decide". The file is complete when no such line
 * is left. */
static void put_args(struct mpk_init *in, const struct mpk_init_kernel *k)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_dtype t = { 0 };
	bool unknown = false;

	mpk_strbuf_puts(in->out, "  args   = [");
	for (size_t i = 0; i < k->param_count; i++) {
		/* the kernel was not refused, so this cannot fail */
		(void)mpk_code_info_argument(&k->params[i], &t);
		mpk_strbuf_printf(in->out, "%s\"%s\"", i ? ", " : "", mpk_dtype_print(t, type));
		unknown |= k->params[i].kind == MPK_CODE_PARAM_UNKNOWN;
	}
	mpk_strbuf_puts(in->out, "]");
	if (k->hides_params)
		mpk_strbuf_puts(in->out,
				" # decide: the buffers by their bindings, then the scalars");
	else if (unknown)
		mpk_strbuf_puts(
			in->out,
			" # decide: the code tells sizes alone; 8 bytes may be int64, 4 bytes float32");
	mpk_strbuf_putc(in->out, '\n');
}

/* A kernel inside #if exists only for some compilers. */
static void put_condition(struct mpk_init *in, const struct mpk_code_kernel *k)
{
	if (!k->condition.len || k->has_variants)
		return;
	mpk_strbuf_puts(in->out, "  # decide: it stands behind '");
	mpk_escape(in->out, k->condition);
	mpk_strbuf_puts(in->out, "': whether it exists depends on how the text is compiled\n");
}

static void put_rows(struct mpk_init *in, const struct mpk_init_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct mpk_init_kernel *k = &m->kernels[i];

		mpk_strbuf_puts(in->out, m->row_count ? "\n" : "");
		put_declaration(in, k);
		if (k->refusal) {
			mpk_strbuf_puts(in->out, "  # ");
			mpk_escape(in->out, k->short_name);
			mpk_strbuf_printf(in->out, " is left out: %s\n", k->refusal);
			continue;
		}
		put_condition(in, &m->code->kernels[i]);
		mpk_strbuf_puts(in->out, "  [[module.function]]\n  name   = ");
		mpk_init_put_text(in->out, k->symbol);
		mpk_strbuf_putc(in->out, '\n');
		put_args(in, k);

		/* As many dimensions as the code has indices for; one if the code does not tell. */
		unsigned dims = k->dims ? k->dims : 1;

		mpk_strbuf_puts(in->out, "  launch = [");
		for (unsigned d = 0; d < dims; d++)
			mpk_strbuf_printf(in->out, "%s\"blockIdx.%c\"", d ? ", " : "", "xyz"[d]);
		for (unsigned d = 0; d < dims; d++)
			mpk_strbuf_printf(in->out, ", \"threadIdx.%c\"", "xyz"[d]);
		if (k->shared)
			mpk_strbuf_puts(in->out, ", \"tirx.use_dyn_shared_memory\"");
		mpk_strbuf_puts(in->out, "]");
		if (!k->dims || k->hides_shared)
			mpk_strbuf_printf(
				in->out, " # decide: the code does not tell %s",
				!k->hides_shared ? "the dimensions"
				: k->dims
					? "whether there is \"tirx.use_dyn_shared_memory\", too"
					: "the dimensions, nor whether there is \"tirx.use_dyn_shared_memory\", too");
		mpk_strbuf_putc(in->out, '\n');
	}
}

static void init_put_module(struct mpk_init *in, const struct mpk_init_module *m)
{
	if (!m->row_count) {
		mpk_strbuf_puts(in->out, "\n# ");
		mpk_escape(in->out, mpk_span_str(m->file->path));
		mpk_strbuf_puts(
			in->out,
			m->twin_count
				? " is left out, as a runtime can launch no kernel of it but those of files above:\n"
				: " has no kernel that a runtime can launch:\n");
	} else {
		mpk_strbuf_puts(in->out, "\n[[module]]\n");
		init_put_string(in, "id", m->id);
		init_put_string(in, "kind", m->kind);
		init_put_string(in, "format", m->format);
		init_put_string(in, "data", m->file->path);
		init_put_header(in, m);
		if (is_root(in, m))
			put_imports(in, m);
	}
	put_rows(in, m);
}

/* --- functions that call C functions ------------------------------------------------- */

/* Returns the reason why the function gets no launch function, as a sentence to print after its
 *         name. NULL if it gets one. */
static const char *refusal_of_call(struct mpk_init *in, const struct mpk_cfunction *f)
{
	if (f->refusal)
		return f->refusal;
	if (f->result.kind == MPK_CFUNCTION_OTHER)
		return mpk_arena_printf(in->arena, "has a result that %s", f->result.refusal);
	for (size_t i = 0; i < f->param_count; i++)
		if (f->params[i].refusal)
			return mpk_arena_printf(in->arena, "has a parameter, '%s', that %s",
						MPK_QUOTE(f->params[i].text), f->params[i].refusal);
	return NULL;
}

/* Names that loaders, linkers or this program use for other purposes. */
static bool is_reserved_name(struct mpk_span name)
{
	static const char *const prefixes[] = { "__", "TVM", "mpk_" };
	static const char *const names[] = { "main", "snprintf", "memcpy", "memset" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(prefixes); i++)
		if (mpk_span_starts(name, prefixes[i]))
			return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (mpk_span_is(name, names[i]))
			return true;
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] == '$' || name.data[i] >= 0x80)
			return true;
	return false;
}

static void put_left_out(struct mpk_init *in, const struct mpk_cfunction *f, const char *why)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };

	mpk_escape(&line, f->name);
	mpk_strbuf_printf(&line, " is left out: it %s", why ? why : "");
	in->out->failed |= line.failed || !why;
	mpk_strbuf_putc(in->out, '\n');
	if (!line.failed)
		put_comment(in, "", mpk_span_of(line.data, line.len));
}

/* Skips static functions and functions that a source declares for its own use: a user would not
 * want to call them. */
static bool is_offered(const struct mpk_init *in, const struct mpk_init_call *call, bool defined)
{
	size_t ignored;

	if (is_reserved_name(call->f->name) || mpk_strmap_find(&in->names, call->f->name, &ignored))
		return false;
	return !call->f->is_local && (defined || call->is_header);
}

/* --- the manifest from beginning to end ------------------------------------------------ */

static enum mpk_code check_any(struct mpk_init *in)
{
	const struct mpk_init_module *refused = NULL;

	for (size_t i = 0; i < in->module_count; i++) {
		if (in->modules[i].row_count)
			return MPK_OK;
		refused = &in->modules[i];
	}
	if (in->host_count || !refused)
		return MPK_OK;
	(void)mpk_fail(in->err, MPK_E_UNSUPPORTED, "no runtime can launch its kernel '%s': %s",
		       MPK_QUOTE(refused->kernels[0].short_name), refused->kernels[0].refusal);
	mpk_error_at_file(in->err, refused->file->path);
	return MPK_E_UNSUPPORTED;
}

static enum mpk_code print_all(struct mpk_init *in)
{
	if (in->base && in->host_count) {
		(void)mpk_fail(in->err, MPK_E_UNSUPPORTED,
			       "a finished library brings its own code: leave '%s' out",
			       in->hosts[0]->path);
		mpk_error_at_file(in->err, in->base->path);
		return MPK_E_UNSUPPORTED;
	}
	if (in->header && !in->host_count) {
		(void)mpk_fail(
			in->err, MPK_E_UNSUPPORTED,
			"a header has no code: name the sources, objects or archive with its functions, too");
		mpk_error_at_file(in->err, in->header->path);
		return MPK_E_UNSUPPORTED;
	}
	MPK_TRY(check_any(in));

	mpk_strbuf_puts(in->out, "[package]\n");
	init_put_string(in, "name", in->name);
	if (in->abi && strcmp(in->abi, "ffi") != 0)
		init_put_string(in, "abi", in->abi);
	if (in->base) {
		init_put_string(in, "base", in->base->path);
		mpk_strbuf_puts(
			in->out,
			"# decide: the code of this library is kept, but its blob is replaced. The modules that\n"
			"# were in it are gone unless they are listed here, too ('mpack unpack' writes them)\n");
	}

	if (has_host(in)) {
		mpk_strbuf_puts(in->out, "\n[[module]]\n");
		init_put_string(in, "id", "host");
		init_put_string(in, "kind", "host");
		if (in->host_count) {
			mpk_strbuf_puts(in->out, "sources = [");
			for (size_t i = 0; i < in->host_count; i++) {
				mpk_strbuf_puts(in->out, i ? ", " : "");
				mpk_init_put_text(in->out, mpk_span_str(in->hosts[i]->path));
			}
			mpk_strbuf_puts(in->out, "]\n");
		}
		put_imports(in, NULL);
		mpk_strbuf_puts(in->out, mpk_strbuf_text(&in->host_lines));
		in->out->failed |= in->host_lines.failed;
	}
	for (size_t i = 0; i < in->module_count; i++)
		init_put_module(in, &in->modules[i]);
	for (size_t i = 0; i < in->module_count; i++)
		mpk_init_put_functions(in, &in->modules[i]);

	size_t ignored;

	for (size_t i = 0; i < in->call_count && !in->base; i++) {
		const struct mpk_init_call *call = &in->calls[i];
		const struct mpk_cfunction *f = call->f;
		bool defined = f->is_defined || mpk_strmap_find(&in->defined, f->name, &ignored);

		if (!is_offered(in, call, defined))
			continue;
		const char *why = refusal_of_call(in, f);

		if (!why && !defined && !in->hides_symbols)
			why = "is defined in none of the files";
		if (why)
			put_left_out(in, f, why);
		else
			mpk_init_put_call(in, f);
	}

	return mpk_strbuf_status(in->out, in->err);
}

static void init_fini(struct mpk_init *in)
{
	mpk_strmap_fini(&in->symbols);
	mpk_strmap_fini(&in->names);
	mpk_strmap_fini(&in->call_names);
	mpk_strmap_fini(&in->defined);
	free(in->calls);
	mpk_strbuf_fini(&in->host_lines);
	for (size_t i = 0; in->modules && i < in->count;
	     i++) /* a module that failed is not counted */
		mpk_strmap_fini(&in->modules[i].shared);
}

enum mpk_code mpk_init_manifest(const struct mpk_init_file *files, size_t count,
				struct mpk_arena *arena, struct mpk_strbuf *out,
				struct mpk_error *err)
{
	struct mpk_error own = { 0 };
	MPK_CLEANUP(init_fini)
	struct mpk_init in = {
		.arena = arena, .out = out, .err = err ? err : &own, .files = files, .count = count
	};

	MPK_TRY(mpk_init_read_files(&in));
	return print_all(&in);
}
