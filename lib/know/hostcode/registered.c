/* SPDX-License-Identifier: Apache-2.0 */
/* Each function that comes to a call of the C API is followed once, from its first instruction to its last, with what
 * registers and the stack hold. That gives its calls, with constants and its own arguments among theirs. Then calls are
 * substituted into each other, from the initializers on: at -O0 a name passes five functions. A second look at the
 * function, along its branches, tells which calls no path to a return leaves out. */
#include "hostcode/registered.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/linking.h"
#include "elf/wants.h"
#include "hostcode/internal/frame.h"

enum {
	ARGUMENTS = 6,
	REACH_MAX = 5,          /* calls between an initializer and the C API */
	DEPTH_MAX = 12,         /* functions within each other */
	CONTROLS_MAX = 1 << 14, /* branches of one function */
	CONTROL_SLOTS = 1 << 15,
	BRANCHES_MAX = 1 << 10, /* whose targets are still to come */
	NAME_BYTES = 256,
	STEPS_LEAST = 1 << 24,
};

/* Functions of C++'s runtime and of C that do not return. */
static bool never_returns(const char *symbol)
{
	static const char *const names[] = {
		"__cxa_throw",
		"__cxa_rethrow",
		"_Unwind_Resume",
		"__cxa_call_unexpected",
		"_ZSt9terminatev",
		"__cxa_bad_cast",
		"__cxa_throw_bad_array_new_length",
		"__stack_chk_fail",
		"__assert_fail",
		"abort",
		"exit",
		"_exit",
		"__cxa_call_terminate",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (strcmp(symbol, names[i]) == 0)
			return true;
	return strncmp(symbol, "_ZSt", 4) == 0 && strstr(symbol, "__throw_");
}

/* An instruction after which others than the next one may follow. */
struct control {
	uint64_t at, next, to;
	enum { JUMP, EITHER, RETURN, STOP } kind;
};

/* A call of a function that was followed. */
struct call {
	uint64_t at;
	size_t piece;               /* of the library; count: none */
	enum mpk_registry registry; /* else */
	bool is_certain;            /* every path to a return has it */
	struct mpk_content args[ARGUMENTS], name, length;
};

struct followed {
	size_t first, count; /* calls */
	bool done, is_busy;
	bool registers; /* it or what it calls; only once it was resolved */
	bool is_resolved;
};

struct branch {
	uint64_t to;
	uint64_t things; /* when: what was written later is not sure at its target */
	struct mpk_content regs[32];
};

struct walk {
	const struct mpk_reach *reach;
	struct mpk_arena *arena;
	struct mpk_strmap
		exported; /* functions that it exports, and calls by their symbols: their pieces */
	bool *comes;      /* pieces that come to a call of the C API */
	uint8_t *kinds;   /* enum mpk_registry of pieces that are these functions themselves */
	uint8_t *returns; /* of pieces: 0 not asked, 1 asked, 2 yes, 3 no */
	struct followed *followed;
	struct call *calls;
	size_t call_count, call_cap;
	struct mpk_frame frame;
	struct mpk_frame_pointer *pointers;
	size_t pointer_count, pointer_cap;
	struct control *controls;
	size_t control_count;
	uint64_t *slots; /* addresses of controls, by their hash; 0: free */
	uint64_t *stack;
	bool *seen;
	struct branch *branches;
	size_t branch_count;
	struct branch *back; /* jumps backwards */
	size_t back_count;
	uint64_t steps;
	struct mpk_strmap names;
	struct mpk_span *found;
	size_t found_count, found_cap;
	size_t *initial;
	size_t initial_count, initial_cap;
	bool has_more, failed;
};

static bool is_x86(const struct walk *w)
{
	return w->reach->elf->header.e_machine == EM_X86_64;
}

static bool spend(struct walk *w, uint64_t steps)
{
	bool enough = steps <= w->steps;

	w->steps -= enough ? steps : w->steps;
	return enough;
}

/* --- instructions ------------------------------------------------------------------------------- */

/* What an instruction means for the flow. */
struct flow {
	size_t len;
	enum { PLAIN, CALL, CALL_UNKNOWN, BRANCH, GO, GO_UNKNOWN, LEAVE, NEVER } kind;
	uint64_t to;   /* CALL, BRANCH, GO: where, unless by a slot */
	uint64_t slot; /* of the global offset table; 0: none */
};

static bool x86_flow(struct mpk_span code, uint64_t at, struct mpk_x86 *i, struct flow *out)
{
	uint64_t next, op;

	if (!mpk_x86_read(code, i))
		return false;
	next = at + i->len;
	op = i->opcode;
	*out = (struct flow){ .len = i->len, .to = next + i->imm };
	if (i->map == 1)
		out->kind = op >= 0x80 && op <= 0x8f && !i->is_vex ? BRANCH
			    : op == 0x0b                           ? NEVER
								   : PLAIN;
	else if (i->map || i->is_vex)
		out->kind = PLAIN;
	else if (op == 0xe8)
		out->kind = CALL;
	else if (op == 0xe9 || op == 0xeb)
		out->kind = GO;
	else if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
		out->kind = BRANCH;
	else if (op == 0xc3 || op == 0xc2)
		out->kind = LEAVE;
	else if (op == 0xcc || op == 0xf4)
		out->kind = NEVER;
	else if (op == 0xff && ((i->reg & 7) == 2 || (i->reg & 7) == 4)) {
		out->kind = (i->reg & 7) == 2 ? CALL_UNKNOWN : GO_UNKNOWN;
		if (i->is_rip) {
			out->kind = (i->reg & 7) == 2 ? CALL : GO;
			out->slot = next + (uint64_t)(int64_t)i->disp;
		}
	}
	return true;
}

static bool aarch64_flow(struct mpk_span code, uint64_t at, struct flow *out)
{
	uint32_t word;

	if (code.len < 4)
		return false;
	word = mpk_load_u32(code.data);
	*out = (struct flow){ .len = 4, .kind = PLAIN };
	if (mpk_aarch64_branch(word, at, &out->to)) {
		out->kind = word >> 31 ? CALL : GO;
	} else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
		out->kind = BRANCH;
		out->to = at + mpk_aarch64_signed(word >> 5 & 0x7ffff, 19) * 4;
	} else if ((word & 0x7e000000) == 0x36000000) {
		out->kind = BRANCH;
		out->to = at + mpk_aarch64_signed(word >> 5 & 0x3fff, 14) * 4;
	} else if ((word & 0xfffffc1f) == 0xd65f0000) {
		out->kind = LEAVE;
	} else if ((word & 0xfffffc1f) == 0xd61f0000) {
		out->kind = GO_UNKNOWN;
	} else if ((word & 0xfffffc1f) == 0xd63f0000) {
		out->kind = CALL_UNKNOWN;
	} else if ((word & 0xffe0001f) == 0xd4200000 || !(word >> 16)) { /* brk, udf */
		out->kind = NEVER;
	}
	return true;
}

