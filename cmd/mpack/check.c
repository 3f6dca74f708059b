/* SPDX-License-Identifier: Apache-2.0 */
/* mpack check reads a manifest as mpack build does, but writes nothing. */
#include <inttypes.h>

#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/print.h"
#include "mpack/build.h"
#include "mpack/mpack.h"
#include "text/escape.h"

static struct mpk_option_list granted;

static int check_file(const char *path)
{
	static const struct mpk_input_options how = { .prefix = "",
						      .only_check = true,
						      .granted = &granted };
	struct mpk_input in = { 0 };
	int status = mpk_input_load(path, &how, &in);

	if (status == MPK_EXIT_OK) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
		size_t count = in.parts.module_count;

		mpk_escape(&name, mpk_span_str(path));
		(void)mpk_print(MPK_STDOUT, "%s: no errors: %zu module%s", mpk_strbuf_text(&name),
				count, count == 1 ? "" : "s");
		if (in.parts.has_blob)
			(void)mpk_print(MPK_STDOUT, ", blob of %" PRIu64 " bytes\n",
					in.parts.blob.len);
		else
			(void)mpk_print(MPK_STDOUT, ", host code alone: no blob\n");
	}
	mpk_input_close(&in);
	return status;
}

/* Unlike build, it starts no programs afterwards, so it enters the sandbox before it reads the
 * first byte, without a second process. */
int mpack_check(int argc, char **argv)
{
	static const struct mpk_option options[] = {
		{ 0, "allow-cflag", MPK_OPT_LIST, "FLAG",
		  "let the manifest give FLAG, whatever it names", .target = &granted },
		{ 0 },
	};
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
	mpack_memory_begin();
	mpk_confine_to("/", NULL); /* a manifest may name any file */
	status = check_file(first < argc ? argv[first] : MPACK_MANIFEST);
	mpk_options_fini(&command);
	return status;
}
