/* SPDX-License-Identifier: Apache-2.0 */
/* payload.h - the payload of a module of any kind, decoded */
#ifndef MPK_FORMATS_PAYLOAD_H
#define MPK_FORMATS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "blob/blob.h"
#include "constloader/constloader.h"
#include "ethosn/ethosn.h"
#include "factory/factory.h"
#include "kernels/kernels.h"
#include "kinds.h"
#include "record/record.h"
#include "relaxvm/relaxvm.h"
#include "relayvm/relayvm.h"

/* X(tag, member, struct): the structs that payloads decode to. Each has a row in lib/show/payload,
 * with everything that is printed, compared and checked.
 * kernels: cuda, opencl, ...; record: external runtimes, c, static_library; factory: graph and AOT
 * executors; consts: const_loader, metadata; relax: relax.VMExecutable, relax.Executable; relay:
 * VMExecutable. */
#define MPK_PAYLOADS(X)                                                                            \
	X(KERNELS, kernels, mpk_kernels)                                                           \
	X(RECORD, record, mpk_record)                                                              \
	X(FACTORY, factory, mpk_factory)                                                           \
	X(CONSTS, consts, mpk_const_loader)                                                        \
	X(ETHOSN, ethosn, mpk_ethosn)                                                              \
	X(RELAX, relax, mpk_relax)                                                                 \
	X(RELAY, relay, mpk_relay)

enum mpk_payload_tag {
	MPK_PAYLOAD_EMPTY, /* _lib, metadata_module: no bytes */
#define MPK_PAYLOAD_TAG(TAG, member, type) MPK_PAYLOAD_##TAG,
	MPK_PAYLOADS(MPK_PAYLOAD_TAG)
};

/* Bytes and their offset in the blob, from which offsets of errors and files count. */
struct mpk_source {
	struct mpk_span span;
	uint64_t off;
};

struct mpk_payload {
	enum mpk_payload_tag tag;
	const struct mpk_kind *kind;
	enum mpk_generation gen;
	struct mpk_source source; /* the bytes that it was decoded from */
	uint64_t trailing;        /* bytes after the last field, which TVM ignores */
	union {
#define MPK_PAYLOAD_MEMBER(TAG, member, type) struct type member;
		MPK_PAYLOADS(MPK_PAYLOAD_MEMBER)
	} u;
};

struct mpk_files;

/* Reads a payload layout. Reading starts at the cursor, stops after the last field and sets out->u;
 * tag, kind and gen are set before. Code that needs only certain payloads, such as an executor,
 * links only their readers, without the table of kinds. */
struct mpk_payload_reader {
	enum mpk_payload_tag tag;
	enum mpk_code (*read)(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_payload *out, struct mpk_error *err);
};

/* The readers that executors use; they do not use out->kind. */
extern const struct mpk_payload_reader mpk_reader_relax; /* relax.VMExecutable, relax.Executable */
extern const struct mpk_payload_reader mpk_reader_relay; /* VMExecutable */
extern const struct mpk_payload_reader
	mpk_reader_graph; /* GraphExecutorFactory, GraphRuntimeFactory */
extern const struct mpk_payload_reader mpk_reader_aot;     /* AotExecutorFactory */
extern const struct mpk_payload_reader mpk_reader_kernels; /* cuda, opencl, ... */

/* How a payload layout is read, and the files that it consists of.
 *
 * A codec with MPK_PAYLOAD_RECORD and a schema of its own for out->u.record needs no new struct:
 * its fields are listed, and extracted as files, like those of every record, in whatever layout
 * they are stored. */
struct mpk_codec {
	const struct mpk_payload_reader *reader;
	/* Adds the files that the payload consists of; NULL: none. */
	enum mpk_code (*files)(const struct mpk_payload *p, struct mpk_files *files);
};

/* The payload of a node of a blob. */
static inline struct mpk_source mpk_source_of(const struct mpk_node *node)
{
	return (struct mpk_source){ node->payload, node->payload_off };
}

