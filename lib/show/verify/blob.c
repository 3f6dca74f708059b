/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - checks the library around the blob (symbols, section, segment), and its payloads with
 * their kernel tables */
#include "verify/verify.h"

#include <inttypes.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "text/escape.h"

#define QUOTED(text) MPK_QUOTE(mpk_span_str(text))

static const struct mpk_verify_position nowhere;

/* mpack's package note names the symbol. If the symbol was stripped or renamed, no loader finds the
 * blob. */
static void blob_symbol(struct mpk_verify *v)
{
	struct mpk_error err = { 0 };

	if (mpk_image_check_symbol(v->view->image, &err) != MPK_OK)
		mpk_verify_say_at(v, MPK_ERROR, nowhere, "%s", err.text);
}

/* TVM's loaders read the length from the blob's first 8 bytes and ignore the symbol's size. Tools
 * that copy symbols use the symbol's size, so a difference makes them lose bytes. */
static void blob_size(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	uint64_t need;

	if (!image->has_blob || image->blob.len < 8)
		return;
	need = mpk_load_u64(image->blob.data); /* the reader checked that it fits */
	if (!image->blob_symbol_bytes)
		mpk_verify_say(v, MPK_NOTE,
			       "the blob symbol has no size; the blob itself says %" PRIu64
			       " bytes",
			       need + 8);
	else if (image->blob_symbol_bytes != need + 8)
		mpk_verify_say(v, MPK_WARNING,
			       "the blob symbol has %" PRIu64 " bytes but the blob says %" PRIu64,
			       image->blob_symbol_bytes, need + 8);
}

/* Returns the section that covers [off, off + len) of the file, or 0. */
static size_t section_around(const struct mpk_elf *e, uint64_t off, uint64_t len, GElf_Shdr *out)
{
	for (size_t i = 1; i < e->section_count; i++)
		if (mpk_elf_section(e, i, out, NULL) == MPK_OK && out->sh_type != SHT_NOBITS &&
		    off >= out->sh_offset && out->sh_size >= len &&
		    off - out->sh_offset <= out->sh_size - len)
			return i;
	return 0;
}

/* Tools that rewrite libraries keep bytes that a section header covers; a blob outside all sections
 * is lost when the library is stripped. */
static void blob_section(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	uint64_t off = image->blob_off - image->bytes_off;
	GElf_Shdr s = { 0 };
	size_t index;

	if (!image->has_blob || !v->elf->section_count)
		return;
	index = section_around(v->elf, off, image->blob.len, &s);
	if (!index) {
		mpk_verify_say(v, MPK_ERROR,
			       "the blob is in no section: strip and objcopy will drop it");
		return;
	}
	if (!(s.sh_flags & SHF_ALLOC))
		mpk_verify_say(v, MPK_ERROR, "the blob's section is not loaded (no SHF_ALLOC)");
	if (s.sh_flags & SHF_EXECINSTR)
		mpk_verify_say(v, MPK_WARNING, "the blob's section is executable");
	if (image->type != ET_REL && image->blob_address - s.sh_addr != off - s.sh_offset)
		mpk_verify_say(
			v, MPK_ERROR,
			"section headers and program headers disagree about where the blob is");
}

/* At run time only segments exist. A writable segment becomes
 * private memory when a page of it is written. */
static void blob_segment(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	GElf_Phdr p;

	if (!image->has_blob || image->type == ET_REL)
		return;
	for (size_t i = 0; mpk_elf_segment(v->elf, i, &p); i++) {
		uint64_t into = image->blob_address - p.p_vaddr;

		if (p.p_type != PT_LOAD || image->blob_address < p.p_vaddr || into >= p.p_filesz)
			continue;
		if (p.p_flags & PF_W)
			mpk_verify_say(
				v, MPK_NOTE,
				"the blob's segment is writable: it costs memory in every process");
		if (!(p.p_flags & PF_R))
			mpk_verify_say(v, MPK_ERROR, "the blob's segment is not readable");
		return;
	}
}

