/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - the instructions of a kernel as lines that can be compared with those of another build */
#ifndef MPK_DISASM_INTERNAL_LINES_H
#define MPK_DISASM_INTERNAL_LINES_H

#include "base/strmap.h"
#include "disasm/listing.h"

/* Each instruction in two forms, a line each. `shown` is what a reader sees: no addresses, no directives, labels
 * numbered from the beginning of the kernel. `plain` is what is compared: registers, labels and identifiers of
 * values have no numbers, since one instruction more gives all after it other ones.
 * Zero-initialise; mpk_disasm_lines_add; mpk_disasm_lines_fini. */
struct mpk_disasm_lines {
	struct mpk_strbuf shown, plain;
	uint32_t *ends; /* offset in shown of the end of each line; from malloc */
	size_t count, cap;
	bool is_host; /* code for processors: registers count, and addresses do not */
	bool is_cut;  /* it has more than MPK_DISASM_LINES_BYTES */
	bool failed;  /* memory is out */
};

enum { MPK_DISASM_LINES_BYTES = 1 << 20 };

/* mpk_disasm_lines_add - add the instructions of a listing */
void mpk_disasm_lines_add(struct mpk_disasm_lines *l, const struct mpk_listing *listing);
void mpk_disasm_lines_fini(struct mpk_disasm_lines *l);

#endif
