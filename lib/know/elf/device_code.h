/* SPDX-License-Identifier: Apache-2.0 */
/* device_code.h - code for GPUs that compilers put into sections of their own, in any library
 *
 * nvcc writes fatbins into .nv_fatbin and __nv_relfatbin, HIP offload bundles into .hip_fatbin,
 * Clang offload binaries into .llvm.offloading, and clang-offload-bundler a section for each device.
 * A section has one container an object that was linked, one after the other. Here they are
 * separated by their headers; nothing is unpacked.
 */
#ifndef MPK_ELF_DEVICE_CODE_H
#define MPK_ELF_DEVICE_CODE_H

#include "elf/image.h"
#include "elf/reader.h"

/* mpk_elf_is_device_section - whether a section of this name holds code for GPUs */
bool mpk_elf_is_device_section(const char *name);

/* mpk_elf_device_code - the containers in one ELF file, by their place in the file
 * A container whose header does not read, and bytes that are none, reach to the end of their section.
 * @out     in the arena
 * Returns  MPK_OK, also with none and for sections that do not read; MPK_E_NOMEM */
enum mpk_code mpk_elf_device_code(const struct mpk_elf *elf, struct mpk_arena *arena,
				  const struct mpk_image_device **out, size_t *count,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_code_split - the same for the bytes of one section
 * @off, @section   where it is in the input, and its name; borrowed
 * @items, @count, @cap   a malloc'ed list that grows */
enum mpk_code mpk_device_code_split(struct mpk_span bytes, uint64_t off, const char *section,
				    struct mpk_image_device **items, size_t *count, size_t *cap,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
