#include "view/extract.h"

#include "common/diag.h"
#include "io/directory.h"
#include "minspect/document.h"
#include "text/digest.h"

/* The SHA-256 of every file, as text; without libcrypto none, and one warning. */
static enum mpk_code digest_all(const struct mpk_extract *plan, struct mpk_arena *arena,
				const char **out, struct mpk_error *err)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct mpk_rope *rope = &plan->files[i].content;
		MPK_CLEANUP(mpk_digest_fini) struct mpk_digest d = { 0 };
		uint8_t bytes[MPK_DIGEST_BYTES];
		char *text = mpk_arena_alloc(arena, MPK_DIGEST_TEXT);
		enum mpk_code code = mpk_digest_init(&d, err);

		if (code == MPK_E_LOAD) {
			mpk_diag_warn("no digests: %s", err->text);
			return MPK_OK;
		}
		for (size_t k = 0; code == MPK_OK && k < rope->count; k++)
			code = mpk_digest_update(&d, mpk_span_of(rope->pieces[k].data,
								 (size_t)rope->pieces[k].len),
						 err);
		if (code == MPK_OK)
			code = mpk_digest_final(&d, bytes, err);
		if (code != MPK_OK)
			return code;
		if (!text)
			return mpk_fail_nomem(err);
		out[i] = mpk_digest_print(bytes, text);
	}
	return MPK_OK;
}

/* index.json, and with --json the same on standard output */
static enum mpk_code write_index(const struct mpk_directory *d, struct minspect_look *l,
				 const struct mpk_extract *plan, struct mpk_strbuf *text,
				 struct mpk_error *err)
{
	struct mpk_arena *arena = &l->file->arena;
	const char **digests = mpk_arena_array(arena, plan->count, sizeof *digests);
	struct mpk_rope rope = { .arena = arena };
	struct mpk_json j;
	enum mpk_code code;

	if (!digests)
		return mpk_fail_nomem(err);
	MPK_TRY(digest_all(plan, arena, digests, err));
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

static enum mpk_code write_all(const struct mpk_directory *d, struct minspect_look *l,
			       struct mpk_strbuf *index, struct mpk_error *err)
{
	struct mpk_extract plan;

	MPK_TRY(mpk_extract_plan(l->view, &l->file->arena, &plan, err));
	for (size_t i = 0; i < plan.count; i++)
		MPK_TRY(mpk_directory_write(d, plan.files[i].name, &plan.files[i].content, err));
	MPK_TRY(write_index(d, l, &plan, index, err));
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

	if (extract_to(o->extract, l, &index, &err) != MPK_OK) {
		mpk_error_at_file(&err, l->file->name);
		return mpk_diag_error(&err);
	}
	return MPK_EXIT_OK;
}

int minspect_extract(const struct minspect_options *o)
{
	if (o->file_count != 1)
		return mpk_diag_usage("--extract takes one file; give each a directory of its own");
	return minspect_each(o, extract, NULL);
}
