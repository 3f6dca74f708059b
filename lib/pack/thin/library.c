/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - thins a library or a static archive to the device code of chosen architectures
 *
 * First each container is thinned. Then references.c finds the addresses that point to containers,
 * move.c places the containers, and layout.c arranges the file. Containers are never merged or
 * removed, even if empty, because host code registers each by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ar/ar.h"
#include "base/vec.h"
#include "elf/foreign.h"
#include "elf/image.h"
#include "elf/note.h"
#include "text/escape.h"
#include "thin/internal/sycl.h"
#include "trust/origin.h"

enum { WORD_BYTES = 8 };

struct library {
	struct mpk_elf elf;
	struct mpk_thin thin;
	struct mpk_thin_section *sections; /* malloc'ed; sorted by file offset */
	size_t section_count, section_cap;
	struct mpk_thin_container
		*containers; /* malloc'ed; loaded sections first, otherwise in any order */
	size_t container_count, container_cap, loaded_count;
	struct mpk_thin_patches patches;
	struct mpk_thin_blob blob;
	struct mpk_thin_sycl sycl;
	bool failed; /* there is no memory */
	struct mpk_error *err;
};

static void sycl_fini(struct mpk_thin_sycl *s)
{
	free(s->words);
	free(s->sections);
	free(s->tables);
	free(s->images);
	free(s->ranges);
}

static void library_fini(struct library *l)
{
	mpk_elf_close(&l->elf);
	mpk_strbuf_fini(&l->thin.missing);
	free(l->sections);
	free(l->containers);
	free(l->patches.items);
	sycl_fini(&l->sycl);
}

/* Whether the bytes begin like a little-endian object for a linker. */
static bool is_linker_input(struct mpk_span file)
{
	enum { TYPE_AT = 16 };

	return mpk_span_starts(file, ELFMAG) && file.len > TYPE_AT + 2 &&
	       file.data[EI_DATA] == ELFDATA2LSB && file.data[TYPE_AT] == ET_REL &&
	       !file.data[TYPE_AT + 1];
}

/* Reports what the file is instead, and what to do. */
static enum mpk_code refuse(struct mpk_span file, struct mpk_error *err)
{
	struct mpk_foreign f;

	if (mpk_span_starts(file, "\x1f\x8b"))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"this is packed by gzip; gunzip it, and thin what comes out");
	if (mpk_foreign_find(file, &f))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"this is %s; a library, program, object, archive, wheel or fatbin "
				"is thinned",
				f.what);
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"not an ELF file; a library, program, object, archive, wheel or fatbin is "
			"thinned");
}

static enum mpk_code library_open(struct library *l, struct mpk_span file)
{
	const GElf_Ehdr *e = &l->elf.header;

	if (!mpk_span_starts(file, ELFMAG))
		return refuse(file, l->err);
	MPK_TRY(mpk_elf_open(file, 0, &l->elf, l->err));
	if ((e->e_type != ET_DYN && e->e_type != ET_EXEC) || !l->elf.segment_count)
		return mpk_fail(l->err, MPK_E_UNSUPPORTED,
				"only objects, archives, libraries and programs are thinned");
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (e->e_machine != EM_X86_64 && e->e_machine != EM_AARCH64))
		return mpk_fail(l->err, MPK_E_UNSUPPORTED,
				"only libraries for x86-64 and 64-bit Arm are thinned");
	return MPK_OK;
}

/* --- sections and their containers ---------------------------------------------------------------- */

/* Returns the SYCL images of the section with this header index; NULL: none. */
static const struct mpk_thin_sycl_section *sycl_section(const struct mpk_thin_sycl *s, size_t index)
{
	for (size_t i = 0; i < s->section_count; i++)
		if (s->sections[i].index == index)
			return &s->sections[i];
	return NULL;
}

/* A section with one device's images is thinned only if tables list its images. */
static enum mpk_code is_thinned(struct library *l, size_t index, const GElf_Shdr *h, bool *out)
{
	const struct mpk_thin_sycl_section *sycl = sycl_section(&l->sycl, index);
	const char *name = mpk_elf_section_name(&l->elf, index);
	const struct mpk_code_target *target = NULL;
	struct mpk_span bytes;

