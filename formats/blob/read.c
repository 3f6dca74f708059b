/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - a blob as a tree of views, from either container
 *
 * Since 0.22 the import tree comes first and every payload has a length. Before, a blob is a list
 * of items without lengths: the codec of a kind reads the payload to find its end, and the end of a
 * payload of unknown kind is guessed, within limits. Nothing is copied: kinds and payloads are
 * parts of the blob. */
#include "blob/blob.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "kinds.def"
#include "payload.h"
#include "text/escape.h"
#include "wire.h"

/* --- payloads without a length ------------------------------------------------------------- */

/* How the payload of a kind is read. */
struct kind_layout {
	const char *name;
	const struct mpk_payload_reader *reader;
	const struct mpk_record_schema *schema;
};

#define DECLARE(key, title, role, first, last, codec, schema)                                      \
	extern const struct mpk_payload_reader mpk_reader_##codec;
MPK_KINDS(DECLARE)

static const struct kind_layout layouts[] = {
#define ROW(key, title, role, first, last, codec, schema) { key, &mpk_reader_##codec, schema },
	MPK_KINDS(ROW)
};

/* Returns NULL for an unknown kind. */
static const struct kind_layout *layout_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(layouts); i++)
		if (mpk_span_is(name, layouts[i].name))
			return &layouts[i];
	return NULL;
}

/* Reads exactly the payload at c. out->kind is NULL. */
static enum mpk_code payload_read(struct mpk_cursor *c, const struct kind_layout *layout,
				  enum mpk_generation gen, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	/* the properties of its kind that a reader may use: schema, name */
	const struct mpk_kind kind = { .name = layout->name, .schema = layout->schema };
	struct mpk_payload p = { .tag = layout->reader->tag, .kind = &kind, .gen = gen };

	MPK_TRY(layout->reader->read(c, arena, &p, err));
	p.kind = NULL;
	*out = p;
	return MPK_OK;
}

/* Two vec<u64>, not checked. */
struct mpk_links {
	struct mpk_span rows, child;  /* the elements, 8 bytes each */
	uint64_t rows_off, child_off; /* offset of the elements, for messages */
};

struct mpk_legacy {
	struct mpk_cursor c; /* over the whole blob, so that positions are offsets in the blob */
	struct mpk_arena *arena;
	struct mpk_tree *tree; /* gen is set; nodes are added */
	size_t items, done;    /* number of items in the header, number of items read */
	struct mpk_links links;
	bool has_links;
};

/* The import tree: all rows of children are checked before any node gets its list
 *
 * Every child must have a greater index than its parent, so a tree that passes has no cycle. */

/* Finds both vectors; checks only that they fit
 * Returns  MPK_OK; MPK_E_CORRUPT, and c does not move */
static enum mpk_code links_read(struct mpk_cursor *c, struct mpk_links *out, struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	struct mpk_links links;

	links.rows_off = mpk_cursor_offset(&at) + 8;
	MPK_TRY(mpk_read_words(&at, "import tree rows", 8, &links.rows, err));
	links.child_off = mpk_cursor_offset(&at) + 8;
	MPK_TRY(mpk_read_words(&at, "import tree children", 8, &links.child, err));
	*out = links;
	*c = at;
	return MPK_OK;
}

/* The error names the row, because a file may have thousands. */
static enum mpk_code bad_row(const struct mpk_links *links, size_t row, const char *why,
			     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", links->rows_off + 8 * row,
			       "import tree: row %zu %s", row, why);
}

/* Checks all rows before any node is linked: they ascend from 0 and end within the list of
 * children. A truncated tree may have more rows than nodes, never fewer. */
static enum mpk_code check_rows(const struct mpk_links *links, const struct mpk_tree *tree,
				struct mpk_error *err)
{
	size_t count = links->rows.len / 8;
	uint64_t children = links->child.len / 8, last = 0;

	if (count < tree->count + 1 || (count > tree->count + 1 && !tree->truncated))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", links->rows_off - 8,
				       "import tree: %zu rows for %zu modules, %zu expected", count,
				       tree->count, tree->count + 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t row = mpk_load_u64(links->rows.data + 8 * i);

