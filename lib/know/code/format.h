/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - code formats: PTX, a cubin, SPIR-V, OpenCL C, ...; a row and a file each
 *
 * Everything that is asked of a code format is in its row: how its bytes are recognised, which
 * modules hold it, how it is read, shown, written as JSON and verified. A new format is a file
 * with a row, named in formats.def. What is no code but may be mistaken for it (a .npy file, an
 * archive) has a row of a name and a sign, so that a message can say what was found.
 */
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
struct mpk_code_target; /* target.h */
struct mpk_code_verify; /* info.h */
struct mpk_code_param;  /* param.h */
struct mpk_fact;        /* text/facts.h */
struct mpk_work;        /* work/work.h */
struct mpk_dwarf_row;   /* dwarf/dwarf.h */

enum { MPK_CODE_CLAIMS = 6 };

/* What a module says that its code is: kind "cuda", format "ptx". */
struct mpk_code_claim {
	const char *kind, *format;
};

/* Functions that are NULL have nothing to tell. Functions with an info are called for readable
 * code only, unless the row says otherwise; kernel is an index into its kernels. */
struct mpk_code_format {
	const char *word; /* in documents: "ptx"; stable; NULL: "other" */
	const char *name; /* in messages: "PTX text", "a cubin" */
	const char *
		title; /* of a file of it, where that is more than GPU code: "LLVM bitcode"; or NULL */

	/* How it is recognised: by one of these at its beginning, by one of these words in its
	 * first 64 KiB, or by a function. Rows are tried in the order of formats.def. */
	const char *magics[2], *words[3];
	bool (*is)(struct mpk_span bytes);

	bool is_text;         /* recognised among texts only */
	bool is_file;         /* a file of it is inspected like a library (elf/image.h) */
	bool is_source;       /* text for a driver's compiler, after preprocessing */
	bool counts_params;   /* kernels have as many parameters as the module's table lists,
			       * unless macros add some; without param_bytes */
	bool has_code_bytes;  /* kernels have code_bytes */
	bool verifies_broken; /* verify is also called for unreadable code, and says why */
	unsigned variant;     /* tells rows apart that share functions */

	/* The claims that it fulfils, the usual one of a kind first, and claims meant for
	 * another format that writers of libraries make for this one, too. */
	struct mpk_code_claim claims[MPK_CODE_CLAIMS], tolerated[MPK_CODE_CLAIMS];

	/* Reads info->bytes into content, which is zeroed and becomes info->content, and fills
	 * the rest of info. Failures are those of the format's reader. */
	enum mpk_code (*read)(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
			      struct mpk_error *err);
	size_t content_bytes;
	/* The devices that images of the code are for, from headers only (target.h); NULL: none
	 * in particular. */
	enum mpk_code (*targets)(struct mpk_span bytes, struct mpk_arena *arena,
				 struct mpk_code_target **out, size_t *count,
				 struct mpk_error *err);
	/* Whether an unlisted kernel of this name may exist; NULL: yes. Also called for broken
	 * sources. */
	bool (*may_define)(const struct mpk_code_info *info, struct mpk_span name);
	/* Sources: the kernel to which a compiler gives this symbol; false: none, or unknown. */
	bool (*find_symbol)(const struct mpk_code_info *info, struct mpk_span symbol,
			    size_t *kernel);
	/* Bytes of parameter i as a launch passes it. */
	uint64_t (*param_bytes)(const struct mpk_code_info *info, size_t kernel, size_t i);
	/* Its type as a kernel table lists it; false: the code does not say. */
	bool (*param_dtype)(const struct mpk_code_info *info, size_t kernel, size_t i,
			    struct mpk_dtype *out);
	/* Everything known of parameter i (param.h); bytes is set. */
	void (*param)(const struct mpk_code_info *info, size_t kernel, size_t i,
		      struct mpk_code_param *out);
	/* Languages whose kernels name their parameters in another order than tables, or not all of them:
	 * the declaration of parameter i where no runtime passes such; else empty. */
	struct mpk_span (*unpassable)(const struct mpk_code_info *info, size_t kernel, size_t i);

