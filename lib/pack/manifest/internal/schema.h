/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables and keys of mpack.toml */
#ifndef MPK_MANIFEST_INTERNAL_SCHEMA_H
#define MPK_MANIFEST_INTERNAL_SCHEMA_H

#include "manifest/manifest.h"

/* A [[function]] as it is written: the keys of a single step stand in the table itself. */
struct mpk_manifest_launch_row {
	struct mpk_manifest_launch launch;
	struct mpk_manifest_step own;
};

/* What reading the file fills; rows stay writable until all checks are done. */
struct mpk_manifest_draft {
	struct mpk_manifest package; /* [package]: name, abi, root, ... */
	struct mpk_manifest_module *modules;
	size_t module_count;
	struct mpk_manifest_launch_row *launches;
	size_t launch_count;
};

/* The whole file, into struct mpk_manifest_draft. */
extern const struct mpk_toml_schema mpk_manifest_schema;

/* A [[function]], into struct mpk_manifest_launch_row. */
extern const struct mpk_toml_schema mpk_manifest_launch_schema;

/* mpk_manifest_flags_check - the keys of a [[module]] that are for its compiler and linker */
void mpk_manifest_flags_check(struct mpk_toml_reader *r, const struct mpk_manifest_module *m);

/* mpk_manifest_module_check - the rules of one [[module]] that need no other module (struct mpk_manifest_module) */
void mpk_manifest_module_check(struct mpk_toml_reader *r, void *module);

#endif
