/* SPDX-License-Identifier: Apache-2.0 */
/* callable.c - warns of a package whose parts are all valid and of which still nothing can be called */
#include <string.h>
#include <sys/stat.h>

#include "common/diag.h"
#include "elf/image.h"
#include "mpack/build.h"

/* Reading a pipe would take data from its reader at the other end. */
static enum mpk_code open_output(const struct mpk_emit *e, struct mpk_mapping *map)
{
	struct stat st;

	return stat(e->out, &st) == 0 && S_ISREG(st.st_mode) ? mpk_mapping_open(e->out, map, NULL)
							     : MPK_E_IO;
}

/* What the linker made of the sources. */
static void look_at_code(const struct mpk_emit *e)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (open_output(e, &map) != MPK_OK)
		return;
	mpk_emit_judge(e, map.bytes, &why);
	if (why.len)
		mpk_diag_warn("%s: %s", e->out, mpk_strbuf_text(&why));
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
