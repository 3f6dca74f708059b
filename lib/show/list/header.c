/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts come from untrusted files. A name that is an identifier is used unchanged, other
 * names are converted to identifiers, and texts are written in comments that they cannot end. */
#include "list/list.h"

#include <ctype.h>
#include <string.h>

#include "dtype/type_index.h"
#include "text/escape.h"

/* --- names ------------------------------------------------------------------------------ */

enum { NAMED_MAX = 512 };

/* Whether a name is a keyword of C or Python, and cannot name a parameter. */
static bool is_reserved(struct mpk_span name)
{
	/* names that the typed function itself uses */
	static const char words[] =
		" False None True and as assert async auto await bool break case char "
		"class const continue def default del do double elif else enum except "
		"extern finally float for from global goto if import in inline int is "
		"lambda long nonlocal not or pass raise register restrict return short "
		"signed sizeof static struct switch try typedef union unsigned void "
		"volatile while with yield "
		"args codes result code mpk_any mpk_tensor self ";
	const char *at = words;

	while (name.len && (at = memmem(at, strlen(at), name.data, name.len)) != NULL) {
		if (at > words && at[-1] == ' ' && at[name.len] == ' ')
			return true;
		at++;
	}
	return false;
}

/* Allows letters, digits and underscores: beyond them, C and Python differ. */
static bool is_identifier(struct mpk_span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum(name.data[i]) && name.data[i] != '_')
			return false;
	return name.len && !isdigit(name.data[0]);
}

/* Writes parameter `index` as an identifier that no other parameter has. Each is compared with all
 * others; in a function with very many parameters they are numbered instead. */
static void header_put_name(const struct mpk_signature *s, size_t index, struct mpk_strbuf *out)
{
	struct mpk_span name = s->inputs[index].name;
	bool alone = s->input_count <= NAMED_MAX && is_identifier(name) && !is_reserved(name);

	for (size_t i = 0; alone && i < s->input_count; i++)
		alone = i == index || !mpk_span_equal(s->inputs[i].name, name);
	if (alone)
		mpk_strbuf_put_span(out, name);
	else
		mpk_strbuf_printf(out, "arg%zu_", index);
}

/* Makes a text safe for a comment: escapes controls, and never writes a star before a slash. */
static void header_put_comment(const struct mpk_strbuf *text, struct mpk_strbuf *out)
{
	const char *t = mpk_strbuf_text(text);

	for (; *t; t++) {
		mpk_strbuf_putc(out, *t);
		if ((*t == '*' && t[1] == '/') || (*t == '/' && t[1] == '*'))
			mpk_strbuf_putc(out, ' ');
	}
	out->failed |= text->failed;
}

/* Writes the signature as a comment above each declaration, also if no typed declaration can be
 * written. */
static void header_put_signature(const struct mpk_view *view, size_t index, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_view_host_text(view, index, " = ", &text);
	header_put_comment(&text, out);
	if (mpk_view_called_instead(view, index))
		mpk_strbuf_puts(out, ", of the host code: run calls an executor's");
}

/* Writes the file's name without its folder, so that the header does not depend on the folder. */
static void header_put_title(const struct mpk_view *view, const char *open, const char *close,
			     struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	const char *slash = strrchr(view->name, '/');

	mpk_escape(&name, mpk_span_str(slash ? slash + 1 : view->name));
	mpk_strbuf_puts(out, open);
	header_put_comment(&name, out);
	mpk_strbuf_puts(out, close);
}

/* --- C ---------------------------------------------------------------------------------- */

enum c_class { C_TENSOR, C_INT, C_BOOL, C_FLOAT, C_POINTER, C_UNKNOWN };

/* Ignores widths: both calling conventions pass every integer as int64_t and every float as
 * double. */
static enum c_class header_class_of(const struct mpk_type *t)
{
	if (t->kind == MPK_TYPE_TENSOR)
		return C_TENSOR;
	if (t->kind != MPK_TYPE_SCALAR)
		return C_UNKNOWN;
	switch (t->dtype.code) {
	case MPK_DTYPE_HANDLE:
		return C_POINTER;
	case MPK_DTYPE_FLOAT:
	case MPK_DTYPE_BFLOAT:
		return C_FLOAT;
	default:
		return mpk_dtype_is_bool(t->dtype) ? C_BOOL : C_INT;
	}
}

