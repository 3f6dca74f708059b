/* SPDX-License-Identifier: Apache-2.0 */
/* What a process there has before it loads the file. */
#include <string.h>

#include "check/internal/run.h"

/* Of every process with glibc and a runtime in C++; libc.so is musl's, which has all in one. */
static const char *const base[] = { "libc.so.6",       "libm.so.6",  "libdl.so.2",
				    "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
				    "libstdc++.so.6",  "libc.so" };

/* The runtime's own: whoever loads modules has loaded these by then. */
static const char *const tvms[] = { "libtvm_ffi.so", "libtvm_runtime.so", "libtvm.so",
				    "libtvm_compiler.so", "libtvm_runtime_extra.so" };

enum { ASSUMED_MAX = MPK_ARRAY_COUNT(base) + MPK_ARRAY_COUNT(tvms) + 1 };

static void set_machine(const struct mpk_target *t, GElf_Ehdr *out)
{
	out->e_machine = t->machine;
	out->e_ident[EI_CLASS] = t->elf_class;
	out->e_ident[EI_DATA] = t->elf_data;
}

static enum mpk_code set_assumed(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	const char **names = mpk_arena_array(s->arena, ASSUMED_MAX, sizeof *names);
	size_t n = 0;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; there->libs && i < MPK_ARRAY_COUNT(base); i++)
		names[n++] = base[i]; /* a directory of one's own libraries leaves these out */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		if (i == 0 || !there->has_release || there->release.minor)
			names[n++] = tvms[i];
	if (there->cuda.sm || there->cuda.driver.major)
		names[n++] = "libcuda.so.1";
	s->scope.assumed = names;
	s->scope.assumed_count = n;
	return MPK_OK;
}

bool mpk_check_is_runtime(const char *library)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		if (strcmp(library, tvms[i]) == 0)
			return true;
	return false;
}

bool mpk_check_is_tvms(const char *symbol)
{
	const char *owner = mpk_symbol_owner(symbol);

	return owner && (strcmp(owner, "tvm-ffi") == 0 || strcmp(owner, "TVM's runtime") == 0);
}

enum mpk_code mpk_check_scope_init(struct mpk_check_state *s, struct mpk_error *err)
{
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	s->search = s->there->search;
	set_machine(&s->there->machine, &s->like);
	if (s->elf)
		MPK_TRY(mpk_search_with_runpath(&s->there->search, s->elf, s->view->name, s->arena,
						&s->search, err));
	s->scope = (struct mpk_scope){ .arena = s->arena, .search = &s->search, .like = &s->like };
	MPK_TRY(set_assumed(s, err));
	for (size_t i = 0; s->there->searchable && i < MPK_ARRAY_COUNT(base); i++)
		MPK_TRY(mpk_scope_need(&s->scope, base[i], &state, &gap, err));
	return MPK_OK;
}
