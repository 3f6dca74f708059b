/* SPDX-License-Identifier: Apache-2.0 */
/* observer.h - who sees what a model does while it does it
 *
 * Executors report to the observers of their runtime each operator that begins and ends, and of the
 * instructions that only move on. A profile, a trace, a dump of what operators compute: each is an
 * observer of its own, and no executor knows which there are. A run that nobody observes asks once a
 * call; one that somebody does takes step by step what might else be replayed (executor/plan).
 */
#ifndef MPK_RUNTIME_OBSERVER_H
#define MPK_RUNTIME_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "value/value.h"

enum mpk_operator_kind {
	MPK_OPERATOR_KERNEL,  /* a function of the library or a global one: it computes */
	MPK_OPERATOR_COPY,    /* moves content, perhaps between devices */
	MPK_OPERATOR_BUILTIN, /* of the machine: memory, shapes, tuples, closures */
	MPK_OPERATOR_CONTROL, /* goes elsewhere: a call of byte code, a return, a jump */
};

/* Where an operand comes from, or a result goes to. */
enum mpk_place_kind {
	MPK_PLACE_NONE, /* nowhere that has a name: the value itself */
	MPK_PLACE_REGISTER,
	MPK_PLACE_CONSTANT,
	MPK_PLACE_TENSOR, /* of a graph: the number of its entry */
};

struct mpk_place {
	enum mpk_place_kind kind;
	int64_t number;
};

struct mpk_operand {
	struct mpk_place place;
	struct mpk_value
		value;  /* borrowed; tensors without a storage live as long as the operator */
	bool is_result; /* the operator writes it: its content is there at the end */
};

/* Something that a model does. Valid from its begin to its end. */
struct mpk_operator {
	enum mpk_operator_kind kind;
	struct mpk_span name;     /* of what is called: "fused_matmul_add", "vm.builtin.reshape" */
	struct mpk_span function; /* in byte code, whose instruction it is; empty: a graph's */
	struct mpk_span label;    /* the graph's own name of the node; may be empty */
	size_t index;             /* of the instruction in its function; of the graph's operator */
	struct mpk_operand *operands; /* owned; what is read and what is written, as it is passed */
	size_t count;
	struct mpk_place to; /* where what is returned goes */
	bool *skips; /* an observer may set it at the begin: it is then not done; NULL: it may not */
};

struct mpk_strbuf; /* base/strbuf.h */

/* All functions may be NULL. A failure ends the run with it. */
struct mpk_observer {
	struct mpk_observer *next; /* innermost last: begins last and ends first */
	enum mpk_code (*begin)(struct mpk_observer *self, const struct mpk_operator *op,
			       struct mpk_error *err);
	/* not called for operators that fail. @result is what was returned, none when nothing was */
	enum mpk_code (*end)(struct mpk_observer *self, const struct mpk_operator *op,
			     const struct mpk_value *result, struct mpk_error *err);
	/* an instruction of kind CONTROL: it has no end */
	enum mpk_code (*control)(struct mpk_observer *self, const struct mpk_operator *op,
				 struct mpk_error *err);
	/* when the run is over: what it saw, as bytes for another process of this program */
	enum mpk_code (*encode)(struct mpk_observer *self, struct mpk_strbuf *out,
				struct mpk_error *err);
	void (*fini)(struct mpk_observer *self);
};

/* mpk_operator_init - room for count operands, all none
 * Returns  MPK_OK; MPK_E_NOMEM. mpk_operator_fini in both cases. */
enum mpk_code mpk_operator_init(struct mpk_operator *op, size_t count,
				struct mpk_error *err) MPK_MUST_CHECK;
void mpk_operator_fini(struct mpk_operator *op);

/* mpk_operator_begin, mpk_operator_end, mpk_operator_control - report to all observers
 * @first   NULL: there is nobody
 * Returns  MPK_OK; what an observer failed with */
enum mpk_code mpk_operator_begin(struct mpk_observer *first, const struct mpk_operator *op,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_operator_end(struct mpk_observer *first, const struct mpk_operator *op,
			       const struct mpk_value *result,
			       struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_operator_control(struct mpk_observer *first, const struct mpk_operator *op,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
