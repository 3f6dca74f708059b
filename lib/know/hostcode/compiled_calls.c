/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_calls.c - finds the calls of a compiled function of the Relax VM in its machine code
 *
 * Arguments are cells of 16 bytes, a type and a value: integers are stored there and
 * TVMBackendAnyListSetPackedArg puts items of lists. Builtins are called through handles, which
 * are filled by name at first use: a first pass reads which handle has which name, as that code
 * may come last. */
#include "hostcode/internal/compiled.h"

#include <string.h>

#include "base/vec.h"

enum {
	CELL_BYTES = 16, /* bytes of an argument: its type in the first 8, then its value */
	CELL_INT = 1,    /* types of tvm-ffi */
	CELL_BOOL = 2,
	ARGS_MAX = 1 << 16,
	NEAR = 64,          /* slots of a table that are tried for a key */
	PIECE_WANTS = 64,   /* instructions of a piece that are searched for the name it looks up */
	SEARCH_BYTES = 256, /* cost of a search among branches, in bytes of code */
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

static int wants_by_piece(const void *want, const void *key)
{
	const struct mpk_want *a = want, *b = key;

	return (a->piece > b->piece) - (a->piece < b->piece);
}

/* Returns the name that a piece looks up, as pieces that fill handles do. */
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

/* Returns the slot of a handle, or a free one; NULL: neither is near. */
static struct mpk_code_handle *handle_at(const struct mpk_recovery *r, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15u >> 40;

	for (size_t i = 0; i < NEAR; i++) {
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

/* Its arguments are not added yet. */
static struct mpk_found_call *add_call(struct mpk_recovery *r, const char *name, size_t count)
{
	r->is_lost |= count + 8 > r->words_left;
	if (r->is_lost)
		return NULL;
	r->words_left -= count + 8;
	r->failed |=
		!mpk_vec_reserve(&r->calls, &r->call_cap, r->call_count + 1, sizeof *r->calls) ||
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

	/* The last call is the condition of a branch, whose two ways would look like one. */
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

/* TVMBackendAnyListMoveFromPackedReturn(list, index, args, offset): a result follows the arguments
 * of its call. A number that no call made gets into a register in the same way. */
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
		last = add_call(r, "vm.builtin.null_value", 0); /* nothing is known of it */
	if (last)
		last->to = (int32_t)index.a;
}

/* A call through a pointer: its arguments tell the function. A handle is filled by
 * TVMFFIHandleInitOnce(handle, function), TVMFFIEnvModLookupFromImports(context, name, handle),
 * or, up to TVM 0.25, from where TVMBackendGetFuncFromEnv(context, name, place) puts it. */
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

/* A call of 32 bits: of another function of the library, or through a slot. */
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
		/* A function that has a name. */
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

/* Restores the registers of the first branch that leads here: the way around a block is that of
 * a function that continues, while the block may look up a handle first. */
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

void mpk_compiled_follow(struct mpk_recovery *r, size_t piece, bool is_first_pass)
{
	struct mpk_span code = mpk_reach_code(&r->w->reach, piece);
	uint64_t address = r->w->reach.starts[piece];
	struct mpk_x86 i;

	/* At the beginning of a function each register is a value of its own, with its number. */
	struct mpk_frame f = { .words = r->frame.words,
			       .round = r->frame.round + 1,
			       .elf = r->w->reach.elf };

	for (; f.things < MPK_ARRAY_COUNT(f.regs); f.things++)
		f.regs[f.things] = (struct mpk_content){ MPK_CONTENT_THING, f.things, 0 };
	r->frame = f;

	r->branch_count = 0;
	r->next_target = UINT64_MAX;
	for (size_t at = 0; at < code.len && !r->is_lost && !r->failed; at += i.len) {
		r->is_lost |= !mpk_x86_read(mpk_span_of(code.data + at, code.len - at), &i) ||
			      r->code_left < i.len;
		if (r->is_lost)
			return;
		r->code_left -= i.len;
		if (address + at >= r->next_target)
			join_branch(r, address + at);
		take_instruction(r, &i, address + at + i.len, is_first_pass);
		take_branch(r, &i, address + at + i.len);
	}
}
