/* SPDX-License-Identifier: Apache-2.0 */
/* --diff OTHER: compares each file of the command line with OTHER, part by part (lib/show/diff).
 * OTHER is the older of the two, as in diff(1), and is opened again for each file. If OTHER is a
 * folder or an archive, files with the same path below both are compared, and files that only one
 * side has are differences. A single file is compared with the file of the same name in a folder.
 * With --ignore=noise only the code is compared, by the digests (lib/show/digest) that
 * --code-digest prints: one for a file and one for each kernel, which a clean rebuild of the same
 * source reproduces. */
#include "diff/diff.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ar/ar.h"
#include "base/strmap.h"
#include "common/diag.h"
#include "deflate/deflate.h"
#include "digest/digest.h"
#include "disasm/changes.h"
#include "elf/foreign.h"
#include "io/path.h"
#include "minspect/diff_set.h"
#include "minspect/diff_totals.h"
#include "minspect/document.h"
#include "tar/tar.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/phrase.h"
#include "text/table.h"
#include "zip/zip.h"

/* --- the older side --- */

/* The older side: a file, or the files of a folder or an archive. The list of an archive is read
 * once, not for each of its files. Open with older_open; call older_close in every case. */
struct older {
	const char *name; /* the name that the user gave */
	bool is_folder;
	struct minspect_found found;  /* files of a folder */
	struct minspect_file archive; /* the archive with libraries; else not open */
	size_t count;                 /* number of files in it; 0 if it is a single file */
	bool *is_met;                 /* for each of them: it has been compared */
	bool is_archive;              /* a zip archive, which may have no libraries */
	bool is_against_all;          /* a folder or archive: files not compared were removed */
	struct mpk_strmap names;
	struct mpk_arena arena;
	/* set if both sides are folders or both are archives: all files of both */
	bool are_sets;
	struct minspect_set_of_files old_set, new_set;
	struct minspect_set_changes changes;
	struct minspect_diff_totals totals;
	/* set if it is a single file with several models: their prefixes, and whether each was
	 * compared */
	const char *const *prefixes;
	size_t prefix_count;
	bool *is_prefix_met;
	/* other_bytes: bytes outside all models differ; any_said: a difference of a model was
	 * printed */
	bool other_bytes, any_said;
	uint64_t older_bytes, newer_bytes; /* sizes of those two files */
	struct mpk_strmap told;            /* names in the set of files with a printed difference */
	/* two sets, text: the differences of each file, up to MINSPECT_LINES */
	struct minspect_aside aside;
	/* output to use if nothing is kept aside; NULL if nothing is kept aside */
	struct mpk_strbuf *out;
};

static struct mpk_span name_of(const struct older *older, size_t i)
{
	return older->archive.library_count
		       ? older->archive.libraries[i].name
		       : mpk_span_str(older->found.items[i] + older->found.folder_lens[i]);
}

static enum mpk_code take_names(struct older *older, size_t count, struct mpk_error *err)
{
	older->count = count;
	MPK_TRY_ARRAY(older->is_met, &older->arena, count, err);
	for (size_t i = count; i-- > 0;) {
		/* if an archive has a name twice, the last counts, as in mpk_zip_find; the others
		 * count as compared with it */
		MPK_TRY_ALLOC(mpk_strmap_put(&older->names, name_of(older, i), i, NULL) >= 0, err);
	}
	return MPK_OK;
}

/* Standard input is read only once, by the comparison. */
static bool is_archive(const char *name)
{
	char head[4];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head);

	if (fd >= 0)
		(void)close(fd);
	return got == (ssize_t)sizeof head && mpk_zip_is(mpk_span_of(head, sizeof head));
}

/* A single file is opened only when the first file is compared with it, and its errors are reported
 * then. */
static enum mpk_code older_open(const char *name, struct older *out, struct mpk_error *err)
{
	struct stat st;

	*out = (struct older){
		.name = name, .archive.map.fd = -1, .old_set.map.fd = -1, .new_set.map.fd = -1
	};
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
		out->is_folder = true;
		MPK_TRY(minspect_folder_walk(name, &out->found, err));
		return take_names(out, out->found.count, err);
	}
	out->is_archive = is_archive(name);
	if (!out->is_archive || minspect_file_open(name, &out->archive, NULL) == MPK_OK ||
	    !out->archive.library_count)
		return MPK_OK;
	return take_names(out, out->archive.library_count, err);
}

