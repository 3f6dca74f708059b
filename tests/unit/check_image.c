/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is and holds (elf/image.h). Oracles: blobs that TVM's own tools cut out of
 * real libraries; libraries made here, of every machine a compiler is installed for, whose
 * blob and functions are known; GNU nm for symbols. */
#include "image_made.h"
#include "skip.h"

static struct mpk_image open_image(struct mpk_span bytes)
{
	struct mpk_image image = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_image_open(bytes, NULL, &arena, &image, &err) == MPK_OK, "%s", err.text);
	return image;
}

/* "add main" : the callers' names, "=target" behind an alias, "!" behind an entry */
static const char *names(const struct mpk_image *image)
{
	char *text = mpk_arena_printf(&arena, "%s", "");

	for (size_t i = 0; i < image->function_count; i++) {
		const struct mpk_image_function *f = &image->functions[i];

		text = mpk_arena_printf(&arena, "%s%s%s%s%s%s", text, i ? " " : "", f->name,
					f->alias_of ? "=" : "", f->alias_of ? f->alias_of : "",
					f->is_entry ? "!" : "");
	}
	return text;
}

/* --- real libraries --------------------------------------------------------------- */

static const struct {
	const char *file, *blob;
	enum mpk_generation gen;
	bool gen_known;
	enum mpk_convention convention;
	const char *functions;
} libraries[] = {
	{ "formats/01_opencl_scale.so", "formats/01_opencl_scale.blob", MPK_GEN_CURRENT, true,
	  MPK_CONV_FFI, "main! scale" },
	{ "formats/02_cuda_source_dynshmem.so", "formats/02_cuda_source_dynshmem.blob",
	  MPK_GEN_CURRENT, true, MPK_CONV_FFI, "main! rev" },
	{ "formats/06_relax_vm.so", "formats/06_relax_vm.blob", MPK_GEN_CURRENT, true, MPK_CONV_FFI,
	  "add main!" },
	{ "formats/07_relax_opencl.so", "formats/07_relax_opencl.blob", MPK_GEN_CURRENT, true,
	  MPK_CONV_FFI, "add main!" },
	{ "formats/14_llvm_noblob.so", NULL, MPK_GEN_CURRENT, true, MPK_CONV_FFI, "add main!" },
	{ "ffi/ffi_cpp.so", NULL, MPK_GEN_CURRENT, true, MPK_CONV_FFI,
	  "add_one_cpu fail mul_ints shout" },
	{ "formats/20_legacy_opencl.so", "formats/20_legacy_opencl.blob", MPK_GEN_LEGACY, true,
	  MPK_CONV_LEGACY, "__tvm_main__=add! add" },
	{ "formats/24_legacy_aot.so", "formats/24_legacy_aot.blob", MPK_GEN_LEGACY, true,
	  MPK_CONV_LEGACY, "get_c_metadata tvmgen_default___tvm_main__ tvmgen_default_fused_add" },
	{ "legacy/mulsub_c.so", NULL, MPK_GEN_LEGACY, false, MPK_CONV_LEGACY,
	  "__tvm_main__! mulsub" },
	{ "legacy/mulsub_llvm.so", NULL, MPK_GEN_LEGACY, true, MPK_CONV_LEGACY,
	  "__tvm_main__=mulsub! mulsub" },
};

START_TEST(real_library)
{
	struct mpk_span bytes, blob;

	bytes = fixture_load(libraries[_i].file);
	struct mpk_image image = open_image(bytes);

	ck_assert_int_eq(image.container, MPK_CONTAINER_ELF_SO);
	ck_assert_str_eq(image.machine_name, "x86-64");
	ck_assert_int_eq(image.gen, libraries[_i].gen);
	ck_assert_int_eq(image.gen_known, libraries[_i].gen_known);
	ck_assert_int_eq(image.convention, libraries[_i].convention);
	ck_assert_str_eq(names(&image), libraries[_i].functions);
	ck_assert_int_eq(image.has_blob, libraries[_i].blob != NULL);
	if (libraries[_i].blob) {
		blob = fixture_load(libraries[_i].blob);
		ck_assert_uint_eq(image.blob.len, blob.len);
		ck_assert_mem_eq(image.blob.data, blob.data, blob.len);
		ck_assert_mem_eq(bytes.data + image.blob_off, blob.data, blob.len);
		ck_assert_str_eq(image.blob_section, ".rodata");
		fixture_free(blob);
	}
	fixture_free(bytes);
}
END_TEST

