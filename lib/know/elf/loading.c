/* SPDX-License-Identifier: Apache-2.0 */
/* What glibc refuses before it looks at a file's symbols. */
#include <inttypes.h>

#include "elf/dynamic.h"
#include "elf/linking.h"

enum mpk_code mpk_linking_check_header(const struct mpk_elf *e, struct mpk_error *err)
{
	const uint8_t *ident = e->header.e_ident;
	/* of ELFOSABI_GNU, glibc's elf/dl-load.c knows versions up to that of absolute symbols */
	uint8_t known = ident[EI_OSABI] == ELFOSABI_GNU ? 3 : 0;

	if (ident[EI_OSABI] != ELFOSABI_SYSV && ident[EI_OSABI] != ELFOSABI_GNU)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + EI_OSABI,
				       "the ELF header names a system (%u) that is not Linux",
				       ident[EI_OSABI]);
	if (ident[EI_ABIVERSION] > known)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file", e->base + EI_ABIVERSION,
			"the ELF header names a version of the system's interface (%u) "
			"that no dynamic linker knows",
			ident[EI_ABIVERSION]);
	for (size_t i = EI_PAD; i < EI_NIDENT; i++)
		if (ident[i])
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + i,
					       "the padding of the ELF header is not zero");
	if (e->header.e_version != EV_CURRENT)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + 20,
				       "the ELF header has version %" PRIu32 ", not 1",
				       (uint32_t)e->header.e_version);
	return MPK_OK;
}

/* --- variables of threads ------------------------------------------------------------------ */

struct wanted {
	const struct mpk_symtab *symbols;
	bool own;
};

/* Those of other libraries are where these are. */
static void take(void *arg, const struct mpk_relocation *r)
{
	struct wanted *w = arg;
	struct mpk_symbol s;

	if (r->is_static_tls)
		w->own |= !r->symbol ||
			  (r->symbol < w->symbols->count &&
			   mpk_symtab_get(w->symbols, r->symbol, &s, NULL) == MPK_OK && s.defined);
}

enum mpk_code mpk_linking_static_tls(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_linking_tls *out, struct mpk_error *err)
{
	struct wanted w = { .symbols = symbols };
	GElf_Phdr p;

	*out = (struct mpk_linking_tls){ 0 };
	MPK_TRY(mpk_linking_relocations(l, take, &w, err));
	for (size_t i = 0; w.own && mpk_elf_segment(l->elf, i, &p); i++)
		if (p.p_type == PT_TLS)
			*out = (struct mpk_linking_tls){ p.p_memsz, p.p_align };
	return MPK_OK;
}
