/* SPDX-License-Identifier: Apache-2.0 */
/* raised.c - the error that code of this thread raised, as C code leaves it and as ours takes it
 *
 * Module code raises by storing kind and message and returning non-zero. Both conventions store
 * into the same place here, so an error passes through calls of either. A real libtvm_ffi.so keeps
 * an error of its own, which then gets each raise too.
 */
#include "abi/raised.h"

#include <stdio.h>
#include <string.h>

#include "text/escape.h"

static _Thread_local struct mpk_raised raised;
static void (*forward)(const char *kind, const char *message);

/* A thread's own: parallel loops raise in the thread of each task. */
struct mpk_raised *mpk_raised_get(void)
{
	return &raised;
}

void mpk_raised_forward(void (*fn)(const char *kind, const char *message))
{
	forward = fn;
}

/* Cut at the end: errors of TVM carry whole backtraces. */
static void copy_text(char *out, size_t size, struct mpk_span s)
{
	size_t n = s.len < size - 1 ? s.len : size - 1;

	if (n)
		memcpy(out, s.data, n);
	out[n] = '\0';
}

/* The real library gets the error too, as C++ code above us asks it and not us. */
void mpk_raised_set(enum mpk_code code, struct mpk_span kind, struct mpk_span message)
{
	raised.is_set = true;
	raised.code = code;
	copy_text(raised.kind, sizeof raised.kind, kind);
	copy_text(raised.message, sizeof raised.message, message);
	if (forward)
		forward(raised.kind, raised.message);
}

/* A kind is a word of its own before the first colon, as in "ValueError: text"; a path or a
 * sentence is none. */
void mpk_raised_set_error(const struct mpk_error *error)
{
	const char *text = error->text;

	/* "Kind: message" of an error that was raised further in */
	if (error->code == MPK_E_RAISED) {
		const char *colon = strstr(text, ": ");
		size_t len = colon ? (size_t)(colon - text) : 0;

		if (len && len < MPK_RAISED_KIND_MAX && strcspn(text, " ") == len + 1) {
			mpk_raised_set(error->code, mpk_span_of(text, len),
				       mpk_span_str(colon + 2));
			return;
		}
	}
	mpk_raised_set(error->code, mpk_span_str("RuntimeError"), mpk_span_str(text));
}

/* An error of ours is one line; TVM breaks and indents its messages. */
static void join_lines(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++) {
		if (*from != '\n') {
			*to++ = *from;
			continue;
		}
		from += strspn(from, " \t\n") - 1;
		if (from[1])
			*to++ = ' ';
	}
	*to = '\0';
}

enum mpk_code mpk_raised_take(int status, struct mpk_error *err)
{
	struct mpk_raised r = raised;
	char text[sizeof r.message];

	raised.is_set = false;
	if (!r.is_set)
		return mpk_fail(
			err, MPK_E_RAISED,
			"the function returned %d and stored no error, on which Python crashes: TVMFFIErrorSetRaisedFromCStr stores one (TVMAPISetLastError up to TVM 0.20)",
			status);
	join_lines(r.message);
	mpk_escape_to(mpk_span_str(r.message), text, sizeof text);
	if (r.code != MPK_E_RAISED)
		return mpk_fail(err, r.code, "%s", text);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s", MPK_QUOTE(mpk_span_str(r.kind)), text);
}
