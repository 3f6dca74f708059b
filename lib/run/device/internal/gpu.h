/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - the back end for GPUs whose driver has CUDA's interface, with a table for each maker;
 * private to lib/run/device
 *
 * AMD's HIP has the functions of the CUDA driver under other names, with other numbers of
 * attributes. Common code is in gpu.c and gpu_kernels.c; the differences are in a struct
 * mpk_gpu_maker, in cuda.c and rocm.c. */
#ifndef MPK_DEVICE_INTERNAL_GPU_H
#define MPK_DEVICE_INTERNAL_GPU_H

#include "base/error.h"
#include "base/span.h"
#include "device/internal/backend.h"
#include "device/internal/cuda_abi.h"

struct mpk_gpu_device;
struct mpk_gpu_kernel;

/* The bytes that a driver loads. */
struct mpk_gpu_image {
	char *bytes; /* malloc'ed, with a NUL after them */
	size_t len;
};

enum { MPK_GPU_CODE_TEXT = 200 };

struct mpk_gpu_maker {
	enum mpk_device_kind kind;
	const char *name;      /* name of its devices: "cuda" */
	const char *interface; /* name of the driver's interface: "CUDA" */
	const struct mpk_device_ops *ops;
	const struct mpk_driver *driver;
	const struct mpk_cuda_api
		*api; /* filled in by driver; functions that the driver does not list are NULL */
	const struct mpk_device_status *statuses; /* statuses for which there is a known cause */
	size_t status_count;
	const char *const
		*formats;         /* formats of modules for this kind of device; the last is NULL */
	const char *format_names; /* these formats in a sentence */
	const char *no_form; /* message for code in none of them: "neither cubin, fatbin nor PTX" */

	/* Numbers of device attributes; y and z follow x. */
	unsigned char threads, block_x, grid_x, shared, shared_optin, units;
	unsigned char capability[2]; /* attributes for major and minor, from which sm is computed;
				      * 0: there are none */
	bool has_logs;    /* the driver compiles code when it loads it, and gives a log */
	bool keeps_image; /* the driver reads the image for as long as the module is loaded */
	unsigned
		shared_free; /* bytes of shared memory that a kernel gets without a request; 0: all */
	uint64_t axis_threads; /* limit of blocks times threads along one axis; 0: no limit */

	/* returns a name such as "CUDA_ERROR_INVALID_VALUE" in the driver's memory; NULL: unknown status */
	const char *(*status_name)(unsigned status);
	/* sets platform and arch */
	void (*describe)(int id, struct mpk_device_info *info);
	/* Starts to use a device. Calls of a thread go to the device that it entered last; each returns a
	 * status. */
	unsigned (*start)(struct mpk_gpu_device *device);
	unsigned (*enter)(const struct mpk_gpu_device *device);
	void (*stop)(struct mpk_gpu_device *device);
	/* Checks code without a driver, as mpk_device_check does. */
	enum mpk_code (*check)(struct mpk_span code, const struct mpk_device_info *info,
			       struct mpk_error *err);
	/* Describes the target of code, "sm_90 (cubin)"; empty if the bytes are not understood. Returns out */
	const char *(*describe_code)(struct mpk_span code, char out[MPK_GPU_CODE_TEXT]);
	/* Gets the image to load from a payload that is not empty. */
	enum mpk_code (*get_image)(const struct mpk_gpu_device *device, const struct mpk_kernels *k,
				   struct mpk_gpu_image *out, struct mpk_error *err);
	/* Reports why a kernel is not found, if more is known than its name; else returns MPK_OK. */
	enum mpk_code (*explain_missing)(const struct mpk_gpu_kernel *kernel,
					 struct mpk_error *err);
	/* Gets the size of parameter i in the code; *bytes stays 0 after the last parameter. False:
	 * unknown. */
	bool (*param_bytes)(const struct mpk_gpu_kernel *kernel, size_t i, size_t *bytes);
	/* Launches a kernel with attributes. */
	enum mpk_code (*launch_extended)(const struct mpk_gpu_kernel *kernel,
					 const struct mpk_cu_launch_config *config,
					 struct mpk_error *err);
};

/* mpk_gpu_fail - report "<what>: CUDA_ERROR_NAME (N): likely cause", with the code for that status */
enum mpk_code mpk_gpu_fail(const struct mpk_gpu_maker *maker, struct mpk_error *err,
			   unsigned status, const char *fmt, ...) MPK_PRINTF(4, 5);
#define mpk_gpu_fail(...) mpk_failed(mpk_gpu_fail(__VA_ARGS__))

struct mpk_gpu_device {
	struct mpk_device base;
	const struct mpk_gpu_maker *maker;
	const struct mpk_cuda_api *cu;
	int id;                         /* CUdevice */
	struct mpk_cu_context *context; /* CUDA: the primary context, retained */
	unsigned block_limits[3], grid_limits[3];
	unsigned shared_optin; /* most bytes of shared memory that a block may request */
};

struct mpk_gpu_module {
	struct mpk_device_module base;
	struct mpk_cu_module *module;
	struct mpk_gpu_image image; /* has no bytes if the driver has a copy */
	void *about;                /* data of the maker, in the arena of base */
};

struct mpk_gpu_kernel {
	struct mpk_device_kernel base;
	struct mpk_cu_function *function;
	unsigned thread_limit;   /* most threads in a block of this kernel */
	unsigned static_shared;  /* bytes of static shared memory */
	unsigned dynamic_shared; /* bytes of dynamic shared memory allowed so far by
				  * cuFuncSetAttribute */
	bool big_cluster;        /* clusters of more than 8 blocks are already allowed */
	void **params;           /* arg_count addresses of elements in values */
	uint64_t *values;        /* arg_count packed arguments */
};

