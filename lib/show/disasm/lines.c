/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - normalises the output of a disassembler, so that two builds of the same source compare
 * equal
 *
 * An added instruction changes all addresses after it, and the numbers of registers, labels and
 * values. Text of nvdisasm, spirv-dis and PTX is read word by word; instructions from LLVM come one
 * by one. */

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "disasm/internal/job.h"
#include "text/escape.h"

/* The language decides how numbers in words are recognised. */
enum language { TEXT, SASS, PTX, SPIRV, AMD, HOST };

static enum language language_of(const struct mpk_listing *l)
{
	static const struct {
		const char *format;
		enum language language;
	} known[] = { { "cubin", SASS }, { "ptx", PTX }, { "spirv", SPIRV } };

	if (l->symbol)
		return l->file->machine == EM_AMDGPU ? AMD : HOST;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(known); i++)
		if (strcmp(l->format, known[i].format) == 0)
			return known[i].language;
	return TEXT;
}

static bool is_word_byte(uint8_t c)
{
	return mpk_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '%' || c == '$';
}

/* Returns the word that begins at a place; one byte if none does. */
static struct mpk_span word_at(struct mpk_span line, size_t at)
{
	size_t n = 0;

	while (at + n < line.len && is_word_byte(line.data[at + n]))
		n++;
	return mpk_span_of(line.data + at, n ? n : 1);
}

/* Whether a word is a label of nvdisasm, "L_x_12". */
static bool is_sass_label(struct mpk_span word)
{
	return word.len > 2 && word.data[0] == 'L' && word.data[1] == '_' &&
	       mpk_is_digit(word.data[word.len - 1]);
}

/* Whether a word is a value: "%r12" and "$L__BB0_2" of PTX, "%12" and "%_struct_7" of SPIR-V. Other
 * names have a meaning. */
static bool is_value(enum language language, struct mpk_span word, size_t stem)
{
	static const char numbered[] = "_struct_";
	const size_t len = sizeof numbered - 1;

	if (language == PTX)
		return word.data[0] == '%' || word.data[0] == '$';
	return word.data[0] == '%' &&
	       (stem == 1 || (stem > len && memcmp(word.data + stem - len, numbered, len) == 0));
}

/* Returns the length of a word without its number; the whole length if it is no register, label or
 * value. */
static size_t stem_of(enum language language, struct mpk_span word)
{
	static const char *const sass[] = { "R", "UR", "P", "UP", "B", "SB" };
	static const char *const amd[] = { "v", "s", "a", "ttmp" };
	const char *const *stems = language == SASS ? sass : amd;
	size_t count = language == SASS ? MPK_ARRAY_COUNT(sass) : MPK_ARRAY_COUNT(amd);
	size_t stem = word.len;

	while (stem && mpk_is_digit(word.data[stem - 1]))
		stem--;
	if (stem == word.len || language == TEXT || language == HOST)
		return word.len;
	if (language == PTX || language == SPIRV)
		return is_value(language, word, stem) ? (word.data[0] == '$' ? 1 : stem) : word.len;
	for (size_t i = 0; i < count; i++)
		if (strlen(stems[i]) == stem && memcmp(stems[i], word.data, stem) == 0)
			return stem;
	return word.len;
}

/* Returns the length of "[36:39]" after the "s" of a register range. */
static size_t range_length(struct mpk_span line, size_t at)
{
	size_t n = at;

	if (n >= line.len || line.data[n] != '[')
		return 0;
	while (++n < line.len && (mpk_is_digit(line.data[n]) || line.data[n] == ':'))
		;
	return n < line.len && line.data[n] == ']' ? n + 1 - at : 0;
}

static bool is_range_of_registers(struct mpk_span word)
{
	return mpk_span_is(word, "s") || mpk_span_is(word, "v") || mpk_span_is(word, "a") ||
	       mpk_span_is(word, "ttmp");
}

/* Writes a line without the numbers of registers, labels and values. */
static void put_without_numbers(enum language language, struct mpk_span line,
				struct mpk_strbuf *out)
{
	for (size_t at = 0; at < line.len;) {
		struct mpk_span word = word_at(line, at);

		at += word.len;
		if (language == SASS && is_sass_label(word)) {
			mpk_strbuf_putc(out, 'L');
			continue;
		}
		mpk_strbuf_put(out, (const char *)word.data, stem_of(language, word));
		if (language == AMD && is_range_of_registers(word))
			at += range_length(line, at);
	}
	mpk_strbuf_putc(out, '\n');
}

/* nvdisasm numbers labels through the whole cubin; they are renumbered from the kernel's
 * beginning. */
static void put_shown(struct mpk_strmap *labels, struct mpk_span line, struct mpk_strbuf *out)
{
	for (size_t at = 0; at < line.len;) {
		struct mpk_span word = word_at(line, at);
		size_t number = 0;

		at += word.len;
		if (!labels || !is_sass_label(word)) {
			mpk_strbuf_put_span(out, word);
			continue;
		}
		out->failed |= mpk_strmap_put(labels, word, labels->count, &number) < 0;
		mpk_strbuf_printf(out, "L%zu", number);
	}
	mpk_strbuf_putc(out, '\n');
}

/* Adds one line in both forms. */
static void put_both(struct mpk_disasm_lines *l, enum language language, struct mpk_strmap *labels,
		     struct mpk_span shown, struct mpk_span compared)
{
	if (l->shown.len >= MPK_DISASM_LINES_BYTES)
		l->is_cut = true;
	if (l->is_cut)
		return;
	put_shown(labels, shown, &l->shown);
	put_without_numbers(language, compared, &l->plain);
	l->failed |= l->shown.failed || l->plain.failed || !MPK_VEC_ROOM(l->ends, l->count, l->cap);
	if (!l->failed)
		l->ends[l->count++] = (uint32_t)l->shown.len;
}

