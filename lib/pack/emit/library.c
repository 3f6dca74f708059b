/* SPDX-License-Identifier: Apache-2.0 */
/* Makes libraries: from objects and the blob's object by linking, or from a finished library by
 * replacing its blob. All outputs use the same code to read files that tools made, and to write.
 * Every output except a bare blob is read again before it gets its name, so that a defect in the
 * linker is found here and not when the library is loaded.
 *
 * A small blob is passed to the linker; for a large one the linker gets a stub. The linked stub is
 * then extended to the blob by copying ranges of files, which takes as long as cp. If the linker's
 * layout does not allow that, the stub's object is extended and linked again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/strmap.h"
#include "elf/edit.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "emit/internal/emit.h"
#include "io/mapping.h"
#include "io/reader.h"
#include "text/escape.h"
#include "toolchain/toolchain.h"

/* --- files that tools made, and writing ------------------------------------------- */

/* Refuses host code without any function to call; a package with a blob always has one. */
static enum mpk_code library_accept(const struct mpk_build *b, struct mpk_span bytes,
				    struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (!b->e->blob && !b->e->allow_empty)
		mpk_emit_judge(b->e, bytes, &why);
	if (!why.len)
		return MPK_OK;
	(void)mpk_fail(err, MPK_E_CONFLICT,
		       "%s; --allow-empty writes a file that no loader opens all the same",
		       mpk_strbuf_text(&why));
	mpk_error_at_file(err, b->e->out);
	return MPK_E_CONFLICT;
}

static enum mpk_code accept_output(const struct mpk_build *b, const struct mpk_output *o,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (b->e->blob || mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return library_accept(b, map.bytes, err);
}

/* A seal covers the finished bytes and is written into them, so the output is read again. */
static enum mpk_code seal_output(const struct mpk_build *b, const struct mpk_output *o,
				 struct mpk_error *err)
{
	if (mpk_output_is_through(o))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"what goes into a pipe or a device cannot be signed on its way");
	return mpk_seal_file(mpk_output_fd(o), b->e->seal, err);
}

/* Checks the finished file before it gets its name: a loader finds the blob, a function can be
 * called, and the seal is valid. Intermediate files are not checked. WebAssembly files are not,
 * because this program cannot read them. */
enum mpk_code mpk_build_write(struct mpk_build *b, const char *path, unsigned mode,
			      const struct mpk_packed *s, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_rope_status(s->rope, err));
	if (b->e->tools.dry_run)
		return MPK_OK;
	MPK_TRY(mpk_output_open(path, mode, &o, err));
	enum mpk_code code = mpk_packed_write(s, o, err);
	if (code == MPK_OK && path == b->e->out && b->e->kind != MPK_EMIT_BLOB &&
	    b->e->tools.target.format != MPK_OBJECT_WASM)
		code = mpk_confirm_output(o, b->e->blob, err);
	if (code == MPK_OK && path == b->e->out)
		code = accept_output(b, o, err);
	if (code == MPK_OK && path == b->e->out && b->e->seal)
		code = seal_output(b, o, err);
	return mpk_output_finish(o, code, err);
}

/* Makes a view of the mapping: nothing is copied before the output is written. */
enum mpk_code mpk_build_file_open(struct mpk_build *b, const char *path, struct mpk_build_file *out,
				  struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_open(path, &out->map, err));
	out->rope = mpk_rope_of(b->c.arena);
	mpk_rope_put_view(&out->rope, out->map.bytes);
	out->packed = (struct mpk_packed){ .rope = &out->rope, .blob = b->e->blob };
	return mpk_rope_status(&out->rope, err);
}

/* Makes the file writable in memory except for the bytes in keep. The rope is empty afterwards. */
static enum mpk_code library_patch(struct mpk_build *b, struct mpk_span keep,
				   struct mpk_build_file *f, struct mpk_error *err)
{
	MPK_TRY(mpk_private_open(&f->map, keep, &f->data, err));
	f->rope = mpk_rope_of(b->c.arena);
	f->packed.file = &f->data;
	return MPK_OK;
}

