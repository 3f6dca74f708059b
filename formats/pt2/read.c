/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the roles of a package's members, and the names of its weights */
#include "pt2/pt2.h"

#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "text/json_read.h"

/* For members whose content is one word. */
enum { WORD_BYTES = 32 };

/* Documents with names may decompress to this and the size of the archive together; further
 * documents are skipped. */
#define CONFIGS_LEAST ((uint64_t)16 << 20)

static const struct {
	const char *folder;
	enum mpk_pt2_role role;
} folders[] = {
	{ "data/weights/", MPK_PT2_WEIGHT },
	{ "data/constants/", MPK_PT2_CONSTANT },
	{ "data/aotinductor/", MPK_PT2_ARTIFACT },
	{ "data/sample_inputs/", MPK_PT2_SAMPLE },
	{ "models/", MPK_PT2_MODEL },
};

static bool pt2_ends(struct mpk_span s, const char *suffix)
{
	size_t len = strlen(suffix);

	return s.len >= len && memcmp(s.data + s.len - len, suffix, len) == 0;
}

/* Returns the word in a member, without white space at its end. */
static struct mpk_span pt2_word_of(struct mpk_span bytes, const struct mpk_zip_member *m,
				   struct mpk_arena *arena)
{
	uint8_t head[WORD_BYTES];
	size_t len = mpk_zip_head(bytes, m, head, sizeof head);
	const char *copy;

	while (len && head[len - 1] <= ' ')
		len--;
	copy = mpk_arena_copy(arena, head, len);
	return copy ? mpk_span_of(copy, len) : (struct mpk_span){ 0 };
}

/* Finds "archive_format" at the top or in the only folder there; the path before it is the root. */
static bool find_root(struct mpk_span bytes, const struct mpk_zip_member *members, size_t count,
		      struct mpk_arena *arena, struct mpk_span *root)
{
	static const char name[] = "archive_format";
	const size_t len = sizeof name - 1;

	for (size_t i = 0; i < count; i++) {
		struct mpk_span m = members[i].name;
		const uint8_t *slash = m.len ? memchr(m.data, '/', m.len) : NULL;
		size_t at = slash ? (size_t)(slash - m.data) + 1 : 0;

		if (m.len != at + len || memcmp(m.data + at, name, len) != 0 ||
		    !mpk_span_is(pt2_word_of(bytes, &members[i], arena), "pt2"))
			continue;
		*root = mpk_span_of(m.data, at);
		return true;
	}
	return false;
}

static enum mpk_pt2_role pt2_role_of(struct mpk_span path)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(folders); i++) {
		if (!mpk_span_starts(path, folders[i].folder))
			continue;
		/* documents beside weights contain their names */
		return folders[i].role <= MPK_PT2_CONSTANT && pt2_ends(path, ".json")
			       ? MPK_PT2_OTHER
			       : folders[i].role;
	}
	return MPK_PT2_OTHER;
}

/* --- names of weights ----------------------------------------------------------------------- */

struct naming {
	struct mpk_pt2 *pt2;
	struct mpk_strmap members; /* parts by their paths below the root */
	struct mpk_arena *arena;
	uint64_t left; /* bytes to which documents may still decompress */
};

static void naming_fini(struct naming *n)
{
	mpk_strmap_fini(&n->members);
}

/* Sets the name of "weight_0" in the folder of the document. */
static enum mpk_code give_name(struct naming *n, struct mpk_span folder, struct mpk_json_value key,
			       struct mpk_json_value file, struct mpk_error *err)
{
	const char *name, *path;
	size_t part;

	MPK_TRY(mpk_json_value_text(key, n->arena, &name, err));
	MPK_TRY(mpk_json_value_text(file, n->arena, &path, err));
	if (!name || !path)
		return MPK_OK;
	path = mpk_arena_printf(n->arena, "%.*s%s", (int)folder.len, (const char *)folder.data,
				path);
	MPK_TRY_ALLOC(path, err);
	if (mpk_strmap_find(&n->members, mpk_span_str(path), &part))
		n->pt2->parts[part].name = mpk_span_str(name);
	return MPK_OK;
}

