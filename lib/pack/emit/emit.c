/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one build: chooses how the blob gets into its object, and the steps that make the output.
 * The bytes of the output depend only on struct mpk_emit, never on time, folder or load. */
#include "emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/compiler.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "io/path.h"
#include "sandbox/sandbox.h"

/* --- symbols that two objects define ------------------------------------------------------------
 *
 * A linker would report such a symbol with the names of temporary files, which tell the user
 * nothing. So it is looked for before linking. Objects may come from elsewhere than from compilers
 * that this process started, so they are read in a process with no other rights. */

/* The object that defines a symbol. */
struct definition {
	size_t source;          /* in the order of the sources */
	struct mpk_span member; /* name in its archive; empty: not a member */
};

struct scan {
	const struct mpk_build *b;
	struct mpk_arena *arena;
	struct mpk_mapping *maps;
	struct mpk_strmap names; /* maps names to indices of definitions */
	struct definition *definitions;
	size_t count, cap;
	size_t conflicts;
	struct mpk_span first; /* name of the first conflict */
	struct definition one, other;
};

/* Marks the sections that are in groups, of which a linker keeps one copy. */
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

/* Adds the symbols that an object defines. Weak and common symbols, and those in groups, may occur
 * twice. */
static enum mpk_code scan_object(struct scan *s, struct mpk_span bytes, struct definition d,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol symbol;
	bool *grouped;

	/* the code of a link-time optimizer has no symbols that can be read here */
	if (!mpk_span_starts(bytes, ELFMAG))
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
	static const char *const objects[] = { ".o", NULL };
	const char *a = definition_text(s, s->one), *b = definition_text(s, s->other), *more = "";
	const char *path = s->b->c.sources[s->other.source].path, *how = "";

	if (s->conflicts > 1)
		more = mpk_arena_printf(s->arena, " (and %zu other symbols are defined twice)",
					s->conflicts - 1);
	if (mpk_path_has_suffix(path, objects))
		how = mpk_arena_printf(s->arena, ": objcopy --localize-symbol=%.*s %s",
				       MPK_SPAN_ARG(s->first), path);
	MPK_TRY_ALLOC(a && b && more && how, err);
	return mpk_fail(
		err, MPK_E_CONFLICT,
		"%s and %s both define '%.*s'%s: leave one of them out, rename one, or make one static%s",
		a, b, MPK_SPAN_ARG(s->first), more, how);
}

static enum mpk_code scan_all(struct mpk_process_self *self, void *data, struct mpk_error *err)
{
	struct scan *s = data;
	static const int none;
	const struct mpk_sandbox sandbox = { .kept = &none, .kept_count = 0 };

	(void)self;
	MPK_TRY_ARRAY(s->maps, s->arena, s->b->c.source_count + 1, err);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(mpk_mapping_open(s->b->c.objects[i], &s->maps[i], err));
	/* a sanitizer's runtime starts a process to look for leaks */
	if (!s->b->e->tools.no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&sandbox);
	for (size_t i = 0; i < s->b->c.source_count; i++)
		MPK_TRY(scan_source(s, i, err));
	return s->conflicts ? fail_conflict(s, err) : MPK_OK;
}

/* Refuses objects of which two define one symbol, including members of archives. Weak and common
 * symbols and those of COMDAT groups may occur twice. */
static enum mpk_code check_object_symbols(const struct mpk_build *b, struct mpk_error *err)
{
	struct scan s = { .b = b, .arena = b->c.arena };
	struct mpk_process reader = { .run = scan_all, .data = &s };

	if (b->e->tools.target.format != MPK_OBJECT_ELF ||
	    (b->c.source_count < 2 && b->c.sources[0].kind != MPK_SOURCE_ARCHIVE))
		return MPK_OK;
	return mpk_process_call(&reader, "reads the objects", err);
}

/* --- the run ---------------------------------------------------------------------- */

/* Compiles the blob and the sources. An object of mpack holds only the blob. */
static enum mpk_code make_objects(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_job blob = { .what = NULL };
	bool has_blob = b->strategy != MPK_STRATEGY_NONE;

	/* The blob's object comes first: it is the largest and may need LLVM, which starts
	 * slowly. */
	if (has_blob)
		MPK_TRY(mpk_build_blob(b, &blob, err));
	b->c.sources = b->e->sources;
	b->c.source_count = b->e->kind == MPK_EMIT_OBJ ? 0 : b->e->source_count;
	return mpk_compile_sources(&b->c, has_blob ? &blob : NULL, err);
}

static enum mpk_code emit_object(struct mpk_build *b, struct mpk_error *err)
{
	struct mpk_build_file f = { 0 };
	bool extend = b->strategy == MPK_STRATEGY_EXTEND_OBJECT;

	if (b->e->tools.dry_run)
		return MPK_OK;
	enum mpk_code code = extend ? mpk_build_file_extend(b, b->blob_object, &f, err)
				    : mpk_build_file_open(b, b->blob_object, &f, err);
	if (code == MPK_OK)
		code = mpk_build_write(b, b->e->out, 0666, &f.packed, err);
	mpk_build_file_close(&f);
	return code;
}

static enum mpk_code emit_blob(struct mpk_build *b, struct mpk_error *err)
{
	return mpk_build_write(b, b->e->out, 0666, &(struct mpk_packed){ .rope = b->e->blob }, err);
}

