/* SPDX-License-Identifier: Apache-2.0 */
/* payload_view.h - the functions that print and compare each kind of decoded payload
 *
 * formats/ decodes a payload into a struct. Here is a table with everything that commands need of
 * such a struct: the listing, JSON, and the work of --diff, --verify and --check. A new
 * kind of payload is one file in this folder that fills a struct mpk_payload_view; no command
 * changes. A member that is NULL means that the payload has nothing of that sort.
 */
#ifndef MPK_PAYLOAD_PAYLOAD_VIEW_H
#define MPK_PAYLOAD_PAYLOAD_VIEW_H

#include "base/report.h"
#include "code/info.h"
#include "compare/differ.h"
#include "compat/release.h"
#include "payload.h"
#include "payload/graph.h"
#include "signature/signature.h"
#include "text/json.h"

struct mpk_graph_json; /* graphjson/graphjson.h */

/* A piece of code, and the kernels of the module that it contains. */
struct mpk_code_piece {
	/* key of the only kernel in it; NULL if it has all kernels of the table */
	const struct mpk_span *key;
	struct mpk_code_info code;
};

/* Statistics of the values of a tensor. */
enum mpk_stats_kind {
	MPK_STATS_NONE, /* none for this type: complex, 4 and 8-bit floats, ... */
	MPK_STATS_FLOAT,
	MPK_STATS_SIGNED,
	MPK_STATS_UNSIGNED, /* includes bool */
};

struct mpk_stats {
	enum mpk_stats_kind kind;
	uint64_t count;      /* elements; each lane counts */
	uint64_t nans, infs; /* not included in the numbers below */
	union {
		struct {
			double min, max;
		} f;
		struct {
			int64_t min, max;
		} i;
		struct {
			uint64_t min, max;
		} u;
	} range;     /* valid if count > nans + infs */
	double mean; /* valid if range is */
};

/* A tensor of the payload, and statistics of its values. */
struct mpk_tensor_info {
	const char *name; /* "w1"; the index of an unnamed constant */
	const struct mpk_tensor_record *record;
	struct mpk_stats stats;
};

/* Details of a payload's code, graph and tensors. They are read when first needed. */
struct mpk_node_info {
	const struct mpk_code_piece *pieces; /* set for device modules and static libraries */
	size_t piece_count;
	struct mpk_names piece_names; /* names of the pieces that contain one kernel */
	struct mpk_names table;       /* device modules: kernels of the table */
	/* graph executors: sum over all storage ids of the largest tensor */
	uint64_t storage_bytes;
	size_t storage_count; /* number of storage ids */
	bool measured;        /* tensors is filled */
	const struct mpk_tensor_info *tensors;
	size_t tensor_count;
};

/* A payload and everything known about it. */
struct mpk_payload_content {
	const struct mpk_payload *payload;
	/* graph of a graph executor, if it can be read; else NULL */
	const struct mpk_graph_json *graph;
	const struct mpk_node_info *info; /* NULL until read */
};

enum mpk_payload_function_kind {
	MPK_FUNCTION_BYTE_CODE,
	MPK_FUNCTION_COMPILED, /* "__vmtir__<name>" in the library */
	MPK_FUNCTION_IMPORTED, /* looked up by name when the virtual machine starts */
};

/* A function of an executable. */
struct mpk_payload_function {
	struct mpk_span name;
	enum mpk_payload_function_kind kind;
	uint64_t bytes; /* bytes of its byte code; 0 if it has none */
};

/* Index that means all functions of an executable. */
#define MPK_ALL_FUNCTIONS SIZE_MAX

/* Receives the findings about a payload. */
struct mpk_payload_findings {
	void (*say)(void *arg, enum mpk_severity severity, const char *text);
	void *arg;
};

/* Receives the calls between functions of an executable, as two indexes. */
struct mpk_payload_calls {
	enum mpk_code (*add)(void *arg, size_t from, size_t to, struct mpk_error *err);
	void *arg;
};

struct mpk_payload_view {
	/* Returns the kernel table of device code. */
	const struct mpk_kernels *(*kernels)(const struct mpk_payload *p);
	/* Returns the Relax executable of a model. */
	const struct mpk_relax *(*relax)(const struct mpk_payload *p);
	/* Returns the named tensors; params_word is the word for one of them: "parameter". */
	const struct mpk_params *(*params)(const struct mpk_payload *p);
	const char *params_word;
	/* Reads the code or the graph, for all later uses; out is zero. */
	enum mpk_code (*read)(const struct mpk_payload_content *c, struct mpk_arena *arena,
			      struct mpk_node_info *out, struct mpk_error *err);

