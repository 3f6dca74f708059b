/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the GPU code of a file into the units that a driver loads: containers outside the module
 * tree, images that TVM getters name, and modules. The headers tell the devices of each unit; one
 * image of each unit tells its kernels. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "amdgpu/amdgpu.h"
#include "base/vec.h"
#include "check/internal/run.h"
#include "code/cuda.h"
#include "code/format.h"
#include "code/info.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "model/device_code.h"

bool mpk_check_is_cuda(const struct mpk_view_node *n)
{
	return mpk_span_is(n->node->kind, "cuda");
}

/* --- architectures in names of kernels: "fmha_sm90_", "cutlass::arch::Sm100", "gemm_gfx942" -------------------- */

/* Whether a word begins at i: in a mangled C++ symbol a word's length stands in front of it, in a
 * name like FwdSm90 a small letter does. */
static bool begins_word(struct mpk_span name, size_t i)
{
	uint8_t before = i ? name.data[i - 1] : '_', first = name.data[i];

	return !isalpha(before) || (isupper(first) && islower(before));
}

/* Returns the next "sm" architecture at or after *at; 0 if there is none. */
static unsigned next_sm(struct mpk_span name, size_t *at)
{
	for (size_t i = *at; i + 4 <= name.len; i++) {
		size_t k = i + 2, digits = 0;
		unsigned sm = 0;

		if (strncasecmp((const char *)name.data + i, "sm", 2) != 0 || !begins_word(name, i))
			continue;
		k += name.data[k] == '_';
		for (; k < name.len && isdigit(name.data[k]) && digits < 4; k++, digits++)
			sm = sm * 10 + (unsigned)(name.data[k] - '0');
		*at = k;
		for (const struct mpk_cuda_gpu *d = mpk_cuda_devices; d->sm; d++)
			if (d->sm == sm)
				return sm;
	}
	*at = name.len;
	return 0;
}

size_t mpk_check_arch_length(const char *text, const char *p)
{
	size_t len = 2;

	if ((p > text && isalnum((unsigned char)p[-1])) || strncmp(p, "sm", 2) != 0)
		return 0;
	len += p[len] == '_';
	if (strspn(p + len, "0123456789") < 2)
		return 0;
	len += strspn(p + len, "0123456789");
	len += p[len] == 'a' || p[len] == 'f';
	return isalnum((unsigned char)p[len]) ? 0 : len;
}

/* Returns the next AMD processor name; NULL if there is none. Of gfx90a and gfx90 it takes the
 * longer match. */
static const char *next_gfx(struct mpk_span name, size_t *at)
{
	const char *known, *best = NULL;

	for (size_t i = *at; i + 6 <= name.len && !best; i++) {
		if (memcmp(name.data + i, "gfx", 3) != 0)
			continue;
		for (size_t k = 0; (known = mpk_amdgpu_processor(k)) != NULL; k++) {
			size_t len = strlen(known);

			if (len <= name.len - i && memcmp(name.data + i, known, len) == 0 &&
			    (!best || len > strlen(best)))
				best = known;
		}
		*at = i + 3;
	}
	*at = best ? *at : name.len;
	return best;
}

static void add_sm(struct mpk_check_unit *u, unsigned sm)
{
	for (size_t i = 0; i < u->named_count; i++)
		if (u->named_sm[i] == sm)
			return;
	if (u->named_count < MPK_CHECK_NAMED)
		u->named_sm[u->named_count++] = sm;
	/* a unit that names too many architectures is for no particular one */
	else
		u->is_named = false;
}

static void add_gfx(struct mpk_check_unit *u, const char *gfx)
{
	for (size_t i = 0; i < u->named_count; i++)
		if (u->named_gfx[i] == gfx)
			return;
	if (u->named_count < MPK_CHECK_NAMED)
		u->named_gfx[u->named_count++] = gfx;
	else
		u->is_named = false;
}

/* Adds the architectures in the name of one more kernel. */
static void take_name(struct mpk_check_unit *u, struct mpk_span name)
{
	size_t at = 0, found = 0;

	if (u->is_cuda)
		for (unsigned sm; (sm = next_sm(name, &at)) != 0; found++)
			add_sm(u, sm);
	else
		for (const char *gfx; (gfx = next_gfx(name, &at)) != NULL; found++)
			add_gfx(u, gfx);
	u->is_named &= found > 0;
}

