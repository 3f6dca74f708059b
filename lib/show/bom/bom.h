/* SPDX-License-Identifier: Apache-2.0 */
/* bom.h - a library as a bill of materials, and as the statement of who built it from what
 *
 * Both come from the file alone: its modules, the libraries it needs, and its provenance where it has
 * one. The same file gives the same document: no clock, no random number. What the file says of itself is
 * a claim here as everywhere (origin.h).
 */
#ifndef MPK_BOM_BOM_H
#define MPK_BOM_BOM_H

#include "io/digest.h"
#include "io/mapping.h"
#include "model/origin.h"

/* Of what is said in a document that its reader cannot know. */
struct mpk_bom_author {
	const char *name, *version; /* the program that writes: "minspect", "0.1.0 (...)" */
	int64_t created;            /* seconds since 1970, for SPDX, which demands a time */
	const char *builder;        /* URI of who built the file, for the statement */
};

/* What a thing is to the library. */
enum mpk_bom_class {
	MPK_BOM_CODE,   /* a module with bytes, code beside the blob */
	MPK_BOM_DATA,   /* the same of weights and the like: no code */
	MPK_BOM_NEEDED, /* a library, as DT_NEEDED names it */
	MPK_BOM_TOOL,   /* that built it */
	MPK_BOM_INPUT,  /* that it was made from */
};

/* What is not known of a thing is NULL, or empty. */
struct mpk_bom_thing {
	enum mpk_bom_class class;
	const char *id;         /* "module-0-1", "needed-0": letters, digits, '.', '-' */
	struct mpk_span name;   /* of code its kind, "opencl" */
	const char *version;    /* of tools */
	const char *path;       /* of code, as minspect names it: "/0/1", "cubin:my_kernels" */
	struct mpk_span format; /* of code */
	uint64_t bytes;         /* of code */
	const char *sha256;     /* of code and inputs */
};

struct mpk_bom {
	const struct mpk_bom_author *author;
	const char *ref;  /* of the library within the document: "library"; in a set "library-0" */
	const char *name; /* of the package, else of the file */
	const char *file; /* without folders */
	uint64_t bytes;
	uint8_t digest[MPK_DIGEST_BYTES];   /* SHA-256 of the file */
	char sha256[MPK_DIGEST_TEXT];       /* the same as text */
	char uuid[37];                      /* made of the digest */
	const struct mpk_bom_thing *things; /* modules and code, then the others by class */
	size_t count;
	bool has_provenance;
	struct mpk_provenance provenance;
};

/* mpk_bom_read - collect and hash
 * @map     the view's file; @bytes what is looked at: the file, or a member of a zip archive
 * @author  borrowed
 * @out     in view->arena
 * Returns  MPK_OK; MPK_E_LOAD: no libcrypto; MPK_E_SYNTAX: its provenance does not read; MPK_E_IO;
 *          MPK_E_NOMEM; MPK_E_INTERNAL */
enum mpk_code mpk_bom_read(const struct mpk_view *view, const struct mpk_mapping *map,
			   struct mpk_span bytes, const struct mpk_bom_author *author,
			   struct mpk_bom *out, struct mpk_error *err) MPK_MUST_CHECK;

/* One document of several libraries: those of an archive or a folder, or all that a command line names. It is written
 * as the libraries come, so that no more than one of them is in memory. Zero-initialise; mpk_bom_set_end. */
struct mpk_bom_set {
	bool is_spdx;
	const struct mpk_bom_author *author;
	const char *name; /* of the archive, or of the set where there is none; borrowed */
	const char *
		sha256; /* of the archive, 64 digits, borrowed; NULL: there is none, and no component for it */
	uint64_t bytes;     /* of the archive */
	struct mpk_json *j; /* the document, begun by mpk_bom_set_begin */
	/* for mpk_bom_set_*: */
	struct mpk_json_at *list; /* components, packages */
	struct mpk_json links;    /* dependencies, relationships: they come behind the list */
	struct mpk_strbuf digests, refs;
	size_t count; /* of libraries */
};

/* mpk_bom_set_begin - what comes before the libraries; the caller has filled the fields in front of the comment
 * mpk_bom_set_add - the next library
 * @file    its name in the archive or folder
 * @arena   b is in it
 * Returns  MPK_OK; MPK_E_NOMEM
 * mpk_bom_set_end - the rest of the document; frees what is in set
 * Returns  MPK_OK; MPK_E_NOMEM; MPK_E_LOAD: no libcrypto */
void mpk_bom_set_begin(struct mpk_bom_set *set);
enum mpk_code mpk_bom_set_add(struct mpk_bom_set *set, struct mpk_bom *b, const char *file,
			      struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_bom_set_end(struct mpk_bom_set *set, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_bom_uuid - 36 digits and hyphens made of a digest: the same file gives the same */
void mpk_bom_uuid(const uint8_t digest[MPK_DIGEST_BYTES], char out[37]);

/* of struct mpk_bom: documents of CycloneDX 1.6 and of SPDX 2.3; an in-toto statement (v1) with the provenance of
 * SLSA (v1) as its predicate; the predicate alone, for tools that make the statement themselves. For the
 * last two the file must have provenance. */
extern const struct mpk_answer mpk_answer_cyclonedx, mpk_answer_spdx, mpk_answer_statement,
	mpk_answer_predicate;

#endif
