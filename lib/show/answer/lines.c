/* SPDX-License-Identifier: Apache-2.0 */
/* Makes finished lines readable: demangles C++ symbols and breaks long lines where arguments end.
 * All output passes through this filter, so no printer has to know the width of the terminal. */
#include "answer/answer.h"

#include <string.h>

#include "itanium/itanium.h"

enum { NAME_WIDTH = 96, INDENT = 4, PIECE = 64 << 10 };

static bool lines_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

/* Whether a line is a command that users paste into a shell. */
static bool is_command(struct mpk_span line)
{
	size_t at = 0;

	while (at < line.len && line.data[at] == ' ')
		at++;
	line = mpk_span_from(line, at);
	return mpk_span_starts(line, "minspect ") || mpk_span_starts(line, "mpack ");
}

/* --- names of C++ ------------------------------------------------------------------------------ */

bool mpk_symbol_name(struct mpk_span symbol, bool has_params, size_t width, struct mpk_strbuf *out)
{
	static const struct mpk_demangle_form forms[] = {
		{ .deepest = 0 },
		{ .no_params = true },
		{ .no_params = true, .deepest = 2 },
		{ .no_params = true, .deepest = 1 },
	};
	size_t len = out->len;

	for (size_t i = has_params; i < MPK_ARRAY_COUNT(forms); i++) {
		out->len = len;
		if (!mpk_demangle(symbol, forms[i], out))
			return false;
		if (out->len - len <= width)
			break;
	}
	return true;
}

/* Returns the end of the symbol that begins at begin. Suffixes of compiler clones contain dots, but
 * a dot at the very end ends the sentence. */
static size_t symbol_end(struct mpk_span line, size_t begin)
{
	size_t at = begin;

	while (at < line.len &&
	       (lines_is_word((char)line.data[at]) || (line.data[at] == '.' && at + 1 < line.len &&
						       lines_is_word((char)line.data[at + 1]))))
		at++;
	return at;
}

static void put_names(struct mpk_span line, struct mpk_strbuf *out)
{
	size_t from = 0, at = 0;

	while (at + 2 < line.len) {
		const uint8_t *found = memmem(line.data + at, line.len - at, "_Z", 2);
		size_t begin = found ? (size_t)(found - line.data) : line.len, end;
		char before = begin && found ? (char)line.data[begin - 1] : ' ';

		if (!found)
			break;
		end = symbol_end(line, begin);
		at = end > begin ? end : begin + 2;
		if (lines_is_word(before) || before == '#')
			continue;
		mpk_strbuf_put(out, (const char *)line.data + from, begin - from);
		from = begin;
		if (mpk_symbol_name(mpk_span_of(line.data + begin, end - begin),
				    end < line.len && line.data[end] == '(', NAME_WIDTH, out))
			from = end;
	}
	mpk_strbuf_put(out, (const char *)line.data + from, line.len - from);
}

/* --- breaking lines ------------------------------------------------------------------------------ */

/* Returns the bytes of the next unit at s: a colour escape, which has no width, or one
 * character. */
