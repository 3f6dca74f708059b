/* SPDX-License-Identifier: Apache-2.0 */
/* hint.c - errors of what runs models, and the options of minspect that help
 *
 * An error may have passed compiled code on its way, which keeps nothing of it but the sentence. So it is the
 * sentence that is recognised, by the words with which it states the fact.
 */
#include "session/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "hostcode/host.h"
#include "program/device_kind.h"
#include "session/internal/session.h"

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

/* --- a call that works ----------------------------------------------------------------------- */

/* The signature of the host function that was called, when its arguments do not fit; else NULL. "none"
 * and names are left to the function: no text says which arguments may be left out. */
static const struct mpk_signature *broken_signature(struct mpk_session *s)
{
	const struct mpk_image *image = s->work->library.image;
	const struct mpk_signature *const *all, *signature;
	const struct mpk_call *call = s->call;

	for (size_t i = 0; i < call->arg_count; i++)
		if (call->args[i].kind == MPK_VALUE_NONE || (call->names && call->names[i].len))
			return NULL;
	if (call->kernel || call->params ||
	    mpk_host_signatures(image, &s->arena, &all, NULL) != MPK_OK)
		return NULL;
	signature = mpk_host_signature_find(image, all, call->function);
	return signature && !mpk_run_fits(s->running, signature) ? signature : NULL;
}

static void hint_host_call(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_signature *signature = NULL;

	if (s->work->library.explains_calls && err->code == MPK_E_RAISED)
		signature = broken_signature(s);
	if (signature)
		mpk_hint_add_call(signature, err);
}

/* The error is of the call when binding its values fails again; other values that make no sense are refused
 * with the same code. */
static void hint_model_call(const struct mpk_session *s, const struct mpk_signature *signature,
			    struct mpk_error *err)
{
	if (err->code == MPK_E_USAGE && !mpk_run_fits(s->running, signature))
		mpk_hint_add_call(signature, err);
}

void mpk_session_hint_add(struct mpk_session *s, struct mpk_error *err)
{
	const struct mpk_function *f = mpk_run_function(s->function);

	if (f->address)
		hint_host_call(s, err);
	else if (f->signature)
		hint_model_call(s, f->signature, err);
}
