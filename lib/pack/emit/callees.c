/* SPDX-License-Identifier: Apache-2.0 */
/* callees.c - C functions that a manifest calls and that nothing of the library defines
 *
 * A linker leaves such a name to the loader, as host code may call what only a loader knows. A name in a manifest is
 * seldom meant so: it is misspelt. */
#include <string.h>

#include "base/strmap.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "io/mapping.h"
#include "text/escape.h"

/* Libraries of a system whose symbols have versions, which undefined ones then have, too. */
static bool has_own_versions(const char *word)
{
	static const char *const known[] = { "-lm",  "-lc",      "-ldl",   "-lpthread",
					     "-lrt", "-lstdc++", "-lgcc_s" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(known); i++)
		if (strcmp(word, known[i]) == 0)
			return true;
	return false;
}

/* Whether an undefined symbol without a version may be one of a library that the linker was given. */
static bool may_be_elsewhere(const struct mpk_emit *e)
{
	for (size_t i = 0; i < e->tools.libraries.count; i++)
		if (!has_own_versions(e->tools.libraries.items[i]))
			return true;
	for (size_t i = 0; i < e->tools.ldflags.count; i++)
		if (!has_own_versions(e->tools.ldflags.items[i]))
			return true;
	return false;
}

/* --- what was meant ---------------------------------------------------------------------------- */

/* Functions that others may call, but those that mpack and compilers make. */
static enum mpk_code list_functions(const struct mpk_elf *elf, struct mpk_arena *arena,
				    struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol symbol;

	*count = 0;
	MPK_TRY(mpk_symtab_static(elf, &table, err));
	if (!table.count) /* -s */
		MPK_TRY(mpk_symtab_dynamic(elf, &table, err));
	*out = mpk_arena_array(arena, table.count, sizeof **out);
	MPK_TRY_ALLOC(*out, err);
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		if (symbol.defined && symbol.type == STT_FUNC && symbol.bind != STB_LOCAL &&
		    strncmp(symbol.name, "__", 2) != 0)
			(*out)[(*count)++] = mpk_span_str(symbol.name);
	}
	return MPK_OK;
}

/* "_Z4axpbPKfPfi" is what a compiler of C++ calls axpb(const float *, float *, int). */
static bool is_mangled(struct mpk_span symbol, const char *name, struct mpk_arena *arena)
{
	const char *begin = mpk_arena_printf(arena, "_Z%zu%s", strlen(name), name);

	return begin && mpk_span_starts(symbol, begin);
}

static const char *hint_of(const char *name, const struct mpk_span *names, size_t count,
			   struct mpk_arena *arena)
{
	size_t near = mpk_closest(mpk_span_str(name), names, count);

	for (size_t i = 0; i < count; i++)
		if (is_mangled(names[i], name, arena))
			return "; a function of C++ has that name: declare it extern \"C\"";
	return near < count
		       ? mpk_arena_printf(arena, "; did you mean '%s'?", MPK_QUOTE(names[near]))
		       : "";
}

static enum mpk_code refuse_callee(const struct mpk_emit *e, const struct mpk_called *c,
				   const struct mpk_elf *elf, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	struct mpk_span *names;
	const char *hint;
	size_t count;

	MPK_TRY(list_functions(elf, arena, &names, &count, err));
	hint = hint_of(c->symbol, names, count, arena);
	MPK_TRY_ALLOC(hint, err);
	(void)mpk_fail(
		err, MPK_E_NOTFOUND,
		"function '%s' calls '%s', which no source, object or library here defines%s",
		MPK_QUOTE(mpk_span_str(c->function)), MPK_QUOTE(mpk_span_str(c->symbol)), hint);
	if (err) {
		err->at.line = c->line;
		err->at.column = c->column;
	}
	mpk_error_at_file(err, e->manifest);
	return MPK_E_NOTFOUND;
}

/* --- the check --------------------------------------------------------------------------------- */

static const struct mpk_called *find_called(const struct mpk_emit *e, const char *symbol)
{
	for (size_t i = 0; i < e->called_count; i++)
		if (strcmp(e->called[i].symbol, symbol) == 0)
			return &e->called[i];
	return NULL;
}

static enum mpk_code check_undefined(const struct mpk_emit *e, const struct mpk_elf *elf,
				     struct mpk_arena *arena, struct mpk_error *err)
{
	const struct mpk_undefined *list;
	const char *const *needed;
	size_t count, needed_count;

	MPK_TRY(mpk_versions_undefined(elf, arena, &list, &count, err));
	MPK_TRY(mpk_elf_needed(elf, arena, &needed, &needed_count, err));
	for (size_t i = 0; i < count; i++) {
		const struct mpk_called *c = find_called(e, list[i].name);

		/* libraries without versions, as musl's, may have any symbol */
		if (c && !list[i].has_version && (list[i].any_version || !needed_count))
			return refuse_callee(e, c, elf, arena, err);
	}
	return MPK_OK;
}

enum mpk_code mpk_build_check_callees(const struct mpk_build *b, const char *linked,
				      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	const struct mpk_emit *e = b->e;

	if (!e->called_count || e->tools.target.format != MPK_OBJECT_ELF || may_be_elsewhere(e))
		return MPK_OK;
	MPK_TRY(mpk_mapping_open(linked, &map, err));
	MPK_TRY(mpk_elf_open(map.bytes, 0, &elf, err));
	return check_undefined(e, &elf, &arena, err);
}
