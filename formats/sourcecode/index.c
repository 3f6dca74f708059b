/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - the words of a source: names, directives, options, and tables of them
 *
 * These functions are called for any text, whether it can be parsed or not; so they skip only
 * comments, and never fail. A table stores only where each word begins, because a long text may
 * consist of short words. */
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"
#include "base/strmap.h"
#include "sourcecode/internal/sourcecode.h"
#include "sourcecode/sourcecode.h"

size_t mpk_source_code_skip_blanks(struct mpk_span s, size_t i)
{
	while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t'))
		i++;
	return i;
}

/* Returns the end of the line at i, including lines that a backslash joins to it. */
static size_t line_end(struct mpk_span s, size_t i)
{
	for (; i < s.len; i++)
		if (s.data[i] == '\n' && (i == 0 || s.data[i - 1] != '\\') &&
		    (i < 2 || s.data[i - 1] != '\r' || s.data[i - 2] != '\\'))
			break;
	return i;
}

struct mpk_span mpk_source_code_name_at(struct mpk_span s, size_t i, size_t end)
{
	size_t from = i;

	while (i < end && mpk_source_code_is_name(s.data[i]))
		i++;
	return mpk_span_of(s.data + from, i - from);
}

bool mpk_source_code_next_directive(struct mpk_span s, size_t *at,
				    struct mpk_source_code_directive *out)
{
	while (*at < s.len) {
		size_t end = line_end(s, *at), i = mpk_source_code_skip_blanks(s, *at);

		*at = end + 1;
		if (i >= end || s.data[i] != '#')
			continue;
		i = mpk_source_code_skip_blanks(s, i + 1);
		out->name = mpk_source_code_name_at(s, i, end);
		i = mpk_source_code_skip_blanks(s, i + out->name.len);
		out->rest = mpk_span_of(s.data + (i < end ? i : end), i < end ? end - i : 0);
		return true;
	}
	return false;
}

/* Returns the end of the comment that begins at i; i: none does. */
static size_t skip_comment(struct mpk_span s, size_t i)
{
	const uint8_t *end;

	if (s.len - i < 2 || s.data[i] != '/')
		return i;
	if (s.data[i + 1] == '/') {
		end = memchr(s.data + i, '\n', s.len - i);
		return end ? (size_t)(end - s.data) : s.len;
	}
	if (s.data[i + 1] != '*')
		return i;
	end = memmem(s.data + i + 2, s.len - i - 2, "*/", 2);
	return end ? (size_t)(end - s.data) + 2 : s.len;
}

/* Returns the next name outside of comments, and moves *at past it. */
static struct mpk_span source_code_next_name(struct mpk_span text, size_t *at)
{
	while (*at < text.len) {
		size_t behind = skip_comment(text, *at);
		struct mpk_span name;

		if (behind != *at) {
			*at = behind;
			continue;
		}
		name = mpk_source_code_name_at(text, *at, text.len);
		*at += name.len + !name.len;
		if (name.len)
			return name;
	}
	return (struct mpk_span){ 0 };
}

/* --- Questions that are asked once for a text, or for a short text --- */

struct mpk_span mpk_source_code_includes(struct mpk_span bytes)
{
	struct mpk_source_code_directive d;
	const uint8_t *end;

	for (size_t at = 0; mpk_source_code_next_directive(bytes, &at, &d);) {
		if (!mpk_span_is(d.name, "include") || !d.rest.len || d.rest.data[0] != '"')
			continue;
		end = memchr(d.rest.data + 1, '"', d.rest.len - 1);
		if (end)
			return mpk_span_of(d.rest.data + 1, (size_t)(end - d.rest.data) - 1);
	}
	return (struct mpk_span){ 0 };
}

/* A star right after a type: the parameter is a pointer to it. */
static bool is_pointer(struct mpk_span s, size_t i)
{
	i = mpk_source_code_skip_blanks(s, i);
	return i < s.len && s.data[i] == '*';
}

