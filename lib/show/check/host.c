/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the dynamic linker needs: the machine, glibc, libraries, symbols. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/internal/run.h"
#include "elf/linking.h"
#include "elf/symbols.h"
#include "io/path.h"
#include "text/escape.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

/* --- machine ---------------------------------------------------------------------------- */

/* Compares machine, word size and byte order: e_machine is not enough, since x32 has that of
 * x86-64. */
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

/* Mach-O and COFF files come from cross compilers. The message names the format, since "not an ELF
 * file" would not help the user. */
static enum mpk_code check_machine(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	const struct mpk_image *image = s->view->image;

	(void)err;
	if (!s->elf && (image->format == MPK_FILE_MACHO || image->format == MPK_FILE_COFF ||
			image->format == MPK_FILE_PE || image->format == MPK_FILE_WASM))
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it is a %s file, not one of ELF, which is what Linux loads: compile it "
			"for that target",
			image->format == MPK_FILE_MACHO  ? "Mach-O"
			: image->format == MPK_FILE_WASM ? "WebAssembly"
							 : "Windows");
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

/* Parses "GLIBC_2.34" into numbers; GLIBC_ABI_DT_RELR came with 2.36. */
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

/* Versions are compared as numbers, not as texts: 2.4 is below 2.34. */
static bool is_above(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor)
{
	return major != than_major ? major > than_major : minor > than_minor;
}

/* Only the highest version is reported: it includes all lower ones. Weak version needs are ignored,
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

/* Returns why libraries cannot be searched; NULL if they can. */
static const char *not_searched(const struct mpk_check_state *s)
{
	const char *why = mpk_check_not_linked(s);

	return why ? why : s->there->searchable ? NULL : MPK_CHECK_UNSAID;
}

/* Reports a missing library once, however many of the file's symbols come from it.
 * @symbols number of symbols that no other present library defines */
static void say_missing(struct mpk_check_state *s, const struct mpk_scope_gap *gap, size_t symbols)
{
	const char *owner = strcmp(gap->name, "libcuda.so.1") == 0
				    ? ", which NVIDIA's driver installs (with --device-arch or "
				      "--driver it counts as present)"
				    : "";
	bool direct = gap->by == &s->file;
	char count[64] = "";

	if (symbols)
		(void)snprintf(count, sizeof count, "; %zu symbol%s %s" MPK_CHECK_NOWHERE_ELSE,
			       symbols, symbols == 1 ? "" : "s", symbols == 1 ? "is" : "are");
	mpk_check_say(s, MPK_ERROR, NULL, "%s%s needs %s%s, which is not %s: install it there%s%s",
		      direct ? "it" : QUOTED(gap->by->path), direct ? "" : ", which it needs,",
		      QUOTED(gap->name), owner, mpk_check_place(s->there),
		      s->there->libs ? ", or copy it there" : "", count);
}

/* Reports symbol versions that a library lacks. The glibc check covers those that the file itself
 * needs of glibc. */
static enum mpk_code check_versions(struct mpk_check_state *s, struct mpk_error *err)
{
	const struct mpk_unversioned *list;
	unsigned major, minor;
	size_t count;

	MPK_TRY(mpk_scope_versions(&s->scope, &list, &count, err));
	for (size_t i = 0; i < count; i++) {
		bool direct = list[i].by == &s->file;

		if (direct && parse_glibc(list[i].version, &major, &minor))
			continue;
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"%s%s needs version %s of %s, which %s has not: link it with an older "
			"toolchain, or install a newer library there",
			direct ? "it" : QUOTED(list[i].by->path), direct ? "" : ", which it needs,",
			QUOTED(list[i].version), QUOTED(mpk_path_name(list[i].of->path)),
			QUOTED(list[i].of->path));
	}
	return MPK_OK;
}

/* Reports a library that is present but that dlopen refuses. */
static enum mpk_code check_needed(struct mpk_check_state *s, const struct mpk_dso *d,
				  struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	struct mpk_linking l;

	if (!d->is_new)
		return MPK_OK;
	if (mpk_linking_open(&d->elf, &l, &problem) != MPK_OK)
		return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
	if (mpk_linking_refusal(&l))
		mpk_check_say(s, MPK_ERROR, NULL, "%s, which it needs, %s", QUOTED(d->path),
			      mpk_linking_refusal(&l));
	return MPK_OK;
}

