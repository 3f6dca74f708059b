/* Children (emit/job.h), scratch directories, C source, targets and whole builds
 * (emit/emit.h). The judges are the C compiler, the dynamic loader, nm and ar. */
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "emit/csource.h"
#include "emit/emit.h"
#include "emit/job.h"
#include "emit/scratch.h"

static char dir[64], plugin[512];
static struct mpk_arena arena;
static struct mpk_strbuf heard;

static void run(const char *fmt, ...) MPK_PRINTF(1, 2);

static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "failed: %s", command);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static struct mpk_span read_file(const char *name)
{
	FILE *f = fopen(name, "r");

	ck_assert_msg(f != NULL, "%s is missing", name);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	size_t len = (size_t)ftell(f);
	char *data = mpk_arena_alloc(&arena, len + 1);
	rewind(f);
	ck_assert_uint_eq(fread(data, 1, len, f), len);
	fclose(f);
	return mpk_span_of(data, len);
}

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count - 2;
}

static void setup(void)
{
	char self[256] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
	*strrchr(self, '/') = '\0';
	(void)snprintf(plugin, sizeof plugin, "%s/../../libexec/mpack/llvm.so", self);
	strcpy(dir, "/tmp/mpk-emit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("tmp", 0700), 0);
}

static void teardown(void)
{
	mpk_arena_fini(&arena);
	mpk_strbuf_fini(&heard);
	run("rm -rf %s", dir);
}

/* --- jobs ------------------------------------------------------------------------ */

static enum mpk_code say_ok(void *data, struct mpk_error *err)
{
	(void)err;
	write_file(data, "done");
	return MPK_OK;
}

static enum mpk_code say_no(void *data, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX, "no %s", (const char *)data);
}

static enum mpk_code crash(void *data, struct mpk_error *err)
{
	(void)data;
	(void)err;
	(void)signal(SIGABRT, SIG_DFL);
	abort();
}

START_TEST(jobs_succeed)
{
	static const char *const touch[] = { "touch", "tool", NULL };
	static char a[] = "a", b[] = "b";
	struct mpk_job jobs[] = { { .run = say_ok, .data = a, .what = "a" },
				  { .argv = touch, .what = "touching" },
				  { .run = say_ok, .data = b, .what = "b" } };

	ck_assert_int_eq(mpk_jobs_run(jobs, 3, _i ? 2 : 0, NULL), MPK_OK);
	ck_assert_int_eq(access("a", F_OK) | access("tool", F_OK) | access("b", F_OK), 0);
}
END_TEST

START_TEST(jobs_fail)
{
	static const char *const no[] = { "sh", "-c", "exit 3", NULL };
	static const char *const missing[] = { "no-such-compiler", NULL };
	static const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };
	static char reason[] = "reason";
	static const struct {
		struct mpk_job job;
		enum mpk_code code;
		const char *says;
	} rows[] = {
		{ { .argv = no, .what = "linking" }, MPK_E_TOOL, "linking: sh failed with status 3" },
		{ { .argv = missing, .what = "x" }, MPK_E_TOOL, "cannot start 'no-such-compiler'" },
		{ { .argv = killed, .what = "x" }, MPK_E_TOOL, "ended by signal 9" },
		{ { .run = say_no, .data = reason, .what = "x" }, MPK_E_SYNTAX, "no reason" },
		{ { .run = crash, .what = "x" }, MPK_E_TOOL, "ended by signal 6" },
	};
	static char later[] = "later";
	struct mpk_job jobs[] = { rows[_i].job, { .run = say_ok, .data = later, .what = "b" } };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_jobs_run(jobs, 2, 1, &err), rows[_i].code);
	ck_assert_msg(strstr(err.text, rows[_i].says) != NULL, "%s", err.text);
	ck_assert_int_ne(access("later", F_OK), 0);
}
END_TEST

START_TEST(first_failure_counts)
{
	static char slow[] = "slow", quick[] = "quick";
	static const char *const wait[] = { "sh", "-c", "sleep 0.2; exit 1", NULL };
	struct mpk_job jobs[] = { { .argv = wait, .what = slow },
				  { .run = say_no, .data = quick, .what = quick } };
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_jobs_run(jobs, 2, 2, &err), MPK_E_TOOL);
	ck_assert_ptr_nonnull(strstr(err.text, "slow"));
}
END_TEST

