/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the shared object of a library: its counted references, its functions by name, its
 * symbols
 *
 * Several threads may hold a host. Its last reference closes the object, unless C++ code of it may
 * have registered something with a library that stays.
 */
#include "runtime/host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/convention.h"
#include "base/lock.h"
#include "base/vec.h"

enum mpk_code mpk_host_create(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			      struct mpk_host **out, struct mpk_error *err)
{
	struct mpk_host *host = calloc(1, sizeof *host);

	MPK_TRY_ALLOC(host, err);
	atomic_init(&host->refs, 1);
	host->runtime = runtime;
	host->code = *code;
	host->copy = -1;
	mpk_lock_init_recursive(&host->lock);
	*out = host;
	return MPK_OK;
}

/* Relaxed: who holds one reference already sees the host. */
struct mpk_host *mpk_host_hold(struct mpk_host *host)
{
	(void)atomic_fetch_add_explicit(&host->refs, 1, memory_order_relaxed);
	return host;
}

void mpk_host_drop(struct mpk_host *host)
{
	if (!host || atomic_fetch_sub_explicit(&host->refs, 1, memory_order_acq_rel) != 1)
		return;
	/* for a library that stays, or that the linker keeps: nobody answers there any more */
	if (host->ctx_slot)
		*host->ctx_slot = NULL;
	if (host->handle && !host->stays_open)
		(void)dlclose(host->handle);
	if (host->copy >= 0 && !host->stays_open)
		(void)close(host->copy);
	if (host->code.release)
		host->code.release(host->code.owner);
	free(host->registered);
	(void)pthread_mutex_destroy(&host->lock);
	free(host);
}

struct mpk_context mpk_host_context(const struct mpk_host *host)
{
	return (struct mpk_context){ .runtime = host->runtime,
				     .convention = host->code.convention };
}

/* Names are the module's own constants, so the pointers stay good as long as it is open. */
bool mpk_host_register(struct mpk_host *host, const char *name, void *address)
{
	if (!mpk_vec_reserve(&host->registered, &host->registered_cap, host->registered_count + 1,
			     sizeof *host->registered))
		return false;
	host->registered[host->registered_count++] = (struct mpk_registered){ name, address };
	return true;
}

void *mpk_host_symbol(const struct mpk_host *host, const char *name)
{
	return host->code.symbol ? host->code.symbol(name) : dlsym(host->handle, name);
}

/* --- functions ---------------------------------------------------------------------- */

struct host_function {
	struct mpk_function base;
	struct mpk_host *host;
	struct mpk_module *module;
};

static enum mpk_code call_host(struct mpk_function *self, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct host_function *f = (struct host_function *)self;
	struct mpk_context before = mpk_context_swap(mpk_host_context(f->host));
	enum mpk_code code = mpk_conv_call(self->convention, self->address, args, result, err);

	(void)mpk_context_swap(before);
	return code;
}

static void destroy_host_function(struct mpk_function *self)
{
	struct host_function *f = (struct host_function *)self;
	struct mpk_module *module = f->module;
	struct mpk_host *host = f->host;

	free(f);
	mpk_module_drop(module);
	mpk_host_drop(host);
}

/* The function holds host and module: either may be dropped by the caller while it lives. */
static enum mpk_code make_function(struct mpk_host *host, struct mpk_module *module,
				   const char *name, void *address, struct mpk_function **out,
				   struct mpk_error *err)
{
	struct host_function *f = calloc(1, sizeof *f + strlen(name) + 1);
	char *copy;

	MPK_TRY_ALLOC(f, err);
	copy = (char *)(f + 1);
	memcpy(copy, name, strlen(name) + 1);
	f->base = (struct mpk_function){
		.refs = 1,
		.name = copy,
		.call = call_host,
		.destroy = destroy_host_function,
		.address = address,
		.convention = host->code.convention,
	};
	f->host = mpk_host_hold(host);
	f->module = mpk_module_hold(module);
	*out = &f->base;
	return MPK_OK;
}

/* Libraries have a few hundred functions at most, and a name is looked up once. */
static const struct mpk_host_function *listed(const struct mpk_host_code *code, const char *name)
{
	for (size_t i = 0; i < code->function_count; i++)
		if (strcmp(code->functions[i].name, name) == 0)
			return &code->functions[i];
	return NULL;
}

/* A system library's functions may be hidden symbols that only its constructor knows. */
static void *registered_address(const struct mpk_host *host, const char *name)
{
	const char *prefix = host->code.convention == MPK_CONV_FFI
				     ? mpk_generation_get(host->code.gen)->function_prefix
				     : "";
	size_t skip = strlen(prefix);

	for (size_t i = 0; i < host->registered_count; i++) {
		const char *symbol = host->registered[i].name;

		if (strncmp(symbol, prefix, skip) == 0 && strcmp(symbol + skip, name) == 0)
			return host->registered[i].address;
	}
	return NULL;
}

/* Symbols that the file lists come first; a constructor may have registered others that are
 * hidden. */
enum mpk_code mpk_host_find(struct mpk_host *host, struct mpk_module *module, const char *name,
			    struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_host_function *f = listed(&host->code, name);
	void *address = NULL;

	*out = NULL;
	if (f && f->alias_of)
		f = listed(&host->code, f->alias_of);
	if (f)
		address = mpk_host_symbol(host, f->symbol);
	if (!address)
		address = registered_address(host, name);
	if (!address)
		return MPK_OK;
	return make_function(host, module, f ? f->name : name, address, out, err);
}
