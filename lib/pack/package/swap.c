/* SPDX-License-Identifier: Apache-2.0 */
/* swap.c - replaces payloads in a tree that was read; everything else stays as it was */
#include "package/package.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/format.h"
#include "code/info.h"
#include "kinds.h"
#include "package/internal/package.h"
#include "payload.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* A swap in progress. */
struct job {
	struct mpk_swap *s;
	struct mpk_node *node;
	size_t index;
	const char *path;
	const char *kernel; /* NULL: the whole module is replaced */
	const struct mpk_mapping *file;
	struct mpk_error *err;
};

static struct mpk_rope *new_rope(const struct job *j)
{
	struct mpk_rope *rope = mpk_arena_alloc(j->s->arena, sizeof *rope);

	if (rope)
		*rope = mpk_rope_of(j->s->arena);
	return rope;
}

/* Returns the new bytes; those of a large file as a range of it. */
static struct mpk_rope *file_rope(const struct job *j)
{
	struct mpk_rope *rope = new_rope(j);

	if (rope) {
		mpk_rope_put_view(rope, j->file->bytes);
		mpk_mapping_use_file(j->file, rope);
	}
	return rope;
}

/* Refuses a second payload for the same place, which would silently replace the first. */
static enum mpk_code swapped_twice(const struct job *j)
{
	return mpk_fail(j->err, MPK_E_USAGE, "'%s%s%s' is replaced twice", j->path,
			j->kernel ? "#" : "", j->kernel ? MPK_QUOTE(mpk_span_str(j->kernel)) : "");
}

/* --- device code ----------------------------------------------------------------------- */

/* Keeps the kernel table of the old payload and replaces the code. */
static enum mpk_code swap_read_kernels(const struct job *j, struct mpk_kernels **out)
{
	const struct mpk_node *n = j->node;
	struct mpk_cursor c = mpk_cursor_of(n->payload, n->payload_off, "blob");
	struct mpk_kernels *k = mpk_arena_alloc(j->s->arena, sizeof *k);

	if (!k)
		return mpk_fail_nomem(j->err);
	MPK_TRY(mpk_kernels_read(&c, n->kind, j->s->tree->gen, j->s->arena, k, j->err));
	*out = k;
	return MPK_OK;
}

/* Makes the payload from the kernels and the table. Large files remain ranges. */
static enum mpk_code swap_put_kernels(const struct job *j, const struct mpk_kernels *k)
{
	struct mpk_rope *content = new_rope(j);

	if (!content)
		return mpk_fail_nomem(j->err);
	mpk_kernels_write(k, content);
	j->node->content = content;
	return mpk_rope_status(content, j->err);
}

static enum mpk_code count_pieces(const struct job *j, struct mpk_span text, size_t *count)
{
	const struct mpk_source_code_piece *pieces;

	return mpk_source_code_split(text, j->s->arena, &pieces, count, j->err);
}

/* Replaces the code of a module whose kernels are all in one file. */
static enum mpk_code swap_code(const struct job *j)
{
	struct mpk_kernels *k;

	if (j->node->content)
		return swapped_twice(j);
	MPK_TRY(swap_read_kernels(j, &k));
	if (k->layout != MPK_KERNELS_PLAIN)
		return mpk_fail(
			j->err, MPK_E_UNSUPPORTED,
			"'%s' keeps its kernels one by one, so that one file cannot stand for them: name one, %s#%s=FILE",
			MPK_QUOTE(j->node->kind), j->path,
			k->source_count ? MPK_QUOTE(k->sources[0].key) : "KERNEL");
	MPK_TRY(mpk_code_format_check(j->file->bytes, j->node->kind, k->fmt, j->err));
	if (mpk_span_is(k->fmt, "cl")) {
		/* A source without separating lines is repeated for each kernel, as in mpack build.
		 * The exception are payloads that TVM up to 0.7 may have written: it compiles one
		 * text and needs no separating lines. */
		const struct mpk_rope **out = &k->content;
		struct mpk_rope *rope = new_rope(j);
		size_t now, before;

		MPK_TRY_ALLOC(rope, j->err);
		MPK_TRY(count_pieces(j, j->file->bytes, &now));
		MPK_TRY(count_pieces(j, k->data, &before));
		bool adds = !now && (before || k->gen != MPK_GEN_LEGACY);

		for (size_t i = 0; adds && i < k->function_count; i++)
			mpk_pieces_put(rope, k->functions[i].key, j->file->bytes);
		if (!adds)
			mpk_rope_put_view(rope, j->file->bytes);
		mpk_mapping_use_file(j->file, rope);
		*out = rope;
	} else
		k->content = file_rope(j);
	return k->content ? swap_put_kernels(j, k) : mpk_fail_nomem(j->err);
}