START_TEST(tools_end_with_us)
{
	static const char *const tool[] = { "sh", "-c", "echo $$ > pid; exec sleep 60", NULL };
	struct mpk_job job = { .argv = tool, .what = "x" };
	pid_t child = fork();
	struct stat st;
	int pid = 0;

	if (child == 0)
		_exit(mpk_jobs_run(&job, 1, 1, NULL) == MPK_OK);
	while (stat("pid", &st) != 0 || st.st_size < 2)
		(void)usleep(1000);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);

	FILE *f = fopen("pid", "r");
	ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
	fclose(f);
	/* Until the test's own time is up. A zombie that init has not reaped is gone, too. */
	for (char state = 'S'; state != 'Z' && kill(pid, 0) == 0;) {
		char name[32];

		(void)snprintf(name, sizeof name, "/proc/%d/stat", pid);
		f = fopen(name, "r");
		if (!f || fscanf(f, "%*d %*s %c", &state) != 1)
			state = 'Z';
		if (f)
			fclose(f);
		(void)usleep(1000);
	}
}
END_TEST

/* --- scratch directories --------------------------------------------------------- */

START_TEST(scratch_goes)
{
	struct mpk_scratch s = { 0 };

	ck_assert_int_eq(mpk_scratch_open("tmp", NULL, &s, NULL), MPK_OK);
	write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
	ck_assert_uint_eq(entries("tmp"), 1);
	mpk_scratch_close(&s);
	mpk_scratch_close(&s);
	ck_assert_uint_eq(entries("tmp"), 0);
}
END_TEST

START_TEST(scratch_goes_after_a_kill)
{
	pid_t child = fork();

	if (child == 0) {
		struct mpk_scratch s = { 0 };

		if (mpk_scratch_open("tmp", NULL, &s, NULL) == MPK_OK)
			write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
		(void)raise(SIGKILL);
	}
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	while (entries("tmp"))
		(void)usleep(1000); /* until the test's own time is up */
}
END_TEST

START_TEST(scratch_is_kept)
{
	struct mpk_scratch s = { 0 };

	ck_assert_int_eq(mpk_scratch_open("tmp", "kept", &s, NULL), MPK_OK);
	write_file(mpk_scratch_file(&s, &arena, "a.o"), "x");
	mpk_scratch_close(&s);
	ck_assert_int_eq(access("kept/a.o", F_OK), 0);
	write_file("file", "");
	ck_assert_int_eq(mpk_scratch_open("tmp", "file", &s, NULL), MPK_E_IO);
	ck_assert_int_eq(mpk_scratch_open("no/such", NULL, &s, NULL), MPK_E_IO);
}
END_TEST

/* --- targets --------------------------------------------------------------------- */

START_TEST(targets)
{
	static const struct {
		const char *triple;
		enum mpk_object_format format;
		uint16_t machine;
		bool large;
	} rows[] = {
		{ "x86_64-linux-gnu", MPK_OBJECT_ELF, 62, true },
		{ "x86_64-pc-windows-msvc", MPK_OBJECT_COFF, 62, false },
		{ "arm64-apple-macos14", MPK_OBJECT_MACHO, 183, false },
		{ "aarch64_be-linux-gnu", MPK_OBJECT_ELF, 183, false },
		{ "s390x-linux-gnu", MPK_OBJECT_ELF, 22, false },
		{ "wasm32-unknown-unknown", MPK_OBJECT_WASM, 0, false },
		{ "pdp11-dec-bsd", MPK_OBJECT_ELF, 0, false },
	};
	struct mpk_target t = mpk_target_parse(rows[_i].triple);

	ck_assert_int_eq(t.format, rows[_i].format);
	ck_assert_uint_eq(t.machine, rows[_i].machine);
	ck_assert_int_eq(t.has_large, rows[_i].large);
	ck_assert(mpk_target_parse(NULL).is_native);
}
END_TEST

/* --- C source -------------------------------------------------------------------- */

static struct mpk_rope bytes_rope(size_t len, struct mpk_span *bytes)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	uint8_t *data = mpk_arena_alloc(&arena, len + 1);

	/* Every byte, trigraphs, digits behind escapes, newlines. */
	for (size_t i = 0; i < len; i++)
		data[i] = i % 7 == 0 ? '?' : i % 11 == 0 ? '7' : (uint8_t)(i * 151 + (i >> 8));
	*bytes = mpk_span_of(data, len);
	mpk_rope_put_view(&rope, mpk_span_of(data, len / 3));
	mpk_rope_put_view(&rope, mpk_span_of(data + len / 3, len - len / 3));
	return rope;
}

