/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic linker must find: the machine, glibc, libraries, symbols. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/internal/run.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "text/escape.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

/* --- machine ---------------------------------------------------------------------------- */

/* Machine, word size and byte order: e_machine alone is not enough, as x32 has that of x86-64. */
static bool same_machine(const struct mpk_check_state *s)
{
	const struct mpk_image *image = s->view->image;
	const struct mpk_target *t = &s->there->machine;

	return image->machine == t->machine &&
	       image->elf_class == (t->elf_class == ELFCLASS64 ? 64 : 32) &&
	       image->big_endian == (t->elf_data == ELFDATA2MSB);
}

static const char *no_elf(const struct mpk_image *image)
{
	return image->format == MPK_FILE_BLOB     ? "a bare blob has no host code"
	       : image->format == MPK_FILE_DEVICE ? "GPU code by itself has no host code"
						  : "it is no ELF file";
}

const char *mpk_check_not_linked(const struct mpk_check_state *s)
{
	if (!s->elf)
		return no_elf(s->view->image);
	if (s->view->image->container != MPK_CONTAINER_ELF_SO)
		return "it must be linked first";
	return same_machine(s) ? NULL : "it is for another machine";
}

/* Mach-O and COFF come from cross compilers, and are said by name, since "not an ELF file" would
 * not help who built them. */
static enum mpk_code check_machine(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	(void)err;
	if (!s->elf && (image->format == MPK_FILE_MACHO || image->format == MPK_FILE_COFF ||
			image->format == MPK_FILE_PE))
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it is a %s file, not one of ELF, which is what Linux loads: compile it "
			"for that target",
			image->format == MPK_FILE_MACHO ? "Mach-O" : "Windows");
	else if (!s->elf)
		*skipped = image->container == MPK_CONTAINER_C ? "it is not compiled yet"
							       : no_elf(image);
	else if (!same_machine(s))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it is for %s (%u-bit%s), not for %s: compile it for that target",
			      image->machine_name, image->elf_class,
			      image->big_endian ? ", big-endian" : "", s->there->machine_name);
	return MPK_OK;
}

/* --- glibc ------------------------------------------------------------------------------ */

/* "GLIBC_2.34" as numbers; GLIBC_ABI_DT_RELR came with 2.36. */
static bool parse_glibc(const char *version, unsigned *major, unsigned *minor)
{
	char *end;

	if (strcmp(version, "GLIBC_ABI_DT_RELR") == 0) {
		*major = 2;
		*minor = 36;
		return true;
	}
	if (strncmp(version, "GLIBC_", 6) != 0 || version[6] < '0' || version[6] > '9')
		return false;
	*major = (unsigned)strtoul(version + 6, &end, 10);
	*minor = *end == '.' ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
	return true;
}

/* As numbers and not as texts: 2.4 is below 2.34. */
static bool is_above(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor)
{
	return major != than_major ? major > than_major : minor > than_minor;
}

/* Only the highest version is reported: all others follow from it. Weak needs are ignored,
 * since the dynamic linker does not fail for them. */
static enum mpk_code check_glibc(struct mpk_check_state *s, const char **skipped,
				 struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	unsigned highest[2] = { 0 }, major, minor;
	const struct mpk_version_need *needs, *worst = NULL;
	size_t count;

	*skipped = mpk_check_not_linked(s);
	if (!*skipped && !there->glibc_major)
		*skipped = MPK_CHECK_UNSAID;
	if (*skipped)
		return MPK_OK;
	MPK_TRY(mpk_versions_needed(s->elf, s->arena, &needs, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (needs[i].weak || !parse_glibc(needs[i].version, &major, &minor) ||
		    !is_above(major, minor, highest[0], highest[1]))
			continue;
		highest[0] = major;
		highest[1] = minor;
		worst = &needs[i];
	}
	if (worst && is_above(highest[0], highest[1], there->glibc_major, there->glibc_minor))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it needs %s of %s, and glibc %u.%u is there: link it on a system "
			      "with glibc %u.%u or older",
			      QUOTED(worst->version), QUOTED(worst->file), there->glibc_major,
			      there->glibc_minor, there->glibc_major, there->glibc_minor);
	return MPK_OK;
}

/* --- libraries -------------------------------------------------------------------------- */

/* Why libraries cannot be looked at; NULL: they can. */
static const char *not_searched(const struct mpk_check_state *s)
{
	const char *why = mpk_check_not_linked(s);

	return why ? why : s->there->searchable ? NULL : MPK_CHECK_UNSAID;
}

