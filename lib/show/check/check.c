/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the run of --check: which checks there are, what a process there has loaded before the file, and
 * how a check reports */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/internal/run.h"
#include "elf/reader.h"
#include "text/escape.h"

/* --- findings --------------------------------------------------------------------------- */

const char mpk_check_unsaid[] = "not said";

void mpk_check_say_text(struct mpk_check_state *s, enum mpk_severity severity, const char *path,
			const char *text)
{
	struct mpk_strbuf safe = { 0 };
	struct mpk_error e = { 0 };

	/* names of the file were quoted; whatever was not stays text all the same */
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

/* --- what a process there has loaded ---------------------------------------------------- */

/* Of every process with glibc and a runtime in C++; libc.so is musl's, which has all in one. */
static const char *const base[] = { "libc.so.6",       "libm.so.6",  "libdl.so.2",
				    "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
				    "libstdc++.so.6",  "libc.so" };

/* The runtime's own: whoever loads modules has loaded these by then. */
static const char *const tvms[] = { "libtvm_ffi.so", "libtvm_runtime.so", "libtvm.so",
				    "libtvm_compiler.so", "libtvm_runtime_extra.so" };

enum { ASSUMED_MAX = MPK_ARRAY_COUNT(base) + MPK_ARRAY_COUNT(tvms) + 1 };

/* The three fields of an ELF header by which a dynamic linker refuses a library of another
 * machine (ELF gABI, ELF Header). */
static void set_machine(const struct mpk_target *t, GElf_Ehdr *out)
{
	out->e_machine = t->machine;
	out->e_ident[EI_CLASS] = t->elf_class;
	out->e_ident[EI_DATA] = t->elf_data;
}

/* Libraries that count as there without being looked for: the process has loaded them before the
 * file, or the driver's installer puts them there. */
static enum mpk_code set_assumed(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	const char **names = mpk_arena_array(s->arena, ASSUMED_MAX, sizeof *names);
	size_t n = 0;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; there->libs && i < MPK_ARRAY_COUNT(base); i++)
		names[n++] = base[i]; /* a directory of one's own libraries leaves these out */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tvms); i++)
		/* of tvm-ffi alone only its own library is there */
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

/* Whose a symbol is shows in its prefix, for names of C and for mangled ones of C++. TVM's own
 * and those of tvm-ffi count alike. */
bool mpk_check_is_tvms(const char *symbol)
{
	const char *owner = mpk_symbol_owner(symbol);

	return owner && (strcmp(owner, "tvm-ffi") == 0 || strcmp(owner, "TVM's runtime") == 0);
}

/* The scope of a process there, before it loads the file
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code scope_init(struct mpk_check_state *s, struct mpk_error *err)
{
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	s->search = s->there->search;
	set_machine(&s->there->machine, &s->like);
	if (s->elf)
		MPK_TRY(mpk_search_with_runpath(&s->there->search, s->elf, s->view->name, s->arena,
						&s->search, err));
	s->scope = (struct mpk_scope){ .arena = s->arena, .search = &s->search, .like = &s->like };
	MPK_TRY(set_assumed(s, err));
	for (size_t i = 0; s->there->searchable && i < MPK_ARRAY_COUNT(base); i++)
		MPK_TRY(mpk_scope_need(&s->scope, base[i], &state, &gap, err));
	return MPK_OK;
}

/* --- the run ---------------------------------------------------------------------------- */

/* Every row leaves an item, also when it was skipped: a verdict that does not say what it rests
 * on is worth nothing. */
static enum mpk_code run_table(struct mpk_check_state *s, const struct mpk_check_row *rows,
			       struct mpk_check_result *result, struct mpk_error *err)
{
	for (; rows->name; rows++) {
		struct mpk_check_item *item = &result->items[result->item_count++];

		*item = (struct mpk_check_item){ .name = rows->name };
		s->name = rows->name;
		MPK_TRY(rows->run(s, &item->skipped, err));
		if (item->skipped == MPK_CHECK_UNSAID)
			item->option = rows->option;
	}
	return MPK_OK;
}

/* The order matters: what runs later asks what came before, such as whether the format is another
 * or which functions are lost. */
static enum mpk_code run_all(struct mpk_check_state *s, struct mpk_check_result *result,
			     struct mpk_error *err)
{
	MPK_TRY(scope_init(s, err));
	MPK_TRY(run_table(s, mpk_check_machine, result, err));
	MPK_TRY(run_table(s, mpk_check_runtime, result, err));
	MPK_TRY(run_table(s, mpk_check_host, result, err));
	MPK_TRY(run_table(s, mpk_check_function, result, err));
	MPK_TRY(run_table(s, mpk_check_device, result, err));
	MPK_TRY(mpk_check_sum_calls(s, err));
	return result->report.failed ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_check_run(const struct mpk_view *view, const struct mpk_mapping *map,
			    const struct mpk_there *there, struct mpk_arena *arena,
			    struct mpk_check_result *result, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_check_state s = {
		.view = view,
		.map = map,
		.there = there,
		.arena = arena,
		.report = &result->report,
		.result = result,
	};
	enum mpk_code code;

	if (view->image->elf_class) {
		MPK_TRY(mpk_elf_open(view->image->bytes, view->image->bytes_off, &elf, err));
		s.elf = &elf;
	}
	code = run_all(&s, result, err);
	mpk_scope_fini(&s.scope);
	mpk_wants_fini(&s.wants);
	mpk_strmap_fini(&s.lost);
	return code;
}
