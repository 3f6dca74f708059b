/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - the machine a library is made for */
#ifndef MPK_ELF_TARGET_H
#define MPK_ELF_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum mpk_object_format { MPK_OBJECT_ELF, MPK_OBJECT_MACHO, MPK_OBJECT_COFF, MPK_OBJECT_WASM };

struct mpk_target {
	const char *triple; /* the given triple, or that of this machine */
	enum mpk_object_format format;
	uint16_t machine;  /* ELF: EM_*; 0: an architecture that this program does not know, left to
			    * LLVM */
	uint8_t elf_class; /* ELFCLASS32, ELFCLASS64 */
	uint8_t elf_data;  /* ELFDATA2LSB, ELFDATA2MSB */
	bool is_native;    /* cc makes objects for it without further options */
	bool has_large;    /* x86-64 ELF, which has .lrodata */
};

/* mpk_target_parse - what a triple means ("aarch64-linux-gnu", "arm64-apple-macos")
 * @triple  borrowed; NULL: this machine
 * Never fails: an unknown architecture has machine 0. */
struct mpk_target mpk_target_parse(const char *triple);

/* mpk_target_check - check that an object file is for the target
 * @bytes   the file, or a member of an archive; accepted if it is not ELF, Mach-O or COFF
 * Returns  MPK_OK; MPK_E_CONFLICT naming both machines; MPK_E_CORRUPT (a broken file); MPK_E_NOMEM */
enum mpk_code mpk_target_check(const struct mpk_target *target, struct mpk_span bytes,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