static bool flow_at(const struct walk *w, uint64_t at, struct mpk_x86 *i, struct flow *out)
{
	struct mpk_span code;
	uint64_t off;
	uint32_t flags;

	if (!mpk_elf_is_loaded(w->reach->elf, at, 1, &flags) || !(flags & PF_X) ||
	    !mpk_elf_at_address(w->reach->elf, at, &code, &off))
		return false;
	return is_x86(w) ? x86_flow(code, at, i, out) : aarch64_flow(code, at, out);
}

/* Where a call or a jump leads.
 * @symbol  receives its name, when it goes through a slot; NULL: none
 * Returns  a piece that begins there; the count of them: none */
static size_t callee_of(const struct walk *w, const struct flow *f, const char **symbol)
{
	size_t piece = f->slot ? w->reach->count : mpk_reach_piece(w->reach, f->to);
	uint64_t slot = f->slot;

	*symbol = NULL;
	if (piece < w->reach->count || (!slot && !mpk_plt_slot(w->reach->elf, f->to, &slot)))
		return piece;
	*symbol = mpk_plt_names_find(&w->reach->plt, slot);
	if (*symbol && mpk_strmap_find(&w->exported, mpk_span_str(*symbol), &piece))
		return piece;
	return w->reach->count;
}

/* --- paths -------------------------------------------------------------------------------------- */

static bool piece_returns(struct walk *w, size_t piece, unsigned depth);

static bool call_returns(struct walk *w, const struct flow *f, unsigned depth)
{
	const char *symbol;
	size_t piece = callee_of(w, f, &symbol);

	if (symbol && never_returns(symbol))
		return false;
	return piece == w->reach->count || piece_returns(w, piece, depth);
}

