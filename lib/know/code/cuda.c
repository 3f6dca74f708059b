/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - NVIDIA's architectures, toolkits and drivers: which code runs where
 *
 * The rules are those of the CUDA C++ Programming Guide, "Application Compatibility". A cubin runs
 * on devices of the same major compute capability and the same or a later minor one; a cubin for an
 * "a" target on exactly that device, for an "f" target on its family. A driver that knows the
 * version of some PTX compiles it for any later device. Tables of NVIDIA's pages are in cuda.def,
 * which names the pages. */
#include "code/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

const struct mpk_cuda_gpu mpk_cuda_devices[] = {
#define MPK_CUDA_GPU(sm_, tegra_, major_, minor_) { sm_, tegra_, { major_, minor_ } },
#include "code/cuda.def"
	{ 0 },
};

const struct mpk_cuda_driver mpk_cuda_drivers[] = {
#define MPK_CUDA_DRIVER(major_, minor_, ptx_major_, ptx_minor_, branch_)                           \
	{ { major_, minor_ }, { ptx_major_, ptx_minor_ }, branch_ },
#include "code/cuda.def"
	{ { 0, 0 }, { 0, 0 }, 0 },
};

/* Compares two numbers, because 12.10 is later than 12.9. */
int mpk_cuda_compare(struct mpk_cuda_version a, struct mpk_cuda_version b)
{
	if (a.major != b.major)
		return a.major < b.major ? -1 : 1;
	return a.minor < b.minor ? -1 : a.minor > b.minor;
}

/* "NVCC, Compression": images compressed with zstd need a driver of CUDA 12.4. */
static const struct mpk_cuda_version zstd_since = { 12, 4 };

/* ELF ABI versions of cubins (formats/cubin/FORMAT.md 1). From 8 on, CUDA 13 made the cubin; old
 * drivers run new cubins only within a major release ("CUDA Compatibility, Minor Version"). For
 * Blackwell CUDA 12.8 wrote 8 already: there the note of the toolkit decides. */
enum { ABI_CUDA_13 = 8, SM_OF_BOTH = 100 };

/* Tile IR specification, "Supported Architectures": it runs on all devices from Ampere on; a driver
 * accepts versions up to its own. */
enum { TILE_SINCE = 80 };

/* --- rules ------------------------------------------------------------------------------ */

static bool is_tegra(unsigned sm)
{
	for (size_t i = 0; mpk_cuda_devices[i].sm; i++)
		if (mpk_cuda_devices[i].sm == sm)
			return mpk_cuda_devices[i].tegra;
	return false;
}

/* Families: 10.0 and 10.3; 12.0 and 12.1; Tegra's 11.0. */
static enum mpk_cuda_fit binary_fit(unsigned code, unsigned device)
{
	if (code == device)
		return MPK_CUDA_RUNS;
	if (code / 10 != device / 10 || code > device)
		return MPK_CUDA_OTHER_MAJOR;
	return is_tegra(code) || is_tegra(device) ? MPK_CUDA_TEGRA : MPK_CUDA_RUNS;
}

static enum mpk_cuda_fit device_fit(const struct mpk_code_target *image, unsigned device)
{
	bool ptx = image->kind == MPK_TARGET_PTX;
	enum mpk_cuda_fit fit;

	if (image->kind == MPK_TARGET_TILE)
		return device < TILE_SINCE ? MPK_CUDA_NO_TILE : MPK_CUDA_COMPILES;
	if (image->suffix == 'a')
		return image->sm != device ? MPK_CUDA_ARCH_ONLY
		       : ptx               ? MPK_CUDA_COMPILES
					   : MPK_CUDA_RUNS;
	fit = binary_fit(image->sm, device);
	if (image->suffix == 'f')
		return fit != MPK_CUDA_RUNS ? MPK_CUDA_FAMILY_ONLY : ptx ? MPK_CUDA_COMPILES : fit;
	if (ptx)
		return image->sm <= device ? MPK_CUDA_COMPILES : MPK_CUDA_LATER;
	return fit;
}

/* Returns the newest PTX version that a driver accepts; 0.0 for a driver newer than the table,
 * which accepts all. */
static struct mpk_cuda_version cuda_ptx_of(struct mpk_cuda_version driver)
{
	const struct mpk_cuda_driver *d = mpk_cuda_drivers;
	struct mpk_cuda_version ptx = { 0 };

