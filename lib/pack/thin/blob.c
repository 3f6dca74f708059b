/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - thins modules of a TVM library whose code is a fatbin or an offload bundle
 *
 * The blob is read and written again with less code, at its old address; its kernel tables stay.
 * This is correct only if writing the unchanged tree gives exactly the bytes that were read, which
 * is checked first. */
#include "base/vec.h"
#include "elf/image.h"
#include "fatbin/fatbin.h"
#include "kernels/kernels.h"
#include "kinds.h"
#include "offload/offload.h"
#include "thin/internal/thin.h"

struct blob {
	struct mpk_thin *thin;
	struct mpk_image image;
	struct mpk_tree tree;
	bool changed;
	struct mpk_error *err;
};

/* PTX or a single cubin is all the code of its module, so it stays. */
static enum mpk_code note_image(const struct blob *b, struct mpk_span code)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	size_t count;

	if (mpk_code_targets(code, &scratch, &targets, &count, NULL) != MPK_OK)
		return mpk_memory_check(b->err);
	bool *kept = mpk_arena_array(&scratch, count + 1, sizeof *kept);

	MPK_TRY_ALLOC(kept, b->err);
	for (size_t i = 0; i < count; i++)
		(void)mpk_thin_keeps(b->thin, &targets[i]);
	return mpk_thin_keep_devices(b->thin, targets, kept, count, b->err);
}

/* Kinds that store each kernel separately have no containers. */
static enum mpk_code thin_node(struct blob *b, size_t index)
{
	struct mpk_node *n = &b->tree.nodes[index];
	const struct mpk_kind *kind = mpk_kind_find(n->kind);
	struct mpk_thin_container c = { 0 };
	struct mpk_arena *arena = b->thin->arena;
	struct mpk_kernels *k;
	struct mpk_rope *code, *payload;
	char where[80];

	if (n->is_lib || !kind || kind->role != MPK_ROLE_DEVICE)
		return MPK_OK;
	k = mpk_arena_alloc(arena, sizeof *k);
	code = mpk_arena_alloc(arena, sizeof *code);
	payload = mpk_arena_alloc(arena, sizeof *payload);
	MPK_TRY_ALLOC(k && code && payload, b->err);

	struct mpk_cursor at = mpk_cursor_of(n->payload, n->payload_off, "blob");

	MPK_TRY(mpk_kernels_read(&at, n->kind, b->tree.gen, arena, k, b->err));
	if (k->layout != MPK_KERNELS_PLAIN)
		return MPK_OK;
	if (!mpk_thin_is_container(k->data))
		return note_image(b, k->data);
	b->thin->report->containers++;
	c.bytes = k->data;
	MPK_TRY(mpk_thin_container(b->thin, &c, mpk_tree_path(&b->tree, index, where, sizeof where),
				   b->err));
	if (!c.changed)
		return MPK_OK;
	b->changed = true;
	*code = c.content;
	*payload = mpk_rope_of(arena);
	k->content = code;
	mpk_kernels_write(k, payload);
	n->content = payload;
	return mpk_rope_status(payload, b->err);
}

static enum mpk_code check_faithful(const struct blob *b, struct mpk_span old)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope rope = mpk_rope_of(&scratch);
	bool same = !b->tree.truncated && !b->tree.implied_lib;

	if (same)
		MPK_TRY(mpk_blob_write(&b->tree, &rope, b->err));
	if (same && mpk_rope_equals(&rope, old))
		return MPK_OK;
	return mpk_fail(b->err, MPK_E_UNSUPPORTED,
			"its blob is not laid out as TVM writes it; build it anew");
}

/* A damaged blob must not get a note with a valid digest. */
static enum mpk_code renew_note(const struct blob *b, struct mpk_span old,
				const struct mpk_rope *content, struct mpk_thin_patches *out)
{
	const struct mpk_note *note = &b->image.note;
	struct mpk_rope before = mpk_rope_of(b->thin->arena);
	uint8_t digest[MPK_DIGEST_BYTES];
	char text[MPK_DIGEST_TEXT];

	if (!note->name)
		return MPK_OK;
	mpk_rope_put_view(&before, old);
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, &before, NULL, digest, b->err));
	MPK_TRY(mpk_note_compare(note, digest, b->err));
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, content, NULL, digest, b->err));
	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	for (size_t i = 0; note->digits_off && i < 2 * (size_t)MPK_XXH128_BYTES; i++)
		MPK_TRY(mpk_thin_patch_add(out, note->digits_off + i, (uint8_t)text[i], 1, b->err));
	for (size_t i = 0; note->id_off && i < MPK_NOTE_ID_HALF; i++)
		MPK_TRY(mpk_thin_patch_add(out, note->id_off + i, digest[i], 1, b->err));
	return MPK_OK;
}

enum mpk_code mpk_thin_blob(struct mpk_thin *t, struct mpk_span file, struct mpk_thin_blob *out,
			    struct mpk_thin_patches *patches, struct mpk_error *err)
{
	struct blob b = { .thin = t, .err = err };
	struct mpk_span old;

	*out = (struct mpk_thin_blob){ .content = mpk_rope_of(t->arena) };
	MPK_TRY(mpk_image_open(file, NULL, t->arena, &b.image, err));
	if (!b.image.has_blob || b.image.is_packed || b.image.container != MPK_CONTAINER_ELF_SO)
		return MPK_OK;
	MPK_TRY(mpk_blob_read(b.image.blob, b.image.gen, t->arena, &b.tree, err));
	if (!mpk_span_sub(b.image.blob, 0, b.tree.nbytes + 8, &old))
		return MPK_OK;
	for (size_t i = 0; i < b.tree.count; i++)
		MPK_TRY(thin_node(&b, i));
	if (!b.changed)
		return MPK_OK;
	if (b.image.standalone)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this library loads its kernels itself, from positions in its blob that its code knows: build it anew from its manifest");

	struct mpk_tree thinned = b.tree;

	b.tree.nodes =
		mpk_arena_keep(t->arena, thinned.nodes, thinned.count, sizeof *thinned.nodes);
	MPK_TRY_ALLOC(b.tree.nodes, err);
	for (size_t i = 0; i < b.tree.count; i++)
		b.tree.nodes[i].content = NULL;
	MPK_TRY(check_faithful(&b, old));
	MPK_TRY(mpk_blob_write(&thinned, &out->content, err));
	MPK_TRY(mpk_rope_status(&out->content, err));
	out->old = old;
	out->changed = true;
	return renew_note(&b, old, &out->content, patches);
}
