/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - builds the tree of the map, with the children of each node by size, and draws it as an
 * SVG picture
 *
 * The treemap is squarified: boxes are laid out in rows so that they are nearly square (Bruls,
 * Huizing, van Wijk, 2000). Colours are those of the HTML page, with a dark variant for viewers
 * that prefer it. */
#include "map/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/vec.h"
#include "map/internal/map.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/table.h"

static const struct {
	const char *kind, *title, *rest;
} kinds[] = {
	{ "file", "file", "headers and padding" },
	{ "section", "section", "the rest of the section" },
	{ "debug", "debug information", "the rest of the section" },
	{ "blob", "module blob", "names and links" },
	{ "host", "host code", "other code" },
	{ "executor", "executor", "fields" },
	{ "device", "device code", "fields" },
	{ "gpu", "code of a device", "constants, tables and names" },
	{ "data", "data", "fields" },
	{ "extern", "other runtime", "fields" },
	{ "source", "source", "fields" },
	{ "unknown", "unknown kind", "fields" },
	{ "tensor", "tensor", "" },
	{ "text", "text", "the rest of the text" },
	{ "code", "code", "constants, tables and names" },
	{ "kernel", "kernel", "" },
	{ "function", "function", "" },
	{ "rest", "the rest", "" },
};

const char *mpk_map_kind_title(const char *kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].title;
	return kind;
}

static const char *rest_of(const char *kind)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].rest;
	return "";
}

/* --- the tree ----------------------------------------------------------------------------------- */

/* Sort key of children: by parent, then largest first, then by name, then by order of addition, so
 * that the picture does not depend on qsort. */
struct child {
	size_t parent, index;
	uint64_t bytes;
	struct mpk_span name;
};

static int by_parent(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	order = mpk_span_compare(x->name, y->name);
	return order ? order : x->index < y->index ? -1 : 1;
}

/* Adds a child for the bytes that the linked children do not cover. */
static enum mpk_code add_rest(struct mpk_map_maker *m, size_t parent, size_t *last,
			      const char *name, uint64_t bytes)
{
	MPK_TRY_ALLOC(name && MPK_VEC_ROOM(m->nodes, m->count, m->cap), m->err);
	m->nodes[*last].next = m->count;
	*last = m->count;
	m->nodes[m->count++] = (struct mpk_map_node){ .kind = "rest",
						      .name = mpk_span_str(name),
						      .bytes = bytes,
						      .parent = parent,
						      .depth = m->nodes[parent].depth + 1 };
	return MPK_OK;
}

/* Links the children of one node, up to the limit. If parts overlap, they do not divide the whole
 * and are omitted. */
static enum mpk_code link_children(struct mpk_map_maker *m, const struct child *list, size_t count)
{
	size_t parent = list[0].parent, last = list[0].index, shown, small = 0;
	uint64_t sum = 0, small_bytes = 0, whole = m->nodes[parent].bytes;

	for (size_t i = 0; i < count; i++)
		if (list[i].bytes > whole - sum)
			return MPK_OK;
		else
			sum += list[i].bytes;
	shown = count > MPK_MAP_CHILDREN_MOST ? MPK_MAP_CHILDREN_MOST - 1 : count;
	m->nodes[parent].first = list[0].index;
	for (size_t i = 1; i < shown; i++) {
		m->nodes[last].next = list[i].index;
		last = list[i].index;
	}
	for (size_t i = shown; i < count; i++) {
		small++;
		small_bytes += list[i].bytes;
	}
	if (small)
		MPK_TRY(add_rest(m, parent, &last,
				 mpk_arena_printf(m->arena, "%zu smaller ones", small),
				 small_bytes));
	if (sum < whole)
		MPK_TRY(add_rest(m, parent, &last, rest_of(m->nodes[parent].kind), whole - sum));
	return MPK_OK;
}

static enum mpk_code link_all(struct mpk_map_maker *m)
{
	size_t count = m->count - 1, end; /* the file has no parent */
	struct child *list = count ? malloc(count * sizeof *list) : NULL;
	enum mpk_code code = MPK_OK;

