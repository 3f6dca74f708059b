/* SPDX-License-Identifier: Apache-2.0 */
/* lib/show/size: where the bytes of a file are, which stand in it twice, and each form of the answer */
#include "assert_error.h"
#include "robust.h"

#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "size/size.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- a tree of modules that nobody knows: each is its payload, and one part --------------------- */

enum { MODULES_MAX = 128 };

/* A blob with a module for each text; module 0 imports all others.
 * @file_bytes  what the file is said to have */
static struct mpk_view *view_of(const char *const *payloads, uint64_t file_bytes)
{
	struct mpk_image *image = mpk_arena_alloc(&arena, sizeof *image);
	struct mpk_tree *tree = mpk_arena_alloc(&arena, sizeof *tree);
	struct mpk_view *view = mpk_arena_alloc(&arena, sizeof *view);
	size_t *children = mpk_arena_array(&arena, MODULES_MAX, sizeof *children);

	ck_assert(image && tree && view && children);
	*image = (struct mpk_image){ .container = MPK_CONTAINER_BLOB,
				     .format = MPK_FILE_BLOB,
				     .has_blob = true,
				     .prefix = "" };
	*tree = (struct mpk_tree){ .gen = MPK_GEN_CURRENT };
	tree->nodes = mpk_arena_array(&arena, MODULES_MAX, sizeof *tree->nodes);
	ck_assert_ptr_nonnull(tree->nodes);
	for (; payloads[tree->count]; tree->count++) {
		tree->nodes[tree->count] = (struct mpk_node){
			.kind = mpk_span_str(tree->count % 2 ? "odd" : "even"),
			.payload = mpk_span_str(payloads[tree->count]),
			.is_lib = true,
		};
		children[tree->count] = tree->count + 1;
	}
	tree->nodes[0].children = children;
	tree->nodes[0].child_count = tree->count - 1;
	ck_assert_int_eq(mpk_view_init(view, "x.blob", file_bytes, image, tree, &arena, NULL),
			 MPK_OK);
	return view;
}

static void measure(const struct mpk_view *view, struct mpk_size *out)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_size_read(view, &arena, out, &err) == MPK_OK, "%s", err.text);
}

/* len bytes of one letter */
static const char *text_of(char letter, size_t len)
{
	char *text = mpk_arena_alloc(&arena, len + 1);

	ck_assert_ptr_nonnull(text);
	memset(text, letter, len);
	return text;
}

static const char *printed(mpk_answer_text *how, const void *what, struct mpk_style style)
{
	struct mpk_strbuf out = { 0 };
	const char *text;

	how(what, style, &out);
	ck_assert(!out.failed);
	text = mpk_arena_printf(&arena, "%s", mpk_strbuf_text(&out));
	mpk_strbuf_fini(&out);
	return text;
}

