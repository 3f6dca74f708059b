/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - disassembles device code by format. Text is shown as it is, one kernel of it if the
 * reader can cut that out. nvdisasm disassembles cubins and spirv-dis SPIR-V, and their output is
 * cut. LLVM disassembles machine code in ELF files. */
#include <stdlib.h>
#include <string.h>

#include "disasm/internal/job.h"
#include "model/device_code.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

static const char *disasm_device_format_of(const struct mpk_code_info *code)
{
	return code->format->word ? code->format->word : code->format->name;
}

enum mpk_code mpk_disasm_rows(struct mpk_disasm_job *j, const struct mpk_code_info *code)
{
	if (j->rows_of.data == code->bytes.data && j->rows_of.len == code->bytes.len)
		return MPK_OK;
	j->rows_of = (struct mpk_span){ 0 };
	MPK_TRY(mpk_code_rows_read(code, j->arena, &j->rows, j->err));
	j->rows_of = code->bytes;
	return MPK_OK;
}

static enum mpk_code disasm_device_put_text(struct mpk_disasm_job *j, const char *path,
					    struct mpk_span name, const struct mpk_code_info *code,
					    struct mpk_span text)
{
	struct mpk_listing l = {
		.path = path,
		.name = name,
		.format = disasm_device_format_of(code),
		.target = code->target,
		.text = text,
	};

	if (code->format->count_work) {
		MPK_TRY(mpk_disasm_rows(j, code));
		l.code = code;
		l.rows = &j->rows;
	}
	return mpk_disasm_put(j, &l);
}

/* Returns the output of a tool for a whole file. It is not safe to print, and lives until the next
 * request.
 * Returns  MPK_OK; MPK_E_LOAD: the tool is not installed; MPK_E_TOOL: it reported an error, crashed
 *          or timed out; MPK_E_NOMEM */
static enum mpk_code run_tool(struct mpk_disasm_job *j, enum mpk_disasm_tool tool,
			      struct mpk_span file, struct mpk_span *out, struct mpk_error *err)
{
	const uint8_t head = (uint8_t)tool;
	const struct mpk_span parts[2] = { mpk_span_of(&head, 1), file };
	struct mpk_disasm *d = j->d;

	if (!j->answered.data || j->answered.data != file.data || j->answered.len != file.len)
		MPK_TRY(mpk_helper_ask(&d->tools, parts, 2, &d->answer, err));
	if (j->keeps_answer)
		j->answered = file;
	*out = mpk_span_of(d->answer.data, d->answer.len);
	return MPK_OK;
}

/* --- texts that are cut ------------------------------------------------------------------------------- */

/* Returns the next line of a text, with its line feed; empty at the end. */
static struct mpk_span line_at(struct mpk_span text, size_t at)
{
	const uint8_t *end = at < text.len ? memchr(text.data + at, '\n', text.len - at) : NULL;

	return at >= text.len ? mpk_span_of(NULL, 0)
			      : mpk_span_of(text.data + at, end ? (size_t)(end + 1 - text.data) - at
								: text.len - at);
}

/* Whether a line is "//------- .text.NAME ------", which nvdisasm prints before each function's
 * section. */
static bool begins_section(struct mpk_span line, const char *section)
{
	size_t len = strlen(section);
	const uint8_t *at;

	if (!mpk_span_starts(line, "//-----"))
		return false;
	at = memmem(line.data, line.len, section, len);
	/* must be a whole word: ".text.f" also begins ".text.f_1" */
	return at && (size_t)(at - line.data) + len < line.len && at[-1] == ' ' && at[len] <= ' ';
}

/* nvdisasm prints the whole cubin. The kernel is the text between the line of its section and the
 * line of the next one. */
static struct mpk_span cut_sass(struct mpk_span text, const char *section)
{
	struct mpk_span line;
	size_t from = SIZE_MAX;

	for (size_t at = 0; (line = line_at(text, at)).len; at += line.len) {
		if (from != SIZE_MAX && mpk_span_starts(line, "//-----"))
			return mpk_span_of(text.data + from, at - from);
		if (begins_section(line, section))
			from = at;
	}
	return from == SIZE_MAX ? mpk_span_of(NULL, 0) : mpk_span_from(text, from);
}

