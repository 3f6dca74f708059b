/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - the signatures of all host functions of a file
 *
 * A library has no list of its functions' parameters. But TVM compiles a check of each argument
 * into a function, and the texts of its errors are in the read-only data. prototypes.c,
 * assertions.c and tilelang.c read these texts; they share the unit of internal/hostcode.h.
 * Functions that are still unknown get the signature in their metadata (getters.c), which has
 * neither names nor shapes.
 *
 * A file that does not read gives no signatures. That is not an error: the listing is printed
 * without them. */
#include "hostcode/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "blob/blob.h"
#include "code/format.h"
#include "elf/foreign.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "hostcode/internal/hostcode.h"
#include "object/object.h"

/* Returns "add" for "__tvm_ffi_add"; for TVM a system-lib prefix is part of the name. */
static struct mpk_span own_name(const struct mpk_image *image, const struct mpk_image_function *f)
{
	const char *prefix = mpk_generation_get(image->gen)->function_prefix;
	struct mpk_span name = mpk_span_str(f->symbol);
	size_t n = prefix ? strlen(prefix) : 0;

	if (n && name.len > n && mpk_span_starts(name, prefix))
		name = mpk_span_from(name, n);
	return name;
}

/* The functions of one member. All functions are sorted by member once: an archive may have ten
 * thousand members and as many functions. */
struct group {
	const struct mpk_image_function *const *functions;
	size_t count;
};

/* Compares members by address: the name of a member is one string in the arena. */
static int by_member(const void *a, const void *b)
{
	const struct mpk_image_function *x = *(const struct mpk_image_function *const *)a;
	const struct mpk_image_function *y = *(const struct mpk_image_function *const *)b;

	if (x->member != y->member)
		return (uintptr_t)x->member < (uintptr_t)y->member ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Returns the functions of a member; member NULL: those of no member. */
static struct group group_of(const struct group *all, const char *member)
{
	size_t low, end;

	MPK_FIND_FIRST(low, all->count, i,
		       (uintptr_t)all->functions[i]->member < (uintptr_t)member);
	for (end = low; end < all->count && all->functions[end]->member == member; end++)
		;
	return (struct group){ all->functions + low, end - low };
}

/* A library with a system-lib prefix also has its context pointer under that prefix, in the
 * spelling of any generation. The first one found is used. */
static struct mpk_span prefix_in(const struct mpk_symtab *t)
{
	struct mpk_symbol s;
	size_t n;

	for (size_t i = 0; i < t->count; i++)
		for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++)
			if (mpk_symtab_get(t, i, &s, NULL) == MPK_OK &&
			    mpk_symbol_suffix(
				    s.name, mpk_generation_get((enum mpk_generation)g)->ctx_symbol,
				    &n) &&
			    n)
				return mpk_span_of(s.name, n);
	return (struct mpk_span){ 0 };
}

/* Returns the prefix of the blob; for an object without the blob, that of the pointer to its
 * imports. */
static struct mpk_span find_prefix(const struct mpk_elf *elf, const struct mpk_image *image)
{
	struct mpk_symtab table;
	struct mpk_span found = { 0 };

	if (image->prefix && image->prefix[0])
		return mpk_span_str(image->prefix);
	if (!elf->elf || image->has_blob)
		return found;
	if (mpk_symtab_static(elf, &table, NULL) == MPK_OK)
		found = prefix_in(&table);
	if (!found.len && mpk_symtab_dynamic(elf, &table, NULL) == MPK_OK)
		found = prefix_in(&table);
	return found;
}

/* Adds aliases after all names: if a text is the name of one function and an alias of another, the
 * name counts. */
static enum mpk_code add_aliases(struct mpk_unit *u, struct mpk_error *err)
{
	size_t at;

	for (size_t i = 0; i < u->function_count; i++) {
		struct mpk_unit_function *f = &u->functions[i];
		int rc = 0;

		f->alias = mpk_unit_alias(u, f->name);
		if (f->alias.len)
			rc = mpk_strmap_put(&u->by_name, f->alias, i, &at);
		MPK_TRY_ALLOC(rc >= 0, err);
	}
	return MPK_OK;
}

/* Skips functions that are aliases of others (alias_of). */
static enum mpk_code fill_unit(struct mpk_unit *u, const struct mpk_image *image,
			       struct group group, struct mpk_error *err)
{
	size_t at;

