/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - code formats: PTX, a cubin, SPIR-V, OpenCL C, ...; one row and one file for each
 *
 * The row of a format has everything that is asked of it: how its bytes are recognised, which
 * modules hold it, how it is read, shown, written as JSON and verified. A new format is a file with
 * a row, and an entry in formats.def. Files that are not code but may be mistaken for it (a .npy
 * file, an archive) have a row with a name and a magic number, so that a message can name them. */
#ifndef MPK_CODE_FORMAT_H
#define MPK_CODE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "dtype/dtype.h"
#include "text/json.h"

struct mpk_code_info;   /* info.h */
struct mpk_code_target; /* below */
struct mpk_code_verify; /* info.h */
struct mpk_code_param;  /* info.h */
struct mpk_fact;        /* text/facts.h */
struct mpk_work;        /* work/work.h */
struct mpk_dwarf_row;   /* dwarf/dwarf.h */

enum { MPK_CODE_CLAIMS = 6 };

/* The kind and format of a module that holds the code: kind "cuda", format "ptx". */
struct mpk_code_claim {
	const char *kind, *format;
};

/* A function that is NULL has nothing to add. Functions with an info are called for readable code
 * only, unless the field says otherwise; kernel is an index into its kernels. */
struct mpk_code_format {
	const char *word;  /* name in JSON and CSV: "ptx"; stable; NULL: "other" */
	const char *name;  /* name in messages: "PTX text", "a cubin" */
	const char *title; /* title of a file in this format, if it may be more than GPU code: "LLVM
		        * bitcode"; or NULL */

	/* How bytes are recognised: by one of these magic numbers at their beginning, by one of these words
	 * in their first 64 KiB, or by the function. Rows are tried in the order of formats.def. */
	const char *magics[2], *words[3];
	bool (*is)(struct mpk_span bytes);

	bool is_text;         /* the bytes must be text */
	bool is_file;         /* a file in this format is inspected like a library (elf/image.h) */
	bool is_source;       /* source text for a driver's compiler, already preprocessed */
	bool counts_params;   /* a kernel has as many parameters as the module's table lists, unless
			       * macros add some; for rows without param_bytes */
	bool has_code_bytes;  /* kernels have code_bytes */
	bool verifies_broken; /* verify is also called for unreadable code, and reports why */
	unsigned variant;     /* distinguishes rows that share functions */

	/* The claims of modules that this format fulfils, the usual one of a kind first; and claims of
	 * other formats under which compilers also store it. */
	struct mpk_code_claim claims[MPK_CODE_CLAIMS], tolerated[MPK_CODE_CLAIMS];

	/* Reads info->bytes into content, which is zeroed and becomes info->content, and sets the other
	 * fields of info. Returns the errors of the format's reader. */
	enum mpk_code (*read)(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
			      struct mpk_error *err);
	size_t content_bytes;
	/* Lists the images in the code and their devices, from headers only (mpk_code_targets); NULL: the
	 * code is for no particular device. */
	enum mpk_code (*targets)(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_code_target **out, size_t *count,
				 struct mpk_error *err);
	/* Whether a kernel of this name may exist although it is not listed; NULL: yes. Also called for
	 * broken sources. */
	bool (*may_define)(const struct mpk_code_info *info, struct mpk_span name);
	/* Finds the kernel in a source to which a compiler gives this symbol; false: none, or not known. */
	bool (*find_symbol)(const struct mpk_code_info *info, struct mpk_span symbol,
			    size_t *kernel);
	/* Returns the bytes of parameter i in a launch. */
	uint64_t (*param_bytes)(const struct mpk_code_info *info, size_t kernel, size_t i);
	/* Sets the type of parameter i as a kernel table lists it; false: the code does not say. */
	bool (*param_dtype)(const struct mpk_code_info *info, size_t kernel, size_t i,
			    struct mpk_dtype *out);
	/* Sets everything known of parameter i (struct mpk_code_param); bytes is already set. */
	void (*param)(const struct mpk_code_info *info, size_t kernel, size_t i,
		      struct mpk_code_param *out);
	/* For languages whose kernels have parameters that tables do not list, or list in another order:
	 * the declaration of parameter i if no runtime can pass it; else empty. */
	struct mpk_span (*unpassable)(const struct mpk_code_info *info, size_t kernel, size_t i);