/* Returns whether it is new. */
static bool control_is_new(struct walk *w, uint64_t at)
{
	size_t i = (size_t)(at * 0x9e3779b97f4a7c15u >> 40) % CONTROL_SLOTS;

	for (; w->slots[i]; i = (i + 1) % CONTROL_SLOTS)
		if (w->slots[i] == at)
			return false;
	w->slots[i] = at;
	return true;
}

static int by_at(const void *a, const void *b)
{
	const struct control *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Reads the instructions from a place on to the first that ends its block.
 * Returns  false: code that is not understood, or too much */
static bool read_block(struct walk *w, uint64_t at, unsigned depth, struct control *out)
{
	struct mpk_x86 i;
	struct flow f;

	for (;; at += f.len) {
		if (!spend(w, 1) || !flow_at(w, at, &i, &f))
			return false;
		*out = (struct control){ at, at + f.len, f.to, RETURN };
		switch (f.kind) {
		case PLAIN:
		case CALL_UNKNOWN:
			continue;
		case CALL:
			if (call_returns(w, &f, depth))
				continue;
			out->kind = STOP;
			return true;
		case NEVER:
			out->kind = STOP;
			return true;
		case BRANCH:
			out->kind = EITHER;
			return true;
		case GO: {
			const char *symbol;
			size_t piece = callee_of(w, &f, &symbol);

			/* A jump to another function is a call of it and a return. Parts of this one that the compiler put
			 * aside are pieces, too: they come back, or end in a throw. */
			out->kind = f.slot || symbol ? RETURN : JUMP;
			if (symbol && piece == w->reach->count && never_returns(symbol))
				out->kind = STOP;
			return true;
		}
		case GO_UNKNOWN:
		case LEAVE:
			return true;
		}
	}
}

/* Collects all that ends a block and can be reached from a function's beginning, by address.
 * Returns  false: not all of it is understood */
static bool read_controls(struct walk *w, uint64_t from, unsigned depth, struct control *list,
			  size_t *count)
{
	size_t waiting = 1;

	memset(w->slots, 0, CONTROL_SLOTS * sizeof *w->slots);
	w->stack[0] = from;
	*count = 0;
	while (waiting) {
		struct control c;

		if (!read_block(w, w->stack[--waiting], depth, &c))
			return false;
		if (!control_is_new(w, c.at))
			continue;
		if (*count == CONTROLS_MAX)
			return false;
		list[(*count)++] = c;
		if (c.kind == EITHER || c.kind == JUMP)
			w->stack[waiting++] = c.to;
		if (c.kind == EITHER)
			w->stack[waiting++] = c.next;
	}
	qsort(list, *count, sizeof *list, by_at);
	return true;
}

/* Whether a path leads from a place to a return and leaves a call out. */
static bool leaves_out(struct walk *w, uint64_t from, uint64_t call)
{
	size_t waiting = 1;

	memset(w->seen, 0, w->control_count * sizeof *w->seen);
	w->stack[0] = from;
	while (waiting) {
		uint64_t at = w->stack[--waiting];
		size_t i = mpk_first_from(w->controls, w->control_count, sizeof *w->controls,
					  offsetof(struct control, at), at);
		const struct control *c = &w->controls[i];

		if (!spend(w, 1) || i == w->control_count)
			return true;
		if ((call >= at && call <= c->at) || w->seen[i])
			continue;
		w->seen[i] = true;
		if (c->kind == RETURN)
			return true;
		if (c->kind == EITHER || c->kind == JUMP)
			w->stack[waiting++] = c->to;
		if (c->kind == EITHER)
			w->stack[waiting++] = c->next;
	}
	return false;
}

/* A function whose code is not understood returns. */
static bool piece_returns(struct walk *w, size_t piece, unsigned depth)
{
	enum { NOT_ASKED, ASKED, YES, NO, DEEP = 3, MOST = 1 << 9 };
	uint64_t stack[MOST + 2];
	uint64_t seen[MOST];
	size_t waiting = 1, count = 0;

	if (w->returns[piece] != NOT_ASKED || depth == DEEP)
		return w->returns[piece] != NO;
	w->returns[piece] = ASKED;
	stack[0] = w->reach->starts[piece];
	while (waiting && w->returns[piece] == ASKED) {
		struct control c;
		bool is_old = false;

		if (!read_block(w, stack[--waiting], depth + 1, &c) || c.kind == RETURN ||
		    count == MOST) {
			w->returns[piece] = YES;
			break;
		}
		for (size_t i = 0; i < count && !is_old; i++)
			is_old = seen[i] == c.at;
		if (is_old)
			continue;
		seen[count++] = c.at;
		if (c.kind != STOP)
			stack[waiting++] = c.to;
		if (c.kind == EITHER)
			stack[waiting++] = c.next;
		if (waiting > MOST)
			w->returns[piece] = YES;
	}
	if (w->returns[piece] == ASKED)
		w->returns[piece] = NO;
	return w->returns[piece] != NO;
}

/* --- one function ------------------------------------------------------------------------------- */

static const uint8_t x86_arguments[ARGUMENTS] = { MPK_X86_RDI, MPK_X86_RSI, MPK_X86_RDX,
						  MPK_X86_RCX, 8,           9 };

static unsigned argument_register(const struct walk *w, unsigned index)
{
	return is_x86(w) ? x86_arguments[index] : index;
}

static bool same_content(struct mpk_content a, struct mpk_content b)
{
	return a.kind == b.kind && a.a == b.a && a.b == b.b;
}

static struct branch *find_branch(struct branch *list, size_t count, uint64_t to)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].to == to)
			return &list[i];
	return NULL;
}

