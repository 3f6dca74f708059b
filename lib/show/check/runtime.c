/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the runtime must support: the format, a loader for each kind of module, the contents
 * of payloads. */
#include <stdio.h>
#include <string.h>

#include "check/internal/run.h"
#include "elf/symbols.h"
#include "kinds.h"
#include "text/escape.h"

#define OTHER_FORMAT "its format is another"

/* --- format ----------------------------------------------------------------------------- */

/* Determines the generation of a library by its C API: the C functions of one generation are absent
 * from the other. Names of blob symbols are no sign: compilers turn short texts into code. */
static bool reads_of(const struct mpk_dso *d, enum mpk_generation *out)
{
	static const struct {
		const char *symbol;
		enum mpk_generation gen;
	} signs[] = {
		{ "TVMFFIEnvModRegisterSystemLibSymbol", MPK_GEN_CURRENT },
		{ "TVMFFIFunctionCall", MPK_GEN_HYBRID },
		{ "TVMFuncCall", MPK_GEN_LEGACY },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(signs); i++) {
		if (!mpk_dso_defines(d, signs[i].symbol))
			continue;
		*out = signs[i].gen;
		return true;
	}
	*out = MPK_GEN_CURRENT;
	return mpk_check_needs_ffi(d);
}

/* Determines the generation that the target reads; false if it is unknown. */
static bool reads(const struct mpk_there *there, enum mpk_generation *out)
{
	if (there->has_release) {
		*out = there->release.reads;
		return true;
	}
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (reads_of(d, out))
			return true;
	return false;
}

/* Returns the generation whose loaders find the file's functions. A standalone library exports its
 * own entry points, whatever blob it carries. */
static enum mpk_generation called_as(const struct mpk_image *image)
{
	return image->executor ? MPK_GEN_CURRENT : image->gen;
}

/* A file of unknown generation passes as legacy and as hybrid, but not as current. */
static bool same_generation(const struct mpk_image *image, enum mpk_generation there)
{
	if (image->gen_known || image->executor)
		return called_as(image) == there;
	return there == MPK_GEN_LEGACY || there == MPK_GEN_HYBRID;
}

/* Whether the target is tvm-ffi without TVM. Its Python package links objects and archives before
 * it opens them. */
static bool is_ffi_alone(const struct mpk_there *there)
{
	if (there->has_release)
		return there->release.minor == MPK_TVM_FFI && !there->runtimes;
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (!mpk_dso_defines(d, "TVMFFIEnvModRegisterSystemLibSymbol"))
			return false;
	return there->runtimes != NULL;
}

/* TVM's Python package links objects to a shared library before it opens them; tvm-ffi does not. */
static void check_container(struct mpk_check_state *s)
{
	enum mpk_container container = s->view->image->container;

	if (is_ffi_alone(s->there) &&
	    (container == MPK_CONTAINER_ELF_OBJ || container == MPK_CONTAINER_TAR))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "tvm-ffi alone opens shared libraries only, and TVM is what links %s "
			      "first: link it",
			      container == MPK_CONTAINER_TAR ? "a tar of objects" : "an object");
}

/* The first check: the target cannot read a file of another format, so later checks would only
 * repeat this finding. */
static enum mpk_code runtime_check_format(struct mpk_check_state *s, const char **skipped,
					  struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	enum mpk_generation there;

	(void)err;
	if (!image->has_blob && !image->function_count && !image->embedded_count) {
		*skipped = "it is no module of TVM";
		return MPK_OK;
	}
	if (!reads(s->there, &there)) {
		*skipped = s->there->runtimes ? "the named libraries are none of TVM's"
					      : MPK_CHECK_UNSAID;
		return MPK_OK;
	}
	check_container(s);
	s->other_format = !same_generation(image, there);
	if (s->other_format)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"its format is that of %s, and %s reads that of %s: no module and no function of it is found there; compile it with a TVM of that format",
			mpk_generation_get(called_as(image))->releases, mpk_check_where(s->there),
			mpk_generation_get(there)->releases);
	return MPK_OK;
}

