/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - values as a user types them, and as they are printed
 *
 *   2x3xf32=1,2,3,4,5,6    2x3xf32=[[1 2 3][4 5 6]]    2x3xf32=7     2x3xf32
 *   2x3xf32=rand           2x3xf32=rand:SEED           []f32=1.5     2x3xf32=@raw.bin
 *   @file.npy              @file.npz:key               i64=5         f32=1.5
 *   5   1.5   true   none  str=hello                   shape=2,3     bytes=00ff
 *   dtype=f32              device=cuda:0
 *
 * An argument of a call may have its device after it: 4xf32=1@cpu, @x.npy@opencl:1.
 *
 * What is printed parses to the same value, except beyond the limit of elements and for
 * values without a text form (functions, pointers, objects).
 */
#ifndef MPK_VALUE_PARSE_H
#define MPK_VALUE_PARSE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "value/value.h"

/* mpk_value_parse - one value; files it names are read (large ones mapped, not copied)
 * @text    NUL-terminated
 * Returns  MPK_OK, one reference in *out; MPK_E_USAGE: the text is no value (the message
 *          names the column, counted from 1, and quotes text); MPK_E_IO, MPK_E_CORRUPT,
 *          MPK_E_UNSUPPORTED: a file it names; MPK_E_RANGE, MPK_E_NOMEM */
enum mpk_code mpk_value_parse(const char *text, struct mpk_value *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_parse_argument - an argument of a call: [NAME=]VALUE[@DEVICE]; text and bytes are values to
 * their end
 * @is_out  the specification of a tensor that the function fills, in the same grammar; data, if
 *          given, is what it holds before the call. Its memory is shared with children forked later
 * @name    a view of text; empty when there is no name
 * @where   the device that the tensor is to be on; type 0: it says none
 * Returns  as mpk_value_parse, columns count in the value alone; MPK_E_USAGE also when an output, or
 *          what has a device, is no tensor */
enum mpk_code mpk_value_parse_argument(const char *text, bool is_out, struct mpk_span *name,
				       struct mpk_dldevice *where, struct mpk_value *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_split_name - "data=@x.npy" into its name and the rest
 * Returns  false when the text before the first '=' is a type, "str" and the like or no
 *          identifier: then all of text is the value */
bool mpk_value_split_name(const char *text, struct mpk_span *name, const char **value);

/* mpk_value_split_kept - "cache[1]", after the "$" of a kept result, into the name and the number of the item
 * @item    SIZE_MAX: the value itself
 * Returns  false: it is no name of letters, digits, '_', '-' and '.', perhaps with one item */
bool mpk_value_split_kept(struct mpk_span text, struct mpk_span *name, size_t *item);

/* mpk_value_file - the path of the next file that the value is read from; a tuple may have several
 * @from    text, or what came before, after its path
 * Returns  where in text the path begins, *len of bytes; NULL: there is no other */
const char *mpk_value_file(const char *text, const char *from, size_t *len);

enum { MPK_PRINT_ELEMENTS_MAX = 1024 };

/* mpk_value_print - append the value as text
 * @limit   elements of a tensor to print at most; "..." means the rest; 0: all */
void mpk_value_print(struct mpk_strbuf *buf, const struct mpk_value *v, size_t limit);

/* mpk_tensor_print_type - append "2x3xf32", "[]i64" */
void mpk_tensor_print_type(struct mpk_strbuf *buf, const struct mpk_dltensor *dl);

/* mpk_tensor_load_file - the array in a file as a CPU tensor (file.c)
 * @spec    "PATH" or "PATH.npz:KEY"
 * @want    NULL: the file must say its type (.npy, .npz); else the dtype and shape that the
 *          content must have (nothing else of it is looked at); raw bytes are taken then, an
 *          .npy file is recognised by its first bytes
 * Returns  MPK_OK, one reference in *out; MPK_E_IO; MPK_E_CORRUPT; MPK_E_UNSUPPORTED;
 *          MPK_E_USAGE: another type, shape or size than wanted, or no array of that
 *          key; MPK_E_NOMEM */
enum mpk_code mpk_tensor_load_file(const char *spec, const struct mpk_dltensor *want,
				   struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
