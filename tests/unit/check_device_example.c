/* SPDX-License-Identifier: Apache-2.0 */
/* A device added the way CONTRIBUTING says: one file, device_shelf.h. Its table of operations is given to
 * the interface directly; the kinds of devices stay those of devices.def. */
#include "device_shelf.h"

#include "device_kernels.h"

static struct mpk_error err;

static struct mpk_device *open_shelf(void)
{
	struct mpk_device *device = NULL;

	ck_assert_ok(mpk_shelf_ops.open(0, &device, &err), err);
	return device;
}

/* A module with `fill` in it, and a kernel that no shelf has. */
static struct mpk_device_kernel *kernel_on(struct mpk_device *device, struct table *t,
					   const char *key, enum mpk_code want)
{
	struct mpk_device_module *module = NULL;
	struct mpk_device_kernel *kernel = NULL;

	*t = (struct table){ .kernels = { .fmt = mpk_span_str("shelf") } };
	table_add(t, &(struct table_row){ "fill", "handle uint32", "blockIdx.x threadIdx.x" });
	table_add(t, &(struct table_row){ "drain", "handle", "blockIdx.x" });
	ck_assert_ok(mpk_device_load(device, &t->kernels, &module, &err), err);
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str(key), &kernel, &err), want);
	return kernel;
}

START_TEST(it_is_listed)
{
	struct mpk_device_list list = { 0 };
	struct mpk_device *device = NULL;

	ck_assert_ok(mpk_shelf_ops.list(&list, &err), err);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.items[0].name, "a shelf");
	mpk_device_list_fini(&list);
	ck_assert_int_eq(mpk_shelf_ops.open(1, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "shelf:0 is the only one");
}
END_TEST

START_TEST(memory_is_copied)
{
	struct mpk_device *device = open_shelf();
	void *a = NULL, *b = NULL;
	char got[4] = "";

	ck_assert_ok(mpk_device_alloc(device, 8, &a, &err), err);
	ck_assert_ok(mpk_device_alloc(device, 8, &b, &err), err);
	ck_assert_ok(mpk_device_write(device, a, 1, mpk_span_str("abc"), &err), err);
	ck_assert_ok(mpk_device_copy(device, &(struct mpk_device_copy){ b, 4, a, 1, 3 }, &err),
		     err);
	ck_assert_ok(mpk_device_read(device, b, 4, got, 3, &err), err);
	ck_assert_str_eq(got, "abc");
	mpk_device_free(device, a);
	mpk_device_free(device, b);
	mpk_device_close(device);
}
END_TEST

START_TEST(kernels_run)
{
	struct mpk_device *device = open_shelf();
	struct table t;
	struct mpk_device_kernel *fill = kernel_on(device, &t, "fill", MPK_OK);
	void *a = NULL;
	uint32_t got[16] = { 0 };

	ck_assert_ok(mpk_device_alloc(device, sizeof got, &a, &err), err);
	ck_assert_uint_eq((uintptr_t)a % MPK_DEVICE_ALIGN, 0);
	ck_assert_ok(mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err), err);
	ck_assert_ok(mpk_device_launch(fill, (uint64_t[]){ slot_at(a), 7, 3, 5 }, 4, &err), err);
	ck_assert_ok(mpk_device_sync(device, &err), err);
	ck_assert_ok(mpk_device_read(device, a, 0, got, sizeof got, &err), err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(got); i++)
		ck_assert_uint_eq(got[i], i < 15 ? 7 : 0);
	ck_assert_int_eq(mpk_device_launch(fill, (uint64_t[]){ slot_at(a), 7, 1, 65 }, 4, &err),
			 MPK_E_RAISED);
	mpk_device_free(device, a);
	mpk_device_close(device);
}
END_TEST

START_TEST(other_code_is_refused)
{
	struct mpk_device *device = open_shelf();
	struct mpk_device_module *module = NULL;
	struct table t;

	(void)kernel_on(device, &t, "drain", MPK_E_LOAD);
	ck_assert_text(err, "not on the shelf");
	t.kernels.fmt = mpk_span_str("ptx");
	ck_assert_int_eq(mpk_device_load(device, &t.kernels, &module, &err), MPK_E_UNSUPPORTED);
	mpk_device_close(device);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_example");
	TCase *tc = tcase_create("device_example");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, it_is_listed);
	tcase_add_test(tc, memory_is_copied);
	tcase_add_test(tc, kernels_run);
	tcase_add_test(tc, other_code_is_refused);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
