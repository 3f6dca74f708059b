/* SPDX-License-Identifier: Apache-2.0 */
/* extend.c - replaces the stub at the end of the loaded part of a file by a longer blob
 *
 * All conditions are checked before a byte changes, so that the caller can link the whole object
 * after MPK_E_UNSUPPORTED. Under these conditions GNU ld makes the same file from the whole object.
 * Before a condition is relaxed, the result must be compared with GNU ld's again. */
#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"
#include "elf/edit.h"
#include "elf/internal/elf.h"

struct plan {
	const struct mpk_patch *p;
	struct mpk_patch_symbol stub;
	uint64_t added; /* content bytes - stub bytes */
	uint64_t load;  /* file offset of the segment's header; 0: an object */
	GElf_Phdr segment;
};

/* A section after the blob, or the table of section headers. */
struct trailing {
	size_t index;
	uint64_t off, size, align;
};

/* --- the conditions -------------------------------------------------------------- */

/* Refuses symbols after the stub, such as _end: they would move, and code that uses them would have
 * to change. */
static enum mpk_code check_symbol(void *data, const struct mpk_symbol *s, uint64_t at,
				  struct mpk_error *err)
{
	const struct plan *plan = data;
	bool near = s->section == plan->stub.section || (plan->p->linked && s->defined);

	(void)at;
	if (near && s->value > plan->stub.value)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "another symbol lies behind the blob");
	return MPK_OK;
}

/* Finds the one PT_LOAD that ends with the section; no other segment may reach beyond the section's
 * beginning. */
static enum mpk_code find_segment(const struct mpk_patch *p, struct plan *plan,
				  struct mpk_error *err)
{
	const GElf_Shdr *home = &plan->stub.home;
	GElf_Phdr s;

	for (size_t i = 0; mpk_elf_segment(&p->elf, i, &s); i++) {
		uint64_t end = s.p_offset + s.p_filesz, top = s.p_vaddr + s.p_memsz;

		if (s.p_memsz == 0 || (end <= home->sh_offset && top <= home->sh_addr))
			continue;
		if (plan->load || s.p_type != PT_LOAD || end != home->sh_offset + home->sh_size ||
		    top != home->sh_addr + home->sh_size)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"the blob is not the end of the last segment");
		plan->load = mpk_patch_segment_at(p, i);
		plan->segment = s;
	}
	if (!plan->load)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is in no segment");
	return MPK_OK;
}

/* Checks sections and segments; an object has sections only. */
static enum mpk_code check_layout(const struct mpk_patch *p, struct plan *plan,
				  struct mpk_error *err)
{
	/* The stub must be read-only, at the end of its section, and nothing loaded after it: then the blob
	 * can grow without moving an address. */
	const struct mpk_patch_symbol *stub = &plan->stub;
	const GElf_Shdr *home = &stub->home;
	uint64_t end = stub->value - home->sh_addr + stub->size;

	if (home->sh_type != SHT_PROGBITS ||
	    (home->sh_flags & (SHF_ALLOC | SHF_WRITE)) != SHF_ALLOC)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is not in read-only data");
	if (stub->value < home->sh_addr || stub->size == 0 || end != home->sh_size)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the blob is not the last thing in its section");
	for (size_t i = 1; p->linked && i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		if (i != stub->section && (s.sh_flags & SHF_ALLOC) && !(s.sh_flags & SHF_TLS) &&
		    s.sh_addr + s.sh_size > home->sh_addr)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"section %zu is loaded behind the blob", i);
	}

	MPK_TRY(mpk_patch_symbols(p, check_symbol, plan, err));
	if (p->elf.header.e_shoff < plan->stub.home.sh_offset + plan->stub.home.sh_size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "section headers precede the blob");
	return p->linked ? find_segment(p, plan, err) : MPK_OK;
}

/* --- moving what follows --------------------------------------------------------- */

/* Sections without bytes may share an offset: then their order in the table decides. */
MPK_ORDER_BY2(by_offset, struct trailing, off, index)

/* Lists what follows the blob, by offset; the section headers come last.
 * @list    has space for every section */
static size_t collect_trailing(const struct mpk_patch *p, uint64_t end, struct trailing *list)
{
	size_t count = 0;

	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		if (mpk_patch_has_bytes(&s) && s.sh_offset >= end)
			list[count++] = (struct trailing){ i, s.sh_offset, s.sh_size,
							   s.sh_addralign ? s.sh_addralign : 1 };
	}
	qsort(list, count, sizeof *list, by_offset);
	list[count++] = (struct trailing){ .off = p->elf.header.e_shoff,
					   .size = p->elf.section_count * MPK_PATCH_SIZE(p, Shdr),
					   .align = p->wide ? 8 : 4 };
	return count;
}

