/* SPDX-License-Identifier: Apache-2.0 */
/* sycl_keep.c - which of SYCL's images are kept, and which kernels a device would lose
 *
 * The runtime looks for an image by kernel and device. It prefers machine code for the device, and
 * else takes SPIR-V, which a driver compiles. So SPIR-V replaces machine code only if it has the
 * same kernels, and each word of --keep is checked for each kernel: a device that had code for the
 * kernel must still have some. "spir64" means every device that compiles SPIR-V, such as Intel's
 * processors and GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "text/escape.h"
#include "thin/internal/sycl.h"

#define EXPORTED "SYCL/exported symbols"

enum {
	WORD_BYTES = 8,
	ENTRY_BYTES = 32, /* address, name, size, flags */
	ENTRY_NAME_AT = 8,
	NEW_ENTRY_BYTES =
		56, /* zeros, u16 version, u16 kind, u32 flags, address, name, size, data, address */
	NEW_ENTRY_NAME_AT = 24,
	NEW_ENTRY_HEAD = 1 | 8 << 16,
	SET_BYTES = 24,      /* name, beginning and end of an array of properties */
	PROPERTY_BYTES = 32, /* name, address, type, size */
};

enum { INTEL_DEVICES = 4, DEVICES_MAX = 64 };

/* Intel's devices, as bits, and the images that run on them. */
enum { ANY = 1, GPU = 2, CPU = 4, FPGA = 8 };

static const struct {
	const char *name;
	uint64_t devices;
} triples[] = {
	{ "spir64", ANY | GPU | CPU | FPGA },
	{ "spirv64", ANY | GPU | CPU | FPGA },
	{ "spir64_gen", GPU },
	{ "spir64_x86_64", CPU },
	{ "spir64_fpga", FPGA },
};

/* A symbol that an image defines: a kernel, or a function for other images. */
struct sycl_symbol {
	struct mpk_span name;
	uint64_t native, before, after; /* bit masks of devices */
	size_t lost_image;
};

struct sycl_use {
	size_t symbol, image;
};

/* malloc'ed */
struct sycl_names {
	struct sycl_symbol *symbols;
	size_t count, cap;
	struct sycl_use *uses; /* for each image */
	size_t use_count, use_cap;
};

struct asking {
	struct mpk_thin *t;
	struct mpk_thin_sycl *s;
	struct sycl_names names;
	uint64_t *devices; /* malloc'ed; for each image, bits of the devices that run it */
	uint64_t wanted;   /* bit mask of the devices that the words name */
	size_t word_of[DEVICES_MAX]; /* for each device, the first word that names it */
	struct mpk_error *err;
};

static void asking_fini(struct asking *a)
{
	free(a->names.symbols);
	free(a->names.uses);
	free(a->devices);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Returns the devices of a triple. "spir64-unknown-unknown" means the same as "spir64". */
static uint64_t devices_of(struct mpk_span name)
{
	const uint8_t *dash = name.len ? memchr(name.data, '-', name.len) : NULL;
	struct mpk_span first = dash ? mpk_span_of(name.data, (size_t)(dash - name.data)) : name;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(triples); i++)
		if (mpk_span_is(first, triples[i].name))
			return triples[i].devices;
	return 0;
}

/* Returns the bit of a word. Bits above Intel's stand for words that name a device of NVIDIA or
 *         AMD. */
static uint64_t bit_of_word(size_t word)
{
	return word < DEVICES_MAX - INTEL_DEVICES ? UINT64_C(1) << (INTEL_DEVICES + word) : 0;
}

static void want_words(struct asking *a)
{
	for (size_t w = 0; w < a->t->o->keep_count; w++) {
		uint64_t devices = devices_of(a->t->o->keep[w]);

		devices = devices ? devices : bit_of_word(w);
		for (size_t bit = 0; bit < DEVICES_MAX; bit++)
			if (devices >> bit & 1 & ~(a->wanted >> bit))
				a->word_of[bit] = w;
		a->wanted |= devices;
	}
}

/* For other devices, the bytes of an image tell its device. An unreadable image is for no
 * device. */
