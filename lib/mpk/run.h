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
 * Files: shared libraries for this machine, written by TVM 0.8 to 0.27, tvm-ffi or mpack. They may
 * contain models (Relax VM with byte code or compiled, Relay VM, graph and AOT executors), plain
 * host functions and launch functions, with code for the CPU, OpenCL and CUDA. The drivers of
 * OpenCL and CUDA are opened when a model first needs them.
 *
 * Ownership: the caller owns what open, find, session and call return, and releases it with the
 * function named there. The order of releases does not matter: a function keeps its model alive, a
 * result its memory. Arguments are borrowed until the function returns, unless the function says
 * otherwise.
 *
 * Threads: every function may be called from every thread. Calls of functions of one model wait for
 * each other. To call in parallel, open a session for each thread (mpkr_session); sessions share
 * code and weights. Do not call mpkr_drop or mpkr_expect on a function while another thread calls
 * it.
 *
 * Processes: a child of fork(2) may use models that run on the CPU, even if its parent ran parallel
 * loops. GPU drivers do not survive a fork: open models that use them in the child.
 *
 * Errors: functions that return int return 0 (MPKR_OK) or an enum mpkr_code, and describe the error
 * in *err; err may be NULL. On failure nothing else that an argument points to has changed, except
 * where a function says so.
 *
 * Side effects: the library reads no environment variables, writes to no stream, starts no process,
 * and does not touch signals, the locale or other libraries' symbols. It has no state except that
 * of open objects. Code in a model's file is code: opening the file runs its constructors and
 * calling runs its functions, with the rights of the process. Open no file that you would not run.
 *
 * This header is C99 and also valid C++; it needs no other header of this project. Functions and
 * structs keep their meaning within a soname (libmpk-run.so.0). Structs that may grow begin with
 * their size, which the caller sets. Enums grow at their ends: expect codes and kinds that you do
 * not know. */
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

/* Define MPKR_STATIC before including this header when you link libmpkrun.a: the functions are then
 * not exported from your program or library. */
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

/* mpkr_version - MPKR_VERSION of the library that is loaded at run time */
MPKR_API uint32_t mpkr_version(void);

/* --- errors ---------------------------------------------------------------------------------- */

enum mpkr_code {
	MPKR_OK = 0,
	/* an argument is wrong: the count, type, shape or device of a tensor, or too little room for
	 * results */
	MPKR_E_USAGE = 1,
	/* a file is missing or cannot be read */
	MPKR_E_IO = 2,
	/* the file's bytes contradict its format */
	MPKR_E_CORRUPT = 3,
	/* valid, but not supported here; the text says what */
	MPKR_E_UNSUPPORTED = 4,
	/* no function, input or output has that name or number */
	MPKR_E_NOT_FOUND = 5,
	/* not a shared library, or one for another machine; or symbols or libraries that it needs are
	 * missing */
	MPKR_E_LOAD = 6,
	/* the driver or the device does not exist */
	MPKR_E_DEVICE = 7,
	/* the model's code raised an error, such as "ValueError: ...", or a kernel failed */
	MPKR_E_RAISED = 8,
	/* no host memory; for device memory the code is MPKR_E_RAISED */
	MPKR_E_NO_MEMORY = 9,
	/* a bug in this library */
	MPKR_E_INTERNAL = 10,
	/* mpkr_stop or mpkr_stop_after ended the call */
	MPKR_E_STOPPED = 11,
	/* more memory is needed than the budget of struct mpkr_memory allows */
	MPKR_E_BUDGET = 12
};

struct mpkr_error {
	/* enum mpkr_code; written only on failure, like text */
	int code;
	/* one sentence in UTF-8 without control characters, with a NUL at its end; cut if too long */
	char text[1020];
};

/* --- tensors --------------------------------------------------------------------------------- */

/* DLPack's numbers (dlpack.h has more). */
enum mpkr_device_type {
	MPKR_DEVICE_CPU = 1,
	MPKR_DEVICE_CUDA = 2,
	MPKR_DEVICE_CUDA_HOST = 3, /* pinned host memory, treated like other host memory */
	MPKR_DEVICE_OPENCL = 4,
	MPKR_DEVICE_ROCM = 10 /* only in builds with ROCm support: see mpk-run(3) */
};
enum mpkr_dtype_code {
	MPKR_DTYPE_INT = 0,
	MPKR_DTYPE_UINT = 1,
	MPKR_DTYPE_FLOAT = 2,
	MPKR_DTYPE_BFLOAT = 4,
	MPKR_DTYPE_BOOL = 6 /* one byte (8 bits) for each element */
};

struct mpkr_device {
	int32_t device_type; /* enum mpkr_device_type */
	int32_t device_id;   /* 0 is the first */
};

struct mpkr_dtype {
	uint8_t code;   /* enum mpkr_dtype_code, or another code of DLPack */
	uint8_t bits;   /* bits of one element, such as 32 for float32 */
	uint16_t lanes; /* 1, except for vector types */
};

/* Has the same layout as DLPack's DLTensor, which has not changed since 2020: to pass a DLTensor of
 * dlpack.h or of another library, cast its address. The name differs because DLTensor is a typedef
 * of a struct without a tag: declaring it here would clash with dlpack.h. */
struct mpkr_tensor {
	void *data;                /* for CPU, CUDA and ROCm: an address */
	struct mpkr_device device; /* the device that data is on */
	int32_t ndim;              /* number of dimensions, 0 to 32; 0 means a single element */
	struct mpkr_dtype dtype;
	int64_t *shape;       /* ndim extents >= 0, the outermost first; not read if ndim is 0 */
	int64_t *strides;     /* ndim strides in elements; NULL: row-major without gaps */
	uint64_t byte_offset; /* offset in bytes from data to the first element */
};

