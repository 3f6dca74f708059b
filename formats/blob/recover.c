/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c - the end of a payload that nobody can read, in a container that has no lengths
 *
 * What is known around it bounds the search: an import tree at the end of the blob, and that the
 * modules behind must be of known kinds and fill the rest exactly. The work is bounded too, since
 * payloads may be made to look like modules.
 */
#include "blob/internal/legacy.h"

#include <string.h>

#include "payload.h"
#include "text/escape.h"

/* How many positions that look like the next module are examined before giving up: a bound
 * on the work that a hostile blob can cause. */
enum { ATTEMPTS_MAX = 64 };

/* Where the item list ends for certain: before the import tree that ends with the blob, or
 * at the end of the blob. A tree is believed when it has a row for each module. */
static size_t find_end(const struct mpk_legacy *r, bool *found)
{
	static const char key[] = "\x0c\0\0\0\0\0\0\0" MPK_KIND_TREE;
	const size_t key_len = sizeof key - 1;
	const uint8_t *data = r->c.bytes.data;
	size_t from = r->c.pos, n = r->c.bytes.len;

	*found = false;
	while (!r->has_links && r->done + 1 < r->items && n >= from + key_len) {
		/* the underscore that begins the key's text */
		const uint8_t *hit = memrchr(data + from + 8, '_', n - from - 8);
		if (!hit)
			break;

		size_t at = (size_t)(hit - data) - 8;
		struct mpk_cursor c = r->c;
		struct mpk_links links;

		n = at + 8;
		if (c.bytes.len - at < key_len || memcmp(data + at, key, key_len) != 0)
			continue;
		c.pos = at + key_len;
		if (mpk_links_read(&c, &links, NULL) == MPK_OK && mpk_cursor_left(&c) == 0 &&
		    links.rows.len / 8 == r->items) {
			*found = true;
			return at;
		}
	}
	return r->c.bytes.len;
}

/* Whether count modules of known kinds stand from c's position exactly to its end. */
static bool modules_fill(struct mpk_cursor c, size_t count, enum mpk_generation gen)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_payload ignored;
	struct mpk_span key;

	for (; count > 0; count--) {
		if (mpk_read_str(&c, "kind", &key, NULL) != MPK_OK)
			return false;

		const struct mpk_kind *kind = mpk_kind_find(key);
		if (!kind || mpk_payload_read(&c, kind, gen, &scratch, &ignored, NULL) != MPK_OK)
			return false;
	}
	return mpk_cursor_left(&c) == 0;
}

/* The first position from which the remaining modules read exactly up to end, or end. */
static size_t find_next(const struct mpk_legacy *r, size_t end, size_t remaining)
{
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(r->c.bytes.data, end), 0, "blob");
	unsigned attempts = 0;

	for (c.pos = r->c.pos; end - c.pos > 8 && attempts < ATTEMPTS_MAX; c.pos++) {
		uint64_t n = mpk_load_u64(c.bytes.data + c.pos);
		struct mpk_span key;

		if (n == 0 || !mpk_span_sub(c.bytes, c.pos + 8, n, &key) || !mpk_kind_find(key))
			continue;
		if (modules_fill(c, remaining, r->tree->gen))
			return c.pos;
		attempts++;
	}
	return end;
}

static void warn(struct mpk_tree *tree, const struct mpk_node *node)
{
	if (tree->warning.code != MPK_OK && !tree->truncated)
		return;
	mpk_fail_offset(&tree->warning, MPK_E_UNSUPPORTED, "blob", node->kind_off,
			"module kind \"%s\" is not known and says not how long its payload is; %s",
			MPK_QUOTE(node->kind),
			tree->truncated ? "the modules behind it cannot be told apart"
					: "its end was inferred from what follows");
}

void mpk_legacy_recover(struct mpk_legacy *r, struct mpk_node *node)
{
	bool found;
	size_t end = find_end(r, &found), next = end;
	size_t remaining = r->items - r->done - 1 - found;

	if (remaining) {
		next = find_next(r, end, remaining);
		r->tree->truncated = next == end;
	}
	node->payload = mpk_span_of(r->c.bytes.data + r->c.pos, next - r->c.pos);
	node->opaque = true;
	r->c.pos = next;
	warn(r->tree, node);
}
