/* SPDX-License-Identifier: Apache-2.0 */
/* brief.h - what a library holds, in half a line: for lists of many */
#ifndef MPK_LIST_BRIEF_H
#define MPK_LIST_BRIEF_H

#include "model/view.h"

/* mpk_brief_text - append "x86-64 library: 3 modules (cuda, relax.Executable), 2 functions, GPU code for sm_80, sm_90"
 * mpk_brief_json - put "machine", "modules", "functions", "embedded", "gpu_code"
 * Failures are remembered. */
void mpk_brief_text(const struct mpk_view *view, struct mpk_strbuf *out);
void mpk_brief_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at);

#endif
