/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c - the files that a manifest names: found beside it, or in memory */
#include "package/internal/loader.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/vec.h"
#include "text/escape.h"

const char *mpk_loader_path(struct mpk_loader *l, struct mpk_toml_str name)
{
	const char *dir = name.text[0] == '/' ? "" : l->manifest->dir;

	/* "-" is a file here, standard input is for command lines; and compilers take "-x.c" for an
	 * option, "@x.c" for a file of options */
	if (!dir[0] && (name.text[0] == '-' || name.text[0] == '@'))
		dir = "./";
	const char *path = mpk_arena_printf(l->arena, "%s%s", dir, name.text);
	if (!path ||
	    !mpk_vec_reserve(&l->inputs, &l->input_cap, l->input_count + 1, sizeof *l->inputs)) {
		l->failed = true;
		return NULL;
	}
	return l->inputs[l->input_count++] = path;
}

void mpk_loader_error(struct mpk_loader *l, struct mpk_pos pos, enum mpk_code code,
		      const char *check, const char *fmt, ...)
{
	struct mpk_error err = { .code = code, .at = { .line = pos.line, .column = pos.column } };
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err.text, sizeof err.text, fmt, ap);
	va_end(ap);
	mpk_error_at_file(&err, l->manifest->path);
	mpk_report_add(l->report, MPK_ERROR, check, &err);
}

const struct mpk_memory_file *mpk_loader_memory_file(const struct mpk_loader *l,
						     struct mpk_toml_str name)
{
	size_t i;

	return mpk_strmap_find(&l->memory_names, mpk_toml_str_span(name), &i) ? &l->memory_files[i]
									      : NULL;
}

/* A map's values are numbers; a file's is its address, which stays as long as the arena. */
static struct mpk_file *opened_before(const struct mpk_loader *l, const char *path)
{
	size_t at;

	return mpk_strmap_find(&l->opened, mpk_span_str(path), &at) ? (struct mpk_file *)at : NULL;
}

static struct mpk_file *remember(struct mpk_loader *l, struct mpk_file *f)
{
	size_t ignored;

	if (mpk_strmap_put(&l->opened, mpk_span_str(f->path), (size_t)f, &ignored) < 0)
		l->failed = true;
	return f;
}

struct mpk_file *mpk_loader_open(struct mpk_loader *l, struct mpk_toml_str name)
{
	const struct mpk_memory_file *memory = mpk_loader_memory_file(l, name);
	const char *path = mpk_loader_path(l, name);
	struct mpk_error err = { 0 };
	struct mpk_file *f;

	if (!path)
		return NULL;
	f = opened_before(l, path);
	if (f)
		return f;
	f = mpk_arena_alloc(l->arena, sizeof *f);

	if (!f) {
		l->failed = true;
		return NULL;
	}
	if (memory) { /* nobody's to close, so it is not listed */
		*f = (struct mpk_file){ .map = { .bytes = memory->bytes, .fd = -1 }, .path = path };
		return remember(l, f);
	}
	if (mpk_mapping_open(path, &f->map, &err) != MPK_OK) {
		mpk_loader_error(l, name.pos, err.code, "payload-file", "'%s': %s",
				 MPK_QUOTE(mpk_toml_str_span(name)), err.text);
		return NULL;
	}
	/* a package may have more small files than a process has descriptors */
	if (f->map.bytes.len < MPK_LARGE_BYTES)
		mpk_mapping_close_file(&f->map);
	f->path = path;
	f->next = l->files;
	l->files = f;
	return remember(l, f);
}

const struct mpk_code_info *mpk_loader_code(struct mpk_loader *l, struct mpk_file *f)
{
	struct mpk_code_info *code;

	if (f->code)
		return f->code;
	code = mpk_arena_alloc(l->arena, sizeof *code);
	if (!code || mpk_code_info_read(f->map.bytes, 0, NULL, l->arena, code, NULL) != MPK_OK) {
		l->failed = true;
		return NULL;
	}
	return f->code = code;
}

void mpk_loader_put(const struct mpk_file *f, uint64_t off, uint64_t len, struct mpk_rope *rope)
{
	struct mpk_span view;

	if (f->map.fd >= 0 && f->map.mapped)
		mpk_rope_put_file(rope, f->map.fd, off, len);
	else if (mpk_span_sub(f->map.bytes, off, len, &view))
		mpk_rope_put_view(rope, view);
}
