/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - runs --check: the list of checks, the libraries that a process has loaded before the
 * file, how a check reports findings, and the state that model functions keep between calls
 *
 * Kept state is reported without asking a runtime: the caller carries a cache from one call to the
 * next, so the caller has to know about it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/internal/run.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "model/device_code.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "verify/verify.h"

/* --- findings --------------------------------------------------------------------------- */

const char mpk_check_unsaid[] = "not said";

void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text)
{
	struct mpk_strbuf safe = { 0 };
	struct mpk_error e = { 0 };

	/* names from the file are already quoted; this keeps the rest of the text printable */
	mpk_escape_controls(&safe, mpk_span_str(text));
	s->report->failed |= safe.failed;
	(void)mpk_fail(&e, MPK_E_LOAD, "%s", mpk_strbuf_text(&safe));
	mpk_strbuf_fini(&safe);
	mpk_error_at_file(&e, s->view->name);
	if (path)
		mpk_error_at_path(&e, path);
	mpk_report_add(s->report, severity, s->name, &e);
}

void mpk_check_say(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
		   const char *fmt, ...)
{
	char text[MPK_CHECK_TEXT];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	mpk_check_say_text(s, severity, path, text);
}

const char *mpk_check_where(const struct mpk_there *there)
{
	if (there->has_release)
		return there->release.name;
	if (!there->runtimes)
		return NULL;
	return there->installed ? "the TVM of this environment" : "the named libraries";
}

const char *mpk_check_place(const struct mpk_there *there)
{
	return there->libs ? "in the directory of --libs" : "on this machine";
}

bool mpk_check_needs_ffi(const struct mpk_dso *d)
{
	for (size_t i = 0; i < d->needed_count; i++)
		if (strcmp(d->needed[i], "libtvm_ffi.so") == 0)
			return true;
	return false;
}

/* --- what a process there has loaded ---------------------------------------------------- */

/* Libraries of every process with glibc and a C++ runtime. On musl, libc.so holds all of them. */
static const char *const base[] = { "libc.so.6",       "libm.so.6",  "libdl.so.2",
				    "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
				    "libstdc++.so.6",  "libc.so" };

/* TVM's own libraries: every process that loads modules has loaded them before. */
static const char *const tvms[] = { "libtvm_ffi.so", "libtvm_runtime.so", "libtvm.so",
				    "libtvm_compiler.so", "libtvm_runtime_extra.so" };

enum { ASSUMED_MAX = MPK_ARRAY_COUNT(base) + MPK_ARRAY_COUNT(tvms) + 1 };

/* Sets the three fields of an ELF header by which a dynamic linker refuses a library of another
 * machine (ELF gABI, ELF Header). */
static void set_machine(const struct mpk_target *t, GElf_Ehdr *out)
{
	out->e_machine = t->machine;
	out->e_ident[EI_CLASS] = t->elf_class;
	out->e_ident[EI_DATA] = t->elf_data;
}

/* Sets the libraries that count as present without a search: the process has loaded them before the
 * file, or the driver's installer provides them. */
static enum mpk_code set_assumed(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	const char **names = mpk_arena_array(s->arena, ASSUMED_MAX, sizeof *names);
	size_t n = 0;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; there->libs && i < MPK_ARRAY_COUNT(base); i++)
		names[n++] = base[i]; /* a directory named by the user need not contain these */
	/* files that are no modules may be loaded by a process without TVM */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms) && (s->is_module || mpk_check_where(there));
	     i++)
		/* tvm-ffi without TVM has only its own library */
		if (i == 0 || !there->has_release || there->release.minor)
			names[n++] = tvms[i];
	if (there->cuda.sm || there->cuda.driver.major)
		names[n++] = "libcuda.so.1";
	s->scope.assumed = names;
	s->scope.assumed_count = n;
	return MPK_OK;
}

bool mpk_check_is_runtime(const char *library)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		if (strcmp(library, tvms[i]) == 0)
			return true;
	return false;
}

/* The prefix of a symbol tells its owner, in C names and in mangled C++ names. Symbols of TVM and
 * of tvm-ffi count alike. */
bool mpk_check_is_tvms(const char *symbol)
{
	const char *owner = mpk_symbol_owner(symbol);

	return owner && (strcmp(owner, "tvm-ffi") == 0 || strcmp(owner, "TVM's runtime") == 0);
}

