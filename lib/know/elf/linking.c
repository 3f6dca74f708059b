/* SPDX-License-Identifier: Apache-2.0 */
/* linking.c - the dynamic section as a dynamic linker reads it: relocations, hash table, and what
 * glibc refuses
 *
 * A dynamic linker loads a library by its program headers and dynamic section only. verify and
 * check report what it would meet, so everything is found by address in loaded segments, never by
 * section headers, which a dynamic linker does not read. The rules are those of the gABI, "Dynamic
 * Linking", and of glibc's elf/dl-load.c and dl-reloc.c. */
#include "elf/linking.h"

#include <inttypes.h>
#include <string.h>

#include "elf/symbols.h"

#ifndef R_AARCH64_TLS_TPREL /* older names */
#define R_AARCH64_TLS_TPREL 1030
#endif
#ifndef R_AARCH64_IRELATIVE /* musl 1.2.3 does not define it */
#define R_AARCH64_IRELATIVE 1032
#endif

/* Whether a file is ELF64. AArch64 numbers its relocations differently in ELF32 files (ILP32). */
static bool is_wide(const struct mpk_elf *e)
{
	return mpk_elf_word_bytes(e) == 8;
}

/* A file has one PT_DYNAMIC; further ones are ignored. */
static enum mpk_code linking_find(const struct mpk_elf *e, GElf_Phdr *out, struct mpk_error *err)
{
	for (size_t i = 0; mpk_elf_segment(e, i, out); i++)
		if (out->p_type == PT_DYNAMIC)
			return MPK_OK;
	return mpk_fail(err, MPK_E_CORRUPT,
			"it has no dynamic section, by which a library is loaded");
}

/* Whether the section ends with DT_NULL: glibc reads up to it without looking at the section's
 * size. */
static bool has_end(const struct mpk_linking *l)
{
	GElf_Dyn d;

	for (size_t i = 0; i < l->count && gelf_getdyn(l->dynamic, (int)i, &d); i++)
		if (d.d_tag == DT_NULL)
			return true;
	return false;
}

/* ELFv1 of PowerPC64 has them, ELFv2 does not; the version is in the last two bits of e_flags. */
static bool has_descriptors(const struct mpk_elf *e)
{
	switch (e->header.e_machine) {
	case EM_PPC64:
		return (e->header.e_flags & 3) != 2;
	case EM_IA_64:
	case EM_PARISC:
		return true;
	default:
		return false;
	}
}

/* The dynamic linker reads at p_vaddr, not at p_offset; both must give the same bytes. */
enum mpk_code mpk_linking_open(const struct mpk_elf *e, struct mpk_linking *out,
			       struct mpk_error *err)
{
	struct mpk_linking l = { .elf = e, .has_descriptors = has_descriptors(e) };
	struct mpk_span loaded;
	GElf_Phdr p;
	uint64_t off;

	MPK_TRY(linking_find(e, &p, err));
	if (!mpk_elf_at_address(e, p.p_vaddr, &loaded, &off) || off != p.p_offset ||
	    loaded.len < p.p_filesz)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + p.p_offset,
				       "the dynamic section is not loaded at its address");
	MPK_TRY(mpk_dynamic_open(e, &l.dynamic, &l.count, err));
	l.off = p.p_offset;
	if (!has_end(&l))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + l.off,
				       "the dynamic section has no end (DT_NULL)");
	MPK_TRY(mpk_dynamic_strings(e, l.dynamic, l.count, &l.strings, err));
	*out = l;
	return MPK_OK;
}

/* --- types ------------------------------------------------------------------------------ */

/* Whether glibc's dl-machine.h handles the type at run time; the other types are for the static
 * linker. */
static bool knows_type(const struct mpk_elf *e, uint32_t type)
{
	switch (e->header.e_machine) {
	case EM_X86_64:
		return type <= R_X86_64_PC32 ||
		       (type >= R_X86_64_COPY && type <= R_X86_64_RELATIVE) ||
		       type == R_X86_64_32 ||
		       (type >= R_X86_64_DTPMOD64 && type <= R_X86_64_TPOFF64) ||
		       type == R_X86_64_PC64 || type == R_X86_64_SIZE32 ||
		       type == R_X86_64_SIZE64 ||
		       (type >= R_X86_64_TLSDESC && type <= R_X86_64_RELATIVE64);
	case EM_AARCH64:
		return !is_wide(e) || type == R_AARCH64_NONE ||
		       type == 256 /* the older number of NONE */ ||
		       (type >= R_AARCH64_ABS64 && type <= R_AARCH64_PREL16) ||
		       (type >= R_AARCH64_COPY && type <= R_AARCH64_IRELATIVE);
	default:
		return true;
	}
}