static void older_close(struct older *older)
{
	minspect_file_close(&older->archive);
	minspect_found_fini(&older->found);
	mpk_strmap_fini(&older->names);
	mpk_strmap_fini(&older->told);
	minspect_set_fini(&older->old_set);
	minspect_set_fini(&older->new_set);
	minspect_aside_fini(&older->aside);
	mpk_arena_fini(&older->arena);
}

/* If the kept text exceeds MINSPECT_LINES, drops it: the details of many files do not fit on a
 * screen. */
static void bound_aside(struct older *older)
{
	size_t lines = 0;

	if (!older->out)
		return;
	for (size_t i = 0; i < older->aside.text.len && lines <= MINSPECT_LINES; i++)
		lines += older->aside.text.data[i] == '\n';
	older->aside.is_too_much |= lines > MINSPECT_LINES;
	if (older->aside.is_too_much)
		minspect_aside_fini(&older->aside);
}

/* Returns the path of a file below its folder or in its archive; for a single file, its name
 * without folders. */
static const char *key_of(const struct older *older, const struct minspect_look *l)
{
	const char *name = l->file->name, *slash = strrchr(name, '/');

	if (l->folder_len)
		return name + l->folder_len;
	if (!older->is_folder || older->are_sets)
		return strstr(name, "!/") ? strstr(name, "!/") + 2 : name;
	return slash && slash[1] ? slash + 1 : name;
}

static enum mpk_code open_in_archive(struct older *older, const char *key,
				     struct minspect_file *out, struct mpk_error *err)
{
	const char *path;
	size_t at;

	if (!mpk_strmap_find(&older->names, mpk_span_str(key), &at))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no such file");
	older->is_met[at] = true;
	path = minspect_zip_member(&older->archive, at, &older->arena);
	MPK_TRY_ALLOC(path, err);
	return minspect_file_open_library(&older->archive, at, path, false, out, err);
}

/* Returns "FILE(PREFIX)", or just FILE if it has one model; NULL if memory is out. */
static const char *name_model(struct older *older, size_t i)
{
	return older->prefix_count < 2
		       ? older->name
		       : mpk_arena_printf(&older->arena, "%s(%s)", older->name, older->prefixes[i]);
}

/* Opens the model with the same prefix if one of the two files has several models. Only then are
 * the prefixes of the newer file set. */
static enum mpk_code open_model(struct older *older, const struct minspect_look *l,
				struct minspect_file *out, struct mpk_error *err)
{
	const struct mpk_image *newer = &l->file->image;
	const char *name;
	size_t at = 0;

	/* two models named by the user are compared whatever their prefixes are */
	if ((newer->prefix_count < 2 && out->image.prefix_count < 2) ||
	    (newer->by_prefix && out->image.by_prefix && !l->is_model))
		return MPK_OK;
	if (!newer->has_blob || out->image.by_prefix)
		return strcmp(newer->prefix, out->image.prefix) == 0
			       ? MPK_OK
			       : mpk_fail(err, MPK_E_NOTFOUND, "there is no such model");
	if (!older->is_prefix_met) {
		const char **all =
			mpk_arena_array(&older->arena, out->image.prefix_count + 1, sizeof *all);

		older->is_prefix_met = mpk_arena_array(&older->arena, out->image.prefix_count + 1,
						       sizeof *older->is_prefix_met);
		MPK_TRY_ALLOC(all && older->is_prefix_met, err);
		for (size_t i = 0; i < out->image.prefix_count; i++) {
			all[i] =
				mpk_arena_text(&older->arena, mpk_span_str(out->image.prefixes[i]));
			MPK_TRY_ALLOC(all[i], err);
		}
		older->prefixes = all;
		older->prefix_count = out->image.prefix_count;
	}
	while (at < older->prefix_count && strcmp(older->prefixes[at], newer->prefix) != 0)
		at++;
	if (at == older->prefix_count)
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no such model");
	older->is_prefix_met[at] = true;
	if (older->prefix_count < 2)
		return MPK_OK;
	name = name_model(older, at);
	MPK_TRY_ALLOC(name, err);
	minspect_file_close(out);
	return minspect_file_open(name, out, err);
}

