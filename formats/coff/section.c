/* SPDX-License-Identifier: Apache-2.0 */
#include "coff/internal/section.h"

#include <elf.h>

#include "base/cursor.h"
#include "base/num.h"

enum {
	SCN_CNT_CODE = 0x20,
	SCN_CNT_ZEROS = 0x80,
};
#define SCN_MEM_EXECUTE 0x20000000U
#define SCN_MEM_WRITE 0x80000000U

uint16_t mpk_coff_machine(uint16_t number)
{
	static const struct {
		uint16_t number, machine;
	} machines[] = {
		{ 0x8664, EM_X86_64 },  { 0xaa64, EM_AARCH64 }, { 0xa641, EM_AARCH64 },
		{ 0xa64e, EM_AARCH64 }, { 0x014c, EM_386 },     { 0x01c4, EM_ARM },
		{ 0x5064, EM_RISCV },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(machines); i++)
		if (machines[i].number == number)
			return machines[i].machine;
	return 0;
}

/* Eight bytes, with a NUL when there is room; "/123": the name stands in the string table. */
static const char *section_name(const uint8_t *header, struct mpk_span strings,
				struct mpk_arena *arena)
{
	struct mpk_span name = mpk_span_of(header, strnlen((const char *)header, 8));
	uint64_t off;

	if (name.len > 1 && name.data[0] == '/' &&
	    mpk_parse_u64(mpk_span_of(name.data + 1, name.len - 1), &off))
		(void)mpk_span_text(strings, off, SIZE_MAX, &name);
	return mpk_arena_text(arena, name);
}

enum mpk_code mpk_coff_sections(struct mpk_span bytes, uint64_t off, size_t count,
				struct mpk_span strings, struct mpk_arena *arena,
				struct mpk_object_section **out, struct mpk_error *err)
{
	struct mpk_object_section *list;
	struct mpk_span headers;

	if (!mpk_span_sub(bytes, off, (uint64_t)count * MPK_COFF_SECTION, &headers))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off,
				       "COFF: %zu section headers do not fit into the file", count);
	list = mpk_arena_array(arena, count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *h = headers.data + i * MPK_COFF_SECTION;
		uint32_t flags = mpk_load_u32(h + 36), virtual_size = mpk_load_u32(h + 8);
		uint64_t size = mpk_load_u32(h + 16);
		struct mpk_object_section *s = &list[i];

		/* what is beyond the size in memory is there to fill the file's page */
		if (virtual_size && virtual_size < size)
			size = virtual_size;
		s->name = section_name(h, strings, arena);
		s->address = mpk_load_u32(h + 12);
		s->content_off = mpk_load_u32(h + 20);
		s->is_code = flags & (SCN_CNT_CODE | SCN_MEM_EXECUTE);
		s->is_constant = !s->is_code && !(flags & SCN_MEM_WRITE);
		MPK_TRY_ALLOC(s->name, err);
		if (!(flags & SCN_CNT_ZEROS) && s->content_off &&
		    !mpk_span_sub(bytes, s->content_off, size, &s->content))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "file", off + i * MPK_COFF_SECTION,
				"COFF: section %zu lies beyond the end of the file", i + 1);
	}
	*out = list;
	return MPK_OK;
}
