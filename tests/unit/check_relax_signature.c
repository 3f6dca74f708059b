/* SPDX-License-Identifier: Apache-2.0 */
/* What functions in byte code take and give: texts of checks, and programs with and without them. */
#include "assert_error.h"
#include "harness.h"
#include "program/internal/program.h"
#include "program/model.h"
#include "relax_made.h"

/* --- texts --------------------------------------------------------------------------------- */

static const struct {
	const char *text, *type;
} types[] = {
	{ "R.Tensor((n, 4), dtype=\"float32\")", "float32[n, 4]" },
	{ "R.Tensor((T.int64(3), n * T.int64(2)), dtype=\"bfloat16\")", "bfloat16[3, n * 2]" },
	{ "R.Tensor((T.max(n - T.int64(1), T.int64(0)),), dtype=\"int8\")",
	  "int8[T.max(n - 1, 0)]" },
	{ "R.Tensor((4,), dtype=\"int8\", vdevice=\"cuda:0:global\")", "int8[4]" },
	{ "R.Tensor((), dtype=\"bool\")", "bool[]" },
	{ "R.Tensor(dtype=\"float32\", ndim=2)", "float32[?, ?]" },
	{ "R.Tensor(ndim=0)", "tensor[]" },
	{ "R.Tensor(dtype=\"float32\")", "float32[...]" },
	{ "R.Tensor", "tensor[...]" },
	{ "R.Shape([n, 2])", "shape[n, 2]" },
	{ "R.Shape(ndim=3)", "shape[?, ?, ?]" },
	{ "R.Shape([])", "shape[]" },
	{ "R.Tuple(R.Tensor((4,), dtype=\"int8\"), R.Tuple(R.Shape([n]), R.Object))",
	  "(int8[4], (shape[n], any value))" },
	{ "T.Tuple(R.Tensor((T.int64(4),), dtype=\"int8\"), T.int64)", "(int8[4], int64)" },
	{ "R.Tuple()", "()" },
	{ "R.Prim(\"int64\")", "int64" },
	{ "R.Prim(value=n)", "int64" },
	{ "T.int64", "int64" },
	{ "T.bool", "bool" },
	{ "R.Callable((R.Tensor((n,), dtype=\"float32\"),), R.Object, True)", "function" },
	{ "R.Object", "any value" },
	{ "R.Any", "any value" },
	/* what nobody writes: nothing is known then */
	{ "R.Tensor((n,,4), dtype=\"float32\")", "any value" },
	{ "R.Tensor((n, 4", "any value" },
	{ "R.Tensor((1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1))",
	  "any value" },
	{ "R.Tensor(ndim=33, dtype=\"int8\")", "int8[...]" },
	{ "R.Tensor(ndim=-1)", "tensor[...]" },
	{ "R.Tensor((4,), dtype=\"nonsense\")", "tensor[4]" },
	{ "R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple("
	  "R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple(R.Tuple()))))))))))))))))",
	  "any value" },
	{ "", "any value" },
};

static const char *text_of(const struct mpk_type *t)
{
	static char printed[512];
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_type_text(t, &out);
	snprintf(printed, sizeof printed, "%s", mpk_strbuf_text(&out));
	return printed;
}

START_TEST(type_of_a_text)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_relax_annotation a;
	char text[512];

	snprintf(text, sizeof text, "ErrorContext(fn=main, loc=param[2], param=x, annotation=%s) A",
		 types[_i].text);
	ck_assert(mpk_relax_annotation_read(mpk_span_str(text), &arena, &a));
	ck_assert(mpk_span_is(a.function, "main"));
	ck_assert(!a.is_return);
	ck_assert_uint_eq(a.param, 2);
	ck_assert_str_eq(text_of(&a.type), types[_i].type);
}
END_TEST

/* Where a tensor has to be, and which of two types knows it. */
START_TEST(device_of_a_text)
{
	static const struct {
		const char *vdevice;
		int32_t device;
	} rows[] = {
		{ "opencl:-1:global", MPK_DL_OPENCL },
		{ "llvm:0:global", MPK_DL_CPU },
		{ "c:0:global", MPK_DL_CPU },
		{ "cuda:1", MPK_DL_CUDA },
		{ "vulkan", MPK_DL_VULKAN },
		{ "ext_of_acme:0:global", 0 },
		{ "", 0 },
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_relax_annotation a;
	char text[256];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		snprintf(text, sizeof text,
			 "ErrorContext(fn=f, loc=param[0], param=t, annotation=T.Tuple("
			 "R.Tensor((4,), dtype=\"int8\", vdevice=\"%s\"), R.Tensor((n, 4)))) ",
			 rows[i].vdevice);
		ck_assert(mpk_relax_annotation_read(mpk_span_str(text), &arena, &a));
		ck_assert_uint_eq(a.type.field_count, 2);
		ck_assert_int_eq(a.type.fields[0].type.device, rows[i].device);
		ck_assert_int_eq(a.type.fields[1].type.device, 0);
		ck_assert_str_eq(text_of(&a.type), "(int8[4], tensor[n, 4])");
	}
}
END_TEST

