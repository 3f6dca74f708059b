/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c - describes a file on one page, or in one short line for the list of an archive */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code/format.h"
#include "hostcode/registered.h"
#include "list/list.h"
#include "model/device_code.h"
#include "model/origin.h"
#include "pt2/pt2.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

/* The ELF header alone says ET_DYN for a position-independent program,
 * which is reported as a library (ELF gABI). */
static const char *kind_of_file(const struct mpk_image *image)
{
	const char *title;

	switch (image->container) {
	case MPK_CONTAINER_ELF_SO:
		return image->type == ET_EXEC ? "program" : "library";
	case MPK_CONTAINER_ELF_OBJ:
		return "object";
	case MPK_CONTAINER_MACHO_SO:
		return image->is_program ? "Mach-O program" : "Mach-O library";
	case MPK_CONTAINER_MACHO_OBJ:
		return "Mach-O object";
	case MPK_CONTAINER_PE_SO:
		return image->is_program ? "Windows program" : "DLL";
	case MPK_CONTAINER_COFF_OBJ:
		return "COFF object";
	case MPK_CONTAINER_WASM_SO:
		return image->is_program ? "WebAssembly program" : "WebAssembly module";
	case MPK_CONTAINER_WASM_OBJ:
		return "WebAssembly object";
	case MPK_CONTAINER_C:
		return "C source";
	case MPK_CONTAINER_ARCHIVE:
		return "static archive";
	case MPK_CONTAINER_TAR:
		if (image->format == MPK_FILE_C)
			return image->is_packed ? "tar.gz of C sources" : "tar of C sources";
		if (image->format == MPK_FILE_DEVICE)
			return image->is_packed ? "tar.gz of GPU code" : "tar of GPU code";
		return image->is_packed ? "tar.gz of objects" : "tar of objects";
	case MPK_CONTAINER_BLOB:
		return "bare module blob";
	case MPK_CONTAINER_DEVICE:
		title = mpk_device_title(image);
		return title ? title : "GPU code";
	}
	return "file";
}

/* Names come from the file and the command line, so they are
 * escaped before they are printed. */
static void summary_put_head(const struct mpk_view *v, struct mpk_style style,
			     struct mpk_strbuf *out)
{
	const struct mpk_image *image = v->image;

	mpk_strbuf_puts(out, style.color ? "\033[1m" : "");
	mpk_escape(out, mpk_span_str(v->name));
	mpk_strbuf_printf(out, "%s: ", style.color ? "\033[0m" : "");
	if (image->elf_class)
		mpk_strbuf_printf(out, "%s %u-bit%s ", image->machine_name, image->elf_class,
				  image->big_endian ? " big-endian" : "");
	else if (image->machine_name)
		mpk_strbuf_printf(out, "%s ", image->machine_name);
	mpk_strbuf_printf(out, "%s, %s\n", kind_of_file(image), MPK_SIZE(v->file_bytes));
	if (image->member) {
		mpk_strbuf_puts(out, "  member     ");
		mpk_escape(out, mpk_span_str(image->member));
		mpk_strbuf_printf(out, ", %s, of %zu\n", MPK_SIZE(image->bytes.len),
				  image->member_count);
	}
}

/* Writes the format. Which modules can be loaded is on
 * a line of its own: a TVM that reads the format may lack a loader for them. */
static void put_format(const struct mpk_image *image, struct mpk_strbuf *out)
{
	const struct mpk_generation_info *info = mpk_generation_get(image->gen);

	if (image->gen_known)
		mpk_strbuf_printf(out, "  format     %s (abi \"%s\")\n", info->releases, info->abi);
	else
		mpk_strbuf_printf(out, "  format     %s or 0.21: the symbols do not tell which\n",
				  info->releases);
}

