/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - a library's claims about itself: its signer, its inputs, and the metadata of its
 * language model */
#ifndef MPK_MODEL_ORIGIN_H
#define MPK_MODEL_ORIGIN_H

#include "base/error.h"
#include "model/view.h"
#include "trust/origin.h"

/* The claims of one file. */
struct mpk_view_origin {
	struct mpk_origin notes;
	bool has_provenance; /* there is a provenance note, and it can be parsed: */
	struct mpk_provenance provenance;
	struct mpk_error problem; /* if there is one that cannot be parsed: the reason */
	/* texts of compilers and linkers in .comment, each NUL-terminated */
	struct mpk_span comment;
};

/* mpk_view_origin - read the notes of the view's file; empty unless the file is an ELF library or
 * object. The notes of a member of an archive describe that member, so they are ignored
 * @out     in view->arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_origin(const struct mpk_view *view, struct mpk_view_origin *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_view: the lines of the summary about signer and tools, in verbose text also
 * inputs; "signature" and "provenance" in JSON if present */
extern const struct mpk_answer mpk_answer_origin;

/* --- metadata of a language model's library -----------------------------------------------------
 *
 * MLC-LLM adds a function `_metadata` that returns a JSON text. The function is not called: the
 * text is a constant of the executable, whether its functions are byte code or compiled. */

/* The memory that one of the model's functions allocates when called. */
struct mpk_metadata_memory {
	const char *function;
	uint64_t bytes;
};

/* The fields have MLC-LLM's names. A missing text is NULL, a missing number is INT64_MIN. */
struct mpk_metadata {
	const char *path; /* path of the executable; borrowed from the view */
	const char *model_type, *quantization, *kv_state_kind;
	int64_t context_window_size, sliding_window_size,
		attention_sink_size; /* tokens; -1 if none */
	int64_t prefill_chunk_size;  /* tokens */
	int64_t max_batch_size;      /* sequences */
	int64_t tensor_parallel_shards, pipeline_parallel_stages;
	bool disaggregation;
	size_t param_count;
	uint64_t param_bytes; /* bytes of parameters with numeric extents */
	const struct mpk_metadata_memory *memory;
	size_t memory_count;
};

/* mpk_view_metadata - read the metadata
 * @out     in the arena of the view; NULL if the file has none that can be parsed
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the constants of the file */
enum mpk_code mpk_view_metadata(const struct mpk_view *view, const struct mpk_metadata **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_view: a line of the summary, empty if there is none; "metadata" in JSON */
extern const struct mpk_answer mpk_answer_metadata;

#endif
