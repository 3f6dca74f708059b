/* SPDX-License-Identifier: Apache-2.0 */
/* For libraries without section headers (sstrip, some packers), which a loader does not need. */
#include "elf/dynamic.h"

#include "base/num.h"

enum mpk_code mpk_dynamic_open(const struct mpk_elf *e, Elf_Data **out, size_t *count,
			       struct mpk_error *err)
{
	GElf_Phdr p;

	*count = 0;
	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_DYNAMIC && p.p_filesz)
			return mpk_elf_chunk(e,
					     &(struct mpk_elf_table){ p.p_offset, p.p_filesz,
								      ELF_T_DYN,
								      "dynamic section" },
					     out, count, err);
	return MPK_OK;
}

bool mpk_dynamic_find(Elf_Data *dynamic, size_t count, int64_t tag, uint64_t *value)
{
	GElf_Dyn d;

	for (size_t i = 0; i < count && gelf_getdyn(dynamic, (int)i, &d); i++) {
		if (d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == tag) {
			*value = d.d_un.d_val;
			return true;
		}
	}
	return false;
}

enum mpk_code mpk_dynamic_strings(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				  struct mpk_span *out, struct mpk_error *err)
{
	uint64_t address, size, off;
	struct mpk_span rest;

	if (!mpk_dynamic_find(dynamic, count, DT_STRTAB, &address) ||
	    !mpk_dynamic_find(dynamic, count, DT_STRSZ, &size)) {
		*out = (struct mpk_span){ 0 };
		return MPK_OK;
	}
	if (!mpk_elf_at_address(e, address, &rest, &off) || !mpk_span_sub(rest, 0, size, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base,
				       "the dynamic string table lies outside the file");
	*out = mpk_elf_strings(*out);
	return MPK_OK;
}

/* DT_HASH: nbucket, nchain; there is one chain entry a symbol. s390x and Alpha have
 * entries of 8 bytes. */
static bool count_sysv(const struct mpk_elf *e, uint64_t off, uint64_t *out)
{
	uint16_t machine = e->header.e_machine;
	bool wide = e->header.e_ident[EI_CLASS] == ELFCLASS64 &&
		    (machine == EM_S390 || machine == EM_ALPHA);
	uint32_t narrow;

	if (wide)
		return mpk_elf_u64(e, off + 8, out);
	if (!mpk_elf_u32(e, off + 4, &narrow))
		return false;
	*out = narrow;
	return true;
}

/* DT_GNU_HASH: the last symbol is the end of the chain that begins highest. */
static bool count_gnu(const struct mpk_elf *e, uint64_t off, uint64_t *out)
{
	uint64_t word = mpk_elf_word_bytes(e);
	uint32_t buckets, first, bloom, bucket, hash;
	uint64_t last = 0, at;

	if (!mpk_elf_u32(e, off, &buckets) || !mpk_elf_u32(e, off + 4, &first) ||
	    !mpk_elf_u32(e, off + 8, &bloom))
		return false;
	at = off + 16 + word * bloom; /* off is within the file, bloom below 2^32 */
	for (uint32_t i = 0; i < buckets; i++, at += 4) {
		if (!mpk_elf_u32(e, at, &bucket))
			return false;
		last = bucket > last ? bucket : last;
	}
	*out = first;
	if (last < first)
		return true;
	at += 4 * (last - first);
	do {
		if (!mpk_elf_u32(e, at, &hash))
			return false;
		at += 4;
		last++;
	} while (!(hash & 1));
	*out = last;
	return true;
}

enum mpk_code mpk_dynamic_symbol_count(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				       size_t *out, struct mpk_error *err)
{
	uint64_t address, off, symbols = 0;
	struct mpk_span rest;
	bool known = false;

	if (mpk_dynamic_find(dynamic, count, DT_HASH, &address) &&
	    mpk_elf_at_address(e, address, &rest, &off))
		known = count_sysv(e, off, &symbols);
	if (!known && mpk_dynamic_find(dynamic, count, DT_GNU_HASH, &address) &&
	    mpk_elf_at_address(e, address, &rest, &off))
		known = count_gnu(e, off, &symbols);
	if (!known || symbols > e->bytes.len)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file", e->base,
			"no valid hash table tells how many dynamic symbols there are");
	*out = (size_t)symbols;
	return MPK_OK;
}
