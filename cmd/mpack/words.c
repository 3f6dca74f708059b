/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - what the options of `mpack build` say together: the kind of output, and what excludes what */
#include <string.h>
#include <sys/stat.h>

#include "base/strmap.h"
#include "common/diag.h"
#include "common/options.h"
#include "mpack/build.h"
#include "text/phrase.h"

static int find_kind(const struct mpk_build_options *o, enum mpk_emit_kind *out)
{
	struct mpk_span words[MPK_EMIT_KIND_COUNT];
	const char *dot = o->output ? strrchr(o->output, '.') : NULL;

	if (!o->output && !o->emit)
		return MPK_EXIT_OK; /* a library */
	for (unsigned k = 0; k < MPK_EMIT_KIND_COUNT; k++) {
		const struct mpk_emit_name *name = mpk_emit_name((enum mpk_emit_kind)k);

		words[k] = mpk_span_str(name->name);
		if (o->emit ? strcmp(o->emit, name->name) == 0
			    : dot && strcmp(dot, name->suffix) == 0) {
			*out = (enum mpk_emit_kind)k;
			return MPK_EXIT_OK;
		}
	}
	if (!o->emit)
		return mpk_diag_usage(
			"the suffix of '%s' does not say what to write; name it .so, .o, .c, .a, .tar or .blob, or use --emit",
			o->output);
	size_t near = mpk_closest(mpk_span_str(o->emit), words, MPK_EMIT_KIND_COUNT);
	if (near < MPK_EMIT_KIND_COUNT)
		return mpk_diag_usage(
			"--emit takes so, obj, c, a, tar or blob, not '%s'; did you mean %s?",
			o->emit, mpk_emit_name((enum mpk_emit_kind)near)->name);
	return mpk_diag_usage("--emit takes so, obj, c, a, tar or blob, not '%s'", o->emit);
}

static bool is_symbol_part(const char *text)
{
	static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	const char *letters = all + 10;

	return strspn(text, letters) > 0 && text[strspn(text, all)] == '\0';
}

static bool writes_stdout(const struct mpk_build_options *o)
{
	return o->output && strcmp(o->output, "-") == 0;
}

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int check_words(const struct mpk_build_options *o, enum mpk_emit_kind kind)
{
	if (o->via && strcmp(o->via, "llvm") != 0 && strcmp(o->via, "c") != 0)
		return mpk_diag_usage("--via takes llvm or c, not '%s'", o->via);
	if (o->page_align && (kind != MPK_EMIT_SO || o->standalone))
		return mpk_diag_usage(
			"--page-align is for shared libraries, .so, that are not standalone");
	if (o->compress && strcmp(o->compress, "zstd") != 0)
		return mpk_diag_usage("--compress takes zstd, not '%s'", o->compress);
	if (o->compress && !o->standalone)
		return mpk_diag_usage(
			"--compress is for standalone libraries: TVM's own loaders unpack nothing; add --standalone");
	if (o->standalone && (kind != MPK_EMIT_SO || o->system_lib))
		return mpk_diag_usage(
			"--standalone makes a shared library, .so, that is no system library");
	/* It is a prefix of the symbol of the blob, which only a system library may choose. */
	if (o->prefix && !o->system_lib)
		return mpk_diag_usage("--prefix is for system libraries: add --system-lib");
	if (o->prefix && *o->prefix && !is_symbol_part(o->prefix))
		return mpk_diag_usage("--prefix takes letters, digits and '_', not '%s'",
				      o->prefix);
	if (writes_stdout(o) && kind != MPK_EMIT_C && kind != MPK_EMIT_BLOB)
		return mpk_diag_usage("only C source and blobs are written to standard output");
	/* Both are notes, which only ELF files have. */
	if ((o->sign || o->provenance) && kind != MPK_EMIT_SO && kind != MPK_EMIT_OBJ)
		return mpk_diag_usage("--%s is for .so and .o, which have room for it%s",
				      o->sign ? "sign" : "provenance",
				      o->sign ? "; sign another file beside it: ssh-keygen -Y sign"
					      : "");
	/* Process substitution, as in --sign <(...), makes a pipe. */
	if (o->check_repro && o->sign && is_pipe(o->sign))
		return mpk_diag_usage("--check-repro builds twice, and '%s' can be read once only",
				      o->sign);
	if (o->check_repro && (!o->output || writes_stdout(o) || o->dry_run))
		return mpk_diag_usage("--check-repro compares files: name one with -o");
	return MPK_EXIT_OK;
}

int mpk_build_check_options(const struct mpk_build_options *o, enum mpk_emit_kind *kind)
{
	int status = find_kind(o, kind);

	return status == MPK_EXIT_OK ? check_words(o, *kind) : status;
}
