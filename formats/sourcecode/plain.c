/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - removes comments, line continuations and multi-line strings from a source
 *
 * The readers of kernels, parameters and words once skipped comments themselves, and each missed
 * some. Here they are removed once, before anything is read, as a compiler does. Blanks replace
 * them, so that the text keeps its length, and offsets in it are offsets in the file. */
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "sourcecode/internal/sourcecode.h"
#include "sourcecode/sourcecode.h"

/* A text that is being cleaned. Parts that a backslash joins are put together, and blanks follow. */
struct cleaner {
	struct mpk_span in;
	uint8_t *out;
	size_t put;        /* bytes written to out */
	size_t newlines;   /* line ends read and not written yet: put + newlines is the number of
			  * bytes read */
	bool nests;        /* comments may contain comments: WGSL */
	bool in_directive; /* in a preprocessor line, whose end counts */
	bool begins_line;
	/* A search that reached the end of the text is not repeated. */
	bool endless_comment, endless_raw;
	size_t endless_string; /* no quote before this offset begins a string */
};

/* Returns the offset after the backslash-newlines at i; i: there is none. */
static size_t skip_joints(struct mpk_span s, size_t i)
{
	for (;;) {
		if (i + 1 < s.len && s.data[i] == '\\' && s.data[i + 1] == '\n')
			i += 2;
		else if (i + 2 < s.len && s.data[i] == '\\' && s.data[i + 1] == '\r' &&
			 s.data[i + 2] == '\n')
			i += 3;
		else
			return i;
	}
}

/* Returns the character at *i after backslash-newlines, and moves *i to it; -1 at the end. */
static int char_at(const struct cleaner *c, size_t *i)
{
	*i = c->nests ? *i : skip_joints(c->in, *i);
	return *i < c->in.len ? c->in.data[*i] : -1;
}

static void put_newlines(struct cleaner *c)
{
	memset(c->out + c->put, '\n', c->newlines);
	c->put += c->newlines;
	c->newlines = 0;
}

/* Writes the text from i to end as blanks and line ends; the line ends of a directive are written
 * after it. */
static void put_blanks(struct cleaner *c, size_t i, size_t end)
{
	for (; i < end; i++) {
		bool newline = c->in.data[i] == '\n';

		if (newline && c->in_directive)
			c->newlines++;
		else
			c->out[c->put++] = newline ? '\n' : ' ';
	}
}

/* Returns the end of the comment whose slash is at i; second is the offset of its second character. */
static size_t comment_end(struct cleaner *c, size_t second)
{
	bool line = c->in.data[second] == '/';
	size_t i = second + 1, depth = 1;
	int sign;

	while ((sign = char_at(c, &i)) >= 0 && !(line && sign == '\n')) {
		size_t next = i + 1;
		int follows = char_at(c, &next);

		i++;
		if (line || !((sign == '*' && follows == '/') ||
			      (c->nests && sign == '/' && follows == '*')))
			continue;
		i = next + 1;
		depth += sign == '/' ? 1 : (size_t)-1;
		if (!depth)
			return i;
	}
	c->endless_comment |= !line; /* An endless comment stays, so that the reader of the text
				      * reports it. */
	return line ? i : SIZE_MAX;
}

/* Returns the end of the string that begins at i; SIZE_MAX: it does not end in its line, so it is
 * not a string. */
static size_t string_end(struct cleaner *c, size_t i)
{
	int quote = c->in.data[i], sign;

	if (i < c->endless_string)
		return SIZE_MAX;

	for (i++; (sign = char_at(c, &i)) >= 0 && sign != '\n'; i++) {
		if (sign == quote)
			return i + 1;
		if (sign == '\\' && ++i && char_at(c, &i) < 0)
			break;
	}
	c->endless_string = i;
	return SIZE_MAX;
}

/* Returns the end of R"end( ... )end" in C++; SIZE_MAX: it is not a raw string. */
static size_t raw_end(struct cleaner *c, size_t i)
{
	enum { DELIMITER_MAX = 16 };
	struct mpk_span s = c->in;
	size_t from = i + 1, n = 0;
	const uint8_t *at;
	char close[DELIMITER_MAX + 2] = ")";

	if (c->endless_raw || !i || s.data[i - 1] != 'R' || s.data[i] != '"')
		return SIZE_MAX;
	while (n <= DELIMITER_MAX && from + n < s.len && s.data[from + n] != '(' &&
	       s.data[from + n] > ' ')
		n++;
	if (n > DELIMITER_MAX || from + n >= s.len || s.data[from + n] != '(')
		return SIZE_MAX;
	memcpy(close + 1, s.data + from, n);
	close[n + 1] = '"';
	at = memmem(s.data + from + n, s.len - from - n, close, n + 2);
	c->endless_raw = !at;
	return at ? (size_t)(at - s.data) + n + 2 : SIZE_MAX;
}