	*out = name && h->sh_size && mpk_elf_is_device_section(name);
	if (!*out || h->sh_type == SHT_NOBITS ||
	    !mpk_span_sub(l->elf.bytes, h->sh_offset, h->sh_size, &bytes))
		return MPK_OK;
	if (sycl && sycl->has_images) {
		*out = sycl->drops;
		return MPK_OK;
	}
	MPK_TRY(mpk_thin_section_target(name, bytes, l->thin.arena, &target, l->err));
	*out = !target;
	return target ? mpk_thin_leave(&l->thin, target, l->err) : MPK_OK;
}

MPK_ORDER_BY(by_section_offset, struct mpk_thin_section, header.sh_offset)

static bool has_blob(const struct library *l, const GElf_Shdr *h)
{
	uint64_t off = (uint64_t)(l->blob.old.data - l->elf.bytes.data);

	return l->blob.changed && (h->sh_flags & SHF_ALLOC) && h->sh_type != SHT_NOBITS &&
	       off >= h->sh_offset && off - h->sh_offset < h->sh_size &&
	       l->blob.old.len <= h->sh_size - (off - h->sh_offset);
}

static enum mpk_code find_sections(struct library *l)
{
	uint64_t left = l->elf.bytes.len;

	for (size_t i = 1; i < l->elf.section_count; i++) {
		struct mpk_thin_section s = { .index = i };
		bool thinned;

		MPK_TRY(mpk_elf_section(&l->elf, i, &s.header, l->err));
		MPK_TRY(is_thinned(l, i, &s.header, &thinned));
		if (!thinned && !has_blob(l, &s.header))
			continue;
		if (s.header.sh_type == SHT_NOBITS || !s.header.sh_size)
			continue;
		if (s.header.sh_size > left)
			return mpk_fail_offset(l->err, MPK_E_CORRUPT, "file", s.header.sh_offset,
					       "sections of device code overlap");
		left -= s.header.sh_size;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(l->sections, l->section_count, l->section_cap), l->err);
		l->sections[l->section_count++] = s;
	}
	if (l->section_count)
		qsort(l->sections, l->section_count, sizeof *l->sections, by_section_offset);
	return MPK_OK;
}

static enum mpk_code add_container(struct library *l, struct mpk_thin_section *s,
				   struct mpk_thin_container *c, struct mpk_span bytes)
{
	uint64_t off = (uint64_t)(bytes.data - l->elf.bytes.data);

	c->bytes = bytes;
	c->off = off;
	c->address = s->header.sh_addr + (off - s->header.sh_offset);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(l->containers, l->container_count, l->container_cap), l->err);
	l->containers[l->container_count++] = *c;
	s->container_count++;
	return MPK_OK;
}

/* The blob and the containers beside it keep their addresses. */
static enum mpk_code split_around_blob(struct library *l, struct mpk_thin_section *s)
{
	struct mpk_span old = l->blob.old;
	struct mpk_thin_container host = { .is_host = true, .pinned = true };
	struct mpk_thin_container blob = { .changed = true, .pinned = true };
	const uint8_t *begin = l->elf.bytes.data + s->header.sh_offset;
	const uint8_t *end = begin + s->header.sh_size;

	blob.content = l->blob.content;
	if (old.data > begin)
		MPK_TRY(add_container(l, s, &host, mpk_span_of(begin, (size_t)(old.data - begin))));
	MPK_TRY(add_container(l, s, &blob, old));
	begin = old.data + old.len;
	while (begin < end && !*begin)
		begin++;
	return begin < end ? add_container(l, s, &host, mpk_span_of(begin, (size_t)(end - begin)))
			   : MPK_OK;
}

/* Bytes between images stay, unless they are a linker's zeros. */
static enum mpk_code add_between(struct library *l, struct mpk_thin_section *s, uint64_t at,
				 uint64_t end)
{
	struct mpk_thin_container c = { .is_host = true, .pinned = true };
	const uint8_t *begin = l->elf.bytes.data + s->header.sh_offset;

	while (at < end && !begin[at])
		at++;
	if (at == end)
		return MPK_OK;
	l->thin.report->left++;
	return add_container(l, s, &c, mpk_span_of(begin + at, (size_t)(end - at)));
}

