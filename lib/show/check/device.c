/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of GPU code: which of it the device runs, and which the driver accepts.
 *
 * The verdict is about the library as a whole. A unit of its code, a container or a module, that
 * has nothing for the device is either an extra or a hole. An extra is for newer or special GPUs:
 * the host code chooses it at run time, and does without it on this device. A hole has kernels for
 * older GPUs only, and their launch fails. Static analysis cannot tell intention from mistake, so
 * each is reported with its numbers, and an option changes how each counts. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "answer/answer.h"
#include "base/vec.h"
#include "check/internal/run.h"
#include "code/format.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- words ------------------------------------------------------------------------------ */

void mpk_check_put_device(const struct mpk_there *there, struct mpk_strbuf *out)
{
	const struct mpk_cuda_place *p = &there->cuda;

	if (there->amd)
		mpk_escape(out, mpk_span_str(there->amd));
	else if (p->wants == MPK_CUDA_AHEAD)
		mpk_strbuf_printf(out, "devices later than sm_%u", p->sm);
	else if (p->sm)
		mpk_strbuf_printf(out, "sm_%u", p->sm);
	if (p->driver.major && !there->amd)
		mpk_strbuf_printf(out, "%s CUDA %u.%u", p->sm ? " with a driver of" : "a driver of",
				  p->driver.major, p->driver.minor);
}

/* Returns the first CUDA release that knows the architecture. */
static struct mpk_cuda_version driver_for(unsigned sm)
{
	for (size_t i = 0; mpk_cuda_devices[i].sm; i++)
		if (mpk_cuda_devices[i].sm == sm)
			return mpk_cuda_devices[i].since;
	return (struct mpk_cuda_version){ 0 };
}

/* Returns the first CUDA release whose drivers accept that PTX version. */
static struct mpk_cuda_version driver_of_ptx(unsigned major, unsigned minor)
{
	const struct mpk_cuda_version wanted = { major, minor };

	for (size_t i = 0; mpk_cuda_drivers[i].cuda.major; i++)
		if (mpk_cuda_compare(mpk_cuda_drivers[i].ptx, wanted) >= 0)
			return mpk_cuda_drivers[i].cuda;
	return (struct mpk_cuda_version){ 0 };
}

/* Says what would help the unit that nearly ran: a newer driver, else code for the device. */
static void put_advice(const struct mpk_check_unit *u, const struct mpk_cuda_place *p,
		       struct mpk_strbuf *out)
{
	const struct mpk_cuda_place any_driver = { .wants = p->wants, .sm = p->sm };
	size_t i = mpk_cuda_choose(u->images, u->image_count, &any_driver);
	struct mpk_cuda_version v = { 0 };

	if (i == u->image_count && p->wants != MPK_CUDA_ANY) {
		mpk_strbuf_printf(out, ": compile it for %s_%u, too",
				  p->wants == MPK_CUDA_OWN ? "sm" : "compute", p->sm);
		return;
	}
	if (i < u->image_count && u->images[i].kind == MPK_TARGET_PTX)
		v = driver_of_ptx(u->images[i].ptx_major, u->images[i].ptx_minor);
	if (i < u->image_count && u->images[i].kind == MPK_TARGET_TILE)
		v = (struct mpk_cuda_version){ u->images[i].ptx_major, u->images[i].ptx_minor };
	if (v.major)
		mpk_strbuf_printf(out,
				  ": install a driver of CUDA %u.%u or later, or "
				  "compile it to older PTX or machine code",
				  v.major, v.minor);
	else if (i < u->image_count)
		mpk_strbuf_puts(out, ": install a newer driver, or compile it with an older CUDA");
	else if (p->sm)
		mpk_strbuf_printf(out,
				  ": compile it for sm_%u, or add PTX for compute_%u or an "
				  "earlier one",
				  p->sm, p->sm);
	else
		mpk_strbuf_puts(out, ": add machine code or PTX");
}

