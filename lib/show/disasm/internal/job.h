/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - declarations shared by --disasm: the state of one request of the user, and the format of
 * requests to LLVM's helper */
#ifndef MPK_DISASM_INTERNAL_JOB_H
#define MPK_DISASM_INTERNAL_JOB_H

#include "base/strmap.h"
#include "disasm/listing.h"
#include "part/part.h"

/* The head of a request and of each row of an answer, as sent through a pipe. Both ends are this
 * program, so the compiler's layout can be used. */
struct mpk_disasm_question {
	char triple[48], cpu[48], features[128];
	uint64_t address;
	uint32_t step;
};

struct mpk_disasm_row {
	uint64_t address, target;
	uint32_t bytes;
	uint16_t text_bytes;
	uint8_t has_text, has_target;
};

struct mpk_disasm_job {
	const struct mpk_view *view;
	struct mpk_part_name wanted;
	struct mpk_disasm *d;
	const struct mpk_disasm_sink *sink;
	struct mpk_arena *arena; /* arena for what is read: the view's, or that of one container */
	struct mpk_part_names names; /* similar names, for "did you mean" */
	size_t found;                /* number of listings and of failed listings */
	const struct mpk_strmap
		*only; /* list only host functions with these names; NULL means as wanted says */
	const struct mpk_span *inner; /* symbols of local host functions to list */
	size_t inner_count;
	/* keep the tool's output: several kernels of one image follow each other */
	bool keeps_answer;
	struct mpk_span answered; /* the code whose tool output is in d->answer */
	struct mpk_span rows_of;  /* the code to which rows belong */
	struct mpk_code_rows rows;
	enum mpk_code failure; /* code of the first failure; other listings went on */
	struct mpk_error error;
	struct mpk_error *err;
};

/* mpk_disasm_device - list device code: all of it, or the wanted kernel or image
 * Returns  MPK_OK, also if it is not there; what put returned; MPK_E_NOMEM. Failures of
 *          disassemblers are noted in the job. */
enum mpk_code mpk_disasm_device(struct mpk_disasm_job *j, const char *path,
				const struct mpk_code_info *code) MPK_MUST_CHECK;

/* mpk_disasm_function - list one function of machine code
 * @name    the name that users know
 * @of      the GPU code that file is, whose instructions are counted; NULL: host code
 * Returns  as above */
enum mpk_code mpk_disasm_function(struct mpk_disasm_job *j, const char *path, struct mpk_span name,
				  const char *format, struct mpk_code_file *file,
				  const struct mpk_code_function *function,
				  const struct mpk_code_info *of) MPK_MUST_CHECK;

/* mpk_disasm_host - list the exported functions that `only` contains, then those of `inner`; during
 * the latter, wanted holds their symbol
 * Returns  as above */
enum mpk_code mpk_disasm_host(struct mpk_disasm_job *j) MPK_MUST_CHECK;

/* mpk_disasm_put_instruction - append an instruction of machine code and what it refers to, without
 * its address */
void mpk_disasm_put_instruction(const struct mpk_listing *l, size_t index, struct mpk_strbuf *out);

/* mpk_disasm_put - pass a listing to the caller's function
 * mpk_disasm_note - note a failure that ends only its own listing
 * Returns  MPK_OK, or a failure that ends the whole job: MPK_E_NOMEM */
enum mpk_code mpk_disasm_put(struct mpk_disasm_job *j, const struct mpk_listing *l) MPK_MUST_CHECK;
enum mpk_code mpk_disasm_note(struct mpk_disasm_job *j, enum mpk_code code,
			      const struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_disasm_forget - drop cached results, because the code they belong to is about to be freed */
static inline void mpk_disasm_forget(struct mpk_disasm_job *j)
{
	j->answered = j->rows_of = (struct mpk_span){ 0 };
}

/* mpk_disasm_rows - get the source lines of a piece of code; they are cached until another piece is
 * asked for
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_disasm_rows(struct mpk_disasm_job *j,
			      const struct mpk_code_info *code) MPK_MUST_CHECK;

/* --- what is counted in a listing: sass.c ---------------------------------------------------- */

/* mpk_disasm_put_code - append the output of nvdisasm, or PTX, preceded by the figures of each
 * kernel and of its source lines; in SASS, each instruction is preceded by its scheduling
 * mpk_disasm_code_json - put the same figures as "kernels", and for SASS "instructions" */
void mpk_disasm_put_code(const struct mpk_listing *l, bool all, struct mpk_strbuf *out);
void mpk_disasm_code_json(const struct mpk_listing *l, struct mpk_json *j, struct mpk_json_at *o);

/* mpk_disasm_put_figures - append the counts of some code of l->code and of its source lines
 * @all     of all source lines; else of those with the most instructions
 * mpk_disasm_kernel_json - put the same as an element of "kernels"; NULL if nothing is counted */
void mpk_disasm_put_figures(const struct mpk_listing *l, struct mpk_span code, bool all,
			    struct mpk_strbuf *out);
struct mpk_json_at *mpk_disasm_kernel_json(const struct mpk_listing *l, struct mpk_span name,
					   struct mpk_span code, struct mpk_json *j,
					   struct mpk_json_at *list);

/* --- instructions as lines that can be compared ------------------------------------------------ */

/* Each instruction as one line in two forms. `shown` is for the reader: no addresses, no
 * directives, labels numbered from the beginning of the kernel. `plain` is for the comparison:
 * registers, labels and value identifiers have no numbers, since an added instruction renumbers all
 * that follow. Zero-initialise, fill with mpk_disasm_lines_add, free with mpk_disasm_lines_fini. */
struct mpk_disasm_lines {
	struct mpk_strbuf shown, plain;
	uint32_t *ends; /* offset in shown of the end of each line; malloc'ed */
	size_t count, cap;
	bool is_host; /* CPU code: register numbers count, and addresses do not */
	bool is_cut;  /* the listing exceeded MPK_DISASM_LINES_BYTES and was cut */
	bool failed;  /* memory is out */
};

enum { MPK_DISASM_LINES_BYTES = 1 << 20 };

/* mpk_disasm_lines_add - add the instructions of a listing */
void mpk_disasm_lines_add(struct mpk_disasm_lines *l, const struct mpk_listing *listing);
void mpk_disasm_lines_fini(struct mpk_disasm_lines *l);

#endif