/* Has the same layout as DLPack's DLManagedTensorVersioned (1.x). A pointer to it can be passed
 * wherever that struct is expected, such as to from_dlpack() in a capsule named
 * "dltensor_versioned". */
struct mpkr_result {
	struct {
		uint32_t major, minor;
	} version;                                 /* version of DLPack: 1.0 */
	void *manager_ctx;                         /* private to the library */
	void (*deleter)(struct mpkr_result *self); /* frees the result; may be called from any
						    * thread; never NULL */
	uint64_t flags;                            /* flags of DLPack: 0 */
	/* strides is never NULL and describes a tensor without gaps. byte_offset is 0. In host memory, data
	 * is a multiple of 64. */
	struct mpkr_tensor tensor;
};

/* mpkr_free - free a result; NULL is allowed */
static inline void mpkr_free(struct mpkr_result *result)
{
	if (result)
		result->deleter(result);
}

/* mpkr_tensor_on_host - describe memory that the caller owns; nothing is copied or checked
 * @bits    bits of one element
 * @shape   ndim extents; the tensor keeps this pointer, so the array must live as long as the
 *          tensor */
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
	/* Open the file by its path instead of as a copy in memory, so that debuggers and profilers show
	 * the file's name. If other code in the process opens the same file, it gets this same
	 * library, whose imports are bound to libmpk-run. */
	MPKR_BY_PATH = 1,
	/* Write the names and addresses of code that is opened as a copy in memory to /tmp/perf-PID.map,
	 * where perf(1) looks for them. If that file cannot be written, the model still opens. */
	MPKR_PERF_MAP = 2
};

/* Supplies and limits the memory of a model's tensors: copied weights, caches, results, and the
 * scratch memory of calls. Memory that is mapped from a file is not counted. Lists and names are
 * not counted either: the library allocates them with malloc.
 * Zero-initialise, set size, then set the fields that you need. */
struct mpkr_memory {
	size_t size; /* sizeof(struct mpkr_memory), set by the caller */
	/* most bytes in use at any moment; a request beyond it fails with MPKR_E_BUDGET. 0: no
	 * limit */
	uint64_t budget;
	/* Set both functions, or neither to use the system's memory. Several threads may call them at once.
	 * They must not call this library.
	 * @bytes   more than 0; release gets the same number
	 * @align   alignment of the address in bytes: a power of two, at least 64
	 * Returns  the memory, or NULL if there is none; the library call that needed it then fails
	 *          with MPKR_E_NO_MEMORY */
	void *(*allocate)(void *context, struct mpkr_device device, size_t bytes, size_t align);
	void (*release)(void *context, struct mpkr_device device, void *data, size_t bytes);
	void *context;
};

/* Zero-initialise, set size, then set the fields that you need. */
struct mpkr_options {
	size_t size; /* sizeof(struct mpkr_options), set by the caller: fields beyond it count as 0 */
	/* The device that models run on and where host functions get their tensors. If device_type is 0, it
	 * is the first device of the kind that the file's code was compiled for; if the file has
	 * code for several kinds, it is the CPU. */
	struct mpkr_device device;
	/* Most threads that a parallel loop on the CPU runs on, the calling thread included. 0: one for
	 * each core that the process may use. */
	unsigned threads;
	uint32_t flags; /* a combination of enum mpkr_flag */
	/* Paths of two third-party files. The library reads no environment variables, so it cannot find
	 * these files by itself. Both strings are borrowed until the model and everything obtained
	 * from it has been released. */
	/* Path of libtvm_ffi.so, for code that was linked against it. NULL: the dynamic linker searches for
	 * it. */
	const char *tvm_ffi;
	/* Folder of NVIDIA's CUDA toolkit, for models that contain CUDA sources. NULL: the dynamic linker
	 * searches for NVRTC. */
	const char *cuda_home;
	/* CUDA: a cudaStream_t of the device's primary context, which must outlive the model and its
	 * results. Calls enqueue their work on this stream and return before the work has ended,
	 * except when results are in host memory; errors of kernels are then reported by a later
	 * call. NULL: calls use the default stream and wait for it. */
	void *stream;
	/* Called each time that weights have been copied or uploaded, with their size in bytes, in the
	 * thread that finds or calls a function. NULL: no such calls. */
	void (*loaded)(void *context, uint64_t bytes);
	void *loaded_context;
	/* Called for each text that a model prints (R.print), in the thread that calls the model. The text
	 * has no line feed at its end. NULL: nothing is printed. */
	void (*log)(void *context, const char *text);
	void *log_context;
	/* Memory of the host, and of the device that the model runs on. The device must have plain
	 * addresses (CUDA, ROCm) if allocate is set. The structs are borrowed until mpkr_open has
	 * returned; whatever allocate and release use must stay valid until the model and
	 * everything obtained from it has been released. NULL is like a struct of zeros. */
	const struct mpkr_memory *host_memory;
	const struct mpkr_memory *device_memory;
	/* Runs parallel loops of models on threads of the caller. It calls task(argument, i) once for each
	 * i below count, in any threads, at the same time or one after the other, and returns when
	 * all tasks have ended. A loop has `threads` tasks. A few of TVM's loops have tasks that
	 * wait for each other: these loops always run on threads of the library. NULL: all loops
	 * run on threads of the library. To have no additional threads, set threads to 1. */
	void (*parallel_for)(void *context, size_t count, void (*task)(void *argument, size_t i),
			     void *argument);
	void *parallel_context;
};

