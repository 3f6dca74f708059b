/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - what differs between two libraries beside their modules: functions and what they take, host
 * code, libraries that are needed */
#ifndef MPK_DIFF_INTERNAL_HOST_H
#define MPK_DIFF_INTERNAL_HOST_H

#include "diff/diff.h"

/* mpk_diff_host - all of that */
void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b);

/* mpk_diff_rest - for two files that differ in nothing that was looked at: in which of their sections, or
 * in how many bytes
 * @a_bytes, @b_bytes  the whole files */
void mpk_diff_rest(struct mpk_differ *d, const struct mpk_view *a, struct mpk_span a_bytes,
		   const struct mpk_view *b, struct mpk_span b_bytes);

#endif
