/* inside.h - what the code of a module says of itself, by the readers of its formats
 *
 * Nothing of it is needed to draw a tree: payload bytes are only touched when a view asks.
 */
#ifndef MPK_VIEW_INSIDE_H
#define MPK_VIEW_INSIDE_H

#include "ar/ar.h"
#include "clsource/clsource.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"
#include "graphjson/graphjson.h"
#include "probe.h"
#include "ptx/ptx.h"
#include "spirv/spirv.h"
#include "view/stats.h"
#include "view/view.h"

/* A name and its index in the list that it is from. */
struct mpk_inside_name {
	struct mpk_span name;
	size_t index;
};

/* Names in order, to be searched: tables and code may be long. */
struct mpk_inside_names {
	const struct mpk_inside_name *items;
	size_t count;
};

/* Shared memory that PTX declares in one place. */
struct mpk_inside_shared {
	uint64_t bytes; /* static */
	bool dynamic;   /* some of it gets its size at launch */
};

/* One run of code in one format. */
struct mpk_inside_code {
	struct mpk_span bytes;
	uint64_t off;                    /* of bytes in the blob */
	enum mpk_probe probe;            /* what it was read as: decides which member of u counts;
				    * MPK_PROBE_UNKNOWN for packed images of a fatbin */
	const struct mpk_error *problem; /* why the reader gave up, or NULL; u is empty then */
	union {
		struct mpk_ptx ptx;
		struct mpk_cubin cubin;
		struct mpk_fatbin fatbin;
		struct mpk_spirv spirv;
		struct mpk_clsource source; /* OPENCL, METAL, WGSL, CUDA */
		struct mpk_ar ar;
	} u;
	struct mpk_inside_names names;          /* of its kernels */
	const struct mpk_inside_shared *shared; /* PTX: one a kernel, then one for what stands
				    * outside of kernels */
	const struct mpk_inside_code *images;   /* a fatbin's, as many as it has entries */
};

/* A run of code and which kernels of the module it is for. */
struct mpk_inside_piece {
	const struct mpk_span *key; /* the one kernel it is for; NULL: all of the table */
	struct mpk_inside_code code;
	struct mpk_probe_names defined;    /* empty and not complete when nobody can tell */
	struct mpk_inside_names functions; /* of defined */
};

/* A tensor of the payload, and its values in short. */
struct mpk_inside_tensor {
	const char *name; /* "w1"; of constants without a name their index */
	const struct mpk_tensor_record *record;
	struct mpk_stats stats;
};

struct mpk_inside {
	const struct mpk_inside_piece *pieces; /* device modules and static libraries */
	size_t piece_count;
	const size_t *piece_of;        /* device modules: the piece of each kernel of the table,
				      * or SIZE_MAX */
	struct mpk_inside_names table; /* device modules: the kernels of the table */
	const struct mpk_graph_json *graph; /* graph executors, else NULL */
	uint64_t storage_bytes;             /* of a graph: the largest tensor of each storage id */
	size_t storage_count;               /* ids */
	bool measured;                      /* the tensors are listed */
	const struct mpk_inside_tensor *tensors;
	size_t tensor_count;
};

/* What one image says of one kernel: the member that code->probe decides. */
struct mpk_inside_kernel {
	const struct mpk_inside_code *code;
	const struct mpk_ptx_kernel *ptx;
	const struct mpk_cubin_kernel *cubin;
	const struct mpk_spirv_entry *spirv;
	const struct mpk_clsource_kernel *source;
};

/* mpk_inside_read - read the code of a module, or an executor's graph
 * @node    any; one that did not decode, or holds neither, gives an empty *out
 * @arena   receives what the readers make; views point into the payload
 * Returns  MPK_OK, also for code that does not read (its problem says why); MPK_E_NOMEM */
enum mpk_code mpk_inside_read(const struct mpk_view_node *node, struct mpk_arena *arena,
			      struct mpk_inside *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_inside_read_graph - the part of mpk_inside_read that is for graph executors */
enum mpk_code mpk_inside_read_graph(const struct mpk_factory *f, struct mpk_arena *arena,
				    struct mpk_inside *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_inside_measure - list the tensors of a payload; reads every element
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_inside_measure(const struct mpk_view_node *node, struct mpk_arena *arena,
				 struct mpk_inside *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_look_inside - the same for every node of a view, which then shows it
 * @tensors whether the tensors are measured too
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_look_inside(struct mpk_view *view, bool tensors, struct mpk_arena *arena,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_inside_find - what a run of code says of a kernel; false: nothing. Of a fatbin ask its
 * images. */
bool mpk_inside_find(const struct mpk_inside_code *code, struct mpk_span name,
		     struct mpk_inside_kernel *out);

/* mpk_inside_each - call fn for everything the code of kernel `index` of the table says of it:
 * once for plain code, once an image for fatbins */
void mpk_inside_each(const struct mpk_inside *inside, const struct mpk_kernels *table, size_t index,
		     void (*fn)(const struct mpk_inside_kernel *k, void *arg), void *arg);

/* mpk_inside_state - whether kernel `index` of the table is in the code
 * mpk_inside_defines - whether a kernel of this name is in a piece */
enum mpk_probe_kernel mpk_inside_state(const struct mpk_inside *inside,
				       const struct mpk_kernels *table, size_t index);
enum mpk_probe_kernel mpk_inside_defines(const struct mpk_inside_piece *piece,
					 struct mpk_span name);

/* mpk_inside_has - the first of the names that is this one, or NULL */
const struct mpk_inside_name *mpk_inside_has(const struct mpk_inside_names *names,
					     struct mpk_span name);

/* mpk_inside_language - of a source text that was read */
enum mpk_clsource_language mpk_inside_language(enum mpk_probe probe);

/* mpk_inside_lines - append a line for each run of code, image, member and function: what
 * mpk_inside_function_lines does not say; nothing before mpk_view_look_inside
 * mpk_inside_function_lines - append what the code says of one kernel of the table, a
 * line an image, and a mark when it is not there
 * mpk_inside_tensor_lines - append a line for each measured tensor
 * @indent  stands before each line */
void mpk_inside_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out);
void mpk_inside_function_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			       struct mpk_strbuf *out);
void mpk_inside_tensor_lines(const struct mpk_inside *inside, struct mpk_strbuf *out);

/* mpk_inside_json - put "code", "executor" and "tensors", as far as there are, into at
 * mpk_inside_function_json - put "in_code" and "figures" of one kernel of the table
 * Nothing before mpk_view_look_inside. */
void mpk_inside_json(const struct mpk_view_node *node, struct mpk_json *j, struct json_t *at);
void mpk_inside_function_json(const struct mpk_view_node *node, size_t index, struct mpk_json *j,
			      struct json_t *at);

#endif
