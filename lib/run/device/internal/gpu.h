/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - one back end for GPUs whose driver has CUDA's interface, with a table for each maker; private to
 * lib/run/device
 *
 * AMD's HIP has the functions of the CUDA driver under other names, with other numbers of attributes. What is the
 * same is in gpu.c and gpu_kernels.c; what differs is a struct mpk_gpu_maker, in cuda.c and in rocm.c.
 */
#ifndef MPK_DEVICE_INTERNAL_GPU_H
#define MPK_DEVICE_INTERNAL_GPU_H

#include "base/error.h"
#include "base/span.h"
#include "device/internal/backend.h"
#include "device/internal/cuda_abi.h"

struct mpk_gpu_device;
struct mpk_gpu_kernel;

/* What a driver loads. */
struct mpk_gpu_image {
	char *bytes; /* malloc'ed, with a NUL after them */
	size_t len;
};

enum { MPK_GPU_CODE_TEXT = 200 };

struct mpk_gpu_maker {
	enum mpk_device_kind kind;
	const char *name;      /* of its devices: "cuda" */
	const char *interface; /* of the driver: "CUDA" */
	const struct mpk_device_ops *ops;
	const struct mpk_driver *driver;
	const struct mpk_cuda_api
		*api; /* filled by driver; members that it does not list are NULL */
	const struct mpk_device_status *statuses; /* with a cause of their own */
	size_t status_count;
	const char *const *formats; /* that modules of this kind may have, ended by NULL */
	const char *format_names;   /* the same in a sentence */
	const char *no_form; /* what code is that is none of it: "neither cubin, fatbin nor PTX" */

	/* Numbers of attributes of devices; y and z follow x. */
	unsigned char threads, block_x, grid_x, shared, shared_optin, units;
	unsigned char capability[2]; /* major and minor, of which sm is made; 0: there are none */
	bool has_logs;               /* the driver compiles what it loads, and says how that went */
	bool keeps_image;     /* the driver reads the image for as long as the module is loaded */
	unsigned shared_free; /* bytes of shared memory that a kernel gets without asking; 0: all */
	uint64_t axis_threads; /* limit of blocks times threads along one axis; 0: none */

	/* "CUDA_ERROR_INVALID_VALUE", in the driver's own storage; NULL: it does not know */
	const char *(*status_name)(unsigned status);
	/* fills platform and arch */
	void (*describe)(int id, struct mpk_device_info *info);
	/* A thread's calls are of the device it entered last; each gives a status. */
	unsigned (*start)(struct mpk_gpu_device *device);
	unsigned (*enter)(const struct mpk_gpu_device *device);
	void (*stop)(struct mpk_gpu_device *device);
	/* Judged without a driver, as mpk_device_check does. */
	enum mpk_code (*check)(struct mpk_span code, const struct mpk_device_info *info,
			       struct mpk_error *err);
	/* What the code is for, "sm_90 (cubin)"; empty when the bytes are not understood. Returns out */
	const char *(*describe_code)(struct mpk_span code, char out[MPK_GPU_CODE_TEXT]);
	/* Of a payload that is not empty. */
	enum mpk_code (*get_image)(const struct mpk_gpu_device *device, const struct mpk_kernels *k,
				   struct mpk_gpu_image *out, struct mpk_error *err);
	/* Why a kernel of that name is not found, where more can be said; else MPK_OK. */
	enum mpk_code (*explain_missing)(const struct mpk_gpu_kernel *kernel,
					 struct mpk_error *err);
	/* The bytes of parameter i in the code; *bytes stays 0 beyond the last. False: nobody knows. */
	bool (*param_bytes)(const struct mpk_gpu_kernel *kernel, size_t i, size_t *bytes);
	/* A launch with attributes. */
	enum mpk_code (*launch_extended)(const struct mpk_gpu_kernel *kernel,
					 const struct mpk_cu_launch_config *config,
					 struct mpk_error *err);
};

/* mpk_gpu_fail - "<what>: CUDA_ERROR_NAME (N): likely cause", with the code that fits */
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
	unsigned shared_optin; /* bytes one block may use when asked for */
};

struct mpk_gpu_module {
	struct mpk_device_module base;
	struct mpk_cu_module *module;
	struct mpk_gpu_image image; /* without bytes where the driver has a copy */
	void *about;                /* of the maker, in the arena of base */
};

struct mpk_gpu_kernel {
	struct mpk_device_kernel base;
	struct mpk_cu_function *function;
	unsigned thread_limit;   /* threads in one block of this kernel */
	unsigned static_shared;  /* bytes its code uses itself */
	unsigned dynamic_shared; /* bytes allowed so far by cuFuncSetAttribute */
	bool big_cluster;        /* clusters above 8 blocks are allowed already */
	void **params;           /* arg_count addresses, into values */
	uint64_t *values;        /* arg_count packed arguments */
};

static inline struct mpk_gpu_device *mpk_gpu_device_of(struct mpk_device *device)
{
	return (struct mpk_gpu_device *)device;
}

/* The device of a kernel. */
static inline struct mpk_gpu_device *mpk_gpu_kernel_device(const struct mpk_gpu_kernel *kernel)
{
	return mpk_gpu_device_of(kernel->base.module->device);
}

/* mpk_gpu_enter - make the device the thread's current one
 * Returns  MPK_OK; what mpk_gpu_fail makes of the driver's status */
enum mpk_code mpk_gpu_enter(struct mpk_gpu_device *device, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_gpu_copy_image - a copy of bytes with a NUL after them, which the text of a module blob does not have
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_gpu_copy_image(struct mpk_span bytes, struct mpk_gpu_image *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* What the tables of operations of each maker name; they differ in the first two alone.
 * mpk_gpu_list - all devices of a maker
 * mpk_gpu_open - one */
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
/* mpk_gpu_check - the operation of backend.h, of one maker */
enum mpk_code mpk_gpu_check(const struct mpk_gpu_maker *maker, const struct mpk_device_info *info,
			    const struct mpk_kernels *k, struct mpk_error *err) MPK_MUST_CHECK;

/* The two tables of a maker, whose own three operations are list_op, open_op and check_op. */
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

/* What is compiled. */
struct mpk_nvrtc_source {
	struct mpk_span text;
	unsigned sm; /* 10 * major + minor of the compute capability */
	const char *
		home; /* a CUDA toolkit, whose headers come before those beside the compiler; NULL */
};

/* mpk_nvrtc_compile - compile source for one architecture
 * The compiler is libnvrtc.so of CUDA 13, 12 or 11.1 on, found by the dynamic linker or in
 * /usr/local/cuda; its own include folders are searched for headers. INFINITY, NAN, CUtensorMap and
 * __int128 are there without any; functions without an execution space are the device's. Options in the
 * source's first line (mpk_source_code_nvrtc) are added; an architecture or a standard among them
 * takes the place of ours.
 * @out     a cubin for the architecture with its own features (sm_90a), or, when the compiler is older
 *          than it or the source asks for compute_NN, PTX with a NUL after it; malloc'ed, the
 *          caller frees it
 * Returns  MPK_OK; MPK_E_LOAD: no NVRTC library, or the compiler's log; MPK_E_CORRUPT: a line of options
 *          that holds none; MPK_E_NOMEM */
enum mpk_code mpk_nvrtc_compile(const struct mpk_nvrtc_source *source, char **out,
				size_t *out_bytes, struct mpk_error *err) MPK_MUST_CHECK;

#endif