	MPK_TRY_ARRAY(u->functions, u->arena, group.count, err);
	for (size_t i = 0; i < group.count; i++) {
		const struct mpk_image_function *f = group.functions[i];

		if (f->alias_of)
			continue;
		u->functions[u->function_count] =
			(struct mpk_unit_function){ .function = f, .name = own_name(image, f) };
		MPK_TRY_ALLOC(mpk_strmap_put(&u->by_name, u->functions[u->function_count].name,
					     u->function_count, &at) >= 0,
			      err);
		u->function_count++;
	}
	return MPK_OK;
}

/* Whether the unit has the words that all assertions contain. If not, the readers of assertions are
 * skipped, because constants may be large. */
static bool is_told_in_sentences(const struct mpk_unit *u)
{
	static const char sentence[] = ": num_args should be ";
	size_t unknown = 0;

	for (size_t i = 0; i < u->function_count; i++)
		unknown += !u->functions[i].found;
	for (size_t i = 0; i < u->constant_count && unknown; i++) {
		struct mpk_span s = u->constants[i].bytes;

		if (s.len && memmem(s.data, s.len, sentence, sizeof sentence - 1))
			return true;
	}
	return false;
}

/* Returns a section in up to two parts: the bytes before and after those to skip. */
static size_t put_around(const struct mpk_object_section *s, struct mpk_span skip,
			 struct mpk_constants *out)
{
	const uint8_t *from = s->content.data, *end;
	size_t count = 0;

	if (!s->content.len)
		return 0;
	end = from + s->content.len;
	if (!skip.len || skip.data < from || skip.data >= end) {
		out[0] = (struct mpk_constants){ s->content, s->address };
		return 1;
	}
	if (skip.data > from)
		out[count++] =
			(struct mpk_constants){ mpk_span_of(from, (size_t)(skip.data - from)),
						s->address };
	from = (size_t)(end - skip.data) > skip.len ? skip.data + skip.len : end;
	if (from < end)
		out[count++] = (struct mpk_constants){ mpk_span_of(from, (size_t)(end - from)),
						       s->address + s->content.len -
							       (size_t)(end - from) };
	return count;
}

