/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - a whole input file as a view of bytes */
#ifndef MPK_IO_MAPPING_H
#define MPK_IO_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/rope.h"
#include "base/span.h"

struct mpk_mapping_origin; /* the file's state when it was opened */

/* Zero-initialise; fill with mpk_mapping_open; mpk_mapping_close. */
struct mpk_mapping {
	struct mpk_span bytes; /* the content; valid until close */
	/* open for reading as long as the mapping exists; -1 after standard input */
	int fd;
	bool mapped; /* whether bytes are a private read-only mmap; else heap memory */
	struct mpk_mapping_origin *origin; /* NULL: standard input */
	uint64_t input_bytes;              /* bytes charged to base/account.h */
};

/* The most bytes read from a pipe or a device. An endless one must not take all memory. */
#define MPK_PIPE_MAX (UINT64_C(2) << 30)
#define MPK_DEVICE_MAX (UINT64_C(16) << 20)

/* mpk_mapping_open - open path and view its content
 * A regular file is mapped (nothing is read until touched), a small one read into memory
 * aligned to 64 bytes; a pipe, or "-" for standard input, is read to its end into memory.
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (beyond MPK_PIPE_MAX, or MPK_DEVICE_MAX of a character
 *          device); MPK_E_IO (no such file, a
 *          directory, unreadable); MPK_E_NOMEM.
 *          The error carries the file name. On failure *out stays closed. */