/* A document that does not read has no names; the error is left to the reader of the whole archive. */
static enum mpk_code read_names(struct naming *n, struct mpk_span bytes,
				const struct mpk_zip_member *m, struct mpk_span path,
				struct mpk_error *err)
{
	const struct mpk_zip_options options = { .space = "file", .advice = "unpack it" };
	const uint8_t *slash = memrchr(path.data, '/', path.len);
	struct mpk_span text;
	enum mpk_code code;

	if (m->plain > n->left)
		return MPK_OK;
	n->left -= m->plain;
	code = mpk_zip_read(bytes, m, &options, n->arena, &text, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;

	/* {"config": {"fc.weight": {"path_name": "weight_0", ...}}}; without "config" the names are members
	 * of the document itself, and a value may be the name of a file. */
	struct mpk_span folder = mpk_span_of(path.data, (size_t)(slash - path.data) + 1);
	struct mpk_json_value root, config, value;
	struct mpk_json_items items;

	if (mpk_json_read(text, &root, NULL) != MPK_OK)
		return MPK_OK;
	config = mpk_json_value_get(root, "config");
	items = mpk_json_items(mpk_json_value_type(config) == MPK_JSON_OBJECT ? config : root);
	while (items.in_object && mpk_json_next(&items, &value)) {
		struct mpk_json_value file = mpk_json_value_type(value) == MPK_JSON_OBJECT
						     ? mpk_json_value_get(value, "path_name")
						     : value;

		if (mpk_json_value_type(file) == MPK_JSON_STRING)
			MPK_TRY(give_name(n, folder, items.key, file, err));
	}
	return MPK_OK;
}

static bool is_config(struct mpk_span path)
{
	return pt2_ends(path, "_config.json") && (mpk_span_starts(path, folders[0].folder) ||
						  mpk_span_starts(path, folders[1].folder));
}

/* --- the package ---------------------------------------------------------------------------- */

static struct mpk_span below_root(const struct mpk_pt2 *p, struct mpk_span name)
{
	bool is_below = name.len >= p->root.len && p->root.len &&
			memcmp(name.data, p->root.data, p->root.len) == 0;

	return is_below ? mpk_span_of(name.data + p->root.len, name.len - p->root.len) : name;
}

static enum mpk_code list_parts(struct naming *n, struct mpk_span bytes,
				const struct mpk_zip_member *members, size_t count,
				struct mpk_error *err)
{
	struct mpk_pt2 *p = n->pt2;

	for (size_t i = 0; i < count; i++) {
		const struct mpk_zip_member *m = &members[i];
		struct mpk_span path = below_root(p, m->name);

		if (!path.len || path.data[path.len - 1] == '/')
			continue;
		MPK_TRY_ALLOC(mpk_strmap_put(&n->members, path, p->count, NULL) >= 0, err);
		p->parts[p->count++] = (struct mpk_pt2_part){ .role = pt2_role_of(path),
							      .member = m->name,
							      .bytes = m->plain };
		/* if the archive has both, the second is the version of the container */
		if (mpk_span_is(path, "archive_version") ||
		    (mpk_span_is(path, ".data/version") && !p->version.len))
			p->version = pt2_word_of(bytes, m, n->arena);
	}
	return MPK_OK;
}

enum mpk_code mpk_pt2_read(struct mpk_span bytes, const struct mpk_zip_member *members,
			   size_t count, struct mpk_arena *arena, bool *is, struct mpk_pt2 *out,
			   struct mpk_error *err)
{
	struct mpk_pt2 p = { 0 };
	MPK_CLEANUP(naming_fini)
	struct naming n = { .pt2 = &p, .arena = arena, .left = CONFIGS_LEAST + bytes.len };

	*is = find_root(bytes, members, count, arena, &p.root);
	if (!*is)
		return MPK_OK;
	MPK_TRY_ARRAY(p.parts, arena, count, err);
	MPK_TRY(list_parts(&n, bytes, members, count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_span path = below_root(&p, members[i].name);

		if (is_config(path))
			MPK_TRY(read_names(&n, bytes, &members[i], path, err));
	}
	*out = p;
	return MPK_OK;
}

const char *const mpk_pt2_role_words[MPK_PT2_ROLES] = {
	[MPK_PT2_WEIGHT] = "weight",     [MPK_PT2_CONSTANT] = "constant", [MPK_PT2_MODEL] = "model",
	[MPK_PT2_ARTIFACT] = "artifact", [MPK_PT2_SAMPLE] = "sample",     [MPK_PT2_OTHER] = "other",
};
