/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h - a compiled executable at work: the calls of one function, and the byte code of all so far */
#ifndef MPK_HOSTCODE_INTERNAL_COMPILED_H
#define MPK_HOSTCODE_INTERNAL_COMPILED_H

#include "base/strmap.h"
#include "elf/wants.h"
#include "hostcode/internal/frame.h"
#include "relaxvm/relaxvm.h"

enum { MPK_NO_REGISTER = -1 };

/* A call that was found. */
struct mpk_found_call {
	struct mpk_span name;
	int64_t to;          /* register, or MPK_NO_REGISTER */
	size_t first, count; /* of the arguments */
};

/* The list that an argument comes from is known when all calls are. */
struct mpk_found_argument {
	struct mpk_content content; /* NUMBER: an integer; ITEM; others: not known */
};

/* What registers hold where a branch leads. */
struct mpk_code_branch {
	uint64_t target;
	struct mpk_content regs[16];
};

enum { MPK_CODE_BRANCHES = 1 << 10, MPK_CODE_HANDLES = 1 << 13 };

struct mpk_code_handle {
	uint64_t address;
	const char *name; /* NULL: none */
};

struct mpk_recovery {
	const struct mpk_relax *x;
	const struct mpk_wants *w;
	struct mpk_arena *arena;
	struct mpk_strmap pieces; /* functions of the library: where they begin */
	const char **names;       /* of each piece that is a function, else NULL: the way back */
	struct mpk_frame frame;
	struct mpk_code_branch *branches; /* MPK_CODE_BRANCHES at most, whose targets are to come */
	size_t branch_count;
	uint64_t next_target;           /* the first of them */
	uint64_t code_left, words_left; /* what may still be read, and made */
	struct mpk_found_call *calls;
	size_t call_count, call_cap;
	struct mpk_found_argument *arguments;
	size_t argument_count, argument_cap;
	struct mpk_code_handle
		*handles; /* MPK_CODE_HANDLES of them, by a hash of their addresses */
	uint64_t registers,
		others[2]; /* lists, as things; others in the order in which they are given */
	size_t other_count;
	bool has_registers, is_lost, failed;
	/* what is made */
	struct mpk_strmap callees;
	struct mpk_relax_func *funcs;
	size_t func_count, func_cap;
	uint64_t *words, *offsets;
	size_t word_count, word_cap, offset_count, offset_cap;
};

/* mpk_compiled_follow - the calls that a piece of code makes, in calls and arguments of r
 * @is_first_pass  only to learn which handle has which name; calls are not noted
 * is_lost is set where something is not understood, failed where memory is out. */
void mpk_compiled_follow(struct mpk_recovery *r, size_t piece, bool is_first_pass);

#endif
