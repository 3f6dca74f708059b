/* SPDX-License-Identifier: Apache-2.0 */
/* A call by its plan does what its byte code says: random programs of the Relax VM (plan_made.h) on two
 * machines, one of which makes plans and one of which never does. What calls give, what they leave in
 * their inputs, what lies over what, and the words of errors are the same, call for call; and results
 * that are held stay as they are.
 *
 * MPK_PLAN_COUNT and MPK_PLAN_SEED in the environment try more programs, or others. */
#include <inttypes.h>

#include "executor/executor.h"
#include "executor/plan/internal/plans.h"
#include "executor/relax/internal/relax.h"
#include "plan_compare.h"
#include "plan_kernels.h"
#include "plan_made.h"

enum { PROGRAMS = 6000, CALLS = 7, SHOWN = 20 };

static struct mpk_error err;

/* Not ck_assert: it tells another process each time. */
static void need(enum mpk_code code)
{
	if (code != MPK_OK)
		ck_abort_msg("%s", err.text);
}

/* --- machines -------------------------------------------------------------------------------- */

struct machine {
	struct mpk_node nodes[2];
	struct mpk_tree tree;
	size_t child;
	uint8_t *payload;
	struct mpk_module *root;
	struct mpk_function *main;
	struct world world;
	struct mpk_value args[4], results[CALLS];
};

static struct mpk_runtime *runtime;

static struct mpk_plans *plans_of(const struct machine *m)
{
	return ((struct mpk_relax_vm *)mpk_node_machine((const struct mpk_node_module *)m->root))
		->plans;
}

static struct mpk_function *find(struct machine *m, const char *name)
{
	struct mpk_module_search search = { 0 };
	struct mpk_function *f = NULL;

	need(mpk_module_find(m->root, name, &f, &search, &err));
	if (!f)
		ck_abort_msg("%s", search.failure.text);
	return f;
}

/* Each has a copy of the program: a kernel may write into a constant. */
static void open_machine(struct machine *m, const struct made *program)
{
	struct mpk_host_code code = { .tree = &m->tree,
				      .gen = MPK_GEN_CURRENT,
				      .convention = MPK_CONV_FFI };
	struct mpk_module *context;
	struct mpk_host *host;

	memset(m, 0, sizeof *m);
	m->child = 1;
	m->nodes[0] = (struct mpk_node){ .kind = mpk_span_str("relax.VMExecutable"),
					 .payload = made_encode(program, &m->payload),
					 .children = &m->child,
					 .child_count = 1 };
	m->nodes[1] = (struct mpk_node){ .kind = mpk_span_str("test.kernels") };
	m->tree = (struct mpk_tree){ .gen = MPK_GEN_CURRENT, .nodes = m->nodes, .count = 2 };
	need(mpk_host_create(runtime, &code, &host, &err));
	need(mpk_node_modules(host, &m->root, &context, &err));
	mpk_host_drop(host);
	m->main = find(m, "main");
	m->world.h = find(m, "h");
}

static void close_machine(struct machine *m)
{
	for (size_t i = 0; i < CALLS; i++)
		mpk_value_drop(&m->results[i]);
	mpk_value_drop(&m->world.kept);
	mpk_function_drop(m->world.h);
	mpk_function_drop(m->main);
	mpk_module_drop(m->root);
	free(m->payload);
}

/* --- arguments ------------------------------------------------------------------------------- */

static struct mpk_storage *memory(uint64_t salt)
{
	struct mpk_storage *s;

	need(mpk_storage_create(64, MPK_STORAGE_PRIVATE, &s, &err));
	for (size_t i = 0; i < 64; i++) /* as numbers of 64 bits they are small */
		((uint8_t *)s->data)[i] = i % 8 ? 0 : (uint8_t)((salt + i) % 9);
	return s;
}

static struct mpk_value tensor_at(struct mpk_storage *s, uint64_t offset, int type)
{
	const struct tensor_type *t = &types[type];
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };

	need(mpk_tensor_view(s, offset,
			     t->is_number ? (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 }
					  : (struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 },
			     t->extents, t->ndim, &v.tensor, &err));
	return v;
}

/* The first six floats among the results so far; none: there are none. */
static struct mpk_value earlier_floats(const struct machine *m)
{
	for (size_t i = CALLS; i-- > 0;) {
		const struct mpk_value *v = &m->results[i];

		if (v->kind == MPK_VALUE_TENSOR && v->tensor->dl.ndim == 1 &&
		    v->tensor->bytes == 24 && v->tensor->dl.dtype.bits == 32)
			return mpk_value_hold(*v);
	}
	return (struct mpk_value){ 0 };
}

/* Arguments of one key, which lie apart, over one another, are one tensor, or an earlier result. */
static void make_args(struct machine *m, uint64_t salt)
{
	struct mpk_storage *a = memory(salt), *b = memory(salt / 3), *c = memory(salt / 5);
	struct mpk_storage *how[] = { b, a, a, b };
	struct mpk_value *args = m->args, *items;
	uint64_t at = salt % 2 * 8, y = salt / 2 % 4;

	args[0] = tensor_at(a, at, FLOATS_6);
	args[1] = y == 3 ? earlier_floats(m) : (struct mpk_value){ 0 };
	if (y == 1)
		args[1] = mpk_value_hold(args[0]);
	if (args[1].kind == MPK_VALUE_NONE)
		args[1] = tensor_at(how[y], y * 4, FLOATS_6);
	args[2] = tensor_at(salt / 8 % 4 ? c : a, 0, NUMBERS_4);
	need(mpk_value_of_array(2, &args[3], &err));
	items = args[3].array->items;
	items[0] = salt / 32 % 2 ? mpk_value_hold(args[0]) : tensor_at(c, 32, FLOATS_6);
	items[1] = tensor_at(b, salt / 64 % 3 * 16, FLOATS_2_3);
	mpk_storage_drop(a);
	mpk_storage_drop(b);
	mpk_storage_drop(c);
}

