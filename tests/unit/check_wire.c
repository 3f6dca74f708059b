/* SPDX-License-Identifier: Apache-2.0 */
/* values from the child to its parent: all kinds come back, damaged replies are errors */
#include <fcntl.h>
#include <sys/stat.h>

#include "assert_error.h"
#include "harness.h"
#include "session/internal/reply.h"
#include "value/parse.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };

static struct mpk_value text(enum mpk_value_kind kind, const char *s)
{
	struct mpk_value v = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_value_of_text(kind, mpk_span_str(s), &v, &err), err);
	return v;
}

static struct mpk_value tensor(int64_t rows, int64_t columns)
{
	int64_t shape[] = { rows, columns };
	struct mpk_tensor *t = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(f32, shape, 2, MPK_STORAGE_PRIVATE, &t, &err), err);
	for (int64_t i = 0; i < rows * columns; i++)
		((float *)t->dl.data)[i] = (float)i;
	return mpk_value_of_tensor(t);
}

/* One of everything that has content, nested. */
static struct mpk_value sample(void)
{
	static const int64_t extents[] = { 3, 0, INT64_MAX };
	struct mpk_value v = { 0 }, inner = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_value_of_array(9, &v, &err), err);
	ck_assert_ok(mpk_value_of_array(2, &inner, &err), err);
	inner.array->items[0] = tensor(2, 3);
	inner.array->items[1] = mpk_value_of_bool(true);
	v.array->items[0] = inner;
	v.array->items[1] = mpk_value_of_int(INT64_MIN);
	v.array->items[2] = mpk_value_of_float(0.1);
	v.array->items[2].type = f32;
	v.array->items[3] = text(MPK_VALUE_STR, "");
	v.array->items[4] = text(MPK_VALUE_BYTES, "bytes");
	ck_assert_ok(mpk_value_of_shape(extents, 3, &v.array->items[5], &err), err);
	v.array->items[6] = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = f32 };
	v.array->items[7] =
		(struct mpk_value){ .kind = MPK_VALUE_DEVICE, .device = { MPK_DL_OPENCL, 3 } };
	v.array->items[8] = tensor(0, 7);
	return v;
}

static int reply_of(const struct mpk_value *v, uint64_t *bytes)
{
	struct mpk_wire wire = { .fd = memfd_create("reply", MFD_CLOEXEC) };
	struct mpk_error err = { 0 };

	ck_assert_int_ge(wire.fd, 0);
	ck_assert_ok(mpk_wire_put_value(&wire, v, &err), err);
	ck_assert_ok(mpk_wire_end(&wire, &err), err);
	*bytes = wire.off;
	return wire.fd;
}

static uint64_t size_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

static enum mpk_code read_reply(int fd, struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_wire_map *map = NULL;
	enum mpk_code rc;

	*out = (struct mpk_value){ 0 };
	ck_assert_ok(mpk_wire_map_fd(fd, size_of(fd), false, &map, err), *err);
	rc = mpk_wire_get_value(map, out, err);
	mpk_wire_map_drop(map);
	return rc;
}

START_TEST(all_kinds_come_back)
{
	struct mpk_value v = sample(), got;
	struct mpk_error err = { 0 };
	uint64_t bytes;
	int fd = reply_of(&v, &bytes);

	ck_assert_ok(read_reply(fd, &got, &err), err);
	close(fd);
	const struct mpk_value *item = got.array->items;

	ck_assert_uint_eq(got.array->count, 9);
	ck_assert_uint_eq(item[0].array->count, 2);
	/* a view of the reply, which it keeps though map and descriptor are gone */
	const struct mpk_tensor *t = item[0].array->items[0].tensor;

	ck_assert_uint_eq((uintptr_t)t->dl.data % MPK_STORAGE_ALIGN, 0);
	ck_assert_float_eq(((float *)t->dl.data)[5], 5);
	ck_assert(item[0].array->items[1].boolean);
	ck_assert_int_eq(item[1].integer, INT64_MIN);
	ck_assert(item[2].real == 0.1 && item[2].type.bits == 32);
	ck_assert_uint_eq(item[3].text->len, 0);
	ck_assert_int_eq(item[4].kind, MPK_VALUE_BYTES);
	ck_assert_str_eq(item[4].text->data, "bytes");
	ck_assert_int_eq(item[5].shape->extents[2], INT64_MAX);
	ck_assert_int_eq(item[6].dtype.bits, 32);
	ck_assert_int_eq(item[7].device.id, 3);
	ck_assert_int_eq(item[8].tensor->dl.shape[1], 7);
	mpk_value_drop(&got);
	mpk_value_drop(&v);
}
END_TEST

