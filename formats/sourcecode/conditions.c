/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.c - "#if" and related directives: which groups are compiled, which are not, and which
 * may be
 *
 * Nothing is preprocessed, so a condition holds, does not hold, or may hold. Conditions that may
 * hold are listed, to be reported with the kernels inside. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "sourcecode/internal/sourcecode.h"

enum { DEPTH_MAX = 64 }; /* deeper conditions belong to the group at this depth */

enum truth { NO, YES, MAYBE };

/* What is known of a name at this place. */
enum name_state { DEFINED, UNDEFINED, UNSURE };

/* An "#if" up to its "#endif". */
struct frame {
	enum truth taken;     /* whether one of its groups so far is compiled */
	bool live;            /* the current group may be compiled */
	bool known;           /* the current group is certainly compiled if the text around is */
	size_t group;         /* index of the condition; SIZE_MAX: not listed */
	struct mpk_span line; /* the line that begins it */
	bool guards;          /* the include guard of a file, which is not a condition */
};

struct conditions {
	struct mpk_span text;
	uint8_t *out; /* copy with groups removed; NULL: nothing is removed yet */
	struct mpk_arena *arena;
	struct mpk_strmap names;
	enum name_state *states; /* for each name; malloc'ed */
	size_t state_cap;
	struct frame frames[DEPTH_MAX];
	size_t depth;                        /* number of open conditions; frames has the first
					      * DEPTH_MAX */
	struct mpk_source_code_group *items; /* malloc'ed */
	size_t count, cap;
	struct mpk_span
		guard; /* the name, if the previous directive was "#ifndef NAME"; else empty */
	bool failed;   /* memory is out */
};

static void conditions_fini(struct conditions *c)
{
	mpk_strmap_fini(&c->names);
	free(c->states);
	free(c->items);
}

static struct frame *top(struct conditions *c)
{
	return c->depth ? &c->frames[(c->depth < DEPTH_MAX ? c->depth : DEPTH_MAX) - 1] : NULL;
}

/* Whether the text here may be compiled. */
static bool is_live(struct conditions *c)
{
	return !c->depth || top(c)->live;
}

/* Whether the text here is certainly compiled: all conditions around it hold. */
static bool is_known(struct conditions *c)
{
	return !c->depth || top(c)->known;
}

static enum truth is_defined(const struct conditions *c, struct mpk_span name)
{
	size_t i;

	if (!name.len || !mpk_strmap_find(&c->names, name, &i))
		return MAYBE; /* An option, a header or the compiler may define it. */
	return c->states[i] == DEFINED ? YES : c->states[i] == UNDEFINED ? NO : MAYBE;
}

static enum truth negate(enum truth t)
{
	return t == MAYBE ? MAYBE : t == YES ? NO : YES;
}

/* Evaluates "0", "1", "defined X", "!defined(X)"; other conditions may hold. */
static enum truth sourcecode_holds(const struct conditions *c, struct mpk_span text)
{
	struct mpk_span name;
	bool opened, not = false;
	uint64_t number;
	size_t i = 0;

	text = mpk_span_trim(text);
	while (i < text.len && text.data[i] == '!') {
		not = !not;
		i = mpk_source_code_skip_blanks(text, i + 1);
	}
	if (i < text.len && mpk_parse_u64(mpk_span_from(text, i), &number))
		return (number != 0) != not ? YES : NO;
	name = mpk_source_code_name_at(text, i, text.len);
	if (!mpk_span_is(name, "defined"))
		return MAYBE;
	i = mpk_source_code_skip_blanks(text, i + name.len);
	opened = i < text.len && text.data[i] == '(';
	i = mpk_source_code_skip_blanks(text, i + opened);
	name = mpk_source_code_name_at(text, i, text.len);
	i = mpk_source_code_skip_blanks(text, i + name.len);
	if (i + opened != text.len || (opened && text.data[i] != ')'))
		return MAYBE;
	return not ? negate(is_defined(c, name)) : is_defined(c, name);
}

/* Replaces text that is not compiled by blanks; line ends stay. */
static void take_away(struct conditions *c, size_t from, size_t to)
{
	if (!c->out)
		c->out = (uint8_t *)mpk_arena_copy(c->arena, c->text.data, c->text.len);
	c->failed |= !c->out;
	for (size_t i = from; c->out && i < to; i++)
		if (c->out[i] != '\n')
			c->out[i] = ' ';
}

static void take_line_away(struct conditions *c, struct mpk_span line)
{
	size_t at = (size_t)(line.data - c->text.data);

	take_away(c, at, at + line.len);
}

/* --- groups ----------------------------------------------------------------------------- */

static size_t group_around(const struct conditions *c)
{
	for (size_t i = c->depth - 1; i-- > 0;)
		if (c->frames[i].group != SIZE_MAX)
			return c->frames[i].group;
	return SIZE_MAX;
}

/* Begins the group after a line, in the innermost frame. */
static void begin_group(struct conditions *c, enum truth now, struct mpk_span line, size_t from)
{
	struct frame *f = top(c), *around = c->depth > 1 ? f - 1 : NULL;

	f->live = now != NO && (!around || around->live);
	f->known = now == YES && (!around || around->known);
	if (f->taken == NO || now == YES)
		f->taken = now == NO ? f->taken : now;
	if (now != MAYBE || !f->live)
		return;
	if (!MPK_VEC_ROOM(c->items, c->count, c->cap)) {
		c->failed = true;
		return;
	}
	f->group = c->count;
	c->items[c->count++] = (struct mpk_source_code_group){
		.from = from, .to = c->text.len, .condition = line, .around = group_around(c)
	};
}

