/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - the shape of each instruction (relayvm/ only) */
#ifndef MPK_RELAYVM_INTERNAL_OPS_H
#define MPK_RELAYVM_INTERNAL_OPS_H

#include "relayvm/relayvm.h"

#define MPK_RELAY_MAGIC UINT64_C(0xD225DE2F4214151D)

struct mpk_relay_shape {
	const char *name;
	/* One letter a field: r register, d destination register, i number, f function,
	 * p packed function, c constant, j jump; n: so many more follow at the end. */
	const char *fields;
	char rest; /* what those are: r or i; 0 when there are none */
};

/* mpk_relay_shape - NULL for an opcode that no release knows */
const struct mpk_relay_shape *mpk_relay_shape(int64_t op, enum mpk_relay_layout layout);

/* mpk_relay_hash - dmlc::HashCombine over the fields, as TVM's VMInstructionSerializer::Hash makes it */
uint64_t mpk_relay_hash(const struct mpk_relay_instr *instr);

#endif