static void meet(struct walk *w, struct mpk_content *to, const struct mpk_content *from)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(w->frame.regs); i++)
		if (!same_content(to[i], from[i]))
			to[i] = (struct mpk_content){ MPK_CONTENT_THING, w->frame.things++, 0 };
}

/* Notes the registers at a branch, for the place that it leads to.
 * @is_last branches backwards were noted before */
static void note_branch(struct walk *w, uint64_t to, uint64_t next, bool is_last)
{
	bool is_back = to < next;
	struct branch *list = is_back ? w->back : w->branches, *b;
	size_t *count = is_back ? &w->back_count : &w->branch_count;

	if (is_back && is_last)
		return;
	b = find_branch(list, *count, to);
	if (b) {
		meet(w, b->regs, w->frame.regs);
	} else if (*count < BRANCHES_MAX) {
		b = &list[(*count)++];
		b->to = to;
		b->things = w->frame.things++;
		memcpy(b->regs, w->frame.regs, sizeof b->regs);
	}
}

/* Values that only one of the passes over a function has given out are not the same. */
static void join_back(struct walk *w, uint64_t at)
{
	const struct branch *b = w->back_count ? find_branch(w->back, w->back_count, at) : NULL;

	if (b)
		meet(w, w->frame.regs, b->regs);
}

/* Where paths meet, what they disagree on is forgotten: registers, and memory that one of them wrote. */
static void join(struct walk *w, uint64_t at, bool *is_alive)
{
	struct branch *b = w->branch_count ? find_branch(w->branches, w->branch_count, at) : NULL;

	if (!b)
		return;
	if (*is_alive)
		meet(w, w->frame.regs, b->regs);
	else
		memcpy(w->frame.regs, b->regs, sizeof b->regs);
	mpk_frame_forget_since(&w->frame, b->things);
	memset(w->frame.vectors, 0, sizeof w->frame.vectors);
	*is_alive = true;
	*b = w->branches[--w->branch_count];
}

static struct mpk_content moved_by(struct mpk_content place, int64_t bytes)
{
	if (place.kind == MPK_CONTENT_THING)
		place.b += bytes;
	else
		place.a += (uint64_t)bytes;
	return place;
}

/* Unoptimised code makes a std::string_view, a length and an address, of a text by its constructor, and asks it for
 * the address.
 * @result  set where it is known */
static void take_call(struct walk *w, uint64_t at, const struct flow *f, struct followed *to,
		      struct mpk_content *result)
{
	static const char view_of[] = "_ZNSt17basic_string_viewIcSt11char_traitsIcEEC",
			  data_of[] = "_ZNKSt17basic_string_viewIcSt11char_traitsIcEE4dataEv";
	const char *symbol;
	struct call c = { .at = at, .piece = callee_of(w, f, &symbol) };
	struct mpk_content first = w->frame.regs[argument_register(w, 0)];

