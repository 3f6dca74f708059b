/* SPDX-License-Identifier: Apache-2.0 */
/* offload.c - Clang's containers of device code, compressed or not, and single compressed images.
 * The format of an image comes from its bytes; the container names only a device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "base/compiler.h"
#include "base/num.h"
#include "code/format.h"
#include "code/info.h"
#include "code/show.h"
#include "offload/offload.h"
#include "text/escape.h"
#include "text/phrase.h"

/* Bytes of a compressed bundle that are decompressed to read its list of entries; some hundred are
 * enough. */
enum { HEAD_BYTES = 64 << 10 };

struct content {
	struct mpk_offload list;
	struct mpk_offload_packed packed;
	bool is_packed;
	bool is_frame; /* the compressed bytes are a single image, which the list describes */
};

static bool is_container(struct mpk_span bytes)
{
	return mpk_offload_is(bytes) || mpk_offload_is_packed(bytes);
}

static const char *offload_packing_of(const struct content *c)
{
	if (!c->is_packed)
		return "stored";
	return c->packed.method == MPK_OFFLOAD_ZLIB ? "zlib" : "zstd";
}

/* Returns the format of an image. The formats that compilers store there are named here, because
 * the table contains this row. */
static const struct mpk_code_format *offload_format_of(struct mpk_span bytes)
{
	static const struct mpk_code_format *const formats[] = {
		&mpk_format_cubin,   &mpk_format_hsaco,   &mpk_format_fatbin, &mpk_format_spirv,
		&mpk_format_bitcode, &mpk_format_archive, &mpk_format_ptx,    &mpk_format_elf
	};

	for (size_t i = 0; bytes.len && i < MPK_ARRAY_COUNT(formats); i++)
		if (mpk_code_has_sign(formats[i], bytes))
			return formats[i];
	return bytes.len ? &mpk_format_unknown : &mpk_format_empty;
}

/* --- reading -------------------------------------------------------------------------- */

/* A container inside a container is not opened: no compiler makes one, and the file would decide
 * the depth. */
static enum mpk_code offload_read_image(const struct mpk_offload_entry *e, bool placed,
					struct mpk_arena *arena, struct mpk_code_info *out,
					struct mpk_error *err)
{
	if (e->is_host || !e->data.len || is_container(e->data) || mpk_offload_is_frame(e->data))
		return MPK_OK;
	MPK_TRY(mpk_code_info_read_as(offload_format_of(out->bytes), arena, out, err));
	return out->problem && !placed ? mpk_code_info_unplace(out, arena, err) : MPK_OK;
}

static enum mpk_code list_frame(struct content *c, struct mpk_span image, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_offload_entry *e = mpk_arena_alloc(arena, sizeof *e);

	MPK_TRY_ALLOC(e, err);
	e->data = image;
	c->is_frame = true;
	c->list = (struct mpk_offload){ e, 1, image.len };
	return MPK_OK;
}

static enum mpk_code open_list(struct mpk_code_info *info, struct content *c,
			       struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_span bytes = info->bytes;

	if (mpk_offload_is_frame(bytes)) {
		struct mpk_span image;

		c->is_packed = true;
		MPK_TRY(mpk_offload_read_packed(info->bytes, &c->packed, err));
		MPK_TRY(mpk_offload_unpack(&c->packed, SIZE_MAX, arena, &image, err));
		return list_frame(c, image, arena, err);
	}
	c->is_packed = mpk_offload_is_packed(bytes);
	if (!c->is_packed)
		return mpk_offload_read(bytes, arena, &c->list, err);
	MPK_TRY(mpk_offload_read_packed(bytes, &c->packed, err));
	MPK_TRY(mpk_offload_unpack(&c->packed, SIZE_MAX, arena, &bytes, err));
	if (mpk_offload_read(bytes, arena, &c->list, err) == MPK_OK)
		return MPK_OK;
	if (err)
		err->at.has_offset =
			false; /* the offset is in decompressed bytes, not in the file */
	return err ? err->code : MPK_E_CORRUPT;
}

static enum mpk_code read_container(struct mpk_code_info *info, void *content,
				    struct mpk_arena *arena, struct mpk_error *err)
{
	struct content *c = content;
	struct mpk_code_info *images;
	bool broken = false;

