/* SPDX-License-Identifier: Apache-2.0 */
/* prototypes.c - the prototypes in a library, and the devices of their tensors
 *
 * A text is certain if no longer name can begin before it. A text inside another one, such as
 * "add(" in "my_add(", may be that of add, merged by the linker, or no prototype at all: only code
 * that points at it decides. Code also decides between two certain texts for one name. Where code
 * says nothing, no prototype is returned. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hostcode/internal/hostcode.h"

/* --- devices -------------------------------------------------------------------------------
 *
 * The device on which a function expects its tensors. Prototypes do not name it. But the error
 * message for a tensor on another device ends with the device's name, a separate string that the
 * code points at. */

enum { NEAR_BYTES = 1 << 18, PLACES_MAX = 32, MESSAGE_MAX = 512, DEVICE_MAX = 32 };

/* The places of the names of devices. */
struct mpk_unit_names {
	struct place {
		int32_t device;
		uint64_t address;
	} items[PLACES_MAX];
	size_t count;
	const uint8_t *begin, *end; /* the bytes that were searched */
	bool knows_told;            /* the messages of launch functions have been searched */
	struct told {
		struct mpk_span function;
		int32_t device;
	} *told; /* the messages that were found; in the unit's arena */
	size_t told_count;
};

static void hostcode_device_collect(struct mpk_unit_names *names, const struct mpk_constants *c,
				    struct mpk_span where, int32_t device)
{
	const char *name = mpk_dl_device_name(device);
	size_t n = name ? strlen(name) + 1 : 0; /* with its NUL */
	const uint8_t *at = where.data, *end = where.data + where.len;

	while (n && names->count < PLACES_MAX && at < end &&
	       (at = memmem(at, (size_t)(end - at), name, n))) {
		names->items[names->count++] =
			(struct place){ device, c->address + (uint64_t)(at - c->bytes.data) };
		at += n;
	}
}

/* Returns the constants around an address, as far as those of one compilation unit reach. */
static struct mpk_span around(const struct mpk_constants *c, const uint8_t *near)
{
	size_t before = (size_t)(near - c->bytes.data), behind;

	if (near < c->bytes.data || before >= c->bytes.len)
		return (struct mpk_span){ 0 };
	behind = c->bytes.len - before;
	before = before < NEAR_BYTES ? before : NEAR_BYTES;
	behind = behind < NEAR_BYTES ? behind : NEAR_BYTES;
	return mpk_span_of(near - before, before + behind);
}

/* Compilers keep the strings of a compilation unit together; distant strings belong to other code. */
static void hostcode_device_search(struct mpk_unit *u, const uint8_t *near)
{
	static const int32_t devices[] = {
#define DEVICE(name, number, text) number,
		MPK_DL_DEVICES(DEVICE)
#undef DEVICE
	};

	u->devices->count = 0;
	for (size_t i = 0; i < u->constant_count; i++) {
		const struct mpk_constants *c = &u->constants[i];
		struct mpk_span where = around(c, near);

		if (!where.len)
			continue;
		u->devices->begin = near - (near - where.data) / 2;
		u->devices->end = near + (where.data + where.len - near) / 2;
		for (size_t k = 0; k < MPK_ARRAY_COUNT(devices); k++)
			hostcode_device_collect(u->devices, c, where, devices[k]);
	}
}

/* --- messages of mpack's launch functions ----------------------------------------------------- */

/* Returns the next message like "scale: argument 'in' must be on opencl, is on %s", from *at on. */
static bool next_told(struct mpk_span s, size_t *at, struct told *out)
{
	static const char mark[] = "' must be on ", behind[] = ": argument '", end[] = ", is on ";
	const uint8_t *found;

	while (*at < s.len && (found = memmem(s.data + *at, s.len - *at, mark, sizeof mark - 1))) {
		size_t pos = (size_t)(found - s.data),
		       from = pos < MESSAGE_MAX ? 0 : pos - MESSAGE_MAX;
		const uint8_t *nul = memrchr(s.data + from, 0, pos - from), *colon, *comma;
		const uint8_t *begin = nul ? nul + 1 : s.data + from,
			      *name = found + sizeof mark - 1;
		size_t left = s.len - (size_t)(name - s.data);

		*at = pos + 1;
		colon = memmem(begin, (size_t)(found - begin), behind, sizeof behind - 1);
		comma = memmem(name, left < DEVICE_MAX ? left : DEVICE_MAX, end, sizeof end - 1);
		if (!colon || !comma)
			continue;
		out->function = mpk_span_of(begin, (size_t)(colon - begin));
		if (mpk_dl_device_find(mpk_span_of(name, (size_t)(comma - name)), &out->device))
			return true;
	}
	return false;
}