/* mpkr_open - open the shared library of a model; its constructors run
 * The same file may be open several times: each time its code is a private copy in memory, but the
 * weights are shared. Copies are opened through /proc; without /proc the file can be open only
 * once. The file must not be changed while it is open; replace it by rename(2).
 * @path    relative to the working directory; no search path is used
 * @options NULL: all zero
 * @out     to be closed by mpkr_close
 * Returns  MPKR_OK; MPKR_E_IO; MPKR_E_LOAD; MPKR_E_CORRUPT; MPKR_E_USAGE (options: a size below
 *          that of the first release, unknown flags, an unknown device type); MPKR_E_DEVICE: this
 *          build does not support the device type, or a CPU number other than 0; MPKR_E_NO_MEMORY.
 *          Devices are not opened before mpkr_find needs them. */
MPKR_API int mpkr_open(const char *path, const struct mpkr_options *options, mpkr_model **out,
		       struct mpkr_error *err);

/* mpkr_open_memory - open a model from the bytes of its shared library
 * @bytes   len bytes at any address, borrowed. They must not change until the model, its functions
 *          and its results have all been released, because weights are used where they lie.
 * Returns  as mpkr_open; MPKR_E_LOAD also where the system does not allow files in memory
 *          (memfd_create(2)) or has no /proc */
MPKR_API int mpkr_open_memory(const void *bytes, size_t len, const struct mpkr_options *options,
			      mpkr_model **out, struct mpkr_error *err);

/* mpkr_close - close a model; NULL is allowed
 * Functions, values and results that were obtained from the model stay valid. No new functions can
 * be found in it. */
MPKR_API void mpkr_close(mpkr_model *model);

/* mpkr_bind_weights - load weights that the model's file does not contain
 * The file may be a .params file or a tensor cache of TVM, a safetensors file, a GGUF file without
 * quantized tensors, or an .npz file of NumPy, compressed or not.
 * Inputs that have a weight in the file are no longer inputs of calls. Weights of the same name in
 * the model's file are replaced. The weight "fc1.weight" matches the inputs "fc1.weight" and
 * "fc1_weight", and also "p_fc1_weight", as PyTorch's exporter names parameters; buffers have the
 * prefix "b_", constants "c_".
 * A tuple input gets its items by their names, else by "param_0", "param_1", ..., else all tensors
 * of a file in their order, provided that their number and types fit. If there is no such tuple,
 * tensors "param_0", ... fill the last inputs that no name matches.
 * Each weight is read once, when a function that needs it is first found. If several files contain
 * a name, the file that was bound last wins. Names that no function uses are ignored.
 * @path    read and mapped now; the file must not change while the model is open
 * @count   receives the number of tensors in the file that functions of the model use; may be NULL
 * Returns  MPKR_OK; MPKR_E_USAGE: a function was found before, or no function uses any tensor of
 *          the file (the text lists the names in the file and those of inputs); MPKR_E_IO;
 *          MPKR_E_CORRUPT; MPKR_E_UNSUPPORTED; MPKR_E_NO_MEMORY
 * mpkr_bind_params - the same without the count */
MPKR_API int mpkr_bind_weights(mpkr_model *model, const char *path, size_t *count,
			       struct mpkr_error *err);
MPKR_API int mpkr_bind_params(mpkr_model *model, const char *path, struct mpkr_error *err);

/* --- metadata of a model --------------------------------------------------------------------- */

/* mpkr_metadata - a model's description of itself: the text that its function "_metadata" returns.
 * MLC-LLM puts JSON there.
 * @out     valid until the model and everything obtained from it has been released
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: the model has no such text; MPKR_E_USAGE: a call of the model
 *          is under way in this thread; errors of mpkr_find and mpkr_call */
MPKR_API int mpkr_metadata(mpkr_model *model, const char **out, struct mpkr_error *err);

enum mpkr_requirement_kind {
	MPKR_REQUIRES_DEVICE = 0, /* the file contains code for a device */
	/* byte code calls a function that the file does not contain: one of TVM's runtime, or
	 * of the application */
	MPKR_REQUIRES_FUNCTION = 1,
	/* like MPKR_REQUIRES_FUNCTION, for a function that works on a key-value cache or a
	 * recurrent state */
	MPKR_REQUIRES_STATE = 2
};

/* Something that a model needs from its environment. Set size. */
struct mpkr_requirement {
	size_t size; /* sizeof(struct mpkr_requirement), set by the caller */
	enum mpkr_requirement_kind kind;
	/* such as "cuda" or "vm.builtin.reshape"; valid until the model and everything
	 * obtained from it has been released */
	const char *name;
	int32_t device_type; /* for MPKR_REQUIRES_DEVICE: enum mpkr_device_type */
	int is_met; /* not 0: this build supports such devices (whether or not one is present), or
		     * the function exists by now */
};

/* mpkr_requirement_at - requirement number i of a model, whether or not it can be met here
 * No code of the model runs, and no device is opened. Only functions that byte code or a graph
 * names are listed; compiled code looks up its functions when it is called.
 * @i       counted from 0
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: i is not below the number of requirements; MPKR_E_USAGE;
 *          MPKR_E_CORRUPT; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_requirement_at(mpkr_model *model, size_t i, struct mpkr_requirement *out,
				 struct mpkr_error *err);

/* --- memory ---------------------------------------------------------------------------------- */

/* Memory that the tensors of a model use. Set size. */
struct mpkr_usage {
	size_t size; /* sizeof(struct mpkr_usage), set by the caller */
	/* Bytes in use now: copied weights; keys, values and states of sequences; results, and the scratch
	 * memory of calls and functions. */
	uint64_t weight_bytes, cache_bytes, scratch_bytes;
	uint64_t kept_bytes; /* bytes that are free and kept for later requests */
	uint64_t used_bytes; /* sum of the four above; a budget limits this sum */
	uint64_t most_bytes; /* highest value that used_bytes has had */
};

