/* SPDX-License-Identifier: Apache-2.0 */
/* formats/sourcecode: functions of C and what their callers pass */
#include "robust.h"

#include "base/compiler.h"
#include "base/strbuf.h"
#include "sourcecode/cfunction.h"

static struct mpk_arena arena;
static const struct mpk_cfunction *list;
static size_t count;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static void read_text(const char *text, bool is_cxx)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_cfunctions_read(mpk_span_str(text), is_cxx, &arena, &list, &count,
					  &err) == MPK_OK,
		      "%u:%u: %s", err.at.line, err.at.column, err.text);
}

static const struct mpk_cfunction *find(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_span_is(list[i].name, name))
			return &list[i];
	return NULL;
}

/* "x: const float32*", "n: int32", "void", "!" for what nobody passes */
static void put_value(const struct mpk_cfunction_value *v, struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_put_span(out, v->name);
	if (v->refusal) {
		mpk_strbuf_puts(out, "!");
		return;
	}
	mpk_strbuf_printf(out, ":%s%s%s", v->read_only ? "const " : "",
			  v->dtype.bits ? mpk_dtype_print(v->dtype, type) : "void",
			  v->kind == MPK_CFUNCTION_POINTER ? "*" : "");
	for (size_t d = 0; d < v->dim_count; d++) {
		if (v->dims[d].param == SIZE_MAX)
			mpk_strbuf_printf(out, "[%u]", v->dims[d].number);
		else
			mpk_strbuf_printf(out, "[#%zu]", v->dims[d].param);
	}
}

static void assert_function(const char *name, const char *want)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	const struct mpk_cfunction *f = find(name);

	ck_assert_msg(f != NULL, "no function %s", name);
	put_value(&f->result, &text);
	for (size_t i = 0; i < f->param_count; i++) {
		mpk_strbuf_puts(&text, " ");
		put_value(&f->params[i], &text);
	}
	ck_assert_str_eq(mpk_strbuf_text(&text), want);
}

START_TEST(types)
{
	read_text("void v(void); void none();\n"
		  "char a(signed char b, unsigned char c, short d, unsigned short int e);\n"
		  "unsigned f(int g, unsigned h, long i, unsigned long j, long long k,\n"
		  "           long unsigned int l);\n"
		  "bool m(_Bool n, float o, double p, enum q r);\n"
		  "size_t s(int8_t t, uint16_t u, int64_t w, ptrdiff_t x, uint8_t);\n"
		  "int const y(const int *a, int *const b, const int *const c, int const *d);\n"
		  "int z(_Float16 *a, const __bf16 *b, void *c, const void *d, bool *e);\n",
		  false);
	assert_function("v", ":void");
	assert_function("none", ":void");
	assert_function("a", ":int8 b:int8 c:uint8 d:int16 e:uint16");
	assert_function("f", ":uint32 g:int32 h:uint32 i:int64 j:uint64 k:int64 l:uint64");
	assert_function("m", ":bool n:bool o:float32 p:float64 r:int32");
	assert_function("s", ":uint64 t:int8 u:uint16 w:int64 x:int64 :uint8");
	assert_function("y", ":int32 a:const int32* b:int32* c:const int32* d:const int32*");
	assert_function("z", ":int32 a:float16* b:const bfloat16* c:void* d:const void* e:bool*");
	ck_assert_uint_eq(count, 8);
}
END_TEST

START_TEST(what_nobody_passes)
{
	static const char *const values[] = {
		"struct s x",
		"struct s *x",
		"union u x",
		"float **x",
		"float *x[4]",
		"int (*x)(int)",
		"char *x",
		"const char x[]",
		"long double x",
		"double _Complex x",
		"__int128 x",
		"other_t x",
		"other_t *x",
		"int &x",
		"std::vector<int> x",
		"_Float16 x",
		"unsigned float x",
		"short double x",
		"__m128 x",
		"va_list x",
		"int (*x)[4]",
		"long long long x",
		"signed unsigned x",
		"",
	};

	for (size_t i = 0; i + 1 < MPK_ARRAY_COUNT(values); i++) {
		char text[128];

		(void)snprintf(text, sizeof text, "int f(int a, %s);", values[i]);
		read_text(text, false);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(list[0].param_count, 2);
		ck_assert_ptr_null(list[0].params[0].refusal);
		ck_assert_msg(list[0].params[1].refusal != NULL, "%s", values[i]);
		ck_assert_uint_eq(list[0].params[1].dim_count, 0);
	}
}
END_TEST

