/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the segments, symbols and relocations of a shared object of this machine
 *
 * Each table is compared once with the bytes of its segment in the file, and every index with its
 * table. A malformed file is an error, because the dynamic linker, which checks nothing, opens the
 * library next. Tables may not be aligned, so they are copied entry by entry. */
#include "elfdyn/elfdyn.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

typedef Elf64_Ehdr header_t;
typedef Elf64_Phdr segment_t;
typedef Elf64_Dyn dynamic_t;
typedef Elf64_Sym symbol_t;
typedef Elf64_Rela rela_t;
typedef Elf64_Rel rel_t;

/* This machine, with 64 bits, and the numbers of its relocations (the ABI supplement of each). */
static const struct {
	uint16_t machine;
	uint32_t call, address, word;
} here = {
#if defined(__x86_64__)
	EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64
#elif defined(__aarch64__)
	EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64
#elif defined(__riscv)
	EM_RISCV, R_RISCV_JUMP_SLOT, R_RISCV_64, R_RISCV_64
#elif defined(__powerpc64__)
	EM_PPC64, R_PPC64_JMP_SLOT, R_PPC64_GLOB_DAT, R_PPC64_ADDR64
#elif defined(__s390x__)
	EM_S390, R_390_JMP_SLOT, R_390_GLOB_DAT, R_390_64
#else
#error "name the relocations of this machine here"
#endif
};

#if defined(__s390x__) /* entries of DT_HASH are 32 bits wide elsewhere */
typedef uint64_t hash_word_t;
#else
typedef uint32_t hash_word_t;
#endif

static unsigned char byte_order(void)
{
	const uint16_t one = 1;

	return *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
}

static enum mpk_code elfdyn_corrupt(uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off, "%s", what);
}

/* Reads an entry of a table; false: the table is not that long. */
static bool entry_at(struct mpk_span table, size_t index, void *out, size_t size)
{
	struct mpk_span at;

	if (index > SIZE_MAX / size || !mpk_span_sub(table, (uint64_t)index * size, size, &at))
		return false;
	memcpy(out, at.data, size);
	return true;
}

/* --- header and segments ----------------------------------------------------------------------- */

/* Returns the usual name of a machine, or its number. */
static const char *machine_name(uint16_t machine, char *number, size_t room)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_X86_64, "x86-64" },  { EM_AARCH64, "aarch64" }, { EM_RISCV, "riscv64" },
		{ EM_PPC64, "ppc64" },    { EM_S390, "s390x" },      { EM_386, "x86" },
		{ EM_ARM, "arm" },        { EM_MIPS, "mips" },       { 258, "loongarch64" },
		{ 190, "NVIDIA's GPUs" }, { 224, "AMD's GPUs" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	(void)snprintf(number, room, "ELF machine %u", machine);
	return number;
}

static enum mpk_code read_header(struct mpk_span bytes, header_t *out, struct mpk_error *err)
{
	if (!mpk_span_starts(bytes, ELFMAG))
		return mpk_fail(err, MPK_E_LOAD,
				mpk_span_starts(bytes, "\x1f\x8b")
					? "compressed by gzip: gunzip it first"
					: "not an ELF file");
	if (bytes.len < sizeof *out)
		return elfdyn_corrupt(0, "the ELF header ends beyond the end of the file", err);
	memcpy(out, bytes.data, sizeof *out);
	if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != byte_order() ||
	    out->e_machine != here.machine) {
		uint16_t machine = out->e_machine;
		char its[32], own[32];

		if (out->e_ident[EI_DATA] != byte_order())
			machine = (uint16_t)(machine << 8 | machine >> 8);
		return mpk_fail(
			err, MPK_E_LOAD,
			"the library is for another machine: %s, %s bits, %s-endian; here it is %s, 64 bits, %s-endian",
			machine_name(machine, its, sizeof its),
			out->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32",
			out->e_ident[EI_DATA] == ELFDATA2LSB ? "little" : "big",
			machine_name(here.machine, own, sizeof own),
			byte_order() == ELFDATA2LSB ? "little" : "big");
	}
	if (out->e_type != ET_DYN)
		return mpk_fail(err, MPK_E_LOAD, "not a shared library");
	if (out->e_phentsize != sizeof(segment_t))
		return elfdyn_corrupt(0, "program headers have an impossible size", err);
	return MPK_OK;
}