enum mpk_code mpk_mapping_open(const char *path, struct mpk_mapping *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_mapping_of_fd - like mpk_mapping_open, for an open file, such as one without a name
 * @name    for messages; copied
 * Returns  as mpk_mapping_open */
enum mpk_code mpk_mapping_of_fd(int fd, const char *name, struct mpk_mapping *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_mapping_close_file - close the descriptor, because a process has few of them; the bytes stay
 * valid */
void mpk_mapping_close_file(struct mpk_mapping *m);

/* mpk_mappings_check - check that no mapped file of this process has changed its size or time of
 * modification since it was opened; its bytes could be a mixture of two versions. Outputs call
 * this before they take their names (io/output.h).
 * Returns  MPK_OK; MPK_E_IO with the name of the file */
enum mpk_code mpk_mappings_check(struct mpk_error *err) MPK_MUST_CHECK;

/* Identifies a regular file and its version. */
struct mpk_file_identity {
	uint64_t device, inode, size; /* bytes */
	int64_t modified;             /* nanoseconds since 1970 */
};

/* mpk_mapping_identity - the identity of a file when it was opened
 * Returns  false: m is of a pipe, a device or standard input, which another process
 *          cannot open again */
bool mpk_mapping_identity(const struct mpk_mapping *m, struct mpk_file_identity *out);

/* mpk_mapping_open_same - like mpk_mapping_open, for a file that another process has read
 * Opens only a regular file with that identity, whatever file has the name now.
 * Returns  as mpk_mapping_open; MPK_E_IO: another file has the name, or the file has
 *          changed */
enum mpk_code mpk_mapping_open_same(const char *path, const struct mpk_file_identity *identity,
				    struct mpk_mapping *out, struct mpk_error *err) MPK_MUST_CHECK;

/* How an output relates to the file that it would replace. */
enum mpk_input_state {
	MPK_INPUT_NOT,
	MPK_INPUT, /* an open mapping shows the file: it must stay */
	/* an open mapping shows the file, but the user named it as the output */
	MPK_INPUT_REPLACEABLE,
};

/* mpk_mappings_find - whether a file is an input
 * mpk_mappings_keep - from now on, closed mappings count as inputs, too; for programs, which end
 * soon
 * mpk_mapping_may_be_replaced - m shows a file that the user allowed to replace */
enum mpk_input_state mpk_mappings_find(const struct stat *file);
void mpk_mappings_keep(void);
void mpk_mapping_may_be_replaced(struct mpk_mapping *m);

/* mpk_mappings_at_fork - keep the list of mappings usable in a child, whatever other threads of
 * the parent do; for handlers of pthread_atfork */
void mpk_mappings_at_fork(enum mpk_fork_moment moment);

/* mpk_mapping_use_file - replace large pieces of a rope (MPK_LARGE_BYTES and more) that are views
 * of m by ranges of its file, which the kernel copies without loading them. The descriptor is
 * borrowed until the rope is written.
 * Does nothing when m is of a pipe. */
void mpk_mapping_use_file(const struct mpk_mapping *m, struct mpk_rope *rope);

/* The bytes of a mapping, writable in memory; the file does not change. */
struct mpk_private {
	uint8_t *data;
	size_t len;
	size_t keep_off, keep_len;       /* bytes of m that stay read-only */
	struct mpk_private_holes *holes; /* holes of a sparse file; NULL: none */
};

/* mpk_private_open - make the bytes of m writable
 * @keep    a part of m->bytes that stays read-only, or empty: writable gigabytes would
 *          count as memory
 * @out     close it before m. Bytes from standard input or a pipe have no second copy:
 *          there m->bytes change, too.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_private_open(const struct mpk_mapping *m, struct mpk_span keep,
			       struct mpk_private *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_private_close(const struct mpk_mapping *m, struct mpk_private *p);

/* mpk_private_touch - call before bytes are changed; holes of the file are read-only until then
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_private_touch(const struct mpk_private *p, uint64_t off, uint64_t len,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_private_hole - how many bytes at the beginning of part are an unchanged hole of the file, so
 * zeros that need not be read; 0 for memory that no mpk_private has */
size_t mpk_private_hole(struct mpk_span part);

/* mpk_mapping_close - release; safe on a zeroed or closed mapping */
void mpk_mapping_close(struct mpk_mapping *m);

/* mpk_mapping_of - find the sparse file and offset whose bytes an open mapping shows at an address
 * @fd      is borrowed
 * Returns  false: no mapping has the address, its file is closed, or it is not sparse */
bool mpk_mapping_of(const uint8_t *at, int *fd, uint64_t *off);

/* mpk_read_at - read len bytes of a file from an offset
 * Returns  the number of bytes read, fewer at the end of the file; -1 with errno */
ssize_t mpk_read_at(int fd, void *to, size_t len, uint64_t off);

/* --- demand paging of bytes that can be made again (demand.c) ---
 *
 * For content that is larger than the memory it should take, and of which little is read, such as a library that is
 * compressed in an archive. Its address range holds no memory at first. A read from it raises SIGSEGV; the handler
 * here has the bytes made, and the read goes on. Chunks that were made long ago are given up in their place, unless
 * that proves to be in vain.
 *
 * For a process of one thread. Only the process itself may read such bytes: a system call that is to read them
 * (write, sendfile) fails with EFAULT.
 */

struct mpk_demand;

/* A signal handler calls both functions, during any read: they must not allocate memory or take a
 * lock. */
struct mpk_demand_source {
	/* Writes len bytes at offset from into `into`. from is where the last call ended, or the
	 * beginning of a chunk.
	 * Returns  false: the bytes cannot be made any more */
	bool (*make)(void *arg, uint64_t from, uint8_t *into, size_t len);
	void (*failed)(void *arg); /* Called when make has failed; must not return. */
	void *arg;
};

/* Pages are filled in multiples of this size; no machine has larger pages. */
enum { MPK_DEMAND_GRAIN = 64 * 1024 };

/* mpk_demand_open - an address range for len bytes that are made when they are read
 * It counts as len bytes for RLIMIT_DATA, the most that it can take.
 * @chunk   bytes that are dropped together, a multiple of MPK_DEMAND_GRAIN
 * @arena   must live until mpk_demand_close
 * Returns  NULL: out of memory or addresses */
struct mpk_demand *mpk_demand_open(size_t len, size_t chunk, struct mpk_arena *arena);

/* mpk_demand_offer - provide bytes that are in memory already, in order, before mpk_demand_start
 * Those at the beginning and the end are kept, because files have headers and tables there. */
void mpk_demand_offer(struct mpk_demand *d, uint64_t off, struct mpk_span piece);

/* mpk_demand_keep - keep a part of bytes that were just offered, because it will probably be read
 * @off, @piece as offered
 * @from, @len the part; only whole pages within piece are kept, at most 16 MiB in total */
void mpk_demand_keep(struct mpk_demand *d, uint64_t off, struct mpk_span piece, uint64_t from,
		     size_t len);

/* mpk_demand_start - from now on, missing bytes are made when they are read
 * Returns  the bytes, valid until mpk_demand_close; empty: the system refuses */
struct mpk_span mpk_demand_start(struct mpk_demand *d, const struct mpk_demand_source *source);

/* mpk_demand_close - free addresses and memory; d may be NULL */
void mpk_demand_close(struct mpk_demand *d);

#endif
