/* SPDX-License-Identifier: Apache-2.0 */
/* container.c - thins one container of device code
 *
 * Unchanged images are written directly from the file, so gigabytes of them need only a list in
 * memory. An image that is decompressed, to be read or to remove its debug sections, is freed
 * before the next one. An unreadable container is refused. */
#include <stdio.h>
#include <string.h>

#include "base/account.h"
#include "code/info.h"
#include "cubin/cubin.h"
#include "elf/image.h"
#include "fatbin/fatbin.h"
#include "offload/offload.h"
#include "text/escape.h"
#include "thin/internal/thin.h"

#define SECTION "__CLANG_OFFLOAD_BUNDLE__"

/* Compression levels of zstd and zlib for bundles: the usual one, and the highest, which is used if
 * the result would be larger than the original bundle. */
enum { LEVEL_USUAL = 6, LEVEL_LAST_ZLIB = 9, LEVEL_LAST_ZSTD = 19 };

/* A container whose images are listed. */
struct listed {
	const struct mpk_code_target *targets;
	bool *kept; /* for each target */
	size_t count, kept_count;
};

/* @is_linked  it is input of a linker, in an object or an archive */
static enum mpk_code list_images(struct mpk_thin *t, struct mpk_span bytes, bool is_linked,
				 struct mpk_arena *arena, struct listed *out, struct mpk_error *err)
{
	struct listed l = { 0 };

	MPK_TRY(mpk_code_targets(bytes, arena, &l.targets, &l.count, err));
	MPK_TRY_ARRAY(l.kept, arena, l.count + 1, err);
	for (size_t i = 0; i < l.count; i++)
		l.kept[i] = mpk_thin_keeps(t, &l.targets[i]);
	MPK_TRY(mpk_thin_keep_devices(t, l.targets, l.kept, l.count, err));
	if (is_linked)
		mpk_thin_keep_links(t, l.targets, l.kept, l.count);
	for (size_t i = 0; i < l.count; i++) {
		l.kept_count += l.kept[i];
		t->report->images++;
		if (l.kept[i])
			continue;
		t->report->dropped++;
		t->report->dropped_bytes += l.targets[i].bytes;
	}
	*out = l;
	return MPK_OK;
}

/* Records a container that had code for a kept architecture and has none now.
 * @kept    for each target, whether it is kept */
static enum mpk_code compare_kept(struct mpk_thin *t, const char *where,
				  const struct mpk_code_target *targets, const bool *kept,
				  size_t count, struct mpk_error *err)
{
	for (size_t w = 0; w < t->o->keep_count; w++) {
		struct mpk_thin_choice choice;
		char what[96];

		MPK_TRY(mpk_thin_choose(t->o->keep[w], targets, kept, count, &choice, err));
		if (choice.before == count || choice.after < count)
			continue;
		(void)snprintf(what, sizeof what, "%s %s alone", targets[choice.before].name,
			       targets[choice.before].what ? targets[choice.before].what : "code");
		mpk_thin_miss(t, where, t->o->keep[w], what);
	}
	return MPK_OK;
}

/* --- kernels of two images ------------------------------------------------------------------- */

static enum mpk_code read_entry(const struct mpk_fatbin_entry *e, struct mpk_arena *arena,
				struct mpk_code_info *out, struct mpk_error *err)
{
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	struct mpk_span plain;

	enum mpk_code code = mpk_fatbin_unpack(e, &left, NULL, arena, &plain, err);

	if (code == MPK_E_UNSUPPORTED) { /* The image is too large to be read. */
		out->problem = err;
		return MPK_OK;
	}
	MPK_TRY(code);
	return mpk_code_info_read(plain, 0, NULL, arena, out, err);
}

/* If a device would get another image than before, that image must have the same kernels.
 * Unreadable images are not compared. */
