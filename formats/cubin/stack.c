/* SPDX-License-Identifier: Apache-2.0 */
/* Three things tell it: the assembler's or linker's sum, the frames of single functions, and the graph of
 * calls. The sum is what NVIDIA's tools print; of a recursion that was optimized into one section it is
 * 0, though the function has a frame. */
#include "cubin/internal/cubin.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/memory.h"

enum { ROW_BYTES = 8 };

#define UNTOLD UINT32_MAX

/* Lists of the graph begin with a row of symbol 0 and one of these. */
#define CALLS (UINT32_MAX)
#define OFFERED (UINT32_MAX - 1)
#define INDIRECT (UINT32_MAX - 2)

struct row {
	uint32_t caller, callee; /* symbols; of OFFERED and INDIRECT the callee is a prototype */
};

/* The caller has checked that a whole row is there. */
static struct row row_at(struct mpk_span graph, size_t at)
{
	return (struct row){ mpk_load_u32(graph.data + at), mpk_load_u32(graph.data + at + 4) };
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The prototypes for which the file has functions, sorted. */
static size_t list_offered(struct mpk_span graph, uint32_t *out)
{
	uint32_t list = 0;
	size_t n = 0;

	for (size_t at = 0; at + ROW_BYTES <= graph.len; at += ROW_BYTES) {
		struct row r = row_at(graph, at);

		if (!r.caller)
			list = r.callee;
		else if (list == OFFERED)
			out[n++] = r.callee;
	}
	if (n)
		qsort(out, n, sizeof *out, by_number);
	return n;
}

enum mpk_code mpk_cubin_stack_calls(struct mpk_span graph,
				    struct mpk_cubin_stack *(*at)(void *arg, uint32_t symbol),
				    void *arg, struct mpk_error *err)
{
	uint32_t *offered = malloc(graph.len / ROW_BYTES * sizeof *offered + 1);
	uint32_t list = 0;
	size_t count;

	if (!offered)
		mpk_memory_failed(); /* or it would look like broken code */
	MPK_TRY_ALLOC(offered, err);
	count = list_offered(graph, offered);
	for (size_t i = 0; i + ROW_BYTES <= graph.len; i += ROW_BYTES) {
		struct row r = row_at(graph, i);
		struct mpk_cubin_stack *s;

		if (!r.caller)
			list = r.callee;
		s = r.caller && (list == CALLS || list == INDIRECT) ? at(arg, r.caller) : NULL;
		if (!s)
			continue;
		s->calls = true;
		s->calls_out |= list == INDIRECT &&
				!bsearch(&r.callee, offered, count, sizeof *offered, by_number);
	}
	free(offered);
	return MPK_OK;
}

/* The sum counts where there is one; a frame alone only for a kernel that calls nothing. */
bool mpk_cubin_stack_bytes(const struct mpk_cubin_stack *s, uint32_t *out)
{
	uint32_t bytes = s->has_total ? s->total : s->frame;

	if (s->has_total ? s->total == UNTOLD : !s->has_frame || s->calls)
		return false;
	if (s->calls_out || s->inner > bytes)
		return false;
	*out = bytes;
	return true;
}
