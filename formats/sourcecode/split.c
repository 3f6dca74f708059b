/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - one text that holds a program for each kernel, taken apart at TVM's delimiters
 *
 * TVM's OpenCL and Metal back ends put "// Function: NAME" in front of each kernel's program and
 * build the programs one by one (src/runtime/opencl/opencl_module.cc, SplitKernels). A kernel may
 * therefore be defined in several programs, and the one that is run is that of the program with its
 * name.
 */
#include "sourcecode/sourcecode.h"

#include <stdlib.h>

#include "base/strmap.h"
#include "base/vec.h"

/* The offset of the next delimiter from off on, or the length of the text. */
static size_t find_delimiter(struct mpk_span s, size_t off)
{
	const uint8_t *p = memmem(s.data + off, s.len - off, MPK_SOURCE_CODE_DELIMITER,
				  strlen(MPK_SOURCE_CODE_DELIMITER));

	return p ? (size_t)(p - s.data) : s.len;
}

/* The piece whose delimiter is at off. */
static struct mpk_source_code_piece piece_at(struct mpk_span s, size_t off)
{
	size_t name = off + strlen(MPK_SOURCE_CODE_DELIMITER);
	const uint8_t *newline = memchr(s.data + name, '\n', s.len - name);
	size_t line_end = newline ? (size_t)(newline - s.data) : s.len;
	size_t text = newline ? line_end + 1 : s.len;

	return (struct mpk_source_code_piece){
		.name = mpk_span_of(s.data + name, line_end - name),
		.text = mpk_span_of(s.data + text, find_delimiter(s, text) - text),
		.off = text,
	};
}

enum mpk_code mpk_source_code_split(struct mpk_span bytes, struct mpk_arena *arena,
				    const struct mpk_source_code_piece **pieces, size_t *count,
				    struct mpk_error *err)
{
	struct mpk_source_code_piece *list;
	size_t n = 0, i = 0;

	if (bytes.len)
		for (size_t off = find_delimiter(bytes, 0); off < bytes.len; n++) {
			struct mpk_source_code_piece p = piece_at(bytes, off);

			off = p.off + p.text.len;
		}
	list = mpk_arena_array(arena, n, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t off = n ? find_delimiter(bytes, 0) : 0; i < n; i++) {
		list[i] = piece_at(bytes, off);
		off = list[i].off + list[i].text.len;
	}
	*pieces = list;
	*count = n;
	return MPK_OK;
}

/* --- kernels of programs ------------------------------------------------------------------ */

/* Names of kernels, and the program that each is taken from. */
struct choice {
	struct mpk_strmap names;
	size_t *programs; /* of the names, SIZE_MAX: in front of all; malloc'ed */
	bool *own;        /* it is the program of that name; malloc'ed */
};

static void choice_fini(struct choice *c)
{
	mpk_strmap_fini(&c->names);
	free(c->programs);
	free(c->own);
}

/* Kernels come in the order of the text, so the search goes on where it was. */
static size_t program_at(const struct mpk_source_code_piece *pieces, size_t count, size_t off,
			 size_t from)
{
	size_t i = from == SIZE_MAX ? 0 : from;

	while (i + 1 < count && pieces[i + 1].off <= off)
		i++;
	return count && pieces[i].off <= off ? i : SIZE_MAX;
}

/* Names are views of the plain text, which is as long as the original. */
static size_t offset_of(const struct mpk_source_code *s, size_t kernel)
{
	return (size_t)(s->kernels[kernel].name.data - s->plain.data);
}

/* The first program that defines a kernel, unless another one is called by its name. */
static enum mpk_code sourcecode_choose(struct choice *c, const struct mpk_source_code *s,
				       const struct mpk_source_code_piece *pieces, size_t count,
				       struct mpk_error *err)
{
	size_t program = SIZE_MAX, name;

	c->programs = calloc(s->kernel_count, sizeof *c->programs);
	c->own = calloc(s->kernel_count, sizeof *c->own);
	if (!c->programs || !c->own)
		mpk_memory_failed();
	MPK_TRY_ALLOC(c->programs && c->own, err);
	for (size_t i = 0; i < s->kernel_count; i++) {
		int rc = mpk_strmap_put(&c->names, s->kernels[i].name, c->names.count, &name);
		bool own;

		MPK_TRY_ALLOC(rc >= 0, err);
		program = program_at(pieces, count, offset_of(s, i), program);
		own = program != SIZE_MAX &&
		      mpk_span_equal(pieces[program].name, s->kernels[i].name);
		if (rc || (own && !c->own[name]))
			c->programs[name] = program;
		c->own[name] |= own;
	}
	return MPK_OK;
}

/* Those of the chosen programs, into list unless it is NULL. */
static size_t sourcecode_keep(const struct choice *c, const struct mpk_source_code *s,
			      const struct mpk_source_code_piece *pieces, size_t count,
			      struct mpk_source_code_kernel *list)
{
	size_t kept = 0, program = SIZE_MAX, name;

	for (size_t i = 0; i < s->kernel_count; i++) {
		program = program_at(pieces, count, offset_of(s, i), program);
		if (!mpk_strmap_find(&c->names, s->kernels[i].name, &name) ||
		    c->programs[name] != program)
			continue;
		if (list)
			list[kept] = s->kernels[i];
		kept++;
	}
	return kept;
}

/* A text without delimiters, or with one, is a single program: nothing can be there twice. */
enum mpk_code mpk_source_code_drop_copies(struct mpk_source_code *s, struct mpk_span bytes,
					  struct mpk_arena *arena, struct mpk_error *err)
{
	MPK_CLEANUP(choice_fini) struct choice c = { 0 };
	const struct mpk_source_code_piece *pieces;
	struct mpk_source_code_kernel *list;
	size_t count, kept;

	MPK_TRY(mpk_source_code_split(bytes, arena, &pieces, &count, err));
	if (count < 2 || !s->kernel_count)
		return MPK_OK;
	MPK_TRY(sourcecode_choose(&c, s, pieces, count, err));
	kept = sourcecode_keep(&c, s, pieces, count, NULL);
	list = mpk_arena_array(arena, kept, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	s->kernel_count = sourcecode_keep(&c, s, pieces, count, list);
	s->kernels = list;
	return MPK_OK;
}
