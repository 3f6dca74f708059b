/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - an executable of the Relax VM as a module: its program, decoded once for running
 *
 * Byte code is read when the module is opened: operands are checked, and what is called is looked for in
 * the imports, then among the builtins, then among the runtime's global functions. The loop that runs
 * it (interp.c) can then do without any look-up or check. What nobody has is no failure before a
 * function that needs it is looked up, because a library may have others that run.
 *
 * One pass over a function's steps, in their order, with what each register is: a parameter or a part of
 * one, memory of a device by its number, neither. Views of a tensor are where it is. A callee asks for
 * its arguments where it wants its parameters, so functions are read again until nothing is new.
 * Copies between devices say least, and are asked last.
 */
#include "executor/executor.h"

#include <stdlib.h>

#include "executor/relax/internal/relax.h"
#include "runtime/library.h"
#include "text/escape.h"

/* --- the whole ----------------------------------------------------------------------------- */

static size_t relax_find_function(const struct mpk_relax_program *p, const char *name)
{
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->x.funcs[i].kind != MPK_RELAX_PACKED && mpk_span_is(p->callees[i].name, name))
			return i;
	return p->callee_count;
}

/* --- what is missing ----------------------------------------------------------------------- */

struct needs {
	const struct mpk_relax_program *p;
	bool *seen;
	size_t *waiting;
	size_t waiting_count, missing;
	bool is_disco; /* one of them is of TVM's sessions of several processes */
	struct mpk_strbuf names;
};

static void needs_fini(struct needs *n)
{
	free(n->seen);
	free(n->waiting);
	mpk_strbuf_fini(&n->names);
}

static void need_callee(struct needs *n, size_t callee)
{
	const struct mpk_relax_callee *c = &n->p->callees[callee];

	if (n->seen[callee])
		return;
	n->seen[callee] = true;
	if (c->action == MPK_ACTION_CALL)
		n->waiting[n->waiting_count++] = callee;
	/* all that is missing is named at once, not one function a try */
	n->is_disco |=
		c->action == MPK_ACTION_MISSING && mpk_span_starts(c->name, "runtime.disco.");
	if (c->action == MPK_ACTION_MISSING)
		mpk_strbuf_printf(&n->names, "%s%s", n->missing++ ? ", " : "", MPK_QUOTE(c->name));
}

static void need_all_of(struct needs *n, const struct mpk_relax_callee *c)
{
	for (size_t at = c->start; at < c->end; at++) {
		const struct mpk_relax_step *s = &n->p->steps[at];

		/* what follows in the enum calls nothing */
		if (s->action > MPK_ACTION_MISSING)
			continue;
		need_callee(n, s->callee);
		for (uint32_t i = 0; i < s->count; i++)
			if (n->p->operands[s->first + i].kind == MPK_OPERAND_FUNCTION)
				need_callee(n, (size_t)n->p->operands[s->first + i].value);
	}
}

static enum mpk_code relax_check_function(const struct mpk_relax_program *p, size_t function,
					  struct mpk_error *err)
{
	MPK_CLEANUP(needs_fini) struct needs n = { .p = p };

	n.seen = calloc(p->callee_count + 1, sizeof *n.seen);
	n.waiting = calloc(p->callee_count + 1, sizeof *n.waiting);
	if (!n.seen || !n.waiting)
		return mpk_fail_nomem(err);
	need_callee(&n, function);
	while (n.waiting_count)
		need_all_of(&n, &p->callees[n.waiting[--n.waiting_count]]);
	if (!n.missing)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"'%s' needs %zu function%s that neither the library nor this program has: %s%s",
		MPK_QUOTE(p->callees[function].name), n.missing, n.missing == 1 ? "" : "s",
		mpk_strbuf_text(&n.names),
		n.is_disco
			? "; runtime.disco is of sessions of several processes, which only TVM has"
			: "");
}

/* --- the module ----------------------------------------------------------------------------- */

static const struct mpk_relax_program *program_of(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return (const struct mpk_relax_program *)model->program;
}

static bool relax_accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "relax.VMExecutable") || mpk_span_is(kind, "relax.Executable");
}

static enum mpk_code relax_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_node_model_open(node, &mpk_relax_kind, err);
}

