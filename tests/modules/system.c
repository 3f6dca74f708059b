/* SPDX-License-Identifier: Apache-2.0 */
/* A module with a function that only its constructor knows, as a system library's; see README.md. */
#include <stdint.h>

typedef struct {
	int32_t type_index;
	uint32_t small_len;
	int64_t value;
} Any;

int TVMFFIEnvModRegisterSystemLibSymbol(const char *name, void *symbol);

/* What its loader fills, and what makes it a module. */
void *__tvm_ffi__library_ctx;

int __tvm_ffi_seen(void *self, const Any *args, int32_t count, Any *result)
{
	(void)self;
	*result = args[count - 1];
	return 0;
}

static int hidden(void *self, const Any *args, int32_t count, Any *result)
{
	(void)self;
	*result = args[count - 1];
	return 0;
}

__attribute__((constructor)) static void enter(void)
{
	(void)TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_echo", (void *)hidden);
}
