/* SPDX-License-Identifier: Apache-2.0 */
/* mpk/run.h - run models and functions that Apache TVM compiled, without TVM
 *
 *     mpkr_model *model;
 *     mpkr_function *f;
 *     struct mpkr_error err;
 *     float x[64] = { 0 };
 *     int64_t shape[2] = { 1, 64 };
 *     struct mpkr_tensor in = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 2, shape);
 *     const struct mpkr_tensor *inputs[1] = { &in };
 *     struct mpkr_result *result;
 *     size_t count;
 *
 *     if (mpkr_open("mlp.so", NULL, &model, &err) || mpkr_find(model, "main", &f, &err) ||
 *         mpkr_call(f, inputs, 1, &result, 1, &count, &err))
 *             ... err.text says why ...
 *     ... (float *)result->tensor.data, result->tensor.shape[0] ...
 *     mpkr_free(result);
 *     mpkr_drop(f);
 *     mpkr_close(model);
 *
 * Files: shared libraries for this machine that TVM 0.8 to 0.27, tvm-ffi or mpack wrote, with or without
 * models: Relax VM (byte code and compiled), Relay VM, graph and AOT executors, plain host functions,
 * launch functions; code for the CPU, for OpenCL and for CUDA, whose drivers are opened when a model first
 * needs them.
 *
 * Ownership: what open, find, session and call give is the caller's, who gives it back with the function
 * that is named there, in any order: a function keeps its model, a result keeps its memory, whatever is
 * closed first. What a caller passes is borrowed until the function returns, unless it says otherwise.
 *
 * Threads: every function may be called from every thread. Calls of functions of one model wait for each
 * other; for calls side by side open a session a thread (mpkr_session), which shares code and weights.
 * One mpkr_function must not be dropped, or be given a kind with mpkr_expect, while it is called.
 *
 * Processes: a child of fork(2) may use models that run on the CPU, also when its parent ran loops on
 * several threads. Drivers of GPUs do not survive a fork: open such models in the child.
 *
 * Errors: functions that return int return 0 (MPKR_OK) or an enum mpkr_code and describe it in *err; err may
 * be NULL. On failure nothing that an argument points to has changed, except where a function says so, and
 * but for *err.
 *
 * A good guest: the library reads no environment, writes to no stream, starts no process, leaves signals,
 * locale and the symbols of others alone, and keeps no state but that of what is open. Code in a model's
 * file is code: opening runs its constructors and calling runs it, with the rights of the process. Open no
 * file that you would not run.
 *
 * C99, and C++ as it is; no other header is needed. Functions and structs that are here keep their meaning
 * within a soname (libmpk-run.so.0); structs that callers fill begin with their size where they may grow,
 * and enums grow at their ends: expect codes and kinds that you do not know.
 */
#ifndef MPK_RUN_H
#define MPK_RUN_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header. */
#define MPKR_VERSION_MAJOR 0
#define MPKR_VERSION_MINOR 1
#define MPKR_VERSION_PATCH 0
#define MPKR_VERSION                                                                               \
	(MPKR_VERSION_MAJOR << 16 | MPKR_VERSION_MINOR << 8 | MPKR_VERSION_PATCH) /* 0xMMmmpp */

/* MPKR_STATIC, defined before this header: functions are of the same program or library, and exported by
 * nobody (libmpkrun.a). */
#ifndef MPKR_API
#if defined(MPKR_STATIC) || !defined(__GNUC__)
#define MPKR_API
#else
#define MPKR_API __attribute__((visibility("default")))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* mpkr_version - MPKR_VERSION of the library that is loaded */
MPKR_API uint32_t mpkr_version(void);

/* --- errors ---------------------------------------------------------------------------------- */

enum mpkr_code {
	MPKR_OK = 0,
	/* what the caller passed makes no sense here: a wrong count, type, shape or device of a tensor, no room for
	 * results */
	MPKR_E_USAGE = 1,
	/* a file is missing or cannot be read */
	MPKR_E_IO = 2,
	/* bytes that cannot be what they claim to be */
	MPKR_E_CORRUPT = 3,
	/* valid, and not done here: the text says what */
	MPKR_E_UNSUPPORTED = 4,
	/* no function, input or output of that name or number */
	MPKR_E_NOT_FOUND = 5,
	/* no shared library of a model, one for another machine, symbols or libraries that it needs and nobody has */
	MPKR_E_LOAD = 6,
	/* no driver, or no such device */
	MPKR_E_DEVICE = 7,
	/* the model's code raised an error, "ValueError: ...", or a kernel failed */
	MPKR_E_RAISED = 8,
	/* of the host; that of devices is MPKR_E_RAISED */
	MPKR_E_NO_MEMORY = 9,
	/* a defect of this library */
	MPKR_E_INTERNAL = 10,
	/* mpkr_stop or mpkr_stop_after ended the call */
	MPKR_E_STOPPED = 11,
	/* it takes more memory than a budget allows: mpkr_memory */
	MPKR_E_BUDGET = 12
};

struct mpkr_error {
	/* enum mpkr_code; written on failure alone, like text */
	int code;
	/* one sentence, UTF-8 without control characters, ended by NUL; longer ones are cut */
	char text[1020];
};

/* --- tensors --------------------------------------------------------------------------------- */

