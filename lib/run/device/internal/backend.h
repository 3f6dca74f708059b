/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - what a back end provides; private to lib/run/device
 *
 * A back end embeds the base structs as its first members and is found through its row in
 * device/profile.h. The callers of these operations (device.c, module.c) have checked what is common:
 * empty and overlapping ranges, NULL, the key of a kernel, the launch plan.
 */
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

/* How a slot becomes the bytes of an argument. */
enum mpk_param_form {
	MPK_PARAM_HANDLE, /* 8 bytes as they are */
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

/* What is known of a kernel before it is called. */
struct mpk_launch_plan {
	struct mpk_span key; /* for messages */
	struct mpk_kernel_param *args;
	size_t arg_count;
	enum mpk_launch_tag *tags; /* those that take a slot, in order; an axis may occur several
				    * times, and takes a slot each time */
	size_t tag_count;
	unsigned work_dim; /* 1 - 3: the highest axis the tags use */
	bool cooperative, programmatic, takes_shared;
};

/* The extents of one launch; 1 where unset, shared_bytes 0. All are at least 1. */
struct mpk_launch_shape {
	uint64_t grid[3], block[3], cluster[3], preferred_cluster[3];
	uint64_t shared_bytes;
};

/* mpk_launch_plan_make - study a function table's entry
 * @plan    arrays live in arena; key is borrowed from info
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (argument type, tag; both named); MPK_E_CORRUPT
 *          (dynamic shared memory twice); MPK_E_NOMEM */
enum mpk_code mpk_launch_plan_make(const struct mpk_function_info *info, struct mpk_arena *arena,
				   struct mpk_launch_plan *plan,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_shape_of - extents from the slots after the arguments; where several slots are for one
 * axis the last that is not 0 counts
 * @slots   plan->arg_count + plan->tag_count values
 * Returns  MPK_OK; MPK_E_RANGE (count differs, negative extent); MPK_E_RAISED (block or grid overflow) */
enum mpk_code mpk_launch_shape_of(const struct mpk_launch_plan *plan, const uint64_t *slots,
				  size_t count, struct mpk_launch_shape *shape,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_launch_pack - the bytes of argument i, in this machine's order, from the first byte of
 * *value, the others 0. MPK_PARAM_HANDLE and MPK_PARAM_TENSOR_MAP: the slot itself. */
void mpk_launch_pack(const struct mpk_kernel_param *arg, uint64_t slot, uint64_t *value);

/* mpk_launch_block_size - threads in one block; cannot wrap after mpk_launch_shape_of */
uint64_t mpk_launch_block_size(const struct mpk_launch_shape *shape);

/* --- the operations of a back end ------------------------------------------------------------ */

/* What runs kernels. */
struct mpk_device_code_ops {
	enum mpk_code (*load)(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err);
	void (*unload)(struct mpk_device_module *module); /* frees its arena and itself */
	/* A kernel whose base part module.c has filled already. */
	enum mpk_code (*bind)(struct mpk_device_kernel *kernel, struct mpk_error *err);
	void (*unbind)(struct mpk_device_kernel *kernel); /* NULL: nothing to be freed */
	size_t kernel_bytes;                              /* of the back end's kernel struct */
	enum mpk_code (*launch)(struct mpk_device_kernel *kernel, const uint64_t *slots,
				const struct mpk_launch_shape *shape, struct mpk_error *err);
	enum mpk_code (*check)(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err);
};

/* What a back end is; devices.def says which kind of device it is for. */
struct mpk_device_ops {
	enum mpk_code (*list)(struct mpk_device_list *list, struct mpk_error *err);
	enum mpk_code (*open)(unsigned ordinal, struct mpk_device **out, struct mpk_error *err);
	void (*close)(struct mpk_device *device);
	enum mpk_code (*alloc)(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err);
	enum mpk_code (*alloc_texture)(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err); /* NULL: no images */
	void (*free)(struct mpk_device *device, void *data);
	enum mpk_code (*write)(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err);
	enum mpk_code (*read)(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err);
	enum mpk_code (*copy)(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err);
	enum mpk_code (*sync)(struct mpk_device *device, struct mpk_error *err);
	bool takes_streams;
	const struct mpk_device_code_ops *code; /* NULL: runs no kernels */
};

struct mpk_device {
	const struct mpk_device_ops *ops;
	struct mpk_device_info info;
	struct mpk_device_module *modules; /* all that are loaded */
	void *stream;
	const char *cuda_home; /* NULL: nobody named one */
};

struct mpk_device_module {
	struct mpk_device *device;
	struct mpk_device_module *next;
	struct mpk_kernels kernels;       /* arrays and bytes borrowed */
	struct mpk_device_kernel **bound; /* by index in the function table; NULL: not yet */
	struct mpk_arena arena;
};

struct mpk_device_kernel {
	struct mpk_device_module *module;
	const struct mpk_function_info *info;
	struct mpk_launch_plan plan;
	const char *name;     /* the key as a C string, raw, for drivers */
	char shown[128];      /* the key escaped, for messages */
	pthread_mutex_t lock; /* held by launches: arguments are set, then used */
};

#define MPK_DEVICE(name, dlpack, module_kinds) extern const struct mpk_device_ops mpk_##name##_ops;
#include "program/devices.def"
#undef MPK_DEVICE

/* What a driver's status means: a row of the back end's table. */
struct mpk_device_status {
	long long number;
	const char
		*name; /* "CL_OUT_OF_RESOURCES"; NULL where the driver names its statuses itself */
	const char *cause;  /* the usual one, or NULL */
	enum mpk_code code; /* MPK_OK means MPK_E_RAISED: a call failed */
};

/* mpk_device_status_find - the row with a number; a row of that number alone when there is none */
struct mpk_device_status mpk_device_status_find(const struct mpk_device_status *rows, size_t count,
						long long number);

/* mpk_device_fail_status - "<what>: CL_OUT_OF_RESOURCES (-5): likely cause"
 * Returns  status->code */
enum mpk_code mpk_device_fail_status(struct mpk_error *err, const struct mpk_device_status *status,
				     const char *fmt, va_list ap) MPK_PRINTF(3, 0);

/* mpk_device_list_push - append one row
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_list_push(struct mpk_device_list *list, const struct mpk_device_info *info,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_fail_log - a failure that quotes the end of a compiler's log
 * @log     NUL-terminated text of a driver; escaped but for its line breaks, and shortened
 *          in the middle of lines never: whole lines from its start, as many as fit
 * Returns  code */
enum mpk_code mpk_device_fail_log(struct mpk_error *err, enum mpk_code code, const char *what,
				  const char *log);

/* mpk_device_no_such - MPK_E_DEVICE for an ordinal beyond the devices there are */
enum mpk_code mpk_device_no_such(struct mpk_error *err, const char *kind, unsigned ordinal,
				 size_t count);

#endif
