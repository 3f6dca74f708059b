/* SPDX-License-Identifier: Apache-2.0 */
/* sbom.c - a bill of materials in the formats of CycloneDX 1.6 (ECMA-424) and SPDX 2.3
 *
 * In CycloneDX what the library holds are its components; what it was made from is excluded from what runs, as
 * its scope says. SPDX knows packages and files in packages; modules are packages here, for they come from where
 * the library comes from, and nobody can tell their licence from their bytes. */
#include "bom/bom.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* How the two formats say what a thing is to the library. CycloneDX has the scope "excluded" for what is not part of
 * the delivered component at run time. primaryPackagePurpose of SPDX has no word for weights. The direction of
 * relationships (SPDX 2.3, clause 11) differs: a tool is BUILD_TOOL_OF the library, the library is GENERATED_FROM
 * its input. */
static const struct {
	const char *type, *scope;           /* values of CycloneDX members */
	const char *purpose, *relationship; /* of SPDX */
	bool to_library;
} classes[] = {
	[MPK_BOM_CODE] = { "library", "required", "LIBRARY", "CONTAINS", false },
	[MPK_BOM_DATA] = { "data", "required", "OTHER", "CONTAINS", false },
	[MPK_BOM_NEEDED] = { "library", "required", "LIBRARY", "DYNAMIC_LINK", false },
	[MPK_BOM_TOOL] = { "application", "excluded", "APPLICATION", "BUILD_TOOL_OF", true },
	[MPK_BOM_INPUT] = { "file", "excluded", "SOURCE", "GENERATED_FROM", false },
};

/* --- CycloneDX --------------------------------------------------------------------------- */

/* "SHA-256" is spelt with a hyphen in CycloneDX's enumeration of algorithms, other than in SPDX. */
static void cdx_put_hash(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, mpk_json_array(j, at, "hashes"), NULL);

	mpk_json_text(j, o, "alg", "SHA-256");
	mpk_json_text(j, o, "content", sha256);
}

/* CycloneDX has no member for this value, so it is written as a property. Property names need a
 * namespace: "mpack:". */
static void cdx_put_property(const char *name, struct mpk_span value, struct mpk_json *j,
			     struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", name);
	mpk_json_span(j, o, "value", value);
}

/* Writes the number as a string: the schema allows only strings as property values. */
static void cdx_put_bytes(uint64_t bytes, struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "name", "mpack:bytes");
	mpk_json_printf(j, o, "value", "%llu", (unsigned long long)bytes);
}

/* Writes the program that makes the document, the first member of metadata.
 * Returns  metadata, still open */
static struct mpk_json_at *cdx_put_author(const struct mpk_bom_author *author, struct mpk_json *j,
					  struct mpk_json_at *at)
{
	struct mpk_json_at *meta = mpk_json_object(j, at, "metadata"), *o, *list;

	list = mpk_json_array(j, mpk_json_object(j, meta, "tools"), "components");
	o = mpk_json_object(j, list, NULL);
	mpk_json_text(j, o, "type", "application");
	mpk_json_text(j, o, "name", author->name);
	mpk_json_text(j, o, "version", author->version);
	return meta;
}

/* Writes the library itself.
 * Returns  its component, still open */
static struct mpk_json_at *cdx_put_library(const struct mpk_bom *b, struct mpk_json *j,
					   struct mpk_json_at *o)
{
	struct mpk_json_at *list;

	mpk_json_text(j, o, "bom-ref", b->ref);
	mpk_json_text(j, o, "type", "library");
	mpk_json_text(j, o, "name", b->name);
	cdx_put_hash(b->sha256, j, o);
	list = mpk_json_array(j, o, "properties");
	cdx_put_property("mpack:file", mpk_span_str(b->file), j, list);
	cdx_put_bytes(b->bytes, j, list);
	for (size_t i = 0; b->has_provenance && i < b->provenance.option_count; i++)
		cdx_put_property("mpack:option", mpk_span_str(b->provenance.options[i]), j, list);
	return o;
}

