/* SPDX-License-Identifier: Apache-2.0 */
/* storages and tensors: views outlive what made them, offsets and strides, the sizes of classes */
#include "assert_error.h"
#include "device/device.h"
#include "harness.h"
#include "runtime/internal/runtime.h"
#include "value/tensor.h"
#include "value/value.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
static const struct mpk_dldevice cpu = { MPK_DL_CPU, 0 };

static void count_release(void *owner)
{
	++*(int *)owner;
}

/* The Relax VM drops a storage while tensors of it live. */
START_TEST(a_view_keeps_its_storage)
{
	static float memory[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	int64_t shape[] = { 2, 2 };
	struct mpk_storage *storage = NULL;
	struct mpk_tensor *a = NULL, *b = NULL;
	struct mpk_error err = { 0 };
	int released = 0;

	ck_assert_ok(mpk_storage_wrap(memory, sizeof memory, cpu, &released, count_release,
				      &storage, &err),
		     err);
	ck_assert_ok(mpk_tensor_view(storage, 0, f32, shape, 2, &a, &err), err);
	ck_assert_ok(mpk_tensor_view(storage, 16, f32, shape, 2, &b, &err), err);
	mpk_storage_drop(storage);
	mpk_tensor_drop(a);
	ck_assert_int_eq(released, 0);
	ck_assert_ptr_eq(b->dl.data, memory);
	ck_assert_uint_eq(b->dl.byte_offset, 16);
	ck_assert_float_eq(*(float *)mpk_dltensor_data(&b->dl), 4);
	mpk_tensor_drop(b);
	ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(a_view_stays_in_its_storage)
{
	static const struct {
		uint64_t offset;
		int64_t extent;
		enum mpk_code code;
	} rows[] = {
		{ 0, 16, MPK_OK },
		{ 4, 15, MPK_OK },
		{ 64, 0, MPK_OK },
		{ 0, 17, MPK_E_RANGE },
		{ 4, 16, MPK_E_RANGE },
		{ 65, 0, MPK_E_RANGE },
		{ UINT64_MAX, 1, MPK_E_RANGE },
		{ 0, -1, MPK_E_RANGE },
		{ 0, INT64_MAX, MPK_E_RANGE },
	};
	struct mpk_storage *storage = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_storage_create(64, MPK_STORAGE_PRIVATE, &storage, &err), err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_tensor *t = NULL;

		ck_assert_int_eq(
			mpk_tensor_view(storage, rows[i].offset, f32, &rows[i].extent, 1, &t, &err),
			rows[i].code);
		mpk_tensor_drop(t);
	}
	mpk_storage_drop(storage);
}
END_TEST

START_TEST(memory_is_zero_and_aligned)
{
	static const uint64_t sizes[] = { 0, 1, 63, 64, 65, 1 << 20, (1 << 20) + 1 };
	struct mpk_error err = { 0 };

	for (size_t i = 0; i < 2 * MPK_ARRAY_COUNT(sizes); i++) {
		uint64_t bytes = sizes[i / 2];
		struct mpk_storage *s = NULL;

		ck_assert_ok(mpk_storage_create(bytes,
						i % 2 ? MPK_STORAGE_SHARED : MPK_STORAGE_PRIVATE,
						&s, &err),
			     err);
		ck_assert_uint_eq((uintptr_t)s->data % MPK_STORAGE_ALIGN, 0);
		ck_assert_uint_eq(s->bytes, bytes);
		ck_assert_int_eq(s->is_shared, i % 2 && bytes >= MPK_LARGE_BYTES);
		uint8_t any = 0;

		for (uint64_t k = 0; k < bytes; k++)
			any |= ((uint8_t *)s->data)[k];
		ck_assert_uint_eq(any, 0);
		mpk_storage_drop(s);
	}
}
END_TEST

/* Whoever prints or compares gets rows without gaps, from whatever layout. */
START_TEST(compact_copies_only_what_has_gaps)
{
	static float memory[] = { 0, 1, 2, 3, 4, 5 };
	int64_t shape[] = { 3, 2 }, transposed[] = { 1, 3 };
	struct mpk_dltensor dl = { .data = memory,
				   .device = cpu,
				   .ndim = 2,
				   .dtype = f32,
				   .shape = shape,
				   .strides = transposed };
	struct mpk_storage *storage = NULL;
	struct mpk_tensor *t = NULL, *c = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_storage_wrap(memory, sizeof memory, cpu, NULL, NULL, &storage, &err), err);
	ck_assert_ok(mpk_tensor_wrap(&dl, storage, &t, &err), err);
	ck_assert(!mpk_dltensor_is_compact(&t->dl));
	ck_assert_ok(mpk_tensor_compact(t, &c, &err), err);
	ck_assert_ptr_ne(c, t);
	for (int row = 0; row < 3; row++)
		for (int column = 0; column < 2; column++)
			ck_assert_float_eq(((float *)c->dl.data)[2 * row + column],
					   (float)(row + 3 * column));
	mpk_tensor_drop(t);
	ck_assert_ok(mpk_tensor_compact(c, &t, &err), err);
	ck_assert_ptr_eq(c, t);
	mpk_tensor_drop(t);
	mpk_tensor_drop(c);
	mpk_storage_drop(storage);
}
END_TEST