	for (; d->cuda.major && mpk_cuda_compare(d->cuda, driver) <= 0; d++)
		ptx = d->ptx;
	if (d->cuda.major || mpk_cuda_compare(d[-1].cuda, driver) == 0)
		return ptx;
	return (struct mpk_cuda_version){ 0 };
}

static enum mpk_cuda_fit driver_fit(const struct mpk_code_target *image,
				    struct mpk_cuda_version driver)
{
	struct mpk_cuda_version ptx = { image->ptx_major, image->ptx_minor };
	struct mpk_cuda_version newest = cuda_ptx_of(driver);

	if (image->zstd && mpk_cuda_compare(driver, zstd_since) < 0)
		return MPK_CUDA_PACKED;
	if (image->kind == MPK_TARGET_TILE)
		return mpk_cuda_compare(driver, ptx) < 0 ? MPK_CUDA_PTX_VERSION : MPK_CUDA_COMPILES;
	if (image->kind == MPK_TARGET_PTX)
		return newest.major && mpk_cuda_compare(ptx, newest) > 0 ? MPK_CUDA_PTX_VERSION
									 : MPK_CUDA_COMPILES;

	unsigned made_by = image->abi < ABI_CUDA_13  ? 0
			   : image->sm >= SM_OF_BOTH ? image->toolkit
						     : 13;

	return made_by > driver.major ? MPK_CUDA_TOOLKIT : MPK_CUDA_RUNS;
}

bool mpk_cuda_asks_toolkit(const struct mpk_code_target *image)
{
	return image->kind == MPK_TARGET_BINARY && image->abi >= ABI_CUDA_13 &&
	       image->sm >= SM_OF_BOTH && !image->toolkit;
}

/* Restricts code that runs to the code that the caller asked for. */
static enum mpk_cuda_fit wanted_fit(const struct mpk_code_target *image,
				    const struct mpk_cuda_place *place, enum mpk_cuda_fit fit)
{
	bool ptx = image->kind == MPK_TARGET_PTX || image->kind == MPK_TARGET_TILE;

	if (place->wants == MPK_CUDA_OWN)
		return ptx ? MPK_CUDA_JIT : image->sm != place->sm ? MPK_CUDA_OTHERS : fit;
	if (place->wants == MPK_CUDA_AHEAD && (!ptx || image->suffix))
		return MPK_CUDA_NOT_AHEAD;
	return fit;
}

enum mpk_cuda_fit mpk_cuda_fit(const struct mpk_code_target *image,
			       const struct mpk_cuda_place *place)
{
	enum mpk_cuda_fit fit = image->kind == MPK_TARGET_PTX || image->kind == MPK_TARGET_TILE
					? MPK_CUDA_COMPILES
					: MPK_CUDA_RUNS;

	if (image->kind == MPK_TARGET_LTO)
		return MPK_CUDA_LTO;
	if (image->kind == MPK_TARGET_OTHER)
		return MPK_CUDA_UNKNOWN;
	if (image->relocatable)
		return MPK_CUDA_UNLINKED;
	if (place->sm)
		fit = device_fit(image, place->sm);
	if (fit <= MPK_CUDA_COMPILES && place->driver.major)
		fit = driver_fit(image, place->driver);
	return fit <= MPK_CUDA_COMPILES ? wanted_fit(image, place, fit) : fit;
}

static bool is_better(const struct mpk_code_target *a, enum mpk_cuda_fit fit,
		      const struct mpk_code_target *b, enum mpk_cuda_fit other)
{
	return fit != other ? fit < other : a->sm > b->sm;
}

size_t mpk_cuda_choose(const struct mpk_code_target *images, size_t count,
		       const struct mpk_cuda_place *place)
{
	enum mpk_cuda_fit chosen_fit = MPK_CUDA_UNKNOWN;
	size_t chosen = count;

	for (size_t i = 0; i < count; i++) {
		enum mpk_cuda_fit fit = mpk_cuda_fit(&images[i], place);

		if (fit > MPK_CUDA_COMPILES)
			continue;
		if (chosen == count || is_better(&images[i], fit, &images[chosen], chosen_fit)) {
			chosen = i;
			chosen_fit = fit;
		}
	}
	return chosen;
}

/* Devices may exist up to two major versions after the last in the table; later ones cannot. */
enum { MAJORS_AHEAD = 2 };

