/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - the attributes of .nv.info sections, in four forms, and the stack of a kernel, which
 * follows from them and the call graph
 *
 * NVIDIA publishes neither the format nor the numbers; FORMAT.md 4 has what is known. An unknown
 * attribute is skipped, because its form gives its length; an unknown form ends the reading. */
#include "cubin/internal/cubin.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "cubin/cubin.h"
#include "cubin/elf.h"

/* --- The facts about a whole cubin: its architecture, and whether it must be linked ------- */

/* In this file and not in read.c, so that a caller who only needs the target of a file does not
 * link the reader of kernels. */

enum {
	OSABI_V2 = 0x41, /* CUDA 13; 0x33 before */
	FLAG_ARCH_SPECIFIC = 0x800,
};

bool mpk_cubin_is(struct mpk_span bytes)
{
	return bytes.len >= 20 && mpk_span_starts(bytes, "\177ELF") &&
	       mpk_load_u16(bytes.data + 18) == MPK_CUBIN_EM_CUDA;
}

/* Returns the text at an offset in the strings of the note; empty if it lies outside. */
static struct mpk_span note_text(struct mpk_span strings, uint32_t off)
{
	size_t len;

	if (off >= strings.len)
		return (struct mpk_span){ 0 };
	len = strnlen((const char *)strings.data + off, strings.len - off);
	while (len && strings.data[off + len - 1] == ' ')
		len--;
	return mpk_span_of(strings.data + off, len);
}

void mpk_cubin_take_tool_note(struct mpk_span data, struct mpk_cubin *out)
{
	enum { NAME_OFF = 12, DESC_OFF = 24, TEXTS_OFF = DESC_OFF + 24 };
	struct mpk_span texts;

	if (data.len < TEXTS_OFF || memcmp(data.data + NAME_OFF, "NVIDIA Corp", 12) != 0)
		return;
	texts = mpk_span_from(data, TEXTS_OFF);
	out->tool = note_text(texts, mpk_load_u32(data.data + DESC_OFF + 12));
	out->options = note_text(texts, mpk_load_u32(data.data + DESC_OFF + 20));

	/* "-arch sm_100f": ptxas stores its command line. */
	struct mpk_span options = out->options;
	static const char arch[] = "-arch sm_";
	const uint8_t *at =
		options.len ? memmem(options.data, options.len, arch, sizeof arch - 1) : NULL;
	size_t n = at ? (size_t)(at - options.data) + sizeof arch - 1 : options.len;

	while (n < options.len && options.data[n] >= '0' && options.data[n] <= '9')
		n++;
	out->family_specific = n < options.len && options.data[n] == 'f';
}

enum mpk_code mpk_cubin_read_head(struct mpk_span bytes, struct mpk_cubin *out,
				  struct mpk_error *err)
{
	struct mpk_cubin cubin = { 0 };
	struct mpk_cubin_elf elf;
	uint64_t spent = 0;

	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &elf, err));

	cubin.abi = elf.abi;
	cubin.relocatable = elf.type == MPK_CUBIN_ET_REL;
	if (elf.osabi == OSABI_V2) {
		cubin.sm = elf.flags >> 8 & 0xff;
	} else {
		cubin.sm = elf.flags & 0xff;
		cubin.arch_specific = elf.flags & FLAG_ARCH_SPECIFIC;
	}

	for (size_t i = 0; i < elf.section_count; i++) {
		struct mpk_cubin_section s;
		struct mpk_span data;

		MPK_TRY(mpk_cubin_elf_section(&elf, i, &s, err));
		bool is_note = mpk_span_is(s.name, ".note.nv.tkinfo");

		if (!is_note && !mpk_span_is(s.name, ".nv.compat"))
			continue;
		MPK_TRY(mpk_cubin_elf_data(&elf, &s, &data, err));
		MPK_TRY(mpk_cubin_spend(&elf, &spent, data.len, err));
		if (is_note)
			mpk_cubin_take_tool_note(data, &cubin);
		else {
			struct mpk_cursor c = mpk_cursor_of(data, s.off, "payload");
			struct mpk_cubin_attribute a;

			while (mpk_cursor_left(&c)) {
				MPK_TRY(mpk_cubin_attribute_next(&c, &a, err));
				if (a.id == MPK_CUBIN_COMPAT_CLASS)
					cubin.arch_specific = a.value == 1;
			}
		}
	}
	*out = cubin;
	return MPK_OK;
}

/* FORMAT.md 4: how long an attribute is */
enum form { FORM_NONE = 1, FORM_U8 = 2, FORM_U16 = 3, FORM_LIST = 4 };

/* If the attribute does not read, the cursor does not move. */
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

/* Later toolkits write longer lists: extra bytes are not an error. */
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
 * Three sources: the sum of the assembler or linker, the frames of single functions, and the call
 * graph. NVIDIA's tools print the sum. For a recursion that was optimized into one section the sum
 * is 0, although the function has a frame. */

enum { ROW_BYTES = 8 };

/* Lists of the graph begin with a row of symbol 0 and one of these numbers. */
#define CALLS (UINT32_MAX)
#define OFFERED (UINT32_MAX - 1)
#define INDIRECT (UINT32_MAX - 2)

struct row {
	uint32_t caller, callee; /* numbers of symbols; for OFFERED and INDIRECT the callee is a
				  * prototype */
};

/* The caller has checked that a whole row exists. */
static struct row row_at(struct mpk_span graph, size_t at)
{
	return (struct row){ mpk_load_u32(graph.data + at), mpk_load_u32(graph.data + at + 4) };
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Lists the prototypes for which the file has functions, sorted. */
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
		mpk_memory_failed(); /* noted, because otherwise it would look like broken code */
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