/* mpkr_memory_now - memory that a model uses now, and the most that it has used
 * @device_type  MPKR_DEVICE_CPU: host memory; another type: memory of all other devices
 * Returns  MPKR_OK; MPKR_E_USAGE */
MPKR_API int mpkr_memory_now(mpkr_model *model, int32_t device_type, struct mpkr_usage *out,
			     struct mpkr_error *err);

/* mpkr_memory_trim - free the memory that is kept for later requests (kept_bytes), on all devices;
 * later calls allocate again */
MPKR_API void mpkr_memory_trim(mpkr_model *model);

/* The extent that a symbolic dimension of the inputs has, such as "n"; the names are those of
 * mpkr_extent_name. */
struct mpkr_extent {
	const char *name;
	int64_t extent;
};

/* Estimate of the memory that a call will need. Set size. */
struct mpkr_need {
	size_t size;           /* sizeof(struct mpkr_need), set by the caller */
	uint64_t weight_bytes; /* bytes of weights in the file, whether they are copied or used
			        * where they lie */
	uint64_t cache_bytes;  /* bytes of caches and states that the functions create */
	/* Bytes of one call: inputs, which the caller owns; scratch memory at its highest; results, which
	 * remain after the call. */
	uint64_t input_bytes, scratch_bytes, result_bytes;
	uint64_t need_bytes; /* highest sum of all of these at one moment */
	int is_least; /* not 0: the true need is higher, because the code does not tell everything,
		       * such as memory that compiled functions allocate */
};

/* mpkr_memory_need - estimate from the model's code how much memory a call needs; no code runs
 * The sizes are those that the compiler planned. At run time a block may be up to a quarter larger,
 * so that later calls can reuse it. Memory that kernels allocate for themselves is not included.
 * @name    of a function of the model; NULL: the function that needs most
 * @extents  count values for symbolic dimensions of the inputs; all other symbolic dimensions count
 *          as 1
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: no such function, or the file does not contain enough to
 *          tell; MPKR_E_CORRUPT; MPKR_E_USAGE: sizes beyond 64 bits; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_memory_need(mpkr_model *model, const char *name,
			      const struct mpkr_extent *extents, size_t count,
			      struct mpkr_need *out, struct mpkr_error *err);

/* --- functions ------------------------------------------------------------------------------- */

/* mpkr_function_count - number of functions that can be called: first those of models, then host
 * functions, some of which may be kernels that the models call
 * mpkr_function_name - name of function number i, for mpkr_find; valid until the model is closed.
 * NULL: i is not below the count, or there is no memory
 * mpkr_function_is_model - not 0: function number i belongs to a model. 0: it is host code, such as
 * a kernel that models call
 * mpkr_function_signature - inputs and outputs of function number i, for people: "main(x: f32[1,
 * 64]) -> (f32[1, 10])"; "add(...)" if the file does not tell. Valid until the model is closed;
 * NULL as above. It finds the function, and so may open a device */
MPKR_API size_t mpkr_function_count(mpkr_model *model);
MPKR_API const char *mpkr_function_name(mpkr_model *model, size_t i);
MPKR_API int mpkr_function_is_model(mpkr_model *model, size_t i);
MPKR_API const char *mpkr_function_signature(mpkr_model *model, size_t i);

/* mpkr_find - find a function by its name
 * @name    as mpkr_function_name returns it; "/0#main" for a function of the module at a path in
 *          the file's tree; NULL: the first function
 * @out     to be dropped by mpkr_drop
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND (the text suggests similar names); MPKR_E_DEVICE; MPKR_E_LOAD:
 *          a function that this one calls is missing; MPKR_E_CORRUPT; MPKR_E_UNSUPPORTED;
 *          MPKR_E_RAISED: the device refuses code or memory; MPKR_E_NO_MEMORY; if weights are
 *          bound, also the errors of mpkr_bind_weights. A bound weight of the wrong type or shape
 *          is refused only by mpkr_call, with MPKR_E_USAGE */
MPKR_API int mpkr_find(mpkr_model *model, const char *name, mpkr_function **out,
		       struct mpkr_error *err);

/* Launch dimensions of a kernel. Zero-initialise, set size, then set the dimensions that the kernel
 * has; 0 counts as 1. */
struct mpkr_launch {
	size_t size;           /* sizeof(struct mpkr_launch), set by the caller */
	uint64_t grid[3];      /* number of blocks, x first: CUDA's gridDim, OpenCL's work groups */
	uint64_t block[3];     /* threads of each block: CUDA's blockDim, OpenCL's local size */
	uint64_t shared_bytes; /* bytes of dynamic shared memory */
};

/* mpkr_find_kernel - find a kernel in the file's device code, to call it without its host code
 * The kernel is called like a host function, with its own parameters: tensors, which it may write
 * to, and numbers, as mpkr_input tells. The library cannot know how many elements of a tensor the
 * kernel touches: a launch that exceeds a tensor corrupts device memory.
 * @name    of the kernel in its module; "/0#name" for a kernel of the module at a path in the
 *          file's tree
 * @launch  NULL: one thread
 * @out     to be dropped by mpkr_drop
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND (the text suggests similar names); MPKR_E_USAGE: an extent for
 *          a dimension that the kernel does not have, a name that several kernels have, code for
 *          another kind of device than the model was opened on; MPKR_E_DEVICE; MPKR_E_CORRUPT;
 *          MPKR_E_UNSUPPORTED; MPKR_E_NO_MEMORY. Code is loaded at the first call. */
