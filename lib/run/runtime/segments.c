/* SPDX-License-Identifier: Apache-2.0 */
/* segments.c - the memory that a shared object was mapped to, asked of the dynamic linker
 *
 * Nothing is read through the pointer in question: one that leads nowhere would end the process. */
#include "runtime/segments.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct search {
	uintptr_t code, data;
	size_t room;
};

/* How many bytes of a segment begin at an address; 0 when it is not in it. */
static size_t room_in(const struct dl_phdr_info *object, size_t segment, uintptr_t address)
{
	const ElfW(Phdr) *s = &object->dlpi_phdr[segment];
	uintptr_t start = object->dlpi_addr + s->p_vaddr;

	if (s->p_type != PT_LOAD || !(s->p_flags & PF_R) || address < start ||
	    address - start >= s->p_memsz)
		return 0;
	return s->p_memsz - (address - start);
}

/* Stops at the object that has the code: addresses of others say nothing. */
static int look_into(struct dl_phdr_info *object, size_t size, void *user)
{
	struct search *s = user;
	bool has_code = false;

	(void)size;
	for (size_t i = 0; i < object->dlpi_phnum; i++)
		has_code |= room_in(object, i, s->code) > 0;
	for (size_t i = 0; has_code && i < object->dlpi_phnum && !s->room; i++)
		s->room = room_in(object, i, s->data);
	return has_code;
}

/* The kernel's list of segments is asked, as reading a pointer that leads nowhere ends the
 * process. */
size_t mpk_segments_room(const void *code, const void *data)
{
	struct search s = { (uintptr_t)code, (uintptr_t)data, 0 };

	(void)dl_iterate_phdr(look_into, &s);
	return s.room;
}
