/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - a module tree prepared for printing: every payload is decoded once
 *
 * Shared by the text, JSON, file and check views. Nothing here prints: the views append to a buffer
 * that cmd/ writes.
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

struct mpk_code_target;  /* code/format.h */
struct mpk_global_names; /* hostcode/registered.h */
struct mpk_view_code;    /* device_code.h */
struct mpk_view_names;   /* call.c */

/* A finding about one kernel of a module. */
struct mpk_view_finding {
	enum mpk_severity severity;
	const char *check, *kernel, *text;
	size_t rank; /* order among the findings of its module */
};

/* Files may have a hundred thousand modules, so data that few of them have is stored outside the
 * node. */
struct mpk_view_node {
	const struct mpk_node *node;
	const struct mpk_kind *kind; /* NULL if the kind is unknown to this program */
	const char *path;            /* in the form of mpk_tree_path */
	bool decoded;                /* payload is set */
	bool show_info;              /* views print info */
	bool hidden; /* the filter chooses neither the module nor a part of it (below) */
	bool whole;  /* the filter chooses the whole module */
	const struct mpk_payload *payload; /* an empty payload if none was decoded; never NULL */
	struct mpk_models models;          /* executors: functions that can be called */
	/* why there is no payload or there are no models; NULL if nothing is wrong or the kind is
	 * unknown */
	const struct mpk_error *problem;
	const struct mpk_node_info *info; /* details of its code; NULL until requested */
	const struct mpk_view_finding
		*findings; /* findings about its kernels, sorted by kernel (mpk_verify_kernels) */
	size_t finding_count;
	struct mpk_view_choice *choice; /* filter for its parts (below); NULL if none */
};

/* The filters of --filter, and which of them chose something that was printed. */
struct mpk_view_choice {
	struct mpk_name_filter filter; /* at least one filter */
	bool *shown;                   /* for each filter: something that it chose was printed */
};

struct mpk_view {
	const char *name; /* the name that the user gave, not escaped */
	uint64_t file_bytes;
	const struct mpk_image *image;
	/* one for each of image->functions; NULL if not known */
	const struct mpk_signature *const *host;
	const struct mpk_host_texts *texts; /* texts that getters hold; NULL if not asked */
	const struct mpk_global_names
		*registered; /* global functions that the library registers; NULL if not asked */
	struct mpk_view_choice *choice; /* filter for everything printed (below); NULL means all */
	/* the file is a member of a zip archive, so it cannot be loaded in place */
	bool in_archive;
	const struct mpk_tree *tree; /* NULL if the image has no blob */
	struct mpk_view_node *nodes; /* tree->count elements */
	size_t count;
	const struct mpk_view_code *embedded; /* one for each of image->embedded */
	const struct mpk_view_names *names;
	struct mpk_device_kept
		*kept; /* containers that were read (mpk_device_keep); NULL if none is kept */
	struct mpk_arena *arena; /* holds everything read later on demand */
};

/* mpk_view_init - decode every payload of tree; if one cannot be decoded, its node keeps the
 * problem
 * @tree    may be NULL; image, tree and name are borrowed
 * @arena   receives the nodes, decoded payloads and everything read later; borrowed
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the size of the tree, and of the code outside it. */
enum mpk_code mpk_view_init(struct mpk_view *view, const char *name, uint64_t file_bytes,
			    const struct mpk_image *image, const struct mpk_tree *tree,
			    struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_row - the printers of a module's payload; empty ones if it was not decoded
 * mpk_view_content - the data that those printers take */
static inline const struct mpk_payload_view *mpk_view_row(const struct mpk_view_node *node)
{
	return mpk_payload_view_of(node->decoded ? node->payload : NULL);
}

static inline struct mpk_payload_content mpk_view_content(const struct mpk_view_node *node)
{
	return (struct mpk_payload_content){ node->payload, node->models.graph, node->info };
}

/* mpk_view_kernels - the kernel table of a decoded device module; NULL if it is none */
static inline const struct mpk_kernels *mpk_view_kernels(const struct mpk_view_node *node)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	return row->kernels ? row->kernels(node->payload) : NULL;
}

/* mpk_view_relax - the executable of a decoded model in Relax byte code; NULL if it is none */
static inline const struct mpk_relax *mpk_view_relax(const struct mpk_view_node *node)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	return row->relax ? row->relax(node->payload) : NULL;
}

/* mpk_view_format - the format of a payload's code, "ptx", "cl", ...; an empty span if unknown */
struct mpk_span mpk_view_format(const struct mpk_view_node *node);

/* mpk_view_loaders - list the kinds of modules that need a loader in the runtime, each once, in the
 * order of the tree; the library's own code needs none
 * @err     may be NULL
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_loaders(const struct mpk_view *view, const struct mpk_span **out,
			       size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_targets - list the target devices of a module's code, from its headers only
 * @count   receives 0 for modules without such code, and if the headers cannot be read
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_targets(const struct mpk_view *view, const struct mpk_view_node *node,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_title - the title of a kind, "CUDA kernels"; "unknown kind" if it is unknown */
const char *mpk_view_title(const struct mpk_view_node *node);

