/* SPDX-License-Identifier: Apache-2.0 */
/* A symbol table is walked twice: what a name means depends on the generation, which only the
 * whole table tells. */
#include "elf/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/classify.h"
#include "text/natural.h"

/* Lists while they grow; moved to the arena at the end. */
struct lists {
	struct mpk_image_function *functions;
	size_t function_count, function_cap;
	struct mpk_image_function *getters;
	size_t getter_count, getter_cap;
	const char **context;
	size_t context_count, context_cap;
	const char **undefined;
	size_t undefined_count, undefined_cap;
};

static void lists_fini(struct lists *l)
{
	free(l->functions);
	free(l->getters);
	free(l->context);
	free(l->undefined);
}

/* The symbol that is the blob: the plain name before one with a prefix, newer
 * generations before older ones, as TVM's loader looks for them. */
struct found {
	struct mpk_symbol symbol;
	enum mpk_generation gen;
	size_t prefix;
	unsigned rank; /* 0: none */
};

static void consider_blob(struct found *best, const struct mpk_symbol *s)
{
	if (!s->defined || (s->type != STT_OBJECT && s->type != STT_NOTYPE))
		return;
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		const struct mpk_generation_info *info = mpk_generation_get((enum mpk_generation)g);
		size_t prefix = 0;

		if (!mpk_symbol_suffix(s->name, info->blob_symbol, &prefix) &&
		    strcmp(s->name, info->standalone_symbol) != 0)
			continue;
		unsigned rank = 1 + g + (prefix ? 0 : MPK_GENERATION_COUNT);
		if (rank > best->rank)
			*best = (struct found){ *s, (enum mpk_generation)g, prefix, rank };
		return;
	}
}

static enum mpk_code survey(const struct mpk_symtab *t, struct found *blob, struct mpk_marks *marks,
			    bool *has_ctx, struct mpk_error *err)
{
	size_t prefix;

	for (size_t i = 1; i < t->count; i++) {
		struct mpk_symbol s;

		MPK_TRY(mpk_symtab_get(t, i, &s, err));
		consider_blob(blob, &s);
		mpk_marks_add(marks, &s);
		for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++)
			if (s.defined &&
			    mpk_symbol_suffix(
				    s.name, mpk_generation_get((enum mpk_generation)g)->ctx_symbol,
				    &prefix))
				*has_ctx = true;
	}
	return MPK_OK;
}

static enum mpk_code add_name(const char ***list, size_t *count, size_t *cap, const char *name,
			      struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(list, cap, *count + 1, sizeof **list), err);
	(*list)[(*count)++] = name;
	return MPK_OK;
}

/* The function that the data of __tvm_main__ names. */
static enum mpk_code entry_alias(const struct mpk_elf *e, const struct mpk_symbol *s,
				 const char **out, struct mpk_error *err)
{
	struct mpk_span text;
	uint64_t off;

	MPK_TRY(mpk_symbol_bytes(e, s, &text, &off, err));
	*out = mpk_elf_string(text, 0);
	if (!*out)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + off,
				       "symbol __tvm_main__ holds no NUL-terminated name");
	return MPK_OK;
}

static enum mpk_code add_function(struct lists *l, const struct mpk_elf *e,
				  const struct mpk_symbol *s, const struct mpk_image *image,
				  struct mpk_error *err)
{
	const char *entry = mpk_generation_get(image->gen)->entry;
	size_t prefix = image->prefix ? strlen(image->prefix) : 0;
	struct mpk_image_function f = {
		.symbol = s->name,
		.address = s->value,
		.bytes = s->bytes,
		.weak = s->bind == STB_WEAK,
		.is_entry = strcmp(s->name, entry) == 0,
	};

	f.name = mpk_symbol_function(s, image->gen);
	if (image->gen != MPK_GEN_CURRENT && mpk_symbol_is_entry_name(s)) {
		f.name = s->name;
		MPK_TRY(entry_alias(e, s, &f.alias_of, err));
	}
	if (!f.name)
		return MPK_OK;
	if (prefix && strncmp(f.name, image->prefix, prefix) == 0 && f.name[prefix])
		f.name += prefix;
	MPK_TRY_ALLOC(mpk_vec_reserve(&l->functions, &l->function_cap, l->function_count + 1,
				      sizeof *l->functions),
		      err);
	l->functions[l->function_count++] = f;
	return MPK_OK;
}

