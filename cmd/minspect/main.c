/* SPDX-License-Identifier: Apache-2.0 */
/* Which action a command line asks for, and whether its options belong to it. */
#include <string.h>

#include "common/diag.h"
#include "minspect/minspect.h"

/* One row per action: the option that asks for it and the function that does it. */
static const struct action {
	const char *option;
	int (*act)(const struct minspect_options *o);
} actions[] = {
	{ "functions", minspect_functions },
	{ "size", minspect_size },
	{ "diff", minspect_diff },
	{ "extract", minspect_extract },
	{ "verify", minspect_verify },
	{ "header", minspect_header },
	{ "run", minspect_run },
	{ "cases", minspect_cases },
	{ "devices", minspect_devices },
};

static const struct action summary = { "", minspect_show };

/* The action asked for; NULL after two. */
static const struct action *choose(void)
{
	const struct action *chosen = &summary;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(actions); i++) {
		if (!minspect_given(actions[i].option))
			continue;
		if (chosen != &summary) {
			(void)mpk_diag_usage(
				"--%s and --%s are two different actions; give one of them",
				chosen->option, actions[i].option);
			return NULL;
		}
		chosen = &actions[i];
	}
	return chosen;
}

/* Options that only some actions understand. Given without one they are an error, else a check
 * that was meant to be made would pass unmade. */
static const struct {
	const char *option, *actions[2];
} belongings[] = {
	{ "digest", { "extract" } },
	{ "budget", { "size" } },
	{ "tap", { "cases" } },
	{ "junit", { "cases" } },
	{ "filter", { "cases" } },
	{ "no-skip", { "cases" } },
	{ "input", { "run" } },
	{ "out", { "run" } },
	{ "expect", { "run" } },
	{ "output", { "run" } },
	{ "repeat", { "run" } },
	{ "warmup", { "run" } },
	{ "grid", { "run" } },
	{ "block", { "run" } },
	{ "shared", { "run" } },
	{ "device", { "run", "cases" } },
	{ "atol", { "run", "cases" } },
	{ "rtol", { "run", "cases" } },
	{ "timeout", { "run", "cases" } },
	{ "tvm-ffi", { "run", "cases" } },
};

static int check_belongings(const struct action *action)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(belongings); i++) {
		const char *option = belongings[i].option;
		const char *first = belongings[i].actions[0], *second = belongings[i].actions[1];

		if (!minspect_given(option) || strcmp(action->option, first) == 0 ||
		    (second && strcmp(action->option, second) == 0))
			continue;
		if (action->act == minspect_cases && strcmp(first, "run") == 0)
			return mpk_diag_usage("--%s is for --run; a case says that in its file",
					      option);
		return mpk_diag_usage("--%s goes with --%s%s%s", option, first,
				      second ? " or --" : "", second ? second : "");
	}
	return MPK_EXIT_OK;
}

static int act(void)
{
	const struct action *action = choose();
	int status = action ? check_belongings(action) : MPK_EXIT_USAGE;

	if (status != MPK_EXIT_OK)
		return status;
	if (minspect_options.file_count == 0 && action->act != minspect_devices)
		return mpk_diag_usage("no file given");
	return action->act(&minspect_options);
}

int main(int argc, char **argv)
{
	int first, status;

	mpk_common.program = "minspect";
	if (mpk_options_parse(&minspect_command, argc, argv, &first, &status)) {
		minspect_options.files = argv + first;
		minspect_options.file_count = (size_t)(argc - first);
		status = act();
	}
	mpk_options_fini_list(&minspect_options.arguments);
	mpk_options_fini_list(&minspect_options.expects);
	mpk_options_fini_list(&minspect_options.outputs);
	return status;
}
