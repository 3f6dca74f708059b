#include "common/diag.h"
#include "minspect/minspect.h"

int main(int argc, char **argv)
{
	int first;

	mpk_common.program = "minspect";
	switch (mpk_options_parse(&minspect_command, argc, argv, &first)) {
	case MPK_PARSED_DONE:
		return MPK_EXIT_OK;
	case MPK_PARSED_USAGE:
		return MPK_EXIT_USAGE;
	case MPK_PARSED:
		break;
	}
	return mpk_diag_usage("no file given");
}
