/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables and keys of mpack.toml */
#ifndef MPK_MANIFEST_INTERNAL_SCHEMA_H
#define MPK_MANIFEST_INTERNAL_SCHEMA_H

#include <stddef.h>

#include "base/compiler.h"
#include "manifest/manifest.h"

/* A [[function]] as written: the keys of a single step are in the table itself. */
struct mpk_manifest_launch_row {
	struct mpk_manifest_launch launch;
	struct mpk_manifest_step own;
};

/* The result of reading the file; rows stay writable until all checks are done. */
struct mpk_manifest_draft {
	struct mpk_manifest package; /* [package]: name, abi, root, ... */
	struct mpk_manifest_module *modules;
	size_t module_count;
	struct mpk_manifest_launch_row *launches;
	size_t launch_count;
};

/* The keys of [package], which precedes everything that needs them. */
static inline const struct mpk_manifest *mpk_manifest_package(const struct mpk_toml_reader *r)
{
	return r->user;
}

/* --- rows of schemas: MEMBER is a key's name, too --- */

#define MPK_SCHEMA_ROWS(schema) .rows = &(schema)
#define MPK_SCHEMA_KEY(kind_, type, member, required_)                                             \
	{ .name = #member,                                                                         \
	  .kind = MPK_TOML_FIELD_##kind_,                                                          \
	  .required = (required_),                                                                 \
	  .off = offsetof(type, member) }
#define MPK_SCHEMA_TABLES(name_, type, member, counter, schema)                                    \
	{ .name = name_,                                                                           \
	  .kind = MPK_TOML_FIELD_TABLES,                                                           \
	  .off = offsetof(type, member),                                                           \
	  .count_off = offsetof(type, counter),                                                    \
	  MPK_SCHEMA_ROWS(schema) }
#define MPK_SCHEMA_OF(what_, type, rows_)                                                          \
	.what = what_, .fields = rows_, .field_count = MPK_ARRAY_COUNT(rows_),                     \
	.bytes = sizeof(type), .pos_off = offsetof(type, pos)

/* The whole file, into struct mpk_manifest_draft. */
extern const struct mpk_toml_schema mpk_manifest_schema;

/* A [[module]], into struct mpk_manifest_module; a [[module.function]], into struct mpk_manifest_function. */
extern const struct mpk_toml_schema mpk_manifest_module_schema, mpk_manifest_kernel_schema;

/* A [[function]], into struct mpk_manifest_launch_row. */
extern const struct mpk_toml_schema mpk_manifest_launch_schema;

#endif