/* Classifies a relocation. The types of other machines are not known: their relocations are walked
 * and not judged. */
static void linking_classify(const struct mpk_elf *e, struct mpk_relocation *r)
{
	uint32_t relative = 0, call = 0, slot = 0, tls = 0;

	if (e->header.e_machine == EM_X86_64) {
		relative = R_X86_64_RELATIVE;
		call = R_X86_64_IRELATIVE;
		slot = R_X86_64_JUMP_SLOT;
		tls = R_X86_64_TPOFF64;
	} else if (e->header.e_machine == EM_AARCH64 && is_wide(e)) {
		relative = R_AARCH64_RELATIVE;
		call = R_AARCH64_IRELATIVE;
		slot = R_AARCH64_JUMP_SLOT;
		tls = R_AARCH64_TLS_TPREL;
	}
	r->is_relative = r->type && r->type == relative;
	r->is_call = r->type && r->type == call;
	r->is_lazy = r->is_lazy && r->type && r->type == slot;
	r->is_static_tls = r->type && r->type == tls;
	r->is_foreign = !knows_type(e, r->type);
}

/* --- relocations -------------------------------------------------------------------------- */

struct walk {
	const struct mpk_linking *linking;
	void (*take)(void *arg, const struct mpk_relocation *r);
	void *arg;
};

/* Finds one of the tables.
 * @out     receives its offset and size; size 0: the entry for it or for its size is missing */
static enum mpk_code find_table(const struct mpk_linking *l, int64_t at, int64_t size,
				GElf_Shdr *out, struct mpk_error *err)
{
	struct mpk_span rest, ignored;
	uint64_t address, bytes;

	if (!mpk_dynamic_find(l->dynamic, l->count, at, &address) ||
	    !mpk_dynamic_find(l->dynamic, l->count, size, &bytes) || !bytes)
		return MPK_OK;
	if (!mpk_elf_at_address(l->elf, address, &rest, &out->sh_offset) ||
	    !mpk_span_sub(rest, 0, bytes, &ignored))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", l->elf->base + l->off,
				       "a table of relocations is not loaded");
	out->sh_size = bytes;
	return MPK_OK;
}

/* Entries are read by offset: libelf's accessors take the index as an int. */
static enum mpk_code walk_table(const struct walk *w, int64_t at, int64_t size, bool has_addends,
				struct mpk_error *err)
{
	const struct mpk_elf *e = w->linking->elf;
	GElf_Shdr table = { .sh_type = has_addends ? SHT_RELA : SHT_REL };
	size_t each = gelf_fsize(e->elf, has_addends ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	GElf_Rela x;

	MPK_TRY(find_table(w->linking, at, size, &table, err));
	if (table.sh_size % each)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + table.sh_offset,
				       "the table of relocations has %" PRIu64
				       " bytes, which is no multiple of %zu",
				       (uint64_t)table.sh_size, each);
	for (size_t i = 0;
	     i < mpk_elf_relocations(e, &table) && mpk_elf_relocation(e, &table, i, &x); i++) {
		struct mpk_relocation r = {
			.address = x.r_offset,
			.symbol = GELF_R_SYM(x.r_info),
			.type = (uint32_t)GELF_R_TYPE(x.r_info),
			.is_lazy = at == DT_JMPREL,
			.has_addend = has_addends,
			.addend = x.r_addend,
			.off = table.sh_offset + i * each,
		};

		linking_classify(e, &r);
		w->take(w->arg, &r);
	}
	return MPK_OK;
}

