/* SPDX-License-Identifier: Apache-2.0 */
/* One call of `minspect run`: which files can be called at all, on which device its tensors are, what an error
 * of it gets to say of devices, and how its results are judged. */
#include <elf.h>

#include "module_made.h"
#include "session/call.h"
#include "value/parse.h"

/* --- the file ----------------------------------------------------------------------------------- */

static const struct {
	enum mpk_container container;
	const char *said;
} unloadable[] = {
	{ MPK_CONTAINER_BLOB, "a bare blob has no code to call" },
	{ MPK_CONTAINER_DEVICE, "GPU code by itself has no host code" },
	{ MPK_CONTAINER_MACHO_SO, "the library is for macOS or iOS;" },
	{ MPK_CONTAINER_PE_SO, "the library is for Windows;" },
	{ MPK_CONTAINER_WASM_SO, "WebAssembly runs in a browser" },
	{ MPK_CONTAINER_WASM_OBJ, "WebAssembly runs in a browser" },
	{ MPK_CONTAINER_MACHO_OBJ, "the object is for macOS or iOS;" },
	{ MPK_CONTAINER_COFF_OBJ, "the object is for Windows;" },
	{ MPK_CONTAINER_C, "a source cannot be loaded" },
	{ MPK_CONTAINER_ELF_OBJ, "objects cannot be loaded" },
	{ MPK_CONTAINER_ARCHIVE, "objects cannot be loaded" },
	{ MPK_CONTAINER_TAR, "objects cannot be loaded" },
};

static enum mpk_code check_changed(const struct module_file *f,
				   void (*change)(struct mpk_image *image), struct mpk_error *err)
{
	struct mpk_image image = f->image;
	struct mpk_library_options options = f->options;

	change(&image);
	options.image = &image;
	*err = (struct mpk_error){ 0 };
	return mpk_library_check(&options, err);
}

static void of_other_machine(struct mpk_image *image)
{
	image->machine = image->machine == EM_S390 ? EM_X86_64 : EM_S390;
	image->machine_name = "another one";
}
static void of_other_class(struct mpk_image *image)
{
	image->elf_class = 96 - image->elf_class;
}
static void of_other_order(struct mpk_image *image)
{
	image->big_endian = !image->big_endian;
}
static void of_program(struct mpk_image *image)
{
	image->type = ET_EXEC;
}
static void of_blob_alone(struct mpk_image *image)
{
	image->has_blob = true;
	image->function_count = 0;
}
static void of_functions_alone(struct mpk_image *image)
{
	image->has_blob = false;
	image->function_count = 1;
}
static void of_nothing(struct mpk_image *image)
{
	image->has_blob = false;
	image->function_count = 0;
}

START_TEST(what_cannot_be_called_is_said_before)
{
	struct module_file f = { 0 };
	struct mpk_error err = { 0 };

	module_file_open(&f, "ffi");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(unloadable); i++) {
		struct mpk_image image = { .container = unloadable[i].container };
		struct mpk_library_options options = { .path = f.options.path, .image = &image };

		image.format = image.container == MPK_CONTAINER_PE_SO      ? MPK_FILE_PE
			       : image.container == MPK_CONTAINER_COFF_OBJ ? MPK_FILE_COFF
									   : MPK_FILE_MACHO;
		ck_assert_int_eq(mpk_library_check(&options, &err), MPK_E_LOAD);
		ck_assert_text(err, unloadable[i].said);
	}
	ck_assert_int_eq(check_changed(&f, of_other_machine, &err), MPK_E_LOAD);
	ck_assert_text(err, "the library is for another one (");
	ck_assert_int_eq(check_changed(&f, of_other_class, &err), MPK_E_LOAD);
	ck_assert_text(err, "the library is for ");
	ck_assert_int_eq(check_changed(&f, of_other_order, &err), MPK_E_LOAD);
	ck_assert_text(err, "big-endian");
	ck_assert_text(err, "little-endian");
	ck_assert_int_eq(check_changed(&f, of_program, &err), MPK_E_LOAD);
	ck_assert_text(err, "not a shared library");
	ck_assert_ok(check_changed(&f, of_blob_alone, &err), err);
	ck_assert_ok(check_changed(&f, of_functions_alone, &err), err);
	ck_assert_int_eq(check_changed(&f, of_nothing, &err), MPK_E_NO_BLOB);
	(void)mpk_fail(&f.options.unloadable, MPK_E_CORRUPT, "said before");
	ck_assert_int_eq(mpk_library_check(&f.options, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "said before");
	ck_assert_int_eq(mpk_library_check(&f.options, NULL), MPK_E_CORRUPT);
	module_file_close(&f);
}
END_TEST