/* One sentence for each reason, for the message that a user reads. */
static void put_reason(const struct mpk_code_target *image, const struct mpk_cuda_place *place,
		       struct mpk_strbuf *out)
{
	static const char *const reasons[] = {
		[MPK_CUDA_RUNS] = "runs",
		[MPK_CUDA_COMPILES] = "runs",
		[MPK_CUDA_OTHER_MAJOR] =
			"machine code runs on devices of its own major version, from its own on",
		[MPK_CUDA_TEGRA] = "machine code does not run on Tegra and other devices alike",
		[MPK_CUDA_ARCH_ONLY] = "runs on exactly this architecture",
		[MPK_CUDA_FAMILY_ONLY] = "runs only on devices of its family",
		[MPK_CUDA_LATER] = "PTX for this device and later ones",
		[MPK_CUDA_NO_TILE] = "drivers compile Tile IR for sm_80 and later",
		[MPK_CUDA_PTX_VERSION] = "PTX that is too new for the driver",
		[MPK_CUDA_TOOLKIT] = "made by CUDA 13 or later, the driver is older",
		[MPK_CUDA_PACKED] = "packed with zstd, which drivers unpack from CUDA 12.4 on",
		[MPK_CUDA_UNLINKED] = "relocatable: it must be linked first",
		[MPK_CUDA_LTO] = "LTO IR: it must be linked first",
		[MPK_CUDA_JIT] = "runs, but the driver must compile it first",
		[MPK_CUDA_OTHERS] = "runs, but was made for another architecture",
		[MPK_CUDA_NOT_AHEAD] = "not for later devices",
		[MPK_CUDA_UNKNOWN] = "of a kind that no driver is known to run",
	};
	enum mpk_cuda_fit fit = mpk_cuda_fit(image, place);

	mpk_escape(out, mpk_span_str(image->name));
	if (image->kind == MPK_TARGET_TILE)
		mpk_strbuf_printf(out, "%sTile IR %u.%u", *image->name ? " " : "", image->ptx_major,
				  image->ptx_minor);
	if (image->kind == MPK_TARGET_PTX)
		mpk_strbuf_printf(out, " PTX %u.%u", image->ptx_major, image->ptx_minor);
	if (fit == MPK_CUDA_TOOLKIT && image->toolkit)
		mpk_strbuf_printf(out, " (made by CUDA %u%s, the driver is older)", image->toolkit,
				  image->toolkit < 13 ? "" : " or later");
	else if (fit == MPK_CUDA_UNKNOWN)
		mpk_strbuf_printf(out, " (kind %u of image: %s)", image->kind_code, reasons[fit]);
	else
		mpk_strbuf_printf(out, " (%s)",
				  image->kind == MPK_TARGET_TILE && fit == MPK_CUDA_PTX_VERSION
					  ? "the driver is too old for it"
					  : reasons[fit]);
}

/* Says for each image why it does not run, then what would help: the two often differ, as with PTX
 * that is too new for the driver. */
static void put_none_cuda(const struct mpk_there *there, const struct mpk_check_unit *u,
			  struct mpk_strbuf *out)
{
	const struct mpk_cuda_place *p = &there->cuda;

	mpk_strbuf_puts(out, p->wants == MPK_CUDA_OWN ? "it has no machine code for "
						      : "none of its code runs on ");
	mpk_check_put_device(there, out);
	mpk_strbuf_puts(out, ": ");
	for (size_t i = 0; i < u->image_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_reason(&u->images[i], p, out);
	}
	mpk_put_more(out, u->image_count);
	mpk_strbuf_puts(out, u->image_count ? "" : "there is no image in it");
	put_advice(u, p, out);
}

/* Code objects are machine code, and no driver compiles them for another target, unlike PTX. So
 * only code for that target or a generic one helps. */
static void put_none(const struct mpk_there *there, const struct mpk_check_unit *u,
		     struct mpk_strbuf *out)
{
	if (!there->amd) {
		put_none_cuda(there, u, out);
		return;
	}
	for (size_t i = 0; i < u->image_count; i++)
		if (u->images[i].too_new && mpk_amdgpu_runs(u->images[i].name, there->amd)) {
			mpk_strbuf_printf(
				out,
				"none of its code runs on %s: its code object version is "
				"above 6, which no known release of ROCm loads; compile it "
				"with -mcode-object-version=5",
				there->amd);
			return;
		}
	mpk_strbuf_printf(out, "none of its code runs on %s: it is for ", there->amd);
	mpk_code_targets_put(u->images, u->image_count, out);
	mpk_strbuf_puts(out, "; compile it for that target, or for a generic one");
}

/* --- one piece --------------------------------------------------------------------------------- */

/* How a unit of code fits the device. */
enum fit {
	SERVES,
	NEWER, /* an extra: only for newer or special GPUs */
	NAMED, /* an extra: its kernel names contain another architecture */
	BARE,  /* an extra: an image for one GPU that the program itself loads */
	OLDER, /* a hole: only for older GPUs, without PTX */
	LATE,  /* a hole: the driver is too old for it */
	FITS
};

