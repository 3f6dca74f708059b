/* SPDX-License-Identifier: Apache-2.0 */
/* --extract DIR: writes every part as a file. The directory appears complete or not at all, even
 * after Ctrl-C. Digests are computed while the files are written, so nothing is read twice. */
#include "extract/extract.h"

#include <string.h>

#include "common/diag.h"
#include "common/print.h"
#include "common/signals.h"
#include "io/digest.h"
#include "io/output.h"
#include "minspect/document.h"
#include "model/device_code.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

#define INDEX "index.json"

/* A digest in progress, and its first failure. */
struct hashing {
	struct mpk_digest digest;
	enum mpk_code code;
	struct mpk_error err;
};

static void hashing_fini(struct hashing *h)
{
	mpk_digest_fini(&h->digest);
}

static void extract_see(void *data, struct mpk_span bytes)
{
	struct hashing *h = data;

	if (h->code == MPK_OK)
		h->code = mpk_digest_update(&h->digest, bytes, &h->err);
}

/* Finds the digest that a word names; MPK_DIGEST_KIND_COUNT means none. Returns false for an
 * unknown word. */
static bool find_digest(const char *word, enum mpk_digest_kind *out)
{
	for (unsigned k = 0; word && k < MPK_DIGEST_KIND_COUNT; k++) {
		if (strcmp(word, mpk_digest_name((enum mpk_digest_kind)k)) != 0)
			continue;
		*out = (enum mpk_digest_kind)k;
		return true;
	}
	*out = word ? MPK_DIGEST_KIND_COUNT : MPK_DIGEST_XXH128;
	return !word || strcmp(word, "none") == 0;
}

static enum mpk_code write_and_hash(struct mpk_directory *d, const char *name,
				    const struct mpk_extract_file *f, enum mpk_digest_kind kind,
				    char *text, struct mpk_error *err)
{
	MPK_CLEANUP(hashing_fini) struct hashing h = { .code = MPK_OK };
	struct mpk_tap tap = { extract_see, &h };
	uint8_t bytes[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_digest_init(&h.digest, kind, err));
	d->tap = &tap;
	enum mpk_code code = mpk_directory_write(d, name, &f->content, err);
	d->tap = NULL;
	if (code != MPK_OK)
		return code;
	/* An error of the digest is noted while the file is written and reported afterwards. */
	if (h.code != MPK_OK && err)
		*err = h.err;
	if (h.code != MPK_OK)
		return h.code;
	MPK_TRY(mpk_digest_final(&h.digest, bytes, err));
	(void)mpk_digest_print(bytes, mpk_digest_bytes(kind), text);
	return MPK_OK;
}

/* For a file with several models, returns the folder for the current model, which has the model's
 * prefix as its name. The model without a prefix has no folder. */
static const char *place_of(struct minspect_look *l, const char *name)
{
	const char *prefix = l->is_model ? l->file->image.prefix : "";

	return *prefix ? mpk_arena_printf(&l->file->arena, "%s/%s", prefix, name) : name;
}

static enum mpk_code write_file(struct mpk_directory *d, struct minspect_look *l,
				const struct mpk_extract *plan, struct mpk_extract_file *f,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const char *name = place_of(l, f->name);
	char *text;

	MPK_TRY_ALLOC(name, err);
	/* A part with the same bytes as another file is not written again. */
	if (f->same) {
		f->digest = f->same->digest;
		return MPK_OK;
	}
	if (f->make)
		MPK_TRY(f->make(l->view, f, &scratch, err));
	else
		mpk_mapping_use_file(&l->file->map, &f->content);
	if (plan->digest == MPK_DIGEST_KIND_COUNT)
		return mpk_directory_write(d, name, &f->content, err);
	text = mpk_arena_alloc(&l->file->arena, MPK_DIGEST_TEXT);
	MPK_TRY_ALLOC(text, err);
	MPK_TRY(write_and_hash(d, name, f, plan->digest, text, err));
	f->digest = text;
	return MPK_OK;
}

/* A container is unpacked once for all of its images, and freed before the next one. */
static enum mpk_code write_files(struct mpk_directory *d, struct minspect_look *l,
				 struct mpk_extract *plan, struct mpk_error *err)
{
	enum mpk_code code = mpk_device_keep(l->view, UINT64_MAX, err);

	for (size_t i = 0; code == MPK_OK && i < plan->count; i++) {
		size_t container = plan->files[i]->container;

		code = write_file(d, l, plan, plan->files[i], err);
		if (i + 1 == plan->count || plan->files[i + 1]->container != container)
			mpk_device_release(l->view, container);
	}
	mpk_device_forget(l->view);
	return code;
}

/* The state of writing index.json piece by piece, since it grows with the number of files. */
struct index {
	const struct mpk_directory *directory;
	const char *name;
	enum mpk_code code;
	struct mpk_error *err;
};

static void write_piece(const char *text, size_t len, void *arg)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope rope = { .arena = &scratch };
	struct index *index = arg;

	mpk_rope_put_view(&rope, mpk_span_of(text, len));
	if (index->code == MPK_OK)
		index->code = mpk_rope_status(&rope, index->err);
	if (index->code == MPK_OK)
		index->code =
			mpk_directory_append(index->directory, index->name, &rope, index->err);
}

