#include "common/diag.h"
#include "common/options.h"

int main(int argc, char **argv)
{
	static const struct mpk_option options[] = { { 0 } };
	static const struct mpk_command command = {
		.name = "", .usage = "minspect FILE", .summary = "Show what a compiled module holds.",
		.examples = "  minspect deploy.so\n", .options = options,
	};
	int first;

	mpk_common.program = "minspect";
	switch (mpk_options_parse(&command, argc, argv, &first)) {
	case MPK_PARSED_DONE:
		return MPK_EXIT_OK;
	case MPK_PARSED_USAGE:
		return MPK_EXIT_USAGE;
	case MPK_PARSED:
		break;
	}
	return mpk_diag_usage("no file given");
}
