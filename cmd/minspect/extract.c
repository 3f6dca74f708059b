#include "view/extract.h"

#include "common/diag.h"
#include "common/interrupt.h"
#include "common/progress.h"
#include "io/directory.h"
#include "minspect/document.h"
#include "text/digest.h"

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

static void see(void *data, struct mpk_span bytes)
{
	struct hashing *h = data;

	if (h->code == MPK_OK)
		h->code = mpk_digest_update(&h->digest, bytes, &h->err);
}

static enum mpk_code write_and_hash(struct mpk_directory *d,
				    const struct mpk_extract_file *f, char *text,
				    struct mpk_error *err)
{
	MPK_CLEANUP(hashing_fini) struct hashing h = { .code = MPK_OK };
	struct mpk_tap tap = { see, &h };
	uint8_t bytes[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_digest_init(&h.digest, err));
	d->tap = &tap;
	enum mpk_code code = mpk_directory_write(d, f->name, &f->content, err);
	d->tap = NULL;
	if (code != MPK_OK)
		return code;
	if (h.code != MPK_OK && err)
		*err = h.err;
	if (h.code != MPK_OK)
		return h.code;
	MPK_TRY(mpk_digest_final(&h.digest, bytes, err));
	(void)mpk_digest_print(bytes, text);
	return MPK_OK;
}

/* Every file and its SHA-256 as text; without libcrypto no digests, and one warning. */
static enum mpk_code write_files(struct mpk_directory *d, struct minspect_look *l,
				 struct mpk_extract *plan, const char **digests,
				 struct mpk_error *err)
{
	struct mpk_digest probe = { 0 };
	enum mpk_code code = mpk_digest_init(&probe, err);
	bool can_hash = code == MPK_OK;

	mpk_digest_fini(&probe);
	if (code == MPK_E_LOAD)
		mpk_diag_warn("no digests: %s", err->text);
	else if (code != MPK_OK)
		return code;
	for (size_t i = 0; i < plan->count; i++) {
		struct mpk_extract_file *f = &plan->files[i];
		char *text = mpk_arena_alloc(&l->file->arena, MPK_DIGEST_TEXT);

		mpk_mapping_use_file(&l->file->map, &f->content);
		if (!text)
			return mpk_fail_nomem(err);
		if (can_hash)
			MPK_TRY(write_and_hash(d, f, text, err));
		else
			MPK_TRY(mpk_directory_write(d, f->name, &f->content, err));
		digests[i] = can_hash ? text : NULL;
	}
	return MPK_OK;
}

/* index.json, and with --json the same on standard output */
static enum mpk_code write_index(const struct mpk_directory *d, struct minspect_look *l,
				 const struct mpk_extract *plan, const char *const *digests,
				 struct mpk_strbuf *text, struct mpk_error *err)
{
	struct mpk_rope rope = { .arena = &l->file->arena };
	struct mpk_json j;
	enum mpk_code code;

	mpk_json_init(&j, 1);
	mpk_extract_json(l->view, plan, digests, &j, j.root);
	if (l->json)
		mpk_extract_json(l->view, plan, digests, l->json, l->at);
	code = mpk_json_print(&j, text, err);
	mpk_json_fini(&j);
	if (code != MPK_OK)
		return code;
	mpk_rope_put_view(&rope, mpk_span_of(text->data, text->len));
	MPK_TRY(mpk_rope_status(&rope, err));
	return mpk_directory_write(d, "index.json", &rope, err);
}

static enum mpk_code write_all(struct mpk_directory *d, struct minspect_look *l,
			       struct mpk_strbuf *index, struct mpk_error *err)
{
	struct mpk_arena *arena = &l->file->arena;
	struct mpk_extract plan;

	MPK_TRY(mpk_extract_plan(l->view, arena, &plan, err));

	const char **digests = mpk_arena_array(arena, plan.count, sizeof *digests);
	if (!digests)
		return mpk_fail_nomem(err);
	uint64_t total = 0;
	for (size_t i = 0; i < plan.count; i++)
		total += plan.files[i].content.len;
	mpk_progress_begin("extracting", total);
	enum mpk_code code = write_files(d, l, &plan, digests, err);
	mpk_progress_end();
	if (code != MPK_OK)
		return code;
	MPK_TRY(write_index(d, l, &plan, digests, index, err));
	for (size_t i = 0; i < plan.count; i++)
		mpk_diag_note("%s", plan.files[i].name);
	mpk_diag_note("index.json");
	return MPK_OK;
}

static enum mpk_code extract_to(const char *path, struct minspect_look *l,
				struct mpk_strbuf *index, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_directory_abandon) struct mpk_directory d = { 0 };

	if (!l->view->tree)
		return mpk_fail(err, MPK_E_NO_BLOB, "there is nothing to extract: no module "
						    "blob, host code only");
	MPK_TRY(mpk_directory_open(path, &d, err));
	MPK_TRY(write_all(&d, l, index, err));
	return mpk_directory_commit(&d, err);
}

static int extract(const struct minspect_options *o, struct minspect_look *l)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf index = { 0 };
	struct mpk_error err = { 0 };

	mpk_interrupt_catch();
	enum mpk_code code = extract_to(o->extract, l, &index, &err);

	mpk_interrupt_raise();
	if (code != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return minspect_report(l, &err);
	}
	return MPK_EXIT_OK;
}

int minspect_extract(const struct minspect_options *o)
{
	if (o->file_count != 1)
		return mpk_diag_usage("--extract takes one file; give each a directory of its own");
	return minspect_each(o, extract, NULL);
}
