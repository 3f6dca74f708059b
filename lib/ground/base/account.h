/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - what the inputs of this process may unpack to, and what may be written of them, all together
 *
 * A bound of each packed part is none of a file with a thousand of them. So every reader that unpacks asks one account
 * before it does, however often and for whatever it unpacks. A program that looks at files of others begins it; in an
 * application that links a library of ours there is none.
 */
#ifndef MPK_BASE_ACCOUNT_H
#define MPK_BASE_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What there is for all, and for each byte of an input: code for GPUs packs to a tenth, and a command
 * may unpack it some times. */
#define MPK_ACCOUNT_BASE (UINT64_C(256) << 20)
enum { MPK_ACCOUNT_RATIO = 64 };

/* Told of what changed: bytes of all inputs that are open, and what was taken since there was none. */
typedef void mpk_account_fn(uint64_t inputs, uint64_t taken);

/* mpk_account_begin - count from now on
 * @changed called by who opens and takes; NULL: nobody is */
void mpk_account_begin(mpk_account_fn *changed);

/* mpk_account_open, _close - an input of so many bytes. One that is opened while no other is fills the account anew; the
 * account allows MPK_ACCOUNT_BASE once, and MPK_ACCOUNT_RATIO times the bytes of all inputs that are open */
void mpk_account_open(uint64_t bytes);
void mpk_account_close(uint64_t bytes);

/* mpk_account_take - before so many bytes are made of packed ones
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: that is more than is left */
enum mpk_code mpk_account_take(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_account_has - the same without taking anything */
enum mpk_code mpk_account_has(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what is written: a short file must not fill a disk --- */

/* What may be written in any case, and for each byte of an input. */
#define MPK_OUTPUT_BASE (UINT64_C(64) << 20)
enum { MPK_OUTPUT_RATIO = 64 };
#define MPK_OUTPUT_ANY UINT64_MAX

/* mpk_account_limit_output - limit all that is written from now on; without a call nothing is limited
 * @most    bytes; 0: MPK_OUTPUT_BASE and MPK_OUTPUT_RATIO times all inputs; MPK_OUTPUT_ANY: there is no limit */
void mpk_account_limit_output(uint64_t most);

/* mpk_account_input - a file that is opened for the first time; files that are closed count on, as what is written
 * of them does */
void mpk_account_input(uint64_t bytes);

/* mpk_account_write - before so many bytes are written
 * mpk_account_may_write - the same without writing anything yet
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: that is more than is left */
enum mpk_code mpk_account_write(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_account_may_write(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

#endif