/* Searches the whole file once: a search for each function would multiply the time. */
static enum mpk_code read_told(struct mpk_unit *u, struct mpk_error *err)
{
	struct mpk_unit_names *names = u->devices;
	struct told t;
	size_t count = 0, at;

	names->knows_told = true;
	for (size_t i = 0; i < u->constant_count; i++) {
		if (!mpk_unit_spend(u, u->constants[i].bytes.len))
			return MPK_OK;
		for (at = 0; next_told(u->constants[i].bytes, &at, &t);)
			count++;
	}
	if (!count)
		return MPK_OK;
	MPK_TRY_ARRAY(names->told, u->arena, count, err);
	for (size_t i = 0; i < u->constant_count; i++)
		for (at = 0; next_told(u->constants[i].bytes, &at, &t);)
			names->told[names->told_count++] = t;
	return MPK_OK;
}

static int32_t told(struct mpk_unit *u, const struct mpk_image_function *f)
{
	const struct mpk_unit_names *names = u->devices;

	if (!names->told || !mpk_unit_spend(u, names->told_count))
		return 0;
	for (size_t i = 0; i < names->told_count; i++) {
		struct mpk_span alias = mpk_unit_alias(u, mpk_span_str(f->name));

		if (mpk_span_is(names->told[i].function, f->name) ||
		    (alias.len && mpk_span_equal(names->told[i].function, alias)))
			return names->told[i].device;
	}
	return 0;
}

/* --- names that other code points at ----------------------------------------------------------- */

static int32_t named(struct mpk_unit *u, const struct mpk_image_function *f, const uint8_t *near)
{
	int32_t one = 0;

	if ((near < u->devices->begin || near >= u->devices->end) &&
	    mpk_unit_spend(u, (uint64_t)2 * NEAR_BYTES))
		hostcode_device_search(u, near);
	for (size_t i = 0; i < u->devices->count; i++) {
		const struct place *p = &u->devices->items[i];

		if (!mpk_unit_spend(u, f->bytes) ||
		    mpk_elf_code_first(u->elf, f->address, f->bytes, p->address) == UINT64_MAX)
			continue;
		if (one && one != p->device)
			return 0;
		one = p->device;
	}
	return one;
}

/* Finds the one device whose name the code of f points at, as code does that reports a tensor on
 * another device. Texts are searched near `near`, bytes of the unit's constants
 * @device  receives DLPack's number; 0: none, several, or a machine whose code is not searched
 * Returns  MPK_OK; MPK_E_NOMEM */
static enum mpk_code unit_device(struct mpk_unit *u, const struct mpk_image_function *f,
				 const uint8_t *near, int32_t *device, struct mpk_error *err)
{
	if (!u->devices)
		u->devices = mpk_arena_alloc(u->arena, sizeof *u->devices);
	MPK_TRY_ALLOC(u->devices, err);
	if (!u->devices->knows_told)
		MPK_TRY(read_told(u, err));
	*device = told(u, f);
	if (!*device)
		*device = named(u, f, near);
	return MPK_OK;
}

/* --- prototypes ---------------------------------------------------------------------------- */

/* Texts before a prototype in its message: in code of TVM, in launch functions of mpack. */
static const char *const marks[] = { " when calling:\n  `", "got %lld, when calling " };

enum {
	NAME_MAX_BYTES = 1024,  /* longest name in a prototype; longer ones are not searched */
	TEXT_MAX_BYTES = 65536, /* longest prototype: some hundred parameters */
};

/* A text that may be the prototype of a function. */
struct candidate {
	size_t function;
	struct mpk_span text;
	uint64_t address;
	bool whole; /* it begins where a string of the file begins */
	size_t order;
};

struct search {
	struct mpk_unit *unit;
	struct candidate *items;
	size_t count, cap;
	size_t most; /* limit of candidates; a file with more of them, or with more to read, gives
		      * no certain prototype */
	bool failed, too_many;
	bool in_names[256];               /* bytes that occur in the names of functions */
	bool lengths[NAME_MAX_BYTES + 1]; /* lengths that the names of functions have */
	size_t longest;
};

