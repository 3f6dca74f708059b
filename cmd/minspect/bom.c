/* SPDX-License-Identifier: Apache-2.0 */
/* --sbom and --attestation: one document of one file, in a form that others define (CycloneDX,
 * SPDX, in-toto with SLSA), on standard output. */
#include "bom/bom.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static const struct form {
	const char *word; /* the first of each option is its default */
	const struct mpk_answer *row;
	bool is_attestation;
} forms[] = {
	{ "cyclonedx", &mpk_answer_cyclonedx, false },
	{ "spdx", &mpk_answer_spdx, false },
	{ "statement", &mpk_answer_statement, true },
	{ "predicate", &mpk_answer_predicate, true },
};

/* The form that a word asks for; NULL: none. */
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

static int bom_look(const struct minspect_options *o, struct minspect_look *l)
{
	const struct form *form = l->user;
	struct mpk_bom_author author = { .name = "minspect",
					 .version = mpk_version_program(),
					 .created = creation_time(),
					 .builder = o->builder };
	struct mpk_error err = { 0 };
	struct mpk_bom bom;
	enum mpk_code code =
		mpk_bom_read(l->view, &l->file->map, l->file->bytes, &author, &bom, &err);

	if (code == MPK_OK && form->is_attestation && !bom.has_provenance)
		code = mpk_fail(
			&err, MPK_E_UNSUPPORTED,
			"it does not tell what it was made from: build it with mpack build --provenance");
	if (code == MPK_OK)
		code = bom_put(form, &bom, l->out, &err);
	if (code == MPK_OK)
		return MPK_EXIT_OK;
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

static int bom_run(const struct minspect_options *o, const struct form *form)
{
	static const struct minspect_action action = { .look = bom_look, .is_verbatim = true };
	struct minspect_options as_text = *o;
	/* minspect_each takes its user pointer without const. */
	struct form copy = *form;

	if (o->file_count != 1)
		return mpk_diag_usage("one document is of one file, not of %zu", o->file_count);
	as_text.json = false; /* it is JSON without being asked */
	return minspect_each(&as_text, &action, &copy);
}

int minspect_sbom(const struct minspect_options *o)
{
	const struct form *form = find_form(o->sbom, false);

	return form ? bom_run(o, form)
		    : mpk_diag_usage("--sbom takes cyclonedx or spdx, not '%s'",
				     MPK_QUOTE(mpk_span_str(o->sbom)));
}

/* A scheme, a colon and more text. What it means is agreed between the caller and who verifies
 * the attestation. */
static bool is_uri(const char *text)
{
	const char *colon = strchr(text, ':');

	return colon && colon > text && colon[1] && !strpbrk(text, " \t\r\n<>\"");
}

int minspect_attestation(const struct minspect_options *o)
{
	const struct form *form = find_form(o->attestation, true);

	if (!form)
		return mpk_diag_usage("--attestation takes statement or predicate, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->attestation)));
	if (!o->builder || !is_uri(o->builder))
		return mpk_diag_usage(
			"--attestation takes --builder URI: who vouches for the build, no library can tell");
	return bom_run(o, form);
}

void minspect_bom_prepare(const struct minspect_options *o)
{
	if (o->sbom || o->attestation)
		mpk_digest_prepare(MPK_DIGEST_SHA256);
}
