/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - computes the occupancy of each kernel of a file from the figures of its code */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/cuda.h"
#include "model/kernel_list.h"
#include "occupancy/occupancy.h"

struct rows {
	struct mpk_occupancy_row *items; /* from malloc */
	size_t count, cap;
};

static void rows_fini(struct rows *r)
{
	free(r->items);
}

/* Whether machine code for target runs on device, by the same rule as in --check. */
static bool runs_on(const char *target, const char *device)
{
	const struct mpk_cuda_place place = { .sm = mpk_cuda_device_parse(device) };
	char last = target[0] ? target[strlen(target) - 1] : '\0';
	const struct mpk_code_target image = { .kind = MPK_TARGET_BINARY,
					       .sm = mpk_cuda_device_parse(target),
					       .suffix = last == 'a' || last == 'f' ? last : '\0' };

	if (strcmp(target, device) == 0)
		return true;
	return image.sm && place.sm && mpk_cuda_fit(&image, &place) == MPK_CUDA_RUNS;
}

/* Returns  false if figures are missing */
static bool row_of(const struct mpk_listed_kernel *k, const struct mpk_occupancy_ask *ask,
		   const char *device, struct mpk_occupancy_need *needed,
		   struct mpk_occupancy_row *out)
{
	static const struct mpk_kernel_facts none = { 0 };
	const struct mpk_figure_value *f = k->figures.values;
	const struct mpk_kernel_facts *launch = k->facts ? k->facts : &none;
	struct mpk_occupancy_kernel found;
	struct mpk_occupancy_need need = {
		.threads = ask->threads,
		.registers = (uint32_t)f[MPK_FIGURE_REGISTERS].number,
		.sgprs = (uint32_t)f[MPK_FIGURE_SCALAR_REGISTERS].number,
		.shared_bytes = f[MPK_FIGURE_SHARED].number + ask->dynamic,
		.barriers = launch->barriers,
		.wavefront = launch->wavefront,
		.whole_work_groups = launch->wgp_mode,
	};
	struct mpk_occupancy_step step;

	if (f[MPK_FIGURE_REGISTERS].state != MPK_FIGURE_KNOWN ||
	    !mpk_occupancy_of_kernel(device, &need, launch->block, launch->max_threads, &found))
		return false;
	mpk_occupancy_next(device, &need, found.block_from != MPK_BLOCK_BEST, 0, &step);
	*out = (struct mpk_occupancy_row){
		.path = k->path,
		.name = k->name,
		.target = k->target,
		.device = device,
		.threads = need.threads,
		.block_from = found.block_from,
		.registers = need.registers,
		.shared_bytes = need.shared_bytes,
		.barriers = launch->barriers,
		.blocks = found.now.blocks,
		.warps = found.now.warps,
		.max_warps = found.now.max_warps,
		.percent = found.percent,
		.limit = found.now.limit,
		.next = step.what,
		.next_less = step.less,
		.next_threads = step.threads,
		.next_percent = mpk_occupancy_percent(&step.then),
		.warp_lanes = found.now.warp_lanes,
	};
	*needed = need;
	return true;
}

/* Computes the occupancy for blocks of each size. */
static enum mpk_code read_blocks(struct mpk_occupancy_need need, struct mpk_arena *arena,
				 struct mpk_occupancy_row *row, struct mpk_error *err)
{
	size_t count = mpk_occupancy_max_threads(row->device) / row->warp_lanes;
	uint8_t *percent = mpk_arena_alloc(arena, count);

	MPK_TRY_ALLOC(percent, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_occupancy now;

		need.threads = (uint32_t)(i + 1) * row->warp_lanes;
		if (mpk_occupancy_compute(row->device, &need, &now))
			percent[i] = (uint8_t)mpk_occupancy_percent(&now);
	}
	row->by_block = percent;
	row->block_sizes = count;
	return MPK_OK;
}

static int by_percent(const void *a, const void *b)
{
	const struct mpk_occupancy_row *x = a, *y = b;
	int order;

	if (x->percent != y->percent)
		return x->percent < y->percent ? -1 : 1;
	order = strcmp(x->device, y->device);
	order = order ? order : strcmp(x->path, y->path);
	order = order ? order : mpk_span_compare(x->name, y->name);
	/* equal rows may be in any order: they print alike */
	return order ? order : strcmp(x->target, y->target);
}

static bool is_shown(const struct mpk_view *view, const struct mpk_listed_kernel *k)
{
	if (k->node)
		return mpk_view_shows_part(k->node, k->name);
	return mpk_view_shows(view, mpk_span_str(k->path)) || mpk_view_shows(view, k->name);
}

enum mpk_code mpk_occupancy_read(const struct mpk_view *view, const struct mpk_occupancy_ask *ask,
				 struct mpk_arena *arena, struct mpk_occupancy_list *out,
				 struct mpk_error *err)
{
	struct mpk_occupancy_list list = { .name = view->name };
	MPK_CLEANUP(rows_fini) struct rows rows = { 0 };
	struct mpk_kernel_list kernels;

	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, arena, &kernels, err));
	for (size_t i = 0; i < kernels.count; i++) {
		const struct mpk_listed_kernel *k = &kernels.items[i];
		const char *device = ask->device ? ask->device : k->target;
		struct mpk_occupancy_need need;
		struct mpk_occupancy_row row;

		if (!is_shown(view, k))
			continue;
		if (ask->device && !runs_on(k->target, ask->device)) {
			list.elsewhere++;
		} else if (!row_of(k, ask, device, &need, &row)) {
			list.untold++;
		} else {
			MPK_TRY_ALLOC(
				mpk_vec_reserve(&rows.items, &rows.cap, rows.count + 1, sizeof row),
				err);
			if (ask->by_block && row.warp_lanes)
				MPK_TRY(read_blocks(need, arena, &row, err));
			rows.items[rows.count++] = row;
		}
	}
	if (rows.count)
		qsort(rows.items, rows.count, sizeof *rows.items, by_percent);
	list.items = mpk_arena_keep(arena, rows.items, rows.count, sizeof *rows.items);
	MPK_TRY_ALLOC(list.items, err);
	list.count = rows.count;
	*out = list;
	return MPK_OK;
}
