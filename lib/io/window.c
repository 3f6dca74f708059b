#include "io/window.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages behind the end of a file raise a signal when touched, hence a look at its size
 * for every window. */
static bool is_inside(int fd, uint64_t off, uint64_t len)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= off &&
	       (uint64_t)st.st_size - off >= len;
}

bool mpk_window_open(int fd, uint64_t off, uint64_t len, struct mpk_window *w)
{
	uint64_t skip = off % (uint64_t)sysconf(_SC_PAGESIZE), start = off - skip;
	uint64_t most = MPK_WINDOW_BYTES - skip, n = len < most ? len : most;

	if (len < MPK_WINDOW_LEAST || !is_inside(fd, off, n))
		return false;
	void *base = mmap(NULL, (size_t)(skip + n), PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
			  (off_t)start);
	if (base == MAP_FAILED)
		return false;
	*w = (struct mpk_window){ .base = base, .len = (size_t)(skip + n),
				  .bytes = mpk_span_of((uint8_t *)base + skip, (size_t)n) };
	/* From a disk, the next window is fetched while this one is worked on. */
	(void)posix_fadvise(fd, (off_t)(off + n), MPK_WINDOW_BYTES, POSIX_FADV_WILLNEED);
	return true;
}

void mpk_window_close(struct mpk_window *w)
{
	if (w->base)
		(void)munmap(w->base, w->len);
	memset(w, 0, sizeof *w);
}