START_TEST(whose_text_it_is)
{
	static const char *const none[] = {
		"",
		"ErrorContext(",
		"ErrorContext(match_cast, ty=R.Tensor((m, k), dtype=\"float32\")) ",
		"ErrorContext(fn=main, loc=param[], param=x, annotation=R.Object)",
		"ErrorContext(fn=main, loc=param[-1], param=x, annotation=R.Object)",
		"ErrorContext(fn=main, loc=param[99999999999999999999], param=x, annotation=R.Object)",
		"ErrorContext(fn=main, loc=elsewhere, annotation=R.Object)",
		"ErrorContext(fn=main, loc=return)",
	};
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_relax_annotation a;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(none); i++)
		ck_assert_msg(!mpk_relax_annotation_read(mpk_span_str(none[i]), &arena, &a), "%s",
			      none[i]);
	ck_assert(mpk_relax_annotation_read(
		mpk_span_str("ErrorContext(fn=f, loc=return, annotation=R.Shape([n])) "), &arena,
		&a));
	ck_assert(a.is_return);
	ck_assert_str_eq(text_of(&a.type), "shape[n]");
}
END_TEST

/* Cut anywhere, with any byte changed, and from memory that ends behind them. */
START_TEST(hostile_texts)
{
	struct guarded g = guarded_create(1024);
	char text[512];

	snprintf(text, sizeof text, "ErrorContext(fn=main, loc=param[0], param=x, annotation=%s) ",
		 types[_i].text);
	for (size_t len = 0; len <= strlen(text); len++)
		for (int byte = -1; byte < 8; byte++) {
			static const char bytes[] = "()[],\"T";
			struct mpk_span copy = guarded_put(&g, mpk_span_of(text, len));
			struct mpk_arena arena = { 0 };
			struct mpk_relax_annotation a;

			if (byte >= 0 && len)
				((uint8_t *)(uintptr_t)copy.data)[len / 2] = (uint8_t)bytes[byte];
			if (mpk_relax_annotation_read(copy, &arena, &a))
				(void)text_of(&a.type);
			mpk_arena_fini(&arena);
		}
	guarded_free(&g);
}
END_TEST

/* --- programs ------------------------------------------------------------------------------ */

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };

/* What programs here are made of: builtins, and constants that they take. */
struct words {
	struct made m;
	int64_t tensor_info, match, tuple_info, getitem, tuple, make_shape, alloc, null, copy;
	int64_t f32, no_text;
};

static void begin(struct words *w)
{
	*w = (struct words){ 0 };
	w->tensor_info = made_packed(&w->m, "vm.builtin.check_tensor_info");
	w->match = made_packed(&w->m, "vm.builtin.match_shape");
	w->tuple_info = made_packed(&w->m, "vm.builtin.check_tuple_info");
	w->getitem = made_packed(&w->m, "vm.builtin.tuple_getitem");
	w->tuple = made_packed(&w->m, "vm.builtin.make_tuple");
	w->make_shape = made_packed(&w->m, "vm.builtin.make_shape");
	w->alloc = made_packed(&w->m, "vm.builtin.alloc_tensor");
	w->null = made_packed(&w->m, "vm.builtin.null_value");
	w->copy = made_packed(&w->m, "vm.builtin.copy");
	w->f32 = made_const(&w->m,
			    (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = f32 });
	w->no_text = made_const(&w->m, (struct mpk_relax_const){ .kind = MPK_RELAX_STRING });
}

static int64_t text(struct words *w, const char *s)
{
	return made_const(&w->m, (struct mpk_relax_const){ .kind = MPK_RELAX_STRING,
							   .u.string = mpk_span_str(s) });
}