static void put_loaders(const struct mpk_view *v, struct mpk_strbuf *out)
{
	const struct mpk_span *kinds;
	size_t count;

	if (v->image->standalone) {
		mpk_strbuf_puts(out, "  needs      no loader: it brings its own for its kernels\n");
		return;
	}
	if (v->image->executor) {
		mpk_strbuf_puts(out, "  needs      no loader: it carries its executor, version ");
		mpk_escape(out, mpk_span_str(v->image->executor));
		if (v->image->is_linked)
			mpk_strbuf_puts(out, ", with the host code linked in");
		if (v->image->unpacked_bytes) {
			mpk_strbuf_printf(out, "\n  packed     zstd, %s for %s",
					  MPK_SIZE(v->image->packed_bytes),
					  MPK_SIZE(v->image->unpacked_bytes));
		}
		mpk_strbuf_putc(out, '\n');
		return;
	}
	if (mpk_view_loaders(v, &kinds, &count, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	if (!count)
		return;
	mpk_strbuf_puts(out, count == 1 ? "  needs      loader " : "  needs      loaders ");
	mpk_put_names(out, kinds, count);
	mpk_strbuf_putc(out, '\n');
}

/* The place is a file offset, not an address: a hex dump shows the blob there. */
static void put_blob(const struct mpk_view *v, struct mpk_strbuf *out)
{
	const struct mpk_image *image = v->image;

	if (!image->has_blob) {
		mpk_strbuf_puts(out, "  blob       no module blob: host code only\n");
		return;
	}
	mpk_strbuf_printf(out, "  blob       %s", MPK_SIZE(image->blob.len));
	mpk_put_also(out, v->count, "module");
	if (image->blob_symbol) {
		mpk_strbuf_puts(out, ", ");
		mpk_escape(out, mpk_span_str(image->blob_symbol));
		mpk_strbuf_printf(out, " at file+0x%" PRIx64, image->blob_off);
	}
	if (image->blob_section) {
		mpk_strbuf_puts(out, " in ");
		mpk_escape(out, mpk_span_str(image->blob_section));
	}
	mpk_strbuf_putc(out, '\n');
}

/* Lists the libraries that the dynamic linker loads with this one (DT_NEEDED of ELF), as many as
 * fit on a line. */
static void put_needed(const struct mpk_image *image, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < image->needed_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? " " : "  needs      ");
		mpk_escape(out, mpk_span_str(image->needed[i]));
	}
	mpk_put_more(out, image->needed_count);
	mpk_strbuf_puts(out, image->needed_count ? "\n" : "");
}

/* Writes only names on one line; if there is more to say, one line for each function. */
static void summary_put_functions(const struct mpk_view *v, struct mpk_strbuf *out)
{
	const struct mpk_image *image = v->image;
	size_t shown[MPK_NAMES_SHOWN], count = 0;
	bool apart = false;

	for (size_t i = 0; i < image->function_count; i++) {
		if (!mpk_view_shows(v, mpk_span_str(image->functions[i].name)) ||
		    count++ >= MPK_NAMES_SHOWN)
			continue;
		shown[count - 1] = i;
		apart |= mpk_view_host(v, i) != NULL;
	}
	for (size_t i = 0; i < count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, !i ? "  functions  " : apart ? "\n             " : " ");
		mpk_view_host_text(v, shown[i], "=", out);
	}
	mpk_put_more(out, count);
	mpk_strbuf_puts(out, count ? "\n" : "");
}

/* Lists the global functions that the library registers. */
static void put_registered(const struct mpk_view *v, struct mpk_strbuf *out)
{
	const struct mpk_global_names *r = v->registered;
	size_t count = 0;

	for (size_t i = 0; r && i < r->count; i++) {
		if (!mpk_view_shows(v, r->names[i]) || count++ >= MPK_NAMES_SHOWN)
			continue;
		mpk_strbuf_puts(out, count == 1 ? "  registers  " : " ");
		mpk_escape(out, r->names[i]);
	}
	if (count)
		mpk_put_more(out, count);
	if (r && r->has_more && !v->choice)
		mpk_strbuf_puts(out, count ? ", and others that only a run tells"
					   : "  registers  functions that only a run tells");
	mpk_strbuf_puts(out, count || (r && r->has_more && !v->choice) ? "\n" : "");
}

