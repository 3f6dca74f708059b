/* SPDX-License-Identifier: Apache-2.0 */
/* Every fixture of tests/data cut short at any length and with any byte changed, through all
 * that minspect and mpack make of a file without running it: a clean error or an answer, no
 * byte read that is not there, and memory in proportion to the file.
 *
 * The default takes some places of each file; MPK_EXHAUSTIVE=1 takes all (minutes). */
#include <ftw.h>
#include <malloc.h>

#include "digest/digest.h"
#include "elf/image.h"
#include "extract/extract.h"
#include "graph/dot.h"
#include "list/list.h"
#include "map/map.h"
#include "model/node_info.h"
#include "package/package.h"
#include "page/page.h"
#include "robust.h"
#include "size/size.h"
#include "skip.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

/* --- memory is counted ------------------------------------------------------------------- */

/* What one look at a file may hold: its decoded form, two texts, a JSON document. */
enum { MEMORY_FACTOR = 16, MEMORY_BASE = 128 << 10 };

/* Compiled functions of models are read with tables that have one size, whatever the file. */
enum { COMPILED_BASE = 2 << 20 };

#if defined(__GLIBC__) && !MPK_IS_ADDRESS_SANITIZED
#define COUNTS_MEMORY 1
static size_t live, peak;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static void *taken(void *p)
{
	live += malloc_usable_size(p);
	if (live > peak)
		peak = live;
	return p;
}

/* Libraries must call these, too. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
	return taken(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return taken(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	size_t before = malloc_usable_size(old);
	void *p = __libc_realloc(old, size);

	if (p || !size)
		live -= before;
	return taken(p);
}

void free(void *p)
{
	live -= malloc_usable_size(p);
	__libc_free(p);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return taken(__libc_memalign(alignment, size));
}

#pragma GCC visibility pop
#else
#define COUNTS_MEMORY 0
static size_t live, peak;
#endif

/* --- all that is done with a file ---------------------------------------------------------- */

static enum mpk_code look_tree(const struct mpk_view *view, struct mpk_arena *arena,
			       struct mpk_strbuf *text, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	struct mpk_unpack_input input = { .tree = view->tree,
					  .blob = view->image->blob,
					  .name = "x",
					  .library = view->image->bytes,
					  .standalone = view->image->standalone };
	struct mpk_extract plan;
	struct mpk_size size;
	struct mpk_code_digests digests;
	struct mpk_unpack unpack;
	enum mpk_code code;

	MPK_TRY(mpk_extract_plan(view, (struct mpk_span){ 0 }, arena, &plan, err));
	MPK_TRY(mpk_verify_run(view, NULL, arena, &report, err));
	mpk_answer_verify.text(&(struct mpk_verified){ "x", &report, false },
			       (struct mpk_style){ .verbose = true }, text);
	MPK_TRY(mpk_size_read(view, arena, &size, err));
	mpk_answer_size.text(&size, (struct mpk_style){ 0 }, text);
	MPK_TRY(mpk_code_digests_read(view, arena, &digests, err));
	mpk_answer_code_digest.text(&digests, (struct mpk_style){ 0 }, text);
	code = mpk_unpack_plan(&input, arena, &unpack, err);
	return code == MPK_E_UNSUPPORTED ? MPK_OK : code;
}

/* A picture is written by itself. */
static enum mpk_code look_map(const struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_size size;
	struct mpk_map map;

	MPK_TRY(mpk_size_read(view, &arena, &size, err));
	MPK_TRY(mpk_map_read(view, &size, &arena, &map, err));
	mpk_answer_map.text(&(struct mpk_map_picture){ "x", &map }, (struct mpk_style){ 0 }, &text);
	return mpk_strbuf_status(&text, err);
}

static enum mpk_code look_json(const struct mpk_view *view, struct mpk_strbuf *text,
			       struct mpk_error *err)
{
	struct mpk_json j;
	enum mpk_code code;

	mpk_json_init(&j, 1);
	mpk_answer_summary.json(view, &j, j.root);
	mpk_answer_functions.json(view, &j, mpk_json_object(&j, j.root, "functions_of"));
	code = mpk_json_print(&j, text, err);
	mpk_json_fini(&j);
	return code;
}

