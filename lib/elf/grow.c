#include "elf/grow.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/span.h"
#include "elf/raw.h"

struct plan {
	struct mpk_raw_symbol stub;
	uint64_t growth; /* bytes that content has more than the stub */
	uint64_t load;   /* file offset of the segment's header; 0: an object */
};

/* --- the conditions -------------------------------------------------------------- */

static enum mpk_code check_home(const struct mpk_raw *e, const struct plan *plan,
				struct mpk_error *err)
{
	const struct mpk_raw_section *home = &plan->stub.home;
	uint64_t end = plan->stub.value - home->addr + plan->stub.size;

	if (home->type != SHT_PROGBITS || (home->flags & (SHF_ALLOC | SHF_WRITE)) != SHF_ALLOC)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is not in read-only data");
	if (plan->stub.value < home->addr || plan->stub.size == 0 || end != home->size)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the blob is not the last thing in its section");
	for (size_t i = 0; e->linked && i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);

		if (i != home->index && (s.flags & SHF_ALLOC) && !(s.flags & SHF_TLS) &&
		    s.addr + s.size > home->addr)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"section %zu is loaded behind the blob", i);
	}
	return MPK_OK;
}

/* Symbols such as _end would have to move, and with them code that uses them. */
static enum mpk_code check_no_symbol_behind(const struct mpk_raw *e, const struct plan *plan,
					    struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);

		if (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM)
			continue;
		for (uint64_t at = s.off; s.off + s.size - at >= s.entsize; at += s.entsize) {
			uint64_t index = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Sym, st_shndx));
			uint64_t value = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Sym, st_value));
			bool near =
				index == plan->stub.home.index || (e->linked && index != SHN_UNDEF);

			if (near && value > plan->stub.value)
				return mpk_fail(err, MPK_E_UNSUPPORTED,
						"another symbol lies behind the blob");
		}
	}
	return MPK_OK;
}

static enum mpk_code find_segment(const struct mpk_raw *e, struct plan *plan, struct mpk_error *err)
{
	const struct mpk_raw_section *home = &plan->stub.home;

	for (uint64_t i = 0; i < e->phnum; i++) {
		uint64_t at = e->phoff + i * MPK_RAW_SIZE(e, Phdr);
		uint64_t off = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_offset));
		uint64_t filesz = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_filesz));
		uint64_t addr = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_vaddr));
		uint64_t memsz = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_memsz));

		if (off + filesz <= home->off && addr + memsz <= home->addr)
			continue;
		if (memsz == 0)
			continue;
		bool ends_here = off + filesz == home->off + home->size &&
				 addr + memsz == home->addr + home->size;
		if (plan->load || mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_type)) != PT_LOAD ||
		    !ends_here)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"the blob is not the end of the last segment");
		plan->load = at;
	}
	if (!plan->load)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is in no segment");
	return MPK_OK;
}

/* --- moving what follows --------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
	const struct mpk_raw_section *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void put_zeros(struct mpk_rope *out, uint64_t count)
{
	static const uint8_t zeros[4096];

	for (; count; count -= count < sizeof zeros ? count : sizeof zeros)
		mpk_rope_put_view(out, mpk_span_of(zeros, count < sizeof zeros ? (size_t)count
									       : sizeof zeros));
}

/* Appends a section's bytes at its alignment behind *end. */
static enum mpk_code move(const struct mpk_raw *e, const struct mpk_raw_section *s, uint64_t *end,
			  struct mpk_rope *out, struct mpk_error *err)
{
	uint64_t off;

	if (!mpk_align_up(*end, s->align ? s->align : 1, &off))
		return mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	put_zeros(out, off - *end);
	mpk_rope_put_view(out, mpk_span_of(e->data + s->off, (size_t)s->size));
	*end = off + s->size;
	return MPK_OK;
}

/* Whether every trailing section and the section headers follow one another. Found out
 * before anything is changed. */
static enum mpk_code check_packed(const struct mpk_raw *e, const struct mpk_raw_section *list,
				  size_t count, uint64_t end, struct mpk_error *err)
{
	uint64_t table = e->wide ? 8 : 4;

	for (size_t i = 0; i <= count; i++) {
		uint64_t align = i < count ? list[i].align : table;
		uint64_t off = i < count ? list[i].off : e->shoff;

		align = align ? align : 1;
		if ((align & (align - 1)) || !mpk_align_up(end, align, &end) || end != off)
			return mpk_fail(err, MPK_E_UNSUPPORTED, "sections are not packed");
		end += i < count ? list[i].size : e->shnum * MPK_RAW_SIZE(e, Shdr);
	}
	if (end != e->len)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "bytes follow the section headers");
	return MPK_OK;
}

