/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - host functions of two ELF files: is their code the same, wherever it lies?
 *
 * When one function of a library grows, all after it move, and with them the distances in every call and
 * load. Code is compared byte by byte; where bytes differ, they may be the distance of a branch or a load of
 * x86-64 or AArch64 that leads to the same thing in both files: the same symbol, also through the PLT, or
 * read-only data of the same content.
 */
#ifndef MPK_COMPARE_HOST_H
#define MPK_COMPARE_HOST_H

#include "base/arena.h"
#include "elf/image.h"
#include "elf/reader.h"

struct mpk_host_function {
	const char *symbol;
	uint64_t address;
	struct mpk_span code;
};

/* Zero-initialise; mpk_host_code_open; mpk_host_code_close. */
struct mpk_host_code {
	struct mpk_elf elf;
	const struct mpk_host_function *functions; /* in the order of the symbol table, local ones
						    * included unless they were stripped */
	size_t count;
	const struct mpk_host_place *places; /* symbols by address */
	size_t place_count;
	const struct mpk_host_slot *slots; /* what a loader fills in, by address */
	size_t slot_count;
	const struct mpk_host_place *sections; /* that are loaded, by address */
	size_t section_count;
	uint64_t
		bytes_left; /* of code that will still be compared: symbols of a hostile file may all
			      * claim the same bytes */
	uint64_t
		data_left; /* of what code refers to that will still be compared: it may be one large table */
};

/* mpk_host_code_open - list the functions of an image with their code
 * @out     in arena but for the ELF reader; empty for images of other formats
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_host_code_open(const struct mpk_image *image, struct mpk_arena *arena,
				 struct mpk_host_code *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_host_code_close(struct mpk_host_code *h);

/* mpk_host_same_code - whether a function of one file does what one of another file does, as far as bytes
 * tell; in doubt not */
bool mpk_host_same_code(struct mpk_host_code *a, const struct mpk_host_function *f,
			const struct mpk_host_code *b, const struct mpk_host_function *g);

#endif
