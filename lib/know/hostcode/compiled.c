/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.c - recovers the byte code of compiled functions of the Relax VM
 *
 * TVM compiles such a function to a piece that checks its four arguments and a body, which is a
 * piece of its own or part of the first. The use of a list tells which one it is: results move
 * into registers; of the other two, constants come before functions. A function of a model with
 * branches ("if"), which asks for its condition by vm.builtin.read_if_cond, is skipped: the code
 * is followed one way only, so calls of both ways would seem to be made. */
#include "hostcode/compiled.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hostcode/internal/compiled.h"

enum { WORDS_MAX = 1 << 22 }; /* calls of all functions: forty times what the largest models have */

/* --- byte code ----------------------------------------------------------------------------- */

/* As executables store words. */
static void store_word(uint64_t *at, uint64_t value)
{
	uint8_t *bytes = (uint8_t *)at;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static void put_word(struct mpk_recovery *r, int64_t word)
{
	if (!mpk_vec_reserve(&r->words, &r->word_cap, r->word_count + 1, sizeof *r->words)) {
		r->failed = true;
		return;
	}
	store_word(&r->words[r->word_count++], (uint64_t)word);
}

static void begin_instruction(struct mpk_recovery *r, enum mpk_relax_op op)
{
	if (!mpk_vec_reserve(&r->offsets, &r->offset_cap, r->offset_count + 1,
			     sizeof *r->offsets)) {
		r->failed = true;
		return;
	}
	store_word(&r->offsets[r->offset_count++], r->word_count);
	put_word(r, op);
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
	put_word(r, (int64_t)(kind << 56 | ((uint64_t)value & mask)));
}

/* Returns the called function of the table; adds functions that only code calls. */
static size_t callee_of(struct mpk_recovery *r, struct mpk_span name)
{
	size_t at = r->func_count;
	int put = mpk_strmap_put(&r->callees, name, at, &at);

	r->failed |= put < 0 || (put && !mpk_vec_reserve(&r->funcs, &r->func_cap, r->func_count + 1,
							 sizeof *r->funcs));
	if (put > 0 && !r->failed)
		r->funcs[r->func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_PACKED,
								     .name = name,
								     .num_args = -2 };
	return at;
}

/* A function of the program is called by invoke_closure(machine, function, arguments...). */
static void put_call(struct mpk_recovery *r, const struct mpk_found_call *c)
{
	const struct mpk_found_argument *args = c->count ? &r->arguments[c->first] : NULL;
	bool invokes = mpk_span_is(c->name, "vm.builtin.invoke_closure") && c->count >= 2 &&
		       r->other_count == 2 && args[1].content.kind == MPK_CONTENT_ITEM &&
		       args[1].content.a == r->others[1] && args[1].content.b >= 0 &&
		       (uint64_t)args[1].content.b < r->x->func_count;
	size_t skipped = invokes ? 2 : 0;

	begin_instruction(r, MPK_RELAX_CALL);
	put_word(r, c->to >= 0 ? c->to : MPK_RELAX_REG_VOID);
	put_word(r, invokes ? args[1].content.b : (int64_t)callee_of(r, c->name));
	put_word(r, (int64_t)(c->count - skipped));
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

/* Order in which values were given: the initial registers by argument, others by loading. */
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

/* Finds the piece with the body: the one that the function begins with, or one that it leads to. */
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

/* A piece may be searched for each function, and for each function that leads to it: each search
 * costs budget of the code that is read. */
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

/* Writes all of its calls, then the return of the register that follows its arguments, which the
 * last call fills. */
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
		put_word(r, result);
	}
	f = &r->funcs[index]; /* calls may have added to them */
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
	mpk_compiled_follow(r, body, true);
	r->is_lost = false;
	mpk_compiled_follow(r, body, false);
	if (r->is_lost || !r->has_registers)
		return;
	find_lists(r);
	if (!r->is_lost && items_exist(r) && !r->failed)
		write_function(r, index);
}

/* --- the whole ----------------------------------------------------------------------------- */

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
	MPK_TRY_ALLOC(r->names && mpk_vec_reserve(&r->funcs, &r->func_cap, r->x->func_count + 1,
						  sizeof *r->funcs),
		      err);
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

/* Functions in byte code keep their code, in front. */
static void keep_code(struct mpk_recovery *r)
{
	for (size_t i = 0; i < mpk_relax_instr_count(r->x) && !r->failed; i++) {
		if (!mpk_vec_reserve(&r->offsets, &r->offset_cap, i + 1, sizeof *r->offsets))
			r->failed = true;
		else
			memcpy(&r->offsets[r->offset_count++], r->x->instr_offset.data + 8 * i, 8);
	}
	for (size_t i = 0; i + 8 <= r->x->instr_data.len && !r->failed; i += 8)
		put_word(r, (int64_t)mpk_load_u64(r->x->instr_data.data + i));
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
		keep_code(&r);
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
