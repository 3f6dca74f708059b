/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - how code is shown: the figures of a kernel, which mean the same in every code format,
 * and code as text and as JSON
 *
 * Figures are compared between two builds and with a baseline: with a larger one, fewer threads run
 * at a time, or one is slower. */
#ifndef MPK_CODE_SHOW_H
#define MPK_CODE_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "base/strbuf.h"
#include "code/info.h"
#include "code/occupancy.h"
#include "text/facts.h"

/* MPK_FIGURE_REGISTERS and so on; figures.def describes each. */
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
	const char *word;  /* name in JSON and CSV: "stack_bytes"; stable */
	const char *label; /* name in sentences: "stack" */
	const char *title; /* title of a column: "Stack" */
	bool is_bytes, is_percent;
	bool is_cost; /* a kernel with a larger number is worse */
	bool is_gain; /* a kernel with a larger number is better */
};

/* mpk_figure_row - the names of a figure; static storage */
const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure);

/* mpk_figures_differ - whether both sides have the figure, with different values */
bool mpk_figures_differ(const struct mpk_figures *a, const struct mpk_figures *b,
			enum mpk_figure figure);

/* mpk_figure_put - append a value: "24", "400 B", "50 %", "unknown"
 * mpk_figure_put_change - append two values: "24 -> 32", "8 B -> 16 B", "50 -> 38 %" */
void mpk_figure_put(enum mpk_figure figure, struct mpk_figure_value value, struct mpk_strbuf *out);
void mpk_figure_put_change(enum mpk_figure figure, struct mpk_figure_value before,
			   struct mpk_figure_value after, struct mpk_strbuf *out);

/* mpk_figure_put_percent - append the growth, "+33.3%", if both values are known and the first is
 * not 0 */
void mpk_figure_put_percent(struct mpk_figure_value before, struct mpk_figure_value after,
			    struct mpk_strbuf *out);

/* --- code as text and as JSON in any format, and helpers for rows ----- */

/* mpk_code_info_text - append one line without its end: "PTX 8.0 for sm_90, 64-bit, 2 kernels", or
 * why the code does not read */
void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out);

/* mpk_code_info_json - write "format", "offset", "bytes", then "problem", or "entries" and the
 * members of the format */
void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at);

/* mpk_code_image_json - write an image of a container as mpk_code_info_json does; if an image
 * before it has the same kernels, "entries_as" with its index instead of "entries" */
void mpk_code_image_json(const struct mpk_code_info *container, size_t image, struct mpk_json *j,
			 struct mpk_json_at *at);

/* mpk_code_kernel_text - append the format's text about a kernel, one line without its end, and the
 * occupancy: ", occupancy 50 % in blocks of 256 threads", or ", occupancy at most 75 %" if the
 * kernel leaves its block size open; nothing if the format has no text
 * mpk_code_kernel_json - write the format's members for a kernel; nothing if there are none
 * mpk_code_params_json - write "parameters", which are not among these members, if the format knows
 * them
 * mpk_code_figures - the figures of a kernel, and the occupancy that follows from them
 * Returns  whether the format has any */
void mpk_code_kernel_text(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out);
void mpk_code_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at);
void mpk_code_params_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			  struct mpk_json_at *at);
bool mpk_code_figures(const struct mpk_code_info *info, size_t kernel, struct mpk_figures *out);

/* MPK_CODE_IS(figure) - at the end of a row of kernel facts: the row is this figure */
#define MPK_CODE_IS(figure) .tag = 1 + MPK_FIGURE_##figure

/* mpk_code_put_registers - append "24 registers", or "registers unknown"
 * mpk_code_put_bytes - append ", 400 B stack", or ", stack unknown" */
void mpk_code_put_registers(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out);
void mpk_code_put_bytes(struct mpk_figure_value n, const char *what, struct mpk_strbuf *out);

/* mpk_code_put_shape - append ", block 32x2x1"; nothing for zeros */
void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out);
#endif
