/* SPDX-License-Identifier: Apache-2.0 */
/* As check_plan_random.c, for the Relay VM: random programs on a machine that makes plans and on one that
 * never does. A kernel reads its inputs and writes its output, which may be one of them or lie over them,
 * as Relay's kernels do; whatever is read was written before.
 *
 * MPK_PLAN_COUNT and MPK_PLAN_SEED in the environment try more programs, or others. */
#include "executor/plan/internal/plans.h"
#include "plan_compare.h"
#include "plan_kernels.h"
#include "relay_made.h"

enum { PROGRAMS = 2000, CALLS = 6, REGISTERS = 12, SCRATCH = 12, SHOWN = 20, STEPS = 14 };
enum { SIZE = 24, BYTES_MAX = 96 }; /* of a tensor, of a storage */

static struct mpk_error err;
static struct program p;
static uint64_t state;

static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state >> 11) % n;
}

/* --- a program ------------------------------------------------------------------------------- */

/* What a register holds: a tensor of six floats, a storage, a pair of tensors. */
enum kind { NOTHING, TENSOR, STORAGE, PAIR };
static struct content {
	enum kind kind;
	int area;  /* STORAGE; a tensor of the caller has one of its own */
	size_t at; /* TENSOR: in its area; STORAGE: its bytes */
} registers[REGISTERS];
static bool written[256][BYTES_MAX];
static int areas;

static bool is_written(const struct content *c)
{
	for (size_t i = 0; i < SIZE; i++)
		if (!written[c->area][c->at + i])
			return false;
	return true;
}

static struct content tensor_in(int area, size_t at, bool is_whole)
{
	if (is_whole)
		memset(written[area] + at, true, SIZE);
	return (struct content){ .kind = TENSOR, .area = area, .at = at };
}

static struct content whole_tensor(void)
{
	return tensor_in(areas++, 0, true);
}

static int64_t find(enum kind kind, bool is_whole)
{
	size_t start = below(REGISTERS);

	for (size_t i = 0; i < REGISTERS; i++) {
		const struct content *c = &registers[(start + i) % REGISTERS];

		if (c->kind == kind && (!is_whole || (kind == TENSOR && is_written(c))))
			return (int64_t)((start + i) % REGISTERS);
	}
	return -1;
}

static void put_storage(void)
{
	size_t dst = below(REGISTERS), bytes = 24 + below(4) * 24;

	CONSTI(&p, (int64_t)bytes, SCRATCH);
	storage(&p, SCRATCH, (int64_t)dst);
	memset(written[areas], false, BYTES_MAX);
	registers[dst] = (struct content){ .kind = STORAGE, .area = areas++, .at = bytes };
}

static void put_tensor(void)
{
	int64_t from = find(STORAGE, false);
	size_t dst = below(REGISTERS), at;

	if (from < 0)
		return;
	at = below((registers[from].at - SIZE) / 8 + 1) * 8;
	CONSTI(&p, (int64_t)at, SCRATCH);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, from, SCRATCH, 2, 32, 1, 1, (int64_t)dst, 6);
	registers[dst] = tensor_in(registers[from].area, at, false);
}

/* A kernel at an address or a function: inputs, one of which may be a constant, and an output. */
static void put_kernel(void)
{
	static const char *const names[] = { "mix_compiled", "mix",  "count_compiled", "count",
					     "recall",       "keep", "refuse" };
	const char *name = names[below(3) ? below(2) : below(MPK_ARRAY_COUNT(names))];
	bool mixes = strncmp(name, "mix", 3) == 0;
	bool reads = strcmp(name, "keep") == 0 || strcmp(name, "refuse") == 0;
	int64_t words[12] = { MPK_RELAY_INVOKE_PACKED, packed(&p, name), 0, 1 }, out;
	size_t count = 4;

	out = find(TENSOR, reads);
	if (out < 0)
		return;
	for (size_t i = mixes ? below(4) : 0; i > 0; i--) {
		int64_t in = find(TENSOR, true);

		if (in >= 0)
			words[count++] = in;
	}
	words[count++] = out;
	words[2] = (int64_t)count - 4;
	put_instr(&p, words, count);
	if (!reads)
		memset(written[registers[out].area] + registers[out].at, true, SIZE);
}

static void put_move(void)
{
	size_t from = below(REGISTERS), dst = below(REGISTERS);

	if (below(5) == 0) {
		load(&p, 0, (int64_t)dst);
		registers[dst] = (struct content){ 0 }; /* a constant is no kernel's output */
	} else if (below(4) == 0) {
		KILL(&p, (int64_t)dst);
		registers[dst] = (struct content){ 0 };
	} else {
		MOVE(&p, (int64_t)from, (int64_t)dst);
		registers[dst] = registers[from];
	}
}

static void put_pair(void)
{
	int64_t a = find(TENSOR, true), b = find(TENSOR, true), pair = find(PAIR, false);
	int64_t dst = (int64_t)below(REGISTERS);

	if (pair >= 0) {
		OP(&p, MPK_RELAY_GET_FIELD, pair, (int64_t)below(2), dst);
		registers[dst] = whole_tensor();
	} else if (a >= 0 && b >= 0) {
		OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, dst, a, b);
		registers[dst] = (struct content){ .kind = PAIR };
	}
}

static bool is_main;

static void put_call(void)
{
	int64_t a = find(TENSOR, true), b = find(TENSOR, true), dst = (int64_t)below(REGISTERS);

	if (!is_main || a < 0 || b < 0)
		return;
	if (below(8) == 0) { /* it calls h with this tensor, twice */
		OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "call_back"), 1, 1, a);
		return;
	}
	OP(&p, MPK_RELAY_INVOKE, 0, 2, dst, a, b);
	registers[dst] = whole_tensor();
}