static enum mpk_code check_library(struct mpk_check_state *s, const char **skipped,
				   struct mpk_error *err)
{
	*skipped = not_searched(s);
	if (*skipped)
		return MPK_OK;
	for (const struct mpk_dso *d = s->scope.first; d; d = d->next)
		MPK_TRY(check_needed(s, d, err));
	/* with several missing libraries, it is unknown which one has the symbols */
	for (size_t i = 0; i < s->scope.missing_count; i++)
		say_missing(s, &s->scope.missing[i], i ? 0 : s->unbound_count);
	return check_versions(s, err);
}

/* --- symbols ---------------------------------------------------------------------------- */

/* The symbols of a release come from a table, so TVM need not be installed. The symbols of named
 * libraries are read. */
static bool runtime_defines(const struct mpk_there *there, const struct mpk_unbound *u)
{
	if (there->has_release && mpk_release_symbol(&there->release, u->name))
		return true;
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_binds(d, u->name, u->version))
			return true;
	return false;
}

/* A named library that needs libtvm_ffi.so implies it: unless the user names that library too, its
 * symbols are those of the newest known version. */
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

/* Whether libtvm_ffi.so is among the named libraries; a function of its C API tells. */
static bool names_tvm_ffi(const struct mpk_there *there)
{
	for (const struct mpk_dso *d = there->runtimes; d; d = d->next)
		if (mpk_dso_defines(d, "TVMFFIEnvModRegisterSystemLibSymbol"))
			return true;
	return false;
}

static bool hosts_provide(const struct mpk_there *there, const struct mpk_unbound *u)
{
	for (const struct mpk_dso *d = there->hosts; d; d = d->next)
		if (mpk_dso_binds(d, u->name, u->version))
			return true;
	for (size_t i = 0; i < there->provided_count; i++)
		if (fnmatch(there->provided[i], u->name, 0) == 0)
			return true;
	return false;
}

/* Whether the target itself defines a symbol: the named release, the libraries it has loaded, or
 * the interpreter that imports an extension, and so a plug-in that needs it. */
bool mpk_check_provided(const struct mpk_check_state *s, const struct mpk_unbound *u)
{
	return hosts_provide(s->there, u) || runtime_defines(s->there, u) ||
	       implied(s->there, u->name) || (s->is_pythons && mpk_python_symbol(u->name, NULL));
}

/* What can be said of a symbol that no present library defines. */
enum judgement {
	MPK_CHECK_JUDGED, /* it is missing */
	MPK_CHECK_UNSEEN, /* it may be in a library that could not be read, which is reported */
	/* the same, but not reported: the version is compared instead, or the user has to name the
	 * runtime */
	MPK_CHECK_UNKNOWN,
};

static bool is_cxx(const char *name)
{
	return strncmp(name, "_Z", 2) == 0;
}

/* Whether all TVM libraries that the file needs were read, and libtvm_ffi.so is among them.
 * @ffi     ask about libtvm_ffi.so; false: ask about any other TVM library */
static bool has_read_tvms(const struct mpk_check_state *s, bool ffi)
{
	bool found = false;

	for (const struct mpk_dso *d = s->scope.first; d; d = d->next) {
		found |= mpk_check_is_runtime(d->soname ? d->soname : mpk_path_name(d->path)) &&
			 (strcmp(mpk_path_name(d->path), "libtvm_ffi.so") == 0) == ffi;
		for (size_t i = 0; i < d->needed_count; i++)
			if (mpk_check_is_runtime(d->needed[i]) &&
			    !mpk_scope_dso(&s->scope, d->needed[i]))
				return false;
	}
	for (size_t i = 0; i < s->file.needed_count; i++)
		if (mpk_check_is_runtime(s->file.needed[i]) &&
		    !mpk_scope_dso(&s->scope, s->file.needed[i]))
			return false;
	return found;
}