/* older_file - open the counterpart of the current file
 * @out     call minspect_file_close in every case, before older is closed
 * Returns  as minspect_file_open; MPK_E_NOTFOUND: the folder or archive has no such file */
static enum mpk_code older_file(struct older *older, const struct minspect_look *l,
				struct minspect_file *out, struct mpk_error *err)
{
	*out = (struct minspect_file){ .name = older->name, .map.fd = -1 };
	older->is_against_all |= l->folder_len > 0 || l->file->borrows_map;
	if (older->is_folder) {
		const char *key = key_of(older, l);
		const char *inner = strstr(key, "!/");
		size_t len = inner ? (size_t)(inner - key) : strlen(key), at;
		const char *path;

		if (!mpk_strmap_find(&older->names, mpk_span_of(key, len), &at))
			return mpk_fail(err, MPK_E_NOTFOUND, "there is no such file");
		if (inner && !older->is_met[at])
			mpk_diag_warn(
				"%s: what it alone has is not looked for within a folder; compare the two archives by themselves",
				MPK_QUOTE(mpk_span_str(older->found.items[at])));
		older->is_met[at] = true;
		path = mpk_arena_printf(&older->arena, "%s%s", older->found.items[at], key + len);
		MPK_TRY_ALLOC(path, err);

		enum mpk_code code = minspect_file_open(path, out, err);

		/* a missing member is not a system error */
		return inner && code == MPK_E_IO && err && !err->sys_errno ? MPK_E_NOTFOUND : code;
	}
	if (older->are_sets || (older->count && l->file->in_zip))
		return open_in_archive(older, key_of(older, l), out, err);
	MPK_TRY(minspect_file_open(older->name, out, err));
	return open_model(older, l, out, err);
}

/* Returns the next file of the older side without a counterpart. Empty files do not count as
 * removed. */
static bool older_left(struct older *older, size_t *at, const char **name)
{
	for (; older->is_against_all && *at < older->count; ++*at) {
		struct minspect_file file = { .map.fd = -1 };
		enum mpk_code code;

		if (older->is_met[*at])
			continue;
		*name = older->is_folder ? older->found.items[*at]
					 : minspect_zip_member(&older->archive, *at, &older->arena);
		if (!*name)
			return false;
		code = older->is_folder ? minspect_file_open(*name, &file, NULL)
					: minspect_file_open_library(&older->archive, *at, *name,
								     false, &file, NULL);
		bool holds = code == MPK_OK || file.is_weights || file.library_count > 0;

		minspect_file_close(&file);
		if (!holds)
			continue;
		++*at;
		return true;
	}
	return false;
}

/* --- the comparison --- */

enum mpk_code minspect_compare(struct minspect_look *l, struct minspect_file *older,
			       bool ignores_noise, struct mpk_diff *diff, struct mpk_error *err)
{
	struct mpk_disasm *disasm;
	struct mpk_view view;

	MPK_TRY(mpk_view_init(&view, older->name, older->bytes.len, &older->image,
			      older->image.has_blob ? &older->tree : NULL, &older->arena, err));
	if (ignores_noise)
		return mpk_code_digests_compare(&view, l->view, &l->file->arena, diff, err);
	MPK_TRY(minspect_disasm_take(&disasm, err));
	MPK_TRY(mpk_diff_views(&view, older->bytes, l->view, l->file->bytes, &l->file->arena, diff,
			       err));
	return mpk_disasm_changes(disasm, &view, l->view, &l->file->arena, diff, err);
}

static int answer_diff(const struct minspect_options *o, struct minspect_look *l,
		       enum mpk_code code, const struct mpk_diff *found,
		       const struct mpk_error *err)
{
	if (code != MPK_OK)
		return mpk_diag_error(err);
	/* without differences there is no text, so no empty line separates it */
	if (found->count || l->json || o->markdown || o->ignore)
		minspect_answer(o, l, o->ignore ? &mpk_answer_verdict : &mpk_answer_diff, found);
	bound_aside(l->user);
	return found->count ? MPK_EXIT_DIFFERENT : MPK_EXIT_OK;
}

static int answer_one(const struct minspect_options *o, struct minspect_look *l,
		      struct mpk_difference *file, struct mpk_diff_side older,
		      struct mpk_diff_side newer)
{
	const struct mpk_diff found = { .older = older, .newer = newer, .items = file, .count = 1 };