/* DLPack's numbers (dlpack.h has more). */
enum mpkr_device_type {
	MPKR_DEVICE_CPU = 1,
	MPKR_DEVICE_CUDA = 2,
	MPKR_DEVICE_CUDA_HOST = 3, /* pinned memory: host memory here */
	MPKR_DEVICE_OPENCL = 4,
	MPKR_DEVICE_ROCM = 10 /* where the library was built with it: mpk-run(3) */
};
enum mpkr_dtype_code {
	MPKR_DTYPE_INT = 0,
	MPKR_DTYPE_UINT = 1,
	MPKR_DTYPE_FLOAT = 2,
	MPKR_DTYPE_BFLOAT = 4,
	MPKR_DTYPE_BOOL = 6 /* 8 bits */
};

struct mpkr_device {
	int32_t device_type; /* enum mpkr_device_type */
	int32_t device_id;   /* 0 is the first */
};

struct mpkr_dtype {
	uint8_t code;   /* enum mpkr_dtype_code, or another of DLPack's */
	uint8_t bits;   /* of one element: 32 of float32 */
	uint16_t lanes; /* 1, but for vectors */
};

/* To the byte DLPack's DLTensor, which has not changed since 2020: a DLTensor of dlpack.h or of another
 * library is passed by a cast of its address. (A name of our own, because DLTensor is a typedef of a struct
 * without a tag: there is nothing to declare that would not clash with dlpack.h.) */
struct mpkr_tensor {
	void *data;                /* CPU, CUDA and ROCm: an address */
	struct mpkr_device device; /* where data is */
	int32_t ndim;              /* 0 to 32; 0: a single element */
	struct mpkr_dtype dtype;
	int64_t *shape;       /* ndim extents >= 0, the outermost first; ndim 0: not read */
	int64_t *strides;     /* ndim distances in elements; NULL: row-major without gaps */
	uint64_t byte_offset; /* of the first element from data */
};

/* To the byte DLPack's DLManagedTensorVersioned (1.x): whoever takes those by address, such as
 * from_dlpack() by way of a capsule "dltensor_versioned", takes this. */
struct mpkr_result {
	struct {
		uint32_t major, minor;
	} version;                                 /* of DLPack: 1.0 */
	void *manager_ctx;                         /* the library's own */
	void (*deleter)(struct mpkr_result *self); /* gives it back, from any thread; never NULL */
	uint64_t flags;                            /* of DLPack: 0 */
	/* strides are there, and those of a tensor without gaps; byte_offset is 0 and data a multiple of 64 in
	 * host memory */
	struct mpkr_tensor tensor;
};

/* mpkr_free - give a result back; NULL is fine */
static inline void mpkr_free(struct mpkr_result *result)
{
	if (result)
		result->deleter(result);
}

/* mpkr_tensor_on_host - describe memory of the caller; nothing is copied or checked
 * @bits    of one element
 * @shape   ndim extents; kept by the tensor, so they must live as long */
static inline struct mpkr_tensor mpkr_tensor_on_host(const void *data, int dtype_code, int bits,
						     int32_t ndim, const int64_t *shape)
{
	struct mpkr_tensor t;

	t.data = (void *)(uintptr_t)data;
	t.device.device_type = MPKR_DEVICE_CPU;
	t.device.device_id = 0;
	t.ndim = ndim;
	t.dtype.code = (uint8_t)dtype_code;
	t.dtype.bits = (uint8_t)bits;
	t.dtype.lanes = 1;
	t.shape = (int64_t *)(uintptr_t)shape;
	t.strides = NULL;
	t.byte_offset = 0;
	return t;
}

/* --- models ---------------------------------------------------------------------------------- */

typedef struct mpkr_model mpkr_model;
typedef struct mpkr_function mpkr_function;

enum mpkr_flag {
	/* open the file by its path, and not as a copy in memory, so that debuggers and profilers name what runs. Whoever
	 * else in the process opens the file then has the same library, whose imports lead here */
	MPKR_BY_PATH = 1,
	/* write names and addresses of the code that is opened as a copy in memory to /tmp/perf-PID.map, where perf(1) looks for
	 * them; a model opens where that cannot be written, too */
	MPKR_PERF_MAP = 2
};

/* Where the tensors of a model lie, and how much memory they may take: weights that are copied, caches, results, what calls
 * work with. What is mapped from a file is not counted, nor are lists and names, which the library takes by malloc.
 * Zero-initialise, set size, set what is wanted. */
struct mpkr_memory {
	size_t size; /* sizeof(struct mpkr_memory) of the caller */
	uint64_t
		budget; /* bytes, at any moment; what needs more fails with MPKR_E_BUDGET. 0: none */
	/* Both or neither, which is the system's memory. Any thread may call them, several at a time; they call nothing
	 * of this library.
	 * @bytes   more than 0; the same for release
	 * @align   of the address: a power of two, at least 64
	 * Returns  NULL: there is none, which is MPKR_E_NO_MEMORY of what needs it */
	void *(*allocate)(void *context, struct mpkr_device device, size_t bytes, size_t align);
	void (*release)(void *context, struct mpkr_device device, void *data, size_t bytes);
	void *context;
};