static enum mpk_code own_targets(const struct asking *a, struct mpk_span bytes,
				 struct mpk_arena *arena, const struct mpk_code_target **out,
				 size_t *count)
{
	enum mpk_code code = mpk_code_targets(bytes, arena, out, count, NULL);

	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(a->err);
	if (code != MPK_OK)
		*count = 0;
	return MPK_OK;
}

static enum mpk_code devices_of_image(const struct asking *a,
				      const struct mpk_thin_sycl_image *image, uint64_t *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	size_t count;

	*out = devices_of(image->device);
	if (*out || image->range == a->s->range_count)
		return MPK_OK;
	MPK_TRY(own_targets(a, a->s->ranges[image->range].bytes, &scratch, &targets, &count));
	for (size_t w = 0; count && w < a->t->o->keep_count; w++) {
		struct mpk_thin_choice c;

		MPK_TRY(mpk_thin_choose(a->t->o->keep[w], targets, NULL, count, &c, a->err));
		*out |= c.before < count ? bit_of_word(w) : 0;
	}
	return MPK_OK;
}

/* --- kernels that a device loses -------------------------------------------------------------- */

static void report_symbol(struct asking *a, const struct sycl_symbol *x, uint64_t lost)
{
	char what[200], name[96], device[48];
	size_t bit = 0;

	while (!(lost >> bit & 1))
		bit++;
	(void)snprintf(what, sizeof what, "kernel '%s' in %s images alone",
		       mpk_escape_to(x->name, name, sizeof name),
		       mpk_escape_to(a->s->images[x->lost_image].device, device, sizeof device));
	mpk_thin_miss(a->t, "SYCL's table", a->t->o->keep[a->word_of[bit]], what);
}

static void report_missing(struct asking *a)
{
	struct sycl_names *n = &a->names;

	for (size_t i = 0; i < n->use_count; i++) {
		struct sycl_symbol *x = &n->symbols[n->uses[i].symbol];
		uint64_t devices = a->devices[n->uses[i].image] & a->wanted;

		x->before |= devices;
		if (mpk_thin_sycl_keeps(a->s, n->uses[i].image))
			x->after |= devices;
		else if (devices)
			x->lost_image = n->uses[i].image;
	}
	for (size_t i = 0; i < n->count; i++)
		if (n->symbols[i].before & ~n->symbols[i].after)
			report_symbol(a, &n->symbols[i],
				      n->symbols[i].before & ~n->symbols[i].after);
}

/* --- images that a device uses ---------------------------------------------------------------- */

static bool keep_image(struct asking *a, size_t image, uint64_t device)
{
	size_t range = a->s->images[image].range;

	if (!(a->devices[image] & device) || range == a->s->range_count)
		return false;
	a->s->ranges[range].kept = true;
	return true;
}

/* Keeps images without kernels, which may serve other images: all that run on the device. Uses are
 * in the order of images. */
static bool keep_nameless(struct asking *a, uint64_t device)
{
	const struct sycl_names *n = &a->names;
	bool found = false;
	size_t k = 0;

	for (size_t i = 0; i < a->s->image_count; i++) {
		if (k == n->use_count || n->uses[k].image != i)
			found |= keep_image(a, i, device);
		while (k < n->use_count && n->uses[k].image == i)
			k++;
	}
	return found;
}

/* Keeps machine code for the device if there is some, else SPIR-V. */
static void keep_device(struct asking *a, size_t word)
{
	struct sycl_names *n = &a->names;
	uint64_t all = devices_of(a->t->o->keep[word]), device = all & ANY ? ANY : all;
	bool found = keep_nameless(a, device);

	for (size_t i = 0; i < n->use_count; i++) {
		uint64_t devices = a->devices[n->uses[i].image];

		if (devices & device && !(devices & ANY))
			n->symbols[n->uses[i].symbol].native |= device;
	}
	for (size_t i = 0; i < n->use_count; i++) {
		bool stands_in = a->devices[n->uses[i].image] & ANY && device != ANY;

		if (!stands_in || !(n->symbols[n->uses[i].symbol].native & device))
			found |= keep_image(a, n->uses[i].image, device);
	}
	if (found && word < 64)
		a->t->report->keep_used |= UINT64_C(1) << word;
}