static enum mpk_code compare_kernels(struct mpk_thin *t, const char *where, struct mpk_span word,
				     const struct mpk_fatbin_entry *before,
				     const struct mpk_fatbin_entry *after, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_code_info old = { 0 }, now = { 0 };

	MPK_TRY(read_entry(before, &scratch, &old, err));
	MPK_TRY(read_entry(after, &scratch, &now, err));
	for (size_t i = 0; !old.problem && i < old.kernel_count; i++) {
		char what[160], name[96];

		if (mpk_code_info_defines(&now, old.kernels[i].name) != MPK_CODE_MISSING)
			continue;
		(void)snprintf(what, sizeof what, "kernel '%s' in an image that is dropped alone",
			       mpk_escape_to(old.kernels[i].name, name, sizeof name));
		mpk_thin_miss(t, where, word, what);
		break;
	}
	return MPK_OK;
}

static enum mpk_code compare_fatbin(struct mpk_thin *t, const char *where, bool is_relocatable,
				    const struct mpk_fatbin *f, const struct listed *l,
				    struct mpk_error *err)
{
	MPK_TRY(compare_kept(t, where, l->targets, l->kept, l->count, err));
	for (size_t w = 0; w < t->o->keep_count; w++) {
		struct mpk_thin_choice c;

		size_t lost =
			is_relocatable && t->report->is_input
				? mpk_thin_lost_link(t->o->keep[w], l->targets, l->kept, l->count)
				: l->count;

		if (lost < l->count) {
			char what[64];

			(void)snprintf(what, sizeof what, "%s LTO IR alone", l->targets[lost].name);
			mpk_thin_miss(t, where, t->o->keep[w], what);
		}
		MPK_TRY(mpk_thin_choose(t->o->keep[w], l->targets, l->kept, l->count, &c, err));
		if (c.after < l->count && !is_relocatable)
			t->served |= UINT64_C(1) << w % 64;
		if (c.before == l->count || c.after == l->count || c.before == c.after)
			continue;
		MPK_TRY(compare_kernels(t, where, t->o->keep[w], &f->entries[c.before],
					&f->entries[c.after], err));
	}
	return MPK_OK;
}

/* --- fatbins ---------------------------------------------------------------------------------- */

/* Removes the debug sections of a cubin, and compresses it as before. */
static enum mpk_code put_stripped(struct mpk_thin *t, const struct mpk_fatbin_entry *e,
				  struct mpk_rope *out, bool *done, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope plain = mpk_rope_of(&scratch), image = mpk_rope_of(t->arena);
	bool stored = e->packing == MPK_FATBIN_STORED;
	uint64_t left = MPK_FATBIN_TOTAL_MAX, dropped;
	struct mpk_span cubin, flat;

	*done = false;
	MPK_TRY(mpk_fatbin_unpack(e, &left, NULL, &scratch, &cubin, err));
	MPK_TRY(mpk_cubin_strip(cubin, stored ? &image : &plain, &dropped, err));
	if (!dropped)
		return MPK_OK;
	if (!stored) {
		/* memory for the decompressed image, and for compressing it again */
		MPK_TRY(mpk_account_has(2 * plain.len, err));
		MPK_TRY(mpk_rope_flat(&plain, &flat, err));
		MPK_TRY(mpk_fatbin_pack(flat, e->packing, false, t->arena, &cubin, err));
		mpk_rope_put_view(&image, cubin);
	}
	t->report->debug_bytes += dropped;
	*done = true;
	return mpk_fatbin_put_image(out, e, &image, e->packing, stored ? image.len : flat.len,
				    false, err);
}