/* Signatures of all functions, one a line; what it ends with for one that does not print. */
static const char *signatures(const struct made *m)
{
	static char printed[2048];
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_relax x = {
		.gen = MPK_GEN_CURRENT,
		.funcs = (struct mpk_relax_func *)(uintptr_t)m->funcs,
		.func_count = m->func_count,
		.consts = (struct mpk_relax_const *)(uintptr_t)m->consts,
		.const_count = m->const_count,
		.instr_offset = mpk_span_of(m->offsets, m->instr_count * 8),
		.instr_data = mpk_span_of(m->words, m->word_count * 8),
	};
	struct mpk_signature list[MADE_MAX];
	struct mpk_error err = { 0 };
	size_t count;

	ck_assert_ok(mpk_relax_signatures(&x, &arena, list, &count, &err), err);
	for (size_t i = 0; i < count; i++) {
		mpk_strbuf_puts(&out, i ? "\n" : "");
		mpk_signature_text(&list[i], &out);
	}
	snprintf(printed, sizeof printed, "%s", mpk_strbuf_text(&out));
	return printed;
}

/* f(x): float32 of two extents, the second 4, and x again */
static void check_matrix(struct words *w, int64_t reg, int64_t slot, int64_t said)
{
	CALL(&w->m, VOID, w->tensor_info, REG(reg), INT(2), CONST(w->f32), CONST(said));
	CALL(&w->m, VOID, w->match, REG(reg), REG(10), INT(2), INT(1), INT(slot), INT(0), INT(4),
	     CONST(said));
}

START_TEST(extents_without_texts_get_names)
{
	static struct words w;

	begin(&w);
	made_function(&w.m, "f", 2, 12);
	check_matrix(&w, 0, 0, w.no_text);
	check_matrix(&w, 1, 1, w.no_text);
	CALL(&w.m, REG(2), w.tuple, REG(1), REG(0));
	RET(&w.m, REG(2));
	ck_assert_str_eq(signatures(&w.m), "f(f32[n, 4], f32[m, 4]) -> (f32[m, 4], f32[n, 4])");
}
END_TEST

START_TEST(a_slot_of_data_has_no_name)
{
	static struct words w;

	begin(&w);
	made_function(&w.m, "f", 1, 12);
	check_matrix(&w, 0, 0, w.no_text);
	/* a value that is no input names slot 1: who reads "m" would look for it in vain */
	CALL(&w.m, VOID, w.match, REG(3), REG(10), INT(1), INT(1), INT(1), CONST(w.no_text));
	CALL(&w.m, REG(4), w.make_shape, REG(10), INT(3), INT(1), INT(0), INT(1), INT(1), INT(0),
	     INT(7));
	CALL(&w.m, REG(5), w.alloc, REG(6), INT(0), REG(4), CONST(w.f32));
	RET(&w.m, REG(5));
	ck_assert_str_eq(signatures(&w.m), "f(f32[n, 4]) -> (f32[n, ?, 7])");
}
END_TEST

START_TEST(casts_and_results_say_nothing_of_inputs)
{
	static struct words w;
	int64_t cast, result, param;

	begin(&w);
	cast = text(&w, "ErrorContext(match_cast, ty=R.Tensor((m, 4), dtype=\"float32\")) ");
	result = text(&w, "ErrorContext(fn=f, loc=return, annotation=R.Tensor(ndim=2)) ");
	param = text(&w, "ErrorContext(fn=f, loc=param[0], param=x, annotation=R.Tensor(ndim=2)) ");
	made_function(&w.m, "f", 1, 12);
	CALL(&w.m, VOID, w.tensor_info, REG(0), INT(2), REG(VOID), CONST(param));
	check_matrix(&w, 0, 0, cast);
	check_matrix(&w, 0, 0, result);
	RET(&w.m, REG(0));
	ck_assert_str_eq(signatures(&w.m), "f(tensor[?, ?]) -> (tensor[?, ?])");
}
END_TEST

START_TEST(fields_of_tuples_have_the_names_of_texts)
{
	static struct words w;
	int64_t said;

	begin(&w);
	said = text(&w, "ErrorContext(fn=f, loc=param[0], param=t, annotation=R.Tuple("
			"R.Tensor((batch, 4), dtype=\"float32\"), R.Tuple(R.Object))) ");
	made_function(&w.m, "f", 1, 12);
	CALL(&w.m, VOID, w.tuple_info, REG(0), INT(2), CONST(said));
	CALL(&w.m, REG(1), w.getitem, REG(0), INT(0));
	check_matrix(&w, 1, 3, said);
	RET(&w.m, REG(1));
	ck_assert_str_eq(signatures(&w.m), "f((f32[batch, 4], (any value))) -> (f32[batch, 4])");
}
END_TEST

/* --- calls --------------------------------------------------------------------------------- */

