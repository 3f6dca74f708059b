/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - what a file is and holds: the summary, --functions, half a line for a list of many, and --header */
#ifndef MPK_LIST_LIST_H
#define MPK_LIST_LIST_H

#include "model/device_code.h"
#include "model/node_info.h"
#include "model/origin.h"
#include "model/view.h"

/* Of struct mpk_view.
 * mpk_answer_summary - what the file is, and its tree (minspect.schema.json); in verbose text with all of the
 *          provenance
 * mpk_answer_functions - callable functions and kernels, each with a call to paste (minspect-functions.schema.json);
 *          in verbose text with what is said about each
 * mpk_answer_brief - a line alone, "x86-64 library: 3 modules (cuda, relax.Executable), 2 functions, GPU code for
 *          sm_80, sm_90", and in JSON "machine", "modules", "functions", "embedded", "gpu_code" */
extern const struct mpk_answer mpk_answer_summary, mpk_answer_functions, mpk_answer_brief;

/* of struct mpk_pt2: weights, constants, models and sample inputs, a line each; "package" in JSON, with all members */
extern const struct mpk_answer mpk_answer_package;

/* Of struct mpk_view, the functions as C and Python declare them. A function whose name is no identifier is named in a comment. Nothing of the file gets out of its
 * comment or name.
 * mpk_answer_c_header - a C header: for each host function what the library exports, and where its arguments are known
 *          a typed function NAME_call that passes them in the library's calling convention
 * mpk_answer_python_stub - a stub (.pyi) for the module that tvm_ffi.load_module returns */
extern const struct mpk_answer mpk_answer_c_header, mpk_answer_python_stub;

/* --- what several documents have ---------------------------------------------------------- */

/* mpk_list_about_json - put what the file is, in short, or all that comes before the functions and the tree in the
 * summary */
void mpk_list_about_json(const struct mpk_view *view, bool in_full, struct mpk_json *j,
			 struct mpk_json_at *at);

/* mpk_list_module_json - put what a module is and where
 * @for_page also what the page alone has: "title", "counts" */
void mpk_list_module_json(const struct mpk_view *view, const struct mpk_view_node *n, bool for_page,
			  struct mpk_json *j, struct mpk_json_at *at);

/* mpk_list_call_json - put a command line that calls a function (mpk_view_call) */
void mpk_list_call_json(const struct mpk_view *view, struct mpk_span function,
			const struct mpk_signature *signature, struct mpk_json *j,
			struct mpk_json_at *at);

/* What a document has of a host function besides names, sizes and its signature as a text. */
enum mpk_list_details {
	MPK_LIST_INPUTS = 1, /* "address", "inputs" */
	MPK_LIST_CALL = 2,   /* "doc", "call" */
};

/* mpk_list_function_json - append host function `index`
 * @details enum mpk_list_details */
void mpk_list_function_json(const struct mpk_view *view, size_t index, unsigned details,
			    struct mpk_json *j, struct mpk_json_at *list);

/* mpk_list_kernel_json - append a kernel as its table has it
 * mpk_list_model_json - append a function of an executor
 * Return   the object, to which --functions adds what the summary has not */
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
