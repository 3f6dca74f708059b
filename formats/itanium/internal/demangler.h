/* SPDX-License-Identifier: Apache-2.0 */
/* demangler.h - the state of one demangling, and what names and types ask of each other */
#ifndef MPK_FORMATS_ITANIUM_INTERNAL_DEMANGLER_H
#define MPK_FORMATS_ITANIUM_INTERNAL_DEMANGLER_H

#include "base/arena.h"
#include "itanium/demangle.h"

/* Of real code the longest symbols have some hundred substitutions and twenty levels. */
enum {
	DEMANGLE_SUBSTITUTIONS = 512,
	DEMANGLE_ARGS = 256,
	DEMANGLE_DEPTH = 96,
	DEMANGLE_STEPS = 20000,    /* types that are read; a pack is read once an element */
	DEMANGLE_TEXT = 256 << 10, /* bytes of all texts that are made on the way */
};

struct demangle_arg;

/* A type around the name that would be declared: "void (*" and ")(int)". */
struct demangle_type {
	const char *left, *right;
	const struct demangle_arg *pack; /* it is this pack, or an element of it; NULL: none */
};

/* A template argument; of a pack its elements. */
struct demangle_arg {
	struct demangle_type type;
	const struct demangle_arg *elements;
	size_t count;
	bool is_pack;
};

struct demangler {
	struct mpk_span s;
	size_t at;
	bool failed;
	unsigned depth, template_depth;
	size_t steps, spent;
	struct mpk_arena arena;
	struct mpk_demangle_form form;
	struct demangle_type known[DEMANGLE_SUBSTITUTIONS];
	size_t known_count;
	/* Of the function, which T_ and its like stand for. */
	struct demangle_arg args[DEMANGLE_ARGS];
	size_t arg_count;
	/* In the expansion of a pack the element that is read; else NULL. */
	const size_t *element;
	size_t expanded; /* elements of the pack that the pattern names */
};

/* What stands behind a name of a function. */
struct demangle_name {
	const char *text;
	const char *qualifiers; /* " const", of a member function */
	bool is_template;       /* it ends with template arguments, so that a return type follows */
	bool has_no_return;     /* nevertheless: of a constructor or a conversion */
};

const char *demangle_text(struct demangler *d, const char *fmt, ...) MPK_PRINTF(2, 3);
const char *demangle_fail(struct demangler *d);
char demangle_peek(const struct demangler *d, size_t ahead);
bool demangle_accept(struct demangler *d, const char *text);
void demangle_remember(struct demangler *d, struct demangle_type t);
size_t demangle_number(struct demangler *d);

/* demangle_source_name - "3foo" */
const char *demangle_source_name(struct demangler *d);

/* demangle_substitution - after an 'S' */
struct demangle_type demangle_substitution(struct demangler *d);

/* demangle_param - after a 'T': what the template parameter stands for */
struct demangle_type demangle_param(struct demangler *d);

/* demangle_sequence - behind an 'S' or 'T': "_", "0_", "A_" are 0, 1, 11 */
size_t demangle_sequence(struct demangler *d, unsigned base);

/* demangle_args - "<float, 4>", after an 'I'
 * @tag     they are those of the function, so T_ stands for them */
const char *demangle_args(struct demangler *d, bool tag);

/* demangle_name_read - a name; is that of a function when tag is set */
struct demangle_name demangle_name_read(struct demangler *d, bool tag);

/* demangle_encoding - a name with the parameters of a function */
const char *demangle_encoding(struct demangler *d, bool is_whole);

/* demangle_other - the same of another function than the one that T_ is of */
const char *demangle_other(struct demangler *d);

struct demangle_type demangle_type_read(struct demangler *d);

/* demangle_list - types up to an 'E', a '.' or the end, separated by commas; "v" alone is none */
const char *demangle_list(struct demangler *d);

#endif