static size_t times(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

START_TEST(modules_and_parts)
{
	const char *const payloads[] = { text_of('a', 10), text_of('b', 300), "", text_of('c', 40),
					 NULL };
	struct mpk_size size;

	measure(view_of(payloads, 1000), &size);
	/* a blob has no sections: all of it is beside them */
	ck_assert_uint_eq(size.sections.count, 0);
	ck_assert_uint_eq(size.every_section_count, 0);
	ck_assert_uint_eq(size.other, 1000);
	ck_assert_uint_eq(size.function_count, 0);
	ck_assert_uint_eq(size.kernels.count + size.byte_code.count + size.gpu.count, 0);
	/* modules in the order of the tree, parts by size; a payload of no bytes is no part */
	ck_assert_uint_eq(size.modules.count, 4);
	ck_assert_uint_eq(size.modules.items[0].bytes, 10);
	ck_assert_uint_eq(size.modules.items[1].bytes, 300);
	ck_assert_uint_eq(size.modules.items[2].bytes, 0);
	ck_assert(mpk_span_is(size.modules.items[1].name, "odd"));
	ck_assert_str_eq(size.modules.items[1].path, "/0");
	ck_assert_ptr_eq(size.modules.items[1].node, &size.view->nodes[1]);
	ck_assert_uint_eq(size.files.count, 3);
	ck_assert_uint_eq(size.files.items[0].bytes, 300);
	ck_assert_uint_eq(size.files.items[1].bytes, 40);
	ck_assert_uint_eq(size.files.items[2].bytes, 10);
	ck_assert_str_eq(size.files.items[0].path, "/0");
	ck_assert_ptr_eq(size.files.items[0].node, &size.view->nodes[1]);
	ck_assert(mpk_span_is(size.files.items[0].name, "payload"));
	ck_assert_uint_eq(size.copy_count, 0);
	ck_assert_uint_eq(size.wasted, 0);
}
END_TEST

/* Parts of 64 bytes and more are compared by content; of equal ones all but the first are waste. */
START_TEST(copies)
{
	const char *const payloads[] = { text_of('a', 64),  text_of('b', 100),
					 text_of('a', 64),  text_of('a', 63),
					 text_of('a', 63),  text_of('b', 100),
					 text_of('c', 100), text_of('b', 100),
					 text_of('a', 65),  NULL };
	struct mpk_size size;
	const char *text;

	measure(view_of(payloads, 1000), &size);
	ck_assert_uint_eq(size.sorted.count, 7);
	ck_assert_uint_eq(size.copy_count, 2);
	ck_assert_uint_eq(size.copies[0].count, 3);
	ck_assert_uint_eq(size.sorted.items[size.copies[0].first].bytes, 100);
	ck_assert_int_eq(size.sorted.items[size.copies[0].first].data.data[0], 'b');
	ck_assert_uint_eq(size.copies[1].count, 2);
	ck_assert_uint_eq(size.sorted.items[size.copies[1].first].bytes, 64);
	ck_assert_uint_eq(size.wasted, 2 * 100 + 64);
	text = printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 });
	ck_assert_ptr_nonnull(strstr(text, "duplicates\n"));
	ck_assert_ptr_nonnull(strstr(text, "  3 times 100 B: "));
	ck_assert_ptr_nonnull(strstr(text, "  2 times 64 B: "));
	ck_assert_ptr_nonnull(strstr(text, "  264 B could be saved\n"));
	text = printed(mpk_answer_size.markdown, &size, (struct mpk_style){ 0 });
	ck_assert_ptr_nonnull(strstr(text, "\n264 B stand in the file more than once"));
}
END_TEST

/* Of a run of copies the text names four, in the order in which they stand in the file. */
static const struct {
	size_t count;
	const char *line;
} runs[] = {
	{ 2, "  2 times 64 B: /0 payload, /1 payload\n" },
	{ 4, "  4 times 64 B: /0 payload, /1 payload, /2 payload, /3 payload\n" },
	{ 5, "  5 times 64 B: /0 payload, /1 payload, /2 payload, /3 payload, ...\n" },
};

START_TEST(copies_are_named)
{
	char *block = mpk_arena_alloc(&arena, 8 * 65);
	const char *payloads[8] = { "root" };
	struct mpk_size size;

	for (size_t i = 0; i < runs[_i].count; i++) {
		memset(block + 65 * i, 'x', 64);
		payloads[i + 1] = block + 65 * i;
	}
	measure(view_of(payloads, 1000), &size);
	ck_assert_uint_eq(size.copy_count, 1);
	ck_assert_msg(strstr(printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 }),
			     runs[_i].line) != NULL,
		      "%s", printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 }));
}
END_TEST

/* Sixteen rows of a table, and how many it leaves out; JSON, CSV have all; Markdown a hundred. */
static const struct {
	size_t modules;
	const char *more, *markdown; /* NULL: nothing is left out */
} tables[] = {
	{ 16, NULL, NULL },
	{ 17, "  and 1 more\n", NULL },
	{ 100, "  and 84 more\n", NULL },
	{ 101, "  and 85 more\n", "\nand 1 more\n" },
};

