/* SPDX-License-Identifier: Apache-2.0 */
/* sycl_keep.c - which of SYCL's images are kept, and which kernels a device would lose by that
 *
 * The runtime looks for an image by kernel and device: machine code for the device where there is some, else SPIR-V,
 * which a driver compiles. So SPIR-V stands in for machine code only where it has the same kernels, and a word of
 * --keep is asked of each kernel: a device that had code for it must still have some. "spir64" is the word of every
 * device that compiles SPIR-V, Intel's processors and GPUs among them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "thin/internal/sycl.h"

enum { INTEL_DEVICES = 4, DEVICES_MAX = 64 };

/* Devices of Intel's, by bits, and the images that run on them. */
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

struct asking {
	struct mpk_thin *t;
	struct mpk_thin_sycl *s;
	struct mpk_thin_sycl_names names;
	uint64_t *devices;           /* malloc'ed; of each image, those that run it */
	uint64_t wanted;             /* bits of devices that words name */
	size_t word_of[DEVICES_MAX]; /* the first of them */
	struct mpk_error *err;
};

static void asking_fini(struct asking *a)
{
	mpk_thin_sycl_names_fini(&a->names);
	free(a->devices);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* "spir64-unknown-unknown" is the triple "spir64", as "spir64" is. */
static uint64_t devices_of(struct mpk_span name)
{
	const uint8_t *dash = name.len ? memchr(name.data, '-', name.len) : NULL;
	struct mpk_span first = dash ? mpk_span_of(name.data, (size_t)(dash - name.data)) : name;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(triples); i++)
		if (mpk_span_is(first, triples[i].name))
			return triples[i].devices;
	return 0;
}

/* Bits after Intel's are words that name a device of NVIDIA's or AMD's. */
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

/* Images for other devices tell by their own bytes which these are. What does not read is for none. */
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

/* --- what a device loses ------------------------------------------------------------------------ */

static void report_symbol(struct asking *a, const struct mpk_thin_sycl_symbol *x, uint64_t lost)
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
	struct mpk_thin_sycl_names *n = &a->names;

	for (size_t i = 0; i < n->use_count; i++) {
		struct mpk_thin_sycl_symbol *x = &n->symbols[n->uses[i].symbol];
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

/* --- what a device takes -------------------------------------------------------------------------- */

static bool keep_image(struct asking *a, size_t image, uint64_t device)
{
	size_t range = a->s->images[image].range;

	if (!(a->devices[image] & device) || range == a->s->range_count)
		return false;
	a->s->ranges[range].kept = true;
	return true;
}

/* What has no kernels may be there for others: all that runs on the device. Uses are in the order of images. */
static bool keep_nameless(struct asking *a, uint64_t device)
{
	const struct mpk_thin_sycl_names *n = &a->names;
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

/* Machine code where there is some for the device, else SPIR-V. */
static void keep_device(struct asking *a, size_t word)
{
	struct mpk_thin_sycl_names *n = &a->names;
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

/* --- what is kept -------------------------------------------------------------------------------- */

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

static enum mpk_code ask_names(struct asking *a, const struct mpk_elf *elf)
{
	const struct mpk_thin_options *o = a->t->o;

	a->devices = calloc(a->s->image_count + 1, sizeof *a->devices);
	MPK_TRY_ALLOC(a->devices, a->err);
	MPK_TRY(mpk_thin_sycl_read_names(elf, a->s, &a->names, a->err));
	for (size_t i = 0; i < a->s->image_count; i++)
		MPK_TRY(devices_of_image(a, &a->s->images[i], &a->devices[i]));
	for (size_t w = 0; w < o->device_count; w++)
		if (devices_of(o->keep[w]))
			keep_device(a, w);
	want_words(a);
	report_missing(a);
	return MPK_OK;
}

static void note_ranges(const struct asking *a)
{
	struct mpk_thin_report *report = a->t->report;

	for (size_t i = 0; i < a->s->range_count; i++) {
		const struct mpk_thin_sycl_range *r = &a->s->ranges[i];

		report->containers++;
		report->images++;
		if (r->kept)
			continue;
		report->dropped++;
		report->dropped_bytes += r->bytes.len;
		a->s->sections[r->section].drops = true;
	}
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
	if (drops && asks_for_names(t))
		MPK_TRY(ask_names(&a, elf));
	note_ranges(&a);
	for (size_t i = 0; i < s->table_count; i++)
		for (size_t k = 0; k < s->tables[i].count; k++)
			s->tables[i].loses |= !mpk_thin_sycl_keeps(s, s->tables[i].first + k);
	return MPK_OK;
}