/* --- loaders ---------------------------------------------------------------------------- */

/* The release has no loader for the kind, but other releases have one: names them, since the user
 * may choose one of them. */
static void say_other(struct mpk_check_state *s, const char *path, const char *kind,
		      const struct mpk_loader_info *info)
{
	char releases[40];

	if (info->last == MPK_RELEASE_NOW)
		(void)snprintf(releases, sizeof releases, "0.%u and later", info->first);
	else
		(void)snprintf(releases, sizeof releases, "0.%u to 0.%u", info->first, info->last);
	if (s->there->release.minor == MPK_TVM_FFI)
		mpk_check_say(
			s, MPK_ERROR, path,
			"tvm-ffi alone has no loader for '%s', which is TVM's (%s%s%s): load it where TVM is, or name the library that has one with --runtime",
			kind, releases, info->option ? ", built with " : "",
			info->option ? info->option : "");
	else
		mpk_check_say(s, MPK_ERROR, path,
			      "%s has no loader for '%s'; TVM %s has one: use that, or compile it "
			      "for this one",
			      s->there->release.name, kind, releases);
}

/* Reports what the wheel's library with that loader needs and does not find. A machine described
 * with a GPU may have the rest of CUDA, so missing CUDA libraries are not certain. */
static void say_sidecar(struct mpk_check_state *s, const char *path, struct mpk_span kind,
			const struct mpk_sidecar *sidecar, const char *gap)
{
	bool driver = strcmp(gap, sidecar->needs[0]) == 0;
	bool gpu = s->there->cuda.sm || s->there->cuda.driver.major;

	mpk_check_say(
		s, gpu ? MPK_WARNING : MPK_ERROR, path,
		"the loader for '%s' is in %s of the wheel of %s, which needs %s, and that is not %s: %s",
		MPK_QUOTE(kind), sidecar->file, s->there->release.name, gap,
		mpk_check_place(s->there),
		driver ? "load it where there is a driver (with --device-arch or --driver one counts as present)"
		       : "install the CUDA runtime there");
}

/* The wheel has a separate library for a kind, which Python opens if its needs are met. */
static enum mpk_code check_sidecar(struct mpk_check_state *s, const char *path,
				   struct mpk_span kind, struct mpk_error *err)
{
	const struct mpk_sidecar *sidecar = mpk_release_sidecar(kind);
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	for (size_t i = 0; sidecar->needs[i] && s->there->searchable; i++) {
		MPK_TRY(mpk_scope_need(&s->scope, sidecar->needs[i], &state, &gap, err));
		if (state != MPK_SCOPE_MISSING)
			continue;
		say_sidecar(s, path, kind, sidecar, gap.name);
		return MPK_OK;
	}
	return MPK_OK;
}

/* Compares with the table of the release. A loader that depends on how TVM was built gives a
 * warning: the user's build is unknown. */
static enum mpk_code check_release(struct mpk_check_state *s, const char *path,
				   struct mpk_span kind, struct mpk_error *err)
{
	const char *name = s->there->release.name, *word = MPK_QUOTE(kind);
	struct mpk_loader_info info;

	switch (mpk_release_loader(&s->there->release, kind, &info)) {
	case MPK_LOADER_THERE:
		break;
	case MPK_LOADER_SIDECAR:
		return check_sidecar(s, path, kind, err);
	case MPK_LOADER_BUILD:
		mpk_check_say(s, MPK_WARNING, path,
			      "%s has a loader for '%s' when it was built with %s: name its "
			      "library with --runtime to be sure",
			      name, word, info.option);
		break;
	case MPK_LOADER_WHEEL:
		mpk_check_say(s, MPK_ERROR, path,
			      "the wheel of %s has no loader for '%s': build TVM with %s, and name "
			      "that library with --runtime",
			      name, word, info.option);
		break;
	case MPK_LOADER_OTHER:
		say_other(s, path, word, &info);
		break;
	case MPK_LOADER_NONE:
		mpk_check_say(s, MPK_ERROR, path,
			      "no TVM has a loader for '%s': name the library that registers one "
			      "with --runtime",
			      word);
		break;
	}
	return MPK_OK;
}