/* Whether the driver accepts some image of the unit. *by_ptx is set if it is PTX, whose first start
 * is slow. */
static bool cuda_runs(const struct mpk_cuda_place *p, const struct mpk_check_unit *u, bool *by_ptx)
{
	size_t i;

	if (u->is_source && p->wants == MPK_CUDA_ANY)
		return true; /* compiled at run time for the present device */
	i = mpk_cuda_choose(u->images, u->image_count, p);
	if (i < u->image_count && p->sm && p->wants == MPK_CUDA_ANY &&
	    mpk_cuda_fit(&u->images[i], p) == MPK_CUDA_COMPILES)
		*by_ptx = true;
	return i < u->image_count;
}

/* Whether some image runs on the device. A module without targets is source or portable code, which
 * the runtime compiles for the present device. */
static bool amd_runs(const char *device, const struct mpk_check_unit *u)
{
	for (size_t i = 0; i < u->image_count; i++)
		if ((u->images[i].kind == MPK_TARGET_BINARY && !u->images[i].too_new &&
		     mpk_amdgpu_runs(u->images[i].name, device)) ||
		    mpk_check_is_spirv(&u->images[i]))
			return true;
	return !u->image_count;
}

static bool unit_runs(const struct mpk_there *there, const struct mpk_check_unit *u, bool *by_ptx)
{
	return u->is_cuda ? cuda_runs(&there->cuda, u, by_ptx) : amd_runs(there->amd, u);
}

/* Whether all kernels of the unit name architectures, and none names this device. */
static bool names_others(const struct mpk_there *there, const struct mpk_check_unit *u)
{
	for (size_t i = 0; i < u->named_count; i++)
		if (u->is_cuda ? u->named_sm[i] == there->cuda.sm
			       : mpk_amdgpu_runs(u->named_gfx[i], there->amd))
			return false;
	return u->is_named;
}

/* Whether the unit is for devices older than this one. Code that is only for older devices does not
 * run here. */
static bool cuda_is_older(const struct mpk_check_unit *u, const struct mpk_cuda_place *p)
{
	for (size_t i = 0; i < u->image_count; i++) {
		const struct mpk_code_target *t = &u->images[i];
		bool loads = (t->kind == MPK_TARGET_BINARY && !t->relocatable) ||
			     t->kind == MPK_TARGET_PTX;

		if (loads && !t->suffix && (t->sm <= p->sm || p->wants == MPK_CUDA_AHEAD))
			return true;
	}
	return false;
}

/* Whether the unit is for older AMD GPUs. Compute and graphics GPUs are two families without an
 * order between them: gfx10 and later are for graphics. Steppings are hexadecimal digits. */
static bool amd_is_older(const struct mpk_check_unit *u, const char *device)
{
	unsigned long wanted = strtoul(device + 3, NULL, 16);
	bool graphics = wanted >= 0x1000;

	for (size_t i = 0; i < u->image_count; i++) {
		unsigned long has = strncmp(u->images[i].name, "gfx", 3) == 0
					    ? strtoul(u->images[i].name + 3, NULL, 16)
					    : ULONG_MAX;
		bool is_generic = strstr(u->images[i].name, "generic") != NULL;

		if (is_generic ? graphics == (has >= 0x10)
			       : graphics == (has >= 0x1000) && has <= wanted)
			return true;
	}
	return false;
}

static enum fit fit_of(const struct mpk_there *there, const struct mpk_check_unit *u, bool *by_ptx)
{
	const struct mpk_cuda_place any_driver = { .wants = there->cuda.wants,
						   .sm = there->cuda.sm };
	bool ignored;

	if (unit_runs(there, u, by_ptx))
		return SERVES;
	if (u->is_cuda && (!there->cuda.sm || cuda_runs(&any_driver, u, &ignored)))
		return LATE;
	if (u->node)
		return OLDER; /* the host functions launch these kernels on any device */
	if (u->is_cuda ? !cuda_is_older(u, &there->cuda) : !amd_is_older(u, there->amd))
		return NEWER;
	return names_others(there, u) ? NAMED : u->is_bare ? BARE : OLDER;
}

/* --- kernels that the driver links --------------------------------------------------------------- */

/* "JIT Linking" in nvcc's manual: if a library keeps relocatable objects with PTX, the driver links
 * them again for a device that the linked code does not support. The linked container has the same
 * kernels as the objects. */
