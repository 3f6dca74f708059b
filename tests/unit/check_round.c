/* SPDX-License-Identifier: Apache-2.0 */
/* What is built can be looked at, edited and unpacked, and gives the same bytes again: of trees made up at
 * random, with every kind of module in all three generations, as a bare blob and in a library.
 *
 * MPK_ROUND_COUNT and MPK_ROUND_SEED in the environment try more of them, or others. */
#include <inttypes.h>

#include "elf/edit.h"
#include "elf/image.h"
#include "list/list.h"
#include "model/node_info.h"
#include "package/package.h"
#include "payload_made.h"
#include "tree_made.h"
#include "verify/verify.h"

enum { COUNT = 4000, LIBRARY = 5 }; /* each fifth stands in a library */

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void fini(void)
{
	mpk_arena_fini(&arena);
}

/* --- a tree ------------------------------------------------------------------------------ */

/* A payload of any layout but kernels, as whoever wrote this kind would have written it. */
static bool put_any(struct made *m, struct mpk_span *kind_name, struct mpk_span *out)
{
	struct gen g = { .seed = random_next(&m->state) | 1 };
	const struct mpk_kind *kind;
	size_t kinds = 0;

	while (mpk_kinds[kinds].name)
		kinds++;
	kind = &mpk_kinds[random_below(&m->state, kinds)];
	/* host code is made by make_graph, kernels by put_module */
	if (kind->name[0] == '_' || kind->codec->reader->tag == MPK_PAYLOAD_KERNELS)
		return false;

	/* without a length its layout is a guess (its FORMAT.md), and one in 20,000 is wrong */
	if (kind->codec->reader->tag == MPK_PAYLOAD_ETHOSN && m->gen != MPK_GEN_CURRENT)
		return false;

	struct mpk_payload p = { .tag = kind->codec->reader->tag, .kind = kind, .gen = m->gen };

	fill(&g, &p);
	struct mpk_span made = encoded(&p, &g);

	*kind_name = mpk_span_str(kind->name);
	*out = mpk_span_of(mpk_arena_copy(&arena, made.data, made.len), made.len);
	mpk_arena_fini(&g.arena);
	return true;
}

/* Half of the modules of tree_made.h become one of any kind. */
static void make_kinds(struct made *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct mpk_span kind, payload;

		if (m->modules[i].is_host || random_below(&m->state, 2) ||
		    !put_any(m, &kind, &payload))
			continue;
		m->modules[i].kind = kind;
		m->contents[i] = mpk_rope_of(&arena);
		mpk_rope_put_view(&m->contents[i], payload);
	}
}

static struct mpk_span written(const struct mpk_tree *tree, const char *what)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span blob;

	ck_assert_msg(mpk_blob_write(tree, &rope, &err) == MPK_OK, "%s: %s", what, err.text);
	ck_assert_int_eq(mpk_rope_flat(&rope, &blob, NULL), MPK_OK);
	return blob;
}

/* Returns  false: the graph has a cycle */
static bool make_blob(uint64_t seed, enum mpk_generation *gen, struct mpk_span *blob,
		      const char *what)
{
	struct made m = { .state = seed * 0x9e3779b97f4a7c15 | 1,
			  .gen = (enum mpk_generation)(seed % MPK_GENERATION_COUNT) };
	struct mpk_graph graph;
	struct mpk_tree tree;

	make_graph(&m, random_below(&m.state, 4));
	make_kinds(&m);
	graph = (struct mpk_graph){ m.modules, m.count, 0, seed & 8 };
	if (mpk_graph_order(&graph, m.gen, &arena, &tree, NULL, NULL) != MPK_OK)
		return false;
	*gen = m.gen;
	*blob = written(&tree, what);
	return true;
}

/* --- what is done with it ---------------------------------------------------------------- */

static void read_tree(struct mpk_span blob, enum mpk_generation gen, struct mpk_tree *out,
		      const char *what)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_blob_read(blob, gen, &arena, out, &err) == MPK_OK, "%s: %s", what,
		      err.text);
	ck_assert_msg(mpk_span_equal(written(out, what), blob), "%s: read and written", what);
}

