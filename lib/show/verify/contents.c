/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - checks of the whole file: the container, content that the reader accepts but no
 * writer produces, kinds without a loader, provenance and GPU code; and the checks on modules
 * before they are written */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "code/info.h"
#include "io/reader.h"
#include "model/device_code.h"
#include "model/node_info.h"
#include "model/origin.h"
#include "text/escape.h"
#include "trust/seal.h"
#include "verify/verify.h"

/* The tree as if it had been read back, and the storage of its payloads. */
struct written {
	struct mpk_arena arena;
	struct mpk_tree tree;
	struct mpk_node *nodes;
	struct mpk_flat *flats;
};

/* Payloads may be mapped, so they are closed even if reading failed halfway: those that were not
 * opened are zero, and closing them does nothing. */
static void written_fini(struct written *w)
{
	for (size_t i = 0; w->flats && i < w->tree.count; i++)
		mpk_flat_close(&w->flats[i]);
	mpk_arena_fini(&w->arena);
}

/* A payload of unknown kind may be any bytes, so it is not read. */
static enum mpk_code read_back(struct written *w, const struct mpk_tree *tree,
			       struct mpk_error *err)
{
	w->tree = *tree;
	w->nodes = mpk_arena_array(&w->arena, tree->count, sizeof *w->nodes);
	w->flats = mpk_arena_array(&w->arena, tree->count, sizeof *w->flats);
	MPK_TRY_ALLOC(w->nodes && w->flats, err);
	w->tree.nodes = w->nodes;
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		w->nodes[i] = *n;
		w->nodes[i].content = NULL;
		w->nodes[i].payload = (struct mpk_span){ 0 };
		w->nodes[i].payload_off = 0;
		w->nodes[i].opaque = !n->content || !mpk_kind_find(n->kind);
		if (w->nodes[i].opaque)
			continue;
		MPK_TRY(mpk_flat_open(n->content, &w->flats[i], err));
		w->nodes[i].payload = w->flats[i].bytes;
	}
	return MPK_OK;
}

/* Before a module is in a blob, offsets count from its payload, so the finding says so. The finding
 * has no index, so the module is found by its path. */
static void place_finding(const struct mpk_view *view, struct mpk_error *e,
			  void (*place)(void *data, size_t node, struct mpk_error *error),
			  void *data)
{
	if (strcmp(e->at.space, "blob") == 0)
		(void)snprintf(e->at.space, sizeof e->at.space, "payload");
	for (size_t i = 0; place && i < view->count; i++) {
		if (strcmp(view->nodes[i].path, e->at.path) == 0) {
			place(data, i, e);
			return;
		}
	}
}

/* mpack checks these modules before it writes them: a mistake is reported at the line of the
 * manifest, not by --verify after delivery. */
enum mpk_code mpk_verify_contents(const struct mpk_tree *tree, const char *name, bool standalone,
				  struct mpk_report *report,
				  void (*place)(void *data, size_t node, struct mpk_error *error),
				  void *data, struct mpk_error *err)
{
	MPK_CLEANUP(written_fini) struct written w = { 0 };
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB,
				   .has_blob = true,
				   .standalone = standalone };
	struct mpk_view view;
	size_t from = report->count;

	MPK_TRY(read_back(&w, tree, err));
	MPK_TRY(mpk_view_init(&view, name, 0, &image, &w.tree, &w.arena, err));
	MPK_TRY(mpk_verify_payloads(&view, &w.arena, report, err));
	for (size_t i = from; i < report->count; i++)
		place_finding(&view, &report->findings[i].error, place, data);
	return MPK_OK;
}

/* --- the tree ------------------------------------------------------------------------------ */

/* The reader continues after a fault if it can, and keeps one warning. A tree that was cut short is
 * an error, since modules are missing. */
static void container(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && tree->warning.code != MPK_OK)
		mpk_verify_say_at(v, tree->truncated ? MPK_ERROR : MPK_WARNING,
				  (struct mpk_verify_position){ tree->warning.at.space,
								tree->warning.at.offset, NULL },
				  "%s", tree->warning.text);
}

/* A finding about the container has an offset but no module. */
static struct mpk_verify_position in_blob(uint64_t offset)
{
	return (struct mpk_verify_position){ "blob", offset, NULL };
}

static void blob_tail(struct mpk_verify *v)
{
	const struct mpk_tree *tree = v->view->tree;

	if (tree && !tree->truncated && tree->used < tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->used),
				  "%" PRIu64 " bytes follow the last module",
				  tree->nbytes + 8 - tree->used);
	/* in a library that is the symbol's size, which blob-size checks */
	const struct mpk_image *image = v->view->image;
	if (tree && image->container == MPK_CONTAINER_BLOB && image->blob.len > tree->nbytes + 8)
		mpk_verify_say_at(v, MPK_WARNING, in_blob(tree->nbytes + 8),
				  "the file continues after the blob: %" PRIu64 " bytes more",
				  image->blob.len - (tree->nbytes + 8));
}

