/* SPDX-License-Identifier: Apache-2.0 */
/* meta.h - kernels as TVM keeps them in files: the code and a .tvm_meta.json beside it */
#ifndef MPK_FORMATS_KERNELS_META_H
#define MPK_FORMATS_KERNELS_META_H

#include "base/strbuf.h"
#include "kernels/kernels.h"

/* mpk_kernels_meta - append the function table as the text of a .tvm_meta.json
 * arg_extra_tags are left out where the generation has none. Bytes that are not UTF-8
 * become U+FFFD. */
void mpk_kernels_meta(const struct mpk_kernels *k, struct mpk_strbuf *out);

/* mpk_kernels_suffix - ".ptx", ".cubin", ".cl", ...: what a file with this code is called
 * @kind    the module kind, for layouts that store no format
 * Returns  static text; ".bin" for formats without a usual suffix */
const char *mpk_kernels_suffix(const struct mpk_kernels *k, struct mpk_span kind);

#endif