static const size_t c_sizes[] = { 9, 256, 16384, 16385, 70001 };
static const char *const compilers[] = { "gcc -std=c99 -pedantic", "gcc -x c++", "clang-19" };

START_TEST(c_source_compiles)
{
	size_t len = c_sizes[(size_t)_i % MPK_ARRAY_COUNT(c_sizes)];
	const char *cc = compilers[(size_t)_i / MPK_ARRAY_COUNT(c_sizes)];
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(len, &bytes);
	struct mpk_csource c = { .symbol = "blob", .bytes = &rope };
	struct mpk_output *o = NULL;

	if (strncmp(cc, "clang", 5) == 0 && system("command -v clang-19 > /dev/null") != 0)
		return; /* that half of the table is for machines that have it */
	ck_assert_int_eq(mpk_output_open("x.c", 0666, &o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_csource_write(&c, o, NULL), MPK_OK);
	ck_assert_int_eq(mpk_output_commit(o, NULL), MPK_OK);
	run("%s -Wall -Wextra -Werror -Wno-overlength-strings -c x.c -o x.o", cc);
	run("nm x.o | grep -q ' R blob$'");
	run("objcopy -O binary --only-section=.rodata x.o x.bin");
	struct mpk_span got = read_file("x.bin");
	ck_assert_uint_ge(got.len, len);
	ck_assert_mem_eq(got.data, bytes.data, len);
}
END_TEST

/* --- whole builds ---------------------------------------------------------------- */

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
static const struct mpk_emit_hooks hooks = { on_command, on_text, on_text, NULL };

static struct mpk_emit plan(enum mpk_emit_kind kind, const char *out,
			    const struct mpk_rope *blob)
{
	return (struct mpk_emit){ .kind = kind, .out = out, .target = mpk_target_parse(NULL),
				  .gen = MPK_GEN_CURRENT, .blob = blob, .prefix = "",
				  .cc = { cc_words, 1 }, .jobs = 2, .llvm = plugin,
				  .tmpdir = "tmp", .hooks = &hooks };
}

static void assert_emits(const struct mpk_emit *e)
{
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_emit(e, &err) == MPK_OK, "%s: %s", err.at.file, err.text);
	ck_assert_uint_eq(entries("tmp"), 0);
}

static void assert_fails(const struct mpk_emit *e, enum mpk_code code, const char *says)
{
	struct mpk_error err = { 0 };

	write_file("old", "old");
	ck_assert_int_eq(mpk_emit(e, &err), code);
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
	struct mpk_emit_source sources[] = { { .path = "f.c", .kind = MPK_SOURCE_C },
					{ .path = "g.ll", .kind = MPK_SOURCE_IR } };
	struct mpk_emit e = plan(MPK_EMIT_SO, "a.so", &rope);

	write_file("f.c", "const char *f(void) { return __FILE__; }\n");
	write_file("g.ll", "define i32 @g() {\n ret i32 5\n}\n");
	e.sources = sources;
	e.source_count = 2;
	e.dir = e.cwd = dir;
	assert_emits(&e);
	first = read_file("a.so");

	/* Elsewhere: sources by absolute paths, other cwd, one job, other scratch. */
	ck_assert_int_eq(chdir("/"), 0);
	e.cwd = "/";
	e.jobs = 1;
	e.out = mpk_arena_printf(&arena, "%s/b.so", dir);
	e.tmpdir = "/tmp";
	sources[0].path = mpk_arena_printf(&arena, "%s/f.c", dir);
	sources[1].path = mpk_arena_printf(&arena, "%s/g.ll", dir);
	ck_assert_int_eq(mpk_emit(&e, NULL), MPK_OK);
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
	e.ldflags = (struct mpk_args){ &flag, 1 };
	assert_emits(&e);
	assert_holds("./x.so", bytes);
}
END_TEST

