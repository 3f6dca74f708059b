/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - a module tree made ready to be shown: every payload decoded once
 *
 * What the text, JSON, file and check views share. Nothing here prints: the views
 * append to a buffer that cmd/ writes.
 */
#ifndef MPK_MODEL_VIEW_H
#define MPK_MODEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer/answer.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/report.h"
#include "base/strbuf.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "hostcode/host.h"
#include "payload.h"
#include "payload/payload_view.h"
#include "program/model.h"
#include "text/json.h"
#include "text/phrase.h"

enum { MPK_VIEW_PATH = 64 };

struct mpk_code_target; /* code/format.h */
struct mpk_view_code;   /* device_code.h */
struct mpk_view_names;  /* call.c */

/* What is wrong with one kernel of a module. */
struct mpk_view_finding {
	enum mpk_severity severity;
	const char *check, *kernel, *text;
	size_t rank; /* among those of its module, as they were found */
};

/* Files may have a hundred thousand modules: what only some of them have is kept beside the node. */
struct mpk_view_node {
	const struct mpk_node *node;
	const struct mpk_kind *kind;       /* NULL: a kind this program does not know */
	const char *path;                  /* as mpk_tree_path prints it */
	bool decoded;                      /* payload is filled */
	bool show_info;                    /* views show info */
	bool hidden;                       /* neither it nor a part of it is chosen (below) */
	bool whole;                        /* it is chosen, and all of its parts with it */
	const struct mpk_payload *payload; /* an empty one where none is decoded; never NULL */
	struct mpk_models models;          /* executors: what can be called */
	const struct mpk_error *problem;  /* why there is no payload, or no models; NULL: nothing is
					    * wrong, or the kind is unknown */
	const struct mpk_node_info *info; /* what its code says; NULL until somebody asks */
	const struct mpk_view_finding
		*findings; /* about its kernels, sorted by them (mpk_verify_kernels) */
	size_t finding_count;
	struct mpk_view_choice *choice; /* chooses its parts (below); NULL: there is none */
};

/* What is shown of a file, and which of the filters chose something that was printed. */
struct mpk_view_choice {
	struct mpk_name_filter filter; /* one at least, of what is chosen */
	bool *shown;                   /* for each of them: something that it chose was shown */
};

struct mpk_view {
	const char *name; /* the file as the user named it, not escaped */
	uint64_t file_bytes;
	const struct mpk_image *image;
	const struct mpk_signature *const *host; /* of image->functions; NULL: not known */
	const struct mpk_host_texts *texts;      /* what getters say; NULL: not asked */
	struct mpk_view_choice *choice;          /* chooses what is shown (below); NULL: all */
	bool in_archive; /* the file is a member of a zip archive: nothing loads it from there */
	const struct mpk_tree *tree; /* NULL when the image has no blob */
	struct mpk_view_node *nodes; /* tree->count of them */
	size_t count;
	const struct mpk_view_code *embedded; /* of image->embedded */
	const struct mpk_view_names *names;
	struct mpk_device_kept
		*kept; /* containers that were read (mpk_device_keep); NULL: none is kept */
	struct mpk_arena *arena; /* of all that is read later, when it is asked for */
};

/* mpk_view_init - decode every payload of tree; a payload that does not decode is kept
 * as its problem
 * @tree    may be NULL; image, tree and name are borrowed
 * @arena   receives the nodes, what payloads decode to and what is read later; borrowed
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the size of the tree, and of the code beside it. */
enum mpk_code mpk_view_init(struct mpk_view *view, const char *name, uint64_t file_bytes,
			    const struct mpk_image *image, const struct mpk_tree *tree,
			    struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_row - what can be said of a module's payload; a row without anything where none is decoded
 * mpk_view_content - what that row looks at */
static inline const struct mpk_payload_view *mpk_view_row(const struct mpk_view_node *node)
{
	return mpk_payload_view_of(node->decoded ? node->payload : NULL);
}

static inline struct mpk_payload_content mpk_view_content(const struct mpk_view_node *node)
{
	return (struct mpk_payload_content){ node->payload, node->models.graph, node->info };
}

/* mpk_view_kernels - the kernels of a decoded device module, or NULL */
static inline const struct mpk_kernels *mpk_view_kernels(const struct mpk_view_node *node)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	return row->kernels ? row->kernels(node->payload) : NULL;
}

/* mpk_view_relax - the executable of a decoded model in Relax byte code, or NULL */
static inline const struct mpk_relax *mpk_view_relax(const struct mpk_view_node *node)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	return row->relax ? row->relax(node->payload) : NULL;
}

/* mpk_view_format - "ptx", "cl", ...: how a payload's code is written, or an empty span */
struct mpk_span mpk_view_format(const struct mpk_view_node *node);

