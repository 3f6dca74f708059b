/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - a range of a file into memory
 *
 * Apart from copy.c, so that who reads files links nothing that writes them.
 */
#include <errno.h>
#include <unistd.h>

#include "io/copy.h"

ssize_t mpk_read_at(int fd, void *to, size_t len, uint64_t off)
{
	size_t done = 0;
	ssize_t n;

	while (done < len &&
	       (n = pread(fd, (char *)to + done, len - done, (off_t)(off + done))) != 0) {
		if (n < 0 && errno != EINTR)
			return -1;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}
