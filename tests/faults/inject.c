/* SPDX-License-Identifier: Apache-2.0 */
/* inject.c - a library to be loaded before the program under test, that lets one call of the C library
 * fail: the one that faults.py chose
 *
 * Counted are the calls that the program itself and libelf make, over all its processes; what LLVM and the C library call inside is not. Tools that the
 * program starts are left alone.
 *
 *   FAULT_FD   descriptor of a file of FAULT_BYTES: one struct fault_count for each function, shared with
 *              the tester; closed here, so that the program cannot meet it
 *   FAULT      "FUNCTION:N:ERRNO" the Nth call of FUNCTION fails with that number; for ERRNO 0 a read or
 *              write moves one byte only, as is its right; with -1 the process is killed before the
 *              call; FUNCTION may be "any"
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
/* their declarations with "..." are in the way of ours with a mode */
#define open declared_open
#define openat declared_openat
#include <fcntl.h>
#undef open
#undef openat
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_BYTES = 24, FUNCTIONS_MAX = 96 };

struct fault_count {
	char name[NAME_BYTES];
	_Atomic uint64_t calls;
};

enum { ANY, FUNCTIONS_FIRST };

static struct fault_count *counts; /* FUNCTIONS_MAX; NULL: nothing is counted */
static int wanted = -1;            /* index of the function that fails */
static uint64_t wanted_call;
static int wanted_errno;
static const char *names[FUNCTIONS_MAX] = { "any" };
static int used = FUNCTIONS_FIRST;

/* Where the code lies whose calls count. */
static struct {
	uintptr_t from, to;
} counted[8];
static int counted_len;

static int note_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)unused;
	if (info->dlpi_name[0] && !(name && strstr(name, "libelf")))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || counted_len == 8)
			continue;
		counted[counted_len].from = info->dlpi_addr + ph->p_vaddr;
		counted[counted_len++].to = info->dlpi_addr + ph->p_vaddr + ph->p_memsz;
	}
	return 0;
}

static int is_counted(void *caller)
{
	for (int i = 0; i < counted_len; i++)
		if ((uintptr_t)caller >= counted[i].from && (uintptr_t)caller < counted[i].to)
			return 1;
	return 0;
}

/* For a breakpoint: here the chosen call fails. */
__attribute__((noinline)) int fault_now(void)
{
	if (wanted_errno < 0)
		(void)raise(SIGKILL);
	errno = wanted_errno;
	return 1;
}

/* Whether this call is the one to fail; errno is set then. */
static int fails(int index, void *caller)
{
	uint64_t n, all;

	if (!counts || !is_counted(caller))
		return 0;
	n = atomic_fetch_add(&counts[index].calls, 1) + 1;
	all = atomic_fetch_add(&counts[ANY].calls, 1) + 1;
	if (wanted != index && wanted != ANY)
		return 0;
	if ((wanted == ANY ? all : n) != wanted_call)
		return 0;
	return fault_now();
}

static int add_function(const char *name)
{
	names[used] = name;
	return used++;
}

/* Behind the constructors that find the real functions, which this one calls. */
static __attribute__((constructor(103))) void begin(void)
{
	const char *fd = getenv("FAULT_FD"), *fault = getenv("FAULT");
	char wanted_name[NAME_BYTES] = "";
	struct fault_count *page;

	if (!fd || fcntl(atoi(fd), F_GETFD) < 0)
		return;
	page = mmap(NULL, FUNCTIONS_MAX * sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED,
		    atoi(fd), 0);
	if (page == MAP_FAILED)
		return;
	(void)close(atoi(fd));
	(void)dl_iterate_phdr(note_object, NULL);
	if (fault)
		(void)sscanf(fault, "%23[^:]:%lu:%d", wanted_name, &wanted_call, &wanted_errno);
	for (int i = 0; i < used; i++) {
		(void)snprintf(page[i].name, NAME_BYTES, "%s", names[i]);
		if (strcmp(names[i], wanted_name) == 0)
			wanted = i;
	}
	counts = page;
}

