/* SPDX-License-Identifier: Apache-2.0 */
/* natural.h - the order in which people list names: layer2 before layer10 */
#ifndef MPK_TEXT_NATURAL_H
#define MPK_TEXT_NATURAL_H

/* mpk_natural_compare - as strcmp, but runs of digits are compared as numbers of any length; names that
 * differ in leading zeros alone are in the order of strcmp, so that only equal names compare equal */
int mpk_natural_compare(const char *a, const char *b);

#endif