START_TEST(tables_are_cut)
{
	const char *payloads[MODULES_MAX] = { NULL };
	struct mpk_json j;
	struct mpk_size size;
	const char *text;

	for (size_t i = 0; i < tables[_i].modules; i++)
		payloads[i] = text_of('a', i + 1);
	measure(view_of(payloads, 10000), &size);
	text = printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 });
	ck_assert_uint_eq(times(text, " payload\n"), 16);
	ck_assert_uint_eq(times(text, " more\n"), tables[_i].more ? 2 : 0);
	ck_assert(!tables[_i].more || strstr(text, tables[_i].more));
	text = printed(mpk_answer_size.markdown, &size, (struct mpk_style){ 0 });
	ck_assert_uint_eq(times(text, "| `payload` | "),
			  tables[_i].markdown ? 100 : tables[_i].modules);
	ck_assert_uint_eq(times(text, " more\n"), tables[_i].markdown ? 2 : 0);
	ck_assert(!tables[_i].markdown || strstr(text, tables[_i].markdown));
	text = printed(mpk_answer_size.csv, &size, (struct mpk_style){ 0 });
	ck_assert_uint_eq(times(text, "\r\n"), 2 + 2 * tables[_i].modules); /* the file, its blob */
	ck_assert_uint_eq(times(text, ",part,"), tables[_i].modules);
	mpk_json_init(&j, 1);
	mpk_answer_size.json(&size, &j, j.root);

	struct mpk_strbuf out = { 0 };

	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	ck_assert_uint_eq(times(mpk_strbuf_text(&out), "\"payload\""), tables[_i].modules);
	mpk_strbuf_fini(&out);
	mpk_json_fini(&j);
}
END_TEST

START_TEST(text_of_a_blob)
{
	const char *const payloads[] = { text_of('a', 50), text_of('b', 25), NULL };
	const char *const none[] = { "", NULL };
	struct mpk_size size;

	measure(view_of(payloads, 200), &size);
	ck_assert_str_eq(printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 }),
			 "x.blob: 200 B\n"
			 "modules\n"
			 "  50 B  25.0%  /   even\n"
			 "  25 B  12.5%  /0  odd\n"
			 "parts\n"
			 "  50 B  25.0%  /   payload\n"
			 "  25 B  12.5%  /0  payload\n");
	ck_assert_int_eq(strncmp(printed(mpk_answer_size.csv, &size, (struct mpk_style){ 0 }),
				 "x.blob,file,,,,,,,200,", strlen("x.blob,file,,,,,,,200,")),
			 0);
	ck_assert_ptr_nonnull(strstr(printed(mpk_answer_size.csv, &size, (struct mpk_style){ 0 }),
				     "\r\nx.blob,module,/0,odd,,,,,25"));
	ck_assert_ptr_nonnull(strstr(printed(mpk_answer_size.csv, &size, (struct mpk_style){ 0 }),
				     "\r\nx.blob,part,/0,odd,payload,,,,25"));
	/* bold titles where there are colours */
	ck_assert_ptr_nonnull(
		strstr(printed(mpk_answer_size.text, &size, (struct mpk_style){ .color = true }),
		       "\033[1mmodules\033[0m\n"));
	/* a file of no bytes has no shares */
	measure(view_of(none, 0), &size);
	ck_assert_str_eq(printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 }),
			 "x.blob: 0 B\nmodules\n  0 B  0.0%  /  even\n");
}
END_TEST

/* A cell of CSV: quoted where RFC 4180 or a reader needs it, and no formula for a spreadsheet. */
static const struct {
	const char *kind, *cell;
} cells[] = {
	{ "a", ",a," },       { "a,b", ",\"a,b\"," }, { "a\"b", ",\"a\"\"b\"," },
	{ " a", ",\" a\"," }, { "a ", ",\"a \"," },   { "=a", ",'=a," },
	{ "+a", ",'+a," },    { "-a", ",'-a," },      { "@a,", ",\"'@a,\"," },
	{ "a=b", ",a=b," },   { "a\nb", ",a\\nb," },
};

START_TEST(cells_of_csv)
{
	const char *const payloads[] = { "root", NULL };
	struct mpk_view *view = view_of(payloads, 100);
	struct mpk_size size;
	const char *text;

	measure(view, &size);
	size.modules.items[0].name = mpk_span_str(cells[_i].kind);
	((struct mpk_node *)(uintptr_t)view->nodes[0].node)->kind = mpk_span_str(cells[_i].kind);
	text = printed(mpk_answer_size.csv, &size, (struct mpk_style){ 0 });
	ck_assert_msg(strstr(text, cells[_i].cell) != NULL, "%s", text);
}
END_TEST

/* --- a library --------------------------------------------------------------------------------- */