/* Starts the tool only if the cubin has the kernel: a file may have hundreds of cubins. */
static enum mpk_code cubin(struct mpk_disasm_job *j, const char *path,
			   const struct mpk_code_info *code)
{
	struct mpk_error err = { 0 };
	struct mpk_span text;
	size_t kernel;
	enum mpk_code status;
	const char *section;

	if (j->wanted.name.len && !mpk_code_info_find(code, j->wanted.name, &kernel))
		return MPK_OK;
	status = run_tool(j, MPK_DISASM_NVDISASM, code->bytes, &text, &err);
	if (status != MPK_OK)
		return mpk_disasm_note(j, status, &err);
	if (!j->wanted.name.len)
		return disasm_device_put_text(j, path, j->wanted.name, code, text);
	section = mpk_arena_printf(j->arena, ".text.%.*s", MPK_SPAN_ARG(j->wanted.name));
	MPK_TRY_ALLOC(section, j->err);
	text = cut_sass(text, section);
	if (!text.len) {
		/* the cubin has the kernel, so an empty listing would be wrong */
		status = mpk_fail(&err, MPK_E_TOOL, "nvdisasm did not print '%s'",
				  MPK_QUOTE(j->wanted.name));
		return mpk_disasm_note(j, status, &err);
	}
	return disasm_device_put_text(j, path, j->wanted.name, code, text);
}

/* Returns the first word of a line, after its blanks. */
static struct mpk_span disasm_device_word_at(struct mpk_span line, size_t *at)
{
	size_t from;

	while (*at < line.len && line.data[*at] <= ' ')
		(*at)++;
	from = *at;
	while (*at < line.len && line.data[*at] > ' ')
		(*at)++;
	return mpk_span_of(line.data + from, *at - from);
}

/* Returns the id in OpEntryPoint MODEL %id "name". */
static struct mpk_span entry_id(struct mpk_span text, struct mpk_span name)
{
	struct mpk_span line, id;

	for (size_t at = 0; (line = line_at(text, at)).len; at += line.len) {
		size_t in = 0;
		struct mpk_span rest;

		if (!mpk_span_is(disasm_device_word_at(line, &in), "OpEntryPoint"))
			continue;
		(void)disasm_device_word_at(line, &in);
		id = disasm_device_word_at(line, &in);
		rest = mpk_span_from(line, in);
		if (rest.len > name.len + 2 && memcmp(rest.data, " \"", 2) == 0 &&
		    memcmp(rest.data + 2, name.data, name.len) == 0 &&
		    rest.data[2 + name.len] == '"')
			return id;
	}
	return (struct mpk_span){ 0 };
}

/* Cuts out the text from "%id = OpFunction ..." to its OpFunctionEnd. */
static struct mpk_span cut_spirv(struct mpk_span text, struct mpk_span name)
{
	struct mpk_span id = entry_id(text, name), line;
	size_t from = SIZE_MAX;

	for (size_t at = 0; id.len && (line = line_at(text, at)).len; at += line.len) {
		size_t in = 0;
		struct mpk_span first = disasm_device_word_at(line, &in);

		if (from != SIZE_MAX && mpk_span_is(first, "OpFunctionEnd"))
			return mpk_span_of(text.data + from, at + line.len - from);
		if (mpk_span_equal(first, id) &&
		    mpk_span_is(disasm_device_word_at(line, &in), "=") &&
		    mpk_span_is(disasm_device_word_at(line, &in), "OpFunction"))
			from = at;
	}
	return (struct mpk_span){ 0 };
}

/* The tool gets the whole module: a function is not valid SPIR-V without the types around it. */
static enum mpk_code spirv(struct mpk_disasm_job *j, const char *path,
			   const struct mpk_code_info *code)
{
	struct mpk_error err = { 0 };
	struct mpk_span text;
	size_t kernel;
	enum mpk_code status;

	if (j->wanted.name.len && !mpk_code_info_find(code, j->wanted.name, &kernel))
		return MPK_OK;
	status = run_tool(j, MPK_DISASM_SPIRV_DIS, code->bytes, &text, &err);
	if (status != MPK_OK)
		return mpk_disasm_note(j, status, &err);
	/* if a module has one kernel, its types and constants are listed with the kernel */
	if (j->wanted.name.len && code->kernel_count > 1)
		text = cut_spirv(text, j->wanted.name);
	return text.len ? disasm_device_put_text(j, path, j->wanted.name, code, text) : MPK_OK;
}

/* --- machine code in ELF files -------------------------------------------------------------------------- */

static void file_fini(struct mpk_code_file *f)
{
	mpk_code_file_close(f);
}

