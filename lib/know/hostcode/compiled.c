/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - recovers the byte code of compiled functions of the Relax VM
 *
 * TVM compiles such a function to a piece that checks its four arguments, and a body, which is a
 * part of this piece or a piece of its own. How an argument is used tells which of the lists it is:
 * results are moved into the list of registers; constants are passed before functions. A function
 * of a model with branches ("if") asks for its condition by vm.builtin.read_if_cond. Such a
 * function is skipped: the code is followed in one direction only, so the calls of both branches
 * would seem to be made. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/wants.h"
#include "hostcode/compiled.h"
#include "hostcode/internal/frame.h"
#include "relaxvm/relaxvm.h"

/* --- calls -------------------------------------------------------------------------------------- */

enum { MPK_NO_REGISTER = -1 };

/* A call that was found. */
struct mpk_found_call {
	struct mpk_span name;
	int64_t to;          /* register for the result, or MPK_NO_REGISTER */
	size_t first, count; /* its arguments in the list of arguments */
};

/* An argument of a call. The list that it belongs to is known after all calls have been read. */
struct mpk_found_argument {
	struct mpk_content content; /* NUMBER: an integer; ITEM; others: unknown */
};

/* The registers at the target of a branch. */
struct mpk_code_branch {
	uint64_t target;
	struct mpk_content regs[16];
};

enum { MPK_CODE_BRANCHES = 1 << 10, MPK_CODE_HANDLES = 1 << 13 };

struct mpk_code_handle {
	uint64_t address;
	const char *name; /* the name that it was found by; NULL: none */
};

struct mpk_recovery {
	const struct mpk_relax *x;
	const struct mpk_wants *w;
	struct mpk_arena *arena;
	struct mpk_strmap pieces; /* functions of the library, by name: the piece that each begins
				   * with */
	const char **names;       /* for each piece the name of the function; NULL: it is not the
				   * beginning of one */
	struct mpk_frame frame;
	struct mpk_code_branch *branches; /* branches whose targets are still ahead, at most
					   * MPK_CODE_BRANCHES */
	size_t branch_count;
	uint64_t next_target;           /* the nearest of these targets */
	uint64_t code_left, words_left; /* budgets: bytes of code to read, words to write */
	struct mpk_found_call *calls;
	size_t call_count, call_cap;
	struct mpk_found_argument *arguments;
	size_t argument_count, argument_cap;
	struct mpk_code_handle *handles; /* MPK_CODE_HANDLES slots, indexed by a hash of the
					  * handle's address */
	uint64_t registers,
		others[2]; /* the list of registers, and the other lists in the order in which they
			    * were found, as values */
	size_t other_count;
	bool has_registers, is_lost, failed;
	/* --- what is written: --- */
	struct mpk_strmap callees;
	struct mpk_relax_func *funcs;
	size_t func_count, func_cap;
	uint64_t *words, *offsets;
	size_t word_count, word_cap, offset_count, offset_cap;
};

/* --- The calls of a compiled function of the Relax VM, in its machine code
 *
 * An argument is a cell of 16 bytes, a type and a value. Integers are stored there;
 * TVMBackendAnyListSetPackedArg stores items of lists. Builtins are called through handles, which
 * are filled by name at the first use. The code that fills a handle may come last, so a first pass
 * finds the names of all handles. */

enum {
	CELL_BYTES = 16, /* bytes of a cell: its type in the first 8, its value in the others */
	CELL_INT = 1,    /* type numbers of tvm-ffi */
	CELL_BOOL = 2,
	ARGS_MAX = 1 << 16,
	COMPILED_CALLS_NEAR = 64, /* slots of a hash table that are tried for a key */
	PIECE_WANTS = 64,   /* instructions of a piece that are searched for the name that it looks
			     * up */
	SEARCH_BYTES = 256, /* cost of a search among branches, counted as bytes of code */
};

/* --- names --------------------------------------------------------------------------------- */

static const char *text_at(const struct mpk_recovery *r, uint64_t address)
{
	struct mpk_span bytes;
	uint64_t off;

	if (!mpk_elf_at_address(r->w->reach.elf, address, &bytes, &off) ||
	    !memchr(bytes.data, 0, bytes.len < 256 ? bytes.len : 256))
		return NULL;
	return (const char *)bytes.data;
}