/* Compresses only if that saves something. */
static enum mpk_code put_packed(struct mpk_thin *t, const struct mpk_fatbin_entry *e,
				struct mpk_rope *out, bool *done, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope stripped = mpk_rope_of(&scratch), image = mpk_rope_of(t->arena);
	struct mpk_span plain = e->data, packed;
	uint64_t dropped = 0;

	*done = false;
	if (t->o->drop_debug && e->kind == MPK_FATBIN_ELF)
		MPK_TRY(mpk_cubin_strip(e->data, &stripped, &dropped, err));
	if (dropped)
		MPK_TRY(mpk_rope_flat(&stripped, &plain, err));
	MPK_TRY(mpk_fatbin_pack(plain, MPK_FATBIN_ZSTD, false, t->arena, &packed, err));
	if (packed.len >= plain.len)
		return MPK_OK;
	mpk_rope_put_view(&image, packed);
	t->report->debug_bytes += dropped;
	*done = true;
	return mpk_fatbin_put_image(out, e, &image, MPK_FATBIN_ZSTD, plain.len,
				    e->debug && !dropped, err);
}

static enum mpk_code thin_put_entry(struct mpk_thin *t, const struct mpk_fatbin_entry *e,
				    struct mpk_rope *out, bool *changed, struct mpk_error *err)
{
	bool done = false;

	if (t->o->compress && e->packing == MPK_FATBIN_STORED && e->data.len &&
	    (e->kind == MPK_FATBIN_ELF || e->kind == MPK_FATBIN_PTX))
		MPK_TRY(put_packed(t, e, out, &done, err));
	if (!done && t->o->drop_debug && e->kind == MPK_FATBIN_ELF)
		MPK_TRY(put_stripped(t, e, out, &done, err));
	*changed |= done;
	if (!done)
		mpk_rope_put_view(out, e->whole);
	return mpk_rope_status(out, err);
}

/* Images that were compressed together stay together, except those that are removed.
 * @count   receives the number of entries */
static enum mpk_code put_together(struct mpk_thin *t, const struct mpk_fatbin_entry *e, size_t left,
				  const bool *kept, size_t *count, struct mpk_rope *out,
				  bool *changed, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	uint64_t room = MPK_FATBIN_TOTAL_MAX, dropped = 0;
	const struct mpk_fatbin_entry **list;
	struct mpk_fatbin_unpacked last = { 0 };
	struct mpk_span *images;
	bool *debug, is_same = true;
	size_t n = 0;

	for (*count = 0; *count < left && e[*count].piece.data == e->piece.data; ++*count)
		is_same &= kept[*count];
	if (is_same && !t->o->drop_debug) {
		mpk_rope_put_view(out, e->piece);
		return mpk_rope_status(out, err);
	}
	list = mpk_arena_array(&scratch, *count, sizeof(void *));
	images = mpk_arena_array(&scratch, *count, sizeof *images);
	debug = mpk_arena_array(&scratch, *count, sizeof *debug);
	MPK_TRY_ALLOC(list && images && debug, err);
	for (size_t i = 0; i < *count; i++) {
		struct mpk_rope stripped = mpk_rope_of(&scratch);
		uint64_t bytes = 0;

		if (!kept[i])
			continue;
		list[n] = &e[i];
		debug[n] = e[i].debug;
		MPK_TRY(mpk_fatbin_unpack(&e[i], &room, &last, &scratch, &images[n], err));
		if (t->o->drop_debug && e[i].kind == MPK_FATBIN_ELF)
			MPK_TRY(mpk_cubin_strip(images[n], &stripped, &bytes, err));
		if (bytes) {
			MPK_TRY(mpk_rope_flat(&stripped, &images[n], err));
			debug[n] = false;
		}
		dropped += bytes;
		n++;
	}
	if (is_same && !dropped) {
		mpk_rope_put_view(out, e->piece);
		return mpk_rope_status(out, err);
	}
	*changed = true;
	t->report->debug_bytes += dropped;
	return n ? mpk_fatbin_put_together(out, list, images, debug, n, err) : MPK_OK;
}