static enum mpk_code split_images(struct library *l, struct mpk_thin_section *s)
{
	const struct mpk_thin_sycl *sycl = &l->sycl;
	uint64_t at = 0;

	for (size_t i = 0; i < sycl->range_count; i++) {
		const struct mpk_thin_sycl_range *r = &sycl->ranges[i];
		struct mpk_thin_container c = { .is_binary = true,
						.is_registered = true,
						.changed = !r->kept,
						.is_gone = !r->kept };

		if (sycl->sections[r->section].index != s->index)
			continue;
		MPK_TRY(add_between(l, s, at, r->begin - s->header.sh_addr));
		MPK_TRY(add_container(l, s, &c, r->bytes));
		at = r->end - s->header.sh_addr;
	}
	return add_between(l, s, at, s->header.sh_size);
}

/* Bytes after the last container stay. */
static enum mpk_code split_section(struct library *l, struct mpk_thin_section *s)
{
	const char *name = mpk_elf_section_name(&l->elf, s->index);
	struct mpk_span bytes;
	size_t at = 0, len;
	bool is_empty;

	if (has_blob(l, &s->header))
		return split_around_blob(l, s);
	if (sycl_section(&l->sycl, s->index))
		return split_images(l, s);
	if (!mpk_span_sub(l->elf.bytes, s->header.sh_offset, s->header.sh_size, &bytes))
		return mpk_fail(l->err, MPK_E_CORRUPT, "a section lies beyond the end");
	for (;; at += len) {
		struct mpk_thin_container c = { .is_relocatable =
							strcmp(name, MPK_THIN_RELOCATABLE) == 0 };

		while (at < bytes.len && !bytes.data[at])
			at++;
		if (at == bytes.len)
			return MPK_OK;
		len = mpk_device_container_bytes(bytes, at, &is_empty);
		c.pinned = !len;
		len = len ? len : bytes.len - at;
		MPK_TRY(add_container(l, s, &c, mpk_span_of(bytes.data + at, len)));
	}
}

static enum mpk_code thin_section(struct library *l, struct mpk_thin_section *s)
{
	const char *name = mpk_elf_section_name(&l->elf, s->index);

	for (size_t i = 0; i < s->container_count; i++) {
		struct mpk_thin_container *c = &s->containers[i];
		char where[80];

		(void)snprintf(where, sizeof where, "%s:%zu", name, i);
		if (c->pinned && c->changed)
			continue; /* the section contains a blob */
		if (c->pinned || c->is_registered) {
			c->content = mpk_rope_of(l->thin.arena);
			if (!c->is_gone)
				mpk_rope_put_view(&c->content, c->bytes);
			continue;
		}
		l->thin.report->containers++;
		MPK_TRY(mpk_thin_container(&l->thin, c, where, l->err));
	}
	return MPK_OK;
}

static int by_address(const void *a, const void *b)
{
	const struct mpk_thin_section *x = *(struct mpk_thin_section *const *)a;
	const struct mpk_thin_section *y = *(struct mpk_thin_section *const *)b;
	bool loads_x = x->header.sh_flags & SHF_ALLOC, loads_y = y->header.sh_flags & SHF_ALLOC;

	if (loads_x != loads_y)
		return loads_x ? -1 : 1;
	return (x->header.sh_addr > y->header.sh_addr) - (x->header.sh_addr < y->header.sh_addr);
}

