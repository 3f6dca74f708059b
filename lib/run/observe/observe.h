/* SPDX-License-Identifier: Apache-2.0 */
/* observe.h - what watches a model run: dump, comparison with a dump, profile, trace; struct mpk_observer is their base
 *
 * A dump has what operators compute, tensor by tensor.
 * Only kernels compute: what copies, reshapes or allocates gives nothing new. The kernels of a run are
 * numbered in the order in which they end, so that the same model with other kernels, for another
 * device, gives the same files.
 */
#ifndef MPK_OBSERVE_OBSERVE_H
#define MPK_OBSERVE_OBSERVE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "io/output.h"
#include "runtime/devices.h"
#include "runtime/observer.h"
#include "value/value.h"

/* --- who watches ------------------------------------------------------------------------------- */

/* What is to be seen of a model at work. */
struct mpk_watch {
	bool profiles;     /* time by operator */
	bool keeps_events; /* and each call of one */
	bool traces;       /* each instruction, as text to trace_fd */
	int trace_fd;
	const struct mpk_directory *dump; /* open; receives what operators compute. NULL: nothing */
	const char *compare;              /* a directory of such a dump; NULL: none */
	struct mpk_tolerance tolerance;   /* for compare */
};

/* What was seen, in another process. Zero-initialise; the fini of each watcher. */
struct mpk_seen {
	uint64_t dump_left_out;              /* results that are not in the dump */
	struct mpk_profile *profile;         /* of the timed calls; NULL: not asked for */
	struct mpk_comparisons *comparisons; /* of the first timed one; NULL: not asked for */
};

/* Of the calls of one function: some to warm up, then those whose time is taken. */
enum mpk_watched_calls { MPK_WATCHED_ALL, MPK_WATCHED_TIMED, MPK_WATCHED_FIRST_TIMED };

struct mpk_watcher {
	size_t bytes; /* of its observer, whose first member is a struct mpk_observer */
	enum mpk_watched_calls calls;
	bool (*is_asked)(const struct mpk_watch *watch);
	/* fills its observer, which borrows from watch and devices. base.fini in every case, where it is set */
	enum mpk_code (*init)(struct mpk_observer *self, const struct mpk_watch *watch,
			      struct mpk_devices *devices, struct mpk_error *err);
	/* a timed call took so long, observers and all; may be NULL */
	void (*timed)(struct mpk_observer *self, double seconds);
	/* what its observer encoded, in a process that may have been damaged: nothing in it is believed. NULL: nothing.
	 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_CORRUPT or MPK_E_RAISED: damaged. fini in every case. */
	enum mpk_code (*decode)(struct mpk_span bytes, struct mpk_seen *seen,
				struct mpk_error *err);
	void (*fini)(struct mpk_seen *seen); /* may be NULL */
};

/* The profile measures operators by device. Its functions fail as mpk_devices_sync, and with MPK_E_NOMEM.
 * The comparison is with the dump in a directory. Its init fails with MPK_E_IO: no such directory; MPK_E_CORRUPT: no
 * file of a dump in it. Its functions fail with MPK_E_CONFLICT when the dump is of another model or other inputs: a
 * result has another type or shape there; and as mpk_devices_fetch and mpk_tensor_load_file do. That numbers differ is
 * no failure, nor that an operator is not in the dump. To encode fails with MPK_E_CONFLICT when the run and the dump
 * have nothing in common.
 * The dump is written into a directory. Its functions fail as mpk_devices_fetch and mpk_directory_write do; but what
 * cannot be read is left out, and counted.
 * The trace is written to a descriptor; a line that cannot be written is lost. Its functions fail with MPK_E_NOMEM
 * alone. */
extern const struct mpk_watcher mpk_watcher_profile, mpk_watcher_compare, mpk_watcher_dump,
	mpk_watcher_trace;

/* mpk_watchers - all of them, the innermost first: what the others do is not measured (dump.c) */
enum { MPK_WATCHER_COUNT = 4 };
extern const struct mpk_watcher *const mpk_watchers[MPK_WATCHER_COUNT];

/* --- what operators compute ---------------------------------------------------------------------- */

/* A tensor that an operator computed. */
struct mpk_result {
	const struct mpk_operator *op;
	size_t number; /* of the operator in the run, from 0 */
	size_t index;  /* of the tensor among the operator's results */
	bool is_only;  /* there is no other */
	enum mpk_code
		fetched; /* MPK_OK; why there is no copy of it: MPK_E_UNSUPPORTED for an image, ... */
	struct mpk_tensor
		*tensor; /* a copy in host memory, of a type that NumPy has; dropped afterwards */
	const char *
		file; /* that a dump has it in: "0003-fused_add.npy", of several "0003-split.1.npy" */
};

/* @err     has what fetching failed with, if it did */
typedef enum mpk_code mpk_result_fn(void *user, const struct mpk_result *result,
				    struct mpk_error *err);

/* mpk_results_each - those that an operator filled, in the order of its operands, then those that it returned; tuples
 * flattened
 * @count   of the operators so far; one more afterwards, unless this one computes nothing
 * Returns  MPK_OK; what fn returned; MPK_E_NOMEM */