unsigned mpk_cuda_device_parse(const char *text)
{
	unsigned long major, minor;
	char *end;

	if (strncmp(text, "sm_", 3) == 0)
		text += 3;
	else if (strncmp(text, "compute_", 8) == 0)
		text += 8;
	if (*text < '0' || *text > '9')
		return 0;
	major = strtoul(text, &end, 10);
	if (*end == '.' && end[1] >= '0' && end[1] <= '9' && !end[2]) {
		minor = (unsigned long)(end[1] - '0');
		major = major < 100 ? major * 10 + minor : 0;
		end += 2;
	} else if (*end == 'a' || *end == 'f') {
		end++; /* "sm_90a" means the device sm_90 */
	}
	if (*end || major > 999)
		return 0;
	for (size_t i = 0; mpk_cuda_devices[i].sm; i++) {
		unsigned sm = mpk_cuda_devices[i].sm;
		bool last = !mpk_cuda_devices[i + 1].sm;

		if (sm == major || (last && major > sm && major / 10 <= sm / 10 + MAJORS_AHEAD))
			return (unsigned)major;
	}
	return 0;
}

size_t mpk_cuda_device_near(const char *text, unsigned out[2])
{
	unsigned long wanted = strtoul(text + strcspn(text, "0123456789"), NULL, 10);
	size_t n = 0;

	for (const struct mpk_cuda_gpu *d = mpk_cuda_devices; d->sm; d++) {
		if (d->sm > wanted && n) {
			out[1] = d->sm;
			return 2;
		}
		out[0] = d->sm;
		n = 1;
	}
	return n;
}

/* Converts a driver's own version: the newest row whose branch is not above it. */
static bool parse_branch(unsigned long branch, struct mpk_cuda_version *out)
{
	bool found = false;

	for (const struct mpk_cuda_driver *d = mpk_cuda_drivers; d->cuda.major; d++) {
		if (!d->branch || d->branch > branch)
			continue;
		*out = d->cuda;
		found = true;
	}
	return found;
}

bool mpk_cuda_driver_parse(const char *text, struct mpk_cuda_version *out)
{
	unsigned long major, minor = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	major = strtoul(text, &end, 10);
	if (major >= 300 && major < 10000) /* 550.54.14 */
		return strspn(end, ".0123456789") == strlen(end) && parse_branch(major, out);
	if (*end == '.' && end[1] >= '0' && end[1] <= '9')
		minor = strtoul(end + 1, &end, 10);
	if (*end || major < mpk_cuda_drivers[0].cuda.major || major > 99 || minor > 99)
		return false;
	*out = (struct mpk_cuda_version){ (unsigned)major, (unsigned)minor };
	return true;
}

/* --- the architectures that PTX, a cubin or a fatbin is for, from headers only ------------------ */

/* Decompresses nothing and reads no kernel, so that listing a large library is fast, and a program
 * that only runs models needs neither LZ4 nor zstd. */

void mpk_cuda_target_name(enum mpk_code_target_kind kind, unsigned sm, char suffix, char *out,
			  size_t size)
{
	static const char *const prefixes[] = {
		[MPK_TARGET_BINARY] = "sm", [MPK_TARGET_PTX] = "compute", [MPK_TARGET_LTO] = "lto",
		[MPK_TARGET_TILE] = "tile", [MPK_TARGET_OTHER] = "other",
	};

	(void)snprintf(out, size, "%s_%u%.*s", prefixes[kind], sm, suffix ? 1 : 0, &suffix);
}

char mpk_cuda_suffix(const struct mpk_cubin *cubin)
{
	return cubin->arch_specific ? 'a' : cubin->family_specific ? 'f' : '\0';
}

enum mpk_code_target_kind mpk_cuda_entry_kind(const struct mpk_fatbin_entry *e)
{
	static const enum mpk_code_target_kind kinds[] = {
		[MPK_FATBIN_PTX] = MPK_TARGET_PTX,     [MPK_FATBIN_ELF] = MPK_TARGET_BINARY,
		[MPK_FATBIN_LTO] = MPK_TARGET_LTO,     [MPK_FATBIN_TILE] = MPK_TARGET_TILE,
		[MPK_FATBIN_OTHER] = MPK_TARGET_OTHER,
	};

	return kinds[e->kind];
}

/* --- one image ------------------------------------------------------------------------- */

