/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - --filter of the views: which functions, kernels, tensors and modules are shown
 *
 * A module is shown whole when its kind or its path is chosen, else with those of its parts that are,
 * and not at all without any. What is not shown is not counted differently: sizes and indices stay
 * those of the file.
 */
#ifndef MPK_VIEW_FILTER_H
#define MPK_VIEW_FILTER_H

#include "view/embedded.h"
#include "view/view.h"

/* mpk_view_filter - show only what is named so from now on (mpk_name_matches)
 * @filter  borrowed; one that begins with '/' also chooses modules by their path
 * Returns  whether anything is left */
bool mpk_view_filter(struct mpk_view *view, const char *filter);

/* mpk_view_shows - whether something that belongs to no module is shown, such as a function of the
 * library; all of it without a filter */
bool mpk_view_shows(const struct mpk_view *view, struct mpk_span name);

/* mpk_view_shows_node - whether a module is shown at all
 * mpk_view_shows_whole - whether all of it is, and not only some of its parts
 * mpk_view_shows_part - whether a kernel, function or tensor of it is */
bool mpk_view_shows_node(const struct mpk_view_node *n);
bool mpk_view_shows_whole(const struct mpk_view_node *n);
bool mpk_view_shows_part(const struct mpk_view_node *n, struct mpk_span name);

/* mpk_view_shows_code - whether code beside the tree is shown: it, or one of its kernels, is chosen
 * mpk_view_shows_kernel - whether a kernel of it is */
bool mpk_view_shows_code(const struct mpk_view *view, const struct mpk_view_code *c);
bool mpk_view_shows_kernel(const struct mpk_view *view, const struct mpk_view_code *c,
			   struct mpk_span name);

#endif
