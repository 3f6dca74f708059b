/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of a package whose parts are all valid and of which still nothing can be called, and
 * says why: usually the name of a function is nearly the one that loaders look for. */
#include <string.h>
#include <sys/stat.h>

#include "common/diag.h"
#include "elf/image.h"
#include "elf/miss.h"
#include "mpack/build.h"
#include "text/escape.h"

static void put_miss(enum mpk_generation gen, const struct mpk_miss *miss, struct mpk_strbuf *out)
{
	const char *symbol = miss->symbol ? MPK_QUOTE(mpk_span_str(miss->symbol)) : "";

	mpk_strbuf_puts(out, "the host code exports no function that a loader finds");
	switch (miss->kind) {
	case MPK_MISS_NONE:
		break;
	case MPK_MISS_MANGLED:
		mpk_strbuf_printf(out, ": '%s' has a C++ name; declare it extern \"C\", as '%s'",
				  symbol, miss->wanted);
		break;
	case MPK_MISS_SPELLED:
		mpk_strbuf_printf(out, ": '%s' would have to be '%s'", symbol, miss->wanted);
		break;
	case MPK_MISS_HIDDEN:
		mpk_strbuf_printf(out, ": '%s' is not exported; give it default visibility",
				  symbol);
		break;
	case MPK_MISS_PLAIN:
		mpk_strbuf_printf(out, ": they are called %sNAME, and '%s' is not",
				  mpk_generation_get(gen)->function_prefix, symbol);
		break;
	}
}

/* A pipe would be read from, in the place of whoever waits at its other end. */
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

/* Why none of the code can be called. A file that cannot be read back is judged elsewhere, so
 * nothing is said of it here. */
static void callable_judge(const struct mpk_emit *e, struct mpk_span bytes, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_miss miss = { 0 };
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(bytes, NULL, &arena, &image, NULL);

	/* Without a blob, nothing in the file says that loaders look for plain names. So with a
	 * generation whose functions have no prefix, a file with only such names is not judged. */
	if ((code != MPK_OK && code != MPK_E_NO_BLOB) ||
	    (code == MPK_OK && image.function_count && !is_left_mangled(&image, e)) ||
	    mpk_miss_find(code == MPK_OK ? image.bytes : bytes, e->gen, &arena, &miss, NULL) !=
		    MPK_OK ||
	    (miss.kind == MPK_MISS_PLAIN && !*mpk_generation_get(e->gen)->function_prefix))
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
	const struct mpk_handover *parts = &in->parts;

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