MPK_ORDER_BY(wants_by_piece, struct mpk_want, piece)

/* Returns the name that a piece looks up. A piece that fills a handle looks up one name. */
static const char *name_of_piece(const struct mpk_recovery *r, uint64_t address)
{
	const struct mpk_want key = { .piece = (uint32_t)mpk_reach_piece(&r->w->reach, address) };
	size_t i = mpk_lower_bound(r->w->items, r->w->count, sizeof key, &key, wants_by_piece);
	size_t end = r->w->count - i < PIECE_WANTS ? r->w->count : i + PIECE_WANTS;

	for (; i < end && r->w->items[i].piece == key.piece; i++)
		if (r->w->items[i].kind == MPK_WANT_NAME)
			return r->w->items[i].name;
	return NULL;
}

/* Returns the slot of a handle, or a free slot; NULL: neither is found within COMPILED_CALLS_NEAR
 * slots. */
static struct mpk_code_handle *handle_at(const struct mpk_recovery *r, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15u >> 40;

	for (size_t i = 0; i < COMPILED_CALLS_NEAR; i++) {
		struct mpk_code_handle *h = &r->handles[(hash + i) % MPK_CODE_HANDLES];

		if (!h->name || h->address == address)
			return h;
	}
	return NULL;
}

static void set_handle(struct mpk_recovery *r, uint64_t address, const char *name)
{
	struct mpk_code_handle *h = name ? handle_at(r, address) : NULL;

	if (h && !h->name)
		*h = (struct mpk_code_handle){ address, name };
}

/* --- calls --------------------------------------------------------------------------------- */

static struct mpk_content cell_at(struct mpk_content args, uint64_t index, uint64_t byte)
{
	args.b += (int64_t)(index * CELL_BYTES + byte);
	return args;
}

static struct mpk_content argument_at(struct mpk_frame *f, struct mpk_content args, uint64_t index)
{
	struct mpk_content type = mpk_frame_at(f, cell_at(args, index, 0), 4);
	struct mpk_content value = mpk_frame_at(f, cell_at(args, index, 8), 8);
	bool is_int = type.kind == MPK_CONTENT_NUMBER &&
		      ((uint32_t)type.a == CELL_INT || (uint32_t)type.a == CELL_BOOL);

	if (type.kind == MPK_CONTENT_ITEM)
		return type;
	return is_int && value.kind == MPK_CONTENT_NUMBER ? value : (struct mpk_content){ 0 };
}

/* Adds a call without arguments; the caller adds them. */
static struct mpk_found_call *add_call(struct mpk_recovery *r, const char *name, size_t count)
{
	r->is_lost |= count + 8 > r->words_left;
	if (r->is_lost)
		return NULL;
	r->words_left -= count + 8;
	r->failed |= !MPK_VEC_ROOM(r->calls, r->call_count, r->call_cap) ||
		     !mpk_vec_reserve(&r->arguments, &r->argument_cap, r->argument_count + count,
				      sizeof *r->arguments);
	if (r->failed)
		return NULL;
	r->calls[r->call_count] = (struct mpk_found_call){ mpk_span_str(name), MPK_NO_REGISTER,
							   r->argument_count, count };
	return &r->calls[r->call_count++];
}

/* f(handle, args, count, result) */
static void take_call(struct mpk_recovery *r, const char *name)
{
	struct mpk_content args = r->frame.regs[MPK_X86_RSI], count = r->frame.regs[MPK_X86_RDX];

	/* The previous call is the condition of a branch: the calls of both branches would seem to be made. */
	r->is_lost |= count.kind != MPK_CONTENT_NUMBER || count.a > ARGS_MAX ||
		      args.kind != MPK_CONTENT_THING || !strcmp(name, "vm.builtin.read_if_cond");
	if (r->is_lost || !add_call(r, name, (size_t)count.a))
		return;
	for (uint64_t i = 0; i < count.a; i++)
		r->arguments[r->argument_count++].content = argument_at(&r->frame, args, i);
}

