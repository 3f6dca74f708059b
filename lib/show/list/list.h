/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - what a file is and holds: the summary, --functions, and half a line for a list of many */
#ifndef MPK_LIST_LIST_H
#define MPK_LIST_LIST_H

#include "model/view.h"

/* Of struct mpk_view.
 * mpk_answer_summary - what the file is, and its tree (minspect.schema.json); in verbose text with all of the
 *          provenance
 * mpk_answer_functions - callable functions and kernels, each with a call to paste (minspect-functions.schema.json);
 *          in verbose text with what is said about each
 * mpk_answer_brief - a line alone, "x86-64 library: 3 modules (cuda, relax.Executable), 2 functions, GPU code for
 *          sm_80, sm_90", and in JSON "machine", "modules", "functions", "embedded", "gpu_code" */
extern const struct mpk_answer mpk_answer_summary, mpk_answer_functions, mpk_answer_brief;

/* mpk_list_about_json - put what comes before the functions and the tree in the summary */
void mpk_list_about_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at);

#endif