/* --- the device --------------------------------------------------------------------------------- */

START_TEST(the_device_of_a_call)
{
	struct mpk_image image = { 0 };
	struct mpk_library_options library = { .image = &image };
	const struct mpk_kernel_extents kernel = { 0 };
	const struct mpk_sandbox sandbox = { 0 };
	struct mpk_dldevice places[2] = { { 0 }, { MPK_DL_CPU, 0 } };
	struct mpk_call call = { .function = "f" };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
	ck_assert_int_eq(call.device.type, MPK_DL_CPU);
	ck_assert(call.device_is_guess);
	/* what the user says stays, and is no guess */
	call = (struct mpk_call){ .function = "f", .device = { MPK_DEVICE_CUDA, 3 } };
	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
	ck_assert(call.device.type == MPK_DEVICE_CUDA && call.device.id == 3 &&
		  !call.device_is_guess);
	/* a kernel finds its own */
	call = (struct mpk_call){ .function = "f", .kernel = &kernel };
	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
	ck_assert(call.device.type == 0 && !call.device_is_guess);
	image.standalone = true;
	call = (struct mpk_call){ .function = "f" };
	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
	ck_assert(call.device.type == MPK_DL_CPU && call.device_is_guess);
	/* in the sandbox there is no driver, neither for the call nor for one argument */
	library.sandbox = &sandbox;
	call = (struct mpk_call){ .function = "f", .places = places, .arg_count = 2 };
	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
	places[1].type = MPK_DEVICE_CUDA;
	call = (struct mpk_call){ .function = "f", .places = places, .arg_count = 2 };
	ck_assert_int_eq(mpk_call_choose_device(&library, &call, &err), MPK_E_USAGE);
	ck_assert_text(err, "--isolate is for code on the CPU");
	call = (struct mpk_call){ .function = "f", .device = { MPK_DEVICE_OPENCL, 0 } };
	ck_assert_int_eq(mpk_call_choose_device(&library, &call, &err), MPK_E_USAGE);
	places[1].type = MPK_DL_CPU;
	call = (struct mpk_call){ .function = "f", .places = places, .arg_count = 1 };
	ck_assert_ok(mpk_call_choose_device(&library, &call, &err), err);
}
END_TEST

/* --- the call ----------------------------------------------------------------------------------- */

static struct mpk_call call_of(const char *function, int32_t device)
{
	return (struct mpk_call){ .function = function, .repeat = 1, .device = { device, 0 } };
}

