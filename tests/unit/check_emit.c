/* SPDX-License-Identifier: Apache-2.0 */
/* Whole builds (emit/emit.h). The judges are the C compiler, the dynamic loader, nm and ar. */
#include "emit_fixture.h"

#include <dlfcn.h>

#include "base/strbuf.h"
#include "emit/emit.h"

static char plugin[512];
static struct mpk_strbuf heard;

static void setup_builds(void)
{
	char self[256] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
	*strrchr(self, '/') = '\0';
	(void)snprintf(plugin, sizeof plugin, "%s/../../libexec/mpack/llvm.so", self);
	setup();
}

static void teardown_builds(void)
{
	mpk_strbuf_fini(&heard);
	workdir_leave();
}

static void on_command(void *data, const char *const *argv)
{
	(void)data;
	for (; *argv; argv++)
		mpk_strbuf_printf(&heard, "%s ", *argv);
	mpk_strbuf_putc(&heard, '\n');
}

static void on_text(void *data, const char *text)
{
	(void)data;
	mpk_strbuf_printf(&heard, "%s\n", text);
}

static const char *const cc_words[] = { "gcc" };
static const struct mpk_tool_hooks hooks = { .command = on_command,
					     .step = on_text,
					     .note = on_text };

static struct mpk_emit plan(enum mpk_emit_kind kind, const char *out, const struct mpk_rope *blob)
{
	return (struct mpk_emit){ .kind = kind,
				  .out = out,
				  .name = "unit",
				  .gen = MPK_GEN_CURRENT,
				  .blob = blob,
				  .prefix = "",
				  .tmpdir = "tmp",
				  .tools = { .target = mpk_target_parse(NULL),
					     .cc = { cc_words, 1 },
					     .jobs = 2,
					     .llvm = plugin,
					     .hooks = &hooks } };
}

/* Both steps of a build. */
static enum mpk_code emit(const struct mpk_emit *e, struct mpk_error *err)
{
	struct mpk_build *build = NULL;
	enum mpk_code code = mpk_emit_make(e, &build, err);

	if (code == MPK_OK)
		code = mpk_emit_write(build, err);
	mpk_emit_close(build);
	return code;
}

static void assert_emits(const struct mpk_emit *e)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(emit(e, &err) == MPK_OK, "%s: %s", err.at.file, err.text);
	ck_assert_uint_eq(entries("tmp"), 0);
}

static void assert_fails(const struct mpk_emit *e, enum mpk_code code, const char *says)
{
	struct mpk_error err = { 0 };

	write_file("old", "old");
	ck_assert_int_eq(emit(e, &err), code);
	ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
	ck_assert_uint_eq(entries("tmp"), 0);
	ck_assert(mpk_span_is(read_file("old"), "old"));
}

static void assert_holds(const char *library, struct mpk_span bytes)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	const void *blob = dlsym(handle, "__tvm_ffi__library_bin");
	ck_assert_ptr_nonnull(blob);
	ck_assert_int_eq(memcmp(blob, bytes.data, bytes.len), 0);
	dlclose(handle);
	run("nm -S %s | grep -qE ' 0*%zx R __tvm_ffi__library_bin'", library, bytes.len);
}

static const size_t sizes[] = { 100, 16384, 100000, (1 << 20) - 1, 1 << 20, 3000001 };

START_TEST(libraries)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(sizes[_i], &bytes);
	struct mpk_emit e = plan(MPK_EMIT_SO, "./llvm.so", &rope);

	assert_emits(&e);
	assert_holds("./llvm.so", bytes);
	e.out = "./c.so";
	e.via_c = true;
	assert_emits(&e);
	assert_holds("./c.so", bytes);
	/* strip and objcopy leave the blob alone. */
	run("strip llvm.so && objcopy --remove-section=.comment c.so");
	void *handle = dlopen("./llvm.so", RTLD_NOW | RTLD_LOCAL);
	ck_assert_ptr_nonnull(handle);
	ck_assert_int_eq(memcmp(dlsym(handle, "__tvm_ffi__library_bin"), bytes.data, bytes.len), 0);
	dlclose(handle);
}
END_TEST

