/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - the figures of a kernel, and code in any format as one line of text and as JSON
 *
 * Fields that all formats have are printed here; functions of the row add the others. Code that
 * does not read is printed with its format, its size and the reason. */
#include "code/show.h"

#include <inttypes.h>

#include "code/work.h"
#include "text/phrase.h"

/* --- figures, whose rows texts, JSON, tables, differences and limits are made from --------------- */

enum { COUNT, BYTES, PERCENT };
enum { FACT, COST, GAIN };

static const struct mpk_figure_row rows[] = {
#define MPK_FIGURE(id, word, label, title, unit, effect, about)                                    \
	{                                                                                          \
		word,                                                                              \
		label,                                                                             \
		title,                                                                             \
		(unit) == BYTES,                                                                   \
		(unit) == PERCENT,                                                                 \
		(effect) == COST,                                                                  \
		(effect) == GAIN                                                                   \
	},
#include "code/figures.def"
#undef MPK_FIGURE
};

const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure)
{
	return &rows[figure];
}

/* A figure that only one side has is not a difference: another compiler version may not store it. */
bool mpk_figures_differ(const struct mpk_figures *a, const struct mpk_figures *b,
			enum mpk_figure figure)
{
	struct mpk_figure_value x = a->values[figure], y = b->values[figure];

	return x.state && y.state && (x.state != y.state || x.number != y.number);
}

void mpk_figure_put(enum mpk_figure figure, struct mpk_figure_value value, struct mpk_strbuf *out)
{
	if (value.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, "%" PRIu64 "%s", value.number,
				  rows[figure].is_bytes     ? " B"
				  : rows[figure].is_percent ? " %"
							    : "");
	else
		mpk_strbuf_puts(out, "unknown");
}

/* Appends the percent sign once. */
void mpk_figure_put_change(enum mpk_figure figure, struct mpk_figure_value before,
			   struct mpk_figure_value after, struct mpk_strbuf *out)
{
	if (rows[figure].is_percent && before.state == MPK_FIGURE_KNOWN &&
	    after.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, "%" PRIu64, before.number);
	else
		mpk_figure_put(figure, before, out);
	mpk_strbuf_puts(out, " -> ");
	mpk_figure_put(figure, after, out);
}

/* A growth from zero has no percentage, and neither has an unknown number. */
void mpk_figure_put_percent(struct mpk_figure_value before, struct mpk_figure_value after,
			    struct mpk_strbuf *out)
{
	if (before.number && after.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, "%+.1f%%",
				  100 * ((double)after.number / (double)before.number - 1));
}

/* All three cases name the format, so that readers of a listing always find it. */
void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_code_format *f = info->format;

	if (info->problem) {
		mpk_strbuf_printf(out, "%s that cannot be read: ", f->name);
		if (info->problem->at.line)
			mpk_strbuf_printf(out, "line %" PRIu32 ": ", info->problem->at.line);
		mpk_strbuf_puts(out, info->problem->text);
	} else if (f->text) {
		f->text(info, out);
	} else {
		mpk_strbuf_puts(out, f->name);
	}
}

static bool has_same_kernels(const struct mpk_code_info *a, const struct mpk_code_info *b)
{
	if (a->problem || !a->format || a->kernel_count != b->kernel_count)
		return false;
	for (size_t i = 0; i < a->kernel_count; i++)
		if (!mpk_span_equal(a->kernels[i].name, b->kernels[i].name))
			return false;
	return true;
}

/* Writes offset and size also for unreadable code, so that it can be found in the file.
 * @same    index of an image that has the same kernels; SIZE_MAX: none */
static void put_info_json(const struct mpk_code_info *info, size_t same, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	struct mpk_json_at *list;

	mpk_json_text(j, at, "format", info->format->word ? info->format->word : "other");
	mpk_json_u64(j, at, "offset", info->off);
	mpk_json_u64(j, at, "bytes", info->bytes.len);
	if (info->problem) {
		mpk_json_error(j, at, "problem", info->problem);
		return;
	}
	if (same != SIZE_MAX) {
		mpk_json_u64(j, at, "entries_as", same);
	} else {
		list = mpk_json_array(j, at, "entries");
		for (size_t i = 0; i < info->kernel_count; i++)
			mpk_json_span(j, list, NULL, info->kernels[i].name);
	}
	if (info->format->json)
		info->format->json(info, j, at);
}

void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at)
{
	put_info_json(info, SIZE_MAX, j, at);
}

/* Compares with few images before it: the images of a container mostly have the same kernels, and
 * thousands of images with other kernels would take quadratic time. */
void mpk_code_image_json(const struct mpk_code_info *container, size_t image, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	enum { LOOKED_AT = 4 };
	const struct mpk_code_info *info = &container->images[image];
	size_t same = 0;

	while (same < image && same < LOOKED_AT &&
	       !has_same_kernels(&container->images[same], info))
		same++;
	if (info->problem || !info->kernel_count || same == image || same == LOOKED_AT)
		same = SIZE_MAX;
	put_info_json(info, same, j, at);
}

void mpk_code_params_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	if (info->format->params_json)
		info->format->params_json(info, kernel, j, at);
}