	/* One line without its end; lines of images or members after it; members of an object. */
	void (*text)(const struct mpk_code_info *info, struct mpk_strbuf *out);
	void (*lines)(const struct mpk_code_info *info, const char *indent, struct mpk_strbuf *out);
	void (*json)(const struct mpk_code_info *info, struct mpk_json *j, struct mpk_json_at *at);
	/* The same for one kernel: registers, parameters, shapes. */
	void (*kernel_text)(const struct mpk_code_info *info, size_t kernel,
			    struct mpk_strbuf *out);
	void (*kernel_json)(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at);
	/* What the instructions in a piece of a kernel's code, or of its text, do; false: that is not known (work.h). */
	bool (*count_work)(const struct mpk_code_info *info, struct mpk_span piece,
			   struct mpk_work *out);
	/* Source lines of its code or text, as offsets in info->bytes, sorted; none where it does not tell. */
	enum mpk_code (*source_rows)(const struct mpk_code_info *info, struct mpk_arena *arena,
				     const struct mpk_dwarf_row **out, size_t *count,
				     struct mpk_error *err);
	/* The kernel's "parameters", or NULL: apart, because images for several devices have mostly the same. */
	void (*params_json)(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at);
	/* Rows of members that follow what kernel_json (or NULL) puts, and the struct that they
	 * describe. A row with MPK_CODE_IS is a number that is compared between builds (show.h). */
	const void *(*kernel_of)(const struct mpk_code_info *info, size_t kernel);
	const struct mpk_fact *kernel_facts;
	size_t kernel_fact_count;

	/* minspect verify: findings of the format's own check, and the sentence for a file
	 * without findings, which check-messages copies to minspect(1); without a check,
	 * findings of "code-format". */
	const char *check, *about;
	void (*verify)(const struct mpk_code_info *info, const struct mpk_code_verify *v);
};

/* The rows, each in the file of its name or, for what is no code, in other.c. */
#define MPK_CODE_FORMAT(name) extern const struct mpk_code_format mpk_format_##name;
#include "code/formats.def"
#undef MPK_CODE_FORMAT

extern const struct mpk_code_format mpk_format_empty;   /* no bytes at all */
extern const struct mpk_code_format mpk_format_unknown; /* bytes without a sign */

/* All of formats.def, ended by NULL. */
extern const struct mpk_code_format *const mpk_code_formats[];

/* mpk_code_is_text - whether there are no control bytes in the beginning but for white space
 * mpk_code_has_word - whether a word is in the beginning
 * The beginning is 64 KiB: what follows may be megabytes of code. NULs at the end do not count. */
bool mpk_code_is_text(struct mpk_span bytes);
bool mpk_code_has_word(struct mpk_span bytes, const char *word);

/* mpk_code_has_sign - whether the bytes have one of the row's own signs; texts may have several rows' */
bool mpk_code_has_sign(const struct mpk_code_format *f, struct mpk_span bytes);

/* mpk_code_format_of - what the bytes are, from their first few and, for texts, from words that
 * only one language has
 * Returns  a row, also &mpk_format_empty or &mpk_format_unknown; never NULL */
const struct mpk_code_format *mpk_code_format_of(struct mpk_span bytes);

/* mpk_code_format_claimed - what a module's kind and format say that its code is
 * Returns  NULL when they are not known here: any bytes can be it */
const struct mpk_code_format *mpk_code_format_claimed(struct mpk_span kind, struct mpk_span format);

/* mpk_code_format_label - the `format` under which a module of this kind holds such code
 * Returns  "ptx", ...; for a text in an unknown language the kind's source format; NULL when the
 *          kind has none for it or is no device's */
const char *mpk_code_format_label(struct mpk_span kind, const struct mpk_code_format *f);

/* mpk_code_format_fits - whether code of this format can stand under a module's kind and format:
 * source texts count as what they claim unless they are certainly something else
 * Returns  true when kind or format is not known here */