START_TEST(a_call_gives_what_its_callee_returns)
{
	static struct words w;
	int64_t callee, one;

	begin(&w);
	one = made_const(&w.m, (struct mpk_relax_const){
				       .kind = MPK_RELAX_SHAPE,
				       .u.shape = mpk_span_of((const int64_t[]){ 9, 4 }, 16) });
	/* the caller stands before its callee */
	callee = (int64_t)w.m.func_count + 2;
	made_function(&w.m, "caller", 1, 12);
	check_matrix(&w, 0, 5, w.no_text);
	CALL(&w.m, REG(1), callee, REG(0));
	RET(&w.m, REG(1));
	made_function(&w.m, "fixed", 0, 12);
	CALL(&w.m, REG(0), w.alloc, REG(6), INT(0), CONST(one), CONST(w.f32));
	CALL(&w.m, REG(1), callee, REG(0));
	RET(&w.m, REG(1));
	made_function(&w.m, "callee", 1, 12);
	check_matrix(&w, 0, 0,
		     text(&w, "ErrorContext(fn=callee, loc=param[0], param=x, "
			      "annotation=R.Tensor((rows, 4), dtype=\"float32\")) "));
	CALL(&w.m, REG(1), w.copy, REG(0));
	RET(&w.m, REG(1));
	ck_assert_str_eq(signatures(&w.m), "caller(f32[n, 4]) -> (f32[n, 4])\n"
					   "fixed() -> (f32[9, 4])\n"
					   "callee(f32[rows, 4]) -> (f32[rows, 4])");
}
END_TEST

/* f: if x then r = y else r = g(x); return r. g: calls f, or itself without end. */
START_TEST(recursion)
{
	static struct words w;
	int64_t f, g;

	begin(&w);
	f = (int64_t)w.m.func_count;
	g = f + 1;
	made_function(&w.m, "f", 2, 12);
	check_matrix(&w, 1, 0, w.no_text);
	IF(&w.m, REG(0), 3);
	CALL(&w.m, REG(2), w.copy, REG(1));
	GOTO(&w.m, 3);
	CALL(&w.m, REG(3), g, REG(0), REG(1));
	CALL(&w.m, REG(2), w.copy, REG(3));
	RET(&w.m, REG(2));
	made_function(&w.m, "g", 2, 12);
	check_matrix(&w, 1, 0, w.no_text);
	CALL(&w.m, REG(2), f, REG(0), REG(1));
	CALL(&w.m, REG(3), w.tuple, REG(2), REG(2));
	CALL(&w.m, REG(3), w.getitem, REG(3), INT(1));
	RET(&w.m, REG(3));
	made_function(&w.m, "endless", 0, 12);
	CALL0(&w.m, REG(2), g + 1);
	RET(&w.m, REG(2));
	ck_assert_str_eq(signatures(&w.m), "f(any value, f32[n, 4]) -> (f32[n, 4])\n"
					   "g(any value, f32[n, 4]) -> (f32[n, 4])\n"
					   "endless()");
}
END_TEST

/* f returns (f()): of whatever type that is, it would have to be within itself. */
START_TEST(a_result_that_grows_is_not_known)
{
	static struct words w;
	int64_t f;

	begin(&w);
	f = (int64_t)w.m.func_count;
	made_function(&w.m, "f", 1, 12);
	IF(&w.m, REG(0), 3);
	CALL(&w.m, REG(2), w.tuple, REG(0));
	GOTO(&w.m, 3);
	CALL(&w.m, REG(3), f, REG(0));
	CALL(&w.m, REG(2), w.tuple, REG(3));
	RET(&w.m, REG(2));
	ck_assert_str_eq(signatures(&w.m), "f(any value) -> (any value)");
}
END_TEST

/* --- damage -------------------------------------------------------------------------------- */

