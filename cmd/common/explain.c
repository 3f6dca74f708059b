/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of both programs: texts from the catalogue of messages (lib/show/explain), in full
 * for the words that are given, a line for each message where none is given. */
#include "common/explain.h"

#include "common/diag.h"
#include "common/print.h"
#include "explain/messages.h"

/* What is printed: a text, or the list of a document. */
struct answer {
	struct mpk_strbuf text;
	struct mpk_json json;
	struct mpk_json_at *list; /* NULL: text is wanted */
};

static void explain_put(struct answer *a, const struct mpk_message *m, bool in_full)
{
	const struct mpk_answer *row = &mpk_answer_message;

	if (a->list)
		row->json(m, &a->json, mpk_json_object(&a->json, a->list, NULL));
	else
		(in_full ? row->text : row->line)(m, (struct mpk_style){ 0 }, &a->text);
}

static void put_all(struct answer *a)
{
	for (const struct mpk_message *m = mpk_messages; m->id; m++)
		explain_put(a, m, false);
}

static int explain_put_word(struct answer *a, const char *word)
{
	const char *near = mpk_message_nearest(word);
	bool found = false;

	/* A word may belong to several messages, such as an exit status to all codes that end
	 * with it. */
	for (const struct mpk_message *m = mpk_messages; m->id; m++) {
		if (!mpk_message_is(m, word))
			continue;
		if (a->text.len)
			mpk_strbuf_putc(&a->text, '\n');
		explain_put(a, m, true);
		found = true;
	}
	if (found)
		return MPK_EXIT_OK;
	if (near)
		return mpk_diag_usage("there is no message '%s'; did you mean '%s'?", word, near);
	return mpk_diag_usage("there is no message '%s'; %s --explain lists them", word,
			      mpk_common.program);
}

static int explain_print(struct answer *a)
{
	struct mpk_error err = { 0 };

	if ((a->list && mpk_json_print(&a->json, &a->text, &err) != MPK_OK) ||
	    mpk_strbuf_status(&a->text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	int failed = mpk_print_text(MPK_STDOUT, mpk_strbuf_text(&a->text), a->text.len);
	if (!failed)
		return MPK_EXIT_OK;
	(void)mpk_fail_errno(&err, MPK_E_IO, failed, "cannot write to standard output");
	return mpk_diag_error(&err);
}

int mpk_explain(const char *first, char *const *more, size_t count, bool json)
{
	struct answer a = { 0 };
	int status = MPK_EXIT_OK;

	if (json) {
		mpk_json_init(&a.json, 1);
		a.list = mpk_json_array(&a.json, a.json.root, "messages");
	}
	if (!*first && !count)
		put_all(&a);
	if (*first)
		status = explain_put_word(&a, first);
	for (size_t i = 0; i < count && status == MPK_EXIT_OK; i++)
		status = explain_put_word(&a, more[i]);
	if (status == MPK_EXIT_OK)
		status = explain_print(&a);
	if (json)
		mpk_json_fini(&a.json);
	mpk_strbuf_fini(&a.text);
	return status;
}
