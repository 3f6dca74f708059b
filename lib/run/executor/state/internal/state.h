/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what all states have: caches of keys and values, recurrent states, pools of weights
 *
 * A state is an object of values (value/value.h): byte code and compiled functions carry it and give it
 * to builtins, which alone look into it. Builtins of states check every argument, as models pass
 * whatever they say, and call kernels that the model gave them. A kernel may be byte code again and
 * call a builtin of the same state: that is refused, see mpk_kv_run.
 */
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

/* mpk_state_real - an argument that counts as a number
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

/* mpk_state_object - an argument that is an object of ours of one kind; borrowed
 * @release  which tells the kinds apart
 * @type     for the error */
enum mpk_code mpk_state_object(const char *name, const struct mpk_value *args, size_t i,
			       void (*release)(struct mpk_object *object), const char *type,
			       struct mpk_object **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_check - MPK_E_RAISED, an InternalError with the sentence, unless the condition holds */
#define mpk_state_check(condition, err, ...)                                                       \
	((condition) ? MPK_OK : mpk_relax_raise(err, "InternalError", __VA_ARGS__))

/* --- memory (args.c) ------------------------------------------------------------------------- */

/* Numbers for kernels, which count in 32 bits. Zero-initialise; free(items). */
struct mpk_ints {
	int32_t *items;
	size_t count, cap;
	bool failed; /* memory was out, and what was pushed since is missing */
};

/* mpk_ints_push - append; failed is to be looked at in the end */
void mpk_ints_push(struct mpk_ints *v, int32_t value);

/* mpk_ints_fini - give the memory back */
void mpk_ints_fini(struct mpk_ints *v);

/* mpk_ints_last - the last number; there is one */
static inline int32_t mpk_ints_last(const struct mpk_ints *v)
{
	return v->items[v->count - 1];
}

/* mpk_state_ints - int32 tensor with these numbers where kernels want it
 * @rows    extents of the first dimension of two, which divide the count; 0: one dimension
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM; MPK_E_DEVICE; MPK_E_RAISED */
enum mpk_code mpk_state_ints(const struct mpk_ints *v, int64_t rows, struct mpk_dldevice where,
			     struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_empty - a compact tensor on a device, its content not set
 * mpk_state_pages - the same for what stays as long as a state: exactly its bytes, and pages that nobody
 *          touches are not there, where a device can do that
 * Returns  as mpk_state_ints; MPK_E_RANGE as mpk_tensor_create says */
enum mpk_code mpk_state_empty(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_state_pages(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
			      struct mpk_dldevice where, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_view - a tensor of another shape over the begin of a compact one
 * Returns  MPK_OK, one reference in *out; MPK_E_RAISED: it has fewer elements, or gaps; MPK_E_NOMEM */
enum mpk_code mpk_state_view(struct mpk_tensor *t, const int64_t *shape, size_t ndim,
			     struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* A range of a tensor's memory. */
struct mpk_state_bytes {
	struct mpk_tensor *tensor; /* compact */
	uint64_t offset, count;    /* bytes from its first element */
};

/* mpk_state_copy - between two ranges of the same size, which lie within their tensors
 * Returns  MPK_OK; MPK_E_INTERNAL: they do not; as mpk_devices_copy */
enum mpk_code mpk_state_copy(struct mpk_state_bytes from, struct mpk_state_bytes to,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_state_call - call a kernel of the model; what it returns is dropped
 * @f       NULL: the model gave none
 * @what    it is for, for the error
 * Returns  as mpk_function_call; MPK_E_RAISED: there is none */
enum mpk_code mpk_state_call(struct mpk_function *f, const char *what, const struct mpk_value *args,
			     size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* --- states with sequences (args.c) ---------------------------------------------------------- */

struct mpk_kv_state;

/* A forward pass that begins. */
struct mpk_kv_batch {
	const int64_t *ids,
		*lengths; /* of each sequence: its id, and by how many tokens it grows */
	size_t count;
	const int64_t *parents; /* in the tree of its tokens, of each token; NULL: chains */
	size_t parent_count;
};

/* Sequences come and go. */
struct mpk_kv_sequences {
	enum mpk_code (*clear)(struct mpk_kv_state *s, struct mpk_error *err);
	enum mpk_code (*add)(struct mpk_kv_state *s, int64_t id, struct mpk_error *err);
	enum mpk_code (*remove)(struct mpk_kv_state *s, int64_t id, struct mpk_error *err);
	/* at: the position, -1: the end */
	enum mpk_code (*fork)(struct mpk_kv_state *s, int64_t parent, int64_t child, int64_t at,
			      struct mpk_error *err);
	enum mpk_code (*pop)(struct mpk_kv_state *s, int64_t id, int64_t count,
			     struct mpk_error *err);
};

/* Where a state is written to. */
struct mpk_save {
	uint8_t *data; /* of tensor; NULL: bytes are counted alone */
	size_t at;
	struct mpk_tensor *tensor;
};

/* What a state is read from. */
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

/* mpk_load_memory - the next bytes as content of a state
 * mpk_load_same - the next number, of 64 bits, which has to be that of this state
 * Return  MPK_OK; MPK_E_CORRUPT; MPK_E_RAISED: it is another one; as mpk_state_copy */
enum mpk_code mpk_load_memory(struct mpk_load *l, struct mpk_state_bytes to,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_load_same(struct mpk_load *l, const char *what, int64_t own,
			    struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_kv_ops {
	/* Sequences as bytes (save.c), those of ids or all for NULL, and back: load changes nothing where it fails. NULL:
	 * this kind of state has no such form */
	enum mpk_code (*save)(const struct mpk_kv_state *s, const int64_t *ids, size_t count,
			      struct mpk_save *to, struct mpk_error *err);
	enum mpk_code (*load)(struct mpk_kv_state *s, struct mpk_load *from, struct mpk_error *err);
	const struct mpk_kv_sequences *sequences;
	enum mpk_code (*begin)(struct mpk_kv_state *s, const struct mpk_kv_batch *batch,
			       struct mpk_error *err);
	enum mpk_code (*end)(struct mpk_kv_state *s, struct mpk_error *err);
	void (*destroy)(struct mpk_kv_state *s); /* all but the structure itself */
};

struct mpk_kv_state {
	struct mpk_object object; /* first */
	const struct mpk_kv_ops *ops;
	atomic_bool is_busy; /* a builtin works on it */
};

/* mpk_kv_init - the part that all have, of a structure from calloc, with one reference
 * @type    static: "relax.vm.PagedAttentionKVCache" */
void mpk_kv_init(struct mpk_kv_state *s, const struct mpk_kv_ops *ops, const char *type);

/* What a builtin was called with. */
struct mpk_kv_call {
	const char *name;
	const struct mpk_value *args;
	size_t count;
	struct mpk_value *result; /* none so far */
};

/* A builtin whose first argument is a state, which nobody else gets while it works. */
struct mpk_kv_builtin {
	const char *name;
	size_t least, most;           /* arguments */
	const struct mpk_kv_ops *ops; /* of the states that it takes; NULL: any */
	enum mpk_code (*work)(struct mpk_kv_state *state, const struct mpk_kv_call *call,
			      struct mpk_error *err);
};

/* mpk_kv_run - call a builtin with the state held
 * Returns  as its work; MPK_E_RAISED: another first argument, another number of them, or a kernel that the
 *          state called wants it */
enum mpk_code mpk_kv_run(const struct mpk_kv_builtin *builtin, const struct mpk_value *args,
			 size_t count, struct mpk_value *result,
			 struct mpk_error *err) MPK_MUST_CHECK;

/* Defines a function of values for a struct mpk_kv_builtin, whose members follow. */
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
	int64_t past;     /* steps that can be taken back */
	int32_t slot, at; /* in storages; in the ring */
};

struct mpk_rnn {
	struct mpk_kv_state base; /* first */
	int64_t layer_count, state_count, slot_count, history;
	struct mpk_dldevice where;
	struct mpk_function **gets, **sets; /* state_count */
	struct mpk_tensor **inits;          /* state_count */
	struct mpk_tensor **storages;       /* of layer 0 all states, of layer 1, ... */
	struct mpk_ints free_slots;         /* that were used before */
	int32_t fresh;                      /* slots from this one on were never used */
	struct mpk_rnn_sequence *sequences;
	size_t count, cap;
	/* the pass that began last */
	int64_t *ids, *lengths;
	size_t batch;
	bool is_stale; /* slots changed since its tables were made */
	struct mpk_tensor *slots, *rings;
};

/* mpk_rnn_storages - how many storages a state has */
static inline size_t mpk_rnn_storages(const struct mpk_rnn *r)
{
	return (size_t)(r->layer_count * r->state_count);
}

#endif
