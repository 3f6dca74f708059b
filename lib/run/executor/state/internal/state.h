/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the common part of all states: caches of keys and values, recurrent states, pools of weights
 *
 * A state is an object of values (value/value.h). Byte code and compiled functions pass it to builtins; only builtins read it.
 * Builtins of states check every argument, because models may pass anything, and call kernels of the model. A kernel may be
 * byte code that calls a builtin of the same state: mpk_kv_run refuses that. */
#ifndef MPK_EXECUTOR_STATE_INTERNAL_STATE_H
#define MPK_EXECUTOR_STATE_INTERNAL_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "executor/relax/builtin.h"
#include "runtime/devices.h"
#include "value/function.h"
#include "value/value.h"

/* --- arguments ------------------------------------------------------------------------ */

/* mpk_state_real - an argument as a floating-point number; integers are converted
 * mpk_state_shape, mpk_state_function, mpk_state_array, mpk_state_text - an argument of that kind; borrowed
 * Returns  MPK_OK; MPK_E_RAISED, a TypeError */
enum mpk_code mpk_state_real(const char *name, const struct mpk_value *args, size_t i, double *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_shape(const char *name, const struct mpk_value *args, size_t i,
			      const struct mpk_shape **out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_function(const char *name, const struct mpk_value *args, size_t i,
				 struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_array(const char *name, const struct mpk_value *args, size_t i,
			      struct mpk_array **out, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_text(const char *name, const struct mpk_value *args, size_t i,
			     struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_object - an argument that is an object of this program of one kind; borrowed
 * @release  the object's release function, which identifies the kind
 * @type     name of the kind, for the error */
enum mpk_code mpk_state_object(const char *name, const struct mpk_value *args, size_t i,
			       void (*release)(struct mpk_object *object), const char *type,
			       struct mpk_object **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_check - return MPK_E_RAISED with this sentence, an InternalError, unless the condition holds */
#define mpk_state_check(condition, err, ...)                                                       \
	((condition) ? MPK_OK : mpk_relax_raise(err, "InternalError", __VA_ARGS__))

/* --- memory (args.c) ------------------------------------------------------------------------- */

/* A growing list of 32-bit numbers for kernels. Zero-initialise; mpk_ints_fini. */
struct mpk_ints {
	int32_t *items;
	size_t count, cap;
	bool failed; /* an allocation failed, and later numbers are missing */
};

/* mpk_ints_push - append; the caller checks `failed` once, at the end */
void mpk_ints_push(struct mpk_ints *v, int32_t value);

/* mpk_ints_fini - free the list */
void mpk_ints_fini(struct mpk_ints *v);

/* mpk_ints_last - the last number; the list must not be empty */
static inline int32_t mpk_ints_last(const struct mpk_ints *v)
{
	return v->items[v->count - 1];
}

/* mpk_state_ints - a tensor of int32 with these numbers, on the device on which kernels read it
 * @rows    the first of two dimensions, a divisor of the count; 0: the tensor has one dimension
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM; MPK_E_DEVICE; MPK_E_RAISED */
enum mpk_code mpk_state_ints(const struct mpk_ints *v, int64_t rows, struct mpk_dldevice where,
			     struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_empty - a compact tensor on a device; its content is not set
 * mpk_state_pages - the same for memory that lives as long as a state: it has exactly the bytes that are asked for, and
 *          where the device can do so, pages take memory only once they are touched
 * Returns  as mpk_state_ints; MPK_E_RANGE as mpk_tensor_create */
enum mpk_code mpk_state_empty(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_pages(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_view - a tensor of another shape over the beginning of a compact tensor
 * Returns  MPK_OK, one reference in *out; MPK_E_RAISED: it has fewer elements, or is not compact; MPK_E_NOMEM */
enum mpk_code mpk_state_view(struct mpk_tensor *t, const int64_t *shape, size_t ndim,
			     struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* A range of a tensor's memory. */
struct mpk_state_bytes {
	struct mpk_tensor *tensor; /* compact */
	uint64_t offset, count;    /* bytes, from the tensor's first element */
};

/* mpk_state_copy - copy between two ranges of the same size
 * Returns  MPK_OK; MPK_E_INTERNAL: a range leads out of its tensor; as mpk_devices_copy */
enum mpk_code mpk_state_copy(struct mpk_state_bytes from, struct mpk_state_bytes to,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_call - call a kernel of the model and drop its result
 * @f       NULL: the model gave none
 * @what    purpose of the kernel, for the error
 * Returns  as mpk_function_call; MPK_E_RAISED: f is NULL */
enum mpk_code mpk_state_call(struct mpk_function *f, const char *what, const struct mpk_value *args,
			     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* --- states with sequences (args.c) ---------------------------------------------------------- */

struct mpk_kv_state;

/* The sequences of a forward pass. */
struct mpk_kv_batch {
	const int64_t *ids, *lengths; /* for each sequence: its id, and the number of new tokens */
	size_t count;
	/* for each token: its parent in the sequence's tree; NULL: chains */
	const int64_t *parents;
	size_t parent_count;
};

/* Operations on sequences. */
struct mpk_kv_sequences {
	enum mpk_code (*clear)(struct mpk_kv_state *s, struct mpk_error *err);
	enum mpk_code (*add)(struct mpk_kv_state *s, int64_t id, struct mpk_error *err);
	enum mpk_code (*remove)(struct mpk_kv_state *s, int64_t id, struct mpk_error *err);
	/* at: a position; -1: the end */
	enum mpk_code (*fork)(struct mpk_kv_state *s, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err);
	enum mpk_code (*pop)(struct mpk_kv_state *s, int64_t id, int64_t count,
			     struct mpk_error *err);
};

/* Destination of a saved state. */
struct mpk_save {
	uint8_t *data; /* bytes of tensor; NULL: only count bytes */
	size_t at;
	struct mpk_tensor *tensor;
};

/* Source of a saved state. */
struct mpk_load {
	struct mpk_cursor cursor; /* over the bytes of tensor */
	struct mpk_tensor *tensor;
};

/* mpk_save_put, mpk_save_u32, mpk_save_u64 - append bytes, or a number
 * mpk_save_memory - append content of a state
 * Returns  MPK_OK; as mpk_state_copy */
void mpk_save_put(struct mpk_save *s, const void *data, size_t len);
void mpk_save_u32(struct mpk_save *s, uint32_t v);
void mpk_save_u64(struct mpk_save *s, uint64_t v);
enum mpk_code mpk_save_memory(struct mpk_save *s, struct mpk_state_bytes from,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_load_memory - read the next bytes into memory of a state
 * mpk_load_same - read the next 64-bit number, which must equal this state's
 * Return  MPK_OK; MPK_E_CORRUPT; MPK_E_RAISED: the number differs; as mpk_state_copy */
enum mpk_code mpk_load_memory(struct mpk_load *l, struct mpk_state_bytes to,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_load_same(struct mpk_load *l, const char *what, int64_t own,
			    struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_kv_ops {
	/* Save sequences as bytes (save.c), those with these ids, or all where ids is NULL; and load them. A load that fails changes
	 * nothing. NULL: this kind of state cannot be saved. */
	enum mpk_code (*save)(const struct mpk_kv_state *s, const int64_t *ids, size_t count,
			      struct mpk_save *to, struct mpk_error *err);
	enum mpk_code (*load)(struct mpk_kv_state *s, struct mpk_load *from, struct mpk_error *err);
	const struct mpk_kv_sequences
		*sequences; /* NULL, like begin and end: it has no sequences */
	enum mpk_code (*begin)(struct mpk_kv_state *s, const struct mpk_kv_batch *batch,
			       struct mpk_error *err);
	enum mpk_code (*end)(struct mpk_kv_state *s, struct mpk_error *err);
	void (*destroy)(struct mpk_kv_state *s); /* frees everything but the structure itself */
};

struct mpk_kv_state {
	struct mpk_object object; /* must be the first member */
	const struct mpk_kv_ops *ops;
	atomic_bool is_busy; /* a builtin is working on the state */
};

/* mpk_kv_init - initialise the common part of a structure from calloc, with one reference
 * @type    static text, such as "relax.vm.PagedAttentionKVCache" */
void mpk_kv_init(struct mpk_kv_state *s, const struct mpk_kv_ops *ops, const char *type);

/* The arguments of a builtin. */
struct mpk_kv_call {
	const char *name;
	const struct mpk_value *args;
	size_t count;
	struct mpk_value *result; /* none on entry */
};

/* A builtin whose first argument is a state. While it works, no other builtin gets the state. */
struct mpk_kv_builtin {
	const char *name;
	size_t least, most; /* bounds of the number of arguments */
	/* operations of the states that it takes; NULL: all states that have sequences */
	const struct mpk_kv_ops *ops;
	enum mpk_code (*work)(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err);
};

/* For a builtin that takes every state. */
extern const struct mpk_kv_ops mpk_kv_every;

/* mpk_kv_take - the argument that is a state of these operations, or, for NULL, of sequences; borrowed
 * Returns  MPK_OK; MPK_E_RAISED: it is something else, or another kind of state */
enum mpk_code mpk_kv_take(const char *name, const struct mpk_value *args, size_t i,
			  const struct mpk_kv_ops *ops, const char *type, struct mpk_kv_state **out,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kv_run - call a builtin and hold the state during the call
 * Returns  as the builtin; MPK_E_RAISED: wrong first argument, wrong number of arguments, or the state is busy because a
 *          kernel that it called wants it */
enum mpk_code mpk_kv_run(const struct mpk_kv_builtin *builtin, const struct mpk_value *args,
			 size_t count, struct mpk_value *result,
			 struct mpk_error *err) MPK_MUST_CHECK;

/* Defines the function for a struct mpk_kv_builtin, whose members follow. */
#define MPK_KV_BUILTIN(function, ...)                                                              \
	static enum mpk_code function(const struct mpk_value *args, size_t count,                  \
				      struct mpk_value *result, struct mpk_error *err)             \
	{                                                                                          \
		static const struct mpk_kv_builtin builtin = { __VA_ARGS__ };                      \
                                                                                                   \
		return mpk_kv_run(&builtin, args, count, result, err);                             \
	}

/* --- recurrent states (rnn.c) --- */

struct mpk_rnn_sequence {
	int64_t id;
	int64_t past;     /* steps that can be undone */
	int32_t slot, at; /* index among the storages; index in the ring */
};

struct mpk_rnn {
	struct mpk_kv_state base; /* must be the first member */
	int64_t layer_count, state_count, slot_count, history;
	struct mpk_dldevice where;
	struct mpk_function **gets, **sets; /* state_count functions each */
	struct mpk_tensor **inits;          /* state_count tensors */
	/* all states of layer 0, then all of layer 1, and so on */
	struct mpk_tensor **storages;
	struct mpk_ints free_slots; /* slots that were used and freed */
	int32_t fresh;              /* this slot and all higher ones were never used */
	struct mpk_rnn_sequence *sequences;
	size_t count, cap;
	/* of the current pass */
	int64_t *ids, *lengths;
	size_t batch;
	bool is_stale; /* slots have changed since the tables were made */
	struct mpk_tensor *slots, *rings;
};

/* mpk_rnn_storages - the number of storages of a state */
static inline size_t mpk_rnn_storages(const struct mpk_rnn *r)
{
	return (size_t)(r->layer_count * r->state_count);
}

#endif
