/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - --explain: the catalogue of messages, made from messages.def and drivers.def, and the nearest word to one that
 * is not in it */
#include "explain/messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/strmap.h"
#include "text/facts.h"

enum { COLUMNS = 78, INDENT = 14 };

#define MANIFEST MPK_MESSAGE_MANIFEST
#define CASES MPK_MESSAGE_CASES
#define VERIFY MPK_MESSAGE_VERIFY
#define CHECK MPK_MESSAGE_CHECK
#define EDIT MPK_MESSAGE_EDIT
/* A class of errors has a status and nobody who prints it alone: both in one number. */
#define STATUS(status) ((status) * 0x100)
#define MPK_DRIVER_ERROR(names_, says_, meaning_, cause_, remedy_)                                 \
	{ .names = (names_),                                                                       \
	  .who = MPK_MESSAGE_DRIVER,                                                               \
	  .name = (says_),                                                                         \
	  .meaning = (meaning_),                                                                   \
	  .cause = (cause_),                                                                       \
	  .remedy = (remedy_) },
#define MPK_MESSAGE(id_, who_, name_, meaning_, cause_, remedy_)                                   \
	{ .id = (id_),                                                                             \
	  .who = (who_) % 0x100,                                                                   \
	  .status = (who_) / 0x100,                                                                \
	  .name = (name_),                                                                         \
	  .meaning = (meaning_),                                                                   \
	  .cause = (cause_),                                                                       \
	  .remedy = (remedy_) },

const struct mpk_message mpk_messages[] = {
#include "explain/messages.def"

#include "explain/drivers.def"
	{ 0 }
};

enum { MESSAGES = MPK_ARRAY_COUNT(mpk_messages) - 1 };

/* Exit statuses end at 70, and of a driver's numbers only those that are none are asked for by themselves. */
enum { NUMBERS_FROM = 98 };

/* One name of a driver's error, and its number; false at the end of the list. */
static bool next_name(const char **list, struct mpk_span *name, const char **number)
{
	const char *at = *list + strspn(*list, " ");

	*name = mpk_span_of(at, strcspn(at, "="));
	*number = at + name->len + (name->len > 0);
	*list = *number + strcspn(*number, " ");
	return name->len > 0;
}

/* Whether a text has a name in it that does not go on; in any case of letters, as people type it. */
static bool mentions(const char *text, struct mpk_span name)
{
	for (; *text; text++)
		if (strncasecmp(text, (const char *)name.data, name.len) == 0 &&
		    !isalnum((unsigned char)text[name.len]) && text[name.len] != '_')
			return true;
	return false;
}

static bool driver_error_is(const struct mpk_message *m, const char *word)
{
	const char *list = m->names, *number;
	struct mpk_span name;

	while (next_name(&list, &name, &number)) {
		size_t digits = strcspn(number, " ");

		if (mentions(word, name) ||
		    (strlen(word) == digits && strncmp(word, number, digits) == 0 &&
		     (*number == '-' || atol(number) >= NUMBERS_FROM)))
			return true;
	}
	return mentions(word, mpk_span_str(m->name));
}

/* By identifier, or by the number of an exit status, which is what a script has in hand. */
bool mpk_message_is(const struct mpk_message *m, const char *word)
{
	char number[12];

	if (m->names)
		return driver_error_is(m, word);
	(void)snprintf(number, sizeof number, "%d", m->status);
	return strcmp(m->id, word) == 0 || (m->status && strcmp(number, word) == 0);
}

/* The whole table is compared: it has about a hundred rows, and this runs once. */
const char *mpk_message_nearest(const char *word)
{
	struct mpk_span names[MESSAGES];
	size_t near, count = 0;

	for (size_t i = 0; i < MESSAGES; i++)
		if (mpk_messages[i].id)
			names[count++] = mpk_span_str(mpk_messages[i].id);
	near = mpk_closest(mpk_span_str(word), names, count);
	return near < count ? (const char *)names[near].data : NULL;
}

/* The command whose line ends with the word in brackets. */
static const struct {
	enum mpk_message_who who;
	const char *word, *sentence;
} printers[] = {
	{ MPK_MESSAGE_MANIFEST, "manifest", "mpack, of mpack.toml" },
	{ MPK_MESSAGE_CASES, "cases", "minspect --cases, of the case file" },
	{ MPK_MESSAGE_VERIFY, "verify", "minspect --verify, and mpack of what it packs" },
	{ MPK_MESSAGE_CHECK, "check", "minspect --check" },
	{ MPK_MESSAGE_EDIT, "edit", "mpack edit" },
	{ MPK_MESSAGE_DRIVER, "driver",
	  "minspect --run and whatever else loads or launches kernels" },
};

