/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - the attributes of .nv.info sections: one after the other, in four forms; and what they and the graph
 * of calls say of a kernel's stack
 *
 * NVIDIA publishes neither the format nor the numbers; FORMAT.md 4 has what is known. An unknown
 * attribute can be passed over, as its form tells its length; an unknown form cannot, and ends the
 * reading.
 */
#include "cubin/internal/cubin.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"

/* FORMAT.md 4: how long an attribute is */
enum form { FORM_NONE = 1, FORM_U8 = 2, FORM_U16 = 3, FORM_LIST = 4 };

/* The cursor stays where it was when the attribute does not read. */
enum mpk_code mpk_cubin_attribute_next(struct mpk_cursor *c, struct mpk_cubin_attribute *out,
				       struct mpk_error *err)
{
	struct mpk_cubin_attribute a = { .off = mpk_cursor_offset(c) };
	struct mpk_cursor at = *c;
	uint8_t form;

	MPK_TRY(mpk_read_u8(&at, "cubin: attribute form", &form, err));
	MPK_TRY(mpk_read_u8(&at, "cubin: attribute", &a.id, err));
	MPK_TRY(mpk_read_u16(&at, "cubin: attribute value", &a.value, err));
	if (form < FORM_NONE || form > FORM_LIST)
		return mpk_fail_offset(err, MPK_E_CORRUPT, c->space, a.off,
				       "cubin: attribute 0x%02x has the unknown form %u", a.id,
				       form);
	if (form == FORM_LIST) {
		MPK_TRY(mpk_read_bytes(&at, "cubin: attribute list", a.value, &a.data, err));
		a.value = 0;
	} else if (form == FORM_U8) {
		a.value &= 0xff;
	}
	*out = a;
	*c = at;
	return MPK_OK;
}

/* Later toolkits make lists longer: more than is wanted is no error. */
enum mpk_code mpk_cubin_attribute_need(const struct mpk_cubin_attribute *a, size_t n,
				       struct mpk_error *err)
{
	if (a->data.len >= n)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", a->off,
			       "cubin: attribute 0x%02x of %zu bytes, at least %zu wanted", a->id,
			       a->data.len, n);
}

/* --- stack ---------------------------------------------------------------------------------
 *
 * Three things tell it: the assembler's or linker's sum, the frames of single functions, and the graph of
 * calls. The sum is what NVIDIA's tools print; of a recursion that was optimized into one section it is
 * 0, though the function has a frame. */

enum { ROW_BYTES = 8 };

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
