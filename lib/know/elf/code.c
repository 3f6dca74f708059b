/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - the machine code of a library or object, and names for its addresses
 *
 * Each instruction is looked up by its address, and the file may be hostile. So every table is
 * sorted once, and a look-up is a binary search. */
#include "elf/code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "base/vec.h"
#include "elf/foreign.h"
#include "elf/symbols.h"
#include "object/object.h"

/* There may be millions, so they are small. */
struct mpk_code_symbol {
	uint64_t address;
	uint64_t bytes;
	const char *name;
	const uint8_t *content; /* contents of the section, for files other than ELF */
	uint32_t section;       /* section of the address in an object, where every section begins
				 * at 0; in other files 0 */
	uint32_t home;          /* section that contains the symbol */
	uint8_t rank;           /* among symbols at one address, the one with the lowest rank is
				 * shown */
	bool is_function, thumb;
};

/* A mapping symbol ("$x", "$d"): code or data begins here. */
struct mpk_code_mark {
	uint64_t address;
	uint32_t section;
	bool is_data;
};

MPK_ORDER_BY2(compare_places, struct mpk_code_symbol, section, address)

/* Sorts by section and address; at one address, by rank. */
static int compare_symbols(const void *a, const void *b)
{
	const struct mpk_code_symbol *x = a, *y = b;
	int order = compare_places(a, b);

	if (order)
		return order;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

/* At one address a mark of data follows a mark of code, so the last mark there is the one that
 * counts. */
static int compare_marks(const void *a, const void *b)
{
	const struct mpk_code_mark *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (int)x->is_data - (int)y->is_data;
}

/* Sorts by name; equal names by rank, so that a search for the first finds the best. */
static int compare_names(const void *a, const void *b)
{
	const struct mpk_code_symbol *x = *(const struct mpk_code_symbol *const *)a;
	const struct mpk_code_symbol *y = *(const struct mpk_code_symbol *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : x < y ? -1 : 1;
}

/* --- ELF ---------------------------------------------------------------------------------------- */

/* Whether a symbol is one of the mapping symbols "$x", "$d.1" of ARM and RISC-V, which mark code
 * and data and name nothing. */
static bool is_mapping(const char *name)
{
	return name[0] == '$' && name[1] && strchr("axtd", name[1]) &&
	       (name[2] == '\0' || name[2] == '.' || name[1] == 'x');
}

/* A function ranks before data, a global symbol before a weak one, a weak one before a local one:
 * the name that a reader expects for the address. The symbol of a Thumb function has an odd
 * address; its code begins one byte before. */
static void add_symbol(struct mpk_code_file *f, const struct mpk_symbol *s)
{
	bool function = s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
	bool arm = f->machine == EM_ARM && function;
	struct mpk_code_symbol *out = &f->symbols[f->symbol_count];

	if (is_mapping(s->name)) {
		/* Symbols of linked files are compared by address alone, those of objects by
		 * section and address: in an object every section begins at 0. */
		if (f->marks && s->section)
			f->marks[f->mark_count++] = (struct mpk_code_mark){
				.address = s->value,
				.section = f->relocatable ? (uint32_t)s->section : 0,
				.is_data = s->name[1] == 'd',
			};

		return;
	}
	if (!s->defined || s->common || !s->section || !s->name[0] || s->type == STT_SECTION ||
	    s->type == STT_FILE || s->type == STT_TLS)
		return;
	*out = (struct mpk_code_symbol){
		.section = f->relocatable ? (uint32_t)s->section : 0,
		.home = (uint32_t)s->section,
		.address = s->value & ~(uint64_t)(arm ? 1 : 0),
		.bytes = s->bytes,
		.rank = (uint8_t)((function ? 0 : 4) + (s->bind == STB_GLOBAL ? 0
							: s->bind == STB_WEAK ? 1
									      : 2)),
		.is_function = function,
		.thumb = arm && s->value & 1,
		.name = s->name,
	};
	f->symbol_count++;
}

/* Reads both symbol tables, because strip leaves only the dynamic one. A symbol that is in both is
 * kept twice, which does no harm. */
static enum mpk_code elf_code_read_symbols(struct mpk_code_file *f, struct mpk_error *err)
{
	struct mpk_symtab tables[2];
	struct mpk_symbol s;
	uint64_t bytes = 0;

	MPK_TRY(mpk_symtab_static(&f->elf, &tables[0], err));
	MPK_TRY(mpk_symtab_dynamic(&f->elf, &tables[1], err));
	f->symbols =
		mpk_arena_array(f->arena, tables[0].count + tables[1].count, sizeof *f->symbols);
	MPK_TRY_ALLOC(f->symbols, err);
	if (f->machine == EM_ARM || f->machine == EM_AARCH64 || f->machine == EM_RISCV) {
		MPK_TRY_ARRAY(f->marks, f->arena, tables[0].count + tables[1].count, err);
	}
	for (size_t t = 0; t < 2; t++)
		for (size_t i = 1; i < tables[t].count; i++) {
			MPK_TRY(mpk_symtab_get(&tables[t], i, &s, err));
			bytes += strlen(s.name);
			MPK_TRY(mpk_elf_check_names("symbols", f->elf.base, f->elf.bytes.len,
						    t * tables[0].count + i, bytes, err));
			add_symbol(f, &s);
		}
	return MPK_OK;
}

static enum mpk_code open_elf(struct mpk_span bytes, struct mpk_code_file *f, struct mpk_error *err)
{
	MPK_TRY(mpk_elf_open(bytes, 0, &f->elf, err));
	f->is_elf = true;
	f->machine = f->elf.header.e_machine;
	f->bits = f->elf.header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	f->big_endian = f->elf.header.e_ident[EI_DATA] == ELFDATA2MSB;
	f->relocatable = f->elf.header.e_type == ET_REL;
	MPK_TRY(elf_code_read_symbols(f, err));
	/* Entries of the PLT are recognised in 64-bit files only (plt.c); an object has no slots yet. */
	if (!f->relocatable && f->bits == 64)
		MPK_TRY(mpk_plt_names_read(&f->elf, &f->plt, err));

	/* The flags in the header of a code object of AMD name the processor. */
	struct mpk_amdgpu head;

	if (f->machine != EM_AMDGPU)
		return MPK_OK;
	MPK_TRY(mpk_amdgpu_read_head(f->elf.bytes, &head, err));
	f->amd_target = mpk_arena_text(f->arena, mpk_span_str(head.target));
	MPK_TRY_ALLOC(f->amd_target, err);
	return MPK_OK;
}

/* --- other object files --------------------------------------------------------------------------- */

/* Reads the symbols of a file that is not ELF. It gets no marks, slots or relocations: only names
 * are shown beside its instructions. */
static enum mpk_code open_object(struct mpk_span bytes, enum mpk_file_format format,
				 struct mpk_code_file *f, struct mpk_error *err)
{
	struct mpk_object object = { 0 };

	if (format != MPK_FILE_MACHO && format != MPK_FILE_COFF && format != MPK_FILE_PE)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "this file holds no machine code");
	MPK_TRY(mpk_file_read_object(format, bytes, f->arena, &object, err));
	f->machine = object.machine;
	f->relocatable = object.kind == MPK_OBJECT_RELOCATABLE;
	f->bits = object.machine == EM_386 || object.machine == EM_ARM ? 32 : 64;
	MPK_TRY_ARRAY(f->symbols, f->arena, object.symbol_count, err);
	for (size_t i = 0; i < object.symbol_count; i++) {
		const struct mpk_object_symbol *s = &object.symbols[i];

		if (!s->defined || !s->name[0])
			continue;
		f->symbols[f->symbol_count++] = (struct mpk_code_symbol){
			.section = f->relocatable ? (uint32_t)s->section : 0,
			.address = s->address,
			.bytes = s->content.len,
			.rank = (uint8_t)((s->is_function ? 0 : 4) + (s->global ? 0 : 2)),
			.is_function = s->is_function,
			.name = s->name,
			.home = (uint32_t)s->section,
			.content = s->content.data,
		};
	}
	return MPK_OK;
}

/* The caller may close *out after a failure, too, because *out owns everything that was allocated. */
enum mpk_code mpk_code_file_open(struct mpk_span bytes, enum mpk_file_format format,
				 struct mpk_arena *arena, struct mpk_code_file *out,
				 struct mpk_error *err)
{
	*out = (struct mpk_code_file){ .arena = arena,
				       .amd_target = "",
				       .line_budget = MPK_CODE_LINE_BYTES,
				       .code_left = 2 * (uint64_t)bytes.len };
	MPK_TRY(format == MPK_FILE_ELF ? open_elf(bytes, out, err)
				       : open_object(bytes, format, out, err));
	qsort(out->symbols, out->symbol_count, sizeof *out->symbols, compare_symbols);
	if (out->mark_count)
		qsort(out->marks, out->mark_count, sizeof *out->marks, compare_marks);

	/* Sorted by name once, because functions are looked up by name. */
	MPK_TRY_ARRAY(out->by_name, out->arena, out->symbol_count, err);
	for (size_t i = 0; i < out->symbol_count; i++)
		out->by_name[i] = &out->symbols[i];
	qsort(out->by_name, out->symbol_count, sizeof *out->by_name, compare_names);
	return MPK_OK;
}

void mpk_code_file_close(struct mpk_code_file *f)
{
	mpk_elf_close(&f->elf);
	mpk_plt_names_fini(&f->plt);
	free(f->relocations);
	*f = (struct mpk_code_file){ 0 };
}

/* --- functions ----------------------------------------------------------------------------------- */

/* Finds the bytes by segments in a loadable file, because its section headers may be missing or
 * wrong, and by sections in an object. */
static bool section_bytes(const struct mpk_elf *e, const struct mpk_code_symbol *s,
			  struct mpk_span *out)
{
	uint64_t off, in;
	GElf_Shdr h;

	if (e->header.e_type != ET_REL && e->segment_count)
		return mpk_elf_at_address(e, s->address, out, &off);
	if (mpk_elf_section(e, s->home, &h, NULL) != MPK_OK || h.sh_type == SHT_NOBITS)
		return false;
	in = e->header.e_type == ET_REL ? s->address : s->address - h.sh_addr;
	return in <= h.sh_size && mpk_span_sub(e->bytes, h.sh_offset + in, h.sh_size - in, out);
}

/* Returns the bytes left in the section from the symbol on, since a section may end before its
 * segment; 0: not known. */
static uint64_t left_in_section(const struct mpk_elf *e, const struct mpk_code_symbol *s)
{
	GElf_Shdr h;

	if (e->header.e_type == ET_REL || mpk_elf_section(e, s->home, &h, NULL) != MPK_OK ||
	    s->address < h.sh_addr || s->address - h.sh_addr > h.sh_size)
		return 0;
	return h.sh_size - (s->address - h.sh_addr);
}

/* Returns the size of a symbol that has none, as in assembly code: up to the next symbol or to the
 * end of the section. */
static uint64_t guess_bytes(const struct mpk_code_file *f, const struct mpk_code_symbol *s,
			    uint64_t most)
{
	const struct mpk_code_symbol behind = { .section = s->section, .address = s->address + 1 };
	uint64_t left = f->is_elf ? left_in_section(&f->elf, s) : 0;
	size_t next;

	if (left && left < most)
		most = left;
	next = mpk_lower_bound(f->symbols, f->symbol_count, sizeof behind, &behind, compare_places);
	if (s->address < UINT64_MAX && next < f->symbol_count &&
	    f->symbols[next].section == s->section && f->symbols[next].address - s->address < most)
		return f->symbols[next].address - s->address;
	return most;
}

/* Sets *out to the bytes of a symbol, cut at the end of its section or segment. */
static bool elf_code_bytes_of(const struct mpk_code_file *f, const struct mpk_code_symbol *s,
			      struct mpk_span *out)
{
	struct mpk_span all = mpk_span_of(s->content, s->content ? s->bytes : 0);

	if (f->is_elf && !section_bytes(&f->elf, s, &all))
		return false;
	return mpk_span_sub(all, 0, s->bytes ? s->bytes : guess_bytes(f, s, all.len), out) &&
	       out->len;
}

/* Whether a symbol may be a function. One without a type is a function if it is in code. A symbol
 * for data in a section that is not executable, such as HIP's handle of a kernel, is not. */
static bool may_be_code(const struct mpk_code_file *f, const struct mpk_code_symbol *s)
{
	GElf_Shdr h;

	return s->is_function || !f->is_elf ||
	       mpk_elf_section(&f->elf, s->home, &h, NULL) != MPK_OK ||
	       (h.sh_flags & SHF_EXECINSTR);
}

static struct mpk_code_function code_function_of(const struct mpk_code_symbol *s)
{
	return (struct mpk_code_function){ .symbol = s->name,
					   .address = s->address,
					   .section = s->section,
					   .home = s->home,
					   .thumb = s->thumb };
}

bool mpk_code_file_find(const struct mpk_code_file *f, const char *symbol,
			struct mpk_code_function *out)
{
	const struct mpk_code_symbol *best;
	size_t low;

	/* The first symbol of this name is the best. */
	MPK_FIND_FIRST(low, f->symbol_count, i, strcmp(f->by_name[i]->name, symbol) < 0);
	if (low == f->symbol_count || strcmp(f->by_name[low]->name, symbol) != 0)
		return false;
	best = f->by_name[low];
	if (!may_be_code(f, best))
		return false;
	*out = code_function_of(best);
	return elf_code_bytes_of(f, best, &out->bytes);
}

bool mpk_code_file_next(const struct mpk_code_file *f, size_t *at, struct mpk_code_function *out)
{
	for (size_t i = *at, next; i < f->symbol_count; i++) {
		const struct mpk_code_symbol *s = &f->symbols[i];

		*out = code_function_of(s);
		if (!s->is_function || !elf_code_bytes_of(f, s, &out->bytes))
			continue;
		for (next = i + 1; next < f->symbol_count; next++)
			if (f->symbols[next].is_function && compare_places(s, &f->symbols[next]))
				break;
		if (next < f->symbol_count && f->symbols[next].section == s->section &&
		    f->symbols[next].address - s->address < out->bytes.len)
			out->bytes.len = f->symbols[next].address - s->address;
		*at = next;
		return true;
	}
	return false;
}

/* The caller compares a misspelt name with these; `most` bounds that work. */
size_t mpk_code_file_symbols(const struct mpk_code_file *f, struct mpk_span *out, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < f->symbol_count && n < most; i++)
		if (f->symbols[i].is_function)
			out[n++] = mpk_span_str(f->symbols[i].name);
	return n;
}

