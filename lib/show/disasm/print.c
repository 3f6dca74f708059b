/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - prints a listing as text and JSON
 *
 * LLVM prints operands as they are encoded. This file adds the target of a branch and the function
 * or text at an address, from the symbols and sections of the file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "disasm/internal/job.h"
#include "text/escape.h"

/* Whether LLVM prints the target of this branch as a distance in the last operand, which depends on
 * the machine. */
static bool is_branch(uint16_t machine, const char *text)
{
	static const char *const riscv[] = {
		"beq",  "bne",  "blt",  "bge",  "bltu", "bgeu", "beqz",
		"bnez", "blez", "bgez", "bltz", "bgtz", "j",    "jal"
	};
	static const char *const loongarch[] = { "beq",  "bne",  "blt", "bge", "bltu",  "bgeu",
						 "beqz", "bnez", "b",   "bl",  "bceqz", "bcnez" };
	const char *const *list = machine == EM_RISCV ? riscv : loongarch;
	size_t count = machine == EM_RISCV       ? MPK_ARRAY_COUNT(riscv)
		       : machine == EM_LOONGARCH ? MPK_ARRAY_COUNT(loongarch)
						 : 0;
	size_t len = strcspn(text, " \t");

	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == len && memcmp(list[i], text, len) == 0)
			return true;
	return false;
}

/* Returns the last operand if it is a distance from the instruction; else NULL. */
static const char *distance_of(const struct mpk_listing *l, const struct mpk_llvm_instruction *i,
			       uint64_t *target)
{
	const char *last = i->text + strlen(i->text), *number;
	char *end;
	long long distance;

	while (last > i->text && last[-1] != ' ' && last[-1] != '\t')
		last--;
	number = last;
	if (*last == '.' && (l->file->machine == EM_PPC64 || l->file->machine == EM_PPC))
		number++; /* ".+116" */
	else if (i->has_target || !is_branch(l->file->machine, i->text))
		return NULL;
	distance = strtoll(number, &end, 0);
	*target = i->address + (uint64_t)distance;
	return end != number && !*end ? last : NULL;
}

/* Whether bytes are data: ARM code has constants among its instructions, which LLVM would
 * decode. */
static bool is_data(const struct mpk_listing *l, const struct mpk_llvm_instruction *i)
{
	return mpk_code_file_is_data(l->file, l->function->section, i->address);
}

static const uint8_t *disasm_print_bytes_of(const struct mpk_listing *l,
					    const struct mpk_llvm_instruction *i)
{
	return l->function->bytes.data + (i->address - l->function->address);
}

/* Writes LLVM's text, with an address instead of a distance, and with bytes for data. */
static void disasm_print_put_text(const struct mpk_listing *l, const struct mpk_llvm_instruction *i,
				  struct mpk_strbuf *out)
{
	uint64_t target;
	const char *distance = distance_of(l, i, &target);

	if (is_data(l, i)) {
		for (size_t k = 0; k < i->bytes; k++)
			mpk_strbuf_printf(out, "%s0x%02x", k ? ", " : ".byte\t",
					  disasm_print_bytes_of(l, i)[k]);
		return;
	}
	/* LoongArch assemblers take the distance too */
	if (!distance || l->file->machine == EM_LOONGARCH) {
		mpk_strbuf_puts(out, i->text);
		return;
	}
	mpk_strbuf_put(out, i->text, (size_t)(distance - i->text));
	mpk_strbuf_printf(out, "0x%" PRIx64, target);
}

/* Returns the target of an instruction: the one that LLVM gives, or one computed from a
 * distance. */
static bool disasm_print_target_of(const struct mpk_listing *l,
				   const struct mpk_llvm_instruction *i, uint64_t *out)
{
	*out = i->target;
	return !is_data(l, i) && (i->has_target || distance_of(l, i, out));
}

/* Writes what an instruction refers to, unless it is within the function and the text already says
 * so. */
