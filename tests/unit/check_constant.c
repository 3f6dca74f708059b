/* SPDX-License-Identifier: Apache-2.0 */
/* content of a library as memory for kernels: in place or copied, and what stays in memory of the file it was copied from */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "executor/machine.h"
#include "harness.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "value/tensor.h"

enum { MIB = 1 << 20, BYTES = 9 * MIB, UNALIGNED = 40 };

static struct mpk_runtime *runtime;
static struct mpk_host *host;

static void open_host(void)
{
	static const struct mpk_runtime_options options;
	static const struct mpk_host_code code;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_runtime_create(&options, &runtime, &err), MPK_OK);
	ck_assert_int_eq(mpk_host_create(runtime, &code, &host, &err), MPK_OK);
}

static void close_host(void)
{
	mpk_host_drop(host);
	mpk_runtime_destroy(runtime);
}

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 7 + i / 4096);
}

/* A file of BYTES and a page, mapped as a dynamic linker does. */
static uint8_t *map_file(void)
{
	FILE *f = tmpfile();
	uint8_t *bytes;

	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < BYTES + 4096; i++)
		if (putc(byte_at(i), f) == EOF)
			ck_abort_msg("no file of %d bytes", BYTES);
	ck_assert_int_eq(fflush(f), 0);
	bytes = mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
	ck_assert(bytes != MAP_FAILED);
	(void)fclose(f);
	return bytes;
}

/* Of the mapping, in this process's memory; the system has the file itself in any case. */
static size_t present_bytes(const uint8_t *bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), present = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	for (size_t at = 0; at < BYTES; at += page) {
		uint64_t bits;

		ck_assert_int_eq(pread(fd, &bits, sizeof bits,
				       (off_t)(((uintptr_t)bytes + at) / page * sizeof bits)),
				 (ssize_t)sizeof bits);
		present += bits >> 63 ? page : 0;
	}
	(void)close(fd);
	return present;
}

static struct mpk_storage *load(const uint8_t *content, size_t len)
{
	struct mpk_storage *storage;
	struct mpk_error err = { 0 };

	ck_assert_int_eq(mpk_constant_storage(host, mpk_span_of(content, len),
					      (struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 },
					      (struct mpk_dldevice){ MPK_DL_CPU, 0 }, &storage,
					      &err),
			 MPK_OK);
	return storage;
}

static void check_copy(const struct mpk_storage *storage, const uint8_t *content, size_t len)
{
	ck_assert(storage->data != content);
	ck_assert_int_eq(memcmp(storage->data, content, len), 0);
}

START_TEST(aligned_content_stays_where_it_is)
{
	uint8_t *bytes = map_file();
	struct mpk_storage *storage = load(bytes + 64, BYTES);

	ck_assert(storage->data == bytes + 64);
	mpk_storage_drop(storage);
	(void)munmap(bytes, BYTES + 4096);
}
END_TEST

/* Fault by fault the system maps some pages around, so that it is not none. */
START_TEST(pages_of_the_file_are_given_back)
{
	uint8_t *bytes = map_file();
	struct mpk_storage *storage = load(bytes + UNALIGNED, BYTES);

	ck_assert_uint_lt(present_bytes(bytes), MIB);
	check_copy(storage, bytes + UNALIGNED, BYTES);
	for (size_t i = 0; i < BYTES; i += 1021)
		ck_assert_uint_eq(bytes[i], byte_at(i));
	mpk_storage_drop(storage);
	storage = load(bytes + UNALIGNED, MIB / 2);
	check_copy(storage, bytes + UNALIGNED, MIB / 2);
	mpk_storage_drop(storage);
	(void)munmap(bytes, BYTES + 4096);
}
END_TEST

/* Pages that this process has written to are in memory alone. */
START_TEST(what_was_written_stays)
{
	uint8_t *bytes = map_file();

	for (size_t i = 0; i < BYTES; i += MIB / 3)
		bytes[i] = (uint8_t)~byte_at(i);
	struct mpk_storage *storage = load(bytes + UNALIGNED, BYTES);

	check_copy(storage, bytes + UNALIGNED, BYTES);
	for (size_t i = 0; i < BYTES; i += MIB / 3)
		ck_assert_uint_eq(bytes[i], (uint8_t)~byte_at(i));
	mpk_storage_drop(storage);
	(void)munmap(bytes, BYTES + 4096);
}
END_TEST

START_TEST(memory_of_the_process_stays)
{
	uint8_t *bytes = malloc(BYTES + UNALIGNED);
	struct mpk_storage *storage;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < BYTES + UNALIGNED; i++)
		bytes[i] = byte_at(i);
	/* neither the whole nor a part that begins in the middle of a page is aligned */
	for (size_t at = (uintptr_t)bytes % 64 ? 0 : UNALIGNED; at < 3 * MIB; at += MIB) {
		storage = load(bytes + at, BYTES - 3 * MIB);
		check_copy(storage, bytes + at, BYTES - 3 * MIB);
		mpk_storage_drop(storage);
	}
	for (size_t i = 0; i < BYTES + UNALIGNED; i++)
		if (bytes[i] != byte_at(i))
			ck_abort_msg("byte %zu is gone", i);
	free(bytes);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("constant");
	TCase *tc = tcase_create("constant");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, open_host, close_host);
	tcase_add_test(tc, aligned_content_stays_where_it_is);
	tcase_add_test(tc, pages_of_the_file_are_given_back);
	tcase_add_test(tc, what_was_written_stays);
	tcase_add_test(tc, memory_of_the_process_stays);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
