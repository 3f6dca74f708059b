/* SPDX-License-Identifier: Apache-2.0 */
/* payload_view.h - what can be said of a decoded payload, one row a payload
 *
 * formats/ reads a payload into a struct; here is all that the answers ask about such a struct: what
 * the listing prints, what JSON has, what --diff compares, what --verify and --check find. A new
 * payload is one file in this room that fills in a row; no answer is changed for it. A member that is
 * NULL means that there is nothing to say.
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

/* A run of code and which kernels of the module it is for. */
struct mpk_code_piece {
	const struct mpk_span *key; /* the one kernel it is for; NULL: all of the table */
	struct mpk_code_info code;
};

/* The values of a tensor in a few numbers. */
enum mpk_stats_kind {
	MPK_STATS_NONE, /* of a type that is not read here: complex, 4 and 8-bit floats, ... */
	MPK_STATS_FLOAT,
	MPK_STATS_SIGNED,
	MPK_STATS_UNSIGNED, /* bool among them */
};

struct mpk_stats {
	enum mpk_stats_kind kind;
	uint64_t count;      /* elements, lanes counted one by one */
	uint64_t nans, infs; /* not in the numbers below */
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
	} range;     /* meaningful when count > nans + infs */
	double mean; /* meaningful as range is */
};

/* A tensor of the payload, and its values in short. */
struct mpk_tensor_info {
	const char *name; /* "w1"; of constants without a name their index */
	const struct mpk_tensor_record *record;
	struct mpk_stats stats;
};

/* What the code, the graph and the tensors of a payload say. It is read when an answer first asks. */
struct mpk_node_info {
	const struct mpk_code_piece *pieces; /* device modules and static libraries */
	size_t piece_count;
	struct mpk_names piece_names; /* of pieces that are for one kernel */
	struct mpk_names table;       /* device modules: the kernels of the table */
	uint64_t storage_bytes;       /* graph executors: the largest tensor of each storage id */
	size_t storage_count;         /* ids */
	bool measured;                /* the tensors are listed */
	const struct mpk_tensor_info *tensors;
	size_t tensor_count;
};

/* A payload and what is known of it besides. */
struct mpk_payload_content {
	const struct mpk_payload *payload;
	const struct mpk_graph_json *graph; /* of a graph executor whose graph reads, else NULL */
	const struct mpk_node_info *info;   /* NULL until it is read */
};

enum mpk_payload_function_kind {
	MPK_FUNCTION_BYTE_CODE,
	MPK_FUNCTION_COMPILED, /* "__vmtir__<name>" of the library */
	MPK_FUNCTION_IMPORTED, /* looked for by its name when the virtual machine starts */
};

/* A function of an executable. */
struct mpk_payload_function {
	struct mpk_span name;
	enum mpk_payload_function_kind kind;
	uint64_t bytes; /* that its byte code takes; 0: it has none */
};

/* All functions of an executable together. */
#define MPK_ALL_FUNCTIONS SIZE_MAX

/* Where a row reports what it finds. */
struct mpk_payload_findings {
	void (*say)(void *arg, enum mpk_severity severity, const char *text);
	void *arg;
};

/* Where a row reports which function of an executable calls which other, both by index. */
struct mpk_payload_calls {
	enum mpk_code (*add)(void *arg, size_t from, size_t to, struct mpk_error *err);
	void *arg;
};

struct mpk_payload_view {
	/* The table of kernels that device code comes with. */
	const struct mpk_kernels *(*kernels)(const struct mpk_payload *p);
	/* The executable of a model in Relax byte code. */
	const struct mpk_relax *(*relax)(const struct mpk_payload *p);
	/* Tensors with names, and what one of them is called: "parameter". */
	const struct mpk_params *(*params)(const struct mpk_payload *p);
	const char *params_word;
	/* Reads the code or the graph, for all that ask about it later; out is zero. */
	enum mpk_code (*read)(const struct mpk_payload_content *c, struct mpk_arena *arena,
			      struct mpk_node_info *out, struct mpk_error *err);

	/* --- names: false when there is no such index ------------------------------------- */

