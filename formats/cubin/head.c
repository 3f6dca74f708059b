/* SPDX-License-Identifier: Apache-2.0 */
/* head.c - what holds for a cubin as a whole: its architecture, and whether it must be linked
 *
 * Apart from read.c, so that who asks which devices a file is for needs no reader of kernels.
 */
#include "base/cursor.h"
#include "cubin/cubin.h"
#include "cubin/elf.h"
#include "cubin/internal/cubin.h"

enum {
	OSABI_V2 = 0x41, /* CUDA 13; 0x33 before */
	FLAG_ARCH_SPECIFIC = 0x800,
};

enum { READ_FACTOR = 16, READ_BASE = 65536 };

bool mpk_cubin_is(struct mpk_span bytes)
{
	return bytes.len >= 20 && mpk_span_starts(bytes, "\177ELF") &&
	       mpk_load_u16(bytes.data + 18) == MPK_CUBIN_EM_CUDA;
}

enum mpk_code mpk_cubin_spend(const struct mpk_cubin_elf *elf, uint64_t *spent, uint64_t bytes,
			      struct mpk_error *err)
{
	if (bytes > READ_FACTOR * (uint64_t)elf->bytes.len + READ_BASE - *spent)
		return mpk_fail(
			err, MPK_E_CORRUPT,
			"cubin: names or sections overlap so that they are %u times the file",
			(unsigned)READ_FACTOR);
	*spent += bytes;
	return MPK_OK;
}

static void take_header(const struct mpk_cubin_elf *elf, struct mpk_cubin *out)
{
	out->abi = elf->abi;
	out->relocatable = elf->type == MPK_CUBIN_ET_REL;
	if (elf->osabi == OSABI_V2) {
		out->sm = elf->flags >> 8 & 0xff;
	} else {
		out->sm = elf->flags & 0xff;
		out->arch_specific = elf->flags & FLAG_ARCH_SPECIFIC;
	}
}

static enum mpk_code take_compat(struct mpk_cursor c, struct mpk_cubin *out, struct mpk_error *err)
{
	struct mpk_cubin_attribute a;

	while (mpk_cursor_left(&c)) {
		MPK_TRY(mpk_cubin_attribute_next(&c, &a, err));
		if (a.id == MPK_CUBIN_COMPAT_CLASS)
			out->arch_specific = a.value == 1;
	}
	return MPK_OK;
}

enum mpk_code mpk_cubin_read_head(struct mpk_span bytes, struct mpk_cubin *out,
				  struct mpk_error *err)
{
	struct mpk_cubin cubin = { 0 };
	struct mpk_cubin_elf elf;
	uint64_t spent = 0;

	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &elf, err));
	take_header(&elf, &cubin);
	for (size_t i = 0; i < elf.section_count; i++) {
		struct mpk_cubin_section s;
		struct mpk_span data;

		MPK_TRY(mpk_cubin_elf_section(&elf, i, &s, err));
		if (!mpk_span_is(s.name, ".nv.compat"))
			continue;
		MPK_TRY(mpk_cubin_elf_data(&elf, &s, &data, err));
		MPK_TRY(mpk_cubin_spend(&elf, &spent, data.len, err));
		MPK_TRY(take_compat(mpk_cursor_of(data, s.off, "payload"), &cubin, err));
	}
	*out = cubin;
	return MPK_OK;
}