	return answer_diff(o, l, MPK_OK, &found, NULL);
}

/* Prints "~ bytes: other bytes", for a single file. */
static int answer_bytes(const struct minspect_options *o, struct minspect_look *l,
			struct mpk_diff_side older, struct mpk_diff_side newer)
{
	struct mpk_difference bytes = { .sign = MPK_DIFF_CHANGED,
					.path = "",
					.new_path = "",
					.what = "bytes",
					.text = older.bytes == newer.bytes ? "other bytes" : "",
					.lines = "",
					.target = "",
					.has_bytes = true,
					.older_bytes = older.bytes,
					.newer_bytes = newer.bytes };

	return answer_one(o, l, &bytes, older, newer);
}

/* Prints a file that only one side has, or whose bytes only can be compared. */
static int answer_file(const struct minspect_options *o, struct minspect_look *l,
		       enum mpk_diff_sign sign, struct mpk_diff_side older,
		       struct mpk_diff_side newer)
{
	struct mpk_difference file = { .sign = sign,
				       .path = "",
				       .new_path = "",
				       .what = "file",
				       .text = "",
				       .lines = "",
				       .target = "",
				       .has_bytes = sign == MPK_DIFF_CHANGED,
				       .older_bytes = sign == MPK_DIFF_CHANGED ? older.bytes : 0,
				       .newer_bytes = sign == MPK_DIFF_CHANGED ? newer.bytes : 0 };

	file.name = mpk_span_str(sign == MPK_DIFF_ADDED ? newer.name : older.name);
	return answer_one(o, l, &file, older, newer);
}

static int answer_added(const struct minspect_options *o, struct minspect_look *l)
{
	const struct mpk_diff_side older = { .name = o->diff },
				   newer = { .name = l->file->name, .bytes = l->file->bytes.len };

	return answer_file(o, l, MPK_DIFF_ADDED, older, newer);
}

/* --- every file of two sets --- */

/* Whether each side is a folder or an archive. A file is compared with the file of its name in a
 * folder, and so is an archive if the folder has a file of its name. */
static enum mpk_code read_sets(const struct minspect_options *o, struct older *older,
			       struct mpk_error *err)
{
	size_t len = o->folder_lens && o->file_count ? o->folder_lens[0] : 0, ignored;
	const char *newer;

	for (size_t i = 1; i < o->file_count; i++)
		if ((o->folder_lens ? o->folder_lens[i] : 0) != len ||
		    strncmp(o->files[i], o->files[0], len) != 0)
			return MPK_OK;
	if (!o->file_count || o->ignore || (!older->is_folder && !older->is_archive) ||
	    (!len && (o->file_count != 1 || !is_archive(o->files[0]))))
		return MPK_OK;
	if (!len && older->is_folder &&
	    mpk_strmap_find(&older->names, mpk_span_str(mpk_path_name(o->files[0])), &ignored))
		return MPK_OK;
	newer = len ? mpk_arena_printf(&older->arena, "%.*s", (int)len - 1, o->files[0])
		    : o->files[0];
	MPK_TRY_ALLOC(newer, err);
	MPK_TRY(minspect_set_read(older->name, older->is_folder, &older->old_set, err));
	MPK_TRY(minspect_set_read(newer, len > 0, &older->new_set, err));
	older->are_sets = true;
	return minspect_sets_compare(&older->old_set, &older->new_set, &older->arena,
				     &older->changes, err);
}

/* Prints "old.whl -> new.whl: 41.1 MiB -> 38.2 MiB; 1 file added, 2 removed, 9 changed, 6
 * equal". */