	if (symbol && strncmp(symbol, view_of, sizeof view_of - 1) == 0)
		mpk_frame_put(&w->frame, moved_by(first, 8), w->frame.regs[argument_register(w, 1)],
			      8);
	if (symbol && strcmp(symbol, data_of) == 0)
		*result = mpk_frame_at(&w->frame, moved_by(first, 8), 8);
	if (c.piece < w->reach->count && w->kinds[c.piece])
		c.registry = (enum mpk_registry)w->kinds[c.piece];
	else if (symbol && c.piece == w->reach->count)
		c.registry = mpk_registry_of(symbol);
	if (!c.registry && (c.piece == w->reach->count || !w->comes[c.piece]))
		return;
	for (unsigned i = 0; i < ARGUMENTS; i++)
		c.args[i] = w->frame.regs[argument_register(w, i)];
	c.name = first;
	if (c.registry == MPK_REGISTRY_BYTES) {
		c.name = mpk_frame_at(&w->frame, first, 8);
		c.length = mpk_frame_at(&w->frame, moved_by(first, 8), 8);
	}
	if (!MPK_VEC_ROOM(w->calls, w->call_count, w->call_cap)) {
		w->failed = true;
		return;
	}
	w->calls[w->call_count++] = c;
	to->count++;
}

/* Whether an instruction compares two equal numbers, and the next one branches unless they are.
 * GCC's __static_initialization_and_destruction_0(1, 65535) compares both arguments before it does anything. */
static bool compares_equals(struct walk *w, struct mpk_span code)
{
	struct mpk_content c = { 0 }, with = { .kind = MPK_CONTENT_NUMBER };

	if (is_x86(w)) {
		struct mpk_x86 i, branch;

		if (!mpk_x86_read(code, &i) || i.map || !i.has_modrm || (i.reg & 7) != 7 ||
		    (i.opcode != 0x83 && i.opcode != 0x81) || i.is_rip || i.is_indexed ||
		    !mpk_x86_read(mpk_span_from(code, i.len), &branch) ||
		    !((!branch.map && branch.opcode == 0x75) ||
		      (branch.map == 1 && branch.opcode == 0x85)))
			return false;
		c = w->frame.regs[i.rm];
		if (i.is_memory && c.kind == MPK_CONTENT_THING) {
			c.b += i.disp;
			c = mpk_frame_at(&w->frame, c, 4);
		}
		with.a = i.imm;
	} else if (code.len >= 8) {
		uint32_t word = mpk_load_u32(code.data), branch = mpk_load_u32(code.data + 4);

		if ((branch & 0xff00001f) != 0x54000001) /* b.ne */
			return false;
		c = w->frame.regs[mpk_aarch64_rn(word)];
		if ((word & 0x7f80001f) == 0x7100001f) /* cmp Xn, #number */
			with.a = word >> 10 & 0xfff;
		else if ((word & 0x7fe0fc1f) == 0x6b00001f) /* cmp Xn, Xm */
			with = w->frame.regs[word >> 16 & 31];
		else
			return false;
	}
	return c.kind == MPK_CONTENT_NUMBER && with.kind == MPK_CONTENT_NUMBER &&
	       (uint32_t)c.a == (uint32_t)with.a;
}

static void never_taken(struct walk *w, uint64_t at)
{
	size_t i = mpk_first_from(w->controls, w->control_count, sizeof *w->controls,
				  offsetof(struct control, at), at);

	if (i < w->control_count && w->controls[i].at == at && w->controls[i].kind == EITHER)
		w->controls[i].to = w->controls[i].next;
}

/* At its beginning each register is a value of its own, with its number, but the arguments that are given. */
static void begin_function(struct walk *w, const struct call *given)
{
	struct mpk_frame f = { .words = w->frame.words,
			       .round = w->frame.round + 1,
			       .elf = w->reach->elf,
			       .pointers = w->pointers,
			       .pointer_count = w->pointer_count };

	for (; f.things < MPK_ARRAY_COUNT(f.regs); f.things++)
		f.regs[f.things] = (struct mpk_content){ MPK_CONTENT_THING, f.things, 0 };
	w->frame = f;
	w->branch_count = 0;
	for (unsigned i = 0; given && i < 2; i++)
		w->frame.regs[argument_register(w, i)] = given->args[i];
}

/* @is_last whether calls are noted; before, the registers at jumps backwards are, which join what precedes them */
static void follow_once(struct walk *w, size_t piece, const struct call *given, bool is_last,
			struct followed *out)
{
	struct mpk_span code = mpk_reach_code(w->reach, piece);
	const unsigned result_register = is_x86(w) ? MPK_X86_RAX : 0;
	uint64_t at = w->reach->starts[piece], compared = 0;
	bool is_alive = true;
	struct mpk_x86 i;
	struct flow f;