/* The note must be found before the headers change, because its offset is computed from them. */
enum mpk_code mpk_build_file_extend(struct mpk_build *b, const char *path,
				    struct mpk_build_file *out, struct mpk_error *err)
{
	MPK_TRY(mpk_build_file_open(b, path, out, err));
	MPK_TRY(library_patch(b, mpk_span_of(NULL, 0), out, err));
	MPK_TRY(mpk_packed_note(out->map.bytes, b->symbol, b->id, b->c.arena, &out->packed.note,
				err));
	return mpk_elf_extend(&out->data, b->symbol, b->e->blob, &out->rope, err);
}

void mpk_build_file_close(struct mpk_build_file *f)
{
	mpk_private_close(&f->map, &f->data);
	mpk_mapping_close(&f->map);
	memset(f, 0, sizeof *f);
}

/* --- linking ----------------------------------------------------------------------- */

/* The linker would hash its inputs, which may contain a stub, so two libraries with different
 * weights would get the same build id. Our build id is one half from the digest of the blob and one
 * half from everything else. The blob of a linked stub is hashed while it is copied, so its half is
 * written later (emit/packed.c). */
static enum mpk_code build_id(struct mpk_build *b, struct mpk_error *err)
{
	uint8_t digest[MPK_BUILD_ID_BYTES];

	if (b->e->tools.dry_run)
		return MPK_OK;
	MPK_TRY(mpk_link_hash(&b->c, b->symbol, digest, err));
	memcpy(b->id, b->digest, MPK_NOTE_ID_HALF);
	memcpy(b->id + MPK_NOTE_ID_HALF, digest, MPK_NOTE_ID_HALF);
	return MPK_OK;
}

static enum mpk_code run_link(struct mpk_build *b, const char *out, const char *blob_object,
			      struct mpk_error *err)
{
	/* Undefined symbols are allowed: host code calls functions that only its loader defines. */
	struct mpk_link l = { .out = out,
			      .last = blob_object,
			      .no_undefined = b->e->source_count == 0 && !b->e->system_lib };

	memcpy(l.id, b->id, sizeof l.id);
	return mpk_link_run(&b->c, &l, err);
}

/* --- from the linker's file to the output ---------------------------------------- */

static enum mpk_code library_confirm(const struct mpk_build *b, const char *linked,
				     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { 0 };

	if (b->e->tools.target.format != MPK_OBJECT_ELF)
		return MPK_OK;
	MPK_TRY(mpk_mapping_open(linked, &map, err));
	enum mpk_code code = mpk_confirm_file(&map, b->e->blob, err);
	if (code != MPK_OK)
		mpk_error_prefix(err, "'%s' made ", b->e->tools.cc.items[0]);
	return code == MPK_OK ? library_accept(b, map.bytes, err) : code;
}

