/* SPDX-License-Identifier: Apache-2.0 */
/* --sbom and --attestation: one document in a form that others define (CycloneDX, SPDX, in-toto with SLSA), on
 * standard output. An attestation is of one file. A bill of materials of an archive, a folder or several files has all
 * of their libraries: two documents, one behind the other, are none. */
#include "bom/bom.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "common/diag.h"
#include "io/path.h"
#include "minspect/document.h"
#include "text/escape.h"

static const struct form {
	const char *word; /* the first word of each option is its default */
	const struct mpk_answer *row;
	bool is_attestation;
} forms[] = {
	{ "cyclonedx", &mpk_answer_cyclonedx, false },
	{ "spdx", &mpk_answer_spdx, false },
	{ "statement", &mpk_answer_statement, true },
	{ "predicate", &mpk_answer_predicate, true },
};

/* Returns the form with this name; NULL if there is none. */
static const struct form *find_form(const char *word, bool is_attestation)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(forms); i++)
		if (forms[i].is_attestation == is_attestation &&
		    (!*word || strcmp(word, forms[i].word) == 0))
			return &forms[i];
	return NULL;
}

/* SPDX demands a time of creation. The document depends on its file alone, so there is none,
 * unless the build that it belongs to says so (reproducible-builds.org, SOURCE_DATE_EPOCH). */
static int64_t creation_time(void)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds = 0;

	if (!text || !mpk_parse_u64(mpk_span_str(text), &seconds) ||
	    seconds > UINT64_C(253402300799))
		return 0;
	return (int64_t)seconds;
}

static void add_piece(const char *text, size_t len, void *out)
{
	mpk_strbuf_put(out, text, len);
	mpk_strbuf_pass(out);
}

static enum mpk_code bom_put(const struct form *form, const struct mpk_bom *b,
			     struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_json j;

	mpk_json_init(&j, 0);
	mpk_json_stream(&j, add_piece, out);
	form->row->json(b, &j, j.root);
	enum mpk_code code = mpk_json_print(&j, out, err);
	mpk_json_fini(&j);
	return code;
}

/* The data that minspect_each passes to the functions below. */
struct job {
	const struct form *form;
	struct mpk_bom_author author;
	/* the fields below are for several libraries */
	struct mpk_bom_set set; /* set.j is NULL until the document is begun */
	struct mpk_json document;
	struct mpk_arena arena; /* memory borrowed by set */
};

/* If the archive is the only operand, the document is about it. */
static enum mpk_code name_archive(struct job *job, const struct minspect_file *archive,
				  struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(&job->arena);
	uint8_t digest[MPK_DIGEST_BYTES];
	char digits[MPK_DIGEST_TEXT];

	mpk_rope_put_view(&rope, archive->bytes);
	mpk_mapping_use_file(&archive->map, &rope);
	MPK_TRY(mpk_rope_status(&rope, err));
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_SHA256, &rope, NULL, digest, err));
	job->set.sha256 = mpk_arena_text(
		&job->arena, mpk_span_str(mpk_digest_print(digest, MPK_DIGEST_BYTES, digits)));
	MPK_TRY_ALLOC(job->set.sha256, err);
	job->set.bytes = archive->bytes.len;
	return MPK_OK;
}

static enum mpk_code begin_set(const struct minspect_options *o, struct job *job,
			       const struct minspect_look *l, struct mpk_error *err)
{
	const char *first = mpk_path_name(l->archive ? l->archive->name : o->files[0]);

	if (l->archive && o->file_count == 1)
		MPK_TRY(name_archive(job, l->archive, err));
	job->set.name = o->file_count == 1
				? mpk_arena_text(&job->arena, mpk_span_str(first))
				: mpk_arena_printf(&job->arena, "%s and %zu more",
						   mpk_path_name(o->files[0]), o->file_count - 1);
	MPK_TRY_ALLOC(job->set.name, err);
	job->set.author = &job->author;
	job->set.is_spdx = job->form->row == &mpk_answer_spdx;
	mpk_json_init(&job->document, 0);
	mpk_json_stream(&job->document, add_piece, l->out);
	job->set.j = &job->document;
	mpk_bom_set_begin(&job->set);
	return MPK_OK;
}