/* Containers of loaded sections come first, by address, so that they can be searched. */
static enum mpk_code find_containers(struct library *l)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_thin_section **order =
		mpk_arena_array(&scratch, l->section_count + 1, sizeof *order);
	size_t at = 0;

	MPK_TRY_ALLOC(order, l->err);
	for (size_t i = 0; i < l->section_count; i++)
		order[i] = &l->sections[i];
	qsort(order, l->section_count, sizeof *order, by_address);
	for (size_t i = 0; i < l->section_count; i++) {
		const GElf_Shdr *h = &order[i]->header, *before;

		before = i ? &order[i - 1]->header : NULL;
		if (before && (h->sh_flags & SHF_ALLOC) &&
		    h->sh_addr - before->sh_addr < before->sh_size)
			return mpk_fail_offset(l->err, MPK_E_CORRUPT, "file", h->sh_offset,
					       "sections of device code overlap");
		MPK_TRY(split_section(l, order[i]));
		if (h->sh_flags & SHF_ALLOC)
			l->loaded_count = l->container_count;
	}
	for (size_t i = 0; i < l->section_count; i++) {
		order[i]->containers = l->container_count ? l->containers + at : NULL;
		at += order[i]->container_count;
	}
	for (size_t i = 0; i < l->section_count; i++)
		MPK_TRY(thin_section(l, &l->sections[i]));
	return MPK_OK;
}

static bool has_changed(const struct library *l)
{
	for (size_t i = 0; i < l->container_count; i++)
		if (l->containers[i].changed)
			return true;
	return false;
}

/* --- notes that would be false ------------------------------------------------------------------------ */

static bool see_origin_note(void *data, const struct mpk_elf_note *n)
{
	struct library *l = data;
	bool had = false;

	if (!mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE) &&
	    !mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE))
		return true;
	for (size_t i = 0; i < n->text.len; i += WORD_BYTES) {
		size_t left = n->text.len - i;
		unsigned len = left < WORD_BYTES ? (unsigned)left : WORD_BYTES;

		for (unsigned k = 0; k < len; k++)
			had |= n->text.data[i + k] != 0;
		if (mpk_thin_patch_add(&l->patches, n->off + i, 0, len, l->err) != MPK_OK) {
			l->failed = true;
			return false;
		}
	}
	l->thin.report->had_origin |= had;
	return true;
}

/* A signature of the old bytes and the provenance of another build would be false. */
static enum mpk_code void_origin(struct library *l)
{
	mpk_elf_notes(&l->elf, see_origin_note, l);
	return l->failed ? mpk_fail_nomem(l->err) : MPK_OK;
}

/* --- the whole -------------------------------------------------------------------------------------------- */

static enum mpk_code thin_library(struct library *l, struct mpk_rope *out)
{
	MPK_TRY(mpk_thin_blob(&l->thin, l->elf.bytes, &l->blob, &l->patches, l->err));
	MPK_TRY(mpk_thin_sycl_read(&l->thin, &l->elf, &l->sycl, l->err));
	MPK_TRY(mpk_thin_see_found(&l->thin, &l->elf, l->blob.old, l->err));
	MPK_TRY(find_sections(l));
	if (!l->section_count) {
		mpk_rope_put_view(out, l->elf.bytes);
		return mpk_rope_status(out, l->err);
	}
	MPK_TRY(find_containers(l));
	MPK_TRY(mpk_thin_check_missing(&l->thin, l->containers, l->container_count, l->err));
	if (!has_changed(l)) {
		mpk_rope_put_view(out, l->elf.bytes);
		return mpk_rope_status(out, l->err);
	}
	MPK_TRY(mpk_thin_move(&l->elf, l->sections, l->section_count, l->containers,
			      l->loaded_count, &l->sycl, l->thin.report, &l->patches, l->err));
	MPK_TRY(void_origin(l));
	return mpk_thin_write(&l->elf, l->sections, l->section_count, &l->patches, l->thin.arena,
			      out, l->err);
}

/* --- archives
 * ---------------------------------------------------------------------------------------------
 *
 * An archive is written as `ar rcsD` does: an index with the symbols of the old index, then the
 * members in their order. */

struct archive {
	struct mpk_ar ar;
	struct mpk_ar_entry *entries;
	struct mpk_rope *contents;
	struct mpk_span *names; /* one for each symbol; those of a member are consecutive */
};

