/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - what a back end provides; private to lib/run/device
 *
 * A back end embeds the base structs as its first members and is found through its row in
 * table.c. The callers of these operations (device.c, module.c) have checked what is common:
 * empty and overlapping ranges, NULL, the key of a kernel, the launch plan.
 */
#ifndef MPK_DEVICE_INTERNAL_BACKEND_H
#define MPK_DEVICE_INTERNAL_BACKEND_H

#include <pthread.h>
#include <stdarg.h>

#include "device/device.h"
#include "device/internal/launch.h"

struct mpk_device_ops {
	enum mpk_device_kind kind;
	const char *name;
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
	enum mpk_code (*load)(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err);
	void (*unload)(struct mpk_device_module *module); /* frees its arena and itself */
	/* A kernel whose base part module.c has filled already. */
	enum mpk_code (*bind)(struct mpk_device_kernel *kernel, struct mpk_error *err);
	void (*unbind)(struct mpk_device_kernel *kernel);
	size_t kernel_bytes; /* of the back end's kernel struct */
	enum mpk_code (*launch)(struct mpk_device_kernel *kernel, const uint64_t *slots,
				const struct mpk_launch_shape *shape, struct mpk_error *err);
	enum mpk_code (*check)(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels, struct mpk_error *err);
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

extern const struct mpk_device_ops mpk_cpu_ops, mpk_opencl_ops, mpk_cuda_ops;

/* What a driver's status means. */
struct mpk_device_status {
	const char *name; /* "CL_OUT_OF_RESOURCES", in the driver's words */
	long long number;
	const char *cause; /* what usually is behind it, or NULL */
	enum mpk_code code;
};

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
