/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - the catalogue of messages: what a word in brackets after a finding means
 *
 * The rows stand in messages.def. --explain prints them, mpack-messages(7) is made of them, and
 * scripts/check-messages sees that each word which the programs print has one.
 */
#ifndef MPK_EXPLAIN_MESSAGES_H
#define MPK_EXPLAIN_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "answer/answer.h"

/* Who prints it; several bits at once. */
enum mpk_message_who {
	MPK_MESSAGE_MANIFEST = 1, /* mpack, of mpack.toml and the files that it names */
	MPK_MESSAGE_CASES = 2,    /* minspect --cases, of the case file */
	MPK_MESSAGE_VERIFY = 4,   /* minspect --verify, and mpack of what it packs */
	MPK_MESSAGE_CHECK = 8,    /* minspect --check */
	MPK_MESSAGE_EDIT = 16,    /* mpack edit */
	MPK_MESSAGE_DRIVER = 32,  /* the driver of a GPU; minspect passes its word on */
};

/* All texts are static. */
struct mpk_message {
	const char *id; /* "blob-digest"; several messages may have one; of a driver's error NULL */
	const char *
		names; /* of a driver's error: its names with their numbers, "A=209 B=-42"; else NULL */
	unsigned who;     /* enum mpk_message_who; 0: a class of errors, not a finding */
	bool is_status;   /* of a driver, explained by its class: no list has it */
	int status;       /* of a class of errors: the exit status; else 0 */
	const char *name; /* what was found, in a few words */
	const char *meaning, *cause, *remedy;
};

/* The catalogue; the name of the row after the last is NULL. */
extern const struct mpk_message mpk_messages[];

/* mpk_message_is - whether a word asks for a message: its id, or its exit status as a number; a driver's error also by
 * its number, and by a text with one of its names or its sentence in it */
bool mpk_message_is(const struct mpk_message *m, const char *word);

/* mpk_message_nearest - the id that was meant by an unknown word; NULL: none is near */
const char *mpk_message_nearest(const char *word);

/* of struct mpk_message: one message in full, with lines of at most 78 columns; as one line id, who prints it and
 * name; JSON is that of minspect-explain.schema.json */
extern const struct mpk_answer mpk_answer_message;

#endif
