/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - minspect --disasm: lists functions, kernels and byte code, instruction by instruction
 *
 * The code is untrusted and disassemblers are large. So they run in two helper processes
 * (process/process.h) with limits on time and memory. Neither loads anything before the first
 * request.
 */
#ifndef MPK_DISASM_LISTING_H
#define MPK_DISASM_LISTING_H

#include "code/work.h"
#include "elf/code.h"
#include "model/view.h"
#include "process/process.h"
#include "llvm/llvm.h"

enum mpk_disasm_tool {
	MPK_DISASM_NVDISASM,  /* NVIDIA's tool, for cubins */
	MPK_DISASM_SPIRV_DIS, /* tool of SPIRV-Tools */
	MPK_DISASM_TOOLS
};

/* Files that the helpers may use; must live as long as the helpers. */
struct mpk_disasm_setup {
	const char *llvm; /* path of libexec/mpack/llvm.so */
	/* for each tool: possible paths, ended by NULL; the first existing file is used */
	const char *const *tools[MPK_DISASM_TOOLS];
	bool no_sandbox;
};

/* Zero-initialise, start with mpk_disasm_start, stop with mpk_disasm_stop. */
struct mpk_disasm {
	struct mpk_helper llvm, tools;
	struct mpk_strbuf answer; /* output of the last request */
};

/* mpk_disasm_start - start the helpers; call it before this process enters its sandbox
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_disasm_start(const struct mpk_disasm_setup *setup, struct mpk_disasm *out,
			       struct mpk_error *err) MPK_MUST_CHECK;
void mpk_disasm_stop(struct mpk_disasm *d);

/* The listing of one function, kernel or module. */
struct mpk_listing {
	const char *path;     /* path of its module; "" for host code without a module */
	struct mpk_span name; /* empty if the listing is of the whole module */
	const char *format;   /* "x86-64", "ptx", "byte code" */
	const char *target;   /* device code only: "sm_90"; "" if it names none */
	/* set for machine code: */
	const char *symbol; /* NULL if the listing is a text */
	const struct mpk_code_function
		*function; /* the function; this field and those below are NULL if not known */
	struct mpk_code_file *file;
	const struct mpk_llvm_instruction *instructions;
	size_t count;
	uint64_t address, bytes; /* address and length of the instructions in this piece */
	/* source lines, as far as debug information gives them */
	const struct mpk_dwarf_row *lines;
	size_t line_count;
	bool continues; /* a later piece of a large function */
	/* a text that is not safe to print */
	struct mpk_span text;
	/* code for a GPU whose instructions are counted; else NULL */
	const struct mpk_code_info *code;
	const struct mpk_code_rows *rows; /* source lines of that code */
};

/* Receives the listings. */
struct mpk_disasm_sink {
	enum mpk_code (*put)(const struct mpk_listing *l, void *arg, struct mpk_error *err);
	void *arg;
};

/* mpk_view_disasm - list everything that a name means: host functions, functions of byte code,
 * kernels. A function of an executable and a host function may share a name; then both are listed
 * @text    "vadd", "__tvm_ffi_vadd", "/0#vadd", "/0" for a whole module, "/0#sm_90" for an image of
 *          it, ".hip_fatbin:0#vadd"; NULL: all host functions; if there are none, all modules and
 *          all GPU code
 * Returns  MPK_OK; MPK_E_NOTFOUND with "did you mean"; MPK_E_UNSUPPORTED: no disassembler knows
 *          this code; MPK_E_LOAD: LLVM or the tool is not installed; MPK_E_TOOL: one failed; what
 *          put returned. If one image of several fails, the others are still listed first. */
enum mpk_code mpk_view_disasm(const struct mpk_view *view, const char *text, struct mpk_disasm *d,
			      const struct mpk_disasm_sink *sink,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_disasm_container - list one container of GPU code without reading the others
 * Returns  as above */
enum mpk_code mpk_view_disasm_container(const struct mpk_view *view,
					const struct mpk_image_device *container,
					struct mpk_disasm *d, const struct mpk_disasm_sink *sink,
					struct mpk_error *err) MPK_MUST_CHECK;

/* Printers of struct mpk_listing: the layout of objdump; verbose text adds the bytes of each
 * instruction; branches show the names of their targets. JSON follows
 * minspect-disasm.schema.json. */
extern const struct mpk_answer mpk_answer_listing;

#endif
