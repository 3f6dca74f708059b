/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of --svg: what is within a node fills it, down to devices, kernels and functions */
#include "harness.h"
#include "io/mapping.h"
#include "map/map.h"
#include "model/node_info.h"

static struct mpk_arena arena;
static struct mpk_mapping map_of_file;
static struct mpk_image image;
static struct mpk_tree tree;
static struct mpk_view view;
static struct mpk_size size;
static struct mpk_map map;

static void teardown(void)
{
	mpk_mapping_close(&map_of_file);
	mpk_arena_fini(&arena);
}

static void read_map(const char *path)
{
	ck_assert_int_eq(mpk_mapping_open(path, &map_of_file, NULL), MPK_OK);
	ck_assert_int_eq(mpk_image_open(map_of_file.bytes, NULL, &arena, &image, NULL), MPK_OK);
	if (image.has_blob)
		ck_assert_int_eq(mpk_blob_read(image.blob, image.gen, &arena, &tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(&view, path, map_of_file.bytes.len, &image,
				       image.has_blob ? &tree : NULL, &arena, NULL),
			 MPK_OK);
	ck_assert_int_eq(mpk_size_read(&view, &arena, &size, NULL), MPK_OK);
	ck_assert_int_eq(mpk_map_read(&view, &size, &arena, &map, NULL), MPK_OK);
}

/* The node of a name below another, wherever it is; NULL: there is none. */
static const struct mpk_map_node *below(size_t at, const char *name)
{
	const struct mpk_map_node *found;

	for (size_t i = map.nodes[at].first; i; i = map.nodes[i].next) {
		if (mpk_span_is(map.nodes[i].name, name))
			return &map.nodes[i];
		found = below(i, name);
		if (found)
			return found;
	}
	return NULL;
}

static size_t index_of(const struct mpk_map_node *n)
{
	ck_assert_ptr_nonnull(n);
	return (size_t)(n - map.nodes);
}

static const char *const paths[] = {
	"tests/data/relax/gelu_opencl.so",      "tests/data/gpu/cuda.so",
	"tests/data/gpu/hip-packed.so",         "tests/data/gpu/bundled.o",
	"tests/data/embedded/embedded.so",      "tests/data/cuda/fatbin/vadd_cuda.so",
	"tests/data/cuda/cubin/vadd_cuda.so",   "tests/data/formats/15_relax_cond.blob",
	"tests/data/formats/14_llvm_noblob.so",
};

START_TEST(children_fill_their_parent)
{
	read_map(paths[_i]);
	ck_assert_uint_eq(map.nodes[0].bytes, map_of_file.bytes.len);
	for (size_t i = 0; i < map.count; i++) {
		const struct mpk_map_node *n = &map.nodes[i];
		uint64_t sum = 0;

		ck_assert(i == 0 || n->depth == map.nodes[n->parent].depth + 1);
		for (size_t k = n->first; k; k = map.nodes[k].next) {
			ck_assert_uint_eq(map.nodes[k].parent, i);
			sum += map.nodes[k].bytes;
		}
		ck_assert(!n->first || sum == n->bytes);
	}
}
END_TEST

START_TEST(devices_and_their_kernels)
{
	const struct mpk_map_node *section, *device, *kernel;

	read_map("tests/data/gpu/cuda.so");
	section = below(0, ".nv_fatbin");
	device = below(index_of(section), "sm_90 cubin");
	ck_assert_str_eq(device->kind, "gpu");
	/* one of its two images is packed */
	ck_assert_uint_gt(device->plain_bytes, device->bytes);
	kernel = below(index_of(device), "first");
	ck_assert_str_eq(kernel->kind, "kernel");
	ck_assert_uint_gt(kernel->bytes, 0);
	ck_assert_uint_ge(kernel->plain_bytes, kernel->bytes);
	kernel = below(index_of(device), "shared_kernel<float>(float*, float const*, int)");
	ck_assert(mpk_span_is(kernel->symbol, "_Z13shared_kernelIfEvPT_PKS0_i"));
	ck_assert_ptr_nonnull(below(index_of(section), "compute_90 PTX"));
}
END_TEST

START_TEST(images_of_a_module)
{
	read_map("tests/data/cuda/fatbin/vadd_cuda.so");
	ck_assert_ptr_nonnull(below(index_of(below(0, "module blob")), "compute_90 PTX"));
}
END_TEST

START_TEST(host_functions_and_modules)
{
	const struct mpk_map_node *n;

	read_map("tests/data/relax/gelu_opencl.so");
	n = below(index_of(below(0, ".text")), "__tvm_ffi_layer_norm");
	ck_assert_str_eq(n->kind, "function");
	n = below(index_of(below(0, ".rodata")), "/0/0  opencl");
	ck_assert_str_eq(n->path, "/0/0");
	ck_assert_str_eq(below(index_of(n), "kernels.cl")->kind, "text");
	ck_assert_str_eq(mpk_map_kind_title("gpu"), "code of a device");
}
END_TEST

START_TEST(code_that_getters_name)
{
	read_map("tests/data/embedded/embedded.so");
	ck_assert_ptr_nonnull(below(index_of(below(0, "cubin:kernels")), "gather"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("map");
	TCase *c = tcase_create("map");

	tcase_add_checked_fixture(c, NULL, teardown);
	tcase_add_loop_test(c, children_fill_their_parent, 0, (int)MPK_ARRAY_COUNT(paths));
	tcase_add_test(c, devices_and_their_kernels);
	tcase_add_test(c, images_of_a_module);
	tcase_add_test(c, host_functions_and_modules);
	tcase_add_test(c, code_that_getters_name);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
