/* SPDX-License-Identifier: Apache-2.0 */
/* node_info.h - what the code, the graph and the tensors of a module say, read once for all views
 *
 * Nothing of it is needed to draw a tree: payload bytes are only touched when a view asks, and
 * what was read stays with the node, so that no reader runs twice over the same bytes.
 */
#ifndef MPK_MODEL_NODE_INFO_H
#define MPK_MODEL_NODE_INFO_H

#include "model/view.h"

/* mpk_view_info - what a module says; reads it when nobody has asked before
 * @index   of the node
 * @out     lives as long as the view; empty for a node that did not decode or holds no code
 * Returns  MPK_OK, also for code that does not read (its problem says why); MPK_E_NOMEM */
enum mpk_code mpk_view_info(const struct mpk_view *view, size_t index,
			    const struct mpk_node_info **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_show_info - read it for every node; the summary and --functions show it from then on
 * @tensors whether tensors are measured too, which reads every element
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_show_info(struct mpk_view *view, bool tensors,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_mark_images - note in the signatures of host functions which tensors their kernels take as
 * OpenCL images; the kernels must have been read
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_mark_images(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_node_info_each - call fn for everything the code of kernel `index` of the table says of it:
 * once for plain code, once an image for fatbins
 * @fn      kernel is an index into code->kernels */
void mpk_node_info_each(const struct mpk_node_info *info, const struct mpk_kernels *table,
			size_t index,
			void (*fn)(const struct mpk_code_info *code, size_t kernel, void *arg),
			void *arg);

/* mpk_node_code - that code; NULL: none has it */
const struct mpk_code_info *mpk_node_code(const struct mpk_node_info *info,
					  const struct mpk_kernels *table, size_t index);

/* mpk_code_figure_lines - append a line of what code, and one of what each of its images, tells of a kernel
 * mpk_code_figures_json - put "figures", the same, an object for each run of code
 * @code    NULL: there is none
 * @with_work  below each line what the instructions do, where the format tells it */
void mpk_code_figure_lines(const struct mpk_code_info *code, struct mpk_span kernel,
			   const char *indent, bool with_work, struct mpk_strbuf *out);
void mpk_code_figures_json(const struct mpk_code_info *code, struct mpk_span kernel,
			   struct mpk_json *j, struct mpk_json_at *at);

/* mpk_node_info_defines - whether kernel `index` of the table is in the code */
enum mpk_code_defines mpk_node_info_defines(const struct mpk_node_info *info,
					    const struct mpk_kernels *table, size_t index);

/* mpk_node_findings - what mpk_verify_kernels found of kernel `index` of the table, in the order of the checks.
 * Where several kernels have one name, the first has the findings of all of them: a file with thousands of
 * equal names would else print millions.
 * @count   receives how many there are
 * Returns  the first; NULL: there is none */
const struct mpk_view_finding *mpk_node_findings(const struct mpk_view_node *node, size_t index,
						 size_t *count);

/* mpk_node_lines - append a line for each run of code, image, member and function: what
 * mpk_node_kernel_lines does not say
 * mpk_node_kernel_lines - append what the code says of one kernel of the table, a line an image,
 * and a mark when it is not there
 * Both append nothing before mpk_view_show_info.
 * @indent  is put before each line */
void mpk_node_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out);
void mpk_node_kernel_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			   struct mpk_strbuf *out);

#endif