		if (i == 0 && row != 0)
			return bad_row(links, i, "does not start at 0", err);
		if (row < last)
			return bad_row(links, i, "is less than the one before", err);
		if (row > children)
			return bad_row(links, i, "lies beyond the list of children", err);
		last = row;
	}
	return MPK_OK;
}

/* Sets the children of one node; index counts through the stored list. */
static enum mpk_code link_node(const struct mpk_links *links, struct mpk_tree *tree, size_t node,
			       size_t *list, struct mpk_error *err)
{
	uint64_t first = mpk_load_u64(links->rows.data + 8 * node);
	uint64_t end = mpk_load_u64(links->rows.data + 8 * (node + 1));
	uint64_t modules = links->rows.len / 8 - 1;
	size_t kept = 0;

	for (uint64_t i = first; i < end; i++) {
		uint64_t child = mpk_load_u64(links->child.data + 8 * i);

		if (child >= modules || child <= node)
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "blob", links->child_off + 8 * i,
				"import tree: module %zu cannot import module %" PRIu64
				" (of %" PRIu64 "): %s",
				node, child, modules,
				child >= modules ? "there is none"
						 : "modules come before what they import");
		if (child < tree->count)
			list[kept++] = (size_t)child;
	}
	tree->nodes[node].children = list;
	tree->nodes[node].child_count = kept;
	return MPK_OK;
}

/* Checks the vectors against tree->count, and sets every list of children
 * A truncated tree has fewer nodes than rows: missing children are left out. */
static enum mpk_code links_apply(const struct mpk_links *links, struct mpk_arena *arena,
				 struct mpk_tree *tree, struct mpk_error *err)
{
	size_t *list;

	MPK_TRY(check_rows(links, tree, err));
	MPK_TRY_ARRAY(list, arena, links->child.len / 8, err);
	for (size_t i = 0; i < tree->count; i++) {
		MPK_TRY(link_node(links, tree, i, list, err));
		list += tree->nodes[i].child_count;
	}
	return MPK_OK;
}

/* The end of a payload of unknown kind, in a container without lengths
 *
 * The search is limited by what is known: an import tree may end the blob, and the modules after
 * the payload must be of known kinds and fill the rest exactly. The number of attempts is limited,
 * because a payload may be made to look like modules. */

/* Most positions that look like the next module and are tried: a limit on the work that a hostile
 * blob can cause. */
enum { ATTEMPTS_MAX = 64 };

/* Returns the offset at which the list of items ends: before an import tree at the end of the blob,
 * or the end of the blob. A tree counts if it has a row for each module. */
static size_t find_end(const struct mpk_legacy *r, bool *found)
{
	static const char key[] = "\x0c\0\0\0\0\0\0\0" MPK_KIND_TREE;
	const size_t key_len = sizeof key - 1;
	const uint8_t *data = r->c.bytes.data;
	size_t from = r->c.pos, n = r->c.bytes.len;

	*found = false;
	while (!r->has_links && r->done + 1 < r->items && n >= from + key_len) {
		/* the underscore at the beginning of the key */
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
		if (links_read(&c, &links, NULL) == MPK_OK && mpk_cursor_left(&c) == 0 &&
		    links.rows.len / 8 == r->items) {
			*found = true;
			return at;
		}
	}
	return r->c.bytes.len;
}

/* Whether count modules of known kinds extend exactly from c to its end. */
static bool modules_fill(struct mpk_cursor c, size_t count, enum mpk_generation gen)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_payload ignored;
	struct mpk_span key;

	for (; count > 0; count--) {
		if (mpk_read_str(&c, "kind", &key, NULL) != MPK_OK)
			return false;

		const struct kind_layout *kind = layout_find(key);
		if (!kind || payload_read(&c, kind, gen, &scratch, &ignored, NULL) != MPK_OK)
			return false;
	}
	return mpk_cursor_left(&c) == 0;
}

/* Returns the first position from which the remaining modules read exactly up to end; else end. */
static size_t find_next(const struct mpk_legacy *r, size_t end, size_t remaining)
{
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(r->c.bytes.data, end), 0, "blob");
	unsigned attempts = 0;

	for (c.pos = r->c.pos; end - c.pos > 8 && attempts < ATTEMPTS_MAX; c.pos++) {
		uint64_t n = mpk_load_u64(c.bytes.data + c.pos);
		struct mpk_span key;

		if (n == 0 || !mpk_span_sub(c.bytes, c.pos + 8, n, &key) || !layout_find(key))
			continue;
		if (modules_fill(c, remaining, r->tree->gen))
			return c.pos;
		attempts++;
	}
	return end;
}

