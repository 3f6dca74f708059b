/* SPDX-License-Identifier: Apache-2.0 */
#include "amdgpu/amdgpu.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"

enum {
	HEADER_BYTES = 64,
	EM_AMDGPU = 224,
	ABI_FEATURES =
		2, /* code object V4: from then on e_flags has the features in two bits each */
	ENTRY_BYTES = 24, /* of a bundle, without its name */
};

/* EF_AMDGPU_MACH_AMDGCN_*, from 0x20 on; NULL: reserved */
static const char *const processors[] = {
	"gfx600",
	"gfx601",
	"gfx700",
	"gfx701",
	"gfx702",
	"gfx703",
	"gfx704",
	NULL,
	"gfx801",
	"gfx802",
	"gfx803",
	"gfx810",
	"gfx900",
	"gfx902",
	"gfx904",
	"gfx906",
	"gfx908",
	"gfx909",
	"gfx90c",
	"gfx1010",
	"gfx1011",
	"gfx1012",
	"gfx1030",
	"gfx1031",
	"gfx1032",
	"gfx1033",
	"gfx602",
	"gfx705",
	"gfx805",
	"gfx1035",
	"gfx1034",
	"gfx90a",
	"gfx940",
	"gfx1100",
	"gfx1013",
	"gfx1150",
	"gfx1103",
	"gfx1036",
	"gfx1101",
	"gfx1102",
	"gfx1200",
	NULL,
	"gfx1151",
	"gfx941",
	"gfx942",
	NULL,
	"gfx1201",
	"gfx950",
	NULL,
	"gfx9-generic",
	"gfx10-1-generic",
	"gfx10-3-generic",
	"gfx11-generic",
	"gfx1152",
	NULL,
	NULL,
	"gfx1153",
	"gfx12-generic",
	NULL,
	NULL,
	NULL,
	NULL,
	NULL,
	"gfx9-4-generic",
};

static const char *feature(uint32_t bits, const char *off, const char *on)
{
	return bits == 2 ? off : bits == 3 ? on : "";
}

static void set_target(uint32_t flags, uint8_t abi, struct mpk_amdgpu_object *out)
{
	uint32_t number = flags & 0xff, at = number - 0x20;
	const char *name =
		number >= 0x20 && at < MPK_ARRAY_COUNT(processors) ? processors[at] : NULL;
	bool features = abi >= ABI_FEATURES;
	char text[16];

	if (!name)
		(void)snprintf(text, sizeof text, "processor 0x%x", number);
	(void)snprintf(out->target, sizeof out->target, "%s%s%s", name ? name : text,
		       features ? feature(flags >> 10 & 3, ":sramecc-", ":sramecc+") : "",
		       features ? feature(flags >> 8 & 3, ":xnack-", ":xnack+") : "");
}

static enum mpk_code read_object(struct mpk_span bytes, struct mpk_arena *arena,
				 const struct mpk_amdgpu_object **out, size_t *count,
				 struct mpk_error *err)
{
	struct mpk_amdgpu_object *object = mpk_arena_alloc(arena, sizeof *object);

	MPK_TRY_ALLOC(object, err);
	if (bytes.len < HEADER_BYTES || !mpk_span_starts(bytes, "\177ELF") ||
	    mpk_load_u16(bytes.data + 18) != EM_AMDGPU)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 0,
				       "no AMD GPU code object, or one that was cut off");
	set_target(mpk_load_u32(bytes.data + 48), bytes.data[8], object);
	*out = object;
	*count = 1;
	return MPK_OK;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+": what follows the triple, which has four dashes and
 * may end with one more */
static struct mpk_span target_of(struct mpk_span name)
{
	const char *gfx = name.len ? memmem(name.data, name.len, "-gfx", 4) : NULL;

	if (!gfx || mpk_span_starts(name, "host-"))
		return (struct mpk_span){ 0 };
	return mpk_span_of(gfx + 1, name.len - (size_t)(gfx + 1 - (const char *)name.data));
}

static enum mpk_code read_bundle(struct mpk_span bytes, struct mpk_arena *arena,
				 const struct mpk_amdgpu_object **out, size_t *count,
				 struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");
	struct mpk_span magic, name, target, code;
	struct mpk_amdgpu_object *list;
	uint64_t off, size;
	size_t entries, n = 0;

	MPK_TRY(mpk_read_bytes(&c, "bundle: magic", strlen(BUNDLE), &magic, err));
	MPK_TRY(mpk_read_count(&c, "bundle: entries", ENTRY_BYTES, &entries, err));
	list = mpk_arena_array(arena, entries, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < entries; i++) {
		MPK_TRY(mpk_read_u64(&c, "bundle: offset", &off, err));
		MPK_TRY(mpk_read_u64(&c, "bundle: size", &size, err));
		MPK_TRY(mpk_read_str(&c, "bundle: name", &name, err));
		if (!mpk_span_sub(bytes, off, size, &code))
			return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off,
					       "bundle: entry %zu lies beyond the end", i);
		target = target_of(name);
		if (target.len && target.len < sizeof list->target)
			memcpy(list[n++].target, target.data, target.len);
	}
	*out = list;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_amdgpu_read(struct mpk_span bytes, struct mpk_arena *arena,
			      const struct mpk_amdgpu_object **out, size_t *count,
			      struct mpk_error *err)
{
	return (mpk_span_starts(bytes, BUNDLE) ? read_bundle : read_object)(bytes, arena, out,
									    count, err);
}

/* --- compatibility ------------------------------------------------------------------------ */

/* "Generic processors": which ones code for a generic one runs on. */
static const struct {
	const char *generic, *processors;
} generics[] = {
	{ "gfx9-generic", " gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c " },
	{ "gfx9-4-generic", " gfx940 gfx941 gfx942 gfx950 " },
	{ "gfx10-1-generic", " gfx1010 gfx1011 gfx1012 gfx1013 " },
	{ "gfx10-3-generic", " gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 " },
	{ "gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 " },
	{ "gfx12-generic", " gfx1200 gfx1201 " },
};

static bool same_processor(struct mpk_span target, struct mpk_span device)
{
	char word[MPK_AMDGPU_TARGET + 2];

	if (mpk_span_equal(target, device))
		return true;
	(void)snprintf(word, sizeof word, " %.*s ", (int)device.len, (const char *)device.data);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(generics); i++)
		if (mpk_span_is(target, generics[i].generic))
			return strstr(generics[i].processors, word) != NULL;
	return false;
}

/* '+', '-', or NUL when the target does not say. */
static char sign_of(const char *target, const char *name)
{
	const char *at = strstr(target, name);

	return at ? at[strlen(name)] : '\0';
}

bool mpk_amdgpu_runs(const char *target, const char *device)
{
	static const char *const features[] = { ":xnack", ":sramecc" };

	if (!same_processor(mpk_span_of(target, strcspn(target, ":")),
			    mpk_span_of(device, strcspn(device, ":"))))
		return false;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(features); i++) {
		char wanted = sign_of(target, features[i]), got = sign_of(device, features[i]);

		if (wanted && got && wanted != got)
			return false;
	}
	return true;
}
