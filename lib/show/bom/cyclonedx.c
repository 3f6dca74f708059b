/* SPDX-License-Identifier: Apache-2.0 */
/* CycloneDX 1.6 (ECMA-424). What the library holds are its components; what it was made from is excluded
 * from what runs, as its scope says. */
#include "bom/bom.h"

/* "SHA-256" is spelt with a hyphen in CycloneDX's enumeration of algorithms, other than in SPDX. */
static void put_hash(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, mpk_json_array(j, at, "hashes"), NULL);

	mpk_json_text(j, o, "alg", "SHA-256");
	mpk_json_text(j, o, "content", sha256);
}

/* Properties are CycloneDX's place for what it has no member for; names have a namespace, here
 * "mpack:". */
static void put_property(const char *name, struct mpk_span value, struct mpk_json *j,
			 struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", name);
	mpk_json_span(j, o, "value", value);
}

/* As a string: values of properties are strings in the schema. */
static void cyclonedx_put_bytes(uint64_t bytes, struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", "mpack:bytes");
	mpk_json_printf(j, o, "value", "%llu", (unsigned long long)bytes);
}

/* metadata.component is what the document is about; the library is no entry of components. */
static void put_metadata(const struct mpk_bom *b, const struct mpk_bom_author *author,
			 struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *meta = mpk_json_object(j, at, "metadata"), *o, *list;

	list = mpk_json_array(j, mpk_json_object(j, meta, "tools"), "components");
	o = mpk_json_object(j, list, NULL);
	mpk_json_text(j, o, "type", "application");
	mpk_json_text(j, o, "name", author->name);
	mpk_json_text(j, o, "version", author->version);
	o = mpk_json_object(j, meta, "component");
	mpk_json_text(j, o, "bom-ref", "library");
	mpk_json_text(j, o, "type", "library");
	mpk_json_text(j, o, "name", b->name);
	put_hash(b->sha256, j, o);
	list = mpk_json_array(j, o, "properties");
	put_property("mpack:file", mpk_span_str(b->file), j, list);
	cyclonedx_put_bytes(b->bytes, j, list);
	for (size_t i = 0; b->has_provenance && i < b->provenance.option_count; i++)
		put_property("mpack:option", mpk_span_str(b->provenance.options[i]), j, list);
}

static void cyclonedx_put_part(const struct mpk_bom_part *p, struct mpk_json *j,
			       struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "bom-ref", p->id);
	mpk_json_text(j, o, "type", p->is_data ? "data" : "library");
	mpk_json_span(j, o, "name", p->kind);
	mpk_json_text(j, o, "scope", "required");
	put_hash(p->sha256, j, o);
	list = mpk_json_array(j, o, "properties");
	put_property("mpack:path", mpk_span_str(p->path), j, list);
	if (p->format.len)
		put_property("mpack:format", p->format, j, list);
	cyclonedx_put_bytes(p->bytes, j, list);
}

/* Libraries by the name that DT_NEEDED has, without a hash: which file answers to it is decided
 * where the library is loaded. */
static void put_needed(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < b->needed_count; i++) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_printf(j, o, "bom-ref", "needed-%zu", i);
		mpk_json_text(j, o, "type", "library");
		mpk_json_text(j, o, "name", b->needed[i]);
		mpk_json_text(j, o, "scope", "required");
	}
}

/* Tools and sources have the scope "excluded", which the specification has for what is not part
 * of the delivered component at run time. */
static void put_origin(const struct mpk_provenance *p, struct mpk_json *j, struct mpk_json_at *list)
{
	char digits[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < p->tool_count; i++) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_printf(j, o, "bom-ref", "tool-%zu", i);
		mpk_json_text(j, o, "type", "application");
		mpk_json_text(j, o, "name", p->tools[i].name);
		mpk_json_text(j, o, "version", p->tools[i].version);
		mpk_json_text(j, o, "scope", "excluded");
	}
	for (size_t i = 0; i < p->input_count; i++) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_printf(j, o, "bom-ref", "input-%zu", i);
		mpk_json_text(j, o, "type", "file");
		mpk_json_text(j, o, "name", p->inputs[i].name);
		mpk_json_text(j, o, "scope", "excluded");
		put_hash(mpk_digest_print(p->inputs[i].sha256, MPK_DIGEST_BYTES, digits), j, o);
	}
}

/* Only what the library itself consists of or loads: tools and inputs are no dependencies of a
 * running program. */
static void put_dependencies(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, mpk_json_array(j, at, "dependencies"), NULL),
			   *list;

	mpk_json_text(j, o, "ref", "library");
	list = mpk_json_array(j, o, "dependsOn");
	for (size_t i = 0; i < b->part_count; i++)
		mpk_json_text(j, list, NULL, b->parts[i].id);
	for (size_t i = 0; i < b->needed_count; i++)
		mpk_json_printf(j, list, NULL, "needed-%zu", i);
}

void mpk_bom_cyclonedx(const struct mpk_bom *b, const struct mpk_bom_author *author,
		       struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list;

	mpk_json_text(j, at, "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
	mpk_json_text(j, at, "bomFormat", "CycloneDX");
	mpk_json_text(j, at, "specVersion", "1.6");
	mpk_json_printf(j, at, "serialNumber", "urn:uuid:%s", b->uuid);
	mpk_json_u64(j, at, "version", 1);
	put_metadata(b, author, j, at);
	list = mpk_json_array(j, at, "components");
	for (size_t i = 0; i < b->part_count; i++)
		cyclonedx_put_part(&b->parts[i], j, list);
	put_needed(b, j, list);
	if (b->has_provenance)
		put_origin(&b->provenance, j, list);
	put_dependencies(b, j, at);
}