static enum mpk_code add_getter(struct lists *l, const struct mpk_symbol *s, struct mpk_error *err)
{
	struct mpk_image_function f = { .name = mpk_symbol_getter(s),
					.symbol = s->name,
					.address = s->value,
					.bytes = s->bytes };

	if (!f.name)
		return MPK_OK;
	MPK_TRY_ALLOC(mpk_vec_reserve(&l->getters, &l->getter_cap, l->getter_count + 1,
				      sizeof *l->getters),
		      err);
	l->getters[l->getter_count++] = f;
	return MPK_OK;
}

static enum mpk_code collect(const struct mpk_symtab *t, const struct mpk_image *image,
			     struct lists *l, struct mpk_error *err)
{
	for (size_t i = 1; i < t->count; i++) {
		struct mpk_symbol s;

		MPK_TRY(mpk_symtab_get(t, i, &s, err));
		if (!s.defined && s.bind != STB_WEAK && s.name[0] && s.bind != STB_LOCAL)
			MPK_TRY(add_name(&l->undefined, &l->undefined_count, &l->undefined_cap,
					 s.name, err));
		if (mpk_symbol_is_context(&s))
			MPK_TRY(add_name(&l->context, &l->context_count, &l->context_cap, s.name,
					 err));
		if (image->convention != MPK_CONV_NONE)
			MPK_TRY(add_function(l, t->elf, &s, image, err));
		if (image->convention == MPK_CONV_FFI)
			MPK_TRY(add_getter(l, &s, err));
	}
	return MPK_OK;
}

static int by_name(const void *a, const void *b)
{
	const struct mpk_image_function *x = a, *y = b;
	int order = mpk_natural_compare(x->name, y->name);

	return order ? order : strcmp(x->symbol, y->symbol);
}