/* DT_PLTREL gives the form of DT_JMPREL; without it RELA is assumed. */
enum mpk_code mpk_linking_relocations(const struct mpk_linking *l,
				      void (*take)(void *arg, const struct mpk_relocation *r),
				      void *arg, struct mpk_error *err)
{
	const struct walk w = { l, take, arg };
	uint64_t plt = DT_RELA;

	(void)mpk_dynamic_find(l->dynamic, l->count, DT_PLTREL, &plt);
	MPK_TRY(walk_table(&w, DT_RELA, DT_RELASZ, true, err));
	MPK_TRY(walk_table(&w, DT_REL, DT_RELSZ, false, err));

	/* DT_RELR: an address, then words whose bits select the words after it (gABI,
	 * "Relocation"). */
	const struct mpk_elf *e = w.linking->elf;
	uint64_t word = mpk_elf_word_bytes(e), next = 0, value;
	struct mpk_relocation r = { .is_relative = true };
	GElf_Shdr table = { 0 };

	MPK_TRY(find_table(w.linking, MPK_DT_RELR, MPK_DT_RELRSZ, &table, err));
	if (table.sh_size % word)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + table.sh_offset,
				       "DT_RELRSZ is no multiple of %" PRIu64, word);
	for (uint64_t at = 0; at < table.sh_size; at += word) {
		r.off = table.sh_offset + at;
		if (!mpk_elf_word(e, r.off, &value))
			break;
		if (!(value & 1)) {
			r.address = value;
			w.take(w.arg, &r);
			next = value + word;
			continue;
		}
		for (uint64_t i = 0; i < 8 * word - 1; i++) {
			r.address = next + i * word;
			if (value >> (i + 1) & 1)
				w.take(w.arg, &r);
		}
		next += (8 * word - 1) * word;
	}

	return walk_table(&w, DT_JMPREL, DT_PLTRELSZ, plt == DT_RELA, err);
}

/* Three entries mean the same; linkers write one or more of them. */
bool mpk_linking_binds_now(const struct mpk_linking *l)
{
	const uint64_t df_bind_now = 8, df_1_now = 1; /* gABI; glibc's elf.h */
	uint64_t flags;

	return mpk_dynamic_find(l->dynamic, l->count, DT_BIND_NOW, &flags) ||
	       (mpk_dynamic_find(l->dynamic, l->count, DT_FLAGS, &flags) && flags & df_bind_now) ||
	       (mpk_dynamic_find(l->dynamic, l->count, DT_FLAGS_1, &flags) && flags & df_1_now);
}

const char *mpk_linking_refusal(const struct mpk_linking *l)
{
	const uint64_t df_1_noopen = 0x40, df_1_pie = 0x08000000;
	uint64_t flags;

	if (l->elf->header.e_type == ET_EXEC)
		return "is a program, which is not loaded into another";
	if (!mpk_dynamic_find(l->dynamic, l->count, DT_FLAGS_1, &flags))
		return NULL;
	return flags & df_1_pie
		       ? "is a position-independent program (DF_1_PIE), which is not loaded into another"
	       : flags & df_1_noopen
		       ? "says that it is not to be opened while a process runs (DF_1_NOOPEN)"
		       : NULL;
}

/* --- the hash table, checked as a whole ----------------------------------------------------- */

struct gnu_hash {
	const struct mpk_elf *elf;
	uint64_t bloom, buckets, chains; /* offsets in the file */
	uint64_t word;                   /* bytes of one word of the Bloom filter */
	uint32_t bucket_count, first, bloom_count, shift;
	uint64_t name_bytes; /* bytes of names that were hashed */
};

/* The GNU hash: 33 * hash + byte, from 5381, as in glibc's dl_new_hash. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* Whether both bits of a name are set in the Bloom filter; else the dynamic linker does not read
 * the chain. */
static bool is_in_bloom(const struct gnu_hash *h, uint32_t hash)
{
	uint64_t bits = 8 * h->word, word;
	uint64_t at = h->bloom + h->word * (hash / bits & (h->bloom_count - 1));

	return mpk_elf_word(h->elf, at, &word) && (word >> hash % bits & 1) &&
	       (word >> (hash >> (h->shift & 31)) % bits & 1);
}

