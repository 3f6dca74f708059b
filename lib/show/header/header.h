/* SPDX-License-Identifier: Apache-2.0 */
/* header.h - minspect --header: the functions of a library as C and Python declare them */
#ifndef MPK_HEADER_HEADER_H
#define MPK_HEADER_HEADER_H

#include "model/view.h"

/* mpk_header_put - declare the functions for both languages
 * A function whose name is no identifier is named in a comment. Nothing of the file gets out of its
 * comment or name. Failures are remembered by the buffers.
 * @c       receives a C header: for each host function what the library exports, and where its arguments
 *          are known a typed function NAME_call that passes them in the library's calling convention
 * @python  receives a stub (.pyi) for the module that tvm_ffi.load_module returns */
void mpk_header_put(const struct mpk_view *view, struct mpk_strbuf *c, struct mpk_strbuf *python);

#endif