MPKR_API int mpkr_find_kernel(mpkr_model *model, const char *name, const struct mpkr_launch *launch,
			      mpkr_function **out, struct mpkr_error *err);

/* mpkr_session - create another session of a function: an independent executor that shares code and
 * weights
 * Calls in one session do not wait for calls in another. A function that belongs to no model gets
 * only a lock of its own: it must be able to run on several threads at once.
 * @out     to be dropped by mpkr_drop
 * Returns  as mpkr_find */
MPKR_API int mpkr_session(mpkr_function *function, mpkr_function **out, struct mpkr_error *err);

/* mpkr_drop - release a function; NULL is allowed */
MPKR_API void mpkr_drop(mpkr_function *function);

/* Kinds of inputs and outputs. All are passed as tensors: numbers as tensors of one element, shapes
 * as int64 tensors of one dimension, texts as uint8 tensors of one dimension. */
enum mpkr_kind {
	/* the file does not tell: passed as a tensor, unless mpkr_expect gives the kind */
	MPKR_KIND_ANY = 0,
	MPKR_KIND_TENSOR = 1,
	/* an integer, float or bool, like the element of its tensor; an integer is accepted for a float */
	MPKR_KIND_NUMBER = 2,
	/* an int64 tensor with one element for each extent */
	MPKR_KIND_SHAPE = 3,
	/* UTF-8 without NUL bytes */
	MPKR_KIND_TEXT = 4,
	/* something else, such as a function: passed as a value (mpkr_value) */
	MPKR_KIND_OTHER = 5,
	/* this one and the next two are kinds of mpkr_value only; this one: no value */
	MPKR_KIND_NONE = 6,
	/* an array of TVM's runtime */
	MPKR_KIND_TUPLE = 7,
	/* an opaque object: a cache, a state, a function, a module */
	MPKR_KIND_OBJECT = 8
};

enum { MPKR_RANK_MAX = 32 };

struct mpkr_type {
	enum mpkr_kind kind;
	const char *name;        /* "" if it has no name; valid until the function is dropped */
	struct mpkr_dtype dtype; /* for tensors and numbers; bits is 0 if any type is allowed */
	int32_t ndim; /* Tensors: number of dimensions. Shapes: number of extents. -1: any, and
		       * shape is not set. */
	int64_t shape[MPKR_RANK_MAX]; /* ndim extents; -1: any, not known before the call */
};

/* mpkr_input, mpkr_output - the type of input or output number i of a function, counted from 0
 * Tuples are flattened: each item counts as an input or output. Parameters that the file or
 * mpkr_bind_params fills are not inputs. Ask for 0, 1, ... until MPKR_E_NOT_FOUND. If the file does
 * not tell what a function takes, which is so for most host functions, it has no inputs here and
 * accepts any.
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND */
MPKR_API int mpkr_input(const mpkr_function *function, size_t i, struct mpkr_type *out);
MPKR_API int mpkr_output(const mpkr_function *function, size_t i, struct mpkr_type *out);

/* mpkr_extent_name - name or expression of a symbolic extent: "n", "2 * n"
 * Extents of the same name are equal in one call. NULL: the extent is fixed or has no name, or
 * there is no such input, output or axis. Valid until the function is dropped.
 * mpkr_place - the device on which the function needs input number i */
MPKR_API const char *mpkr_extent_name(const mpkr_function *function, int is_output, size_t i,
				      size_t axis);
MPKR_API struct mpkr_device mpkr_place(const mpkr_function *function, size_t i);

/* mpkr_expect - tell the kind of input number i where the file does not (its kind is MPKR_KIND_ANY,
 * or i is not below the number of known inputs). A host function gets a tensor of one element as a
 * number only after this call
 * Returns  MPKR_OK; MPKR_E_USAGE: the file gives another kind, an unknown kind, i > 1023;
 *          MPKR_E_NO_MEMORY */
MPKR_API int mpkr_expect(mpkr_function *function, size_t i, enum mpkr_kind kind,
			 struct mpkr_error *err);

/* --- calls ----------------------------------------------------------------------------------- */

/* mpkr_call - call a function and wait for its end
 *
 * Inputs are checked against the function's signature before anything runs. They are borrowed for
 * the call and not written to. Inputs in host memory are used where they lie if they are aligned to
 * 64 bytes and have no gaps; otherwise they are copied first. A model on any device accepts inputs
 * in host memory. Inputs in CUDA or ROCm memory must be on the model's own device (same id; the
 * primary context of CUDA), and the work that writes their content must have ended. All other
 * inputs are refused. An input that is NULL is passed as "none".
 *
 * Functions that belong to no model, such as kernels and launch functions, write into their
 * arguments, and so into the caller's tensors. Pass them writable memory; mpkr_call_into describes
 * these functions.
 *
 * The caller owns the results. They never overlap inputs, weights or results of other calls: a
 * function that returns its input or a weight returns a copy. Results are on the device of the
 * first tensor among the inputs, or in host memory if there is no tensor. A tuple is flattened into
 * several results; a number, shape or text becomes a tensor (enum mpkr_kind); "none" gives no
 * result.
 *
 * @in      n inputs
 * @results receives at most room results; each is to be freed by mpkr_free
 * @count   number of results; set on success, and when room is too small
 * Returns  MPKR_OK; MPKR_E_USAGE: inputs do not match the signature, or room is less than the
 *          number of results, which are then lost; MPKR_E_RAISED; MPKR_E_DEVICE;
 *          MPKR_E_UNSUPPORTED: a result that is not a tensor, such as a function; MPKR_E_NO_MEMORY;
 *          for models whose parts are loaded on demand also MPKR_E_LOAD and MPKR_E_CORRUPT. After a
 *          kernel has faulted, the device may be unusable for this process. */