/* A linear search is enough: either the list is short, or few names are looked up. */
static bool has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Loaders fill a known set of context pointers (tvm-blob(5), CALLING KERNELS); others stay NULL,
 * and calls through them crash. */
static void context_symbols(struct mpk_verify *v)
{
	static const char *const known[] = {
		"__TVMAPISetLastError",
		"__TVMFuncCall",
		"__TVMBackendGetFuncFromEnv",
		"__TVMBackendAllocWorkspace",
		"__TVMBackendFreeWorkspace",
		"__TVMBackendParallelLaunch",
		"__TVMBackendParallelBarrier",
		"__TVMFFIFunctionCall",
		"__TVMFFIErrorSetRaisedFromCStr",
		"__TVMFFIErrorSetRaisedFromCStrParts",
		"__TVMFFIEnvModLookupFromImports",
		"__TVMFFIHandleInitOnce",
	};
	const struct mpk_image *image = v->view->image;

	for (size_t i = 0; i < image->context_symbol_count; i++)
		if (!has_name(known, MPK_ARRAY_COUNT(known), image->context_symbols[i]))
			mpk_verify_say_at(
				v, MPK_WARNING,
				(struct mpk_verify_position){ .path = image->context_symbols[i] },
				"no loader is known that fills this pointer");
}

/* Code that looks functions up passes its context; without the context symbol it has none to
 * pass. */
static void library_context(struct mpk_verify *v)
{
	static const char *const lookups[] = { "TVMBackendGetFuncFromEnv",
					       "TVMFFIEnvModLookupFromImports" };
	const struct mpk_image *image = v->view->image;
	bool looks_up = false;

	/* a library that only calls TVM looks up functions in modules that it is given */
	if (!image->has_blob && !image->function_count)
		return;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lookups); i++) {
		char pointer[64] = "__";

		(void)strncat(pointer, lookups[i], sizeof pointer - 3);
		looks_up |= has_name(image->undefined, image->undefined_count, lookups[i]) ||
			    has_name(image->context_symbols, image->context_symbol_count, pointer);
	}
	if (looks_up && !image->has_ctx)
		mpk_verify_say_at(v, MPK_ERROR, nowhere,
				  "the code looks up functions of its imports but there is no %s",
				  mpk_generation_get(image->gen)->ctx_symbol);
}

/* The symbol __tvm_main__ is a text that names another function. If that function does not exist,
 * the library still loads, and the call fails. */
static void entry_function(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;

	for (size_t i = 0; i < image->function_count; i++) {
		const char *target = image->functions[i].alias_of;
		bool found = !target;

		for (size_t k = 0; k < image->function_count && !found; k++)
			found = strcmp(image->functions[k].name, target) == 0;
		if (!found)
			mpk_verify_say_at(
				v, MPK_ERROR,
				(struct mpk_verify_position){ .path = image->functions[i].symbol },
				"the entry function '%s' is not defined", QUOTED(target));
	}
}

/* TVM reaches the functions of a library through a _lib node in the tree. Without one it loads the
 * library but finds none of its host functions. */
static void host_code(struct mpk_verify *v)
{
	const struct mpk_view *view = v->view;
	const struct mpk_image *image = view->image;
	size_t libs = 0;

	for (size_t i = 0; i < view->count; i++)
		libs += view->nodes[i].node->is_lib;
	if (!image->has_blob || image->type == ET_REL)
		return;
	if (libs == 0 && image->function_count)
		mpk_verify_say_at(
			v, MPK_WARNING, nowhere,
			"the library's %zu functions cannot be reached: no module of the tree is its host code (_lib)",
			image->function_count);
	if (libs && !image->function_count && view->nodes[0].node->is_lib)
		mpk_verify_say_at(v, MPK_WARNING, (struct mpk_verify_position){ .path = "/" },
				  "the root is host code, but the library has no functions");
}