/* The file is still in our scratch folder. */
static enum mpk_code seal(const struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	int fd = b->e->seal ? open(linked, O_RDWR | O_CLOEXEC) : -1;

	if (!b->e->seal)
		return MPK_OK;
	if (fd < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot open what was linked");
	enum mpk_code code = mpk_seal_file(fd, b->e->seal, err);
	(void)close(fd);
	return code;
}

static enum mpk_code library_take(struct mpk_build *b, const char *linked, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(library_confirm(b, linked, err));
	MPK_TRY(seal(b, linked, err));
	MPK_TRY(mpk_output_open(b->e->out, 0777, &o, err));
	return mpk_output_finish(o, mpk_output_take(o, linked, err), err);
}

/* Extends the object and has the linker copy it, for machines without .lrodata and for layouts that
 * cannot be extended. */
static enum mpk_code link_extended_object(struct mpk_build *b, const char *linked,
					  struct mpk_error *err)
{
	const char *full = mpk_scratch_file(&b->c.scratch, b->c.arena, "full.o");
	struct mpk_build_file f = { 0 };
	enum mpk_code code = full ? MPK_OK : mpk_fail_nomem(err);

	if (code == MPK_OK && !b->e->tools.dry_run) {
		code = mpk_build_file_extend(b, b->blob_object, &f, err);
		if (code == MPK_OK)
			code = mpk_build_write(b, full, 0666, &f.packed, err);
		mpk_build_file_close(&f);
	}
	return code == MPK_OK ? run_link(b, linked, full, err) : code;
}

/* Extends the linked stub. If the linker's layout does not allow that, has the linker copy the
 * blob. */
static enum mpk_code extend_linked(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_tool_hooks *hooks = b->e->tools.hooks;
	struct mpk_error why = { 0 };
	enum mpk_code code = mpk_build_file_extend(b, b->linked, &b->extended, &why);

	b->is_extended = code == MPK_OK;
	if (code == MPK_OK)
		hooks->step(hooks->data, "extending the linked stub to the blob");
	if (code != MPK_E_UNSUPPORTED) {
		if (code != MPK_OK && err)
			*err = why;
		return code;
	}
	mpk_build_file_close(&b->extended); /* the linker will write that file again */
	mpk_error_prefix(&why,
			 "the linked file cannot be extended, so the linker copies the blob: ");
	hooks->note(hooks->data, why.text);
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, b->e->blob, NULL, b->digest, err));
	memcpy(b->id, b->digest, MPK_NOTE_ID_HALF);
	return link_extended_object(b, b->linked, err);
}

/* --- C functions that a manifest calls but the library does not define ---------------- */

/* A linker leaves undefined names for the loader, because host code may call functions that only a
 * loader knows. But an undefined name from a manifest is usually misspelt. */

/* System libraries with versioned symbols: undefined symbols that belong to them have versions,
 * too. */
static bool has_own_versions(const char *word)
{
	static const char *const known[] = { "-lm",  "-lc",      "-ldl",   "-lpthread",
					     "-lrt", "-lstdc++", "-lgcc_s" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(known); i++)
		if (strcmp(word, known[i]) == 0)
			return true;
	return false;
}

/* Whether an undefined symbol without a version may come from a library that the linker was
 * given. */
static bool may_be_elsewhere(const struct mpk_emit *e)
{
	for (size_t i = 0; i < e->tools.libraries.count; i++)
		if (!has_own_versions(e->tools.libraries.items[i]))
			return true;
	for (size_t i = 0; i < e->tools.ldflags.count; i++)
		if (!has_own_versions(e->tools.ldflags.items[i]))
			return true;
	return false;
}

/* Lists functions that other code may call, without those that mpack and compilers generate. */
static enum mpk_code list_functions(const struct mpk_elf *elf, struct mpk_arena *arena,
				    struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	struct mpk_symtab table;
	struct mpk_symbol symbol;

	*count = 0;
	MPK_TRY(mpk_symtab_static(elf, &table, err));
	if (!table.count) /* the library was linked with -s */
		MPK_TRY(mpk_symtab_dynamic(elf, &table, err));
	MPK_TRY_ARRAY(*out, arena, table.count, err);
	for (size_t i = 1; i < table.count; i++) {
		MPK_TRY(mpk_symtab_get(&table, i, &symbol, err));
		if (symbol.defined && symbol.type == STT_FUNC && symbol.bind != STB_LOCAL &&
		    strncmp(symbol.name, "__", 2) != 0)
			(*out)[(*count)++] = mpk_span_str(symbol.name);
	}
	return MPK_OK;
}

/* "_Z4axpbPKfPfi" is what a compiler of C++ calls axpb(const float *, float *, int). */
static bool is_mangled(struct mpk_span symbol, const char *name, struct mpk_arena *arena)
{
	const char *begin = mpk_arena_printf(arena, "_Z%zu%s", strlen(name), name);

	return begin && mpk_span_starts(symbol, begin);
}

