/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line (text/phrase.h). The judge is sh: it must take each word back. */
#include "text/phrase.h"
#include "workdir.h"

static const struct {
	const char *word, *quoted;
} rows[] = {
	{ "-ffile-prefix-map=/a/b=.", "-ffile-prefix-map=/a/b=." },
	{ "out/x_1.o,@50%:+", "out/x_1.o,@50%:+" },
	{ "", "''" },
	{ "a b", "'a b'" },
	{ "$HOME", "'$HOME'" },
	{ "`id`", "'`id`'" },
	{ "$(id)", "'$(id)'" },
	{ "a!b", "'a!b'" },
	{ "~", "'~'" },
	{ "~root/x", "'~root/x'" },
	{ "x~", "'x~'" },
	{ "=ls", "'=ls'" },
	{ "it's", "'it'\\''s'" },
	{ "'", "''\\'''" },
	{ "\\n", "'\\n'" },
	{ "a\nb", "'a\nb'" },
	{ "a\n", "'a\n'" },
	{ "a;b&c|d<e>f(g)h*i?j[k]l{m}n#o\"p^q", "'a;b&c|d<e>f(g)h*i?j[k]l{m}n#o\"p^q'" },
	{ "\033[31mred", "''\"$(printf '\\033')\"'[31mred'" },
	{ "a\tb\r", "'a'\"$(printf '\\011')\"'b'\"$(printf '\\015')\"''" },
	{ "n\303\251t", "'n\303\251t'" },
};

START_TEST(words)
{
	struct mpk_strbuf script = { 0 };

	mpk_shell_quote(&script, mpk_span_str(rows[_i].word));
	ck_assert_str_eq(mpk_strbuf_text(&script), rows[_i].quoted);
	script.len = 0;
	mpk_strbuf_puts(&script, "printf %s ");
	mpk_shell_quote(&script, mpk_span_str(rows[_i].word));
	mpk_strbuf_puts(&script, " >got\n");
	write_file("script", mpk_strbuf_text(&script));
	run("sh script");
	ck_assert_msg(mpk_span_is(read_file("got"), rows[_i].word), "%s", rows[_i].quoted);
	mpk_strbuf_fini(&script);
}
END_TEST

/* Every byte but NUL, alone and in a word. */
START_TEST(bytes)
{
	char word[] = { 'a', (char)_i, 'b', '\0' };
	struct mpk_strbuf script = { 0 };

	mpk_strbuf_puts(&script, "printf %s ");
	mpk_shell_quote(&script, mpk_span_str(word));
	mpk_shell_quote(&script, mpk_span_of(word + 1, 1));
	mpk_strbuf_puts(&script, " >got\n");
	write_file("script", mpk_strbuf_text(&script));
	run("sh script");
	ck_assert_mem_eq(read_file("got").data, ((char[]){ 'a', word[1], 'b', word[1], '\0' }), 5);
	mpk_strbuf_fini(&script);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shell");
	TCase *tc = tcase_create("quotes");

	tcase_add_checked_fixture(tc, workdir_enter, workdir_leave);
	tcase_add_loop_test(tc, words, 0, MPK_ARRAY_COUNT(rows));
	tcase_add_loop_test(tc, bytes, 1, 256);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
