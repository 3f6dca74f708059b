/* SPDX-License-Identifier: Apache-2.0 */
/* segments.h - the memory that a shared object was mapped to
 *
 * Functions of a library may return pointers to its own data (metadata of a model, parameters that
 * were linked in). Whether a pointer leads there can be known before it is followed.
 */
#ifndef MPK_RUNTIME_SEGMENTS_H
#define MPK_RUNTIME_SEGMENTS_H

#include <stddef.h>

/* mpk_segments_room - how many bytes may be read from an address on
 * @code    an address in the shared object whose memory counts: one of its functions
 * Returns  the bytes up to the end of the segment that data is in; 0 when it is in none of that
 *          object's readable ones */
size_t mpk_segments_room(const void *code, const void *data);

#endif
