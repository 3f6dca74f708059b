/* probe.h - what a payload file is, told from its bytes; whether it is what it claims
 *
 * Used where a manifest leaves `format` out, and to check what it says.
 */
#ifndef MPK_FORMATS_PROBE_H
#define MPK_FORMATS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum mpk_probe {
	MPK_PROBE_UNKNOWN, /* bytes without a sign */
	MPK_PROBE_EMPTY,
	MPK_PROBE_PTX,
	MPK_PROBE_CUBIN,
	MPK_PROBE_FATBIN,
	MPK_PROBE_SPIRV,
	MPK_PROBE_HSACO,   /* ELF for AMD GPUs, or a bundle of several */
	MPK_PROBE_HEXAGON, /* ELF for Hexagon DSPs */
	MPK_PROBE_ELF,     /* of any other machine */
	MPK_PROBE_AR,
	MPK_PROBE_TAR,
	MPK_PROBE_GZIP,
	MPK_PROBE_ZIP, /* .npz among them */
	MPK_PROBE_NPY,
	MPK_PROBE_PARAMS, /* TVM's parameter file */
	MPK_PROBE_METALLIB,
	MPK_PROBE_XCLBIN,
	MPK_PROBE_BITCODE, /* LLVM */
	MPK_PROBE_JSON,
	MPK_PROBE_OPENCL, /* OpenCL C text; so are the next three */
	MPK_PROBE_METAL,
	MPK_PROBE_WGSL,
	MPK_PROBE_CUDA,
	MPK_PROBE_LLVM, /* LLVM IR text */
	MPK_PROBE_TEXT, /* text of no kind known here */
	MPK_PROBE_COUNT
};

/* mpk_probe - what the bytes look like, from their first few and, for texts, from words
 * that only one language has; never fails */
enum mpk_probe mpk_probe(struct mpk_span bytes);

/* mpk_probe_name - for messages: "a cubin", "OpenCL C source", "an unknown format" */
const char *mpk_probe_name(enum mpk_probe probe);

/* mpk_probe_is_source - whether a driver's compiler reads it: text in a language with a
 * preprocessor, or in one that is not known */
bool mpk_probe_is_source(enum mpk_probe probe);

/* mpk_probe_format - the `format` under which a module of this kind holds such bytes
 * @kind    key in the blob: "cuda"
 * Returns  "ptx", ...; for text that could be in any language the kind's source format;
 *          NULL when the kind has none for them or is not a device's */
const char *mpk_probe_format(struct mpk_span kind, enum mpk_probe probe);

/* mpk_probe_expected - what the bytes of a format are
 * Returns  MPK_PROBE_UNKNOWN when kind or format is not known here: any bytes can be it */
enum mpk_probe mpk_probe_expected(struct mpk_span kind, struct mpk_span format);

/* mpk_probe_fits - whether bytes that look like this can be of a format: source texts
 * count as what they claim unless they are certainly something else
 * Returns  true when kind or format is not known here */
bool mpk_probe_fits(struct mpk_span kind, struct mpk_span format, enum mpk_probe probe);

/* mpk_probe_check - whether bytes are what kind and format say
 * Reads them with the reader of their format, as far as there is one; texts count as
 * what they claim unless they are certainly something else.
 * @format  empty: any format of the kind
 * Returns  MPK_OK, also for kinds and formats that are not known here; MPK_E_CORRUPT (the
 *          text says what was expected and what was found) or what the reader found:
 *          MPK_E_CORRUPT, MPK_E_SYNTAX, MPK_E_CONFLICT, MPK_E_UNSUPPORTED; MPK_E_NOMEM */
enum mpk_code mpk_probe_check(struct mpk_span bytes, struct mpk_span kind, struct mpk_span format,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* What mpk_probe_kernels found; the lists are views of the bytes or lie in the arena. */
struct mpk_probe_names {
	const struct mpk_span *names; /* kernels, in file order */
	size_t count;
	const struct mpk_span *functions; /* PTX: each .func, as TVM writes some kernels */
	size_t function_count;
	struct mpk_span source; /* the bytes when they are a source text, else empty */
	bool complete;          /* false: there may be more, or the format has no list */
};

/* mpk_probe_kernels - the kernels a payload defines: PTX, cubin, fatbin (images that are
 * not packed), SPIR-V and source texts
 * A source text is never complete: macros may make kernels.
 * Returns  MPK_OK, also for other formats (none, not complete); the reader's failures */
enum mpk_code mpk_probe_kernels(struct mpk_span bytes, struct mpk_arena *arena,
				struct mpk_probe_names *out, struct mpk_error *err) MPK_MUST_CHECK;

/* What a payload says of one name. */
enum mpk_probe_kernel {
	MPK_PROBE_DEFINED,  /* a kernel of it */
	MPK_PROBE_FUNCTION, /* PTX: a .func, which no driver can launch */
	MPK_PROBE_POSSIBLE, /* the format has no list, or the source's macros may make it */
	MPK_PROBE_MISSING,  /* certainly none of its kernels */
};

/* mpk_probe_find - whether a payload has a kernel, by what mpk_probe_kernels found */
enum mpk_probe_kernel mpk_probe_find(const struct mpk_probe_names *names, struct mpk_span name);

#endif
