/* kernel_node.h - device code of a tree on the devices it runs on; for devices.c and kernels.c */
#ifndef MPK_RUNTIME_KERNEL_NODE_H
#define MPK_RUNTIME_KERNEL_NODE_H

#include <pthread.h>

#include "base/arena.h"
#include "device/device.h"
#include "runtime/devices.h"

struct mpk_open_device {
	struct mpk_dldevice where;
	struct mpk_device *device;
};

/* A node's payload on one device. */
struct mpk_loaded_node {
	struct mpk_device *device;
	struct mpk_device_module *module;
};

/* A cuda or opencl node that something was looked up in. */
struct mpk_kernel_node {
	struct mpk_kernel_node *next;
	struct mpk_devices *devices;
	enum mpk_device_kind kind;
	struct mpk_arena arena;
	struct mpk_kernels kernels;
	struct mpk_loaded_node *loaded; /* a module each for the devices used so far */
	size_t loaded_count, loaded_cap;
};

struct mpk_devices {
	pthread_mutex_t lock; /* recursive; over everything below */
	struct mpk_open_device *open;
	size_t open_count, open_cap;
	int32_t current[MPK_DEVICE_OPENCL + 1]; /* ordinal, by kind */
	struct mpk_kernel_node *nodes;
	struct mpk_node_loader loader;
};

/* mpk_kernel_node_create - decode a node's payload; owned by devices
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_kernel_node_create(struct mpk_devices *devices, const struct mpk_tree *tree,
				     size_t index, struct mpk_kernel_node **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kernel_node_destroy - its modules must be unloaded or their devices closed before */
void mpk_kernel_node_destroy(struct mpk_kernel_node *node);

/* mpk_kernel_node_module - the node on the current device of its kind, loaded at first use
 * @out     owned by its device
 * Returns  MPK_OK; as mpk_device_open and mpk_device_load */
enum mpk_code mpk_kernel_node_module(struct mpk_kernel_node *node, struct mpk_device_module **out,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kernel_function - a kernel of the node as a function of its arguments and extents
 * Returns  MPK_OK: one reference in *out, NULL when there is no kernel of that name */
enum mpk_code mpk_kernel_function(struct mpk_kernel_node *node, const char *name,
				  struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