static enum mpk_code read_segments(struct mpk_elfdyn *d, const header_t *h, struct mpk_arena *arena,
				   segment_t *dynamic, struct mpk_error *err)
{
	struct mpk_span table;

	if (!mpk_span_sub(d->bytes, h->e_phoff, (uint64_t)h->e_phnum * sizeof(segment_t), &table))
		return elfdyn_corrupt(h->e_phoff,
				      "the program headers end beyond the end of the file", err);
	MPK_TRY_ARRAY(d->loads, arena, (size_t)h->e_phnum + 1, err);
	for (size_t i = 0; i < h->e_phnum; i++) {
		struct mpk_span ignored;
		segment_t s;

		(void)entry_at(table, i, &s, sizeof s);
		if (s.p_type == PT_DYNAMIC)
			*dynamic = s;
		if (s.p_type == PT_GNU_RELRO) {
			d->relro = s.p_vaddr;
			d->relro_bytes = s.p_memsz;
		}
		if (s.p_type != PT_LOAD)
			continue;
		if (s.p_filesz > s.p_memsz || s.p_memsz > UINT64_MAX - s.p_vaddr ||
		    !mpk_span_sub(d->bytes, s.p_offset, s.p_filesz, &ignored))
			return elfdyn_corrupt(h->e_phoff + i * sizeof s,
					      "a segment ends beyond the end of the file", err);
		d->loads[d->load_count++] =
			(struct mpk_elfdyn_segment){ s.p_vaddr, s.p_offset, s.p_filesz, s.p_memsz,
						     (s.p_flags & PF_X) != 0 };
	}
	return MPK_OK;
}

/* Finds the bytes of the file from an address to the end of its segment; false: none. */
static bool at_address(const struct mpk_elfdyn *d, uint64_t address, struct mpk_span *out,
		       uint64_t *off)
{
	for (size_t i = 0; i < d->load_count; i++) {
		const struct mpk_elfdyn_segment *s = &d->loads[i];

		if (address < s->address || address - s->address >= s->file_bytes)
			continue;
		*off = s->off + (address - s->address);
		return mpk_span_sub(d->bytes, *off, s->file_bytes - (address - s->address), out);
	}
	return false;
}

static bool is_in_memory(const struct mpk_elfdyn *d, uint64_t address, uint64_t bytes)
{
	for (size_t i = 0; i < d->load_count; i++) {
		const struct mpk_elfdyn_segment *s = &d->loads[i];

		if (address >= s->address && address - s->address < s->memory_bytes)
			return bytes <= s->memory_bytes - (address - s->address);
	}
	return false;
}

/* --- the dynamic section ----------------------------------------------------------------------- */

/* Addresses and sizes in the dynamic section; 0: no such entry. */
struct dynamic {
	uint64_t strings, strings_bytes, symbols, symbol_bytes, hash, gnu_hash;
	uint64_t rela, rela_bytes, rel, rel_bytes, calls, calls_bytes, calls_kind;
	uint64_t run_path, r_path; /* offsets in the string table */
	size_t needed_count;
};

static void note_entry(struct mpk_elfdyn *d, struct dynamic *out, const dynamic_t *e, uint64_t off)
{
	static const struct {
		int tag;
		size_t field;
	} plain[] = {
		{ DT_STRTAB, offsetof(struct dynamic, strings) },
		{ DT_STRSZ, offsetof(struct dynamic, strings_bytes) },
		{ DT_SYMTAB, offsetof(struct dynamic, symbols) },
		{ DT_SYMENT, offsetof(struct dynamic, symbol_bytes) },
		{ DT_HASH, offsetof(struct dynamic, hash) },
		{ DT_GNU_HASH, offsetof(struct dynamic, gnu_hash) },
		{ DT_RELA, offsetof(struct dynamic, rela) },
		{ DT_RELASZ, offsetof(struct dynamic, rela_bytes) },
		{ DT_REL, offsetof(struct dynamic, rel) },
		{ DT_RELSZ, offsetof(struct dynamic, rel_bytes) },
		{ DT_JMPREL, offsetof(struct dynamic, calls) },
		{ DT_PLTRELSZ, offsetof(struct dynamic, calls_bytes) },
		{ DT_PLTREL, offsetof(struct dynamic, calls_kind) },
		{ DT_RUNPATH, offsetof(struct dynamic, run_path) },
		{ DT_RPATH, offsetof(struct dynamic, r_path) },
	};
	const struct mpk_elfdyn_entry entry = { off, e->d_un.d_val };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(plain); i++)
		if (plain[i].tag == (int)e->d_tag)
			memcpy((char *)out + plain[i].field, &entry.value, sizeof entry.value);
	out->needed_count += e->d_tag == DT_NEEDED;
	d->binds_now |= e->d_tag == DT_BIND_NOW ||
			(e->d_tag == DT_FLAGS && (entry.value & DF_BIND_NOW)) ||
			(e->d_tag == DT_FLAGS_1 && (entry.value & DF_1_NOW));
	if (e->d_tag == DT_INIT)
		d->init = entry;
	if (e->d_tag == DT_INIT_ARRAY)
		d->init_array = entry;
	if (e->d_tag == DT_INIT_ARRAYSZ)
		d->init_array_bytes = entry;
}