/* A module with this layout has few kernels, so a linear search finds the kernel, or the name that
 * was probably meant. */
static enum mpk_code find_kernel(const struct job *j, const struct mpk_kernels *k, size_t *out)
{
	struct mpk_span name = mpk_span_str(j->kernel);
	struct mpk_span *names = mpk_arena_array(j->s->arena, k->source_count, sizeof *names);
	char hint[160] = "";
	size_t near;

	if (!names)
		return mpk_fail_nomem(j->err);
	for (size_t i = 0; i < k->source_count; i++) {
		names[i] = k->sources[i].key;
		if (mpk_span_equal(names[i], name)) {
			*out = i;
			return MPK_OK;
		}
	}
	near = mpk_closest(name, names, k->source_count);
	if (near < k->source_count)
		(void)snprintf(hint, sizeof hint, "; did you mean '%s'?", MPK_QUOTE(names[near]));
	return mpk_fail(j->err, MPK_E_USAGE, "the module at '%s' has no kernel '%s'%s", j->path,
			MPK_QUOTE(name), hint);
}

/* Returns the kernels of a module after the replacements so far. */
static enum mpk_code current_kernels(const struct job *j, struct mpk_kernels **out)
{
	struct mpk_swap *s = j->s;
	struct mpk_kernels *k;

	if (!s->kernels)
		s->kernels = mpk_arena_array(s->arena, s->tree->count, sizeof *s->kernels);
	if (!s->kernels)
		return mpk_fail_nomem(j->err);
	if (!s->kernels[j->index]) {
		MPK_TRY(swap_read_kernels(j, &k));
		if (k->layout == MPK_KERNELS_PLAIN)
			return mpk_fail(
				j->err, MPK_E_UNSUPPORTED,
				"'%s' keeps all its kernels in one file: replace that, %s=FILE",
				MPK_QUOTE(j->node->kind), j->path);
		s->kernels[j->index] = k;
	}
	*out = s->kernels[j->index];
	return MPK_OK;
}

static bool swap_is_inside(struct mpk_span part, struct mpk_span whole)
{
	return (uintptr_t)part.data >= (uintptr_t)whole.data &&
	       (uintptr_t)part.data - (uintptr_t)whole.data <= whole.len;
}

/* Replaces one kernel of a module that stores each kernel separately. Earlier replacements in the
 * same module are in s->kernels and stay. */
static enum mpk_code swap_kernel(const struct job *j)
{
	struct mpk_kernel_source *sources;
	struct mpk_kernels *k;
	size_t at;

	MPK_TRY(current_kernels(j, &k));
	MPK_TRY(find_kernel(j, k, &at));
	/* Kernels that have not been replaced are still views of the old payload. */
	if (!swap_is_inside(k->sources[at].data, j->node->payload))
		return swapped_twice(j);
	MPK_TRY(mpk_code_format_check(j->file->bytes, j->node->kind, k->fmt, j->err));
	sources = mpk_arena_array(j->s->arena, k->source_count, sizeof *sources);
	if (!sources)
		return mpk_fail_nomem(j->err);
	memcpy(sources, k->sources, k->source_count * sizeof *sources);
	sources[at].data = j->file->bytes;
	k->sources = sources;
	return swap_put_kernels(j, k);
}

/* --- any module ------------------------------------------------------------------------ */

/* Checks that the new payload of a known kind can be read completely. */
static enum mpk_code check_payload(const struct job *j, const struct mpk_kind *kind)
{
	struct mpk_payload p;

