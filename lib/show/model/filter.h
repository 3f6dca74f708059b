/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - --filter of the views: which functions, kernels, tensors and modules are shown
 *
 * A module is shown whole when its kind or its path is chosen, else with those of its parts that are,
 * and not at all without any. What is not shown is not counted differently: sizes and indices stay
 * those of the file. Whoever prints asks here right before, and that is noted: what a filter chose is what
 * was printed for it.
 */
#ifndef MPK_MODEL_FILTER_H
#define MPK_MODEL_FILTER_H

#include "model/view.h"
#include "text/names.h"

/* mpk_view_filter - show only what is named so from now on
 * @choice  lives as long as the view; a filter that begins with '/' also chooses modules by their
 *          path. What is asked for below, and shown, is noted in it. */
void mpk_view_filter(struct mpk_view *view, struct mpk_view_choice *choice);

/* mpk_view_chooses - whether a name is chosen, which is noted; all of them where there is no filter */
bool mpk_view_chooses(struct mpk_view_choice *choice, struct mpk_span name);

/* mpk_view_shows - whether something that belongs to no module is shown, such as a function of the
 * library; all of it without a filter */
bool mpk_view_shows(const struct mpk_view *view, struct mpk_span name);

/* mpk_view_shows_node - whether a module is shown at all
 * mpk_view_shows_whole - whether all of it is, and not only some of its parts
 * mpk_view_shows_part - whether a kernel, function or tensor of it is */
bool mpk_view_shows_node(const struct mpk_view_node *n);
bool mpk_view_shows_whole(const struct mpk_view_node *n);
bool mpk_view_shows_part(const struct mpk_view_node *n, struct mpk_span name);

#endif