/* What sections say is what libelf says of them, and every byte of the file is theirs or beside them. */
START_TEST(sections_of_a_library)
{
	struct mpk_span bytes = robust_load(&arena, "tests/data/formats/01_opencl_scale.so");
	struct mpk_image image = { 0 };
	struct mpk_view view;
	struct mpk_error err = { 0 };
	struct mpk_elf elf = { 0 };
	struct mpk_size size;
	struct mpk_size_row row;
	uint64_t sum = 0, code = 0;
	size_t count = 0, at = 0;

	ck_assert_int_eq(mpk_image_open(bytes, NULL, &arena, &image, &err), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&view, "lib.so", bytes.len, &image, NULL, &arena, &err),
			 MPK_OK);
	measure(&view, &size);
	ck_assert_int_eq(mpk_elf_open(bytes, 0, &elf, &err), MPK_OK);
	for (size_t i = 1; i < elf.section_count; i++) {
		GElf_Shdr h;

		ck_assert_int_eq(mpk_elf_section(&elf, i, &h, &err), MPK_OK);
		if (h.sh_type == SHT_NOBITS || !h.sh_size)
			continue;
		ck_assert_uint_lt(at, size.every_section_count);
		ck_assert_str_eq(size.every_section[at].name, mpk_elf_section_name(&elf, i));
		ck_assert_uint_eq(size.every_section[at].off, h.sh_offset);
		ck_assert_uint_eq(size.every_section[at].bytes, h.sh_size);
		ck_assert_uint_eq(size.every_section[at].index, i);
		ck_assert_int_eq(size.every_section[at].is_code, (h.sh_flags & SHF_EXECINSTR) != 0);
		code += h.sh_flags & SHF_EXECINSTR ? h.sh_size : 0;
		sum += h.sh_size;
		count++;
		at++;
	}
	mpk_elf_close(&elf);
	ck_assert_uint_eq(size.every_section_count, count);
	ck_assert_uint_eq(size.sections.count, count);
	for (size_t i = 1; i < count; i++)
		ck_assert_uint_ge(size.sections.items[i - 1].bytes, size.sections.items[i].bytes);
	ck_assert_uint_eq(sum + size.other, bytes.len);
	ck_assert_uint_gt(size.other, 0);
	ck_assert_ptr_nonnull(strstr(printed(mpk_answer_size.text, &size, (struct mpk_style){ 0 }),
				     " of it headers and padding\nsections\n"));
	/* functions are of its symbols, largest first, and lie in sections of code */
	ck_assert_uint_gt(size.function_count, 0);
	for (size_t i = 1; i < size.function_count; i++)
		ck_assert_uint_ge(size.functions[i - 1].bytes, size.functions[i].bytes);
	row = mpk_size_row(&size, "name");
	ck_assert_str_eq(row.name, "name");
	ck_assert_uint_eq(row.bytes, bytes.len);
	ck_assert_uint_eq(row.host, code);
	ck_assert_uint_eq(row.gpu, 0);
	ck_assert_uint_eq(row.wasted, size.wasted);
}
END_TEST

/* Sections that cover more than the file leave nothing beside them, and do not wrap. */
START_TEST(overlapping_sections)
{
	struct mpk_span bytes = robust_load(&arena, "tests/data/formats/01_opencl_scale.so");
	struct mpk_image image = { 0 };
	struct mpk_view view;
	struct mpk_size size;

	ck_assert_int_eq(mpk_image_open(bytes, NULL, &arena, &image, NULL), MPK_OK);
	/* the same sections of a file that is said to be shorter than their sum */
	ck_assert_int_eq(mpk_view_init(&view, "lib.so", 16, &image, NULL, &arena, NULL), MPK_OK);
	measure(&view, &size);
	ck_assert_uint_eq(size.other, 0);
}
END_TEST

