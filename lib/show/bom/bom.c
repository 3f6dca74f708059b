/* SPDX-License-Identifier: Apache-2.0 */
/* bom.c - collects the contents of a software bill of materials, which each format then prints, and
 * prints the in-toto statement that carries one */
#include <stdio.h>
#include <string.h>

#include "bom/bom.h"
#include "code/info.h"
#include "io/path.h"
#include "model/device_code.h"
#include "text/escape.h"

struct reading {
	const struct mpk_view *view;
	const struct mpk_mapping *map;
	struct mpk_bom_thing *things;
	size_t count;
};

/* Hashes through a rope that reads the file: a mapping of gigabytes would count as memory of the
 * process. */
static enum mpk_code bom_hash(const struct reading *r, struct mpk_span bytes,
			      uint8_t out[MPK_DIGEST_BYTES], struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(r->view->arena);

	mpk_rope_put_view(&rope, bytes);
	mpk_mapping_use_file(r->map, &rope);
	MPK_TRY(mpk_rope_status(&rope, err));
	return mpk_digest_rope(MPK_DIGEST_SHA256, &rope, NULL, out, err);
}

/* Makes an identifier of the characters that both CycloneDX and SPDX allow in references. */
static const char *make_id(struct mpk_arena *arena, const char *what, const char *name)
{
	char *id = mpk_arena_printf(arena, "%s%s%s", what, *name == '/' ? "" : "-", name);

	for (char *c = id; c && *c; c++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.", *c))
			*c = '-';
	return id;
}

static enum mpk_code bom_add(struct reading *r, struct mpk_bom_thing thing, const uint8_t *sha256,
			     struct mpk_error *err)
{
	struct mpk_arena *arena = r->view->arena;
	char digits[MPK_DIGEST_TEXT];

	if (sha256)
		thing.sha256 = mpk_arena_text(
			arena, mpk_span_str(mpk_digest_print(sha256, MPK_DIGEST_BYTES, digits)));
	MPK_TRY_ALLOC(thing.id && (thing.sha256 || !sha256), err);
	r->things[r->count++] = thing;
	return MPK_OK;
}

/* The identifier is valid within the document. The digest covers the part's bytes as they are
 * stored in the file. */
static enum mpk_code add_part(struct reading *r, struct mpk_bom_thing part, struct mpk_span bytes,
			      struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];

	part.bytes = bytes.len;
	MPK_TRY(bom_hash(r, bytes, digest, err));
	return bom_add(r, part, digest, err);
}

/* A module without a payload has no bytes to identify, so it is not a component. Images outside the
 * module tree get numbers, since two symbol names may yield the same reference. */
static enum mpk_code add_parts(struct reading *r, struct mpk_error *err)
{
	const struct mpk_view *v = r->view;

	for (size_t i = 0; i < v->count; i++) {
		const struct mpk_view_node *n = &v->nodes[i];
		bool is_data = n->kind && n->kind->role == MPK_ROLE_DATA;

		if (n->node->payload.len)
			MPK_TRY(add_part(r,
					 (struct mpk_bom_thing){
						 .class = is_data ? MPK_BOM_DATA : MPK_BOM_CODE,
						 .id = make_id(v->arena, "module", n->path),
						 .name = n->node->kind,
						 .path = n->path,
						 .format = mpk_view_format(n) },
					 n->node->payload, err));
	}
	for (size_t i = 0; i < v->image->embedded_count; i++)
		MPK_TRY(add_part(
			r,
			(struct mpk_bom_thing){ .class = MPK_BOM_CODE,
						.id = mpk_arena_printf(v->arena, "code-%zu", i),
						.name = mpk_span_str("cubin"),
						.path = v->embedded[i].path },
			v->image->embedded[i].bytes, err));
	return MPK_OK;
}

static enum mpk_code add_other(struct reading *r, enum mpk_bom_class class, size_t i,
			       const char *name, const char *version, const uint8_t *sha256,
			       struct mpk_error *err)
{
	static const char *const words[] = {
		[MPK_BOM_NEEDED] = "needed", [MPK_BOM_TOOL] = "tool", [MPK_BOM_INPUT] = "input"
	};
	const char *id = mpk_arena_printf(r->view->arena, "%s-%zu", words[class], i);

	return bom_add(r,
		       (struct mpk_bom_thing){ class, id, mpk_span_str(name), .version = version },
		       sha256, err);
}

/* Adds the needed libraries by their DT_NEEDED names. They have no digest: the loader chooses the
 * file at run time. */
static enum mpk_code add_others(struct reading *r, const struct mpk_provenance *p,
				struct mpk_error *err)
{
	const struct mpk_image *image = r->view->image;

	for (size_t i = 0; i < image->needed_count; i++)
		MPK_TRY(add_other(r, MPK_BOM_NEEDED, i, image->needed[i], NULL, NULL, err));
	for (size_t i = 0; p && i < p->tool_count; i++)
		MPK_TRY(add_other(r, MPK_BOM_TOOL, i, p->tools[i].name, p->tools[i].version, NULL,
				  err));
	for (size_t i = 0; p && i < p->input_count; i++)
		MPK_TRY(add_other(r, MPK_BOM_INPUT, i, p->inputs[i].name, NULL, p->inputs[i].sha256,
				  err));
	return MPK_OK;
}