static enum mpk_code look_page(struct mpk_view *view, struct mpk_strbuf *text,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_page_fini) struct mpk_page page;
	struct mpk_rope document = mpk_rope_of(&page.arena);

	mpk_page_init(&page, true);
	MPK_TRY(mpk_view_show_info(view, false, err));
	MPK_TRY(mpk_page_add(&page, view, NULL, err));
	/* all of the page but its template, which is as long for every file */
	MPK_TRY(mpk_page_document(&page, &document, err));
	for (size_t i = 0; i < document.count; i++)
		mpk_strbuf_put(text, (const char *)document.pieces[i].data,
			       (size_t)document.pieces[i].len);
	return MPK_OK;
}

static enum mpk_code look_graphs(const struct mpk_view *view, struct mpk_strbuf *text,
				 struct mpk_error *err)
{
	struct mpk_model_graphs graphs;

	MPK_TRY(mpk_model_graphs_read(view, &graphs, err));
	mpk_answer_dot_tree.text(view, (struct mpk_style){ 0 }, text);
	mpk_answer_dot_model.text(&graphs, (struct mpk_style){ 0 }, text);
	return MPK_OK;
}

static enum mpk_code look(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_tree tree = { 0 };
	struct mpk_image image;
	struct mpk_view view;

	MPK_TRY(mpk_image_open(bytes, NULL, &arena, &image, err));
	if (image.has_blob)
		MPK_TRY(mpk_blob_read(image.blob, image.gen, &arena, &tree, err));
	MPK_TRY(mpk_view_init(&view, "x", bytes.len, &image, image.has_blob ? &tree : NULL, &arena,
			      err));
	mpk_answer_summary.text(&view, (struct mpk_style){ 0 }, &text);
	mpk_answer_functions.text(&view, (struct mpk_style){ 0 }, &text);
	MPK_TRY(look_json(&view, &text, err));
	if (image.has_blob)
		MPK_TRY(look_tree(&view, &arena, &text, err));
	MPK_TRY(look_map(&view, err));
	MPK_TRY(look_graphs(&view, &text, err));
	MPK_TRY(look_page(&view, &text, err));
	return mpk_strbuf_status(&text, err);
}

/* What the last look held at most, and what it left; Check allocates, too, but not meanwhile. */
static size_t held, left;

static enum mpk_code counted_look(struct mpk_span bytes, struct mpk_error *err)
{
	size_t before = live;

	peak = live;
	enum mpk_code code = look(bytes, err);
	held = peak - before;
	left = live - before;
	return code;
}

/* --- the files --------------------------------------------------------------------------- */

enum { FILES_MAX = 128 };

static char *files[FILES_MAX];
static int file_count;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	static const char *const suffixes[] = { ".so", ".blob", ".nohdr", ".tar", ".gz",
						".a",  ".o",    ".obj",   ".dll", ".dylib" };
	const char *dot = strrchr(path, '.');

	(void)st, (void)at;
	for (size_t i = 0; type == FTW_F && dot && i < MPK_ARRAY_COUNT(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0 && file_count < FILES_MAX)
			files[file_count++] = strdup(path);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Most of a library is machine code, which nobody reads: its ends, where the headers and
 * tables are, and its blob are taken more densely than the rest. */
struct places {
	size_t len, ends, blob, blob_len, dense, sparse;
};

static struct places places_of(struct mpk_span file)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	bool all = getenv("MPK_EXHAUSTIVE") != NULL;
	struct places p = { .len = file.len, .ends = 2048, .dense = 7, .sparse = 331 };
	struct mpk_image image;

	if (mpk_image_open(file, NULL, &scratch, &image, NULL) == MPK_OK && image.has_blob &&
	    !image.is_packed) {
		p.blob = (size_t)image.blob_off;
		p.blob_len = image.blob.len;
	}
	if (all || (file.len < 1024 && !MPK_IS_SANITIZED)) {
		p.dense = p.sparse = 1;
	} else if (MPK_IS_SANITIZED) { /* each place takes ten times as long; fuzzers try more */
		p.ends = 512;
		p.dense = file.len < 1024 ? 3 : 17;
		p.sparse = file.len < 1024 ? 3 : 2003;
	}
	return p;
}

