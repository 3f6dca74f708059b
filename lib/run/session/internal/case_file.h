/* SPDX-License-Identifier: Apache-2.0 */
/* case_file.h - the tables of a case file with the places of their values; for cases.c */
#ifndef MPK_SESSION_INTERNAL_CASE_FILE_H
#define MPK_SESSION_INTERNAL_CASE_FILE_H

#include "toml/toml.h"

/* What a case may say itself or leave to [defaults]. */
struct mpk_case_place {
	struct mpk_toml_str device, params;
	struct mpk_toml_number atol, rtol, timeout;
};

struct mpk_case_arg { /* one of the two is there */
	struct mpk_toml_str input, out;
	struct mpk_pos pos;
};

struct mpk_case_table { /* [[case]] */
	struct mpk_case_place place;
	struct mpk_toml_str name, run, keep, raises, skip;
	struct mpk_case_arg *args;
	size_t arg_count;
	struct mpk_toml_list expect, grid, block;
	struct mpk_toml_number shared, repeat, warmup;
	struct mpk_pos pos;
};

struct mpk_case_file {
	struct mpk_case_place defaults;
	struct mpk_case_table *cases;
	size_t count;
};

/* mpk_case_file_schema - for mpk_toml_read_table into a struct mpk_case_file */
extern const struct mpk_toml_schema mpk_case_file_schema;

#endif