/* mpk_view_role - the role of a module's kind as a stable word: "host", ..., "unknown"; static
 * storage */
const char *mpk_view_role(const struct mpk_view_node *node);

/* mpk_view_counts - append what a module holds, ", 2 kernels" or ", 1 function, 3 constants (1.2
 * KiB)"; nothing if it is empty */
void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out);

/* mpk_view_tree - append only the tree, one line for each module and its kernels below */
void mpk_view_tree(const struct mpk_view *view, struct mpk_style style, struct mpk_strbuf *out);

/* mpk_view_call - append a command line that calls a function
 * For a bare blob it names LIBRARY.so, which has the host code; so it does for a file of another
 * system than Linux, which has to be built for Linux first.
 * @signature  NULL if the file does not tell the arguments. Capitals stand for values that only the
 *             caller knows. */
void mpk_view_call(const struct mpk_view *view, struct mpk_span function,
		   const struct mpk_signature *signature, struct mpk_strbuf *out);

/* mpk_view_kernel_call - the same for kernel `index` of a decoded device module: with the types and
 * the block that its code tells, after mpk_view_show_info has read it
 * out remembers failures. */
void mpk_view_kernel_call(const struct mpk_view *view, const struct mpk_view_node *node,
			  size_t index, struct mpk_strbuf *out);

/* mpk_view_host - the signature of host function `index` of the image; NULL if the file does not
 * tell it */
const struct mpk_signature *mpk_view_host(const struct mpk_view *view, size_t index);

/* mpk_view_read_texts - read the constants that the file's getters return, unless texts were given
 * before
 * @given   results of calling the getters, borrowed; signatures are taken from them if the file
 *          itself has none. NULL if the getters were not called
 * Returns  MPK_OK; MPK_E_NOMEM
 * mpk_view_doc - the documentation of host function `index`; empty if there is none or it is not
 * known */
enum mpk_code mpk_view_read_texts(struct mpk_view *view, const struct mpk_host_texts *given,
				  struct mpk_error *err) MPK_MUST_CHECK;
struct mpk_span mpk_view_doc(const struct mpk_view *view, size_t index);

/* mpk_view_read_registered - read which global functions the library registers, from its code; nothing for other files
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_read_registered(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_read_names - fill view->names, after payloads are decoded; linear time except for
 * sorting
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_read_names(struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_called - the name under which --run calls host function `index`: for an alias, the name
 * of its target
 * mpk_view_called_instead - the executor's function that --run calls instead of host function
 * `index`: one with the same
 *          name, or one whose compiled body it is ("__vmtir__main", which takes a virtual machine);
 *          NULL if the host
 *          function itself is called */
const char *mpk_view_called(const struct mpk_view *view, size_t index);
const struct mpk_signature *mpk_view_called_instead(const struct mpk_view *view, size_t index);

/* mpk_view_host_text - append the signature of host function `index`, or its name if the signature
 * is unknown
 * @names   text between an alias and its target */
void mpk_view_host_text(const struct mpk_view *view, size_t index, const char *names,
			struct mpk_strbuf *out);

/* --- --filter: which functions, kernels, tensors and modules are shown ------------------------
 *
 * A module is shown whole if a filter matches its kind or path. Else only its parts that match are
 * shown, and without any it is hidden. Hidden things are still counted: sizes and indices stay
 * those of the file. Printers ask these functions immediately before they print, and each answer is
 * noted, so that a filter that chose nothing can be reported.
 */

/* mpk_view_filter - from now on, show only what the filters choose
 * @choice  must live as long as the view; a filter that begins with '/' also matches paths of
 *          modules. Receives notes about which filters chose something. */
void mpk_view_filter(struct mpk_view *view, struct mpk_view_choice *choice);

/* mpk_view_chooses - whether the filter chooses a name, which is noted; true if there is no
 * filter */
bool mpk_view_chooses(struct mpk_view_choice *choice, struct mpk_span name);

/* mpk_view_shows - whether something that belongs to no module is shown, such as a function of the
 * library; true if there is no filter */
bool mpk_view_shows(const struct mpk_view *view, struct mpk_span name);

/* mpk_view_shows_node - whether a module or a part of it is shown
 * mpk_view_shows_whole - whether all of the module is shown
 * mpk_view_shows_part - whether a kernel, function or tensor of the module is shown */
bool mpk_view_shows_node(const struct mpk_view_node *n);
bool mpk_view_shows_whole(const struct mpk_view_node *n);
bool mpk_view_shows_part(const struct mpk_view_node *n, struct mpk_span name);

#endif
