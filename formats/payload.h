/* SPDX-License-Identifier: Apache-2.0 */
/* payload.h - one module's payload, whatever its kind, as a decoded structure */
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

/* X(tag, member, struct): what payloads decode to. For each there is a row in lib/show/payload, which
 * says all that is printed, compared and checked of it.
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

/* Bytes and their offset in the blob (from which offsets of errors and files count). */
struct mpk_source {
	struct mpk_span span;
	uint64_t off;
};

struct mpk_payload {
	enum mpk_payload_tag tag;
	const struct mpk_kind *kind;
	enum mpk_generation gen;
	struct mpk_source source; /* decoded payloads: the bytes this was read from */
	uint64_t trailing;        /* bytes after the last field: ignored by TVM, not written back */
	union {
#define MPK_PAYLOAD_MEMBER(TAG, member, type) struct type member;
		MPK_PAYLOADS(MPK_PAYLOAD_MEMBER)
	} u;
};

struct mpk_files;

/* Reads one payload layout. A read starts at the cursor, stops after the last field and fills
 * out->u; tag, kind and gen are set before. Code that names its payloads, such as an executor,
 * links only that reader, without writers and the table of kinds. */
struct mpk_payload_reader {
	enum mpk_payload_tag tag;
	enum mpk_code (*read)(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_payload *out, struct mpk_error *err);
};

/* Readers that others name; executors do not ask for out->kind. */
extern const struct mpk_payload_reader mpk_reader_relax; /* relax.VMExecutable, relax.Executable */
extern const struct mpk_payload_reader mpk_reader_relay; /* VMExecutable */
extern const struct mpk_payload_reader
	mpk_reader_graph; /* GraphExecutorFactory, GraphRuntimeFactory */
extern const struct mpk_payload_reader mpk_reader_aot;     /* AotExecutorFactory */
extern const struct mpk_payload_reader mpk_reader_kernels; /* cuda, opencl, ... */

/* How one payload layout is read, and the files that it consists of.
 *
 * A codec with MPK_PAYLOAD_RECORD and a schema of its own for out->u.record needs no member: its fields are
 * listed, and extracted as files, like those of every record, whatever its bytes look like. */
struct mpk_codec {
	const struct mpk_payload_reader *reader;
	/* Adds the files that the payload consists of; NULL: there are none. */
	enum mpk_code (*files)(const struct mpk_payload *p, struct mpk_files *files);
};

/* The payload of a node that was read. */
static inline struct mpk_source mpk_source_of(const struct mpk_node *node)
{
	return (struct mpk_source){ node->payload, node->payload_off };
}

/* mpk_payload_decode - read a payload whose bytes are known: mpk_source_of(node)
 * @out     views into bytes, arrays in arena; trailing says how many bytes are too many
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "blob"; MPK_E_NOMEM */
enum mpk_code mpk_payload_decode(const struct mpk_kind *kind, enum mpk_generation gen,
				 struct mpk_source bytes, struct mpk_arena *arena,
				 struct mpk_payload *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_payload_decode_as - the same where the reader is known; out->kind is NULL */
enum mpk_code mpk_payload_decode_as(const struct mpk_payload_reader *reader,
				    enum mpk_generation gen, struct mpk_source bytes,
				    struct mpk_arena *arena, struct mpk_payload *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* One file that a payload would make. */
struct mpk_extracted_file {
	const char *name; /* relative, "params/w1"; letters, digits, "._-/"; unique */
	struct mpk_span data;
	uint64_t off; /* offset of data in the blob, when stored */
	bool stored;  /* false: data was made from the payload, "functions.json" */
	const struct mpk_tensor_record *tensor; /* type of data's elements, or NULL */
	struct mpk_span title; /* the name as the payload spells it; may be empty */
};

struct mpk_extracted_files {
	const struct mpk_extracted_file *items;
	size_t count;
};

/* The files of a payload while its codec lists them. */
struct mpk_files {
	const struct mpk_payload *p;
	struct mpk_arena *arena;
	struct mpk_extracted_file *files; /* malloc'ed while it grows */
	size_t count, cap;
	struct mpk_strmap names; /* number of files so far */
	bool with_tables;        /* "functions.json", too */
	struct mpk_error *err;
};

/* mpk_files_name - dir/title.suffix, changed where title is no file name or the name is taken
 * @dir     "params/"; @suffix  ".ptx", or empty
 * Returns  a text in the arena, or NULL when memory is out, which mpk_files_add then reports */
const char *mpk_files_name(struct mpk_files *files, const char *dir, struct mpk_span title,
			   const char *suffix);

/* mpk_files_add - one file more; its offset is found where it is stored
 * mpk_files_add_bytes - stored bytes
 * mpk_files_add_text - a text that is made; empties it
 * mpk_files_add_tensor - the elements of a tensor
 * mpk_files_add_params - named tensors, each a file in dir
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

/* mpk_record_files - the fields of a record that have a file name; for codecs whose payload is a record
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_record_files(const struct mpk_payload *p, struct mpk_files *files) MPK_MUST_CHECK;

/* mpk_node_folder - "12-relax.VMExecutable", "0-host": a folder for the files of one module
 * What of a kind cannot stand in a file name becomes '_'; the index makes it unique.
 * Returns  a text in arena, or NULL when memory is out */
const char *mpk_node_folder(const struct mpk_node *node, size_t index, struct mpk_arena *arena);

/* mpk_payload_extract - the files that a decoded payload consists of, in stored order
 * Code as "kernels.ptx" or "kernels/<name>.metal" with the suffix of its format, function
 * tables as "functions.json" in the layout of TVM's .tvm_meta.json, tensors as
 * "params/<name>", "constants/<name>" or "constants/<index>", graphs as "graph.json",
 * bytecode as a listing "bytecode.txt".
 * Names that are no file names are changed; title keeps what they were.
 * @out     in arena, views into the payload's bytes
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_payload_extract(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_extracted_files *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_payload_parts - the same without function tables, which are long and decoded already */
enum mpk_code mpk_payload_parts(const struct mpk_payload *p, struct mpk_arena *arena,
				struct mpk_extracted_files *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
