/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - what a run of code was compiled for, and how that is printed
 *
 * Only formats with a `targets` function in their row can tell. A fatbin has many: binaries are
 * listed before PTX, as a driver takes a fitting binary first and compiles PTX when there is none.
 */
#include "code/target.h"

#include "text/escape.h"
#include "text/phrase.h"

/* Recognised by its bytes: who claims what is not asked here. */
enum mpk_code mpk_code_targets(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);
	struct mpk_code_target *targets = NULL;
	size_t n = 0;

	if (f->targets)
		MPK_TRY(f->targets(bytes, arena, &targets, &n, err));
	*out = targets;
	*count = n;
	return MPK_OK;
}

/* Asked of kinds, not of code: whether modules of that kind could have targets at all. */
bool mpk_code_kind_has_targets(struct mpk_span kind)
{
	for (size_t i = 0; mpk_code_formats[i]; i++) {
		const struct mpk_code_format *f = mpk_code_formats[i];

		for (size_t c = 0; f->targets && c < MPK_CODE_CLAIMS && f->claims[c].kind; c++)
			if (mpk_span_is(kind, f->claims[c].kind))
				return true;
	}
	return false;
}

/* A lone PTX text is named by its version first; among others it comes last, as what is left
 * when no binary fits. */
static bool is_alone(const struct mpk_code_target *targets, size_t count)
{
	return count == 1 && targets[0].kind == MPK_TARGET_PTX;
}

/* PTX is named by its version, as that is what a driver has to know; what it is compiled for at
 * least is in most files one of the architectures before it. */
static void put_ptx(const struct mpk_code_target *t, bool first, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%sPTX %u.%u", first ? "" : " + ", t->ptx_major, t->ptx_minor);
	mpk_strbuf_printf(out, first ? " %s" : " (%s)", t->name);
}

void mpk_code_targets_put(const struct mpk_code_target *targets, size_t count,
			  struct mpk_strbuf *out)
{
	size_t shown = 0;

	if (is_alone(targets, count)) {
		mpk_strbuf_printf(out, "%u.%u sm_%u", targets->ptx_major, targets->ptx_minor,
				  targets->sm);
		if (targets->suffix)
			mpk_strbuf_putc(out, targets->suffix);
		return;
	}
	for (size_t i = 0; i < count && shown < MPK_NAMES_SHOWN; i++) {
		if (targets[i].kind == MPK_TARGET_PTX)
			continue;
		mpk_strbuf_puts(out, shown++ ? " " : "");
		mpk_escape(out, mpk_span_str(targets[i].name));
	}
	for (size_t i = 0; i < count && shown < MPK_NAMES_SHOWN; i++)
		if (targets[i].kind == MPK_TARGET_PTX)
			put_ptx(&targets[i], !shown++, out);
	mpk_put_more(out, count);
}
