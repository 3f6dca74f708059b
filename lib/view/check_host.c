/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic linker must find: the machine, glibc, libraries, symbols. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/versions.h"
#include "text/escape.h"
#include "view/check_run.h"
#include "view/verify.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

/* --- machine ---------------------------------------------------------------------------- */

static bool same_machine(const struct mpk_check_state *s)
{
	const struct mpk_image *image = s->view->image;
	const struct mpk_target *t = &s->there->machine;

	return image->machine == t->machine &&
	       image->elf_class == (t->elf_class == ELFCLASS64 ? 64 : 32) &&
	       image->big_endian == (t->elf_data == ELFDATA2MSB);
}

/* Why nothing of the dynamic linker's concerns the file; NULL: it does. */
static const char *not_linked(const struct mpk_check_state *s)
{
	if (!s->elf)
		return "a bare blob has no host code";
	if (s->view->image->container != MPK_CONTAINER_ELF_SO)
		return "it must be linked first";
	return same_machine(s) ? NULL : "it is for another machine";
}

static enum mpk_code check_machine(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	(void)err;
	if (!s->elf)
		*skipped = "a bare blob has no host code";
	else if (!same_machine(s))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it is for %s (%u-bit%s), not for %s: compile it for that target",
			      image->machine_name, image->elf_class,
			      image->big_endian ? ", big-endian" : "", s->there->machine_name);
	return MPK_OK;
}

/* --- linking ----------------------------------------------------------------------------- */

