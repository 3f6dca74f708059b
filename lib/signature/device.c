/* SPDX-License-Identifier: Apache-2.0 */
/* Which device a function expects its tensors on. Prototypes do not say, but the message for a tensor that is
 * elsewhere ends in the device's name, a string of its own that the code points at. */
#include <string.h>

#include "signature/unit.h"

enum { NEAR_BYTES = 1 << 18, PLACES_MAX = 32, MESSAGE_MAX = 512 };

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

/* The constants around an address, as far as one unit's reach. */
static struct mpk_span around(const struct mpk_constants *c, const uint8_t *near)
{
	size_t before = (size_t)(near - c->bytes.data), behind;

	if (near < c->bytes.data || before >= c->bytes.len)
		return (struct mpk_span){ 0 };
	behind = c->bytes.len - before;
	before = before < NEAR_BYTES ? before : NEAR_BYTES;
	behind = behind < NEAR_BYTES ? behind : NEAR_BYTES;
	return mpk_span_of(near - before, before + behind);
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
		struct mpk_span where = around(c, near);

		if (!where.len)
			continue;
		u->devices->begin = near - (near - where.data) / 2;
		u->devices->end = near + (where.data + where.len - near) / 2;
		for (size_t k = 0; k < MPK_ARRAY_COUNT(devices); k++)
			collect(u->devices, c, where, devices[k]);
	}
}

/* What stands between two texts in the first string that begins as told and has both: "opencl". */
static struct mpk_span between(struct mpk_span where, const char *begin, const char *from,
			       const char *to)
{
	const uint8_t *at = where.data, *end = where.data + where.len, *to_at;
	struct mpk_span s;

	for (; (at = memmem(at, (size_t)(end - at), begin, strlen(begin))); at++) {
		const uint8_t *word = NULL;

		if (mpk_span_text(where, (uint64_t)(at - where.data), MESSAGE_MAX, &s))
			word = memmem(s.data, s.len, from, strlen(from));
		if (!word)
			continue;
		word += strlen(from);
		to_at = memmem(word, (size_t)(s.data + s.len - word), to, strlen(to));
		if (to_at)
			return mpk_span_of(word, (size_t)(to_at - word));
	}
	return (struct mpk_span){ 0 };
}

/* Launch functions of mpack say it in one message: "scale: argument 'in' must be on opencl, is on %s". */
static int32_t told(struct mpk_unit *u, const struct mpk_image_function *f, const uint8_t *near)
{
	const char *begin = mpk_arena_printf(u->arena, "%s: argument '", f->name);
	int32_t device = 0;

	for (size_t i = 0; begin && !device && i < u->constant_count; i++) {
		struct mpk_span where = around(&u->constants[i], near);

		if (where.len && mpk_unit_spend(u, where.len))
			(void)mpk_dl_device_find(between(where, begin, "' must be on ", ", is on "),
						 &device);
	}
	return device;
}

int32_t mpk_unit_device(struct mpk_unit *u, const struct mpk_image_function *f, const uint8_t *near)
{
	int32_t one = told(u, f, near);

	if (one)
		return one;
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
