/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - from what was read of a file to what its loader wants to know */
#include "session/library.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "hostcode/host.h"
#include "text/escape.h"

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

/* --- where functions want their tensors --------------------------------------------------- */

/* Read when the first is asked for: not every call needs it. In the arena. */
struct places {
	const struct mpk_image *image;
	struct mpk_arena *arena;
	struct place {
		const char *name;
		int32_t device;
	} *items; /* by name; NULL: not read so far */
	size_t count;
};

static int library_by_name(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->name, ((const struct place *)b)->name);
}

/* Without memory nothing is known. */
static void read_places(struct places *p)
{
	const struct mpk_signature *const *signatures;
	size_t n = p->image->function_count;

	p->items = mpk_arena_array(p->arena, n + 1, sizeof *p->items);
	if (!p->items || mpk_host_signatures(p->image, p->arena, &signatures, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < n; i++)
		if (signatures[i] && signatures[i]->device)
			p->items[p->count++] = (struct place){ p->image->functions[i].name,
							       signatures[i]->device };
	if (p->count)
		qsort(p->items, p->count, sizeof *p->items, library_by_name);
}

static int32_t device_of(void *user, const char *name)
{
	struct places *p = user;
	const struct place key = { .name = name }, *found;

	if (!p->items)
		read_places(p);
	found = p->count ? bsearch(&key, p->items, p->count, sizeof key, library_by_name) : NULL;
	return found ? found->device : 0;
}

/* Code of one device alone is on the one that all is on. */
enum mpk_code mpk_library_places(const struct mpk_library_options *options, struct mpk_arena *arena,
				 struct mpk_run_source *out, struct mpk_error *err)
{
	const struct mpk_tree *tree = options->tree;
	struct places *p;
	bool on_device = false;

	for (size_t i = 0; tree && i < tree->count; i++)
		on_device |= mpk_device_kind_of(tree->nodes[i].kind) > MPK_DEVICE_CPU;
	if (!on_device)
		return MPK_OK;
	p = mpk_arena_alloc(arena, sizeof *p);
	MPK_TRY_ALLOC(p, err);
	*p = (struct places){ .image = options->image, .arena = arena };
	out->device_of = device_of;
	out->device_user = p;
	return MPK_OK;
}