static const struct {
	const char *declared, *member, *python;
	int ffi, legacy; /* type index of tvm-ffi, type code of legacy TVM */
} classes[] = {
	[C_TENSOR] = { "mpk_tensor *", ".p = (void *)", "Tensor", MPK_FFI_DLTENSOR,
		       MPK_TVM_DLTENSOR },
	[C_INT] = { "int64_t ", ".i = ", "int", MPK_FFI_INT, MPK_TVM_INT },
	[C_BOOL] = { "bool ", ".i = ", "bool", MPK_FFI_BOOL, MPK_TVM_INT },
	[C_FLOAT] = { "double ", ".f = ", "float", MPK_FFI_FLOAT, MPK_TVM_FLOAT },
	[C_POINTER] = { "void *", ".p = ", "Any", MPK_FFI_OPAQUE, MPK_TVM_HANDLE },
};

/* Whether every argument has a C type. */
static bool is_typed(const struct mpk_signature *s)
{
	for (size_t i = 0; s && i < s->input_count; i++)
		if (header_class_of(&s->inputs[i].type) == C_UNKNOWN)
			return false;
	return s != NULL;
}

/* C forbids empty arrays, so the array has one spare element. */
static void put_arguments(const struct mpk_signature *s, bool legacy, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out,
			  legacy ? "\tunion mpk_value args[%zu] = { "
				 : "\tstruct mpk_any args[%zu] = { ",
			  s->input_count + 1);
	for (size_t i = 0; i < s->input_count; i++) {
		enum c_class c = header_class_of(&s->inputs[i].type);

		if (!legacy)
			mpk_strbuf_printf(out, "{ %d, 0, ", classes[c].ffi);
		mpk_strbuf_printf(out, "{ %s", classes[c].member);
		header_put_name(s, i, out);
		mpk_strbuf_puts(out, legacy ? " }, " : " } }, ");
	}
	mpk_strbuf_puts(out, legacy ? "{ 0 } }, result;\n" : "{ 0 } }, result = { 0 };\n");
	if (!legacy)
		return;
	mpk_strbuf_printf(out, "\tint codes[%zu] = { ", s->input_count + 1);
	for (size_t i = 0; i < s->input_count; i++)
		mpk_strbuf_printf(out, "%d, ", classes[header_class_of(&s->inputs[i].type)].legacy);
	mpk_strbuf_puts(out, "0 }, code;\n");
}

/* Writes a wrapper that packs its arguments by the library's calling convention. It calls the
 * library's symbol directly, without a runtime. */
static void put_typed(const struct mpk_image_function *f, const struct mpk_signature *s,
		      bool legacy, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "static inline int %s_call(", f->name);
	for (size_t i = 0; i < s->input_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_strbuf_puts(out, classes[header_class_of(&s->inputs[i].type)].declared);
		header_put_name(s, i, out);
	}
	mpk_strbuf_puts(out, s->input_count ? ")\n{\n" : "void)\n{\n");
	put_arguments(s, legacy, out);
	if (legacy)
		mpk_strbuf_printf(out,
				  "\n\treturn %s(args, codes, %zu, &result, &code, NULL);\n}\n",
				  f->symbol, s->input_count);
	else
		mpk_strbuf_printf(out, "\n\treturn %s(NULL, args, %zu, &result);\n}\n", f->symbol,
				  s->input_count);
}

/* Declares each symbol once: an alias gets only its comment. */
static void put_c_function(const struct mpk_view *view, size_t index, bool legacy,
			   struct mpk_strbuf *out)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *s = mpk_view_host(view, index);

	mpk_strbuf_puts(out, "\n/* ");
	header_put_signature(view, index, out);
	if (f->alias_of || !is_identifier(mpk_span_str(f->symbol))) {
		mpk_strbuf_puts(out, f->alias_of ? " */\n" : ": its symbol is no identifier */\n");
		return;
	}
	mpk_strbuf_puts(out, s ? " */\n" : ": what it takes is not known */\n");
	mpk_strbuf_printf(out,
			  legacy ? "int %s(void *args, int *codes, int count, void *result, int "
				   "*code, void *resource);\n"
				 : "int %s(void *self, const struct mpk_any *args, int count, "
				   "struct mpk_any *result);\n",
			  f->symbol);
	if (is_typed(s) && is_identifier(mpk_span_str(f->name)))
		put_typed(f, s, legacy, out);
}

/* A library that contains its executor exports only the functions of its model, always in tvm-ffi's
 * convention. */
