/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - the type of a kernel's parameter, through the typedefs, records and macros of its
 * text
 *
 * This is the only place that decides what a parameter of a source can be. A declaration is
 * expanded: words that mean a type are replaced by that type. What only a compiler can decide (a
 * template, a header's type) is unknown. For a record its least size is returned, and whether it
 * may consist of an address only, which a launch can pass. */
#include <string.h>

#include "sourcecode/internal/sourcecode.h"
#include "sourcecode/sourcecode.h"

/* Limits, because hostile texts have types that expand to types that expand to types. */
enum { DEPTH_MAX = 16, WORDS_MAX = 256, TEXT_MAX = 4096, MEMBERS_MAX = 256 };

/* A declaration that is being expanded. */
struct written {
	struct mpk_source_code_index *index;
	enum mpk_source_code_language language;
	struct mpk_span name; /* name of the parameter, which is not expanded */
	struct mpk_strbuf text;
	size_t words; /* number of words inserted by types */
	bool open;    /* one of its words may be anything */
	bool points;  /* one of its types is a pointer, so "const" applies to the pointer */
	struct mpk_source_code_type
		*type; /* the last record, vector or enumeration among its words */
};

static bool sourcecode_resolve(struct mpk_span param, enum mpk_source_code_language language,
			       struct mpk_source_code_index *index, unsigned depth,
			       struct mpk_source_code_resolved *out);

/* --- expansion ---------------------------------------------------------------------------- */

static void write_out(struct written *w, struct mpk_span text, unsigned depth);

/* Whether a word is a number type of the language, even if a typedef has its name. */
static bool is_own(struct mpk_span word)
{
	struct mpk_source_code_param p;

	mpk_source_code_param_read(word, &p);
	return p.dtype.bits != 0;
}

/* Limited in depth, words and bytes, because a hostile text can reach each limit alone. */
static void write_word(struct written *w, struct mpk_span word, unsigned depth)
{
	struct mpk_source_code_type *type =
		word.data == w->name.data ? NULL : mpk_source_code_find_type(w->index, word);

	w->words += depth > 0;
	if (type && type->kind == MPK_SOURCE_CODE_TYPE_OPEN && !type->is_macro && is_own(word))
		type = NULL;
	if (!type || type->kind != MPK_SOURCE_CODE_TYPE_ALIAS) {
		w->open |= type && type->kind == MPK_SOURCE_CODE_TYPE_OPEN;
		if (type && type->kind != MPK_SOURCE_CODE_TYPE_OPEN)
			w->type = type;
		mpk_strbuf_put_span(&w->text, word);
		return;
	}
	/* in its own expansion a macro or a type is a plain word */
	if (depth == DEPTH_MAX || w->words > WORDS_MAX || w->text.len > TEXT_MAX) {
		w->open = true;
		return;
	}
	w->points |= type->is_pointer || (memchr(type->words.data, '*', type->words.len) &&
					  !mpk_span_has(type->words, "const"));
	write_out(w, type->words, depth + 1);
	mpk_strbuf_puts(&w->text, type->is_pointer ? " * " : "");
}

/* Returns the offset after the closing angle bracket. */
static size_t skip_angles(struct mpk_span s, size_t i)
{
	size_t depth = 0;

	for (; i < s.len; i++) {
		depth += s.data[i] == '<';
		depth -= depth && s.data[i] == '>';
		if (!depth)
			return i + 1;
	}
	return s.len;
}

/* Arguments of templates and names of namespaces are left out: they do not change how the value is
 * passed. */
static void write_out(struct written *w, struct mpk_span text, unsigned depth)
{
	for (size_t i = 0; i < text.len;) {
		struct mpk_span word = { 0 };
		size_t behind;

		if (mpk_source_code_is_word(text.data[i])) {
			size_t at = i;

			word = mpk_source_code_next_word(text, &at);
			behind = mpk_source_code_skip_blanks(text, at);
			i = at;
			if (behind + 1 < text.len && text.data[behind] == ':' &&
			    text.data[behind + 1] == ':')
				i = behind + 2;
			else
				write_word(w, word, depth);
		} else if (text.data[i] == '<') {
			i = skip_angles(text, i);
			mpk_strbuf_putc(&w->text, ' ');
		} else {
			mpk_strbuf_putc(&w->text, (char)text.data[i++]);
		}
	}
}

/* --- sizes ---------------------------------------------------------------------------------- */

struct size {
	uint64_t bytes;
	bool holds_address;
};

/* Returns "[4][N]" as a factor; 1 if one is not a number. */
static uint64_t count_elements(struct mpk_span declarator, struct mpk_source_code_index *index)
{
	uint64_t count = 1;

	for (size_t i = 0; i < declarator.len; i++) {
		size_t at = i;
		uint32_t extent;

		if (declarator.data[i] == '[' &&
		    mpk_source_code_constant(index, mpk_source_code_next_word(declarator, &at),
					     &extent) &&
		    count < 1U << 20 && extent < 1U << 20)
			count *= extent;
	}
	return count;
}

/* Measures one member, "float x[4]". A member in another form has no known size and may be
 * anything. */
static struct size measure_member(struct mpk_span text, enum mpk_source_code_language language,
				  struct mpk_source_code_index *index, unsigned depth)
{
	const uint8_t *bracket = memchr(text.data, '[', text.len);
	struct size size = { 0, true };
	struct mpk_source_code_resolved r;
	uint64_t count = count_elements(text, index);

	if (memchr(text.data, '(', text.len) || memchr(text.data, '{', text.len) ||
	    memchr(text.data, ':', text.len) || memchr(text.data, '=', text.len))
		return size;
	if (bracket)
		text.len = (size_t)(bracket - text.data);
	if (!sourcecode_resolve(text, language, index, depth, &r))
		return size;
	if (r.kind == MPK_SOURCE_CODE_BUFFER || r.kind == MPK_SOURCE_CODE_LOCAL)
		size.bytes = 8;
	else if (r.kind == MPK_SOURCE_CODE_NUMBER)
		size = (struct size){ r.dtype.bits / 8U, false };
	else if (r.kind == MPK_SOURCE_CODE_VALUE)
		size = (struct size){ r.least_bytes, r.holds_address };
	size.bytes *= count;
	return size;
}

/* Returns the text up to a sign outside of brackets; *rest begins after it. */
static struct mpk_span cut(struct mpk_span *rest, char sign)
{
	struct mpk_span s = *rest;
	size_t depth = 0, i = 0;

	for (; i < s.len && (depth || s.data[i] != (uint8_t)sign); i++) {
		depth += s.data[i] == '{' || s.data[i] == '(' || s.data[i] == '[' ||
			 s.data[i] == '<';
		depth -= depth && (s.data[i] == '}' || s.data[i] == ')' || s.data[i] == ']' ||
				   s.data[i] == '>');
	}
	*rest = mpk_span_of(s.data + (i < s.len ? i + 1 : i), s.len - (i < s.len ? i + 1 : i));
	return mpk_span_of(s.data, i);
}

/* Members of a union share their bytes. */
static void add_size(struct mpk_source_code_type *type, struct size s)
{
	type->holds_address |= s.holds_address;
	if (!type->is_union)
		type->least_bytes += s.bytes;
	else if (type->least_bytes < s.bytes)
		type->least_bytes = s.bytes;
}

/* In "float x, *y[4]" the names after the first have the type of the first, or are pointers. */
static void measure_line(struct mpk_source_code_type *type, struct mpk_span line,
			 enum mpk_source_code_language language,
			 struct mpk_source_code_index *index, unsigned depth)
{
	struct mpk_span first = cut(&line, ',');
	struct size size = measure_member(first, language, index, depth), one = size;
	uint64_t count = count_elements(first, index);

	one.bytes = count ? size.bytes / count : 0;
	add_size(type, size);
	while (line.len) {
		struct mpk_span next = cut(&line, ',');
		bool star = memchr(next.data, '*', next.len) || memchr(first.data, '*', first.len);
		struct size other = star ? (struct size){ 0, true } : one;

		other.bytes *= count_elements(next, index);
		add_size(type, other);
	}
}

static void sourcecode_measure(struct mpk_source_code_type *type,
			       enum mpk_source_code_language language,
			       struct mpk_source_code_index *index, unsigned depth)
{
	struct mpk_span rest = type->words;

	if (type->measured)
		return;
	type->measured = true; /* set first, because a type may contain itself */
	type->holds_address = !rest.len;
	for (size_t n = 0; rest.len; n++) {
		struct mpk_span line = cut(&rest, ';'), word;
		size_t at = 0;

		word = mpk_source_code_next_word(line, &at);
		if (mpk_span_is(word, "public") || mpk_span_is(word, "private") ||
		    mpk_span_is(word, "protected")) {
			struct mpk_span behind = line;

			(void)cut(&behind, ':');
			line = behind;
			at = 0;
			word = mpk_source_code_next_word(line, &at);
		}
		if (!word.len || mpk_span_is(word, "typedef") || mpk_span_is(word, "using") ||
		    mpk_span_is(word, "static"))
			continue;
		if (n == MEMBERS_MAX || depth == DEPTH_MAX) {
			type->holds_address = true;
			return;
		}
		measure_line(type, line, language, index, depth);
	}
}

/* --- the result ----------------------------------------------------------------------------- */

/* Recognises types that compilers and their headers define. */
static bool take_known(struct mpk_span text, struct mpk_source_code_resolved *out)
{
	static const struct {
		const char *word;
		uint64_t bytes;
		bool number; /* a number of 64 bits; false: a value without an address in it */
	} known[] = {
		{ "sampler_t", 8, false },
		{ "sampler", 8, false },
		{ "dim3", 12, false },
		{ "CUtensorMap", 128, false },
		{ "cudaTextureObject_t", 8, true },
		{ "cudaSurfaceObject_t", 8, true },
		{ "CUdeviceptr", 8, true },
		{ "cuFloatComplex", 8, false },
		{ "cuComplex", 8, false },
		{ "cuDoubleComplex", 16, false },
	};
	struct mpk_span word;

	for (size_t at = 0; (word = mpk_source_code_next_word(text, &at)).len;)
		for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
			if (!mpk_span_is(word, known[i].word))
				continue;
			out->kind =
				known[i].number ? MPK_SOURCE_CODE_NUMBER : MPK_SOURCE_CODE_VALUE;
			if (known[i].number)
				out->dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 64, 1 };
			out->least_bytes = known[i].bytes;
			return true;
		}
	return false;
}