static void cdx_put_thing(const struct mpk_bom_thing *t, struct mpk_json *j,
			  struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	mpk_json_text(j, o, "bom-ref", t->id);
	mpk_json_text(j, o, "type", classes[t->class].type);
	mpk_json_span(j, o, "name", t->name);
	if (t->version)
		mpk_json_text(j, o, "version", t->version);
	mpk_json_text(j, o, "scope", classes[t->class].scope);
	if (t->sha256)
		cdx_put_hash(t->sha256, j, o);
	if (!t->path)
		return;
	list = mpk_json_array(j, o, "properties");
	cdx_put_property("mpack:path", mpk_span_str(t->path), j, list);
	if (t->format.len)
		cdx_put_property("mpack:format", t->format, j, list);
	cdx_put_bytes(t->bytes, j, list);
}

/* Lists only the parts and the needed libraries: tools and inputs are not dependencies of a running
 * program. */
static void cdx_put_dependencies(const struct mpk_bom *b, struct mpk_json *j,
				 struct mpk_json_at *all)
{
	struct mpk_json_at *o = mpk_json_object(j, all, NULL), *list;

	mpk_json_text(j, o, "ref", b->ref);
	list = mpk_json_array(j, o, "dependsOn");
	for (size_t i = 0; i < b->count && b->things[i].class <= MPK_BOM_NEEDED; i++)
		mpk_json_text(j, list, NULL, b->things[i].id);
}

static void cdx_begin(struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_json_text(j, at, "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
	mpk_json_text(j, at, "bomFormat", "CycloneDX");
	mpk_json_text(j, at, "specVersion", "1.6");
}

/* metadata.component is the subject of the document, so the library is not listed again in
 * components. */
static void cyclonedx_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_bom *b = what;
	struct mpk_json_at *list, *meta;

	cdx_begin(j, at);
	mpk_json_printf(j, at, "serialNumber", "urn:uuid:%s", b->uuid);
	mpk_json_u64(j, at, "version", 1);
	meta = cdx_put_author(b->author, j, at);
	(void)cdx_put_library(b, j, mpk_json_object(j, meta, "component"));
	list = mpk_json_array(j, at, "components");
	for (size_t i = 0; i < b->count; i++)
		cdx_put_thing(&b->things[i], j, list);
	cdx_put_dependencies(b, j, mpk_json_array(j, at, "dependencies"));
}

const struct mpk_answer mpk_answer_cyclonedx = { .json = cyclonedx_json };

/* --- SPDX -------------------------------------------------------------------------------- */

/* "SHA256" without a hyphen, as SPDX 2.3 spells it (7.10, package checksum). */
static void spdx_put_checksum(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, mpk_json_array(j, at, "checksums"), NULL);

	mpk_json_text(j, o, "algorithm", "SHA256");
	mpk_json_text(j, o, "checksumValue", sha256);
}

/* A package begun; its reference is "SPDXRef-" and id. */
static struct mpk_json_at *spdx_put_package(const char *id, struct mpk_span name,
					    const char *purpose, struct mpk_json *j,
					    struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf ref = { 0 };

	mpk_strbuf_printf(&ref, "SPDXRef-%s", id);
	j->failed |= ref.failed;
	mpk_json_text(j, o, "SPDXID", mpk_strbuf_text(&ref));
	mpk_json_span(j, o, "name", name);
	mpk_json_text(j, o, "downloadLocation", "NOASSERTION");
	mpk_json_bool(j, o, "filesAnalyzed", false);
	mpk_json_text(j, o, "licenseConcluded", "NOASSERTION");
	mpk_json_text(j, o, "licenseDeclared", "NOASSERTION");
	mpk_json_text(j, o, "copyrightText", "NOASSERTION");
	mpk_json_text(j, o, "primaryPackagePurpose", purpose);
	return o;
}

static void spdx_put_thing(const struct mpk_bom_thing *t, struct mpk_json *j,
			   struct mpk_json_at *list)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf comment = { 0 };
	struct mpk_json_at *o =
		spdx_put_package(t->id, t->name, classes[t->class].purpose, j, list);

	if (t->version)
		mpk_json_text(j, o, "versionInfo", t->version);
	if (t->sha256)
		spdx_put_checksum(t->sha256, j, o);
	if (!t->path)
		return;
	mpk_strbuf_printf(&comment, "module %s of the library, %llu bytes", t->path,
			  (unsigned long long)t->bytes);
	j->failed |= comment.failed;
	mpk_json_text(j, o, "comment", mpk_strbuf_text(&comment));
}

/* Writes the library first, then its modules, then its needed libraries and inputs;
 * spdx_put_relationships states the role of each. */
