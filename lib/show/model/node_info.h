/* SPDX-License-Identifier: Apache-2.0 */
/* node_info.h - reads the code, the graph and the tensors of a module once for all views
 *
 * None of this is needed to draw a tree: payload bytes are read only when a view asks, and the
 * result stays with the node, so that no reader runs twice over the same bytes.
 */
#ifndef MPK_MODEL_NODE_INFO_H
#define MPK_MODEL_NODE_INFO_H

#include "model/view.h"

/* mpk_view_info - get the info of a module; the first call reads it
 * @index   index of the node
 * @out     valid as long as the view; empty for a node that was not decoded or holds no code
 * Returns  MPK_OK, also for unreadable code (its problem says why); MPK_E_NOMEM */
enum mpk_code mpk_view_info(const struct mpk_view *view, size_t index,
			    const struct mpk_node_info **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_show_info - read the info of every node; the summary and --functions then show it
 * @tensors also measure tensors, which reads every element
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_show_info(struct mpk_view *view, bool tensors,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_mark_images - note in the signatures of host functions which tensors their kernels take
 * as OpenCL images; the kernels must have been read before
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_mark_images(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_info_each - call fn for each piece of code that has kernel `index` of the table: once
 * for plain code, once for each image of a fatbin
 * @fn      kernel is an index into code->kernels */
void mpk_node_info_each(const struct mpk_node_info *info, const struct mpk_kernels *table,
			size_t index,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg);

/* mpk_node_code - the code of kernel `index` of the table; NULL if none has it */
const struct mpk_code_info *mpk_node_code(const struct mpk_node_info *info,
					  const struct mpk_kernels *table, size_t index);

/* mpk_code_figure_lines - append the figures of a kernel: one line for the code, and one for each
 * of its images
 * mpk_code_figures_json - put the same as "figures", an object for each piece of code
 * @code    NULL if there is none
 * @with_work  add a line with counts of instructions, if the format tells them */
void mpk_code_figure_lines(const struct mpk_code_info *code, struct mpk_span kernel,
			   const char *indent, bool with_work, struct mpk_strbuf *out);
void mpk_code_figures_json(const struct mpk_code_info *code, struct mpk_span kernel,
			   struct mpk_json *j, struct mpk_json_at *at);

/* mpk_node_info_defines - whether kernel `index` of the table is in the code */
enum mpk_code_defines mpk_node_info_defines(const struct mpk_node_info *info,
					    const struct mpk_kernels *table, size_t index);

/* mpk_node_findings - the findings of mpk_verify_kernels about kernel `index` of the table, in the
 * order of the checks. If several kernels share one name, the first has the findings of all: a file
 * with thousands of equal names would else print millions.
 * @count   receives the number of findings
 * Returns  the first; NULL if there is none */
const struct mpk_view_finding *mpk_node_findings(const struct mpk_view_node *node, size_t index,
						 size_t *count);

/* mpk_node_lines - append a line for each piece of code, image, member and function, except what
 * mpk_node_kernel_lines prints
 * mpk_node_kernel_lines - append the lines about one kernel of the table, one for each image, and a
 * mark if the code lacks it
 * Both append nothing before mpk_view_show_info.
 * @indent  put before each line */
void mpk_node_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out);
void mpk_node_kernel_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			   struct mpk_strbuf *out);

#endif
