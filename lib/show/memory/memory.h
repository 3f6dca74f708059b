/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - minspect memory: the memory that calls of a model take, over time */
#ifndef MPK_SHOW_MEMORY_MEMORY_H
#define MPK_SHOW_MEMORY_MEMORY_H

#include "answer/answer.h"
#include "model/view.h"
#include "program/memory.h"

/* One model of a file. */
struct mpk_memory_model {
	const char *path; /* path of its module, "/" */
	struct mpk_model_memory memory;
};

struct mpk_memory_list {
	const char *name; /* name of the file, not escaped */
	const struct mpk_memory_model *items;
	size_t count;
	size_t most; /* index of the item that needs most; count if there is none */
	bool all;    /* print every storage and step */
	/* first requested extent that no function has; NULL if some function has each */
	const struct mpk_extent_value *unused;
	const struct mpk_view *view;
};

/* mpk_memory_read - compute the memory of all models of a file, for the functions that the view's
 * filter shows
 * @ask     borrowed by out
 * @arena   receives the result
 * Returns  as mpk_memory_of; the error contains the tree path */
enum mpk_code mpk_memory_read(const struct mpk_view *view, const struct mpk_memory_ask *ask,
			      bool all, struct mpk_arena *arena, struct mpk_memory_list *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_memory_put_extents - append "n = 2048, m = 1"
 * @from    index of the first extent of f to append */
void mpk_memory_put_extents(const struct mpk_function_memory *f, size_t from,
			    struct mpk_strbuf *out);

/* mpk_memory_about_json - put the name of a function, its extents and its sums, without steps and
 * storages
 * mpk_memory_model_json - put the sums of a model */
void mpk_memory_about_json(const struct mpk_function_memory *f, struct mpk_json *j,
			   struct mpk_json_at *at);
void mpk_memory_model_json(const struct mpk_model_memory *m, struct mpk_json *j,
			   struct mpk_json_at *at);

/* mpk_memory_kind_word - the word for a kind of storage: "scratch", "result" or "cache" */
const char *mpk_memory_kind_word(enum mpk_memory_kind kind);

/* Printer of struct mpk_memory_list: the need of the largest call, its peak, and the storages alive
 * at the peak; "models" in JSON (minspect-memory.schema.json) */
extern const struct mpk_answer mpk_answer_memory;

#endif