/* Lists the imports of a WebAssembly module. */
static void put_imports(const struct mpk_image *image, struct mpk_strbuf *out)
{
	if (image->container != MPK_CONTAINER_WASM_SO || !image->undefined_count)
		return;
	mpk_strbuf_puts(out, "  imports    ");
	for (size_t i = 0; i < image->undefined_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? " " : "");
		mpk_escape(out, mpk_span_str(image->undefined[i]));
	}
	mpk_put_more(out, image->undefined_count);
	mpk_strbuf_putc(out, '\n');
}

/* Whether the file belongs to TVM. Any library may have GPU code, and is then shown for that
 * only. */
static bool is_of_tvm(const struct mpk_image *image)
{
	return image->has_blob || image->function_count || image->embedded_count;
}

/* Writes the target devices, then the kernels with the resources they need, instead of a tree. */
static void put_device_code(const struct mpk_view *view, struct mpk_style style,
			    struct mpk_strbuf *out)
{
	mpk_answer_device_code.line(view, style, out);
	mpk_strbuf_putc(out, '\n');
	mpk_answer_device_code.text(view, style, out);
}

/* Goes from the whole to its parts. The tree comes last, as it may be long. */
static void summary_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;
	const struct mpk_image *image = view->image;

	summary_put_head(view, style, out);
	if (image->format == MPK_FILE_DEVICE) {
		put_device_code(view, style, out);
		return;
	}
	if (is_of_tvm(image)) {
		put_format(image, out);
		put_loaders(view, out);
		put_blob(view, out);
	} else {
		mpk_strbuf_puts(out,
				image->registers
					? "  blob       none: no module of TVM\n"
					: "  blob       none: no module of TVM, nothing to call\n");
	}
	summary_put_functions(view, out);
	put_registered(view, out);
	mpk_answer_metadata.line(view, style, out);
	mpk_answer_embedded.line(view, style, out);
	mpk_answer_device_code.line(view, style, out);
	put_needed(image, out);
	put_imports(image, out);
	mpk_answer_origin.text(view, style, out);
	if (!view->tree)
		return;
	if (view->tree->warning.code != MPK_OK)
		mpk_strbuf_printf(out, "  warning    %s+0x%" PRIx64 ": %s\n",
				  view->tree->warning.at.space, view->tree->warning.at.offset,
				  view->tree->warning.text);
	mpk_strbuf_putc(out, '\n');
	mpk_view_tree(view, style, out);
}

/* --- JSON --------------------------------------------------------------------------------- */

/* "index" and "children" are numbers in the file: a filter hides modules
 * but does not renumber them. */
static void put_node(const struct mpk_view *view, size_t index, struct mpk_json *j,
		     struct mpk_json_at *list)
{
	const struct mpk_view_node *n = &view->nodes[index];
	const struct mpk_kernels *k = mpk_view_kernels(n);
	struct mpk_json_at *o = mpk_json_object(j, list, NULL), *sub;

	mpk_json_u64(j, o, "index", index);
	mpk_list_module_json(view, n, false, j, o);
	if (k) {
		sub = mpk_json_array(j, o, "kernels");
		for (size_t i = 0; i < k->function_count; i++)
			if (mpk_view_shows_part(n, k->functions[i].key))
				mpk_node_kernel_json(
					n, i, j, mpk_list_kernel_json(&k->functions[i], j, sub));
	}
	if (n->models.count) {
		sub = mpk_json_array(j, o, "models");
		for (size_t i = 0; i < n->models.count; i++)
			if (mpk_view_shows_part(n, n->models.items[i].name))
				(void)mpk_list_model_json(&n->models.items[i], j, sub);
	}
	/* if only a part is chosen, members about the whole module are omitted */
	if (mpk_view_shows_whole(n))
		mpk_node_json(n, j, o);
	if (n->problem)
		mpk_json_error(j, o, "problem", n->problem);
}