/* Makes a UUID from the digest of the file. RFC 9562 lets version 8 define its own bits. */
void mpk_bom_uuid(const uint8_t digest[MPK_DIGEST_BYTES], char out[37])
{
	uint8_t b[16];
	size_t at = 0;

	memcpy(b, digest, sizeof b);
	/* RFC 9562, 5.8: version 8 in the upper half of byte 6, variant 10 in the upper bits of
	 * byte 8 */
	b[6] = (uint8_t)(0x80 | (b[6] & 0x0f));
	b[8] = (uint8_t)(0x80 | (b[8] & 0x3f));
	for (size_t i = 0; i < sizeof b; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		(void)snprintf(out + at, 37 - at, "%02x", b[i]);
		at += 2;
	}
}

/* A damaged provenance note is an error: a bill of materials that silently omitted it would be
 * false. */
static enum mpk_code read_origin(const struct mpk_view *view, struct mpk_bom *out,
				 struct mpk_error *err)
{
	struct mpk_view_origin origin;

	MPK_TRY(mpk_view_origin(view, &origin, err));
	if (origin.problem.code != MPK_OK) {
		if (err)
			*err = origin.problem;
		return mpk_failed(origin.problem.code);
	}
	out->has_provenance = origin.has_provenance;
	out->provenance = origin.provenance;
	return MPK_OK;
}

enum mpk_code mpk_bom_read(const struct mpk_view *view, const struct mpk_mapping *map,
			   struct mpk_span bytes, const struct mpk_bom_author *author,
			   struct mpk_bom *out, struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	struct reading r = { .view = view, .map = map };
	struct mpk_bom b = { .author = author,
			     .ref = "library",
			     .file = mpk_path_name(view->name),
			     .bytes = bytes.len };

	b.name = image->note.name && *image->note.name ? image->note.name : b.file;
	MPK_TRY(read_origin(view, &b, err));
	MPK_TRY_ARRAY(
		r.things, view->arena,
		view->count + image->embedded_count + image->needed_count +
			(b.has_provenance ? b.provenance.tool_count + b.provenance.input_count : 0),
		err);
	MPK_TRY(bom_hash(&r, bytes, b.digest, err));
	(void)mpk_digest_print(b.digest, MPK_DIGEST_BYTES, b.sha256);
	mpk_bom_uuid(b.digest, b.uuid);
	MPK_TRY(add_parts(&r, err));
	MPK_TRY(add_others(&r, b.has_provenance ? &b.provenance : NULL, err));
	b.things = r.things;
	b.count = r.count;
	*out = b;
	return MPK_OK;
}

/* --- attestations ----------------------------------------------------------------------- */

/* Writes in-toto's DigestSet: an object whose members are hexadecimal digests by algorithm. */
static void bom_put_digest(const char *sha256, struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_json_text(j, mpk_json_object(j, at, "digest"), "sha256", sha256);
}

/* SLSA v1 provenance, buildDefinition: options are externalParameters, since the user chose them;
 * input files are resolvedDependencies. */
static void bom_put_definition(const struct mpk_provenance *p, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "buildDefinition"), *list;
	char digits[MPK_DIGEST_TEXT];

	mpk_json_text(j, o, "buildType", "urn:x-mpack:build:1");
	mpk_json_texts(j, mpk_json_object(j, o, "externalParameters"), "options", p->options,
		       p->option_count);
	list = mpk_json_array(j, o, "resolvedDependencies");
	for (size_t i = 0; i < p->input_count; i++) {
		struct mpk_json_at *input = mpk_json_object(j, list, NULL);

		mpk_json_text(j, input, "name", p->inputs[i].name);
		bom_put_digest(mpk_digest_print(p->inputs[i].sha256, MPK_DIGEST_BYTES, digits), j,
			       input);
	}
}

/* Member names come from tool names, which the file supplies. */
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

static void predicate_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_bom *b = what;
	struct mpk_json_at *o;

	bom_put_definition(&b->provenance, j, at);
	o = mpk_json_object(j, mpk_json_object(j, at, "runDetails"), "builder");
	mpk_json_text(j, o, "id", b->author->builder);
	put_tools(&b->provenance, j, o);
}

static void statement_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_bom *b = what;
	struct mpk_json_at *o;

	mpk_json_text(j, at, "_type", "https://in-toto.io/Statement/v1");
	o = mpk_json_object(j, mpk_json_array(j, at, "subject"), NULL);
	mpk_json_text(j, o, "name", b->file);
	bom_put_digest(b->sha256, j, o);
	mpk_json_text(j, at, "predicateType", "https://slsa.dev/provenance/v1");
	predicate_json(b, j, mpk_json_object(j, at, "predicate"));
}

const struct mpk_answer mpk_answer_statement = { .json = statement_json },
			mpk_answer_predicate = { .json = predicate_json };