START_TEST(typedefs_and_marks)
{
	read_text(
		"typedef float real; typedef real vec[3]; typedef const real *reals;\n"
		"typedef struct { int x; } pair; typedef enum { A, B } choice; typedef pair *pairs;\n"
		"#define API __attribute__((visibility(\"default\")))\n"
		"#define NUMBER double\n"
		"API real a(reals x, real *y, choice c, NUMBER n);\n"
		"OUTSIDE int b(IN const real *restrict x, pair p, pairs q, vec v);\n"
		"__attribute__((noinline)) int c(int x) __attribute__((cold));\n"
		"extern \"C\" int d(const real x);\n"
		"typedef loop1 loop2; typedef loop2 loop1; int e(loop1 x);\n",
		false);
	assert_function("a", ":float32 x:const float32* y:float32* c:int32 n:float64");
	assert_function("b", ":int32 x:const float32* p! q! v:float32*");
	assert_function("c", ":int32 x:int32");
	assert_function("d", ":int32 x:float32");
	assert_function("e", ":int32 x!");
}
END_TEST

START_TEST(which_functions)
{
	read_text(
		"int a(int x) { if (x) { return 1; } return 0; }\n"
		"static int b(int x); static inline int c(int x) { return x; }\n"
		"int d = f(3), *e[2] = { 0 }; int (*g)(int); typedef int (*h)(int);\n"
		"struct s { int (*i)(int); int j; } k; MACRO(l) MACRO2(m, n)\n"
		"int o(const char *p, ...); struct s *q(void); int r(int x), s(int y);\n"
		"int old(t, u) int t; int u; { return t; }\n"
		"int v(int x) asm(\"w\"); enum { X = sizeof(int) }; _Static_assert(1, \"x\");\n"
		"// int comment(int x);\n/* int other(int x); */ const char *z = \"int text(int x);\";\n"
		"#if 0\nint never(int x);\n#endif\n#ifdef MAYBE\nint maybe(int x);\n#endif\n"
		"int last(void);\n",
		false);
	static const char *const names[] = { "a", "b", "c", "o", "q", "r", "v", "maybe", "last" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		ck_assert_msg(find(names[i]) != NULL, "no %s", names[i]);
	ck_assert_uint_eq(count, MPK_ARRAY_COUNT(names));
	ck_assert(find("a")->is_defined && find("a")->returns_status);
	ck_assert(find("b")->is_local && find("b")->refusal && find("c")->is_local);
	ck_assert_ptr_nonnull(find("o")->refusal);
	ck_assert_ptr_nonnull(find("v")->refusal);
	ck_assert_int_eq(find("q")->result.kind, MPK_CFUNCTION_POINTER);
	ck_assert_ptr_nonnull(find("q")->result.refusal);
	ck_assert(mpk_span_is(find("maybe")->condition, "#ifdef MAYBE"));
	ck_assert_uint_eq(find("last")->condition.len, 0);
	ck_assert_uint_eq(find("last")->line, 16);
}
END_TEST

START_TEST(of_cxx)
{
	read_text("namespace n { int a(int x); extern \"C\" { int b(int x); } }\n"
		  "extern \"C\" int c(int x) { return x; }\nextern \"C\" { int d(float *x); }\n"
		  "template <class T> int e(T x) { return 0; }\n"
		  "class C { public: int f(int x) { return x; } int g(int); };\n"
		  "int h(int x) { return x; }\nint i(int x);\nextern \"C\" int i(int x);\n"
		  "int i(int x) { return x; }\n",
		  true);
	ck_assert_ptr_nonnull(find("a")->refusal);
	ck_assert_ptr_null(find("b")->refusal);
	ck_assert_ptr_null(find("c")->refusal);
	ck_assert_ptr_null(find("d")->refusal);
	ck_assert_ptr_nonnull(find("e")->refusal);
	ck_assert_ptr_null(find("f"));
	ck_assert_ptr_null(find("g"));
	ck_assert_ptr_nonnull(find("h")->refusal);
	ck_assert(find("i")->is_defined && !find("i")->refusal);
}
END_TEST

/* The extent of x in a body, "" where nothing is said. */
static void assert_extent(const char *body, const char *want)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 }, got = { 0 };

	mpk_strbuf_printf(&text,
			  "#define LEN 8\n#define PUT(x) x[99] = 0\n"
			  "void f(float *x, int n, int m, unsigned k) { %s }",
			  body);
	read_text(mpk_strbuf_text(&text), false);
	ck_assert_uint_eq(count, 1);
	for (size_t d = 0; d < list[0].params[0].dim_count; d++) {
		const struct mpk_cfunction_extent *e = &list[0].params[0].dims[d];

		if (e->param == SIZE_MAX)
			mpk_strbuf_printf(&got, "[%u]", e->number);
		else
			mpk_strbuf_printf(&got, "[%.*s]", (int)list[0].params[e->param].name.len,
					  (const char *)list[0].params[e->param].name.data);
	}
	ck_assert_msg(strcmp(mpk_strbuf_text(&got), want) == 0, "%s: %s", body,
		      mpk_strbuf_text(&got));
}