	/* Appends one line without its end; for containers, lines for the images or members follow it. */
	void (*text)(const struct mpk_code_info *info, struct mpk_strbuf *out);
	void (*lines)(const struct mpk_code_info *info, const char *indent, struct mpk_strbuf *out);
	void (*json)(const struct mpk_code_info *info, struct mpk_json *j, struct mpk_json_at *at);
	/* Appends the registers, parameters and shapes of one kernel. */
	void (*kernel_text)(const struct mpk_code_info *info, size_t kernel,
			    struct mpk_strbuf *out);
	void (*kernel_json)(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at);
	/* Counts what the instructions do in a part of a kernel's code or text; false: not known (work.h). */
	bool (*count_work)(const struct mpk_code_info *info, struct mpk_span piece,
			   struct mpk_work *out);
	/* Lists the source lines of the code or text, as offsets in info->bytes, sorted; none if the code
	 * has no line table. */
	enum mpk_code (*source_rows)(const struct mpk_code_info *info, struct mpk_arena *arena,
				     const struct mpk_dwarf_row **out, size_t *count,
				     struct mpk_error *err);
	/* Writes the kernel's "parameters"; or NULL. Separate, because images for several devices mostly
	 * have the same. */
	void (*params_json)(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at);
	/* Members of JSON that follow those of kernel_json (or NULL), and the struct that they describe. A
	 * member with MPK_CODE_IS is a figure that is compared between builds (show.h). */
	const void *(*kernel_of)(const struct mpk_code_info *info, size_t kernel);
	const struct mpk_fact *kernel_facts;
	size_t kernel_fact_count;

	/* For minspect verify: the check name of the format's findings, and the sentence for a file without
	 * findings, which check-messages copies to minspect(1). Without a name, findings are of
	 * "code-format". */
	const char *check, *about;
	void (*verify)(const struct mpk_code_info *info, const struct mpk_code_verify *v);
};

/* The rows, each in the file of its name; those for other files are in other.c. */
#define MPK_CODE_FORMAT(name) extern const struct mpk_code_format mpk_format_##name;
#include "code/formats.def"
#undef MPK_CODE_FORMAT

extern const struct mpk_code_format mpk_format_empty;   /* no bytes */
extern const struct mpk_code_format mpk_format_unknown; /* bytes in no known format */

/* The rows of formats.def, ended by NULL. */
extern const struct mpk_code_format *const mpk_code_formats[];

/* mpk_code_is_text - whether the first 64 KiB have no control bytes but white space
 * mpk_code_has_word - whether the first 64 KiB contain a word
 * Only the beginning is read, because megabytes may follow. NULs at the end do not count. */
bool mpk_code_is_text(struct mpk_span bytes);
bool mpk_code_has_word(struct mpk_span bytes, const char *word);

/* mpk_code_has_sign - whether the bytes have a magic number or a word of the row; a text may have
 * words of several rows */
bool mpk_code_has_sign(const struct mpk_code_format *f, struct mpk_span bytes);

/* mpk_code_format_of - the format of bytes, from the first few, and for texts from words that only
 * one language has
 * Returns  a row, also &mpk_format_empty or &mpk_format_unknown; never NULL */
const struct mpk_code_format *mpk_code_format_of(struct mpk_span bytes);

/* mpk_code_format_claimed - the format that a module's kind and format name
 * Returns  NULL if they are not known here: the bytes may be anything */
const struct mpk_code_format *mpk_code_format_claimed(struct mpk_span kind, struct mpk_span format);

/* mpk_code_format_label - the `format` under which a module of this kind holds such code
 * Returns  "ptx", ...; for a text in an unknown language the source format of the kind; NULL if the
 *          kind has no format for it, or is not for a device */
const char *mpk_code_format_label(struct mpk_span kind, const struct mpk_code_format *f);