bool mpk_check_is_extension(const struct mpk_dso *d)
{
	static const char prefix[] = "PyInit_";
	struct mpk_span names = d->table.strings;
	struct mpk_symbol s;

	if (!names.len || !memmem(names.data, names.len, prefix, sizeof prefix - 1))
		return false;
	for (size_t i = 1; i < d->table.count; i++)
		if (mpk_symtab_get(&d->table, i, &s, NULL) == MPK_OK && s.defined &&
		    strncmp(s.name, prefix, sizeof prefix - 1) == 0)
			return true;
	return false;
}

/* Reads the needed libraries of the file and the symbols that no present library defines. A file
 * with unreadable tables is left out: the linking check reports the reason.
 * Returns  MPK_OK; MPK_E_NOMEM */
static enum mpk_code load_file(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	struct mpk_error problem = { 0 };
	const struct mpk_unbound *list;
	struct mpk_unbound *kept;
	size_t count;

	if (mpk_check_not_linked(s))
		return MPK_OK;
	if (mpk_dso_of(image->bytes, image->bytes_off, s->view->name, s->arena, &s->file,
		       &problem) != MPK_OK)
		return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	s->is_extension = mpk_check_is_extension(&s->file);
	if (s->there->searchable) {
		MPK_TRY(mpk_scope_load(&s->scope, &s->file, err));
	} else {
		s->scope.file = &s->file;
		s->file.is_new = true;
	}
	s->is_pythons = s->is_extension;
	for (const struct mpk_dso *d = s->scope.first; d && !s->is_pythons; d = d->next)
		s->is_pythons = mpk_check_is_extension(d);
	MPK_TRY(mpk_scope_bind(&s->scope, &list, &count, err));
	kept = mpk_arena_array(s->arena, count, sizeof *kept);
	MPK_TRY_ALLOC(kept, err);
	for (size_t i = 0; i < count; i++)
		if (!mpk_check_provided(s, &list[i]))
			kept[s->unbound_count++] = list[i];
	s->unbound = kept;
	return MPK_OK;
}

/* Builds the symbol scope of a process at the target that has loaded the file
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code scope_init(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	s->is_module = image->has_blob || image->function_count || image->executor;
	set_machine(&s->there->machine, &s->like);
	s->scope = (struct mpk_scope){ .arena = s->arena,
				       .search = &s->there->search,
				       .like = &s->like };
	MPK_TRY(set_assumed(s, err));
	for (size_t i = 0; s->there->searchable && i < MPK_ARRAY_COUNT(base); i++)
		MPK_TRY(mpk_scope_need(&s->scope, base[i], &state, &gap, err));
	return load_file(s, err);
}

/* --- what functions of models keep from one call to the next: who makes such a state, and who takes it --- */

static bool has_title(const struct mpk_param *list, size_t count, struct mpk_span title)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].type.kind == MPK_TYPE_NAMED &&
		    mpk_span_equal(list[i].type.title, title))
			return true;
	return false;
}

/* Returns the kept state with a title, and adds it when the title is new. Only states with a known
 * title are listed, so they are few. */
static struct mpk_check_held *held_of(struct mpk_check_state *s, struct mpk_span title)
{
	struct mpk_check_result *r = s->result;
	struct mpk_check_held *h;

	for (size_t i = 0; i < r->held_count; i++)
		if (mpk_span_is(title, r->held[i].title))
			return &r->held[i];
	if (r->held_count == MPK_CHECK_HELD)
		return NULL;
	h = &r->held[r->held_count];
	h->title = mpk_arena_text(s->arena, title);
	if (!h->title)
		return NULL;
	r->held_count++;
	return h;
}

static enum mpk_code states_add_function(struct mpk_check_state *s,
					 struct mpk_check_functions *list,
					 const struct mpk_signature *f, struct mpk_error *err)
{
	const char **items = mpk_arena_array(s->arena, list->count + 1, sizeof *items);
	const char *name = mpk_arena_text(s->arena, f->name);

	MPK_TRY_ALLOC(items && name, err);
	if (list->count)
		memcpy(items, list->items, list->count * sizeof *items);
	items[list->count++] = name;
	list->items = items;
	return MPK_OK;
}

