#include "runtime/devices.h"

#include <stdlib.h>

#include "base/vec.h"
#include "kinds.h"
#include "runtime/kernel_node.h"
#include "text/escape.h"

/* --- node loader ------------------------------------------------------------------------ */

static bool accepts(struct mpk_span kind, void *user)
{
	(void)user;
	return mpk_device_kind_of(kind) > MPK_DEVICE_CPU;
}

static enum mpk_code open_node(struct mpk_instance *inst, void *user, struct mpk_error *err)
{
	struct mpk_kernel_node *node;

	MPK_TRY(mpk_kernel_node_create(user, mpk_library_options(inst->library)->tree, inst->index,
				       &node, err));
	inst->state = node;
	return MPK_OK;
}

static enum mpk_code find_kernel(struct mpk_instance *inst, const char *name,
				 struct mpk_function **out, struct mpk_error *err)
{
	return mpk_kernel_function(inst->state, name, out, err);
}

/* --- life -------------------------------------------------------------------------------- */

enum mpk_code mpk_devices_create(struct mpk_devices **out, struct mpk_error *err)
{
	struct mpk_devices *devices = calloc(1, sizeof *devices);
	pthread_mutexattr_t recursive;

	if (!devices)
		return mpk_fail_nomem(err);
	(void)pthread_mutexattr_init(&recursive);
	(void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(&devices->lock, &recursive);
	(void)pthread_mutexattr_destroy(&recursive);
	/* Nodes stay until the devices go: a function of one may be called until then. */
	devices->loader = (struct mpk_node_loader){
		.accepts = accepts,
		.open = open_node,
		.find = find_kernel,
		.user = devices,
	};
	*out = devices;
	return MPK_OK;
}

void mpk_devices_destroy(struct mpk_devices *devices)
{
	if (!devices)
		return;
	for (size_t i = devices->open_count; i-- > 0;)
		mpk_device_close(devices->open[i].device);
	while (devices->nodes) {
		struct mpk_kernel_node *node = devices->nodes;

		devices->nodes = node->next;
		mpk_kernel_node_destroy(node);
	}
	free(devices->open);
	(void)pthread_mutex_destroy(&devices->lock);
	free(devices);
}

const struct mpk_node_loader *mpk_devices_loader(struct mpk_devices *devices)
{
	return &devices->loader;
}

static enum mpk_code open_device(struct mpk_devices *devices, struct mpk_dldevice where,
				 struct mpk_device **out, struct mpk_error *err)
{
	enum mpk_device_kind kind = mpk_device_kind_from(where.type);
	struct mpk_device *device;

	for (size_t i = 0; i < devices->open_count; i++)
		if (devices->open[i].where.type == where.type &&
		    devices->open[i].where.id == where.id) {
			*out = devices->open[i].device;
			return MPK_OK;
		}
	if (kind == MPK_DEVICE_NONE || where.id < 0)
		return mpk_fail(
			err, MPK_E_DEVICE,
			"the code asks for device %d of DLPack type %d; minspect runs cpu (1), cuda (2) and opencl (4)",
			where.id, where.type);
	if (!mpk_vec_reserve(&devices->open, &devices->open_cap, devices->open_count + 1,
			     sizeof *devices->open))
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_device_open(kind, (unsigned)where.id, &device, err));
	devices->open[devices->open_count++] = (struct mpk_open_device){ where, device };
	*out = device;
	return MPK_OK;
}

enum mpk_code mpk_devices_get(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_device **out, struct mpk_error *err)
{
	(void)pthread_mutex_lock(&devices->lock);
	enum mpk_code code = open_device(devices, where, out, err);

	(void)pthread_mutex_unlock(&devices->lock);
	return code;
}

enum mpk_code mpk_devices_use(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_error *err)
{
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	(void)pthread_mutex_lock(&devices->lock);
	devices->current[where.type] = where.id;
	(void)pthread_mutex_unlock(&devices->lock);
	return MPK_OK;
}

/* --- for module code --------------------------------------------------------------------- */

static enum mpk_code set_device(struct mpk_dldevice where, void *user, struct mpk_error *err)
{
	return mpk_devices_use(user, where, err);
}