MPKR_API int mpkr_call(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
		       struct mpkr_result **results, size_t room, size_t *count,
		       struct mpkr_error *err);

/* mpkr_call_into - call a function with results in tensors of the caller
 *
 * Models: results are copied into out, which is in host memory (any strides are allowed) or in
 * memory of the model's device. Types and shapes in out must equal those of the results.
 *
 * Other functions: their arguments are in followed by out, as kernels and launch functions expect.
 * They write into out wherever it lies. Their return value is ignored.
 *
 * @out     m tensors, which overlap neither an input nor each other
 * Returns  as mpkr_call; MPKR_E_USAGE also: number, types or shapes of out do not match the
 *          results. On failure a model has not written to out; another function may have. */
MPKR_API int mpkr_call_into(mpkr_function *function, const struct mpkr_tensor *const *in, size_t n,
			    const struct mpkr_tensor *const *out, size_t m, struct mpkr_error *err);

/* --- values ---------------------------------------------------------------------------------- */

/* A value that a function takes or returns: the cache of a language model, a tuple of weights, a
 * tensor that stays on its device. The result of one call can be passed to the next:
 *
 *     struct mpkr_arg sizes[5] = { ... };
 *     mpkr_value *cache, *logits;
 *
 *     mpkr_call_value(create, sizes, 5, &cache, &err);
 *     struct mpkr_arg args[2] = { { .tensor = &embedded }, { .value = cache } };
 *     mpkr_call_value(prefill, args, 2, &logits, &err);
 *
 * A value belongs to the model that returned it or that it was made for. It stays valid until it is
 * dropped, even after the model was closed. Several threads may use a value, but the object it
 * refers to is shared: every call changes a cache that it gets, so two calls in different sessions
 * must not use one cache at the same time. */
typedef struct mpkr_value mpkr_value;

/* One input of a call: a tensor or a value, or "none" if both are NULL. */
struct mpkr_arg {
	const struct mpkr_tensor *tensor; /* like an input of mpkr_call */
	mpkr_value *value;                /* borrowed; the function takes its own references to the
					   * parts that it keeps */
};

/* mpkr_call_value - call a function that takes or returns values; the result is one value
 * A tuple may be passed as one value or as its items, one after the other. Tensors in values are
 * used without a copy if they are on the device where the function needs them; functions that
 * belong to no model may write to them. Tensors of the result stay on the device where the function
 * wrote them and never overlap an input.
 * Builtins of TVM's virtual machine, such as "vm.builtin.kv_state_add_sequence", are found by
 * mpkr_find like other functions.
 * @out     to be dropped by mpkr_value_drop; never NULL on success: a function without a result
 *          gives a value of MPKR_KIND_NONE
 * Returns  as mpkr_call, except its errors about room and about results that are not tensors;
 *          MPKR_E_USAGE also: a value of another model, or both a tensor and a value in one input */
MPKR_API int mpkr_call_value(mpkr_function *function, const struct mpkr_arg *in, size_t n,
			     mpkr_value **out, struct mpkr_error *err);

/* mpkr_value_make - make a value from the caller's data
 * @kind    MPKR_KIND_TENSOR, _NUMBER, _SHAPE, _TEXT or _NONE
 * @tensor  the data, as mpkr_call takes it for that kind, in host memory; copied. NULL for
 *          MPKR_KIND_NONE
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_make(mpkr_model *model, enum mpkr_kind kind,
			     const struct mpkr_tensor *tensor, mpkr_value **out,
			     struct mpkr_error *err);

/* mpkr_value_tuple - make a tuple of n items; it copies tensors and refers to values
 * Returns  as mpkr_value_make; MPKR_E_USAGE also: a value of another model */
MPKR_API int mpkr_value_tuple(mpkr_model *model, const struct mpkr_arg *items, size_t n,
			      mpkr_value **out, struct mpkr_error *err);

/* mpkr_value_kind - kind of a value: any except MPKR_KIND_ANY and _OTHER. For NULL it is
 * MPKR_KIND_NONE
 * mpkr_value_type - name of a value's type, for people: "tensor", "array",
 * "relax.vm.PagedAttentionKVCache"; valid until the value is dropped
 * mpkr_value_count - number of items of a tuple; 0 for all other kinds */
MPKR_API enum mpkr_kind mpkr_value_kind(const mpkr_value *value);
MPKR_API const char *mpkr_value_type(const mpkr_value *value);
MPKR_API size_t mpkr_value_count(const mpkr_value *value);