static enum mpk_code states_add_all(struct mpk_check_state *s, const struct mpk_signature *f,
				    const struct mpk_param *list, size_t count, bool takes,
				    struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct mpk_span title = list[i].type.title;
		struct mpk_check_held *h;

		/* list each title once; an object that is taken and also returned is not made by
		 * the function */
		if (list[i].type.kind != MPK_TYPE_NAMED || has_title(list, i, title) ||
		    (!takes && has_title(f->inputs, f->input_count, title)))
			continue;
		h = held_of(s, title);
		if (h)
			MPK_TRY(states_add_function(s, takes ? &h->takers : &h->makers, f, err));
	}
	return MPK_OK;
}

static enum mpk_code add_uses(struct mpk_check_state *s, const struct mpk_signature *f,
			      struct mpk_error *err)
{
	const char *use;

	for (unsigned i = 0; (use = mpk_signature_use_text(i)) != NULL; i++) {
		struct mpk_check_held *h = f->uses >> i & 1 ? held_of(s, mpk_span_str(use)) : NULL;

		if (h)
			MPK_TRY(states_add_function(s, &h->takers, f, err));
	}
	return MPK_OK;
}

static enum mpk_code read_states(struct mpk_check_state *s, struct mpk_error *err)
{
	for (size_t n = 0; n < s->view->count; n++) {
		const struct mpk_models *m = &s->view->nodes[n].models;

		if (!mpk_view_relax(&s->view->nodes[n]))
			continue; /* only these states have known titles */
		for (size_t i = 0; i < m->count; i++) {
			const struct mpk_signature *f = &m->items[i];

			MPK_TRY(states_add_all(s, f, f->inputs, f->input_count, true, err));
			MPK_TRY(states_add_all(s, f, f->outputs, f->output_count, false, err));
			MPK_TRY(add_uses(s, f, err));
		}
	}
	return MPK_OK;
}