static size_t next_place(const struct places *p, size_t at)
{
	bool dense = at < p->ends || p->len - at < p->ends ||
		     (at >= p->blob && at - p->blob < p->blob_len && p->blob_len < 4096);

	return at + (dense ? p->dense : p->sparse);
}

static void try_bytes(struct mpk_span bytes, size_t len, const char *what)
{
	size_t base = strstr(what, "compiled") ? COMPILED_BASE : MEMORY_BASE;

	robust_try(counted_look, bytes, what);
	ck_assert_msg(held <= base + MEMORY_FACTOR * len,
		      "%s: %zu bytes of memory for a file of %zu", what, held, len);
	ck_assert_msg(left == 0, "%s: %zu bytes leaked", what, left);
}

START_TEST(every_prefix)
{
	struct mpk_arena arena = { 0 };
	struct mpk_span good = robust_load(&arena, files[_i]);
	struct robust_page page = robust_page_of(good.len);
	struct places places = places_of(good);
	char what[300];

	for (size_t n = 0; n <= good.len; n = next_place(&places, n)) {
		uint8_t *at = page.map + page.room - n;

		memcpy(at, good.data, n);
		(void)snprintf(what, sizeof what, "%s cut to %zu bytes", files[_i], n);
		try_bytes(mpk_span_of(at, n), good.len, what);
	}
	munmap(page.map, page.room + (size_t)sysconf(_SC_PAGESIZE));
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(every_byte_flipped)
{
	static const uint8_t masks[] = { 0xff, 0x01, 0x80 };
	struct mpk_arena arena = { 0 };
	struct mpk_span good = robust_load(&arena, files[_i]);
	struct robust_page page = robust_page_of(good.len);
	struct places places = places_of(good);
	uint8_t *at = page.map + page.room - good.len;
	char what[300];

	memcpy(at, good.data, good.len);
	for (size_t i = 0, n = 0; i < good.len; i = next_place(&places, i), n++) {
		uint8_t mask = masks[n % MPK_ARRAY_COUNT(masks)];

		at[i] ^= mask;
		(void)snprintf(what, sizeof what, "%s, byte %zu ^ 0x%02x", files[_i], i, mask);
		try_bytes(mpk_span_of(at, good.len), good.len, what);
		at[i] ^= mask;
	}
	munmap(page.map, page.room + (size_t)sysconf(_SC_PAGESIZE));
	mpk_arena_fini(&arena);
}
END_TEST

/* The count counts, and what is sound is cheap. */
START_TEST(memory_is_counted)
{
	struct mpk_arena arena = { 0 };
	struct mpk_span good = robust_load(&arena, "tests/data/relax/gelu.so");

	ck_assert_int_eq(counted_look(good, NULL), MPK_OK);
	mpk_arena_fini(&arena);
	if (!COUNTS_MEMORY)
		SKIP_TEST("memory is not counted under a sanitizer");
	ck_assert_uint_gt(held, good.len / 100);
}
END_TEST

/* What computes SHA-256 is loaded at first use and stays: that is no leak of the file that came first. */
static void load_digests(void)
{
	uint8_t out[MPK_DIGEST_BYTES];

	ck_assert_int_eq(mpk_digest_span(MPK_DIGEST_SHA256, mpk_span_str("x"), out, NULL), MPK_OK);
}

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *tc = tcase_create("hostile");

	if (nftw("tests/data", add_file, 16, FTW_PHYS) != 0 || file_count < 20) {
		(void)fprintf(stderr, "tests/data has %d files\n", file_count);
		return EXIT_FAILURE;
	}
	qsort(files, (size_t)file_count, sizeof *files, by_name);
	tcase_set_timeout(tc, getenv("MPK_EXHAUSTIVE") ? 0 : 300);
	tcase_add_checked_fixture(tc, load_digests, NULL);
	tcase_add_test(tc, memory_is_counted);
	tcase_add_loop_test(tc, every_prefix, 0, file_count);
	tcase_add_loop_test(tc, every_byte_flipped, 0, file_count);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
