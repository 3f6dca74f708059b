/* SPDX-License-Identifier: Apache-2.0 */
#include "package/generate.h"

#include <string.h>

#include "launch/standalone.h"
#include "package/internal/standalone.h"

enum text { LAUNCH_C, LAUNCH_LL, ENTRY_C, ENTRY_LL, LOADER };

static const char *const text_names[] = {
	[LAUNCH_C] = "launch.c", [LAUNCH_LL] = "launch.ll", [ENTRY_C] = "entry.c",
	[ENTRY_LL] = "entry.ll", [LOADER] = "standalone.c",
};

bool mpk_generated_is_name(const char *name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(text_names); i++)
		if (strcmp(name, text_names[i]) == 0)
			return true;
	return false;
}

static enum mpk_code keep(struct mpk_strbuf *text, enum text which, struct mpk_arena *arena,
			  struct mpk_generated *out, struct mpk_error *err)
{
	char *copy = text->failed ? NULL : mpk_arena_copy(arena, text->data, text->len);

	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_generated){ text_names[which], mpk_span_of(copy, text->len) };
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
		return keep(&text, LAUNCH_C, arena, out, err);
	}
	MPK_TRY(mpk_host_print_ll(&unit, &text, err));
	return keep(&text, LAUNCH_LL, arena, out, err);
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
	return keep(&text, LOADER, arena, out, err);
}

/* In tvm-ffi the entry is a function that calls the other, before that data which name it. Both are
 * weak, so that libraries with an entry can be linked into one program. */
static void put_entry_c(const char *symbol, const char *entry, bool names, struct mpk_strbuf *out)
{
	static const char params[] = "void *self, const void *args, int count, void *result";

	if (names) {
		mpk_strbuf_printf(
			out,
			"extern const char %s[];\n"
			"__attribute__((weak, visibility(\"default\"))) const char %s[] = \"%s\";\n",
			symbol, symbol, entry);
		return;
	}
	mpk_strbuf_printf(out,
			  "int __tvm_ffi_%s(%s);\nint %s(%s);\n"
			  "__attribute__((weak, visibility(\"default\"))) int %s(%s)\n"
			  "{\n\treturn __tvm_ffi_%s(self, args, count, result);\n}\n",
			  entry, params, symbol, params, symbol, params, entry);
}

static void put_entry_ll(const char *symbol, const char *entry, bool names, struct mpk_strbuf *out)
{
	if (names) {
		mpk_strbuf_printf(out, "@%s = weak constant [%zu x i8] c\"%s\\00\", align 1\n",
				  symbol, strlen(entry) + 1, entry);
		return;
	}
	mpk_strbuf_printf(
		out,
		"declare i32 @__tvm_ffi_%s(ptr, ptr, i32, ptr)\n\n"
		"define weak i32 @%s(ptr %%self, ptr %%args, i32 %%count, ptr %%result) {\n"
		"  %%status = tail call i32 @__tvm_ffi_%s(ptr %%self, ptr %%args, i32 %%count, ptr %%result)\n"
		"  ret i32 %%status\n}\n",
		entry, symbol, entry);
}

static enum mpk_code entry(const struct mpk_package *p, const struct mpk_generate_options *how,
			   struct mpk_arena *arena, struct mpk_generated *out,
			   struct mpk_error *err)
{
	const struct mpk_generation_info *gen = mpk_generation_get(p->manifest.gen);
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	bool names = p->manifest.gen != MPK_GEN_CURRENT;

	(how->via_c ? put_entry_c : put_entry_ll)(gen->entry, p->manifest.entry.text, names, &text);
	return keep(&text, how->via_c ? ENTRY_C : ENTRY_LL, arena, out, err);
}

/* A function that is called so already is the entry. */
static bool needs_entry(const struct mpk_manifest *m)
{
	return m->entry.text && (m->gen != MPK_GEN_CURRENT || strcmp(m->entry.text, "main") != 0);
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
	if (needs_entry(&package->manifest)) {
		if (how->system_lib)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"a system library has no entry: the program that it is linked into calls its functions by name; leave 'entry' out");
		MPK_TRY(entry(package, how, arena, &out[(*count)++], err));
	}
	if (!package->launch_count)
		return MPK_OK;
	if (standalone && how->system_lib)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"a standalone package loads its kernels itself; a system library leaves that to the program it is linked into");
	if (!how->only_check)
		MPK_TRY(functions(package, how, arena, &out[(*count)++], err));
	if (standalone)
		MPK_TRY(loader(package, arena, &out[(*count)++], err));
	return MPK_OK;
}