/* Members that are not objects stay unchanged. */
static enum mpk_code archive_member(struct archive *a, size_t i, const struct mpk_thin_options *o,
				    struct mpk_arena *arena, struct mpk_thin_report *report,
				    bool *changed, struct mpk_error *err)
{
	const struct mpk_ar_member *m = &a->ar.members[i];
	struct mpk_rope *out = &a->contents[i];
	enum mpk_code code;

	*out = mpk_rope_of(arena);
	a->entries[i] = (struct mpk_ar_entry){ .name = m->name, .content = out };
	if (!is_linker_input(m->data)) {
		mpk_rope_put_view(out, m->data);
		return mpk_rope_status(out, err);
	}
	code = mpk_thin_object(m->data, o, arena, out, report, err);
	if (code != MPK_OK) {
		mpk_error_prefix(err, "%s: ", MPK_QUOTE(m->name));
		return code;
	}
	*changed |= out->count != 1 || out->pieces[0].data != m->data.data;
	return MPK_OK;
}

static enum mpk_code thin_archive(struct mpk_span file, const struct mpk_thin_options *options,
				  struct mpk_arena *arena, struct mpk_rope *out,
				  struct mpk_thin_report *report, struct mpk_error *err)
{
	struct archive a = { 0 };
	bool changed = false;

	MPK_TRY(mpk_ar_read(file, arena, &a.ar, err));
	a.entries = mpk_arena_array(arena, a.ar.member_count + 1, sizeof *a.entries);
	a.contents = mpk_arena_array(arena, a.ar.member_count + 1, sizeof *a.contents);
	MPK_TRY_ALLOC(a.entries && a.contents, err);
	for (size_t i = 0; i < a.ar.member_count; i++)
		MPK_TRY(archive_member(&a, i, options, arena, report, &changed, err));
	if (!changed) {
		mpk_rope_put_view(out, file);
		return mpk_rope_status(out, err);
	}

	/* Symbols by member, in the order of the index. */
	size_t *at = mpk_arena_array(arena, a.ar.member_count + 1, sizeof *at), sum = 0;

	a.names = mpk_arena_array(arena, a.ar.symbol_count + 1, sizeof *a.names);
	MPK_TRY_ALLOC(at && a.names, err);
	for (size_t i = 0; i < a.ar.symbol_count; i++)
		a.entries[a.ar.symbols[i].member].symbol_count++;
	for (size_t i = 0; i < a.ar.member_count; i++) {
		a.entries[i].symbols = a.names + sum;
		at[i] = sum;
		sum += a.entries[i].symbol_count;
	}
	for (size_t i = 0; i < a.ar.symbol_count; i++)
		a.names[at[a.ar.symbols[i].member]++] = a.ar.symbols[i].name;
	MPK_TRY(mpk_ar_write(a.entries, a.ar.member_count, out, err));
	MPK_TRY(mpk_rope_status(out, err));
	return out->len <= file.len ? MPK_OK
				    : mpk_fail(err, MPK_E_UNSUPPORTED, "it would become larger");
}

/* Thins a file that is itself a container. */
static enum mpk_code thin_bare(struct mpk_thin *t, struct mpk_span file, struct mpk_rope *out,
			       struct mpk_error *err)
{
	struct mpk_thin_container c = { .bytes = file };

	t->report->containers++;
	MPK_TRY(mpk_thin_container(t, &c, "file:0", err));
	MPK_TRY(mpk_thin_check_missing(t, &c, 1, err));
	mpk_rope_put_rope(out, &c.content);
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_thin_library(struct mpk_span file, const struct mpk_thin_options *options,
			       struct mpk_arena *arena, struct mpk_rope *out,
			       struct mpk_thin_report *report, struct mpk_error *err)
{
	MPK_CLEANUP(library_fini)
	struct library l = { .thin = { .o = options, .arena = arena, .report = report },
			     .err = err };

	report->is_input = mpk_ar_is(file) || is_linker_input(file);
	if (mpk_ar_is(file))
		return thin_archive(file, options, arena, out, report, err);
	if (report->is_input)
		return mpk_thin_object(file, options, arena, out, report, err);
	if (mpk_thin_is_container(file))
		return thin_bare(&l.thin, file, out, err);
	MPK_TRY(library_open(&l, file));
	return thin_library(&l, out);
}