/* Only a digest reveals a flipped bit in weights. */
static void blob_digest(struct mpk_verify *v)
{
	const struct mpk_image *image = v->view->image;
	const struct mpk_note *note = &image->note;
	uint8_t digest[MPK_DIGEST_BYTES];
	char want[MPK_DIGEST_TEXT], got[MPK_DIGEST_TEXT];
	struct mpk_error err = { 0 };
	enum mpk_code code;

	if (image->has_blob && !note->name)
		mpk_verify_say(
			v, MPK_NOTE,
			"no digest was stored with the blob, as mpack does: a change that keeps "
			"its structure cannot be seen");
	if (!image->has_blob || !note->name || (v->file && v->file->skips_digest))
		return;
	code = mpk_note_digest(mpk_image_noted(image), v->file ? v->file->map : NULL,
			       v->file ? v->file->tap : NULL, v->arena, digest, &err);
	v->report->failed |= code == MPK_E_NOMEM;
	if (code != MPK_OK) {
		mpk_verify_say(v, MPK_ERROR, "the blob cannot be read: %s", err.text);
		return;
	}
	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, got);
	(void)mpk_digest_print(note->digest, MPK_XXH128_BYTES, want);
	if (strcmp(want, got) == 0)
		mpk_verify_say(v, MPK_NOTE, "the blob is what was packed, xxh128 %s", got);
	else
		mpk_verify_say(v, MPK_ERROR,
			       "the blob is damaged: its xxh128 is %s, what was packed had %s", got,
			       want);
}

const struct mpk_check mpk_checks_elf[] = {
	{ "blob-symbol", "the blob that the package note names has its symbol",
	  .whole = blob_symbol },
	{ "blob-size", "the symbol is as long as the blob says", .whole = blob_size },
	{ "blob-section", "a loaded section covers the blob", .whole = blob_section },
	{ "blob-segment", "the blob can be read once it is mapped", .whole = blob_segment },
	{ "blob-digest",
	  "the bytes of the blob are those that mpack packed, by the digest in its note; a library without such a note, as TVM exports it, is not checked for this",
	  .whole = blob_digest },
	{ "context-symbol", "loaders fill every pointer the code uses", .whole = context_symbols },
	{ "library-context", "code that looks functions up has a context",
	  .whole = library_context },
	{ "entry-function", "what __tvm_main__ names is there", .whole = entry_function },
	{ "host-code", "host code and _lib belong together", .whole = host_code },
	{ 0 },
};

/* --- payloads of modules, to their last byte -------------------------------------------------- */

/* The payload's reader found the problem when the file was opened; here it becomes a finding with
 * the module's path. */
static void payload(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_error *e = n->problem;

	if (e)
		mpk_verify_say_at(
			v, MPK_ERROR,
			(struct mpk_verify_position){ e->at.space, e->at.offset, n->path }, "%s",
			e->text);
}

/* TVM's readers stop when they have all they need and ignore trailing bytes, so such a module
 * loads. */
static void payload_tail(struct mpk_verify *v, const struct mpk_view_node *n)
{
	uint64_t end = n->node->payload_off + n->node->payload.len;

	if (n->decoded && n->payload->trailing)
		mpk_verify_say_at(
			v, MPK_WARNING,
			(struct mpk_verify_position){ "blob", end - n->payload->trailing, n->path },
			"%" PRIu64 " bytes follow what TVM reads", n->payload->trailing);
}

/* Checks data that loaders and interpreters use unchecked. */
static void payload_content(struct mpk_verify *v, const struct mpk_view_node *n)
{
	struct mpk_error err = { 0 };
	const struct mpk_payload_view *row = mpk_view_row(n);

	if (!row->verify || row->verify(n->payload, &err) == MPK_OK)
		return;
	if (row->check)
		v->check = row->check;
	v->position.offset = n->node->payload_off;
	mpk_verify_say(v, MPK_ERROR, "%s", err.text);
}

/* --- the table of kernels ------------------------------------------------------------------ */