/* Returns  false: the chain leaves the table, or has a symbol that belongs to another chain */
static bool check_chain(struct gnu_hash *h, const struct mpk_symtab *symbols, uint32_t bucket,
			size_t *left)
{
	struct mpk_error ignored = { 0 };
	uint32_t index, hash;

	if (!mpk_elf_u32(h->elf, h->buckets + 4 * (uint64_t)bucket, &index))
		return false;
	if (!index)
		return true;
	if (index < h->first)
		return false;
	do {
		struct mpk_symbol symbol;
		uint32_t name_hash;

		if (!*left || index >= symbols->count ||
		    !mpk_elf_u32(h->elf, h->chains + 4 * (uint64_t)(index - h->first), &hash) ||
		    mpk_symtab_get(symbols, index, &symbol, &ignored) != MPK_OK)
			return false;
		h->name_bytes += strlen(symbol.name);
		if (mpk_elf_check_names("symbols", h->elf->base, h->elf->bytes.len, index,
					h->name_bytes, &ignored) != MPK_OK)
			return false;
		name_hash = hash_of(symbol.name);
		if ((name_hash | 1) != (hash | 1) || name_hash % h->bucket_count != bucket ||
		    !is_in_bloom(h, name_hash))
			return false;
		--*left;
		index++;
	} while (!(hash & 1));
	return true;
}

/* glibc masks with bloom_count - 1, so only a power of two is a valid size. */
static bool open_hash(const struct mpk_elf *e, uint64_t off, struct gnu_hash *out)
{
	struct gnu_hash h = { .elf = e, .word = mpk_elf_word_bytes(e), .bloom = off + 16 };

	if (!mpk_elf_u32(e, off, &h.bucket_count) || !mpk_elf_u32(e, off + 4, &h.first) ||
	    !mpk_elf_u32(e, off + 8, &h.bloom_count) || !mpk_elf_u32(e, off + 12, &h.shift) ||
	    !h.bucket_count || !h.bloom_count || (h.bloom_count & (h.bloom_count - 1)))
		return false;
	h.buckets = h.bloom + h.word * h.bloom_count;
	h.chains = h.buckets + 4 * (uint64_t)h.bucket_count;
	*out = h;
	return true;
}

/* Every symbol must be reached exactly once: a loader cannot find one that is not reached. */
enum mpk_code mpk_linking_check_hash(const struct mpk_linking *l, const struct mpk_symtab *symbols,
				     struct mpk_error *err)
{
	struct gnu_hash h = { 0 };
	uint64_t address, off = 0;
	struct mpk_span rest;
	size_t count, left;
	bool is_whole;

	if (!mpk_dynamic_find(l->dynamic, l->count, DT_GNU_HASH, &address) ||
	    !mpk_elf_at_address(l->elf, address, &rest, &off))
		return MPK_OK;
	is_whole = open_hash(l->elf, off, &h);
	left = count = symbols->count > h.first ? symbols->count - h.first : 0;
	/* no symbol is in two chains, so chains are followed for as many steps as there are symbols */
	for (uint32_t i = 0; is_whole && i < h.bucket_count; i++)
		is_whole = check_chain(&h, symbols, i, &left);
	/* the table of a library that defines nothing has one empty bucket */
	if (is_whole && (!left || left == count))
		return MPK_OK;
	return mpk_fail_offset(
		err, MPK_E_CORRUPT, "file", l->elf->base + off,
		"the hash table (DT_GNU_HASH) does not lead to the symbols of the library");
}

/* --- the header: what glibc refuses before it looks at a file's symbols -------------------- */

enum mpk_code mpk_linking_check_header(const struct mpk_elf *e, struct mpk_error *err)
{
	const uint8_t *ident = e->header.e_ident;
	/* glibc's elf/dl-load.c accepts versions of ELFOSABI_GNU up to that of absolute symbols */
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

/* Notes relocations for thread-local variables of the library itself; those of other libraries are
 * placed with these. */
static void linking_take(void *arg, const struct mpk_relocation *r)
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
	MPK_TRY(mpk_linking_relocations(l, linking_take, &w, err));
	for (size_t i = 0; w.own && mpk_elf_segment(l->elf, i, &p); i++)
		if (p.p_type == PT_TLS)
			*out = (struct mpk_linking_tls){ p.p_memsz, p.p_align };
	return MPK_OK;
}