	begin_function(w, given);
	for (size_t n = 0; n < code.len && !w->failed; n += f.len, at += f.len) {
		struct mpk_content result = { .kind = MPK_CONTENT_HALF };
		uint64_t next;

		if (!spend(w, 1) || !flow_at(w, at, &i, &f))
			return;
		next = at + f.len;
		join(w, at, &is_alive);
		if (is_last)
			join_back(w, at);
		if (compares_equals(w, mpk_span_from(code, n)))
			compared = next;
		if (f.kind == BRANCH && at == compared)
			never_taken(w, at);
		else if (f.kind == BRANCH || (f.kind == GO && is_alive && !f.slot))
			note_branch(w, f.to, next, is_last);
		if ((f.kind == CALL || f.kind == GO) && is_last &&
		    is_alive) /* a jump may be a call at the end */
			take_call(w, at, &f, out, &result);
		if (is_x86(w))
			mpk_frame_step(&w->frame, &i, next);
		else
			mpk_frame_step_aarch64(&w->frame, mpk_load_u32(code.data + n), at);
		if (result.kind != MPK_CONTENT_HALF)
			w->frame.regs[result_register] = result;
		if (f.kind == GO || f.kind == GO_UNKNOWN || f.kind == LEAVE || f.kind == NEVER ||
		    (f.kind == CALL && !call_returns(w, &f, 0))) {
			is_alive = false;
		}
	}
}

static void follow(struct walk *w, size_t piece, const struct call *given)
{
	struct followed *to = &w->followed[piece];
	bool is_known;

	to->done = true;
	to->first = w->call_count;
	w->back_count = 0;
	is_known = read_controls(w, w->reach->starts[piece], 0, w->controls, &w->control_count);
	if (!is_known)
		w->control_count = 0;
	follow_once(w, piece, given, false, to);
	follow_once(w, piece, given, true, to);
	for (size_t i = 0; i < to->count; i++)
		w->calls[to->first + i].is_certain =
			is_known &&
			!leaves_out(w, w->reach->starts[piece], w->calls[to->first + i].at);
}

/* --- names -------------------------------------------------------------------------------------- */

/* A value of a function, with the arguments of a call of it in place of its own. */
static struct mpk_content substituted(const struct walk *w, struct mpk_content c,
				      const struct call *by)
{
	if (c.kind == MPK_CONTENT_THING && c.a < MPK_ARRAY_COUNT(w->frame.regs) && !c.b)
		for (unsigned i = 0; by && i < ARGUMENTS; i++)
			if (argument_register(w, i) == c.a)
				return by->args[i];
	return c.kind == MPK_CONTENT_ADDRESS || c.kind == MPK_CONTENT_NUMBER
		       ? c
		       : (struct mpk_content){ MPK_CONTENT_HALF, 0, 0 };
}

static void take_name(struct walk *w, struct mpk_content name, struct mpk_content length)
{
	struct mpk_span bytes = { 0 };
	uint64_t off, len;
	int added;

	if (name.kind != MPK_CONTENT_ADDRESS ||
	    !mpk_elf_at_address(w->reach->elf, name.a, &bytes, &off)) {
		w->has_more = true;
		return;
	}
	if (bytes.len > NAME_BYTES)
		bytes.len = NAME_BYTES;
	len = strnlen((const char *)bytes.data, bytes.len);
	if (length.kind == MPK_CONTENT_NUMBER && length.a < len)
		len = length.a;
	for (size_t i = 0; i < len; i++)
		if (bytes.data[i] < ' ' || bytes.data[i] == 0x7f)
			len = 0;
	if (!len || len == bytes.len) {
		w->has_more = true;
		return;
	}
	bytes.len = (size_t)len;
	added = mpk_strmap_put(&w->names, bytes, 0, NULL);
	if (added > 0 && MPK_VEC_ROOM(w->found, w->found_count, w->found_cap))
		w->found[w->found_count++] = bytes;
	else
		w->failed |= added != 0;
}

/* @by      the call with constants alone as arguments; NULL: an initializer
 * Returns  whether it registers anything */
