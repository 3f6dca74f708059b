/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/internal/model.h"

#include <inttypes.h>
#include <string.h>

#include "compare/tensor.h"
#include "text/escape.h"

/* --- byte code ------------------------------------------------------------------------ */

/* A function of a listing: a line that begins with '@', and those below it. */
struct listed_function {
	struct mpk_span name, text;
};

/* "  12: " in front of an instruction of the Relay machine: one more instruction changes all below. */
static size_t number_length(struct mpk_span line)
{
	size_t i = 0, digits;

	while (i < line.len && line.data[i] == ' ')
		i++;
	digits = i;
	while (i < line.len && line.data[i] >= '0' && line.data[i] <= '9')
		i++;
	if (digits == 0 || i == digits || i + 1 >= line.len || line.data[i] != ':')
		return 0;
	return i + 2;
}

static struct mpk_span next_line(struct mpk_span text, size_t *at)
{
	const uint8_t *p = text.data + *at, *end = memchr(p, '\n', text.len - *at);
	size_t len = end ? (size_t)(end - p) + 1 : text.len - *at;

	*at += len;
	return mpk_span_of(p, len);
}

/* A listing without the numbers and the empty lines between functions. */
static struct mpk_span strip_numbers(struct mpk_differ *d, struct mpk_span listing)
{
	struct mpk_strbuf out = { 0 };
	size_t len;

	for (size_t at = 0; at < listing.len;) {
		struct mpk_span line = next_line(listing, &at);
		size_t skip = number_length(line);

		if (line.len == 1)
			continue;
		if (skip)
			mpk_strbuf_puts(&out, "  ");
		mpk_strbuf_put_span(&out, mpk_span_of(line.data + skip, line.len - skip));
	}
	len = out.len;
	const char *text = mpk_differ_take(d, &out);

	return mpk_span_of(text, text ? len : 0);
}

/* The name ends before "(", ":" or a blank. One that holds such a byte is cut, in both listings alike. */
static struct mpk_span function_name(struct mpk_span line)
{
	size_t n = 1;

	while (n < line.len && !memchr("(: \n", line.data[n], 4))
		n++;
	return mpk_span_of(line.data + 1, n - 1);
}

static struct listed_function *split_listing(struct mpk_differ *d, struct mpk_span listing,
					     size_t *count)
{
	struct listed_function *list;
	size_t n = 0;

	for (size_t at = 0; at < listing.len;)
		n += next_line(listing, &at).data[0] == '@';
	list = mpk_arena_array(d->arena, n, sizeof *list);
	d->diff->failed |= !list;
	*count = 0;
	for (size_t at = 0; list && at < listing.len;) {
		struct mpk_span line = next_line(listing, &at);

		if (line.data[0] == '@')
			list[(*count)++] =
				(struct listed_function){ function_name(line), { line.data, 0 } };
		if (*count)
			list[*count - 1].text.len += line.len;
	}
	return list;
}

static struct mpk_span listed_name(const void *item)
{
	const struct listed_function *f = item;

	return f->name;
}

static void compare_listed(struct mpk_differ *d, struct mpk_span name, const void *a, const void *b)
{
	const struct listed_function *x = a, *y = b;

	mpk_differ_lines(d, "byte code", name, "instruction", x->text, y->text);
}

void mpk_diff_listings(struct mpk_differ *d, struct mpk_span a, struct mpk_span b)
{
	static const struct mpk_diff_thing function = { .what = "byte code",
							.bytes = sizeof(struct listed_function),
							.name = listed_name,
							.compare = compare_listed };
	size_t a_count, b_count;
	const struct listed_function *x = split_listing(d, strip_numbers(d, a), &a_count);
	const struct listed_function *y = split_listing(d, strip_numbers(d, b), &b_count);

	if (x && y)
		mpk_differ_match(d, &function, x, a_count, y, b_count);
}

/* --- constants ------------------------------------------------------------------------- */

static void put_dims(const int64_t *shape, size_t ndim, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", shape[i]);
}