/* A release table has the C symbols; C++ symbols are known only for libraries that were read. If a
 * library counts as present without being read, it may define the symbol, unless the symbol has no
 * version and the file uses versions.
 * @library receives the library that could not be read */
static enum judgement judge(const struct mpk_check_state *s, const struct mpk_unbound *u,
			    const char **library)
{
	const char *owner = mpk_symbol_owner(u->name);
	bool ffi = owner && strcmp(owner, "tvm-ffi") == 0;

	if (mpk_check_is_tvms(u->name)) {
		if (has_read_tvms(s, ffi) ||
		    (is_cxx(u->name) ? !s->there->has_release && names_tvm_ffi(s->there)
				     : mpk_check_where(s->there) != NULL))
			return MPK_CHECK_JUDGED;
		/* a process that loads modules has loaded these; other processes may not have */
		if (!s->is_module && !mpk_check_where(s->there) && s->there->searchable)
			return MPK_CHECK_JUDGED;
		*library = ffi ? "libtvm_ffi.so" : "libtvm_runtime.so";
		return is_cxx(u->name) ? MPK_CHECK_UNSEEN : MPK_CHECK_UNKNOWN;
	}
	if (!s->there->searchable)
		return MPK_CHECK_UNKNOWN;
	if (u->version && u->version->file)
		return mpk_scope_dso(&s->scope, u->version->file) ? MPK_CHECK_JUDGED
								  : MPK_CHECK_UNKNOWN;
	return !s->scope.guessed || u->by->versions.count ? MPK_CHECK_JUDGED : MPK_CHECK_UNKNOWN;
}

/* Whether a function only reports wrong arguments: it is not called as long as the arguments are
 * right. */
static bool is_raiser(const char *name)
{
	return strncmp(name, "TVMFFIErrorSetRaised", 20) == 0 ||
	       strcmp(name, "TVMAPISetLastError") == 0;
}

/* Returns the library with the symbols of tvm-ffi, or of TVM's runtime; NULL if it was not read. */
static const struct mpk_dso *tvms_dso(const struct mpk_check_state *s, bool ffi)
{
	static const char *const names[] = { "libtvm_runtime.so", "libtvm.so", "libtvm_ffi.so" };

	for (size_t i = ffi ? 2 : 0; i < (ffi ? 3 : 2); i++) {
		const struct mpk_dso *d = mpk_scope_dso(&s->scope, names[i]);

		if (d)
			return d;
		for (d = s->there->runtimes; d; d = d->next)
			if (strcmp(mpk_path_name(d->path), names[i]) == 0)
				return d;
	}
	return NULL;
}

/* UNDEFINED_SAID symbols are listed, further ones only counted. */
enum { UNDEFINED_SAID = 8, REPEATS_SEARCHED = 256 };

/* Undefined symbols of one owner, or all that a needed library lacks, reported as one finding. */
struct owned {
	/* owner: NULL if unknown; then the symbols are those that a needed library lacks */
	const char *owner, *names[2];
	const struct mpk_unbound *first;
	size_t count;
	bool is_lazy;
};

enum { OWNERS = 12 };

struct undefined {
	size_t errors; /* symbols without an owner that keep the file from loading */
	size_t unseen_ffi, unseen_tvm;
	struct owned owned[OWNERS];
	size_t owned_count;
};

/* Writes what is wrong with a symbol. */
static void put_lack(const struct mpk_check_state *s, const struct mpk_unbound *u, char *out,
		     size_t size)
{
	const char *owner = mpk_symbol_owner(u->name);
	bool tvms = mpk_check_is_tvms(u->name), named = tvms && mpk_check_where(s->there);
	const struct mpk_dso *read =
		tvms && owner ? tvms_dso(s, strcmp(owner, "tvm-ffi") == 0) : NULL;
	char version[128] = "";

	if (u->version)
		(void)snprintf(version, sizeof version, "version %s; ", QUOTED(u->version->name));
	if (read)
		(void)snprintf(
			out, size,
			"part of %s, which %s lacks: install the release of it that this was built with",
			owner, QUOTED(read->path));
	else if (owner)
		(void)snprintf(
			out, size,
			"part of %s, which is not %s%s: link what defines it, or load that first",
			owner, named ? "in " : "",
			named ? mpk_check_where(s->there) : mpk_check_place(s->there));
	else
		(void)snprintf(
			out, size,
			"%sno library there defines it: link what defines it, or load that first",
			version);
}