START_TEST(a_call_and_its_result)
{
	struct mpk_value arg = mpk_value_of_int(7);
	const bool is_out = false;
	struct mpk_call_result result = { 0 };
	struct module_file f = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_call call = call_of("echo", MPK_DL_CPU);

	module_file_open(&f, "ffi");
	call.args = &arg;
	call.is_out = &is_out;
	call.arg_count = 1;
	call.repeat = 3;
	ck_assert_ok(mpk_call_run(&f.options, &call, 0, &result, &err), err);
	ck_assert_uint_eq(result.count, 1);
	ck_assert_int_eq(result.values[0].integer, 7);
	ck_assert_uint_eq(result.seconds_count, 3);
	mpk_call_result_fini(&result);
	ck_assert(result.count == 0 && !result.values && !result.seconds &&
		  result.seconds_count == 0);
	mpk_call_result_fini(&result);
	/* a failure leaves the result as it was, and its code is that of the call */
	call = call_of("raise_value_error", MPK_DL_CPU);
	result.count = 0;
	ck_assert_int_eq(mpk_call_run(&f.options, &call, 0, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "ValueError");
	ck_assert_int_eq(mpk_call_run(&f.options, &call, 0, &result, NULL), MPK_E_RAISED);
	ck_assert(!result.values);
	(void)mpk_fail(&f.options.unloadable, MPK_E_LOAD, "not today");
	call = call_of("echo", MPK_DL_CPU);
	ck_assert_int_eq(mpk_call_run(&f.options, &call, 0, &result, &err), MPK_E_LOAD);
	ck_assert_str_eq(err.text, "not today");
	module_file_close(&f);
}
END_TEST

static void run_text(struct module_file *f, const char *function, int32_t device,
		     struct mpk_error *err)
{
	struct mpk_call call = call_of(function, device);
	struct mpk_call_result result = { 0 };

	*err = (struct mpk_error){ 0 };
	ck_assert_int_eq(mpk_call_run(&f->options, &call, 0, &result, err), MPK_E_RAISED);
}

/* Where code crashes on a tensor of the wrong memory, the devices that are left are named. */
START_TEST(an_error_about_devices_names_those_that_are_left)
{
	static const char *const kinds[] = { "_lib", "opencl", "opencl", "cuda",
					     "relax.VMExecutable" };
	struct mpk_node nodes[MPK_ARRAY_COUNT(kinds)] = { { .is_lib = true } };
	struct mpk_tree tree = { .nodes = nodes, .count = 1 };
	struct module_file f = { 0 };
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(kinds); i++)
		nodes[i].kind = mpk_span_str(kinds[i]);
	module_file_open(&f, "ffi");
	f.options.tree = &tree;
	run_text(&f, "crash", MPK_DL_CPU, &err);
	ck_assert(!strstr(err.text, "--device"));
	tree.count = 3;
	run_text(&f, "crash", MPK_DL_CPU, &err);
	ck_assert_text(err, "; add --device opencl");
	ck_assert(!strstr(err.text, " or ") && !strstr(err.text, "for one input alone"));
	tree.count = 4;
	run_text(&f, "crash", MPK_DL_CPU, &err);
	ck_assert_text(err, "; add --device opencl or --device cuda");
	/* an error that is of something else stays as it is */
	run_text(&f, "raise_value_error", MPK_DL_CPU, &err);
	ck_assert(!strstr(err.text, "--device"));
	tree.count = 5;
	run_text(&f, "crash", MPK_DL_CPU, &err);
	ck_assert_text(err, "; for one input alone, --input VALUE@opencl");
	/* a standalone library moves its tensors itself */
	f.image.standalone = true;
	run_text(&f, "crash", MPK_DL_CPU, &err);
	ck_assert(!strstr(err.text, "--device"));
	module_file_close(&f);
}
END_TEST

/* --- what it is to give ------------------------------------------------------------------------- */

START_TEST(results_are_judged)
{
	struct mpk_value values[2] = { mpk_value_of_int(7), mpk_value_of_int(8) };
	const struct mpk_call_result results = { .values = values, .count = 2 };
	const struct mpk_tolerance exact = { 0 };
	struct mpk_comparison c = { 0 };
	struct mpk_expect e = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_expect_parse("8", &e, &err), err);
	ck_assert(!e.is_ignored);
	ck_assert_ok(mpk_expect_check(&e, &results, 1, exact, &c, &err), err);
	ck_assert(c.is_equal);
	ck_assert_int_eq(mpk_expect_check(&e, &results, 0, exact, &c, &err), MPK_E_DIFFERENT);
	ck_assert_int_eq(strncmp(err.text, "result 0: ", 10), 0);
	ck_assert(!c.is_equal);
	c.is_equal = true;
	ck_assert_int_eq(mpk_expect_check(&e, &results, 2, exact, &c, &err), MPK_E_DIFFERENT);
	ck_assert_str_eq(err.text, "result 2: there is no such result; there are 2");
	ck_assert(!c.is_equal);
	mpk_value_drop(&e.value);
	for (int i = 0; i < 2; i++) {
		ck_assert_ok(mpk_expect_parse(i ? "(ignored)" : "ignored", &e, &err), err);
		ck_assert(e.is_ignored);
		c.is_equal = i != 0;
		ck_assert_ok(mpk_expect_check(&e, &results, 9, exact, &c, &err), err);
		ck_assert(c.is_equal == (i != 0));
	}
	/* a failure leaves what was there */
	ck_assert_int_ne(mpk_expect_parse("[[", &e, &err), MPK_OK);
	ck_assert(e.is_ignored);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("call");
	TCase *tc = tcase_create("call");
	SRunner *r = srunner_create(s);

	if (!find_modules())
		return 1;
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_cannot_be_called_is_said_before);
	tcase_add_test(tc, the_device_of_a_call);
	tcase_add_test(tc, a_call_and_its_result);
	tcase_add_test(tc, an_error_about_devices_names_those_that_are_left);
	tcase_add_test(tc, results_are_judged);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