static enum mpk_code thin_fatbin(struct mpk_thin *t, struct mpk_thin_container *c,
				 const char *where, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope entries = mpk_rope_of(t->arena);
	struct mpk_fatbin f;
	struct listed l;

	MPK_TRY(mpk_fatbin_read(c->bytes, &scratch, &f, err));
	MPK_TRY(list_images(t, c->bytes, c->is_relocatable && t->report->is_input, &scratch, &l,
			    err));
	MPK_TRY(compare_fatbin(t, where, c->is_relocatable, &f, &l, err));
	c->changed = l.kept_count < l.count;
	for (size_t i = 0, n = 1; i < f.entry_count; i += n, n = 1)
		if (f.entries[i].piece_bytes)
			MPK_TRY(put_together(t, &f.entries[i], f.entry_count - i, &l.kept[i], &n,
					     &entries, &c->changed, err));
		else if (l.kept[i])
			MPK_TRY(thin_put_entry(t, &f.entries[i], &entries, &c->changed, err));
	mpk_fatbin_put_header(&c->content, entries.len);
	mpk_rope_put_rope(&c->content, &entries);
	return mpk_rope_status(&c->content, err);
}

/* Host code points to the container, and the runtime passes it to the driver, so it stays, without
 * images. */
static enum mpk_code empty_fatbin(struct mpk_thin *t, struct mpk_thin_container *c,
				  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	size_t count;

	MPK_TRY(mpk_code_targets(c->bytes, &scratch, &targets, &count, err));
	for (size_t i = 0; i < count; i++) {
		(void)mpk_thin_keeps(t, &targets[i]);
		t->report->dropped_bytes += targets[i].bytes;
	}
	for (size_t w = 0; w < t->o->keep_count; w++) {
		struct mpk_thin_choice choice;

		MPK_TRY(mpk_thin_choose(t->o->keep[w], targets, NULL, count, &choice, err));
		if (choice.before < count)
			t->unlinked |= UINT64_C(1) << w % 64;
	}
	t->report->images += count;
	t->report->dropped += count;
	c->changed = count > 0;
	mpk_fatbin_put_header(&c->content, 0);
	return mpk_rope_status(&c->content, err);
}

/* --- bundles ---------------------------------------------------------------------------------- */

/* Host entries have no target: their code is not in the bundle. */
static enum mpk_code put_bundle(struct mpk_thin *t, struct mpk_span bytes, const char *where,
				struct mpk_rope *out, bool *changed, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_offload bundle;
	struct listed l;
	size_t k = 0;
	bool *keep;

	MPK_TRY(mpk_offload_read(bytes, &scratch, &bundle, err));
	MPK_TRY(list_images(t, bytes, false, &scratch, &l, err));
	MPK_TRY(compare_kept(t, where, l.targets, l.kept, l.count, err));
	MPK_TRY_ARRAY(keep, &scratch, bundle.entry_count + 1, err);
	for (size_t i = 0; i < bundle.entry_count; i++)
		keep[i] = bundle.entries[i].is_host || l.kept[k++];
	*changed = l.kept_count < l.count;
	return mpk_offload_put_bundle(out, bundle.entries, keep, bundle.entry_count, err);
}

static enum mpk_code thin_packed(struct mpk_thin *t, struct mpk_thin_container *c,
				 const char *where, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope rope = mpk_rope_of(&scratch);
	struct mpk_offload_packed p;
	struct mpk_span bundle, packed;
	bool zstd;

	MPK_TRY(mpk_offload_read_packed(c->bytes, &p, err));
	MPK_TRY(mpk_offload_unpack(&p, SIZE_MAX, &scratch, &bundle, err));
	MPK_TRY(put_bundle(t, bundle, where, &rope, &c->changed, err));
	if (!c->changed)
		return MPK_OK;
	zstd = p.method == MPK_OFFLOAD_ZSTD;
	MPK_TRY(mpk_rope_flat(&rope, &bundle, err));
	MPK_TRY(mpk_offload_pack(&p, bundle, LEVEL_USUAL, t->arena, &packed, err));
	if (packed.len > c->bytes.len)
		MPK_TRY(mpk_offload_pack(&p, bundle, zstd ? LEVEL_LAST_ZSTD : LEVEL_LAST_ZLIB,
					 t->arena, &packed, err));
	mpk_rope_put_view(&c->content, packed);
	return mpk_rope_status(&c->content, err);
}