START_TEST(extents_that_loops_prove)
{
	assert_extent("for (int i = 0; i < n; i++) x[i] = 1;", "[n]");
	assert_extent("int i; for (i = 0; i < n; ++i) { float s = x[i]; x[i] = s * 2; }", "[n]");
	assert_extent("for (size_t i = 0; i < (size_t)n; i += 1) x[i]++;", "[n]");
	assert_extent("for (int i = 0; i != n; i++) if (x[i] < 0) break;", "[n]");
	assert_extent("for (int i = 0; i < LEN; i++) x[i] = 1;", "[8]");
	assert_extent("for (int i = 0; i < 4; i++) x[i] = 1;", "[4]");
	assert_extent("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] = 1;",
		      "[n][m]");
	assert_extent("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[(i * m) + j] = 1;",
		      "[n][m]");
	assert_extent("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[j + i * m] = 1;",
		      "[n][m]");
	assert_extent("*x = 1;", "[1]");
	assert_extent("x[0] = n; if (m) *x = m;", "[1]");
	assert_extent("for (unsigned i = 0; i < k; i++) x[i] = 1;", "[k]");
}
END_TEST

START_TEST(extents_that_nothing_proves)
{
	static const char *const bodies[] = {
		"",
		"for (int i = 0; i <= n; i++) x[i] = 1;",
		"for (int i = 1; i < n; i++) x[i - 1] = 1;",
		"for (int i = 0; i < n; i++) x[i + 1] = 1;",
		"for (int i = 0; i < n; i++) x[2 * i] = 1;",
		"for (int i = 0; i < n; i++) x[i] = 1; x[n] = 2;",
		"for (int i = 0; i < n; i++) x[i] = 1; g(x);",
		"for (int i = 0; i < n; i++) x[i++] = 1;",
		"for (int i = 0; i < n; i++) { i = 7; x[i] = 1; }",
		"for (int i = 0; i < n; i++) g(&i, x[i]);",
		"n = 9; for (int i = 0; i < n; i++) x[i] = 1;",
		"n += 9; for (int i = 0; i < n; i++) x[i] = 1;",
		"for (int i = 0; i < n; i++) *x++ = 1;",
		"for (int i = 0; i < n; i++) ; x[i] = 1;",
		"for (int i = 0; i < n; i++) { } x[i] = 1;",
		"for (int i = 0; i < n; i--) x[i] = 1;",
		"for (int i = 0; i < n; i += m) x[i] = 1;",
		"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * n + j] = 1;",
		"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i * m + j] = 1;",
		"for (int i = 0; i < n; i++) x[i * m] = 1;",
		"for (int i = 0; i < n; i++) x[i] = 1; for (int i = 0; i < m; i++) x[i] = 1;",
		"for (int i = 0; i < n; i++) { PUT(x); x[i] = 1; }",
		"while (n--) x[n] = 1;",
		"x += 4; *x = 1;",
		"float *y = x; for (int i = 0; i < n; i++) x[i] = 1; y[99] = 1;",
		"for (float i = 0; i < m; i++) ;x[1] = 1;",
		"for (int i = 0; i < n; i++) h(&x[i]);",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(bodies); i++)
		assert_extent(bodies[i], "");
}
END_TEST