/* Zero-initialise, set size, set what is wanted. */
struct mpkr_options {
	size_t size; /* sizeof(struct mpkr_options) of the caller: fields beyond it count as 0 */
	/* where models run and where host functions get their tensors; device_type 0: on the device that the
	 * code in the file is for, the first of its kind, and on the CPU where that is for several kinds */
	struct mpkr_device device;
	/* the most that a parallel loop on the CPU runs on, the caller's among them; 0: one for each core that the
	 * process may use */
	unsigned threads;
	uint32_t flags; /* of enum mpkr_flag */
	/* Two files of others, which the library does not look for itself, as it reads no environment. Both
	 * texts are borrowed until nothing of the model is left. */
	/* libtvm_ffi.so, for code that was linked against it; NULL: as the linker finds it */
	const char *tvm_ffi;
	/* a folder of NVIDIA's toolkit, for models that have CUDA sources; NULL: as the linker finds NVRTC */
	const char *cuda_home;
	/* CUDA: a cudaStream_t of the device's primary context, which outlives the model and its results. Calls are
	 * queued there and return before they have ended, but for results in host memory; what a kernel
	 * does wrong is then reported by a later call. NULL: the default stream, and calls wait */
	void *stream;
	/* hears how many bytes of weights were brought where they are wanted, each time that some were, in the thread that
	 * finds or calls; NULL: nobody */
	void (*loaded)(void *context, uint64_t bytes);
	void *loaded_context;
	/* hears what a model prints, R.print, in the thread that calls: one text without a line feed at its end; NULL:
	 * nobody, and nothing is written */
	void (*log)(void *context, const char *text);
	void *log_context;
	/* memory of the host, and of the device that the model runs on, which has addresses (CUDA, ROCm) if allocate is set;
	 * borrowed until mpkr_open has returned, but what allocate and release need until nothing of the model is left.
	 * NULL: all zero */
	const struct mpkr_memory *host_memory;
	const struct mpkr_memory *device_memory;
	/* runs parallel loops of models on threads of the caller: task(argument, i) once for each i below count, in any
	 * threads, at once or one after the other; returns when all have ended. A loop has `threads` tasks. Those that
	 * wait for each other, which TVM has in few of its loops, get threads of the library. NULL: those of the library;
	 * none at all: set threads to 1 */
	void (*parallel_for)(void *context, size_t count, void (*task)(void *argument, size_t i),
			     void *argument);
	void *parallel_context;
};

/* mpkr_open - open the shared library of a model; its constructors run
 * The same file may be open several times, as copies in memory of all but weights. Without /proc, by which
 * copies are opened, it may be open once. It must not be changed while it is open; replace it by rename(2).
 * @path    of a file, relative to the working directory, never searched for
 * @options NULL: all zero
 * @out     to be closed by mpkr_close
 * Returns  MPKR_OK; MPKR_E_IO; MPKR_E_LOAD; MPKR_E_CORRUPT; MPKR_E_USAGE (options: a size below that of the
 *          first release, unknown flags, a device type that is none of the above); MPKR_E_DEVICE: a
 *          device type that this build has not, or another CPU than 0; MPKR_E_NO_MEMORY. A device is not opened before mpkr_find needs it. */
MPKR_API int mpkr_open(const char *path, const struct mpkr_options *options, mpkr_model **out,
		       struct mpkr_error *err);

/* mpkr_open_memory - the same with the bytes of such a file
 * @bytes   len bytes at any address, borrowed and not to be changed until the model, its functions and its
 *          results are all given back: weights are used where they lie
 * Returns  as mpkr_open; MPKR_E_LOAD also where the system allows no files in memory (memfd_create(2)) or has
 *          no /proc */
MPKR_API int mpkr_open_memory(const void *bytes, size_t len, const struct mpkr_options *options,
			      mpkr_model **out, struct mpkr_error *err);

/* mpkr_close - give the model back; functions, values and results that are left stay good, but nobody finds anything in
 * the model any more. NULL is fine */
MPKR_API void mpkr_close(mpkr_model *model);

/* mpkr_bind_weights - give a model the weights that its file has not: those of a .params file or tensor
 * cache of TVM, of safetensors, of GGUF where no tensor is quantized, or of an .npz file of NumPy, compressed or not
 * Inputs that are named in the file are then no inputs of calls any more, and weights that the file of the
 * model has are replaced. "fc1.weight" is also the input "fc1_weight", and "p_fc1_weight", as PyTorch's
 * exporter calls it; of a buffer "b_...", of a constant "c_...". An input that is a tuple takes its items by their
 * names, by "param_0", "param_1", ..., or all tensors of a file in their order, if there are as many and they fit.
 * Without such a tuple, tensors "param_0", ... are the last inputs that no name finds. Each weight is read once, when a
 * function that needs it is found. Of a name in several files the one that was bound last counts; names that a
 * function does not have are left aside.
 * @path    read now and mapped: not to be changed while the model is open
 * @count   receives how many tensors of the file functions of the model take; NULL: not asked
 * Returns  MPKR_OK; MPKR_E_USAGE: a function was found before, or no function takes any tensor of the file, whose names
 *          and those of inputs are then said; MPKR_E_IO; MPKR_E_CORRUPT; MPKR_E_UNSUPPORTED; MPKR_E_NO_MEMORY
 * mpkr_bind_params - the same without the count */
MPKR_API int mpkr_bind_weights(mpkr_model *model, const char *path, size_t *count,
			       struct mpkr_error *err);
MPKR_API int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err);

/* --- what a model says ------------------------------------------------------------------------- */

/* mpkr_metadata - what a model says of itself: the JSON that MLC-LLM puts into each, the text of a function "_metadata"
 * @out     valid until nothing of the model is left
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: it says nothing; MPKR_E_USAGE: a call of the model is under way in this thread; as
 *          mpkr_find and mpkr_call */
MPKR_API int mpkr_metadata(mpkr_model *model, const char **out, struct mpkr_error *err);

enum mpkr_requirement_kind {
	MPKR_REQUIRES_DEVICE = 0, /* code for a device is in the file */
	MPKR_REQUIRES_FUNCTION =
		1, /* byte code names a function that the file has not: of TVM's runtime, or of the application */
	MPKR_REQUIRES_STATE =
		2 /* one that works on a cache of keys and values or on a recurrent state */
};

