/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - describes a file and its contents: the summary, --functions, a short line for lists of
 * files, and --header */
#ifndef MPK_LIST_LIST_H
#define MPK_LIST_LIST_H

#include "model/device_code.h"
#include "model/node_info.h"
#include "model/origin.h"
#include "model/view.h"

/* Printers of struct mpk_view.
 * mpk_answer_summary - the file and its tree (minspect.schema.json); verbose text has all of the
 *          provenance
 * mpk_answer_functions - callable functions and kernels, each with a call to paste
 * (minspect-functions.schema.json);
 *          verbose text adds the documentation of each
 * mpk_answer_brief - only one line, "x86-64 library: 3 modules (cuda, relax.Executable), 2
 * functions, GPU code for
 *          sm_80, sm_90", and in JSON "machine", "modules", "functions", "embedded", "gpu_code" */
extern const struct mpk_answer mpk_answer_summary, mpk_answer_functions, mpk_answer_brief;

/* Printer of struct mpk_pt2: a line for each weight, constant, model and sample input; "package" in
 * JSON lists all members */
extern const struct mpk_answer mpk_answer_package;

/* Printers of struct mpk_view that write its functions as C and Python declarations. A function
 * whose name is not an identifier is mentioned in a comment. Texts of the file cannot break out of
 * comments and names.
 * mpk_answer_c_header - a C header: the exported symbol of each host function and, if its arguments
 * are known,
 *          a typed function NAME_call that passes them in the library's calling convention
 * mpk_answer_python_stub - a stub (.pyi) for the module that tvm_ffi.load_module returns */
extern const struct mpk_answer mpk_answer_c_header, mpk_answer_python_stub;

/* --- what several documents have ---------------------------------------------------------- */

/* mpk_list_about_json - put the description of the file: in short, or all members of the summary
 * before the functions and the tree */
void mpk_list_about_json(const struct mpk_view *view, bool in_full, struct mpk_json *j,
			 struct mpk_json_at *at);

/* mpk_list_registered_json - put "registered" and "registered_more", if the library registers global functions */
void mpk_list_registered_json(const struct mpk_view *view, struct mpk_json *j,
			      struct mpk_json_at *at);

/* mpk_list_module_json - put the kind of a module and its place in the file
 * @for_page also put the members that only the page has: "title", "counts" */
void mpk_list_module_json(const struct mpk_view *view, const struct mpk_view_node *n, bool for_page,
			  struct mpk_json *j, struct mpk_json_at *at);

/* mpk_list_call_json - put a command line that calls a function (mpk_view_call) */
void mpk_list_call_json(const struct mpk_view *view, struct mpk_span function,
			const struct mpk_signature *signature, struct mpk_json *j,
			struct mpk_json_at *at);

/* Optional members of a host function, besides names, sizes and its signature as text. */
enum mpk_list_details {
	MPK_LIST_INPUTS = 1, /* "address", "inputs" */
	MPK_LIST_CALL = 2,   /* "doc", "call" */
};

/* mpk_list_function_json - append host function `index`
 * @details enum mpk_list_details */
void mpk_list_function_json(const struct mpk_view *view, size_t index, unsigned details,
			    struct mpk_json *j, struct mpk_json_at *list);

/* mpk_list_kernel_json - append a kernel from its table
 * mpk_list_model_json - append a function of an executor
 * Return   the object, to which --functions adds members that the summary does not have */
struct mpk_json_at *mpk_list_kernel_json(const struct mpk_function_info *f, struct mpk_json *j,
					 struct mpk_json_at *list);
struct mpk_json_at *mpk_list_model_json(const struct mpk_signature *m, struct mpk_json *j,
					struct mpk_json_at *list);

/* mpk_node_json - put the members "code", "executor" and "tensors" into at, those that the module
 * has
 * mpk_node_kernel_json - put "in_code", "figures" and "findings" of one kernel of the table
 * Both put nothing before mpk_view_show_info. */
void mpk_node_json(const struct mpk_view_node *node, struct mpk_json *j, struct mpk_json_at *at);
void mpk_node_kernel_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			  struct mpk_json_at *at);

#endif
