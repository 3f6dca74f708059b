/* SPDX-License-Identifier: Apache-2.0 */
/* print.h - host code as text: the walk that both languages share; private to lib/pack/launch
 *
 * A language is a form for each operation: text in which these stand for parts of the instruction.
 *
 *     $d            its result's number        $a $b $c   its values' numbers
 *     $i            imm, decimal               $s         text, as it is
 *     $0 ... $9     numbers for helper values that no other instruction of the function uses
 *
 * Any other letter is the language's own.
 */
#ifndef MPK_LAUNCH_INTERNAL_PRINT_H
#define MPK_LAUNCH_INTERNAL_PRINT_H

#include "launch/internal/hostcode.h"

struct mpk_host_printer;

struct mpk_host_language {
	/* the form of an instruction; "" for one that needs no text */
	const char *(*form)(const struct mpk_host_insn *in);
	/* a letter of its own */
	void (*put)(struct mpk_host_printer *p, char letter, const struct mpk_host_insn *in);
	/* what is before the instructions of a function; "}" ends it */
	void (*begin)(struct mpk_host_printer *p, const struct mpk_hostfn *f);
};

struct mpk_host_printer {
	const struct mpk_host_language *language;
	struct mpk_strbuf *out;
	unsigned helpers; /* helper values of the current function so far */
};

/* mpk_host_print_functions - the unit's functions, in their order
 * Returns  MPK_OK; MPK_E_NOMEM when one of them could not be built. Failures of out are
 *          remembered by it. */
enum mpk_code mpk_host_print_functions(struct mpk_host_printer *p, const struct mpk_host_unit *unit,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif
