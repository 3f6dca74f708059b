/* schema.h - the tables and keys of mpack.toml */
#ifndef MPK_MANIFEST_SCHEMA_H
#define MPK_MANIFEST_SCHEMA_H

#include "manifest/manifest.h"

/* A [[function]] as it is written: the keys of a single step stand in the table itself. */
struct mpk_mlaunch_row {
	struct mpk_mlaunch launch;
	struct mpk_mstep own;
};

/* What reading the file fills; rows stay writable until all checks are done. */
struct mpk_mdraft {
	struct mpk_manifest package; /* [package]: name, abi, root, ... */
	struct mpk_mmodule *modules;
	size_t module_count;
	struct mpk_mlaunch_row *launches;
	size_t launch_count;
};

/* The whole file, into struct mpk_mdraft. */
extern const struct mpk_toml_schema mpk_mschema_file;

/* mpk_mpackage_check - the rules of [package] that need no module (struct mpk_manifest) */
void mpk_mpackage_check(struct mpk_toml_reader *r, void *package);

/* mpk_mmodule_check - the rules of one [[module]] that need no other module (struct mpk_mmodule) */
void mpk_mmodule_check(struct mpk_toml_reader *r, void *module);

/* mpk_mfunction_check - the same for one [[module.function]] (struct mpk_mfunction) */
void mpk_mfunction_check(struct mpk_toml_reader *r, void *function);

#endif
