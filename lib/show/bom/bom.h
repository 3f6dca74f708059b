/* SPDX-License-Identifier: Apache-2.0 */
/* bom.h - a library's bill of materials, and the statement of its builder and inputs
 *
 * Both are computed from the file alone: its modules, the libraries it needs, and its provenance if
 * it has any. The same file gives the same document: no clock, no random number. All that the file
 * says about itself is a claim, not a fact (origin.h).
 */
#ifndef MPK_BOM_BOM_H
#define MPK_BOM_BOM_H

#include "io/digest.h"
#include "io/mapping.h"
#include "model/origin.h"

/* Facts that the document states and the file does not contain. */
struct mpk_bom_author {
	/* the program that writes the document: "minspect", "0.1.0 (...)" */
	const char *name, *version;
	int64_t created;     /* seconds since 1970, for SPDX, which demands a time */
	const char *builder; /* URI of the builder of the file, for the statement */
};

/* The role of a thing in the library. */
enum mpk_bom_class {
	MPK_BOM_CODE,   /* a module with bytes, or an image outside the module tree */
	MPK_BOM_DATA,   /* a module with bytes that holds no code, such as weights */
	MPK_BOM_NEEDED, /* a needed library, by its DT_NEEDED name */
	MPK_BOM_TOOL,   /* a tool that built the library */
	MPK_BOM_INPUT,  /* an input file of the build */
};

/* One component of the bill of materials. Unknown fields are NULL or empty. */
struct mpk_bom_thing {
	enum mpk_bom_class class;
	const char *id;         /* "module-0-1", "needed-0": letters, digits, '.', '-' */
	struct mpk_span name;   /* code: its kind, "opencl"; else the name of the thing */
	const char *version;    /* tools only */
	const char *path;       /* code only, as minspect names it: "/0/1", "cubin:my_kernels" */
	struct mpk_span format; /* code only */
	uint64_t bytes;         /* code only */
	const char *sha256;     /* code and inputs only */
};

struct mpk_bom {
	const struct mpk_bom_author *author;
	/* reference to the library within the document: "library"; in a set "library-0" */
	const char *ref;
	const char *name; /* name of the package, else of the file */
	const char *file; /* file name without folders */
	uint64_t bytes;
	uint8_t digest[MPK_DIGEST_BYTES]; /* SHA-256 of the file */
	char sha256[MPK_DIGEST_TEXT];     /* digest as hexadecimal text */
	char uuid[37];                    /* derived from the digest */
	/* modules and images first, then the other classes in order */
	const struct mpk_bom_thing *things;
	size_t count;
	bool has_provenance;
	struct mpk_provenance provenance;
};

/* mpk_bom_read - collect the components of a library and hash them
 * @map     the view's file
 * @bytes   the whole file, or a member of a zip archive
 * @author  borrowed
 * @out     in view->arena
 * Returns  MPK_OK; MPK_E_LOAD: no libcrypto; MPK_E_SYNTAX: its provenance cannot be parsed;
 *          MPK_E_IO; MPK_E_NOMEM; MPK_E_INTERNAL */
enum mpk_code mpk_bom_read(const struct mpk_view *view, const struct mpk_mapping *map,
			   struct mpk_span bytes, const struct mpk_bom_author *author,
			   struct mpk_bom *out, struct mpk_error *err) MPK_MUST_CHECK;

/* One document for several libraries: those of an archive or folder, or all files of a command
 * line. Each library is written when it is added, so that only one is in memory. Zero-initialise;
 * finish with mpk_bom_set_end. */
struct mpk_bom_set {
	bool is_spdx;
	const struct mpk_bom_author *author;
	const char *name; /* name of the archive, or of the set if there is no archive; borrowed */
	/* SHA-256 of the archive as 64 digits, borrowed; NULL if there is no archive, and then it
	 * is no component */
	const char *sha256;
	uint64_t bytes;     /* bytes of the archive */
	struct mpk_json *j; /* the document, which mpk_bom_set_begin begins */
	/* the functions mpk_bom_set_* own the fields below */
	struct mpk_json_at *list; /* the open list of components or packages */
	struct mpk_json links;    /* dependencies or relationships, which follow the list */
	struct mpk_strbuf digests, refs;
	size_t count; /* number of libraries */
};

/* mpk_bom_set_begin - write the head of the document; the caller has filled the fields above "own"
 * mpk_bom_set_add - write the next library
 * @file    its name in the archive or folder
 * @arena   the arena that holds b
 * Returns  MPK_OK; MPK_E_NOMEM
 * mpk_bom_set_end - write the rest of the document and free the memory of set
 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_LOAD: no libcrypto */
void mpk_bom_set_begin(struct mpk_bom_set *set);
enum mpk_code mpk_bom_set_add(struct mpk_bom_set *set, struct mpk_bom *b, const char *file,
			      struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bom_set_end(struct mpk_bom_set *set, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_bom_uuid - make a UUID of 36 characters from a digest: the same file gives the same UUID */
void mpk_bom_uuid(const uint8_t digest[MPK_DIGEST_BYTES], char out[37]);

/* of struct mpk_bom: documents of CycloneDX 1.6 and of SPDX 2.3; an in-toto statement (v1) with the provenance of
 * SLSA (v1) as its predicate; the predicate alone, for tools that make the statement themselves. For the
 * last two the file must have provenance. */
extern const struct mpk_answer mpk_answer_cyclonedx, mpk_answer_spdx, mpk_answer_statement,
	mpk_answer_predicate;

#endif