/* A library that cannot be opened registers nothing. */
static enum mpk_code find_lack(struct mpk_check_state *s, struct mpk_dso *d, struct mpk_error *err)
{
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	if (d->machine != s->like.e_machine || d->elf_class != s->like.e_ident[EI_CLASS] ||
	    d->elf_data != s->like.e_ident[EI_DATA]) {
		d->lacks = "is for another machine";
		return MPK_OK;
	}
	for (size_t i = 0; !d->lacks && s->there->searchable && i < d->needed_count; i++) {
		MPK_TRY(mpk_scope_need(&s->scope, d->needed[i], &state, &gap, err));
		if (state != MPK_SCOPE_MISSING)
			continue;
		d->lacks = mpk_arena_printf(s->arena, "needs %s, which is not %s",
					    MPK_QUOTE(mpk_span_str(gap.name)),
					    mpk_check_place(s->there));
		MPK_TRY_ALLOC(d->lacks, err);
	}
	return MPK_OK;
}

/* All files of a run share the libraries, but what a library lacks depends on the file's search
 * path, so it is computed again for each file. */
static enum mpk_code find_lacks(struct mpk_check_state *s, struct mpk_error *err)
{
	for (struct mpk_dso *d = s->there->runtimes; d; d = d->next) {
		d->lacks = NULL; /* from the previous file */
		MPK_TRY(find_lack(s, d, err));
	}
	return MPK_OK;
}

static bool loads(const struct mpk_dso *d, struct mpk_span kind)
{
	for (size_t i = 0; i < d->loader_count; i++)
		if (mpk_span_equal(d->loaders[i], kind))
			return true;
	return false;
}

/* Returns a library with a loader for a kind, preferably one that can be opened; NULL if there is
 * none. */
static const struct mpk_dso *runtime_for(const struct mpk_there *there, struct mpk_span kind)
{
	const struct mpk_dso *broken = NULL;

	for (const struct mpk_dso *d = there->runtimes; d; d = d->next) {
		if (!loads(d, kind))
			continue;
		if (!d->lacks)
			return d;
		broken = d;
	}
	return broken;
}

/* @path    path of the first module of that kind */
static enum mpk_code runtime_check_kind(struct mpk_check_state *s, struct mpk_span kind,
					const char *path, struct mpk_error *err)
{
	const char *word = MPK_QUOTE(kind);
	const struct mpk_dso *d = runtime_for(s->there, kind);

	if (d && d->lacks)
		mpk_check_say(s, MPK_ERROR, path,
			      "the loader for '%s' is in %s, which does not open: it %s", word,
			      MPK_QUOTE(mpk_span_str(d->path)), d->lacks);
	else if (!d && s->there->has_release)
		return check_release(s, path, kind, err);
	else if (!d)
		mpk_check_say(
			s, MPK_ERROR, path,
			"%s registers a loader for '%s' (ffi.Module.load_from_bytes.%s; "
			"before TVM 0.22 runtime.module.loadbinary_%s): build TVM with one, or "
			"name the library that has it with --runtime",
			s->there->installed ? "no library of the TVM of this environment"
					    : "none of the named libraries",
			word, word, word);
	return MPK_OK;
}

/* Whether the code needs a TVM or tvm-ffi process. If no runtime was named, its presence is
 * unknown. */
