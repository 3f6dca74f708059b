/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - replaces the parts of lib/ground that need Linux, for a program in a browser
 *
 * These functions stand in for lib/ground/sandbox, lib/ground/process, and the files of
 * lib/ground/io that write or map. A browser confines this program more than our sandbox would: it
 * has only the files that a user dropped and standard output, no network, no other process. So
 * nothing is confined here, no process is started, and the only output is "-". Their contracts are
 * in the headers that they implement. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/mapping.h"
#include "io/output.h"
#include "io/reader.h"
#include "process/process.h"
#include "sandbox/sandbox.h"

/* --- sorting: glibc's qsort_r, which is a merge sort where memory suffices ------------------------------ */

static void merge(unsigned char *base, unsigned char *spare, size_t count, size_t size,
		  int (*order)(const void *, const void *, void *), void *context)
{
	const size_t half = count / 2;
	size_t left = 0, right = half;

	if (count < 2)
		return;
	merge(base, spare, half, size, order, context);
	merge(base + half * size, spare, count - half, size, order, context);
	for (size_t i = 0; i < count; i++) {
		bool takes_left = right == count ||
				  (left < half &&
				   order(base + left * size, base + right * size, context) <= 0);

		memcpy(spare + i * size, base + (takes_left ? left++ : right++) * size, size);
	}
	memcpy(base, spare, count * size);
}

void qsort_r(void *base, size_t count, size_t size,
	     int (*order)(const void *, const void *, void *), void *context)
{
	unsigned char *spare = malloc(count * size + 1);

	if (!spare)
		abort(); /* the page reports that memory is out */
	merge(base, spare, count, size, order, context);
	free(spare);
}

/* --- lib/ground/sandbox ---------------------------------------------------------------------------------- */

struct mpk_sandbox_state mpk_sandbox_enter(const struct mpk_sandbox *s)
{
	(void)s;
	return (struct mpk_sandbox_state){ .files = true, .calls = true };
}

struct mpk_sandbox_state mpk_sandbox_support(void)
{
	return mpk_sandbox_enter(NULL);
}

/* --- lib/ground/process ---------------------------------------------------------------------------------- */

enum mpk_code mpk_process_run(const struct mpk_process *list, size_t count, unsigned parallel,
			      struct mpk_process_end *ends, struct mpk_error *err)
{
	(void)list, (void)count, (void)parallel, (void)ends;
	return mpk_fail(err, MPK_E_UNSUPPORTED, "a browser starts no other program");
}

/* Pretends to start a helper, like one whose disassembler is not installed; it answers no
 * request. */
enum mpk_code mpk_helper_start(mpk_helper_fn *answer, void *data, struct mpk_helper *out,
			       struct mpk_error *err)
{
	(void)answer, (void)data, (void)out, (void)err;
	return MPK_OK;
}

enum mpk_code mpk_helper_ask(struct mpk_helper *h, const struct mpk_span *parts, size_t count,
			     struct mpk_strbuf *answer, struct mpk_error *err)
{
	(void)h, (void)parts, (void)count, (void)answer;
	return mpk_fail(err, MPK_E_LOAD,
			"a browser starts no disassembler; use minspect on the command line");
}

void mpk_helper_stop(struct mpk_helper *h)
{
	(void)h;
}

/* --- lib/ground/io: a member of an archive that is read in parts is kept whole --------------------------- */

struct mpk_demand {
	uint8_t *bytes;
	size_t len;
};

struct mpk_demand *mpk_demand_open(size_t len, size_t chunk, struct mpk_arena *arena)
{
	struct mpk_demand *d = mpk_arena_alloc(arena, sizeof *d);

	(void)chunk;
	if (!d)
		return NULL;
	*d = (struct mpk_demand){ .bytes = malloc(len + 1), .len = len };
	return d->bytes ? d : NULL;
}

void mpk_demand_offer(struct mpk_demand *d, uint64_t off, struct mpk_span piece)
{
	if (off <= d->len && piece.len <= d->len - off)
		memcpy(d->bytes + off, piece.data, piece.len);
}

void mpk_demand_keep(struct mpk_demand *d, uint64_t off, struct mpk_span piece, uint64_t from,
		     size_t len)
{
	(void)d, (void)off, (void)piece, (void)from, (void)len;
}

struct mpk_span mpk_demand_start(struct mpk_demand *d, const struct mpk_demand_source *source)
{
	(void)source;
	return mpk_span_of(d->bytes, d->len);
}