enum mpk_code mpk_results_each(struct mpk_devices *devices, const struct mpk_operator *op,
			       const struct mpk_value *returned, size_t *count, mpk_result_fn *fn,
			       void *user, struct mpk_error *err) MPK_MUST_CHECK;

struct mpk_dumper {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	const struct mpk_directory *to;
	size_t count;      /* operators so far */
	uint64_t left_out; /* tensors that cannot be read: images */
};

/* --- what each operator of a run computes, against a dump of another run ----------------------- */

/* One tensor of the run and of the dump. */
struct mpk_compared {
	const char *file;       /* "0003-fused_add.npy" */
	const char *name;       /* of the operator, to be escaped */
	uint64_t number;        /* of the operator */
	const char *difference; /* one sentence without a full stop; "" when they are equal */
	struct mpk_comparison comparison;
};

/* All of them, in the order of the run. */
struct mpk_comparisons {
	struct mpk_arena arena;
	struct mpk_compared *items;
	size_t count, cap;
	size_t differing; /* tensors */
	uint64_t missing; /* tensors of the run that the dump has not, or that cannot be read */
	uint64_t unused;  /* and those of the dump that the run has not */
};

/* mpk_comparisons_first - the first that differs, or NULL */
static inline const struct mpk_compared *mpk_comparisons_first(const struct mpk_comparisons *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (!c->items[i].comparison.is_equal)
			return &c->items[i];
	return NULL;
}

/* The files of a dump, to be found by operator.
 * Zero-initialise; mpk_dump_index_fini. */
struct mpk_dump_index {
	struct mpk_arena arena;
	struct mpk_dump_file {
		const char *name;
		size_t next; /* the next one of the same key; count: none */
	} *files;            /* in the order of their run */
	size_t count, cap;
	struct mpk_strmap keys; /* numbers them */
	size_t *heads;          /* of each key the first file that was not taken so far, or count */
	size_t key_count, key_cap;
};

/* mpk_dump_index_read - list a directory
 * Returns  MPK_OK; MPK_E_IO: no such directory; MPK_E_CORRUPT: no file of a dump in it, with the
 *          directory's name; MPK_E_NOMEM. mpk_dump_index_fini in every case. */
enum mpk_code mpk_dump_index_read(struct mpk_dump_index *index, const char *dir,
				  struct mpk_error *err) MPK_MUST_CHECK;
void mpk_dump_index_fini(struct mpk_dump_index *index);

/* mpk_dump_index_take - the next file with a key, the name of an operator with the number of its
 * result, which is then taken; NULL: there
 * is none left. Borrowed */
const char *mpk_dump_index_take(struct mpk_dump_index *index, struct mpk_span key);

struct mpk_comparer {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	const char *dir;
	struct mpk_tolerance tolerance;
	size_t count; /* operators so far */
	struct mpk_dump_index dump;
	struct mpk_comparisons done;
};

/* --- where the time of a run goes: by operator and device ---------------------------------------
 *
 * Devices work beside the host, so an operator on one is timed from its launch until the device has
 * done all that it was given. The time of operators within an operator (a closure's) is theirs alone. */

struct mpk_profile_row {
	struct mpk_span name; /* borrowed from the profile */
	enum mpk_operator_kind kind;
	struct mpk_dldevice device;
	uint64_t calls;
	double total, min, max; /* seconds, without operators within */
};

/* One call of an operator. */
struct mpk_profile_event {
	uint32_t row;
	double start, seconds; /* start: since the first began; with operators within */
};

struct mpk_profile {
	struct mpk_arena arena;
	struct mpk_profile_row *rows; /* by total, the largest first, once it is decoded */
	size_t row_count, row_cap;
	struct mpk_profile_event *events; /* in the order of their ends; none unless asked for */
	size_t event_count, event_cap;
	uint64_t calls; /* of the model */
	double seconds; /* of all of them */
};

struct mpk_profiler {
	struct mpk_observer base; /* first */
	struct mpk_devices *devices;
	bool keeps_events;
	struct mpk_profile profile;
	struct mpk_strmap index; /* rows by what they are distinguished by */
	struct mpk_strbuf key;
	struct mpk_profile_open {
		double start, within; /* seconds of operators within */
	} *open;                      /* operators under way */
	size_t open_count, open_cap;
	double origin; /* when the first operator began, by the monotonic clock; 0: none so far */
};

/* --- each instruction as a line of text, written before it runs ---------------------------------
 *
 *   main 12: fused_matmul_add(%0: 2x20xf32, c1: 20x16xf32) -> %4: 2x16xf32
 *   main 5: vm.builtin.alloc_tensor(%1: storage of 128 bytes, 0, c2: shape=2,16, c3: dtype=f32)
 *   main 5: %2 = 2x16xf32
 *
 * When a kernel crashes, its line is the last. Names are escaped. */

struct mpk_tracer {
	struct mpk_observer base; /* first */
	int fd;
	struct mpk_strbuf line;
};

#endif