static const char *string_at(const struct mpk_elfdyn *d, uint64_t at)
{
	return at < d->strings.len ? (const char *)d->strings.data + at : NULL;
}

static enum mpk_code read_dynamic_strings(struct mpk_elfdyn *d, const struct dynamic *dyn,
					  struct mpk_error *err)
{
	const uint8_t *nul;
	uint64_t off;

	if (!at_address(d, dyn->strings, &d->strings, &off) || dyn->strings_bytes > d->strings.len)
		return elfdyn_corrupt(0, "the dynamic string table lies outside of the file", err);
	/* up to its last NUL, so that every offset within it is that of a string with an end */
	d->strings.len = (size_t)dyn->strings_bytes;
	nul = d->strings.len ? memrchr(d->strings.data, 0, d->strings.len) : NULL;
	d->strings.len = nul ? (size_t)(nul - d->strings.data) + 1 : 0;
	return MPK_OK;
}

static enum mpk_code read_needed(struct mpk_elfdyn *d, struct mpk_span section,
				 const struct dynamic *dyn, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	const char **names = mpk_arena_array(arena, dyn->needed_count + 1, sizeof *names);
	dynamic_t e;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; entry_at(section, i, &e, sizeof e) && e.d_tag != DT_NULL; i++) {
		if (e.d_tag != DT_NEEDED)
			continue;
		names[d->needed_count] = string_at(d, e.d_un.d_val);
		if (!names[d->needed_count++])
			return elfdyn_corrupt(
				0,
				"the name of a needed library lies outside the dynamic string table",
				err);
	}
	d->needed = names;
	if (dyn->run_path || dyn->r_path)
		d->run_path = string_at(d, dyn->run_path ? dyn->run_path : dyn->r_path);
	return MPK_OK;
}

/* --- symbols ----------------------------------------------------------------------------------- */

/* DT_HASH has the number of symbols. */
static bool count_by_hash(const struct mpk_elfdyn *d, uint64_t address, size_t *count)
{
	struct mpk_span table;
	hash_word_t chains;
	uint64_t off;

	if (!at_address(d, address, &table, &off) || !entry_at(table, 1, &chains, sizeof chains))
		return false;
	*count = (size_t)chains;
	return true;
}

/* DT_GNU_HASH has the first defined symbol; the chain of the highest bucket ends with the last one. */
static bool count_by_gnu_hash(const struct mpk_elfdyn *d, uint64_t address, size_t *count)
{
	struct mpk_span table, chains;
	uint32_t head[4], last = 0, bucket, hash;
	uint64_t off, buckets;

	if (!at_address(d, address, &table, &off) || !entry_at(table, 0, head, sizeof head))
		return false;
	buckets = sizeof head + (uint64_t)head[2] * sizeof(uintptr_t);
	for (uint32_t i = 0; i < head[0]; i++) {
		struct mpk_span at;

		if (!mpk_span_sub(table, buckets + (uint64_t)i * 4, 4, &at))
			return false;
		memcpy(&bucket, at.data, sizeof bucket);
		last = bucket > last ? bucket : last;
	}
	*count = head[1];
	if (last < head[1])
		return true;
	off = buckets + (uint64_t)head[0] * 4;
	if (off > table.len)
		return false;
	chains = mpk_span_of(table.data + off, table.len - (size_t)off);
	for (uint64_t i = last - head[1]; entry_at(chains, (size_t)i, &hash, sizeof hash); i++) {
		*count = head[1] + (size_t)i + 1;
		if (hash & 1)
			return true;
	}
	return false;
}

static enum mpk_code read_symbols(struct mpk_elfdyn *d, const struct dynamic *dyn,
				  struct mpk_error *err)
{
	uint64_t off;
	bool known = true;