static void summary_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	const struct mpk_image *image = view->image;
	struct mpk_json_at *list;

	mpk_list_about_json(view, true, j, at);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < image->function_count; i++)
		if (mpk_view_shows(view, mpk_span_str(image->functions[i].name)))
			mpk_list_function_json(view, i, MPK_LIST_INPUTS, j, list);
	mpk_list_registered_json(view, j, at);
	mpk_json_texts(j, at, "context_symbols", image->context_symbols,
		       image->context_symbol_count);
	mpk_json_texts(j, at, "undefined", image->undefined, image->undefined_count);
	mpk_json_texts(j, at, "needed", image->needed, image->needed_count);
	if (image->executor) {
		mpk_json_text(j, at, "executor", image->executor);
		mpk_json_text(j, at, "host_code", image->is_linked ? "linked" : "carried");
	}
	if (image->unpacked_bytes) {
		mpk_json_u64(j, at, "packed_bytes", image->packed_bytes);
		mpk_json_u64(j, at, "unpacked_bytes", image->unpacked_bytes);
	}
	mpk_answer_origin.json(view, j, at);
	mpk_answer_metadata.json(view, j, at);
	list = mpk_json_array(j, at, "tree");
	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_shows_node(&view->nodes[i]))
			put_node(view, i, j, list);
	mpk_answer_embedded.json(view, j, at);
	/* only the devices: the containers may be gigabytes, and --functions reads them */
	mpk_device_rows_json(view, j, at);
	if (image->format == MPK_FILE_DEVICE)
		mpk_answer_device_code.json(view, j, at);
	if (view->tree && view->tree->warning.code != MPK_OK)
		mpk_json_error(j, at, "warning", &view->tree->warning);
}

const struct mpk_answer mpk_answer_summary = { .text = summary_text,
					       .json = summary_json,
					       .is_apart = true };

/* --- in half a line ----------------------------------------------------------------------- */

/* Writes the kinds of the first four modules that need a loader: the line is one of many. */
static void put_kinds(const struct mpk_view *view, struct mpk_strbuf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		if (n->is_lib || shown == 4)
			continue;
		mpk_strbuf_puts(out, shown++ ? ", " : " (");
		mpk_escape(out, n->kind);
	}
	mpk_strbuf_puts(out, shown ? ")" : "");
}

enum { FAMILY_NAMES = 3 };

/* Returns the length of a device's family prefix: "sm_", "compute_", "gfx11"; 0 if it has none. */
static size_t family_length(const char *target)
{
	size_t digits;

	if (strncmp(target, "sm_", 3) == 0)
		return 3;
	if (strncmp(target, "compute_", 8) == 0)
		return 8;
	if (strncmp(target, "gfx", 3) != 0)
		return 0;
	digits = strspn(target + 3, "0123456789");
	return digits > 2 ? 3 + digits - 2 : 0;
}

static int by_target(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	size_t m = family_length(*x), n = family_length(*y);

	/* CUDA machine code first, then code that drivers compile, then other makers */
	if ((m == 3) != (n == 3))
		return m == 3 ? -1 : 1;
	return mpk_natural_compare(*x, *y);
}

/* Writes consecutive devices of one family: "sm_60-sm_90 (7)", "gfx11.. 8"; if there are few, their
 * names. */
static void put_family(const char *const *names, size_t count, struct mpk_strbuf *out)
{
	size_t len = family_length(names[0]);

	for (size_t i = 0; i < count && count <= FAMILY_NAMES; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, mpk_span_str(names[i]));
	}
	if (count <= FAMILY_NAMES)
		return;
	mpk_escape(out, mpk_span_of(names[0],
				    strncmp(names[0], "gfx", 3) == 0 ? len : strlen(names[0])));
	if (strncmp(names[0], "gfx", 3) == 0) {
		mpk_strbuf_printf(out, ".. %zu", count);
		return;
	}
	mpk_strbuf_puts(out, "-");
	mpk_escape(out, mpk_span_str(names[count - 1]));
	mpk_strbuf_printf(out, " (%zu)", count);
}

