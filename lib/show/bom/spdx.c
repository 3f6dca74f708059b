/* SPDX-License-Identifier: Apache-2.0 */
/* spdx.c - the bill of materials in the format of SPDX 2.3
 *
 * It knows packages and files in packages; modules are packages here, for they come from where
 * the library comes from, and nobody can tell their licence from their bytes. */
#include "bom/bom.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* "SHA256" without a hyphen, as SPDX 2.3 spells it (7.10, package checksum). */
static void put_checksum(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
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

/* primaryPackagePurpose has no word for weights: parts that are data are OTHER. */
static void put_parts(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *list)
{
	for (size_t i = 0; i < b->part_count; i++) {
		const struct mpk_bom_part *p = &b->parts[i];
		struct mpk_json_at *o =
			spdx_put_package(p->id, p->kind, p->is_data ? "OTHER" : "LIBRARY", j, list);
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf comment = { 0 };

		put_checksum(p->sha256, j, o);
		mpk_strbuf_printf(&comment, "module %s of the library, %llu bytes", p->path,
				  (unsigned long long)p->bytes);
		j->failed |= comment.failed;
		mpk_json_text(j, o, "comment", mpk_strbuf_text(&comment));
	}
}

/* The library first, then its modules, then what it needs and what it was made from;
 * put_relationships says which is which. */
static void put_packages(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "packages"), *o;
	char digits[MPK_DIGEST_TEXT], id[32];

	o = spdx_put_package("library", mpk_span_str(b->name), "LIBRARY", j, list);
	mpk_json_text(j, o, "packageFileName", b->file);
	put_checksum(b->sha256, j, o);
	put_parts(b, j, list);
	for (size_t i = 0; i < b->needed_count; i++) {
		(void)snprintf(id, sizeof id, "needed-%zu", i);
		(void)spdx_put_package(id, mpk_span_str(b->needed[i]), "LIBRARY", j, list);
	}
	for (size_t i = 0; b->has_provenance && i < b->provenance.tool_count; i++) {
		const struct mpk_provenance_tool *t = &b->provenance.tools[i];

		(void)snprintf(id, sizeof id, "tool-%zu", i);
		o = spdx_put_package(id, mpk_span_str(t->name), "APPLICATION", j, list);
		mpk_json_text(j, o, "versionInfo", t->version);
	}
	for (size_t i = 0; b->has_provenance && i < b->provenance.input_count; i++) {
		const struct mpk_provenance_input *in = &b->provenance.inputs[i];

		(void)snprintf(id, sizeof id, "input-%zu", i);
		o = spdx_put_package(id, mpk_span_str(in->name), "SOURCE", j, list);
		put_checksum(mpk_digest_print(in->sha256, MPK_DIGEST_BYTES, digits), j, o);
	}
}

/* Both ends are SPDX identifiers and get their prefix here, so that callers use the same id as
 * for the package. */
static void relate(const char *from, const char *type, const char *to, struct mpk_json *j,
		   struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf a = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf b = { 0 };

	mpk_strbuf_printf(&a, "SPDXRef-%s", from);
	mpk_strbuf_printf(&b, "SPDXRef-%s", to);
	j->failed |= a.failed || b.failed;
	mpk_json_text(j, o, "spdxElementId", mpk_strbuf_text(&a));
	mpk_json_text(j, o, "relationshipType", type);
	mpk_json_text(j, o, "relatedSpdxElement", mpk_strbuf_text(&b));
}

/* SPDX 2.3, clause 11. The direction differs by type: a tool is BUILD_TOOL_OF the library, the
 * library is GENERATED_FROM its input. */
static void put_relationships(const struct mpk_bom *b, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "relationships");
	char id[32];

	relate("DOCUMENT", "DESCRIBES", "library", j, list);
	for (size_t i = 0; i < b->part_count; i++)
		relate("library", "CONTAINS", b->parts[i].id, j, list);
	for (size_t i = 0; i < b->needed_count; i++) {
		(void)snprintf(id, sizeof id, "needed-%zu", i);
		relate("library", "DYNAMIC_LINK", id, j, list);
	}
	for (size_t i = 0; b->has_provenance && i < b->provenance.tool_count; i++) {
		(void)snprintf(id, sizeof id, "tool-%zu", i);
		relate(id, "BUILD_TOOL_OF", "library", j, list);
	}
	for (size_t i = 0; b->has_provenance && i < b->provenance.input_count; i++) {
		(void)snprintf(id, sizeof id, "input-%zu", i);
		relate("library", "GENERATED_FROM", id, j, list);
	}
}

/* The time is the caller's and not the clock's, so that the same file makes the same document.
 * The format is that of SPDX 2.3, 6.9: UTC to the second. */
static void put_creation(const struct mpk_bom_author *author, struct mpk_json *j,
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

void mpk_bom_spdx(const struct mpk_bom *b, const struct mpk_bom_author *author, struct mpk_json *j,
		  struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf space = { 0 };

	mpk_json_text(j, at, "spdxVersion", "SPDX-2.3");
	mpk_json_text(j, at, "dataLicense", "CC0-1.0");
	mpk_json_text(j, at, "SPDXID", "SPDXRef-DOCUMENT");
	mpk_json_text(j, at, "name", b->name);
	mpk_strbuf_printf(&space, "https://spdx.org/spdxdocs/%s-%s", author->name, b->uuid);
	j->failed |= space.failed;
	mpk_json_text(j, at, "documentNamespace", mpk_strbuf_text(&space));
	put_creation(author, j, at);
	put_packages(b, j, at);
	put_relationships(b, j, at);
}