/* Thins a single image whose beginning and end are known to host code. The caller checks afterwards
 * whether each device still has an image. */
static enum mpk_code thin_binary(struct mpk_thin *t, struct mpk_thin_container *c,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct listed l;

	MPK_TRY(list_images(t, c->bytes, false, &scratch, &l, err));
	c->is_binary = true;
	c->changed = c->is_gone = l.count > 0 && !l.kept_count;
	return MPK_OK;
}

/* --- sections ------------------------------------------------------------------------------------
 *
 * Each of these sections is the code for one device, which is in its name. In an object Clang's
 * bundler looks for them by name, and a linker omits them: there the whole section is removed, with
 * its name. In a loadable file they come from SYCL: an image is removed together with its row in
 * the host's table (sycl.c). An image that no table lists stays: the runtime chooses an image by
 * the table before it looks at bytes, so it could still choose an emptied one. */

enum mpk_code mpk_thin_section_target(const char *name, struct mpk_span bytes,
				      struct mpk_arena *arena, const struct mpk_code_target **out,
				      struct mpk_error *err)
{
	struct mpk_offload_entry entry = { .data = bytes };
	struct mpk_code_target *t;

	*out = NULL;
	if (strncmp(name, SECTION, strlen(SECTION)) != 0)
		return MPK_OK;
	t = mpk_arena_alloc(arena, sizeof *t);
	MPK_TRY_ALLOC(t, err);
	*t = (struct mpk_code_target){ .bytes = bytes.len, .plain_bytes = bytes.len };
	mpk_offload_split_id(mpk_span_str(name + strlen(SECTION)), &entry);
	mpk_code_target_of_entry(&entry, t);
	*out = t;
	return MPK_OK;
}

static enum mpk_code is_kept(struct mpk_thin *t, const struct mpk_code_target *target, bool *kept,
			     struct mpk_error *err)
{
	*kept = mpk_thin_keeps(t, target);
	return mpk_thin_keep_devices(t, target, kept, 1, err);
}

static enum mpk_code thin_device(struct mpk_thin *t, struct mpk_thin_container *c,
				 struct mpk_error *err)
{
	bool kept;

	MPK_TRY(is_kept(t, c->target, &kept, err));
	t->report->images++;
	c->is_binary = true;
	c->changed = c->is_gone = !kept;
	if (kept)
		return MPK_OK;
	t->report->dropped++;
	t->report->dropped_bytes += c->bytes.len;
	return MPK_OK;
}

enum mpk_code mpk_thin_leave(struct mpk_thin *t, const struct mpk_code_target *target,
			     struct mpk_error *err)
{
	bool kept;

	MPK_TRY(is_kept(t, target, &kept, err));
	t->report->left += !kept;
	return MPK_OK;
}

/* --- among other data ----------------------------------------------------------------------------- */

static enum mpk_code see_found(struct mpk_thin *t, const struct mpk_image_device *d,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	size_t count, others = 0;
	enum mpk_code code = mpk_code_targets(d->bytes, &scratch, &targets, &count, NULL);

	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	for (size_t i = 0; i < count; i++) {
		bool kept;

		MPK_TRY(is_kept(t, &targets[i], &kept, err));
		others += !kept;
	}
	t->report->found += others > 0;
	return MPK_OK;
}

enum mpk_code mpk_thin_see_found(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_span blob, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image image = { .has_blob = blob.len > 0, .blob = blob };
	const struct mpk_image_device *devices;
	size_t count;

	MPK_TRY(mpk_elf_device_code(elf, &image, &scratch, &devices, &count, err));
	for (size_t i = 0; i < count; i++)
		if (devices[i].is_found)
			MPK_TRY(see_found(t, &devices[i], err));
	return MPK_OK;
}

