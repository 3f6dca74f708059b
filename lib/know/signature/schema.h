/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the metadata that tvm-ffi's exporter puts beside functions: {"type_schema": TEXT}
 *
 * TEXT is JSON again: {"type": "ffi.Function", "named_args": {"return": [T], "params": [T, ...]}}, a T being
 * {"type": "int"} or {"type": "Optional", "args": [T]}. Parameters have no names, tensors no shapes.
 */
#ifndef MPK_SIGNATURE_SCHEMA_H
#define MPK_SIGNATURE_SCHEMA_H

#include "base/arena.h"
#include "base/error.h"
#include "signature/signature.h"

/* What such a text begins with. */
#define MPK_SCHEMA_BEGIN "{\"type_schema\":"

/* mpk_schema_read - the signature that a text of metadata tells; its name is empty
 * Returns  MPK_OK; MPK_E_SYNTAX: it is none; MPK_E_NOMEM */
enum mpk_code mpk_schema_read(struct mpk_span text, struct mpk_arena *arena,
			      struct mpk_signature *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