struct relinking {
	struct mpk_arena *arena;
	struct mpk_strmap kernels; /* kernels of the objects that have PTX for this device */
	bool is_read, all; /* is_read: kernels is filled; all: it contains all kernels asked for */
};

static enum mpk_code add_relocatable(void *arg, struct mpk_span name, struct mpk_error *err)
{
	struct relinking *r = arg;
	const char *kept = mpk_arena_text(r->arena, name);

	MPK_TRY_ALLOC(kept && mpk_strmap_put(&r->kernels, mpk_span_str(kept), 0, NULL) >= 0, err);
	return MPK_OK;
}

static enum mpk_code find_relocatable(void *arg, struct mpk_span name, struct mpk_error *err)
{
	struct relinking *r = arg;
	size_t ignored;

	(void)err;
	r->all &= mpk_strmap_find(&r->kernels, name, &ignored);
	return MPK_OK;
}

static bool has_ptx(const struct mpk_check_unit *u, const struct mpk_cuda_place *p)
{
	for (size_t i = 0; i < u->image_count; i++)
		if (u->images[i].kind == MPK_TARGET_PTX &&
		    mpk_cuda_fit(&u->images[i], p) <= MPK_CUDA_COMPILES)
			return true;
	return false;
}

static enum mpk_code is_relinked(struct mpk_check_state *s, struct relinking *r,
				 const struct mpk_check_unit *u, bool *out, struct mpk_error *err)
{
	const struct mpk_check_code *code = s->code;
	bool any = false, known;

	*out = false;
	if (!u->is_cuda || u->node)
		return MPK_OK;
	for (size_t i = 0; i < code->count && !any; i++)
		any = code->units[i].is_input && has_ptx(&code->units[i], &s->there->cuda);
	if (!any)
		return MPK_OK;
	for (size_t i = 0; i < code->count && !r->is_read; i++)
		if (code->units[i].is_input && has_ptx(&code->units[i], &s->there->cuda))
			MPK_TRY(mpk_check_each_kernel(&code->units[i], &known, add_relocatable, r,
						      err));
	r->is_read = true;
	r->all = u->kernels > 0;
	MPK_TRY(mpk_check_each_kernel(u, &known, find_relocatable, r, err));
	*out = r->all;
	return MPK_OK;
}

/* --- all pieces ---------------------------------------------------------------------------------- */

/* Units that lack code for the same reason: their images have the same targets. */
struct group {
	enum fit fit;
	const char *targets;
	const struct mpk_check_unit *first;
	size_t units, kernels;
};

struct grouping {
	struct mpk_check_state *s;
	struct relinking relinking;
	struct relinking choices; /* kernels of the images that a runtime chooses for this device */
	struct group *items;      /* malloc'ed */
	size_t count, cap;
	struct mpk_strmap by_key;
	/* images that a runtime registers, and images that the program itself loads */
	size_t registered, registered_run, registered_kernels, bare_kernels;
	bool has_tile; /* some of it is Tile IR */
};

static void grouping_fini(struct grouping *g)
{
	free(g->items);
	mpk_strmap_fini(&g->by_key);
	mpk_strmap_fini(&g->relinking.kernels);
	mpk_strmap_fini(&g->choices.kernels);
}

static enum mpk_code put_unit(struct grouping *g, const struct mpk_check_unit *u, enum fit fit,
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf key = { 0 };
	size_t at, head;
	const char *kept;
	int rc;

	mpk_strbuf_printf(&key, "%d ", (int)fit);
	head = key.len;
	mpk_code_targets_put(u->images, u->image_count, &key);
	MPK_TRY(mpk_strbuf_status(&key, err));
	kept = mpk_arena_text(g->s->arena, mpk_span_str(mpk_strbuf_text(&key)));
	MPK_TRY_ALLOC(kept, err);
	rc = mpk_strmap_put(&g->by_key, mpk_span_str(kept), g->count, &at);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc) {
		MPK_TRY_ALLOC(mpk_vec_reserve(&g->items, &g->cap, g->count + 1, sizeof *g->items),
			      err);
		at = g->count++;
		g->items[at] = (struct group){ .fit = fit, .targets = kept + head, .first = u };
	}
	g->items[at].units++;
	g->items[at].kernels += u->kernels;
	return MPK_OK;
}

/* Runtimes of OpenMP and SYCL choose among all images of a library the one for the device. So an
 * image for another device does not count if an image that runs here contains each of its
 * kernels. */
