/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - what the instructions of kernels do, in total and by source line, in any code format */
#ifndef MPK_CODE_WORK_H
#define MPK_CODE_WORK_H

#include "base/strbuf.h"
#include "code/info.h"
#include "dwarf/dwarf.h"
#include "text/json.h"
#include "work/work.h"

/* mpk_code_of_kernel - the machine code or text of a kernel, a part of info->bytes; empty: the
 * format does not separate it */
struct mpk_span mpk_code_of_kernel(const struct mpk_code_info *info, size_t kernel);

/* mpk_code_work - count what the instructions of a kernel do
 * Returns  false: the format has no counts, or not for this device */
bool mpk_code_work(const struct mpk_code_info *info, size_t kernel, struct mpk_work *out);

/* mpk_work_put - append "24 instructions; global loads 12 of 16 B, 3 of 4 B; 4 for tensor cores" */
void mpk_work_put(const struct mpk_work *work, struct mpk_strbuf *out);

/* mpk_work_put_rest - as mpk_work_put without the number of instructions; nothing if no other count
 * is set */
void mpk_work_put_rest(const struct mpk_work *work, struct mpk_strbuf *out);

/* mpk_work_differs - whether two counts differ; stall cycles change with any instruction, and are
 * ignored */
bool mpk_work_differs(const struct mpk_work *a, const struct mpk_work *b);

/* mpk_work_put_changes - append the counts that differ: "12 -> 19 instructions, local stores 0 ->
 * 12 of 4 B"; nothing if equal */
void mpk_work_put_changes(const struct mpk_work *a, const struct mpk_work *b,
			  struct mpk_strbuf *out);

/* mpk_work_json - write the members "all", "tensor", "async", "atomic", "memory", and for machine
 * code "stall_cycles" */
void mpk_work_json(const struct mpk_work *work, struct mpk_json *j, struct mpk_json_at *at);

/* --- by source line -------------------------------------------------------------------------- */

/* The source lines of all kernels in some code. Zero-initialised: none. */
struct mpk_code_rows {
	const struct mpk_dwarf_row *items; /* sorted by offset in info->bytes */
	size_t count;
};

/* mpk_code_rows_read - read the line table once, for all kernels
 * A line table that does not read counts as empty: the code itself is sound.
 * @arena   receives rows and names
 * Returns  MPK_OK, also with none; MPK_E_NOMEM */
enum mpk_code mpk_code_rows_read(const struct mpk_code_info *info, struct mpk_arena *arena,
				 struct mpk_code_rows *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_row_at - the row that contains an offset of info->bytes; NULL: none */
const struct mpk_dwarf_row *mpk_code_row_at(const struct mpk_code_rows *rows, uint64_t off);

struct mpk_work_line {
	const char *file; /* name as given to the compiler; not escaped */
	uint32_t line;    /* 1-based */
	struct mpk_work work;
};

struct mpk_work_lines {
	struct mpk_work_line *items; /* sorted by file, then line */
	size_t count;
};

/* mpk_work_lines - count what the instructions do on each source line of a kernel; instructions
 * without a row are left out
 * @code    of the kernel, a part of info->bytes
 * Code of an inlined function counts for the line in that function.
 * @arena   receives the list; names are those of rows
 * Returns  MPK_OK, also with none; MPK_E_NOMEM */
enum mpk_code mpk_work_lines(const struct mpk_code_info *info, struct mpk_span code,
			     const struct mpk_code_rows *rows, struct mpk_arena *arena,
			     struct mpk_work_lines *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_work_heaviest - for qsort: lines with more instructions first, equal ones in source order */
int mpk_work_heaviest(const void *a, const void *b);

#endif