/* TVM's system-lib export: gzip'ed tar; the blob in one object, the functions in another. */
START_TEST(real_tar)
{
	struct mpk_image image;
	struct mpk_span bytes;

	bytes = fixture_load("formats/12_syslib_prefix.tar");
	image = open_image(bytes);
	ck_assert_int_eq(image.container, MPK_CONTAINER_TAR);
	ck_assert(image.is_packed);
	ck_assert_str_eq(image.member, "pre_devc.o");
	ck_assert_uint_eq(image.member_count, 2);
	ck_assert_str_eq(image.prefix, "pre_");
	ck_assert_str_eq(image.blob_symbol, "pre___tvm_ffi__library_bin");
	ck_assert_uint_eq(image.blob.len, 843);
	ck_assert_str_eq(names(&image), "add main!");
	ck_assert_str_eq(image.functions[0].member, "lib0.o");
	ck_assert(image.has_ctx);

	ck_assert_int_eq(mpk_image_open(bytes, "lib0.o", &arena, &image, NULL), MPK_OK);
	ck_assert(!image.has_blob);
	ck_assert_str_eq(image.member, "lib0.o");
	ck_assert_str_eq(names(&image), "add main!");
	ck_assert_ptr_null(image.functions[0].member);
	fixture_free(bytes);
}
END_TEST

START_TEST(context_undefined_needed)
{
	struct mpk_image image;
	struct mpk_span bytes;

	bytes = fixture_load("formats/01_opencl_scale.so");
	image = open_image(bytes);
	ck_assert_uint_eq(image.context_symbol_count, 3);
	ck_assert_str_eq(image.context_symbols[0], "__TVMFFIEnvModLookupFromImports");
	ck_assert_str_eq(image.context_symbols[1], "__TVMFFIFunctionCall");
	ck_assert_str_eq(image.context_symbols[2], "__TVMFFIHandleInitOnce");
	ck_assert(image.has_ctx);
	ck_assert_uint_eq(image.undefined_count, 1);
	ck_assert_str_eq(image.undefined[0], "TVMFFIErrorSetRaisedFromCStrParts");
	ck_assert_uint_eq(image.needed_count, 0);
	fixture_free(bytes);

	bytes = fixture_load("ffi/ffi_cpp.so");
	image = open_image(bytes);
	ck_assert_uint_eq(image.needed_count, 4);
	ck_assert_str_eq(image.needed[0], "libtvm_ffi.so");
	fixture_free(bytes);
}
END_TEST

START_TEST(bare_blob)
{
	struct mpk_image image;
	struct mpk_span bytes;

	bytes = fixture_load("formats/01_opencl_scale.blob");
	image = open_image(bytes);
	ck_assert_int_eq(image.container, MPK_CONTAINER_BLOB);
	ck_assert(image.has_blob);
	ck_assert_int_eq(image.gen, MPK_GEN_CURRENT);
	ck_assert_uint_eq(image.blob.len, bytes.len);
	ck_assert_uint_eq(image.elf_class, 0);
	ck_assert_str_eq(image.prefix, "");
	fixture_free(bytes);
}
END_TEST

/* --- libraries made here ---------------------------------------------------------- */

static const struct {
	const char *cc;
	const char *machine;
	uint8_t elf_class;
	bool big;
} compilers[] = {
	{ "x86_64-linux-gnu-gcc", "x86-64", 64, false },
	{ "x86_64-linux-gnu-gcc -m32", "x86", 32, false },
	{ "aarch64-linux-gnu-gcc", "AArch64", 64, false },
	{ "riscv64-linux-gnu-gcc", "RISC-V", 64, false },
	{ "s390x-linux-gnu-gcc", "S390", 64, true },
	{ "clang-19 --target=mips-linux-gnu -fuse-ld=lld", "MIPS", 32, true },
	{ "clang-19 --target=powerpc64-linux-gnu -fuse-ld=lld", "PowerPC64", 64, true },
};

static void expect_made(const struct mpk_image *image, const struct source *s)
{
	ck_assert(image->has_blob);
	ck_assert_int_eq(image->gen, s->gen);
	ck_assert_str_eq(names(image), s->functions);
	ck_assert_uint_ge(image->blob.len, sizeof content);
	ck_assert_mem_eq(image->blob.data, content, sizeof content);
	ck_assert_uint_eq(image->context_symbol_count, 1);
	ck_assert(image->has_ctx);
}

