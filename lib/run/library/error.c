/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors as callers of the library see them: a code of its own, one sentence
 *
 * Positions become a part of the sentence. What a model raised may have line feeds in it, and file names
 * anything.
 */
#include "library/internal/library.h"

#include <string.h>

#include "base/strbuf.h"
#include "text/escape.h"

static int public_code(enum mpk_code code)
{
	switch (code) {
	case MPK_OK:
		return MPKR_OK;
	case MPK_E_USAGE:
	case MPK_E_RANGE:
	case MPK_E_CONFLICT:
		return MPKR_E_USAGE;
	case MPK_E_IO:
		return MPKR_E_IO;
	case MPK_E_SYNTAX:
	case MPK_E_CORRUPT:
		return MPKR_E_CORRUPT;
	case MPK_E_UNSUPPORTED:
		return MPKR_E_UNSUPPORTED;
	case MPK_E_NOTFOUND:
		return MPKR_E_NOT_FOUND;
	case MPK_E_NO_BLOB:
	case MPK_E_LOAD:
	case MPK_E_TOOL:
		return MPKR_E_LOAD;
	case MPK_E_DEVICE:
		return MPKR_E_DEVICE;
	case MPK_E_RAISED:
	case MPK_E_TIMEOUT:
		return MPKR_E_RAISED;
	case MPK_E_NOMEM:
		return MPKR_E_NO_MEMORY;
	case MPK_E_DIFFERENT:
	case MPK_E_INTERNAL:
	case MPK_CODE_COUNT:
		break;
	}
	return MPKR_E_INTERNAL;
}

/* Cut before a character that would be cut itself. */
static void put_sentence(const char *text, size_t len, char *out, size_t size)
{
	if (len >= size) {
		len = size - 1;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(out, text, len);
	out[len] = '\0';
}

int mpk_run_report(const struct mpk_error *err, struct mpkr_error *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	char where[640];

	if (!out)
		return public_code(err->code);
	out->code = public_code(err->code);
	(void)mpk_where_print(&err->at, where, sizeof where);
	mpk_escape_sentence(&said, mpk_span_str(where));
	mpk_strbuf_puts(&said, where[0] ? ": " : "");
	mpk_escape_sentence(&said, mpk_span_str(err->text));
	if (said.failed)
		put_sentence("out of memory", strlen("out of memory"), out->text, sizeof out->text);
	else
		put_sentence(mpk_strbuf_text(&said), said.len, out->text, sizeof out->text);
	return out->code;
}
