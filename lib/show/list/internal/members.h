/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - what the documents of the summary and of --functions have in common */
#ifndef MPK_LIST_INTERNAL_MEMBERS_H
#define MPK_LIST_INTERNAL_MEMBERS_H

#include "model/device_code.h"
#include "model/node_info.h"
#include "model/origin.h"

/* mpk_list_head_json - put what the file is, in short */
void mpk_list_head_json(const struct mpk_view *v, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_list_function_json - append host function `index`
 * mpk_list_kernel_json - append a kernel as its table has it
 * mpk_list_model_json - append a function of an executor
 * Return   the object, to which --functions adds what the summary has not */
struct mpk_json_at *mpk_list_function_json(const struct mpk_view *view, size_t index,
					   struct mpk_json *j, struct mpk_json_at *list);
struct mpk_json_at *mpk_list_kernel_json(const struct mpk_function_info *f, struct mpk_json *j,
					 struct mpk_json_at *list);
struct mpk_json_at *mpk_list_model_json(const struct mpk_signature *m, struct mpk_json *j,
					struct mpk_json_at *list);

/* mpk_node_json - put "code", "executor" and "tensors", as far as there are, into at
 * mpk_node_kernel_json - put "in_code", "figures" and "findings" of one kernel of the table
 * Nothing before mpk_view_show_info. */
void mpk_node_json(const struct mpk_view_node *node, struct mpk_json *j, struct mpk_json_at *at);
void mpk_node_kernel_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			  struct mpk_json_at *at);

#endif