START_TEST(same_bytes_always)
{
	struct mpk_span bytes, first;
	struct mpk_rope rope = bytes_rope(sizes[_i], &bytes);
	struct mpk_compile_source sources[] = { { .path = "f.c", .kind = MPK_SOURCE_C },
						{ .path = "g.ll", .kind = MPK_SOURCE_IR } };
	struct mpk_emit e = plan(MPK_EMIT_SO, "a.so", &rope);

	write_file("f.c", "const char *f(void) { return __FILE__; }\n");
	write_file("g.ll", "define i32 @g() {\n ret i32 5\n}\n");
	e.sources = sources;
	e.source_count = 2;
	e.tools.dir = e.tools.cwd = dir;
	assert_emits(&e);
	first = read_file("a.so");

	/* Elsewhere: sources by absolute paths, other cwd, one job, other scratch. */
	ck_assert_int_eq(chdir("/"), 0);
	e.tools.cwd = "/";
	e.tools.jobs = 1;
	e.out = mpk_arena_printf(&arena, "%s/b.so", dir);
	e.tmpdir = "/tmp";
	sources[0].path = mpk_arena_printf(&arena, "%s/f.c", dir);
	sources[1].path = mpk_arena_printf(&arena, "%s/g.ll", dir);
	ck_assert_int_eq(emit(&e, NULL), MPK_OK);
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert(mpk_span_equal(first, read_file("b.so")));
}
END_TEST

START_TEST(other_linkers)
{
	static const char *const linkers[] = { "gold", "lld", "mold" };
	const char *flag = mpk_arena_printf(&arena, "-fuse-ld=%s", linkers[_i]);
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(2000000, &bytes);
	struct mpk_emit e = plan(MPK_EMIT_SO, "./x.so", &rope);

	if (system(mpk_arena_printf(&arena, "command -v ld.%s > /dev/null", linkers[_i])) != 0)
		return; /* not installed here */
	e.tools.ldflags = (struct mpk_words){ &flag, 1 };
	assert_emits(&e);
	assert_holds("./x.so", bytes);
}
END_TEST

START_TEST(extended_objects)
{
	static const char *const triples[] = { "x86_64-linux-gnu", "aarch64-linux-gnu",
					       "s390x-linux-gnu", "armv7-linux-gnueabihf" };
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(1500000, &bytes);
	struct mpk_emit e = plan(MPK_EMIT_OBJ, "x.o", &rope);

	e.tools.target = mpk_target_parse(triples[_i]);
	assert_emits(&e);
	run("readelf -aW x.o > all 2> warnings && test ! -s warnings");
	run("nm -S x.o | grep -qE ' 0*%x R __tvm_ffi__library_bin'", 1500000);
	struct mpk_span file = read_file("x.o");
	ck_assert_ptr_nonnull(memmem(file.data, file.len, bytes.data, bytes.len));
}
END_TEST

START_TEST(archives)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(_i ? 2000000 : 50, &bytes);
	struct mpk_compile_source sources[] = { { .path = "f.c", .kind = MPK_SOURCE_C },
						{ .path = "more.a", .kind = MPK_SOURCE_ARCHIVE } };
	struct mpk_emit e = plan(MPK_EMIT_A, "x.a", &rope);

	write_file("f.c", "int f(void) { return 1; }\n");
	run("gcc -c -fPIC f.c -Df=h -o h.o && ar rc more.a h.o");
	e.sources = sources;
	e.source_count = 2;
	e.system_lib = true;
	e.prefix = "p_";
	assert_emits(&e);
	run("ar t x.a | tr '\\n' ' ' | grep -qx 'lib0.o lib1_0.o p_devc.o '");
	run("nm -s x.a | grep -qx 'p___tvm_ffi__library_bin in p_devc.o'");
	write_file("main.c",
		   "#include <string.h>\nextern const unsigned char "
		   "p___tvm_ffi__library_bin[];\nstatic int seen; int f(void), h(void);\n"
		   "int TVMFFIEnvModRegisterSystemLibSymbol(const char *n, void *s) { seen += "
		   "!strcmp(n, \"p___tvm_ffi__library_bin\") && s == p___tvm_ffi__library_bin;"
		   " return 0; }\nint main(void) { return seen + f() + h() == 3 ? 0 : 1; }\n");
	run("gcc main.c x.a -o main && ./main");
	e.kind = MPK_EMIT_TAR;
	e.out = "x.tar";
	assert_emits(&e);
	run("mkdir t && tar -C t -xf x.tar && cmp t/p_devc.o $(ar x x.a p_devc.o; echo p_devc.o)");
}
END_TEST