/* Bytes in an unknown format may be C: all its string literals become one constant. */
static enum mpk_code put_strings(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_constants **out, size_t *count, struct mpk_error *err)
{
	struct mpk_constants *list = mpk_arena_alloc(arena, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	MPK_TRY(mpk_csource_strings(bytes, arena, &list->bytes, err));
	*out = list;
	*count = list->bytes.len != 0;
	return MPK_OK;
}

/* Finds where the texts of code can be, as mpk_elf_constants does for ELF: read-only sections
 * without code; in a C source the string literals
 * @skip    bytes of the file to leave out (the blob); may be empty
 * Returns  MPK_OK, also with none, and for a file that does not read; MPK_E_NOMEM */
static enum mpk_code object_constants(struct mpk_span bytes, struct mpk_span skip,
				      struct mpk_arena *arena, struct mpk_constants **out,
				      size_t *count, struct mpk_error *err)
{
	enum mpk_file_format format = mpk_file_format_of(bytes);
	struct mpk_object object = { 0 };
	struct mpk_constants *list;
	enum mpk_code code;
	size_t n = 0;

	*count = 0;
	*out = NULL;
	if (format == MPK_FILE_BLOB)
		return put_strings(bytes, arena, out, count, err);
	code = mpk_file_read_object(format, bytes, arena, &object, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	/* Two parts for each section: the blob may be in the middle of one. */
	MPK_TRY_ARRAY(list, arena, 2 * object.section_count, err);
	for (size_t i = 0; i < object.section_count; i++)
		if (object.sections[i].is_constant)
			n += put_around(&object.sections[i], skip, &list[n]);
	*out = list;
	*count = n;
	return MPK_OK;
}

/* Returns the function of the unit that a call goes to; NULL: none. */
static const struct mpk_unit_function *called(const struct mpk_unit *u, const struct mpk_callee *c)
{
	for (size_t i = 0; i < u->function_count; i++) {
		const struct mpk_unit_function *f = &u->functions[i];

		if (c->symbol ? strcmp(f->function->symbol, c->symbol) == 0
			      : f->function->address == c->address)
			return f;
	}
	return NULL;
}

/* --- objects -------------------------------------------------------------------------- */

/* Adds the relocations within the function's bytes, which in an object are its calls; out has space
 * for `most`. */
static enum mpk_code add_relocated(const struct mpk_elf *e, const GElf_Shdr *section,
				   const struct mpk_symtab *symbols, const struct mpk_symbol *in,
				   struct mpk_callee *out, size_t most, size_t *count,
				   struct mpk_error *err)
{
	size_t n = mpk_elf_relocations(e, section);
	struct mpk_symbol symbol;
	GElf_Rela r;

	for (size_t i = 0; i < n && *count < most && mpk_elf_relocation(e, section, i, &r); i++) {
		if (r.r_offset < in->value || r.r_offset - in->value >= in->bytes ||
		    GELF_R_SYM(r.r_info) >= symbols->count)
			continue;
		MPK_TRY(mpk_symtab_get(symbols, GELF_R_SYM(r.r_info), &symbol, err));
		if (symbol.name[0])
			out[(*count)++] = (struct mpk_callee){ .symbol = symbol.name };
	}
	return MPK_OK;
}

/* Lists the symbols in the relocations of a function's code, in an object of any machine; nearly
 * all are calls. out has space for `most`; the addresses in it are 0. */
static enum mpk_code object_callees(const struct mpk_elf *e, const char *symbol,
				    struct mpk_callee *out, size_t most, size_t *count,
				    struct mpk_error *err)
{
	struct mpk_symtab symbols;
	struct mpk_symbol in;
	GElf_Shdr section;
	bool found;

	*count = 0;
	if (e->header.e_type != ET_REL)
		return MPK_OK;
	MPK_TRY(mpk_symtab_static(e, &symbols, err));
	/* In objects all sections begin at address 0, so the symbol is found by its name. */
	found = false;
	for (size_t i = 1; i < symbols.count && !found; i++) {
		MPK_TRY(mpk_symtab_get(&symbols, i, &in, err));
		found = in.defined && in.section && strcmp(in.name, symbol) == 0;
	}
	for (size_t i = 1; found && i < e->section_count; i++) {
		MPK_TRY(mpk_elf_section(e, i, &section, err));
		if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) &&
		    section.sh_info == in.section)
			MPK_TRY(add_relocated(e, &section, &symbols, &in, out, most, count, err));
	}
	return MPK_OK;
}

/* If a library has one function, TVM adds an entry "main" that only calls it: the entry takes the
 * same arguments. */
static enum mpk_code hostcode_host_read_entry(struct mpk_unit *u, struct mpk_unit_function *entry,
					      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_plt_names_fini) struct mpk_plt_names plt = { 0 };
	const struct mpk_unit_function *one = NULL;
	struct mpk_callee callees[8];
	size_t count;

	if (u->elf->header.e_type == ET_REL) {
		MPK_TRY(object_callees(u->elf, entry->function->symbol, callees,
				       MPK_ARRAY_COUNT(callees), &count, err));
	} else {
		MPK_TRY(mpk_plt_names_read(u->elf, &plt, err));
		count = mpk_elf_callees(u->elf, &plt, entry->function->address,
					entry->function->bytes, callees, MPK_ARRAY_COUNT(callees));
	}
	for (size_t i = 0; i < count; i++) {
		const struct mpk_unit_function *f = called(u, &callees[i]);

		if (f && one && f != one)
			return MPK_OK;
		one = f ? f : one;
	}
	if (!one || one == entry || !one->found)
		return MPK_OK;
	entry->found = mpk_arena_alloc(u->arena, sizeof *entry->found);
	MPK_TRY_ALLOC(entry->found, err);
	*entry->found = *one->found;
	return MPK_OK;
}

/* The entry comes last, because its signature is that of another function. */
static enum mpk_code hostcode_host_read_all(struct mpk_unit *u, const struct mpk_image *image,
					    struct mpk_span bytes, struct mpk_error *err)
{
	/* The constants are read once for all three readers. The budget limits what they read in total:
	 * sections may overlap, and a text may be read several times. */
	static const struct mpk_unit_reader *const readers[] = { &mpk_unit_prototypes,
								 &mpk_unit_assertions,
								 &mpk_unit_tilelang };
	struct mpk_constants *constants;