void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count)
{
	if (count)
		qsort(functions, count, sizeof *functions, by_name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* One symbol in several versions is listed once. */
static size_t drop_repeated(struct mpk_image_function *f, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(f[kept - 1].symbol, f[i].symbol) != 0)
			f[kept++] = f[i];
	return kept;
}

static void *move(struct mpk_arena *arena, const void *list, size_t count, size_t size)
{
	return mpk_arena_copy(arena, count ? list : "", count * size);
}

static enum mpk_code finish(struct lists *l, struct mpk_arena *arena, struct mpk_image *image,
			    struct mpk_error *err)
{
	mpk_image_sort_functions(l->functions, l->function_count);
	l->function_count = drop_repeated(l->functions, l->function_count);
	mpk_image_sort_functions(l->getters, l->getter_count);
	l->getter_count = drop_repeated(l->getters, l->getter_count);
	if (l->context_count)
		qsort(l->context, l->context_count, sizeof *l->context, by_text);
	if (l->undefined_count)
		qsort(l->undefined, l->undefined_count, sizeof *l->undefined, by_text);

	image->functions = move(arena, l->functions, l->function_count, sizeof *l->functions);
	image->getters = move(arena, l->getters, l->getter_count, sizeof *l->getters);
	image->context_symbols = move(arena, l->context, l->context_count, sizeof *l->context);
	image->undefined = move(arena, l->undefined, l->undefined_count, sizeof *l->undefined);
	MPK_TRY_ALLOC(image->functions && image->getters && image->context_symbols &&
			      image->undefined,
		      err);
	image->function_count = l->function_count;
	image->getter_count = l->getter_count;
	image->context_symbol_count = l->context_count;
	image->undefined_count = l->undefined_count;
	return MPK_OK;
}

static enum mpk_code set_blob(const struct mpk_elf *e, const struct found *blob,
			      struct mpk_arena *arena, struct mpk_image *image,
			      struct mpk_error *err)
{
	uint64_t off;

	MPK_TRY(mpk_symbol_bytes(e, &blob->symbol, &image->blob, &off, err));
	image->has_blob = true;
	image->gen = blob->gen;
	image->gen_known = true;
	image->standalone =
		strcmp(blob->symbol.name, mpk_generation_get(blob->gen)->standalone_symbol) == 0;
	image->blob_off = e->base + off;
	image->blob_address = blob->symbol.value;
	image->blob_symbol_bytes = blob->symbol.bytes;
	image->blob_symbol = blob->symbol.name;
	image->blob_section = mpk_elf_section_name(e, blob->symbol.section);
	image->prefix = mpk_arena_copy(arena, blob->symbol.name, blob->prefix);
	return image->prefix ? MPK_OK : mpk_fail_nomem(err);
}

/* Without a blob the other symbols tell (tvm-blob(5), SYMBOLS). */
static void set_convention(struct mpk_image *image, const struct mpk_marks *marks,
			   const enum mpk_generation *gen)
{
	static const enum mpk_convention conventions[MPK_GENERATION_COUNT] = {
		[MPK_GEN_LEGACY] = MPK_CONV_LEGACY,
		[MPK_GEN_HYBRID] = MPK_CONV_FFI021,
		[MPK_GEN_CURRENT] = MPK_CONV_FFI,
	};

	if (!image->has_blob) {
		image->gen_known = gen || marks->current || marks->hybrid || marks->legacy;
		if (!image->gen_known && !marks->tvm)
			return;
		image->gen = gen              ? *gen
			     : marks->current ? MPK_GEN_CURRENT
			     : marks->hybrid  ? MPK_GEN_HYBRID
					      : MPK_GEN_LEGACY;
	}
	image->convention = conventions[image->gen];
}

static enum mpk_code read_tables(const struct mpk_elf *e, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err)
{
	MPK_CLEANUP(lists_fini) struct lists lists = { 0 };
	struct mpk_marks marks = { 0 };
	struct found blob = { 0 };
	struct mpk_symtab table, other;

	MPK_TRY(mpk_symtab_dynamic(e, &table, err));
	if (e->header.e_type == ET_REL)
		MPK_TRY(mpk_symtab_static(e, &table, err));
	MPK_TRY(survey(&table, &blob, &marks, &image->has_ctx, err));
	/* a program with a system-lib linked in exports nothing, its symbols stand in .symtab */
	if (!blob.rank && e->header.e_type != ET_REL && !marks.tvm && !marks.current) {
		MPK_TRY(mpk_symtab_static(e, &other, err));
		MPK_TRY(survey(&other, &blob, &(struct mpk_marks){ 0 }, &image->has_ctx, err));
		if (blob.rank)
			table = other;
	}
	if (blob.rank)
		MPK_TRY(set_blob(e, &blob, arena, image, err));
	set_convention(image, &marks, gen);
	MPK_TRY(collect(&table, image, &lists, err));
	if (!image->has_blob && !lists.function_count)
		image->convention = MPK_CONV_NONE;
	return finish(&lists, arena, image, err);
}

enum mpk_code mpk_image_read_elf(const struct mpk_elf *elf, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err)
{
	const GElf_Ehdr *h = &elf->header;

	image->bytes = elf->bytes;
	image->bytes_off = elf->base;
	image->machine = h->e_machine;
	image->elf_class = h->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	image->big_endian = h->e_ident[EI_DATA] == ELFDATA2MSB;
	image->type = h->e_type;
	image->prefix = "";
	image->machine_name = mpk_elf_machine(h->e_machine);
	if (!image->machine_name)
		image->machine_name = mpk_arena_printf(arena, "machine 0x%x", h->e_machine);
	MPK_TRY_ALLOC(image->machine_name, err);
	MPK_TRY(read_tables(elf, gen, arena, image, err));
	if (image->has_blob)
		MPK_TRY(mpk_note_find(elf, image->blob_symbol, arena, &image->note, err));
	return mpk_elf_needed(elf, arena, &image->needed, &image->needed_count, err);
}