static void put_summary(const struct minspect_options *o, struct minspect_look *l)
{
	const struct older *older = l->user;
	const struct minspect_set_changes *c = &older->changes;
	struct mpk_strbuf *out = l->out;

	if (!older->are_sets || l->json || !c->count)
		return;
	if (o->markdown) {
		mpk_strbuf_puts(out, "### ");
		mpk_markdown_code(out, mpk_span_str(older->new_set.name));
		mpk_strbuf_puts(out, " against ");
		mpk_markdown_code(out, mpk_span_str(older->old_set.name));
		mpk_strbuf_puts(out, "\n\n");
	} else {
		mpk_escape(out, mpk_span_str(older->old_set.name));
		mpk_strbuf_puts(out, " -> ");
		mpk_escape(out, mpk_span_str(older->new_set.name));
		mpk_strbuf_puts(out, ": ");
	}
	mpk_strbuf_printf(out, "%s -> ", MPK_SIZE(older->old_set.bytes));
	mpk_strbuf_printf(out, "%s; ", MPK_SIZE(older->new_set.bytes));
	mpk_put_count(out, c->added, "file");
	mpk_strbuf_printf(out, " added, %zu removed, %zu changed, %zu equal\n", c->removed,
			  c->changed, c->equal);
	mpk_strbuf_puts(out, o->markdown ? "\n" : "");
}

/* Prints the summary first; if everything is printed as it is found, the totals come last. */
static void put_first(const struct minspect_options *o, struct minspect_look *l)
{
	struct older *older = l->user;

	if (o->all && !o->markdown)
		put_summary(o, l);
	if (older->are_sets && l->out && !minspect_is_whole(o)) {
		older->out = l->out;
		l->out = &older->aside.text;
	}
}

static uint64_t grown(const struct minspect_set_change *c)
{
	uint64_t a = c->older ? c->older->bytes : 0, b = c->newer ? c->newer->bytes : 0;

	return a > b ? a - b : b - a;
}

static int by_growth(const void *a, const void *b)
{
	const struct minspect_set_change *const *x = a, *const *y = b;
	uint64_t n = grown(*x), m = grown(*y);

	return n != m ? (n < m ? 1 : -1) : *x < *y ? -1 : *x > *y;
}

/* Writes lines "  ~  pkg/lib.so  25.3 MiB -> 21.9 MiB", sorted by the change of size, largest
 * first. */
static void put_files(const struct older *older, struct mpk_strbuf *out)
{
	enum { FILES_SHOWN = 24 };
	const struct minspect_set_changes *changes = &older->changes;
	const struct minspect_set_change **rows = calloc(changes->count + 1, sizeof *rows);
	struct mpk_table table = { .right = 2 | 4 };
	size_t shown = changes->count > FILES_SHOWN ? FILES_SHOWN : changes->count;

	out->failed |= !rows;
	for (size_t i = 0; rows && i < changes->count; i++)
		rows[i] = &changes->items[i];
	if (rows)
		qsort(rows, changes->count, sizeof *rows, by_growth);
	for (size_t i = 0; rows && i < shown; i++) {
		const struct minspect_set_item *x = rows[i]->older, *y = rows[i]->newer;

		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", !x ? "+" : !y ? "-" : "~");
		mpk_table_cell(&table, "%s", x ? MPK_SIZE(x->bytes) : "");
		mpk_table_cell(&table, "%s", y ? MPK_SIZE(y->bytes) : "");
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is in one of the two */
		mpk_table_cell(&table, "%s", MPK_QUOTE((y ? y : x)->name));
	}
	mpk_table_print(&table, "  ", out);
	out->failed |= table.failed;
	mpk_table_fini(&table);
	free(rows);
	if (shown < changes->count)
		mpk_strbuf_printf(out, "  and %zu more files\n", changes->count - shown);
	mpk_strbuf_puts(out, "all that differs in them: --all; in one: minspect diff OLD!/FILE "
			     "NEW!/FILE, of folders OLD/FILE NEW/FILE\n");
}

static void put_head(const struct minspect_options *o, struct minspect_look *l)
{
	struct older *older = l->user;
	size_t len;

	l->out = older->out ? older->out : l->out;
	len = l->out->len;
	put_summary(o, l);
	minspect_totals_put(&older->totals, o->markdown, l->out);
	if (older->out && older->aside.is_too_much) {
		put_files(older, l->out);
		return;
	}
	mpk_strbuf_puts(l->out, older->changes.count || l->out->len > len ? "\n" : "");
	if (older->out)
		minspect_aside_print(l, &older->aside);
}

static void put_last(const struct minspect_options *o, struct minspect_look *l)
{
	const struct older *older = l->user;

	if (o->all && older->are_sets && !l->json && !o->markdown)
		minspect_totals_put(&older->totals, false, l->out);
}

