/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what an interpreter relies on and reading does not need: every operand exists */
#include "relayvm/relayvm.h"

#include <inttypes.h>

#include "relayvm/internal/ops.h"
#include "text/escape.h"

struct checker {
	const struct mpk_relay *x;
	const struct mpk_relay_func *f;
	size_t at; /* the instruction */
};

/* Whether what a field of this letter names is there. */
static bool operand_exists(const struct checker *k, char letter, int64_t value)
{
	uint64_t count;

	switch (letter) {
	case 'r':
	case 'd':
		count = k->f->register_file_size;
		break;
	case 'f':
		count = k->x->globals.count;
		break;
	case 'p':
		count = k->x->primitives.count;
		break;
	case 'c':
		count = k->x->const_count;
		break;
	case 'j':
		count = k->f->instr_count;
		if (__builtin_add_overflow((int64_t)k->at, value, &value))
			return false;
		break;
	default:
		return true;
	}
	return value >= 0 && (uint64_t)value < count;
}

/* As the message names what does not exist. */
static const char *operand_name(char letter)
{
	switch (letter) {
	case 'f':
		return "function";
	case 'p':
		return "packed function";
	case 'c':
		return "constant";
	case 'j':
		return "jump target, this one plus";
	default:
		return "register";
	}
}

/* Fields that TVM leaves unset are passed over. */
static enum mpk_code check_instr(const struct checker *k, struct mpk_error *err)
{
	const struct mpk_relay_instr *instr = &k->f->instrs[k->at];
	const struct mpk_relay_shape *shape =
		mpk_relay_shape(mpk_relay_word(instr, 0), k->x->layout);
	size_t fixed = strlen(shape->fields);

	for (size_t i = mpk_relay_garbage(instr, shape); i < instr->count - 1; i++) {
		char letter = i < fixed ? shape->fields[i] : shape->rest;
		int64_t value = mpk_relay_word(instr, i + 1);

		if (!operand_exists(k, letter, value))
			return mpk_fail(
				err, MPK_E_CORRUPT,
				"function \"%s\", instruction %zu: %s %" PRId64 " does not exist",
				MPK_QUOTE(k->f->info.items[0]), k->at, operand_name(letter), value);
	}
	return MPK_OK;
}

/* Parameters are the first registers of a call, so they must fit in the register file. */
enum mpk_code mpk_relay_check(const struct mpk_relay *x, struct mpk_error *err)
{
	for (size_t i = 0; i < x->func_count; i++) {
		struct checker k = { x, &x->funcs[i], 0 };

		if (k.f->params.count > k.f->register_file_size)
			return mpk_fail(err, MPK_E_CORRUPT,
					"function \"%s\": %zu parameters do not fit in %" PRIu64
					" registers",
					MPK_QUOTE(k.f->info.items[0]), k.f->params.count,
					k.f->register_file_size);
		for (; k.at < k.f->instr_count; k.at++)
			MPK_TRY(check_instr(&k, err));
	}
	return MPK_OK;
}
