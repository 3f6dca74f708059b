/* SPDX-License-Identifier: Apache-2.0 */
/* sass.c - adds instruction counts and scheduling to the output of nvdisasm, and counts to PTX
 *
 * nvdisasm prints only the instructions. Their scheduling, and the counts for each kernel and each
 * source line, are read from the same bytes. The counts come first, so that the most expensive
 * source line is easy to find. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cubin/cubin.h"
#include "disasm/internal/job.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum { LINES_SHOWN = 20, INSTRUCTION = 16 };

/* --- lines of nvdisasm ---------------------------------------------------------------------------- */

/* Returns the next line without its line feed. */
static struct mpk_span sass_next_line(struct mpk_span text, size_t *at)
{
	const uint8_t *end = memchr(text.data + *at, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - text.data) - *at : text.len - *at;
	struct mpk_span line = mpk_span_of(text.data + *at, len);

	*at += len + (end != NULL);
	return line;
}

/* Returns ".text.NAME" of a line "//------- .text.NAME ------"; empty for other lines. */
static struct mpk_span section_of(struct mpk_span line)
{
	struct mpk_span none = { 0 };
	size_t from = 0, len = 0;

	if (!mpk_span_starts(line, "//-----"))
		return none;
	while (from < line.len && line.data[from] != ' ')
		from++;
	while (from + 1 + len < line.len && line.data[from + 1 + len] != ' ')
		len++;
	return len ? mpk_span_of(line.data + from + 1, len) : none;
}

/* Parses the address in the comment in front of an instruction; *rest is the offset behind it. */
static bool address_of(struct mpk_span line, uint64_t *address, size_t *rest)
{
	uint64_t n = 0;
	size_t at = 0, digits;

	while (at < line.len && (line.data[at] == ' ' || line.data[at] == '\t'))
		at++;
	if (at + 2 > line.len || memcmp(line.data + at, "/*", 2) != 0)
		return false;
	at += 2;
	for (digits = 0; at < line.len && digits < 12; at++, digits++) {
		static const char hex[] = "0123456789abcdef";
		const char *digit = line.data[at] ? strchr(hex, line.data[at]) : NULL;

		if (!digit)
			break;
		n = n << 4 | (uint64_t)(digit - hex);
	}
	if (!digits || at + 2 > line.len || memcmp(line.data + at, "*/", 2) != 0)
		return false;
	*address = n;
	*rest = at + 2;
	return true;
}

/* Returns the name of the function whose code a section holds; empty if it holds none. */
static struct mpk_span name_of_section(struct mpk_span section)
{
	static const char prefix[] = ".text.";
	const size_t skip = sizeof prefix - 1;

	return mpk_span_starts(section, prefix) ? mpk_span_from(section, skip)
						: mpk_span_of(NULL, 0);
}

/* Returns the code of a section: of a kernel or of another function. */
static struct mpk_span code_of_section(const struct mpk_listing *l, struct mpk_span section)
{
	struct mpk_span name = name_of_section(section);
	size_t kernel;

	if (!name.len)
		return name;
	if (mpk_code_info_find(l->code, name, &kernel))
		return mpk_code_of_kernel(l->code, kernel);
	return mpk_cubin_code(l->code->bytes, section);
}

/* --- how an instruction is scheduled ------------------------------------------------------------------ */

static char barrier_digit(uint8_t barrier)
{
	return barrier < 7 ? (char)('0' + barrier) : '-';
}

/* Writes "B0-----:R-:W2:-:S04", the usual notation. */
static void put_control(const struct mpk_cubin_control *c, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, 'B');
	for (unsigned i = 0; i < 6; i++)
		mpk_strbuf_putc(out, c->wait >> i & 1 ? (char)('0' + i) : '-');
	mpk_strbuf_printf(out, ":R%c:W%c:%c:S%02u", barrier_digit(c->read), barrier_digit(c->write),
			  c->yield ? 'Y' : '-', (unsigned)c->stall);
}