/* Memory that nobody keeps must not be handed on: a copy is made though it is compact. */
START_TEST(compact_copies_what_is_borrowed)
{
	static float memory[] = { 7 };
	int64_t shape[] = { 1 };
	struct mpk_dltensor dl = {
		.data = memory, .device = cpu, .ndim = 1, .dtype = f32, .shape = shape
	};
	struct mpk_tensor *t = NULL, *c = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_wrap(&dl, NULL, &t, &err), err);
	ck_assert_ok(mpk_tensor_compact(t, &c, &err), err);
	ck_assert_ptr_ne(c->dl.data, memory);
	ck_assert_float_eq(*(float *)c->dl.data, 7);
	mpk_tensor_drop(c);
	mpk_tensor_drop(t);
}
END_TEST

START_TEST(strides_tell_compact)
{
	static int64_t shape[] = { 2, 1, 3 }, none[] = { 2, 0, 3 };
	static int64_t good[] = { 3, 99, 1 }, bad[] = { 4, 3, 1 };
	struct mpk_dltensor t = { .ndim = 3, .shape = shape };

	ck_assert(mpk_dltensor_is_compact(&t));
	t.strides = good;
	ck_assert(mpk_dltensor_is_compact(&t));
	t.strides = bad;
	ck_assert(!mpk_dltensor_is_compact(&t));
	t.shape = none; /* no elements, no gaps */
	ck_assert(mpk_dltensor_is_compact(&t));
}
END_TEST

/* Found by a fuzzer: elements without bytes can be more than can be counted. */
START_TEST(strides_of_many_elements_without_bytes)
{
	static const int64_t shape[] = { INT64_MAX, INT64_MAX, 2 };
	static const struct mpk_dtype nothing = { MPK_DTYPE_HANDLE, 0, 0 };
	struct mpk_tensor *t = NULL, *copy = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(nothing, shape, 3, MPK_STORAGE_PRIVATE, &t, &err), err);
	ck_assert_uint_eq(t->bytes, 0);
	ck_assert(mpk_dltensor_is_compact(&t->dl));
	ck_assert_ok(mpk_tensor_compact(t, &copy, &err), err);
	mpk_tensor_drop(copy);
	mpk_tensor_drop(t);
}
END_TEST

/* --- the allocator ------------------------------------------------------------------------ */

struct pool {
	struct mpk_device *device;
	struct mpk_allocator *allocator;
};

static struct pool pool_open(void)
{
	struct pool f = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_open(MPK_DEVICE_CPU, 0, NULL, &f.device, &err), err);
	ck_assert_ok(mpk_allocator_create(f.device, cpu, NULL, &f.allocator, &err), err);
	return f;
}