static void put_families(const char **names, size_t count, struct mpk_strbuf *out)
{
	size_t n = 0, put = 0, at, end;

	qsort(names, count, sizeof *names, by_target);
	for (size_t i = 0; i < count; i++)
		if (!n || strcmp(names[n - 1], names[i]) != 0)
			names[n++] = names[i];
	for (at = 0; at < n && put < MPK_NAMES_SHOWN; at = end, put++) {
		size_t len = family_length(names[at]);

		for (end = at + 1; len && end < n && family_length(names[end]) == len &&
				   strncmp(names[at], names[end], len) == 0;)
			end++;
		mpk_strbuf_puts(out, put ? ", " : " for ");
		put_family(names + at, end - at, out);
	}
	if (at < n)
		mpk_strbuf_printf(out, " and %zu more", n - at);
}

/* Writes only devices, without counts and sizes, as the line is one of many. */
static void put_gpu(const struct mpk_view *view, const char *before, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_device_rows rows;
	const char *title, **names;

	if (!view->image->device_count)
		return;
	if (mpk_device_rows(view, &scratch, &rows, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	title = mpk_device_title(view->image);
	mpk_strbuf_printf(out, "%s%s", before, title ? title : "GPU code");
	if (!rows.count || (title && !*rows.items[0].target))
		return; /* portable code is for no particular GPU */
	names = mpk_arena_array(&scratch, rows.count, sizeof *names);
	out->failed |= !names;
	for (size_t i = 0; names && i < rows.count; i++)
		names[i] = *rows.items[i].target ? rows.items[i].target : rows.items[i].what;
	if (names)
		put_families(names, rows.count, out);
}

/* Omits empty counts, so a file without any of these gives an empty line. */
static void brief_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;
	const struct mpk_image *image = view->image;
	/* later items have a comma before them, unless they are the first */
	size_t start = out->len;

	(void)style;
	if (view->count) {
		mpk_put_count(out, view->count, "module");
		put_kinds(view, out);
	}
	if (image->function_count) {
		mpk_strbuf_puts(out, out->len > start ? ", " : "");
		mpk_put_count(out, image->function_count, "function");
	}
	if (image->embedded_count) {
		mpk_strbuf_puts(out, out->len > start ? ", " : "");
		mpk_put_count(out, image->embedded_count, "embedded cubin");
	}
	put_gpu(view, out->len > start ? ", " : "", out);
}

static void brief_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	struct mpk_json_at *list;

	mpk_json_text(j, at, "machine", view->image->machine_name);
	list = mpk_json_array(j, at, "modules");
	for (size_t i = 0; i < view->count; i++)
		mpk_json_span(j, list, NULL, view->nodes[i].node->kind);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < view->image->function_count; i++)
		mpk_json_text(j, list, NULL, view->image->functions[i].name);
	mpk_json_u64(j, at, "embedded", view->image->embedded_count);
	mpk_device_rows_json(view, j, at);
}

const struct mpk_answer mpk_answer_brief = { .line = brief_line, .json = brief_json };

/* --- what a package of PyTorch holds beside libraries ----------------------------------------- */

/* Lists weights and constants by name and size, models, and the other members. */

static void package_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_pt2 *p = what;
	struct mpk_table table = { .right = 1 };

	(void)style;
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_pt2_part *part = &p->parts[i];

		if (part->role == MPK_PT2_ARTIFACT || part->role == MPK_PT2_OTHER)
			continue;
		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", MPK_SIZE(part->bytes));
		mpk_table_cell(&table, "%s", mpk_pt2_role_words[part->role]);
		mpk_table_cell(&table, "%s", MPK_QUOTE(part->name.len ? part->name : part->member));
	}
	mpk_table_print(&table, "  ", out);
	mpk_table_fini(&table);
}

/* Lists all members, so that no other document about the package is needed. */
static void package_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_pt2 *p = what;
	struct mpk_json_at *list, *o;

	at = mpk_json_object(j, at, "package");
	mpk_json_text(j, at, "format", "pt2");
	mpk_json_name(j, at, "version", p->version);
	list = mpk_json_array(j, at, "parts");
	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_pt2_part *part = &p->parts[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "role", mpk_pt2_role_words[part->role]);
		mpk_json_span(j, o, "member", part->member);
		mpk_json_name(j, o, "name", part->name);
		mpk_json_u64(j, o, "bytes", part->bytes);
	}
}

const struct mpk_answer mpk_answer_package = { .text = package_text, .json = package_json };
