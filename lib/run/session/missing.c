/* SPDX-License-Identifier: Apache-2.0 */
/* missing.c - all functions that the code of a library looks up and nobody has
 *
 * Byte code names its callees, so that a model which lacks some is refused with all their names. Compiled code
 * looks each up when it is reached. When the first is missing, the code is searched for the others: who
 * provides one is likely to provide them all.
 */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/strmap.h"
#include "elf/wants.h"
#include "session/internal/session.h"
#include "text/escape.h"

static bool is_missing(struct mpk_session *s, const char *name)
{
	mpkr_function *f;
	int code = mpkr_find(s->model, name, &f, NULL);

	if (code == MPKR_OK)
		mpkr_drop(f);
	return code == MPKR_E_NOT_FOUND;
}

/* The names in the order of the code; false: fewer than two. */
static bool list_missing(struct mpk_session *s, const struct mpk_wants *w, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap seen = { 0 };
	enum { MOST = 64 }; /* more are no news */
	size_t count = 0, ignored;

	for (size_t i = 0; i < w->count && count < MOST; i++) {
		struct mpk_span name = mpk_span_str(w->items[i].name);

		if (w->items[i].kind == MPK_WANT_NAME &&
		    mpk_strmap_put(&seen, name, 0, &ignored) == 1 &&
		    is_missing(s, w->items[i].name))
			mpk_strbuf_printf(out, "%s%s", count++ ? ", " : "", MPK_QUOTE(name));
	}
	return count > 1 && !out->failed;
}

void mpk_session_name_missing(struct mpk_session *s, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	const struct mpk_image *image = s->work->library.image;
	struct mpk_error ignored;
	struct mpk_wants wants = { 0 };
	struct mpk_elf elf = { 0 };
	size_t used = strlen(err->text);

	if (!s->is_loaded || !image || !strstr(err->text, ", which is neither in its imports"))
		return;
	if (mpk_elf_open(image->bytes, image->bytes_off, &elf, &ignored) == MPK_OK &&
	    mpk_wants_read(&elf, &wants, &ignored) == MPK_OK && list_missing(s, &wants, &names))
		(void)snprintf(err->text + used, sizeof err->text - used,
			       "; all that the library looks up and nobody has: %s",
			       mpk_strbuf_text(&names));
	mpk_wants_fini(&wants);
	mpk_elf_close(&elf);
}