static void say_missing(struct mpk_check_state *s, const struct mpk_scope_gap *gap)
{
	const char *owner = strcmp(gap->name, "libcuda.so.1") == 0
				    ? ", which NVIDIA's driver installs (with --device-arch or "
				      "--driver it counts as there)"
				    : "";

	mpk_check_say(s, MPK_ERROR, NULL, "%s%s needs %s%s, which is not %s: install it there%s",
		      gap->by ? QUOTED(gap->by->path) : "it", gap->by ? ", which it needs," : "",
		      QUOTED(gap->name), owner, mpk_check_place(s->there),
		      s->there->libs ? ", or copy it there" : "");
}

/* Version names are few: a list is searched. */
static bool dso_has_version(const struct mpk_dso *dso, const char *version)
{
	for (size_t i = 0; i < dso->version_count; i++)
		if (strcmp(dso->versions[i], version) == 0)
			return true;
	return false;
}

/* Versions of symbols beside glibc's, such as GLIBCXX_3.4.32, that a library has not. */
static enum mpk_code check_versions(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_version_need *needs;
	unsigned major, minor;
	size_t count;

	MPK_TRY(mpk_versions_needed(s->elf, s->arena, &needs, &count, err));
	for (size_t i = 0; i < count; i++) {
		const struct mpk_dso *d = mpk_scope_dso(&s->scope, needs[i].file);

		if (needs[i].weak || !d || dso_has_version(d, needs[i].version) ||
		    parse_glibc(needs[i].version, &major, &minor))
			continue;
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it needs version %s of %s, which %s has not: link it with an older "
			      "toolchain, or install a newer library there",
			      QUOTED(needs[i].version), QUOTED(needs[i].file), QUOTED(d->path));
	}
	return MPK_OK;
}

static enum mpk_code check_library(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;
	enum mpk_scope_state state;
	struct mpk_scope_gap gap;

	*skipped = not_searched(s);
	if (*skipped)
		return MPK_OK;
	for (size_t i = 0; i < image->needed_count; i++) {
		MPK_TRY(mpk_scope_need(&s->scope, image->needed[i], &state, &gap, err));
		if (state == MPK_SCOPE_MISSING)
			say_missing(s, &gap);
	}
	return check_versions(s, err);
}

/* --- symbols ---------------------------------------------------------------------------- */

/* Symbols of a release come from a table, so that no TVM has to be installed; those of named
 * libraries are read. */
static bool runtime_defines(const struct mpk_there *there, const char *name)
{
	if (there->has_release && mpk_release_symbol(&there->release, name))
		return true;
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_defines(d, name))
			return true;
	return false;
}

/* A named library that needs libtvm_ffi.so brings it: its names are those of the newest that is known,
 * unless it is named too. */
static bool implied(const struct mpk_there *there, const char *name)
{
	struct mpk_release newest;

	if (!mpk_release_parse("ffi", &newest) || !mpk_release_symbol(&newest, name))
		return false;
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_check_needs_ffi(d))
			return true;
	return false;
}

/* Whether libtvm_ffi.so is among the named libraries, by a function of its C API. */
static bool names_tvm_ffi(const struct mpk_there *there)
{
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_defines(d, "TVMFFIEnvModRegisterSystemLibSymbol"))
			return true;
	return false;
}

/* Whether a missing name can be distinguished from one that nobody could look for: of releases the names in C
 * are known, those in C++ only of libraries that were read. Where some library counts as there unseen,
 * a name may be its: one with a version is, and one without is when versions are used at all. */
static bool is_judged(const struct mpk_check_state *s, const struct mpk_undefined *u)
{
	if (mpk_check_is_tvms(u->name) && strncmp(u->name, "_Z", 2) == 0)
		return !s->there->has_release && names_tvm_ffi(s->there);
	if (mpk_check_is_tvms(u->name))
		return mpk_check_where(s->there) != NULL;
	return s->there->searchable && (!s->scope.guessed || (u->any_version && !u->has_version));
}

/* The symbols whose places the dynamic linker fills at once, in words of bits: it does not load a file that lacks
 * one of them. Places of functions that are called it may leave until the first call. */
struct eager {
	uint8_t *bits;
	size_t count;
	bool all;
};

static void check_host_take_relocation(void *arg, const struct mpk_relocation *r)
{
	struct eager *e = arg;

	if (!r->is_lazy && r->symbol < e->count)
		e->bits[r->symbol / 8] |= (uint8_t)(1u << r->symbol % 8);
}

