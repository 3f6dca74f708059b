/* SPDX-License-Identifier: Apache-2.0 */
/* linked.c - host code that is linked into a standalone library: the table of its symbols
 *
 * The same objects were linked to a library of their own before, whose symbols say what a loader would look up and what
 * the code imports. The table has hidden declarations, which makes the linker hide the symbols themselves: nobody
 * else finds them in the new library. What cannot be linked so is carried instead, and the reason is given.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "elf/symbols.h"
#include "package/internal/package.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

struct linking {
	const struct mpk_image *image;
	struct mpk_arena *arena;
	struct mpk_strmap provided; /* defined by the archive of the run library */
	const char **names;         /* number of symbols to sort */
	size_t name_count;
	const char *why;
};

/* --- what it imports -------------------------------------------------------------------------- */

static enum mpk_code take_archive(struct linking *l, struct mpk_span archive, struct mpk_error *err)
{
	struct mpk_ar ar;
	size_t ignored;

	MPK_TRY(mpk_ar_read(archive, l->arena, &ar, err));
	for (size_t i = 0; i < ar.symbol_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&l->provided, ar.symbols[i].name, i, &ignored) >= 0,
			      err);
	return MPK_OK;
}

/* Functions of the loader by name. All others come from libraries, which the linker gets as
 * before. */
static void check_imports(struct linking *l)
{
	const struct mpk_image *image = l->image;
	size_t ignored;

	for (size_t i = 0; i < image->needed_count; i++)
		if (strncmp(image->needed[i], "libtvm", 6) == 0)
			l->why = mpk_arena_printf(l->arena, "it needs %s", image->needed[i]);
	for (size_t i = 0; i < image->undefined_count && !l->why; i++) {
		const char *name = image->undefined[i];
		bool is_old_list = image->convention == MPK_CONV_LEGACY &&
				   strncmp(name, "TVMBackendAnyList", 17) == 0;

		if (strncmp(name, "TVM", 3) == 0 &&
		    (is_old_list || !mpk_strmap_find(&l->provided, mpk_span_str(name), &ignored)))
			l->why = mpk_arena_printf(
				l->arena, "it imports '%s', which its loader alone has", name);
	}
}

/* --- what it defines -------------------------------------------------------------------------- */

/* As it is written in a declaration. */
static bool linked_is_word(const char *name)
{
	return name[strspn(name,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")] ==
	       '\0';
}

static bool is_left_out(const struct linking *l, const struct mpk_symbol *s)
{
	return !s->defined || !s->name[0] || s->type == STT_SECTION || s->type == STT_FILE ||
	       (s->bind != STB_GLOBAL && s->bind != STB_WEAK && s->bind != STB_GNU_UNIQUE) ||
	       strcmp(s->name, l->image->blob_symbol) == 0;
}

static void linked_take_symbol(struct linking *l, const struct mpk_symbol *s)
{
	if (is_left_out(l, s) || l->why)
		return;
	if (s->type == STT_TLS)
		l->why = mpk_arena_printf(l->arena, "'%s' is a variable of each thread",
					  MPK_QUOTE(mpk_span_str(s->name)));
	else if (!linked_is_word(s->name))
		l->why = mpk_arena_printf(l->arena, "'%s' is no name of C",
					  MPK_QUOTE(mpk_span_str(s->name)));
	else
		l->names[l->name_count++] = s->name;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum mpk_code linked_take_symbols(struct linking *l, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_symtab table;
	struct mpk_symbol s;

	MPK_TRY(mpk_elf_open(l->image->bytes, 0, &elf, err));
	MPK_TRY(mpk_symtab_dynamic(&elf, &table, err));
	l->names = mpk_arena_array(l->arena, table.count + 1, sizeof *l->names);
	MPK_TRY_ALLOC(l->names, err);
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &s, err));
		linked_take_symbol(l, &s);
	}
	if (!l->name_count && !l->why)
		l->why = "it has no host code";
	if (l->name_count)
		qsort(l->names, l->name_count, sizeof *l->names, by_bytes);
	return MPK_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Returns the name of a symbol in the objects that are linked in. */
static const char *kept_name(struct mpk_arena *arena, const char *name)
{
	size_t prefix = strlen(MPK_FUNCTION_PREFIX);

	if (strncmp(name, MPK_FUNCTION_PREFIX, prefix) != 0)
		return name;
	return mpk_arena_printf(arena, MPK_FUNCTION_PREFIX_KEPT "%s", name + prefix);
}

/* Names may be anything in C, so the variables have numbers. An assembler name removes the
 * attribute that would hide the symbol, so the directive goes to the assembler directly. */
static enum mpk_code put_table(const struct linking *l, struct mpk_strbuf *out,
			       struct mpk_error *err)
{
	for (size_t i = 0; i < l->name_count; i++) {
		const char *name = kept_name(l->arena, l->names[i]);

		MPK_TRY_ALLOC(name, err);
		mpk_strbuf_printf(out,
				  "extern const char host%zu[] __asm__(\"%s\");\n"
				  "__asm__(\".hidden %s\");\n",
				  i, name, name);
	}
	mpk_strbuf_puts(out, "const struct mpkr_symbol mpkr_symbols[] = {\n");
	for (size_t i = 0; i < l->name_count; i++)
		mpk_strbuf_printf(out, "\t{ \"%s\", host%zu },\n", l->names[i], i);
	mpk_strbuf_puts(out, "\t{ 0, 0 }\n};\n");
	return mpk_strbuf_status(out, err);
}

enum mpk_code mpk_linked_table(const struct mpk_image *image, struct mpk_span archive,
			       struct mpk_arena *arena, struct mpk_strbuf *out, const char **why,
			       struct mpk_error *err)
{
	struct linking l = { .image = image, .arena = arena };
	enum mpk_code code = take_archive(&l, archive, err);

	if (code == MPK_OK)
		check_imports(&l);
	if (code == MPK_OK && !l.why)
		code = linked_take_symbols(&l, err);
	mpk_strmap_fini(&l.provided);
	MPK_TRY(code);
	*why = l.why;
	return l.why ? MPK_OK : put_table(&l, out, err);
}
