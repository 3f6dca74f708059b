/* SPDX-License-Identifier: Apache-2.0 */
/* payload_view.c - the row of each payload
 *
 * The table is made from the list of payloads in formats/payload.h: a payload without a row does not
 * link, and no answer has to ask which payload it has before it. */
#include "payload/payload_view.h"

#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

/* Modules whose kind says all: host code. */
static const struct mpk_payload_view view_of_nothing = { 0 };

/* Arm Ethos-N networks are opaque programs: as files of --extract they are all that is known. */
const struct mpk_payload_view mpk_payload_view_ethosn = { 0 };

#define DECLARE(TAG, member, type) extern const struct mpk_payload_view mpk_payload_view_##member;
MPK_PAYLOADS(DECLARE)

const struct mpk_payload_view *mpk_payload_view_of(const struct mpk_payload *p)
{
	static const struct mpk_payload_view *const rows[] = { [MPK_PAYLOAD_EMPTY] =
								       &view_of_nothing,
#define ROW(TAG, member, type) [MPK_PAYLOAD_##TAG] = &mpk_payload_view_##member,
							       MPK_PAYLOADS(ROW) };

	return p ? rows[p->tag] : &view_of_nothing;
}

void mpk_tensor_text(struct mpk_span name, const struct mpk_tensor_record *t,
		     struct mpk_strbuf *out)
{
	const struct mpk_type type = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);

	mpk_escape(out, name);
	mpk_strbuf_puts(out, ": ");
	mpk_type_text(&type, out);
	mpk_strbuf_printf(out, " (%s)", MPK_SIZE(t->data.len));
}

void mpk_put_tensor_counts(size_t count, uint64_t bytes, const char *what, struct mpk_strbuf *out)
{
	mpk_put_also(out, count, what);
	if (bytes)
		mpk_strbuf_printf(out, " (%s)", MPK_SIZE(bytes));
}
