# What isolated code can take of the system: no core dump, no limit raised again, processor time that ends soon
# after --timeout, and with --max-memory so much memory. Namespaces where the system lets users have them.
minspect --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >greedy.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
struct any { int type, pad; long value; };
#define FN(name) int __tvm_ffi_##name(void *self, const struct any *args, int count, struct any *result)
static long given = 1;
static int give(struct any *result, long value)
{
	given++;
	result->type = 1;
	result->value = value;
	return 0;
}
static long limit(int resource)
{
	struct rlimit l;
	return getrlimit(resource, &l) == 0 && l.rlim_cur == l.rlim_max ? (long)l.rlim_max : -2;
}
FN(core) { return give(result, limit(RLIMIT_CORE)); }
FN(cpu) { return give(result, limit(RLIMIT_CPU) / sysconf(_SC_NPROCESSORS_CONF)); }
FN(raise_limits)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };
	return give(result, (setrlimit(RLIMIT_CPU, &l) == 0) + (prlimit(0, RLIMIT_CORE, &l, 0) == 0) +
		(prlimit(getppid(), RLIMIT_CPU, &l, 0) == 0) + (syscall(SYS_prlimit64, 0, RLIMIT_CPU, (void *)0x100000000, 0) == 0));
}
/* MiB of memory of all sorts, up to two GiB each */
static long take(int flags)
{
	long got = 0;
	while (got < 2048 && mmap(0, 1 << 20, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
		got++;
	return got;
}
FN(memory)
{
	long got = take(MAP_PRIVATE) + take(MAP_SHARED);
	return give(result, got <= 256 ? 256 : got >= 4096 ? 4096 : got);
}
FN(file) { return give(result, syscall(SYS_memfd_create, "x", 0) >= 0); }
/* what constants that were copied leave of the file in memory is found by it, and neither memory nor another's pages */
FN(pages)
{
	long own = sysconf(_SC_PAGESIZE), told = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	if (pread(fd, &told, 8, (long)&given / own * 8) != 8 || told >= 0)
		return give(result, 0);
	return give(result, 1 + (open("/proc/self/mem", O_RDONLY) >= 0) + (open("/proc/1/pagemap", O_RDONLY) >= 0 && getpid() != 1));
}
FN(users) { return give(result, getuid() == 65534); }
FN(capabilities)
{
	unsigned head[2] = { 0x20080522, 0 }, data[6] = { 0 };
	syscall(SYS_capget, head, data);
	return give(result, data[0] || data[3] || unshare(CLONE_NEWNET) == 0 || sethostname("x", 1) == 0);
}
END
cc -w -O1 -shared -fPIC -o greedy.so greedy.c
minspect --run core --isolate greedy.so --expect 0
minspect --run cpu --isolate --timeout 7 greedy.so --expect 17
minspect --run cpu --timeout 7 greedy.so --expect 17
minspect --run raise_limits --isolate --timeout 9 greedy.so --expect 0
minspect --run memory --isolate greedy.so --expect 4096
minspect --run memory --isolate --max-memory 256MiB greedy.so --expect 256
minspect --run file --isolate greedy.so --expect 0
minspect --run pages --isolate greedy.so --expect 1
minspect --run capabilities --isolate greedy.so --expect 0
if minspect --version | grep -qx 'namespaces user, network, IPC, mount'; then
	minspect --run users --isolate greedy.so --expect 1 >/dev/null
fi
minspect --run core --isolate --max-memory lots greedy.so || echo "status $?"
minspect --run core --max-memory 1GiB greedy.so || echo "status $?"
printf '[[case]]\nrun = "memory"\nexpect = ["256"]\n' >cases.toml
minspect --cases cases.toml --isolate --max-memory 256MiB greedy.so