static void spdx_put_packages(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = spdx_put_package(b->ref, mpk_span_str(b->name), "LIBRARY", j, list);

	mpk_json_text(j, o, "packageFileName", b->file);
	spdx_put_checksum(b->sha256, j, o);
	for (size_t i = 0; i < b->count; i++)
		spdx_put_thing(&b->things[i], j, list);
}

/* Both ends are SPDX identifiers and get their prefix here, so that callers use the same id as
 * for the package. */
static void spdx_relate(const char *from, const char *type, const char *to, struct mpk_json *j,
			struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf a = { 0 }, b = { 0 };

	mpk_strbuf_printf(&a, "SPDXRef-%s", from);
	mpk_strbuf_printf(&b, "SPDXRef-%s", to);
	j->failed |= a.failed || b.failed;
	mpk_json_text(j, o, "spdxElementId", mpk_strbuf_text(&a));
	mpk_json_text(j, o, "relationshipType", type);
	mpk_json_text(j, o, "relatedSpdxElement", mpk_strbuf_text(&b));
}

static void spdx_put_relationships(const struct mpk_bom *b, struct mpk_json *j,
				   struct mpk_json_at *list)
{
	for (size_t i = 0; i < b->count; i++) {
		const char *id = b->things[i].id, *type = classes[b->things[i].class].relationship;

		if (classes[b->things[i].class].to_library)
			spdx_relate(id, type, b->ref, j, list);
		else
			spdx_relate(b->ref, type, id, j, list);
	}
}

/* The time is the caller's and not the clock's, so that the same file makes the same document.
 * The format is that of SPDX 2.3, 6.9: UTC to the second. */
static void spdx_put_creation(const struct mpk_bom_author *author, struct mpk_json *j,
			      struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "creationInfo"), *list;
	time_t created = (time_t)author->created;
	struct tm utc = { 0 };
	char text[64];

	if (!gmtime_r(&created, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
		j->failed = true;
	mpk_json_text(j, o, "created", text);
	list = mpk_json_array(j, o, "creators");
	mpk_json_printf(j, list, NULL, "Tool: %s-%.*s", author->name,
			(int)strcspn(author->version, " "), author->version);
}

static void spdx_put_namespace(const struct mpk_bom_author *author, const char *uuid,
			       struct mpk_json *j, struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf space = { 0 };

	mpk_strbuf_printf(&space, "https://spdx.org/spdxdocs/%s-%s", author->name, uuid);
	j->failed |= space.failed;
	mpk_json_text(j, at, "documentNamespace", mpk_strbuf_text(&space));
}

static void spdx_begin(const char *name, struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_json_text(j, at, "spdxVersion", "SPDX-2.3");
	mpk_json_text(j, at, "dataLicense", "CC0-1.0");
	mpk_json_text(j, at, "SPDXID", "SPDXRef-DOCUMENT");
	mpk_json_text(j, at, "name", name);
}

static void spdx_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_bom *b = what;
	struct mpk_json_at *list;

	spdx_begin(b->name, j, at);
	spdx_put_namespace(b->author, b->uuid, j, at);
	spdx_put_creation(b->author, j, at);
	spdx_put_packages(b, j, mpk_json_array(j, at, "packages"));
	list = mpk_json_array(j, at, "relationships");
	spdx_relate("DOCUMENT", "DESCRIBES", b->ref, j, list);
	spdx_put_relationships(b, j, list);
}

const struct mpk_answer mpk_answer_spdx = { .json = spdx_json };

/* --- one document of several libraries ------------------------------------------------------ */

/* The identifier of the archive in both formats. The libraries are "library-0" and so on. */
static const char ARCHIVE_REF[] = "archive";