static enum mpk_code write_index(const struct mpk_directory *d, struct minspect_look *l,
				 const struct mpk_extract *plan, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf rest = { 0 };
	struct mpk_rope nothing = { .arena = &l->file->arena };
	struct index index = { .directory = d, .name = place_of(l, INDEX), .err = err };
	struct mpk_json j;
	enum mpk_code code;

	/* First an empty file, to which the pieces of the document are appended. */
	MPK_TRY_ALLOC(index.name, err);
	MPK_TRY(mpk_directory_write(d, index.name, &nothing, err));
	mpk_json_init(&j, 1);
	mpk_json_stream(&j, write_piece, &index);
	mpk_answer_extract.json(plan, &j, j.root);
	code = index.code == MPK_OK ? mpk_json_print(&j, &rest, err) : index.code;
	mpk_json_fini(&j);
	if (code != MPK_OK)
		return code;
	write_piece(rest.data, rest.len, &index);
	return index.code;
}

static enum mpk_code extract_write_all(struct mpk_directory *d, struct minspect_look *l,
				       enum mpk_digest_kind digest, struct mpk_extract *plan,
				       struct mpk_error *err)
{
	uint64_t total = 0;

	MPK_TRY(mpk_extract_plan(l->view, (struct mpk_span){ 0 }, &l->file->arena, plan, err));
	plan->digest = digest;
	for (size_t i = 0; i < plan->count; i++)
		/* Parts that share a file count once. */
		total += plan->files[i]->same ? 0 : plan->files[i]->content.len;
	mpk_progress_begin("extracting", total);
	enum mpk_code code = write_files(d, l, plan, err);
	mpk_progress_end();
	if (code != MPK_OK)
		return code;
	MPK_TRY(write_index(d, l, plan, err));
	for (size_t i = 0; i < plan->count; i++)
		if (!plan->files[i]->same)
			mpk_diag_note("%s", place_of(l, plan->files[i]->name));
	mpk_diag_note("%s", place_of(l, INDEX));
	return MPK_OK;
}

/* The directory of all models of a file. */
struct extracting {
	struct mpk_directory directory;
	bool has_failed; /* for one of them, which was said */
	size_t files;
	uint64_t bytes;
};

static void extracting_fini(struct extracting *x)
{
	mpk_directory_abandon(&x->directory);
}

static void count_written(struct extracting *x, const struct mpk_extract *plan)
{
	x->files++; /* the index */
	for (size_t i = 0; i < plan->count; i++) {
		x->files += !plan->files[i]->same;
		x->bytes += plan->files[i]->same ? 0 : plan->files[i]->content.len;
	}
}

static enum mpk_code extract_to(const struct minspect_options *o, struct minspect_look *l,
				struct mpk_error *err)
{
	struct extracting *x = l->user;
	enum mpk_digest_kind digest = MPK_DIGEST_XXH128;
	struct mpk_extract plan;

	(void)find_digest(o->digest, &digest);
	if (!l->view->tree && !l->view->image->embedded_count && !l->view->image->device_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"there is nothing to extract: no module blob, host code only");
	if (!l->is_next_model)
		MPK_TRY(mpk_directory_open(o->extract, &x->directory, err));
	MPK_TRY(extract_write_all(&x->directory, l, digest, &plan, err));
	count_written(x, &plan);
	/* with --json, the same content as index.json */
	if (l->json)
		minspect_answer(o, l, &mpk_answer_extract, &plan);
	return MPK_OK;
}

static int extract(const struct minspect_options *o, struct minspect_look *l)
{
	struct extracting *x = l->user;
	struct mpk_error err = { 0 };

	if (x->has_failed)
		return MPK_EXIT_OK;
	if (!l->is_next_model)
		mpk_closing_begin();
	mpk_interrupt_catch(NULL);
	enum mpk_code code = extract_to(o, l, &err);

	if (code != MPK_OK) {
		extracting_fini(x);
		mpk_interrupt_raise();
		x->has_failed = true;
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	return MPK_EXIT_OK;
}

/* Prints "files: 12 files, 41.1 MiB; 0.3 s" on a terminal. */
static int extract_end(const struct minspect_options *o, struct minspect_look *l)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct extracting *x = l->user;
	struct mpk_error err = { 0 };

	if (mpk_directory_commit(&x->directory, &err) != MPK_OK)
		return mpk_diag_error(&err);
	mpk_put_count(&text, x->files, "file");
	mpk_closing_line(o->extract, 0, "%s, %s", mpk_strbuf_text(&text), MPK_SIZE(x->bytes));
	return MPK_EXIT_OK;
}

void minspect_extract_prepare(const struct minspect_options *o)
{
	enum mpk_digest_kind kind;

	if (o->extract && o->digest && find_digest(o->digest, &kind))
		mpk_digest_prepare(kind);
}

int minspect_extract(const struct minspect_options *o)
{
	static const struct minspect_action action = {
		.look = extract, .each_model = true, .single = "extract", .end = extract_end
	};
	MPK_CLEANUP(extracting_fini) struct extracting x = { 0 };
	enum mpk_digest_kind digest;

	if (!find_digest(o->digest, &digest))
		return mpk_diag_usage("--digest takes xxh128, sha256 or none, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->digest)));
	if (o->file_count != 1)
		return mpk_diag_usage("extract takes one file; give each a directory of its own");
	int status = minspect_each(o, &action, &x);

	extracting_fini(&x);
	mpk_interrupt_raise();
	return status;
}
