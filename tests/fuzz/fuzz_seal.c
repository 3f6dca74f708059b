/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_seal - an ELF file that gets a signature and provenance: what was written verifies, and a byte
 * that changed does not. libcrypto's time is most of it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/reader.h"
#include "fuzz.h"
#include "trust/seal.h"

enum { FILE_MAX_BYTES = 1 << 20 };

static const char provenance[] =
	"{\"type\":\"mpack-provenance\",\"version\":1,\"tools\":[],\"options\":[],\"inputs\":[]}";

/* One file in memory and one key for all runs. */
static int file(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	FUZZ_REQUIRE(fd >= 0);
	return fd;
}

static const struct mpk_secret_key *key(void)
{
	static struct mpk_secret_key made;
	static bool is_made;

	memset(made.seed, 7, sizeof made.seed);
	FUZZ_REQUIRE(is_made || mpk_ed25519_public(&made, NULL) == MPK_OK);
	is_made = true;
	return &made;
}

static void check(struct mpk_span bytes, enum mpk_code expected)
{
	const struct mpk_public_keys keys = { .items = { key()->public_key }, .count = 1 };
	struct mpk_elf elf = { 0 };

	FUZZ_REQUIRE(mpk_elf_open(bytes, 0, &elf, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_seal_check(&elf, &keys, NULL, NULL) == expected);
	mpk_elf_close(&elf);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_seal_job job = { provenance, key() };
	struct mpk_span made;
	off_t len;
	uint8_t *copy;

	FUZZ_REQUIRE(ftruncate(file(), 0) == 0);
	FUZZ_REQUIRE(pwrite(file(), bytes.data, bytes.len, 0) == (ssize_t)bytes.len);
	if (mpk_seal_file(file(), &job, NULL) != MPK_OK)
		return;
	len = lseek(file(), 0, SEEK_END);
	FUZZ_REQUIRE(len > 0 && len < FILE_MAX_BYTES);
	copy = mpk_arena_alloc(arena, (size_t)len);
	FUZZ_REQUIRE(copy && pread(file(), copy, (size_t)len, 0) == len);
	made = mpk_span_of(copy, (size_t)len);
	check(made, MPK_OK);
}