/* Reports only the second one: a hostile tree has thousands. */
static void several_libs(struct mpk_verify *v)
{
	size_t libs = 0;

	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];

		if (n->node->is_lib && libs++ == 1)
			mpk_verify_say_at(
				v, MPK_WARNING,
				(struct mpk_verify_position){ "blob", n->node->kind_off, n->path },
				"a second _lib: only TVM 0.7 writes several, and TVM 0.8 - 0.20 refuse them");
	}
}

/* Reports nodes other than the root that no module imports: TVM loads them in vain. */
static void unreached(struct mpk_verify *v)
{
	const struct mpk_view *view = v->view;
	bool *seen = mpk_arena_array(v->arena, view->count + 1, sizeof *seen);

	if (!seen || !view->tree || view->tree->truncated) {
		v->report->failed |= !seen;
		return;
	}
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t k = 0; k < n->child_count; k++)
			seen[n->children[k]] = true;
		if (i && !seen[i])
			mpk_verify_say_at(v, MPK_WARNING,
					  (struct mpk_verify_position){ "blob", n->kind_off,
									view->nodes[i].path },
					  "nothing imports this module");
	}
}

/* Only a note: TVM since 0.8 sorts the imports of a module. Another order comes from an older TVM
 * or from another writer, and loads all the same. */
static void child_order(struct mpk_verify *v, const struct mpk_view_node *n)
{
	for (size_t k = 1; k < n->node->child_count; k++)
		if (n->node->children[k - 1] >= n->node->children[k]) {
			mpk_verify_say(
				v, MPK_NOTE,
				"imports are not ascending and unique, as TVM since 0.8 writes them");
			return;
		}
}

/* Not an error: a program may register its own loader for the kind. */
static void known_kind(struct mpk_verify *v, const struct mpk_view_node *n)
{
	if (!n->kind)
		mpk_verify_say(
			v, MPK_WARNING,
			"kind '%s' is unknown: its payload cannot be checked, and loading needs a runtime that registers it",
			MPK_QUOTE(n->node->kind));
}

/* The first release of each generation, and of the one after it. */
static const unsigned first_release[MPK_GENERATION_COUNT + 1] = {
	[MPK_GEN_LEGACY] = 0,
	[MPK_GEN_HYBRID] = 21,
	[MPK_GEN_CURRENT] = 22,
	[MPK_GENERATION_COUNT] = MPK_RELEASE_NOW,
};

/* If no release of the blob's generation wrote this kind, the blob was edited, or the kind's name
 * has another meaning. */
static void kind_release(struct mpk_verify *v, const struct mpk_view_node *n)
{
	enum mpk_generation gen = v->view->tree->gen;

	if (n->kind &&
	    (n->kind->last < first_release[gen] || n->kind->first >= first_release[gen + 1]))
		mpk_verify_say(
			v, MPK_WARNING,
			"modules of kind '%s' were written by TVM 0.%u - 0.%u, this blob is of %s",
			n->kind->name, n->kind->first, n->kind->last,
			mpk_generation_get(gen)->releases);
}

/* --- provenance ------------------------------------------------------------------------- */

static const struct mpk_verify_position nowhere;

/* A signature covers one file. A member of an archive can be signed too, but the archive can be
 * changed around it. */
static bool is_whole_file(const struct mpk_image *image)
{
	return image->container == MPK_CONTAINER_ELF_SO ||
	       image->container == MPK_CONTAINER_ELF_OBJ;
}

/* The fingerprint has the form of ssh-keygen -l, so that it can be compared with a published
 * one. */
static void say_signed(struct mpk_verify *v)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	struct mpk_origin notes;

	mpk_origin_find(v->elf, &notes);
	mpk_ssh_fingerprint_put(notes.seal.fingerprint, &name);
	mpk_verify_say_at(v, MPK_NOTE, nowhere, "signed by %s, and unchanged since",
			  mpk_strbuf_text(&name));
	v->report->failed |= name.failed;
}

/* Without --pubkey, a missing signature is not an error. With it, a file that cannot carry a
 * signature fails: silence would read as success. */
static void signature(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (!v->file || !v->file->keys)
		return;
	if (!v->elf || !is_whole_file(image)) {
		mpk_verify_say_at(
			v, MPK_ERROR, nowhere,
			"not signed: only libraries and objects of ELF have room for a signature%s",
			image->member ? "; that of a member says nothing of its archive" : "");
		return;
	}
	code = mpk_seal_check(v->elf, v->file->keys, v->file->tap, &err);
	v->report->failed |= code == MPK_E_NOMEM;
	if (code == MPK_OK)
		say_signed(v);
	else
		mpk_verify_say_at(
			v, MPK_ERROR,
			err.at.has_offset
				? (struct mpk_verify_position){ "file",
								image->bytes_off + err.at.offset,
								NULL }
				: nowhere,
			"%s", err.text);
}

