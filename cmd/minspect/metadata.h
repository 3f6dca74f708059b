/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.h - asking a library what its functions take; this executes its code */
#ifndef MPK_CMD_MINSPECT_METADATA_H
#define MPK_CMD_MINSPECT_METADATA_H

#include "minspect/minspect.h"
#include "model/view.h"

/* minspect_call_metadata - call every getter of an open file in a child process and give the view what they
 * said; a getter that fails is a warning
 * Returns  MPK_OK, also without getters; MPK_E_USAGE: an option; MPK_E_LOAD; MPK_E_IO: no child;
 *          MPK_E_NOMEM */
enum mpk_code minspect_call_metadata(const struct minspect_options *o, struct minspect_file *file,
				     struct mpk_view *view, struct mpk_error *err) MPK_MUST_CHECK;

#endif