/* --- the kernels and other symbols that images define, from tables in the library's host code --- */

struct naming {
	const struct mpk_elf *elf;
	const struct mpk_thin_sycl *s;
	struct sycl_names *out;
	struct mpk_strmap by_name;
	uint64_t left; /* bytes of tables and names that may still be read */
	struct mpk_error *err;
};

static void naming_fini(struct naming *a)
{
	mpk_strmap_fini(&a->by_name);
}

static enum mpk_code broken(struct naming *a, uint64_t address)
{
	return mpk_fail(a->err, MPK_E_CORRUPT,
			"SYCL's table of what an image has does not read at address 0x%llx",
			(unsigned long long)address);
}

/* Counts bytes against the budget: bytes that several images share are read once for each image. */
static enum mpk_code spend(struct naming *a, uint64_t bytes)
{
	if (bytes > a->left)
		return mpk_fail(a->err, MPK_E_CORRUPT,
				"SYCL's tables have more kernels than the file has bytes");
	a->left -= bytes;
	return MPK_OK;
}

static enum mpk_code name_at(struct naming *a, uint64_t address, struct mpk_span *out)
{
	const struct mpk_thin_word *w = mpk_thin_sycl_word(a->s, address);
	struct mpk_span bytes;
	const uint8_t *nul;
	uint64_t off;

	if (!w || !mpk_elf_at_address(a->elf, w->target, &bytes, &off) || !bytes.len)
		return broken(a, address);
	if (bytes.len > a->left)
		bytes.len = (size_t)a->left;
	nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
	if (!nul)
		return broken(a, address);
	*out = mpk_span_of(bytes.data, (size_t)(nul - bytes.data));
	return spend(a, out->len + 1);
}

static enum mpk_code note_symbol(struct naming *a, struct mpk_span name, size_t image)
{
	struct sycl_names *out = a->out;
	size_t at = out->count;
	int rc = mpk_strmap_put(&a->by_name, name, at, &at);

	MPK_TRY_ALLOC(rc >= 0, a->err);
	if (rc) {
		MPK_TRY_ALLOC(MPK_VEC_ROOM(out->symbols, out->count, out->cap), a->err);
		out->symbols[out->count++] = (struct sycl_symbol){ .name = name };
	}
	MPK_TRY_ALLOC(MPK_VEC_ROOM(out->uses, out->use_count, out->use_cap), a->err);
	out->uses[out->use_count++] = (struct sycl_use){ at, image };
	return MPK_OK;
}

/* Only the name of a kernel is used, because the other fields differ between compiler versions. */
static enum mpk_code note_entries(struct naming *a, size_t index)
{
	const struct mpk_thin_sycl_image *image = &a->s->images[index];
	uint64_t at = image->entries, step;

	for (; at < image->entries_end; at += step) {
		struct mpk_span bytes, name;
		uint64_t off;
		bool is_new;

		if (!mpk_elf_at_address(a->elf, at, &bytes, &off) || bytes.len < ENTRY_BYTES)
			return broken(a, at);
		is_new = !mpk_thin_sycl_word(a->s, at + WORD_BYTES) && !mpk_load_u64(bytes.data) &&
			 mpk_load_u64(bytes.data + WORD_BYTES) == NEW_ENTRY_HEAD;
		step = is_new ? NEW_ENTRY_BYTES : ENTRY_BYTES;
		MPK_TRY(spend(a, step));
		MPK_TRY(name_at(a, at + (is_new ? NEW_ENTRY_NAME_AT : ENTRY_NAME_AT), &name));
		MPK_TRY(note_symbol(a, name, index));
	}
	return MPK_OK;
}