	if (count && !list)
		return mpk_fail_nomem(m->err);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct child){ m->nodes[i + 1].parent, i + 1, m->nodes[i + 1].bytes,
					  m->nodes[i + 1].name };
	if (count)
		qsort(list, count, sizeof *list, by_parent);
	for (size_t i = 0; code == MPK_OK && i < count; i = end) {
		for (end = i + 1; end < count && list[end].parent == list[i].parent;)
			end++;
		code = link_children(m, list + i, end - i);
	}
	free(list);
	return code;
}

static void maker_fini(struct mpk_map_maker *m)
{
	free(m->nodes);
	mpk_strmap_fini(&m->groups);
	mpk_strmap_fini(&m->symbols);
}

enum mpk_code mpk_map_read(const struct mpk_view *view, const struct mpk_size *size,
			   struct mpk_arena *arena, struct mpk_map *out, struct mpk_error *err)
{
	MPK_CLEANUP(maker_fini)
	struct mpk_map_maker m = { .view = view, .size = size, .arena = arena, .err = err };

	MPK_TRY(mpk_map_collect(&m));
	MPK_TRY(link_all(&m));
	out->nodes = mpk_arena_keep(arena, m.nodes, m.count, sizeof *m.nodes);
	out->count = m.count;
	return out->nodes ? MPK_OK : mpk_fail_nomem(err);
}

/* --- the picture -------------------------------------------------------------------------------- */

/* Pixels. The map begins below the title and ends above the key. A box with children has room for
 * its name. */
static const double WIDTH = 1200, HEIGHT = 800, TOP = 58, BOTTOM = 40, LABEL = 17, INSET = 3;
static const double LEAST_SIDE = 3, LEAST_INNER_WIDTH = 60, LEAST_INNER_HEIGHT = 44;
static const double CHARACTER = 6.3; /* width of a label's character */

static const char STYLE[] =
	"svg{background:#fff;color-scheme:light dark}"
	"text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif;fill:#1d2127}"
	".title{font-size:17px;font-weight:600}.note{fill:#59626e}.outer{font-weight:600}.small{font-size:10.5px}"
	"rect{stroke:#fff;stroke-width:1}.ground{fill:#fff;stroke:none}"
	".c-host,.c-function{fill:#cddcf3}.c-executor{fill:#ddd3f0}.c-device,.c-gpu,.c-source{fill:#c4e6dc}"
	".c-kernel{fill:#b5ddd0}.c-tensor,.c-data{fill:#f5e2bd}.c-text{fill:#d3e9c4}.c-code{fill:#f0d6d2}"
	".c-section,.c-extern,.c-unknown{fill:#dfe3e8}.c-debug{fill:#e9e4dc}.c-blob,.c-file{fill:#e8edf4}"
	".c-rest{fill:#eceded}"
	"@media (prefers-color-scheme:dark){svg{background:#14171b}text{fill:#eef0f3}.note{fill:#a0a9b4}"
	"rect{stroke:#14171b}.ground{fill:#14171b}"
	".c-host,.c-function{fill:#2b4265}.c-executor{fill:#443763}.c-device,.c-gpu,.c-source{fill:#1f4f46}"
	".c-kernel{fill:#2a6156}.c-tensor,.c-data{fill:#57451f}.c-text{fill:#34502a}.c-code{fill:#5a3631}"
	".c-section,.c-extern,.c-unknown{fill:#333a43}.c-debug{fill:#3d3932}.c-blob,.c-file{fill:#262d37}"
	".c-rest{fill:#2a2f35}}";

struct box {
	double x, y, width, height;
};

struct drawing {
	const struct mpk_map *map;
	struct mpk_strbuf *out;
};

/* Writes a text for XML: escapes markup and characters that XML does not allow. Writes at most
 * `most` bytes, in whole characters. */
