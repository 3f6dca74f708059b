/* SPDX-License-Identifier: Apache-2.0 */
/* callable.c - tells whether loaders can call a function of the output, and if not, which one was
 * probably meant
 *
 * Probable mistakes are C++ functions without extern "C", names without the prefix of TVM 0.22, and
 * functions that are not exported. The most likely one is reported. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "elf/symbols.h"
#include "emit/emit.h"
#include "text/escape.h"

/* A probable mistake in a library without any callable function. */
enum miss_kind {
	MISS_NONE,    /* no function looks like a mistake */
	MISS_MANGLED, /* a C++ name: extern "C" is missing */
	MISS_SPELLED, /* the prefix is misspelt */
	MISS_HIDDEN,  /* the name is right, but it is not exported */
	MISS_PLAIN,   /* a function without the prefix; in generations without a prefix it is
		       * callable */
};

struct miss {
	enum miss_kind kind;
	const char *symbol; /* the symbol in the file */
	const char *wanted; /* the name that loaders would call */
};

/* In generations without a prefix C++ names are callable. Launch functions call C++ kernels in that
 * way, but a user who writes C++ functions does not mean it. */
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

/* Returns "add_one" for "_Z7add_onePv"; the whole symbol if it is not a plain function. */
static const char *unmangled(struct mpk_arena *arena, const char *symbol)
{
	char *end;
	unsigned long len = strtoul(symbol + 2, &end, 10);

	if (!isdigit((unsigned char)symbol[2]) || !len || len > strlen(end))
		return symbol;
	return mpk_arena_copy(arena, end, len);
}

/* Returns the text after a prefix that is similar to the right one; NULL if there is none. */
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

/* Whether the C runtime adds the function to every library. */
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
	/* Reports the first function of the most telling kind, because a plain function may also be a
	 * helper. In generations without a prefix a plain name is not a mistake. */
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

/* Finds the most likely mistake among the functions of an ELF file; other files have none. */
static enum mpk_code miss_find(struct mpk_span bytes, enum mpk_generation gen,
			       struct mpk_arena *arena, struct miss *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct miss found = { 0 };

	if (mpk_span_starts(bytes, "\177ELF")) {
		MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));

		/* .symtab has hidden functions, too; a stripped library has only the dynamic
		 * symbols. */
		struct mpk_symtab table;
		struct mpk_symbol s;

		MPK_TRY(mpk_symtab_static(&elf, &table, err));
		if (!table.count)
			MPK_TRY(mpk_symtab_dynamic(&elf, &table, err));
		for (size_t i = 0; i < table.count; i++) {
			MPK_TRY(mpk_symtab_get(&table, i, &s, err));
			if (s.defined && s.name[0] && s.type == STT_FUNC)
				MPK_TRY(miss_judge(&s, gen, arena, &found, err));
		}
	}
	*out = found;
	return MPK_OK;
}

/* An unreadable file is reported elsewhere. */
void mpk_emit_judge(const struct mpk_emit *e, struct mpk_span bytes, struct mpk_strbuf *why)
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

	enum mpk_generation gen = e->gen;
	const char *symbol = miss.symbol ? MPK_QUOTE(mpk_span_str(miss.symbol)) : "";

	mpk_strbuf_puts(why, "the host code exports no function that a loader finds");
	switch (miss.kind) {
	case MISS_NONE:
		break;
	case MISS_MANGLED:
		mpk_strbuf_printf(why, ": '%s' has a C++ name; declare it extern \"C\", as '%s'",
				  symbol, miss.wanted);
		break;
	case MISS_SPELLED:
		mpk_strbuf_printf(why, ": '%s' would have to be '%s'", symbol, miss.wanted);
		break;
	case MISS_HIDDEN:
		mpk_strbuf_printf(why, ": '%s' is not exported; give it default visibility",
				  symbol);
		break;
	case MISS_PLAIN:
		mpk_strbuf_printf(why, ": they are called %sNAME, and '%s' is not",
				  mpk_generation_get(gen)->function_prefix, symbol);
		break;
	}
}