/* --- kernels ----------------------------------------------------------------------------------------------- */

/* Returns the row that lists the kernels of this code; NULL if they cannot be listed. */
static const struct mpk_code_info *lister_of(const struct mpk_code_info *code)
{
	return code->format && !code->problem ? mpk_code_info_lister(code) : NULL;
}

/* Reads one image of a fatbin. An image that cannot be unpacked or read gets no lister. */
static enum mpk_code read_image(const struct mpk_fatbin_entry *e, struct mpk_arena *scratch,
				struct mpk_code_info *out, struct mpk_error *err)
{
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	enum mpk_code code;

	*out = (struct mpk_code_info){ 0 };
	code = mpk_fatbin_unpack(e, &left, NULL, scratch, &out->bytes, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	return mpk_code_info_read_as(mpk_cuda_entry_format(e), scratch, out, err);
}

static bool has_kernels(const struct mpk_fatbin_entry *e)
{
	return mpk_cuda_entry_format(e) != NULL;
}

/* What it takes to list its kernels. Tile IR comes last, for it has those for tiles alone. */
static int effort_of(const struct mpk_fatbin_entry *e)
{
	return e->kind == MPK_FATBIN_ELF ? 0 : e->kind == MPK_FATBIN_PTX ? 1 : 2;
}

/* Reads the kernels of the fatbin image that is cheapest to read, since normally all images have
 * the same kernels. If it has none, the other images are read, since a source may omit kernels for
 * some targets. Other code is read whole. */
static enum mpk_code read_kernels(struct mpk_span bytes, struct mpk_arena *scratch,
				  struct mpk_code_info *out, struct mpk_error *err)
{
	const struct mpk_fatbin_entry *best = NULL;
	struct mpk_fatbin f;
	enum mpk_code code;

	*out = (struct mpk_code_info){ 0 };
	if (!mpk_fatbin_is(bytes))
		return mpk_code_info_read(bytes, 0, NULL, scratch, out, err);
	code = mpk_fatbin_read(bytes, scratch, &f, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	for (size_t i = 0; i < f.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f.entries[i];

		if (has_kernels(e) &&
		    (!best || effort_of(e) < effort_of(best) ||
		     (e->kind == best->kind && e->plain_bytes < best->plain_bytes)))
			best = e;
	}
	if (!best)
		return MPK_OK;
	MPK_TRY(read_image(best, scratch, out, err));
	for (size_t i = 0; i < f.entry_count; i++) {
		struct mpk_code_info other;

		if (!lister_of(out) || lister_of(out)->kernel_count ||
		    !has_kernels(&f.entries[i]) || &f.entries[i] == best)
			continue;
		MPK_TRY(read_image(&f.entries[i], scratch, &other, err));
		*out = other;
	}
	return MPK_OK;
}

enum mpk_code mpk_check_each_kernel(const struct mpk_check_unit *u, bool *is_known,
				    enum mpk_code (*each)(void *arg, struct mpk_span name,
							  struct mpk_error *err),
				    void *arg, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_kernels *table = u->node ? mpk_view_kernels(u->node) : NULL;
	const struct mpk_code_info *lister;
	struct mpk_code_info code;

	*is_known = table != NULL;
	for (size_t i = 0; table && i < table->function_count; i++)
		MPK_TRY(each(arg, table->functions[i].key, err));
	if (u->node)
		return MPK_OK;
	MPK_TRY(read_kernels(u->bytes, &scratch, &code, err));
	lister = lister_of(&code);
	*is_known = lister != NULL;
	for (size_t i = 0; lister && i < lister->kernel_count; i++)
		MPK_TRY(each(arg, lister->kernels[i].name, err));
	return MPK_OK;
}

struct naming {
	struct mpk_check_unit *unit;
	struct mpk_arena *arena;
};

static enum mpk_code count_kernel(void *arg, struct mpk_span name, struct mpk_error *err)
{
	struct naming *n = arg;