static void put_clipped(struct mpk_strbuf *out, struct mpk_span text, size_t most)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf plain = { 0 };
	size_t len;

	mpk_escape(&plain, text);
	out->failed |= plain.failed;
	len = plain.len;
	if (len > most) {
		len = most > 1 ? most - 1 : 0;
		while (len && (plain.data[len] & 0xc0) == 0x80)
			len--;
	}
	if (len < plain.len) {
		plain.len = len;
		mpk_strbuf_puts(&plain, "\xe2\x80\xa6");
	}
	/* XML does not allow U+FFFE and U+FFFF (XML 1.0, 2.2): U+FFFD replaces them */
	for (size_t i = 2; i < plain.len; i++)
		if (memcmp(plain.data + i - 2, "\xef\xbf", 2) == 0 &&
		    (uint8_t)plain.data[i] >= 0xbe)
			plain.data[i] = (char)0xbd;
	mpk_markdown_html(out, mpk_strbuf_text(&plain));
}

static void put_title(struct drawing *d, const struct mpk_map_node *n)
{
	double whole = (double)d->map->nodes[0].bytes;

	mpk_strbuf_puts(d->out, "<title>");
	put_clipped(d->out, n->name, 400);
	if (n->symbol.len) {
		mpk_strbuf_putc(d->out, '\n');
		put_clipped(d->out, n->symbol, 400);
	}
	mpk_strbuf_printf(d->out, "\n%s, %s, %.1f %%", mpk_map_kind_title(n->kind),
			  MPK_SIZE(n->bytes), whole > 0 ? 100 * (double)n->bytes / whole : 0);
	if (n->plain_bytes && n->plain_bytes != n->bytes)
		mpk_strbuf_printf(d->out, ", %s unpacked", MPK_SIZE(n->plain_bytes));
	mpk_strbuf_puts(d->out, "</title>");
}

static void put_label(struct drawing *d, const struct mpk_map_node *n, struct box b, bool outer)
{
	if (b.width > 34 && b.height > 15) {
		mpk_strbuf_printf(d->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">",
				  outer ? "outer" : "small", b.x + 5, b.y + 12.5);
		put_clipped(d->out, n->name, (size_t)((b.width - 8) / CHARACTER));
		mpk_strbuf_puts(d->out, "</text>");
	}
	if (!outer && b.width > 54 && b.height > 30)
		mpk_strbuf_printf(d->out,
				  "<text class=\"small note\" x=\"%.1f\" y=\"%.1f\">%s</text>",
				  b.x + 5, b.y + 25.5, MPK_SIZE(n->bytes));
}

static double worst(double sum, double least, double most, double side)
{
	double a = side * side * most / (sum * sum), b = sum * sum / (side * side * least);

	return a > b ? a : b;
}

static void put_box(struct drawing *d, size_t at, struct box b);

/* Draws one row along the shorter side: nodes from `first` on, as long as they make the boxes more
 * square.
 * Returns  the node after them */
static size_t put_box_row(struct drawing *d, size_t first, double scale, struct box *left)
{
	const struct mpk_map_node *nodes = d->map->nodes;
	double side = left->width < left->height ? left->width : left->height;
	double sum = 0, least = 0, most = 0, thick, along = 0;
	size_t end = first;

	for (; end; end = nodes[end].next) {
		double area = (double)nodes[end].bytes * scale;
		double low = end == first || area < least ? area : least;
		double high = area > most ? area : most;

		if (end != first &&
		    worst(sum + area, low, high, side) > worst(sum, least, most, side))
			break;
		sum += area;
		least = low;
		most = high;
	}
	thick = sum / side;
	for (size_t i = first; i != end; i = nodes[i].next) {
		double length = (double)nodes[i].bytes * scale / thick;

		if (left->width >= left->height)
			put_box(d, i, (struct box){ left->x, left->y + along, thick, length });
		else
			put_box(d, i, (struct box){ left->x + along, left->y, length, thick });
		along += length;
	}
	if (left->width >= left->height) {
		left->x += thick;
		left->width -= thick;
	} else {
		left->y += thick;
		left->height -= thick;
	}
	return end;
}