/* Lists every function symbol, since no table of such a file says which functions are kernels. */
static enum mpk_code every_function(struct mpk_disasm_job *j, const char *path,
				    const struct mpk_code_info *code, struct mpk_code_file *file)
{
	struct mpk_arena *arena = j->arena;
	struct mpk_span *names = mpk_arena_array(arena, file->symbol_count, sizeof *names);
	struct mpk_code_function function;
	size_t count;

	MPK_TRY_ALLOC(names, j->err);
	count = mpk_code_file_symbols(file, names, file->symbol_count);
	for (size_t i = 0; i < count; i++) {
		/* names end with a NUL, as do all symbols of a file */
		const char *symbol = (const char *)names[i].data;

		mpk_part_names_add(&j->names, names[i]);
		if (j->wanted.name.len && !mpk_span_equal(j->wanted.name, names[i]))
			continue;
		if (i && mpk_span_equal(names[i], names[i - 1]))
			continue; /* listed in both symbol tables */
		if (mpk_code_file_find(file, symbol, &function))
			MPK_TRY(mpk_disasm_function(j, path, names[i],
						    disasm_device_format_of(code), file, &function,
						    code));
	}
	return MPK_OK;
}

static enum mpk_code elf(struct mpk_disasm_job *j, const char *path,
			 const struct mpk_code_info *code)
{
	MPK_CLEANUP(file_fini) struct mpk_code_file file = { 0 };
	struct mpk_error err = { 0 };
	enum mpk_code status = mpk_code_file_open(code->bytes, MPK_FILE_ELF, j->arena, &file, &err);

	if (status != MPK_OK)
		return mpk_disasm_note(j, status, &err);
	return every_function(j, path, code, &file);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static enum mpk_code cannot(struct mpk_disasm_job *j, const struct mpk_code_info *code)
{
	struct mpk_error err = { 0 };
	enum mpk_code status;

	if (j->wanted.name.len)
		return MPK_OK; /* other code may have it */
	status = mpk_fail(&err, MPK_E_UNSUPPORTED, "no disassembler is known for %s",
			  code->format ? code->format->name : "this code");
	return mpk_disasm_note(j, status, &err);
}

/* A kernel of a text is its definition; if no reader finds that, it is the program with its
 * name. */
static enum mpk_code text_code(struct mpk_disasm_job *j, const char *path,
			       const struct mpk_code_info *code)
{
	const struct mpk_source_code_piece *pieces;
	size_t kernel, count;

	if (!j->wanted.name.len)
		return disasm_device_put_text(j, path, j->wanted.name, code, code->bytes);
	if (mpk_code_info_find(code, j->wanted.name, &kernel) && code->kernels[kernel].text.len)
		return disasm_device_put_text(j, path, j->wanted.name, code,
					      code->kernels[kernel].text);
	if (!code->format->is_source)
		return MPK_OK;
	MPK_TRY(mpk_source_code_split(code->bytes, j->arena, &pieces, &count, j->err));
	for (size_t i = 0; i < count; i++)
		if (mpk_span_equal(pieces[i].name, j->wanted.name))
			return disasm_device_put_text(j, path, j->wanted.name, code,
						      pieces[i].text);
	return MPK_OK;
}

/* Lists the whole image if its target was asked for. */
static enum mpk_code image(struct mpk_disasm_job *j, const char *path,
			   const struct mpk_code_info *code)
{
	struct mpk_span wanted = j->wanted.name;
	enum mpk_code status;

	j->wanted.name = (struct mpk_span){ 0 };
	status = mpk_disasm_device(j, path, code);
	j->wanted.name = wanted;
	return status;
}

enum mpk_code mpk_disasm_device(struct mpk_disasm_job *j, const char *path,
				const struct mpk_code_info *code)
{
	const struct mpk_code_format *f = code->format;

	if (f && code->problem)
		return mpk_disasm_note(j, code->problem->code, code->problem);
	/* images without bytes are for the host, whose code is elsewhere */
	for (size_t i = 0; i < code->image_count; i++)
		if (code->images[i].bytes.len)
			MPK_TRY(mpk_disasm_device(j, path, &code->images[i]));
	if (code->image_count)
		return MPK_OK;
	if (j->wanted.name.len && mpk_part_is_image(code, j->wanted.name))
		return image(j, path, code);
	if (!f)
		return cannot(j, code);
	if (f == &mpk_format_cubin)
		return cubin(j, path, code);
	if (f == &mpk_format_spirv)
		return spirv(j, path, code);
	/* AMD code objects and plain object files both begin with
	 * the ELF magic number (ELF gABI) */
	if (mpk_span_starts(code->bytes, "\177ELF"))
		return elf(j, path, code);
	return f->is_text ? text_code(j, path, code) : cannot(j, code);
}
