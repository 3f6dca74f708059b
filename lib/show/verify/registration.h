/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - the check of the wrappers by which runtimes get code for GPUs, for the tables of verify.h */
#ifndef MPK_VERIFY_REGISTRATION_H
#define MPK_VERIFY_REGISTRATION_H

#include "verify/verify.h"

/* mpk_verify_registration - whether the wrappers in .nvFatBinSegment and .hipFatBinSegment, of all members of an archive,
 * lead to containers of code; what it finds it says */
void mpk_verify_registration(struct mpk_verify *v);

#endif