/* What a model needs of who runs it. Set size. */
struct mpkr_requirement {
	size_t size; /* sizeof(struct mpkr_requirement) of the caller */
	enum mpkr_requirement_kind kind;
	const char
		*name; /* "cuda", "vm.builtin.reshape"; valid until nothing of the model is left */
	int32_t device_type; /* of MPKR_REQUIRES_DEVICE */
	int is_met; /* not 0: this build runs such devices, which need not be there, or the function is there by now */
};

/* mpkr_requirement_at - what a model needs, whether or not it can be run here; nothing of it runs, and no device is opened.
 * Functions are those that byte code or a graph names; compiled code asks for its own when it is called
 * @i       from 0
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: there are no more; MPKR_E_USAGE; MPKR_E_CORRUPT; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_requirement_at(mpkr_model *model, size_t i, struct mpkr_requirement *out,
				 struct mpkr_error *err);

/* --- memory ---------------------------------------------------------------------------------- */

/* What the tensors of a model take. Set size. */
struct mpkr_usage {
	size_t size; /* sizeof(struct mpkr_usage) of the caller */
	/* bytes that are held now: copied weights; keys, values and states of sequences; results, and what calls and
	 * functions have */
	uint64_t weight_bytes, cache_bytes, scratch_bytes;
	uint64_t kept_bytes; /* that nobody holds, for the next who wants some */
	uint64_t used_bytes; /* all of these, which a budget is held against */
	uint64_t most_bytes; /* that used_bytes ever was */
};

/* mpkr_memory_now - what a model takes at this moment, and took at most
 * @device_type  MPKR_DEVICE_CPU: host memory; another one: that of all other devices
 * Returns  MPKR_OK; MPKR_E_USAGE */
MPKR_API int mpkr_memory_now(mpkr_model *model, int32_t device_type, struct mpkr_usage *out,
			     struct mpkr_error *err);

/* mpkr_memory_trim - give back what nobody holds (kept_bytes), on all devices; later calls take it again */
MPKR_API void mpkr_memory_trim(mpkr_model *model);

/* An extent of inputs by its name: mpkr_extent_name. */
struct mpkr_extent {
	const char *name;
	int64_t extent;
};

/* What a call will take, before it is made. Set size. */
struct mpkr_need {
	size_t size;           /* sizeof(struct mpkr_need) of the caller */
	uint64_t weight_bytes; /* in the file, whether they are copied or used where they lie */
	uint64_t cache_bytes;  /* of the caches and states that functions of the model make */
	/* of the call: its inputs, which are the caller's; what it works with at the worst moment; its results, which are
	 * left afterwards */
	uint64_t input_bytes, scratch_bytes, result_bytes;
	uint64_t need_bytes; /* of all these, as much as is there at once */
	int is_least; /* not 0: it is more, as the code does not tell all: memory that compiled functions take */
};

/* mpkr_memory_need - what the code of a model says that a call takes; nothing of it runs
 * Sizes are those that the compiler planned: a storage is up to a quarter larger, so that the next call finds it again, and
 * memory that kernels take for themselves is not in them.
 * @name    of a function of the model; NULL: the one that takes most
 * @extents  count of its inputs' symbolic ones; others are 1
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: no such function, or none of which the file tells it; MPKR_E_CORRUPT; MPKR_E_USAGE:
 *          sizes beyond 64 bits; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_memory_need(mpkr_model *model, const char *name,
			      const struct mpkr_extent *extents, size_t count,
			      struct mpkr_need *out, struct mpkr_error *err);

/* --- functions ------------------------------------------------------------------------------- */

/* mpkr_function_count - how many functions can be called: those of models first, then host functions, which
 * may be kernels that the models call
 * mpkr_function_name - the name of number i, for mpkr_find; valid until the model is closed. NULL: i is not
 *          below the count, or memory is out
 * mpkr_function_is_model - whether number i is a model's own: not 0. 0: host code, such as the kernels that models call
 * mpkr_function_signature - what it takes and gives, for people: "main(x: f32[1, 64]) ->
 *          (f32[1, 10])"; "add(...)" where the file does not say. Valid until the model is closed;
 *          NULL as above. It finds the function, and so may open a device */
MPKR_API size_t mpkr_function_count(mpkr_model *model);
MPKR_API const char *mpkr_function_name(mpkr_model *model, size_t i);
MPKR_API int mpkr_function_is_model(mpkr_model *model, size_t i);
MPKR_API const char *mpkr_function_signature(mpkr_model *model, size_t i);

/* mpkr_find - a function by its name
 * @name    as mpkr_function_name has it; "/0#main" for that of the module at a path of the file's tree; NULL:
 *          the first function
 * @out     to be dropped by mpkr_drop
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND with what was nearly meant; MPKR_E_DEVICE; MPKR_E_LOAD: something that
 *          the function calls is missing; MPKR_E_CORRUPT; MPKR_E_UNSUPPORTED; MPKR_E_RAISED: the device
 *          refuses code or memory; MPKR_E_NO_MEMORY; with bound parameters as mpkr_bind_params, and
 *          MPKR_E_USAGE: one of another type or shape than the function takes is refused by mpkr_call */
MPKR_API int mpkr_find(mpkr_model *model, const char *name, mpkr_function **out,
		       struct mpkr_error *err);