/* Compares whole words: "structure" does not contain "struct". */
static bool mentions(struct mpk_span text, const char *word)
{
	struct mpk_span own;

	for (size_t at = 0; (own = mpk_source_code_next_word(text, &at)).len;)
		if (mpk_span_is(own, word))
			return true;
	return false;
}

/* Neither a number nor a pointer by its words: a value of a type that the text defines, or unknown. */
static void sourcecode_take_value(struct written *w, struct mpk_span text, unsigned depth,
				  struct mpk_source_code_resolved *out)
{
	bool tagged =
		mentions(text, "struct") || mentions(text, "class") || mentions(text, "union");
	struct mpk_dtype number = { MPK_DTYPE_INT, 32, 1 };
	struct mpk_source_code_resolved behind = { 0 };

	out->dtype = (struct mpk_dtype){ 0 };
	if (w->type && w->type->kind == MPK_SOURCE_CODE_TYPE_VECTOR)
		return;
	if (w->type && w->type->kind == MPK_SOURCE_CODE_TYPE_RECORD) {
		sourcecode_measure(w->type, w->language, w->index, depth + 1);
		out->least_bytes = w->type->least_bytes;
		out->holds_address = w->type->holds_address;
	} else if (w->type || mentions(text, "enum")) {
		out->kind = MPK_SOURCE_CODE_NUMBER;
		if (w->type && w->type->words.len &&
		    sourcecode_resolve(w->type->words, w->language, w->index, depth + 1, &behind) &&
		    behind.kind == MPK_SOURCE_CODE_NUMBER)
			number = behind.dtype;
		out->dtype = number;
	} else if (tagged) {
		out->holds_address = true;
	} else if (!take_known(text, out)) {
		out->kind = MPK_SOURCE_CODE_UNKNOWN;
	}
}