/* Compares whole words: "float2" is not in "float2x2". */
bool mpk_source_code_mentions(struct mpk_span bytes, const char *word, bool as_value)
{
	struct mpk_span name;

	for (size_t at = 0; (name = source_code_next_name(bytes, &at)).len;)
		if (mpk_span_is(name, word) && !(as_value && is_pointer(bytes, at)))
			return true;
	return false;
}

/* One pass over the text for any number of words. */
bool mpk_source_code_mentions_any(struct mpk_span bytes, const struct mpk_strmap *words)
{
	struct mpk_span name;
	size_t ignored;

	for (size_t at = 0; words->count && (name = source_code_next_name(bytes, &at)).len;)
		if (mpk_strmap_find(words, name, &ignored))
			return true;
	return false;
}

/* --- Options of the run-time compiler, which a kernel module has no field for --- */

/* Blanks of one line: a newline ends the options. */
static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool mpk_source_code_nvrtc(struct mpk_span bytes, struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX],
			   size_t *count)
{
	const uint8_t *end;
	size_t at = strlen(MPK_SOURCE_CODE_NVRTC), len;

	*count = 0;
	if (!mpk_span_starts(bytes, MPK_SOURCE_CODE_NVRTC))
		return true;
	end = memchr(bytes.data, '\n', bytes.len);
	len = end ? (size_t)(end - bytes.data) : bytes.len;
	for (;;) {
		while (at < len && is_blank(bytes.data[at]))
			at++;
		if (at == len)
			return true;

		size_t start = at;
		while (at < len && !is_blank(bytes.data[at]))
			at++;
		if (bytes.data[start] != '-' || *count == MPK_SOURCE_CODE_NVRTC_MAX)
			return false;
		words[(*count)++] = mpk_span_of(bytes.data + start, at - start);
	}
}

/* The constant that a directive defines for the word in the same slot. */
struct constant {
	uint32_t value;
	bool known; /* the word is this number wherever the text is compiled */
};

/* A hash table with open addressing, of offsets plus 1; 0 is a free slot. */
struct mpk_source_code_words {
	uint32_t *offsets;
	size_t cap;                 /* 0: the list could not be made */
	bool (*belongs)(uint8_t c); /* whether a byte belongs to a word of this list */
	struct constant *constants; /* for each slot; only in the list of constants, else NULL */
};

/* A pass over the text, and the function to call for each word of a list. */
struct pass {
	struct mpk_span bytes;
	struct mpk_source_code_words *words;
	size_t count;
	void (*found)(struct pass *p, struct mpk_span word, const struct constant *c);
};

/* --- tables ------------------------------------------------------------------------------- */

/* Whether the word at off is this one, as a whole word. */
static bool is_at(const struct mpk_source_code_words *w, struct mpk_span bytes, size_t off,
		  struct mpk_span word)
{
	size_t end = off;

	while (end < bytes.len && end - off <= word.len && w->belongs(bytes.data[end]))
		end++;
	return mpk_span_equal(mpk_span_of(bytes.data + off, end - off), word);
}

/* Returns the slot of a word, or the free slot for it. */
static size_t probe(const struct mpk_source_code_words *w, struct mpk_span bytes,
		    struct mpk_span word)
{
	size_t i = (size_t)(mpk_strmap_hash(word) % w->cap);

	while (w->offsets[i] && !is_at(w, bytes, w->offsets[i] - 1, word))
		i = i + 1 < w->cap ? i + 1 : 0;
	return i;
}

static void count(struct pass *p, struct mpk_span word, const struct constant *c)
{
	(void)c;
	p->count += word.len != 0;
}

static void sourcecode_put(struct pass *p, struct mpk_span word, const struct constant *c)
{
	struct mpk_source_code_words *w = p->words;
	size_t slot;

	if (!word.len)
		return;
	slot = probe(w, p->bytes, word);
	if (w->constants && !w->offsets[slot])
		w->constants[slot] = *c;
	else if (w->constants) /* defined twice: the value depends on the place */
		w->constants[slot].known = false;
	if (!w->offsets[slot])
		w->offsets[slot] = (uint32_t)(word.data - p->bytes.data) + 1;
}

