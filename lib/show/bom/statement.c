/* SPDX-License-Identifier: Apache-2.0 */
/* in-toto Statement v1 with SLSA's provenance v1. The library tells what was built from what; who built
 * it, the builder, is for the caller to say. */
#include "bom/bom.h"

#include "text/escape.h"

static void put_digest(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_json_text(j, mpk_json_object(j, at, "digest"), "sha256", sha256);
}

static void put_definition(const struct mpk_provenance *p, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "buildDefinition"), *list;
	char digits[MPK_DIGEST_TEXT];

	mpk_json_text(j, o, "buildType", "urn:x-mpack:build:1");
	list = mpk_json_array(j, mpk_json_object(j, o, "externalParameters"), "options");
	for (size_t i = 0; i < p->option_count; i++)
		mpk_json_text(j, list, NULL, p->options[i]);
	list = mpk_json_array(j, o, "resolvedDependencies");
	for (size_t i = 0; i < p->input_count; i++) {
		struct mpk_json_at *input = mpk_json_object(j, list, NULL);

		mpk_json_text(j, input, "name", p->inputs[i].name);
		put_digest(mpk_digest_print(p->inputs[i].sha256, MPK_DIGEST_BYTES, digits), j,
			   input);
	}
}

/* The key of a member; names of tools are the file's own words. */
static void put_tools(const struct mpk_provenance *p, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "version");

	for (size_t i = 0; i < p->tool_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

		mpk_escape(&name, mpk_span_str(p->tools[i].name));
		j->failed |= name.failed;
		mpk_json_text(j, o, mpk_strbuf_text(&name), p->tools[i].version);
	}
}

void mpk_bom_predicate(const struct mpk_bom *b, const struct mpk_bom_author *author,
		       struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o;

	put_definition(&b->provenance, j, at);
	o = mpk_json_object(j, mpk_json_object(j, at, "runDetails"), "builder");
	mpk_json_text(j, o, "id", author->builder);
	put_tools(&b->provenance, j, o);
}

void mpk_bom_statement(const struct mpk_bom *b, const struct mpk_bom_author *author,
		       struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o;

	mpk_json_text(j, at, "_type", "https://in-toto.io/Statement/v1");
	o = mpk_json_object(j, mpk_json_array(j, at, "subject"), NULL);
	mpk_json_text(j, o, "name", b->file);
	put_digest(b->sha256, j, o);
	mpk_json_text(j, at, "predicateType", "https://slsa.dev/provenance/v1");
	mpk_bom_predicate(b, author, j, mpk_json_object(j, at, "predicate"));
}