	MPK_TRY(open_list(info, c, arena, err));
	MPK_TRY_ARRAY(images, arena, c->list.entry_count, err);
	for (size_t i = 0; i < c->list.entry_count; i++) {
		const struct mpk_offload_entry *e = &c->list.entries[i];

		images[i].bytes = e->data;
		images[i].off = info->off + (c->is_packed ? c->packed.data_off : e->data_off);
		MPK_TRY(offload_read_image(e, !c->is_packed, arena, &images[i], err));
		broken |= images[i].problem != NULL;
		if (!info->main_image && images[i].complete)
			info->main_image = &images[i];
	}
	if (broken)
		info->main_image = NULL;
	info->images = images;
	info->image_count = c->list.entry_count;
	return MPK_OK;
}

/* --- targets ------------------------------------------------------------------------ */

/* Names an image in two words, by its first bytes, or else by its target. */
static const char *what_is(const struct mpk_offload_entry *e)
{
	const struct mpk_code_format *f = offload_format_of(e->data);

	if (f == &mpk_format_bitcode)
		return "LLVM bitcode";
	if (f == &mpk_format_spirv)
		return "SPIR-V";
	if (f == &mpk_format_hsaco || mpk_span_starts(e->arch, "gfx"))
		return "code object";
	if (f == &mpk_format_cubin || mpk_span_starts(e->arch, "sm_"))
		return f == &mpk_format_ptx ? "PTX" : "cubin";
	return f->word ? f->word : "other";
}

void mpk_code_target_of_entry(const struct mpk_offload_entry *e, struct mpk_code_target *t)
{
	struct mpk_span name = e->arch.len ? e->arch : e->triple;
	struct mpk_amdgpu head;
	uint64_t sm;

	t->what = what_is(e);
	t->kind = strcmp(t->what, "LLVM bitcode") == 0 ? MPK_TARGET_LTO
		  : strcmp(t->what, "PTX") == 0        ? MPK_TARGET_PTX
		  : strcmp(t->what, "code object") == 0 || strcmp(t->what, "cubin") == 0
			  ? MPK_TARGET_BINARY
			  : MPK_TARGET_OTHER;
	t->too_new = mpk_amdgpu_is(e->data) &&
		     mpk_amdgpu_read_head(e->data, &head, NULL) == MPK_OK && !head.version;
	(void)mpk_escape_to(name, t->name, sizeof t->name);
	if (mpk_span_starts(e->arch, "sm_") &&
	    mpk_parse_u64(
		    mpk_span_of(e->arch.data + 3, strspn((const char *)t->name + 3, "0123456789")),
		    &sm) &&
	    sm < 10000)
		t->sm = (unsigned)sm;
}

static enum mpk_code list_targets(const struct mpk_offload *list, const uint64_t *sizes,
				  const char *packing, struct mpk_arena *arena,
				  struct mpk_code_target **out, size_t *count,
				  struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_array(arena, list->entry_count, sizeof *t);
	size_t n = 0;

	MPK_TRY_ALLOC(t, err);
	for (size_t i = 0; i < list->entry_count; i++) {
		if (list->entries[i].is_host)
			continue;
		mpk_code_target_of_entry(&list->entries[i], &t[n]);
		t[n].packing = packing;
		t[n].plain_bytes = sizes ? sizes[i] : list->entries[i].data.len;
		t[n].bytes = sizes ? 0 : t[n].plain_bytes;
		n++;
	}
	*out = t;
	*count = n;
	return MPK_OK;
}

/* All images are compressed together: each gets a share of the compressed bytes. */
static void offload_share(uint64_t packed, struct mpk_code_target *t, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += t[i].plain_bytes <= MPK_OFFLOAD_PLAIN_MAX ? t[i].plain_bytes : 0;
	for (size_t i = 0; i < count && sum; i++)
		if (t[i].plain_bytes <= MPK_OFFLOAD_PLAIN_MAX)
			t[i].bytes =
				(uint64_t)((double)packed * (double)t[i].plain_bytes / (double)sum);
}

static enum mpk_code frame_targets(struct mpk_span bytes, struct mpk_arena *arena,
				   struct mpk_code_target **out, size_t *count,
				   struct mpk_error *err)
{
	struct content c = { .is_packed = true };
	struct mpk_span head;