/* One bit a symbol: the table of symbols can be as large as the file. */
static enum mpk_code read_eager(struct mpk_check_state *s, struct eager *out, struct mpk_error *err)
{
	struct mpk_symtab symbols;
	struct mpk_linking l;

	MPK_TRY(mpk_linking_open(s->elf, &l, err));
	MPK_TRY(mpk_symtab_loaded(s->elf, &symbols, err));
	*out = (struct eager){ .count = symbols.count, .all = mpk_linking_binds_now(&l) };
	out->bits = mpk_arena_array(s->arena, out->count / 8 + 1, 1);
	MPK_TRY_ALLOC(out->bits, err);
	return mpk_linking_relocations(&l, check_host_take_relocation, out, err);
}

/* Of a file whose tables do not read, which the check of linking tells, all are. */
static enum mpk_code find_eager(struct mpk_check_state *s, struct eager *out, struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	enum mpk_code code = read_eager(s, out, &problem);

	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	out->all |= code != MPK_OK;
	return MPK_OK;
}

static bool is_eager(const struct eager *e, const struct mpk_undefined *u)
{
	return e->all || u->index >= e->count || e->bits[u->index / 8] >> u->index % 8 & 1;
}

/* What code calls to say what is wrong with its arguments: as long as nothing is, it is not called. */
static bool is_raiser(const char *name)
{
	return strncmp(name, "TVMFFIErrorSetRaised", 20) == 0 ||
	       strcmp(name, "TVMAPISetLastError") == 0;
}

/* Three cases: nothing but an error message is lost, functions fail when called, or the library
 * does not load. */
static enum mpk_code say_undefined(struct mpk_check_state *s, const struct mpk_undefined *u,
				   const char *where, bool eager, struct mpk_error *err)
{
	const char *owner = mpk_symbol_owner(u->name);
	char what[256];

	(void)snprintf(what, sizeof what, "%s%s%s: link what defines it, or load that first",
		       owner ? "it is part of " : "no library there defines it", owner ? owner : "",
		       owner ? where : "");
	if (!eager && is_raiser(u->name)) {
		mpk_check_say(
			s, MPK_WARNING, u->name,
			"undefined, so that an error which the code raises ends the process: %s",
			what);
		return MPK_OK;
	}
	if (!eager)
		return mpk_check_say_want(s, MPK_WANT_SYMBOL, u->name, err,
					  "the code calls %s, which is undefined; %s",
					  QUOTED(u->name), what);
	mpk_check_say(s, MPK_ERROR, u->name, "undefined: %s", what);
	return MPK_OK;
}

/* Whether a library that was read does. */
static bool scope_defines(const struct mpk_scope *scope, const char *symbol)
{
	for (const struct mpk_dso *d = scope->first; d; d = d->next)
		if (mpk_dso_defines(d, symbol))
			return true;
	return false;
}

/* A symbol that nobody can judge is at most a warning, and only where libraries were looked at:
 * an error must be certain. */
static enum mpk_code check_undefined(struct mpk_check_state *s, const struct mpk_undefined *u,
				     const struct eager *eager, struct mpk_error *err)
{
	char where[96];

	if (runtime_defines(s->there, u->name) || implied(s->there, u->name) ||
	    scope_defines(&s->scope, u->name))
		return MPK_OK;
	if (!is_judged(s, u)) {
		if (s->there->searchable && !mpk_check_is_tvms(u->name) && !u->has_version)
			mpk_check_say(s, MPK_WARNING, u->name,
				      "undefined: no library %s defines it; glibc and libstdc++ "
				      "were not looked at",
				      mpk_check_place(s->there));
		return MPK_OK;
	}
	(void)snprintf(
		where, sizeof where, ", which is not %s%s", mpk_check_is_tvms(u->name) ? "in " : "",
		mpk_check_is_tvms(u->name) ? mpk_check_where(s->there) : mpk_check_place(s->there));
	return say_undefined(s, u, where, is_eager(eager, u), err);
}

/* Whether the runtime fills the pointer of that name, which the initializers of its library point at by theirs. */
static enum mpk_code hands_over(struct mpk_check_state *s, const char *name, bool *out,
				struct mpk_error *err)
{
	char pointer[128];

