/* SPDX-License-Identifier: Apache-2.0 */
/* What minspect --devices says of devices that are made up (model/devices.h); real drivers are
 * asked in tests/cli/minspect/devices. */
#include "harness.h"

#include "base/compiler.h"
#include "model/devices.h"
#include "robust.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* A processor, two CUDA devices, one of AMD and no OpenCL. */
static struct mpk_device_info infos[] = {
	{ .kind = MPK_DEVICE_CPU, .name = "C", .arch = "x86-64", .platform = "P" },
	{ .kind = MPK_DEVICE_CUDA, .name = "old", .arch = "sm_75", .sm = 75 },
	{ .kind = MPK_DEVICE_CUDA,
	  .ordinal = 1,
	  .name = "new",
	  .arch = "sm_90",
	  .memory_bytes = 2048,
	  .compute_units = 7,
	  .block_limit = 1024,
	  .shared_bytes = 49152,
	  .sm = 90 },
	{ .kind = MPK_DEVICE_ROCM, .name = "red", .arch = "gfx90a:sramecc+:xnack-" },
};

static struct mpk_device_groups groups = {
	.list = { .items = infos, .count = MPK_ARRAY_COUNT(infos) },
	.items = { { .kind = MPK_DEVICE_CPU, .first = 0, .count = 1 },
		   { .kind = MPK_DEVICE_OPENCL,
		     .first = 1,
		     .reason = { .code = MPK_E_DEVICE, .text = "no OpenCL here" } },
		   { .kind = MPK_DEVICE_CUDA, .first = 1, .count = 2 },
		   { .kind = MPK_DEVICE_ROCM, .first = 3, .count = 1 } },
};

static const char *taken(struct mpk_strbuf *out)
{
	const char *text = mpk_arena_text(&arena, mpk_span_str(mpk_strbuf_text(out)));

	ck_assert(!out->failed);
	mpk_strbuf_fini(out);
	return text;
}

START_TEST(list)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	const char *text;

	mpk_answer_devices.text(&groups, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(taken(&out), "cpu     C    x86-64                  0 B      0 units  P\n"
				      "cuda:0  old  sm_75                   0 B      0 units\n"
				      "cuda:1  new  sm_90                   2.0 KiB  7 units\n"
				      "rocm:0  red  gfx90a:sramecc+:xnack-  0 B      0 units\n"
				      "opencl: no OpenCL here\n");
	mpk_json_init(&j, 1);
	mpk_answer_devices.json(&groups, &j, j.root);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	text = taken(&out);
	ck_assert_ptr_nonnull(strstr(text, "\"kind\": \"cuda\",\n      \"number\": 1,\n"
					   "      \"name\": \"new\""));
	ck_assert_ptr_nonnull(strstr(text, "\"shared_bytes\": 49152"));
	ck_assert_ptr_nonnull(strstr(text,
				     "\"unavailable\": [\n    {\n      \"kind\": \"opencl\",\n"
				     "      \"reason\": \"no OpenCL here\"\n    }\n  ]"));
	mpk_json_fini(&j);
}
END_TEST

/* --- modules ------------------------------------------------------------------------ */

static struct mpk_node stored[2];
static struct mpk_view_node nodes[2];
static struct mpk_payload payload;
static const struct mpk_view view = { .nodes = nodes, .count = 2 };

/* Host code, and a module with a file of tests/data/device. */
static void make_view(const char *kind, const char *fmt, const char *file)
{
	stored[0] = (struct mpk_node){ .kind = mpk_span_str("_lib"), .is_lib = true };
	stored[1] = (struct mpk_node){ .kind = mpk_span_str(kind) };
	for (size_t i = 0; i < 2; i++)
		nodes[i] = (struct mpk_view_node){ .node = &stored[i],
						   .kind = mpk_kind_find(stored[i].kind),
						   .path = "/0" };
	if (!file)
		return;
	nodes[1].decoded = true;
	payload.tag = MPK_PAYLOAD_KERNELS;
	payload.kind = nodes[1].kind;
	payload.u.kernels =
		(struct mpk_kernels){ .fmt = mpk_span_str(fmt), .data = robust_load(&arena, file) };
	nodes[1].payload = &payload;
}

