/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - target triples: machine, class, byte order and object format
 *
 * Only what mpack needs is read from a triple: which ELF header a host part must have, and whether
 * the stub can be linked here. LLVM knows more, but `mpack check` works without LLVM. */
#include "elf/target.h"

#include <stdio.h>
#include <string.h>

#include "elf/foreign.h"
#include "elf/reader.h"

static const struct arch {
	const char *prefix; /* beginning of the triple; the first row that fits is used */
	uint16_t machine;
	uint8_t elf_class, elf_data;
} arches[] = {
	{ "x86_64", EM_X86_64, ELFCLASS64, ELFDATA2LSB },
	{ "i386", EM_386, ELFCLASS32, ELFDATA2LSB },
	{ "i486", EM_386, ELFCLASS32, ELFDATA2LSB },
	{ "i586", EM_386, ELFCLASS32, ELFDATA2LSB },
	{ "i686", EM_386, ELFCLASS32, ELFDATA2LSB },
	{ "aarch64_be", EM_AARCH64, ELFCLASS64, ELFDATA2MSB },
	{ "aarch64", EM_AARCH64, ELFCLASS64, ELFDATA2LSB },
	{ "arm64", EM_AARCH64, ELFCLASS64, ELFDATA2LSB },
	{ "armeb", EM_ARM, ELFCLASS32, ELFDATA2MSB },
	{ "arm", EM_ARM, ELFCLASS32, ELFDATA2LSB },
	{ "thumb", EM_ARM, ELFCLASS32, ELFDATA2LSB },
	{ "riscv64", EM_RISCV, ELFCLASS64, ELFDATA2LSB },
	{ "riscv32", EM_RISCV, ELFCLASS32, ELFDATA2LSB },
	{ "s390x", EM_S390, ELFCLASS64, ELFDATA2MSB },
	{ "powerpc64le", EM_PPC64, ELFCLASS64, ELFDATA2LSB },
	{ "ppc64le", EM_PPC64, ELFCLASS64, ELFDATA2LSB },
	{ "powerpc64", EM_PPC64, ELFCLASS64, ELFDATA2MSB },
	{ "ppc64", EM_PPC64, ELFCLASS64, ELFDATA2MSB },
	{ "loongarch64", 258, ELFCLASS64, ELFDATA2LSB },
	{ "mips64el", EM_MIPS, ELFCLASS64, ELFDATA2LSB },
	{ "mips64", EM_MIPS, ELFCLASS64, ELFDATA2MSB },
	{ "mipsel", EM_MIPS, ELFCLASS32, ELFDATA2LSB },
	{ "mips", EM_MIPS, ELFCLASS32, ELFDATA2MSB },
};

#if defined __x86_64__ && !defined __ILP32__
#define NATIVE "x86_64-linux-gnu"
#elif defined __aarch64__ && defined __AARCH64EL__
#define NATIVE "aarch64-linux-gnu"
#elif defined __riscv && __riscv_xlen == 64
#define NATIVE "riscv64-linux-gnu"
#elif defined __s390x__
#define NATIVE "s390x-linux-gnu"
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define NATIVE "powerpc64le-linux-gnu"
#elif defined __wasm__ /* a browser loads no library: assume the machine that most libraries are for */
#define NATIVE "x86_64-linux-gnu"
#else
#error "name this machine's triple here"
#endif

/* Compares a prefix, because versions and vendors follow: "armv7l", "aarch64-linux-android". A
 * longer name comes before its own prefixes in the table. */
static const struct arch *find_arch(const char *triple)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(arches); i++)
		if (strncmp(triple, arches[i].prefix, strlen(arches[i].prefix)) == 0)
			return &arches[i];
	return NULL;
}