static void put_function(const char *name, size_t steps)
{
	static void (*const put[])(void) = { put_storage, put_tensor, put_tensor,
					     put_kernel,  put_kernel, put_kernel,
					     put_move,    put_pair,   put_call };
	int64_t given[2];

	(void)function(&p, name, REGISTERS + 3, "x y");
	memset(registers, 0, sizeof registers);
	areas = 0;
	registers[0] = whole_tensor();
	registers[1] = whole_tensor();
	for (size_t i = 0; i < steps; i++)
		put[below(MPK_ARRAY_COUNT(put))]();
	for (size_t i = 0; i < 2; i++) {
		given[i] = find(TENSOR, true);
		if (given[i] >= 0)
			continue;
		given[i] = REGISTERS + 1;
		load(&p, 0, given[i]);
	}
	if (is_main)
		OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, REGISTERS + 2, given[0], given[1]);
	RET(&p, is_main ? REGISTERS + 2 : given[0]);
}

static void generate(uint64_t seed)
{
	state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	program_init(&p, MPK_RELAY_14);
	(void)float_const(&p, 6, 1);
	is_main = false;
	put_function("h", below(6));
	is_main = true;
	put_function("main", 4 + below(STEPS));
}

/* --- both machines --------------------------------------------------------------------------- */

struct machine {
	struct model model;
	struct mpk_function *main;
	struct world world;
	struct mpk_value args[2], results[CALLS];
};

static void open_machine(struct machine *m)
{
	memset(m, 0, sizeof *m);
	model_open(&m->model, &p, plan_kernels);
	ck_assert_ok(model_find(&m->model, "main", &m->main, &err), err);
	ck_assert_ok(model_find(&m->model, "h", &m->world.h, &err), err);
}

static void close_machine(struct machine *m)
{
	for (size_t i = 0; i < CALLS; i++)
		mpk_value_drop(&m->results[i]);
	for (size_t i = 0; i < 2; i++)
		mpk_value_drop(&m->args[i]);
	mpk_value_drop(&m->world.kept);
	mpk_function_drop(m->main);
	mpk_function_drop(m->world.h);
	model_close(&m->model);
}

static enum mpk_code call(struct machine *m, uint64_t salt, size_t at, struct mpk_error *e)
{
	for (size_t i = 0; i < 2; i++)
		mpk_value_drop(&m->args[i]);
	m->args[0] = float_tensor(6, (float)(salt % 50));
	m->args[1] = salt % 3 ? float_tensor(6, (float)(salt % 7)) : mpk_value_hold(m->args[0]);
	world = &m->world;
	*e = (struct mpk_error){ 0 };
	return mpk_function_call(m->main, &(struct mpk_args){ m->args, NULL, 2 }, &m->results[at],
				 e);
}

static bool same_overlaps(const struct machine *a, const struct machine *b)
{
	struct tensors x = { .count = 0 }, y = { .count = 0 };

	for (size_t i = 0; i < CALLS; i++) {
		collect(&a->results[i], &x);
		collect(&b->results[i], &y);
	}
	for (size_t i = 0; i < 2; i++) {
		collect(&a->args[i], &x);
		collect(&b->args[i], &y);
	}
	return same_places(&x, &y);
}

/* What is different after a call; NULL: nothing. */
static const char *call_both(struct machine *by_plan, struct machine *by_code, uint64_t salt,
			     size_t at)
{
	struct mpk_error e[2];
	enum mpk_code code = call(by_code, salt, at, &e[0]);

	if (call(by_plan, salt, at, &e[1]) != code)
		return "status";
	if (code != MPK_OK && strcmp(e[0].text, e[1].text) != 0)
		return "error";
	for (size_t i = 0; i < 2; i++)
		if (!same_values(&by_code->args[i], &by_plan->args[i]))
			return "argument";
	for (size_t i = 0; i <= at; i++)
		if (!same_values(&by_code->results[i], &by_plan->results[i]))
			return i == at ? "result" : "earlier result";
	return same_overlaps(by_code, by_plan) ? NULL : "overlap";
}

START_TEST(plans_do_what_byte_code_says)
{
	uint64_t count = number_of("MPK_PLAN_COUNT", PROGRAMS),
		 seed = number_of("MPK_PLAN_SEED", 1);
	uint64_t planned = 0, wrong = 0;

	for (uint64_t i = 0; i < count; i++) {
		struct machine by_plan, by_code;
		const char *difference = NULL;

		generate(seed + i);
		open_machine(&by_plan);
		open_machine(&by_code);
		machine_of(&by_code.model)->plans->unplannable = UINT64_MAX;
		for (size_t at = 0; at < CALLS && !difference; at++)
			difference = call_both(&by_plan, &by_code, below(1 << 20), at);
		if (difference && ++wrong <= SHOWN)
			(void)printf("seed %" PRIu64 ": another %s\n", seed + i, difference);
		planned += mpk_plans_get_stats(machine_of(&by_plan.model)->plans).replayed > 0;
		close_machine(&by_plan);
		close_machine(&by_code);
	}
	(void)printf("%" PRIu64 " programs, %" PRIu64 " of them planned\n", count, planned);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_ge(planned * 2, count);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan_relay");
	TCase *tc = tcase_create("plan_relay");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, getenv("MPK_PLAN_COUNT") ? 0 : 120);
	tcase_add_test(tc, plans_do_what_byte_code_says);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