/* --- lists -------------------------------------------------------------------------------- */

static void each_word(struct pass *p)
{
	struct mpk_span word;

	for (size_t at = 0; (word = source_code_next_name(p->bytes, &at)).len;)
		p->found(p, word, NULL);
}

/* Visits the word after each "#define". Anything between '#' and the directive is skipped, also
 * more '#'. */
static void each_macro(struct pass *p)
{
	struct mpk_span s = p->bytes;
	const uint8_t *sign;
	size_t at = 0;

	while (at < s.len && (sign = memchr(s.data + at, '#', s.len - at))) {
		size_t behind;

		at = (size_t)(sign - s.data);
		if (!mpk_span_is(mpk_source_code_next_word(s, &at), "define"))
			continue;
		behind = at;
		p->found(p, mpk_source_code_next_word(s, &behind), NULL);
	}
}

/* Visits all words of a typedef outside of braces: any may be its name. */
static void each_typedef(struct pass *p)
{
	static const char keyword[] = "typedef";
	const uint8_t *at = p->bytes.data, *end = p->bytes.data + p->bytes.len;
	size_t depth = 0;

	while (at < end && (at = memmem(at, (size_t)(end - at), keyword, sizeof keyword - 1))) {
		for (at += sizeof keyword - 1; at < end && (depth || *at != ';'); at++) {
			size_t i = 0;

			depth += *at == '{';
			depth -= depth && *at == '}';
			if (!depth && !mpk_source_code_is_word(at[-1]) &&
			    mpk_source_code_is_word(*at))
				p->found(p,
					 mpk_source_code_next_word(
						 mpk_span_of(at, (size_t)(end - at)), &i),
					 NULL);
		}
	}
}

static void each_class(struct pass *p)
{
	static const char *const makers[] = { "struct ", "class ", "union " };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(makers); i++) {
		const uint8_t *at = p->bytes.data, *end = p->bytes.data + p->bytes.len;
		size_t n = strlen(makers[i]);

		while ((at = memmem(at, (size_t)(end - at), makers[i], n))) {
			const uint8_t *behind = at += n;

			while (behind < end && mpk_source_code_is_word(*behind))
				behind++;
			if (behind < end && strchr(" \t\n{;", *behind))
				p->found(p, mpk_span_of(at, (size_t)(behind - at)), NULL);
		}
	}
}

