/* SPDX-License-Identifier: Apache-2.0 */
/* absolute.c - what points to the containers of a program that is linked to one address (ET_EXEC)
 *
 * Its linker has resolved every address, and no relocation is left to tell which words are addresses. Of a container
 * that a compiler registered one is known: the wrapper that host code gives to the runtime, in a section of its own,
 * begins with a number that nothing else there has. Whatever else in the file has four bytes that are the address of a
 * container may be that address or may be a number: the container stays where it is then, as does one without a
 * wrapper. All such addresses are below 4 GiB, so that four bytes are what instructions and words of data both have.
 */
#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"
#include "elf/image.h"
#include "thin/internal/thin.h"

enum { WRAPPER_BYTES = 24, ADDRESS_AT = 8, WORD_BYTES = 8 };

static const struct {
	const char *section;
	uint32_t magic;
} wrappers[] = {
	{ ".nvFatBinSegment", 0x466243b1 },
	{ ".hipFatBinSegment", 0x48495046 },
};

/* The container that begins at an address; count: none. */
static size_t container_of(const struct mpk_thin_container *c, size_t count, uint64_t address)
{
	size_t i = mpk_first_from(c, count, sizeof *c, offsetof(struct mpk_thin_container, address),
				  address);

	return i < count && c[i].address == address ? i : count;
}

static uint32_t wrapper_magic(const char *section)
{
	for (size_t i = 0; section && i < MPK_ARRAY_COUNT(wrappers); i++)
		if (strcmp(section, wrappers[i].section) == 0)
			return wrappers[i].magic;
	return 0;
}

/* Whether a word at this place is the address in a wrapper. */
static bool is_wrapped(struct mpk_span bytes, size_t at, uint32_t magic)
{
	return magic && at % WRAPPER_BYTES == ADDRESS_AT && bytes.len - at >= WORD_BYTES &&
	       mpk_load_u32(bytes.data + at - ADDRESS_AT) == magic;
}

static enum mpk_code search_section(struct mpk_thin_absolute *a, struct mpk_span bytes,
				    uint64_t address, uint32_t magic, struct mpk_error *err)
{
	uint64_t first = a->c[0].address, last = a->c[a->count - 1].address;

	for (size_t at = 0; bytes.len - at >= sizeof(uint32_t); at++) {
		uint32_t value = mpk_load_u32(bytes.data + at);
		size_t i;

		if (value < first || value > last)
			continue;
		i = container_of(a->c, a->count, value);
		if (i == a->count)
			continue;
		if (is_wrapped(bytes, at, magic) && mpk_load_u64(bytes.data + at) == value)
			MPK_TRY(a->wrapped(a->data, address + at, value, err));
		else
			a->c[i].pinned = true;
	}
	return MPK_OK;
}

/* Images that have no wrapper are named by their ends, too, and an end is a number like any other. */
static enum mpk_code check_binaries(const struct mpk_thin_absolute *a, struct mpk_error *err)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->c[i].is_binary && a->c[i].changed)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"a program that is linked to one address does not tell where its host code has the end of an image; link it as PIE");
	return MPK_OK;
}

enum mpk_code mpk_thin_search_absolute(const struct mpk_elf *elf, struct mpk_thin_absolute *a,
				       struct mpk_error *err)
{
	uint64_t left = elf->bytes.len;

	if (!a->count)
		return MPK_OK;
	MPK_TRY(check_binaries(a, err));
	if (a->c[a->count - 1].address > UINT32_MAX)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a program that is linked to an address above 4 GiB; link it as PIE");
	for (size_t i = 1; i < elf->section_count; i++) {
		struct mpk_span bytes;
		const char *name = mpk_elf_section_name(elf, i);
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(elf, i, &h, err));
		if (!name || mpk_elf_is_device_section(name) || !(h.sh_flags & SHF_ALLOC) ||
		    h.sh_type == SHT_NOBITS || !h.sh_size || h.sh_size > left ||
		    !mpk_span_sub(elf->bytes, h.sh_offset, h.sh_size, &bytes))
			continue;
		left -= h.sh_size; /* sections that overlap would be read again and again */
		MPK_TRY(search_section(a, bytes, h.sh_addr, wrapper_magic(name), err));
	}
	return MPK_OK;
}
