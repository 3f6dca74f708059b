#include "abi/convention.h"

#include <stdlib.h>

void *mpk_conv_handle(enum mpk_convention conv, struct mpk_function *f)
{
	return conv == MPK_CONV_LEGACY ? (void *)f : mpk_ffi_handle(conv, f);
}

enum mpk_code mpk_conv_call(enum mpk_convention conv, void *address, const struct mpk_value *args,
			    size_t count, struct mpk_value *result, struct mpk_error *err)
{
	switch (conv) {
	case MPK_CONV_LEGACY:
		return mpk_legacy_call(MPK_CODE(mpk_tvm_function, address), args, count, result,
				       err);
	case MPK_CONV_FFI021:
	case MPK_CONV_FFI:
		return mpk_ffi_call(
			&(struct mpk_ffi_code){ conv, MPK_CODE(mpk_ffi_safe_call, address), NULL },
			args, count, result, err);
	case MPK_CONV_NONE:
		break;
	}
	return mpk_fail(err, MPK_E_INTERNAL, "host code without a calling convention");
}

static enum mpk_code call_host(struct mpk_function *self, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	return mpk_conv_call(self->convention, self->address, args, count, result, err);
}

static void destroy_host(struct mpk_function *self)
{
	free(self);
}

enum mpk_code mpk_conv_host_function(enum mpk_convention conv, const char *name, void *address,
				     struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_function *f = calloc(1, sizeof *f);

	if (!f)
		return mpk_fail_nomem(err);
	atomic_init(&f->refs, 1);
	f->name = name;
	f->call = call_host;
	f->destroy = destroy_host;
	f->address = address;
	f->convention = conv;
	*out = f;
	return MPK_OK;
}