static void put_children(struct drawing *d, size_t at, struct box left)
{
	const struct mpk_map_node *nodes = d->map->nodes;
	double bytes = 0, scale;
	size_t i = nodes[at].first;

	for (size_t k = i; k; k = nodes[k].next)
		bytes += (double)nodes[k].bytes;
	if (bytes <= 0 || left.width <= 0 || left.height <= 0)
		return;
	scale = left.width * left.height / bytes;
	/* rounding may leave no room */
	while (i && nodes[i].bytes && left.width > 0 && left.height > 0)
		i = put_box_row(d, i, scale, &left);
}

/* The depth of the tree is bounded by the code that builds it, not by the file. */
static void put_box(struct drawing *d, size_t at, struct box b)
{
	const struct mpk_map_node *n = &d->map->nodes[at];
	bool outer = n->first && b.width > LEAST_INNER_WIDTH && b.height > LEAST_INNER_HEIGHT;

	/* too small to be visible */
	if (b.width < LEAST_SIDE || b.height < LEAST_SIDE)
		return;
	mpk_strbuf_puts(d->out, "<g>");
	put_title(d, n);
	mpk_strbuf_printf(
		d->out,
		"<rect class=\"c-%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"rx=\"2\"/>",
		n->kind, b.x, b.y, b.width, b.height);
	put_label(d, n, b, outer);
	mpk_strbuf_puts(d->out, "</g>\n");
	if (outer)
		put_children(d, at,
			     (struct box){ b.x + INSET, b.y + LABEL, b.width - 2 * INSET,
					   b.height - LABEL - INSET });
}

/* Draws the colours that occur in the picture, with their names. */
static void put_key(struct drawing *d)
{
	const char *seen[24] = { 0 };
	size_t count = 0;
	double x = 20;

	for (size_t i = 1; i < d->map->count && count < MPK_ARRAY_COUNT(seen); i++) {
		const char *kind = d->map->nodes[i].kind;
		size_t k = 0;

		while (k < count && strcmp(seen[k], kind) != 0)
			k++;
		if (k < count)
			continue;
		seen[count++] = kind;
		mpk_strbuf_printf(
			d->out,
			"<rect class=\"c-%s\" x=\"%.1f\" y=\"%.0f\" width=\"12\" height=\"12\" "
			"rx=\"3\"/><text class=\"note\" x=\"%.1f\" y=\"%.0f\">%s</text>\n",
			kind, x, HEIGHT - 25, x + 17, HEIGHT - 15, mpk_map_kind_title(kind));
		x += 36 + 6.2 * (double)strlen(mpk_map_kind_title(kind));
	}
}

static void map_svg(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_map_picture *p = what;
	const struct mpk_map_node *file = &p->map->nodes[0];
	struct drawing d = { p->map, out };

	(void)style;
	mpk_strbuf_printf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
		"height=\"%.0f\" role=\"img\">\n<title>",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	put_clipped(out, file->name, 400);
	mpk_strbuf_printf(out, ": where its %s are</title>\n<style>%s</style>\n",
			  MPK_SIZE(file->bytes), STYLE);
	mpk_strbuf_printf(out, "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\"/>\n", WIDTH,
			  HEIGHT);
	mpk_strbuf_puts(out, "<text class=\"title\" x=\"20\" y=\"34\">");
	put_clipped(out, file->name, 90);
	mpk_strbuf_printf(
		out,
		"</text>\n<text class=\"note\" x=\"%.0f\" y=\"34\" text-anchor=\"end\">%s; the area of "
		"a box is its share</text>\n",
		WIDTH - 20, MPK_SIZE(file->bytes));
	put_children(&d, 0, (struct box){ 20, TOP, WIDTH - 40, HEIGHT - TOP - BOTTOM });
	put_key(&d);
	mpk_strbuf_puts(out, "</svg>\n");
}

const struct mpk_answer mpk_answer_map = { .text = map_svg };
