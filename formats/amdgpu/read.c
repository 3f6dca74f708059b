/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the head of AMD GPU code objects: version, processor and features, and what runs where
 *
 * The numbers are LLVM's (docs/AMDGPUUsage.rst, "ELF Code Object", EF_AMDGPU_MACH and feature
 * flags), and so are the rules for generic processors. Which kernels there are is in metadata.c.
 */
#include "amdgpu/amdgpu.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"

enum {
	HEADER_BYTES = 64,
	ABI_V3 = 1,   /* e_ident[EI_ABIVERSION] counts from version 2 of code objects */
	ABI_LAST = 4, /* version 6 */
	V3_XNACK = 0x100,
	V3_SRAMECC = 0x200,
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

/* Two bits: 0 unsupported, 1 any, 2 off, 3 on. Only the last two are part of a target's name. */
static const char *feature(uint32_t bits, const char *off, const char *on)
{
	return bits == 2 ? off : bits == 3 ? on : "";
}

/* Version 3 has a bit for each that is on, later ones two bits; version 2 says it elsewhere. */
static void put_features(uint32_t flags, uint8_t abi, char *out, size_t size)
{
	const char *sramecc = "", *xnack = "";

	if (abi > ABI_V3) {
		sramecc = feature(flags >> 10 & 3, ":sramecc-", ":sramecc+");
		xnack = feature(flags >> 8 & 3, ":xnack-", ":xnack+");
	} else if (abi == ABI_V3) {
		sramecc = flags & V3_SRAMECC ? ":sramecc+" : "";
		xnack = flags & V3_XNACK ? ":xnack+" : "";
	}
	(void)snprintf(out, size, "%s%s", sramecc, xnack);
}

/* A processor that is newer than the table is shown by its number. */
static void set_target(uint32_t flags, uint8_t abi, char out[MPK_AMDGPU_TARGET])
{
	uint32_t number = flags & 0xff, at = number - 0x20;
	const char *name =
		number >= 0x20 && at < MPK_ARRAY_COUNT(processors) ? processors[at] : NULL;
	char text[16], features[24];

	if (!name)
		(void)snprintf(text, sizeof text, "processor 0x%x", number);
	put_features(flags, abi, features, sizeof features);
	(void)snprintf(out, MPK_AMDGPU_TARGET, "%s%s", name ? name : text, features);
}

/* By the machine in the header alone: a code object that is damaged is still one. */
bool mpk_amdgpu_is(struct mpk_span bytes)
{
	return bytes.len >= 20 && mpk_span_starts(bytes, "\177ELF") &&
	       mpk_load_u16(bytes.data + 18) == MPK_AMDGPU_EM;
}

/* Version 0 for what is newer than the versions known: the target is shown all the same. */
enum mpk_code mpk_amdgpu_read_head(struct mpk_span bytes, struct mpk_amdgpu *out,
				   struct mpk_error *err)
{
	uint8_t abi;

	if (bytes.len < HEADER_BYTES || !mpk_amdgpu_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 0,
				       "no AMD GPU code object, or one that was cut off");
	abi = bytes.data[8];
	*out = (struct mpk_amdgpu){ .version = abi <= ABI_LAST ? abi + 2U : 0 };
	set_target(mpk_load_u32(bytes.data + 48), abi, out->target);
	return MPK_OK;
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

/* The lists have a blank at both ends, so that "gfx90" is not found in "gfx900". */
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

/* A feature that either side leaves open fits both ways. */
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