/* Returns the name of a library of a set: its path in the archive or folder, else without folders,
 * so that the document does not depend on the build machine. */
static const char *name_in_set(const struct minspect_look *l)
{
	const char *name = l->file->name, *member = strstr(name, "!/");

	if (l->archive && member)
		return member + 2;
	if (l->folder_len)
		return name + l->folder_len + (name[l->folder_len] == '/');
	return mpk_path_name(name);
}

static enum mpk_code bom_add(const struct minspect_options *o, struct job *job,
			     struct minspect_look *l, struct mpk_bom *bom, struct mpk_error *err)
{
	if (!job->set.j)
		MPK_TRY(begin_set(o, job, l, err));
	return mpk_bom_set_add(&job->set, bom, name_in_set(l), l->view->arena, err);
}

static int bom_look(const struct minspect_options *o, struct minspect_look *l)
{
	struct job *job = l->user;
	struct mpk_error err = { 0 };
	struct mpk_bom bom;
	enum mpk_code code =
		mpk_bom_read(l->view, &l->file->map, l->file->bytes, &job->author, &bom, &err);

	if (code == MPK_OK && job->form->is_attestation && !bom.has_provenance)
		code = mpk_fail(
			&err, MPK_E_UNSUPPORTED,
			"it does not tell what it was made from: build it with mpack build --provenance");
	if (code == MPK_OK)
		code = l->in_set && !job->form->is_attestation
			       ? bom_add(o, job, l, &bom, &err)
			       : bom_put(job->form, &bom, l->out, &err);
	if (code == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

/* Ends the document whatever the status: unreadable files were reported on standard error. */
static void bom_sum(const struct minspect_options *o, struct minspect_look *l)
{
	struct job *job = l->user;
	struct mpk_error err = { 0 };

	(void)o;
	if (!job->set.j)
		return;
	if (mpk_bom_set_end(&job->set, &err) != MPK_OK ||
	    mpk_json_print(&job->document, l->out, &err) != MPK_OK)
		l->out->failed = true;
	mpk_json_fini(&job->document);
}

static int bom_run(const struct minspect_options *o, const struct form *form)
{
	static const struct minspect_action of_any = { .look = bom_look,
						       .sum = bom_sum,
						       .is_verbatim = true },
					    of_one = { .look = bom_look,
						       .single = "attestation",
						       .is_verbatim = true };
	struct minspect_options as_text = *o;
	struct job job = { .form = form,
			   .author = { .name = "minspect",
				       .version = mpk_version_program(),
				       .created = creation_time(),
				       .builder = o->builder } };

	if (form->is_attestation && o->file_count != 1)
		return mpk_diag_usage("one attestation is of one file, not of %zu", o->file_count);
	as_text.json = false; /* the output is JSON even without --json */

	int status = minspect_each(&as_text, form->is_attestation ? &of_one : &of_any, &job);

	mpk_arena_fini(&job.arena);
	return status;
}

int minspect_sbom(const struct minspect_options *o)
{
	const struct form *form = find_form(o->sbom, false);

	return form ? bom_run(o, form)
		    : mpk_diag_usage("sbom takes cyclonedx or spdx, not '%s'",
				     MPK_QUOTE(mpk_span_str(o->sbom)));
}

/* Whether a text is a scheme, a colon and more text. The caller and the verifier of the attestation
 * agree on its meaning. */
static bool is_uri(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon > text && colon[1] && !strpbrk(text, " \t\r\n<>\"");
}

int minspect_attestation(const struct minspect_options *o)
{
	const struct form *form = find_form(o->attestation, true);

	if (!form)
		return mpk_diag_usage("attestation takes statement or predicate, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->attestation)));
	if (!o->builder || !is_uri(o->builder))
		return mpk_diag_usage(
			"attestation takes --builder URI: who vouches for the build, no library can tell");
	return bom_run(o, form);
}

void minspect_bom_prepare(const struct minspect_options *o)
{
	if (o->sbom || o->attestation)
		mpk_digest_prepare(MPK_DIGEST_SHA256);
}