static const char *hint_of(const char *name, const struct mpk_span *names, size_t count,
			   struct mpk_arena *arena)
{
	size_t near = mpk_closest(mpk_span_str(name), names, count);

	for (size_t i = 0; i < count; i++)
		if (is_mangled(names[i], name, arena))
			return "; a function of C++ has that name: declare it extern \"C\"";
	return near < count
		       ? mpk_arena_printf(arena, "; did you mean '%s'?", MPK_QUOTE(names[near]))
		       : "";
}

static enum mpk_code refuse_callee(const struct mpk_emit *e, const struct mpk_called *c,
				   const struct mpk_elf *elf, struct mpk_arena *arena,
				   struct mpk_error *err)
{
	struct mpk_span *names;
	const char *hint;
	size_t count;

	MPK_TRY(list_functions(elf, arena, &names, &count, err));
	hint = hint_of(c->symbol, names, count, arena);
	MPK_TRY_ALLOC(hint, err);
	(void)mpk_fail(
		err, MPK_E_NOTFOUND,
		"function '%s' calls '%s', which no source, object or library here defines%s",
		MPK_QUOTE(mpk_span_str(c->function)), MPK_QUOTE(mpk_span_str(c->symbol)), hint);
	if (err) {
		err->at.line = c->line;
		err->at.column = c->column;
	}
	mpk_error_at_file(err, e->manifest);
	return MPK_E_NOTFOUND;
}

static const struct mpk_called *find_called(const struct mpk_emit *e, const char *symbol)
{
	for (size_t i = 0; i < e->called_count; i++)
		if (strcmp(e->called[i].symbol, symbol) == 0)
			return &e->called[i];
	return NULL;
}

/* Refuses a library that does not define a C function which its manifest calls, unless a library
 * that was given to the linker may define it
 * Returns  MPK_OK; MPK_E_NOTFOUND with the place in the manifest and "did you mean";
 *          MPK_E_CORRUPT */
static enum mpk_code check_callees(const struct mpk_build *b, const char *linked,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	const struct mpk_emit *e = b->e;

	if (!e->called_count || e->tools.target.format != MPK_OBJECT_ELF || may_be_elsewhere(e))
		return MPK_OK;
	MPK_TRY(mpk_mapping_open(linked, &map, err));
	MPK_TRY(mpk_elf_open(map.bytes, 0, &elf, err));

	const struct mpk_undefined *list;
	const char *const *needed;
	size_t count, needed_count;

	MPK_TRY(mpk_versions_undefined(&elf, &arena, &list, &count, err));
	MPK_TRY(mpk_elf_needed(&elf, &arena, &needed, &needed_count, err));
	for (size_t i = 0; i < count; i++) {
		const struct mpk_called *c = find_called(e, list[i].name);

		/* Libraries without versions, such as musl's, may define any symbol. */
		if (c && !list[i].has_version && (list[i].any_version || !needed_count))
			return refuse_callee(e, c, &elf, &arena, err);
	}
	return MPK_OK;
}

static enum mpk_code check_linked(const struct mpk_build *b, struct mpk_error *err)
{
	MPK_TRY(mpk_link_check(&b->c, b->linked, err));
	return check_callees(b, b->linked, err);
}

/* Whether the linker must run again depends on the layout that it chose, so its output is read here
 * and not only when it is written. */
static enum mpk_code link_library(struct mpk_build *b, struct mpk_error *err)
{
	b->linked = mpk_scratch_file(&b->c.scratch, b->c.arena, "linked.so");
	MPK_TRY_ALLOC(b->linked, err);
	MPK_TRY(build_id(b, err));
	if (b->strategy == MPK_STRATEGY_EXTEND_OBJECT)
		return link_extended_object(b, b->linked, err);
	MPK_TRY(run_link(b, b->linked, b->blob_object, err));
	if (b->strategy != MPK_STRATEGY_EXTEND_LIBRARY || b->e->tools.dry_run)
		return MPK_OK;
	MPK_TRY(check_linked(b, err));
	return extend_linked(b, err);
}

