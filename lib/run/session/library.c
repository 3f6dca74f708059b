/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - from what was read of a file to what its loader wants to know */
#include "session/call.h"

#include <elf.h>

#if defined(__x86_64__)
static const struct {
	uint16_t machine;
	const char *name;
} here = { EM_X86_64, "x86-64" };
#elif defined(__aarch64__)
static const struct {
	uint16_t machine;
	const char *name;
} here = { EM_AARCH64, "AArch64" };
#elif defined(__riscv)
static const struct {
	uint16_t machine;
	const char *name;
} here = { EM_RISCV, "RISC-V" };
#elif defined(__powerpc64__)
static const struct {
	uint16_t machine;
	const char *name;
} here = { EM_PPC64, "PowerPC64" };
#elif defined(__s390x__)
static const struct {
	uint16_t machine;
	const char *name;
} here = { EM_S390, "S390" };
#else
#error "name this machine here"
#endif

static bool is_little_endian(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

static enum mpk_code check_machine(const struct mpk_image *image, struct mpk_error *err)
{
	unsigned class = sizeof(void *) * 8;

	if (image->machine == here.machine && image->elf_class == class &&
	    image->big_endian == !is_little_endian())
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the library is for %s (%u-bit, %s-endian); this machine is %s (%u-bit, %s-endian)",
		image->machine_name, image->elf_class, image->big_endian ? "big" : "little",
		here.name, class, is_little_endian() ? "little" : "big");
}

/* What the dynamic linker would refuse, said in the words of a user who has the wrong file. */
enum mpk_code mpk_library_check(const struct mpk_library_options *options, struct mpk_error *err)
{
	const struct mpk_image *image = options->image;

	if (options->unloadable.code != MPK_OK) {
		if (err)
			*err = options->unloadable;
		return mpk_failed(options->unloadable.code);
	}
	switch (image->container) {
	case MPK_CONTAINER_ELF_SO:
		break;
	case MPK_CONTAINER_BLOB:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a bare blob has no code to call; build a library of it with 'mpack build'");
	case MPK_CONTAINER_DEVICE:
		return mpk_fail(
			err, MPK_E_LOAD,
			"GPU code by itself has no host code to call; 'mpack init' writes a manifest of it, and 'mpack build' a library");
	case MPK_CONTAINER_MACHO_SO:
	case MPK_CONTAINER_PE_SO:
		return mpk_fail(err, MPK_E_LOAD,
				"the library is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_PE ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_MACHO_OBJ:
	case MPK_CONTAINER_COFF_OBJ:
		return mpk_fail(err, MPK_E_LOAD,
				"the object is for %s; this machine loads ELF libraries",
				image->format == MPK_FILE_COFF ? "Windows" : "macOS or iOS");
	case MPK_CONTAINER_C:
		return mpk_fail(
			err, MPK_E_LOAD,
			"a source cannot be loaded before it is compiled: cc -shared -fPIC -o LIBRARY.so SOURCES");
	case MPK_CONTAINER_ELF_OBJ:
	case MPK_CONTAINER_ARCHIVE:
	case MPK_CONTAINER_TAR:
		return mpk_fail(
			err, MPK_E_LOAD,
			"objects cannot be loaded before they are linked: cc -shared -o LIBRARY.so OBJECTS");
	}
	if (image->type != ET_DYN)
		return mpk_fail(err, MPK_E_LOAD, "not a shared library");
	MPK_TRY(check_machine(image, err));
	if (!image->has_blob && !image->function_count)
		return mpk_fail(err, MPK_E_NO_BLOB,
				"neither a module blob nor a callable function is in it");
	return MPK_OK;
}