	(void)snprintf(pointer, sizeof pointer, "__%s", name);
	*out = s->there->has_release && mpk_release_fills(&s->there->release, name);
	for (struct mpk_dso *d = s->there->runtimes; !*out && d; d = d->next) {
		MPK_TRY(mpk_dso_read_globals(d, err));
		*out = d->globals_known ? mpk_dso_registers(d, mpk_span_str(pointer))
					: mpk_dso_defines(d, name);
	}
	return MPK_OK;
}

/* Launch functions that mpack writes look kernels up by whichever of the two names is filled: TVM 0.26
 * has the older one no longer. Code that has both pointers needs one. */
static enum mpk_code has_other_lookup(struct mpk_check_state *s, const char *name, bool *out,
				      struct mpk_error *err)
{
	static const char *const lookups[] = { "TVMFFIEnvModLookupFromImports",
					       "TVMBackendGetFuncFromEnv" };
	const struct mpk_image *image = s->view->image;
	const char *other = strcmp(name, lookups[0]) == 0   ? lookups[1]
			    : strcmp(name, lookups[1]) == 0 ? lookups[0]
							    : NULL;

	*out = false;
	for (size_t i = 0; other && i < image->context_symbol_count; i++)
		if (strcmp(image->context_symbols[i] + 2, other) == 0)
			return hands_over(s, other, out, err);
	return MPK_OK;
}

enum { POINTERS_SEARCHED = 100 };

/* Whether no code of the library, all of which was searched, takes what is in a pointer. */
static enum mpk_code is_unused(struct mpk_check_state *s, const char *symbol, bool *out,
			       struct mpk_error *err)
{
	const struct mpk_wants *w = &s->wants;

	MPK_TRY(mpk_check_read_wants(s, err));
	*out = w->reach.count && w->count < w->most;
	for (size_t i = 0; *out && i < w->count; i++)
		*out = w->items[i].kind != MPK_WANT_SYMBOL || strcmp(w->items[i].name, symbol) != 0;
	return MPK_OK;
}

/* "__TVMBackendParallelLaunch": a pointer that the runtime fills with its function of that name. */
static enum mpk_code check_pointers(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	for (size_t i = 0; i < image->context_symbol_count; i++) {
		const char *symbol = image->context_symbols[i], *name = symbol + 2;
		bool filled = strncmp(symbol, "__TVM", 5) != 0;

		if (!filled)
			MPK_TRY(hands_over(s, name, &filled, err));
		if (!filled)
			MPK_TRY(has_other_lookup(s, name, &filled, err));
		/* TVM has a dozen; each is looked for in all that code wants */
		if (!filled && i < POINTERS_SEARCHED)
			MPK_TRY(is_unused(s, symbol, &filled, err));
		if (filled)
			continue;
		if (is_raiser(name)) {
			mpk_check_say(s, MPK_WARNING, symbol,
				      "%s cannot hand over %s, so that an error which the code "
				      "raises ends the process",
				      mpk_check_where(s->there), QUOTED(name));
			continue;
		}
		MPK_TRY(mpk_check_say_want(
			s, MPK_WANT_SYMBOL, symbol, err,
			"the code calls %s, which %s cannot hand over: such a call is one of a null "
			"pointer, which ends the process",
			QUOTED(name), mpk_check_where(s->there)));
	}
	return MPK_OK;
}

/* Undefined symbols are the dynamic linker's; the pointers __TVM... are filled by the runtime
 * afterwards and need one that was named. */
static enum mpk_code check_symbol(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_undefined *list;
	struct eager eager = { 0 };
	size_t count;

	*skipped = mpk_check_not_linked(s);
	if (!*skipped && s->other_format)
		*skipped = "its format is another";
	if (!*skipped && s->view->image->executor)
		*skipped = "it brings its own runtime";
	if (!*skipped && !s->there->searchable && !mpk_check_where(s->there))
		*skipped = MPK_CHECK_UNSAID;
	if (*skipped)
		return MPK_OK;
	MPK_TRY(mpk_versions_undefined(s->elf, s->arena, &list, &count, err));
	MPK_TRY(find_eager(s, &eager, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY(check_undefined(s, &list[i], &eager, err));
	return mpk_check_where(s->there) ? check_pointers(s, err) : MPK_OK;
}

const struct mpk_check_row mpk_check_machine[] = {
	{ "machine", NULL, check_machine },
	{ 0 },
};

const struct mpk_check_row mpk_check_host[] = {
	{ "glibc", "--glibc", check_glibc },
	{ "library", "--libs", check_library },
	{ "symbol", "--libs, --tvm or --runtime", check_symbol },
	{ 0 },
};