void mpk_bom_set_begin(struct mpk_bom_set *s)
{
	struct mpk_json *j = s->j;
	struct mpk_json_at *at = j->root, *o;

	mpk_json_init_list(&s->links);
	if (s->is_spdx) {
		spdx_begin(s->name, j, at);
		spdx_put_creation(s->author, j, at);
		s->list = mpk_json_array(j, at, "packages");
		if (!s->sha256)
			return;
		o = spdx_put_package(ARCHIVE_REF, mpk_span_str(s->name), "ARCHIVE", j, s->list);
		mpk_json_text(j, o, "packageFileName", s->name);
		spdx_put_checksum(s->sha256, j, o);
		spdx_relate("DOCUMENT", "DESCRIBES", ARCHIVE_REF, &s->links, s->links.root);
		return;
	}
	cdx_begin(j, at);
	mpk_json_u64(j, at, "version", 1);
	o = cdx_put_author(s->author, j, at);
	if (s->sha256) {
		o = mpk_json_object(j, o, "component");
		mpk_json_text(j, o, "bom-ref", ARCHIVE_REF);
		mpk_json_text(j, o, "type", "library");
		mpk_json_text(j, o, "name", s->name);
		cdx_put_hash(s->sha256, j, o);
		cdx_put_bytes(s->bytes, j, mpk_json_array(j, o, "properties"));
	}
	s->list = mpk_json_array(j, at, "components");
}

enum mpk_code mpk_bom_set_add(struct mpk_bom_set *s, struct mpk_bom *b, const char *file,
			      struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_bom_thing *things = mpk_arena_keep(arena, b->things, b->count, sizeof *things);
	struct mpk_json *j = s->j;
	struct mpk_json_at *list;

	b->ref = mpk_arena_printf(arena, "library-%zu", s->count++);
	if (b->name == b->file)
		b->name = file;
	b->file = file;
	MPK_TRY_ALLOC(b->ref && (things || !b->count), err);
	for (size_t i = 0; i < b->count; i++) {
		things[i].id = mpk_arena_printf(arena, "%s-%s", b->ref, things[i].id);
		MPK_TRY_ALLOC(things[i].id, err);
	}
	b->things = things;
	mpk_strbuf_puts(&s->digests, b->sha256);
	mpk_strbuf_puts(&s->refs, b->ref);
	mpk_strbuf_putc(&s->refs, '\0');
	if (s->is_spdx) {
		spdx_put_packages(b, j, s->list);
		if (s->sha256)
			spdx_relate(ARCHIVE_REF, "CONTAINS", b->ref, &s->links, s->links.root);
		else
			spdx_relate("DOCUMENT", "DESCRIBES", b->ref, &s->links, s->links.root);
		spdx_put_relationships(b, &s->links, s->links.root);
		return MPK_OK;
	}
	list = mpk_json_array(j, cdx_put_library(b, j, mpk_json_object(j, s->list, NULL)),
			      "components");
	for (size_t i = 0; i < b->count; i++)
		cdx_put_thing(&b->things[i], j, list);
	cdx_put_dependencies(b, &s->links, s->links.root);
	return MPK_OK;
}

/* States that the archive depends on its libraries. */
static void cdx_put_archive(const struct mpk_bom_set *s, struct mpk_json *j)
{
	struct mpk_json_at *o = mpk_json_object(j, j->root, NULL), *list;
	size_t at = 0;

	mpk_json_text(j, o, "ref", ARCHIVE_REF);
	list = mpk_json_array(j, o, "dependsOn");
	for (; !s->refs.failed && at < s->refs.len; at += strlen(s->refs.data + at) + 1)
		mpk_json_text(j, list, NULL, s->refs.data + at);
}

enum mpk_code mpk_bom_set_end(struct mpk_bom_set *s, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_json *j = s->j;
	uint8_t digest[MPK_DIGEST_BYTES] = { 0 };
	char uuid[37] = "";
	enum mpk_code code;

	if (s->sha256)
		mpk_strbuf_puts(&s->digests, s->sha256);
	mpk_rope_put_view(&rope, mpk_span_str(mpk_strbuf_text(&s->digests)));
	code = mpk_rope_status(&rope, err);
	if (code == MPK_OK)
		code = mpk_digest_rope(MPK_DIGEST_SHA256, &rope, NULL, digest, err);
	mpk_bom_uuid(digest, uuid);
	if (s->is_spdx)
		spdx_put_namespace(s->author, uuid, j, j->root);
	else
		mpk_json_printf(j, j->root, "serialNumber", "urn:uuid:%s", uuid);
	if (!s->is_spdx && s->sha256)
		cdx_put_archive(s, &s->links);
	mpk_json_document(j, j->root, s->is_spdx ? "relationships" : "dependencies", &s->links);
	j->failed |= s->links.failed || s->digests.failed || s->refs.failed;
	mpk_json_fini(&s->links);
	mpk_strbuf_fini(&s->digests);
	mpk_strbuf_fini(&s->refs);
	return code;
}