/* Joins the parts of a name or a number; 1'000 is one number. */
static size_t sourcecode_put_word(struct cleaner *c, size_t i)
{
	size_t from = i, end = i, put = c->put, next = i;
	bool number = c->in.data[i] >= '0' && c->in.data[i] <= '9';
	int sign;

	while ((sign = char_at(c, &next)) >= 0 &&
	       (mpk_source_code_is_name((uint8_t)sign) ||
		(number && sign == '\'' && next + 1 < c->in.len &&
		 mpk_source_code_is_word(c->in.data[next + 1])))) {
		c->out[c->put++] = (uint8_t)sign;
		end = ++next;
	}
	/* as many blanks as bytes were removed */
	for (size_t k = from; k < end; k++)
		c->newlines += c->in.data[k] == '\n';
	while (c->put - put + c->newlines < end - from)
		c->out[c->put++] = ' ';
	if (!c->in_directive)
		put_newlines(c);
	return end;
}

static size_t sourcecode_put_comment(struct cleaner *c, size_t i)
{
	size_t second = i + 1, end = SIZE_MAX;
	int sign = char_at(c, &second);

	if (sign == '/' || (sign == '*' && !c->endless_comment))
		end = comment_end(c, second);
	if (end != SIZE_MAX) {
		put_blanks(c, i, end);
		return end;
	}
	c->out[c->put++] = '/';
	c->begins_line = false;
	return i + 1;
}

/* Writes what begins at i. Returns its end. */
static size_t put_next(struct cleaner *c, size_t i)
{
	size_t joined = c->nests ? i : skip_joints(c->in, i);
	uint8_t sign = c->in.data[i];

	if (joined != i) {
		put_blanks(c, i, joined);
		return joined;
	}
	if (sign == '/')
		return sourcecode_put_comment(c, i);
	c->in_directive |= sign == '#' && c->begins_line && !c->nests;
	c->begins_line = sign == '\n' || (c->begins_line && (sign == ' ' || sign == '\t'));
	if (sign == '\n') {
		put_newlines(c);
		c->in_directive = false;
	}
	if ((sign == '"' || sign == '\'') && !c->nests) {
		/* A string keeps its bytes; a multi-line string becomes empty. */
		size_t end = raw_end(c, i);
		bool raw = end != SIZE_MAX;

		if (!raw)
			end = string_end(c, i);
		if (end == SIZE_MAX)
			end = i + 1;
		if (!raw && !memchr(c->in.data + i, '\n', end - i)) {
			memcpy(c->out + c->put, c->in.data + i, end - i);
			c->put += end - i;
			return end;
		}
		c->out[c->put++] = '"';
		c->out[c->put++] = '"';
		put_blanks(c, i + 2, end);
		return end;
	}
	if (mpk_source_code_is_name(sign))
		return sourcecode_put_word(c, i);
	c->out[c->put++] = sign;
	return i + 1;
}

static bool sourcecode_is_plain(struct mpk_span s)
{
	static const char *const signs[] = { "//", "/*", "\\\n", "\\\r\n", "R\"" };

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (mpk_span_has(s, signs[i]))
			return false;
	return true;
}

enum mpk_code mpk_source_code_plain(struct mpk_span text, bool nests, struct mpk_arena *arena,
				    struct mpk_span *out, struct mpk_error *err)
{
	struct cleaner c = { .in = text, .nests = nests, .begins_line = true };

	*out = text;
	if (!text.len || sourcecode_is_plain(text))
		return MPK_OK;
	c.out = mpk_arena_alloc(arena, text.len);
	MPK_TRY_ALLOC(c.out, err);
	for (size_t i = 0; i < text.len;)
		i = put_next(&c, i);
	put_newlines(&c);
	*out = mpk_span_of(c.out, c.put);
	return MPK_OK;
}

/* --- one text that holds a program for each kernel -------------------------------------------- */

/* TVM's OpenCL and Metal back ends write "// Function: NAME" before the program of each kernel and
 * build the programs one by one (src/runtime/opencl/opencl_module.cc, SplitKernels). So several
 * programs may define a kernel; the one that runs is that of the program with its name. */

/* Returns the offset of the next delimiter from off on; the length of the text: none. */
static size_t find_delimiter(struct mpk_span s, size_t off)
{
	const uint8_t *p = memmem(s.data + off, s.len - off, MPK_SOURCE_CODE_DELIMITER,
				  strlen(MPK_SOURCE_CODE_DELIMITER));

	return p ? (size_t)(p - s.data) : s.len;
}

/* Returns the piece whose delimiter is at off. */
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
	MPK_TRY_ARRAY(list, arena, n, err);
	for (size_t off = n ? find_delimiter(bytes, 0) : 0; i < n; i++) {
		list[i] = piece_at(bytes, off);
		off = list[i].off + list[i].text.len;
	}
	*pieces = list;
	*count = n;
	return MPK_OK;
}

/* The names of kernels, and the program that each is taken from. */
struct choice {
	struct mpk_strmap names;
	size_t *programs; /* for each name; SIZE_MAX: the text before all programs; malloc'ed */
	bool *own;        /* for each name: it is the name of that program; malloc'ed */
};

static void choice_fini(struct choice *c)
{
	mpk_strmap_fini(&c->names);
	free(c->programs);
	free(c->own);
}

/* Kernels come in text order, so the search continues where the last one ended. */
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

/* Chooses the first program that defines a kernel, unless another one has its name. */
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

/* Writes the kernels of the chosen programs to list, unless it is NULL. */
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

/* A text with at most one delimiter is a single program, which defines nothing twice. */
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
	MPK_TRY_ARRAY(list, arena, kept, err);
	s->kernel_count = sourcecode_keep(&c, s, pieces, count, list);
	s->kernels = list;
	return MPK_OK;
}
