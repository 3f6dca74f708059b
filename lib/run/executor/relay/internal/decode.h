/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h - from instructions to steps; for program.c */
#ifndef MPK_EXECUTOR_RELAY_INTERNAL_DECODE_H
#define MPK_EXECUTOR_RELAY_INTERNAL_DECODE_H

#include "executor/relay/internal/program.h"

/* mpk_relay_decode - fill places, callees and steps from p->x, which mpk_relay_check found sound
 * Returns  MPK_OK; MPK_E_CORRUPT: the first fault, naming function and instruction; MPK_E_NOMEM */
enum mpk_code mpk_relay_decode(struct mpk_relay_program *p, struct mpk_error *err) MPK_MUST_CHECK;

#endif