static enum mpk_code ptx_targets(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_code_target **out, size_t *count, struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_ptx p;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_ptx_read_head(bytes, &p, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_PTX,
				       .sm = p.sm,
				       .suffix = p.suffix,
				       .ptx_major = p.major,
				       .ptx_minor = p.minor,
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	mpk_cuda_target_name(t->kind, t->sm, t->suffix, t->name, sizeof t->name);
	*out = t;
	*count = 1;
	return MPK_OK;
}

/* Parses "Cuda compilation tools, release 13.0, V13.0.88". */
unsigned mpk_cuda_toolkit_of(const struct mpk_cubin *c)
{
	static const char before[] = "release ";
	const uint8_t *at =
		c->tool.len ? memmem(c->tool.data, c->tool.len, before, sizeof before - 1) : NULL;
	size_t n = at ? (size_t)(at - c->tool.data) + sizeof before - 1 : c->tool.len;
	unsigned major = 0;

	for (; n < c->tool.len && c->tool.data[n] >= '0' && c->tool.data[n] <= '9' && major < 100;
	     n++)
		major = major * 10 + (c->tool.data[n] - '0');
	return major;
}

static enum mpk_code cubin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				   struct mpk_code_target **out, size_t *count,
				   struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_cubin c;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_cubin_read_head(bytes, &c, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_BINARY,
				       .sm = c.sm,
				       .suffix = mpk_cuda_suffix(&c),
				       .abi = c.abi,
				       .toolkit = mpk_cuda_toolkit_of(&c),
				       .what = "cubin",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len,
				       .relocatable = c.relocatable };
	mpk_cuda_target_name(t->kind, t->sm, t->suffix, t->name, sizeof t->name);
	*out = t;
	*count = 1;
	return MPK_OK;
}

/* --- a fatbin -------------------------------------------------------------------------- */

struct target_list {
	struct mpk_code_target *items;
	size_t count, cap;
	unsigned toolkit; /* the toolkit that the ABI of an image implies: one run of nvcc makes all
			  * images; 0: no image implies it */
};

/* Uses what the entries say about their images, because drivers choose by that. */
static enum mpk_code add_target(const struct mpk_fatbin_entry *e, void *arg, struct mpk_error *err)
{
	struct target_list *list = arg;
	struct mpk_code_target *t;

	MPK_TRY_ALLOC(mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *t), err);
	t = &list->items[list->count++];
	*t = (struct mpk_code_target){ .kind = mpk_cuda_entry_kind(e),
				       .abi = e->abi,
				       .sm = e->sm,
				       .ptx_major = e->ir_major,
				       .ptx_minor = e->ir_minor,
				       .kind_code = e->kind_code,
				       .zstd = e->packing == MPK_FATBIN_ZSTD };
	t->what = mpk_fatbin_kind_name(e->kind);
	t->packing = mpk_fatbin_packing_name(e->packing);
	t->bytes = mpk_fatbin_entry_bytes(e);
	t->plain_bytes = e->plain_bytes;
	t->suffix = *mpk_fatbin_suffix(e);
	mpk_cuda_target_name(t->kind, t->sm, t->suffix, t->name, sizeof t->name);
	if (t->kind == MPK_TARGET_BINARY && t->abi && t->sm < SM_OF_BOTH)
		list->toolkit = t->abi >= ABI_CUDA_13 ? 13 : 12;
	return MPK_OK;
}

static enum mpk_code fatbin_targets(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_code_target **out, size_t *count,
				    struct mpk_error *err)
{
	struct target_list list = { 0 };
	enum mpk_code code = mpk_fatbin_head(bytes, add_target, &list, err);

	for (size_t i = 0; i < list.count; i++)
		list.items[i].toolkit = list.toolkit;
	if (code == MPK_OK) {
		*out = mpk_arena_keep(arena, list.items, list.count, sizeof *list.items);
		*count = list.count;
		code = *out ? MPK_OK : mpk_fail_nomem(err);
	}
	free(list.items);
	return code;
}

/* --- PTX, a cubin or a fatbin --------------------------------------------------------- */

/* Recognises the format as the table of formats does: PTX by its first word. */
enum mpk_code mpk_cuda_images(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_target **out, size_t *count, struct mpk_error *err)
{
	struct mpk_code_target *targets = NULL;
	size_t n = 0;

	if (mpk_code_is_text(bytes) && mpk_ptx_is(bytes))
		MPK_TRY(ptx_targets(bytes, arena, &targets, &n, err));
	else if (mpk_cubin_is(bytes))
		MPK_TRY(cubin_targets(bytes, arena, &targets, &n, err));
	else if (mpk_fatbin_is(bytes))
		MPK_TRY(fatbin_targets(bytes, arena, &targets, &n, err));
	*out = targets;
	*count = n;
	return MPK_OK;
}