/* --- names -------------------------------------------------------------------------------- */

/* Returns the symbol that covers the address: the best one at the nearest address before it, at
 * which thousands of symbols may begin. */
static const struct mpk_code_symbol *covering(const struct mpk_code_symbol *list, size_t count,
					      size_t section, uint64_t address)
{
	struct mpk_code_symbol key = { .section = (uint32_t)section, .address = address };
	size_t i = mpk_lower_bound(list, count, sizeof key, &key, compare_places);
	const struct mpk_code_symbol *s;

	if (i < count && compare_places(&list[i], &key) == 0)
		return &list[i];
	if (!i || list[i - 1].section != section)
		return NULL;
	key = list[i - 1];
	s = &list[mpk_lower_bound(list, count, sizeof key, &key, compare_places)];
	return s->address == address || address - s->address < s->bytes ? s : NULL;
}

static void put_with_offset(const char *name, uint64_t offset, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, name);
	if (offset)
		mpk_strbuf_printf(out, "+0x%" PRIx64, offset);
}

/* Tries in this order: the symbol that covers the address, the symbol that fills a slot, the
 * target of a PLT entry, which requires reading code. */
bool mpk_code_file_put_name(const struct mpk_code_file *f, size_t section, uint64_t address,
			    struct mpk_strbuf *out)
{
	const struct mpk_code_symbol *s =
		covering(f->symbols, f->symbol_count, f->relocatable ? section : 0, address);
	const char *slot;
	uint64_t through;

	if (s) {
		put_with_offset(s->name, address - s->address, out);
		return true;
	}
	slot = mpk_plt_names_find(&f->plt, address);
	if (slot && *slot) {
		mpk_strbuf_puts(out, slot);
		return true;
	}
	if (!f->plt.count || !mpk_plt_slot(&f->elf, address, &through))
		return false;
	slot = mpk_plt_names_find(&f->plt, through);
	if (!slot || !*slot)
		return false;
	mpk_strbuf_printf(out, "%s@plt", slot);
	return true;
}

bool mpk_code_file_is_data(const struct mpk_code_file *f, size_t section, uint64_t address)
{
	size_t after;

	section = f->relocatable ? section : 0;
	MPK_FIND_FIRST(after, f->mark_count, i,
		       f->marks[i].section < section ||
			       (f->marks[i].section == section && f->marks[i].address <= address));
	return after && f->marks[after - 1].section == section && f->marks[after - 1].is_data;
}
