/* SPDX-License-Identifier: Apache-2.0 */
/* callable.c - warns of a package whose parts are all valid and of which still nothing can be called, and
 * says why: usually the name of a function is nearly the one that loaders look for.
 *
 * C++ functions without extern "C", names without the prefix of TVM 0.22, functions that are not exported: one of them
 * is reported, the one that says most about what went wrong. */
#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/diag.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "mpack/build.h"
#include "text/escape.h"

/* A function that was meant to be callable, in a library without any. */
enum miss_kind {
	MISS_NONE,    /* nothing looks like one */
	MISS_MANGLED, /* a C++ name: extern "C" is missing */
	MISS_SPELLED, /* the prefix is another */
	MISS_HIDDEN,  /* the name is right, but it is not exported */
	MISS_PLAIN,   /* a function without the prefix; where there is none, it is callable */
};

struct miss {
	enum miss_kind kind;
	const char *symbol; /* as it is there */
	const char *wanted; /* the name that it would be called by */
};

static void put_miss(enum mpk_generation gen, const struct miss *miss, struct mpk_strbuf *out)
{
	const char *symbol = miss->symbol ? MPK_QUOTE(mpk_span_str(miss->symbol)) : "";

	mpk_strbuf_puts(out, "the host code exports no function that a loader finds");
	switch (miss->kind) {
	case MISS_NONE:
		break;
	case MISS_MANGLED:
		mpk_strbuf_printf(out, ": '%s' has a C++ name; declare it extern \"C\", as '%s'",
				  symbol, miss->wanted);
		break;
	case MISS_SPELLED:
		mpk_strbuf_printf(out, ": '%s' would have to be '%s'", symbol, miss->wanted);
		break;
	case MISS_HIDDEN:
		mpk_strbuf_printf(out, ": '%s' is not exported; give it default visibility",
				  symbol);
		break;
	case MISS_PLAIN:
		mpk_strbuf_printf(out, ": they are called %sNAME, and '%s' is not",
				  mpk_generation_get(gen)->function_prefix, symbol);
		break;
	}
}

/* Reading a pipe would take data from its reader at the other end. */
static enum mpk_code open_output(const struct mpk_emit *e, struct mpk_mapping *map)
{
	struct stat st;

	return stat(e->out, &st) == 0 && S_ISREG(st.st_mode) ? mpk_mapping_open(e->out, map, NULL)
							     : MPK_E_IO;
}

/* Where functions have no prefix, C++ names are callable as they are, which is what launch
 * functions of C++ kernels want. Nobody who wrote functions in C++ does. */
static bool is_left_mangled(const struct mpk_image *image, const struct mpk_emit *e)
{
	bool cxx = false;

	for (size_t i = 0; i < e->source_count; i++) {
		if (e->sources[i].text.data)
			return false;
		cxx |= e->sources[i].kind == MPK_SOURCE_CXX;
	}
	for (size_t i = 0; i < image->function_count; i++)
		cxx &= strncmp(image->functions[i].symbol, "_Z", 2) == 0;
	return cxx;
}

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

/* Functions that the C runtime adds to every library. */
static bool is_runtime(const char *name)
{
	return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0 ||
	       strcmp(name, "_start") == 0 || strncmp(name, "__", 2) == 0;
}

static enum mpk_code miss_judge(const struct mpk_symbol *s, enum mpk_generation gen,
				struct mpk_arena *arena, struct miss *out, struct mpk_error *err)
{
	const char *prefix = mpk_generation_get(gen)->function_prefix;
	bool exported = s->bind != STB_LOCAL &&
			(s->visibility == STV_DEFAULT || s->visibility == STV_PROTECTED);
	const char *name = s->name;
	enum miss_kind kind = MISS_PLAIN;

	if (!exported && (!*prefix || strncmp(s->name, prefix, strlen(prefix)) != 0))
		return MPK_OK;
	if (!exported) {
		kind = MISS_HIDDEN;
		name += strlen(prefix);
	} else if (strncmp(s->name, "_Z", 2) == 0) {
		kind = MISS_MANGLED;
		name = unmangled(arena, s->name);
		MPK_TRY_ALLOC(name, err);
		if (*prefix && strncmp(name, prefix, strlen(prefix)) == 0)
			name += strlen(prefix);
	} else if (*prefix && behind_prefix(s->name)) {
		kind = MISS_SPELLED;
		name = behind_prefix(s->name);
	} else if (is_runtime(s->name)) {
		return MPK_OK;
	}
	/* The first of a kind, and the kind that says most: a helper may be plain, too. Where there
	 * is no prefix, a plain name is none to miss. */
	const unsigned says[] = { [MISS_PLAIN] = *prefix ? 1 : 5,
				  [MISS_MANGLED] = 2,
				  [MISS_HIDDEN] = 3,
				  [MISS_SPELLED] = 4 };
	if (says[kind] <= says[out->kind])
		return MPK_OK;
	*out = (struct miss){ kind, mpk_arena_text(arena, mpk_span_str(s->name)),
			      mpk_arena_printf(arena, "%s%s", prefix, name) };
	return out->symbol && out->wanted ? MPK_OK : mpk_fail_nomem(err);
}

