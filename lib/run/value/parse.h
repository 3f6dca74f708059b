/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - values as text: the form that users type and programs print
 *
 *   2x3xf32=1,2,3,4,5,6    2x3xf32=[[1 2 3][4 5 6]]    2x3xf32=7     2x3xf32
 *   2x3xf32=rand           2x3xf32=rand:SEED           []f32=1.5     2x3xf32=@raw.bin
 *   @file.npy              @file.npz:key               i64=5         f32=1.5
 *   5   1.5   true   none  str=hello                   shape=2,3     bytes=00ff
 *   dtype=f32              device=cuda:0
 *
 * An argument of a call may be followed by its device: 4xf32=1@cpu, @x.npy@opencl:1.
 *
 * Printed text parses to the same value, except beyond the limit of elements and for values without
 * a text form (functions, pointers, objects). */
#ifndef MPK_VALUE_PARSE_H
#define MPK_VALUE_PARSE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "value/value.h"

/* mpk_value_parse - parse one value; files that it names are read (large ones mapped, not copied)
 * @text    NUL-terminated
 * Returns  MPK_OK, one reference in *out; MPK_E_USAGE: the text is not a value (the error quotes
 *          the text and gives the column, counted from 1); MPK_E_IO, MPK_E_CORRUPT,
 *          MPK_E_UNSUPPORTED: errors of the named file; MPK_E_RANGE, MPK_E_NOMEM */
enum mpk_code mpk_value_parse(const char *text, struct mpk_value *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_parse_argument - parse an argument of a call: [NAME=]VALUE[@DEVICE]; in text and bytes
 * '@' is part of the value
 * @is_out  a tensor that the function fills, in the same grammar; a given value is its content
 *          before the call. Its memory is shared with children that are forked later
 * @name    points into text; empty if there is no name
 * @where   the tensor's device; type 0: none was given
 * Returns  as mpk_value_parse, with columns counted in the value alone; MPK_E_USAGE also if an
 *          output, or a value with a device, is not a tensor */
enum mpk_code mpk_value_parse_argument(const char *text, bool is_out, struct mpk_span *name,
				       struct mpk_dldevice *where, struct mpk_value *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_value_split_name - split "data=@x.npy" into the name and the value
 * Returns  false: the text before the first '=' is a type, a word such as "str", or not an
 *          identifier, so all of text is the value */
bool mpk_value_split_name(const char *text, struct mpk_span *name, const char **value);

/* mpk_value_split_kept - split the text after "$" of a kept result, such as "cache[1]", into the
 * name and the item number
 * @item    SIZE_MAX: the whole value
 * Returns  false: the text is not a name of letters, digits, '_', '-' and '.', followed by at most
 *          one item */
bool mpk_value_split_kept(struct mpk_span text, struct mpk_span *name, size_t *item);

/* mpk_value_file - the path of the next file that the value is read from; a tuple may name several
 * @from    text, or for further files the position after the previous path
 * Returns  the position of the path in text, *len its length in bytes; NULL: there is no further
 *          file */
const char *mpk_value_file(const char *text, const char *from, size_t *len);

enum { MPK_PRINT_ELEMENTS_MAX = 1024 };

/* mpk_value_print - append a value as text
 * @limit   most elements of a tensor to print; "..." stands for the rest; 0: no limit */
void mpk_value_print(struct mpk_strbuf *buf, const struct mpk_value *v, size_t limit);

/* mpk_tensor_print_type - append the type of a tensor: "2x3xf32", "[]i64" */
void mpk_tensor_print_type(struct mpk_strbuf *buf, const struct mpk_dltensor *dl);

/* mpk_tensor_load_file - load an array from a file as a CPU tensor (file.c)
 * @spec    "PATH" or "PATH.npz:KEY"
 * @want    NULL: the file must contain the type (.npy, .npz). Otherwise the dtype and shape that
 *          the content must have (other fields are ignored); then raw bytes are accepted too. An
 *          .npy file is recognised by its first bytes
 * Returns  MPK_OK, one reference in *out; MPK_E_IO; MPK_E_CORRUPT; MPK_E_UNSUPPORTED; MPK_E_USAGE:
 *          the type, shape or size differs from want, or there is no array with that key;
 *          MPK_E_NOMEM */
enum mpk_code mpk_tensor_load_file(const char *spec, const struct mpk_dltensor *want,
				   struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