	if (u->elf->elf)
		MPK_TRY(mpk_elf_constants(u->elf, image->blob, u->arena, &constants,
					  &u->constant_count, err));
	else
		MPK_TRY(object_constants(bytes, image->blob, u->arena, &constants,
					 &u->constant_count, err));
	u->constants = constants;
	u->budget = mpk_constants_budget(constants, u->constant_count);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(readers); i++)
		if (!readers[i]->sentences || is_told_in_sentences(u))
			MPK_TRY(readers[i]->read(u, err));

	for (size_t i = 0; i < u->function_count; i++)
		if (u->functions[i].function->is_entry && !u->functions[i].found)
			return hostcode_host_read_entry(u, &u->functions[i], err);
	return MPK_OK;
}

/* Searches one file for the signatures of the functions that it defines. In formats other than ELF
 * the code is not searched: there only whole texts count. */
static enum mpk_code read_unit(const struct mpk_image *image, struct mpk_span bytes,
			       struct group group, struct mpk_arena *arena,
			       const struct mpk_signature **out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_unit u = { .elf = &elf, .arena = arena };
	enum mpk_code code = fill_unit(&u, image, group, err);

	if (code == MPK_OK && u.function_count) {
		if (mpk_file_format_of(bytes) == MPK_FILE_ELF)
			code = mpk_elf_open_mapped(bytes, 0, &elf, NULL, err);
		u.prefix = find_prefix(&elf, image);
		if (code == MPK_OK)
			code = add_aliases(&u, err);
		if (code == MPK_OK)
			code = hostcode_host_read_all(&u, image, bytes, err);
	}
	mpk_strmap_fini(&u.by_name);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	for (size_t i = 0; i < u.function_count; i++) {
		const struct mpk_unit_function *f = &u.functions[i];

		if (!f->found)
			continue;
		f->found->name = mpk_span_str(f->function->name);
		out[f->function - image->functions] = f->found;
	}
	return MPK_OK;
}

/* Uses metadata for functions without a signature: metadata has neither names nor shapes. */
static enum mpk_code ask_getters(const struct mpk_image *image, struct mpk_arena *arena,
				 const struct mpk_signature **list, struct mpk_error *err)
{
	struct mpk_host_texts texts;
	bool all = true;

	for (size_t i = 0; i < image->function_count; i++)
		all &= list[i] || image->functions[i].alias_of;
	if (all || !image->getter_count)
		return MPK_OK;
	MPK_TRY(mpk_host_texts_read(image, arena, &texts, err));
	for (size_t i = 0; i < image->function_count; i++)
		if (!list[i])
			MPK_TRY(mpk_host_texts_signature(image, &texts, i, arena, &list[i], err));
	return MPK_OK;
}

/* The list has an entry for each function of the image; NULL: not known. */
enum mpk_code mpk_host_signatures(const struct mpk_image *image, struct mpk_arena *arena,
				  const struct mpk_signature *const **out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_signature **list =
		mpk_arena_array(arena, image->function_count, sizeof(const struct mpk_signature *));
	const struct mpk_image_function **sorted =
		mpk_arena_array(&scratch, image->function_count, sizeof *sorted);
	const struct group all = { sorted, image->function_count };

	MPK_TRY_ALLOC(list && sorted, err);
	for (size_t i = 0; i < image->function_count; i++)
		sorted[i] = &image->functions[i];
	if (image->function_count)
		qsort(sorted, image->function_count, sizeof *sorted, by_member);
	/* A bare blob has no host code. In an archive, functions without a member are those of the chosen
	 * file. */
	if (image->container != MPK_CONTAINER_BLOB && image->function_count)
		MPK_TRY(read_unit(image, image->bytes, group_of(&all, NULL), arena, list, err));
	for (size_t i = 0; i < image->member_count; i++) {
		struct group group = group_of(&all, image->members[i]);

		if (group.count)
			MPK_TRY(read_unit(image, image->member_bytes[i], group, arena, list, err));
	}
	/* Metadata comes last, because the texts say more. */
	MPK_TRY(ask_getters(image, arena, list, err));
	*out = list;
	return MPK_OK;
}
