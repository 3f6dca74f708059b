/* SPDX-License-Identifier: Apache-2.0 */
/* header.h - minspect --header: the functions of a library as C and Python declare them */
#ifndef MPK_HEADER_HEADER_H
#define MPK_HEADER_HEADER_H

#include "model/view.h"

/* Of struct mpk_view. A function whose name is no identifier is named in a comment. Nothing of the file gets out of its
 * comment or name.
 * mpk_answer_c_header - a C header: for each host function what the library exports, and where its arguments are known
 *          a typed function NAME_call that passes them in the library's calling convention
 * mpk_answer_python_stub - a stub (.pyi) for the module that tvm_ffi.load_module returns */
extern const struct mpk_answer mpk_answer_c_header, mpk_answer_python_stub;

#endif
