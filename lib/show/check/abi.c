/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a library against an ABI policy, independent of any machine: symbol versions (PEP 600),
 * Python's stable ABI, C++11 strings, symbols of a framework. All other checks compare the file
 * with a known machine; a wheel is made for unknown ones. */
#include <string.h>

#include "check/internal/run.h"
#include "elf/symbols.h"
#include "itanium/itanium.h"
#include "text/escape.h"

/* The owner of the ABI that an undefined symbol belongs to. */
enum owner { NOBODY, PYTHON, TORCH_C, TORCH_CXX, TVM_FFI, TVM_FFI_CXX };

/* Totals over all undefined symbols. */
struct wanted {
	const struct mpk_version_need *needs;
	size_t need_count;
	size_t counts[TVM_FFI_CXX + 1]; /* symbols by owner */
	/* 3.N: the newest Python minor version among the stable-ABI symbols */
	unsigned python_minor;
	size_t unstable; /* Python symbols outside the stable ABI */
	bool old_strings, new_strings;
	const char *machine;
};

/* --- what a symbol is ------------------------------------------------------------------------ */

static bool names_any(const char *text, const char *const *scopes)
{
	for (; *scopes; scopes++)
		if (strstr(text, *scopes))
			return true;
	return false;
}

static enum owner owner_of(const char *name, const char *text)
{
	static const char *const torch[] = { "c10::",    "at::Tensor",   "torch::",
					     "caffe2::", "at::native::", NULL };

	if (mpk_python_symbol(name, NULL))
		return PYTHON;
	if (strncmp(name, "aoti_torch_", 11) == 0 || strncmp(name, "torch_", 6) == 0)
		return TORCH_C;
	if (strncmp(name, "TVMFFI", 6) == 0)
		return TVM_FFI;
	if (strncmp(name, "_Z", 2) == 0 && strstr(text, "tvm::ffi::"))
		return TVM_FFI_CXX;
	return strncmp(name, "_Z", 2) == 0 &&
			       (strncmp(text, "at::", 4) == 0 || names_any(text, torch))
		       ? TORCH_CXX
		       : NOBODY;
}

/* Whether a mangled name contains the pre-C++11 std::string of libstdc++, which has no inline
 * namespace. */
static bool has_old_string(const char *name, const char *text)
{
	return strncmp(name, "_Z", 2) == 0 &&
	       (strstr(text, "std::string") || strstr(text, "std::basic_string<char"));
}

/* --- findings ------------------------------------------------------------------------------------ */

static void judge_python(struct mpk_check_state *s, const char *name, struct wanted *w)
{
	const struct mpk_check_abi *abi = s->there->abi;
	unsigned since;

	(void)mpk_python_symbol(name, &since);
	w->unstable += !since;
	w->python_minor = since > w->python_minor ? since : w->python_minor;
	if (abi->is_abi3 && !since)
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it requires %s, which is not in Python's stable ABI",
			      MPK_QUOTE(mpk_span_str(name)));
	else if (abi->is_abi3 && abi->python_minor && since > abi->python_minor)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it requires %s, which Python's stable ABI has since 3.%u, and 3.%u is asked for",
			MPK_QUOTE(mpk_span_str(name)), since, abi->python_minor);
}

static void judge_symbol(struct mpk_check_state *s, const char *name, const char *text,
			 struct wanted *w)
{
	const struct mpk_check_abi *abi = s->there->abi;
	enum owner owner = owner_of(name, text);
	bool old = has_old_string(name, text);

	w->counts[owner]++;
	w->old_strings |= old;
	w->new_strings |= strstr(text, "std::__cxx11::") != NULL;
	if (owner == PYTHON)
		judge_python(s, name, w);
	if (abi->tvm_ffi && (owner == PYTHON || owner == TORCH_C || owner == TORCH_CXX))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it requires %s of %s, and a library for tvm-ffi must not require it",
			      MPK_QUOTE(mpk_span_str(text)), owner == PYTHON ? "Python" : "torch");
	if (abi->tvm_ffi && owner == TVM_FFI_CXX)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it requires %s, a C++ symbol of tvm-ffi, whose layout may change between releases while its name stays: call its C functions instead",
			MPK_QUOTE(mpk_span_str(text)));
	if (abi->torch_stable && owner == TORCH_CXX)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it requires %s, which torch may change in any release: call its C functions instead",
			MPK_QUOTE(mpk_span_str(text)));
	if (abi->cxx11 && old)
		mpk_check_say(
			s, MPK_ERROR, NULL,
			"it requires %s, with strings of the ABI before C++11: compile it with _GLIBCXX_USE_CXX11_ABI=1",
			MPK_QUOTE(mpk_span_str(text)));
}

static enum mpk_code judge_symbols(struct mpk_check_state *s, struct wanted *w,
				   struct mpk_error *err)
{
	const struct mpk_undefined *list;
	size_t count;

