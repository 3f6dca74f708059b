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
#include "text/json.h"

/* MPK_FIGURE_REGISTERS and so on: figures.def says what each is. */
enum mpk_figure {
#define MPK_FIGURE(id, ...) MPK_FIGURE_##id,
#include "code/figures.def"
#undef MPK_FIGURE
	MPK_FIGURE_COUNT
};

/* Not every format has every figure, and a compiler may not know one that it has: how deep a recursion
 * goes. That is no 0, which would pass for the best there is. */
enum mpk_figure_state { MPK_FIGURE_NONE, MPK_FIGURE_KNOWN, MPK_FIGURE_UNKNOWN };

struct mpk_figure_value {
	enum mpk_figure_state state;
	uint64_t number; /* 0 unless it is known */
};

struct mpk_figures {
	struct mpk_figure_value values[MPK_FIGURE_COUNT];
};

struct mpk_figure_row {
	const char *word;  /* in documents and CSV: "stack_bytes"; stable */
	const char *label; /* in sentences: "stack" */
	const char *title; /* of a column: "Stack" */
	bool is_bytes;
	bool is_cost; /* a kernel with more of it is a worse one */
};

/* mpk_figure_row - what a figure is called; static storage */
const struct mpk_figure_row *mpk_figure_row(enum mpk_figure figure);

/* mpk_figure_of - a value that is known
 * mpk_figure_told - a value that is known if the file tells it */
static inline struct mpk_figure_value mpk_figure_of(uint64_t number)
{
	return (struct mpk_figure_value){ MPK_FIGURE_KNOWN, number };
}

static inline struct mpk_figure_value mpk_figure_told(bool told, uint64_t number)
{
	return told ? mpk_figure_of(number) : (struct mpk_figure_value){ MPK_FIGURE_UNKNOWN, 0 };
}

/* mpk_figures_set - for the rows of formats: the value of one */
static inline void mpk_figures_set(struct mpk_figures *f, enum mpk_figure figure, uint64_t number)
{
	f->values[figure] = mpk_figure_of(number);
}

/* mpk_figures_differ - whether two files have the figure and not the same value of it */
bool mpk_figures_differ(const struct mpk_figures *a, const struct mpk_figures *b,
			enum mpk_figure figure);

/* mpk_figure_put - append a value: "24", "400 B", "unknown" */
void mpk_figure_put(enum mpk_figure figure, struct mpk_figure_value value, struct mpk_strbuf *out);

/* mpk_figure_put_percent - append how much it grew, "+33.3%", if both are known and there was some */
void mpk_figure_put_percent(struct mpk_figure_value before, struct mpk_figure_value after,
			    struct mpk_strbuf *out);

/* mpk_figure_json - put a value: the number, null where it is unknown; nothing where there is none */
void mpk_figure_json(struct mpk_json *j, struct mpk_json_at *at, const char *key,
		     struct mpk_figure_value value);

/* --- a run of code as text and as JSON, whatever its format, and what rows need for it ----- */

/* mpk_code_info_text - append one line without its end: "PTX 8.0 for sm_90, 64-bit, 2 kernels", or
 * why it cannot be read */
void mpk_code_info_text(const struct mpk_code_info *info, struct mpk_strbuf *out);

/* mpk_code_info_json - put "format", "offset", "bytes", then "problem" or "entries" and what only
 * its format has */
void mpk_code_info_json(const struct mpk_code_info *info, struct mpk_json *j,
			struct mpk_json_at *at);

/* mpk_code_put_shape - append ", block 32x2x1"; nothing for zeros
 * mpk_code_json_shape - put three numbers as an array; null for zeros */
void mpk_code_put_shape(const char *what, const uint32_t n[3], struct mpk_strbuf *out);
void mpk_code_json_shape(struct mpk_json *j, struct mpk_json_at *at, const char *key,
			 const uint32_t n[3]);

#endif