static enum mpk_code read_choices(struct grouping *g, bool cuda, struct mpk_error *err)
{
	const struct mpk_check_code *code = g->s->code;
	bool is_known, ignored;

	for (size_t i = 0; i < code->count; i++)
		if (code->units[i].is_choice && code->units[i].is_cuda == cuda &&
		    fit_of(g->s->there, &code->units[i], &ignored) == SERVES)
			MPK_TRY(mpk_check_each_kernel(&code->units[i], &is_known, add_relocatable,
						      &g->choices, err));
	return MPK_OK;
}

static enum mpk_code is_chosen_else(struct grouping *g, const struct mpk_check_unit *u, bool *out,
				    struct mpk_error *err)
{
	bool is_known;

	*out = false;
	if (!u->is_choice || !u->kernels)
		return MPK_OK;
	g->choices.all = true;
	MPK_TRY(mpk_check_each_kernel(u, &is_known, find_relocatable, &g->choices, err));
	*out = is_known && g->choices.all;
	return MPK_OK;
}

static enum mpk_code take_unit(struct grouping *g, const struct mpk_check_unit *u,
			       struct mpk_error *err)
{
	struct mpk_check_gpu_counts *n = &g->s->result->gpu_counts;
	bool relinked = false, is_covered = false;
	enum fit fit = fit_of(g->s->there, u, &g->s->result->gpu_by_ptx);

	if (fit != SERVES && fit != LATE)
		MPK_TRY(is_chosen_else(g, u, &is_covered, err));
	if (is_covered)
		return MPK_OK;
	if (fit != SERVES && fit != LATE)
		MPK_TRY(is_relinked(g->s, &g->relinking, u, &relinked, err));
	if (relinked)
		fit = SERVES;
	g->s->result->gpu_by_ptx |= relinked;
	for (size_t i = 0; i < u->image_count; i++)
		g->has_tile |= u->images[i].kind == MPK_TARGET_TILE;
	n->modules += u->node != NULL;
	n->units++;
	n->kernels += u->kernels;
	g->registered += !u->is_bare;
	g->registered_run += !u->is_bare && fit == SERVES;
	g->registered_kernels += u->is_bare ? 0 : u->kernels;
	g->bare_kernels += u->is_bare ? u->kernels : 0;
	if (fit == SERVES) {
		n->units_run++;
		n->kernels_run += u->kernels;
		return MPK_OK;
	}
	n->extras += fit == NEWER || fit == NAMED || fit == BARE;
	n->holes += fit == OLDER || fit == LATE;
	return put_unit(g, u, fit, err);
}

const char *mpk_check_unit_word(const struct mpk_check_gpu_counts *n)
{
	return !n->modules ? "container" : n->modules == n->units ? "module" : "piece";
}

/* "2 of its 14 containers with 27 of 404 kernels" */
static void put_part(const struct grouping *g, const struct group *group, struct mpk_strbuf *out)
{
	const struct mpk_check_gpu_counts *n = &g->s->result->gpu_counts;

	mpk_put_number(out, group->units);
	mpk_strbuf_puts(out, " of its ");
	mpk_put_number(out, n->units);
	mpk_strbuf_printf(out, " %s%s", mpk_check_unit_word(n), n->units == 1 ? "" : "s");
	if (n->kernels) {
		mpk_strbuf_puts(out, " with ");
		mpk_put_number(out, group->kernels);
		mpk_strbuf_puts(out, " of ");
		mpk_put_number(out, n->kernels);
		mpk_strbuf_puts(out, n->kernels == 1 ? " kernel" : " kernels");
	}
}

static void put_kernel(const struct mpk_check_unit *u, struct mpk_strbuf *out)
{
	enum { WIDTH = 72 };
	struct mpk_span name;

	if (!u->kernel)
		return;
	name = mpk_span_str(u->kernel);
	mpk_strbuf_puts(out, ", such as ");
	if (!mpk_symbol_name(name, false, WIDTH, out))
		mpk_escape(out, name);
}

/* Reports that nothing runs, with the code that the first unit would need. */
static void say_nothing_runs(struct grouping *g)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const struct mpk_check_gpu_counts *n = &g->s->result->gpu_counts;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a unit that is judged has code */
	put_none(g->s->there, g->items[0].first, &out);
	if (g->registered && g->registered < n->units)
		mpk_strbuf_printf(
			&out,
			"; the same applies to all %zu %ss but those of single images, which the program loads by itself",
			g->registered, mpk_check_unit_word(n));
	else if (n->units > 1)
		mpk_strbuf_printf(&out, "; the same applies to all %zu %ss", n->units,
				  mpk_check_unit_word(n));
	mpk_check_say(g->s, MPK_ERROR, g->items[0].first->path, "%s", mpk_strbuf_text(&out));
}