static bool resolve(struct walk *w, size_t piece, const struct call *by, unsigned depth)
{
	struct followed *f = &w->followed[piece];
	bool registers = false;

	if (f->is_busy || depth == DEPTH_MAX || (f->is_resolved && !f->registers) || !spend(w, 1))
		return f->registers;
	if (!f->done) {
		/* GCC's own function for all static objects of a source */
		bool is_first = by && by->args[0].kind == MPK_CONTENT_NUMBER &&
				by->args[0].a == 1 && by->args[1].kind == MPK_CONTENT_NUMBER &&
				by->args[1].a == 65535;

		follow(w, piece, is_first ? by : NULL);
	}
	f->is_busy = true;
	for (size_t i = 0; i < f->count && !w->failed; i++) {
		struct call c = w->calls[f->first + i];

		c.name = substituted(w, c.name, by);
		c.length = substituted(w, c.length, by);
		for (unsigned k = 0; k < ARGUMENTS; k++)
			c.args[k] = substituted(w, c.args[k], by);
		if (!c.is_certain) {
			w->has_more = true;
			registers = true;
		} else if (c.registry) {
			take_name(w, c.name, c.length);
			registers = true;
		} else {
			registers |= resolve(w, c.piece, &c, depth + 1);
		}
	}
	f->is_busy = false;
	f->is_resolved = true;
	f->registers |= registers;
	return f->registers;
}

/* --- the library -------------------------------------------------------------------------------- */

static void registered_take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct walk *w = arg;

	if (!r->is_relative || !r->has_addend || w->failed)
		return;
	if (MPK_VEC_ROOM(w->pointers, w->pointer_count, w->pointer_cap))
		w->pointers[w->pointer_count++] =
			(struct mpk_frame_pointer){ r->address, (uint64_t)r->addend };
	else
		w->failed = true;
}

MPK_ORDER_BY(pointers_by_address, struct mpk_frame_pointer, address)

static void take_initializer(void *arg, size_t piece)
{
	struct walk *w = arg;

	if (MPK_VEC_ROOM(w->initial, w->initial_count, w->initial_cap))
		w->initial[w->initial_count++] = piece;
	else
		w->failed = true;
}

