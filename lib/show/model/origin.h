/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - who says to have signed a library, and what it says to be made from */
#ifndef MPK_MODEL_ORIGIN_H
#define MPK_MODEL_ORIGIN_H

#include "base/error.h"
#include "model/view.h"
#include "trust/origin.h"
#include "trust/provenance.h"

/* The claims of one file. */
struct mpk_view_origin {
	struct mpk_origin notes;
	bool has_provenance; /* and it reads as such: */
	struct mpk_provenance provenance;
	struct mpk_error problem; /* else why not, when there is one */
};

/* mpk_view_origin - what the notes of the view's file say; nothing for what is no library or object
 * of ELF, or a member of an archive, whose notes tell of that member
 * @out     in view->arena
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_view_origin(const struct mpk_view *view, struct mpk_view_origin *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_view_origin_summary - append the lines of the summary: who signed, what built it
 * mpk_view_origin_json - "signature" and "provenance" in object at, where there are such */
void mpk_view_origin_summary(const struct mpk_view *view, struct mpk_strbuf *out);
void mpk_view_origin_json(const struct mpk_view *view, struct mpk_json *j, struct mpk_json_at *at);

/* mpk_provenance_json - its tools, options and inputs as members of object at */
void mpk_provenance_json(const struct mpk_provenance *p, struct mpk_json *j,
			 struct mpk_json_at *at);

#endif