/* Everything that is said of it, which changes nothing. */
static void inspect(struct mpk_span blob, const struct mpk_image *image,
		    const struct mpk_tree *tree, const char *what)
{
	struct mpk_report report = { 0 };
	struct mpk_strbuf out = { 0 };
	struct mpk_view view;
	struct mpk_json j;

	ck_assert_int_eq(mpk_view_init(&view, "x", blob.len, image, tree, &arena, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_show_info(&view, true, NULL), MPK_OK);
	mpk_answer_summary.text(&view, (struct mpk_style){ 0 }, &out);
	mpk_answer_functions.text(&view, (struct mpk_style){ 0 }, &out);
	mpk_json_init(&j, 1);
	mpk_answer_summary.json(&view, &j, j.root);
	ck_assert_msg(mpk_json_print(&j, &out, NULL) == MPK_OK, "%s: JSON", what);
	ck_assert_int_eq(mpk_strbuf_status(&out, NULL), MPK_OK);
	ck_assert_int_eq(mpk_verify_run(&view, NULL, &arena, &report, NULL), MPK_OK);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
	mpk_report_fini(&report);
}

/* The blob with other bytes in module index; empty: the edit was refused. */
static struct mpk_span swapped(struct mpk_span blob, enum mpk_generation gen, size_t index,
			       struct mpk_span payload, const char *what)
{
	struct mpk_error err = { 0 };
	struct mpk_mapping map = { .bytes = payload, .fd = -1 };
	struct mpk_tree tree;
	struct mpk_swap swap = { .tree = &tree, .arena = &arena };
	char path[64];

	ck_assert_int_eq(mpk_blob_read(blob, gen, &arena, &tree, NULL), MPK_OK);
	mpk_tree_path(&tree, index, path, sizeof path);
	if (mpk_swap_payload(&swap, path, &map, "new", &err) != MPK_OK) {
		ck_assert_msg(err.text[0], "%s: refused without a reason", what);
		return (struct mpk_span){ 0 };
	}
	return written(&tree, what);
}

/* A module whose whole payload is replaced: by itself, then by another and back. */
static size_t edit(struct mpk_span blob, enum mpk_generation gen, const struct mpk_tree *tree,
		   uint64_t seed, const char *what)
{
	size_t edited = 0;

	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];
		const struct mpk_kind *kind = mpk_kind_find(n->kind);
		struct mpk_span same, other;

		/* of device modules the code is replaced, not the payload */
		if (n->is_lib || n->opaque ||
		    (kind && kind->codec->reader->tag == MPK_PAYLOAD_KERNELS))
			continue;
		same = swapped(blob, gen, i, n->payload, what);
		if (!same.len)
			continue;
		ck_assert_msg(mpk_span_equal(same, blob), "%s: /%zu replaced by itself", what, i);
		edited++;

		struct mpk_strbuf longer = { 0 };

		mpk_strbuf_put(&longer, (const char *)n->payload.data, n->payload.len);
		for (uint64_t k = 0; k < seed % 7 + 1; k++)
			mpk_strbuf_putc(&longer, 'x');
		other = swapped(blob, gen, i, mpk_span_of(longer.data, longer.len), what);
		if (other.len) {
			ck_assert_uint_eq(other.len, blob.len + longer.len - n->payload.len);
			same = swapped(other, gen, i, n->payload, what);
			ck_assert_msg(mpk_span_equal(same, blob), "%s: /%zu there and back", what,
				      i);
		}
		mpk_strbuf_fini(&longer);
	}
	return edited;
}

/* Returns  whether a manifest can say it; its package has the same bytes then */
static bool unpack(struct mpk_span blob, const struct mpk_tree *tree, const char *what)
{
	struct mpk_unpack_input input = {
		.tree = tree, .blob = blob, .name = "round", .library = mpk_span_str("\177ELF")
	};
	struct mpk_error err = { 0 };
	struct mpk_unpack plan;

	if (mpk_unpack_plan(&input, &arena, &plan, &err) != MPK_OK) {
		ck_assert_msg(err.code == MPK_E_UNSUPPORTED && err.text[0], "%s: %s", what,
			      err.text);
		ck_assert_msg(may_be_refused(tree) || tree->implied_lib || tree->truncated,
			      "%s: %s", what, err.text);
		return false;
	}
	check_rebuilds(&plan, blob, what);
	return true;
}