static void learn_name(struct search *s, struct mpk_span name)
{
	if (name.len > NAME_MAX_BYTES)
		return;
	for (size_t k = 0; k < name.len; k++)
		s->in_names[name.data[k]] = true;
	s->lengths[name.len] = true;
	s->longest = name.len > s->longest ? name.len : s->longest;
}

static void prototypes_add(struct search *s, const struct candidate *c)
{
	s->too_many |= s->count == s->most;
	if (s->too_many)
		return;
	if (!MPK_VEC_ROOM(s->items, s->count, s->cap)) {
		s->failed = true;
		return;
	}
	s->items[s->count] = *c;
	s->items[s->count].order = s->count;
	s->count++;
}

/* A string of the constants, without its NUL. */
struct string {
	const uint8_t *from, *end;
	bool whole; /* the beginning of the string was found */
};

/* Whether a byte may be part of a function name. Data may precede a text without a NUL in between,
 * so a name begins after any other byte. */
static bool is_name_byte(uint8_t c)
{
	return isalnum(c) || (c && strchr("_.$@:-", c));
}

/* Tries every name that ends at the parenthesis. */
static void look_before(struct search *s, const struct mpk_constants *c, struct string text,
			const uint8_t *parenthesis)
{
	size_t most = (size_t)(parenthesis - text.from);

	most = most < s->longest ? most : s->longest;
	for (size_t n = 1; n <= most && s->in_names[*(parenthesis - n)]; n++) {
		const uint8_t *from = parenthesis - n;
		struct candidate found = {
			.text = mpk_span_of(from, (size_t)(text.end - from)),
			.address = c->address + (uint64_t)(from - c->bytes.data),
			.whole = (text.whole && from == text.from) ||
				 (from > text.from && !is_name_byte(from[-1])),
		};

		if (!s->lengths[n])
			continue;
		/* each length that function names have costs one hash of the text before the parenthesis */
		s->too_many |= !mpk_unit_spend(s->unit, n);
		if (s->too_many)
			return;
		if (mpk_strmap_find(&s->unit->by_name, mpk_span_of(from, n), &found.function))
			prototypes_add(s, &found);
	}
}

/* Finds the string that contains `at`, looking back as far as a name can begin. Returns false if no
 * NUL ends the string. */
static bool find_string(const struct mpk_constants *c, const uint8_t *at, struct string *out)
{
	const uint8_t *begin = c->bytes.data, *end = begin + c->bytes.len, *from = at;
	const uint8_t *nul = memchr(at, 0, (size_t)(end - at));

	/* Bytes after the end of the previous string belong to this one. */
	while (from > begin && from > out->end && from[-1] && at - from <= NAME_MAX_BYTES)
		from--;
	*out = (struct string){ from, nul, from == begin || !from[-1] };
	return nul != NULL;
}

/* Searches for parentheses, because there are many names and one character "(". */
static void look_through(struct search *s, const struct mpk_constants *c)
{
	const uint8_t *at = c->bytes.data, *end = at + c->bytes.len;
	struct string text = { at, at, true };

	for (; !s->too_many && at < end && (at = memchr(at, '(', (size_t)(end - at))); at++) {
		if (at == c->bytes.data || !s->in_names[at[-1]])
			continue;
		if (at >= text.end && !find_string(c, at, &text))
			return;
		if (text.end[-1] == ')' && text.end - at < TEXT_MAX_BYTES)
			look_before(s, c, text, at);
	}
}

/* --- the candidates that are certain --------------------------------------------------- */

static int prototypes_by_function(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->whole != y->whole)
		return x->whole ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_named_by_code(struct mpk_unit *u, const struct candidate *c)
{
	const struct mpk_image_function *f = u->functions[c->function].function;

	return mpk_unit_spend(u, f->bytes) &&
	       mpk_elf_code_first(u->elf, f->address, f->bytes, c->address) != UINT64_MAX;
}

/* Reads a candidate. If it does not read, or is the same text as *one, nothing changes; a different
 * text sets *many. */