static enum mpk_code write_library(struct mpk_build *b, struct mpk_error *err)
{
	if (b->e->tools.dry_run)
		return MPK_OK;
	if (b->strategy != MPK_STRATEGY_EXTEND_LIBRARY)
		MPK_TRY(check_linked(b, err));
	return b->is_extended ? mpk_build_write(b, b->e->out, 0777, &b->extended.packed, err)
			      : library_take(b, b->linked, err);
}

/* --- the blob of a finished library ----------------------------------------------- */

/* A standalone library's loader contains the offset of every kernel in the blob, so its blob cannot
 * be replaced. */
static enum mpk_code check_standalone(struct mpk_build *b, const struct mpk_image *image,
				      struct mpk_error *err)
{
	struct mpk_span now;

	MPK_TRY(mpk_rope_load(b->e->blob, b->c.arena, &now, err));
	if (image->blob.len >= now.len && memcmp(image->blob.data, now.data, now.len) == 0)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_UNSUPPORTED,
		"this library loads its kernels itself, from positions in its blob that its code knows: another blob cannot be put in; build it from its sources");
}

/* Finds the base's name for the blob, which has a prefix if the base was made as a system library.
 * @blob    receives the bytes of the old blob, if they can be found */
static enum mpk_code library_find_symbol(struct mpk_build *b, struct mpk_span file,
					 const char **symbol, struct mpk_span *blob,
					 struct mpk_error *err)
{
	struct mpk_image image;
	enum mpk_code code = mpk_image_open(file, NULL, b->c.arena, &image, err);

	*symbol = b->symbol;
	if (code == MPK_E_NOMEM)
		return code;
	if (code != MPK_OK || !image.has_blob || image.gen != b->e->gen)
		return MPK_OK;
	if (image.standalone)
		MPK_TRY(check_standalone(b, &image, err));
	if (!*b->e->prefix && image.standalone == (b->e->symbol != NULL))
		*symbol = image.blob_symbol;
	*blob = image.is_packed ? *blob : image.blob;
	return MPK_OK;
}

/* The old blob's bytes remain shared with the file; everything else may be changed in memory. */
static enum mpk_code replace(struct mpk_build *b, struct mpk_build_file *f, struct mpk_error *err)
{
	struct mpk_span blob = { 0 };
	const char *symbol = NULL;

	MPK_TRY(mpk_build_file_open(b, b->e->base, f, err));
	MPK_TRY(library_find_symbol(b, f->map.bytes, &symbol, &blob, err));
	MPK_TRY(library_patch(b, blob, f, err));
	MPK_TRY(mpk_packed_note(f->map.bytes, symbol, NULL, b->c.arena, &f->packed.note, err));
	/* The signature and the provenance no longer describe this file. */
	MPK_TRY(mpk_origin_void(&f->data, NULL, err));
	return mpk_elf_replace(&f->data, symbol, b->e->blob, b->c.arena, &f->rope, err);
}

/* A finished library needs no compiler, so no tool runs. */
static enum mpk_code build_base(struct mpk_build *b, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_build_file_close) struct mpk_build_file f = { 0 };

	b->e->tools.hooks->step(b->e->tools.hooks->data, "replacing the blob of the base library");
	enum mpk_code code = replace(b, &f, err);
	if (code == MPK_OK)
		return mpk_build_write(b, b->e->out, 0777, &f.packed, err);
	mpk_error_at_file(err, b->e->base);
	return code;
}

const struct mpk_emitter mpk_emitter_so = { .name = { "so", ".so" },
					    .is_linked = true,
					    .link = link_library,
					    .write = write_library,
					    .rebase = build_base };
