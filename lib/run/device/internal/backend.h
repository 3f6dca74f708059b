/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - the interface that device back ends implement; private to lib/run/device
 *
 * A back end embeds the base structs as its first members and is listed in device/profile.h. The
 * callers of these operations (device.c, module.c) have checked what is common to all: empty and
 * overlapping ranges, NULL, the key of a kernel, the launch plan. */
#ifndef MPK_DEVICE_INTERNAL_BACKEND_H
#define MPK_DEVICE_INTERNAL_BACKEND_H

#include <pthread.h>
#include <stdarg.h>

#include "base/arena.h"
#include "device/device.h"

/* --- launches: from the 64-bit values of a packed call to what a driver wants ----------------
 *
 * Drivers share these rules (tvm-blob(5), CALLING KERNELS): which slot is which extent, how wide
 * an argument is, what counts as 1. */

/* Conversion of a slot to the bytes of an argument. */
enum mpk_param_form {
	MPK_PARAM_HANDLE, /* 8 bytes without conversion */
	MPK_PARAM_BITS,   /* the low `bytes` of an integer */
	MPK_PARAM_FLOAT64,
	MPK_PARAM_FLOAT32,
	MPK_PARAM_FLOAT16,
	MPK_PARAM_BFLOAT16,
	MPK_PARAM_TENSOR_MAP, /* the handle is the address of 128 bytes to pass by value */
};

struct mpk_kernel_param {
	enum mpk_param_form form;
	uint8_t bytes;
};

/* Facts about a kernel that are computed before its first launch. */
struct mpk_launch_plan {
	struct mpk_span key; /* for messages */
	struct mpk_kernel_param *args;
	size_t arg_count;
	enum mpk_launch_tag *tags; /* tags that take a slot, in order; an axis may occur several
				    * times, with a slot each time */
	size_t tag_count;
	unsigned work_dim; /* 1 to 3: the highest axis in the tags */
	bool cooperative, programmatic, takes_shared;
};

/* The extents of one launch; 1 where unset, shared_bytes 0. All are at least 1. */
struct mpk_launch_shape {
	uint64_t grid[3], block[3], cluster[3], preferred_cluster[3];
	uint64_t shared_bytes;
};

/* mpk_launch_plan_make - make the launch plan of an entry in the function table
 * @plan    arrays are in arena; key is borrowed from info
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (an argument type or tag; both are named); MPK_E_CORRUPT
 *          (dynamic shared memory twice); MPK_E_NOMEM */