/* In full for one message; a line of the list has room for the words alone. */
static void put_printers(const struct mpk_message *m, bool in_full, struct mpk_strbuf *out)
{
	const char *comma = "";

	if (m->status)
		mpk_strbuf_printf(out,
				  in_full ? "exit status %d, and \"code\" in JSON" : "status %d",
				  m->status);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(printers); i++) {
		if (!(m->who & (unsigned)printers[i].who))
			continue;
		mpk_strbuf_printf(out, "%s%s", comma,
				  in_full ? printers[i].sentence : printers[i].word);
		comma = in_full ? "; " : ", ";
	}
}

/* A paragraph after its heading; a line ends where the next word would not fit. */
static void put_paragraph(const char *heading, const char *text, struct mpk_strbuf *out)
{
	size_t column = INDENT;

	mpk_strbuf_printf(out, "  %-*s", INDENT - 2, heading);
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > INDENT && column + 1 + len > COLUMNS) {
			mpk_strbuf_printf(out, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			mpk_strbuf_putc(out, ' ');
			column++;
		}
		mpk_strbuf_printf(out, "%.*s", (int)len, text);
		column += len;
		text += len + (text[len] == ' ');
	}
	mpk_strbuf_putc(out, '\n');
}

/* "CUDA_ERROR_NO_BINARY_FOR_GPU", the first; the others with their numbers */
static struct mpk_span first_name(const struct mpk_message *m)
{
	return m->id ? mpk_span_str(m->id) : mpk_span_of(m->names, strcspn(m->names, "="));
}

static void message_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf who = { 0 };
	const struct mpk_message *m = what;

	(void)style;
	put_printers(m, true, &who);
	mpk_strbuf_put_span(out, first_name(m));
	if (m->names) {
		mpk_strbuf_putc(out, '\n');
		put_paragraph("says", m->name, out);
		put_paragraph("names", m->names, out);
	} else {
		mpk_strbuf_printf(out, ": %s\n", m->name);
	}
	put_paragraph(m->status ? "stands for" : "printed by", mpk_strbuf_text(&who), out);
	put_paragraph("means", m->meaning, out);
	put_paragraph("cause", m->cause, out);
	put_paragraph("remedy", m->remedy, out);
	out->failed |= who.failed;
}

static void message_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf who = { 0 };
	const struct mpk_message *m = what;

	(void)style;
	put_printers(m, false, &who);
	mpk_strbuf_printf(out, "%-18.*s %-15s %s\n", (int)first_name(m).len,
			  (const char *)first_name(m).data, mpk_strbuf_text(&who), m->name);
	out->failed |= who.failed;
}

static const struct mpk_fact message_facts[] = {
	{ MPK_FACT(TEXT, "name", struct mpk_message, name,
		   "in a few words; of a driver's error its own sentence") },
	{ MPK_FACT(TEXT, "meaning", struct mpk_message, meaning) },
	{ MPK_FACT(TEXT, "cause", struct mpk_message, cause) },
	{ MPK_FACT(TEXT, "remedy", struct mpk_message, remedy) },
};

static void message_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_message *m = what;
	struct mpk_json_at *list;
	struct mpk_span name;
	const char *number;

	mpk_json_span(j, at, "id", first_name(m));
	list = mpk_json_array(j, at, "printed_by");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(printers); i++)
		if (m->who & (unsigned)printers[i].who)
			mpk_json_text(j, list, NULL, printers[i].word);
	if (m->status)
		mpk_json_u64(j, at, "status", (uint64_t)m->status);
	else
		mpk_json_null(j, at, "status");
	list = mpk_json_array(j, at, "names");
	for (const char *rest = m->names; rest && next_name(&rest, &name, &number);) {
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_span(j, o, "name", name);
		mpk_json_i64(j, o, "number", atol(number));
	}
	mpk_facts_json(MPK_FACTS(message_facts), m, j, at);
}

const struct mpk_answer mpk_answer_message = { .text = message_text,
					       .line = message_line,
					       .json = message_json };