START_TEST(system_library_through_c)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(50, &bytes);
	struct mpk_emit e = plan(MPK_EMIT_OBJ, "x.o", &rope);

	e.via_c = e.system_lib = true;
	assert_emits(&e);
	run("nm x.o | grep -q 'U TVMFFIEnvModRegisterSystemLibSymbol'");
	run("readelf -SW x.o | grep -q init_array");
}
END_TEST

START_TEST(bare_blob)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(5000, &bytes);
	struct mpk_emit e = plan(MPK_EMIT_BLOB, "x.blob", &rope);

	assert_emits(&e);
	ck_assert(mpk_span_equal(read_file("x.blob"), bytes));
}
END_TEST

START_TEST(failures_leave_nothing)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(50, &bytes);
	struct mpk_compile_source source = { .path = "f.c", .kind = MPK_SOURCE_C };
	struct mpk_emit e = plan(MPK_EMIT_SO, "old", &rope);
	static const char *const no_cc[] = { "no-such-cc" };

	e.sources = &source;
	e.source_count = 1;
	write_file("f.c", "syntax error\n");
	assert_fails(&e, MPK_E_TOOL, "compiling f.c: gcc failed with status 1");
	source = (struct mpk_compile_source){ .path = "g.ll", .kind = MPK_SOURCE_IR };
	write_file("g.ll", "define nonsense");
	assert_fails(&e, MPK_E_SYNTAX, "LLVM 19");
	run("printf 'int x;' > y.c && gcc -m32 -c y.c -o y.o");
	source = (struct mpk_compile_source){ .path = "y.o", .kind = MPK_SOURCE_OBJECT };
	assert_fails(&e, MPK_E_CONFLICT, "an object for i386, but the target is x86_64");
	source.path = "missing.o";
	assert_fails(&e, MPK_E_IO, "No such file");
	e.source_count = 0;
	e.tools.cc.items = no_cc;
	assert_fails(&e, MPK_E_TOOL, "cannot start 'no-such-cc'");
	e.tools.llvm = "no/llvm.so";
	assert_fails(&e, MPK_E_LOAD, "install libLLVM 19");
	e.blob = NULL;
	e.kind = MPK_EMIT_OBJ;
	assert_fails(&e, MPK_E_UNSUPPORTED, "host code alone");
}
END_TEST

START_TEST(dry_run_does_nothing)
{
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(2000000, &bytes);
	struct mpk_compile_source source = { .path = "f.c", .kind = MPK_SOURCE_C };
	struct mpk_emit e = plan(MPK_EMIT_SO, "x.so", &rope);

	e.sources = &source;
	e.source_count = 1;
	e.tools.dry_run = true;
	assert_emits(&e);
	ck_assert_int_ne(access("x.so", F_OK), 0);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&heard), "gcc -shared -fPIC -Wl,--build-id="));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&heard), "-frandom-seed=f.c: f.c -o "));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("emit");
	TCase *whole = tcase_create("whole builds");

	tcase_add_checked_fixture(whole, setup_builds, teardown_builds);
	tcase_set_timeout(whole, 60);
	tcase_add_loop_test(whole, libraries, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(whole, same_bytes_always, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(whole, other_linkers, 0, 3);
	tcase_add_loop_test(whole, extended_objects, 0, 4);
	tcase_add_loop_test(whole, archives, 0, 2);
	tcase_add_test(whole, system_library_through_c);
	tcase_add_test(whole, bare_blob);
	tcase_add_test(whole, failures_leave_nothing);
	tcase_add_test(whole, dry_run_does_nothing);
	suite_add_tcase(suite, whole);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