bool mpk_thin_is_container(struct mpk_span bytes)
{
	return mpk_fatbin_is(bytes) || mpk_offload_is(bytes) || mpk_offload_is_packed(bytes);
}

/* --- any of them -------------------------------------------------------------------------------- */

/* Whether bytes are a bundle. */
static bool is_bundle(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "__CLANG_OFFLOAD_BUNDLE__");
}

enum mpk_code mpk_thin_container(struct mpk_thin *t, struct mpk_thin_container *c,
				 const char *where, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	c->content = mpk_rope_of(t->arena);
	if (c->target)
		code = thin_device(t, c, err);
	else if (mpk_fatbin_is(c->bytes))
		code = c->is_relocatable && t->o->drop_relocatable ? empty_fatbin(t, c, err)
								   : thin_fatbin(t, c, where, err);
	else if (mpk_offload_is_packed(c->bytes))
		code = thin_packed(t, c, where, err);
	else if (is_bundle(c->bytes))
		code = put_bundle(t, c->bytes, where, &c->content, &c->changed, err);
	else if (mpk_offload_is(c->bytes))
		code = thin_binary(t, c, err);
	if (code == MPK_OK && c->content.len > c->bytes.len)
		code = mpk_fail(err, MPK_E_UNSUPPORTED, "it would become larger");
	if (code != MPK_OK) {
		mpk_error_prefix(err, "%s: ", where);
		return code;
	}
	if (c->changed)
		return MPK_OK;
	c->content = mpk_rope_of(t->arena);
	mpk_rope_put_view(&c->content, c->bytes);
	return mpk_rope_status(&c->content, err);
}

/* --- what is missing afterwards ------------------------------------------------------------------- */

/* Each of Clang's offload binaries has one image, and a runtime looks for a fitting one among
 * all. */
static enum mpk_code compare_binaries(struct mpk_thin *t,
				      const struct mpk_thin_container *containers,
				      size_t container_count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_code_target *targets =
		mpk_arena_array(&scratch, container_count + 1, sizeof *targets);
	bool *kept = mpk_arena_array(&scratch, container_count + 1, sizeof *kept);
	size_t count = 0;

	MPK_TRY_ALLOC(targets && kept, err);
	for (size_t i = 0; i < container_count; i++) {
		const struct mpk_thin_container *c = &containers[i];
		const struct mpk_code_target *list;
		size_t n;

		if (!c->is_binary || c->is_registered)
			continue;
		list = c->target;
		n = list != NULL;
		if (!n)
			MPK_TRY(mpk_code_targets(c->bytes, &scratch, &list, &n, err));
		if (!n)
			continue;
		kept[count] = !c->is_gone;
		targets[count++] = list[0];
	}
	return compare_kept(t, "the offload binaries", targets, kept, count, err);
}

enum mpk_code mpk_thin_check_missing(struct mpk_thin *t,
				     const struct mpk_thin_container *containers, size_t count,
				     struct mpk_error *err)
{
	MPK_TRY(compare_binaries(t, containers, count, err));
	for (size_t w = 0; w < t->o->keep_count && w < MPK_THIN_USED_WORDS; w++)
		if ((t->unlinked & ~t->served) >> w & 1)
			mpk_thin_miss(t, MPK_THIN_RELOCATABLE, t->o->keep[w], "code");
	/* Reports what was recorded, if that is not allowed. */
	if (!t->missing_count || t->o->allow_missing)
		return mpk_strbuf_status(&t->missing, err);
	if (t->missing_count > MPK_THIN_MISSING_SHOWN)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"kernels would lose their code: %s, and %zu more; keep these, too, "
			"name the device with --device-arch instead, or say --allow-missing",
			mpk_strbuf_text(&t->missing), t->missing_count - MPK_THIN_MISSING_SHOWN);
	return mpk_fail(err, MPK_E_CONFLICT,
			"kernels would lose their code: %s; keep these, too, name the device with "
			"--device-arch instead, or say --allow-missing",
			mpk_strbuf_text(&t->missing));
}