static void put_constant(const struct mpk_relax_const *c, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	switch (c->kind) {
	case MPK_RELAX_TENSOR:
		mpk_strbuf_printf(out, "tensor %s[",
				  mpk_dtype_print_short(c->u.tensor.dtype, type));
		put_dims(c->u.tensor.shape, c->u.tensor.ndim, out);
		mpk_strbuf_puts(out, "]\n");
		return;
	case MPK_RELAX_DTYPE:
		mpk_strbuf_printf(out, "type %s\n", mpk_dtype_print_short(c->u.dtype, type));
		return;
	case MPK_RELAX_SHAPE:
		mpk_strbuf_puts(out, "shape");
		for (size_t i = 0; i + 8 <= c->u.shape.len; i += 8)
			mpk_strbuf_printf(out, " %" PRId64,
					  (int64_t)mpk_load_u64(c->u.shape.data + i));
		mpk_strbuf_putc(out, '\n');
		return;
	case MPK_RELAX_STRING:
		mpk_strbuf_puts(out, "text ");
		mpk_escape(out, c->u.string);
		mpk_strbuf_putc(out, '\n');
		return;
	case MPK_RELAX_INT:
		mpk_strbuf_printf(out, "int %" PRId64 "\n", c->u.i);
		return;
	case MPK_RELAX_FLOAT:
		mpk_strbuf_printf(out, "float %.17g\n", c->u.f);
		return;
	case MPK_RELAX_CONST_KINDS:
		return;
	}
}

static struct mpk_strbuf list_constants(const struct mpk_relax *x)
{
	struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < x->const_count && !out.failed; i++)
		put_constant(&x->consts[i], &out);
	return out;
}

void mpk_diff_constants(struct mpk_differ *d, const struct mpk_relax *a, const struct mpk_relax *b)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf x = list_constants(a);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf y = list_constants(b);

	d->diff->failed |= x.failed || y.failed;
	mpk_differ_lines(d, "constants", (struct mpk_span){ 0 }, "constant",
			 mpk_span_of(x.data, x.len), mpk_span_of(y.data, y.len));
}

/* --- graphs ----------------------------------------------------------------------------- */

struct graph_node {
	const struct mpk_graph_json *graph;
	const struct mpk_graph_node *node;
	size_t index;
};

static struct mpk_span node_name(const void *item)
{
	const struct graph_node *n = item;

	return mpk_span_str(n->node->name);
}

static const char *op_of(const struct mpk_graph_node *n)
{
	return n->is_input ? "input" : n->func_name;
}

static void put_inputs(const struct graph_node *n, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < n->node->input_count; i++) {
		struct mpk_graph_ref ref = n->node->inputs[i];

		mpk_strbuf_puts(out, i ? ", " : "(");
		mpk_escape(out, mpk_span_str(n->graph->nodes[ref.node].name));
		if (ref.index)
			mpk_strbuf_printf(out, ":%" PRIu32, ref.index);
	}
	mpk_strbuf_puts(out, n->node->input_count ? ")" : "()");
}

static void put_types(const struct graph_node *n, struct mpk_strbuf *out)
{
	size_t end = n->graph->row_ptr[n->index + 1];
	char type[MPK_DTYPE_TEXT];

	for (size_t i = n->graph->row_ptr[n->index]; i < end; i++) {
		const struct mpk_graph_entry *e = &n->graph->entries[i];

		mpk_strbuf_puts(out, i > n->graph->row_ptr[n->index] ? ", " : "");
		mpk_strbuf_printf(out, "%s[", mpk_dtype_print_short(e->dtype, type));
		put_dims(e->shape, e->ndim, out);
		mpk_strbuf_putc(out, ']');
	}
}

