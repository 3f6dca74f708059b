/* SPDX-License-Identifier: Apache-2.0 */
/* conflicts.c - symbols that two objects define, before the linker finds them
 *
 * A linker names temporary files where a person looks for sources. Objects come from compilers that this process started, or from
 * elsewhere: they are read in a process that can do nothing else.
 */
#include "ar/ar.h"
#include "base/compiler.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "sandbox/sandbox.h"

/* Who defines a symbol. */
struct definition {
	size_t source;          /* in the order of the sources */
	struct mpk_span member; /* of an archive; empty: it is none */
};

struct scan {
	const struct mpk_build *b;
	struct mpk_arena *arena;
	struct mpk_mapping *maps;
	struct mpk_strmap names; /* to indices of definitions */
	struct definition *definitions;
	size_t count, cap;
	size_t conflicts;
	struct mpk_span first; /* name of the first conflict */
	struct definition one, other;
};

/* --- symbols ----------------------------------------------------------------------------------- */

/* Sections of which a linker keeps one of several. */
static enum mpk_code list_groups(const struct mpk_elf *elf, struct mpk_arena *arena, bool **out,
				 struct mpk_error *err)
{
	bool *grouped = mpk_arena_array(arena, elf->section_count + 1, sizeof *grouped);
	GElf_Shdr section;
	uint32_t index;

	MPK_TRY_ALLOC(grouped, err);
	for (size_t i = 1; i < elf->section_count; i++) {
		MPK_TRY(mpk_elf_section(elf, i, &section, err));
		if (section.sh_type != SHT_GROUP || !mpk_elf_u32(elf, section.sh_offset, &index) ||
		    !(index & GRP_COMDAT))
			continue;
		for (uint64_t at = 4; at + 4 <= section.sh_size; at += 4)
			if (mpk_elf_u32(elf, section.sh_offset + at, &index) &&
			    index < elf->section_count)
				grouped[index] = true;
	}
	*out = grouped;
	return MPK_OK;
}

static enum mpk_code add_definition(struct scan *s, const char *name, struct definition d,
				    struct mpk_error *err)
{
	size_t at = s->count;
	struct mpk_span text = mpk_span_str(name);
	int put = mpk_strmap_put(&s->names, text, s->count, &at);

	MPK_TRY_ALLOC(put >= 0, err);
	if (!put) {
		if (!s->conflicts++) {
			s->first = text;
			s->one = s->definitions[at];
			s->other = d;
		}
		return MPK_OK;
	}
	MPK_TRY_ALLOC(mpk_vec_reserve(&s->definitions, &s->cap, s->count + 1, sizeof d), err);
	s->definitions[s->count++] = d;
	return MPK_OK;
}

/* Weak and common symbols, and those of groups, may be there twice. */
static enum mpk_code scan_object(struct scan *s, struct mpk_span bytes, struct definition d,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol symbol;
	bool *grouped;

	if (!mpk_span_starts(bytes, ELFMAG)) /* code of a link-time optimizer */
		return MPK_OK;
	MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
	MPK_TRY(list_groups(&elf, s->arena, &grouped, err));
	MPK_TRY(mpk_symtab_static(&elf, &table, err));
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		if (symbol.defined && !symbol.common && symbol.bind == STB_GLOBAL &&
		    symbol.name[0] &&
		    !(symbol.section < elf.section_count && grouped[symbol.section]))
			MPK_TRY(add_definition(
				s, mpk_arena_text(s->arena, mpk_span_str(symbol.name)), d, err));
	}
	return MPK_OK;
}

static enum mpk_code scan_source(struct scan *s, size_t i, struct mpk_error *err)
{
	struct mpk_span bytes = s->maps[i].bytes;
	struct mpk_ar ar;

	if (!mpk_ar_is(bytes))
		return scan_object(s, bytes, (struct definition){ i, { 0 } }, err);
	MPK_TRY(mpk_ar_read(bytes, s->arena, &ar, err));
	for (size_t k = 0; k < ar.member_count; k++)
		MPK_TRY(scan_object(s, ar.members[k].data,
				    (struct definition){ i, ar.members[k].name }, err));
	return MPK_OK;
}

/* --- what is wrong ------------------------------------------------------------------------------- */

/* "'a.c'", "'libx.a(b.o)'", "the function that mpack generates (launch.ll)" */
static const char *definition_text(struct scan *s, struct definition d)
{
	const struct mpk_compile_source *source = &s->b->c.sources[d.source];

	if (source->text.data)
		return mpk_arena_printf(s->arena, "the code that mpack generates (%s)",
					source->path);
	return d.member.len ? mpk_arena_printf(s->arena, "'%s(%.*s)'", source->path,
					       MPK_SPAN_ARG(d.member))
			    : mpk_arena_printf(s->arena, "'%s'", source->path);
}

static enum mpk_code fail_conflict(struct scan *s, struct mpk_error *err)
{
	const char *a = definition_text(s, s->one), *b = definition_text(s, s->other), *more = "";

	if (s->conflicts > 1)
		more = mpk_arena_printf(s->arena, " (and %zu other symbols are defined twice)",
					s->conflicts - 1);
	MPK_TRY_ALLOC(a && b && more, err);
	return mpk_fail(
		err, MPK_E_CONFLICT,
		"%s and %s both define '%.*s'%s: leave one of them out, rename one, or make one static",
		a, b, MPK_SPAN_ARG(s->first), more);
}

static enum mpk_code scan_all(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	struct scan *s = data;
	static const int none;
	const struct mpk_sandbox sandbox = { .kept = &none, .kept_count = 0 };

	(void)self;
	s->maps = mpk_arena_array(s->arena, s->b->c.source_count + 1, sizeof *s->maps);
	MPK_TRY_ALLOC(s->maps, err);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(mpk_mapping_open(s->b->c.objects[i], &s->maps[i], err));
	/* a sanitizer's runtime starts a process to look for leaks */
	if (!s->b->e->tools.no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&sandbox);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(scan_source(s, i, err));
	return s->conflicts ? fail_conflict(s, err) : MPK_OK;
}

enum mpk_code mpk_build_check_symbols(const struct mpk_build *b, struct mpk_error *err)
{
	struct scan s = { .b = b, .arena = b->c.arena };
	struct mpk_process reader = { .run = scan_all, .data = &s };
	struct mpk_process_end end;

	if (b->e->tools.target.format != MPK_OBJECT_ELF ||
	    (b->c.source_count < 2 && b->c.sources[0].kind != MPK_SOURCE_ARCHIVE))
		return MPK_OK;
	MPK_TRY(mpk_process_run(&reader, 1, 1, &end, err));
	if (end.how != MPK_PROCESS_RETURNED)
		return mpk_fail(err, MPK_E_INTERNAL,
				"the process that reads the objects was ended");
	if (end.error.code != MPK_OK && err)
		*err = end.error;
	return end.error.code == MPK_OK ? MPK_OK : mpk_failed(end.error.code);
}
