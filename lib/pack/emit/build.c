/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/internal/build.h"

#include <string.h>

#include "base/compiler.h"
#include "emit/confirm.h"
#include "sandbox/sandbox.h"

const char *const *mpk_build_env(const struct mpk_build *b)
{
	return (const char *const *)b->scratch.env;
}

struct mpk_process mpk_build_process(const struct mpk_build *b, const char *const *argv)
{
	return (struct mpk_process){
		.argv = argv,
		.env = mpk_build_env(b),
		.output = b->e->log ? MPK_OUTPUT_LOG : MPK_OUTPUT_MESSAGES,
		.fd = b->e->log,
	};
}

enum mpk_code mpk_build_tool(struct mpk_build *b, const char *const *argv, const char *what,
			     struct mpk_error *err)
{
	struct mpk_job job = { .process = mpk_build_process(b, argv), .what = what };

	b->e->hooks->command(b->e->hooks->data, argv);
	return b->e->dry_run ? MPK_OK : mpk_jobs_run(&job, 1, 1, err);
}

void mpk_build_settled(const struct mpk_build *b)
{
	if (b->e->hooks->settled && !b->e->dry_run)
		b->e->hooks->settled(b->e->hooks->data, b->scratch.path);
}

void mpk_build_confine_llvm(const struct mpk_build *b)
{
	const char *writable[] = { b->scratch.path };
	static const int none;
	const struct mpk_sandbox s = {
		.writable = writable,
		.writable_count = 1,
		.replaces = b->scratch.keep, /* what an earlier build left there */
		.kept = &none,
		.kept_count = 0,
	};

	/* a sanitizer's runtime starts a process to look for leaks */
	if (!b->e->no_sandbox && !MPK_IS_SANITIZED)
		(void)mpk_sandbox_enter(&s);
}

enum mpk_code mpk_build_note(struct mpk_build *b, struct mpk_error *err)
{
	const struct mpk_emit *e = b->e;
	bool later = b->strategy == MPK_STRATEGY_EXTEND_LIBRARY ||
		     (b->strategy == MPK_STRATEGY_EXTEND_OBJECT && e->kind == MPK_EMIT_OBJ);

	if (!e->blob || !e->name || e->target.format != MPK_OBJECT_ELF)
		return MPK_OK;
	if (!later && !e->dry_run)
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, e->blob, NULL, b->digest, err));
	b->note = mpk_note_text(b->arena, e->name, b->symbol, b->digest);
	MPK_TRY_ALLOC(b->note, err);
	if (strlen(b->note) >= MPK_NOTE_TEXT_MAX)
		return mpk_fail(
			err, MPK_E_RANGE,
			"the package's name, of %zu bytes, is too long for the note that tells it",
			strlen(e->name));
	return MPK_OK;
}

struct mpk_csource mpk_build_csource(const struct mpk_build *b)
{
	return (struct mpk_csource){ .form = MPK_CSOURCE_PLAIN,
				     .symbol = b->symbol,
				     .bytes = b->e->blob,
				     .register_fn = b->register_fn,
				     .note = b->note };
}

enum mpk_code mpk_build_accept(const struct mpk_build *b, struct mpk_span bytes,
			       struct mpk_error *err)
{
	const struct mpk_emit_hooks *hooks = b->e->hooks;

	return b->e->blob || !hooks->accept ? MPK_OK : hooks->accept(hooks->data, bytes, err);
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

static enum mpk_code seal_output(const struct mpk_build *b, const struct mpk_output *o,
				 struct mpk_error *err)
{
	if (mpk_output_is_through(o))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"what goes into a pipe or a device cannot be signed on its way");
	return mpk_seal_file(mpk_output_fd(o), b->e->seal, err);
}

enum mpk_code mpk_build_write_packed(struct mpk_build *b, const char *path, unsigned mode,
				     const struct mpk_packed *s, struct mpk_error *err)
{
	struct mpk_output *o = NULL;

	MPK_TRY(mpk_rope_status(s->rope, err));
	if (b->e->dry_run)
		return MPK_OK;
	MPK_TRY(mpk_output_open(path, mode, &o, err));
	enum mpk_code code = mpk_packed_write(s, o, err);
	if (code == MPK_OK && path == b->e->out && b->e->kind != MPK_EMIT_BLOB &&
	    b->e->target.format != MPK_OBJECT_WASM)
		code = mpk_confirm_output(o, b->e->blob, err);
	if (code == MPK_OK && path == b->e->out)
		code = accept_output(b, o, err);
	if (code == MPK_OK && path == b->e->out && b->e->seal)
		code = seal_output(b, o, err);
	return mpk_output_finish(o, code, err);
}

enum mpk_code mpk_build_write(struct mpk_build *b, const struct mpk_rope *rope,
			      struct mpk_error *err)
{
	struct mpk_packed s = { .rope = rope };

	return mpk_build_write_packed(b, b->e->out, 0666, &s, err);
}
