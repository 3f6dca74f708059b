/* SPDX-License-Identifier: Apache-2.0 */
/* function.c - checks that functions are found by name: in the file's own modules, then among the
 * global functions of the runtime
 *
 * A virtual machine looks up every function of its table at start, and does not start if one is
 * missing. Host code looks up a function at its first call. */
#include <stdio.h>
#include <string.h>

#include "check/internal/run.h"
#include "compat/release.h"
#include "model/origin.h"
#include "text/escape.h"

/* The functions of a file. */
struct own {
	/* functions of the file's modules, which its host code can call */
	struct mpk_strmap modules;
	struct mpk_strmap host; /* functions of its host code, which only an executable can call */
	bool is_open;           /* the file may have functions that are not listed */
};

/* --- the file's own ---------------------------------------------------------------------- */

/* The value is not used: the map is a set of names. */
static enum mpk_code add_own(struct own *own, struct mpk_span name, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_strmap_put(&own->modules, name, 0, NULL) >= 0, err);
	return MPK_OK;
}

/* A module of unknown kind may define any function, so the list becomes open. */
static enum mpk_code add_node(struct own *own, const struct mpk_view_node *n, struct mpk_error *err)
{
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_span name;

	if (n->node->is_lib)
		return MPK_OK;
	own->is_open |= !n->decoded;
	for (size_t i = 0; row->offers && row->offers(n->payload, i, &name); i++)
		MPK_TRY(add_own(own, name, err));
	return MPK_OK;
}

/* A bare blob has its host code elsewhere, so the list is open. Functions that a damaged hash table
 * hides are not in the list. */
static enum mpk_code read_own(const struct mpk_check_state *s, struct own *own,
			      struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	own->is_open = image->container == MPK_CONTAINER_BLOB;
	for (size_t i = 0; i < image->function_count; i++) {
		struct mpk_span name = mpk_span_str(image->functions[i].name);

		if (mpk_strmap_find(&s->lost, name, NULL))
			continue;
		MPK_TRY_ALLOC(mpk_strmap_put(&own->host, name, 0, NULL) >= 0, err);
		/* a system library's functions are found with and without its prefix */
		if (image->has_blob && image->prefix[0]) {
			const char *full = mpk_arena_printf(s->arena, "%s%s", image->prefix,
							    image->functions[i].name);

			MPK_TRY_ALLOC(full, err);
			MPK_TRY_ALLOC(mpk_strmap_put(&own->host, mpk_span_str(full), 0, NULL) >= 0,
				      err);
		}
	}
	for (size_t i = 0; i < s->view->count; i++)
		MPK_TRY(add_node(own, &s->view->nodes[i], err));
	return MPK_OK;
}

/* --- global functions -------------------------------------------------------------------- */

/* Looks in the functions that the named libraries register, and in those of tvm-ffi if a library
 * needs it. */
static enum mpk_code ask_runtimes(const struct mpk_check_state *s, struct mpk_span name,
				  enum mpk_global_state *out, struct mpk_error *err)
{
	struct mpk_release ffi = { 0 };
	struct mpk_global_info
		info; /* TVM's compiler emits some names that only its Python package defines */
	bool known = false, is_ffis = mpk_release_parse("ffi", &ffi);

	is_ffis &= mpk_release_global(&ffi, name, &info) == MPK_GLOBAL_THERE;

	for (struct mpk_dso *d = s->there->runtimes; d; d = d->next) {
		if (d->lacks)
			continue;
		MPK_TRY(mpk_dso_read_globals(d, err));
		known |= d->globals_known;
		if ((mpk_dso_registers(d, name) && !info.is_pythons) ||
		    (is_ffis && mpk_check_needs_ffi(d))) {
			*out = MPK_GLOBAL_THERE;
			return MPK_OK;
		}
	}
	if (s->there->installed && info.is_pythons)
		*out = MPK_GLOBAL_PYTHON;
	else if (!s->there->has_release)
		*out = known ? MPK_GLOBAL_MISSING : MPK_GLOBAL_UNKNOWN;
	return MPK_OK;
}

/* A function that the release is known to have needs no library to be read. A function that the
 * release lacks may be registered by a named library. */
static enum mpk_code find_global(const struct mpk_check_state *s, struct mpk_span name,
				 enum mpk_global_state *out, struct mpk_global_info *info,
				 struct mpk_error *err)
{
	const struct mpk_release *release = &s->there->release;
	struct mpk_release any = { .minor = MPK_RELEASE_NEWEST };

	*out = mpk_release_global(s->there->has_release ? release : &any, name, info);
	if (s->there->has_release && (*out == MPK_GLOBAL_THERE || *out == MPK_GLOBAL_PYTHON))
		return MPK_OK;
	return ask_runtimes(s, name, out, err);
}

/* Whether a library that TVM's CUDA library needs is missing; false also if libraries cannot be
 * searched. */