	MPK_TRY(mpk_versions_undefined(s->elf, s->arena, &list, &count, err));
	for (size_t i = 0; i < count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		struct mpk_span name = mpk_span_str(list[i].name);

		if (!mpk_demangle(name, (struct mpk_demangle_form){ 0 }, &text))
			mpk_strbuf_put_span(&text, name);
		MPK_TRY(mpk_strbuf_status(&text, err));
		judge_symbol(s, list[i].name, mpk_strbuf_text(&text), w);
	}
	return MPK_OK;
}

static void judge_versions(struct mpk_check_state *s, const struct wanted *w)
{
	const struct mpk_policy *policy = s->there->abi->policy;
	char most[40];

	if (!policy)
		return;
	if (!w->machine ||
	    mpk_policy_allows(policy, w->machine, "", most) == MPK_POLICY_ELSEWHERE) {
		mpk_check_say(s, MPK_ERROR, NULL, "%s is not for %s", policy->name,
			      w->machine ? w->machine : "its machine");
		return;
	}
	for (size_t i = 0; i < w->need_count; i++) {
		const struct mpk_version_need *n = &w->needs[i];

		if (mpk_policy_allows(policy, w->machine, n->version, most) != MPK_POLICY_DENIED)
			continue;
		mpk_check_say(s, MPK_ERROR, NULL,
			      "it requires %s of %s, and %s has %s%s: build it on such a system",
			      MPK_QUOTE(mpk_span_str(n->version)), MPK_QUOTE(mpk_span_str(n->file)),
			      policy->name, *most ? most : "none of these",
			      *most ? " at most" : "");
	}
}

/* --- what it could be held to -------------------------------------------------------------------------- */

/* Returns the name of the oldest policy that the library meets; NULL if none is known. */
static const char *least_policy(const struct wanted *w)
{
	char most[40];

	for (const struct mpk_policy *p = mpk_policies; w->machine && (p->name || p->machines);
	     p++) {
		size_t k = 0;

		if (!p->name)
			continue;
		while (k < w->need_count && mpk_policy_allows(p, w->machine, w->needs[k].version,
							      most) != MPK_POLICY_DENIED)
			k++;
		if (k == w->need_count &&
		    mpk_policy_allows(p, w->machine, "", most) != MPK_POLICY_ELSEWHERE)
			return p->name;
	}
	return NULL;
}

static void put_python(const struct wanted *w, struct mpk_strbuf *out)
{
	if (!w->counts[PYTHON])
		mpk_strbuf_puts(out, "nothing of Python");
	else if (w->unstable)
		mpk_strbuf_printf(out, "Python of one version (%zu of %zu symbols are not stable)",
				  w->unstable, w->counts[PYTHON]);
	else
		mpk_strbuf_printf(out, "Python's stable ABI (abi3-3.%u)", w->python_minor);
}

/* Reports in one line the policies that the library would pass. */
static enum mpk_code say_all(struct mpk_check_state *s, const struct wanted *w,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	static const struct {
		enum owner owner;
		const char *what;
	} frames[] = { { TORCH_CXX, "of torch in C++" },
		       { TORCH_C, "of torch in C" },
		       { TVM_FFI_CXX, "of tvm-ffi in C++" },
		       { TVM_FFI, "of tvm-ffi" } };
	const char *least = least_policy(w);

	mpk_strbuf_printf(&out, "it requires %s, ",
			  least ? least : "a system that no policy is of");
	put_python(w, &out);
	if (w->old_strings || w->new_strings)
		mpk_strbuf_printf(&out, ", strings of %s",
				  !w->old_strings   ? "C++11"
				  : !w->new_strings ? "before C++11"
						    : "C++11 and of before");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(frames); i++) {
		size_t n = w->counts[frames[i].owner];

		if (n)
			mpk_strbuf_printf(&out, ", %zu symbol%s %s", n, n == 1 ? "" : "s",
					  frames[i].what);
	}
	MPK_TRY(mpk_strbuf_status(&out, err));
	mpk_check_say_text(s, MPK_NOTE, NULL, mpk_strbuf_text(&out));
	return MPK_OK;
}

static enum mpk_code check_abi(struct mpk_check_state *s, const char **skipped,
			       struct mpk_error *err)
{
	struct wanted w = { 0 };
	size_t before = s->report->errors;
	GElf_Ehdr header;

	if (!s->elf || s->view->image->container != MPK_CONTAINER_ELF_SO)
		*skipped = "it is not a linked library";
	if (*skipped && s->there->abi)
		s->result->lacks = *skipped;
	else if (!s->there->abi)
		*skipped = MPK_CHECK_UNSAID;
	if (*skipped || !gelf_getehdr(s->elf->elf, &header))
		return MPK_OK;
	w.machine = mpk_policy_machine(header.e_machine, header.e_ident[EI_DATA] == ELFDATA2LSB);
	MPK_TRY(mpk_versions_needed(s->elf, s->arena, &w.needs, &w.need_count, err));
	judge_versions(s, &w);
	MPK_TRY(judge_symbols(s, &w, err));
	s->result->policy_errors += s->report->errors - before;
	return say_all(s, &w, err);
}

const struct mpk_check_row mpk_check_abis[] = {
	{ "abi", "--abi", check_abi },
	{ 0 },
};