static void put_storage(const struct graph_node *n, struct mpk_strbuf *out)
{
	size_t end = n->graph->row_ptr[n->index + 1];

	for (size_t i = n->graph->row_ptr[n->index]; i < end; i++) {
		const struct mpk_graph_entry *e = &n->graph->entries[i];

		mpk_strbuf_printf(out, "%s%" PRId64, i > n->graph->row_ptr[n->index] ? ", " : "",
				  e->storage_id);
		if (e->device_type)
			mpk_strbuf_printf(out, " on device %" PRId64, e->device_type);
		if (e->storage_scope[0]) {
			mpk_strbuf_puts(out, " in ");
			mpk_escape(out, mpk_span_str(e->storage_scope));
		}
	}
}

static void put_op(const struct graph_node *n, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(op_of(n->node)));
	mpk_strbuf_puts(out, n->node->flatten_data ? ", flattened" : "");
}

/* "inputs (a) -> (a, b)" where they differ */
static void put_change(const char *what, const struct graph_node *a, const struct graph_node *b,
		       void (*put)(const struct graph_node *n, struct mpk_strbuf *out),
		       struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf x = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf y = { 0 };

	put(a, &x);
	put(b, &y);
	out->failed |= x.failed || y.failed;
	if (strcmp(mpk_strbuf_text(&x), mpk_strbuf_text(&y)) != 0)
		mpk_strbuf_printf(out, "%s%s %s -> %s", out->len ? "; " : "", what,
				  mpk_strbuf_text(&x), mpk_strbuf_text(&y));
}

static void compare_graph_nodes(struct mpk_differ *d, struct mpk_span name, const void *a,
				const void *b)
{
	struct mpk_strbuf text = { 0 };

	put_change("operator", a, b, put_op, &text);
	put_change("inputs", a, b, put_inputs, &text);
	put_change("type", a, b, put_types, &text);
	put_change("storage", a, b, put_storage, &text);
	if (text.len || text.failed)
		(void)mpk_differ_add(d, MPK_DIFF_CHANGED, "node", name, mpk_differ_take(d, &text));
	mpk_strbuf_fini(&text);
}

static const struct graph_node *nodes_of(struct mpk_differ *d, const struct mpk_graph_json *g)
{
	struct graph_node *list = mpk_arena_array(d->arena, g->node_count, sizeof *list);

	d->diff->failed |= !list;
	for (size_t i = 0; list && i < g->node_count; i++)
		list[i] = (struct graph_node){ g, &g->nodes[i], i };
	return list;
}

static void put_outputs(const struct mpk_graph_json *g, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < g->head_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, mpk_span_str(g->nodes[g->heads[i].node].name));
		if (g->heads[i].index)
			mpk_strbuf_printf(out, ":%" PRIu32, g->heads[i].index);
	}
}

bool mpk_diff_graphs(struct mpk_differ *d, const struct mpk_graph_json *a,
		     const struct mpk_graph_json *b)
{
	static const struct mpk_diff_thing node = { .what = "node",
						    .bytes = sizeof(struct graph_node),
						    .name = node_name,
						    .compare = compare_graph_nodes };
	const struct graph_node *x = nodes_of(d, a), *y = nodes_of(d, b);
	struct mpk_strbuf was = { 0 }, is = { 0 };
	size_t before = d->diff->count;

	if (x && y)
		mpk_differ_match(d, &node, x, a->node_count, y, b->node_count);
	put_outputs(a, &was);
	put_outputs(b, &is);
	(void)mpk_differ_texts(d, "graph outputs", (struct mpk_span){ 0 }, &was, &is);
	return d->diff->count != before;
}

/* --- tensors ------------------------------------------------------------------------------ */

void mpk_diff_tensors(struct mpk_differ *d, struct mpk_span name, const struct mpk_tensor_record *a,
		      const struct mpk_tensor_record *b)
{
	struct mpk_tensor_diff found = mpk_tensor_compare(a, b);
	struct mpk_strbuf text = { 0 };

	if (found.is_comparable && !found.differing && !found.bits_only)
		return;
	mpk_tensor_diff_text(&found, a, b, &text);
	(void)mpk_differ_add(d, MPK_DIFF_CHANGED, "tensor", name, mpk_differ_take(d, &text));
}