/* mpkr_value_item - item number i of a tuple, as a value that is dropped by itself
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: i is not below the number of items; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_item(const mpkr_value *value, size_t i, mpkr_value **out,
			     struct mpkr_error *err);

/* mpkr_value_tensor - view a value as a tensor; numbers, shapes and texts as in results of
 * mpkr_call
 * @device_type  MPKR_DEVICE_CPU: a tensor in host memory; 0: a tensor in CUDA memory is returned
 *          without a copy
 * @out     to be freed by mpkr_free. It shares the value's memory, so writing to it changes the
 *          value, unless the data had to be copied to the host
 * Returns  MPKR_OK; MPKR_E_USAGE: another device type, or the value is none, a tuple or an object;
 *          MPKR_E_DEVICE; MPKR_E_RAISED: the device failed; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_tensor(const mpkr_value *value, int32_t device_type,
			       struct mpkr_result **out, struct mpkr_error *err);

/* mpkr_value_hold - make another reference to a value's object
 * Arguments of an application's function are valid only during its call. Held, they stay as they
 * are: tensors are copied on their device, because the model reuses their memory; caches and states
 * are not copied.
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_UNSUPPORTED: a tensor on a device whose rows are not
 *          contiguous; MPKR_E_DEVICE; MPKR_E_RAISED: the device failed; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_value_hold(const mpkr_value *value, mpkr_value **out, struct mpkr_error *err);

/* mpkr_state_save - save sequences of a cache or a recurrent state as bytes
 * mpkr_state_load of the same model loads them: in another session, another process, or later. No
 * call that uses the state may be under way.
 * @state   a paged key-value cache or a recurrent state; or the older cache of one tensor, which
 *          has no sequence ids and is saved and replaced as a whole
 * @ids     count sequence ids; NULL: all sequences. Pages that sequences share are saved once
 * @out     uint8, one dimension, in host memory; to be freed by mpkr_free
 * Returns  MPKR_OK; MPKR_E_USAGE: not a state; MPKR_E_RAISED: no such sequence, a token tree that
 *          is not committed, a state of another kind, a device that failed; MPKR_E_UNSUPPORTED;
 *          MPKR_E_NO_MEMORY
 * mpkr_state_load - add saved sequences to a state that the same model created with the same
 * parameters
 * The bytes need not be trusted: each number is checked. It is not checked which file of weights
 * was bound.
 * Returns  MPKR_OK; MPKR_E_CORRUPT: not a saved state, or cut short; MPKR_E_UNSUPPORTED: saved in
 *          another version of the format; MPKR_E_RAISED: saved by another model or from a different
 *          state, a sequence that exists already, no room; MPKR_E_USAGE; MPKR_E_NO_MEMORY. On
 *          failure the state is unchanged */
MPKR_API int mpkr_state_save(const mpkr_value *state, const int64_t *ids, size_t count,
			     struct mpkr_result **out, struct mpkr_error *err);
MPKR_API int mpkr_state_load(mpkr_value *state, const void *bytes, size_t len,
			     struct mpkr_error *err);

/* mpkr_value_drop - release a value; NULL is allowed. The object is freed with its last reference */
MPKR_API void mpkr_value_drop(mpkr_value *value);

/* --- functions of the application ------------------------------------------------------------ */

/* Functions that a model calls by name and that its file does not contain: R.call_packed,
 * R.call_dps_packed, tir.call_packed. */

/* One call that a model makes. The struct and all it points to are borrowed until the function
 * returns. */
struct mpkr_invocation {
	size_t size;       /* size of the struct in the library; fields beyond it do not exist */
	mpkr_model *model; /* the calling model; for mpkr_value_make */
	const char *name;  /* name under which the function was registered */
	mpkr_value *const *args; /* count arguments; the callback must not drop them */
	size_t count;
};

/* mpkr_callback - a function that the application provides to models
 * It is called in a thread that calls the model, or in a thread of a parallel loop. It may call
 * models, but not in the session that is calling it: such calls fail with MPKR_E_USAGE. Use a
 * session of its own (mpkr_session). Arguments that are tensors share the model's memory (see
 * mpkr_value_tensor) and may be written to: the last arguments of a call_dps_packed are its
 * results. Results of mpkr_value_tensor must be freed before the function returns.
 * @context as registered
 * @result  points to NULL; may be set to a value of the model, which then belongs to the library
 * @err     zeroed. Its text becomes the error that the model raises, such as "ValueError: ..."; its
 *          code need not be set
 * Returns  0 for success; anything else is a failure. MPKR_E_NO_MEMORY and MPKR_E_STOPPED become
 *          the error of the model's call; every other value becomes MPKR_E_RAISED */
typedef int mpkr_callback(void *context, const struct mpkr_invocation *call, mpkr_value **result,
			  struct mpkr_error *err);

/* mpkr_register - let models call a function by name, or remove such a function
 * It may be called at any time. A model looks up a missing function when one of the model's
 * functions is found (mpkr_find), or when compiled code first calls it. Each call uses the function
 * that is registered at that moment, so that another one may be registered in its place. When
 * mpkr_register has removed or replaced a function, no other thread still executes it: its code may
 * be unloaded. Without a replacement, calls fail with MPKR_E_LOAD. Two functions that remove each
 * other at the same time deadlock.
 * @model   only this model gets the function, which is preferred to one registered for the process;
 *          NULL: all models of the process
 * @name    copied
 * @function  NULL: remove the function
 * @context passed to the function
 * Returns  MPKR_OK; MPKR_E_USAGE: no name, or the name of a function of the library itself, such as
 *          vm.builtin.reshape (registered for the process, it would never be called);
 *          MPKR_E_NOT_FOUND: nothing to remove; MPKR_E_NO_MEMORY */
MPKR_API int mpkr_register(mpkr_model *model, const char *name, mpkr_callback *function,
			   void *context, struct mpkr_error *err);

/* mpkr_value_function - make a value from a function of a model, for functions that take functions
 * as arguments
 * mpkr_value_callback - make a value from a function of the application, without registering a name
 * @name    passed to each call as its name; copied; NULL: ""
 * @context passed to the function. On success release(context) is called, in any thread, when the
 *          last reference to the function is gone; release may be NULL
 * @out     to be dropped by mpkr_value_drop; the model may keep the function as long as it lives
 * Returns  MPKR_OK; MPKR_E_USAGE; MPKR_E_NO_MEMORY
 * To call such a value, find "vm.builtin.invoke_closure" with mpkr_find and pass the value as its
 * first argument. */
