/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - the catalogue of messages: the meaning of each id in brackets behind a finding
 *
 * The rows are in messages.def. --explain prints them, mpack-messages(7) is made from them, and
 * scripts/check-messages ensures that each id that a program prints has a row.
 */
#ifndef MPK_EXPLAIN_MESSAGES_H
#define MPK_EXPLAIN_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "answer/answer.h"

/* The programs that print a message, as bits. */
enum mpk_message_who {
	MPK_MESSAGE_MANIFEST = 1, /* mpack, about mpack.toml and the files that it names */
	MPK_MESSAGE_CASES = 2,    /* minspect --cases, of the case file */
	MPK_MESSAGE_VERIFY = 4,   /* minspect --verify, and mpack about the files that it packs */
	MPK_MESSAGE_CHECK = 8,    /* minspect --check */
	MPK_MESSAGE_EDIT = 16,    /* mpack edit */
	MPK_MESSAGE_DRIVER = 32,  /* the driver of a GPU; minspect passes its message on */
};

/* All texts are static. */
struct mpk_message {
	/* "blob-digest"; several messages may share one; NULL for a driver's error */
	const char *id;
	const char
		*names; /* driver's error: its names with their numbers, "A=209 B=-42"; else NULL */
	unsigned who;   /* bits of enum mpk_message_who; 0 for a class of errors */
	bool is_status; /* a driver's status that its class explains; lists omit it */
	int status;     /* class of errors: its exit status; else 0 */
	const char *name; /* the finding in a few words */
	const char *meaning, *cause, *remedy;
};

/* The catalogue; the row after the last has a NULL name. */
extern const struct mpk_message mpk_messages[];

/* mpk_message_is - whether a word names a message: by id, or by exit status. A driver's error also
 * matches its number, and a text that contains one of its names or its sentence */
bool mpk_message_is(const struct mpk_message *m, const char *word);

/* mpk_message_nearest - the id most similar to an unknown word; NULL if none is similar */
const char *mpk_message_nearest(const char *word);

/* Printers of struct mpk_message: one message in full, with lines of at most 78 columns; .line has
 * the id, the programs and the name; JSON follows minspect-explain.schema.json */
extern const struct mpk_answer mpk_answer_message;

#endif