static enum mpk_code consider(struct mpk_unit *u, const struct candidate *c,
			      const struct candidate **one, bool *many, struct mpk_error *err)
{
	struct mpk_signature ignored;
	enum mpk_code code;

	if (*many || (*one && mpk_span_equal((*one)->text, c->text)) ||
	    !mpk_unit_spend(u, c->text.len))
		return MPK_OK;
	code = mpk_signature_read(c->text, u->arena, &ignored, NULL);
	if (code == MPK_E_SYNTAX)
		return MPK_OK;
	if (code != MPK_OK)
		return mpk_fail_nomem(err);
	*many = *one != NULL;
	*one = c;
	return MPK_OK;
}

/* Returns the one prototype among candidates that are certain, or that code points at; NULL: none,
 * or several. */
static enum mpk_code prototypes_choose(struct mpk_unit *u, const struct candidate *c, size_t count,
				       bool named, const struct candidate **out,
				       struct mpk_error *err)
{
	const struct candidate *one = NULL;
	bool many = false;

	for (size_t i = 0; i < count; i++)
		if (named ? is_named_by_code(u, &c[i]) : c[i].whole)
			MPK_TRY(consider(u, &c[i], &one, &many, err));
	*out = many ? NULL : one;
	return MPK_OK;
}

static enum mpk_code prototypes_settle(struct mpk_unit *u, const struct candidate *c, size_t count,
				       struct mpk_error *err)
{
	struct mpk_unit_function *f = &u->functions[c->function];
	const struct candidate *one;

	MPK_TRY(prototypes_choose(u, c, count, false, &one, err));
	if (!one)
		MPK_TRY(prototypes_choose(u, c, count, true, &one, err));
	if (!one)
		return MPK_OK;
	f->found = mpk_arena_alloc(u->arena, sizeof *f->found);
	MPK_TRY_ALLOC(f->found, err);
	MPK_TRY(mpk_signature_read(one->text, u->arena, f->found, err));
	return unit_device(u, f->function, one->text.data, &f->found->device, err);
}

static enum mpk_code settle_all(struct search *s, struct mpk_error *err)
{
	size_t n;

	if (s->count)
		qsort(s->items, s->count, sizeof *s->items, prototypes_by_function);
	for (size_t i = 0; i < s->count; i += n) {
		for (n = 1; i + n < s->count && s->items[i + n].function == s->items[i].function;)
			n++;
		MPK_TRY(prototypes_settle(s->unit, &s->items[i], n, err));
	}
	return MPK_OK;
}

static bool contains_mark(struct mpk_span s)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(marks) && s.len; i++)
		if (memmem(s.data, s.len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* Whether the unit has a text that precedes prototypes; without one, other texts that look like
 * prototypes would be read. Compilers put these texts near each other, and constants may be large. */
static bool has_mark(const struct mpk_unit *u, const uint8_t *text)
{
	enum { WINDOW_BYTES = 2 * NEAR_BYTES };

	for (size_t i = 0; i < u->constant_count; i++) {
		struct mpk_span s = u->constants[i].bytes;
		size_t before = (size_t)(text - s.data);

		if (text < s.data || before >= s.len)
			continue;
		before = before < NEAR_BYTES ? before : NEAR_BYTES;
		s = mpk_span_of(text - before, (size_t)(s.data + s.len - text) + before);
		s.len = s.len < WINDOW_BYTES ? s.len : WINDOW_BYTES;
		if (contains_mark(s))
			return true;
	}
	for (size_t i = 0; i < u->constant_count; i++)
		if (contains_mark(u->constants[i].bytes))
			return true;
	return false;
}

static enum mpk_code unit_prototypes(struct mpk_unit *u, struct mpk_error *err)
{
	struct search s = { .unit = u, .most = 64 * u->function_count + 4096 };
	enum mpk_code code = MPK_OK;

	for (size_t i = 0; i < s.unit->function_count; i++) {
		learn_name(&s, s.unit->functions[i].name);
		learn_name(&s, s.unit->functions[i].alias);
	}
	/* A prototype's name ends at its first parenthesis. */
	s.in_names['('] = false;

	for (size_t i = 0; i < u->constant_count; i++)
		look_through(&s, &u->constants[i]);
	if (s.failed)
		code = mpk_fail_nomem(err);
	else if (s.count && !s.too_many && has_mark(u, s.items[0].text.data))
		code = settle_all(&s, err);
	free(s.items);
	return code;
}

const struct mpk_unit_reader mpk_unit_prototypes = { unit_prototypes, false };