/* TVM reads the table into a map, so the second of two rows with one name is silently lost. */
static void kernel_name(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };

	for (size_t i = 0; i < k->function_count; i++) {
		v->kernel = k->functions[i].key;
		int put = mpk_strmap_put(&names, k->functions[i].key, i, NULL);

		if (put < 0)
			v->report->failed = true;
		if (k->functions[i].key.len == 0)
			mpk_verify_say(v, MPK_ERROR, "kernel %zu has no name", i);
		else if (put == 0)
			mpk_verify_say(v, MPK_ERROR, "kernel '%s' is in the table twice",
				       MPK_QUOTE(k->functions[i].key));
	}
}

/* An axis may occur several times: schedules that load shared memory in stages produce such
 * kernels. */
static void check_tags(struct mpk_verify *v, const struct mpk_function_info *f)
{
	v->kernel = f->key;
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		enum mpk_launch_tag tag = mpk_launch_tag_parse(f->launch_tags[i]);
		bool last = i + 1 == f->launch_tag_count;

		if (tag == MPK_TAG_UNKNOWN)
			mpk_verify_say(v, MPK_WARNING,
				       "kernel '%s' has the unknown launch tag '%s'",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
		else if (tag == MPK_TAG_DYN_SHARED && !last)
			mpk_verify_say(v, MPK_ERROR,
				       "kernel '%s': '%s' must be the last launch tag",
				       MPK_QUOTE(f->key), MPK_QUOTE(f->launch_tags[i]));
	}
}

static void launch_tags(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++)
		check_tags(v, &k->functions[i]);
}

/* The types that TVM's runtimes convert between a packed call and a driver's launch. */
static bool tvm_passes(struct mpk_dtype t)
{
	if (t.lanes != 1)
		return false;
	switch (t.code) {
	case MPK_DTYPE_HANDLE:
		return true;
	case MPK_DTYPE_INT:
	case MPK_DTYPE_FLOAT:
		return t.bits == 32 || t.bits == 64;
	case MPK_DTYPE_UINT:
		return t.bits == 32;
	default:
		return false;
	}
}

/* A standalone library launches its kernels itself, and can also narrow integers and half
 * floats. */
static bool can_pass(const struct mpk_verify *v, struct mpk_dtype t)
{
	return v->view->image->standalone ? t.lanes == 1 && t.bits : tvm_passes(t);
}

/* A runtime reports such an argument only when the call is made; the table shows it earlier. */
static void kernel_arguments(struct mpk_verify *v, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);

	for (size_t i = 0; i < k->function_count; i++) {
		const struct mpk_function_info *f = &k->functions[i];

		v->kernel = f->key;
		for (size_t a = 0; a < f->arg_count; a++) {
			struct mpk_dtype t = f->arg_types[a];
			char text[MPK_DTYPE_TEXT];

			if (can_pass(v, t))
				continue;
			mpk_verify_say(
				v, MPK_ERROR,
				"argument %zu of kernel '%s' is %s, which no runtime can pass: handle, int32, int64, uint32, float32 and float64 can be",
				a, MPK_QUOTE(f->key), mpk_dtype_print(t, text));
		}
		if (f->extra_tag_count > f->arg_count)
			mpk_verify_say(v, MPK_WARNING,
				       "kernel '%s' has more argument tags than arguments",
				       MPK_QUOTE(f->key));
	}
}

const struct mpk_check mpk_checks_payload[] = {
	{ "payload", "it reads as its kind says", .node = payload },
	{ "payload-tail", "nothing follows what TVM reads", .node = payload_tail },
	{ "byte-code", "byte code is sound: registers, indices, jumps", .node = payload_content },
	{ "kernel-name", "kernels have names, each once", .kernels = kernel_name,
	  .of_kernels = true },
	{ "launch-tag", "launch tags are known, and in a legal order", .kernels = launch_tags,
	  .of_kernels = true },
	{ "kernel-argument", "runtimes can pass every argument", .kernels = kernel_arguments,
	  .of_kernels = true },
	{ 0 },
};
