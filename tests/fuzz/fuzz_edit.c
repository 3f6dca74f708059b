/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_edit - a library or blob in which the payload of a module is replaced, as mpack edit does: the
 * result opens, holds the new blob, and verifies when the input did
 *
 * The first byte chooses how the new payload comes about, the second the module. */
#include <string.h>

#include "view.h"

#include "elf/edit.h"
#include "package/package.h"
#include "trust/origin.h"
#include "verify/verify.h"

enum { GROWTH = 4096 };

struct edit {
	struct mpk_arena *arena;
	struct mpk_span bytes; /* of the input */
	struct fuzz_file file;
	struct mpk_rope blob; /* the new one */
};

static bool is_faithful(struct edit *e)
{
	struct mpk_rope rope = mpk_rope_of(e->arena);
	struct mpk_span old;

	return !e->file.tree.truncated && !e->file.tree.implied_lib &&
	       mpk_span_sub(e->file.image.blob, 0, e->file.tree.nbytes + 8, &old) &&
	       mpk_blob_write(&e->file.tree, &rope, NULL) == MPK_OK && mpk_rope_equals(&rope, old);
}

/* As long as the old one, shorter, or longer; its bytes changed or not. */
static struct mpk_span new_payload(struct edit *e, uint8_t how, const struct mpk_node *node)
{
	size_t old = node->payload.len, len = how & 1 ? old : how & 2 ? old / 2 : old + GROWTH;
	uint8_t *made = mpk_arena_alloc(e->arena, len + 1);

	if (!made)
		return (struct mpk_span){ 0 };
	memcpy(made, node->payload.data, old < len ? old : len);
	if (how & 4 && len)
		made[len / 2] ^= 1;
	return mpk_span_of(made, len);
}

static bool swap(struct edit *e, uint8_t how, uint8_t which)
{
	struct mpk_swap s = { .tree = &e->file.tree, .arena = e->arena };
	size_t index = which % e->file.tree.count;
	struct mpk_mapping map = { .fd = -1 };
	char path[64];

	mpk_tree_path(&e->file.tree, index, path, sizeof path);
	map.bytes = new_payload(e, how, &e->file.tree.nodes[index]);
	e->blob = mpk_rope_of(e->arena);
	return mpk_swap_payload(&s, path, &map, "new", NULL) == MPK_OK &&
	       mpk_blob_write(&e->file.tree, &e->blob, NULL) == MPK_OK &&
	       mpk_rope_status(&e->blob, NULL) == MPK_OK;
}

/* The new file; an empty span where the edit is refused. */
static struct mpk_span write_library(struct edit *e)
{
	const struct mpk_image *image = &e->file.image;
	struct mpk_rope out = mpk_rope_of(e->arena);
	uint8_t *copy = mpk_arena_alloc(e->arena, e->bytes.len);
	struct mpk_span flat = { 0 };
	struct mpk_private file;
	bool had;

	if (!copy)
		return flat;
	memcpy(copy, e->bytes.data, e->bytes.len);
	file = (struct mpk_private){ .data = copy,
				     .len = e->bytes.len,
				     .keep_off = (size_t)(image->blob.data - e->bytes.data),
				     .keep_len = image->blob.len };
	if (mpk_origin_void(&file, &had, NULL) == MPK_OK &&
	    mpk_elf_replace(&file, image->blob_symbol, &e->blob, e->arena, &out, NULL) == MPK_OK)
		FUZZ_REQUIRE(mpk_rope_flat(&out, &flat, NULL) == MPK_OK);
	/* in a program this is memory that cannot be written to */
	FUZZ_REQUIRE(memcmp(copy + file.keep_off, image->blob.data, file.keep_len) == 0);
	return flat;
}

static bool verifies(struct edit *e, const struct fuzz_file *file)
{
	struct mpk_report report = { 0 };
	bool sound = mpk_verify_run(&file->view, NULL, e->arena, &report, NULL) == MPK_OK &&
		     !report.failed && report.errors == 0;

	mpk_report_fini(&report);
	return sound;
}

static void judge(struct edit *e, struct mpk_span made, bool was_sound)
{
	struct fuzz_file again;
	struct mpk_span blob;

	FUZZ_REQUIRE(fuzz_file_open(made, e->arena, &again));
	FUZZ_REQUIRE(again.image.has_blob && again.image.blob.len >= e->blob.len);
	FUZZ_REQUIRE(mpk_span_sub(again.image.blob, 0, e->blob.len, &blob) &&
		     mpk_rope_equals(&e->blob, blob));
	FUZZ_REQUIRE(!was_sound || verifies(e, &again));
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span rest = bytes, head = fuzz_take(&rest, 2);
	struct edit e = { .arena = arena, .bytes = rest };
	bool was_sound, is_library;
	struct mpk_span made;

	if (head.len < 2 || !fuzz_file_open(rest, arena, &e.file) || !e.file.image.has_blob ||
	    e.file.image.standalone)
		return;
	is_library = e.file.image.container == MPK_CONTAINER_ELF_SO;
	if ((!is_library && e.file.image.container != MPK_CONTAINER_BLOB) || !is_faithful(&e))
		return;
	/* without other bytes in the payload, what was whole stays whole */
	was_sound = (head.data[0] & 5) == 1 && verifies(&e, &e.file);
	if (!swap(&e, head.data[0], head.data[1]))
		return;
	if (is_library)
		made = write_library(&e);
	else
		FUZZ_REQUIRE(mpk_rope_flat(&e.blob, &made, NULL) == MPK_OK);
	if (made.len)
		judge(&e, made, was_sound);
}