/* What has no content arrives as an object that says what it was. */
START_TEST(what_cannot_travel_is_named)
{
	struct mpk_value v = mpk_value_of_opaque(&v), got;
	struct mpk_error err = { 0 };
	uint64_t bytes;
	int fd = reply_of(&v, &bytes);

	ck_assert_ok(read_reply(fd, &got, &err), err);
	close(fd);
	ck_assert_int_eq(got.kind, MPK_VALUE_OBJECT);
	ck_assert_str_eq(got.object->type, "pointer");
	mpk_value_drop(&got);
}
END_TEST

START_TEST(a_cut_reply_is_an_error)
{
	struct mpk_value v = sample(), got;
	uint64_t bytes;
	int fd = reply_of(&v, &bytes);

	for (uint64_t cut = bytes; cut-- > 0;) {
		struct mpk_error err = { 0 };

		ck_assert_int_eq(ftruncate(fd, (off_t)cut), 0);
		ck_assert_int_eq(read_reply(fd, &got, &err), MPK_E_RAISED);
		mpk_value_drop(&got);
	}
	close(fd);
	mpk_value_drop(&v);
}
END_TEST

/* A module may have written over it: every byte, to several values. What comes of it can be printed. */
START_TEST(a_damaged_reply_is_an_error_or_a_value)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct mpk_value v = sample(), got;
	uint64_t bytes;
	int fd = reply_of(&v, &bytes);

	for (uint64_t at = 0; at < bytes; at++) {
		uint8_t before;

		ck_assert_int_eq(pread(fd, &before, 1, (off_t)at), 1);
		for (size_t i = 0; i < sizeof values; i++) {
			struct mpk_strbuf text = { 0 };
			struct mpk_error err = { 0 };

			ck_assert_int_eq(pwrite(fd, &values[i], 1, (off_t)at), 1);
			if (read_reply(fd, &got, &err) == MPK_OK)
				mpk_value_print(&text, &got, 10);
			mpk_value_drop(&got);
			mpk_strbuf_fini(&text);
		}
		ck_assert_int_eq(pwrite(fd, &before, 1, (off_t)at), 1);
	}
	close(fd);
	mpk_value_drop(&v);
}
END_TEST

/* A list in a list in a list... */
static struct mpk_value nested(int depth)
{
	struct mpk_value v = mpk_value_of_int(1);
	struct mpk_error err = { 0 };

	for (int i = 0; i < depth; i++) {
		struct mpk_value outer = { 0 };

		ck_assert_ok(mpk_value_of_array(1, &outer, &err), err);
		outer.array->items[0] = v;
		v = outer;
	}
	return v;
}

/* A list of a functional program is as deep as it is long; what is deeper than that is refused when it
 * is written, and when a damaged reply claims to be. */
START_TEST(arrays_within_arrays_have_an_end)
{
	struct mpk_value v = nested(MPK_WIRE_NEST_MAX), got;
	struct mpk_error err = { 0 };
	uint64_t bytes;
	char head[256];
	int fd = reply_of(&v, &bytes);

	ck_assert_ok(read_reply(fd, &got, &err), err);
	ck_assert_int_eq(got.array->items[0].array->items[0].kind, MPK_VALUE_ARRAY);
	mpk_value_drop(&got);
	/* all heads are of one size, and those of the arrays are alike */
	bytes /= MPK_WIRE_NEST_MAX + 1;
	ck_assert_uint_le(bytes, sizeof head);
	ck_assert_int_eq(pread(fd, head, bytes, 0), (ssize_t)bytes);
	for (int i = 0; i < 4 * MPK_WIRE_NEST_MAX; i++)
		ck_assert_int_eq(pwrite(fd, head, bytes, (off_t)(bytes * (uint64_t)i)),
				 (ssize_t)bytes);
	ck_assert_int_eq(read_reply(fd, &got, &err), MPK_E_RAISED);
	close(fd);
	mpk_value_drop(&v);

	v = nested(MPK_WIRE_NEST_MAX + 1);
	fd = memfd_create("reply", 0);
	struct mpk_wire w = { .fd = fd };

	ck_assert_int_eq(mpk_wire_put_value(&w, &v, &err), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "arrays nested deeper than 1024");
	close(fd);
	mpk_value_drop(&v);
}
END_TEST

