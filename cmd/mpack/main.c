/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the command of mpack. For an unknown word it suggests the most similar command, the
 * action of minspect with that name, or, for a file, the command that takes such a file. */
#include <string.h>
#include <unistd.h>

#include "base/strmap.h"
#include "common/diag.h"
#include "common/files.h"
#include "common/options.h"
#include "common/signals.h"
#include "elf/note.h"
#include "mpack/mpack.h"

/* The commands; --help lists them in its summary, where scripts/check-man and scripts/completion
 * read them. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "build", mpack_build },   { "check", mpack_check }, { "edit", mpack_edit },
	{ "init", mpack_init },     { "sign", mpack_sign },   { "thin", mpack_thin },
	{ "unpack", mpack_unpack },
};

/* Whether a word is an action of minspect. */
static bool is_of_minspect(const char *word)
{
	static const char *const actions[] = { "functions", "size", "diff",  "extract",
					       "verify",    "run",  "cases", "devices" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(actions); i++)
		if (strcmp(word, actions[i]) == 0)
			return true;
	return false;
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);

	return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* Returns the command that takes a file of this name. */
static const char *command_for(const char *path)
{
	static const struct {
		const char *suffix, *command;
	} rows[] = {
		{ ".toml", "build" }, { ".blob", "build" },  { ".cl", "init" },
		{ ".cu", "init" },    { ".ptx", "init" },    { ".cubin", "init" },
		{ ".spv", "init" },   { ".fatbin", "init" }, { ".metal", "init" },
		{ ".wgsl", "init" },  { ".hsaco", "init" },  { ".c", "init" },
		{ ".cc", "init" },    { ".cpp", "init" },    { ".ll", "init" },
		{ ".bc", "init" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (has_suffix(path, rows[i].suffix))
			return rows[i].command;
	return "unpack";
}

static int run_command(int argc, char **argv)
{
	struct mpk_span names[MPK_ARRAY_COUNT(commands)];

	for (size_t i = 0; i < MPK_ARRAY_COUNT(commands); i++) {
		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
		names[i] = mpk_span_str(commands[i].name);
	}

	if (is_of_minspect(argv[0]))
		return mpk_diag_usage("unknown command '%s'; did you mean 'minspect %s'?", argv[0],
				      argv[0]);
	/* A file instead of a command: the command was forgotten. */
	if (access(argv[0], F_OK) == 0)
		return mpk_diag_usage("no command given; did you mean 'mpack %s %s'?",
				      command_for(argv[0]), argv[0]);
	size_t near = mpk_closest(mpk_span_str(argv[0]), names, MPK_ARRAY_COUNT(names));
	if (near < MPK_ARRAY_COUNT(names))
		return mpk_diag_usage("unknown command '%s'; did you mean %s?", argv[0],
				      commands[near].name);
	return mpk_diag_usage("unknown command '%s'", argv[0]);
}

int main(int argc, char **argv)
{
	static const char *explain;
	static char help[] = "--help";
	static const struct mpk_option options[] = {
		{ 0, "explain", MPK_OPT_MAYBE, "ID",
		  "what the word in brackets behind an error means", .target = &explain,
		  .values = "ids" },
		{ 0 },
	};
	static const struct mpk_command command = {
		.name = "",
		.usage = "mpack COMMAND [OPTION]... [FILE]",
		.summary =
			"Pack compiled modules into a library that TVM and tvm-ffi load.\n"
			"\n"
			"  build [MANIFEST] [-o OUT]   pack what a manifest names into one file\n"
			"  check [MANIFEST]            validate the manifest and every payload\n"
			"  edit FILE -o OUT            swap payloads in a library or blob\n"
			"  init FILE...                print a manifest filled in from kernels and code\n"
			"  sign FILE -o OUT --key KEY  sign a library or object\n"
			"  thin LIB|WHEEL -o OUT       take GPU code of other architectures out\n"
			"  unpack FILE -o DIR          take one apart into a manifest and files\n"
			"\n"
			"mpack help COMMAND tells more. MANIFEST is ./" MPACK_MANIFEST
			" when it is not given.",
		.examples = "  mpack init vadd.cl >" MPACK_MANIFEST "\n"
			    "  mpack build -o deploy.so\n"
			    "  mpack build model.blob -o model.o --target aarch64-linux-gnu\n",
		.options = options,
	};
	int first, status;

	mpk_common.program = "mpack";
	mpk_signals_init();
	/* Files with mpack's note were written by mpack, and may be replaced without --force. */
	mpk_outputs_begin(MPK_NOTE_MARK, sizeof MPK_NOTE_MARK - 1);
	/* "mpack help build" is "mpack build --help". */
	if (argc > 1 && strcmp(argv[1], "help") == 0) {
		argv[1] = argc > 2 ? argv[2] : help;
		argv[argc > 2 ? 2 : 1] = help;
	}
	/* Options before the command are those of mpack itself: --help, --version, --explain. */
	if (argc > 1 && argv[1][0] != '-')
		return run_command(argc - 1, argv + 1);
	if (!mpk_options_parse(&command, argc, argv, &first, &status))
		return status;
	if (explain)
		return mpk_explain(explain, argv + first, (size_t)(argc - first), false);
	if (first < argc)
		return mpk_diag_usage("options come after the command: mpack %s ...", argv[first]);
	return mpk_diag_usage("no command given");
}