static void say_hole(struct grouping *g, const struct group *group)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	bool allowed = g->s->there->allow_part;

	put_none(g->s->there, group->first, &out);
	mpk_strbuf_puts(&out, "; that is ");
	put_part(g, group, &out);
	put_kernel(group->first, &out);
	mpk_strbuf_puts(&out, allowed ? "" : "; --allow-part makes that a warning");
	mpk_check_say(g->s, allowed ? MPK_WARNING : MPK_ERROR, group->first->path, "%s",
		      mpk_strbuf_text(&out));
}

/* Reports all groups of one kind of extras in one finding: a library has extras for many
 * combinations of targets. */
static void say_extras(struct grouping *g, enum fit fit)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 }, device = { 0 };
	struct group sum = { 0 };
	size_t shown = 0, groups = 0;
	bool strict = g->s->there->strict;

	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].fit != fit)
			continue;
		sum.first = sum.first ? sum.first : g->items[i].first;
		sum.units += g->items[i].units;
		sum.kernels += g->items[i].kernels;
		groups++;
	}
	if (!groups)
		return;
	mpk_check_put_device(g->s->there, &device);
	put_part(g, &sum, &out);
	mpk_strbuf_puts(&out, fit == NAMED ? (sum.units == 1 ? " has " : " have ")
					   : (sum.units == 1 ? " is " : " are "));
	mpk_strbuf_puts(&out, fit == NEWER   ? "for newer or special GPUs alone, "
			      : fit == NAMED ? "another architecture in the names of kernels, "
					     : (sum.units == 1 ? "an image for another GPU alone, "
							       : "images for another GPU each, "));
	for (size_t i = 0; i < g->count && shown < MPK_NAMES_SHOWN; i++)
		if (g->items[i].fit == fit)
			mpk_strbuf_printf(&out, "%s%s", shown++ ? "; " : "", g->items[i].targets);
	mpk_put_more(&out, groups);
	put_kernel(sum.first, &out);
	mpk_strbuf_printf(&out, ": on %s the program must choose others", mpk_strbuf_text(&device));
	mpk_strbuf_puts(&out, strict ? "" : "; --strict makes that an error");
	mpk_check_say(g->s, strict ? MPK_ERROR : MPK_WARNING, sum.first->path, "%s",
		      mpk_strbuf_text(&out));
}

/* Notes the first problem that a user meets: a hole before an extra. */
static void note_first(struct grouping *g)
{
	const struct group *first = NULL;

	for (size_t i = 0; i < g->count; i++) {
		bool is_hole = g->items[i].fit == OLDER || g->items[i].fit == LATE;

		if (!first || (is_hole && first->fit != OLDER && first->fit != LATE))
			first = &g->items[i];
	}
	if (!first)
		return;
	g->s->result->gpu_place = first->first->path;
	g->s->result->gpu_kernel = first->first->kernel;
	g->s->result->gpu_targets = first->targets;
}

static enum mpk_code judge(struct mpk_check_state *s, bool cuda, struct mpk_error *err)
{
	enum { SHOWN = 6 };
	MPK_CLEANUP(grouping_fini)
	struct grouping g = { .s = s, .relinking.arena = s->arena, .choices.arena = s->arena };
	struct mpk_check_result *r = s->result;
	size_t holes = 0, kernels = 0;