/* What is copied stays what it was; what is mapped is read once nobody writes any more. */
START_TEST(a_copy_is_ours)
{
	struct mpk_value v = sample(), got = { 0 };
	struct mpk_wire_map *copy;
	struct mpk_error err = { 0 };
	uint64_t bytes;
	int fd = reply_of(&v, &bytes);

	ck_assert_ok(mpk_wire_map_fd(fd, bytes, true, &copy, &err), err);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_ok(mpk_wire_get_value(copy, &got, &err), err);
	mpk_wire_map_drop(copy);
	const struct mpk_tensor *t = got.array->items[0].array->items[0].tensor;

	ck_assert_uint_eq((uintptr_t)t->dl.data % MPK_STORAGE_ALIGN, 0);
	ck_assert_float_eq(((float *)t->dl.data)[5], 5);
	mpk_value_drop(&got);
	mpk_value_drop(&v);
	close(fd);
}
END_TEST

/* A size that nobody wrote costs neither time nor memory. */
START_TEST(a_made_up_size_is_damage)
{
	int fd = memfd_create("reply", 0);
	struct mpk_wire_map *map = NULL;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_wire_map_fd(fd, 1, false, &map, &err), MPK_E_RAISED);
	ck_assert_int_eq(mpk_wire_map_fd(fd, UINT64_MAX, true, &map, &err), MPK_E_RAISED);
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
	ck_assert_int_eq(ftruncate(fd, INT64_C(1) << 42), 0);
	ck_assert_int_eq(mpk_wire_map_fd(fd, UINT64_C(1) << 42, false, &map, &err), MPK_E_RAISED);
	ck_assert_int_eq(mpk_wire_map_fd(fd, UINT64_C(1) << 42, true, &map, &err), MPK_E_RAISED);
	ck_assert_ptr_null(map);
	ck_assert_ok(mpk_wire_map_fd(fd, 1, false, &map, &err), err);
	mpk_wire_map_drop(map);
	ck_assert_ok(mpk_wire_map_fd(fd, 0, true, &map, &err), err);
	mpk_wire_map_drop(map);
	close(fd);
}
END_TEST

/* Pieces of all sizes stand one behind the other. */
START_TEST(pieces_are_gathered)
{
	struct mpk_wire w = { .fd = memfd_create("reply", 0) };
	static uint8_t bytes[3000];
	struct mpk_error err = { 0 };
	struct mpk_wire_map *map;
	struct mpk_span got;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t len = 0; len < sizeof bytes; len += 97)
		ck_assert_ok(mpk_wire_put(&w, mpk_span_of(bytes, len), &err), err);
	ck_assert_ok(mpk_wire_end(&w, &err), err);
	ck_assert_ok(mpk_wire_end(&w, &err), err); /* nothing is left */
	ck_assert_uint_eq(w.off, size_of(w.fd));
	ck_assert_ok(mpk_wire_map_fd(w.fd, w.off, false, &map, &err), err);
	for (size_t len = 0; len < sizeof bytes; len += 97) {
		ck_assert_ok(mpk_wire_get(map, len, &got, &err), err);
		ck_assert_int_eq(memcmp(got.data, bytes, len), 0);
	}
	ck_assert_int_eq(mpk_wire_get(map, 1, &got, &err), MPK_E_RAISED);
	mpk_wire_map_drop(map);
	close(w.fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wire");
	TCase *tc = tcase_create("wire");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, all_kinds_come_back);
	tcase_add_test(tc, a_copy_is_ours);
	tcase_add_test(tc, a_made_up_size_is_damage);
	tcase_add_test(tc, pieces_are_gathered);
	tcase_add_test(tc, what_cannot_travel_is_named);
	tcase_add_test(tc, a_cut_reply_is_an_error);
	tcase_add_test(tc, a_damaged_reply_is_an_error_or_a_value);
	tcase_add_test(tc, arrays_within_arrays_have_an_end);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