static enum mpk_code lacks_cuda(struct mpk_check_state *s, bool *out, struct mpk_error *err)
{
	const struct mpk_sidecar *sidecar = mpk_release_sidecar(mpk_span_str("cuda"));
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	*out = false;
	for (size_t i = 0; sidecar->needs[i] && s->there->searchable && !*out; i++) {
		MPK_TRY(mpk_scope_need(&s->scope, sidecar->needs[i], &state, &gap, err));
		*out = state == MPK_SCOPE_MISSING;
	}
	return MPK_OK;
}

/* Whether a name is certainly missing. */
static enum mpk_code is_missing(struct mpk_check_state *s, const struct own *own,
				struct mpk_span name, bool *out, struct mpk_global_info *info,
				struct mpk_error *err)
{
	enum mpk_global_state state;

	*out = false;
	if (mpk_strmap_find(&own->modules, name, NULL))
		return MPK_OK;
	MPK_TRY(find_global(s, name, &state, info, err));
	if (state == MPK_GLOBAL_SIDECAR) {
		MPK_TRY(lacks_cuda(s, out, err));
		/* a machine that was described with a GPU may have the rest of CUDA too */
		*out = *out && !s->there->cuda.sm && !s->there->cuda.driver.major;
		info->option = "USE_CUDA";
		return MPK_OK;
	}
	*out = state == MPK_GLOBAL_MISSING &&
	       (!own->is_open || info->releases[0] || mpk_span_starts(name, "vm.builtin."));
	return MPK_OK;
}

/* ", which the wheel of TVM 0.27 has not: ..." */
static void put_why(const struct mpk_check_state *s, const struct mpk_global_info *info, char *out,
		    size_t size)
{
	const struct mpk_there *there = s->there;
	const char *the = there->has_release && there->release.minor ? "the wheel of " : "";
	const char *where = mpk_check_where(there);
	bool many = !there->has_release && !there->installed;

	if (info->option)
		(void)snprintf(out, size,
			       "which %s%s ha%s not: TVM built with %s has it; name that library "
			       "with --runtime",
			       the, where, many ? "ve" : "s", info->option);
	else if (info->releases[0])
		(void)snprintf(out, size, "which %s%s ha%s not: %s ha%s it", the, where,
			       many ? "ve" : "s", info->releases,
			       strstr(info->releases, " and ") ? "ve" : "s");
	else
		(void)snprintf(out, size,
			       "which %s%s ha%s not: register it first, or name the library that "
			       "does with --runtime",
			       the, where, many ? "ve" : "s");
}

/* --- executables ------------------------------------------------------------------------- */

/* An executable may find a function in a module of the file, in its host code or in the global
 * registry. The function is missing only if all three lack it. */
static enum mpk_code function_check_entry(struct mpk_check_state *s, const struct mpk_view_node *n,
					  const struct mpk_payload_function *f,
					  const struct own *own, struct mpk_error *err)
{
	struct mpk_global_info info;
	char why[256];
	bool missing;

	if (f->kind != MPK_FUNCTION_IMPORTED || mpk_strmap_find(&own->host, f->name, NULL))
		return MPK_OK;
	MPK_TRY(is_missing(s, own, f->name, &missing, &info, err));
	if (!missing)
		return MPK_OK;
	put_why(s, &info, why, sizeof why);
	mpk_check_say(s, MPK_ERROR, n->path,
		      "its virtual machine does not start: it calls '%s', a function that no "
		      "module of the file has, and %s",
		      MPK_QUOTE(f->name), why);
	return MPK_OK;
}

/* The machine resolves the whole table of functions at start, so one missing name concerns all of
 * its functions. */
static enum mpk_code check_executables(struct mpk_check_state *s, const struct own *own,
				       struct mpk_error *err)
{
	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		const struct mpk_payload_view *row = mpk_view_row(n);
		struct mpk_payload_function f;

		for (size_t k = 0; row->function && row->function(n->payload, k, &f); k++)
			MPK_TRY(function_check_entry(s, n, &f, own, err));
	}
	return MPK_OK;
}

/* --- host code --------------------------------------------------------------------------- */

/* Host code looks a function up at the first call, so only functions that reach that call fail. */
static enum mpk_code function_check_name(struct mpk_check_state *s, const char *name,
					 const struct own *own, struct mpk_error *err)
{
	struct mpk_global_info info;
	char why[256];
	bool missing;

	MPK_TRY(is_missing(s, own, mpk_span_str(name), &missing, &info, err));
	if (!missing)
		return MPK_OK;
	put_why(s, &info, why, sizeof why);
	return mpk_check_say_want(s, MPK_WANT_NAME, name, err, "the code looks '%s' up, %s",
				  MPK_QUOTE(mpk_span_str(name)), why);
}

