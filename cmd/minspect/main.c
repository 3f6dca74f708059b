#include <string.h>

#include "common/diag.h"
#include "minspect/minspect.h"

/* One row per action: the option that asks for it and the function that does it. */
struct action {
	const char *option;
	const bool *flag;        /* set by an option without argument; or */
	const char *const *text; /* by one with an argument */
	int (*act)(const struct minspect_options *o);
};

#define O minspect_options

static const struct action actions[] = {
	{ "functions", &O.functions, NULL, minspect_functions },
	{ "size", &O.size, NULL, minspect_size },
	{ "diff", NULL, &O.diff, minspect_diff },
	{ "extract", NULL, &O.extract, minspect_extract },
	{ "verify", &O.verify, NULL, minspect_verify },
	{ "run", NULL, &O.run, minspect_run },
	{ "cases", NULL, &O.cases, minspect_cases },
	{ "devices", &O.devices, NULL, minspect_devices },
};

static bool is_wanted(const struct action *a)
{
	return a->flag ? *a->flag : *a->text != NULL;
}

/* The action asked for; the summary when there is none; NULL after two. */
static int (*choose(void))(const struct minspect_options *)
{
	const struct action *chosen = NULL;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(actions); i++) {
		if (!is_wanted(&actions[i]))
			continue;
		if (chosen) {
			(void)mpk_diag_usage(
				"--%s and --%s are two different actions; give one of them",
				chosen->option, actions[i].option);
			return NULL;
		}
		chosen = &actions[i];
	}
	return chosen ? chosen->act : minspect_show;
}

/* An option that only calls understand, given without one: else a check that was meant to
 * be made would pass unmade. */
static const char *stray_option(void)
{
	const struct {
		const char *name;
		bool given;
	} rows[] = {
		{ "expect", O.expects.count > 0 },
		{ "output", O.outputs.count > 0 },
		{ "device", O.device },
		{ "atol", O.atol },
		{ "rtol", O.rtol },
		{ "repeat", O.repeat },
		{ "warmup", O.warmup },
		{ "timeout", O.timeout },
		{ "grid", O.grid },
		{ "block", O.block },
		{ "shared", O.shared },
		{ "tvm-ffi", O.tvm_ffi },
	};

	if (O.run || O.cases)
		return NULL;
	if (O.arguments.count)
		return O.arguments.items[0].option->name;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (rows[i].given)
			return rows[i].name;
	return NULL;
}

static int act(void)
{
	const char *stray = stray_option();
	int (*action)(const struct minspect_options *) = choose();

	if (!action)
		return MPK_EXIT_USAGE;
	if (O.digest && !O.extract)
		return mpk_diag_usage("--digest goes with --extract");
	if (O.budget && !O.size)
		return mpk_diag_usage("--budget goes with --size");
	if ((O.junit || O.tap) && !O.cases)
		return mpk_diag_usage("--%s goes with --cases", O.tap ? "tap" : "junit");
	if (stray)
		return mpk_diag_usage("--%s goes with --run%s", stray,
				      strcmp(stray, "input") && strcmp(stray, "out") ? " or --cases"
										     : "");
	if (O.file_count == 0 && action != minspect_devices)
		return mpk_diag_usage("no file given");
	return action(&O);
}

int main(int argc, char **argv)
{
	int first, status;

	mpk_common.program = "minspect";
	if (mpk_options_parse(&minspect_command, argc, argv, &first, &status)) {
		O.files = argv + first;
		O.file_count = (size_t)(argc - first);
		status = act();
	}
	mpk_options_fini_list(&O.arguments);
	mpk_options_fini_list(&O.expects);
	mpk_options_fini_list(&O.outputs);
	return status;
}