/* TVMBackendAnyListSetPackedArg(list, index, args, offset) */
static void take_argument(struct mpk_recovery *r)
{
	const struct mpk_content *regs = r->frame.regs;
	struct mpk_content list = regs[MPK_X86_RDI], index = regs[MPK_X86_RSI],
			   offset = regs[MPK_X86_RCX];

	if (list.kind != MPK_CONTENT_THING || index.kind != MPK_CONTENT_NUMBER ||
	    offset.kind != MPK_CONTENT_NUMBER || offset.a > ARGS_MAX) {
		r->is_lost = true;
		return;
	}
	mpk_frame_put(&r->frame, cell_at(regs[MPK_X86_RDX], offset.a, 0),
		      (struct mpk_content){ MPK_CONTENT_ITEM, list.a, (int32_t)index.a }, 8);
}

/* TVMBackendAnyListMoveFromPackedReturn(list, index, args, offset): the result of a call is the
 * cell after its arguments. A number that no call returned is moved to a register in the same way. */
static void recover_result(struct mpk_recovery *r)
{
	const struct mpk_content *regs = r->frame.regs;
	struct mpk_content list = regs[MPK_X86_RDI], index = regs[MPK_X86_RSI],
			   offset = regs[MPK_X86_RCX];
	struct mpk_found_call *last = r->call_count ? &r->calls[r->call_count - 1] : NULL;

	r->is_lost |= list.kind != MPK_CONTENT_THING || index.kind != MPK_CONTENT_NUMBER ||
		      (r->has_registers && r->registers != list.a);
	if (r->is_lost)
		return;
	r->has_registers = true;
	r->registers = list.a;
	if (!last || last->to != MPK_NO_REGISTER || offset.kind != MPK_CONTENT_NUMBER ||
	    offset.a != last->count)
		last = add_call(r, "vm.builtin.null_value", 0); /* the value is not known */
	if (last)
		last->to = (int32_t)index.a;
}

/* A call through a pointer; its arguments show which function it is. A handle is filled by
 * TVMFFIHandleInitOnce(handle, function), by TVMFFIEnvModLookupFromImports(context, name, handle),
 * or, up to TVM 0.25, from the place that TVMBackendGetFuncFromEnv(context, name, place) wrote to. */
static void take_pointer(struct mpk_recovery *r, bool is_first_pass)
{
	const struct mpk_content *regs = r->frame.regs;
	struct mpk_content first = regs[MPK_X86_RDI], second = regs[MPK_X86_RSI],
			   third = regs[MPK_X86_RDX];
	const char *name;

	if (is_first_pass && second.kind == MPK_CONTENT_ADDRESS) {
		if (third.kind == MPK_CONTENT_ADDRESS)
			set_handle(r, third.a, text_at(r, second.a));
		else if (third.kind == MPK_CONTENT_THING && first.kind != MPK_CONTENT_ADDRESS)
			mpk_frame_put(&r->frame, third,
				      (struct mpk_content){ MPK_CONTENT_NAMED, second.a, 0 }, 8);
		else if (first.kind == MPK_CONTENT_ADDRESS)
			set_handle(r, first.a, name_of_piece(r, second.a));
	}
	if (is_first_pass || first.kind != MPK_CONTENT_LOADED || second.kind != MPK_CONTENT_THING)
		return;

	uint64_t address = first.a;
	const struct mpk_code_handle *h = handle_at(r, address);

	name = h ? h->name : NULL;

	if (name)
		take_call(r, name);
	else
		r->is_lost = true;
}

/* A call with a 32-bit displacement: to another function of the library, or through a PLT entry. */
static void take_direct(struct mpk_recovery *r, uint64_t to)
{
	const struct mpk_reach *reach = &r->w->reach;
	size_t piece = mpk_reach_piece(reach, to);
	const char *symbol = NULL;
	uint64_t slot;

	if (piece < reach->count) {
		if (r->names[piece])
			take_call(r, r->names[piece]);
		return;
	}
	if (mpk_plt_slot(reach->elf, to, &slot))
		symbol = mpk_plt_names_find(&reach->plt, slot);
	if (symbol) {
		/* A function with a name. */
		static const char kernel[] = "__tvm_ffi_";

		if (!strcmp(symbol, "TVMBackendAnyListSetPackedArg"))
			take_argument(r);
		else if (!strcmp(symbol, "TVMBackendAnyListMoveFromPackedReturn"))
			recover_result(r);
		else if (!strncmp(symbol, kernel, sizeof kernel - 1))
			take_call(r, symbol + sizeof kernel - 1);
	}
}