/* A triple that names no other system has ELF. */
static enum mpk_object_format find_format(const char *triple)
{
	static const struct {
		const char *word;
		enum mpk_object_format format;
	} rows[] = {
		{ "-apple", MPK_OBJECT_MACHO }, { "darwin", MPK_OBJECT_MACHO },
		{ "macos", MPK_OBJECT_MACHO },  { "-ios", MPK_OBJECT_MACHO },
		{ "windows", MPK_OBJECT_COFF }, { "mingw", MPK_OBJECT_COFF },
		{ "cygwin", MPK_OBJECT_COFF },  { "wasm", MPK_OBJECT_WASM },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (strstr(triple, rows[i].word))
			return rows[i].format;
	return MPK_OBJECT_ELF;
}

/* An unknown architecture is not an error: with machine 0, objects are not compared with it. */
struct mpk_target mpk_target_parse(const char *triple)
{
	struct mpk_target t = { .triple = triple ? triple : NATIVE };
	const struct arch *arch = find_arch(t.triple), *here = find_arch(NATIVE);

	t.format = find_format(t.triple);
	if (arch) {
		t.machine = arch->machine;
		t.elf_class = arch->elf_class;
		t.elf_data = arch->elf_data;
	}
	t.is_native = arch == here && t.format == MPK_OBJECT_ELF && strstr(t.triple, "linux");
	t.has_large = t.machine == EM_X86_64 && t.format == MPK_OBJECT_ELF;
	return t;
}

/* Returns the table's name for a machine; the first if there are several, such as "i386". */
static const char *machine_name(unsigned machine, uint8_t class, uint8_t data, char *out,
				size_t size)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(arches); i++)
		if (arches[i].machine == machine && arches[i].elf_class == class &&
		    arches[i].elf_data == data)
			return arches[i].prefix;
	(void)snprintf(out, size, "machine %#x", machine);
	return out;
}

/* Compares an object in another format. It has no class, so only the machines are compared. */
static enum mpk_code check_object(const struct mpk_target *target, enum mpk_file_format format,
				  struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	bool macho = format == MPK_FILE_MACHO;
	const char *what = macho ? "a Mach-O object" : "a COFF object";
	struct mpk_object object = { 0 };
	const char *name;

	if (target->format != (macho ? MPK_OBJECT_MACHO : MPK_OBJECT_COFF))
		return mpk_fail(err, MPK_E_CONFLICT, "%s, but the target is %s", what,
				target->triple);
	MPK_TRY(mpk_file_read_object(format, bytes, &arena, &object, err));
	if (!target->machine || !object.machine || object.machine == target->machine)
		return MPK_OK;
	name = mpk_elf_machine(object.machine);
	return mpk_fail(err, MPK_E_CONFLICT, "%s for %s, but the target is %s", what,
			name ? name : "another machine", target->triple);
}

/* A file that is not an object, a blob or a C file, fits every target. */
enum mpk_code mpk_target_check(const struct mpk_target *target, struct mpk_span bytes,
			       struct mpk_error *err)
{
	enum mpk_file_format format = mpk_file_format_of(bytes);

	if (format == MPK_FILE_ELF) {
		/* ILP32 and LP64 differ in the class, big and little endian in the data: both must agree. */
		MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
		char name[24];

		MPK_TRY(mpk_elf_open(bytes, 0, &elf, err));

		unsigned machine = elf.header.e_machine;
		uint8_t class = elf.header.e_ident[EI_CLASS], data = elf.header.e_ident[EI_DATA];
		if (target->format != MPK_OBJECT_ELF)
			return mpk_fail(err, MPK_E_CONFLICT, "an ELF object, but the target is %s",
					target->triple);
		if (!target->machine || (machine == target->machine && class == target->elf_class &&
					 data == target->elf_data))
			return MPK_OK;
		return mpk_fail(err, MPK_E_CONFLICT, "an object for %s, but the target is %s",
				machine_name(machine, class, data, name, sizeof name),
				target->triple);
	}
	if (format == MPK_FILE_MACHO || format == MPK_FILE_COFF)
		return check_object(target, format, bytes, err);
	return MPK_OK;
}