/* Adds a symbol to those of its owner, or of the library that lacks it. Returns false if it has no
 * owner or there are too many owners. */
static bool take_owned(struct undefined *n, const struct mpk_check_state *s,
		       const struct mpk_unbound *u)
{
	const char *owner = mpk_symbol_owner(u->name);
	struct owned *o = n->owned;

	if (!owner && u->by == &s->file)
		return false;
	while (o < n->owned + n->owned_count &&
	       (o->first->by != u->by || strcmp(o->owner ? o->owner : "", owner ? owner : "") != 0))
		o++;
	if (o == n->owned + OWNERS)
		return false;
	if (o == n->owned + n->owned_count) {
		*o = (struct owned){ .owner = owner, .first = u, .is_lazy = true };
		n->owned_count++;
	}
	if (o->count < MPK_ARRAY_COUNT(o->names))
		o->names[o->count] = u->name;
	o->count++;
	o->is_lazy &= u->is_lazy;
	return true;
}

#define BINDS_AT_ONCE "Python, ctypes and others that bind at once (RTLD_NOW) refuse it"

/* Writes "a", "a and b" or "a, b and 3 more". */
static void put_which(const struct owned *o, char *out, size_t size)
{
	if (o->count == 1)
		(void)snprintf(out, size, "%s", QUOTED(o->names[0]));
	else if (o->count == 2)
		(void)snprintf(out, size, "%s and %s", QUOTED(o->names[0]), QUOTED(o->names[1]));
	else
		(void)snprintf(out, size, "%s, %s and %zu more", QUOTED(o->names[0]),
			       QUOTED(o->names[1]), o->count - 2);
}

/* Reports a needed library that calls a missing function. It fails at once if all symbols are bound
 * at load time. */
static enum mpk_code say_of_needed(struct mpk_check_state *s, const struct owned *o,
				   const char *which, const char *what, struct mpk_error *err)
{
	const char *path = o->first->by->path, *name = o->first->name;

	if (o->is_lazy)
		return mpk_check_say_call(
			s, s->is_module && !s->is_extension ? MPK_WARNING : MPK_ERROR, err,
			o->count > 1 ? "%s, which it needs, calls %s, which are undefined; %s"
				     : "%s, which it needs, calls %s, which is undefined; %s",
			QUOTED(path), which, what);
	if (o->count > 1)
		mpk_check_say(s, MPK_ERROR, NULL,
			      "%zu symbols are undefined in %s, which it needs, %s: %s", o->count,
			      QUOTED(path), which, what);
	else
		mpk_check_say(s, MPK_ERROR, name, "undefined in %s, which it needs: %s",
			      QUOTED(path), what);
	return MPK_OK;
}

static enum mpk_code say_owned(struct mpk_check_state *s, const struct owned *o,
			       struct mpk_error *err)
{
	char what[600], which[300];

	put_lack(s, o->first, what, sizeof what);
	put_which(o, which, sizeof which);
	if (o->first->by != &s->file)
		return say_of_needed(s, o, which, what, err);
	if (o->count == 1 && !o->is_lazy) {
		mpk_check_say(s, MPK_ERROR, o->first->name, "undefined: it is %s", what);
		return MPK_OK;
	}
	if (o->count == 1)
		return mpk_check_say_call(s, MPK_ERROR, err,
					  "it calls %s, which is undefined, and " BINDS_AT_ONCE
					  "; it is %s",
					  QUOTED(o->first->name), what);
	if (o->is_lazy)
		return mpk_check_say_call(
			s, MPK_ERROR, err,
			"it calls %zu functions which are undefined, and " BINDS_AT_ONCE
			": %s; they are %s",
			o->count, which, what);
	mpk_check_say(s, MPK_ERROR, NULL, "%zu symbols are undefined: %s; they are %s", o->count,
		      which, what);
	return MPK_OK;
}