/* Code for GPUs: by device and sort, the kernels, and which of them are the same. */
START_TEST(kernels_of_a_library)
{
	struct mpk_span bytes = robust_load(&arena, "tests/data/gpu/cuda.so");
	struct mpk_image image = { 0 };
	struct mpk_view view;
	struct mpk_size size;
	uint64_t gpu = 0;

	ck_assert_int_eq(mpk_image_open(bytes, NULL, &arena, &image, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&view, "lib.so", bytes.len, &image, NULL, &arena, NULL),
			 MPK_OK);
	measure(&view, &size);
	ck_assert_uint_gt(size.gpu.count, 1);
	for (size_t i = 0; i < size.gpu.count; i++)
		gpu += size.gpu.items[i].bytes;
	ck_assert_uint_eq(mpk_size_row(&size, "x").gpu, gpu);
	ck_assert_uint_gt(size.kernels.count, 0);
	for (size_t i = 1; i < size.kernels.count; i++)
		ck_assert_uint_ge(size.kernels.items[i - 1].bytes, size.kernels.items[i].bytes);
	for (size_t i = 0; i < size.same_kernel_count; i++) {
		size_t of_name = 0;

		ck_assert_uint_gt(size.same_kernels[i].count, 1);
		for (size_t k = 0; k < size.kernels.count; k++)
			of_name += mpk_span_equal(size.kernels.items[k].name,
						  size.same_kernels[i].item.name);
		ck_assert_uint_ge(of_name, size.same_kernels[i].count);
	}
}
END_TEST

/* --- many files ---------------------------------------------------------------------------------- */

START_TEST(files_of_a_set)
{
	static const struct mpk_size_row rows[] = {
		{ "wheel/b2.so", 2000, 500, 300, 0 },
		{ "wheel/b10.so", 2000, 0, 100, 64 },
		{ "wheel/a.so", 4096, 4096, 0, 0 },
	};
	struct mpk_size_rows set = { rows, 3, "my wheel", 6 };

	ck_assert_str_eq(printed(mpk_answer_size_rows.line, &set, (struct mpk_style){ 0 }),
			 "my wheel: 3 files, 7.9 KiB: GPU code 4.5 KiB, host code 400 B, all else "
			 "3.0 KiB; 64 B stand more than once in a file\n");
	ck_assert_str_eq(printed(mpk_answer_size_rows.text, &set, (struct mpk_style){ 0 }),
			 "     size  GPU code  twice  file\n"
			 "  4.0 KiB   4.0 KiB         a.so\n"
			 "  2.0 KiB     500 B         b2.so\n"
			 "  2.0 KiB             64 B  b10.so\n"
			 "sections, modules, kernels of each: --all, --csv or --json\n");
	/* parts that are more than the whole, as in packed files, leave nothing else */
	set = (struct mpk_size_rows){ &(struct mpk_size_row){ "a", 10, 8, 8, 0 }, 1, NULL, 0 };
	ck_assert_str_eq(printed(mpk_answer_size_rows.line, &set, (struct mpk_style){ 0 }),
			 "1 file, 10 B: GPU code 8 B, host code 8 B, all else 0 B\n");
	set.count = 0;
	ck_assert_ptr_nonnull(strstr(
		printed(mpk_answer_size_rows.line, &set, (struct mpk_style){ 0 }), "0 files, 0 B"));
}
END_TEST

START_TEST(forty_files_are_shown)
{
	struct mpk_size_row rows[42];
	struct mpk_size_rows set = { rows, (size_t)_i, NULL, 0 };
	const char *text;

	for (size_t i = 0; i < 42; i++)
		rows[i] = (struct mpk_size_row){ .name = "f", .bytes = 100 - i };
	text = printed(mpk_answer_size_rows.text, &set, (struct mpk_style){ 0 });
	ck_assert_uint_eq(times(text, "  f\n"), 40);
	ck_assert_int_eq(strstr(text, "smaller") != NULL, _i > 40);
	ck_assert(_i != 41 || strstr(text, "  and 1 smaller ones, 60 B\n"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("size");
	TCase *tcase = tcase_create("size");

	tcase_add_checked_fixture(tcase, NULL, clear);
	tcase_add_test(tcase, modules_and_parts);
	tcase_add_test(tcase, copies);
	tcase_add_loop_test(tcase, copies_are_named, 0, (int)MPK_ARRAY_COUNT(runs));
	tcase_add_loop_test(tcase, tables_are_cut, 0, (int)MPK_ARRAY_COUNT(tables));
	tcase_add_test(tcase, text_of_a_blob);
	tcase_add_loop_test(tcase, cells_of_csv, 0, (int)MPK_ARRAY_COUNT(cells));
	tcase_add_test(tcase, sections_of_a_library);
	tcase_add_test(tcase, overlapping_sections);
	tcase_add_test(tcase, kernels_of_a_library);
	tcase_add_test(tcase, files_of_a_set);
	tcase_add_loop_test(tcase, forty_files_are_shown, 40, 42);
	suite_add_tcase(suite, tcase);

	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
