#include "elf/grow.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/span.h"

/* Where a field lies in its structure, for the file's class. */
struct field {
	size_t off, size;
};

#define FIELD(e, type, name)                                                             \
	((e)->wide ? (struct field){ offsetof(Elf64_##type, name),                       \
				     sizeof(((Elf64_##type *)0)->name) }                 \
		   : (struct field){ offsetof(Elf32_##type, name),                       \
				     sizeof(((Elf32_##type *)0)->name) })
#define SIZE(e, type) ((e)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

struct elf {
	uint8_t *data;
	size_t len;
	bool wide, big;
	bool linked;                /* ET_DYN, not ET_REL */
	uint64_t phoff, shoff;
	uint64_t phnum, shnum;
};

struct section {
	size_t index;
	uint64_t type, flags, addr, off, size, align, link, entsize;
};

/* What has to be patched, and where the content goes. */
struct plan {
	struct section home;        /* the stub's section */
	uint64_t symbols[2];        /* file offsets of its symbol table entries */
	size_t symbol_count;
	uint64_t value, size;       /* of the stub */
	uint64_t growth;            /* bytes that content has more than the stub */
	uint64_t load;              /* file offset of the segment's header; 0: an object */
};

static uint64_t get(const struct elf *e, uint64_t base, struct field f)
{
	uint64_t v = 0;

	for (size_t i = 0; i < f.size; i++)
		v |= (uint64_t)e->data[base + f.off + i] << 8 * (e->big ? f.size - 1 - i : i);
	return v;
}

static enum mpk_code put(struct elf *e, uint64_t base, struct field f, uint64_t v,
			 struct mpk_error *err)
{
	if (f.size < 8 && v >> 8 * f.size)
		return mpk_fail(err, MPK_E_RANGE,
				"a 32-bit ELF file cannot hold a blob of this size");
	for (size_t i = 0; i < f.size; i++)
		e->data[base + f.off + i] = (uint8_t)(v >> 8 * (e->big ? f.size - 1 - i : i));
	return MPK_OK;
}

static bool in_file(const struct elf *e, uint64_t off, uint64_t size)
{
	return off <= e->len && size <= e->len - off;
}

/* --- reading the tables ---------------------------------------------------------- */

static enum mpk_code open_tables(struct elf *e, struct mpk_error *err)
{
	uint64_t phsize = get(e, 0, FIELD(e, Ehdr, e_phentsize));
	uint64_t shsize = get(e, 0, FIELD(e, Ehdr, e_shentsize));
	uint64_t type = get(e, 0, FIELD(e, Ehdr, e_type));

	e->linked = type == ET_DYN;
	e->phoff = get(e, 0, FIELD(e, Ehdr, e_phoff));
	e->shoff = get(e, 0, FIELD(e, Ehdr, e_shoff));
	e->phnum = get(e, 0, FIELD(e, Ehdr, e_phnum));
	e->shnum = get(e, 0, FIELD(e, Ehdr, e_shnum));
	if (type != ET_DYN && type != ET_REL)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "neither a shared library nor an object");
	if (e->shnum == 0 || shsize != SIZE(e, Shdr) || (e->phnum && phsize != SIZE(e, Phdr)))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "ELF tables of unusual form");
	if (!in_file(e, e->shoff, e->shnum * shsize) || !in_file(e, e->phoff, e->phnum * phsize))
		return mpk_fail(err, MPK_E_CORRUPT, "ELF header tables leave the file");
	return MPK_OK;
}

static enum mpk_code open_elf(struct elf *e, struct mpk_error *err)
{
	if (e->len < sizeof(Elf64_Ehdr) || memcmp(e->data, ELFMAG, SELFMAG) != 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "not an ELF file");
	e->wide = e->data[EI_CLASS] == ELFCLASS64;
	e->big = e->data[EI_DATA] == ELFDATA2MSB;
	return open_tables(e, err);
}

static uint64_t section_at(const struct elf *e, size_t index)
{
	return e->shoff + index * SIZE(e, Shdr);
}

static struct section section_get(const struct elf *e, size_t index)
{
	uint64_t at = section_at(e, index);

	return (struct section){
		.index = index,
		.type = get(e, at, FIELD(e, Shdr, sh_type)),
		.flags = get(e, at, FIELD(e, Shdr, sh_flags)),
		.addr = get(e, at, FIELD(e, Shdr, sh_addr)),
		.off = get(e, at, FIELD(e, Shdr, sh_offset)),
		.size = get(e, at, FIELD(e, Shdr, sh_size)),
		.align = get(e, at, FIELD(e, Shdr, sh_addralign)),
		.link = get(e, at, FIELD(e, Shdr, sh_link)),
		.entsize = get(e, at, FIELD(e, Shdr, sh_entsize)),
	};
}

static bool has_bytes(const struct section *s)
{
	return s->type != SHT_NULL && s->type != SHT_NOBITS;
}

static enum mpk_code check_sections(const struct elf *e, struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct section s = section_get(e, i);
		bool is_table = s.type == SHT_SYMTAB || s.type == SHT_DYNSYM;

		if (has_bytes(&s) && !in_file(e, s.off, s.size))
			return mpk_fail(err, MPK_E_CORRUPT, "section %zu leaves the file", i);
		if (is_table && (s.entsize != SIZE(e, Sym) || s.link >= e->shnum))
			return mpk_fail(err, MPK_E_CORRUPT, "symbol table %zu is malformed", i);
	}
	return MPK_OK;
}

/* --- the stub's symbol ----------------------------------------------------------- */

static bool name_is(const struct elf *e, const struct section *strings, uint64_t at,
		    const char *symbol)
{
	size_t size = strlen(symbol) + 1;

	return has_bytes(strings) && at <= strings->size && size <= strings->size - at &&
	       memcmp(e->data + strings->off + at, symbol, size) == 0;
}

static enum mpk_code take_symbol(const struct elf *e, uint64_t at, struct plan *plan,
				 struct mpk_error *err)
{
	uint64_t index = get(e, at, FIELD(e, Sym, st_shndx));
	uint64_t value = get(e, at, FIELD(e, Sym, st_value));
	uint64_t size = get(e, at, FIELD(e, Sym, st_size));

	if (index == SHN_UNDEF || index >= e->shnum)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol has no section");
	if (plan->symbol_count == 0) {
		plan->home = section_get(e, (size_t)index);
		plan->value = value;
		plan->size = size;
	} else if (plan->symbol_count == 2 || plan->home.index != index ||
		   plan->value != value || plan->size != size) {
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol stands there twice");
	}
	plan->symbols[plan->symbol_count++] = at;
	return MPK_OK;
}

static enum mpk_code find_symbol(const struct elf *e, const char *symbol, struct plan *plan,
				 struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct section s = section_get(e, i);

		if (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM)
			continue;
		struct section strings = section_get(e, (size_t)s.link);
		for (uint64_t at = 0; s.size - at >= s.entsize; at += s.entsize) {
			uint64_t name = get(e, s.off + at, FIELD(e, Sym, st_name));

			if (name_is(e, &strings, name, symbol))
				MPK_TRY(take_symbol(e, s.off + at, plan, err));
		}
	}
	if (plan->symbol_count == 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol is not there");
	return MPK_OK;
}

/* --- the conditions -------------------------------------------------------------- */

static enum mpk_code check_home(const struct elf *e, const struct plan *plan,
				struct mpk_error *err)
{
	const struct section *home = &plan->home;
	uint64_t end = plan->value - home->addr + plan->size;

	if (home->type != SHT_PROGBITS || (home->flags & (SHF_ALLOC | SHF_WRITE)) != SHF_ALLOC)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is not in read-only data");
	if (plan->value < home->addr || plan->size == 0 || end != home->size)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"the blob is not the last thing in its section");
	for (size_t i = 0; e->linked && i < e->shnum; i++) {
		struct section s = section_get(e, i);

		if (i != home->index && (s.flags & SHF_ALLOC) && !(s.flags & SHF_TLS) &&
		    s.addr + s.size > home->addr)
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"section %zu is loaded behind the blob", i);
	}
	return MPK_OK;
}

/* Symbols such as _end would have to move, and with them code that uses them. */
static enum mpk_code check_no_symbol_behind(const struct elf *e, const struct plan *plan,
					    struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct section s = section_get(e, i);

		if (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM)
			continue;
		for (uint64_t at = s.off; s.off + s.size - at >= s.entsize; at += s.entsize) {
			uint64_t index = get(e, at, FIELD(e, Sym, st_shndx));
			uint64_t value = get(e, at, FIELD(e, Sym, st_value));
			bool near = index == plan->home.index ||
				    (e->linked && index != SHN_UNDEF);

			if (near && value > plan->value)
				return mpk_fail(err, MPK_E_UNSUPPORTED,
						"another symbol lies behind the blob");
		}
	}
	return MPK_OK;
}

static enum mpk_code find_segment(const struct elf *e, struct plan *plan,
				  struct mpk_error *err)
{
	const struct section *home = &plan->home;

	for (uint64_t i = 0; i < e->phnum; i++) {
		uint64_t at = e->phoff + i * SIZE(e, Phdr);
		uint64_t off = get(e, at, FIELD(e, Phdr, p_offset));
		uint64_t filesz = get(e, at, FIELD(e, Phdr, p_filesz));
		uint64_t addr = get(e, at, FIELD(e, Phdr, p_vaddr));
		uint64_t memsz = get(e, at, FIELD(e, Phdr, p_memsz));

		if (off + filesz <= home->off && addr + memsz <= home->addr)
			continue;
		if (memsz == 0)
			continue;
		bool ends_here = off + filesz == home->off + home->size &&
				 addr + memsz == home->addr + home->size;
		if (plan->load || get(e, at, FIELD(e, Phdr, p_type)) != PT_LOAD || !ends_here)
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
	const struct section *x = a, *y = b;

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

/* Appends file bytes [from, from + size), which stood right behind *old_end but for
 * alignment, at the same alignment behind *new_end. */
static enum mpk_code move(const struct elf *e, const struct section *s, uint64_t *old_end,
			  uint64_t *new_end, struct mpk_rope *out, struct mpk_error *err)
{
	uint64_t align = s->align ? s->align : 1, old_off, new_off;

	if ((align & (align - 1)) || !mpk_align_up(*old_end, align, &old_off) ||
	    !mpk_align_up(*new_end, align, &new_off) || old_off != s->off)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "sections are not packed");
	put_zeros(out, new_off - *new_end);
	mpk_rope_put_view(out, mpk_span_of(e->data + s->off, (size_t)s->size));
	*old_end = old_off + s->size;
	*new_end = new_off + s->size;
	return MPK_OK;
}

static size_t collect_trailing(const struct elf *e, uint64_t end, struct section *list)
{
	size_t count = 0;

	for (size_t i = 0; i < e->shnum; i++) {
		struct section s = section_get(e, i);

		if (has_bytes(&s) && s.off >= end)
			list[count++] = s;
	}
	qsort(list, count, sizeof *list, by_offset);
	return count;
}

/* Everything behind the blob; patches the offsets of what moved. The section header
 * table closes the file, so it goes out last, with all patches applied. */
static enum mpk_code put_trailing(struct elf *e, struct section *list, size_t count,
				  uint64_t old_end, uint64_t new_end, struct mpk_rope *out,
				  struct mpk_error *err)
{
	struct section table = { .off = e->shoff, .size = e->shnum * SIZE(e, Shdr),
				 .align = e->wide ? 8 : 4 };

	for (size_t i = 0; i < count; i++) {
		MPK_TRY(move(e, &list[i], &old_end, &new_end, out, err));
		MPK_TRY(put(e, section_at(e, list[i].index), FIELD(e, Shdr, sh_offset),
			    new_end - list[i].size, err));
	}
	MPK_TRY(move(e, &table, &old_end, &new_end, out, err));
	if (old_end != e->len)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "bytes follow the section headers");
	return put(e, 0, FIELD(e, Ehdr, e_shoff), new_end - table.size, err);
}

static enum mpk_code patch_sizes(struct elf *e, const struct plan *plan, uint64_t size,
				 struct mpk_error *err)
{
	struct field filesz = FIELD(e, Phdr, p_filesz), memsz = FIELD(e, Phdr, p_memsz);

	for (size_t i = 0; i < plan->symbol_count; i++)
		MPK_TRY(put(e, plan->symbols[i], FIELD(e, Sym, st_size), size, err));
	MPK_TRY(put(e, section_at(e, plan->home.index), FIELD(e, Shdr, sh_size),
		    plan->home.size + plan->growth, err));
	if (!plan->load)
		return MPK_OK;
	MPK_TRY(put(e, plan->load, filesz, get(e, plan->load, filesz) + plan->growth, err));
	return put(e, plan->load, memsz, get(e, plan->load, memsz) + plan->growth, err);
}

static enum mpk_code put_file(struct elf *e, const struct plan *plan,
			      const struct mpk_rope *content, struct mpk_rope *out,
			      struct mpk_error *err)
{
	uint64_t old_end = plan->home.off + plan->home.size;
	uint64_t start = old_end - plan->size, new_end;
	struct section *list = calloc((size_t)e->shnum, sizeof *list);

	if (!list)
		return mpk_fail_nomem(err);
	enum mpk_code code = MPK_OK;
	if (!mpk_add_u64(old_end, plan->growth, &new_end) || new_end > INT64_MAX / 2)
		code = mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	if (code == MPK_OK) {
		mpk_rope_put_view(out, mpk_span_of(e->data, (size_t)start));
		mpk_rope_put_rope(out, content);
		code = put_trailing(e, list, collect_trailing(e, old_end, list), old_end,
				    new_end, out, err);
	}
	free(list);
	return code;
}

static enum mpk_code check_layout(const struct elf *e, struct plan *plan,
				  struct mpk_error *err)
{
	MPK_TRY(check_home(e, plan, err));
	MPK_TRY(check_no_symbol_behind(e, plan, err));
	if (e->shoff < plan->home.off + plan->home.size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "section headers precede the blob");
	return e->linked ? find_segment(e, plan, err) : MPK_OK;
}

enum mpk_code mpk_elf_grow(uint8_t *file, size_t len, const char *symbol,
			   const struct mpk_rope *content, struct mpk_rope *out,
			   struct mpk_error *err)
{
	struct elf e = { .data = file, .len = len };
	struct plan plan = { 0 };

	MPK_TRY(open_elf(&e, err));
	MPK_TRY(check_sections(&e, err));
	MPK_TRY(find_symbol(&e, symbol, &plan, err));
	MPK_TRY(check_layout(&e, &plan, err));
	if (content->len < plan.size)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob is smaller than its stub");
	plan.growth = content->len - plan.size;
	MPK_TRY(patch_sizes(&e, &plan, content->len, err));
	MPK_TRY(put_file(&e, &plan, content, out, err));
	return mpk_rope_status(out, err);
}
