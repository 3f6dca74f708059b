/* SPDX-License-Identifier: Apache-2.0 */
/* internal/relax.h - declarations shared by the printers of Relax executables */
#ifndef MPK_PAYLOAD_INTERNAL_RELAX_H
#define MPK_PAYLOAD_INTERNAL_RELAX_H

#include "payload/payload_view.h"

/* mpk_relax_put_constant - append "shape 4 24", "type f32", "tensor f32[4, 24]", escaped */
void mpk_relax_put_constant(const struct mpk_relax_const *c, struct mpk_strbuf *out);

/* mpk_relax_read_graph - implements member `graph` of struct mpk_payload_view (relax_graph.c) */
enum mpk_code mpk_relax_read_graph(const struct mpk_payload_content *c, size_t index,
				   struct mpk_arena *arena, struct mpk_model_graph *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