enum mpk_code mpk_launch_plan_make(const struct mpk_function_info *info, struct mpk_arena *arena,
				   struct mpk_launch_plan *plan,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_shape_of - read the extents from the slots after the arguments; if several slots are
 * for one axis, the last one that is not 0 counts
 * @slots   plan->arg_count + plan->tag_count values
 * Returns  MPK_OK; MPK_E_RANGE (wrong count, negative extent); MPK_E_RAISED (block or grid
 *          overflow) */
enum mpk_code mpk_launch_shape_of(const struct mpk_launch_plan *plan, const uint64_t *slots,
				  size_t count, struct mpk_launch_shape *shape,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_pack - store the bytes of argument i in the machine's byte order at the beginning of
 * *value; the other bytes are 0. For MPK_PARAM_HANDLE and MPK_PARAM_TENSOR_MAP it is the slot
 * itself. */
void mpk_launch_pack(const struct mpk_kernel_param *arg, uint64_t slot, uint64_t *value);

/* mpk_launch_block_size - threads in one block; cannot overflow after mpk_launch_shape_of */
uint64_t mpk_launch_block_size(const struct mpk_launch_shape *shape);

/* --- the operations of a back end ------------------------------------------------------------ */

/* Operations to load and launch kernels. */
struct mpk_device_code_ops {
	enum mpk_code (*load)(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err);
	void (*unload)(struct mpk_device_module *module); /* frees the module and its arena */
	/* binds a kernel whose base part module.c has filled in */
	enum mpk_code (*bind)(struct mpk_device_kernel *kernel, struct mpk_error *err);
	void (*unbind)(struct mpk_device_kernel *kernel); /* NULL: nothing to free */
	size_t kernel_bytes;                              /* size of the back end's kernel struct */
	enum mpk_code (*launch)(struct mpk_device_kernel *kernel, const uint64_t *slots,
				const struct mpk_launch_shape *shape, struct mpk_error *err);
	enum mpk_code (*check)(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err);
};

/* Operations of a back end. */
struct mpk_device_ops {
	enum mpk_code (*list)(struct mpk_device_list *list, struct mpk_error *err);
	enum mpk_code (*open)(unsigned ordinal, struct mpk_device **out, struct mpk_error *err);
	void (*close)(struct mpk_device *device);
	enum mpk_code (*alloc)(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err);
	enum mpk_code (*alloc_texture)(
		struct mpk_device *device, const struct mpk_device_texture *texture, void **out,
		struct mpk_error *err); /* NULL: the back end has no images */
	void (*free)(struct mpk_device *device, void *data);
	enum mpk_code (*write)(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err);
	enum mpk_code (*read)(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err);
	enum mpk_code (*copy)(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err);
	enum mpk_code (*sync)(struct mpk_device *device, struct mpk_error *err);
	bool takes_streams;
	const struct mpk_device_code_ops *code; /* NULL: the back end runs no kernels */
};

struct mpk_device {
	const struct mpk_device_ops *ops;
	struct mpk_device_info info;
	struct mpk_device_module *modules; /* list of all loaded modules */
	void *stream;
	const char *cuda_home; /* NULL: the user named none */
};

struct mpk_device_module {
	struct mpk_device *device;
	struct mpk_device_module *next;
	struct mpk_kernels kernels;       /* arrays and bytes are borrowed */
	struct mpk_device_kernel **bound; /* by index in the function table; NULL: not bound yet */
	struct mpk_arena arena;
};

struct mpk_device_kernel {
	struct mpk_device_module *module;
	const struct mpk_function_info *info;
	struct mpk_launch_plan plan;
	const char *name;     /* the key as a C string, unescaped, for drivers */
	char shown[128];      /* the key, escaped for messages */
	pthread_mutex_t lock; /* held during a launch, from setting the arguments until they are
			       * used */
};

#define MPK_DEVICE(name, dlpack, module_kinds) extern const struct mpk_device_ops mpk_##name##_ops;
#include "program/devices.def"
#undef MPK_DEVICE

/* Meaning of a driver's status; one row of the back end's table. */
struct mpk_device_status {
	long long number;
	const char
		*name; /* such as "CL_OUT_OF_RESOURCES"; NULL if the driver itself gives the name */
	const char *cause;  /* the usual cause, or NULL */
	enum mpk_code code; /* MPK_OK stands for MPK_E_RAISED: a call failed */
};

/* mpk_device_status_find - the row of a status; if there is none, a row with only the number */
struct mpk_device_status mpk_device_status_find(const struct mpk_device_status *rows, size_t count,
						long long number);

/* mpk_device_fail_status - report "<what>: CL_OUT_OF_RESOURCES (-5): likely cause"
 * Returns  status->code */
enum mpk_code mpk_device_fail_status(struct mpk_error *err, const struct mpk_device_status *status,
				     const char *fmt, va_list ap) MPK_PRINTF(3, 0);

/* mpk_device_list_push - append one row
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_list_push(struct mpk_device_list *list, const struct mpk_device_info *info,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_fail_log - report a failure with a compiler's log
 * @log     NUL-terminated text of a driver. It is escaped except for line breaks; as many whole
 *          lines as fit are quoted, from the beginning
 * Returns  code */
enum mpk_code mpk_device_fail_log(struct mpk_error *err, enum mpk_code code, const char *what,
				  const char *log);

/* mpk_device_no_such - report MPK_E_DEVICE for an ordinal that is too high */
enum mpk_code mpk_device_no_such(struct mpk_error *err, const char *kind, unsigned ordinal,
				 size_t count);

#endif