/* Checks that the parts follow one another without gaps to the end of the file. */
static enum mpk_code check_packed(const struct mpk_patch *p, const struct trailing *list,
				  size_t count, uint64_t end, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t align = list[i].align;

		if ((align & (align - 1)) || !mpk_align_up(end, align, &end) || end != list[i].off)
			return mpk_fail(err, MPK_E_UNSUPPORTED, "sections are not packed");
		end += list[i].size;
	}
	if (end != p->elf.bytes.len)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "bytes follow the section headers");
	return MPK_OK;
}

/* Appends everything that follows the blob, and patches the offsets of what moved. The section
 * headers come last, with all patches. */
static enum mpk_code put_trailing(const struct mpk_patch *p, const struct trailing *list,
				  size_t count, uint64_t end, struct mpk_rope *out,
				  struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct trailing *t = &list[i];
		bool is_headers = i + 1 == count;
		uint64_t off;

		if (!mpk_align_up(end, t->align, &off))
			return mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
		mpk_patch_put_zeros(out, off - end);
		mpk_rope_put_view(out, mpk_span_of(p->file->data + t->off, (size_t)t->size));
		MPK_TRY(mpk_patch_put(p, is_headers ? 0 : mpk_patch_section_at(p, t->index),
				      is_headers ? MPK_PATCH_FIELD(p, Ehdr, e_shoff)
						 : MPK_PATCH_FIELD(p, Shdr, sh_offset),
				      off, err));
		end = off + t->size;
	}
	return MPK_OK;
}

/* Patches the old size where it is stored: in both symbol tables, the section and the segment. */
static enum mpk_code patch_sizes(const struct mpk_patch *p, const struct plan *plan, uint64_t size,
				 struct mpk_error *err)
{
	const struct mpk_patch_symbol *stub = &plan->stub;

	for (size_t i = 0; i < stub->count; i++)
		MPK_TRY(mpk_patch_put(p, stub->entries[i], MPK_PATCH_FIELD(p, Sym, st_size), size,
				      err));
	MPK_TRY(mpk_patch_put(p, mpk_patch_section_at(p, stub->section),
			      MPK_PATCH_FIELD(p, Shdr, sh_size), stub->home.sh_size + plan->added,
			      err));
	if (!plan->load)
		return MPK_OK;
	MPK_TRY(mpk_patch_put(p, plan->load, MPK_PATCH_FIELD(p, Phdr, p_filesz),
			      plan->segment.p_filesz + plan->added, err));
	return mpk_patch_put(p, plan->load, MPK_PATCH_FIELD(p, Phdr, p_memsz),
			     plan->segment.p_memsz + plan->added, err);
}

/* file is a private copy in memory: it is patched, and the rope refers to it. */
enum mpk_code mpk_elf_extend(const struct mpk_private *file, const char *symbol,
			     const struct mpk_rope *content, struct mpk_rope *out,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_patch_close) struct mpk_patch p = { 0 };
	struct plan plan = { .p = &p };

	MPK_TRY(mpk_patch_open(file, &p, err));
	MPK_TRY(mpk_patch_find(&p, symbol, &plan.stub, err));
	MPK_TRY(check_layout(&p, &plan, err));
	if (content->len < plan.stub.size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is smaller than its stub");
	plan.added = content->len - plan.stub.size;

	/* All conditions are checked before the first patch, so that the caller can use the bytes in
	 * another way. */
	uint64_t old_end = plan.stub.home.sh_offset + plan.stub.home.sh_size, new_end;
	struct trailing *list = calloc(p.elf.section_count + 1, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	size_t count = collect_trailing(&p, old_end, list);
	enum mpk_code code = check_packed(&p, list, count, old_end, err);
	if (code == MPK_OK &&
	    (!mpk_add_u64(old_end, plan.added, &new_end) || new_end > INT64_MAX / 2))
		code = mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	if (code == MPK_OK)
		code = patch_sizes(&p, &plan, content->len, err);
	if (code == MPK_OK) {
		mpk_rope_put_view(out,
				  mpk_span_of(p.file->data, (size_t)(old_end - plan.stub.size)));
		mpk_rope_put_rope(out, content);
		code = put_trailing(&p, list, count, new_end, out, err);
	}
	free(list);
	MPK_TRY(code);

	return mpk_rope_status(out, err);
}