static void take_instruction(struct mpk_recovery *r, const struct mpk_x86 *i, uint64_t next,
			     bool is_first_pass)
{
	bool is_direct = !i->map && i->opcode == 0xe8;
	bool is_pointer = !i->map && i->opcode == 0xff && (i->reg & 7) == 2;

	if (!is_direct && !is_pointer) {
		mpk_frame_step(&r->frame, i, next);
		if (r->frame.named_at)
			set_handle(r, r->frame.named_at, text_at(r, r->frame.named_by));
		r->frame.named_at = 0;
		return;
	}
	if (is_direct && !is_first_pass)
		take_direct(r, next + i->imm);
	if (is_pointer)
		take_pointer(r, is_first_pass);
	mpk_frame_step(&r->frame, i, next);
}

/* --- branches ------------------------------------------------------------------------------- */

static struct mpk_code_branch *branch_to(const struct mpk_recovery *r, uint64_t target)
{
	for (size_t i = 0; i < r->branch_count; i++)
		if (r->branches[i].target == target)
			return &r->branches[i];
	return NULL;
}

static void note_branch(struct mpk_recovery *r, uint64_t target, uint64_t next)
{
	struct mpk_code_branch *b = &r->branches[r->branch_count];

	if (r->branch_count == MPK_CODE_BRANCHES || target < next || r->code_left < SEARCH_BYTES)
		return;
	r->code_left -= SEARCH_BYTES;
	if (branch_to(r, target))
		return;
	r->branch_count++;
	b->target = target;
	memcpy(b->regs, r->frame.regs, sizeof b->regs);
	if (target < r->next_target)
		r->next_target = target;
}

/* Restores the registers of the first branch to this address. The way around a block is the one
 * that continues, while the block may look up a handle first. */
static void join_branch(struct mpk_recovery *r, uint64_t address)
{
	struct mpk_code_branch *b = branch_to(r, address);

	if (b) {
		memcpy(r->frame.regs, b->regs, sizeof b->regs);
		*b = r->branches[--r->branch_count];
	}
	r->next_target = UINT64_MAX;
	for (size_t i = 0; i < r->branch_count; i++)
		if (r->branches[i].target < r->next_target && r->branches[i].target > address)
			r->next_target = r->branches[i].target;
}

static void take_branch(struct mpk_recovery *r, const struct mpk_x86 *i, uint64_t next)
{
	bool jumps = !i->map && (i->opcode == 0xe9 || i->opcode == 0xeb);
	bool may_jump = (!i->map && i->opcode >= 0x70 && i->opcode <= 0x7f) ||
			(i->map == 1 && i->opcode >= 0x80 && i->opcode <= 0x8f);

	if (jumps || may_jump)
		note_branch(r, next + i->imm, next);
}

/* Follows the code of a piece and adds its calls to r
 * @is_first_pass  only find the names of handles; add no calls
 * Sets r->is_lost if some code is not understood, r->failed if memory is out. */
static void compiled_follow(struct mpk_recovery *r, size_t piece, bool is_first_pass)
{
	struct mpk_span code = mpk_reach_code(&r->w->reach, piece);
	uint64_t address = r->w->reach.starts[piece];
	struct mpk_x86 i;

	/* At the beginning of a function each register holds a value of its own, numbered like the
	 * register. */
	struct mpk_frame f = { .words = r->frame.words,
			       .round = r->frame.round + 1,
			       .elf = r->w->reach.elf };

	for (; f.things < MPK_ARRAY_COUNT(f.regs); f.things++)
		f.regs[f.things] = (struct mpk_content){ MPK_CONTENT_THING, f.things, 0 };
	r->frame = f;

	r->branch_count = 0;
	r->next_target = UINT64_MAX;
	for (size_t at = 0; at < code.len && !r->is_lost && !r->failed; at += i.len) {
		r->is_lost |= !mpk_x86_read(mpk_span_from(code, at), &i) || r->code_left < i.len;
		if (r->is_lost)
			return;
		r->code_left -= i.len;
		if (address + at >= r->next_target)
			join_branch(r, address + at);
		take_instruction(r, &i, address + at + i.len, is_first_pass);
		take_branch(r, &i, address + at + i.len);
	}
}

enum {
	WORDS_MAX = 1 << 22
}; /* words for the calls of all functions: forty times those of the
			       * largest known models */

/* --- byte code ----------------------------------------------------------------------------- */

