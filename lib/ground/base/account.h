/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - limits what the inputs of this process may unpack to, and what may be written, in
 * total
 *
 * A limit for each packed part would not bound a file with a thousand parts. Therefore every
 * reader that unpacks asks this one account first. A program that inspects untrusted files starts
 * the account; an application that links one of our libraries has none. */
#ifndef MPK_BASE_ACCOUNT_H
#define MPK_BASE_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The limit in bytes: MPK_ACCOUNT_BASE, plus MPK_ACCOUNT_RATIO for each byte of the inputs. GPU
 * code compresses to a tenth of its size, and a command may unpack it several times. */
#define MPK_ACCOUNT_BASE (UINT64_C(256) << 20)
enum { MPK_ACCOUNT_RATIO = 64 };

/* Called after a change. inputs: bytes of all open inputs. taken: bytes charged since the first of
 * them was opened. */
typedef void mpk_account_fn(uint64_t inputs, uint64_t taken);

/* mpk_account_begin - start counting
 * @changed called by the thread that opens or takes; NULL: not called */
void mpk_account_begin(mpk_account_fn *changed);

/* mpk_account_open, _close - an input of this many bytes is opened or closed. The account is reset
 * when an input is opened while no other one is. It allows MPK_ACCOUNT_BASE, and MPK_ACCOUNT_RATIO
 * times the bytes of all open inputs. */
void mpk_account_open(uint64_t bytes);
void mpk_account_close(uint64_t bytes);

/* mpk_account_take - charge bytes before they are unpacked
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: more than is left */
enum mpk_code mpk_account_take(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_account_has - like mpk_account_take, but charges nothing */
enum mpk_code mpk_account_has(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* --- what is written: a short file must not fill a disk --- */

/* The limit of output in bytes: MPK_OUTPUT_BASE, plus MPK_OUTPUT_RATIO for each byte of the
 * inputs. */
#define MPK_OUTPUT_BASE (UINT64_C(64) << 20)
enum { MPK_OUTPUT_RATIO = 64 };
#define MPK_OUTPUT_ANY UINT64_MAX

/* mpk_account_limit_output - limit what is written from now on; without this call there is no
 * limit
 * @most    bytes; 0: MPK_OUTPUT_BASE plus MPK_OUTPUT_RATIO times all inputs;
 *          MPK_OUTPUT_ANY: no limit */
void mpk_account_limit_output(uint64_t most);

/* mpk_account_input - count a file that is opened for the first time. It still counts after it is
 * closed, because its content may still be written. */
void mpk_account_input(uint64_t bytes);

/* mpk_account_write - charge bytes before they are written
 * mpk_account_may_write - like mpk_account_write, but charges nothing
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: more than is left */
enum mpk_code mpk_account_write(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_account_may_write(uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

#endif