START_TEST(grown_objects)
{
	static const char *const triples[] = { "x86_64-linux-gnu", "aarch64-linux-gnu",
					       "s390x-linux-gnu", "armv7-linux-gnueabihf" };
	struct mpk_span bytes;
	struct mpk_rope rope = bytes_rope(1500000, &bytes);
	struct mpk_emit e = plan(MPK_EMIT_OBJ, "x.o", &rope);

	e.target = mpk_target_parse(triples[_i]);
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
	struct mpk_emit_source sources[] = { { .path = "f.c", .kind = MPK_SOURCE_C },
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
	write_file("main.c", "#include <string.h>\nextern const unsigned char "
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
	struct mpk_emit_source source = { .path = "f.c", .kind = MPK_SOURCE_C };
	struct mpk_emit e = plan(MPK_EMIT_SO, "old", &rope);
	static const char *const no_cc[] = { "no-such-cc" };

	e.sources = &source;
	e.source_count = 1;
	write_file("f.c", "syntax error\n");
	assert_fails(&e, MPK_E_TOOL, "compiling f.c: gcc failed with status 1");
	source = (struct mpk_emit_source){ .path = "g.ll", .kind = MPK_SOURCE_IR };
	write_file("g.ll", "define nonsense");
	assert_fails(&e, MPK_E_SYNTAX, "LLVM 19");
	run("printf 'int x;' > y.c && gcc -m32 -c y.c -o y.o");
	source = (struct mpk_emit_source){ .path = "y.o", .kind = MPK_SOURCE_OBJECT };
	assert_fails(&e, MPK_E_CONFLICT, "an object for i386, but the target is x86_64");
	source.path = "missing.o";
	assert_fails(&e, MPK_E_IO, "No such file");
	e.source_count = 0;
	e.cc.items = no_cc;
	assert_fails(&e, MPK_E_TOOL, "cannot start 'no-such-cc'");
	e.llvm = "no/llvm.so";
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
	struct mpk_emit_source source = { .path = "f.c", .kind = MPK_SOURCE_C };
	struct mpk_emit e = plan(MPK_EMIT_SO, "x.so", &rope);

	e.sources = &source;
	e.source_count = 1;
	e.dry_run = true;
	assert_emits(&e);
	ck_assert_int_ne(access("x.so", F_OK), 0);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&heard), "gcc -shared -fPIC -Wl,--build-id="));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&heard), "-frandom-seed=f.c f.c -o "));
}
END_TEST

START_TEST(source_kinds)
{
	static const struct { const char *path; enum mpk_code code; const char *says; } rows[] = {
		{ "a/b.ll", MPK_OK, "" }, { "b.bc", MPK_OK, "" }, { "b.c", MPK_OK, "" },
		{ "b.o", MPK_OK, "" }, { "b.a", MPK_OK, "" },
		{ "libm.so", MPK_E_UNSUPPORTED, "shared library" },
		{ "libm.so.6", MPK_E_UNSUPPORTED, "shared library" },
		{ "x.cpp", MPK_E_UNSUPPORTED, "only C" }, { "a.b/x", MPK_E_UNSUPPORTED, "'x' is not" },
	};
	enum mpk_source_kind kind;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_source_classify(rows[_i].path, &kind, &err), rows[_i].code);
	ck_assert_ptr_nonnull(strstr(err.text, rows[_i].says));
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("emit");
	TCase *parts = tcase_create("parts"), *whole = tcase_create("whole builds");

	tcase_add_checked_fixture(parts, setup, teardown);
	tcase_set_timeout(parts, 30);
	tcase_add_loop_test(parts, jobs_succeed, 0, 2);
	tcase_add_loop_test(parts, jobs_fail, 0, 5);
	tcase_add_test(parts, first_failure_counts);
	tcase_add_test(parts, tools_end_with_us);
	tcase_add_test(parts, scratch_goes);
	tcase_add_test(parts, scratch_goes_after_a_kill);
	tcase_add_test(parts, scratch_is_kept);
	tcase_add_loop_test(parts, targets, 0, 7);
	tcase_add_loop_test(parts, c_source_compiles, 0,
			    MPK_ARRAY_COUNT(c_sizes) * MPK_ARRAY_COUNT(compilers));
	tcase_add_loop_test(parts, source_kinds, 0, 9);
	suite_add_tcase(suite, parts);
	tcase_add_checked_fixture(whole, setup, teardown);
	tcase_set_timeout(whole, 60);
	tcase_add_loop_test(whole, libraries, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(whole, same_bytes_always, 0, MPK_ARRAY_COUNT(sizes));
	tcase_add_loop_test(whole, other_linkers, 0, 3);
	tcase_add_loop_test(whole, grown_objects, 0, 4);
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