/* mpack's object holds only the blob. */
static const struct mpk_emitter emitter_obj = { { "obj", ".o" },
						.is_linked = true,
						.is_blob = true,
						.write = emit_object },
				emitter_blob = { { "blob", ".blob" },
						 .is_blob = true,
						 .write = emit_blob };

static const struct mpk_emitter *const emitters[MPK_EMIT_KIND_COUNT] = {
	[MPK_EMIT_SO] = &mpk_emitter_so,   [MPK_EMIT_OBJ] = &emitter_obj,
	[MPK_EMIT_C] = &mpk_emitter_c,     [MPK_EMIT_A] = &mpk_emitter_a,
	[MPK_EMIT_TAR] = &mpk_emitter_tar, [MPK_EMIT_BLOB] = &emitter_blob,
};

const struct mpk_emit_name *mpk_emit_name(enum mpk_emit_kind kind)
{
	return &emitters[kind]->name;
}

/* Chooses how the blob gets into the output. A stub requires an object format that can be extended,
 * and a machine with .lrodata. TVM uses .lrodata for blobs over 1 GiB; so do objects for other
 * linkers here. */
static void choose_strategy(struct mpk_build *b)
{
	const struct mpk_emit *e = b->e;
	uint64_t size = e->blob ? e->blob->len : 0;
	bool is_elf = e->tools.target.format == MPK_OBJECT_ELF;

	if (!e->blob)
		b->strategy = MPK_STRATEGY_NONE;
	else if (size < MPK_LARGE_BYTES || !is_elf)
		b->strategy = MPK_STRATEGY_FULL;
	else if (e->kind == MPK_EMIT_SO && e->tools.target.has_large)
		b->strategy = MPK_STRATEGY_EXTEND_LIBRARY;
	else
		b->strategy = MPK_STRATEGY_EXTEND_OBJECT;
	b->lrodata = b->strategy == MPK_STRATEGY_EXTEND_LIBRARY ||
		     (e->tools.target.has_large && size > (uint64_t)1 << 30);
}

/* For a dry run the folder is not created; only its path is printed. */
static enum mpk_code open_scratch(struct mpk_build *b, struct mpk_error *err)
{
	if (!b->e->tools.dry_run)
		return mpk_scratch_open(b->e->tmpdir, b->e->save_temps, &b->c.scratch, err);
	/* nothing was created that would have to be removed */
	b->c.scratch.keep = true;
	if (b->e->save_temps)
		b->c.scratch.path = strdup(b->e->save_temps);
	else if (asprintf(&b->c.scratch.path, "%s/mpack-XXXXXX", b->e->tmpdir) < 0)
		b->c.scratch.path = NULL;
	return b->c.scratch.path ? MPK_OK : mpk_fail_nomem(err);
}

/* Runs every tool of the build, in a scratch folder that mpk_emit_close removes. */
static enum mpk_code run_tools(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	const struct mpk_generation_info *gen = mpk_generation_get(e->gen);
	const struct mpk_emitter *emitter = emitters[e->kind];

	b->symbol = mpk_arena_printf(b->c.arena, "%s%s", e->prefix,
				     e->symbol ? e->symbol : gen->blob_symbol);
	MPK_TRY_ALLOC(b->symbol, err);
	b->register_fn = e->system_lib ? gen->register_symbol : NULL;
	if (!e->blob && emitter->is_blob)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a package of host code alone has no blob, so there is nothing to write as %s; build a .so, .a or .tar",
			emitter->name.suffix);
	/* A seal is stored in a note, and only ELF has notes. */
	if (e->seal && ((e->kind != MPK_EMIT_SO && e->kind != MPK_EMIT_OBJ) ||
			e->tools.target.format != MPK_OBJECT_ELF))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"only libraries and objects of ELF have room for a signature and provenance, not %s for %s",
			emitter->name.suffix, e->tools.target.triple);
	b->is_rebase = e->base && emitter->rebase && e->blob;
	if (b->is_rebase)
		return MPK_OK; /* a finished library needs no tools */
	choose_strategy(b);
	if (!emitter->is_linked)
		return MPK_OK;
	MPK_TRY(open_scratch(b, err));
	MPK_TRY(make_objects(b, err));
	if (b->c.source_count && !e->tools.dry_run)
		MPK_TRY(check_object_symbols(b, err));
	if (e->objects && e->kind != MPK_EMIT_OBJ && !e->tools.dry_run)
		MPK_TRY(mpk_objects_keep(&b->c, e->objects, err));
	return emitter->link ? emitter->link(b, err) : MPK_OK;
}

enum mpk_code mpk_emit_make(const struct mpk_emit *e, struct mpk_build **out, struct mpk_error *err)
{
	struct mpk_build *b = calloc(1, sizeof *b);

	MPK_TRY_ALLOC(b, err);
	b->e = e;
	b->c = (struct mpk_compilation){ .tools = &e->tools, .arena = &b->arena };

	enum mpk_code code = run_tools(b, err);
	if (code == MPK_OK)
		*out = b;
	else
		mpk_emit_close(b);
	return code;
}

const char *mpk_emit_scratch(const struct mpk_build *b)
{
	return b->c.scratch.path;
}

enum mpk_code mpk_emit_write(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emitter *emitter = emitters[b->e->kind];

	return b->is_rebase ? emitter->rebase(b, err) : emitter->write(b, err);
}

void mpk_emit_close(struct mpk_build *b)
{
	if (!b)
		return;
	mpk_build_file_close(&b->extended);
	mpk_scratch_close(&b->c.scratch);
	mpk_arena_fini(&b->arena);
	free(b);
}