	/* Kernels and tensors, which --filter chooses and the listing prints a line of. */
	bool (*part)(const struct mpk_payload *p, size_t index, struct mpk_span *name);
	/* Names by which --diff recognises a module that has moved. */
	bool (*defines)(const struct mpk_payload *p, size_t index, struct mpk_span *name);
	/* Names under which host code may find a function, so that --check does not call it missing. */
	bool (*offers)(const struct mpk_payload *p, size_t index, struct mpk_span *name);

	/* --- text and JSON ---------------------------------------------------------------- */

	/* ", 3 constants (1.2 KiB)", after the title of the module. */
	void (*counts)(const struct mpk_payload *p, struct mpk_strbuf *out);
	/* Lines that the listing always has. */
	void (*fields)(const struct mpk_payload *p, struct mpk_strbuf *out);
	/* The line of a part, without its end. */
	void (*part_text)(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out);
	/* Lines that --verbose and --functions add; info is read. */
	void (*text)(const struct mpk_payload_content *c, const char *indent,
		     struct mpk_strbuf *out);
	/* The same as members of the module's object; info is read. */
	void (*json)(const struct mpk_payload_content *c, struct mpk_json *j,
		     struct mpk_json_at *at);

	/* --- executables ------------------------------------------------------------------ */

	bool (*function)(const struct mpk_payload *p, size_t index,
			 struct mpk_payload_function *out);
	/* Appends the listing of a function, or of MPK_ALL_FUNCTIONS. */
	void (*disasm)(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out);
	enum mpk_code (*calls)(const struct mpk_payload *p, const struct mpk_payload_calls *calls,
			       struct mpk_error *err);
	/* Graphs to draw; of graphs that the executor would refuse there are none. A graph may turn
	 * out to have no nodes: then there is nothing to draw. */
	size_t (*graph_count)(const struct mpk_payload_content *c);
	enum mpk_code (*graph)(const struct mpk_payload_content *c, size_t index,
			       struct mpk_arena *arena, struct mpk_model_graph *out,
			       struct mpk_error *err);

	/* --- verdicts --------------------------------------------------------------------- */

	/* --diff: what differs, but for parts, tensors and kernels, which are compared for all
	 * payloads alike. Both are of this row. */
	void (*diff)(struct mpk_differ *d, const struct mpk_payload_content *a,
		     const struct mpk_payload_content *b);
	/* --verify: what loaders and interpreters rely on without looking again: the first mistake, which is
	 * reported at the payload; mpack refuses to pack it. check is the word of that finding. */
	const char *check;
	enum mpk_code (*verify)(const struct mpk_payload *p, struct mpk_error *err);
	/* --check: what keeps a TVM from loading or running it.
	 * @release  the TVM that it is to run on; NULL: nobody said which */
	void (*needs)(const struct mpk_payload *p, const struct mpk_release *release,
		      const struct mpk_payload_findings *findings);
};

/* mpk_payload_view_of - the row of a decoded payload; NULL gives a row that has nothing to say */
const struct mpk_payload_view *mpk_payload_view_of(const struct mpk_payload *p);

/* mpk_view_kernel_text - append "name(handle, int32)", and the launch tags when tags */
void mpk_view_kernel_text(const struct mpk_function_info *f, bool tags, struct mpk_strbuf *out);

/* mpk_stats_of - read every element: float16, bfloat16, float32, float64, integers of 8 to 64
 * bits and bool; little-endian, unaligned */
struct mpk_stats mpk_stats_of(const struct mpk_tensor_record *t);

/* mpk_stats_text - append "min -1, max 2.5, mean 0.25, 1 NaN, 2 infinite"; nothing when
 * there is nothing to say */
void mpk_stats_text(const struct mpk_stats *s, struct mpk_strbuf *out);

/* mpk_tensor_text - append "w1: float32[4, 24] (384 B)"
 * @stats   and after it its values in short; NULL: nobody has read them */
void mpk_tensor_text(struct mpk_span name, const struct mpk_tensor_record *t,
		     const struct mpk_stats *stats, struct mpk_strbuf *out);

/* mpk_put_tensor_counts - append ", 3 parameters (1.2 KiB)"
 * @what    one of them is called so: "parameter" */
void mpk_put_tensor_counts(size_t count, uint64_t bytes, const char *what, struct mpk_strbuf *out);

#endif