	if (dyn->symbol_bytes && dyn->symbol_bytes != sizeof(symbol_t))
		return elfdyn_corrupt(0, "dynamic symbols have an impossible size", err);
	if (!at_address(d, dyn->symbols, &d->symbols, &off))
		return elfdyn_corrupt(0, "the dynamic symbols lie outside of the file", err);
	if (dyn->hash)
		known = count_by_hash(d, dyn->hash, &d->symbol_count);
	else if (dyn->gnu_hash)
		known = count_by_gnu_hash(d, dyn->gnu_hash, &d->symbol_count);
	if (!known || d->symbol_count > d->symbols.len / sizeof(symbol_t))
		return elfdyn_corrupt(off, "the dynamic symbols end beyond the end of the file",
				      err);
	return MPK_OK;
}

/* --- slots ------------------------------------------------------------------------------------- */

struct slots {
	struct mpk_elfdyn *object;
	struct mpk_slot *items; /* has space for all */
	size_t count;
	uint64_t symbols_off;
};

static enum mpk_slot_kind kind_of(uint32_t type, bool has_addend)
{
	if (type == here.call)
		return MPK_SLOT_CALL;
	return has_addend && (type == here.address || type == here.word) ? MPK_SLOT_ADDRESS
									 : MPK_SLOT_OTHER;
}

/* Notes a slot if the file does not define its symbol; the dynamic linker handles others alone. */
static enum mpk_code note_slot(struct slots *s, const rela_t *r, bool has_addend,
			       struct mpk_error *err)
{
	struct mpk_elfdyn *d = s->object;
	size_t index = ELF64_R_SYM(r->r_info);
	const char *name;
	symbol_t symbol;

	if (!index)
		return MPK_OK;
	if (!entry_at(d->symbols, index, &symbol, sizeof symbol))
		return elfdyn_corrupt(0, "a relocation names a symbol that is not there", err);
	/* a hash table may leave out symbols that are never looked up */
	if (index >= d->symbol_count)
		d->symbol_count = index + 1;
	if (symbol.st_shndx != SHN_UNDEF)
		return MPK_OK;
	name = string_at(d, symbol.st_name);
	if (!name || !is_in_memory(d, r->r_offset, sizeof(void *)))
		return elfdyn_corrupt(0, "a relocation or its symbol lies outside of the file",
				      err);
	s->items[s->count++] = (struct mpk_slot){
		.name = name,
		.kind = kind_of(ELF64_R_TYPE(r->r_info), has_addend),
		.address = r->r_offset,
		.addend = r->r_addend,
		.entry = s->symbols_off + index * sizeof symbol,
	};
	return MPK_OK;
}

static enum mpk_code note_table(struct slots *s, struct mpk_span table, bool has_addends,
				struct mpk_error *err)
{
	size_t each = has_addends ? sizeof(rela_t) : sizeof(rel_t);

	for (size_t i = 0; i < table.len / each; i++) {
		rela_t r = { 0 };

		(void)entry_at(table, i, &r, each);
		MPK_TRY(note_slot(s, &r, has_addends, err));
	}
	return MPK_OK;
}

static enum mpk_code find_table(const struct mpk_elfdyn *d, uint64_t address, uint64_t bytes,
				struct mpk_span *out, struct mpk_error *err)
{
	uint64_t off;

	*out = (struct mpk_span){ 0 };
	if (!bytes)
		return MPK_OK;
	if (!at_address(d, address, out, &off) || bytes > out->len)
		return elfdyn_corrupt(0, "relocations lie outside of the file", err);
	out->len = (size_t)bytes;
	return MPK_OK;
}

enum mpk_code mpk_elfdyn_read(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_elfdyn *out, struct mpk_error *err)
{
	struct dynamic dyn = { 0 };
	segment_t dynamic = { 0 };
	struct mpk_span section;
	header_t header;
	dynamic_t e;

	*out = (struct mpk_elfdyn){ .bytes = bytes };
	MPK_TRY(read_header(bytes, &header, err));
	MPK_TRY(read_segments(out, &header, arena, &dynamic, err));
	if (!mpk_span_sub(bytes, dynamic.p_offset, dynamic.p_filesz, &section) || !section.len)
		return mpk_fail(err, MPK_E_LOAD, "not a shared library: it has no dynamic section");
	for (size_t i = 0; entry_at(section, i, &e, sizeof e) && e.d_tag != DT_NULL; i++)
		note_entry(out, &dyn, &e, dynamic.p_offset + i * sizeof e);
	MPK_TRY(read_dynamic_strings(out, &dyn, err));
	MPK_TRY(read_needed(out, section, &dyn, arena, err));
	MPK_TRY(read_symbols(out, &dyn, err));