/* --- texts ------------------------------------------------------------------------------------------------ */

/* Skips the address "/" "*0040*" "/" that nvdisasm prints before an instruction. */
static struct mpk_span skip_address(struct mpk_span line)
{
	const uint8_t *end;

	if (!mpk_span_starts(line, "/*"))
		return line;
	end = memmem(line.data, line.len, "*/", 2);
	return end ? mpk_span_trim(mpk_span_of(end + 2, line.len - (size_t)(end + 2 - line.data)))
		   : line;
}

/* Whether a line is a directive, a comment, a source line, or the label with which nvdisasm begins
 * a kernel. */
static bool says_nothing(enum language language, struct mpk_span line)
{
	bool is_label = line.len && line.data[line.len - 1] == ':';

	if (!line.len || mpk_span_starts(line, "//") || line.data[0] == ';')
		return true;
	if (language == PTX)
		return mpk_span_starts(line, ".loc") || mpk_span_starts(line, ".file") ||
		       mpk_span_starts(line, ".reg");
	if (language != SASS)
		return false;
	return is_label ? !mpk_span_starts(line, ".L") : line.data[0] == '.';
}

/* Returns the length without the padding at the end of an NVIDIA kernel, which fills it to a
 * multiple of 128 bytes. */
static size_t without_padding(struct mpk_span text)
{
	for (;;) {
		size_t at = text.len;
		struct mpk_span line;

		while (at && text.data[at - 1] <= ' ')
			at--;
		text.len = at;
		while (at && text.data[at - 1] != '\n')
			at--;
		line = skip_address(mpk_span_trim(mpk_span_from(text, at)));
		if (!mpk_span_starts(line, "NOP") && !says_nothing(SASS, line) &&
		    !(mpk_span_starts(line, ".L") && line.data[line.len - 1] == ':'))
			return text.len;
		if (!at)
			return 0;
		text.len = at;
	}
}

static void add_text(struct mpk_disasm_lines *l, enum language language, struct mpk_span text)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap labels = { 0 };

	if (language == SASS)
		text.len = without_padding(text);
	for (size_t at = 0; at < text.len;) {
		const uint8_t *end = memchr(text.data + at, '\n', text.len - at);
		size_t len = end ? (size_t)(end - text.data) - at : text.len - at;
		struct mpk_span line = mpk_span_trim(mpk_span_of(text.data + at, len));

		at += len + 1;
		if (says_nothing(language, line))
			continue;
		line = skip_address(line);
		put_both(l, language, language == SASS ? &labels : NULL, line, line);
	}
}

/* --- instructions of LLVM --------------------------------------------------------------------------------- */

/* Cuts the target off an instruction: it is a distance and a name with an offset, and both change
 * whenever code between them does. */
static struct mpk_span before_target(const struct mpk_listing *l,
				     const struct mpk_llvm_instruction *i, struct mpk_span text)
{
	size_t len = text.len;

	bool is_here = i->has_target && i->target >= l->function->address &&
		       i->target - l->function->address < l->function->bytes.len;

	/* LLVM gives no target for AMD GPU branches, but they only lead within the kernel */
	if (is_here || mpk_span_starts(text, "s_cbranch") || mpk_span_starts(text, "s_branch"))
		len = strcspn((const char *)text.data, " \t");
	return mpk_span_of(text.data, len);
}

/* Removes addresses and distances from a CPU instruction: what it refers to stays as a name in
 * angle brackets, or as text behind '#'. AArch64 reaches it by its page, which is named after
 * whatever symbol is there, or by a distance. */
static void put_without_addresses(struct mpk_span text, struct mpk_strbuf *out)
{
	bool refers =
		memmem(text.data, text.len, " <", 2) || memmem(text.data, text.len, " # 0x", 5);

	for (size_t at = 0; at < text.len;) {
		struct mpk_span word = word_at(text, at);

		/* "$0x4" is an immediate number of x86 */
		if (!refers || !mpk_span_starts(word, "0x"))
			mpk_strbuf_put_span(out, word);
		at += word.len;
	}
}

static struct mpk_span host_line(const struct mpk_listing *l, const struct mpk_llvm_instruction *i,
				 struct mpk_span text, struct mpk_strbuf *out)
{
	struct mpk_span left = before_target(l, i, text);

	if (mpk_span_starts(left, "adr"))
		return mpk_span_of(left.data, 3);
	put_without_addresses(left, out);
	return mpk_span_str(mpk_strbuf_text(out));
}

static void add_instructions(struct mpk_disasm_lines *l, const struct mpk_listing *listing)
{
	enum language language = language_of(listing);

	l->is_host = language == HOST;
	for (size_t i = 0; i < listing->count && !l->failed; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 }, compared = { 0 };
		const struct mpk_llvm_instruction *at = &listing->instructions[i];
		struct mpk_span line;

		mpk_disasm_put_instruction(listing, i, &text);
		l->failed |= text.failed;
		line = mpk_span_str(mpk_strbuf_text(&text));
		put_both(l, language, NULL, line,
			 l->is_host ? host_line(listing, at, line, &compared)
				    : before_target(listing, at, line));
		l->failed |= compared.failed;
	}
}

void mpk_disasm_lines_add(struct mpk_disasm_lines *l, const struct mpk_listing *listing)
{
	if (listing->symbol)
		add_instructions(l, listing);
	else
		add_text(l, language_of(listing), listing->text);
}

void mpk_disasm_lines_fini(struct mpk_disasm_lines *l)
{
	mpk_strbuf_fini(&l->shown);
	mpk_strbuf_fini(&l->plain);
	free(l->ends);
	*l = (struct mpk_disasm_lines){ 0 };
}
