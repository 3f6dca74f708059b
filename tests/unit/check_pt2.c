/* SPDX-License-Identifier: Apache-2.0 */
/* formats/pt2: packages made here. What Python's zipfile writes is in tests/cli/minspect/pt2.sh */
#include "assert_error.h"
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "pt2/pt2.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- an archive of stored members, without checksums: nothing here asks for them --------------- */

struct made {
	uint8_t bytes[8192];
	size_t len;
	struct mpk_zip_member members[16];
	size_t count;
};

/* A local header of 30 bytes, the name, the content (zip/FORMAT.md 3). */
static void add(struct made *m, const char *name, const char *content)
{
	static const uint8_t magic[] = { 'P', 'K', 3, 4 };
	const size_t name_len = strlen(name), len = strlen(content);
	uint8_t *at = m->bytes + m->len;

	ck_assert_uint_le(m->len + 30 + name_len + len, sizeof m->bytes);
	ck_assert_uint_lt(m->count, MPK_ARRAY_COUNT(m->members));
	memset(at, 0, 30);
	memcpy(at, magic, sizeof magic);
	at[26] = (uint8_t)name_len;
	memcpy(at + 30, name, name_len);
	memcpy(at + 30 + name_len, content, len);
	m->members[m->count++] = (struct mpk_zip_member){
		.name = mpk_span_of(at + 30, name_len), .stored = len, .plain = len, .local = m->len
	};
	m->len += 30 + name_len + len;
}

static bool read_made(const struct made *m, struct mpk_pt2 *out)
{
	struct mpk_error err = { 0 };
	bool is;

	ck_assert_ok(mpk_pt2_read(mpk_span_of(m->bytes, m->len), m->members, m->count, &arena, &is,
				  out, &err),
		     err);
	return is;
}

/* --- what is one ------------------------------------------------------------------------------ */

static const struct {
	const char *name, *content, *root;
	bool is;
} formats[] = {
	{ "archive_format", "pt2", "", true },
	{ "m/archive_format", "pt2\n", "m/", true },
	{ "m/archive_format", "pt3", "", false },
	{ "m/n/archive_format", "pt2", "", false },
	{ "my_archive_format", "pt2", "", false },
	{ "archive_format", "pt2 and more than any word has of letters", "", false },
};

START_TEST(which_is_one)
{
	struct made m = { 0 };
	struct mpk_pt2 pt2;

	add(&m, formats[_i].name, formats[_i].content);
	ck_assert_int_eq(read_made(&m, &pt2), formats[_i].is);
	if (formats[_i].is)
		ck_assert(mpk_span_is(pt2.root, formats[_i].root));
}
END_TEST

/* --- members ---------------------------------------------------------------------------------- */

START_TEST(parts)
{
	static const struct {
		const char *member;
		enum mpk_pt2_role role;
		const char *name;
	} rows[] = {
		{ "m/archive_format", MPK_PT2_OTHER, "" },
		{ "m/.data/version", MPK_PT2_OTHER, "" },
		{ "m/archive_version", MPK_PT2_OTHER, "" },
		{ "m/data/weights/weight_0", MPK_PT2_WEIGHT, "fc.weight" },
		{ "m/data/weights/weight_1", MPK_PT2_WEIGHT, "" },
		{ "m/data/weights/a_config.json", MPK_PT2_OTHER, "" },
		{ "m/data/constants/tensor_0", MPK_PT2_CONSTANT, "scale" },
		{ "m/data/constants/b_config.json", MPK_PT2_OTHER, "" },
		{ "m/data/aotinductor/m/k.cubin", MPK_PT2_ARTIFACT, "" },
		{ "m/data/sample_inputs/m.pt", MPK_PT2_SAMPLE, "" },
		{ "m/models/m.json", MPK_PT2_MODEL, "" },
		{ "other", MPK_PT2_OTHER, "" },
	};
	static const char names[] = "{\"config\": {\"fc.weight\": {\"path_name\": \"weight_0\"}, "
				    "\"x\": {\"path_name\": \"none\"}, \"y\": 1}}";
	static const char *const contents[] = { "pt2", "6",   "0\n", "1234",
						"1",   names, "c",   "{\"scale\": \"tensor_0\"}",
						"k",   "s",   "{}",  "o" };
	struct made m = { 0 };
	struct mpk_pt2 pt2;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		add(&m, rows[i].member, contents[i]);
	add(&m, "m/data/", "");
	ck_assert(read_made(&m, &pt2));
	ck_assert(mpk_span_is(pt2.version, "0"));
	ck_assert_uint_eq(pt2.count, MPK_ARRAY_COUNT(rows)); /* a folder is none */
	for (size_t i = 0; i < pt2.count; i++) {
		ck_assert(mpk_span_is(pt2.parts[i].member, rows[i].member));
		ck_assert_int_eq(pt2.parts[i].role, rows[i].role);
		ck_assert_msg(mpk_span_is(pt2.parts[i].name, rows[i].name), "%s", rows[i].member);
		ck_assert_uint_eq(pt2.parts[i].bytes, strlen(contents[i]));
	}
}
END_TEST

/* Documents that name nothing. */
static const char *const documents[] = {
	"",
	"{",
	"[]",
	"5",
	"{\"config\": []}",
	"{\"config\": {\"w\": {}}}",
	"{\"config\": {\"w\": {\"path_name\": {}}}}",
	"{\"config\": {\"w\": {\"path_name\": \"../weight_0\"}}}"
};

START_TEST(names_nothing)
{
	struct made m = { 0 };
	struct mpk_pt2 pt2;

	add(&m, "archive_format", "pt2");
	add(&m, "data/weights/weight_0", "1234");
	add(&m, "data/weights/a_config.json", documents[_i]);
	ck_assert(read_made(&m, &pt2));
	ck_assert_uint_eq(pt2.parts[1].name.len, 0);
}
END_TEST

/* A member that lies beyond the end says nothing, neither what the archive is nor a name. */
START_TEST(beyond_the_end)
{
	struct made m = { 0 };
	struct mpk_pt2 pt2;

	add(&m, "archive_format", "pt2");
	add(&m, "data/weights/a_config.json", "{}");
	m.members[1].local = m.len;
	ck_assert(read_made(&m, &pt2));
	m.members[0].stored = sizeof m.bytes;
	ck_assert(!read_made(&m, &pt2));
}
END_TEST

START_TEST(words)
{
	for (unsigned i = 0; i < MPK_PT2_ROLES; i++)
		ck_assert_ptr_nonnull(mpk_pt2_role_words[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pt2");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, which_is_one, 0, MPK_ARRAY_COUNT(formats));
	tcase_add_test(tc, parts);
	tcase_add_loop_test(tc, names_nothing, 0, MPK_ARRAY_COUNT(documents));
	tcase_add_test(tc, beyond_the_end);
	tcase_add_test(tc, words);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