static void put_c_models(const struct mpk_view *view, struct mpk_strbuf *out)
{
	for (size_t n = 0; n < view->count; n++)
		for (size_t i = 0; i < view->nodes[n].models.count; i++) {
			const struct mpk_signature *m = &view->nodes[n].models.items[i];
			MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

			mpk_signature_text(m, &text);
			mpk_strbuf_puts(out, "\n/* ");
			header_put_comment(&text, out);
			if (!is_identifier(m->name)) {
				mpk_strbuf_puts(out, ": its symbol is no identifier */\n");
				continue;
			}
			mpk_strbuf_puts(out, ": what it returns is dropped as mpk/standalone.h "
					     "says */\nint __tvm_ffi_");
			mpk_strbuf_put_span(out, m->name);
			mpk_strbuf_puts(out, "(void *self, const struct mpk_any *args, int count, "
					     "struct mpk_any *result);\n");
		}
}

static void c_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;
	bool is_model = view->image->carrier.len;
	bool legacy = view->image->convention == MPK_CONV_LEGACY && !is_model;

	(void)style;
	header_put_title(view, "/* The functions of ", ", declared by minspect header.\n", out);
	mpk_strbuf_puts(out,
			" * NAME_call returns 0, or what the function returns when it fails. */\n"
			"#pragma once\n\n#include <stdbool.h>\n#include <stddef.h>\n"
			"#include <stdint.h>\n\n"
			"#ifdef DLPACK_DLPACK_H_\ntypedef DLTensor mpk_tensor;\n"
			"#else /* tensors are DLTensor of <dlpack/dlpack.h> */\n"
			"typedef void mpk_tensor;\n#endif\n\n");
	mpk_strbuf_puts(out,
			legacy ? "#ifndef MPK_HEADER_LEGACY\n#define MPK_HEADER_LEGACY\n"
				 "union mpk_value { /* TVMValue */\n\tint64_t i;\n\tdouble f;\n"
				 "\tvoid *p;\n};\n#endif\n"
			       : "#ifndef MPK_HEADER_FFI\n#define MPK_HEADER_FFI\n"
				 "struct mpk_any { /* TVMFFIAny */\n\tint32_t type;\n"
				 "\tuint32_t zero;\n\tunion {\n\t\tint64_t i;\n\t\tdouble f;\n"
				 "\t\tvoid *p;\n\t} as;\n};\n#endif\n");
	mpk_strbuf_puts(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	if (is_model)
		put_c_models(view, out);
	for (size_t i = 0; i < view->image->function_count && !is_model; i++)
		put_c_function(view, i, legacy, out);
	mpk_strbuf_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n");
}

/* --- Python ----------------------------------------------------------------------------- */

/* Writes methods of a Protocol, which type checkers read and nothing executes. The result is None,
 * as compiled functions write to their arguments. */
static void put_python_function(const struct mpk_view *view, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_image_function *f = &view->image->functions[index];
	const struct mpk_signature *s = mpk_view_host(view, index);
	struct mpk_span name = mpk_span_str(f->name);

	mpk_strbuf_puts(out, "\n    # ");
	header_put_signature(view, index, out);
	if (!is_identifier(name) || is_reserved(name)) {
		mpk_strbuf_puts(out, ": its name is no identifier, module[...] finds it\n");
		return;
	}
	mpk_strbuf_printf(out, "\n    def %s(self", f->name);
	for (size_t i = 0; s && i < s->input_count; i++) {
		enum c_class c = header_class_of(&s->inputs[i].type);

		mpk_strbuf_puts(out, ", ");
		header_put_name(s, i, out);
		mpk_strbuf_printf(out, ": %s", c == C_UNKNOWN ? "Any" : classes[c].python);
	}
	mpk_strbuf_puts(out, s ? ") -> None: ...\n" : ", *args: Any) -> Any: ...\n");
}

static void python_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_view *view = what;

	(void)style;
	header_put_title(view, "# The functions of ", ", declared by minspect header\n", out);
	mpk_strbuf_puts(out, "from typing import Any, Protocol\n\n"
			     "Tensor = Any  # whatever has __dlpack__\n\n\n"
			     "class Library(Protocol):\n"
			     "    def __getitem__(self, name: str, /) -> Any: ...\n");
	for (size_t i = 0; i < view->image->function_count && !view->image->carrier.len; i++)
		put_python_function(view, i, out);
	for (size_t n = 0; n < view->count; n++)
		for (size_t i = 0; i < view->nodes[n].models.count; i++) {
			text.len = 0;
			mpk_signature_text(&view->nodes[n].models.items[i], &text);
			mpk_strbuf_puts(out, "\n    # of an executor: ");
			header_put_comment(&text, out);
			mpk_strbuf_putc(out, '\n');
		}
}

const struct mpk_answer mpk_answer_c_header = { .text = c_text },
			mpk_answer_python_stub = { .text = python_text };
