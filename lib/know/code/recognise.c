/* SPDX-License-Identifier: Apache-2.0 */
/* recognise.c - the format of bytes, whether a module may name it, and its devices, all from the
 * table of rows
 *
 * Only formats with a `targets` function know devices. A fatbin has many: binaries are listed
 * before PTX, because a driver prefers a binary that fits, and compiles PTX if none does. */
#include "code/info.h"

#include "base/strbuf.h"
#include "code/format.h"
#include "text/escape.h"
#include "text/phrase.h"

const struct mpk_code_format *mpk_code_format_of(struct mpk_span bytes)
{
	bool text = mpk_code_is_text(bytes);

	if (!bytes.len)
		return &mpk_format_empty;
	for (size_t i = 0; mpk_code_formats[i]; i++)
		if ((text || !mpk_code_formats[i]->is_text) &&
		    mpk_code_has_sign(mpk_code_formats[i], bytes))
			return mpk_code_formats[i];
	return &mpk_format_unknown;
}

/* --- claims ------------------------------------------------------------------------- */

static bool is_claim(const struct mpk_code_claim *c, struct mpk_span kind, struct mpk_span format)
{
	return c->kind && mpk_span_is(kind, c->kind) && mpk_span_is(format, c->format);
}

const struct mpk_code_format *mpk_code_format_claimed(struct mpk_span kind, struct mpk_span format)
{
	for (size_t i = 0; mpk_code_formats[i]; i++)
		for (size_t k = 0; k < MPK_CODE_CLAIMS; k++)
			if (is_claim(&mpk_code_formats[i]->claims[k], kind, format))
				return mpk_code_formats[i];
	return NULL;
}

/* Returns the claim of a module of this kind that holds code in the format. */
static const struct mpk_code_claim *claim_for(struct mpk_span kind, const struct mpk_code_format *f)
{
	for (size_t k = 0; k < MPK_CODE_CLAIMS && f->claims[k].kind; k++)
		if (mpk_span_is(kind, f->claims[k].kind))
			return &f->claims[k];
	for (size_t k = 0; k < MPK_CODE_CLAIMS && f->tolerated[k].kind; k++)
		if (mpk_span_is(kind, f->tolerated[k].kind))
			return &f->tolerated[k];
	return NULL;
}

const char *mpk_code_format_label(struct mpk_span kind, const struct mpk_code_format *f)
{
	const struct mpk_code_claim *claim = claim_for(kind, f);

	for (size_t i = 0; f == &mpk_format_text && !claim && mpk_code_formats[i]; i++)
		if (mpk_code_formats[i]->is_source)
			claim = claim_for(kind, mpk_code_formats[i]);
	return claim ? claim->format : NULL;
}

static bool is_tolerated(const struct mpk_code_format *f, struct mpk_span kind,
			 struct mpk_span format)
{
	for (size_t k = 0; k < MPK_CODE_CLAIMS; k++)
		if (is_claim(&f->tolerated[k], kind, format))
			return true;
	return false;
}

static bool recognise_fits(const struct mpk_code_format *claimed, struct mpk_span kind,
			   struct mpk_span format, const struct mpk_code_format *f)
{
	return f == claimed || is_tolerated(f, kind, format) ||
	       (f == &mpk_format_text && claimed->is_source);
}

bool mpk_code_format_fits(struct mpk_span kind, struct mpk_span format,
			  const struct mpk_code_format *f)
{
	const struct mpk_code_format *claimed = mpk_code_format_claimed(kind, format);

	return !claimed || recognise_fits(claimed, kind, format, f);
}

/* If the module names no format: whether its kind holds such code at all. */
static enum mpk_code recognise_check_kind(struct mpk_span kind, const struct mpk_code_format *f,
					  bool *known, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };

	*known = mpk_code_format_label(kind, f) != NULL;
	for (size_t i = 0; !*known && mpk_code_formats[i]; i++)
		if (claim_for(kind, mpk_code_formats[i]))
			mpk_strbuf_printf(&names, "%s%s", names.len ? " or " : "",
					  mpk_code_formats[i]->name);
	if (!names.len)
		return mpk_strbuf_status(&names, err);
	return mpk_fail(err, MPK_E_CORRUPT,
			"a module of kind \"" MPK_SPAN_FMT
			"\" cannot hold this: it is %s; expected was %s",
			MPK_SPAN_ARG(kind), f->name, mpk_strbuf_text(&names));
}

enum mpk_code mpk_code_format_claim(struct mpk_span kind, struct mpk_span format,
				    const struct mpk_code_format *f, bool *known,
				    struct mpk_error *err)
{
	const struct mpk_code_format *claimed = mpk_code_format_claimed(kind, format);

	*known = claimed != NULL;
	if (claimed && !recognise_fits(claimed, kind, format, f)) {
		const char *expected = claimed->name;
		const char *label = mpk_code_format_label(kind, f);

		return mpk_fail(err, MPK_E_CORRUPT,
				"format \"" MPK_SPAN_FMT "\" of kind \"" MPK_SPAN_FMT
				"\" expects %s, but this is %s%s%s%s",
				MPK_SPAN_ARG(format), MPK_SPAN_ARG(kind), expected, f->name,
				label ? " (its format \"" : "", label ? label : "",
				label ? "\")" : "");
	}
	return claimed || format.len ? MPK_OK : recognise_check_kind(kind, f, known, err);
}

/* --- reading ------------------------------------------------------------------------ */

enum mpk_code mpk_code_info_read(struct mpk_span bytes, uint64_t off,
				 const struct mpk_code_format *claimed, struct mpk_arena *arena,
				 struct mpk_code_info *out, struct mpk_error *err)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);
	bool presumed = f == &mpk_format_text && claimed && claimed->is_source;

	*out = (struct mpk_code_info){ .bytes = bytes, .off = off };
	MPK_TRY(mpk_code_info_read_as(presumed ? claimed : f, arena, out, err));
	out->presumed = presumed;
	return MPK_OK;
}

enum mpk_code mpk_code_format_check(struct mpk_span bytes, struct mpk_span kind,
				    struct mpk_span format, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	const struct mpk_code_format *f = mpk_code_format_of(bytes);
	struct mpk_code_info info = { .bytes = bytes };
	const struct mpk_error *problem;
	bool known;

	MPK_TRY(mpk_code_format_claim(kind, format, f, &known, err));
	if (!known)
		return MPK_OK;
	MPK_TRY(mpk_code_info_read_as(f, &arena, &info, err));
	problem = mpk_code_info_problem(&info);
	if (problem && err)
		*err = *problem;
	return problem ? problem->code : MPK_OK;
}

/* --- devices ------------------------------------------------------------------------ */

/* Recognises the format by the bytes; the module's kind does not matter here. */
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

/* Answers for the kind, not for particular code. */
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

/* A single PTX text is named by its version. Among other images PTX comes last, because it is used
 * if no binary fits. */
static bool is_alone(const struct mpk_code_target *targets, size_t count)
{
	return count == 1 && targets[0].kind == MPK_TARGET_PTX;
}

/* PTX is named by its version, which a driver must support; its target is usually one of the
 * architectures before it. */
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