MPKR_API int mpkr_value_function(mpkr_function *function, mpkr_value **out, struct mpkr_error *err);
MPKR_API int mpkr_value_callback(mpkr_model *model, const char *name, mpkr_callback *function,
				 void *context, void (*release)(void *context), mpkr_value **out,
				 struct mpkr_error *err);

/* --- observing calls ------------------------------------------------------------------------- */

enum mpkr_operator {
	MPKR_OPERATOR_KERNEL = 0,  /* a function of the file or of the application */
	MPKR_OPERATOR_COPY = 1,    /* copies data, perhaps between devices */
	MPKR_OPERATOR_BUILTIN = 2, /* a builtin for memory, shapes or caches */
};

/* The begin or end of one operator. Borrowed until the watcher returns. */
struct mpkr_event {
	size_t size; /* size of the struct in the library */
	int is_end;  /* 0: the operator begins. An operator that fails has no end event */
	enum mpkr_operator kind;
	const char *name;          /* such as "fused_matmul_add" */
	const char *function;      /* the function that contains the operator; "" in a graph */
	size_t index;              /* number of its instruction in that function */
	struct mpkr_device device; /* where it runs; all earlier work there has ended */
	int64_t nanoseconds;       /* time of a monotonic clock */
	/* count arguments, as in mpkr_invocation. They include the tensors that a kernel writes, usually
	 * the last ones, which are written when the operator ends. */
	mpkr_value *const *args;
	size_t count;
	mpkr_value *result; /* at the end: the return value, borrowed like args; NULL: none */
};

enum mpkr_watch {
	MPKR_WATCH_GO_ON = 0,
	MPKR_WATCH_STOP = 1, /* the call ends with MPKR_E_STOPPED */
	/* When a kernel in byte code of the Relax VM begins: do not call it; it has no end event. In all
	 * other events it means MPKR_WATCH_GO_ON. */
	MPKR_WATCH_SKIP = 2
};

/* Returns  enum mpkr_watch; anything else counts as MPKR_WATCH_STOP */
typedef int mpkr_watcher(void *context, const struct mpkr_event *event);

/* mpkr_watch - call a function at the begin and end of every operator of the model, in the thread
 * that calls the model
 * Set the watcher while no call is under way. Watched calls are slower: they wait for devices and
 * replay no recorded launches. A compiled function of the Relax VM counts as one operator.
 * @watcher NULL: stop watching */
MPKR_API void mpkr_watch(mpkr_model *model, mpkr_watcher *watcher, void *context);

/* Time that one operator took on one device, summed over all calls since the profile began. Set
 * size. */
struct mpkr_profile_row {
	size_t size; /* sizeof(struct mpkr_profile_row), set by the caller */
	/* such as "fused_matmul_add"; valid until the next profile begins or the model is gone */
	const char *name;
	enum mpkr_operator kind;
	struct mpkr_device device;
	uint64_t calls;
	/* each without the time of operators nested in it */
	int64_t total_nanoseconds, min_nanoseconds, max_nanoseconds;
	double share; /* part of the total of all rows, 0 to 1 */
};

/* mpkr_profile - measure the operators of the model's calls from now on
 * Call it while no call is under way. It works together with mpkr_watch, and the time of the
 * watcher is not counted.
 * @is_on   not 0: discard earlier measurements and begin; 0: stop and keep them
 * mpkr_profile_at - row number i of the profile, the operator with the longest total time first
 * @i       counted from 0
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: i is not below the number of rows; MPKR_E_USAGE;
 *          MPKR_E_NO_MEMORY */
MPKR_API void mpkr_profile(mpkr_model *model, int is_on);
MPKR_API int mpkr_profile_at(mpkr_model *model, size_t i, struct mpkr_profile_row *out,
			     struct mpkr_error *err);

/* The operator in which a call failed. Set size. Strings are valid until the next call of the
 * session, or until the function is dropped. */
struct mpkr_failure {
	size_t size;          /* sizeof(struct mpkr_failure), set by the caller */
	const char *name;     /* name of the operator: a kernel, a builtin, or a function of the
			   * application */
	const char *function; /* the function that contains the operator; "": unknown */
	/* the kernel or function called before it in that function; "": none, or unknown */
	const char *before;
	int64_t instruction; /* number of its instruction in byte code, or of its step in a graph;
			      * -1: compiled code, or a call that was replayed from a recording */
};

/* mpkr_failed_at - the operator in which the last call of the function's session failed
 * Returns  MPKR_OK; MPKR_E_NOT_FOUND: the call did not fail, or its operator is unknown because its
 *          inputs were refused; MPKR_E_USAGE */
MPKR_API int mpkr_failed_at(const mpkr_function *function, struct mpkr_failure *out);

/* --- stopping calls -------------------------------------------------------------------------- */

/* mpkr_stop - end calls in the function's session with MPKR_E_STOPPED: the call under way, and all
 * later ones until mpkr_resume
 * It may be called from any thread and from a signal handler. The call ends after its current step:
 * an instruction, a task of a parallel loop, a launch. Its results are lost; caches keep what the
 * call had written so far. The model stays usable. NULL is allowed.
 * mpkr_stop_after - stop as mpkr_stop does after a time in nanoseconds from now; 0: now. A later
 * call replaces the time
 * mpkr_resume - let calls run again, without a time limit */
MPKR_API void mpkr_stop(mpkr_function *function);
MPKR_API void mpkr_stop_after(mpkr_function *function, int64_t nanoseconds);
MPKR_API void mpkr_resume(mpkr_function *function);

#ifdef __cplusplus
}
#endif

#endif