/* Notes exported functions: the runtime may link other images with this one. */
static enum mpk_code note_exports(struct naming *a, size_t index)
{
	const struct mpk_thin_sycl_image *image = &a->s->images[index];
	for (uint64_t set = image->properties; set < image->properties_end; set += SET_BYTES) {
		const struct mpk_thin_word *begin = mpk_thin_sycl_word(a->s, set + WORD_BYTES);
		const struct mpk_thin_word *end = mpk_thin_sycl_word(a->s, set + 2 * WORD_BYTES);
		struct mpk_span name;

		MPK_TRY(spend(a, SET_BYTES));
		MPK_TRY(name_at(a, set, &name));
		if (!mpk_span_is(name, EXPORTED) || !begin || !end)
			continue;
		for (uint64_t at = begin->target; at < end->target; at += PROPERTY_BYTES) {
			MPK_TRY(spend(a, PROPERTY_BYTES));
			MPK_TRY(name_at(a, at, &name));
			MPK_TRY(note_symbol(a, name, index));
		}
	}
	return MPK_OK;
}

static enum mpk_code read_sycl_names(const struct mpk_elf *elf, const struct mpk_thin_sycl *s,
				     struct sycl_names *out, struct mpk_error *err)
{
	MPK_CLEANUP(naming_fini)
	struct naming a = {
		.elf = elf, .s = s, .out = out, .left = 4 * (uint64_t)elf->bytes.len, .err = err
	};

	for (size_t i = 0; i < s->image_count; i++) {
		MPK_TRY(note_entries(&a, i));
		MPK_TRY(note_exports(&a, i));
	}
	return MPK_OK;
}

/* --- choosing the images ---------------------------------------------------------------------- */

static enum mpk_code keep_range(struct mpk_thin *t, const struct asking *a,
				struct mpk_thin_sycl_range *r, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *targets;
	size_t count;

	r->kept = mpk_thin_keeps(t, a->s->sections[r->section].target);
	MPK_TRY(own_targets(a, r->bytes, &scratch, &targets, &count));
	if (count) {
		bool *kept = mpk_arena_array(&scratch, count, sizeof *kept);

		MPK_TRY_ALLOC(kept, err);
		for (size_t i = 0; i < count; i++)
			kept[i] = targets[i].name[0] && mpk_thin_keeps(t, &targets[i]);
		MPK_TRY(mpk_thin_keep_devices(t, targets, kept, count, err));
		for (size_t i = 0; i < count; i++)
			r->kept |= kept[i];
	}
	return MPK_OK;
}

static bool asks_for_names(const struct mpk_thin *t)
{
	bool asks = !t->o->allow_missing;

	for (size_t w = 0; w < t->o->device_count; w++)
		asks |= devices_of(t->o->keep[w]) != 0;
	return asks;
}

enum mpk_code mpk_thin_sycl_keep(struct mpk_thin *t, const struct mpk_elf *elf,
				 struct mpk_thin_sycl *s, struct mpk_error *err)
{
	MPK_CLEANUP(asking_fini)
	struct asking a = { .t = t, .s = s, .err = err };
	bool drops = false;

	for (size_t i = 0; i < s->range_count; i++) {
		MPK_TRY(keep_range(t, &a, &s->ranges[i], err));
		drops |= !s->ranges[i].kept;
	}
	if (drops && asks_for_names(t)) {
		const struct mpk_thin_options *o = a.t->o;

		a.devices = calloc(a.s->image_count + 1, sizeof *a.devices);
		MPK_TRY_ALLOC(a.devices, a.err);
		MPK_TRY(read_sycl_names(elf, a.s, &a.names, a.err));
		for (size_t i = 0; i < a.s->image_count; i++)
			MPK_TRY(devices_of_image(&a, &a.s->images[i], &a.devices[i]));
		for (size_t w = 0; w < o->device_count; w++)
			if (devices_of(o->keep[w]))
				keep_device(&a, w);
		want_words(&a);
		report_missing(&a);
	}

	struct mpk_thin_report *report = a.t->report;

	for (size_t i = 0; i < a.s->range_count; i++) {
		const struct mpk_thin_sycl_range *r = &a.s->ranges[i];

		report->containers++;
		report->images++;
		if (r->kept)
			continue;
		report->dropped++;
		report->dropped_bytes += r->bytes.len;
		a.s->sections[r->section].drops = true;
	}
	for (size_t i = 0; i < s->table_count; i++)
		for (size_t k = 0; k < s->tables[i].count; k++)
			s->tables[i].loses |= !mpk_thin_sycl_keeps(s, s->tables[i].first + k);
	return MPK_OK;
}
