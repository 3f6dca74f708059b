/* SPDX-License-Identifier: Apache-2.0 */
/* demangler.h - the state of one demangling, and what names and types ask of each other */
#ifndef MPK_FORMATS_ITANIUM_INTERNAL_DEMANGLER_H
#define MPK_FORMATS_ITANIUM_INTERNAL_DEMANGLER_H

#include "base/arena.h"
#include "itanium/itanium.h"

/* Of real code the longest symbols have some hundred substitutions and twenty levels. */
enum {
	DEMANGLE_SUBSTITUTIONS = 512,
	DEMANGLE_ARGS = 256,
	DEMANGLE_DEPTH = 96,
	DEMANGLE_STEPS = 20000,    /* types that are read; a pack is read once an element */
	DEMANGLE_TEXT = 256 << 10, /* bytes of all texts that are made on the way */
};

struct mpk_demangle_arg;

/* A type around the name that would be declared: "void (*" and ")(int)". */
struct mpk_demangle_type {
	const char *left, *right;
	const struct mpk_demangle_arg *pack; /* it is this pack, or an element of it; NULL: none */
};

/* A template argument; of a pack its elements. */
struct mpk_demangle_arg {
	struct mpk_demangle_type type;
	const struct mpk_demangle_arg *elements;
	size_t count;
	bool is_pack;
};

struct mpk_demangler {
	struct mpk_span s;
	size_t at;
	bool failed;
	unsigned depth, template_depth;
	size_t steps, spent;
	struct mpk_arena arena;
	struct mpk_demangle_form form;
	struct mpk_demangle_type known[DEMANGLE_SUBSTITUTIONS];
	size_t known_count;
	/* Of the function, which T_ and its like stand for. */
	struct mpk_demangle_arg args[DEMANGLE_ARGS];
	size_t arg_count;
	/* In the expansion of a pack the element that is read; else NULL. */
	const size_t *element;
	size_t expanded; /* elements of the pack that the pattern names */
};

/* What follows the name of a function. */
struct mpk_demangle_name {
	const char *text;
	const char *qualifiers; /* " const", of a member function */
	bool is_template;       /* it ends with template arguments, so that a return type follows */
	bool has_no_return;     /* nevertheless: of a constructor or a conversion */
};

/* mpk_demangle_text - a text in the arena, within the limit of all texts; "" after a failure */
const char *mpk_demangle_text(struct mpk_demangler *d, const char *fmt, ...) MPK_PRINTF(2, 3);

/* mpk_demangle_fail - end the reading; returns "" */
const char *mpk_demangle_fail(struct mpk_demangler *d);

/* mpk_demangle_peek - the character so many further on; NUL: there is none
 * mpk_demangle_accept - pass over a text if it is next
 * mpk_demangle_number - a decimal number; 0 after a failure */
char mpk_demangle_peek(const struct mpk_demangler *d, size_t ahead);
bool mpk_demangle_accept(struct mpk_demangler *d, const char *text);
size_t mpk_demangle_number(struct mpk_demangler *d);

/* mpk_demangle_remember - number what was read, for a substitution */
void mpk_demangle_remember(struct mpk_demangler *d, struct mpk_demangle_type t);

/* mpk_demangle_source_name - "3foo" */
const char *mpk_demangle_source_name(struct mpk_demangler *d);

/* mpk_demangle_substitution - after an 'S' */
struct mpk_demangle_type mpk_demangle_substitution(struct mpk_demangler *d);

/* mpk_demangle_param - after a 'T': the argument of the template parameter */
struct mpk_demangle_type mpk_demangle_param(struct mpk_demangler *d);

/* mpk_demangle_args - "<float, 4>", after an 'I'
 * @tag     they are those of the function, so T_ names them */
const char *mpk_demangle_args(struct mpk_demangler *d, bool tag);

/* mpk_demangle_name_read - a name; is that of a function when tag is set */
struct mpk_demangle_name mpk_demangle_name_read(struct mpk_demangler *d, bool tag);

/* mpk_demangle_other - a name with the parameters of another function than the one that T_ is of */
const char *mpk_demangle_other(struct mpk_demangler *d);

/* mpk_demangle_type_read - a type; numbered unless it is one of the language */
struct mpk_demangle_type mpk_demangle_type_read(struct mpk_demangler *d);

/* mpk_demangle_list - types up to an 'E', a '.' or the end, separated by commas; "v" alone is none */
const char *mpk_demangle_list(struct mpk_demangler *d);

#endif
