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

struct mpk_mapping_origin; /* what the file was like when it was opened */

/* Zero-initialise; fill with mpk_mapping_open; mpk_mapping_close. */
struct mpk_mapping {
	struct mpk_span bytes; /* the content; valid until close */
	int fd;                /* open for reading while the mapping is; -1 after standard input */
	bool mapped;           /* whether bytes are a private read-only mmap; else heap memory */
	struct mpk_mapping_origin *origin; /* NULL: standard input */
	uint64_t input_bytes;              /* that base/account.h counts */
};

/* What is read from a pipe or a device at most, bytes: an endless one must not take all
 * memory. */
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

/* mpk_mapping_of_fd - the same for a file that is open already, such as one without a name
 * @name    for messages; copied
 * Returns  as mpk_mapping_open */
enum mpk_code mpk_mapping_of_fd(int fd, const char *name, struct mpk_mapping *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_mapping_close_file - give the descriptor back, of which a process has not so many; the bytes
 * stay */
void mpk_mapping_close_file(struct mpk_mapping *m);

/* mpk_mappings_check - that no file with an open mapping has another size or time of modification
 * than when it was opened: what was read would be of two files. Of this process, whoever opened
 * them; outputs ask before they take their names (io/output.h).
 * Returns  MPK_OK; MPK_E_IO with the name of the file */
enum mpk_code mpk_mappings_check(struct mpk_error *err) MPK_MUST_CHECK;

/* Of a regular file, and of it at one time. */
struct mpk_file_identity {
	uint64_t device, inode, size; /* bytes */
	int64_t modified;             /* nanoseconds since 1970 */
};

/* mpk_mapping_identity - what a file was when it was opened
 * Returns  false: m is of a pipe, a device or standard input, which nobody else can open again */
bool mpk_mapping_identity(const struct mpk_mapping *m, struct mpk_file_identity *out);

/* mpk_mapping_open_same - as mpk_mapping_open, of a file that another process has read
 * Nothing but a regular file is opened, whatever has the name by now.
 * Returns  as mpk_mapping_open; MPK_E_IO: it is not that file any more, or has changed */
enum mpk_code mpk_mapping_open_same(const char *path, const struct mpk_file_identity *identity,
				    struct mpk_mapping *out, struct mpk_error *err) MPK_MUST_CHECK;

/* What a file is that an output is to take the place of. */
enum mpk_input_state {
	MPK_INPUT_NOT,
	MPK_INPUT,             /* an open mapping is of it: it must stay */
	MPK_INPUT_REPLACEABLE, /* the same, and the user named it as the output */
};

/* mpk_mappings_find - what a file is
 * mpk_mappings_keep - from now on, one whose mapping has been closed counts, too; for programs, which end
 * mpk_mapping_may_be_replaced - from now on, m is of a file that may be replaced: its user asked for that */
enum mpk_input_state mpk_mappings_find(const struct stat *file);
void mpk_mappings_keep(void);
void mpk_mapping_may_be_replaced(struct mpk_mapping *m);

/* mpk_mappings_at_fork - let a child open and close mappings, whatever other threads of its parent were at;
 * for handlers of pthread_atfork */
void mpk_mappings_at_fork(enum mpk_fork_moment moment);

/* mpk_mapping_use_file - turn the large pieces of a rope that are views of a mapping into
 * ranges of its file (MPK_LARGE_BYTES and more), which are copied inside the kernel, without touching them; the
 * descriptor is borrowed until they are written
 * A mapping of a pipe has no file: nothing changes then. */
void mpk_mapping_use_file(const struct mpk_mapping *m, struct mpk_rope *rope);

/* The bytes of a mapping, open to changes that do not get into the file. */
struct mpk_private {
	uint8_t *data;
	size_t len;
	size_t keep_off, keep_len;       /* bytes of m that stay unchangeable */
	struct mpk_private_holes *holes; /* of a sparse file; NULL: there are none */
};

/* mpk_private_open - make the bytes of m changeable
 * @keep    a part of m->bytes that stays as it is, or empty: a gigabyte that could be written
 *          would count as a gigabyte of memory
 * @out     to be closed before m. What came from standard input or a pipe has no second copy:
 *          m->bytes change, too.
 * Returns  MPK_OK; MPK_E_IO; MPK_E_NOMEM */
enum mpk_code mpk_private_open(const struct mpk_mapping *m, struct mpk_span keep,
			       struct mpk_private *out, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_private_close(const struct mpk_mapping *m, struct mpk_private *p);

/* mpk_private_touch - before bytes are changed: holes of the file are not writable until then
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_private_touch(const struct mpk_private *p, uint64_t off, uint64_t len,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_private_hole - how many bytes at the beginning of a part of an open one are a hole of its file that nobody
 * changed: zeros that need not be read; 0 of other memory */
size_t mpk_private_hole(struct mpk_span part);

/* mpk_mapping_close - release; safe on a zeroed or closed mapping */
void mpk_mapping_close(struct mpk_mapping *m);

/* mpk_mapping_of - where in which sparse file the bytes at an address are, of all mappings that are open
 * @fd      is borrowed
 * Returns  false: in none, its file is closed, or it is not sparse */
bool mpk_mapping_of(const uint8_t *at, int *fd, uint64_t *off);

/* mpk_read_at - len bytes of a file from an offset
 * Returns  how many there are, len at most; -1 with errno */
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

/* mpk_demand_close - give addresses and memory back; NULL: nothing */
void mpk_demand_close(struct mpk_demand *d);

#endif