static void pool_close(struct pool *f)
{
	mpk_allocator_destroy(f->allocator);
	mpk_device_close(f->device);
}

static struct mpk_storage *get(struct pool *f, uint64_t bytes)
{
	struct mpk_storage *s = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_allocator_storage(f->allocator, bytes, &s, &err), err);
	ck_assert_uint_ge(s->bytes, bytes);
	ck_assert_uint_eq((uintptr_t)s->data % MPK_STORAGE_ALIGN, 0);
	return s;
}

/* A quarter is the most that rounding may waste. */
START_TEST(a_block_is_hardly_larger_than_asked_for)
{
	struct pool f = pool_open();

	for (uint64_t bytes = 65; bytes < 100000; bytes += bytes / 64 + 1) {
		struct mpk_storage *s = get(&f, bytes);

		ck_assert_uint_le(s->bytes, bytes + bytes / 4 + 1);
		memset(s->data, 0xa5, (size_t)s->bytes);
		mpk_storage_drop(s);
	}
	mpk_storage_drop(get(&f, 0));
	pool_close(&f);
}
END_TEST

START_TEST(a_steady_state_allocates_nothing)
{
	struct pool f = pool_open();

	for (int step = 0; step < 100; step++) {
		struct mpk_storage *a = get(&f, 1000), *b = get(&f, 1000), *c = get(&f, 5000);

		ck_assert_ptr_ne(a->data, b->data);
		mpk_storage_drop(a);
		mpk_storage_drop(b);
		mpk_storage_drop(c);
	}
	struct mpk_allocator_stats stats = mpk_allocator_get_stats(f.allocator);

	ck_assert_uint_eq(stats.given, 300);
	ck_assert_uint_eq(stats.allocated, 3);
	pool_close(&f);
}
END_TEST

/* A hundred lengths in turn find each other's memory. */
START_TEST(changing_sizes_do_not_grow_without_end)
{
	struct pool f = pool_open();
	struct mpk_allocator_stats once;

	for (int round = 0; round < 5; round++) {
		for (uint64_t length = 1; length <= 100; length++)
			mpk_storage_drop(get(&f, length * 256));
		if (round == 0)
			once = mpk_allocator_get_stats(f.allocator);
	}
	struct mpk_allocator_stats stats = mpk_allocator_get_stats(f.allocator);

	ck_assert_uint_eq(stats.held_bytes, once.held_bytes);
	ck_assert_uint_lt(stats.held_bytes, 8 * 100 * 256);
	ck_assert_uint_eq(mpk_allocator_trim(f.allocator), stats.held_bytes);
	ck_assert_uint_eq(mpk_allocator_get_stats(f.allocator).held_bytes, 0);
	pool_close(&f);
}
END_TEST

START_TEST(no_size_overflows)
{
	struct pool f = pool_open();
	struct mpk_storage *s;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_allocator_storage(f.allocator, UINT64_MAX, &s, &err), MPK_E_RANGE);
	ck_assert_int_ne(mpk_allocator_storage(f.allocator, INT64_MAX, &s, &err), MPK_OK);
	pool_close(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("storage");
	TCase *tc = tcase_create("storage");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, a_view_keeps_its_storage);
	tcase_add_test(tc, a_view_stays_in_its_storage);
	tcase_add_test(tc, memory_is_zero_and_aligned);
	tcase_add_test(tc, compact_copies_only_what_has_gaps);
	tcase_add_test(tc, compact_copies_what_is_borrowed);
	tcase_add_test(tc, strides_tell_compact);
	tcase_add_test(tc, strides_of_many_elements_without_bytes);
	tcase_add_test(tc, a_block_is_hardly_larger_than_asked_for);
	tcase_add_test(tc, a_steady_state_allocates_nothing);
	tcase_add_test(tc, changing_sizes_do_not_grow_without_end);
	tcase_add_test(tc, no_size_overflows);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