static void *alloc_workspace(struct mpk_dldevice where, uint64_t bytes, void *user)
{
	struct mpk_device *device;
	void *data = NULL;

	if (mpk_devices_get(user, where, &device, NULL) != MPK_OK ||
	    mpk_device_alloc(device, bytes, &data, NULL) != MPK_OK)
		return NULL;
	return data;
}

static int free_workspace(struct mpk_dldevice where, void *data, void *user)
{
	struct mpk_device *device;

	if (mpk_devices_get(user, where, &device, NULL) != MPK_OK)
		return -1;
	mpk_device_free(device, data);
	return 0;
}

void mpk_devices_attach(struct mpk_devices *devices, struct mpk_library_options *options)
{
	options->set_device = set_device;
	options->device_alloc = alloc_workspace;
	options->device_free = free_workspace;
	options->user = devices;
}

static bool is_foreign(struct mpk_span kind)
{
	const struct mpk_kind *row = mpk_kind_find(kind);

	return row && row->role == MPK_ROLE_DEVICE && mpk_device_kind_of(kind) == MPK_DEVICE_NONE;
}

enum mpk_code mpk_devices_default(const struct mpk_tree *tree, struct mpk_dldevice *out,
				  struct mpk_error *err)
{
	struct mpk_dldevice found = { MPK_DL_CPU, 0 };
	const struct mpk_node *foreign = NULL;
	bool several = false;

	for (size_t i = 0; tree && i < tree->count; i++) {
		int32_t kind = (int32_t)mpk_device_kind_of(tree->nodes[i].kind);

		if (is_foreign(tree->nodes[i].kind))
			foreign = &tree->nodes[i];
		if (kind <= MPK_DL_CPU || kind == found.type)
			continue;
		several = found.type != MPK_DL_CPU;
		found.type = kind;
	}
	if (foreign && found.type == MPK_DL_CPU)
		return mpk_fail(
			err, MPK_E_DEVICE,
			"the device code is of kind '%s', which does not run here (opencl and cuda do); --device cpu calls host code all the same",
			MPK_QUOTE(foreign->kind));
	if (several)
		found.type = MPK_DL_CPU;
	*out = found;
	return MPK_OK;
}

/* --- tensors ------------------------------------------------------------------------------ */

static void release(struct mpk_tensor *tensor)
{
	mpk_device_free(tensor->owner, tensor->dl.data);
}

enum mpk_code mpk_devices_send(struct mpk_devices *devices, struct mpk_tensor *tensor,
			       struct mpk_dldevice where, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	struct mpk_device *device;
	struct mpk_tensor *sent;

	if (where.type == MPK_DL_CPU) {
		*out = mpk_value_hold(mpk_value_of_tensor(tensor)).tensor;
		return MPK_OK;
	}
	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	MPK_TRY(mpk_tensor_create(tensor->dl.dtype, tensor->dl.shape, (size_t)tensor->dl.ndim,
				  MPK_TENSOR_NO_DATA, &sent, err));
	enum mpk_code code = mpk_device_alloc(device, sent->bytes, &sent->dl.data, err);

	if (code == MPK_OK) {
		sent->owner = device;
		sent->release = release;
		sent->dl.device = where;
		code = mpk_device_write(device, sent->dl.data, 0, mpk_tensor_span(tensor), err);
	}
	if (code != MPK_OK) {
		mpk_tensor_drop(sent);
		return mpk_failed(code);
	}
	*out = sent;
	return MPK_OK;
}

enum mpk_code mpk_devices_fetch(struct mpk_devices *devices, const struct mpk_dltensor *from,
				struct mpk_tensor *to, struct mpk_error *err)
{
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(devices, from->device, &device, err));
	MPK_TRY(mpk_device_sync(device, err));
	return mpk_device_read(device, from->data, from->byte_offset, to->dl.data,
			       (size_t)to->bytes, err);
}

enum mpk_code mpk_devices_sync(struct mpk_devices *devices, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	(void)pthread_mutex_lock(&devices->lock);
	for (size_t i = 0; i < devices->open_count && code == MPK_OK; i++)
		code = mpk_device_sync(devices->open[i].device, err);
	(void)pthread_mutex_unlock(&devices->lock);
	return code;
}