/* A library whose blob becomes this one, and then its own again. */
static void put_in_library(struct mpk_span library, struct mpk_span blob, const char *what)
{
	const struct mpk_span contents[] = { blob, { 0 } };
	struct mpk_span bytes = library;
	struct mpk_image image;

	for (size_t i = 0; i < 2; i++) {
		struct mpk_rope content = mpk_rope_of(&arena), out = mpk_rope_of(&arena);
		struct mpk_error err = { 0 };

		ck_assert_int_eq(mpk_image_open(library, NULL, &arena, &image, NULL), MPK_OK);
		mpk_rope_put_view(&content, contents[i].len ? contents[i] : mpk_image_blob(&image));
		ck_assert_int_eq(mpk_image_open(bytes, NULL, &arena, &image, NULL), MPK_OK);

		struct mpk_private file = {
			.data = (uint8_t *)mpk_arena_copy(&arena, bytes.data, bytes.len),
			.len = bytes.len,
			.keep_off = (size_t)(image.blob.data - bytes.data),
			.keep_len = image.blob.len,
		};

		ck_assert_ptr_nonnull(file.data);
		ck_assert_msg(mpk_elf_replace(&file, image.blob_symbol, &content, &arena, &out,
					      &err) == MPK_OK,
			      "%s: %s", what, err.text);
		ck_assert_int_eq(mpk_rope_flat(&out, &bytes, NULL), MPK_OK);
		ck_assert_int_eq(mpk_image_open(bytes, NULL, &arena, &image, NULL), MPK_OK);
		ck_assert_msg(image.blob.len >= content.len &&
				      mpk_rope_equals(&content,
						      mpk_span_of(image.blob.data, content.len)),
			      "%s: in a library", what);
	}
}

/* --- tests ------------------------------------------------------------------------------- */

struct tally {
	size_t trees, edited, unpacked, in_libraries;
};

static void try(uint64_t seed, struct mpk_span library, struct tally *t)
{
	struct mpk_image image = { .container = MPK_CONTAINER_BLOB, .has_blob = true };
	struct mpk_tree tree;
	struct mpk_span blob;
	char what[40];

	(void)snprintf(what, sizeof what, "seed %" PRIu64, seed);
	if (!make_blob(seed, &image.gen, &blob, what))
		return;
	image.bytes = image.blob = blob;
	read_tree(blob, image.gen, &tree, what);
	if (tree.truncated)
		return;
	t->trees++;
	inspect(blob, &image, &tree, what);
	t->edited += edit(blob, image.gen, &tree, seed, what);
	t->unpacked += unpack(blob, &tree, what);
	if (image.gen == MPK_GEN_CURRENT && seed % LIBRARY == 0) {
		put_in_library(library, blob, what);
		t->in_libraries++;
	}
}

START_TEST(random_trees)
{
	uint64_t first = number_of("MPK_ROUND_SEED", 1),
		 count = number_of("MPK_ROUND_COUNT", COUNT);
	struct mpk_span library = fixture_load("formats/01_opencl_scale.so");
	struct tally t = { 0 };

	for (uint64_t seed = first; seed < first + count; seed++) {
		try(seed, library, &t);
		mpk_arena_fini(&arena);
	}
	fixture_free(library);
	(void)printf("%zu trees: %zu modules edited, %zu trees unpacked, %zu in libraries\n",
		     t.trees, t.edited, t.unpacked, t.in_libraries);
	ck_assert_uint_ge(t.trees, count / 2);
	ck_assert_uint_ge(t.edited, count / 4);
	ck_assert_uint_ge(t.unpacked, count / 4);
	ck_assert_uint_ge(t.in_libraries, count / 40);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("round");
	TCase *tc = tcase_create("round");

	tcase_add_checked_fixture(tc, NULL, fini);
	tcase_set_timeout(tc, getenv("MPK_ROUND_COUNT") ? 0 : 120);
	tcase_add_test(tc, random_trees);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