static enum mpk_code say_one_of_needed(struct mpk_check_state *s, const struct mpk_unbound *u,
				       const char *what, struct mpk_error *err)
{
	const struct owned one = {
		.first = u, .names = { u->name }, .count = 1, .is_lazy = u->is_lazy
	};

	return say_of_needed(s, &one, QUOTED(u->name), what, err);
}

/* Three cases: only an error message is lost, functions fail when called, or the library does not
 * load. TVM and tvm-ffi bind modules lazily; Python binds all symbols of an extension at once. */
static enum mpk_code say_undefined(struct mpk_check_state *s, const struct mpk_unbound *u,
				   struct undefined *n, struct mpk_error *err)
{
	const char *it = mpk_symbol_owner(u->name) ? "it is " : "";
	char what[600];

	put_lack(s, u, what, sizeof what);
	if (u->by != &s->file)
		return take_owned(n, s, u) ? MPK_OK : say_one_of_needed(s, u, what, err);
	if (u->is_lazy && is_raiser(u->name)) {
		mpk_check_say(
			s, MPK_WARNING, u->name,
			"undefined, so that an error which the code raises ends the process: %s%s",
			it, what);
		return MPK_OK;
	}
	if (u->is_lazy && s->is_module && !s->is_extension)
		return mpk_check_say_want(s, MPK_WANT_SYMBOL, u->name, err,
					  "the code calls %s, which is undefined; %s%s",
					  QUOTED(u->name), it, what);
	if (take_owned(n, s, u) || n->errors++ >= UNDEFINED_SAID)
		return MPK_OK;
	if (u->is_lazy)
		return mpk_check_say_call(s, MPK_ERROR, err,
					  "it calls %s, which is undefined, and " BINDS_AT_ONCE
					  "; %s",
					  QUOTED(u->name), what);
	mpk_check_say(s, MPK_ERROR, u->name, "undefined: %s%s", it, what);
	return MPK_OK;
}

/* A symbol whose library could not be read is at most a warning, and only if libraries were
 * searched: an error must be certain. */
static enum mpk_code check_undefined(struct mpk_check_state *s, const struct mpk_unbound *u,
				     struct undefined *n, struct mpk_error *err)
{
	const char *library = NULL;

	switch (judge(s, u, &library)) {
	case MPK_CHECK_JUDGED:
		return say_undefined(s, u, n, err);
	case MPK_CHECK_UNSEEN:
		n->unseen_ffi += strcmp(library, "libtvm_ffi.so") == 0;
		n->unseen_tvm += strcmp(library, "libtvm_ffi.so") != 0;
		return MPK_OK;
	case MPK_CHECK_UNKNOWN:
		break;
	}
	if (s->there->searchable && !mpk_check_is_tvms(u->name) && !u->version && u->by == &s->file)
		mpk_check_say(s, MPK_WARNING, u->name,
			      "undefined: no library %s defines it; glibc and libstdc++ "
			      "were not looked at",
			      mpk_check_place(s->there));
	return MPK_OK;
}

static enum mpk_code leave_unseen(struct mpk_check_state *s, const struct undefined *n,
				  struct mpk_error *err)
{
	const char *part = NULL;

	if (n->unseen_ffi)
		part = mpk_arena_printf(s->arena, "%zu C++ symbol%s of libtvm_ffi.so",
					n->unseen_ffi, n->unseen_ffi == 1 ? "" : "s");
	MPK_TRY_ALLOC(part || !n->unseen_ffi, err);
	if (n->unseen_tvm)
		part = mpk_arena_printf(s->arena, "%s%s%zu C++ symbol%s of libtvm_runtime.so",
					part ? part : "", part ? ", " : "", n->unseen_tvm,
					n->unseen_tvm == 1 ? "" : "s");
	MPK_TRY_ALLOC(part || !n->unseen_tvm, err);
	if (part)
		mpk_check_leave(s, part, "--runtime");
	return MPK_OK;
}

/* Whether a library that the file needs lacks the same symbol, which is one cause. */
static bool is_repeated(const struct mpk_check_state *s, size_t at)
{
	const struct mpk_unbound *u = &s->unbound[at];

	for (size_t i = 0; u->by != &s->file && i < at && i < REPEATS_SEARCHED; i++)
		if (strcmp(s->unbound[i].name, u->name) == 0)
			return true;
	return false;
}