/* Notes that a difference of the current file was printed. */
static enum mpk_code note_told(struct older *older, const struct minspect_look *l,
			       struct mpk_error *err)
{
	const char *key = key_of(older, l), *inner = strstr(key, "!/");
	const char *kept;

	if (!older->are_sets)
		return MPK_OK;
	/* for an archive in a folder, all differences belong to the archive */
	kept = mpk_arena_text(&older->arena,
			      mpk_span_of(key, inner ? (size_t)(inner - key) : strlen(key)));
	MPK_TRY_ALLOC(kept && mpk_strmap_put(&older->told, mpk_span_str(kept), 0, NULL) >= 0, err);
	return MPK_OK;
}

static const char *item_name(struct older *older, const struct minspect_set_of_files *s,
			     const struct minspect_set_item *i)
{
	return mpk_arena_printf(&older->arena, "%s%s%s", s->name, s->is_folder ? "/" : "!/",
				MPK_QUOTE(i->name));
}

/* Writes a line of text: "~ file pkg/lib.so: 14.7 KiB -> 14.9 KiB". */
static void put_other(const struct minspect_set_change *c, struct mpk_strbuf *out)
{
	const struct minspect_set_item *any = c->older ? c->older : c->newer;

	mpk_strbuf_puts(out, !c->older ? "+ file " : !c->newer ? "- file " : "~ file ");
	mpk_escape(out, (c->newer ? c->newer : c->older)->name);
	mpk_strbuf_printf(out, ": %s", MPK_SIZE(any->bytes));
	if (c->older && c->newer && c->older->bytes != c->newer->bytes)
		mpk_strbuf_printf(out, " -> %s", MPK_SIZE(c->newer->bytes));
	else if (c->older && c->newer)
		mpk_strbuf_puts(out, ", other bytes");
	mpk_strbuf_putc(out, '\n');
}

/* Prints files that no other result covers: their content cannot be compared in another way. */
static int answer_others(const struct minspect_options *o, struct minspect_look *l)
{
	struct older *older = l->user;
	struct mpk_error err = { 0 };
	int status = MPK_EXIT_OK;

	for (size_t i = 0; i < older->changes.count; i++) {
		const struct minspect_set_change *c = &older->changes.items[i];
		const struct minspect_set_item *any = c->older ? c->older : c->newer;
		struct mpk_diff_side from = { .name = older->old_set.name },
				     to = { .name = older->new_set.name };
		size_t ignored;

		if (mpk_strmap_find(&older->told, any->name, &ignored))
			continue;
		if (!l->json && !o->markdown) {
			if (status == MPK_EXIT_OK)
				minspect_separate(l);
			put_other(c, l->out);
			bound_aside(older);
			status = MPK_EXIT_DIFFERENT;
			continue;
		}
		if (c->older)
			from = (struct mpk_diff_side){ item_name(older, &older->old_set, c->older),
						       c->older->bytes, 0, NULL };
		if (c->newer)
			to = (struct mpk_diff_side){ item_name(older, &older->new_set, c->newer),
						     c->newer->bytes, 0, NULL };
		if (!from.name || !to.name)
			return mpk_diag_error((mpk_fail_nomem(&err), &err));
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = answer_file(o, l,
				     !c->older   ? MPK_DIFF_ADDED
				     : !c->newer ? MPK_DIFF_REMOVED
						 : MPK_DIFF_CHANGED,
				     from, to);
	}
	return status;
}

static int diff_removed(const struct minspect_options *o, struct minspect_look *l)
{
	struct older *older = l->user;
	struct mpk_diff_side gone = { 0 }, newer = { .name = o->files[0] };
	int status = MPK_EXIT_OK;

	if (older->are_sets)
		return answer_others(o, l);
	if (o->folder_lens && o->folder_lens[0])
		newer.name = mpk_arena_printf(&older->arena, "%.*s", (int)o->folder_lens[0] - 1,
					      newer.name);
	newer.name = newer.name ? newer.name : "";
	for (size_t i = 0; i < older->prefix_count; i++) {
		if (older->is_prefix_met[i])
			continue;
		gone.name = name_model(older, i);
		gone.name = gone.name ? gone.name : "";
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = answer_file(o, l, MPK_DIFF_REMOVED, gone, newer);
	}
	if (older->other_bytes && !older->any_said && status == MPK_EXIT_OK) {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		gone = (struct mpk_diff_side){ .name = older->name, .bytes = older->older_bytes };
		newer.bytes = older->newer_bytes;
		status = answer_bytes(o, l, gone, newer);
	}
	for (size_t at = 0; older_left(older, &at, &gone.name);) {
		if (l->json)
			l->at = mpk_json_object(l->json, l->files, NULL);
		status = answer_file(o, l, MPK_DIFF_REMOVED, gone, newer);
	}
	return status;
}