/* A missing name is reported once, even if several places in the code call it. */
static enum mpk_code function_check_names(struct mpk_check_state *s, const struct own *own,
					  struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap seen = { 0 };

	if (mpk_check_not_linked(s))
		return MPK_OK;
	MPK_TRY(mpk_check_read_wants(s, err));
	for (size_t i = 0; i < s->wants.count; i++) {
		const struct mpk_want *w = &s->wants.items[i];
		int added;

		if (w->kind != MPK_WANT_NAME)
			continue;
		added = mpk_strmap_put(&seen, mpk_span_str(w->name), 0, NULL);
		MPK_TRY_ALLOC(added >= 0, err);
		if (added)
			MPK_TRY(function_check_name(s, w->name, own, err));
	}
	return MPK_OK;
}

/* --- metadata ---------------------------------------------------------------------------- */

/* Checks the runtime functions that a serving engine calls, according to the file's metadata. */
static enum mpk_code check_engine(struct mpk_check_state *s, const struct own *own, bool wanted,
				  const char *what, const char *name, const char *path,
				  struct mpk_error *err)
{
	struct mpk_global_info info;
	bool missing = false;
	char why[256];

	if (wanted)
		MPK_TRY(is_missing(s, own, mpk_span_str(name), &missing, &info, err));
	if (!missing)
		return MPK_OK;
	put_why(s, &info, why, sizeof why);
	mpk_check_say(s, MPK_WARNING, path,
		      "its metadata says %s: an engine calls '%s' for that, %s", what, name, why);
	return MPK_OK;
}

static enum mpk_code check_metadata(struct mpk_check_state *s, const struct own *own,
				    struct mpk_error *err)
{
	const struct mpk_metadata *m;
	struct mpk_span state;

	MPK_TRY(mpk_view_metadata(s->view, &m, err));
	if (!m)
		return MPK_OK;
	state = mpk_span_str(m->kv_state_kind ? m->kv_state_kind : "");
	MPK_TRY(check_engine(s, own, mpk_span_is(state, "kv_cache") || mpk_span_is(state, "hybrid"),
			     "a cache of keys and values",
			     "vm.builtin.attention_kv_cache_attention_with_fused_qkv", m->path,
			     err));
	MPK_TRY(check_engine(s, own,
			     mpk_span_is(state, "rnn_state") || mpk_span_is(state, "hybrid"),
			     "a recurrent state", "vm.builtin.rnn_state_create", m->path, err));
	MPK_TRY(check_engine(s, own,
			     m->tensor_parallel_shards > 1 || m->pipeline_parallel_stages > 1,
			     "shards or stages", "runtime.disco.nccl.init_ccl", m->path, err));
	return check_engine(s, own, m->disaggregation, "disaggregation",
			    "runtime.disco.nvshmem.init_nvshmem", m->path, err);
}

/* Whether the file looks functions up: modules do, and so do files linked with a TVM library. */
static bool looks_up(const struct mpk_check_state *s)
{
	const struct mpk_image *image = s->view->image;

	for (size_t i = 0; i < image->needed_count; i++)
		if (mpk_check_is_runtime(image->needed[i]))
			return true;
	return s->is_module || s->view->count;
}

/* Returns why the functions cannot be checked; NULL if they can. */
static const char *not_known(const struct mpk_check_state *s)
{
	const struct mpk_there *there = s->there;

	if (s->other_format)
		return "its format is another";
	if (s->view->image->standalone || s->view->image->executor)
		return "it brings its own runtime";
	if (s->report->errors > s->result->call_errors)
		return "it does not load";
	if (!looks_up(s))
		return "it is no module of TVM";
	if (!mpk_check_where(there))
		return s->is_module || (!s->elf && s->view->count) ? MPK_CHECK_UNSAID
								   : "it is no module of TVM";
	if (there->has_release &&
	    mpk_release_global(&there->release, mpk_span_of(NULL, 0), NULL) == MPK_GLOBAL_UNKNOWN)
		return "the functions of that release are not known";
	return NULL;
}

/* Maps are freed on every path, since a failed allocation can leave them half full. */
static enum mpk_code function_check_function(struct mpk_check_state *s, const char **skipped,
					     struct mpk_error *err)
{
	struct own own = { 0 };
	enum mpk_code code;

	*skipped = not_known(s);
	if (*skipped)
		return MPK_OK;
	code = read_own(s, &own, err);
	if (code == MPK_OK)
		code = check_executables(s, &own, err);
	if (code == MPK_OK)
		code = function_check_names(s, &own, err);
	if (code == MPK_OK)
		code = check_metadata(s, &own, err);
	mpk_strmap_fini(&own.modules);
	mpk_strmap_fini(&own.host);
	return code;
}

const struct mpk_check_row mpk_check_function[] = {
	{ "function", "--tvm or --runtime", function_check_function },
	{ 0 },
};