	if (!n->unit->kernels++) {
		n->unit->kernel = mpk_arena_text(n->arena, name);
		MPK_TRY_ALLOC(n->unit->kernel, err);
	}
	take_name(n->unit, name);
	return MPK_OK;
}

/* --- pieces ------------------------------------------------------------------------------------------------ */

/* In packed images only target names tell: "amdgcnspirv" of HIP, "spir64-unknown-unknown" of
 * SYCL. */
bool mpk_check_is_spirv(const struct mpk_code_target *t)
{
	return (t->what && strcmp(t->what, "SPIR-V") == 0) ||
	       (t->kind != MPK_TARGET_LTO && strstr(t->name, "spir"));
}

/* SPIR-V belongs to neither maker, except that of HIP. */
static bool is_made_for(const struct mpk_code_target *t, bool cuda)
{
	return cuda ? t->sm || t->kind == MPK_TARGET_TILE
		    : mpk_span_starts(mpk_span_str(t->name), "gfx") ||
			       mpk_span_starts(mpk_span_str(t->name), "amdgcnspirv") ||
			       mpk_span_starts(mpk_span_str(t->name), "processor ");
}

static bool has_made_for(const struct mpk_check_unit *u, bool cuda)
{
	for (size_t i = 0; i < u->image_count; i++)
		if (is_made_for(&u->images[i], cuda))
			return true;
	return false;
}

static bool has_spirv(const struct mpk_check_unit *u)
{
	for (size_t i = 0; i < u->image_count; i++)
		if (mpk_check_is_spirv(&u->images[i]))
			return true;
	return false;
}

/* Whether a module is compiled for the device at run time. Metal runs only on Apple hardware, so it
 * does not count. */
static bool is_portable(const struct mpk_view_node *n)
{
	return mpk_view_kernels(n) && !mpk_code_kind_has_targets(n->node->kind) &&
	       !mpk_span_is(n->node->kind, "metal");
}

struct units {
	struct mpk_check_unit *items; /* malloc'ed */
	size_t count, cap;
	bool is_portable;
	bool asks_toolkit; /* the user named a driver */
	struct mpk_arena *arena;
};

static void units_fini(struct units *u)
{
	free(u->items);
}

static enum mpk_code add_unit(struct units *l, struct mpk_check_unit u, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(&l->items, &l->cap, l->count + 1, sizeof *l->items), err);
	l->items[l->count++] = u;
	return MPK_OK;
}

/* --- the release of CUDA that made a container --- */

/* Search for the toolkit of a container. One run of nvcc makes all of its images, so the first
 * readable image tells. */
struct asking {
	unsigned toolkit;
	uint64_t left; /* bytes that may still be unpacked in this search */
};

static enum mpk_code ask_entry(const struct mpk_fatbin_entry *e, void *arg, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct asking *a = arg;
	struct mpk_cubin cubin;
	struct mpk_span image;
	enum mpk_code code;

	if (a->toolkit || e->kind != MPK_FATBIN_ELF)
		return MPK_OK;
	code = mpk_fatbin_unpack(e, &a->left, NULL, &scratch, &image, NULL);
	if (code == MPK_OK)
		code = mpk_cubin_read_head(image, &cubin, NULL);
	if (code == MPK_OK)
		a->toolkit = mpk_cuda_toolkit_of(&cubin);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code ask_toolkit(struct mpk_check_unit *u, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	enum { ASKED_BYTES = 64 << 20 };
	struct asking asking = { .left = ASKED_BYTES };
	struct mpk_code_target *images;
	bool asks = false;

	for (size_t i = 0; i < u->image_count; i++)
		asks |= mpk_cuda_asks_toolkit(&u->images[i]);
	if (!asks || !mpk_fatbin_is(u->bytes))
		return MPK_OK;
	if (mpk_fatbin_head(u->bytes, ask_entry, &asking, err) != MPK_OK)
		return mpk_memory_check(err);
	images = mpk_arena_keep(arena, u->images, u->image_count, sizeof *images);
	MPK_TRY_ALLOC(images, err);
	for (size_t i = 0; i < u->image_count; i++)
		images[i].toolkit = asking.toolkit;
	u->images = images;
	return MPK_OK;
}

/* Unreadable code is an error of --verify; this check ignores it. */
static enum mpk_code add_code(struct units *l, const char *section, struct mpk_span bytes,
			      bool is_loaded, bool is_found, const char *path,
			      struct mpk_error *err)
{
	struct mpk_check_unit u = { .path = path,
				    .bytes = bytes,
				    .is_input = mpk_device_is_input(section, is_loaded, bytes) };
	enum mpk_code code =
		mpk_device_targets(section, bytes, l->arena, &u.images, &u.image_count, NULL);

	if (code == MPK_E_NOMEM || !path)
		return mpk_fail_nomem(err);
	if (code != MPK_OK || !u.image_count)
		return MPK_OK;
	if (l->asks_toolkit)
		MPK_TRY(ask_toolkit(&u, l->arena, err));
	u.is_cuda = has_made_for(&u, true);
	u.is_input |= is_found && u.images[0].relocatable;
	u.is_bare = is_found && u.image_count == 1;
	u.is_choice = is_loaded && (mpk_name_starts(section, ".llvm.offloading") ||
				    mpk_name_starts(section, "__CLANG_OFFLOAD_BUNDLE__"));
	if (u.is_cuda || has_made_for(&u, false))
		return add_unit(l, u, err);
	l->is_portable |= has_spirv(&u);
	return MPK_OK;
}

static enum mpk_code add_module(struct units *l, const struct mpk_view *view,
				const struct mpk_view_node *n, struct mpk_error *err)
{
	struct mpk_check_unit u = { .path = n->path, .node = n, .is_cuda = mpk_check_is_cuda(n) };
	const struct mpk_kernels *k = mpk_view_kernels(n);

	l->is_portable |= is_portable(n);
	if (!k || !mpk_code_kind_has_targets(n->node->kind))
		return MPK_OK;
	MPK_TRY(mpk_view_targets(view, n, &u.images, &u.image_count, err));
	u.is_source = !u.image_count && mpk_code_format_of(k->data) != &mpk_format_fatbin;
	return add_unit(l, u, err);
}

enum mpk_code mpk_check_code_read(struct mpk_check_state *s, struct mpk_error *err)
{
	MPK_CLEANUP(units_fini)
	struct units l = { .arena = s->arena, .asks_toolkit = s->there->cuda.driver.major };
	const struct mpk_view *view = s->view;
	const struct mpk_image *image = view->image;

	if (s->code->is_read)
		return MPK_OK;
	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(add_module(&l, view, &view->nodes[i], err));
	for (size_t i = 0; i < image->embedded_count; i++)
		MPK_TRY(add_code(&l, image->embedded[i].name, image->embedded[i].bytes, false,
				 false, view->embedded[i].path, err));
	for (size_t i = 0; i < image->device_count; i++) {
		const struct mpk_image_device *d = &image->devices[i];

		MPK_TRY(add_code(&l, d->section, d->bytes, d->is_loaded, d->is_found,
				 mpk_device_path(d, s->arena), err));
	}
	s->code->units = mpk_arena_keep(s->arena, l.items, l.count, sizeof *l.items);
	MPK_TRY_ALLOC(s->code->units, err);
	s->code->count = l.count;
	s->code->is_portable = l.is_portable;
	s->code->is_read = true;
	return MPK_OK;
}

enum mpk_code mpk_check_code_count(struct mpk_check_state *s, struct mpk_error *err)
{
	MPK_TRY(mpk_check_code_read(s, err));
	for (size_t i = 0; i < s->code->count && !s->code->is_counted; i++) {
		struct naming n = { &s->code->units[i], s->arena };

		n.unit->is_named = true;
		MPK_TRY(mpk_check_each_kernel(n.unit, &n.unit->is_listed, count_kernel, &n, err));
		n.unit->is_named &= n.unit->kernels > 0;
	}
	s->code->is_counted = true;
	return MPK_OK;
}

bool mpk_check_has_code(const struct mpk_check_state *s, bool cuda, bool is_input)
{
	for (size_t i = 0; i < s->code->count; i++)
		if (s->code->units[i].is_cuda == cuda && s->code->units[i].is_input == is_input)
			return true;
	return false;
}