bool mpk_code_format_fits(struct mpk_span kind, struct mpk_span format,
			  const struct mpk_code_format *f);

/* mpk_code_format_claim - the same with a reason
 * @format  empty: any format of the kind
 * @known   receives whether kind and format are known here and hold
 * Returns  MPK_OK, also when they are not known; MPK_E_CORRUPT: what was expected and what found */
enum mpk_code mpk_code_format_claim(struct mpk_span kind, struct mpk_span format,
				    const struct mpk_code_format *f, bool *known,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_format_check - whether bytes are what kind and format say, and read as it
 * Texts count as what they claim unless they are certainly something else.
 * @format  empty: any format of the kind
 * Returns  as mpk_code_format_claim; what the format's reader found: MPK_E_CORRUPT, MPK_E_SYNTAX,
 *          MPK_E_CONFLICT, MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_code_format_check(struct mpk_span bytes, struct mpk_span kind,
				    struct mpk_span format, struct mpk_error *err) MPK_MUST_CHECK;

/* --- which devices a run of code is for, read from its headers alone ---------------------
 *
 * A listing shows it for every module, and payloads may be large: nothing but headers and the
 * first lines of a text is read here, and nothing is unpacked. info.h reads the rest. */

enum mpk_code_target_kind {
	MPK_TARGET_BINARY, /* machine code */
	MPK_TARGET_PTX,    /* for a CUDA driver to compile */
	MPK_TARGET_LTO,    /* NVVM IR for link-time optimisation: no driver runs it */
	MPK_TARGET_TILE,   /* Tile IR: a driver compiles it */
	MPK_TARGET_OTHER,  /* an image of unknown kind */
};

/* One image. */
struct mpk_code_target {
	enum mpk_code_target_kind kind;
	char name[40]; /* "sm_90a", "compute_80" of PTX, "lto_90", "gfx90a:xnack+" */
	unsigned sm;   /* CUDA: 90 for sm_90; 0: no CUDA code */
	char suffix;   /* CUDA: 'a' or 'f', or NUL */
	unsigned ptx_major, ptx_minor; /* PTX: its .version; Tile IR: its version */
	unsigned kind_code;            /* of a fatbin's entry, as stored */
	unsigned abi;                  /* ELF ABI version of a cubin; 0: not known */
	unsigned
		toolkit; /* major release of CUDA that made a cubin, where its ABI does not tell; 0: not known */
	bool relocatable; /* a cubin that must be linked first */
	const char
		*what; /* "cubin", "PTX", "code object", "LLVM bitcode"; NULL: "PTX" or "cubin" */
	const char *packing;         /* "stored", "LZ4", "zstd", "zlib"; NULL: stored */
	uint64_t bytes, plain_bytes; /* bytes of the image as stored, and unpacked; 0: unknown. For
				      * images packed together, its share. */
	bool zstd;                   /* packed so that drivers before CUDA 12.4 cannot open it */
};

/* mpk_code_targets - the images of a run of code
 * @out     in file order; in arena
 * @count   0 for formats that are for no particular device, such as source texts
 * Returns  MPK_OK; MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_UNSUPPORTED: the headers do not read;
 *          MPK_E_NOMEM */
enum mpk_code mpk_code_targets(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_code_target_of_entry - what a container of Clang's, or the name of a section, says of one image
 * @out     zeroed; name, kind, what and sm are set */
struct mpk_offload_entry;
void mpk_code_target_of_entry(const struct mpk_offload_entry *e, struct mpk_code_target *out);

/* mpk_code_kind_has_targets - whether code of modules of this kind may be for particular devices */
bool mpk_code_kind_has_targets(struct mpk_span kind);

/* mpk_code_targets_put - append them in short: "sm_80 sm_90 + PTX 8.0", "gfx90a"; PTX alone as
 * "8.0 sm_90". Nothing for none. */
void mpk_code_targets_put(const struct mpk_code_target *targets, size_t count,
			  struct mpk_strbuf *out);

#endif
