/* SPDX-License-Identifier: Apache-2.0 */
/* hint.c - errors of what runs models, and the options of minspect that help
 *
 * An error may have passed compiled code on its way, which keeps nothing of it but the sentence. So it is the
 * sentence that is recognised, by the words with which it states the fact.
 */
#include "session/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "program/device_kind.h"

/* An error that is in a text twice would be noise: a library that does not load fails each call of a batch. */
static void hint_append(struct mpk_error *err, const char *hint)
{
	size_t used = strlen(err->text);

	if (!strstr(err->text, hint))
		(void)snprintf(err->text + used, sizeof err->text - used, "%s", hint);
}

/* The kinds of devices are a list that may grow. */
static void add_device_kinds(struct mpk_error *err)
{
	char hint[128];

	(void)snprintf(hint, sizeof hint, "; minspect runs %s", mpk_device_kind_names());
	hint_append(err, hint);
}

void mpk_hint_add(struct mpk_error *err)
{
	static const struct {
		const char *fact, *hint;
	} rows[] = {
		{ "; get it with 'pip install apache-tvm-ffi'",
		  " and name it with --tvm-ffi PATH" },
		{ ": the model wants more devices", ", name them with --device A,B" },
		{ "' lines, without which TVM does not load it",
		  ": give the source to 'mpack build', or to 'mpack edit --replace', which add them" },
		{ ", which none of the devices here runs (",
		  "; --device cpu calls host code all the same" },
	};

	if (!err || err->code == MPK_OK)
		return;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (strstr(err->text, rows[i].fact))
			hint_append(err, rows[i].hint);
	if (strstr(err->text, "the code asks for device "))
		add_device_kinds(err);
}

void mpk_hint_add_call(const struct mpk_signature *signature, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };

	if (!signature->input_count)
		return;
	mpk_strbuf_puts(&hint, "; call it with");
	mpk_signature_options(signature, &hint);
	if (!hint.failed)
		hint_append(err, mpk_strbuf_text(&hint));
}