/* How a kernel is launched. Zero-initialise, set size, set what the kernel has; 0 counts as 1. */
struct mpkr_launch {
	size_t size;           /* sizeof(struct mpkr_launch) of the caller */
	uint64_t grid[3];      /* blocks, x first: CUDA's gridDim, OpenCL's work groups */
	uint64_t block[3];     /* threads of a block: CUDA's blockDim, OpenCL's local size */
	uint64_t shared_bytes; /* of dynamic shared memory */
};

/* mpkr_find_kernel - device code of the model's file by itself, without the host code that launches it
 * It is called like any function that is no model, with what its own parameters take: tensors, which it may
 * write to, and numbers, as mpkr_input says. Nobody knows how many elements of a tensor it touches: a launch
 * that reaches beyond them damages memory of the device.
 * @name    of the kernel in its module; "/0#name" for that of the module at a path of the file's tree
 * @launch  NULL: one thread
 * @out     to be dropped by mpkr_drop
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND with what was nearly meant; MPKR_E_USAGE: an extent of an axis that the kernel
 *          has not, a name of several kernels, code for another kind of device than the model was opened on;
 *          MPKR_E_DEVICE; MPKR_E_CORRUPT; MPKR_E_UNSUPPORTED; MPKR_E_NO_MEMORY. Code is loaded at the first call. */
MPKR_API int mpkr_find_kernel(mpkr_model *model, const char *name, const struct mpkr_launch *launch,
			      mpkr_function **out, struct mpkr_error *err);

/* mpkr_session - the same function in a session of its own: another machine over the same code and weights,
 * whose calls wait for none of another session. For functions that are no models it differs in its
 * lock alone: they must be able to run on several threads at once.
 * @out     to be dropped by mpkr_drop
 * Returns  as mpkr_find */
MPKR_API int mpkr_session(mpkr_function *function, mpkr_function **out, struct mpkr_error *err);

/* mpkr_drop - give a function back. NULL is fine */
MPKR_API void mpkr_drop(mpkr_function *function);

/* What an input or output is. All cross a call as tensors: numbers as tensors of one element,
 * shapes as int64 tensors of one dimension, texts as uint8 tensors of one dimension. */
enum mpkr_kind {
	/* the file does not say: passed as a tensor, unless mpkr_expect says more */
	MPKR_KIND_ANY = 0,
	MPKR_KIND_TENSOR = 1,
	/* an integer, float or bool, as the element of its tensor is; an integer goes for a float */
	MPKR_KIND_NUMBER = 2,
	/* one extent for each element, of int64 */
	MPKR_KIND_SHAPE = 3,
	/* bytes of UTF-8, without a NUL */
	MPKR_KIND_TEXT = 4,
	/* something else, such as a function: passed as a value (mpkr_value) */
	MPKR_KIND_OTHER = 5,
	/* of values alone: */
	MPKR_KIND_NONE = 6,
	/* of values: an array of TVM's */
	MPKR_KIND_TUPLE = 7,
	/* a cache, a state, a function, a module: nothing to look into */
	MPKR_KIND_OBJECT = 8
};

enum { MPKR_RANK_MAX = 32 };

struct mpkr_type {
	enum mpkr_kind kind;
	const char *name;        /* "" for none; valid until the function is dropped */
	struct mpkr_dtype dtype; /* tensors, numbers; bits 0: any */
	int32_t ndim; /* tensors; shapes: how many extents; -1: any, and shape is not set */
	int64_t shape[MPKR_RANK_MAX]; /* ndim extents; -1: any, and not known before the call */
};

/* mpkr_input, mpkr_output - what input or output number i of a function is, from 0
 * Tuples among inputs or outputs count as what is in them, one after the other. Parameters that the file
 * fills, or mpkr_bind_params, are no inputs. Ask for 0, 1, ... until MPKR_E_NOT_FOUND: a function of
 * which the file does not say what it takes, as most host functions, has none at once, and
 * takes what it is given.
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND */
MPKR_API int mpkr_input(const mpkr_function *function, size_t i, struct mpkr_type *out);
MPKR_API int mpkr_output(const mpkr_function *function, size_t i, struct mpkr_type *out);

/* mpkr_extent_name - what the function calls an extent that is not fixed: "n", "2 * n". Extents of one name are equal in a
 * call. NULL: it is fixed or has no name, or there is no such input, output or axis; valid until the function is dropped
 * mpkr_place - where the function wants input number i */
MPKR_API const char *mpkr_extent_name(const mpkr_function *function, int is_output, size_t i,
				      size_t axis);
MPKR_API struct mpkr_device mpkr_place(const mpkr_function *function, size_t i);

/* mpkr_expect - say what input number i is where the file does not (MPKR_KIND_ANY, or beyond the inputs it
 * knows): host functions take numbers as tensors of one element only then
 * Returns  MPKR_OK; MPKR_E_USAGE: the file says otherwise, an unknown kind, i > 1023; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_expect(mpkr_function *function, size_t i, enum mpkr_kind kind,
			 struct mpkr_error *err);

/* --- calls ----------------------------------------------------------------------------------- */

