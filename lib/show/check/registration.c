/* SPDX-License-Identifier: Apache-2.0 */
/* registration.c - checks that the CUDA and HIP runtimes receive the code that host code registers
 *
 * Loaders do not check the wrappers around device code: the file loads, and the first kernel launch
 * finds no kernel. Then the code for the device is useless, so the device check includes this
 * check. */
#include "check/internal/run.h"
#include "verify/verify.h"

static enum mpk_code check_registration(struct mpk_check_state *s, const char **skipped,
					struct mpk_error *err)
{
	size_t before = s->report->errors;

	if (!s->view->image->device_count || (!s->elf && !s->view->image->member_count)) {
		*skipped = "it has no GPU code that host code registers";
		return MPK_OK;
	}
	MPK_TRY(mpk_verify_registered(s->view, s->elf, s->arena, s->report, err));
	s->result->registration_errors += s->report->errors - before;
	return MPK_OK;
}

const struct mpk_check_row mpk_check_registration[] = {
	{ "registration", NULL, check_registration },
	{ 0 },
};