static const char legend[] =
	"// B: waits until these barriers are down; R, W: raises one until operands are read, results written;\n"
	"// Y: another warp may go first; S: cycles until the next instruction may be issued\n";

/* --- figures of a kernel --------------------------------------------------------------------------------- */

static const char *name_in(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash[1] ? slash + 1 : file;
}

/* Whether two files in the list have the same name without folders, so that paths are needed. */
static bool has_namesakes(const struct mpk_work_lines *lines)
{
	for (size_t i = 1; i < lines->count; i++)
		for (size_t k = i; k-- > 0 && i - k < LINES_SHOWN;)
			if (strcmp(lines->items[i].file, lines->items[k].file) != 0 &&
			    strcmp(name_in(lines->items[i].file), name_in(lines->items[k].file)) ==
				    0)
				return true;
	return false;
}

static void put_cells(struct mpk_table *t, const struct mpk_work_line *line, uint32_t all,
		      bool has_stall, bool whole)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf rest = { 0 }, file = { 0 };

	mpk_work_put_rest(&line->work, &rest);
	mpk_escape(&file, mpk_span_str(whole ? line->file : name_in(line->file)));
	mpk_table_row(t);
	mpk_table_cell(t, "%" PRIu32, line->work.all);
	mpk_table_cell(t, 200 * (uint64_t)line->work.all < all ? "<1 %%" : "%" PRIu64 " %%",
		       (200 * (uint64_t)line->work.all + all) / (2 * (uint64_t)all));
	if (has_stall)
		mpk_table_cell(t, "%" PRIu32, line->work.stall_cycles);
	mpk_table_cell(t, "%s:%" PRIu32, mpk_strbuf_text(&file), line->line);
	mpk_table_cell(t, "%s", mpk_strbuf_text(&rest));
	t->failed |= rest.failed || file.failed;
}

/* Writes the lines with the most instructions, in order of the source. */
static void put_lines(const struct mpk_work *work, struct mpk_work_lines *lines, bool all,
		      struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_table_fini) struct mpk_table t = { .right = work->has_stall ? 7 : 3 };
	size_t shown = all || lines->count <= LINES_SHOWN ? lines->count : LINES_SHOWN;
	bool whole = has_namesakes(lines);
	uint64_t left = 0;

	qsort(lines->items, lines->count, sizeof *lines->items, mpk_work_heaviest);
	mpk_table_row(&t);
	mpk_table_cell(&t, "instructions");
	mpk_table_cell(&t, "share");
	if (work->has_stall)
		mpk_table_cell(&t, "stall cycles");
	mpk_table_cell(&t, "source line");
	mpk_table_cell(&t, "of them");
	for (size_t i = 0; i < shown; i++)
		put_cells(&t, &lines->items[i], work->all, work->has_stall, whole);
	mpk_table_print(&t, "// ", out);
	for (size_t i = shown; i < lines->count; i++)
		left += lines->items[i].work.all;
	if (left)
		mpk_strbuf_printf(out,
				  "// and %zu more lines with %" PRIu64
				  " instructions; --verbose shows them\n",
				  lines->count - shown, left);
}

void mpk_disasm_put_figures(const struct mpk_listing *l, struct mpk_span code, bool all,
			    struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_work_lines lines;
	struct mpk_work work;

	if (!code.len || !l->code->format->count_work(l->code, code, &work))
		return;
	mpk_strbuf_puts(out, "// ");
	mpk_work_put(&work, out);
	if (work.has_stall)
		mpk_strbuf_printf(out, "; %" PRIu32 " stall cycles", work.stall_cycles);
	mpk_strbuf_putc(out, '\n');
	if (mpk_work_lines(l->code, code, l->rows, &arena, &lines, NULL) != MPK_OK)
		out->failed = true;
	else if (lines.count && work.all)
		put_lines(&work, &lines, all, out);
}

/* --- text ---------------------------------------------------------------------------------------------------- */

/* Removes the 19 blanks that nvdisasm writes before an instruction, where its predicate also
 * stands. */
static struct mpk_span without_margin(struct mpk_span line)
{
	enum { MARGIN = 12 };
	size_t n = 0;

