/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_body.h - the keys of one module of an unpacked manifest, and its files (internal) */
#ifndef MPK_PACKAGE_INTERNAL_UNPACK_BODY_H
#define MPK_PACKAGE_INTERNAL_UNPACK_BODY_H

#include "base/strbuf.h"
#include "package/package.h"
#include "payload.h"

/* A list that grows; free items. */
struct mpk_unpack_files {
	struct mpk_memory_file *items;
	size_t count, cap;
};

/* mpk_unpack_add - append a file; name and bytes are borrowed
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_unpack_add(struct mpk_unpack_files *files, const char *name,
			     struct mpk_span bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_unpack_put_text - append a TOML string; what is no UTF-8 stays and will not parse */
void mpk_unpack_put_text(struct mpk_strbuf *out, struct mpk_span s);

/* mpk_unpack_body_parts - keys and files of a module whose kind is packed from parts
 * Nothing is appended for other kinds and for payloads that do not decode. Whether the keys
 * give the same bytes again is the caller's to try.
 * @folder  where the files go
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_unpack_body_parts(const struct mpk_node *node, enum mpk_generation gen,
				    const char *folder, struct mpk_unpack_files *files,
				    struct mpk_arena *arena, struct mpk_strbuf *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_unpack_body_raw - `payload` and its file, for any module */
enum mpk_code mpk_unpack_body_raw(const struct mpk_node *node, const char *folder,
				  struct mpk_unpack_files *files, struct mpk_arena *arena,
				  struct mpk_strbuf *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
