/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - containers are searched by their first eight bytes, and their images found by the lengths in the headers
 * (FORMAT.md 1, 2) */
#include "fatbin/scan.h"

#include <string.h>

#include "base/cursor.h"

/* Magic, version 1 and a header of 16 bytes. Containers are aligned to 8 bytes. */
#define CONTAINER_BEGIN UINT64_C(0x00100001ba55ed50)

enum { ALIGN = 8, BLOCK = 64, ENTRY_BYTES = 64 };

/* Where the next container begins from p[at] on, or len. A block at a time, as most have none. */
static size_t find_container(const uint8_t *p, size_t at, size_t len)
{
	for (; at + BLOCK <= len; at += BLOCK) {
		unsigned hits = 0;

		for (size_t i = 0; i < BLOCK; i += ALIGN)
			hits |= mpk_load_u64(p + at + i) == CONTAINER_BEGIN;
		if (hits)
			break;
	}
	for (; at + ALIGN <= len; at += ALIGN)
		if (mpk_load_u64(p + at) == CONTAINER_BEGIN)
			return at;
	return len;
}

/* Goes on behind a header and len bytes that follow it. */
static void fatbin_skip(struct mpk_fatbin_scan *s, uint64_t head, uint64_t len)
{
	s->known = 0;
	if (__builtin_add_overflow(s->next, head, &s->next) ||
	    __builtin_add_overflow(s->next, len, &s->next))
		s->next = UINT64_MAX;
}

/* The header at s->next has passed. */
static void fatbin_follow(struct mpk_fatbin_scan *s,
			  void (*found)(void *arg, uint64_t off, size_t len), void *arg)
{
	uint64_t len = mpk_load_u64(s->head + 8), head;

	if (s->next >= s->end) {
		found(arg, s->next, MPK_FATBIN_SCAN_BYTES);
		fatbin_skip(s, MPK_FATBIN_SCAN_BYTES, 0);
		if (__builtin_add_overflow(s->next, len, &s->end))
			s->end = 0;
		return;
	}
	head = mpk_load_u32(s->head + 4);
	found(arg, s->next, ENTRY_BYTES);
	if (head < ENTRY_BYTES)
		s->end = 0; /* this was no container */
	fatbin_skip(s, head < ENTRY_BYTES ? MPK_FATBIN_SCAN_BYTES : head,
		    head < ENTRY_BYTES ? 0 : len);
}

void mpk_fatbin_scan(struct mpk_fatbin_scan *s, uint64_t off, struct mpk_span piece,
		     void (*found)(void *arg, uint64_t off, size_t len), void *arg)
{
	while (s->next + s->known < off + piece.len) {
		size_t at = (size_t)(s->next + s->known - off), len;

		if (s->next >= s->end && !s->known) {
			at += (size_t)(-s->next % ALIGN);
			at = at < piece.len ? find_container(piece.data, at, piece.len) : at;
			s->next = off + at;
			if (at >= piece.len)
				return;
		}
		len = MPK_FATBIN_SCAN_BYTES - s->known < piece.len - at
			      ? (size_t)(MPK_FATBIN_SCAN_BYTES - s->known)
			      : piece.len - at;
		memcpy(s->head + s->known, piece.data + at, len);
		s->known += len;
		if (s->known == MPK_FATBIN_SCAN_BYTES)
			fatbin_follow(s, found, arg);
	}
}
