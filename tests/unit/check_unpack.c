/* SPDX-License-Identifier: Apache-2.0 */
/* Trees become manifests and files, and these the same blob (package/unpack.c): of every
 * real library at hand, and of trees made up at random in all three generations. */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "tree_made.h"

static void fini(void)
{
	mpk_arena_fini(&arena);
}

/* --- the judge ------------------------------------------------------------------------- */

/* Names that go below a directory and nowhere else, each once. */
static void check_names(const struct mpk_unpack *plan, const char *what)
{
	for (size_t i = 0; i < plan->count; i++) {
		const char *name = plan->files[i].name;

		ck_assert_msg(*name && *name != '/' && !strstr(name, "..") &&
				      name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
							"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							"0123456789._-/")] == '\0',
			      "%s: '%s'", what, name);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(name, plan->files[k].name);
	}
}

/* Takes apart what was read from blob and puts it together again.
 * Returns  whether it is of those that can be; the reason is in err then */
static bool round_trip(const struct mpk_tree *tree, struct mpk_span blob, struct mpk_span library,
		       const char *what, struct mpk_error *err)
{
	struct mpk_unpack_input input = {
		.tree = tree, .blob = blob, .name = "round", .library = library
	};
	struct mpk_unpack plan;
	enum mpk_code code = mpk_unpack_plan(&input, &arena, &plan, err);

	if (code != MPK_OK) {
		ck_assert_msg(code == MPK_E_UNSUPPORTED && err->text[0], "%s: %d: %s", what, code,
			      err->text);
		return false;
	}
	check_names(&plan, what);
	check_rebuilds(&plan, mpk_span_of(blob.data, tree->nbytes + 8), what);
	return true;
}

/* --- real files -------------------------------------------------------------------------- */

static size_t unpacked, without_blob;

static struct mpk_span load(const char *path)
{
	FILE *f = fopen(path, "rb");
	long len;

	ck_assert_msg(f && fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0, "%s", path);
	rewind(f);
	uint8_t *data = mpk_arena_alloc(&arena, (size_t)len + 1);
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq(fread(data, 1, (size_t)len, f), (size_t)len);
	(void)fclose(f);
	return mpk_span_of(data, (size_t)len);
}

static int try_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *dot = strrchr(path, '.');
	struct mpk_image image;
	struct mpk_error err = { 0 };
	struct mpk_tree tree;

	(void)st, (void)at;
	if (type != FTW_F || !dot ||
	    (strcmp(dot, ".so") != 0 && strcmp(dot, ".blob") != 0 && strcmp(dot, ".tar") != 0))
		return 0;
	struct mpk_span bytes = load(path);
	if (mpk_image_open(bytes, NULL, &arena, &image, &err) != MPK_OK || !image.has_blob) {
		without_blob++;
		return 0;
	}
	ck_assert_int_eq(mpk_blob_read(image.blob, image.gen, &arena, &tree, &err), MPK_OK);
	bool is_so = image.container == MPK_CONTAINER_ELF_SO;
	ck_assert_msg(
		round_trip(&tree, image.blob, is_so ? bytes : (struct mpk_span){ 0 }, path, &err),
		"%s: %s", path, err.text);
	unpacked++;
	return 0;
}

START_TEST(every_fixture)
{
	ck_assert_int_eq(nftw("tests/data", try_file, 16, FTW_PHYS), 0);
	ck_assert_uint_ge(unpacked, 50);
	(void)printf("%zu blobs come back, %zu files have none\n", unpacked, without_blob);
}
END_TEST

/* --- generated trees -------------------------------------------------------------------- */

/* Returns  1: came back, 0: refused, -1: no such tree */
static int try_made(uint64_t seed, size_t hosts, struct mpk_error *err)
{
	struct made m = { .state = seed, .gen = (enum mpk_generation)(seed % 3) };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_graph graph;
	struct mpk_tree tree, read;
	struct mpk_span blob;
	char what[32];

	make_graph(&m, hosts);
	graph = (struct mpk_graph){ m.modules, m.count, 0, seed & 8 };
	if (mpk_graph_order(&graph, m.gen, &arena, &tree, NULL, err) != MPK_OK)
		return -1;
	ck_assert_int_eq(mpk_blob_write(&tree, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &blob, NULL), MPK_OK);
	(void)snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
	ck_assert_msg(mpk_blob_read(blob, m.gen, &arena, &read, err) == MPK_OK, "%s: %s", what,
		      err->text);
	if (round_trip(&read, blob, mpk_span_str("\177ELF"), what, err))
		return 1;
	return may_be_refused(&read) || read.implied_lib ? -1 : 0;
}

START_TEST(generated_trees)
{
	static const size_t hosts[] = { 0, 1, 3 };
	size_t back = 0;

	for (uint64_t seed = 1; seed <= 1500; seed++) {
		struct mpk_error err = { 0 };
		int result = try_made(seed, hosts[_i], &err);

		ck_assert_msg(result != 0, "seed %llu: %s", (unsigned long long)seed, err.text);
		back += result == 1;
		mpk_arena_fini(&arena);
	}
	(void)printf("at most %zu host modules: %zu trees come back\n", hosts[_i], back);
	ck_assert_uint_ge(back, 600); /* others are graphs with cycles, or kinds without a name */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unpack");
	TCase *tc = tcase_create("unpack");

	tcase_add_checked_fixture(tc, NULL, fini);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_fixture);
	tcase_add_loop_test(tc, generated_trees, 0, 3);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
