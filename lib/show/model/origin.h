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

/* of struct mpk_view: the lines of the summary, who signed, what built it, and in verbose text from what; "signature"
 * and "provenance" in JSON, where there are such */
extern const struct mpk_answer mpk_answer_origin;

#endif