	if (!kind)
		return MPK_OK;
	enum mpk_code code =
		mpk_payload_decode(kind, j->s->tree->gen, (struct mpk_source){ j->file->bytes, 0 },
				   j->s->arena, &p, j->err);
	if (code == MPK_OK && p.trailing)
		code = mpk_fail_offset(
			j->err, MPK_E_CORRUPT, "payload", j->file->bytes.len - p.trailing,
			"%llu bytes behind its last field", (unsigned long long)p.trailing);
	if (j->err) /* the reader found that the file is a blob */
		(void)snprintf(j->err->at.space, sizeof j->err->at.space, "file");
	if (code != MPK_OK && code != MPK_E_NOMEM)
		mpk_error_prefix(j->err, "not the payload of a module of kind '%s': ", kind->name);
	return code;
}

/* Finds a module by its path in the tree, as minspect prints it. */
static enum mpk_code swap(struct job *j)
{
	struct mpk_tree *tree = j->s->tree;

	if (!mpk_tree_find(tree, j->path, &j->index))
		return mpk_fail(j->err, MPK_E_USAGE,
				"there is no module at '%s'; minspect shows the paths",
				MPK_QUOTE(mpk_span_str(j->path)));
	j->node = &tree->nodes[j->index];
	if (j->node->is_lib)
		return mpk_fail(j->err, MPK_E_USAGE,
				"'%s' is the library's own code, which has no payload", j->path);

	const struct mpk_kind *kind = mpk_kind_find(j->node->kind);
	if (!kind || kind->role != MPK_ROLE_DEVICE) {
		/* If the module has no kernels, the file is the payload. */
		if (j->node->content)
			return swapped_twice(j);
		if (j->kernel)
			return mpk_fail(j->err, MPK_E_USAGE,
					"the module at '%s' is of kind '%s' and has no kernels",
					j->path, MPK_QUOTE(j->node->kind));
		MPK_TRY(check_payload(j, kind));
		j->node->content = file_rope(j);
		return j->node->content ? mpk_rope_status(j->node->content, j->err)
					: mpk_fail_nomem(j->err);
	}
	return j->kernel ? swap_kernel(j) : swap_code(j);
}

enum mpk_code mpk_swap_payload(struct mpk_swap *s, const char *what, const struct mpk_mapping *file,
			       const char *name, struct mpk_error *err)
{
	/* A path may begin with '#' (mpk_tree_path), so the search starts after it. */
	const char *hash = *what ? strchr(what + 1, '#') : NULL;
	size_t len = hash ? (size_t)(hash - what) : strlen(what);
	struct job j = { .s = s,
			 .path = mpk_arena_copy(s->arena, what, len),
			 .kernel = hash ? hash + 1 : NULL,
			 .file = file,
			 .err = err };

	MPK_TRY_ALLOC(j.path, err);
	enum mpk_code code = swap(&j);
	if (code == MPK_E_CORRUPT || code == MPK_E_SYNTAX || code == MPK_E_CONFLICT) {
		mpk_error_at_file(err, name);
		mpk_error_at_path(err, j.path);
	}
	return code;
}

/* --- code beside the blob --------------------------------------------------------- */

/* Where `minspect verify` reports an error about such code, this fails, too. */
static enum mpk_code swap_verify(const struct mpk_code_info *code, const char *what,
				 const char *name, struct mpk_report *report, struct mpk_error *err)
{
	const struct mpk_code_format *f = code->format;
	struct mpk_code_verify v = { .report = report,
				     .file = name,
				     .path = what,
				     .space = "file",
				     .kind = mpk_span_str("cuda"),
				     .check = f->check ? f->check : "embedded-code" };
	size_t before = report->count;

	if (f->verify)
		f->verify(code, &v);
	for (size_t i = before; i < report->count; i++) {
		if (report->findings[i].severity != MPK_ERROR)
			continue;
		*err = report->findings[i].error;
		report->count = before; /* the finding becomes the error that is returned */
		return mpk_failed(err->code);
	}
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* Refuses bytes that are not code, and code that no driver loads, such as source or a relocatable
 * image. */
static enum mpk_code read_new(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_info *out, struct mpk_error *err)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);

	if (f != &mpk_format_cubin && f != &mpk_format_fatbin && f != &mpk_format_ptx)
		return mpk_fail(err, MPK_E_CORRUPT,
				"a cubin, a fatbin or PTX is wanted here, this is %s", f->name);
	MPK_TRY(mpk_code_format_check(bytes, mpk_span_str("cuda"), (struct mpk_span){ 0 }, err));
	return mpk_code_info_read(bytes, 0, NULL, arena, out, err);
}

