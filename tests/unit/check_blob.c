/* SPDX-License-Identifier: Apache-2.0 */
/* formats/blob: the three containers, against blobs that TVM wrote */
#include "harness.h"

#include <inttypes.h>

#include "blob/blob.h"
#include "payload.h"
#include "payload_write.h"

/* What the README of the fixtures says each blob holds: kinds and children in index order. */
static const struct fixture {
	const char *file;
	enum mpk_generation gen;
	const char *kinds;    /* separated by spaces */
	const char *children; /* of each node: indices with commas, separated by spaces, "-" none */
} fixtures[] = {
	{ "formats/01_opencl_scale.blob", MPK_GEN_CURRENT, "_lib opencl", "1 -" },
	{ "formats/02_cuda_source_dynshmem.blob", MPK_GEN_CURRENT, "_lib cuda", "1 -" },
	{ "formats/03_cuda_ptx.blob", MPK_GEN_CURRENT, "_lib cuda", "1 -" },
	{ "formats/04_metal.blob", MPK_GEN_CURRENT, "_lib metal", "1 -" },
	{ "formats/05_webgpu.blob", MPK_GEN_CURRENT, "_lib webgpu", "1 -" },
	{ "formats/06_relax_vm.blob", MPK_GEN_CURRENT, "relax.VMExecutable _lib", "1 -" },
	{ "formats/07_relax_opencl.blob", MPK_GEN_CURRENT, "relax.VMExecutable _lib opencl",
	  "1 2 -" },
	{ "formats/08_const_loader.blob", MPK_GEN_CURRENT, "const_loader _lib", "1 -" },
	{ "formats/20_legacy_opencl.blob", MPK_GEN_LEGACY, "_lib opencl", "1 -" },
	{ "formats/21_legacy_metal_off.blob", MPK_GEN_LEGACY, "_lib metal", "1 -" },
	{ "formats/22_legacy_webgpu.blob", MPK_GEN_LEGACY, "_lib webgpu", "1 -" },
	{ "formats/23_legacy_graph.blob", MPK_GEN_LEGACY, "GraphExecutorFactory _lib", "1 -" },
	{ "formats/24_legacy_aot.blob", MPK_GEN_LEGACY, "AotExecutorFactory metadata_module _lib",
	  "1 2 -" },
	{ "formats/25_legacy_relay_vm.blob", MPK_GEN_LEGACY, "VMExecutable _lib", "1 -" },
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

static void describe(const struct mpk_tree *tree, char *kinds, char *children)
{
	*kinds = *children = '\0';
	for (size_t i = 0; i < tree->count; i++) {
		const struct mpk_node *n = &tree->nodes[i];

		sprintf(kinds + strlen(kinds), "%s" MPK_SPAN_FMT, i ? " " : "",
			MPK_SPAN_ARG(n->kind));
		sprintf(children + strlen(children), "%s%s", i ? " " : "",
			n->child_count ? "" : "-");
		for (size_t j = 0; j < n->child_count; j++)
			sprintf(children + strlen(children), "%s%zu", j ? "," : "", n->children[j]);
	}
}

static struct mpk_span written(const struct mpk_tree *tree, struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_span flat;

	ck_assert_int_eq(mpk_blob_write(tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	return flat;
}

START_TEST(fixture_reads_and_writes_back)
{
	const struct fixture *f = &fixtures[_i];
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree;
	struct mpk_span blob;
	char kinds[200], children[200];

	blob = fixture_load(f->file);
	ck_assert_msg(mpk_blob_read(blob, f->gen, &arena, &tree, &err) == MPK_OK, "%s: %s", f->file,
		      err.text);
	describe(&tree, kinds, children);
	ck_assert_str_eq(kinds, f->kinds);
	ck_assert_str_eq(children, f->children);
	ck_assert(tree.has_tree && !tree.implied_lib && !tree.truncated);
	ck_assert_int_eq(tree.warning.code, MPK_OK);
	ck_assert_uint_eq(tree.nbytes + 8, blob.len);
	ck_assert_uint_eq(tree.used, blob.len);
	ck_assert(mpk_span_equal(written(&tree, &arena), blob));
	mpk_arena_fini(&arena);
	fixture_free(blob);
}
END_TEST

START_TEST(payload_offsets_point_at_the_bytes)
{
	struct mpk_arena arena = { 0 };
	struct mpk_tree tree;
	struct mpk_span blob;

	blob = fixture_load(fixtures[_i].file);
	ck_assert_int_eq(mpk_blob_read(blob, fixtures[_i].gen, &arena, &tree, NULL), MPK_OK);
	for (size_t i = 0; i < tree.count; i++) {
		const struct mpk_node *n = &tree.nodes[i];

		ck_assert_ptr_eq(n->payload.data, blob.data + n->payload_off);
		ck_assert_ptr_eq(n->kind.data, blob.data + n->kind_off + 8);
	}
	mpk_arena_fini(&arena);
	fixture_free(blob);
}
END_TEST

START_TEST(guess_finds_the_generation)
{
	enum mpk_generation gen;
	struct mpk_span blob;

	blob = fixture_load(fixtures[_i].file);
	ck_assert_int_eq(mpk_blob_guess(blob, &gen, NULL), MPK_OK);
	ck_assert_int_eq(gen, fixtures[_i].gen);
	fixture_free(blob);
}
END_TEST

/* What decodes must encode to the same bytes, and its parts must lie in it. */
static void check_payload(const struct mpk_payload *p, const struct mpk_node *n,
			  struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_extracted_files parts;
	struct mpk_span flat;

	payload_write(&rope, p);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	if (p->trailing == 0)
		ck_assert(mpk_span_equal(flat, n->payload));
	ck_assert_int_eq(mpk_payload_extract(p, arena, &parts, NULL), MPK_OK);
	for (size_t i = 0; i < parts.count; i++) {
		const struct mpk_extracted_file *part = &parts.items[i];

		ck_assert_ptr_null(strstr(part->name, ".."));
		if (!part->stored || part->data.len == 0)
			continue;
		ck_assert_uint_ge(part->off, n->payload_off);
		ck_assert_uint_le(part->off + part->data.len, n->payload_off + n->payload.len);
	}
}

/* Whatever was read must hang together: views within the blob, children after parents. */
static void check_sound(struct mpk_span blob, enum mpk_generation gen)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree, again;
	char path[32];

	if (mpk_blob_read(blob, gen, &arena, &tree, &err) != MPK_OK) {
		ck_assert_int_ne(err.code, MPK_OK);
		ck_assert_uint_gt(strlen(err.text), 0);
		goto done;
	}
	ck_assert_uint_gt(tree.count, 0);
	for (size_t i = 0; i < tree.count; i++) {
		const struct mpk_node *n = &tree.nodes[i];
		const struct mpk_kind *kind = mpk_kind_find(n->kind);
		struct mpk_payload payload;

		ck_assert_uint_le(n->payload_off, blob.len);
		ck_assert_uint_le(n->payload.len, blob.len - n->payload_off);
		for (size_t j = 0; j < n->child_count; j++)
			ck_assert(n->children[j] > i && n->children[j] < tree.count);
		mpk_tree_path(&tree, i, path, sizeof path);
		if (kind && mpk_payload_decode(kind, gen, mpk_source_of(n), &arena, &payload,
					       NULL) == MPK_OK)
			check_payload(&payload, n, &arena);
	}
	if (!tree.truncated) {
		struct mpk_span copy = written(&tree, &arena);

		ck_assert_int_eq(mpk_blob_read(copy, gen, &arena, &again, &err), MPK_OK);
		ck_assert_uint_eq(again.count, tree.count);
	}
done:
	mpk_arena_fini(&arena);
}

START_TEST(every_prefix_is_an_error_or_sound)
{
	struct guarded g;
	struct mpk_span blob;

	blob = fixture_load(fixtures[_i].file);
	g = guarded_create(blob.len);
	for (size_t n = 0; n < blob.len; n++)
		check_sound(guarded_put(&g, mpk_span_of(blob.data, n)), fixtures[_i].gen);
	/* and with a size that agrees with the prefix */
	for (size_t n = 8; n < blob.len; n++) {
		struct mpk_span cut = guarded_put(&g, mpk_span_of(blob.data, n));

		for (unsigned i = 0; i < 8; i++)
			g.map[g.room - n + i] = (uint8_t)((n - 8) >> 8 * i);
		check_sound(cut, fixtures[_i].gen);
	}
	guarded_free(&g);
	fixture_free(blob);
}
END_TEST

START_TEST(every_flip_is_an_error_or_sound)
{
	static const uint8_t masks[] = { 0xff, 0x01, 0x80 };
	struct guarded g;
	struct mpk_span blob;

	blob = fixture_load(fixtures[_i].file);
	g = guarded_create(blob.len);
	for (size_t n = 0; n < blob.len * sizeof masks; n++) {
		struct mpk_span copy = guarded_put(&g, blob);

		g.map[g.room - blob.len + n / sizeof masks] ^= masks[n % sizeof masks];
		check_sound(copy, fixtures[_i].gen);
	}
	guarded_free(&g);
	fixture_free(blob);
}
END_TEST

/* --- trees that no fixture has ------------------------------------------------------ */

/* Root 0 imports 1 and 2, both import 3. */
static const size_t diamond_root[] = { 1, 2 }, diamond_leaf[] = { 3 };

static struct mpk_tree diamond(struct mpk_node nodes[4], enum mpk_generation gen)
{
	static const char payload[] = "\2\0\0\0\0\0\0\0cl\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0x";
	struct mpk_span bytes = mpk_span_of(payload, sizeof payload - 1);

	memset(nodes, 0, 4 * sizeof *nodes);
	nodes[0] = (struct mpk_node){ .is_lib = true, .children = diamond_root, .child_count = 2 };
	for (size_t i = 1; i < 4; i++)
		nodes[i] = (struct mpk_node){ .kind = mpk_span_str(i == 3 ? "cuda" : "opencl"),
					      .payload = bytes };
	nodes[1].children = nodes[2].children = diamond_leaf;
	nodes[1].child_count = nodes[2].child_count = 1;
	return (struct mpk_tree){ .gen = gen, .nodes = nodes, .count = 4 };
}

START_TEST(diamond_survives_every_container)
{
	struct mpk_arena arena = { 0 };
	struct mpk_node nodes[4];
	struct mpk_tree tree = diamond(nodes, (enum mpk_generation)_i), back;
	struct mpk_span blob = written(&tree, &arena);
	char kinds[200], children[200];

	ck_assert_int_eq(mpk_blob_read(blob, tree.gen, &arena, &back, NULL), MPK_OK);
	describe(&back, kinds, children);
	ck_assert_str_eq(kinds, "_lib opencl opencl cuda");
	ck_assert_str_eq(children, "1,2 3 3 -");

	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_span bare;

	ck_assert_int_eq(mpk_blob_write_bare(&tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &bare, NULL), MPK_OK);
	ck_assert(mpk_span_equal(bare, mpk_span_of(blob.data + 8, blob.len - 8)));
	ck_assert_int_eq(mpk_blob_read_bare(bare, tree.gen, &arena, &back, NULL), MPK_OK);
	ck_assert_uint_eq(back.count, 4);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(header_less_fixtures)
{
	static const char *const files[] = { "formats/10_static_library.nohdr",
					     "formats/11_c.nohdr" };
	static const char *const kinds[] = { "static_library", "c" };
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_tree tree;
	struct mpk_span blob, back;

	blob = fixture_load(files[_i]);
	ck_assert_int_eq(mpk_blob_read_bare(blob, MPK_GEN_CURRENT, &arena, &tree, NULL), MPK_OK);
	ck_assert_uint_eq(tree.count, 1);
	ck_assert(mpk_span_is(tree.nodes[0].kind, kinds[_i]));
	ck_assert_int_eq(mpk_blob_write_bare(&tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &back, NULL), MPK_OK);
	ck_assert(mpk_span_equal(back, blob));
	mpk_arena_fini(&arena);
	fixture_free(blob);
}
END_TEST

/* --- refusals: each names the offset of the field that is wrong --------------------- */

/* A current blob of 2 modules, _lib -> opencl, as 64-bit words: size, rows, children. */
static const struct refusal {
	const char *what;
	size_t word; /* which of the words is replaced */
	uint64_t value;
	uint64_t offset;
} refusals[] = {
	{ "size beyond the end", 0, 1 << 20, 0 },
	{ "more rows than bytes", 1, UINT64_MAX, 8 },
	{ "no module", 1, 1, 8 },
	{ "first row not 0", 2, 1, 0x10 },
	{ "row beyond the children", 3, 2, 0x18 },
	{ "rows descend", 4, 0, 0x20 },
	{ "more children than bytes", 5, UINT64_MAX / 8, 0x28 },
	{ "child out of range", 6, 2, 0x30 },
	{ "child is its own parent", 6, 0, 0x30 },
};

START_TEST(refused)
{
	const struct refusal *r = &refusals[_i];
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_tree tree;
	struct mpk_span blob;
	uint8_t *bytes;

	blob = fixture_load("formats/01_opencl_scale.blob");
	bytes = malloc(blob.len);
	memcpy(bytes, blob.data, blob.len);
	for (unsigned i = 0; i < 8; i++)
		bytes[8 * r->word + i] = (uint8_t)(r->value >> 8 * i);
	ck_assert_msg(mpk_blob_read(mpk_span_of(bytes, blob.len), MPK_GEN_CURRENT, &arena, &tree,
				    &err) == MPK_E_CORRUPT,
		      "%s: accepted", r->what);
	ck_assert_msg(err.at.offset == r->offset, "%s: at %" PRIx64 " (%s)", r->what, err.at.offset,
		      err.text);
	ck_assert_str_eq(err.at.space, "blob");
	free(bytes);
	mpk_arena_fini(&arena);
	fixture_free(blob);
}
END_TEST

/* --- the legacy container: no tree, unknown kinds ----------------------------------- */

START_TEST(lone_library)
{
	static const uint8_t empty[16] = { 8 };
	struct mpk_arena arena = { 0 };
	struct mpk_tree tree;

	ck_assert_int_eq(mpk_blob_read(mpk_span_of(empty, 16), MPK_GEN_LEGACY, &arena, &tree, NULL),
			 MPK_OK);
	ck_assert_uint_eq(tree.count, 1);
	ck_assert(tree.implied_lib && tree.nodes[0].is_lib && !tree.has_tree);
	ck_assert(mpk_span_equal(written(&tree, &arena), mpk_span_of(empty, 16)));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(modules_without_a_tree_are_the_librarys_imports)
{
	struct mpk_arena arena = { 0 };
	struct mpk_node nodes[4];
	struct mpk_tree tree = diamond(nodes, MPK_GEN_LEGACY), back;
	struct mpk_span blob;
	char kinds[200], children[200];

	tree.implied_lib = true; /* as a blob of TVM 0.6 reads: nothing but the modules is stored */
	blob = written(&tree, &arena);
	ck_assert_uint_eq(blob.data[8], 3);
	ck_assert_int_eq(mpk_blob_read(blob, MPK_GEN_LEGACY, &arena, &back, NULL), MPK_OK);
	describe(&back, kinds, children);
	ck_assert_str_eq(kinds, "_lib opencl opencl cuda");
	ck_assert_str_eq(children, "1,2,3 - - -");
	ck_assert(mpk_span_equal(written(&back, &arena), blob));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(unknown_kind_ends_where_the_known_ones_begin)
{
	/* holds what looks like a module, but no chain of modules begins there */
	static const char payload[] = "four is no length \4\0\0\0\0\0\0\0_lib and more";
	struct mpk_arena arena = { 0 };
	struct mpk_node nodes[4];
	struct mpk_tree tree = diamond(nodes, MPK_GEN_LEGACY), back;
	struct mpk_span blob;
	char kinds[200], children[200];

	nodes[_i].kind = mpk_span_str("from_the_future");
	nodes[_i].payload = mpk_span_of(payload, sizeof payload - 1);
	blob = written(&tree, &arena);
	ck_assert_int_eq(mpk_blob_read(blob, MPK_GEN_LEGACY, &arena, &back, NULL), MPK_OK);
	describe(&back, kinds, children);
	ck_assert_str_eq(children, "1,2 3 3 -");
	ck_assert(back.nodes[_i].opaque && !back.truncated);
	ck_assert_int_eq(back.warning.code, MPK_E_UNSUPPORTED);
	ck_assert_uint_eq(back.warning.at.offset, back.nodes[_i].kind_off);
	ck_assert(mpk_span_equal(back.nodes[_i].payload, nodes[_i].payload));
	ck_assert(mpk_span_equal(written(&back, &arena), blob));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(two_unknown_kinds_truncate)
{
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_node nodes[4];
	struct mpk_tree tree = diamond(nodes, MPK_GEN_LEGACY), back;
	char kinds[200], children[200];

	nodes[1].kind = nodes[2].kind = mpk_span_str("from_the_future");
	ck_assert_int_eq(mpk_blob_read(written(&tree, &arena), MPK_GEN_LEGACY, &arena, &back, NULL),
			 MPK_OK);
	describe(&back, kinds, children);
	ck_assert(back.truncated && back.has_tree);
	ck_assert_str_eq(kinds, "_lib from_the_future");
	ck_assert_str_eq(children, "1 -");
	ck_assert_int_eq(mpk_blob_write(&back, &rope, NULL), MPK_E_UNSUPPORTED);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(guess_refuses_noise)
{
	static const uint8_t noise[64] = { 1, 2, 3 };
	enum mpk_generation gen;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_blob_guess(mpk_span_of(noise, sizeof noise), &gen, &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_blob_guess(mpk_span_of(noise, 0), &gen, &err), MPK_E_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("blob");
	TCase *t = tcase_create("blob"), *damaged = tcase_create("damaged");

	tcase_set_timeout(t, 300);
	tcase_set_timeout(damaged, 300);
	tcase_add_loop_test(t, fixture_reads_and_writes_back, 0, FIXTURES);
	tcase_add_loop_test(t, payload_offsets_point_at_the_bytes, 0, FIXTURES);
	tcase_add_loop_test(t, guess_finds_the_generation, 0, FIXTURES);
	tcase_add_loop_test(t, diamond_survives_every_container, 0, MPK_GENERATION_COUNT);
	tcase_add_loop_test(t, header_less_fixtures, 0, 2);
	tcase_add_loop_test(t, refused, 0, sizeof refusals / sizeof *refusals);
	tcase_add_test(t, lone_library);
	tcase_add_test(t, modules_without_a_tree_are_the_librarys_imports);
	tcase_add_loop_test(t, unknown_kind_ends_where_the_known_ones_begin, 1, 4);
	tcase_add_test(t, two_unknown_kinds_truncate);
	tcase_add_test(t, guess_refuses_noise);
	tcase_add_loop_test(damaged, every_prefix_is_an_error_or_sound, 0, FIXTURES);
	tcase_add_loop_test(damaged, every_flip_is_an_error_or_sound, 0, FIXTURES);
	suite_add_tcase(s, t);
	suite_add_tcase(s, damaged);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