/* Finds the end of the payload at the cursor, whose kind is unknown
 * @node    kind and payload_off are set; payload and opaque are set here
 * Moves the cursor past the payload. If modules follow that cannot be separated, the tree becomes
 * truncated, and the cursor moves to the import tree or the end. */
static void legacy_recover(struct mpk_legacy *r, struct mpk_node *node)
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

	/* Keeps one warning for a blob: the first, unless a later one says that modules are lost. */
	struct mpk_tree *tree = r->tree;

	if (tree->warning.code != MPK_OK && !tree->truncated)
		return;
	mpk_fail_offset(&tree->warning, MPK_E_UNSUPPORTED, "blob", node->kind_off,
			"module kind \"%s\" is not known and says not how long its payload is; %s",
			MPK_QUOTE(node->kind),
			tree->truncated ? "the modules behind it cannot be told apart"
					: "its end was inferred from what follows");
}

/* The list of items of TVM 0.2 - 0.21
 *
 * It has the number of items but not their lengths: a payload ends where its codec has read the
 * last field. The end of a payload of a kind without a codec is guessed (legacy_recover). */

/* Payloads are read only to find their ends. */
static enum mpk_code blob_read_payload(struct mpk_legacy *r, const struct kind_layout *kind,
				       struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_payload ignored;

	return payload_read(&r->c, kind, r->tree->gen, &scratch, &ignored, err);
}

static enum mpk_code read_module(struct mpk_legacy *r, struct mpk_node *node, struct mpk_error *err)
{
	const struct kind_layout *kind = layout_find(node->kind);

	node->payload_off = r->c.pos;
	node->is_lib = mpk_span_is(node->kind, MPK_KIND_LIB);
	if (node->is_lib) {
		node->payload = mpk_span_of(r->c.bytes.data + r->c.pos, 0);
		return MPK_OK;
	}
	if (!kind) {
		legacy_recover(r, node);
		return MPK_OK;
	}

	enum mpk_code code = blob_read_payload(r, kind, err);
	if (code != MPK_OK) {
		mpk_error_prefix(err, "module %zu (%s): ", r->tree->count, MPK_QUOTE(node->kind));
		return code;
	}
	node->payload = mpk_span_of(r->c.bytes.data + node->payload_off,
				    r->c.pos - (size_t)node->payload_off);
	return MPK_OK;
}

static enum mpk_code read_item(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_node *node = &r->tree->nodes[r->tree->count];
	uint64_t off = r->c.pos;
	struct mpk_span key;

	MPK_TRY(mpk_read_str(&r->c, "module kind", &key, err));
	if (mpk_span_is(key, MPK_KIND_TREE)) {
		if (r->has_links)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", off,
					       "a second import tree");
		r->has_links = true;
		return links_read(&r->c, &r->links, err);
	}
	*node = (struct mpk_node){ .kind = key, .kind_off = off };
	MPK_TRY(read_module(r, node, err));
	r->tree->count++;
	return MPK_OK;
}

/* Without a tree the library is the root, and imports every module in order. */
static enum mpk_code imply_lib(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_tree *tree = r->tree;
	size_t *children = mpk_arena_array(r->arena, tree->count, sizeof *children);

	MPK_TRY_ALLOC(children, err);
	for (size_t i = 0; i < tree->count; i++)
		children[i] = i + 1;
	tree->nodes--;
	tree->nodes[0] = (struct mpk_node){ .kind = mpk_span_str(MPK_KIND_LIB),
					    .is_lib = true,
					    .children = children,
					    .child_count = tree->count };
	tree->count++;
	tree->implied_lib = true;
	return MPK_OK;
}

/* Reads the items from the cursor on; sets all fields of the tree but nbytes
 * Returns  as mpk_blob_read */
