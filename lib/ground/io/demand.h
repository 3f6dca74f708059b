/* SPDX-License-Identifier: Apache-2.0 */
/* demand.h - demand paging of bytes that can be made again
 *
 * For content that is larger than the memory it should take, and of which little is read, such as a library that is
 * compressed in an archive. Its address range holds no memory at first. A read from it raises SIGSEGV; the handler
 * here has the bytes made, and the read goes on. Chunks that were made long ago are given up in their place, unless
 * that proves to be in vain.
 *
 * For a process of one thread. Only the process itself may read such bytes: a system call that is to read them
 * (write, sendfile) fails with EFAULT.
 */
#ifndef MPK_IO_DEMAND_H
#define MPK_IO_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

struct mpk_demand;

/* Both functions are called by a signal handler, at any read: they must not allocate memory or take a lock. */
struct mpk_demand_source {
	/* Makes len bytes at offset from. Where the last call ended, or at the beginning of a chunk.
	 * Returns false: they cannot be made any more */
	bool (*make)(void *arg, uint64_t from, uint8_t *into, size_t len);
	void (*failed)(void *arg); /* make did; must not return */
	void *arg;
};

/* Multiples of it begin and end what is made at a time; no page of any machine is larger. */
enum { MPK_DEMAND_GRAIN = 64 * 1024 };

/* mpk_demand_open - an address range for len bytes
 * It counts as len bytes of the process's limit of data (RLIMIT_DATA), which it may take at worst.
 * @chunk   bytes that are given up together, a multiple of MPK_DEMAND_GRAIN
 * @arena   has to stay until mpk_demand_close
 * Returns  NULL: memory or addresses are out */
struct mpk_demand *mpk_demand_open(size_t len, size_t chunk, struct mpk_arena *arena);

/* mpk_demand_offer - bytes that are at hand anyhow, before mpk_demand_start; in order
 * Those at the beginning and the end are kept, as files have their headers and tables there. */
void mpk_demand_offer(struct mpk_demand *d, uint64_t off, struct mpk_span piece);

/* mpk_demand_keep - keep what will probably be read of bytes that were offered just now
 * @off, @piece  as offered
 * @from, @len   the part; what pages of it are not whole in piece is not kept, nor are more than 16 MiB in all */
void mpk_demand_keep(struct mpk_demand *d, uint64_t off, struct mpk_span piece, uint64_t from,
		     size_t len);

/* mpk_demand_start - from now on, bytes that are not there are made when they are read
 * Returns  the bytes, valid until mpk_demand_close; empty: the system refuses */
struct mpk_span mpk_demand_start(struct mpk_demand *d, const struct mpk_demand_source *source);

/* mpk_demand_made - how many bytes were made so far, again and again included */
uint64_t mpk_demand_made(const struct mpk_demand *d);

/* mpk_demand_close - give addresses and memory back; NULL: nothing */
void mpk_demand_close(struct mpk_demand *d);

#endif