	MPK_TRY(mpk_check_code_count(s, err));
	MPK_TRY(read_choices(&g, cuda, err));
	for (size_t i = 0; i < s->code->count; i++)
		if (s->code->units[i].is_cuda == cuda && !s->code->units[i].is_input)
			kernels += s->code->units[i].kernels;
	for (size_t i = 0; i < s->code->count; i++) {
		const struct mpk_check_unit *u = &s->code->units[i];

		/* an object without kernels cannot fail, but it is judged if the file has nothing
		 * else */
		if (u->is_cuda == cuda && !u->is_input && (u->kernels || !u->is_listed || !kernels))
			MPK_TRY(take_unit(&g, u, err));
	}
	note_first(&g);
	if (s->there->device)
		r->gpu = !r->gpu_counts.units_run ? MPK_CHECK_GPU_LACKS
			 : r->gpu_counts.holes    ? MPK_CHECK_GPU_PARTLY
						  : MPK_CHECK_GPU_RUNS;
	/* a few images that the program itself loads do not make the library run if none of its
	 * containers does */
	if (g.registered && !g.registered_run && g.bare_kernels < g.registered_kernels)
		r->gpu_counts.units_run = r->gpu_counts.kernels_run = 0;
	if (s->there->device && !r->gpu_counts.units_run)
		r->gpu = MPK_CHECK_GPU_LACKS;
	if (!r->gpu_counts.units_run) {
		say_nothing_runs(&g);
		return MPK_OK;
	}
	for (size_t i = 0; i < g.count; i++)
		if ((g.items[i].fit == OLDER || g.items[i].fit == LATE) && holes++ < SHOWN)
			say_hole(&g, &g.items[i]);
	if (holes > SHOWN)
		mpk_check_say(s, s->there->allow_part ? MPK_WARNING : MPK_ERROR, NULL,
			      "the same applies to %zu more combinations of targets",
			      holes - SHOWN);
	say_extras(&g, NEWER);
	say_extras(&g, NAMED);
	say_extras(&g, BARE);
	if (r->gpu_by_ptx)
		mpk_check_say(s, MPK_NOTE, NULL,
			      "on %s some of its code is only %s, which the driver compiles at the "
			      "first start",
			      s->there->device, g.has_tile ? "PTX or Tile IR" : "PTX");
	return MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------- */

/* Whether the file has portable code. OpenCL, SPIR-V and the like run on GPUs of any maker; machine
 * code does not. */
static bool has_portable(const struct mpk_check_state *s)
{
	return s->code->is_portable && s->there->cuda.wants != MPK_CUDA_OWN;
}

/* Says why there is no code to check. */
static const char *nothing_of(const struct mpk_check_state *s)
{
	return mpk_check_has_code(s, true, true)
		       ? "its GPU code is input for a linker (__nv_relfatbin), which no driver loads: link it with nvcc -dlink"
	       : mpk_check_has_code(s, false, true)
		       ? "its GPU code is input for a linker, which no driver loads"
		       : "it has no code for particular GPUs";
}

/* A device of another maker is an error only if no code in the file could run on it. */
static enum mpk_code check_device_check_device(struct mpk_check_state *s, const char **skipped,
					       struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	size_t before = s->report->errors;
	bool cuda, amd;

	MPK_TRY(mpk_check_code_read(s, err));
	cuda = mpk_check_has_code(s, true, false);
	amd = mpk_check_has_code(s, false, false);
	if (there->device)
		s->result->gpu = (there->amd ? amd : cuda) ? MPK_CHECK_GPU_RUNS
				 : has_portable(s)         ? MPK_CHECK_GPU_PORTABLE
				 : cuda || amd             ? MPK_CHECK_GPU_OTHER
							   : MPK_CHECK_GPU_NONE;
	if (s->result->gpu == MPK_CHECK_GPU_PORTABLE)
		mpk_check_say(
			s, MPK_NOTE, NULL,
			"its GPU code is for no particular GPU (OpenCL, SPIR-V or the like): the driver of %s compiles it, so nothing was checked",
			there->device);
	else if (!cuda && !amd)
		*skipped = s->code->is_portable
				   ? "its GPU code is for no particular GPU: drivers compile it"
				   : nothing_of(s);
	else if (there->amd && amd)
		MPK_TRY(judge(s, false, err));
	else if ((there->cuda.sm || there->cuda.driver.major) && cuda)
		MPK_TRY(judge(s, true, err));
	else if (!there->device)
		*skipped = MPK_CHECK_UNSAID;
	else if (there->is_one_of_several)
		*skipped = "it has no code for GPUs of that maker";
	else
		mpk_check_say(s, MPK_ERROR, NULL,
			      "its GPU code is for %s GPUs alone, and %s is none: compile it for "
			      "that one",
			      cuda ? "NVIDIA" : "AMD", there->device);
	if (s->result->gpu == MPK_CHECK_GPU_NONE)
		s->result->lacks = *skipped;
	/* code that does not run on the device may still load */
	if (there->cuda.wants != MPK_CUDA_ANY)
		s->result->policy_errors += s->report->errors - before;
	else
		s->result->device_errors += s->report->errors - before;
	return MPK_OK;
}

/* Reports code that the driver does not accept, whatever the GPU. The device check reports that too
 * if it runs. */
static enum mpk_code judge_driver(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	struct mpk_there any = *there;
	size_t before = s->report->errors;
	enum mpk_code code;

	any.device = NULL;
	any.cuda.sm = 0;
	any.cuda.wants = MPK_CUDA_ANY;
	s->there = &any;
	code = judge(s, true, err);
	s->there = there;
	s->result->device_errors += s->report->errors - before;
	return code;
}

/* Returns the first CUDA release whose drivers a needed library accepts; 0.0 if it is no CUDA runtime.
 * "CUDA Compatibility, Minor Version Compatibility": the runtime refuses a driver of an earlier
 * major release, and before CUDA 11 one of any earlier release (cudaErrorInsufficientDriver). The
 * name may have the digest that auditwheel adds: libcudart-1b2c3d4e.so.12.9.79. */
static struct mpk_cuda_version driver_of_runtime(const char *library)
{
	enum { MAJOR_ALONE_SINCE = 11, MAX = 99 };
	const char *version = strstr(library, ".so.");
	unsigned long major, minor = 0;
	char *end;