static bool parse_constant(struct mpk_span text, uint32_t *out)
{
	uint64_t v;

	if (text.len > 1 && (text.data[text.len - 1] | 0x20) == 'u')
		text.len--;
	if (!text.len || !mpk_parse_u64(text, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* A definition under a condition depends on the compilation. */
static void each_constant(struct pass *p)
{
	struct mpk_source_code_directive d;
	size_t at = 0, depth = 0;

	while (mpk_source_code_next_directive(p->bytes, &at, &d)) {
		struct mpk_span name = mpk_source_code_name_at(d.rest, 0, d.rest.len), value;
		size_t i = mpk_source_code_skip_blanks(d.rest, name.len);
		struct constant c = { 0 };

		depth += mpk_span_starts(d.name, "if");
		depth -= depth && mpk_span_is(d.name, "endif");
		if (!mpk_span_is(d.name, "define") && !mpk_span_is(d.name, "undef"))
			continue;
		value = mpk_source_code_name_at(d.rest, i, d.rest.len);
		i = mpk_source_code_skip_blanks(d.rest, i + value.len);
		c.known = !depth && parse_constant(value, &c.value) &&
			  (i >= d.rest.len || d.rest.data[i] == '/' || d.rest.data[i] == '\r');
		p->found(p, name, &c);
	}
}

static const struct {
	void (*each)(struct pass *p);
	bool (*belongs)(uint8_t c);
} lists[] = {
	[MPK_SOURCE_CODE_WORDS] = { each_word, mpk_source_code_is_name },
	[MPK_SOURCE_CODE_MACROS] = { each_macro, mpk_source_code_is_word },
	[MPK_SOURCE_CODE_TYPEDEFS] = { each_typedef, mpk_source_code_is_word },
	[MPK_SOURCE_CODE_CLASSES] = { each_class, mpk_source_code_is_word },
	[MPK_SOURCE_CODE_CONSTANTS] = { each_constant, mpk_source_code_is_name },
};

/* Used if there is no memory for a table, so that it is not tried again. */
static const struct mpk_source_code_words nothing;

/* A text without bytes has no words; an offset has 32 bits. */
static const struct mpk_source_code_words *sourcecode_make(struct mpk_source_code_index *index,
							   enum mpk_source_code_list list)
{
	struct pass p = { .bytes = index->bytes, .found = count };
	struct mpk_source_code_words *w = mpk_arena_alloc(index->arena, sizeof *w);
	size_t cap;

	if (!w || index->bytes.len >= UINT32_MAX)
		return &nothing;
	if (index->bytes.len)
		lists[list].each(&p);
	cap = p.count + p.count / 3 + 1; /* at most three quarters full */
	w->belongs = lists[list].belongs;
	w->offsets = mpk_arena_array(index->arena, cap, sizeof *w->offsets);
	if (list == MPK_SOURCE_CODE_CONSTANTS)
		w->constants = mpk_arena_array(index->arena, cap, sizeof *w->constants);
	if (!w->offsets || (list == MPK_SOURCE_CODE_CONSTANTS && !w->constants))
		return &nothing;
	w->cap = cap;
	p.words = w;
	p.found = sourcecode_put;
	if (p.count)
		lists[list].each(&p);
	return w;
}

static const struct mpk_source_code_words *words_of(struct mpk_source_code_index *index,
						    enum mpk_source_code_list list)
{
	if (!index->lists[list])
		index->lists[list] = sourcecode_make(index, list);
	return index->lists[list];
}

/* --- look-ups ----------------------------------------------------------------------------- */

bool mpk_source_code_index_has(struct mpk_source_code_index *index, enum mpk_source_code_list list,
			       struct mpk_span word)
{
	const struct mpk_source_code_words *w = words_of(index, list);

	return w->cap ? w->offsets[probe(w, index->bytes, word)] != 0
		      : list != MPK_SOURCE_CODE_CLASSES;
}

bool mpk_source_code_constant(struct mpk_source_code_index *index, struct mpk_span word,
			      uint32_t *out)
{
	const struct mpk_source_code_words *w;
	size_t slot;

	if (!word.len || parse_constant(word, out))
		return word.len != 0;
	w = words_of(index, MPK_SOURCE_CODE_CONSTANTS);
	slot = w->cap ? probe(w, index->bytes, word) : 0;
	if (!w->cap || !w->offsets[slot] || !w->constants[slot].known)
		return false;
	*out = w->constants[slot].value;
	return true;
}

/* None of these is in a page of prose, whose headings begin with '#'. */
static void read_directives(struct mpk_source_code_index *index)
{
	struct mpk_source_code_directive d;

	if (index->has_directives)
		return;
	for (size_t at = 0; mpk_source_code_next_directive(index->bytes, &at, &d);) {
		bool define = mpk_span_is(d.name, "define"),
		     include = mpk_span_is(d.name, "include");

		index->defines |= define && d.rest.len;
		index->pastes |= define && mpk_span_has(d.rest, "##");
		index->includes |= include && d.rest.len;
		index->quotes |= include && mpk_span_has(d.rest, "\"");
	}
	index->has_directives = true;
}

bool mpk_source_code_may_hold(struct mpk_source_code_index *index, struct mpk_span name)
{
	read_directives(index);
	return mpk_span_starts(name, "_Z") || index->pastes || index->quotes ||
	       mpk_source_code_index_has(index, MPK_SOURCE_CODE_WORDS, name);
}

/* Without macros a mention is a declaration or a use: the reader finds all definitions. */
bool mpk_source_code_may_define(struct mpk_source_code_index *index, struct mpk_span name)
{
	read_directives(index);
	return (index->defines || index->includes || mpk_span_starts(name, "_Z")) &&
	       mpk_source_code_may_hold(index, name);
}
