/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - minspect --disasm: what functions, kernels and byte code do, instruction by instruction */
#ifndef MPK_DISASM_LISTING_H
#define MPK_DISASM_LISTING_H

#include "disasm/internal/disassemblers.h"
#include "model/view.h"
#include "part/part.h"

/* One function, kernel or module. */
struct mpk_listing {
	const char *path;     /* of its module; "" of host code that no module stands for */
	struct mpk_span name; /* empty: all of the module */
	const char *format;   /* "x86-64", "ptx", "byte code" */
	const char *target;   /* of device code: "sm_90"; "": it names none */
	/* machine code */
	const char *symbol; /* NULL: text has it all */
	const struct mpk_code_function
		*function; /* as function, NULL where it is not known; so are all below */
	struct mpk_code_file *file;
	const struct mpk_llvm_instruction *instructions;
	size_t count;
	uint64_t address, bytes;           /* of the instructions here */
	const struct mpk_dwarf_row *lines; /* source lines, as far as debug information has them */
	size_t line_count;
	bool continues; /* a large function comes in pieces: what was before is out */
	/* text, not made safe to print */
	struct mpk_span text;
};

/* Who gets the listings. */
struct mpk_disasm_sink {
	enum mpk_code (*put)(const struct mpk_listing *l, void *arg, struct mpk_error *err);
	void *arg;
};

/* mpk_view_disasm - disassemble what a name means, wherever it is: a host function, a function of byte code,
 * a kernel; an executable's function may have the name of a host function, and both are given then
 * @text    "vadd", "__tvm_ffi_vadd", "/0#vadd", "/0" for all of a module, "/0#sm_90" for an image of it,
 *          ".hip_fatbin:0#vadd"; NULL: all host functions, or where there are none all modules and all
 *          GPU code
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_UNSUPPORTED: no disassembler knows this code;
 *          MPK_E_LOAD: there is no LLVM; as mpk_disasm_run; what put returned. Where one image of several
 *          fails, the others are given first. */
enum mpk_code mpk_view_disasm(const struct mpk_view *view, const char *text, struct mpk_disasm *d,
			      const struct mpk_disasm_sink *sink,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_listing: as objdump lays it out, in verbose text with the bytes of each instruction; branches
 * have their targets' names. JSON is that of minspect-disasm.schema.json. */
extern const struct mpk_answer mpk_answer_listing;

/* --- for the parts of this view ---------------------------------------------------------------- */

struct mpk_disasm_job {
	const struct mpk_view *view;
	struct mpk_part_name wanted;
	struct mpk_disasm *d;
	const struct mpk_disasm_sink *sink;
	struct mpk_arena *arena; /* of what is read on the way: the view's, or of one container */
	struct mpk_part_names names; /* that could have been meant */
	size_t found;                /* listings, and failures to make one */
	enum mpk_code failure;       /* of the first that failed; the others went on */
	struct mpk_error error;
	struct mpk_error *err;
};

/* mpk_disasm_device - a run of device code: all of it, or the kernel or image that is wanted
 * mpk_disasm_devices - the GPU code of the library that the path leads to, or all of it
 * mpk_disasm_files - the functions of machine code in an ELF file: the wanted one, or all
 * Return   MPK_OK, also when it is not there; what put returned; MPK_E_NOMEM. Failures of disassemblers are
 *          noted in the job. */
enum mpk_code mpk_disasm_device(struct mpk_disasm_job *j, const char *path,
				const struct mpk_code_info *code) MPK_MUST_CHECK;
enum mpk_code mpk_disasm_devices(struct mpk_disasm_job *j) MPK_MUST_CHECK;

/* mpk_disasm_function - one function of machine code
 * @name    as the user knows it
 * Returns  as above */
enum mpk_code mpk_disasm_function(struct mpk_disasm_job *j, const char *path, struct mpk_span name,
				  const char *format, struct mpk_code_file *file,
				  const struct mpk_code_function *function) MPK_MUST_CHECK;

/* mpk_disasm_put - hand a listing on
 * mpk_disasm_note - remember a failure that ends nothing but its own listing
 * Returns  MPK_OK, or a failure that ends all: MPK_E_NOMEM */
enum mpk_code mpk_disasm_put(struct mpk_disasm_job *j, const struct mpk_listing *l) MPK_MUST_CHECK;
enum mpk_code mpk_disasm_note(struct mpk_disasm_job *j, enum mpk_code code,
			      const struct mpk_error *err) MPK_MUST_CHECK;

#endif