static enum mpk_code legacy_read(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_tree *tree = r->tree;
	struct mpk_node *nodes;

	MPK_TRY(mpk_read_count(&r->c, "item count", 8, &r->items, err));
	/* One more at the beginning, for the library if it must be added as the root. */
	MPK_TRY_ARRAY(nodes, r->arena, r->items + 1, err);
	tree->nodes = nodes + 1;
	for (; r->done < r->items && !tree->truncated; r->done++)
		MPK_TRY(read_item(r, err));
	if (tree->truncated && !r->has_links && mpk_cursor_left(&r->c))
		MPK_TRY(read_item(r, err));
	tree->used = r->c.pos;
	tree->has_tree = r->has_links;
	if (!r->has_links)
		return imply_lib(r, err);
	if (tree->count == 0)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", r->links.rows_off,
				       "import tree without modules");
	return links_apply(&r->links, r->arena, tree, err);
}

/* The library's own code has a key and no payload. */
static enum mpk_code blob_read_node(struct mpk_cursor *c, struct mpk_node *node,
				    struct mpk_error *err)
{
	node->kind_off = c->pos;
	MPK_TRY(mpk_read_str(c, "module kind", &node->kind, err));
	node->is_lib = mpk_span_is(node->kind, MPK_KIND_LIB);
	if (node->is_lib) {
		node->payload = mpk_span_of(c->bytes.data + c->pos, 0);
		node->payload_off = c->pos;
		return MPK_OK;
	}
	MPK_TRY(mpk_read_str(c, "module payload", &node->payload, err));
	node->payload_off = c->pos - node->payload.len;
	return MPK_OK;
}

/* Reads the import tree, then modules with length-prefixed payloads. */
static enum mpk_code read_current(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_tree *tree, struct mpk_error *err)
{
	uint64_t start = c->pos;
	struct mpk_links links;

	MPK_TRY(links_read(c, &links, err));
	if (links.rows.len < 16)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", start,
				       "import tree without modules");
	tree->count = links.rows.len / 8 - 1;
	if (tree->count > mpk_cursor_left(c) / 8)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", start,
				       "%zu modules do not fit in the %zu bytes left", tree->count,
				       mpk_cursor_left(c));
	MPK_TRY_ARRAY(tree->nodes, arena, tree->count, err);
	MPK_TRY(links_apply(&links, arena, tree, err));
	for (size_t i = 0; i < tree->count; i++) {
		enum mpk_code code = blob_read_node(c, &tree->nodes[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "module %zu: ", i);
			return code;
		}
	}
	tree->has_tree = true;
	tree->used = c->pos;
	return MPK_OK;
}

/* Changes *out only after everything was read. */
static enum mpk_code blob_read_body(struct mpk_cursor *c, struct mpk_arena *arena,
				    struct mpk_tree *out, struct mpk_error *err)
{
	struct mpk_tree tree = *out;

	if (tree.gen == MPK_GEN_CURRENT) {
		MPK_TRY(read_current(c, arena, &tree, err));
	} else {
		struct mpk_legacy r = { .c = *c, .arena = arena, .tree = &tree };

		MPK_TRY(legacy_read(&r, err));
	}
	*out = tree;
	return MPK_OK;
}

/* The size does not count itself; more bytes may follow the blob. */
enum mpk_code mpk_blob_read(struct mpk_span blob, enum mpk_generation gen, struct mpk_arena *arena,
			    struct mpk_tree *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(blob, 0, "blob");
	struct mpk_tree tree = { .gen = gen };

	MPK_TRY(mpk_read_u64(&c, "blob size", &tree.nbytes, err));
	if (tree.nbytes > mpk_cursor_left(&c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", 0,
				       "blob size: %" PRIu64 " bytes wanted, %zu there",
				       tree.nbytes, mpk_cursor_left(&c));
	c.bytes.len = (size_t)tree.nbytes + 8;
	MPK_TRY(blob_read_body(&c, arena, &tree, err));
	*out = tree;
	return MPK_OK;
}

/* All bytes are the blob, without a size before it. */
enum mpk_code mpk_blob_read_bare(struct mpk_span blob, enum mpk_generation gen,
				 struct mpk_arena *arena, struct mpk_tree *out,
				 struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(blob, 0, "blob");
	struct mpk_tree tree = { .gen = gen, .nbytes = blob.len };

	MPK_TRY(blob_read_body(&c, arena, &tree, err));
	*out = tree;
	return MPK_OK;
}
