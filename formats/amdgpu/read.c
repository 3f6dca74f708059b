/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the header of AMD GPU code objects: version, processor and features; which code runs on
 * which device
 *
 * The numbers are LLVM's (docs/AMDGPUUsage.rst, "ELF Code Object", EF_AMDGPU_MACH and feature
 * flags) and are listed in processors.def, with the rules for generic processors. metadata.c reads
 * the kernels. */
#include "amdgpu/amdgpu.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"

enum {
	HEADER_BYTES = 64,
	ABI_V3 = 1,   /* e_ident[EI_ABIVERSION] of code object version 3; it is lower by 2 */
	ABI_LAST = 4, /* of version 6 */
	V3_XNACK = 0x100,
	V3_SRAMECC = 0x200,
};

struct processor {
	unsigned number;
	const char *name, *generic;
};

static const struct processor processors[] = {
#define MPK_AMDGPU_PROCESSOR(number_, name_, generic_, llvm_) { number_, name_, generic_ },
#include "amdgpu/processors.def"
#undef MPK_AMDGPU_PROCESSOR
};

static const struct processor *processor_of(uint32_t number)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(processors); i++)
		if (processors[i].number == number)
			return &processors[i];
	return NULL;
}

static const struct processor *processor_named(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(processors); i++)
		if (mpk_span_is(name, processors[i].name))
			return &processors[i];
	return NULL;
}

const char *mpk_amdgpu_processor(size_t i)
{
	return i < MPK_ARRAY_COUNT(processors) ? processors[i].name : NULL;
}

/* Reads two bits: 0 unsupported, 1 any, 2 off, 3 on. Only off and on are part of a target's name. */
static const char *feature(uint32_t bits, const char *off, const char *on)
{
	return bits == 2 ? off : bits == 3 ? on : "";
}

/* Version 3 has one bit for each feature that is on; later versions have two bits. Version 2 stores
 * features elsewhere. */
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

/* A processor that is not in the table is shown by its number. */
static void set_target(uint32_t flags, uint8_t abi, char out[MPK_AMDGPU_TARGET])
{
	const struct processor *p = processor_of(flags & 0xff);
	char text[16], features[24];

	(void)snprintf(text, sizeof text, "processor 0x%x", flags & 0xff);
	put_features(flags, abi, features, sizeof features);
	(void)snprintf(out, MPK_AMDGPU_TARGET, "%s%s", p ? p->name : text, features);
}

/* Tests only the machine in the header: a damaged code object is still recognised. */
bool mpk_amdgpu_is(struct mpk_span bytes)
{
	return bytes.len >= 20 && mpk_span_starts(bytes, "\177ELF") &&
	       mpk_load_u16(bytes.data + 18) == MPK_AMDGPU_EM;
}

/* A version later than the known ones is 0; the target is shown all the same. */
enum mpk_code mpk_amdgpu_read_head(struct mpk_span bytes, struct mpk_amdgpu *out,
				   struct mpk_error *err)
{
	uint8_t abi;

	if (bytes.len < HEADER_BYTES || !mpk_amdgpu_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 0,
				       "no AMD GPU code object, or one that was cut off");
	abi = bytes.data[MPK_AMDGPU_ABI_AT];
	*out = (struct mpk_amdgpu){ .version = abi <= ABI_LAST ? abi + 2U : 0 };
	set_target(mpk_load_u32(bytes.data + 48), abi, out->target);
	return MPK_OK;
}

/* --- compatibility ------------------------------------------------------------------------ */

static bool same_processor(struct mpk_span target, struct mpk_span device)
{
	const struct processor *p = processor_named(device);

	return mpk_span_equal(target, device) ||
	       (p && p->generic[0] && mpk_span_is(target, p->generic));
}

/* Returns '+' or '-'; NUL: the target does not name the feature. */
static char sign_of(const char *target, const char *name)
{
	const char *at = strstr(target, name);

	return at ? at[strlen(name)] : '\0';
}

/* A feature that one side does not name fits both. */
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