#define DEVICE "tests/data/device/"
#define LAUNCH "tests/data/launch/"
#define GPU "tests/data/gpu/"

static const struct {
	const char *kind, *fmt, *file;
	const char *says; /* begins */
	bool runs;
} modules[] = {
	{ "cuda", "cubin", DEVICE "two.sm_90.cubin", "  /0  cuda  runs on cuda:1 (new)\n", true },
	{ "cuda", "cubin", DEVICE "two.sm_75.cubin", "  /0  cuda  runs on cuda:0 (old)\n", true },
	{ "cuda", "ptx", DEVICE "two.ptx", "  /0  cuda  runs on cuda:1 (new)\n", true },
	{ "cuda", "cubin", DEVICE "tiny.sm_100.cubin",
	  "  /0  cuda  does not run here: the code is for sm_100 (cubin), but new is sm_90",
	  false },
	{ "opencl", "cl", DEVICE "two.cu", "  /0  opencl  does not run here: no OpenCL here\n",
	  false },
	{ "webgpu", "wgsl", DEVICE "two.cu",
	  "  /0  webgpu  does not run here: minspect runs code for cpu, opencl, cuda, rocm only\n",
	  false },
	{ "hip", "hsaco", LAUNCH "kernels.bundle", "  /0  hip  runs on rocm:0 (red)\n", true },
	{ "rocm", "hsaco", LAUNCH "kernels.packed", "  /0  rocm  runs on rocm:0 (red)\n", true },
	{ "hsaco", "hsaco", LAUNCH "kernels.hsaco",
	  "  /0  hsaco  does not run here: the code is for gfx90a:xnack+, but red is gfx90a:sramecc+:xnack-:",
	  false },
	{ "cuda", "", NULL, "  /0  cuda  does not run here: it is broken\n", false },
	{ "const_loader", "", NULL, "", true }, /* no code for devices */
};

START_TEST(verdicts)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	struct mpk_error problem = { 0 };
	const char *text;

	make_view(modules[_i].kind, modules[_i].fmt, modules[_i].file);
	if (!modules[_i].file)
		(void)mpk_fail(&problem, MPK_E_CORRUPT, "it is broken");
	nodes[1].problem = modules[_i].file ? NULL : &problem;
	ck_assert_int_eq(mpk_view_devices(&view, &groups, &out, NULL, NULL), modules[_i].runs);
	text = taken(&out);
	ck_assert_msg(strncmp(text, modules[_i].says, strlen(modules[_i].says)) == 0, "%s", text);
	mpk_json_init(&j, 1);
	ck_assert_int_eq(mpk_view_devices(&view, &groups, NULL, &j, j.root), modules[_i].runs);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	text = taken(&out);
	if (modules[_i].says[0])
		ck_assert_ptr_nonnull(
			strstr(text, modules[_i].runs ? "\"runs\": true" : "\"runs\": false"));
	else
		ck_assert_ptr_nonnull(strstr(text, "\"modules\": []"));
	mpk_json_fini(&j);
}
END_TEST

/* Whatever drivers there are: a processor is always found, and every group says something. */
START_TEST(this_machine)
{
	struct mpk_device_groups here = { 0 };

	ck_assert_int_eq(mpk_device_groups_find(&here, NULL), MPK_OK);
	ck_assert_int_eq(here.items[0].kind, MPK_DEVICE_CPU);
	ck_assert_uint_eq(here.items[0].count, 1);
	for (size_t i = 0; i < MPK_DEVICE_GROUPS; i++)
		ck_assert(here.items[i].count || here.items[i].reason.text[0]);
	mpk_device_list_fini(&here.list);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("view-devices");
	TCase *tc = tcase_create("view-devices");

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 60); /* drivers take their time */
	tcase_add_test(tc, list);
	tcase_add_loop_test(tc, verdicts, 0, (int)MPK_ARRAY_COUNT(modules));
	tcase_add_test(tc, this_machine);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
