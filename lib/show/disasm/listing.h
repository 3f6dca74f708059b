/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - minspect --disasm: what functions, kernels and byte code do, instruction by instruction
 *
 * What is disassembled comes from strangers, and what does it is large. So it happens in two helper
 * processes (process/process.h), which have bounds of time and memory. Neither does anything until it is asked.
 */
#ifndef MPK_DISASM_LISTING_H
#define MPK_DISASM_LISTING_H

#include "code/work.h"
#include "elf/code.h"
#include "model/view.h"
#include "process/process.h"
#include "llvm/llvm.h"

enum mpk_disasm_tool {
	MPK_DISASM_NVDISASM,  /* NVIDIA's, for cubins */
	MPK_DISASM_SPIRV_DIS, /* of SPIRV-Tools */
	MPK_DISASM_TOOLS
};

/* What the helpers may use; lives as long as they do. */
struct mpk_disasm_setup {
	const char *llvm; /* path of libexec/mpack/llvm.so */
	/* paths at which a program may be, ended by NULL; the first that is there is taken */
	const char *const *tools[MPK_DISASM_TOOLS];
	bool no_sandbox;
};

/* Zero-initialise; mpk_disasm_start; mpk_disasm_stop. */
struct mpk_disasm {
	struct mpk_helper llvm, tools;
	struct mpk_strbuf answer; /* of the last question */
};

/* mpk_disasm_start - before this process enters its sandbox
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_disasm_start(const struct mpk_disasm_setup *setup, struct mpk_disasm *out,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_disasm_stop(struct mpk_disasm *d);

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
	/* what the text is of, where its instructions are counted: cubins and PTX; else NULL */
	const struct mpk_code_info *code;
	const struct mpk_code_rows *rows; /* its source lines */
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
 *          MPK_E_LOAD: there is no LLVM, or no such tool; MPK_E_TOOL: one failed; what put returned. Where one
 *          image of several fails, the others are given first. */
enum mpk_code mpk_view_disasm(const struct mpk_view *view, const char *text, struct mpk_disasm *d,
			      const struct mpk_disasm_sink *sink,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_disasm_container - the same of one container of GPU code, without a look at all others
 * Returns  as above */
enum mpk_code mpk_view_disasm_container(const struct mpk_view *view,
					const struct mpk_image_device *container,
					struct mpk_disasm *d, const struct mpk_disasm_sink *sink,
					struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_listing: as objdump lays it out, in verbose text with the bytes of each instruction; branches
 * have their targets' names. JSON is that of minspect-disasm.schema.json. */
extern const struct mpk_answer mpk_answer_listing;

#endif