static size_t next(struct mpk_span s, size_t *columns)
{
	size_t n = 1;

	*columns = 1;
	if (s.data[0] == '\033') {
		while (n < s.len && s.data[n] != 'm')
			n++;
		*columns = 0;
		return n < s.len ? n + 1 : n;
	}
	while (n < s.len && (s.data[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t width_of(struct mpk_span s)
{
	size_t width = 0, columns;

	for (size_t at = 0; at < s.len; width += columns)
		at += next(mpk_span_from(s, at), &columns);
	return width;
}

static int depth_after(char c, int depth)
{
	if (c == '(' || c == '[' || c == '{')
		return depth + 1;
	return depth && (c == ')' || c == ']' || c == '}') ? depth - 1 : depth;
}

/* A position where a line can be broken. */
struct place {
	size_t at;
	unsigned cost; /* lower is better */
	bool is_there;
};

/* Keeps the cheaper position; of equal positions, the later one. */
static void keep_better(struct place *best, size_t at, unsigned cost)
{
	if (!best->is_there || cost <= best->cost)
		*best = (struct place){ at, cost, true };
}

/* A blank between arguments or columns costs least, a blank within an argument more. In a command
 * line, a blank in front of an option costs least. */
static unsigned cost_of(struct mpk_span s, size_t at, int depth, bool command)
{
	if (command)
		return at + 1 < s.len && s.data[at + 1] == '-' ? 0 : 4;

	bool is_behind_comma = s.data[at - 1] == ',' || s.data[at - 1] == ';';
	bool is_of_columns = depth == 0 && at + 1 < s.len && s.data[at + 1] == ' ';

	return 2 * (unsigned)(depth > 1 ? depth - 1 : 0) + !(is_behind_comma || is_of_columns);
}

/* Whether at is the first of a run of blanks. */
static bool can_break(struct mpk_span s, size_t at)
{
	return s.data[at] == ' ' && at && s.data[at - 1] != ' ';
}

/* Finds the blank to break at so that at most room columns stand in front of it. Returns s.len if
 * there is none. A blank in the first third of the line would leave a short line, so it is taken
 * only if there is no other.
 * @skip   columns at the beginning that are kept together */
static size_t find_break(struct mpk_span s, size_t skip, size_t room, int depth, bool command)
{
	struct place late = { .at = s.len }, any = late;
	size_t column = 0, columns;
	bool is_quoted = false;

	for (size_t at = 0, n; at < s.len; at += n, column += columns) {
		char c = (char)s.data[at];

		n = next(mpk_span_from(s, at), &columns);
		is_quoted ^= command && c == '\'';
		depth = depth_after(c, depth);
		if (column > room && any.is_there)
			break;
		if (column < skip || is_quoted || !can_break(s, at))
			continue;
		keep_better(&any, at, cost_of(s, at, depth, command));
		if (command || column >= skip + (room - skip) / 3)
			keep_better(&late, at, cost_of(s, at, depth, command));
		if (column > room)
			break;
	}
	return late.is_there ? late.at : any.at;
}

/* Writes the indentation of a continuation line: the line's own leading blanks, and the vertical
 * tree lines that go on.
 * Returns its columns */
static size_t put_indent(struct mpk_span line, struct mpk_strbuf *out)
{
	static const struct {
		const char *from, *to;
	} rows[] = { { " ", " " }, { "│", "│" }, { "├", "│" }, { "└", " " },
		     { "─", " " }, { "|", "|" }, { "`", " " }, { "-", " " } };
	size_t width = 0, at = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		if (!mpk_span_starts(mpk_span_from(line, at), rows[i].from))
			continue;
		mpk_strbuf_puts(out, rows[i].to);
		at += strlen(rows[i].from);
		width++;
		i = SIZE_MAX; /* skip to the next column */
	}
	return width;
}

static void put_wrapped(struct mpk_span line, size_t width, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf begin = { 0 };
	bool command = is_command(line);
	size_t skip = put_indent(line, &begin), further = skip + INDENT, used = 0;
	int depth = 0;

	if (command) /* keep "minspect run" on one line */
		skip += strlen("minspect --");
	while (further + 16 < width && used + width_of(line) > width) {
		size_t room = width - used - (command ? 2 : 0);
		size_t at = find_break(line, skip, room, depth, command);

		if (at == line.len)
			break;
		for (size_t i = 0; i < at; i++)
			depth = depth_after((char)line.data[i], depth);
		mpk_strbuf_put(out, (const char *)line.data, at);
		mpk_strbuf_puts(out, command ? " \\\n" : "\n");
		while (at < line.len && line.data[at] == ' ')
			at++;
		line = mpk_span_from(line, at);
		mpk_strbuf_put(out, begin.data, begin.len);
		mpk_strbuf_printf(out, "%*s", INDENT, "");
		used = further;
		skip = 0;
	}
	mpk_strbuf_put_span(out, line);
}

/* --- all of it ------------------------------------------------------------------------------------ */

static void put_line(struct mpk_lines *l, struct mpk_span line)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf named = { 0 };

	if (!l->mangled && !is_command(line) && mpk_span_has(line, "_Z")) {
		put_names(line, &named);
		if (!named.failed)
			line = mpk_span_of(named.data, named.len);
	}
	/* bytes are never fewer than columns, so a short line needs no count */
	if (l->width && line.len > l->width)
		put_wrapped(line, l->width, &l->out);
	else
		mpk_strbuf_put_span(&l->out, line);
}

static void lines_pass(struct mpk_lines *l)
{
	if (l->out.len)
		l->take(l->out.data, l->out.len, l->arg);
	l->out.len = 0;
}

void mpk_lines_put(const char *text, size_t len, void *lines)
{
	struct mpk_lines *l = lines;
	const char *end;

	while ((end = memchr(text, '\n', len))) {
		size_t n = (size_t)(end - text);

		if (l->begun.len) {
			mpk_strbuf_put(&l->begun, text, n);
			put_line(l, mpk_span_of(l->begun.data, l->begun.len));
			l->begun.len = 0;
		} else {
			put_line(l, mpk_span_of(text, n));
		}
		mpk_strbuf_putc(&l->out, '\n');
		if (l->out.len >= PIECE)
			lines_pass(l);
		text = end + 1;
		len -= n + 1;
	}
	mpk_strbuf_put(&l->begun, text, len);
	lines_pass(l);
}

bool mpk_lines_end(struct mpk_lines *l)
{
	bool is_whole;

	if (l->begun.len)
		put_line(l, mpk_span_of(l->begun.data, l->begun.len));
	lines_pass(l);
	is_whole = !l->begun.failed && !l->out.failed;
	mpk_strbuf_fini(&l->begun);
	mpk_strbuf_fini(&l->out);
	return is_whole;
}