/* mpk_code_format_fits - whether code in this format may be stored under a module's kind and
 * format. A source text passes unless it is certainly in another language
 * Returns  true if the kind or the format is not known here */
bool mpk_code_format_fits(struct mpk_span kind, struct mpk_span format,
			  const struct mpk_code_format *f);

/* mpk_code_format_claim - as mpk_code_format_fits, with an error
 * @format  empty: any format of the kind
 * @known   receives whether kind and format are known here and are right
 * Returns  MPK_OK, also if they are not known; MPK_E_CORRUPT: the expected and the found format */
enum mpk_code mpk_code_format_claim(struct mpk_span kind, struct mpk_span format,
				    const struct mpk_code_format *f, bool *known,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_format_check - whether bytes are in the format that kind and format name, and read
 * A source text passes unless it is certainly in another language.
 * @format  empty: any format of the kind
 * Returns  as mpk_code_format_claim; the error of the format's reader: MPK_E_CORRUPT, MPK_E_SYNTAX,
 *          MPK_E_CONFLICT, MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_code_format_check(struct mpk_span bytes, struct mpk_span kind,
				    struct mpk_span format, struct mpk_error *err) MPK_MUST_CHECK;

/* --- the devices that code is for, from its headers only ---------------------
 *
 * A listing shows them for every module, and payloads may be large: only headers and the first
 * lines of texts are read here, and nothing is decompressed. info.h reads the rest. */

enum mpk_code_target_kind {
	MPK_TARGET_BINARY, /* machine code */
	MPK_TARGET_PTX,    /* for a CUDA driver to compile */
	MPK_TARGET_LTO,    /* LTO IR: a linker reads it, no driver runs it */
	MPK_TARGET_TILE,   /* Tile IR, which a driver compiles */
	MPK_TARGET_OTHER,  /* an image of unknown kind */
};

/* One image in some code. */
struct mpk_code_target {
	enum mpk_code_target_kind kind;
	char name[40]; /* "sm_90a", "compute_80" for PTX, "lto_90", "gfx90a:xnack+" */
	unsigned sm;   /* CUDA: 90 for sm_90; 0: not CUDA code */
	char suffix;   /* CUDA: 'a' or 'f'; NUL: none */
	unsigned ptx_major, ptx_minor; /* PTX: its .version; Tile IR: its version */
	unsigned kind_code;            /* kind of a fatbin's entry, as stored */
	unsigned abi;                  /* ELF ABI version of a cubin; 0: not known */
	unsigned
		toolkit; /* major release of CUDA that made a cubin, if its ABI does not show it; 0:
			  * not known */
	bool relocatable; /* a cubin that must be linked before it runs */
	bool too_new;     /* a code object of a version that no known release of ROCm loads */
	const char
		*what; /* "cubin", "PTX", "code object", "LLVM bitcode"; NULL: "PTX" or "cubin" */
	const char *packing;         /* "stored", "LZ4", "zstd", "zlib"; NULL: stored */
	uint64_t bytes, plain_bytes; /* bytes of the image as stored, and decompressed; 0: not
				      * known. For images compressed together, its share. */
	bool zstd;                   /* compressed in a way that drivers before CUDA 12.4 do not
				      * support */
};

/* mpk_code_targets - list the images in some code
 * @out     in file order; in arena
 * @count   0 for formats that are for no particular device, such as source texts
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM */
enum mpk_code mpk_code_targets(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_target_of_entry - the target of an image according to Clang's container, or to the name
 * of its section
 * @out     zeroed; name, kind, what and sm are set */
struct mpk_offload_entry;
void mpk_code_target_of_entry(const struct mpk_offload_entry *e, struct mpk_code_target *out);

/* mpk_code_kind_has_targets - whether modules of this kind may hold code for particular devices */
bool mpk_code_kind_has_targets(struct mpk_span kind);

/* mpk_code_targets_put - append the targets in short: "sm_80 sm_90 + PTX 8.0", "gfx90a"; for PTX
 * only "8.0 sm_90"; nothing for none */
void mpk_code_targets_put(const struct mpk_code_target *targets, size_t count,
			  struct mpk_strbuf *out);

#endif