static enum mpk_code read_exports(struct walk *w, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol s;

	MPK_TRY(mpk_symtab_dynamic(w->reach->elf, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		size_t piece;

		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		piece = s.defined && s.type == STT_FUNC ? mpk_reach_piece(w->reach, s.value)
							: w->reach->count;
		if (piece == w->reach->count)
			continue;
		MPK_TRY_ALLOC(mpk_strmap_put(&w->exported, mpk_span_str(s.name), piece, NULL) >= 0,
			      err);
		w->kinds[piece] =
			w->kinds[piece] ? w->kinds[piece] : (uint8_t)mpk_registry_of(s.name);
	}
	return MPK_OK;
}

/* A search of what initializers call. */
struct reached {
	struct walk *w;
	uint8_t *depths; /* of pieces; 0: not reached */
	uint32_t *queue;
	size_t queued, piece;
	struct mpk_want_edge *edges;
	size_t edge_count, edge_cap;
};

static void reach(struct reached *r, size_t piece, unsigned depth)
{
	if (r->depths[piece])
		return;
	r->depths[piece] = (uint8_t)depth;
	r->queue[r->queued++] = (uint32_t)piece;
}

static void reached_take_ref(void *arg, const struct mpk_reach_ref *ref)
{
	struct reached *r = arg;
	struct walk *w = r->w;
	size_t piece = ref->piece;

	if (ref->kind == MPK_REACH_SYMBOL) {
		w->comes[r->piece] |= mpk_registry_of(ref->symbol) != MPK_REGISTRY_NONE;
		if (!mpk_strmap_find(&w->exported, mpk_span_str(ref->symbol), &piece))
			return;
	} else if (ref->kind != MPK_REACH_CODE) {
		return;
	}
	w->comes[r->piece] |= w->kinds[piece] != MPK_REGISTRY_NONE;
	if (r->depths[r->piece] < REACH_MAX)
		reach(r, piece, r->depths[r->piece] + 1u);
	if (MPK_VEC_ROOM(r->edges, r->edge_count, r->edge_cap))
		r->edges[r->edge_count++] =
			(struct mpk_want_edge){ (uint32_t)piece, (uint32_t)r->piece };
	else
		w->failed = true;
}

/* Finds the functions that come to a call of the C API among those that initializers call: the others are not
 * followed. */
static enum mpk_code mark_pieces(struct walk *w, struct mpk_error *err)
{
	struct reached r = {
		.w = w,
		.depths = calloc(w->reach->count + 1, sizeof *r.depths),
		.queue = calloc(w->reach->count + 1, sizeof *r.queue),
	};
	enum mpk_code code = MPK_OK;

	w->failed |= !r.depths || !r.queue;
	for (size_t i = 0; i < w->initial_count && !w->failed; i++)
		reach(&r, w->initial[i], 1);
	for (size_t at = 0; at < r.queued && !w->failed; at++) {
		r.piece = r.queue[at];
		if (!spend(w, mpk_reach_code(w->reach, r.piece).len / 8))
			break;
		mpk_reach_each(w->reach, r.piece, reached_take_ref, &r);
	}
	mpk_want_edges_sort(r.edges, r.edge_count);
	if (!w->failed)
		code = mpk_want_edges_spread(r.edges, r.edge_count, w->comes, w->reach->count, err);
	free(r.depths);
	free(r.queue);
	free(r.edges);
	return code;
}

static enum mpk_code walk_all(struct walk *w, struct mpk_error *err)
{
	struct mpk_linking l;

	MPK_TRY(read_exports(w, err));
	MPK_TRY(mpk_linking_open(w->reach->elf, &l, err));
	MPK_TRY(mpk_linking_relocations(&l, registered_take_relocation, w, err));
	if (w->pointer_count)
		qsort(w->pointers, w->pointer_count, sizeof *w->pointers, pointers_by_address);
	MPK_TRY(mpk_reach_initializers(w->reach, take_initializer, w, err));
	MPK_TRY(mark_pieces(w, err));
	for (size_t i = 0; i < w->initial_count && !w->failed; i++)
		if (w->comes[w->initial[i]])
			(void)resolve(w, w->initial[i], NULL, 0);
	return w->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code walk_library(const struct mpk_reach *reach, struct mpk_arena *arena,
				  struct mpk_global_names *out, struct mpk_error *err)
{
	size_t count = reach->count;
	struct walk w = {
		.reach = reach,
		.steps = 4 * (uint64_t)reach->elf->bytes.len + STEPS_LEAST,
		.comes = calloc(count + 1, sizeof *w.comes),
		.kinds = calloc(count + 1, sizeof *w.kinds),
		.returns = calloc(count + 1, sizeof *w.returns),
		.followed = calloc(count + 1, sizeof *w.followed),
		.frame.words = calloc(MPK_FRAME_WORDS, sizeof *w.frame.words),
		.controls = calloc(CONTROLS_MAX, sizeof *w.controls),
		.slots = calloc(CONTROL_SLOTS, sizeof *w.slots),
		.stack = calloc(2 * CONTROLS_MAX + 2, sizeof *w.stack),
		.seen = calloc(CONTROLS_MAX, sizeof *w.seen),
		.branches = calloc(BRANCHES_MAX, sizeof *w.branches),
		.back = calloc(BRANCHES_MAX, sizeof *w.back),
	};
	bool enough = w.comes && w.kinds && w.returns && w.followed && w.frame.words &&
		      w.controls && w.slots && w.stack && w.seen && w.branches && w.back;
	enum mpk_code code = enough ? walk_all(&w, err) : mpk_fail_nomem(err);
	struct mpk_span *names = mpk_arena_keep(arena, w.found, w.found_count, sizeof *names);

	if (code == MPK_OK && names)
		*out = (struct mpk_global_names){ names, w.found_count, w.has_more };
	else if (code == MPK_OK)
		code = mpk_fail_nomem(err);
	mpk_strmap_fini(&w.exported);
	mpk_strmap_fini(&w.names);
	free(w.comes);
	free(w.kinds);
	free(w.returns);
	free(w.followed);
	free(w.frame.words);
	free(w.controls);
	free(w.slots);
	free(w.stack);
	free(w.seen);
	free(w.branches);
	free(w.back);
	free(w.calls);
	free(w.pointers);
	free(w.found);
	free(w.initial);
	return code;
}

enum mpk_code mpk_registered_read(const struct mpk_elf *e, struct mpk_arena *arena,
				  struct mpk_global_names *out, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_reach pieces = { 0 };
	enum mpk_code code;

	*out = (struct mpk_global_names){ 0 };
	if (e->header.e_type != ET_DYN || mpk_symtab_dynamic(e, &table, err) != MPK_OK ||
	    !mpk_symtab_registers(&table))
		return MPK_OK;
	code = mpk_reach_open(e, &pieces, err);
	if (code == MPK_OK && pieces.count)
		code = walk_library(&pieces, arena, out, err);
	mpk_reach_close(&pieces);
	return code == MPK_E_NOMEM
		       ? code
		       : MPK_OK; /* what is wrong with its tables is `verify`'s to say */
}