/* Classifies first by the expanded words, then by the types among them. */
static void sourcecode_classify(struct written *w, struct mpk_span text, unsigned depth,
				struct mpk_source_code_resolved *out)
{
	bool reference = memchr(text.data, '&', text.len) != NULL;
	struct mpk_source_code_param p;

	mpk_source_code_param_read(text, &p);
	*out = (struct mpk_source_code_resolved){ .kind = p.kind,
						  .dtype = p.dtype,
						  .read_only = p.read_only && !w->points };
	if (w->language == MPK_SOURCE_CODE_OPENCL)
		out->refused = p.refused;
	if (w->open) {
		/* its words may mean anything but a pointer; in OpenCL a pointer names the memory that it points to */
		bool buffer = p.kind == MPK_SOURCE_CODE_BUFFER &&
			      (p.is_global || w->language == MPK_SOURCE_CODE_CUDA);

		*out = (struct mpk_source_code_resolved){
			.kind = buffer ? MPK_SOURCE_CODE_BUFFER : MPK_SOURCE_CODE_UNKNOWN
		};
	} else if (p.kind == MPK_SOURCE_CODE_VALUE && p.dtype.lanes > 1) {
		/* OpenCL's vectors of three take the space of four. */
		unsigned lanes = p.dtype.lanes == 3 && w->language != MPK_SOURCE_CODE_CUDA
					 ? 4
					 : p.dtype.lanes;

		out->least_bytes = (uint64_t)lanes * p.dtype.bits / 8;
	} else if (p.kind == MPK_SOURCE_CODE_VALUE) {
		sourcecode_take_value(w, text, depth, out);
	}
	/* the parameters of a macro, or a reference to something else */
	if ((out->kind == MPK_SOURCE_CODE_VALUE || out->kind == MPK_SOURCE_CODE_NUMBER) &&
	    (reference || memchr(text.data, '(', text.len)))
		*out = (struct mpk_source_code_resolved){ .kind = MPK_SOURCE_CODE_UNKNOWN };
}

/* Returns false if memory is out, or the text is nested too deeply; out is "unknown" then. */
static bool sourcecode_resolve(struct mpk_span param, enum mpk_source_code_language language,
			       struct mpk_source_code_index *index, unsigned depth,
			       struct mpk_source_code_resolved *out)
{
	struct written w = { .index = index, .language = language };
	struct mpk_source_code_param own;
	bool written;

	*out = (struct mpk_source_code_resolved){ .kind = MPK_SOURCE_CODE_UNKNOWN };
	if (!param.len || depth > DEPTH_MAX)
		return param.len == 0;
	mpk_source_code_param_read(param, &own);
	w.name = own.name;
	write_out(&w, param, 0);
	written = mpk_strbuf_status(&w.text, NULL) == MPK_OK;
	if (written && w.text.len)
		sourcecode_classify(&w, mpk_span_of(w.text.data, w.text.len), depth, out);
	mpk_strbuf_fini(&w.text);
	return written;
}

bool mpk_source_code_resolve(struct mpk_span param, enum mpk_source_code_language language,
			     struct mpk_source_code_index *index,
			     struct mpk_source_code_resolved *out)
{
	return sourcecode_resolve(param, language, index, 0, out);
}