	/* --- names: false when there is no such index ------------------------------------- */

	/* Returns a kernel or tensor that --filter can choose, and that the listing prints as a
	 * line. */
	bool (*part)(const struct mpk_payload *p, size_t index, struct mpk_span *name);
	/* Returns a name by which --diff recognises a module that has moved. */
	bool (*defines)(const struct mpk_payload *p, size_t index, struct mpk_span *name);
	/* Returns a name under which host code may find a function, so that --check does not report
	 * it as missing. */
	bool (*offers)(const struct mpk_payload *p, size_t index, struct mpk_span *name);

	/* --- text and JSON ---------------------------------------------------------------- */

	/* Appends ", 3 constants (1.2 KiB)", which follows the title of the module. */
	void (*counts)(const struct mpk_payload *p, struct mpk_strbuf *out);
	/* Appends lines that are always in the listing. */
	void (*fields)(const struct mpk_payload *p, struct mpk_strbuf *out);
	/* Appends the line of a part, without its line feed. */
	void (*part_text)(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out);
	/* Appends the lines that --verbose and --functions add; info is read. */
	void (*text)(const struct mpk_payload_content *c, const char *indent,
		     struct mpk_strbuf *out);
	/* Puts the same as members of the module's object; info is read. */
	void (*json)(const struct mpk_payload_content *c, struct mpk_json *j,
		     struct mpk_json_at *at);

	/* --- executables ------------------------------------------------------------------ */

	bool (*function)(const struct mpk_payload *p, size_t index,
			 struct mpk_payload_function *out);
	/* Appends the listing of a function, or of MPK_ALL_FUNCTIONS. */
	void (*disasm)(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out);
	enum mpk_code (*calls)(const struct mpk_payload *p, const struct mpk_payload_calls *calls,
			       struct mpk_error *err);
	/* Returns the number of graphs, without those that the executor would refuse. A graph may
	 * turn out to have no nodes: then nothing is drawn. */
	size_t (*graph_count)(const struct mpk_payload_content *c);
	enum mpk_code (*graph)(const struct mpk_payload_content *c, size_t index,
			       struct mpk_arena *arena, struct mpk_model_graph *out,
			       struct mpk_error *err);

	/* --- verdicts --------------------------------------------------------------------- */

	/* --diff: adds all differences except those of parts, tensors and kernels, which are
	 * compared in the same way for all payloads. Both payloads are of this kind. */
	void (*diff)(struct mpk_differ *d, const struct mpk_payload_content *a,
		     const struct mpk_payload_content *b);
	/* --verify: finds the first error in data that loaders and interpreters use unchecked.
	 * It is reported at the payload, and mpack refuses to pack it. check is the name of the
	 * check. */
	const char *check;
	enum mpk_code (*verify)(const struct mpk_payload *p, struct mpk_error *err);
	/* --check: reports what prevents TVM from loading or running the payload.
	 * @release  the TVM release; NULL if not specified */
	void (*needs)(const struct mpk_payload *p, const struct mpk_release *release,
		      const struct mpk_payload_findings *findings);
};

/* mpk_payload_view_of - the functions for a decoded payload; for NULL, a struct whose members are
 * NULL */
const struct mpk_payload_view *mpk_payload_view_of(const struct mpk_payload *p);

/* mpk_view_kernel_text - append "name(handle, int32)", and the launch tags if tags is set */
void mpk_view_kernel_text(const struct mpk_function_info *f, bool tags, struct mpk_strbuf *out);

/* mpk_stats_of - compute statistics over every element: float16, bfloat16, float32, float64,
 * integers of 8 to 64 bits and bool; little-endian, unaligned */
struct mpk_stats mpk_stats_of(const struct mpk_tensor_record *t);

/* mpk_stats_text - append "min -1, max 2.5, mean 0.25, 1 NaN, 2 infinite"; nothing if there are no
 * statistics */
void mpk_stats_text(const struct mpk_stats *s, struct mpk_strbuf *out);

/* mpk_tensor_text - append "w1: float32[4, 24] (384 B)"
 * @stats   statistics to append; NULL if they were not computed */
void mpk_tensor_text(struct mpk_span name, const struct mpk_tensor_record *t,
		     const struct mpk_stats *stats, struct mpk_strbuf *out);

/* mpk_put_tensor_counts - append ", 3 parameters (1.2 KiB)"
 * @what    word for one of them: "parameter" */
void mpk_put_tensor_counts(size_t count, uint64_t bytes, const char *what, struct mpk_strbuf *out);

#endif