START_TEST(extents_of_declarations)
{
	read_text(
		"#define N 16\n"
		"void a(int n, int m, float x[n][m], const float y[static N], float z[], float w[4][2]);\n"
		"void b(int n, float x[n + 1], float y[][4], float z[UNKNOWN], float *w[3]);\n"
		"void c(float x[n], int n);\n",
		false);
	assert_function("a", ":void n:int32 m:int32 x:float32*[#0][#1] y:const float32*[16] "
			     "z:float32* w:float32*[4][2]");
	assert_function("b", ":void n:int32 x:float32* y:float32* z:float32* w!");
	assert_function("c", ":void x:float32* n:int32");
}
END_TEST

START_TEST(results)
{
	static const struct {
		const char *body;
		bool status, value;
	} cases[] = {
		{ "return 0;", true, false },
		{ "if (n) return -1; return 0;", true, false },
		{ "if (n) return -EINVAL; return EXIT_SUCCESS;", true, false },
		{ "return 1;", false, false },
		{ "return n;", false, true },
		{ "if (n) return 0; return n + 1;", false, true },
		{ "return g(n);", false, true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		char text[128];

		(void)snprintf(text, sizeof text, "int f(int n) { %s }", cases[i].body);
		read_text(text, false);
		ck_assert_msg(list[0].returns_status == cases[i].status, "%s", cases[i].body);
		ck_assert_msg(list[0].returns_value == cases[i].value, "%s", cases[i].body);
	}
}
END_TEST

START_TEST(refused_texts)
{
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_cfunctions_read(mpk_span_of("int f(\0int);", 12), false, &arena, &list,
					     &count, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 6);
	ck_assert_int_eq(mpk_cfunctions_read(mpk_span_str("int f(int x); /* no end"), false, &arena,
					     &list, &count, &err),
			 MPK_E_SYNTAX);
	ck_assert_uint_eq(err.at.line, 1);
	ck_assert_uint_eq(err.at.column, 15);
	read_text("int f(int x", false); /* brackets without end are no function */
	read_text("int f(int x) {", false);
	read_text("}}}}{{{{((((", true);
}
END_TEST

/* Loops are read to their ends: many of them must not make many times the text. */
START_TEST(hostile_bodies)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_strbuf_puts(&text, "void f(float *x, int n) {");
	for (int i = 0; i < 9000; i++)
		mpk_strbuf_puts(&text, "for(i=0;i<n;i++)x[i];");
	mpk_strbuf_puts(&text, "}\nvoid g(");
	for (int i = 0; i < 20000; i++)
		mpk_strbuf_puts(&text, "int,");
	mpk_strbuf_puts(&text, "int);");
	read_text(mpk_strbuf_text(&text), false);
	ck_assert_uint_eq(count, 2);
	ck_assert_ptr_nonnull(find("g")->refusal);
}
END_TEST

static enum mpk_code read_any(struct mpk_span text, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	const struct mpk_cfunction *functions;
	size_t n;

	return mpk_cfunctions_read(text, false, &own, &functions, &n, err);
}

START_TEST(damaged)
{
	robust_check("tests/data/launch/cfunctions.c", read_any, 5000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cfunction");
	TCase *tc = tcase_create("cfunction");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, types);
	tcase_add_test(tc, what_nobody_passes);
	tcase_add_test(tc, typedefs_and_marks);
	tcase_add_test(tc, which_functions);
	tcase_add_test(tc, of_cxx);
	tcase_add_test(tc, extents_that_loops_prove);
	tcase_add_test(tc, extents_that_nothing_proves);
	tcase_add_test(tc, extents_of_declarations);
	tcase_add_test(tc, results);
	tcase_add_test(tc, refused_texts);
	tcase_add_test(tc, hostile_bodies);
	tcase_add_test(tc, damaged);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
