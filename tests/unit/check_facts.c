/* SPDX-License-Identifier: Apache-2.0 */
/* Facts: each kind of row as JSON, and numbers that may not be there. */
#include "harness.h"

#include "text/facts.h"

struct thing {
	bool is_new;
	uint8_t small;
	uint16_t port;
	uint32_t width, told, untold, flat, no_flat;
	uint64_t bytes, untold_bytes;
	int64_t delta, unsaid;
	double share;
	const char *text, *none, *name, *no_name;
	struct mpk_span span, no_span;
	uint8_t sha256[32];
	uint32_t block[3], no_block[3];
	enum { LITTLE, BIG } order;
	bool is_big;
};

static struct mpk_figure_value half_of_width(const void *of)
{
	const struct thing *t = of;

	return mpk_figure_of(t->width / 2);
}

static struct mpk_figure_value nothing(const void *of)
{
	(void)of;
	return (struct mpk_figure_value){ 0 };
}

static const char *const orders[] = { [LITTLE] = "little", [BIG] = "big" };

static const struct mpk_fact facts[] = {
	{ MPK_FACT(BOOL, "is_new", struct thing, is_new) },
	{ MPK_FACT(COUNT, "small", struct thing, small, "of a byte") },
	{ MPK_FACT(COUNT, "port", struct thing, port) },
	{ MPK_FACT(COUNT, "width", struct thing, width), .tag = 7 },
	{ MPK_FACT(COUNT, "bytes", struct thing, bytes) },
	{ MPK_FACT(TOLD, "told", struct thing, told) },
	{ MPK_FACT(TOLD, "untold", struct thing, untold) },
	{ MPK_FACT(TOLD, "untold_bytes", struct thing, untold_bytes) },
	{ MPK_FACT(I64, "delta", struct thing, delta) },
	{ MPK_FACT(I64_IF, "same_delta", struct thing, delta) },
	{ MPK_FACT(I64_IF, "unsaid", struct thing, unsaid) },
	{ MPK_FACT(F64, "share", struct thing, share) },
	{ MPK_FACT(TEXT, "text", struct thing, text) },
	{ MPK_FACT(TEXT_OR_NULL, "same_text", struct thing, text) },
	{ MPK_FACT(TEXT_OR_NULL, "none", struct thing, none) },
	{ MPK_FACT(TEXT_OR_NULL, "empty", struct thing, no_name) },
	{ MPK_FACT(NAME_OR_NULL, "name", struct thing, name) },
	{ MPK_FACT(NAME_OR_NULL, "no_name", struct thing, no_name) },
	{ MPK_FACT(SPAN, "span", struct thing, span) },
	{ MPK_FACT(SPAN, "empty_span", struct thing, no_span) },
	{ MPK_FACT(SPAN_OR_NULL, "same_span", struct thing, span) },
	{ MPK_FACT(SPAN_OR_NULL, "no_span", struct thing, no_span) },
	{ MPK_FACT(SPAN_IF, "a_span", struct thing, span) },
	{ MPK_FACT(SPAN_IF, "not_there", struct thing, no_span) },
	{ MPK_FACT(COUNT, "span_bytes", struct thing, span.len) },
	{ MPK_FACT(SHA256, "sha256", struct thing, sha256) },
	{ MPK_FACT(XYZ, "block", struct thing, block) },
	{ MPK_FACT(XYZ, "no_block", struct thing, no_block) },
	{ MPK_FACT(X, "flat", struct thing, flat) },
	{ MPK_FACT(X, "no_flat", struct thing, no_flat) },
	{ MPK_FACT_WORDS("order", struct thing, order, orders) },
	{ MPK_FACT_WORDS("byte_order", struct thing, is_big, orders) },
	{ MPK_FACT_GET("half", half_of_width) },
	{ MPK_FACT_GET("not_that_either", nothing) },
	{ MPK_FACT_GET(NULL, half_of_width), .tag = 8 },
};

static const struct thing thing = {
	.is_new = true,
	.small = 255,
	.port = 65535,
	.width = UINT32_MAX,
	.told = 5,
	.untold = UINT32_MAX,
	.untold_bytes = UINT64_MAX,
	.bytes = UINT64_C(1) << 60,
	.delta = -3,
	.unsaid = INT64_MIN,
	.share = 0.5,
	.text = "a\"b",
	.name = "n",
	.no_name = "",
	.span = { (const uint8_t *)"xyz", 3 },
	.sha256 = { 0xab, 1 },
	.block = { 32, 1, 2 },
	.flat = 64,
	.order = BIG,
};

static const char expected[] =
	"{\"is_new\":true,\"small\":255,\"port\":65535,\"width\":4294967295,\"bytes\":\"1152921504606846976\","
	"\"told\":5,\"untold\":null,\"untold_bytes\":null,\"delta\":-3,\"same_delta\":-3,\"share\":0.5,"
	"\"text\":\"a\\\"b\",\"same_text\":\"a\\\"b\",\"none\":null,\"empty\":\"\",\"name\":\"n\",\"no_name\":null,"
	"\"span\":\"xyz\",\"empty_span\":\"\",\"same_span\":\"xyz\",\"no_span\":null,\"a_span\":\"xyz\",\"span_bytes\":3,"
	"\"sha256\":\"ab01000000000000000000000000000000000000000000000000000000000000\",\"block\":[32,1,2],"
	"\"no_block\":null,\"flat\":[64,1,1],\"no_flat\":null,\"order\":\"big\",\"byte_order\":\"little\","
	"\"half\":2147483647}";

START_TEST(each_kind_has_its_form)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 0);
	mpk_facts_json(MPK_FACTS(facts), &thing, &j, j.root);
	ck_assert_int_eq(mpk_json_line(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out), expected);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

static const struct mpk_fact two[] = {
	{ MPK_FACT(COUNT, "width", struct thing, width) },
	{ MPK_FACT(TEXT_OR_NULL, "none", struct thing, none) },
};

START_TEST(lists_step_over_items)
{
	const struct thing things[] = { { .width = 1 }, { .width = 2, .none = "x" } };
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 0);
	mpk_facts_json_list(MPK_FACTS(two), "things", things, 2, sizeof *things, &j, j.root);
	mpk_facts_json_list(MPK_FACTS(two), "no_things", NULL, 0, sizeof *things, &j, j.root);
	ck_assert_int_eq(mpk_json_line(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(
		mpk_strbuf_text(&out),
		"{\"things\":[{\"width\":1,\"none\":null},{\"width\":2,\"none\":\"x\"}],\"no_things\":[]}");
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

/* What a table is asked by tag: a row without a key is a number all the same. */
START_TEST(numbers_are_known_or_not)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(facts); i++) {
		struct mpk_figure_value n;

		if (facts[i].kind != MPK_FACT_TOLD && !facts[i].tag)
			continue;
		n = mpk_fact_number(&facts[i], &thing);
		if (facts[i].tag)
			ck_assert_uint_eq(n.number,
					  facts[i].tag == 7 ? UINT32_MAX : UINT32_MAX / 2);
		else
			ck_assert_int_eq(n.state, strncmp(facts[i].key, "un", 2) == 0
							  ? MPK_FIGURE_UNKNOWN
							  : MPK_FIGURE_KNOWN);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("facts");
	TCase *tc = tcase_create("facts");

	tcase_add_test(tc, each_kind_has_its_form);
	tcase_add_test(tc, lists_step_over_items);
	tcase_add_test(tc, numbers_are_known_or_not);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