/* --- comparison ------------------------------------------------------------------------------ */

/* Whether what lies over what is the same: among the results, and with the arguments. */
static bool same_overlaps(const struct machine *a, const struct machine *b)
{
	struct tensors x = { .count = 0 }, y = { .count = 0 };

	for (size_t i = 0; i < CALLS; i++) {
		collect(&a->results[i], &x);
		collect(&b->results[i], &y);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(a->args); i++) {
		collect(&a->args[i], &x);
		collect(&b->args[i], &y);
	}
	return same_places(&x, &y);
}

/* --- a program ------------------------------------------------------------------------------- */

struct totals {
	uint64_t programs, planned, calls, replayed, failed, wrong;
};

static enum mpk_code call(struct machine *m, uint64_t salt, size_t at, struct mpk_error *e)
{
	*e = (struct mpk_error){ 0 };
	make_args(m, salt);
	world = &m->world;
	return mpk_function_call(m->main, &(struct mpk_args){ m->args, NULL, 4 }, &m->results[at],
				 e);
}

/* What is different after a call; NULL: nothing. */
static const char *call_both(struct machine *by_plan, struct machine *by_code, uint64_t salt,
			     size_t at, struct totals *t)
{
	struct mpk_error e[2];
	enum mpk_code code = call(by_code, salt, at, &e[0]);

	t->calls++;
	t->failed += code != MPK_OK;
	if (call(by_plan, salt, at, &e[1]) != code)
		return "status";
	if (code != MPK_OK && strcmp(e[0].text, e[1].text) != 0)
		return "error";
	for (size_t i = 0; i < 4; i++)
		if (!same_values(&by_code->args[i], &by_plan->args[i]))
			return "argument";
	for (size_t i = 0; i <= at; i++)
		if (!same_values(&by_code->results[i], &by_plan->results[i]))
			return i == at ? "result" : "earlier result";
	return same_overlaps(by_code, by_plan) ? NULL : "overlap";
}

static void forget(struct machine *m, size_t results)
{
	for (size_t i = 0; i < 4; i++)
		mpk_value_drop(&m->args[i]);
	for (size_t i = 0; i < results; i++)
		mpk_value_drop(&m->results[i]);
}

static void try(uint64_t seed, struct totals *t)
{
	static struct machine by_plan, by_code;
	static struct generator g;
	const char *difference = NULL;
	uint64_t replayed, state;
	bool holds;

	generate(&g, seed);
	open_machine(&by_plan, &g.m);
	open_machine(&by_code, &g.m);
	plans_of(&by_code)->unplannable = UINT64_MAX;
	state = g.state;
	holds = draw(&state) % 2;
	for (size_t at = 0; at < CALLS; at++) {
		uint64_t salt = draw(&state);

		difference = call_both(&by_plan, &by_code, salt, at, t);
		if (difference)
			break;
		forget(&by_plan, holds ? 0 : at);
		forget(&by_code, holds ? 0 : at);
	}
	if (difference && ++t->wrong <= SHOWN)
		(void)printf("seed %" PRIu64 " (%d): another %s\n", seed, (int)g.wild, difference);
	forget(&by_plan, CALLS);
	forget(&by_code, CALLS);
	if (mpk_plans_get_stats(plans_of(&by_code)).recorded)
		ck_abort_msg("the machine without plans made one");
	replayed = mpk_plans_get_stats(plans_of(&by_plan)).replayed;
	t->programs++;
	t->replayed += replayed;
	t->planned += replayed > 0;
	close_machine(&by_plan);
	close_machine(&by_code);
}

START_TEST(plans_do_what_byte_code_says)
{
	uint64_t count = number_of("MPK_PLAN_COUNT", PROGRAMS),
		 seed = number_of("MPK_PLAN_SEED", 1);
	struct totals t = { 0 };

	made_kernels = plan_kernels;
	need(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err));
	need(mpk_executors_add(runtime, &err));
	need(mpk_runtime_add_loader(runtime, &made_loader, &err));
	for (uint64_t i = 0; i < count; i++)
		try(seed + i, &t);
	mpk_runtime_destroy(runtime);
	(void)printf("%" PRIu64 " programs, %" PRIu64 " of them planned; %" PRIu64
		     " calls, %" PRIu64 " by plan, %" PRIu64 " failed\n",
		     t.programs, t.planned, t.calls, t.replayed, t.failed);
	ck_assert_uint_eq(t.wrong, 0);
	/* a test that is interpreted throughout proves nothing */
	ck_assert_uint_ge(t.planned * 2, t.programs);
	ck_assert_uint_ge(t.replayed * 3, t.calls);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan_random");
	TCase *tc = tcase_create("plan_random");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, getenv("MPK_PLAN_COUNT") ? 0 : 120);
	tcase_add_test(tc, plans_do_what_byte_code_says);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