static bool put_reference(const struct mpk_listing *l, const struct mpk_llvm_instruction *i,
			  struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	size_t section = l->function->section;
	uint64_t target;

	if (!mpk_code_file_put_relocation(l->file, section, i->address, i->bytes, &name) &&
	    (!disasm_print_target_of(l, i, &target) ||
	     !mpk_code_file_put_name(l->file, section, target, &name)))
		return false;
	mpk_escape(out, mpk_span_of(name.data, name.len));
	out->failed |= name.failed;
	return true;
}

/* Returns the text at an address of constant data; empty if it is not a text. */
static struct mpk_span disasm_print_text_at(const struct mpk_listing *l, uint64_t address)
{
	/* fewer than 4 printable bytes are as likely a number; strings(1) has the same limit */
	enum { TEXT_LEAST = 4, TEXT_MOST = 60 };
	struct mpk_span bytes, text;
	uint64_t off;

	if (!l->file->is_elf || l->file->relocatable ||
	    !mpk_elf_at_address(&l->file->elf, address, &bytes, &off) ||
	    !mpk_span_text(bytes, 0, 4096, &text) || text.len < TEXT_LEAST)
		return (struct mpk_span){ 0 };
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < ' ' || text.data[i] > '~')
			return (struct mpk_span){ 0 };
	return mpk_span_of(text.data, text.len < TEXT_MOST ? text.len : TEXT_MOST);
}

/* The target has no name: writes its address unless the operand shows it, and the text there. */
static void put_unnamed(const struct mpk_listing *l, const struct mpk_llvm_instruction *i,
			struct mpk_strbuf *out)
{
	struct mpk_span text;
	char said[24];

	if (!i->has_target || l->file->relocatable || is_data(l, i))
		return;
	(void)snprintf(said, sizeof said, "0x%" PRIx64, i->target);
	/* an absolute operand already contains the address */
	if (strstr(i->text, said))
		return;
	mpk_strbuf_printf(out, " # %s", said);
	text = disasm_print_text_at(l, i->target);
	if (!text.len)
		return;
	mpk_strbuf_puts(out, " \"");
	mpk_escape(out, text);
	mpk_strbuf_puts(out, "\"");
}

/* --- source lines ------------------------------------------------------------------------------------ */

/* Returns the source line of an address. Rows are sorted by their first address, and there may be
 * gaps between them. */
static const struct mpk_dwarf_row *row_at(const struct mpk_listing *l, uint64_t address)
{
	/* the last address has no successor, and no row ends after it */
	size_t next = mpk_first_from(l->lines, l->line_count, sizeof *l->lines,
				     offsetof(struct mpk_dwarf_row, from), address + 1);

	return next && l->lines[next - 1].to > address ? &l->lines[next - 1] : NULL;
}

/* Writes the source line of an instruction if it differs from that of the previous instruction. */
static bool disasm_print_put_line(const struct mpk_listing *l, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_dwarf_row *row = row_at(l, l->instructions[index].address);
	const struct mpk_dwarf_row *last =
		index ? row_at(l, l->instructions[index - 1].address) : NULL;

	if (!row || (last && last->line == row->line && strcmp(last->file, row->file) == 0))
		return false;
	mpk_escape(out, mpk_span_str(row->file));
	mpk_strbuf_printf(out, ":%" PRIu32, row->line);
	return true;
}

/* --- text ------------------------------------------------------------------------------------------------ */

/* Writes bytes in memory order, as objdump does for x86-64. */
static void disasm_print_put_bytes(const struct mpk_listing *l,
				   const struct mpk_llvm_instruction *i, struct mpk_strbuf *out)
{
	for (size_t k = 0; k < i->bytes; k++)
		mpk_strbuf_printf(out, " %02x", disasm_print_bytes_of(l, i)[k]);
	mpk_strbuf_putc(out, ' ');
}

void mpk_disasm_put_instruction(const struct mpk_listing *l, size_t index, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf reference = { 0 };
	const struct mpk_llvm_instruction *i = &l->instructions[index];

	disasm_print_put_text(l, i, out);
	if (put_reference(l, i, &reference))
		mpk_strbuf_printf(out, " <%s>", mpk_strbuf_text(&reference));
	else
		put_unnamed(l, i, out);
	out->failed |= reference.failed;
}