/* Whether a file is of unknown format. A damaged file of a known format is not. */
static bool is_plain(const struct minspect_file *file, enum mpk_code code)
{
	struct mpk_span bytes = file->bytes;

	if (file->is_weights || file->image.elf_class || file->library_count)
		return false;
	return code == MPK_E_NO_BLOB || code == MPK_E_UNSUPPORTED ||
	       (code == MPK_E_CORRUPT && mpk_file_format_of(bytes) == MPK_FILE_BLOB &&
		!mpk_zip_is(bytes) && !mpk_gzip_is(bytes) && !mpk_ar_is(bytes) &&
		!mpk_tar_is(bytes) && !mpk_file_is_device(bytes));
}

static int answer_plain(const struct minspect_options *o, struct minspect_look *l,
			const struct minspect_file *other)
{
	const struct mpk_diff_side from = { .name = other->name, .bytes = other->bytes.len },
				   to = { .name = l->file->name, .bytes = l->file->bytes.len };
	const struct mpk_diff equal = { .older = from, .newer = to };

	return mpk_span_equal(other->bytes, l->file->bytes)
		       ? answer_diff(o, l, MPK_OK, &equal, NULL)
		       : answer_bytes(o, l, from, to);
}

/* If one of two files is of unknown format, their bytes are compared, as for files in folders. */
static int diff_refuse(const struct minspect_options *o, struct minspect_look *l,
		       const struct mpk_error *err)
{
	struct older *older = l->user;
	struct minspect_file other;
	struct mpk_error problem = { 0 };
	enum mpk_code code;
	int status;

	if (older->is_folder || older->is_archive || l->folder_len || o->ignore ||
	    !is_plain(l->file, err->code))
		return minspect_report(l, err);
	code = minspect_file_open(older->name, &other, &problem);
	status = code == MPK_OK || code == MPK_E_NO_BLOB || is_plain(&other, code)
			 ? answer_plain(o, l, &other)
			 : mpk_diag_error(&problem);
	minspect_file_close(&other);
	return status;
}

/* Bytes that differ outside all models are not reported for each model, but once for the file if no
 * model differs. */
static void leave_shared(struct older *older, struct mpk_diff *found)
{
	if (found->count == 1 && strcmp(found->items[0].what, "bytes") == 0) {
		older->other_bytes = true;
		older->older_bytes = found->older.bytes;
		older->newer_bytes = found->newer.bytes;
		found->count = 0;
	}
	older->any_said |= found->count > 0;
}

static int diff_file(const struct minspect_options *o, struct minspect_look *l)
{
	struct minspect_file other;
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = older_file(l->user, l, &other, &err);

	if (note_told(l->user, l, &err) != MPK_OK) {
		minspect_file_close(&other);
		return mpk_diag_error(&err);
	}
	if (code == MPK_E_NOTFOUND) {
		minspect_file_close(&other);
		return answer_added(o, l);
	}
	if (((struct older *)l->user)->are_sets &&
	    (code == MPK_E_NO_BLOB || code == MPK_E_UNSUPPORTED)) {
		/* the older file has nothing comparable with this one */
		const struct mpk_diff_side from = { .name = other.name, .bytes = other.bytes.len },
					   to = { .name = l->file->name,
						  .bytes = l->file->bytes.len };
		int status = answer_file(o, l, MPK_DIFF_CHANGED, from, to);

		minspect_file_close(&other);
		return status;
	}
	if (!((struct older *)l->user)->is_folder && !o->ignore && is_plain(&other, code)) {
		int status = answer_plain(o, l, &other);

		minspect_file_close(&other);
		return status;
	}
	/* two files named by the user are compared whatever they contain */
	if (code == MPK_OK || (code == MPK_E_NO_BLOB && other.image.elf_class && !o->ignore))
		code = minspect_compare(l, &other, o->ignore != NULL, &found, &err);
	if (code == MPK_OK && l->file->image.by_prefix)
		leave_shared(l->user, &found);
	if (code == MPK_OK && (((struct older *)l->user)->are_sets || (o->markdown && !o->ignore)))
		code = minspect_totals_add(&((struct older *)l->user)->totals, &found, &err);

	/* With many differing files, text mentions missing tools once. */
	static bool said;

	if (said && !l->json)
		found.no_instructions = NULL;
	said |= found.no_instructions != NULL;

	/* with the sums before and after, three kinds of lines fit */
	found.lines_most = minspect_is_whole(o) ? 0 : MINSPECT_LINES / 3;
	int status = answer_diff(o, l, code, &found, &err);

	minspect_file_close(&other);
	return status;
}

