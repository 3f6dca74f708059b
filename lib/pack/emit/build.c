/* SPDX-License-Identifier: Apache-2.0 */
/* What all outputs share: files that tools made, and writing. Every output but a
 * bare blob is read again before it takes its name, so that a broken linker is found here and not
 * where the library is loaded. */
#include "emit/internal/emit.h"

#include <string.h>

#include "elf/edit.h"
#include "toolchain/confirm.h"

void mpk_build_settled(const struct mpk_build *b)
{
	const struct mpk_emit_hooks *hooks = b->e->hooks;

	if (hooks && hooks->settled && !b->e->tools.dry_run)
		hooks->settled(hooks->data, b->c.scratch.path);
}

/* A package with a blob can always be used: what is asked here is about host code alone. */
enum mpk_code mpk_build_accept(const struct mpk_build *b, struct mpk_span bytes,
			       struct mpk_error *err)
{
	const struct mpk_emit_hooks *hooks = b->e->hooks;

	return b->e->blob || !hooks || !hooks->accept ? MPK_OK
						      : hooks->accept(hooks->data, bytes, err);
}

static enum mpk_code accept_output(const struct mpk_build *b, const struct mpk_output *o,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping map = { .fd = -1 };

	if (b->e->blob || mpk_output_is_through(o))
		return MPK_OK;
	MPK_TRY(mpk_mapping_of_fd(mpk_output_fd(o), "output", &map, err));
	return mpk_build_accept(b, map.bytes, err);
}

/* A seal is over the finished bytes and is written into them, so they must be read again. */
static enum mpk_code seal_output(const struct mpk_build *b, const struct mpk_output *o,
				 struct mpk_error *err)
{
	if (mpk_output_is_through(o))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"what goes into a pipe or a device cannot be signed on its way");
	return mpk_seal_file(mpk_output_fd(o), b->e->seal, err);
}

/* Three looks at the finished file before it takes its name: that a loader finds the blob,
 * that a function can be called, and the seal. Intermediate files in the scratch folder
 * need none. WebAssembly has no reader here. */
enum mpk_code mpk_build_write_packed(struct mpk_build *b, const char *path, unsigned mode,
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

/* A view of the mapping: nothing is copied before the output is written. */
enum mpk_code mpk_build_file_open(struct mpk_build *b, const char *path, struct mpk_build_file *out,
				  struct mpk_error *err)
{
	MPK_TRY(mpk_mapping_open(path, &out->map, err));
	out->rope = mpk_rope_of(b->c.arena);
	mpk_rope_put_view(&out->rope, out->map.bytes);
	out->packed = (struct mpk_packed){ .rope = &out->rope, .blob = b->e->blob };
	return mpk_rope_status(&out->rope, err);
}

enum mpk_code mpk_build_file_patch(struct mpk_build *b, struct mpk_span keep,
				   struct mpk_build_file *f, struct mpk_error *err)
{
	MPK_TRY(mpk_private_open(&f->map, keep, &f->data, err));
	f->rope = mpk_rope_of(b->c.arena);
	f->packed.file = &f->data;
	return MPK_OK;
}

/* The note is looked for before the headers are changed, as its place follows from them. */
enum mpk_code mpk_build_file_extend(struct mpk_build *b, const char *path,
				    struct mpk_build_file *out, struct mpk_error *err)
{
	MPK_TRY(mpk_build_file_open(b, path, out, err));
	MPK_TRY(mpk_build_file_patch(b, mpk_span_of(NULL, 0), out, err));
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