	if (strncmp(library, "libcudart", 9) != 0 || (library[9] != '.' && library[9] != '-') ||
	    !version)
		return (struct mpk_cuda_version){ 0 };
	major = strtoul(version + 4, &end, 10);
	if (*end == '.' && major < MAJOR_ALONE_SINCE)
		minor = strtoul(end + 1, NULL, 10);
	if (major > MAX || minor > MAX)
		return (struct mpk_cuda_version){ 0 };
	return (struct mpk_cuda_version){ (unsigned)major, (unsigned)minor };
}

/* Returns the CUDA runtime that the file needs, if there is a driver to compare it with; else NULL. */
static const char *runtime_of(const struct mpk_check_state *s, struct mpk_cuda_version *since)
{
	for (size_t i = 0; i < s->file.needed_count; i++) {
		*since = driver_of_runtime(s->file.needed[i]);
		if (since->major && s->there->cuda.driver.major && !s->there->amd)
			return s->file.needed[i];
	}
	return NULL;
}

/* Notes that nothing of the file runs with the driver. */
static void refuse(struct mpk_check_state *s)
{
	s->result->driver_refuses = true;
	s->result->device_errors++;
	s->result->gpu_counts.units_run = s->result->gpu_counts.kernels_run = 0;
	if (s->result->gpu != MPK_CHECK_GPU_UNASKED && mpk_check_has_code(s, true, false))
		s->result->gpu = MPK_CHECK_GPU_LACKS;
}

/* Each GPU needs a minimum driver version, whatever code the file has: an older driver cannot use
 * the GPU. */
static enum mpk_code check_driver(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_cuda_place *p = &s->there->cuda;
	struct mpk_cuda_version since = driver_for(p->sm), needs;
	const char *runtime;

	MPK_TRY(mpk_check_code_read(s, err));
	runtime = runtime_of(s, &needs);
	if (runtime && mpk_cuda_compare(p->driver, needs) < 0) {
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it needs %s, the runtime of CUDA, which refuses a driver of CUDA "
			      "%u.%u: install one of CUDA %u.%u or later",
			      runtime, p->driver.major, p->driver.minor, needs.major, needs.minor);
		refuse(s);
	} else if (!mpk_check_has_code(s, true, false)) {
		if (runtime)
			return MPK_OK; /* it is what was compared */
		*skipped = mpk_check_has_code(s, true, true) ? nothing_of(s)
							     : "it has no code for a CUDA driver";
		if (p->driver.major && !s->there->amd && s->result->gpu != MPK_CHECK_GPU_PORTABLE)
			s->result->lacks = *skipped;
	} else if (!p->driver.major) {
		*skipped = MPK_CHECK_UNSAID;
	} else if (p->sm && mpk_cuda_compare(p->driver, since) < 0) {
		mpk_check_say(s, MPK_ERROR, NULL,
			      "a driver of CUDA %u.%u does not know sm_%u: install one of CUDA "
			      "%u.%u or later",
			      p->driver.major, p->driver.minor, p->sm, since.major, since.minor);
		refuse(s);
	} else if (!mpk_check_wanted(s->there, "device")) {
		return judge_driver(s, err);
	}
	return MPK_OK;
}

const struct mpk_check_row mpk_check_device[] = {
	{ "device", "--device-arch", check_device_check_device },
	{ "driver", "--driver", check_driver },
	{ 0 },
};
