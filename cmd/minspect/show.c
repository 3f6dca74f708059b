/* The actions that print what a file holds: the summary, --functions */
#include "common/diag.h"
#include "minspect/document.h"
#include "view/node_info.h"

static int read_info(struct minspect_look *l, bool tensors)
{
	struct mpk_error err = { 0 };

	if (mpk_view_show_info(l->view, tensors, &err) != MPK_OK)
		return mpk_diag_error(&err);
	return MPK_EXIT_OK;
}

static int show(const struct minspect_options *o, struct minspect_look *l)
{
	int status = mpk_common.verbose ? read_info(l, true) : MPK_EXIT_OK;

	(void)o;
	if (status)
		return status;
	if (l->json) {
		mpk_view_summary_json(l->view, l->json, l->at);
		return MPK_EXIT_OK;
	}
	minspect_separate(l);
	mpk_view_summary(l->view, minspect_style(), l->out);
	return MPK_EXIT_OK;
}

int minspect_show(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = show };

	return minspect_each(o, &action, NULL);
}

static int functions(const struct minspect_options *o, struct minspect_look *l)
{
	int status = read_info(l, false);

	(void)o;
	if (status)
		return status;
	if (l->json) {
		mpk_view_functions_json(l->view, l->json, l->at);
		return MPK_EXIT_OK;
	}
	minspect_separate(l);
	mpk_view_functions(l->view, minspect_style(), l->out);
	return MPK_EXIT_OK;
}

int minspect_functions(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = functions };

	return minspect_each(o, &action, NULL);
}