/* Handles a directive of a condition; line is all of it, next is the offset after it. */
static void sourcecode_follow(struct conditions *c, const struct mpk_source_code_directive *d,
			      struct mpk_span line, size_t next)
{
	bool begins = mpk_span_starts(d->name, "if"),
	     has_not = mpk_span_is(d->name, "ifndef") || mpk_span_is(d->name, "elifndef");
	bool by_name = has_not || mpk_span_is(d->name, "ifdef") || mpk_span_is(d->name, "elifdef");
	struct mpk_span name = mpk_source_code_name_at(d->rest, 0, d->rest.len);
	enum truth now = by_name ? is_defined(c, name) : sourcecode_holds(c, d->rest);

	c->depth += begins;
	if (!c->depth || c->depth > DEPTH_MAX) {
		c->depth -= c->depth && mpk_span_is(d->name, "endif");
		return;
	}
	if (begins)
		*top(c) = (struct frame){ .group = SIZE_MAX, .line = line };
	else {
		if (top(c)->group != SIZE_MAX)
			c->items[top(c)->group].to = (size_t)(line.data - c->text.data);
		top(c)->group = SIZE_MAX;
	}
	if (mpk_span_is(d->name, "endif")) {
		if (top(c)->guards)
			take_line_away(c, line);
		c->depth--;
		return;
	}
	now = has_not ? negate(now) : now;
	if (mpk_span_is(d->name, "else"))
		now = YES;
	if (top(c)->taken != NO &&
	    now != NO) /* An earlier group may be the one that is compiled. */
		now = top(c)->taken == YES ? NO : MAYBE;
	begin_group(c, now, line, next);
	c->guard = mpk_span_is(d->name, "ifndef") && now == MAYBE ? name : (struct mpk_span){ 0 };
}

/* "#ifndef X" before "#define X" holds unless X is defined elsewhere. */
static void pass_guard(struct conditions *c, bool guards)
{
	struct frame *f = top(c);

	if (c->depth > DEPTH_MAX || f->group == SIZE_MAX || f->group + 1 != c->count)
		return;
	f->group = SIZE_MAX;
	f->known = c->depth < 2 || f[-1].known;
	c->count--;
	f->guards = guards;
	if (guards)
		take_line_away(c, f->line);
}

static void note_name(struct conditions *c, const struct mpk_source_code_directive *d)
{
	bool define = mpk_span_is(d->name, "define");
	struct mpk_span name = mpk_source_code_name_at(d->rest, 0, d->rest.len);

	if (!is_live(c) || (!define && !mpk_span_is(d->name, "undef")))
		return;
	if (define && c->guard.len && mpk_span_equal(c->guard, name))
		pass_guard(c, !mpk_span_trim(
				       mpk_span_of(d->rest.data + name.len, d->rest.len - name.len))
				       .len);

	/* --- names ------------------------------------------------------------------------ */
	enum name_state state = !is_known(c) ? UNSURE : define ? DEFINED : UNDEFINED;
	size_t i;
	int rc;

	if (!name.len)
		return;
	rc = mpk_strmap_put(&c->names, name, c->names.count, &i);
	if (rc < 0 || (rc > 0 && !MPK_VEC_ROOM(c->states, i, c->state_cap))) {
		c->failed = true;
		return;
	}
	c->states[i] = state;
}

static bool is_condition(struct mpk_span name)
{
	return mpk_span_starts(name, "if") || mpk_span_starts(name, "el") ||
	       mpk_span_is(name, "endif");
}

static void read_conditions(struct conditions *c)
{
	struct mpk_source_code_directive d;
	size_t at = 0, from = 0; /* from: offset after the last directive */

	while (!c->failed && mpk_source_code_next_directive(c->text, &at, &d)) {
		size_t end = at - 1 < c->text.len ? at - 1 : c->text.len, sign;
		const uint8_t *hash =
			memrchr(c->text.data, '#', (size_t)(d.name.data - c->text.data));

		if (!hash)
			continue;
		sign = (size_t)(hash - c->text.data);
		if (!is_live(c))
			take_away(c, from, is_condition(d.name) ? sign : end);
		from = end;
		if (is_condition(d.name)) {
			sourcecode_follow(c, &d, mpk_span_trim(mpk_span_of(hash, end - sign)), end);
			continue;
		}
		note_name(c, &d);
		c->guard = (struct mpk_span){ 0 };
	}
	if (!c->failed && !is_live(c))
		take_away(c, from, c->text.len);
}

enum mpk_code mpk_source_code_conditions(struct mpk_span text, struct mpk_arena *arena,
					 struct mpk_span *out,
					 struct mpk_source_code_groups *groups,
					 struct mpk_error *err)
{
	MPK_CLEANUP(conditions_fini) struct conditions c = { .text = text, .arena = arena };

	*groups = (struct mpk_source_code_groups){ 0 };
	*out = text;
	if (!text.len || !memchr(text.data, '#', text.len))
		return MPK_OK;
	read_conditions(&c);
	MPK_TRY_ALLOC(!c.failed, err);
	groups->items = mpk_arena_keep(arena, c.items, c.count, sizeof *c.items);
	MPK_TRY_ALLOC(groups->items, err);
	groups->count = c.count;
	if (c.out)
		out->data = c.out;
	return MPK_OK;
}

const struct mpk_source_code_group *
mpk_source_code_group_at(const struct mpk_source_code_groups *groups, size_t off)
{
	size_t after, i;

	MPK_FIND_FIRST(after, groups->count, at, groups->items[at].from <= off);
	for (i = after - 1; after && i != SIZE_MAX; i = groups->items[i].around)
		if (off < groups->items[i].to)
			return &groups->items[i];
	return NULL;
}