	MPK_TRY(mpk_offload_read_packed(bytes, &c.packed, err));
	MPK_TRY(mpk_offload_unpack(&c.packed, HEAD_BYTES, arena, &head, err));
	MPK_TRY(list_frame(&c, head, arena, err));
	MPK_TRY(list_targets(&c.list, &c.packed.plain_bytes, offload_packing_of(&c), arena, out,
			     count, err));
	(*out)->bytes = c.packed.data.len;
	return MPK_OK;
}

static enum mpk_code offload_targets(struct mpk_span bytes, struct mpk_arena *arena,
				     struct mpk_code_target **out, size_t *count,
				     struct mpk_error *err)
{
	struct mpk_offload list;

	if (mpk_offload_is_packed(bytes)) {
		struct content c = { .is_packed = true };
		const uint64_t *sizes;
		struct mpk_span head;

		MPK_TRY(mpk_offload_read_packed(bytes, &c.packed, err));
		MPK_TRY(mpk_offload_unpack(&c.packed, HEAD_BYTES, arena, &head, err));
		MPK_TRY(mpk_offload_list_head(head, arena, &c.list, &sizes, err));
		MPK_TRY(list_targets(&c.list, sizes, offload_packing_of(&c), arena, out, count,
				     err));
		offload_share(c.packed.data.len, *out, *count);
		return MPK_OK;
	}
	MPK_TRY(mpk_offload_read(bytes, arena, &list, err));
	return list_targets(&list, NULL, "stored", arena, out, count, err);
}

/* --- text --------------------------------------------------------------------------- */

static void offload_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct content *c = info->content;
	size_t shown = 0;

	if (c->is_frame) {
		mpk_strbuf_printf(out, "zstd frame: %s", what_is(c->list.entries));
		return;
	}

	mpk_strbuf_puts(out, c->is_packed ? "compressed offload bundle: " : "offload bundle: ");
	for (size_t i = 0; i < c->list.entry_count && shown < MPK_NAMES_SHOWN; i++) {
		const struct mpk_offload_entry *e = &c->list.entries[i];

		if (e->is_host)
			continue;
		mpk_strbuf_puts(out, shown++ ? ", " : "");
		mpk_escape(out, e->arch.len ? e->arch : e->triple);
		mpk_strbuf_printf(out, " %s", what_is(e));
	}
	mpk_put_more(out, c->list.entry_count);
	mpk_strbuf_puts(out, shown ? "" : "no images");
}

static void offload_put_part(struct mpk_span text, struct mpk_strbuf *out)
{
	mpk_escape(out, text);
	mpk_strbuf_puts(out, text.len ? " " : "");
}

static void offload_put_lines(const struct mpk_code_info *info, const char *indent,
			      struct mpk_strbuf *out)
{
	const struct content *c = info->content;

	if (c->is_packed)
		mpk_strbuf_printf(out, "%s  %s, %zu B of %" PRIu64 " B\n", indent,
				  offload_packing_of(c), c->packed.data.len, c->packed.plain_bytes);
	for (size_t i = 0; i < c->list.entry_count; i++) {
		const struct mpk_offload_entry *e = &c->list.entries[i];

		mpk_strbuf_printf(out, "%s  %zu: ", indent, i);
		offload_put_part(e->kind, out);
		offload_put_part(e->triple, out);
		offload_put_part(e->arch, out);
		mpk_strbuf_printf(out, "%s, %zu B", e->is_host ? "host" : what_is(e), e->data.len);
		if (info->images[i].problem)
			mpk_strbuf_printf(out, ", broken: %s", info->images[i].problem->text);
		mpk_strbuf_putc(out, '\n');
	}
}

static void offload_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct content *c = info->content;
	struct mpk_json_at *list = mpk_json_array(j, at, "bundle"), *o;

	for (size_t i = 0; i < c->list.entry_count; i++) {
		const struct mpk_offload_entry *e = &c->list.entries[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "offload_kind", e->kind);
		mpk_json_span(j, o, "triple", e->triple);
		mpk_json_span(j, o, "target", e->arch);
		mpk_json_text(j, o, "image", e->is_host ? "host" : what_is(e));
		mpk_json_text(j, o, "packing", offload_packing_of(c));
		mpk_json_u64(j, o, "plain_bytes", e->data.len);
		if (info->images[i].format)
			mpk_code_image_json(info, i, j, mpk_json_object(j, o, "code"));
	}
}