/* mpkr_call - call a function and wait for its end
 *
 * Inputs are held against the function's signature before anything runs, are borrowed for the call and not
 * written. In host memory they are used where they lie if they begin at a multiple of 64 bytes and have
 * no gaps; others are copied first. In host memory they go to a model on any device; in memory of CUDA or
 * ROCm to a model on that very device (same id; of CUDA's primary context), and what makes their content
 * must have ended. Nothing else is taken. An input that is NULL is passed as "none".
 *
 * The exception are functions that are no models and write into what they are given, as all kernels and
 * launch functions do: they write into the caller's tensors. Pass them writable memory, and see
 * mpkr_call_into, which says which these are.
 *
 * Results are the caller's own and never lie over inputs, weights or other results of other calls: a function
 * that returns its input or a weight returns a copy. They are on the device where the first tensor
 * among the inputs is, else in host memory. A tuple is several results, one after the other; a number, shape
 * or text is a tensor (enum mpkr_kind); "none" is no result.
 *
 * @in      n inputs
 * @results receives the results, at most room of them; each to be given back by mpkr_free
 * @count   how many there are; set on success, and when room is too small
 * Returns  MPKR_OK; MPKR_E_USAGE: inputs that are not what the function takes, or less room than results,
 *          which are then lost; MPKR_E_RAISED; MPKR_E_DEVICE; MPKR_E_UNSUPPORTED: a result that is no
 *          tensor, such as a function; MPKR_E_NO_MEMORY; for models whose parts load when they are needed also
 *          MPKR_E_LOAD and MPKR_E_CORRUPT. A kernel that faults on a device may make it useless for the
 *          process. */
MPKR_API int mpkr_call(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
		       struct mpkr_result **results, size_t room, size_t *count,
		       struct mpkr_error *err);

/* mpkr_call_into - the same with results in tensors of the caller
 *
 * Models: results are copied into out, in host memory or in memory of the model's device, with any
 * strides in host memory. Their types and shapes must be those of the results.
 *
 * Other functions: in and then out are their arguments, as kernels and launch functions take them, and
 * what they write into out is there afterwards, wherever it lies. What they return is dropped.
 *
 * @out     m tensors, which lie over no input nor over each other
 * Returns  as mpkr_call; MPKR_E_USAGE: another number, type or shape of results than of tensors in out.
 *          On failure a model has not written to out; another function may have. */
MPKR_API int mpkr_call_into(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
			    const struct mpkr_tensor *const *out, size_t m, struct mpkr_error *err);

/* --- values ---------------------------------------------------------------------------------- */

/* Whatever a function gives or takes: the cache of a language model, a tuple of weights, a tensor that stays
 * on its device. What one call gave is passed to the next:
 *
 *     struct mpkr_arg sizes[5] = { ... };
 *     mpkr_value *cache, *logits;
 *
 *     mpkr_call_value(create, sizes, 5, &cache, &err);
 *     struct mpkr_arg args[2] = { { .tensor = &embedded }, { .value = cache } };
 *     mpkr_call_value(prefill, args, 2, &logits, &err);
 *
 * A value belongs to the model whose function gave it, or that it was made for, and is good until it is
 * dropped, also after the model was closed. Several threads may use it, but what it leads to is one thing: a
 * cache changes in every call that it is passed to, and two calls at a time, of two sessions, must not have it. */
typedef struct mpkr_value mpkr_value;

/* An input: one of the two, or "none" if both are NULL. */
struct mpkr_arg {
	const struct mpkr_tensor *tensor; /* as mpkr_call takes it */
	mpkr_value *value;                /* borrowed; what the function keeps of it, it holds */
};

/* mpkr_call_value - as mpkr_call, also with values, and with the result as one value
 * A tuple is passed as one value or as what is in it, one after the other. Tensors in values are used where they
 * lie, without a copy, if that is where the function wants them; functions that are no models may write to
 * them. Tensors of the result lie where the function left them, and over no input.
 * Builtins of TVM's virtual machine are found by mpkr_find as other functions are, such as
 * "vm.builtin.kv_state_add_sequence".
 * @out     to be dropped by mpkr_value_drop; never NULL on success, a function that gives nothing gives a value
 *          of MPKR_KIND_NONE
 * Returns  as mpkr_call, but for results without room and results that are no tensors; MPKR_E_USAGE also: a value
 *          of another model, or a tensor and a value in one input */
MPKR_API int mpkr_call_value(mpkr_function *function, const struct mpkr_arg *in, size_t n,
			     mpkr_value **out, struct mpkr_error *err);

/* mpkr_value_make - a value of what a caller has
 * @kind    of the value: MPKR_KIND_TENSOR, _NUMBER, _SHAPE or _TEXT; or MPKR_KIND_NONE
 * @tensor  as mpkr_call takes one for that kind, in host memory, which is copied; NULL for none
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_make(mpkr_model *model, enum mpkr_kind kind,
			     const struct mpkr_tensor *tensor, mpkr_value **out,
			     struct mpkr_error *err);

/* mpkr_value_tuple - a tuple of n inputs; tensors are copied, values are held
 * Returns  as mpkr_value_make; MPKR_E_USAGE also: a value of another model */
MPKR_API int mpkr_value_tuple(mpkr_model *model, const struct mpkr_arg *items, size_t n,
			      mpkr_value **out, struct mpkr_error *err);

/* mpkr_value_kind - what it is: any but MPKR_KIND_ANY and _OTHER. NULL is MPKR_KIND_NONE
 * mpkr_value_type - the same for people: "tensor", "array", "relax.vm.PagedAttentionKVCache"; valid until the value
 *          is dropped
 * mpkr_value_count - how many items a tuple has; 0 for all else */
MPKR_API enum mpkr_kind mpkr_value_kind(const mpkr_value *value);
MPKR_API const char *mpkr_value_type(const mpkr_value *value);
MPKR_API size_t mpkr_value_count(const mpkr_value *value);