/* What --verify says of it. */
static enum mpk_code check_linking(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	size_t from = s->report->count;

	*skipped = not_linked(s);
	if (*skipped)
		return MPK_OK;
	MPK_TRY(mpk_verify_linking(s->view, s->elf, s->arena, s->report, err));
	for (size_t i = from; i < s->report->count; i++)
		s->report->findings[i].check = s->name;
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

static bool is_above(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor)
{
	return major != than_major ? major > than_major : minor > than_minor;
}

static enum mpk_code check_glibc(struct mpk_check_state *s, const char **skipped,
				 struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	unsigned highest[2] = { 0 }, major, minor;
	const struct mpk_version_need *needs, *worst = NULL;
	size_t count;

	*skipped = not_linked(s);
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
	const char *why = not_linked(s);

	return why ? why : s->there->searchable ? NULL : MPK_CHECK_UNSAID;
}

static const char *place(const struct mpk_there *there)
{
	return there->libs ? "in the directory of --libs" : "on this machine";
}

static void say_missing(struct mpk_check_state *s, const struct mpk_scope_gap *gap)
{
	const char *owner = strcmp(gap->name, "libcuda.so.1") == 0
				    ? ", which NVIDIA's driver installs (with --device-arch or "
				      "--driver it counts as there)"
				    : "";

	mpk_check_say(s, MPK_ERROR, NULL, "%s%s needs %s%s, which is not %s: install it there%s",
		      gap->by ? QUOTED(gap->by->path) : "it", gap->by ? ", which it needs," : "",
		      QUOTED(gap->name), owner, place(s->there),
		      s->there->libs ? ", or copy it there" : "");
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

		if (needs[i].weak || !d || mpk_dso_has_version(d, needs[i].version) ||
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

static bool runtime_defines(const struct mpk_there *there, const char *name)
{
	if (there->has_release && mpk_release_symbol(&there->release, name))
		return true;
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_defines(d, name))
			return true;
	return false;
}

static bool needs_tvm_ffi(const struct mpk_dso *d)
{
	for (size_t i = 0; i < d->needed_count; i++)
		if (strcmp(d->needed[i], "libtvm_ffi.so") == 0)
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
		if (needs_tvm_ffi(d))
			return true;
	return false;
}

static bool names_tvm_ffi(const struct mpk_there *there)
{
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_defines(d, "TVMFFIEnvModRegisterSystemLibSymbol"))
			return true;
	return false;
}

/* Whether a missing name can be told from one that nobody could look for: of releases the names in C
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

static void say_undefined(struct mpk_check_state *s, const char *name, const char *where)
{
	const char *owner = mpk_symbol_owner(name);

	mpk_check_say(s, MPK_ERROR, name,
		      "undefined: %s%s%s; the first call of it ends the process, if it loads at "
		      "all: link what defines it, or load that first",
		      owner ? "it is part of " : "no library there defines it", owner ? owner : "",
		      owner ? where : "");
}

static void check_undefined(struct mpk_check_state *s, const struct mpk_undefined *u)
{
	char where[96];

	if (runtime_defines(s->there, u->name) || implied(s->there, u->name) ||
	    mpk_scope_defines(&s->scope, u->name))
		return;
	if (!is_judged(s, u)) {
		if (s->there->searchable && !mpk_check_is_tvms(u->name) && !u->has_version)
			mpk_check_say(s, MPK_WARNING, u->name,
				      "undefined: no library %s defines it; glibc and libstdc++ "
				      "were not looked at",
				      place(s->there));
		return;
	}
	(void)snprintf(where, sizeof where, ", which is not %s%s",
		       mpk_check_is_tvms(u->name) ? "in " : "",
		       mpk_check_is_tvms(u->name) ? mpk_check_where(s->there) : place(s->there));
	say_undefined(s, u->name, where);
}

static bool hands_over(const struct mpk_check_state *s, const char *name)
{
	return runtime_defines(s->there, name) || implied(s->there, name) ||
	       mpk_scope_defines(&s->scope, name);
}

/* Launch functions that mpack writes look kernels up by whichever of the two names is filled: TVM 0.26
 * has the older one no longer. Code that has both pointers needs one. */
static bool has_other_lookup(const struct mpk_check_state *s, const char *name)
{
	static const char *const lookups[] = { "TVMFFIEnvModLookupFromImports",
					       "TVMBackendGetFuncFromEnv" };
	const struct mpk_image *image = s->view->image;
	const char *other = strcmp(name, lookups[0]) == 0   ? lookups[1]
			    : strcmp(name, lookups[1]) == 0 ? lookups[0]
							    : NULL;

	for (size_t i = 0; other && i < image->context_symbol_count; i++)
		if (strcmp(image->context_symbols[i] + 2, other) == 0)
			return hands_over(s, other);
	return false;
}

/* "__TVMBackendParallelLaunch": a pointer that the runtime fills with its function of that name. */
static void check_pointers(struct mpk_check_state *s)
{
	const struct mpk_image *image = s->view->image;

	for (size_t i = 0; i < image->context_symbol_count; i++) {
		const char *symbol = image->context_symbols[i], *name = symbol + 2;

		if (strncmp(symbol, "__TVM", 5) != 0 || hands_over(s, name) ||
		    has_other_lookup(s, name))
			continue;
		mpk_check_say(
			s, MPK_ERROR, symbol,
			"its code calls %s, which %s cannot hand over: such a call is one of a null "
			"pointer, which ends the process",
			name, mpk_check_where(s->there));
	}
}

static enum mpk_code check_symbol(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_undefined *list;
	size_t count;

	*skipped = not_linked(s);
	if (!*skipped && s->other_format)
		*skipped = "its format is another";
	if (!*skipped && !s->there->searchable && !mpk_check_where(s->there))
		*skipped = MPK_CHECK_UNSAID;
	if (*skipped)
		return MPK_OK;
	MPK_TRY(mpk_versions_undefined(s->elf, s->arena, &list, &count, err));
	for (size_t i = 0; i < count; i++)
		check_undefined(s, &list[i]);
	if (mpk_check_where(s->there))
		check_pointers(s);
	return MPK_OK;
}

const struct mpk_check_row mpk_check_machine[] = {
	{ "machine", NULL, check_machine },
	{ 0 },
};

const struct mpk_check_row mpk_check_host[] = {
	{ "linking", NULL, check_linking },
	{ "glibc", "--glibc", check_glibc },
	{ "library", "--libs", check_library },
	{ "symbol", "--libs, --tvm or --runtime", check_symbol },
	{ 0 },
};