/* If a library is missing, its symbols are not reported one by one. */
static enum mpk_code check_unbound(struct mpk_check_state *s, struct mpk_error *err)
{
	struct undefined n = { 0 };

	if (s->scope.missing_count) {
		if (s->unbound_count && !mpk_check_wanted(s->there, "library"))
			mpk_check_say(
				s, MPK_ERROR, NULL,
				"%zu of its symbols are undefined, as %s, which it needs, is not %s",
				s->unbound_count, QUOTED(s->scope.missing[0].name),
				mpk_check_place(s->there));
		return MPK_OK;
	}
	for (size_t i = 0; i < s->unbound_count; i++)
		if (!is_repeated(s, i))
			MPK_TRY(check_undefined(s, &s->unbound[i], &n, err));
	for (size_t i = 0; i < n.owned_count; i++)
		MPK_TRY(say_owned(s, &n.owned[i], err));
	if (n.errors > UNDEFINED_SAID)
		mpk_check_say(s, MPK_ERROR, NULL, "%zu more symbols are undefined",
			      n.errors - UNDEFINED_SAID);
	return leave_unseen(s, &n, err);
}

/* Whether the runtime fills the context pointer "__NAME", whose address its library's initializers
 * know. */
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

/* Launch functions that mpack writes look kernels up through whichever of the two pointers is
 * filled: TVM 0.26 no longer has the older one. So code with both pointers needs only one. */
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

/* Launch functions that mpack writes also import the function that raises an error, as a weak
 * symbol, and use it if the pointer is not filled. */
static bool binds_weakly(const struct mpk_check_state *s, const char *name)
{
	const struct mpk_unbound wanted = { .name = name, .by = &s->file };
	struct mpk_symbol symbol;
	bool found = false;

	for (size_t i = 1; i < s->file.table.count && !found; i++)
		found = mpk_symtab_get(&s->file.table, i, &symbol, NULL) == MPK_OK &&
			!symbol.defined && symbol.bind == STB_WEAK &&
			strcmp(symbol.name, name) == 0;
	if (!found)
		return false;
	for (const struct mpk_dso *d = s->scope.first; d; d = d->next)
		if (mpk_dso_binds(d, name, NULL))
			return true;
	return mpk_check_provided(s, &wanted);
}

enum { POINTERS_SEARCHED = 100 };

/* Whether no code of the library reads a pointer. Answers true only if all code was searched. */
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

/* Checks pointers such as "__TVMBackendParallelLaunch", which the runtime fills with its function
 * of that name. */
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
		/* TVM has a dozen pointers; each one costs a search through all code */
		if (!filled && i < POINTERS_SEARCHED)
			MPK_TRY(is_unused(s, symbol, &filled, err));
		if (filled)
			continue;
		if (is_raiser(name) && binds_weakly(s, name))
			continue;
		if (is_raiser(name)) {
			mpk_check_say(s, MPK_WARNING, symbol,
				      "%s does not provide %s, so that an error which the code "
				      "raises ends the process",
				      mpk_check_where(s->there), QUOTED(name));
			continue;
		}
		MPK_TRY(mpk_check_say_want(
			s, MPK_WANT_SYMBOL, symbol, err,
			"the code calls %s, which %s does not provide: the call goes to a null pointer "
			"and ends the process",
			QUOTED(name), mpk_check_where(s->there)));
	}
	return MPK_OK;
}

/* The dynamic linker binds undefined symbols. The runtime fills the pointers __TVM... afterwards,
 * so they need a named runtime. */
static enum mpk_code check_symbol(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	*skipped = mpk_check_not_linked(s);
	if (!*skipped && s->other_format)
		*skipped = "its format is another";
	if (!*skipped && s->view->image->executor)
		*skipped = "it brings its own runtime";
	if (!*skipped && !s->there->searchable && !mpk_check_where(s->there))
		*skipped = MPK_CHECK_UNSAID;
	if (*skipped)
		return MPK_OK;
	MPK_TRY(check_unbound(s, err));
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