void mpk_demand_close(struct mpk_demand *d)
{
	if (d)
		free(d->bytes);
}

/* --- lib/ground/io: windows are read, not mapped --------------------------------------------------------- */

uint64_t mpk_window_hole(struct mpk_span part)
{
	(void)part;
	return 0;
}

bool mpk_window_open(int fd, uint64_t off, uint64_t len, struct mpk_window *w)
{
	(void)fd, (void)off, (void)len, (void)w;
	return false;
}

void mpk_window_close(struct mpk_window *w)
{
	(void)w;
}

/* --- lib/ground/io: standard output is the only output --------------------------------------------------- */

struct mpk_output {
	int fd;
};

static struct mpk_output standard = { STDOUT_FILENO };

enum mpk_code mpk_output_check_path(const char *path, struct mpk_error *err)
{
	if (strcmp(path, "-") == 0)
		return MPK_OK;
	(void)mpk_fail(err, MPK_E_UNSUPPORTED,
		       "a browser writes no file; write to standard output: -o -");
	mpk_error_at_file(err, path);
	return MPK_E_UNSUPPORTED;
}

enum mpk_code mpk_output_open(const char *path, unsigned mode, struct mpk_output **out,
			      struct mpk_error *err)
{
	(void)mode;
	MPK_TRY(mpk_output_check_path(path, err));
	*out = &standard;
	return MPK_OK;
}

int mpk_output_fd(const struct mpk_output *o)
{
	return o->fd;
}

enum mpk_code mpk_output_write_rope(struct mpk_output *o, const struct mpk_rope *rope,
				    const struct mpk_tap *tap, struct mpk_error *err)
{
	struct mpk_reader *reader = malloc(sizeof *reader);
	enum mpk_code code = MPK_OK;
	struct mpk_span bytes;

	MPK_TRY_ALLOC(reader, err);
	mpk_reader_init(reader, rope);
	while ((code = mpk_reader_next(reader, &bytes, err)) == MPK_OK && bytes.len) {
		if (tap)
			tap->see(tap->data, bytes);
		for (size_t done = 0; done < bytes.len;) {
			ssize_t n = write(o->fd, bytes.data + done, bytes.len - done);

			if (n < 0) {
				code = mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
				break;
			}
			done += (size_t)n;
		}
		if (code != MPK_OK)
			break;
	}
	mpk_reader_fini(reader);
	free(reader);
	return code;
}

enum mpk_code mpk_output_commit(struct mpk_output *o, struct mpk_error *err)
{
	(void)o, (void)err;
	return MPK_OK;
}

void mpk_output_abandon(struct mpk_output *o)
{
	(void)o;
}

enum mpk_code mpk_output_finish(struct mpk_output *o, enum mpk_code code, struct mpk_error *err)
{
	(void)o, (void)err;
	return code;
}

void mpk_output_abandon_all(void)
{
}

void mpk_overwrite_author(const char *program, struct mpk_span mark)
{
	(void)program, (void)mark;
}

void mpk_overwrite_all(void)
{
}

static enum mpk_code fail_folder(const char *path, struct mpk_error *err)
{
	(void)mpk_fail(err, MPK_E_UNSUPPORTED, "a browser writes no folder");
	mpk_error_at_file(err, path);
	return MPK_E_UNSUPPORTED;
}

enum mpk_code mpk_directory_open(const char *path, struct mpk_directory *out, struct mpk_error *err)
{
	(void)out;
	return fail_folder(path, err);
}

enum mpk_code mpk_directory_write(const struct mpk_directory *d, const char *name,
				  const struct mpk_rope *content, struct mpk_error *err)
{
	(void)d, (void)content;
	return fail_folder(name, err);
}

enum mpk_code mpk_directory_append(const struct mpk_directory *d, const char *name,
				   const struct mpk_rope *content, struct mpk_error *err)
{
	(void)d, (void)content;
	return fail_folder(name, err);
}

enum mpk_code mpk_directory_commit(struct mpk_directory *d, struct mpk_error *err)
{
	(void)d;
	return fail_folder("", err);
}

void mpk_directory_abandon(struct mpk_directory *d)
{
	(void)d;
}

/* Progress is shown by the page, which sees every read. */
void mpk_copy_watch(void (*moved)(uint64_t bytes))
{
	(void)moved;
}

void mpk_copy_tell(uint64_t bytes)
{
	(void)bytes;
}