START_TEST(every_machine)
{
	const char *cc = compilers[_i].cc;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(sources); i++) {
		struct mpk_image image;

		write_source(&sources[i], "", true);
		if (!build(cc, ""))
			SKIP_TEST("%s does not work here", cc);
		image = open_image(load_made("a.o"));
		ck_assert_int_eq(image.container, MPK_CONTAINER_ELF_OBJ);
		ck_assert_str_eq(image.machine_name, compilers[_i].machine);
		ck_assert_uint_eq(image.elf_class, compilers[_i].elf_class);
		ck_assert_int_eq(image.big_endian, compilers[_i].big);
		ck_assert_str_eq(image.blob_section, ".rodata");
		expect_made(&image, &sources[i]);

		image = open_image(load_made("a.so"));
		ck_assert_int_eq(image.container, MPK_CONTAINER_ELF_SO);
		ck_assert_str_eq(image.machine_name, compilers[_i].machine);
		ck_assert_uint_eq(image.blob.len, sizeof content);
		expect_made(&image, &sources[i]);

		image = open_image(without_sections(load_made("a.so")));
		ck_assert_ptr_null(image.blob_section);
		expect_made(&image, &sources[i]);
	}
}
END_TEST

static const struct {
	const char *command; /* a.so to b.so */
	const char *flags;
} variants[] = {
	{ "strip -o b.so a.so", "" },
	{ "llvm-strip-19 -o b.so a.so", "" },
	{ "eu-strip -o b.so a.so", "" },
	{ "strip --strip-section-headers -o b.so a.so", "" },
	{ "objcopy --rename-section .rodata=.weights a.so b.so", "" },
	{ "cp a.so b.so && patchelf --set-rpath /somewhere/rather/long/so/that/it/moves b.so", "" },
	{ "cp a.so b.so", "-Wl,--hash-style=sysv" },
	{ "cp a.so b.so", "-Wl,--hash-style=gnu" },
	{ "cp a.so b.so", "-Wl,-z,separate-code -Wl,-z,max-page-size=65536" },
	{ "cp a.so b.so", "-Wl,--gc-sections -Wl,-s" },
};

START_TEST(changed_by_tools)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(sources); i++) {
		struct mpk_image image;

		write_source(&sources[i], "", true);
		ck_assert(build("gcc", variants[_i].flags));
		if (!run("cd %s && %s 2>err", dir, variants[_i].command))
			SKIP_TEST("'%s' does not work here", variants[_i].command);
		image = open_image(load_made("b.so"));
		expect_made(&image, &sources[i]);
		image = open_image(without_sections(load_made("b.so")));
		expect_made(&image, &sources[i]);
	}
}
END_TEST

/* Without st_size the blob reaches to the end of its section; readers know its end. */
START_TEST(symbol_without_size)
{
	struct mpk_image image;

	write_source(&sources[0], "", false);
	ck_assert(build("gcc", ""));
	image = open_image(load_made("a.o"));
	ck_assert_uint_eq(image.blob_symbol_bytes, 0);
	expect_made(&image, &sources[0]);
	image = open_image(load_made("a.so"));
	ck_assert_uint_eq(image.blob_symbol_bytes, 0);
	expect_made(&image, &sources[0]);
}
END_TEST

/* A program with a system-lib linked in exports nothing: .symtab has the blob. */
START_TEST(program_with_system_lib)
{
	struct mpk_image image;

	write_source(&sources[2], "pre_", true);
	ck_assert(build("gcc", ""));
	ck_assert(run("cd %s && echo 'int main(void) { return 0; }' >m.c && "
		      "gcc -o prog m.c a.o 2>err",
		      dir));
	image = open_image(load_made("prog"));
	ck_assert(image.has_blob);
	ck_assert_str_eq(image.prefix, "pre_");
	ck_assert_mem_eq(image.blob.data, content, sizeof content);
}
END_TEST

