/* SPDX-License-Identifier: Apache-2.0 */
#include "package/generate.h"

#include "launch/standalone.h"
#include "package/standalone.h"

static enum mpk_code keep(struct mpk_strbuf *text, const char *name, struct mpk_arena *arena,
			  struct mpk_generated *out, struct mpk_error *err)
{
	char *copy = text->failed ? NULL : mpk_arena_copy(arena, text->data, text->len);

	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_generated){ name, mpk_span_of(copy, text->len) };
	return MPK_OK;
}

static enum mpk_code functions(const struct mpk_package *p, const struct mpk_generate_options *how,
			       struct mpk_arena *arena, struct mpk_generated *out,
			       struct mpk_error *err)
{
	enum mpk_launch_mode mode = p->manifest.standalone ? MPK_LAUNCH_STANDALONE
				    : how->system_lib      ? MPK_LAUNCH_SYSTEM_LIB
							   : MPK_LAUNCH_IMPORTS;
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	struct mpk_host_unit unit;

	MPK_TRY(mpk_launch_build(p->launches, p->launch_count, mode, how->prefix, arena, &unit,
				 err));
	if (how->via_c) {
		MPK_TRY(mpk_host_print_c(&unit, &text, err));
		return keep(&text, "launch.c", arena, out, err);
	}
	MPK_TRY(mpk_host_print_ll(&unit, &text, err));
	return keep(&text, "launch.ll", arena, out, err);
}

static enum mpk_code loader(const struct mpk_package *p, struct mpk_arena *arena,
			    struct mpk_generated *out, struct mpk_error *err)
{
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	const struct mpk_standalone_kernel *kernels = NULL;
	size_t count = 0;

	for (size_t i = 1; i < p->launch_count; i++)
		if (p->launches[i].device_type != p->launches[0].device_type)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"the functions of a standalone package must all run on one kind of device");
	MPK_TRY(mpk_package_standalone(p, arena, &kernels, &count, err));
	MPK_TRY(mpk_standalone_print(kernels, count, p->launches[0].device_type, p->manifest.gen,
				     &text, err));
	return keep(&text, "standalone.c", arena, out, err);
}

enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_generated out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err)
{
	bool standalone = package->manifest.standalone;

	*count = 0;
	if (standalone && !package->launch_count && !package->base)
		return mpk_fail(err, MPK_E_CONFLICT,
				"a standalone package is made of launch functions: it has none");
	if (!package->launch_count)
		return MPK_OK;
	if (standalone && how->system_lib)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"a standalone package loads its kernels itself; a system library leaves that to the program it is linked into");
	MPK_TRY(functions(package, how, arena, &out[0], err));
	if (standalone)
		MPK_TRY(loader(package, arena, &out[1], err));
	*count = standalone ? 2 : 1;
	return MPK_OK;
}
