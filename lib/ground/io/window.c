/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - parts of files, mapped for a moment. Touching a page beyond the end of a file raises
 * SIGBUS, so each window checks the size first: the file may have been shortened since the last
 * one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/mapping.h"
#include "io/reader.h"

/* The content of a hole. It is never written, so all its pages are the kernel's one zero page. */
static const uint8_t *zeros(void)
{
	static uint8_t bytes[MPK_WINDOW_BYTES];

	return bytes;
}

uint64_t mpk_window_measure(int fd, uint64_t off, uint64_t len, bool *hole)
{
	struct stat st;

	*hole = false;
	if (len < MPK_WINDOW_LEAST || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < off || (uint64_t)st.st_size - off < len)
		return 0;
	if ((uint64_t)st.st_blocks >= (uint64_t)st.st_size / 512)
		return len;
	off_t data = lseek(fd, (off_t)off, SEEK_DATA);
	*hole = data < 0 ? errno == ENXIO : (uint64_t)data > off;
	off_t end = *hole ? data : lseek(fd, (off_t)off, SEEK_HOLE);
	return end > (off_t)off && (uint64_t)end - off < len ? (uint64_t)end - off : len;
}

uint64_t mpk_window_hole(struct mpk_span part)
{
	uint64_t off, hole = 0;
	off_t data;
	int fd;

	if (!mpk_mapping_of(part.data, &fd, &off))
		return 0;
	data = lseek(fd, (off_t)off, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		hole = part.len;
	else if (data > (off_t)off)
		hole = (uint64_t)data - off;
	return hole < part.len ? hole : part.len;
}

bool mpk_window_open(int fd, uint64_t off, uint64_t len, struct mpk_window *w)
{
	uint64_t skip = off % (uint64_t)sysconf(_SC_PAGESIZE), start = off - skip;
	uint64_t most = MPK_WINDOW_BYTES - skip;
	bool hole;
	uint64_t n = mpk_window_measure(fd, off, len, &hole);

	if (!n)
		return false;
	n = n < most ? n : most;
	if (hole) {
		*w = (struct mpk_window){ .bytes = mpk_span_of(zeros(), (size_t)n) };
		return true;
	}
	void *base = mmap(NULL, (size_t)(skip + n), PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
			  (off_t)start);
	if (base == MAP_FAILED)
		return false;
	*w = (struct mpk_window){ .base = base,
				  .len = (size_t)(skip + n),
				  .bytes = mpk_span_of((uint8_t *)base + skip, (size_t)n) };
	/* Prefetches the next window from the disk while the caller works on this one. */
	(void)posix_fadvise(fd, (off_t)(off + n), MPK_WINDOW_BYTES, POSIX_FADV_WILLNEED);
	return true;
}

void mpk_window_close(struct mpk_window *w)
{
	if (w->base)
		(void)munmap(w->base, w->len);
	memset(w, 0, sizeof *w);
}