/* FAULTY(type, name, parameters, arguments, what a failed call returns) */
#define FAULTY(type, name, params, args, failed)                                                   \
	static type(*real_##name) params;                                                          \
	static int index_##name;                                                                   \
	static __attribute__((constructor(102))) void find_##name(void)                            \
	{                                                                                          \
		real_##name = (type(*) params)(uintptr_t)dlsym(RTLD_NEXT, #name);                  \
		index_##name = add_function(#name);                                                \
	}                                                                                          \
	type name params                                                                           \
	{                                                                                          \
		if (fails(index_##name, __builtin_return_address(0)))                              \
			return failed;                                                             \
		return real_##name args;                                                           \
	}

/* A read or write: an error of 0 moves one byte. */
#define MOVE(name, params, args, args_of_one)                                                      \
	FAULTY(ssize_t, name, params, args, errno ? -1 : real_##name args_of_one)

FAULTY(int, openat, (int d, const char *p, int f, mode_t m), (d, p, f, m), -1)
FAULTY(int, open, (const char *p, int f, mode_t m), (p, f, m), -1)
MOVE(read, (int fd, void *b, size_t n), (fd, b, n), (fd, b, n ? 1 : 0))
MOVE(__read_chk, (int fd, void *b, size_t n, size_t r), (fd, b, n, r), (fd, b, n ? 1 : 0, r))
MOVE(pread, (int fd, void *b, size_t n, off_t o), (fd, b, n, o), (fd, b, n ? 1 : 0, o))
MOVE(__pread_chk, (int fd, void *b, size_t n, off_t o, size_t r), (fd, b, n, o, r),
     (fd, b, n ? 1 : 0, o, r))
MOVE(write, (int fd, const void *b, size_t n), (fd, b, n), (fd, b, n ? 1 : 0))
MOVE(pwrite, (int fd, const void *b, size_t n, off_t o), (fd, b, n, o), (fd, b, n ? 1 : 0, o))
MOVE(writev, (int fd, const struct iovec *v, int n), (fd, v, n), (fd, v, n ? 1 : 0))
MOVE(copy_file_range, (int in, off_t *io, int out, off_t *oo, size_t n, unsigned f),
     (in, io, out, oo, n, f), (in, io, out, oo, n ? 1 : 0, f))
FAULTY(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o),
       MAP_FAILED)
FAULTY(int, mprotect, (void *a, size_t n, int p), (a, n, p), -1)
FAULTY(int, fallocate, (int fd, int m, off_t o, off_t n), (fd, m, o, n), -1)
FAULTY(int, ftruncate, (int fd, off_t n), (fd, n), -1)
FAULTY(int, fsync, (int fd), (fd), -1)
FAULTY(int, syncfs, (int fd), (fd), -1)
FAULTY(int, rename, (const char *a, const char *b), (a, b), -1)
FAULTY(int, linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f), -1)
FAULTY(int, mkdir, (const char *p, mode_t m), (p, m), -1)
FAULTY(char *, mkdtemp, (char *p), (p), NULL)
FAULTY(int, chmod, (const char *p, mode_t m), (p, m), -1)
FAULTY(int, fchmod, (int fd, mode_t m), (fd, m), -1)
FAULTY(int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g), -1)
FAULTY(int, flock, (int fd, int op), (fd, op), -1)
FAULTY(int, fstat, (int fd, struct stat *s), (fd, s), -1)
FAULTY(int, stat, (const char *p, struct stat *s), (p, s), -1)
FAULTY(int, lstat, (const char *p, struct stat *s), (p, s), -1)
FAULTY(off_t, lseek, (int fd, off_t o, int w), (fd, o, w), -1)
FAULTY(int, dup, (int fd), (fd), -1)
FAULTY(int, dup2, (int a, int b), (a, b), -1)
FAULTY(DIR *, opendir, (const char *p), (p), NULL)
FAULTY(char *, realpath, (const char *p, char *b), (p, b), NULL)
FAULTY(ssize_t, readlink, (const char *p, char *b, size_t n), (p, b, n), -1)
FAULTY(int, chdir, (const char *p), (p), -1)
FAULTY(int, socketpair, (int d, int t, int p, int fds[2]), (d, t, p, fds), -1)
FAULTY(int, memfd_create, (const char *n, unsigned f), (n, f), -1)
FAULTY(int, poll, (struct pollfd * p, nfds_t n, int t), (p, n, t), -1)
FAULTY(pid_t, fork, (void), (), -1)
FAULTY(int, execvp, (const char *p, char *const *a), (p, a), -1)
FAULTY(int, setpgid, (pid_t p, pid_t g), (p, g), -1)
FAULTY(int, pthread_create, (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *d),
       (t, a, f, d), errno)
FAULTY(char *, strdup, (const char *s), (s), NULL)
FAULTY(char *, strndup, (const char *s, size_t n), (s, n), NULL)
FAULTY(int, unlink, (const char *p), (p), -1)
FAULTY(int, rmdir, (const char *p), (p), -1)

/* A descriptor is closed whatever close says. */
FAULTY(int, close, (int fd), (fd), (real_close(fd), -1))

/* --- memory ------------------------------------------------------------------------------------------- */

/* Asking for the real ones would allocate; glibc exports them by these names. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static int index_malloc;
static __attribute__((constructor(102))) void find_malloc(void)
{
	index_malloc = add_function("malloc");
}

void *malloc(size_t n)
{
	return fails(index_malloc, __builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(index_malloc, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(index_malloc, __builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails(index_malloc, __builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
}