/* mpkr_value_item - item number i of a tuple, a value of its own
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: it has no such item; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_item(const mpkr_value *value, size_t i, mpkr_value **out,
			     struct mpkr_error *err);

/* mpkr_value_tensor - a value as a tensor; numbers, shapes and texts as results of mpkr_call
 * @device_type  MPKR_DEVICE_CPU: in host memory; 0: also in CUDA memory, if it lies there
 * @out     to be given back by mpkr_free. It is the memory of the value itself, unless that has to be brought to
 *          the host: who writes to it writes to the value
 * Returns  MPKR_OK; MPKR_E_USAGE: another device type, none, a tuple or an object; MPKR_E_DEVICE; MPKR_E_RAISED: the
 *          device failed; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_tensor(const mpkr_value *value, int32_t device_type,
			       struct mpkr_result **out, struct mpkr_error *err);

/* mpkr_value_hold - another value that leads to the same. Of an argument of a function of the application, one that stays
 * as it is after the call: its tensors are copied, where they are, as the model uses their memory again; a cache or a
 * state is the model's own
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_UNSUPPORTED: a tensor on a device whose rows are not contiguous; MPKR_E_DEVICE;
 *          MPKR_E_RAISED: the device failed; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_hold(const mpkr_value *value, mpkr_value **out, struct mpkr_error *err);

/* mpkr_state_save - sequences of a cache or a recurrent state as bytes, for mpkr_state_load of the same model: also in
 * another session, another process, or later. No call that has the state may be under way
 * @state   a paged cache of keys and values or a recurrent state; or the older cache of one tensor, which has no ids and of
 *          which loading replaces all
 * @ids     of count sequences; NULL: all. What several of them share is saved once
 * @out     uint8, one dimension, in host memory; to be given back by mpkr_free
 * Returns  MPKR_OK; MPKR_E_USAGE: no state; MPKR_E_RAISED: no such sequence, a tree of tokens that is not committed, a
 *          state of another kind, a device that failed; MPKR_E_UNSUPPORTED; MPKR_E_NO_MEMORY
 * mpkr_state_load - add saved sequences to a state that was made with the same numbers by the same model
 * Bytes may be anything: each number is checked. A file of weights that was bound is not looked at.
 * Returns  MPKR_OK; MPKR_E_CORRUPT: no saved state, or not all of it; MPKR_E_UNSUPPORTED: saved in another version;
 *          MPKR_E_RAISED: by another model or from another state, a sequence that is there, no room; MPKR_E_USAGE;
 *          MPKR_E_NO_MEMORY. On failure the state has what it had */
MPKR_API int mpkr_state_save(const mpkr_value *state, const int64_t *ids, size_t count,
			     struct mpkr_result **out, struct mpkr_error *err);
MPKR_API int mpkr_state_load(mpkr_value *state, const void *bytes, size_t len,
			     struct mpkr_error *err);

/* mpkr_value_drop - give a value back; what it led to goes with the last that leads there. NULL is fine */
MPKR_API void mpkr_value_drop(mpkr_value *value);

/* --- functions of the application ------------------------------------------------------------ */

/* What a model calls by name and its file has not: R.call_packed, R.call_dps_packed, tir.call_packed. */

/* A call that a model makes. All of it is lent until the function returns. */
struct mpkr_invocation {
	size_t size;             /* of the struct in the library: fields beyond it are not there */
	mpkr_model *model;       /* that calls; for mpkr_value_make */
	const char *name;        /* by which the function was registered */
	mpkr_value *const *args; /* count; those that the function drops are its own, not these */
	size_t count;
};

/* mpkr_callback - a function of the application
 * It is called in a thread that calls the model, or in one of a parallel loop, and may call models: in the session of
 * the call that it is in they refuse (MPKR_E_USAGE), so that it needs one of its own (mpkr_session). Arguments that are
 * tensors are the model's memory, where mpkr_value_tensor finds them, and may be written to: the last ones of a
 * call_dps_packed are its results. What mpkr_value_tensor gave is given back before the function returns.
 * @context as it was registered
 * @result  NULL; may receive a value of the model, which is the model's then
 * @err     zeroed; its text says what failed and is what the model raises: "ValueError: ...", its code need not be set
 * Returns  0; anything else: it failed. MPKR_E_NO_MEMORY and MPKR_E_STOPPED are what the call of the model fails with,
 *          all else is MPKR_E_RAISED */
typedef int mpkr_callback(void *context, const struct mpkr_invocation *call, mpkr_value **result,
			  struct mpkr_error *err);

/* mpkr_register - let models call a function by name, or take it away
 * It may be done at any time. A function that models lack is looked for when a function of theirs is found
 * (mpkr_find), or when compiled code first calls it. Which of several it is, is asked at each call: another one may be
 * registered in its place. After one was taken away, or replaced, no other thread is in it: its code may be unloaded.
 * Until another one comes, calls fail with MPKR_E_LOAD. Two functions that take each other away at once wait for ever.
 * @model   that alone has the function, and goes before those of the process; NULL: all models of the process
 * @name    copied
 * @function  NULL: take it away
 * @context passed to it
 * Returns  MPKR_OK; MPKR_E_USAGE: no name, or one that the library has itself, such as vm.builtin.reshape (of the
 *          process such a function is never called); MPKR_E_NOT_FOUND: nothing to take away; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_register(mpkr_model *model, const char *name, mpkr_callback *function,
			   void *context, struct mpkr_error *err);

/* mpkr_value_function - a function of a model as a value, for functions that take functions
 * mpkr_value_callback - the same of a function of the application, which no name leads to
 * @name    of it, as calls have it; copied; NULL: ""
 * @context passed to it; on success release(context) is called once nobody has the function any more, in any thread, unless
 *          release is NULL
 * @out     to be dropped by mpkr_value_drop; the model may keep the function as long as it lives
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_NO_MEMORY
 * What such a value leads to is called by mpkr_find of "vm.builtin.invoke_closure", whose first argument it is. */
