/* SPDX-License-Identifier: Apache-2.0 */
/* --dot tree|model: a drawing for Graphviz. */
#include "graph/dot.h"

#include <string.h>

#include "common/diag.h"
#include "minspect/document.h"
#include "text/escape.h"

static int draw_model(struct minspect_look *l)
{
	struct mpk_model_graphs graphs;
	struct mpk_error err = { 0 };

	if (mpk_model_graphs_read(l->view, &graphs, &err) != MPK_OK)
		return mpk_diag_error(&err);
	if (graphs.count) {
		mpk_dot_model(l->view, &graphs, l->out);
		return MPK_EXIT_OK;
	}
	(void)mpk_fail(
		&err, MPK_E_NO_BLOB,
		"there is no model in it whose graph can be drawn; --dot tree draws its modules");
	mpk_error_at_file(&err, l->file->name);
	return mpk_diag_error(&err);
}

static int draw(const struct minspect_options *o, struct minspect_look *l)
{
	if (strcmp(o->dot, "model") == 0)
		return draw_model(l);
	mpk_dot_tree(l->view, l->out);
	return MPK_EXIT_OK;
}

int minspect_dot(const struct minspect_options *o)
{
	static const struct minspect_action action = { .look = draw };

	if (strcmp(o->dot, "tree") != 0 && strcmp(o->dot, "model") != 0)
		return mpk_diag_usage("--dot takes tree or model, not '%s'",
				      MPK_QUOTE(mpk_span_str(o->dot)));
	if (o->json)
		return mpk_diag_usage(
			"--dot is a text for Graphviz; --json shows the tree as data");
	return minspect_each(o, &action, NULL);
}
