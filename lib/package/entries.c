/* entries.c - the kernels that a code file defines */

#include <string.h>

#include "base/cursor.h"
#include "package/format.h"

/* --- a list that grows in an arena --------------------------------------------------- */

struct list {
	struct mpk_arena *arena;
	struct mpk_span *names;
	size_t count, cap;
	bool failed;
};

static void list_add(struct list *l, struct mpk_span name)
{
	if (l->count == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		struct mpk_span *grown = mpk_arena_array(l->arena, cap, sizeof *grown);

		if (!grown) {
			l->failed = true;
			return;
		}
		if (l->count)
			memcpy(grown, l->names, l->count * sizeof *grown);
		l->names = grown;
		l->cap = cap;
	}
	l->names[l->count++] = name;
}

static bool list_end(const struct list *l, struct mpk_span **names, size_t *count)
{
	if (l->failed)
		return false;
	*names = l->names;
	*count = l->count;
	return true;
}

/* --- words of source texts ------------------------------------------------------------- */

static bool is_word_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%' || c >= 0x80;
}

/* Where the comment that begins at i ends, or i when none does. */
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

/* The next word or single character from *at; false at the end. */
static bool next_token(struct mpk_span s, size_t *at, struct mpk_span *token)
{
	size_t i = *at, begin;

	for (;; i++) {
		size_t past;

		while (i < s.len && (past = skip_comment(s, i)) != i)
			i = past;
		if (i >= s.len)
			return false;
		if (s.data[i] > ' ')
			break;
	}
	begin = i;
	while (i < s.len && is_word_char(s.data[i]))
		i++;
	i += i == begin;
	*at = i;
	*token = mpk_span_of(s.data + begin, i - begin);
	return true;
}

static bool is_char(struct mpk_span token, char c)
{
	return token.len == 1 && token.data[0] == (uint8_t)c;
}

bool mpk_text_has_word(struct mpk_span text, struct mpk_span word)
{
	struct mpk_span token;
	size_t at = 0;

	while (next_token(text, &at, &token))
		if (mpk_span_equal(token, word))
			return true;
	return false;
}

/* Past a parenthesis and everything in it, the opening one already read. */
static void skip_parentheses(struct mpk_span s, size_t *at)
{
	struct mpk_span token;
	size_t open = 1;

	while (open && next_token(s, at, &token))
		open += is_char(token, '(') - (size_t)is_char(token, ')');
}

/* The name of the function whose declaration begins at *at: the word before its "(". */
static bool next_function(struct mpk_span s, size_t *at, struct mpk_span *name)
{
	struct mpk_span token, last = { 0 };

	while (next_token(s, at, &token)) {
		if (is_char(token, ';') || is_char(token, '{'))
			return false;
		if (!is_char(token, '(')) {
			last = token;
			continue;
		}
		if (!mpk_span_is(last, "__attribute__") && last.len) {
			*name = last;
			return is_word_char(last.data[0]);
		}
		skip_parentheses(s, at);
	}
	return false;
}

/* Functions whose declaration has one of the words before it. */
static bool list_functions(struct mpk_span s, const char *const words[2], struct list *l,
			   struct mpk_span **names, size_t *count)
{
	struct mpk_span token, name;
	size_t at = 0;

	while (next_token(s, &at, &token)) {
		if (!mpk_span_is(token, words[0]) && !mpk_span_is(token, words[1]))
			continue;
		if (next_function(s, &at, &name))
			list_add(l, name);
	}
	return list_end(l, names, count);
}

bool mpk_list_opencl(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		     size_t *count)
{
	struct list l = { .arena = arena };

	return list_functions(bytes, (const char *const[]){ "__kernel", "kernel" }, &l, names,
			      count);
}

bool mpk_list_metal(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count)
{
	struct list l = { .arena = arena };

	return list_functions(bytes, (const char *const[]){ "kernel", "kernel" }, &l, names,
			      count);
}

bool mpk_list_wgsl(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		   size_t *count)
{
	struct list l = { .arena = arena };

	return list_functions(bytes, (const char *const[]){ "fn", "fn" }, &l, names, count);
}

bool mpk_list_ptx(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		  size_t *count)
{
	struct list l = { .arena = arena };
	struct mpk_span token;
	bool directive = false;
	size_t at = 0;

	while (next_token(bytes, &at, &token)) {
		if (directive && mpk_span_is(token, "entry") &&
		    next_token(bytes, &at, &token) && is_word_char(token.data[0]))
			list_add(&l, token);
		directive = is_char(token, '.');
	}
	return list_end(&l, names, count);
}

/* --- binaries -------------------------------------------------------------------------- */

enum { SPIRV_HEADER_WORDS = 5, OP_ENTRY_POINT = 15, ENTRY_NAME_WORD = 3 };

bool mpk_list_spirv(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count)
{
	struct list l = { .arena = arena };
	size_t words = bytes.len / 4;

	for (size_t i = SPIRV_HEADER_WORDS; i < words;) {
		uint32_t first = mpk_load_u32(bytes.data + 4 * i);
		size_t length = first >> 16;

		if (length == 0 || length > words - i)
			return false;
		if ((first & 0xffff) == OP_ENTRY_POINT && length > ENTRY_NAME_WORD) {
			const char *name = (const char *)bytes.data + 4 * (i + ENTRY_NAME_WORD);

			list_add(&l, mpk_span_of(name, strnlen(name, 4 * (length -
									  ENTRY_NAME_WORD))));
		}
		i += length;
	}
	return list_end(&l, names, count);
}

enum {
	ELF64_SHOFF = 0x28, ELF64_SHENTSIZE = 0x3a, ELF64_SHNUM = 0x3c, ELF64_SHSTRNDX = 0x3e,
	ELF64_HEADER = 64, ELF64_SECTION = 64, SECTION_OFFSET = 24, SECTION_SIZE = 32,
};

/* Section i of a 64-bit ELF file as its header's bytes. */
static bool elf_section(struct mpk_span elf, size_t i, struct mpk_span *out)
{
	uint64_t off;

	return !__builtin_add_overflow(mpk_load_u64(elf.data + ELF64_SHOFF),
				       i * ELF64_SECTION, &off) &&
	       mpk_span_sub(elf, off, ELF64_SECTION, out);
}

/* A cubin has one section .text.KERNEL for each. */
bool mpk_list_cubin(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_span **names,
		    size_t *count)
{
	static const char prefix[] = ".text.";
	struct list l = { .arena = arena };
	struct mpk_span section, strings, name;

	if (bytes.len < ELF64_HEADER || bytes.data[4] != 2 ||
	    mpk_load_u16(bytes.data + ELF64_SHENTSIZE) != ELF64_SECTION ||
	    !elf_section(bytes, mpk_load_u16(bytes.data + ELF64_SHSTRNDX), &section) ||
	    !mpk_span_sub(bytes, mpk_load_u64(section.data + SECTION_OFFSET),
			  mpk_load_u64(section.data + SECTION_SIZE), &strings))
		return false;
	for (size_t i = 0; i < mpk_load_u16(bytes.data + ELF64_SHNUM); i++) {
		if (!elf_section(bytes, i, &section) ||
		    mpk_load_u32(section.data) >= strings.len)
			return false;
		name.data = strings.data + mpk_load_u32(section.data);
		name.len = strnlen((const char *)name.data,
				   strings.len - mpk_load_u32(section.data));
		if (mpk_span_starts(name, prefix))
			list_add(&l, mpk_span_of(name.data + sizeof prefix - 1,
						 name.len - (sizeof prefix - 1)));
	}
	return list_end(&l, names, count);
}