	bool rela_calls = dyn.calls_kind == DT_RELA;
	struct mpk_span rela, rel, calls, ignored;
	struct slots s = { .object = out };

	MPK_TRY(find_table(out, dyn.rela, dyn.rela_bytes, &rela, err));
	MPK_TRY(find_table(out, dyn.rel, dyn.rel_bytes, &rel, err));
	MPK_TRY(find_table(out, dyn.calls, dyn.calls_bytes, &calls, err));
	/* some linkers include the relocations of calls in DT_RELASZ */
	if (rela_calls && calls.len && rela.len && calls.data >= rela.data &&
	    calls.data + calls.len <= rela.data + rela.len)
		calls.len = 0;
	(void)at_address(out, dyn.symbols, &ignored, &s.symbols_off);
	MPK_TRY_ARRAY(s.items, arena,
		      rela.len / sizeof(rela_t) + rel.len / sizeof(rel_t) +
			      calls.len / sizeof(rel_t) + 1,
		      err);
	MPK_TRY(note_table(&s, rela, true, err));
	MPK_TRY(note_table(&s, rel, false, err));
	MPK_TRY(note_table(&s, calls, rela_calls, err));
	out->slots = s.items;
	out->slot_count = s.count;
	return MPK_OK;
}

/* --- symbols that are not loaded --------------------------------------------------------------- */

void mpk_elfdyn_take_all_symbols(struct mpk_elfdyn *d)
{
	struct mpk_span table, symbols, strings;
	const uint8_t *nul;
	Elf64_Shdr s, names;
	header_t h;

	memcpy(&h, d->bytes.data, sizeof h);
	if (!mpk_span_sub(d->bytes, h.e_shoff, (uint64_t)h.e_shnum * sizeof s, &table))
		return;
	for (size_t i = 0; entry_at(table, i, &s, sizeof s); i++)
		if (s.sh_type == SHT_SYMTAB && entry_at(table, s.sh_link, &names, sizeof names) &&
		    mpk_span_sub(d->bytes, s.sh_offset, s.sh_size, &symbols) &&
		    mpk_span_sub(d->bytes, names.sh_offset, names.sh_size, &strings) &&
		    strings.len && (nul = memrchr(strings.data, 0, strings.len))) {
			d->symbols = symbols;
			d->symbol_count = symbols.len / sizeof(symbol_t);
			d->strings = mpk_span_of(strings.data, (size_t)(nul - strings.data) + 1);
			return;
		}
}

/* --- the symbols as a mpk_symbol_source ---------------------------------------------------------- */

/* Skips the null symbol at the beginning of every table. */
static enum mpk_code elfdyn_get(const void *self, size_t index, struct mpk_symbol *out,
				struct mpk_error *err)
{
	const struct mpk_elfdyn *d = self;
	symbol_t s;

	if (!entry_at(d->symbols, index + 1, &s, sizeof s))
		return elfdyn_corrupt(0, "the dynamic symbols end beyond the end of the file", err);
	*out = (struct mpk_symbol){
		.name = string_at(d, s.st_name),
		.value = s.st_value,
		.bytes = s.st_size,
		.section = s.st_shndx,
		.type = ELF64_ST_TYPE(s.st_info),
		.bind = ELF64_ST_BIND(s.st_info),
		.visibility = ELF64_ST_VISIBILITY(s.st_other),
		.defined = s.st_shndx != SHN_UNDEF,
	};
	if (!out->name)
		return elfdyn_corrupt(
			0, "the name of a symbol lies outside of the dynamic string table", err);
	return MPK_OK;
}

static enum mpk_code elfdyn_bytes(const void *self, const struct mpk_symbol *s,
				  struct mpk_span *out, uint64_t *off, struct mpk_error *err)
{
	const struct mpk_elfdyn *d = self;

	if (!at_address(d, s->value, out, off) || s->bytes > out->len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"the bytes of symbol %.64s lie outside of the file", s->name);
	if (s->bytes)
		out->len = (size_t)s->bytes;
	return MPK_OK;
}

static const char *elfdyn_section(const void *self, const struct mpk_symbol *s)
{
	(void)self, (void)s;
	return NULL;
}

struct mpk_symbol_source mpk_elfdyn_source(const struct mpk_elfdyn *object)
{
	return (struct mpk_symbol_source){ .self = object,
					   .count = object->symbol_count ? object->symbol_count - 1
									 : 0,
					   .size = object->bytes.len,
					   .get = elfdyn_get,
					   .bytes = elfdyn_bytes,
					   .section = elfdyn_section };
}