/* --- a search for a name, by the steps of glibc's do_lookup_x (elf/dl-lookup.c); every address is
 * checked ------- */

static bool read_u32(const struct mpk_elf *e, uint64_t address, uint32_t *out)
{
	struct mpk_span ignored;
	uint64_t off;

	return mpk_elf_at_address(e, address, &ignored, &off) && mpk_elf_u32(e, off, out);
}

static bool read_word(const struct mpk_elf *e, uint64_t address, uint64_t *out)
{
	struct mpk_span ignored;
	uint64_t off;

	return mpk_elf_at_address(e, address, &ignored, &off) && mpk_elf_word(e, off, out);
}

void mpk_hash_open(const struct mpk_linking *l, const struct mpk_symtab *symbols,
		   struct mpk_hash *out)
{
	struct mpk_hash h = { .elf = l->elf, .symbols = symbols, .left = UINT64_C(1) << 24 };
	uint64_t at;

	h.exists = mpk_dynamic_find(l->dynamic, l->count, DT_GNU_HASH, &at) &&
		   read_u32(l->elf, at, &h.bucket_count) && read_u32(l->elf, at + 4, &h.first) &&
		   read_u32(l->elf, at + 8, &h.bloom_count) && read_u32(l->elf, at + 12, &h.shift);
	h.bloom = h.exists ? at + 16 : 0;
	h.buckets = h.bloom + mpk_elf_word_bytes(l->elf) * (uint64_t)h.bloom_count;
	h.chains = h.buckets + 4 * (uint64_t)h.bucket_count;
	h.stops_loading = h.exists && (h.bloom_count & (h.bloom_count - 1));
	*out = h;
}

static bool hash_is_named(const struct mpk_hash *h, uint32_t index, const char *name)
{
	struct mpk_symbol s;

	return index < h->symbols->count && mpk_symtab_get(h->symbols, index, &s, NULL) == MPK_OK &&
	       s.defined && strcmp(s.name, name) == 0;
}

/* @after   a symbol of the chain: the search continues after it; 0: at the beginning
 * @found   receives the index of the symbol */
static enum mpk_hash_found hash_follow(struct mpk_hash *h, uint32_t index, uint32_t hash,
				       const char *name, size_t after, size_t *found)
{
	uint32_t link;

	do {
		*found = index;
		if (!h->left)
			return MPK_HASH_FOUND;
		h->left--;
		if (!read_u32(h->elf, h->chains + 4 * ((uint64_t)index - h->first), &link))
			return MPK_HASH_STRAYS;
		if (index > after && (link | 1) == (hash | 1) && hash_is_named(h, index, name))
			return MPK_HASH_FOUND;
		index++;
	} while (!(link & 1));
	return MPK_HASH_LOST;
}

static enum mpk_hash_found hash_search(struct mpk_hash *h, const char *name, size_t after,
				       size_t *found)
{
	uint32_t hash = hash_of(name), bits = 8 * (uint32_t)mpk_elf_word_bytes(h->elf), index;
	uint64_t word;

	if (!h->bucket_count)
		return MPK_HASH_LOST;
	if (!read_word(h->elf, h->bloom + bits / 8 * (uint64_t)(hash / bits & (h->bloom_count - 1)),
		       &word))
		return MPK_HASH_STRAYS;
	if (!(word >> hash % bits & 1) || !(word >> (hash >> (h->shift & 31)) % bits & 1))
		return MPK_HASH_LOST;
	if (!read_u32(h->elf, h->buckets + 4 * (uint64_t)(hash % h->bucket_count), &index))
		return MPK_HASH_STRAYS;
	return index ? hash_follow(h, index, hash, name, after, found) : MPK_HASH_LOST;
}

enum mpk_hash_found mpk_hash_find(struct mpk_hash *h, const char *name)
{
	size_t ignored;

	return h->exists ? hash_search(h, name, 0, &ignored) : MPK_HASH_FOUND;
}

size_t mpk_hash_next(struct mpk_hash *h, const char *name, size_t after)
{
	size_t found;

	return h->exists && h->left && hash_search(h, name, after, &found) == MPK_HASH_FOUND &&
			       found < h->symbols->count
		       ? found
		       : 0;
}