static enum mpk_code needs_runtime(struct mpk_check_state *s, bool *out, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	const struct mpk_undefined *list;
	size_t count;

	/* a missing library is looked up like all other needs */
	*out = false;
	if (!s->is_module && s->there->searchable)
		return MPK_OK;
	for (size_t i = 0; i < image->needed_count; i++)
		*out |= mpk_check_is_runtime(image->needed[i]);
	if (*out || !s->elf || image->container != MPK_CONTAINER_ELF_SO)
		return MPK_OK;
	MPK_TRY(mpk_versions_undefined(s->elf, s->arena, &list, &count, err));
	for (size_t i = 0; i < count; i++)
		*out |= mpk_check_is_tvms(list[i].name);
	return MPK_OK;
}

static enum mpk_code check_loaders(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	const struct mpk_span *kinds;
	bool needs;
	size_t count, at = 0;

	MPK_TRY(find_lacks(s, err));
	*skipped = s->other_format ? OTHER_FORMAT : NULL;
	if (s->other_format || s->view->image->standalone || s->view->image->executor)
		return MPK_OK;
	MPK_TRY(mpk_view_loaders(s->view, &kinds, &count, err));
	MPK_TRY(needs_runtime(s, &needs, err));
	if ((count || needs) && !mpk_check_where(there))
		*skipped = MPK_CHECK_UNSAID;
	else if (!count && !needs && !s->is_module)
		*skipped = "it has no module that a loader is for";
	if (*skipped)
		return MPK_OK;
	for (size_t i = 0; i < count; i++) {
		/* kinds are listed in the order of the tree */
		while (!mpk_span_equal(s->view->nodes[at].node->kind, kinds[i]))
			at++;
		MPK_TRY(runtime_check_kind(s, kinds[i], s->view->nodes[at].path, err));
	}
	return MPK_OK;
}

/* --- payloads --------------------------------------------------------------------------- */

/* The module whose payload is being examined. */
struct needy {
	struct mpk_check_state *s;
	const char *path;
};

/* The functions that examine payloads know nothing of --check; they report through this
 * function. */
static void say_need(void *arg, enum mpk_severity severity, const char *text)
{
	const struct needy *n = arg;

	mpk_check_say_text(n->s, severity, n->path, text);
}

/* Most kinds of payload need nothing beyond a loader of their kind, so they have no such
 * function. */
static void check_needs(struct mpk_check_state *s, const struct mpk_view_node *n)
{
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct needy needy = { s, n->path };
	struct mpk_payload_findings findings = { say_need, &needy };

	if (row->needs)
		row->needs(n->payload, s->there->has_release ? &s->there->release : NULL,
			   &findings);
}

/* The structure can be valid while its contents are damaged. */
static enum mpk_code check_note(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	uint8_t digest[MPK_DIGEST_BYTES];

	if (image->lost_blob)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"its package note names a blob, '%s', and no symbol has that name: no module of it is found",
			MPK_QUOTE(mpk_span_str(image->lost_blob)));
	if (!image->has_blob || !image->note.name)
		return MPK_OK;
	MPK_TRY(mpk_note_digest(mpk_image_noted(image), s->map, NULL, s->arena, digest, err));
	if (mpk_note_compare(&image->note, digest, NULL) != MPK_OK)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"the blob is damaged: its digest is not the one in the file's note; copy or build it again");
	return MPK_OK;
}

/* Read errors replace the needs of a payload: an unreadable payload's needs are unknown. */
static enum mpk_code check_payload(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	MPK_TRY(check_note(s, err));
	*skipped = s->other_format ? OTHER_FORMAT
		   : s->view->count || image->has_blob || image->lost_blob
			   ? NULL
			   : "it has no module with a payload";
	for (size_t i = 0; !*skipped && i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];

		if (n->problem)
			mpk_check_say(s, MPK_ERROR, n->path, "its payload does not read: %s",
				      n->problem->text);
		else
			check_needs(s, n);
	}
	return MPK_OK;
}

const struct mpk_check_row mpk_check_runtime[] = {
	{ "format", "--tvm or --runtime", runtime_check_format },
	{ "loader", "--tvm or --runtime", check_loaders },
	{ "payload", NULL, check_payload },
	{ 0 },
};