/* --- functions that fail when they are called --------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return mpk_natural_compare(*x, *y);
}

/* Collects the functions of all findings, each once, after all checks have run. */
static enum mpk_code sum_calls(struct mpk_check_state *s, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct mpk_check_result *r = s->result;
	const char **items;
	size_t at;

	for (const struct mpk_check_call *c = r->calls; c; c = c->next)
		for (size_t i = 0; i < c->count; i++)
			MPK_TRY_ALLOC(mpk_strmap_put(&known, mpk_span_str(c->functions[i]),
						     known.count, NULL) >= 0,
				      err);
	items = mpk_arena_array(s->arena, known.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	for (const struct mpk_check_call *c = r->calls; c; c = c->next)
		for (size_t i = 0; i < c->count; i++)
			if (mpk_strmap_find(&known, mpk_span_str(c->functions[i]), &at))
				items[at] = c->functions[i];
	if (known.count)
		qsort(items, known.count, sizeof *items, by_name);
	r->failing = items;
	r->failing_count = known.count;
	return MPK_OK;
}

/* --- the run ---------------------------------------------------------------------------- */

/* Whether the user asked for a check. By default all checks run. */
static bool check_is_named(const struct mpk_there *there, const char *name)
{
	for (size_t i = 0; i < there->only_count; i++)
		if (strcmp(there->only[i], name) == 0)
			return true;
	return !there->only;
}

/* A request for the device check includes the registration check: the device runs nothing that the
 * runtime never gets. */
bool mpk_check_wanted(const struct mpk_there *there, const char *name)
{
	return check_is_named(there, name) || (strcmp(name, "registration") == 0 && there->device &&
					       check_is_named(there, "device"));
}

void mpk_check_leave(struct mpk_check_state *s, const char *part, const char *option)
{
	struct mpk_check_item *item = &s->result->items[s->result->item_count - 1];

	item->part = part;
	item->option = option;
}

/* Every check leaves an item, even if it was skipped: a verdict must state its basis. */
static enum mpk_code run_table(struct mpk_check_state *s, const struct mpk_check_row *rows,
			       struct mpk_check_result *result, struct mpk_error *err)
{
	for (; rows->name; rows++) {
		if (!mpk_check_wanted(s->there, rows->name))
			continue;

		struct mpk_check_item *item = &result->items[result->item_count++];

		*item = (struct mpk_check_item){ .name = rows->name };
		s->name = rows->name;
		MPK_TRY(rows->run(s, &item->skipped, err));
		if (item->skipped == MPK_CHECK_UNSAID)
			item->option = rows->option;
	}
	return MPK_OK;
}

/* Digest of the exported names. Libraries built from one source for several releases export the
 * same functions. Names with a leading underscore do not count: mangled C++ names contain parameter
 * types that vary by version, and compilers add symbols of their own. Architectures are removed, so
 * that PyInit_ops_sm90 equals PyInit_ops_sm100. */
static uint64_t sum_exports(const struct mpk_check_state *s)
{
	struct mpk_symtab table;
	struct mpk_symbol symbol;
	uint64_t sum = 0;

	/* another check reports unreadable tables */
	if (mpk_symtab_dynamic(s->elf, &table, NULL) != MPK_OK)
		return 0;
	for (size_t i = 1; i < table.count; i++) {
		uint64_t hash = UINT64_C(14695981039346656037);

		if (mpk_symtab_get(&table, i, &symbol, NULL) != MPK_OK)
			break;
		if (!symbol.defined || !symbol.name[0] || symbol.name[0] == '_')
			continue;
		for (const char *p = symbol.name; *p;) {
			size_t len = mpk_check_arch_length(symbol.name, p);

			hash = (hash ^ (len ? '#' : (uint8_t)*p)) * UINT64_C(1099511628211);
			p += len ? len : 1;
		}
		sum += hash; /* a sum is independent of the order of the names */
	}
	return sum;
}

/* Notes that the user named checks and that none of them had anything to look at. */
static void note_lack(struct mpk_check_result *r)
{
	const struct mpk_check_item *first = NULL;

	for (size_t i = 0; i < r->item_count; i++) {
		if (!check_is_named(r->there, r->items[i].name))
			continue;
		if (!r->items[i].skipped)
			return;
		first = first ? first : &r->items[i];
	}
	if (r->there->only && !r->lacks && first) {
		r->lacks = first->skipped;
		r->lacks_option = first->option;
	}
}

/* The order matters: later checks use results of earlier ones, such as whether the format is
 * another or which functions are lost. */
static enum mpk_code run_all(struct mpk_check_state *s, struct mpk_check_result *result,
			     struct mpk_error *err)
{
	MPK_TRY(scope_init(s, err));
	if (s->elf && s->there->is_one_of_several)
		result->exports = sum_exports(s);
	MPK_TRY(run_table(s, mpk_check_machine, result, err));
	MPK_TRY(run_table(s, mpk_check_runtime, result, err));
	MPK_TRY(run_table(s, mpk_check_linking, result, err));
	MPK_TRY(run_table(s, mpk_check_host, result, err));
	MPK_TRY(run_table(s, mpk_check_function, result, err));
	MPK_TRY(run_table(s, mpk_check_registration, result, err));
	MPK_TRY(run_table(s, mpk_check_device, result, err));
	/* a policy is optional: it is listed as left open only if the user named its check */
	if (s->there->abi || s->there->only)
		MPK_TRY(run_table(s, mpk_check_abis, result, err));
	if (s->there->memory)
		MPK_TRY(run_table(s, mpk_check_memory, result, err));
	note_lack(result);
	MPK_TRY(sum_calls(s, err));
	MPK_TRY(read_states(s, err));
	return result->report.failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_code *gpu_code, struct mpk_check_result *result,
			    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_check_state s = {
		.view = view,
		.map = map,
		.there = there,
		.code = gpu_code,
		.arena = arena,
		.report = &result->report,
		.result = result,
	};
	enum mpk_code code;

	result->file = view->name;
	result->there = there;
	if (view->image->has_blob && view->image->prefix[0])
		result->system_prefix = view->image->prefix;
	if (view->image->elf_class) {
		MPK_TRY(mpk_elf_open_mapped(view->image->bytes, view->image->bytes_off, &elf, NULL,
					    err));
		s.elf = &elf;
	}
	code = run_all(&s, result, err);
	mpk_scope_fini(&s.scope);
	mpk_dso_close(&s.file);
	mpk_wants_fini(&s.wants);
	mpk_strmap_fini(&s.lost);
	return code;
}

enum mpk_code mpk_check_gpu_alone(const struct mpk_view *view, const struct mpk_there *there,
				  struct mpk_arena *arena, struct mpk_check_code *code,
				  struct mpk_check_result *result, struct mpk_error *err)
{
	struct mpk_check_state s = {
		.view = view,
		.there = there,
		.code = code,
		.arena = arena,
		.report = &result->report,
		.result = result,
	};

	result->file = view->name;
	result->there = there;
	return run_table(&s, mpk_check_device, result, err);
}