/* --- verification ------------------------------------------------------------------- */

/* Compares only the processor, because an entry need not name the features. */
static bool is_for(const struct mpk_code_info *image, const struct mpk_offload_entry *e)
{
	size_t len = strcspn(image->target, ":");

	return e->arch.len >= len && memcmp(image->target, e->arch.data, len) == 0 &&
	       (e->arch.len == len || e->arch.data[len] == ':');
}

/* The content of an image must match its entry, because loaders choose by the entry. */
static void verify_image(const struct mpk_code_info *image, const struct mpk_offload_entry *e,
			 size_t i, const struct mpk_code_verify *v)
{
	char what[32], target[48];

	(void)snprintf(what, sizeof what, "image %zu: ", i);
	if (e->is_host)
		return;
	if (is_container(e->data) || mpk_offload_is_frame(e->data))
		mpk_code_say(v, MPK_WARNING, image->off, "%sa container in a container", what);
	if (!e->data.len)
		mpk_code_say(v, MPK_WARNING, image->off, "%sit is empty", what);
	else if (image->problem)
		mpk_code_say_problem(v, image, what);
	else if (image->format == &mpk_format_hsaco && e->arch.len && !is_for(image, e))
		mpk_code_say(v, MPK_WARNING, image->off, "%sit is for %s, its entry says %s", what,
			     image->target, mpk_escape_to(e->arch, target, sizeof target));
	if (!image->problem && image->format == &mpk_format_hsaco)
		mpk_format_hsaco.verify(image, v);
}

static void offload_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct content *c = info->content;
	uint64_t used;

	if (info->problem) {
		mpk_code_say_problem(v, info, "");
		return;
	}
	for (size_t i = 0; i < c->list.entry_count; i++)
		verify_image(&info->images[i], &c->list.entries[i], i, v);
	used = c->is_packed ? c->packed.used : c->list.used;
	if (info->bytes.len > used)
		mpk_code_say(v, MPK_NOTE, info->off + used, "%" PRIu64 " bytes follow the bundle",
			     info->bytes.len - used);
}

/* A single image is verified by the check of its own format. */
static void verify_frame(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct content *c = info->content;
	const struct mpk_code_info *image = info->images;

	if (info->problem) {
		mpk_code_say_problem(v, info, "");
	} else if (image->problem) {
		mpk_code_say_problem(v, image, "unpacked: ");
	} else if (offload_format_of(c->list.entries->data) == &mpk_format_unknown ||
		   !image->format) {
		mpk_code_say(v, MPK_ERROR, info->off,
			     "unpacked, this is nothing that a device runs");
	} else if (image->format->verify) {
		image->format->verify(image, v);
	}
}

#define ABOUT                                                                                      \
	"an offload bundle is whole, its images what their entries say; a zstd frame unpacks to "  \
	"an image"
#define AMD_CLAIMS                                                                                 \
	{ "hip", "hsaco" }, { "hip", "hip" }, { "hsaco", "hsaco" }, { "hsaco", "hip" },            \
		{ "rocm", "hsaco" }

const struct mpk_code_format mpk_format_offload = {
	.word = "offload",
	.name = "an offload bundle",
	.is = is_container,
	.is_file = true,
	.verifies_broken = true,
	.claims = { AMD_CLAIMS },
	.tolerated = { AMD_CLAIMS }, /* usually a code object without a container */
	.read = read_container,
	.targets = offload_targets,
	.content_bytes = sizeof(struct content),
	.text = offload_put_text,
	.lines = offload_put_lines,
	.json = offload_put_json,
	.check = "offload-image",
	.about = ABOUT,
	.verify = offload_verify,
};

const struct mpk_code_format mpk_format_zstd = {
	.word = "zstd",
	.name = "a zstd frame",
	.is = mpk_offload_is_frame,
	.verifies_broken = true,
	.read = read_container,
	.targets = frame_targets,
	.content_bytes = sizeof(struct content),
	.text = offload_put_text,
	.lines = offload_put_lines,
	.json = offload_put_json,
	.check = "offload-image",
	.about = ABOUT,
	.verify = verify_frame,
};