/* More sections than fit into e_shnum and st_shndx: both live elsewhere then. */
START_TEST(many_sections)
{
	struct mpk_image image;
	FILE *f = fopen(mpk_arena_printf(&arena, "%s/many.s", dir), "w");

	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 65400; i++)
		(void)fprintf(f, ".section .s%d,\"a\"\n.byte 1\n", i);
	ck_assert_int_eq(fclose(f), 0);
	write_source(&sources[0], "", true);
	ck_assert(run("cd %s && gcc -ffreestanding -O1 -fPIC -S a.c -o a.s 2>err && "
		      "cat many.s a.s >all.s && gcc -c all.s -o a.o 2>>err",
		      dir));
	image = open_image(load_made("a.o"));
	expect_made(&image, &sources[0]);
}
END_TEST

/* Global functions as nm lists them and as we do, for a library with nothing left out. */
START_TEST(agrees_with_nm)
{
	struct mpk_image image;
	struct mpk_span listed;
	const char *text = "";

	write_source(&(struct source){ .blob = "__tvm_dev_mblob",
				       .code = "int b(void){return 0;} int a(void){return 0;}"
					       "int c3(void){return 0;}" },
		     "", true);
	ck_assert(build("gcc", ""));
	ck_assert(run("cd %s && nm -D --defined-only a.so | awk '$2 == \"T\" { print $3 }' | "
		      "LC_ALL=C sort | tr '\\n' ' ' >nm.txt",
		      dir));
	listed = load_made("nm.txt");
	image = open_image(load_made("a.so"));
	for (size_t i = 0; i < image.function_count; i++)
		text = mpk_arena_printf(&arena, "%s%s ", text, image.functions[i].name);
	ck_assert_uint_eq(listed.len, strlen(text));
	ck_assert_mem_eq(listed.data, text, listed.len);
}
END_TEST

START_TEST(archives)
{
	struct mpk_image image;
	struct mpk_error err;

	write_source(&sources[0], "net_", true);
	ck_assert(build("gcc", ""));
	ck_assert(run("cd %s && echo 'int __tvm_ffi_net_f(void) { return 0; }' >f.c && "
		      "echo 'not an object' >notes.txt && gcc -c f.c && "
		      "ar rc lib.a notes.txt f.o a.o && ar rc none.a notes.txt && "
		      "tar cf lib.tar notes.txt f.o a.o",
		      dir));
	for (int tar = 0; tar < 2; tar++) {
		image = open_image(load_made(tar ? "lib.tar" : "lib.a"));
		ck_assert_int_eq(image.container, tar ? MPK_CONTAINER_TAR : MPK_CONTAINER_ARCHIVE);
		ck_assert_str_eq(image.member, "a.o");
		ck_assert_str_eq(image.prefix, "net_");
		ck_assert_uint_eq(image.member_count, 3);
		ck_assert_str_eq(names(&image), "_odd add f main!");
		ck_assert_mem_eq(load_made(tar ? "lib.tar" : "lib.a").data + image.blob_off,
				 content, sizeof content);
	}
	ck_assert_int_eq(mpk_image_open(load_made("lib.a"), "b.o", &arena, &image, &err),
			 MPK_E_NOTFOUND);
	ck_assert_str_eq(err.text, "there is no member 'b.o'; did you mean 'f.o'?");
	ck_assert_int_eq(mpk_image_open(load_made("lib.a"), "notes.txt", &arena, &image, &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_image_open(load_made("a.o"), "a.o", &arena, &image, &err),
			 MPK_E_NOTFOUND);

	image = open_image(load_made("none.a"));
	ck_assert(!image.has_blob);
	ck_assert_ptr_null(image.member);
	ck_assert_uint_eq(image.function_count, 0);
}
END_TEST

int main(void)
{
	const struct {
		const TTest *fn;
		int rows;
	} tests[] = {
		{ real_library, (int)MPK_ARRAY_COUNT(libraries) },
		{ real_tar, 1 },
		{ context_undefined_needed, 1 },
		{ bare_blob, 1 },
		{ every_machine, (int)MPK_ARRAY_COUNT(compilers) },
		{ changed_by_tools, (int)MPK_ARRAY_COUNT(variants) },
		{ symbol_without_size, 1 },
		{ program_with_system_lib, 1 },
		{ many_sections, 1 },
		{ agrees_with_nm, 1 },
		{ archives, 1 },
	};
	Suite *s = suite_create("image");
	TCase *tc = tcase_create("image");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tests); i++)
		tcase_add_loop_test(tc, tests[i].fn, 0, tests[i].rows);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