/* Any word of a program of every kind is any number; nothing is checked before. */
START_TEST(hostile_programs)
{
	static const int64_t numbers[] = { 0,         1,         -1,      7,
					   40,        4096,      65536,   INT64_MAX,
					   INT64_MIN, INT32_MAX, INT(-1), CONST(99),
					   FUNC(3),   VOID,      VM,      INT(INT64_C(1) << 40) };
	static struct words w;

	begin(&w);
	made_function(&w.m, "f", 2, 12);
	check_matrix(&w, 0, 0, w.no_text);
	CALL(&w.m, VOID, w.tuple_info, REG(1), INT(2), CONST(w.no_text));
	CALL(&w.m, REG(2), w.getitem, REG(1), INT(1));
	IF(&w.m, REG(0), 2);
	CALL(&w.m, REG(4), w.make_shape, REG(10), INT(1), INT(1), INT(0));
	CALL(&w.m, REG(5), w.alloc, REG(6), INT(0), REG(4), CONST(w.f32));
	CALL(&w.m, REG(5), (int64_t)w.m.func_count - 1, REG(0), REG(2));
	CALL(&w.m, REG(6), w.tuple, REG(5), REG(0), CONST(w.f32));
	RET(&w.m, REG(6));
	for (size_t at = 0; at < w.m.word_count; at++)
		for (size_t i = 0; i < MPK_ARRAY_COUNT(numbers); i++) {
			static struct made damaged;

			damaged = w.m;
			damaged.words[at] = (int64_t)htole64((uint64_t)numbers[i]);
			ck_assert_int_eq(strncmp(signatures(&damaged), "f(", 2), 0);
			damaged = w.m;
			damaged.offsets[at % damaged.instr_count] =
				(int64_t)htole64((uint64_t)numbers[i]);
			ck_assert_int_eq(strncmp(signatures(&damaged), "f(", 2), 0);
		}
}
END_TEST

/* A long text and many checks that name it: what is read of it must not grow with their product. */
START_TEST(one_text_for_many_checks)
{
	static char said[1 << 20];
	static struct words w;
	size_t len = (size_t)snprintf(said, sizeof said,
				      "ErrorContext(fn=f, loc=return, annotation=R.Tuple(");

	while (len + 8 < sizeof said)
		len += (size_t)snprintf(said + len, sizeof said - len, "R.Any,");
	begin(&w);
	text(&w, said);
	made_function(&w.m, "f", 0, 12);
	for (size_t i = 0; i < 40; i++)
		CALL(&w.m, VOID, w.tensor_info, REG(0), INT(2), CONST(w.f32),
		     CONST((int64_t)w.m.const_count - 1));
	RET(&w.m, REG(0));
	for (size_t i = 0; i < 20; i++)
		ck_assert_str_eq(signatures(&w.m), "f() -> (f32[?, ?])");
}
END_TEST

/* --- executables whose parts overlap ------------------------------------------------------------ */

static enum mpk_code read_again(const struct made *m)
{
	struct mpk_arena arena = { 0 };
	struct mpk_relax x;
	uint8_t *bytes;
	struct mpk_cursor c = mpk_cursor_of(made_encode(m, &bytes), 0, "payload");
	enum mpk_code code = mpk_relax_read(&c, MPK_GEN_CURRENT, &arena, &x, NULL);

	mpk_arena_fini(&arena);
	free(bytes);
	return code;
}

/* Functions may share instructions, and instructions words: not many, as a listing shows all of each. */
START_TEST(overlapping_parts)
{
	static const int64_t call[] = { MPK_RELAX_CALL, 0, 0, 20 };
	struct made m = { 0 };

	made_packed(&m, "op");
	made_function(&m, "f", 0, 2);
	made_words(&m, call, MPK_ARRAY_COUNT(call));
	m.word_count += 20;
	for (size_t i = 0; i < 7; i++)
		RET(&m, REG(0));
	for (size_t i = 0; i < 3; i++)
		m.funcs[m.func_count++] = m.funcs[1];
	ck_assert_int_eq(read_again(&m), MPK_OK);
	m.funcs[m.func_count++] = m.funcs[1];
	ck_assert_int_eq(read_again(&m), MPK_E_CORRUPT);
	m.func_count -= 4;
	ck_assert_int_eq(read_again(&m), MPK_OK);
	memset(m.offsets, 0, sizeof m.offsets);
	ck_assert_int_eq(read_again(&m), MPK_E_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relax_signature");
	TCase *tc = tcase_create("relax_signature");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(tc, type_of_a_text, 0, MPK_ARRAY_COUNT(types));
	tcase_add_test(tc, device_of_a_text);
	tcase_add_test(tc, whose_text_it_is);
	tcase_add_loop_test(tc, hostile_texts, 0, MPK_ARRAY_COUNT(types));
	tcase_add_test(tc, extents_without_texts_get_names);
	tcase_add_test(tc, a_slot_of_data_has_no_name);
	tcase_add_test(tc, casts_and_results_say_nothing_of_inputs);
	tcase_add_test(tc, fields_of_tuples_have_the_names_of_texts);
	tcase_add_test(tc, a_call_gives_what_its_callee_returns);
	tcase_add_test(tc, recursion);
	tcase_add_test(tc, a_result_that_grows_is_not_known);
	tcase_add_test(tc, hostile_programs);
	tcase_add_test(tc, one_text_for_many_checks);
	tcase_add_test(tc, overlapping_parts);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
