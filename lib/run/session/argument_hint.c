/* SPDX-License-Identifier: Apache-2.0 */
#include "session/internal/argument_hint.h"

#include <string.h>

#include "base/strbuf.h"
#include "executor/check.h"
#include "hostcode/host.h"

/* The signature of the host function that was called, when its arguments do not fit; else NULL. "none"
 * and names are left to the function: no text tells which arguments may be left out. */
static const struct mpk_signature *broken_signature(const struct mpk_image *image,
						    const struct mpk_call *call,
						    struct mpk_arena *arena)
{
	const struct mpk_signature *const *all, *signature;

	for (size_t i = 0; i < call->arg_count; i++)
		if (call->args[i].kind == MPK_VALUE_NONE || (call->names && call->names[i].len))
			return NULL;
	if (call->kernel || call->params || mpk_host_signatures(image, arena, &all, NULL) != MPK_OK)
		return NULL;
	signature = mpk_host_signature_find(image, all, call->function);
	if (!signature ||
	    mpk_signature_check(signature, call->args, call->arg_count, NULL) == MPK_OK)
		return NULL;
	return signature;
}

void mpk_argument_hint_add(const struct mpk_library_options *options, const struct mpk_call *call,
			   struct mpk_arena *arena, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf hint = { 0 };
	const struct mpk_signature *signature = NULL;
	size_t used = strlen(err->text);

	if (options->explains_calls && err->code == MPK_E_RAISED)
		signature = broken_signature(options->image, call, arena);
	if (!signature || !signature->input_count)
		return;
	mpk_strbuf_puts(&hint, "; call it with");
	mpk_signature_options(signature, &hint);
	if (!hint.failed && used + hint.len < sizeof err->text)
		memcpy(err->text + used, mpk_strbuf_text(&hint), hint.len + 1);
}