/* Stores a word in the byte order of executables. */
static void store_word(uint64_t *at, uint64_t value)
{
	uint8_t *bytes = (uint8_t *)at;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static void compiled_put_word(struct mpk_recovery *r, int64_t word)
{
	if (!MPK_VEC_ROOM(r->words, r->word_count, r->word_cap)) {
		r->failed = true;
		return;
	}
	store_word(&r->words[r->word_count++], (uint64_t)word);
}

static void begin_instruction(struct mpk_recovery *r, enum mpk_relax_op op)
{
	if (!MPK_VEC_ROOM(r->offsets, r->offset_count, r->offset_cap)) {
		r->failed = true;
		return;
	}
	store_word(&r->offsets[r->offset_count++], r->word_count);
	compiled_put_word(r, op);
}

static void put_argument(struct mpk_recovery *r, const struct mpk_found_argument *a)
{
	uint64_t kind = MPK_RELAX_ARG_REG, mask = ((uint64_t)1 << 56) - 1;
	int64_t value = MPK_RELAX_REG_VOID;

	if (a->content.kind == MPK_CONTENT_NUMBER) {
		kind = MPK_RELAX_ARG_INT;
		value = (int64_t)a->content.a;
	} else if (a->content.kind == MPK_CONTENT_ITEM) {
		kind = a->content.a == r->registers   ? MPK_RELAX_ARG_REG
		       : a->content.a == r->others[0] ? MPK_RELAX_ARG_CONST
						      : MPK_RELAX_ARG_FUNC;
		value = a->content.b;
	}
	compiled_put_word(r, (int64_t)(kind << 56 | ((uint64_t)value & mask)));
}

/* Returns the index of a called function in the table; adds a function that only compiled code
 * calls. */
static size_t callee_of(struct mpk_recovery *r, struct mpk_span name)
{
	size_t at = r->func_count;
	int put = mpk_strmap_put(&r->callees, name, at, &at);

	r->failed |= put < 0 || (put && !MPK_VEC_ROOM(r->funcs, r->func_count, r->func_cap));
	if (put > 0 && !r->failed)
		r->funcs[r->func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_PACKED,
								     .name = name,
								     .num_args = -2 };
	return at;
}

/* A function of the program is called through invoke_closure(machine, function, arguments...). */
static void put_call(struct mpk_recovery *r, const struct mpk_found_call *c)
{
	const struct mpk_found_argument *args = c->count ? &r->arguments[c->first] : NULL;
	bool invokes = mpk_span_is(c->name, "vm.builtin.invoke_closure") && c->count >= 2 &&
		       r->other_count == 2 && args[1].content.kind == MPK_CONTENT_ITEM &&
		       args[1].content.a == r->others[1] && args[1].content.b >= 0 &&
		       (uint64_t)args[1].content.b < r->x->func_count;
	size_t skipped = invokes ? 2 : 0;

	begin_instruction(r, MPK_RELAX_CALL);
	compiled_put_word(r, c->to >= 0 ? c->to : MPK_RELAX_REG_VOID);
	compiled_put_word(r, invokes ? args[1].content.b : (int64_t)callee_of(r, c->name));
	compiled_put_word(r, (int64_t)(c->count - skipped));
	for (size_t i = skipped; i < c->count; i++)
		put_argument(r, &args[i]);
}

static bool other_is_known(const struct mpk_recovery *r, uint64_t list)
{
	for (size_t i = 0; i < r->other_count; i++)
		if (r->others[i] == list)
			return true;
	return false;
}

/* Returns a number for the order in which values were first seen: the registers at the beginning by
 * argument, others by the load. */
static uint64_t given_at(uint64_t thing)
{
	static const uint8_t places[16] = {
		15, 3, 2, 15, 15, 15, 1, 0, 4, 5, 15, 15, 15, 15, 15, 15
	};

	return thing < 16 ? places[thing] : thing;
}

static void find_lists(struct mpk_recovery *r)
{
	for (size_t i = 0; i < r->argument_count; i++) {
		const struct mpk_content *c = &r->arguments[i].content;

		if (c->kind != MPK_CONTENT_ITEM || c->a == r->registers || other_is_known(r, c->a))
			continue;
		r->is_lost |= r->other_count == MPK_ARRAY_COUNT(r->others);
		if (r->is_lost)
			return;
		r->others[r->other_count++] = c->a;
	}
	if (r->other_count == 2 && given_at(r->others[1]) < given_at(r->others[0])) {
		uint64_t first = r->others[0];

		r->others[0] = r->others[1];
		r->others[1] = first;
	}
}

/* The search for the piece with the body: the first piece of the function, or one that it leads to. */
struct search {
	struct mpk_recovery *r;
	size_t body;
	bool any;
};

static void look_for_lists(void *arg, const struct mpk_reach_ref *ref)
{
	struct search *s = arg;

	s->any |= ref->kind == MPK_REACH_SYMBOL &&
		  !strncmp(ref->symbol, "TVMBackendAnyList", strlen("TVMBackendAnyList"));
}

/* Several functions may lead to one piece, which is then searched for each. So each search takes
 * from the budget. */
static void search_piece(struct search *s, size_t piece,
			 void (*take)(void *arg, const struct mpk_reach_ref *ref))
{
	size_t bytes = mpk_reach_code(&s->r->w->reach, piece).len;

	if (s->r->code_left < bytes)
		return;
	s->r->code_left -= bytes;
	mpk_reach_each(&s->r->w->reach, piece, take, s);
}

static void look_for_body(void *arg, const struct mpk_reach_ref *ref)
{
	struct search *s = arg, inner = { .r = s->r };

	if (ref->kind != MPK_REACH_CODE || s->any)
		return;
	search_piece(&inner, ref->piece, look_for_lists);
	if (inner.any) {
		s->any = true;
		s->body = ref->piece;
	}
}

static size_t body_of(struct mpk_recovery *r, struct mpk_span name)
{
	struct search s = { .r = r };
	const char *symbol =
		mpk_arena_printf(r->arena, "__vmtir__%.*s", (int)name.len, (const char *)name.data);

	if (!symbol || !mpk_strmap_find(&r->pieces, mpk_span_str(symbol), &s.body))
		return r->w->reach.count;
	search_piece(&s, s.body, look_for_lists);
	if (!s.any)
		search_piece(&s, s.body, look_for_body);
	return s.any ? s.body : r->w->reach.count;
}

static bool items_exist(const struct mpk_recovery *r)
{
	for (size_t i = 0; i < r->argument_count; i++) {
		const struct mpk_content *c = &r->arguments[i].content;
		size_t count = c->a == r->registers   ? INT32_MAX
			       : c->a == r->others[0] ? r->x->const_count
						      : r->x->func_count;

		if (c->kind == MPK_CONTENT_ITEM && (c->b < 0 || (uint64_t)c->b >= count))
			return false;
	}
	return true;
}

/* Writes all calls of a function, then the return of the register after its arguments, which the
 * last call sets. */
static void write_function(struct mpk_recovery *r, size_t index)
{
	int64_t start = (int64_t)r->offset_count, result = r->funcs[index].num_args;
	struct mpk_relax_func *f;
	bool returns = false;

	for (size_t i = 0; i < r->call_count && !r->failed; i++) {
		put_call(r, &r->calls[i]);
		returns |= r->calls[i].to == result;
	}
	if (returns) {
		begin_instruction(r, MPK_RELAX_RET);
		compiled_put_word(r, result);
	}
	f = &r->funcs[index]; /* the calls may have moved the array */
	f->start = start;
	f->end = (int64_t)r->offset_count;
	f->kind = MPK_RELAX_VM;
	if (f->register_file_size <= result)
		f->register_file_size = result + 1;
}

static void read_function(struct mpk_recovery *r, size_t index)
{
	const struct mpk_relax_func *f = &r->funcs[index];
	size_t body = body_of(r, f->name);

	r->call_count = r->argument_count = r->other_count = 0;
	r->has_registers = r->is_lost = false;
	if (body == r->w->reach.count || f->num_args < 0 || f->num_args >= INT32_MAX)
		return;
	compiled_follow(r, body, true);
	r->is_lost = false;
	compiled_follow(r, body, false);
	if (r->is_lost || !r->has_registers)
		return;
	find_lists(r);
	if (!r->is_lost && items_exist(r) && !r->failed)
		write_function(r, index);
}

/* --- the executable with the recovered functions ------------------------------------------------ */

static enum mpk_code begin(struct mpk_recovery *r, const struct mpk_image *image,
			   struct mpk_frame_word *words, struct mpk_error *err)
{
	const struct mpk_reach *reach = &r->w->reach;

	r->frame.words = words;
	r->code_left = 16 * (uint64_t)reach->elf->bytes.len;
	r->words_left = reach->elf->bytes.len / 12;
	if (r->words_left > WORDS_MAX)
		r->words_left = WORDS_MAX;
	r->names = mpk_arena_array(r->arena, reach->count + 1, sizeof *r->names);
	MPK_TRY_ALLOC(r->names && MPK_VEC_ROOM(r->funcs, r->x->func_count, r->func_cap), err);
	for (size_t i = 0; i < image->function_count; i++) {
		const char *name = image->functions[i].name;
		size_t piece = mpk_reach_piece(reach, image->functions[i].address);

		if (piece == reach->count)
			continue;
		MPK_TRY_ALLOC(mpk_strmap_put(&r->pieces, mpk_span_str(name), piece, NULL) >= 0,
			      err);
		r->names[piece] = name;
	}
	for (; r->func_count < r->x->func_count; r->func_count++) {
		r->funcs[r->func_count] = r->x->funcs[r->func_count];
		MPK_TRY_ALLOC(mpk_strmap_put(&r->callees, r->x->funcs[r->func_count].name,
					     r->func_count, NULL) >= 0,
			      err);
	}
	return MPK_OK;
}

static enum mpk_code end(struct mpk_recovery *r, struct mpk_relax *out, struct mpk_error *err)
{
	void *offsets, *words, *funcs;

	MPK_TRY_ALLOC(!r->failed, err);
	offsets = mpk_arena_keep(r->arena, r->offsets, r->offset_count, sizeof *r->offsets);
	words = mpk_arena_keep(r->arena, r->words, r->word_count, sizeof *r->words);
	funcs = mpk_arena_keep(r->arena, r->funcs, r->func_count, sizeof *r->funcs);
	MPK_TRY_ALLOC(offsets && words && funcs, err);
	*out = *r->x;
	out->funcs = funcs;
	out->func_count = r->func_count;
	out->instr_offset = mpk_span_of(offsets, r->offset_count * sizeof *r->offsets);
	out->instr_data = mpk_span_of(words, r->word_count * sizeof *r->words);
	return MPK_OK;
}

enum mpk_code mpk_compiled_read(const struct mpk_relax *x, const struct mpk_image *image,
				const struct mpk_wants *w, struct mpk_arena *arena,
				struct mpk_relax *out, struct mpk_error *err)
{
	struct mpk_recovery r = { .x = x, .w = w, .arena = arena };
	struct mpk_frame_word *words;
	enum mpk_code code;

	*out = *x;
	if (!w->reach.count || w->reach.elf->header.e_machine != EM_X86_64)
		return MPK_OK;
	words = calloc(MPK_FRAME_WORDS, sizeof *words);
	r.branches = calloc(MPK_CODE_BRANCHES, sizeof *r.branches);
	r.handles = calloc(MPK_CODE_HANDLES, sizeof *r.handles);
	code = words && r.branches && r.handles ? begin(&r, image, words, err)
						: mpk_fail_nomem(err);
	if (code == MPK_OK) {
		/* Functions that are byte code already keep their code, which comes first. */
		for (size_t i = 0; i < mpk_relax_instr_count(r.x) && !r.failed; i++) {
			if (!MPK_VEC_ROOM(r.offsets, i, r.offset_cap))
				r.failed = true;
			else
				memcpy(&r.offsets[r.offset_count++], r.x->instr_offset.data + 8 * i,
				       8);
		}
		for (size_t i = 0; i + 8 <= r.x->instr_data.len && !r.failed; i += 8)
			compiled_put_word(&r, (int64_t)mpk_load_u64(r.x->instr_data.data + i));
		for (size_t i = 0; i < x->func_count && !r.failed; i++)
			if (x->funcs[i].kind == MPK_RELAX_TIR)
				read_function(&r, i);
		code = end(&r, out, err);
	}
	mpk_strmap_fini(&r.pieces);
	mpk_strmap_fini(&r.callees);
	free(words);
	free(r.branches);
	free(r.calls);
	free(r.arguments);
	free(r.handles);
	free(r.funcs);
	free(r.words);
	free(r.offsets);
	return code;
}
