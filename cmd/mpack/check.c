/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "common/diag.h"
#include "common/options.h"
#include "io/mapping.h"
#include "mpack/input.h"
#include "mpack/mpack.h"
#include "package/package.h"

static void print_summary(const char *path, const struct mpk_package *p)
{
	(void)printf("%s: no errors: %zu module%s", path, p->manifest.module_count,
		     p->manifest.module_count == 1 ? "" : "s");
	if (p->needs_blob)
		(void)printf(", blob of %" PRIu64 " bytes\n", p->blob.len);
	else
		(void)printf(", host code alone: no blob\n");
}

static int check_file(const char *path)
{
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping text = { 0 };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	MPK_CLEANUP(mpk_report_fini) struct mpk_report report = { 0 };
	MPK_CLEANUP(mpk_package_close) struct mpk_package package = { 0 };
	struct mpk_package_input input = { .path = path };
	struct mpk_error err = { 0 };

	if (mpk_mapping_open(path, &text, &err) != MPK_OK)
		return mpk_diag_error(&err);
	input.text = text.bytes;
	if (mpk_input_refuse(path, text.bytes) != MPK_EXIT_OK)
		return MPK_EXIT_MALFORMED;

	enum mpk_code code = mpk_package_load(&input, &arena, &report, &package, &err);
	mpk_diag_report(&report);
	if (code == MPK_OK)
		print_summary(path, &package);
	else if (!report.errors)
		return mpk_diag_error(&err);
	return mpk_exit_status(code);
}

int mpack_check(int argc, char **argv)
{
	static const struct mpk_option options[] = { { 0 } };
	static const struct mpk_command command = {
		.name = "check",
		.usage = "mpack check [MANIFEST]",
		.summary = "Validate a manifest and every payload; write nothing.",
		.examples = "  mpack check\n"
			    "  mpack check models/deploy.toml\n"
			    "  generate-manifest | mpack check -\n",
		.options = options,
	};
	int first, status;

	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (argc - first > 1)
		return mpk_diag_usage("check takes one manifest, not %d", argc - first);
	return check_file(first < argc ? argv[first] : MPACK_MANIFEST);
}