/* Prints in the layout of objdump: address, bytes, instruction, and the target in angle
 * brackets. */
static void put_instruction(const struct mpk_listing *l, size_t index, bool bytes,
			    struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf line = { 0 };
	const struct mpk_llvm_instruction *i = &l->instructions[index];

	if (disasm_print_put_line(l, index, &line))
		mpk_strbuf_printf(out, "; %s\n", mpk_strbuf_text(&line));
	out->failed |= line.failed;
	mpk_strbuf_printf(out, "%8" PRIx64 ":", i->address);
	if (bytes)
		disasm_print_put_bytes(l, i, out);
	mpk_strbuf_putc(out, '\t');
	mpk_disasm_put_instruction(l, index, out);
	mpk_strbuf_putc(out, '\n');
}

/* Prints the path and the device of the code, since several images may have kernels of one name. */
static void disasm_print_put_head(const struct mpk_listing *l, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(l->path));
	mpk_strbuf_puts(out, l->name.len ? "#" : "");
	mpk_escape(out, l->name);
	mpk_strbuf_printf(out, ": %s%s%s\n", l->format, *l->target ? " " : "", l->target);
}

static void listing_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_listing *l = what;
	struct mpk_span text = l->text;

	if (l->symbol) {
		if (!l->continues) {
			if (*l->target)
				disasm_print_put_head(l, out);
			mpk_strbuf_printf(out, "%016" PRIx64 " <", l->address);
			mpk_escape(out, mpk_span_str(l->symbol));
			mpk_strbuf_puts(out, ">:\n");
			if (l->code)
				mpk_disasm_put_figures(l, l->function->bytes, style.verbose, out);
		}
		for (size_t i = 0; i < l->count && !out->failed; i++)
			put_instruction(l, i, style.verbose, out);
		return;
	}
	disasm_print_put_head(l, out);
	if (l->code) {
		mpk_disasm_put_code(l, style.verbose, out);
		return;
	}
	/* texts end with line feeds, and PTX with a NUL; a listing ends with one line feed */
	while (text.len && text.data[text.len - 1] <= ' ')
		text.len--;
	mpk_escape_lines(out, text);
	mpk_strbuf_putc(out, '\n');
}

/* --- JSON ------------------------------------------------------------------------------------------------- */

static void put_instructions(const struct mpk_listing *l, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "instructions"), *o;

	for (size_t i = 0; i < l->count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini)
		struct mpk_strbuf name = { 0 }, text = { 0 }, line = { 0 };
		const struct mpk_llvm_instruction *instruction = &l->instructions[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "address", instruction->address);
		mpk_json_u64(j, o, "bytes", instruction->bytes);
		disasm_print_put_text(l, instruction, &text);
		mpk_json_text(j, o, "text", mpk_strbuf_text(&text));
		if (put_reference(l, instruction, &name))
			mpk_json_text(j, o, "refers_to", mpk_strbuf_text(&name));
		if (disasm_print_put_line(l, i, &line))
			mpk_json_text(j, o, "source", mpk_strbuf_text(&line));
	}
}

static void listing_json(const void *what, struct mpk_json *j, struct mpk_json_at *o)
{
	const struct mpk_listing *l = what;

	mpk_json_text(j, o, "path", *l->path ? l->path : NULL);
	mpk_json_name(j, o, "name", l->name);
	mpk_json_text(j, o, "format", l->format);
	mpk_json_text(j, o, "target", *l->target ? l->target : NULL);
	if (!l->symbol) {
		mpk_json_span(j, o, "text", l->text);
		if (l->code)
			mpk_disasm_code_json(l, j, o);
		return;
	}
	mpk_json_text(j, o, "symbol", l->symbol);
	mpk_json_u64(j, o, "address", l->address);
	mpk_json_u64(j, o, "bytes", l->bytes);
	if (l->code && !l->continues)
		(void)mpk_disasm_kernel_json(l, l->name, l->function->bytes, j,
					     mpk_json_array(j, o, "kernels"));
	put_instructions(l, j, o);
}

const struct mpk_answer mpk_answer_listing = { .text = listing_text, .json = listing_json };