static inline struct mpk_gpu_device *mpk_gpu_device_of(struct mpk_device *device)
{
	return (struct mpk_gpu_device *)device;
}

/* Returns the device of a kernel. */
static inline struct mpk_gpu_device *mpk_gpu_kernel_device(const struct mpk_gpu_kernel *kernel)
{
	return mpk_gpu_device_of(kernel->base.module->device);
}

/* mpk_gpu_enter - make the device the thread's current one
 * Returns  MPK_OK; as mpk_gpu_fail */
enum mpk_code mpk_gpu_enter(struct mpk_gpu_device *device, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_gpu_copy_image - copy bytes and add a NUL, which text in a module's blob does not have
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_gpu_copy_image(struct mpk_span bytes, struct mpk_gpu_image *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* Operations for the table of each maker; only the first two differ between makers.
 * mpk_gpu_list - list all devices of a maker
 * mpk_gpu_open - open a device */
enum mpk_code mpk_gpu_list(const struct mpk_gpu_maker *maker, struct mpk_device_list *list,
			   struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_gpu_open(const struct mpk_gpu_maker *maker, unsigned ordinal,
			   struct mpk_device **out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_gpu_close(struct mpk_device *base);
enum mpk_code mpk_gpu_alloc(struct mpk_device *base, uint64_t bytes, void **out,
			    struct mpk_error *err);
void mpk_gpu_free(struct mpk_device *base, void *data);
enum mpk_code mpk_gpu_write(struct mpk_device *base, void *to, uint64_t to_off,
			    struct mpk_span from, struct mpk_error *err);
enum mpk_code mpk_gpu_read(struct mpk_device *base, const void *from, uint64_t from_off, void *to,
			   size_t n, struct mpk_error *err);
enum mpk_code mpk_gpu_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			   struct mpk_error *err);
enum mpk_code mpk_gpu_sync(struct mpk_device *base, struct mpk_error *err);
enum mpk_code mpk_gpu_load(struct mpk_device *base, const struct mpk_kernels *k,
			   struct mpk_device_module **out, struct mpk_error *err);
void mpk_gpu_unload(struct mpk_device_module *base);
enum mpk_code mpk_gpu_bind(struct mpk_device_kernel *base, struct mpk_error *err);
enum mpk_code mpk_gpu_launch(struct mpk_device_kernel *base, const uint64_t *slots,
			     const struct mpk_launch_shape *shape, struct mpk_error *err);
/* mpk_gpu_check - the check operation of backend.h for one maker */
enum mpk_code mpk_gpu_check(const struct mpk_gpu_maker *maker, const struct mpk_device_info *info,
			    const struct mpk_kernels *k, struct mpk_error *err) MPK_MUST_CHECK;

/* Defines the two tables of operations of a maker; list_op, open_op and check_op are its own
 * operations. */
#define MPK_GPU_CODE_OPS(check_op)                                                                 \
	{                                                                                          \
		.load = mpk_gpu_load,                                                              \
		.unload = mpk_gpu_unload,                                                          \
		.bind = mpk_gpu_bind,                                                              \
		.kernel_bytes = sizeof(struct mpk_gpu_kernel),                                     \
		.launch = mpk_gpu_launch,                                                          \
		.check = check_op,                                                                 \
	}
#define MPK_GPU_OPS(list_op, open_op, code_ops)                                                    \
	{                                                                                          \
		.list = list_op,                                                                   \
		.open = open_op,                                                                   \
		.close = mpk_gpu_close,                                                            \
		.alloc = mpk_gpu_alloc,                                                            \
		.free = mpk_gpu_free,                                                              \
		.write = mpk_gpu_write,                                                            \
		.read = mpk_gpu_read,                                                              \
		.copy = mpk_gpu_copy,                                                              \
		.sync = mpk_gpu_sync,                                                              \
		.takes_streams = true,                                                             \
		.code = code_ops,                                                                  \
	}

/* --- from CUDA C++ source to machine code ----------------------------------------------------- */

/* Source to compile. */
struct mpk_nvrtc_source {
	struct mpk_span text;
	unsigned sm;      /* 10 * major + minor of the compute capability */
	const char *home; /* a CUDA toolkit whose headers precede those beside the compiler; NULL */
};

/* mpk_nvrtc_compile - compile source for one architecture
 * The compiler is libnvrtc.so of CUDA 11.1 to 13, found by the dynamic linker or in
 * /usr/local/cuda; headers are searched in its own include folders. INFINITY, NAN, CUtensorMap and
 * __int128 are available without a header, and functions without an execution space are device
 * functions. Options in the source's first line (mpk_source_code_nvrtc) are added; an architecture
 * or standard among them replaces the default.
 * @out     a cubin for the architecture with its specific features (sm_90a). If the compiler is
 *          older than the architecture, or the source asks for compute_NN, PTX with a NUL at its
 *          end. malloc'ed; the caller frees it
 * Returns  MPK_OK; MPK_E_LOAD: no NVRTC library, or a compile error with the log; MPK_E_CORRUPT: an
 *          invalid line of options; MPK_E_NOMEM */
enum mpk_code mpk_nvrtc_compile(const struct mpk_nvrtc_source *source, char **out,
				size_t *out_bytes, struct mpk_error *err) MPK_MUST_CHECK;

#endif