/* Sets the figures that are among the format's facts. */
static bool read_figures(const struct mpk_code_info *info, size_t kernel, struct mpk_figures *out)
{
	const struct mpk_code_format *f = info->format;
	bool any = false;

	*out = (struct mpk_figures){ 0 };
	for (size_t i = 0; i < f->kernel_fact_count; i++) {
		const struct mpk_fact *fact = &f->kernel_facts[i];

		if (!fact->tag)
			continue;
		out->values[fact->tag - 1] = mpk_fact_number(fact, f->kernel_of(info, kernel));
		any = true;
	}
	return any;
}

/* The figures are read already. *out is zeroed if false is returned. */
static bool occupancy_of(const struct mpk_code_info *info, size_t kernel,
			 const struct mpk_figures *figures, struct mpk_occupancy_kernel *out)
{
	const struct mpk_code_kernel *k = &info->kernels[kernel];
	const struct mpk_figure_value *f = figures->values;
	struct mpk_occupancy_need need = {
		.registers = (uint32_t)f[MPK_FIGURE_REGISTERS].number,
		.sgprs = (uint32_t)f[MPK_FIGURE_SCALAR_REGISTERS].number,
		.shared_bytes = f[MPK_FIGURE_SHARED].number,
		.barriers = k->barriers,
		.wavefront = k->wavefront,
		.whole_work_groups = k->wgp_mode,
	};

	*out = (struct mpk_occupancy_kernel){ 0 };
	return f[MPK_FIGURE_REGISTERS].state == MPK_FIGURE_KNOWN &&
	       f[MPK_FIGURE_SHARED].state != MPK_FIGURE_UNKNOWN &&
	       mpk_occupancy_of_kernel(info->target, &need, k->block, k->max_threads, out);
}

/* Sets the occupancy of a kernel on the device that its code is for. */
static bool show_occupancy(const struct mpk_code_info *info, size_t kernel,
			   struct mpk_occupancy_kernel *out)
{
	struct mpk_figures figures;

	return read_figures(info, kernel, &figures) && occupancy_of(info, kernel, &figures, out);
}

static void put_occupancy(const struct mpk_occupancy_kernel *o, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, ", occupancy %s%" PRIu32 " %%",
			  o->block_from == MPK_BLOCK_BEST && o->percent ? "at most " : "",
			  o->percent);
	if (o->block_from != MPK_BLOCK_BEST)
		mpk_strbuf_printf(out, " in blocks of %" PRIu32 " threads", o->threads);
}

void mpk_code_kernel_text(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out)
{
	struct mpk_occupancy_kernel occupancy;

	if (!info->format->kernel_text)
		return;
	info->format->kernel_text(info, kernel, out);
	if (show_occupancy(info, kernel, &occupancy))
		put_occupancy(&occupancy, out);
}

static const struct mpk_fact kernel_occupancy_facts[] = {
	{ MPK_FACT(COUNT, "percent", struct mpk_occupancy_kernel, percent,
		   "warps that run at once, of those there is room for") },
	{ MPK_FACT(COUNT, "threads", struct mpk_occupancy_kernel, threads, "of a block") },
	{ MPK_FACT_WORDS("block_from", struct mpk_occupancy_kernel, block_from,
			 mpk_block_from_words,
			 "who says how many: the kernel, its launch bound; best: nobody does") },
	{ MPK_FACT_WORDS("limit", struct mpk_occupancy_kernel, now.limit, mpk_occupancy_limit_words,
			 "the scarcest resource") },
};

void mpk_code_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	const struct mpk_code_format *f = info->format;
	struct mpk_occupancy_kernel occupancy;
	struct mpk_work work;

	if (f->kernel_json)
		f->kernel_json(info, kernel, j, at);
	if (mpk_code_work(info, kernel, &work))
		mpk_work_json(&work, j, mpk_json_object(j, at, "instructions"));
	if (f->kernel_fact_count)
		mpk_facts_json(f->kernel_facts, f->kernel_fact_count, f->kernel_of(info, kernel), j,
			       at);
	if (show_occupancy(info, kernel, &occupancy))
		mpk_facts_json(MPK_FACTS(kernel_occupancy_facts), &occupancy, j,
			       mpk_json_object(j, at, "occupancy"));
}

bool mpk_code_figures(const struct mpk_code_info *info, size_t kernel, struct mpk_figures *out)
{
	bool any = read_figures(info, kernel, out);
	struct mpk_occupancy_kernel o;

	if (out->values[MPK_FIGURE_REGISTERS].state && mpk_occupancy_max_threads(info->target)) {
		bool told = occupancy_of(info, kernel, out, &o);

		out->values[MPK_FIGURE_OCCUPANCY] = mpk_figure_told(told, o.percent);
	}
	return any;
}

void mpk_code_put_registers(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out)
{
	if (n.state == MPK_FIGURE_KNOWN)
		mpk_put_count(out, n.number, what);
	else
		mpk_strbuf_printf(out, "%ss unknown", what);
}

void mpk_code_put_bytes(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out)
{
	if (n.state == MPK_FIGURE_KNOWN)
		mpk_strbuf_printf(out, ", %" PRIu64 " B %s", n.number, what);
	else
		mpk_strbuf_printf(out, ", %s unknown", what);
}

void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out)
{
	if (n[0])
		mpk_strbuf_printf(out, ", %s %" PRIu32 "x%" PRIu32 "x%" PRIu32, what, n[0], n[1],
				  n[2]);
}