static enum mpk_code find_node(struct mpk_node_module *node, const char *name,
			       struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_relax_program *p = program_of(node);
	size_t index = relax_find_function(p, name);
	struct mpk_machine *machine;

	*out = NULL;
	if (index == p->callee_count)
		return MPK_OK;
	MPK_TRY(relax_check_function(p, index, err));
	MPK_TRY(mpk_node_model_machine(node->state, &machine, err));
	return mpk_relax_vm_function((struct mpk_relax_vm *)machine, index, out, err);
}

static bool relax_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relax_program *p = program_of(node);

	for (size_t k = 0; k < p->callee_count; k++)
		if (p->x.funcs[k].kind != MPK_RELAX_PACKED && i-- == 0) {
			*out = p->callees[k].name;
			return true;
		}
	return false;
}

struct mpk_relax_vm *mpk_relax_machine_of(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return model ? (struct mpk_relax_vm *)model->machine : NULL;
}

const struct mpk_loader mpk_relax_executor = {
	.accepts = relax_accepts,
	.payload = &mpk_reader_relax,
	.has = mpk_node_model_has,
	.open = relax_open_node,
	.find = find_node,
	.name_at = relax_name_at,
	.close = mpk_node_model_close,
};

/* --- places ----------------------------------------------------------------------------------- */

enum { PASSES = 8, REGISTERS_MAX = 1 << 16 };

/* What a register holds; zero: neither. */
struct origin {
	struct mpk_type *input; /* a parameter, or a field of one */
	unsigned memory;        /* 1 + the number of a device */
};

struct placing {
	struct mpk_relax_program *p;
	int32_t *wanted; /* of each callee that is a kernel: the device of its tensors; 0 */
	struct origin *registers;
	size_t register_count;
	bool changed;
	bool guesses; /* copies count, too */
};

/* --- where from ----------------------------------------------------------------------------- */

static struct origin *register_at(const struct placing *pl, int64_t number)
{
	return number >= 0 && (uint64_t)number < pl->register_count ? &pl->registers[number] : NULL;
}

static const struct mpk_relax_operand *operand(const struct placing *pl,
					       const struct mpk_relax_step *s, uint32_t i)
{
	return i < s->count ? &pl->p->operands[s->first + i] : NULL;
}

static struct origin origin_of(const struct placing *pl, const struct mpk_relax_step *s, uint32_t i)
{
	const struct mpk_relax_operand *o = operand(pl, s, i);
	const struct origin *r =
		o && o->kind == MPK_OPERAND_REGISTER ? register_at(pl, o->value) : NULL;

	return r ? *r : (struct origin){ 0 };
}

static struct origin field_of(const struct placing *pl, const struct mpk_relax_step *s)
{
	struct mpk_type *tuple = origin_of(pl, s, 0).input;
	const struct mpk_relax_operand *index = operand(pl, s, 1);

	if (!tuple || tuple->kind != MPK_TYPE_TUPLE || !index || index->kind != MPK_OPERAND_INT ||
	    index->value < 0 || (uint64_t)index->value >= tuple->field_count)
		return (struct origin){ 0 };
	return (struct origin){
		.input = (struct mpk_type *)(uintptr_t)&tuple->fields[index->value].type
	};
}

static struct origin result_of(const struct placing *pl, const struct mpk_relax_step *s)
{
	static const char *const views[] = { "vm.builtin.alloc_tensor", "vm.builtin.reshape",
					     "vm.builtin.ensure_zero_offset" };
	struct mpk_span name = pl->p->callees[s->callee].name;
	const struct mpk_relax_operand *number = operand(pl, s, 2);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(views); i++)
		if (mpk_span_is(name, views[i]))
			return origin_of(pl, s, 0);
	if (mpk_span_is(name, "vm.builtin.tuple_getitem"))
		return field_of(pl, s);
	if (mpk_span_is(name, "vm.builtin.alloc_storage") && number &&
	    number->kind == MPK_OPERAND_INT && number->value >= 0 &&
	    number->value < MPK_RUNTIME_DEVICES_MAX)
		return (struct origin){ .memory = (unsigned)number->value + 1 };
	return (struct origin){ 0 };
}

/* --- where to ------------------------------------------------------------------------------- */

