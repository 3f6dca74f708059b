/* SPDX-License-Identifier: Apache-2.0 */
/* templates.h - the kernels of one or many files as a table with one line for each C++ template
 *
 * A library has the same few kernels for many types, sizes and devices: tens of thousands of lines
 * that differ only in numbers. The table has one line for each template, with the range of each
 * resource from minimum to maximum.
 */
#ifndef MPK_LIST_TEMPLATES_H
#define MPK_LIST_TEMPLATES_H

#include "answer/answer.h"
#include "model/kernel_list.h"

struct mpk_templates;

/* mpk_templates_create - make an empty table
 * Returns  NULL if memory is out; else free it with mpk_templates_destroy */
struct mpk_templates *mpk_templates_create(void);
void mpk_templates_destroy(struct mpk_templates *t);

/* mpk_templates_add - add the kernels of one more file that its filter shows
 * @list    kernels of view; the table borrows nothing of either
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_templates_add(struct mpk_templates *t, const struct mpk_view *view,
				const struct mpk_kernel_list *list,
				struct mpk_error *err) MPK_MUST_CHECK;

/* Sort keys: numbers are sorted from the largest, but occupancy from the lowest. */
enum mpk_templates_order {
	MPK_TEMPLATES_BY_CODE,
	MPK_TEMPLATES_BY_REGISTERS,
	MPK_TEMPLATES_BY_STACK,
	MPK_TEMPLATES_BY_SHARED,
	MPK_TEMPLATES_BY_VARIANTS,
	MPK_TEMPLATES_BY_NAME,
	MPK_TEMPLATES_BY_OCCUPANCY,
	MPK_TEMPLATES_ORDERS
};

/* The words of --sort, in the order of the enum. */
extern const char *const mpk_templates_orders[MPK_TEMPLATES_ORDERS];

/* How the table is printed. */
struct mpk_templates_form {
	const struct mpk_templates *table;
	enum mpk_templates_order order;
	size_t top;       /* maximum number of rows; 0: as many as fit on a screen */
	const char *file; /* file name for the suggested command; not escaped */
	bool many;        /* the table covers several files */
};

/* Printers of struct mpk_templates_form.
 * mpk_answer_templates - the number of kernels, and a line for each template; .line has only the
 * number
 * mpk_answer_spills - a line for each kernel with a stack, with certain and possible spills; in
 * JSON "spills" with the
 *          first `top` kernels, for the page, and "with_stack", the number of all of them */
extern const struct mpk_answer mpk_answer_templates, mpk_answer_spills;

/* mpk_templates_rows - the number of kernels in the table, one for each device */
size_t mpk_templates_rows(const struct mpk_templates *t);

#endif