	while (n < line.len && n < MARGIN && line.data[n] == ' ')
		n++;
	return mpk_span_from(line, n);
}

static void put_sass(const struct mpk_listing *l, struct mpk_span text, bool all,
		     struct mpk_strbuf *out)
{
	struct mpk_span code = { 0 };
	bool is_known = l->code->sm >= 70, is_told = false;

	for (size_t at = 0; at < text.len && !out->failed;) {
		struct mpk_span line = sass_next_line(text, &at), section = section_of(line), bytes;
		struct mpk_cubin_control control;
		uint64_t address;
		size_t rest;

		if (section.len) {
			mpk_escape_lines(out, line);
			mpk_strbuf_putc(out, '\n');
			code = code_of_section(l, section);
			mpk_disasm_put_figures(l, code, all, out);
			mpk_strbuf_puts(out, code.len && is_known && !is_told ? legend : "");
			is_told |= code.len > 0;
			continue;
		}
		if (is_known && address_of(line, &address, &rest) &&
		    mpk_span_sub(code, address, INSTRUCTION, &bytes)) {
			control = mpk_cubin_control(bytes.data);
			mpk_escape_lines(out, mpk_span_of(line.data, rest));
			mpk_strbuf_puts(out, "  ");
			put_control(&control, out);
			line = without_margin(mpk_span_from(line, rest));
			mpk_strbuf_puts(out, line.len && line.data[0] == ' ' ? "" : "  ");
		}
		mpk_escape_lines(out, line);
		mpk_strbuf_putc(out, '\n');
	}
}

/* Finds the only kernel of a text; false if there are several, or none. */
static bool only_kernel(const struct mpk_listing *l, size_t *kernel)
{
	if (l->name.len)
		return mpk_code_info_find(l->code, l->name, kernel);
	*kernel = 0;
	return l->code->kernel_count == 1;
}

void mpk_disasm_put_code(const struct mpk_listing *l, bool all, struct mpk_strbuf *out)
{
	struct mpk_span text = l->text;
	size_t kernel;

	while (text.len && text.data[text.len - 1] <= ' ')
		text.len--;
	if (!l->code->format->is_text) {
		put_sass(l, text, all, out);
		return;
	}
	if (only_kernel(l, &kernel))
		mpk_disasm_put_figures(l, mpk_code_of_kernel(l->code, kernel), all, out);
	mpk_escape_lines(out, text);
	mpk_strbuf_putc(out, '\n');
}

/* --- JSON ------------------------------------------------------------------------------------------------------ */

static const struct mpk_fact control_facts[] = {
	{ MPK_FACT(COUNT, "stall", struct mpk_cubin_control, stall,
		   "cycles until the next instruction may be issued") },
	{ MPK_FACT(BOOL, "yield", struct mpk_cubin_control, yield, "another warp may go first") },
};

static void put_bits(struct mpk_json *j, struct mpk_json_at *at, const char *key, unsigned bits)
{
	struct mpk_json_at *list = mpk_json_array(j, at, key);

	for (unsigned i = 0; bits >> i; i++)
		if (bits >> i & 1)
			mpk_json_u64(j, list, NULL, i);
}

static void put_barrier(struct mpk_json *j, struct mpk_json_at *at, const char *key,
			uint8_t barrier)
{
	if (barrier < 7)
		mpk_json_u64(j, at, key, barrier);
	else
		mpk_json_null(j, at, key);
}

static void control_json(const struct mpk_cubin_control *c, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "control");

	mpk_facts_json(MPK_FACTS(control_facts), c, j, o);
	put_barrier(j, o, "read_barrier", c->read);
	put_barrier(j, o, "write_barrier", c->write);
	put_bits(j, o, "wait", c->wait);
	put_bits(j, o, "reuse", c->reuse);
}

/* Writes an instruction of nvdisasm: its address in the section, its text, its source line if that
 * changed. */