static enum mpk_code diff_open_weights(struct minspect_file *file, struct mpk_weightfile *out,
				       struct mpk_error *err)
{
	*out = (struct mpk_weightfile){ 0 };
	if (file->is_weights)
		return minspect_weights_open(file, out, err);
	(void)mpk_fail(err, MPK_E_UNSUPPORTED,
		       "this is no file of weights, which the other one is");
	mpk_error_at_file(err, file->name);
	return MPK_E_UNSUPPORTED;
}

static int diff_weights(const struct minspect_options *o, struct minspect_look *l,
			const struct mpk_weightfile *f)
{
	struct minspect_file other;
	struct mpk_weightfile older = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_diff found = { 0 };
	enum mpk_code code = MPK_OK;

	if (o->ignore)
		return mpk_diag_usage("--ignore=noise compares code; '%s' holds weights",
				      MPK_QUOTE(mpk_span_str(l->file->name)));
	code = older_file(l->user, l, &other, &err);
	if (note_told(l->user, l, &err) != MPK_OK) {
		minspect_file_close(&other);
		return mpk_diag_error(&err);
	}
	if (code == MPK_E_NOTFOUND) {
		minspect_file_close(&other);
		return answer_added(o, l);
	}
	if (code == MPK_OK || other.is_weights)
		code = diff_open_weights(&other, &older, &err);
	if (code == MPK_OK)
		code = mpk_weightfile_diff(&older, f, &l->file->arena, &found, &err);
	found.lines_most = minspect_is_whole(o) ? 0 : MINSPECT_LINES / 3;
	int status = answer_diff(o, l, code, &found, &err);

	mpk_weight_set_close(&older.set);
	minspect_file_close(&other);
	return status;
}

/* With a file that has no models, all of them are one file, which is said once. */
static bool is_without_models(const struct minspect_look *l)
{
	const struct older *older = l->user;
	struct minspect_file file;
	enum mpk_code code = minspect_file_open(older->name, &file, NULL);
	bool holds = code != MPK_E_NO_BLOB && !is_plain(&file, code);

	minspect_file_close(&file);
	return !holds;
}

int minspect_diff(const struct minspect_options *o)
{
	struct minspect_action action = { .begin = put_first,
					  .sum = put_last,
					  .look = diff_file,
					  .weights = diff_weights,
					  .refuse = diff_refuse,
					  .refuses_all = true,
					  .is_whole = is_without_models,
					  .end = diff_removed };
	MPK_CLEANUP(older_close)
	struct older older = { .archive.map.fd = -1, .old_set.map.fd = -1, .new_set.map.fd = -1 };
	struct mpk_error err = { 0 };

	if (o->markdown && o->json)
		return mpk_diag_usage("--markdown and --json are two forms; give one of them");
	if (o->ignore && strcmp(o->ignore, "noise") != 0)
		return mpk_diag_usage("--ignore takes noise, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->ignore)));
	if (older_open(o->diff, &older, &err) != MPK_OK || read_sets(o, &older, &err) != MPK_OK)
		return mpk_diag_error(&err);
	action.may_hold_nothing = action.is_cut = older.are_sets;
	action.takes_libraries = action.takes_any =
		!older.is_folder && !older.is_archive && o->file_count == 1 && !o->ignore;
	action.each_model = action.takes_libraries;
	action.head = !o->json && (older.are_sets || o->markdown) ? put_head : NULL;
	older.totals.arena = &older.arena;

	int status = minspect_each(o, &action, &older);

	minspect_disasm_end();
	return status;
}