/* mpk_payload_decode - decode a payload, usually mpk_source_of(node)
 * @out     views of bytes, arrays in arena; trailing is the number of bytes after the last field
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "blob"; MPK_E_NOMEM */
enum mpk_code mpk_payload_decode(const struct mpk_kind *kind, enum mpk_generation gen,
				 struct mpk_source bytes, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_payload_decode_as - decode a payload with a given reader; out->kind is NULL */
enum mpk_code mpk_payload_decode_as(const struct mpk_payload_reader *reader,
				    enum mpk_generation gen, struct mpk_source bytes,
				    struct mpk_arena *arena, struct mpk_payload *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* A file that is extracted from a payload. */
struct mpk_extracted_file {
	const char *name; /* relative, "params/w1"; letters, digits, "._-/"; unique */
	struct mpk_span data;
	uint64_t off; /* offset of data in the blob, if stored */
	bool stored;  /* data is in the blob; false: it was generated, like "functions.json" */
	const struct mpk_tensor_record *tensor; /* type and shape of data; NULL: not a tensor */
	struct mpk_span title;                  /* name in the payload; may be empty */
};

struct mpk_extracted_files {
	const struct mpk_extracted_file *items;
	size_t count;
};

/* The list of files, while a codec fills it. */
struct mpk_files {
	const struct mpk_payload *p;
	struct mpk_arena *arena;
	struct mpk_extracted_file *files; /* malloc'ed while it grows */
	size_t count, cap;
	struct mpk_strmap names; /* index of each file by its name */
	bool with_tables;        /* with "functions.json" */
	struct mpk_error *err;
};

/* mpk_files_name - make a name, dir/title.suffix; changed if title is not a valid file name, or the
 * name exists already
 * @dir     "params/"; @suffix  ".ptx", or empty
 * Returns  a text in the arena; NULL when memory is out, which mpk_files_add then reports */
const char *mpk_files_name(struct mpk_files *files, const char *dir, struct mpk_span title,
			   const char *suffix);

/* mpk_files_add - add a file; the offset of stored data is found here
 * mpk_files_add_bytes - add stored bytes
 * mpk_files_add_text - add a generated text; empties it
 * mpk_files_add_tensor - add the elements of a tensor
 * mpk_files_add_params - add named tensors, each as a file in dir
 * Return   MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_files_add(struct mpk_files *files, const char *name,
			    struct mpk_extracted_file file) MPK_MUST_CHECK;
enum mpk_code mpk_files_add_bytes(struct mpk_files *files, const char *name,
				  struct mpk_span data) MPK_MUST_CHECK;
enum mpk_code mpk_files_add_text(struct mpk_files *files, const char *name,
				 struct mpk_strbuf *text) MPK_MUST_CHECK;
enum mpk_code mpk_files_add_tensor(struct mpk_files *files, const char *name, struct mpk_span title,
				   const struct mpk_tensor_record *t) MPK_MUST_CHECK;
enum mpk_code mpk_files_add_params(struct mpk_files *files, const char *dir,
				   const struct mpk_params *p) MPK_MUST_CHECK;

/* mpk_record_files - add the fields of a record that have a file name, for codecs whose payload is
 * a record
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_record_files(const struct mpk_payload *p, struct mpk_files *files) MPK_MUST_CHECK;

/* mpk_node_folder - the name of a folder for the files of a module: "12-relax.VMExecutable",
 * "0-host"
 * Characters of the kind that file names cannot have become '_'; the index makes the name unique.
 * Returns  a text in arena; NULL when memory is out */
const char *mpk_node_folder(const struct mpk_node *node, size_t index, struct mpk_arena *arena);

/* mpk_payload_extract - list the files that a decoded payload consists of, in stored order
 * Code is "kernels.ptx" or "kernels/<name>.metal", with the suffix of its format; function tables
 * are "functions.json" in the layout of TVM's .tvm_meta.json; tensors are "params/<name>",
 * "constants/<name>" or "constants/<index>"; graphs are "graph.json"; bytecode is a listing
 * "bytecode.txt".
 * Names that are not valid file names are changed; title has the original name.
 * @out     in arena, views of the payload's bytes
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_payload_extract(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_extracted_files *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_payload_parts - as mpk_payload_extract, without function tables, which are long and already
 * decoded */
enum mpk_code mpk_payload_parts(const struct mpk_payload *p, struct mpk_arena *arena,
				struct mpk_extracted_files *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
