#include "io/copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BUFFER_BYTES = 256 * 1024,
	GATHER_MAX = 256,              /* pieces in one writev */
	STEP_BYTES = 256 * 1024 * 1024 /* per call, so that signals are seen in time */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static ssize_t read_some(int fd, void *data, size_t len, uint64_t off)
{
	ssize_t n;

	do {
		n = pread(fd, data, len, (off_t)off);
		if (n < 0 && errno == ESPIPE)
			n = read(fd, data, len);
	} while (n < 0 && errno == EINTR);
	return n;
}

static bool write_all(int fd, const char *data, size_t len, const uint64_t *off)
{
	uint64_t at = off ? *off : 0;

	while (len) {
		ssize_t n = off ? pwrite(fd, data, len, (off_t)at) : write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
		at += (size_t)n;
	}
	return true;
}

static enum mpk_code copy_by_hand(int in, uint64_t in_off, int out, const uint64_t *out_off,
				  uint64_t len, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	uint64_t to = out_off ? *out_off : 0;
	char *buffer = malloc(BUFFER_BYTES);

	if (!buffer)
		return mpk_fail_nomem(err);
	while (len && code == MPK_OK) {
		ssize_t n = read_some(in, buffer, (size_t)min_u64(len, BUFFER_BYTES), in_off);

		if (n < 0)
			code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot read the input");
		else if (n == 0)
			code = mpk_fail(err, MPK_E_IO, "an input file became shorter while "
					"it was being copied");
		else if (!write_all(out, buffer, (size_t)n, out_off ? &to : NULL))
			code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
		if (code != MPK_OK)
			break;
		in_off += (size_t)n;
		to += (size_t)n;
		len -= (size_t)n;
	}
	free(buffer);
	return code;
}

/* Whether a failed copy_file_range is worth trying by hand: everything but a full or
 * broken disk, which would only fail again with less to say. */
static bool is_final(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

enum mpk_code mpk_copy_range(int in, uint64_t in_off, int out, const uint64_t *out_off,
			     uint64_t len, struct mpk_error *err)
{
	off64_t from = (off64_t)in_off, to = out_off ? (off64_t)*out_off : 0;

	while (len) {
		ssize_t n = copy_file_range(in, &from, out, out_off ? &to : NULL,
					    (size_t)min_u64(len, STEP_BYTES), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && is_final(errno))
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
		if (n <= 0)
			break;
		len -= (size_t)n;
	}
	if (!len)
		return MPK_OK;
	return copy_by_hand(in, (uint64_t)from, out, out_off ? &(uint64_t){ (uint64_t)to } : NULL,
			    len, err);
}

static enum mpk_code write_gathered(int out, struct iovec *iov, size_t count,
				    struct mpk_error *err)
{
	while (count) {
		ssize_t n = writev(out, iov, (int)count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");

		size_t left = (size_t)n;
		while (count && left >= iov->iov_len) {
			left -= iov->iov_len;
			iov++;
			count--;
		}
		if (count) {
			iov->iov_base = (char *)iov->iov_base + left;
			iov->iov_len -= left;
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_write_pieces(int out, const struct mpk_piece *pieces, size_t count,
			       struct mpk_error *err)
{
	struct iovec iov[GATHER_MAX];
	size_t gathered = 0;

	for (size_t i = 0; i < count; i++) {
		const struct mpk_piece *p = &pieces[i];

		if (p->data)
			iov[gathered++] = (struct iovec){ (void *)(uintptr_t)p->data,
							  (size_t)p->len };
		bool last = i + 1 == count;
		if (gathered && (last || gathered == GATHER_MAX || !pieces[i + 1].data)) {
			MPK_TRY(write_gathered(out, iov, gathered, err));
			gathered = 0;
		}
		if (!p->data)
			MPK_TRY(mpk_copy_range(p->fd, p->off, out, NULL, p->len, err));
	}
	return MPK_OK;
}