static void want(struct placing *pl, struct origin o, int32_t device)
{
	int32_t *place = o.input    ? &o.input->device
			 : o.memory ? &pl->p->devices[o.memory - 1]
				    : NULL;

	/* what came first stays: texts of checks are read before */
	if (!device || !place || *place)
		return;
	*place = device;
	pl->changed = true;
}

/* What is copied to another device is not there: where nothing else is said, it is on the host. */
static bool is_copy_from_host(const struct placing *pl, const struct mpk_relax_step *s)
{
	const struct mpk_relax_operand *type = operand(pl, s, 1);

	return mpk_span_is(pl->p->callees[s->callee].name, "vm.builtin.to_device") && type &&
	       type->kind == MPK_OPERAND_INT && type->value != MPK_DL_CPU;
}

static void place_read_call(struct placing *pl, const struct mpk_relax_step *s)
{
	const struct mpk_relax_callee *c = &pl->p->callees[s->callee];
	struct origin *dst = register_at(pl, s->dst);

	for (uint32_t i = 0; i < s->count; i++) {
		int32_t device = pl->wanted[s->callee];

		if (c->signature && i < c->signature->input_count)
			device = c->signature->inputs[i].type.device;
		want(pl, origin_of(pl, s, i), device);
	}
	if (pl->guesses && is_copy_from_host(pl, s))
		want(pl, origin_of(pl, s, 0), MPK_DL_CPU);
	if (dst)
		*dst = result_of(pl, s);
}

static void place_read_function(struct placing *pl, const struct mpk_relax_callee *c)
{
	const struct mpk_signature *s = c->signature;

	pl->register_count = c->register_count < REGISTERS_MAX ? c->register_count : REGISTERS_MAX;
	for (size_t i = 0; i < pl->register_count; i++)
		pl->registers[i] = (struct origin){
			.input = i < s->input_count
					 ? (struct mpk_type *)(uintptr_t)&s->inputs[i].type
					 : NULL
		};
	for (size_t at = c->start; at < c->end; at++) {
		enum mpk_relax_action action = pl->p->steps[at].action;

		if (action >= MPK_ACTION_KERNEL && action <= MPK_ACTION_MISSING)
			place_read_call(pl, &pl->p->steps[at]);
	}
}

/* --- all of them ---------------------------------------------------------------------------- */

static void ask_kernels(struct placing *pl)
{
	const struct mpk_host_code *code = &pl->p->base.host->code;

	for (size_t i = 0; i < pl->p->callee_count; i++) {
		const struct mpk_relax_callee *c = &pl->p->callees[i];

		if (c->action == MPK_ACTION_KERNEL)
			pl->wanted[i] = code->device_of(code->device_user, c->function->name);
	}
}

/* Functions may share code, so that all of them can be many times the file. */
static void place_read_all(struct placing *pl)
{
	const struct mpk_relax_program *p = pl->p;
	uint64_t steps = 0, most = 16 * ((uint64_t)p->step_count + p->callee_count) + 4096;

	pl->changed = true;
	for (unsigned pass = 0; pl->changed && pass < PASSES; pass++) {
		pl->changed = false;
		for (size_t i = 0; i < p->callee_count; i++) {
			const struct mpk_relax_callee *c = &p->callees[i];

			if (c->action != MPK_ACTION_CALL || !c->signature)
				continue;
			steps += c->end - c->start + c->register_count / 16;
			if (steps > most)
				return;
			place_read_function(pl, c);
		}
	}
}

enum mpk_code mpk_relax_place(struct mpk_relax_program *p, struct mpk_error *err)
{
	struct placing pl = { .p = p };

	if (!p->base.host->code.device_of)
		return MPK_OK;
	pl.wanted = calloc(p->callee_count + 1, sizeof *pl.wanted);
	pl.registers = calloc(REGISTERS_MAX, sizeof *pl.registers);
	bool room = pl.wanted && pl.registers;

	if (room) {
		ask_kernels(&pl);
		place_read_all(&pl);
		pl.guesses = true;
		place_read_all(&pl);
	}
	free(pl.registers);
	free(pl.wanted);
	return room ? MPK_OK : mpk_fail_nomem(err);
}