static size_t collect_trailing(const struct mpk_raw *e, uint64_t end, struct mpk_raw_section *list)
{
	size_t count = 0;

	for (size_t i = 0; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);

		if (mpk_raw_has_bytes(&s) && s.off >= end)
			list[count++] = s;
	}
	qsort(list, count, sizeof *list, by_offset);
	return count;
}

/* Everything behind the blob; patches the offsets of what moved. The section header
 * table closes the file, so it goes out last, with all patches applied. */
static enum mpk_code put_trailing(struct mpk_raw *e, const struct mpk_raw_section *list,
				  size_t count, uint64_t end, struct mpk_rope *out,
				  struct mpk_error *err)
{
	struct mpk_raw_section table = { .off = e->shoff,
					 .align = e->wide ? 8 : 4,
					 .size = e->shnum * MPK_RAW_SIZE(e, Shdr) };
	struct mpk_raw_field offset = MPK_RAW_FIELD(e, Shdr, sh_offset);

	for (size_t i = 0; i < count; i++) {
		MPK_TRY(move(e, &list[i], &end, out, err));
		MPK_TRY(mpk_raw_put(e, mpk_raw_section_at(e, list[i].index), offset,
				    end - list[i].size, err));
	}
	MPK_TRY(move(e, &table, &end, out, err));
	return mpk_raw_put(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shoff), end - table.size, err);
}

static enum mpk_code patch_sizes(struct mpk_raw *e, const struct plan *plan, uint64_t size,
				 struct mpk_error *err)
{
	struct mpk_raw_field filesz = MPK_RAW_FIELD(e, Phdr, p_filesz),
			     memsz = MPK_RAW_FIELD(e, Phdr, p_memsz);

	for (size_t i = 0; i < plan->stub.count; i++)
		MPK_TRY(mpk_raw_put(e, plan->stub.entries[i], MPK_RAW_FIELD(e, Sym, st_size), size,
				    err));
	MPK_TRY(mpk_raw_put(e, mpk_raw_section_at(e, plan->stub.home.index),
			    MPK_RAW_FIELD(e, Shdr, sh_size), plan->stub.home.size + plan->growth,
			    err));
	if (!plan->load)
		return MPK_OK;
	MPK_TRY(mpk_raw_put(e, plan->load, filesz,
			    mpk_raw_get(e, plan->load, filesz) + plan->growth, err));
	return mpk_raw_put(e, plan->load, memsz, mpk_raw_get(e, plan->load, memsz) + plan->growth,
			   err);
}

static enum mpk_code put_file(struct mpk_raw *e, const struct plan *plan,
			      const struct mpk_rope *content, struct mpk_rope *out,
			      struct mpk_error *err)
{
	uint64_t old_end = plan->stub.home.off + plan->stub.home.size, new_end;
	struct mpk_raw_section *list = calloc((size_t)e->shnum, sizeof *list);

	if (!list)
		return mpk_fail_nomem(err);
	size_t count = collect_trailing(e, old_end, list);
	enum mpk_code code = check_packed(e, list, count, old_end, err);
	if (code == MPK_OK &&
	    (!mpk_add_u64(old_end, plan->growth, &new_end) || new_end > INT64_MAX / 2))
		code = mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	if (code == MPK_OK)
		code = patch_sizes(e, plan, content->len, err);
	if (code == MPK_OK) {
		mpk_rope_put_view(out, mpk_span_of(e->data, (size_t)(old_end - plan->stub.size)));
		mpk_rope_put_rope(out, content);
		code = put_trailing(e, list, count, new_end, out, err);
	}
	free(list);
	return code;
}

static enum mpk_code check_layout(const struct mpk_raw *e, struct plan *plan, struct mpk_error *err)
{
	MPK_TRY(check_home(e, plan, err));
	MPK_TRY(check_no_symbol_behind(e, plan, err));
	if (e->shoff < plan->stub.home.off + plan->stub.home.size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "section headers precede the blob");
	return e->linked ? find_segment(e, plan, err) : MPK_OK;
}

enum mpk_code mpk_elf_grow(uint8_t *file, size_t len, const char *symbol,
			   const struct mpk_rope *content, struct mpk_rope *out,
			   struct mpk_error *err)
{
	struct mpk_raw e = { .data = file, .len = len };
	struct plan plan = { 0 };

	MPK_TRY(mpk_raw_open(&e, err));
	MPK_TRY(mpk_raw_find(&e, symbol, &plan.stub, err));
	MPK_TRY(check_layout(&e, &plan, err));
	if (content->len < plan.stub.size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is smaller than its stub");
	plan.growth = content->len - plan.stub.size;
	MPK_TRY(put_file(&e, &plan, content, out, err));
	return mpk_rope_status(out, err);
}