/* mpk_view_loaders - the kinds of modules that a runtime must have a loader for, each once, in the
 * order of the tree; none for the library's own code
 * @err     may be NULL
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_loaders(const struct mpk_view *view, const struct mpk_span **out,
			       size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_targets - the devices that a module's code is for, read from its headers alone
 * @count   receives 0 for modules without such code, and where the headers do not read
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_targets(const struct mpk_view *view, const struct mpk_view_node *node,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_title - "CUDA kernels"; "unknown kind" for kinds that have no row */
const char *mpk_view_title(const struct mpk_view_node *node);

/* mpk_view_role - "host", ..., "unknown": what its kind is for, a stable word; static storage */
const char *mpk_view_role(const struct mpk_view_node *node);

/* mpk_view_counts - append ", 2 kernels" or ", 1 function, 3 constants (1.2 KiB)": what
 * a module holds; nothing when there is nothing to count */
void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out);

/* mpk_view_tree - the tree alone, one module a line and its kernels below */
void mpk_view_tree(const struct mpk_view *view, struct mpk_style style, struct mpk_strbuf *out);

/* mpk_view_call - append a command line that calls a function
 * The host code of a bare blob is in a LIBRARY.so, and so is what a file of another system than Linux must
 * become first.
 * @signature  what is known of it; NULL: the file does not tell its arguments. Capitals stand for
 *          what only the caller knows. */
void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_signature *signature, struct mpk_strbuf *out);

/* mpk_view_kernel_call - the same for kernel `index` of a decoded device module: with the types and the
 * block that its code tells, once mpk_view_show_info has read it
 * Failures are remembered by out. */
void mpk_view_kernel_call(const struct mpk_view *view, const struct mpk_view_node *node,
			  size_t index, struct mpk_strbuf *out);

/* mpk_view_host - what host function `index` of the image takes; NULL: the file does not tell */
const struct mpk_signature *mpk_view_host(const struct mpk_view *view, size_t index);

/* mpk_view_read_texts - what the file's getters hold as constants, unless texts were given before
 * @given   what calls of the getters gave, borrowed; with it signatures come from them where the file itself tells
 *          none. NULL: nobody called them
 * Returns  MPK_OK; MPK_E_NOMEM
 * mpk_view_doc - what is said about host function `index`; empty: nothing, or not known */
enum mpk_code mpk_view_read_texts(struct mpk_view *view, const struct mpk_host_texts *given,
				  struct mpk_error *err) MPK_MUST_CHECK;
struct mpk_span mpk_view_doc(const struct mpk_view *view, size_t index);

/* mpk_view_read_names - fill view->names, once payloads are decoded; in time that is linear but for sorting
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_read_names(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_called - the name under which --run calls host function `index`: of an alias that for which it
 * stands
 * mpk_view_called_instead - what a call of it leads to: the function of an executor in the tree that --run calls by
 *          this name, or whose compiled body has it ("__vmtir__main", which takes a virtual machine); NULL: host
 *          code */
const char *mpk_view_called(const struct mpk_view *view, size_t index);
const struct mpk_signature *mpk_view_called_instead(const struct mpk_view *view, size_t index);

/* mpk_view_host_text - append the signature of host function `index`, or its name when that is all
 * @names   goes between an alias and what it names */
void mpk_view_host_text(const struct mpk_view *view, size_t index, const char *names,
			struct mpk_strbuf *out);

/* --- --filter: which functions, kernels, tensors and modules are shown ------------------------
 *
 * A module is shown whole when its kind or its path is chosen, else with those of its parts that are,
 * and not at all without any. What is not shown is not counted differently: sizes and indices stay
 * those of the file. Whoever prints asks here right before, and that is noted: what a filter chose is what
 * was printed for it.
 */

/* mpk_view_filter - show only what is named so from now on
 * @choice  lives as long as the view; a filter that begins with '/' also chooses modules by their
 *          path. What is asked for below, and shown, is noted in it. */
void mpk_view_filter(struct mpk_view *view, struct mpk_view_choice *choice);

/* mpk_view_chooses - whether a name is chosen, which is noted; all of them where there is no filter */
bool mpk_view_chooses(struct mpk_view_choice *choice, struct mpk_span name);

/* mpk_view_shows - whether something that belongs to no module is shown, such as a function of the
 * library; all of it without a filter */
bool mpk_view_shows(const struct mpk_view *view, struct mpk_span name);

/* mpk_view_shows_node - whether a module is shown at all
 * mpk_view_shows_whole - whether all of it is, and not only some of its parts
 * mpk_view_shows_part - whether a kernel, function or tensor of it is */
bool mpk_view_shows_node(const struct mpk_view_node *n);
bool mpk_view_shows_whole(const struct mpk_view_node *n);
bool mpk_view_shows_part(const struct mpk_view_node *n, struct mpk_span name);

#endif