/* .symtab has hidden functions, too; a stripped library has only the dynamic symbols. */
static enum mpk_code miss_look(const struct mpk_elf *elf, enum mpk_generation gen,
			       struct mpk_arena *arena, struct miss *out, struct mpk_error *err)
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

/* The nearest miss among the functions of an ELF file; what is none has none. */
static enum mpk_code miss_find(struct mpk_span bytes, enum mpk_generation gen,
			       struct mpk_arena *arena, struct miss *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct miss found = { 0 };

	if (mpk_span_starts(bytes, "\177ELF")) {
		MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));
		MPK_TRY(miss_look(&elf, gen, arena, &found, err));
	}
	*out = found;
	return MPK_OK;
}

/* Why none of the code can be called. A file that cannot be read back is judged elsewhere, so
 * nothing is said of it here. */
static void callable_judge(const struct mpk_emit *e, struct mpk_span bytes, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct miss miss = { 0 };
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(bytes, NULL, &arena, &image, NULL);

	/* Without a blob, nothing in the file says that loaders look for plain names. So with a
	 * generation whose functions have no prefix, a file with only such names is not judged. */
	if ((code != MPK_OK && code != MPK_E_NO_BLOB) ||
	    (code == MPK_OK && image.function_count && !is_left_mangled(&image, e)) ||
	    miss_find(code == MPK_OK ? image.bytes : bytes, e->gen, &arena, &miss, NULL) !=
		    MPK_OK ||
	    (miss.kind == MISS_PLAIN && !*mpk_generation_get(e->gen)->function_prefix))
		return;
	put_miss(e->gen, &miss, out);
}

/* What the linker made of the sources. */
static void look_at_code(const struct mpk_emit *e)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (open_output(e, &map) != MPK_OK)
		return;
	callable_judge(e, map.bytes, &why);
	if (why.len)
		mpk_diag_warn("%s: %s", e->out, mpk_strbuf_text(&why));
}

enum mpk_code mpk_refuse_uncallable(const struct mpk_emit *e, struct mpk_span bytes,
				    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	callable_judge(e, bytes, &why);
	if (!why.len)
		return MPK_OK;
	(void)mpk_fail(err, MPK_E_CONFLICT,
		       "%s; --allow-empty writes a file that no loader opens all the same",
		       mpk_strbuf_text(&why));
	mpk_error_at_file(err, e->out);
	return MPK_E_CONFLICT;
}

static bool leads_nowhere(const struct mpk_image *image, const char *entry)
{
	for (size_t i = 0; i < image->function_count; i++)
		if (strcmp(image->functions[i].name, entry) == 0)
			return false;
	return true;
}

static void look_at_entry(const struct mpk_input *in, const struct mpk_emit *e)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const char *entry = in->parts.entry;
	struct mpk_image image;

	if (open_output(e, &map) == MPK_OK &&
	    mpk_image_open(map.bytes, NULL, &arena, &image, NULL) == MPK_OK &&
	    leads_nowhere(&image, entry))
		mpk_diag_warn("%s: the host code exports no function '%s' for the entry to be",
			      e->out, entry);
}

void mpk_warn_uncallable(const struct mpk_input *in, const struct mpk_emit *e)
{
	/* An object holds the blob alone, C source and a bare blob have no host code. */
	bool whole = e->kind == MPK_EMIT_SO || e->kind == MPK_EMIT_A || e->kind == MPK_EMIT_TAR;
	const struct mpk_request *parts = &in->parts;

	if (whole && !e->tools.dry_run && parts->entry)
		look_at_entry(in, e);
	if (e->kind == MPK_EMIT_SO && parts->has_host && !parts->source_count && !parts->base)
		mpk_diag_warn(
			"%s: there are no host sources: the library gets no code but what --ldflag names",
			e->out);
	else if (e->kind == MPK_EMIT_OBJ && e->source_count)
		mpk_diag_warn(
			"%s: an object holds the blob alone: the host code of %zu source%s is not in it; build a .a or .tar, or link it yourself",
			e->out, e->source_count, e->source_count == 1 ? "" : "s");
	else if (whole && parts->has_sources && !e->tools.dry_run)
		look_at_code(e);
	else if (!parts->is_blob && !parts->base && !e->source_count && !parts->has_callable)
		mpk_diag_warn("%s: nothing in this package can be called", e->out);
}