static void put_instruction_json(const struct mpk_listing *l, struct mpk_span code,
				 uint64_t address, struct mpk_span text,
				 const struct mpk_dwarf_row **last, struct mpk_json *j,
				 struct mpk_json_at *list)
{
	uint64_t off = (uint64_t)(code.data - l->code->bytes.data) + address;
	const struct mpk_dwarf_row *row = mpk_code_row_at(l->rows, off);
	struct mpk_cubin_control control = mpk_cubin_control(code.data + address);
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);

	text = mpk_span_trim(text);
	if (text.len && text.data[text.len - 1] == ';')
		text = mpk_span_trim(mpk_span_of(text.data, text.len - 1));
	mpk_json_u64(j, o, "address", address);
	mpk_json_u64(j, o, "bytes", INSTRUCTION);
	mpk_json_span(j, o, "text", text);
	if (row &&
	    (!*last || (*last)->line != row->line || strcmp((*last)->file, row->file) != 0)) {
		struct mpk_strbuf source = { 0 };

		mpk_escape(&source, mpk_span_str(row->file));
		mpk_strbuf_printf(&source, ":%" PRIu32, row->line);
		mpk_json_take(j, o, "source", &source);
	}
	*last = row;
	control_json(&control, j, o);
}

static void lines_json(const struct mpk_listing *l, struct mpk_span code, struct mpk_json *j,
		       struct mpk_json_at *at)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_work_lines lines;
	struct mpk_json_at *list, *o;

	if (mpk_work_lines(l->code, code, l->rows, &arena, &lines, NULL) != MPK_OK) {
		j->failed = true;
		return;
	}
	list = mpk_json_array(j, at, "lines");
	for (size_t i = 0; i < lines.count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "file", lines.items[i].file);
		mpk_json_u64(j, o, "line", lines.items[i].line);
		mpk_work_json(&lines.items[i].work, j, mpk_json_object(j, o, "instructions"));
	}
}

struct mpk_json_at *mpk_disasm_kernel_json(const struct mpk_listing *l, struct mpk_span name,
					   struct mpk_span code, struct mpk_json *j,
					   struct mpk_json_at *list)
{
	struct mpk_json_at *o;
	struct mpk_work work;

	if (!code.len || !l->code->format->count_work(l->code, code, &work))
		return NULL;
	o = mpk_json_object(j, list, NULL);
	mpk_json_span(j, o, "name", name);
	mpk_work_json(&work, j, mpk_json_object(j, o, "instructions"));
	lines_json(l, code, j, o);
	return o;
}

/* Reads the lines of each section. */
static void sass_json(const struct mpk_listing *l, struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *kernel = NULL, *instructions = NULL;
	const struct mpk_dwarf_row *last = NULL;
	struct mpk_span code = { 0 };

	for (size_t at = 0; at < l->text.len && !j->failed;) {
		struct mpk_span line = sass_next_line(l->text, &at), section = section_of(line);
		struct mpk_span bytes;
		uint64_t address;
		size_t rest;

		if (section.len) {
			code = code_of_section(l, section);
			kernel = mpk_disasm_kernel_json(l, name_of_section(section), code, j, list);
			instructions = NULL;
			last = NULL;
			continue;
		}
		if (!kernel || !address_of(line, &address, &rest) ||
		    !mpk_span_sub(code, address, INSTRUCTION, &bytes))
			continue;
		if (!instructions)
			instructions = mpk_json_array(j, kernel, "listing");
		put_instruction_json(l, code, address, mpk_span_from(line, rest), &last, j,
				     instructions);
	}
}

void mpk_disasm_code_json(const struct mpk_listing *l, struct mpk_json *j, struct mpk_json_at *o)
{
	struct mpk_json_at *list = mpk_json_array(j, o, "kernels");

	if (!l->code->format->is_text) {
		sass_json(l, j, list);
		return;
	}
	for (size_t i = 0; i < l->code->kernel_count; i++)
		if (!l->name.len || mpk_span_equal(l->name, l->code->kernels[i].name))
			(void)mpk_disasm_kernel_json(l, l->code->kernels[i].name,
						     mpk_code_of_kernel(l->code, i), j, list);
}