/* Warns about kernels that the new code lacks. It is no error, because host code may never ask for
 * them. If the old code cannot be read, nothing is compared. */
static enum mpk_code swap_compare_kernels(const struct mpk_image_code *at,
					  const struct mpk_code_info *new, struct mpk_arena *arena,
					  struct mpk_report *report, struct mpk_error *err)
{
	const struct mpk_code_info *lister;
	struct mpk_code_info old;

	MPK_TRY(mpk_code_info_read(at->bytes, at->off, NULL, arena, &old, err));
	lister = old.problem ? NULL : mpk_code_info_lister(&old);
	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;
		struct mpk_error e = { 0 };

		if (mpk_code_info_defines(new, name) != MPK_CODE_MISSING)
			continue;
		(void)mpk_fail(&e, MPK_E_CONFLICT,
			       MPK_SWAP_CODE
			       "%s had a kernel '%s', which the new code does not define",
			       at->name, MPK_QUOTE(name));
		mpk_report_add(report, MPK_WARNING, "embedded-code", &e);
	}
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* A driver reads PTX up to its NUL. The zeros that fill the remaining space contain one. */
static enum mpk_code check_room(const struct mpk_image_code *at, const struct mpk_code_info *new,
				struct mpk_error *err)
{
	uint64_t need = new->bytes.len;

	if (new->format == &mpk_format_ptx &&new->bytes.data[new->bytes.len - 1] != 0)
		need++;
	if (need <= at->room_bytes)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_RANGE,
		"%" PRIu64 " bytes do not fit into the %" PRIu64 " of " MPK_SWAP_CODE
		"%s, which the library's code points at; embed it into the object and link the library anew",
		need, at->room_bytes, at->name);
}

enum mpk_code mpk_swap_code(const struct mpk_image *image, const struct mpk_private *file,
			    const char *what, struct mpk_span bytes, const char *name,
			    struct mpk_arena *arena, struct mpk_report *report,
			    struct mpk_error *err)
{
	const struct mpk_image_code *at = NULL;
	struct mpk_code_info new;
	enum mpk_code code;

	const char *wanted = what + strlen(MPK_SWAP_CODE);

	for (size_t i = 0; i < image->embedded_count && !at; i++)
		if (strcmp(image->embedded[i].name, wanted) == 0)
			at = &image->embedded[i];
	if (!at) {
		/* Suggest the name that was probably meant. */
		struct mpk_span *names =
			mpk_arena_array(arena, image->embedded_count, sizeof *names);
		char hint[160] = "";
		size_t near;

		MPK_TRY_ALLOC(names, err);
		for (size_t i = 0; i < image->embedded_count; i++)
			names[i] = mpk_span_str(image->embedded[i].name);
		near = mpk_closest(mpk_span_str(wanted), names, image->embedded_count);
		if (near < image->embedded_count)
			(void)snprintf(hint, sizeof hint, "; did you mean '" MPK_SWAP_CODE "%s'?",
				       MPK_QUOTE(names[near]));
		return mpk_fail(err, MPK_E_USAGE, "no code '%s' is embedded in this file%s",
				MPK_QUOTE(mpk_span_str(wanted)), hint);
	}
	code = read_new(bytes, arena, &new, err);
	if (code == MPK_OK)
		code = swap_verify(&new, what, name, report, err);
	if (code == MPK_OK)
		code = check_room(at, &new, err);
	if (code != MPK_OK) {
		mpk_error_at_file(err, name);
		return code;
	}
	MPK_TRY(swap_compare_kernels(at, &new, arena, report, err));

	uint64_t keep_end = file->keep_off + file->keep_len;

	if (image->is_packed || at->off > file->len || at->room_bytes > file->len - at->off)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"code in an archive is not replaced; build it anew from its objects");
	if (at->off < keep_end && at->off + at->room_bytes > file->keep_off)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", at->off,
				       "the blob covers the code of " MPK_SWAP_CODE "%s", at->name);
	MPK_TRY(mpk_private_touch(file, at->off, at->room_bytes, err));
	memcpy(file->data + at->off, bytes.data, bytes.len);
	memset(file->data + at->off + bytes.len, 0, (size_t)at->room_bytes - bytes.len);
	return MPK_OK;
}
