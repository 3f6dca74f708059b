/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - how code is shown: what a kernel needs of a GPU, in numbers that mean the same in every code format,
 * and a run of code as text and as JSON
 *
 * What is compared between two builds, and held against a baseline: each number that grows lets fewer
 * threads run at a time, or makes one slower.
 */
#ifndef MPK_CODE_SHOW_H
#define MPK_CODE_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "code/info.h"
#include "code/occupancy.h"
#include "text/facts.h"

/* MPK_FIGURE_REGISTERS and so on: figures.def says what each is. */
enum mpk_figure {
#define MPK_FIGURE(id, ...) MPK_FIGURE_##id,
#include "code/figures.def"
#undef MPK_FIGURE
	MPK_FIGURE_COUNT
};

struct mpk_figures {
	struct mpk_figure_value values[MPK_FIGURE_COUNT];
};

struct mpk_figure_row {
	const char *word;  /* name in documents and CSV: "stack_bytes"; stable */
	const char *label; /* in sentences: "stack" */
	const char *title; /* of a column: "Stack" */
	bool is_bytes, is_percent;
	bool is_cost; /* a kernel with more of it is a worse kernel */
	bool is_gain; /* a kernel with more of it is a better kernel */
};

/* mpk_figure_row - what a figure is called; static storage */
const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure);

/* mpk_figures_differ - whether two files have the figure and not the same value of it */
bool mpk_figures_differ(const struct mpk_figures *a, const struct mpk_figures *b,
			enum mpk_figure figure);

/* mpk_figure_put - append a value: "24", "400 B", "50 %", "unknown"
 * mpk_figure_put_change - append two: "24 -> 32", "8 B -> 16 B", "50 -> 38 %" */
void mpk_figure_put(enum mpk_figure figure, struct mpk_figure_value value, struct mpk_strbuf *out);
void mpk_figure_put_change(enum mpk_figure figure, struct mpk_figure_value before,
			   struct mpk_figure_value after, struct mpk_strbuf *out);

/* mpk_figure_put_percent - append how much it grew, "+33.3%", if both are known and there was some */
void mpk_figure_put_percent(struct mpk_figure_value before, struct mpk_figure_value after,
			    struct mpk_strbuf *out);

/* --- a run of code as text and as JSON, whatever its format, and what rows need for it ----- */

/* mpk_code_info_text - append one line without its end: "PTX 8.0 for sm_90, 64-bit, 2 kernels", or
 * why it cannot be read */
void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out);

/* mpk_code_info_json - put "format", "offset", "bytes", then "problem" or "entries" and what only
 * its format has */
void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at);

/* mpk_code_image_json - the same of an image of a container; where its kernels are those of an image before it,
 * "entries_as" has the first such image's number instead */
void mpk_code_image_json(const struct mpk_code_info *container, size_t image, struct mpk_json *j,
			 struct mpk_json_at *at);

/* mpk_code_occupancy - the occupancy of a kernel on the device that its code is for
 * Returns  false: the code does not tell its registers, or no such device is known */
bool mpk_code_occupancy(const struct mpk_code_info *info, size_t kernel,
			struct mpk_occupancy_kernel *out);

/* mpk_code_kernel_text - append what the format knows of one of its kernels, one line without its end, with its
 * occupancy: ", occupancy 50 % in blocks of 256 threads", or ", occupancy at most 75 %" where the kernel leaves open how
 * large its blocks are; nothing where the format has no text
 * mpk_code_kernel_json - put what the format knows of one of its kernels; nothing where it knows nothing
 * mpk_code_params_json - put "parameters", which are not among that, where the format knows them
 * mpk_code_figures - the figures among what the format knows, and the occupancy that follows from them
 * Returns  whether the format has any */
void mpk_code_kernel_text(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out);
void mpk_code_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at);
void mpk_code_params_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at);
bool mpk_code_figures(const struct mpk_code_info *info, size_t kernel, struct mpk_figures *out);

/* MPK_CODE_IS(figure) - ends a row of a kernel's facts that is this figure */
#define MPK_CODE_IS(figure) .tag = 1 + MPK_FIGURE_##figure

/* mpk_code_put_registers - append "24 registers", or "registers unknown"
 * mpk_code_put_bytes - append ", 400 B stack", or ", stack unknown" */
void mpk_code_put_registers(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out);
void mpk_code_put_bytes(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out);

/* mpk_code_put_shape - append ", block 32x2x1"; nothing for zeros */
void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out);
#endif
