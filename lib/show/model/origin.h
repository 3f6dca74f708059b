/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - what a library says of itself: who signed it, what it was made from, and to an engine what model it has */
#ifndef MPK_MODEL_ORIGIN_H
#define MPK_MODEL_ORIGIN_H

#include "base/error.h"
#include "model/view.h"
#include "trust/origin.h"

/* The claims of one file. */
struct mpk_view_origin {
	struct mpk_origin notes;
	bool has_provenance; /* and it reads as such: */
	struct mpk_provenance provenance;
	struct mpk_error problem; /* else why not, when there is one */
	struct mpk_span comment;  /* what compilers and linkers left in .comment, each with a NUL */
};

/* mpk_view_origin - what the notes of the view's file say; nothing for what is no library or object
 * of ELF, or a member of an archive, whose notes tell of that member
 * @out     in view->arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_origin(const struct mpk_view *view, struct mpk_view_origin *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_view: the lines of the summary, who signed, what built it, and in verbose text from what; "signature"
 * and "provenance" in JSON, where there are such */
extern const struct mpk_answer mpk_answer_origin;

/* --- what a language model's library says of itself to an engine
 *
 * MLC-LLM adds a function `_metadata` that returns a text of JSON. It is not called: the text is a constant of the
 * executable, whether its functions are byte code or compiled. */

/* What one of its functions allocates when it is called. */
struct mpk_metadata_memory {
	const char *function;
	uint64_t bytes;
};

/* Names are MLC-LLM's. A text is NULL and a number INT64_MIN where it is not said. */
struct mpk_metadata {
	const char *path; /* of the executable; borrowed from the view */
	const char *model_type, *quantization, *kv_state_kind;
	int64_t context_window_size, sliding_window_size,
		attention_sink_size; /* tokens; -1: none */
	int64_t prefill_chunk_size;  /* tokens */
	int64_t max_batch_size;      /* sequences */
	int64_t tensor_parallel_shards, pipeline_parallel_stages;
	bool disaggregation;
	size_t param_count;
	uint64_t param_bytes; /* of those whose extents are numbers */
	const struct mpk_metadata_memory *memory;
	size_t memory_count;
};

/* mpk_view_metadata - read it
 * @out     in the arena of the view; NULL: the file has none, or none that reads
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the constants of the file */
enum mpk_code mpk_view_metadata(const struct mpk_view *view, const struct mpk_metadata **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_view: a line of the summary, empty where there is none; "metadata" in JSON */
extern const struct mpk_answer mpk_answer_metadata;

#endif
