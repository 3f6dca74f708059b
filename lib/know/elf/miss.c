/* SPDX-License-Identifier: Apache-2.0 */
/* miss.c - a function that a library has and a caller will not find, and what it should have been
 * called
 *
 * For host parts that are given to mpack: C++ functions without extern "C", names without the
 * prefix of TVM 0.22, functions that are not exported. One of them is reported, the one that says
 * most about what went wrong.
 */
#include "elf/miss.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/symbols.h"

/* "add_one" of "_Z7add_onePv", or the whole of it when it is no plain function. */
static const char *unmangled(struct mpk_arena *arena, const char *symbol)
{
	char *end;
	unsigned long len = strtoul(symbol + 2, &end, 10);

	if (!isdigit((unsigned char)symbol[2]) || !len || len > strlen(end))
		return symbol;
	return mpk_arena_copy(arena, end, len);
}

/* What follows a prefix that is nearly the right one; NULL: nothing like it. */
static const char *behind_prefix(const char *name)
{
	static const char word[] = "tvm_ffi_";
	const char *at = name + strspn(name, "_");

	if (strncmp(at, word, sizeof word - 1) != 0 || at == name + 2)
		return NULL;
	at += sizeof word - 1;
	at += strspn(at, "_");
	return *at ? at : NULL;
}

/* What the C runtime puts into every library. */
static bool is_runtime(const char *name)
{
	return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0 ||
	       strcmp(name, "_start") == 0 || strncmp(name, "__", 2) == 0;
}

static enum mpk_code miss_judge(const struct mpk_symbol *s, enum mpk_generation gen,
				struct mpk_arena *arena, struct mpk_miss *out,
				struct mpk_error *err)
{
	const char *prefix = mpk_generation_get(gen)->function_prefix;
	bool exported = s->bind != STB_LOCAL &&
			(s->visibility == STV_DEFAULT || s->visibility == STV_PROTECTED);
	const char *name = s->name;
	enum mpk_miss_kind kind = MPK_MISS_PLAIN;

	if (!exported && (!*prefix || strncmp(s->name, prefix, strlen(prefix)) != 0))
		return MPK_OK;
	if (!exported) {
		kind = MPK_MISS_HIDDEN;
		name += strlen(prefix);
	} else if (strncmp(s->name, "_Z", 2) == 0) {
		kind = MPK_MISS_MANGLED;
		name = unmangled(arena, s->name);
		MPK_TRY_ALLOC(name, err);
		if (*prefix && strncmp(name, prefix, strlen(prefix)) == 0)
			name += strlen(prefix);
	} else if (*prefix && behind_prefix(s->name)) {
		kind = MPK_MISS_SPELLED;
		name = behind_prefix(s->name);
	} else if (is_runtime(s->name)) {
		return MPK_OK;
	}
	/* The first of a kind, and the kind that says most: a helper may be plain, too. Where there
	 * is no prefix, a plain name is none to miss. */
	const unsigned says[] = { [MPK_MISS_PLAIN] = *prefix ? 1 : 5,
				  [MPK_MISS_MANGLED] = 2,
				  [MPK_MISS_HIDDEN] = 3,
				  [MPK_MISS_SPELLED] = 4 };
	if (says[kind] <= says[out->kind])
		return MPK_OK;
	*out = (struct mpk_miss){ kind, mpk_arena_text(arena, mpk_span_str(s->name)),
				  mpk_arena_printf(arena, "%s%s", prefix, name) };
	return out->symbol && out->wanted ? MPK_OK : mpk_fail_nomem(err);
}

/* .symtab has hidden functions, too; a stripped library has only the dynamic symbols. */
static enum mpk_code miss_look(const struct mpk_elf *elf, enum mpk_generation gen,
			       struct mpk_arena *arena, struct mpk_miss *out, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol s;

	MPK_TRY(mpk_symtab_static(elf, &table, err));
	if (!table.count)
		MPK_TRY(mpk_symtab_dynamic(elf, &table, err));
	for (size_t i = 0; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		if (s.defined && s.name[0] && s.type == STT_FUNC)
			MPK_TRY(miss_judge(&s, gen, arena, out, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_miss_find(struct mpk_span bytes, enum mpk_generation gen, struct mpk_arena *arena,
			    struct mpk_miss *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_miss found = { 0 };

	if (mpk_span_starts(bytes, "\177ELF")) {
		MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
		MPK_TRY(miss_look(&elf, gen, arena, &found, err));
	}
	*out = found;
	return MPK_OK;
}