MPKR_API int mpkr_value_function(mpkr_function *function, mpkr_value **out, struct mpkr_error *err);
MPKR_API int mpkr_value_callback(mpkr_model *model, const char *name, mpkr_callback *function,
				 void *context, void (*release)(void *context), mpkr_value **out,
				 struct mpkr_error *err);

/* --- calls that are watched ------------------------------------------------------------------ */

enum mpkr_operator {
	MPKR_OPERATOR_KERNEL = 0,  /* a function of the file, or of the application */
	MPKR_OPERATOR_COPY = 1,    /* moves content, perhaps between devices */
	MPKR_OPERATOR_BUILTIN = 2, /* memory, shapes, caches */
};

/* An operator that begins or ends; lent until the watcher returns. */
struct mpkr_event {
	size_t size; /* of the struct in the library */
	int is_end;  /* 0: it begins. One that fails has no end */
	enum mpkr_operator kind;
	const char *name;          /* "fused_matmul_add" */
	const char *function;      /* that it is in; "" of a graph */
	size_t index;              /* of its instruction there */
	struct mpkr_device device; /* that it works on, which has done all that came before */
	int64_t nanoseconds;       /* of a clock that nobody sets */
	/* count; what it is called with, as a mpkr_invocation has it. What a kernel writes is among them, the last ones as
	 * a rule, and is there at the end */
	mpkr_value *const *args;
	size_t count;
	mpkr_value *result; /* at the end: what it returned, like args; NULL: nothing */
};

enum mpkr_watch {
	MPKR_WATCH_GO_ON = 0,
	MPKR_WATCH_STOP = 1, /* the call ends with MPKR_E_STOPPED */
	/* where a kernel of byte code of the Relax VM begins: it is not called, and has no end. Elsewhere as 0 */
	MPKR_WATCH_SKIP = 2
};

/* Returns  enum mpkr_watch; anything else counts as MPKR_WATCH_STOP */
typedef int mpkr_watcher(void *context, const struct mpkr_event *event);

/* mpkr_watch - let a function see every operator of the model's calls from now on, in the threads that call; while none
 * is under way. Calls take longer, as they wait for devices and repeat nothing that they have recorded. Of compiled
 * functions of the Relax VM each is one operator.
 * @watcher NULL: nobody */
MPKR_API void mpkr_watch(mpkr_model *model, mpkr_watcher *watcher, void *context);

/* What an operator took on a device, in all calls since the profile began. Set size. */
struct mpkr_profile_row {
	size_t size; /* sizeof(struct mpkr_profile_row) of the caller */
	const char *
		name; /* "fused_matmul_add"; valid until the profile begins again or the model is gone */
	enum mpkr_operator kind;
	struct mpkr_device device;
	uint64_t calls;
	int64_t total_nanoseconds, min_nanoseconds,
		max_nanoseconds; /* without operators within it */
	double share;            /* of the total of all rows: 0 to 1 */
};

/* mpkr_profile - measure operators of the model's calls from now on, while none is under way, as mpkr_watch, with which it
 * goes together: what a watcher does is not measured
 * @is_on   not 0: begin, and forget what was measured; 0: end, and keep it
 * mpkr_profile_at - what was measured, the operator that took most first
 * @i       from 0
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: there are no more; MPKR_E_USAGE; MPKR_E_NO_MEMORY */
MPKR_API void mpkr_profile(mpkr_model *model, int is_on);
MPKR_API int mpkr_profile_at(mpkr_model *model, size_t i, struct mpkr_profile_row *out,
			     struct mpkr_error *err);

/* Where a call failed. Set size. Texts are valid until the next call of the session, or until the function is dropped. */
struct mpkr_failure {
	size_t size;      /* sizeof(struct mpkr_failure) of the caller */
	const char *name; /* of the operator: a kernel, a builtin, a function of the application */
	const char *function; /* of the model that it is in; "": not known */
	const char *
		before; /* the kernel or function that was called before it there; "": none, or not known */
	int64_t instruction; /* its number in byte code, or among the steps of a graph; -1: compiled code, or a call that was
			      * replayed as it was recorded */
};

/* mpkr_failed_at - the operator in which the last call of the function's session failed
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: it did not fail, or in none that is known: its inputs were refused; MPKR_E_USAGE */
MPKR_API int mpkr_failed_at(const mpkr_function *function, struct mpkr_failure *out);

/* --- calls that are stopped ------------------------------------------------------------------ */

/* mpkr_stop - end calls of the function's session with MPKR_E_STOPPED: the one under way, and all that begin, until
 * mpkr_resume. From any thread, and from a handler of signals. The call ends when what it is at has ended: an
 * instruction, a task of a parallel loop, a launch. What it was to give is lost; caches that it was passed have what it
 * had written to them so far. The model is good for the next call. NULL is fine
 * mpkr_stop_after - the same from a moment on; 0: now. A later call replaces the moment
 * mpkr_resume - let calls run again, without end */
MPKR_API void mpkr_stop(mpkr_function *function);
MPKR_API void mpkr_stop_after(mpkr_function *function, int64_t nanoseconds);
MPKR_API void mpkr_resume(mpkr_function *function);

#ifdef __cplusplus
}
#endif

#endif
