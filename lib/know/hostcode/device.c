/* SPDX-License-Identifier: Apache-2.0 */
/* Which device a function expects its tensors on. Prototypes do not say, but the message for a tensor that is
 * elsewhere ends in the device's name, a string of its own that the code points at. */
#include <string.h>

#include "hostcode/internal/hostcode.h"

enum { NEAR_BYTES = 1 << 18, PLACES_MAX = 32, MESSAGE_MAX = 512, DEVICE_MAX = 32 };

/* Where the names of devices stand. */
struct mpk_unit_names {
	struct place {
		int32_t device;
		uint64_t address;
	} items[PLACES_MAX];
	size_t count;
	const uint8_t *begin, *end; /* of the bytes that were searched */
	bool knows_told;            /* what follows was looked for */
	struct told {
		struct mpk_span function;
		int32_t device;
	} *told; /* in the unit's arena */
	size_t told_count;
};

static void hostcode_device_collect(struct mpk_unit_names *names, const struct mpk_constants *c,
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
static void hostcode_device_search(struct mpk_unit *u, const uint8_t *near)
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
			hostcode_device_collect(u->devices, c, where, devices[k]);
	}
}

/* --- what launch functions of mpack say ------------------------------------------------------ */

/* The next message such as "scale: argument 'in' must be on opencl, is on %s", from *at on. */
static bool next_told(struct mpk_span s, size_t *at, struct told *out)
{
	static const char mark[] = "' must be on ", behind[] = ": argument '", end[] = ", is on ";
	const uint8_t *found;

	while (*at < s.len && (found = memmem(s.data + *at, s.len - *at, mark, sizeof mark - 1))) {
		size_t pos = (size_t)(found - s.data),
		       from = pos < MESSAGE_MAX ? 0 : pos - MESSAGE_MAX;
		const uint8_t *nul = memrchr(s.data + from, 0, pos - from), *colon, *comma;
		const uint8_t *begin = nul ? nul + 1 : s.data + from,
			      *name = found + sizeof mark - 1;
		size_t left = s.len - (size_t)(name - s.data);

		*at = pos + 1;
		colon = memmem(begin, (size_t)(found - begin), behind, sizeof behind - 1);
		comma = memmem(name, left < DEVICE_MAX ? left : DEVICE_MAX, end, sizeof end - 1);
		if (!colon || !comma)
			continue;
		out->function = mpk_span_of(begin, (size_t)(colon - begin));
		if (mpk_dl_device_find(mpk_span_of(name, (size_t)(comma - name)), &out->device))
			return true;
	}
	return false;
}

/* Looked for once, in all of the file: a search for each function would take the time of all. */
static enum mpk_code read_told(struct mpk_unit *u, struct mpk_error *err)
{
	struct mpk_unit_names *names = u->devices;
	struct told t;
	size_t count = 0, at;

	names->knows_told = true;
	for (size_t i = 0; i < u->constant_count; i++) {
		if (!mpk_unit_spend(u, u->constants[i].bytes.len))
			return MPK_OK;
		for (at = 0; next_told(u->constants[i].bytes, &at, &t);)
			count++;
	}
	if (!count)
		return MPK_OK;
	names->told = mpk_arena_array(u->arena, count, sizeof *names->told);
	MPK_TRY_ALLOC(names->told, err);
	for (size_t i = 0; i < u->constant_count; i++)
		for (at = 0; next_told(u->constants[i].bytes, &at, &t);)
			names->told[names->told_count++] = t;
	return MPK_OK;
}

static int32_t told(struct mpk_unit *u, const struct mpk_image_function *f)
{
	const struct mpk_unit_names *names = u->devices;

	if (!names->told || !mpk_unit_spend(u, names->told_count))
		return 0;
	for (size_t i = 0; i < names->told_count; i++) {
		struct mpk_span alias = mpk_unit_alias(u, mpk_span_str(f->name));

		if (mpk_span_is(names->told[i].function, f->name) ||
		    (alias.len && mpk_span_equal(names->told[i].function, alias)))
			return names->told[i].device;
	}
	return 0;
}

/* --- what other code names ------------------------------------------------------------------- */

static int32_t named(struct mpk_unit *u, const struct mpk_image_function *f, const uint8_t *near)
{
	int32_t one = 0;

	if ((near < u->devices->begin || near >= u->devices->end) &&
	    mpk_unit_spend(u, (uint64_t)2 * NEAR_BYTES))
		hostcode_device_search(u, near);
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

enum mpk_code mpk_unit_device(struct mpk_unit *u, const struct mpk_image_function *f,
			      const uint8_t *near, int32_t *device, struct mpk_error *err)
{
	if (!u->devices)
		u->devices = mpk_arena_alloc(u->arena, sizeof *u->devices);
	MPK_TRY_ALLOC(u->devices, err);
	if (!u->devices->knows_told)
		MPK_TRY(read_told(u, err));
	*device = told(u, f);
	if (!*device)
		*device = named(u, f, near);
	return MPK_OK;
}
