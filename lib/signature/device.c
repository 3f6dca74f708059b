/* SPDX-License-Identifier: Apache-2.0 */
/* Which device a function expects its tensors on. Prototypes do not say, but the message for a tensor that is
 * elsewhere ends in the device's name, a string of its own that the code points at. */
#include <string.h>

#include "signature/unit.h"

enum { NEAR_BYTES = 1 << 18, PLACES_MAX = 32 };

/* Where the names of devices stand. */
struct mpk_unit_names {
	struct place {
		int32_t device;
		uint64_t address;
	} items[PLACES_MAX];
	size_t count;
	const uint8_t *begin, *end; /* of the bytes that were searched */
};

static void collect(struct mpk_unit_names *names, const struct mpk_constants *c,
		    struct mpk_span where, int32_t device)
{
	const char *name = mpk_dl_device_name(device);
	size_t n = name ? strlen(name) + 1 : 0; /* with its NUL */
	const uint8_t *at = where.data, *end = where.data + where.len;

	while (n && names->count < PLACES_MAX && at < end &&
	       (at = memmem(at, (size_t)(end - at), name, n))) {
		names->items[names->count++] =
			(struct place){ device, c->address + (uint64_t)(at - c->bytes.data) };
		at += n;
	}
}

/* Compilers keep the strings of a unit together; what is far away belongs to other code. */
static void search(struct mpk_unit *u, const uint8_t *near)
{
	static const int32_t devices[] = {
#define DEVICE(name, number, text) number,
		MPK_DL_DEVICES(DEVICE)
#undef DEVICE
	};

	u->devices->count = 0;
	for (size_t i = 0; i < u->constant_count; i++) {
		const struct mpk_constants *c = &u->constants[i];
		size_t before = (size_t)(near - c->bytes.data), behind;

		if (near < c->bytes.data || before >= c->bytes.len)
			continue;
		behind = c->bytes.len - before;
		before = before < NEAR_BYTES ? before : NEAR_BYTES;
		behind = behind < NEAR_BYTES ? behind : NEAR_BYTES;
		u->devices->begin = near - before / 2;
		u->devices->end = near + behind / 2;
		for (size_t k = 0; k < MPK_ARRAY_COUNT(devices); k++)
			collect(u->devices, c, mpk_span_of(near - before, before + behind),
				devices[k]);
	}
}

int32_t mpk_unit_device(struct mpk_unit *u, const struct mpk_image_function *f, const uint8_t *near)
{
	int32_t one = 0;

	if (!u->devices)
		u->devices = mpk_arena_alloc(u->arena, sizeof *u->devices);
	if (!u->devices)
		return 0;
	if ((near < u->devices->begin || near >= u->devices->end) &&
	    mpk_unit_spend(u, (uint64_t)2 * NEAR_BYTES))
		search(u, near);
	for (size_t i = 0; i < u->devices->count; i++) {
		const struct place *p = &u->devices->items[i];

		if (!mpk_unit_spend(u, f->bytes) ||
		    !mpk_elf_code_names(u->elf, f->address, f->bytes, p->address))
			continue;
		if (one && one != p->device)
			return 0;
		one = p->device;
	}
	return one;
}
