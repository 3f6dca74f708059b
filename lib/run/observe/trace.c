/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - each instruction as a line of text, written before it runs
 *
 * A trace is for models that crash, so a line goes out by write() at once: what is in a buffer would be
 * lost with the process. Nothing in a line may differ from run to run but what the model does, so
 * addresses are left out and traces of two runs can be compared.
 */
#include "observe/observe.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "device/device.h"
#include "text/escape.h"
#include "value/function.h"
#include "value/parse.h"

enum {
	NEST_MAX = 8,   /* tuples within tuples */
	ITEMS_MAX = 16, /* of a tuple */
};

/* --- values --------------------------------------------------------------------------------- */

/* Host memory is the rule and is not named. */
static void put_device(struct mpk_dldevice device, struct mpk_strbuf *out)
{
	if (mpk_dldevice_is_host(device))
		return;
	mpk_strbuf_printf(out, " on %s:%" PRId32,
			  mpk_device_kind_name(mpk_device_kind_from(device.type)), device.id);
}

static void trace_put_value(const struct mpk_value *v, unsigned depth, struct mpk_strbuf *out);

static void put_array(const struct mpk_array *a, unsigned depth, struct mpk_strbuf *out)
{
	if (a->tag)
		mpk_strbuf_printf(out, "tag %" PRId32 " ", a->tag);
	mpk_strbuf_putc(out, '(');
	for (size_t i = 0; i < a->count && i < ITEMS_MAX && depth < NEST_MAX; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		trace_put_value(&a->items[i], depth + 1, out);
	}
	mpk_strbuf_puts(out, a->count > ITEMS_MAX || depth == NEST_MAX ? ", ...)" : ")");
}

/* Tensors by type and shape alone: what is written to has no content yet. */
static void trace_put_value(const struct mpk_value *v, unsigned depth, struct mpk_strbuf *out)
{
	switch (v->kind) {
	case MPK_VALUE_TENSOR:
		mpk_tensor_print_type(out, &v->tensor->dl);
		put_device(v->tensor->dl.device, out);
		return;
	case MPK_VALUE_ARRAY:
		put_array(v->array, depth, out);
		return;
	case MPK_VALUE_STORAGE:
		mpk_strbuf_printf(out, "storage of %" PRIu64 " bytes", v->storage->bytes);
		put_device(v->storage->device, out);
		return;
	case MPK_VALUE_FUNCTION:
		mpk_strbuf_puts(out, "function ");
		mpk_escape(out, mpk_span_str(v->function->name ? v->function->name : "?"));
		return;
	case MPK_VALUE_INT:
		mpk_strbuf_printf(out, "%" PRId64, v->integer);
		return;
	case MPK_VALUE_OPAQUE:
		mpk_strbuf_puts(out, "pointer"); /* its address would differ from run to run */
		return;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	mpk_value_print(out, v, ITEMS_MAX);
}

/* "%4" is a register, "c1" a constant, "t7" a tensor of a graph; false where a value has no
 * place. */
static bool trace_put_place(struct mpk_place place, struct mpk_strbuf *out)
{
	static const char *const signs[] = { "", "%", "c", "t" };

	if (place.kind != MPK_PLACE_NONE)
		mpk_strbuf_printf(out, "%s%" PRId64, signs[place.kind], place.number);
	return place.kind != MPK_PLACE_NONE;
}

static void put_operand(const struct mpk_operand *o, struct mpk_strbuf *out)
{
	bool placed = trace_put_place(o->place, out);

	/* what is not there yet: a constant that the instruction loads */
	if (placed && o->value.kind == MPK_VALUE_NONE)
		return;
	mpk_strbuf_puts(out, placed ? ": " : "");
	trace_put_value(&o->value, 0, out);
}

/* --- lines ---------------------------------------------------------------------------------- */

static void begin_line(struct mpk_tracer *t, const struct mpk_operator *op)
{
	mpk_strbuf_fini(&t->line);
	mpk_escape(&t->line, op->function);
	mpk_strbuf_printf(&t->line, "%s%zu: ", op->function.len ? " " : "", op->index);
}

static enum mpk_code end_line(struct mpk_tracer *t, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	size_t done = 0;

	mpk_strbuf_putc(&t->line, '\n');
	MPK_TRY(mpk_strbuf_status(&t->line, err));
	/* whatever a part of it forgot to escape, a terminal does not get it */
	mpk_escape_lines(&out, mpk_span_of(t->line.data, t->line.len));
	MPK_TRY(mpk_strbuf_status(&out, err));
	while (done < out.len) {
		ssize_t n = write(t->fd, out.data + done, out.len - done);

		/* a line that cannot be written is lost: the run matters more than its trace */
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return MPK_OK;
}

/* What is read comes before the arrow, what is filled after it. */
static void put_operands(const struct mpk_operator *op, bool results, struct mpk_strbuf *out)
{
	bool any = false;

	for (size_t i = 0; i < op->count; i++) {
		if (op->operands[i].is_result != results)
			continue;
		if (any)
			mpk_strbuf_puts(out, ", ");
		else if (results)
			mpk_strbuf_puts(out, " -> ");
		any = true;
		put_operand(&op->operands[i], out);
	}
}

static enum mpk_code trace_begin(struct mpk_observer *self, const struct mpk_operator *op,
				 struct mpk_error *err)
{
	struct mpk_tracer *t = (struct mpk_tracer *)self;

	begin_line(t, op);
	if (op->label.len && !mpk_span_equal(op->label, op->name)) {
		mpk_escape(&t->line, op->label);
		mpk_strbuf_puts(&t->line, " = ");
	}
	mpk_escape(&t->line, op->name);
	mpk_strbuf_putc(&t->line, '(');
	put_operands(op, false, &t->line);
	mpk_strbuf_putc(&t->line, ')');
	put_operands(op, true, &t->line);
	return end_line(t, err);
}

static enum mpk_code trace_end(struct mpk_observer *self, const struct mpk_operator *op,
			       const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_tracer *t = (struct mpk_tracer *)self;

	/* kernels return nothing: what they fill is in the line before they ran */
	if (result->kind == MPK_VALUE_NONE)
		return MPK_OK;
	begin_line(t, op);
	mpk_strbuf_puts(&t->line, trace_put_place(op->to, &t->line) ? " = " : "returned ");
	trace_put_value(result, 0, &t->line);
	return end_line(t, err);
}

static void tracer_fini(struct mpk_observer *self)
{
	mpk_strbuf_fini(&((struct mpk_tracer *)self)->line);
}

static enum mpk_code tracer_init(struct mpk_observer *self, const struct mpk_watch *watch,
				 struct mpk_devices *devices, struct mpk_error *err)
{
	(void)devices;
	(void)err;
	*(struct mpk_tracer *)self = (struct mpk_tracer){ .base = { .begin = trace_begin,
								    .end = trace_end,
								    .control = trace_begin,
								    .fini = tracer_fini },
							  .fd = watch->trace_fd };
	return MPK_OK;
}

static bool trace_is_asked(const struct mpk_watch *watch)
{
	return watch->traces;
}

const struct mpk_watcher mpk_watcher_trace = {
	.bytes = sizeof(struct mpk_tracer),
	.calls = MPK_WATCHED_ALL,
	.is_asked = trace_is_asked,
	.init = tracer_init,
};