/* A damaged note is a warning: the library works, but --sbom fails. */
static void provenance(struct mpk_verify *v)
{
	struct mpk_view_origin o;

	if (mpk_view_origin(v->view, &o, NULL) != MPK_OK)
		v->report->failed = true;
	else if (o.problem.code != MPK_OK)
		mpk_verify_say_at(
			v, MPK_WARNING,
			(struct mpk_verify_position){
				"file", v->view->image->bytes_off + o.notes.provenance_off, NULL },
			"%s", o.problem.text);
}

/* --- GPU code beside the tree ----------------------------------------------------------- */

/* The formats that cuModuleLoadData accepts according to the CUDA driver API: a cubin, a fatbin, or
 * PTX as a NUL-terminated text. */
static bool is_loadable(const struct mpk_code_format *f)
{
	return f == &mpk_format_cubin || f == &mpk_format_fatbin || f == &mpk_format_ptx;
}

/* Runs the checks of the code's format, under the format's own check name if it has one. */
static void verify_code(const struct mpk_code_info *code, struct mpk_code_verify to)
{
	const struct mpk_code_format *f = code->format;

	if (code->problem && !f->verifies_broken)
		mpk_code_say_problem(&to, code, "");
	to.check = f->check ? f->check : to.check;
	if (f->verify && (!code->problem || f->verifies_broken))
		f->verify(code, &to);
}

static void contents_check(struct mpk_verify *v, const struct mpk_view_code *c)
{
	const struct mpk_code_info *code = &c->code;
	const struct mpk_code_format *f = code->format;
	struct mpk_code_verify to = { .report = v->report,
				      .file = v->view->name,
				      .path = c->path,
				      .space = "file",
				      .kind = mpk_span_str("cuda"),
				      .check = v->check };

	if (!is_loadable(f)) {
		mpk_code_say(&to, MPK_ERROR, code->off,
			     "this is %s; CUDA's driver loads a cubin, a fatbin or PTX", f->name);
		return;
	}
	/* the driver gets no length, so it reads a text up to its NUL */
	if (f == &mpk_format_ptx && code->bytes.len && code->bytes.data[code->bytes.len - 1] != 0)
		mpk_code_say(
			&to, MPK_WARNING, code->off + code->bytes.len,
			"this PTX does not end with a NUL: the driver reads what follows as part of it");
	verify_code(code, to);
}

static void embedded_code(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->image->embedded_count; i++)
		contents_check(v, &v->view->embedded[i]);
}

/* --- code of any library: device_code.h ------------------------------------------------- */

/* Reports all containers that the listing counts as unreadable: both use mpk_device_targets,
 * whatever the format's own check finds. */
static enum mpk_code contents_check_device(const struct mpk_view_code *c, void *arg,
					   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_verify *v = arg;
	const struct mpk_code_info *code = &c->code;
	const struct mpk_code_target *targets;
	struct mpk_code_verify to = { .report = v->report,
				      .file = v->view->name,
				      .path = c->path,
				      .space = "file",
				      .check = v->check,
				      .is_for_linker = strcmp(c->at->name, "__nv_relfatbin") == 0 };
	size_t errors = v->report->errors, count;
	struct mpk_error why = { 0 };

	verify_code(code, to);
	if (v->report->errors > errors || mpk_device_targets(c->at->name, c->at->bytes, &scratch,
							     &targets, &count, &why) == MPK_OK)
		return MPK_OK;
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	mpk_code_say(&to, MPK_ERROR, code->off + (why.at.has_offset ? why.at.offset : 0), "%s",
		     why.text);
	return MPK_OK;
}

static void gpu_code(struct mpk_verify *v)
{
	struct mpk_error err = { 0 };

	if (mpk_device_each(v->view, contents_check_device, v, &err) != MPK_OK)
		mpk_report_add(v->report, MPK_ERROR, v->check, &err);
}

const struct mpk_check mpk_checks_contents[] = {
	{ "container", "it is clear where every module begins", .whole = container },
	{ "blob-tail", "nothing follows the last module", .whole = blob_tail },
	{ "several-libs", "there is one _lib", .whole = several_libs },
	{ "unreached", "the root reaches every module", .whole = unreached },
	{ "child-order", "imports are in the order TVM writes", .node = child_order },
	{ "kind", "the kind is known", .node = known_kind },
	{ "kind-release", "the kind is of this generation", .node = kind_release },
	{ "embedded-code",
	  "device code beside the blob is a cubin, a fatbin or PTX that ends with a NUL",
	  .whole = embedded_code },
	{ "gpu-code",
	  "sections of GPU code hold whole containers, their images what the containers say",
	  .whole = gpu_code },
	{ "signature", "with --pubkey: one of its keys signed the file as it is",
	  .whole = signature },
	{ "provenance", "the note of what it was made from reads as such", .whole = provenance },
	{ 0 },
};
